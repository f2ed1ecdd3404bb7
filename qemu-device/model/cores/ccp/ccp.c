// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core ccp's interface to the shell: build parameters, state, register window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ccp.h"
#include "ccp_mutant.h"
#include "simd.h"

#define WORD(offset)	((offset) / 4)
#define WINDOW_WORDS	(WORD(CNNACC_CCP_REG_FC0(0)) + CNNACC_CCP_GPRS)

_Static_assert(sizeof(struct ccp_state) % 8 == 0, "no hidden padding in the saved state");

enum { DATA_BANK, WEIGHT_BANK, ICACHE, LOB, SPLIT_BANKS };

static const struct cm_param params[] = {
	[DATA_BANK] = { "data-bank", 4096, 64u << 20, CNNACC_LINE_SIZE,
			CNNACC_CCP_DATA_BANK_DEFAULT },
	[WEIGHT_BANK] = { "weight-bank", 1024, 1u << 20, CNNACC_LINE_SIZE,
			  CNNACC_CCP_WEIGHT_BANK_DEFAULT },
	[ICACHE] = { "icache", 256, 8192, CNNACC_LINE_SIZE, CNNACC_CCP_ICACHE_DEFAULT },
	[LOB] = { "lob", 1, 1024, 1, CNNACC_CCP_LOB_DEFAULT },
	[SPLIT_BANKS] = CM_SWITCH("split-banks", CM_ON),
};

static void describe(const uint32_t *param, struct cnnacc_core_entry *entry)
{
	entry->program_max = param[ICACHE];
	entry->param[CNNACC_CCP_PARAM_DATA_BANK] = param[DATA_BANK];
	entry->param[CNNACC_CCP_PARAM_WEIGHT_BANK] = param[WEIGHT_BANK];
	entry->param[CNNACC_CCP_PARAM_GEOMETRY] =
		CNNACC_CCP_ROWS | CNNACC_CCP_LANES << 8 | CNNACC_CCP_GROUPS << 16;
	entry->param[CNNACC_CCP_PARAM_LOB] = param[LOB];
	entry->param[CNNACC_CCP_PARAM_BANKS] =
		param[SPLIT_BANKS] == CM_ON ? CNNACC_CCP_BANKS_SPLIT : 0;
	entry->param[CNNACC_CCP_PARAM_LIMITS] =
		CNNACC_CCP_KERNEL_MAX | CNNACC_CCP_STRIDE_MAX << 8 | CNNACC_CCP_PAD_MAX << 16;
}

static size_t lob_bytes(const struct ccp *c)
{
	return (size_t)c->lob_vectors * CNNACC_CCP_GROUPS * CCP_TILE * sizeof(float);
}

/* Lay out the memories after the head of the state; with c->s NULL, only compute c->size. */
static void lay_out_memories(struct ccp *c)
{
	char *base = (char *)c->s;
	size_t pos = cm_core_align(sizeof(struct ccp_state));

	for (unsigned int i = 0; i < CNNACC_CCP_DATA_BANKS; i++) {
		c->data[i] = base ? (float *)(base + pos) : NULL;
		pos += (size_t)c->bank_floats * 4;
	}
	c->weight = base ? (float *)(base + pos) : NULL;
	pos += (size_t)c->weight_floats * 4 * CNNACC_CCP_WEIGHT_BANKS;
	c->icache = base ? (uint32_t *)(base + pos) : NULL;
	pos += (size_t)c->icache_words * 4;
	c->lob = base ? (float *)(base + pos) : NULL;
	c->size = pos + lob_bytes(c);
}

static void destroy(void *core)
{
	struct ccp *c = core;

	free(c->scratch);
	free(c->s);
	free(c);
}

static void *create(const uint32_t *param, const struct cm_core_resources *resources)
{
	struct ccp *c = cm_core_alloc(sizeof(*c));

	if (!c)
		return NULL;
	c->bank_floats = param[DATA_BANK] / 4;
	c->weight_floats = param[WEIGHT_BANK] / 4;
	c->icache_words = param[ICACHE] / 4;
	c->lob_vectors = param[LOB];
	c->split_banks = param[SPLIT_BANKS] == CM_ON;
	c->resources = *resources;
	c->simd = ccp_simd(resources->simd);
	lay_out_memories(c);
	c->s = cm_core_alloc(c->size);
	c->scratch = cm_core_alloc(resources->threads * sizeof(*c->scratch));
	if (!c->s || !c->scratch) {
		destroy(c);
		return NULL;
	}
	lay_out_memories(c);
	return c;
}

static void *state(void *core, size_t *size)
{
	struct ccp *c = core;

	*size = c->size;
	return c->s;
}

/* All caches are cleared in parallel, one line per cycle. */
static uint64_t scrub_cycles(const void *core)
{
	const struct ccp *c = core;
	uint32_t words = c->bank_floats;

	if (c->weight_floats > words)
		words = c->weight_floats;
	if (c->icache_words > words)
		words = c->icache_words;
	return words / CCP_LINE_FLOATS;
}

static void drop_derived(void *core)
{
	struct ccp *c = core;

	memset(&c->plan, 0, sizeof(c->plan));
	memset(&c->work, 0, sizeof(c->work));
	c->conv_cache.valid = false;
	c->execs++;
}

