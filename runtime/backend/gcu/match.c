// SPDX-License-Identifier: MIT
/* Which graph nodes core gcu can run, as what convolution, and their layouts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gcu.h"
#include "ops/groups.h"

#define SIZE_MAX_16	UINT16_MAX
#define BYTES_MAX	(CNN_ARENA_MAX / 4)	/* of one value in the arena */

void gcuc_conv_free(struct gcuc_conv *v)
{
	free(v->linear);
	v->linear = NULL;
}

static bool is_product(enum cnn_op op)
{
	return op == CNN_OP_CONV || op == CNN_OP_CONV_TRANSPOSE || op == CNN_OP_GEMM ||
	       op == CNN_OP_MATMUL;
}

/* Does it compute floats that the core takes as float16? */
static bool is_half(const struct cnn_graph *g, const struct cnn_node *n)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *y = cnn_node_out(g, n, 0);

	return x && y && x->dtype == y->dtype &&
	       (x->dtype == CNN_FLOAT16 || (x->dtype == CNN_FLOAT32 && g->fp16));
}

bool gcuc_is_float_product(const struct cnn_graph *g, const struct cnn_node *n)
{
	return is_product(n->op) && is_half(g, n);
}

bool gcuc_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	struct gcuc_product p;

	return gcuc_product_get(g, n, &p) || gcuc_is_float_product(g, n) ||
	       n->op == CNN_OP_QLINEAR_SUMS || n->op == CNN_OP_REQUANTIZE_SUMS;
}

/* ---- sizes ------------------------------------------------------------------------------- */

static bool check_limit(const struct cnn_node *n, const char *what, int64_t value, int64_t limit,
			char *reason)
{
	return value <= limit || cnn_reject(reason, "%s: %s %lld, limit of gcu %lld", n->op_type,
					    what, (long long)value, (long long)limit);
}

static bool check_axis(const struct cnn_node *n, const struct gcuc_axis *a, char *reason)
{
	return check_limit(n, "stride", a->stride, CNNACC_GCU_STRIDE_MAX, reason) &&
	       check_limit(n, "dilation", a->dilation + 1, CNNACC_GCU_DILATION_MAX + 1, reason) &&
	       check_limit(n, "stride", a->inner + 1, CNNACC_GCU_INNER_MAX + 1, reason) &&
	       check_limit(n, "map size", cnn_max(a->in, a->out), SIZE_MAX_16, reason);
}

static struct gcuc_axis one_point(void)
{
	return (struct gcuc_axis){ .in = 1, .out = 1, .kernel = 1, .stride = 1 };
}

static struct gcuc_axis get_axis(const struct cnn_window *w, int i, bool transposed)
{
	struct gcuc_axis a = one_point();

	if (i < 0)
		return a;
	a.in = w->in[i];
	a.out = w->out[i];
	a.kernel = w->kernel[i];
	a.dilation = a.kernel > 1 ? w->dilation[i] - 1 : 0;
	a.stride = transposed || a.out == 1 ? 1 : w->stride[i];
	a.inner = transposed && a.in > 1 ? w->stride[i] - 1 : 0;
	a.begin = transposed ? gcuc_reach(&a) - 1 - w->pad_begin[i] : w->pad_begin[i];
	return a;
}

static void set_conv_weights(struct gcuc_conv *v, const struct cnn_tensor *t, bool transposed)
{
	int64_t points = gcuc_points(v);

	v->weights = (struct gcuc_weights){
		.t = t, .x = 1, .y = v->x.kernel, .z = v->x.kernel * v->y.kernel,
		.flip = transposed,
		.k = transposed ? points : v->ci * points,
		.c = transposed ? v->co * points : points, .group = v->co * v->ci * points,
	};
}

