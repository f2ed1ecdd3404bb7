// SPDX-License-Identifier: MIT
/* TensorFlow Lite's operators of maps as nodes: windows, borders, means, other sizes. */
#include <string.h>

#include "tflite_ops.h"

void tfl_make_pool(struct tfl *m, const struct tfl_op *op)
{
	bool max = op->kind->code == MAX_POOL_2D;
	const struct fb_table *o = &op->options;
	int64_t stride[] = { fb_int(o, 2, 4, 0), fb_int(o, 1, 4, 0) };
	const struct cnn_window_ints kernel = { 2, { fb_int(o, 4, 4, 0), fb_int(o, 3, 4, 0) } };
	int v;

	tfl_want_maps(m, op, op->in[0]);
	tfl_want_same(m, op, op->in[0]);
	v = tfl_value(m, op, op->in[0], TFL_NCHW);
	v = tfl_node(m, op, max ? CNN_OP_MAX_POOL : CNN_OP_AVERAGE_POOL, 1, &v);
	tfl_params(m)->window.kernel_shape = kernel;
	tfl_fill_window(m, op, stride, NULL, fb_int(o, 0, 1, 0));
	tfl_give_act(m, op, TFL_NCHW, fb_int(o, 5, 1, 0), max ? BOUND_XNNPACK : BOUND_TFLITE, v);
}

/* Elements before and after each axis of input 0, by its axes in NCHW if it is a map. */
static void read_pads(struct tfl *m, const struct tfl_op *op, int64_t *before, int64_t *after)
{
	int rank = m->tensors[op->in[0]].rank;
	int64_t pads[2 * CNN_MAX_RANK];
	size_t n;

	tfl_want_like(m, op);
	tfl_want_same(m, op, op->in[0]);
	tfl_integers(m, op, op->in[1], pads, 2 * CNN_MAX_RANK, &n);
	if (!m->status && n != 2 * (size_t)rank)
		tfl_fail(m, op, CNN_EINVAL, "%zu paddings, %d dimensions", n, rank);
	for (int i = 0; i < rank && !m->status; i++) {
		int axis = rank == 4 ? (int)tfl_nchw_axis(i) : i;

		before[axis] = pads[2 * i];
		after[axis] = pads[2 * i + 1];
		if (pads[2 * i] < 0 || pads[2 * i + 1] < 0)
			tfl_fail(m, op, CNN_EINVAL, "padding %lld and %lld of axis %d",
				 (long long)pads[2 * i], (long long)pads[2 * i + 1], i);
	}
}

/* PAD, and PADV2 with a value. */
void tfl_make_pad(struct tfl *m, const struct tfl_op *op)
{
	int rank = m->tensors[op->in[0]].rank, in[3];
	int64_t pads[2 * CNN_MAX_RANK] = { 0 };

	read_pads(m, op, pads, pads + rank);
	in[0] = tfl_value(m, op, op->in[0], TFL_NCHW);
	in[1] = tfl_list(m, pads, 2 * rank);
	in[2] = tfl_is_quantised(m, op->in[0]) ? tfl_zero(m, op, op->in[0]) : -1;
	if (op->kind->code == PADV2) {
		tfl_want_same(m, op, op->in[2]);
		in[2] = tfl_value(m, op, op->in[2], TFL_FILE);
	}
	tfl_give(m, op, TFL_NCHW, tfl_node(m, op, CNN_OP_PAD, in[2] < 0 ? 2 : 3, in));
}

/* count elements of an axis of v backwards: the first one is start, negative from the end. */
static int backwards(struct tfl *m, const struct tfl_op *op, int v, int64_t axis, int64_t start,
		     int64_t count)
{
	int64_t end = start - count, step = -1;
	const int in[] = {
		v, tfl_list(m, &start, 1),
		tfl_list(m, start >= 0 && end < 0 ? (const int64_t[]){ INT64_MIN } : &end, 1),
		tfl_list(m, &axis, 1), tfl_list(m, &step, 1),
	};

	return tfl_node(m, op, CNN_OP_SLICE, 5, in);
}

