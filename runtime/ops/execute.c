// SPDX-License-Identifier: MIT
/* The table of operators and what every call goes through. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

#define MOVE	false
#define MATH	true

static const struct cnn_op_desc table[] = {
#define OP(sym, op_name, inf, comp, least, most, outs, is_math, spec)	\
	[CNN_OP_##sym] = {						\
		.name = op_name,					\
		.infer = cnn_infer_##inf,				\
		.compute = cnn_compute_##comp,				\
		.min_in = least,					\
		.max_in = most,						\
		.max_out = outs,					\
		.math = is_math,					\
		.attrs = spec,						\
	},
#include "ir/ops.def"
#undef OP
};

const struct cnn_op_desc *cnn_op_desc(enum cnn_op op)
{
	return op > CNN_OP_UNKNOWN && op < CNN_OP_COUNT ? &table[op] : NULL;
}

const struct cnn_op_desc *cnn_op_find(const char *domain, const char *op_type, enum cnn_op *op)
{
	bool ours = !strcmp(domain, CNN_DOMAIN);

	*op = CNN_OP_UNKNOWN;
	if (*domain && strcmp(domain, "ai.onnx") && !ours)
		return NULL;
	for (int i = 1; i < CNN_OP_COUNT; i++) {
		if (!strcmp(table[i].name, op_type) && ours == (i == CNN_OP_QUANTIZE_CODES)) {
			*op = i;
			return &table[i];
		}
	}
	return NULL;
}

int cnn_op_fail(const struct cnn_call *c, enum cnn_status code, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cnn_fail(c->err, code, "%s (%.60s): %s", c->node->op_type, c->node->name, text);
}

int cnn_op_want(const struct cnn_call *c, const struct cnn_tensor *t, const enum cnn_dtype *types,
		int n)
{
	for (int i = 0; i < n; i++)
		if (t->dtype == types[i])
			return CNN_OK;
	return cnn_op_fail(c, CNN_EUNSUPPORTED, "type %s", cnn_dtype_name(t->dtype));
}

int cnn_infer_like(struct cnn_call *c, const struct cnn_tensor *t)
{
	struct cnn_tensor *y = c->out[0];

	y->dtype = t->dtype;
	y->rank = t->rank;
	memcpy(y->dims, t->dims, sizeof(y->dims));
	return CNN_OK;
}

int cnn_op_axis(const struct cnn_call *c, int64_t *axis, int limit)
{
	int64_t a = *axis < 0 ? *axis + limit : *axis;

	if (a < 0 || a >= limit)
		return cnn_op_fail(c, CNN_EINVAL, "axis %lld, limits %d to %d", (long long)*axis,
				   -limit, limit - 1);
	*axis = a;
	return CNN_OK;
}

int64_t cnn_int_at(const struct cnn_tensor *t, int64_t i)
{
	return t->dtype == CNN_INT32 ? ((const int32_t *)t->data)[i] :
				       ((const int64_t *)t->data)[i];
}

int cnn_op_ints(const struct cnn_call *c, const char *attr, int i, int64_t *v, int max, int *n)
{
	const struct cnn_tensor *t = cnn_in(c, i);
	const int64_t *ints = cnn_node_ints(c->node, attr, n);
	int64_t count;
	int ret;

	if (!t && !cnn_node_has(c->node, attr)) {
		*n = -1;
		return CNN_OK;
	}
	if (t) {
		ret = CNN_WANT(c, t, CNN_INT64, CNN_INT32);
		if (ret)
			return ret;
	}
	count = t ? cnn_tensor_count(t) : *n;
	if (count > max || (t && t->rank > 1))
		return cnn_op_fail(c, CNN_EINVAL, "%s has %lld entries, limit %d", attr,
				   (long long)count, max);
	if (t && !t->data)
		return CNN_NEED_DATA;
	for (int64_t j = 0; j < count; j++)
		v[j] = t ? cnn_int_at(t, j) : ints[j];
	*n = count;
	return CNN_OK;
}

void cnn_strides(const struct cnn_tensor *t, int64_t *strides)
{
	int64_t s = 1;

	for (int i = t->rank - 1; i >= 0; i--) {
		strides[i] = s;
		s *= t->dims[i];
	}
}

static const struct cnn_op_desc *desc_of(const struct cnn_node *n, struct cnn_err *err)
{
	const struct cnn_op_desc *d = cnn_op_desc(n->op);

	if (!d)
		cnn_fail(err, CNN_EUNSUPPORTED, "operator %.60s%s%.60s (%.60s) is not supported",
			 n->domain, *n->domain ? "." : "", n->op_type, n->name);
	return d;
}

int cnn_cpu_check(const struct cnn_node *node, const struct cnn_tensor *const *in,
		  struct cnn_tensor *const *out, struct cnn_err *err)
{
	const struct cnn_op_desc *d = desc_of(node, err);

	if (!d)
		return CNN_EUNSUPPORTED;
	if (node->n_in > d->max_in)
		return cnn_fail(err, CNN_EUNSUPPORTED, "%s (%.60s): %d inputs, limit %d",
				node->op_type, node->name, node->n_in, d->max_in);
	for (int i = 0; i < d->min_in; i++)
		if (i >= node->n_in || !in[i])
			return cnn_fail(err, CNN_EINVAL, "%s (%.60s): input %d is missing",
					node->op_type, node->name, i);
	if (node->n_out < 1 || node->n_out > d->max_out || !out[0])
		return cnn_fail(err, CNN_EINVAL, "%s (%.60s): %d outputs, limits 1 to %d",
				node->op_type, node->name, node->n_out, d->max_out);
	return cnn_node_check_attrs(node, d->attrs, err);
}

static struct cnn_call make_call(const struct cnn_node *node, const struct cnn_tensor *const *in,
				 struct cnn_tensor **out, struct cnn_err *err)
{
	return (struct cnn_call){
		.node = node,
		.n_in = node->n_in,
		.n_out = node->n_out,
		.in = in,
		.out = out,
		.err = err,
	};
}

int cnn_cpu_infer(const struct cnn_node *node, const struct cnn_tensor *const *in,
		  struct cnn_tensor **out, struct cnn_err *err)
{
	struct cnn_call c = make_call(node, in, out, err);
	const struct cnn_op_desc *d = desc_of(node, err);

	return d ? d->infer(&c) : CNN_EUNSUPPORTED;
}

/* Multiply-adds of a ConvTranspose: each input meets each tap of each output channel. */
static int64_t transpose_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
			      const struct cnn_tensor *y)
{
	int64_t work = cnn_tensor_count(in[0]);
	struct cnn_window w;

	if (cnn_window_resolve(node, in[0], in[1], &w, NULL))
		return 1;
	work = cnn_mul_sat(work, w.out_ch / w.group);
	for (int i = 0; i < w.spatial; i++)
		work = cnn_mul_sat(work, w.kernel[i]);
	return cnn_add_sat(work, cnn_tensor_count(y));
}

