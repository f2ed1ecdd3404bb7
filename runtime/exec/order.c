/* SPDX-License-Identifier: MIT */
/*
 * The order in which a job's units must run: which ones a unit has to wait for. A unit is a segment
 * that a core runs, or one operator on the CPU.
 *
 * The compiler puts segments into a serial order and gives values that are not alive at the same
 * time in that order the same memory. So a unit waits for the ones that make what it reads, and, of
 * those before it in the serial order, for the ones that read or write the memory that it writes.
 * Walking through that order, a map of the memory remembers who wrote each part of it last and who
 * has read that since.
 *
 * A value that the host makes is written to its slot when the first segment that reads the slot
 * starts. It counts as written by the unit that makes the value, from which on the compiler
 * reserves the slot.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* Readers of a part of the memory; parts that were split share the end of a list. */
struct reader {
	int unit, next; /* next: an index, -1: end */
};

struct part {
	uintptr_t start, end;
	int writer;  /* unit, -1: none */
	int readers; /* an index, -1: none */
};

struct edge {
	int from, to;
};

/* A list that grows. */
struct list {
	void *items;
	int count, capacity;
};

struct builder {
	const struct cnnrt_job *job;
	struct list parts;   /* ascending, without overlap */
	struct list readers, edges;
	int *last;	     /* by unit: the last one that was found to wait for it */
	int *unit_of;	     /* by node */
	int unit;	     /* whose accesses are being added */
	bool failed;	     /* out of memory */
};

/* Makes room for one more item; NULL without memory. */
static void *grow(struct builder *b, struct list *list, size_t size)
{
	int capacity = list->capacity ? 2 * list->capacity : 64;
	void *items;

	if (list->count == list->capacity) {
		items = b->failed ? NULL : reallocarray(list->items, (size_t)capacity, size);
		if (!items) {
			b->failed = true;
			return NULL;
		}
		list->items = items;
		list->capacity = capacity;
	}
	return (char *)list->items + (size_t)list->count * size;
}

static void wait_for(struct builder *b, int unit)
{
	struct edge *edge;

	if (unit < 0 || unit == b->unit || b->last[unit] == b->unit)
		return;
	edge = grow(b, &b->edges, sizeof(*edge));
	if (!edge)
		return;
	*edge = (struct edge){ unit, b->unit };
	b->edges.count++;
	b->last[unit] = b->unit;
}

static struct part *part_at(const struct builder *b, int i)
{
	return (struct part *)b->parts.items + i;
}

