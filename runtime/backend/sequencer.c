// SPDX-License-Identifier: MIT
/* Programs of the sequencer; the cycles are those of Documentation/hardware/sequencer.rst. */
#include <stdlib.h>
#include <string.h>

#include "sequencer.h"

#define TRANSFER	16	/* cycles of a transfer besides its lines */

/* Arguments of a command that are addresses, as bits. */
#define NO_ADDRESS	0u
#define ADDRESS(arg)	(1u << (arg))

static void *extend(struct seqc *s, void *list, size_t size)
{
	void *more = reallocarray(list, (size_t)s->count + 1, size);

	s->failed |= !more;
	return more ? more : list;
}

/* Appends a zeroed command; NULL without memory. */
static struct cnnacc_seq_command *add_command(struct seqc *s, uint32_t addresses)
{
	s->command = extend(s, s->command, sizeof(*s->command));
	s->addresses = extend(s, s->addresses, sizeof(*s->addresses));
	if (s->failed)
		return NULL;
	s->addresses[s->count] = (uint8_t)addresses;
	s->command[s->count] = (struct cnnacc_seq_command){ .op = 0 };
	return &s->command[s->count++];
}

/* The first argument may be an address; args: how many there are. */
static void add_with(struct seqc *s, uint32_t op, const uint32_t *arg, int args,
		     uint32_t addresses)
{
	struct cnnacc_seq_command *c = add_command(s, addresses);

	if (!c)
		return;
	c->op = op;
	memcpy(c->arg, arg, (size_t)args * sizeof(*arg));
}

static void add(struct seqc *s, uint32_t op, uint32_t param, const uint32_t *arg, int args)
{
	add_with(s, op | param << CNNACC_SEQ_PARAM_SHIFT, arg, args, NO_ADDRESS);
}

/* Sets the two times; what the end of both moves by is of one kind. */
static void advance(struct seqc *s, uint64_t time, uint64_t busy, uint64_t *kind)
{
	uint64_t before = s->time > s->busy ? s->time : s->busy, after = time > busy ? time : busy;

	s->time = time;
	s->busy = busy;
	s->cost.cycles += after - before;
	*kind += after - before;
}

void seqc_charge(struct seqc *s, uint64_t cycles)
{
	advance(s, s->time + cycles, s->busy, &s->cost.control);
}

void seqc_start(struct seqc *s, uint64_t cycles)
{
	advance(s, s->time, s->time + cycles, &s->cost.compute);
}

void seqc_idle(struct seqc *s)
{
	if (s->time < s->busy)
		s->time = s->busy;
}

void seqc_stall(struct seqc *s, uint64_t cycles)
{
	advance(s, s->time + cycles, s->busy, &s->cost.stall);
}

void seqc_loop(struct seqc *s, uint32_t body, int64_t times, const struct seqc_advance *advance,
	       int advances)
{
	uint32_t arg[7] = { (uint32_t)times };

	for (int i = 0; i < advances; i++) {
		arg[1 + 2 * i] = advance[i].words;
		arg[2 + 2 * i] = advance[i].by;
	}
	add(s, CNNACC_SEQ_LOOP, body, arg, 7);
}

void seqc_exec(struct seqc *s, uint32_t insn, uint32_t a, uint32_t b)
{
	const uint32_t words[4] = { insn };

	seqc_exec_wide(s, words, a, b);
}

void seqc_exec_to(struct seqc *s, uint32_t insn, uint32_t va, uint32_t b)
{
	const uint32_t arg[6] = { insn, 0, 0, 0, va, b };

	add_with(s, CNNACC_SEQ_EXEC, arg, 6, ADDRESS(4));
}

void seqc_exec_wide(struct seqc *s, const uint32_t insn[4], uint32_t a, uint32_t b)
{
	const uint32_t arg[6] = { insn[0], insn[1], insn[2], insn[3], a, b };

	add(s, CNNACC_SEQ_EXEC, 0, arg, 6);
}

void seqc_wait(struct seqc *s, uint32_t conditions)
{
	add(s, CNNACC_SEQ_WAIT, 0, &conditions, 1);
}

void seqc_drain(struct seqc *s, const struct seqc_drain *d)
{
	const uint32_t arg[5] = { d->va, d->first, d->per_row, d->row_pitch, d->pitch };

	add_with(s, CNNACC_SEQ_DRAIN | (d->resume ? CNNACC_SEQ_RESUME : 0) |
		 d->count << CNNACC_SEQ_PARAM_SHIFT, arg, 5, ADDRESS(0));
}

void seqc_fill_rows(struct seqc *s, const struct seqc_copy *c, uint32_t value)
{
	const uint32_t arg[6] = {
		value, (uint32_t)c->local, (uint32_t)c->rows, (uint32_t)c->row_bytes, 0,
		(uint32_t)c->local_pitch,
	};

	add(s, CNNACC_SEQ_FILL, c->memory, arg, 6);
	seqc_charge(s, 1 + (uint64_t)(c->rows * cnn_div_up(c->row_bytes, CNNACC_LINE_SIZE)));
}

