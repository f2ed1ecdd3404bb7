// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Compute the products of a window. */
#include <string.h>

#include "hwpe.h"
#include "hwpe_mutant.h"
#include "workers.h"

#define DOT_MAX		((int64_t)1 << 18)	/* above the magnitude of any product */
/* Estimated times of one thread. */
#define SATURATING_NS	1000			/* a product with saturation */
#define WINDOW_MIN_NS	(CM_MIN_PART_NS / 40)	/* minimum window worth a lookahead */
#define LOOKAHEAD_NS	1500000			/* maximum lookahead */
#define BLOCK_NS	3000			/* preferred block */
#define BLOCK_MOST_NS	50000			/* maximum block */

static inline const uint8_t *fmap(const struct hwpe *h, unsigned int base, uint64_t address)
{
	return h->seq.memory[base % 2].bytes + address % CNNACC_HWPE_SRAM2;
}

/* Gather the four left words of each row with Kernel_333. */
static void gather_special(const struct hwpe *h, const struct hwpe_layer *l,
			   struct hwpe_window window, uint64_t words[HWPE_ACCS][4])
{
	/* Word and byte of element 9 x + 3 y + c. */
	static const uint8_t position[27] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 24, 25, 26, 27, 28,
	};

	memset(words, 0, HWPE_ACCS * sizeof(words[0]));
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		uint64_t conv = hwpe_window_base(l, window, i / 2);
		uint8_t *out = (uint8_t *)words[i];

		for (unsigned int e = 0; e < 27; e++)
			out[position[e]] = *fmap(h, i / 2, conv + e / 9 * (uint64_t)l->offset +
						 e % 9 * 2 + i % 2);
	}
}

/* Addresses of the left words of products @first.. of a window. */
static struct hwpe_left left_of(struct hwpe *h, const struct hwpe_layer *l,
				struct hwpe_window window, uint32_t first, uint32_t rounds,
				unsigned int thread)
{
	uint32_t words = l->special ? l->rounds : l->words;
	struct hwpe_left left = {
		.mask = l->input ? UINT64_MAX : ~(uint64_t)7, .offset = l->offset, .words = words,
		.column = first / words, .word = first % words, .rounds = rounds,
	};

	if (l->special)
		gather_special(h, l, window, h->thread[thread].special);
	for (unsigned int i = 0; i < HWPE_ACCS; i++) {
		left.memory[i] = l->special ? (const uint8_t *)h->thread[thread].special[i] :
					      h->seq.memory[i % 2].bytes;
		left.conv[i] = l->special ? 0 :
					    hwpe_window_base(l, window, i) % CNNACC_HWPE_SRAM2;
	}
	return left;
}

/* Right words of products @first.. of kernels @k, converted once for all windows. */
static const struct hwpe_right *right_of(struct hwpe *h, const struct hwpe_layer *l, uint32_t k,
					 uint32_t first, uint32_t rounds, unsigned int thread)
{
	uint32_t address = (k * l->rounds + first) * CNNACC_HWPE_ROUND_BYTES;
	const uint8_t *in = h->seq.memory[CNNACC_HWPE_KERNEL].bytes + address;
	struct hwpe_right *r = &h->thread[thread].right;

	if (r->valid && r->address == address && r->rounds == rounds && r->type == l->type)
		return r;
	r->words = h->simd->right(in, rounds, l->type, r->memory, r->sum);
	r->bad = l->type == CNNACC_HWPE_TER2 && hwpe_bad_ter2(in, (size_t)rounds * HWPE_PES);
	r->address = address;
	r->rounds = rounds;
	r->type = l->type;
	r->valid = true;
	return r;
}

void hwpe_drop_right(struct hwpe *h)
{
	for (uint32_t i = 0; i < h->resources.threads; i++)
		h->thread[i].right.valid = false;
}

/* Is it certain that no accumulator saturates within @rounds products?  Conservative. */
static bool cannot_saturate(const struct hwpe_state *s, uint32_t rounds)
{
	int32_t bits = 0;

	/* The OR of the magnitudes is an upper bound for each of them. */
	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		for (unsigned int q = 0; q < HWPE_PES; q++)
			bits |= s->acc[i][q] ^ s->acc[i][q] >> 31;
	return bits + rounds * DOT_MAX <= INT32_MAX;
}

