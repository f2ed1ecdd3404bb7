// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Boot, loops and the commands that every core shares. */
#include <string.h>

#include "mutant.h"
#include "sequencer.h"

#define BOOT_NS		2000
#define COPY_BYTES	((size_t)256 << 10)	/* maximum bytes of a row between budget checks */
#define BYTES_PER_NS	8			/* host speed, estimated */
#define LATENCY		16			/* cycles of a transfer before its first line */
/* Cycles by which commands that access no memory may run ahead of device time. */
#define RUN_AHEAD_CYCLES	100000u
#define TARGET_RESERVED	0xf8000000u
#define FLAGS_MASK	0xff00u

enum { OP_WORD, ARG0, ARG1, ARG2, ARG3, ARG4, ARG5, ARG6, WORDS };
_Static_assert(WORDS == CM_SEQ_WORDS, "number of words in a command");

/** struct form - words and flags that an operation uses. */
struct form {
	uint32_t flags;
	uint32_t used;		/* mask of words */
	bool param;		/* uses bits 31:16 of op */
};

static const struct form forms[] = {
	[CNNACC_SEQ_END] = { 0, 0, false },
	[CNNACC_SEQ_COPY2D] = { CNNACC_SEQ_TO_MEMORY, 0x7e, true },
	[CNNACC_SEQ_FILL] = { 0, 0x5e, true },
	[CNNACC_SEQ_EXEC] = { CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS, 0x60, false },
	[CNNACC_SEQ_DRAIN] = { CNNACC_SEQ_RESUME, 0x3e, true },
	[CNNACC_SEQ_WAIT] = { 0, 0x02, false },
	[CNNACC_SEQ_IRQ] = { 0, 0x02, false },
	[CNNACC_SEQ_LOOP] = { 0, 0xfe, true },
};

/** struct rows - operands of COPY2D and FILL; FILL has no VA. */
struct rows {
	uint64_t va, va_stride;
	uint64_t local, local_stride;
	uint64_t count, len;
	uint32_t memory;
};

enum cm_seq_outcome cm_seq_fail(struct cm_core_fault *fault, uint32_t status_class, uint32_t code,
				uint32_t detail)
{
	*fault = (struct cm_core_fault){
		.status_class = status_class, .code = code, .detail = detail,
	};
	return CM_SEQ_FAILED;
}

