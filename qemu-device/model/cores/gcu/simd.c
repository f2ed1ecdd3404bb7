// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The choice of functions at run time. */
#include "mac.h"

const struct gcu_simd *gcu_simd(uint32_t simd)
{
	static const struct gcu_simd any = {
		.integers_ps = 300, .saturating_ps = 1000, .floats_ps = 5000,
		.integers = gcu_add_integers, .saturating = gcu_add_saturating,
		.floats = gcu_add_floats,
	};
#if defined(__x86_64__) && !defined(CM_PORTABLE)
	if (simd == CM_SIMD_AVX512)
		return gcu_vnni() ? gcu_vnni() : &gcu_avx512;
	if (simd == CM_SIMD_AVX2 && __builtin_cpu_supports("fma"))
		return &gcu_avx2;
#endif
	(void)simd;
	return &any;
}
