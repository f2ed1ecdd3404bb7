// SPDX-License-Identifier: MIT
/* Layouts: made from what a core computes with, checked, compared and seen as planes. */
#include <string.h>

#include "ir/tensor.h"
#include "layout.h"

/* Elements that a layout may reach over, so that nothing that is computed of it overflows. */
#define REACH_MAX (INT64_MAX / 8)

static void add_axis(struct cnn_layout *l, enum cnn_dim dim, int64_t extent, int64_t stride)
{
	l->axis[l->axes++] = (struct cnn_axis){ (int64_t)dim, extent, stride };
}

struct cnn_layout cnn_dense_layout(const int64_t dims[CNN_DIMS], int64_t size)
{
	const struct cnn_planes p = {
		.n = dims[CNN_DIM_BATCH], .c = dims[CNN_DIM_CHANNELS],
		.plane = dims[CNN_DIM_ROWS] * dims[CNN_DIM_COLUMNS],
		.plane_pitch = dims[CNN_DIM_ROWS] * dims[CNN_DIM_COLUMNS],
		.image_pitch = dims[CNN_DIM_CHANNELS] * dims[CNN_DIM_ROWS] * dims[CNN_DIM_COLUMNS],
		.size = size,
	};

	return cnn_planes_layout(&p);
}

struct cnn_layout cnn_planes_layout(const struct cnn_planes *p)
{
	struct cnn_layout l = { .dims = { p->n, p->c, 1, p->plane }, .size = p->size,
				.codes = p->codes, .half = p->half };

	add_axis(&l, CNN_DIM_BATCH, p->n, p->image_pitch);
	add_axis(&l, CNN_DIM_CHANNELS, p->c, p->plane_pitch);
	add_axis(&l, CNN_DIM_COLUMNS, p->plane, 1);
	return l;
}

struct cnn_layout cnn_pixels_layout(const struct cnn_pixels *p)
{
	struct cnn_layout l = { .dims = { p->n, p->c, p->rows, p->columns }, .size = p->size,
				.codes = p->codes, .half = p->half };

	add_axis(&l, CNN_DIM_BATCH, p->n, p->image_pitch);
	add_axis(&l, CNN_DIM_CHANNELS, p->c, 1);
	add_axis(&l, CNN_DIM_ROWS, p->rows, p->row_pitch);
	add_axis(&l, CNN_DIM_COLUMNS, p->columns, p->column_pitch);
	return l;
}

struct cnn_layout cnn_blocks_layout(const int64_t dims[CNN_DIMS], int64_t block, int64_t size)
{
	const int64_t rows = dims[CNN_DIM_ROWS], columns = dims[CNN_DIM_COLUMNS];
	const int64_t blocks = (dims[CNN_DIM_CHANNELS] + block - 1) / block;
	struct cnn_layout l = { .size = size };

	memcpy(l.dims, dims, sizeof(l.dims));
	add_axis(&l, CNN_DIM_BATCH, dims[CNN_DIM_BATCH], blocks * rows * columns * block);
	add_axis(&l, CNN_DIM_CHANNELS, blocks, rows * columns * block);
	add_axis(&l, CNN_DIM_CHANNELS, block, 1);
	add_axis(&l, CNN_DIM_ROWS, rows, columns * block);
	add_axis(&l, CNN_DIM_COLUMNS, columns, block);
	return l;
}

struct cnn_layout cnn_half_layout(struct cnn_layout l)
{
	l.half = 1;
	return l;
}

bool cnn_layout_planes(const struct cnn_layout *l, struct cnn_planes *out)
{
	*out = (struct cnn_planes){
		.n = l->axis[0].extent, .c = l->axis[1].extent, .plane = l->axis[2].extent,
		.plane_pitch = l->axis[1].stride, .image_pitch = l->axis[0].stride,
		.size = l->size, .codes = l->codes, .half = l->half,
	};
	return l->axes == 3 && l->axis[1].dim == CNN_DIM_CHANNELS &&
	       l->axis[2].dim == CNN_DIM_COLUMNS && l->axis[2].stride == 1;
}

bool cnn_layout_pixels(const struct cnn_layout *l, struct cnn_pixels *out)
{
	*out = (struct cnn_pixels){
		.n = l->axis[0].extent, .c = l->axis[1].extent, .rows = l->axis[2].extent,
		.columns = l->axis[3].extent, .image_pitch = l->axis[0].stride,
		.row_pitch = l->axis[2].stride, .column_pitch = l->axis[3].stride,
		.size = l->size, .codes = l->codes, .half = l->half,
	};
	return l->axes == 4 && l->axis[1].dim == CNN_DIM_CHANNELS &&
	       l->axis[2].dim == CNN_DIM_ROWS && l->axis[1].stride == 1;
}

