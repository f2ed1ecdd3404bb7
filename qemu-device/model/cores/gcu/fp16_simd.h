/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sums of FP16 products for one vector width.  Defined where this is included: SIMD(),
 * SIMD_TARGET, LANES, the vectors FLOATS and INTS with LANES elements, MASK of their lanes and
 * DOUBLES with half as many elements, and their operations.
 *
 * The accumulator's new value is the sum of two numbers, rounded to minus infinity to 24 bits,
 * which is what the host's arithmetic gives in this rounding; but a sum below 2^X is zero or -2^X.
 * These sums, other than 0, and exponents that differ by more than 63 are left to gcu_fp_add().
 */

#define HALF			(LANES / 2)
#define WIDE_COLUMNS		(2 * GCU_STEP_COLUMNS)
/* MXCSR: all exceptions masked; rounding to minus infinity; denormals are zero. */
#define DEFAULT_CSR		0x1f80u
#define ROUND_DOWN		0x2000u
#define DENORMALS_ARE_ZERO	0x0040u

/** struct tap - a tap of some columns and one kernel. */
struct SIMD(tap) {
	const float *x, *w;
	const uint8_t *x_exponent;
	const uint32_t *w_exponent;	/* four equal bytes */
	size_t x_step;			/* from a channel to the next */
	uint32_t channels;
};

/** struct kind - constants that a function is compiled for. */
struct SIMD(kind) {
	uint32_t columns, channels;	/* computed together */
	bool to_floor, near;
};

/* func of 16 or 32 columns. */
SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(max_exponents)(const struct SIMD(tap) *t, uint8_t *funcs, const struct SIMD(kind) kind)
{
	const uint8_t *x = t->x_exponent;
	const uint32_t *w = t->w_exponent;
	__m256i wide = _mm256_setzero_si256();
	__m128i func = _mm_setzero_si128();

	for (uint32_t first = 0; first < t->channels; first += kind.channels)
		UNROLL
		for (uint32_t c = 0; c < kind.channels; c++, x += t->x_step, w++) {
			if (kind.columns == WIDE_COLUMNS)
				wide = _mm256_max_epu8(wide, _mm256_add_epi8(
					_mm256_loadu_si256((const __m256i *)x),
					_mm256_set1_epi32((int)*w)));
			else
				func = _mm_max_epu8(func, _mm_add_epi8(
					_mm_loadu_si128((const __m128i *)x),
					_mm_set1_epi32((int)*w)));
		}
	if (kind.columns == WIDE_COLUMNS)
		_mm256_storeu_si256((__m256i *)funcs, wide);
	else
		_mm_storeu_si128((__m128i *)funcs, func);
}

/* Lanes in which channel @c is shifted by fewer than 32 bits. */
SIMD_TARGET static inline MASK SIMD(in_reach)(const struct SIMD(tap) *t, uint32_t c, uint32_t j,
					      INTS func)
{
	INTS e = BYTES_TO_INTS(t->x_exponent + c * t->x_step + j);

	e = ADD(e, SPLAT((int32_t)(t->w_exponent[c] & 0xff) + 8));
	return GREATER(e, func);
}

/* The sum of up to 8 channels of columns @j.., which fits 32 bits; @unit is 2^(50 - 4 * func). */
SIMD_TARGET static inline __attribute__((always_inline))
INTS SIMD(sum_channels)(const struct SIMD(tap) *t, uint32_t first, uint32_t j, INTS func,
			FLOATS unit, const struct SIMD(kind) kind)
{
	const float *x = t->x + first * t->x_step + j, *w = t->w + first;
	INTS sum = SPLAT(0);

	UNROLL
	for (uint32_t c = 0; c < kind.channels; c++, x += t->x_step, w++) {
		FLOATS v = FLOAT_MUL(FLOAT_MUL(FLOAT_LOAD(x), FLOAT_SPLAT(*w)), unit);

		if (kind.to_floor)
			sum = ADD(sum, KEEP(SIMD(in_reach)(t, first + c, j, func), ROUND(v)));
		else
			sum = ADD(sum, TRUNCATE(v));
	}
	return sum;
}

/* Does an exponent differ by more than 63 from that of a sum that is not zero? */
SIMD_TARGET static inline bool SIMD(far_apart)(INTS old, INTS func)
{
	INTS field = AND(SRLI(old, 23), SPLAT(255));
	INTS d = SUB(field, ADD(SLLI(func, 2), SPLAT(37)));

	return ANY_BEYOND(d, 126, field);
}

