// SPDX-License-Identifier: MIT
/* Row slots: how many, and replacement that works, found by playing it through. */
#include <string.h>

#include "gen.h"

#define NEVER	INT64_MAX

/** struct play - row slots and the generator of a layer that is played through. */
struct play {
	const struct golden_gcu_layer *l;
	struct golden_gcu_range range;
	int64_t e, r;		/* next need */
	int64_t complete;
	int64_t write, oldest, valid;
	struct tag {
		bool valid;
		int64_t cg, row;
	} slot[CNNACC_GCU_ROWS_MAX];
};

static int64_t op4_count(const struct play *p)
{
	return p->l->ofmh * p->range.cgrpn;
}

/* Row of kernel row @r of op4 @e; -1: masked. */
static int64_t row_of(const struct play *p, int64_t e, int64_t r)
{
	return golden_gcu_tap_row(p->l, e / p->range.cgrpn, r);
}

static int64_t cg_of(const struct play *p, int64_t e)
{
	return p->range.first + e % p->range.cgrpn;
}

static int64_t find(const struct play *p, int64_t cg, int64_t row)
{
	for (int64_t slot = 0; slot < p->l->fmbufrown; slot++)
		if (p->slot[slot].valid && p->slot[slot].cg == cg && p->slot[slot].row == row)
			return slot;
	return -1;
}

static void put(struct play *p, int64_t slot)
{
	p->slot[slot] = (struct tag){ true, cg_of(p, p->e), row_of(p, p->e, p->r) };
	p->valid++;
}

static void drop(struct play *p, int64_t slot)
{
	p->valid -= p->slot[slot].valid;
	p->slot[slot].valid = false;
}

/* Put the next need into a slot; false if there is none. */
static bool place(struct play *p)
{
	int64_t slot = 0;

	if (!p->l->table) {
		if (p->slot[p->write].valid)
			return false;
		put(p, p->write);
		p->write = (p->write + 1) % p->l->fmbufrown;
		return true;
	}
	if (find(p, cg_of(p, p->e), row_of(p, p->e, p->r)) >= 0)
		return true;
	if (p->valid == p->l->fmbufrown)
		return false;
	while (p->slot[slot].valid)
		slot++;
	put(p, slot);
	return true;
}

/* The generator's walk; true if it is blocked. */
static bool walk(struct play *p)
{
	while (p->e < op4_count(p)) {
		if (row_of(p, p->e, p->r) >= 0) {
			if (p->e > p->complete + 256)
				return false;
			if (!place(p))
				return true;
		}
		p->r++;
		if (p->r == p->l->r) {
			p->r = 0;
			p->e++;
		}
	}
	return false;
}

static void begin_op6(struct play *p, const struct gen_gcu *gen, int64_t i)
{
	p->range = golden_gcu_range(p->l, gen->params.atomic_c, gen->params.atomic_k, i);
	p->e = p->r = p->complete = 0;
}

/* ------------------------------------------------------------------- FIFO */

static bool play_op3(struct play *p, int64_t r)
{
	int64_t row = row_of(p, p->complete, r);

	if (row < 0)
		return true;
	if (find(p, cg_of(p, p->complete), row) < 0)
		return false;
	while (p->valid > p->l->threshold) {
		drop(p, p->oldest);
		p->oldest = (p->oldest + 1) % p->l->fmbufrown;
	}
	walk(p);
	return true;
}

/* Does the layer come to its end? */
static bool fifo_works(const struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	struct play p = { .l = l };

	for (int64_t i = 0; i < golden_gcu_kernel_groups(l, gen->params.atomic_k); i++) {
		begin_op6(&p, gen, i);
		walk(&p);
		for (; p.complete < op4_count(&p); p.complete++, walk(&p))
			for (int64_t r = 0; r < l->r; r++)
				if (!play_op3(&p, r))
					return false;
		memset(p.slot, 0, sizeof(p.slot));
		p.valid = p.write = p.oldest = 0;
	}
	return true;
}

static void pick_fifo(struct gen_gcu *gen, struct golden_gcu_layer *l, bool stuck)
{
	int64_t mood = gcu_pick(gen, 0, 9);

	l->threshold = l->fmbufrown - 1;
	if (stuck)
		l->threshold = gcu_chance(gen, 60) ? gcu_pick(gen, 0, l->fmbufrown) :
						     gcu_pick(gen, 0, 65535);
	else if (mood < 4)
		l->threshold = gcu_pick(gen, l->fmbufrown / 2, l->fmbufrown + 4);
	if (!stuck && !fifo_works(gen, l))
		l->threshold = l->fmbufrown - 1;
}

/* ----------------------------------------------------------------- tables */