/* ---- runs -------------------------------------------------------------------------------- */

static void add_run(struct cnn_run *runs, int *n, struct cnn_run run)
{
	struct cnn_run *inner = &runs[*n - 1];

	if (run.count == 1)
		return;
	if (*n && !run.last && !inner->last && run.step == inner->count * inner->step)
		inner->count *= run.count;
	else
		runs[(*n)++] = run;
}

/* The runs of a dimension of two axes. */
static void add_split(const struct cnn_layout *l, const struct cnn_axis *axis, struct cnn_run *runs,
		      int *n)
{
	const struct cnn_axis *outer = &axis[0], *inner = &axis[1];
	int64_t size = l->dims[outer->dim], last = size % inner->extent;

	if (inner->extent == 1) {
		add_run(runs, n, (struct cnn_run){ size, outer->stride, 0 });
	} else if (outer->extent == 1 || outer->stride == inner->extent * inner->stride) {
		add_run(runs, n, (struct cnn_run){ size, inner->stride, 0 });
	} else if (!last) {
		add_run(runs, n, (struct cnn_run){ inner->extent, inner->stride, 0 });
		add_run(runs, n, (struct cnn_run){ outer->extent, outer->stride, 0 });
	} else {
		runs[(*n)++] = (struct cnn_run){ inner->extent, inner->stride, 0 };
		runs[(*n)++] = (struct cnn_run){ outer->extent, outer->stride, last };
	}
}

int cnn_layout_runs(const struct cnn_layout *l, struct cnn_run runs[CNN_AXES_MAX])
{
	int n = 0;

	for (int i = (int)l->axes - 1; i >= 0; i--) {
		const struct cnn_axis *axis = &l->axis[i];

		if (i && axis[-1].dim == axis->dim)
			add_split(l, &l->axis[--i], runs, &n);
		else
			add_run(runs, &n, (struct cnn_run){ axis->extent, axis->stride, 0 });
	}
	return n;
}

/* ---- questions --------------------------------------------------------------------------- */

/* Does the axis at *i, and the next one if they share a dimension, give the dimension its size? */
static bool check_dim(const struct cnn_layout *l, int *i, int64_t dim)
{
	const struct cnn_axis *axis = &l->axis[*i];
	int64_t size = l->dims[dim];

	if (*i == l->axes || axis->dim != dim)
		return size == 1;
	++*i;
	if (*i == l->axes || axis[1].dim != dim)
		return axis->extent == size;
	++*i;
	return axis[1].extent > 0 &&
	       axis->extent == size / axis[1].extent + (size % axis[1].extent != 0);
}

static bool check_dims(const struct cnn_layout *l)
{
	int at = 0;

	if (l->axes < 0 || l->axes > CNN_AXES_MAX)
		return false;
	for (int64_t dim = 0; dim < CNN_DIMS; dim++)
		if (l->dims[dim] < 0 || !check_dim(l, &at, dim))
			return false;
	return at == l->axes;
}

/* Indices of axes by stride, those of one index left out. */
static int sort_axes(const struct cnn_layout *l, int order[CNN_AXES_MAX])
{
	int n = 0;

	for (int i = 0; i < l->axes; i++) {
		int at = n;

		if (l->axis[i].extent == 1)
			continue;
		for (; at && l->axis[order[at - 1]].stride > l->axis[i].stride; at--)
			order[at] = order[at - 1];
		order[at] = i;
		n++;
	}
	return n;
}

/* The host packs whole bytes: of the blocks that share one, all must be full. */
static bool check_packed(const struct cnn_layout *l, const struct cnn_axis *axis)
{
	int64_t per_byte = 8 / cnn_packed_bits(l->codes);

	if (!l->codes || axis->stride % per_byte == 0)
		return true;
	return axis->stride == 1 && (axis == &l->axis[l->axes - 1] || axis[1].dim != axis->dim);
}

static bool check_format(const struct cnn_layout *l)
{
	if (l->codes && (l->size != 1 || !cnn_packed_format(l->codes)))
		return false;
	return l->half ? l->half == 1 && l->size == 2 && !l->codes : l->size >= 1;
}

bool cnn_layout_valid(const struct cnn_layout *l)
{
	int64_t reach = 0;
	int order[CNN_AXES_MAX], n;

	if (!check_format(l) || !check_dims(l))
		return false;
	if (!cnn_layout_count(l))
		return true;
	n = sort_axes(l, order);
	for (int i = 0; i < n; i++) {
		const struct cnn_axis *axis = &l->axis[order[i]];

		if (axis->stride <= reach || !check_packed(l, axis))
			return false;
		reach = cnn_add_sat(reach, cnn_mul_sat(axis->extent - 1, axis->stride));
	}
	return reach <= REACH_MAX;
}

