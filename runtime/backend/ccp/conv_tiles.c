// SPDX-License-Identifier: MIT
/* Slabs and tiles of convolutions on core ccp, and the parameters of their EXECs. */
#include "conv.h"

struct ccpc_slab ccpc_slab(const struct ccpc_conv *v, int64_t y0, int64_t y1)
{
	struct ccpc_slab s = { .y0 = y0, .y1 = cnn_min(y1, v->oh), .pad = v->pad };
	int64_t end = (s.y1 - 1) * v->sy + v->kh - v->pad.top;

	if (y0 > 0 || s.y1 < v->oh) {
		s.first = cnn_max(0, y0 * v->sy - v->pad.top);
		s.rows = cnn_min(v->ih, end) - s.first;
	} else {
		s.rows = v->ih;
	}
	s.pad.top = cnn_max(0, v->pad.top - y0 * v->sy);
	s.pad.bottom = cnn_max(0, end - s.first - s.rows);
	return s;
}

struct ccpc_region ccpc_slab_in(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				const struct ccpc_slab *s)
{
	int64_t iw = n->conv.iw;
	const struct ccpc_planes p = { image, c0, c1, s->first * iw, (s->first + s->rows) * iw };

	return ccpc_region_of(&n->in, &p);
}

struct ccpc_region ccpc_slab_out(const struct ccpc_node *n, const struct ccpc_operand *o,
				 int64_t image, int64_t c0, int64_t c1, const struct ccpc_slab *s)
{
	int64_t ow = n->conv.ow;
	const struct ccpc_planes p = { image, c0, c1, s->y0 * ow, s->y1 * ow };

	return ccpc_region_of(o, &p);
}

bool ccpc_slab_floats(const struct ccpc_node *n, int64_t rows, int64_t in_ch, int64_t out_ch,
		      int64_t *in, int64_t *out)
{
	const struct ccpc_conv *v = &n->conv;

	*in = *out = 0;
	for (int64_t y = 0; y < v->oh; y += rows) {
		struct ccpc_slab s = ccpc_slab(v, y, y + rows);
		struct ccpc_region ri, ro;

		if (s.rows < 1 || s.pad.top > CNNACC_CCP_PAD_MAX ||
		    s.pad.bottom > CNNACC_CCP_PAD_MAX)
			return false;
		ri = ccpc_slab_in(n, 0, 0, in_ch, &s);
		ro = ccpc_slab_out(n, &n->out, 0, 0, out_ch, &s);
		*in = cnn_max(*in, ccpc_region_floats(&ri));
		*out = cnn_max(*out, ccpc_region_floats(&ro));
	}
	/* Packed planes may start anywhere in a line. */
	if (!n->in.bind.resident && n->in.layout.plane_pitch % CCPC_LINE_FLOATS)
		*in += CCPC_LINE_FLOATS;
	if (!n->out.bind.resident && n->out.layout.plane_pitch % CCPC_LINE_FLOATS)
		*out += CCPC_LINE_FLOATS;
	return true;
}

bool ccpc_can_cut_rows(const struct ccpc_node *n, int64_t rows)
{
	const struct ccpc_conv *v = &n->conv;

	if (rows >= v->oh)
		return true;
	/* An addition works on whole lines, so no line may belong to two slabs. */
	if (v->adds && rows * v->ow % CCPC_LINE_FLOATS)
		return false;
	return (n->in.bind.resident || ccpc_can_cut_planes(&n->in.layout)) &&
	       (n->out.bind.resident || ccpc_can_cut_planes(&n->out.layout));
}

int64_t ccpc_next_rows(const struct ccpc_conv *v, int64_t rows, int64_t limit)
{
	if (!rows)
		return cnn_min(v->oh, limit);
	if (rows <= 2 * CCPC_EXEC_ROWS)
		return rows - 1;
	/* The decrement grows with the number of rows, which bounds the number of attempts. */
	return (rows - 1) / CCPC_EXEC_ROWS * CCPC_EXEC_ROWS -
	       rows / (32 * CCPC_EXEC_ROWS) * CCPC_EXEC_ROWS;
}

int64_t ccpc_round_channels(int64_t value, int64_t all)
{
	if (value >= all)
		return all;
	return value >= 16 ? value / 16 * 16 : value >= 4 ? value / 4 * 4 : value;
}

