/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Direct convolution for few output channels: reads the input's rows in place, without a tile, and
 * computes rows of eight outputs.  Included once for each vector width after conv_simd.h, whose
 * functions it uses; hosts with wider vectors have more registers.
 */

#define INLINE	static inline __attribute__((always_inline)) SIMD_TARGET

/**
 * struct ccp_direct - one output channel and one input channel of an EXEC; a local copy, so that
 * the compiler need not reload it after stores.
 * @in: first input of the tile, which may be outside the map
 * @first_row: row of @in
 * @ih: rows of the input
 * @weights: the channel's taps
 * @column: masks of the lanes whose input exists, by tap column
 * @bias: added last to the sums; never -0, so that no sum is -0
 * @from_lob: LOB to add, or NULL for the first input channel
 * @to_lob: LOB to write, or NULL
 * @out: first output of the tile in the map, or NULL
 * @next: bytes from @in to that of the next EXEC
 * @threshold: a result that is not >= @threshold is stored as @replacement
 */
struct SIMD(ccp_direct) {
	const float *in, *weights, *from_lob;
	float *to_lob, *out;
	const bits8 *column;
	uint64_t first_row, ih;
	size_t iw, ow;
	ptrdiff_t next;
	uint32_t rows;
	row8 bias, threshold;
	bits8 replacement;
};

/* Input row @y of the tile; a row of zeros if it is outside the input. */
INLINE const float *SIMD(direct_row)(const struct SIMD(ccp_direct) *x, uint32_t y)
{
	return x->first_row + y < x->ih ? x->in + y * x->iw : zeros;
}

/* Load the lanes of an input row for a tap column; masked by @column unless @whole. */
INLINE void SIMD(direct_input)(row8 *v, const float *in, const bits8 *column, const uint32_t sx,
			     const bool whole)
{
	*v = *(const row8_mem *)in;
	if (sx == 2)
		*v = __builtin_shufflevector(*v, *(const row8_mem *)(in + 8),
					     0, 2, 4, 6, 8, 10, 12, 14);
	if (!whole)
		*v = (row8)((bits8)*v & *column);
}

/* Finish row @i and store it; @map_only: to the map, not to the LOB. */
INLINE void SIMD(direct_end)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x, row8 *sum,
			   uint32_t i, const bool whole, const bool map_only)
{
	row8 *lob = map_only || !x->to_lob ? NULL : (row8 *)(x->to_lob + i * CNNACC_CCP_LANES);

	if (!MUTANT(BIAS))
		*sum += x->bias;
	if (!map_only && x->from_lob)
		*sum += *(const row8 *)(x->from_lob + i * CNNACC_CCP_LANES);
	if (MUTANT(BIAS))
		*sum += x->bias;
	if (lob)
		*lob = whole ? *sum :
			       KEEP(row8, (bits8)*sum, (bits8)*lob, *(const bits8 *)p->valid);
	if (!map_only && !x->out)
		return;
	*sum = KEEP(row8, (bits8)*sum, x->replacement, *sum >= x->threshold);
	if (whole)
		*(row8_mem *)(x->out + i * x->ow) = *sum;
	else
		SIMD(save_row)(p, x->out + i * x->ow, sum);
}

/* 3 x 3 kernels: each input row is added to the three output rows that use it. */
INLINE void SIMD(direct_3x3)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
			     const bool whole, const bool map_only)
{
	row8 weight[9], sum[3] = { 0 };
	bits8 column[3];

	UNROLL for (uint32_t t = 0; t < 9; t++)
		weight[t] = SPLAT8(x->weights[MUTANT(TAPS) ? 8 - t : t]);
	UNROLL for (uint32_t s = 0; s < 3; s++)
		column[s] = x->column[s];
	for (uint32_t y = 0; y < x->rows + 2; y++) {
		const float *in = SIMD(direct_row)(x, y);

		UNROLL for (uint32_t s = 0; s < 3; s++) {
			row8 v;

			SIMD(direct_input)(&v, in + s, &column[s], 1, whole);
			UNROLL for (uint32_t r = 0; r < 3; r++)
				sum[r] = r + s ? sum[r] + v * weight[3 * r + s] : v * weight[0];
		}
		if (y >= 2)
			SIMD(direct_end)(p, x, &sum[2], y - 2, whole, map_only);
		sum[2] = sum[1];
		sum[1] = sum[0];
	}
}

