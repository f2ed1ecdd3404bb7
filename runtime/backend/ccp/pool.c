// SPDX-License-Identifier: MIT
/*
 * The pooling and padding units of core ccp: one EXEC per block of channels and slab of rows. A
 * maximum over more than three rows or columns is a maximum of maxima. It runs in stages of at most
 * 3 x 3 that pass the map from bank to bank: the first applies the padding, the last the strides.
 */
#include "ccp.h"

struct pool_part {
	const struct ccpc_node *n;
	int64_t i, image, c0, c1, y0, y1;
};

struct pool_slab {
	int64_t first, rows;
	struct ccpc_padding pad; /* top and bottom only */
};

static struct pool_slab slab_at(const struct ccpc_pool *v, int64_t y0, int64_t y1)
{
	int64_t end = (y1 - 1) * v->sy + v->kh - v->pad.top;
	struct pool_slab s = { .rows = v->ih };

	if (y0 > 0 || y1 < v->oh) {
		s.first = cnn_max(0, y0 * v->sy - v->pad.top);
		s.rows = cnn_min(v->ih, end) - s.first;
	}
	s.pad.top = cnn_max(0, v->pad.top - y0 * v->sy);
	s.pad.bottom = cnn_max(0, end - s.first - s.rows);
	return s;
}

static struct ccpc_region in_region(const struct pool_part *u, const struct pool_slab *s)
{
	int64_t iw = u->n->pool.iw;
	const struct ccpc_planes p = { u->image, u->c0, u->c1, s->first * iw,
				       (s->first + s->rows) * iw };

	return ccpc_region_of(&u->n->in, &p);
}

static struct ccpc_region out_region(const struct pool_part *u)
{
	int64_t ow = u->n->pool.ow;
	const struct ccpc_planes p = { u->image, u->c0, u->c1, u->y0 * ow, u->y1 * ow };

	return ccpc_region_of(&u->n->out, &p);
}

#define STAGE_MAX 3 /* rows and columns that the unit takes at once */

static int64_t stage_count(const struct ccpc_pool *v)
{
	return cnn_max(1, cnn_div_up(cnn_max(v->kh, v->kw) - 1, STAGE_MAX - 1));
}

bool ccpc_pool_is_staged(const struct ccpc_node *n)
{
	return stage_count(&n->pool) > 1;
}

static int64_t pad_right(const struct ccpc_pool *v)
{
	return cnn_max(0, (v->ow - 1) * v->sx + v->kw - v->pad.left - v->iw);
}

/* Planes of @most floats, @pitch floats apart, that fit; pitch 0: each has lines of its own. */
static int64_t planes_in(int64_t capacity, int64_t most, int64_t pitch)
{
	if (!pitch)
		return capacity / cnn_max(most, 1);
	return most > capacity ? 0 : 1 + (capacity - most) / pitch;
}

/* Most floats that a channel of a slab takes in each bank; false if a slab has no input. */
static bool slab_floats(const struct ccpc_node *n, int64_t rows, int64_t *in, int64_t *out)
{
	const struct ccpc_pool *v = &n->pool;

	*in = *out = 0;
	for (int64_t y = 0; y < v->oh; y += rows) {
		struct pool_part u = { .n = n, .c1 = 1, .y0 = y, .y1 = cnn_min(y + rows, v->oh) };
		struct pool_slab s = slab_at(v, u.y0, u.y1);
		struct ccpc_region ri, ro;
		int64_t stage =
			(s.pad.top + s.rows + s.pad.bottom) * (v->pad.left + v->iw + pad_right(v));

		if (s.rows < 1)
			return false;
		ri = in_region(&u, &s);
		ro = out_region(&u);
		*in = cnn_max(*in, ccpc_region_floats(&ri));
		*out = cnn_max(*out, ccpc_region_floats(&ro));
		if (stage_count(v) > 1)
			*in = *out = cnn_max(stage, cnn_max(*in, *out));
	}
	return true;
}

