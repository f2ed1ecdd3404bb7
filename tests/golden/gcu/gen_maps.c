// SPDX-License-Identifier: MIT
/* Where a layer's data is in memory, and what it is. */
#include "gen.h"

#include <string.h>

#define LINE		CNNACC_LINE_SIZE
#define VA_END		(1ull << CNNACC_VA_BITS)
#define EXTENT_MAX	(192 << 10)

static bool is_write(enum golden_gcu_access access)
{
	return access == GOLDEN_GCU_OFMAP || access == GOLDEN_GCU_PROBED;
}

static void add_spot(struct gen_gcu *gen, enum golden_gcu_access access)
{
	if (gen->spots < JOB_REGIONS && gen->job->regions)
		gen->spot[gen->spots++] = (struct gen_gcu_spot){ access, gen->job->regions - 1 };
}

/* The last lines of the address space; VA 0 is mapped, so that a wrap would not fault. */
static uint32_t take_last(struct gen_gcu *gen, uint64_t lines, uint32_t permissions)
{
	uint64_t before = gcu_pick(gen, 1, lines - 1);
	uint64_t va = VA_END - before * LINE;

	gen->beyond = false;
	places_keep(&gen->places, va, VA_END);
	job_region(gen->job, va, before, permissions);
	space_map(&gen->job->space, 0, (lines - before) * LINE,
		  CNNACC_PTE_READ | CNNACC_PTE_WRITE);
	return va;
}

/* The target mostly has a page table of its own, so that no other access fails before it. */
static uint32_t take_place(struct gen_gcu *gen, enum golden_gcu_access access, uint64_t lines)
{
	struct places *p = &gen->places;
	uint32_t near[PLACES_NEAR], va;

	if (access != gen->target)
		return places_take(p, lines);
	memcpy(near, p->near, sizeof(near));
	for (unsigned int n = 0; n < PLACES_NEAR; n++)
		p->near[n] = near[PLACES_NEAR - 1];
	va = places_take(p, lines);
	memcpy(p->near, near, sizeof(near));
	return va;
}

uint32_t gen_gcu_take(struct gen_gcu *gen, enum golden_gcu_access access, uint64_t bytes)
{
	uint64_t lines = golden_gcu_ceil(bytes, LINE);
	uint32_t permissions = is_write(access) ? CNNACC_PTE_WRITE : CNNACC_PTE_READ, va;

	if (gcu_chance(gen, 20))
		permissions |= CNNACC_PTE_READ | CNNACC_PTE_WRITE;
	if (gen->beyond && gen->target == access && lines > 1) {
		va = take_last(gen, lines, permissions);
	} else {
		va = take_place(gen, access, lines);
		job_region(gen->job, va, lines, permissions);
	}
	add_spot(gen, access);
	return va;
}

/* ------------------------------------------------------------------- data */

/** enum mood - kinds of data. */
enum mood { RANDOM, SMALL, EXTREME, NEAR_ONE, PLAIN_FP, MOODS };

static uint16_t any_half(struct gen_gcu *gen, enum mood mood)
{
	static const uint16_t extremes[] = {
		0x0000, 0x8000, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0x7e01, 0x0001, 0x8001,
		0x0400, 0x7fff, 0xffff, 0x4000, 0x3800, 0xb800,
	};
	uint16_t bits = prng_next(&gen->prng);

	switch (mood) {
	case SMALL:
		return bits & 0x0303;
	case EXTREME:
		return extremes[bits % 16];
	case NEAR_ONE:
		return (bits & 0x8000) | 0x3c00 | (bits & (bits >> 4) & 0x3);
	case PLAIN_FP:
		return (bits & 0x83ff) | gcu_pick(gen, 9, 18) << 10;
	default:
		return bits;
	}
}

static uint32_t any_word(struct gen_gcu *gen, enum mood mood)
{
	static const uint32_t extremes[] = {
		0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff,
		0x7f800000, 0x7fc00001, 0x00000001, 0x80000001, 0x7fffffff, 0xffffffff,
		0x80000001, 0x3f800001, 0x4b000000, 0x7fffff00,
	};
	uint32_t bits = prng_next(&gen->prng);

	switch (mood) {
	case SMALL:
		return (int32_t)(bits % 601) - 300;
	case EXTREME:
		return extremes[bits % 16] ^ (bits >> 8 & 0x8000 ? bits >> 28 : 0);
	case NEAR_ONE:
		return (bits & 0x80000003) | 0x3f800000;
	case PLAIN_FP:
		return (bits & 0x807fffff) | (uint32_t)gcu_pick(gen, 110, 140) << 23;
	default:
		return bits;
	}
}

