// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core sample (Documentation/hardware/sample.rst): its instruction and the shell's interface. */
#include <stdio.h>

#include "cnnacc_sample.h"
#include "sample_mutant.h"
#include "sequencer.h"

#define BANKS		CNNACC_SAMPLE_BANKS
#define START_CYCLES	4u		/* of an instruction before its first elements */
#define FLAGS		(CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS)
#define WORD(offset)	((offset) / 4)
#define WINDOW_WORDS	(WORD(CNNACC_SAMPLE_REG_ELEMENTS) + 1)

/** struct sample_state - head of the flat state; banks and program memory follow it. */
struct sample_state {
	struct cm_seq_state seq;
	uint32_t running;		/* no WAIT has seen the end of the last instruction */
	uint32_t bank, elements;	/* of the last instruction */
	uint32_t reserved;
};

_Static_assert(offsetof(struct sample_state, seq) == 0, "the sequencer's state comes first");
_Static_assert(sizeof(struct sample_state) == sizeof(struct cm_seq_state) + 16,
	       "no hidden padding in the saved state");

struct sample {
	struct cm_seq seq;		/* must be the first member */
	struct sample_state *s;		/* begins with that of seq */
};

static struct sample *sample_of(const struct cm_seq *seq)
{
	return (struct sample *)seq;
}

/* ---- the instruction ---- */

/** struct add - the operands of ADD. */
struct add {
	int32_t factor[2], bias;
	uint32_t shift;
	int8_t zero_point;
	uint32_t count;
};

/* enum cnnacc_sample_illegal, or 0. */
static uint32_t illegal(const struct cnnacc_seq_command *c)
{
	uint32_t bank = c->arg[0] >> 8 & 0xff;

	if (c->arg[0] >> 16 || (c->arg[0] & 0xff) != CNNACC_SAMPLE_ADD)
		return CNNACC_SAMPLE_BAD_OPERATION;
	return bank >= BANKS ? CNNACC_SAMPLE_BAD_BANK : 0;
}

/* enum cnnacc_sample_cfg, or 0. */
static uint32_t bad_config(const struct sample *h, const struct cnnacc_seq_command *c,
			   uint32_t bank)
{
	if (c->arg[4] >> 13)
		return CNNACC_SAMPLE_BAD_RESULT;
	if (!c->arg[5] || c->arg[5] > h->seq.memory[bank].size / 2)
		return CNNACC_SAMPLE_BAD_COUNT;
	return 0;
}

static int8_t saturate(int64_t v)
{
	if (MUTANT(WRAP))
		return (int8_t)v;
	return (int8_t)(v < INT8_MIN ? INT8_MIN : v > INT8_MAX ? INT8_MAX : v);
}

static void add(int8_t *a, const int8_t *b, const struct add *op)
{
	for (uint32_t i = 0; i < op->count; i++) {
		int64_t sum = (int64_t)a[i] * op->factor[0] + (int64_t)b[i] * op->factor[1];

		a[i] = saturate(((sum + op->bias) >> op->shift) + op->zero_point);
	}
}

static void account(struct cm_seq *seq, uint32_t count)
{
	uint64_t steps = (count + CNNACC_SAMPLE_LANES - 1) / CNNACC_SAMPLE_LANES;
	uint64_t cycles = START_CYCLES + steps;
	struct cm_seq_state *s = seq->s;

	cm_seq_spend(seq, 1);
	s->d = s->t + cycles;
	s->n.cycles_serial += cycles;
	s->n.compute_cycles += cycles;
	s->n.mac_slots += 2 * CNNACC_SAMPLE_LANES * steps;
	s->n.mac_useful += 2 * (uint64_t)count;
	s->n.local_read_bytes += 2 * (uint64_t)count;
	s->n.local_write_bytes += count;
}

/* At most half a bank: the sums take less time than a step and need no cm_seq_ops.work(). */
static enum cm_seq_outcome exec(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	struct sample *h = sample_of(seq);
	uint32_t bad = illegal(c), bank = c->arg[0] >> 8;
	const struct add op = {
		.factor = { (int32_t)c->arg[1], (int32_t)c->arg[2] }, .bias = (int32_t)c->arg[3],
		.zero_point = (int8_t)c->arg[4], .shift = c->arg[4] >> 8 & 31, .count = c->arg[5],
	};
	int8_t *a;

	(void)port;
	if (c->op & FLAGS)
		return cm_seq_bad_word(fault, 0);
	if (bad)
		return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_SAMPLE_E_ILLEGAL, bad);
	if (h->s->running)
		return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, CNNACC_SAMPLE_E_BUSY,
				   h->s->bank);
	bad = bad_config(h, c, bank);
	if (bad)
		return cm_seq_fail(fault, CNNACC_STATUS_CONFIG, CNNACC_SAMPLE_E_CFG, bad);
	a = (int8_t *)seq->memory[bank].bytes;
	add(a, a + seq->memory[bank].size / 2, &op);
	account(seq, op.count);
	seq->filled = true;
	h->s->running = 1;
	h->s->bank = bank;
	h->s->elements = op.count;
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome wait(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, struct cm_core_fault *fault)
{
	(void)c;
	(void)port;
	(void)fault;
	cm_seq_spend(seq, 1);
	seq->s->t = cm_seq_elapsed(seq);
	sample_of(seq)->s->running = 0;
	return CM_SEQ_NEXT;
}

