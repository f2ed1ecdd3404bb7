// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Factors of rows and kernels, made from CBUF in the form that products are computed from. */
#include <stdlib.h>
#include <string.h>

#include "mac.h"

#define ROWS_BYTES	((size_t)8 << 20)	/* memory for factors of rows */
#define FLOAT_BYTES	5			/* of an FP16 factor and its exponent */

_Static_assert(ROWS_BYTES >= (size_t)GCU_PLACES_MAX * GCU_ATOMIC_MAX * FLOAT_BYTES,
	       "the longest row has a place");

static size_t words(const struct gcu *g)
{
	return (size_t)g->banks * GCU_BANK_WORDS;
}

struct gcu_operands *gcu_operands_create(const struct gcu *g)
{
	struct gcu_operands *o = cm_core_alloc(sizeof(*o));

	if (!o)
		return NULL;
	/* Not zeroed: what is not used stays without memory. */
	o->rows = aligned_alloc(CM_CORE_ALIGN, ROWS_BYTES);
	o->kernels = aligned_alloc(CM_CORE_ALIGN,
				   cm_core_align(words(g) * g->atomic_c * FLOAT_BYTES));
	o->kernel_known = calloc(words(g), sizeof(*o->kernel_known));
	o->kernel_size = calloc(words(g), sizeof(*o->kernel_size));
	o->kernel_sum = calloc(words(g), sizeof(*o->kernel_sum));
	if (o->rows && o->kernels && o->kernel_known && o->kernel_size && o->kernel_sum)
		return o;
	gcu_operands_free(o);
	return NULL;
}

void gcu_operands_free(struct gcu_operands *o)
{
	if (!o)
		return;
	free(o->rows);
	free(o->kernels);
	free(o->kernel_known);
	free(o->kernel_size);
	free(o->kernel_sum);
	free(o);
}

static bool is_fp16(const struct gcu *g)
{
	return g->layer.format == CNNACC_GCU_FP16;
}

/* The zero point of weights as int8_t; unsigned ones are stored as what they are above 128. */
static int32_t weight_zero(const struct gcu_layer *l)
{
	return l->zw - (l->unsigned_weights ? 128 : 0);
}

/* A layer begins: nothing is known. */
void gcu_operands_drop(struct gcu *g)
{
	const struct gcu_layer *l = &g->layer;

	gcu_operands_place(g, g->simd->quads && l->esz == 1 && !l->acc16 && !weight_zero(l));
}

void gcu_operands_place(struct gcu *g, bool quads)
{
	struct gcu_operands *o = g->operands;
	size_t bytes = is_fp16(g) ? FLOAT_BYTES : quads ? 1 : 2;
	size_t points = (size_t)g->layer.r * g->layer.s;

	o->quads = quads;
	o->row_bytes = (size_t)g->columns.pitch * g->atomic_c * bytes;
	o->kernel_bytes = points * g->atomic_c * g->atomic_k * bytes;
	/* The same for quads and pairs: pending op3 rely on it. */
	o->row_count = gcu_least(g->layer.rows, (uint32_t)(ROWS_BYTES / (quads ? 2 * o->row_bytes :
									  o->row_bytes)));
	memset(o->row_of, 0, sizeof(o->row_of));
	memset(o->kernel_known, 0, g->layer.group_count * sizeof(*o->kernel_known));
}

void gcu_operands_drop_row(struct gcu *g, uint32_t slot)
{
	struct gcu_operands *o = g->operands;

	if (o->row_of[slot % o->row_count] == slot + 1)
		o->row_of[slot % o->row_count] = 0;
}

void gcu_operands_drop_kernels(struct gcu *g, uint32_t slot)
{
	g->operands->kernel_known[slot] = false;
}

/* ---- integers ---- */

static int32_t element(const struct gcu_layer *l, const uint8_t *surface, uint32_t c,
		       bool is_unsigned)
{
	int16_t v;

	if (l->esz == 1)
		return is_unsigned ? surface[c] : (int8_t)surface[c];
	memcpy(&v, surface + 2 * c, sizeof(v));
	return v;
}

static uint32_t magnitude(int32_t v)
{
	return (uint32_t)(v < 0 ? -v : v);
}

/* The zero point of rows as uint8_t; signed ones are stored as what they are above -128. */
uint8_t gcu_row_zero(const struct gcu_layer *l)
{
	return (uint8_t)(l->zx + (l->unsigned_ifmap ? 0 : 128));
}

