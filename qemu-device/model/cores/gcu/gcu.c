// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core gcu's interface to the shell: build parameters, state, register window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcu_mutant.h"
#include "mac.h"

#define WORD(offset)	((offset) / 4)
#define WINDOW_WORDS	WORD(CNNACC_GCU_REG_TAPS + 8)
#define BUFFER_BYTES	((size_t)256 << 10)
#define LUT_BYTES	((size_t)2 * CNNACC_GCU_LUT_ENTRIES)

_Static_assert(sizeof(struct gcu_counts) == sizeof(struct cnnacc_stats) + 13 * 8, "no padding");
_Static_assert(sizeof(struct gcu_op) == 8, "no padding");
_Static_assert(offsetof(struct gcu_state, row_tag) ==
	       (14 + GCU_BANKS_MAX + GCU_ROWS_MAX + GCU_ROWS_MAX / 64) * 8 +
	       2 * sizeof(struct gcu_counts), "no hidden padding in the saved state");
_Static_assert(sizeof(struct gcu_state) == offsetof(struct gcu_state, row_tag) +
	       (GCU_ROWS_MAX + 32) * 4 + GCU_PENDING_MAX * sizeof(struct gcu_op) +
	       GCU_ROWS_MAX / 8, "nor behind it");
_Static_assert(BUFFER_BYTES >= 4096 * GCU_ATOMIC_MAX * 2 &&
	       BUFFER_BYTES >= GCU_TAPS_MAX * GCU_ATOMIC_MAX * GCU_ATOMIC_MAX * 2,
	       "a row and a channel group fit");

enum { ATOMIC_C, ATOMIC_K, BANKS, ROWS, RBUF_BANKS, RBUF_DEPTH, BUS, PROGRAM, FP_FLOOR };

#define POWER(name, min, max, def)	{ name, min, max, min, def, .power_of_two = true }

static const struct cm_param params[] = {
	[ATOMIC_C] = POWER("atomic-c", 4, GCU_ATOMIC_MAX, CNNACC_GCU_ATOMIC_DEFAULT),
	[ATOMIC_K] = POWER("atomic-k", 4, GCU_ATOMIC_MAX, CNNACC_GCU_ATOMIC_DEFAULT),
	[BANKS] = { "cbuf-banks", CNNACC_GCU_CBUF_BANKS_MIN, CNNACC_GCU_CBUF_BANKS_MAX, 1,
		    CNNACC_GCU_CBUF_BANKS_DEFAULT },
	[ROWS] = { "fmbuf-rows", CNNACC_GCU_ROWS_MIN, CNNACC_GCU_ROWS_MAX, 8,
		   CNNACC_GCU_ROWS_DEFAULT },
	[RBUF_BANKS] = { "rbuf-banks", CNNACC_GCU_RBUF_BANKS_MIN, CNNACC_GCU_RBUF_BANKS_MAX, 1,
			 CNNACC_GCU_RBUF_BANKS_DEFAULT },
	[RBUF_DEPTH] = { "rbuf-depth", CNNACC_GCU_RBUF_DEPTH_MIN, CNNACC_GCU_RBUF_DEPTH_MAX,
			 GCU_STEP_COLUMNS, CNNACC_GCU_RBUF_DEPTH_DEFAULT },
	[BUS] = POWER("bus", CNNACC_GCU_BUS_MIN, CNNACC_GCU_BUS_MAX, CNNACC_GCU_BUS_DEFAULT),
	[PROGRAM] = { "program", CNNACC_GCU_BLOCK_SIZE, 1u << 20, CNNACC_GCU_BLOCK_SIZE,
		      CNNACC_GCU_PROGRAM_DEFAULT },
	[FP_FLOOR] = CM_SWITCH("fp-floor", CM_OFF),
};

static void describe(const uint32_t *param, struct cnnacc_core_entry *entry)
{
	entry->program_max = param[PROGRAM];
	entry->param[CNNACC_GCU_PARAM_ATOMIC] = param[ATOMIC_C] | param[ATOMIC_K] << 8;
	entry->param[CNNACC_GCU_PARAM_CBUF] = param[BANKS] | GCU_BANK_WORDS << 16;
	entry->param[CNNACC_GCU_PARAM_ROWS] = param[ROWS];
	entry->param[CNNACC_GCU_PARAM_RBUF] = param[RBUF_BANKS] | param[RBUF_DEPTH] << 16;
	entry->param[CNNACC_GCU_PARAM_BUS] = param[BUS];
	entry->param[CNNACC_GCU_PARAM_FP] = param[FP_FLOOR] == CM_ON ? CNNACC_GCU_FP_FLOOR : 0;
	entry->param[CNNACC_GCU_PARAM_LIMITS] =
		CNNACC_GCU_POINTS_MAX | CNNACC_GCU_STRIDE_MAX << 8 |
		CNNACC_GCU_DILATION_MAX << 16 | (uint32_t)CNNACC_GCU_INNER_MAX << 24;
}

