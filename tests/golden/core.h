/* SPDX-License-Identifier: MIT */
/* Interface between the golden shell and a golden core. */
#ifndef GOLDEN_CORE_H
#define GOLDEN_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cnnacc_hw.h"

/** struct golden_fault - why an access to a line failed. */
struct golden_fault {
	enum cnnacc_status_class status_class;
	enum cnnacc_fault_level level;
};

/**
 * struct golden_memory - a context's memory.
 * @read: one line at @va
 * @write: @length bytes from @va on, all in one line
 */
struct golden_memory {
	void *opaque;
	bool (*read)(void *opaque, uint64_t va, enum cnnacc_access access,
		     uint8_t line[CNNACC_LINE_SIZE], struct golden_fault *fault);
	bool (*write)(void *opaque, uint64_t va, const uint8_t *bytes, size_t length,
		      struct golden_fault *fault);
};

/** struct golden_job - what the shell hands to a core. */
struct golden_job {
	uint32_t program_va;
	uint32_t program_len;
	uint64_t cycle_limit;
};

/** struct golden_status - how a job ended; names as in struct cnnacc_completion. */
struct golden_status {
	uint16_t status_class;
	uint16_t status_code;
	uint32_t pc;
	uint32_t detail;
	uint32_t access;
	uint64_t fault_va;
	uint32_t events;	/* raised */
	uint32_t event_trace;	/* core_trace() of PC and EVENT after each */
};

/* A hash over (pc, value) pairs in order. */
static inline uint32_t core_trace(uint32_t trace, uint32_t pc, uint32_t value)
{
	return (trace * 0x01000193u ^ pc) * 0x01000193u ^ value;
}

/** struct golden_core - a core as the golden shell drives it. */
struct golden_core {
	void *priv;
	uint32_t program_max;
	uint64_t job_cycles_max;
	uint64_t scrub_cycles;	/* cycles that clear() costs at a change of context */
	void (*clear)(void *priv);
	void (*run)(void *priv, const struct golden_job *job, const struct golden_memory *memory,
		    struct golden_status *status, struct cnnacc_stats *stats);
};

#endif /* GOLDEN_CORE_H */
