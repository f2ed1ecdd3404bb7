/* SPDX-License-Identifier: MIT */
/*
 * Layouts of random axes, against a reading of their definition element by element: where each
 * element is, what is written and read, and what is the same, dense, or a view.
 */
#include "rt.h"
#include "backend/layout.h"
#include "ir/tensor.h"

#include <math.h>
#include <string.h>

#define ROUNDS	4000
#define BYTES	(1 << 20)

static uint32_t seed = 1;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 1103515245u + 12345u;
	return low + (int64_t)(seed >> 8) % (high - low + 1);
}

/* ---- the definition ---------------------------------------------------------------------- */

static int64_t naive_place(const struct cnn_layout *l, int64_t index)
{
	int64_t place = 0;

	for (int64_t dim = CNN_DIMS - 1; dim >= 0; dim--) {
		int64_t at = index % l->dims[dim];

		index /= l->dims[dim];
		for (int64_t i = l->axes - 1; i >= 0; i--) {
			bool inner = i && l->axis[i - 1].dim == dim;

			if (l->axis[i].dim != dim)
				continue;
			place += l->axis[i].stride * (inner ? at % l->axis[i].extent : at);
			at = inner ? at / l->axis[i].extent : 0;
		}
		assert_int_equal(at, 0);
	}
	return place;
}

static int64_t naive_reach(const struct cnn_layout *l)
{
	int64_t reach = 0;

	for (int64_t i = 0; i < cnn_layout_count(l); i++)
		reach = naive_place(l, i) >= reach ? naive_place(l, i) + 1 : reach;
	return reach;
}

static bool is_distinct(const struct cnn_layout *l)
{
	int64_t count = cnn_layout_count(l);

	for (int64_t i = 0; i < count; i++)
		for (int64_t k = 0; k < i; k++)
			if (naive_place(l, i) == naive_place(l, k))
				return false;
	return true;
}

static bool is_same(const struct cnn_layout *a, const struct cnn_layout *b)
{
	if (cnn_layout_count(a) != cnn_layout_count(b))
		return false;
	for (int64_t i = 0; i < cnn_layout_count(a); i++)
		if (naive_place(a, i) != naive_place(b, i))
			return false;
	return true;
}

/* ---- random layouts ---------------------------------------------------------------------- */

static void random_dims(struct cnn_layout *l, int64_t most)
{
	for (int dim = 0; dim < CNN_DIMS; dim++)
		l->dims[dim] = pick(0, 2) ? pick(1, most) : 1;
}

static void random_axes(struct cnn_layout *l)
{
	for (int64_t dim = 0; dim < CNN_DIMS; dim++) {
		int64_t size = l->dims[dim], inner = pick(1, size), left = CNN_DIMS - dim;

		if (size == 1 && pick(0, 1))
			continue;
		if (pick(0, 2) || l->axes + left + 1 > CNN_AXES_MAX) {
			l->axis[l->axes++] = (struct cnn_axis){ dim, size, 0 };
			continue;
		}
		l->axis[l->axes++] = (struct cnn_axis){ dim, (size + inner - 1) / inner, 0 };
		l->axis[l->axes++] = (struct cnn_axis){ dim, inner, 0 };
	}
}

/* Strides in a random order of axes, or that of the tensor, often without gaps. */
static void random_strides(struct cnn_layout *l, int64_t unit)
{
	int64_t reach = 0;
	bool shuffle = pick(0, 3), gaps = pick(0, 1);
	bool done[CNN_AXES_MAX] = { false };

	for (int64_t left = l->axes; left; left--) {
		int64_t skip = shuffle ? pick(0, left - 1) : 0, i = l->axes - 1;
		struct cnn_axis *axis;

		for (; done[i] || skip--; i--)
			;
		done[i] = true;
		axis = &l->axis[i];
		axis->stride = reach + 1 + (gaps ? pick(0, 5) : 0);
		if (reach)
			axis->stride = (axis->stride + unit - 1) / unit * unit;
		else if (unit > 1)
			axis->stride = 1;
		reach += (axis->extent - 1) * axis->stride;
	}
}

static struct cnn_layout random_layout(int64_t most)
{
	static const int64_t sizes[] = { 1, 2, 4, 8 };
	struct cnn_layout l = { .size = sizes[pick(0, 3)] };

	random_dims(&l, most);
	random_axes(&l);
	random_strides(&l, 1);
	return l;
}