static size_t cbuf_bytes(const struct gcu *g)
{
	return (size_t)g->banks * GCU_BANK_WORDS * g->word;
}

static size_t rbuf_bytes(const struct gcu *g)
{
	return (size_t)g->rbuf_banks * g->rbuf_depth * g->atomic_k * 4;
}

static void *place(struct gcu *g, size_t *pos, size_t bytes)
{
	char *memory = g->s ? (char *)g->s + *pos : NULL;

	*pos += cm_core_align(bytes);
	return memory;
}

/* Lay out the memories after the head of the state; with g->s NULL, only compute g->size. */
static void lay_out_memories(struct gcu *g)
{
	size_t pos = cm_core_align(sizeof(struct gcu_state));

	g->program = place(g, &pos, g->program_size);
	g->cbuf = place(g, &pos, cbuf_bytes(g));
	g->acc = place(g, &pos, (size_t)g->atomic_k * 2 * g->rbuf_depth * sizeof(*g->acc));
	g->linear = place(g, &pos, g->atomic_k * sizeof(struct cnnacc_gcu_linear));
	g->lut = place(g, &pos, LUT_BYTES);
	g->size = pos;
}

static void destroy(void *core)
{
	struct gcu *g = core;

	gcu_operands_free(g->operands);
	free(g->columns.source);
	free(g->columns.real);
	free(g->buffer);
	free(g->s);
	free(g);
}

static void configure(struct gcu *g, const uint32_t *param)
{
	g->atomic_c = param[ATOMIC_C];
	g->atomic_k = param[ATOMIC_K];
	g->banks = param[BANKS];
	g->max_rows = param[ROWS];
	g->rbuf_banks = param[RBUF_BANKS];
	g->rbuf_depth = param[RBUF_DEPTH];
	g->bus = param[BUS];
	g->program_size = param[PROGRAM];
	g->fp_floor = param[FP_FLOOR] == CM_ON;
	g->word = 2 * g->atomic_c;
	g->word_shift = (uint32_t)__builtin_ctz(g->word);
	g->line_cycles = CNNACC_LINE_SIZE / g->bus;
}

static bool allocate(struct gcu *g)
{
	lay_out_memories(g);
	g->s = cm_core_alloc(g->size);
	g->columns.source = aligned_alloc(CM_CORE_ALIGN, GCU_PLACES_MAX * sizeof(int32_t));
	g->columns.real = aligned_alloc(CM_CORE_ALIGN, GCU_PLACES_MAX * sizeof(uint32_t));
	g->buffer = aligned_alloc(CM_CORE_ALIGN, BUFFER_BYTES);
	g->operands = gcu_operands_create(g);
	if (!g->s || !g->columns.source || !g->columns.real || !g->buffer || !g->operands)
		return false;
	lay_out_memories(g);
	return true;
}

static void *create(const uint32_t *param, const struct cm_core_resources *resources)
{
	struct gcu *g = cm_core_alloc(sizeof(*g));

	if (!g)
		return NULL;
	configure(g, param);
	g->resources = *resources;
	g->simd = gcu_simd(resources->simd);
	if (allocate(g))
		return g;
	destroy(g);
	return NULL;
}

static void *state(void *core, size_t *size)
{
	struct gcu *g = core;

	*size = g->size;
	return g->s;
}

/* CBUF, RBUF and the program memory are cleared in parallel, a line per cycle. */
static uint64_t scrub_cycles(const void *core)
{
	const struct gcu *g = core;
	uint64_t bytes = gcu_later(cbuf_bytes(g), rbuf_bytes(g));

	return gcu_later(bytes, g->program_size) / CNNACC_LINE_SIZE;
}

/* What is derived is of the running layer; the next one, or check(), derives it anew. */
static void drop_derived(void *core)
{
	(void)core;
}

static void on_zeroed(void *core)
{
	struct gcu *g = core;

	g->filled = false;
}

static bool try_fast_zero(void *core)
{
	struct gcu *g = core;

	if (g->filled)
		return false;
	memset(g->s, 0, sizeof(*g->s));
	memset(g->program, 0, g->program_size);
	on_zeroed(g);
	return true;
}

/* The memories keep their contents; everything else is zeroed. */
static void start(void *core, const struct cm_core_job *job)
{
	struct gcu *g = core;

	memset(g->s, 0, sizeof(*g->s));
	gcu_products_drop(g);
	g->s->cycle_limit = job->cycle_limit;
	g->s->program_va = job->program_va;
	g->s->program_len = job->program_len;
	g->s->phase = GCU_BOOT;
}

