// SPDX-License-Identifier: MIT
#include "gen.h"
#include "../min_max.h"

#define ACCS	CNNACC_HWPE_ACCS
#define PES	CNNACC_HWPE_PES
#define WORD	CNNACC_HWPE_OPERAND_BYTES
#define XS12	(CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)

/* A task; its rows may move up by @room bytes. */
struct task {
	enum cnnacc_hwpe_type type;
	bool input, special;
	int64_t kernel, ch, w_offset, shift;
	int64_t k, wc, hc, ws, hs;
	uint32_t base[ACCS];
	int64_t room[ACCS];
};

static int64_t width_of(const struct task *t)
{
	return t->type == CNNACC_HWPE_TER2 ? 2 : t->type == CNNACC_HWPE_EXP4 ? 4 : 8;
}

static int64_t rounds_of(const struct task *t)
{
	return t->special ? 4 : t->kernel * t->ch;
}

/* Bytes from conv[] to the end of a row's window. */
static int64_t row_bytes(const struct task *t)
{
	return t->special ? 2 * t->w_offset + 18 : (t->kernel - 1) * t->w_offset + t->ch * WORD;
}

/* ----------------------------------------------------------------- shapes */

static void pick_layer(struct gen_hwpe *gen, struct task *t)
{
	unsigned int layer = hwpe_pick(gen, 0, 3);

	t->input = layer >= 2;
	t->special = layer == 3;
	t->type = hwpe_pick(gen, 0, 3);
	if (t->input)
		t->type = hwpe_chance(gen, 50) ? CNNACC_HWPE_INT8 : CNNACC_HWPE_UINT8;
	t->shift = hwpe_chance(gen, 60) ? hwpe_pick(gen, 0, 12) : hwpe_pick(gen, 0, 24);
	t->hc = hwpe_pick(gen, 1, 3);
	t->wc = hwpe_pick(gen, 1, 2);
	t->k = hwpe_chance(gen, 60) ? 1 : hwpe_pick(gen, 1, 3);
	t->k = min64(t->k, gen->params.kernel / (4 * CNNACC_HWPE_ROUND_BYTES));
}

/* Rounds that a window may have, at least as many as Kernel_333 has. */
static int64_t rounds_budget(struct gen_hwpe *gen, const struct task *t)
{
	int64_t memory = gen->kernel_span / CNNACC_HWPE_ROUND_BYTES;

	return max64(1, min64(memory / t->k, gen->rounds / (t->k * t->wc * t->hc)));
}

/* A share of @*rest for @times strides, a multiple of @granule. */
static int64_t take_stride(struct gen_hwpe *gen, int64_t *rest, int64_t times, int64_t granule)
{
	int64_t most = times ? min64(65535, *rest / times) : 65535;
	int64_t stride = hwpe_pick(gen, 0, hwpe_chance(gen, 60) ? min64(most, 96) : most);

	stride -= stride % granule;
	*rest -= stride * times;
	return stride;
}

static void pick_bases(struct gen_hwpe *gen, struct task *t, int64_t rest, int64_t granule)
{
	for (unsigned int j = 0; j < ACCS; j++) {
		int64_t at = hwpe_chance(gen, 20) ? rest : hwpe_pick(gen, 0, rest);

		t->base[j] = gen->low[j % 2] + at;
		t->base[j] -= t->base[j] % granule;
		t->base[j] += j % 2 ? CNNACC_HWPE_SRAM2 : 0;
		t->room[j] = rest - at;
	}
}

/* Rows anywhere, strides of any kind. */
static void pick_freely(struct gen_hwpe *gen, struct task *t)
{
	int64_t budget, rest, granule;

	pick_layer(gen, t);
	granule = !t->input && hwpe_chance(gen, 75) ? WORD : 1;
	budget = rounds_budget(gen, t);
	t->kernel = hwpe_chance(gen, 50) ? hwpe_pick(gen, 1, 3) :
					       hwpe_pick(gen, 1, CNNACC_HWPE_KERNEL_MAX);
	t->kernel = t->special ? 3 : min64(t->kernel, budget);
	t->ch = hwpe_pick(gen, 1, max64(1, min64(budget / t->kernel, gen->span / WORD / 2)));
	rest = gen->span - (t->special ? 18 : t->ch * WORD);
	t->w_offset = take_stride(gen, &rest, t->special ? 2 : t->kernel - 1, granule);
	t->hs = take_stride(gen, &rest, t->hc - 1, granule);
	t->ws = take_stride(gen, &rest, t->wc - 1, granule);
	pick_bases(gen, t, rest, granule);
}