/* Option: 0, the elements at the edge are not repeated; 1, they are. */
void tfl_make_mirror_pad(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]];
	int64_t before[CNN_MAX_RANK], after[CNN_MAX_RANK], mode = fb_int(&op->options, 0, 1, 0);
	int v = tfl_value(m, op, op->in[0], TFL_NCHW), edge = mode ? 0 : 1;

	if (mode != 0 && mode != 1)
		tfl_fail(m, op, CNN_EINVAL, "mode %lld", (long long)mode);
	read_pads(m, op, before, after);
	for (int i = 0; i < x->rank && !m->status; i++) {
		int axis = x->rank == 4 ? (int)tfl_nchw_axis(i) : i, parts[3], n = 0;
		int64_t most = x->dims[i] - edge;

		if (before[axis] > most || after[axis] > most)
			tfl_fail(m, op, CNN_EINVAL, "padding %lld and %lld of axis %d, limit %lld",
				 (long long)before[axis], (long long)after[axis], i,
				 (long long)most);
		if (!before[axis] && !after[axis])
			continue;
		if (before[axis])
			parts[n++] = backwards(m, op, v, axis, before[axis] - 1 + edge,
					       before[axis]);
		parts[n++] = v;
		if (after[axis])
			parts[n++] = backwards(m, op, v, axis, -1 - edge, after[axis]);
		v = tfl_node(m, op, CNN_OP_CONCAT, n, parts);
		tfl_params(m)->axis.axis = axis;
	}
	tfl_give(m, op, TFL_NCHW, tfl_node(m, op, CNN_OP_IDENTITY, 1, &v));
}

/* Height and width of maps: a global average, of quantised ones from their sums. */
static void mean_of_maps(struct tfl *m, const struct tfl_op *op)
{
	int in[5] = { tfl_value(m, op, op->in[0], TFL_NCHW) };

	if (tfl_is_float(m, op)) {
		in[0] = tfl_node(m, op, CNN_OP_GLOBAL_AVERAGE_POOL, 1, in);
	} else {
		in[1] = tfl_scale(m, op, op->in[0]);
		in[2] = tfl_zero(m, op, op->in[0]);
		in[3] = tfl_scale(m, op, op->out);
		in[4] = tfl_zero(m, op, op->out);
		in[0] = tfl_node(m, op, CNN_OP_QLINEAR_GLOBAL_AVERAGE_POOL, 5, in);
	}
	if (m->tensors[op->out].rank != 4)
		in[0] = tfl_as_declared(m, op, in[0]);
	tfl_give(m, op, TFL_NCHW, in[0]);
}

static enum cnn_op reduction(const struct tfl_op *op)
{
	switch (op->kind->code) {
	case SUM:
		return CNN_OP_REDUCE_SUM;
	case REDUCE_MAX:
		return CNN_OP_REDUCE_MAX;
	case REDUCE_MIN:
		return CNN_OP_REDUCE_MIN;
	case REDUCE_PROD:
		return CNN_OP_REDUCE_PROD;
	default:
		return CNN_OP_REDUCE_MEAN;
	}
}

/* Of numbers without a scale, but for the largest and the least. Option: keep_dims. */
static void reduce(struct tfl *m, const struct tfl_op *op, const int64_t *axes, int n)
{
	enum cnn_op kind = reduction(op);
	int in[] = { tfl_value(m, op, op->in[0], TFL_FILE), -1 };

	if (kind == CNN_OP_REDUCE_MAX || kind == CNN_OP_REDUCE_MIN)
		tfl_want_same(m, op, op->in[0]);
	else
		tfl_want_plain(m, op);
	if (kind == CNN_OP_REDUCE_SUM)
		in[1] = tfl_list(m, axes, n);
	in[0] = tfl_node(m, op, kind, in[1] < 0 ? 1 : 2, in);
	if (kind != CNN_OP_REDUCE_SUM) {
		tfl_params(m)->reduce.axes.n = n;
		memcpy(tfl_params(m)->reduce.axes.v, axes, sizeof(*axes) * (size_t)n);
	}
	tfl_params(m)->reduce.keepdims = fb_int(&op->options, 0, 1, 0);
	tfl_give(m, op, TFL_FILE, in[0]);
}

