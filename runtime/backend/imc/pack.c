// SPDX-License-Identifier: MIT
/* Packs weights for a weight bank. */
#include <string.h>

#include "imc.h"
#include "ops/quant.h"

/* Where the weight of channel @k of all and @c of its group is, in elements. */
static int64_t place_of(const struct imcc_conv *v, int64_t k, int64_t c, int64_t y, int64_t x)
{
	const struct imcc_weights *w = &v->weights;

	return k / v->co * w->group + k % v->co * w->k + c * w->c + y * w->y + x * w->x;
}

int32_t imcc_weight(const struct imcc_conv *v, int64_t k, int64_t c, int64_t y, int64_t x)
{
	const struct imcc_weights *w = &v->weights;
	int64_t i = place_of(v, k, c, y, x);

	return (w->is_unsigned ? ((const uint8_t *)w->data)[i] : ((const int8_t *)w->data)[i]) -
	       cnn_zero_point(w->zero, k);
}

int8_t imcc_addend(int32_t weight, int64_t i, int32_t *rest)
{
	int32_t own = 0;

	for (int64_t j = 0; j <= i; j++) {
		own = weight < INT8_MIN ? INT8_MIN : weight > INT8_MAX ? INT8_MAX : weight;
		weight -= own;
	}
	*rest = weight;
	return (int8_t)own;
}

/* Writes the weight of output @o and input channel @c of a part's block at tap (y, x). */
static void pack_weight(const struct imcc_conv *v, const struct imcc_part *p, int64_t o, int64_t c,
			int64_t y, int64_t x, uint8_t *to)
{
	int64_t k = p->block * v->block_groups * v->co + o, own = c - o / v->co * v->ci;
	int32_t rest;

	memset(to, 0, (size_t)v->size);
	if (own < 0 || own >= v->ci)
		return;
	if (v->format == CNNACC_IMC_FP32)
		memcpy(to, (const uint8_t *)v->weights.data + place_of(v, k, own, y, x) * v->size,
		       (size_t)v->size);
	else
		*to = (uint8_t)imcc_addend(imcc_weight(v, k, own, y, x), p->addend, &rest);
}

/* The weights of output @o at tap (row, column) of the phase; zeros where it has none. */
static uint8_t *pack_tap(const struct imcc_conv *v, const struct imcc_part *p, int64_t o,
			 int64_t row, int64_t column, uint8_t *to)
{
	const struct imcc_taps *y = &p->phase.y, *x = &p->phase.x;
	int64_t size = p->c * v->fold * v->size;

	if (row >= y->count || column >= x->count) {
		memset(to, 0, (size_t)size);
		return to + size;
	}
	for (int64_t c = 0; c < p->c * v->fold; c++, to += v->size)
		pack_weight(v, p, o, p->c0 + c % p->c, y->first + row * y->step,
			    x->first + column * x->step + c / p->c, to);
	return to;
}

void imcc_pack(const struct imcc_conv *v, const struct imcc_part *p, void *to)
{
	int64_t n = p->phase.n;
	uint8_t *at = to;

	for (int64_t o = p->k0; o < p->k0 + p->k; o++)
		for (int64_t i = 0; i < n * n; i++)
			at = pack_tap(v, p, o, i / n, i % n, at);
}

int32_t imcc_start(const struct imcc_conv *v, int64_t k, const struct imcc_phase *f)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < v->ci * f->y.count * f->x.count; i++)
		sum += imcc_weight(v, k, i / (f->y.count * f->x.count),
				   f->y.first + i / f->x.count % f->y.count * f->y.step,
				   f->x.first + i % f->x.count * f->x.step);
	return (int32_t)(-v->x_zero * sum);
}
