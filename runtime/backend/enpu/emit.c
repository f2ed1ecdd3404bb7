// SPDX-License-Identifier: MIT
/*
 * The programs of a segment.  Layers that follow each other are one EXEC, as far as their weights
 * fit half the weight DTCM and their instructions half the ITCM; those of the next EXEC are loaded
 * into the other halves meanwhile.
 */
#include <stdlib.h>

#include "enpu.h"

/* ---- programs ---- */

void enpuc_begin(struct enpuc_emitter *e)
{
	seqc_begin(e->seq);
	e->told = (struct cnnrt_cost){ 0 };
	e->first_node = -1;
	e->n_reads = e->n_writes = 0;
	e->restartable = true;
	e->running = false;
}

void enpuc_tell_cost(struct enpuc_emitter *e, int node)
{
	if (e->first_node < 0)
		e->first_node = node;
	e->seq->node = node;
	if (!e->seq->dry)
		cnn_add_cost(&e->core->base.compile->out->nodes[node].cost, &e->seq->cost, &e->told);
	e->told = e->seq->cost;
}

void enpuc_wait(struct enpuc_emitter *e)
{
	if (!e->running)
		return;
	seqc_wait(e->seq, CNNACC_ENPU_WAIT_IDLE);
	seqc_charge(e->seq, 1);
	seqc_idle(e->seq);
	e->running = false;
}

/* The nodes have got all but the boot and END, which are the last one's. */
int enpuc_end(struct enpuc_emitter *e)
{
	struct cnn_lowered *out = e->core->base.compile->out;
	struct cnnrt_cost before;
	struct cnn_task *task;
	int ret, node;

	if (!e->seq->count)
		return CNN_OK;
	enpuc_wait(e);
	node = e->seq->node;
	if (e->seq->dry)
		return seqc_end(e->seq);
	before = out->nodes[node].cost;
	ret = seqc_end(e->seq);
	if (ret)
		return ret;
	out->nodes[node].cost = before;
	cnn_add_cost(&out->nodes[node].cost, &e->seq->cost, &e->told);
	task = &out->tasks[out->n_tasks - 1];
	task->first_node = cnn_min(e->first_node, node);
	task->last_node = cnn_max(e->first_node, node);
	task->restartable = e->restartable;
	return CNN_OK;
}

/* ---- copies ---- */

static bool overlaps(const struct enpuc_range *list, int n, struct enpuc_range r)
{
	for (int i = 0; i < n; i++)
		if (list[i].from < r.to && r.from < list[i].to)
			return true;
	return false;
}

static void add_range(struct enpuc_emitter *e, struct enpuc_range **list, int *n,
		      struct enpuc_range r)
{
	void *more = reallocarray(*list, (size_t)*n + 1, sizeof(r));

	e->seq->failed |= !more;
	if (!more)
		return;
	*list = more;
	(*list)[(*n)++] = r;
}

/* A program that writes what it has read from an earlier one cannot run again. */
static void note_range(struct enpuc_emitter *e, bool store, struct enpuc_range r)
{
	if (store) {
		e->restartable &= !overlaps(e->reads, e->n_reads, r);
		add_range(e, &e->writes, &e->n_writes, r);
	} else if (!overlaps(e->writes, e->n_writes, r)) {
		add_range(e, &e->reads, &e->n_reads, r);
	}
}

void enpuc_move(struct enpuc_emitter *e, const struct seqc_copy *c, int64_t count,
		int64_t va_advance, int64_t local_advance)
{
	const struct enpuc_range r = {
		c->va, c->va + (count - 1) * va_advance + (c->rows - 1) * c->va_pitch + c->row_bytes,
	};

	if (!c->weights)
		note_range(e, c->store, r);
	if (count > 1)
		seqc_copy_loop(e->seq, c, count, va_advance, local_advance);
	else
		seqc_copy(e->seq, c);
}

int64_t enpuc_keep(struct enpuc_emitter *e, const void *data, int64_t bytes)
{
	struct cnn_compile *compile = e->core->base.compile;
	int64_t at;

	if (e->seq->dry)
		return CNN_VA_WEIGHTS;
	at = cnn_image_add(compile, &compile->weights, bytes, CNNACC_LINE_SIZE);
	if (at < 0)
		return at;
	for (int64_t i = 0; i < bytes; i++)
		compile->weights.data[at + i] = ((const uint8_t *)data)[i];
	return CNN_VA_WEIGHTS + at;
}

static int load(struct enpuc_emitter *e, uint32_t memory, const void *data, int64_t bytes,
		int64_t local)
{
	int64_t va = bytes ? enpuc_keep(e, data, bytes) : 0;
	const struct seqc_copy c = {
		.memory = memory, .va = va, .local = local, .rows = 1, .row_bytes = bytes,
		.weights = true,
	};

	if (va < 0)
		return (int)va;
	if (bytes)
		seqc_copy(e->seq, &c);
	return CNN_OK;
}

static int no_memory(struct enpuc_emitter *e)
{
	return cnn_fail(e->core->base.compile->err, CNN_ENOMEM, "no memory for programs of enpu");
}

int enpuc_load_code(struct enpuc_emitter *e, const struct enpuc_code *c, int64_t first)
{
	const int64_t insn = CNNACC_ENPU_INSN_BYTES, record = CNNACC_ENPU_RECORD_BYTES;

	if (c->failed)
		return no_memory(e);
	return load(e, CNNACC_ENPU_ITCM, c->insn, c->insns * insn, first * insn) ?:
	       load(e, CNNACC_ENPU_TABLE, c->record, (c->insns - 1) * record, first * record);
}

int enpuc_load_weights(struct enpuc_emitter *e, const struct enpuc_code *c)
{
	if (c->failed)
		return no_memory(e);
	return load(e, CNNACC_ENPU_WEIGHT, c->weights, c->words * ENPUC_WORD, c->base * ENPUC_WORD);
}

void enpuc_exec(struct enpuc_emitter *e, int64_t first)
{
	const uint32_t words[4] = { CNNACC_ENPU_RUN };

	seqc_exec_wide(e->seq, words, (uint32_t)first, 0);
	seqc_charge(e->seq, 1);
	e->running = true;
}

int64_t enpuc_address(const struct enpuc_emitter *e, int value)
{
	if (e->seq->dry)
		return CNN_VA_ARENA;
	return CNN_VA_ARENA + e->core->base.compile->out->slots[value].offset;
}

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

	if (a->repeat == ENPUC_REPEAT_ROW || a->repeat == ENPUC_REPEAT_PIXEL) {
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
	const struct enpuc_part part = {
		.layer = l, .piece = p, .slab = enpuc_whole(l),
		.bind = &a->bind, .weights = weights,
	};
	struct part_cost *more = reallocarray(x->cost, (size_t)x->costs + 1, sizeof(*more));

	x->code.failed |= !more;
	if (!more)
		return;
	x->cost = more;
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
		if (kind != ENPUC_LOAD && kind != ENPUC_STORE)
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

		enpuc_wait(e);
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
	int ret = e->schedule->failed ? no_memory(e) : CNN_OK;

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
