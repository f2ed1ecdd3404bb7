/* SPDX-License-Identifier: MIT */
/* The device model behind its registers, driven as a driver would. */
#ifndef GOLDEN_HOST_H
#define GOLDEN_HOST_H

#include <pthread.h>
#include <stdatomic.h>

#include "space.h"

struct cm_device;

/* A core's queue, driver side. */
struct host_queue {
	uint32_t window;	/* register offsets */
	uint32_t block;
	uint32_t tail;		/* next packet */
	uint32_t head;		/* next completion record */
	uint32_t seq;
	uint64_t fence;
	uint64_t job_cycles_max;
	struct cnnacc_core_entry entry;	/* of the discovery table */
};

/**
 * struct host_job - a packet, whose fence the host fills in, and its completion record.
 * @acks: number of times that an event suspended the program
 * @trace: core_trace() of PC and EVENT at each of them
 */
struct host_job {
	unsigned int core;
	struct cnnacc_packet *packet;
	struct cnnacc_completion *completion;
	uint32_t acks, trace;
};

struct host {
	pthread_mutex_t lock;	/* for calls into the model from several threads */
	struct cm_device *dev;
	struct image image;
	uint8_t *rings;		/* RAM of the driver, not of the jobs */
	struct prng prng;
	uint64_t time;
	atomic_int mapped;	/* live DMA mappings */
	const char *cores;
	const char *simd;	/* NULL: any that this machine has */
	unsigned int simd_count;	/* that this machine has */
	void *state;		/* buffer to migrate in mid-job; NULL: never migrate */
	uint64_t moves;
	unsigned int moves_left;	/* of the running job */
	unsigned int core_count;
	struct host_queue queue[CNNACC_MAX_CORES];
};

/* A device of @cores, queues enabled; ends the process if there is none. */
void host_open(struct host *host, const char *cores, const char *simd);
/* Does this machine have the vectors @simd, asked of a device of @cores? */
bool host_has_simd(const char *cores, const char *simd);
void host_close(struct host *host);
uint32_t host_read(struct host *host, uint32_t offset);
uint64_t host_read64(struct host *host, uint32_t offset);
/* Write INVALIDATE and wait for it; false if it does not complete. */
bool host_invalidate(struct host *host, uint32_t value);
/*
 * Run a job to its completion record, or jobs on several cores at once, with a thread for
 * each core.  Return NULL, or a text that says what is wrong with the queue.
 */
const char *host_run(struct host *host, struct host_job *job);
const char *host_run_together(struct host *host, struct host_job *jobs, unsigned int count);
/* Core reset, and the queue enabled again; false if the reset does not end. */
bool host_reset_core(struct host *host, unsigned int core);

#endif /* GOLDEN_HOST_H */
