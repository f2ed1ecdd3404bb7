/* SPDX-License-Identifier: MIT */
/* Threads that share the work of operators on the CPU. */
#ifndef CNNRT_THREAD_POOL_H
#define CNNRT_THREAD_POOL_H

#include "ops/cpu.h"

/* So many threads compute at most, the caller's among them. */
#define RT_THREAD_POOL_MAX 8

struct rt_thread_pool;

/* NULL: no memory. Its threads, one for each CPU of the process, start with the first work. */
struct rt_thread_pool *rt_thread_pool_create(void);
void rt_thread_pool_free(struct rt_thread_pool *team);
/* What cnn_cpu_run takes; one thread at a time may use it. */
struct cnn_workers *rt_thread_pool_workers(struct rt_thread_pool *team);
/* Work will come soon, and again and again: its threads look out for it, for a while. */
void rt_thread_pool_wake(struct rt_thread_pool *team);
/* None will come for some time. */
void rt_thread_pool_idle(struct rt_thread_pool *team);

#endif
