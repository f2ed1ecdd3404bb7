/* SPDX-License-Identifier: MIT */
/*
 * What tests of everything around a core need of one, whichever it is: small programs, builds and
 * a few facts.  A core brings them in tests/backend/NAME/programs.c as NAME_programs.
 */
#ifndef CORE_PROGRAMS_H
#define CORE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cnnacc_hw.h"

/* Bytes that each program fits in, if its illegal instruction is not behind others. */
#define CORE_PROGRAM_MAX	512u
/* The programs that say so may be that long instead. */
#define CORE_PROGRAM_LONG	1024u

/* Lines of the copy that is timed. */
#define CORE_TIMED_LINES	8u

/** struct core_text - what cnnrt_status_describe() says of a status at instruction 9. */
struct core_text {
	uint16_t status_class, status_code;
	uint32_t detail;
	const char *text;
};

/** struct core_times - cycles from a job's start to the end of each access and of the job. */
struct core_times {
	uint64_t fetched, loaded, stored, done;
};

struct core_programs {
	const char *name;		/* of the core, as in the discovery table */
	/* As in the property cores: memories of a few KiB, and even smaller ones. */
	const char *small, *tiny;
	uint16_t dma_code;		/* status code of a load or store that cannot be done */
	uint32_t dma_pc;		/* and where it is in the programs load and store */
	uint16_t illegal_code;		/* status code of an illegal instruction */
	const char *illegal_name;	/* and its name */
	uint32_t endless_pc;		/* where the program endless stays */
	uint64_t copy_instructions;	/* that the statistics of the program copy count */
	struct core_times copy_times;	/* of the program copy with CORE_TIMED_LINES */
	struct cnnacc_stats nop_stats;	/* of the program nop alone */
	bool compute_events;		/* the program compute raises events */
	/* Loops of the program delay: some tenths of a second of the host, below the cycle limit. */
	uint32_t long_loops;
	const char *config_text;	/* what a status of the program config_error says */
	const struct core_text *texts;
	size_t text_count;
	/*
	 * A seeded mistake of the model: a convolution of floats loses the last column of its
	 * output where a tile of 8 columns reaches beyond the right edge.  NULL: there is none.
	 */
	const char *lost_column_mutant;

	/* These write a program to @words and return its length in bytes. */
	uint32_t (*nop)(uint32_t *words);
	/* Copies lines of 64 bytes. */
	uint32_t (*copy)(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines);
	/* Reads memory from address 64 * @line, below 4 GiB, on into the core, or writes it. */
	uint32_t (*load)(uint32_t *words, uint32_t line, uint32_t lines);
	uint32_t (*store)(uint32_t *words, uint32_t line, uint32_t lines);
	uint32_t (*endless)(uint32_t *words);
	/* Takes a number of cycles that is proportional to @loops. */
	uint32_t (*delay)(uint32_t *words, uint32_t loops);
	/* The program counter of the illegal instruction is @pc; those before it are legal. */
	uint32_t (*illegal)(uint32_t *words, uint32_t pc);
	/* Its only instruction is not configured. */
	uint32_t (*config_error)(uint32_t *words);
	/*
	 * Up to CORE_PROGRAM_LONG bytes: computes from 4 KiB of memory at @data what the model
	 * shares between its threads; may write 4 KiB at @out.
	 */
	uint32_t (*compute)(uint32_t *words, uint32_t data, uint32_t out);
	/*
	 * Up to @bytes, at least 256 and CORE_PROGRAM_LONG at most: random instructions, of
	 * which many are legal.  @number returns any number below its argument; 0: any at all.
	 */
	uint32_t (*any)(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below));
};

/* The programs of a core; NULL if it has none. */
const struct core_programs *core_programs(const char *name);
/* Of each core that has some, from 0 on; NULL after the last. */
const struct core_programs *core_programs_at(size_t index);

#endif