/* The lanes one by one. */
SIMD_TARGET static __attribute__((noinline))
void SIMD(add_slowly)(int32_t *acc, const DOUBLES f[2], INTS func, const uint32_t *real)
{
	uint32_t funcs[LANES];
	double each[LANES];

	DOUBLE_STORE(each, f[0]);
	DOUBLE_STORE(each + HALF, f[1]);
	STORE(funcs, func);
	for (unsigned int j = 0; j < LANES; j++)
		if (real[j])
			acc[j] = (int32_t)gcu_fp_add((uint32_t)acc[j], (int64_t)each[j], funcs[j]);
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_lanes)(int32_t *acc, const DOUBLES f[2], INTS func, const uint32_t *real,
		     const bool near)
{
	FLOATS unit = AS_FLOATS(ADD(SLLI(func, 25), SPLAT((127 - 50) << 23))), sum, least;
	INTS old = LOAD(acc);
	MASK small;

	sum = JOIN(TO_FLOATS(MULTIPLY_ADD(f[0], TO_DOUBLES(LOW(unit)),
					  TO_DOUBLES(LOW(AS_FLOATS(old))))),
		   TO_FLOATS(MULTIPLY_ADD(f[1], TO_DOUBLES(HIGH(unit)),
					  TO_DOUBLES(HIGH(AS_FLOATS(old))))));
	/* At least 2^X. */
	least = FLOAT_MAX(FLOAT_MUL(MAGNITUDE(AS_FLOATS(old)), FLOAT_SPLAT(0x1p-23f)), unit);
	small = SMALLER(MAGNITUDE(sum), least);
	if (__builtin_expect(ANY_OF(small, AS_INTS(sum)) ||
			     (!near && SIMD(far_apart)(old, func)), 0))
		SIMD(add_slowly)(acc, f, func, real);
	else
		STORE(acc, SELECT(REAL(real), DROP(small, AS_INTS(sum)), old));
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_tap)(const struct SIMD(tap) *t, const uint32_t *real, int32_t *acc,
		   const struct SIMD(kind) kind)
{
	uint8_t funcs[WIDE_COLUMNS];

	SIMD(max_exponents)(t, funcs, kind);
	UNROLL
	for (uint32_t j = 0; j < kind.columns; j += LANES) {
		INTS func = BYTES_TO_INTS(funcs + j);
		FLOATS unit = AS_FLOATS(SUB(SPLAT((127 + 50) << 23), SLLI(func, 25)));
		INTS sum = SIMD(sum_channels)(t, 0, j, func, unit, kind);
		DOUBLES f[2] = { INTS_LOW(sum), INTS_HIGH(sum) };

		for (uint32_t c = kind.channels; c < t->channels; c += kind.channels) {
			sum = SIMD(sum_channels)(t, c, j, func, unit, kind);
			f[0] = DOUBLE_ADD(f[0], INTS_LOW(sum));
			f[1] = DOUBLE_ADD(f[1], INTS_HIGH(sum));
		}
		SIMD(add_lanes)(acc + j, f, func, real + j, kind.near);
	}
}

/* Columns @w.. of a tap of all kernels of a tile. */
SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_columns_of)(const struct gcu_batch *b, uint32_t n, struct gcu_tile tile, uint32_t w,
			  const struct SIMD(kind) kind)
{
	const struct gcu_factors *op = &b->op[n / b->taps];
	uint32_t s = n % b->taps, place = b->tap[s] + w;

	for (uint32_t k = tile.k; k < tile.k + tile.kernels; k++) {
		size_t weight = ((size_t)s * b->kernels + k) * b->channels;
		const struct SIMD(tap) t = {
			.x = (const float *)op->row + place,
			.w = (const float *)op->weight + weight,
			.x_exponent = op->row_exponent + place,
			.w_exponent = op->weight_exponent + weight,
			.x_step = b->pitch, .channels = b->channels,
		};

		SIMD(add_tap)(&t, b->real + place, b->acc + (size_t)k * b->acc_pitch + w, kind);
	}
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_float_tile)(const struct gcu_batch *b, struct gcu_tile tile,
			  const struct SIMD(kind) kind)
{
	const struct SIMD(kind) narrow = {
		GCU_STEP_COLUMNS, kind.channels, kind.to_floor, kind.near,
	};

	for (uint32_t n = 0; n < b->count * b->taps; n++) {
		uint32_t w = tile.w, end = tile.w + tile.columns;

		for (; w + WIDE_COLUMNS <= end; w += WIDE_COLUMNS)
			SIMD(add_columns_of)(b, n, tile, w, kind);
		if (w < end)
			SIMD(add_columns_of)(b, n, tile, w, narrow);
	}
}

/* With the host's rounding to minus infinity; not inlined, so that nothing moves across that. */
SIMD_TARGET static __attribute__((noinline))
void SIMD(float_tile)(const struct gcu_batch *b, struct gcu_tile tile)
{
	if (b->floor && b->channels < 8)
		SIMD(add_float_tile)(b, tile, (struct SIMD(kind)){ WIDE_COLUMNS, 4, true, false });
	else if (b->floor)
		SIMD(add_float_tile)(b, tile, (struct SIMD(kind)){ WIDE_COLUMNS, 8, true, false });
	else if (b->channels < 8)
		SIMD(add_float_tile)(b, tile, (struct SIMD(kind)){ WIDE_COLUMNS, 4, false, false });
	else if (b->near)
		SIMD(add_float_tile)(b, tile, (struct SIMD(kind)){ WIDE_COLUMNS, 8, false, true });
	else
		SIMD(add_float_tile)(b, tile, (struct SIMD(kind)){ WIDE_COLUMNS, 8, false, false });
}

static void SIMD(floats)(const struct gcu_batch *b, struct gcu_tile tile)
{
	unsigned int csr = _mm_getcsr();

	_mm_setcsr(DEFAULT_CSR | ROUND_DOWN | DENORMALS_ARE_ZERO);
	SIMD(float_tile)(b, tile);
	_mm_setcsr(csr);
}
