// SPDX-License-Identifier: MIT
/* Row slots and their replacement; section "Row slots". */
#include <string.h>

#include "state.h"

/* Channels of channel group @cg that exist. */
static int64_t real_channels(const struct golden_gcu *gcu, int64_t cg)
{
	int64_t rest = gcu->run.l->c - cg * gcu->params.atomic_c;

	return rest < gcu->params.atomic_c ? rest : gcu->params.atomic_c;
}

/* ------------------------------------------------------------------- needs */

static int64_t need_h(const struct golden_gcu *gcu)
{
	return gcu->run.next.e / gcu->run.range.cgrpn;
}

static int64_t need_cg(const struct golden_gcu *gcu)
{
	return gcu->run.range.first + gcu->run.next.e % gcu->run.range.cgrpn;
}

static int64_t need_row(const struct golden_gcu *gcu)
{
	return golden_gcu_tap_row(gcu->run.l, need_h(gcu), gcu->run.next.r);
}

static bool has_need(const struct golden_gcu *gcu)
{
	return gcu->run.next.e < gcu->run.l->ofmh * gcu->run.range.cgrpn;
}

static void next_need(struct golden_gcu *gcu)
{
	struct golden_gcu_need *next = &gcu->run.next;

	next->r++;
	if (next->r == gcu->run.l->r) {
		next->r = 0;
		next->e++;
	}
}

/* Has an earlier kernel group this channel group? */
static bool in_earlier_group(const struct golden_gcu *gcu, int64_t cg)
{
	for (int64_t i = 0; i < gcu->run.i; i++) {
		struct golden_gcu_range g = golden_gcu_range(gcu->run.l, gcu->params.atomic_c,
							     gcu->params.atomic_k, i);

		if (cg >= g.first && cg <= g.last)
			return true;
	}
	return false;
}

/* Does an output row before @h need the row? */
static bool needed_before(const struct golden_gcu_layer *l, int64_t h, int64_t row)
{
	int64_t ly = l->top + row * (l->inner_tb + 1);

	for (int64_t r = 0; r < l->r; r++) {
		int64_t rest = ly - r * (l->dil_v + 1);

		if (rest >= 0 && rest % l->vstride == 0 && rest / l->vstride < h)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- reading */

static bool read_surfaces(struct golden_gcu *gcu, int64_t cg, int64_t row, int64_t slot)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	int64_t channels = real_channels(gcu, cg), atomic_c = gcu->params.atomic_c;
	uint8_t surface[2 * CNNACC_GCU_ATOMIC_MAX] = { 0 };

	for (int64_t x = 0; x < l->w; x++) {
		uint64_t va = l->ifmap.va + cg * l->ifmap.group + row * l->ifmap.row +
			      x * l->ifmap.column;

		if (!golden_gcu_read(gcu, GOLDEN_GCU_ROW, va, surface, channels * l->esz))
			return false;
		memcpy(golden_gcu_cbuf_at(gcu, CNNACC_GCU_PORT_FMAP,
					  golden_gcu_slot_byte(l, atomic_c, slot, x),
					  l->fmbufbankn), surface, atomic_c * l->esz);
	}
	return true;
}

static int64_t row_lines(const struct golden_gcu *gcu, int64_t cg, int64_t row)
{
	const struct golden_gcu_layer *l = gcu->run.l;

	return golden_gcu_part_lines(l->ifmap.va + cg * l->ifmap.group + row * l->ifmap.row, l->w,
				     real_channels(gcu, cg) * l->esz, l->ifmap.column);
}

static void count_row(struct golden_gcu *gcu, int64_t cg, int64_t row)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	struct golden_gcu_counters *c = &gcu->block.window;
	int64_t bytes = l->w * real_channels(gcu, cg) * l->esz;

	c->row_fills++;
	c->row_bytes += bytes;
	golden_gcu_count_read(gcu, bytes);
	gcu->coverage.stride[0][l->ifmap.column > 64]++;
	if (in_earlier_group(gcu, cg) || needed_before(l, need_h(gcu), row)) {
		c->row_refills += bytes;
		gcu->coverage.refilled_row++;
	}
}

