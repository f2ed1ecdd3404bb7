// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Factors of rows and kernels, made from CBUF in the form that products are computed from. */
#include <stdlib.h>
#include <string.h>

#include "mac.h"

#define ROWS_BYTES	((size_t)8 << 20)	/* memory for factors of rows */
#define FLOAT_BYTES	5			/* of an FP16 factor of a row and its exponent */
#define WEIGHT_BYTES	8			/* of a kernel */
#define STAGE_WORDS	(4096 * GCU_ATOMIC_MAX)	/* a row with a float for each element */

_Static_assert(ROWS_BYTES >= (size_t)GCU_PLACES_MAX * GCU_ATOMIC_MAX * FLOAT_BYTES,
	       "the longest row has a place");

static size_t cbuf_words(const struct gcu *g)
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
				   cm_core_align(cbuf_words(g) * g->atomic_c * WEIGHT_BYTES));
	o->stage = aligned_alloc(CM_CORE_ALIGN, STAGE_WORDS * sizeof(*o->stage));
	o->kernel_known = calloc(cbuf_words(g), sizeof(*o->kernel_known));
	o->kernel_batch = calloc(cbuf_words(g), sizeof(*o->kernel_batch));
	o->kernel_high = calloc(cbuf_words(g), sizeof(*o->kernel_high));
	o->kernel_low = calloc(cbuf_words(g), sizeof(*o->kernel_low));
	o->kernel_size = calloc(cbuf_words(g), sizeof(*o->kernel_size));
	o->kernel_sum = calloc(cbuf_words(g), sizeof(*o->kernel_sum));
	if (o->rows && o->kernels && o->stage && o->kernel_known && o->kernel_batch &&
	    o->kernel_high && o->kernel_low && o->kernel_size && o->kernel_sum)
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
	free(o->stage);
	free(o->kernel_known);
	free(o->kernel_batch);
	free(o->kernel_high);
	free(o->kernel_low);
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

/* The zero point of rows as uint8_t; signed ones are stored as what they are above -128. */
uint8_t gcu_row_zero(const struct gcu_layer *l)
{
	return (uint8_t)(l->zx + (l->unsigned_ifmap ? 0 : 128));
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
	size_t weight = is_fp16(g) ? WEIGHT_BYTES : bytes;
	size_t points = (size_t)g->layer.r * g->layer.s;

	o->quads = quads;
	o->row_bytes = (size_t)g->columns.pitch * g->atomic_c * bytes;
	o->kernel_bytes = points * g->atomic_c * g->atomic_k * weight;
	/* The same for quads and pairs. */
	o->places = gcu_least(g->layer.rows + GCU_PENDING_MAX,
			      (uint32_t)(ROWS_BYTES / (o->row_bytes * (quads ? 2 : 1))));
	o->next_place = 0;
	memset(o->place_of, 0xff, sizeof(o->place_of));
	memset(o->slot_of, 0xff, sizeof(o->slot_of));
	memset(o->row_batch, 0, sizeof(o->row_batch));
	memset(o->kernel_known, 0, g->layer.group_count * sizeof(*o->kernel_known));
	memset(o->kernel_batch, 0, g->layer.group_count * sizeof(*o->kernel_batch));
	o->number = 1;
}

void gcu_operands_drop_row(struct gcu *g, uint32_t slot)
{
	struct gcu_operands *o = g->operands;

	if (o->place_of[slot] == GCU_NO_PLACE)
		return;
	o->slot_of[o->place_of[slot]] = GCU_NONE;
	o->place_of[slot] = GCU_NO_PLACE;
}

void gcu_operands_drop_kernels(struct gcu *g, uint32_t slot)
{
	g->operands->kernel_known[slot] = false;
}

/* Words of factors of any type. */
typedef uint32_t word __attribute__((may_alias));

/* ---- elements ---- */

static uint32_t magnitude(int32_t v)
{
	return (uint32_t)(v < 0 ? -v : v);
}

/* INT8 as int16_t without its zero point. */
static void widen(const uint8_t *in, size_t count, bool is_unsigned, int32_t zero, int16_t *out)
{
	if (is_unsigned)
		for (size_t i = 0; i < count; i++)
			out[i] = (int16_t)(in[i] - zero);
	else
		for (size_t i = 0; i < count; i++)
			out[i] = (int16_t)((int8_t)in[i] - zero);
}

