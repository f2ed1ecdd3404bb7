/* SPDX-License-Identifier: MIT */
/* What a program says about itself. */
#include "model.h"

#include <stdlib.h>

int rt_check_limits(const struct cnnrt_program *p, struct cnn_err *e)
{
	const struct cnn_limits *lim = &p->graph->limits;
	const struct cnn_lowered *low = p->low;

	if (low->macs > lim->work)
		return cnn_fail(e, CNN_ELIMIT, "the network takes %lld multiply-adds, the limit "
				"is %lld", (long long)low->macs, (long long)lim->work);
	if (low->arena_bytes > lim->total_bytes || low->weight_bytes > lim->total_bytes)
		return cnn_fail(e, CNN_ELIMIT, "the network takes %lld bytes of device memory, "
				"the limit is %lld", (long long)(low->arena_bytes +
				low->weight_bytes), (long long)lim->total_bytes);
	return CNN_OK;
}

void cnnrt_program_free(struct cnnrt_program *p)
{
	if (!p)
		return;
	cnn_lowered_free(p->low);
	cnn_graph_free(p->graph);
	free(p);
}

unsigned int cnnrt_program_io_count(const struct cnnrt_program *p, enum cnnrt_direction dir)
{
	return (unsigned int)(dir == CNNRT_INPUT ? p->graph->n_inputs : p->graph->n_outputs);
}

int cnnrt_program_io(const struct cnnrt_program *p, enum cnnrt_direction dir, unsigned int index,
		     struct cnnrt_tensor_info *info, struct cnnrt_error *err)
{
	const struct cnn_value *v;
	int ret = rt_check_index(index, dir, cnnrt_program_io_count(p, dir), err);

	if (ret)
		return ret;
	v = &p->graph->values[dir == CNNRT_INPUT ? p->graph->inputs[index] :
			      p->graph->outputs[index]];
	rt_tensor_info(v->name, &v->t, info);
	return CNNRT_OK;
}

void cnnrt_program_explain(const struct cnnrt_program *p,
			   void (*report)(const struct cnnrt_op_report *op, void *opaque),
			   void *opaque)
{
	for (int i = 0; i < p->graph->n_nodes; i++) {
		const struct cnn_node *n = &p->graph->nodes[i];
		const struct cnn_placement *at = &p->low->nodes[i];
		struct cnnrt_op_report r = {
			.index = (unsigned int)i, .op = n->op_type, .name = n->name,
			.fused = n->fused ? n->fused : "",
			.place = at->core < 0 ? "cpu" : p->core[at->core].name,
			.reason = at->reason, .core = at->core,
			.macs = (uint64_t)at->macs, .cost = at->cost,
		};

		report(&r, opaque);
	}
}

void cnnrt_program_spans(const struct cnnrt_program *p,
			 void (*report)(const struct cnnrt_span *span, void *opaque),
			 void *opaque)
{
	for (int i = 0; i < p->low->n_spans; i++)
		report(&p->low->spans[i], opaque);
}

void cnnrt_program_estimate(const struct cnnrt_program *p, struct cnnrt_estimate *est)
{
	*est = (struct cnnrt_estimate){
		.macs_total = (uint64_t)p->low->macs,
		.macs_device = (uint64_t)p->low->device_macs,
		.ops_total = (uint32_t)p->graph->n_nodes,
		.tasks = (uint32_t)p->low->n_tasks,
		.segments = (uint32_t)p->low->n_segments,
		.compile_ns = p->compile_ns,
		.weight_bytes = (uint64_t)p->low->weight_bytes,
		.program_bytes = (uint64_t)p->low->program_bytes,
		.activation_bytes = (uint64_t)p->low->arena_bytes,
	};
	for (int i = 0; i < p->graph->n_nodes; i++) {
		const struct cnn_placement *at = &p->low->nodes[i];

		if (at->core < 0)
			continue;
		est->ops_device++;
		est->macs_core[at->core] += (uint64_t)at->macs;
		est->cycles += at->cost.cycles;
	}
}