/* Read the row of the current need into @slot. */
static bool fill(struct golden_gcu *gcu, int64_t slot)
{
	int64_t cg = need_cg(gcu), row = need_row(gcu);
	uint64_t ready;

	if (!read_surfaces(gcu, cg, row, slot))
		return false;
	ready = golden_gcu_use(gcu, &gcu->run.time.f, row_lines(gcu, cg, row));
	count_row(gcu, cg, row);
	gcu->slot[slot] = (struct golden_gcu_slot){ true, cg, row, ready };
	gcu->regs.rows_valid++;
	if (gcu->fills < GOLDEN_GCU_FILLS)
		gcu->fill[gcu->fills++] = (struct golden_gcu_fill){ cg, row, slot, ready };
	return true;
}

/* ----------------------------------------------------------------- search */

static bool has_tag(const struct golden_gcu_slot *slot, int64_t cg, int64_t row)
{
	return slot->valid && slot->cg == cg && slot->row == row;
}

int64_t golden_gcu_search(const struct golden_gcu *gcu, int64_t cg, int64_t row)
{
	for (int64_t n = 0; n < gcu->layer.fmbufrown; n++) {
		int64_t slot = (gcu->regs.fifo_oldest + n) % gcu->layer.fmbufrown;

		if (has_tag(&gcu->slot[slot], cg, row))
			return slot;
	}
	return -1;
}

int64_t golden_gcu_slot_for(struct golden_gcu *gcu, int64_t row, int64_t r)
{
	const struct golden_gcu_need *next = &gcu->run.next;
	int64_t slot = golden_gcu_search(gcu, gcu->run.cg, row), e = gcu->run.complete;
	bool passed = next->e > e || (next->e == e && next->r > r);

	if (slot < 0)
		golden_gcu_fail(gcu, CNNACC_STATUS_DEADLOCK, CNNACC_GCU_E_DEADLOCK,
				passed ? CNNACC_GCU_DEADLOCK_EVICTED : CNNACC_GCU_DEADLOCK_FULL);
	return slot;
}

/* ------------------------------------------------------------------- walk */

/* Slot for the current need; -1: none. */
static int64_t slot_to_fill(struct golden_gcu *gcu)
{
	uint32_t *write = &gcu->regs.fifo_write;
	int64_t slot = *write;

	if (!gcu->run.l->table) {
		if (gcu->slot[slot].valid)
			return -1;
		*write = (*write + 1) % gcu->run.l->fmbufrown;
		return slot;
	}
	for (slot = 0; slot < gcu->run.l->fmbufrown; slot++)
		if (!gcu->slot[slot].valid)
			return slot;
	return -1;
}