/* Every FP16 is a number, also with the exponent 31; the product is exact. */
static void decode(const uint8_t *in, size_t count, float *out)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t half;
		uint32_t bits;
		float v;

		memcpy(&half, in + 2 * i, sizeof(half));
		bits = (uint32_t)(half & 0x8000) << 16 | (uint32_t)(half & 0x7fff) << 13;
		memcpy(&v, &bits, sizeof(v));
		out[i] = v * 0x1p112f;
	}
}

/* ex of a decoded number: bits 4:2 of its FP16's exponent field, which is 0 for subnormal ones. */
static uint32_t exponent_of(const float *v)
{
	uint32_t bits;
	int32_t field;

	memcpy(&bits, v, sizeof(bits));
	field = (int32_t)(bits >> 23 & 0xff) - 112;
	return (uint32_t)(field < 0 ? 0 : field) >> 2;
}

/* ---- rows ---- */

/* Words of each column's surface to their places; @pad is the surface of a column without input. */
static inline __attribute__((always_inline))
void spread_words(const struct gcu_columns *columns, const word *from, const word *pad,
		  uint32_t flip, word *to, const uint32_t count)
{
	uint32_t pitch = columns->pitch;

	for (uint32_t j = 0; j < pitch; j++) {
		int32_t x = columns->source[j];
		const word *surface = x < 0 ? pad : from + (size_t)x * count;

#pragma GCC unroll 32
		for (uint32_t q = 0; q < count; q++)
			to[(size_t)q * pitch + j] = surface[q] ^ flip;
	}
}

static void spread(struct gcu *g, const void *from, uint32_t pad, uint32_t flip, void *to)
{
	uint32_t count = g->operands->row_words;
	word pads[GCU_ATOMIC_MAX];
	const struct gcu_columns *columns = &g->columns;

	for (uint32_t q = 0; q < count; q++)
		pads[q] = pad;
	switch (count) {
	case 1:
		return spread_words(columns, from, pads, flip, to, 1);
	case 2:
		return spread_words(columns, from, pads, flip, to, 2);
	case 4:
		return spread_words(columns, from, pads, flip, to, 4);
	case 8:
		return spread_words(columns, from, pads, flip, to, 8);
	case 16:
		return spread_words(columns, from, pads, flip, to, 16);
	}
	spread_words(columns, from, pads, flip, to, 32);
}

/* The magnitude of the largest factor that the elements allow. */
static uint32_t largest_factor(const struct gcu_layer *l)
{
	int32_t low = l->unsigned_ifmap ? 0 : -128;
	uint32_t a = magnitude(low - l->zx), b = magnitude(low + 255 - l->zx);

	return a > b ? a : b;
}

/* Channels from @real on to @value: a zero point is zero there, too. */
static void set_channels(const struct gcu *g, uint8_t *row, uint32_t real, uint8_t value)
{
	for (uint32_t x = 0; x < g->layer.width; x++)
		memset(row + x * g->atomic_c + real, value, g->atomic_c - real);
}

static void make_quads_row(struct gcu *g, const uint8_t *from, uint32_t real, uint8_t *to)
{
	const struct gcu_layer *l = &g->layer;
	uint8_t *stage = (uint8_t *)g->operands->stage, flip = l->unsigned_ifmap ? 0 : 0x80;
	uint8_t zero = gcu_row_zero(l) ^ flip;

	if (real < g->atomic_c) {
		memcpy(stage, from, l->width * g->atomic_c);
		set_channels(g, stage, real, zero);
		from = stage;
	}
	spread(g, from, zero * 0x01010101u, flip * 0x01010101u, to);
}

static uint32_t largest(const int16_t *in, size_t count)
{
	int16_t low = 0, high = 0;

	for (size_t i = 0; i < count; i++) {
		low = in[i] < low ? in[i] : low;
		high = in[i] > high ? in[i] : high;
	}
	return (uint32_t)(-low > high ? -low : high);
}

static uint32_t make_pairs_row(struct gcu *g, const uint8_t *from, uint32_t real, uint8_t *to)
{
	const struct gcu_layer *l = &g->layer;
	int16_t *stage = (int16_t *)g->operands->stage;
	size_t count = (size_t)l->width * g->atomic_c;

	if (l->esz == 2) {
		spread(g, from, 0, 0, to);
		return largest((const int16_t *)from, count);
	}
	widen(from, count, l->unsigned_ifmap, l->zx, stage);
	for (uint32_t x = 0; real < g->atomic_c && x < l->width; x++)
		memset(stage + x * g->atomic_c + real, 0,
		       (g->atomic_c - real) * sizeof(*stage));
	spread(g, stage, 0, 0, to);
	return largest(stage, count);
}

