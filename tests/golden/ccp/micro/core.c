// SPDX-License-Identifier: MIT
/* The global controller and the DMA engine, which work side by side. */
#include <string.h>

#include "cnnacc_ccp.h"
#include "micro.h"

/* Floats of half a bank, which is a memory with a port of its own if banks are split. */
#define DATA_HALF	(CNNACC_CCP_DATA_BANK_DEFAULT / 8)
#define WEIGHT_HALF	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 8)
#define WEIGHT_HALF_0	(2 * CNNACC_CCP_DATA_BANKS)	/* numbers: data banks, then weights */
#define LOWER_HALVES	0x555u
#define LINE_FLOATS	(CNNACC_LINE_SIZE / 4)
#define QUEUE		4096

struct transfer {
	uint32_t lines;
	uint32_t halves;	/* bit n: half n; none for the instruction cache */
	bool store;
};

struct core {
	const uint32_t *program;
	size_t words;
	unsigned int flags;
	struct micro_count *count;
	uint32_t pc, r[CNNACC_CCP_GPRS], group[4][2][CNNACC_CCP_GPRS];
	unsigned int select;
	bool booting, ended, decoded;
	unsigned int hold;	/* clocks the instruction still takes */

	struct transfer queue[QUEUE];
	unsigned int head, tail, setup;
	bool requested;		/* in this clock, of the idle engine */

	bool unit_busy;
	struct micro_unit unit;
	bool (*unit_step)(struct micro_unit *unit);
};

static bool engine_busy(const struct core *c)
{
	return c->head != c->tail;
}

static void request(struct core *c, uint32_t halves, uint32_t lines, bool store)
{
	c->queue[c->tail] = (struct transfer){ lines, halves, store };
	c->tail = (c->tail + 1) % QUEUE;
}

static void engine_step(struct core *c)
{
	struct transfer *t = &c->queue[c->head];
	bool late = c->requested && c->flags & MICRO_LATE_ENGINE;

	c->requested = false;
	if (!engine_busy(c) || late)
		return;
	if (c->setup < MICRO_DMA_SETUP) {
		c->setup++;
		c->count->state[MICRO_SETUP]++;
		return;
	}
	if (c->unit_busy && c->unit.bus && c->flags & MICRO_SHARED_BUS)
		return;
	c->count->state[MICRO_MOVE]++;
	if (--t->lines)
		return;
	c->head = (c->head + 1) % QUEUE;
	c->setup = 0;
}

static uint32_t data_halves(unsigned int bank, int64_t first, int64_t last)
{
	return (first < DATA_HALF ? 1u << 2 * bank : 0) |
	       (last >= DATA_HALF ? 2u << 2 * bank : 0);
}

/* Of the four banks in a row. */
static uint32_t weight_halves(int64_t first, int64_t last)
{
	uint32_t halves = 0;

	for (int64_t i = first / WEIGHT_HALF; i <= last / WEIGHT_HALF; i++)
		halves |= 1u << (WEIGHT_HALF_0 + i);
	return halves;
}

static uint32_t span_halves(const struct core *c, const struct micro_span *s)
{
	if (s->memory == MICRO_WEIGHTS)
		return weight_halves(s->first, s->last);
	return data_halves(c->select ^ (s->memory == MICRO_WRITE_BANK), s->first, s->last);
}

/* All halves of the memories that have any of these. */
static uint32_t memories(const struct core *c, uint32_t halves)
{
	if (!(c->flags & MICRO_WHOLE_BANKS))
		return halves;
	return halves | (halves & LOWER_HALVES) << 1 | (halves >> 1 & LOWER_HALVES);
}

/* An EXEC waits for LOADs to what it accesses and for STOREs from what it overwrites. */
static bool exec_waits(const struct core *c)
{
	uint32_t reads = 0, writes = 0;

	for (unsigned int i = 0; i < c->unit.spans; i++) {
		const struct micro_span *s = &c->unit.span[i];

		*(s->memory == MICRO_WRITE_BANK ? &writes : &reads) |=
			memories(c, span_halves(c, s));
	}
	for (unsigned int i = c->head; i != c->tail; i = (i + 1) % QUEUE) {
		const struct transfer *t = &c->queue[i];

		if (t->halves & (t->store ? writes : reads | writes))
			return true;
	}
	return false;
}

static void unit_prepare(struct core *c, unsigned int unit)
{
	static void (*const start[])(struct micro_unit *u) = {
		micro_conv_start, micro_pool_start, micro_pad_start, micro_fc_start,
	};
	static bool (*const step[])(struct micro_unit *u) = {
		micro_conv_step, micro_pool_step, micro_pad_step, micro_fc_step,
	};

	memset(&c->unit, 0, sizeof(c->unit));
	c->unit.group[0] = c->group[unit][0];
	c->unit.group[1] = c->group[unit][1];
	c->unit.flags = c->flags;
	c->unit.count = c->count;
	start[unit](&c->unit);
	c->unit_step = step[unit];
}

