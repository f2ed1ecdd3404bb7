/* SPDX-License-Identifier: MIT */
/* What a Resize or Upsample is asked for. */
#ifndef CNN_CPU_RESIZE_H
#define CNN_CPU_RESIZE_H

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

/* Which of an axis' in elements each of its out elements is: at[0..out-1]. */
struct choice {
	int64_t in, out;
	int64_t *at;
};

/* y[n][i][j] = x[n][rows->at[i]][columns->at[j]] */
void cnn_resize_choose(const uint32_t *x, uint32_t *y, int64_t planes, const struct choice *rows,
		       const struct choice *columns);

#endif
