// SPDX-License-Identifier: MIT
/* Changes of layout by COPY2D: from memory to a local memory, and back in another order. */
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

/* False: the layouts have no common loops, or so many that it is no use. */
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

/* Part of the two loops, and of a row: from byte at on. */
struct piece {
	int64_t count, rows, bytes;	/* of each */
	int64_t from, to;		/* VA */
};

static void add_copies(struct seqc *s, const struct seqc_change *c, const struct shape *shape,
		       const struct piece *p, bool store)
{
	const struct cnn_loop *rows = &shape->rows, *count = &shape->count;
	const struct seqc_copy copy = {
		.memory = c->memory, .va = store ? p->to : p->from, .rows = p->rows,
		.row_bytes = p->bytes, .va_pitch = (store ? rows->to : rows->from) * c->to->size,
		.local_pitch = p->bytes, .store = store,
	};

	seqc_copy_loop(s, &copy, p->count, (store ? count->to : count->from) * c->to->size,
		       p->rows * p->bytes);
}

static uint64_t piece_cycles(const struct piece *p)
{
	uint64_t lines = (uint64_t)p->bytes / CNNACC_LINE_SIZE + 2;

	return 2 * (2 + (uint64_t)p->count * (32 + (uint64_t)p->rows * lines));
}

static int add_piece(struct seqc *s, const struct seqc_change *c, const struct shape *shape,
		     const struct piece *p)
{
	int ret = seqc_reserve(s, 5, piece_cycles(p));

	if (ret)
		return ret;
	if (!s->count)
		seqc_begin(s);
	add_copies(s, c, shape, p, false);
	add_copies(s, c, shape, p, true);
	return CNN_OK;
}

/* What fits the local memory at a time. */
static int add_pieces(struct seqc *s, const struct seqc_change *c, const struct shape *shape,
		      int64_t from, int64_t to)
{
	const struct cnn_loop *rows = &shape->rows, *count = &shape->count;
	const int64_t size = c->to->size, bytes = cnn_min(shape->row, c->bytes);
	const int64_t fit = cnn_min(rows->count, c->bytes / bytes);
	const int64_t times = cnn_min(count->count, c->bytes / (bytes * fit));
	int ret = CNN_OK;

	for (int64_t i = 0; i < count->count; i += times)
		for (int64_t y = 0; y < rows->count; y += fit)
			for (int64_t x = 0; x < shape->row && !ret; x += bytes) {
				const struct piece p = {
					.count = cnn_min(times, count->count - i),
					.rows = cnn_min(fit, rows->count - y),
					.bytes = cnn_min(bytes, shape->row - x),
					.from = from + (i * count->from + y * rows->from) * size + x,
					.to = to + (i * count->to + y * rows->to) * size + x,
				};

				ret = add_piece(s, c, shape, &p);
			}
	return ret;
}

static int add_outer(struct seqc *s, const struct seqc_change *c, const struct shape *shape, int at,
		     int64_t from, int64_t to)
{
	const struct cnn_loop *loop = &shape->outer[at];
	int ret = CNN_OK;

	if (at == shape->n)
		return add_pieces(s, c, shape, from, to);
	for (int64_t i = 0; i < loop->count && !ret; i++)
		ret = add_outer(s, c, shape, at + 1, from + i * loop->from * c->to->size,
				to + i * loop->to * c->to->size);
	return ret;
}

bool seqc_can_change(const struct seqc_change *c)
{
	struct shape shape;

	return !c->to->codes && !c->from->codes && c->to->size == c->from->size &&
	       get_shape(c, &shape);
}

int seqc_change(struct seqc *s, const struct seqc_change *c)
{
	struct shape shape;

	return get_shape(c, &shape) ? add_outer(s, c, &shape, 0, c->from_va, c->to_va) : CNN_OK;
}
