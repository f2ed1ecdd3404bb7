/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Threads that help a device's cores compute. */
#ifndef CM_WORKERS_H
#define CM_WORKERS_H

#include <stdbool.h>

/* Work that takes one thread less than this is not worth another one. */
#ifndef CM_MIN_PART_NS
#define CM_MIN_PART_NS	10000
#endif

struct cm_workers;

/**
 * cm_workers_create() - threads for cm_workers_run().
 * @threads: how many, the caller of run included; fewer if the host gives no more
 *
 * Return: NULL if there is no memory.
 */
struct cm_workers *cm_workers_create(unsigned int threads);
/* No cm_workers_run() may be in progress. */
void cm_workers_destroy(struct cm_workers *workers);

/**
 * cm_workers_run() - calls @fn for parts 0..@parts-1, in any order and beside each other.
 * @parts: as many as there are threads, at most
 * @fn: @seat is below the number of threads, and no two calls of one run that
 *	are in progress have the same
 *
 * Part p is for seat p, or the caller: what part p wrote in one run, part p of
 * the next should read, or the host's processors fight for the memory.
 * Returns when all have returned.  A run that finds the threads busy with another
 * core's does all parts itself; so does one without threads that are awake in time.
 */
void cm_workers_run(struct cm_workers *workers,
		     void (*fn)(void *opaque, unsigned int part, unsigned int seat),
		     void *opaque, unsigned int parts);

/**
 * cm_workers_start() - calls @fn beside the caller, which goes on: once for each other thread.
 * @fn: its seat is not 0, and @part the same
 *
 * cm_workers_stop() has to follow in the same thread.  Threads that are busy with a run of
 * another core's, or that there are not: false, nothing has been started.
 */
bool cm_workers_start(struct cm_workers *workers,
		       void (*fn)(void *opaque, unsigned int part, unsigned int seat),
		       void *opaque);
/** cm_workers_stop() - lets no more calls begin, and returns when those that have returned. */
void cm_workers_stop(struct cm_workers *workers);

/** cm_workers_rest() - threads without a part sleep at once instead of looking out for one. */
void cm_workers_rest(struct cm_workers *workers);

#endif
