// SPDX-License-Identifier: MIT
/* Geometry of convolutions, pools and matrix products. */
#include <string.h>

#include "graph_internal.h"
#include "params_table.h"

/* In the order of enum cnn_auto_pad. */
const char *const cnn_auto_pads[] = { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL };

/* Limit of the kernel that weights give; the table of parameters bounds the others (params.c). */
#define MAX_KERNEL	((int64_t)1 << 30)

/* Fills v with the count entries of a list, if the node has it. */
static int axis_list(const struct cnn_node *n, const char *name, const struct cnn_window_ints *list,
		     int count, int64_t *v, struct cnn_err *err)
{
	if (list->n <= 0)
		return CNN_OK;
	if (list->n != count)
		return cnn_node_fail(n, err, CNN_EINVAL, "%s has %d entries, %d expected", name,
				     list->n, count);
	memcpy(v, list->v, sizeof(*v) * (size_t)count);
	return CNN_OK;
}

static bool is_transposed(const struct cnn_node *n)
{
	enum cnn_op op = cnn_op_base(n->op);

	return op == CNN_OP_CONV_TRANSPOSE || op == CNN_OP_QLINEAR_CONV_TRANSPOSE;
}

static bool is_global(const struct cnn_node *n)
{
	return n->op == CNN_OP_GLOBAL_AVERAGE_POOL || n->op == CNN_OP_GLOBAL_MAX_POOL ||
	       n->op == CNN_OP_GLOBAL_LP_POOL;
}

static int window_channels(const struct cnn_node *n, const struct cnn_tensor *x,
			   const struct cnn_tensor *w, struct cnn_window *win, struct cnn_err *err)
{
	bool fits;

	win->batch = x->dims[0];
	win->in_ch = x->dims[1];
	win->group = 1;
	if (!w) {
		win->out_ch = win->in_ch;
		win->group = win->in_ch ? win->in_ch : 1;
		return CNN_OK;
	}
	if (w->rank != x->rank)
		return cnn_node_fail(n, err, CNN_EINVAL, "weights have %d dimensions, input %d",
				     w->rank, x->rank);
	win->group = n->params.window.group;
	if (is_transposed(n)) {
		fits = win->in_ch > 0 && win->group >= 1 && w->dims[0] == win->in_ch &&
		       !(win->in_ch % win->group) &&
		       !__builtin_mul_overflow(w->dims[1], win->group, &win->out_ch);
	} else {
		win->out_ch = w->dims[0];
		fits = win->in_ch > 0 && win->group >= 1 && !(win->in_ch % win->group) &&
		       (!(win->out_ch % win->group) || n->params.window.uneven_groups) &&
		       w->dims[1] == win->in_ch / win->group;
	}
	if (!fits)
		return cnn_node_fail(n, err, CNN_EINVAL, "group %lld does not fit %lld input "
				     "channels, %lld output channels and weights for %lld",
				     (long long)win->group, (long long)win->in_ch,
				     (long long)win->out_ch, (long long)w->dims[1]);
	return CNN_OK;
}

static int window_kernel(const struct cnn_node *n, const struct cnn_tensor *x,
			 const struct cnn_tensor *w, struct cnn_window *win, struct cnn_err *err)
{
	int ret;

	if (is_global(n)) {
		memcpy(win->kernel, &x->dims[2], sizeof(win->kernel[0]) * win->spatial);
		return CNN_OK;
	}
	ret = axis_list(n, "kernel_shape", &n->params.window.kernel_shape, win->spatial,
			win->kernel, err);
	for (int i = 0; !ret && i < win->spatial; i++) {
		if (w && !win->kernel[i])
			win->kernel[i] = w->dims[i + 2];
		if (win->kernel[i] < 1 || win->kernel[i] > MAX_KERNEL ||
		    (w && win->kernel[i] != w->dims[i + 2]))
			return cnn_node_fail(n, err, CNN_EINVAL, "kernel_shape %lld is missing, "
					     "out of range or not that of the weights",
					     (long long)win->kernel[i]);
	}
	return ret;
}

/* Last tap's distance from the first. */
static int64_t reach(const struct cnn_window *w, int i)
{
	return w->dilation[i] * (w->kernel[i] - 1);
}