/* Bases and strides by the published tables; false if the layer does not fit. */
static bool pick_table(struct gen_hwpe *gen, struct task *t)
{
	int64_t c, st = hwpe_pick(gen, 1, 3), h, last;

	pick_layer(gen, t);
	t->kernel = t->special ? 3 : hwpe_pick(gen, 1, t->input ? CNNACC_HWPE_KERNEL_MAX : 5);
	c = t->input ? 3 : 64 / width_of(t) * hwpe_pick(gen, 1, 2);
	st = min64(st, t->kernel);
	h = (4 * t->hc - 1) * st + t->kernel + (t->special ? t->kernel - st : 0);
	t->ch = t->special ? 3 : (c * t->kernel * width_of(t) + 63) / 64;
	t->w_offset = h * c * width_of(t) / 8;
	t->hs = (t->special ? 2 : 1) * st * c * width_of(t) / 8;
	t->ws = t->w_offset * st;
	for (unsigned int j = 0; j < ACCS; j++) {
		t->base[j] = (j % 2 ? CNNACC_HWPE_SRAM2 : 0) +
			     (t->special ? j / 2 % 2 : j / 2) * t->hc * t->hs;
		t->room[j] = 0;
	}
	last = (t->special ? 1 : 3) * t->hc * t->hs + (t->wc - 1) * t->ws + (t->hc - 1) * t->hs;
	return last + row_bytes(t) <= gen->params.fmap && t->ws <= 65535 &&
	       t->k * rounds_of(t) * CNNACC_HWPE_ROUND_BYTES <= gen->params.kernel &&
	       t->k * t->wc * t->hc * rounds_of(t) <= 5 * gen->rounds;
}

/* ----------------------------------------------------------------- damage */

/* The largest offset of a row from its base. */
static int64_t moved_by(const struct task *t)
{
	return (t->wc - 1) * t->ws + (t->hc - 1) * t->hs;
}

/* One row, or the kernels, out of bounds: at once or only in a later window. */
static void spoil_window(struct gen_hwpe *gen, struct task *t)
{
	unsigned int j = hwpe_pick(gen, 0, t->special ? 3 : 7);
	uint32_t sram = j % 2 ? CNNACC_HWPE_SRAM2 : 0;
	int64_t end = sram + gen->params.fmap - row_bytes(t);

	switch (hwpe_pick(gen, 0, 6)) {
	case 0:
		t->base[j] += 2 * CNNACC_HWPE_SRAM2;
		break;
	case 1:
		t->base[j] = hwpe_chance(gen, 50) ? 0xffffffff : 0xfffffff8;
		break;
	case 2:
		t->base[j] ^= CNNACC_HWPE_SRAM2;
		break;
	case 3:		/* by the smallest amount */
		t->base[j] = end + hwpe_pick(gen, 1, 8);
		break;
	case 4:
	case 5:
		if (!moved_by(t))
			t->hs = hwpe_pick(gen, 8, 65535);
		t->hc = max64(t->hc, 2);
		t->base[j] = max64(sram, end - moved_by(t) + hwpe_pick(gen, 1, 8));
		break;
	default:	/* a later kernel group; those before it are computed */
		if (gen->params.kernel > 65536) {
			t->base[j] ^= CNNACC_HWPE_SRAM2;
			break;
		}
		t->k = gen->params.kernel / (rounds_of(t) * CNNACC_HWPE_ROUND_BYTES) + 1;
		t->hc = 1;
		t->wc = 1;
		break;
	}
}

/* -------------------------------------------------------------- commands */

