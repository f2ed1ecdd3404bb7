/* SPDX-License-Identifier: MIT */
/* Golden model of core gcu: slow, scalar, one reading of its documentation. */
#ifndef GOLDEN_GCU_H
#define GOLDEN_GCU_H

#include "../core.h"
#include "cnnacc_gcu.h"

/** struct golden_gcu_params - build parameters, from the discovery table. */
struct golden_gcu_params {
	uint32_t atomic_c, atomic_k;
	uint32_t cbuf_banks, fmbuf_rows;
	uint32_t rbuf_banks, rbuf_depth;
	uint32_t bus;		/* bytes per clock */
	uint32_t program;	/* bytes */
	bool fp_floor;
};

/** struct golden_gcu_regs - the registers that the core's window shows, without counters. */
struct golden_gcu_regs {
	uint32_t pc, status;
	uint32_t kernel_group, out_row, channel_group;
	uint32_t rows_valid, fifo_write, fifo_oldest, op4, trigger, entry;
	uint32_t resident, resident_first, swap_valid, swap[2];
};

/** struct golden_gcu_counters - the counters of the window. */
struct golden_gcu_counters {
	uint64_t row_fills, row_bytes, row_refills, evictions;
	uint64_t weight_bytes, weight_refills, table_bytes;
	uint64_t stall_row, stall_weight, stall_psum, stall_rbuf;
	uint64_t taps_masked, taps;
};

struct golden_gcu;

/* False if the entry is of another core type, or of a build that the contract lacks. */
bool golden_gcu_params_of(const struct cnnacc_core_entry *entry,
			  struct golden_gcu_params *params);
/* NULL if there is no memory. */
struct golden_gcu *golden_gcu_create(const struct golden_gcu_params *params);
void golden_gcu_destroy(struct golden_gcu *gcu);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_gcu_core(struct golden_gcu *gcu, struct golden_core *core);
const struct golden_gcu_regs *golden_gcu_regs(const struct golden_gcu *gcu);
const struct golden_gcu_counters *golden_gcu_counters(const struct golden_gcu *gcu);

/** enum golden_gcu_access - accesses of a program that may fail. */
enum golden_gcu_access {
	GOLDEN_GCU_LUT, GOLDEN_GCU_LINEAR, GOLDEN_GCU_WEIGHTS, GOLDEN_GCU_INCREMENT,
	GOLDEN_GCU_VECTOR, GOLDEN_GCU_ROW, GOLDEN_GCU_PSUM, GOLDEN_GCU_OFMAP, GOLDEN_GCU_PROBED,
	GOLDEN_GCU_FILLING, GOLDEN_GCU_ACCESSES,
};

/* The access that ended the last job with E_DMA. */
enum golden_gcu_access golden_gcu_failed_access(const struct golden_gcu *gcu);

/** struct golden_gcu_fill - a row that was read into a slot. */
struct golden_gcu_fill {
	uint32_t cg, row, slot;
	uint64_t ready;
};

#define GOLDEN_GCU_FILLS	16

/* The first rows of the job's last layer, at most GOLDEN_GCU_FILLS; returns their number. */
unsigned int golden_gcu_fills(const struct golden_gcu *gcu,
			      struct golden_gcu_fill fills[GOLDEN_GCU_FILLS]);

struct golden_gcu_coverage;
const struct golden_gcu_coverage *golden_gcu_coverage(const struct golden_gcu *gcu);

#endif /* GOLDEN_GCU_H */
