// SPDX-License-Identifier: MIT
/* Row slots of core gcu: requests, and what the two schemes of replacement do (Row slots). */
#include <stdlib.h>
#include <string.h>

#include "block.h"

#define ENTRIES_MAX	((size_t)1 << 22)	/* of each list; a larger map is to be cut */

static int64_t tags(const struct gcuc_slots *s)
{
	return gcuc_channel_groups(s->hw, s->b) * s->b->y.in;
}

/* Fills row and use: the rows of all (h, r), and when each is needed again. */
static void list_rows(struct gcuc_slots *s)
{
	int64_t r_max = s->b->y.kernel, *next = s->last;

	memset(next, -1, (size_t)s->b->y.in * sizeof(*next));
	for (int64_t h = s->b->y.out - 1; h >= 0; h--) {
		for (int64_t r = 0; r < r_max; r++) {
			int64_t y = gcuc_row_of(&s->b->y, h, r);

			s->row[h * r_max + r] = (int32_t)y;
			s->use[h * r_max + r] = y < 0 ? -1 : next[y];
		}
		for (int64_t r = 0; r < r_max; r++)
			if (s->row[h * r_max + r] >= 0)
				next[s->row[h * r_max + r]] = h;
	}
}

static void empty_all(struct gcuc_slots *s)
{
	memset(s->empty, 0, sizeof(s->empty));
	for (int64_t i = 0; i < s->b->rows; i++)
		s->empty[i / 64] |= (uint64_t)1 << i % 64;
}

int gcuc_slots_init(struct gcuc_slots *s, const struct gcuc_hw *hw, const struct gcuc_block *b)
{
	size_t n, rows = (size_t)(b->y.out * b->y.kernel);

	*s = (struct gcuc_slots){ .hw = hw, .b = b };
	n = (size_t)tags(s);
	if (n > ENTRIES_MAX || rows > ENTRIES_MAX)
		return CNN_ELIMIT;
	s->slot = calloc((size_t)b->rows, sizeof(*s->slot));
	s->at = malloc(n * sizeof(*s->at));
	s->last = malloc(n * sizeof(*s->last));
	s->row = malloc(rows * sizeof(*s->row));
	s->use = malloc(rows * sizeof(*s->use));
	s->seen = calloc(n, sizeof(*s->seen));
	if (!s->slot || !s->at || !s->last || !s->row || !s->use || !s->seen) {
		gcuc_slots_free(s);
		return CNN_ENOMEM;
	}
	list_rows(s);
	memset(s->at, -1, n * sizeof(*s->at));
	memset(s->last, -1, n * sizeof(*s->last));
	empty_all(s);
	return CNN_OK;
}

void gcuc_slots_free(struct gcuc_slots *s)
{
	free(s->slot);
	free(s->at);
	free(s->last);
	free(s->row);
	free(s->use);
	free(s->seen);
	*s = (struct gcuc_slots){ 0 };
}

void gcuc_slots_begin(struct gcuc_slots *s, int64_t kg)
{
	s->range = gcuc_range(s->hw, s->b, kg);
	s->needs = s->b->y.out * s->range.count * s->b->y.kernel;
	s->need = 0;
}

/* ---- needs ------------------------------------------------------------------------------- */

/* Index of (h, r) of a need in row and use. */
static int64_t row_index(const struct gcuc_slots *s, int64_t need)
{
	int64_t r_max = s->b->y.kernel;

	return need / r_max / s->range.count * r_max + need % r_max;
}

int64_t gcuc_slots_row(const struct gcuc_slots *s, int64_t need)
{
	return s->row[row_index(s, need)];
}

static int64_t group_of(const struct gcuc_slots *s, int64_t need)
{
	return s->range.first + need / s->b->y.kernel % s->range.count;
}

static int64_t tag_of(const struct gcuc_slots *s, int64_t need)
{
	return group_of(s, need) * s->b->y.in + gcuc_slots_row(s, need);
}

