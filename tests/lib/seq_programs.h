/* SPDX-License-Identifier: MIT */
/* Programs of struct core_programs that are the sequencer's alone, through local memory @memory. */
#ifndef SEQ_PROGRAMS_H
#define SEQ_PROGRAMS_H

#include "seq_code.h"

#define SEQ_ILLEGAL	0xffu	/* no such operation */

/* Each writes its program to @words and returns its bytes. */
static inline uint32_t seq_put(uint32_t *words, const struct cnnacc_seq_command *c, size_t n)
{
	memcpy(words, c, n * sizeof(*c));
	return (uint32_t)(n * sizeof(*c));
}

static inline uint32_t seq_put_nop(uint32_t *words)
{
	struct sasm a = { .n = 0 };

	sa_end(&a);
	return seq_put(words, a.c, a.n);
}

/* What follows a program reads as END. */
static inline uint32_t seq_put_copy(uint32_t *words, uint32_t memory, uint32_t from, uint32_t to,
				    uint32_t lines)
{
	struct sasm a = { .n = 0 };

	sa_load(&a, memory, from, 0, 64 * lines);
	sa_save(&a, memory, to, 0, 64 * lines);
	return seq_put(words, a.c, a.n);
}

static inline uint32_t seq_put_load(uint32_t *words, uint32_t memory, uint32_t line,
				    uint32_t lines)
{
	struct sasm a = { .n = 0 };

	sa_load(&a, memory, 64 * line, 0, 64 * lines);
	sa_end(&a);
	return seq_put(words, a.c, a.n);
}

static inline uint32_t seq_put_store(uint32_t *words, uint32_t memory, uint32_t line,
				     uint32_t lines)
{
	struct sasm a = { .n = 0 };

	sa_save(&a, memory, 64 * line, 0, 64 * lines);
	sa_end(&a);
	return seq_put(words, a.c, a.n);
}

/* A command takes the host as long as several instructions of other controllers. */
#define SEQ_LONG_LOOPS	15000000u

/* The body fills nothing, which takes a cycle. */
static inline uint32_t seq_put_delay(uint32_t *words, uint32_t memory, uint32_t loops)
{
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_LOOP, 1, loops);
	SA(&a, CNNACC_SEQ_FILL, memory, 0);
	return seq_put(words, a.c, a.n);
}

/* FILLs of nothing, then what is illegal. */
static inline uint32_t seq_put_illegal(uint32_t *words, uint32_t pc)
{
	const struct cnnacc_seq_command legal = { .op = CNNACC_SEQ_FILL },
					bad = { .op = SEQ_ILLEGAL };
	const uint32_t size = sizeof(legal) / 4;

	for (uint32_t i = 0; i < pc; i++)
		seq_put(words + size * i, &legal, 1);
	seq_put(words + size * pc, &bad, 1);
	return 4 * size * (pc + 1);
}

#endif
