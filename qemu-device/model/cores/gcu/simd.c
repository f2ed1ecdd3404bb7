// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The choice of functions at run time. */
#include "mac.h"

const struct gcu_simd *gcu_simd(uint32_t simd)
{
	static const struct gcu_simd any = {
		300, 1000, 5000, gcu_add_integers, gcu_add_saturating, gcu_add_floats,
	};
#if defined(__x86_64__) && !defined(CM_PORTABLE)
	if (simd != CM_SIMD_BASELINE)
		return &gcu_avx2;
#endif
	(void)simd;
	return &any;
}
