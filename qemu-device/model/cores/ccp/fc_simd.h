/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Inner loop of the fully connected unit, for each vector width as in conv_simd.h.  The sixteen
 * products of each of SIMD_WIDTH outputs are sixteen vectors.  Adding neighbouring lanes of two
 * vectors into one, four times, is the unit's adder tree and leaves one sum for each output.
 */

#define INLINE	static inline __attribute__((always_inline)) SIMD_TARGET
#define PARTS	(CNNACC_CCP_FC_LANES / SIMD_WIDTH)	/* vectors of one output */

typedef int32_t SIMD(bits) __attribute__((vector_size(4 * SIMD_WIDTH), may_alias));

#if SIMD_WIDTH == 4
#define EVEN	0, 2, 4, 6
#define ODD	1, 3, 5, 7
#elif SIMD_WIDTH == 8
#define EVEN	0, 2, 4, 6, 8, 10, 12, 14
#define ODD	1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVEN	0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD	1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#endif

INLINE void SIMD(tree)(SIMD(vec) *v)
{
	for (uint32_t n = CNNACC_CCP_FC_LANES; n > 1; n /= 2)
		for (uint32_t i = 0; i < n / 2; i++)
			v[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], EVEN) +
			       __builtin_shufflevector(v[2 * i], v[2 * i + 1], ODD);
}

/* Add a block of sixteen inputs at @x, of which the first @len are valid. */
INLINE void SIMD(fc_block)(SIMD(vec) *acc, const float *x, const float *w, size_t pitch,
			   uint32_t len)
{
	SIMD(vec) v[CNNACC_CCP_FC_LANES];

	for (uint32_t o = 0; o < SIMD_WIDTH; o++, w += pitch)
		for (uint32_t j = 0; j < PARTS; j++) {
			SIMD(vec) p = *(const SIMD(vec_mem) *)(x + j * SIMD_WIDTH) *
				      *(const SIMD(vec_mem) *)(w + j * SIMD_WIDTH);

			if (len < CNNACC_CCP_FC_LANES)
				p = (SIMD(vec))((SIMD(bits))p &
						(*(const SIMD(bits) *)(fc_input + j * SIMD_WIDTH) <
						 (int32_t)len));
			v[o * PARTS + j] = p;
		}
	SIMD(tree)(v);
	*acc += v[0];
}

/* Compute SIMD_WIDTH outputs from @o on. */
INLINE void SIMD(fc_outputs)(const struct ccp *c, uint32_t o)
{
	const struct ccp_fc *p = &c->plan.fc;
	const float *x = c->data[c->s->sel] + p->in_base;
	const float *w = c->weight + p->weight_base + o * p->in16;
	float tail[CNNACC_CCP_FC_LANES] = { 0 };
	uint32_t i, whole = p->in / CNNACC_CCP_FC_LANES * CNNACC_CCP_FC_LANES;
	SIMD(vec) acc = { 0 };

	for (i = 0; i < whole; i += CNNACC_CCP_FC_LANES)
		SIMD(fc_block)(&acc, x + i, w + i, p->in16, CNNACC_CCP_FC_LANES);
	if (i < p->in) {
		memcpy(tail, x + i, (p->in - i) * sizeof(*tail));
		SIMD(fc_block)(&acc, tail, w + i, p->in16, p->in - i);
	}
	if (p->bias)
		acc += *(const SIMD(vec_mem) *)(c->weight + p->bias_base + o);
	if (p->relu)
		acc = (SIMD(vec))((SIMD(bits))acc & (acc > 0.0f));
	else
		acc = (SIMD(vec))(((SIMD(bits))acc & (acc == acc)) |
				  (((SIMD(bits)){ 0 } + CCP_NAN) & (acc != acc)));
	*(SIMD(vec_mem) *)(c->data[!c->s->sel] + p->out_base + o) = acc;
}

SIMD_TARGET static uint32_t SIMD(fc)(const struct ccp *c, uint32_t first, uint32_t count)
{
	uint32_t done = 0;

	for (; count - done >= SIMD_WIDTH; done += SIMD_WIDTH)
		SIMD(fc_outputs)(c, first + done);
	return done;
}

#undef INLINE
#undef PARTS
#undef EVEN
#undef ODD
