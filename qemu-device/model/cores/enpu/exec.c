// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* EXEC, WAIT and claims: enpu as its sequencer sees it. */
#include "enpu.h"

#define FLAGS	(CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS)

enum { OP_WORD, OPERAND1 = 6 };

static enum cm_seq_outcome refuse(struct enpu_state *s, const struct enpu_error *error,
				  struct cm_core_fault *fault)
{
	s->err_insn = error->insn;
	s->err_value = error->value;
	s->err_limit = error->limit;
	return cm_seq_fail(fault, error->status_class, error->code, error->detail);
}

/* Charge the program, and count it. */
static void account(struct cm_seq *seq, const struct enpu_cost *cost)
{
	struct enpu_state *s = enpu_of(seq)->s;
	struct cnnacc_stats *n = &seq->s->n;
	uint64_t clocks;

	cm_seq_spend(seq, 1);
	seq->s->d = seq->s->t + cost->cycles;
	for (uint32_t i = 0; i < ENPU_COUNTERS; i++)
		s->counter[i] += cost->counter[i];
	clocks = cost->counter[ENPU_COUNTER(COMPUTE)] + cost->counter[ENPU_COUNTER(FUSED)];
	n->cycles_serial += cost->cycles;
	n->compute_cycles += clocks;
	n->mac_slots += CNNACC_ENPU_PES * clocks;
	n->mac_useful += cost->mac_useful;
	n->local_read_bytes += cost->local_read_bytes;
	n->local_write_bytes += cost->local_write_bytes;
}

static void start(struct enpu *h, uint32_t index, const struct enpu_program *program)
{
	struct enpu_state *s = h->s;

	s->running = 1;
	s->start = index;
	s->end = program->end;
	s->banks = program->banks;
	/* What would end too late computes nothing. */
	if (s->start == s->end || s->seq.d > s->seq.cycle_limit)
		return;
	h->seq.filled = true;
	s->pending = 1;
	s->layer = index;
	s->oy = 0;
	s->ox = 0;
}

static enum cm_seq_outcome exec(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	struct enpu *h = enpu_of(seq);
	struct enpu_program program;

	(void)port;
	if (c->op & FLAGS)
		return cm_seq_bad_word(fault, OP_WORD);
	if (c->arg[5])
		return cm_seq_bad_word(fault, OPERAND1);
	if (c->arg[0] != CNNACC_ENPU_RUN)
		return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_ENPU_E_ILLEGAL,
				   CNNACC_ENPU_BAD_EXEC);
	if (h->s->running)
		return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_ENPU_E_BUSY, 0);
	if (!enpu_check_program(h, c->arg[4], &program))
		return refuse(h->s, &program.error, fault);
	account(seq, &program.cost);
	start(h, c->arg[4], &program);
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome wait(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	struct enpu_state *s = enpu_of(seq)->s;

	(void)c;
	(void)port;
	(void)fault;
	cm_seq_spend(seq, 1);
	seq->s->t = cm_seq_elapsed(seq);
	s->running = 0;
	s->banks = 0;
	return CM_SEQ_NEXT;
}

static bool uses(const struct cm_seq *seq, uint32_t memory, uint64_t begin, uint64_t end)
{
	uint32_t size = seq->memory[memory].size, half = size / 2;
	uint32_t claimed = enpu_of(seq)->s->banks >> CNNACC_ENPU_BANKS * memory;

	if (begin == end)
		return false;
	return (claimed & 1 && begin < half) || (claimed & 2 && begin < size && end > half);
}

/* Without registers the sequencer refuses each DRAIN itself. */
const struct cm_seq_ops enpu_seq_ops = {
	.insn_words = 1,
	.conditions = CNNACC_ENPU_WAIT_IDLE,
	.exec = exec,
	.wait = wait,
	.work = enpu_work,
	.uses = uses,
};
