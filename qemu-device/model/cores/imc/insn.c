// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Execute the four operations and WAIT. */
#include "imc.h"

#define START_CYCLES	4	/* of a plane, before its first element is loaded */

enum { OP_WORD, OPERAND0 = 4, OPERANDS = 2 };

/** struct form - words that an operation uses. */
struct form {
	uint32_t reserved;	/* bits of instruction word 0 */
	uint32_t words;		/* instruction words */
	bool operands;
};

static const struct form forms[] = {
	[CNNACC_IMC_SETUP] = { CNNACC_IMC_SETUP_RESERVED, 4, true },
	[CNNACC_IMC_CONV] = { CNNACC_IMC_CONV_RESERVED, 4, false },
	[CNNACC_IMC_STEP] = { CNNACC_IMC_STEP_RESERVED, 2, false },
	[CNNACC_IMC_READ] = { CNNACC_IMC_READ_RESERVED, 2, false },
};

static uint32_t op_of(const struct cnnacc_seq_command *c)
{
	return c->arg[0] & CNNACC_IMC_OP_MASK;
}

static bool bad_bits(const struct cnnacc_seq_command *c, const struct form *form)
{
	uint32_t bad = c->arg[0] & form->reserved;

	for (uint32_t i = form->words; i < OPERAND0; i++)
		bad |= c->arg[i];
	for (uint32_t i = OPERAND0; i < OPERAND0 + OPERANDS && !form->operands; i++)
		bad |= c->arg[i];
	return bad;
}

/* enum cnnacc_imc_illegal, or 0. */
static uint32_t illegal(const struct cnnacc_seq_command *c)
{
	uint32_t op = op_of(c);

	if (op < CNNACC_IMC_SETUP || op > CNNACC_IMC_READ)
		return CNNACC_IMC_BAD_OP;
	if (bad_bits(c, &forms[op]))
		return CNNACC_IMC_BAD_BITS;
	if (op == CNNACC_IMC_READ && (c->arg[1] % 4 || c->arg[1] < CNNACC_SEQ_REGS_SIZE ||
				      c->arg[1] >= CNNACC_IMC_REG_END))
		return CNNACC_IMC_BAD_REGISTER;
	return 0;
}

static bool bad_flags(const struct cnnacc_seq_command *c)
{
	bool result = c->op & CNNACC_SEQ_RESULT;

	return (c->op & CNNACC_SEQ_EVENTS) || result != (op_of(c) == CNNACC_IMC_READ);
}

static bool busy(const struct imc_state *s, uint32_t op)
{
	if (op == CNNACC_IMC_READ)
		return false;
	return s->state != (op == CNNACC_IMC_STEP ? CNNACC_IMC_STEPPING : CNNACC_IMC_IDLE);
}

/* enum cnnacc_imc_cfg, or 0. */
static uint32_t bad_config(const struct imc *h, const struct cnnacc_seq_command *c)
{
	switch (op_of(c)) {
	case CNNACC_IMC_SETUP:
		return imc_bad_setup(&h->build, c->arg);
	case CNNACC_IMC_CONV:
		return imc_bad_align(h->s, c->arg);
	case CNNACC_IMC_STEP:
		return c->arg[1] && c->arg[1] <= CNNACC_IMC_CLOCKS_MAX ? 0 :
		       CNNACC_IMC_BAD_CLOCKS;
	}
	return 0;
}

static enum cm_seq_outcome bad_program(struct cm_core_fault *fault, uint32_t code, uint32_t detail)
{
	return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

/* All checks but that of the memory that READ writes. */
static enum cm_seq_outcome check(const struct imc *h, const struct cnnacc_seq_command *c,
				 struct cm_core_fault *fault)
{
	uint32_t bad = illegal(c), memory;

