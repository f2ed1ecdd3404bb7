// SPDX-License-Identifier: MIT
/*
 * The pooling and padding units of core ccp: one EXEC per block of channels and slab of rows. A
 * maximum over more than three rows or columns is a maximum of maxima: stages of at most 3 x 3 that
 * pass the map from bank to bank, the first with the padding, the last with the strides.
 */
#include "ccp.h"

struct unit {
	const struct ccpc_node *n;
	int64_t i, image, c0, c1, y0, y1;
};

/* ---- pooling --------------------------------------------------------------------------- */

struct slab {
	int64_t first, rows, pt, pb;
};

static struct slab slab_at(const struct ccpc_pool *v, int64_t y0, int64_t y1)
{
	int64_t end = (y1 - 1) * v->sy + v->kh - v->pt;
	struct slab s = { .rows = v->ih };

	if (y0 > 0 || y1 < v->oh) {
		s.first = cnn_max(0, y0 * v->sy - v->pt);
		s.rows = cnn_min(v->ih, end) - s.first;
	}
	s.pt = cnn_max(0, v->pt - y0 * v->sy);
	s.pb = cnn_max(0, end - s.first - s.rows);
	return s;
}

static struct ccpc_region in_region(const struct unit *u, const struct slab *s)
{
	const struct ccpc_node *n = u->n;

	return ccpc_region(n->in_line, &n->in_home, &n->in_l, u->image, u->c0, u->c1,
			   s->first * n->pool.iw, (s->first + s->rows) * n->pool.iw);
}

static struct ccpc_region out_region(const struct unit *u)
{
	const struct ccpc_node *n = u->n;

	return ccpc_region(n->out_line, &n->out_home, &n->out_l, u->image, u->c0, u->c1,
			   u->y0 * n->pool.ow, u->y1 * n->pool.ow);
}

#define STAGE	3	/* rows and columns that the unit takes at once */

static int64_t stage_count(const struct ccpc_pool *v)
{
	return cnn_max(1, cnn_div_up(cnn_max(v->kh, v->kw) - 1, STAGE - 1));
}

bool ccpc_pool_passes(const struct ccpc_node *n)
{
	return stage_count(&n->pool) > 1;
}

static int64_t pad_right(const struct ccpc_pool *v)
{
	return cnn_max(0, (v->ow - 1) * v->sx + v->kw - v->pl - v->iw);
}

/* Planes of most floats, pitch floats apart, that fit a room; pitch 0: each in lines of its own. */
static int64_t planes_in(int64_t room, int64_t most, int64_t pitch)
{
	if (!pitch)
		return room / cnn_max(most, 1);
	return most > room ? 0 : 1 + (room - most) / pitch;
}