/* The magnitude of the largest factor that the elements allow. */
static uint32_t largest_factor(const struct gcu_layer *l)
{
	int32_t low = l->unsigned_ifmap ? 0 : -128;
	uint32_t a = magnitude(low - l->zx), b = magnitude(low + 255 - l->zx);

	return a > b ? a : b;
}

static void make_quads_row(struct gcu *g, const uint8_t *from, uint32_t real, uint32_t place)
{
	const struct gcu_columns *columns = &g->columns;
	uint8_t *to = g->operands->rows + place * g->operands->row_bytes;
	uint8_t flip = g->layer.unsigned_ifmap ? 0 : 0x80;

	memset(to, gcu_row_zero(&g->layer), g->operands->row_bytes);
	for (uint32_t j = 0; j < columns->pitch; j++) {
		const uint8_t *surface = from + (ptrdiff_t)columns->source[j] * g->atomic_c;

		if (columns->source[j] < 0)
			continue;
		for (uint32_t c = 0; c < real; c++)
			to[((size_t)(c / 4) * columns->pitch + j) * 4 + c % 4] = surface[c] ^ flip;
	}
	g->operands->row_max[place] = largest_factor(&g->layer);
}

static void make_pairs_row(struct gcu *g, const uint8_t *from, uint32_t real, uint32_t place)
{
	const struct gcu_layer *l = &g->layer;
	const struct gcu_columns *columns = &g->columns;
	int16_t *to = (int16_t *)(g->operands->rows + place * g->operands->row_bytes);
	size_t surface = (size_t)g->atomic_c * l->esz;
	uint32_t max = 0;

	memset(to, 0, g->operands->row_bytes);
	for (uint32_t j = 0; j < columns->pitch; j++) {
		if (columns->source[j] < 0)
			continue;
		for (uint32_t c = 0; c < real; c++) {
			int32_t x = element(l, from + (size_t)columns->source[j] * surface, c,
					    l->unsigned_ifmap) - l->zx;

			to[((size_t)(c / 2) * columns->pitch + j) * 2 + c % 2] = (int16_t)x;
			max = magnitude(x) > max ? magnitude(x) : max;
		}
	}
	g->operands->row_max[place] = max;
}

/** struct sums - by kernel: sums over a kernel row of the factors and of their magnitudes. */
struct sums {
	int32_t *sum;
	uint32_t *size;
};

/* Factors of one kernel and one point, in pairs or quads. */
static void make_surface(struct gcu *g, const uint8_t *from, uint8_t *to, uint32_t k,
			 struct sums sums)
{
	const struct gcu_layer *l = &g->layer;

	for (uint32_t c = 0; c < g->atomic_c; c++) {
		int16_t w = (int16_t)(element(l, from, c, l->unsigned_weights) - l->zw);

		if (g->operands->quads)
			to[((c / 4) * g->atomic_k + k) * 4 + c % 4] = (uint8_t)w;
		else
			memcpy(to + (((c / 2) * g->atomic_k + k) * 2 + c % 2) * 2, &w, sizeof(w));
		sums.sum[k] += w;
		sums.size[k] += magnitude(w);
	}
}

/* @at is the logical byte of the slot. */
static void make_integer_kernels(struct gcu *g, size_t at, uint32_t slot)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_operands *o = g->operands;
	size_t surface = (size_t)g->atomic_c * l->esz, first = (size_t)slot * l->r * g->atomic_k;
	size_t tap = (size_t)g->atomic_c * g->atomic_k * (o->quads ? 1 : 2);
	struct sums sums = { o->kernel_sum + first, o->kernel_size + first };
	uint8_t *to = o->kernels + slot * o->kernel_bytes;

	memset(sums.sum, 0, (size_t)l->r * g->atomic_k * sizeof(*sums.sum));
	memset(sums.size, 0, (size_t)l->r * g->atomic_k * sizeof(*sums.size));
	for (uint32_t point = 0; point < l->r * l->s; point++, to += tap) {
		struct sums row = {
			sums.sum + point / l->s * g->atomic_k, sums.size + point / l->s * g->atomic_k,
		};

		for (uint32_t k = 0; k < g->group.kn; k++)
			make_surface(g, g->cbuf + gcu_kernel_byte(g, at + k * surface), to, k, row);
		at += g->atomic_k * surface;
	}
}

