// SPDX-License-Identifier: MIT
/* The pool, pad and fully connected units, and the pipelines of all units. */
#include "cnnacc_ccp.h"
#include "micro.h"

bool micro_issue(struct micro_unit *u, unsigned int beat)
{
	if (u->clock < u->beat_clock[beat]) {
		u->count->hazards++;
		return false;
	}
	u->beat_clock[beat] = u->clock + MICRO_ADD_STAGES + MICRO_SUM_STAGES;
	u->pipe |= 1;
	return true;
}

bool micro_advance(struct micro_unit *u, unsigned int stages)
{
	u->clock++;
	u->bus = false;
	u->pipe = u->pipe << 1 & ((2u << stages) - 1);
	return u->pipe & ((1u << stages) - 1);
}

void micro_use(struct micro_unit *u, enum micro_memory memory, int64_t first, int64_t length)
{
	u->span[u->spans++] = (struct micro_span){ memory, first, first + length - 1 };
}

bool micro_walk_next(struct micro_walk *w)
{
	if (++w->col < w->cols)
		return true;
	w->col = 0;
	if (++w->row < w->rows)
		return true;
	w->row = 0;
	return ++w->plane < w->planes;
}

static unsigned int either(unsigned int value, unsigned int otherwise)
{
	return value ? value : otherwise;
}

/* @planes planes, each @pitch floats after the one before. */
static void use_planes(struct micro_unit *u, enum micro_memory memory, uint32_t base,
		       uint32_t pitch, uint32_t plane, uint32_t planes)
{
	micro_use(u, memory, (int32_t)base, (planes - 1) * (int64_t)either(pitch, plane) + plane);
}

/* Windows needed to cover the padded input; the last one may extend past it. */
static unsigned int windows(unsigned int size, unsigned int kernel, unsigned int stride)
{
	unsigned int n = 1;

	for (unsigned int end = kernel; end < size; end += stride)
		n++;
	return n;
}

void micro_pool_start(struct micro_unit *u)
{
	const uint32_t *g = u->group[0];
	unsigned int sy = g[0] >> 8 & 0xff, sx = either(g[0] >> 24 & 0xf, sy);
	unsigned int kh = g[0] >> 16 & 0xff, kw = either(g[0] >> 28, kh);
	unsigned int iw = g[1] & 0xffff, ih = either(g[1] >> 16, iw);
	unsigned int oh, ow;

	use_planes(u, MICRO_READ_BANK, g[3], g[6], ih * iw, g[2] & 0xffff);
	ih += (g[2] >> 16 & 0xf) + (g[2] >> 20 & 0xf);
	iw += (g[2] >> 24 & 0xf) + (g[2] >> 28);
	oh = either(g[5] >> 16, windows(ih, kh, sy));
	ow = either(g[5] & 0xffff, windows(iw, kw, sx));
	u->walk = (struct micro_walk){ .cols = ow, .rows = oh, .planes = g[2] & 0xffff };
	use_planes(u, MICRO_WRITE_BANK, g[4], g[7], oh * ow, g[2] & 0xffff);
}

/* A window enters the tree each clock; the last result leaves it at the end. */
bool micro_pool_step(struct micro_unit *u)
{
	bool flowing = micro_advance(u, MICRO_POOL_STAGES);

	u->count->state[MICRO_POOL]++;
	u->bus = true;
	if (u->walk.plane == u->walk.planes)
		return !flowing;
	micro_walk_next(&u->walk);
	u->pipe |= 1;
	return false;
}

void micro_pad_start(struct micro_unit *u)
{
	const uint32_t *g = u->group[0];
	unsigned int layers = g[0], iw = g[1] & 0xffff, ih = either(g[1] >> 16, iw);

	u->walk = (struct micro_walk){
		.cols = iw + 2 * layers, .rows = ih + 2 * layers, .planes = g[2] & 0xffff,
	};
	use_planes(u, MICRO_READ_BANK, g[3], g[5], ih * iw, g[2]);
	use_planes(u, MICRO_WRITE_BANK, g[4], g[6], u->walk.cols * u->walk.rows, g[2]);
}

/* Sixteen floats of the stream zeros, zero, row, zero, ..., zeros of each channel. */
bool micro_pad_step(struct micro_unit *u)
{
	unsigned int plane = u->walk.plane;

	u->count->state[MICRO_PAD]++;
	u->bus = true;
	for (unsigned int i = 0; i < 16; i++) {
		if (!micro_walk_next(&u->walk))
			return true;
		if (u->flags & MICRO_PLANE_WORDS && u->walk.plane != plane)
			break;
	}
	return false;
}

void micro_fc_start(struct micro_unit *u)
{
	const uint32_t *g = u->group[0];
	int64_t padded = (g[1] + CNNACC_CCP_FC_LANES - 1) / CNNACC_CCP_FC_LANES *
			 CNNACC_CCP_FC_LANES;

	micro_use(u, MICRO_READ_BANK, g[3], g[1]);
	micro_use(u, MICRO_WRITE_BANK, g[4], g[2]);
	micro_use(u, MICRO_WEIGHTS, g[5], padded * g[2]);
	if (g[0] & CNNACC_CCP_R0_BIAS)
		micro_use(u, MICRO_WEIGHTS, g[6], g[2]);
	u->blocks = (g[1] + CNNACC_CCP_FC_LANES - 1) / CNNACC_CCP_FC_LANES;
	u->blocks += g[0] & CNNACC_CCP_R0_BIAS ? 1 : 0;
	u->outputs = g[2];
	u->block = 0;
	u->beat = 0;
}

/* A line of weights each clock: a block for each of four outputs, then the next. */
bool micro_fc_step(struct micro_unit *u)
{
	unsigned int tree = u->flags & MICRO_FLAT_TREE ? 0 : MICRO_TREE_STAGES;
	bool flowing = micro_advance(u, MICRO_CONV_STAGES + tree);

	u->count->state[MICRO_FC]++;
	u->bus = true;
	if (!u->outputs)
		return !flowing;
	if (!micro_issue(u, u->beat))
		return false;
	u->beat = (u->beat + 1) % CNNACC_CCP_BEATS;
	if (u->beat || ++u->block < u->blocks)
		return false;
	u->block = 0;
	u->outputs -= u->outputs < CNNACC_CCP_BEATS ? u->outputs : CNNACC_CCP_BEATS;
	return false;
}
