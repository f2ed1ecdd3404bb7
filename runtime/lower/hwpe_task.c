// SPDX-License-Identifier: MIT
/*
 * Programs of core hwpe and what they take. The sequencer waits for its transfers, and every
 * window is waited for before anything else, so that times add up.
 */
#include <stdlib.h>
#include <string.h>

#include "hwpe.h"

#define TRANSFER	16	/* cycles of a transfer besides its lines */

/* ---- commands -------------------------------------------------------------------------- */

static void add(struct lhw_task *t, uint32_t op, uint32_t param, const uint32_t *arg, int args)
{
	struct cnnacc_seq_command *c;

	if (t->count == t->cap) {
		int64_t cap = t->cap ? 2 * t->cap : 64;

		c = realloc(t->command, (size_t)cap * sizeof(*c));
		if (!c) {
			t->failed = true;
			return;
		}
		t->command = c;
		t->cap = cap;
	}
	c = &t->command[t->count++];
	*c = (struct cnnacc_seq_command){ .op = op | param << CNNACC_SEQ_PARAM_SHIFT };
	memcpy(c->arg, arg, (size_t)args * sizeof(*arg));
}

static void control(struct lhw_task *t, uint64_t cycles)
{
	t->cost.cycles += cycles;
	t->cost.control += cycles;
}

/* Body of so many commands, with one address that moves on, or two. */
static void loop(struct lhw_task *t, uint32_t body, int64_t times, const uint32_t pairs[4])
{
	const uint32_t arg[5] = { (uint32_t)times, pairs[0], pairs[1], pairs[2], pairs[3] };

	add(t, CNNACC_SEQ_LOOP, body, arg, 5);
}

void lhw_exec(struct lhw_task *t, uint32_t insn, uint32_t a, uint32_t b)
{
	const uint32_t arg[6] = { insn, 0, 0, 0, a, b };

	add(t, CNNACC_SEQ_EXEC, 0, arg, 6);
	control(t, 1);
}

void lhw_fill(struct lhw_task *t, uint32_t memory, uint32_t value, uint32_t bytes)
{
	const uint32_t arg[6] = { value, 0, 1, bytes, 0, 0 };

	add(t, CNNACC_SEQ_FILL, memory, arg, 6);
	control(t, 1 + (uint64_t)lw_div_up(bytes, CNNACC_LINE_SIZE));
}

/* Lines of memory that rows of bytes touch. */
static uint64_t lines_of(uint64_t va, uint64_t rows, uint64_t bytes, uint64_t stride)
{
	uint64_t lines = 0;

	for (uint64_t r = 0; r < rows; r++, va += stride)
		lines += (va + bytes - 1) / CNNACC_LINE_SIZE - va / CNNACC_LINE_SIZE + 1;
	return lines;
}

static void count_copy(struct lhw_task *t, const uint32_t arg[6], uint64_t va, bool weights)
{
	uint64_t cycles = TRANSFER + lines_of(va, arg[2], arg[3], arg[4]);
	uint64_t bytes = (uint64_t)arg[2] * arg[3];

	control(t, 1 + cycles);
	*(weights ? &t->cost.dma_weights : &t->cost.dma_data) += cycles;
	*(weights ? &t->cost.read_weights : &t->cost.read_data) += bytes;
}

void lhw_copy(struct lhw_task *t, uint32_t memory, const uint32_t arg[6], bool weights)
{
	add(t, CNNACC_SEQ_COPY2D, memory, arg, 6);
	count_copy(t, arg, arg[0], weights);
}

void lhw_copy_columns(struct lhw_task *t, uint32_t memory, const uint32_t arg[6], int64_t count,
		      uint32_t va_step, uint32_t local_step)
{
	const uint32_t pairs[4] = {
		CNNACC_SEQ_STEP(0, 0, 0), va_step, CNNACC_SEQ_STEP(0, 0, 1), local_step,
	};

	loop(t, 1, count, pairs);
	control(t, 1);
	add(t, CNNACC_SEQ_COPY2D, memory, arg, 6);
	for (int64_t i = 0; i < count; i++)
		count_copy(t, arg, arg[0] + (uint64_t)i * va_step, false);
}

