// SPDX-License-Identifier: MIT
#include "half.h"

#include <stdlib.h>
#include <string.h>

/* Inputs such as those of Range: more elements give no shape. */
#define SHAPE_ELEMENTS	64

bool cnn_takes_halves(const struct cnn_call *c)
{
	const struct cnn_tensor *t = cnn_in(c, c->node->op == CNN_OP_DEQUANTIZE_LINEAR);

	return c->node->wide || (t && t->dtype == CNN_FLOAT16);
}

static int widen_input(const struct cnn_call *c, const struct cnn_tensor *half, bool all,
		       struct cnn_tensor *t)
{
	int64_t count = cnn_tensor_count(half);
	int ret;

	*t = *half;
	t->dtype = CNN_FLOAT32;
	t->data = NULL;
	t->owned = false;
	if (!half->data || (!all && count > SHAPE_ELEMENTS))
		return CNN_OK;
	ret = cnn_tensor_alloc(t, 0, c->err);
	if (!ret)
		cnn_cast(CNN_FLOAT16, half->data, CNN_FLOAT32, t->data, count);
	return ret;
}

int cnn_widen(const struct cnn_call *c, bool all, struct cnn_wide *w)
{
	int ret = CNN_OK;

	*w = (struct cnn_wide){ .call = *c };
	w->in = calloc((size_t)c->n_in + 1, sizeof(*w->in));
	w->out = calloc((size_t)c->n_out + 1, sizeof(*w->out));
	w->tensors = calloc((size_t)(c->n_in + c->n_out) + 1, sizeof(*w->tensors));
	if (!w->in || !w->out || !w->tensors)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	for (int i = 0; i < c->n_in && !ret; i++) {
		w->in[i] = c->in[i];
		if (!c->in[i] || c->in[i]->dtype != CNN_FLOAT16)
			continue;
		ret = widen_input(c, c->in[i], all, &w->tensors[i]);
		w->in[i] = &w->tensors[i];
	}
	for (int i = 0; i < c->n_out; i++)
		w->out[i] = c->out[i] ? &w->tensors[c->n_in + i] : NULL;
	w->call.in = w->in;
	w->call.out = w->out;
	return ret;
}

/* LayerNormalization gives means in the type in which it computes. */
static bool is_narrowed(const struct cnn_call *c, const struct cnn_wide *w, int i)
{
	return w->out[i]->dtype == CNN_FLOAT32 && (i == 0 || c->node->op != CNN_OP_LAYER_NORM);
}

void cnn_narrow_shapes(const struct cnn_call *c, const struct cnn_wide *w)
{
	for (int i = 0; i < c->n_out; i++) {
		if (!c->out[i])
			continue;
		c->out[i]->dtype = is_narrowed(c, w, i) ? CNN_FLOAT16 : w->out[i]->dtype;
		c->out[i]->rank = w->out[i]->rank;
		memcpy(c->out[i]->dims, w->out[i]->dims, sizeof(c->out[i]->dims));
	}
}

int cnn_wide_provide(const struct cnn_call *c, struct cnn_wide *w)
{
	int ret = CNN_OK;

	for (int i = 0; i < c->n_out && !ret; i++) {
		if (!c->out[i])
			continue;
		if (is_narrowed(c, w, i))
			ret = cnn_tensor_alloc(w->out[i], 0, c->err);
		else
			w->out[i]->data = c->out[i]->data;
	}
	return ret;
}

void cnn_narrow(const struct cnn_call *c, const struct cnn_wide *w)
{
	cnn_narrow_shapes(c, w);
	for (int i = 0; i < c->n_out; i++)
		if (c->out[i] && is_narrowed(c, w, i))
			cnn_cast(CNN_FLOAT32, w->out[i]->data, CNN_FLOAT16, c->out[i]->data,
				 cnn_tensor_count(c->out[i]));
}

void cnn_wide_release(struct cnn_wide *w)
{
	for (int i = 0; w->tensors && i < w->call.n_in + w->call.n_out; i++)
		cnn_tensor_release(&w->tensors[i]);
	free(w->tensors);
	free(w->in);
	free(w->out);
}
