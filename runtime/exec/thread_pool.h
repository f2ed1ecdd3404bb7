/* SPDX-License-Identifier: MIT */
/* Threads that share the work of operators on the CPU. */
#ifndef CNNRT_THREAD_POOL_H
#define CNNRT_THREAD_POOL_H

#include "ops/cpu.h"

/* The most threads that compute at once, the caller included. */
#define RT_THREAD_POOL_MAX	8

struct rt_thread_pool;

/*
 * NULL: no memory. The threads, with the caller one for each CPU of the process's affinity mask,
 * are created by the first call of run.
 */
struct rt_thread_pool *rt_thread_pool_create(void);
void rt_thread_pool_free(struct rt_thread_pool *pool);
/* For cnn_cpu_run; one thread at a time may use it. */
struct cnn_workers *rt_thread_pool_workers(struct rt_thread_pool *pool);
/* Operators follow: wakes the threads, which spin between them for a while before they sleep. */
void rt_thread_pool_wake(struct rt_thread_pool *pool);
/* No operator follows for now: the threads may sleep at once. */
void rt_thread_pool_idle(struct rt_thread_pool *pool);

#endif
