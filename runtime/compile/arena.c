// SPDX-License-Identifier: MIT
/* Allocates the arena: live ranges of values, and offsets that reuse dead values' memory. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void cnn_use_slot(struct cnn_compiler *cc, const struct cnn_node_io *io)
{
	struct cnn_slot *slot = &cc->compile.out->slots[io->value];

	if (slot->used)
		return;
	slot->used = true;
	slot->layout = io->layout;
	slot->bytes =
		cnn_round_up(cnn_max(cnn_layout_bytes(&io->layout), io->bytes), CNNACC_LINE_SIZE);
}

/* Extends the live range of a value's memory to a node's place in the order. */
static void extend_life(struct cnn_compiler *cc, int value, int order)
{
	int owner = cc->compile.owner[value];

	if (order < cc->slots[owner].first)
		cc->slots[owner].first = order;
	if (order > cc->slots[owner].last)
		cc->slots[owner].last = order;
}

static bool reads_from(const struct cnn_compiler *cc, int segment, int first)
{
	const struct cnn_segment *seg = &cc->compile.out->segments[segment];

	for (int k = 0; k < seg->n_in; k++) {
		int from = cc->compile.g->values[seg->in[k]].producer;

		if (from >= 0 && cc->compile.out->nodes[from].segment >= first)
			return true;
	}
	return false;
}

/* The end of the segments on cores from first on that do not read each other's values. */
static int group_end(const struct cnn_compiler *cc, int first)
{
	const struct cnn_lowered *out = cc->compile.out;
	int end = first + 1;

	while (out->segments[first].core >= 0 && end < out->n_segments &&
	       out->segments[end].core >= 0 && !reads_from(cc, end, first))
		end++;
	return end;
}

/* Extends the lives of what a node reads and writes. */
static void extend_values(struct cnn_compiler *cc, int node, int start, int stop)
{
	const struct cnn_node *n = &cc->compile.g->nodes[node];

	for (int k = 0; k < n->n_in + n->n_out; k++) {
		int v = k < n->n_in ? n->in[k] : n->out[k - n->n_in];

		if (v < 0 || !cc->compile.out->slots[v].used)
			continue;
		extend_life(cc, v, start);
		extend_life(cc, v, stop);
	}
}

/* Cores run the segments of a group at the same time, so that their values must not share memory. */
static void extend_group(struct cnn_compiler *cc, int first, int end)
{
	const struct cnn_lowered *out = cc->compile.out;
	const struct cnn_segment *last = &out->segments[end - 1];
	int start = out->nodes[out->segments[first].nodes[0]].order;
	int stop = out->nodes[last->nodes[last->n_nodes - 1]].order;

	for (int s = first; s < end; s++)
		for (int i = 0; i < out->segments[s].n_nodes; i++)
			extend_values(cc, out->segments[s].nodes[i], start, stop);
}

/* The same with the lanes of regions, whose nodes are adjacent in the graph. */
static void extend_regions(struct cnn_compiler *cc)
{
	const struct cnn_placement *nodes = cc->compile.out->nodes;

	for (int i = 0, end; i < cc->compile.out->n_nodes; i = end) {
		int start = nodes[i].order, stop = start;

		for (end = i + 1; end < cc->compile.out->n_nodes &&
				  cc->lanes[end].region == cc->lanes[i].region; end++) {
			start = nodes[end].order < start ? nodes[end].order : start;
			stop = nodes[end].order > stop ? nodes[end].order : stop;
		}
		for (int k = i; k < end && cc->lanes[i].region; k++)
			extend_values(cc, k, start, stop);
	}
}

/* A unit may write its first value before it has read its last. */
static void extend_to_unit(struct cnn_compiler *cc, const struct cnn_unit *u)
{
	const struct cnn_placement *nodes = cc->compile.out->nodes;

	for (int i = 0; i < u->n_in + u->n_out; i++) {
		int v = i < u->n_in ? u->in[i].value : u->out[i - u->n_in].value;

		extend_life(cc, v, nodes[u->nodes[0]].order);
		extend_life(cc, v, nodes[u->nodes[u->n_nodes - 1]].order);
	}
}

/*
 * A value lives from its producer to its last reader. A segment's inputs live to the segment's end,
 * so that the segment can be restarted.
 */
static void find_lives(struct cnn_compiler *cc)
{
	const struct cnn_graph *g = cc->compile.g;
	const struct cnn_lowered *out = cc->compile.out;

	for (int v = 0; v < out->n_values; v++) {
		const struct cnn_value *val = &g->values[v];

		if (!out->slots[v].used)
			continue;
		extend_life(cc, v, val->producer < 0 ? -1 : out->nodes[val->producer].order);
		for (int i = 0; i < val->n_consumers; i++)
			extend_life(cc, v, out->nodes[val->consumers[i]].order);
		if (val->is_output || cc->observe)
			extend_life(cc, v, out->n_nodes);
	}
	for (int i = 0; i < out->n_nodes; i++)
		if (cc->lead[i] == i && cc->units[i].n_nodes > 1)
			extend_to_unit(cc, &cc->units[i]);
	for (int i = 0; i < out->n_segments; i++) {
		const struct cnn_segment *seg = &out->segments[i];

		for (int k = 0; k < seg->n_in && seg->core >= 0; k++)
			extend_life(cc, seg->in[k], out->nodes[seg->nodes[seg->n_nodes - 1]].order);
	}
	for (int first = 0, end; first < out->n_segments; first = end) {
		end = group_end(cc, first);
		if (end > first + 1)
			extend_group(cc, first, end);
	}
	if (cc->lanes)
		extend_regions(cc);
}

