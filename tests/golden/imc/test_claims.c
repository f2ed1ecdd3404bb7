// SPDX-License-Identifier: MIT
/* The claims of the published design and of the page, on the golden model's clocks; TAP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "state.h"
#include "../prng.h"
#include "../words.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define VALID		CNNACC_IMC_SIG_VALID
#define SEL		CNNACC_IMC_SIG_SEL
#define RD		CNNACC_IMC_SIG_RD_EN
#define WR		CNNACC_IMC_SIG_WR_EN
#define OUT		CNNACC_IMC_SIG_STROBE
#define SIGNALS		(VALID | SEL | RD | WR | OUT)

static struct cnnacc_stats stats;
static struct prng prng = { 1 };

static bool differs(const char *what, int64_t is, int64_t should)
{
	if (is != should)
		printf("# %s is %lld, not %lld\n", what, (long long)is, (long long)should);
	return is != should;
}

static struct golden_imc_params build(uint32_t csus, uint32_t cin_max, uint32_t port)
{
	return (struct golden_imc_params){
		cin_max, csus, CNNACC_IMC_N_MAX, true, true, 0x10000, 0x10000, 0x10000, port, 4096,
	};
}

/* A model with random components and weights, and a plane that has not begun. */
static struct golden_imc *begin(struct golden_imc_params params, const struct imc_setup *setup)
{
	struct golden_imc *imc = golden_imc_create(&params);
	static const uint32_t conv[4];

	if (!imc)
		exit(2);
	memset(&stats, 0, sizeof(stats));
	imc->seq.stats = &stats;
	for (unsigned int m = 0; m < CNNACC_IMC_UNIT0; m++)
		for (uint32_t i = 0; i < imc->bytes[m]; i++)
			imc->memory[m][i] = prng_next(&prng) >> 16;
	imc_setup_words(setup, imc->regs.setup);
	imc->plane = imc_decode(&params, imc->regs.setup, conv);
	imc_begin(imc);
	return imc;
}

static int32_t component(const struct golden_imc *imc, int64_t y, int64_t x, int64_t c)
{
	const struct imc_plane *p = &imc->plane;

	return (int8_t)imc->memory[0][y * p->in_row + x * p->in_column + c];
}

static int32_t weight(const struct golden_imc *imc, const int64_t krs[3], int64_t c)
{
	const struct imc_plane *p = &imc->plane;

	return (int8_t)imc->memory[CNNACC_IMC_WEIGHT0][((krs[0] * p->n + krs[1]) * p->n + krs[2]) *
						       p->cin + c];
}

/* One row of the correlation, summed directly. */
static int32_t row_sum(const struct golden_imc *imc, const int64_t yxk[3], int64_t r)
{
	int32_t sum = 0;

	for (int64_t s = 0; s < imc->plane.n; s++)
		for (int64_t c = 0; c < imc->plane.cin; c++)
			sum += component(imc, yxk[0] + r, yxk[1] + s, c) *
			       weight(imc, (int64_t[]){ yxk[2], r, s }, c);
	return sum;
}

static bool check_results(const struct golden_imc *imc)
{
	const struct imc_plane *p = &imc->plane;

	for (int64_t i = 0; i < p->ho * p->wo * p->cout; i++) {
		const int64_t yxk[3] = { i / p->cout / p->wo, i / p->cout % p->wo, i % p->cout };
		int32_t sum = 0;

		for (int64_t r = 0; r < p->n; r++)
			sum += row_sum(imc, yxk, r);
		if (differs("a result", (int32_t)word_get(imc->memory[CNNACC_IMC_UNIT0], i), sum))
			return false;
	}
	return true;
}

static void run(struct golden_imc *imc)
{
	while (!imc->control.done)
		imc_clock(imc, true);
}

/* ------------------------------------------------------------- one row pass */

