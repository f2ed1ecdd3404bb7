// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: the walk over slices of input channels. */
#include "ccp.h"
#include "mutant.h"
#include "simd.h"

#define SETUP_NS	20	/* per output channel, beside its taps */
#define TILE_NS		50	/* per input channel */

/* A slice's share of the work: output channels @first.. of the EXEC. */
static void add(struct ccp *c, const struct ccp_slice *slice, uint32_t first, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;
	bool last = slice->channel + slice->depth == p->ci_num;

	if (c->tile_channel != (uint64_t)slice->channel + 1)
		for (uint32_t i = 0; i < slice->depth; i++)
			c->simd->fill(c, c->tile + (size_t)i * p->tile_size, slice->channel + i);
	c->tile_channel = (uint64_t)slice->channel + 1;
	for (uint32_t n; count; first += n, count -= n) {
		n = count < CCP_PASS ? count : CCP_PASS;
		c->simd->add(c, slice, first, n);
		if (last)
			c->simd->save(c, first, n);
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

/* One piece of work; returns about what it cost. */
static int64_t piece(struct ccp *c, uint32_t depth, uint32_t first, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;
	int64_t macs = (int64_t)p->rows * p->lanes * p->kh * p->kw * depth * count;
	struct ccp_slice slice = {
		.tile = c->tile,
		.lob = c->lob,
		.channel = p->ci_start + (uint32_t)c->s->pos[0],
		.depth = depth,
	};

	slice.bias = p->bias && slice.channel + depth == p->ci_num;
	add(c, &slice, first, count);
	return macs * 1000 / c->simd->macs_per_us + count * SETUP_NS + depth * TILE_NS;
}

bool ccp_conv_run(struct ccp *c, int64_t *budget)
{
	const struct ccp_conv *p = &c->plan.conv;
	uint64_t *pos = c->s->pos, end = p->ci_end - p->ci_start + 1;

	while (p->rows && p->cols && pos[0] < end) {
		uint32_t depth = end - pos[0] < p->depth ? (uint32_t)(end - pos[0]) : p->depth;

		while (pos[1] < p->co_cnt) {
			uint32_t first = (uint32_t)pos[1], count = p->co_cnt - first;

			if (*budget <= 0)
				return false;
			if (count > CCP_PASS)
				count = CCP_PASS;
			*budget -= piece(c, depth, first, count);
			pos[1] += count;
		}
		pos[0] += depth;
		pos[1] = 0;
	}
	finish(c);
	return true;
}
