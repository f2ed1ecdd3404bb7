// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: decode and check the parameters, and derive the plan. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ccp.h"
#include "ccp_mutant.h"
#include "simd.h"

static void resolve(struct ccp *c)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0], *g1 = c->s->group[CCP_CONV1];
	bool relu = g0[0] & CNNACC_CCP_R0_RELU;
	struct ccp_conv *p = &c->plan.conv;

	memset(p, 0, offsetof(struct ccp_conv, tap));
	p->threshold = relu ? FLT_TRUE_MIN : -INFINITY;
	p->replacement = relu ? 0 : CCP_NAN;
	p->bias = g0[0] & CNNACC_CCP_R0_BIAS;
	p->sy = ccp_bits(g0[0], 15, 8);
	p->kh = ccp_bits(g0[0], 23, 16);
	p->sx = ccp_or(ccp_bits(g0[0], 27, 24), p->sy);
	p->kw = ccp_or(ccp_bits(g0[0], 31, 28), p->kh);
	p->m.iw = ccp_bits(g0[1], 15, 0);
	p->m.ow = ccp_bits(g0[1], 31, 16);
	p->ci_num = ccp_bits(g0[2], 15, 0);
	p->co_num = ccp_bits(g0[2], 31, 16);
	p->ci_start = ccp_bits(g0[3], 15, 0);
	p->ci_end = ccp_bits(g0[3], 31, 16);
	p->row_start = ccp_bits(g0[4], 15, 0);
	p->col_start = ccp_bits(g0[4], 31, 16);
	p->vec_active = ccp_bits(g0[5], 4, 0);
	p->groups = ccp_bits(g0[5], 9, 8) + 1;
	p->co_start = ccp_bits(g0[5], 31, 16);
	p->co_cnt = ccp_or(ccp_bits(g0[6], 15, 0), p->co_num - p->co_start);
	p->pt = ccp_bits(g0[6], 19, 16);
	p->pb = ccp_bits(g0[6], 23, 20);
	p->pl = ccp_bits(g0[6], 27, 24);
	p->pr = ccp_bits(g0[6], 31, 28);
	p->m.ih = ccp_or(ccp_bits(g1[4], 15, 0), p->m.iw);
	p->m.oh = ccp_or(ccp_bits(g1[4], 31, 16), p->m.ow);
	p->last = p->ci_end + 1 == p->ci_num;
}

/* The weights of output channels 0..3 start at the weight base, whatever the pitch. */
static bool pitch_matters(const struct ccp_conv *p)
{
	return p->co_start + p->co_cnt > 4;
}

/* Decode the fields that may differ between EXECs of one plan. */
static void resolve_bases(struct ccp *c)
{
	const uint32_t *g1 = c->s->group[CCP_CONV1];
	struct ccp_conv *p = &c->plan.conv;

	p->m.in_base = (int32_t)g1[0];
	p->m.out_base = (int32_t)g1[1];
	p->base = (struct ccp_bases){
		.in = p->m.in_base, .out = p->m.out_base,
		.weight = (int32_t)g1[2], .bias = (int32_t)g1[3],
		.weight_pitch = pitch_matters(p) ? ccp_or(ccp_bits(g1[7], 15, 0), p->ci_num) : 0,
	};
}

static uint32_t check_sizes(const struct ccp_conv *p)
{
	const struct ccp_maps *m = &p->m;

	if (!p->kh || p->kh > CNNACC_CCP_KERNEL_MAX || p->kw > CNNACC_CCP_KERNEL_MAX)
		return CNNACC_CCP_BAD_KERNEL;
	if (!p->sy || p->sy > CNNACC_CCP_STRIDE_MAX || p->sx > CNNACC_CCP_STRIDE_MAX)
		return CNNACC_CCP_BAD_STRIDE;
	if (!m->iw || m->ih + p->pt + p->pb < p->kh || m->iw + p->pl + p->pr < p->kw)
		return CNNACC_CCP_BAD_IN_SIZE;
	if (m->oh != (m->ih + p->pt + p->pb - p->kh) / p->sy + 1 ||
	    m->ow != (m->iw + p->pl + p->pr - p->kw) / p->sx + 1)
		return CNNACC_CCP_BAD_OUT_SIZE;
	return 0;
}

