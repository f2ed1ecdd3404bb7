/* SPDX-License-Identifier: MIT */
/* FP16 sums; section "FP16 sums". */
#ifndef GOLDEN_GCU_FP16_H
#define GOLDEN_GCU_FP16_H

#include "cover.h"

/** struct golden_gcu_mac - f * 2^(4 * func - 50). */
struct golden_gcu_mac {
	int64_t f;
	int64_t func;
};

/* Sum of the products of @lanes pairs of FP16 bits; @fp_floor: the build's. */
struct golden_gcu_mac golden_gcu_mac(const uint16_t *x, const uint16_t *w, unsigned int lanes,
				     bool fp_floor, struct golden_gcu_coverage *c);
/* FP32 bits of @old plus @mac. */
uint32_t golden_gcu_add(uint32_t old, struct golden_gcu_mac mac, struct golden_gcu_coverage *c);

#endif /* GOLDEN_GCU_FP16_H */
