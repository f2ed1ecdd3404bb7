// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A depthwise layer has thousands of convolutions with one input channel and few output channels.
 * Each is too small to divide among threads, so they are deferred in a batch, which is computed
 * before anything else accesses the banks.  A loop over channels forms a run.  Threads divide the
 * batch by output planes; EXECs that write the same plane are computed in program order.
 */
#include <string.h>

#include "ccp.h"
#include "simd.h"
#include "workers.h"

/* Distance between groups of planes, in floats; an EXEC writes within one group. */
static int64_t group(const struct ccp_conv *p)
{
	return (int64_t)(p->co_cnt * p->m.out_pitch);
}

static int64_t first_plane(const struct ccp_conv *p, const struct ccp_bases *base)
{
	return base->out + (int64_t)(p->co_start * p->m.out_pitch);
}

static void run_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct ccp *c = opaque;
	const struct ccp_batch *b = &c->batch;
	int64_t span = b->end - b->low;
	int64_t low = b->low + span * part / b->parts;
	int64_t high = b->low + span * (part + 1) / b->parts;

	(void)thread;
	for (uint32_t i = 0; i < b->runs; i++) {
		const struct ccp_run *r = &b->run[i];
		int64_t begin = low > r->group ? low - r->group : 0;
		int64_t end = high < r->group + r->count ? high - r->group : r->count;

		if (begin < end)
			c->simd->direct(c, &b->plan[r->plan], r, (uint32_t)begin, (uint32_t)end, 0,
					CCP_TO_MAP);
	}
}

/* Find the range of groups that the batch writes and the number of threads. */
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
	parts = ns / CM_MIN_PART_NS;
	if (parts > c->resources.threads)
		parts = c->resources.threads;
	b->parts = parts > 1 ? (uint32_t)parts : 1;
}

/* Does a later run of the batch write all the LOBs that run @i writes? */
static bool overwritten(const struct ccp_batch *b, uint32_t i)
{
	const struct ccp_conv *p = &b->plan[b->run[i].plan];

	for (uint32_t k = i + 1; k < b->runs; k++) {
		const struct ccp_conv *later = &b->plan[b->run[k].plan];

		if (later->rows >= p->rows && later->cols >= p->cols)
			return true;
	}
	return false;
}

void ccp_batch_finish(struct ccp *c)
{
	struct ccp_batch *b = &c->batch;

	if (!b->runs)
		return;
	share_out(c);
	cm_workers_run(c->resources.workers, run_part, c, b->parts);
	/* EXECs overwrite the same LOBs: mostly only those of the last one are needed. */
	for (uint32_t i = 0; i < b->runs; i++) {
		const struct ccp_run *r = &b->run[i];

		if (!overwritten(b, i))
			c->simd->direct(c, &b->plan[r->plan], r, r->count - 1, r->count, 0,
					CCP_TO_LOB);
	}
	b->runs = 0;
	b->plans = 0;
}

/* Does the batch have capacity, and do the EXEC's planes coincide with a group of the batch? */
static bool fits(const struct ccp_batch *b, const struct ccp_conv *p)
{
	const struct ccp_conv *first = &b->plan[0];

	return b->runs < CCP_BATCH_RUNS && b->plans + !b->plan_valid <= CCP_BATCH_PLANS &&
	       p->co_cnt == first->co_cnt && p->m.out_pitch == first->m.out_pitch &&
	       (first_plane(p, &p->base) - b->origin) % group(p) == 0;
}

/* Append the EXEC to the last run if its bases continue it. */
static bool extends(struct ccp_batch *b, const struct ccp_conv *p)
{
	struct ccp_run *r = &b->run[b->runs - 1];
	const struct ccp_bases *base = &p->base;
	int64_t n = r->count;

	if (!b->plan_valid || base->weight_pitch != r->first.weight_pitch ||
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

static bool same_but_bases(const struct ccp_conv *a, const struct ccp_conv *b)
{
	return a->m.ih == b->m.ih && a->m.iw == b->m.iw && a->m.oh == b->m.oh &&
	       a->m.ow == b->m.ow && a->m.in_pitch == b->m.in_pitch &&
	       a->m.out_pitch == b->m.out_pitch &&
	       !memcmp(&a->kh, &b->kh, sizeof(*a) - offsetof(struct ccp_conv, kh));
}

/*
 * Keep a plan; runs have its bases.  The tiles of the next channels mostly have the same plans in
 * the same order: what is not written stays in the caches of the other threads.
 */
static void keep_plan(struct ccp_batch *b, const struct ccp_conv *p)
{
	struct ccp_conv *to = &b->plan[b->plans++];

	if (!same_but_bases(to, p))
		*to = *p;
}

static void start_run(struct ccp_batch *b, const struct ccp_conv *p, int64_t ns)
{
	int64_t plane = first_plane(p, &p->base);

	if (!b->runs)
		b->origin = plane;
	if (!b->plans || !b->plan_valid)
		keep_plan(b, p);
	b->plan_valid = true;
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
