// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The products of a window: left words from the SRAMs, right words, sums. */
#include <string.h>

#include "hwpe.h"
#include "mutant.h"
#include "workers.h"

#define DOT_MAX		((int64_t)1 << 18)	/* no product is as large */
#define EXACT_NS	1000
#define AHEAD_NS	500000	/* of one thread: windows that are computed ahead, about */
#define AHEAD_EACH_NS	(CNN_SHARE_NS / 20)	/* of a window: smaller ones do not gain */

static inline const uint8_t *fmap(const struct hwpe *h, unsigned int base, uint64_t address)
{
	return h->seq.memory[base % 2].bytes + address % CNNACC_HWPE_SRAM2;
}

/* The four left words of each row with Kernel_333. */
static void gather_special(const struct hwpe *h, const struct hwpe_layer *l,
			   struct hwpe_window window, uint64_t words[HWPE_ACCS][4])
{
	/* Word and byte of element 9 x + 3 y + c. */
	static const uint8_t place[27] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 24, 25, 26, 27, 28,
	};

	memset(words, 0, HWPE_ACCS * sizeof(words[0]));
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		uint64_t conv = hwpe_window_base(h->s, window, i / 2);
		uint8_t *out = (uint8_t *)words[i];

		for (unsigned int e = 0; e < 27; e++)
			out[place[e]] = *fmap(h, i / 2, conv + e / 9 * (uint64_t)l->offset +
					      e % 9 * 2 + i % 2);
	}
}

/* Where the left words of products @first.. of a window are. */
static struct hwpe_left left_of(struct hwpe *h, const struct hwpe_layer *l,
				struct hwpe_window window, uint32_t first, uint32_t rounds,
				unsigned int seat)
{
	uint64_t conv0 = hwpe_window_base(h->s, window, 0) - h->s->base[0];
	uint32_t words = l->special ? l->rounds : l->words;
	struct hwpe_left left = {
		.mask = l->input ? UINT64_MAX : ~(uint64_t)7, .offset = l->offset, .words = words,
		.column = first / words, .word = first % words, .rounds = rounds,
	};

	if (l->special)
		gather_special(h, l, window, h->seat[seat].special);
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		left.memory[i] = l->special ? (const uint8_t *)h->seat[seat].special[i] :
					      h->seq.memory[i % 2].bytes;
		left.conv[i] = l->special ? 0 : (conv0 + h->s->base[i]) % CNNACC_HWPE_SRAM2;
	}
	return left;
}

/* Right words from @address of the kernel memory on, laid out once for all windows. */
static void prepare_right(struct hwpe *h, uint32_t address, uint32_t rounds, uint32_t type)
{
	const uint8_t *in = h->seq.memory[CNNACC_HWPE_KERNEL].bytes + address;
	struct hwpe_right *r = &h->right;

	if (r->valid && r->address == address && r->rounds == rounds && r->type == type)
		return;
	h->simd->right(in, rounds, type, r->words, r->sum);
	r->bad = type == CNNACC_HWPE_TER2 &&
		 hwpe_bad_ter2(in, (size_t)rounds * HWPE_PES);
	r->address = address;
	r->rounds = rounds;
	r->type = type;
	r->valid = true;
}

/* Can surely no accumulator reach its limit in @rounds products? */
static bool cannot_saturate(const struct hwpe_state *s, uint32_t rounds)
{
	int32_t bits = 0;

	/* At least as much as each of them, or as little. */
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		for (unsigned int q = 0; q < HWPE_PES; q++)
			bits |= s->acc[i][q] ^ s->acc[i][q] >> 31;
	return bits + rounds * DOT_MAX <= INT32_MAX;
}

/* ---- one by one ---- */

static int32_t element(uint64_t word, unsigned int e, uint32_t type, bool left)
{
	static const int8_t exp4[] = { 0, 1, 2, 4, 8, 16, 32, 64, 0, -1, -2, -4, -8, -16, -32, -64 };
	static const int8_t ter2[] = { 0, 1, -1, -1 };

	switch (type) {
	case CNNACC_HWPE_EXP4:
		return exp4[word >> 4 * e & 15];
	case CNNACC_HWPE_TER2:
		return ter2[word >> 2 * e & 3];
	}
	word = word >> 8 * e & 0xff;
	return type == CNNACC_HWPE_UINT8 && left ? (int32_t)word : (int8_t)word;
}

static int64_t dot(uint64_t left, uint64_t right, uint32_t type)
{
	int64_t sum = 0;

	for (unsigned int e = 0; e < hwpe_elements(type); e++)
		sum += element(left, e, type, true) * element(right, e, type, false);
	return sum;
}

