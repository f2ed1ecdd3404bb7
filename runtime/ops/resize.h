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
	bool exclude_outside;
	bool by_size;
	int rank;
	int64_t in[CNN_MAX_RANK], out[CNN_MAX_RANK];
	float scale[CNN_MAX_RANK];
	float roi[2][CNN_MAX_RANK];	/* start, end */
};

int cnn_resize_resolve(struct cnn_call *c, struct resize *r);

#endif
