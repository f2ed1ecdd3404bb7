// SPDX-License-Identifier: MIT
/* Merges BatchNormalization, and Mul and Add of constants, into the previous node's constants. */
#include <math.h>
#include <string.h>

#include "merge.h"

int cnn_merge_own_weights(struct cnn_pass *f, struct cnn_node *a, float **data)
{
	struct cnn_value *v = &f->g->values[a->in[1]];
	struct cnn_tensor shape = v->t;
	int ret;

	if (v->n_consumers == 1 && !v->is_output && !v->is_input && v->t.owned) {
		*data = v->t.data;
		return CNN_OK;
	}
	ret = cnn_rewrite_set_const(f->g, a, 1, &shape, "_weights", data, f->err);
	if (!ret)
		memcpy(*data, shape.data, cnn_tensor_bytes(&shape));
	return ret;
}

int cnn_merge_own_bias(struct cnn_pass *f, struct cnn_node *a, int64_t n, float **data)
{
	const struct cnn_tensor *old = cnn_node_in(f->g, a, 2);
	const float *from = old ? old->data : NULL;
	const struct cnn_tensor shape = { .rank = 1, .dims = { n } };
	bool one = old && cnn_tensor_count(old) == 1;
	int ret = cnn_rewrite_set_const(f->g, a, 2, &shape, "_bias", data, f->err);

	for (int64_t i = 0; !ret && from && i < n; i++)
		(*data)[i] = from[one ? 0 : i];
	return ret;
}

static bool is_conv(const struct cnn_node *a)
{
	return a->op == CNN_OP_CONV || a->op == CNN_OP_CONV_TRANSPOSE;
}

/* Is a a product of matrices to whose columns constants can be applied? */
static bool is_open_gemm(const struct cnn_graph *g, const struct cnn_node *a)
{
	const struct cnn_tensor *x = cnn_node_in(g, a, 0), *w = cnn_node_in(g, a, 1);
	const struct cnn_tensor *c = cnn_node_in(g, a, 2), *y = cnn_node_out(g, a, 0);

	if ((a->op != CNN_OP_GEMM && a->op != CNN_OP_MATMUL) || x->rank != 2 || w->rank != 2)
		return false;
	if (!c)
		return true;
	return a->params.gemm.beta == 1 &&
	       (cnn_tensor_count(c) == 1 || (cnn_tensor_count(c) == y->dims[1] &&
					     c->dims[c->rank - 1] == y->dims[1]));
}

/* Can a's constants take in what follows it? */
static bool is_open(const struct cnn_graph *g, const struct cnn_node *a)
{
	const struct cnn_tensor *bias = cnn_node_in(g, a, 2);

	return (is_conv(a) || is_open_gemm(g, a)) && a->act.kind == CNN_ACT_NONE &&
	       cnn_is_const(cnn_node_in(g, a, 1)) && (!bias || cnn_is_const(bias));
}

/* Prepares a for new constants: a bias, and weights (NULL: they stay). */
static int own_constants(struct cnn_pass *f, struct cnn_node *a, int64_t channels, float **w,
			 float **bias)
{
	int ret = a->op == CNN_OP_MATMUL ? cnn_rewrite_rename(a, CNN_OP_GEMM, f->err) : CNN_OK;

	if (a->op == CNN_OP_GEMM)
		a->params.gemm.beta = 1; /* without C it may be anything */
	if (!ret && w)
		ret = cnn_merge_own_weights(f, a, w);
	return ret ?: cnn_merge_own_bias(f, a, channels, bias);
}

/* Multiplies the weights of output channel c of a by factor. */
static void scale_channel(const struct cnn_pass *f, const struct cnn_node *a, float *w, int64_t c,
			  float factor)
{
	const struct cnn_tensor *t = cnn_node_in(f->g, a, 1);
	int64_t from = c, step = 1, n = 1, taps = 1;

	for (int i = 2; i < t->rank; i++)
		taps *= t->dims[i];
	if (a->op == CNN_OP_CONV || (a->op == CNN_OP_GEMM && a->params.gemm.trans_b)) {
		taps *= t->dims[1];
	} else if (a->op == CNN_OP_GEMM) {
		n = t->dims[0];
		step = t->dims[1];
	} else { /* ConvTranspose: a slice of each input channel of the group */
		int64_t group = a->params.window.group;

		step = t->dims[1];
		n = t->dims[0] / group;
		from = c / step * n * step + c % step;
	}
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < taps; j++)
			w[(from + i * step) * taps + j] *= factor;
}

