// SPDX-License-Identifier: MIT
/*
 * Core sample: sums of INT8 maps (Documentation/hardware/sample.rst). A node is cut into tiles
 * of half a bank; while one is added, the next is loaded into the other bank. A sum that is added
 * to a third map stays in the bank for that: both nodes are one unit, with three inputs.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cnnacc_sample.h>

#include "backend/sequencer.h"
#include "ops/quant.h"

#define TILES		4	/* of a map that would fit fewer: only tiles overlap each other */
#define SUMS		8	/* of a unit */
#define SUM_COMMANDS	4	/* COPY2D, EXEC, WAIT, COPY2D; the first has a COPY2D more */

/* A sum in place of one of its terms: the words of its instruction. */
struct sum {
	int term, result;		/* values */
	bool stored;
	uint32_t insn[4], operand;
};

/* A unit: sums, each of which is a term of the next. */
struct node {
	int first;			/* value: the other term of the first sum */
	struct sum sum[SUMS];
	int sums;			/* 0: none, or another node leads its unit */
	int64_t elements, tile;		/* of the map, of a tile */
};

struct core {
	struct cnn_backend base;
	int64_t half, commands;		/* bytes of half a bank; of a program */
	struct node *nodes;		/* by node index */
};

/* Most that a tile of half a bank takes, without boot and END. */
static uint64_t tile_cycles(const struct core *core, int sums)
{
	uint64_t lines = (uint64_t)core->half / CNNACC_LINE_SIZE + 1;

	return (uint64_t)sums * (3 * (17 + lines) + 6 +
				 (uint64_t)core->half / CNNACC_SAMPLE_LANES);
}

static int64_t tile_commands(int sums)
{
	return 1 + (int64_t)sums * SUM_COMMANDS;
}

/* Do two tiles of so many sums fit a program? */
static bool sums_fit(const struct core *core, int sums)
{
	return core->commands >= 2 * tile_commands(sums) &&
	       tile_cycles(core, sums) <= core->base.info->job_cycles_max / 4;
}

static void sample_close(struct cnn_backend *base)
{
	struct core *core = (struct core *)base;

	free(core->nodes);
	free(core);
}

static struct cnn_backend *sample_open(struct cnn_compile *compile,
				       const struct cnnrt_core_info *info)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->base = (struct cnn_backend){
		.ops = &cnn_backend_sample, .compile = compile, .info = info,
	};
	core->half = info->param[CNNACC_SAMPLE_PARAM_BANK] / 2;
	core->commands = info->program_max / sizeof(struct cnnacc_seq_command);
	core->nodes = calloc((size_t)compile->g->n_nodes + 1, sizeof(*core->nodes));
	if (!core->nodes) {
		free(core);
		return NULL;
	}
	return &core->base;
}

static bool sample_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	(void)g;
	return n->op == CNN_OP_QLINEAR_ADD || n->op == CNN_OP_QLINEAR_SUB;
}

/* Inputs of QLinearAdd and QLinearSub; each is followed by its scale and its zero point. */
enum { A = 0, B = 3, Y = 6 };

