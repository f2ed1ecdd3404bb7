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

static void add(struct hwpec_task *t, uint32_t op, uint32_t param, const uint32_t *arg, int args)
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

static void control(struct hwpec_task *t, uint64_t cycles)
{
	t->cost.cycles += cycles;
	t->cost.control += cycles;
}

/* Body of so many commands, with up to three words that move on. */
static void loop(struct hwpec_task *t, uint32_t body, int64_t times, const uint32_t pairs[6])
{
	uint32_t arg[7] = { (uint32_t)times };

	memcpy(arg + 1, pairs, 6 * sizeof(*pairs));
	add(t, CNNACC_SEQ_LOOP, body, arg, 7);
}

static void add_exec(struct hwpec_task *t, uint32_t insn, uint32_t a, uint32_t b)
{
	const uint32_t arg[6] = { insn, 0, 0, 0, a, b };

	add(t, CNNACC_SEQ_EXEC, 0, arg, 6);
}

void hwpec_exec(struct hwpec_task *t, uint32_t insn, uint32_t a, uint32_t b)
{
	add_exec(t, insn, a, b);
	control(t, 1);
}

void hwpec_fill(struct hwpec_task *t, uint32_t memory, uint32_t value, uint32_t bytes)
{
	const uint32_t arg[6] = { value, 0, 1, bytes, 0, 0 };

	add(t, CNNACC_SEQ_FILL, memory, arg, 6);
	control(t, 1 + (uint64_t)cnn_div_up(bytes, CNNACC_LINE_SIZE));
}

/* Lines of memory that rows of bytes touch. */
static uint64_t lines_of(uint64_t va, uint64_t rows, uint64_t bytes, uint64_t stride)
{
	uint64_t lines = 0;

	for (uint64_t r = 0; r < rows; r++, va += stride)
		lines += (va + bytes - 1) / CNNACC_LINE_SIZE - va / CNNACC_LINE_SIZE + 1;
	return lines;
}

static void count_copy(struct hwpec_task *t, const uint32_t arg[6], uint64_t va, bool weights)
{
	uint64_t cycles = TRANSFER + lines_of(va, arg[2], arg[3], arg[4]);
	uint64_t bytes = (uint64_t)arg[2] * arg[3];

	control(t, 1 + cycles);
	*(weights ? &t->cost.dma_weights : &t->cost.dma_data) += cycles;
	*(weights ? &t->cost.read_weights : &t->cost.read_data) += bytes;
}

void hwpec_copy(struct hwpec_task *t, uint32_t memory, const uint32_t arg[6], bool weights)
{
	add(t, CNNACC_SEQ_COPY2D, memory, arg, 6);
	count_copy(t, arg, arg[0], weights);
}

