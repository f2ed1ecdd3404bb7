// SPDX-License-Identifier: MIT
/*
 * Packs weights: for each kernel group, channel group of its range, kernel row and column, and
 * each of its kernels, ATOMIC_C elements. Channels that do not exist, or that a kernel does not
 * have, get the weights' zero point.
 */
#include <math.h>
#include <string.h>

#include "ops/float16.h"
#include "pack.h"

int64_t gcuc_packed_bytes(const struct gcuc_hw *hw, const struct gcuc_block *b)
{
	int64_t bytes = 0;

	for (int64_t kg = 0; kg < gcuc_kernel_groups(hw, b); kg++)
		bytes += gcuc_weight_bytes(hw, b, kg);
	return bytes;
}

struct packer {
	const struct gcuc_conv *v;
	const struct gcuc_piece *p;
	uint8_t *to;
};

static void put(struct packer *k, int64_t element)
{
	const uint16_t word = (uint16_t)element;

	if (k->p->b.element == 1)
		*k->to = (uint8_t)element;
	else
		memcpy(k->to, &word, sizeof(word));
	k->to += k->p->b.element;
}

/* The element of kernel k for channel c at point (y, x) of the block's kernel. */
static int64_t element_of(const struct packer *a, int64_t k, int64_t c, int64_t y, int64_t x)
{
	const struct gcuc_point *first = &a->p->first, *step = &a->p->step;
	const struct gcuc_point p = { first->z, first->y + y * step->y, first->x + x * step->x };

	const struct gcuc_conv *v = a->v;
	bool fp16 = v->format == CNNACC_GCU_FP16;
	int64_t own = c - gcuc_group(v, k) * v->ci;

	if (a->p->adds)
		return k == c ? 0x3c00 : 0;
	if (c >= a->p->c_end || own < 0 || own >= v->ci)
		return v->w_zero;
	return fp16 ? float_to_half(gcuc_weight_float(v, k, own, p)) :
		      gcuc_weight_int(v, k, own, p);
}

/* A channel group of a kernel group. */
static void pack_group(struct packer *a, int64_t lanes, int64_t k0, int64_t kernels, int64_t c0)
{
	const struct gcuc_block *b = &a->p->b;

	for (int64_t i = 0; i < b->y.kernel * b->x.kernel; i++)
		for (int64_t k = k0; k < k0 + kernels; k++)
			for (int64_t c = c0; c < c0 + lanes; c++)
				put(a, element_of(a, k, c, i / b->x.kernel, i % b->x.kernel));
}

void gcuc_pack(const struct gcuc_hw *hw, const struct gcuc_conv *v, const struct gcuc_piece *p,
	       uint8_t *to)
{
	struct packer a = { .v = v, .p = p, .to = to };

	for (int64_t kg = 0; kg < gcuc_kernel_groups(hw, &p->b); kg++) {
		struct gcuc_range r = gcuc_range(hw, &p->b, kg);

		for (int64_t g = r.first; g < r.first + r.count; g++)
			pack_group(&a, hw->atomic_c, p->k0 + kg * hw->atomic_k, r.kernels,
				   p->c0 + g * hw->atomic_c);
	}
}

/* The argument of entry i of the lut. */
static double argument_of(int i)
{
	return i < 2048 ? i / 1024.0 : i < 3072 ? 2 + (i - 2048) / 512.0 : 4 + (i - 3072) / 128.0;
}

void gcuc_make_lut(uint8_t *to)
{
	for (int i = 0; i < CNNACC_GCU_LUT_ENTRIES; i++) {
		double v = nearbyint(65536 * tanh(argument_of(i) / 2));
		const uint16_t entry = (uint16_t)fmin(v, 65535);

		memcpy(to + 2 * i, &entry, sizeof(entry));
	}
}