static bool bad_channels(const struct ccp *c, const struct ccp_conv *p)
{
	return !p->ci_num || !p->co_num || p->ci_start > p->ci_end || p->ci_end >= p->ci_num ||
	       p->co_start >= p->co_num || p->co_start + p->co_cnt > p->co_num ||
	       p->co_cnt > c->lob_vectors * p->groups;
}

static bool continues(const struct ccp_chain *chain, const struct ccp_conv *p)
{
	return chain->valid && chain->next_ci == p->ci_start &&
	       chain->row_start == p->row_start && chain->col_start == p->col_start &&
	       chain->vec_active == p->vec_active && chain->co_start == p->co_start &&
	       chain->co_cnt == p->co_cnt;
}

/* Ranges of input, output, weights and biases that the EXEC accesses, relative to their bases. */
static void find_spans(const struct ccp *c, const struct ccp_conv *p, struct ccp_span span[4])
{
	int64_t taps = (int64_t)p->kh * p->kw, wp = (int64_t)p->base.weight_pitch;
	int64_t co_last = p->co_start + p->co_cnt - 1, first = p->co_start / 4, last = co_last / 4;

	span[0] = (struct ccp_span){ (int64_t)(p->ci_start * p->m.in_pitch),
				 (int64_t)(p->ci_end * p->m.in_pitch) +
				 (int64_t)p->m.ih * p->m.iw, c->bank_floats };
	span[1] = (struct ccp_span){ (int64_t)(p->co_start * p->m.out_pitch),
				 co_last * (int64_t)p->m.out_pitch +
				 (int64_t)p->m.oh * p->m.ow, c->bank_floats };
	span[2] = (struct ccp_span){ (first * wp + p->ci_start) * taps,
				 (last * wp + p->ci_end + 1) * taps, c->weight_floats };
	span[3] = (struct ccp_span){ first, last + 1, c->weight_floats };
	if (!p->bias)
		span[3] = (struct ccp_span){ INT32_MAX, INT32_MIN, c->weight_floats };
}

static uint32_t check_ranges(const struct ccp_conv *p, const uint32_t *bases,
			     const struct ccp_span span[4])
{
	for (uint32_t i = 0; i < (p->bias ? 4 : 3); i++)
		if ((int32_t)bases[i] + span[i].first < 0 ||
		    (int32_t)bases[i] + span[i].end > span[i].floats)
			return CNNACC_CCP_RANGE_INPUT + i;
	return 0;
}

static uint32_t clip(uint32_t start, uint32_t count, uint32_t size)
{
	if (start >= size)
		return 0;
	return size - start < count ? size - start : count;
}

/* Set a word of the plan; one that is not written stays in the caches of the other threads. */
static void set(uint32_t *word, uint32_t value)
{
	if (*word != value)
		*word = value;
}

static void find_taps(struct ccp_conv *p)
{
	uint32_t taps = p->kh * p->kw, t = 0;

	for (uint32_t r = 0; r < p->kh; r++)
		for (uint32_t s = 0; s < p->kw; s++, t++)
			set(&p->tap[MUTANT(TAPS) ? taps - 1 - t : t],
			    (s * p->tile_rows + r) * p->vector_floats);
}

/* Compute the masks of lanes inside the output map, and inside the input for each tap column. */
static void find_lane_masks(struct ccp_conv *p)
{
	for (uint32_t i = 0; i < CNNACC_CCP_LANES; i++)
		set(&p->valid[i], i < p->cols ? UINT32_MAX : 0);
	for (uint32_t s = 0; s < p->kw; s++)
		for (uint32_t i = 0; i < CNNACC_CCP_LANES; i++) {
			int64_t x = p->first_column + s + (int64_t)i * p->sx;

			set(&p->column[s][i], x >= 0 && x < p->m.iw ? UINT32_MAX : 0);
		}
}

/* Find the range of the input that the tile covers. */
static void find_input(struct ccp_conv *p)
{
	int64_t first = (int64_t)p->row_start * p->sy - p->pt;
	int64_t rows = (int64_t)(p->height * (p->vector_floats / p->lanes) - 1) * p->sy + p->kh;
	int64_t columns = p->kw - 1 + p->lanes * p->sx;
	int64_t low = first > 0 ? first : 0;
	int64_t end = first + rows < p->m.ih ? first + rows : p->m.ih;

	p->first_row = first;
	p->first_column = (int64_t)p->col_start * p->sx - p->pl;
	p->low = low * p->m.iw;
	p->high = (end - 1) * p->m.iw + columns;
	p->columns = p->cols == CNNACC_CCP_LANES && p->first_column >= 0 &&
		     p->first_column + p->kw - 1 + (CNNACC_CCP_LANES - 1) * p->sx < p->m.iw;
	p->whole = p->sx == 1 && p->columns && first >= 0 && first + rows <= p->m.ih;
}

