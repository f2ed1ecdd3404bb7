/* SPDX-License-Identifier: MIT */
/* Placement, slots, segments, tasks and spans in a program file. */
#include "file.h"

#include <stdio.h>
#include <string.h>

#if __SIZEOF_POINTER__ == 8
/* A new field must be added to the walk, unless it does not belong in the file. */
_Static_assert(sizeof(struct cnn_placement) == 344, "struct cnn_placement and its walk");
_Static_assert(sizeof(struct cnn_slot) == 240, "struct cnn_slot and its walk");
_Static_assert(sizeof(struct cnn_task) == 48, "struct cnn_task and its walk");
_Static_assert(sizeof(struct cnn_segment) == 64, "struct cnn_segment and its walk");
_Static_assert(sizeof(struct cnnrt_span) == 32, "struct cnnrt_span and its walk");
_Static_assert(sizeof(struct cnnrt_cost) == 136, "struct cnnrt_cost and its walk");
_Static_assert(sizeof(struct cnn_lowered) == 152, "struct cnn_lowered and its walk");
#endif

#define MAX_COUNT	((int64_t)1 << 62)	/* of work */

/* The file has the index of the core's need; in memory it is the index of the device's core. */
static void walk_core(struct rt_archive *a, int *core)
{
	int k = CNN_ON_CPU;

	for (int i = 0; a->writing && i < a->need_count; i++)
		if (a->need[i].core == *core)
			k = i;
	rt_ar_int(a, &k, CNN_ON_CPU, a->need_count - 1, "core");
	if (!a->writing)
		*core = a->code || k < 0 ? CNN_ON_CPU : a->need[k].core;
}

/* For a report only: no need of the program. The file has a core's name; "" is nowhere. */
static void walk_next_core(struct rt_archive *a, int *core)
{
	const struct cnnrt_program *p = a->program;
	char name[sizeof(p->core[0].name)] = "";

	if (a->writing && *core >= CNN_ON_CPU)
		snprintf(name, sizeof(name), "%s", *core < 0 ? "cpu" : p->core[*core].name);
	rt_ar_chars(a, name, sizeof(name), "place");
	if (a->writing)
		return;
	*core = strcmp(name, "cpu") ? CNN_NOWHERE : CNN_ON_CPU;
	for (int i = (int)p->core_count - 1; i >= 0; i--)
		if (!strcmp(name, p->core[i].name))
			*core = i;
}

static void walk_placement(struct rt_archive *a, struct cnn_placement *p)
{
	walk_core(a, &p->core);
	rt_ar_chars(a, p->reason, sizeof(p->reason), "reason");
	rt_ar_i64(a, &p->macs, 0, MAX_COUNT, "multiply-adds");
	rt_ar_bytes(a, &p->cost, sizeof(p->cost)); /* only 64-bit numbers */
	rt_ar_i64(a, &p->cost_ns, 0, INT64_MAX, "cost in ns");
	walk_next_core(a, &p->next_core);
	rt_ar_i64(a, &p->next_ns, 0, INT64_MAX, "cost in ns elsewhere");
}

static void walk_layout(struct rt_archive *a, struct cnn_layout *l)
{
	for (int i = 0; i < CNN_DIMS; i++)
		rt_ar_i64(a, &l->dims[i], 0, CNN_ARENA_MAX, "size of a layout");
	rt_ar_i64(a, &l->axes, 0, CNN_AXES_MAX, "axes of a layout");
	for (int64_t i = 0; i < l->axes; i++) {
		struct cnn_axis *axis = &l->axis[i];

		rt_ar_i64(a, &axis->dim, 0, CNN_DIMS - 1, "dimension of an axis");
		rt_ar_i64(a, &axis->extent, 0, CNN_ARENA_MAX, "extent of an axis");
		rt_ar_i64(a, &axis->stride, 0, CNN_ARENA_MAX, "stride of an axis");
	}
	rt_ar_i64(a, &l->size, 1, 8, "bytes of an element");
	rt_ar_i64(a, &l->half, 0, 1, "whether elements are rounded to float16");
	rt_ar_i64(a, &l->codes, 0, INT8_MAX, "packed format of an element");
	if (l->codes && !cnn_packed_format(l->codes))
		rt_ar_fail(a, CNNRT_EUNSUPPORTED, "program file: no packed format %lld",
			   (long long)l->codes);
}

static void walk_slot(struct rt_archive *a, struct cnn_slot *s)
{
	rt_ar_bool(a, &s->used);
	if (!s->used)
		return;
	rt_ar_i64(a, &s->offset, 0, CNN_ARENA_MAX, "offset in the arena");
	rt_ar_i64(a, &s->bytes, 0, CNN_ARENA_MAX, "bytes in the arena");
	rt_ar_bool(a, &s->own_pages);
	walk_layout(a, &s->layout);
}

