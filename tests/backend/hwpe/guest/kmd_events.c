// SPDX-License-Identifier: MIT
/*
 * kmd_events [lost]: events of core hwpe.  Each round of a task with events adds 1 to an eventfd.
 * The statistics always count rounds.
 *
 * "lost" is for a device that loses interrupt messages: the driver's watchdog finds the events.  It
 * requires a watchdog_ms of at most 400.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <xf86drm.h>

#include "../hwpe_code.h"
#include "kmd.h"

#define SRAM2		CNNACC_HWPE_SRAM2
#define ROUND_BYTES	512u		/* eight AccRegs of 16 PEs */
#define STATS_OFFSET	(15u * CNNACC_PAGE_SIZE)
#define KEPT_ROUNDS	(STATS_OFFSET / ROUND_BYTES)
#define FMAP_BYTES	65536u
#define KERNEL_BYTES	262144u
#define FLOOD		20000u		/* more than the driver signals at once */
#define STORM		500000u
#define FEW		20u		/* interrupts of the job's end, and a margin */
#define LOST_ROUNDS	12u

/* CfgReg1 of K_count k. */
#define CFG1(kernel, type, k) \
	((kernel) | CNNACC_HWPE_##type << CNNACC_HWPE_CFG_TYPE_SHIFT | \
	 (uint32_t)(k) << CNNACC_HWPE_CFG_K_SHIFT)

/* A task on memories that are full of ones; sum: what each AccReg of a round then holds. */
struct layer {
	const char *name;
	uint32_t channels, cfg1, w, h;
	uint8_t one;		/* byte whose elements are all 1 */
	int32_t sum;
};

static const struct layer layers[] = {
	{ "1x1, one round", 1, CFG1(1, INT8, 1), 1, 1, 0x01, 8 },
	{ "1x1, row", 3, CFG1(1, INT8, 1), 1, 7, 0x01, 24 },
	{ "3x3, 32 channels", 3, CFG1(3, INT8, 2), 4, 5, 0x01, 72 },
	{ "3x3, 64 channels", 1, CFG1(3, UINT8, 4), 5, 3, 0x01, 24 },
	{ "5x5, EXP4", 5, CFG1(5, EXP4, 3), 3, 4, 0x11, 400 },
	{ "7x7, TER2", 7, CFG1(7, TER2, 1), 6, 9, 0x55, 1568 },
	{ "11x11, input layer", 5, CFG1(11, UINT8, 1) | CNNACC_HWPE_CFG_INPUT, 4, 4, 0x01, 440 },
	{ "3x3x3, interleaved", 0, CFG1(3, INT8, 2) | CNNACC_HWPE_CFG_INPUT | CNNACC_HWPE_CFG_333,
	  6, 4, 0x01, 27 },
	{ "1x1, 1000 rounds", 1, CFG1(1, INT8, 4), 10, 25, 0x01, 8 },
};

static uint32_t rounds_of(const struct layer *l)
{
	return l->w * l->h * (l->cfg1 >> CNNACC_HWPE_CFG_K_SHIFT);
}

/* The program of a layer; flags: CNNACC_SEQ_EVENTS or 0. */
static uint32_t program(struct kmd_env *env, const struct layer *l, uint32_t flags)
{
	uint32_t rounds = rounds_of(l), step = rounds <= KEPT_ROUNDS ? ROUND_BYTES : 0;
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_FILL, CNNACC_HWPE_FMAP0, l->one, 0, 1, FMAP_BYTES);
	SA(&a, CNNACC_SEQ_FILL, CNNACC_HWPE_FMAP1, l->one, 0, 1, FMAP_BYTES);
	SA(&a, CNNACC_SEQ_FILL, CNNACC_HWPE_KERNEL, l->one, 0, 1, KERNEL_BYTES);
	for (uint32_t i = 0; i < CNNACC_HWPE_ACCS; i += 2)
		sa_bases(&a, i, 64 * i, SRAM2 + 64 * i);
	sa_cfg(&a, 1024u << 16 | l->channels, l->cfg1);
	sa_mac(&a, l->w << 16 | l->h, 512u << 16 | 16);
	a.c[a.n - 1].op |= flags;
	SA(&a, CNNACC_SEQ_LOOP, 2, rounds, CNNACC_SEQ_STEP(1, 0, 0), step);
	sa_wait(&a, ROUND);
	sa_drain(&a, CNNACC_SEQ_RESUME, KMD_DATA_VA);
	sa_end(&a);
	memcpy(env->program.map, a.c, a.n * sizeof(a.c[0]));
	return (uint32_t)(a.n * sizeof(a.c[0]));
}