/* The first need of the packet behind this one's op4 that has the same row. */
static int64_t need_again(const struct gcuc_slots *s, int64_t need)
{
	int64_t h = s->use[row_index(s, need)], op4;

	if (h < 0)
		return GCUC_NEVER;
	op4 = h * s->range.count + need / s->b->y.kernel % s->range.count;
	return op4 * s->b->y.kernel;
}

/* ---- requests ---------------------------------------------------------------------------- */

static struct gcuc_slot *fill(struct gcuc_slots *s, int64_t slot, int64_t need)
{
	struct gcuc_slot *to = &s->slot[slot];
	int64_t tag = tag_of(s, need);

	*to = (struct gcuc_slot){ .tag = (int32_t)tag, .valid = true, .next = need, .same = -1 };
	if (s->load)
		to->ready = s->load(s->opaque, group_of(s, need), gcuc_slots_row(s, need),
				    s->seen[tag]);
	s->seen[tag] = true;
	s->valid++;
	return to;
}

static int64_t first_empty(const struct gcuc_slots *s)
{
	for (int64_t i = 0; i < CNNACC_GCU_ROWS_MAX / 64; i++)
		if (s->empty[i])
			return i * 64 + __builtin_ctzll(s->empty[i]);
	return -1;
}

static bool request_table(struct gcuc_slots *s, int64_t need)
{
	int64_t tag = tag_of(s, need), slot = s->at[tag];

	if (slot >= 0) {
		s->slot[slot].next = cnn_min(s->slot[slot].next, need);
		return true;
	}
	slot = first_empty(s);
	if (slot < 0)
		return false;
	fill(s, slot, need);
	s->at[tag] = slot;
	s->empty[slot / 64] &= ~((uint64_t)1 << slot % 64);
	return true;
}

static bool request_fifo(struct gcuc_slots *s, int64_t need)
{
	int64_t tag = tag_of(s, need), number = s->written;

	if (s->valid == s->b->rows)
		return false;
	fill(s, number % s->b->rows, need);
	s->written++;
	if (s->at[tag] < 0)
		s->at[tag] = number;
	else
		s->slot[s->last[tag] % s->b->rows].same = number;
	s->last[tag] = number;
	return true;
}

void gcuc_slots_walk(struct gcuc_slots *s, int64_t complete)
{
	int64_t end = (complete + CNNACC_GCU_LOOKAHEAD + 1) * s->b->y.kernel;
	bool table = gcuc_uses_table(s->b);

	for (end = cnn_min(end, s->needs); s->need < end; s->need++) {
		if (gcuc_slots_row(s, s->need) < 0)
			continue;
		if (table ? !request_table(s, s->need) : !request_fifo(s, s->need))
			return;
	}
}

struct gcuc_slot *gcuc_slots_find(struct gcuc_slots *s, int64_t need)
{
	int64_t at = s->at[tag_of(s, need)];
	struct gcuc_slot *slot = at < 0 ? NULL : &s->slot[at % s->b->rows];

	if (slot && gcuc_uses_table(s->b))
		slot->next = need_again(s, need);
	return slot;
}

/* ---- eviction ---------------------------------------------------------------------------- */

void gcuc_slots_evict(struct gcuc_slots *s, int64_t slot)
{
	if (!s->slot[slot].valid)
		return;
	s->slot[slot].valid = false;
	s->at[s->slot[slot].tag] = -1;
	s->empty[slot / 64] |= (uint64_t)1 << slot % 64;
	s->valid--;
}

static void evict_oldest(struct gcuc_slots *s)
{
	struct gcuc_slot *slot = &s->slot[s->oldest++ % s->b->rows];

	slot->valid = false;
	s->at[slot->tag] = slot->same;
	s->valid--;
}

void gcuc_slots_fifo(struct gcuc_slots *s, int64_t complete)
{
	while (s->valid > s->b->threshold)
		evict_oldest(s);
	gcuc_slots_walk(s, complete);
}

void gcuc_slots_fifo_end(struct gcuc_slots *s)
{
	while (s->valid)
		evict_oldest(s);
	s->written = s->oldest = 0;
}