/* One whose first axis in memory is not the blocks of another. */
static struct cnn_layout random_packed(int64_t codes)
{
	struct cnn_layout l;

	do {
		l = (struct cnn_layout){ .size = 1, .codes = codes };
		random_dims(&l, 7);
		random_axes(&l);
		random_strides(&l, 8 / cnn_packed_bits(codes));
	} while (!cnn_layout_valid(&l));
	return l;
}

static struct cnn_layout random_family(void)
{
	const int64_t dims[CNN_DIMS] = { pick(1, 3), pick(1, 9), pick(1, 5), pick(1, 5) };
	const int64_t map = dims[2] * dims[3];
	struct cnn_planes p = { .n = dims[0], .c = dims[1], .plane = map,
				.plane_pitch = map + pick(0, 9), .size = 4 };
	struct cnn_pixels x = { .n = dims[0], .c = dims[1], .rows = dims[2], .columns = dims[3],
				.row_pitch = dims[1] + pick(0, 3), .size = 1 };

	p.image_pitch = p.c * p.plane_pitch + pick(0, 9);
	x.column_pitch = x.rows * x.row_pitch + pick(0, 3);
	x.image_pitch = x.columns * x.column_pitch;
	switch (pick(0, 3)) {
	case 0:
		return cnn_dense_layout(dims, 2);
	case 1:
		return cnn_planes_layout(&p);
	case 2:
		return cnn_pixels_layout(&x);
	}
	return cnn_blocks_layout(dims, pick(1, 5), 1);
}

/* ---- tests ------------------------------------------------------------------------------- */

static uint8_t dense[BYTES], memory[BYTES], again[BYTES];

static void check_moves(const struct cnn_layout *l)
{
	int64_t count = cnn_layout_count(l), bytes = cnn_layout_bytes(l), touched = 0;

	assert_in_range(bytes, count * l->size, BYTES - 64);
	assert_int_equal(bytes, naive_reach(l) * l->size);
	for (int64_t i = 0; i < count * l->size; i++)
		dense[i] = (uint8_t)pick(0, 254);
	memset(memory, 255, (size_t)bytes + 64);
	cnn_layout_write(l, memory, dense);
	for (int64_t i = 0; i < count; i++)
		assert_memory_equal(&memory[naive_place(l, i) * l->size], &dense[i * l->size],
				    l->size);
	for (int64_t i = 0; i < bytes + 64; i++)
		touched += memory[i] != 255;
	assert_int_equal(touched, count * l->size);
	memset(again, 255, (size_t)(count * l->size) + 64);
	cnn_layout_read(l, memory, again);
	assert_memory_equal(again, dense, count * l->size);
	assert_int_equal(again[count * l->size], 255);
}

static void test_moves(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout l = i % 4 ? random_layout(i % 5 ? 5 : 9) : random_family();

		assert_true(cnn_layout_valid(&l));
		check_moves(&l);
	}
}

static void check_packed(const struct cnn_layout *l)
{
	const struct cnn_packed_format *f = cnn_packed_format(l->codes);
	int64_t count = cnn_layout_count(l), bytes = cnn_layout_bytes(l), per_byte = 8 / f->bits;

	assert_int_equal(bytes, (naive_reach(l) + per_byte - 1) / per_byte);
	for (int64_t i = 0; i < count; i++)
		dense[i] = (uint8_t)pick(-1, 1);
	memset(memory, 0, (size_t)bytes);
	memset(memory + bytes, 255, 64);
	cnn_layout_write(l, memory, dense);
	for (int64_t i = 0; i < count; i++) {
		int64_t at = naive_place(l, i);
		unsigned int code = memory[at / per_byte] >> at % per_byte * f->bits;

		assert_int_equal(code & ((1u << f->bits) - 1), f->encode((int8_t)dense[i]));
	}
	for (int64_t i = 0; i < 64; i++)
		assert_int_equal(memory[bytes + i], 255);
}

static void test_packed(void **state)
{
	(void)state;
	assert_non_null(cnn_packed_format(1));
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout l = random_packed(i % 2 && cnn_packed_format(2) ? 2 : 1);

		check_packed(&l);
	}
}

