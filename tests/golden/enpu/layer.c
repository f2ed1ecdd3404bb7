// SPDX-License-Identifier: MIT
/* The values of layers, a pixel and a channel at a time. */
#include "state.h"

#include "../words.h"

static int8_t *byte_at(struct golden_enpu *enpu, enum cnnacc_enpu_memory memory, int64_t word,
		       int64_t lane)
{
	return (int8_t *)enpu->memory[memory] + CNNACC_ENPU_WORD_BYTES * word + lane;
}

/* Channel @c of pixel @pixel of a map. */
static int8_t *map_at(struct golden_enpu *enpu, const struct enpu_range *map, int64_t pixel,
		      int64_t c)
{
	return byte_at(enpu, map->memory, map->first + pixel * map->step + c / 16, c % 16);
}

/* -------------------------------------------------------------- arithmetic */

static int8_t clamp8(struct golden_enpu *enpu, int64_t value)
{
	enpu->coverage.clamped[0] += value < -128;
	enpu->coverage.clamped[1] += value > 127;
	return value < -128 ? -128 : value > 127 ? 127 : value;
}

/* floor(value / 2^n) */
static int64_t floor_shift(int64_t value, unsigned int n)
{
	int64_t divisor = (int64_t)1 << n, quotient = value / divisor;

	return quotient - (value % divisor < 0);
}

static int64_t wrap(const struct golden_enpu *enpu, int64_t value)
{
	int64_t modulus = (int64_t)1 << enpu->params.psum_bits, rest = value % modulus;

	if (rest < 0)
		rest += modulus;
	return rest >= modulus / 2 ? rest - modulus : rest;
}

static int32_t bias_of(struct golden_enpu *enpu, const struct enpu_insn *i, int64_t o)
{
	if (!enpu_has_block(i))
		return 0;
	return word_get((uint8_t *)byte_at(enpu, CNNACC_ENPU_WEIGHT,
					   i->block + CNNACC_ENPU_BLOCK_WORDS * (o / 16), 0),
			o % 16);
}

static int64_t shift_of(struct golden_enpu *enpu, const struct enpu_insn *i, int64_t o)
{
	if (!enpu_has_block(i))
		return i->shift;
	return *byte_at(enpu, CNNACC_ENPU_WEIGHT, i->block + CNNACC_ENPU_BLOCK_WORDS * (o / 16) + 4,
			o % 16);
}

static int8_t requantise(struct golden_enpu *enpu, const struct enpu_insn *i, int64_t o, int64_t m)
{
	int64_t v = wrap(enpu, m + bias_of(enpu, i, o)), s = shift_of(enpu, i, o);

	enpu->coverage.shift_left += s < 0;
	if (s > 0)
		return clamp8(enpu, floor_shift(v + ((int64_t)1 << (s - 1)), s));
	return clamp8(enpu, v * ((int64_t)1 << -s));
}

static int8_t activate(struct golden_enpu *enpu, const struct enpu_insn *i, int8_t x)
{
	unsigned int entry = (x & 255) >> 4;
	uint32_t word = word_get((uint8_t *)byte_at(enpu, CNNACC_ENPU_WEIGHT, i->lut, 0), entry);
	int64_t a = (int8_t)(word & 255), b = (int16_t)(word >> 8 & 0xffff);

	enpu->coverage.segment[entry]++;
	return clamp8(enpu, floor_shift(a * x, word >> 24 & 15) + b);
}

/* ------------------------------------------------------------------ stages */

/** struct pixel - an output being computed: row, column, channel. */
struct pixel {
	int64_t y, x, o;
};

/* The input of kernel point (r, s), padding outside the map. */
static int64_t input(struct golden_enpu *enpu, const struct enpu_insn *i, const struct pixel *p,
		     const int64_t rsc[3])
{
	struct enpu_range a = enpu_range_a(i);
	int64_t iy = p->y * i->sh + rsc[0] * (i->dh + 1) - i->ph;
	int64_t ix = p->x * i->sw + rsc[1] * (i->dw + 1) - i->pw;

	if (iy >= 0 && iy < i->hi && ix >= 0 && ix < i->wi)
		return *map_at(enpu, &a, iy * i->wi + ix, rsc[2]);
	enpu->coverage.padded++;
	return i->op == CNNACC_ENPU_MAX_POOL ? -128 : i->pad;
}

static int64_t weight(struct golden_enpu *enpu, const struct enpu_insn *i, int64_t point, int64_t o)
{
	return *byte_at(enpu, CNNACC_ENPU_WEIGHT,
			i->weight + point * enpu_groups(i->co) + o / 16, o % 16);
}

