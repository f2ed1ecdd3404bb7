// SPDX-License-Identifier: MIT
/*
 * Core sample: sums of two INT8 maps (Documentation/hardware/sample.rst). A node is cut into tiles
 * of half a bank; while one is added, the next is loaded into the other bank.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cnnacc_sample.h>

#include "backend/sequencer.h"
#include "ops/quant.h"

#define TILE_COMMANDS	5	/* two COPY2D, EXEC, WAIT, COPY2D */
#define TILES		4	/* of a map that would fit fewer: only tiles overlap each other */

/* A node: what it adds, and the words of its instructions. */
struct node {
	int in[2], out;			/* values */
	int64_t elements, tile;		/* of the map, of a tile */
	uint32_t insn[4], result;
};

struct core {
	struct cnn_backend base;
	int64_t half, commands;		/* bytes of half a bank; of a program */
	struct node *nodes;		/* by node index */
};

/* Of half a bank, without boot and END. */
static uint64_t tile_cycles(const struct core *core)
{
	uint64_t lines = (uint64_t)core->half / CNNACC_LINE_SIZE + 1;

	return 3 * (17 + lines) + 6 + (uint64_t)core->half / CNNACC_SAMPLE_LANES;
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

/* The CPU's factors. Zero points and rounding become one bias. */
static bool set_words(const struct cnn_graph *g, const struct cnn_node *n, struct node *s,
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
	s->insn[1] = (uint32_t)f.factor[0];
	s->insn[2] = (uint32_t)f.factor[1];
	s->insn[3] = (uint32_t)bias;
	s->result = CNNACC_SAMPLE_RESULT(cnn_zero_point(cnn_node_in(g, n, Y + 1), 0), f.shift);
	return true;
}

static struct cnn_node_io dense(int value, int64_t elements)
{
	const int64_t dims[CNN_DIMS] = { 1, 1, 1, elements };

	return (struct cnn_node_io){
		.value = value, .layout = cnn_dense_layout(dims, 1),
	};
}

static bool sample_match(struct cnn_backend *base, int node, struct cnn_node_fit *fit, char *reason)
{
	struct core *core = (struct core *)base;
	const struct cnn_graph *g = base->compile->g;
	const struct cnn_node *n = &g->nodes[node];
	struct node *s = &core->nodes[node];

	if (!sample_is_for(g, n))
		return cnn_reject(reason, "%s: sample only adds and subtracts quantised maps",
				  n->op_type);
	if (core->commands < 2 * TILE_COMMANDS || tile_cycles(core) > base->info->job_cycles_max / 4)
		return cnn_reject(reason, "%s: sample's programs are too short for two tiles",
				  n->op_type);
	if (!check_tensors(g, n, reason) || !set_words(g, n, s, reason))
		return false;
	s->in[0] = n->in[A];
	s->in[1] = n->in[B];
	s->out = n->out[0];
	s->elements = cnn_tensor_count(cnn_node_out(g, n, 0));
	fit->in[0] = dense(s->in[0], s->elements);
	fit->in[1] = dense(s->in[1], s->elements);
	fit->n_in = 2;
	fit->out = dense(s->out, s->elements);
	return true;
}

static bool sample_plan(struct cnn_backend *base, int node, const struct cnn_node_fit *fit,
			char *reason)
{
	struct core *core = (struct core *)base;
	struct node *s = &core->nodes[node];
	int64_t tiles;

	(void)fit;
	s->tile = cnn_min(core->half, cnn_round_up(cnn_div_up(s->elements, TILES),
						   CNNACC_LINE_SIZE));
	tiles = cnn_div_up(s->elements, s->tile);
	snprintf(reason, CNN_REASON_LEN, "%s: sum of %lld elements, %lld tile%s",
		 base->compile->g->nodes[node].op_type, (long long)s->elements, (long long)tiles,
		 tiles == 1 ? "" : "s");
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

	for (int i = 0; i < 2; i++) {
		struct seqc_copy c = { .memory = bank, .local = i * e->core->half };

		copy(seq, e, e->node->in[i], &c, tile);
	}
}

static void run(struct seqc *seq, int64_t tile, uint32_t bank, void *opaque)
{
	const struct emitter *e = opaque;
	int64_t count = cnn_min(e->node->tile, e->node->elements - tile * e->node->tile);
	int64_t steps = cnn_div_up(count, CNNACC_SAMPLE_LANES);
	uint32_t insn[4] = {
		CNNACC_SAMPLE_INSN(CNNACC_SAMPLE_ADD, bank), e->node->insn[1], e->node->insn[2],
		e->node->insn[3],
	};

	seqc_exec_wide(seq, insn, e->node->result, (uint32_t)count);
	seqc_charge(seq, 1);
	seqc_start(seq, 4 + (uint64_t)steps);
	seq->cost.mac_slots += 2 * CNNACC_SAMPLE_LANES * (uint64_t)steps;
	seq->cost.mac_useful += 2 * (uint64_t)count;
}

static void store(struct seqc *seq, int64_t tile, uint32_t bank, void *opaque)
{
	const struct emitter *e = opaque;
	struct seqc_copy c = { .memory = bank, .store = true };

	copy(seq, e, e->node->out, &c, tile);
}

/* Makes the programs of a node, or only counts their cycles in seq->total. */
static int emit(struct core *core, int node, struct seqc *seq)
{
	struct emitter e = { .core = core, .node = &core->nodes[node] };
	const struct seqc_stages stages = {
		.begin = begin, .load = load, .run = run, .store = store,
		.idle = CNNACC_SAMPLE_WAIT_IDLE, .commands = TILE_COMMANDS,
		.cycles = tile_cycles(core),
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
		if (((struct core *)base)->nodes[seg->nodes[i]].tile)
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
