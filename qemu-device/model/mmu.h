/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* A core's way to memory: address translation, transfers of lines and of bytes. */
#ifndef CNN_MMU_H
#define CNN_MMU_H

#include "core.h"

#define CNN_TLB_ENTRIES	256
#define CNN_PORT_MOVES	1024
#define CNN_PORT_PAGES	64

struct cnn_tlb_entry {
	uint32_t tag;		/* page number + 1, 0 = empty */
	uint32_t pte;
};

/** struct cnn_move - a copy that has not been made yet. */
struct cnn_move {
	uint8_t *to;
	const uint8_t *from;
	size_t len;
};

/** struct cnn_mapping - what of memory it is from or to. */
struct cnn_mapping {
	uint64_t bus;
	void *ptr;		/* by dma_map() */
	size_t len;
};

/** struct cnn_page - a page of memory that stays mapped to the end of the step. */
struct cnn_page {
	uint8_t *ptr;		/* by dma_map() */
	uint32_t tag;		/* page number + 1, 0 = empty */
};

/** struct cnn_port - translation state of one core; holds nothing that is saved. */
struct cnn_port {
	const struct cnn_host_ops *ops;
	void *opaque;
	struct cnn_workers *workers;	/* @threads of them copy */
	unsigned int threads;
	uint32_t ctx_id;
	uint64_t root;
	uint64_t horizon;	/* cycles of the job that may have passed by now */
	uint64_t wait;		/* cycle that the core waits for, 0: none */
	uint64_t event;		/* cycle of the event that it has raised */
	uint32_t dir_tag;	/* directory index + 1 of dir_pte, 0 = empty */
	uint32_t dir_pte;
	struct cnn_tlb_entry tlb[CNN_TLB_ENTRIES];

	/* By page number, to read from and to write to; empty between steps. */
	struct cnn_page pages[2][CNN_PORT_PAGES];
	bool paged;		/* some may not be */

	/* All in one direction, to ascending addresses; empty between steps. */
	bool writing;
	unsigned int move_count, move_parts;
	unsigned int cut[CNN_MODEL_MAX_THREADS + 1];	/* first move of each part */
	size_t moving;					/* bytes of all */
	struct cnn_mapping mappings[CNN_PORT_MOVES];
	struct cnn_move moves[CNN_PORT_MOVES] __attribute__((aligned(64)));
};

void cnn_port_flush(struct cnn_port *port);
/* Uses another context's table from now on. */
void cnn_port_select(struct cnn_port *port, uint32_t ctx_id, uint64_t root);

/**
 * cnn_port_translate() - bus address of a byte.
 *
 * Return: 0, or -1 with class, detail, access and va of @fault filled.
 */
int cnn_port_translate(struct cnn_port *port, uint64_t va, enum cnnacc_access access,
		       uint64_t *bus, struct core_fault *fault);

/**
 * cnn_port_lines() - move 64-byte lines in ascending order.
 * @va: of the first line, 64-byte aligned
 * @buf: local memory; written for CNNACC_ACCESS_READ and EXEC, read for WRITE
 *
 * Return: 0, or -1 with @fault naming the first line refused; those before it
 * have moved.
 */
int cnn_port_lines(struct cnn_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault);

/**
 * cnn_port_queue() - cnn_port_lines(), of which copies may be left for later.
 *
 * The caller must not touch @buf before cnn_port_settle().
 */
int cnn_port_queue(struct cnn_port *port, uint64_t va, void *buf, uint64_t lines,
		   enum cnnacc_access access, struct core_fault *fault);
/** cnn_port_settle() - makes all copies that were left. */
void cnn_port_settle(struct cnn_port *port);

/**
 * cnn_port_bytes() - move bytes in ascending order, at any alignment, and no others.
 * @buf: local memory; written for CNNACC_ACCESS_READ, read for WRITE
 *
 * Return: 0, or -1 with @fault naming the first 64-byte line refused; those before it
 * have moved.
 */
int cnn_port_bytes(struct cnn_port *port, uint64_t va, void *buf, size_t len,
		   enum cnnacc_access access, struct core_fault *fault);
/** cnn_port_release() - unmaps what cnn_port_bytes() has left mapped, before a step ends. */
void cnn_port_release(struct cnn_port *port);

/* Has a core to wait before it does what the hardware does at @cycle of the job? */
static inline bool cnn_port_waits(struct cnn_port *port, uint64_t cycle)
{
	if (cycle <= port->horizon)
		return false;
	port->wait = cycle;
	return true;
}

#endif
