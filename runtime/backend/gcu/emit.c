// SPDX-License-Identifier: MIT
/* The programs of a node: a block for each piece, weights, tables. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gcu.h"
#include "pack.h"

#define BOOT		16
#define BLOCK_LINES	(CNNACC_GCU_BLOCK_SIZE / CNNACC_LINE_SIZE)
#define ENTRY_BYTES	64	/* the tables are multiples of that apart */

struct emitter {
	struct gcuc_core *core;
	const struct gcuc_node *n;
	int node;
	struct gcuc_schemes schemes;
	int64_t *weights;		/* by number of the weights, in the image; -1: not there */
	int64_t ones;			/* the same of the addend's weights */
	int64_t linear;
	uint32_t in, out, add;		/* addresses */
	/* The program under way. */
	struct cnnacc_gcu_layer *block;
	int64_t count, room;
	struct cnnrt_cost cost;
	bool restartable, continues;	/* continues: the next block goes on with accumulators */
};

static uint32_t weights_va(int64_t at)
{
	return CNN_VA_WEIGHTS + (uint32_t)at;
}

/* ---- tasks ------------------------------------------------------------------------------- */

/* The words of a block that are addresses, ascending. */
static int add_addresses(struct cnn_compile *compile, int64_t at, const struct cnnacc_gcu_layer *b)
{
	const struct {
		size_t offset;
		bool used;
	} words[] = {
		{ offsetof(struct cnnacc_gcu_layer, ifmap), true },
		{ offsetof(struct cnnacc_gcu_layer, psum), b->control & CNNACC_GCU_PSUM },
		{ offsetof(struct cnnacc_gcu_layer, ofmap), true },
		{ offsetof(struct cnnacc_gcu_layer, weight_va), true },
		{ offsetof(struct cnnacc_gcu_layer, linear_va), b->control & CNNACC_GCU_LINEAR },
		{ offsetof(struct cnnacc_gcu_layer, lut_va), b->lut_va != 0 },
		{ offsetof(struct cnnacc_gcu_layer, increment_va), b->control & CNNACC_GCU_TABLE },
		{ offsetof(struct cnnacc_gcu_layer, vector_va), b->control & CNNACC_GCU_TABLE },
	};
	int ret = CNN_OK;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !ret; i++) {
		uint32_t va;

		memcpy(&va, (const uint8_t *)b + words[i].offset, sizeof(va));
		if (words[i].used)
			ret = cnn_add_address(compile, at + (int64_t)words[i].offset, va,
					      CNN_ADDRESS_WORD);
	}
	return ret;
}

static int add_span(struct emitter *e, enum cnnrt_activity what, uint64_t *at, uint64_t cycles)
{
	const struct cnn_lowered *out = e->core->base.compile->out;
	struct cnnrt_span *span;

	if (!cycles || out->n_spans == CNN_SPANS_MAX)
		return CNN_OK;
	span = cnn_add_span(e->core->base.compile);
	if (!span)
		return CNN_ENOMEM;
	*span = (struct cnnrt_span){
		.op = (unsigned int)e->node, .task = (unsigned int)out->n_tasks - 1,
		.core = out->nodes[e->node].core, .what = what, .start = *at, .end = *at + cycles,
	};
	*at += cycles;
	return CNN_OK;
}

/* One span for each activity: their order in a task is not told. */
static int add_spans(struct emitter *e)
{
	uint64_t core = 0, dma = 0;

	return add_span(e, CNNRT_CONTROL, &core, e->cost.control) ?:
	       add_span(e, CNNRT_STALL, &core, e->cost.stall) ?:
	       add_span(e, CNNRT_COMPUTE, &core, e->cost.compute) ?:
	       add_span(e, CNNRT_DMA_PROGRAM, &dma, e->cost.dma_program);
}

static int add_task(struct emitter *e)
{
	struct cnn_compile *compile = e->core->base.compile;
	int64_t bytes = e->count * CNNACC_GCU_BLOCK_SIZE;
	int64_t at = cnn_image_add(compile, &compile->program, bytes, CNNACC_LINE_SIZE);
	struct cnn_task *task;
	int ret = at < 0 ? (int)at : CNN_OK;

	if (ret)
		return ret;
	memcpy(compile->program.data + at, e->block, (size_t)bytes);
	for (int64_t i = 0; i < e->count && !ret; i++)
		ret = add_addresses(compile, at + i * CNNACC_GCU_BLOCK_SIZE, &e->block[i]);
	if (ret)
		return ret;
	task = cnn_add_task(compile, at, (uint32_t)bytes);
	if (!task)
		return CNN_ENOMEM;
	task->cycles = e->cost.cycles;
	task->cycle_limit = (uint64_t)cnn_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					      (int64_t)e->core->hw.cycles_max);
	task->restartable = e->restartable;
	task->first_node = task->last_node = e->node;
	cnn_add_cost(&compile->out->nodes[e->node].cost, &e->cost, NULL);
	return add_spans(e);
}