	if (bad)
		return bad_program(fault, CNNACC_IMC_E_ILLEGAL, bad);
	if (bad_flags(c))
		return cm_seq_bad_word(fault, OP_WORD);
	if (busy(h->s, op_of(c)))
		return bad_program(fault, CNNACC_IMC_E_BUSY, h->s->state);
	bad = bad_config(h, c);
	if (bad)
		return cm_seq_fail(fault, CNNACC_STATUS_CONFIG, CNNACC_IMC_E_CFG, bad);
	if (op_of(c) != CNNACC_IMC_CONV)
		return CM_SEQ_NEXT;
	memory = imc_bad_memory(h, c->arg);
	if (memory < CNNACC_IMC_MEMORIES)
		return bad_program(fault, CNNACC_IMC_E_ADDR, memory);
	return CM_SEQ_NEXT;
}

/* Count a whole plane, and compute it unless it would end past the cycle limit. */
static void start_plane(struct imc *h, const struct imc_plane *p)
{
	uint64_t cycles = START_CYCLES + imc_load(p, 0) + imc_plane_clocks(p) + imc_plane_stalls(p);
	struct cm_seq_state *seq = &h->s->seq;

	seq->d = seq->t + cycles;
	seq->n.cycles_serial += cycles;
	imc_count_plane(h, p);
	h->s->state = CNNACC_IMC_RUNNING;
	h->s->computing = seq->d <= seq->cycle_limit;
	h->packed = false;
}

static void start_steps(struct imc *h, const struct imc_plane *p)
{
	struct imc_state *s = h->s;

	cm_seq_spend(&h->seq, START_CYCLES + imc_load(p, 0));
	s->state = CNNACC_IMC_STEPPING;
	s->at = (struct imc_position){ .element = 1, .weight = 1 };
	s->left = 0;
	s->level = 0;
	s->oldest = 0;
}

static void conv(struct imc *h, const struct cnnacc_seq_command *c)
{
	struct imc_plane p;

	memcpy(h->s->conv, c->arg, sizeof(h->s->conv));
	memset(&h->s->last, 0, sizeof(h->s->last));
	imc_plane(h, &p);
	if (c->arg[0] & CNNACC_IMC_CONV_STEP)
		start_steps(h, &p);
	else
		start_plane(h, &p);
}

static enum cm_seq_outcome read_register(struct imc *h, const struct cnnacc_seq_command *c,
					 struct cm_port *port, struct cm_core_fault *fault)
{
	uint32_t window[CNNACC_IMC_REG_END / 4] = { 0 };
	enum cm_seq_outcome outcome;

	if (cm_port_must_wait(port, h->s->seq.t + 2))
		return CM_SEQ_WAIT;
	imc_registers(h->s, window);
	outcome = cm_seq_store(port, c->arg[6], &window[c->arg[1] / 4], sizeof(window[0]), fault);
	if (outcome != CM_SEQ_NEXT)
		return outcome;
	cm_seq_spend(&h->seq, 2);
	h->s->seq.n.mem_write_bytes += sizeof(window[0]);
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome exec(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	struct imc *h = imc_of(seq);
	enum cm_seq_outcome outcome = check(h, c, fault);

	if (outcome != CM_SEQ_NEXT)
		return outcome;
	if (op_of(c) == CNNACC_IMC_READ)
		return read_register(h, c, port, fault);
	cm_seq_spend(seq, 1);
	switch (op_of(c)) {
	case CNNACC_IMC_SETUP:
		memcpy(h->s->setup, c->arg, sizeof(h->s->setup));
		break;
	case CNNACC_IMC_CONV:
		conv(h, c);
		break;
	case CNNACC_IMC_STEP:
		h->s->clocks = c->arg[1];
		h->s->external = !!(c->arg[0] & CNNACC_IMC_STEP_VALID);
		break;
	}
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome wait(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	struct imc_state *s = imc_of(seq)->s;

	(void)c;
	(void)port;
	if (s->state == CNNACC_IMC_STEPPING)
		return cm_seq_fail(fault, CNNACC_STATUS_DEADLOCK, CNNACC_SEQ_E_DEADLOCK, 0);
	cm_seq_spend(seq, 1);
	if (s->state == CNNACC_IMC_RUNNING)
		seq->s->t = cm_seq_elapsed(seq);
	s->state = CNNACC_IMC_IDLE;
	return CM_SEQ_NEXT;
}

static bool work(struct cm_seq *seq, int64_t *budget)
{
	struct imc *h = imc_of(seq);

	if (h->s->computing)
		return imc_compute(h, budget);
	return imc_step(h, budget);
}

/* A plane claims its three banks whole. */
static bool uses(const struct cm_seq *seq, uint32_t memory, uint64_t begin, uint64_t end)
{
	const struct imc_state *s = imc_of(seq)->s;

	(void)begin;
	(void)end;
	return s->state != CNNACC_IMC_IDLE &&
	       (memory == imc_input(s->conv) || memory == imc_weight(s->conv) ||
		memory == imc_unit(s->conv));
}

const struct cm_seq_ops imc_seq_ops = {
	.insn_words = 4,
	.conditions = CNNACC_IMC_WAIT_IDLE,
	.exec = exec,
	.wait = wait,
	.work = work,
	.uses = uses,
};
