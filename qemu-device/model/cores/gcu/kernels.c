// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The kernel area: resident and swap slots; and the linear table of a kernel group. */
#include "gcu.h"
#include "gcu_mutant.h"

#define FETCH_NS	500
#define SURFACE_NS	8

static uint64_t group_bytes(const struct gcu *g)
{
	const struct gcu_layer *l = &g->layer;

	return (uint64_t)l->r * l->s * g->group.kn * g->atomic_c * l->esz;
}

/* The weights of the channel group at position @cg of the kernel group. */
static struct gcu_part weights_of(const struct gcu *g, uint32_t cg)
{
	uint64_t bytes = group_bytes(g);

	return (struct gcu_part){
		.va = g->s->weight_va + cg * bytes, .columns = 1, .bytes = (uint32_t)bytes,
	};
}

static enum gcu_outcome fetch(struct gcu *g, uint32_t cg, uint32_t slot, struct gcu_run *run)
{
	struct gcu_part part = weights_of(g, cg);
	uint64_t lines = gcu_lines(&part), end = gcu_end(g, g->s->w, lines);

	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	if (gcu_move(run, &part, g->buffer, CNNACC_ACCESS_READ))
		return gcu_refused(run);
	gcu_store_kernels(g, slot, g->buffer);
	gcu_operands_drop_kernels(g, slot);
	g->s->w = end;
	gcu_count_read(g, lines, part.bytes);
	g->s->block.weight_bytes += part.bytes;
	run->budget -= FETCH_NS + (int64_t)(part.bytes / g->word * SURFACE_NS);
	return GCU_ENDED;
}

enum gcu_outcome gcu_load_linear(struct gcu *g, struct gcu_run *run)
{
	struct gcu_part part = {
		.va = g->layer.b.linear_va +
		      (uint64_t)g->group.k0 * sizeof(struct cnnacc_gcu_linear),
		.columns = 1, .bytes = g->group.kn * sizeof(struct cnnacc_gcu_linear),
	};
	uint64_t lines = gcu_lines(&part), end = gcu_end(g, g->s->w, lines);

	if (cm_port_must_wait(run->port, end))
		return GCU_WAIT;
	if (gcu_move(run, &part, g->linear, CNNACC_ACCESS_READ))
		return gcu_refused(run);
	g->s->w = end;
	gcu_count_read(g, lines, part.bytes);
	return GCU_ENDED;
}

/* Accept the next swap request; an invalid swap slot is there for it. */
static enum gcu_outcome fetch_swap(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	uint32_t swapped = g->group.count - g->group.resident;
	uint32_t cg = g->group.resident + (uint32_t)(s->swap_next % swapped);
	uint32_t n = MUTANT(SWAP) ? !(s->swap_valid & 2) : s->swap_valid & 1;
	enum gcu_outcome outcome = fetch(g, cg, g->group.resident + n, run);

	if (outcome != GCU_ENDED)
		return outcome;
	if (s->swap_next >= swapped)
		s->block.weight_refills += group_bytes(g);
	s->swap_next++;
	s->swap_ready[n] = s->w + GCU_LATENCY;
	s->swap[n] = g->group.first + cg;
	s->swap_valid |= 1u << n;
	return GCU_ENDED;
}

enum gcu_outcome gcu_load_weights(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;
	enum gcu_outcome outcome = GCU_ENDED;

	while (s->resident < g->group.resident) {
		if (run->budget <= 0)
			return GCU_GO_ON;
		if (!s->resident)
			s->resident_ready = gcu_later(s->w, s->t) + GCU_LATENCY;
		outcome = fetch(g, s->resident, s->resident, run);
		if (outcome != GCU_ENDED)
			return outcome;
		s->resident++;
	}
	while (s->swap_next < g->group.swaps && s->swap_valid != 3 && outcome == GCU_ENDED)
		outcome = fetch_swap(g, run);
	return outcome;
}

static uint32_t swap_of(const struct gcu *g, uint32_t cg)
{
	const struct gcu_state *s = g->s;

	return !(s->swap_valid & 1 && s->swap[0] == g->group.first + cg);
}

/*
 * Resident groups become ready one after the other, and the array uses them in this order: only in
 * the first output row can it have to wait for one.
 */
uint32_t gcu_kernel_slot(const struct gcu *g, uint32_t cg, uint64_t *ready)
{
	uint32_t n;

	if (cg < g->group.resident) {
		*ready = g->s->h ? 0 : g->s->resident_ready;
		return cg;
	}
	n = swap_of(g, cg);
	*ready = g->s->swap_ready[n];
	return g->group.resident + n;
}

/* Advance s->resident_ready to that of the group at @cg. */
void gcu_resident_next(struct gcu *g, uint32_t cg)
{
	struct gcu_part part = weights_of(g, cg);

	if (!g->s->h && cg < g->group.resident)
		g->s->resident_ready += g->line_cycles * gcu_lines(&part);
}

/* The op4 has used a swap slot: make it invalid and accept the next request. */
enum gcu_outcome gcu_release_swap(struct gcu *g, struct gcu_run *run)
{
	struct gcu_state *s = g->s;

	if (s->cg < g->group.resident)
		return GCU_ENDED;
	if (s->swap_valid == 3 || s->swap_next == g->group.swaps) {
		uint32_t slot = g->group.resident + swap_of(g, s->cg);

		if (!gcu_products_overwrite(g, gcu_kernel_pending(g, slot), run))
			return GCU_GO_ON;
		s->swap_valid &= ~(1u << swap_of(g, s->cg));
	}
	return s->swap_next < g->group.swaps ? fetch_swap(g, run) : GCU_ENDED;
}
