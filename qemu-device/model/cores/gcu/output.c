// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Rows of the psum map, which the accumulators begin with, and of the ofmap. */
#include <string.h>

#include "gcu.h"

#define CHUNK_COLUMNS	256u
#define ELEMENT_NS	4	/* estimated time of an accumulator */

/** struct piece - columns of a map's row with the channels of one of its channel groups. */
struct piece {
	struct gcu_part part;
	uint32_t k, kernels;	/* in the kernel group */
	uint32_t column;
};

static uint32_t map_groups(const struct gcu *g)
{
	uint32_t k0 = g->group.k0, k1 = k0 + g->group.kn - 1;

	return k1 / g->atomic_c - k0 / g->atomic_c + 1;
}

/* The whole row of the @n-th channel group that the kernel group has a part in. */
static struct piece row_piece(const struct gcu *g, const struct cnnacc_gcu_map *map, uint32_t n,
			      uint32_t size)
{
	uint32_t k0 = g->group.k0, cg = k0 / g->atomic_c + n, c = cg * g->atomic_c;
	uint32_t begin = c > k0 ? c : k0, end = gcu_least(c + g->atomic_c, k0 + g->group.kn);
	struct piece piece = { .k = begin - k0, .kernels = end - begin };

	piece.part = gcu_map_part(map, cg, g->s->h, g->layer.ofmw, piece.kernels * size);
	piece.part.va += (uint64_t)(begin - c) * size;
	return piece;
}

static uint64_t row_lines(const struct gcu *g, const struct cnnacc_gcu_map *map, uint32_t size)
{
	uint64_t lines = 0;

	for (uint32_t n = 0; n < map_groups(g); n++) {
		struct piece piece = row_piece(g, map, n, size);

		lines += gcu_lines(&piece.part);
	}
	return lines;
}

uint64_t gcu_psum_lines(const struct gcu *g)
{
	return row_lines(g, &g->layer.b.psum, 4);
}

uint64_t gcu_ofmap_lines(const struct gcu *g)
{
	return row_lines(g, &g->layer.b.ofmap, g->layer.osz);
}

/* The columns at s->pos, which counts those of all groups. */
static struct piece next_piece(const struct gcu *g, const struct cnnacc_gcu_map *map,
			       uint32_t size)
{
	uint32_t ofmw = g->layer.ofmw, column = (uint32_t)(g->s->pos % ofmw);
	struct piece piece = row_piece(g, map, (uint32_t)(g->s->pos / ofmw), size);

	piece.column = column;
	piece.part.va += column * piece.part.stride;
	piece.part.columns = gcu_least(ofmw - column, CHUNK_COLUMNS);
	return piece;
}

static bool row_done(const struct gcu *g)
{
	return g->s->pos >= (uint64_t)map_groups(g) * g->layer.ofmw;
}

static void advance(struct gcu *g, const struct piece *piece, struct gcu_run *run)
{
	g->s->pos += piece->part.columns;
	run->budget -= (int64_t)piece->part.columns * piece->kernels * ELEMENT_NS;
}

static int32_t begin_with(const struct gcu_layer *l, int32_t psum)
{
	if (!l->acc16)
		return psum;
	return psum > INT16_MAX ? INT16_MAX : psum < INT16_MIN ? INT16_MIN : psum;
}

int gcu_read_psum(struct gcu *g, struct gcu_run *run)
{
	while (!row_done(g)) {
		struct piece piece = next_piece(g, &g->layer.b.psum, 4);
		const int32_t *from = (const int32_t *)g->buffer;

		if (run->budget <= 0)
			return 0;
		if (gcu_move(run, &piece.part, g->buffer, CNNACC_ACCESS_READ))
			return -1;
		for (uint32_t j = 0; j < piece.part.columns; j++)
			for (uint32_t k = 0; k < piece.kernels; k++, from++)
				g->acc[(size_t)(piece.k + k) * g->acc_pitch + piece.column + j] =
					begin_with(&g->layer, *from);
		advance(g, &piece, run);
	}
	return 1;
}

/* Outputs of one kernel to @to, where a column has @pitch elements. */
static void scatter(const int32_t *from, uint32_t count, uint32_t size, uint8_t *to, size_t pitch)
{
	if (size == 1)
		for (uint32_t j = 0; j < count; j++)
			to[j * pitch] = (uint8_t)from[j];
	else if (size == 2)
		for (uint32_t j = 0; j < count; j++)
			((uint16_t *)to)[j * pitch] = (uint16_t)from[j];
	else
		for (uint32_t j = 0; j < count; j++)
			((int32_t *)to)[j * pitch] = from[j];
}

int gcu_write_ofmap(struct gcu *g, struct gcu_run *run)
{
	int32_t out[CHUNK_COLUMNS];

	while (!row_done(g)) {
		uint32_t size = g->layer.osz;
		struct piece piece = next_piece(g, &g->layer.b.ofmap, size);

		if (run->budget <= 0)
			return 0;
		for (uint32_t k = 0; k < piece.kernels; k++) {
			const int32_t *acc = g->acc + (size_t)(piece.k + k) * g->acc_pitch +
					     piece.column;

			gcu_activate(g, piece.k + k, acc, piece.part.columns, out);
			scatter(out, piece.part.columns, size, g->buffer + k * size,
				piece.kernels);
		}
		if (gcu_move(run, &piece.part, g->buffer, CNNACC_ACCESS_WRITE))
			return -1;
		advance(g, &piece, run);
	}
	return 1;
}
