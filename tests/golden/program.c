// SPDX-License-Identifier: MIT
#include "program.h"

#include <stdlib.h>

#include "words.h"

void program_emit(struct program *program, __u32 word)
{
	if (program->length == PROGRAM_WORDS) {
		fprintf(stderr, "golden: program longer than %u words\n", PROGRAM_WORDS);
		exit(2);
	}
	program->word[program->length++] = word;
}

void program_bytes(const struct program *program, void *bytes)
{
	for (unsigned int i = 0; i < program->length; i++)
		word_put(bytes, i, program->word[i]);
}