/* Channels of a section if slabs have @rows rows; 0: not even one fits. */
static int64_t block_of(const struct ccpc_node *n, int64_t rows)
{
	const struct ccpc_pool *v = &n->pool;
	int64_t in_capacity = ccpc_in_capacity(n), out_capacity = ccpc_out_capacity(n);
	int64_t in_pitch = n->in.layout.plane_pitch, out_pitch = n->out.layout.plane_pitch, in, out;

	if (rows < v->oh && ((!n->in.bind.resident && !ccpc_can_cut_planes(&n->in.layout)) ||
			     (!n->out.bind.resident && !ccpc_can_cut_planes(&n->out.layout))))
		return 0;
	if (!slab_floats(n, rows, &in, &out))
		return 0;
	if (rows < v->oh)
		return cnn_min(planes_in(in_capacity, in, 0), planes_in(out_capacity, out, 0));
	in += CCPC_LINE_FLOATS; /* packed planes may start inside a line */
	out += CCPC_LINE_FLOATS;
	if (stage_count(v) > 1)
		in_pitch = out_pitch = cnn_max(in_pitch, out_pitch);
	if (v->c == 1 || stage_count(v) > 1)
		return cnn_min(planes_in(in_capacity, cnn_max(in, in_pitch), 0),
			       planes_in(out_capacity, cnn_max(out, out_pitch), 0));
	return cnn_min(planes_in(in_capacity, in, in_pitch),
		       planes_in(out_capacity, out, out_pitch));
}

/* Lines of a value that are transferred. */
static int64_t passing_lines(const struct ccpc_operand *o)
{
	return o->bind.resident ? 0 : o->layout.c * o->layout.plane_pitch / CCPC_LINE_FLOATS;
}

/* Picks channels and rows of a section, in halves or whole banks. */
static bool plan_parts(struct ccpc_node *n, int attempt)
{
	struct ccpc_pool *v = &n->pool;
	int64_t lines = passing_lines(&n->in) + passing_lines(&n->out);
	int64_t parts = n->alternate ? cnn_min(ccpc_best_parts(lines), v->c) : 1;

	for (int64_t rows = v->oh; rows > 0;
	     rows = rows > 16 ? cnn_round_up(rows / 2, 16) : rows / 2) {
		v->block = cnn_min(cnn_min(block_of(n, rows), cnn_div_up(v->c, parts)), UINT16_MAX);
		v->block >>= cnn_min(attempt, 62);
		if (v->block >= 16 && v->block < v->c)
			v->block = v->block / 16 * 16;
		v->rows = rows;
		if (v->block)
			return true;
	}
	return false;
}

static bool pool_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	(void)hw; /* the bindings have the sizes */
	n->alternate = ccpc_can_alternate(n) && !ccpc_pool_is_staged(n);
	if (n->alternate && plan_parts(n, attempt))
		return true;
	n->alternate = false;
	return plan_parts(n, attempt);
}

static struct pool_part part_at(const struct ccpc_node *n, int64_t i)
{
	const struct ccpc_pool *v = &n->pool;
	int64_t slabs = cnn_div_up(v->oh, v->rows), blocks = cnn_div_up(v->c, v->block);
	struct pool_part u = {
		.n = n, .i = i, .image = i / slabs / blocks, .c0 = i / slabs % blocks * v->block,
		.y0 = i % slabs * v->rows,
	};

	u.c1 = cnn_min(u.c0 + v->block, v->c);
	u.y1 = cnn_min(u.y0 + v->rows, v->oh);
	return u;
}

static int64_t part_count(const struct ccpc_pool *v)
{
	return v->n * cnn_div_up(v->c, v->block) * cnn_div_up(v->oh, v->rows);
}

/* Fields of the parameter group of one EXEC. */
struct pool_stage {
	int64_t kh, kw, sy, sx, ih, iw, oh, ow;
	struct ccpc_padding pad;
	int64_t in, in_pitch, out, out_pitch;
};