static bool uses(const struct cm_seq *seq, uint32_t memory, uint64_t begin, uint64_t end)
{
	const struct sample_state *s = sample_of(seq)->s;

	(void)begin;
	(void)end;
	return s->running && (MUTANT(BOTH) || s->bank == memory);
}

/* Without registers the sequencer refuses each DRAIN itself. */
static const struct cm_seq_ops seq_ops = {
	.insn_words = 4,
	.conditions = CNNACC_SAMPLE_WAIT_IDLE,
	.exec = exec,
	.wait = wait,
	.uses = uses,
};

/* ---- the shell ---- */

enum { BANK, PROGRAM };

static const struct cm_param params[] = {
	[BANK] = { "bank", 4096, 0x10000, 2 * CNNACC_LINE_SIZE, CNNACC_SAMPLE_BANK_DEFAULT },
	[PROGRAM] = { "program", 256, 1u << 20, CNNACC_LINE_SIZE, CNNACC_SAMPLE_PROGRAM_DEFAULT },
};

static void describe(const uint32_t *param, struct cnnacc_core_entry *entry)
{
	entry->program_max = param[PROGRAM];
	entry->param[CNNACC_SAMPLE_PARAM_BANK] = param[BANK];
	entry->param[CNNACC_SAMPLE_PARAM_LANES] = CNNACC_SAMPLE_LANES;
}

static void destroy(void *core)
{
	struct sample *h = core;

	cm_seq_free(&h->seq);
	free(h);
}

static void *create(const uint32_t *param, const struct cm_core_resources *resources)
{
	struct sample *h = cm_core_alloc(sizeof(*h));

	(void)resources;
	if (!h)
		return NULL;
	h->seq.ops = &seq_ops;
	h->seq.memories = BANKS;
	for (unsigned int i = 0; i < BANKS; i++)
		h->seq.memory[i].size = param[BANK];
	h->seq.commands = param[PROGRAM] / sizeof(struct cnnacc_seq_command);
	if (!cm_seq_create(&h->seq, sizeof(struct sample_state))) {
		destroy(h);
		return NULL;
	}
	h->s = (struct sample_state *)h->seq.s;
	return h;
}

static void start(void *core, const struct cm_core_job *job)
{
	struct sample *h = core;

	memset(h->s, 0, sizeof(*h->s));
	cm_seq_start(&h->seq, job);
}

static void publish(const void *core, uint32_t *window)
{
	const struct sample *h = core;
	const struct sample_state *s = h->s;

	cm_seq_publish(&h->seq, CNNACC_SAMPLE_ID, window);
	window[WORD(CNNACC_SAMPLE_REG_STATUS)] =
		s->running | s->bank << CNNACC_SAMPLE_STATUS_BANK_SHIFT;
	window[WORD(CNNACC_SAMPLE_REG_ELEMENTS)] = s->elements;
}

static int refuse(char *err, const char *field, uint64_t value)
{
	snprintf(err, CM_ERR_LEN, "sample: saved %s is impossible (%llu)", field,
		 (unsigned long long)value);
	return -1;
}

static int check(void *core, char err[CM_ERR_LEN])
{
	struct sample *h = core;
	const struct sample_state *s = h->s;
	const char *field;
	uint64_t value;

	h->seq.filled = true;
	if (!cm_seq_check(&h->seq, &field, &value))
		return refuse(err, field, value);
	if (s->running > 1 || s->reserved)
		return refuse(err, "state", s->running);
	if (s->bank >= BANKS)
		return refuse(err, "bank", s->bank);
	return 0;
}

const struct cm_core_ops cm_sample_ops = {
	.type = CNNACC_SAMPLE_TYPE,
	.name = "sample",
	.version = 0x00010000,
	.window_size = CNNACC_SAMPLE_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.mutants = CM_MUTANT_NAMES(SAMPLE_MUTANTS),
	.describe = describe,
	.create = create,
	.destroy = destroy,
	.state = cm_seq_state,
	.scrub_cycles = cm_seq_scrub_cycles,
	.drop_derived = cm_seq_drop_derived,
	.on_zeroed = cm_seq_on_zeroed,
	.try_fast_zero = cm_seq_try_fast_zero,
	.check = check,
	.start = start,
	.step = cm_seq_step,
	.stats = cm_seq_stats,
	.stop = cm_seq_stop,
	.publish = publish,
};
