// SPDX-License-Identifier: MIT
/* Slabs and tiles of convolutions on core ccp, and the parameters of their EXECs. */
#include "conv.h"

/* Columns of outputs beside those of a slab that its input columns reach into. */
static int64_t halo(int64_t columns)
{
	return columns > 0 ? CCPC_LINE_FLOATS : 0;
}

static int64_t left_halo(const struct ccpc_conv *v)
{
	return halo(v->pad.left);
}

static int64_t right_halo(const struct ccpc_conv *v)
{
	return halo(v->kw - v->sx - v->pad.left);
}

/*
 * Slabs side by side. The first and the last lack a halo and are wider in its stead, so that all
 * take the same capacity.
 */
static int64_t slabs_in_row(const struct ccpc_conv *v)
{
	int64_t inside = v->ow - left_halo(v) - right_halo(v);

	return v->columns ? cnn_max(1, cnn_div_up(inside, v->columns)) : 1;
}

int64_t ccpc_slab_columns(const struct ccpc_conv *v)
{
	int64_t most = v->columns + cnn_max(left_halo(v), right_halo(v)) +
		       cnn_round_up(ccpc_most_phase(v->ow), CCPC_EXEC_COLUMNS);

	return v->columns ? cnn_min(most, v->ow) : v->ow;
}

int64_t ccpc_slab_count(const struct ccpc_conv *v)
{
	return cnn_div_up(v->oh, v->rows) * slabs_in_row(v);
}

/* First of the input columns that a slab needs, and one past the last, in whole lines. */
static int64_t columns_from(const struct ccpc_conv *v, const struct ccpc_slab *s)
{
	return cnn_max(0, s->x0 * v->sx - v->pad.left) / CCPC_LINE_FLOATS * CCPC_LINE_FLOATS;
}

static int64_t columns_to(const struct ccpc_conv *v, const struct ccpc_slab *s)
{
	int64_t end = (s->x1 - 1) * v->sx - v->pad.left + v->kw;

	return cnn_min(v->iw, cnn_round_up(end, CCPC_LINE_FLOATS));
}

static bool rows_start_anywhere(const struct ccpc_conv *v)
{
	return v->iw % CCPC_LINE_FLOATS || v->ow % CCPC_LINE_FLOATS;
}

/* The columns that the banks have, if all rows start at a line. */
static void place_columns(const struct ccpc_conv *v, struct ccpc_slab *s)
{
	int64_t step = CCPC_LINE_FLOATS * v->sx;
	int64_t end = cnn_round_up(cnn_max(columns_to(v, s), s->x1 * v->sx), step);

	s->in_x = columns_from(v, s) / step * step;
	s->in_columns = cnn_min(end, v->iw) - s->in_x;
	s->out_columns = (end < v->iw ? end / v->sx : v->ow) - s->in_x / v->sx;
	if (end < v->iw)
		s->pad.right = cnn_max(0, v->kw - v->sx - v->pad.left);
}

/*
 * The same if they do not. The banks then have as many columns less than the map as makes both the
 * columns before the slab and those behind it whole lines, and one line more, so that lines of two
 * rows do not meet in one of the bank: behind the slab, or before it if it has the ends of rows.
 */
static void place_columns_anywhere(const struct ccpc_conv *v, struct ccpc_slab *s)
{
	int64_t step = CCPC_LINE_FLOATS * v->sx, from = columns_from(v, s), to = columns_to(v, s);
	int64_t end = cnn_max(to, s->x1 * v->sx) + CCPC_LINE_FLOATS, behind;

	if (to == v->iw || s->x1 == v->ow)
		from = cnn_max(0, from - step);
	s->in_x = from / step * step;
	behind = cnn_max(0, v->iw - end) / step;
	s->in_columns = v->iw - s->in_x - behind * step;
	s->out_columns = v->ow - s->in_x / v->sx - behind * CCPC_LINE_FLOATS;
}

/*
 * Cuts a slab in columns. In the banks it is a map of its own with the padding of the whole: the
 * columns of both banks begin and end where an output column is at the start of a line and reads
 * input columns from the start of a line on. The outputs that lack a part of their window are not
 * computed; they are outside x0..x1-1. A row that starts inside a line has its line before x_first
 * shared with the slab to the left: both compute those columns.
 */
static void cut_columns(const struct ccpc_conv *v, int64_t i, struct ccpc_slab *s)
{
	int64_t last = slabs_in_row(v) - 1;

	s->first_x = i ? i * v->columns + left_halo(v) : 0;
	s->x0 = i ? s->first_x - cnn_round_up(ccpc_most_phase(v->ow), CCPC_EXEC_COLUMNS) : 0;
	s->x1 = i < last ? (i + 1) * v->columns + left_halo(v) : v->ow;
	if (rows_start_anywhere(v))
		place_columns_anywhere(v, s);
	else
		place_columns(v, s);
	s->out_x = s->in_x / v->sx;
}

/* One past the columns that are stored of a slab, wherever in a line a row starts. */
static int64_t stored_to(const struct ccpc_conv *v, const struct ccpc_slab *s)
{
	return s->x1 < v->ow ? s->x1 - ccpc_most_phase(v->ow) : v->ow;
}

