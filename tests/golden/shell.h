/* SPDX-License-Identifier: MIT */
/* Golden model of the shell: packet, context, MMU, statistics record. */
#ifndef GOLDEN_SHELL_H
#define GOLDEN_SHELL_H

#include <stddef.h>

#include "core.h"

/** struct golden_bus - system memory by bus address; false if it is not RAM. */
struct golden_bus {
	void *opaque;
	bool (*read)(void *opaque, uint64_t address, void *buffer, size_t length);
	bool (*write)(void *opaque, uint64_t address, const void *buffer, size_t length);
};

/** struct golden_shell - one core with its queue; initialise core and bus, zero the rest. */
struct golden_shell {
	struct golden_core core;
	struct golden_bus bus;
	bool residue;		/* of @ctx_id, whose directory is at @root */
	bool retired;		/* that context has ended */
	uint32_t ctx_id;
	uint64_t root;
};

/** struct golden_result - result of a packet, without memory. */
struct golden_result {
	struct golden_status status;
	uint64_t cycles;
	struct cnnacc_stats stats;
	bool ran;	/* the packet was good, so @stats count */
};

/* Run one packet to its end. */
void golden_shell_run(struct golden_shell *shell, const struct cnnacc_packet *packet,
		      struct golden_result *result);
/* Retire a context id: the next job with it belongs to a new context. */
void golden_shell_retire(struct golden_shell *shell, uint32_t ctx_id);
/* Core reset. */
void golden_shell_reset(struct golden_shell *shell);

#endif /* GOLDEN_SHELL_H */
