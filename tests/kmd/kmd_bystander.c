// SPDX-License-Identifier: MIT
/*
 * kmd_bystander: effect of a device reset on jobs of others, on another core or behind the job that
 * hangs.  For a device with two cores whose core reset does not end (fault-injection=reset), so
 * that a failed job on one core leads to a reset of the device.
 */
#include <errno.h>

#include <xf86drm.h>

#include "kmd.h"

/* The driver waits 1 s for the core reset, then drains the other cores for up to 0.5 s. */
#define DRAIN_S		1.0
#define DRAINED_S	1.2
#define LONGER_S	4.0
#define PROBE_LOOPS	20000000u
#define NOP_CYCLES	1000u	/* few, so that several jobs are in the ring */

static struct kmd_env guilty, other;
static double loops_per_second;

/* Fence error of a program that runs while another core has to be reset. */
static int run_beside(uint32_t length, uint32_t flags)
{
	uint32_t out = kmd_syncobj(other.fd);
	int ret = kmd_submit_tasks(&other, length, 1, flags, out);

	if (ret)
		bail("SUBMIT");
	kmd_runs(&other, out);
	ok_ret(kmd_run(&guilty, kmd_program_illegal(&guilty)), -EINVAL, "a job fails");
	ret = kmd_wait(other.fd, out);
	drmSyncobjDestroy(other.fd, out);
	return ret;
}

static int run_long(double seconds, uint32_t flags)
{
	return run_beside(kmd_program_delay(&other, (uint32_t)(seconds * loops_per_second)), flags);
}

static uint64_t resets(void)
{
	struct drm_cnnacc_dev_info info;

	kmd_dev_info(other.fd, &info);
	return info.reset_count;
}

static struct drm_cnnacc_ctx_query query(void)
{
	return kmd_ctx_query(other.fd, other.ctx);
}

/*
 * A job that still runs when the drain begins and ends before its timeout.  The number of loops
 * for that depends on the load of the host.
 */
static bool run_drained(void)
{
	double seconds = DRAINED_S, start, took;

	for (int tries = 0; tries < 30; tries++) {
		start = kmd_seconds();
		if (run_long(seconds, 0)) {
			seconds *= 0.85;
			continue;
		}
		took = kmd_seconds() - start;
		if (took >= DRAIN_S)
			return true;
		seconds *= DRAINED_S / took;
	}
	return false;
}

/* A queue that is stopped does not start its jobs: the first is taken for the one that hangs. */
static void test_behind(void)
{
	uint32_t hung = kmd_syncobj(guilty.fd), behind = kmd_syncobj(other.fd);
	struct kmd_env same = other;
	struct drm_cnnacc_core_info core;
	uint32_t lost = query().reset_jobs;

	same.core = guilty.core;
	kmd_stay_awake(true);
	kmd_core_info(guilty.fd, guilty.core, &core);
	kmd_poke(core.queue_offset + CNNACC_QREG_CTRL, 0);
	ok_ret(kmd_submit(&guilty, kmd_program_nop(&guilty), NOP_CYCLES, hung), 0,
	       "a job on a queue that is stopped");
	ok_ret(kmd_submit(&same, kmd_program_nop(&same), NOP_CYCLES, behind), 0,
	       "and one of another file behind it");
	ok_ret(kmd_wait(guilty.fd, hung), -ETIMEDOUT, "the first hangs");
	ok_ret(kmd_wait(other.fd, behind), 0, "the other had not started, and runs");
	ok(query().reset_jobs == lost && !query().failed_jobs, "and nothing is told to its context");
	kmd_stay_awake(false);
	drmSyncobjDestroy(guilty.fd, hung);
	drmSyncobjDestroy(other.fd, behind);
}

int main(void)
{
	uint64_t before;
	double start;

	guilty = kmd_env(kmd_open());
	other = kmd_env(kmd_open());
	guilty.core = 0;
	other.core = 1;
	start = kmd_seconds();
	ok_ret(kmd_run(&other, kmd_program_delay(&other, PROBE_LOOPS)), 0, "a job");
	loops_per_second = PROBE_LOOPS / (kmd_seconds() - start);
	before = resets();

	ok(run_drained(), "one on another core that is about to end is let finish");
	ok(resets() > before, "before the device is reset");

	before = query().reset_jobs;
	ok_ret(run_beside(kmd_program_endless(&other), 0), -ECANCELED, "one that is not is lost");
	ok(query().state == DRM_CNNACC_CTX_INNOCENT_RESET && query().reset_jobs == before + 1 &&
	   !query().failed_jobs, "and its context is told that it is innocent");
	ok_ret(run_long(LONGER_S, DRM_CNNACC_JOB_RESTARTABLE), 0, "a restartable one is run again");
	ok(query().reset_jobs == before + 1, "and not counted as lost");
	ok_ret(kmd_run(&other, kmd_program_nop(&other)), 0, "and so is the next");
	test_behind();
	return done_testing();
}
