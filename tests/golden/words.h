/* SPDX-License-Identifier: MIT */
#ifndef GOLDEN_WORDS_H
#define GOLDEN_WORDS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Memories are little-endian bytes; @index counts words. */
static inline uint32_t word_get(const uint8_t *memory, int64_t index)
{
	uint32_t word;

	memcpy(&word, memory + 4 * index, sizeof(word));
	return le32toh(word);
}

static inline void word_put(uint8_t *memory, int64_t index, uint32_t word)
{
	word = htole32(word);
	memcpy(memory + 4 * index, &word, sizeof(word));
}

#endif /* GOLDEN_WORDS_H */
