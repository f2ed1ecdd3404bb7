// SPDX-License-Identifier: MIT
/* Placement of nodes, segments and the arena: what does not depend on the kind of core. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const struct lw_core_ops *const core_ops[] = {
#define CORE(name) &lw_##name,
#include "cores.def"
#undef CORE
};

/* Scratch of one cnn_lower. */
struct lowering {
	struct lw lw;
	struct lw_core **cores;	/* NULL where no compiler or not wanted */
	int n_cores;
	int *root;		/* value whose memory a value shares; itself if none */
	int *first, *last;	/* life of a root's memory, in node indices */
	bool *shared;		/* a root whose memory the caller may provide */
};

bool lw_no(char *reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, CNN_REASON_LEN, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- images ---------------------------------------------------------------------------- */

static int64_t buf_grow(struct lw *lw, struct lw_buf *b, int64_t need)
{
	int64_t cap = lw_max(b->cap * 2, lw_round_up(need, 4096));
	uint8_t *data = realloc(b->data, (size_t)cap);

	if (!data)
		return cnn_fail(lw->err, CNN_ENOMEM, "no memory for %lld bytes of %s",
				(long long)cap, b->what);
	b->data = data;
	b->cap = cap;
	return 0;
}

int64_t lw_buf_add(struct lw *lw, struct lw_buf *b, int64_t len, int64_t align)
{
	int64_t at = lw_round_up(b->len, align);

	if (len > b->max - at)
		return cnn_fail(lw->err, CNN_ELIMIT, "%s would exceed %lld bytes", b->what,
				(long long)b->max);
	if (at + len > b->cap && buf_grow(lw, b, at + len))
		return CNN_ENOMEM;
	memset(b->data + b->len, 0, (size_t)(at + len - b->len));
	b->len = at + len;
	return at;
}

struct cnn_task *lw_add_task(struct lw *lw, const void *program, uint32_t length)
{
	struct cnn_lowered *out = lw->out;
	int64_t at = lw_buf_add(lw, &lw->program, length, CNNACC_LINE_SIZE);

	if (at < 0)
		return NULL;
	memcpy(lw->program.data + at, program, length);
	if (out->n_tasks == lw->task_cap) {
		int cap = lw->task_cap ? 2 * lw->task_cap : 64;
		struct cnn_task *tasks = realloc(out->tasks, (size_t)cap * sizeof(*tasks));

		if (!tasks) {
			cnn_fail(lw->err, CNN_ENOMEM, "no memory for %d tasks", cap);
			return NULL;
		}
		out->tasks = tasks;
		lw->task_cap = cap;
	}
	out->tasks[out->n_tasks] = (struct cnn_task){ .offset = at, .length = length };
	return &out->tasks[out->n_tasks++];
}

/* ---- placement ------------------------------------------------------------------------- */

static void value_text(const struct cnn_graph *g, int v, char *buf, size_t len)
{
	char shape[80];

	snprintf(buf, len, "%.40s %s", g->values[v].name,
		 cnn_tensor_describe(&g->values[v].t, shape, sizeof(shape)));
}

/* Gives an input the layout that its value already has in the arena. */
static bool fit_layout(const struct lowering *x, struct lw_io *io, char *reason)
{
	const struct cnn_slot *slot = &x->lw.out->slots[io->value];
	const struct cnn_layout want = io->layout;
	char text[120];

	if (!slot->used)
		return true;
	if (lw_view(&slot->layout, want.n, want.c, want.plane, &io->layout))
		return true;
	value_text(x->lw.g, io->value, text, sizeof(text));
	return lw_no(reason, "input %s lies in the arena with gaps between its planes", text);
}

static void use_slot(struct lowering *x, const struct lw_io *io)
{
	struct cnn_slot *slot = &x->lw.out->slots[io->value];

	if (slot->used)
		return;
	slot->used = true;
	slot->layout = io->layout;
	slot->bytes = lw_round_up(lw_layout_floats(&io->layout) * (int64_t)sizeof(float),
				  CNNACC_LINE_SIZE);
}

static bool place_on(struct lowering *x, int core, int node, char *reason)
{
	struct lw_core *c = x->cores[core];
	struct lw_fit fit = { 0 };

	if (!c->ops->match(c, node, &fit, reason))
		return false;
	for (int i = 0; i < fit.n_in; i++)
		if (!fit_layout(x, &fit.in[i], reason))
			return false;
	if (!c->ops->plan(c, node, &fit, reason))
		return false;
	for (int i = 0; i < fit.n_in; i++)
		use_slot(x, &fit.in[i]);
	use_slot(x, &fit.out);
	return true;
}

static bool is_renaming(enum cnn_op op)
{
	return op == CNN_OP_RESHAPE || op == CNN_OP_FLATTEN || op == CNN_OP_SQUEEZE ||
	       op == CNN_OP_UNSQUEEZE || op == CNN_OP_IDENTITY || op == CNN_OP_DROPOUT;
}

/* An operator that only renames a value which a core made costs nothing if no gap is in the way. */
static bool place_renaming(struct lowering *x, int node, int *core)
{
	const struct cnn_graph *g = x->lw.g;
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *to = cnn_node_out(g, n, 0);
	int from = n->in[0], producer = from >= 0 ? g->values[from].producer : -1;
	struct lw_io io = { .value = n->out[0] };
	int64_t plane = 1;

	if (producer < 0 || x->lw.out->nodes[producer].core < 0 || n->act.kind != CNN_ACT_NONE)
		return false;
	if (!x->lw.out->slots[from].used || !to || to->rank < 0 || (n->n_out > 1 && n->out[1] >= 0))
		return false;
	for (int i = 2; i < to->rank; i++)
		plane *= to->dims[i];
	if (!lw_view(&x->lw.out->slots[from].layout, to->rank > 1 ? to->dims[0] : 1,
		     to->rank > 1 ? to->dims[1] : to->rank ? to->dims[0] : 1, plane, &io.layout))
		return false;
	use_slot(x, &io);
	x->root[io.value] = x->root[from];
	*core = x->lw.out->nodes[producer].core;
	return true;
}

static void place_node(struct lowering *x, int node)
{
	const struct cnn_node *n = &x->lw.g->nodes[node];
	struct cnn_placement *p = &x->lw.out->nodes[node];

	p->core = CNN_ON_CPU;
	p->macs = cnn_node_macs(x->lw.g, n);
	lw_no(p->reason, "%s: no core was asked for", n->op_type);
	if (is_renaming(n->op) && place_renaming(x, node, &p->core)) {
		lw_no(p->reason, "%s: renames a value in the arena", n->op_type);
		return;
	}
	for (int i = 0; i < x->n_cores; i++) {
		if (!x->cores[i])
			continue;
		if (place_on(x, i, node, p->reason)) {
			p->core = i;
			return;
		}
	}
}

/* ---- segments -------------------------------------------------------------------------- */

static int cut_segments(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;
	struct cnn_segment *seg = NULL;

	out->segments = calloc((size_t)out->n_nodes + 1, sizeof(*out->segments));
	if (!out->segments)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for segments");
	for (int i = 0; i < out->n_nodes; i++) {
		if (!seg || seg->core != out->nodes[i].core) {
			seg = &out->segments[out->n_segments++];
			seg->core = out->nodes[i].core;
			seg->first_node = i;
		}
		seg->n_nodes++;
		out->nodes[i].segment = out->n_segments - 1;
	}
	return CNN_OK;
}

static bool in_segment(const struct cnn_segment *seg, int node)
{
	return node >= seg->first_node && node < seg->first_node + seg->n_nodes;
}

static bool is_read_outside(const struct cnn_graph *g, const struct cnn_segment *seg, int v)
{
	const struct cnn_value *val = &g->values[v];

	/* Consumers ascend. */
	return val->is_output || (val->n_consumers &&
	       !in_segment(seg, val->consumers[val->n_consumers - 1]));
}

static int compare_int(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Sorts and drops repeats. */
static int unique(int *list, int n)
{
	int kept = 0;

	qsort(list, (size_t)n, sizeof(*list), compare_int);
	for (int i = 0; i < n; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

static void collect_io(const struct cnn_graph *g, const struct cnn_slot *slots,
		       struct cnn_segment *seg)
{
	for (int i = seg->first_node; i < seg->first_node + seg->n_nodes; i++) {
		const struct cnn_node *n = &g->nodes[i];

		for (int k = 0; k < n->n_in; k++) {
			int v = n->in[k];

			if (v >= 0 && slots[v].used && !in_segment(seg, g->values[v].producer))
				seg->in[seg->n_in++] = v;
		}
		for (int k = 0; k < n->n_out; k++) {
			int v = n->out[k];

			if (v >= 0 && slots[v].used && is_read_outside(g, seg, v))
				seg->out[seg->n_out++] = v;
		}
	}
}

static int segment_io(struct lowering *x, struct cnn_segment *seg)
{
	const struct cnn_graph *g = x->lw.g;
	size_t ins = 0, outs = 0;

	for (int i = seg->first_node; i < seg->first_node + seg->n_nodes; i++) {
		ins += (size_t)g->nodes[i].n_in;
		outs += (size_t)g->nodes[i].n_out;
	}
	seg->in = calloc(ins + 1, sizeof(int));
	seg->out = calloc(outs + 1, sizeof(int));
	if (!seg->in || !seg->out)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for segments");
	collect_io(g, x->lw.out->slots, seg);
	seg->n_in = unique(seg->in, seg->n_in);
	seg->n_out = unique(seg->out, seg->n_out);
	/* extend_life keeps what comes from outside, and outputs never lie on it. */
	seg->restartable = true;
	return CNN_OK;
}

/* ---- arena ----------------------------------------------------------------------------- */

static void live(struct lowering *x, int value, int node)
{
	int r = x->root[value];

	if (node < x->first[r])
		x->first[r] = node;
	if (node > x->last[r])
		x->last[r] = node;
}

/*
 * A value lives from the node that makes it to the last that reads it. What a segment reads from
 * outside lives to its end, so that a segment may be run again from its start.
 */
static void find_lives(struct lowering *x)
{
	const struct cnn_graph *g = x->lw.g;
	const struct cnn_lowered *out = x->lw.out;

	for (int v = 0; v < out->n_values; v++) {
		const struct cnn_value *val = &g->values[v];

		if (!out->slots[v].used)
			continue;
		live(x, v, val->producer);
		if (val->n_consumers)
			live(x, v, val->consumers[val->n_consumers - 1]);
		if (val->is_output)
			live(x, v, out->n_nodes);
	}
	for (int i = 0; i < out->n_segments; i++) {
		const struct cnn_segment *seg = &out->segments[i];

		for (int k = 0; k < seg->n_in && seg->core >= 0; k++)
			live(x, seg->in[k], seg->first_node + seg->n_nodes - 1);
	}
}

struct block {
	int64_t offset, end;
	int last;
};

static int first_of(const void *a, const void *b, void *arg)
{
	const int *first = ((struct lowering *)arg)->first;
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
		offset = lw_max(offset, blocks[*at].end);
	}
	return offset;
}

static int drop_dead(struct block *blocks, int n, int node)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (blocks[i].last >= node)
			blocks[kept++] = blocks[i];
	return kept;
}

static int place_blocks(struct lowering *x, const int *order, int count, struct block *blocks)
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
					(long long)CNN_ARENA_MAX, x->lw.g->values[order[i]].name);
		memmove(&blocks[at + 1], &blocks[at], (size_t)(n - at) * sizeof(*blocks));
		blocks[at] = (struct block){ slot->offset, slot->offset + slot->bytes,
					     x->last[order[i]] };
		n++;
		out->arena_bytes = lw_max(out->arena_bytes, slot->offset + slot->bytes);
	}
	return CNN_OK;
}

