// SPDX-License-Identifier: MIT
/* Weights as the kernel memory has them. */
#include "hwpe.h"

/* Output o of a block; false: a column that no output has. */
struct column {
	const int8_t *w;
	int64_t c0;		/* first channel of its group in the block's pixels */
};

static bool get_column(const struct hwpec_node *n, int64_t block, int64_t o, struct column *c)
{
	int64_t group = o / n->co;

	if (o >= hwpec_block_outputs(n, block))
		return false;
	c->w = n->w.data + (block * n->block_groups * n->co + o) * n->w.k;
	c->c0 = group * n->ci;
	return true;
}

/* The weight that element at of strip m meets. */
static int8_t weight_at(const struct hwpec_node *n, const struct column *col, int64_t m, int64_t at)
{
	int64_t cs = n->cs * n->per_byte, y = at / cs, c = at % cs - col->c0;

	if (y >= n->kh || y % n->dh || c < 0 || c >= n->ci)
		return 0;
	return col->w[c * n->w.c + y / n->dh * n->w.y + m * n->w.x];
}

/* The same of the interleaved kernel, whose words have 8, 8, 6 and 5 weights. */
static int8_t interleaved_at(const struct column *col, const struct hwpec_weights *w, int64_t t,
			     int64_t b)
{
	static const int8_t begin[] = { 0, 8, 16, 22, 27 };
	int64_t e = begin[t] + b;

	return e < begin[t + 1] ? col->w[e % 3 * w->c + e / 3 % 3 * w->y + e / 9 * w->x] : 0;
}

static void pack_column(const struct hwpec_node *n, const struct column *col, uint8_t *round)
{
	int64_t per_word = HWPEC_WORD * n->per_byte;
	int8_t word[HWPEC_WORD * 4];

	for (int64_t t = 0; t < n->rounds; t++, round += CNNACC_HWPE_ROUND_BYTES) {
		for (int64_t i = 0; i < per_word; i++)
			word[i] = n->interleaved ? interleaved_at(col, &n->w, t, i) :
				  weight_at(n, col, t / n->words, t % n->words * per_word + i);
		cnn_codes_pack(n->codes, word, 1, per_word, round);
	}
}

void hwpec_pack(const struct hwpec_node *n, int64_t block, int64_t first, int64_t count,
		uint8_t *to)
{
	struct column col;

	for (int64_t i = 0; i < count * HWPEC_COLUMNS; i++) {
		uint8_t *round = to + i / HWPEC_COLUMNS * n->rounds * CNNACC_HWPE_ROUND_BYTES +
				 i % HWPEC_COLUMNS * HWPEC_WORD;

		if (get_column(n, block, first * HWPEC_COLUMNS + i, &col))
			pack_column(n, &col, round);
	}
}