/* Returns the largest exponent. */
static uint32_t make_floats_row(struct gcu *g, const uint8_t *from, uint8_t *to)
{
	size_t count = (size_t)g->columns.pitch * g->atomic_c;
	float *stage = (float *)g->operands->stage;
	uint8_t *exponents = to + count * sizeof(float), max = 0;

	decode(from, (size_t)g->layer.width * g->atomic_c, stage);
	spread(g, stage, 0, 0, to);
	for (size_t i = 0; i < count; i++) {
		exponents[i] = (uint8_t)exponent_of((const float *)to + i);
		max = exponents[i] > max ? exponents[i] : max;
	}
	return max;
}

/* A place that the pending batch does not use; GCU_NO_PLACE: there is none. */
static uint32_t take_place(struct gcu *g, uint32_t slot)
{
	struct gcu_operands *o = g->operands;

	for (uint32_t i = 0; i < o->places; i++) {
		uint32_t place = o->next_place;

		o->next_place = place + 1 < o->places ? place + 1 : 0;
		if (o->row_batch[place] == o->number)
			continue;
		if (o->slot_of[place] != GCU_NONE)
			o->place_of[o->slot_of[place]] = GCU_NO_PLACE;
		o->slot_of[place] = (uint16_t)slot;
		o->place_of[slot] = (uint16_t)place;
		return place;
	}
	return GCU_NO_PLACE;
}

bool gcu_make_row(struct gcu *g, uint32_t slot)
{
	struct gcu_operands *o = g->operands;
	uint32_t place = o->place_of[slot], cg = g->s->row_tag[slot] & 0xffff;
	uint32_t real = gcu_real(g, g->layer.channels, cg);
	const uint8_t *from = gcu_row_slot(g, slot);
	uint8_t *to;

	if (place != GCU_NO_PLACE)
		return true;
	place = take_place(g, slot);
	if (place == GCU_NO_PLACE)
		return false;
	to = o->rows + place * o->row_bytes;
	o->row_words = g->atomic_c / (is_fp16(g) ? 1 : o->quads ? 4 : 2);
	o->row_max[place] = largest_factor(&g->layer);
	if (is_fp16(g))
		o->row_max[place] = make_floats_row(g, from, to);
	else if (o->quads)
		make_quads_row(g, from, real, to);
	else
		o->row_max[place] = make_pairs_row(g, from, real, to);
	return true;
}

/* ---- kernels ---- */

/* Words of surfaces, one kernel's after the other, to those of all kernels, @step apart. */
static inline __attribute__((always_inline))
void interleave_words(const word *from, uint32_t kernels, uint32_t flip, word *to, uint32_t step,
		      const uint32_t count)
{
	for (uint32_t k = 0; k < kernels; k++, from += count)
#pragma GCC unroll 16
		for (uint32_t q = 0; q < count; q++)
			to[(size_t)q * step + k] = from[q] ^ flip;
}

static void interleave(const struct gcu *g, const void *from, uint32_t count, uint32_t flip,
		       word *to)
{
	uint32_t kn = g->group.kn, step = g->atomic_k;

	switch (count) {
	case 1:
		return interleave_words(from, kn, flip, to, step, 1);
	case 2:
		return interleave_words(from, kn, flip, to, step, 2);
	case 4:
		return interleave_words(from, kn, flip, to, step, 4);
	case 8:
		return interleave_words(from, kn, flip, to, step, 8);
	}
	interleave_words(from, kn, flip, to, step, 16);
}

/* Factors of the kernels of a point in quads; @from has its surfaces. */
static void make_quads(struct gcu *g, const uint8_t *from, word *to, int32_t *sum)
{
	uint8_t flip = g->layer.unsigned_weights ? 0x80 : 0;

	interleave(g, from, g->atomic_c / 4, flip * 0x01010101u, to);
	if (!gcu_row_zero(&g->layer))
		return;
	for (uint32_t k = 0; k < g->group.kn; k++, from += g->atomic_c)
		for (uint32_t c = 0; c < g->atomic_c; c++)
			sum[k] += (int8_t)(from[c] ^ flip);
}

/* The same in pairs. */
static void make_pairs(struct gcu *g, const uint8_t *from, word *to, uint32_t *size)
{
	const struct gcu_layer *l = &g->layer;
	int16_t wide[GCU_ATOMIC_MAX * GCU_ATOMIC_MAX];
	const int16_t *w = (const int16_t *)from;

	if (l->esz == 1) {
		widen(from, g->group.kn * g->atomic_c, l->unsigned_weights, l->zw, wide);
		w = wide;
	}
	interleave(g, w, g->atomic_c / 2, 0, to);
	for (uint32_t k = 0; k < g->group.kn; k++, w += g->atomic_c)
		for (uint32_t c = 0; c < g->atomic_c; c++)
			size[k] += magnitude(w[c]);
}

