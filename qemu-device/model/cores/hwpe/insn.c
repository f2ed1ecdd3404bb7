// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Execute the seven instructions, DRAIN and WAIT. */
#include <string.h>

#include "hwpe.h"
#include "hwpe_mutant.h"

#define DRAIN_LATENCY	16	/* cycles before the first line of each AccReg */
#define RELU_CYCLES	6
#define ALL_PES		((1u << HWPE_PES) - 1)

enum { OP_WORD, OPERAND0 = 5, OPERAND1 = 6 };

/** struct insn - a decoded instruction word. */
struct insn {
	uint32_t funct;
	uint32_t rd, rs1, rs2;
	bool resume;
};

/** struct form - encoding and preconditions of an instruction. */
struct form {
	uint32_t flags;		/* CNNACC_HWPE_X* */
	uint32_t event_flags;	/* CNNACC_SEQ_* that its EXEC may have */
	bool idle;		/* requires IDLE; otherwise IDLE or SUSPENDED */
	uint32_t cycles;
};

static const struct form *form_of(uint32_t funct)
{
	static const struct form forms[] = {
		{ CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2, 0, true, 1 },
		{ CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2, 0, true, 1 },
		{ CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2, CNNACC_SEQ_EVENTS, true, 1 },
		{ CNNACC_HWPE_XS1, 0, false, 1 },
		{ CNNACC_HWPE_XD, CNNACC_SEQ_RESULT, false, 1 },
		{ CNNACC_HWPE_XS1, 0, false, RELU_CYCLES },
		{ 0, 0, false, 1 },
	};

	if (!funct || funct & (funct - 1))
		return NULL;
	return &forms[__builtin_ctz(funct)];
}

static struct insn decode(uint32_t word)
{
	struct insn insn = {
		.funct = word >> 25,
		.rd = word >> 7 & 0x1f,
		.rs1 = word >> 15 & 0x1f,
		.rs2 = word >> 20 & 0x1f,
	};

	insn.resume = (insn.funct == CNNACC_HWPE_READ_ACC && insn.rs1 & CNNACC_HWPE_ENABLE) ||
		      (insn.funct == CNNACC_HWPE_RELU_WRITE && insn.rs2 & CNNACC_HWPE_ENABLE);
	return insn;
}

/* AccReg number in the instruction; 0 if it has none. */
static uint32_t acc_field(const struct insn *insn)
{
	switch (insn->funct) {
	case CNNACC_HWPE_WRITE_ACC: return insn->rd;
	case CNNACC_HWPE_READ_ACC: return insn->rs1 & 0xf;
	case CNNACC_HWPE_RELU_WRITE: return insn->rs2 & 0xf;
	}
	return 0;
}

/* enum cnnacc_hwpe_illegal, or 0. */
static uint32_t illegal(uint32_t word, const struct insn *insn)
{
	const uint32_t flags = CNNACC_HWPE_XD | CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2;
	bool pe = insn->funct == CNNACC_HWPE_WRITE_ACC || insn->funct == CNNACC_HWPE_READ_ACC;

	if ((word & 0x7f) != CNNACC_HWPE_OPCODE)
		return CNNACC_HWPE_BAD_OPCODE;
	if (!form_of(insn->funct))
		return CNNACC_HWPE_BAD_FUNCT;
	if ((word & flags) != form_of(insn->funct)->flags)
		return CNNACC_HWPE_BAD_FLAGS;
	if (pe && insn->rs2 >= HWPE_PES)
		return CNNACC_HWPE_BAD_PE;
	if (acc_field(insn) >= HWPE_ACCS)
		return CNNACC_HWPE_BAD_ACC;
	if (insn->funct == CNNACC_HWPE_WRITE_FMAP_ADDR && insn->rd >= 8)
		return CNNACC_HWPE_BAD_BASE;
	return 0;
}

static enum cm_seq_outcome bad_program(struct cm_core_fault *fault, uint32_t code, uint32_t detail)
{
	return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

/* Check the command's other words against the instruction. */
static enum cm_seq_outcome check_words(const struct cnnacc_seq_command *c, const struct insn *insn,
				       struct cm_core_fault *fault)
{
	const struct form *form = form_of(insn->funct);
	const uint32_t flags = CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS;

	if (c->op & flags & ~form->event_flags)
		return cm_seq_bad_word(fault, OP_WORD);
	if (c->arg[4] && !(form->flags & CNNACC_HWPE_XS1))
		return cm_seq_bad_word(fault, OPERAND0);
	if (insn->funct == CNNACC_HWPE_RELU_WRITE && c->arg[4] % 4)
		return cm_seq_bad_word(fault, OPERAND0);
	if (c->arg[5] && !(form->flags & CNNACC_HWPE_XS2))
		return cm_seq_bad_word(fault, OPERAND1);
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome check_state(const struct hwpe_state *s, const struct insn *insn,
				       struct cm_core_fault *fault)
{
	bool idle = form_of(insn->funct)->idle;

