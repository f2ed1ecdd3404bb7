// SPDX-License-Identifier: MIT
/* Which graph nodes core imc can run, as what convolution, and their layouts. */
#include <stdlib.h>

#include "backend/qproduct.h"
#include "imc.h"
#include "ops/quant.h"

#define BYTES_MAX	(CNN_ARENA_MAX / 4)	/* of one value in the arena */
#define STEP_MAX	CNNACC_IMC_BANK_MAX	/* two inputs that are further apart fit no bank */

static bool is_integer(const struct cnn_node *n)
{
	enum cnn_op op = cnn_op_base(n->op);

	return op == CNN_OP_CONV_INTEGER || op == CNN_OP_MATMUL_INTEGER ||
	       n->op == CNN_OP_INTEGER_CONV_TRANSPOSE;
}

static bool is_float(const struct cnn_node *n)
{
	return n->op == CNN_OP_CONV || n->op == CNN_OP_CONV_TRANSPOSE || n->op == CNN_OP_MATMUL ||
	       n->op == CNN_OP_GEMM;
}

bool imcc_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	(void)g;
	return is_integer(n) || is_float(n) || n->op == CNN_OP_QLINEAR_SUMS || cnn_is_unsplit(n) ||
	       n->op == CNN_OP_QLINEAR_CONV_TRANSPOSE;
}

static bool check_integers(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	if (!cnn_check_product(g, n, "imc", reason))
		return false;
	if (cnn_node_in(g, n, 4) || cnn_node_out(g, n, 0)->dtype != CNN_INT32)
		return cnn_reject(reason, "%s: it requantises its sums, imc has int32", n->op_type);
	return true;
}

static bool is_constant(const struct cnn_tensor *t)
{
	return !t || t->data;
}

static bool check_transposed(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *w = cnn_node_in(g, n, 1);
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (!x || !w || !y || cnn_tensor_count(x) < 1 || cnn_tensor_count(y) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (!w->data || !is_constant(cnn_node_in(g, n, 2)) || !is_constant(cnn_node_in(g, n, 3)))
		return cnn_reject(reason, "%s: weight or a zero point is not constant", n->op_type);
	return (cnn_dtype_size(x->dtype) == 1 && cnn_dtype_size(w->dtype) == 1) ||
	       cnn_reject(reason, "%s: %s and %s, imc has int8 and uint8", n->op_type,
			  cnn_dtype_name(x->dtype), cnn_dtype_name(w->dtype));
}

/* What legalize.c leaves of a float product: nothing but the sums. */
static bool check_alone(const struct cnn_node *n, char *reason)
{
	bool more = n->act.kind != CNN_ACT_NONE;

	for (int i = 2; i < n->n_in; i++)
		more |= n->in[i] >= 0;
	if (more || (n->op == CNN_OP_GEMM && n->params.gemm.alpha != 1))
		return cnn_reject(reason, "%s: a factor, an addend or an activation that does not "
				  "become a node of its own", n->op_type);
	return true;
}

static bool check_floats(const struct imcc_hw *hw, const struct cnn_graph *g,
			 const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *w = cnn_node_in(g, n, 1);
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (!x || !w || !y || cnn_tensor_count(x) < 1 || cnn_tensor_count(y) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (x->dtype != CNN_FLOAT32 || w->dtype != CNN_FLOAT32)
		return cnn_reject(reason, "%s: %s, imc has int8, uint8 and float32", n->op_type,
				  cnn_dtype_name(x->dtype != CNN_FLOAT32 ? x->dtype : w->dtype));
	if (!hw->fp32)
		return cnn_reject(reason, "%s: this imc is built without FP32", n->op_type);
	if (!w->data)
		return cnn_reject(reason, "%s: weight is not constant", n->op_type);
	return check_alone(n, reason);
}

static bool check_limit(const struct cnn_node *n, const char *what, int64_t value, int64_t limit,
			char *reason)
{
	return value <= limit || cnn_reject(reason, "%s: %s %lld, limit of imc %lld", n->op_type,
					    what, (long long)value, (long long)limit);
}

/* ---- sizes ------------------------------------------------------------------------------- */

static void set_type(const struct cnn_graph *g, const struct cnn_node *n, struct imcc_conv *v)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);

	v->format = x->dtype == CNN_FLOAT32 ? CNNACC_IMC_FP32 :
		    x->dtype == CNN_UINT8   ? CNNACC_IMC_UINT8 :
					      CNNACC_IMC_INT8;
	v->size = (int64_t)cnn_dtype_size(x->dtype);
	v->addends = 1;
	if (n->op == CNN_OP_CONV_SUMS)
		v->pad_byte = (uint8_t)n->params.product.pad_value;
	if (n->op == CNN_OP_INTEGER_CONV_TRANSPOSE) {
		v->x_zero = cnn_zero_point(cnn_node_in(g, n, 2), 0);
		v->pad_byte = (uint8_t)v->x_zero;
	}
}

