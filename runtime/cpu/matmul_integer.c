// SPDX-License-Identifier: MIT
/* MatMulInteger and QLinearMatMul. */
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
	int ret = cnn_quant_bytes(c, 0);

	if (!ret)
		ret = cnn_quant_bytes(c, 1);
	if (!ret)
		ret = cnn_matmul_shape(c, a, b);
	if (!ret)
		ret = cnn_quant_param(c, 2, a->dtype, rows_of(a));
	if (!ret)
		ret = cnn_quant_param(c, 3, b->dtype, columns_of(b));
	c->out[0]->dtype = CNN_INT32;
	return ret;
}

int cnn_infer_qlinear_matmul(struct cnn_call *c)
{
	int ret = cnn_quant_operand(c, 0, 1);

	if (!ret)
		ret = cnn_matmul_shape(c, c->in[0], c->in[3]);
	if (!ret)
		ret = cnn_quant_operand(c, 3, columns_of(c->in[3]));
	return ret ? ret : cnn_quant_result(c, 6);
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

struct operands {
	const struct cnn_tensor *a, *b, *a_zero, *b_zero;
};

static int multiply(const struct cnn_call *c, const struct operands *o, float *a, float *b,
		    int32_t *acc)
{
	const struct cnn_tensor *y = c->out[0];
	struct cnn_products p = cnn_matmul_products(o->a, o->b, y);
	float *scratch = cnn_gemm_scratch(p.m, p.k);

	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	make_whole(o->a, p.k, o->a_zero, rows_of(o->a), a);
	make_whole(o->b, p.n, o->b_zero, 0, b);
	for (int64_t i = 0; i < p.count; i++) {
		struct cnn_gemm g = {
			.m = p.m, .n = p.n, .k = p.k, .a_row = p.k, .a_col = 1, .b_row = p.n,
			.b_col = 1, .a = a + cnn_matmul_at(o->a, y, p.rank, i) * p.m * p.k,
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

int cnn_compute_matmul_integer(struct cnn_call *c)
{
	struct operands o = { c->in[0], c->in[1], cnn_in(c, 2), cnn_in(c, 3) };

	if (!cnn_tensor_count(c->out[0]))
		return CNN_OK;
	return sum_products(c, &o, c->out[0]->data);
}

/* Requantises rows of n sums; scale: room for n numbers. */
static void finish(const struct cnn_call *c, const int32_t *acc, int64_t n, float *scale)
{
	const struct cnn_tensor *y = c->out[0];
	struct cnn_range range = cnn_range_of(y->dtype, cnn_zero_point(c->in[7], 0));
	int64_t count = cnn_tensor_count(y);

	for (int64_t i = 0; i < n; i++)
		scale[i] = cnn_scale(c->in[1], 0) * cnn_scale(c->in[4], i) /
			   cnn_scale(c->in[6], 0);
	for (int64_t at = 0; at < count; at += n)
		cnn_requantize(&range, scale, 1, acc + at, n, (char *)y->data + at);
}

int cnn_compute_qlinear_matmul(struct cnn_call *c)
{
	struct operands o = { c->in[0], c->in[3], c->in[2], c->in[5] };
	int64_t n = columns_of(o.b), count = cnn_tensor_count(c->out[0]);
	int32_t *acc;
	float *scale;
	int ret;

	if (!count)
		return CNN_OK;
	acc = malloc(count * sizeof(*acc));
	scale = malloc(n * sizeof(*scale));
	ret = acc && scale ? sum_products(c, &o, acc) :
			     cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums",
					 (long long)count);
	if (!ret)
		finish(c, acc, n, scale);
	free(acc);
	free(scale);
	return ret;
}
