// SPDX-License-Identifier: MIT
/* Shape inference and constant folding. */
#include "expand.h"
#include "ops/cpu.h"
#include "passes.h"

struct inference {
	struct cnn_graph *g;
	struct cnn_err *err;
	int64_t work_left;
	int expansions;
	bool unlinked;		/* nodes have moved since the graph was linked */
	const struct cnn_tensor *in[CNN_MAX_INPUTS];	/* of the current node */
	struct cnn_tensor *out[CNN_MAX_INPUTS];
};

static int check_inputs(const struct cnn_graph *g, struct cnn_err *err)
{
	char shape[128];

	for (int i = 0; i < g->n_inputs; i++) {
		const struct cnn_value *v = &g->values[g->inputs[i]];

		if (cnn_tensor_count(&v->t) < 0)
			return cnn_fail(err, CNN_EINVAL, "input %.60s: a dimension of %s is "
					"dynamic or out of range: set its shape", v->name,
					cnn_tensor_describe(&v->t, shape, sizeof(shape)));
	}
	return CNN_OK;
}

/* Points in and out at the node's tensors. Are the shapes, and the data, of all inputs known? */
static void gather(struct inference *inf, const struct cnn_node *n, bool *shapes, bool *data)
{
	*shapes = true;
	*data = true;
	for (int i = 0; i < n->n_in; i++) {
		inf->in[i] = cnn_node_in(inf->g, n, i);
		if (inf->in[i] && inf->in[i]->rank < 0)
			*shapes = false;
		if (inf->in[i] && !inf->in[i]->data)
			*data = false;
	}
	for (int i = 0; i < n->n_out; i++)
		inf->out[i] = cnn_node_out(inf->g, n, i);
}

static int check_size(struct inference *inf, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_out; i++) {
		char shape[128];
		int64_t bytes = inf->out[i] ? cnn_tensor_bytes(inf->out[i]) : 0;

		if (bytes < 0 || bytes > inf->g->limits.tensor_bytes)
			return cnn_node_fail(n, inf->err, CNN_ELIMIT,
					     "its output %s is over the limit of %lld bytes",
					     cnn_tensor_describe(inf->out[i], shape, sizeof(shape)),
					     (long long)inf->g->limits.tensor_bytes);
	}
	return CNN_OK;
}

static int fold_budget(struct inference *inf, const struct cnn_node *n)
{
	struct cnn_graph *g = inf->g;

	inf->work_left -= cnn_cpu_work(n, inf->in, inf->out);
	if (inf->work_left < 0)
		return cnn_node_fail(n, inf->err, CNN_ELIMIT, "folding constants takes more than "
				     "%lld multiply-adds or elements",
				     (long long)g->limits.fold_work);
	for (int i = 0; i < n->n_out; i++)
		if (inf->out[i])
			g->const_bytes += cnn_tensor_bytes(inf->out[i]);
	if (g->const_bytes > g->limits.total_bytes)
		return cnn_node_fail(n, inf->err, CNN_ELIMIT, "constants take more than %lld bytes",
				     (long long)g->limits.total_bytes);
	return CNN_OK;
}

/* Computes the node's outputs, which become constants, and removes it. */
static int fold(struct inference *inf, struct cnn_node *n)
{
	int ret = fold_budget(inf, n) ?: cnn_cpu_run(n, inf->in, inf->out, NULL, inf->err);

	if (!ret)
		cnn_node_free(n);
	return ret;
}

/* Is it a DequantizeLinear of weights or a bias, which the pass fuse_qdq may need unfolded? */
static bool is_for_fuse_qdq(struct inference *inf, const struct cnn_node *n)
{
	struct cnn_graph *g = inf->g;
	const struct cnn_value *v = &g->values[n->out[0]];

	if (n->op != CNN_OP_DEQUANTIZE_LINEAR)
		return false;
	/* Expansion keeps the order, so that linking moves no node. */
	if (inf->unlinked && cnn_graph_link(g, NULL))
		return false;
	inf->unlinked = false;

	for (int i = 0; i < v->n_consumers; i++) {
		enum cnn_op op = g->nodes[v->consumers[i]].op;

		if (op != CNN_OP_CONV && op != CNN_OP_MATMUL && op != CNN_OP_GEMM)
			return false;
	}
	return v->n_consumers && !v->is_output;
}