static void on_zeroed(void *core)
{
	struct ccp *c = core;

	drop_derived(c);
	c->filled = false;
}

static bool try_fast_zero(void *core)
{
	struct ccp *c = core;

	if (c->filled)
		return false;
	memset(c->s, 0, sizeof(*c->s));
	memset(c->icache, 0, (size_t)c->icache_words * 4);
	on_zeroed(c);
	return true;
}

/* The caches keep their contents; everything else is zeroed. */
static void start(void *core, const struct cm_core_job *job)
{
	struct ccp *c = core;

	memset(c->s, 0, sizeof(*c->s));
	drop_derived(c);
	c->s->cycle_limit = job->cycle_limit;
	c->s->program_va = job->program_va;
	c->s->program_len = job->program_len;
	c->s->phase = CCP_BOOT;
}

static void stats(const void *core, struct cnnacc_stats *stats)
{
	const struct ccp *c = core;

	*stats = c->s->n;
	stats->cycles = ccp_elapsed(c);
	stats->stall_cycles += stats->cycles - c->s->t;
}

static uint32_t stop(void *core)
{
	struct ccp *c = core;

	c->s->phase = CCP_IDLE;
	return c->s->pc;
}

static uint32_t state_register(const struct ccp_state *s)
{
	static const uint8_t states[CCP_PHASES] = {
		[CCP_IDLE] = CNNACC_CCP_WAIT,
		[CCP_BOOT] = CNNACC_CCP_BOOT,
		[CCP_FETCH] = CNNACC_CCP_FETCH,
		[CCP_DMA] = CNNACC_CCP_EXEC,
		[CCP_UNIT] = CNNACC_CCP_EXEC,
	};
	uint32_t unit = s->phase == CCP_UNIT ? ccp_bits(s->insn, 27, 26) : 0;

	return states[s->phase] | unit << 4;
}

static void publish(const void *core, uint32_t *window)
{
	const struct ccp *c = core;

	window[WORD(CNNACC_CCP_REG_ID)] = CNNACC_CCP_ID;
	window[WORD(CNNACC_CCP_REG_PC)] = c->s->pc;
	window[WORD(CNNACC_CCP_REG_STATE)] = state_register(c->s);
	window[WORD(CNNACC_CCP_REG_BANK_SEL)] = c->s->sel;
	memcpy(&window[WORD(CNNACC_CCP_REG_GPR(0))], c->s->gpr, sizeof(c->s->gpr));
	memcpy(&window[WORD(CNNACC_CCP_REG_CONV0(0))], c->s->group, sizeof(c->s->group));
}

static int refuse(char *err, const char *field, uint64_t value)
{
	snprintf(err, CM_ERR_LEN, "ccp: saved %s is impossible (%llu)", field,
		 (unsigned long long)value);
	return -1;
}

/* An instruction in progress must pass the checks that it passed when it started. */
static int check_progress(struct ccp *c, char *err)
{
	const struct ccp_state *s = c->s;
	uint32_t op = s->insn >> CNNACC_CCP_OP_SHIFT, field;

	if (s->phase == CCP_DMA) {
		if ((op != CNNACC_CCP_LOAD && op != CNNACC_CCP_STORE) ||
		    ccp_dma_check(c, &field))
			return refuse(err, "transfer", s->insn);
		if (s->pos[0] > ccp_dma_lines(c))
			return refuse(err, "transfer position", s->pos[0]);
	}
	if (s->phase == CCP_UNIT) {
		if (op != CNNACC_CCP_EXEC_UNIT)
			return refuse(err, "instruction", s->insn);
		if (ccp_unit(c)->check(c))
			return refuse(err, "parameters of unit", ccp_bits(s->insn, 27, 26));
		if (!ccp_unit(c)->check_pos(c))
			return refuse(err, "unit position", s->pos[0]);
	}
	return 0;
}

static int check(void *core, char err[CM_ERR_LEN])
{
	struct ccp *c = core;
	const struct ccp_state *s = c->s;

	c->filled = true;
	if (s->phase >= CCP_PHASES)
		return refuse(err, "phase", s->phase);
	if (s->sel >= CNNACC_CCP_DATA_BANKS)
		return refuse(err, "bank select", s->sel);
	if (s->phase != CCP_IDLE && s->phase != CCP_BOOT && s->phase != CCP_FETCH &&
	    s->pc >= c->icache_words)
		return refuse(err, "program counter", s->pc);
	if (s->program_va % CNNACC_LINE_SIZE || s->program_len > c->icache_words * 4 ||
	    s->program_len % 4)
		return refuse(err, "program", s->program_len);
	if (s->chain.valid > 1)
		return refuse(err, "partial sums", s->chain.valid);
	return check_progress(c, err);
}

const struct cm_core_ops cm_ccp_ops = {
	.type = CNNACC_CORE_CCP,
	.name = "ccp",
	.version = 0x00010001,
	.window_size = CNNACC_CCP_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.mutants = CM_MUTANT_NAMES(CCP_MUTANTS),
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
	.step = ccp_step,
	.stats = stats,
	.stop = stop,
	.publish = publish,
};
