// SPDX-License-Identifier: MIT
/* TensorFlow Lite's operators that only move elements, as nodes. */
#include "tflite_ops.h"

/* The constant axis that an input or an option tells, of so many; from the end if negative. */
static int64_t good_axis(struct tfl *m, const struct tfl_op *op, int64_t axis, int rank)
{
	if (axis >= -rank && axis < rank)
		return axis < 0 ? axis + rank : axis;
	tfl_fail(m, op, CNN_EINVAL, "axis %lld of %d", (long long)axis, rank);
	return 0;
}

static int64_t axis_input(struct tfl *m, const struct tfl_op *op, int i, int rank)
{
	int64_t axis = 0;
	size_t n;

	tfl_integers(m, op, op->in[i], &axis, 1, &n);
	return m->status ? 0 : good_axis(m, op, axis, rank);
}

void tfl_make_concat(struct tfl *m, const struct tfl_op *op)
{
	int64_t axis = fb_int(&op->options, 0, 4, 0);
	int rank = m->tensors[op->in[0]].rank, in[CNN_MAX_INPUTS];

	tfl_want_like(m, op);
	axis = good_axis(m, op, axis, rank);
	for (int i = 0; i < op->n_in && !m->status; i++) {
		if (op->in[i] < 0 || m->tensors[op->in[i]].rank != rank) {
			tfl_fail(m, op, CNN_EINVAL, "input %d does not fit the others", i);
			return;
		}
		tfl_want_same(m, op, op->in[i]);
		in[i] = tfl_value(m, op, op->in[i], TFL_NCHW);
	}
	if (m->status)
		return;
	in[0] = tfl_node(m, op, CNN_OP_CONCAT, op->n_in, in);
	tfl_params(m)->axis.axis = rank == 4 ? tfl_nchw_axis(axis) : axis;
	tfl_give_act(m, op, TFL_NCHW, fb_int(&op->options, 1, 1, 0), BOUND_XNNPACK, in[0]);
}

/* The new shape is that of the output, which input 1 and the options only repeat. */
void tfl_make_reshape(struct tfl *m, const struct tfl_op *op)
{
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	tfl_give(m, op, TFL_FILE, tfl_as_declared(m, op, v));
}

struct slices {
	int64_t begin[CNN_MAX_RANK], end[CNN_MAX_RANK], step[CNN_MAX_RANK];
	int rank;
};

/* A list of as many integers as input 0 has dimensions. */
static void read_places(struct tfl *m, const struct tfl_op *op, int i, int64_t *v)
{
	int rank = m->tensors[op->in[0]].rank;
	size_t n;

	tfl_integers(m, op, op->in[i], v, CNN_MAX_RANK, &n);
	if (!m->status && n != (size_t)rank)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "input %d has %zu numbers for %d dimensions", i,
			 n, rank);
}