/* Does nothing if the tables are full; gen_gcu_rows() then does without. */
static void add_entry(struct gen_gcu_tables *t, unsigned int increment, const uint8_t *vector)
{
	if (t->count == GEN_GCU_ENTRIES)
		return;
	t->increment[t->count] = increment;
	memset(t->vector[t->count], 0, GEN_GCU_VECTOR);
	if (vector)
		memcpy(t->vector[t->count], vector, GEN_GCU_VECTOR);
	t->trigger += increment;
	t->count++;
}

/* Evict @vector after the op4 whose number in OP4 is @at. */
static void add_event(struct gen_gcu_tables *t, int64_t at, const uint8_t *vector)
{
	while (t->count < GEN_GCU_ENTRIES && t->dense && at - t->trigger > 1)
		add_entry(t, 1, NULL);
	while (t->count < GEN_GCU_ENTRIES && at - t->trigger > 254)
		add_entry(t, 254, NULL);
	add_entry(t, at - t->trigger, vector);
}

/* The next op4 behind @e that needs the row in @slot. */
static int64_t next_use(const struct play *p, int64_t e, int64_t slot)
{
	const struct golden_gcu_layer *l = p->l;
	int64_t ly = l->top + p->slot[slot].row * (l->inner_tb + 1), next = NEVER;

	for (int64_t r = 0; r < l->r; r++) {
		int64_t rest = ly - r * (l->dil_v + 1), at;

		if (rest < 0 || rest % l->vstride || rest / l->vstride >= l->ofmh)
			continue;
		at = rest / l->vstride * p->range.cgrpn + p->slot[slot].cg - p->range.first;
		if (at > e && at < next)
			next = at;
	}
	return next;
}

static void set_bit(uint8_t *vector, int64_t slot)
{
	vector[slot / 8] |= 1 << slot % 8;
}

static bool has_bit(const uint8_t *vector, int64_t slot)
{
	return vector[slot / 8] >> slot % 8 & 1;
}

/* A slot whose row is needed later than op4 @need; the latest, or any of them. */
static int64_t victim(struct gen_gcu *gen, const struct play *p, const uint8_t *vector,
		      int64_t need)
{
	int64_t best = -1, use = need;
	bool any = gcu_chance(gen, 20);

	for (int64_t slot = 0; slot < p->l->fmbufrown; slot++) {
		int64_t next;

		if (!p->slot[slot].valid || has_bit(vector, slot))
			continue;
		next = next_use(p, p->complete, slot);
		if (next > use || (any && next > need && gcu_chance(gen, 30))) {
			best = slot;
			use = next;
		}
	}
	return best;
}

/* Evictions that are not necessary, of rows that no need has been skipped for. */
static void evict_some(struct gen_gcu *gen, const struct play *p, uint8_t *vector)
{
	for (int64_t slot = 0; slot < 8 * golden_gcu_ceil(p->l->fmbufrown, 8); slot++) {
		bool in = slot < p->l->fmbufrown && p->slot[slot].valid;

		if (gcu_chance(gen, 30) && (!in || next_use(p, p->complete, slot) > p->e))
			set_bit(vector, slot);
	}
}

static void apply(struct play *p, const uint8_t *vector)
{
	for (int64_t slot = 0; slot < p->l->fmbufrown; slot++)
		if (has_bit(vector, slot))
			drop(p, slot);
}

/* What to evict after op4 p->complete, so that the generator reaches the next one's needs. */
static void decide(struct gen_gcu *gen, const struct play *p, bool lazy, uint8_t *vector)
{
	for (;;) {
		struct play then = *p;
		int64_t slot;

		apply(&then, vector);
		then.complete++;
		if (!walk(&then) || (lazy && then.e > then.complete))
			return;
		slot = victim(gen, p, vector, then.e);
		if (slot < 0)
			return;
		set_bit(vector, slot);
	}
}

static bool is_zero(const uint8_t *vector)
{
	for (unsigned int n = 0; n < GEN_GCU_VECTOR; n++)
		if (vector[n])
			return false;
	return true;
}

/** struct style - of tables. */
struct style {
	bool clear;	/* evict everything after the last op4 of an op6 */
	bool lazy;	/* only what has to be */
	bool random;	/* also what need not be */
};

/* Play an op6 and write its events; @at: OP4 of its first op4. */
static void play_op6(struct gen_gcu *gen, struct play *p, const struct style *style, int64_t at)
{
	for (walk(p); p->complete < op4_count(p); ) {
		uint8_t vector[GEN_GCU_VECTOR] = { 0 };
		bool last = p->complete + 1 == op4_count(p);

		if (style->random)
			evict_some(gen, p, vector);
		if (last && style->clear)
			memset(vector, 0xff, sizeof(vector));
		else if (!last)
			decide(gen, p, style->lazy, vector);
		if (!is_zero(vector))
			add_event(&gen->tables, at + p->complete, vector);
		apply(p, vector);
		p->complete++;
		walk(p);
	}
}

