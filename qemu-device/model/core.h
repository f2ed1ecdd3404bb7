/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The seam between the shell and a core.
 *
 * A core is an object made by create() whose whole state is one flat block of
 * memory without pointers, in which all zero means "reset".  The shell clears,
 * saves and loads that block without knowing what is in it.
 */
#ifndef CM_CORE_H
#define CM_CORE_H

#include <stdlib.h>
#include <string.h>

#include "cnnacc_hw.h"
#include "cnnacc_model.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "registers, caches and saved state are used in place");

/** struct core_fault - why and where a job ended; a class of 0 is success. */
struct core_fault {
	uint32_t status_class;
	uint32_t code;
	uint32_t pc;
	uint32_t detail;
	uint32_t access;
	uint32_t reserved;
	uint64_t va;
};

/** struct core_job - what a core needs of a packet. */
struct core_job {
	uint64_t cycle_limit;
	uint32_t program_va;
	uint32_t program_len;
	bool event_wait;	/* an event suspends the program until the next step */
};

enum core_step {
	CORE_RUNNING,	/* budget used up, call again */
	CORE_EVENT,	/* the same; an event was raised at cycle port->event */
	CORE_DONE,
	CORE_FAULT,	/* the result says why */
};

struct cm_port;
struct cm_workers;

/** struct core_means - what of the host a core computes with. */
struct core_means {
	struct cm_workers *workers;
	uint32_t threads;	/* seats of a run of the workers */
	uint32_t simd;		/* enum cm_simd, resolved */
};

/** struct core_param - a build parameter of struct cm_core_config. */
struct core_param {
	const char *name;
	size_t offset;		/* of a uint32_t in struct cm_core_config */
	uint32_t min, max, multiple, def;
};

/** struct core_ops - one type of core. */
struct core_ops {
	uint32_t type;
	const char *name;
	uint32_t version;
	uint32_t window_size;
	uint32_t window_words;		/* words of it that exist */
	const struct core_param *params;
	size_t param_count;

	/* Fills program_max and param[] of the discovery entry. */
	void (*describe)(const struct cm_core_config *config, struct cnnacc_core_entry *entry);
	void *(*create)(const struct cm_core_config *config, const struct core_means *means);
	void (*destroy)(void *core);
	void *(*state)(void *core, size_t *size);
	/* Cycles to clear the state at a change of context. */
	uint64_t (*scrub_cycles)(const void *core);
	/* The state has been written: forget what was derived from it. */
	void (*forget)(void *core);
	/* The same; the state is all zero. */
	void (*zeroed)(void *core);
	/* Zeroes the state if that is little work, as no job has filled the memories. */
	bool (*zero_little)(void *core);
	/* Checks a written state; -1 with a message if it cannot have been saved. */
	int (*check)(void *core, char err[CM_ERR_LEN]);

	void (*start)(void *core, const struct core_job *job);
	/* Works for about @budget_ns; @fault is filled also on success (pc). */
	enum core_step (*step)(void *core, struct cm_port *port, uint32_t budget_ns,
			       struct core_fault *fault);
	/* The job's counters so far, without scrubbing and jobs. */
	void (*stats)(const void *core, struct cnnacc_stats *stats);
	/* Gives the job up; returns its program counter. */
	uint32_t (*stop)(void *core);
	/* Register window as software may read it from now on. */
	void (*publish)(const void *core, uint32_t *window);
};

/* Memories of a core begin where a vector may. */
#define CORE_ALIGN	((size_t)64)

static inline size_t core_align(size_t size)
{
	return (size + CORE_ALIGN - 1) & ~(CORE_ALIGN - 1);
}

/* At least @size bytes, aligned and zeroed, for free(); NULL if there is no memory. */
static inline void *core_alloc(size_t size)
{
	void *memory = aligned_alloc(CORE_ALIGN, core_align(size));

	return memory ? memset(memory, 0, core_align(size)) : NULL;
}

extern const struct core_ops cm_ccp_ops, cm_hwpe_ops;

#endif
