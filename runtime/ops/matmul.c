// SPDX-License-Identifier: MIT
/* Gemm, MatMul and the block of arithmetic that Conv shares with them. */
#include <stdlib.h>
#include <string.h>

#include "quant.h"

#define ROWS	4

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));

/* ROWS x CNN_PANEL sums in registers; each sum adds its products in the order of k. */
CNN_CLONES
static void block(int64_t k, const float *a, int64_t a_row, int64_t a_col, const float *panel,
		  float *acc)
{
	v8 s[ROWS][2] = { 0 };

	for (int64_t i = 0; i < k; i++) {
		v8 b0 = *(const v8 *)(panel + i * CNN_PANEL);
		v8 b1 = *(const v8 *)(panel + i * CNN_PANEL + 8);

		for (int r = 0; r < ROWS; r++) {
			float x = a[r * a_row + i * a_col];

			s[r][0] += x * b0;
			s[r][1] += x * b1;
		}
	}
	memcpy(acc, s, sizeof(s));
}

CNN_CLONES
static void single(int64_t k, const float *a, int64_t a_col, const float *panel, float *acc)
{
	v8 s[2] = { 0 };

	for (int64_t i = 0; i < k; i++) {
		s[0] += a[i * a_col] * *(const v8 *)(panel + i * CNN_PANEL);
		s[1] += a[i * a_col] * *(const v8 *)(panel + i * CNN_PANEL + 8);
	}
	memcpy(acc, s, sizeof(s));
}

void cnn_gemm_panel(int64_t m, int64_t k, const float *a, int64_t a_row, int64_t a_col,
		    const float *panel, float *acc)
{
	int64_t i = 0;

	for (; i + ROWS <= m; i += ROWS)
		block(k, a + i * a_row, a_row, a_col, panel, acc + i * CNN_PANEL);
	for (; i < m; i++)
		single(k, a + i * a_row, a_col, panel, acc + i * CNN_PANEL);
}

float *cnn_gemm_scratch(int64_t m, int64_t k)
{
	int64_t n = cnn_mul_sat(cnn_add_sat(m, k), CNN_PANEL * sizeof(float));

	return n > CNN_MAX_TENSOR_BYTES ? NULL : malloc(n ? n : 1);
}

static void pack(const struct cnn_gemm *g, int64_t n0, int64_t n, float *panel)
{
	for (int64_t k = 0; k < g->k; k++, panel += CNN_PANEL) {
		const float *b = g->b + k * g->b_row + n0 * g->b_col;

		for (int64_t j = 0; j < n; j++)
			panel[j] = b[j * g->b_col];
		for (int64_t j = n; j < CNN_PANEL; j++)
			panel[j] = 0;
	}
}

static void store(const struct cnn_gemm *g, int64_t n0, int64_t n, const float *acc)
{
	for (int64_t i = 0; i < g->m; i++, acc += CNN_PANEL) {
		float *c = g->c + i * g->c_row + n0;
		const float *c0 = g->c0 ? g->c0 + i * g->c0_row + n0 * g->c0_col : NULL;

		for (int64_t j = 0; j < n; j++) {
			float v = g->alpha == 1 ? acc[j] : g->alpha * acc[j];

			if (c0)
				v += g->beta == 1 ? c0[j * g->c0_col] : g->beta * c0[j * g->c0_col];
			c[j] = v;
		}
	}
}

void cnn_gemm_f32(const struct cnn_gemm *g, float *scratch)
{
	float *acc = scratch, *panel = scratch + g->m * CNN_PANEL;

	for (int64_t n0 = 0; n0 < g->n; n0 += CNN_PANEL) {
		int64_t n = g->n - n0 < CNN_PANEL ? g->n - n0 : CNN_PANEL;

		pack(g, n0, n, panel);
		cnn_gemm_panel(g->m, g->k, g->a, g->a_row, g->a_col, panel, acc);
		store(g, n0, n, acc);
	}
}

void cnn_panel_whole(const struct cnn_whole_panel *p)
{
	for (int64_t i = 0; i < p->m; i++)
		memset(p->acc + i * p->acc_row, 0, p->n * sizeof(*p->acc));
	for (int64_t k = 0; k < p->k; k += CNN_WHOLE_TERMS) {
		int64_t terms = p->k - k < CNN_WHOLE_TERMS ? p->k - k : CNN_WHOLE_TERMS;

		cnn_gemm_panel(p->m, terms, p->a + k * p->a_col, p->a_row, p->a_col,
			       p->panel + k * CNN_PANEL, p->sums);
		for (int64_t i = 0; i < p->m; i++) {
			uint32_t *acc = (uint32_t *)p->acc + i * p->acc_row;

			for (int j = 0; j < p->n; j++)
				acc[j] += (uint32_t)(int32_t)p->sums[i * CNN_PANEL + j];
		}
	}
}

