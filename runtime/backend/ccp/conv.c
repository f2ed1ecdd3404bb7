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

struct slab ccpc_slab(const struct ccpc_conv *v, int64_t y0, int64_t y1)
{
	struct slab s = { .y0 = y0, .y1 = cnn_min(y1, v->oh) };
	int64_t end = (s.y1 - 1) * v->sy + v->kh - v->pt;

	if (y0 > 0 || s.y1 < v->oh) {
		s.first = cnn_max(0, y0 * v->sy - v->pt);
		s.rows = cnn_min(v->ih, end) - s.first;
	} else {
		s.rows = v->ih;
	}
	s.pt = cnn_max(0, v->pt - y0 * v->sy);
	s.pb = cnn_max(0, end - s.first - s.rows);
	return s;
}

struct ccpc_region ccpc_slab_in(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				const struct slab *s)
{
	int64_t iw = n->conv.iw;

	return ccpc_region(n->in_line, &n->in_home, &n->in_l, image, c0, c1, s->first * iw,
			   (s->first + s->rows) * iw);
}

struct ccpc_region ccpc_slab_out(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				 const struct slab *s)
{
	int64_t ow = n->conv.ow;

	return ccpc_region(n->out_line, &n->out_home, &n->out_l, image, c0, c1, s->y0 * ow,
			   s->y1 * ow);
}

struct ccpc_region ccpc_slab_add(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				 const struct slab *s)
{
	int64_t ow = n->conv.ow;

	return ccpc_region(n->add_line, &n->add_home, &n->add_l, image, c0, c1, s->y0 * ow,
			   s->y1 * ow);
}

bool ccpc_slab_floats(const struct ccpc_node *n, int64_t rows, int64_t in_ch, int64_t out_ch,
		      int64_t *in, int64_t *out)
{
	const struct ccpc_conv *v = &n->conv;

	*in = *out = 0;
	for (int64_t y = 0; y < v->oh; y += rows) {
		struct slab s = ccpc_slab(v, y, y + rows);
		struct ccpc_region ri, ro;

		if (s.rows < 1 || s.pt > CNNACC_CCP_PAD_MAX || s.pb > CNNACC_CCP_PAD_MAX)
			return false;
		ri = ccpc_slab_in(n, 0, 0, in_ch, &s);
		ro = ccpc_slab_out(n, 0, 0, out_ch, &s);
		*in = cnn_max(*in, ccpc_region_floats(&ri));
		*out = cnn_max(*out, ccpc_region_floats(&ro));
	}
	/* Compact planes may start anywhere in a line. */
	if (!n->in_home.kept && n->in_l.plane_pitch % LINE_FLOATS)
		*in += LINE_FLOATS;
	if (!n->out_home.kept && n->out_l.plane_pitch % LINE_FLOATS)
		*out += LINE_FLOATS;
	return true;
}

bool ccpc_can_split(const struct ccpc_node *n, int64_t rows)
{
	const struct ccpc_conv *v = &n->conv;

	if (rows >= v->oh)
		return true;
	/* An addition works on whole lines, which two slabs must not share. */
	if (v->adds && rows * v->ow % LINE_FLOATS)
		return false;
	return (n->in_home.kept || ccpc_splits_planes(&n->in_l)) &&
	       (n->out_home.kept || ccpc_splits_planes(&n->out_l));
}

/* ---- steps ----------------------------------------------------------------------------- */

static int64_t batch_count(const struct ccpc_conv *v)
{
	return v->block ? cnn_div_up(v->groups, v->block) : cnn_div_up(v->co, v->out_co);
}

int64_t ccpc_step_count(const struct ccpc_conv *v)
{
	return cnn_div_up(v->oh, v->rows) * batch_count(v);
}

