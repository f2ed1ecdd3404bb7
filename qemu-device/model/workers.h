/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Threads that help a device's cores compute. */
#ifndef CM_WORKERS_H
#define CM_WORKERS_H

#include <stdbool.h>

/* A part should take at least this time: shorter ones cost more to start than they save. */
#ifndef CM_MIN_PART_NS
#define CM_MIN_PART_NS	10000
#endif

struct cm_workers;

/**
 * cm_workers_create() - create threads for cm_workers_run().
 * @threads: how many, including the caller of run; fewer if the host cannot create more
 *
 * Return: NULL if there is no memory.
 */
struct cm_workers *cm_workers_create(unsigned int threads);
/* No cm_workers_run() may be in progress. */
void cm_workers_destroy(struct cm_workers *workers);

/**
 * cm_workers_run() - call @fn for parts 0..@parts-1, in any order and concurrently.
 * @parts: at most the number of threads
 * @fn: @thread is the index of the calling thread; the caller of run has 0
 *
 * Part p is done by thread p or by the caller.  Part p should therefore read what part p of the
 * run before has written, so that cache lines do not move between processors.  Returns when all
 * calls have returned.  The caller does all parts itself if the threads are busy with another
 * core's run, and those parts whose threads do not wake up in time.
 */
void cm_workers_run(struct cm_workers *workers,
		    void (*fn)(void *opaque, unsigned int part, unsigned int thread),
		    void *opaque, unsigned int parts);

/**
 * cm_workers_start() - start one call of @fn on each other thread; does not wait for them.
 * @fn: @thread is not 0, and @part is equal to it
 *
 * The same thread must call cm_workers_stop() afterwards.
 *
 * Return: false, with nothing started, if there are no other threads or another core's run
 * uses them.
 */
bool cm_workers_start(struct cm_workers *workers,
		      void (*fn)(void *opaque, unsigned int part, unsigned int thread),
		      void *opaque);
/** cm_workers_stop() - prevent further calls, and wait until those in progress have returned. */
void cm_workers_stop(struct cm_workers *workers);

/** cm_workers_idle() - let threads without a part sleep immediately instead of polling. */
void cm_workers_idle(struct cm_workers *workers);

#endif