/* Ends the program under way, if there is one. */
static int end_program(struct emitter *e)
{
	uint64_t lines = (uint64_t)e->count * BLOCK_LINES;
	int ret;

	if (!e->count)
		return CNN_OK;
	e->cost.cycles += BOOT + lines;
	e->cost.dma_program = BOOT + lines;
	e->cost.read_program = lines * CNNACC_LINE_SIZE;
	e->cost.control = e->cost.cycles - e->cost.compute - e->cost.stall;
	ret = add_task(e);
	e->count = 0;
	e->cost = (struct cnnrt_cost){ 0 };
	return ret;
}

static void add_cost(struct cnnrt_cost *to, const struct gcuc_count *n)
{
	const struct cnnrt_cost more = {
		.cycles = n->cycles, .compute = n->compute, .stall = n->stall,
		.dma_weights = n->dma_weights, .dma_data = n->dma_rows,
		.mac_slots = n->slots, .mac_useful = n->useful,
		.read_weights = n->read_weights, .read_data = n->read_rows, .written = n->written,
	};

	cnn_add_cost(to, &more, NULL);
}

/* Room for one more block that takes so many cycles. */
static int reserve(struct emitter *e, uint64_t cycles)
{
	const struct gcuc_hw *hw = &e->core->hw;
	uint64_t boot = BOOT + ((uint64_t)e->count + 1) * BLOCK_LINES;
	int ret = CNN_OK;

	if (e->count == hw->blocks || e->cost.cycles + cycles + boot > hw->cycles_max)
		ret = end_program(e);
	if (!e->count)
		e->restartable = !e->continues;
	if (!ret && e->count == e->room) {
		int64_t room = e->room ? 2 * e->room : 16;
		void *more = realloc(e->block, (size_t)room * sizeof(*e->block));

		if (!more)
			return cnn_fail(e->core->base.compile->err, CNN_ENOMEM,
					"no memory for a program");
		e->block = more;
		e->room = room;
	}
	return ret;
}

/* ---- weights and tables ------------------------------------------------------------------ */

/* Space in the weights; *data is what is to be filled. */
static int64_t add_weights(struct emitter *e, int64_t bytes, uint8_t **data)
{
	struct cnn_compile *compile = e->core->base.compile;
	int64_t at = cnn_image_add(compile, &compile->weights, bytes, CNNACC_LINE_SIZE);

	*data = at < 0 ? NULL : compile->weights.data + at;
	return at;
}

static int place_weights(struct emitter *e, const struct gcuc_piece *p)
{
	int64_t *at = p->adds ? &e->ones : &e->weights[p->number];
	uint8_t *data;

	if (*at >= 0 && !p->adds)
		return CNN_OK;
	*at = add_weights(e, gcuc_packed_bytes(&e->core->hw, &p->b), &data);
	if (*at < 0)
		return (int)*at;
	gcuc_pack(&e->core->hw, &e->n->conv, p, data);
	return CNN_OK;
}

static int place_linear(struct emitter *e)
{
	int64_t bytes = e->n->conv.ofm.c * (int64_t)sizeof(*e->n->conv.linear);
	uint8_t *data;

	if (!e->n->conv.linear)
		return CNN_OK;
	e->linear = add_weights(e, bytes, &data);
	if (e->linear < 0)
		return (int)e->linear;
	memcpy(data, e->n->conv.linear, (size_t)bytes);
	return CNN_OK;
}

static int place_lut(struct emitter *e)
{
	uint8_t *data;

	if (e->n->conv.act < CNNACC_GCU_ACT_SIGMOID || e->core->lut >= 0)
		return CNN_OK;
	e->core->lut = add_weights(e, 2 * CNNACC_GCU_LUT_ENTRIES, &data);
	if (e->core->lut < 0)
		return (int)e->core->lut;
	gcuc_make_lut(data);
	return CNN_OK;
}

/* Increments, and behind them the vectors. */
static int64_t increment_bytes(const struct gcuc_table *t)
{
	return cnn_round_up(t->n, ENTRY_BYTES);
}