/* @at is the logical byte of the slot. */
static void make_integers(struct gcu *g, size_t at, uint32_t slot, uint8_t *to)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_operands *o = g->operands;
	size_t surfaces = (size_t)g->atomic_c * l->esz * g->atomic_k;
	size_t tap = (size_t)g->atomic_c * g->atomic_k * (o->quads ? 1 : 2);
	uint8_t *from = (uint8_t *)o->stage;
	int32_t *sum = o->kernel_sum + (size_t)slot * l->r * g->atomic_k;
	uint32_t *size = o->kernel_size + (size_t)slot * l->r * g->atomic_k;

	memset(sum, 0, (size_t)l->r * g->atomic_k * sizeof(*sum));
	memset(size, 0, (size_t)l->r * g->atomic_k * sizeof(*size));
	for (uint32_t r = 0; r < l->r; r++, sum += g->atomic_k, size += g->atomic_k)
		for (uint32_t s = 0; s < l->s; s++, at += surfaces, to += tap) {
			gcu_load_words(g, at, surfaces >> g->word_shift, from);
			if (o->quads)
				make_quads(g, from, (word *)to, sum);
			else
				make_pairs(g, from, (word *)to, size);
		}
}

/* Exponents of a surface's weights, as four equal bytes; returns the largest. */
static uint32_t find_exponents(const float *in, uint32_t count, uint32_t *out)
{
	uint32_t max = 0;

	for (uint32_t c = 0; c < count; c++) {
		uint32_t e = exponent_of(in + c);

		out[c] = e * 0x01010101;
		max = e > max ? e : max;
	}
	return max;
}

static void make_floats(struct gcu *g, size_t at, uint32_t slot, uint8_t *to)
{
	uint32_t points = g->layer.r * g->layer.s, tap = g->atomic_c * g->atomic_k;
	uint32_t *exponents = (uint32_t *)to + (size_t)points * tap, high = 0, low = UINT8_MAX;
	float *out = (float *)to;

	for (uint32_t point = 0; point < points; point++, at += tap * 2) {
		for (uint32_t k = 0; k < g->group.kn; k++) {
			size_t first = (size_t)point * tap + k * g->atomic_c;
			uint32_t max;

			decode(g->cbuf + gcu_kernel_byte(g, at + k * g->word), g->atomic_c,
			       out + first);
			max = find_exponents(out + first, g->atomic_c, exponents + first);
			high = max > high ? max : high;
			low = max < low ? max : low;
		}
	}
	g->operands->kernel_high[slot] = (uint8_t)high;
	g->operands->kernel_low[slot] = (uint8_t)low;
}

bool gcu_make_kernels(struct gcu *g, uint32_t slot)
{
	const struct gcu_layer *l = &g->layer;
	struct gcu_operands *o = g->operands;
	size_t at = (size_t)slot * l->group_size * g->atomic_k * g->atomic_c * l->esz;
	uint8_t *to = o->kernels + slot * o->kernel_bytes;

	if (o->kernel_known[slot])
		return true;
	if (o->kernel_batch[slot] == o->number)
		return false;
	if (is_fp16(g))
		make_floats(g, at, slot, to);
	else
		make_integers(g, at, slot, to);
	o->kernel_known[slot] = true;
	return true;
}

void gcu_factors(const struct gcu *g, const struct gcu_op *op, struct gcu_factors *factors)
{
	const struct gcu_operands *o = g->operands;
	size_t tap = (size_t)g->atomic_c * g->atomic_k, first = op->r * g->layer.s * tap;
	uint8_t *row = o->rows + o->place_of[op->row_slot] * o->row_bytes;
	uint8_t *kernels = o->kernels + op->kernel_slot * o->kernel_bytes;

	factors->row = row;
	if (!is_fp16(g)) {
		factors->weight = kernels + first * (o->quads ? 1 : sizeof(int16_t));
		return;
	}
	factors->row_exponent = row + (size_t)g->columns.pitch * g->atomic_c * sizeof(float);
	factors->weight = kernels + first * sizeof(float);
	factors->weight_exponent =
		(const uint32_t *)kernels + g->layer.r * g->layer.s * tap + first;
}