	if (insn->funct == CNNACC_HWPE_RESET)
		return CM_SEQ_NEXT;
	if (idle ? s->state != CNNACC_HWPE_IDLE : s->state == CNNACC_HWPE_RUNNING)
		return bad_program(fault, CNNACC_HWPE_E_BUSY, s->state);
	if (insn->resume && s->state != CNNACC_HWPE_SUSPENDED)
		return bad_program(fault, CNNACC_HWPE_E_ENABLE_IDLE, 0);
	return CM_SEQ_NEXT;
}

/* enum cnnacc_hwpe_cfg, or 0. */
uint32_t hwpe_bad_config(uint32_t cfg0, uint32_t cfg1)
{
	uint32_t kernel = cfg1 & CNNACC_HWPE_CFG_KERNEL_MASK;
	uint32_t type = cfg1 >> CNNACC_HWPE_CFG_TYPE_SHIFT & 3;
	bool special = cfg1 & CNNACC_HWPE_CFG_333, input = cfg1 & CNNACC_HWPE_CFG_INPUT;

	if (cfg1 & CNNACC_HWPE_CFG_RESERVED)
		return CNNACC_HWPE_BAD_RESERVED;
	if (!kernel || kernel > CNNACC_HWPE_KERNEL_MAX || (special && kernel != 3))
		return CNNACC_HWPE_BAD_KERNEL;
	if ((input || special) && type != CNNACC_HWPE_INT8 && type != CNNACC_HWPE_UINT8)
		return CNNACC_HWPE_BAD_TYPE;
	if (special && !input)
		return CNNACC_HWPE_BAD_LAYER;
	if ((cfg1 >> CNNACC_HWPE_CFG_SHIFT_SHIFT & 0x1f) > CNNACC_HWPE_SHIFT_MAX)
		return CNNACC_HWPE_BAD_SHIFT;
	if (!special && !(cfg0 & 0xffff))
		return CNNACC_HWPE_BAD_CH_COUNT;
	return 0;
}

static enum cm_seq_outcome write_config(struct hwpe *h, const uint32_t cfg[2],
					struct cm_core_fault *fault)
{
	uint32_t bad = hwpe_bad_config(cfg[0], cfg[1]);

	if (bad)
		return cm_seq_fail(fault, CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG, bad);
	memcpy(h->s->cfg, cfg, sizeof(h->s->cfg));
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome matrix_mac(struct hwpe *h, const struct cnnacc_seq_command *c,
				      struct cm_core_fault *fault)
{
	struct hwpe_state *s = h->s;
	uint32_t counts = c->arg[4], k = s->cfg[1] >> CNNACC_HWPE_CFG_K_SHIFT & 0x3ff;

	if (!(s->cfg[1] & CNNACC_HWPE_CFG_KERNEL_MASK))
		return cm_seq_fail(fault, CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG,
				   CNNACC_HWPE_BAD_KERNEL);
	if (!(counts & 0xffff) || !(counts >> 16) || !k)
		return CM_SEQ_NEXT;
	if (hwpe_start_window(h, (struct hwpe_window){ 0 }, true, fault) == CM_SEQ_FAILED)
		return CM_SEQ_FAILED;
	memcpy(s->mac, &c->arg[4], sizeof(s->mac));
	s->events = (c->op & CNNACC_SEQ_EVENTS) != 0;
	s->round = 0;
	s->rounds = k * (counts & 0xffff) * (counts >> 16);
	return CM_SEQ_NEXT;
}

static void count_drained(struct hwpe_state *s, uint32_t n, uint32_t pes)
{
	uint32_t undrained = s->undrained[n] & pes;

	/* Avoid popcount for the common case: it is slow on hosts without an instruction for it. */
	s->seq.n.mac_useful += (uint64_t)s->useful * (undrained == ALL_PES ? HWPE_PES :
						      (uint32_t)__builtin_popcount(undrained));
	s->undrained[n] &= (uint16_t)~pes;
}

static enum cm_seq_outcome read_acc(struct hwpe *h, const struct insn *insn,
				    const struct cnnacc_seq_command *c, struct cm_port *port,
				    struct cm_core_fault *fault)
{
	uint32_t n = acc_field(insn);
	int32_t *acc = &h->s->acc[n][insn->rs2], value = *acc;