struct step ccpc_step_at(const struct ccpc_conv *v, int64_t i)
{
	int64_t slabs = cnn_div_up(v->oh, v->rows), batches = batch_count(v);
	int64_t slab = v->out_first ? i % slabs : i / batches;
	int64_t batch = v->out_first ? i / slabs : i % batches;
	struct step t = { .s = ccpc_slab(v, slab * v->rows, (slab + 1) * v->rows) };

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

struct ccpc_region ccpc_next_input(const struct conv_unit *u)
{
	const struct ccpc_conv *v = &u->n->conv;
	int64_t image = u->image, group = u->group, i = u->i + 1;
	struct step t;

	if (i == ccpc_step_count(v)) {
		i = 0;
		group = v->block ? 0 : (group + 1) % v->groups;
		image += !group;
	}
	if (image == v->n || v->slice_input || u->x1 < conv_columns(v))
		return (struct ccpc_region){ .lines = 0 };
	t = ccpc_step_at(v, i);
	if (v->block)
		return ccpc_slab_in(u->n, image, t.g0 * v->ci, t.g1 * v->ci, &t.s);
	return ccpc_slab_in(u->n, image, group * v->ci, (group + 1) * v->ci, &t.s);
}

/* ---- parameters ------------------------------------------------------------------------ */

void ccpc_conv_geometry(struct ccpc_code *c, const struct ccpc_node *n, const struct slab *s,
			const struct conv_span *p, int64_t vec)
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
		 vec | (int64_t)(c->hw->groups - 1) << CNNACC_CCP_R5_GROUPS_SHIFT |
			 p->co_start << CNNACC_CCP_R5_CO_START_SHIFT);
	ccpc_set(c, 6,
		 p->co_cnt | s->pt << CNNACC_CCP_PAD_TOP_SHIFT |
			 s->pb << CNNACC_CCP_PAD_BOTTOM_SHIFT | v->pl << CNNACC_CCP_PAD_LEFT_SHIFT |
			 v->pr << CNNACC_CCP_PAD_RIGHT_SHIFT);
}

void ccpc_conv_bases(struct ccpc_code *c, const struct slab *s, const struct conv_span *p,
		     const struct ccpc_region *in, const struct ccpc_region *out)
{
	ccpc_set(c, 0, p->in);
	ccpc_set(c, 1, p->out);
	ccpc_set_weights(c, 2, p->weight);
	ccpc_set_weights(c, 3, p->bias);
	ccpc_set(c, 4, s->rows | (s->y1 - s->y0) << 16);
	ccpc_set(c, 5, in->pitch);
	ccpc_set(c, 6, out->pitch);
}

/* ---- all units ------------------------------------------------------------------------- */

/* A unit is a step, or some columns of one. */
static int emit_steps(struct ccpc_code *c, struct conv_unit *u)
{
	const struct ccpc_conv *v = &u->n->conv;
	int64_t columns = conv_columns(v);

	for (u->i = 0; u->i < ccpc_step_count(v); u->i++) {
		for (u->x0 = 0; u->x0 < columns; u->x0 = u->x1) {
			int ret;

			u->x1 = cnn_min(u->x0 + v->columns, columns);
			ret = ccpc_unit(c, v->block ? ccpc_emit_block : ccpc_emit_dense, u);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static void emit_end(struct ccpc_code *c, const void *arg)
{
	(void)arg;
	ccpc_step_end(c);
}

int ccpc_conv_weights(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;
	struct chunk k = ccpc_chunk_shape(v);
	float *data;
	int ret = ccpc_weight_room(c, ccpc_chunk_count(v) * chunk_lines(&k) * LINE_FLOATS,
				   &n->weight_line, &data);

	if (ret)
		return ret;
	if (data)
		ccpc_pack(v, &k, data);
	n->first = ccpc_chunk_at(n, 0);
	return CNN_OK;
}

int ccpc_conv_emit(struct ccpc_code *c, struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;

	for (int64_t image = 0; image < v->n; image++) {
		for (int64_t g = 0; g < (v->block ? 1 : v->groups); g++) {
			struct conv_unit u = { .n = n, .image = image, .group = g };
			int ret = emit_steps(c, &u);

			if (ret)
				return ret;
		}
	}
	return ccpc_unit(c, emit_end, NULL);
}
