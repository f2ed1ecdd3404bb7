// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The seven instructions, DRAIN and WAIT. */
#include <string.h>

#include "hwpe.h"
#include "mutant.h"

#define DRAIN_LATENCY	16	/* cycles of each AccReg before its first line */
#define RELU_CYCLES	6
#define ALL_PES		((1u << HWPE_PES) - 1)

enum { OP_WORD, OPERAND0 = 5, OPERAND1 = 6 };

/** struct insn - an instruction word in its fields. */
struct insn {
	uint32_t funct;
	uint32_t rd, rs1, rs2;
	bool resume;
};

/** struct form - what an instruction has and needs. */
struct form {
	uint32_t flags;		/* CNNACC_HWPE_X* */
	uint32_t event_flags;	/* CNNACC_SEQ_* of its EXEC */
	bool idle;		/* needs an IDLE core; else one that is not RUNNING */
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

/* AccReg that the instruction is about, where it is about one. */
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

static enum seq_outcome bad_program(struct core_fault *fault, uint32_t code, uint32_t detail)
{
	return seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

/* Words of the command that go with the instruction. */
static enum seq_outcome check_words(const struct cnnacc_seq_command *c, const struct insn *insn,
				    struct core_fault *fault)
{
	const struct form *form = form_of(insn->funct);
	const uint32_t flags = CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS;

	if (c->op & flags & ~form->event_flags)
		return seq_bad_word(fault, OP_WORD);
	if (c->arg[4] && !(form->flags & CNNACC_HWPE_XS1))
		return seq_bad_word(fault, OPERAND0);
	if (insn->funct == CNNACC_HWPE_RELU_WRITE && c->arg[4] % 4)
		return seq_bad_word(fault, OPERAND0);
	if (c->arg[5] && !(form->flags & CNNACC_HWPE_XS2))
		return seq_bad_word(fault, OPERAND1);
	return SEQ_NEXT;
}

static enum seq_outcome check_state(const struct hwpe_state *s, const struct insn *insn,
				    struct core_fault *fault)
{
	bool idle = form_of(insn->funct)->idle;

	if (insn->funct == CNNACC_HWPE_RESET)
		return SEQ_NEXT;
	if (idle ? s->state != CNNACC_HWPE_IDLE : s->state == CNNACC_HWPE_RUNNING)
		return bad_program(fault, CNNACC_HWPE_E_BUSY, s->state);
	if (insn->resume && s->state != CNNACC_HWPE_SUSPENDED)
		return bad_program(fault, CNNACC_HWPE_E_ENABLE_IDLE, 0);
	return SEQ_NEXT;
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

static enum seq_outcome write_config(struct hwpe *h, const uint32_t cfg[2],
				     struct core_fault *fault)
{
	uint32_t bad = hwpe_bad_config(cfg[0], cfg[1]);

	if (bad)
		return seq_fail(fault, CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG, bad);
	memcpy(h->s->cfg, cfg, sizeof(h->s->cfg));
	return SEQ_NEXT;
}

static enum seq_outcome matrix_mac(struct hwpe *h, const struct cnnacc_seq_command *c,
				   struct core_fault *fault)
{
	struct hwpe_state *s = h->s;
	uint32_t counts = c->arg[4], k = s->cfg[1] >> CNNACC_HWPE_CFG_K_SHIFT & 0x3ff;

	if (!(s->cfg[1] & CNNACC_HWPE_CFG_KERNEL_MASK))
		return seq_fail(fault, CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG,
				CNNACC_HWPE_BAD_KERNEL);
	if (!(counts & 0xffff) || !(counts >> 16) || !k)
		return SEQ_NEXT;
	if (hwpe_start_window(h, (struct hwpe_window){ 0 }, true, fault) == SEQ_FAILED)
		return SEQ_FAILED;
	memcpy(s->mac, &c->arg[4], sizeof(s->mac));
	s->events = (c->op & CNNACC_SEQ_EVENTS) != 0;
	s->round = 0;
	s->rounds = k * (counts & 0xffff) * (counts >> 16);
	return SEQ_NEXT;
}

static void drained(struct hwpe_state *s, uint32_t n, uint32_t pes)
{
	uint32_t fresh = s->fresh[n] & pes;

	/* All of them is what a host without an instruction for it meets. */
	s->seq.n.mac_useful += (uint64_t)s->useful * (fresh == ALL_PES ? HWPE_PES :
						      (uint32_t)__builtin_popcount(fresh));
	s->fresh[n] &= (uint16_t)~pes;
}

static enum seq_outcome read_acc(struct hwpe *h, const struct insn *insn,
				 const struct cnnacc_seq_command *c, struct cm_port *port,
				 struct core_fault *fault)
{
	uint32_t n = acc_field(insn);
	int32_t *acc = &h->s->acc[n][insn->rs2], value = *acc;

