// SPDX-License-Identifier: MIT
/*
 * Windows of core hwpe, and what they cost (Documentation/hardware/hwpe.rst). The program waits for
 * every window before anything else, so that costs add up.
 */
#include "hwpe.h"

void hwpec_exec(struct seqc *s, uint32_t insn, uint32_t a, uint32_t b)
{
	seqc_exec(s, insn, a, b);
	seqc_charge(s, 1);
}

/* Multiply-adds of a result. */
static uint64_t count_used(const struct hwpec_node *n)
{
	const struct hwpec_conv *v = &n->conv;

	if (n->plan.interleaved)
		return 27;
	return (uint64_t)(v->input_layer ? v->kw * cnn_min(3 * v->kw, v->words * HWPEC_WORD) :
					   n->plan.rounds * HWPEC_WORD * v->per_byte);
}

/* Address of the results of an AccReg. */
static uint32_t result_va(const struct hwpec_node *n, const struct hwpec_windows *w, uint32_t acc)
{
	uint32_t sram = n->plan.interleaved ? acc / 2 % 2 : acc % 2;
	uint32_t row = n->plan.interleaved ? acc / 4 + 2 * (acc % 2) : acc / 2;

	return w->va + row * w->row_pitch + sram * w->pitch;
}

static uint64_t drain_cycles(const struct hwpec_node *n, const struct hwpec_windows *w, uint32_t at)
{
	uint64_t cycles = n->plan.interleaved ? 2 : 1;

	if (n->conv.shift >= 0)
		return 6 * n->plan.accs;
	for (uint32_t i = 0; i < n->plan.accs; i++)
		cycles += 16 + seqc_lines(result_va(n, w, i) + at, 1, 4 * HWPEC_COLUMNS, 0);
	return cycles;
}

/* A window whose results are @at bytes behind those of the first window. */
static void charge_window(struct seqc *s, const struct hwpec_node *n, bool first, uint32_t at,
			  const struct hwpec_windows *w)
{
	uint64_t rounds = (uint64_t)n->plan.rounds, results = n->plan.accs * HWPEC_COLUMNS;
	uint64_t resumed = n->plan.interleaved ? 11 : n->conv.input_layer ? 9 : 8;
	uint64_t run = 8 * rounds + (first ? 12 : resumed), drain = drain_cycles(n, w, at);

	seqc_start(s, run);
	seqc_idle(s);
	seqc_stall(s, drain);
	s->cost.mac_slots += 128 * rounds * HWPEC_WORD * (uint64_t)n->conv.per_byte;
	s->cost.mac_useful += results * count_used(n);
	s->cost.written += results * (uint64_t)hwpec_result_bytes(&n->conv);
}

static void charge_windows(struct seqc *s, const struct hwpec_node *n,
			   const struct hwpec_windows *w)
{
	for (int64_t k = 0; k < w->groups; k++)
		for (int64_t x = 0; x < w->w; x++)
			for (int64_t y = 0; y < w->h; y++)
				charge_window(s, n, n->conv.acc_init || (!k && !x && !y),
					      (uint32_t)k * w->group_pitch +
						      (uint32_t)x * w->column_advance +
						      (uint32_t)y * w->row_advance,
					      w);
}

/* Commands that drain a window; *word: their argument that is an address. */
static uint32_t drains_of(const struct hwpec_node *n, uint32_t *word)
{
	*word = n->conv.shift < 0 ? 0 : 4;
	return n->conv.shift >= 0 ? n->plan.accs : n->plan.interleaved ? 2 : 1;
}

/* AccReg 4 a + 2 sram + part has row h * (2 part + a) of the columns in that SRAM. */
static void drain_interleaved(struct seqc *s, const struct hwpec_windows *w)
{
	for (uint32_t a = 0; a < 2; a++) {
		const struct seqc_drain d = {
			.va = w->va + a * w->row_pitch, .first = 4 * a, .count = 4, .per_row = 2,
			.row_pitch = w->pitch, .pitch = 2 * w->row_pitch, .resume = a > 0,
		};

		seqc_drain(s, &d);
	}
}

/* Writes the bytes that the core requantises; the last one resumes it. */
static void write_bytes(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	uint32_t accs = n->plan.accs;

	for (uint32_t i = 0; i < accs; i++) {
		uint32_t resume = i + 1 < accs ? 0 : CNNACC_HWPE_ENABLE;

		seqc_exec_to(s, CNNACC_HWPE_INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0,
						 i | resume), result_va(n, w, i), 0);
	}
}

static void add_drains(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	const struct seqc_drain drain = {
		.va = w->va, .count = n->plan.accs, .per_row = HWPEC_OUT_COLUMNS,
		.row_pitch = w->row_pitch, .pitch = w->pitch, .resume = true,
	};

	seqc_wait(s, CNNACC_HWPE_WAIT_ROUND);
	if (n->conv.shift >= 0)
		write_bytes(s, n, w);
	else if (n->plan.interleaved)
		drain_interleaved(s, w);
	else
		seqc_drain(s, &drain);
}

