// SPDX-License-Identifier: MIT
/* A compiled network, wherever it comes from. */
#include <stdlib.h>
#include <string.h>

#include "lowered.h"

bool cnn_read_on_host(const struct cnn_graph *g, const struct cnn_lowered *l, int v)
{
	const struct cnn_value *val = &g->values[v];

	for (int i = 0; i < val->n_consumers; i++)
		if (l->nodes[val->consumers[i]].core < 0)
			return true;
	return val->is_output;
}

bool cnn_op_renames(enum cnn_op op)
{
	return op == CNN_OP_RESHAPE || op == CNN_OP_FLATTEN || op == CNN_OP_SQUEEZE ||
	       op == CNN_OP_UNSQUEEZE || op == CNN_OP_IDENTITY || op == CNN_OP_DROPOUT ||
	       op == CNN_OP_CONVERT_LAYOUT;
}

bool cnn_moves_to_slot(const struct cnn_graph *g, const struct cnn_lowered *l, int node)
{
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *from = cnn_node_in(g, n, 0), *to = cnn_node_out(g, n, 0);

	return l->nodes[node].core < 0 && cnn_op_renames(n->op) && n->act.kind == CNN_ACT_NONE &&
	       from && to && from->rank >= 0 && to->rank >= 0 && from->dtype == to->dtype &&
	       cnn_tensor_count(from) == cnn_tensor_count(to) &&
	       (n->n_out == 1 || n->out[1] < 0) && l->slots[n->out[0]].used &&
	       !cnn_read_on_host(g, l, n->out[0]);
}

static bool made_on_core(const struct cnn_graph *g, const struct cnn_lowered *l, int v)
{
	return g->values[v].producer >= 0 && l->nodes[g->values[v].producer].core >= 0;
}

bool cnn_read_dense(const struct cnn_graph *g, const struct cnn_lowered *l, int v)
{
	const struct cnn_value *val = &g->values[v];

	if (!made_on_core(g, l, v))
		return cnn_read_on_host(g, l, v);
	for (int i = 0; i < val->n_consumers; i++)
		if (l->nodes[val->consumers[i]].core < 0 &&
		    !cnn_moves_to_slot(g, l, val->consumers[i]))
			return true;
	return val->is_output;
}

struct cnn_layout cnn_move_source(const struct cnn_graph *g, const struct cnn_lowered *l, int v)
{
	const struct cnn_tensor *t = &g->values[v].t;

	return made_on_core(g, l, v) ? l->slots[v].layout :
	       cnn_dense_layout((int64_t[CNN_DIMS]){ 1, 1, 1, cnn_tensor_count(t) },
				(int64_t)cnn_dtype_size(t->dtype));
}

void cnn_lowered_free(struct cnn_lowered *l)
{
	if (!l)
		return;
	for (int i = 0; i < l->n_segments; i++) {
		free(l->segments[i].nodes);
		free(l->segments[i].in);
		free(l->segments[i].out);
	}
	free(l->segments);
	free(l->nodes);
	free(l->slots);
	free(l->tasks);
	free(l->spans);
	free(l->addresses);
	if (!l->borrowed) {
		free(l->program);
		free(l->weights);
	}
	free(l);
}

void cnn_slot_write(const struct cnn_slot *slot, void *arena, const void *dense)
{
	cnn_layout_write(&slot->layout, (uint8_t *)arena + slot->offset, dense);
}

void cnn_slot_read(const struct cnn_slot *slot, const void *arena, void *dense)
{
	cnn_layout_read(&slot->layout, (const uint8_t *)arena + slot->offset, dense);
}

bool cnn_cores_equal(const struct cnnrt_core_info *a, const struct cnnrt_core_info *b)
{
	return a->type == b->type && a->version == b->version &&
	       a->program_max == b->program_max && a->job_cycles_max == b->job_cycles_max &&
	       !memcmp(a->name, b->name, sizeof(a->name)) &&
	       !memcmp(a->param, b->param, sizeof(a->param));
}

uint32_t cnn_equal_cores(const struct cnnrt_core_info *cores, unsigned int count, unsigned int core)
{
	uint32_t equal = 0;

	for (unsigned int i = 0; i < count; i++)
		equal |= cnn_cores_equal(&cores[i], &cores[core]) ? 1u << i : 0;
	return equal;
}
