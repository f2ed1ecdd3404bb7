// SPDX-License-Identifier: MIT
/* The global controller and the DMA engine, which work side by side. */
#include <string.h>

#include "cnnacc_hw.h"
#include "micro.h"

#define BANKS		6	/* two data banks, four weight banks */
#define ICACHE		BANKS
#define BANK_FLOATS	(CNNACC_CCP_WEIGHT_BANK_DEFAULT / 4)
#define QUEUE		4096

struct transfer {
	uint32_t lines;
	uint8_t bank;
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
	unsigned int loads[BANKS + 1], stores[BANKS + 1];	/* not finished, by bank */

	bool unit_busy;
	struct micro_unit unit;
	bool (*unit_step)(struct micro_unit *unit);
};

static bool engine_busy(const struct core *c)
{
	return c->head != c->tail;
}

static void request(struct core *c, unsigned int bank, uint32_t lines, bool store)
{
	c->queue[c->tail] = (struct transfer){ lines, (uint8_t)bank, store };
	c->tail = (c->tail + 1) % QUEUE;
	(store ? c->stores : c->loads)[bank]++;
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
	(t->store ? c->stores : c->loads)[t->bank]--;
	c->head = (c->head + 1) % QUEUE;
	c->setup = 0;
}

/* Weight banks that floats first..first + length - 1 of the linear view are in. */
static unsigned int linear_banks(uint32_t first, uint32_t length)
{
	unsigned int mask = 0;

	for (uint32_t b = first / BANK_FLOATS; b <= (first + length - 1) / BANK_FLOATS; b++)
		mask |= 1u << b;
	return mask;
}

static unsigned int conv_weight_banks(const uint32_t *g)
{
	uint32_t first = g[5] >> 16, num = g[2] >> 16;
	uint32_t count = g[6] & 0xffff ? g[6] & 0xffff : num - first;
	unsigned int mask = 0;

	for (uint32_t o = first; o < first + count && o < first + 4; o++)
		mask |= 1u << o % CNNACC_CCP_WEIGHT_BANKS;
	return mask;
}

static unsigned int fc_weight_banks(const uint32_t *g)
{
	uint32_t in = (g[1] + 15) / 16 * 16;
	unsigned int mask = linear_banks(g[5], in * g[2]);

	return g[0] & CNNACC_CCP_R0_BIAS ? mask | linear_banks(g[6], g[2]) : mask;
}

/* Data still on its way in, or not yet out of the bank that is overwritten. */
static bool exec_waits(const struct core *c, unsigned int unit)
{
	unsigned int weights = 0;

	if (unit == CNNACC_CCP_CONV)
		weights = conv_weight_banks(c->group[unit][0]);
	else if (unit == CNNACC_CCP_FC)
		weights = fc_weight_banks(c->group[unit][0]);
	for (unsigned int b = 0; b < CNNACC_CCP_WEIGHT_BANKS; b++)
		if (weights >> b & 1 && c->loads[CNNACC_CCP_DATA_BANKS + b])
			return true;
	return c->loads[c->select] || c->loads[!c->select] || c->stores[!c->select];
}

static void unit_start(struct core *c, unsigned int unit)
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
	c->unit_busy = true;
}

static void run_unit(struct core *c)
{
	if (c->unit_step(&c->unit))
		c->unit_busy = false;
}

static void exec(struct core *c, uint32_t word)
{
	unsigned int unit = word >> CNNACC_CCP_UNIT_SHIFT & 3;

	if (exec_waits(c, unit)) {
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
	unit_start(c, unit);
	run_unit(c);
}

static void transfer(struct core *c, uint32_t word, bool store)
{
	uint32_t lines = c->r[word >> CNNACC_CCP_RL_SHIFT & 7];
	unsigned int target = word >> CNNACC_CCP_TGT_SHIFT & 7;

	if (target <= CNNACC_CCP_TGT_WRITE_BANK)
		target ^= c->select;
	else
		target -= CNNACC_CCP_TGT_WEIGHT0 - CNNACC_CCP_DATA_BANKS;
	if (!lines)
		return;
	c->requested = !engine_busy(c);
	request(c, target, lines, store);
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
	request(&core, ICACHE, (uint32_t)(words + 15) / 16, false);
	while (!core.ended || engine_busy(&core)) {
		control_step(&core);
		engine_step(&core);
		count->cycles++;
	}
}