static bool set_conv(const struct cnn_graph *g, const struct cnn_node *n,
		     const struct cnn_tensor *weights, struct gcuc_conv *v, char *reason)
{
	enum cnn_op op = cnn_op_base(n->op);
	bool transposed = op == CNN_OP_CONV_TRANSPOSE || op == CNN_OP_QLINEAR_CONV_TRANSPOSE;
	struct cnn_window w;
	struct cnn_err err;

	if (cnn_node_window(g, n, &w, &err))
		return cnn_reject(reason, "%s", err.text);
	v->z = get_axis(&w, w.spatial - 3, transposed);
	v->y = get_axis(&w, w.spatial - 2, transposed);
	v->x = get_axis(&w, w.spatial - 1, transposed);
	v->groups = w.group;
	v->ci = w.in_ch / w.group;
	v->co = w.out_ch / w.group;
	v->ifm = (struct gcuc_maps){ .n = w.batch, .c = w.in_ch, .d = v->z.in, .h = v->y.in,
				    .w = v->x.in };
	v->ofm = (struct gcuc_maps){ .n = w.batch, .c = w.out_ch, .d = v->z.out,
				    .h = v->y.out, .w = v->x.out };
	set_conv_weights(v, weights, transposed);
	return check_axis(n, &v->y, reason) && check_axis(n, &v->x, reason);
}

/* Rows of the left matrix become columns of a map of one row. */
static bool set_matmul(const struct cnn_graph *g, const struct cnn_node *n,
		       const struct cnn_tensor *weights, struct gcuc_conv *v, char *reason)
{
	struct cnn_matmul mm;
	struct cnn_err err;
	int64_t rows;

	if (cnn_node_matmul(g, n, &mm, &err))
		return cnn_reject(reason, "%s", err.text);
	if (weights->rank < 2 || cnn_tensor_count(weights) != mm.k * mm.n)
		return cnn_reject(reason, "%s: %d dimensions of weights, one matrix wanted",
				  n->op_type, weights->rank);
	if (mm.trans_a && mm.m > 1 && mm.k > 1)
		return cnn_reject(reason, "%s: transA of a matrix that is not constant",
				  n->op_type);
	rows = mm.batch * mm.m;
	v->z = v->y = v->x = one_point();
	v->x.in = v->x.out = rows;
	v->groups = 1;
	v->ci = mm.k;
	v->co = mm.n;
	v->ifm = (struct gcuc_maps){ .n = 1, .c = mm.k, .d = 1, .h = 1, .w = rows, .matrix = true };
	v->ofm = (struct gcuc_maps){ .n = 1, .c = mm.n, .d = 1, .h = 1, .w = rows, .matrix = true };
	v->weights = (struct gcuc_weights){
		.t = weights, .k = mm.trans_b ? mm.k : 1, .c = mm.trans_b ? 1 : mm.n,
	};
	return check_axis(n, &v->x, reason);
}

static bool is_conv(enum cnn_op any)
{
	enum cnn_op op = cnn_op_base(any);

	return op == CNN_OP_CONV || op == CNN_OP_CONV_TRANSPOSE || op == CNN_OP_CONV_INTEGER ||
	       op == CNN_OP_QLINEAR_CONV || op == CNN_OP_QLINEAR_CONV_TRANSPOSE;
}