void cnn_gemm_whole(const struct cnn_gemm *g, float *scratch, int32_t *acc)
{
	for (int64_t n0 = 0; n0 < g->n; n0 += CNN_PANEL) {
		struct cnn_whole_panel p = {
			.m = g->m, .k = g->k, .a = g->a, .a_row = g->a_row, .a_col = g->a_col,
			.n = g->n - n0 < CNN_PANEL ? g->n - n0 : CNN_PANEL,
			.panel = scratch + g->m * CNN_PANEL, .sums = scratch,
			.acc = acc + n0, .acc_row = g->n,
		};

		pack(g, n0, p.n, p.panel);
		cnn_panel_whole(&p);
	}
}

int cnn_infer_gemm(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[1], *c0 = cnn_in(c, 2);
	int ta = c->node->params.gemm.trans_a, tb = c->node->params.gemm.trans_b;
	struct cnn_tensor *y = c->out[0];
	int ret = CNN_WANT(c, a, CNN_FLOAT32);

	if (ret)
		return ret;
	if (b->dtype != a->dtype || (c0 && c0->dtype != a->dtype))
		return cnn_op_fail(c, CNN_EINVAL, "inputs of different types");
	if (a->rank != 2 || b->rank != 2 || a->dims[!ta] != b->dims[tb])
		return cnn_op_fail(c, CNN_EINVAL,
				   "A and B are not matrices that can be multiplied");
	y->dtype = a->dtype;
	y->rank = 2;
	y->dims[0] = a->dims[ta];
	y->dims[1] = b->dims[!tb];
	if (c0 && c0->rank > 2)
		return cnn_op_fail(c, CNN_EINVAL, "C has %d dimensions, limit 2", c0->rank);
	for (int i = 0; c0 && i < c0->rank; i++)
		if (c0->dims[i] != 1 && c0->dims[i] != y->dims[2 - c0->rank + i])
			return cnn_op_fail(c, CNN_EINVAL, "C does not broadcast to A * B");
	return CNN_OK;
}

int cnn_compute_gemm(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[1], *c0 = cnn_in(c, 2);
	const struct cnn_gemm_params *p = &c->node->params.gemm;
	bool ta = p->trans_a, tb = p->trans_b;
	const struct cnn_tensor *y = c->out[0];
	struct cnn_gemm g = {
		.m = y->dims[0], .n = y->dims[1], .k = a->dims[!ta],
		.a = a->data, .b = b->data, .c = y->data, .c_row = y->dims[1],
		.a_row = ta ? 1 : a->dims[1], .a_col = ta ? a->dims[1] : 1,
		.b_row = tb ? 1 : b->dims[1], .b_col = tb ? b->dims[1] : 1,
		.alpha = p->alpha, .beta = p->beta,
	};
	float *scratch;

	if (!cnn_tensor_count(y))
		return CNN_OK;
	if (c0 && g.beta != 0) {
		g.c0 = c0->data;
		g.c0_col = c0->rank && c0->dims[c0->rank - 1] != 1;
		g.c0_row = c0->rank == 2 && c0->dims[0] != 1 ? c0->dims[1] : 0;
	}
	scratch = cnn_gemm_scratch(g.m, g.k);
	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	cnn_gemm_f32(&g, scratch);
	free(scratch);
	return CNN_OK;
}

/* Rank of the batch axes that lie before a matrix. */
static int batch_rank(const struct cnn_tensor *t)
{
	return t->rank > 2 ? t->rank - 2 : 0;
}

static int64_t batch_dim(const struct cnn_tensor *t, int i, int rank)
{
	int axis = i - (rank - batch_rank(t));

	return axis < 0 ? 1 : t->dims[axis];
}

int cnn_matmul_shape(const struct cnn_call *c, const struct cnn_tensor *a,
		     const struct cnn_tensor *b)
{
	struct cnn_tensor *y = c->out[0], batches = *b;
	int ret;

	if (!a->rank || !b->rank || a->dims[a->rank - 1] != b->dims[b->rank > 1 ? b->rank - 2 : 0])
		return cnn_op_fail(c, CNN_EINVAL, "inputs are not matrices that can be multiplied");
	cnn_set_shape(y, y->dtype, a);
	y->rank = batch_rank(a);
	batches.rank = batch_rank(b);
	ret = cnn_broadcast(c, y, &batches);
	if (ret)
		return ret;
	if (a->rank > 1)
		y->dims[y->rank++] = a->dims[a->rank - 2];
	if (b->rank > 1)
		y->dims[y->rank++] = b->dims[b->rank - 1];
	return CNN_OK;
}

