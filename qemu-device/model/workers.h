/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Threads that help a device's cores compute. */
#ifndef CNN_WORKERS_H
#define CNN_WORKERS_H

#include <stdbool.h>

/* Work that takes one thread less than this is not worth another one. */
#ifndef CNN_SHARE_NS
#define CNN_SHARE_NS	10000
#endif

struct cnn_workers;

/**
 * cnn_workers_create() - threads for cnn_workers_run().
 * @threads: how many, the caller of run included; fewer if the host gives no more
 *
 * Return: NULL if there is no memory.
 */
struct cnn_workers *cnn_workers_create(unsigned int threads);
/* No cnn_workers_run() may be in progress. */
void cnn_workers_destroy(struct cnn_workers *workers);

/**
 * cnn_workers_run() - calls @fn for parts 0..@parts-1, in any order and beside each other.
 * @parts: as many as there are threads, at most
 * @fn: @seat is below the number of threads, and no two calls of one run that
 *	are in progress have the same
 *
 * Part p is for seat p, or the caller: what part p wrote in one run, part p of
 * the next should read, or the host's processors fight for the memory.
 * Returns when all have returned.  A run that finds the threads busy with another
 * core's does all parts itself; so does one without threads that are awake in time.
 */
void cnn_workers_run(struct cnn_workers *workers,
		     void (*fn)(void *opaque, unsigned int part, unsigned int seat),
		     void *opaque, unsigned int parts);

/**
 * cnn_workers_start() - calls @fn beside the caller, which goes on: once for each other thread.
 * @fn: its seat is not 0, and @part the same
 *
 * cnn_workers_stop() has to follow in the same thread.  Threads that are busy with a run of
 * another core's, or that there are not: false, nothing has been started.
 */
bool cnn_workers_start(struct cnn_workers *workers,
		       void (*fn)(void *opaque, unsigned int part, unsigned int seat),
		       void *opaque);
/** cnn_workers_stop() - lets no more calls begin, and returns when those that have returned. */
void cnn_workers_stop(struct cnn_workers *workers);

/** cnn_workers_rest() - threads without a part sleep at once instead of looking out for one. */
void cnn_workers_rest(struct cnn_workers *workers);

#endif