/* Extend @in to the floats that vector loads of a direct convolution read. */
static void widen(const struct ccp_conv *p, struct ccp_span *in)
{
	int64_t first = (int64_t)(p->ci_start * p->m.in_pitch) + p->first_column + p->low;
	int64_t end = (int64_t)(p->ci_end * p->m.in_pitch) + p->first_column + p->high;

	in->first = first < in->first ? first : in->first;
	in->end = end > in->end ? end : in->end;
}

/* Assign output rows to vectors; a direct convolution has one row in each. */
static void lay_out_rows(struct ccp_conv *p, uint32_t width, bool direct)
{
	uint32_t group;

	p->direct = direct;
	p->lanes = direct || p->cols > CNNACC_CCP_LANES / 2 ? CNNACC_CCP_LANES :
							    CNNACC_CCP_LANES / 2;
	p->vector_floats = !direct && width > p->lanes ? width : p->lanes;
	group = p->vector_floats / p->lanes;
	p->height = (p->rows + group - 1) / group;
	p->tile_rows = (p->height - 1) * p->sy + p->kh;
	p->tile_size = p->kw * p->tile_rows * p->vector_floats;
	find_input(p);
}

static bool may_be_direct(const struct ccp_conv *p)
{
	return p->co_cnt <= CCP_DIRECT_MAX && p->sx <= 2;
}

/* Clip the tile to the map and lay out its inputs and taps. */
static void lay_out(const struct ccp *c, struct ccp_conv *p, struct ccp_span *in)
{
	p->rows = clip(p->row_start, p->vec_active, p->m.oh);
	p->cols = clip(p->col_start, CNNACC_CCP_LANES, p->m.ow);
	if (MUTANT(CLIP) && p->cols && p->cols < CNNACC_CCP_LANES)
		p->cols--;
	if (!p->rows || !p->cols)
		return;
	lay_out_rows(p, c->simd->width, may_be_direct(p));
	if (p->direct) {
		widen(p, in);
		if (p->base.in + in->first < 0 || p->base.in + in->end > in->floats)
			lay_out_rows(p, c->simd->width, false);
	}
	p->depth = CCP_TILE_CACHE / CCP_TILE_FLOATS(p->rows, p->kh, p->kw, p->sy);
	find_taps(p);
	find_lane_masks(p);
}

/* Decode and check everything except bases and pitches. */
static uint32_t check_shape(struct ccp *c)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0];
	struct ccp_conv *p = &c->plan.conv;
	uint32_t bad;

	resolve(c);
	if (ccp_bits(g0[0], 7, 2) || ccp_bits(g0[5], 7, 5) || ccp_bits(g0[5], 15, 10))
		return CNNACC_CCP_BAD_RESERVED;
	bad = check_sizes(p);
	if (bad)
		return bad;
	if (bad_channels(c, p))
		return CNNACC_CCP_BAD_CHANNELS;
	if (!p->vec_active || p->vec_active > CNNACC_CCP_ROWS)
		return CNNACC_CCP_BAD_VEC_ACTIVE;
	return 0;
}

bool ccp_conv_same(const struct ccp *c, const uint32_t *g1)
{
	const uint32_t *g0 = c->s->group[CCP_CONV0];

	return c->conv_cache.valid && c->conv_cache.sel == c->s->sel &&
	       !memcmp(g0, c->conv_cache.g0, sizeof(c->conv_cache.g0)) &&
	       g1[4] == c->conv_cache.g1[4] && g1[5] == c->conv_cache.g1[5] &&
	       g1[6] == c->conv_cache.g1[6] &&
	       !((g1[7] ^ c->conv_cache.g1[7]) & c->conv_cache.pitch_mask);
}

static bool within(const uint32_t *bases, const struct ccp_bounds *b)
{
	for (uint32_t i = 0; i < CCP_BASES; i++)
		if ((int32_t)bases[i] < b->min[i] || (int32_t)bases[i] > b->max[i])
			return false;
	return true;
}

