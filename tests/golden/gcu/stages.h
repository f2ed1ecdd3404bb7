/* SPDX-License-Identifier: MIT */
/* From an accumulator to a number of the ofmap; "Linear multiply-add and activation". */
#ifndef GOLDEN_GCU_STAGES_H
#define GOLDEN_GCU_STAGES_H

#include "block.h"
#include "cover.h"

/** struct golden_gcu_entry - linear multiply-add of a channel. */
struct golden_gcu_entry {
	uint32_t a, shift;
	uint64_t b;
};

/* An entry of 16 bytes. */
struct golden_gcu_entry golden_gcu_entry(const uint8_t bytes[16]);
/*
 * Integers.  linear: without activation; activate: of @v; both 32 bits.  store: zero point,
 * clamp and output type.
 */
int32_t golden_gcu_linear_int(const struct golden_gcu_layer *l, const struct golden_gcu_entry *e,
			      int32_t acc, struct golden_gcu_coverage *c);
int32_t golden_gcu_activate_int(const struct golden_gcu_layer *l, const uint16_t *lut, int32_t v,
				struct golden_gcu_coverage *c);
int32_t golden_gcu_store_int(const struct golden_gcu_layer *l, int32_t v,
			     struct golden_gcu_coverage *c);
/* The same for the FP16 format, on FP32 bits; half: those of FP16. */
uint32_t golden_gcu_linear_fp(const struct golden_gcu_entry *e, uint32_t acc);
uint32_t golden_gcu_activate_fp(const struct golden_gcu_layer *l, const uint16_t *lut, uint32_t v,
				struct golden_gcu_coverage *c);
uint32_t golden_gcu_clamp_fp(const struct golden_gcu_layer *l, uint32_t v,
			     struct golden_gcu_coverage *c);
uint16_t golden_gcu_half(uint32_t v, struct golden_gcu_coverage *c);
/* All stages; the low bytes of the result go to memory. */
uint32_t golden_gcu_stages(const struct golden_gcu_layer *l, const struct golden_gcu_entry *e,
			   const uint16_t *lut, uint32_t acc, struct golden_gcu_coverage *c);

#endif /* GOLDEN_GCU_STAGES_H */
