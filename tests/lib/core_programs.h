/* SPDX-License-Identifier: MIT */
/*
 * Small programs for tests that need a core to run something on, whichever core it is.  A core
 * brings them in tests/backend/NAME/programs.c as NAME_programs.
 */
#ifndef CORE_PROGRAMS_H
#define CORE_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that each program fits in, if its illegal instruction is not behind others. */
#define CORE_PROGRAM_MAX	64u

struct core_programs {
	const char *name;		/* of the core, as in the discovery table */
	uint16_t dma_code;		/* status code of a load or store that cannot be done */
	uint32_t dma_pc;		/* and where it is in the programs load and store */
	uint16_t illegal_code;		/* status code of an illegal instruction */
	uint32_t endless_pc;		/* where the program endless stays */
	uint64_t copy_instructions;	/* that the statistics of the program copy count */

	/* These write a program to @words and return its length in bytes. */
	uint32_t (*nop)(uint32_t *words);
	/* Copies lines of 64 bytes. */
	uint32_t (*copy)(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines);
	/* Reads memory from address 64 * @line on into the core, or writes from there. */
	uint32_t (*load)(uint32_t *words, uint32_t line, uint32_t lines);
	uint32_t (*store)(uint32_t *words, uint32_t line, uint32_t lines);
	uint32_t (*endless)(uint32_t *words);
	/* Takes a number of cycles that is proportional to @loops. */
	uint32_t (*delay)(uint32_t *words, uint32_t loops);
	/* The program counter of the illegal instruction is @pc; those before it are legal. */
	uint32_t (*illegal)(uint32_t *words, uint32_t pc);
};

/* The programs of a core; NULL if it has none. */
const struct core_programs *core_programs(const char *name);

#endif