	*acc = 0;
	count_drained(h->s, n, 1u << insn->rs2);
	if (!(c->op & CNNACC_SEQ_RESULT))
		return CM_SEQ_NEXT;
	h->s->seq.n.mem_write_bytes += sizeof(value);
	return cm_seq_store(port, c->arg[6], &value, sizeof(value), fault);
}

static enum cm_seq_outcome relu_write(struct hwpe *h, uint32_t n, uint32_t va,
				      struct cm_port *port, struct cm_core_fault *fault)
{
	uint32_t shift = h->s->cfg[1] >> CNNACC_HWPE_CFG_SHIFT_SHIFT & 0x1f;
	uint8_t out[HWPE_PES];

	hwpe_relu(h->s->acc[n], shift, out);
	if (!MUTANT(CLEAR))
		memset(h->s->acc[n], 0, sizeof(h->s->acc[n]));
	count_drained(h->s, n, ALL_PES);
	h->s->seq.n.mem_write_bytes += sizeof(out);
	return cm_seq_store(port, va, out, sizeof(out), fault);
}

/*
 * Reset everything except the AccRegs, the record of which were drained, and the useful count of
 * the window, which still runs to its end.
 */
static void reset(struct hwpe *h)
{
	struct hwpe_state *s = h->s, old = *s;

	hwpe_drop_lookahead(h);
	memset(&s->state, 0, offsetof(struct hwpe_state, acc) - offsetof(struct hwpe_state, state));
	s->useful = old.useful;
	memcpy(s->undrained, old.undrained, sizeof(s->undrained));
}

static enum cm_seq_outcome perform(struct hwpe *h, const struct insn *insn,
				   const struct cnnacc_seq_command *c, struct cm_port *port,
				   struct cm_core_fault *fault)
{
	struct hwpe_state *s = h->s;

	switch (insn->funct) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
		memcpy(&s->base[insn->rd & 6], &c->arg[4], 2 * sizeof(s->base[0]));
		return CM_SEQ_NEXT;
	case CNNACC_HWPE_WRITE_CFG:
		return write_config(h, &c->arg[4], fault);
	case CNNACC_HWPE_MATRIX_MAC:
		return matrix_mac(h, c, fault);
	case CNNACC_HWPE_WRITE_ACC:
		s->acc[acc_field(insn)][insn->rs2] = (int32_t)c->arg[4];
		return CM_SEQ_NEXT;
	case CNNACC_HWPE_READ_ACC:
		return read_acc(h, insn, c, port, fault);
	case CNNACC_HWPE_RELU_WRITE:
		return relu_write(h, acc_field(insn), c->arg[4], port, fault);
	}
	reset(h);
	return CM_SEQ_NEXT;
}

/** struct costs - counters that are restored when a command fails. */
struct costs {
	uint64_t t, cycles_serial, mem_write_bytes, mac_useful;
};

static struct costs costs_so_far(const struct cm_seq_state *s)
{
	return (struct costs){ s->t, s->n.cycles_serial, s->n.mem_write_bytes, s->n.mac_useful };
}

static enum cm_seq_outcome undo_costs(struct cm_seq_state *s, const struct costs *before,
				      enum cm_seq_outcome outcome)
{
	if (outcome == CM_SEQ_FAILED) {
		s->t = before->t;
		s->n.cycles_serial = before->cycles_serial;
		s->n.mem_write_bytes = before->mem_write_bytes;
		s->n.mac_useful = before->mac_useful;
	}
	return outcome;
}

static enum cm_seq_outcome exec(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	bool result = c->op & CNNACC_SEQ_RESULT;
	struct hwpe *h = hwpe_of(seq);
	struct insn insn = decode(c->arg[0]);
	uint32_t bad = illegal(c->arg[0], &insn), cycles;
	enum cm_seq_outcome outcome;
	struct costs before;

	if (bad)
		return bad_program(fault, CNNACC_HWPE_E_ILLEGAL, bad);
	outcome = check_words(c, &insn, fault);
	if (outcome == CM_SEQ_NEXT)
		outcome = check_state(h->s, &insn, fault);
	if (outcome != CM_SEQ_NEXT)
		return outcome;
	cycles = form_of(insn.funct)->cycles + result;
	if ((result || insn.funct == CNNACC_HWPE_RELU_WRITE) &&
	    cm_port_must_wait(port, seq->s->t + cycles))
		return CM_SEQ_WAIT;
	before = costs_so_far(seq->s);
	cm_seq_spend(seq, cycles);
	outcome = perform(h, &insn, c, port, fault);
	if (outcome == CM_SEQ_NEXT && insn.resume)
		outcome = hwpe_resume(h, fault);
	return undo_costs(seq->s, &before, outcome);
}

/* Compute the destination of each AccReg. */
static void drain_places(const struct cnnacc_seq_command *c, uint32_t count, uint64_t va[HWPE_ACCS])
{
	uint32_t per_row = c->arg[2] ? c->arg[2] : count, column = 0;
	uint64_t row = c->arg[0];

	for (uint32_t i = 0; i < count; i++) {
		va[i] = row + (uint64_t)column * c->arg[4];
		if (++column == per_row) {
			column = 0;
			row += c->arg[3];
		}
	}
}

static enum cm_seq_outcome drain(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				 struct cm_port *port, struct cm_core_fault *fault)
{
	uint32_t count = c->op >> CNNACC_SEQ_PARAM_SHIFT, first = c->arg[1];
	bool resume = c->op & CNNACC_SEQ_RESUME;
	struct hwpe *h = hwpe_of(seq);
	struct hwpe_state *s = h->s;
	uint64_t cycles = 1 + count * DRAIN_LATENCY, va[HWPE_ACCS];
	struct costs before = costs_so_far(seq->s);
	enum cm_seq_outcome outcome = CM_SEQ_NEXT;