static void run_unit(struct core *c)
{
	if (c->unit_step(&c->unit))
		c->unit_busy = false;
}

static void exec(struct core *c, uint32_t word)
{
	unsigned int unit = word >> CNNACC_CCP_UNIT_SHIFT & 3;

	unit_prepare(c, unit);
	if (exec_waits(c)) {
		c->count->state[MICRO_STALL]++;
		return;
	}
	if (c->flags & MICRO_EXEC_DECODE && !c->decoded) {
		c->decoded = true;
		c->count->state[MICRO_SIMPLE]++;
		return;
	}
	c->decoded = false;
	c->pc++;
	c->count->instructions++;
	c->unit_busy = true;
	run_unit(c);
}

static void transfer(struct core *c, uint32_t word, bool store)
{
	uint32_t lines = c->r[word >> CNNACC_CCP_RL_SHIFT & 7];
	int64_t first = (int64_t)c->r[word >> CNNACC_CCP_RT_SHIFT & 7] * LINE_FLOATS;
	int64_t last = first + (int64_t)lines * LINE_FLOATS - 1;
	unsigned int target = word >> CNNACC_CCP_TGT_SHIFT & 7;
	int64_t bank = (target - CNNACC_CCP_TGT_WEIGHT0) * 2 * (int64_t)WEIGHT_HALF;

	if (!lines)
		return;
	c->requested = !engine_busy(c);
	if (target <= CNNACC_CCP_TGT_WRITE_BANK)
		request(c, data_halves(target ^ c->select, first, last), lines, store);
	else
		request(c, weight_halves(bank + first, bank + last), lines, store);
}

/* Any instruction but EXEC. */
static void simple(struct core *c, uint32_t word)
{
	uint32_t *rd = &c->r[word >> CNNACC_CCP_RD_SHIFT & 7], imm = word & CNNACC_CCP_IMM_MASK;
	uint32_t rs = c->r[word >> CNNACC_CCP_RS_SHIFT & 7];
	unsigned int unit = word >> CNNACC_CCP_UNIT_SHIFT & 3;

	c->count->state[MICRO_SIMPLE]++;
	c->count->instructions++;
	c->pc++;
	switch (word >> CNNACC_CCP_OP_SHIFT) {
	case CNNACC_CCP_NOP:
		c->ended = true;
		break;
	case CNNACC_CCP_LDI:
		*rd = imm;
		break;
	case CNNACC_CCP_LDIH:
		*rd = imm << 16 | (*rd & 0xffff);
		break;
	case CNNACC_CCP_ADDI:
		*rd = rs + (uint32_t)(int16_t)imm;
		break;
	case CNNACC_CCP_LOAD:
	case CNNACC_CCP_STORE:
		transfer(c, word, word >> CNNACC_CCP_OP_SHIFT == CNNACC_CCP_STORE);
		break;
	case CNNACC_CCP_CFG:
		memcpy(c->group[unit][word >> CNNACC_CCP_GROUP_SHIFT & 1], c->r, sizeof(c->r));
		c->hold = MICRO_CFG_CLOCKS - 1;
		break;
	case CNNACC_CCP_SWAP:
		c->select ^= 1;
		break;
	case CNNACC_CCP_BNZ:
		if (*rd) {
			c->pc = word & CNNACC_CCP_TARGET_MASK;
			c->hold = 1;
		}
		break;
	}
}

static void control_step(struct core *c)
{
	uint32_t word = c->pc < c->words ? c->program[c->pc] : CNNACC_CCP_INSN_NOP;

	c->booting = c->booting && engine_busy(c);
	if (c->booting) {
		c->count->state[MICRO_BOOT]++;
	} else if (c->hold) {
		c->hold--;
		c->count->state[MICRO_SIMPLE]++;
	} else if (c->unit_busy) {
		run_unit(c);
	} else if (c->ended) {
		c->count->state[MICRO_STALL]++;
	} else if (c->flags & MICRO_SERIAL && engine_busy(c)) {
		c->count->state[MICRO_BLOCKED]++;
	} else if (word >> CNNACC_CCP_OP_SHIFT == CNNACC_CCP_EXEC_UNIT) {
		exec(c, word);
	} else {
		simple(c, word);
	}
}

void micro_run(const uint32_t *program, size_t words, unsigned int flags,
	       struct micro_count *count)
{
	static struct core core;

	memset(count, 0, sizeof(*count));
	memset(&core, 0, sizeof(core));
	core.program = program;
	core.words = words;
	core.flags = flags;
	core.count = count;
	core.booting = true;
	request(&core, 0, (uint32_t)(words + 15) / 16, false);
	while (!core.ended || engine_busy(&core)) {
		control_step(&core);
		engine_step(&core);
		count->cycles++;
	}
}
