// SPDX-License-Identifier: MIT
/* What the readers of TensorFlow Lite's operators build graphs with: values, nodes, tensors. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu.h"
#include "tflite.h"

#define OPSET	14	/* operator set of the nodes: the first with allowzero */

/* Keeps the first error as the status; -1. */
static int set_status(struct tfl *m, int ret)
{
	if (!m->status)
		m->status = ret;
	return -1;
}

int tfl_nomem(struct tfl *m)
{
	return tfl_fail(m, NULL, CNN_ENOMEM, "no memory for the network");
}

int tfl_fail(struct tfl *m, const struct tfl_op *op, enum cnn_status code, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	if (m->status)
		return -1;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return set_status(m, cnn_fail(m->err, code, "%s%s%s", op ? op->name : "", op ? ": " : "",
				     text));
}

int tfl_add_value(struct tfl *m, const char *name, struct cnn_tensor *t)
{
	int v = m->status ? -1 : cnn_graph_add_value(m->g, name, t, m->err);

	if (v >= 0)
		return v;
	cnn_tensor_release(t);
	return set_status(m, v);
}

/* data NULL: zeros. */
static int add_constant(struct tfl *m, const char *name, struct cnn_tensor *t, const void *data)
{
	int ret = m->status ? m->status : cnn_tensor_alloc(t, m->g->limits.tensor_bytes, m->err);

	if (ret)
		return set_status(m, ret);
	if (m->g->const_bytes + (int64_t)t->capacity > m->g->limits.total_bytes) {
		cnn_tensor_release(t);
		return tfl_fail(m, NULL, CNN_ELIMIT, "constants take more than %lld bytes",
				(long long)m->g->limits.total_bytes);
	}
	if (t->capacity && data)
		memcpy(t->data, data, t->capacity);
	return tfl_add_value(m, name, t);
}

int tfl_scalar(struct tfl *m, enum cnn_dtype type, const void *v)
{
	struct cnn_tensor t = { .dtype = type };

	return add_constant(m, "constant", &t, v);
}

int tfl_constant(struct tfl *m, enum cnn_dtype type, int count, const void *v)
{
	struct cnn_tensor t = { .dtype = type, .rank = 1, .dims = { count } };

	return add_constant(m, "constant", &t, v);
}

int tfl_list(struct tfl *m, const int64_t *v, int count)
{
	return tfl_constant(m, CNN_INT64, count, v);
}

/* Room for one more; what it holds is zero. */
static struct cnn_node *next_node(struct tfl *m)
{
	struct cnn_graph *g = m->g;
	struct cnn_node *nodes = realloc(g->nodes, sizeof(*nodes) * ((size_t)g->n_nodes + 1));

	if (!nodes)
		return NULL;
	g->nodes = nodes;
	memset(&nodes[g->n_nodes], 0, sizeof(*nodes));
	return &nodes[g->n_nodes++];
}

static int fill_node(struct tfl *m, struct cnn_node *n, const char *name, int n_in, const int *in)
{
	n->op_type = strdup(cnn_op_desc(n->op)->name);
	n->domain = strdup("");
	n->name = strdup(name);
	n->in = malloc(sizeof(*n->in) * (size_t)n_in);
	if (!n->op_type || !n->domain || !n->name || !n->in)
		return tfl_nomem(m);
	memcpy(n->in, in, sizeof(*in) * (size_t)n_in);
	n->n_in = n_in;
	return 0;
}

/* New values, as many as the node is to have outputs. */
static int fill_outputs(struct tfl *m, struct cnn_node *n, int n_out)
{
	n->out = malloc(sizeof(*n->out) * (size_t)n_out);
	if (!n->out)
		return tfl_nomem(m);
	for (n->n_out = 0; n->n_out < n_out; n->n_out++) {
		struct cnn_tensor none = { .rank = -1 };
		int v = tfl_add_value(m, n->name, &none);

		if (v < 0)
			return -1;
		n->out[n->n_out] = v;
	}
	return n->out[0];
}

int tfl_nodes(struct tfl *m, const struct tfl_op *op, enum cnn_op kind, int n_in, const int *in,
	      int n_out)
{
	struct cnn_node *n;
	char name[96];

	if (m->status)
		return -1;
	if (m->g->n_nodes >= CNN_MAX_NODES)
		return tfl_fail(m, NULL, CNN_ELIMIT, "more than %d nodes", CNN_MAX_NODES);
	snprintf(name, sizeof(name), "%s/%s", op->name, cnn_op_desc(kind)->name);
	n = next_node(m);
	if (!n)
		return tfl_nomem(m);
	n->op = kind;
	n->opset = OPSET;
	cnn_params_init(n);
	return fill_node(m, n, name, n_in, in) ? -1 : fill_outputs(m, n, n_out);
}

int tfl_node(struct tfl *m, const struct tfl_op *op, enum cnn_op kind, int n_in, const int *in)
{
	return tfl_nodes(m, op, kind, n_in, in, 1);
}

struct cnn_params *tfl_params(struct tfl *m)
{
	return m->status ? &m->unused : &m->g->nodes[m->g->n_nodes - 1].params;
}

void tfl_permute(struct tfl *m, const int64_t *perm)
{
	struct cnn_ints *p = &tfl_params(m)->transpose.perm;

	p->n = 4;
	memcpy(p->v, perm, 4 * sizeof(*perm));
}

