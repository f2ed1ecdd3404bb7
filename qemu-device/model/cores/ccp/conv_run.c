// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: compute an EXEC in slices of input channels. */
#include "ccp.h"
#include "simd.h"
#include "workers.h"

#define PART_CHANNELS	4	/* granularity of a thread's output channels */

/** struct chunk - a range of input channels and of output channels, computed in one run. */
struct chunk {
	struct ccp *c;
	uint32_t channel, depth;	/* input channels: first, count */
	uint32_t first, count;		/* output channels */
	unsigned int parts;
};

static void fill(struct ccp *c, struct ccp_scratch *scratch, const struct ccp_slice *slice)
{
	const struct ccp_conv *p = &c->plan.conv;
	uint64_t tag = c->execs << 16 | slice->channel;

	if (scratch->slice == tag)
		return;
	for (uint32_t i = 0; i < slice->depth; i++)
		c->simd->fill(c, scratch->tile + (size_t)i * p->tile_size, slice->channel + i);
	scratch->slice = tag;
}

/* A thread computes some of the chunk's output channels, with all slices. */
static void run_part(void *opaque, unsigned int part, unsigned int thread)
{
	const struct chunk *chunk = opaque;
	struct ccp *c = chunk->c;
	const struct ccp_conv *p = &c->plan.conv;
	uint32_t groups = (chunk->count + PART_CHANNELS - 1) / PART_CHANNELS;
	uint32_t first = groups * part / chunk->parts * PART_CHANNELS;
	uint32_t end = groups * (part + 1) / chunk->parts * PART_CHANNELS;
	struct ccp_slice slice = { .tile = c->scratch[thread].tile, .lob = c->lob };

	if (end > chunk->count)
		end = chunk->count;
	for (uint32_t done = 0; done < chunk->depth; done += slice.depth) {
		slice.channel = chunk->channel + done;
		slice.depth = chunk->depth - done < p->depth ? chunk->depth - done : p->depth;
		slice.last = slice.channel + slice.depth == p->ci_num;
		slice.bias = slice.last && p->bias;
		fill(c, &c->scratch[thread], &slice);
		c->simd->add(c, &slice, chunk->first + first, end - first);
	}
}

static void finish(struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;

	c->s->chain = (struct ccp_chain){
		.valid = !p->last,
		.next_ci = p->ci_end + 1,
		.row_start = p->row_start,
		.col_start = p->col_start,
		.vec_active = p->vec_active,
		.co_start = p->co_start,
		.co_cnt = p->co_cnt,
	};
}

/* pos[0]: input channels done; pos[1]: output channels done of the slice that starts there. */
bool ccp_conv_check_pos(const struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	const uint64_t *pos = c->s->pos;

	return pos[0] <= p->ci_end - p->ci_start && pos[1] < p->co_cnt &&
	       pos[1] % CCP_CHUNK_CHANNELS == 0;
}

/* The chunk at s->pos: one slice or a part of it, or several slices if they are short. */
static struct chunk next_chunk(struct ccp *c, int64_t most_ns)
{
	const struct ccp_conv *p = &c->plan.conv;
	const uint64_t *pos = c->s->pos;
	uint32_t left = p->ci_end - p->ci_start + 1 - (uint32_t)pos[0];
	struct chunk chunk = {
		.c = c,
		.channel = p->ci_start + (uint32_t)pos[0],
		.depth = left < p->depth ? left : p->depth,
		.first = (uint32_t)pos[1],
		.count = p->co_cnt - (uint32_t)pos[1],
	};

	while (chunk.count > CCP_CHUNK_CHANNELS &&
	       ccp_conv_ns(c, chunk.depth, chunk.count) > most_ns)
		chunk.count = (chunk.count / 2 + CCP_CHUNK_CHANNELS - 1) / CCP_CHUNK_CHANNELS *
			      CCP_CHUNK_CHANNELS;
	while (chunk.count == p->co_cnt && chunk.depth < left &&
	       ccp_conv_ns(c, chunk.depth + p->depth, chunk.count) < most_ns)
		chunk.depth = left - chunk.depth < p->depth ? left : chunk.depth + p->depth;
	return chunk;
}

static int64_t run_chunk(struct ccp *c, struct chunk *chunk)
{
	int64_t ns = ccp_conv_ns(c, chunk->depth, chunk->count), parts = ns / CM_MIN_PART_NS;

	if (parts > (chunk->count + PART_CHANNELS - 1) / PART_CHANNELS)
		parts = (chunk->count + PART_CHANNELS - 1) / PART_CHANNELS;
	if (parts > c->resources.threads)
		parts = c->resources.threads;
	chunk->parts = parts > 1 ? (unsigned int)parts : 1;
	cm_workers_run(c->resources.workers, run_part, chunk, chunk->parts);
	return ns / chunk->parts;
}

/* One input channel at a time; a loaded state can continue at any of them on every host. */
static bool run_direct(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;
	struct ccp_run one = { .first = p->base };
	uint64_t *pos = c->s->pos;
	int64_t ns = ccp_conv_ns(c, 1, p->co_cnt);

	ccp_batch_finish(c);
	for (; pos[0] <= p->ci_end - p->ci_start; pos[0]++) {
		if (*budget <= 0)
			return false;
		c->simd->direct(c, p, &one, 0, 1, p->ci_start + (uint32_t)pos[0],
				CCP_TO_LOB | CCP_TO_MAP);
		*budget -= ns;
	}
	finish(c);
	return true;
}

static bool run_slices(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;
	uint64_t *pos = c->s->pos;

	ccp_batch_finish(c);
	while (p->rows && p->cols && pos[0] <= p->ci_end - p->ci_start) {
		struct chunk chunk = next_chunk(c, ccp_chunk_ns(*budget));

		if (*budget <= 0)
			return false;
		*budget -= run_chunk(c, &chunk);
		pos[1] += chunk.count;
		if (pos[1] == p->co_cnt) {
			pos[0] += chunk.depth;
			pos[1] = 0;
		}
	}
	finish(c);
	return true;
}

bool ccp_conv_run(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;

	if (!p->direct)
		return run_slices(c, budget);
	if (p->ci_num > 1)
		return run_direct(c, budget);
	*budget -= ccp_batch_add(c);
	finish(c);
	return true;
}