static void exec_stage(struct ccpc_code *c, const struct ccpc_pool *v, int64_t channels,
		       const struct pool_stage *p)
{
	ccpc_set(c, 0,
		 (v->average ? CNNACC_CCP_R0_AVERAGE : 0) | p->sy << CNNACC_CCP_R0_STRIDE_SHIFT |
			 p->kh << CNNACC_CCP_R0_KERNEL_SHIFT |
			 p->sx << CNNACC_CCP_R0_STRIDE_X_SHIFT |
			 p->kw << CNNACC_CCP_R0_KERNEL_X_SHIFT);
	ccpc_set(c, 1, p->iw | p->ih << 16);
	ccpc_set(c, 2,
		 channels | p->pad.top << CNNACC_CCP_PAD_TOP_SHIFT |
			 p->pad.bottom << CNNACC_CCP_PAD_BOTTOM_SHIFT |
			 p->pad.left << CNNACC_CCP_PAD_LEFT_SHIFT |
			 p->pad.right << CNNACC_CCP_PAD_RIGHT_SHIFT);
	ccpc_set(c, 3, p->in);
	ccpc_set(c, 4, p->out);
	ccpc_set(c, 5, p->ow | p->oh << 16);
	ccpc_set(c, 6, p->in_pitch);
	ccpc_set(c, 7, p->out_pitch);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_POOL, 0));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_POOL));
}

/*
 * All stages but the last, for which it sets *p. The banks are exchanged after each. Stages use the
 * free stretches of both values only: other values may be resident beside them.
 */
static void exec_early_stages(struct ccpc_code *c, const struct ccpc_node *n, int64_t channels,
			      struct pool_stage *p)
{
	const struct ccpc_pool *v = &n->pool;
	int64_t kh = v->kh, kw = v->kw;
	struct pool_stage last = *p;

	for (int64_t left = stage_count(v); left > 1; left--) {
		p->kh = cnn_min(kh, STAGE_MAX);
		p->kw = cnn_min(kw, STAGE_MAX);
		p->sy = p->sx = 1;
		p->oh = p->ih + p->pad.top + p->pad.bottom - p->kh + 1;
		p->ow = p->iw + p->pad.left + p->pad.right - p->kw + 1;
		p->out = ccpc_tile_write_line(c, n) * CCPC_LINE_FLOATS;
		p->out_pitch = 0;
		exec_stage(c, v, channels, p);
		ccpc_tile_swap(c);
		kh -= p->kh - 1;
		kw -= p->kw - 1;
		*p = (struct pool_stage){ .ih = p->oh, .iw = p->ow, .in = p->out };
	}
	last.in = p->in;
	last.in_pitch = 0;
	last.pad = (struct ccpc_padding){ 0 };
	last.kh = kh;
	last.kw = kw;
	last.ih = p->ih;
	last.iw = p->iw;
	*p = last;
}

static void load_next(struct ccpc_code *c, const struct pool_part *u)
{
	struct pool_part next;
	struct pool_slab s;

	if (u->i + 1 == part_count(&u->n->pool))
		return;
	next = part_at(u->n, u->i + 1);
	s = slab_at(&u->n->pool, next.y0, next.y1);
	ccpc_tile_prefetch(c, u->n, in_region(&next, &s));
}

