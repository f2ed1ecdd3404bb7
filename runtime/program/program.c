/* SPDX-License-Identifier: MIT */
/* Limits, description and estimate of a program. */
#include "model.h"

#include <stdlib.h>
#include <sys/mman.h>

void rt_set_limits(struct cnn_graph *g, uint64_t max_memory, uint64_t max_work)
{
	const uint64_t max = (uint64_t)1 << 62;

	if (max_memory) {
		g->limits.total_bytes = (int64_t)(max_memory < max ? max_memory : max);
		if (g->limits.tensor_bytes > g->limits.total_bytes)
			g->limits.tensor_bytes = g->limits.total_bytes;
	}
	if (max_work) {
		g->limits.work = (int64_t)(max_work < max ? max_work : max);
		if (g->limits.fold_work > g->limits.work)
			g->limits.fold_work = g->limits.work;
	}
}

int rt_check_limits(const struct cnnrt_program *p, struct cnn_err *e)
{
	const struct cnn_limits *lim = &p->graph->limits;
	const struct cnn_lowered *low = p->low;

	if (low->macs > lim->work)
		return cnn_fail(e, CNN_ELIMIT, "the network takes %lld multiply-adds, the limit is "
				"%lld (max_work)", (long long)low->macs, (long long)lim->work);
	if (low->arena_bytes > lim->total_bytes || low->weight_bytes > lim->total_bytes)
		return cnn_fail(e, CNN_ELIMIT, "the network takes %lld bytes of device memory, the "
				"limit is %lld (max_memory)", (long long)(low->arena_bytes +
									  low->weight_bytes),
				(long long)lim->total_bytes);
	return CNN_OK;
}

static bool only_cores_read(const struct cnnrt_program *p, int v)
{
	const struct cnn_value *val = &p->graph->values[v];

	return val->n_consumers && !val->is_input && !p->low->slots[v].used &&
	       !cnn_read_on_host(p->graph, p->low, v);
}

void rt_mark_in_weight_image(struct cnnrt_program *p)
{
	for (int v = 0; v < p->graph->n_values; v++)
		if (p->graph->values[v].t.data)
			p->graph->values[v].in_weight_image = only_cores_read(p, v);
}

void rt_unmap(struct rt_mapping *m)
{
	if (m->mapped)
		munmap(m->data, m->size);
	else
		free(m->data);
}

void rt_program_free(struct cnnrt_program *p)
{
	if (!p)
		return;
	cnn_lowered_free(p->low);
	cnn_graph_free(p->graph);
	cnn_graph_free(p->file_graph);
	rt_eliminated_ops_free(p);
	rt_unmap(&p->file);
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
	return rt_tensor_info(v->name, &v->t, info, err);
}

static const char *place_name(const struct cnnrt_program *p, int core)
{
	return core >= 0 ? p->core[core].name : core == CNN_ON_CPU ? "cpu" : "";
}

void cnnrt_program_explain(const struct cnnrt_program *p,
			   void (*report)(const struct cnnrt_op_report *op, void *opaque),
			   void *opaque)
{
	for (int i = 0; i < p->graph->n_nodes; i++) {
		const struct cnn_node *n = &p->graph->nodes[i];
		const struct cnn_placement *at = &p->low->nodes[i];
		struct cnnrt_op_report r = {
			.struct_size = sizeof(r),
			.index = (unsigned int)i, .op = n->op_type, .name = n->name,
			.fused = n->fused ? n->fused : "",
			.place = place_name(p, at->core),
			.reason = at->reason, .core = at->core,
			.macs = (uint64_t)at->macs, .cost = &at->cost,
			.cost_ns = (uint64_t)at->cost_ns,
			.next_place = place_name(p, at->next_core),
			.next_ns = (uint64_t)at->next_ns,
		};

		report(&r, opaque);
	}
}