static int constant_value(struct tfl *m, const struct tfl_op *op, const struct tfl_tensor *t)
{
	struct cnn_tensor c = { .dtype = t->dtype, .rank = t->rank };
	int64_t bytes;

	memcpy(c.dims, t->dims, sizeof(c.dims));
	bytes = cnn_tensor_bytes(&c);
	if (bytes < 0 || (uint64_t)bytes != t->data.count)
		return tfl_fail(m, op, CNN_EINVAL, "tensor %.60s has %zu bytes, %lld wanted",
				t->name, t->data.count, (long long)bytes);
	return add_constant(m, t->name, &c, m->fb.data + t->data.at);
}

int tfl_value(struct tfl *m, const struct tfl_op *op, int tensor, enum tfl_layout layout)
{
	static const int64_t perm[TFL_LAYOUTS][4] = { { 0, 2, 3, 1 }, { 0, 3, 1, 2 } };
	struct tfl_tensor *t = &m->tensors[tensor];
	enum tfl_layout other = layout == TFL_FILE ? TFL_NCHW : TFL_FILE;

	if (t->rank != 4) {
		layout = TFL_FILE;
		other = TFL_NCHW;
	}
	if (t->value[TFL_FILE] < 0 && t->value[TFL_NCHW] < 0) {
		if (!t->data.count)
			return tfl_fail(m, op, CNN_EINVAL, "nothing gives tensor %.60s", t->name);
		t->value[TFL_FILE] = constant_value(m, op, t);
	}
	if (t->value[layout] < 0 && !m->status) {
		t->value[layout] = tfl_node(m, op, CNN_OP_TRANSPOSE, 1, &t->value[other]);
		tfl_permute(m, perm[layout]);
	}
	return m->status ? -1 : t->value[layout];
}

void tfl_give_to(struct tfl *m, const struct tfl_op *op, int tensor, enum tfl_layout layout, int v)
{
	struct tfl_tensor *t = &m->tensors[tensor];
	char *name = m->status ? NULL : strdup(t->name);

	if (m->status)
		return;
	if (!name) {
		tfl_nomem(m);
	} else if (t->value[TFL_FILE] >= 0 || t->value[TFL_NCHW] >= 0 || t->data.count) {
		tfl_fail(m, op, CNN_EINVAL, "its output %.60s is given elsewhere too", t->name);
		free(name);
	} else {
		free(m->g->values[v].name);
		m->g->values[v].name = name;
		t->value[t->rank == 4 ? layout : TFL_FILE] = v;
	}
}

void tfl_give(struct tfl *m, const struct tfl_op *op, enum tfl_layout layout, int v)
{
	tfl_give_to(m, op, op->out, layout, v);
}

/* May its scales and zero points be used? Sets the status if not. */
static void check_quantisation(struct tfl *m, const struct tfl_op *op, const struct tfl_tensor *t)
{
	int low = t->dtype == CNN_INT8 ? -128 : 0, high = t->dtype == CNN_INT16 ? 0 : low + 255;
	size_t n = t->scale.count;

	if ((t->dtype != CNN_INT8 && t->dtype != CNN_UINT8 && t->dtype != CNN_INT16) || !n)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "tensor %.60s is %s with %zu scales, quantised "
			 "int8, uint8 or int16 wanted", t->name, cnn_dtype_name(t->dtype), n);
	if ((t->zero.count && t->zero.count != n) ||
	    (n > 1 && (t->axis < 0 || t->axis >= t->rank || (uint64_t)t->dims[t->axis] != n)))
		tfl_fail(m, op, CNN_EINVAL, "tensor %.60s: %zu scales, %zu zero points on axis %d",
			 t->name, n, t->zero.count, t->axis);
	for (size_t i = 0; i < n && !m->status; i++) {
		float s = fb_float_at(&t->scale, i);
		int64_t z = t->zero.count ? fb_int_at(&t->zero, i, 8) : 0;

		if (!isnormal(s) || s < 0 || z < low || z > high)
			tfl_fail(m, op, CNN_EINVAL, "tensor %.60s: scale %g, zero point %lld",
				 t->name, (double)s, (long long)z);
	}
}

/* Its scales and zero points as constants: the zero points have the tensor's type. */
static void make_quantisation(struct tfl *m, struct tfl_tensor *t)
{
	int64_t n = (int64_t)t->scale.count;
	struct cnn_tensor scale = { .dtype = CNN_FLOAT32, .rank = n > 1, .dims = { n } };
	struct cnn_tensor zero = { .dtype = t->dtype, .rank = n > 1, .dims = { n } };
	uint8_t *z;

	t->scale_value = add_constant(m, "scale", &scale, m->fb.data + t->scale.at);
	t->zero_value = add_constant(m, "zero_point", &zero, NULL);
	/* Those of int16 are 0. */
	z = m->status || t->dtype == CNN_INT16 ? NULL : m->g->values[t->zero_value].t.data;
	for (int64_t i = 0; z && i < (int64_t)t->zero.count; i++)
		z[i] = (uint8_t)fb_int_at(&t->zero, (size_t)i, 8);
}

int tfl_scale(struct tfl *m, const struct tfl_op *op, int tensor)
{
	struct tfl_tensor *t = &m->tensors[tensor];

	if (t->scale_value < 0)
		check_quantisation(m, op, t);
	if (t->scale_value < 0 && !m->status)
		make_quantisation(m, t);
	return m->status ? -1 : t->scale_value;
}

int tfl_zero(struct tfl *m, const struct tfl_op *op, int tensor)
{
	tfl_scale(m, op, tensor);
	return m->status ? -1 : m->tensors[tensor].zero_value;
}
