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
#define TER2_LOW	0x5555555555555555u

static inline const uint8_t *fmap(const struct hwpe *h, unsigned int base, uint64_t address)
{
	return h->seq.memory[base % 2].bytes + address % CNNACC_HWPE_SRAM2;
}

/* Left words @first.. of each row. */
static void gather(const struct hwpe *h, const struct hwpe_layer *l, struct hwpe_window window,
		   uint32_t first, uint32_t rounds, const struct hwpe_left *left)
{
	uint64_t conv0 = hwpe_window_base(h->s, window, 0) - h->s->base[0];
	uint32_t column = first / l->words, word = first % l->words;

	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		uint64_t conv = conv0 + h->s->base[i];
		uint32_t m = column, n = word, done = 0;
		uint64_t *out = left->words + i * left->pitch;

		for (; done < rounds; n = 0, m++) {
			uint64_t at = conv + (uint64_t)m * l->offset;
			uint32_t run = l->words - n < rounds - done ? l->words - n : rounds - done;

			if (!l->input)
				at &= ~(uint64_t)7;
			memcpy(out + done, fmap(h, i, at + (uint64_t)n * 8), (size_t)run * 8);
			done += run;
		}
	}
}

/* The four left words of each row with Kernel_333. */
static void gather_special(const struct hwpe *h, const struct hwpe_layer *l,
			   struct hwpe_window window, const struct hwpe_left *left)
{
	/* Word and byte of element 9 x + 3 y + c. */
	static const uint8_t place[27] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 24, 25, 26, 27, 28,
	};

	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		uint64_t conv = hwpe_window_base(h->s, window, i / 2);
		uint8_t *out = (uint8_t *)(left->words + i * left->pitch);

		memset(out, 0, 4 * sizeof(*left->words));
		for (unsigned int e = 0; e < 27; e++)
			out[place[e]] = *fmap(h, i / 2, conv + e / 9 * (uint64_t)l->offset +
					      e % 9 * 2 + i % 2);
	}
}

static bool has_bad_ter2(const uint64_t *words, size_t count)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < count; i++)
		bad |= words[i] >> 1 & ~words[i];
	return bad & TER2_LOW;
}

/* Left words of products @first.. of a window; STATUS bits that they or the right ones set. */
static uint32_t fetch(const struct hwpe *h, const struct hwpe_layer *l, struct hwpe_window window,
		      uint32_t first, uint32_t rounds, const struct hwpe_left *left)
{
	bool bad = h->right.bad;

	if (l->special)
		gather_special(h, l, window, left);
	else
		gather(h, l, window, first, rounds, left);
	if (l->type != CNNACC_HWPE_TER2)
		return 0;
	for (unsigned int i = 0; !bad && i < HWPE_ACCS; i++)
		bad = has_bad_ter2(left->words + i * left->pitch, rounds);
	return bad ? CNNACC_HWPE_STATUS_BAD_TER2 : 0;
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
		 has_bad_ter2((const uint64_t *)in, (size_t)rounds * HWPE_PES);
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

static void add_exactly(struct hwpe *h, const struct hwpe_left *left, uint32_t rounds,
			uint32_t type, uint32_t address)
{
	const uint8_t *in = h->seq.memory[CNNACC_HWPE_KERNEL].bytes + address;
	const uint64_t *right = (const uint64_t *)in;

	for (uint32_t t = 0; t < rounds; t++)
		for (unsigned int i = 0; i < HWPE_ACCS; i++)
			for (unsigned int q = 0; q < HWPE_PES; q++) {
				int32_t *acc = &h->s->acc[i][q];

				*acc = saturated(*acc + dot(left->words[i * left->pitch + t],
							    right[t * HWPE_PES + q], type));
			}
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

static struct hwpe_left left_of(const struct hwpe *h, unsigned int seat, uint32_t rounds)
{
	return (struct hwpe_left){
		.words = h->seat[seat].left, .pitch = rounds + HWPE_PAD,
	};
}

/* Products @first.. of the window; returns about what they took. */
static int64_t products(struct hwpe *h, const struct hwpe_layer *l, uint32_t first,
			uint32_t rounds)
{
	uint32_t address = kernel_address(h, l, first);
	struct hwpe_left left = left_of(h, 0, rounds);

	prepare_right(h, address, rounds, l->type);
	h->s->sticky |= fetch(h, l, h->s->window, first, rounds, &left);
	if (!cannot_saturate(h->s, rounds)) {
		add_exactly(h, &left, rounds, l->type, address);
		return (int64_t)rounds * EXACT_NS;
	}
	h->simd->add(h->s->acc, &left, rounds, l->type, h->right.words, h->right.sum,
		     h->seat[0].scratch);
	return products_ns(h, l, rounds);
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
	struct hwpe_left left = left_of(h, seat, l.rounds);

	for (uint32_t i = part; i < a->count; i += a->parts) {
		memset(a->sum[i], 0, sizeof(a->sum[i]));
		a->sticky[i] = fetch(h, &l, a->window[i], 0, l.rounds, &left);
		h->simd->add(a->sum[i], &left, l.rounds, l.type, h->right.words, h->right.sum,
			     h->seat[seat].scratch);
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