static int64_t sum_of_channel(struct golden_enpu *enpu, const struct enpu_insn *i,
			      const struct pixel *p, int64_t c)
{
	int64_t sum = 0, from = enpu_is_conv(i) ? c * i->hk * i->wk : 0;

	for (int64_t r = 0; r < i->hk; r++)
		for (int64_t s = 0; s < i->wk; s++)
			sum += input(enpu, i, p, (int64_t[]){ r, s, c }) *
			       weight(enpu, i, from + r * i->wk + s, p->o);
	return sum;
}

static int8_t convolve(struct golden_enpu *enpu, const struct enpu_insn *i, const struct pixel *p)
{
	int64_t sum = 0;
	int8_t value;

	for (int64_t c = 0; c < i->ci; c++)
		sum += sum_of_channel(enpu, i, p, c);
	value = requantise(enpu, i, p->o, sum);
	return i->op == CNNACC_ENPU_CONV_RELU && value < 0 ? 0 : value;
}

static int8_t maximum(struct golden_enpu *enpu, const struct enpu_insn *i, const struct pixel *p)
{
	int64_t most = -128;

	for (int64_t r = 0; r < i->hk; r++)
		for (int64_t s = 0; s < i->wk; s++) {
			int64_t value = input(enpu, i, p, (int64_t[]){ r, s, p->o });

			most = value > most ? value : most;
		}
	return most;
}

/* A stage of one value; a later stage gets @a from the one before. */
static int8_t point(struct golden_enpu *enpu, const struct enpu_insn *i, const struct pixel *p,
		    int8_t a)
{
	struct enpu_range map = enpu_range_b(i);
	int64_t b = enpu_has_b(i) ? *map_at(enpu, &map, p->y * i->wo + p->x, p->o) : 0;

	switch (i->op) {
	case CNNACC_ENPU_BN:
		return requantise(enpu, i, p->o, a * weight(enpu, i, 0, p->o));
	case CNNACC_ENPU_RELU:
		return a < 0 ? 0 : a;
	case CNNACC_ENPU_LUT:
		return activate(enpu, i, a);
	case CNNACC_ENPU_ADD:
		return clamp8(enpu, a + b);
	case CNNACC_ENPU_MUL:
		return requantise(enpu, i, p->o, a * b);
	default:	/* RESHAPE */
		return a;
	}
}

static int8_t first_stage(struct golden_enpu *enpu, const struct enpu_insn *i,
			  const struct pixel *p)
{
	struct enpu_range map = enpu_range_a(i);

	if (enpu_is_conv(i))
		return convolve(enpu, i, p);
	if (i->op == CNNACC_ENPU_MAX_POOL)
		return maximum(enpu, i, p);
	if (enpu_is_window(i))
		return requantise(enpu, i, p->o, sum_of_channel(enpu, i, p, p->o));
	return point(enpu, i, p, *map_at(enpu, &map, p->y * i->wo + p->x, p->o));
}

/* ----------------------------------------------------------------- results */

static void put(struct golden_enpu *enpu, const struct enpu_insn *i, const struct enpu_range *map,
		const struct pixel *p, int8_t value)
{
	struct enpu_shape shape = enpu_shape_of(i);
	int64_t at[3] = { p->y, p->x, p->o }, to[3] = { p->y, p->x, p->o }, pixel;

	if (i->op == CNNACC_ENPU_RESHAPE)
		enpu_moved(i, at, to);
	pixel = to[0] * shape.size[2] + to[1];
	*map_at(enpu, map, pixel, to[2]) = value;
	/* The last channel clears the lanes above it. */
	if (to[2] == shape.size[3] - 1)
		for (int64_t c = to[2] + 1; c % 16; c++)
			*map_at(enpu, map, pixel, c) = 0;
}

static void store(struct golden_enpu *enpu, const struct enpu_insn *i, const struct pixel *p,
		  int8_t value)
{
	struct enpu_range skip = enpu_range_skip(i), out = enpu_range_out(i);

	if (enpu_has_skip(i))
		put(enpu, i, &skip, p, value);
	if (enpu_has_out(i))
		put(enpu, i, &out, p, value);
}

/* All stages of one value. */
static void run_value(struct golden_enpu *enpu, const struct enpu_insn *first,
		      const struct pixel *p)
{
	int8_t value = first_stage(enpu, first, p);

	store(enpu, first, p, value);
	for (const struct enpu_insn *i = first; i->fused; i++) {
		value = point(enpu, i + 1, p, value);
		store(enpu, i + 1, p, value);
	}
}

void enpu_run(struct golden_enpu *enpu)
{
	struct pixel p;

	for (unsigned int n = 0; n < enpu->insns; n++) {
		const struct enpu_insn *i = &enpu->insn[n];

		if (!i->first)
			continue;
		for (p.y = 0; p.y < i->ho; p.y++)
			for (p.x = 0; p.x < i->wo; p.x++)
				for (p.o = 0; p.o < i->co; p.o++)
					run_value(enpu, i, &p);
	}
}