/* May value v have pages of its own? Not if two of the caller's buffers would have to be there. */
static bool is_callers(const struct lowering *x, int v)
{
	const struct cnn_value *val = &x->lw.g->values[v];
	const struct cnn_slot *slot = &x->lw.out->slots[v];

	return slot->used && (val->is_input || val->is_output) && cnn_layout_dense(&slot->layout);
}

static void find_callers(struct lowering *x, int *callers)
{
	int values = x->lw.out->n_values;

	memset(callers, 0, (size_t)values * sizeof(*callers));
	for (int v = 0; v < values; v++)
		if (is_callers(x, v))
			callers[x->root[v]]++;
	for (int v = 0; v < values; v++)
		x->lw.out->slots[v].own_pages = is_callers(x, v) && callers[x->root[v]] == 1;
}

/* Behind everything else, each at a page: the values whose memory the caller may provide. */
static int place_callers(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;

	for (int v = 0; v < out->n_values; v++) {
		struct cnn_slot *slot = &out->slots[x->root[v]];

		if (!out->slots[v].own_pages)
			continue;
		slot->offset = lw_round_up(out->arena_bytes, CNNACC_PAGE_SIZE);
		out->arena_bytes = slot->offset + lw_round_up(slot->bytes, CNNACC_PAGE_SIZE);
		if (out->arena_bytes > CNN_ARENA_MAX)
			return cnn_fail(x->lw.err, CNN_ELIMIT,
					"activations would exceed %lld bytes at %s",
					(long long)CNN_ARENA_MAX, x->lw.g->values[v].name);
	}
	return CNN_OK;
}

