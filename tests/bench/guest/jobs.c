// SPDX-License-Identifier: MIT
#include <string.h>

#include <xf86drm.h>

#include "bench.h"

#define MAX_AT_ONCE	64
#define NOP_CYCLES	2500	/* more than a NOP can take */

static struct drm_cnnacc_task short_task(const struct jobs *j)
{
	struct drm_cnnacc_task task = kmd_task(j->length);

	task.cycle_limit = NOP_CYCLES;
	return task;
}

void jobs_open(struct jobs *j, int fd)
{
	memset(j, 0, sizeof(*j));
	j->env = kmd_env(fd);
	j->length = kmd_program_nop(&j->env);
	j->binary = kmd_syncobj(fd);
	j->timeline = kmd_syncobj(fd);
}

void jobs_close(struct jobs *j)
{
	drmSyncobjDestroy(j->env.fd, j->binary);
	drmSyncobjDestroy(j->env.fd, j->timeline);
	kmd_env_free(&j->env);
}

void jobs_submit(struct jobs *j, uint32_t count, struct drm_cnnacc_bo_ref *bos,
		 uint32_t bo_count)
{
	struct drm_cnnacc_task task = short_task(j);
	struct drm_cnnacc_sync syncs[MAX_AT_ONCE];
	struct drm_cnnacc_job jobs[MAX_AT_ONCE];

	for (uint32_t i = 0; i < count; i++) {
		syncs[i] = (struct drm_cnnacc_sync){
			.flags = DRM_CNNACC_SYNC_SIGNAL | DRM_CNNACC_SYNC_TIMELINE,
			.handle = j->timeline, .point = j->submitted + i + 1,
		};
		jobs[i] = (struct drm_cnnacc_job){
			.core = j->env.core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
			.syncs = DRM_CNNACC_OBJ_ARRAY(1, &syncs[i]),
			.bos = DRM_CNNACC_OBJ_ARRAY(bo_count, bos),
		};
	}
	if (kmd_submit_jobs(j->env.fd, j->env.ctx, jobs, count))
		bail("SUBMIT");
	j->submitted += count;
}

void jobs_submit_one(struct jobs *j, uint32_t syncobj)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = syncobj };
	struct drm_cnnacc_task task = short_task(j);
	struct drm_cnnacc_job job = {
		.core = j->env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	if (kmd_submit_jobs(j->env.fd, j->env.ctx, &job, 1))
		bail("SUBMIT");
}

static void wait_for(struct jobs *j, uint64_t point)
{
	if (drmSyncobjTimelineWait(j->env.fd, &j->timeline, &point, 1, kmd_deadline(60000),
				   DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL, NULL) ||
	    drmSyncobjQuery(j->env.fd, &j->timeline, &j->done, 1))
		bail("waiting for jobs");
	if (j->done < point || j->done > j->submitted)
		bail("a timeline that holds what it should not");
}

void jobs_reap(struct jobs *j)
{
	wait_for(j, j->done + 1);
}

void jobs_wait_all(struct jobs *j)
{
	wait_for(j, j->submitted);
}

void jobs_round_trip(void *jobs)
{
	struct jobs *j = jobs;

	jobs_submit_one(j, j->binary);
	if (drmSyncobjWait(j->env.fd, &j->binary, 1, INT64_MAX, 0, NULL))
		bail("waiting for a job");
}

double jobs_rate(struct jobs *j, uint32_t depth, uint64_t total)
{
	uint64_t end = j->done + total;
	double start = kmd_seconds();

	while (j->done < end) {
		uint64_t free = depth - (j->submitted - j->done), left = end - j->submitted;

		if (free > left)
			free = left;
		if (free)
			jobs_submit(j, (uint32_t)free, NULL, 0);
		jobs_reap(j);
	}
	return (double)total / (kmd_seconds() - start);
}