/* The same elements under other sizes, as a Reshape gives them, or under the same. */
static void random_reshape(const int64_t from[CNN_DIMS], int64_t to[CNN_DIMS])
{
	const int64_t image = from[1] * from[2] * from[3];
	const int64_t shapes[][CNN_DIMS] = {
		{ from[0], from[1], from[2], from[3] },
		{ from[0], image, 1, 1 },
		{ 1, 1, 1, from[0] * image },
		{ from[0] * from[1], from[2], 1, from[3] },
		{ from[0] * from[1], from[2] * from[3], 1, 1 },
	};

	memcpy(to, shapes[pick(0, 1) ? 0 : pick(1, 4)], sizeof(shapes[0]));
}

static void check_place(const struct cnn_layout *to, const struct cnn_layout *from, int64_t i)
{
	const struct cnn_packed_format *f = cnn_packed_format(to->codes);
	const uint8_t *was = &memory[naive_place(from, i) * from->size];
	int64_t at = naive_place(to, i);

	if (f)
		assert_int_equal(again[at * f->bits / 8] >> at * f->bits % 8 & ((1 << f->bits) - 1),
				 f->encode((int8_t)*was));
	else
		assert_memory_equal(&again[at * to->size], was, to->size);
}

static void test_between(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout from = i % 4 ? random_layout(i % 5 ? 5 : 9) : random_family(), to;
		int64_t codes = i % 3 ? 0 : 1 + i % 2, count = cnn_layout_count(&from);

		from.size = codes ? 1 : from.size;
		do {
			to = (struct cnn_layout){ .size = from.size, .codes = codes };
			random_reshape(from.dims, to.dims);
			random_axes(&to);
			random_strides(&to, 8 / cnn_packed_bits(codes));
		} while (!cnn_layout_valid(&to));
		if (i % 16 == 0)
			to = from;
		for (int64_t k = 0; k < cnn_layout_bytes(&from); k++)
			memory[k] = (uint8_t)pick(-1, 1);
		memset(again, 255, (size_t)cnn_layout_bytes(&to) + 64);
		cnn_layout_move(&to, again, &from, memory);
		for (int64_t k = 0; k < count; k++)
			check_place(&to, &from, k);
		assert_int_equal(again[cnn_layout_bytes(&to)], 255);
	}
}

/* ---- float16 ----------------------------------------------------------------------------- */

/* The nearest half, of two the even one: by search through all, from their definition. */
static double half_value(uint16_t h)
{
	int exp = h >> 10 & 31;
	double v = exp ? ldexp(1024 + (h & 1023), exp - 25) : ldexp(h & 1023, -24);

	return h & 0x8000 ? -v : v;
}

static uint16_t nearest_half(float v)
{
	uint16_t low = 0, high = 0x7c00, sign = signbit(v) ? 0x8000 : 0;
	double size = fabs((double)v);

	if (isnan(v))
		return 0x7e00;
	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		*(half_value(middle) <= size ? &low : &high) = middle;
	}
	/* 0x7c00 counts as 65536 here, which is infinity. */
	if (size - half_value(low) > half_value(high) - size ||
	    (size - half_value(low) == half_value(high) - size && low & 1))
		low = high;
	return low | sign;
}

static float random_float(void)
{
	static const uint32_t edges[] = {
		0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x477fefff, 0x477ff000,
		0x477fe000, 0x38800000, 0x387fffff, 0x33000000, 0x33000001, 0x32ffffff, 1,
	};
	uint32_t bits = (uint32_t)pick(0, 0xffff) << 16 | (uint32_t)pick(0, 0xffff);
	float v;

	switch (pick(0, 3)) {
	case 0:		/* near or at the middle between two halves */
		bits = (bits & 0x8fffe000) + 0x38000000 + 0x1000 + (uint32_t)pick(-1, 1);
		break;
	case 1:		/* subnormal halves */
		bits = (bits & 0x80ffffff) | (uint32_t)pick(0x66, 0x71) << 23;
		break;
	case 2:
		bits = edges[pick(0, sizeof(edges) / sizeof(edges[0]) - 1)];
	}
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static struct cnn_layout random_half(void)
{
	struct cnn_layout l = random_layout(pick(3, 9));

	l.size = 2;
	return cnn_half_layout(l);
}

/* What is written is rounded; what is read, or moved to halves again, is that. */
static void test_halves(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout l = random_half(), other = l;
		int64_t count = cnn_layout_count(&l);
		float *x = (float *)dense, *back = (float *)again;

		assert_true(cnn_layout_valid(&l));
		assert_false(cnn_layout_dense(&l));
		assert_int_equal(cnn_layout_value_size(&l), 4);
		other.half = 0;
		assert_false(cnn_layout_equal(&l, &other));
		for (int64_t k = 0; k < count; k++)
			x[k] = random_float();
		memset(memory, 255, (size_t)cnn_layout_bytes(&l) + 64);
		cnn_layout_write(&l, memory, dense);
		cnn_layout_read(&l, memory, again);
		for (int64_t k = 0; k < count; k++) {
			uint16_t half;

			memcpy(&half, &memory[naive_place(&l, k) * 2], sizeof(half));
			assert_int_equal(half, nearest_half(x[k]));
			assert_true(isnan(x[k]) ? isnan(back[k]) :
				    isinf(back[k]) ? (half & 0x7fff) == 0x7c00 :
						     (double)back[k] == half_value(half));
		}
		assert_int_equal(memory[cnn_layout_bytes(&l)], 255);
	}
}