/* Tables that begin anew with each op6. */
static void repeat_op6(struct gen_gcu *gen, struct play *p, struct style *style)
{
	style->clear = golden_gcu_kernel_groups(p->l, gen->params.atomic_k) > 1 ||
		       gcu_chance(gen, 30);
	begin_op6(p, gen, 0);
	play_op6(gen, p, style, 0);
	add_entry(&gen->tables, CNNACC_GCU_RESTART, NULL);
}

/* Grouped: OP4 goes on, and the start of an op6 takes an entry. */
static void whole_layer(struct gen_gcu *gen, struct play *p, struct style *style)
{
	int64_t groups = golden_gcu_kernel_groups(p->l, gen->params.atomic_k), at = 0;

	style->clear = true;
	for (int64_t i = 0; i < groups; i++) {
		begin_op6(p, gen, i);
		play_op6(gen, p, style, at);
		at += op4_count(p);
		add_entry(&gen->tables, 0, NULL);
	}
}

/* Distinct (channel group, row) pairs of the layer's needs, at most. */
static int64_t all_rows(const struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	return golden_gcu_ceil(l->c, gen->params.atomic_c) * l->h;
}

/* Entries that evict nothing, then the restart. */
static void keep_all(struct gen_gcu *gen)
{
	int64_t events = gcu_chance(gen, 50) ? 0 : gcu_pick(gen, 1, 4), at = 0;

	for (; events; events--) {
		add_event(&gen->tables, at, NULL);
		at += gcu_pick(gen, 1, 5);
	}
	add_entry(&gen->tables, CNNACC_GCU_RESTART, NULL);
}

static void random_tables(struct gen_gcu *gen)
{
	uint8_t vector[GEN_GCU_VECTOR];
	int64_t events = gcu_pick(gen, 1, 20);

	for (; events; events--) {
		for (unsigned int n = 0; n < sizeof(vector); n++)
			vector[n] = gcu_chance(gen, 50) ? 0 : prng_next(&gen->prng);
		add_entry(&gen->tables, gcu_chance(gen, 5) ? 255 : gcu_pick(gen, 0, 3), vector);
	}
	add_entry(&gen->tables, CNNACC_GCU_RESTART, NULL);
}

static void pick_tables(struct gen_gcu *gen, struct golden_gcu_layer *l, bool stuck)
{
	struct style style = { .lazy = gcu_chance(gen, 30), .random = gcu_chance(gen, 30) };
	struct play p = { .l = l };

	gen->tables.trigger = 0;
	gen->tables.dense = gcu_chance(gen, 15) || gen->beyond;
	if (stuck)
		random_tables(gen);
	else if (all_rows(gen, l) <= l->fmbufrown && !gen->beyond && gcu_chance(gen, 50))
		keep_all(gen);
	else if (l->group_n == 1)
		repeat_op6(gen, &p, &style);
	else
		whole_layer(gen, &p, &style);
	l->entries = gen->tables.count;
}

/* ------------------------------------------------------------------- both */

/* Slots that an op4 needs at the same time. */
static int64_t least_rows(const struct golden_gcu_layer *l)
{
	int64_t least = 1;

	for (int64_t h = 0; h < l->ofmh; h++) {
		int64_t rows = 0;

		for (int64_t r = 0; r < l->r; r++)
			rows += golden_gcu_tap_row(l, h, r) >= 0;
		least = rows > least ? rows : least;
	}
	return least;
}

static int64_t most_rows(const struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	int64_t most = l->fmbufbankn * 512 / l->fmbufcoln;

	return most < gen->params.fmbuf_rows ? most : gen->params.fmbuf_rows;
}

void gen_gcu_rows(struct gen_gcu *gen, struct golden_gcu_layer *l, bool stuck)
{
	int64_t most = most_rows(gen, l), least, near;

	if (l->table && least_rows(l) > most)
		l->table = false;
	least = l->table && !stuck ? least_rows(l) : 1;
	near = least + gcu_pick(gen, 0, 6) < most ? least + gcu_pick(gen, 0, 6) : most;
	near = near < most ? near : most;
	l->fmbufrown = gcu_chance(gen, 60) ? near : gcu_pick(gen, least, most);
	if (gcu_chance(gen, 10) || (gen->many_op4 && gcu_chance(gen, 60)))
		l->fmbufrown = most;
	l->threshold = l->entries = gen->tables.count = 0;
	if (l->table)
		pick_tables(gen, l, stuck);
	/* Tables that are too long. */
	if (gen->tables.count == GEN_GCU_ENTRIES)
		l->table = false;
	if (!l->table) {
		l->entries = 0;
		pick_fifo(gen, l, stuck);
	}
}