void gen_hwpe_exec(struct gen_hwpe *gen, uint32_t insn, uint32_t op0, uint32_t op1)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, { insn, 0, 0, 0, op0, op1 } };

	gen_hwpe_emit(gen, &c);
}

/* A value for a field that the instruction ignores. */
static unsigned int any(struct gen_hwpe *gen)
{
	return hwpe_chance(gen, 80) ? 0 : hwpe_pick(gen, 0, 31);
}

static uint32_t sink_va(struct gen_hwpe *gen, enum gen_hwpe_sink sink, int64_t bytes, int64_t *room)
{
	int64_t most = (gen->sink[sink].length - bytes) / 4, at = hwpe_pick(gen, 0, most);

	*room = (most - at) * 4;
	return gen->sink[sink].va + at * 4;
}

static void read_acc(struct gen_hwpe *gen, bool enable)
{
	unsigned int acc = hwpe_pick(gen, 0, 7), pe = hwpe_pick(gen, 0, 15);
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, {
		insn_encode(CNNACC_HWPE_READ_ACC, any(gen), acc | (enable ? CNNACC_HWPE_ENABLE : 0),
			    pe) } };
	int64_t room;

	gen_hwpe_step(gen, &c, 0, (int64_t)(15 - pe) << 20, 1 << 20);
	if (hwpe_chance(gen, 60)) {
		c.op |= CNNACC_SEQ_RESULT;
		c.arg[6] = sink_va(gen, SINK_RESULT, 4, &room);
		gen_hwpe_step(gen, &c, 6, room, 4);
	}
	gen_hwpe_emit(gen, &c);
}

static void relu_write(struct gen_hwpe *gen, unsigned int acc, bool enable)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, {
		insn_encode(CNNACC_HWPE_RELU_WRITE, any(gen), any(gen),
			    acc | (enable ? CNNACC_HWPE_ENABLE : 0)) } };
	int64_t room;

	c.arg[4] = sink_va(gen, SINK_RELU, PES, &room);
	gen_hwpe_step(gen, &c, 4, room, 4);
	gen_hwpe_emit(gen, &c);
}

static void drain(struct gen_hwpe *gen, unsigned int first, unsigned int count, bool enable)
{
	int64_t length = gen->sink[SINK_DRAIN].length - 4 * PES, room;
	unsigned int per_row = hwpe_chance(gen, 40) ? 0 : hwpe_pick(gen, 1, count + 1);
	int64_t columns = per_row ? min64(per_row, count) : count;
	int64_t rows = (count + columns - 1) / columns, pitch, row_pitch;
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_DRAIN | (enable ? CNNACC_SEQ_RESUME : 0) |
		count << CNNACC_SEQ_PARAM_SHIFT, { 0, first, per_row },
	};

	pitch = hwpe_pick(gen, 0, length / columns / 2 / 4) * 4;
	row_pitch = hwpe_pick(gen, 0, length / rows / 2 / 4) * 4;
	c.arg[3] = row_pitch;
	c.arg[4] = hwpe_chance(gen, 40) ? min64(4 * PES, length / columns / 2 / 4 * 4) : pitch;
	c.arg[0] = sink_va(gen, SINK_DRAIN, 4 * PES + (columns - 1) * c.arg[4] +
					    (rows - 1) * row_pitch, &room);
	gen_hwpe_step(gen, &c, 0, room, 4);
	gen_hwpe_step(gen, &c, 1, ACCS - first - count, 1);
	gen_hwpe_emit(gen, &c);
}

void gen_hwpe_drain(struct gen_hwpe *gen, bool enable)
{
	unsigned int first = hwpe_pick(gen, 0, 7);

	switch (hwpe_pick(gen, 0, 2)) {
	case 0:
		read_acc(gen, enable);
		break;
	case 1:
		relu_write(gen, first, enable);
		break;
	default:
		drain(gen, first, hwpe_pick(gen, 1, ACCS - first), enable);
		break;
	}
}

