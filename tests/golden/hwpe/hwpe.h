/* SPDX-License-Identifier: MIT */
/* Golden model of core hwpe: slow, scalar, one reading of its documentation. */
#ifndef GOLDEN_HWPE_H
#define GOLDEN_HWPE_H

#include "cnnacc_hwpe.h"
#include "../sequencer.h"

/** struct golden_hwpe_params - build parameters, from the discovery table; bytes. */
struct golden_hwpe_params {
	uint32_t fmap;		/* one of the two SRAMs */
	uint32_t kernel;	/* both together */
	uint32_t program;
};

/** struct golden_hwpe_regs - the registers that the core's window shows. */
struct golden_hwpe_regs {
	uint32_t status;
	uint32_t round, rounds;
	uint32_t cfg[2];
	uint32_t mac[2];
	uint32_t base[CNNACC_HWPE_ACCS];
	int32_t acc[CNNACC_HWPE_ACCS][CNNACC_HWPE_PES];
};

struct golden_hwpe;

/* False if the entry is of another core type, or of a geometry that the model lacks. */
bool golden_hwpe_params_of(const struct cnnacc_core_entry *entry,
			   struct golden_hwpe_params *params);
/* NULL if there is no memory. */
struct golden_hwpe *golden_hwpe_create(const struct golden_hwpe_params *params);
void golden_hwpe_destroy(struct golden_hwpe *hwpe);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_hwpe_core(struct golden_hwpe *hwpe, struct golden_core *core);
struct golden_hwpe_regs golden_hwpe_regs(const struct golden_hwpe *hwpe);
const struct golden_seq_regs *golden_hwpe_seq_regs(const struct golden_hwpe *hwpe);

/** enum golden_hwpe_layer - kinds of layer. */
enum golden_hwpe_layer {
	GOLDEN_HWPE_INNER, GOLDEN_HWPE_INPUT, GOLDEN_HWPE_333, GOLDEN_HWPE_LAYERS,
};

/** enum golden_hwpe_drain - what drains AccRegs. */
enum golden_hwpe_drain {
	GOLDEN_HWPE_READ, GOLDEN_HWPE_RELU, GOLDEN_HWPE_DRAIN, GOLDEN_HWPE_DRAINS,
};

/** enum golden_hwpe_access - accesses of a program that may fail. */
enum golden_hwpe_access {
	GOLDEN_HWPE_COPY_IN, GOLDEN_HWPE_COPY_OUT, GOLDEN_HWPE_RESULT, GOLDEN_HWPE_RELU_BYTES,
	GOLDEN_HWPE_DRAINED, GOLDEN_HWPE_ACCESSES,
};

/* The access that ended the last job with E_DMA. */
enum golden_hwpe_access golden_hwpe_failed_access(const struct golden_hwpe *hwpe);

#define GOLDEN_HWPE_ADDR_KERNEL	CNNACC_HWPE_ACCS	/* detail of E_ADDR */

/** struct golden_hwpe_coverage - number of occurrences. */
struct golden_hwpe_coverage {
	uint64_t insn[7];		/* completed; bit number of the funct */
	uint64_t illegal[CNNACC_HWPE_BAD_BASE + 1];
	uint64_t busy[8][CNNACC_HWPE_SUSPENDED + 1];	/* 7: DRAIN */
	uint64_t enable_idle[GOLDEN_HWPE_DRAINS];
	uint64_t cfg[CNNACC_HWPE_BAD_CH_COUNT + 1];
	uint64_t mac_unconfigured;
	uint64_t two_addr[CNNACC_HWPE_ACCS];
	uint64_t addr[GOLDEN_HWPE_ADDR_KERNEL + 1];
	uint64_t refused_resuming[GOLDEN_HWPE_DRAINS];	/* the next window is bad */
	uint64_t window[4][GOLDEN_HWPE_LAYERS];		/* started, per enum cnnacc_hwpe_type */
	uint64_t kernel[CNNACC_HWPE_KERNEL_MAX + 1];
	uint64_t shift[CNNACC_HWPE_SHIFT_MAX + 1];	/* of ReLUWrite */
	uint64_t resumed[GOLDEN_HWPE_DRAINS];
	uint64_t ended[GOLDEN_HWPE_DRAINS];		/* resumed after the last window */
	uint64_t k_group, w_step, h_step;	/* windows that are not the first of these */
	uint64_t saturated[2];				/* low, high */
	uint64_t relu_cut[3];				/* negative, in range, above 255 */
	uint64_t bad_ter2, unaligned;			/* windows */
	uint64_t zero_count;
	uint64_t events;
	uint64_t stalled;				/* resumed late */
	uint64_t reset[CNNACC_HWPE_SUSPENDED + 1];	/* in that state */
	uint64_t started_late;			/* before the end of a window given up by Reset */
	uint64_t drained_again;
	uint64_t result, stored_in_two_lines;
	uint64_t fault[3][2];	/* RESULT, ReLUWrite, DRAIN; whether some of it was written */
};

const struct golden_hwpe_coverage *golden_hwpe_coverage(const struct golden_hwpe *hwpe);
const struct golden_seq_coverage *golden_hwpe_seq_coverage(const struct golden_hwpe *hwpe);

#endif /* GOLDEN_HWPE_H */
