// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Pooling unit: the nine inputs of a window go through a tree of comparators or adders. */
#include <string.h>

#include "ccp.h"
#include "ccp_mutant.h"

#define BLOCK		64	/* outputs of a row computed together */
#define INPUTS		9
#define OUTPUT_NS	10

static void resolve(struct ccp *c)
{
	const uint32_t *g = c->s->group[CCP_POOL0];
	struct ccp_pool *p = &c->plan.pool;

	memset(p, 0, sizeof(*p));
	p->average = g[0] & CNNACC_CCP_R0_AVERAGE;
	p->sy = ccp_bits(g[0], 15, 8);
	p->kh = ccp_bits(g[0], 23, 16);
	p->sx = ccp_or(ccp_bits(g[0], 27, 24), p->sy);
	p->kw = ccp_or(ccp_bits(g[0], 31, 28), p->kh);
	p->m.iw = ccp_bits(g[1], 15, 0);
	p->m.ih = ccp_or(ccp_bits(g[1], 31, 16), p->m.iw);
	p->channels = ccp_bits(g[2], 15, 0);
	p->pt = ccp_bits(g[2], 19, 16);
	p->pb = ccp_bits(g[2], 23, 20);
	p->pl = ccp_bits(g[2], 27, 24);
	p->pr = ccp_bits(g[2], 31, 28);
	p->m.in_base = (int32_t)g[3];
	p->m.out_base = (int32_t)g[4];
}

static bool bad_kernel(const struct ccp *c, const struct ccp_pool *p)
{
	if (!ccp_bits(c->s->group[CCP_POOL0][0], 31, 28))
		return p->kh != 2 && p->kh != 3;
	return p->kh > 3 || p->kw > 3 || !p->kh || (p->kh == 1 && p->kw == 1);
}

static uint32_t output_size(uint32_t padded, uint32_t kernel, uint32_t stride)
{
	return (padded - kernel + stride - 1) / stride + 1;
}

static uint32_t check_sizes(struct ccp *c, struct ccp_pool *p)
{
	const uint32_t *g = c->s->group[CCP_POOL0];
	struct ccp_maps *m = &p->m;
	uint32_t padded_h = m->ih + p->pt + p->pb, padded_w = m->iw + p->pl + p->pr;
	uint32_t oh, ow;

	if (bad_kernel(c, p))
		return CNNACC_CCP_BAD_KERNEL;
	if (!p->sy || p->sy > CNNACC_CCP_STRIDE_MAX || p->sx > CNNACC_CCP_STRIDE_MAX)
		return CNNACC_CCP_BAD_STRIDE;
	if (!m->iw || padded_h < p->kh || padded_w < p->kw)
		return CNNACC_CCP_BAD_IN_SIZE;
	oh = output_size(padded_h, p->kh, p->sy);
	ow = output_size(padded_w, p->kw, p->sx);
	m->ow = ccp_or(ccp_bits(g[5], 15, 0), ow);
	m->oh = ccp_or(ccp_bits(g[5], 31, 16), oh);
	if (m->oh > oh || m->ow > ow)
		return CNNACC_CCP_BAD_OUT_SIZE;
	return 0;
}

static float reciprocal(uint32_t area)
{
	static const uint32_t bits[INPUTS + 1] = {
		[2] = 0x3f000000, [3] = 0x3eaaaaab, [4] = 0x3e800000,
		[6] = 0x3e2aaaab, [9] = 0x3de38e39,
	};
	float value;

	memcpy(&value, &bits[area], sizeof(value));
	return value;
}

static uint32_t check(struct ccp *c)
{
	const uint32_t *g = c->s->group[CCP_POOL0];
	struct ccp_pool *p = &c->plan.pool;
	uint32_t bad;

	resolve(c);
	if (ccp_bits(g[0], 7, 1))
		return CNNACC_CCP_BAD_RESERVED;
	bad = check_sizes(c, p);
	if (bad)
		return bad;
	if (!p->channels)
		return CNNACC_CCP_BAD_CHANNELS;
	bad = ccp_check_pitches(&p->m, g[6], g[7]);
	if (!bad)
		bad = ccp_check_planes(c, &p->m, p->channels);
	if (bad)
		return bad;
	p->reciprocal = reciprocal(p->kh * p->kw);
	ccp_work_pool(c);
	return 0;
}

