// SPDX-License-Identifier: MIT
/* The kernel area; section "Kernel area". */
#include <string.h>

#include "state.h"

/* Slots that are resident in this kernel group; behind them there may be two swap slots. */
static int64_t resident_slots(const struct golden_gcu *gcu)
{
	int64_t kbufgrpn = gcu->run.l->kbufgrpn, cgrpn = gcu->run.range.cgrpn;

	return kbufgrpn >= cgrpn ? cgrpn : kbufgrpn - 2;
}

/* Channel groups that share the swap slots. */
static int64_t swapped_groups(const struct golden_gcu *gcu)
{
	return gcu->run.range.cgrpn - resident_slots(gcu);
}

static int64_t group_bytes(const struct golden_gcu *gcu, int64_t kn)
{
	const struct golden_gcu_layer *l = gcu->run.l;

	return l->r * l->s * kn * gcu->params.atomic_c * l->esz;
}

static uint64_t group_va(const struct golden_gcu *gcu, int64_t cg)
{
	const struct golden_gcu_range *range = &gcu->run.range;
	uint64_t va = gcu->run.l->weight_va;

	for (int64_t i = 0; i < gcu->run.i; i++) {
		struct golden_gcu_range g = golden_gcu_range(gcu->run.l, gcu->params.atomic_c,
							     gcu->params.atomic_k, i);

		va += g.cgrpn * group_bytes(gcu, g.kn);
	}
	return va + (cg - range->first) * group_bytes(gcu, range->kn);
}

static uint8_t *kernel_surface(struct golden_gcu *gcu, struct golden_gcu_point at)
{
	return golden_gcu_cbuf_at(gcu, CNNACC_GCU_PORT_KERNEL,
				  golden_gcu_kernel_byte(gcu->run.l, &gcu->params, at),
				  gcu->run.l->fmbufbankn);
}

static bool read_surfaces(struct golden_gcu *gcu, int64_t cg, int64_t slot)
{
	const struct golden_gcu_layer *l = gcu->run.l;
	int64_t bytes = gcu->params.atomic_c * l->esz;
	uint64_t va = group_va(gcu, cg);

	for (int64_t r = 0; r < l->r; r++)
		for (int64_t s = 0; s < l->s; s++)
			for (int64_t k = 0; k < gcu->run.range.kn; k++, va += bytes) {
				struct golden_gcu_point at = { slot, r, s, k };

				if (!golden_gcu_read(gcu, GOLDEN_GCU_WEIGHTS, va,
						     kernel_surface(gcu, at), bytes))
					return false;
			}
	return true;
}

/* Read channel group @cg into @slot. */
static bool fill(struct golden_gcu *gcu, int64_t cg, int64_t slot)
{
	int64_t bytes = group_bytes(gcu, gcu->run.range.kn);

	if (!read_surfaces(gcu, cg, slot))
		return false;
	gcu->run.weight_ready[slot] = golden_gcu_use(gcu, &gcu->run.time.w,
						     golden_gcu_lines(group_va(gcu, cg), bytes));
	gcu->block.window.weight_bytes += bytes;
	golden_gcu_count_read(gcu, bytes);
	return true;
}

static bool fill_resident(struct golden_gcu *gcu)
{
	for (int64_t n = 0; n < resident_slots(gcu); n++) {
		if (!fill(gcu, gcu->run.range.first + n, n))
			return false;
		gcu->regs.resident++;
	}
	return true;
}

/* Accept the next swap request, into swap slot @n, if there is one. */
static bool accept_request(struct golden_gcu *gcu, unsigned int n)
{
	int64_t groups = swapped_groups(gcu), request = gcu->run.request, cg;

	if (request >= groups * gcu->run.l->ofmh)
		return true;
	cg = gcu->run.range.first + resident_slots(gcu) + request % groups;
	if (!fill(gcu, cg, gcu->run.l->kbufgrpn - 2 + n))
		return false;
	gcu->run.request++;
	gcu->regs.swap[n] = cg;
	gcu->regs.swap_valid |= 1u << n;
	gcu->coverage.swapped++;
	if (request >= groups) {
		gcu->block.window.weight_refills += group_bytes(gcu, gcu->run.range.kn);
		gcu->coverage.refilled_weights++;
	}
	return true;
}

void golden_gcu_weights_invalid(struct golden_gcu *gcu)
{
	gcu->regs.resident = 0;
	gcu->regs.resident_first = gcu->run.range.first;
	gcu->regs.swap_valid = 0;
	memset(gcu->regs.swap, 0, sizeof(gcu->regs.swap));
	gcu->run.request = 0;
}

bool golden_gcu_weights_begin_op6(struct golden_gcu *gcu)
{
	if (!fill_resident(gcu))
		return false;
	if (!swapped_groups(gcu)) {
		gcu->coverage.resident_all++;
		return true;
	}
	return accept_request(gcu, 0) && accept_request(gcu, 1);
}

/* The swap slot of the run's channel group; -1: it is resident. */
static int swap_slot(const struct golden_gcu *gcu)
{
	if (gcu->run.cg - gcu->run.range.first < resident_slots(gcu))
		return -1;
	return (gcu->regs.swap_valid & 1) && gcu->regs.swap[0] == gcu->run.cg ? 0 : 1;
}

int64_t golden_gcu_weights_slot(const struct golden_gcu *gcu)
{
	int swap = swap_slot(gcu);

	return swap < 0 ? gcu->run.cg - gcu->run.range.first : gcu->run.l->kbufgrpn - 2 + swap;
}

bool golden_gcu_weights_after_op4(struct golden_gcu *gcu)
{
	int swap = swap_slot(gcu);

	if (swap < 0)
		return true;
	gcu->regs.swap_valid &= ~(1u << swap);
	return accept_request(gcu, swap);
}
