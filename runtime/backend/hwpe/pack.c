// SPDX-License-Identifier: MIT
/* Packs weights for the kernel memory. */
#include "hwpe.h"

/* The weights of one output. */
struct weight_column {
	const int8_t *w;
	int64_t c0; /* first channel of its group, in pixels of the block */
};

/* The weights of output o of a block; false if the block has no such output. */
static bool get_column(const struct hwpec_node *n, int64_t block, int64_t o,
		       struct weight_column *c)
{
	int64_t group = o / n->conv.co;

	if (o >= hwpec_block_outputs(&n->conv, block))
		return false;
	c->w = n->conv.weights.data +
	       (block * n->conv.block_groups * n->conv.co + o) * n->conv.weights.k;
	c->c0 = group * n->conv.ci;
	return true;
}

/* The weight that is multiplied with element @at of strip m. */
static int8_t weight_at(const struct hwpec_node *n, const struct weight_column *col, int64_t m,
			int64_t at)
{
	int64_t cs = n->conv.sram_pixel * n->conv.per_byte, y = at / cs, c = at % cs - col->c0;

	if (y >= n->conv.kh || y % n->conv.dh || c < 0 || c >= n->conv.ci)
		return 0;
	return col->w[c * n->conv.weights.c + y / n->conv.dh * n->conv.weights.y +
		      m * n->conv.weights.x];
}

/* The same for Kernel_333, whose words have 8, 8, 6 and 5 weights. */
static int8_t interleaved_at(const struct weight_column *col, const struct hwpec_weights *w,
			     int64_t t, int64_t b)
{
	static const int8_t begin[] = { 0, 8, 16, 22, 27 };
	int64_t e = begin[t] + b;

	return e < begin[t + 1] ? col->w[e % 3 * w->c + e / 3 % 3 * w->y + e / 9 * w->x] : 0;
}

static void pack_column(const struct hwpec_node *n, const struct weight_column *col, uint8_t *round)
{
	int64_t per_word = HWPEC_WORD * n->conv.per_byte;
	int8_t word[HWPEC_WORD * 4];

	for (int64_t t = 0; t < n->plan.rounds; t++, round += CNNACC_HWPE_ROUND_BYTES) {
		for (int64_t i = 0; i < per_word; i++)
			word[i] = n->plan.interleaved ?
					  interleaved_at(col, &n->conv.weights, t, i) :
					  weight_at(n, col, t / n->conv.words,
						    t % n->conv.words * per_word + i);
		cnn_packed_encode(cnn_codes_number(n->conv.codes), word, 1, per_word, round);
	}
}

void hwpec_pack(const struct hwpec_node *n, int64_t block, int64_t first, int64_t count,
		uint8_t *to)
{
	struct weight_column col;

	for (int64_t i = 0; i < count * HWPEC_COLUMNS; i++) {
		uint8_t *round = to + i / HWPEC_COLUMNS * n->plan.rounds * CNNACC_HWPE_ROUND_BYTES +
				 i % HWPEC_COLUMNS * HWPEC_WORD;

		if (get_column(n, block, first * HWPEC_COLUMNS + i, &col))
			pack_column(n, &col, round);
	}
}
