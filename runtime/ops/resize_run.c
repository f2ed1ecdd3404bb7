// SPDX-License-Identifier: MIT
/*
 * Resize and Upsample, one axis after the other: the axes that shrink most come first, so that
 * nothing in between is larger than both input and output.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "resize.h"

#define MAX_TAPS	4

struct tap {
	int64_t at[MAX_TAPS];
	float weight[MAX_TAPS];
	bool outside;		/* of the region of interest: the extrapolation value */
};

static bool rounds_up(enum cnn_resize_rounding mode, double part)
{
	switch (mode) {
	case CNN_RESIZE_ROUND_PREFER_FLOOR:
		return part > 0.5;
	case CNN_RESIZE_ROUND_PREFER_CEIL:
		return part >= 0.5;
	case CNN_RESIZE_CEIL:
		return part > 0;
	default:
		return false;
	}
}

static void cubic_weights(double a, double t, double *w)
{
	double u = 1 - t;

	w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
	w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
	w[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
	w[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

static int64_t inside(int64_t i, int64_t n)
{
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static int taps_of(enum cnn_resize_mode mode)
{
	return mode == CNN_RESIZE_NEAREST ? 1 : mode == CNN_RESIZE_LINEAR ? 2 : MAX_TAPS;
}

static void make_tap(const struct resize *r, int axis, int64_t o, struct tap *t)
{
	double x = cnn_resize_source(r, axis, o), last = (double)(r->in[axis] - 1);
	double part, w[MAX_TAPS], sum = 0;
	int n = taps_of(r->mode);
	int64_t base;

	t->outside = r->coordinates == CNN_RESIZE_TF_CROP_AND_RESIZE && !(x >= 0 && x <= last);
	x = x >= -4 ? x : -4;		/* what is beyond the edge repeats it; no NaN remains */
	x = x <= last + 4 ? x : last + 4;
	base = (int64_t)floor(x);
	part = x - (double)base;
	if (r->mode == CNN_RESIZE_NEAREST) {
		base += rounds_up(r->rounding, part);
		w[0] = 1;
	} else if (r->mode == CNN_RESIZE_LINEAR) {
		w[0] = 1 - part;
		w[1] = part;
	} else {
		base--;
		cubic_weights(r->cubic_a, part, w);
	}
	for (int i = 0; i < n; i++) {
		t->at[i] = inside(base + i, r->in[axis]);
		if (r->exclude_outside && t->at[i] != base + i)
			w[i] = 0;
		sum += w[i];
	}
	for (int i = 0; i < n; i++)
		t->weight[i] = (float)(r->exclude_outside && sum != 0 ? w[i] / sum : w[i]);
}

static bool changes(const struct resize *r, int axis, const struct tap *taps)
{
	if (r->in[axis] != r->out[axis])
		return true;
	for (int64_t i = 0; i < r->out[axis]; i++)
		if (taps[i].outside || taps[i].at[0] != i || taps[i].weight[0] != 1)
			return true;
	return false;
}

/* x seen as outer * in * inner elements becomes outer * out * inner. */
struct pass {
	const struct resize *r;
	const struct tap *taps;
	int64_t outer, in, inner, out;
	size_t size;
	const char *x;
	char *y;
};

#define MOVE_ONE(type)									\
	do {										\
		for (int64_t i = 0; i < p->out; i++)					\
			((type *)y)[i] = ((const type *)x)[p->taps[i].at[0]];		\
	} while (0)

/* A row of single elements. */
static void single_row(const struct pass *p, const char *x, char *y)
{
	const struct tap *t = p->taps;
	const float *f = (const float *)x;

	if (p->r->mode == CNN_RESIZE_LINEAR) {
		for (int64_t i = 0; i < p->out; i++)
			((float *)y)[i] = f[t[i].at[0]] * t[i].weight[0] +
					  f[t[i].at[1]] * t[i].weight[1];
		return;
	}
	switch (p->size) {
	case 1:
		MOVE_ONE(uint8_t);
		break;
	case 2:
		MOVE_ONE(uint16_t);
		break;
	case 4:
		MOVE_ONE(uint32_t);
		break;
	default:
		MOVE_ONE(uint64_t);
		break;
	}
}

static void fill(float *y, int64_t n, float v)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = v;
}

CNN_CLONES
static void mix2(const float *a, const float *b, float wa, float wb, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = a[i] * wa + b[i] * wb;
}

static void mix(const float *x, const struct tap *t, int taps, float *y, int64_t n)
{
	const float *p[MAX_TAPS];

	for (int i = 0; i < taps; i++)
		p[i] = x + t->at[i] * n;
	mix2(p[0], p[1], t->weight[0], t->weight[1], y, n);
	for (int64_t i = 0; taps == MAX_TAPS && i < n; i++)
		y[i] += p[2][i] * t->weight[2] + p[3][i] * t->weight[3];
}

static void one_line(const struct pass *p, const char *x, char *y)
{
	int64_t run = p->inner * (int64_t)p->size;

	for (int64_t i = 0; i < p->out; i++, y += run) {
		if (p->taps[i].outside)
			fill((float *)y, p->inner, p->r->extrapolation);
		else if (p->r->mode == CNN_RESIZE_NEAREST)
			memcpy(y, x + p->taps[i].at[0] * run, run);
		else
			mix((const float *)x, &p->taps[i], taps_of(p->r->mode), (float *)y,
			    p->inner);
	}
}

static void run_pass(const struct pass *p)
{
	bool single = p->inner == 1 && p->r->mode != CNN_RESIZE_CUBIC &&
		      p->r->coordinates != CNN_RESIZE_TF_CROP_AND_RESIZE;
	int64_t x_step = p->in * p->inner * p->size, y_step = p->out * p->inner * p->size;

	for (int64_t o = 0; o < p->outer; o++) {
		if (single)
			single_row(p, p->x + o * x_step, p->y + o * y_step);
		else
			one_line(p, p->x + o * x_step, p->y + o * y_step);
	}
}

/* The axes, those that shrink most first, then the innermost. */
static void order_axes(const struct resize *r, int *order)
{
	for (int i = 0; i < r->rank; i++) {
		int axis = r->rank - 1 - i, at = i;
		double ratio = (double)r->out[axis] / (double)r->in[axis];

		for (; at > 0; at--) {
			int before = order[at - 1];

			if ((double)r->out[before] / (double)r->in[before] <= ratio)
				break;
			order[at] = before;
		}
		order[at] = axis;
	}
}

static struct tap *make_taps(const struct resize *r, int axis)
{
	struct tap *taps = malloc(sizeof(*taps) * r->out[axis]);

	for (int64_t i = 0; taps && i < r->out[axis]; i++)
		make_tap(r, axis, i, &taps[i]);
	return taps;
}

/* Passes read what the last one wrote, the first one the input. */
struct buffers {
	const char *from;
	char *to[2];		/* written in turn */
	int next;
};

/* Resizes one axis of what has the dimensions dims, which it updates. */
static int resize_axis(struct cnn_call *c, const struct resize *r, int axis, int64_t *dims,
		       struct buffers *b, size_t bytes)
{
	struct pass p = { .r = r, .outer = 1, .inner = 1, .in = r->in[axis], .out = r->out[axis] };
	bool smooth = cnn_resize_is_smooth(r, axis);
	struct tap *taps = make_taps(r, axis);

	if (!taps)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	if (smooth || changes(r, axis, taps)) {
		for (int i = 0; i < r->rank; i++)
			*(i < axis ? &p.outer : &p.inner) *= i == axis ? 1 : dims[i];
		if (!b->to[b->next])
			b->to[b->next] = malloc(bytes);
		p.taps = taps;
		p.size = cnn_dtype_size(c->in[0]->dtype);
		p.x = b->from;
		p.y = b->to[b->next];
		if (p.y && smooth)
			cnn_resize_smooth(r, axis, p.outer, p.inner, (const float *)p.x,
					  (float *)p.y);
		else if (p.y)
			run_pass(&p);
		b->from = p.y;
		b->next = !b->next;
		dims[axis] = r->out[axis];
	}
	free(taps);
	return b->from ? CNN_OK : cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
}

CNN_CLONES
static void twice(const uint32_t *x, uint32_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		y[2 * i] = x[i];
		y[2 * i + 1] = x[i];
	}
}

void cnn_repeat(const uint32_t *x, uint32_t *y, int64_t n, int64_t times)
{
	if (times == 1)
		memcpy(y, x, (size_t)n * sizeof(*y));
	else if (times == 2)
		twice(x, y, n);
	else
		for (int64_t i = 0; i < n; i++)
			for (int64_t k = 0; k < times; k++)
				*y++ = x[i];
}

/* Which of an axis' in elements each of its out elements is: at[0..out-1]. */
struct choice {
	int64_t in, out;
	int64_t *at;
};

static void gather(const uint32_t *x, const int64_t *at, uint32_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[at[i]];
}

static bool is_twice(const struct choice *c)
{
	for (int64_t i = 0; i < c->out; i++)
		if (c->at[i] != i / 2)
			return false;
	return c->out == 2 * c->in;
}

static bool is_all(const struct choice *c)
{
	for (int64_t i = 0; i < c->out; i++)
		if (c->at[i] != i)
			return false;
	return c->out == c->in;
}

/* y[n][i][j] = x[n][rows->at[i]][columns->at[j]] */
static void copy_chosen(const uint32_t *x, uint32_t *y, int64_t planes, const struct choice *rows,
			const struct choice *columns)
{
	bool doubled = is_twice(columns), all = is_all(columns);

	for (int64_t n = 0; n < planes; n++, x += rows->in * columns->in)
		for (int64_t i = 0; i < rows->out; i++, y += columns->out) {
			const uint32_t *row = x + rows->at[i] * columns->in;

			if (all)
				memcpy(y, row, columns->out * sizeof(*y));
			else if (i && rows->at[i] == rows->at[i - 1])
				memcpy(y, y - columns->out, columns->out * sizeof(*y));
			else if (doubled)
				twice(row, y, columns->in);
			else
				gather(row, columns->at, y, columns->out);
		}
}

/* How often each element of an axis follows itself; 0: something else happens to the axis. */
static int64_t repeats(const struct resize *r, int axis)
{
	int64_t times = r->in[axis] ? r->out[axis] / r->in[axis] : 0;
	struct tap tap;

	if (!times || r->out[axis] % r->in[axis])
		return 0;
	for (int64_t i = 0; i < r->out[axis]; i++) {
		make_tap(r, axis, i, &tap);
		if (tap.at[0] != i / times)
			return 0;
	}
	return times;
}

/* Nearest elements of maps of four bytes each: rows and columns in one go. */
static bool is_choice(const struct cnn_call *c, const struct resize *r)
{
	if (r->mode != CNN_RESIZE_NEAREST || r->coordinates == CNN_RESIZE_TF_CROP_AND_RESIZE ||
	    r->rank < 2)
		return false;
	for (int i = 0; i < r->rank - 2; i++)
		if (repeats(r, i) != 1)
			return false;
	return cnn_dtype_size(c->in[0]->dtype) == 4;
}

bool cnn_resize_repeats(const struct cnn_node *node, const struct cnn_tensor *const *in)
{
	struct cnn_call c = { .node = node, .n_in = node->n_in, .n_out = 1, .in = in };
	struct resize r;

	return node->n_in <= CNN_RESIZE_INPUTS && !cnn_resize_resolve(&c, &r) &&
	       is_choice(&c, &r) && r.rank == 4 && repeats(&r, 2) && repeats(&r, 3);
}

struct choose_call {
	const struct cnn_call *c;
	struct choice rows, columns;
};

static void choose_planes(const void *arg, int64_t first, int64_t n)
{
	const struct choose_call *a = arg;
	const uint32_t *x = a->c->in[0]->data;
	uint32_t *y = a->c->out[0]->data;

	copy_chosen(x + first * a->rows.in * a->columns.in,
		    y + first * a->rows.out * a->columns.out, n, &a->rows, &a->columns);
}

static int choose(struct cnn_call *c, const struct resize *r)
{
	int64_t planes = 1, *at = malloc(sizeof(*at) * (r->out[r->rank - 2] + r->out[r->rank - 1]));
	struct choose_call a = { .c = c };
	struct tap tap;

	if (!at)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int k = 0; k < 2; k++) {
		struct choice *choice = k ? &a.columns : &a.rows;
		int axis = r->rank - 2 + k;

		*choice = (struct choice){ r->in[axis], r->out[axis], k ? at + a.rows.out : at };
		for (int64_t i = 0; i < r->out[axis]; i++) {
			make_tap(r, axis, i, &tap);
			choice->at[i] = tap.at[0];
		}
	}
	for (int i = 0; i < r->rank - 2; i++)
		planes *= r->in[i];
	cnn_for_blocks(c, planes, 1 + CNN_BLOCK / (a.rows.out * a.columns.out), choose_planes, &a);
	free(at);
	return CNN_OK;
}

int cnn_compute_resize(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t dims[CNN_MAX_RANK], in_bytes = cnn_tensor_bytes(x), out_bytes = cnn_tensor_bytes(y);
	int order[CNN_MAX_RANK], ret, passes = 0;
	struct buffers b = { .from = x->data };
	struct resize r;

	ret = cnn_resize_resolve(c, &r);
	if (ret || !out_bytes)
		return ret;
	if (is_choice(c, &r))
		return choose(c, &r);
	memcpy(dims, x->dims, sizeof(dims));
	order_axes(&r, order);
	for (int i = 0; i < r.rank; i++)
		passes += r.in[i] != r.out[i];
	/* The last pass writes the output itself where that is large enough for all. */
	b.to[0] = out_bytes >= in_bytes ? y->data : NULL;
	b.next = !(passes & 1);
	for (int i = 0; !ret && i < r.rank; i++)
		ret = resize_axis(c, &r, order[i], dims, &b,
				  in_bytes > out_bytes ? in_bytes : out_bytes);
	if (!ret && b.from != y->data)
		memcpy(y->data, b.from, out_bytes);
	free(b.to[0] == y->data ? NULL : b.to[0]);
	free(b.to[1]);
	return ret;
}
