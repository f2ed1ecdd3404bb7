/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Products of a batch of op3: their operands, and the functions that add them. */
#ifndef CM_GCU_MAC_H
#define CM_GCU_MAC_H

#include "gcu.h"

/**
 * struct gcu_factors - operands of an op3, widened for the host.
 *
 * Integers in pairs: int16_t without zero points; rows [pair of channels][place][2], weights [tap]
 * [pair][kernel][2].  Integers in quads: rows uint8_t with a zero point, [quad of channels][place]
 * [4], weights int8_t without one, [tap][quad][kernel][4].  FP16: float, rows
 * [channel][place], weights [tap][kernel][channel], and in the same order the exponents ex of the
 * core's page: of rows a byte, of weights four equal ones.
 */
struct gcu_factors {
	const void *row, *weight;
	const uint8_t *row_exponent;
	const uint32_t *weight_exponent;
};

/** struct gcu_batch - op3 whose products are added in this order. */
struct gcu_batch {
	uint32_t count;			/* as s->pending_count */
	uint32_t taps;
	uint32_t channels, kernels;	/* ATOMIC_C, ATOMIC_K */
	uint32_t columns;		/* of the output row */
	uint32_t pitch;			/* places of a row */
	const uint32_t *tap;		/* as in struct gcu_columns, as is real */
	const uint32_t *real;
	int32_t *acc;			/* [kernel][acc_pitch] */
	uint32_t acc_pitch;
	int32_t offset[GCU_ATOMIC_MAX];	/* integers: by kernel, added to the sums */
	bool saturate;			/* a sum may leave its range */
	int32_t high;			/* the largest sum */
	bool floor;			/* FP16: fp-floor */
	bool near;			/* FP16: exponents are known to differ by 63 at most */
	struct gcu_factors op[GCU_PENDING_MAX];
};

/** struct gcu_tile - sums that are computed together. */
struct gcu_tile {
	/* First, number: GCU_STEP_KERNELS at most, or more of them with all columns of a row. */
	uint32_t k, kernels;
	uint32_t w, columns;		/* first, number: multiples of GCU_STEP_COLUMNS */
};

/** struct gcu_simd - functions for one vector width; all give bit-identical results. */
struct gcu_simd {
	/* Estimated ps of a multiply-accumulate. */
	uint32_t integers_ps, quads_ps, saturating_ps, floats_ps;
	/* Add products modulo 2^32, in pairs or in quads; quads may be NULL. */
	void (*integers)(const struct gcu_batch *b, struct gcu_tile tile);
	void (*quads)(const struct gcu_batch *b, struct gcu_tile tile);
	/* In pairs, and saturate after each tap. */
	void (*saturating)(const struct gcu_batch *b, struct gcu_tile tile);
	void (*floats)(const struct gcu_batch *b, struct gcu_tile tile);
};

/* simd.c */
const struct gcu_simd *gcu_simd(uint32_t simd);

/* avx2.c, avx512.c */
extern const struct gcu_simd gcu_avx2, gcu_avx512;
void gcu_floats_avx512(const struct gcu_batch *b, struct gcu_tile tile);
/* vnni.c: NULL if the host has no VNNI */
const struct gcu_simd *gcu_vnni(void);

/* mac_int.c, mac_fp16.c: without vectors */
void gcu_add_integers(const struct gcu_batch *b, struct gcu_tile tile);
void gcu_add_saturating(const struct gcu_batch *b, struct gcu_tile tile);
void gcu_add_floats(const struct gcu_batch *b, struct gcu_tile tile);
/* FP32 accumulator @old plus @f * 2^(4 * @func - 50). */
uint32_t gcu_fp_add(uint32_t old, int64_t f, uint32_t func);

#define GCU_PLACES	(GCU_ROWS_MAX + GCU_PENDING_MAX)
#define GCU_NO_PLACE	0xffffu

/**
 * struct gcu_operands - factors of the slots in use.
 *
 * Pending op3 have their factors, so that their slots may already get other contents.
 */
struct gcu_operands {
	/* Of the running layer: bytes of a row and of a kernel slot, rows that have memory. */
	size_t row_bytes, kernel_bytes;
	bool quads;				/* integers are in quads */
	uint32_t places, next_place;
	uint16_t place_of[GCU_ROWS_MAX];	/* by slot */
	uint16_t slot_of[GCU_PLACES];		/* by place in memory: slot that has it */
	uint32_t row_batch[GCU_PLACES];		/* the last batch that uses it */
	uint32_t row_max[GCU_PLACES];		/* largest magnitude of an integer, or exponent */
	/* By kernel slot. */
	bool *kernel_known;
	uint32_t *kernel_batch;
	/* FP16: largest exponent, and the least that the largest of a surface can be. */
	uint8_t *kernel_high, *kernel_low;
	/* [slot][r][kernel]: in pairs sums of the factors' magnitudes, in quads of the factors. */
	uint32_t *kernel_size;
	int32_t *kernel_sum;
	uint8_t *rows, *kernels;
	uint32_t row_words;			/* 32-bit words of a column in a row */
	uint32_t *stage;			/* a row on its way there */
	/* No accumulator is larger than the first; with pending products, than the second. */
	int64_t acc_bound, bound;
	/* FP16, of a row that began with zeros: log2 of what no accumulator reaches; least func. */
	bool acc_known;
	int32_t acc_bits, acc_func;
	uint32_t number;			/* of the batch */
	bool stale;				/* a slot of a pending op3 has other contents */
	uint16_t place[GCU_PENDING_MAX];	/* by pending op3 */
	struct gcu_batch batch;
};

/* operands.c */
struct gcu_operands *gcu_operands_create(const struct gcu *g);
void gcu_operands_free(struct gcu_operands *operands);
/* Place them anew, integers in quads or in pairs; nothing is known. */
void gcu_operands_place(struct gcu *g, bool quads);
/* The zero point of rows in quads. */
uint8_t gcu_row_zero(const struct gcu_layer *l);
/*
 * Bring the factors of a slot up to date; false if all of the memory for them is of the pending
 * batch.
 */
bool gcu_make_row(struct gcu *g, uint32_t slot);
bool gcu_make_kernels(struct gcu *g, uint32_t slot);
/* Factors of slots that are up to date. */
void gcu_factors(const struct gcu *g, const struct gcu_op *op, struct gcu_factors *factors);

#endif