	if (s->state == CNNACC_HWPE_RUNNING)
		return bad_program(fault, CNNACC_HWPE_E_BUSY, s->state);
	if (resume && s->state != CNNACC_HWPE_SUSPENDED)
		return bad_program(fault, CNNACC_HWPE_E_ENABLE_IDLE, 0);
	drain_places(c, count, va);
	for (uint32_t i = 0; i < count; i++)
		cycles += cm_seq_lines(va[i], sizeof(s->acc[0]));
	if (cm_port_must_wait(port, seq->s->t + cycles))
		return CM_SEQ_WAIT;
	for (uint32_t i = 0; i < count && outcome == CM_SEQ_NEXT; i++) {
		int32_t value[HWPE_PES];

		memcpy(value, s->acc[first + i], sizeof(value));
		memset(s->acc[first + i], 0, sizeof(value));
		count_drained(s, first + i, ALL_PES);
		outcome = cm_seq_store(port, va[i], value, sizeof(value), fault);
	}
	cm_seq_spend(seq, cycles);
	s->seq.n.mem_write_bytes += count * sizeof(s->acc[0]);
	if (outcome == CM_SEQ_NEXT && resume)
		outcome = hwpe_resume(h, fault);
	return undo_costs(seq->s, &before, outcome);
}

static enum cm_seq_outcome wait(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	struct hwpe_state *s = hwpe_of(seq)->s;
	uint32_t mask = c->arg[0];
	uint64_t end = s->seq.t + 1 > s->seq.d ? s->seq.t + 1 : s->seq.d;

	if (mask & (s->state == CNNACC_HWPE_IDLE ? CNNACC_HWPE_WAIT_IDLE :
		    s->state == CNNACC_HWPE_SUSPENDED ? CNNACC_HWPE_WAIT_ROUND : 0)) {
		cm_seq_spend(seq, 1);
		return CM_SEQ_NEXT;
	}
	if (s->state != CNNACC_HWPE_RUNNING || !(mask & CNNACC_HWPE_WAIT_ROUND))
		return cm_seq_fail(fault, CNNACC_STATUS_DEADLOCK, CNNACC_SEQ_E_DEADLOCK, 0);
	if (s->events && cm_port_must_wait(port, end))
		return CM_SEQ_WAIT;
	cm_seq_spend(seq, 1);
	s->seq.t = end;
	s->state = CNNACC_HWPE_SUSPENDED;
	s->round++;
	s->seq.n.events++;
	return s->events ? CM_SEQ_EVENT : CM_SEQ_NEXT;
}

static bool uses(const struct cm_seq *seq, uint32_t memory, uint64_t begin, uint64_t end)
{
	(void)memory;
	(void)begin;
	(void)end;
	return hwpe_of(seq)->s->state == CNNACC_HWPE_RUNNING;
}

static void written(struct cm_seq *seq, uint32_t memory)
{
	struct hwpe *h = hwpe_of(seq);

	hwpe_drop_lookahead(h);
	if (memory == CNNACC_HWPE_KERNEL)
		hwpe_drop_right(h);
}

const struct cm_seq_ops hwpe_seq_ops = {
	.insn_words = 1,
	.registers = HWPE_ACCS,
	.conditions = CNNACC_HWPE_WAIT_ROUND | CNNACC_HWPE_WAIT_IDLE,
	.exec = exec,
	.drain = drain,
	.wait = wait,
	.work = hwpe_work,
	.uses = uses,
	.written = written,
	.pause = hwpe_pause,
};
