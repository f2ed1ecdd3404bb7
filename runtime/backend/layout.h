/* SPDX-License-Identifier: MIT */
/*
 * How the elements of a value lie in memory. A layout says it for every core: up to six axes, each
 * an extent and a stride. A core that computes with pitches takes them from a view of the layout.
 */
#ifndef CNN_LAYOUT_H
#define CNN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "packed_format.h"

/* The sizes of a value: those of a tensor of fewer or more dimensions multiplied to four. */
enum cnn_dim { CNN_DIM_BATCH, CNN_DIM_CHANNELS, CNN_DIM_ROWS, CNN_DIM_COLUMNS, CNN_DIMS };

#define CNN_AXES_MAX 6

struct cnn_axis {
	int64_t dim;		/* enum cnn_dim that it counts along */
	int64_t extent, stride; /* indices, and elements from one to the next */
};

/*
 * Element (n, c, y, x) of a value, which is number ((n * channels + c) * rows + y) * columns + x of
 * its tensor, lies where the sum of its indices times their strides says. Axes are in the order of
 * dims. A dimension without an axis has size 1. One with two is split: the first axis counts
 * blocks, the second the indices in a block, and the last block may be partly filled. What lies
 * between elements is not defined.
 */
struct cnn_layout {
	int64_t dims[CNN_DIMS];
	struct cnn_axis axis[CNN_AXES_MAX];
	int64_t axes;
	int64_t size; /* bytes of an element */
	/*
	 * Number of a packed format (packed_format.h): an int8 element is so many bits, the first in
	 * a byte's lowest. The elements of one axis are adjacent; all others are whole bytes apart.
	 * Never made by a core.
	 */
	int64_t codes;
	/*
	 * 1: the elements of a float32 value are float16 here (size is 2), rounded to nearest even
	 * when they are written; 0: as in the tensor.
	 */
	int64_t half;
};

/*
 * n images of c planes: element i of plane p of image m is number m * image_pitch +
 * p * plane_pitch + i. For maps a plane is the map, row after row.
 */
struct cnn_planes {
	int64_t n, c, plane;
	int64_t plane_pitch, image_pitch;
	int64_t size, codes, half;
};

/*
 * n maps with the channels of a pixel together: channel c of row y and column x of map m is number
 * m * image_pitch + y * row_pitch + x * column_pitch + c.
 */
struct cnn_pixels {
	int64_t n, c, rows, columns;
	int64_t image_pitch, row_pitch, column_pitch;
	int64_t size, codes, half;
};

/* The tensor's own elements, one after the other. */
struct cnn_layout cnn_dense_layout(const int64_t dims[CNN_DIMS], int64_t size);
struct cnn_layout cnn_planes_layout(const struct cnn_planes *p);
struct cnn_layout cnn_pixels_layout(const struct cnn_pixels *p);
/* [batch][channels / block][rows][columns][block], the last block padded. */
struct cnn_layout cnn_blocks_layout(const int64_t dims[CNN_DIMS], int64_t block, int64_t size);
/* The layout of elements of 2 bytes, l, for a float32 value: they are float16. */
struct cnn_layout cnn_half_layout(struct cnn_layout l);

/*
 * Do its axes fit its dims, and is no element in another's place? That holds if each axis steps
 * over all that those of smaller strides reach. Any numbers may be asked about.
 */
bool cnn_layout_valid(const struct cnn_layout *l);
/* Is each element in the same place, in the same format? */
bool cnn_layout_equal(const struct cnn_layout *a, const struct cnn_layout *b);
/* Is it just the tensor's own elements? */
bool cnn_layout_dense(const struct cnn_layout *l);
int64_t cnn_layout_count(const struct cnn_layout *l);
/* Bytes of an element of a tensor whose value has the layout. */
int64_t cnn_layout_value_size(const struct cnn_layout *l);
/* Bytes from the first to behind the last element; INT64_MAX if they are more. */
int64_t cnn_layout_bytes(const struct cnn_layout *l);

/* The layout as it was made, by cnn_planes_layout or cnn_pixels_layout; false if it was not. */
bool cnn_layout_planes(const struct cnn_layout *l, struct cnn_planes *out);
bool cnn_layout_pixels(const struct cnn_layout *l, struct cnn_pixels *out);
/*
 * A node wants a value in the layout *want, which is one of planes or of pixels. Can it read the
 * layout that the value has instead, if it takes any pitches of images and planes, or of images,
 * rows and columns? Then *want is that. Packed codes are read in the very layout only.
 */
bool cnn_layout_as_planes(const struct cnn_layout *has, struct cnn_layout *want);
bool cnn_layout_as_pixels(const struct cnn_layout *has, struct cnn_layout *want);
/* The layout seen as n x c x plane; false if its strides do not allow that, or it is packed. */
bool cnn_layout_view(const struct cnn_layout *l, int64_t n, int64_t c, int64_t plane,
		     struct cnn_planes *out);

/* An axis of layout_runs: count steps of step elements; last: indices in the last block, or 0. */
struct cnn_run {
	int64_t count, step, last;
};

/*
 * The axes from the inside of the tensor out, without those of one index, merged where they touch;
 * returns their number. A run whose last is not 0 counts the blocks of the run before it.
 */
int cnn_layout_runs(const struct cnn_layout *l, struct cnn_run runs[CNN_AXES_MAX]);

/* A loop over elements that have a fixed step in each of two layouts. */
struct cnn_loop {
	int64_t count, to, from;
	int64_t last; /* as of a run: rounds of the loop inside it, in the last round; 0: all */
};

#define CNN_LOOPS_MAX (2 * CNN_AXES_MAX)

/*
 * The nest of loops that moves a value from one layout to another, the innermost first; returns
 * their number, or -1: the layouts share no loops.
 */
int cnn_layout_loops(const struct cnn_layout *to, const struct cnn_layout *from,
		     struct cnn_loop loops[CNN_LOOPS_MAX]);
/*
 * The elements of a value in memory of one layout to another, of as many elements of values of that
 * size. Packed codes are written only.
 */
void cnn_layout_move(const struct cnn_layout *to, void *dst, const struct cnn_layout *from,
		     const void *src);
/* The same to and from the dense data of a tensor. */
void cnn_layout_write(const struct cnn_layout *l, void *memory, const void *dense);
void cnn_layout_read(const struct cnn_layout *l, const void *memory, void *dense);

#endif