/* Run the first row pass and check the row results against the direct correlation. */
static bool check_row(uint32_t n, uint32_t w)
{
	struct imc_setup setup = { n, .w = w, .h = n, .cin = 3, .cout = 1 };
	struct golden_imc *imc = begin(build(1, 64, 64), &setup);
	int64_t clocks = n * (w - n + 1), wo = w - n + 1, o = 0;
	bool bad = false;

	for (int64_t t = 0; t < clocks; t++) {
		imc_clock(imc, true);
		bad |= differs("valid", imc->regs.last.sig & VALID, VALID);
		bad |= differs("row", imc->regs.last.row, 0);
		if (imc->regs.last.sig & OUT)
			bad |= differs("a row result", (int32_t)imc->regs.last.out,
				       row_sum(imc, (int64_t[]){ 0, o++, 0 }, 0));
	}
	bad |= differs("row results", o, wo);
	bad |= differs("FIFO entries at the end", imc->csu[0].level, 0);
	bad |= differs("FIFO peak", imc->regs.fifo_peak, n - 1 < wo ? n - 1 : wo);
	bad |= differs("row passes", imc->regs.count[IMC_ROW_READS], 1);
	bad |= differs("elements", imc->regs.count[IMC_ELEMENT_READS], w);
	golden_imc_destroy(imc);
	return !bad;
}

static bool test_rows(void)
{
	for (uint32_t n = 1; n <= CNNACC_IMC_N_MAX; n++)
		for (uint32_t w = n; w <= n + 8; w++)
			if (!check_row(n, w))
				return false;
	return true;
}

/* An element stays for u(j) clocks, of which it is read in the first. */
static bool test_element_stays(void)
{
	struct imc_setup setup = { 4, .w = 9, .h = 4, .cin = 1, .cout = 1 };
	struct golden_imc *imc = begin(build(1, 64, 64), &setup);
	static const uint32_t uses[] = { 1, 2, 3, 4, 4, 4, 3, 2, 1 };
	bool bad = false;

	for (unsigned int j = 0; j < COUNT(uses); j++)
		for (uint32_t n = 0; n < uses[j]; n++) {
			imc_clock(imc, true);
			bad |= differs("element", imc->regs.last.element, j + 1);
			bad |= differs("reads", imc->regs.count[IMC_ELEMENT_READS], j + 1);
		}
	golden_imc_destroy(imc);
	return !bad;
}

/* Claim 7 as it is written, its loop phase several times. */
static bool test_claim7(void)
{
	static const uint32_t start[] = { WR, SEL | RD | WR, WR };
	static const uint32_t loop[] = { RD, SEL | RD | WR, WR };
	struct imc_setup setup = { 3, .w = 12, .h = 3, .cin = 1, .cout = 1 };
	struct golden_imc *imc = begin(build(1, 64, 64), &setup);
	bool bad = false;

	for (unsigned int t = 0; t < 30; t++) {
		uint32_t should = t < 3 ? start[t] : loop[t % 3];
		uint32_t phase = t == 29 ? CNNACC_IMC_PHASE_END :
				 t < 3 ? CNNACC_IMC_PHASE_START : CNNACC_IMC_PHASE_LOOP;

		/* The tail leaves out A(N-1) with W1, then A(N) with W2 and W1. */
		if (t == 29)
			should = RD;
		imc_clock(imc, true);
		bad |= differs("sel, rd_en, wr_en", imc->regs.last.sig & (SEL | RD | WR), should);
		bad |= differs("phase", imc->regs.last.sig >> 6 & 3, phase);
	}
	bad |= differs("element", imc->regs.last.element, 12);
	golden_imc_destroy(imc);
	return !bad;
}

/* Claim 8: what leaves with ~wr_en is a result only with valid. */
static bool test_stalled_strobe(void)
{
	struct imc_setup setup = { 3, .w = 5, .h = 3, .cin = 2, .cout = 1 };
	struct golden_imc *imc = begin(build(1, 64, 64), &setup);
	struct imc_csu before;
	bool bad = false;

	for (unsigned int t = 0; t < 4; t++)
		imc_clock(imc, true);
	bad |= differs("strobe", imc->regs.last.sig & SIGNALS, VALID | RD | OUT);
	before = imc->csu[0];
	imc_clock(imc, false);
	bad |= differs("stalled signals", imc->regs.last.sig & SIGNALS, 0);
	bad |= differs("FIFO", memcmp(&before, &imc->csu[0], sizeof(before)), 0);
	bad |= differs("row results", imc->regs.count[IMC_OUTPUTS], 1);
	bad |= differs("stalls", imc->regs.count[IMC_STALLS], 1);
	golden_imc_destroy(imc);
	return !bad;
}

