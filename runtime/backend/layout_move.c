// SPDX-License-Identifier: MIT
/* Elements from one layout to another, of which one may be the dense data of a tensor. */
#include <string.h>

#include "ops/float16.h"
#include "layout.h"

#define SHORT_ROW 8 /* elements */

struct nest;

/* Moves the elements of the two innermost loops. */
typedef void rows_fn(const struct nest *b, uint8_t *to, const uint8_t *from);

struct nest {
	struct cnn_loop loop[CNN_LOOPS_MAX + 2]; /* the innermost first */
	int n;
	int64_t size, codes;	     /* of what is written; what is read is never packed */
	int64_t from_size;
	rows_fn *rows;
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

static void copy_rows(const struct nest *b, uint8_t *to, const uint8_t *from)
{
	const struct cnn_loop *in = &b->loop[0], *out = &b->loop[1];
	const int64_t size = b->size;
	const struct rows r = {
		out->count, in->count, out->to * size, in->to * size, out->from * size,
		in->from * size,
	};

	if (in->to == 1 && in->from == 1)
		for (int64_t y = 0; y < r.rows; y++)
			memcpy(to + y * r.to_pitch, from + y * r.from_pitch,
			       (size_t)(r.count * size));
	else if (size == 1)
		copy_strided(&r, to, from, 1);
	else if (size == 2)
		copy_strided(&r, to, from, 2);
	else if (size == 4)
		copy_strided(&r, to, from, 4);
	else
		copy_strided(&r, to, from, (size_t)size);
}

/* Rounds floats to halves. */
static void narrow_rows(const struct nest *b, uint8_t *to, const uint8_t *from)
{
	const struct cnn_loop in = b->loop[0], out = b->loop[1];

	for (int64_t y = 0; y < out.count; y++) {
		uint16_t *half = (uint16_t *)to + y * out.to;
		const float *v = (const float *)from + y * out.from;

		for (int64_t x = 0; x < in.count; x++)
			half[x * in.to] = float_to_half(v[x * in.from]);
	}
}

static void widen_rows(const struct nest *b, uint8_t *to, const uint8_t *from)
{
	const struct cnn_loop in = b->loop[0], out = b->loop[1];

	for (int64_t y = 0; y < out.count; y++) {
		float *v = (float *)to + y * out.to;
		const uint16_t *half = (const uint16_t *)from + y * out.from;

		for (int64_t x = 0; x < in.count; x++)
			v[x * in.to] = half_to_float(half[x * in.from]);
	}
}

/* Bytes that elements take where they are written; packed ones are whole bytes. */
static int64_t to_bytes(const struct nest *b, int64_t elements)
{
	return elements * b->size * cnn_packed_bits(b->codes) / 8;
}

static void pack_rows(const struct nest *b, uint8_t *to, const uint8_t *from)
{
	const struct cnn_loop *in = &b->loop[0], *out = &b->loop[1];
	int64_t pitch = to_bytes(b, out->to);

	for (int64_t y = 0; y < out->count; y++)
		cnn_packed_encode(b->codes, (const int8_t *)from + y * out->from, in->from,
				  in->count, to + y * pitch);
}

static void run_loop(const struct nest *b, int at, uint8_t *to, const uint8_t *from)
{
	int64_t to_step = to_bytes(b, b->loop[at].to), from_step = b->loop[at].from * b->from_size;

	if (at < 2) {
		b->rows(b, to, from);
		return;
	}
	for (int64_t i = 0; i < b->loop[at].count; i++)
		run_loop(b, at - 1, to + i * to_step, from + i * from_step);
}

/* Makes the loop at index at the innermost, or a loop of one element if it is none of them. */
static void make_innermost(struct nest *b, int at)
{
	struct cnn_loop loop = { .count = 1, .to = 1, .from = 1 };

	if (at < b->n)
		loop = b->loop[at];
	else
		b->n++;
	memmove(&b->loop[1], &b->loop[0], (size_t)at * sizeof(loop));
	b->loop[0] = loop;
}

/* The loop over what is adjacent where it is written, or read; n if there is none. */
static int find_adjacent(const struct nest *b, bool written)
{
	int at = 0;

	while (at < b->n && (written ? b->loop[at].to : b->loop[at].from) != 1)
		at++;
	return at;
}

/* What is adjacent where it is written comes first, or where it is read; of codes it must. */
static void order_loops(struct nest *b)
{
	int written = find_adjacent(b, true), read = find_adjacent(b, false);

	if (b->codes || (written < b->n && b->loop[written].count >= SHORT_ROW))
		make_innermost(b, written);
	else if (read < b->n && b->loop[read].count >= SHORT_ROW)
		make_innermost(b, read);
	while (b->n < 2)
		b->loop[b->n++] = (struct cnn_loop){ .count = 1 };
}

/* Runs the loops; the last one of blocks is run apart, as it has fewer elements. */
static void run_nest(struct nest b, uint8_t *to, const uint8_t *from)
{
	int at = b.n - 1;

	while (at > 0 && !b.loop[at].last)
		at--;
	if (at > 0) {
		struct cnn_loop *blocks = &b.loop[at], *inner = &b.loop[at - 1];
		int64_t last = blocks->last, before = blocks->count - 1;

		blocks->last = 0;
		blocks->count = before;
		run_nest(b, to, from);
		blocks->count = 1;
		inner->count = last;
		run_nest(b, to + to_bytes(&b, before * blocks->to),
			 from + before * blocks->from * b.from_size);
		return;
	}
	order_loops(&b);
	run_loop(&b, b.n - 1, to, from);
}

/* ---- loops of two layouts ---------------------------------------------------------------- */

/* What is left of a layout's runs, from the inside out. */
struct rest {
	struct cnn_run runs[CNN_AXES_MAX];
	int n, at;
};

static bool at_blocks(const struct rest *r)
{
	return r->at + 1 < r->n && r->runs[r->at + 1].last;
}

static void take(struct rest *r, int64_t count)
{
	struct cnn_run *run = &r->runs[r->at];

	run->count /= count;
	run->step *= count;
	r->at += run->count == 1;
}

/* Adds a loop whose steps are those of a layout and of the other one, which is written or read. */
static void add_loop(struct nest *b, struct cnn_run run, int64_t step, bool written)
{
	b->loop[b->n++] = (struct cnn_loop){
		.count = run.count, .to = written ? run.step : step,
		.from = written ? step : run.step, .last = run.last,
	};
}

/* Blocks of r beside what is no block: that has to be as many elements, or several times so many. */
static bool add_blocks(struct nest *b, struct rest *r, struct rest *other, bool written)
{
	const struct cnn_run inner = r->runs[r->at], outer = r->runs[r->at + 1];
	int64_t size = (outer.count - 1) * inner.count + outer.last;
	int64_t step = other->runs[other->at].step;

	if (other->runs[other->at].count % size)
		return false;
	add_loop(b, inner, step, written);
	add_loop(b, outer, step * inner.count, written);
	r->at += 2;
	take(other, size);
	return true;
}

/* The same blocks on both sides. */
static bool add_equal_blocks(struct nest *b, struct rest *to, struct rest *from)
{
	const struct cnn_run *x = &to->runs[to->at], *y = &from->runs[from->at];

	if (x->count != y->count || x[1].count != y[1].count || x[1].last != y[1].last)
		return false;
	add_loop(b, x[0], y[0].step, true);
	add_loop(b, x[1], y[1].step, true);
	to->at += 2;
	from->at += 2;
	return true;
}

static bool add_common(struct nest *b, struct rest *to, struct rest *from)
{
	struct cnn_run x = to->runs[to->at], y = from->runs[from->at];
	int64_t count = x.count < y.count ? x.count : y.count;

	if (x.count % count || y.count % count)
		return false;
	x.count = count;
	add_loop(b, x, y.step, true);
	take(to, count);
	take(from, count);
	return true;
}

/* Fills b with loops that have a fixed step in both layouts; false if there are none. */
static bool find_loops(struct nest *b, struct rest to, struct rest from)
{
	bool found = true;

	while (found && to.at < to.n && from.at < from.n) {
		if (at_blocks(&to) && at_blocks(&from))
			found = add_equal_blocks(b, &to, &from);
		else if (at_blocks(&to))
			found = add_blocks(b, &to, &from, true);
		else if (at_blocks(&from))
			found = add_blocks(b, &from, &to, false);
		else
			found = add_common(b, &to, &from);
	}
	return found;
}

/* Do all loops but that over adjacent codes step by whole bytes? */
static bool is_by_bytes(const struct nest *b)
{
	int64_t per_byte = 8 / cnn_packed_bits(b->codes);

	for (int i = 0; i < b->n; i++)
		if (b->loop[i].to != 1 && b->loop[i].to % per_byte)
			return false;
	return true;
}

/* ---- one by one -------------------------------------------------------------------------- */

static int64_t place_of(const struct rest *r, int64_t index)
{
	int64_t place = 0;

	for (int i = 0; i < r->n; i++) {
		const struct cnn_run *run = &r->runs[i];
		int64_t size = run->count;

		if (i + 1 < r->n && run[1].last) {
			int64_t at = index % ((run[1].count - 1) * size + run[1].last);

			place += at % size * run->step + at / size * run[1].step;
			index /= (run[1].count - 1) * size + run[1].last;
			i++;
		} else {
			place += index % size * run->step;
			index /= size;
		}
	}
	return place;
}

static void put_code(int64_t codes, uint8_t *to, int64_t place, const int8_t *value)
{
	int bits = cnn_packed_bits(codes), shift = (int)(place * bits % 8);
	uint8_t code;

	to += place * bits / 8;
	cnn_packed_encode(codes, value, 1, 1, &code);
	*to = (uint8_t)((*to & ~(((1 << bits) - 1) << shift)) | code << shift);
}

/* Layouts that share no loops, such as blocks of two sizes, or codes that share a byte. */
static void move_each(const struct nest *b, const struct rest *to, const struct rest *from,
		      int64_t count, uint8_t *dst, const uint8_t *src)
{
	for (int64_t i = 0; i < count; i++) {
		const uint8_t *element = src + place_of(from, i) * b->from_size;
		int64_t place = place_of(to, i);

		if (b->codes)
			put_code(b->codes, dst, place, (const int8_t *)element);
		else
			b->rows(b, dst + place * b->size, element);
	}
}

int cnn_layout_loops(const struct cnn_layout *to, const struct cnn_layout *from,
		     struct cnn_loop loops[CNN_LOOPS_MAX])
{
	struct nest b = { .n = 0 };
	struct rest x = { .at = 0 }, y = { .at = 0 };

