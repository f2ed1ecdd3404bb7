/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Inner loops of the convolution; simd.c includes this file once for each vector width, with
 * these macros defined:
 *
 *	SIMD(name)	name with a suffix for the width
 *	SIMD_WIDTH	floats in a vector: 4, 8 or 16
 *	SIMD_BLOCK	vectors per channel, so that CCP_BLOCK_CHANNELS sums fit the registers
 *	SIMD_TARGET	function attribute that enables the instruction set
 *
 * The lanes of a vector are different outputs, so that every output adds its taps in the order of
 * the specification.  A sum starts with its first product instead of +0.  That changes at most
 * the sign of a zero sum, and adding either zero to the LOB, which starts with +0, gives the same.
 */

typedef float SIMD(vec) __attribute__((vector_size(4 * SIMD_WIDTH)));
typedef float SIMD(vec_mem) __attribute__((vector_size(4 * SIMD_WIDTH), aligned(4), may_alias));

#define INLINE	static inline __attribute__((always_inline)) SIMD_TARGET

/* ---- the input tile ---- */

/* Load the lanes of an input row, @in for the first one; the others become +0.  @sx is 1 or 2. */
INLINE void SIMD(row8)(row8 *v, const float *in, const bits8 *lanes, const uint32_t sx)
{
	*v = *(const row8_mem *)in;
	if (sx == 2)
		*v = __builtin_shufflevector(*v, *(const row8_mem *)(in + 8),
					     0, 2, 4, 6, 8, 10, 12, 14);
	*v = (row8)((bits8)*v & *lanes);
}

INLINE void SIMD(row4)(row4 *v, const float *in, bits4 lanes, uint32_t sx)
{
	*v = *(const row4_mem *)in;
	if (sx == 2)
		*v = __builtin_shufflevector(*v, *(const row4_mem *)(in + 4), 0, 2, 4, 6);
	*v = (row4)((bits4)*v & lanes);
}

/* Fill the vectors of tap column @s from the input rows of the tile. */
INLINE void SIMD(fill_column8)(const struct ccp_conv *p, float *out, const float *const *row,
			       uint32_t s, const uint32_t sx)
{
	const float *const *far = row + (size_t)p->height * p->sy;
	uint32_t rows = p->tile_rows;
	bits8 lanes = *(const bits8 *)p->column[s];

	for (uint32_t q = 0; q < rows; q++, out += SIMD_WIDTH < 8 ? 8 : SIMD_WIDTH) {
		row8 a;
#if SIMD_WIDTH == 16
		row8 b;

		SIMD(row8)(&b, far[q] + s, &lanes, sx);
#else
		(void)far;
#endif
		SIMD(row8)(&a, row[q] + s, &lanes, sx);
#if SIMD_WIDTH == 16
		*(SIMD(vec) *)out = JOIN8(a, b);
#else
		*(row8 *)out = a;
#endif
	}
}

INLINE void SIMD(fill_column4)(const struct ccp_conv *p, float *out, const float *const *row,
			       uint32_t s)
{
	bits4 lanes = *(const bits4 *)p->column[s];

	for (uint32_t q = 0; q < p->tile_rows; q++, out += p->vector_floats)
		for (uint32_t j = 0; j < p->vector_floats / 4; j++) {
			row4 v;

			SIMD(row4)(&v, row[q + (size_t)j * p->height * p->sy] + s, lanes, p->sx);
			*(row4 *)(out + 4 * j) = v;
		}
}

/* Fill a tile that lies entirely inside the input, from rows @in + q * iw. */
INLINE void SIMD(fill_whole)(const struct ccp_conv *p, float *out, const float *in)
{
	const float *far = in + (size_t)p->height * p->sy * p->m.iw;
	uint32_t iw = p->m.iw;

	for (uint32_t s = 0; s < p->kw; s++, in++, far++)
		for (uint32_t q = 0; q < p->tile_rows; q++, out += p->vector_floats) {
			row8 a = *(const row8_mem *)(in + (size_t)q * iw);
#if SIMD_WIDTH == 16
			row8 b = *(const row8_mem *)(far + (size_t)q * iw);

			*(SIMD(vec) *)out = JOIN8(a, b);
#else
			*(row8 *)out = a;
#endif
		}
}

