// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: the walk over slices of input channels. */
#include "ccp.h"
#include "simd.h"
#include "workers.h"

#define SETUP_NS	20	/* per output channel, beside its taps */
#define TILE_NS		50	/* per input channel */
#define SHARE		4	/* output channels that are computed together */

/** struct piece - slices of input channels for some output channels. */
struct piece {
	struct ccp *c;
	uint32_t channel, depth;	/* of all slices */
	uint32_t first, count;		/* of the output channels */
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

/* A thread's share: some of the output channels, with all slices. */
static void share(void *opaque, unsigned int part, unsigned int seat)
{
	const struct piece *piece = opaque;
	struct ccp *c = piece->c;
	const struct ccp_conv *p = &c->plan.conv;
	uint32_t groups = (piece->count + SHARE - 1) / SHARE;
	uint32_t first = groups * part / piece->parts * SHARE;
	uint32_t end = groups * (part + 1) / piece->parts * SHARE;
	struct ccp_slice slice = { .tile = c->scratch[seat].tile, .lob = c->lob };

	if (end > piece->count)
		end = piece->count;
	for (uint32_t done = 0; done < piece->depth; done += slice.depth) {
		slice.channel = piece->channel + done;
		slice.depth = piece->depth - done < p->depth ? piece->depth - done : p->depth;
		slice.last = slice.channel + slice.depth == p->ci_num;
		slice.bias = slice.last && p->bias;
		fill(c, &c->scratch[seat], &slice);
		c->simd->add(c, &slice, piece->first + first, end - first);
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

/* pos[0] counts input channels, pos[1] output channels of the slice that begins there. */
bool ccp_conv_check_pos(const struct ccp *c)
{
	const struct ccp_conv *p = &c->plan.conv;
	const uint64_t *pos = c->s->pos;

	return pos[0] <= p->ci_end - p->ci_start && pos[1] < p->co_cnt &&
	       pos[1] % CCP_PASS == 0;
}

/* About what a piece takes one thread. */
int64_t ccp_conv_ns(const struct ccp *c, uint32_t depth, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;
	int64_t macs = (int64_t)p->rows * p->lanes * p->kh * p->kw * depth * count;

	return macs * c->simd->mac_ps / 1000 + count * SETUP_NS + depth * TILE_NS;
}

/* From where s->pos stands: one slice, or several if they are short. */
static struct piece next_piece(struct ccp *c, int64_t most_ns)
{
	const struct ccp_conv *p = &c->plan.conv;
	const uint64_t *pos = c->s->pos;
	uint32_t left = p->ci_end - p->ci_start + 1 - (uint32_t)pos[0];
	struct piece piece = {
		.c = c,
		.channel = p->ci_start + (uint32_t)pos[0],
		.depth = left < p->depth ? left : p->depth,
		.first = (uint32_t)pos[1],
		.count = p->co_cnt - (uint32_t)pos[1],
	};

	while (piece.count > CCP_PASS && ccp_conv_ns(c, piece.depth, piece.count) > most_ns)
		piece.count = (piece.count / 2 + CCP_PASS - 1) / CCP_PASS * CCP_PASS;
	while (piece.count == p->co_cnt && piece.depth < left &&
	       ccp_conv_ns(c, piece.depth + p->depth, piece.count) < most_ns)
		piece.depth = left - piece.depth < p->depth ? left : piece.depth + p->depth;
	return piece;
}

static int64_t run_piece(struct ccp *c, struct piece *piece)
{
	int64_t ns = ccp_conv_ns(c, piece->depth, piece->count), parts = ns / CM_MIN_PART_NS;

	if (parts > (piece->count + SHARE - 1) / SHARE)
		parts = (piece->count + SHARE - 1) / SHARE;
	if (parts > c->means.threads)
		parts = c->means.threads;
	piece->parts = parts > 1 ? (unsigned int)parts : 1;
	cm_workers_run(c->means.workers, share, piece, piece->parts);
	return ns / piece->parts;
}

/* Input channel by input channel; every host may go on from any of them. */
static bool run_thin(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;
	struct ccp_run one = { .first = p->base };
	uint64_t *pos = c->s->pos;
	int64_t ns = ccp_conv_ns(c, 1, p->co_cnt);

	ccp_batch_finish(c);
	for (; pos[0] <= p->ci_end - p->ci_start; pos[0]++) {
		if (*budget <= 0)
			return false;
		c->simd->thin(c, p, &one, 0, 1, p->ci_start + (uint32_t)pos[0],
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
		struct piece piece = next_piece(c, ccp_piece_ns(*budget));

		if (*budget <= 0)
			return false;
		*budget -= run_piece(c, &piece);
		pos[1] += piece.count;
		if (pos[1] == p->co_cnt) {
			pos[0] += piece.depth;
			pos[1] = 0;
		}
	}
	finish(c);
	return true;
}

bool ccp_conv_run(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;

	if (!p->thin)
		return run_slices(c, budget);
	if (p->ci_num > 1)
		return run_thin(c, budget);
	*budget -= ccp_batch_add(c);
	finish(c);
	return true;
}