/* Between a layout of floats and one of halves, of other sizes. */
static void test_between_halves(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout from = random_half(), to = { .size = i % 2 ? 4 : 2, .half = !(i % 2) };
		int64_t count = cnn_layout_count(&from);

		random_reshape(from.dims, to.dims);
		random_axes(&to);
		random_strides(&to, 1);
		for (int64_t k = 0; k < count; k++) {
			uint16_t half = (uint16_t)pick(0, 0x7bff);

			memcpy(&memory[naive_place(&from, k) * 2], &half, sizeof(half));
		}
		cnn_layout_move(&to, again, &from, memory);
		cnn_layout_move(&from, dense, &to, again);
		for (int64_t k = 0; k < count; k++) {
			const uint8_t *was = &memory[naive_place(&from, k) * 2];
			uint16_t half;
			float v;

			memcpy(&half, was, sizeof(half));
			memcpy(&v, &again[naive_place(&to, k) * 4], sizeof(v));
			if (!to.half)
				assert_true((double)v == half_value(half));
			assert_memory_equal(&dense[naive_place(&from, k) * 2], was, 2);
		}
	}
}

/* An axis or a size of a valid layout is another: either it is refused, or nothing overlaps. */
static void test_damage(void **state)
{
	int refused = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout l = random_layout(4);
		struct cnn_axis *axis = &l.axis[pick(0, CNN_AXES_MAX - 1)];
		int64_t *field[] = { &axis->dim, &axis->extent, &axis->stride, &l.dims[pick(0, 3)],
				     &l.axes, &l.size, &l.codes, &l.half };
		int64_t *what = field[pick(0, 7)];
		static const int64_t values[] = { -1, 0, 1, 2, 3, 9, INT64_MAX / 2, INT64_MAX };

		*what = pick(0, 1) ? values[pick(0, 7)] : *what - 1;
		if (!cnn_layout_valid(&l)) {
			refused++;
			continue;
		}
		assert_true(cnn_layout_bytes(&l) >= 0);
		if (cnn_layout_count(&l) < 1000 && cnn_layout_count(&l))
			assert_true(is_distinct(&l));
	}
	assert_in_range(refused, ROUNDS / 4, ROUNDS);
}

static void test_equal(void **state)
{
	int same = 0;

	(void)state;
	for (int i = 0; i < 16 * ROUNDS; i++) {
		struct cnn_layout a = random_layout(2 + i % 3), b = random_layout(2 + i % 3);

		a.size = b.size;
		assert_true(cnn_layout_equal(&a, &a));
		assert_int_equal(cnn_layout_equal(&a, &b), is_same(&a, &b));
		same += is_same(&a, &b);
		b = a;
		b.size++;
		assert_false(cnn_layout_equal(&a, &b));
		b.size = a.size;
		b.codes = 1;
		assert_false(cnn_layout_equal(&a, &b));
	}
	assert_in_range(same, 100, 16 * ROUNDS);
}

static void test_dense(void **state)
{
	int count = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct cnn_layout l = random_layout(4), own;

		own = cnn_dense_layout(l.dims, l.size);
		assert_true(cnn_layout_dense(&own));
		assert_int_equal(cnn_layout_dense(&l), is_same(&l, &own));
		count += is_same(&l, &own);
		l.codes = 1;
		assert_false(cnn_layout_dense(&l));
	}
	assert_in_range(count, 100, ROUNDS - 100);
}

/* Is element i of plane p of image m where the pitches say? They are those of the second of each. */
static bool is_view(const struct cnn_layout *l, int64_t n, int64_t c, int64_t plane)
{
	int64_t image = n > 1 ? naive_place(l, c * plane) : 0;
	int64_t pitch = c > 1 ? naive_place(l, plane) : 0;

	for (int64_t i = 0; i < n * c * plane; i++)
		if (naive_place(l, i) != i / (c * plane) * image + i / plane % c * pitch +
						 i % plane)
			return false;
	return true;
}

