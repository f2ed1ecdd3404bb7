// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Execute the iterations of a loop over channels at once.  That is possible where the loop's EXECs
 * extend a run of the batch: such an EXEC never stalls, so that each iteration changes registers,
 * time and counters by the same increments.
 */
#include <string.h>

#include "ccp.h"

#define BODY	64	/* maximum number of instructions in a loop */

/** struct body - effects of one iteration. */
struct body {
	uint32_t count;				/* register that counts the iterations */
	uint32_t add[CNNACC_CCP_GPRS];		/* added to each register so far */
	uint32_t cfg[CNNACC_CCP_GPRS];		/* value of @add at the last CFG */
	bool configured;
	uint32_t execs;
	uint64_t cycles, exec_end;		/* since the start of the iteration */
};

/* Are @g1 the parameters of EXEC @n of the run? */
static bool continues(const struct ccp *c, const struct ccp_run *r, const uint32_t *g1, int64_t n)
{
	const int64_t base[CCP_BASES] = {
		r->first.in + n * r->in, r->first.out + n * r->out,
		r->first.weight + n * r->weight, r->first.bias + n * r->bias,
	};

	for (uint32_t i = 0; i < CCP_BASES; i++)
		if ((int32_t)g1[i] != base[i])
			return false;
	return ccp_conv_same(c, g1);
}

static bool scan_exec(const struct ccp *c, const struct ccp_run *r, struct body *b)
{
	uint32_t g1[CNNACC_CCP_GPRS];

	for (uint32_t i = 0; i < CNNACC_CCP_GPRS; i++)
		g1[i] = c->s->gpr[i] + b->cfg[i];
	b->cycles += c->work.cycles;
	b->exec_end = b->cycles;
	return b->configured && continues(c, r, g1, r->count + b->execs++);
}

static bool scan(const struct ccp *c, const struct ccp_run *r, uint32_t insn, struct body *b)
{
	uint32_t rd = ccp_bits(insn, 27, 25);

	switch (insn >> CNNACC_CCP_OP_SHIFT) {
	case CNNACC_CCP_ADDI:
		b->add[rd] += (uint32_t)(int32_t)(int16_t)insn;
		b->cycles += 1;
		return ccp_bits(insn, 24, 22) == rd &&
		       (rd != b->count || (int16_t)insn == -1);
	case CNNACC_CCP_CFG:
		memcpy(b->cfg, b->add, sizeof(b->cfg));
		b->configured = true;
		b->cycles += 8;
		return ccp_bits(insn, 27, 24) == (CNNACC_CCP_CONV << 2 | 1);
	case CNNACC_CCP_EXEC_UNIT:
		return ccp_bits(insn, 27, 26) == CNNACC_CCP_CONV && scan_exec(c, r, b);
	}
	return false;
}

/* Do all iterations have the same effects, until the counter is 0? */
static bool repeats(const struct ccp *c, const struct ccp_run *r, const struct body *b)
{
	const int64_t increment[CCP_BASES] = { r->in, r->out, r->weight, r->bias };

	for (uint32_t i = 0; i < CNNACC_CCP_GPRS; i++) {
		bool free = i == 7 && b->count == 7 && !(c->conv_cache.pitch_mask & UINT16_MAX);

		if (i < CCP_BASES ? b->add[i] != (uint32_t)(b->execs * increment[i]) :
				    b->add[i] && !free)
			return false;
	}
	return b->execs && b->add[b->count] == UINT32_MAX;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Number of iterations, at most @left, that access the same bank halves. */
static int64_t count_alike(const struct ccp *c, const struct ccp_run *r, const struct body *b,
			   int64_t left)
{
	const struct ccp_bounds *same_halves = &c->conv_cache.same_halves;
	const int64_t increment[CCP_BASES] = { r->in, r->out, r->weight, r->bias };
	const int64_t first[CCP_BASES] = {
		r->first.in, r->first.out, r->first.weight, r->first.bias,
	};

	for (uint32_t i = 0; i < CCP_BASES; i++) {
		int64_t end = increment[i] > 0 ? same_halves->max[i] : same_halves->min[i];
		int64_t base = first[i] + (r->count - 1) * increment[i];

		if (increment[i])
			left = min_of(left, (end - base) / (b->execs * increment[i]));
	}
	return left;
}

static void repeat(struct ccp *c, struct ccp_run *r, const struct body *b, uint32_t bnz,
		   uint32_t times)
{
	struct ccp_state *s = c->s;
	uint32_t insns = bnz - s->pc + 1;

	for (uint32_t i = 0; i < CNNACC_CCP_GPRS; i++) {
		s->group[CCP_CONV1][i] = s->gpr[i] + b->cfg[i] + (times - 1) * b->add[i];
		s->gpr[i] += times * b->add[i];
	}
	r->count += times * b->execs;
	c->execs += times * b->execs;
	s->n.instructions += (uint64_t)times * insns;
	ccp_time_loop(c, times, b->cycles, b->exec_end, b->execs);
	if (s->gpr[b->count])
		return;
	s->pc = bnz + 1;
	s->t--;			/* the last BNZ is not taken */
	s->n.cycles_serial--;
}

void ccp_conv_loop(struct ccp *c, uint32_t bnz, uint64_t until, int64_t *budget)
{
	struct ccp_run *r = &c->batch.run[c->batch.runs - 1];
	struct body b = { .count = ccp_bits(c->icache[bnz], 27, 25) };
	uint32_t insns = bnz - c->s->pc + 1;
	int64_t left, ns;

	if (!c->batch.plan_valid || r->count < 2 || insns > BODY || c->s->t > until)
		return;
	for (uint32_t i = c->s->pc; i < bnz; i++)
		if (!scan(c, r, c->icache[i], &b))
			return;
	b.cycles += 2;
	if (!repeats(c, r, &b))
		return;
	ns = b.execs * r->ns + insns * CCP_INSN_NS;
	left = min_of(c->s->gpr[b.count], *budget / ns);
	left = min_of(left, (int64_t)((until - c->s->t) / b.cycles));
	left = count_alike(c, r, &b, left);
	if (left < 1)
		return;
	repeat(c, r, &b, bnz, (uint32_t)left);
	*budget -= left * ns;
}
