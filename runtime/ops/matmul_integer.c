// SPDX-License-Identifier: MIT
/* MatMulInteger, QLinearMatMul and QGemm. */
#include <stdlib.h>

#include "quant.h"

static int64_t rows_of(const struct cnn_tensor *a)
{
	return a->rank > 1 ? a->dims[a->rank - 2] : 1;
}

static int64_t columns_of(const struct cnn_tensor *b)
{
	return b->rank > 1 ? b->dims[b->rank - 1] : 1;
}

int cnn_infer_matmul_integer(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[1];
	int ret = cnn_quant_bytes(c, 0) ?: cnn_quant_bytes(c, 1) ?: cnn_matmul_shape(c, a, b) ?:
		  cnn_quant_param(c, 2, a->dtype, rows_of(a)) ?:
		  cnn_quant_param(c, 3, b->dtype, columns_of(b));

	c->out[0]->dtype = CNN_INT32;
	return ret;
}

int cnn_infer_qlinear_matmul(struct cnn_call *c)
{
	return cnn_quant_wide_operand(c, 0, 1) ?: cnn_matmul_shape(c, c->in[0], c->in[3]) ?:
	       cnn_quant_wide_operand(c, 3, columns_of(c->in[3])) ?: cnn_quant_wide_result(c, 6) ?:
	       cnn_infer_product(c, NULL, 0);
}

/* Rows of width bytes as whole numbers; the zero point is that of the row or of the column. */
static void make_whole(const struct cnn_tensor *t, int64_t width, const struct cnn_tensor *zero,
		       int64_t rows, float *y)
{
	bool by_column = !rows && zero && cnn_tensor_count(zero) > 1;
	int64_t step = by_column ? 1 : width, n = cnn_tensor_count(t);

	for (int64_t at = 0, i = 0; at < n; at += step, i++)
		cnn_whole(t->dtype, (const char *)t->data + at,
			  cnn_zero_point(zero, i % (by_column ? width : rows ? rows : 1)), y + at,
			  step);
}

/* trans_b: one product, b is rows of k. */
struct operands {
	const struct cnn_tensor *a, *b, *a_zero, *b_zero;
	bool trans_b;
};

static int multiply(const struct cnn_call *c, const struct operands *o, float *a, float *b,
		    int32_t *acc)
{
	const struct cnn_tensor *y = c->out[0];
	struct cnn_products p = o->trans_b ?
		(struct cnn_products){ y->dims[0], y->dims[1], o->a->dims[1], 1, 0 } :
		cnn_matmul_products(o->a, o->b, y);
	float *scratch = cnn_gemm_scratch(p.m, p.k);

	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	make_whole(o->a, p.k, o->a_zero, rows_of(o->a), a);
	make_whole(o->b, o->trans_b ? p.k : p.n, o->b_zero, o->trans_b ? p.n : 0, b);
	for (int64_t i = 0; i < p.count; i++) {
		struct cnn_gemm g = {
			.m = p.m, .n = p.n, .k = p.k, .a_row = p.k, .a_col = 1,
			.b_row = o->trans_b ? 1 : p.n, .b_col = o->trans_b ? p.k : 1,
			.a = a + cnn_matmul_at(o->a, y, p.rank, i) * p.m * p.k,
			.b = b + cnn_matmul_at(o->b, y, p.rank, i) * p.k * p.n,
		};

		cnn_gemm_whole(&g, scratch, acc + i * p.m * p.n);
	}
	free(scratch);
	return CNN_OK;
}

/* The sums of products, as MatMulInteger gives them. */
static int sum_products(const struct cnn_call *c, const struct operands *o, int32_t *acc)
{
	float *a = malloc((cnn_tensor_count(o->a) + 1) * sizeof(*a));
	float *b = malloc((cnn_tensor_count(o->b) + 1) * sizeof(*b));
	int ret = a && b ? multiply(c, o, a, b, acc) :
			   cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");

	free(a);
	free(b);
	return ret;
}

int cnn_matmul_sums(const struct cnn_call *c, int32_t *acc)
{
	struct operands o = { c->in[0], c->in[1], cnn_in(c, 2), cnn_in(c, 3), false };

	return cnn_tensor_count(c->out[0]) ? sum_products(c, &o, acc) : CNN_OK;
}

int cnn_compute_matmul_integer(struct cnn_call *c)
{
	return cnn_matmul_sums(c, c->out[0]->data);
}

/* Adds the bias and requantises rows of n sums; y: the first of the inputs that tell how. */
static int finish(const struct cnn_call *c, int32_t *acc, int64_t n, const struct cnn_tensor *bias,
		  int y)
{
	const struct cnn_tensor *out = c->out[0];
	struct cnn_range range = cnn_range_of(out->dtype, cnn_zero_point(c->in[y + 1], 0));
	int64_t count = cnn_tensor_count(out);
	float *scale = malloc(n * sizeof(*scale));

	if (!scale)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int64_t i = 0; i < n; i++)
		scale[i] = cnn_scale(c->in[1], 0) * cnn_scale(c->in[4], i) / cnn_scale(c->in[y], 0);
	for (int64_t at = 0; at < count; at += n) {
		for (int64_t i = 0; bias && i < n; i++)
			acc[at + i] = (int32_t)((uint32_t)acc[at + i] +
						((const uint32_t *)bias->data)[i]);
		cnn_requantize(&range, scale, 1, acc + at, n, (char *)out->data + at);
	}
	free(scale);
	return CNN_OK;
}

/* Requantised products of inputs 0 and 3; inputs y and y + 1 are the result's quantisation. */
static int compute_quantised(struct cnn_call *c, bool trans_b, const struct cnn_tensor *bias,
			     int y)
{
	struct operands o = { c->in[0], c->in[3], c->in[2], c->in[5], trans_b };
	int64_t count = cnn_tensor_count(c->out[0]);
	int32_t *acc;
	int ret;

	if (!count)
		return CNN_OK;
	if (cnn_is_wide_product(c))
		return cnn_wide_matmul(c, trans_b, bias, y);
	acc = malloc(count * sizeof(*acc));
	ret = acc ? sum_products(c, &o, acc) : cnn_op_fail(c, CNN_ENOMEM, "no memory for sums");
	if (!ret)
		ret = finish(c, acc, trans_b ? o.b->dims[0] : columns_of(o.b), bias, y);
	free(acc);
	return ret;
}

int cnn_compute_qlinear_matmul(struct cnn_call *c)
{
	return compute_quantised(c, false, NULL, 6);
}

int cnn_infer_qgemm(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[3], *bias = cnn_in(c, 6);
	bool tb = c->node->params.gemm.trans_b;
	int ret = cnn_quant_wide_operand(c, 0, 1);

	if (ret)
		return ret;
	if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[tb])
		return cnn_op_fail(c, CNN_EINVAL, "A and B are not matrices to be multiplied");
	ret = cnn_quant_wide_operand(c, 3, b->dims[!tb]) ?: cnn_quant_wide_result(c, 7) ?:
	      cnn_infer_product(c, bias, b->dims[!tb]);
	c->out[0]->rank = 2;
	c->out[0]->dims[0] = a->dims[0];
	c->out[0]->dims[1] = b->dims[!tb];
	return ret;
}

int cnn_compute_qgemm(struct cnn_call *c)
{
	return compute_quantised(c, c->node->params.gemm.trans_b, cnn_in(c, 6), 7);
}
