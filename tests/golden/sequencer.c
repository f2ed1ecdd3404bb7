// SPDX-License-Identifier: MIT
#include "sequencer.h"

#include <stdlib.h>
#include <string.h>

#include "min_max.h"
#include "words.h"

#define LINE		CNNACC_LINE_SIZE
#define COMMAND_BYTES	sizeof(struct cnnacc_seq_command)
#define FLAGS		0xff00u

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint32_t param(const struct cnnacc_seq_command *c)
{
	return c->op >> CNNACC_SEQ_PARAM_SHIFT;
}

static uint32_t program_commands(const struct golden_seq *seq)
{
	return seq->program_max / COMMAND_BYTES;
}

/* --------------------------------------------------------------- failing */

static void cover_failure(struct golden_seq *seq, uint16_t code, uint32_t detail)
{
	struct golden_seq_coverage *coverage = &seq->coverage;

	if (code == CNNACC_SEQ_E_COMMAND && seq->op < GOLDEN_SEQ_OPS)
		coverage->word[seq->op][detail]++;
	else if (code == CNNACC_SEQ_E_COMMAND)
		coverage->unknown_op++;
	else if (code == CNNACC_SEQ_E_LOOP)
		coverage->loop[detail]++;
	else if (code == CNNACC_SEQ_E_CONFLICT)
		coverage->conflict[detail]++;
	else if (code == CNNACC_SEQ_E_RANGE)
		coverage->range[detail]++;
}

bool golden_seq_fail(struct golden_seq *seq, uint16_t status_class, uint16_t code,
		     uint32_t detail)
{
	seq->status->status_class = status_class;
	seq->status->status_code = code;
	seq->status->detail = detail;
	cover_failure(seq, code, detail);
	return false;
}

