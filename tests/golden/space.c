// SPDX-License-Identifier: MIT
#include "space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

uint8_t *image_at(const struct image *image, uint64_t address, size_t length)
{
	if (address < IMAGE_BASE || address - IMAGE_BASE > IMAGE_BYTES ||
	    length > IMAGE_BYTES - (address - IMAGE_BASE))
		return NULL;
	if (image->hole_length && address < image->hole + image->hole_length &&
	    image->hole < address + length)
		return NULL;
	return image->bytes + (address - IMAGE_BASE);
}

static bool bus_read(void *opaque, uint64_t address, void *buffer, size_t length)
{
	const uint8_t *from = image_at(opaque, address, length);

	if (from)
		memcpy(buffer, from, length);
	return from;
}

static bool bus_write(void *opaque, uint64_t address, const void *buffer, size_t length)
{
	uint8_t *to = image_at(opaque, address, length);

	if (to)
		memcpy(to, buffer, length);
	return to;
}

struct golden_bus image_bus(struct image *image)
{
	return (struct golden_bus){ image, bus_read, bus_write };
}

static uint32_t page_limit(const struct space *space)
{
	return space->pages ? space->pages : IMAGE_PAGES;
}

static uint64_t page_alloc(struct space *space)
{
	uint64_t offset;

	if (space->used == page_limit(space)) {
		fprintf(stderr, "golden: a job needs more than %u pages\n", page_limit(space));
		exit(2);
	}
	offset = (uint64_t)space->order[space->used++] * CNNACC_PAGE_SIZE;
	memset(space->image->bytes + offset, 0, CNNACC_PAGE_SIZE);
	return IMAGE_BASE + offset;
}

static void exchange(struct space *space, unsigned int a, unsigned int b)
{
	uint32_t page = space->order[a];

	space->order[a] = space->order[b];
	space->order[b] = page;
}

static void shuffle(struct space *space, struct prng *prng)
{
	for (unsigned int i = 0; i < 512; i++)
		exchange(space, prng_range(prng, 0, 1023),
			 prng_range(prng, 0, page_limit(space) - 1));
}

static void reuse_root(struct space *space)
{
	unsigned int at = 0;

	while (space->order[at] != space->first)
		at++;
	exchange(space, 0, at);
}

void space_reset(struct space *space, struct prng *prng)
{
	uint32_t pages = page_limit(space), start = prng_range(prng, 0, pages - 1);

	for (uint32_t i = 0; i < pages; i++)
		space->order[i] = space->first + (start + i) % pages;
	if (prng_chance(prng, 70))
		shuffle(space, prng);
	/* Often reuse the page directory, so that consecutive jobs share a context. */
	if (prng_chance(prng, 60))
		reuse_root(space);
	space->used = 0;
	space->root = page_alloc(space);
}

uint8_t *space_dir_entry(struct space *space, uint64_t va)
{
	return image_at(space->image, space->root, CNNACC_PAGE_SIZE) + 4 * CNNACC_PT_DIR_INDEX(va);
}

uint8_t *space_page_entry(struct space *space, uint64_t va)
{
	uint32_t dir = word_get(space_dir_entry(space, va), 0);

	if (!(dir & CNNACC_PTE_VALID))
		return NULL;
	return image_at(space->image, CNNACC_PTE_BUS(dir), CNNACC_PAGE_SIZE) +
	       4 * CNNACC_PT_PAGE_INDEX(va);
}

static void map_page(struct space *space, uint64_t va, uint32_t permissions)
{
	uint8_t *entry = space_page_entry(space, va);

	if (!entry) {
		word_put(space_dir_entry(space, va), 0,
			 CNNACC_PTE_ADDR(page_alloc(space)) | CNNACC_PTE_VALID);
		entry = space_page_entry(space, va);
	}
	if (!word_get(entry, 0))
		word_put(entry, 0, CNNACC_PTE_ADDR(page_alloc(space)) | CNNACC_PTE_VALID);
	word_put(entry, 0, word_get(entry, 0) | permissions);
}

void space_map(struct space *space, uint64_t va, uint64_t length, uint32_t permissions)
{
	uint64_t end = va + length;

	for (va -= va % CNNACC_PAGE_SIZE; va < end; va += CNNACC_PAGE_SIZE)
		map_page(space, va, permissions);
}

uint8_t *space_at(struct space *space, uint64_t va)
{
	uint32_t entry = word_get(space_page_entry(space, va), 0);

	return image_at(space->image, CNNACC_PTE_BUS(entry), CNNACC_PAGE_SIZE) +
	       va % CNNACC_PAGE_SIZE;
}

void space_write(struct space *space, uint64_t va, const void *data, size_t length)
{
	const uint8_t *from = data;

	while (length) {
		size_t chunk = CNNACC_PAGE_SIZE - va % CNNACC_PAGE_SIZE;

		chunk = chunk < length ? chunk : length;
		memcpy(space_at(space, va), from, chunk);
		va += chunk;
		from += chunk;
		length -= chunk;
	}
}
