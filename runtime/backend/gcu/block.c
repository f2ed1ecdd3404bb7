// SPDX-License-Identifier: MIT
/* Geometry of a layer block. */
#include "block.h"

struct gcuc_range gcuc_range(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t kg)
{
	int64_t k0 = kg * hw->atomic_k, k1 = cnn_min(k0 + hw->atomic_k, b->k) - 1;
	int64_t size = b->c / b->groups;
	struct gcuc_range r = { .kernels = k1 - k0 + 1 };

	if (b->groups == 1) {
		r.count = gcuc_channel_groups(hw, b);
		return r;
	}
	r.first = k0 / size * size / hw->atomic_c;
	r.count = ((k1 / size + 1) * size - 1) / hw->atomic_c - r.first + 1;
	return r;
}

int64_t gcuc_step_cycles(const struct gcuc_block *b)
{
	int64_t least = (gcuc_is_fp16(b) ? CNNACC_GCU_UPDATE_FP16 : CNNACC_GCU_UPDATE_INT) + 1;

	return b->x.kernel * cnn_max(b->x.out, least);
}

/* The element that a point of the extended axis is, or -1. */
static int64_t element_at(const struct gcuc_axis *a, int64_t point)
{
	int64_t step = a->inner + 1, at = point - a->begin;

	return at >= 0 && at <= (a->in - 1) * step && at % step == 0 ? at / step : -1;
}

int64_t gcuc_row_of(const struct gcuc_axis *y, int64_t h, int64_t r)
{
	return element_at(y, h * y->stride + r * (y->dilation + 1));
}

int64_t gcuc_taps_of_row(const struct gcuc_axis *x)
{
	int64_t taps = 0;

	for (int64_t s = 0; s < x->kernel; s++)
		for (int64_t w = 0; w < x->out; w++)
			taps += element_at(x, w * x->stride + s * (x->dilation + 1)) >= 0;
	return taps;
}

int64_t gcuc_weight_bytes(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t kg)
{
	struct gcuc_range r = gcuc_range(hw, b, kg);

	return r.count * b->y.kernel * b->x.kernel * r.kernels * hw->atomic_c * b->element;
}