bool cnn_layout_equal(const struct cnn_layout *a, const struct cnn_layout *b)
{
	struct cnn_run x[CNN_AXES_MAX], y[CNN_AXES_MAX];
	int n = cnn_layout_runs(a, x);

	return a->size == b->size && a->codes == b->codes && a->half == b->half &&
	       cnn_layout_count(a) == cnn_layout_count(b) && cnn_layout_runs(b, y) == n &&
	       !memcmp(x, y, (size_t)n * sizeof(*x));
}

bool cnn_layout_dense(const struct cnn_layout *l)
{
	struct cnn_run runs[CNN_AXES_MAX];
	int n = cnn_layout_runs(l, runs);

	return !l->codes && !l->half && (n == 0 || (n == 1 && runs[0].step == 1));
}

int64_t cnn_layout_count(const struct cnn_layout *l)
{
	int64_t count = 1;

	for (int i = 0; i < CNN_DIMS; i++)
		count = l->dims[i] ? cnn_mul_sat(count, l->dims[i]) : 0;
	return count;
}

int64_t cnn_layout_value_size(const struct cnn_layout *l)
{
	return l->half ? (int64_t)sizeof(float) : l->size;
}

static int64_t reach_of(int64_t count, int64_t step)
{
	return cnn_mul_sat(count - 1, step);
}

/* The last element of blocks of which the last is partly filled may be in the one before. */
static int64_t reach_of_blocks(const struct cnn_run *inner, const struct cnn_run *outer)
{
	int64_t whole = cnn_add_sat(reach_of(outer->count - 1, outer->step),
				    reach_of(inner->count, inner->step));
	int64_t last = cnn_add_sat(reach_of(outer->count, outer->step),
				   reach_of(outer->last, inner->step));

	return whole > last ? whole : last;
}

int64_t cnn_layout_bytes(const struct cnn_layout *l)
{
	struct cnn_run runs[CNN_AXES_MAX];
	int n = cnn_layout_runs(l, runs);
	int64_t elements = 1, bits;

	if (!cnn_layout_count(l))
		return 0;
	for (int i = 0; i < n; i++) {
		bool blocks = i + 1 < n && runs[i + 1].last;

		elements = cnn_add_sat(elements, blocks ? reach_of_blocks(&runs[i], &runs[i + 1]) :
						 reach_of(runs[i].count, runs[i].step));
		i += blocks;
	}
	if (!l->codes)
		return cnn_mul_sat(elements, l->size);
	bits = cnn_mul_sat(elements, cnn_packed_bits(l->codes));
	return bits / 8 + (bits % 8 != 0);
}

bool cnn_layout_view(const struct cnn_layout *l, int64_t n, int64_t c, int64_t plane,
		     struct cnn_planes *out)
{
	const int64_t want[3] = { plane, c, n };
	struct cnn_run runs[CNN_AXES_MAX];
	int64_t step[3], next = 1;
	int count = cnn_layout_runs(l, runs), at = 0;

	if (l->codes || n * c * plane != cnn_layout_count(l))
		return false;
	for (int i = 0; i < 3; i++) {
		step[i] = next;
		if (want[i] == 1)
			continue;
		if (at >= count || runs[at].last || runs[at].count % want[i])
			return false;
		step[i] = runs[at].step;
		runs[at].count /= want[i];
		runs[at].step *= want[i];
		next = runs[at].step;
		if (runs[at].count == 1)
			at++;
	}
	if (plane > 1 && step[0] != 1)
		return false;
	*out = (struct cnn_planes){
		.n = n, .c = c, .plane = plane, .plane_pitch = step[1], .image_pitch = step[2],
		.size = l->size, .half = l->half,
	};
	return true;
}

bool cnn_layout_as_planes(const struct cnn_layout *has, struct cnn_layout *want)
{
	struct cnn_planes p, seen;

	if (want->codes)
		return cnn_layout_equal(has, want);
	if (!cnn_layout_planes(want, &p) || has->size != want->size ||
	    has->half != want->half || !cnn_layout_view(has, p.n, p.c, p.plane, &seen))
		return false;
	*want = cnn_planes_layout(&seen);
	return true;
}

bool cnn_layout_as_pixels(const struct cnn_layout *has, struct cnn_layout *want)
{
	struct cnn_pixels x, y;

	if (!cnn_layout_pixels(has, &x) || !cnn_layout_pixels(want, &y) ||
	    memcmp(has->dims, want->dims, sizeof(has->dims)) || has->size != want->size ||
	    has->codes != want->codes || has->half != want->half)
		return false;
	*want = *has;
	return true;
}