/* ---- FP16 ---- */

static float decode(uint16_t half)
{
	uint32_t e = half >> 10 & 0x1f, m = half & 0x3ff, bits;
	float v;

	if (!e) {
		v = (float)m * 0x1p-24f;
		return half >> 15 ? -v : v;
	}
	bits = (uint32_t)(half >> 15) << 31 | (e + 112) << 23 | m << 13;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint16_t half_at(const uint8_t *surface, uint32_t c)
{
	uint16_t half;

	memcpy(&half, surface + 2 * c, sizeof(half));
	return half;
}

static void make_float_row(struct gcu *g, const uint8_t *from, uint32_t place)
{
	const struct gcu_columns *columns = &g->columns;
	float *to = (float *)(g->operands->rows + place * g->operands->row_bytes);
	uint8_t *exponent = (uint8_t *)(to + (size_t)columns->pitch * g->atomic_c);

	for (uint32_t c = 0; c < g->atomic_c; c++)
		for (uint32_t j = 0; j < columns->pitch; j++, to++, exponent++) {
			int32_t x = columns->source[j];
			uint16_t half = x < 0 ? 0 : half_at(from + (size_t)x * g->word, c);

			*to = decode(half);
			*exponent = half >> 12 & 7;
		}
}

static void make_float_kernels(struct gcu *g, size_t at, float *to)
{
	uint32_t points = g->layer.r * g->layer.s, ck = g->atomic_c * g->atomic_k;
	uint8_t *exponent = (uint8_t *)(to + (size_t)points * ck);

	for (uint32_t point = 0; point < points; point++, to += ck, exponent += ck)
		for (uint32_t k = 0; k < g->atomic_k; k++, at += g->word) {
			const uint8_t *from = g->cbuf + gcu_kernel_byte(g, at);

			for (uint32_t c = 0; c < g->atomic_c; c++) {
				uint16_t half = k < g->group.kn ? half_at(from, c) : 0;

				to[c * g->atomic_k + k] = decode(half);
				exponent[c * g->atomic_k + k] = half >> 12 & 7;
			}
		}
}

/* ---- slots ---- */

void gcu_make_row(struct gcu *g, uint32_t slot)
{
	struct gcu_operands *o = g->operands;
	uint32_t place = slot % o->row_count, cg = g->s->row_tag[slot] & 0xffff;
	const uint8_t *from = g->cbuf + (size_t)slot * g->layer.columns * g->atomic_c *
			      g->layer.esz;

	if (o->row_of[place] == slot + 1)
		return;
	if (is_fp16(g))
		make_float_row(g, from, place);
	else if (o->quads)
		make_quads_row(g, from, gcu_real(g, g->layer.channels, cg), place);
	else
		make_pairs_row(g, from, gcu_real(g, g->layer.channels, cg), place);
	o->row_of[place] = slot + 1;
}

void gcu_make_kernels(struct gcu *g, uint32_t slot)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_operands *o = g->operands;
	size_t at = (size_t)slot * l->group_size * g->atomic_k * g->atomic_c * l->esz;

	if (o->kernel_known[slot])
		return;
	if (is_fp16(g))
		make_float_kernels(g, at, (float *)(o->kernels + slot * o->kernel_bytes));
	else
		make_integer_kernels(g, at, slot);
	o->kernel_known[slot] = true;
}

/* Both slots are up to date. */
void gcu_factors(const struct gcu *g, const struct gcu_op *op, struct gcu_factors *factors)
{
	const struct gcu_operands *o = g->operands;
	size_t tap = (size_t)g->atomic_c * g->atomic_k, first = op->r * g->layer.s * tap;
	uint8_t *row = o->rows + op->row_slot % o->row_count * o->row_bytes;
	uint8_t *kernels = o->kernels + op->kernel_slot * o->kernel_bytes;

	factors->row = row;
	if (!is_fp16(g)) {
		factors->weight = kernels + first * (o->quads ? 1 : sizeof(int16_t));
		return;
	}
	factors->row_exponent = row + (size_t)g->columns.pitch * g->atomic_c * sizeof(float);
	factors->weight = kernels + first * sizeof(float);
	factors->weight_exponent = kernels + g->layer.r * g->layer.s * tap * sizeof(float) + first;
}
