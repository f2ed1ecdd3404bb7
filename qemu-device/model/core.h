/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The seam between the shell and a core.
 *
 * create() makes a core.  The core's whole state is one flat block of memory without pointers;
 * all zeros is the reset state.  The shell clears, saves and loads the block without knowing its
 * layout.
 */
#ifndef CM_CORE_H
#define CM_CORE_H

#include <stdlib.h>
#include <string.h>

#include "cnnacc_hw.h"
#include "cnnacc_model.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "registers, caches and saved state are used in place");

/** struct cm_core_fault - why and where a job ended; status_class 0 is success. */
struct cm_core_fault {
	uint32_t status_class;
	uint32_t code;
	uint32_t pc;
	uint32_t detail;
	uint32_t access;
	uint32_t reserved;
	uint64_t va;
};

/** struct cm_core_job - the part of a packet that a core needs. */
struct cm_core_job {
	uint64_t cycle_limit;
	uint32_t program_va;
	uint32_t program_len;
	bool event_wait;	/* an event suspends the program until the next step() */
};

enum cm_core_step {
	CM_CORE_RUNNING,	/* budget used up or time not reached: call again */
	CM_CORE_EVENT,		/* call again; an event was raised at port->event_cycle */
	CM_CORE_DONE,
	CM_CORE_FAULT,		/* the fault is filled in */
};

struct cm_port;
struct cm_workers;

/** struct cm_core_resources - host threads and vector units that a core may use. */
struct cm_core_resources {
	struct cm_workers *workers;
	uint32_t threads;	/* at most as many parts run at once */
	uint32_t simd;		/* enum cm_simd, resolved */
};

/** struct cm_param - a build parameter of a core; same index as cm_core_config.param. */
struct cm_param {
	const char *name;
	uint32_t min, max, multiple, def;
	bool is_switch;			/* "on" or "off" in text: CM_ON, CM_OFF */
	bool power_of_two;		/* other values in its range are refused */
};

#define CM_SWITCH(name, def)	{ name, CM_ON, CM_OFF, 1, def, true }

/**
 * struct cm_core_ops - a core type as the shell sees it.
 *
 * cores/NAME/ defines cm_NAME_ops; a line in cores.def registers it.
 */
struct cm_core_ops {
	uint32_t type;			/* enum cnnacc_core_type */
	const char *name;		/* in the discovery entry, and for cm_config_set() */
	uint32_t version;
	uint32_t window_size;
	uint32_t window_words;		/* registers in the window; reads beyond return 0 */
	const struct cm_param *params;
	size_t param_count;		/* at most CM_MAX_PARAMS */
	const char *const *mutants;	/* names, NULL at the end; see mutant.h */

	/* Fills in the entry's program_max and param[]; @param is in the order of @params. */
	void (*describe)(const uint32_t *param, struct cnnacc_core_entry *entry);
	void *(*create)(const uint32_t *param, const struct cm_core_resources *resources);
	void (*destroy)(void *core);
	void *(*state)(void *core, size_t *size);
	/* Cycles to clear the state at a change of context. */
	uint64_t (*scrub_cycles)(const void *core);
	/* The shell has written the state: discard everything derived from it. */
	void (*drop_derived)(void *core);
	/* The shell has zeroed the whole state: discard everything derived from it. */
	void (*on_zeroed)(void *core);
	/* Unless a job has filled the memories, zero the rest of the state and return true. */
	bool (*try_fast_zero)(void *core);
	/* Validate a loaded state; return -1 with a message if no save could have written it. */
	int (*check)(void *core, char err[CM_ERR_LEN]);

	void (*start)(void *core, const struct cm_core_job *job);
	/* Work for about @budget_ns; fault->pc is filled in on success, too. */
	enum cm_core_step (*step)(void *core, struct cm_port *port, uint32_t budget_ns,
				  struct cm_core_fault *fault);
	/* The job's counters so far; the shell adds scrub_cycles and jobs. */
	void (*stats)(const void *core, struct cnnacc_stats *stats);
	/* Abort the job and return its program counter. */
	uint32_t (*stop)(void *core);
	/* Fill in the register window that software reads until the next call. */
	void (*publish)(const void *core, uint32_t *window);
};

/* Alignment of a core's memories: the host's widest vector. */
#define CM_CORE_ALIGN	((size_t)64)

static inline size_t cm_core_align(size_t size)
{
	return (size + CM_CORE_ALIGN - 1) & ~(CM_CORE_ALIGN - 1);
}

/* Allocate at least @size aligned, zeroed bytes; release with free(). */
static inline void *cm_core_alloc(size_t size)
{
	void *memory = aligned_alloc(CM_CORE_ALIGN, cm_core_align(size));

	return memory ? memset(memory, 0, cm_core_align(size)) : NULL;
}

#endif
