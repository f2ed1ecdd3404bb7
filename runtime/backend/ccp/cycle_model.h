/* SPDX-License-Identifier: MIT */
/* The cycle model of core ccp: the timing section of Documentation/hardware/ccp.rst. */
#ifndef CCPC_CYCLE_MODEL_H
#define CCPC_CYCLE_MODEL_H

#include <cnnacc_ccp.h>

#include "backend/backend.h"

#define CCPC_LINE_FLOATS (CNNACC_LINE_SIZE / 4)

/* Build parameters of a core. Memory sizes are in floats. */
struct ccpc_hw {
	int64_t data_bank, weight_bank; /* size of one bank */
	bool split_banks;		/* each half of a bank is a memory of its own */
	int64_t lob;			/* output channels of one EXEC */
	uint32_t groups;		/* core groups, 1..4 */
	uint32_t insns;			/* capacity of the instruction cache */
	uint64_t cycles_max;		/* limit of a job */
	char bad[CNN_REASON_LEN];	/* why this core gets no nodes; "": it is supported */
};

/*
 * What DMA and EXEC contend for: the lower and the upper half of each data bank and each weight
 * bank. A set of halves is a bit mask.
 */
#define CCPC_HALVES (2 * (CNNACC_CCP_DATA_BANKS + CNNACC_CCP_WEIGHT_BANKS))

struct ccpc_clock {
	uint32_t reg[CNNACC_CCP_GPRS];
	uint32_t conv0[CNNACC_CCP_GPRS], conv1[CNNACC_CCP_GPRS];
	uint32_t pool[CNNACC_CCP_GPRS], pad[CNNACC_CCP_GPRS], fc[CNNACC_CCP_GPRS];
	unsigned int read_bank; /* 0 or 1 */
	uint64_t now;		/* cycle that the controller has reached */
	uint64_t dma_free;	/* cycle at which the DMA engine is idle */
	uint64_t written[CCPC_HALVES], read[CCPC_HALVES]; /* cycle of the last access */
	struct cnnrt_cost count; /* totals so far, without cycles, control and the minimum */
	/* Receives every span of activity, cycles from..to-1. NULL: no time line is wanted. */
	void (*trace)(void *arg, enum cnnrt_activity what, uint64_t from, uint64_t to);
	void *trace_arg;
	uint64_t insns_run;
	int64_t data_bank, weight_bank; /* as in struct ccpc_hw */
	bool split_banks;
};

/* Starts a task whose first overlay has @insns instructions. */
void ccpc_clock_boot(struct ccpc_clock *c, const struct ccpc_hw *hw, uint32_t insns);
/* Runs one instruction and returns the index of the next. */
uint32_t ccpc_clock_run_insn(struct ccpc_clock *c, const uint32_t *words, uint32_t pc);
/* Runs words[from..to), which must not jump out of that range. */
void ccpc_clock_run(struct ccpc_clock *c, const uint32_t *words, uint32_t from, uint32_t to);
/* Accounts for an overlay switch of @lines cache lines: a jump, its LOAD, a jump. */
void ccpc_clock_switch_overlay(struct ccpc_clock *c, int64_t lines);

static inline uint64_t ccpc_clock_cycles(const struct ccpc_clock *c)
{
	return c->now > c->dma_free ? c->now : c->dma_free;
}

/* Size of one convolution EXEC: channels, rows of its patch, kernel and strides. */
struct ccpc_exec_shape {
	int64_t ci, co, rows, kh, kw, sy, sx;
};

/* Cycles of one convolution EXEC without its end (bias, save, fill). */
int64_t ccpc_conv_body_cycles(uint32_t groups, const struct ccpc_exec_shape *e);

#endif