void hwpec_copy_columns(struct hwpec_task *t, uint32_t memory, const uint32_t arg[6], int64_t count,
			uint32_t va_step, uint32_t local_step)
{
	const uint32_t pairs[6] = {
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
static uint64_t count_used(const struct hwpec_node *n)
{
	if (n->interleaved)
		return 27;
	return (uint64_t)(n->input ? n->kw * cnn_min(3 * n->kw, n->words * HWPEC_WORD) :
				     n->rounds * HWPEC_WORD * n->per_byte);
}

static uint32_t result_place(const struct hwpec_node *n, const struct hwpec_windows *w,
			     uint32_t acc)
{
	uint32_t side = n->interleaved ? acc / 2 % 2 : acc % 2;
	uint32_t row = n->interleaved ? acc / 4 + 2 * (acc % 2) : acc / 2;

	return w->va + row * w->row_pitch + side * w->pitch;
}

static uint64_t drain_cycles(const struct hwpec_node *n, const struct hwpec_windows *w, uint32_t at)
{
	uint64_t cycles = n->interleaved ? 2 : 1;

	if (n->shift >= 0)
		return 6 * n->accs;
	for (uint32_t i = 0; i < n->accs; i++)
		cycles += 16 + lines_of(result_place(n, w, i) + at, 1, 4 * HWPEC_COLUMNS, 0);
	return cycles;
}

/* One whose results lie at bytes behind the first window's. */
static void count_window(struct hwpec_task *t, const struct hwpec_node *n, bool first, uint32_t at,
			 const struct hwpec_windows *w)
{
	uint64_t rounds = (uint64_t)n->rounds, results = n->accs * HWPEC_COLUMNS;
	uint64_t resumed = n->interleaved ? 11 : n->input ? 9 : 8;
	uint64_t run = 8 * rounds + (first ? 12 : resumed), drain = drain_cycles(n, w, at);

	t->cost.cycles += run + drain;
	t->cost.compute += run;
	t->cost.stall += drain;
	t->cost.mac_slots += 128 * rounds * HWPEC_WORD * (uint64_t)n->per_byte;
	t->cost.mac_useful += results * count_used(n);
	t->cost.written += results * (uint64_t)hwpec_result_bytes(n);
}

static void count_windows(struct hwpec_task *t, const struct hwpec_node *n,
			  const struct hwpec_windows *w)
{
	for (int64_t k = 0; k < w->groups; k++)
		for (int64_t x = 0; x < w->wc; x++)
			for (int64_t y = 0; y < w->hc; y++)
				count_window(t, n, n->start || (!k && !x && !y),
					     (uint32_t)k * w->group_step +
					     (uint32_t)x * w->column_step +
					     (uint32_t)y * w->row_step, w);
}

/* Commands that drain a window, and the word of theirs that is an address. */
static uint32_t drains_of(const struct hwpec_node *n, uint32_t *word)
{
	*word = n->shift < 0 ? 0 : 4;
	return n->shift >= 0 ? n->accs : n->interleaved ? 2 : 1;
}

/* AccReg 4 a + 2 side + part has row hc * (2 part + a) of its half. */
static void drain_interleaved(struct hwpec_task *t, const struct hwpec_windows *w)
{
	for (uint32_t a = 0; a < 2; a++) {
		const uint32_t arg[5] = {
			w->va + a * w->row_pitch, 4 * a, 2, w->pitch, 2 * w->row_pitch,
		};

		add(t, CNNACC_SEQ_DRAIN | (a ? CNNACC_SEQ_RESUME : 0), 4, arg, 5);
	}
}

/* The last one resumes the core. */
static void add_drains(struct hwpec_task *t, const struct hwpec_node *n,
		       const struct hwpec_windows *w)
{
	const uint32_t round = CNNACC_HWPE_WAIT_ROUND;
	const uint32_t drain[5] = { w->va, 0, HWPEC_OUT_COLUMNS, w->row_pitch, w->pitch };

	add(t, CNNACC_SEQ_WAIT, 0, &round, 1);
	for (uint32_t i = 0; n->shift >= 0 && i < n->accs; i++)
		add_exec(t, CNNACC_HWPE_INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0,
					     i | (i + 1 < n->accs ? 0 : CNNACC_HWPE_ENABLE)),
			 result_place(n, w, i), 0);
	if (n->shift < 0 && n->interleaved)
		drain_interleaved(t, w);
	else if (n->shift < 0)
		add(t, CNNACC_SEQ_DRAIN | CNNACC_SEQ_RESUME, n->accs, drain, 5);
}

static void add_mac(struct hwpec_task *t, const struct hwpec_windows *w, int64_t hc, int64_t wc)
{
	add_exec(t, CNNACC_HWPE_INSN(CNNACC_HWPE_MATRIX_MAC, HWPEC_BOTH, 0, 0, 0),
		 (uint32_t)hc | (uint32_t)wc << 16, w->base_row | w->base_column << 16);
}

static uint32_t base_commands(const struct hwpec_node *n)
{
	return n->interleaved ? 2 : CNNACC_HWPE_ACCS / 2;
}

/* The second SRAM's are as the first's. */
static void add_bases(struct hwpec_task *t, const struct hwpec_node *n,
		      const struct hwpec_windows *w)
{
	for (uint32_t i = 0; i < base_commands(n); i++)
		add_exec(t, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, HWPEC_BOTH, 2 * i, 0, 0),
			 i * w->base_step, CNNACC_HWPE_SRAM2 + i * w->base_step);
}

/* The loops and the waiting are over before the window is. */
void hwpec_run(struct hwpec_task *t, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	uint32_t word, drains = drains_of(n, &word);
	const uint32_t group[6] = { CNNACC_SEQ_STEP(3, drains - 1, word), w->group_step };
	const uint32_t column[6] = { CNNACC_SEQ_STEP(2, drains - 1, word), w->column_step };
	const uint32_t row[6] = { CNNACC_SEQ_STEP(1, drains - 1, word), w->row_step };

	add_bases(t, n, w);
	add_mac(t, w, w->hc, w->wc);
	control(t, base_commands(n) + 1);
	loop(t, 3 + drains, w->groups, group);
	loop(t, 2 + drains, w->wc, column);
	loop(t, 1 + drains, w->hc, row);
	add_drains(t, n, w);
	count_windows(t, n, w);
}

/* Commands of a window that is a task: those that set AccRegs, set bases, and drain. */
struct body {
	uint32_t starts, bases, drains;
};

