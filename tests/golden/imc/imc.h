/* SPDX-License-Identifier: MIT */
/* Golden model of core imc: clock by clock, one reading of its documentation. */
#ifndef GOLDEN_IMC_H
#define GOLDEN_IMC_H

#include "cnnacc_imc.h"
#include "../sequencer.h"

/** struct golden_imc_params - build parameters, from the discovery table; sizes in bytes. */
struct golden_imc_params {
	uint32_t cin_max, csus, n_max;
	bool full_reuse, fp32;
	uint32_t input, weight, unit;	/* of one bank */
	uint32_t port, program;
};

/** enum golden_imc_count - the core's counters, in the order of their registers. */
enum golden_imc_count {
	IMC_CLOCKS, IMC_STALLS, IMC_ROW_READS, IMC_ELEMENT_READS, IMC_WEIGHT_READS, IMC_PUSHES,
	IMC_POPS, IMC_OUTPUTS, IMC_PARTIAL_STORES, IMC_COUNTS,
};

/** struct golden_imc_last - registers of the last clock of a plane in step mode. */
struct golden_imc_last {
	uint32_t sig, group, pass, row, csu, kernel_row, element, weight, p, head, out;
	uint32_t fifo[CNNACC_IMC_N_MAX];
};

/** struct golden_imc_regs - the registers that the core's window shows. */
struct golden_imc_regs {
	uint32_t status, fifo_peak;
	uint32_t setup[6], conv[4];
	struct golden_imc_last last;
	uint64_t count[IMC_COUNTS];
};

/** struct golden_imc_coverage - number of occurrences. */
struct golden_imc_coverage {
	uint64_t planes[3][2];		/* by format and full reuse, completed */
	uint64_t kernel[CNNACC_IMC_N_MAX + 1];
	uint64_t extra[10];		/* Wo from 1 to 9, and more */
	uint64_t passes[4], groups[4];	/* 1, 2, 3, more */
	uint64_t accumulated, short_pass, short_group, strided, overlapping_input;
	uint64_t bank[CNNACC_IMC_MEMORIES];	/* claimed by planes */
	uint64_t stalled[2];		/* clocks: by the port, by STEP without VALID */
	uint64_t saturated[2];		/* low, high */
	uint64_t nans, subnormals;
	uint64_t stepped, stepped_out, steps_short;	/* planes, ended, STEPs cut by the end */
	uint64_t lost;			/* jobs that end in step mode */
	uint64_t read[CNNACC_IMC_REG_END / 4];	/* by offset */
	uint64_t beside;		/* rows of a free bank beside a plane */
	uint64_t cut_off;		/* planes past the cycle limit */
	uint64_t illegal[CNNACC_IMC_BAD_REGISTER + 1];
	uint64_t cfg[CNNACC_IMC_BAD_CLOCKS + 1];
	uint64_t busy[CNNACC_IMC_STEPPING + 1];
	uint64_t address[CNNACC_IMC_MEMORIES];
	uint64_t flags[3];		/* EVENTS, RESULT of another operation, READ without it */
};

struct golden_imc;

/* False if the entry is of another core type, or of limits that the model lacks. */
bool golden_imc_params_of(const struct cnnacc_core_entry *entry, struct golden_imc_params *params);
/* NULL if there is no memory. */
struct golden_imc *golden_imc_create(const struct golden_imc_params *params);
void golden_imc_destroy(struct golden_imc *imc);
/* Fills @core for the shell; job_cycles_max stays the caller's. */
void golden_imc_core(struct golden_imc *imc, struct golden_core *core);
const struct golden_imc_regs *golden_imc_regs(const struct golden_imc *imc);
const struct golden_seq_regs *golden_imc_seq_regs(const struct golden_imc *imc);
const struct golden_imc_coverage *golden_imc_coverage(const struct golden_imc *imc);
const struct golden_seq_coverage *golden_imc_seq_coverage(const struct golden_imc *imc);

/** enum golden_imc_access - a core's access to memory that may fail. */
enum golden_imc_access { IMC_COPY_IN, IMC_COPY_OUT, IMC_READ_RESULT, IMC_ACCESSES };
/* That which ended the last job with E_DMA. */
enum golden_imc_access golden_imc_failed(const struct golden_imc *imc);

#endif /* GOLDEN_IMC_H */