/* The axes in set last: what XNNPACK does with those of a map's height and width. */
static int requantised_mean(struct tfl *m, const struct tfl_op *op, unsigned int set)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]];
	struct cnn_ints perm = { .n = 0 };
	int64_t kept = 1;
	int in[5] = { tfl_value(m, op, op->in[0], TFL_FILE) };

	for (int last = 0; last < 2; last++)
		for (int i = 0; i < x->rank; i++)
			if ((int)(set >> i & 1) == last)
				perm.v[perm.n++] = i;
	for (int i = 0; i < x->rank; i++)
		kept = set >> i & 1 ? kept : cnn_mul_sat(kept, x->dims[i] > 0 ? x->dims[i] : 1);
	in[0] = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, in);
	tfl_params(m)->transpose.perm = perm;
	in[0] = tfl_reshape(m, op, in[0], (const int64_t[]){ kept, 1, -1 }, 3);
	in[1] = tfl_scale(m, op, op->in[0]);
	in[2] = tfl_zero(m, op, op->in[0]);
	in[3] = tfl_scale(m, op, op->out);
	in[4] = tfl_zero(m, op, op->out);
	in[0] = tfl_node(m, op, CNN_OP_QLINEAR_GLOBAL_AVERAGE_POOL, 5, in);
	return tfl_as_declared(m, op, in[0]);
}

/* Of elements that keep their scale TensorFlow Lite takes the mean, and cuts off its fraction. */
static int mean_cut_off(struct tfl *m, const struct tfl_op *op, const int64_t *axes, int n)
{
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
	tfl_params(m)->cast.to = CNN_INT32;
	v = tfl_node(m, op, CNN_OP_REDUCE_MEAN, 1, &v);
	tfl_params(m)->reduce.axes.n = n;
	memcpy(tfl_params(m)->reduce.axes.v, axes, sizeof(*axes) * (size_t)n);
	tfl_params(m)->reduce.keepdims = fb_int(&op->options, 0, 1, 0);
	v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
	tfl_params(m)->cast.to = tfl_type(m, op->out);
	return v;
}

/* Of int16: the sum, divided and multiplied as floats. */
static int mean_of_int16(struct tfl *m, const struct tfl_op *op, const int64_t *axes, int n,
			 unsigned int set)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]];
	int in[2] = { tfl_value(m, op, op->in[0], TFL_FILE) };
	int64_t count = 1;

	for (int i = 0; i < x->rank; i++)
		count = set >> i & 1 ? cnn_mul_sat(count, x->dims[i]) : count;
	in[0] = tfl_node(m, op, CNN_OP_CAST, 1, in);
	tfl_params(m)->cast.to = CNN_INT32;
	in[1] = tfl_list(m, axes, n);
	in[0] = tfl_node(m, op, CNN_OP_REDUCE_SUM, 2, in);
	tfl_params(m)->reduce.keepdims = fb_int(&op->options, 0, 1, 0);
	in[0] = tfl_node(m, op, CNN_OP_CAST, 1, in);
	tfl_params(m)->cast.to = CNN_FLOAT32;
	in[1] = tfl_float(m, (float)count);
	in[0] = tfl_node(m, op, CNN_OP_DIV, 2, in);
	in[1] = tfl_float(m, tfl_first_scale(m, op->in[0]) / tfl_first_scale(m, op->out));
	in[0] = tfl_node(m, op, CNN_OP_MUL, 2, in);
	return tfl_to_int16(m, op, in[0], CNN_FLOAT32);
}

static void mean_of_elements(struct tfl *m, const struct tfl_op *op, const int64_t *axes, int n,
			     unsigned int set)
{
	int x = op->in[0], y = op->out;

	tfl_scale(m, op, x);
	tfl_scale(m, op, y);
	if (m->status)
		return;
	if (tfl_first_scale(m, x) == tfl_first_scale(m, y) &&
	    tfl_first_zero(m, x) == tfl_first_zero(m, y))
		tfl_give(m, op, TFL_FILE, mean_cut_off(m, op, axes, n));
	else if (tfl_type(m, x) == CNN_INT16)
		tfl_give(m, op, TFL_FILE, mean_of_int16(m, op, axes, n, set));
	else
		tfl_give(m, op, TFL_FILE, requantised_mean(m, op, set));
}

