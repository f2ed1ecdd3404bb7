/* SPDX-License-Identifier: MIT */
/* Writes operations of imc into programs of the sequencer. */
#ifndef IMC_CODE_H
#define IMC_CODE_H

#include "cnnacc_imc.h"
#include "seq_code.h"

/** struct imc_setup - fields of SETUP, strides in components and results. */
struct imc_setup {
	uint32_t n, format, w, h, cin, cout;
	uint32_t full;			/* 1: full reuse */
	uint32_t in_column, in_row, result_column, result_row;
};

/** struct imc_shape - fields of SETUP but for the strides. */
struct imc_shape {
	uint32_t n, format, w, h, cin, cout, full;
};

/* With the strides of [H][W][cin] and [Ho][Wo][cout]. */
static inline struct imc_setup imc_compact(struct imc_shape s)
{
	return (struct imc_setup){
		.n = s.n, .format = s.format, .w = s.w, .h = s.h, .cin = s.cin, .cout = s.cout,
		.full = s.full, .in_column = s.cin, .in_row = s.w * s.cin,
		.result_column = s.cout, .result_row = (s.w - s.n + 1) * s.cout,
	};
}

static inline void sa_setup(struct sasm *a, const struct imc_setup *p)
{
	SA(a, CNNACC_SEQ_EXEC, 0,
	   CNNACC_IMC_SETUP | p->n << CNNACC_IMC_SETUP_N_SHIFT |
	   p->format << CNNACC_IMC_SETUP_FORMAT_SHIFT | p->full * CNNACC_IMC_SETUP_FULL,
	   p->w | p->h << 16, p->cin | p->cout << 16, p->in_column | p->result_column << 16,
	   p->in_row, p->result_row);
}

/* @flags: CNNACC_IMC_CONV_*. */
static inline void sa_conv(struct sasm *a, uint32_t flags, uint32_t in, uint32_t weight,
			   uint32_t result)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_IMC_CONV | flags, in, weight, result);
}

static inline void sa_step(struct sasm *a, uint32_t valid, uint32_t clocks)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_IMC_STEP | valid, clocks);
}

static inline void sa_read(struct sasm *a, uint32_t offset, uint32_t va)
{
	SA(a, CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, 0, CNNACC_IMC_READ, offset, 0, 0, 0, 0, va);
}

/* As many clocks with valid = 1 outside, in STEPs of the largest number. */
static inline void sa_steps(struct sasm *a, uint64_t clocks)
{
	uint32_t most = CNNACC_IMC_CLOCKS_MAX;

	if (clocks >= most) {
		SA(a, CNNACC_SEQ_LOOP, 1, (uint32_t)(clocks / most));
		sa_step(a, CNNACC_IMC_STEP_VALID, most);
	}
	if (clocks % most)
		sa_step(a, CNNACC_IMC_STEP_VALID, (uint32_t)(clocks % most));
}

#endif
