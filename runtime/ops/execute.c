// SPDX-License-Identifier: MIT
/* One operator on the CPU: its checks, shapes, cost and run. */
#include "ops.h"

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
		return cnn_node_fail(node, err, CNN_EUNSUPPORTED, "%d inputs, limit %d", node->n_in,
				     d->max_in);
	for (int i = 0; i < d->min_in; i++)
		if (i >= node->n_in || !in[i])
			return cnn_node_fail(node, err, CNN_EINVAL, "input %d is missing", i);
	if (node->n_out < 1 || node->n_out > d->max_out || !out[0])
		return cnn_node_fail(node, err, CNN_EINVAL, "%d outputs, limits 1 to %d",
				     node->n_out, d->max_out);
	return CNN_OK;
}

static struct cnn_call make_call(const struct cnn_node *node, const struct cnn_tensor *const *in,
				 struct cnn_tensor **out, struct cnn_err *err)
{
	return (struct cnn_call){
		.node = node, .n_in = node->n_in, .n_out = node->n_out, .in = in, .out = out,
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

int64_t cnn_cpu_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
		     struct cnn_tensor *const *out)
{
	int64_t work = 1, per_output = 1;
	int weights = cnn_weights_input(node->op);
	struct cnn_window w;

	switch (cnn_op_base(node->op)) {
	case CNN_OP_CONV:
	case CNN_OP_CONV_INTEGER:
	case CNN_OP_QLINEAR_CONV:
	case CNN_OP_MAX_POOL:
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
	case CNN_OP_GLOBAL_MAX_POOL:
		if (cnn_window_resolve(node, in[0], weights < 0 ? NULL : in[weights], &w, NULL))
			break;
		per_output = cnn_mul_sat(cnn_window_taps(&w), weights < 0 ? 1 : w.in_ch / w.group);
		break;
	case CNN_OP_EINSUM:
		return cnn_einsum_work(node, in);
	case CNN_OP_GRU:
	case CNN_OP_LSTM:
	case CNN_OP_RNN:
		return cnn_recurrent_work(node, in);
	case CNN_OP_NON_MAX_SUPPRESSION:
		return cnn_nms_work(in, out[0]);
	case CNN_OP_ROI_ALIGN:
		return cnn_roi_align_work(node, in, out[0]);
	case CNN_OP_CONV_TRANSPOSE:	/* each input meets each tap of each output channel */
		if (cnn_window_resolve(node, in[0], in[1], &w, NULL))
			return 1;
		work = cnn_mul_sat(cnn_tensor_count(in[0]), w.out_ch / w.group);
		return cnn_add_sat(cnn_mul_sat(work, cnn_window_taps(&w)),
				   cnn_tensor_count(out[0]));
	case CNN_OP_MAX:
	case CNN_OP_MEAN:
	case CNN_OP_MIN:
	case CNN_OP_SUM:
		per_output = node->n_in;
		break;
	case CNN_OP_LRN:
		per_output = node->params.lrn.size < in[0]->dims[1] ? node->params.lrn.size :
			     in[0]->dims[1];
		break;
	case CNN_OP_QGEMM:
		per_output = in[0]->dims[1];
		break;
	case CNN_OP_GEMM:
		per_output = in[0]->dims[!node->params.gemm.trans_a];
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
		return cnn_node_fail(node, err, CNN_ELIMIT,
				     "output needs %lld bytes, %zu are there",
				     (long long)cnn_tensor_bytes(t), t->capacity);
	return CNN_OK;
}

static void finish_block(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;

	cnn_op_finish(c, (float *)c->out[0]->data + first, n);
}

/* What compute has not finished itself, a block that stays in the cache at a time. */
static int finish(const struct cnn_call *c)
{
	bool act = c->node->act.kind != CNN_ACT_NONE, math = act || cnn_op_desc(c->node->op)->math;
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
		    !cnn_op_reads_shape(node->op))
			ret = cnn_op_fail(&c, CNN_EINVAL, "input %d has no data", i);
	if (ret)
		return ret;
	c.workers = workers;
	ret = cnn_op_desc(node->op)->infer(&c);
	if (ret)
		return ret;
	for (int i = 0; !ret && i < node->n_out; i++)
		if (out[i])
			ret = provide(node, out[i], err);
	if (!ret)
		ret = cnn_op_desc(node->op)->compute(&c);
	return ret ?: finish(&c);
}