static void auto_pads(enum cnn_auto_pad mode, struct cnn_window *w)
{
	for (int i = 0; i < w->spatial && mode != CNN_PAD_VALID; i++) {
		int64_t out = (w->in[i] - 1) / w->stride[i] + 1;
		int64_t pad = (out - 1) * w->stride[i] + reach(w, i) + 1 - w->in[i];

		if (pad < 0)
			pad = 0;
		w->pad_begin[i] = mode == CNN_PAD_SAME_UPPER ? pad / 2 : pad - pad / 2;
		w->pad_end[i] = pad - w->pad_begin[i];
	}
}

static int window_pads(const struct cnn_node *n, struct cnn_window *w, struct cnn_err *err)
{
	const struct cnn_window_params *p = &n->params.window;
	int64_t pads[2 * CNN_MAX_SPATIAL] = { 0 };
	int ret;

	if (p->auto_pad != CNN_PAD_NOTSET) {
		auto_pads(p->auto_pad, w);
		return CNN_OK;
	}
	ret = axis_list(n, "pads", &p->pads, 2 * w->spatial, pads, err);
	/* Not a limit of the parameter: where auto_pad or output_shape decides it has no effect. */
	for (int i = 0; !ret && i < 2 * w->spatial; i++)
		if (pads[i] < 0 || pads[i] > WINDOW_MAX)
			return cnn_node_fail(n, err, CNN_ELIMIT, "pads is %lld, limits 0 to %lld",
					     (long long)pads[i], (long long)WINDOW_MAX);
	for (int i = 0; !ret && i < w->spatial; i++) {
		w->pad_begin[i] = pads[i];
		w->pad_end[i] = pads[i + w->spatial];
	}
	return ret;
}

static int window_outputs(const struct cnn_node *n, struct cnn_window *w, struct cnn_err *err)
{
	for (int i = 0; i < w->spatial; i++) {
		int64_t room = w->in[i] + w->pad_begin[i] + w->pad_end[i] - reach(w, i) - 1;

		if (w->in[i] < 1 || room < 0)
			return cnn_node_fail(n, err, CNN_EINVAL, "the kernel is larger than the "
					     "padded input on spatial axis %d", i);
		w->out[i] = room / w->stride[i] + 1;
		if (w->ceil_mode && room % w->stride[i] &&
		    w->out[i] * w->stride[i] < w->in[i] + w->pad_begin[i])
			w->out[i]++;
	}
	return CNN_OK;
}

/*
 * What is cut from an axis of a ConvTranspose so that out elements are left. The odd element's
 * side changed in opset 11. Nothing is cut if out is more than there is: zeros follow.
 */
static void split_cut(const struct cnn_node *n, int64_t cut, int64_t *begin, int64_t *end)
{
	bool upper = n->params.window.auto_pad == CNN_PAD_SAME_UPPER;
	int64_t small;

	cut = cut < 0 ? 0 : cut;
	small = cut / 2;
	*begin = upper == (n->opset >= 11) ? small : cut - small;
	*end = cut - *begin;
}

/* ConvTranspose: the sizes of the output, and what padding cuts from the full one. */
static int transpose_outputs(const struct cnn_node *n, struct cnn_window *w, struct cnn_err *err)
{
	const struct cnn_window_params *p = &n->params.window;
	bool same = p->auto_pad == CNN_PAD_SAME_UPPER || p->auto_pad == CNN_PAD_SAME_LOWER;
	int64_t extra[CNN_MAX_SPATIAL] = { 0 }, want[CNN_MAX_SPATIAL] = { 0 };
	bool given = p->output_shape.n > 0;
	int ret = axis_list(n, "output_padding", &p->output_padding, w->spatial, extra, err) ?:
		  axis_list(n, "output_shape", &p->output_shape, w->spatial, want, err);

	if (!ret && !same && !given)
		ret = window_pads(n, w, err);
	for (int i = 0; !ret && i < w->spatial; i++) {
		int64_t full, span;

		if (w->in[i] < 1 || __builtin_mul_overflow(w->in[i] - 1, w->stride[i], &span) ||
		    __builtin_add_overflow(span, extra[i] + reach(w, i) + 1, &full) ||
		    full > (int64_t)1 << 61)
			return cnn_node_fail(n, err, CNN_ELIMIT,
					     "spatial axis %d is empty or too large", i);
		if (same || given) {
			w->out[i] = given ? want[i] : w->in[i] * w->stride[i];
			split_cut(n, full - w->out[i], &w->pad_begin[i], &w->pad_end[i]);
		} else {
			w->out[i] = full - w->pad_begin[i] - w->pad_end[i];
		}
		if (w->out[i] < 1)
			return cnn_node_fail(n, err, CNN_EINVAL,
					     "padding leaves nothing of spatial axis %d", i);
	}
	return ret;
}

