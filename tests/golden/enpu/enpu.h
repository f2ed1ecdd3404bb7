/* SPDX-License-Identifier: MIT */
/* Golden model of core enpu: slow, scalar, one reading of its documentation. */
#ifndef GOLDEN_ENPU_H
#define GOLDEN_ENPU_H

#include "cnnacc_enpu.h"
#include "../sequencer.h"

/** struct golden_enpu_params - build parameters, from the discovery table; sizes in bytes. */
struct golden_enpu_params {
	uint32_t itcm, work, skip, weight;
	uint32_t psum_bits;
	bool prefetch;
	uint32_t program;
};

/** enum golden_enpu_count - the core's counters, in the order of their registers. */
enum golden_enpu_count {
	ENPU_LAYERS, ENPU_TILES, ENPU_SETUP, ENPU_COMPUTE, ENPU_FUSED, ENPU_LOAD, ENPU_STORE,
	ENPU_WORK_READS, ENPU_WORK_WRITES, ENPU_SKIP_READS, ENPU_SKIP_WRITES, ENPU_WEIGHT_READS,
	ENPU_IFPAD_WRITES, ENPU_IFPAD_READS, ENPU_WPAD_WRITES, ENPU_WPAD_READS, ENPU_PSUM_READS,
	ENPU_PSUM_WRITES, ENPU_COUNTS,
};

/** struct golden_enpu_regs - the registers that the core's window shows. */
struct golden_enpu_regs {
	uint32_t status, start, end, banks;
	uint32_t err_insn, err_value, err_limit;
	uint64_t count[ENPU_COUNTS];
};

#define GOLDEN_ENPU_OPCODES	(CNNACC_ENPU_RESHAPE + 1)

/** struct golden_enpu_coverage - number of occurrences. */
struct golden_enpu_coverage {
	uint64_t first[GOLDEN_ENPU_OPCODES], later[GOLDEN_ENPU_OPCODES];	/* stages run */
	uint64_t insns[13];		/* of a program, STOP left out; 12 and more */
	uint64_t stages[5];		/* of a layer; 4 and more */
	uint64_t results[2][2][2];	/* last stage, STORED, OUT_ONLY */
	uint64_t illegal[CNNACC_ENPU_BAD_CHAIN + 1];
	uint64_t cfg[CNNACC_ENPU_BAD_SHIFT + 1];
	uint64_t block_shift;		/* BAD_SHIFT in a block */
	uint64_t range[CNNACC_ENPU_RANGE_OUT + 1];
	uint64_t overlap[CNNACC_ENPU_OVERLAP_RESULT + 1];
	uint64_t busy, cut_off;		/* E_BUSY; programs past the cycle limit */
	uint64_t in_place[2];		/* of A, of B */
	uint64_t whole[4];		/* 256 as Ho, Wo, Co, Ci */
	uint64_t padded, edge, dilated, shift_left, clamped[2];
	uint64_t segment[CNNACC_ENPU_LUT_SEGMENTS];
	uint64_t reshaped[2][3];	/* words, lanes; no split, split, interleaved */
	uint64_t banks[CNNACC_ENPU_BANKS * CNNACC_ENPU_MEMORIES];	/* claimed */
	uint64_t beside;		/* rows that a bank lets through beside a program */
};

struct golden_enpu;

/* False if the entry is of another core type, or of limits that the model lacks. */
bool golden_enpu_params_of(const struct cnnacc_core_entry *entry,
			   struct golden_enpu_params *params);
/* NULL if there is no memory. */
struct golden_enpu *golden_enpu_create(const struct golden_enpu_params *params);
void golden_enpu_destroy(struct golden_enpu *enpu);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_enpu_core(struct golden_enpu *enpu, struct golden_core *core);
struct golden_enpu_regs golden_enpu_regs(const struct golden_enpu *enpu);
const struct golden_seq_regs *golden_enpu_seq_regs(const struct golden_enpu *enpu);
const struct golden_enpu_coverage *golden_enpu_coverage(const struct golden_enpu *enpu);
const struct golden_seq_coverage *golden_enpu_seq_coverage(const struct golden_enpu *enpu);
/* Was it a COPY2D to memory that ended the last job with E_DMA? */
bool golden_enpu_failed_out(const struct golden_enpu *enpu);

#endif /* GOLDEN_ENPU_H */
