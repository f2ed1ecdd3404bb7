/* SPDX-License-Identifier: MIT */
/* Blocks of a program: their fields and the checks before they run. */
#ifndef GOLDEN_GCU_BLOCK_H
#define GOLDEN_GCU_BLOCK_H

#include "gcu.h"

#define GOLDEN_GCU_BLOCK_WORDS	64
#define GOLDEN_GCU_BANK_WORDS	512

struct golden_gcu_map {
	int64_t va, column, row, group;
};

struct golden_gcu_layer {
	int64_t format, act, out;
	bool unsigned_ifmap, unsigned_weights, acc16, psum_on, linear, round_up, clamp, table;
	uint32_t flags;			/* bits 15:8 of word 0 */
	int64_t zx, zw, zy;
	int64_t w, h, c, k, ofmw, ofmh;
	int64_t s, r, hstride, vstride;
	int64_t dil_h, dil_v, inner_lr, inner_tb;
	int64_t left, right, top, bottom;
	int64_t group_n;
	int64_t fmbufbankn, column_code, fmbufrown, kbufgrpsz, kbufgrpn;
	int64_t threshold, entries;
	int64_t act_factor, act_shift;	/* act_factor: the word */
	struct golden_gcu_map ifmap, psum, ofmap;
	int64_t weight_va, linear_va, lut_va, increment_va, vector_va;
	int64_t clamp_low, clamp_high;	/* the words */
	/* derived */
	int64_t esz, out_bytes, fmbufcoln;
	bool fp16, uses_lut;
};

/** struct golden_gcu_probe - a probe or a fill. */
struct golden_gcu_probe {
	int64_t port, address, count, va, fmbufbankn;
};

struct golden_gcu_block {
	int64_t kind;
	bool reserved;			/* a reserved bit is set */
	struct golden_gcu_layer layer;
	struct golden_gcu_probe probe;
	int64_t cycles;			/* of a wait */
};

void golden_gcu_decode(const uint32_t words[GOLDEN_GCU_BLOCK_WORDS],
		       struct golden_gcu_block *block);
/* The first check that fails, enum cnnacc_gcu_field; 0: none. */
uint32_t golden_gcu_check(const struct golden_gcu_block *block,
			  const struct golden_gcu_params *params);
/* Bits of word @word that a block of @kind must not set. */
uint32_t golden_gcu_reserved(int64_t kind, unsigned int word);

#endif /* GOLDEN_GCU_BLOCK_H */
