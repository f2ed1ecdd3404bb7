// SPDX-License-Identifier: MIT
/*
 * Replacement tables. The core's own requests are followed, and after each op4 it is decided which
 * rows go: those that are not needed again, all at once, when the requests have run out of slots
 * shortly before a row is due; if these are too few, those whose next use is furthest away
 * (Belady). A row whose next use has been passed by the requests has to stay, as it would not come
 * again.
 *
 * The tables of an ordinary convolution restart with each kernel group, whose rows are all the same
 * ones. Then the first rows that it needs may stay in the first slots for all kernel groups: what
 * happens in the other slots is the same whether the first ones are filled in this kernel group or
 * were before. Those others are emptied at the end. In a grouped convolution each kernel group has
 * rows of its own, and the tables go through all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "block.h"

#define INCREMENT_MAX	254
#define ENTRIES_MAX	(1 << 20)

struct maker {
	struct gcuc_slots s;
	struct gcuc_table *t;
	int64_t pinned;		/* the first so many slots stay */
	int64_t lead;		/* op4 that a row is to be requested ahead of its use */
	int64_t done;		/* op4 of earlier packets that count (grouped) */
	int64_t trigger;	/* TRIGGER as the entries so far leave it */
	bool evicts, failed;
};

void gcuc_table_free(struct gcuc_table *t)
{
	free(t->increment);
	free(t->vector);
	*t = (struct gcuc_table){ 0 };
}

/* Appends an entry with an empty vector; returns that, or NULL. */
static uint8_t *add_entry(struct maker *m, int64_t increment)
{
	struct gcuc_table *t = m->t;

	if (t->n == t->room) {
		int64_t room = t->room ? 2 * t->room : 64;
		uint8_t *increments = realloc(t->increment, (size_t)room);
		uint8_t *vectors = realloc(t->vector, (size_t)(room * t->vector_bytes));

		t->increment = increments ? increments : t->increment;
		t->vector = vectors ? vectors : t->vector;
		m->failed |= !increments || !vectors || room > ENTRIES_MAX;
		if (m->failed)
			return NULL;
		t->room = room;
	}
	t->increment[t->n] = (uint8_t)increment;
	m->trigger = increment == CNNACC_GCU_RESTART ? 0 : m->trigger + increment;
	return memset(t->vector + t->n++ * t->vector_bytes, 0, (size_t)t->vector_bytes);
}

/* An entry that triggers after op4 number @op4; those before it trigger without effect. */
static uint8_t *add_event(struct maker *m, int64_t op4)
{
	while (op4 - m->trigger > INCREMENT_MAX && !m->failed)
		add_entry(m, INCREMENT_MAX);
	return m->failed ? NULL : add_entry(m, op4 - m->trigger);
}

static bool is_evictable(const struct maker *m, int64_t slot, int64_t op4)
{
	const struct gcuc_slot *s = &m->s.slot[slot];

	return slot >= m->pinned && s->valid && s->next >= m->s.need &&
	       s->next / m->s.b->y.kernel > op4 + 1;
}

static int64_t furthest(const struct maker *m, int64_t op4)
{
	int64_t best = -1;

	for (int64_t i = m->pinned; i < m->s.b->rows; i++)
		if (is_evictable(m, i, op4) &&
		    (best < 0 || m->s.slot[i].next > m->s.slot[best].next))
			best = i;
	return best;
}

static void evict(struct maker *m, uint8_t *vector, int64_t slot)
{
	m->evicts = true;
	vector[slot / 8] |= (uint8_t)(1 << slot % 8);
	gcuc_slots_evict(&m->s, slot);
}

static bool is_dead(const struct maker *m, int64_t slot)
{
	return slot >= m->pinned && m->s.slot[slot].valid && m->s.slot[slot].next == GCUC_NEVER;
}

static int64_t count_dead(const struct maker *m)
{
	int64_t n = 0;

	for (int64_t i = m->pinned; i < m->s.b->rows; i++)
		n += is_dead(m, i);
	return n;
}

/* Rows of the op4 that the requests have stopped in which are not there yet. */
static int64_t missing_rows(struct maker *m)
{
	int64_t end = m->s.need - m->s.need % m->s.b->y.kernel + m->s.b->y.kernel, n = 0;

	for (int64_t need = m->s.need; need < end; need++)
		n += gcuc_slots_row(&m->s, need) >= 0;
	return n;
}