struct block {
	int64_t offset, end;
	int last;
};

static int compare_starts(const void *a, const void *b, void *arg)
{
	const struct cnn_slot_life *slots = ((struct cnn_compiler *)arg)->slots;
	int va = *(const int *)a, vb = *(const int *)b;

	if (slots[va].first != slots[vb].first)
		return slots[va].first < slots[vb].first ? -1 : 1;
	return (va > vb) - (va < vb);
}

/* The lowest gap of bytes between the ascending blocks; *at is the index for the new block. */
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

static int drop_dead(struct block *blocks, int n, int order)
{
	int alive = 0;

	for (int i = 0; i < n; i++)
		if (blocks[i].last >= order)
			blocks[alive++] = blocks[i];
	return alive;
}

static int too_large(const struct cnn_compiler *cc, int v)
{
	return cnn_fail(cc->compile.err, CNN_ELIMIT, "activations would exceed %lld bytes at %s",
			(long long)CNN_ARENA_MAX, cc->compile.g->values[v].name);
}

/* slots: in the order in which their lives begin. */
static int place_blocks(struct cnn_compiler *cc, const int *slots, int count, struct block *blocks)
{
	struct cnn_lowered *out = cc->compile.out;
	int n = 0;

	for (int i = 0; i < count; i++) {
		struct cnn_slot *slot = &out->slots[slots[i]];
		int at;

		n = drop_dead(blocks, n, cc->slots[slots[i]].first);
		slot->offset = find_gap(blocks, n, slot->bytes, &at);
		if (slot->bytes > CNN_ARENA_MAX - slot->offset)
			return too_large(cc, slots[i]);
		memmove(&blocks[at + 1], &blocks[at], (size_t)(n - at) * sizeof(*blocks));
		blocks[at] = (struct block){ slot->offset, slot->offset + slot->bytes,
					     cc->slots[slots[i]].last };
		n++;
		out->arena_bytes = cnn_max(out->arena_bytes, slot->offset + slot->bytes);
	}
	return CNN_OK;
}

/* Could the caller's buffer take the place of v's slot, were v the only such value in it? */
static bool is_bindable(const struct cnn_compiler *cc, int v)
{
	const struct cnn_value *val = &cc->compile.g->values[v];
	const struct cnn_slot *slot = &cc->compile.out->slots[v];

	/* A node may write more than the value; the caller's buffer has no space for that. */
	return slot->used && (val->is_input || val->is_output) && cnn_layout_dense(&slot->layout) &&
	       cc->compile.out->slots[cc->compile.owner[v]].bytes ==
		       cnn_round_up(cnn_layout_bytes(&slot->layout), CNNACC_LINE_SIZE);
}

/*
 * Slots that no other value shares get pages of their own: one range of VAs has one buffer, and the
 * host reads a value from its slot, not from the buffer bound for another one.
 */
static void find_own_pages(struct cnn_compiler *cc, int *uses)
{
	int values = cc->compile.out->n_values;

	memset(uses, 0, (size_t)values * sizeof(*uses));
	for (int v = 0; v < values; v++)
		uses[cc->compile.owner[v]] +=
			is_bindable(cc, v) || (cc->compile.out->slots[v].used &&
					       cnn_read_on_host(cc->compile.g, cc->compile.out, v));
	for (int v = 0; v < values; v++)
		cc->compile.out->slots[v].own_pages = is_bindable(cc, v) &&
						      uses[cc->compile.owner[v]] == 1 &&
						      !cc->slots[cc->compile.owner[v]].has_parts;
}

/* Places the slots with pages of their own behind all others. */
static int place_own_pages(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;

	for (int v = 0; v < out->n_values; v++) {
		struct cnn_slot *slot = &out->slots[cc->compile.owner[v]];

		if (!out->slots[v].own_pages)
			continue;
		slot->offset = cnn_round_up(out->arena_bytes, CNNACC_PAGE_SIZE);
		out->arena_bytes = slot->offset + cnn_round_up(slot->bytes, CNNACC_PAGE_SIZE);
		if (out->arena_bytes > CNN_ARENA_MAX)
			return too_large(cc, v);
	}
	return CNN_OK;
}

int cnn_allocate_arena(struct cnn_compiler *cc)
{
	struct cnn_lowered *out = cc->compile.out;
	int *slots = calloc((size_t)out->n_values + 1, sizeof(*slots));
	struct block *blocks = calloc((size_t)out->n_values + 1, sizeof(*blocks));
	int count = 0, ret;

	if (!slots || !blocks) {
		free(slots);
		free(blocks);
		return cnn_fail(cc->compile.err, CNN_ENOMEM,
				"no memory to allocate the arena of %d values", out->n_values);
	}
	find_lives(cc);
	find_own_pages(cc, slots);
	for (int v = 0; v < out->n_values; v++)
		cc->slots[cc->compile.owner[v]].caller_memory |= out->slots[v].own_pages;
	for (int s = 0; s < out->n_values; s++)
		if (out->slots[s].used && cc->compile.owner[s] == s && !cc->slots[s].caller_memory)
			slots[count++] = s;
	qsort_r(slots, (size_t)count, sizeof(*slots), compare_starts, cc);
	ret = place_blocks(cc, slots, count, blocks) ?: place_own_pages(cc);
	for (int v = 0; v < out->n_values; v++)
		if (cc->compile.owner[v] != v)
			out->slots[v].offset += out->slots[cc->compile.owner[v]].offset;
	free(slots);
	free(blocks);
	return ret;
}