int64_t cnn_cpu_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
		     struct cnn_tensor *const *out)
{
	int64_t work = 1, per_output = 1;
	int weights = cnn_weights_input(node->op);
	struct cnn_window w;

	switch (node->op) {
	case CNN_OP_CONV:
	case CNN_OP_CONV_INTEGER:
	case CNN_OP_QLINEAR_CONV:
	case CNN_OP_MAX_POOL:
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
	case CNN_OP_GLOBAL_MAX_POOL:
		if (cnn_window_resolve(node, in[0], weights < 0 ? NULL : in[weights], &w, NULL))
			break;
		for (int i = 0; i < w.spatial; i++)
			per_output = cnn_mul_sat(per_output, w.kernel[i]);
		if (weights >= 0)
			per_output = cnn_mul_sat(per_output, w.in_ch / w.group);
		break;
	case CNN_OP_CONV_TRANSPOSE:
		return transpose_work(node, in, out[0]);
	case CNN_OP_MAX:
	case CNN_OP_MIN:
	case CNN_OP_SUM:
		per_output = node->n_in;
		break;
	case CNN_OP_QGEMM:
		per_output = in[0]->dims[1];
		break;
	case CNN_OP_GEMM:
		per_output = in[0]->dims[!cnn_node_int(node, "transA", 0)];
		break;
	case CNN_OP_MATMUL:
	case CNN_OP_MATMUL_INTEGER:
	case CNN_OP_QLINEAR_MATMUL:
		per_output = in[0]->rank ? in[0]->dims[in[0]->rank - 1] : 1;
		break;
	default:
		break;
	}
	for (int i = 0; i < node->n_out; i++)
		if (out[i])
			work = cnn_add_sat(work, cnn_mul_sat(cnn_tensor_count(out[i]), per_output));
	for (int i = 0; i < node->n_in; i++)
		if (in[i])
			work = cnn_add_sat(work, cnn_tensor_count(in[i]));
	return work;
}