static int32_t saturated(int64_t value)
{
	if (MUTANT(SATURATE))
		return (int32_t)(uint32_t)value;
	if (value > INT32_MAX)
		return INT32_MAX;
	return value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* Adds products of a row; is a left TER2 value 10? */
static bool add_row_exactly(int32_t acc[HWPE_PES], const struct hwpe_left *left, unsigned int row,
			    uint32_t type, const uint64_t *right)
{
	bool bad = false;

	for (struct hwpe_run run = { 0 }; hwpe_left_run(left, row, &run); run.to += run.words) {
		bad |= hwpe_bad_ter2(run.in, run.words);
		for (uint32_t t = 0; t < run.words; t++, right += HWPE_PES) {
			uint64_t word;

			memcpy(&word, run.in + t * sizeof(word), sizeof(word));
			for (unsigned int q = 0; q < HWPE_PES; q++)
				acc[q] = saturated(acc[q] + dot(word, right[q], type));
		}
	}
	return bad;
}

static bool add_exactly(struct hwpe *h, const struct hwpe_left *left, uint32_t type,
			uint32_t address)
{
	const uint8_t *right = h->seq.memory[CNNACC_HWPE_KERNEL].bytes + address;
	bool bad = false;

	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		bad |= add_row_exactly(h->s->acc[i], left, i, type, (const uint64_t *)right);
	return bad;
}

/* STATUS bits that products of these left and the prepared right words set. */
static uint32_t sticky(const struct hwpe *h, uint32_t type, bool bad_left)
{
	return type == CNNACC_HWPE_TER2 && (bad_left || h->right.bad) ?
	       CNNACC_HWPE_STATUS_BAD_TER2 : 0;
}

static uint32_t kernel_address(const struct hwpe *h, const struct hwpe_layer *l, uint32_t first)
{
	return (h->s->window.k * l->rounds + first) * CNNACC_HWPE_ROUND_BYTES;
}

/* About what products take one thread. */
static int64_t products_ns(const struct hwpe *h, const struct hwpe_layer *l, uint32_t rounds)
{
	return (int64_t)rounds * h->simd->round_ns * hwpe_elements(l->type) / 8;
}

/* Products @first.. of the window; returns about what they took. */
static int64_t products(struct hwpe *h, const struct hwpe_layer *l, uint32_t first,
			uint32_t rounds)
{
	uint32_t address = kernel_address(h, l, first);
	struct hwpe_left left = left_of(h, l, h->s->window, first, rounds, 0);
	bool exact = !cannot_saturate(h->s, rounds), bad;

	prepare_right(h, address, rounds, l->type);
	if (exact)
		bad = add_exactly(h, &left, l->type, address);
	else
		bad = h->simd->add(h->s->acc, &left, l->type, h->right.words, h->right.sum,
				   h->seat[0].scratch);
	h->s->sticky |= sticky(h, l->type, bad);
	return exact ? (int64_t)rounds * EXACT_NS : products_ns(h, l, rounds);
}

/* ---- windows to come ---- */

/*
 * What the windows that follow will add, computed by several threads: a task's bases and
 * configuration do not change, and COPY2D or FILL forget it.
 */
static void sum_part(void *opaque, unsigned int part, unsigned int seat)
{
	struct hwpe *h = opaque;
	struct hwpe_ahead *a = &h->ahead;
	struct hwpe_layer l = hwpe_layer(h->s);

	for (uint32_t i = part; i < a->count; i += a->parts) {
		struct hwpe_left left = left_of(h, &l, a->window[i], 0, l.rounds, seat);

		memset(a->sum[i], 0, sizeof(a->sum[i]));
		a->sticky[i] = sticky(h, l.type,
				      h->simd->add(a->sum[i], &left, l.type, h->right.words,
						   h->right.sum, h->seat[seat].scratch));
	}
}

static bool worth_threads(const struct hwpe *h, const struct hwpe_layer *l)
{
	return h->means.threads > 1 && l->rounds <= HWPE_ROUNDS &&
	       products_ns(h, l, l->rounds) >= AHEAD_EACH_NS;
}

/* Computes the window at hand and some that follow, if that is worth a thread more. */
static bool look_ahead(struct hwpe *h, const struct hwpe_layer *l, int64_t *budget)
{
	int64_t each = products_ns(h, l, l->rounds) + 1, all;
	struct hwpe_ahead *a = &h->ahead;
	struct hwpe_window next = h->s->window;

	a->next = 0;
	a->count = 0;
	do
		a->window[a->count++] = next;
	while (a->count < HWPE_AHEAD && a->count * each < AHEAD_NS &&
	       hwpe_next(h, &next) && next.k == h->s->window.k);
	all = a->count * each;
	a->parts = all / CNN_SHARE_NS < h->means.threads ? (uint32_t)(all / CNN_SHARE_NS) :
		   h->means.threads;
	if (a->parts < 2) {
		a->count = 0;
		return false;
	}
	prepare_right(h, kernel_address(h, l, 0), l->rounds, l->type);
	cnn_workers_run(h->means.workers, sum_part, h, a->parts);
	*budget -= all / a->parts;
	return true;
}

/* The window at hand, if it has been computed ahead. */
static bool take(struct hwpe *h)
{
	struct hwpe_ahead *a = &h->ahead;
	int32_t *acc = &h->s->acc[0][0], *sum;

	if (a->next == a->count)
		return false;
	h->s->sticky |= a->sticky[a->next];
	sum = &a->sum[a->next++][0][0];
	for (unsigned int i = 0; i < HWPE_ACCS * HWPE_PES; i++)
		acc[i] += sum[i];
	h->s->pending = 0;
	return true;
}

bool hwpe_work(struct seq *seq, int64_t *budget)
{
	struct hwpe *h = hwpe_of(seq);
	struct hwpe_layer l;

	if (!h->s->pending)
		return true;
	l = hwpe_layer(h->s);
	if (h->s->pending == l.rounds && *budget > 0 && worth_threads(h, &l)) {
		if (!cannot_saturate(h->s, l.rounds))
			h->ahead.count = h->ahead.next;
		else if (take(h) || (look_ahead(h, &l, budget) && take(h)))
			return true;
	}
	while (h->s->pending) {
		uint32_t rounds = h->s->pending < HWPE_ROUNDS ? h->s->pending : HWPE_ROUNDS;

		if (*budget <= 0)
			return false;
		*budget -= products(h, &l, l.rounds - h->s->pending, rounds);
		h->s->pending -= rounds;
	}
	return true;
}
