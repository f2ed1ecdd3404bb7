// SPDX-License-Identifier: MIT
/* Elements between a layout and the dense data of a tensor. */
#include <string.h>

#include "layout.h"

#define SHORT_ROW 8 /* elements */

/* Nested loops, the innermost first; steps in elements. */
struct loop {
	int64_t count, memory, dense;
	int64_t last;	/* of the loop before it, in the last round; 0: always all */
};

struct box;

/* Moves the elements of the two innermost loops. */
typedef void rows_fn(const struct box *b, uint8_t *memory, uint8_t *dense);

struct box {
	const struct cnn_layout *l;
	rows_fn *rows;
	struct loop loop[CNN_AXES_MAX + 2];
	int n;
};

/* Of two nested loops: rows of count elements, and the bytes from one to the next. */
struct rows {
	int64_t rows, count;
	int64_t to_pitch, to_step, from_pitch, from_step;
};

/* The compiler makes a loop for each size of an element. */
static inline void copy_strided(const struct rows *rows, uint8_t *to, const uint8_t *from,
				size_t size)
{
	const struct rows r = *rows; /* bytes that are written might be those at rows */

	for (int64_t y = 0; y < r.rows; y++, to += r.to_pitch, from += r.from_pitch)
		for (int64_t x = 0; x < r.count; x++)
			memcpy(to + x * r.to_step, from + x * r.from_step, size);
}

static void copy_rows(const struct rows *r, uint8_t *to, const uint8_t *from, int64_t size)
{
	if (r->to_step == size && r->from_step == size)
		for (int64_t y = 0; y < r->rows; y++)
			memcpy(to + y * r->to_pitch, from + y * r->from_pitch,
			       (size_t)(r->count * size));
	else if (size == 1)
		copy_strided(r, to, from, 1);
	else if (size == 2)
		copy_strided(r, to, from, 2);
	else if (size == 4)
		copy_strided(r, to, from, 4);
	else
		copy_strided(r, to, from, (size_t)size);
}

static void write_rows(const struct box *b, uint8_t *memory, uint8_t *dense)
{
	const struct loop *in = &b->loop[0], *out = &b->loop[1];
	const int64_t size = b->l->size;
	const struct rows r = {
		out->count, in->count, out->memory * size, in->memory * size, out->dense * size,
		in->dense * size,
	};

	copy_rows(&r, memory, dense, size);
}

static void read_rows(const struct box *b, uint8_t *memory, uint8_t *dense)
{
	const struct loop *in = &b->loop[0], *out = &b->loop[1];
	const int64_t size = b->l->size;
	const struct rows r = {
		out->count, in->count, out->dense * size, in->dense * size, out->memory * size,
		in->memory * size,
	};

	copy_rows(&r, dense, memory, size);
}

/* Bytes of memory that elements take, which are whole bytes if packed. */
static int64_t memory_bytes(const struct box *b, int64_t elements)
{
	return elements * b->l->size * cnn_packed_bits(b->l->codes) / 8;
}

static void pack_rows(const struct box *b, uint8_t *memory, uint8_t *dense)
{
	const struct loop *in = &b->loop[0], *out = &b->loop[1];
	int64_t pitch = memory_bytes(b, out->memory);

	for (int64_t y = 0; y < out->count; y++)
		cnn_packed_encode(b->l->codes, (const int8_t *)dense + y * out->dense, in->dense,
				  in->count, memory + y * pitch);
}

static void run_loop(const struct box *b, int at, uint8_t *memory, uint8_t *dense)
{
	int64_t memory_step = memory_bytes(b, b->loop[at].memory);
	int64_t dense_step = b->loop[at].dense * b->l->size;

	if (at < 2) {
		b->rows(b, memory, dense);
		return;
	}
	for (int64_t i = 0; i < b->loop[at].count; i++)
		run_loop(b, at - 1, memory + i * memory_step, dense + i * dense_step);
}

/* Makes the loop at index at the innermost, or a loop of one element if it is none of them. */
static void make_innermost(struct box *b, int at)
{
	struct loop loop = { .count = 1, .memory = 1, .dense = 1 };

	if (at < b->n)
		loop = b->loop[at];
	else
		b->n++;
	memmove(&b->loop[1], &b->loop[0], (size_t)at * sizeof(loop));
	b->loop[0] = loop;
}

/* What is adjacent where it is written comes first, unless that is little; of codes it must. */
static void order_loops(struct box *b)
{
	bool writes = b->rows != read_rows;
	int at = 0;

	while (at < b->n && b->loop[at].memory != 1)
		at++;
	if (b->l->codes || (at < b->n && b->loop[at].count >= SHORT_ROW &&
			    (writes || b->loop[0].count < SHORT_ROW)))
		make_innermost(b, at);
	while (b->n < 2)
		b->loop[b->n++] = (struct loop){ .count = 1 };
}

/* Runs the loops; the last one of blocks is run apart, as it has fewer elements. */
static void run_box(struct box b, uint8_t *memory, uint8_t *dense)
{
	int at = b.n - 1;

	while (at > 0 && !b.loop[at].last)
		at--;
	if (at > 0) {
		struct loop *blocks = &b.loop[at], *inner = &b.loop[at - 1];
		int64_t last = blocks->last, before = blocks->count - 1;

		blocks->last = 0;
		blocks->count = before;
		run_box(b, memory, dense);
		blocks->count = 1;
		inner->count = last;
		run_box(b, memory + memory_bytes(&b, before * blocks->memory),
			dense + before * blocks->dense * b.l->size);
		return;
	}
	order_loops(&b);
	run_loop(&b, b.n - 1, memory, dense);
}

static void move(const struct cnn_layout *l, rows_fn *rows, uint8_t *memory, uint8_t *dense)
{
	struct cnn_run runs[CNN_AXES_MAX];
	struct box b = { .l = l, .rows = rows, .n = cnn_layout_runs(l, runs) };
	int64_t step = 1;

	if (!cnn_layout_count(l))
		return;
	for (int i = 0; i < b.n; i++) {
		const struct cnn_run *r = &runs[i];

		b.loop[i] = (struct loop){ r->count, r->step, step, r->last };
		step *= r->count;
		if (r->last)
			step -= (runs[i - 1].count - r->last) * b.loop[i - 1].dense;
	}
	if (!b.n)
		make_innermost(&b, 0);
	run_box(b, memory, dense);
}

void cnn_layout_write(const struct cnn_layout *l, void *memory, const void *dense)
{
	move(l, l->codes ? pack_rows : write_rows, memory, (uint8_t *)dense);
}

void cnn_layout_read(const struct cnn_layout *l, const void *memory, void *dense)
{
	move(l, read_rows, (uint8_t *)memory, dense);
}
