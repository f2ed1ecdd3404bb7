// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Stop the threads that precompute sums of windows, and discard the sums. */
#include "hwpe.h"
#include "workers.h"

void hwpe_pause(struct cm_seq *seq)
{
	struct hwpe_lookahead *a = &hwpe_of(seq)->lookahead;
	uint32_t claimed;

	if (!a->running)
		return;
	claimed = atomic_exchange(&a->claimed, HWPE_BLOCKS);
	cm_workers_stop(hwpe_of(seq)->resources.workers);
	a->running = false;
	if (claimed < a->count)
		a->count = claimed;
}

void hwpe_drop_lookahead(struct hwpe *h)
{
	hwpe_pause(&h->seq);
	h->lookahead.block = h->lookahead.count;
}
