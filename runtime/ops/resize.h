/* SPDX-License-Identifier: MIT */
/* What a Resize or Upsample is asked for. */
#ifndef CNN_OPS_RESIZE_H
#define CNN_OPS_RESIZE_H

#include "ops.h"

struct resize {
	enum cnn_resize_mode mode;
	enum cnn_resize_coordinates coordinates;
	enum cnn_resize_rounding rounding;
	float cubic_a, extrapolation;
	bool exclude_outside, antialias;
	bool by_size;
	int rank;
	int64_t in[CNN_MAX_RANK], out[CNN_MAX_RANK];
	float scale[CNN_MAX_RANK];
	float roi[2][CNN_MAX_RANK];	/* start, end */
};

int cnn_resize_resolve(struct cnn_call *c, struct resize *r);

/*
 * Position o of the output in the input. Scales are applied in float, as the numbers in the
 * file mean it; sizes give exact fractions.
 */
double cnn_resize_source(const struct resize *r, int axis, int64_t o);

/* Does each element along this axis come from a window that is wider, as the axis shrinks? */
bool cnn_resize_is_smooth(const struct resize *r, int axis);
/* x seen as outer * in * inner elements becomes outer * out * inner. */
void cnn_resize_smooth(const struct resize *r, int axis, int64_t outer, int64_t inner,
		       const float *x, float *y);

#endif