/* The most floats that a channel of a slab takes in each bank; false if a slab has no input. */
static bool slab_floats(const struct ccpc_node *n, int64_t rows, int64_t *in, int64_t *out)
{
	const struct ccpc_pool *v = &n->pool;

	*in = *out = 0;
	for (int64_t y = 0; y < v->oh; y += rows) {
		struct unit u = { .n = n, .c1 = 1, .y0 = y, .y1 = cnn_min(y + rows, v->oh) };
		struct slab s = slab_at(v, u.y0, u.y1);
		struct ccpc_region ri, ro;
		int64_t stage = (s.pt + s.rows + s.pb) * (v->pl + v->iw + pad_right(v));

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

/* Channels that fit if slabs have rows rows; 0: not even one. */
static int64_t block_of(const struct ccpc_node *n, int64_t rows)
{
	const struct ccpc_pool *v = &n->pool;
	int64_t in_room = ccpc_in_room(n), out_room = ccpc_out_room(n);
	int64_t in_pitch = n->in_l.plane_pitch, out_pitch = n->out_l.plane_pitch, in, out;

	if (rows < v->oh && ((!n->in_home.kept && !ccpc_splits_planes(&n->in_l)) ||
			     (!n->out_home.kept && !ccpc_splits_planes(&n->out_l))))
		return 0;
	if (!slab_floats(n, rows, &in, &out))
		return 0;
	if (rows < v->oh)
		return cnn_min(planes_in(in_room, in, 0), planes_in(out_room, out, 0));
	in += LINE_FLOATS;	/* compact planes may start inside a line */
	out += LINE_FLOATS;
	if (stage_count(v) > 1)
		in_pitch = out_pitch = cnn_max(in_pitch, out_pitch);
	if (v->c == 1 || stage_count(v) > 1)
		return cnn_min(planes_in(in_room, cnn_max(in, in_pitch), 0),
			       planes_in(out_room, cnn_max(out, out_pitch), 0));
	return cnn_min(planes_in(in_room, in, in_pitch), planes_in(out_room, out, out_pitch));
}

/* Lines of a value that pass through a bank. */
static int64_t passing_lines(const struct ccpc_home *home, const struct cnn_layout *l)
{
	return home->kept ? 0 : l->c * l->plane_pitch / LINE_FLOATS;
}

/* Blocks and slabs for the room that there is, in halves or whole banks. */
static bool plan_in_room(struct ccpc_node *n, int attempt)
{
	struct ccpc_pool *v = &n->pool;
	int64_t lines = passing_lines(&n->in_home, &n->in_l) +
			passing_lines(&n->out_home, &n->out_l);
	int64_t parts = n->split ? cnn_min(ccpc_parts(lines), v->c) : 1;

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

bool ccpc_pool_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	(void)hw;		/* the homes say what there is of it */
	n->split = ccpc_can_halve(n) && !ccpc_pool_passes(n);
	if (n->split && plan_in_room(n, attempt))
		return true;
	n->split = false;
	return plan_in_room(n, attempt);
}

/* Unit i of all. */
static struct unit unit_at(const struct ccpc_node *n, int64_t i)
{
	const struct ccpc_pool *v = &n->pool;
	int64_t slabs = cnn_div_up(v->oh, v->rows), blocks = cnn_div_up(v->c, v->block);
	struct unit u = {
		.n = n, .i = i, .image = i / slabs / blocks, .c0 = i / slabs % blocks * v->block,
		.y0 = i % slabs * v->rows,
	};

	u.c1 = cnn_min(u.c0 + v->block, v->c);
	u.y1 = cnn_min(u.y0 + v->rows, v->oh);
	return u;
}

static int64_t unit_count(const struct ccpc_pool *v)
{
	return v->n * cnn_div_up(v->c, v->block) * cnn_div_up(v->oh, v->rows);
}

/* One EXEC as the fields of its parameter group. */
struct stage {
	int64_t kh, kw, sy, sx, ih, iw, oh, ow, pt, pb, pl, pr;
	int64_t in, in_pitch, out, out_pitch;
};

static void exec_stage(struct ccpc_code *c, const struct ccpc_pool *v, int64_t channels,
		       const struct stage *p)
{
	ccpc_set(c, 0,
		 (v->average ? CNNACC_CCP_R0_AVERAGE : 0) | p->sy << CNNACC_CCP_R0_STRIDE_SHIFT |
			 p->kh << CNNACC_CCP_R0_KERNEL_SHIFT |
			 p->sx << CNNACC_CCP_R0_STRIDE_X_SHIFT |
			 p->kw << CNNACC_CCP_R0_KERNEL_X_SHIFT);
	ccpc_set(c, 1, p->iw | p->ih << 16);
	ccpc_set(c, 2,
		 channels | p->pt << CNNACC_CCP_PAD_TOP_SHIFT |
			 p->pb << CNNACC_CCP_PAD_BOTTOM_SHIFT | p->pl << CNNACC_CCP_PAD_LEFT_SHIFT |
			 p->pr << CNNACC_CCP_PAD_RIGHT_SHIFT);
	ccpc_set(c, 3, p->in);
	ccpc_set(c, 4, p->out);
	ccpc_set(c, 5, p->ow | p->oh << 16);
	ccpc_set(c, 6, p->in_pitch);
	ccpc_set(c, 7, p->out_pitch);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_POOL, 0));
	ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_POOL));
}

/*
 * All stages but the last, which p becomes; the banks change places after each. They use the room of
 * both values: beside it either bank may keep others.
 */
static void exec_early_stages(struct ccpc_code *c, const struct ccpc_node *n, int64_t channels,
			      struct stage *p)
{
	const struct ccpc_pool *v = &n->pool;
	int64_t kh = v->kh, kw = v->kw;
	struct stage last = *p;

	for (int64_t left = stage_count(v); left > 1; left--) {
		p->kh = cnn_min(kh, STAGE);
		p->kw = cnn_min(kw, STAGE);
		p->sy = p->sx = 1;
		p->oh = p->ih + p->pt + p->pb - p->kh + 1;
		p->ow = p->iw + p->pl + p->pr - p->kw + 1;
		p->out = ccpc_step_write(c, n) * LINE_FLOATS;
		p->out_pitch = 0;
		exec_stage(c, v, channels, p);
		ccpc_step_turn(c);
		kh -= p->kh - 1;
		kw -= p->kw - 1;
		*p = (struct stage){ .ih = p->oh, .iw = p->ow, .in = p->out };
	}
	last.in = p->in;
	last.in_pitch = last.pt = last.pb = last.pl = last.pr = 0;
	last.kh = kh;
	last.kw = kw;
	last.ih = p->ih;
	last.iw = p->iw;
	*p = last;
}

static void load_next(struct ccpc_code *c, const struct unit *u)
{
	struct unit next;
	struct slab s;

	if (u->i + 1 == unit_count(&u->n->pool))
		return;
	next = unit_at(u->n, u->i + 1);
	s = slab_at(&u->n->pool, next.y0, next.y1);
	ccpc_step_ahead(c, u->n, in_region(&next, &s));
}

