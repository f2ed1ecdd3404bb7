// SPDX-License-Identifier: MIT
/* Resize with antialiasing: where an axis shrinks the filter is stretched over the input. */
#include <math.h>

#include "resize.h"

bool cnn_resize_is_smooth(const struct resize *r, int axis)
{
	return r->antialias && r->mode != CNN_RESIZE_NEAREST && r->scale[axis] < 1;
}

/* Of an element at a distance, which is at most the filter's radius. */
static double weight(const struct resize *r, double distance)
{
	double d = fabs(distance), a = r->cubic_a;

	if (r->mode == CNN_RESIZE_LINEAR)
		return d < 1 ? 1 - d : 0;
	if (d <= 1)
		return ((a + 2) * d - (a + 3)) * d * d + 1;
	return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void add_scaled(const float *x, float w, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += x[i] * w;
}

/* The elements first..last, those beyond an edge that edge's or none, into inner elements of y. */
struct window {
	double centre;
	int64_t first, last;
};

static struct window window_of(const struct resize *r, int axis, int64_t o)
{
	double radius = (r->mode == CNN_RESIZE_LINEAR ? 1 : 2) / (double)r->scale[axis];
	double x = cnn_resize_source(r, axis, o), most = (double)r->in[axis] + radius;

	x = x > -radius ? x : -radius;		/* nothing is beyond, and no NaN remains */
	x = x < most ? x : most;
	return (struct window){ x, (int64_t)ceil(x - radius), (int64_t)floor(x + radius) };
}

static bool is_inside(const struct resize *r, int axis, int64_t i)
{
	return i >= 0 && i < r->in[axis];
}

static double sum_of(const struct resize *r, int axis, const struct window *w)
{
	double sum = 0;

	for (int64_t i = w->first; i <= w->last; i++)
		if (!r->exclude_outside || is_inside(r, axis, i))
			sum += weight(r, ((double)i - w->centre) * r->scale[axis]);
	return sum != 0 ? sum : 1;
}

static void one_output(const struct resize *r, int axis, const struct window *w, const float *x,
		       int64_t inner, float *y)
{
	double sum = sum_of(r, axis, w), last = (double)(r->in[axis] - 1);
	bool outside = r->coordinates == CNN_RESIZE_TF_CROP_AND_RESIZE &&
		       !(w->centre >= 0 && w->centre <= last);

	for (int64_t i = 0; i < inner; i++)
		y[i] = outside ? r->extrapolation : 0;
	for (int64_t i = w->first; !outside && i <= w->last; i++) {
		int64_t at = i < 0 ? 0 : i < r->in[axis] ? i : r->in[axis] - 1;
		double part = weight(r, ((double)i - w->centre) * r->scale[axis]) / sum;

		if (!r->exclude_outside || at == i)
			add_scaled(x + at * inner, (float)part, y, inner);
	}
}

void cnn_resize_smooth(const struct resize *r, int axis, int64_t outer, int64_t inner,
		       const float *x, float *y)
{
	for (int64_t o = 0; o < outer; o++, x += r->in[axis] * inner)
		for (int64_t i = 0; i < r->out[axis]; i++, y += inner) {
			struct window w = window_of(r, axis, i);

			one_output(r, axis, &w, x, inner, y);
		}
}