/** struct queue - a FIFO beside that of the model. */
struct queue {
	uint32_t entry[CNNACC_IMC_N_MAX + 1];
	unsigned int level;
};

static uint32_t take(struct queue *q)
{
	uint32_t head = q->entry[0];

	memmove(q->entry, q->entry + 1, sizeof(q->entry) - sizeof(q->entry[0]));
	q->level--;
	return head;
}

/* What the signals of the last clock make of its p, by the words of the claims. */
static bool check_data_path(const struct golden_imc *imc, struct queue *q)
{
	uint32_t sig = imc->regs.last.sig, p = imc->regs.last.p, sum = p;
	bool bad = false;

	if (sig & RD)
		sum += take(q);
	if (sig & WR)
		q->entry[q->level++] = sig & SEL ? sum : p;
	else
		bad = differs("the output", imc->regs.last.out, sum);
	bad |= differs("strobe", !!(sig & OUT), !(sig & WR));
	bad |= differs("FIFO entries", imc->csu[0].level, q->level);
	for (unsigned int i = 0; i < q->level; i++)
		bad |= differs("a FIFO entry", imc->csu[0].fifo[i], q->entry[i]);
	return !bad;
}

/* Claims 1, 6 and 8: selector, adder 1 and FIFO follow sel, rd_en and wr_en. */
static bool test_data_path(void)
{
	for (uint32_t n = 1; n <= CNNACC_IMC_N_MAX; n++) {
		struct imc_setup setup = { n, .w = 2 * n + 3, .h = n + 1, .cin = 2, .cout = 1 };
		struct golden_imc *imc = begin(build(1, 64, 64), &setup);
		struct queue q = { .level = 0 };
		bool good = true;

		while (good && !imc->control.done) {
			imc_clock(imc, true);
			good = check_data_path(imc, &q);
		}
		golden_imc_destroy(imc);
		if (!good)
			return false;
	}
	return true;
}

/* Claim 3: with valid = 0 neither an element nor a weight is taken. */
static bool test_valid(void)
{
	struct imc_setup setup = { 3, .w = 8, .h = 5, .cin = 2, .cout = 3 };
	struct golden_imc *imc = begin(build(3, 64, 64), &setup);
	bool bad = false;

	while (!imc->control.done) {
		bool valid = prng_chance(&prng, 60);
		uint64_t elements = imc->regs.count[IMC_ELEMENT_READS];
		uint64_t weights = imc->regs.count[IMC_WEIGHT_READS];

		imc_clock(imc, valid);
		elements = imc->regs.count[IMC_ELEMENT_READS] - elements;
		weights = imc->regs.count[IMC_WEIGHT_READS] - weights;
		bad |= differs("weights taken", weights, valid ? 3 : 0);
		bad |= differs("an element taken", elements > valid, false);
	}
	bad |= differs("stalls", imc->regs.count[IMC_STALLS] > 0, true);
	bad = !check_results(imc) || bad;
	golden_imc_destroy(imc);
	return !bad;
}

/* Claim 4: row by row and column by column, each element with the weights that it meets, once. */
static bool test_order(void)
{
	struct imc_setup setup = { 4, .w = 9, .h = 4, .cin = 1, .cout = 1 };
	struct golden_imc *imc = begin(build(1, 64, 64), &setup);
	bool bad = false, seen[10][5];

	for (int64_t row = 0; row < setup.h; row++) {
		uint32_t element = 1;

		memset(seen, 0, sizeof(seen));
		for (int64_t t = 0; t < 4 * 6; t++) {
			uint32_t j, w;

			imc_clock(imc, true);
			j = imc->regs.last.element;
			w = imc->regs.last.weight;
			bad |= differs("row", imc->regs.last.row, row);
			bad |= differs("next element", j == element || j == element + 1, true);
			bad |= differs("its result", j >= w && j - w < 6, true);
			bad |= differs("taken before", seen[j][w], false);
			seen[j][w] = true;
			element = j;
		}
	}
	golden_imc_destroy(imc);
	return !bad;
}

