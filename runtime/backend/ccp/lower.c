// SPDX-License-Identifier: MIT
/* Segments of core ccp: the code of their nodes, and the moves between them. */
#include <stdlib.h>

#include "ccp.h"

static void emit_move(struct ccpc_code *c, const void *arg)
{
	ccpc_move(c, arg);
}

static void emit_swap(struct ccpc_code *c, const void *arg)
{
	(void)arg;
	ccpc_swap(c);
}

static int lower_moves(struct ccpc_code *c, const struct ccpc_node_schedule *schedule)
{
	int ret = CNN_OK;

	for (int i = 0; i <= schedule->n_moves && !ret; i++) {
		if (schedule->cut && i == schedule->cut_at) {
			c->pinned = false;
			ret = ccpc_code_flush(c);
		}
		if (i == schedule->n_moves || ret)
			continue;
		ret = ccpc_emit_section(c, emit_move, &schedule->moves[i]);
		c->pinned |= schedule->moves[i].load;
	}
	return ret;
}

static int lower_store(const struct ccpc_core *core, struct ccpc_code *c, const struct ccpc_node *n)
{
	const struct ccpc_move m = {
		.bank = !c->read_bank, .at = n->out.bind.at, .line = n->out.line,
		.lines = core->base.compile->out->slots[n->out.value].bytes / CNNACC_LINE_SIZE,
	};

	return ccpc_emit_section(c, emit_move, &m);
}

/* next: first weights of the node after it, if that is in the same task. */
static int lower_node(struct ccpc_core *core, struct ccpc_code *c, int index,
		      const struct ccpc_node_schedule *schedule, struct ccpc_weight_chunk next)
{
	struct ccpc_node *n = &core->nodes[index];
	int ret;

	c->node = index;
	n->in.line = ccpc_value_line(core, n->in.value);
	n->out.line = ccpc_value_line(core, n->out.value);
	if (n->add.value >= 0)
		n->add.line = ccpc_value_line(core, n->add.value);
	ccpc_node_describe(n, core->base.compile->g->nodes[index].op_type,
			   core->base.compile->out->nodes[index].reason);
	c->next = next;
	ret = lower_moves(c, schedule);
	c->pinned = schedule->pinned;
	ccpc_forget_input(c);
	if (!ret && c->read_bank != schedule->bank)
		ret = ccpc_emit_section(c, emit_swap, NULL);
	if (!ret)
		ret = ccpc_node_emit(c, n);
	if (!ret && schedule->store)
		ret = lower_store(core, c, n);
	return ret;
}

/* Index in the segment of the first node with code from index i on. */
static int next_place(const struct ccpc_core *core, const struct cnn_segment *seg, int i)
{
	while (i < seg->n_nodes && core->nodes[seg->nodes[i]].kind == NULL)
		i++;
	return i;
}

/* Packs the weights of the node at index i; sets *first to its first chunk. */
static int lower_weights(struct ccpc_core *core, struct ccpc_code *c, const struct cnn_segment *seg,
			 int i, struct ccpc_weight_chunk *first)
{
	struct ccpc_node *n;
	int ret;

	*first = (struct ccpc_weight_chunk){ .lines = 0 };
	if (i == seg->n_nodes)
		return CNN_OK;
	n = &core->nodes[seg->nodes[i]];
	ret = ccpc_node_weights(c, n);
	*first = n->first;
	return ret;
}

/* Lowers the nodes of a segment. Without schedules, every value passes through memory. */
static int lower_nodes(struct ccpc_core *core, const struct cnn_segment *seg,
		       const struct ccpc_node_schedule *schedules)
{
	static const struct ccpc_node_schedule plain;
	struct ccpc_code c;
	struct ccpc_weight_chunk next;
	int ret, i = next_place(core, seg, 0), after;

	if (ccpc_code_init(&c, &core->hw, core->base.compile))
		return CNN_ENOMEM;
	ret = lower_weights(core, &c, seg, i, &next);
	for (int pos = 0; i < seg->n_nodes && !ret; i = after, pos++) {
		after = next_place(core, seg, i + 1);
		ret = lower_weights(core, &c, seg, after, &next);
		if (after < seg->n_nodes && schedules && schedules[pos + 1].cut)
			next.lines = 0;
		if (!ret)
			ret = lower_node(core, &c, seg->nodes[i],
					 schedules ? &schedules[pos] : &plain, next);
		cnn_progress(core->base.compile, after);
	}
	if (!ret)
		ret = ccpc_code_flush(&c);
	ccpc_code_free(&c);
	return ret;
}

/* Sizes of everything that lowering a segment appends to. */
struct mark {
	int64_t program, weights, addresses;
	int n_tasks, n_spans;
};

static struct mark take_mark(const struct cnn_compile *compile)
{
	return (struct mark){ compile->program.len, compile->weights.len, compile->addresses.len,
			      compile->out->n_tasks, compile->out->n_spans };
}

static void go_back(struct cnn_compile *compile, const struct cnn_segment *seg,
		    const struct mark *m)
{
	compile->program.len = m->program;
	compile->weights.len = m->weights;
	compile->addresses.len = m->addresses;
	compile->out->n_tasks = m->n_tasks;
	compile->out->n_spans = m->n_spans;
	for (int i = 0; i < seg->n_nodes; i++)
		compile->out->nodes[seg->nodes[i]].cost = (struct cnnrt_cost){ .cycles = 0 };
}

/* Lowers with resident values. Positive: it is not possible, and nothing has changed. */
static int lower_resident(struct ccpc_core *core, const struct cnn_segment *seg)
{
	struct ccpc_node_schedule *schedules = calloc((size_t)seg->n_nodes, sizeof(*schedules));
	struct ccpc_node *plain = calloc((size_t)seg->n_nodes, sizeof(*plain));
	struct mark mark = take_mark(core->base.compile);
	int ret = 1;

	for (int i = 0; plain && i < seg->n_nodes; i++)
		plain[i] = core->nodes[seg->nodes[i]];
	if (schedules && plain && ccpc_search_residency(core, seg, schedules))
		ret = lower_nodes(core, seg, schedules);
	if (ret > 0) {
		go_back(core->base.compile, seg, &mark);
		for (int i = 0; plain && i < seg->n_nodes; i++)
			core->nodes[seg->nodes[i]] = plain[i];
	}
	free(schedules);
	free(plain);
	return ret;
}

int ccpc_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct ccpc_core *core = (struct ccpc_core *)base;
	int ret = 1;

	if (!base->compile->no_residency)
		ret = lower_resident(core, seg);
	if (ret > 0)
		ret = lower_nodes(core, seg, NULL);
	if (ret > 0)
		ret = cnn_fail(base->compile->err, CNN_ELIMIT,
			       "%s: a piece of its code exceeds a task's %u instructions",
			       base->compile->g->nodes[seg->nodes[0]].op_type, core->hw.insns);
	return ret;
}
