/* SPDX-License-Identifier: MIT */
/* RAM images, and the address space of a job in them. */
#ifndef GOLDEN_SPACE_H
#define GOLDEN_SPACE_H

#include <stddef.h>

#include "prng.h"
#include "shell.h"

/* RAM starts above 4 GiB, so that a truncated bus address cannot hit it. */
#define IMAGE_BASE	0x5300000000ull
#define IMAGE_PAGES	4096
#define IMAGE_BYTES	((uint64_t)IMAGE_PAGES * CNNACC_PAGE_SIZE)
/* Nothing answers here. */
#define IMAGE_HOLE	0x2200000000ull

/** struct image - the RAM of one device, with a hole in it if @hole_length is not zero. */
struct image {
	uint8_t *bytes;
	uint64_t hole;
	uint64_t hole_length;
};

/* The bytes at bus address @address, or NULL where [address, +length) is not RAM. */
uint8_t *image_at(const struct image *image, uint64_t address, size_t length);
/* The bus of an image, for the golden shell. */
struct golden_bus image_bus(struct image *image);

/**
 * struct space - an address space under construction.
 * @image: where its pages and tables are
 * @first, @pages: image pages it may use, all if @pages is 0
 * @order: image pages in the order in which they are handed out
 * @used: how many of them are
 * @root: bus address of the directory
 */
struct space {
	struct image *image;
	uint32_t first, pages;
	uint32_t order[IMAGE_PAGES];
	unsigned int used;
	uint64_t root;
};

/* Start anew; pages come in runs or scattered, as @prng says. */
void space_reset(struct space *space, struct prng *prng);
/* Map the pages of [va, +length), zeroed if new, adding permissions if not. */
void space_map(struct space *space, uint64_t va, uint64_t length, uint32_t permissions);
/* Where the CPU finds mapped @va. */
uint8_t *space_at(struct space *space, uint64_t va);
void space_write(struct space *space, uint64_t va, const void *data, size_t length);
/* The entries that translate @va, NULL without a page table; for damage. */
uint8_t *space_dir_entry(struct space *space, uint64_t va);
uint8_t *space_page_entry(struct space *space, uint64_t va);

#endif /* GOLDEN_SPACE_H */