/* Claim 5: n entries are enough for n x n. */
static bool test_fifo_size(void)
{
	for (uint32_t n = 1; n <= CNNACC_IMC_N_MAX; n++) {
		struct golden_imc_params params = build(1, 64, 64);
		struct imc_setup setup = { n, .w = n + 7, .h = n + 2, .cin = 2, .cout = 1 };
		struct golden_imc *imc;
		bool good;

		params.n_max = n;
		imc = begin(params, &setup);
		run(imc);
		good = check_results(imc) && !differs("more than n", imc->regs.fifo_peak > n, false);
		golden_imc_destroy(imc);
		if (!good)
			return false;
	}
	return true;
}

/* Claim 2: p is the sum over the channels. */
static bool test_alu(void)
{
	struct imc_setup setup = { 1, .w = 1, .h = 1, .cin = 64, .cout = 1 };
	struct golden_imc *imc = begin(build(1, 64, 64), &setup);
	int32_t sum = 0;
	bool bad;

	for (int64_t c = 0; c < 64; c++)
		sum += component(imc, 0, 0, c) * weight(imc, (int64_t[]){ 0, 0, 0 }, c);
	imc_clock(imc, true);
	bad = differs("p", (int32_t)imc->regs.last.p, sum);
	golden_imc_destroy(imc);
	return !bad;
}

/* --------------------------------------------------------------- planes */

/* Claim 9: every input row is read up to n times. */
static bool test_partial(void)
{
	struct imc_setup setup = { 3, .w = 7, .h = 6, .cin = 2, .cout = 4 };
	struct golden_imc *imc = begin(build(4, 64, 64), &setup);
	bool bad = false;

	for (uint32_t pass = 0; pass < 12; pass++)
		for (uint32_t t = 0; t < 15; t++) {
			imc_clock(imc, true);
			bad |= differs("row", imc->regs.last.row, pass / 3 + pass % 3);
			bad |= differs("kernel row", imc->regs.last.kernel_row, pass % 3);
		}
	bad |= differs("ended", imc->control.done, true);
	bad |= differs("row reads", imc->regs.count[IMC_ROW_READS], 12);
	bad = !check_results(imc) || bad;
	golden_imc_destroy(imc);
	return !bad;
}

/* Claim 10: n CSUs, all with the same element; active kernel rows for H = 6. */
static bool test_full(void)
{
	static const uint32_t lowest[] = { 0, 0, 0, 0, 1, 2 }, active[] = { 1, 2, 3, 3, 2, 1 };
	struct imc_setup setup = { 3, .full = true, .w = 7, .h = 6, .cin = 2, .cout = 4 };
	struct golden_imc *imc = begin(build(12, 64, 64), &setup);
	bool bad = false;

	for (uint32_t row = 0; row < 6; row++)
		for (uint32_t t = 0; t < 15; t++) {
			uint64_t weights = imc->regs.count[IMC_WEIGHT_READS];

			imc_clock(imc, true);
			bad |= differs("row", imc->regs.last.row, row);
			bad |= differs("CSU", imc->regs.last.csu, lowest[row]);
			bad |= differs("kernel row", imc->regs.last.kernel_row, lowest[row]);
			bad |= differs("active CSUs", imc->regs.count[IMC_WEIGHT_READS] - weights,
				       4 * active[row]);
		}
	bad |= differs("ended", imc->control.done, true);
	bad |= differs("row reads", imc->regs.count[IMC_ROW_READS], 6);
	bad = !check_results(imc) || bad;
	golden_imc_destroy(imc);
	return !bad;
}