static enum cm_seq_outcome bad_program(struct cm_core_fault *fault, uint32_t code, uint32_t detail)
{
	return cm_seq_fail(fault, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

enum cm_seq_outcome cm_seq_bad_word(struct cm_core_fault *fault, uint32_t word)
{
	return bad_program(fault, CNNACC_SEQ_E_COMMAND, word);
}

enum cm_seq_outcome cm_seq_store(struct cm_port *port, uint64_t va, const void *buf, size_t len,
				 struct cm_core_fault *fault)
{
	if (!cm_port_bytes(port, va, (void *)buf, len, CNNACC_ACCESS_WRITE, fault))
		return CM_SEQ_NEXT;
	fault->code = CNNACC_SEQ_E_DMA;
	return CM_SEQ_FAILED;
}

/* ---- state ---- */

/* Lay out the memories behind the head of the state; without a state, only compute its size. */
static void lay_out_memories(struct cm_seq *seq)
{
	size_t pos = cm_core_align(seq->head);
	uint8_t *base = (uint8_t *)seq->s;

	for (uint32_t i = 0; i < seq->memories; i++) {
		seq->memory[i].bytes = base ? base + pos : NULL;
		pos += seq->memory[i].size;
	}
	seq->program = base ? (struct cnnacc_seq_command *)(base + pos) : NULL;
	seq->size = pos + seq->commands * sizeof(*seq->program);
}

static void find_unused_words(struct cm_seq *seq)
{
	for (uint32_t op = 0; op <= CM_SEQ_UNUSED_RESULT; op++) {
		bool result = op == CM_SEQ_UNUSED_RESULT;
		uint32_t used = forms[result ? CNNACC_SEQ_EXEC : op].used;

		if (result || op == CNNACC_SEQ_EXEC)
			used |= ((2u << seq->ops->insn_words) - 2) | (uint32_t)result << ARG6;
		for (unsigned int i = ARG0; i < WORDS; i++)
			seq->unused[op][i] = used >> i & 1 ? 0 : UINT32_MAX;
	}
}

bool cm_seq_create(struct cm_seq *seq, size_t head)
{
	find_unused_words(seq);
	seq->head = head;
	lay_out_memories(seq);
	seq->s = cm_core_alloc(seq->size);
	seq->patched = cm_core_alloc(seq->commands * sizeof(*seq->patched));
	if (!seq->s || !seq->patched)
		return false;
	lay_out_memories(seq);
	return true;
}

void cm_seq_free(struct cm_seq *seq)
{
	free(seq->patched);
	free(seq->s);
}

/* ---- increments ---- */

/* Add a loop's increments @times times to the commands of its body. */
static void add_increments(struct cm_seq *seq, const struct cm_seq_loop *loop, uint32_t times)
{
	for (unsigned int i = 0; i < CM_SEQ_PAIRS; i++) {
		uint32_t target = loop->pair[i].target, add = times * loop->pair[i].increment;
		struct cnnacc_seq_command *c = &seq->patched[loop->begin + (target & 0xfff)];

		for (uint32_t more = target >> 12 & 0xfff; add; c++, more--) {
			c->arg[target >> 24] += add;
			if (!more)
				break;
		}
	}
}

/* Compute seq->patched from the program and the active loops. */
static void patch_program(struct cm_seq *seq)
{
	const struct cm_seq_state *s = seq->s;

	memcpy(seq->patched, seq->program, seq->commands * sizeof(*seq->patched));
	for (uint32_t i = 0; i < s->depth; i++)
		add_increments(seq, &s->loop[i], s->loop[i].iteration);
	seq->patched_valid = true;
}

/* ---- boot ---- */

static uint64_t boot_lines(const struct cm_seq *seq)
{
	return cm_seq_lines(0, seq->s->program_len);
}

static enum cm_seq_outcome boot(struct cm_seq *seq, struct cm_port *port,
				struct cm_core_fault *fault)
{
	struct cm_seq_state *s = seq->s;
	uint64_t lines = boot_lines(seq), size = seq->commands * sizeof(*seq->program);

	if (cm_port_must_wait(port, LATENCY + lines))
		return CM_SEQ_WAIT;
	if (cm_port_lines(port, s->program_va, seq->program, lines, CNNACC_ACCESS_EXEC, fault)) {
		fault->code = CNNACC_CODE_FETCH;
		return CM_SEQ_FAILED;
	}
	memset((char *)seq->program + s->program_len, 0, size - s->program_len);
	patch_program(seq);
	cm_seq_spend(seq, LATENCY + lines);
	s->n.dma_cycles += LATENCY + lines;
	s->n.mem_read_bytes += lines * CNNACC_LINE_SIZE;
	s->n.local_write_bytes += lines * CNNACC_LINE_SIZE;
	if (cm_seq_elapsed(seq) > s->cycle_limit)
		return cm_seq_fail(fault, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
	s->phase = CM_SEQ_PHASE_FETCH;
	return CM_SEQ_NEXT;
}

/* ---- commands ---- */

static uint32_t param_of(const struct cnnacc_seq_command *c)
{
	return c->op >> CNNACC_SEQ_PARAM_SHIFT;
}

/* Are bits 31:16 out of range, for an operation that uses them? */
static bool bad_param(const struct cm_seq *seq, const struct cnnacc_seq_command *c)
{
	switch (c->op & CNNACC_SEQ_OP_MASK) {
	case CNNACC_SEQ_COPY2D:
	case CNNACC_SEQ_FILL:
		return param_of(c) >= seq->memories;
	case CNNACC_SEQ_DRAIN:
		return !param_of(c) || param_of(c) > seq->ops->registers;
	}
	return false;
}

/* Mask of the used words whose values the operation does not allow. */
static uint32_t bad_args(const struct cm_seq *seq, const struct cnnacc_seq_command *c)
{
	switch (c->op & CNNACC_SEQ_OP_MASK) {
	case CNNACC_SEQ_FILL:
		return (uint32_t)(c->arg[0] > 255) << ARG0;
	case CNNACC_SEQ_EXEC:
		return (uint32_t)((c->op & CNNACC_SEQ_RESULT) && c->arg[6] % 4) << ARG6;
	case CNNACC_SEQ_DRAIN:
		return (uint32_t)(c->arg[0] % 4 != 0) << ARG0 |
		       (uint32_t)(c->arg[1] > seq->ops->registers - param_of(c)) << ARG1 |
		       (uint32_t)(c->arg[3] % 4 != 0) << ARG3 |
		       (uint32_t)(c->arg[4] % 4 != 0) << ARG4;
	case CNNACC_SEQ_WAIT:
		return (uint32_t)(!c->arg[0] || (c->arg[0] & ~seq->ops->conditions)) << ARG0;
	}
	return 0;
}

/* Index of the first invalid word, or WORDS. */
static unsigned int bad_word(const struct cm_seq *seq, const struct cnnacc_seq_command *c)
{
	uint32_t op = c->op & CNNACC_SEQ_OP_MASK, bad = 1u << WORDS, any = 0;
	/*
	 * volatile: read word by word.  A wide load stalls on hosts that cannot forward it from the
	 * 32-bit stores of add_increments().
	 */
	const volatile uint32_t *word = (const volatile uint32_t *)c;
	const uint32_t *unused;

	if (op > CNNACC_SEQ_LOOP || (c->op & FLAGS_MASK & ~forms[op].flags) ||
	    (forms[op].param ? bad_param(seq, c) : param_of(c) != 0))
		return OP_WORD;
	unused = seq->unused[c->op & CNNACC_SEQ_RESULT ? CM_SEQ_UNUSED_RESULT : op];
	for (unsigned int i = 0; i < WORDS; i++)
		any |= word[i] & unused[i];
	for (unsigned int i = ARG0; any && i < WORDS; i++)
		bad |= (uint32_t)((word[i] & unused[i]) != 0) << i;
	return (unsigned int)__builtin_ctz(bad | bad_args(seq, c));
}

/* Number of memory lines that the rows touch; row offsets in a line repeat every 64 rows. */
static uint64_t lines_of(const struct rows *r)
{
	uint64_t period = CNNACC_LINE_SIZE, all = 0, some = 0;

	if (r->va_stride % CNNACC_LINE_SIZE == 0)
		return r->count * cm_seq_lines(r->va, r->len);
	for (uint64_t i = 0; i < period && i < r->count; i++) {
		uint64_t lines = cm_seq_lines(r->va + i * r->va_stride, r->len);

		all += lines;
		some += i < r->count % period ? lines : 0;
	}
	return r->count < period ? all : r->count / period * all + some;
}

/* Checks common to COPY2D and FILL; CM_SEQ_NEXT if they pass. */
static enum cm_seq_outcome check_rows(const struct cm_seq *seq, const struct rows *r,
				      struct cm_core_fault *fault)
{
	uint64_t end = r->local;

	if (r->count && r->len)
		end += (r->count - 1) * r->local_stride + r->len;
	if (seq->ops->uses(seq, r->memory, r->local, end))
		return bad_program(fault, CNNACC_SEQ_E_CONFLICT, r->memory);
	if (end > r->local && end > seq->memory[r->memory].size)
		return bad_program(fault, CNNACC_SEQ_E_RANGE, r->memory);
	return CM_SEQ_NEXT;
}

/* COPY2D or FILL is about to change a local memory. */
static void mark_written(struct cm_seq *seq, uint32_t memory)
{
	seq->filled = true;
	if (seq->ops->written)
		seq->ops->written(seq, memory);
}

/* Does a command of that many cycles end within the cycle limit? */
static bool in_time(const struct cm_seq *seq, uint64_t cycles)
{
	return seq->s->t + cycles <= seq->s->cycle_limit;
}

static struct rows copy_rows(const struct cnnacc_seq_command *c)
{
	return (struct rows){
		.va = c->arg[0], .local = c->arg[1], .count = c->arg[2], .len = c->arg[3],
		.va_stride = c->arg[4], .local_stride = c->arg[5], .memory = param_of(c),
	};
}

/* Move the rows from s->row, s->byte on. */
static enum cm_seq_outcome move_rows(struct cm_seq *seq, const struct rows *r,
				     enum cnnacc_access access, struct cm_port *port,
				     int64_t *budget, struct cm_core_fault *fault)
{
	struct cm_seq_state *s = seq->s;
	uint8_t *local = seq->memory[r->memory].bytes + r->local;

	while (s->row < r->count) {
		size_t len = r->len - s->byte < COPY_BYTES ? r->len - s->byte : COPY_BYTES;

		if (cm_port_bytes(port, r->va + s->row * r->va_stride + s->byte,
				  local + s->row * r->local_stride + s->byte, len, access,
				  fault)) {
			fault->code = CNNACC_SEQ_E_DMA;
			return CM_SEQ_FAILED;
		}
		*budget -= CM_SEQ_COMMAND_NS + (int64_t)(len / BYTES_PER_NS);
		s->byte += len;
		if (s->byte == r->len) {
			s->byte = 0;
			s->row++;
		}
		if (*budget <= 0 && s->row < r->count)
			return CM_SEQ_AGAIN;
	}
	s->row = 0;
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome copy(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_port *port, int64_t *budget, struct cm_core_fault *fault)
{
	bool store = c->op & CNNACC_SEQ_TO_MEMORY;
	struct rows r = copy_rows(c);
	enum cm_seq_outcome outcome = check_rows(seq, &r, fault);
	uint64_t cycles, bytes = r.count * r.len;
	bool moves;

	if (outcome != CM_SEQ_NEXT)
		return outcome;
	cycles = bytes ? LATENCY + lines_of(&r) : 0;
	moves = bytes && in_time(seq, 1 + cycles);
	if (moves && cm_port_must_wait(port, seq->s->t + 1 + cycles))
		return CM_SEQ_WAIT;
	if (moves && !store)
		mark_written(seq, r.memory);
	if (moves)
		outcome = move_rows(seq, &r, store ? CNNACC_ACCESS_WRITE : CNNACC_ACCESS_READ,
				    port, budget, fault);
	if (outcome != CM_SEQ_NEXT)
		return outcome;
	cm_seq_spend(seq, 1 + cycles);
	seq->s->n.dma_cycles += cycles;
	if (store) {
		seq->s->n.mem_write_bytes += bytes;
		seq->s->n.local_read_bytes += bytes;
	} else {
		seq->s->n.mem_read_bytes += bytes;
		seq->s->n.local_write_bytes += bytes;
	}
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome fill(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				int64_t *budget, struct cm_core_fault *fault)
{
	struct rows r = {
		.local = c->arg[1], .count = c->arg[2], .len = c->arg[3],
		.local_stride = c->arg[5], .memory = param_of(c),
	};
	enum cm_seq_outcome outcome;
	uint64_t rows = r.count, cycles;
	uint8_t *local;
	bool moves;

	outcome = check_rows(seq, &r, fault);
	if (outcome != CM_SEQ_NEXT)
		return outcome;
	cycles = 1 + r.count * cm_seq_lines(0, r.len);
	moves = r.count && r.len && in_time(seq, cycles);
	cm_seq_spend(seq, cycles);
	seq->s->n.local_write_bytes += r.count * r.len;
	if (!moves)
		return CM_SEQ_NEXT;
	mark_written(seq, r.memory);
	*budget -= (int64_t)(seq->memory[r.memory].size / BYTES_PER_NS);
	/* Merge rows that touch or overlap. */
	if (r.local_stride <= r.len) {
		r.len += (rows - 1) * r.local_stride;
		rows = 1;
	}
	local = seq->memory[r.memory].bytes + r.local;
	for (uint64_t i = 0; i < rows; i++)
		memset(local + i * r.local_stride, (int)c->arg[0], r.len);
	return CM_SEQ_NEXT;
}

static enum cm_seq_outcome irq(struct cm_seq *seq, const struct cnnacc_seq_command *c,
			       struct cm_port *port)
{
	if (cm_port_must_wait(port, seq->s->t + 1))
		return CM_SEQ_WAIT;
	cm_seq_spend(seq, 1);
	seq->s->event = c->arg[0];
	seq->s->n.events++;
	return CM_SEQ_EVENT;
}

/* Is the target word of a pair invalid for a body of @body commands? */
static bool bad_pair(uint32_t target, uint32_t body)
{
	return target & TARGET_RESERVED || target >> 24 == 7 ||
	       (target & 0xfff) + (target >> 12 & 0xfff) >= body;
}

/* enum cnnacc_seq_loop of the first invalid field, or 0. */
static uint32_t bad_loop(const struct cm_seq *seq, const struct cnnacc_seq_command *c)
{
	const struct cm_seq_state *s = seq->s;
	uint32_t body = param_of(c), end = s->pc + 1 + body;

	if (!body || end > seq->commands || (s->depth && end > s->loop[s->depth - 1].end))
		return CNNACC_SEQ_LOOP_BODY;
	if (s->depth == CNNACC_SEQ_LOOPS)
		return CNNACC_SEQ_LOOP_DEPTH;
	if (!c->arg[0])
		return CNNACC_SEQ_LOOP_ITERATIONS;
	for (uint32_t i = 0; i < CM_SEQ_PAIRS; i++)
		if (bad_pair(c->arg[1 + 2 * i], body))
			return CNNACC_SEQ_LOOP_PAIR0 + i;
	return 0;
}

static enum cm_seq_outcome loop(struct cm_seq *seq, const struct cnnacc_seq_command *c,
				struct cm_core_fault *fault)
{
	struct cm_seq_state *s = seq->s;
	uint32_t field = bad_loop(seq, c);
	struct cm_seq_loop *loop;

	if (field)
		return bad_program(fault, CNNACC_SEQ_E_LOOP, field);
	loop = &s->loop[s->depth++];
	*loop = (struct cm_seq_loop){
		.begin = s->pc + 1, .end = s->pc + 1 + param_of(c), .iterations = c->arg[0],
	};
	for (unsigned int i = 0; i < CM_SEQ_PAIRS; i++) {
		loop->pair[i].target = c->arg[1 + 2 * i];
		loop->pair[i].increment = c->arg[2 + 2 * i];
	}
	cm_seq_spend(seq, 1);
	return CM_SEQ_NEXT;
}

/* ---- program ---- */

static enum cm_seq_outcome run(struct cm_seq *seq, struct cm_port *port, int64_t *budget,
			       struct cm_core_fault *fault)
{
	const struct cnnacc_seq_command *c = &seq->patched[seq->s->pc];
	unsigned int word;

	if (seq->s->pc >= seq->commands)
		return bad_program(fault, CNNACC_SEQ_E_PC, 0);
	word = bad_word(seq, c);
	if (word < WORDS)
		return cm_seq_bad_word(fault, word);
	switch (c->op & CNNACC_SEQ_OP_MASK) {
	case CNNACC_SEQ_COPY2D:
		return copy(seq, c, port, budget, fault);
	case CNNACC_SEQ_FILL:
		return fill(seq, c, budget, fault);
	case CNNACC_SEQ_EXEC:
		return seq->ops->exec(seq, c, port, fault);
	case CNNACC_SEQ_DRAIN:
		return seq->ops->drain(seq, c, port, fault);
	case CNNACC_SEQ_WAIT:
		return seq->ops->wait(seq, c, port, fault);
	case CNNACC_SEQ_IRQ:
		return irq(seq, c, port);
	case CNNACC_SEQ_LOOP:
		return loop(seq, MUTANT(INNER) ? &seq->program[seq->s->pc] : c, fault);
	}
	cm_seq_spend(seq, 1);
	return CM_SEQ_END;
}

/* Advance to the next command, or back to the start of a loop's body. */
static void next_command(struct cm_seq *seq)
{
	struct cm_seq_state *s = seq->s;

	s->pc++;
	s->phase = CM_SEQ_PHASE_FETCH;
	while (s->depth && s->pc == s->loop[s->depth - 1].end) {
		struct cm_seq_loop *loop = &s->loop[s->depth - 1];

		if (loop->iteration + 1 < loop->iterations) {
			loop->iteration++;
			add_increments(seq, loop, 1);
			s->pc = loop->begin;
			return;
		}
		add_increments(seq, loop, -loop->iteration);
		s->depth--;
	}
}

/* Complete the command: count it and check the cycle limit. */
static enum cm_seq_outcome retire(struct cm_seq *seq, enum cm_seq_outcome outcome,
				  struct cm_port *port, struct cm_core_fault *fault)
{
	struct cm_seq_state *s = seq->s;

	s->n.instructions++;
	if (cm_seq_elapsed(seq) > s->cycle_limit)
		return cm_seq_fail(fault, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
	if (outcome == CM_SEQ_END)
		return CM_SEQ_END;
	next_command(seq);
	if (outcome == CM_SEQ_EVENT) {
		port->event_cycle = s->t;
		if (s->event_wait)
			s->phase = CM_SEQ_PHASE_EVENT;
	}
	return outcome;
}

/* Continue the computation; the command retires when it is done. */
static enum cm_seq_outcome work(struct cm_seq *seq, enum cm_seq_outcome outcome,
				struct cm_port *port, int64_t *budget,
				struct cm_core_fault *fault)
{
	seq->s->phase = CM_SEQ_PHASE_WORK;
	if (seq->ops->work && !seq->ops->work(seq, budget))
		return CM_SEQ_AGAIN;
	return retire(seq, outcome, port, fault);
}

static enum cm_seq_outcome advance(struct cm_seq *seq, struct cm_port *port, int64_t *budget,
				   struct cm_core_fault *fault)
{
	uint64_t t = seq->s->t;
	enum cm_seq_outcome outcome;

	if (seq->s->phase == CM_SEQ_PHASE_BOOT) {
		*budget -= BOOT_NS;
		return boot(seq, port, fault);
	}
	if (seq->s->phase == CM_SEQ_PHASE_WORK)
		return work(seq, CM_SEQ_NEXT, port, budget, fault);
	if (cm_port_must_wait(port, t > RUN_AHEAD_CYCLES ? t - RUN_AHEAD_CYCLES : 0))
		return CM_SEQ_WAIT;
	*budget -= CM_SEQ_COMMAND_NS;
	outcome = run(seq, port, budget, fault);
	if (outcome > CM_SEQ_END)
		return outcome;
	return work(seq, outcome, port, budget, fault);
}

enum cm_core_step cm_seq_step(void *core, struct cm_port *port, uint32_t budget_ns,
			      struct cm_core_fault *fault)
{
	struct cm_seq *seq = core;
	int64_t budget = budget_ns ? budget_ns : 1;
	enum cm_seq_outcome outcome = CM_SEQ_NEXT;
	struct cm_seq_state *s = seq->s;

	memset(fault, 0, sizeof(*fault));
	if (s->phase == CM_SEQ_PHASE_EVENT)
		s->phase = CM_SEQ_PHASE_FETCH;
	if (!seq->patched_valid)
		patch_program(seq);
	while (outcome == CM_SEQ_NEXT && budget > 0)
		outcome = advance(seq, port, &budget, fault);
	if (seq->ops->pause)
		seq->ops->pause(seq);
	cm_port_unmap(port);
	if (outcome == CM_SEQ_EVENT)
		return CM_CORE_EVENT;
	if (outcome != CM_SEQ_END && outcome != CM_SEQ_FAILED)
		return CM_CORE_RUNNING;
	cm_seq_stop(seq);
	/* Successful translations leave their address in the fault. */
	if (outcome == CM_SEQ_END)
		memset(fault, 0, sizeof(*fault));
	fault->pc = s->pc;
	return outcome == CM_SEQ_END ? CM_CORE_DONE : CM_CORE_FAULT;
}

/* ---- for the core's struct cm_core_ops ---- */

void *cm_seq_state(void *core, size_t *size)
{
	struct cm_seq *seq = core;

	*size = seq->size;
	return seq->s;
}

void cm_seq_drop_derived(void *core)
{
	struct cm_seq *seq = core;

	seq->patched_valid = false;
}

void cm_seq_on_zeroed(void *core)
{
	struct cm_seq *seq = core;

	cm_seq_drop_derived(core);
	seq->filled = false;
}

bool cm_seq_try_fast_zero(void *core)
{
	struct cm_seq *seq = core;

	if (seq->filled)
		return false;
	memset(seq->s, 0, seq->head);
	memset(seq->program, 0, seq->commands * sizeof(*seq->program));
	cm_seq_on_zeroed(core);
	return true;
}

void cm_seq_start(struct cm_seq *seq, const struct cm_core_job *job)
{
	*seq->s = (struct cm_seq_state){
		.cycle_limit = job->cycle_limit,
		.program_va = job->program_va,
		.program_len = job->program_len,
		.event_wait = job->event_wait,
		.phase = CM_SEQ_PHASE_BOOT,
	};
}

void cm_seq_stats(const void *core, struct cnnacc_stats *stats)
{
	const struct cm_seq *seq = core;

	*stats = seq->s->n;
	stats->cycles = cm_seq_elapsed(seq);
}

uint32_t cm_seq_stop(void *core)
{
	struct cm_seq *seq = core;

	seq->s->phase = CM_SEQ_PHASE_IDLE;
	seq->s->row = 0;
	seq->s->byte = 0;
	return seq->s->pc;
}

/* All memories are cleared in parallel, one line per cycle. */
uint64_t cm_seq_scrub_cycles(const void *core)
{
	const struct cm_seq *seq = core;
	uint64_t most = seq->commands * sizeof(*seq->program);

	for (uint32_t i = 0; i < seq->memories; i++)
		if (seq->memory[i].size > most)
			most = seq->memory[i].size;
	return most / CNNACC_LINE_SIZE;
}

void cm_seq_publish(const struct cm_seq *seq, uint32_t id, uint32_t *window)
{
	static const uint8_t states[CM_SEQ_PHASES] = {
		[CM_SEQ_PHASE_IDLE] = CNNACC_SEQ_IDLE,
		[CM_SEQ_PHASE_BOOT] = CNNACC_SEQ_BOOT,
		[CM_SEQ_PHASE_FETCH] = CNNACC_SEQ_RUN,
		[CM_SEQ_PHASE_WORK] = CNNACC_SEQ_RUN,
		[CM_SEQ_PHASE_EVENT] = CNNACC_SEQ_EVENT,
	};
	const struct cm_seq_state *s = seq->s;

	window[CNNACC_SEQ_REG_ID / 4] = id;
	window[CNNACC_SEQ_REG_PC / 4] = s->pc;
	window[CNNACC_SEQ_REG_STATE / 4] = states[s->phase];
	window[CNNACC_SEQ_REG_EVENT / 4] = s->event;
	window[CNNACC_SEQ_REG_LOOPS / 4] = s->depth;
	for (uint32_t i = 0; i < CNNACC_SEQ_LOOPS; i++)
		window[CNNACC_SEQ_REG_ITERATION(i) / 4] =
			i < s->depth ? s->loop[i].iteration : 0;
}

static bool loop_possible(const struct cm_seq *seq, uint32_t i)
{
	const struct cm_seq_loop *loop = &seq->s->loop[i];
	uint32_t begin = i ? loop[-1].begin : 0, end = i ? loop[-1].end : seq->commands;

	if (loop->begin <= begin || loop->begin >= loop->end || loop->end > end ||
	    loop->iteration >= loop->iterations)
		return false;
	for (unsigned int j = 0; j < CM_SEQ_PAIRS; j++)
		if (bad_pair(loop->pair[j].target, loop->end - loop->begin))
			return false;
	return true;
}

/* Only COPY2D saves progress inside a command. */
static bool rows_possible(struct cm_seq *seq)
{
	const struct cm_seq_state *s = seq->s;
	const struct cnnacc_seq_command *c = &seq->patched[s->pc];
	struct rows r;

	if (!s->row && !s->byte)
		return true;
	if (s->phase != CM_SEQ_PHASE_FETCH)
		return false;
	patch_program(seq);
	r = copy_rows(c);
	return (c->op & CNNACC_SEQ_OP_MASK) == CNNACC_SEQ_COPY2D && bad_word(seq, c) == WORDS &&
	       s->row < r.count && s->byte < r.len;
}

bool cm_seq_check(struct cm_seq *seq, const char **field, uint64_t *value)
{
	const struct cm_seq_state *s = seq->s;
	bool active = s->phase == CM_SEQ_PHASE_WORK || (s->phase == CM_SEQ_PHASE_FETCH &&
							(s->row || s->byte || s->depth));

	*field = "phase";
	*value = s->phase;
	if (s->phase >= CM_SEQ_PHASES || s->event_wait > 1)
		return false;
	*field = "program counter";
	*value = s->pc;
	if (s->pc > seq->commands || (active && s->pc >= seq->commands))
		return false;
	*field = "program";
	*value = s->program_len;
	if (s->program_va % CNNACC_LINE_SIZE || s->program_len % 4 ||
	    s->program_len > seq->commands * sizeof(*seq->program))
		return false;
	*field = "loops";
	*value = s->depth;
	if (s->depth > CNNACC_SEQ_LOOPS)
		return false;
	for (uint32_t i = 0; i < s->depth; i++)
		if (!loop_possible(seq, i))
			return false;
	*field = "transfer";
	*value = s->row;
	return rows_possible(seq);
}