/* ---- windows --------------------------------------------------------------------------- */

/* Multiply-adds of a result. */
static uint64_t count_used(const struct lhw_node *n)
{
	if (n->interleaved)
		return 27;
	return (uint64_t)(n->input ? n->kw * lw_min(3 * n->kw, n->words * LHW_WORD) :
			  n->rounds * LHW_WORD * n->per_byte);
}

static void count_window(struct lhw_task *t, const struct lhw_node *n, bool first, uint32_t va,
			 const struct lhw_windows *w)
{
	uint64_t rounds = (uint64_t)n->rounds, results = n->accs * LHW_COLUMNS;
	uint64_t resumed = n->interleaved ? 11 : n->input ? 9 : 8;
	uint64_t run = 8 * rounds + (first ? 12 : resumed), drain = n->interleaved ? 2 : 1;

	/* Interleaved results have the same places in another order. */
	for (uint32_t i = 0; i < n->accs; i++)
		drain += 16 + lines_of(va + i / 2 * w->row_pitch + i % 2 * w->pitch, 1,
				       4 * LHW_COLUMNS, 0);
	t->cost.cycles += run + drain;
	t->cost.compute += run;
	t->cost.stall += drain;
	t->cost.mac_slots += 128 * rounds * LHW_WORD * (uint64_t)n->per_byte;
	t->cost.mac_useful += results * count_used(n);
	t->cost.written += results * 4;
}

/* AccReg 4 a + 2 side + part has row hc * (2 part + a) of its half. */
static void drain_interleaved(struct lhw_task *t, const struct lhw_windows *w)
{
	for (uint32_t a = 0; a < 2; a++) {
		const uint32_t arg[5] = {
			w->va + a * w->row_pitch, 4 * a, 2, w->pitch, 2 * w->row_pitch,
		};

		add(t, CNNACC_SEQ_DRAIN | (a ? CNNACC_SEQ_RESUME : 0), 4, arg, 5);
	}
}

/* The loops and the waiting are over before the window is. */
void lhw_run(struct lhw_task *t, const struct lhw_node *n, const struct lhw_windows *w)
{
	const uint32_t drains = n->interleaved ? 2 : 1;
	const uint32_t group[4] = { CNNACC_SEQ_STEP(3, drains - 1, 0), w->group_step };
	const uint32_t column[4] = { CNNACC_SEQ_STEP(2, drains - 1, 0), w->column_step };
	const uint32_t row[4] = { CNNACC_SEQ_STEP(1, drains - 1, 0), w->row_step };
	const uint32_t round = CNNACC_HWPE_WAIT_ROUND;
	const uint32_t drain[5] = { w->va, 0, LHW_OUT_COLUMNS, w->row_pitch, w->pitch };

	loop(t, 3 + drains, w->groups, group);
	loop(t, 2 + drains, w->wc, column);
	loop(t, 1 + drains, w->hc, row);
	add(t, CNNACC_SEQ_WAIT, 0, &round, 1);
	if (n->interleaved)
		drain_interleaved(t, w);
	else
		add(t, CNNACC_SEQ_DRAIN | CNNACC_SEQ_RESUME, n->accs, drain, 5);
	for (int64_t k = 0; k < w->groups; k++)
		for (int64_t x = 0; x < w->wc; x++)
			for (int64_t y = 0; y < w->hc; y++)
				count_window(t, n, !k && !x && !y,
					     w->va + (uint32_t)k * w->group_step +
					     (uint32_t)x * w->column_step +
					     (uint32_t)y * w->row_step, w);
}

/* ---- tasks ----------------------------------------------------------------------------- */