/* Bytes from @va on, as far as they are mapped; numbers of 2 or 4 bytes. */
static void fill(struct gen_gcu *gen, uint64_t va, uint64_t bytes, unsigned int size)
{
	enum mood mood = gcu_pick(gen, 0, MOODS - 1);
	uint64_t end = va + bytes < VA_END ? va + bytes : VA_END;

	for (va -= va % 4; va < end; va += size) {
		uint32_t value = size == 2 ? any_half(gen, mood) : any_word(gen, mood);
		uint8_t number[4] = { value, value >> 8, value >> 16, value >> 24 };

		space_write(&gen->job->space, va, number, size);
	}
}

uint32_t gen_gcu_take_filled(struct gen_gcu *gen, enum golden_gcu_access access, uint64_t bytes,
			     unsigned int size)
{
	uint32_t va = gen_gcu_take(gen, access, bytes);

	fill(gen, va, bytes, size);
	return va;
}

/* ------------------------------------------------------------------- maps */

/** struct map_size - of a map in elements, and the bytes of one. */
struct map_size {
	int64_t columns, rows, channels, bytes;
};

static int64_t groups_of(const struct gen_gcu *gen, const struct map_size *s)
{
	return golden_gcu_ceil(s->channels, gen->params.atomic_c);
}

static int64_t group_bytes(const struct gen_gcu *gen, const struct map_size *s)
{
	int64_t channels = s->channels < gen->params.atomic_c ? s->channels :
								 gen->params.atomic_c;

	return channels * s->bytes;
}

static int64_t map_extent(const struct gen_gcu *gen, const struct golden_gcu_map *m,
			  const struct map_size *s)
{
	return (groups_of(gen, s) - 1) * m->group + (s->rows - 1) * m->row +
	       (s->columns - 1) * m->column + group_bytes(gen, s);
}

/* A stride of at least @least bytes, often that. */
static int64_t stride(struct gen_gcu *gen, int64_t least, int64_t bytes)
{
	return least + (gcu_chance(gen, 70) ? 0 : gcu_pick(gen, 0, 40) * bytes);
}

static void pick_strides(struct gen_gcu *gen, struct golden_gcu_map *m, const struct map_size *s)
{
	int64_t atomic = gen->params.atomic_c * s->bytes, mood = gcu_pick(gen, 0, 19);

	if (mood < 8) {			/* blocked */
		m->column = stride(gen, atomic, s->bytes);
		m->row = stride(gen, m->column * s->columns, s->bytes);
		m->group = stride(gen, m->row * s->rows, s->bytes);
	} else if (mood < 14) {		/* channels last */
		m->column = stride(gen, s->channels * s->bytes, s->bytes);
		m->row = stride(gen, m->column * s->columns, s->bytes);
		m->group = atomic;
	} else if (mood < 18) {		/* rows of all groups together */
		m->column = stride(gen, group_bytes(gen, s), s->bytes);
		m->group = stride(gen, m->column * s->columns, s->bytes);
		m->row = stride(gen, m->group * groups_of(gen, s), s->bytes);
	} else {			/* anything, overlapping too */
		m->column = gcu_pick(gen, 0, 40) * s->bytes;
		m->row = gcu_pick(gen, 0, 100) * s->bytes;
		m->group = gcu_pick(gen, 0, 400) * s->bytes;
	}
}

static void pick_map(struct gen_gcu *gen, struct golden_gcu_map *m, const struct map_size *s)
{
	pick_strides(gen, m, s);
	if (map_extent(gen, m, s) > EXTENT_MAX) {
		m->column = group_bytes(gen, s);
		m->row = m->column * s->columns;
		m->group = m->row * s->rows;
	}
	/* Too large all the same: let rows, then columns overlap. */
	if (map_extent(gen, m, s) > EXTENT_MAX)
		m->row = s->bytes;
	if (map_extent(gen, m, s) > EXTENT_MAX)
		m->group = s->bytes;
	if (map_extent(gen, m, s) > EXTENT_MAX)
		m->column = s->bytes;
}

static int64_t take_map(struct gen_gcu *gen, struct golden_gcu_map *m, const struct map_size *s,
			enum golden_gcu_access access)
{
	int64_t extent = map_extent(gen, m, s);
	int64_t at = gcu_chance(gen, 50) ? 0 : gcu_pick(gen, 0, 64 / s->bytes - 1) * s->bytes;

	m->va = gen_gcu_take(gen, access, at + extent) + at;
	return extent;
}

static struct map_size ifmap_size(const struct golden_gcu_layer *l)
{
	return (struct map_size){ l->w, l->h, l->c, l->esz };
}

static struct map_size ofmap_size(const struct golden_gcu_layer *l, int64_t bytes)
{
	return (struct map_size){ l->ofmw, l->ofmh, l->k, bytes };
}

