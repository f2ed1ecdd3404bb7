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
	return val->is_output || l->slots[v].copied;
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
