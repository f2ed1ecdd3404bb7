// SPDX-License-Identifier: MIT
/*
 * The programs of a segment.  Layers that follow each other are one EXEC, as far as their weights
 * fit half the weight DTCM and their instructions half the ITCM; those of the next EXEC are loaded
 * into the other halves meanwhile.
 */
#include <stdlib.h>

#include "enpu.h"

/* Loads or stores a map as a whole, or loads one as if it were larger. */
static void move_map(struct enpuc_emitter *e, const struct enpuc_action *a)
{
	const struct enpuc_layer *l = &e->core->nodes[a->node].layer;
	struct seqc_copy c = {
		.memory = a->at.memory, .va = enpuc_address(e, a->value),
		.local = a->at.word * ENPUC_WORD, .rows = 1, .row_bytes = a->words * ENPUC_WORD,
		.store = a->kind == ENPUC_STORE,
	};
	int64_t pixel = enpuc_groups(l->co) * ENPUC_WORD, count = 1;

	if (a->at.step) {
		c.rows = (a->words - a->pixel) / a->at.step + 1;
		c.row_bytes = c.va_pitch = a->pixel * ENPUC_WORD;
		c.local_pitch = a->at.step * ENPUC_WORD;
	} else if (a->repeat == ENPUC_REPEAT_ROW || a->repeat == ENPUC_REPEAT_PIXEL) {
		bool row = a->repeat == ENPUC_REPEAT_ROW;

		c.rows = row ? l->ho : l->ho * l->wo;
		c.row_bytes = c.local_pitch = row ? l->wo * pixel : pixel;
	} else if (a->repeat == ENPUC_REPEAT_COLUMN) {
		c.rows = l->wo;
		c.row_bytes = c.local_pitch = pixel;
		count = l->ho;
	}
	enpuc_move(e, &c, count, pixel, l->wo * pixel);
}

/* ---- EXECs ---- */

/* Pieces of layers that are one EXEC. */
struct exec {
	struct enpuc_code code;
	int64_t first;			/* instruction */
	int action, piece;		/* behind it */
	bool big;			/* it takes the whole weight DTCM */
	bool loaded;
	struct part_cost {
		int node;
		struct enpuc_cost upto;	/* of it and those before it */
	} *cost;
	int costs;
};

static void free_exec(struct exec *x)
{
	enpuc_code_free(&x->code);
	free(x->cost);
	*x = (struct exec){ .action = 0 };
}

/* Adds a piece at a word of the weight DTCM. */
static void add_part(const struct enpuc_emitter *e, struct exec *x, const struct enpuc_action *a,
		     const struct enpuc_piece *p, int64_t weights)
{
	const struct enpuc_layer *l = &e->core->nodes[a->node].layer;
	struct enpuc_part part = {
		.layer = l, .piece = p, .slab = enpuc_whole(l),
		.bind = &a->bind, .weights = weights,
	};
	struct part_cost *more = reallocarray(x->cost, (size_t)x->costs + 1, sizeof(*more));

	x->code.failed |= !more;
	if (!more)
		return;
	x->cost = more;
	part.slab.h = enpuc_second_rows(l, p->source);
	enpuc_code_add(&x->code, &e->core->hw, &part);
	enpuc_code_pack(&x->code, &part);
	x->cost[x->costs++] = (struct part_cost){ a->node, x->code.cost };
}

/* Adds pieces from where the EXEC says, as far as they fit one half of ITCM and weight DTCM. */
static void add_parts(const struct enpuc_emitter *e, struct exec *x, int64_t bank)
{
	const struct enpuc_hw *hw = &e->core->hw;
	int64_t room = hw->words[CNNACC_ENPU_WEIGHT] / ENPUC_BANKS, insns = hw->insns / ENPUC_BANKS;
	int64_t at = bank * room;

	x->first = bank * insns;
	for (; x->action < e->schedule->count; x->action++, x->piece = 0) {
		const struct enpuc_action *a = &e->schedule->action[x->action];
		const struct enpuc_node *n = &e->core->nodes[a->node];
		int stages = n->layer.concat ? 1 : n->layer.stages;

		if (a->kind != ENPUC_RUN)
			return;
		for (; x->piece < n->plan.pieces; x->piece++) {
			const struct enpuc_piece *p = &n->plan.piece[x->piece];

			if (enpuc_is_in_place(&n->layer, p, &a->bind))
				continue;
			if (x->code.insns && (x->big || at + p->words > (bank + 1) * room ||
					      x->code.insns + stages + 1 > insns))
				return;
			x->big = p->words > room;
			at = x->big ? 0 : at;
			if (!x->code.insns)
				x->code.base = at;
			add_part(e, x, a, p, at);
			at += p->words;
		}
	}
}

static void fill_exec(const struct enpuc_emitter *e, struct exec *x, int64_t bank)
{
	add_parts(e, x, bank);
	enpuc_code_stop(&x->code);
}

static int load_exec(struct enpuc_emitter *e, struct exec *x)
{
	int ret = enpuc_load_weights(e, &x->code) ?: enpuc_load_code(e, &x->code, x->first);

	x->loaded = true;
	return ret;
}