int cnn_window_resolve(const struct cnn_node *n, const struct cnn_tensor *x,
		       const struct cnn_tensor *w, struct cnn_window *win, struct cnn_err *err)
{
	const struct cnn_window_params *p = &n->params.window;
	int ret;

	memset(win, 0, sizeof(*win));
	win->spatial = x->rank - 2;
	if (win->spatial < 1 || win->spatial > CNN_MAX_SPATIAL)
		return cnn_node_fail(n, err, CNN_EUNSUPPORTED, "%d spatial axes, limits 1 to %d",
				     win->spatial, CNN_MAX_SPATIAL);
	for (int i = 0; i < win->spatial; i++) {
		win->in[i] = x->dims[i + 2];
		win->stride[i] = win->dilation[i] = 1;
		if (win->in[i] > (int64_t)1 << 40)
			return cnn_node_fail(n, err, CNN_ELIMIT, "input dimension %lld",
					     (long long)win->in[i]);
	}
	win->ceil_mode = p->ceil_mode;
	win->count_include_pad = p->count_include_pad;
	ret = window_channels(n, x, w, win, err) ?: window_kernel(n, x, w, win, err) ?:
	      axis_list(n, "strides", &p->strides, win->spatial, win->stride, err) ?:
	      axis_list(n, "dilations", &p->dilations, win->spatial, win->dilation, err);
	if (!ret && is_transposed(n))
		return transpose_outputs(n, win, err);
	return ret ?: window_pads(n, win, err) ?: window_outputs(n, win, err);
}

static int known(const struct cnn_node *n, const struct cnn_tensor *t, struct cnn_err *err)
{
	if (t && cnn_tensor_count(t) >= 0)
		return CNN_OK;
	return cnn_node_fail(n, err, CNN_EINVAL, "the shape of an input is not known");
}

bool cnn_window_is_padded(const struct cnn_window *win)
{
	for (int i = 0; i < win->spatial; i++)
		if (win->pad_begin[i] || win->pad_end[i])
			return true;
	return false;
}

int64_t cnn_window_taps(const struct cnn_window *win)
{
	int64_t taps = 1;

	for (int i = 0; i < win->spatial; i++)
		taps = cnn_mul_sat(taps, win->kernel[i]);
	return taps;
}

enum cnn_op cnn_op_base(enum cnn_op op)
{
	static const enum cnn_op base[CNN_OP_COUNT] = {
#define OP(...)
#define CORE_OP(sym, name, infer, compute, least, most, outs, math, fields, like)	\
		[CNN_OP_##sym] = CNN_OP_##like,
#include "ops.def"
#undef OP
	};

	return base[op] ? base[op] : op;
}

int cnn_weights_input(enum cnn_op op)
{
	switch (cnn_op_base(op)) {
	case CNN_OP_CONV:
	case CNN_OP_CONV_INTEGER:
	case CNN_OP_CONV_TRANSPOSE:
		return 1;
	case CNN_OP_QLINEAR_CONV:
	case CNN_OP_QLINEAR_CONV_TRANSPOSE:
		return 3;
	default:
		return -1;
	}
}

int cnn_node_window(const struct cnn_graph *g, const struct cnn_node *n, struct cnn_window *win,
		    struct cnn_err *err)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);
	int weights = cnn_weights_input(n->op);
	const struct cnn_tensor *w = weights < 0 ? NULL : cnn_node_in(g, n, weights);

	return known(n, x, err) ?: (weights < 0 ? CNN_OK : known(n, w, err)) ?:
	       cnn_window_resolve(n, x, w, win, err);
}

/* numpy.matmul: the matrices are the last two axes, a vector is a matrix of one row or column. */
static void matmul_dims(const struct cnn_tensor *a, const struct cnn_tensor *b,
			const struct cnn_tensor *y, struct cnn_matmul *mm)
{
	int64_t mn;

	mm->k = a->rank ? a->dims[a->rank - 1] : 1;
	mm->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
	mm->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
	mn = mm->m * mm->n;
	mm->batch = mn ? cnn_tensor_count(y) / mn : 0;
}