static bool bad(struct golden_seq *seq, enum cnnacc_seq_code code, uint32_t detail)
{
	return golden_seq_fail(seq, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

static bool refused(struct golden_seq *seq, uint16_t code, const struct golden_fault *fault,
		    enum cnnacc_access access, uint64_t va)
{
	seq->refused = access;
	seq->status->access = access;
	seq->status->fault_va = va / LINE * LINE;
	return golden_seq_fail(seq, fault->status_class, code, fault->level);
}

void golden_seq_spend(struct golden_seq *seq, uint64_t cycles)
{
	seq->t += cycles;
	seq->stats->cycles_serial += cycles;
}

/* ---------------------------------------------------------------- memory */

uint64_t golden_seq_lines(uint64_t va, uint64_t length)
{
	return length ? (va + length - 1) / LINE - va / LINE + 1 : 0;
}

/* Bytes of [va, +length) in the line of @va. */
static uint64_t in_line(uint64_t va, uint64_t length)
{
	uint64_t rest = LINE - va % LINE;

	return rest < length ? rest : length;
}

bool golden_seq_store(struct golden_seq *seq, uint64_t va, const void *bytes, uint64_t length)
{
	const uint8_t *from = bytes;
	struct golden_fault fault;

	while (length) {
		uint64_t piece = in_line(va, length);

		if (!seq->memory->write(seq->memory->opaque, va, from, piece, &fault))
			return refused(seq, CNNACC_SEQ_E_DMA, &fault, CNNACC_ACCESS_WRITE, va);
		va += piece;
		from += piece;
		length -= piece;
	}
	return true;
}

static bool fetch(struct golden_seq *seq, uint64_t va, uint8_t *to, uint64_t length)
{
	uint8_t line[LINE];
	struct golden_fault fault;

	while (length) {
		uint64_t piece = in_line(va, length);

		if (!seq->memory->read(seq->memory->opaque, va / LINE * LINE, CNNACC_ACCESS_READ,
				       line, &fault))
			return refused(seq, CNNACC_SEQ_E_DMA, &fault, CNNACC_ACCESS_READ, va);
		memcpy(to, line + va % LINE, piece);
		va += piece;
		to += piece;
		length -= piece;
	}
	return true;
}

/* ----------------------------------------------------------------- words */

/* The form of a command: words and flags that it uses, and limits of its values. */
static const struct {
	uint32_t flags;
	unsigned int args;	/* bit n: arg[n] is used */
	bool param;
} format[GOLDEN_SEQ_OPS] = {
	[CNNACC_SEQ_END] = { 0, 0x00, false },
	[CNNACC_SEQ_COPY2D] = { CNNACC_SEQ_TO_MEMORY, 0x3f, true },
	[CNNACC_SEQ_FILL] = { 0, 0x2f, true },
	[CNNACC_SEQ_EXEC] = { CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS, 0x7f, false },
	[CNNACC_SEQ_DRAIN] = { CNNACC_SEQ_RESUME, 0x1f, true },
	[CNNACC_SEQ_WAIT] = { 0, 0x01, false },
	[CNNACC_SEQ_IRQ] = { 0, 0x01, false },
	[CNNACC_SEQ_LOOP] = { 0, 0x7f, true },
};

static bool bad_op(const struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	uint32_t op = c->op & CNNACC_SEQ_OP_MASK;

	if (op >= GOLDEN_SEQ_OPS || (c->op & FLAGS & ~format[op].flags))
		return true;
	switch (op) {
	case CNNACC_SEQ_COPY2D:
	case CNNACC_SEQ_FILL:
		return param(c) >= seq->core.memories;
	case CNNACC_SEQ_DRAIN:
		return !param(c) || param(c) > seq->core.registers;
	default:
		return param(c) && !format[op].param;
	}
}

static bool bad_arg(const struct golden_seq *seq, const struct cnnacc_seq_command *c, int n)
{
	uint32_t op = c->op & CNNACC_SEQ_OP_MASK, value = c->arg[n];

	if (!(format[op].args >> n & 1))
		return value;
	switch (op) {
	case CNNACC_SEQ_FILL:
		return n == 0 && value > 255;
	case CNNACC_SEQ_EXEC:
		if (n == 6)
			return c->op & CNNACC_SEQ_RESULT ? value % 4 : value;
		return n < 4 && (unsigned int)n >= seq->core.insn_words && value;
	case CNNACC_SEQ_DRAIN:
		if (n == 1)
			return (uint64_t)value + param(c) > seq->core.registers;
		return (n == 0 || n == 3 || n == 4) && value % 4;
	case CNNACC_SEQ_WAIT:
		return !value || (value & ~seq->core.conditions);
	default:
		return false;
	}
}

static bool check_words(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	if (bad_op(seq, c))
		return bad(seq, CNNACC_SEQ_E_COMMAND, 0);
	for (int n = 0; n < 7; n++)
		if (bad_arg(seq, c, n))
			return bad(seq, CNNACC_SEQ_E_COMMAND, 1 + n);
	return true;
}

/* ---------------------------------------------------------- COPY2D, FILL */

struct rows {
	uint64_t local, rows, bytes, stride;
};

/* Check that the local rows are free and in range. */
static bool check_local(struct golden_seq *seq, unsigned int memory, const struct rows *r)
{
	uint64_t length = r->rows && r->bytes ? (r->rows - 1) * r->stride + r->bytes : 0;

	if (seq->core.uses(seq->core.priv, memory, r->local, length))
		return bad(seq, CNNACC_SEQ_E_CONFLICT, memory);
	if (length && r->local + length > seq->core.memory[memory].size)
		return bad(seq, CNNACC_SEQ_E_RANGE, memory);
	return true;
}

/* Lines of memory that rows touch: row r and row r + 64 begin at the same place of a line. */
static uint64_t lines_of_rows(uint64_t va, uint64_t stride, const struct rows *r)
{
	uint64_t lines = 0;

	for (uint64_t row = 0; row < LINE && row < r->rows; row++)
		lines += golden_seq_lines(va + row * stride, r->bytes) *
			 ceil_div(r->rows - row, LINE);
	return lines;
}

/* A command that would end past the cycle limit moves nothing. */
static bool too_long(struct golden_seq *seq, uint64_t cost)
{
	bool late = seq->t + cost > seq->job->cycle_limit;

	seq->coverage.too_long[seq->op] += late;
	return late;
}

static void account_copy(struct golden_seq *seq, bool out, uint64_t lines, uint64_t bytes)
{
	struct cnnacc_stats *stats = seq->stats;

	golden_seq_spend(seq, 1 + 16 + lines);
	stats->dma_cycles += 16 + lines;
	if (out) {
		stats->mem_write_bytes += bytes;
		stats->local_read_bytes += bytes;
	} else {
		stats->mem_read_bytes += bytes;
		stats->local_write_bytes += bytes;
	}
}

static bool do_copy(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	struct rows r = { c->arg[1], c->arg[2], c->arg[3], c->arg[5] };
	bool out = c->op & CNNACC_SEQ_TO_MEMORY;
	uint64_t va = c->arg[0], stride = c->arg[4];
	uint64_t lines = lines_of_rows(va, stride, &r), rows;
	uint8_t *local;

	if (!check_local(seq, param(c), &r))
		return false;
	if (!r.rows || !r.bytes) {
		seq->coverage.nothing++;
		golden_seq_spend(seq, 1);
		return true;
	}
	rows = too_long(seq, 1 + 16 + lines) ? 0 : r.rows;
	for (uint64_t row = 0; row < rows; row++) {
		local = seq->core.memory[param(c)].bytes + r.local + row * r.stride;
		if (!(out ? golden_seq_store(seq, va + row * stride, local, r.bytes) :
			    fetch(seq, va + row * stride, local, r.bytes)))
			return false;
	}
	account_copy(seq, out, lines, r.rows * r.bytes);
	(out ? seq->coverage.copied_out : seq->coverage.copied_in)[param(c)]++;
	return true;
}

static bool do_fill(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	struct rows r = { c->arg[1], c->arg[2], c->arg[3], c->arg[5] };
	uint64_t rows, cost;

	if (!check_local(seq, param(c), &r))
		return false;
	if (!r.rows || !r.bytes) {
		seq->coverage.nothing++;
		golden_seq_spend(seq, 1);
		return true;
	}
	cost = 1 + r.rows * ceil_div(r.bytes, LINE);
	rows = too_long(seq, cost) ? 0 : r.rows;
	for (uint64_t row = 0; row < rows; row++)
		memset(seq->core.memory[param(c)].bytes + r.local + row * r.stride, c->arg[0],
		       r.bytes);
	golden_seq_spend(seq, cost);
	seq->stats->local_write_bytes += r.rows * r.bytes;
	seq->coverage.filled[param(c)]++;
	return true;
}

/* ------------------------------------------------------ DRAIN, WAIT, IRQ */

uint64_t golden_seq_drain_va(const struct cnnacc_seq_command *command, uint32_t n)
{
	uint64_t per_row = command->arg[2] ? command->arg[2] : param(command);

	return command->arg[0] + n / per_row * command->arg[3] + n % per_row * command->arg[4];
}

static bool do_wait(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	enum golden_seq_wait found = seq->core.wait(seq->core.priv, c->arg[0]);

	seq->coverage.wait[found]++;
	if (found == GOLDEN_SEQ_NEVER)
		return golden_seq_fail(seq, CNNACC_STATUS_DEADLOCK, CNNACC_SEQ_E_DEADLOCK, 0);
	golden_seq_spend(seq, 1);
	if (found == GOLDEN_SEQ_COMES) {
		seq->t = max_u64(seq->t, seq->d);
		seq->core.waited(seq->core.priv);
	}
	return true;
}

static bool do_irq(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	seq->regs.event = c->arg[0];
	seq->event = true;
	seq->stats->events++;
	golden_seq_spend(seq, 1);
	return true;
}

/* ----------------------------------------------------------------- loops */

static const struct golden_seq_loop *innermost(const struct golden_seq *seq)
{
	return seq->regs.loops ? &seq->loop[seq->regs.loops - 1] : NULL;
}

static uint32_t pair_first(uint32_t step)
{
	return step & 0xfff;
}

static uint32_t pair_more(uint32_t step)
{
	return step >> 12 & 0xfff;
}

static uint32_t pair_word(uint32_t step)
{
	return step >> 24 & 7;
}

static bool bad_pair(uint32_t step, uint32_t commands)
{
	return step >> 27 || pair_word(step) == 7 || pair_first(step) + pair_more(step) >= commands;
}

static bool body_fits(const struct golden_seq *seq, uint32_t commands)
{
	const struct golden_seq_loop *outer = innermost(seq);
	uint32_t end = outer ? outer->first + outer->count : program_commands(seq);

	return commands && seq->regs.pc + 1 + commands <= end;
}

static bool do_loop(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	struct golden_seq_loop *loop;

	if (!body_fits(seq, param(c)))
		return bad(seq, CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_BODY);
	if (seq->regs.loops == CNNACC_SEQ_LOOPS)
		return bad(seq, CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_DEPTH);
	if (!c->arg[0])
		return bad(seq, CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_ITERATIONS);
	for (int i = 0; i < 3; i++)
		if (bad_pair(c->arg[1 + 2 * i], param(c)))
			return bad(seq, CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_PAIR0 + i);
	for (int i = 0; i < 3; i++)
		seq->coverage.many[pair_more(c->arg[1 + 2 * i]) != 0] += c->arg[2 + 2 * i] != 0;
	loop = &seq->loop[seq->regs.loops++];
	loop->first = seq->regs.pc + 1;
	loop->count = param(c);
	loop->iterations = c->arg[0];
	loop->done = 0;
	memcpy(loop->pair, c->arg + 1, sizeof(loop->pair));
	golden_seq_spend(seq, 1);
	return true;
}

/* Add a loop's increments to the command at PC. */
static bool step_words(const struct golden_seq *seq, const struct golden_seq_loop *loop,
		       struct cnnacc_seq_command *c)
{
	uint32_t at = seq->regs.pc - loop->first;
	bool changed = false;

	for (int i = 0; i < 3; i++) {
		uint32_t step = loop->pair[2 * i], sum = loop->done * loop->pair[2 * i + 1];

		if (at < pair_first(step) || at > pair_first(step) + pair_more(step))
			continue;
		c->arg[pair_word(step)] += sum;
		changed |= sum != 0;
	}
	return changed;
}

/* The command at PC with the increments of all loops. */
static void load_command(struct golden_seq *seq, struct cnnacc_seq_command *c)
{
	const uint8_t *from = seq->program + seq->regs.pc * COMMAND_BYTES;
	bool changed = false;

	c->op = word_get(from, 0);
	seq->op = c->op & CNNACC_SEQ_OP_MASK;
	for (int n = 0; n < 7; n++)
		c->arg[n] = word_get(from, 1 + n);
	for (uint32_t i = 0; i < seq->regs.loops; i++)
		changed |= step_words(seq, &seq->loop[i], c);
	if (changed && seq->op < GOLDEN_SEQ_OPS)
		seq->coverage.stepped[seq->op]++;
}

/* Advance PC, back to the start of a loop's body where iterations remain. */
static void go_on(struct golden_seq *seq)
{
	uint32_t next = seq->regs.pc + 1, ended = 0;

	while (seq->regs.loops) {
		struct golden_seq_loop *loop = &seq->loop[seq->regs.loops - 1];

		if (next != loop->first + loop->count)
			break;
		if (++loop->done < loop->iterations) {
			next = loop->first;
			break;
		}
		seq->regs.loops--;
		seq->coverage.shared_end += ended++ == 1;
	}
	seq->regs.pc = next;
}

/* ------------------------------------------------------------------- job */

static bool execute(struct golden_seq *seq, const struct cnnacc_seq_command *c)
{
	if (!check_words(seq, c))
		return false;
	switch (seq->op) {
	case CNNACC_SEQ_COPY2D:
		return do_copy(seq, c);
	case CNNACC_SEQ_FILL:
		return do_fill(seq, c);
	case CNNACC_SEQ_EXEC:
		return seq->core.exec(seq->core.priv, c);
	case CNNACC_SEQ_DRAIN:
		return seq->core.drain(seq->core.priv, c);
	case CNNACC_SEQ_WAIT:
		return do_wait(seq, c);
	case CNNACC_SEQ_IRQ:
		return do_irq(seq, c);
	case CNNACC_SEQ_LOOP:
		return do_loop(seq, c);
	default:
		golden_seq_spend(seq, 1);
		return true;
	}
}

static bool within_limit(struct golden_seq *seq)
{
	if (max_u64(seq->t, seq->d) <= seq->job->cycle_limit)
		return true;
	return golden_seq_fail(seq, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
}

static bool boot(struct golden_seq *seq)
{
	const struct golden_job *job = seq->job;
	uint64_t lines = ceil_div(job->program_len, LINE);
	struct golden_fault fault;

	memset(seq->program, 0, seq->program_max);
	for (uint64_t i = 0; i < lines; i++) {
		uint64_t va = job->program_va + i * LINE;

		if (!seq->memory->read(seq->memory->opaque, va, CNNACC_ACCESS_EXEC,
				       seq->program + i * LINE, &fault))
			return refused(seq, CNNACC_CODE_FETCH, &fault, CNNACC_ACCESS_EXEC, va);
	}
	memset(seq->program + job->program_len, 0, seq->program_max - job->program_len);
	golden_seq_spend(seq, 16 + lines);
	seq->d = seq->t;
	seq->stats->dma_cycles = 16 + lines;
	seq->stats->mem_read_bytes = lines * LINE;
	seq->stats->local_write_bytes = lines * LINE;
	if (within_limit(seq))
		return true;
	seq->coverage.limit_boot++;
	return false;
}

/* Run one command and check the cycle limit; false at the end of the job. */
static bool step(struct golden_seq *seq)
{
	struct cnnacc_seq_command command;

	if (seq->regs.pc >= program_commands(seq))
		return bad(seq, CNNACC_SEQ_E_PC, 0);
	load_command(seq, &command);
	seq->coverage.depth[seq->regs.loops]++;
	seq->event = false;
	if (!execute(seq, &command))
		return false;
	seq->coverage.op[seq->op]++;
	seq->stats->instructions++;
	if (!within_limit(seq)) {
		seq->coverage.limit[seq->op]++;
		return false;
	}
	seq->status->events += seq->event;
	if (seq->op == CNNACC_SEQ_END) {
		seq->coverage.ended_in_loop += seq->regs.loops != 0;
		seq->coverage.ended_busy += seq->core.busy(seq->core.priv);
		return false;
	}
	go_on(seq);
	if (seq->event)
		seq->status->event_trace = core_trace(seq->status->event_trace, seq->regs.pc,
						      seq->regs.event);
	return true;
}

static void finish(struct golden_seq *seq)
{
	seq->stats->cycles = max_u64(seq->t, seq->d);
	seq->stats->jobs = 1;
	seq->status->pc = seq->regs.pc;
	for (uint32_t i = 0; i < seq->regs.loops; i++)
		seq->regs.iteration[i] = seq->loop[i].done;
	seq->coverage.code[seq->status->status_code]++;
}

static void seq_run(void *priv, const struct golden_job *job, const struct golden_memory *memory,
		    struct golden_status *status, struct cnnacc_stats *stats)
{
	struct golden_seq *seq = priv;

	memset(&seq->regs, 0, sizeof(seq->regs));
	memset(status, 0, sizeof(*status));
	memset(stats, 0, sizeof(*stats));
	seq->t = 0;
	seq->d = 0;
	seq->job = job;
	seq->memory = memory;
	seq->status = status;
	seq->stats = stats;
	seq->core.reset(seq->core.priv);
	if (boot(seq))
		while (step(seq))
			;
	finish(seq);
}

static void seq_clear(void *priv)
{
	struct golden_seq *seq = priv;

	for (unsigned int i = 0; i < seq->core.memories; i++)
		memset(seq->core.memory[i].bytes, 0, seq->core.memory[i].size);
	memset(seq->program, 0, seq->program_max);
	memset(&seq->regs, 0, sizeof(seq->regs));
	seq->core.reset(seq->core.priv);
	seq->core.clear(seq->core.priv);
}

bool golden_seq_init(struct golden_seq *seq, uint32_t program_max)
{
	seq->program_max = program_max;
	seq->program = calloc(1, program_max);
	return seq->program;
}

void golden_seq_free(struct golden_seq *seq)
{
	free(seq->program);
}

void golden_seq_shell(struct golden_seq *seq, struct golden_core *core)
{
	uint64_t largest = seq->program_max;

	for (unsigned int i = 0; i < seq->core.memories; i++)
		largest = max_u64(largest, seq->core.memory[i].size);
	core->priv = seq;
	core->program_max = seq->program_max;
	core->scrub_cycles = ceil_div(largest, LINE);
	core->clear = seq_clear;
	core->run = seq_run;
}