	x.n = cnn_layout_runs(to, x.runs);
	y.n = cnn_layout_runs(from, y.runs);
	if (!find_loops(&b, x, y))
		return -1;
	memcpy(loops, b.loop, (size_t)b.n * sizeof(*loops));
	return b.n;
}

static rows_fn *rows_of(const struct cnn_layout *to, const struct cnn_layout *from)
{
	if (to->half != from->half)
		return to->half ? narrow_rows : widen_rows;
	return to->codes ? pack_rows : copy_rows;
}

void cnn_layout_move(const struct cnn_layout *to, void *dst, const struct cnn_layout *from,
		     const void *src)
{
	struct nest b = { .size = to->size, .codes = to->codes, .from_size = from->size,
			  .rows = rows_of(to, from) };
	struct rest x = { .at = 0 }, y = { .at = 0 };

	if (!cnn_layout_count(to))
		return;
	x.n = cnn_layout_runs(to, x.runs);
	y.n = cnn_layout_runs(from, y.runs);
	if (!find_loops(&b, x, y) || !is_by_bytes(&b)) {
		b.n = 0;
		order_loops(&b);
		move_each(&b, &x, &y, cnn_layout_count(to), dst, src);
		return;
	}
	if (!b.n)
		make_innermost(&b, 0);
	run_nest(b, dst, src);
}

void cnn_layout_write(const struct cnn_layout *l, void *memory, const void *dense)
{
	const struct cnn_layout from = cnn_dense_layout(l->dims, cnn_layout_value_size(l));

	cnn_layout_move(l, memory, &from, dense);
}

void cnn_layout_read(const struct cnn_layout *l, const void *memory, void *dense)
{
	const struct cnn_layout to = cnn_dense_layout(l->dims, cnn_layout_value_size(l));

	cnn_layout_move(&to, dense, l, memory);
}