/* n events, one command each. */
static uint32_t flood(struct kmd_env *env, uint32_t n)
{
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_LOOP, 1, n);
	sa_irq(&a, 1);
	sa_end(&a);
	memcpy(env->program.map, a.c, a.n * sizeof(a.c[0]));
	return (uint32_t)(a.n * sizeof(a.c[0]));
}

static void submit(struct kmd_env *env, uint32_t length, uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task task = kmd_task(length);
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	memset((char *)env->data.map, 0, env->data.size);
	task.flags = DRM_CNNACC_TASK_STATS;
	task.stats_va = KMD_DATA_VA + STATS_OFFSET;
	if (kmd_submit_jobs(env->fd, env->ctx, &job, 1))
		bail("SUBMIT");
}

/* Returns the fence error. */
static int run(struct kmd_env *env, uint32_t length)
{
	uint32_t out = kmd_syncobj(env->fd);
	int ret;

	submit(env, length, out);
	ret = kmd_wait(env->fd, out);
	drmSyncobjDestroy(env->fd, out);
	return ret;
}

static uint64_t events_of_stats(const struct kmd_env *env)
{
	return ((const struct cnnacc_stats *)((char *)env->data.map + STATS_OFFSET))->events;
}

static int listen(const struct kmd_env *env)
{
	struct drm_cnnacc_eventfd args = {
		.ctx_id = env->ctx, .core = env->core, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};

	if (args.fd < 0 || kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_EVENTFD, &args))
		bail("EVENTFD");
	return args.fd;
}

/* Reads and clears the count of the eventfd. */
static uint64_t counted(int event)
{
	uint64_t n;

	return read(event, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

/* ---- counts ---- */

/* Number of rounds whose AccRegs are written; all must be correct. */
static uint32_t right_rounds(const struct kmd_env *env, const struct layer *l)
{
	uint32_t n = rounds_of(l), kept = n <= KEPT_ROUNDS ? n : 1, i;
	const int32_t *acc = env->data.map;

	for (i = 0; i < kept * ROUND_BYTES / 4; i++)
		if (acc[i] != l->sum)
			break;
	return i * 4 / ROUND_BYTES == kept ? n : i * 4 / ROUND_BYTES;
}

/* Flags of MatrixMac; wanted: expected count of the eventfd. */
static bool count_once(struct kmd_env *env, int event, const struct layer *l, uint32_t mac,
		       uint32_t wanted)
{
	int ret = run(env, program(env, l, mac));
	uint64_t got = counted(event), stats = events_of_stats(env);
	uint32_t rounds = rounds_of(l), right = right_rounds(env, l);

	if (!ret && got == wanted && stats == rounds && right == rounds)
		return true;
	note("%s: error %d, %llu of %u counted, %llu of %u in the statistics, %u right", l->name,
	     ret, (unsigned long long)got, wanted, (unsigned long long)stats, rounds, right);
	return false;
}

static void test_counts(struct kmd_env *env)
{
	int event = listen(env);

	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		const struct layer *l = &layers[i];
		uint32_t n = rounds_of(l);

		ok(count_once(env, event, l, CNNACC_SEQ_EVENTS, n), "%s: each of %u rounds is counted",
		   l->name, n);
		ok(count_once(env, event, l, 0, 0), "%s: none raises an event, the statistics count",
		   l->name);
	}
	close(event);
	ok(count_once(env, event, &layers[2], CNNACC_SEQ_EVENTS, 0),
	   "nobody listens any more: the program goes on");
}

static void test_flood(struct kmd_env *env)
{
	int event = listen(env);

	ok_ret(run(env, flood(env, FLOOD)), 0, "%u events, one after the other", FLOOD);
	ok(counted(event) == FLOOD && events_of_stats(env) == FLOOD, "none is lost");
	close(event);
}

/* Interrupts of the device so far, on all CPUs. */
static uint64_t interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "re");
	uint64_t sum = 0, n;
	char line[1024];

	if (!f)
		bail("/proc/interrupts");
	while (fgets(line, sizeof(line), f)) {
		char *at = strchr(line, ':'), *end;

		if (!at || !strstr(line, "cnnacc"))
			continue;
		for (at++; n = strtoull(at, &end, 10), end != at; at = end)
			sum += n;
	}
	fclose(f);
	return sum;
}