/* After op4 number @op4 of the packet: evicts if the requests have stopped and it is time. */
static void decide(struct maker *m, int64_t op4)
{
	int64_t due = m->s.need / m->s.b->y.kernel, wanted, dead;
	uint8_t *vector;

	if (m->s.need >= m->s.needs || m->s.valid < m->s.b->rows || due > op4 + 1 + m->lead)
		return;
	dead = count_dead(m);
	wanted = due == op4 + 1 ? missing_rows(m) - dead : 0;
	if (!dead && wanted <= 0)
		return;
	vector = add_event(m, m->done + op4);
	for (int64_t i = m->pinned; vector && i < m->s.b->rows; i++)
		if (is_dead(m, i))
			evict(m, vector, i);
	for (int64_t slot; vector && wanted > 0 && (slot = furthest(m, op4)) >= 0; wanted--)
		evict(m, vector, slot);
}

/* All rows of a packet, in the order of the array. */
static void make_packet(struct maker *m)
{
	int64_t r_max = m->s.b->y.kernel, ops = m->s.needs / r_max;

	gcuc_slots_walk(&m->s, 0);
	for (int64_t op4 = 0; op4 < ops && !m->failed; op4++) {
		for (int64_t need = op4 * r_max; need < (op4 + 1) * r_max; need++)
			if (gcuc_slots_row(&m->s, need) >= 0 && !gcuc_slots_find(&m->s, need))
				m->failed = true;
		decide(m, op4);
		gcuc_slots_walk(&m->s, op4 + 1);
	}
}

/* The rows of a kernel group, which the next ones have, too. */
static void make_ordinary(struct maker *m)
{
	uint8_t *vector;

	gcuc_slots_begin(&m->s, 0);
	make_packet(m);
	if (m->t->n && !m->failed) {
		vector = add_event(m, m->s.needs / m->s.b->y.kernel - 1);
		for (int64_t i = m->pinned; vector && i < m->s.b->rows; i++)
			if (m->s.slot[i].valid)
				evict(m, vector, i);
	}
	if (!m->failed)
		add_entry(m, CNNACC_GCU_RESTART);
}

/*
 * The end of a packet of a grouped convolution. Each packet takes one entry more than it has
 * events: it loads one at its start and one at each event. The last one triggers behind it.
 */
static void end_packet(struct maker *m, bool last)
{
	uint8_t *vector = NULL;

	m->done += m->s.needs / m->s.b->y.kernel;
	if (m->s.valid + m->s.b->y.kernel > m->s.b->rows && !last)
		vector = add_event(m, m->done - 1);
	for (int64_t i = 0; i < m->s.b->rows; i++) {
		m->s.slot[i].next = GCUC_NEVER;
		if (vector && m->s.slot[i].valid)
			evict(m, vector, i);
	}
	add_event(m, m->done);
}

static void make_grouped(struct maker *m)
{
	int64_t groups = gcuc_kernel_groups(m->s.hw, m->s.b);

	for (int64_t kg = 0; kg < groups && !m->failed; kg++) {
		gcuc_slots_begin(&m->s, kg);
		make_packet(m);
		end_packet(m, kg + 1 == groups);
	}
	if (m->evicts || m->failed)
		return;
	m->t->n = 0;
	add_entry(m, CNNACC_GCU_RESTART);
}

static int64_t lead_of(const struct gcuc_hw *hw, const struct gcuc_block *b)
{
	int64_t row = 16 + cnn_div_up(b->x.in * hw->atomic_c * b->element, hw->bus);

	return cnn_div_up(row, gcuc_step_cycles(b));
}

bool gcuc_table_make(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t pinned,
		     struct gcuc_table *t)
{
	struct maker m = { .t = t, .pinned = b->groups > 1 ? 0 : pinned, .lead = lead_of(hw, b) };

	*t = (struct gcuc_table){ .vector_bytes = cnn_div_up(b->rows, 8) };
	if (b->rows < b->y.kernel + m.pinned || gcuc_slots_init(&m.s, hw, b))
		return false;
	if (b->groups > 1)
		make_grouped(&m);
	else
		make_ordinary(&m);
	gcuc_slots_free(&m.s);
	if (m.failed)
		gcuc_table_free(t);
	return !m.failed;
}
