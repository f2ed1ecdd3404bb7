/* SPDX-License-Identifier: MIT */
/* The golden model of enpu inside: decoded instructions, and what its files share. */
#ifndef GOLDEN_ENPU_STATE_H
#define GOLDEN_ENPU_STATE_H

#include "enpu.h"

#define ENPU_PROGRAM	(CNNACC_ENPU_ITCM_MAX / CNNACC_ENPU_INSN_BYTES)

/**
 * struct enpu_insn - an instruction and its record, decoded.
 * @opcode: all eight bits; @op: without FUSED and STORED
 * @first: first stage of its layer
 * @step_a, @step_b, @step_out: as in the record
 */
struct enpu_insn {
	uint32_t index, opcode, op;
	bool first, fused, stored;
	int64_t sh, sw, ph, pw, dh, dw, y, x, in_y, in_x, hk, wk, ho, wo, co, ci, zs;
	uint32_t flags, reshape;
	int64_t hi, wi, in, out, skip, b, weight, block, lut, step_a, step_b, step_out;
	int64_t shift, pad;
};

/** struct enpu_range - words of a local memory. */
struct enpu_range {
	enum cnnacc_enpu_memory memory;
	int64_t first, words, step;
};

/** struct enpu_shape - sizes of N, H, W and C. */
struct enpu_shape {
	int64_t size[4];
};

struct golden_enpu {
	struct golden_seq seq;
	struct golden_enpu_params params;
	uint8_t *memory[CNNACC_ENPU_MEMORIES];
	uint32_t bytes[CNNACC_ENPU_MEMORIES];
	struct golden_enpu_regs regs;
	bool running;
	struct enpu_insn insn[ENPU_PROGRAM];	/* of the last program */
	unsigned int insns;			/* without STOP */
	struct golden_enpu_coverage coverage;
};

int64_t enpu_groups(int64_t channels);		/* ceil16() of the page */

/* ---- decode.c */

void enpu_decode_insn(const struct golden_enpu *enpu, uint32_t index, struct enpu_insn *insn);
bool enpu_is_conv(const struct enpu_insn *insn);
bool enpu_is_window(const struct enpu_insn *insn);
bool enpu_is_pointwise(const struct enpu_insn *insn);
bool enpu_is_known(uint32_t op);
bool enpu_has_bias(const struct enpu_insn *insn);	/* its opcode may have a block */
bool enpu_has_block(const struct enpu_insn *insn);
bool enpu_has_weights(const struct enpu_insn *insn);
bool enpu_has_b(const struct enpu_insn *insn);
bool enpu_has_shift(const struct enpu_insn *insn);	/* in the record */
bool enpu_has_skip(const struct enpu_insn *insn);	/* a result in the skip DTCM */
bool enpu_has_out(const struct enpu_insn *insn);	/* in the working DTCM */
int64_t enpu_channels_a(const struct enpu_insn *insn);
int64_t enpu_stage_z(const struct enpu_insn *first);	/* Z of a unit */

/* ---- reshape.c */

struct enpu_shape enpu_shape_of(const struct enpu_insn *insn);	/* of the result as a map */
bool enpu_lanes_change(const struct enpu_insn *insn);	/* of a RESHAPE */
/* Where element (oy, ox, o) goes: row, column and channel. */
void enpu_moved(const struct enpu_insn *insn, const int64_t at[3], int64_t to[3]);

/* ---- ranges.c */

struct enpu_range enpu_range_a(const struct enpu_insn *insn);
struct enpu_range enpu_range_b(const struct enpu_insn *insn);
struct enpu_range enpu_range_weights(const struct enpu_insn *insn);
struct enpu_range enpu_range_block(const struct enpu_insn *insn);
struct enpu_range enpu_range_lut(const struct enpu_insn *insn);
struct enpu_range enpu_range_skip(const struct enpu_insn *insn);
struct enpu_range enpu_range_out(const struct enpu_insn *insn);
/*
 * Banks of a program that starts at ITCM index @start and has @insns instructions before its STOP,
 * as in register BANKS; @bytes: sizes of the memories.
 */
uint32_t enpu_banks(const uint32_t *bytes, uint32_t start, const struct enpu_insn *insn,
		    unsigned int insns);

/* ---- check.c: decode and check the program; false after golden_seq_fail() */

bool enpu_check(struct golden_enpu *enpu, uint32_t start);

/* ---- clocks.c: count the program and return its clocks */

uint64_t enpu_count(struct golden_enpu *enpu);

/* ---- layer.c: compute the program's results */

void enpu_run(struct golden_enpu *enpu);

#endif /* GOLDEN_ENPU_STATE_H */
