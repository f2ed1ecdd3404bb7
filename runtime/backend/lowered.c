// SPDX-License-Identifier: MIT
/* A compiled network, wherever it comes from. */
#include <stdlib.h>

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
