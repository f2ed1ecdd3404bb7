// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Convolutions of one input channel and few output channels, as a depthwise
 * layer has thousands of, are collected and done before something else touches
 * the banks: each is too little work to share, all together are not.  Threads
 * share them out by the planes that they write; those of a plane are done in
 * their order.
 */
#include "ccp.h"
#include "simd.h"
#include "workers.h"

/* Floats from one group of planes to the next; what an EXEC writes is within one. */
static int64_t group(const struct ccp_conv *p)
{
	return (int64_t)(p->co_cnt * p->m.out_pitch);
}

static int64_t first_plane(const struct ccp_conv *p, const struct ccp_bases *base)
{
	return base->out + (int64_t)(p->co_start * p->m.out_pitch);
}

static void run_part(void *opaque, unsigned int part, unsigned int seat)
{
	const struct ccp *c = opaque;
	const struct ccp_batch *b = &c->batch;
	int64_t span = b->high - b->low + 1;

	(void)seat;
	for (uint32_t i = 0; i < b->count; i++) {
		const struct ccp_bases *base = &b->execs[i];
		const struct ccp_conv *p = &b->plan[base->plan];

		if ((first_plane(p, base) - b->low) * b->parts / span == part)
			c->simd->thin(c, p, base, 0, CCP_TO_MAP);
	}
}

void ccp_batch_finish(struct ccp *c)
{
	struct ccp_batch *b = &c->batch;
	int64_t parts = b->ns / CNN_SHARE_NS;

	if (!b->count)
		return;
	b->parts = parts < 1 ? 1 : parts < c->means.threads ? (uint32_t)parts : c->means.threads;
	cnn_workers_run(c->means.workers, run_part, c, b->parts);
	/* An EXEC leaves nothing of the LOBs of the one before, if that is of its plan. */
	for (uint32_t i = 0; i < b->count; i++)
		if (i + 1 == b->count || b->execs[i + 1].plan != b->execs[i].plan)
			c->simd->thin(c, &b->plan[b->execs[i].plan], &b->execs[i], 0, CCP_TO_LOB);
	b->count = 0;
	b->plans = 0;
	b->ns = 0;
}

/* Are the planes that the EXEC writes those of another of the batch, or away from them? */
static bool fits(const struct ccp_batch *b, const struct ccp_conv *p)
{
	const struct ccp_conv *first = &b->plan[0];

	return b->count < CCP_BATCH && b->plans + !b->planned <= CCP_BATCH_PLANS &&
	       p->co_cnt == first->co_cnt && p->m.out_pitch == first->m.out_pitch &&
	       (first_plane(p, &p->base) - b->low) % group(p) == 0;
}

void ccp_batch_add(struct ccp *c, int64_t ns)
{
	const struct ccp_conv *p = &c->plan.conv;
	struct ccp_batch *b = &c->batch;
	int64_t plane = first_plane(p, &p->base);

	if (b->count && !fits(b, p))
		ccp_batch_finish(c);
	if (!b->count) {
		b->low = plane;
		b->high = plane;
	}
	if (!b->plans || !b->planned)
		b->plan[b->plans++] = *p;
	b->planned = true;
	b->low = plane < b->low ? plane : b->low;
	b->high = plane > b->high ? plane : b->high;
	b->execs[b->count] = p->base;
	b->execs[b->count++].plan = (uint16_t)(b->plans - 1);
	b->ns += ns;
}
