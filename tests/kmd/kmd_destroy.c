// SPDX-License-Identifier: MIT
/*
 * kmd_destroy [ROUNDS]: contexts that are destroyed on one processor while the scheduler starts
 * their jobs on another.
 *
 * In Linux 6.12 drm_sched_entity_pop_job() may put an entity back into the run queue that
 * drm_sched_entity_fini() has just taken out.  Unless the driver prevents that, the scheduler reads
 * the freed context later, and a kernel with KASAN says so.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <xf86drm.h>

#include "kmd.h"

#define ROUNDS		100
#define VICTIMS		4	/* contexts that are destroyed in a round */
#define QUEUED_MAX	12	/* jobs of each */
#define NOP_CYCLES	1000u	/* few, so that the scheduler is given all jobs of a context */
#define LOOPS_MAX	20000000u	/* of the job that the others wait for */
#define SPINS_MAX	256	/* queries of a fence before contexts are destroyed */

struct victim {
	uint32_t ctx;
	uint32_t first, last;	/* syncobjs of the first and the last job */
};

static struct kmd_env blocker;
static struct drm_cnnacc_task nop;
static uint32_t loops = 1000000;
static int queued = 6;
static unsigned int spins;

static bool submit_nop(uint32_t ctx, uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_job job = {
		.core = blocker.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &nop),
		.syncs = DRM_CNNACC_OBJ_ARRAY(out ? 1 : 0, &sync),
	};

	return !kmd_submit_jobs(blocker.fd, ctx, &job, 1);
}

/* Queues jobs, each in a SUBMIT of its own: else the driver would start them together. */
static bool queue_nops(struct victim *v)
{
	bool good;

	v->ctx = kmd_ctx_in(blocker.fd, blocker.vm);
	v->first = kmd_syncobj(blocker.fd);
	v->last = kmd_syncobj(blocker.fd);
	good = submit_nop(v->ctx, v->first);
	for (int i = 2; i < queued; i++)
		good &= submit_nop(v->ctx, 0);
	return submit_nop(v->ctx, v->last) && good;
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bail("sched_setaffinity");
}

/* Queues all jobs behind a long one, which takes longer in the next round if it has ended by then. */
static bool queue_all(struct victim *victims, uint32_t out)
{
	bool good = !kmd_submit(&blocker, kmd_program_delay(&blocker, loops), 0, out);

	for (int i = 0; i < VICTIMS; i++)
		good &= queue_nops(&victims[i]);
	if (kmd_fence_status(blocker.fd, out) != -EBUSY && loops < LOOPS_MAX)
		loops *= 2;
	return good;
}

/* 0: the job has run, -ECANCELED: it was canceled. */
static int end_of(uint32_t syncobj)
{
	int ret = kmd_wait(blocker.fd, syncobj);

	drmSyncobjDestroy(blocker.fd, syncobj);
	return ret;
}

/* Aims the next round: it waits longer if all came too early, less or for more jobs if too late. */
static void aim(unsigned int early, unsigned int late)
{
	if (early == VICTIMS && spins < SPINS_MAX)
		spins = 2 * spins + 1;
	else if (late == VICTIMS && spins)
		spins /= 2;
	else if (late == VICTIMS && queued < QUEUED_MAX)
		queued *= 2;
}

/*
 * The scheduler starts jobs on the processor on which the one before them was submitted: all of them
 * on the first.  Counts contexts that are destroyed between their first job and their last.
 */
static bool destroy_round(unsigned int *between)
{
	unsigned int early = 0, late = 0;
	uint32_t out = kmd_syncobj(blocker.fd);
	struct victim victims[VICTIMS];
	int first, last;
	bool good;

	run_on(0);
	good = queue_all(victims, out);
	run_on(1);
	while (kmd_fence_status(blocker.fd, out) == -EBUSY)
		;
	for (unsigned int i = 0; i < spins; i++)
		kmd_fence_status(blocker.fd, out);
	for (int i = 0; i < VICTIMS; i++)
		good &= !kmd_ctx_destroy(blocker.fd, victims[i].ctx);
	for (int i = 0; i < VICTIMS; i++) {
		first = end_of(victims[i].first);
		last = end_of(victims[i].last);
		good &= (!first || first == -ECANCELED) && (last == -ECANCELED || !(first | last));
		early += !!first;
		late += !last;
	}
	*between += VICTIMS - early - late;
	aim(early, late);
	/* How the long job ends does not matter: on a busy host the watchdog may take it for hung. */
	end_of(out);
	return good;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : ROUNDS, between = 0, bad = 0;
	unsigned int round = 0;
	struct kmd_left before = kmd_left();

	blocker = kmd_env(kmd_open());
	nop = kmd_task_nop(&blocker);
	nop.cycle_limit = NOP_CYCLES;
	for (; round < rounds || (!between && round < 10 * rounds); round++)
		bad += !destroy_round(&between);
	ok(!bad, "contexts are destroyed, and each of their jobs runs or is canceled");
	ok(between > 0, "%u of %u contexts between their first job and their last", between,
	   round * VICTIMS);
	ok_ret(kmd_run(&blocker, kmd_program_nop(&blocker)), 0, "then a job of another context runs");
	kmd_env_free(&blocker);
	close(blocker.fd);
	kmd_check_left(before);
	return done_testing();
}
