// SPDX-License-Identifier: MIT
/* SUBMIT with jobs that are mostly valid and always end soon. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <xf86drm.h>

#define JOBS	4	/* at most */
#define TASKS	4
#define SYNCS	3
#define BOS	3
#define LIMIT	30000u	/* cycles of a task; no program needs more */

struct jobs {
	struct drm_cnnacc_job jobs[JOBS];
	struct drm_cnnacc_task tasks[JOBS][TASKS];
	struct drm_cnnacc_sync syncs[JOBS][SYNCS];
	struct drm_cnnacc_bo_ref bos[JOBS][BOS];
};

static enum fuzz_program pick_program(struct fuzz_world *w)
{
	uint32_t r = fuzz_below(w, 64);

	return r < 30 ? FUZZ_NOP : r < 48 ? FUZZ_COPY : r < 58 ? FUZZ_DELAY :
	       r < 60 ? FUZZ_ENDLESS : r < 62 ? FUZZ_ILLEGAL : FUZZ_FAULT;
}

static void make_task(struct fuzz_world *w, struct drm_cnnacc_task *t)
{
	enum fuzz_program program = pick_program(w);

	t->program_va = fuzz_odd(w, KMD_PROGRAM_VA + program * 256);
	t->program_len = fuzz_odd(w, w->base->program_len[program]);
	if (fuzz_chance(w, 6)) {
		t->flags = DRM_CNNACC_TASK_STATS;
		t->stats_va = fuzz_odd(w, KMD_DATA_VA + fuzz_below(w, 256) * 64);
	}
	t->flags = fuzz_odd(w, t->flags);
	t->cycle_limit = 1 + fuzz_below(w, LIMIT);
	/* A limit above the maximum is refused; any other large one would delay other jobs. */
	if (fuzz_chance(w, 100))
		t->cycle_limit = UINT64_MAX - fuzz_below(w, 2);
}

static void make_sync(struct fuzz_world *w, unsigned int file, struct drm_cnnacc_sync *s)
{
	bool timeline = fuzz_chance(w, 3), wait = fuzz_chance(w, 3);

	/* Most syncobjs have no fence to wait for. */
	timeline &= !wait || fuzz_chance(w, 3);
	s->flags = wait ? DRM_CNNACC_SYNC_WAIT : DRM_CNNACC_SYNC_SIGNAL;
	s->flags |= timeline ? DRM_CNNACC_SYNC_TIMELINE : 0;
	s->flags = fuzz_odd(w, s->flags);
	s->handle = wait && !timeline && file == w->home ? w->signalled :
		    fuzz_id(w, &w->syncobjs, file);
	s->point = fuzz_odd(w, timeline ? 1 + fuzz_below(w, 6) : 0);
}

static struct drm_cnnacc_obj_array make_array(struct fuzz_world *w, const void *at, uint32_t stride,
					      uint32_t count)
{
	return (struct drm_cnnacc_obj_array){
		.stride = fuzz_odd(w, stride), .count = fuzz_odd(w, count),
		.array = fuzz_pointer(w, at),
	};
}

static void make_job(struct fuzz_world *w, unsigned int file, struct jobs *all, uint32_t n)
{
	uint32_t tasks = 1 + fuzz_below(w, TASKS), syncs = fuzz_below(w, SYNCS + 1);
	uint32_t bos = fuzz_chance(w, 3) ? fuzz_below(w, BOS + 1) : 0, i;
	struct drm_cnnacc_job *job = &all->jobs[n];

	for (i = 0; i < tasks; i++)
		make_task(w, &all->tasks[n][i]);
	for (i = 0; i < syncs; i++)
		make_sync(w, file, &all->syncs[n][i]);
	for (i = 0; i < bos; i++)
		all->bos[n][i] = (struct drm_cnnacc_bo_ref){
			fuzz_id(w, &w->bos, file), fuzz_odd(w, 1 + fuzz_below(w, 3)) };
	job->core = fuzz_odd(w, fuzz_below(w, w->base->core_count));
	job->flags = fuzz_odd(w, fuzz_below(w, 4));
	job->tasks = make_array(w, all->tasks[n], sizeof(all->tasks[n][0]), tasks);
	job->syncs = make_array(w, all->syncs[n], sizeof(all->syncs[n][0]), syncs);
	job->bos = make_array(w, all->bos[n], sizeof(all->bos[n][0]), bos);
}

void fuzz_submit(struct fuzz_world *w)
{
	unsigned int file = fuzz_file(w);
	uint32_t count = 1 + fuzz_below(w, JOBS), i;
	struct drm_cnnacc_submit submit = {
		.ctx_id = fuzz_id(w, &w->ctxs, file), .flags = fuzz_odd(w, 0),
	};
	struct jobs *all = calloc(1, sizeof(*all));

	if (!all)
		bail("calloc");
	for (i = 0; i < count; i++)
		make_job(w, file, all, i);
	submit.jobs = make_array(w, all->jobs, sizeof(all->jobs[0]), count);
	fuzz_ioctl(w, "SUBMIT", file, DRM_IOCTL_CNNACC_SUBMIT, &submit);
	free(all);
}
