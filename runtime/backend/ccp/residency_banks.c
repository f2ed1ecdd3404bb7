// SPDX-License-Identifier: MIT
/* What the data banks hold in a state of the search, and what it takes to move it. */
#include <string.h>

#include "residency.h"

#define ROOM_STEPS	16	/* room for parts comes in so many sizes */

/* ---- banks ----------------------------------------------------------------------------- */

struct held *ccpc_find_held(struct state *s, int object)
{
	for (int i = 0; i < s->n_held; i++)
		if (s->held[i].object == object)
			return &s->held[i];
	return NULL;
}

void ccpc_drop(struct state *s, struct held *h)
{
	s->n_held--;
	memmove(h, h + 1, (size_t)(&s->held[s->n_held] - h) * sizeof(*h));
}

bool ccpc_hold(struct state *s, struct held h)
{
	int i = s->n_held;

	if (i == CCPC_KEPT)
		return false;
	for (; i > 0 && s->held[i - 1].object > h.object; i--)
		s->held[i] = s->held[i - 1];
	s->held[i] = h;
	s->n_held++;
	return true;
}

/* The free stretch of a bank that begins at or behind from; its length, 0 at the end. */
static int64_t next_gap(const struct keep *k, const struct state *s, unsigned int bank,
			int64_t from, int64_t *at)
{
	int64_t end = k->core->hw.bank / LINE_FLOATS;
	bool moved = true;

	while (moved) {
		moved = false;
		for (int i = 0; i < s->n_held; i++) {
			const struct held *h = &s->held[i];
			int64_t last = h->at + k->objects[h->object].lines;

			if (h->bank == bank && h->at <= from && from < last) {
				from = last;
				moved = true;
			}
		}
	}
	for (int i = 0; i < s->n_held; i++)
		if (s->held[i].bank == bank && s->held[i].at > from && s->held[i].at < end)
			end = s->held[i].at;
	*at = from;
	return end - from;
}

int64_t ccpc_find_room(const struct keep *k, const struct state *s, unsigned int bank,
		       int64_t lines, bool high)
{
	int64_t bank_lines = k->core->hw.bank / LINE_FLOATS, found = -1, at = 0, gap = 0;

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

/* The largest free stretch of lines from..to-1 of a bank; its length. */
static int64_t largest_gap(const struct keep *k, const struct state *s, unsigned int bank,
			   int64_t from, int64_t to, int64_t *where)
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

void ccpc_set_spare(const struct keep *k, const struct state *s, unsigned int bank,
		    struct ccpc_home *home)
{
	int64_t lines = k->core->hw.bank / LINE_FLOATS, step = cnn_max(1, lines / ROOM_STEPS);
	int64_t most = largest_gap(k, s, bank, 0, lines, &home->spare), half;

	home->room = (most == lines ? lines : most / step * step) * LINE_FLOATS;
	half = cnn_min(largest_gap(k, s, bank, 0, lines / 2, &home->half_at[0]),
		       largest_gap(k, s, bank, lines / 2, lines, &home->half_at[1]));
	home->half = (half == lines / 2 ? half : half / step * step) * LINE_FLOATS;
}

/* ---- moves ----------------------------------------------------------------------------- */

void ccpc_add_cost(struct state *s, int64_t lines)
{
	s->cost += 2 * (uint64_t)lines + 16;
	s->cycles += (uint64_t)lines + 32;
}

bool ccpc_add_move(const struct keep *k, struct state *s, const struct held *h, bool load)
{
	const struct object *o = &k->objects[h->object];

	if (s->step.n_moves == CCPC_MOVES)
		return false;
	s->step.moves[s->step.n_moves++] = (struct ccpc_move){
		.load = load,
		.bank = h->bank,
		.at = h->at,
		.line = o->line,
		.lines = o->lines,
	};
	ccpc_add_cost(s, o->lines);
	return true;
}

bool ccpc_save(const struct keep *k, struct state *s, struct held *h)
{
	if (h->dirty && !ccpc_add_move(k, s, h, false))
		return false;
	h->dirty = false;
	return true;
}