static struct imcc_axis get_axis(const struct cnn_window *w, int i, bool transposed)
{
	struct imcc_axis a = { .in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1 };

	if (i >= 0)
		a = (struct imcc_axis){
			.in = w->in[i], .out = w->out[i], .kernel = w->kernel[i],
			.stride = w->stride[i], .dilation = w->dilation[i], .pad = w->pad_begin[i],
			.transposed = transposed,
		};
	imcc_set_axis(&a);
	return a;
}

/*
 * Several groups at once cost no clocks while they fit the multipliers and the CSUs. FP32 takes
 * each alone, so that an infinity does not meet the zeros of other groups.
 */
static void cut_blocks(const struct imcc_hw *hw, struct imcc_conv *v)
{
	v->block_groups = 1;
	if (v->format != CNNACC_IMC_FP32)
		v->block_groups = cnn_min(cnn_min(hw->cin_max / v->ci, hw->csus / v->co), v->groups);
	v->block_groups = cnn_max(v->block_groups, 1);
	v->blocks = cnn_div_up(v->groups, v->block_groups);
}

static void set_maps(struct imcc_conv *v)
{
	struct cnn_pixels p = {
		.n = v->batch, .c = v->groups * v->ci, .rows = v->y.in, .columns = v->x.in,
		.size = v->size,
	};

	p.column_pitch = p.c;
	p.row_pitch = p.columns * p.c;
	p.image_pitch = p.rows * p.row_pitch;
	v->ifm = cnn_pixels_layout(&p);
	p = (struct cnn_pixels){
		.n = v->batch, .c = v->groups * v->co, .rows = v->y.out, .columns = v->x.out,
		.size = IMCC_RESULT_BYTES,
	};
	p.column_pitch = p.c;
	p.row_pitch = p.columns * p.c;
	p.image_pitch = p.rows * p.row_pitch;
	v->ofm = cnn_pixels_layout(&p);
	v->ofm_bytes = p.n * p.image_pitch * p.size;
}

/* [output channel][channel of a group][y][x], of transposed ones [input channel][of a group]... */
static void set_conv_weights(const struct cnn_graph *g, const struct cnn_node *n,
			     struct imcc_conv *v, bool transposed)
{
	const struct cnn_tensor *w = cnn_node_in(g, n, 1);
	int64_t taps = v->x.kernel * v->y.kernel;

	v->weights = (struct imcc_weights){
		.data = w->data, .x = 1, .y = v->x.kernel, .c = transposed ? v->co * taps : taps,
		.k = transposed ? taps : v->ci * taps, .group = v->ci * v->co * taps,
		.is_unsigned = w->dtype == CNN_UINT8,
		.zero = n->op == CNN_OP_INTEGER_CONV_TRANSPOSE ? cnn_node_in(g, n, 3) : NULL,
	};
}

static bool match_conv(const struct cnn_graph *g, const struct cnn_node *n, struct imcc_conv *v,
		       char *reason)
{
	bool transposed = cnn_op_base(n->op) == CNN_OP_CONV_TRANSPOSE;
	struct cnn_window w;
	struct cnn_err err;
	int x;

	if (cnn_node_window(g, n, &w, &err))
		return cnn_reject(reason, "%s", err.text);
	if (w.spatial > 2)
		return cnn_reject(reason, "%s: %d spatial axes, limit of imc 2", n->op_type,
				  w.spatial);
	x = w.spatial - 1;
	v->batch = w.batch;
	v->groups = w.group;
	v->ci = w.in_ch / w.group;
	v->co = w.out_ch / w.group;
	v->y = get_axis(&w, x - 1, transposed);
	v->x = get_axis(&w, x, transposed);
	set_conv_weights(g, n, v, transposed);
	set_maps(v);
	return true;
}

static void set_matrices(struct imcc_conv *v)
{
	struct cnn_planes p = {
		.n = 1, .c = v->x.in, .plane = v->ci, .plane_pitch = v->ci,
		.image_pitch = v->x.in * v->ci, .size = v->size,
	};

	v->ifm = cnn_planes_layout(&p);
	p.plane = p.plane_pitch = v->co;
	p.image_pitch = v->x.in * v->co;
	p.size = IMCC_RESULT_BYTES;
	v->ofm = cnn_planes_layout(&p);
	v->ofm_bytes = p.image_pitch * p.size;
}

