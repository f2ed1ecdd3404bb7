/* SPDX-License-Identifier: MIT */
/* Writes programs of the sequencer. */
#ifndef SEQ_CODE_H
#define SEQ_CODE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cnnacc_seq.h"

#define COMMANDS	128u	/* that a program may have: 4096 bytes */

struct sasm {
	struct cnnacc_seq_command c[COMMANDS];
	size_t n;
};

/* A command of @op with bits 31:16 @param and words @..., of which there are seven. */
#define SA(a, op, param, ...) \
	sa_emit(a, (op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT, \
		(const uint32_t[7]){ __VA_ARGS__ })

static inline struct cnnacc_seq_command *sa_emit(struct sasm *a, uint32_t op,
						 const uint32_t arg[7])
{
	struct cnnacc_seq_command *c = &a->c[a->n++];

	assert(a->n <= COMMANDS);
	c->op = op;
	memcpy(c->arg, arg, sizeof(c->arg));
	return c;
}

static inline void sa_end(struct sasm *a)
{
	SA(a, CNNACC_SEQ_END, 0, 0);
}

static inline void sa_load(struct sasm *a, unsigned int memory, uint32_t va, uint32_t local,
			   uint32_t bytes)
{
	SA(a, CNNACC_SEQ_COPY2D, memory, va, local, 1, bytes);
}

static inline void sa_save(struct sasm *a, unsigned int memory, uint32_t va, uint32_t local,
			   uint32_t bytes)
{
	SA(a, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, memory, va, local, 1, bytes);
}

static inline void sa_wait(struct sasm *a, uint32_t mask)
{
	SA(a, CNNACC_SEQ_WAIT, 0, mask);
}

static inline void sa_irq(struct sasm *a, uint32_t value)
{
	SA(a, CNNACC_SEQ_IRQ, 0, value);
}

#endif