/* Fill a tile; rows outside the input are zeros. */
INLINE void SIMD(fill_edge)(const struct ccp_conv *p, float *tile, const float *plane, bool slow)
{
	uint32_t groups = p->vector_floats / p->lanes;
	uint32_t rows = (groups - 1) * p->height * p->sy + p->tile_rows;
	const float *row[CCP_TILE_ROWS];

	for (uint32_t y = 0; y < rows; y++) {
		int64_t at = p->first_row + y;

		row[y] = at >= 0 && at < p->m.ih ? plane + at * p->m.iw + p->first_column : zeros;
	}
	if (slow)
		ccp_conv_fill_slow(p, tile, row);
	for (uint32_t s = 0; !slow && s < p->kw; s++, tile += p->tile_rows * p->vector_floats)
		if (p->lanes == 4)
			SIMD(fill_column4)(p, tile, row, s);
		else if (p->sx == 1)
			SIMD(fill_column8)(p, tile, row, s, 1);
		else
			SIMD(fill_column8)(p, tile, row, s, 2);
}

SIMD_TARGET static void SIMD(fill)(const struct ccp *c, float *tile, uint64_t channel)
{
	const struct ccp_conv *p = &c->plan.conv;
	const float *plane = ccp_in_plane(c, &p->m, channel);
	int64_t at = plane - c->data[c->s->sel] + p->first_column;
	bool safe = at + p->low >= 0 && at + p->high <= c->bank_floats;

	if (p->whole && safe)
		SIMD(fill_whole)(p, tile, plane + p->first_row * p->m.iw + p->first_column);
	else
		SIMD(fill_edge)(p, tile, plane, p->sx > 2 || !safe);
}

/* ---- the LOBs ---- */

/* Load rows i, i + height, .. of the LOBs as a vector. */
INLINE void SIMD(load)(const struct ccp_conv *p, SIMD(vec) *v, const float *lob, uint32_t i)
{
	const float *at = lob + i * CNNACC_CCP_LANES;
	size_t far = (size_t)p->height * CNNACC_CCP_LANES;

#if SIMD_WIDTH == 4
	(void)far;
	*v = *(const row4 *)at;
#elif SIMD_WIDTH == 8
	if (p->lanes == 8)
		*v = *(const row8 *)at;
	else
		*v = JOIN4(*(const row4 *)at, *(const row4 *)(at + far));
#else
	if (p->lanes == 8)
		*v = JOIN8(*(const row8 *)at, *(const row8 *)(at + far));
	else
		*v = JOIN8(JOIN4(*(const row4 *)at, *(const row4 *)(at + far)),
			   JOIN4(*(const row4 *)(at + 2 * far), *(const row4 *)(at + 3 * far)));
#endif
}

/* The LOB's lanes and rows outside the map keep their contents. */
INLINE void SIMD(store4)(const struct ccp_conv *p, float *lob, uint32_t y, uint32_t x, row4 v)
{
	row4 *at = (row4 *)(lob + y * CNNACC_CCP_LANES + x);

	if (y < p->rows)
		*at = KEEP(row4, (bits4)v, (bits4)*at, *(const bits4 *)(p->valid + x));
}

/* Store lanes from @x on of rows @i, @i + height, ..: four of each row. */
INLINE void SIMD(store)(const struct ccp_conv *p, const SIMD(vec) *v, float *lob, uint32_t i,
			uint32_t x)
{
	uint32_t h = p->height;

#if SIMD_WIDTH == 4
	(void)h;
	SIMD(store4)(p, lob, i, x, *v);
#elif SIMD_WIDTH == 8
	SIMD(store4)(p, lob, i, x, HALF4(*v, 0));
	SIMD(store4)(p, lob, i + h, x, HALF4(*v, 4));
#else
	row8 low = LOW8(*v), high = HIGH8(*v);

	SIMD(store4)(p, lob, i, x, HALF4(low, 0));
	SIMD(store4)(p, lob, i + h, x, HALF4(low, 4));
	SIMD(store4)(p, lob, i + 2 * h, x, HALF4(high, 0));
	SIMD(store4)(p, lob, i + 3 * h, x, HALF4(high, 4));
#endif
}

/* ---- the output map ---- */

INLINE void SIMD(result)(const struct ccp_conv *p, row8 *v)
{
	bits8 keep = *v >= p->threshold;

	*v = KEEP(row8, (bits8)*v, (bits8){ 0 } + p->replacement, keep);
}