static int slice(struct tfl *m, const struct tfl_op *op, const struct slices *s)
{
	int64_t axes[CNN_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const int in[] = {
		tfl_value(m, op, op->in[0], TFL_FILE), tfl_list(m, s->begin, s->rank),
		tfl_list(m, s->end, s->rank), tfl_list(m, axes, s->rank),
		tfl_list(m, s->step, s->rank),
	};

	return tfl_node(m, op, CNN_OP_SLICE, 5, in);
}

/* Options of STRIDED_SLICE: bit i of each is about entry i of the lists. */
enum { MASK_BEGIN, MASK_END, MASK_ELLIPSIS, MASK_NEW_AXIS, MASK_SHRINK, MASKS };

/* The lists of STRIDED_SLICE, which need not have an entry for each dimension. */
struct entries {
	int64_t begin[CNN_MAX_RANK], end[CNN_MAX_RANK], step[CNN_MAX_RANK], mask[MASKS];
	int n;
};

static bool has(const struct entries *e, int mask, int i)
{
	return e->mask[mask] >> i & 1;
}

static void read_entries(struct tfl *m, const struct tfl_op *op, struct entries *e)
{
	size_t n[3];

	tfl_integers(m, op, op->in[1], e->begin, CNN_MAX_RANK, &n[0]);
	tfl_integers(m, op, op->in[2], e->end, CNN_MAX_RANK, &n[1]);
	tfl_integers(m, op, op->in[3], e->step, CNN_MAX_RANK, &n[2]);
	if (!m->status && (n[0] != n[1] || n[0] != n[2]))
		tfl_fail(m, op, CNN_EINVAL, "%zu begins, %zu ends and %zu strides", n[0], n[1],
			 n[2]);
	e->n = m->status ? 0 : (int)n[0];
	for (int i = 0; i < MASKS; i++)
		e->mask[i] = fb_int(&op->options, i, 4, 0);
}

/* Dimension d as entry i wants it. */
static void apply_entry(const struct entries *e, int i, struct slices *s, int d)
{
	s->begin[d] = e->begin[i];
	s->end[d] = e->end[i];
	s->step[d] = e->step[i];
	if (has(e, MASK_SHRINK, i)) {
		s->end[d] = e->begin[i] == -1 || e->begin[i] == INT64_MAX ? INT64_MAX :
			    e->begin[i] + 1;
		s->step[d] = 1;
		return;
	}
	if (has(e, MASK_BEGIN, i))
		s->begin[d] = s->step[d] < 0 ? INT64_MAX : 0;
	if (has(e, MASK_END, i))
		s->end[d] = s->step[d] < 0 ? INT64_MIN : INT64_MAX;
}

/* How many entries from i on are about a dimension of the input. */
static int dimensions_from(const struct entries *e, int i)
{
	int n = 0;

	for (; i < e->n; i++)
		n += !has(e, MASK_ELLIPSIS, i) && !has(e, MASK_NEW_AXIS, i);
	return n;
}

/* Dimensions without an entry are whole: the last ones, and those of an ellipsis. */
void tfl_make_strided_slice(struct tfl *m, const struct tfl_op *op)
{
	struct slices s = { .rank = m->tensors[op->in[0]].rank };
	struct entries e;
	int v, d = 0;

	tfl_want_same(m, op, op->in[0]);
	read_entries(m, op, &e);
	if (fb_int(&op->options, MASKS, 1, 0))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "ends that are offsets");
	if (!m->status && dimensions_from(&e, 0) > s.rank)
		tfl_fail(m, op, CNN_EINVAL, "places in %d dimensions of %d",
			 dimensions_from(&e, 0), s.rank);
	for (int i = 0; i < s.rank; i++) {
		s.end[i] = INT64_MAX;
		s.step[i] = 1;
	}
	for (int i = 0; i < e.n && !m->status; i++) {
		if (has(&e, MASK_ELLIPSIS, i))
			d = s.rank - dimensions_from(&e, i);
		else if (!has(&e, MASK_NEW_AXIS, i))
			apply_entry(&e, i, &s, d++);
	}
	v = slice(m, op, &s);
	if (e.mask[MASK_SHRINK] || e.mask[MASK_NEW_AXIS])
		v = tfl_as_declared(m, op, v);
	tfl_give(m, op, TFL_FILE, v);
}

/* Begins and sizes; a size of -1: to the end. */
void tfl_make_slice(struct tfl *m, const struct tfl_op *op)
{
	struct slices s = { .rank = m->tensors[op->in[0]].rank };

	tfl_want_like(m, op);
	tfl_want_same(m, op, op->in[0]);
	read_places(m, op, 1, s.begin);
	read_places(m, op, 2, s.end);
	for (int i = 0; i < s.rank && !m->status; i++) {
		if (s.begin[i] < 0 || s.end[i] < -1)
			tfl_fail(m, op, CNN_EINVAL, "%lld elements from %lld of axis %d",
				 (long long)s.end[i], (long long)s.begin[i], i);
		s.end[i] = s.end[i] < 0 ? INT64_MAX : cnn_add_sat(s.begin[i], s.end[i]);
		s.step[i] = 1;
	}
	tfl_give(m, op, TFL_FILE, slice(m, op, &s));
}

/* Sizes of the parts: equal ones, or what input 1 of SPLIT_V says, where -1 is what remains. */
static void read_parts(struct tfl *m, const struct tfl_op *op, int64_t dim, int64_t *part)
{
	int64_t left = dim;
	int rest = -1;
	size_t n;

	if (op->kind->code == SPLIT) {
		for (int i = 0; i < op->n_out; i++)
			part[i] = dim / op->n_out;
		if (dim % op->n_out)
			tfl_fail(m, op, CNN_EINVAL, "%lld elements in %d equal parts",
				 (long long)dim, op->n_out);
		return;
	}
	tfl_integers(m, op, op->in[1], part, CNN_MAX_INPUTS, &n);
	if (!m->status && n != (size_t)op->n_out)
		tfl_fail(m, op, CNN_EINVAL, "%zu sizes of %d outputs", n, op->n_out);
	for (int i = 0; i < op->n_out && !m->status; i++) {
		if (part[i] == -1 && rest < 0)
			rest = i;
		else if (part[i] < 0 || part[i] > left)
			tfl_fail(m, op, CNN_EINVAL, "size %lld of output %d, limits 0 to %lld",
				 (long long)part[i], i, (long long)left);
		else
			left -= part[i];
	}
	if (!m->status && rest >= 0)
		part[rest] = left;
}

