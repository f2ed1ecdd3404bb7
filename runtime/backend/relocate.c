// SPDX-License-Identifier: MIT
/* Device addresses in programs: the list of them, and their change to other bases. */
#include <string.h>

#include "backend.h"

const struct cnn_bases cnn_default_bases = { { CNN_VA_ARENA, CNN_VA_WEIGHTS, CNN_VA_PROGRAM } };

#define WORD_MASK	(((uint32_t)1 << CNN_ADDRESS_BUFFER_SHIFT) - 1)
#define BUFFER_MASK	3u
#define HIGH_MASK	(UINT32_MAX >> CNN_BASE_SHIFT)

_Static_assert(CNN_PROGRAM_MAX / 4 <= WORD_MASK + 1, "an entry holds the index of any word");

int cnn_add_address(struct cnn_compile *compile, int64_t at, uint32_t va,
		    enum cnn_address_form form)
{
	const uint32_t entry = CNN_ADDRESS(at / 4, cnn_buffer_at(va), form);
	int64_t to;

	if (va < CNN_VA_ARENA)
		return cnn_fail(compile->err, CNN_EINVAL, "a program has address 0x%x, which is in "
				"no buffer", va);
	to = cnn_image_add(compile, &compile->addresses, sizeof(entry), sizeof(entry));
	if (to < 0)
		return (int)to;
	memcpy(compile->addresses.data + to, &entry, sizeof(entry));
	return CNN_OK;
}

static uint32_t get_word(const uint8_t *program, uint32_t entry)
{
	uint32_t word;

	memcpy(&word, program + (size_t)(entry & WORD_MASK) * 4, sizeof(word));
	return word;
}

static enum cnn_buffer buffer_of(uint32_t entry)
{
	return (enum cnn_buffer)(entry >> CNN_ADDRESS_BUFFER_SHIFT & BUFFER_MASK);
}

static enum cnn_address_form form_of(uint32_t entry)
{
	return (enum cnn_address_form)(entry >> CNN_ADDRESS_FORM_SHIFT);
}

void cnn_relocate(const struct cnn_lowered *l, const struct cnn_bases *bases, uint8_t *program)
{
	for (int i = 0; i < l->n_addresses; i++) {
		uint32_t entry = l->addresses[i], word = get_word(program, entry);
		uint32_t by = bases->va[buffer_of(entry)] - cnn_default_bases.va[buffer_of(entry)];

		if (form_of(entry) == CNN_ADDRESS_WORD)
			word += by;
		else
			word = (word & ~HIGH_MASK) |
			       ((word + (by >> CNN_BASE_SHIFT)) & HIGH_MASK);
		memcpy(program + (size_t)(entry & WORD_MASK) * 4, &word, sizeof(word));
	}
}

static int64_t bytes_of(const struct cnn_lowered *l, enum cnn_buffer buffer)
{
	return buffer == CNN_ARENA   ? l->arena_bytes :
	       buffer == CNN_WEIGHTS ? l->weight_bytes :
				       l->program_bytes;
}

/* Does the word name a part of the buffer at its default base? */
static bool is_inside(const struct cnn_lowered *l, uint32_t entry)
{
	uint32_t word = get_word(l->program, entry), base = cnn_default_bases.va[buffer_of(entry)];
	int64_t bytes = bytes_of(l, buffer_of(entry));

	if (form_of(entry) == CNN_ADDRESS_WORD)
		return word >= base && word - base < bytes;
	word = (word & HIGH_MASK) << CNN_BASE_SHIFT;
	return word >= base && word - base < bytes;
}

const char *cnn_check_addresses(const struct cnn_lowered *l, int *entry)
{
	for (int i = 0; i < l->n_addresses; i++) {
		uint32_t e = l->addresses[i];

		*entry = i;
		if (form_of(e) >= CNN_ADDRESS_FORMS || buffer_of(e) >= CNN_BUFFERS)
			return "its form or its buffer is unknown";
		if (i && (e & WORD_MASK) <= (l->addresses[i - 1] & WORD_MASK))
			return "its word does not follow the one before";
		if ((int64_t)(e & WORD_MASK) * 4 > l->program_bytes - 4)
			return "its word is outside the programs";
		if (!is_inside(l, e))
			return "its word is no address in that buffer";
	}
	return NULL;
}
