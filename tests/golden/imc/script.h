/* SPDX-License-Identifier: MIT */
/* Programs of imc with their data, written by hand, and what they leave in memory. */
#ifndef GOLDEN_IMC_SCRIPT_H
#define GOLDEN_IMC_SCRIPT_H

#include "imc.h"
#include "../job.h"

/** struct imc_setup - words of a SETUP by name; strides of 0 are compact. */
struct imc_setup {
	uint32_t n, format;
	bool full;
	uint32_t w, h, cin, cout;
	uint32_t in_column, res_column, in_row, res_row;
};

/** struct imc_conv - words of a CONV by name. */
struct imc_conv {
	uint32_t flags, in, wt, res;
};

/** struct imc_script - a job being written; @reads: READs so far. */
struct imc_script {
	struct job *job;
	unsigned int loads, reads;
};

/* The six words: instruction words, then operands. */
void imc_setup_words(const struct imc_setup *setup, uint32_t words[6]);

void imc_script_begin(struct imc_script *script, struct job *job);
/* COPY2D of @length bytes to the beginning of a local memory. */
void imc_script_load(struct imc_script *script, unsigned int memory, const void *bytes,
		     uint32_t length);
void imc_script_setup(struct imc_script *script, const struct imc_setup *setup);
void imc_script_conv(struct imc_script *script, const struct imc_conv *conv);
void imc_script_step(struct imc_script *script, bool valid, uint32_t clocks);
/* READ a register; the n-th READ's result is imc_read_result(job, n). */
void imc_script_read(struct imc_script *script, uint32_t offset);
void imc_script_wait(struct imc_script *script);
/* COPY2D of the first @length bytes of a bank of the memory unit to memory. */
void imc_script_store(struct imc_script *script, unsigned int memory, uint32_t length);
void imc_script_end(struct imc_script *script);

/* After the run: the result of a READ, a word that was stored, a value of the statistics. */
uint32_t imc_read_result(struct job *job, unsigned int n);
uint32_t imc_stored_word(struct job *job, uint32_t n);
uint64_t imc_stat(struct job *job, size_t offset);

#endif /* GOLDEN_IMC_SCRIPT_H */