/* AccRegs keep what the program before left in them. */
void lhw_begin(struct lhw_task *t)
{
	const uint32_t acc[4] = { CNNACC_SEQ_STEP(1, 0, 0), 1 << 7 };
	const uint32_t pe[4] = { CNNACC_SEQ_STEP(0, 0, 0), 1 << 20 };

	t->count = 0;
	t->cost = (struct cnnrt_cost){ 0 };
	loop(t, 2, CNNACC_HWPE_ACCS, acc);
	loop(t, 1, CNNACC_HWPE_PES, pe);
	lhw_exec(t, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 0, 0, 0), 0, 0);
	control(t, 1 + CNNACC_HWPE_ACCS + CNNACC_HWPE_ACCS * CNNACC_HWPE_PES - 1);
}

static int add_span(struct lhw_task *t, enum cnnrt_activity what, uint64_t *at, uint64_t cycles)
{
	struct cnn_lowered *out = t->lw->out;
	struct cnnrt_span *s;

	if (!cycles || out->n_spans == CNN_SPANS_MAX)
		return CNN_OK;
	s = lw_add_span(t->lw);
	if (!s)
		return CNN_ENOMEM;
	*s = (struct cnnrt_span){
		.op = (unsigned int)t->node, .task = (unsigned int)(out->n_tasks - 1),
		.core = out->nodes[t->node].core, .what = what,
		.start = *at, .end = *at + cycles,
	};
	*at += cycles;
	return CNN_OK;
}

/* The time line of a task is one piece. */
static int add_spans(struct lhw_task *t)
{
	uint64_t core = 0, dma = 0;
	int ret = add_span(t, CNNRT_CONTROL, &core, t->cost.control);

	if (!ret)
		ret = add_span(t, CNNRT_STALL, &core, t->cost.stall);
	if (!ret)
		ret = add_span(t, CNNRT_COMPUTE, &core, t->cost.compute);
	if (!ret)
		ret = add_span(t, CNNRT_DMA_PROGRAM, &dma, t->cost.dma_program);
	if (!ret)
		ret = add_span(t, CNNRT_DMA_WEIGHTS, &dma, t->cost.dma_weights);
	return ret ? ret : add_span(t, CNNRT_DMA_LOAD, &dma, t->cost.dma_data);
}

static void add_cost(struct cnnrt_cost *to, const struct cnnrt_cost *c)
{
	to->cycles += c->cycles;
	to->compute += c->compute;
	to->stall += c->stall;
	to->control += c->control;
	to->dma_program += c->dma_program;
	to->dma_weights += c->dma_weights;
	to->dma_data += c->dma_data;
	to->mac_slots += c->mac_slots;
	to->mac_useful += c->mac_useful;
	to->read_program += c->read_program;
	to->read_weights += c->read_weights;
	to->read_data += c->read_data;
	to->written += c->written;
}

int lhw_end(struct lhw_task *t)
{
	const uint32_t none = 0;
	uint64_t lines;
	struct cnn_task *task;
	int64_t bytes, at;

	add(t, CNNACC_SEQ_END, 0, &none, 0);
	control(t, 1);
	if (t->failed)
		return cnn_fail(t->lw->err, CNN_ENOMEM, "no memory for %lld commands",
				(long long)t->count);
	bytes = t->count * (int64_t)sizeof(*t->command);
	lines = (uint64_t)lw_div_up(bytes, CNNACC_LINE_SIZE);
	control(t, TRANSFER + lines);
	t->cost.dma_program += TRANSFER + lines;
	t->cost.read_program += lines * CNNACC_LINE_SIZE;
	t->total += t->cost.cycles;
	if (t->dry)
		return CNN_OK;
	at = lw_buf_add(t->lw, &t->lw->program, bytes, CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	memcpy(t->lw->program.data + at, t->command, (size_t)bytes);
	task = lw_add_task(t->lw, at, (uint32_t)bytes);
	if (!task)
		return CNN_ENOMEM;
	task->cycles = t->cost.cycles;
	task->cycle_limit = (uint64_t)lw_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					     (int64_t)(t->hw->cycles_max & INT64_MAX));
	task->restartable = true;
	task->first_node = task->last_node = t->node;
	add_cost(&t->lw->out->nodes[t->node].cost, &t->cost);
	return add_spans(t);
}