/* Store the lanes inside the map. */
INLINE void SIMD(save_row)(const struct ccp_conv *p, float *out, const row8 *v)
{
	row4 half = HALF4(*v, 0);
	row2 pair;
	uint32_t x = 0;

	if (p->cols == 8) {
		*(row8_mem *)out = *v;
		return;
	}
	if (p->cols & 4) {
		*(row4_mem *)out = half;
		half = HALF4(*v, 4);
		x = 4;
	}
	pair = __builtin_shufflevector(half, half, 0, 1);
	if (p->cols & 2) {
		*(row2_mem *)(out + x) = pair;
		pair = __builtin_shufflevector(half, half, 2, 3);
		x += 2;
	}
	if (p->cols & 1)
		out[x] = pair[0];
}

INLINE float *SIMD(output)(const struct ccp *c, const struct ccp_conv *p,
			   const struct ccp_bases *base, uint32_t o)
{
	return c->data[!c->s->sel] + base->out + (int64_t)((p->co_start + o) * p->m.out_pitch) +
	       (int64_t)p->row_start * p->m.ow + p->col_start;
}

#if SIMD_WIDTH >= 8
INLINE SIMD(vec) SIMD(results)(SIMD(vec) v, float threshold, int32_t replacement)
{
	typedef int32_t bits __attribute__((vector_size(4 * SIMD_WIDTH)));
	bits keep = v >= threshold;

	return KEEP(SIMD(vec), (bits)v, (bits){ 0 } + replacement, keep);
}

/* Store a vector of whole rows, from row @i on. */
INLINE void SIMD(save_rows)(const struct ccp_conv *p, const SIMD(vec) *total, float *out,
			    uint32_t i)
{
	SIMD(vec) v = SIMD(results)(*total, p->threshold, p->replacement);
	row8 row;

#if SIMD_WIDTH == 8
	row = v;
#else
	row = HIGH8(v);
	if (i + p->height < p->rows)
		SIMD(save_row)(p, out + (size_t)(i + p->height) * p->m.ow, &row);
	row = LOW8(v);
#endif
	SIMD(save_row)(p, out + (size_t)i * p->m.ow, &row);
}

/* Store the rows of a vector; the second one, if there is one, @far floats after the first. */
INLINE void SIMD(rows)(float *to, SIMD(vec) v, size_t far)
{
#if SIMD_WIDTH == 8
	(void)far;
	*(row8_mem *)to = v;
#else
	*(row8_mem *)to = LOW8(v);
	*(row8_mem *)(to + far) = HIGH8(v);
#endif
}

/*
 * Store @n vectors of whole rows, all inside the map, in a LOB and, unless @out is NULL, their
 * results in the map.
 */
INLINE void SIMD(finish_whole)(const struct ccp_conv *p, const SIMD(vec) *total, uint32_t n,
			       float *lob, float *out)
{
	size_t ow = p->m.ow, height = p->height;
	int32_t replacement = p->replacement;
	float threshold = p->threshold;

	for (uint32_t k = 0; k < n; k++)
		SIMD(rows)(lob + k * CNNACC_CCP_LANES, total[k], height * CNNACC_CCP_LANES);
	for (uint32_t k = 0; out && k < n; k++)
		SIMD(rows)(out + k * ow, SIMD(results)(total[k], threshold, replacement),
			   height * ow);
}

/* The same for vectors @i.., some of whose rows or lanes are outside the map. */
INLINE void SIMD(finish_part)(const struct ccp_conv *p, const SIMD(vec) *total, uint32_t i,
			      uint32_t n, float *lob, float *out)
{
	bits8 valid = *(const bits8 *)p->valid;
	uint32_t end = i + n;

	for (; i < end; i++, total++) {
		row8 *at = (row8 *)(lob + i * CNNACC_CCP_LANES);
#if SIMD_WIDTH == 8
		*at = KEEP(row8, (bits8)*total, (bits8)*at, valid);
#else
		row8 *below = at + p->height, low = LOW8(*total), high = HIGH8(*total);

		*at = KEEP(row8, (bits8)low, (bits8)*at, valid);
		if (i + p->height < p->rows)
			*below = KEEP(row8, (bits8)high, (bits8)*below, valid);
#endif
		if (out)
			SIMD(save_rows)(p, total, out, i);
	}
}

/* Are the @n vectors from @i on all inside the map? */
INLINE bool SIMD(inside)(const struct ccp_conv *p, uint32_t i, uint32_t n)
{
	return p->cols == 8 && i + n + (SIMD_WIDTH / 8 - 1) * p->height <= p->rows;
}
#endif

