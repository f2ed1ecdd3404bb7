/* SPDX-License-Identifier: MIT */
/*
 * cnnrt_run(), and the jobs that it keeps for the next call: to make one takes longer than to run a
 * small network. There is one for each thread that ran the program at the same time, until its
 * context or its program is freed, or a new job needs its memory.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* Of all contexts, because those who free a program do not name them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cnnrt_job *kept;

static void lock_kept(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_kept(void)
{
	pthread_mutex_unlock(&lock);
}

/* They stay the parent's. */
static void forget_in_child(void)
{
	kept = NULL;
	pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor)) watch_forks(void)
{
	pthread_atfork(lock_kept, unlock_kept, forget_in_child);
}

static bool belongs_to(const struct cnnrt_job *job, const struct rt_job_owner *owner)
{
	return (!owner->dev || job->dev == owner->dev) && (!owner->ctx || job->ctx == owner->ctx) &&
	       (!owner->program || job->program == owner->program);
}

/* With the lock held: the first job of an owner, which is kept no more; NULL: there is none. */
static struct cnnrt_job *remove_first(const struct rt_job_owner *owner)
{
	struct cnnrt_job **link = &kept, *job;

	while (*link && !belongs_to(*link, owner))
		link = &(*link)->next_kept;
	job = *link;
	if (job)
		*link = job->next_kept;
	return job;
}

/* The lock is held meanwhile, so that the owners of a job are there until it is freed. */
unsigned int rt_kept_jobs_free(const struct rt_job_owner *owner)
{
	struct cnnrt_job *job;
	unsigned int count = 0;

	pthread_mutex_lock(&lock);
	for (; (job = remove_first(owner)); count++)
		cnnrt_job_free(job);
	pthread_mutex_unlock(&lock);
	return count;
}

static int take_job(struct cnnrt_context *ctx, const struct cnnrt_program *program,
		    struct cnnrt_job **job, struct cnnrt_error *err)
{
	const struct rt_job_owner owner = { .ctx = ctx, .program = program };

	pthread_mutex_lock(&lock);
	*job = remove_first(&owner);
	pthread_mutex_unlock(&lock);
	return *job ? CNNRT_OK : cnnrt_job_create(ctx, program, job, err);
}

static void keep_job(struct cnnrt_job *job)
{
	pthread_mutex_lock(&lock);
	job->next_kept = kept;
	kept = job;
	pthread_mutex_unlock(&lock);
}

/* The caller has no memory for outputs whose shape a run finds. */
static int check_known(const struct cnnrt_program *p, struct cnnrt_error *err)
{
	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_OUTPUT); i++)
		if (p->graph->values[rt_io_value(p, CNNRT_OUTPUT, i)].t.rank < 0)
			return rt_fail(err, CNNRT_EUNSUPPORTED, "output %u: its shape is only known "
				       "after a run: use a job", i);
	return CNNRT_OK;
}

static int run_once(struct cnnrt_job *job, const void *const *inputs, void *const *outputs,
		    struct cnnrt_error *err)
{
	const struct cnnrt_program *p = job->program;
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	void *mem;
	int ret = CNNRT_OK;

	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_INPUT) && !ret; i++) {
		if (job->values[rt_io_value(p, CNNRT_INPUT, i)].location == RT_AT_GRAPH)
			continue;
		ret = cnnrt_job_map(job, CNNRT_INPUT, i, &info, &mem, err);
		if (!ret && info.size && !inputs[i])
			ret = rt_fail(err, CNNRT_EINVAL, "input %u: no data given", i);
		if (!ret && info.size)
			memcpy(mem, inputs[i], info.size);
	}
	ret = ret ?: cnnrt_job_submit(job, -1, NULL, err) ?: cnnrt_job_wait(job, -1, err);
	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_OUTPUT) && !ret; i++) {
		ret = cnnrt_job_map(job, CNNRT_OUTPUT, i, &info, &mem, err);
		if (!ret && info.size && !outputs[i])
			ret = rt_fail(err, CNNRT_EINVAL, "output %u: no memory given", i);
		if (!ret && info.size)
			memcpy(outputs[i], mem, info.size);
	}
	return ret;
}

/* A job that failed is not kept: its queues may be banned. */
int cnnrt_run(struct cnnrt_context *ctx, const struct cnnrt_program *program,
	      const void *const *inputs, void *const *outputs, struct cnnrt_error *err)
{
	struct cnnrt_job *job;
	int ret = rt_check_process(ctx->dev, err) ?: check_known(program, err);

	if (!ret)
		ret = take_job(ctx, program, &job, err);
	if (ret)
		return ret;
	ret = run_once(job, inputs, outputs, err);
	if (ret)
		cnnrt_job_free(job);
	else
		keep_job(job);
	return ret;
}

void cnnrt_context_destroy(struct cnnrt_context *ctx)
{
	if (!ctx || !rt_is_ours(ctx->dev))
		return;
	rt_kept_jobs_free(&(struct rt_job_owner){ .ctx = ctx });
	free(ctx);
}

void cnnrt_program_free(struct cnnrt_program *p)
{
	if (!p)
		return;
	rt_kept_jobs_free(&(struct rt_job_owner){ .program = p });
	rt_program_free(p);
}
