// SPDX-License-Identifier: MIT
/* A quantised product: its shape, weights, zero points and scales. */
#include <string.h>

#include "ops/quant.h"
#include "qproduct.h"

#define PADDING_MAX ((int64_t)1 << 24) /* bytes that a Pad may add */

static const struct cnn_qproduct_form forms[] = {
	{ CNN_OP_CONV_INTEGER, 2, 1, 3, -1, -1, false },
	{ CNN_OP_MATMUL_INTEGER, 2, 1, 3, -1, -1, false },
	{ CNN_OP_QLINEAR_CONV, 2, 3, 5, 8, 6, false },
	{ CNN_OP_QLINEAR_MATMUL, 2, 3, 5, -1, 6, false },
	{ CNN_OP_QGEMM, 2, 3, 5, 6, 7, false },
	{ CNN_OP_QLINEAR_CONV_TRANSPOSE, 2, 3, 5, 8, 6, true },
	{ CNN_OP_INTEGER_CONV, 2, 1, 3, -1, -1, true },
	{ CNN_OP_INTEGER_MATMUL, 2, 1, 3, -1, -1, true },
	{ CNN_OP_INTEGER_CONV_TRANSPOSE, 2, 1, 3, -1, -1, true },
};

const struct cnn_qproduct_form *cnn_qproduct_form(enum cnn_op op)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].op == op)
			return &forms[i];
	return NULL;
}

bool cnn_is_unsplit(const struct cnn_node *n)
{
	return n->op == CNN_OP_QLINEAR_CONV || n->op == CNN_OP_QLINEAR_MATMUL ||
	       n->op == CNN_OP_QGEMM;
}

const struct cnn_tensor *cnn_qproduct_input(const struct cnn_qproduct *p, int i)
{
	return i < 0 ? NULL : cnn_node_in(p->g, &p->g->nodes[p->node], i);
}

static bool is_known(const struct cnn_qproduct *p, int i)
{
	const struct cnn_tensor *t = cnn_qproduct_input(p, i);

	return !t || t->data;
}

static int shift_of(const struct cnn_qproduct *p)
{
	return cnn_qproduct_input(p, p->form.w)->dtype == CNN_UINT8 ? 128 : 0;
}

int32_t cnn_qproduct_weight_zero(const struct cnn_qproduct *p, int64_t k)
{
	return cnn_zero_point(cnn_qproduct_input(p, p->form.w_zero), k) - shift_of(p);
}

int cnn_qproduct_weight(const struct cnn_qproduct *p, int64_t k, int64_t tap)
{
	const struct cnn_tensor *w = cnn_qproduct_input(p, p->form.w);
	int64_t i = p->conv || p->trans_b ? k * p->taps + tap : tap * p->channels + k;

	return w->dtype == CNN_UINT8 ? ((const uint8_t *)w->data)[i] - 128 :
				       ((const int8_t *)w->data)[i];
}

struct cnn_tensor cnn_qproduct_padded(const struct cnn_qproduct *p)
{
	const struct cnn_tensor *x = cnn_qproduct_input(p, 0);
	struct cnn_tensor t = { .dtype = x->dtype, .rank = x->rank };

	memcpy(t.dims, x->dims, sizeof(t.dims));
	for (int i = 0; i < p->win.spatial; i++)
		t.dims[i + 2] += p->win.pad_begin[i] + p->win.pad_end[i];
	return t;
}

