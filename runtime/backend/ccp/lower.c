// SPDX-License-Identifier: MIT
/* Segments of core ccp: the code of their nodes, and what is moved between them. */
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

static int lower_moves(struct ccpc_code *c, const struct ccpc_step *step)
{
	int ret = CNN_OK;

	for (int i = 0; i <= step->n_moves && !ret; i++) {
		if (step->cut && i == step->cut_at) {
			c->pinned = false;
			ret = ccpc_code_flush(c);
		}
		if (i == step->n_moves || ret)
			continue;
		ret = ccpc_unit(c, emit_move, &step->moves[i]);
		c->pinned |= step->moves[i].load;
	}
	return ret;
}

static int lower_store(const struct ccpc_core *core, struct ccpc_code *c, const struct ccpc_node *n)
{
	const struct ccpc_move m = {
		.bank = !c->sel,
		.at = n->out_home.at,
		.line = n->out_line,
		.lines = core->base.lw->out->slots[n->out].bytes / CNNACC_LINE_SIZE,
	};

	return ccpc_unit(c, emit_move, &m);
}

/* next: what the node after it begins with, if that is in the same task. */
static int lower_node(struct ccpc_core *core, struct ccpc_code *c, int index,
		      const struct ccpc_step *step, struct ccpc_chunk next)
{
	struct ccpc_node *n = &core->nodes[index];
	int ret;

	c->node = index;
	n->in_line = ccpc_value_line(core, n->in);
	n->out_line = ccpc_value_line(core, n->out);
	if (n->add >= 0)
		n->add_line = ccpc_value_line(core, n->add);
	ccpc_describe(n, core->base.lw->g->nodes[index].op_type,
		      core->base.lw->out->nodes[index].reason);
	c->next = next;
	ret = lower_moves(c, step);
	c->pinned = step->pinned;
	ccpc_forget_input(c);
	if (!ret && c->sel != step->bank)
		ret = ccpc_unit(c, emit_swap, NULL);
	if (!ret)
		ret = ccpc_emit(c, n);
	if (!ret && step->store)
		ret = lower_store(core, c, n);
	return ret;
}

/* The place in the segment of the first node from place i on that has code. */
static int next_place(const struct ccpc_core *core, const struct cnn_segment *seg, int i)
{
	while (i < seg->n_nodes && core->nodes[seg->nodes[i]].kind == CCP_NONE)
		i++;
	return i;
}

/* Makes the weights of the node at a place; what it begins with. */
static int lower_weights(struct ccpc_core *core, struct ccpc_code *c, const struct cnn_segment *seg,
			 int i, struct ccpc_chunk *first)
{
	struct ccpc_node *n;
	int ret;

	*first = (struct ccpc_chunk){ .lines = 0 };
	if (i == seg->n_nodes)
		return CNN_OK;
	n = &core->nodes[seg->nodes[i]];
	ret = ccpc_weights(c, n);
	*first = n->first;
	return ret;
}

/* The nodes of a segment, with the steps or in the plainest way. */
static int lower_nodes(struct ccpc_core *core, const struct cnn_segment *seg,
		       const struct ccpc_step *steps)
{
	static const struct ccpc_step plain;
	struct ccpc_code c;
	struct ccpc_chunk next;
	int ret, i = next_place(core, seg, 0), after;

	if (ccpc_code_init(&c, &core->hw, core->base.lw))
		return CNN_ENOMEM;
	ret = lower_weights(core, &c, seg, i, &next);
	for (int pos = 0; i < seg->n_nodes && !ret; i = after, pos++) {
		after = next_place(core, seg, i + 1);
		ret = lower_weights(core, &c, seg, after, &next);
		if (after < seg->n_nodes && steps && steps[pos + 1].cut)
			next.lines = 0;
		if (!ret)
			ret = lower_node(core, &c, seg->nodes[i], steps ? &steps[pos] : &plain,
					 next);
		cnn_progress(core->base.lw, after);
	}
	if (!ret)
		ret = ccpc_code_flush(&c);
	ccpc_code_free(&c);
	return ret;
}

/* What lowering a segment adds to, as it was. */
struct mark {
	int64_t program, weights;
	int n_tasks, n_spans;
};

static struct mark take_mark(const struct cnn_compile *lw)
{
	return (struct mark){
		lw->program.len, lw->weights.len, lw->out->n_tasks, lw->out->n_spans,
	};
}

static void go_back(struct cnn_compile *lw, const struct cnn_segment *seg, const struct mark *m)
{
	lw->program.len = m->program;
	lw->weights.len = m->weights;
	lw->out->n_tasks = m->n_tasks;
	lw->out->n_spans = m->n_spans;
	for (int i = 0; i < seg->n_nodes; i++)
		lw->out->nodes[seg->nodes[i]].cost = (struct cnnrt_cost){ .cycles = 0 };
}

/* Positive: it did not work out, and nothing is changed. */
static int lower_kept(struct ccpc_core *core, const struct cnn_segment *seg)
{
	struct ccpc_step *steps = calloc((size_t)seg->n_nodes, sizeof(*steps));
	struct ccpc_node *plain = calloc((size_t)seg->n_nodes, sizeof(*plain));
	struct mark mark = take_mark(core->base.lw);
	int ret = 1;

	for (int i = 0; plain && i < seg->n_nodes; i++)
		plain[i] = core->nodes[seg->nodes[i]];
	if (steps && plain && ccpc_keep(core, seg, steps))
		ret = lower_nodes(core, seg, steps);
	if (ret > 0) {
		go_back(core->base.lw, seg, &mark);
		for (int i = 0; plain && i < seg->n_nodes; i++)
			core->nodes[seg->nodes[i]] = plain[i];
	}
	free(steps);
	free(plain);
	return ret;
}

int ccpc_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct ccpc_core *core = (struct ccpc_core *)base;
	int ret = 1;

	if (!base->lw->no_keep)
		ret = lower_kept(core, seg);
	if (ret > 0)
		ret = lower_nodes(core, seg, NULL);
	if (ret > 0)
		ret = cnn_fail(base->lw->err, CNN_ELIMIT, "a piece of %s grew past a task of %u "
			       "instructions", base->lw->g->nodes[seg->nodes[0]].op_type,
			       core->hw.insns);
	return ret;
}