static bool check_tensors(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *a = cnn_node_in(g, n, A), *b = cnn_node_in(g, n, B);
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (!a || !b || !y || cnn_tensor_count(y) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (y->dtype != CNN_INT8)
		return cnn_reject(reason, "%s: elements of type %s, sample has int8", n->op_type,
				  cnn_dtype_name(y->dtype));
	if (cnn_tensor_count(a) != cnn_tensor_count(y) ||
	    cnn_tensor_count(b) != cnn_tensor_count(y))
		return cnn_reject(reason, "%s: sample does not broadcast", n->op_type);
	for (int i = 0; i < 8; i++)
		if (i != A && i != B && i != Y && !cnn_node_in(g, n, i)->data)
			return cnn_reject(reason, "%s: input %d is not constant", n->op_type, i);
	return true;
}

/*
 * The CPU's factors. Zero points and rounding become one bias. at: the input that is in the bank;
 * the other one is loaded.
 */
static bool set_words(const struct cnn_graph *g, const struct cnn_node *n, int at, struct sum *s,
		      char *reason)
{
	float scale = cnn_scale(cnn_node_in(g, n, Y), 0);
	int32_t zero[2] = { cnn_zero_point(cnn_node_in(g, n, A + 2), 0),
			    cnn_zero_point(cnn_node_in(g, n, B + 2), 0) };
	struct cnn_sum_factors f;
	int64_t bias;

	if (!cnn_sum_factors(cnn_scale(cnn_node_in(g, n, A + 1), 0) / scale,
			     cnn_scale(cnn_node_in(g, n, B + 1), 0) / scale, &f))
		return cnn_reject(reason, "%s: scales not in 2^-10..2^8 times that of the sum",
				  n->op_type);
	if (n->op == CNN_OP_QLINEAR_SUB)
		f.factor[1] = -f.factor[1];
	bias = ((int64_t)1 << (f.shift - 1)) - zero[0] * f.factor[0] - zero[1] * f.factor[1];
	s->term = n->in[at == A ? B : A];
	s->result = n->out[0];
	s->insn[1] = (uint32_t)f.factor[at == A ? 0 : 1];
	s->insn[2] = (uint32_t)f.factor[at == A ? 1 : 0];
	s->insn[3] = (uint32_t)bias;
	s->operand = CNNACC_SAMPLE_RESULT(cnn_zero_point(cnn_node_in(g, n, Y + 1), 0), f.shift);
	return true;
}

/* Makes a node the next sum of a unit. */
static bool set_sum(const struct cnn_graph *g, const struct cnn_node *n, int at, struct node *s,
		    char *reason)
{
	if (!sample_is_for(g, n))
		return cnn_reject(reason, "%s: sample only adds and subtracts quantised maps",
				  n->op_type);
	if (!check_tensors(g, n, reason) || !set_words(g, n, at, &s->sum[s->sums], reason))
		return false;
	s->sums++;
	return true;
}

/* The input of a sum that is the value, if the other one is not; else -1. */
static int term_of(const struct cnn_node *n, int value)
{
	if (n->in[A] == n->in[B])
		return -1;
	return n->in[A] == value ? A : n->in[B] == value ? B : -1;
}

/* Could a node add the last of these sums to something that they do not make? */
static bool can_follow(const struct core *core, const struct cnn_graph *g, int node,
		       const struct node *s)
{
	const struct cnn_node *n = &g->nodes[node];
	int at = sample_is_for(g, n) ? term_of(n, s->sum[s->sums - 1].result) : -1, other;

	if (at < 0 || s->sums == SUMS || !sums_fit(core, s->sums + 1))
		return false;
	other = n->in[at == A ? B : A];
	for (int i = 0; i < s->sums; i++)
		if (s->sum[i].result == other)
			return false;
	return cnn_tensor_count(cnn_node_out(g, n, 0)) == s->elements;
}

/* Adds the node of the next sum to the unit; false: there is none. */
static bool add_sum(const struct core *core, struct cnn_unit *unit, struct node *s)
{
	const struct cnn_graph *g = unit->g;
	int result = s->sum[s->sums - 1].result;
	const struct cnn_value *v = &g->values[result];
	char reason[CNN_REASON_LEN];

	for (int i = 0; i < v->n_consumers; i++) {
		int next = v->consumers[i];

		if (!can_follow(core, g, next, s) ||
		    !set_sum(g, &g->nodes[next], term_of(&g->nodes[next], result), s, reason))
			continue;
		if (cnn_unit_add_node(unit, next))
			return true;
		s->sums--;
	}
	return false;
}

static struct cnn_node_io dense(int value, int64_t elements)
{
	const int64_t dims[CNN_DIMS] = { 1, 1, 1, elements };

	return (struct cnn_node_io){
		.value = value, .layout = cnn_dense_layout(dims, 1),
	};
}

/* All terms are read from memory; of the sums, those that others read are stored there. */
static bool add_values(const struct core *core, struct cnn_unit *unit, struct node *s)
{
	struct cnn_node_io io = dense(s->first, s->elements);
	bool ok = cnn_unit_add_in(unit, &io);

	for (int i = 0; i < s->sums; i++) {
		struct sum *sum = &s->sum[i];

		io = dense(sum->term, s->elements);
		ok = ok && cnn_unit_add_in(unit, &io);
		io = dense(sum->result, s->elements);
		sum->stored = core->base.compile->no_residency ||
			      cnn_unit_gives(unit, sum->result);
		ok = ok && (!sum->stored || cnn_unit_add_out(unit, &io));
	}
	return ok;
}

static bool sample_match(struct cnn_backend *base, struct cnn_unit *unit, char *reason)
{
	struct core *core = (struct core *)base;
	const struct cnn_node *n = &unit->g->nodes[unit->nodes[0]];
	struct node *s = &core->nodes[unit->nodes[0]];

	*s = (struct node){ 0 };
	if (sample_is_for(unit->g, n) && !sums_fit(core, 1))
		return cnn_reject(reason, "%s: sample's programs are too short for two tiles",
				  n->op_type);
	if (!set_sum(unit->g, n, A, s, reason))
		return false;
	s->first = n->in[A];
	s->elements = cnn_tensor_count(cnn_node_out(unit->g, n, 0));
	while (add_sum(core, unit, s))
		core->nodes[unit->nodes[unit->n_nodes - 1]] = (struct node){ 0 };
	return add_values(core, unit, s);
}

/* The sums behind a node, as far as the core may run them as one with it. */
static int sample_companions(const struct cnn_graph *g, int node, int *nodes)
{
	int n = 0;

	while (n < SUMS - 1 && sample_is_for(g, &g->nodes[node])) {
		const struct cnn_value *v = &g->values[g->nodes[node].out[0]];
		int next = -1;

		for (int i = v->n_consumers - 1; i >= 0; i--)
			if (sample_is_for(g, &g->nodes[v->consumers[i]]))
				next = v->consumers[i];
		if (next < 0)
			break;
		nodes[n++] = node = next;
	}
	return n;
}

static bool sample_plan(struct cnn_backend *base, const struct cnn_unit *unit, char *reason)
{
	struct core *core = (struct core *)base;
	struct node *s = &core->nodes[unit->nodes[0]];
	int64_t tiles;

	s->tile = cnn_min(core->half, cnn_round_up(cnn_div_up(s->elements, TILES),
						   CNNACC_LINE_SIZE));
	tiles = cnn_div_up(s->elements, s->tile);
	snprintf(reason, CNN_REASON_LEN, "%s: sum of %lld elements, %d terms, %lld tile%s",
		 unit->g->nodes[unit->nodes[0]].op_type, (long long)s->elements, s->sums + 1,
		 (long long)tiles, tiles == 1 ? "" : "s");
	return true;
}

/* ---- programs ---- */

struct emitter {
	const struct core *core;
	const struct node *node;
	const struct cnn_slot *slots;	/* NULL: only the cycles are wanted */
};

static void copy(struct seqc *seq, const struct emitter *e, int value, struct seqc_copy *c,
		 int64_t tile)
{
	int64_t first = tile * e->node->tile;

	c->va = CNN_VA_ARENA + (e->slots ? e->slots[value].offset : 0) + first;
	c->rows = 1;
	c->row_bytes = cnn_min(e->node->tile, e->node->elements - first);
	seqc_copy(seq, c);
}

static void begin(struct seqc *seq, void *opaque)
{
	(void)opaque;
	seqc_begin(seq);
}

static void load(struct seqc *seq, int64_t tile, uint32_t bank, void *opaque)
{
	const struct emitter *e = opaque;
	struct seqc_copy first = { .memory = bank };
	struct seqc_copy term = { .memory = bank, .local = e->core->half };

	copy(seq, e, e->node->first, &first, tile);
	copy(seq, e, e->node->sum[0].term, &term, tile);
}

static void store_sum(struct seqc *seq, const struct emitter *e, const struct sum *sum,
		      uint32_t bank, int64_t tile)
{
	struct seqc_copy c = { .memory = bank, .store = true };

	if (sum->stored)
		copy(seq, e, sum->result, &c, tile);
}

/* Once a sum is there: stores it if others read it, and loads what is added to it. */
static void go_on(struct seqc *seq, const struct emitter *e, int sum, uint32_t bank, int64_t tile)
{
	struct seqc_copy term = { .memory = bank, .local = e->core->half };

	seqc_wait(seq, CNNACC_SAMPLE_WAIT_IDLE);
	seqc_charge(seq, 1);
	seqc_idle(seq);
	store_sum(seq, e, &e->node->sum[sum], bank, tile);
	copy(seq, e, e->node->sum[sum + 1].term, &term, tile);
}

static void add(struct seqc *seq, const struct sum *sum, uint32_t bank, int64_t count)
{
	int64_t steps = cnn_div_up(count, CNNACC_SAMPLE_LANES);
	uint32_t insn[4] = {
		CNNACC_SAMPLE_INSN(CNNACC_SAMPLE_ADD, bank), sum->insn[1], sum->insn[2],
		sum->insn[3],
	};

	seqc_exec_wide(seq, insn, sum->operand, (uint32_t)count);
	seqc_charge(seq, 1);
	seqc_start(seq, 4 + (uint64_t)steps);
	seq->cost.mac_slots += 2 * CNNACC_SAMPLE_LANES * (uint64_t)steps;
	seq->cost.mac_useful += 2 * (uint64_t)count;
}

static void run(struct seqc *seq, int64_t tile, uint32_t bank, void *opaque)
{
	const struct emitter *e = opaque;
	int64_t count = cnn_min(e->node->tile, e->node->elements - tile * e->node->tile);

	for (int i = 0; i < e->node->sums; i++) {
		if (i)
			go_on(seq, e, i - 1, bank, tile);
		add(seq, &e->node->sum[i], bank, count);
	}
}

/* The last sum; go_on() has stored the others. */
static void store(struct seqc *seq, int64_t tile, uint32_t bank, void *opaque)
{
	const struct emitter *e = opaque;

	store_sum(seq, e, &e->node->sum[e->node->sums - 1], bank, tile);
}

/* Makes the programs of a node, or only counts their cycles in seq->total. */
static int emit(struct core *core, int node, struct seqc *seq)
{
	struct emitter e = { .core = core, .node = &core->nodes[node] };
	const struct seqc_stages stages = {
		.begin = begin, .load = load, .run = run, .store = store,
		.idle = CNNACC_SAMPLE_WAIT_IDLE, .commands = tile_commands(e.node->sums),
		.cycles = tile_cycles(core, e.node->sums),
	};
	int64_t tiles = cnn_div_up(e.node->elements, e.node->tile);

	if (!seq->dry)
		e.slots = core->base.compile->out->slots;
	seq->compile = core->base.compile;
	seq->node = node;
	seq->commands_max = core->commands;
	seq->cycles_max = core->base.info->job_cycles_max;
	return seqc_finish(seq, seqc_tiles(seq, &stages, tiles, CNNACC_SAMPLE_BANKS, &e));
}

static int lower_node(struct core *core, int node)
{
	struct seqc seq = { .dry = false };

	return emit(core, node, &seq);
}

static uint64_t sample_cycles(struct cnn_backend *base, int node)
{
	struct seqc seq = { .dry = true };

	return emit((struct core *)base, node, &seq) ? 0 : seq.total;
}

static int sample_lower(struct cnn_backend *base, struct cnn_segment *seg)
{
	int ret = CNN_OK;

	for (int i = 0; i < seg->n_nodes && !ret; i++) {
		if (((struct core *)base)->nodes[seg->nodes[i]].sums)
			ret = lower_node((struct core *)base, seg->nodes[i]);
		cnn_progress(base->compile, i + 1);
	}
	return ret;
}

static int64_t sample_peak(const struct cnn_backend *base, int node)
{
	(void)base;
	(void)node;
	return 2 * CNNACC_SAMPLE_LANES;
}

const struct cnn_backend_ops cnn_backend_sample = {
	.name = "sample",
	.companions = sample_companions,
	.converts = true,
	.open = sample_open,
	.close = sample_close,
	.is_for = sample_is_for,
	.match = sample_match,
	.plan = sample_plan,
	.cycles = sample_cycles,
	.lower = sample_lower,
	.peak = sample_peak,
};