/* Rows of the left matrix become columns of a map of one row. */
static bool match_product(const struct cnn_graph *g, const struct cnn_node *n, struct imcc_conv *v,
			  char *reason)
{
	const struct cnn_tensor *a = cnn_node_in(g, n, 0), *b = cnn_node_in(g, n, 1);
	bool gemm = n->op == CNN_OP_GEMM, trans_b = gemm && n->params.gemm.trans_b;

	if (a->rank < 2 || b->rank < 2 || (gemm && n->params.gemm.trans_a))
		return cnn_reject(reason, "%s: a vector or a transposed left matrix", n->op_type);
	v->batch = v->groups = 1;
	v->ci = b->dims[b->rank - (trans_b ? 1 : 2)];
	v->co = b->dims[b->rank - (trans_b ? 2 : 1)];
	if (cnn_tensor_count(b) != v->ci * v->co || a->rank < b->rank)
		return cnn_reject(reason, "%s: matrices of %d and %d dimensions, one matrix of "
				  "weights wanted", n->op_type, a->rank, b->rank);
	v->product = true;
	v->y = (struct imcc_axis){ .in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1 };
	imcc_set_axis(&v->y);
	v->x = v->y;
	v->x.in = v->x.out = cnn_tensor_count(a) / v->ci;
	v->weights = (struct imcc_weights){ .data = b->data, .k = trans_b ? v->ci : 1,
					    .c = trans_b ? 1 : v->co };
	set_matrices(v);
	return true;
}

static int64_t count_addends(int32_t weight)
{
	int64_t count = 0;
	int32_t rest;

	do
		imcc_addend(weight, count++, &rest);
	while (rest);
	return count;
}

/* The core saturates at the limits of int32 where the CPU wraps: no sum may reach them. */
static bool check_sums(struct imcc_conv *v, const struct cnn_node *n, char *reason)
{
	int64_t most = (v->format == CNNACC_IMC_UINT8 ? 255 : 128) + abs(v->x_zero);

	for (int64_t k = 0; k < v->groups * v->co; k++) {
		int64_t sum = 0;

		for (int64_t c = 0; c < v->ci; c++)
			for (int64_t i = 0; i < v->y.kernel * v->x.kernel; i++) {
				int32_t w = imcc_weight(v, k, c, i / v->x.kernel, i % v->x.kernel);

				v->addends = cnn_max(v->addends, count_addends(w));
				sum += most * abs(w);
			}
		if (sum > INT32_MAX)
			return cnn_reject(reason, "%s: sums of output channel %lld up to %lld, "
					  "limit of imc %d", n->op_type, (long long)k,
					  (long long)sum, INT32_MAX);
	}
	return true;
}

/* Planes of a tile along an axis, for each part of its channels. */
static int64_t planes_of(const struct imcc_axis *a)
{
	return cnn_min(a->classes, a->out) * (a->transposed ? 1 : cnn_min(a->phases, a->kernel));
}

/* Those of the taps of a transposed kernel are looked for one by one. */
static int64_t looked_for(const struct imcc_conv *v)
{
	return cnn_max(v->y.transposed ? v->y.phases : 1, v->x.transposed ? v->x.phases : 1);
}

bool imcc_match(const struct imcc_core *core, int node, struct imcc_conv *v, char *reason)
{
	const struct cnn_graph *g = core->base.compile->g;
	const struct cnn_node *n = &g->nodes[node];
	const struct imcc_hw *hw = &core->hw;
	bool product = cnn_op_base(n->op) == CNN_OP_MATMUL_INTEGER || n->op == CNN_OP_MATMUL ||
		       n->op == CNN_OP_GEMM;

	if (hw->bad[0])
		return cnn_reject(reason, "%s: %s", n->op_type, hw->bad);
	if (!is_integer(n) && !is_float(n))
		return imcc_is_for(g, n) ? cnn_refuse_product(g, n, "imc", reason) :
		       cnn_reject(reason, "%s: imc has only convolutions and matrix products",
				  n->op_type);
	if (!(n->op == CNN_OP_INTEGER_CONV_TRANSPOSE ? check_transposed(g, n, reason) :
	      is_integer(n) ? check_integers(g, n, reason) : check_floats(hw, g, n, reason)))
		return false;
	*v = (struct imcc_conv){ .in = n->in[0], .out = n->out[0], .fold = 1 };
	set_type(g, n, v);
	if (!(product ? match_product(g, n, v, reason) : match_conv(g, n, v, reason)))
		return false;
	cut_blocks(hw, v);
	return check_limit(n, "taps of a phase", imcc_most_taps(v), hw->n_max, reason) &&
	       check_limit(n, "planes", planes_of(&v->y) * planes_of(&v->x), IMCC_PLANES_MAX,
			   reason) &&
	       check_limit(n, "stride", looked_for(v), IMCC_PLANES_MAX, reason) &&
	       check_limit(n, "inputs from tap to tap", cnn_max(v->y.step, v->x.step), STEP_MAX,
			   reason) &&
	       check_limit(n, "bytes of results", v->ofm_bytes, BYTES_MAX, reason) &&
	       (v->format == CNNACC_IMC_FP32 || check_sums(v, n, reason));
}