#if SIMD_WIDTH == 16
/* Finish rows @i and @i + @far and store them in the map. */
INLINE void SIMD(direct_save)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
			      SIMD(vec) sum, uint32_t i, uint32_t far, const bool whole)
{
	float *out = x->out + i * x->ow;
	row8 low, high;

	sum = SIMD(results)(sum + x->bias[0], x->threshold[0], x->replacement[0]);
	low = LOW8(sum);
	high = HIGH8(sum);
	if (whole) {
		*(row8_mem *)out = low;
		*(row8_mem *)(out + far * x->ow) = high;
	} else {
		SIMD(save_row)(p, out, &low);
		SIMD(save_row)(p, out + far * x->ow, &high);
	}
}

/*
 * 3 x 3 kernels of one input channel, results to the map only: @n vectors, each of two rows that
 * are half the tile apart, all in registers.  Of an odd number of rows one is computed twice.
 */
INLINE void SIMD(direct_rows)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
			      const uint32_t n, const bool whole)
{
	uint32_t far = x->rows / 2;
	SIMD(vec) sum[CNNACC_CCP_ROWS / 2];
	float weight[9];

	UNROLL for (uint32_t t = 0; t < 9; t++)
		weight[t] = x->weights[MUTANT(TAPS) ? 8 - t : t];
	UNROLL for (uint32_t y = 0; y < n + 2; y++) {
		const float *upper = SIMD(direct_row)(x, y), *lower = SIMD(direct_row)(x, y + far);

		__builtin_prefetch((const char *)upper + x->next);
		__builtin_prefetch((const char *)lower + x->next);
		UNROLL for (uint32_t s = 0; s < 3; s++) {
			SIMD(vec) v;
			row8 a, b;

			SIMD(direct_input)(&a, upper + s, &x->column[s], 1, whole);
			SIMD(direct_input)(&b, lower + s, &x->column[s], 1, whole);
			v = JOIN8(a, b);
			UNROLL for (uint32_t r = 0; r < 3 && r <= y; r++)
				if (y - r < n)
					sum[y - r] = r + s ? sum[y - r] + v * weight[3 * r + s] :
							     v * weight[0];
		}
	}
	UNROLL for (uint32_t i = 0; i < n; i++)
		SIMD(direct_save)(p, x, sum[i], i, far, whole);
}

#define ROWS(n) \
SIMD_TARGET static void SIMD(direct_rows_##n)(const struct ccp_conv *p, \
					      const struct SIMD(ccp_direct) *x, bool whole) \
{ \
	if (whole) \
		SIMD(direct_rows)(p, x, n, true); \
	else \
		SIMD(direct_rows)(p, x, n, false); \
}
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)
ROWS(7)
ROWS(8)
#undef ROWS

static void SIMD(direct_map)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x, bool whole)
{
	static void (*const rows[])(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
				    bool whole) = {
		SIMD(direct_rows_1), SIMD(direct_rows_2), SIMD(direct_rows_3),
		SIMD(direct_rows_4), SIMD(direct_rows_5), SIMD(direct_rows_6),
		SIMD(direct_rows_7), SIMD(direct_rows_8),
	};

	rows[(x->rows - 1) / 2](p, x, whole);
}
#else
/* With fewer registers the rows pass by three sums. */
INLINE void SIMD(direct_map)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
			     const bool whole)
{
	SIMD(direct_3x3)(p, x, whole, true);
}
#endif

