/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* A core's way to memory: address translation, transfers of lines and of bytes. */
#ifndef CM_MMU_H
#define CM_MMU_H

#include "core.h"

#define CM_TLB_ENTRIES	256
#define CM_PORT_MOVES	1024
#define CM_PORT_PAGES	64

struct cm_tlb_entry {
	uint32_t tag;		/* page number + 1, 0 = empty */
	uint32_t pte;
};

/** struct cm_move - a copy that has not been made yet. */
struct cm_move {
	uint8_t *to;
	const uint8_t *from;
	size_t len;
};

/** struct cm_mapping - what of memory it is from or to. */
struct cm_mapping {
	uint64_t bus;
	void *ptr;		/* by dma_map() */
	size_t len;
};

/** struct cm_page - a page of memory that stays mapped to the end of the step. */
struct cm_page {
	uint8_t *ptr;		/* by dma_map() */
	uint32_t tag;		/* page number + 1, 0 = empty */
};

/** struct cm_port - translation state of one core; holds nothing that is saved. */
struct cm_port {
	const struct cm_host_ops *ops;
	void *opaque;
	struct cm_workers *workers;	/* @threads of them copy */
	unsigned int threads;
	uint32_t ctx_id;
	uint64_t root;
	uint64_t horizon;	/* cycles of the job that may have passed by now */
	uint64_t wait;		/* cycle that the core waits for, 0: none */
	uint64_t event;		/* cycle of the event that it has raised */
	uint32_t dir_tag;	/* directory index + 1 of dir_pte, 0 = empty */
	uint32_t dir_pte;
	struct cm_tlb_entry tlb[CM_TLB_ENTRIES];

	/* By page number, to read from and to write to; empty between steps. */
	struct cm_page pages[2][CM_PORT_PAGES];
	bool paged;		/* some may not be */

	/* All in one direction, to ascending addresses; empty between steps. */
	bool writing;
	unsigned int move_count, move_parts;
	unsigned int cut[CM_MAX_THREADS + 1];	/* first move of each part */
	size_t moving;					/* bytes of all */
	struct cm_mapping mappings[CM_PORT_MOVES];
	struct cm_move moves[CM_PORT_MOVES] __attribute__((aligned(64)));
};

void cm_port_flush(struct cm_port *port);
/* Uses another context's table from now on. */
void cm_port_select(struct cm_port *port, uint32_t ctx_id, uint64_t root);

/**
 * cm_port_translate() - bus address of a byte.
 *
 * Return: 0, or -1 with class, detail, access and va of @fault filled.
 */
int cm_port_translate(struct cm_port *port, uint64_t va, enum cnnacc_access access,
		       uint64_t *bus, struct core_fault *fault);

/**
 * cm_port_lines() - move 64-byte lines in ascending order.
 * @va: of the first line, 64-byte aligned
 * @buf: local memory; written for CNNACC_ACCESS_READ and EXEC, read for WRITE
 *
 * Return: 0, or -1 with @fault naming the first line refused; those before it
 * have moved.
 */
int cm_port_lines(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault);

/**
 * cm_port_queue() - cm_port_lines(), of which copies may be left for later.
 *
 * The caller must not touch @buf before cm_port_settle().
 */
int cm_port_queue(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault);
/** cm_port_settle() - makes all copies that were left. */
void cm_port_settle(struct cm_port *port);

/**
 * cm_port_bytes() - move bytes in ascending order, at any alignment, and no others.
 * @buf: local memory; written for CNNACC_ACCESS_READ, read for WRITE
 *
 * Return: 0, or -1 with @fault naming the first 64-byte line refused; those before it
 * have moved.
 */
int cm_port_bytes(struct cm_port *port, uint64_t va, void *buf, size_t len,
		   enum cnnacc_access access, struct core_fault *fault);
/** cm_port_release() - unmaps what cm_port_bytes() has left mapped, before a step ends. */
void cm_port_release(struct cm_port *port);

/* Has a core to wait before it does what the hardware does at @cycle of the job? */
static inline bool cm_port_waits(struct cm_port *port, uint64_t cycle)
{
	if (cycle <= port->horizon)
		return false;
	port->wait = cycle;
	return true;
}

#endif
