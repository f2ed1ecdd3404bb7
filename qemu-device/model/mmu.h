/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* A core's memory port: address translation and transfers of lines and bytes. */
#ifndef CM_MMU_H
#define CM_MMU_H

#include "core.h"

#define CM_TLB_ENTRIES	256
#define CM_PORT_COPIES	1024
#define CM_PORT_PAGES	64

struct cm_tlb_entry {
	uint32_t tag;		/* page number + 1, 0 = empty */
	uint32_t pte;
};

/** struct cm_copy - a deferred copy. */
struct cm_copy {
	uint8_t *to;
	const uint8_t *from;
	size_t len;
};

/** struct cm_mapping - the mapped system memory of a deferred copy. */
struct cm_mapping {
	uint64_t bus;
	void *ptr;		/* from dma_map() */
	size_t len;
};

/** struct cm_page - a memory page that stays mapped until the end of the step. */
struct cm_page {
	uint8_t *ptr;		/* from dma_map() */
	uint32_t tag;		/* page number + 1, 0 = empty */
};

/** struct cm_port - a core's memory port; nothing in it is saved. */
struct cm_port {
	const struct cm_host_ops *ops;
	void *opaque;
	struct cm_workers *workers;	/* up to @threads of them share a copy */
	unsigned int threads;
	uint32_t ctx_id;
	uint64_t root;
	/* Cycles of the job. */
	uint64_t cycle_now;	/* reached by the device time; UINT64_MAX: timing=instant */
	uint64_t wait_cycle;	/* the core waits until then, 0: it does not wait */
	uint64_t event_cycle;	/* the core raised its last event then */
	uint32_t dir_tag;	/* directory index + 1 of dir_pte, 0 = empty */
	uint32_t dir_pte;
	struct cm_tlb_entry tlb[CM_TLB_ENTRIES];

	/* [write][page number modulo CM_PORT_PAGES]; empty between steps. */
	struct cm_page pages[2][CM_PORT_PAGES];
	bool paged;		/* an entry may be in use */

	/* Deferred copies, all in one direction, to ascending addresses; empty between steps. */
	bool copy_writes, copy_long;
	unsigned int copy_count, copy_parts;
	unsigned int cut[CM_MAX_THREADS + 1];	/* first copy of each part */
	size_t copy_bytes;			/* total */
	uint64_t copy_first, copy_end;		/* range of bus addresses that covers all */
	struct cm_mapping mappings[CM_PORT_COPIES];
	struct cm_copy copies[CM_PORT_COPIES] __attribute__((aligned(64)));
};

void cm_port_flush(struct cm_port *port);
/* Switch to another context's page table. */
void cm_port_select(struct cm_port *port, uint32_t ctx_id, uint64_t root);

/**
 * cm_port_translate() - bus address of a byte.
 *
 * Return: 0, or -1 with class, detail, access and va of @fault filled in.
 */
int cm_port_translate(struct cm_port *port, uint64_t va, enum cnnacc_access access,
		      uint64_t *bus, struct cm_core_fault *fault);

/**
 * cm_port_lines() - move 64-byte lines in ascending order.
 * @va: of the first line, 64-byte aligned
 * @buf: local memory; written for CNNACC_ACCESS_READ and EXEC, read for WRITE
 *
 * Return: 0, or -1 with @fault naming the first refused line; the lines before it
 * have moved.
 */
int cm_port_lines(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		  enum cnnacc_access access, struct cm_core_fault *fault);

/**
 * cm_port_defer() - like cm_port_lines(), but copies may be deferred to cm_port_complete().
 *
 * The caller must not access @buf before then.
 */
int cm_port_defer(struct cm_port *port, uint64_t va, void *buf, uint64_t lines,
		  enum cnnacc_access access, struct cm_core_fault *fault);
/** cm_port_complete() - make all deferred copies. */
void cm_port_complete(struct cm_port *port);

/**
 * cm_port_bytes() - move exactly @len bytes in ascending order, at any alignment.
 * @buf: local memory; written for CNNACC_ACCESS_READ, read for WRITE
 *
 * Return: 0, or -1 with @fault naming the first refused 64-byte line; the lines before
 * it have moved.
 */
int cm_port_bytes(struct cm_port *port, uint64_t va, void *buf, size_t len,
		  enum cnnacc_access access, struct cm_core_fault *fault);
/** cm_port_unmap() - unmap the pages that cm_port_bytes() mapped; call before a step ends. */
void cm_port_unmap(struct cm_port *port);

/* Must the core wait before it does what the hardware does at @cycle of the job? */
static inline bool cm_port_must_wait(struct cm_port *port, uint64_t cycle)
{
	if (cycle <= port->cycle_now)
		return false;
	port->wait_cycle = cycle;
	return true;
}

#endif