static bool in_layer(const struct gcu_state *s)
{
	return s->phase >= GCU_LUT;
}

/* Cycles of the job so far. */
static uint64_t elapsed(const struct gcu_state *s)
{
	if (in_layer(s))
		return gcu_later(s->t, s->o);
	return s->time + (s->phase == GCU_PAUSE ? s->pos : 0);
}

/* Of a job that is stopped inside a block, what the block has done so far counts. */
static void stats(const void *core, struct cnnacc_stats *stats)
{
	const struct gcu *g = core;
	struct gcu_counts sum = g->s->job;

	gcu_counts_add(&sum, &g->s->block);
	*stats = sum.n;
	stats->cycles = elapsed(g->s);
}

static uint32_t stop(void *core)
{
	struct gcu *g = core;

	g->s->phase = GCU_IDLE;
	gcu_products_drop(g);
	return g->s->pc;
}

static uint32_t state_register(const struct gcu_state *s)
{
	return s->phase == GCU_IDLE ? CNNACC_GCU_IDLE :
	       s->phase == GCU_BOOT ? CNNACC_GCU_BOOT : CNNACC_GCU_RUN;
}

static void publish_counts(const struct gcu_state *s, uint32_t *window)
{
	struct gcu_counts sum = s->job;

	gcu_counts_add(&sum, &s->block);
	memcpy(&window[WORD(CNNACC_GCU_REG_ROW_FILLS)], &sum.row_fills,
	       sizeof(sum) - offsetof(struct gcu_counts, row_fills));
}

static void publish(const void *core, uint32_t *window)
{
	const struct gcu *g = core;
	const struct gcu_state *s = g->s;

	window[WORD(CNNACC_GCU_REG_ID)] = CNNACC_GCU_ID;
	window[WORD(CNNACC_GCU_REG_PC)] = s->pc;
	window[WORD(CNNACC_GCU_REG_STATE)] = state_register(s);
	window[WORD(CNNACC_GCU_REG_STATUS)] = s->narrow ? CNNACC_GCU_STATUS_NARROW : 0;
	window[WORD(CNNACC_GCU_REG_KERNEL_GROUP)] = s->kernel_group;
	window[WORD(CNNACC_GCU_REG_OUT_ROW)] = s->out_row;
	window[WORD(CNNACC_GCU_REG_CHANNEL_GROUP)] = s->channel_group;
	window[WORD(CNNACC_GCU_REG_ROWS_VALID)] = gcu_valid_rows(s);
	window[WORD(CNNACC_GCU_REG_FIFO_WRITE)] = s->fifo_write;
	window[WORD(CNNACC_GCU_REG_FIFO_OLDEST)] = s->fifo_oldest;
	window[WORD(CNNACC_GCU_REG_OP4)] = s->op4;
	window[WORD(CNNACC_GCU_REG_TRIGGER)] = s->trigger;
	window[WORD(CNNACC_GCU_REG_ENTRY)] = s->entry;
	window[WORD(CNNACC_GCU_REG_RESIDENT)] = s->resident;
	window[WORD(CNNACC_GCU_REG_RESIDENT_FIRST)] = s->resident_first;
	window[WORD(CNNACC_GCU_REG_SWAP_VALID)] = s->swap_valid;
	memcpy(&window[WORD(CNNACC_GCU_REG_SWAP(0))], s->swap, sizeof(s->swap));
	publish_counts(s, window);
}

/* ---- saved states ---- */

static int refuse(char *err, const char *field, uint64_t value)
{
	snprintf(err, CM_ERR_LEN, "gcu: saved %s is impossible (%llu)", field,
		 (unsigned long long)value);
	return -1;
}

static bool bad_tag(const struct gcu *g, uint32_t tag)
{
	return (tag & 0xffff) >= gcu_div_up(g->layer.channels, g->atomic_c);
}

static int check_rows(const struct gcu *g, uint32_t slots, char *err)
{
	const struct gcu_state *s = g->s;

	for (uint32_t slot = 0; slot < GCU_ROWS_MAX; slot++) {
		bool valid = s->row_valid[slot / 64] >> slot % 64 & 1;

		if (valid && slot >= slots)
			return refuse(err, "row slot", slot);
		if (valid && in_layer(s) && bad_tag(g, s->row_tag[slot]))
			return refuse(err, "channel group of a row", s->row_tag[slot]);
	}
	return 0;
}

static int check_kernel_area(const struct gcu *g, char *err)
{
	const struct gcu_state *s = g->s;

	if (s->resident > g->group.resident)
		return refuse(err, "RESIDENT", s->resident);
	if (s->phase > GCU_WEIGHTS && s->resident != g->group.resident)
		return refuse(err, "RESIDENT", s->resident);
	if (s->swap_valid > 3 || (s->swap_valid && g->group.resident == g->group.count))
		return refuse(err, "SWAP_VALID", s->swap_valid);
	if (s->swap_next > g->group.swaps)
		return refuse(err, "swap request", s->swap_next);
	return 0;
}

