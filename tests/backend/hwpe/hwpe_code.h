/* SPDX-License-Identifier: MIT */
/* Writes instructions of hwpe into programs of the sequencer. */
#ifndef HWPE_CODE_H
#define HWPE_CODE_H

#include "cnnacc_hwpe.h"
#include "seq_code.h"

#define ROUND		CNNACC_HWPE_WAIT_ROUND
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