/* ---- multiply and add ---- */

/* Find the slice's weights of a block's output channels. */
INLINE void SIMD(find_weights)(const struct ccp *c, const struct ccp_slice *s, struct ccp_block *b)
{
	const struct ccp_conv *p = &c->plan.conv;

	for (uint32_t o = 0; o < b->channels; o++) {
		const float *bias;

		b->weight[o] = ccp_conv_weights(c, p, &p->base, s->channel, b->first + o, &bias);
		b->bias[o] = s->bias ? *bias : 0.0f;
	}
}

/* Compute the products of a tap; with @add they are added to the sums, else they start them. */
INLINE void SIMD(tap)(const struct ccp_conv *p, SIMD(vec) *sum, const float *x,
		      const struct ccp_block *b, size_t at, const uint32_t n,
		      const uint32_t channels, const bool add)
{
	size_t step = (size_t)p->sy * p->vector_floats;
	SIMD(vec) v[SIMD_BLOCK];

	UNROLL for (uint32_t i = 0; i < n; i++) {
		v[i] = *(const SIMD(vec) *)(x + i * step);
		IN_REGISTER(v[i]);
	}
	UNROLL for (uint32_t o = 0; o < channels; o++) {
		float weight = b->weight[o][at];

		UNROLL for (uint32_t i = 0; i < n; i++) {
			SIMD(vec) product = v[i] * weight;

			sum[o * n + i] = add ? sum[o * n + i] + product : product;
		}
	}
}

/* Accumulate one input channel, whose weights start at index @at. */
INLINE void SIMD(channel)(const struct ccp_conv *p, SIMD(vec) *total, const float *x,
			  const struct ccp_block *b, size_t at, const uint32_t n,
			  const uint32_t channels, const bool bias)
{
	uint32_t taps = p->kh * p->kw;
	SIMD(vec) sum[SIMD_BLOCK * CCP_BLOCK_CHANNELS];

	SIMD(tap)(p, sum, x + p->tap[0], b, at + (MUTANT(TAPS) ? taps - 1 : 0), n, channels,
		  false);
	for (uint32_t t = 1; t < taps; t++)
		SIMD(tap)(p, sum, x + p->tap[t], b, at + (MUTANT(TAPS) ? taps - 1 - t : t), n,
			  channels, true);
	UNROLL for (uint32_t k = 0; k < n * channels; k++) {
		if (bias && !MUTANT(BIAS))
			sum[k] += b->bias[k / n];
		total[k] += sum[k];
		if (bias && MUTANT(BIAS))
			total[k] += b->bias[k / n];
	}
}

/* Store a block's sums in the LOBs and, after the last input channel, the results in the map. */
SIMD_TARGET __attribute__((noinline))
static void SIMD(finish)(const struct ccp *c, const struct ccp_slice *s, const struct ccp_block *b,
			 const SIMD(vec) *total)
{
	const struct ccp_conv *p = &c->plan.conv;

	for (uint32_t o = b->first; o < b->first + b->channels; o++) {
		float *lob = s->lob + (size_t)o * CCP_TILE;
#if SIMD_WIDTH >= 8
		float *out = s->last ? SIMD(output)(c, p, &p->base, o) : NULL;

		if (p->lanes == 8) {
			if (SIMD(inside)(p, b->i, b->n))
				SIMD(finish_whole)(p, total, b->n, lob + b->i * CNNACC_CCP_LANES,
						   out ? out + (size_t)b->i * p->m.ow : NULL);
			else
				SIMD(finish_part)(p, total, b->i, b->n, lob, out);
			total += b->n;
			continue;
		}
#endif
		for (uint32_t i = b->i; i < b->i + b->n; i++, total++)
			SIMD(store)(p, total, lob, i, b->column);
	}
}

/*
 * Compute a block.  @n and @channels are those of @b, and constants, so that the loops unroll and
 * the sums stay in registers.  @one: a 1 x 1 kernel, whose products are added to the LOB without a
 * separate sum.
 */