static void test_view(void **state)
{
	int views = 0;

	(void)state;
	for (int i = 0; i < 4 * ROUNDS; i++) {
		struct cnn_layout l = i % 4 ? random_layout(4) : random_family(), made;
		int64_t count = cnn_layout_count(&l), n = pick(1, 4), c = pick(1, 6);
		struct cnn_planes p;

		if (count % (n * c))
			continue;
		assert_int_equal(cnn_layout_view(&l, n, c, count / (n * c), &p),
				 is_view(&l, n, c, count / (n * c)));
		if (!is_view(&l, n, c, count / (n * c)))
			continue;
		views++;
		made = cnn_planes_layout(&p);
		assert_true(is_same(&l, &made));
		assert_true(cnn_layout_equal(&l, &made));
	}
	assert_in_range(views, 500, 4 * ROUNDS);
}

static void test_families(void **state)
{
	const int64_t dims[CNN_DIMS] = { 2, 6, 3, 5 };
	const struct cnn_planes planes = { 2, 6, 15, 16, 128, 4, 0, 0 };
	const struct cnn_pixels pixels = { 2, 6, 3, 5, 200, 8, 24, 1, 1, 0 };
	struct cnn_layout l = cnn_planes_layout(&planes);
	struct cnn_planes p;
	struct cnn_pixels x;

	(void)state;
	assert_true(cnn_layout_planes(&l, &p) && !memcmp(&p, &planes, sizeof(p)));
	assert_false(cnn_layout_pixels(&l, &x));
	l = cnn_pixels_layout(&pixels);
	assert_true(cnn_layout_pixels(&l, &x) && !memcmp(&x, &pixels, sizeof(x)));
	assert_false(cnn_layout_planes(&l, &p));
	l = cnn_blocks_layout(dims, 4, 1);
	assert_true(cnn_layout_valid(&l));
	assert_false(cnn_layout_planes(&l, &p) || cnn_layout_pixels(&l, &x));
	/* Channel 5 of row 2 and column 3 of image 1: block 1, index 1 in it. */
	assert_int_equal(naive_place(&l, ((1 * 6 + 5) * 3 + 2) * 5 + 3),
			 2 * 60 + 60 + (2 * 5 + 3) * 4 + 1);
	assert_int_equal(cnn_layout_bytes(&l), 4 * 60 - 2);
}

/* What a node that takes any pitches makes of the layout that a value has. */
static void test_reads(void **state)
{
	const struct cnn_pixels narrow = { 1, 6, 3, 5, 90, 6, 18, 1, 0, 0 };
	const struct cnn_pixels wide = { 1, 6, 3, 5, 200, 8, 24, 1, 0, 0 };
	const struct cnn_pixels codes = { 1, 6, 3, 5, 200, 8, 24, 1, 1, 0 };
	const struct cnn_planes planes = { 1, 6, 15, 16, 96, 1, 0, 0 };
	const struct cnn_planes rows = { 6, 15, 1, 1, 15, 1, 0, 0 };
	struct cnn_layout has = cnn_pixels_layout(&wide), want = cnn_pixels_layout(&narrow);
	struct cnn_planes p;

	(void)state;
	assert_true(cnn_layout_as_pixels(&has, &want) && cnn_layout_equal(&has, &want));
	want = cnn_pixels_layout(&codes);
	assert_false(cnn_layout_as_pixels(&has, &want));
	want = cnn_planes_layout(&planes);
	assert_false(cnn_layout_as_pixels(&has, &want) || cnn_layout_as_planes(&has, &want));

	has = cnn_planes_layout(&planes);
	want = cnn_planes_layout(&rows);
	assert_true(cnn_layout_as_planes(&has, &want) && cnn_layout_planes(&want, &p));
	assert_int_equal(p.image_pitch, 16);
	want.size = 4;
	assert_false(cnn_layout_as_planes(&has, &want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families), cmocka_unit_test(test_moves),
		cmocka_unit_test(test_packed), cmocka_unit_test(test_between),
		cmocka_unit_test(test_halves), cmocka_unit_test(test_between_halves),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_equal), cmocka_unit_test(test_dense),
		cmocka_unit_test(test_view), cmocka_unit_test(test_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
