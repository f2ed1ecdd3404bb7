/* SPDX-License-Identifier: MIT */
/* Writes programs of the sequencer and instructions of hwpe. */
#ifndef SEQ_CODE_H
#define SEQ_CODE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cnnacc_hw.h"
#include "cnnacc_seq.h"
#include "cnnacc_hwpe.h"

#define ROUND		CNNACC_HWPE_WAIT_ROUND
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

#define XS12	(CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)

static inline void sa_bases(struct sasm *a, unsigned int index, uint32_t first, uint32_t second)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, XS12, index, 0, 0),
	   0, 0, 0, first, second);
}

static inline void sa_cfg(struct sasm *a, uint32_t cfg0, uint32_t cfg1)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_CFG, XS12, 0, 0, 0), 0, 0, 0,
	   cfg0, cfg1);
}

static inline void sa_mac(struct sasm *a, uint32_t counts, uint32_t strides)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_HWPE_INSN(CNNACC_HWPE_MATRIX_MAC, XS12, 0, 0, 0), 0, 0, 0,
	   counts, strides);
}

static inline void sa_write_acc(struct sasm *a, unsigned int pe, unsigned int n, uint32_t value)
{
	SA(a, CNNACC_SEQ_EXEC, 0,
	   CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, n, 0, pe), 0, 0, 0, value);
}

/* @enable is CNNACC_HWPE_ENABLE or 0, as of the ReLU write. */
static inline void sa_read_acc(struct sasm *a, unsigned int pe, unsigned int n, uint32_t enable,
			       uint32_t va)
{
	SA(a, CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, 0,
	   CNNACC_HWPE_INSN(CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD, 0, n | enable, pe), 0, 0, 0, 0, 0,
	   va);
}

static inline void sa_relu(struct sasm *a, unsigned int n, uint32_t enable, uint32_t va)
{
	SA(a, CNNACC_SEQ_EXEC, 0,
	   CNNACC_HWPE_INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0, n | enable), 0, 0, 0, va);
}

static inline void sa_reset(struct sasm *a)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_HWPE_INSN(CNNACC_HWPE_RESET, 0, 0, 0, 0));
}

/* All eight AccRegs, 64 bytes each; @flags is CNNACC_SEQ_RESUME or 0. */
static inline void sa_drain(struct sasm *a, uint32_t flags, uint32_t va)
{
	SA(a, CNNACC_SEQ_DRAIN | flags, CNNACC_HWPE_ACCS, va, 0, 0, 0, 64);
}

#endif