static bool set_sizes(const struct cnn_graph *g, const struct cnn_node *n,
		      const struct cnn_tensor *weights, struct gcuc_conv *v, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *y = cnn_node_out(g, n, 0);

	if (!x || !y || cnn_tensor_count(x) < 1 || cnn_tensor_count(y) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (!weights || !weights->data)
		return cnn_reject(reason, "%s: weight is not constant", n->op_type);
	if (x->data)
		return cnn_reject(reason, "%s: input is constant", n->op_type);
	return (is_conv(n->op) ? set_conv(g, n, weights, v, reason) :
				 set_matmul(g, n, weights, v, reason)) &&
	       check_limit(n, "channels", cnn_max(v->ifm.c, v->ofm.c), SIZE_MAX_16, reason);
}

/* ---- floats ------------------------------------------------------------------------------ */

static uint32_t bits_of(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void clamp_floats(struct gcuc_conv *v, float low, float high)
{
	v->clamp = true;
	v->clamp_low = bits_of(low);
	v->clamp_high = bits_of(high);
}

/* The activation, and what of it is a factor and an addend. */
static bool set_act(const struct cnn_node *n, struct gcuc_conv *v, float *a, float *b, char *reason)
{
	const struct cnn_act *act = &n->act;

	*a = 1;
	*b = 0;
	switch (act->kind) {
	case CNN_ACT_NONE:
		return true;
	case CNN_ACT_RELU:
		v->act = CNNACC_GCU_ACT_RELU;
		return true;
	case CNN_ACT_CLIP:
		clamp_floats(v, act->a, act->b);
		return act->a <= act->b ||
		       cnn_reject(reason, "%s: bounds of Clip are not in order", n->op_type);
	case CNN_ACT_LEAKY_RELU:
		v->act = CNNACC_GCU_ACT_LEAKY;
		v->act_factor = bits_of(act->a);
		return true;
	case CNN_ACT_SIGMOID:
		v->act = CNNACC_GCU_ACT_SIGMOID;
		return true;
	case CNN_ACT_HARD_SIGMOID:
		clamp_floats(v, 0, 1);
		/* fall through */
	case CNN_ACT_AFFINE:
		*a = act->a;
		*b = act->b;
		return true;
	default:
		return cnn_reject(reason, "%s: fused activation %s is not supported by gcu",
				  n->op_type, n->fused ? n->fused : "");
	}
}

/* A bias for each channel: constant floats, one or as many as there are channels; step: of it. */
static bool check_bias(const struct cnn_node *n, const struct cnn_tensor *bias, int64_t channels,
		       int64_t *step, char *reason)
{
	int64_t count = bias ? cnn_tensor_count(bias) : 0;

	*step = count > 1;
	if (!bias || (bias->data && bias->dtype == CNN_FLOAT32 &&
		      (count == 1 || (count == channels &&
				      bias->dims[bias->rank - 1] == channels))))
		return true;
	return cnn_reject(reason, "%s: the bias is not one constant for each channel", n->op_type);
}

static bool set_linear(const struct cnn_node *n, const struct cnn_tensor *bias,
		       struct gcuc_conv *v, char *reason)
{
	bool gemm = n->op == CNN_OP_GEMM;
	float scale, offset, alpha = gemm ? n->params.gemm.alpha : 1;
	float beta = gemm ? n->params.gemm.beta : 1;
	int64_t channels = v->ofm.c, step;

	if (!check_bias(n, bias, channels, &step, reason) ||
	    !set_act(n, v, &scale, &offset, reason))
		return false;
	if (!bias && scale == 1 && offset == 0 && alpha == 1)
		return true;
	v->linear = calloc((size_t)channels, sizeof(*v->linear));
	if (!v->linear)
		return cnn_reject(reason, "%s: no memory", n->op_type);
	for (int64_t k = 0; k < channels; k++) {
		float add = bias ? beta * ((const float *)bias->data)[k * step] : 0;

		v->linear[k].a = bits_of(scale * alpha);
		v->linear[k].b_lo = bits_of(scale * add + offset);
	}
	return true;
}

/* Weights beyond the range of float16 would be infinite. */
static bool check_weights(const struct cnn_node *n, const struct cnn_tensor *w, char *reason)
{
	const float *data = w->data;

	if (w->dtype != CNN_FLOAT32)
		return cnn_reject(reason, "%s: weight of type %s", n->op_type,
				  cnn_dtype_name(w->dtype));
	for (int64_t i = 0; i < cnn_tensor_count(w); i++)
		if (!(fabsf(data[i]) <= 65504))
			return cnn_reject(reason, "%s: a weight is %g, limit of float16 65504",
					  n->op_type, (double)data[i]);
	return true;
}

static bool match_floats(const struct cnn_graph *g, const struct cnn_node *n, struct gcuc_conv *v,
			 char *reason)
{
	const struct cnn_tensor *w = cnn_node_in(g, n, 1);

	v->format = CNNACC_GCU_FP16;
	v->half = cnn_node_in(g, n, 0)->dtype == CNN_FLOAT32;
	v->result = CNNACC_GCU_OUT_FP16;
	if (!set_sizes(g, n, w, v, reason) || !check_weights(n, w, reason) ||
	    !set_linear(n, cnn_node_in(g, n, 2), v, reason))
		return false;
	if (cnn_node_in(g, n, 3))
		v->add = n->in[3];
	return true;
}

/* ---- nodes ------------------------------------------------------------------------------- */

/* The list of groups of IntegerConv, which has as many as there are output channels. */
static bool set_groups(const struct gcuc_product *p, struct gcuc_conv *v, char *reason)
{
	if (!p->groups)
		return true;
	if (!p->groups->data)
		return cnn_reject(reason, "%s: groups are not constant", p->n->op_type);
	v->group_of = p->groups->data;
	v->co = v->ofm.c;
	return cnn_are_groups(v->group_of, v->ofm.c, v->groups) ||
	       cnn_reject(reason, "%s: groups are not ascending, or not below %lld",
			  p->n->op_type, (long long)v->groups);
}

int64_t gcuc_match_product(const struct gcuc_product *p, struct gcuc_conv *v, bool *passes,
			   char *reason)
{
	if (p->n->act.kind != CNN_ACT_NONE)
		return cnn_reject(reason, "%s: a fused activation", p->n->op_type) - 1;
	if (!set_sizes(p->g, p->n, p->w, v, reason) || !set_groups(p, v, reason) ||
	    !gcuc_product_numbers(p, v, reason))
		return -1;
	return gcuc_product_requantise(p, v, passes, reason);
}

static bool match_integers(const struct gcuc_product *p, struct gcuc_conv *v, char *reason)
{
	return gcuc_match_product(p, v, NULL, reason) == v->ofm.c;
}

static bool refuse(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);

	if ((n->op == CNN_OP_QLINEAR_SUMS || n->op == CNN_OP_REQUANTIZE_SUMS) &&
	    n->params.sums.why[0])
		return cnn_reject(reason, "%s: gcu does not requantise: %s", n->op_type,
				  n->params.sums.why);
	if (!is_product(n->op))
		return cnn_reject(reason, "%s: operator not supported by gcu", n->op_type);
	if (x && x->dtype == CNN_FLOAT32)
		return cnn_reject(reason, "%s: float32 without precision fp16, gcu has float16",
				  n->op_type);
	return cnn_reject(reason, "%s: type %s, gcu has float16 and quantised products", n->op_type,
			  x ? cnn_dtype_name(x->dtype) : "unknown");
}

bool gcuc_match(const struct gcuc_core *core, int node, struct gcuc_conv *v, char *reason)
{
	const struct cnn_graph *g = core->base.compile->g;
	const struct cnn_node *n = &g->nodes[node];
	struct gcuc_product p;
	bool ok;

	gcuc_conv_free(v);
	*v = (struct gcuc_conv){ .in = n->n_in ? n->in[0] : -1, .out = n->out[0], .add = -1 };
	if (core->hw.bad[0])
		return cnn_reject(reason, "%s: %s", n->op_type, core->hw.bad);
	if (gcuc_product_get(g, n, &p))
		ok = match_integers(&p, v, reason);
	else if (gcuc_is_float_product(g, n))
		ok = match_floats(g, n, v, reason);
	else
		ok = refuse(g, n, reason);
	return ok && check_limit(n, "bytes of the result",
				 cnn_mul_sat(cnn_tensor_count(cnn_node_out(g, n, 0)),
					     gcuc_result(v)), BYTES_MAX, reason);
}
