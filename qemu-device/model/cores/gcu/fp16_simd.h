/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Sums of FP16 products for one vector width.  Defined where this is included: SIMD(),
 * SIMD_TARGET, LANES, the vectors FLOATS and INTS with LANES elements, MASK of their lanes and
 * DOUBLES with half as many elements, and their operations.
 *
 * The accumulator's sum is that of two numbers, rounded to minus infinity, to 24 bits or to
 * 2^(X - 23): the host's addition in double with this rounding does it, and what is below 2^X
 * becomes zero.  Exponents that differ by more than 63 are left to gcu_fp_add().
 */

#define HALF			(LANES / 2)
/* MXCSR: all exceptions masked; rounding to minus infinity; denormals are zero. */
#define DEFAULT_CSR		0x1f80u
#define ROUND_DOWN		0x2000u
#define DENORMALS_ARE_ZERO	0x0040u

/** struct tap - a tap of some columns and one kernel. */
struct SIMD(tap) {
	const float *x, *w;
	const uint8_t *x_exponent, *w_exponent;
	size_t x_step, w_step;
	uint32_t channels;
};

/* func of GCU_STEP_COLUMNS columns. */
SIMD_TARGET static inline __m128i SIMD(max_exponent)(const struct SIMD(tap) *t)
{
	__m128i func = _mm_setzero_si128();

	for (uint32_t c = 0; c < t->channels; c++) {
		__m128i x = _mm_loadu_si128((const __m128i *)(t->x_exponent + c * t->x_step));
		__m128i w = _mm_set1_epi8((char)t->w_exponent[c * t->w_step]);

		func = _mm_max_epu8(func, _mm_add_epi8(x, w));
	}
	return func;
}

/* Lanes in which channel @c is shifted by fewer than 32 bits. */
SIMD_TARGET static inline MASK SIMD(in_reach)(const struct SIMD(tap) *t, uint32_t c, uint32_t j,
					      INTS func)
{
	INTS e = BYTES_TO_INTS(t->x_exponent + c * t->x_step + j);

	e = ADD(e, SPLAT(t->w_exponent[c * t->w_step] + 8));
	return GREATER(e, func);
}

/* The sum of up to 8 channels, which fits in 32 bits; @unit is 2^(50 - 4 * func). */
SIMD_TARGET static inline __attribute__((always_inline))
INTS SIMD(channel_sum)(const struct SIMD(tap) *t, uint32_t first, uint32_t j, INTS func,
		       FLOATS unit, const bool to_floor)
{
	uint32_t end = first + (t->channels < 8 ? t->channels : 8);
	INTS sum = SPLAT(0);

	for (uint32_t c = first; c < end; c++) {
		FLOATS x = FLOAT_LOAD(t->x + c * t->x_step + j);
		FLOATS v = FLOAT_MUL(FLOAT_MUL(x, FLOAT_SPLAT(t->w[c * t->w_step])), unit);

		if (to_floor)
			sum = ADD(sum, KEEP(SIMD(in_reach)(t, c, j, func), ROUND(v)));
		else
			sum = ADD(sum, TRUNCATE(v));
	}
	return sum;
}