	*acc = 0;
	drained(h->s, n, 1u << insn->rs2);
	if (!(c->op & CNNACC_SEQ_RESULT))
		return SEQ_NEXT;
	h->s->seq.n.mem_write_bytes += sizeof(value);
	return seq_store(port, c->arg[6], &value, sizeof(value), fault);
}

static enum seq_outcome relu_write(struct hwpe *h, uint32_t n, uint32_t va,
				   struct cm_port *port, struct core_fault *fault)
{
	uint32_t shift = h->s->cfg[1] >> CNNACC_HWPE_CFG_SHIFT_SHIFT & 0x1f;
	uint8_t out[HWPE_PES];

	hwpe_relu(h->s->acc[n], shift, out);
	if (!MUTANT(CLEAR))
		memset(h->s->acc[n], 0, sizeof(h->s->acc[n]));
	drained(h->s, n, ALL_PES);
	h->s->seq.n.mem_write_bytes += sizeof(out);
	return seq_store(port, va, out, sizeof(out), fault);
}

/* Everything but the AccRegs, what was drained of them, and the window that still runs. */
static void reset(struct hwpe *h)
{
	struct hwpe_state *s = h->s, old = *s;

	hwpe_forget_ahead(h);
	memset(&s->state, 0, offsetof(struct hwpe_state, acc) - offsetof(struct hwpe_state, state));
	s->useful = old.useful;
	memcpy(s->fresh, old.fresh, sizeof(s->fresh));
}

static enum seq_outcome perform(struct hwpe *h, const struct insn *insn,
				const struct cnnacc_seq_command *c, struct cm_port *port,
				struct core_fault *fault)
{
	struct hwpe_state *s = h->s;

	switch (insn->funct) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
		memcpy(&s->base[insn->rd & 6], &c->arg[4], 2 * sizeof(s->base[0]));
		return SEQ_NEXT;
	case CNNACC_HWPE_WRITE_CFG:
		return write_config(h, &c->arg[4], fault);
	case CNNACC_HWPE_MATRIX_MAC:
		return matrix_mac(h, c, fault);
	case CNNACC_HWPE_WRITE_ACC:
		s->acc[acc_field(insn)][insn->rs2] = (int32_t)c->arg[4];
		return SEQ_NEXT;
	case CNNACC_HWPE_READ_ACC:
		return read_acc(h, insn, c, port, fault);
	case CNNACC_HWPE_RELU_WRITE:
		return relu_write(h, acc_field(insn), c->arg[4], port, fault);
	}
	reset(h);
	return SEQ_NEXT;
}

/** struct costs - what a command that fails does not count. */
struct costs {
	uint64_t t, cycles_serial, mem_write_bytes, mac_useful;
};

static struct costs costs_so_far(const struct seq_state *s)
{
	return (struct costs){ s->t, s->n.cycles_serial, s->n.mem_write_bytes, s->n.mac_useful };
}

static enum seq_outcome settle(struct seq_state *s, const struct costs *before,
			       enum seq_outcome outcome)
{
	if (outcome == SEQ_FAILED) {
		s->t = before->t;
		s->n.cycles_serial = before->cycles_serial;
		s->n.mem_write_bytes = before->mem_write_bytes;
		s->n.mac_useful = before->mac_useful;
	}
	return outcome;
}

static enum seq_outcome exec(struct seq *seq, const struct cnnacc_seq_command *c,
			     struct cm_port *port, struct core_fault *fault)
{
	bool result = c->op & CNNACC_SEQ_RESULT;
	struct hwpe *h = hwpe_of(seq);
	struct insn insn = decode(c->arg[0]);
	uint32_t bad = illegal(c->arg[0], &insn), cycles;
	enum seq_outcome outcome;
	struct costs before;