static int provide(const struct cnn_node *node, struct cnn_tensor *t, struct cnn_err *err)
{
	if (!t->data)
		return cnn_tensor_alloc(t, 0, err);
	if (cnn_tensor_bytes(t) < 0 || (uint64_t)cnn_tensor_bytes(t) > t->capacity)
		return cnn_fail(err, CNN_ELIMIT,
				"%s (%.60s): output needs %lld bytes, %zu are there",
				node->op_type, node->name, (long long)cnn_tensor_bytes(t),
				t->capacity);
	return CNN_OK;
}

typedef uint32_t __attribute__((may_alias)) bits;

CNN_CLONES
static bool has_nan(const bits *p, int64_t n)
{
	uint32_t above = 0;

	for (int64_t i = 0; i < n; i++)
		above |= 0x7f800000 - (p[i] & 0x7fffffff);
	return above >> 31;
}

/* Processors differ in the sign and payload of the NaNs they make. */
void cnn_canonical_nans(float *x, int64_t n)
{
	bits *p = (void *)x;

	if (!has_nan(p, n))
		return;
	for (int64_t i = 0; i < n; i++)
		p[i] = (p[i] & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : p[i];
}

void cnn_op_finish(const struct cnn_call *c, float *y, int64_t n)
{
	const struct cnn_act *act = &c->node->act;

	if (act->kind != CNN_ACT_NONE)
		cnn_act_apply(act, y, y, n);
	cnn_canonical_nans(y, n);
}

struct blocks {
	void (*fn)(const void *arg, int64_t first, int64_t n);
	const void *arg;
	int64_t count, block;
};

static void one_block(void *opaque, int part)
{
	const struct blocks *b = opaque;
	int64_t first = part * b->block, left = b->count - first;

	b->fn(b->arg, first, left < b->block ? left : b->block);
}

void cnn_for_blocks(const struct cnn_call *c, int64_t count, int64_t block,
		    void (*fn)(const void *arg, int64_t first, int64_t n), const void *arg)
{
	struct blocks b = { fn, arg, count, block };
	int64_t parts = (count + block - 1) / block;

	if (c->workers && parts > 1 && parts <= INT32_MAX / 2) {
		c->workers->run(c->workers, (int)parts, one_block, &b);
		return;
	}
	for (int64_t i = 0; i < count; i += block)
		fn(arg, i, count - i < block ? count - i : block);
}

static void finish_block(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;

	cnn_op_finish(c, (float *)c->out[0]->data + first, n);
}

/* What compute has not finished itself, a block that stays in the cache at a time. */
static int finish(const struct cnn_call *c)
{
	bool act = c->node->act.kind != CNN_ACT_NONE, math = act || table[c->node->op].math;
	const struct cnn_tensor *y = c->out[0];

	if (act && y->dtype != CNN_FLOAT32)
		return cnn_op_fail(c, CNN_EINVAL, "activation on %s", cnn_dtype_name(y->dtype));
	if (c->finished || !math || y->dtype != CNN_FLOAT32)
		return CNN_OK;
	cnn_for_blocks(c, cnn_tensor_count(y), CNN_BLOCK, finish_block, c);
	return CNN_OK;
}

int cnn_cpu_run(const struct cnn_node *node, const struct cnn_tensor *const *in,
		struct cnn_tensor **out, struct cnn_workers *workers, struct cnn_err *err)
{
	struct cnn_call c = make_call(node, in, out, err);
	int ret = cnn_cpu_check(node, in, out, err);

	for (int i = 0; !ret && i < node->n_in; i++)
		if (in[i] && (cnn_tensor_bytes(in[i]) < 0 || !in[i]->data) &&
		    node->op != CNN_OP_SHAPE)
			ret = cnn_op_fail(&c, CNN_EINVAL, "input %d has no data", i);
	if (ret)
		return ret;
	c.workers = workers;
	ret = table[node->op].infer(&c);
	if (ret)
		return ret;
	for (int i = 0; !ret && i < node->n_out; i++)
		if (out[i])
			ret = provide(node, out[i], err);
	if (!ret)
		ret = table[node->op].compute(&c);
	return ret ? ret : finish(&c);
}