static int plan_arena(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;
	int *order = calloc((size_t)out->n_values + 1, sizeof(*order));
	struct block *blocks = calloc((size_t)out->n_values + 1, sizeof(*blocks));
	int count = 0, ret;

	if (!order || !blocks) {
		free(order);
		free(blocks);
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for the arena's plan");
	}
	find_callers(x, order);
	for (int v = 0; v < out->n_values; v++)
		x->shared[x->root[v]] |= out->slots[v].own_pages;
	for (int v = 0; v < out->n_values; v++)
		if (out->slots[v].used && x->root[v] == v && !x->shared[v])
			order[count++] = v;
	qsort_r(order, (size_t)count, sizeof(*order), first_of, x);
	ret = place_blocks(x, order, count, blocks);
	if (!ret)
		ret = place_callers(x);
	for (int v = 0; v < out->n_values; v++)
		out->slots[v].offset = out->slots[x->root[v]].offset;
	free(order);
	free(blocks);
	return ret;
}

/* ---- the whole ------------------------------------------------------------------------- */

static const struct lw_core_ops *find_ops(uint32_t type)
{
	for (size_t i = 0; i < sizeof(core_ops) / sizeof(core_ops[0]); i++)
		if (core_ops[i]->type == type)
			return core_ops[i];
	return NULL;
}