static int check_pending(const struct gcu *g, char *err)
{
	const struct gcu_state *s = g->s;
	uint32_t kernels = g->group.resident +
			   (g->group.resident < g->group.count ? GCU_SWAPS : 0);

	if (s->pending_count > GCU_PENDING_MAX)
		return refuse(err, "number of products", s->pending_count);
	if (s->steps && (!s->pending_count || s->steps >= gcu_steps(g)))
		return refuse(err, "progress of products", s->steps);
	for (uint32_t i = 0; i < s->pending_count; i++) {
		const struct gcu_op *op = &s->pending[i];

		if (op->row_slot >= g->layer.rows || op->kernel_slot >= kernels ||
		    op->r >= g->layer.r || bad_tag(g, s->row_tag[op->row_slot]))
			return refuse(err, "products", i);
	}
	return 0;
}

static int check_layer(struct gcu *g, char *err)
{
	const struct gcu_state *s = g->s;
	const struct gcu_layer *l = &g->layer;

	if (s->after < GCU_ROW || s->after >= GCU_PHASES)
		if (s->after || s->phase == GCU_WALK)
			return refuse(err, "phase after a walk", s->after);
	if (s->h >= l->ofmh || s->cg >= g->group.count || s->r > l->r)
		return refuse(err, "position", s->h);
	if (s->need_h > l->ofmh || s->need_cg >= g->group.count || s->need_r >= l->r)
		return refuse(err, "need", s->need_h);
	if (s->fifo_write >= l->rows || s->fifo_oldest >= l->rows)
		return refuse(err, "FIFO_WRITE", s->fifo_write);
	if (s->pos > (uint64_t)l->ofmw * (GCU_ATOMIC_MAX / 4 + 1))
		return refuse(err, "transfer position", s->pos);
	return check_kernel_area(g, err) || check_pending(g, err) ? -1 : 0;
}

/* Can the block at the program counter be in this phase? */
static bool block_possible(const struct gcu *g)
{
	uint32_t kind = gcu_block_kind(g, g->s->pc);
	struct cnnacc_gcu_probe probe;
	struct cnnacc_gcu_wait wait;

	if (g->s->phase == GCU_PROBE)
		return (kind == CNNACC_GCU_PROBE || kind == CNNACC_GCU_FILL) &&
		       !gcu_check_probe(g, g->s->pc, &probe);
	if (g->s->phase == GCU_PAUSE)
		return kind == CNNACC_GCU_WAIT && !gcu_check_wait(g, g->s->pc, &wait);
	return true;
}

static int check(void *core, char err[CM_ERR_LEN])
{
	struct gcu *g = core;
	const struct gcu_state *s = g->s;
	uint32_t blocks = s->program_len / CNNACC_GCU_BLOCK_SIZE;

	g->filled = true;
	if (s->phase >= GCU_PHASES)
		return refuse(err, "phase", s->phase);
	if (s->program_va % CNNACC_LINE_SIZE || s->program_len > g->program_size)
		return refuse(err, "program", s->program_len);
	if (s->phase >= GCU_BLOCK && (s->pc >= blocks || s->program_len % CNNACC_GCU_BLOCK_SIZE))
		return refuse(err, "block", s->pc);
	if (s->phase >= GCU_BLOCK && !block_possible(g))
		return refuse(err, "kind of block", s->pc);
	if (s->last_columns > 4096 || s->last_size > 2 || s->narrow > 1)
		return refuse(err, "row length", s->last_columns);
	if (!in_layer(s))
		return check_rows(g, g->max_rows, err);
	if (!gcu_prepare(g))
		return refuse(err, "layer", s->pc);
	if (check_rows(g, g->layer.rows, err) || check_layer(g, err))
		return -1;
	gcu_products_rebuild(g);
	return 0;
}

const struct cm_core_ops cm_gcu_ops = {
	.type = CNNACC_CORE_GCU,
	.name = "gcu",
	.version = 0x00010000,
	.window_size = CNNACC_GCU_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.mutants = CM_MUTANT_NAMES(GCU_MUTANTS),
	.describe = describe,
	.create = create,
	.destroy = destroy,
	.state = state,
	.scrub_cycles = scrub_cycles,
	.drop_derived = drop_derived,
	.on_zeroed = on_zeroed,
	.try_fast_zero = try_fast_zero,
	.check = check,
	.start = start,
	.step = gcu_step,
	.stats = stats,
	.stop = stop,
	.publish = publish,
};
