// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Global controller: fetch, decode and retire instructions. */
#include <string.h>

#include "ccp.h"

#define BOOT_NS		2000
#define CONTROL_CYCLES	8	/* maximum cycles of an instruction of run_control() */
/* Cycles by which instructions that access no memory may run ahead of device time. */
#define RUN_AHEAD_CYCLES	100000u

enum outcome {
	GO_ON,
	WAIT,		/* too early for the next access */
	ENDED,		/* by NOP */
	FAILED,		/* the fault is filled in */
};

static enum outcome fail(struct cm_core_fault *fault, uint32_t status_class, uint32_t code,
			 uint32_t field)
{
	*fault = (struct cm_core_fault){
		.status_class = status_class, .code = code, .detail = field,
	};
	return FAILED;
}

/* Complete the instruction: count it, check the cycle limit, go to @next. */
static enum outcome retire(struct ccp *c, uint32_t next, struct cm_core_fault *fault)
{
	c->s->n.instructions++;
	if (ccp_elapsed(c) > c->s->cycle_limit)
		return fail(fault, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
	c->s->pc = next;
	c->s->phase = CCP_FETCH;
	return GO_ON;
}

static enum outcome boot(struct ccp *c, struct cm_port *port, struct cm_core_fault *fault)
{
	if (ccp_boot(c, port, fault))
		return FAILED;
	ccp_time_boot(c);
	if (ccp_elapsed(c) > c->s->cycle_limit)
		return fail(fault, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
	c->s->phase = CCP_FETCH;
	return GO_ON;
}

const struct ccp_unit *ccp_unit(const struct ccp *c)
{
	static const struct ccp_unit *const units[] = {
		[CNNACC_CCP_CONV] = &ccp_conv_unit,
		[CNNACC_CCP_POOL] = &ccp_pool_unit,
		[CNNACC_CCP_PAD] = &ccp_pad_unit,
		[CNNACC_CCP_FC] = &ccp_fc_unit,
	};

	return units[ccp_bits(c->s->insn, 27, 26)];
}

static enum outcome exec(struct ccp *c, const struct ccp_unit *unit, int64_t *budget,
			 struct cm_core_fault *fault)
{
	if (!unit->run(c, budget))
		return GO_ON;
	ccp_time_exec(c);
	return retire(c, c->s->pc + 1, fault);
}

static enum outcome begin_exec(struct ccp *c, struct cm_port *port, int64_t *budget,
			       struct cm_core_fault *fault)
{
	const struct ccp_unit *unit = ccp_unit(c);
	uint32_t field;

	cm_port_complete(port);
	if (unit != &ccp_conv_unit)
		ccp_batch_finish(c);
	field = unit->check(c);
	if (field >= CNNACC_CCP_RANGE_INPUT)
		return fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_RANGE, field);
	if (field)
		return fail(fault, CNNACC_STATUS_CONFIG, CNNACC_CCP_E_CFG, field);
	c->s->pos[0] = 0;
	c->s->pos[1] = 0;
	c->filled = true;
	c->s->phase = CCP_UNIT;
	return exec(c, unit, budget, fault);
}

static enum outcome begin_dma(struct ccp *c, struct cm_core_fault *fault)
{
	uint32_t field, code = ccp_dma_check(c, &field);