/* The first part that ends behind an address. */
static int find_part(const struct builder *b, uintptr_t address)
{
	int low = 0, high = b->parts.count;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (part_at(b, middle)->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void insert_part(struct builder *b, int i, struct part part)
{
	if (!grow(b, &b->parts, sizeof(part)))
		return;
	memmove(part_at(b, i + 1), part_at(b, i), (size_t)(b->parts.count - i) * sizeof(part));
	*part_at(b, i) = part;
	b->parts.count++;
}

/* Splits the part that an address is inside of. */
static void split_part(struct builder *b, uintptr_t address)
{
	int i = find_part(b, address);
	struct part before;

	if (i == b->parts.count || part_at(b, i)->start >= address)
		return;
	before = *part_at(b, i);
	before.end = address;
	insert_part(b, i, before);
	if (!b->failed)
		part_at(b, i + 1)->start = address;
}

/* Makes parts begin and end where a range does, and fills its gaps; returns the first part. */
static int cut_range(struct builder *b, uintptr_t start, uintptr_t end)
{
	int first;

	split_part(b, start);
	split_part(b, end);
	first = find_part(b, start);
	for (int i = first; start < end && !b->failed; i++) {
		bool gap = i == b->parts.count || part_at(b, i)->start > start;
		uintptr_t stop = i == b->parts.count || part_at(b, i)->start > end ?
				 end : part_at(b, i)->start;

		if (gap)
			insert_part(b, i, (struct part){ start, stop, -1, -1 });
		if (!b->failed)
			start = part_at(b, i)->end;
	}
	return first;
}

static void add_reader(struct builder *b, struct part *part)
{
	struct reader *reader;

	wait_for(b, part->writer);
	reader = grow(b, &b->readers, sizeof(*reader));
	if (!reader)
		return;
	*reader = (struct reader){ b->unit, part->readers };
	part->readers = b->readers.count++;
}

static void add_writer(struct builder *b, struct part *part)
{
	const struct reader *readers = b->readers.items;

	wait_for(b, part->writer);
	for (int i = part->readers; i >= 0; i = readers[i].next)
		wait_for(b, readers[i].unit);
	part->writer = b->unit;
	part->readers = -1;
}

static void add_range(struct builder *b, const void *start, int64_t size, bool write)
{
	uintptr_t end = (uintptr_t)start + (uintptr_t)size;

	if (!start || size <= 0)
		return;
	for (int i = cut_range(b, (uintptr_t)start, end);
	     !b->failed && i < b->parts.count && part_at(b, i)->start < end; i++) {
		if (write)
			add_writer(b, part_at(b, i));
		else
			add_reader(b, part_at(b, i));
	}
}

static void add_value(struct builder *b, int v, bool write)
{
	const struct cnnrt_job *job = b->job;
	const struct cnn_lowered *low = job->program->low;
	const struct cnn_slot *slot = &low->slots[v];
	int producer = job->program->graph->values[v].producer;

	if (!write && producer >= 0)
		wait_for(b, b->unit_of[producer]);
	if (slot->used && job->arena.map)
		add_range(b, (uint8_t *)job->arena.map + slot->offset, slot->bytes, write);
	if (job->values[v].location == RT_AT_HOST)
		add_range(b, job->values[v].t.data, cnn_tensor_bytes(&job->values[v].t), write);
}

static void add_node(struct builder *b, int node)
{
	const struct cnn_node *n = &b->job->program->graph->nodes[node];

	for (int k = 0; k < n->n_in; k++)
		if (n->in[k] >= 0)
			add_value(b, n->in[k], false);
	for (int k = 0; k < n->n_out; k++)
		if (n->out[k] >= 0)
			add_value(b, n->out[k], true);
}

/* Cuts the segments into units, in serial order. */
static void make_units(struct builder *b, struct rt_order *order)
{
	const struct cnn_lowered *low = b->job->program->low;

	for (int s = 0; s < low->n_segments; s++) {
		const struct cnn_segment *seg = &low->segments[s];

		for (int i = 0; i < seg->n_nodes; i++) {
			if (!i || seg->core < 0)
				order->units[order->count++] = (struct rt_unit){
					.segment = s, .node = seg->core < 0 ? seg->nodes[i] : -1,
				};
			b->unit_of[seg->nodes[i]] = order->count - 1;
		}
	}
}

static void add_units(struct builder *b, const struct rt_order *order)
{
	const struct cnn_segment *segments = b->job->program->low->segments;

	for (b->unit = 0; b->unit < order->count && !b->failed; b->unit++) {
		const struct rt_unit *unit = &order->units[b->unit];

		if (unit->node >= 0)
			add_node(b, unit->node);
		for (int i = 0; unit->node < 0 && i < segments[unit->segment].n_nodes; i++)
			add_node(b, segments[unit->segment].nodes[i]);
	}
}

/* Sorts the edges by where they begin. */
static void sort_edges(const struct builder *b, struct rt_order *order)
{
	const struct edge *edges = b->edges.items;
	int *at = b->last; /* by unit: where its next edge goes */

	for (int i = 0; i < b->edges.count; i++) {
		order->first[edges[i].from + 1]++;
		order->waits[edges[i].to]++;
		order->units[edges[i].from].feeds_core |= order->units[edges[i].to].node < 0;
	}
	for (int i = 0; i < order->count; i++) {
		at[i] = order->first[i];
		order->first[i + 1] += order->first[i];
	}
	for (int i = 0; i < b->edges.count; i++)
		order->next[at[edges[i].from]++] = edges[i].to;
}

int rt_order_build(struct cnnrt_job *job, struct cnnrt_error *err)
{
	size_t most = (size_t)job->program->low->n_nodes + 1;
	struct rt_order *order = &job->order;
	struct builder b = { .job = job };

	b.last = calloc(most, sizeof(int));
	b.unit_of = calloc(most, sizeof(int));
	order->units = calloc(most, sizeof(*order->units));
	order->waits = calloc(most, sizeof(int));
	order->first = calloc(most + 1, sizeof(int));
	b.failed = !b.last || !b.unit_of || !order->units || !order->waits || !order->first;
	if (!b.failed) {
		make_units(&b, order);
		add_units(&b, order);
	}
	order->next = calloc((size_t)b.edges.count + 1, sizeof(int));
	b.failed |= !order->next;
	if (!b.failed)
		sort_edges(&b, order);
	free(b.last);
	free(b.unit_of);
	free(b.parts.items);
	free(b.readers.items);
	free(b.edges.items);
	return b.failed ? rt_fail(err, CNNRT_ENOMEM, "job: no memory for the order of %zu "
				  "operators", most - 1) : CNNRT_OK;
}

void rt_order_free(struct rt_order *order)
{
	free(order->units);
	free(order->waits);
	free(order->first);
	free(order->next);
}