/* ---- with saturation ---- */

static int32_t element(uint64_t word, unsigned int e, uint32_t type, bool left)
{
	static const int8_t exp4[] = {
		0, 1, 2, 4, 8, 16, 32, 64, 0, -1, -2, -4, -8, -16, -32, -64,
	};
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

/* Add the products of a row; return whether a left TER2 value is 10. */
static bool add_row_saturating(int32_t acc[HWPE_PES], const struct hwpe_left *left,
			       unsigned int row, uint32_t type, const uint64_t *right)
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

static bool add_saturating(struct hwpe *h, const struct hwpe_left *left, uint32_t type,
			   uint32_t address)
{
	const uint8_t *right = h->seq.memory[CNNACC_HWPE_KERNEL].bytes + address;
	bool bad = false;

	for (unsigned int i = 0; i < HWPE_ACCS; i++)
		bad |= add_row_saturating(h->s->acc[i], left, i, type, (const uint64_t *)right);
	return bad;
}

/* STATUS bits that the products set. */
static uint32_t sticky(uint32_t type, const struct hwpe_right *right, bool bad_left)
{
	return type == CNNACC_HWPE_TER2 && (bad_left || right->bad) ?
	       CNNACC_HWPE_STATUS_BAD_TER2 : 0;
}

/* Estimated time of the products on one thread. */
static int64_t products_ns(const struct hwpe *h, const struct hwpe_layer *l, uint32_t rounds)
{
	return (int64_t)rounds * h->simd->round_ns * hwpe_elements(l->type) / 8;
}

/* Compute products @first.. of the window; returns the estimated time. */
static int64_t products(struct hwpe *h, const struct hwpe_layer *l, uint32_t first,
			uint32_t rounds)
{
	struct hwpe_window window = h->s->window;
	const struct hwpe_right *right = right_of(h, l, window.k, first, rounds, 0);
	struct hwpe_left left = left_of(h, l, window, first, rounds, 0);
	bool saturating = !cannot_saturate(h->s, rounds), bad;

	if (saturating)
		bad = add_saturating(h, &left, l->type, right->address);
	else
		bad = h->simd->add(h->s->acc, &left, l->type, right->words, right->sum,
				   h->thread[0].scratch);
	h->s->sticky |= sticky(l->type, right, bad);
	return saturating ? (int64_t)rounds * SATURATING_NS : products_ns(h, l, rounds);
}

/* ---- lookahead ---- */

/*
 * Other threads compute the sums of the following windows while the program runs; the core's thread
 * computes blocks, too, when it would have to wait.  The inputs are stable: a task's bases and
 * configuration do not change, and COPY2D, FILL and Reset stop the other threads first.
 */
static void sum_block(struct hwpe *h, struct hwpe_block *b, unsigned int thread)
{
	const struct hwpe_layer *l = &h->lookahead.layer;
	const struct hwpe_right *right = right_of(h, l, b->window[0].k, 0, l->rounds, thread);

	for (uint32_t i = 0; i < b->count; i++) {
		struct hwpe_left left = left_of(h, l, b->window[i], 0, l->rounds, thread);

		memset(b->sum[i], 0, sizeof(b->sum[i]));
		b->sticky[i] = sticky(l->type, right,
				      h->simd->add(b->sum[i], &left, l->type, right->words,
						   right->sum, h->thread[thread].scratch));
	}
	atomic_store_explicit(&b->done, true, memory_order_release);
}

/* Claim a block; NULL if all are claimed. */
static struct hwpe_block *claim(struct hwpe_lookahead *a)
{
	uint32_t i = a->count;

	if (atomic_load(&a->claimed) < a->count)
		i = atomic_fetch_add(&a->claimed, 1);
	return i < a->count ? &a->blocks[i] : NULL;
}

static void help(void *opaque, unsigned int part, unsigned int thread)
{
	struct hwpe *h = opaque;
	struct hwpe_block *b;

	(void)part;
	for (b = claim(&h->lookahead); b; b = claim(&h->lookahead))
		sum_block(h, b, thread);
}

static bool worth_threads(const struct hwpe *h, const struct hwpe_layer *l)
{
	return h->resources.threads > 1 && l->rounds <= HWPE_ROUNDS &&
	       products_ns(h, l, l->rounds) >= WINDOW_MIN_NS;
}

/* Number of windows in a block; each takes one thread @each ns. */
static uint32_t block_size(const struct hwpe_state *s, int64_t each)
{
	int64_t most = BLOCK_MOST_NS / each < HWPE_BLOCK ? BLOCK_MOST_NS / each : HWPE_BLOCK;
	uint64_t same = hwpe_windows_of_k(s);

	/* One block if few windows share the kernels: every thread converts right words itself. */
	if (most > 0 && same <= (uint64_t)most)
		return (uint32_t)same;
	if (BLOCK_NS / each < most)
		most = BLOCK_NS / each;
	return most > 1 ? (uint32_t)most : 1;
}

/* Assign windows from *next on to the block and advance *next; false after the last window. */
static bool fill_block(const struct hwpe *h, struct hwpe_block *b, uint32_t size,
		       struct hwpe_window *next)
{
	bool more;

	b->count = 0;
	do {
		b->window[b->count++] = *next;
		more = hwpe_next(h, next);
	} while (more && b->count < size && next->k == b->window[0].k);
	atomic_store_explicit(&b->done, false, memory_order_relaxed);
	return more;
}

/* Let other threads compute the current and the following windows if that saves time. */
static bool start_lookahead(struct hwpe *h, const struct hwpe_layer *l)
{
	int64_t each = products_ns(h, l, l->rounds) + 1, all = 0;
	uint32_t size = block_size(h->s, each);
	struct hwpe_lookahead *a = &h->lookahead;
	struct hwpe_window next = h->s->window;
	bool more = true;

	hwpe_drop_lookahead(h);
	a->block = 0;
	a->window = 0;
	for (a->count = 0; more && a->count < HWPE_BLOCKS && all < LOOKAHEAD_NS; a->count++) {
		more = fill_block(h, &a->blocks[a->count], size, &next);
		all += a->blocks[a->count].count * each;
	}
	a->layer = *l;
	atomic_store(&a->claimed, 0);
	a->running = a->count > 1 && all >= 2 * CM_MIN_PART_NS &&
		     cm_workers_start(h->resources.workers, help, h);
	if (!a->running)
		a->count = 0;
	return a->running;
}

/* Add the current window's sums if the lookahead covers it. */
static bool take_sums(struct hwpe *h, const struct hwpe_layer *l, int64_t *budget)
{
	struct hwpe_lookahead *a = &h->lookahead;
	int32_t *acc = &h->s->acc[0][0], *sum;
	struct hwpe_block *b = &a->blocks[a->block], *other;

	if (a->block == a->count)
		return false;
	while (!atomic_load_explicit(&b->done, memory_order_acquire)) {
		other = claim(a);
		if (!other) {
			/* All blocks are claimed: wait for the other threads. */
			hwpe_pause(&h->seq);
			break;
		}
		sum_block(h, other, 0);
		*budget -= other->count * products_ns(h, l, l->rounds);
	}
	h->s->sticky |= b->sticky[a->window];
	sum = &b->sum[a->window++][0][0];
	for (unsigned int i = 0; i < HWPE_ACCS * HWPE_PES; i++)
		acc[i] += sum[i];
	h->s->pending = 0;
	if (a->window == b->count) {
		a->window = 0;
		a->block++;
	}
	return true;
}

/* Compute the current window's pending products; return true when none are left. */
static bool compute(struct hwpe *h, int64_t *budget)
{
	struct hwpe_layer l;

	hwpe_layer(h->s, &l);
	if (h->s->pending == l.rounds && *budget > 0 && worth_threads(h, &l)) {
		if (!cannot_saturate(h->s, l.rounds))
			hwpe_drop_lookahead(h);
		else if (take_sums(h, &l, budget) ||
			 (start_lookahead(h, &l) && take_sums(h, &l, budget)))
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

bool hwpe_work(struct cm_seq *seq, int64_t *budget)
{
	struct hwpe *h = hwpe_of(seq);

	return !h->s->pending || compute(h, budget);
}
