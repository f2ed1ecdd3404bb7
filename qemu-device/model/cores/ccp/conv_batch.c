// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Convolutions of one input channel and few output channels, as a depthwise
 * layer has thousands of, run in batches: EXECs that differ in nothing but
 * their bases and write places that do not overlap may be done at any time
 * before something else touches the banks, and by any thread.  Of their LOBs
 * only the last EXEC's are left.
 */
#include "ccp.h"
#include "simd.h"
#include "workers.h"

#define PART	16	/* EXECs that a thread takes at a time */

static void run_part(void *opaque, unsigned int part, unsigned int seat)
{
	const struct ccp *c = opaque;
	const struct ccp_batch *b = &c->batch;
	uint32_t end = (part + 1) * PART < b->busy ? (part + 1) * PART : b->busy;

	(void)seat;
	for (uint32_t i = part * PART; i < end; i++)
		c->simd->thin(c, &b->execs[!b->side][i], 0, false);
}

static void wait(struct ccp *c)
{
	if (c->batch.started)
		cnn_workers_finish(c->means.workers);
	c->batch.started = false;
}

/* Hands over what has been collected, and collects on the other side. */
static void hand_over(struct ccp *c)
{
	struct ccp_batch *b = &c->batch;
	unsigned int parts;

	wait(c);
	b->busy = b->count;
	b->count = 0;
	b->side = !b->side;
	parts = (b->busy + PART - 1) / PART;
	b->started = cnn_workers_start(c->means.workers, run_part, c, parts);
	for (unsigned int i = 0; i < parts && !b->started; i++)
		run_part(c, i, 0);
}

void ccp_batch_finish(struct ccp *c)
{
	struct ccp_batch *b = &c->batch;

	if (!b->open)
		return;
	if (b->count > 1)
		hand_over(c);
	wait(c);
	c->simd->thin(c, &b->last, 0, true);
	b->count = 0;
	b->open = false;
}

/* Floats from the first to behind the last that the EXEC writes. */
static int64_t extent(const struct ccp_conv *p)
{
	return (int64_t)((p->co_cnt - 1) * p->m.out_pitch) +
	       (int64_t)(p->rows - 1) * p->m.ow + p->cols;
}

void ccp_batch_add(struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	struct ccp_batch *b = &c->batch;

	if (b->open && p->base.out < b->last.out + extent(p))
		ccp_batch_finish(c);
	b->open = true;
	b->last = p->base;
	b->execs[b->side][b->count++] = p->base;
	if (b->count == CCP_BATCH)
		hand_over(c);
}