static void add_mac(struct seqc *s, const struct hwpec_windows *w, int64_t rows, int64_t columns)
{
	seqc_exec(s, CNNACC_HWPE_INSN(CNNACC_HWPE_MATRIX_MAC, HWPEC_BOTH, 0, 0, 0),
		  (uint32_t)rows | (uint32_t)columns << 16, w->base_row | w->base_column << 16);
}

static uint32_t base_commands(const struct hwpec_node *n)
{
	return n->plan.interleaved ? 2 : CNNACC_HWPE_ACCS / 2;
}

/* Sets FmapAddrBase. The second SRAM has the same bases as the first. */
static void add_bases(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	for (uint32_t i = 0; i < base_commands(n); i++)
		seqc_exec(s, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, HWPEC_BOTH, 2 * i, 0, 0),
			  i * w->base_pitch, CNNACC_HWPE_SRAM2 + i * w->base_pitch);
}

/* One MAC instruction runs all windows. The commands of its loops overlap the windows. */
static void run_from_zero(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	uint32_t word, drains = drains_of(n, &word);
	const struct seqc_advance group = { CNNACC_SEQ_STEP(3, drains - 1, word), w->group_pitch };
	const struct seqc_advance column = { CNNACC_SEQ_STEP(2, drains - 1, word),
					     w->column_advance };
	const struct seqc_advance row = { CNNACC_SEQ_STEP(1, drains - 1, word), w->row_advance };

	add_bases(s, n, w);
	add_mac(s, w, w->h, w->w);
	seqc_charge(s, base_commands(n) + 1);
	seqc_loop(s, 3 + drains, w->groups, &group, 1);
	seqc_loop(s, 2 + drains, w->w, &column, 1);
	seqc_loop(s, 1 + drains, w->h, &row, 1);
	add_drains(s, n, w);
	charge_windows(s, n, w);
}

/* Commands of such a window: they set AccRegs, set bases, and drain. */
struct body {
	uint32_t inits, bases, drains;
};

/* Sets the AccRegs that do not begin at zero. */
static void add_inits(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w,
		      uint32_t count)
{
	const struct seqc_advance acc = { CNNACC_SEQ_STEP(0, count - 1, 0), 1 << 7 };

	if (!count)
		return;
	seqc_loop(s, count, n->plan.accs, &acc, 1);
	for (uint32_t i = 0; i < HWPEC_COLUMNS; i++)
		if (w->acc_init[i])
			seqc_exec(s,
				  CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 0, 0, i),
				  (uint32_t)w->acc_init[i], 0);
}

/* A window's advance in its SRAM and in memory, and the loop commands in front of its body. */
struct window_loop {
	uint32_t before, base_advance, advance;
	int64_t times;
};

static void loop_windows(struct seqc *s, const struct body *b, const struct window_loop *l)
{
	uint32_t bases = l->before + b->inits, drains = bases + b->bases + 2;
	const struct seqc_advance advance[] = {
		{ CNNACC_SEQ_STEP(bases, b->bases - 1, 4), l->base_advance },
		{ CNNACC_SEQ_STEP(bases, b->bases - 1, 5), l->base_advance },
		{ CNNACC_SEQ_STEP(drains, b->drains - 1, 4), l->advance },
	};

	seqc_loop(s, drains + b->drains, l->times, advance, 3);
}

/* Each window has a MAC instruction of its own, so that its AccRegs can be set before. */
static void run_from_init(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	const struct window_loop columns = { 1, w->base_column, w->column_advance, w->w };
	const struct window_loop rows = { 0, w->base_row, w->row_advance, w->h };
	struct body b = { .bases = base_commands(n), .drains = n->plan.accs };
	uint32_t count = 0;
	uint64_t window;

	for (int i = 0; i < HWPEC_COLUMNS; i++)
		count += w->acc_init[i] != 0;
	b.inits = count ? count + 1 : 0;
	window = b.bases + 1 + (count ? 1 + n->plan.accs * (uint64_t)count : 0);
	loop_windows(s, &b, &columns);
	loop_windows(s, &b, &rows);
	add_inits(s, n, w, count);
	add_bases(s, n, w);
	add_mac(s, w, 1, 1);
	add_drains(s, n, w);
	seqc_charge(s, 1 + (uint64_t)w->w * (1 + (uint64_t)w->h * window));
	charge_windows(s, n, w);
}

void hwpec_run(struct seqc *s, const struct hwpec_node *n, const struct hwpec_windows *w)
{
	if (n->conv.acc_init)
		run_from_init(s, n, w);
	else
		run_from_zero(s, n, w);
}

/* AccRegs keep what the program before has left in them, so they are cleared. */
void hwpec_begin(struct seqc *s)
{
	const struct seqc_advance acc = { CNNACC_SEQ_STEP(1, 0, 0), 1 << 7 };
	const struct seqc_advance pe = { CNNACC_SEQ_STEP(0, 0, 0), 1 << 20 };

	seqc_begin(s);
	seqc_loop(s, 2, CNNACC_HWPE_ACCS, &acc, 1);
	seqc_loop(s, 1, CNNACC_HWPE_PES, &pe, 1);
	hwpec_exec(s, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 0, 0, 0), 0, 0);
	seqc_charge(s, 1 + CNNACC_HWPE_ACCS + CNNACC_HWPE_ACCS * CNNACC_HWPE_PES - 1);
}
