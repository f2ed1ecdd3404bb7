/* SPDX-License-Identifier: MIT */
/* What the programs that damage files for the whole library share. */
#ifndef FUZZ_RUNTIME_CASE_H
#define FUZZ_RUNTIME_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cnnrt.h>

/* Pseudo-random numbers, the same everywhere. */
uint32_t fuzz_number(uint32_t below);
/* A file, twice; false if it is empty or cannot be read. Both are the caller's to free. */
bool fuzz_read(const char *path, uint8_t **bytes, uint8_t **copy, size_t *size);
/* Gives every input numbers, runs the job and waits for it. */
int fuzz_fill_and_run(struct cnnrt_job *job, const struct cnnrt_program *p,
		      struct cnnrt_error *err);

#endif
