/* SPDX-License-Identifier: MIT */
/* What convolutions and pools share. */
#ifndef CNN_OPS_GEOM_H
#define CNN_OPS_GEOM_H

#include "ops.h"

/* A window with three spatial axes, missing ones in front. */
struct cnn_geom {
	int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
	int64_t in_plane, out_plane, taps;
	int missing;
};

struct cnn_geom cnn_geom_of(const struct cnn_window *w);
/* Output 0 gets the type of input 0 and the shape that a window with weights w (or NULL) gives. */
int cnn_infer_window(struct cnn_call *c, const struct cnn_tensor *w, struct cnn_window *win);

/* A run of pixels of one row of a map, part of a panel. */
struct cnn_run {
	int64_t d, h, w;
	int n, at;		/* pixels, first column of the panel */
};

/* Fills in the runs that make up n pixels of a map, from number pixel on; returns how many. */
int cnn_make_runs(const int64_t *map, int64_t pixel, int n, struct cnn_run *runs);

#endif
