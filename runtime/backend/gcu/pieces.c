// SPDX-License-Identifier: MIT
/*
 * A convolution in pieces: ranges of output rows, of output columns, of output and input channels
 * and of the kernel. Each is a block; those that add up to one part of the output follow each other
 * and keep their accumulators in memory.
 */
#include "sides.h"

static const int64_t kbuf_sizes[] = { 1, 9, 25, 49, 81, CNNACC_GCU_POINTS_MAX };

#define FAR_AWAY	INT32_MAX	/* padding before a map that is never reached */

bool gcuc_is_native(const struct gcuc_conv *v)
{
	return v->groups > 1 && v->ci == v->co && !v->group_of;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static bool set_buffers(const struct gcuc_hw *hw, const struct gcuc_plan *plan,
			struct gcuc_block *b)
{
	int64_t groups = 0;

	b->kbuf_points = gcuc_kbuf_points(b->y.kernel * b->x.kernel);
	b->fmbuf_banks = plan->fmbuf_banks;
	for (b->column_code = 0; gcuc_columns(b) < b->x.in; b->column_code++)
		if (b->column_code == CNNACC_GCU_COLUMNS_CODE_MAX)
			return false;
	for (int64_t kg = 0; kg < gcuc_kernel_groups(hw, b); kg++)
		groups = cnn_max(groups, gcuc_range(hw, b, kg).count);
	b->kbuf_groups = cnn_min(cnn_max(3, groups), (hw->banks - b->fmbuf_banks) *
				 CNNACC_GCU_BANK_WORDS / (b->kbuf_points * hw->atomic_k));
	b->rows = b->fmbuf_banks * CNNACC_GCU_BANK_WORDS / gcuc_columns(b);
	b->rows = cnn_min(cnn_min(b->rows, hw->rows_max),
			  gcuc_channel_groups(hw, b) * b->y.in);
	return b->kbuf_points && b->kbuf_groups >= 3 && b->rows >= 1 &&
	       b->x.out <= hw->rbuf_depth;
}

/* Where a part of a value begins. */
struct corner {
	int64_t image, group, slice, row, column;
};

static struct gcuc_map map_of(const struct gcuc_plan *plan, const struct gcuc_view *v,
			      const struct corner *c)
{
	int64_t row = v->row * plan->merge;

	return (struct gcuc_map){
		.at = c->image * v->image + c->group * v->group + c->slice * v->slice +
		      c->row * row + c->column * v->column,
		.column = v->column, .row = row, .group = v->group,
	};
}

static uint32_t format_of(const struct gcuc_conv *v)
{
	return CNNACC_GCU_LAYER | (uint32_t)v->format << CNNACC_GCU_FORMAT_SHIFT |
	       (v->x_unsigned ? CNNACC_GCU_UNSIGNED_IFMAP : 0) |
	       (v->w_unsigned ? CNNACC_GCU_UNSIGNED_WEIGHTS : 0);
}

static uint32_t result_of(const struct gcuc_conv *v)
{
	return (uint32_t)v->result << CNNACC_GCU_OUT_SHIFT |
	       (uint32_t)v->act << CNNACC_GCU_ACT_SHIFT | (v->clamp ? CNNACC_GCU_CLAMP : 0) |
	       (v->linear ? CNNACC_GCU_LINEAR : 0) |
	       (v->linear && v->round_up ? CNNACC_GCU_ROUND_UP : 0);
}

/* Which piece: ranges of all that is cut, and its place among those that add up. */
struct place {
	struct gcuc_side y, x;
	struct gcuc_span rows, columns, k, c, kernel_y, kernel_x;
	int64_t image, slice, kernel_z, number;
	bool adds, first, last;
	bool nothing;			/* it reads padding alone */
};

static struct corner output_corner(const struct gcuc_hw *hw, const struct place *at)
{
	return (struct corner){
		.image = at->image, .group = at->k.first / hw->atomic_c, .slice = at->slice,
		.row = at->rows.first * at->y.out_step + at->y.out_first,
		.column = at->columns.first * at->x.out_step + at->x.out_first,
	};
}

static void set_results(const struct gcuc_hw *hw, const struct gcuc_node *n, const struct place *at,
			struct gcuc_piece *p)
{
	const struct corner corner = output_corner(hw, at);
	int64_t pixel = hw->atomic_c * 4;
	const struct gcuc_map psum = {
		.at = n->conv.psum_at, .column = pixel,
		.row = pixel * at->columns.count,
		.group = pixel * at->columns.count * at->rows.count,
	};

	p->b.ofmap = map_of(&n->plan, &n->plan.ofm, &corner);
	p->b.ofmap.row *= at->y.out_step;
	p->b.ofmap.column *= at->x.out_step;
	p->b.result = gcuc_result(&n->conv);
	if (!at->first) {
		p->b.control |= CNNACC_GCU_PSUM;
		p->b.psum = psum;
	}
	if (at->last) {
		p->b.control |= result_of(&n->conv);
		return;
	}
	p->b.ofmap = psum;
	p->b.result = 4;
	p->b.control |= (n->conv.format == CNNACC_GCU_FP16 ? CNNACC_GCU_OUT_FP32 :
							     CNNACC_GCU_OUT_INT32)
			<< CNNACC_GCU_OUT_SHIFT;
}

/* The addend as a convolution of each channel with 1. */
static void set_addend(const struct gcuc_hw *hw, const struct gcuc_node *n, const struct place *at,
		       struct gcuc_piece *p)
{
	const struct gcuc_axis point = { .kernel = 1, .stride = 1 };
	const struct corner corner = output_corner(hw, at);

	p->b.y = p->b.x = point;
	p->b.y.in = p->b.y.out = at->rows.count;
	p->b.x.in = p->b.x.out = at->columns.count;
	p->b.c = p->b.groups = at->k.count;
	p->c0 = at->k.first;
	p->c_end = at->k.first + at->k.count;
	p->b.ifmap = map_of(&n->plan, &n->plan.add, &corner);
}

static bool set_inputs(const struct gcuc_hw *hw, const struct gcuc_node *n, const struct place *at,
		       struct gcuc_piece *p)
{
	struct corner corner = {
		.image = at->image, .group = at->c.first / hw->atomic_c,
		.slice = at->nothing ? 0 : gcuc_slice_at(&n->conv.z, at->slice, at->kernel_z),
	};
	struct gcuc_axis y = at->y.a;

	if (at->nothing)
		y.begin = FAR_AWAY;
	if (!gcuc_cut_axis(&y, at->rows, at->kernel_y, &p->b.y, &corner.row) ||
	    !gcuc_cut_axis(&at->x.a, at->columns, at->kernel_x, &p->b.x, &corner.column))
		return false;
	p->c0 = at->c.first;
	p->c_end = at->c.first + at->c.count;
	p->b.c = at->c.count;
	p->b.groups = gcuc_is_native(&n->conv) ? n->conv.groups : 1;
	p->b.ifmap = map_of(&n->plan, &n->plan.ifm, &corner);
	return true;
}

static bool make_piece(const struct gcuc_hw *hw, const struct gcuc_node *n, const struct place *at,
		       struct gcuc_piece *p)
{
	*p = (struct gcuc_piece){
		.k0 = at->k.first,
		.first = {
			.z = at->kernel_z,
			.y = at->y.kernel_first + at->kernel_y.first * at->y.kernel_step,
			.x = at->x.kernel_first + at->kernel_x.first * at->x.kernel_step,
		},
		.step = { .z = 1, .y = at->y.kernel_step, .x = at->x.kernel_step },
		.number = at->number, .adds = at->adds,
		.b = { .k = at->k.count, .element = gcuc_element(&n->conv),
		       .control = format_of(&n->conv) },
	};
	if (at->adds)
		set_addend(hw, n, at, p);
	else if (!set_inputs(hw, n, at, p))
		return false;
	set_results(hw, n, at, p);
	return set_buffers(hw, &n->plan, &p->b);
}

/* ---- all pieces -------------------------------------------------------------------------- */

/* The input channels that a range of output channels needs, from a whole group of lanes on. */
static struct gcuc_span channels_of(const struct gcuc_hw *hw, const struct gcuc_conv *v,
				    struct gcuc_span k)
{
	int64_t first = gcuc_group(v, k.first) * v->ci;
	int64_t end = (gcuc_group(v, k.first + k.count - 1) + 1) * v->ci;

	if (gcuc_is_native(v))
		return (struct gcuc_span){ 0, v->ifm.c };
	first -= first % hw->atomic_c;
	return (struct gcuc_span){ first, end - first };
}

struct walk {
	const struct gcuc_hw *hw;
	const struct gcuc_node *n;
	int (*each)(void *opaque, const struct gcuc_piece *p);
	void *opaque;
	int64_t number;			/* weights of this range of output channels begin here */
};

static int64_t parts(int64_t all, int64_t size)
{
	return cnn_div_up(all, size);
}

static int call(const struct walk *w, const struct place *at)
{
	struct gcuc_piece p;

	return make_piece(w->hw, w->n, at, &p) ? w->each(w->opaque, &p) : CNN_ELIMIT;
}

/* What one slice of the kernel adds to a part of the output. */
static int add_slice(const struct walk *w, struct place *at, struct gcuc_span channels,
		     bool last)
{
	const struct gcuc_sizes *s = &w->n->plan.sizes;
	int64_t ny = parts(at->y.a.kernel, s->kernel_y), nx = parts(at->x.a.kernel, s->kernel_x);
	int64_t nc = parts(channels.count, s->c), n = ny * nx * nc;
	int ret = CNN_OK;

	for (int64_t i = 0; i < n && !ret; i++) {
		at->kernel_y = gcuc_span_at(i / nc / nx, s->kernel_y, at->y.a.kernel);
		at->kernel_x = gcuc_span_at(i / nc % nx, s->kernel_x, at->x.a.kernel);
		at->c = gcuc_span_at(i % nc, s->c, channels.count);
		at->c.first += channels.first;
		at->number = w->number + at->kernel_z * n + i;
		at->last = last && i + 1 == n;
		ret = call(w, at);
		at->first = false;
	}
	return ret;
}

/* A part of the output that no slice of the kernel adds anything to. */
static int add_nothing(const struct walk *w, struct place *at, struct gcuc_span channels)
{
	const struct gcuc_sizes *s = &w->n->plan.sizes;
	int ret;

	at->kernel_z = 0;
	at->kernel_y = gcuc_span_at(0, s->kernel_y, at->y.a.kernel);
	at->kernel_x = gcuc_span_at(0, s->kernel_x, at->x.a.kernel);
	at->c = gcuc_span_at(0, s->c, channels.count);
	at->c.first += channels.first;
	at->number = w->number;
	at->nothing = at->last = true;
	ret = call(w, at);
	at->nothing = false;
	return ret;
}

/* All that adds up to one part of the output. */
static int sum_up(const struct walk *w, struct place *at, struct gcuc_span channels)
{
	const struct gcuc_axis *z = &w->n->conv.z;
	struct gcuc_span slices = gcuc_kernel_slices(z, at->slice);
	int64_t end = slices.first + slices.count;
	int ret = CNN_OK;

	at->adds = w->n->conv.add >= 0;
	at->first = true;
	at->last = false;
	if (at->adds) {
		ret = call(w, at);
		at->adds = at->first = false;
	}
	if (!slices.count && !ret)
		ret = add_nothing(w, at, channels);
	for (at->kernel_z = slices.first; at->kernel_z < end && !ret; at->kernel_z++)
		if (gcuc_slice_at(z, at->slice, at->kernel_z) >= 0)
			ret = add_slice(w, at, channels, at->kernel_z + 1 == end);
	return ret;
}

/* Pieces of a phase that add up to one part of the output: each has weights of its own. */
static int64_t weights_of(const struct gcuc_node *n, const struct place *at,
			  struct gcuc_span channels)
{
	const struct gcuc_sizes *s = &n->plan.sizes;

	return n->conv.z.kernel * parts(at->y.a.kernel, s->kernel_y) *
	       parts(at->x.a.kernel, s->kernel_x) * parts(channels.count, s->c);
}

static int each_part(struct walk *w, struct place *at)
{
	const struct gcuc_sizes *s = &w->n->plan.sizes;
	struct gcuc_span channels = channels_of(w->hw, &w->n->conv, at->k);
	int ret = CNN_OK;

	for (int64_t i = 0; i < parts(at->y.a.out, s->rows); i++)
		for (int64_t j = 0; j < parts(at->x.a.out, s->columns) && !ret; j++) {
			at->rows = gcuc_span_at(i, s->rows, at->y.a.out);
			at->columns = gcuc_span_at(j, s->columns, at->x.a.out);
			for (at->slice = 0; at->slice < w->n->conv.z.out && !ret; at->slice++)
				ret = sum_up(w, at, channels);
		}
	w->number += weights_of(w->n, at, channels);
	return ret;
}

/* Of an image: all phases and ranges of output channels. */
static int each_range(struct walk *w, struct place *at)
{
	int64_t k = w->n->conv.ofm.c, size = w->n->plan.sizes.k;
	int ret = CNN_OK;

	w->number = 0;
	for (int64_t phase = 0; phase < gcuc_all_phases(w->n); phase++) {
		gcuc_get_sides(w->n, phase, &at->y, &at->x);
		for (int64_t i = 0; i < parts(k, size) && !ret; i++) {
			at->k = gcuc_span_at(i, size, k);
			ret = each_part(w, at);
		}
	}
	return ret;
}

int gcuc_each_piece(const struct gcuc_hw *hw, const struct gcuc_node *n,
		    int (*each)(void *opaque, const struct gcuc_piece *p), void *opaque)
{
	struct walk w = { .hw = hw, .n = n, .each = each, .opaque = opaque };
	struct place at = { .image = 0 };
	int ret = CNN_OK;

	for (; at.image < n->conv.ifm.n && !ret; at.image++)
		ret = each_range(&w, &at);
	return ret;
}

/* Pieces of an image: those with weights of their own, and all. */
static void count_pieces(const struct gcuc_hw *hw, const struct gcuc_node *n, int64_t *weights,
			 int64_t *all)
{
	const struct gcuc_sizes *s = &n->plan.sizes;
	int64_t k = n->conv.ofm.c;
	struct place at = { .image = 0 };

	*weights = *all = 0;
	for (int64_t i = 0; i < gcuc_all_phases(n) * parts(k, s->k); i++) {
		struct gcuc_span span = gcuc_span_at(i % parts(k, s->k), s->k, k);
		int64_t own;

		gcuc_get_sides(n, i / parts(k, s->k), &at.y, &at.x);
		own = weights_of(n, &at, channels_of(hw, &n->conv, span));
		*weights += own;
		*all += (own + (n->conv.add >= 0)) * parts(at.y.a.out, s->rows) *
			parts(at.x.a.out, s->columns) * n->conv.z.out;
	}
}

int64_t gcuc_weight_pieces(const struct gcuc_hw *hw, const struct gcuc_node *n)
{
	int64_t weights, all;

	count_pieces(hw, n, &weights, &all);
	return weights;
}

int64_t gcuc_count_pieces(const struct gcuc_hw *hw, const struct gcuc_node *n)
{
	int64_t weights, all;

	count_pieces(hw, n, &weights, &all);
	return all * n->conv.ifm.n;
}

bool gcuc_typical_piece(const struct gcuc_hw *hw, const struct gcuc_node *n, struct gcuc_piece *p)
{
	const struct gcuc_sizes *s = &n->plan.sizes;
	struct place at = { .k = gcuc_span_at(0, s->k, n->conv.ofm.c) };
	struct gcuc_span channels = channels_of(hw, &n->conv, at.k);

	gcuc_get_sides(n, 0, &at.y, &at.x);
	at.kernel_z = gcuc_kernel_slices(&n->conv.z, 0).first;
	at.nothing = at.kernel_z == n->conv.z.kernel;
	at.rows = gcuc_span_at((parts(at.y.a.out, s->rows) - 1) / 2, s->rows, at.y.a.out);
	at.columns = gcuc_span_at((parts(at.x.a.out, s->columns) - 1) / 2, s->columns, at.x.a.out);
	at.kernel_y = gcuc_span_at(0, s->kernel_y, at.y.a.kernel);
	at.kernel_x = gcuc_span_at(0, s->kernel_x, at.x.a.kernel);
	at.c = gcuc_span_at(0, s->c, channels.count);
	at.c.first += channels.first;
	at.first = weights_of(n, &at, channels) == 1 && n->conv.add < 0;
	at.last = true;
	return make_piece(hw, n, &at, p);
}

/* ---- what match and plan have to know ------------------------------------------------------ */

#define PSUM_BYTES	(1 << 20)	/* or those of one range of kernel groups */

int64_t gcuc_kbuf_points(int64_t points)
{
	for (size_t i = 0; i < sizeof(kbuf_sizes) / sizeof(kbuf_sizes[0]); i++)
		if (points <= kbuf_sizes[i])
			return kbuf_sizes[i];
	return 0;
}

/* Words of a channel group in the kernel area; and of all that area, if one bank has rows. */
static int64_t group_words(const struct gcuc_hw *hw, int64_t points)
{
	return gcuc_kbuf_points(points) * hw->atomic_k;
}

static int64_t kernel_words(const struct gcuc_hw *hw)
{
	return (hw->banks - 1) * CNNACC_GCU_BANK_WORDS;
}

static bool kernel_fits(const struct gcuc_hw *hw, int64_t points)
{
	return points <= CNNACC_GCU_POINTS_MAX && 3 * group_words(hw, points) <= kernel_words(hw);
}

void gcuc_cut_kernel(const struct gcuc_hw *hw, struct gcuc_sizes *s)
{
	while (!kernel_fits(hw, s->kernel_y * s->kernel_x)) {
		int64_t *longer = s->kernel_y > 1 ? &s->kernel_y : &s->kernel_x;

		*longer = cnn_div_up(*longer, 2);
	}
}

/* The step of ranges of output channels: groups of both kinds begin there. */
static int64_t k_step(const struct gcuc_hw *hw)
{
	return cnn_max(hw->atomic_c, hw->atomic_k);
}

void gcuc_reserve_psum(const struct gcuc_hw *hw, struct gcuc_conv *v, int64_t ofm_bytes)
{
	int64_t points = v->y.kernel * v->x.kernel, plane = v->y.out * v->x.out * 4;
	int64_t groups = cnn_div_up(v->ifm.c, hw->atomic_c), step = k_step(hw);

	v->psum_at = cnn_round_up(ofm_bytes, CNNACC_LINE_SIZE);
	v->psum_bytes = 0;
	if (v->add < 0 && v->z.kernel == 1 && kernel_fits(hw, points) &&
	    (gcuc_is_native(v) || groups * group_words(hw, points) <= kernel_words(hw)))
		return;
	v->psum_bytes = cnn_round_up(v->ofm.c, step) * plane;
	v->psum_bytes = cnn_min(v->psum_bytes, cnn_max(PSUM_BYTES, step * plane));
}

int64_t gcuc_psum_bytes(const struct gcuc_hw *hw, const struct gcuc_node *n)
{
	const struct gcuc_sizes *s = &n->plan.sizes;
	int64_t k = cnn_min(s->k, n->conv.ofm.c);
	struct gcuc_span channels = channels_of(hw, &n->conv, (struct gcuc_span){ 0, k });
	struct place at = { .image = 0 };

	gcuc_get_sides(n, 0, &at.y, &at.x);
	if (n->conv.add < 0 && weights_of(n, &at, channels) == 1)
		return 0;
	return cnn_round_up(k, hw->atomic_c) * s->rows * s->columns * 4;
}
