// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Sums of integer products with the dot products of AVX-512 VNNI. */
#include "mac.h"

#if defined(__x86_64__) && !defined(CM_PORTABLE)
#include "ops512.h"

#define SIMD_TARGET	__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512vnni")))

#define SIMD(name)	name##_pairs
#define CHANNELS	2
#define MADD		_mm512_dpwssd_epi32
#include "add_simd.h"
#include "narrow_simd.h"
#include "saturate_simd.h"
#undef SIMD
#undef CHANNELS
#undef MADD
#undef UNROLL
#undef IN_REGISTER
#undef VECTORS
#undef NARROW_COLUMNS
#undef NARROW_MAX

#define SIMD(name)	name##_quads
#define CHANNELS	4
#define MADD		_mm512_dpbusd_epi32
#include "add_simd.h"
#include "narrow_simd.h"

const struct gcu_simd *gcu_vnni(void)
{
	static const struct gcu_simd vnni = {
		.integers_ps = 5, .quads_ps = 3, .saturating_ps = 12, .floats_ps = 60,
		.integers = any_width_pairs, .quads = any_width_quads,
		.saturating = saturating_pairs, .floats = gcu_floats_avx512,
	};

	return __builtin_cpu_supports("avx512vnni") ? &vnni : NULL;
}
#endif