/* More events than a CPU could take as interrupts. */
static void test_storm(struct kmd_env *env)
{
	struct drm_cnnacc_eventfd nobody = {
		.ctx_id = env->ctx, .core = env->core, .flags = DRM_CNNACC_EVENTFD_REMOVE,
	};
	uint64_t before, taken, ms;
	double start;
	int event;

	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_EVENTFD, &nobody), 0, "nobody listens");
	before = interrupts();
	ok_ret(run(env, flood(env, STORM)), 0, "%u events for nobody", STORM);
	taken = interrupts() - before;
	ok(events_of_stats(env) == STORM && taken <= FEW, "raise no interrupts: %llu",
	   (unsigned long long)taken);
	event = listen(env);
	before = interrupts();
	start = kmd_seconds();
	ok_ret(run(env, flood(env, STORM)), 0, "the same with an eventfd");
	ms = (uint64_t)((kmd_seconds() - start) * 1000);
	taken = interrupts() - before;
	ok(taken <= ms + FEW, "%llu interrupts in %llu ms", (unsigned long long)taken,
	   (unsigned long long)ms);
	ok(counted(event) == STORM, "and each event is counted");
	close(event);
}

/* ---- a device that loses something ---- */

/* Sets job_limit_ms so that only lack of progress ends jobs; before: the old value. */
static void set_job_limit(const char *ms, char *before, size_t size)
{
	static const char path[] = "/sys/module/cnnacc/parameters/job_limit_ms";
	FILE *f = fopen(path, "re");

	if (!f || (before && !fgets(before, (int)size, f)) || kmd_write_file(path, ms))
		bail("%s", path);
	fclose(f);
}

static void test_lost(struct kmd_env *env)
{
	static const struct layer l = { "1x1", 1, CFG1(1, INT8, 1), 1, LOST_ROUNDS, 0x01, 8 };
	int event = listen(env);
	char limit[32];

	set_job_limit("120000\n", limit, sizeof(limit));
	ok(count_once(env, event, &l, CNNACC_SEQ_EVENTS, LOST_ROUNDS),
	   "messages that are lost: each of %u rounds is counted", LOST_ROUNDS);
	set_job_limit(limit, NULL, 0);
	close(event);
}

int main(int argc, char **argv)
{
	struct kmd_env env;
	int fd = kmd_open();
	uint32_t core;

	if (!kmd_find_core(fd, CNNACC_CORE_HWPE, &core)) {
		skip("events of rounds", "no core hwpe");
		return done_testing();
	}
	kmd_stay_awake(true);
	env = kmd_env_on(fd, core);
	if (argc > 1 && !strcmp(argv[1], "lost")) {
		test_lost(&env);
	} else {
		test_counts(&env);
		test_flood(&env);
		test_storm(&env);
	}
	kmd_stay_awake(false);
	return done_testing();
}
