// SPDX-License-Identifier: MIT
/* Where values lie in the arena: lives, and memory that is used again. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void live(struct cnn_compiler *x, int value, int turn)
{
	int r = x->lw.root[value];

	if (turn < x->first[r])
		x->first[r] = turn;
	if (turn > x->last[r])
		x->last[r] = turn;
}

/*
 * A value lives from the node that makes it to the last that reads it. What a segment reads from
 * outside lives to its end, so that a segment may be run again from its start.
 */
static void find_lives(struct cnn_compiler *x)
{
	const struct cnn_graph *g = x->lw.g;
	const struct cnn_lowered *out = x->lw.out;

	for (int v = 0; v < out->n_values; v++) {
		const struct cnn_value *val = &g->values[v];

		if (!out->slots[v].used)
			continue;
		live(x, v, val->producer < 0 ? -1 : out->nodes[val->producer].turn);
		for (int i = 0; i < val->n_consumers; i++)
			live(x, v, out->nodes[val->consumers[i]].turn);
		if (val->is_output || x->observe)
			live(x, v, out->n_nodes);
	}
	for (int i = 0; i < out->n_segments; i++) {
		const struct cnn_segment *seg = &out->segments[i];

		for (int k = 0; k < seg->n_in && seg->core >= 0; k++)
			live(x, seg->in[k], out->nodes[seg->nodes[seg->n_nodes - 1]].turn);
	}
	for (int i = 0; i < out->n_nodes; i++) {
		const struct cnn_segment *seg = &out->segments[out->nodes[i].segment];

		if (x->copy[i] >= 0)
			live(x, x->copy[i], out->nodes[seg->nodes[seg->n_nodes - 1]].turn);
	}
}

struct block {
	int64_t offset, end;
	int last;
};

static int first_of(const void *a, const void *b, void *arg)
{
	const int *first = ((struct cnn_compiler *)arg)->first;
	int va = *(const int *)a, vb = *(const int *)b;

	if (first[va] != first[vb])
		return first[va] < first[vb] ? -1 : 1;
	return (va > vb) - (va < vb);
}

/* The lowest gap between the blocks (ascending) that holds bytes; *at is where it belongs. */
static int64_t find_gap(const struct block *blocks, int n, int64_t bytes, int *at)
{
	int64_t offset = 0;

	for (*at = 0; *at < n; (*at)++) {
		if (blocks[*at].offset - offset >= bytes)
			break;
		offset = cnn_max(offset, blocks[*at].end);
	}
	return offset;
}

static int drop_dead(struct block *blocks, int n, int turn)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (blocks[i].last >= turn)
			blocks[kept++] = blocks[i];
	return kept;
}

static int place_blocks(struct cnn_compiler *x, const int *order, int count, struct block *blocks)
{
	struct cnn_lowered *out = x->lw.out;
	int n = 0;

	for (int i = 0; i < count; i++) {
		struct cnn_slot *slot = &out->slots[order[i]];
		int at;

		n = drop_dead(blocks, n, x->first[order[i]]);
		slot->offset = find_gap(blocks, n, slot->bytes, &at);
		if (slot->bytes > CNN_ARENA_MAX - slot->offset)
			return cnn_fail(x->lw.err, CNN_ELIMIT,
					"activations would exceed %lld bytes at %s",
					(long long)CNN_ARENA_MAX,
					x->lw.g->values[slot->from].name);
		memmove(&blocks[at + 1], &blocks[at], (size_t)(n - at) * sizeof(*blocks));
		blocks[at] = (struct block){ slot->offset, slot->offset + slot->bytes,
					     x->last[order[i]] };
		n++;
		out->arena_bytes = cnn_max(out->arena_bytes, slot->offset + slot->bytes);
	}
	return CNN_OK;
}

/* May value v have pages of its own? Not if two of the caller's buffers would have to be there. */
static bool is_callers(const struct cnn_compiler *x, int v)
{
	const struct cnn_value *val = &x->lw.g->values[v];
	const struct cnn_slot *slot = &x->lw.out->slots[v];

	/* A node that writes more than the value cannot write into the caller's buffer. */
	return slot->used && (val->is_input || val->is_output) && cnn_layout_dense(&slot->layout) &&
	       x->lw.out->slots[x->lw.root[v]].bytes ==
		       cnn_round_up(cnn_layout_bytes(&slot->layout), CNNACC_LINE_SIZE);
}

bool cnn_read_on_host(const struct cnn_graph *g, const struct cnn_lowered *l, int v)
{
	const struct cnn_value *val = &g->values[v];

	for (int i = 0; i < val->n_consumers; i++)
		if (l->nodes[val->consumers[i]].core < 0)
			return true;
	return val->is_output || l->slots[v].copied;
}

/* What the host reads it would miss in a buffer that is another value's. */
static void find_callers(struct cnn_compiler *x, int *callers)
{
	int values = x->lw.out->n_values;

	memset(callers, 0, (size_t)values * sizeof(*callers));
	for (int v = 0; v < values; v++)
		callers[x->lw.root[v]] += is_callers(x, v) ||
					  (x->lw.out->slots[v].used &&
					   cnn_read_on_host(x->lw.g, x->lw.out, v));
	for (int v = 0; v < values; v++)
		x->lw.out->slots[v].own_pages = is_callers(x, v) && callers[x->lw.root[v]] == 1 &&
					      !x->joined[x->lw.root[v]];
}

/* Behind everything else, each at a page: the values whose memory the caller may provide. */
static int place_callers(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;

	for (int v = 0; v < out->n_values; v++) {
		struct cnn_slot *slot = &out->slots[x->lw.root[v]];

		if (!out->slots[v].own_pages)
			continue;
		slot->offset = cnn_round_up(out->arena_bytes, CNNACC_PAGE_SIZE);
		out->arena_bytes = slot->offset + cnn_round_up(slot->bytes, CNNACC_PAGE_SIZE);
		if (out->arena_bytes > CNN_ARENA_MAX)
			return cnn_fail(x->lw.err, CNN_ELIMIT,
					"activations would exceed %lld bytes at %s",
					(long long)CNN_ARENA_MAX, x->lw.g->values[v].name);
	}
	return CNN_OK;
}

int cnn_allocate_arena(struct cnn_compiler *x)
{
	struct cnn_lowered *out = x->lw.out;
	int *order = calloc((size_t)out->n_slots + 1, sizeof(*order));
	struct block *blocks = calloc((size_t)out->n_slots + 1, sizeof(*blocks));
	int count = 0, ret;

	if (!order || !blocks) {
		free(order);
		free(blocks);
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for the arena's plan");
	}
	find_lives(x);
	find_callers(x, order);
	for (int v = 0; v < out->n_values; v++)
		x->shared[x->lw.root[v]] |= out->slots[v].own_pages;
	for (int s = 0; s < out->n_slots; s++)
		if (out->slots[s].used && x->lw.root[s] == s && !x->shared[s])
			order[count++] = s;
	qsort_r(order, (size_t)count, sizeof(*order), first_of, x);
	ret = place_blocks(x, order, count, blocks);
	if (!ret)
		ret = place_callers(x);
	for (int v = 0; v < out->n_values; v++)
		if (x->lw.root[v] != v)
			out->slots[v].offset += out->slots[x->lw.root[v]].offset;
	free(order);
	free(blocks);
	return ret;
}