static void emit_pool(struct ccpc_code *c, const void *arg)
{
	const struct pool_part *u = arg;
	const struct ccpc_pool *v = &u->n->pool;
	struct pool_slab s = slab_at(v, u->y0, u->y1);
	struct ccpc_region in = in_region(u, &s), out = out_region(u);
	struct pool_stage p = {
		.kh = v->kh, .kw = v->kw, .sy = v->sy, .sx = v->sx, .ih = s.rows, .iw = v->iw,
		.oh = u->y1 - u->y0, .ow = v->ow, .in_pitch = in.pitch, .out_pitch = out.pitch,
		.pad = { s.pad.top, s.pad.bottom, v->pad.left, pad_right(v) },
	};

	if (ccpc_pool_is_staged(u->n)) {
		ccpc_region_place(&in, ccpc_tile_read_line(c, u->n));
		ccpc_load(c, &in);
		ccpc_prefetch_weights(c, &c->next);
		p.in = in.base;
		exec_early_stages(c, u->n, u->c1 - u->c0, &p);
		ccpc_region_place(&out, ccpc_tile_write_line(c, u->n));
	} else {
		ccpc_tile_load(c, u->n, &in, NULL, &out);
		ccpc_prefetch_weights(c, &c->next);
		ccpc_tile_start(c);
		p.in = in.base;
	}
	p.out = out.base;
	ccpc_prepare_out(c, &out, false);
	load_next(c, u);
	exec_stage(c, v, u->c1 - u->c0, &p);
	if (ccpc_pool_is_staged(u->n))
		ccpc_store(c, &out);
	else
		ccpc_tile_done(c, &out);
}

static int pool_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	int ret = CNN_OK;

	for (int64_t i = 0; i < part_count(&n->pool) && !ret; i++) {
		const struct pool_part u = part_at(n, i);

		ret = ccpc_emit_section(c, emit_pool, &u);
	}
	return ret ?: ccpc_emit_section(c, ccpc_tile_flush, NULL);
}

static bool pad_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_pad *v = &n->pad;
	int64_t plane = (v->ih + 2 * v->layers) * (v->iw + 2 * v->layers);
	int64_t one = cnn_round_up(plane, CCPC_LINE_FLOATS) + CCPC_LINE_FLOATS;
	int64_t in = ccpc_in_capacity(n), out = ccpc_out_capacity(n);

	(void)hw;
	if (one > in || one > out)
		return false;
	v->block = v->c == 1 ? 1 :
			       1 + cnn_min((in - one) / n->in.layout.plane_pitch,
					   (out - one) / n->out.layout.plane_pitch);
	v->block = cnn_min(v->block, cnn_min(v->c, UINT16_MAX)) >> cnn_min(attempt, 62);
	if (v->block >= 16 && v->block < v->c)
		v->block = v->block / 16 * 16;
	return v->block > 0;
}

static void emit_pad(struct ccpc_code *c, const void *arg)
{
	const struct pool_part *u = arg;
	const struct ccpc_node *n = u->n;
	const struct ccpc_pad *v = &n->pad;
	const struct ccpc_planes from = { u->image, u->c0, u->c1, 0, n->in.layout.plane };
	const struct ccpc_planes to = { u->image, u->c0, u->c1, 0, n->out.layout.plane };
	struct ccpc_region in = ccpc_region_of(&n->in, &from), out = ccpc_region_of(&n->out, &to);

	ccpc_load(c, &in);
	ccpc_prefetch_weights(c, &c->next);
	ccpc_prepare_out(c, &out, false);
	ccpc_set(c, 0, v->layers);
	ccpc_set(c, 1, v->iw | v->ih << 16);
	ccpc_set(c, 2, u->c1 - u->c0);
	ccpc_set(c, 3, in.base);
	ccpc_set(c, 4, out.base);
	ccpc_set(c, 5, in.pitch);
	ccpc_set(c, 6, out.pitch);
	ccpc_insn(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_PAD, 0));
	ccpc_insn(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_PAD));
	ccpc_store(c, &out);
}

static int pad_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_pad *v = &n->pad;
	int ret = CNN_OK;

	for (int64_t image = 0; image < v->n; image++) {
		for (int64_t ch = 0; ch < v->c && !ret; ch += v->block) {
			const struct pool_part u = {
				.n = n, .image = image, .c0 = ch, .c1 = cnn_min(ch + v->block, v->c),
			};

			ret = ccpc_emit_section(c, emit_pad, &u);
		}
	}
	return ret;
}

const struct ccpc_kind ccpc_pool = {
	.text = "pooling unit", .plan = pool_plan, .emit = pool_emit,
};

const struct ccpc_kind ccpc_pad = {
	.text = "padding unit", .plan = pad_plan, .emit = pad_emit,
};
