// SPDX-License-Identifier: MIT
/*
 * Which scheme replaces the rows of a block. FIFO reads every row again for each output row and
 * kernel group that needs it, whatever its threshold; the best one is a slot less than all, which
 * evicts a row when it has been used and all slots are filled. Tables cost their own bytes.
 */
#include <string.h>

#include "gcu.h"

#define LINES_A_CYCLE	4	/* that four streams can move: what a line weighs */

uint64_t gcuc_weigh(const struct gcuc_count *n)
{
	return n->cycles + n->lines / LINES_A_CYCLE;
}

static bool count_fifo(const struct gcuc_hw *hw, int64_t kernel_groups, struct gcuc_scheme *s)
{
	s->b.threshold = s->b.rows - 1;
	if (!gcuc_count_block(hw, &s->b, kernel_groups, &s->count))
		return false;
	s->fifo_refills = s->count.row_refills;
	return true;
}

/* Takes tables with so many rows that stay, if they are better and move no more bytes. */
static void try_table(const struct gcuc_hw *hw, int64_t kernel_groups, int64_t pinned,
		      struct gcuc_scheme *s)
{
	struct gcuc_block b = s->key;
	struct gcuc_table t;
	struct gcuc_count n;

	if (!gcuc_table_make(hw, &b, pinned, &t))
		return;
	b.table = &t;
	if (!gcuc_count_block(hw, &b, kernel_groups, &n) ||
	    n.row_refills + n.table_bytes > s->fifo_refills ||
	    gcuc_weigh(&n) > gcuc_weigh(&s->count)) {
		gcuc_table_free(&t);
		return;
	}
	gcuc_table_free(&s->table);
	s->table = t;
	s->count = n;
	s->b = b;
	s->b.table = &s->table;
}

/* Rows that may stay for all kernel groups: the others have to do for what one needs at a time. */
static int64_t most_pinned(const struct gcuc_hw *hw, const struct gcuc_block *b)
{
	int64_t reused = cnn_max(0, gcuc_reach(&b->y) - b->y.stride);
	int64_t live = gcuc_channel_groups(hw, b) * cnn_min(reused, b->y.kernel);

	return b->rows - live - 4 * b->y.kernel;
}

static bool make_scheme(const struct gcuc_hw *hw, int64_t kernel_groups, struct gcuc_scheme *s)
{
	const struct gcuc_block *b = &s->key;
	int64_t rows = gcuc_channel_groups(hw, b) * b->y.in, pinned = most_pinned(hw, b);

	s->b.control &= ~CNNACC_GCU_TABLE;
	if (!count_fifo(hw, kernel_groups, s))
		return false;
	try_table(hw, kernel_groups, 0, s);
	if (rows > b->rows && pinned > 0 && b->groups == 1 && gcuc_kernel_groups(hw, b) > 1)
		try_table(hw, kernel_groups, pinned, s);
	return true;
}

/* Only the place in a line matters. */
static struct gcuc_block key_of(const struct gcuc_block *b)
{
	struct gcuc_block key = *b;

	key.control |= CNNACC_GCU_TABLE;
	key.table = NULL;
	key.threshold = 0;
	key.ifmap.at %= CNNACC_LINE_SIZE;
	key.psum.at %= CNNACC_LINE_SIZE;
	key.ofmap.at %= CNNACC_LINE_SIZE;
	return key;
}

struct gcuc_scheme *gcuc_choose_scheme(const struct gcuc_hw *hw, struct gcuc_schemes *list,
				       const struct gcuc_block *b, int64_t kernel_groups)
{
	const struct gcuc_block key = key_of(b);
	struct gcuc_scheme *s;

	for (int i = 0; i < list->n; i++)
		if (!memcmp(&list->known[i].key, &key, sizeof(key)))
			return &list->known[i];
	s = &list->known[list->next];
	list->next = (list->next + 1) % GCUC_SCHEMES;
	list->n = (int)cnn_min(list->n + 1, GCUC_SCHEMES);
	gcuc_table_free(&s->table);
	*s = (struct gcuc_scheme){ .key = key, .b = key, .table_at = -1 };
	if (make_scheme(hw, kernel_groups, s))
		return s;
	memset(&s->key, 0, sizeof(s->key));
	return NULL;
}

void gcuc_schemes_free(struct gcuc_schemes *list)
{
	for (int i = 0; i < list->n; i++)
		gcuc_table_free(&list->known[i].table);
	list->n = list->next = 0;
}