/* Seven AccRegs in a loop, the eighth resumes. */
static void relu_all(struct gen_hwpe *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC,
					{ insn_encode(CNNACC_HWPE_RELU_WRITE, 0, 0, 0) } };
	struct gen_hwpe_loop *loop;

	if (!gen_hwpe_open(gen, ACCS - 1)) {
		gen_hwpe_drain(gen, true);
		return;
	}
	loop = &gen->loop[gen->depth - 1];
	stream_step(&gen->job->program, loop->command, 0, CNNACC_SEQ_STEP(0, 0, 0), 1 << 20);
	stream_step(&gen->job->program, loop->command, 1, CNNACC_SEQ_STEP(0, 0, 4), PES);
	loop->pairs = 2;
	c.arg[4] = gen->sink[SINK_RELU].va;
	gen_hwpe_emit(gen, &c);
	gen_hwpe_close(gen);
	relu_write(gen, ACCS - 1, true);
}

static void drain_window(struct gen_hwpe *gen)
{
	switch (hwpe_pick(gen, 0, 5)) {
	case 0:
	case 1:
		drain(gen, 0, ACCS, true);
		break;
	case 2:
		relu_all(gen);
		break;
	case 3:
		for (unsigned int acc = 0; acc < ACCS; acc++)
			relu_write(gen, acc, acc == ACCS - 1);
		break;
	default:
		for (int64_t i = hwpe_pick(gen, 0, 4); i; i--)
			gen_hwpe_drain(gen, false);
		gen_hwpe_drain(gen, true);
		break;
	}
}

/* ---------------------------------------------------------------- windows */

static void wait_round(struct gen_hwpe *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_WAIT, { CNNACC_HWPE_WAIT_ROUND } };

	if (hwpe_chance(gen, 20))
		c.arg[0] |= CNNACC_HWPE_WAIT_IDLE;
	gen_hwpe_emit(gen, &c);
	gen->state = CNNACC_HWPE_SUSPENDED;
}

static bool reset_here(struct gen_hwpe *gen)
{
	if (gen->depth || !hwpe_chance(gen, 4))
		return false;
	gen_hwpe_exec(gen, insn_encode(CNNACC_HWPE_RESET, any(gen), any(gen), any(gen)), 0, 0);
	gen->state = CNNACC_HWPE_IDLE;
	return true;
}

/* Finish a window and start the next; false if the task was aborted. */
static bool window(struct gen_hwpe *gen)
{
	for (int64_t i = hwpe_chance(gen, 20) ? hwpe_pick(gen, 1, 3) : 0; i; i--)
		gen_hwpe_beside(gen);
	if (reset_here(gen))
		return false;
	wait_round(gen);
	for (int64_t i = hwpe_chance(gen, 25) ? hwpe_pick(gen, 1, 3) : 0; i; i--)
		gen_hwpe_simple(gen);
	if (reset_here(gen))
		return false;
	drain_window(gen);
	gen->state = CNNACC_HWPE_RUNNING;
	return true;
}

/* All windows of the counts from @level on, in LOOPs or unrolled. */
static bool windows(struct gen_hwpe *gen, const int64_t counts[3], unsigned int level)
{
	if (level == 3)
		return window(gen);
	if ((counts[level] > 4 || hwpe_chance(gen, 60)) &&
	    (counts[level] > 1 || hwpe_chance(gen, 20)) &&
	    gen_hwpe_open(gen, counts[level])) {
		windows(gen, counts, level + 1);
		gen_hwpe_close(gen);
		return true;
	}
	for (int64_t i = 0; i < counts[level]; i++)
		if (!windows(gen, counts, level + 1))
			return false;
	return true;
}

/* ------------------------------------------------------------------- task */

static void write_bases(struct gen_hwpe *gen, const struct task *t)
{
	unsigned int pairs = t->special ? 2 : 4, first = hwpe_pick(gen, 0, pairs - 1);

	for (unsigned int i = 0; i < pairs; i++) {
		unsigned int j = 2 * ((first + i) % pairs);
		unsigned int odd = hwpe_chance(gen, 10);
		struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, {
			insn_encode(CNNACC_HWPE_WRITE_FMAP_ADDR, j | odd, any(gen), any(gen)), 0, 0,
			0, t->base[j], t->base[j + 1] } };

		gen_hwpe_step(gen, &c, 4, t->room[j], WORD);
		gen_hwpe_step(gen, &c, 5, t->room[j + 1], WORD);
		gen_hwpe_emit(gen, &c);
	}
}