void seqc_fill(struct seqc *s, uint32_t memory, uint32_t value, int64_t bytes)
{
	const struct seqc_copy c = { .memory = memory, .rows = 1, .row_bytes = bytes };

	seqc_fill_rows(s, &c, value);
}

uint64_t seqc_lines(uint64_t va, uint64_t rows, uint64_t bytes, uint64_t pitch)
{
	uint64_t lines = 0;

	for (uint64_t r = 0; r < rows; r++, va += pitch)
		lines += (va + bytes - 1) / CNNACC_LINE_SIZE - va / CNNACC_LINE_SIZE + 1;
	return lines;
}

static void add_copy(struct seqc *s, const struct seqc_copy *c)
{
	const uint32_t arg[6] = {
		(uint32_t)c->va, (uint32_t)c->local, (uint32_t)c->rows, (uint32_t)c->row_bytes,
		(uint32_t)c->va_pitch, (uint32_t)c->local_pitch,
	};

	add_with(s, CNNACC_SEQ_COPY2D | (c->store ? CNNACC_SEQ_TO_MEMORY : 0) |
		 c->memory << CNNACC_SEQ_PARAM_SHIFT, arg, 6, ADDRESS(0));
}

static void charge_copy(struct seqc *s, const struct seqc_copy *c, int64_t va)
{
	uint64_t rows = (uint64_t)c->rows, bytes = (uint64_t)c->row_bytes;
	uint64_t cycles = TRANSFER + seqc_lines((uint64_t)va, rows, bytes, (uint64_t)c->va_pitch);

	seqc_charge(s, 1 + cycles);
	*(c->weights ? &s->cost.dma_weights : &s->cost.dma_data) += cycles;
	*(c->store   ? &s->cost.written :
	  c->weights ? &s->cost.read_weights :
		       &s->cost.read_data) += rows * bytes;
}

void seqc_copy(struct seqc *s, const struct seqc_copy *c)
{
	add_copy(s, c);
	charge_copy(s, c, c->va);
}

void seqc_copy_loop(struct seqc *s, const struct seqc_copy *c, int64_t count, int64_t va_advance,
		    int64_t local_advance)
{
	const struct seqc_advance advance[] = {
		{ CNNACC_SEQ_STEP(0, 0, 0), (uint32_t)va_advance },
		{ CNNACC_SEQ_STEP(0, 0, 1), (uint32_t)local_advance },
	};

	seqc_loop(s, 1, count, advance, 2);
	seqc_charge(s, 1);
	add_copy(s, c);
	for (int64_t i = 0; i < count; i++)
		charge_copy(s, c, c->va + i * va_advance);
}

void seqc_begin(struct seqc *s)
{
	s->count = 0;
	s->time = 0;
	s->busy = 0;
	s->cost = (struct cnnrt_cost){ 0 };
}

/* The boot of the longest program, and its END. */
static uint64_t frame_cycles(const struct seqc *s)
{
	return (uint64_t)s->commands_max / 2 + 32;
}

static bool fits(const struct seqc *s, int64_t commands, uint64_t cycles)
{
	return s->count + commands <= s->commands_max &&
	       s->cost.cycles + cycles + frame_cycles(s) <= s->cycles_max;
}

static int add_span(struct seqc *s, enum cnnrt_activity what, uint64_t *at, uint64_t cycles)
{
	struct cnn_lowered *out = s->compile->out;
	struct cnnrt_span *span;

	if (!cycles || out->n_spans == CNN_SPANS_MAX)
		return CNN_OK;
	span = cnn_add_span(s->compile);
	if (!span)
		return CNN_ENOMEM;
	*span = (struct cnnrt_span){
		.op = (unsigned int)s->node, .task = (unsigned int)(out->n_tasks - 1),
		.core = out->nodes[s->node].core, .what = what, .start = *at, .end = *at + cycles,
	};
	*at += cycles;
	return CNN_OK;
}

/* A task has one span per activity: their order inside it is not modelled. */
static int add_spans(struct seqc *s)
{
	uint64_t core = 0, dma = 0;

	return add_span(s, CNNRT_CONTROL, &core, s->cost.control) ?:
	       add_span(s, CNNRT_STALL, &core, s->cost.stall) ?:
	       add_span(s, CNNRT_COMPUTE, &core, s->cost.compute) ?:
	       add_span(s, CNNRT_DMA_PROGRAM, &dma, s->cost.dma_program) ?:
	       add_span(s, CNNRT_DMA_WEIGHTS, &dma, s->cost.dma_weights) ?:
	       add_span(s, CNNRT_DMA_LOAD, &dma, s->cost.dma_data);
}

