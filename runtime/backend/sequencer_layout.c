// SPDX-License-Identifier: MIT
/*
 * Changes of layout by COPY2D: a value goes to a local memory as it is, which takes a cycle for each
 * line, and back in another order.
 */
#include <string.h>

#include "sequencer.h"

#define PIECES_MAX	256	/* of a change */
#define ROWS_MAX	65536

/* Rows of adjacent bytes, in two loops that COPY2D and LOOP run, and loops around them. */
struct shape {
	int64_t row;			/* bytes */
	struct cnn_loop rows, count;
	struct cnn_loop outer[CNN_LOOPS_MAX];
	int n;
};

/* Removes the longest of n loops, or one whose elements touch on both sides. */
static struct cnn_loop take_loop(struct cnn_loop *loops, int *n, bool adjacent)
{
	struct cnn_loop loop = { .count = 1 };
	int at = -1;

	for (int i = 0; i < *n; i++)
		if (adjacent ? loops[i].to == 1 && loops[i].from == 1 :
			       at < 0 || loops[i].count > loops[at].count)
			at = i;
	if (at < 0)
		return loop;
	loop = loops[at];
	memmove(&loops[at], &loops[at + 1], (size_t)(--*n - at) * sizeof(*loops));
	return loop;
}

/* False: the layouts have no common loops, or take so many transfers that it is no use. */
static bool get_shape(const struct seqc_change *c, struct shape *s)
{
	int64_t pieces = 1;

	s->n = cnn_layout_loops(c->to, c->from, s->outer);
	for (int i = 0; i < s->n; i++)
		if (s->outer[i].last)
			return false;
	if (s->n < 0)
		return false;
	s->row = take_loop(s->outer, &s->n, true).count * c->to->size;
	s->rows = take_loop(s->outer, &s->n, false);
	s->count = take_loop(s->outer, &s->n, false);
	for (int i = 0; i < s->n; i++)
		pieces = cnn_mul_sat(pieces, s->outer[i].count);
	return pieces <= PIECES_MAX &&
	       cnn_layout_count(c->to) * c->to->size / s->row <= ROWS_MAX;
}

/* The value as it lies in memory, with its gaps. */
static void load(struct seqc *s, const struct seqc_change *c)
{
	const struct seqc_copy copy = {
		.memory = c->memory, .va = c->from_va, .rows = 1,
		.row_bytes = cnn_layout_bytes(c->from),
	};

	seqc_copy(s, &copy);
}

/* The rows that begin so many elements behind the first, where they are and where they go to. */
static void store(struct seqc *s, const struct seqc_change *c, const struct shape *shape,
		  int64_t from, int64_t to)
{
	const int64_t size = c->to->size;
	const struct seqc_copy copy = {
		.memory = c->memory, .va = c->to_va + to * size, .local = from * size,
		.rows = shape->rows.count, .row_bytes = shape->row,
		.va_pitch = shape->rows.to * size, .local_pitch = shape->rows.from * size,
		.store = true,
	};

	seqc_copy_loop(s, &copy, shape->count.count, shape->count.to * size,
		       shape->count.from * size);
}

/* Most cycles of a load and a store. */
static uint64_t most_cycles(const struct seqc_change *c, const struct shape *shape)
{
	uint64_t lines = (uint64_t)shape->row / CNNACC_LINE_SIZE + 2;
	uint64_t rows = (uint64_t)shape->rows.count, count = (uint64_t)shape->count.count;

	return 64 + (uint64_t)cnn_layout_bytes(c->from) / CNNACC_LINE_SIZE +
	       count * (32 + rows * lines);
}

static int add_stores(struct seqc *s, const struct seqc_change *c, const struct shape *shape,
		      int at, int64_t from, int64_t to)
{
	const struct cnn_loop *loop = &shape->outer[at];
	int ret = CNN_OK;

	for (int64_t i = 0; at < shape->n && i < loop->count && !ret; i++)
		ret = add_stores(s, c, shape, at + 1, from + i * loop->from, to + i * loop->to);
	if (at < shape->n || ret)
		return ret;
	ret = seqc_reserve(s, 4, most_cycles(c, shape));
	if (ret)
		return ret;
	if (!s->count) {
		seqc_begin(s);
		load(s, c);
	}
	store(s, c, shape, from, to);
	return CNN_OK;
}

bool seqc_can_change(const struct seqc *s, const struct seqc_change *c)
{
	struct shape shape;

	return !c->to->codes && !c->from->codes && c->to->size == c->from->size &&
	       c->to->half == c->from->half &&
	       cnn_layout_bytes(c->from) <= c->bytes && get_shape(c, &shape) &&
	       most_cycles(c, &shape) <= s->cycles_max / 2;
}

int seqc_change(struct seqc *s, const struct seqc_change *c)
{
	struct shape shape;

	return get_shape(c, &shape) ? add_stores(s, c, &shape, 0, 0, 0) : CNN_OK;
}