static bool is_wanted(const struct cnn_core *core, const struct cnn_lower_options *opt)
{
	if (opt && (opt->cpu_only || (opt->force_core && opt->force_core != core->type)))
		return false;
	return find_ops(core->type) != NULL;
}

unsigned int cnn_lower_fuse_mask(const struct cnn_core *cores, int n_cores,
				 const struct cnn_lower_options *opt)
{
	unsigned int mask = CNN_FUSE_ALL;

	for (int i = 0; i < n_cores; i++)
		if (is_wanted(&cores[i], opt))
			mask &= find_ops(cores[i].type)->fuse;
	return mask;
}

static int open_cores(struct lowering *x, const struct cnn_core *cores, int n_cores,
		      const struct cnn_lower_options *opt)
{
	x->cores = calloc((size_t)n_cores + 1, sizeof(*x->cores));
	if (!x->cores)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for cores");
	x->n_cores = n_cores;
	for (int i = 0; i < n_cores; i++) {
		if (!is_wanted(&cores[i], opt))
			continue;
		x->cores[i] = find_ops(cores[i].type)->open(&x->lw, &cores[i]);
		if (!x->cores[i])
			return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for cores");
	}
	return CNN_OK;
}

static int alloc_results(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;
	size_t values = (size_t)x->lw.g->n_values + 1;

	out->n_nodes = x->lw.g->n_nodes;
	out->n_values = x->lw.g->n_values;
	out->nodes = calloc((size_t)out->n_nodes + 1, sizeof(*out->nodes));
	out->slots = calloc(values, sizeof(*out->slots));
	x->root = calloc(values, sizeof(int));
	x->first = calloc(values, sizeof(int));
	x->last = calloc(values, sizeof(int));
	x->shared = calloc(values, sizeof(bool));
	if (!out->nodes || !out->slots || !x->root || !x->first || !x->last || !x->shared)
		return cnn_fail(x->lw.err, CNN_ENOMEM, "no memory for %d nodes", out->n_nodes);
	for (int v = 0; v < out->n_values; v++) {
		x->root[v] = v;
		x->first[v] = out->n_nodes;
		x->last[v] = -1;
	}
	return CNN_OK;
}

