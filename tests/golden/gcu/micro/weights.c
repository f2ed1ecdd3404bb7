// SPDX-License-Identifier: MIT
/* The kernel area: what stays, and two slots that are swapped. */
#include "micro.h"

static unsigned int channel_groups(const struct micro *m)
{
	return m->cg_last - m->cg_first + 1;
}

static unsigned int resident(const struct micro *m)
{
	return m->l.kernel_slots >= channel_groups(m) ? channel_groups(m) : m->l.kernel_slots - 2;
}

static uint64_t group_bytes(const struct micro *m)
{
	return (uint64_t)m->l.r * m->l.s * m->kn * m->build.atomic_c * m->l.bytes;
}

static void request_group(struct micro *m, unsigned int cg, unsigned int slot)
{
	uint64_t va = m->weight_va + (cg - m->cg_first) * group_bytes(m);

	micro_request(m, &m->weights, micro_line_clocks(m) * micro_lines(va, group_bytes(m)),
		      &m->kernel_ready[slot]);
}

/* The groups behind the resident ones come in turn, once for every ofmap row. */
static void request_swap(struct micro *m, unsigned int n)
{
	unsigned int turns = channel_groups(m) - resident(m);

	if (m->swap_requests == (uint64_t)turns * m->l.ofmh)
		return;
	m->swap_cg[n] = m->cg_first + resident(m) + m->swap_requests % turns;
	m->swap_taken[n] = true;
	m->swap_requests++;
	request_group(m, m->swap_cg[n], m->l.kernel_slots - 2 + n);
}

void micro_weights_begin(struct micro *m)
{
	m->swap_requests = 0;
	m->swap_taken[0] = m->swap_taken[1] = false;
	if (m->l.linear)
		micro_request(m, &m->weights, micro_line_clocks(m) *
			      micro_lines(m->l.linear_va + 16 * (uint64_t)m->k0, 16 * m->kn),
			      NULL);
	for (unsigned int n = 0; n < resident(m); n++)
		request_group(m, m->cg_first + n, n);
	if (resident(m) == channel_groups(m))
		return;
	request_swap(m, 0);
	request_swap(m, 1);
}

static int swap_of(const struct micro *m, unsigned int cg)
{
	if (cg - m->cg_first < resident(m))
		return -1;
	return m->swap_taken[0] && m->swap_cg[0] == cg ? 0 : 1;
}

uint64_t micro_weights_ready(const struct micro *m, unsigned int cg)
{
	int swap = swap_of(m, cg);

	return m->kernel_ready[swap < 0 ? cg - m->cg_first : m->l.kernel_slots - 2 + swap];
}

void micro_weights_used(struct micro *m, unsigned int cg)
{
	int swap = swap_of(m, cg);

	if (swap < 0)
		return;
	m->swap_taken[swap] = false;
	request_swap(m, swap);
}