INLINE void SIMD(block)(const struct ccp *c, const struct ccp_slice *s, const struct ccp_block *b,
			const uint32_t n, const uint32_t channels, const bool one)
{
	const struct ccp_conv *p = &c->plan.conv;
	const float *x = s->tile + (size_t)b->i * p->sy * p->vector_floats + b->column;
	const float *lob = s->lob + (size_t)b->first * CCP_TILE + b->column;
	uint32_t depth = s->depth - s->bias, taps = p->kh * p->kw;
	SIMD(vec) total[SIMD_BLOCK * CCP_BLOCK_CHANNELS], stored[SIMD_BLOCK * CCP_BLOCK_CHANNELS];
	size_t at = 0;

	UNROLL for (uint32_t k = 0; k < n * channels; k++) {
		total[k] = (SIMD(vec)){ 0 };
		if (s->channel)
			SIMD(load)(p, &total[k], lob + k / n * CCP_TILE, b->i + k % n);
	}
	for (uint32_t d = 0; d < depth; d++, x += p->tile_size, at += one ? 1 : taps)
		if (one)
			SIMD(tap)(p, total, x, b, at, n, channels, true);
		else
			SIMD(channel)(p, total, x, b, at, n, channels, false);
	if (s->bias)
		SIMD(channel)(p, total, x, b, at, n, channels, true);
	UNROLL for (uint32_t k = 0; k < n * channels; k++)
		stored[k] = total[k];
	SIMD(finish)(c, s, b, stored);
}

#define BLOCK(n, channels, one) \
SIMD_TARGET static void SIMD(block_##n##_##channels##_##one)(const struct ccp *c, \
		const struct ccp_slice *s, const struct ccp_block *b) \
{ \
	SIMD(block)(c, s, b, n, channels, one); \
}
#define BLOCKS(n) BLOCK(n, 1, 0) BLOCK(n, 1, 1) BLOCK(n, 4, 0) BLOCK(n, 4, 1)

BLOCKS(1)
BLOCKS(2)
#if SIMD_BLOCK >= 4
BLOCKS(3)
BLOCKS(4)
#endif

/* Store output channels from the LOBs, where vectors do not hold whole rows. */
SIMD_TARGET static void SIMD(save)(const struct ccp *c, uint32_t first, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;

	for (uint32_t o = first; o < first + count; o++) {
		const float *lob = c->lob + (size_t)o * CCP_TILE;
		float *out = SIMD(output)(c, p, &p->base, o);

		for (uint32_t y = 0; y < p->rows; y++, lob += CNNACC_CCP_LANES, out += p->m.ow) {
			row8 v = *(const row8 *)lob;

			SIMD(result)(p, &v);
			SIMD(save_row)(p, out, &v);
		}
	}
}

/* @channels is 1 or CCP_BLOCK_CHANNELS. */
SIMD_TARGET static void SIMD(add_channels)(const struct ccp *c, const struct ccp_slice *s,
					   uint32_t first, uint32_t channels)
{
#define ROW(n)	{ { SIMD(block_##n##_1_0), SIMD(block_##n##_1_1) }, \
		  { SIMD(block_##n##_4_0), SIMD(block_##n##_4_1) } }
	static void (*const block[][2][2])(const struct ccp *c, const struct ccp_slice *s,
					   const struct ccp_block *b) = {
		ROW(1), ROW(2),
#if SIMD_BLOCK >= 4
		ROW(3), ROW(4),
#endif
	};
#undef ROW
	const struct ccp_conv *p = &c->plan.conv;
	uint32_t blocks = (p->height + SIMD_BLOCK - 1) / SIMD_BLOCK;
	bool one = p->kh * p->kw == 1;
	struct ccp_block b = { .first = first, .channels = channels };

	SIMD(find_weights)(c, s, &b);
	for (; b.column < p->lanes; b.column += SIMD_WIDTH) {
		b.i = 0;
		for (uint32_t left = blocks; left; left--, b.i += b.n) {
			b.n = (p->height - b.i + left - 1) / left;
			block[b.n - 1][channels > 1][one](c, s, &b);
		}
	}
	if (s->last && (SIMD_WIDTH < 8 || p->lanes < 8))
		SIMD(save)(c, first, channels);
}

static void SIMD(add)(const struct ccp *c, const struct ccp_slice *s, uint32_t first,
		      uint32_t count)
{
	uint32_t end = first + count;

	for (; end - first >= CCP_BLOCK_CHANNELS; first += CCP_BLOCK_CHANNELS)
		SIMD(add_channels)(c, s, first, CCP_BLOCK_CHANNELS);
	for (; first < end; first++)
		SIMD(add_channels)(c, s, first, 1);
}

#undef BLOCKS
#undef BLOCK
#undef INLINE