static float fill_value(const struct ccp_pool *p)
{
	uint32_t bits = CNNACC_CCP_POOL_MAX_FILL;
	float value;

	if (p->average || MUTANT(BORDER))
		return 0.0f;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Gather inputs @in[x * sx + offset] of @n windows; @in is NULL for a row outside the input. */
static void gather(const struct ccp_pool *p, float *a, const float *in, int64_t offset,
		   uint32_t n, float fill)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t x = offset + (int64_t)i * p->sx;

		a[i] = in && x >= 0 && x < p->m.iw ? in[x] : fill;
	}
}

static void load_windows(const struct ccp *c, float a[INPUTS][BLOCK], uint64_t channel,
			 uint64_t y, uint64_t x, uint32_t n)
{
	const struct ccp_pool *p = &c->plan.pool;
	const float *plane = ccp_in_plane(c, &p->m, channel);
	float fill = fill_value(p);
	unsigned int k = 0;

	for (uint32_t r = 0; r < p->kh; r++) {
		int64_t iy = (int64_t)(y * p->sy + r) - p->pt;
		const float *in = iy >= 0 && iy < p->m.ih ? plane + iy * p->m.iw : NULL;

		for (uint32_t s = 0; s < p->kw; s++)
			gather(p, a[k++], in, (int64_t)(x * p->sx + s) - p->pl, n, fill);
	}
	for (; k < INPUTS; k++)
		for (uint32_t i = 0; i < n; i++)
			a[k][i] = fill;
}

static inline float larger(float a, float b)
{
	return a > b ? a : b;
}

#define TREE(node, a, i) \
	node(node(node(node((a)[0][i], (a)[1][i]), node((a)[2][i], (a)[3][i])), \
		  node(node((a)[4][i], (a)[5][i]), node((a)[6][i], (a)[7][i]))), (a)[8][i])
#define ADD(x, y)	((x) + (y))

static void reduce(const struct ccp_pool *p, float *out, float a[INPUTS][BLOCK], uint32_t n)
{
	float y[BLOCK];

	if (p->average)
		for (uint32_t i = 0; i < BLOCK; i++)
			y[i] = TREE(ADD, a, i) * p->reciprocal;
	else
		for (uint32_t i = 0; i < BLOCK; i++)
			y[i] = TREE(larger, a, i);
	for (uint32_t i = 0; i < n; i++)
		out[i] = ccp_canonical(y[i]);
}

static void pool_row(struct ccp *c, uint64_t channel, uint64_t y)
{
	const struct ccp_pool *p = &c->plan.pool;
	float *out = ccp_out_plane(c, &p->m, channel) + y * p->m.ow;
	float a[INPUTS][BLOCK] = { { 0 } };

	for (uint32_t x = 0; x < p->m.ow; x += BLOCK) {
		uint32_t n = p->m.ow - x < BLOCK ? p->m.ow - x : BLOCK;

		load_windows(c, a, channel, y, x, n);
		reduce(p, out + x, a, n);
	}
}

/* pos[0]: channels done; pos[1]: rows done of the next channel. */
static bool check_pos(const struct ccp *c)
{
	return c->s->pos[0] < c->plan.pool.channels && c->s->pos[1] < c->plan.pool.m.oh;
}

static bool run(struct ccp *c, int64_t *budget)
{
	const struct ccp_pool *p = &c->plan.pool;
	uint64_t *pos = c->s->pos;

	for (; pos[0] < p->channels; pos[0]++, pos[1] = 0)
		for (; pos[1] < p->m.oh; pos[1]++) {
			if (*budget <= 0)
				return false;
			pool_row(c, pos[0], pos[1]);
			*budget -= (int64_t)(p->m.ow + BLOCK) * OUTPUT_NS;
		}
	return true;
}

const struct ccp_unit ccp_pool_unit = { check, check_pos, run };
