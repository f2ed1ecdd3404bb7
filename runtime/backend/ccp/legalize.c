// SPDX-License-Identifier: MIT
/*
 * Rewrites dilated convolutions, which ccp does not have. With dilation d an output pixel reads
 * only pixels whose coordinates differ from its own by multiples of d. If the map is sorted by the
 * remainders of its coordinates, into d x d phases side by side, these pixels are neighbours:
 *
 *	Pad		with the padding of the convolution, and to whole phases
 *	Transpose	to phases side by side
 *	Conv		without dilation
 *	Transpose	back
 *	Slice		without outputs of windows that lie in two phases
 */
#include <stdio.h>
#include <string.h>

#include "ccp.h"

/* What would take more than this many times the multiply-adds is left to the CPU. */
#define WORK_MAX 4

/* Fusing that only this core gains from, and what becomes possible by it. */
#define OWN_FUSING ((CNN_FUSE_NEUTRAL & ~CNN_FUSE_QDQ) | CNN_FUSE_SHUFFLE | CNN_FUSE_STRIDE | \
		    CNN_FUSE_DEPTHWISE)

struct phases {
	struct cnn_graph *g;
	struct cnn_err *err;
	struct cnn_window w;
	int at;		/* where the next node is inserted */
	int value;	/* what it reads */
	int out;	/* the output of the convolution */
	int64_t n[CNN_MAX_SPATIAL];	/* phases; 1: the axis stays as it is */
	int64_t in[CNN_MAX_SPATIAL], out_size[CNN_MAX_SPATIAL];
};

/* Cuts axis i of the map; false if strides, which phases do not share, forbid it. */
static bool cut_axis(struct phases *p, int i)
{
	const struct cnn_window *w = &p->w;
	int64_t d = w->kernel[i] > 1 ? w->dilation[i] : 1, rows, end, shared;

	p->n[i] = d;
	p->in[i] = w->in[i];
	p->out_size[i] = w->out[i];
	if (w->kernel[i] > CNNACC_CCP_KERNEL_MAX || w->stride[i] > CNNACC_CCP_STRIDE_MAX)
		return false;
	if (d == 1)
		return true;
	rows = cnn_div_up(w->in[i] + w->pad_begin[i] + w->pad_end[i], d);
	end = cnn_div_up(w->in[i] + w->pad_begin[i], d);
	/* The rows of padding behind a phase are those before the next one. */
	shared = cnn_min(cnn_min(w->pad_begin[i] / d, rows - end), w->kernel[i] - 1);
	p->in[i] = p->out_size[i] = (rows - shared) * d;
	return w->stride[i] == 1;
}

/* Can Conv n run in phases, and is that worth it? */
static bool cut(struct phases *p, const struct cnn_node *n)
{
	const struct cnn_tensor *x = n->op == CNN_OP_CONV ? cnn_node_in(p->g, n, 0) : NULL;
	int64_t work = 1, most = WORK_MAX, phases = 1;
	struct cnn_tensor in;

	if (!x || x->dtype != CNN_FLOAT32 || x->data || cnn_tensor_count(x) < 1 ||
	    !cnn_is_const(cnn_node_in(p->g, n, 1)) || cnn_node_window(p->g, n, &p->w, NULL) ||
	    p->w.spatial > 2 || cnn_tensor_count(cnn_node_out(p->g, n, 0)) < 1)
		return false;
	in = *x;
	for (int i = 0; i < p->w.spatial; i++) {
		if (!cut_axis(p, i))
			return false;
		phases = cnn_mul_sat(phases, p->n[i]);
		work = cnn_mul_sat(work, p->out_size[i]);
		most = cnn_mul_sat(most, p->w.out[i]);
		in.dims[2 + i] = p->in[i];
	}
	return phases > 1 && work <= most && cnn_tensor_bytes(&in) >= 0 &&
	       cnn_tensor_bytes(&in) <= p->g->limits.tensor_bytes;
}