/* Read what an earlier layer has written, if it is large enough. */
static bool read_earlier(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	struct map_size size = ifmap_size(l), earlier;
	const struct golden_gcu_layer *from;

	if (!gen->layers || !gcu_chance(gen, 30))
		return false;
	from = &gen->layer[gcu_pick(gen, 0, gen->layers - 1)];
	earlier = ofmap_size(from, from->out_bytes);
	if (from->ofmap.va % l->esz || from->ofmap.va + EXTENT_MAX > (int64_t)VA_END ||
	    map_extent(gen, &l->ifmap, &size) > map_extent(gen, &from->ofmap, &earlier))
		return false;
	l->ifmap.va = from->ofmap.va;
	space_map(&gen->job->space, l->ifmap.va, map_extent(gen, &l->ifmap, &size),
		  CNNACC_PTE_READ);
	return true;
}

static void place_ifmap(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	struct map_size size = ifmap_size(l);
	int64_t extent;

	pick_map(gen, &l->ifmap, &size);
	if (read_earlier(gen, l))
		return;
	extent = take_map(gen, &l->ifmap, &size, GOLDEN_GCU_ROW);
	fill(gen, l->ifmap.va, extent, 2);
}

void gen_gcu_other_ofmap(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	struct map_size size = ofmap_size(l, l->out_bytes);

	take_map(gen, &l->ofmap, &size, GOLDEN_GCU_OFMAP);
}

static void place_ofmap(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	struct map_size size = ofmap_size(l, l->out_bytes);

	pick_map(gen, &l->ofmap, &size);
	gen_gcu_other_ofmap(gen, l);
}

static void place_psum(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	struct map_size size = ofmap_size(l, 4);
	int64_t extent;

	if (!l->psum_on)
		return;
	if (l->out_bytes == 4 && gcu_chance(gen, 30)) {
		extent = map_extent(gen, &l->ofmap, &size);
		l->psum = l->ofmap;
		if (l->psum.va + extent <= (int64_t)VA_END) {
			space_map(&gen->job->space, l->psum.va, extent, CNNACC_PTE_READ);
			fill(gen, l->psum.va, extent, 4);
			return;
		}
	}
	pick_map(gen, &l->psum, &size);
	extent = take_map(gen, &l->psum, &size, GOLDEN_GCU_PSUM);
	fill(gen, l->psum.va, extent, 4);
}

static int64_t weight_bytes(const struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	int64_t surfaces = 0;

	for (int64_t i = 0; i < golden_gcu_kernel_groups(l, gen->params.atomic_k); i++) {
		struct golden_gcu_range g = golden_gcu_range(l, gen->params.atomic_c,
							     gen->params.atomic_k, i);

		surfaces += g.cgrpn * g.kn;
	}
	return surfaces * l->r * l->s * gen->params.atomic_c * l->esz;
}

/* Factors and shifts that leave something of the accumulators. */
static void moderate_linear(struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	for (int64_t k = 0; k < l->k && l->linear_va + 16 * k + 16 <= (int64_t)VA_END; k++) {
		int64_t a = gcu_pick(gen, -20, 20), b = gcu_pick(gen, -500, 500);
		uint32_t shift = gcu_pick(gen, 0, 6) | prng_next(&gen->prng) << 6;
		const uint32_t words[4] = { a, shift, b, b >> 32 };

		space_write(&gen->job->space, l->linear_va + 16 * k, words, sizeof(words));
	}
}

static void place_linear(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	if (!l->linear)
		return;
	l->linear_va = gen_gcu_take_filled(gen, GOLDEN_GCU_LINEAR, 16 * l->k, 4);
	if (!l->fp16 && gcu_chance(gen, 60))
		moderate_linear(gen, l);
}

void gen_gcu_tables(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	int64_t bytes = golden_gcu_ceil(l->fmbufrown, 8);

	if (!l->table)
		return;
	l->increment_va = gen_gcu_take(gen, GOLDEN_GCU_INCREMENT, l->entries);
	l->vector_va = gen_gcu_take(gen, GOLDEN_GCU_VECTOR, l->entries * bytes);
	for (int64_t n = 0; n < l->entries; n++) {
		uint64_t vector_va = l->vector_va + n * bytes;

		if (l->increment_va + n < (int64_t)VA_END)
			space_write(&gen->job->space, l->increment_va + n,
				    &gen->tables.increment[n], 1);
		if (vector_va + bytes <= VA_END)
			space_write(&gen->job->space, vector_va, gen->tables.vector[n], bytes);
	}
}

void gen_gcu_memory(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	place_ifmap(gen, l);
	place_ofmap(gen, l);
	place_psum(gen, l);
	l->weight_va = gen_gcu_take_filled(gen, GOLDEN_GCU_WEIGHTS, weight_bytes(gen, l), 2);
	place_linear(gen, l);
	if (l->uses_lut)
		l->lut_va = gen_gcu_take_filled(gen, GOLDEN_GCU_LUT, 2 * CNNACC_GCU_LUT_ENTRIES, 2);
	gen_gcu_tables(gen, l);
}
