// SPDX-License-Identifier: MIT
/* Contents of the data banks in a state of the search, and the cost of moves. */
#include <string.h>

#include "residency.h"

#define CAPACITY_SIZES 16 /* number of distinct capacities of free stretches */

struct ccpc_resident *ccpc_find_resident(struct ccpc_state *s, int storage)
{
	for (int i = 0; i < s->n_resident; i++)
		if (s->resident[i].storage == storage)
			return &s->resident[i];
	return NULL;
}

void ccpc_drop_resident(struct ccpc_state *s, struct ccpc_resident *h)
{
	s->n_resident--;
	memmove(h, h + 1, (size_t)(&s->resident[s->n_resident] - h) * sizeof(*h));
}

bool ccpc_add_resident(struct ccpc_state *s, struct ccpc_resident h)
{
	int i = s->n_resident;

	if (i == CCPC_RESIDENT_MAX)
		return false;
	for (; i > 0 && s->resident[i - 1].storage > h.storage; i--)
		s->resident[i] = s->resident[i - 1];
	s->resident[i] = h;
	s->n_resident++;
	return true;
}

/* Length of the first free stretch of a bank from line @from on, 0 at the end; sets *at. */
static int64_t next_gap(const struct ccpc_residency *k, const struct ccpc_state *s,
			unsigned int bank, int64_t from, int64_t *at)
{
	int64_t end = k->core->hw.data_bank / CCPC_LINE_FLOATS;
	bool moved = true;

	while (moved) {
		moved = false;
		for (int i = 0; i < s->n_resident; i++) {
			const struct ccpc_resident *h = &s->resident[i];
			int64_t last = h->at + k->storages[h->storage].lines;

			if (h->bank == bank && h->at <= from && from < last) {
				from = last;
				moved = true;
			}
		}
	}
	for (int i = 0; i < s->n_resident; i++)
		if (s->resident[i].bank == bank && s->resident[i].at > from &&
		    s->resident[i].at < end)
			end = s->resident[i].at;
	*at = from;
	return end - from;
}

int64_t ccpc_find_free(const struct ccpc_residency *k, const struct ccpc_state *s,
		       unsigned int bank, int64_t lines, bool high)
{
	int64_t bank_lines = k->core->hw.data_bank / CCPC_LINE_FLOATS, found = -1, at = 0, gap = 0;

	for (int64_t from = 0; from < bank_lines; from = at + cnn_max(1, gap)) {
		gap = next_gap(k, s, bank, from, &at);
		if (gap < lines)
			continue;
		found = high ? at + gap - lines : at;
		if (!high)
			return found;
	}
	return found;
}

/* Length of the largest free stretch in lines from..to-1 of a bank; sets *where. */
static int64_t largest_gap(const struct ccpc_residency *k, const struct ccpc_state *s,
			   unsigned int bank, int64_t from, int64_t to, int64_t *where)
{
	int64_t most = 0, at = 0, gap = 0;

	*where = from;
	for (; from < to; from = at + cnn_max(1, gap)) {
		gap = next_gap(k, s, bank, from, &at);
		if (cnn_min(gap, to - at) > most) {
			most = cnn_min(gap, to - at);
			*where = at;
		}
	}
	return most;
}

void ccpc_set_free(const struct ccpc_residency *k, const struct ccpc_state *s, unsigned int bank,
		   struct ccpc_bank_binding *bind)
{
	int64_t lines = k->core->hw.data_bank / CCPC_LINE_FLOATS,
		unit = cnn_max(1, lines / CAPACITY_SIZES);
	int64_t most = largest_gap(k, s, bank, 0, lines, &bind->free_line), half = 0;

	bind->capacity = (most == lines ? lines : most / unit * unit) * CCPC_LINE_FLOATS;
	if (k->core->hw.split_banks)
		half = cnn_min(largest_gap(k, s, bank, 0, lines / 2, &bind->half_line[0]),
			       largest_gap(k, s, bank, lines / 2, lines, &bind->half_line[1]));
	bind->half_capacity = (half == lines / 2 ? half : half / unit * unit) * CCPC_LINE_FLOATS;
}

void ccpc_add_move_cost(struct ccpc_state *s, int64_t lines)
{
	s->cost += 2 * (uint64_t)lines + 16;
	s->cycles += (uint64_t)lines + 32;
}

bool ccpc_add_move(const struct ccpc_residency *k, struct ccpc_state *s,
		   const struct ccpc_resident *h, bool load)
{
	const struct ccpc_storage *o = &k->storages[h->storage];

	if (s->schedule.n_moves == CCPC_MOVES_MAX)
		return false;
	s->schedule.moves[s->schedule.n_moves++] = (struct ccpc_move){
		.load = load, .bank = h->bank, .at = h->at, .line = o->line, .lines = o->lines,
	};
	ccpc_add_move_cost(s, o->lines);
	return true;
}

bool ccpc_write_back(const struct ccpc_residency *k, struct ccpc_state *s, struct ccpc_resident *h)
{
	if (h->dirty && !ccpc_add_move(k, s, h, false))
		return false;
	h->dirty = false;
	return true;
}