/* A new value of that shape. */
static int add_value(struct phases *p, int rank, const int64_t *dims)
{
	struct cnn_tensor t = { .dtype = CNN_FLOAT32, .rank = rank };
	char suffix[24];

	memcpy(t.dims, dims, sizeof(*dims) * (size_t)rank);
	snprintf(suffix, sizeof(suffix), "_phases%d", p->at);
	return cnn_rewrite_add_value(p->g, p->g->values[p->out].name, suffix, &t, p->err);
}

/* Inserts a node, whose output has that shape and is what the next one reads. */
static int step(struct phases *p, enum cnn_op op, int rank, const int64_t *dims)
{
	int to = add_value(p, rank, dims);
	int ret = to < 0 ? to : cnn_rewrite_insert(p->g, p->at, op, p->value, to, p->err);

	if (!ret) {
		p->value = to;
		p->at++;
	}
	return ret;
}

static int reshape(struct phases *p, int rank, const int64_t *dims)
{
	int ret = step(p, CNN_OP_RESHAPE, rank, dims);
	struct cnn_ints *shape;

	if (ret)
		return ret;
	shape = &p->g->nodes[p->at - 1].params.reshape.shape;
	shape->n = rank;
	memcpy(shape->v, dims, sizeof(*dims) * (size_t)rank);
	return CNN_OK;
}

/* Swaps each pair of axes behind the channels, which are sizes and numbers of phases. */
static int swap(struct phases *p, const int64_t *dims)
{
	int rank = 2 + 2 * p->w.spatial, ret = step(p, CNN_OP_TRANSPOSE, rank, dims);
	struct cnn_ints *perm;

	if (ret)
		return ret;
	perm = &p->g->nodes[p->at - 1].params.transpose.perm;
	perm->n = rank;
	for (int i = 0; i < rank; i++)
		perm->v[i] = i < 2 ? i : i ^ 1;
	return CNN_OK;
}

/* Sorts a map of these sizes by phase, or back. */
static int sort(struct phases *p, int64_t channels, const int64_t *size, bool back)
{
	int64_t whole[2 + CNN_MAX_SPATIAL] = { p->w.batch, channels };
	int64_t cut[2][2 + 2 * CNN_MAX_SPATIAL] = {
		{ p->w.batch, channels }, { p->w.batch, channels },
	};
	int rank = 2 + 2 * p->w.spatial;

	for (int i = 0; i < p->w.spatial; i++) {
		whole[2 + i] = size[i];
		cut[0][2 + 2 * i] = cut[1][3 + 2 * i] = size[i] / p->n[i];
		cut[0][3 + 2 * i] = cut[1][2 + 2 * i] = p->n[i];
	}
	return reshape(p, rank, cut[back]) ?: swap(p, cut[!back]) ?:
	       reshape(p, 2 + p->w.spatial, whole);
}

static int pad(struct phases *p)
{
	int rank = 2 + p->w.spatial, ret;
	int64_t dims[2 + CNN_MAX_SPATIAL] = { p->w.batch, p->w.in_ch };
	struct cnn_ints pads = { .n = 2 * rank };
	bool any = false;

	for (int i = 0; i < p->w.spatial; i++) {
		dims[2 + i] = p->in[i];
		pads.v[2 + i] = p->n[i] > 1 ? p->w.pad_begin[i] : 0;
		pads.v[rank + 2 + i] = p->in[i] - p->w.in[i] - pads.v[2 + i];
		any |= p->in[i] != p->w.in[i];
	}
	ret = any ? step(p, CNN_OP_PAD, rank, dims) : CNN_OK;
	if (any && !ret)
		p->g->nodes[p->at - 1].params.pad.pads = pads;
	return ret;
}