static void write_config(struct gen_hwpe *gen, const struct task *t)
{
	uint32_t cfg[2] = {
		t->ch | t->w_offset << 16,
		t->kernel | t->type << CNNACC_HWPE_CFG_TYPE_SHIFT |
		(t->input ? CNNACC_HWPE_CFG_INPUT : 0) | (t->special ? CNNACC_HWPE_CFG_333 : 0) |
		t->shift << CNNACC_HWPE_CFG_SHIFT_SHIFT | t->k << CNNACC_HWPE_CFG_K_SHIFT,
	};

	/* Not used. */
	if (t->special && hwpe_chance(gen, 50))
		cfg[0] = (cfg[0] & 0xffff0000) | hwpe_pick(gen, 0, 0xffff);
	gen_hwpe_spoil_config(gen, cfg);
	gen_hwpe_exec(gen, insn_encode(CNNACC_HWPE_WRITE_CFG, any(gen), any(gen), any(gen)), cfg[0],
		      cfg[1]);
}

/* A task of very many windows at the same place, aborted after a few. */
static void run_endless(struct gen_hwpe *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, {
		insn_encode(CNNACC_HWPE_MATRIX_MAC, any(gen), any(gen), any(gen)), 0, 0, 0,
		hwpe_pick(gen, 1, 65535) | hwpe_pick(gen, 1, 65535) << 16 } };

	gen_hwpe_emit(gen, &c);
	gen->state = CNNACC_HWPE_RUNNING;
	for (int64_t i = hwpe_pick(gen, 0, 3); i; i--)
		if (!window(gen))
			return;
	gen_hwpe_exec(gen, insn_encode(CNNACC_HWPE_RESET, 0, 0, 0), 0, 0);
	gen->state = CNNACC_HWPE_IDLE;
}

static void run_task(struct gen_hwpe *gen, const struct task *t)
{
	const int64_t counts[3] = { t->k, t->wc, t->hc };
	bool none = !hwpe_pick(gen, 0, 49);
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_EXEC | (hwpe_chance(gen, 40) ? CNNACC_SEQ_EVENTS : 0),
		{ insn_encode(CNNACC_HWPE_MATRIX_MAC, any(gen), any(gen), any(gen)), 0, 0, 0,
		  t->hc | t->wc << 16, t->hs | t->ws << 16 },
	};

	if (gen_hwpe_due(gen, GEN_HWPE_CONFIG, 10))
		gen_hwpe_exec(gen, insn_encode(CNNACC_HWPE_RESET, 0, 0, 0), 0, 0);
	if (none)
		c.arg[4] &= hwpe_chance(gen, 50) ? 0xffff : 0xffff0000;
	gen_hwpe_emit(gen, &c);
	if (none)
		return;
	gen->state = CNNACC_HWPE_RUNNING;
	windows(gen, counts, 0);
	gen->state = CNNACC_HWPE_IDLE;
}

void gen_hwpe_task(struct gen_hwpe *gen)
{
	struct task t;

	if (gen->kind != GEN_HWPE_LAYER || !pick_table(gen, &t))
		pick_freely(gen, &t);
	if (gen_hwpe_due(gen, GEN_HWPE_WINDOW, 60))
		spoil_window(gen, &t);
	write_bases(gen, &t);
	write_config(gen, &t);
	for (int64_t i = hwpe_chance(gen, 50) ? hwpe_pick(gen, 0, 4) : 0; i; i--)
		gen_hwpe_simple(gen);
	if (!gen->depth && hwpe_chance(gen, 4))
		run_endless(gen);
	else
		run_task(gen, &t);
	/* The configuration remains set. */
	if (gen->state == CNNACC_HWPE_IDLE && hwpe_chance(gen, 10))
		gen_hwpe_drain(gen, false);
}
