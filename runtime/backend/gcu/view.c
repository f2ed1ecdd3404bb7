// SPDX-License-Identifier: MIT
/* Layouts of values as the maps that core gcu reads and writes. */
#include "gcu.h"

/* Axes of a layout that are taken one after the other, from the inside out. */
struct cursor {
	struct cnn_run runs[CNN_AXES_MAX];
	int n, at;
};

static void step_over(struct cursor *c, int64_t count)
{
	struct cnn_run *r = &c->runs[c->at];

	r->count /= count;
	r->step *= count;
	if (r->count == 1)
		c->at++;
}

/* Takes an axis of so many indices. */
static bool take(struct cursor *c, int64_t count, int64_t *step)
{
	struct cnn_run *r = &c->runs[c->at];

	*step = 0;
	if (count == 1)
		return true;
	if (c->at == c->n || r->last || r->count % count || (c->at + 1 < c->n && r[1].last))
		return false;
	*step = r->step;
	step_over(c, count);
	return true;
}

/* Takes channels in groups of lanes. */
static bool take_channels(struct cursor *c, int64_t count, int64_t lanes, int64_t *group)
{
	struct cnn_run *r = &c->runs[c->at];
	int64_t blocks = count / lanes, step;

	*group = 0;
	if (take(c, count, &step)) {
		*group = lanes;
		return step <= 1;
	}
	if (c->at + 1 >= c->n || r->count != lanes || r->step != 1)
		return false;
	*group = r[1].step;
	c->at++;
	if (r[1].last && (r[1].count - 1) * lanes + r[1].last == count) {
		c->at++;
		return true;
	}
	if (r[1].last || count % lanes || r[1].count % blocks)
		return false;
	step_over(c, blocks);
	return true;
}

bool gcuc_view(const struct cnn_layout *l, const struct gcuc_maps *maps, int64_t lanes,
	       struct gcuc_view *v)
{
	struct cursor c = { .n = 0 };
	bool ok;

	*v = (struct gcuc_view){ 0 };
	if (l->codes)
		return false;
	c.n = cnn_layout_runs(l, c.runs);
	if (maps->matrix)
		ok = take_channels(&c, maps->c, lanes, &v->group) && take(&c, maps->w, &v->column);
	else
		ok = take(&c, maps->w, &v->column) && take(&c, maps->h, &v->row) &&
		     take(&c, maps->d, &v->slice) &&
		     take_channels(&c, maps->c, lanes, &v->group) && take(&c, maps->n, &v->image);
	v->column *= l->size;
	v->row *= l->size;
	v->slice *= l->size;
	v->group *= l->size;
	v->image *= l->size;
	return ok && c.at == c.n;
}

struct cnn_layout gcuc_layout(const struct gcuc_maps *maps, int64_t lanes, int64_t size, bool half)
{
	const int64_t dims[CNN_DIMS] = { maps->n, maps->c, maps->d * maps->h, maps->w };
	const struct cnn_planes rows = {
		.n = 1, .c = maps->w, .plane = maps->c, .plane_pitch = maps->c,
		.image_pitch = maps->w * maps->c, .size = size,
	};
	struct cnn_layout l = maps->matrix ? cnn_planes_layout(&rows) :
					     cnn_blocks_layout(dims, lanes, size);

	return half ? cnn_half_layout(l) : l;
}

/* What gcuc_layout made. A matrix is read with any number of lanes if its rows are as they are. */
static void get_maps(const struct cnn_layout *l, struct gcuc_maps *maps, int64_t *lanes)
{
	bool matrix = l->axes == 3;

	*lanes = matrix ? l->dims[CNN_DIM_COLUMNS] : l->axis[2].extent;
	*maps = (struct gcuc_maps){
		.n = l->dims[CNN_DIM_BATCH], .d = 1, .h = l->dims[CNN_DIM_ROWS], .matrix = matrix,
		.c = l->dims[matrix ? CNN_DIM_COLUMNS : CNN_DIM_CHANNELS],
		.w = l->dims[matrix ? CNN_DIM_CHANNELS : CNN_DIM_COLUMNS],
	};
}

bool gcuc_reads(const struct cnn_layout *has, struct cnn_layout *want)
{
	struct gcuc_maps maps;
	struct gcuc_view v;
	int64_t lanes;

	get_maps(want, &maps, &lanes);
	if (has->size != want->size || has->half != want->half ||
	    !gcuc_view(has, &maps, lanes, &v))
		return false;
	*want = *has;
	return true;
}