static int64_t batch_count(const struct ccpc_conv *v)
{
	return v->block ? cnn_div_up(v->groups, v->block) : cnn_div_up(v->co, v->out_co);
}

int64_t ccpc_conv_tile_count(const struct ccpc_conv *v)
{
	return cnn_div_up(v->oh, v->rows) * batch_count(v);
}

struct ccpc_conv_tile ccpc_conv_tile_at(const struct ccpc_conv *v, int64_t i)
{
	int64_t slabs = cnn_div_up(v->oh, v->rows), batches = batch_count(v);
	int64_t slab = v->out_first ? i % slabs : i / batches;
	int64_t batch = v->out_first ? i / slabs : i % batches;
	struct ccpc_conv_tile t = { .s = ccpc_slab(v, slab * v->rows, (slab + 1) * v->rows) };

	if (v->block) {
		t.g0 = batch * v->block;
		t.g1 = cnn_min(t.g0 + v->block, v->groups);
		t.o1 = v->co;
	} else {
		t.o0 = batch * v->out_co;
		t.o1 = cnn_min(t.o0 + v->out_co, v->co);
	}
	return t;
}

struct ccpc_region ccpc_next_input(const struct ccpc_conv_part *u)
{
	const struct ccpc_conv *v = &u->n->conv;
	int64_t image = u->image, group = u->group, i = u->i + 1;
	struct ccpc_conv_tile t;

	if (i == ccpc_conv_tile_count(v)) {
		i = 0;
		group = v->block ? 0 : (group + 1) % v->groups;
		image += !group;
	}
	if (image == v->n || v->slice_input || u->x1 < ccpc_patch_columns(v))
		return (struct ccpc_region){ .lines = 0 };
	t = ccpc_conv_tile_at(v, i);
	if (v->block)
		return ccpc_slab_in(u->n, image, t.g0 * v->ci, t.g1 * v->ci, &t.s);
	return ccpc_slab_in(u->n, image, group * v->ci, (group + 1) * v->ci, &t.s);
}

void ccpc_conv_geometry(struct ccpc_code *c, const struct ccpc_node *n, const struct ccpc_slab *s,
			const struct ccpc_conv_params *p, int64_t rows)
{
	const struct ccpc_conv *v = &n->conv;

	ccpc_set(c, 0,
		 (n->relu && !v->adds ? CNNACC_CCP_R0_RELU : 0) |
			 (v->w.bias ? CNNACC_CCP_R0_BIAS : 0) |
			 v->sy << CNNACC_CCP_R0_STRIDE_SHIFT | v->kh << CNNACC_CCP_R0_KERNEL_SHIFT |
			 v->sx << CNNACC_CCP_R0_STRIDE_X_SHIFT |
			 v->kw << CNNACC_CCP_R0_KERNEL_X_SHIFT);
	ccpc_set(c, 1, v->iw | v->ow << 16);
	ccpc_set(c, 2, v->ci | p->co_num << 16);
	ccpc_set(c, 3, p->ci0 | p->ci1 << 16);
	ccpc_set(c, 5,
		 rows | (int64_t)(c->hw->groups - 1) << CNNACC_CCP_R5_GROUPS_SHIFT |
			 p->co_start << CNNACC_CCP_R5_CO_START_SHIFT);
	ccpc_set(c, 6,
		 p->co_cnt | s->pad.top << CNNACC_CCP_PAD_TOP_SHIFT |
			 s->pad.bottom << CNNACC_CCP_PAD_BOTTOM_SHIFT |
			 s->pad.left << CNNACC_CCP_PAD_LEFT_SHIFT |
			 s->pad.right << CNNACC_CCP_PAD_RIGHT_SHIFT);
}

void ccpc_conv_bases(struct ccpc_code *c, const struct ccpc_slab *s,
		     const struct ccpc_conv_params *p, const struct ccpc_region *in,
		     const struct ccpc_region *out)
{
	ccpc_set(c, 0, p->in);
	ccpc_set(c, 1, p->out);
	ccpc_set_weights(c, 2, p->weight);
	ccpc_set_weights(c, 3, p->bias);
	ccpc_set(c, 4, s->rows | (s->y1 - s->y0) << 16);
	ccpc_set(c, 5, in->pitch);
	ccpc_set(c, 6, out->pitch);
}
