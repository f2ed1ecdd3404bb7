/* SPDX-License-Identifier: MIT */
/* Raw parameter fields of the ccp units, and their packing into R0..R7. */
#ifndef GOLDEN_LAYER_H
#define GOLDEN_LAYER_H

#include <stdint.h>

#include "cnnacc_hw.h"

/* Fields as the hardware has them: zero where zero means the default. */
struct conv_layer {
	uint32_t relu, bias;
	uint32_t kernel, kernel_x, stride, stride_x;
	uint32_t in_cols, in_rows, out_cols, out_rows;
	uint32_t top, bottom, left, right;
	uint32_t ci_num, co_num;
	uint32_t ci_start, ci_end, co_start, co_cnt;
	uint32_t row_start, col_start, vec_active, groups;
	int32_t in_base, out_base, weight_base, bias_base;
	uint32_t in_pitch, out_pitch, weight_pitch;
};

struct pool_layer {
	uint32_t average;
	uint32_t kernel, kernel_x, stride, stride_x;
	uint32_t in_cols, in_rows, out_cols, out_rows;
	uint32_t top, bottom, left, right;
	uint32_t channels;
	int32_t in_base, out_base;
	uint32_t in_pitch, out_pitch;
};

struct pad_layer {
	uint32_t layers;
	uint32_t in_cols, in_rows;
	uint32_t channels;
	int32_t in_base, out_base;
	uint32_t in_pitch, out_pitch;
};

struct fc_layer {
	uint32_t relu, bias;
	uint32_t in, out;
	int32_t in_base, out_base, weight_base, bias_base;
};

static inline void conv_pack(const struct conv_layer *l, uint32_t g0[8], uint32_t g1[8])
{
	g0[0] = l->relu | l->bias << 1 | l->stride << 8 | l->kernel << 16 | l->stride_x << 24 |
		l->kernel_x << 28;
	g0[1] = l->in_cols | l->out_cols << 16;
	g0[2] = l->ci_num | l->co_num << 16;
	g0[3] = l->ci_start | l->ci_end << 16;
	g0[4] = l->row_start | l->col_start << 16;
	g0[5] = l->vec_active | (l->groups - 1) << 8 | l->co_start << 16;
	g0[6] = l->co_cnt | l->top << 16 | l->bottom << 20 | l->left << 24 | l->right << 28;
	g0[7] = 0;
	g1[0] = l->in_base;
	g1[1] = l->out_base;
	g1[2] = l->weight_base;
	g1[3] = l->bias_base;
	g1[4] = l->in_rows | l->out_rows << 16;
	g1[5] = l->in_pitch;
	g1[6] = l->out_pitch;
	g1[7] = l->weight_pitch;
}

static inline void pool_pack(const struct pool_layer *l, uint32_t g[8])
{
	g[0] = l->average | l->stride << 8 | l->kernel << 16 | l->stride_x << 24 |
	       l->kernel_x << 28;
	g[1] = l->in_cols | l->in_rows << 16;
	g[2] = l->channels | l->top << 16 | l->bottom << 20 | l->left << 24 | l->right << 28;
	g[3] = l->in_base;
	g[4] = l->out_base;
	g[5] = l->out_cols | l->out_rows << 16;
	g[6] = l->in_pitch;
	g[7] = l->out_pitch;
}

static inline void pad_pack(const struct pad_layer *l, uint32_t g[8])
{
	g[0] = l->layers;
	g[1] = l->in_cols | l->in_rows << 16;
	g[2] = l->channels;
	g[3] = l->in_base;
	g[4] = l->out_base;
	g[5] = l->in_pitch;
	g[6] = l->out_pitch;
	g[7] = 0;
}

static inline void fc_pack(const struct fc_layer *l, uint32_t g[8])
{
	g[0] = l->relu | l->bias << 1;
	g[1] = l->in;
	g[2] = l->out;
	g[3] = l->in_base;
	g[4] = l->out_base;
	g[5] = l->weight_base;
	g[6] = l->bias_base;
	g[7] = 0;
}

#endif /* GOLDEN_LAYER_H */