/* Do lines of two rows meet in one of a bank? width: of the map; first, count: in the bank */
static bool lines_meet(int64_t width, int64_t first, int64_t count, int64_t from, int64_t to)
{
	int64_t phase = ccpc_most_phase(width);

	if (to == width)
		return phase && from == first;
	return phase && cnn_div_up(to - from + phase, CCPC_LINE_FLOATS) > count / CCPC_LINE_FLOATS;
}

/* True if the unit computes the outputs of a slab from what the banks have. */
static bool is_computable(const struct ccpc_conv *v, const struct ccpc_slab *s)
{
	int64_t beyond = s->in_columns + s->pad.left + s->pad.right - v->kw;

	if (s->rows < 1 || s->pad.top > CNNACC_CCP_PAD_MAX || s->pad.bottom > CNNACC_CCP_PAD_MAX)
		return false;
	return !v->columns ||
	       (columns_from(v, s) < columns_to(v, s) && beyond >= 0 &&
		beyond / v->sx + 1 == s->out_columns && s->out_x <= s->x0 &&
		s->x1 <= s->out_x + s->out_columns &&
		!lines_meet(v->iw, s->in_x, s->in_columns, columns_from(v, s), columns_to(v, s)) &&
		!lines_meet(v->ow, s->out_x, s->out_columns, s->first_x,
			    stored_to(v, s)));
}

void ccpc_slab_at(const struct ccpc_conv *v, int64_t i, struct ccpc_slab *s)
{
	int64_t beside = slabs_in_row(v), band = beside > 1 ? i / beside : i;
	int64_t y0 = band * v->rows, y1 = cnn_min(y0 + v->rows, v->oh);
	int64_t end = (y1 - 1) * v->sy + v->kh - v->pad.top;
	bool whole = !y0 && y1 == v->oh;

	s->y0 = y0;
	s->y1 = y1;
	s->first = whole ? 0 : cnn_max(0, y0 * v->sy - v->pad.top);
	s->rows = whole ? v->ih : cnn_min(v->ih, end) - s->first;
	s->x0 = s->first_x = s->in_x = s->out_x = 0;
	s->x1 = s->out_columns = v->ow;
	s->in_columns = v->iw;
	s->pad.top = cnn_max(0, v->pad.top - y0 * v->sy);
	s->pad.bottom = cnn_max(0, end - s->first - s->rows);
	s->pad.left = v->pad.left;
	s->pad.right = v->pad.right;
	if (v->columns)
		cut_columns(v, i - band * beside, s);
}

struct ccpc_region ccpc_slab_in(const struct ccpc_node *n, int64_t image, int64_t c0, int64_t c1,
				const struct ccpc_slab *s)
{
	const struct ccpc_conv *v = &n->conv;
	const struct ccpc_planes p = {
		image, c0, c1, s->first * v->iw, (s->first + s->rows) * v->iw
	};
	struct ccpc_columns columns;

	if (!v->columns)
		return ccpc_region_of(&n->in, &p);
	columns = (struct ccpc_columns){
		v->iw, s->in_x, s->in_columns, columns_from(v, s), columns_to(v, s)
	};
	return ccpc_region_of_columns(&n->in, &p, &columns);
}

struct ccpc_region ccpc_slab_out(const struct ccpc_node *n, const struct ccpc_operand *o,
				 int64_t image, int64_t c0, int64_t c1, const struct ccpc_slab *s)
{
	const struct ccpc_conv *v = &n->conv;
	int64_t ow = v->ow;
	const struct ccpc_planes p = { image, c0, c1, s->y0 * ow, s->y1 * ow };
	struct ccpc_columns columns;

	if (!n->conv.columns)
		return ccpc_region_of(o, &p);
	columns = (struct ccpc_columns){ ow, s->out_x, s->out_columns, s->first_x, stored_to(v, s) };
	return ccpc_region_of_columns(o, &p, &columns);
}