void cnnrt_program_spans(const struct cnnrt_program *p,
			 void (*report)(const struct cnnrt_span *span, void *opaque), void *opaque)
{
	for (int i = 0; i < p->low->n_spans; i++)
		report(&p->low->spans[i], opaque);
}

bool rt_made_on_device(const struct cnnrt_program *p, int value)
{
	int node = p->graph->values[value].producer;

	return node >= 0 && p->low->nodes[node].core >= 0;
}

static void count_conversion(const struct cnnrt_program *p, int v, struct cnnrt_estimate *est)
{
	est->conversions++;
	est->conversion_bytes += (uint64_t)cnn_tensor_bytes(&p->graph->values[v].t);
}

/* Does a node, on the CPU or on a core, give the elements of its input another layout? */
static bool converts(const struct cnnrt_program *p, int node)
{
	const struct cnn_node *n = &p->graph->nodes[node];
	struct cnn_layout from;

	if (p->low->nodes[node].core >= 0) {
		if (!cnn_op_renames(n->op))
			return false;
		from = p->low->slots[n->in[0]].layout;
	} else {
		if (!cnn_moves_to_slot(p->graph, p->low, node))
			return false;
		from = cnn_move_source(p->graph, p->low, n->in[0]);
	}
	return !cnn_layout_equal(&from, &p->low->slots[n->out[0]].layout);
}

/* Does the host bring what it or the application made into the layout of its slot? */
static bool changes_on_way_in(const struct cnnrt_program *p, int v)
{
	int producer = p->graph->values[v].producer;

	return !rt_made_on_device(p, v) && !cnn_layout_dense(&p->low->slots[v].layout) &&
	       (producer < 0 || !cnn_moves_to_slot(p->graph, p->low, producer));
}

static void count_conversions(const struct cnnrt_program *p, struct cnnrt_estimate *est)
{
	for (int s = 0; s < p->low->n_segments; s++) {
		const struct cnn_segment *seg = &p->low->segments[s];

		for (int i = 0; i < seg->n_in; i++)
			if (changes_on_way_in(p, seg->in[i]))
				count_conversion(p, seg->in[i], est);
		for (int i = 0; i < seg->n_out; i++)
			if (!cnn_layout_dense(&p->low->slots[seg->out[i]].layout) &&
			    cnn_read_dense(p->graph, p->low, seg->out[i]))
				count_conversion(p, seg->out[i], est);
	}
	for (int i = 0; i < p->graph->n_nodes; i++)
		if (converts(p, i))
			count_conversion(p, p->graph->nodes[i].in[0], est);
}

int cnnrt_program_estimate(const struct cnnrt_program *p, struct cnnrt_estimate *est,
			   struct cnnrt_error *err)
{
	const struct rt_struct *type = RT_STRUCT(cnnrt_estimate, activation_bytes);
	struct cnnrt_estimate own = {
		.macs_total = (uint64_t)p->low->macs, .macs_device = (uint64_t)p->low->device_macs,
		.ops_total = (uint32_t)p->graph->n_nodes, .tasks = (uint32_t)p->low->n_tasks,
		.segments = (uint32_t)p->low->n_segments, .compile_ns = p->compile_ns,
		.weight_bytes = (uint64_t)p->low->weight_bytes,
		.program_bytes = (uint64_t)p->low->program_bytes,
		.activation_bytes = (uint64_t)p->low->arena_bytes,
		.ns = (uint64_t)p->low->ns, .target_hash = p->low->target_hash,
	};
	int ret = rt_struct_check(type, est->struct_size, err);

	if (ret)
		return ret;
	for (int i = 0; i < p->graph->n_nodes; i++) {
		const struct cnn_placement *at = &p->low->nodes[i];

		if (at->core < 0)
			continue;
		own.ops_device++;
		own.macs_core[at->core] += (uint64_t)at->macs;
		own.cycles += at->cost.cycles;
	}
	count_conversions(p, &own);
	rt_struct_write(type, est, &own);
	return CNNRT_OK;
}
