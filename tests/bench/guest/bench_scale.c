// SPDX-License-Identifier: MIT
/*
 * bench_scale: what a no-op job costs as there is more of everything; prints figures.  What is
 * compared takes turns.
 */
#include <stdlib.h>

#include <xf86drm.h>

#include "bench.h"

#define ROUNDS		5
#define SLICES		8	/* turns in a round */
#define JOBS		2000	/* per slice, but for one of queued jobs */
#define QUEUED		10000
#define FEW		10
#define DEPTH		32
#define PRIVATE		1000
#define SHARED		128	/* max_bos */
#define CONTEXTS	64
#define PER_FILE	32
#define PAGES_VA	0x20000000u

static struct jobs *new_jobs(int fd)
{
	struct jobs *j = malloc(sizeof(*j));

	if (!j)
		bail("memory");
	jobs_open(j, fd);
	return j;
}

static uint32_t new_page(int fd, uint32_t flags, uint32_t vm)
{
	struct drm_cnnacc_bo_create create = {
		.size = CNNACC_PAGE_SIZE, .flags = flags, .vm_id = vm,
	};

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create))
		bail("BO_CREATE");
	return create.handle;
}

/* ---- private buffers ------------------------------------------------------------------- */

static void map_private(struct jobs *j, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t handle = new_page(j->env.fd, DRM_CNNACC_BO_PRIVATE, j->env.vm);

		if (kmd_map(j->env.fd, j->env.vm, handle,
			    DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
			    PAGES_VA + i * CNNACC_PAGE_SIZE, CNNACC_PAGE_SIZE))
			bail("VM_BIND");
	}
}

static void measure_private(int fd)
{
	struct jobs *one = new_jobs(fd), *many = new_jobs(fd);

	map_private(one, 1);
	map_private(many, PRIVATE);
	for (int i = 0; i < ROUNDS; i++) {
		double few = 0, lots = 0;

		for (int k = 0; k < SLICES; k++) {
			few += 1 / jobs_rate(one, DEPTH, JOBS);
			lots += 1 / jobs_rate(many, DEPTH, JOBS);
		}
		bench_figure("f.private", lots / few);
	}
	jobs_close(one);
	jobs_close(many);
}

/* ---- shared buffers -------------------------------------------------------------------- */

static double submit_with(struct jobs *j, struct drm_cnnacc_bo_ref *bos, uint32_t count)
{
	double start = kmd_seconds();

	for (int i = 0; i < JOBS / 10; i++) {
		jobs_submit(j, 1, bos, count);
		while (j->submitted - j->done >= DEPTH)
			jobs_reap(j);
	}
	while (j->done < j->submitted)
		jobs_reap(j);
	return (kmd_seconds() - start) * 1e9 / (JOBS / 10);
}

static void measure_shared(int fd)
{
	struct drm_cnnacc_bo_ref bos[SHARED];
	struct jobs *j = new_jobs(fd);

	for (int i = 0; i < SHARED; i++)
		bos[i] = (struct drm_cnnacc_bo_ref){
			.handle = new_page(fd, 0, 0), .flags = DRM_CNNACC_BO_REF_READ,
		};
	for (int i = 0; i < ROUNDS; i++) {
		double none = 0, all = 0;

		for (int k = 0; k < SLICES; k++) {
			none += submit_with(j, bos, 0) / SLICES;
			all += submit_with(j, bos, SHARED) / SLICES;
		}
		bench_figure("f.shared_ns", (all - none) / SHARED);
		bench_figure("f.submit_ns", none);
	}
	for (int i = 0; i < SHARED; i++)
		drmCloseBufferHandle(fd, bos[i].handle);
	jobs_close(j);
}

/* ---- contexts -------------------------------------------------------------------------- */

struct contexts {
	struct jobs *jobs[CONTEXTS];
	uint32_t syncobj[CONTEXTS];
	uint32_t count;
};

static void open_contexts(struct contexts *c, const int *fd, uint32_t count)
{
	c->count = count;
	for (uint32_t i = 0; i < count; i++)
		c->jobs[i] = new_jobs(fd[i / PER_FILE]);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		c->syncobj[i] = kmd_syncobj(c->jobs[i % count]->env.fd);
}

static void close_contexts(struct contexts *c)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		drmSyncobjDestroy(c->jobs[i % c->count]->env.fd, c->syncobj[i]);
	for (uint32_t i = 0; i < c->count; i++)
		jobs_close(c->jobs[i]);
}

/* A job in each context, or as many in those that there are; ns per job. */
static double run_contexts(struct contexts *c)
{
	uint32_t per_wait = CONTEXTS / 2;
	double start = kmd_seconds();
	int rounds = JOBS / CONTEXTS / 4;

	for (int round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < CONTEXTS; i++)
			jobs_submit_one(c->jobs[i % c->count], c->syncobj[i]);
		for (uint32_t i = 0; i < CONTEXTS; i += per_wait)
			if (drmSyncobjWait(c->jobs[i % c->count]->env.fd, &c->syncobj[i], per_wait,
					   INT64_MAX, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL, NULL))
				bail("waiting for jobs");
	}
	return (kmd_seconds() - start) * 1e9 / (rounds * CONTEXTS);
}

static void measure_contexts(const int fd[3])
{
	struct contexts one, many;

	open_contexts(&one, fd, 1);
	open_contexts(&many, fd + 1, CONTEXTS);
	for (int i = 0; i < ROUNDS; i++) {
		double alone = 0, together = 0;

		for (int k = 0; k < SLICES; k++) {
			alone += run_contexts(&one);
			together += run_contexts(&many);
		}
		bench_figure("f.contexts", together / alone);
		bench_figure("f.context_job_ns", alone / SLICES);
	}
	close_contexts(&one);
	close_contexts(&many);
}

/* ---- queued jobs ----------------------------------------------------------------------- */

/* So many jobs are submitted, then waited for; ns per job. */
static double run_queued(struct jobs *j, uint32_t count)
{
	double start = kmd_seconds();

	for (uint32_t i = 0; i < count; i += FEW)
		jobs_submit(j, FEW, NULL, 0);
	jobs_wait_all(j);
	return (kmd_seconds() - start) * 1e9 / count;
}

static void measure_queued(int fd)
{
	struct jobs *j = new_jobs(fd);

	for (int i = 0; i < ROUNDS; i++) {
		double few = 0;

		for (int k = 0; k < QUEUED / FEW / 2; k++)
			few += run_queued(j, FEW);
		few /= QUEUED / FEW / 2;
		bench_figure("f.queued", run_queued(j, QUEUED) / few);
	}
	jobs_close(j);
}

int main(void)
{
	int fd[3] = { kmd_open(), kmd_open(), kmd_open() };

	measure_private(fd[0]);
	measure_shared(fd[0]);
	measure_queued(fd[0]);
	measure_contexts(fd);
	return 0;
}