static int lower_segments(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;

	for (int i = 0; i < out->n_segments; i++) {
		struct cnn_segment *seg = &out->segments[i];
		int ret;

		if (seg->core < 0)
			continue;
		seg->first_task = out->n_tasks;
		ret = x->cores[seg->core]->ops->lower(x->cores[seg->core], seg);
		if (ret)
			return ret;
		seg->n_tasks = out->n_tasks - seg->first_task;
	}
	return CNN_OK;
}

static int lower_graph(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;
	int ret = cut_segments(x);

	for (int i = 0; i < out->n_segments && !ret; i++)
		if (out->segments[i].core >= 0)
			ret = segment_io(x, &out->segments[i]);
	if (ret)
		return ret;
	find_lives(x);
	ret = plan_arena(x);
	if (ret)
		return ret;
	ret = lower_segments(x);
	for (int i = 0; i < out->n_nodes; i++) {
		out->macs = cnn_add_sat(out->macs, out->nodes[i].macs);
		if (out->nodes[i].core >= 0)
			out->device_macs = cnn_add_sat(out->device_macs, out->nodes[i].macs);
	}
	return ret;
}

static void close_lowering(struct lowering *x)
{
	struct cnn_lowered *out = x->lw.out;

	for (int i = 0; i < x->n_cores; i++)
		if (x->cores[i])
			x->cores[i]->ops->close(x->cores[i]);
	free(x->cores);
	free(x->root);
	free(x->first);
	free(x->last);
	free(x->shared);
	out->program = x->lw.program.data;
	out->program_bytes = x->lw.program.len;
	out->weights = x->lw.weights.data;
	out->weight_bytes = x->lw.weights.len;
}

int cnn_lower(const struct cnn_graph *g, const struct cnn_core *cores, int n_cores,
	      const struct cnn_lower_options *opt, struct cnn_lowered **out, struct cnn_err *err)
{
	struct lowering x = {
		.lw = {
			.g = g, .err = err,
			.program = { .max = CNN_PROGRAM_MAX, .what = "programs" },
			.weights = { .max = CNN_WEIGHTS_MAX, .what = "weights" },
		},
	};
	int ret;

	*out = NULL;
	x.lw.out = calloc(1, sizeof(*x.lw.out));
	if (!x.lw.out)
		return cnn_fail(err, CNN_ENOMEM, "no memory for a compiled network");
	ret = alloc_results(&x);
	if (!ret)
		ret = open_cores(&x, cores, n_cores, opt);
	for (int i = 0; i < g->n_nodes && !ret; i++)
		place_node(&x, i);
	if (!ret)
		ret = lower_graph(&x);
	close_lowering(&x);
	if (ret)
		cnn_lowered_free(x.lw.out);
	else
		*out = x.lw.out;
	return ret;
}

void cnn_lowered_free(struct cnn_lowered *l)
{
	if (!l)
		return;
	for (int i = 0; i < l->n_segments; i++) {
		free(l->segments[i].in);
		free(l->segments[i].out);
	}
	free(l->segments);
	free(l->nodes);
	free(l->slots);
	free(l->tasks);
	free(l->program);
	free(l->weights);
	free(l);
}
