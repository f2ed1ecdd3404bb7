// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"

/**
 * DOC: balance
 *
 * Cores are equal if a program for one runs on the other with the same result: their discovery
 * entries differ in nothing but the addresses and the size of their registers.  A job with
 * DRM_CNNACC_JOB_ANY_EQUAL runs on the least loaded of the cores that are equal to its own.
 *
 * The core is chosen when the job is submitted.  From there on the job is like one that user space
 * has sent to that core: its fence, statistics, coredump and recovery know no difference.  A
 * context needs no entity but its one per core, so jobs that it sends to a core by index stay in
 * order with those that the driver sends there.
 *
 * The scheduler's own choice among several run queues is not used.  It counts entities, so idle
 * contexts weigh as much as jobs, and it keeps a context on one core while a job of it is queued.
 *
 * The load of a core is the sum of the cycle limits of the jobs that were submitted to it and have
 * not ended, of the priority of the context or higher.  A core that is being reset is chosen only
 * if all are.
 */

/* Longer jobs count as such; the sum over all jobs that can be queued fits into 64 bits. */
#define CNNACC_BALANCE_MAX	U32_MAX

static bool cnnacc_balance_equal(const struct drm_cnnacc_core_info *a,
				 const struct drm_cnnacc_core_info *b)
{
	return a->type == b->type && a->version == b->version &&
	       a->program_max == b->program_max && a->job_cycles_max == b->job_cycles_max &&
	       !memcmp(a->param, b->param, sizeof(a->param)) &&
	       !memcmp(a->name, b->name, sizeof(a->name));
}

/* Finds the equal cores of a device whose cores have been created. */
void cnnacc_balance_init(struct cnnacc_device *cdev)
{
	struct cnnacc_core *core;
	unsigned int i, k;

	spin_lock_init(&cdev->balance_lock);
	for (i = 0; i < cdev->core_count; i++) {
		core = cdev->cores[i];
		core->last_ctx = CNNACC_HW_IDS;
		core->equal = 0;
		for (k = 0; k < cdev->core_count; k++)
			if (cnnacc_balance_equal(&core->info, &cdev->cores[k]->info))
				core->equal |= BIT(k);
	}
}

static u64 cnnacc_balance_load(const struct cnnacc_core *core, u32 priority)
{
	u64 load = 0;

	for (; priority < CNNACC_PRIORITIES; priority++)
		load += atomic64_read(&core->load[priority]);
	/* Not ready: it is being reset.  The value may be stale, which does no harm. */
	return READ_ONCE(core->ready) ? load : load | BIT_ULL(63);
}

/* Adds a job, which is not charged yet, to the load of its core. */
void cnnacc_balance_charge(struct cnnacc_job *job)
{
	job->load = min_t(u64, job->cycle_limit, CNNACC_BALANCE_MAX);
	atomic64_add(job->load, &job->core->load[job->ctx->priority]);
	atomic64_add(job->load, &job->core->charged);
	WRITE_ONCE(job->core->last_ctx, job->ctx->vm->hw_id);
}

/* Takes a job that ends off the load of its core, if it is charged. */
void cnnacc_balance_discharge(struct cnnacc_job *job)
{
	if (job->load)
		atomic64_sub(job->load, &job->core->load[job->ctx->priority]);
	job->load = 0;
}

/* Is core @a the better choice for the job?  The two are equal cores. */
static bool cnnacc_balance_better(const struct cnnacc_core *a, const struct cnnacc_core *b,
				  const struct cnnacc_ctx *ctx)
{
	u64 load_a = cnnacc_balance_load(a, ctx->priority);
	u64 load_b = cnnacc_balance_load(b, ctx->priority);
	bool ours_a = READ_ONCE(a->last_ctx) == ctx->vm->hw_id;
	bool ours_b = READ_ONCE(b->last_ctx) == ctx->vm->hw_id;

	if (load_a != load_b)
		return load_a < load_b;
	/* A core is cleared before it runs another context, which takes time. */
	if (ours_a != ours_b)
		return ours_a;
	return atomic64_read(&a->charged) < atomic64_read(&b->charged);
}

/**
 * cnnacc_balance_choose() - Choose the least loaded core for a job, and charge the job to it
 * @job: job whose core is one of the equal ones; not yet charged
 *
 * Among cores with the same load, takes one that had its last job from the same context, else the
 * one that was charged least since the driver was bound.
 */
void cnnacc_balance_choose(struct cnnacc_job *job)
{
	struct cnnacc_device *cdev = job->ctx->cdev;
	const unsigned long equal = job->core->equal;
	unsigned int i;

	/* Two contexts must not take the same idle core. */
	spin_lock(&cdev->balance_lock);
	for_each_set_bit(i, &equal, cdev->core_count)
		if (cnnacc_balance_better(cdev->cores[i], job->core, job->ctx))
			job->core = cdev->cores[i];
	cnnacc_balance_charge(job);
	spin_unlock(&cdev->balance_lock);
}
