// SPDX-License-Identifier: MIT
/* Packs weights for a weight bank. */
#include <string.h>

#include "imc.h"

/* The weight of output o and input channel c of a block at tap (y, x) of the node's kernel. */
static const void *weight_at(const struct imcc_conv *v, int64_t block, int64_t o, int64_t c,
			     int64_t y, int64_t x)
{
	static const uint32_t zero;
	int64_t k = block * v->block_groups * v->co + o, own = c - o / v->co * v->ci;
	const struct imcc_weights *w = &v->weights;

	if (y >= v->y.kernel || x >= v->x.kernel * v->fold || own < 0 || own >= v->ci)
		return &zero;
	return (const uint8_t *)w->data + (k * w->k + own * w->c + y * w->y + x * w->x) * v->size;
}

void imcc_pack(const struct imcc_conv *v, const struct imcc_part *p, void *to)
{
	const struct imcc_phase *f = &p->phase;
	uint8_t *at = to;

	for (int64_t o = p->k0; o < p->k0 + p->k; o++)
		for (int64_t i = 0; i < f->n * f->n; i++) {
			int64_t y = i / f->n * v->y.phases + f->y;
			int64_t x = i % f->n * v->x.phases + f->x;

			for (int64_t c = 0; c < p->c * v->fold; c++, at += v->size)
				memcpy(at, weight_at(v, p->block, o, p->c0 + c % p->c, y,
						     x + c / p->c), (size_t)v->size);
		}
}
