// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Convolutions of one input channel and few output channels, as a depthwise
 * layer has thousands of, are collected and done before something else touches
 * the banks: each is too little work to share, all together are not.  A loop
 * over channels is a run.  Threads share them out by the planes that they
 * write; those of a plane are done in their order.
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
	int64_t span = b->end - b->low;
	int64_t low = b->low + span * part / b->parts;
	int64_t high = b->low + span * (part + 1) / b->parts;

	(void)seat;
	for (uint32_t i = 0; i < b->runs; i++) {
		const struct ccp_run *r = &b->run[i];
		int64_t begin = low > r->group ? low - r->group : 0;
		int64_t end = high < r->group + r->count ? high - r->group : r->count;

		if (begin < end)
			c->simd->thin(c, &b->plan[r->plan], r, (uint32_t)begin, (uint32_t)end, 0,
				      CCP_TO_MAP);
	}
}

/* Which groups of planes the batch writes, and among how many threads they are shared out. */
static void share_out(struct ccp *c)
{
	struct ccp_batch *b = &c->batch;
	int64_t ns = 0, parts;

	b->low = b->run[0].group;
	b->end = b->low;
	for (uint32_t i = 0; i < b->runs; i++) {
		const struct ccp_run *r = &b->run[i];

		b->low = r->group < b->low ? r->group : b->low;
		b->end = r->group + r->count > b->end ? r->group + r->count : b->end;
		ns += r->count * r->ns;
	}
	parts = ns / CM_MIN_PART_NS < c->means.threads ? ns / CM_MIN_PART_NS : c->means.threads;
	b->parts = parts > 1 ? (uint32_t)parts : 1;
}

void ccp_batch_finish(struct ccp *c)
{
	struct ccp_batch *b = &c->batch;

	if (!b->runs)
		return;
	share_out(c);
	cm_workers_run(c->means.workers, run_part, c, b->parts);
	/* An EXEC leaves nothing of the LOBs of the one before, if that is of its plan. */
	for (uint32_t i = 0; i < b->runs; i++) {
		const struct ccp_run *r = &b->run[i];

		if (i + 1 == b->runs || r[1].plan != r->plan)
			c->simd->thin(c, &b->plan[r->plan], r, r->count - 1, r->count, 0,
				      CCP_TO_LOB);
	}
	b->runs = 0;
	b->plans = 0;
}

/* Is there room, and are the planes that the EXEC writes those of others, or away from them? */
static bool fits(const struct ccp_batch *b, const struct ccp_conv *p)
{
	const struct ccp_conv *first = &b->plan[0];

	return b->runs < CCP_BATCH_RUNS && b->plans + !b->planned <= CCP_BATCH_PLANS &&
	       p->co_cnt == first->co_cnt && p->m.out_pitch == first->m.out_pitch &&
	       (first_plane(p, &p->base) - b->origin) % group(p) == 0;
}

/* Makes the EXEC the next of the last run, if it is. */
static bool extends(struct ccp_batch *b, const struct ccp_conv *p)
{
	struct ccp_run *r = &b->run[b->runs - 1];
	const struct ccp_bases *base = &p->base;
	int64_t n = r->count;

	if (!b->planned || base->weight_pitch != r->first.weight_pitch ||
	    base->out != r->first.out + n * r->out)
		return false;
	if (n == 1) {
		r->in = (int64_t)base->in - r->first.in;
		r->weight = (int64_t)base->weight - r->first.weight;
		r->bias = (int64_t)base->bias - r->first.bias;
	} else if (base->in != r->first.in + n * r->in ||
		   base->weight != r->first.weight + n * r->weight ||
		   base->bias != r->first.bias + n * r->bias) {
		return false;
	}
	r->count++;
	return true;
}

static void start_run(struct ccp_batch *b, const struct ccp_conv *p, int64_t ns)
{
	int64_t plane = first_plane(p, &p->base);

	if (!b->runs)
		b->origin = plane;
	if (!b->plans || !b->planned)
		b->plan[b->plans++] = *p;
	b->planned = true;
	b->run[b->runs++] = (struct ccp_run){
		.plan = b->plans - 1,
		.count = 1,
		.ns = ns,
		.group = (plane - b->origin) / group(p),
		.first = p->base,
		.out = group(p),
	};
}

int64_t ccp_batch_add(struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	struct ccp_batch *b = &c->batch;

	if (!b->runs || !extends(b, p)) {
		if (b->runs && !fits(b, p))
			ccp_batch_finish(c);
		start_run(b, p, ccp_conv_ns(c, 1, p->co_cnt));
	}
	return b->run[b->runs - 1].ns;
}