/* A product and BatchNormalization: scales each output channel's weights and bias. */
int cnn_merge_bn(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	const struct cnn_tensor *p[5];
	float *w, *bias, epsilon = b->params.norm.epsilon;
	int64_t channels;
	int ret;

	if (b->op != CNN_OP_BATCH_NORM || !is_open(f->g, a))
		return 0;
	for (int i = 1; i < 5; i++) {
		p[i] = cnn_node_in(f->g, b, i);
		if (!cnn_is_const(p[i]))
			return 0;
	}
	channels = p[1]->dims[0];
	ret = own_constants(f, a, channels, &w, &bias);
	if (ret)
		return ret;
	for (int i = 1; i < 5; i++) /* adding constants may have moved the values */
		p[i] = cnn_node_in(f->g, b, i);
	for (int64_t c = 0; c < channels; c++) {
		float factor = ((float *)p[1]->data)[c] / sqrtf(((float *)p[4]->data)[c] + epsilon);

		scale_channel(f, a, w, c, factor);
		bias[c] = (bias[c] - ((float *)p[3]->data)[c]) * factor + ((float *)p[2]->data)[c];
	}
	return cnn_rewrite_merge(f->g, a, b, a, f->err);
}

const struct cnn_tensor *cnn_merge_operand(const struct cnn_graph *g, const struct cnn_node *a,
					   const struct cnn_node *b, enum cnn_op op)
{
	const struct cnn_tensor *y = cnn_node_out(g, a, 0), *t;

	if (b->op != op || (b->opset < 7 && b->params.binary.axis != CNN_AXIS_NONE))
		return NULL;
	t = cnn_node_in(g, b, b->in[0] == a->out[0]);
	if (!cnn_is_const(t) || y->rank < 0 || !cnn_tensor_same_shape(y, cnn_node_out(g, b, 0)))
		return NULL;
	return t;
}

bool cnn_merge_is_per_channel(const struct cnn_tensor *t, const struct cnn_tensor *y)
{
	for (int i = 0; i < t->rank; i++) {
		int axis = y->rank - t->rank + i;

		if (t->dims[i] != 1 && !(axis == 1 && t->dims[i] == y->dims[1]))
			return false;
	}
	return t->rank <= y->rank;
}

/* A product and the Add of a constant per channel, or the Mul by one. */
static int merge_per_channel(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b,
			     enum cnn_op op)
{
	const struct cnn_tensor *t = cnn_merge_operand(f->g, a, b, op);
	const struct cnn_tensor *y = cnn_node_out(f->g, a, 0);
	int64_t channels, n;
	const float *from;
	float *w, *bias;
	int ret;

	if (!t || !is_open(f->g, a) || !cnn_merge_is_per_channel(t, y))
		return 0;
	channels = y->dims[1];
	n = cnn_tensor_count(t);
	from = t->data;
	ret = own_constants(f, a, channels, op == CNN_OP_MUL ? &w : NULL, &bias);
	if (ret)
		return ret;
	for (int64_t i = 0; i < channels; i++) {
		float v = from[n == 1 ? 0 : i];

		if (op == CNN_OP_MUL)
			scale_channel(f, a, w, i, v);
		bias[i] = op == CNN_OP_MUL ? bias[i] * v : bias[i] + v;
	}
	return cnn_rewrite_merge(f->g, a, b, a, f->err);
}

int cnn_merge_scale(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	return merge_per_channel(f, a, b, CNN_OP_MUL);
}

/* Can cores still run product a with t as C? They need constant B, and C as one row. */
static bool allows_c(const struct cnn_pass *f, const struct cnn_node *a, const struct cnn_tensor *t)
{
	const struct cnn_tensor *y = cnn_node_out(f->g, a, 0);
	int64_t count = cnn_tensor_count(t);

	if (f->what & CNN_FUSE_FOR_CPU)
		return true;
	return !cnn_node_in(f->g, a, 0)->data && cnn_is_const(cnn_node_in(f->g, a, 1)) &&
	       (count == 1 || (count == y->dims[1] && t->dims[t->rank - 1] == count));
}

/* MatMul and Add become Gemm; the addend becomes C of a Gemm without C. */
static int fuse_gemm_bias(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	const struct cnn_tensor *t = cnn_merge_operand(f->g, a, b, CNN_OP_ADD);
	const struct cnn_tensor *x = cnn_node_in(f->g, a, 0), *w = cnn_node_in(f->g, a, 1);
	int ret;

	if (!t || t->rank > 2 || a->act.kind != CNN_ACT_NONE || x->rank != 2 || w->rank != 2)
		return 0;
	if (a->op == CNN_OP_GEMM && (cnn_node_in(f->g, a, 2) || a->params.gemm.beta != 1))
		return 0;
	if (!allows_c(f, a, t))
		return 0;
	ret = cnn_rewrite_set_input(a, 2, b->in[b->in[0] == a->out[0]], f->err);
	if (!ret && a->op == CNN_OP_MATMUL)
		ret = cnn_rewrite_rename(a, CNN_OP_GEMM, f->err);
	return ret ?: cnn_rewrite_merge(f->g, a, b, a, f->err);
}

int cnn_merge_bias(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b)
{
	int ret = 0;

	if (a->op == CNN_OP_MATMUL || a->op == CNN_OP_GEMM)
		ret = fuse_gemm_bias(f, a, b);
	return ret ?: merge_per_channel(f, a, b, CNN_OP_ADD);
}