/* Starts it; its clocks are those of the layers, one after the other. */
static void start_exec(struct enpuc_emitter *e, const struct exec *x)
{
	uint64_t slots = 0, useful = 0;

	enpuc_exec(e, x->first);
	for (int i = 0; i < x->costs; i++) {
		const struct enpuc_cost *c = &x->cost[i].upto;

		seqc_start(e->seq, i == x->costs - 1 ? x->code.cost.cycles : c->cycles);
		e->seq->cost.mac_slots += c->slots - slots;
		e->seq->cost.mac_useful += c->useful - useful;
		slots = c->slots;
		useful = c->useful;
		enpuc_tell_cost(e, x->cost[i].node);
	}
}

/* The next RUN from an action on, with only copies before it; -1: there is none. */
static int next_run(const struct enpuc_emitter *e, int i)
{
	for (; i < e->schedule->count; i++) {
		enum enpuc_action_kind kind = e->schedule->action[i].kind;

		if (kind == ENPUC_RUN)
			return i;
		if (kind != ENPUC_LOAD && kind != ENPUC_STORE && kind != ENPUC_SLICE)
			return -1;
	}
	return -1;
}

/* Fills the EXEC behind @x, from action @at on; loads it beside that if nothing of it is in use. */
static int prepare_next(struct enpuc_emitter *e, const struct exec *x, struct exec *next, int at,
			int64_t bank)
{
	*next = (struct exec){ .action = at, .piece = at == x->action ? x->piece : 0 };
	if (at < 0)
		return CNN_OK;
	fill_exec(e, next, bank);
	return x->big || next->big ? CNN_OK : load_exec(e, next);
}

/* The copies between two EXECs. */
static void emit_moves(struct enpuc_emitter *e, int from, int to)
{
	for (; from < to; from++) {
		const struct enpuc_action *a = &e->schedule->action[from];
		const struct enpuc_layer *l = &e->core->nodes[a->node].layer;
		const struct enpuc_slab whole = enpuc_whole(l);

		enpuc_wait(e);
		if (a->kind == ENPUC_SLICE)
			enpuc_load_slice(e, l, &whole, &a->at);
		else
			move_map(e, a);
		enpuc_tell_cost(e, a->node);
	}
}

/* All EXECs from an action on that only copies separate; *i: the action behind them. */
static int emit_runs(struct enpuc_emitter *e, int *i)
{
	struct exec x = { .action = *i }, next;
	int64_t bank = 0;
	int ret = CNN_OK;

	fill_exec(e, &x, bank);
	while (!ret && x.code.insns) {
		int at = next_run(e, x.action);

		enpuc_wait(e);
		ret = x.loaded ? CNN_OK : load_exec(e, &x);
		if (ret)
			break;
		start_exec(e, &x);
		*i = x.action;
		bank = 1 - bank;
		ret = prepare_next(e, &x, &next, at, bank);
		emit_moves(e, x.action, at);
		free_exec(&x);
		x = next;
	}
	free_exec(&x);
	return ret;
}

static int emit_action(struct enpuc_emitter *e, int *i)
{
	const struct enpuc_action *a = &e->schedule->action[*i];

	if (a->kind == ENPUC_CUT || a->kind == ENPUC_SLABS) {
		int ret = enpuc_end(e);

		++*i;
		return ret || a->kind == ENPUC_CUT ? ret : enpuc_emit_slabs(e, a->node);
	}
	if (!e->seq->count)
		enpuc_begin(e);
	if (a->kind == ENPUC_RUN)
		return emit_runs(e, i);
	++*i;
	emit_moves(e, *i - 1, *i);
	return CNN_OK;
}

int enpuc_emit(struct enpuc_emitter *e)
{
	int ret = e->schedule->failed ? enpuc_no_memory(e) : CNN_OK;

	e->seq->compile = e->core->base.compile;
	e->seq->commands_max = e->core->hw.commands;
	e->seq->cycles_max = e->core->hw.cycles_max;
	for (int i = 0; i < e->schedule->count && !ret;)
		ret = emit_action(e, &i);
	ret = ret ?: enpuc_end(e);
	free(e->reads);
	free(e->writes);
	return seqc_finish(e->seq, ret);
}

int enpuc_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	struct enpuc_core *core = (struct enpuc_core *)base;
	struct enpuc_schedule schedule = { .count = 0 };
	struct seqc seq = { .node = seg->nodes[0] };
	struct enpuc_emitter e = { .core = core, .seq = &seq, .schedule = &schedule };
	int ret;

	enpuc_schedule_segment(core, seg, &schedule);
	ret = enpuc_emit(&e);
	free(schedule.action);
	cnn_progress(base->compile, seg->n_nodes);
	return ret;
}

uint64_t enpuc_cycles(struct cnn_backend *base, int lead)
{
	struct enpuc_core *core = (struct enpuc_core *)base;
	struct enpuc_schedule schedule = { .count = 0 };
	struct seqc seq = { .dry = true, .node = lead };
	struct enpuc_emitter e = { .core = core, .seq = &seq, .schedule = &schedule };
	int ret;

	enpuc_schedule_node(core, lead, &schedule);
	ret = enpuc_emit(&e);
	free(schedule.action);
	return ret ? 0 : seq.total;
}