/* Half of the lanes: @old + @f * @unit rounded down; *@small: what becomes zero. */
SIMD_TARGET static inline DOUBLES SIMD(add_half)(DOUBLES old, DOUBLES f, DOUBLES unit, DOUBLES *power)
{
	DOUBLES sum = DOUBLE_ADD(old, DOUBLE_MUL(f, unit)), magic;

	/* 2^X, and a number that aligns sums to 2^(X - 23) unless they are far larger. */
	*power = DOUBLE_MAX(DOUBLE_MUL(DOUBLE_EXPONENT(old), DOUBLE_SPLAT(0x1p-23)), unit);
	magic = DOUBLE_MUL(*power, DOUBLE_SPLAT(0x1.8p29));
	return DOUBLE_SUB(DOUBLE_ADD(sum, magic), magic);
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
void SIMD(add_slowly)(int32_t *acc, const double *f, INTS func, const uint32_t *real)
{
	uint32_t funcs[LANES];

	STORE(funcs, func);
	for (unsigned int j = 0; j < LANES; j++)
		if (real[j])
			acc[j] = (int32_t)gcu_fp_add((uint32_t)acc[j], (int64_t)f[j], funcs[j]);
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_lanes)(int32_t *acc, const DOUBLES f[2], INTS func, const uint32_t *real)
{
	FLOATS unit = AS_FLOATS(ADD(SLLI(func, 25), SPLAT((127 - 50) << 23)));
	INTS old = LOAD(acc), sum;
	DOUBLES y[2], power[2];
	MASK zero;

	if (SIMD(far_apart)(old, func)) {
		double each[LANES];

		DOUBLE_STORE(each, f[0]);
		DOUBLE_STORE(each + HALF, f[1]);
		SIMD(add_slowly)(acc, each, func, real);
		return;
	}
	y[0] = SIMD(add_half)(TO_DOUBLES(LOW(AS_FLOATS(old))), f[0], TO_DOUBLES(LOW(unit)), &power[0]);
	y[1] = SIMD(add_half)(TO_DOUBLES(HIGH(AS_FLOATS(old))), f[1], TO_DOUBLES(HIGH(unit)), &power[1]);
	sum = AS_INTS(JOIN(TO_FLOATS(y[0]), TO_FLOATS(y[1])));
	zero = SMALLER(y, power);
	/* What becomes zero keeps the sign of a number below zero only. */
	sum = SELECT(zero, KEEP(NEGATIVE(AS_FLOATS(sum)), SPLAT(INT32_MIN)), sum);
	STORE(acc, SELECT(REAL(real), sum, old));
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_tap)(const struct SIMD(tap) *t, const uint32_t *real, int32_t *acc,
		   const bool to_floor)
{
	uint8_t funcs[GCU_STEP_COLUMNS];

	_mm_storeu_si128((__m128i *)funcs, SIMD(max_exponent)(t));
	UNROLL
	for (unsigned int j = 0; j < GCU_STEP_COLUMNS; j += LANES) {
		INTS func = BYTES_TO_INTS(funcs + j), sum;
		FLOATS unit = AS_FLOATS(SUB(SPLAT((127 + 50) << 23), SLLI(func, 25)));
		DOUBLES f[2];

		sum = SIMD(channel_sum)(t, 0, j, func, unit, to_floor);
		f[0] = INTS_LOW(sum);
		f[1] = INTS_HIGH(sum);
		for (uint32_t c = 8; c < t->channels; c += 8) {
			sum = SIMD(channel_sum)(t, c, j, func, unit, to_floor);
			f[0] = DOUBLE_ADD(f[0], INTS_LOW(sum));
			f[1] = DOUBLE_ADD(f[1], INTS_HIGH(sum));
		}
		SIMD(add_lanes)(acc + j, f, func, real + j);
	}
}

SIMD_TARGET static inline __attribute__((always_inline))
void SIMD(add_float_tile)(const struct gcu_batch *b, struct gcu_tile tile, const bool to_floor)
{
	size_t step = (size_t)b->channels * b->kernels;

	for (uint32_t n = 0; n < b->count * b->taps; n++) {
		const struct gcu_factors *op = &b->op[n / b->taps];
		uint32_t s = n % b->taps;

		for (uint32_t k = tile.k; k < tile.k + tile.kernels; k++)
			for (uint32_t w = tile.w; w < tile.w + tile.columns; w += GCU_STEP_COLUMNS) {
				uint32_t place = b->tap[s] + w;
				struct SIMD(tap) t = {
					.x = (const float *)op->row + place,
					.w = (const float *)op->weight + s * step + k,
					.x_exponent = op->row_exponent + place,
					.w_exponent = op->weight_exponent + s * step + k,
					.x_step = b->pitch, .w_step = b->kernels,
					.channels = b->channels,
				};

				SIMD(add_tap)(&t, b->real + place,
					      b->acc + (size_t)k * b->acc_pitch + w, to_floor);
			}
	}
}

/* With the host's rounding to minus infinity; not inlined, so that nothing moves across that. */
SIMD_TARGET static __attribute__((noinline))
void SIMD(float_tile)(const struct gcu_batch *b, struct gcu_tile tile)
{
	if (b->floor)
		SIMD(add_float_tile)(b, tile, true);
	else
		SIMD(add_float_tile)(b, tile, false);
}

static void SIMD(floats)(const struct gcu_batch *b, struct gcu_tile tile)
{
	unsigned int csr = _mm_getcsr();

	_mm_setcsr(DEFAULT_CSR | ROUND_DOWN | DENORMALS_ARE_ZERO);
	SIMD(float_tile)(b, tile);
	_mm_setcsr(csr);
}