/* SPLIT: axis, tensor; SPLIT_V: tensor, sizes, axis. */
void tfl_make_split(struct tfl *m, const struct tfl_op *op)
{
	bool equal = op->kind->code == SPLIT;
	int x = op->in[equal ? 1 : 0], rank = m->tensors[x].rank, in[2];
	int64_t axis = axis_input(m, op, equal ? 0 : 2, rank), part[CNN_MAX_INPUTS];

	for (int i = 0; i < op->n_out; i++) {
		tfl_want_rank(m, op, op->outs[i], rank);
		tfl_want_alike(m, op, x, op->outs[i]);
	}
	if (m->status)
		return;
	read_parts(m, op, m->tensors[x].dims[axis], part);
	in[0] = tfl_value(m, op, x, TFL_NCHW);
	in[1] = tfl_list(m, part, op->n_out);
	if (tfl_nodes(m, op, CNN_OP_SPLIT, 2, in, op->n_out) < 0)
		return;
	tfl_params(m)->split.axis = rank == 4 ? tfl_nchw_axis(axis) : axis;
	for (int i = 0; i < op->n_out; i++)
		tfl_give_to(m, op, op->outs[i], TFL_NCHW,
			    m->g->nodes[m->g->n_nodes - 1].out[i]);
}

/* Options: number of the outputs, axis. */
void tfl_make_unpack(struct tfl *m, const struct tfl_op *op)
{
	const struct tfl_tensor *x = &m->tensors[op->in[0]];
	int64_t axis = good_axis(m, op, fb_int(&op->options, 1, 4, 0), x->rank);
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	if (!m->status && x->dims[axis] != op->n_out)
		tfl_fail(m, op, CNN_EINVAL, "%lld elements of axis %lld, %d outputs",
			 (long long)x->dims[axis], (long long)axis, op->n_out);
	for (int64_t i = 0; i < op->n_out && !m->status; i++) {
		const int in[] = { v, tfl_scalar(m, CNN_INT64, &i) };
		int part = tfl_node(m, op, CNN_OP_GATHER, 2, in);

		tfl_params(m)->axis.axis = axis;
		tfl_want_rank(m, op, op->outs[i], x->rank - 1);
		tfl_want_alike(m, op, op->in[0], op->outs[i]);
		tfl_give_to(m, op, op->outs[i], TFL_FILE, part);
	}
}

/* Options: number of the inputs, axis of the output. */
void tfl_make_pack(struct tfl *m, const struct tfl_op *op)
{
	int rank = m->tensors[op->in[0]].rank + 1, in[CNN_MAX_INPUTS];
	int64_t axis = good_axis(m, op, fb_int(&op->options, 1, 4, 0), rank);

	tfl_want_rank(m, op, op->out, rank);
	for (int i = 0; i < op->n_in && !m->status; i++) {
		const int parts[] = {
			op->in[i] < 0 ? tfl_fail(m, op, CNN_EINVAL, "input %d is left out", i) :
					tfl_value(m, op, op->in[i], TFL_FILE),
			tfl_list(m, &axis, 1),
		};

		in[i] = tfl_node(m, op, CNN_OP_UNSQUEEZE, 2, parts);
		if (!m->status)
			tfl_want_same(m, op, op->in[i]);
	}
	if (m->status)
		return;
	in[0] = tfl_node(m, op, CNN_OP_CONCAT, op->n_in, in);
	tfl_params(m)->axis.axis = axis;
	tfl_give(m, op, TFL_FILE, in[0]);
}

/* Options: axis, dimensions that both inputs share in front. */
void tfl_make_gather(struct tfl *m, const struct tfl_op *op)
{
	int rank = m->tensors[op->in[0]].rank, v;
	int64_t axis = good_axis(m, op, fb_int(&op->options, 0, 4, 0), rank);
	const int in[] = {
		tfl_value(m, op, op->in[0], TFL_FILE), tfl_value(m, op, op->in[1], TFL_FILE),
	};

	if (fb_int(&op->options, 1, 4, 0))
		tfl_fail(m, op, CNN_EUNSUPPORTED, "batch_dims %lld, limit 0",
			 (long long)fb_int(&op->options, 1, 4, 0));
	tfl_want_rank(m, op, op->out, rank - 1 + m->tensors[op->in[1]].rank);
	tfl_want_same(m, op, op->in[0]);
	v = tfl_node(m, op, CNN_OP_GATHER, 2, in);
	tfl_params(m)->axis.axis = axis;
	tfl_give(m, op, TFL_FILE, v);
}