bool golden_gcu_walk(struct golden_gcu *gcu)
{
	bool table = gcu->run.l->table;

	for (; has_need(gcu); next_need(gcu)) {
		int64_t slot, row = need_row(gcu);

		if (row < 0)
			continue;
		if (gcu->run.next.e > gcu->run.complete + 256) {
			gcu->coverage.ahead++;
			return true;
		}
		if (table && golden_gcu_search(gcu, need_cg(gcu), row) >= 0) {
			gcu->coverage.hit++;
			continue;
		}
		slot = slot_to_fill(gcu);
		if (slot < 0) {
			gcu->coverage.full[table]++;
			return true;
		}
		if (!fill(gcu, slot))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------- replacement */

static void evict(struct golden_gcu *gcu, int64_t slot)
{
	gcu->slot[slot].valid = false;
	gcu->regs.rows_valid--;
	gcu->block.window.evictions++;
	gcu->coverage.evicted[gcu->run.l->table]++;
}

bool golden_gcu_rows_after_op3(struct golden_gcu *gcu)
{
	uint32_t *oldest = &gcu->regs.fifo_oldest;
	unsigned int evicted = 0;

	if (gcu->run.l->table)
		return true;
	for (; gcu->regs.rows_valid > gcu->run.l->threshold; evicted++) {
		evict(gcu, *oldest);
		*oldest = (*oldest + 1) % gcu->run.l->fmbufrown;
	}
	gcu->coverage.evicted_many += evicted > 1;
	return golden_gcu_walk(gcu);
}

static int64_t vector_bytes(const struct golden_gcu_layer *l)
{
	return golden_gcu_ceil(l->fmbufrown, 8);
}

static bool read_entry(struct golden_gcu *gcu, uint8_t *increment, uint8_t *vector)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	uint64_t entry = gcu->regs.entry, bytes = vector_bytes(l);

	if (entry >= (uint64_t)l->entries)
		return golden_gcu_fail(gcu, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_TABLE, entry);
	return golden_gcu_read(gcu, GOLDEN_GCU_INCREMENT, l->increment_va + entry, increment, 1) &&
	       golden_gcu_read(gcu, GOLDEN_GCU_VECTOR, l->vector_va + entry * bytes, vector,
			       bytes);
}

/* Time and counters of a load_next() that read @bytes bytes. */
static void count_entry(struct golden_gcu *gcu, int64_t bytes)
{
	struct golden_gcu_times *time = &gcu->run.time;
	int64_t clocks = golden_gcu_ceil(bytes, gcu->params.bus);

	time->w = (time->w > time->t ? time->w : time->t) + clocks;
	gcu->block.stats.dma_cycles += clocks;
	gcu->block.stats.cycles_serial += clocks;
	gcu->block.window.table_bytes += bytes;
	golden_gcu_count_read(gcu, bytes);
}

static bool load_next(struct golden_gcu *gcu)
{
	struct golden_gcu_regs *regs = &gcu->regs;
	uint8_t increment, vector[CNNACC_GCU_ROWS_MAX / 8] = { 0 };

	if (!read_entry(gcu, &increment, vector))
		return false;
	count_entry(gcu, 1 + vector_bytes(gcu->run.l));
	if (increment == 255) {
		gcu->coverage.restarted++;
		regs->trigger = 0;
		regs->entry = 0;
		memset(gcu->vector, 0, sizeof(vector));
		return true;
	}
	regs->trigger += increment;
	regs->entry++;
	memcpy(gcu->vector, vector, sizeof(vector));
	return true;
}

static void evict_vector(struct golden_gcu *gcu)
{
	const struct golden_gcu_layer *l = gcu->run.l;

	for (int64_t slot = 0; slot < 8 * vector_bytes(l); slot++) {
		if (!(gcu->vector[slot / 8] >> slot % 8 & 1))
			continue;
		if (slot >= l->fmbufrown)
			gcu->coverage.outside++;
		else if (!gcu->slot[slot].valid)
			gcu->coverage.in_vain++;
		else
			evict(gcu, slot);
	}
}

bool golden_gcu_rows_after_op4(struct golden_gcu *gcu)
{
	struct golden_gcu_regs *regs = &gcu->regs;

	if (gcu->run.l->table) {
		if (regs->op4 == regs->trigger) {
			evict_vector(gcu);
			if (!load_next(gcu))
				return false;
		}
		regs->op4++;
	}
	return golden_gcu_walk(gcu);
}

/* ---------------------------------------------------------------- begin, end */

void golden_gcu_rows_begin(struct golden_gcu *gcu)
{
	struct golden_gcu_regs *regs = &gcu->regs;

	for (unsigned int n = 0; n < CNNACC_GCU_ROWS_MAX; n++)
		gcu->slot[n].valid = false;
	regs->rows_valid = regs->fifo_write = regs->fifo_oldest = 0;
	regs->op4 = regs->trigger = regs->entry = 0;
	memset(gcu->vector, 0, sizeof(gcu->vector));
	gcu->fills = 0;
}

bool golden_gcu_rows_begin_op6(struct golden_gcu *gcu)
{
	gcu->run.next = (struct golden_gcu_need){ 0, 0 };
	gcu->coverage.continued += gcu->run.l->table && gcu->run.i && gcu->regs.entry;
	if (gcu->run.l->table && !load_next(gcu))
		return false;
	return golden_gcu_walk(gcu);
}

void golden_gcu_rows_after_op6(struct golden_gcu *gcu)
{
	if (gcu->run.l->table) {
		if (gcu->run.l->group_n == 1)
			gcu->regs.op4 = 0;
		else
			gcu->coverage.kept_op4++;
		return;
	}
	for (int64_t slot = 0; slot < gcu->run.l->fmbufrown; slot++)
		if (gcu->slot[slot].valid)
			evict(gcu, slot);
	gcu->regs.fifo_write = 0;
	gcu->regs.fifo_oldest = 0;
}