static void emit_pool(struct ccpc_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct ccpc_pool *v = &u->n->pool;
	struct slab s = slab_at(v, u->y0, u->y1);
	struct ccpc_region in = in_region(u, &s), out = out_region(u);
	struct stage p;

	if (ccpc_pool_passes(u->n)) {
		ccpc_place(&in, ccpc_step_read(c, u->n));
		ccpc_load(c, &in);
		ccpc_load_ahead(c, &c->next);
	} else {
		ccpc_step_load(c, u->n, &in, NULL, &out);
		ccpc_load_ahead(c, &c->next);
		ccpc_step_start(c);
	}
	p = (struct stage){
		.kh = v->kh, .kw = v->kw, .sy = v->sy, .sx = v->sx, .ih = s.rows, .iw = v->iw,
		.oh = u->y1 - u->y0, .ow = v->ow, .pt = s.pt, .pb = s.pb, .pl = v->pl,
		.pr = pad_right(v), .in = in.base, .in_pitch = in.pitch,
	};

	if (ccpc_pool_passes(u->n)) {
		exec_early_stages(c, u->n, u->c1 - u->c0, &p);
		ccpc_place(&out, ccpc_step_write(c, u->n));
	}
	p.out = out.base;
	p.out_pitch = out.pitch;
	ccpc_open_out(c, &out, false);
	load_next(c, u);
	exec_stage(c, v, u->c1 - u->c0, &p);
	if (ccpc_pool_passes(u->n))
		ccpc_store(c, &out);
	else
		ccpc_step_done(c, &out);
}

static void emit_end(struct ccpc_code *c, const void *arg)
{
	(void)arg;
	ccpc_step_end(c);
}

int ccpc_pool_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	for (int64_t i = 0; i < unit_count(&n->pool); i++) {
		const struct unit u = unit_at(n, i);
		int ret = ccpc_unit(c, emit_pool, &u);

		if (ret)
			return ret;
	}
	return ccpc_unit(c, emit_end, NULL);
}

/* ---- padding --------------------------------------------------------------------------- */

bool ccpc_pad_plan(const struct ccpc_hw *hw, struct ccpc_node *n, int attempt)
{
	struct ccpc_pad *v = &n->pad;
	int64_t plane = (v->ih + 2 * v->layers) * (v->iw + 2 * v->layers);
	int64_t one = cnn_round_up(plane, LINE_FLOATS) + LINE_FLOATS;
	int64_t in = ccpc_in_room(n), out = ccpc_out_room(n);

	(void)hw;
	if (one > in || one > out)
		return false;
	v->block = v->c == 1 ? 1 :
			       1 + cnn_min((in - one) / n->in_l.plane_pitch,
					   (out - one) / n->out_l.plane_pitch);
	v->block = cnn_min(v->block, cnn_min(v->c, UINT16_MAX)) >> cnn_min(attempt, 62);
	if (v->block >= 16 && v->block < v->c)
		v->block = v->block / 16 * 16;
	return v->block > 0;
}

static void emit_pad(struct ccpc_code *c, const void *arg)
{
	const struct unit *u = arg;
	const struct ccpc_node *n = u->n;
	const struct ccpc_pad *v = &n->pad;
	struct ccpc_region in = ccpc_region(n->in_line, &n->in_home, &n->in_l, u->image, u->c0,
					    u->c1, 0, n->in_l.plane);
	struct ccpc_region out = ccpc_region(n->out_line, &n->out_home, &n->out_l, u->image, u->c0,
					     u->c1, 0, n->out_l.plane);

	ccpc_load(c, &in);
	ccpc_load_ahead(c, &c->next);
	ccpc_open_out(c, &out, false);
	ccpc_set(c, 0, v->layers);
	ccpc_set(c, 1, v->iw | v->ih << 16);
	ccpc_set(c, 2, u->c1 - u->c0);
	ccpc_set(c, 3, in.base);
	ccpc_set(c, 4, out.base);
	ccpc_set(c, 5, in.pitch);
	ccpc_set(c, 6, out.pitch);
	ccpc_op(c, CNNACC_CCP_INSN_CFG(CNNACC_CCP_PAD, 0));
	ccpc_op(c, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_PAD));
	ccpc_store(c, &out);
}

int ccpc_pad_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_pad *v = &n->pad;

	for (int64_t image = 0; image < v->n; image++) {
		for (int64_t ch = 0; ch < v->c; ch += v->block) {
			const struct unit u = {
				.n = n,
				.image = image,
				.c0 = ch,
				.c1 = cnn_min(ch + v->block, v->c),
			};
			int ret = ccpc_unit(c, emit_pad, &u);

			if (ret)
				return ret;
		}
	}
	return CNN_OK;
}