/* The rows of input 1 are places in input 0. */
void tfl_make_gather_nd(struct tfl *m, const struct tfl_op *op)
{
	int in[] = {
		tfl_value(m, op, op->in[0], TFL_FILE), tfl_value(m, op, op->in[1], TFL_FILE),
	};

	tfl_want_same(m, op, op->in[0]);
	in[1] = tfl_node(m, op, CNN_OP_CAST, 1, &in[1]);
	tfl_params(m)->cast.to = CNN_INT64;
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_GATHER_ND, 2, in));
}

void tfl_make_tile(struct tfl *m, const struct tfl_op *op)
{
	int in[] = {
		tfl_value(m, op, op->in[0], TFL_FILE), tfl_value(m, op, op->in[1], TFL_FILE),
	};

	tfl_want_like(m, op);
	tfl_want_same(m, op, op->in[0]);
	in[1] = tfl_node(m, op, CNN_OP_CAST, 1, &in[1]);
	tfl_params(m)->cast.to = CNN_INT64;
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_TILE, 2, in));
}

/* Of quantised elements, too: the largest is the same. */
void tfl_make_arg_max(struct tfl *m, const struct tfl_op *op)
{
	int rank = m->tensors[op->in[0]].rank;
	int64_t axis = axis_input(m, op, 1, rank);
	bool channels = rank == 4 && axis == 3;
	int v = tfl_value(m, op, op->in[0], channels ? TFL_NCHW : TFL_FILE);

	tfl_want_rank(m, op, op->out, rank - 1);
	v = tfl_node(m, op, op->kind->code == ARG_MAX ? CNN_OP_ARG_MAX : CNN_OP_ARG_MIN, 1, &v);
	tfl_params(m)->axis.axis = channels ? 1 : axis;
	tfl_params(m)->axis.keepdims = false;
	if (tfl_type(m, op->out) != CNN_INT64) {
		v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
		tfl_params(m)->cast.to = tfl_type(m, op->out);
	}
	tfl_give(m, op, TFL_FILE, v);
}

void tfl_make_transpose(struct tfl *m, const struct tfl_op *op)
{
	struct cnn_ints perm = { 0 };
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	tfl_want_like(m, op);
	tfl_want_same(m, op, op->in[0]);
	read_places(m, op, 1, perm.v);
	perm.n = m->tensors[op->in[0]].rank;
	v = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &v);
	tfl_params(m)->transpose.perm = perm;
	tfl_give(m, op, TFL_FILE, v);
}

void tfl_make_shape(struct tfl *m, const struct tfl_op *op)
{
	int v = tfl_value(m, op, op->in[0], TFL_FILE);

	tfl_want_rank(m, op, op->out, 1);
	v = tfl_node(m, op, CNN_OP_SHAPE, 1, &v);
	v = tfl_node(m, op, CNN_OP_CAST, 1, &v);
	tfl_params(m)->cast.to = tfl_type(m, op->out);
	tfl_give(m, op, TFL_FILE, v);
}

/* BROADCAST_TO: tensor, shape; FILL: shape, one element. */
void tfl_make_expand(struct tfl *m, const struct tfl_op *op)
{
	bool fill = op->kind->code == FILL;
	int x = op->in[fill ? 1 : 0], in[2];

	tfl_want_same(m, op, x);
	if (tfl_type(m, x) != tfl_type(m, op->out))
		tfl_fail(m, op, CNN_EINVAL, "its input is %s, its output %s",
			 cnn_dtype_name(tfl_type(m, x)), cnn_dtype_name(tfl_type(m, op->out)));
	in[0] = tfl_value(m, op, x, TFL_FILE);
	in[1] = tfl_value(m, op, op->in[fill ? 0 : 1], TFL_FILE);
	in[1] = tfl_node(m, op, CNN_OP_CAST, 1, &in[1]);
	tfl_params(m)->cast.to = CNN_INT64;
	tfl_give(m, op, TFL_FILE, tfl_node(m, op, CNN_OP_EXPAND, 2, in));
}

/* Backwards along axes. */
void tfl_make_reverse(struct tfl *m, const struct tfl_op *op)
{
	struct slices s = { .rank = m->tensors[op->in[0]].rank };
	int64_t axes[CNN_MAX_RANK];
	size_t n;

	tfl_want_like(m, op);
	tfl_want_same(m, op, op->in[0]);
	tfl_integers(m, op, op->in[1], axes, CNN_MAX_RANK, &n);
	for (int i = 0; i < s.rank; i++) {
		s.end[i] = INT64_MAX;
		s.step[i] = 1;
	}
	for (size_t i = 0; i < n && !m->status; i++) {
		int64_t axis = good_axis(m, op, axes[i], s.rank);

		if (m->status)
			return;
		s.begin[axis] = INT64_MAX;
		s.end[axis] = INT64_MIN;
		s.step[axis] = -1;
	}
	tfl_give(m, op, TFL_FILE, slice(m, op, &s));
}
