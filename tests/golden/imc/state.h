/* SPDX-License-Identifier: MIT */
/* The golden model of imc inside. */
#ifndef GOLDEN_IMC_STATE_H
#define GOLDEN_IMC_STATE_H

#include "imc.h"

/**
 * struct imc_plane - SETUP and CONV decoded; names as on the page.
 * @esz: bytes of a component
 * @in_row, @in_column: input strides, components
 * @res_row, @res_column: result strides, results
 * @in, @wt, @res: addresses in the banks
 * @in_bank, @wt_bank, @res_bank: local memories
 */
struct imc_plane {
	int64_t n, w, h, wo, ho, cin, cout, esz;
	enum cnnacc_imc_format format;
	bool full, accumulate;
	int64_t in_row, in_column, res_row, res_column;
	int64_t in, wt, res;
	unsigned int in_bank, wt_bank, res_bank;
	int64_t cin_max, group_channels, groups, passes;
};

/** struct imc_csu - a cache-scheduling unit: its FIFO, and its wires in the last clock. */
struct imc_csu {
	uint32_t fifo[CNNACC_IMC_N_MAX];
	unsigned int level;
	uint32_t p, head, sum;
};

/**
 * struct imc_control - the control logic unit: the product of the next clock.
 * @pass_row: result row and kernel row, one number, in partial reuse; else the input row
 * @j, @w: element and weight, from 1
 * @first: that product is the first of its element
 * @left: clocks until the element after the current one is loaded
 * @clock: clocks that have run, stalled ones included
 * @done: no product is left
 */
struct imc_control {
	int64_t group, pass, pass_row, j, w;
	bool first;
	int64_t left;
	uint64_t clock;
	bool done;
};

struct golden_imc {
	struct golden_seq seq;
	struct golden_imc_params params;
	uint8_t *memory[CNNACC_IMC_MEMORIES];
	uint32_t bytes[CNNACC_IMC_MEMORIES];
	struct golden_imc_regs regs;
	bool configured;		/* a SETUP has passed */
	struct imc_plane plane;
	struct imc_control control;
	struct imc_csu csu[CNNACC_IMC_CSUS_MAX];
	struct golden_imc_coverage coverage;
};

/* ---- plane.c */

/* Decode SETUP, and CONV, from their registers. */
struct imc_plane imc_decode(const struct golden_imc_params *params, const uint32_t setup[6],
			    const uint32_t conv[4]);
/* Channels of a pass; L, the clocks to load an element of it. */
int64_t imc_pass_channels(const struct imc_plane *plane, int64_t pass);
int64_t imc_load_clocks(const struct golden_imc *imc, const struct imc_plane *plane, int64_t pass);
/* Row passes of one group and one pass of channels. */
int64_t imc_row_passes(const struct imc_plane *plane);
/* Ends of the last component, weight and result, in bytes of their banks. */
uint64_t imc_input_end(const struct imc_plane *plane);
uint64_t imc_weight_end(const struct imc_plane *plane);
uint64_t imc_result_end(const struct imc_plane *plane);

/** struct imc_cost - what a whole plane counts, by the formulas of the page. */
struct imc_cost {
	uint64_t count[IMC_COUNTS];
	uint64_t slots, useful, read, written, duration;
	uint32_t peak;
};

struct imc_cost imc_cost(const struct golden_imc *imc, const struct imc_plane *plane);

/* ---- check.c: the checks of an EXEC in the order of the page; false after golden_seq_fail() */

bool imc_check(struct golden_imc *imc, const struct cnnacc_seq_command *command);

/* ---- clock.c */

/* Begin the plane with its first element loaded. */
void imc_begin(struct golden_imc *imc);
/* Run one clock with that external valid flag. */
void imc_clock(struct golden_imc *imc, bool valid);

/* ---- csu.c: the data path */

/* Signals of a clock. */
struct imc_signals {
	bool sel, rd_en, wr_en, strobe;
};

/* One clock of a CSU that has output channel @k and kernel row @r; its sum is the row result. */
void imc_csu_clock(struct golden_imc *imc, struct imc_csu *csu, struct imc_signals s,
		   const int64_t kr[2]);
/* Add a row result to its cell. */
void imc_column_add(struct golden_imc *imc, uint32_t result, int64_t row, const int64_t kr[2]);

#endif /* GOLDEN_IMC_STATE_H */