static int infer_node(struct inference *inf, struct cnn_node *n)
{
	bool shapes, data;
	int ret;

	if (n->refused)
		return cnn_fail(inf->err, n->refused->code, "%s", n->refused->text);
	gather(inf, n, &shapes, &data);
	ret = cnn_cpu_check(n, inf->in, inf->out, inf->err);
	if (ret || !shapes)
		return ret;
	ret = cnn_cpu_infer(n, inf->in, inf->out, inf->err);
	if (ret == CNN_NEED_DATA) {
		for (int i = 0; i < n->n_out; i++)
			if (inf->out[i])
				inf->out[i]->rank = -1;
		return CNN_OK;
	}
	ret = ret ?: check_size(inf, n);
	if (!ret && ((data && !is_for_fuse_qdq(inf, n)) || cnn_op_reads_shape(n->op)))
		ret = fold(inf, n);
	return ret;
}

void cnn_graph_drop_constants(struct cnn_graph *g)
{
	for (int i = 0; i < g->n_values; i++) {
		struct cnn_value *v = &g->values[i];

		if (!v->t.data || v->n_consumers || v->is_output || v->is_input)
			continue;
		g->const_bytes -= v->t.capacity;
		cnn_tensor_release(&v->t);
	}
}

/* Bodies that may be expanded. */
#define MAX_EXPANSIONS	4096

static int expand(struct inference *inf, int at)
{
	const struct cnn_node *n = &inf->g->nodes[at];

	if (n->refused)
		return cnn_fail(inf->err, n->refused->code, "%s", n->refused->text);
	if (inf->expansions++ == MAX_EXPANSIONS)
		return cnn_node_fail(n, inf->err, CNN_ELIMIT, "more than %d branches and "
				     "iterations", MAX_EXPANSIONS);
	inf->unlinked = true;
	return cnn_expand_control(inf->g, at, inf->err);
}

static int infer_all(struct inference *inf)
{
	struct cnn_graph *g = inf->g;
	int ret = cnn_graph_prune(g, inf->err) ?: cnn_check_known_ops(g, inf->err);

	for (int i = 0; !ret && i < g->n_nodes; i++) {
		if (cnn_is_control(&g->nodes[i]))
			ret = expand(inf, i--);
		else if (g->nodes[i].op_type)
			ret = infer_node(inf, &g->nodes[i]);
	}
	return ret ?: cnn_graph_compact(g, inf->err) ?: cnn_graph_prune(g, inf->err);
}

int cnn_pass_fold_dequantised(struct cnn_pass *p)
{
	struct cnn_graph *g = p->g;
	struct inference inf = { .g = g, .err = p->err, .work_left = g->limits.fold_work };
	bool shapes, data;
	int ret = CNN_OK, n = 0;

	for (int i = 0; !ret && i < g->n_nodes; i++) {
		if (g->nodes[i].op != CNN_OP_DEQUANTIZE_LINEAR)
			continue;
		gather(&inf, &g->nodes[i], &shapes, &data);
		if (!data)
			continue;
		ret = fold(&inf, &g->nodes[i]);
		n++;
	}
	return ret || !n ? ret : cnn_graph_compact(g, p->err);
}

int cnn_graph_infer(struct cnn_graph *g, struct cnn_err *err)
{
	struct inference inf = { .g = g, .err = err, .work_left = g->limits.fold_work };
	int ret;

	if (g->inferred)
		return cnn_fail(err, CNN_EINVAL,
				"infer: the graph's shapes have been inferred already");
	ret = check_inputs(g, err) ?: infer_all(&inf);
	if (ret)
		return ret;
	cnn_graph_drop_constants(g);
	g->inferred = true;
	return CNN_OK;
}