/* at: where in the image the commands begin. */
static int add_addresses(struct seqc *s, int64_t at)
{
	int ret = CNN_OK;

	for (int64_t i = 0; i < s->count; i++) {
		const struct cnnacc_seq_command *c = &s->command[i];

		for (unsigned int k = 0; s->addresses[i] >> k && !ret; k++)
			if (s->addresses[i] & ADDRESS(k))
				ret = cnn_add_address(s->compile, at + (int64_t)sizeof(*c) * i +
						      (int64_t)sizeof(*c->arg) * (1 + k),
						      c->arg[k], CNN_ADDRESS_WORD);
	}
	return ret;
}

static int add_task(struct seqc *s)
{
	int64_t bytes = s->count * (int64_t)sizeof(*s->command);
	int64_t at = cnn_image_add(s->compile, &s->compile->program, bytes, CNNACC_LINE_SIZE);
	struct cnn_task *task;
	int ret;

	if (at < 0)
		return (int)at;
	memcpy(s->compile->program.data + at, s->command, (size_t)bytes);
	ret = add_addresses(s, at);
	if (ret)
		return ret;
	task = cnn_add_task(s->compile, at, (uint32_t)bytes);
	if (!task)
		return CNN_ENOMEM;
	task->cycles = s->cost.cycles;
	task->cycle_limit = (uint64_t)cnn_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					      (int64_t)(s->cycles_max & INT64_MAX));
	task->restartable = true;
	task->first_node = task->last_node = s->node;
	cnn_add_cost(&s->compile->out->nodes[s->node].cost, &s->cost, NULL);
	return add_spans(s);
}

int seqc_end(struct seqc *s)
{
	const uint32_t none = 0;
	int ret = CNN_OK;
	uint64_t lines;

	add(s, CNNACC_SEQ_END, 0, &none, 0);
	seqc_charge(s, 1);
	if (s->failed)
		return cnn_fail(s->compile->err, CNN_ENOMEM, "no memory for %lld commands",
				(long long)s->count);
	lines = (uint64_t)cnn_div_up(s->count * (int64_t)sizeof(*s->command), CNNACC_LINE_SIZE);
	seqc_charge(s, TRANSFER + lines);
	s->cost.dma_program += TRANSFER + lines;
	s->cost.read_program += lines * CNNACC_LINE_SIZE;
	s->total += s->cost.cycles;
	if (!s->dry)
		ret = add_task(s);
	s->count = 0;
	return ret;
}

int seqc_reserve(struct seqc *s, int64_t commands, uint64_t cycles)
{
	return s->count && !fits(s, commands, cycles) ? seqc_end(s) : CNN_OK;
}

int seqc_finish(struct seqc *s, int ret)
{
	if (!ret && s->count)
		ret = seqc_end(s);
	free(s->command);
	free(s->addresses);
	s->command = NULL;
	s->addresses = NULL;
	return ret;
}

/* The tile that the core computes; its results are in the buffer until they are stored. */
struct tile {
	const struct seqc_stages *stages;
	void *opaque;
	int64_t index;		/* -1: none */
	uint32_t buffer;
};

static void wait_for(struct seqc *s, const struct tile *t)
{
	if (t->index < 0)
		return;
	seqc_wait(s, t->stages->idle);
	seqc_charge(s, 1);
	seqc_idle(s);
}

static void store(struct seqc *s, const struct tile *t)
{
	if (t->index >= 0)
		t->stages->store(s, t->index, t->buffer, t->opaque);
}

/* Begins to compute a tile, which is loaded and the one before it stored meanwhile. */
static void add_tile(struct seqc *s, struct tile *t, int64_t index, uint32_t buffer)
{
	const struct tile last = *t;

	t->index = index;
	t->buffer = buffer;
	t->stages->load(s, index, buffer, t->opaque);
	wait_for(s, &last);
	t->stages->run(s, index, buffer, t->opaque);
	store(s, &last);
}

static void drain(struct seqc *s, struct tile *t)
{
	wait_for(s, t);
	store(s, t);
	t->index = -1;
}

int seqc_tiles(struct seqc *s, const struct seqc_stages *stages, int64_t tiles, uint32_t buffers,
	       void *opaque)
{
	/* Of a tile, and of the one that may have to be drained behind it. */
	const int64_t commands = 2 * stages->commands;
	const uint64_t cycles = 2 * stages->cycles;
	struct tile t = { .stages = stages, .opaque = opaque, .index = -1 };
	int ret = CNN_OK;

	for (int64_t i = 0; i < tiles && !ret; i++) {
		if (buffers == 1 || !fits(s, commands, cycles))
			drain(s, &t);
		ret = seqc_reserve(s, commands, cycles);
		if (!ret && !s->count)
			stages->begin(s, opaque);
		if (!ret)
			add_tile(s, &t, i, (uint32_t)(i % buffers));
	}
	if (!ret)
		drain(s, &t);
	return ret;
}