int cnn_infer_matmul(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[1];
	int ret = CNN_WANT(c, a, CNN_FLOAT32, CNN_FLOAT64, CNN_INT32, CNN_INT64, CNN_UINT32,
			   CNN_UINT64);

	if (ret)
		return ret;
	if (a->dtype != b->dtype)
		return cnn_op_fail(c, CNN_EINVAL, "inputs of different types");
	c->out[0]->dtype = a->dtype;
	return cnn_matmul_shape(c, a, b);
}

#define MATMUL(suffix, type, wide)							\
static void matmul_##suffix(const type *a, const type *b, type *y, int64_t m, int64_t n,	\
			    int64_t k)							\
{											\
	for (int64_t i = 0; i < m; i++, a += k, y += n) {				\
		memset(y, 0, n * sizeof(*y));						\
		for (int64_t l = 0; l < k; l++)						\
			for (int64_t j = 0; j < n; j++)					\
				y[j] = (type)((wide)y[j] + (wide)a[l] * (wide)b[l * n + j]);	\
	}										\
}

MATMUL(f64, double, double)
MATMUL(i32, uint32_t, uint32_t)
MATMUL(i64, uint64_t, uint64_t)

static void matmul_one(enum cnn_dtype t, const void *a, const void *b, void *y, int64_t m,
		       int64_t n, int64_t k, float *scratch)
{
	struct cnn_gemm g = {
		.m = m, .n = n, .k = k, .a = a, .b = b, .c = y, .a_row = k, .a_col = 1,
		.b_row = n, .b_col = 1, .c_row = n, .alpha = 1,
	};

	switch (t) {
	case CNN_FLOAT32:
		cnn_gemm_f32(&g, scratch);
		break;
	case CNN_FLOAT64:
		matmul_f64(a, b, y, m, n, k);
		break;
	case CNN_INT32:
	case CNN_UINT32:
		matmul_i32(a, b, y, m, n, k);
		break;
	default:
		matmul_i64(a, b, y, m, n, k);
		break;
	}
}

int64_t cnn_matmul_at(const struct cnn_tensor *t, const struct cnn_tensor *y, int rank, int64_t i)
{
	int64_t index = 0, scale = 1;

	for (int axis = rank - 1; axis >= 0; axis--) {
		int64_t d = batch_dim(t, axis, rank);

		index += (d == 1 ? 0 : i % y->dims[axis]) * scale;
		scale *= d;
		i /= y->dims[axis];
	}
	return index;
}

struct cnn_products cnn_matmul_products(const struct cnn_tensor *a, const struct cnn_tensor *b,
					const struct cnn_tensor *y)
{
	struct cnn_products p = {
		.rank = batch_rank(a) > batch_rank(b) ? batch_rank(a) : batch_rank(b),
		.m = a->rank > 1 ? a->dims[a->rank - 2] : 1,
		.n = b->rank > 1 ? b->dims[b->rank - 1] : 1,
		.k = a->dims[a->rank - 1],
	};
	int64_t count = cnn_tensor_count(y);

	if (!count)
		return p;
	if (batch_rank(b) == 0) {	/* one B for all: one tall product */
		p.m = count / p.n;
		p.rank = 0;
	}
	p.count = count / (p.m * p.n);
	return p;
}

int cnn_compute_matmul(struct cnn_call *c)
{
	const struct cnn_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
	struct cnn_products p = cnn_matmul_products(a, b, y);
	size_t size = cnn_dtype_size(a->dtype);
	float *scratch;

	if (!p.count)
		return CNN_OK;
	scratch = cnn_gemm_scratch(p.m, p.k);
	if (!scratch)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int64_t i = 0; i < p.count; i++)
		matmul_one(a->dtype,
			   (char *)a->data + cnn_matmul_at(a, y, p.rank, i) * p.m * p.k * size,
			   (char *)b->data + cnn_matmul_at(b, y, p.rank, i) * p.k * p.n * size,
			   (char *)y->data + i * p.m * p.n * size, p.m, p.n, p.k, scratch);
	free(scratch);
	return CNN_OK;
}