/* Any kernel; a constant @side other than 0 unrolls the loop for a square one. */
INLINE void SIMD(direct_any)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
			   const uint32_t side, const uint32_t sx, const bool whole,
			   const bool map_only)
{
	uint32_t kh = side ? side : p->kh, kw = side ? side : p->kw;

	for (uint32_t i = 0; i < x->rows; i++) {
		row8 v, sum = { 0 };

		UNROLL for (uint32_t n = 0; n < kh * kw; n++) {
			uint32_t t = MUTANT(TAPS) ? kh * kw - 1 - n : n, s = t % kw;

			SIMD(direct_input)(&v, SIMD(direct_row)(x, i * p->sy + t / kw) + s,
					 &x->column[s], sx, whole);
			sum = n ? sum + v * x->weights[t] : v * x->weights[t];
		}
		SIMD(direct_end)(p, x, &sum, i, whole, map_only);
	}
}

INLINE void SIMD(direct_exec)(const struct ccp_conv *p, const struct SIMD(ccp_direct) *x,
			      const bool whole, const bool map_only)
{
	uint32_t side = p->kh == p->kw ? p->kh : 0;

	if (side == 3 && p->sy == 1 && p->sx == 1 && map_only)
		SIMD(direct_map)(p, x, whole);
	else if (side == 3 && p->sy == 1 && p->sx == 1)
		SIMD(direct_3x3)(p, x, whole, map_only);
	else if (side == 3 && p->sx == 2)
		SIMD(direct_any)(p, x, 3, 2, whole, map_only);
	else if (side == 1 && p->sx == 2)
		SIMD(direct_any)(p, x, 1, 2, whole, map_only);
	else
		SIMD(direct_any)(p, x, 0, p->sx, false, false);
}

/* Output channel @o of EXECs @begin..@end-1 of a run. */
INLINE void SIMD(direct_run)(const struct ccp *c, const struct ccp_conv *p, const struct ccp_run *r,
			   uint32_t begin, uint32_t end, uint32_t channel, uint32_t o, uint32_t to,
			   const bool whole, const bool map_only)
{
	const float *bias, *weights = ccp_conv_weights(c, p, &r->first, channel, o, &bias);
	const float *in = c->data[c->s->sel] + r->first.in + (int64_t)(channel * p->m.in_pitch) +
			  p->first_row * p->m.iw + p->first_column;
	float *out = SIMD(output)(c, p, &r->first, o), *lob = c->lob + (size_t)o * CCP_TILE;
	bool last = channel + 1 == p->ci_num;
	struct SIMD(ccp_direct) x = {
		.from_lob = channel ? lob : NULL,
		.to_lob = to & CCP_TO_LOB ? lob : NULL,
		.column = (const bits8 *)p->column,
		.first_row = (uint64_t)p->first_row, .ih = p->m.ih,
		.iw = p->m.iw, .ow = p->m.ow, .next = r->in * (ptrdiff_t)sizeof(float),
		.rows = p->rows,
		.threshold = SPLAT8(p->threshold), .replacement = SPLAT8(p->replacement),
	};

	for (int64_t n = begin; n < end; n++) {
		x.in = in + n * r->in;
		x.weights = weights + n * r->weight;
		x.bias = SPLAT8(last && p->bias ? bias[n * r->bias] + 0.0f : 0.0f);
		x.out = last && to & CCP_TO_MAP ? out + n * r->out : NULL;
		SIMD(direct_exec)(p, &x, whole, map_only);
	}
}

SIMD_TARGET static void SIMD(direct)(const struct ccp *c, const struct ccp_conv *p,
				   const struct ccp_run *r, uint32_t begin, uint32_t end,
				   uint32_t channel, uint32_t to)
{
	bool map_only = p->ci_num == 1 && to == CCP_TO_MAP;

	for (uint32_t o = 0; o < p->co_cnt; o++)
		if (p->columns && map_only)
			SIMD(direct_run)(c, p, r, begin, end, 0, o, to, true, true);
		else if (map_only)
			SIMD(direct_run)(c, p, r, begin, end, 0, o, to, false, true);
		else
			SIMD(direct_run)(c, p, r, begin, end, channel, o, to, false, false);
}

#undef INLINE
