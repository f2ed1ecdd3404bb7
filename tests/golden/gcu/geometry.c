// SPDX-License-Identifier: MIT
#include "geometry.h"

int64_t golden_gcu_ceil(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

int64_t golden_gcu_kernel_groups(const struct golden_gcu_layer *l, int64_t atomic_k)
{
	return golden_gcu_ceil(l->k, atomic_k);
}

struct golden_gcu_range golden_gcu_range(const struct golden_gcu_layer *l, int64_t atomic_c,
					 int64_t atomic_k, int64_t i)
{
	struct golden_gcu_range g = { .k0 = i * atomic_k, .k1 = i * atomic_k + atomic_k - 1 };
	int64_t gs = l->c / l->group_n;

	if (g.k1 > l->k - 1)
		g.k1 = l->k - 1;
	g.kn = g.k1 - g.k0 + 1;
	if (l->group_n == 1) {
		g.last = golden_gcu_ceil(l->c, atomic_c) - 1;
	} else {
		g.first = (g.k0 / gs) * gs / atomic_c;
		g.last = ((g.k1 / gs + 1) * gs - 1) / atomic_c;
	}
	g.cgrpn = g.last - g.first + 1;
	return g;
}

/* An axis of the extended map: @size points behind @before, @inner points between two. */
static int64_t tap(int64_t at, int64_t before, int64_t size, int64_t inner)
{
	if (at < before || at > size + before + (size - 1) * inner - 1)
		return -1;
	return (at - before) % (inner + 1) ? -1 : (at - before) / (inner + 1);
}

int64_t golden_gcu_tap_row(const struct golden_gcu_layer *l, int64_t h, int64_t r)
{
	return tap(h * l->vstride + r * (l->dil_v + 1), l->top, l->h, l->inner_tb);
}

int64_t golden_gcu_tap_column(const struct golden_gcu_layer *l, int64_t w, int64_t s)
{
	return tap(w * l->hstride + s * (l->dil_h + 1), l->left, l->w, l->inner_lr);
}

int64_t golden_gcu_lines(int64_t va, int64_t bytes)
{
	return (va + bytes - 1) / 64 - va / 64 + 1;
}

int64_t golden_gcu_part_lines(int64_t va, int64_t n, int64_t m, int64_t column_stride)
{
	int64_t lines = 0;

	if (column_stride <= 64)
		return golden_gcu_lines(va, (n - 1) * column_stride + m);
	for (int64_t x = 0; x < n; x++)
		lines += golden_gcu_lines(va + x * column_stride, m);
	return lines;
}

int64_t golden_gcu_physical(enum cnnacc_gcu_port port, int64_t word, int64_t banks,
			    int64_t fmbufbankn)
{
	if (port == CNNACC_GCU_PORT_FMAP)
		return word < fmbufbankn * 512 ? word : -1;
	return word < (banks - fmbufbankn) * 512 ? banks * 512 - 1 - word : -1;
}

int64_t golden_gcu_slot_byte(const struct golden_gcu_layer *l, int64_t atomic_c, int64_t slot,
			     int64_t column)
{
	return (slot * l->fmbufcoln + column) * atomic_c * l->esz;
}

int64_t golden_gcu_kernel_byte(const struct golden_gcu_layer *l,
			       const struct golden_gcu_params *p, struct golden_gcu_point at)
{
	int64_t block = at.slot * l->kbufgrpsz + at.s + at.r * l->s;

	return (block * p->atomic_k + at.kernel) * p->atomic_c * l->esz;
}

void golden_gcu_rotate(const uint8_t *word, int64_t address, int64_t word_bytes, uint8_t *out)
{
	for (int64_t i = 0; i < word_bytes; i++)
		out[i] = word[(i + address) % word_bytes];
}