static bool get_sizes(struct cnn_qproduct *p, const struct cnn_node *n)
{
	const struct cnn_tensor *x = cnn_qproduct_input(p, 0),
				*w = cnn_qproduct_input(p, p->form.w);
	struct cnn_tensor t;

	if (p->conv) {
		if (cnn_node_window(p->g, n, &p->win, NULL))
			return false;
		t = cnn_qproduct_padded(p);
		if (p->late && (cnn_tensor_count(&t) < 0 ||
				cnn_tensor_count(&t) - cnn_tensor_count(x) > PADDING_MAX))
			return false;
		p->groups = p->win.group;
		p->channels = p->win.out_ch;
		p->taps = cnn_tensor_count(w) / p->win.out_ch;
		return true;
	}
	if (w->rank < 2 || x->rank < w->rank)
		return false;
	p->trans_b = n->op == CNN_OP_QGEMM && n->params.gemm.trans_b;
	p->groups = 1;
	p->channels = w->dims[w->rank - 1 - p->trans_b];
	p->taps = w->dims[w->rank - 2 + p->trans_b];
	return p->channels * p->taps == cnn_tensor_count(w); /* one matrix for all of x */
}

bool cnn_qproduct_get(struct cnn_qproduct *p)
{
	const struct cnn_node *n = &p->g->nodes[p->node];
	const struct cnn_qproduct_form *f = cnn_qproduct_form(n->op);

	if (!f || f->keeps_zeros || n->act.kind != CNN_ACT_NONE)
		return false;
	p->form = *f;
	p->conv = n->op == CNN_OP_CONV_INTEGER || n->op == CNN_OP_QLINEAR_CONV;
	p->late = !is_known(p, f->x_zero);
	if (!cnn_qproduct_input(p, f->w)->data || !is_known(p, f->w_zero) ||
	    !is_known(p, f->bias) || cnn_node_out(p->g, n, 0)->rank < 1)
		return false;
	if (cnn_dtype_size(cnn_qproduct_input(p, 0)->dtype) > 1 ||
	    cnn_dtype_size(cnn_qproduct_input(p, f->w)->dtype) > 1 ||
	    (f->y_scale >= 0 && cnn_dtype_size(cnn_node_out(p->g, n, 0)->dtype) > 1))
		return false;
	if (f->y_scale >= 0 && (!is_known(p, 1) || !is_known(p, f->w + 1) ||
				!is_known(p, f->y_scale) || !is_known(p, f->y_scale + 1)))
		return false;
	if (cnn_qproduct_input(p, f->x_zero) &&
	    cnn_tensor_count(cnn_qproduct_input(p, f->x_zero)) != 1)
		return false;
	if (cnn_tensor_count(cnn_node_out(p->g, n, 0)) < 1 || !get_sizes(p, n) || p->taps < 1)
		return false;
	p->x_zero = p->late ? 0 : cnn_zero_point(cnn_qproduct_input(p, f->x_zero), 0);
	for (int64_t k = 0; k < p->channels; k++)
		p->by_inputs |= cnn_qproduct_weight_zero(p, k) != 0;
	/* False if nothing would change. */
	return f->y_scale >= 0 || p->late || p->x_zero || p->by_inputs || shift_of(p);
}

int32_t cnn_qproduct_zero_factor(const struct cnn_qproduct *p, int64_t k)
{
	uint32_t sum = 0;

	for (int64_t tap = 0; tap < p->taps; tap++)
		sum += (uint32_t)cnn_qproduct_weight(p, k, tap);
	return (int32_t)(sum - (uint32_t)p->taps * (uint32_t)cnn_qproduct_weight_zero(p, k));
}

int32_t cnn_qproduct_term(const struct cnn_qproduct *p, int64_t k)
{
	const struct cnn_tensor *bias = cnn_qproduct_input(p, p->form.bias);
	uint32_t sum = bias ? ((const uint32_t *)bias->data)[k] : 0;

	if (p->x_zero)
		sum -= (uint32_t)p->x_zero * (uint32_t)cnn_qproduct_zero_factor(p, k);
	return (int32_t)sum;
}

float cnn_qproduct_scale(const struct cnn_qproduct *p, int64_t k)
{
	return cnn_scale(cnn_qproduct_input(p, 1), 0) *
	       cnn_scale(cnn_qproduct_input(p, p->form.w + 1), k) /
	       cnn_scale(cnn_qproduct_input(p, p->form.y_scale), 0);
}