	if (bad)
		return bad_program(fault, CNNACC_HWPE_E_ILLEGAL, bad);
	outcome = check_words(c, &insn, fault);
	if (outcome == SEQ_NEXT)
		outcome = check_state(h->s, &insn, fault);
	if (outcome != SEQ_NEXT)
		return outcome;
	cycles = form_of(insn.funct)->cycles + result;
	if ((result || insn.funct == CNNACC_HWPE_RELU_WRITE) &&
	    cm_port_waits(port, seq->s->t + cycles))
		return SEQ_WAIT;
	before = costs_so_far(seq->s);
	seq_spend(seq, cycles);
	outcome = perform(h, &insn, c, port, fault);
	if (outcome == SEQ_NEXT && insn.resume)
		outcome = hwpe_resume(h, fault);
	return settle(seq->s, &before, outcome);
}

/* Where each AccReg goes. */
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

static enum seq_outcome drain(struct seq *seq, const struct cnnacc_seq_command *c,
			      struct cm_port *port, struct core_fault *fault)
{
	uint32_t count = c->op >> CNNACC_SEQ_PARAM_SHIFT, first = c->arg[1];
	bool resume = c->op & CNNACC_SEQ_RESUME;
	struct hwpe *h = hwpe_of(seq);
	struct hwpe_state *s = h->s;
	uint64_t cycles = 1 + count * DRAIN_LATENCY, va[HWPE_ACCS];
	struct costs before = costs_so_far(seq->s);
	enum seq_outcome outcome = SEQ_NEXT;

	if (s->state == CNNACC_HWPE_RUNNING)
		return bad_program(fault, CNNACC_HWPE_E_BUSY, s->state);
	if (resume && s->state != CNNACC_HWPE_SUSPENDED)
		return bad_program(fault, CNNACC_HWPE_E_ENABLE_IDLE, 0);
	drain_places(c, count, va);
	for (uint32_t i = 0; i < count; i++)
		cycles += seq_lines(va[i], sizeof(s->acc[0]));
	if (cm_port_waits(port, seq->s->t + cycles))
		return SEQ_WAIT;
	for (uint32_t i = 0; i < count && outcome == SEQ_NEXT; i++) {
		int32_t value[HWPE_PES];

		memcpy(value, s->acc[first + i], sizeof(value));
		memset(s->acc[first + i], 0, sizeof(value));
		drained(s, first + i, ALL_PES);
		outcome = seq_store(port, va[i], value, sizeof(value), fault);
	}
	seq_spend(seq, cycles);
	s->seq.n.mem_write_bytes += count * sizeof(s->acc[0]);
	if (outcome == SEQ_NEXT && resume)
		outcome = hwpe_resume(h, fault);
	return settle(seq->s, &before, outcome);
}

static enum seq_outcome wait(struct seq *seq, const struct cnnacc_seq_command *c,
			     struct cm_port *port, struct core_fault *fault)
{
	struct hwpe_state *s = hwpe_of(seq)->s;
	uint32_t mask = c->arg[0];
	uint64_t end = s->seq.t + 1 > s->seq.d ? s->seq.t + 1 : s->seq.d;

	if (mask & (s->state == CNNACC_HWPE_IDLE ? CNNACC_HWPE_WAIT_IDLE :
		    s->state == CNNACC_HWPE_SUSPENDED ? CNNACC_HWPE_WAIT_ROUND : 0)) {
		seq_spend(seq, 1);
		return SEQ_NEXT;
	}
	if (s->state != CNNACC_HWPE_RUNNING || !(mask & CNNACC_HWPE_WAIT_ROUND))
		return seq_fail(fault, CNNACC_STATUS_DEADLOCK, CNNACC_SEQ_E_DEADLOCK, 0);
	if (s->events && cm_port_waits(port, end))
		return SEQ_WAIT;
	seq_spend(seq, 1);
	s->seq.t = end;
	s->state = CNNACC_HWPE_SUSPENDED;
	s->round++;
	s->seq.n.events++;
	return s->events ? SEQ_EVENT : SEQ_NEXT;
}

static bool uses(const struct seq *seq, uint32_t memory)
{
	(void)memory;
	return hwpe_of(seq)->s->state == CNNACC_HWPE_RUNNING;
}

static void written(struct seq *seq, uint32_t memory)
{
	struct hwpe *h = hwpe_of(seq);

	hwpe_forget_ahead(h);
	if (memory == CNNACC_HWPE_KERNEL)
		hwpe_forget_right(h);
}

const struct seq_ops hwpe_seq_ops = {
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