static void walk_indices(struct rt_archive *a, int **list, int *n, int below, const char *what)
{
	rt_ar_list(a, n, below, (void **)list, sizeof(**list), what);
	for (int i = 0; i < *n; i++)
		rt_ar_int(a, &(*list)[i], 0, below - 1, what);
}

static void walk_segment(struct rt_archive *a, struct cnn_segment *s, const struct cnn_lowered *l)
{
	walk_core(a, &s->core);
	walk_indices(a, &s->nodes, &s->n_nodes, l->n_nodes, "operators of a segment");
	rt_ar_int(a, &s->first_task, 0, l->n_tasks, "first task of a segment");
	rt_ar_int(a, &s->n_tasks, 0, l->n_tasks, "tasks of a segment");
	rt_ar_bool(a, &s->restartable);
	walk_indices(a, &s->in, &s->n_in, l->n_values, "values that a segment reads");
	walk_indices(a, &s->out, &s->n_out, l->n_values, "values that a segment makes");
}

static void walk_task(struct rt_archive *a, struct cnn_task *t, int nodes)
{
	rt_ar_i64(a, &t->offset, 0, CNN_PROGRAM_MAX, "offset of a program");
	rt_ar_u32(a, &t->length);
	rt_ar_u64(a, &t->cycles);
	rt_ar_u64(a, &t->cycle_limit);
	rt_ar_bool(a, &t->restartable);
	rt_ar_int(a, &t->first_node, 0, nodes - 1, "first operator of a task");
	rt_ar_int(a, &t->last_node, 0, nodes - 1, "last operator of a task");
}

static void walk_span(struct rt_archive *a, struct cnnrt_span *s, const struct cnn_lowered *l)
{
	int op = (int)s->op, task = (int)s->task, what = (int)s->what;

	rt_ar_int(a, &op, 0, l->n_nodes - 1, "operator of a span");
	rt_ar_int(a, &task, 0, l->n_tasks - 1, "task of a span");
	rt_ar_int(a, &what, CNNRT_CONTROL, CNNRT_DMA_STORE, "activity of a span");
	walk_core(a, &s->core);
	rt_ar_u64(a, &s->start);
	rt_ar_u64(a, &s->end);
	if (a->writing)
		return;
	s->op = (unsigned int)op;
	s->task = (unsigned int)task;
	s->what = (enum cnnrt_activity)what;
	if (s->core < 0 || s->start > s->end)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: a span on no core, or one that ends "
			   "before it starts");
}

void rt_ar_lowered(struct rt_archive *a, struct cnn_lowered *l)
{
	rt_ar_u64(a, &l->target_hash);
	rt_ar_i64(a, &l->ns, 0, INT64_MAX, "time of the program");
	rt_ar_i64(a, &l->arena_bytes, 0, CNN_ARENA_MAX, "size of the arena");
	rt_ar_list(a, &l->n_nodes, CNN_MAX_NODES, (void **)&l->nodes, sizeof(*l->nodes),
		   "placements");
	for (int i = 0; i < l->n_nodes; i++)
		walk_placement(a, &l->nodes[i]);
	rt_ar_list(a, &l->n_values, CNN_MAX_VALUES, (void **)&l->slots, sizeof(*l->slots),
		   "slots");
	for (int i = 0; i < l->n_values; i++)
		walk_slot(a, &l->slots[i]);
	rt_ar_list(a, &l->n_tasks, INT32_MAX / 2, (void **)&l->tasks, sizeof(*l->tasks), "tasks");
	for (int i = 0; i < l->n_tasks; i++)
		walk_task(a, &l->tasks[i], l->n_nodes);
	rt_ar_list(a, &l->n_segments, CNN_MAX_NODES, (void **)&l->segments, sizeof(*l->segments),
		   "segments");
	for (int i = 0; i < l->n_segments; i++)
		walk_segment(a, &l->segments[i], l);
	rt_ar_list(a, &l->n_spans, CNN_SPANS_MAX, (void **)&l->spans, sizeof(*l->spans), "spans");
	for (int i = 0; i < l->n_spans; i++)
		walk_span(a, &l->spans[i], l);
	rt_ar_list(a, &l->n_addresses, CNN_PROGRAM_MAX / 4, (void **)&l->addresses,
		   sizeof(*l->addresses), "addresses in programs");
	rt_ar_bytes(a, l->addresses, (size_t)l->n_addresses * sizeof(*l->addresses));
}