bool ccpc_slab_floats(const struct ccpc_node *n, int64_t in_ch, int64_t out_ch, int64_t *in,
		      int64_t *out)
{
	const struct ccpc_conv *v = &n->conv;
	int64_t slabs = ccpc_slab_count(v), beside = slabs_in_row(v);

	*in = *out = 0;
	/*
	 * All slabs side by side, then the first of each row of them, if none is wider; those whose
	 * rows start anywhere are.
	 */
	for (int64_t i = 0; i < slabs; i += i < beside || rows_start_anywhere(v) ? 1 : beside) {
		struct ccpc_region ri, ro;
		struct ccpc_slab s;

		ccpc_slab_at(v, i, &s);
		if (!is_computable(v, &s))
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

bool ccpc_can_cut_rows(const struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;

	if (v->rows >= v->oh)
		return true;
	/* An addition works on whole lines, so no line may belong to two slabs. */
	if (v->adds && v->rows * v->ow % CCPC_LINE_FLOATS)
		return false;
	return (n->in.bind.resident || ccpc_can_cut_planes(&n->in.layout)) &&
	       (n->out.bind.resident || ccpc_can_cut_planes(&n->out.layout));
}

/* The code of a tile has several transfers of cut rows. In smaller caches a tile may not fit. */
#define COLUMNS_INSNS_MIN 512

static bool starts_at_lines(const struct cnn_planes *l)
{
	return l->plane_pitch % CCPC_LINE_FLOATS == 0 && l->image_pitch % CCPC_LINE_FLOATS == 0;
}

/* Additions and averages do whole lines and columns; then, rows of the maps must start at a line. */
static bool can_cut_columns(const struct ccpc_hw *hw, const struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;

	if (hw->insns < COLUMNS_INSNS_MIN || n->in.bind.resident || n->out.bind.resident)
		return false;
	if (!rows_start_anywhere(v))
		return ccpc_can_cut_planes(&n->in.layout) && ccpc_can_cut_planes(&n->out.layout);
	return !v->adds && !v->average && starts_at_lines(&n->in.layout) &&
	       starts_at_lines(&n->out.layout);
}

int64_t ccpc_next_columns(const struct ccpc_hw *hw, const struct ccpc_node *n)
{
	const struct ccpc_conv *v = &n->conv;
	int64_t inside = v->ow - left_halo(v) - right_halo(v), columns = v->columns;
	int64_t slabs = slabs_in_row(v);

	if (!can_cut_columns(hw, n) || inside <= CCPC_LINE_FLOATS)
		return 0;
	while (columns != CCPC_LINE_FLOATS) {
		/* The increment grows, which bounds the number of attempts. */
		slabs += 1 + slabs / 8;
		columns = cnn_round_up(cnn_div_up(inside, slabs), CCPC_LINE_FLOATS);
		if (columns < inside && columns != v->columns)
			return columns;
	}
	return 0;
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

/* Rows of the widest slab that the banks have room for with so many channels. */
static int64_t rows_that_fit(const struct ccpc_node *n, int64_t in_ch, int64_t out_ch)
{
	const struct ccpc_conv *v = &n->conv;
	int64_t columns = cnn_min(v->columns + left_halo(v) + right_halo(v), v->ow);
	int64_t in = ccpc_in_capacity(n) / (in_ch * cnn_min(columns * v->sx, v->iw));
	int64_t out = cnn_min(ccpc_out_capacity(n) / (out_ch * columns), v->oh);

	if (in < v->ih)
		out = in < v->kh ? 0 : cnn_min((in - v->kh) / v->sy + 1, out);
	return out;
}

/* So many slabs give programs of more than CCPC_WORDS_MAX, however little each takes. */
#define SLABS_MAX (CCPC_WORDS_MAX / 64)

void ccpc_rows_to_try(const struct ccpc_node *n, int64_t in_ch, int64_t out_ch, int64_t limit,
		      int64_t rows[3])
{
	int64_t oh = n->conv.oh, fit = cnn_min(rows_that_fit(n, in_ch, out_ch), limit), even = 0;
	int64_t of_exec = cnn_min(cnn_min(oh, limit), CCPC_EXEC_ROWS);

	if (fit < oh && fit >= CCPC_EXEC_ROWS) {
		fit = fit / CCPC_EXEC_ROWS * CCPC_EXEC_ROWS;
		even = cnn_round_up(cnn_div_up(oh, cnn_div_up(oh, fit)), CCPC_EXEC_ROWS);
	}
	rows[0] = fit;
	rows[1] = even != fit ? even : 0;
	rows[2] = of_exec != fit && of_exec != even ? of_exec : 0;
	for (int i = 0; i < 3; i++)
		if (rows[i] && cnn_div_up(oh, rows[i]) * slabs_in_row(&n->conv) > SLABS_MAX)
			rows[i] = 0;
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
	return ccpc_slab_count(v) * batch_count(v);
}

struct ccpc_conv_tile ccpc_conv_tile_at(const struct ccpc_conv *v, int64_t i)
{
	int64_t slabs = ccpc_slab_count(v), batches = batch_count(v);
	int64_t slab = v->out_first ? i % slabs : i / batches;
	int64_t batch = v->out_first ? i / slabs : i % batches;
	struct ccpc_conv_tile t;

	ccpc_slab_at(v, slab, &t.s);
	t.g0 = batch * v->block;
	t.g1 = cnn_min(t.g0 + v->block, v->groups);
	t.o0 = v->block ? 0 : batch * v->out_co;
	t.o1 = v->block ? v->co : cnn_min(t.o0 + v->out_co, v->co);
	return t;
}

struct ccpc_region ccpc_next_input(const struct ccpc_conv_part *u)
{
	const struct ccpc_conv *v = &u->n->conv;
	int64_t image = u->image, group = u->group, i = u->i + 1;
	struct ccpc_conv_tile t = ccpc_conv_tile_at(v, u->i);

	if (i == ccpc_conv_tile_count(v)) {
		i = 0;
		group = v->block ? 0 : (group + 1) % v->groups;
		image += !group;
	}
	if (image == v->n || v->slice_input || u->x1 < ccpc_patch_columns(&t.s))
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
	ccpc_set(c, 1, s->in_columns | s->out_columns << 16);
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
