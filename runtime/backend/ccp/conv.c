// SPDX-License-Identifier: MIT
/*
 * Convolutions on core ccp.
 *
 * The map is cut into slabs of output rows, whose input rows and halo the read bank holds, and the
 * output channels into batches that the write bank holds: a step computes a batch of a slab.
 * Weights come in chunks of output channels. Either a chunk holds all input channels and stays
 * while the tiles change, or each tile is computed in slices of input channels whose sums stay in
 * the LOBs, and weights are loaded for each tile: an EXEC then has more output channels to share
 * the time that its input takes to come. Groups are done in blocks if they are small: tile by tile,
 * a loop over the groups.
 *
 * The next weights come while a step computes, into the other half of the weight banks. So does the
 * next step's input, and the last one's output goes, if all fit halves of the data banks. Else the
 * store goes on while the next step computes, if that one's input fits beside what is being stored:
 * the banks change places.
 */
#include "conv.h"

/* ---- slabs ----------------------------------------------------------------------------- */

struct slab lcp_slab(const struct lcp_conv *v, int64_t y0, int64_t y1)
{
	struct slab s = { .y0 = y0, .y1 = lw_min(y1, v->oh) };
	int64_t end = (s.y1 - 1) * v->sy + v->kh - v->pt;

	if (y0 > 0 || s.y1 < v->oh) {
		s.first = lw_max(0, y0 * v->sy - v->pt);
		s.rows = lw_min(v->ih, end) - s.first;
	} else {
		s.rows = v->ih;
	}
	s.pt = lw_max(0, v->pt - y0 * v->sy);
	s.pb = lw_max(0, end - s.first - s.rows);
	return s;
}

struct lcp_region lcp_slab_in(const struct lcp_node *n, int64_t image, int64_t c0, int64_t c1,
			      const struct slab *s)
{
	int64_t iw = n->conv.iw;

	return lcp_region(n->in_line, &n->in_home, &n->in_l, image, c0, c1, s->first * iw,
			  (s->first + s->rows) * iw);
}

struct lcp_region lcp_slab_out(const struct lcp_node *n, int64_t image, int64_t c0, int64_t c1,
			       const struct slab *s)
{
	int64_t ow = n->conv.ow;

	return lcp_region(n->out_line, &n->out_home, &n->out_l, image, c0, c1, s->y0 * ow,
			  s->y1 * ow);
}

struct lcp_region lcp_slab_add(const struct lcp_node *n, int64_t image, int64_t c0, int64_t c1,
			       const struct slab *s)
{
	int64_t ow = n->conv.ow;

	return lcp_region(n->add_line, &n->add_home, &n->add_l, image, c0, c1, s->y0 * ow,
			  s->y1 * ow);
}

bool lcp_slab_floats(const struct lcp_node *n, int64_t rows, int64_t in_ch, int64_t out_ch,
		     int64_t *in, int64_t *out)
{
	const struct lcp_conv *v = &n->conv;

	*in = *out = 0;
	for (int64_t y = 0; y < v->oh; y += rows) {
		struct slab s = lcp_slab(v, y, y + rows);
		struct lcp_region ri, ro;

		if (s.rows < 1 || s.pt > CNNACC_CCP_PAD_MAX || s.pb > CNNACC_CCP_PAD_MAX)
			return false;
		ri = lcp_slab_in(n, 0, 0, in_ch, &s);
		ro = lcp_slab_out(n, 0, 0, out_ch, &s);
		*in = lw_max(*in, lcp_region_floats(&ri));
		*out = lw_max(*out, lcp_region_floats(&ro));
	}
	/* Compact planes may start anywhere in a line. */
	if (!n->in_home.kept && n->in_l.plane_pitch % LINE_FLOATS)
		*in += LINE_FLOATS;
	if (!n->out_home.kept && n->out_l.plane_pitch % LINE_FLOATS)
		*out += LINE_FLOATS;
	return true;
}

bool lcp_can_split(const struct lcp_node *n, int64_t rows)
{
	const struct lcp_conv *v = &n->conv;

	if (rows >= v->oh)
		return true;
	/* An addition works on whole lines, which two slabs must not share. */
	if (v->adds && rows * v->ow % LINE_FLOATS)
		return false;
	return (n->in_home.kept || lcp_splits_planes(&n->in_l)) &&
	       (n->out_home.kept || lcp_splits_planes(&n->out_l));
}

/* ---- steps ----------------------------------------------------------------------------- */

static int64_t batch_count(const struct lcp_conv *v)
{
	return v->block ? lw_div_up(v->groups, v->block) : lw_div_up(v->co, v->out_co);
}

int64_t lcp_step_count(const struct lcp_conv *v)
{
	return lw_div_up(v->oh, v->rows) * batch_count(v);
}

struct step lcp_step_at(const struct lcp_conv *v, int64_t i)
{
	int64_t slabs = lw_div_up(v->oh, v->rows), batches = batch_count(v);
	int64_t slab = v->out_first ? i % slabs : i / batches;
	int64_t batch = v->out_first ? i / slabs : i % batches;
	struct step t = { .s = lcp_slab(v, slab * v->rows, (slab + 1) * v->rows) };

