/* SPDX-License-Identifier: MIT */
/* Writes ccp programs for tests. */
#ifndef MODEL_ASM_H
#define MODEL_ASM_H

#include <assert.h>
#include <stddef.h>

#include "cnnacc_ccp.h"
#include "cnnacc_hw.h"

struct masm {
	__u32 word[CNNACC_CCP_ICACHE_DEFAULT / 4];
	size_t n;
};

static inline void ma_emit(struct masm *a, __u32 word)
{
	assert(a->n < sizeof(a->word) / sizeof(a->word[0]));
	a->word[a->n++] = word;
}

/* R[rd] = value */
static inline void ma_li(struct masm *a, unsigned int rd, __u32 value)
{
	ma_emit(a, CNNACC_CCP_INSN_LDI(rd, value));
	if (value >> 16)
		ma_emit(a, CNNACC_CCP_INSN_LDIH(rd, value >> 16));
}

/* Uses R0..R2. */
static inline void ma_dma(struct masm *a, int store, __u32 va, __u32 lines, __u32 target_line,
			  unsigned int target)
{
	ma_li(a, 0, va / CNNACC_LINE_SIZE);
	ma_li(a, 1, lines);
	ma_li(a, 2, target_line);
	ma_emit(a, store ? CNNACC_CCP_INSN_STORE(0, 1, 2, target) :
			   CNNACC_CCP_INSN_LOAD(0, 1, 2, target));
}

/* Uses all registers. */
static inline void ma_cfg(struct masm *a, unsigned int unit, unsigned int group,
			  const __u32 value[CNNACC_CCP_GPRS])
{
	for (unsigned int i = 0; i < CNNACC_CCP_GPRS; i++)
		ma_li(a, i, value[i]);
	ma_emit(a, CNNACC_CCP_INSN_CFG(unit, group));
}

static inline void ma_exec(struct masm *a, unsigned int unit)
{
	ma_emit(a, CNNACC_CCP_INSN_EXEC(unit));
}

static inline void ma_swap(struct masm *a)
{
	ma_emit(a, CNNACC_CCP_INSN_SWAP);
}

static inline void ma_end(struct masm *a)
{
	ma_emit(a, CNNACC_CCP_INSN_NOP);
}

#endif