/* MEAN, SUM, REDUCE_MAX, REDUCE_MIN and REDUCE_PROD. */
void tfl_make_reduce(struct tfl *m, const struct tfl_op *op)
{
	int64_t axes[CNN_MAX_RANK];
	int rank = m->tensors[op->in[0]].rank;
	unsigned int set = 0;
	size_t n;

	tfl_integers(m, op, op->in[1], axes, CNN_MAX_RANK, &n);
	for (size_t i = 0; i < n; i++) {
		if (axes[i] < -rank || axes[i] >= rank)
			tfl_fail(m, op, CNN_EINVAL, "axis %lld of %d", (long long)axes[i], rank);
		else
			set |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
	}
	if (op->kind->code == MEAN && rank == 4 && set == 6 &&
	    tfl_type(m, op->in[0]) != CNN_INT16)
		mean_of_maps(m, op);
	else if (op->kind->code == MEAN && tfl_is_quantised(m, op->in[0]))
		mean_of_elements(m, op, axes, (int)n, set);
	else
		reduce(m, op, axes, (int)n);
}

/* Height and width that the constant input 1 tells, of maps whose elements keep their scale. */
static void read_sizes(struct tfl *m, const struct tfl_op *op, int64_t *size)
{
	size_t n;

	tfl_want_maps(m, op, op->in[0]);
	tfl_want_same(m, op, op->in[0]);
	tfl_integers(m, op, op->in[1], size, 2, &n);
	if (!m->status && (n != 2 || size[0] < 1 || size[1] < 1))
		tfl_fail(m, op, CNN_EINVAL, "%zu sizes, %lld and %lld, 2 above 0 wanted", n,
			 (long long)size[0], (long long)size[1]);
}

/* Options: align_corners and half_pixel_centers are numbers first and first + 1. */
static enum cnn_resize_coordinates coordinates(struct tfl *m, const struct tfl_op *op, int first)
{
	bool corners = fb_int(&op->options, first, 1, 0);
	bool centers = fb_int(&op->options, first + 1, 1, 0);

	if (corners && centers)
		tfl_fail(m, op, CNN_EINVAL, "both align_corners and half_pixel_centers");
	if (corners)
		return CNN_RESIZE_ALIGN_CORNERS;
	return centers ? CNN_RESIZE_HALF_PIXEL : CNN_RESIZE_ASYMMETRIC;
}

/* The node of ONNX's Resize. */
static int resize(struct tfl *m, const struct tfl_op *op, const int64_t *size)
{
	const int64_t *dims = m->tensors[op->in[0]].dims;
	const int64_t all[] = { dims[0], dims[3], size[0], size[1] };
	const int in[] = { tfl_value(m, op, op->in[0], TFL_NCHW), -1, -1, tfl_list(m, all, 4) };

	return tfl_node(m, op, CNN_OP_RESIZE, 4, in);
}

/* Of bytes with XNNPACK's weights of 11 bits. */
void tfl_make_resize(struct tfl *m, const struct tfl_op *op)
{
	enum cnn_resize_coordinates mode = coordinates(m, op, 2);
	int64_t size[2] = { 0 };
	int v;

	read_sizes(m, op, size);
	if (m->status)
		return;
	if (tfl_is_float(m, op)) {
		v = resize(m, op, size);
		tfl_params(m)->resize.mode = CNN_RESIZE_LINEAR;
	} else {
		v = tfl_node(m, op, CNN_OP_QLINEAR_RESIZE, 2,
			     (const int[]){ tfl_value(m, op, op->in[0], TFL_NCHW),
					    tfl_list(m, size, 2) });
	}
	tfl_params(m)->resize.coordinates = mode;
	tfl_give(m, op, TFL_NCHW, v);
}

void tfl_make_resize_nearest(struct tfl *m, const struct tfl_op *op)
{
	enum cnn_resize_coordinates mode = coordinates(m, op, 0);
	int64_t size[2] = { 0 };
	int v;

	read_sizes(m, op, size);
	if (m->status)
		return;
	v = resize(m, op, size);
	tfl_params(m)->resize.coordinates = mode == CNN_RESIZE_HALF_PIXEL ?
					    CNN_RESIZE_TF_HALF_PIXEL_FOR_NN : mode;
	tfl_params(m)->resize.rounding = mode == CNN_RESIZE_ALIGN_CORNERS ?
					 CNN_RESIZE_ROUND_PREFER_CEIL : CNN_RESIZE_FLOOR;
	tfl_give(m, op, TFL_NCHW, v);
}