int cnn_node_matmul(const struct cnn_graph *g, const struct cnn_node *n, struct cnn_matmul *mm,
		    struct cnn_err *err)
{
	const struct cnn_tensor *a = cnn_node_in(g, n, 0);
	enum cnn_op op = cnn_op_base(n->op);
	bool gemm = op == CNN_OP_GEMM || op == CNN_OP_QGEMM;
	bool quantised = op == CNN_OP_QGEMM || op == CNN_OP_QLINEAR_MATMUL;
	const struct cnn_tensor *b = cnn_node_in(g, n, quantised ? 3 : 1);
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);
	int ret = known(n, a, err) ?: known(n, b, err) ?: known(n, y, err);

	memset(mm, 0, sizeof(*mm));
	if (ret)
		return ret;
	mm->alpha = 1;
	mm->b_const = b->data;
	if (op == CNN_OP_MATMUL || op == CNN_OP_MATMUL_INTEGER || op == CNN_OP_QLINEAR_MATMUL) {
		matmul_dims(a, b, y, mm);
		return CNN_OK;
	}
	if (!gemm || a->rank != 2 || b->rank != 2)
		return cnn_fail(err, CNN_EINVAL, "%s (%.60s) is not a matrix product", n->op_type,
				n->name);
	mm->trans_a = n->params.gemm.trans_a;
	mm->trans_b = n->params.gemm.trans_b;
	mm->alpha = quantised ? 1 : n->params.gemm.alpha;
	mm->beta = quantised ? 1 : n->params.gemm.beta;
	mm->has_c = cnn_node_in(g, n, quantised ? 6 : 2);
	mm->batch = 1;
	mm->m = a->dims[mm->trans_a];
	mm->k = a->dims[!mm->trans_a];
	mm->n = b->dims[!mm->trans_b];
	return CNN_OK;
}

/* Of count elements of an output those that the network has, not the last of each group. */
static int64_t without_sums(const struct cnn_node *n, int64_t count, int64_t channels,
			    int64_t groups)
{
	int64_t others = n->params.product.unused_outputs;

	others = n->params.product.input_sums ? groups : others < channels ? others : channels;
	return count && others ? count / channels * (channels - others) : count;
}

int64_t cnn_node_macs(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);
	int64_t count = y ? cnn_tensor_count(y) : -1;
	struct cnn_matmul mm;
	struct cnn_window w;

	if (count < 0)
		return 0;
	switch (cnn_op_base(n->op)) {
	case CNN_OP_GEMM:
	case CNN_OP_MATMUL:
	case CNN_OP_MATMUL_INTEGER:
	case CNN_OP_QGEMM:
	case CNN_OP_QLINEAR_MATMUL:
		return cnn_node_matmul(g, n, &mm, NULL) ? 0 :
		       cnn_mul_sat(without_sums(n, count, mm.n, 1), mm.k);
	case CNN_OP_CONV:
	case CNN_OP_CONV_INTEGER:
	case CNN_OP_QLINEAR_CONV:
	case CNN_OP_AVERAGE_POOL:
		if (cnn_node_window(g, n, &w, NULL))
			return 0;
		count = cnn_mul_sat(without_sums(n, count, w.out_ch, w.group), cnn_window_taps(&w));
		return cnn_weights_input(n->op) < 0 ? count :
						      cnn_mul_sat(count, w.in_ch / w.group);
	case CNN_OP_GLOBAL_AVERAGE_POOL:
	case CNN_OP_QLINEAR_GLOBAL_AVERAGE_POOL:
	case CNN_OP_REDUCE_MEAN:
		count = cnn_tensor_count(cnn_node_in(g, n, 0));
		return count < 0 ? 0 : count;
	case CNN_OP_CONV_TRANSPOSE:
	case CNN_OP_QLINEAR_CONV_TRANSPOSE:
		if (cnn_node_window(g, n, &w, NULL))
			return 0;
		count = cnn_mul_sat(cnn_tensor_count(cnn_node_in(g, n, 0)), w.out_ch / w.group);
		return cnn_mul_sat(count, cnn_window_taps(&w));
	default:
		return 0;
	}
}