static bool check_modes(const struct imc_setup *setup, uint32_t csus)
{
	struct prng same = prng;
	struct imc_setup full = *setup;
	struct golden_imc *a = begin(build(csus, 5, 64), setup), *b;
	bool bad;

	prng = same;
	full.full = true;
	b = begin(build(csus, 5, 64), &full);
	run(a);
	run(b);
	bad = memcmp(a->memory[CNNACC_IMC_UNIT0], b->memory[CNNACC_IMC_UNIT0],
		     a->bytes[CNNACC_IMC_UNIT0]);
	golden_imc_destroy(a);
	golden_imc_destroy(b);
	return !differs("the modes", bad, false);
}

/* Both modes give the same bits with any number of CSUs, FP32 with NaNs and infinities too. */
static bool test_modes(void)
{
	for (uint32_t i = 0; i < 120; i++) {
		uint32_t n = 1 + i % 5;
		struct imc_setup setup = { n, .format = i % 3, .w = n + i % 4, .h = n + i % 6,
					   .cin = 1 + i % 13, .cout = 1 + i % 7 };

		if (!check_modes(&setup, n + i % 11))
			return false;
	}
	return true;
}

/* ----------------------------------------------------- formulas and clocks */

static struct imc_setup random_setup(void)
{
	uint32_t n = prng_range(&prng, 1, 6);

	return (struct imc_setup){
		n, .format = prng_range(&prng, 0, 2), .full = prng_chance(&prng, 50),
		.w = n + prng_range(&prng, 0, 8), .h = n + prng_range(&prng, 0, 5),
		.cin = prng_range(&prng, 1, 20), .cout = prng_range(&prng, 1, 9),
	};
}

static bool check_counters(const struct golden_imc *imc)
{
	struct imc_cost cost = imc_cost(imc, &imc->plane);
	bool bad = false;

	for (unsigned int n = 0; n < IMC_COUNTS; n++)
		bad |= differs("a counter", imc->regs.count[n], cost.count[n]);
	bad |= differs("mac_slots", stats.mac_slots, cost.slots);
	bad |= differs("mac_useful", stats.mac_useful, cost.useful);
	bad |= differs("local_read_bytes", stats.local_read_bytes, cost.read);
	bad |= differs("local_write_bytes", stats.local_write_bytes, cost.written);
	bad |= differs("FIFO_PEAK", imc->regs.fifo_peak, cost.peak);
	return !bad;
}

static bool test_counters(void)
{
	for (uint32_t i = 0; i < 1000; i++) {
		struct imc_setup setup = random_setup();
		struct golden_imc *imc = begin(build(prng_range(&prng, 6, 40),
						     prng_range(&prng, 1, 20),
						     1u << prng_range(&prng, 0, 5)), &setup);
		bool good;

		run(imc);
		good = check_counters(imc);
		golden_imc_destroy(imc);
		if (!good)
			return false;
	}
	return true;
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} tests[] = {
		{ "row passes of all n, W from n to n + 8: results, n (W - n + 1) clocks, FIFO",
		  test_rows },
		{ "an element stays while its weights change", test_element_stays },
		{ "claims 1, 6 and 8: the signals move p, sum and FIFO entries", test_data_path },
		{ "claim 2: the ALU adds the products of all channels", test_alu },
		{ "claim 3: without valid neither element nor weight is taken", test_valid },
		{ "claim 4: elements in their order, each with the weights it meets", test_order },
		{ "claim 5: n entries of a FIFO are enough", test_fifo_size },
		{ "claim 7: start, loop and end phase", test_claim7 },
		{ "claim 8: a stalled clock is not a result", test_stalled_strobe },
		{ "claim 9: partial reuse", test_partial },
		{ "claim 10: full reuse", test_full },
		{ "both modes give the same bits", test_modes },
		{ "1000 random planes count what the formulas say", test_counters },
	};
	unsigned int failures = 0;

	for (unsigned int n = 0; n < COUNT(tests); n++) {
		bool good = tests[n].run();

		failures += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", n + 1, tests[n].name);
	}
	printf("1..%u\n", (unsigned int)COUNT(tests));
	return failures ? 1 : 0;
}