static int crop(struct phases *p)
{
	int64_t dims[2 + CNN_MAX_SPATIAL] = { p->w.batch, p->w.out_ch };
	int n = p->w.spatial, ret;
	struct cnn_slice_params s = {
		.starts = { .n = n }, .ends = { .n = n }, .axes = { .n = n },
	};

	for (int i = 0; i < n; i++) {
		dims[2 + i] = s.ends.v[i] = p->w.out[i];
		s.axes.v[i] = 2 + i;
	}
	ret = step(p, CNN_OP_SLICE, 2 + n, dims);
	if (!ret)
		p->g->nodes[p->at - 1].params.slice = s;
	return ret;
}

/* Makes the addition and activation of the Conv nodes behind the phases. */
static int add_behind(struct phases *p, int addend, struct cnn_act act)
{
	const struct cnn_tensor t = p->g->values[p->value].t;
	int ret = step(p, CNN_OP_ADD, t.rank, t.dims);

	if (ret)
		return ret;
	p->g->nodes[p->at - 1].act = act;
	return cnn_rewrite_set_input(&p->g->nodes[p->at - 1], 1, addend, p->err);
}

/* Turns the Conv, which is at p->at, into one without dilation of the sorted map. */
static int convolve(struct phases *p)
{
	int64_t dims[2 + CNN_MAX_SPATIAL] = { p->w.batch, p->w.out_ch };
	struct cnn_node *n = &p->g->nodes[p->at];
	struct cnn_window_params *window = &n->params.window;

	window->auto_pad = CNN_PAD_NOTSET;
	window->dilations.n = -1;
	window->pads.n = 2 * p->w.spatial;
	for (int i = 0; i < p->w.spatial; i++) {
		bool sorted = p->n[i] > 1;

		window->pads.v[i] = sorted ? 0 : p->w.pad_begin[i];
		window->pads.v[p->w.spatial + i] = sorted ? p->w.kernel[i] - 1 : p->w.pad_end[i];
		dims[2 + i] = p->out_size[i];
	}
	n->in[0] = p->value;
	p->value = add_value(p, 2 + p->w.spatial, dims);
	if (p->value < 0)
		return p->value;
	n->out[0] = p->value;
	p->at++;
	return CNN_OK;
}

static int split(struct phases *p)
{
	const struct cnn_node *n = &p->g->nodes[p->at];
	int addend = n->n_in > 3 ? n->in[3] : -1, ret;
	struct cnn_act act = n->act;

	p->value = n->in[0];
	p->out = n->out[0];
	ret = pad(p) ?: sort(p, p->w.in_ch, p->in, false);
	if (!ret && addend >= 0) {
		p->g->nodes[p->at].n_in = 3;
		p->g->nodes[p->at].act = (struct cnn_act){ 0 };
	}
	ret = ret ?: convolve(p) ?: sort(p, p->w.out_ch, p->out_size, true) ?: crop(p);
	if (!ret && addend >= 0)
		ret = add_behind(p, addend, act);
	if (!ret)
		p->g->nodes[p->at - 1].out[0] = p->out;
	return ret;
}

static int split_dilated(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct phases p = { .g = g, .err = err, .at = i };

		if (!cnn_can_share_place(g->nodes[i].place, place) || !cut(&p, &g->nodes[i]))
			continue;
		ret = split(&p);
		i = p.at - 1;
	}
	return ret ?: cnn_graph_link(g, err);
}

int ccpc_companions(const struct cnn_graph *g, int node, int *nodes)
{
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_value *x, *y;

	if (n->op != CNN_OP_BATCH_NORM)
		return 0;
	x = &g->values[n->in[0]];
	y = &g->values[n->out[0]];
	nodes[0] = x->producer;
	for (int i = 0; i < y->n_consumers; i++)
		if (g->nodes[y->consumers[i]].op == CNN_OP_CONV)
			nodes[0] = y->consumers[i];
	return nodes[0] >= 0 && g->nodes[nodes[0]].op == CNN_OP_CONV;
}

int ccpc_legalize(struct cnn_graph *g, int place, struct cnn_err *err)
{
	return cnn_graph_fuse_at(g, place, OWN_FUSING, err) ?: split_dilated(g, place, err);
}