static int place_table(struct emitter *e, struct gcuc_scheme *s)
{
	const struct gcuc_table *t = &s->table;
	int64_t vectors = t->n * t->vector_bytes;
	uint8_t *data;

	if (!gcuc_uses_table(&s->b) || s->table_at >= 0)
		return CNN_OK;
	s->table_at = add_weights(e, increment_bytes(t) + vectors, &data);
	if (s->table_at < 0)
		return (int)s->table_at;
	memcpy(data, t->increment, (size_t)t->n);
	memcpy(data + increment_bytes(t), t->vector, (size_t)vectors);
	return CNN_OK;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static uint32_t pair(int64_t low, int64_t high)
{
	return (uint32_t)low | (uint32_t)high << 16;
}

static uint32_t bytes(int64_t a, int64_t b, int64_t c, int64_t d)
{
	return (uint32_t)a | (uint32_t)b << 8 | (uint32_t)c << 16 | (uint32_t)d << 24;
}

static struct cnnacc_gcu_map map_at(const struct gcuc_map *m, uint32_t base)
{
	return (struct cnnacc_gcu_map){
		.va = base + (uint32_t)m->at, .column_stride = (uint32_t)m->column,
		.row_stride = (uint32_t)m->row, .group_stride = (uint32_t)m->group,
	};
}

static void set_sizes(const struct gcuc_block *b, struct cnnacc_gcu_layer *to)
{
	const struct gcuc_axis *y = &b->y, *x = &b->x;

	to->in_size = pair(x->in, y->in);
	to->channels = pair(b->c, b->k);
	to->out_size = pair(x->out, y->out);
	to->kernel = bytes(x->kernel, y->kernel, x->stride, y->stride);
	to->spacing = bytes(x->dilation, y->dilation, x->inner, y->inner);
	to->padding = bytes(x->begin, x->end, y->begin, y->end);
	to->groups = (uint32_t)b->groups;
	to->fmbuf = (uint32_t)b->fmbuf_banks | (uint32_t)b->column_code << 8 |
		    (uint32_t)b->rows << 16;
	to->kbuf = pair(b->kbuf_points, b->kbuf_groups);
}

/* What only the last piece of those that add up has. */
static void set_results(const struct emitter *e, const struct gcuc_piece *p,
			struct cnnacc_gcu_layer *to)
{
	const struct gcuc_conv *v = &e->n->conv;

	to->zero_out = (uint32_t)v->y_zero;
	if (v->linear)
		to->linear_va = weights_va(e->linear + p->k0 * (int64_t)sizeof(*v->linear));
	if (gcuc_uses_lut(&p->b))
		to->lut_va = weights_va(e->core->lut);
	if (v->act == CNNACC_GCU_ACT_LEAKY)
		to->act_factor = v->act_factor;
	if (v->clamp) {
		to->clamp_low = v->clamp_low;
		to->clamp_high = v->clamp_high;
	}
}

static bool is_last(const struct emitter *e, const struct gcuc_piece *p)
{
	return p->b.ofmap.at < e->n->conv.psum_at;
}

static void set_scheme(const struct gcuc_scheme *s, struct cnnacc_gcu_layer *to)
{
	to->threshold = gcuc_uses_table(&s->b) ? 0 : (uint32_t)s->b.threshold;
	if (!gcuc_uses_table(&s->b))
		return;
	to->table_entries = (uint32_t)s->table.n;
	to->increment_va = weights_va(s->table_at);
	to->vector_va = weights_va(s->table_at + increment_bytes(&s->table));
}

static void set_block(const struct emitter *e, const struct gcuc_piece *p,
		      const struct gcuc_scheme *s, struct cnnacc_gcu_layer *to)
{
	const struct gcuc_conv *v = &e->n->conv;

	*to = (struct cnnacc_gcu_layer){
		.control = s->b.control, .zero_in = pair(v->x_zero & 0xffff, v->w_zero & 0xffff),
		.ifmap = map_at(&p->b.ifmap, p->adds ? e->add : e->in),
		.ofmap = map_at(&p->b.ofmap, e->out),
		.weight_va = weights_va(p->adds ? e->ones : e->weights[p->number]),
	};
	if (p->b.control & CNNACC_GCU_PSUM)
		to->psum = map_at(&p->b.psum, e->out);
	set_sizes(&p->b, to);
	set_scheme(s, to);
	if (is_last(e, p))
		set_results(e, p, to);
}

static int emit_piece(void *opaque, const struct gcuc_piece *p)
{
	struct emitter *e = opaque;
	struct gcuc_scheme *s =
		gcuc_choose_scheme(&e->core->hw, &e->schemes, &p->b, INT64_MAX);
	int ret = s ? place_table(e, s) ?: place_weights(e, p) :
		      cnn_fail(e->core->base.compile->err, CNN_ENOMEM,
			       "no memory for replacement tables");

	ret = ret ?: reserve(e, s->count.cycles);
	if (ret)
		return ret;
	set_block(e, p, s, &e->block[e->count++]);
	add_cost(&e->cost, &s->count);
	e->continues = !is_last(e, p);
	return CNN_OK;
}

/* ---- nodes ------------------------------------------------------------------------------- */

static uint32_t arena_va(const struct emitter *e, int value)
{
	const struct cnn_slot *slots = e->core->base.compile->out->slots;

	return value < 0 ? 0 : CNN_VA_ARENA + (uint32_t)slots[value].offset;
}

int gcuc_emit(struct gcuc_core *core, int node)
{
	struct emitter e = { .core = core, .n = &core->nodes[node], .node = node };
	int64_t pieces = gcuc_weight_pieces(&core->hw, e.n);
	int ret;

	e.weights = malloc((size_t)pieces * sizeof(*e.weights));
	if (!e.weights)
		return cnn_fail(core->base.compile->err, CNN_ENOMEM, "no memory for a program");
	for (int64_t i = 0; i < pieces; i++)
		e.weights[i] = -1;
	e.in = arena_va(&e, e.n->conv.in);
	e.out = arena_va(&e, e.n->conv.out);
	e.add = arena_va(&e, e.n->conv.add);
	ret = place_linear(&e) ?: place_lut(&e) ?:
	      gcuc_each_piece(&core->hw, e.n, emit_piece, &e) ?: end_program(&e);
	gcuc_schemes_free(&e.schemes);
	free(e.weights);
	free(e.block);
	return ret;
}
