/* SPDX-License-Identifier: MIT */
/* Threads that share the work of operators on the CPU. */
#ifndef CNNRT_TEAM_H
#define CNNRT_TEAM_H

#include "ops/cpu.h"

/* So many threads compute at most, the caller's among them. */
#define RT_TEAM_MAX	8

struct rt_team;

/* NULL: no memory. Its threads, one for each CPU of the process, start with the first work. */
struct rt_team *rt_team_create(void);
void rt_team_free(struct rt_team *team);
/* What cnn_cpu_run takes; one thread at a time may use it. */
struct cnn_workers *rt_team_workers(struct rt_team *team);
/* Work will come soon, and again and again: its threads look out for it, for a while. */
void rt_team_wake(struct rt_team *team);
/* None will come for some time. */
void rt_team_rest(struct rt_team *team);

#endif
