// SPDX-License-Identifier: MIT
/* Which graph nodes core ccp can run, and as what. */
#include <string.h>

#include "ccp.h"

#define MAX_SIZE	65535	/* sizes and channel counts are 16-bit fields */

/* Preferred layout: line-aligned planes; tiny planes are packed. */
static struct cnn_planes layout(int64_t n, int64_t c, int64_t plane)
{
	int64_t pitch = plane < CCPC_LINE_FLOATS ? plane : cnn_round_up(plane, CCPC_LINE_FLOATS);

	return (struct cnn_planes){
		.n = n, .c = c, .plane = plane, .plane_pitch = pitch,
		.image_pitch = n > 1 ? cnn_round_up(c * pitch, CCPC_LINE_FLOATS) : c * pitch,
		.size = sizeof(float),
	};
}

static bool check_act(const struct cnn_node *n, bool relu, char *reason)
{
	if (n->act.kind == CNN_ACT_NONE || (relu && n->act.kind == CNN_ACT_RELU))
		return true;
	return cnn_reject(reason, "%s: fused activation %s is not supported by ccp", n->op_type,
			  n->fused ? n->fused : "");
}

static bool check_value(const struct cnn_node *n, const struct cnn_tensor *t, char *reason)
{
	if (!t || cnn_tensor_count(t) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (t->dtype != CNN_FLOAT32)
		return cnn_reject(reason, "%s: type %s, ccp has float32", n->op_type,
				  cnn_dtype_name(t->dtype));
	return true;
}

static bool check_limit(const struct cnn_node *n, const char *what, int64_t value, int64_t limit,
			char *reason)
{
	if (value <= limit)
		return true;
	return cnn_reject(reason, "%s: %s %lld, limit of ccp %lld", n->op_type, what,
			  (long long)value, (long long)limit);
}

static bool check_constant(const struct cnn_node *n, const struct cnn_tensor *t, const char *what,
			   char *reason)
{
	if (!check_value(n, t, reason))
		return false;
	return t->data || cnn_reject(reason, "%s: %s is not constant", n->op_type, what);
}

/* One axis of a window. */
struct window_axis {
	int64_t in, out, kernel, stride, dilation, begin, end;
};

/* Rows and columns; a 1-D map is one row. */
struct window_axes {
	struct window_axis y, x;
};

static struct window_axis get_axis(const struct cnn_window *w, int i)
{
	if (i < 0)
		return (struct window_axis){ 1, 1, 1, 1, 1, 0, 0 };
	return (struct window_axis){
		.in = w->in[i], .out = w->out[i], .kernel = w->kernel[i], .stride = w->stride[i],
		.dilation = w->dilation[i], .begin = w->pad_begin[i], .end = w->pad_end[i],
	};
}

static bool get_axes(const struct cnn_node *n, const struct cnn_window *w, struct window_axes *a,
		     char *reason)
{
	if (w->spatial > 2)
		return cnn_reject(reason, "%s: %d spatial axes, limit of ccp 2", n->op_type,
				  w->spatial);
	*a = (struct window_axes){ get_axis(w, w->spatial - 2), get_axis(w, w->spatial - 1) };
	return true;
}

static bool check_axis(const struct cnn_node *n, const struct window_axis *a, int64_t kernel,
		       char *reason)
{
	if (a->dilation > 1 && a->kernel > 1 && a->stride > 1)
		return cnn_reject(reason, "%s: dilation %lld with stride %lld, limit of ccp 1",
				  n->op_type, (long long)a->dilation, (long long)a->stride);
	if (a->dilation > 1 && a->kernel > 1)
		return cnn_reject(reason, "%s: dilation %lld, limit of ccp 1", n->op_type,
				  (long long)a->dilation);
	return check_limit(n, "kernel", a->kernel, kernel, reason) &&
	       check_limit(n, "stride", a->stride, CNNACC_CCP_STRIDE_MAX, reason) &&
	       check_limit(n, "padding", cnn_max(a->begin, a->end), CNNACC_CCP_PAD_MAX, reason) &&
	       check_limit(n, "map size", cnn_max(a->in, a->out), MAX_SIZE, reason);
}

static bool check_axes(const struct cnn_node *n, const struct window_axes *a, int64_t kernel,
		       char *reason)
{
	return check_axis(n, &a->y, kernel, reason) && check_axis(n, &a->x, kernel, reason);
}

static bool get_window(const struct cnn_graph *g, const struct cnn_node *n, struct cnn_window *w,
		       char *reason)
{
	struct cnn_err err;

	if (!check_value(n, cnn_node_in(g, n, 0), reason) ||
	    !check_value(n, cnn_node_out(g, n, 0), reason))
		return false;
	return !cnn_node_window(g, n, w, &err) || cnn_reject(reason, "%s", err.text);
}

static void set_io(struct ccpc_node *node, const struct cnn_node *n, int in)
{
	node->relu = n->act.kind == CNN_ACT_RELU;
	node->in.value = n->in[in];
	node->out.value = n->out[0];
}

static void set_layouts(struct ccpc_node *node, const struct cnn_window *w,
			const struct window_axes *a)
{
	node->in.layout = layout(w->batch, w->in_ch, a->y.in * a->x.in);
	node->out.layout = layout(w->batch, w->out_ch, a->y.out * a->x.out);
}

static void fill_conv(struct ccpc_node *node, const struct cnn_window *w,
		      const struct window_axes *a)
{
	const struct window_axis *y = &a->y, *x = &a->x;

	node->kind = &ccpc_conv;
	node->conv = (struct ccpc_conv){
		.n = w->batch, .groups = w->group,
		.ci = w->in_ch / w->group, .co = w->out_ch / w->group,
		.ih = y->in, .iw = x->in, .oh = y->out, .ow = x->out,
		.kh = y->kernel, .kw = x->kernel, .sy = y->stride, .sx = x->stride,
		.pad = { .top = y->begin, .bottom = y->end, .left = x->begin, .right = x->end },
	};
	set_layouts(node, w, a);
}

static bool match_conv(const struct cnn_graph *g, const struct cnn_node *n, struct ccpc_node *node,
		       char *reason)
{
	const struct cnn_tensor *weight = cnn_node_in(g, n, 1), *bias = cnn_node_in(g, n, 2);
	struct cnn_window w;
	struct window_axes a;

	if (!get_window(g, n, &w, reason) || !check_act(n, true, reason) ||
	    !check_constant(n, weight, "weight", reason) ||
	    (bias && !check_constant(n, bias, "bias", reason)) ||
	    !get_axes(n, &w, &a, reason) || !check_axes(n, &a, CNNACC_CCP_KERNEL_MAX, reason) ||
	    !check_limit(n, "channels", cnn_max(w.in_ch, w.out_ch), MAX_SIZE, reason))
		return false;
	set_io(node, n, 0);
	fill_conv(node, &w, &a);
	if (cnn_node_in(g, n, 3)) {
		if (w.group > 1)
			return cnn_reject(reason, "%s: fused addition with %lld groups, limit of "
					  "ccp 1", n->op_type, (long long)w.group);
		node->add.value = n->in[3];
		node->add.layout = node->out.layout;
		node->conv.adds = true;
	}
	node->conv.w = (struct ccpc_weights){
		.data = weight->data, .scale = 1,
		.stride_out = node->conv.ci * a.y.kernel * a.x.kernel,
		.stride_in = a.y.kernel * a.x.kernel,
		.bias = bias ? bias->data : NULL, .bias_stride = 1, .bias_scale = 1,
	};
	return true;
}

/* How far the last window reaches past the input, apart from the leading padding. */
static int64_t overhang(const struct window_axis *a)
{
	return (a->out - 1) * a->stride + a->kernel - a->in - a->begin;
}

/* Is the output as large as that of a convolution? */
static bool is_conv_size(const struct window_axis *a)
{
	return (a->in + a->begin + a->end - a->kernel) / a->stride + 1 == a->out;
}

/* Max and average pools as a convolution of each channel with equal weights. */
static bool match_pool_conv(const struct cnn_node *n, const struct cnn_window *w,
			    struct window_axes a, struct ccpc_node *node, char *reason)
{
	/* Only the padding that the last window reaches is needed. */
	a.y.end = cnn_max(0, overhang(&a.y));
	a.x.end = cnn_max(0, overhang(&a.x));
	if (!check_axes(n, &a, CNNACC_CCP_KERNEL_MAX, reason) ||
	    !check_limit(n, "channels", w->in_ch, MAX_SIZE, reason))
		return false;
	if (!is_conv_size(&a.y) || !is_conv_size(&a.x))
		return cnn_reject(reason, "%s: output size that a convolution would not give",
				  n->op_type);
	fill_conv(node, w, &a);
	node->conv.w.scale = (float)(1.0 / (double)(a.y.kernel * a.x.kernel));
	return true;
}

/* Does each window have an element of the map? */
static bool check_border(const struct cnn_node *n, const struct window_axes *a, char *reason)
{
	if (cnn_max(a->y.begin, overhang(&a->y)) < a->y.kernel &&
	    cnn_max(a->x.begin, overhang(&a->x)) < a->x.kernel)
		return true;
	return cnn_reject(reason, "%s: a window lies wholly in the padding", n->op_type);
}

/* An average pool whose divisor is the number of elements under the window. */
static bool match_border_average(const struct cnn_node *n, const struct cnn_window *w,
				 const struct window_axes *a, struct ccpc_node *node, char *reason)
{
	if (!check_border(n, a, reason) || !match_pool_conv(n, w, *a, node, reason))
		return false;
	node->conv.average = true;
	if (w->count_include_pad)
		node->conv.counted = (struct ccpc_padding){
			.top = a->y.begin, .bottom = a->y.end, .left = a->x.begin, .right = a->x.end,
		};
	return true;
}

static bool match_pool_unit(const struct cnn_node *n, const struct cnn_window *w,
			    const struct window_axes *a, struct ccpc_node *node, char *reason)
{
	const struct window_axis *y = &a->y, *x = &a->x;
	int64_t beyond = cnn_max(overhang(y), overhang(x));

	if (!check_axes(n, a, 2 * CNNACC_CCP_PAD_MAX, reason))
		return false;
	if (beyond > CNNACC_CCP_PAD_MAX)
		return cnn_reject(reason, "%s: the last window reaches %lld past the map, limit of "
				  "ccp %d", n->op_type, (long long)beyond, CNNACC_CCP_PAD_MAX);
	node->kind = &ccpc_pool;
	node->pool = (struct ccpc_pool){
		.n = w->batch, .c = w->in_ch,
		.ih = y->in, .iw = x->in, .oh = y->out, .ow = x->out,
		.kh = y->kernel, .kw = x->kernel, .sy = y->stride, .sx = x->stride,
		.pad = { .top = y->begin, .left = x->begin },
		.average = n->op == CNN_OP_AVERAGE_POOL,
	};
	set_layouts(node, w, a);
	return true;
}

static bool match_max_pool(const struct cnn_graph *g, const struct cnn_node *n,
			   struct ccpc_node *node, char *reason)
{
	struct cnn_window w;
	struct window_axes a;

	if (!get_window(g, n, &w, reason) || !check_act(n, true, reason))
		return false;
	if (n->n_out > 1 && n->out[1] >= 0)
		return cnn_reject(reason, "%s: output Indices is not supported by ccp", n->op_type);
	if (!get_axes(n, &w, &a, reason))
		return false;
	set_io(node, n, 0);
	if (a.y.kernel == 1 && a.x.kernel == 1 && !a.y.begin && !a.x.begin)
		return match_pool_conv(n, &w, a, node, reason);
	return check_act(n, false, reason) && check_border(n, &a, reason) &&
	       match_pool_unit(n, &w, &a, node, reason);
}

/* True if every window counts all its elements, as the pooling unit assumes. */
static bool counts_all(const struct cnn_window *w, const struct window_axis *a)
{
	int64_t over = overhang(a);

	return w->count_include_pad ? over <= a->end : !a->begin && over <= 0;
}

static bool match_mean(int64_t batch, int64_t channels, int64_t plane, struct ccpc_node *node)
{
	node->kind = &ccpc_mean;
	node->mean = (struct ccpc_mean){ .n = batch, .c = channels, .plane = plane };
	node->in.layout = layout(batch, channels, plane);
	node->out.layout = layout(batch, channels, 1);
	return true;
}

static bool match_average_pool(const struct cnn_graph *g, const struct cnn_node *n,
			       struct ccpc_node *node, char *reason)
{
	int64_t plane = 1;
	bool global = true;
	struct cnn_window w;
	struct window_axes a;

	if (!get_window(g, n, &w, reason) || !check_act(n, true, reason))
		return false;
	set_io(node, n, 0);
	for (int i = 0; i < w.spatial; i++) {
		plane *= w.in[i];
		global &= w.kernel[i] == w.in[i] && w.out[i] == 1 && !w.pad_begin[i];
	}
	if (global)
		return match_mean(w.batch, w.in_ch, plane, node);
	if (!get_axes(n, &w, &a, reason))
		return false;
	if (!counts_all(&w, &a.y) || !counts_all(&w, &a.x))
		return match_border_average(n, &w, &a, node, reason);
	if (a.y.kernel > 3 || a.x.kernel > 3 || a.y.kernel * a.x.kernel == 1 ||
	    n->act.kind != CNN_ACT_NONE)
		return match_pool_conv(n, &w, a, node, reason);
	return match_pool_unit(n, &w, &a, node, reason);
}

static bool match_reduce_mean(const struct cnn_graph *g, const struct cnn_node *n,
			      struct ccpc_node *node, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *list = cnn_node_in(g, n, 1);
	const int64_t *axes;
	int64_t plane = 1;
	int count = 0, seen = 0;

	if (!check_value(n, x, reason) || !check_value(n, cnn_node_out(g, n, 0), reason) ||
	    !check_act(n, false, reason))
		return false;
	axes = n->params.reduce.axes.v;
	count = n->params.reduce.axes.n;
	if (list) {
		axes = list->data;
		count = axes && list->dtype == CNN_INT64 ? (int)cnn_tensor_count(list) : 0;
	}
	for (int i = 0; i < count; i++) {
		int64_t a = axes[i] < 0 ? axes[i] + x->rank : axes[i];

		seen |= a >= 0 && a < x->rank ? 1 << a : 0;
	}
	if (x->rank < 3 || seen != (1 << x->rank) - 4)
		return cnn_reject(reason, "%s: reduces other axes than those of the map",
				  n->op_type);
	for (int i = 2; i < x->rank; i++)
		plane *= x->dims[i];
	set_io(node, n, 0);
	return match_mean(x->dims[0], x->dims[1], plane, node);
}

static const int64_t *pad_amounts(const struct cnn_graph *g, const struct cnn_node *n, int *count)
{
	const struct cnn_tensor *pads = cnn_node_in(g, n, 1);

	if (pads) {
		*count = pads->data && pads->dtype == CNN_INT64 ? (int)cnn_tensor_count(pads) : 0;
		return pads->data;
	}
	*count = n->params.pad.pads.n;
	return n->params.pad.pads.v;
}

static bool match_pad(const struct cnn_graph *g, const struct cnn_node *n, struct ccpc_node *node,
		      char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *value = cnn_node_in(g, n, 2);
	const int64_t *pads;
	int count = 0;

	if (!check_value(n, x, reason) || !check_value(n, cnn_node_out(g, n, 0), reason) ||
	    !check_act(n, false, reason))
		return false;
	pads = pad_amounts(g, n, &count);
	if (n->params.pad.mode != CNN_PAD_CONSTANT || n->params.pad.value != 0 ||
	    (value && (!value->data || value->dtype != CNN_FLOAT32 || *(float *)value->data != 0)))
		return cnn_reject(reason, "%s: mode or value; ccp pads with the constant 0",
				  n->op_type);
	if (cnn_node_in(g, n, 3))
		return cnn_reject(reason, "%s: axes; ccp pads maps without them", n->op_type);
	if (x->rank != 4 || count != 8)
		return cnn_reject(reason, "%s: %d axes, ccp has 4", n->op_type, x->rank);
	if (pads[0] || pads[1] || pads[4] || pads[5] || pads[2] < 1 || pads[2] > 2 ||
	    pads[3] != pads[2] || pads[6] != pads[2] || pads[7] != pads[2])
		return cnn_reject(reason, "%s: pads; ccp pads every side of the map by 1 or by 2",
				  n->op_type);
	if (!check_limit(n, "map size", cnn_max(x->dims[2], x->dims[3]), MAX_SIZE - 4, reason))
		return false;
	set_io(node, n, 0);
	node->kind = &ccpc_pad;
	node->pad = (struct ccpc_pad){
		.n = x->dims[0], .c = x->dims[1], .ih = x->dims[2], .iw = x->dims[3],
		.layers = pads[2],
	};
	node->in.layout = layout(x->dims[0], x->dims[1], x->dims[2] * x->dims[3]);
	node->out.layout = layout(x->dims[0], x->dims[1],
				  (x->dims[2] + 2 * pads[2]) * (x->dims[3] + 2 * pads[2]));
	return true;
}

/* Gemm's C as one bias per column. */
static bool match_bias(const struct cnn_node *n, const struct cnn_tensor *c,
		       const struct cnn_matmul *mm, struct ccpc_weights *w, char *reason)
{
	int64_t count;

	if (!c || mm->beta == 0)
		return true;
	if (!check_constant(n, c, "C", reason))
		return false;
	count = cnn_tensor_count(c);
	if (count != 1 && (count != mm->n || c->dims[c->rank - 1] != mm->n))
		return cnn_reject(reason, "%s: C is not one value per column", n->op_type);
	w->bias = c->data;
	w->bias_stride = count > 1;
	w->bias_scale = mm->beta;
	return true;
}

static bool match_product(const struct cnn_node *n, const struct cnn_matmul *mm,
			  const struct cnn_tensor *b, struct ccpc_node *node, char *reason)
{
	struct ccpc_fc *v = &node->fc;
	int64_t rows = mm->batch * mm->m;

	if (cnn_tensor_count(b) != mm->k * mm->n)
		return cnn_reject(reason, "%s: B is a batch of matrices", n->op_type);
	if (mm->trans_a && mm->m > 1 && mm->k > 1)
		return cnn_reject(reason, "%s: transA of a matrix that is not constant",
				  n->op_type);
	set_io(node, n, 0);
	node->kind = &ccpc_fc;
	*v = (struct ccpc_fc){
		.rows = rows, .in = mm->k, .out = mm->n,
		.w = {
			.data = b->data, .stride_out = mm->trans_b ? mm->k : 1,
			.stride_in = mm->trans_b ? 1 : mm->n, .scale = mm->alpha,
		},
	};
	node->in.layout = layout(rows, mm->k, 1);
	node->out.layout = layout(rows, mm->n, 1);
	return true;
}

/* A constant matrix times maps is a 1 x 1 convolution of the rows of B. */
static bool match_const_a(const struct cnn_node *n, const struct cnn_matmul *mm,
			  const struct cnn_tensor *a, const struct cnn_tensor *b,
			  struct ccpc_node *node, char *reason)
{
	struct ccpc_conv *v = &node->conv;

	if (cnn_tensor_count(a) != mm->m * mm->k || b->rank < 2)
		return cnn_reject(reason, "%s: A is a batch of matrices", n->op_type);
	if (!check_limit(n, "matrix size", cnn_max(cnn_max(mm->m, mm->k), mm->n), MAX_SIZE, reason))
		return false;
	set_io(node, n, 1);
	node->kind = &ccpc_conv;
	*v = (struct ccpc_conv){
		.n = mm->batch, .groups = 1, .ci = mm->k, .co = mm->m, .ih = 1, .iw = mm->n,
		.oh = 1, .ow = mm->n, .kh = 1, .kw = 1, .sy = 1, .sx = 1,
		.w = { .data = a->data, .stride_out = mm->k, .stride_in = 1, .scale = 1 },
	};
	node->in.layout = layout(mm->batch, mm->k, mm->n);
	node->out.layout = layout(mm->batch, mm->m, mm->n);
	return true;
}

static bool match_matmul(const struct cnn_graph *g, const struct cnn_node *n,
			 struct ccpc_node *node, char *reason)
{
	const struct cnn_tensor *a = cnn_node_in(g, n, 0), *b = cnn_node_in(g, n, 1);
	struct cnn_matmul mm;
	struct cnn_err err;

	if (!check_value(n, a, reason) || !check_value(n, b, reason) ||
	    !check_value(n, cnn_node_out(g, n, 0), reason) || !check_act(n, true, reason))
		return false;
	if (cnn_node_matmul(g, n, &mm, &err))
		return cnn_reject(reason, "%s", err.text);
	if (a->data && !b->data && n->op == CNN_OP_MATMUL)
		return match_const_a(n, &mm, a, b, node, reason);
	if (!check_constant(n, b, "B", reason))
		return false;
	if (a->data)
		return cnn_reject(reason, "%s: A is constant", n->op_type);
	return match_product(n, &mm, b, node, reason) &&
	       match_bias(n, cnn_node_in(g, n, 2), &mm, &node->fc.w, reason);
}

bool ccpc_match(const struct ccpc_hw *hw, const struct cnn_graph *g, int index,
		struct ccpc_node *node, char *reason)
{
	static bool (*const matches[CNN_OP_COUNT])(const struct cnn_graph *g,
						   const struct cnn_node *n,
						   struct ccpc_node *node, char *reason) = {
		[CNN_OP_CONV] = match_conv, [CNN_OP_MAX_POOL] = match_max_pool,
		[CNN_OP_AVERAGE_POOL] = match_average_pool,
		[CNN_OP_GLOBAL_AVERAGE_POOL] = match_average_pool,
		[CNN_OP_REDUCE_MEAN] = match_reduce_mean, [CNN_OP_PAD] = match_pad,
		[CNN_OP_GEMM] = match_matmul, [CNN_OP_MATMUL] = match_matmul,
	};
	const struct cnn_node *n = &g->nodes[index];

	memset(node, 0, sizeof(*node));
	node->node = index;
	node->add.value = -1;
	if (*hw->bad)
		return cnn_reject(reason, "%s: %s", n->op_type, hw->bad);
	return matches[n->op] ? matches[n->op](g, n, node, reason) :
	       cnn_reject(reason, "%s: operator not supported by ccp", n->op_type);
}