	if (v->block) {
		t.g0 = batch * v->block;
		t.g1 = lw_min(t.g0 + v->block, v->groups);
		t.o1 = v->co;
	} else {
		t.o0 = batch * v->out_co;
		t.o1 = lw_min(t.o0 + v->out_co, v->co);
	}
	return t;
}

struct lcp_region lcp_next_input(const struct conv_unit *u)
{
	const struct lcp_conv *v = &u->n->conv;
	int64_t image = u->image, group = u->group, i = u->i + 1;
	struct step t;

	if (i == lcp_step_count(v)) {
		i = 0;
		group = v->block ? 0 : (group + 1) % v->groups;
		image += !group;
	}
	if (image == v->n || v->slice_input || u->x1 < conv_columns(v))
		return (struct lcp_region){ .lines = 0 };
	t = lcp_step_at(v, i);
	if (v->block)
		return lcp_slab_in(u->n, image, t.g0 * v->ci, t.g1 * v->ci, &t.s);
	return lcp_slab_in(u->n, image, group * v->ci, (group + 1) * v->ci, &t.s);
}

/* ---- parameters ------------------------------------------------------------------------ */

void lcp_conv_geometry(struct lcp_code *c, const struct lcp_node *n, const struct slab *s,
		       const struct conv_span *p, int64_t vec)
{
	const struct lcp_conv *v = &n->conv;

	lcp_set(c, 0, (n->relu && !v->adds ? CNNACC_CCP_R0_RELU : 0) |
		      (v->w.bias ? CNNACC_CCP_R0_BIAS : 0) |
		      v->sy << CNNACC_CCP_R0_STRIDE_SHIFT | v->kh << CNNACC_CCP_R0_KERNEL_SHIFT |
		      v->sx << CNNACC_CCP_R0_STRIDE_X_SHIFT |
		      v->kw << CNNACC_CCP_R0_KERNEL_X_SHIFT);
	lcp_set(c, 1, v->iw | v->ow << 16);
	lcp_set(c, 2, v->ci | p->co_num << 16);
	lcp_set(c, 3, p->ci0 | p->ci1 << 16);
	lcp_set(c, 5, vec | (int64_t)(c->hw->groups - 1) << CNNACC_CCP_R5_GROUPS_SHIFT |
		      p->co_start << CNNACC_CCP_R5_CO_START_SHIFT);
	lcp_set(c, 6, p->co_cnt | s->pt << CNNACC_CCP_PAD_TOP_SHIFT |
		      s->pb << CNNACC_CCP_PAD_BOTTOM_SHIFT | v->pl << CNNACC_CCP_PAD_LEFT_SHIFT |
		      v->pr << CNNACC_CCP_PAD_RIGHT_SHIFT);
}

void lcp_conv_bases(struct lcp_code *c, const struct slab *s, const struct conv_span *p,
		    const struct lcp_region *in, const struct lcp_region *out)
{
	lcp_set(c, 0, p->in);
	lcp_set(c, 1, p->out);
	lcp_set_weights(c, 2, p->weight);
	lcp_set_weights(c, 3, p->bias);
	lcp_set(c, 4, s->rows | (s->y1 - s->y0) << 16);
	lcp_set(c, 5, in->pitch);
	lcp_set(c, 6, out->pitch);
}

/* ---- all units ------------------------------------------------------------------------- */

/* A unit is a step, or some columns of one. */
static int emit_steps(struct lcp_code *c, struct conv_unit *u)
{
	const struct lcp_conv *v = &u->n->conv;
	int64_t columns = conv_columns(v);

	for (u->i = 0; u->i < lcp_step_count(v); u->i++) {
		for (u->x0 = 0; u->x0 < columns; u->x0 = u->x1) {
			int ret;

			u->x1 = lw_min(u->x0 + v->columns, columns);
			ret = lcp_unit(c, v->block ? lcp_emit_block : lcp_emit_dense, u);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static void emit_end(struct lcp_code *c, const void *arg)
{
	(void)arg;
	lcp_step_end(c);
}

int lcp_conv_weights(struct lcp_code *c, struct lcp_node *n)
{
	const struct lcp_conv *v = &n->conv;
	struct chunk k = lcp_chunk_shape(v);
	float *data;
	int ret = lcp_weight_room(c, lcp_chunk_count(v) * chunk_lines(&k) * LINE_FLOATS,
				  &n->weight_line, &data);

	if (ret)
		return ret;
	if (data)
		lcp_pack(v, &k, data);
	n->first = lcp_chunk_at(n, 0);
	return CNN_OK;
}

int lcp_conv_emit(struct lcp_code *c, struct lcp_node *n)
{
	const struct lcp_conv *v = &n->conv;

	for (int64_t image = 0; image < v->n; image++) {
		for (int64_t g = 0; g < (v->block ? 1 : v->groups); g++) {
			struct conv_unit u = { .n = n, .image = image, .group = g };
			int ret = emit_steps(c, &u);

			if (ret)
				return ret;
		}
	}
	return lcp_unit(c, emit_end, NULL);
}
