// SPDX-License-Identifier: MIT
#include "writer.h"

#include <string.h>

#define BLOCK_WORDS	(CNNACC_GCU_BLOCK_SIZE / 4)

uint32_t gcu_halves(uint32_t low, uint32_t high)
{
	return (low & 0xffff) | high << 16;
}

uint32_t gcu_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return a | b << 8 | c << 16 | d << 24;
}

unsigned int gcu_blocks(const struct program *program)
{
	return program->length / BLOCK_WORDS;
}

static void write_words(struct program *program, const void *block)
{
	uint32_t words[BLOCK_WORDS];

	memcpy(words, block, sizeof(words));
	for (unsigned int n = 0; n < BLOCK_WORDS; n++)
		program_emit(program, words[n]);
}

void gcu_write_layer(struct program *program, const struct cnnacc_gcu_layer *layer)
{
	write_words(program, layer);
}

void gcu_write_probe(struct program *program, const struct cnnacc_gcu_probe *probe)
{
	write_words(program, probe);
}

void gcu_write_wait(struct program *program, const struct cnnacc_gcu_wait *wait)
{
	write_words(program, wait);
}

void gcu_print(FILE *out, const struct program *program, unsigned int base)
{
	for (unsigned int n = 0; n < program->length; n++) {
		if (n % BLOCK_WORDS == 0)
			fprintf(out, "block %u:\n", base + n / BLOCK_WORDS);
		/* The last words are reserved; only print what is set. */
		if (n % BLOCK_WORDS < 36 || program->word[n])
			fprintf(out, " %u:%x%s", n % BLOCK_WORDS, program->word[n],
				n % BLOCK_WORDS % 8 == 7 ? "\n" : "");
		if (n % BLOCK_WORDS == BLOCK_WORDS - 1)
			fprintf(out, "\n");
	}
	fprintf(out, "\n");
}