	if (code)
		return fail(fault, CNNACC_STATUS_BAD_PROGRAM, code, field);
	ccp_batch_finish(c);
	c->s->pos[0] = 0;
	c->filled = true;
	c->s->phase = CCP_DMA;
	return GO_ON;
}

/* Group that the CFG @insn writes; CCP_GROUPS if it does not exist. */
static unsigned int cfg_group(uint32_t insn)
{
	static const uint8_t first[] = {
		[CNNACC_CCP_CONV] = CCP_CONV0,
		[CNNACC_CCP_POOL] = CCP_POOL0,
		[CNNACC_CCP_PAD] = CCP_PAD0,
		[CNNACC_CCP_FC] = CCP_FC0,
	};
	uint32_t unit = ccp_bits(insn, 27, 26), group = ccp_bits(insn, 25, 24);

	return group > (unit == CNNACC_CCP_CONV) ? CCP_GROUPS : first[unit] + group;
}

/* volatile: a wide load of gpr stalls on hosts that cannot forward it from 32-bit stores. */
static void configure(struct ccp_state *s, unsigned int group)
{
	const volatile uint32_t *gpr = s->gpr;

	for (unsigned int i = 0; i < CNNACC_CCP_GPRS; i++)
		s->group[group][i] = gpr[i];
}

/*
 * Execute @insn at *@pc if it is LDI, LDIH, ADDI, BNZ or CFG, which access only registers.  Sets
 * *@pc to the next instruction.  Returns the cycles, or 0 for any other instruction.
 */
static inline unsigned int run_control(struct ccp_state *s, uint32_t insn, uint32_t *pc)
{
	uint32_t *rd = &s->gpr[ccp_bits(insn, 27, 25)], imm = insn & CNNACC_CCP_IMM_MASK;
	unsigned int group;

	switch (insn >> CNNACC_CCP_OP_SHIFT) {
	case CNNACC_CCP_LDI:
		*rd = imm;
		break;
	case CNNACC_CCP_LDIH:
		*rd = imm << 16 | (*rd & 0xffff);
		break;
	case CNNACC_CCP_ADDI:
		*rd = s->gpr[ccp_bits(insn, 24, 22)] + (uint32_t)(int32_t)(int16_t)imm;
		break;
	case CNNACC_CCP_BNZ:
		*pc = *rd ? insn & CNNACC_CCP_TARGET_MASK : *pc + 1;
		return *rd ? 2 : 1;
	case CNNACC_CCP_CFG:
		group = cfg_group(insn);
		if (group == CCP_GROUPS)
			return 0;
		configure(s, group);
		++*pc;
		return 8;
	default:
		return 0;
	}
	++*pc;
	return 1;
}

/* Execute control instructions in a fast loop, until near the cycle limit or cycle_now. */
static void run_ahead(struct ccp *c, struct cm_port *port, int64_t *budget)
{
	struct ccp_state *s = c->s;
	uint64_t t = s->t, until = s->cycle_limit;
	int64_t count = 0, most = *budget / CCP_INSN_NS;
	uint32_t pc = s->pc, again = 0;		/* pc of a BNZ that jumped back */

	if (until > port->cycle_now)
		until = port->cycle_now;
	if (until < CONTROL_CYCLES || s->d > until - CONTROL_CYCLES)
		return;
	until -= CONTROL_CYCLES;
	while (t <= until && count < most && pc < c->icache_words && !again) {
		uint32_t at = pc;
		unsigned int cycles = run_control(s, c->icache[at], &pc);

		if (!cycles)
			break;
		t += cycles;
		count++;
		again = c->batch.runs && pc <= at ? at : 0;
	}
	s->n.cycles_serial += t - s->t;
	s->n.instructions += (uint64_t)count;
	*budget -= count * CCP_INSN_NS;
	s->t = t;
	s->pc = pc;
	if (again)
		ccp_conv_loop(c, again, until, budget);
}

static enum outcome end(struct ccp *c, struct cm_core_fault *fault)
{
	ccp_time_simple(c, 1);
	return retire(c, c->s->pc, fault) == FAILED ? FAILED : ENDED;
}

static enum outcome swap(struct ccp *c, struct cm_core_fault *fault)
{
	ccp_batch_finish(c);
	c->s->sel = !c->s->sel;
	ccp_time_simple(c, 1);
	return retire(c, c->s->pc + 1, fault);
}

static enum outcome fetch(struct ccp *c, struct cm_port *port, int64_t *budget,
			  struct cm_core_fault *fault)
{
	uint32_t next = c->s->pc;
	unsigned int cycles;

	if (c->s->pc >= c->icache_words)
		return fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_PC, 0);
	c->s->insn = c->icache[c->s->pc];
	switch (c->s->insn >> CNNACC_CCP_OP_SHIFT) {
	case CNNACC_CCP_NOP:
		return end(c, fault);
	case CNNACC_CCP_SWAP:
		return swap(c, fault);
	case CNNACC_CCP_LOAD:
	case CNNACC_CCP_STORE:
		return begin_dma(c, fault);
	case CNNACC_CCP_EXEC_UNIT:
		return begin_exec(c, port, budget, fault);
	}
	cycles = run_control(c->s, c->s->insn, &next);
	if (!cycles)
		return fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_CCP_E_ILLEGAL, 0);
	ccp_time_simple(c, cycles);
	return retire(c, next, fault);
}

/* Cycle of the job that must have passed before the next action. */
static uint64_t effect_cycle(const struct ccp *c)
{
	uint64_t elapsed = ccp_elapsed(c);

	if (c->s->phase == CCP_BOOT)
		return ccp_boot_end(c);
	if (c->s->phase == CCP_DMA)
		return ccp_dma_end(c);
	return elapsed > RUN_AHEAD_CYCLES ? elapsed - RUN_AHEAD_CYCLES : 0;
}

static enum outcome advance(struct ccp *c, struct cm_port *port, int64_t *budget,
			    struct cm_core_fault *fault)
{
	int moved;

	if (c->s->phase == CCP_FETCH)
		run_ahead(c, port, budget);
	if (cm_port_must_wait(port, effect_cycle(c)))
		return WAIT;
	switch (c->s->phase) {
	case CCP_BOOT:
		*budget -= BOOT_NS;
		return boot(c, port, fault);
	case CCP_DMA:
		moved = ccp_dma_run(c, port, budget, fault);
		if (moved <= 0)
			return moved ? FAILED : GO_ON;
		ccp_time_dma(c);
		return retire(c, c->s->pc + 1, fault);
	case CCP_UNIT:
		return exec(c, ccp_unit(c), budget, fault);
	}
	*budget -= CCP_INSN_NS;
	return fetch(c, port, budget, fault);
}

enum cm_core_step ccp_step(void *core, struct cm_port *port, uint32_t budget_ns,
			   struct cm_core_fault *fault)
{
	struct ccp *c = core;
	int64_t budget = budget_ns ? budget_ns : 1;
	enum outcome outcome = GO_ON;

	memset(fault, 0, sizeof(*fault));
	while (outcome == GO_ON && budget > 0)
		outcome = advance(c, port, &budget, fault);
	ccp_batch_finish(c);
	cm_port_complete(port);
	if (outcome == GO_ON || outcome == WAIT)
		return CM_CORE_RUNNING;
	c->s->phase = CCP_IDLE;
	/* Successful translations leave their address in the fault. */
	if (outcome == ENDED)
		memset(fault, 0, sizeof(*fault));
	fault->pc = c->s->pc;
	return outcome == ENDED ? CM_CORE_DONE : CM_CORE_FAULT;
}
