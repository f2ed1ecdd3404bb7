/* SPDX-License-Identifier: MIT */
/*
 * A host for the model in tests: one flat RAM as the bus, page tables, rings.
 * Needs nothing of the model but its public header.
 */
#ifndef MODEL_HOST_H
#define MODEL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cnnacc_hw.h"
#include "cnnacc_model.h"

#define MH_RAM_BASE	0x100000000ull	/* bus address of the first byte of RAM */
#define MH_RING_SIZE	8
#define MH_BUDGET_NS	1000000

/** struct mh_ring - rings of one core. */
struct mh_ring {
	uint64_t packets, records;	/* bus addresses */
	uint32_t size, compl_size;
	uint32_t tail, compl_head;
};

/** struct model_host - a device and its machine. */
struct model_host {
	struct cm_device *dev;
	uint8_t *ram;
	size_t ram_size, ram_used;
	uint64_t now;
	bool clock_stands;		/* else each look at it takes 10 ns */
	bool no_map;			/* refuse dma_map: everything goes by line */
	uint64_t hole, hole_size;	/* bus range that is not RAM */
	bool running;			/* inside cm_device_run() */
	unsigned int messages[CM_MAX_CORES + 1];
	unsigned int kicks[CM_MAX_CORES];
	unsigned int runs, mapped;
	uint32_t wires;	/* bit n: level of wire n */
	char log[CM_ERR_LEN];	/* last line */
	struct mh_ring ring[CM_MAX_CORES];
	uint32_t budget_ns;
};

/** struct mh_space - an address space. */
struct mh_space {
	uint32_t ctx_id;
	uint64_t root;
};

/* @cores as in cm_config_set(), NULL for the default; aborts on an error. */
struct model_host *mh_new(const char *cores, size_t ram_size);
/* With a device of any configuration. */
struct model_host *mh_new_config(const struct cm_config *config, size_t ram_size);
/* A second device of the same build on the same RAM, in its reset state. */
void mh_replace_device(struct model_host *h, const char *cores);
void mh_free(struct model_host *h);

uint32_t mh_read(struct model_host *h, uint32_t offset);
void mh_write(struct model_host *h, uint32_t offset, uint32_t value);
uint32_t mh_qread(struct model_host *h, unsigned int core, uint32_t reg);
void mh_qwrite(struct model_host *h, unsigned int core, uint32_t reg, uint32_t value);
/* A register of the core's window. */
uint32_t mh_wread(struct model_host *h, unsigned int core, uint32_t reg);
/* Where a bus address is in memory; aborts if it is not RAM. */
void *mh_ptr(struct model_host *h, uint64_t bus);
/* Zeroed pages. */
uint64_t mh_alloc(struct model_host *h, size_t bytes);
/* Forgets all allocations but the first @used bytes (a former h->ram_used). */
void mh_release(struct model_host *h, size_t used);

struct mh_space mh_space_new(struct model_host *h, uint32_t ctx_id);
void mh_map(struct model_host *h, const struct mh_space *s, uint32_t va, uint64_t bus,
	    size_t bytes, uint32_t flags);
/* New pages at @va; returns where they are in memory. */
void *mh_map_new(struct model_host *h, const struct mh_space *s, uint32_t va, size_t bytes,
		 uint32_t flags);
/* The entry of @va in its page table, which must exist. */
uint32_t *mh_pte(struct model_host *h, const struct mh_space *s, uint32_t va);

/* Rings of @core made and enabled. */
void mh_queue_init(struct model_host *h, unsigned int core, uint32_t size, uint32_t compl_size);
void mh_submit(struct model_host *h, unsigned int core, const struct cnnacc_packet *packet);
/* Begin, run, end until there is no work. */
void mh_work(struct model_host *h, unsigned int core);
/* One round of it; false if there was no work. */
bool mh_work_once(struct model_host *h, unsigned int core, uint32_t budget_ns);
/* Takes the oldest record; false if there is none. */
bool mh_completion(struct model_host *h, unsigned int core, struct cnnacc_completion *record);
void mh_core_reset(struct model_host *h, unsigned int core);

#define MH_PROGRAM_VA	0xf0000000u
#define MH_STATS_VA	0xf1000000u
/* Maps the pages of MH_PROGRAM_VA and MH_STATS_VA. */
void mh_map_job(struct model_host *h, const struct mh_space *s);
/* A packet for @words at MH_PROGRAM_VA with statistics and interrupt. */
struct cnnacc_packet mh_packet(struct model_host *h, const struct mh_space *s,
			       const uint32_t *program, size_t words);
/* Runs one program to its end on core 0; resets the core first if it is halted. */
struct cnnacc_completion mh_exec(struct model_host *h, const struct mh_space *s,
				 const uint32_t *program, size_t words,
				 struct cnnacc_stats *stats);

uint32_t mh_crc32(const void *data, size_t len);
/* Pseudo-random numbers, the same everywhere. */
uint32_t mh_random(uint64_t *seed);

#endif