static int32_t clamp(int64_t n)
{
	return n < INT32_MIN ? INT32_MIN : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

/* Range of bases with which the EXEC accesses the same bank halves as with the current ones. */
static struct ccp_bounds find_same_halves(const struct ccp *c)
{
	const uint32_t *bases = c->s->group[CCP_CONV1];
	struct ccp_bounds same_halves = c->conv_cache.in_range;

	for (uint32_t i = 0; i < CCP_BASES; i++) {
		const struct ccp_span *span = &c->conv_cache.span[i];
		int64_t middle = ccp_middle(c, (uint32_t)span->floats), base = (int32_t)bases[i];
		int64_t least = same_halves.min[i], most = same_halves.max[i];

		if (base + span->end > middle)	/* accesses the upper half */
			least = middle + 1 - span->end;
		else
			most = middle - span->end;
		if (base + span->first < middle)
			most = most < middle - 1 - span->first ? most : middle - 1 - span->first;
		else
			least = least > middle - span->first ? least : middle - span->first;
		same_halves.min[i] = clamp(least > same_halves.min[i] ? least : same_halves.min[i]);
		same_halves.max[i] = clamp(most < same_halves.max[i] ? most : same_halves.max[i]);
	}
	return same_halves;
}

/*
 * Not cached: an EXEC that continues partial sums, whose check depends on the chain, and one that
 * is not direct only because of its bases.
 */
static void fill_conv_cache(struct ccp *c, const struct ccp_span *in)
{
	const struct ccp_conv *p = &c->plan.conv;

	memcpy(c->conv_cache.g0, c->s->group[CCP_CONV0], sizeof(c->conv_cache.g0));
	memcpy(c->conv_cache.g1, c->s->group[CCP_CONV1], sizeof(c->conv_cache.g1));
	for (uint32_t i = 0; i < CCP_BASES; i++) {
		const struct ccp_span *span = i ? &c->conv_cache.span[i] : in;

		c->conv_cache.in_range.min[i] = clamp(-span->first);
		c->conv_cache.in_range.max[i] = clamp(span->floats - span->end);
	}
	c->conv_cache.same_halves = find_same_halves(c);
	c->conv_cache.pitch_mask = pitch_matters(p) ? UINT32_MAX : ~(uint32_t)UINT16_MAX;
	c->conv_cache.sel = c->s->sel;
	c->conv_cache.work = c->work;
	c->conv_cache.valid = !p->ci_start && (p->direct || !may_be_direct(p));
}

static uint32_t check_full(struct ccp *c)
{
	const uint32_t *g1 = c->s->group[CCP_CONV1];
	struct ccp_conv *p = &c->plan.conv;
	struct ccp_span in;
	uint32_t bad;

	c->conv_cache.valid = false;
	c->batch.plan_valid = false;
	if (ccp_bits(g1[7], 31, 16))
		return CNNACC_CCP_BAD_RESERVED;
	bad = check_shape(c);
	if (bad)
		return bad;
	resolve_bases(c);
	if (p->ci_start && !continues(&c->s->chain, p))
		return CNNACC_CCP_BAD_CONTINUE;
	bad = ccp_check_pitches(&p->m, g1[5], g1[6]);
	if (bad)
		return bad;
	find_spans(c, p, c->conv_cache.span);
	bad = check_ranges(p, g1, c->conv_cache.span);
	if (bad)
		return bad;
	in = c->conv_cache.span[0];
	lay_out(c, p, &in);
	ccp_work_conv(c);
	ccp_touch_conv(c);
	fill_conv_cache(c, &in);
	return 0;
}

static uint32_t check(struct ccp *c)
{
	const uint32_t *bases = c->s->group[CCP_CONV1];
	bool same = ccp_conv_same(c, bases);
	bool same_halves = same && within(bases, &c->conv_cache.same_halves);

	c->execs++;
	if (!same_halves && !(same && within(bases, &c->conv_cache.in_range)))
		return check_full(c);
	resolve_bases(c);
	c->work = c->conv_cache.work;
	if (same_halves)
		return 0;
	ccp_touch_conv(c);
	c->conv_cache.work = c->work;
	c->conv_cache.same_halves = find_same_halves(c);
	return 0;
}

const struct ccp_unit ccp_conv_unit = { check, ccp_conv_check_pos, ccp_conv_run };