/* And SPACE_TO_DEPTH. A block's pixels follow one another, each with all of its channels: DCR. */
void tfl_make_depth_to_space(struct tfl *m, const struct tfl_op *op)
{
	int v;

	tfl_want_maps(m, op, op->in[0]);
	tfl_want_same(m, op, op->in[0]);
	v = tfl_value(m, op, op->in[0], TFL_NCHW);
	v = tfl_node(m, op, op->kind->code == DEPTH_TO_SPACE ? CNN_OP_DEPTH_TO_SPACE :
							       CNN_OP_SPACE_TO_DEPTH, 1, &v);
	tfl_params(m)->depth_to_space.blocksize = fb_int(&op->options, 0, 4, 0);
	tfl_give(m, op, TFL_NCHW, v);
}

struct blocks {
	int64_t size[2], border[4];	/* border: before and after height, before and after width */
};

static void read_blocks(struct tfl *m, const struct tfl_op *op, struct blocks *b)
{
	size_t n[2];

	tfl_want_maps(m, op, op->in[0]);
	tfl_want_same(m, op, op->in[0]);
	tfl_integers(m, op, op->in[1], b->size, 2, &n[0]);
	tfl_integers(m, op, op->in[2], b->border, 4, &n[1]);
	if (!m->status && (n[0] != 2 || n[1] != 4 || b->size[0] < 1 || b->size[1] < 1))
		tfl_fail(m, op, CNN_EINVAL, "%zu block sizes and %zu borders, 2 and 4 wanted",
			 n[0], n[1]);
	for (int i = 0; i < 4 && !m->status; i++)
		if (b->border[i] < 0 || b->border[i] > INT32_MAX || b->size[i / 2] > INT32_MAX)
			tfl_fail(m, op, CNN_EINVAL, "border %lld, block size %lld",
				 (long long)b->border[i], (long long)b->size[i / 2]);
}

/* v seen with six axes, which change their order. */
static int reorder(struct tfl *m, const struct tfl_op *op, int v, const int64_t *dims,
		   const int64_t *perm)
{
	v = tfl_reshape(m, op, v, dims, 6);
	v = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &v);
	tfl_params(m)->transpose.perm.n = 6;
	memcpy(tfl_params(m)->transpose.perm.v, perm, 6 * sizeof(*perm));
	return v;
}

/* Each place in a block of the padded map becomes an image. */
void tfl_make_space_to_batch(struct tfl *m, const struct tfl_op *op)
{
	static const int64_t perm[] = { 2, 4, 0, 1, 3, 5 };
	const int64_t *x = m->tensors[op->in[0]].dims, *y = m->tensors[op->out].dims;
	struct blocks b;
	int in[3];

	read_blocks(m, op, &b);
	if (m->status)
		return;
	const int64_t pads[] = { 0, b.border[0], b.border[2], 0, 0, b.border[1], b.border[3], 0 };
	const int64_t dims[] = { x[0], y[1], b.size[0], y[2], b.size[1], x[3] };

	in[0] = tfl_value(m, op, op->in[0], TFL_FILE);
	in[1] = tfl_list(m, pads, 8);
	in[2] = tfl_is_quantised(m, op->in[0]) ? tfl_zero(m, op, op->in[0]) : -1;
	in[0] = tfl_node(m, op, CNN_OP_PAD, in[2] < 0 ? 2 : 3, in);
	tfl_give(m, op, TFL_FILE, tfl_as_declared(m, op, reorder(m, op, in[0], dims, perm)));
}

/* The other way round, and then the borders are cut off. */
void tfl_make_batch_to_space(struct tfl *m, const struct tfl_op *op)
{
	static const int64_t perm[] = { 2, 3, 0, 4, 1, 5 }, axes[] = { 1, 2 };
	const int64_t *x = m->tensors[op->in[0]].dims, *y = m->tensors[op->out].dims;
	struct blocks b;
	int in[4];

	read_blocks(m, op, &b);
	if (m->status)
		return;
	const int64_t dims[] = { b.size[0], b.size[1], y[0], x[1], x[2], x[3] };
	const int64_t whole[] = { y[0], x[1] * b.size[0], x[2] * b.size[1], x[3] };
	const int64_t begin[] = { b.border[0], b.border[2] };
	const int64_t end[] = { b.border[0] + y[1], b.border[2] + y[2] };

	in[0] = reorder(m, op, tfl_value(m, op, op->in[0], TFL_FILE), dims, perm);
	in[0] = tfl_reshape(m, op, in[0], whole, 4);
	in[1] = tfl_list(m, begin, 2);
	in[2] = tfl_list(m, end, 2);
	in[3] = tfl_list(m, axes, 2);
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_SLICE, 4, in));
}
