// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* CBUF: where words are, and what fills a slot. */
#include <string.h>

#include "gcu.h"

/* Physical byte of logical byte @at of an area; the kernel area's words are in reverse order. */
size_t gcu_kernel_byte(const struct gcu *g, size_t at)
{
	size_t words = (size_t)g->banks * GCU_BANK_WORDS;

	return ((words - 1 - (at >> g->word_shift)) << g->word_shift) + (at & (g->word - 1));
}

uint8_t *gcu_row_slot(const struct gcu *g, uint32_t slot)
{
	return g->cbuf + (size_t)slot * g->layer.columns * g->atomic_c * g->layer.esz;
}

/* @data has the @real channels of each column without gaps; the others are zero. */
void gcu_store_row(struct gcu *g, uint32_t slot, uint32_t real, const uint8_t *data)
{
	const struct gcu_layer *l = &g->layer;
	size_t surface = (size_t)g->atomic_c * l->esz, bytes = (size_t)real * l->esz;
	uint8_t *to = gcu_row_slot(g, slot);

	memset(to, 0, l->width * surface);
	for (uint32_t x = 0; x < l->width; x++)
		memcpy(to + x * surface, data + x * bytes, bytes);
}

/* Copy whole words, from each to the next @to_step and @from_step bytes further. */
static inline __attribute__((always_inline))
void copy_words(uint8_t *to, ptrdiff_t to_step, const uint8_t *from, ptrdiff_t from_step,
		size_t count, const size_t word)
{
	for (size_t i = 0; i < count; i++, to += to_step, from += from_step)
		memcpy(to, from, word);
}

/* A copy of constant size is inlined. */
static void copy(const struct gcu *g, uint8_t *to, ptrdiff_t to_step, const uint8_t *from,
		 ptrdiff_t from_step, size_t count)
{
	switch (g->word) {
	case 8:
		return copy_words(to, to_step, from, from_step, count, 8);
	case 16:
		return copy_words(to, to_step, from, from_step, count, 16);
	case 32:
		return copy_words(to, to_step, from, from_step, count, 32);
	}
	copy_words(to, to_step, from, from_step, count, 64);
}

/* Write @bytes from logical byte @at of the kernel area on, where a word begins. */
static void store_words(struct gcu *g, size_t at, const uint8_t *from, size_t bytes)
{
	uint8_t *to = g->cbuf + gcu_kernel_byte(g, at);
	size_t whole = bytes & ~(size_t)(g->word - 1);

	copy(g, to, -(ptrdiff_t)g->word, from, g->word, whole >> g->word_shift);
	if (whole < bytes)
		memcpy(to - whole, from + whole, bytes - whole);
}

void gcu_load_words(const struct gcu *g, size_t at, size_t count, uint8_t *to)
{
	copy(g, to, g->word, g->cbuf + gcu_kernel_byte(g, at), -(ptrdiff_t)g->word, count);
}

/* @data has the surfaces of the real kernels of each point. */
void gcu_store_kernels(struct gcu *g, uint32_t slot, const uint8_t *data)
{
	const struct gcu_layer *l = &g->layer;
	size_t surface = (size_t)g->atomic_c * l->esz, points = (size_t)l->r * l->s;
	size_t at = (size_t)slot * l->group_size * g->atomic_k * surface;
	size_t bytes = g->group.kn * surface;

	if (g->group.kn == g->atomic_k) {
		store_words(g, at, data, points * bytes);
		return;
	}
	for (size_t point = 0; point < points; point++, data += bytes) {
		store_words(g, at, data, bytes);
		at += g->atomic_k * surface;
	}
}

/* Physical byte of the @n-th word of a probe or fill, which are all inside its area. */
static size_t word_at(const struct gcu *g, const struct cnnacc_gcu_probe *b, uint32_t n)
{
	size_t at = (((size_t)b->address >> g->word_shift) + n) << g->word_shift;

	return b->port == CNNACC_GCU_PORT_KERNEL ? gcu_kernel_byte(g, at) : at;
}

void gcu_read_words(const struct gcu *g, const struct cnnacc_gcu_probe *b, uint32_t first,
		    uint32_t count, uint8_t *out)
{
	size_t turn = b->address % g->word;

	for (uint32_t n = first; n < first + count; n++, out += g->word) {
		const uint8_t *word = g->cbuf + word_at(g, b, n);

		memcpy(out, word + turn, g->word - turn);
		memcpy(out + g->word - turn, word, turn);
	}
}

void gcu_write_words(struct gcu *g, const struct cnnacc_gcu_probe *b, uint32_t first,
		     uint32_t count, const uint8_t *in)
{
	for (uint32_t n = first; n < first + count; n++, in += g->word)
		memcpy(g->cbuf + word_at(g, b, n), in, g->word);
}
