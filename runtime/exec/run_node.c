/* SPDX-License-Identifier: MIT */
/* Runs one operator of a job on the CPU. */
#include "job.h"

static bool is_dynamic(const struct cnnrt_job *job, const struct cnn_node *n)
{
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i] >= 0 && job->values[n->out[i]].location == RT_AT_RUN_TIME)
			return true;
	return false;
}

/* Infers the output shapes that depend on the data of inputs, and checks their size. */
static int infer_at_run_time(struct cnnrt_job *job, const struct cnn_node *n, struct cnn_err *e)
{
	const struct cnn_limits *lim = &job->program->graph->limits;
	int ret;

	for (int i = 0; i < n->n_out; i++)
		if (job->out[i] && job->values[n->out[i]].location == RT_AT_RUN_TIME)
			cnn_tensor_release(job->out[i]);
	ret = cnn_cpu_check(n, job->in, job->out, e) ?: cnn_cpu_infer(n, job->in, job->out, e);
	if (ret > 0)
		return cnn_fail(e, CNN_EINVAL, "%s (%.60s): the shape of its output cannot be "
				"inferred", n->op_type, n->name);
	for (int i = 0; i < n->n_out && !ret; i++) {
		int64_t bytes = job->out[i] ? cnn_tensor_bytes(job->out[i]) : 0;

		if (bytes < 0 || bytes > lim->tensor_bytes ||
		    bytes > lim->total_bytes - job->run_bytes)
			ret = cnn_fail(e, CNN_ELIMIT, "%s (%.60s): output %d goes over the "
				       "limit of %lld bytes", n->op_type, n->name, i,
				       (long long)lim->tensor_bytes);
		job->run_bytes += bytes;
	}
	return ret;
}

static int run_node(struct cnnrt_job *job, const struct cnn_node *n, struct cnn_err *e)
{
	const struct cnn_limits *lim = &job->program->graph->limits;
	int64_t work;
	int ret = 0;

	for (int i = 0; i < n->n_in; i++)
		job->in[i] = n->in[i] < 0 ? NULL : &job->values[n->in[i]].t;
	for (int i = 0; i < n->n_out; i++)
		job->out[i] = n->out[i] < 0 ? NULL : &job->values[n->out[i]].t;
	if (is_dynamic(job, n))
		ret = infer_at_run_time(job, n, e);
	if (!ret) {
		work = cnn_cpu_work(n, job->in, job->out);
		if (work > lim->work - job->run_work)
			ret = cnn_fail(e, CNN_ELIMIT, "%s (%.60s): the run takes more than %lld "
				       "multiply-adds or elements", n->op_type, n->name,
				       (long long)lim->work);
		else
			job->run_work += work;
	}
	if (!ret)
		ret = cnn_cpu_run(n, job->in, job->out, rt_thread_pool_workers(job->pool), e);
	return ret;
}

/* Moves the elements of a value to the slot of another one, see cnn_moves_to_slot. */
static void run_move(struct cnnrt_job *job, const struct cnn_node *n)
{
	const struct cnn_lowered *low = job->program->low;
	const struct cnn_slot *from = &low->slots[n->in[0]], *to = &low->slots[n->out[0]];
	struct cnn_layout source = cnn_move_source(job->program->graph, low, n->in[0]);
	const void *data = job->values[n->in[0]].t.data;

	/* A dense one may be in the caller's buffer instead. */
	if (rt_made_on_device(job->program, n->in[0]) && !cnn_layout_dense(&source))
		data = NULL;
	cnn_layout_move(&to->layout, (uint8_t *)job->arena.map + to->offset, &source,
			data ? data : (uint8_t *)job->arena.map + from->offset);
}

int rt_job_run_node(struct cnnrt_job *job, int node, struct cnn_err *e)
{
	const struct cnnrt_program *p = job->program;

	if (!cnn_moves_to_slot(p->graph, p->low, node))
		return run_node(job, &p->graph->nodes[node], e);
	run_move(job, &p->graph->nodes[node]);
	return 0;
}
