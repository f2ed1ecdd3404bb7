// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* How a block ends: complete, refused, or at the cycle limit. */
#include <string.h>

#include "gcu.h"

enum gcu_outcome gcu_fail(struct gcu_run *run, uint32_t status_class, uint32_t code,
			  uint32_t detail)
{
	*run->fault = (struct cm_core_fault){
		.status_class = status_class, .code = code, .detail = detail,
	};
	return GCU_FAILED;
}

enum gcu_outcome gcu_refused(struct gcu_run *run)
{
	run->fault->code = CNNACC_GCU_E_DMA;
	return GCU_FAILED;
}

void gcu_count_block(struct gcu *g)
{
	struct gcu_state *s = g->s;

	gcu_counts_add(&s->job, &s->block);
	memset(&s->block, 0, sizeof(s->block));
}

enum gcu_outcome gcu_time_limit(struct gcu *g, uint64_t cycles, struct gcu_run *run)
{
	gcu_count_block(g);
	g->s->time = cycles;
	return gcu_fail(run, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
}

static uint32_t blocks(const struct gcu *g)
{
	return g->s->program_len / CNNACC_GCU_BLOCK_SIZE;
}

enum gcu_outcome gcu_complete(struct gcu *g, uint64_t end, struct gcu_run *run)
{
	struct gcu_state *s = g->s;

	s->block.n.instructions = 1;
	if (end > s->cycle_limit)
		return gcu_time_limit(g, end, run);
	gcu_count_block(g);
	s->time = end;
	if (s->pc + 1 == blocks(g))
		return GCU_ENDED;
	s->pc++;
	s->phase = GCU_BLOCK;
	return GCU_GO_ON;
}
