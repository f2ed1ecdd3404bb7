// SPDX-License-Identifier: MIT
/*
 * Rows, columns and slices of a convolution. The phases of a transposed one are convolutions of
 * their own, whose outputs lie as far apart as its stride.
 */
#include "sides.h"

#define PADDING_MAX	UINT8_MAX

/* Has every phase of a transposed axis a kernel of its own, at equal distances? */
static bool has_phases(const struct gcuc_axis *a)
{
	return a->inner && a->kernel > a->inner && cnn_gcd(a->dilation + 1, a->inner + 1) == 1;
}

bool gcuc_has_phases(const struct gcuc_conv *v)
{
	return has_phases(&v->y) || has_phases(&v->x);
}

static int64_t count_phases(const struct gcuc_plan *plan, const struct gcuc_axis *a)
{
	return plan->phases && has_phases(a) ? a->inner + 1 : 1;
}

/* Output o of phase p has those points of the kernel that fall on elements, not between them. */
static struct gcuc_side get_side(const struct gcuc_plan *plan, const struct gcuc_axis *a, int64_t p)
{
	struct gcuc_side s = { .a = *a, .out_step = count_phases(plan, a), .kernel_step = 1 };
	int64_t k = 0, at;

	if (s.out_step == 1)
		return s;
	while ((p + k * (a->dilation + 1) - a->begin) % s.out_step)
		k++;
	at = (p + k * (a->dilation + 1) - a->begin) / s.out_step;
	s.out_first = p;
	s.kernel_first = k;
	s.kernel_step = s.out_step;
	s.a.out = cnn_div_up(a->out - p, s.out_step);
	s.a.kernel = cnn_div_up(a->kernel - k, s.out_step);
	s.a.inner = 0;
	s.a.begin = -at;
	return s;
}

int64_t gcuc_all_phases(const struct gcuc_node *n)
{
	return count_phases(&n->plan, &n->conv.y) * count_phases(&n->plan, &n->conv.x);
}

void gcuc_get_sides(const struct gcuc_node *n, int64_t phase, struct gcuc_side *y,
		    struct gcuc_side *x)
{
	int64_t columns = count_phases(&n->plan, &n->conv.x);

	*y = get_side(&n->plan, &n->conv.y, phase / columns);
	*x = get_side(&n->plan, &n->conv.x, phase % columns);
	y->a.in /= n->plan.merge;
	y->a.out /= n->plan.merge;
	x->a.in *= n->plan.merge;
	x->a.out *= n->plan.merge;
}

void gcuc_phase_size(const struct gcuc_node *n, struct gcuc_sizes *s)
{
	struct gcuc_side y, x;

	gcuc_get_sides(n, 0, &y, &x);
	s->rows = y.a.out;
	s->columns = x.a.out;
	s->kernel_y = cnn_div_up(n->conv.y.kernel, y.out_step);
	s->kernel_x = cnn_div_up(n->conv.x.kernel, x.out_step);
}

bool gcuc_cut_axis(const struct gcuc_axis *whole, struct gcuc_span out, struct gcuc_span kernel,
		   struct gcuc_axis *a, int64_t *in)
{
	int64_t step = whole->inner + 1, first, last, points;

	*a = *whole;
	a->out = out.count;
	a->kernel = kernel.count;
	first = out.first * a->stride + kernel.first * (a->dilation + 1) - a->begin;
	last = first + (a->out - 1) * a->stride + gcuc_reach(a) - 1;
	points = last - first + 1;
	*in = cnn_max(0, -cnn_floor_div(-first, step));
	a->in = cnn_min(a->in - 1, cnn_floor_div(last, step)) - *in + 1;
	if (a->in < 1) {
		/* All is padding: an element behind it. */
		*in = 0;
		a->in = 1;
		a->begin = points;
	} else {
		a->begin = *in * step - first;
	}
	a->end = cnn_max(0, points - a->begin - (a->in - 1) * step - 1);
	return a->begin <= PADDING_MAX && a->end <= PADDING_MAX;
}

/* ---- slices ------------------------------------------------------------------------------ */

int64_t gcuc_slice_at(const struct gcuc_axis *z, int64_t d, int64_t k)
{
	int64_t at = d * z->stride + k * (z->dilation + 1) - z->begin, step = z->inner + 1;

	return at >= 0 && at % step == 0 && at / step < z->in ? at / step : -1;
}

struct gcuc_span gcuc_kernel_slices(const struct gcuc_axis *z, int64_t slice)
{
	int64_t first = 0, end = z->kernel;

	while (first < end && gcuc_slice_at(z, slice, first) < 0)
		first++;
	while (end > first && gcuc_slice_at(z, slice, end - 1) < 0)
		end--;
	return (struct gcuc_span){ first, end - first };
}
