// SPDX-License-Identifier: MIT
/* One operator on the CPU: its checks, shapes, cost and run. */
#include "half.h"

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

static int infer_wide(const struct cnn_call *c, bool all)
{
	struct cnn_wide w;
	int ret = cnn_widen(c, all, &w);

	if (!ret)
		ret = cnn_op_desc(c->node->op)->infer(&w.call);
	if (!ret)
		cnn_narrow_shapes(c, &w);
	cnn_wide_release(&w);
	return ret;
}

/* Few shapes follow from large inputs, so that these are widened only for those. */
static int infer_halves(const struct cnn_call *c)
{
	int ret = infer_wide(c, false);

	return ret == CNN_NEED_DATA ? infer_wide(c, true) : ret;
}

int cnn_cpu_infer(const struct cnn_node *node, const struct cnn_tensor *const *in,
		  struct cnn_tensor **out, struct cnn_err *err)
{
	struct cnn_call c = make_call(node, in, out, err);
	const struct cnn_op_desc *d = desc_of(node, err);
	int ret = d && !node->wide ? d->infer(&c) : CNN_EUNSUPPORTED;

	return ret == CNN_EUNSUPPORTED && d && cnn_takes_halves(&c) ? infer_halves(&c) : ret;
}

/* Multiply-adds of a ConvTranspose: each input meets each tap of each output channel. */
static int64_t transpose_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
			      const struct cnn_tensor *y)
{
	int64_t work = cnn_tensor_count(in[0]);
	struct cnn_window w;

	if (cnn_window_resolve(node, in[0], in[cnn_weights_input(node->op)], &w, NULL))
		return 1;
	work = cnn_mul_sat(work, w.out_ch / w.group);
	return cnn_add_sat(cnn_mul_sat(work, cnn_window_taps(&w)), cnn_tensor_count(y));
}

/* Channels that an LRN adds up for each element. */
static int64_t lrn_window(const struct cnn_node *node, const struct cnn_tensor *x)
{
	int64_t size = node->params.lrn.size;

	return size < x->dims[1] ? size : x->dims[1];
}

/* Taps of a convolution or pool: products or elements that each output takes. */
static int64_t window_taps(const struct cnn_node *node, const struct cnn_tensor *const *in)
{
	int weights = cnn_weights_input(node->op);
	struct cnn_window w;

	if (cnn_window_resolve(node, in[0], weights < 0 ? NULL : in[weights], &w, NULL))
		return 1;
	return cnn_mul_sat(cnn_window_taps(&w), weights < 0 ? 1 : w.in_ch / w.group);
}

static int64_t longest_axis(const struct cnn_tensor *x)
{
	int64_t most = 1;

	for (int i = 0; i < x->rank; i++)
		most = x->dims[i] > most ? x->dims[i] : most;
	return most;
}

/* Elements of a signal that each output of an STFT takes. */
static int64_t frame_length(const struct cnn_node *node, const struct cnn_tensor *const *in)
{
	const struct cnn_tensor *window = node->n_in > 2 ? in[2] : NULL;
	const struct cnn_tensor *length = node->n_in > 3 ? in[3] : NULL;
	int64_t n = window ? cnn_tensor_count(window) :
		    length && length->data && cnn_tensor_count(length) == 1 ?
		    cnn_int_at(length, 0) : 0;

	return n > 0 ? n : longest_axis(in[0]);
}

/* What each element of the outputs takes. */
static int64_t work_per_output(const struct cnn_node *node, const struct cnn_tensor *const *in)
{
	switch (cnn_op_base(node->op)) {
	case CNN_OP_CONV:
	case CNN_OP_CONV_INTEGER:
	case CNN_OP_QLINEAR_CONV:
	case CNN_OP_MAX_POOL:
	case CNN_OP_AVERAGE_POOL:
	case CNN_OP_GLOBAL_AVERAGE_POOL:
	case CNN_OP_GLOBAL_MAX_POOL:
	case CNN_OP_LP_POOL:
	case CNN_OP_GLOBAL_LP_POOL:
		return window_taps(node, in);
	case CNN_OP_MAX:
	case CNN_OP_MEAN:
	case CNN_OP_MIN:
	case CNN_OP_SUM:
		return node->n_in;
	case CNN_OP_DFT:
		return longest_axis(in[0]);
	case CNN_OP_STFT:
		return frame_length(node, in);
	case CNN_OP_LRN:
		return lrn_window(node, in[0]);
	case CNN_OP_QGEMM:
		return in[0]->dims[1];
	case CNN_OP_GEMM:
		return in[0]->dims[!node->params.gemm.trans_a];
	case CNN_OP_MATMUL:
	case CNN_OP_MATMUL_INTEGER:
	case CNN_OP_QLINEAR_MATMUL:
		return in[0]->rank ? in[0]->dims[in[0]->rank - 1] : 1;
	default:
		return 1;
	}
}

int64_t cnn_cpu_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
		     struct cnn_tensor *const *out)
{
	int64_t work = 1, per_output;

	switch (cnn_op_base(node->op)) {
	case CNN_OP_DET:	/* elimination goes over a matrix once for each row */
		return cnn_mul_sat(cnn_tensor_count(in[0]), in[0]->dims[in[0]->rank - 1]);
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
	case CNN_OP_QLINEAR_CONV_TRANSPOSE:
		return transpose_work(node, in, out[0]);
	default:
		break;
	}
	per_output = work_per_output(node, in);
	for (int i = 0; i < node->n_out; i++)
		if (out[i])
			work = cnn_add_sat(work, cnn_mul_sat(cnn_tensor_count(out[i]), per_output));
	for (int i = 0; i < node->n_in; i++)
		if (in[i])
			work = cnn_add_sat(work, cnn_tensor_count(in[i]));
	return work;
}

static int provide(const struct cnn_call *c)
{
	for (int i = 0; i < c->n_out; i++) {
		struct cnn_tensor *t = c->out[i];
		int ret = CNN_OK;

		if (t && !t->data)
			ret = cnn_tensor_alloc(t, 0, c->err);
		else if (t && (cnn_tensor_bytes(t) < 0 ||
			       (uint64_t)cnn_tensor_bytes(t) > t->capacity))
			ret = cnn_op_fail(c, CNN_ELIMIT, "output needs %lld bytes, %zu are there",
					  (long long)cnn_tensor_bytes(t), t->capacity);
		if (ret)
			return ret;
	}
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

/* Computes the outputs, which have their shapes and memory. */
static int compute(struct cnn_call *c)
{
	return cnn_op_desc(c->node->op)->compute(c) ?: finish(c);
}

static int run_halves(struct cnn_call *c)
{
	struct cnn_wide w;
	int ret = cnn_widen(c, true, &w);

	if (!ret)
		ret = cnn_op_desc(c->node->op)->infer(&w.call);
	if (!ret) {
		cnn_narrow_shapes(c, &w);
		ret = provide(c);
	}
	if (!ret)
		ret = cnn_wide_provide(c, &w);
	if (!ret)
		ret = compute(&w.call);
	if (!ret)
		cnn_narrow(c, &w);
	cnn_wide_release(&w);
	return ret;
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
	ret = node->wide ? CNN_EUNSUPPORTED : cnn_op_desc(node->op)->infer(&c);
	if (ret == CNN_EUNSUPPORTED && cnn_takes_halves(&c))
		return run_halves(&c);
	if (!ret)
		ret = provide(&c);
	return ret ?: compute(&c);
}