/* Sets the AccRegs that do not begin with 0. */
static void add_starts(struct hwpec_task *t, const struct hwpec_node *n,
		       const struct hwpec_windows *w, uint32_t count)
{
	const uint32_t acc[6] = { CNNACC_SEQ_STEP(0, count - 1, 0), 1 << 7 };

	if (!count)
		return;
	loop(t, count, n->accs, acc);
	for (uint32_t i = 0; i < HWPEC_COLUMNS; i++)
		if (w->start[i])
			add_exec(t, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 0, 0,
						     i), (uint32_t)w->start[i], 0);
}

/* Windows so many bytes apart, in their SRAM and in memory; before: commands of the loop's own. */
static void loop_windows(struct hwpec_task *t, const struct body *b, uint32_t before, int64_t times,
			 uint32_t base_step, uint32_t step)
{
	uint32_t bases = before + b->starts, drains = bases + b->bases + 2;
	const uint32_t pairs[6] = {
		CNNACC_SEQ_STEP(bases, b->bases - 1, 4), base_step,
		CNNACC_SEQ_STEP(bases, b->bases - 1, 5), base_step,
		CNNACC_SEQ_STEP(drains, b->drains - 1, 4), step,
	};

	loop(t, drains + b->drains, times, pairs);
}

void hwpec_run_started(struct hwpec_task *t, const struct hwpec_node *n,
		       const struct hwpec_windows *w)
{
	struct body b = { .bases = base_commands(n), .drains = n->accs };
	uint32_t count = 0;
	uint64_t window;

	for (int i = 0; i < HWPEC_COLUMNS; i++)
		count += w->start[i] != 0;
	b.starts = count ? count + 1 : 0;
	window = b.bases + 1 + (count ? 1 + n->accs * (uint64_t)count : 0);
	loop_windows(t, &b, 1, w->wc, w->base_column, w->column_step);
	loop_windows(t, &b, 0, w->hc, w->base_row, w->row_step);
	add_starts(t, n, w, count);
	add_bases(t, n, w);
	add_mac(t, w, 1, 1);
	add_drains(t, n, w);
	control(t, 1 + (uint64_t)w->wc * (1 + (uint64_t)w->hc * window));
	count_windows(t, n, w);
}

/* ---- tasks ----------------------------------------------------------------------------- */

/* AccRegs keep what the program before left in them. */
void hwpec_begin(struct hwpec_task *t)
{
	const uint32_t acc[6] = { CNNACC_SEQ_STEP(1, 0, 0), 1 << 7 };
	const uint32_t pe[6] = { CNNACC_SEQ_STEP(0, 0, 0), 1 << 20 };

	t->count = 0;
	t->cost = (struct cnnrt_cost){ 0 };
	loop(t, 2, CNNACC_HWPE_ACCS, acc);
	loop(t, 1, CNNACC_HWPE_PES, pe);
	hwpec_exec(t, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 0, 0, 0), 0, 0);
	control(t, 1 + CNNACC_HWPE_ACCS + CNNACC_HWPE_ACCS * CNNACC_HWPE_PES - 1);
}

static int add_span(struct hwpec_task *t, enum cnnrt_activity what, uint64_t *at, uint64_t cycles)
{
	struct cnn_lowered *out = t->lw->out;
	struct cnnrt_span *s;

	if (!cycles || out->n_spans == CNN_SPANS_MAX)
		return CNN_OK;
	s = cnn_add_span(t->lw);
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
static int add_spans(struct hwpec_task *t)
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

int hwpec_end(struct hwpec_task *t)
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
	lines = (uint64_t)cnn_div_up(bytes, CNNACC_LINE_SIZE);
	control(t, TRANSFER + lines);
	t->cost.dma_program += TRANSFER + lines;
	t->cost.read_program += lines * CNNACC_LINE_SIZE;
	t->total += t->cost.cycles;
	if (t->dry)
		return CNN_OK;
	at = cnn_image_add(t->lw, &t->lw->program, bytes, CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	memcpy(t->lw->program.data + at, t->command, (size_t)bytes);
	task = cnn_add_task(t->lw, at, (uint32_t)bytes);
	if (!task)
		return CNN_ENOMEM;
	task->cycles = t->cost.cycles;
	task->cycle_limit = (uint64_t)cnn_min((int64_t)(task->cycles + task->cycles / 4 + 1024),
					      (int64_t)(t->hw->cycles_max & INT64_MAX));
	task->restartable = true;
	task->first_node = task->last_node = t->node;
	add_cost(&t->lw->out->nodes[t->node].cost, &t->cost);
	return add_spans(t);
}
