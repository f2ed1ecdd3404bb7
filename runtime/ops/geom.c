// SPDX-License-Identifier: MIT
/* Windows over maps of one, two or three axes, seen as three. */
#include <string.h>

#include "geom.h"

int cnn_infer_window(struct cnn_call *c, const struct cnn_tensor *w, struct cnn_window *win)
{
	struct cnn_tensor *y = c->out[0];
	int ret = cnn_window_resolve(c->node, c->in[0], w, win, c->err) ?:
		  cnn_infer_like(c, c->in[0]);

	if (ret)
		return ret;
	y->dims[1] = win->out_ch;
	memcpy(&y->dims[2], win->out, sizeof(win->out[0]) * win->spatial);
	return CNN_OK;
}

struct cnn_geom cnn_geom_of(const struct cnn_window *w)
{
	struct cnn_geom g = { .in_plane = 1, .out_plane = 1, .taps = 1, .missing = 3 - w->spatial };

	for (int i = 0; i < 3; i++) {
		int s = i - g.missing;

		g.in[i] = s < 0 ? 1 : w->in[s];
		g.out[i] = s < 0 ? 1 : w->out[s];
		g.kernel[i] = s < 0 ? 1 : w->kernel[s];
		g.stride[i] = s < 0 ? 1 : w->stride[s];
		g.dilation[i] = s < 0 ? 1 : w->dilation[s];
		g.pad[i] = s < 0 ? 0 : w->pad_begin[s];
		g.pad_end[i] = s < 0 ? 0 : w->pad_end[s];
		g.in_plane *= g.in[i];
		g.out_plane *= g.out[i];
		g.taps *= g.kernel[i];
	}
	return g;
}

int cnn_make_runs(const int64_t *map, int64_t pixel, int n, struct cnn_run *runs)
{
	int count = 0;

	for (int at = 0; at < n; at += runs[count++].n) {
		int64_t w = (pixel + at) % map[2], left = map[2] - w;

		runs[count] = (struct cnn_run){
			.d = (pixel + at) / map[2] / map[1], .h = (pixel + at) / map[2] % map[1],
			.w = w, .at = at, .n = left < n - at ? left : n - at,
		};
	}
	return count;
}
