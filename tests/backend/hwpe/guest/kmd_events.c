// SPDX-License-Identifier: MIT
/*
 * kmd_events [lost | unacknowledged]: events of core hwpe.  Each round of a task with events adds 1
 * to an eventfd, and the program stops until the event is acknowledged.  The statistics always
 * count rounds.
 *
 * "lost" is for a device that loses interrupt messages: the driver's watchdog finds the events.
 * "unacknowledged" is for a device that loses acknowledgements: the job hangs and is ended, and the
 * others run.  Both require a watchdog_ms of at most 400.
 */
#include <errno.h>
#include <stdio.h>
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
#define WAITS		1000u
#define RECOVERY_MAX_S	2.0
#define HUNG_ROUNDS	64u
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

static void submit(struct kmd_env *env, uint32_t length, uint32_t flags, uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task task = kmd_task(length);
	struct drm_cnnacc_job job = {
		.core = env->core,
		.flags = flags,
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
static int run(struct kmd_env *env, uint32_t length, uint32_t flags)
{
	uint32_t out = kmd_syncobj(env->fd);
	int ret;

	submit(env, length, flags, out);
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

/* Flags of MatrixMac and of the job; wanted: expected count of the eventfd. */
static bool count_once(struct kmd_env *env, int event, const struct layer *l, uint32_t mac,
		       uint32_t job, uint32_t wanted)
{
	int ret = run(env, program(env, l, mac), job);
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

		ok(count_once(env, event, l, CNNACC_SEQ_EVENTS, DRM_CNNACC_JOB_EVENT_WAIT, n),
		   "%s: each of %u rounds waits and is counted", l->name, n);
		ok(count_once(env, event, l, CNNACC_SEQ_EVENTS, 0, n),
		   "%s: each is counted if none waits", l->name);
		ok(count_once(env, event, l, 0, DRM_CNNACC_JOB_EVENT_WAIT, 0),
		   "%s: none raises an event, the statistics count", l->name);
	}
	close(event);
	ok(count_once(env, event, &layers[2], CNNACC_SEQ_EVENTS, DRM_CNNACC_JOB_EVENT_WAIT, 0),
	   "nobody listens any more: the program goes on");
}

static void test_flood(struct kmd_env *env, struct kmd_env *other)
{
	uint32_t out = kmd_syncobj(env->fd), jobs = 0;
	int event = listen(env), ret = 0;
	double start;

	ok_ret(run(env, flood(env, FLOOD), 0), 0, "%u events, one after the other", FLOOD);
	ok(counted(event) == FLOOD && events_of_stats(env) == FLOOD, "none is lost");
	start = kmd_seconds();
	submit(env, flood(env, WAITS), DRM_CNNACC_JOB_EVENT_WAIT, out);
	do {
		ret = kmd_run(other, kmd_program_nop(other));
		jobs++;
	} while (!ret && kmd_fence_status(env->fd, out) == -EBUSY);
	ok_ret(ret, 0, "while a program waits again and again another core's jobs run");
	ok_ret(kmd_wait(env->fd, out), 0, "and it ends");
	note("%u jobs of the other in %.3f s", jobs, kmd_seconds() - start);
	ok(counted(event) == WAITS && events_of_stats(env) == WAITS, "and every event is counted");
	close(event);
	drmSyncobjDestroy(env->fd, out);
}

/* ---- suspended ---- */

static uint32_t reg(const struct kmd_env *env, uint32_t offset)
{
	struct drm_cnnacc_reg_rw args = { .offset = offset };

	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_REG_RW, &args))
		bail("REG_RW");
	return args.value;
}

static void write_reg(const struct kmd_env *env, uint32_t offset, uint32_t value)
{
	struct drm_cnnacc_reg_rw args = {
		.offset = offset, .flags = DRM_CNNACC_REG_WRITE, .value = value,
	};

	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_REG_RW, &args))
		bail("REG_RW");
}

struct state {
	uint32_t count, progress, sequencer, round;
};

static void look(const struct kmd_env *env, const struct drm_cnnacc_core_info *core,
		 struct state *s)
{
	s->progress = reg(env, core->queue_offset + CNNACC_QREG_PROGRESS);
	s->sequencer = reg(env, core->window_offset + CNNACC_SEQ_REG_STATE);
	s->round = reg(env, core->window_offset + CNNACC_HWPE_REG_ROUND);
}

/*
 * Without interrupts only the driver's watchdog finds events, and acknowledges one at each check.
 * What is read of the core is valid if the number of events has not changed meanwhile.
 */
static void test_suspended(struct kmd_env *env)
{
	uint32_t enabled = reg(env, CNNACC_REG_IRQ_ENABLE), out = kmd_syncobj(env->fd), before, tries;
	const struct layer *l = &layers[1];
	struct drm_cnnacc_core_info core;
	struct state a, b = { 0 };
	uint64_t early = 0;
	int event = listen(env);

	kmd_core_info(env->fd, env->core, &core);
	before = reg(env, core.queue_offset + CNNACC_QREG_EVENT_COUNT);
	write_reg(env, CNNACC_REG_IRQ_ENABLE, 0);
	submit(env, program(env, l, CNNACC_SEQ_EVENTS), DRM_CNNACC_JOB_EVENT_WAIT, out);
	for (tries = 0; tries < 100; tries++) {
		a.count = reg(env, core.queue_offset + CNNACC_QREG_EVENT_COUNT) - before;
		look(env, &core, &a);
		usleep(50000);
		early += counted(event);
		look(env, &core, &b);
		b.count = reg(env, core.queue_offset + CNNACC_QREG_EVENT_COUNT) - before;
		if (a.count && a.count == b.count)
			break;
	}
	ok(tries < 100 && b.count <= rounds_of(l) && a.sequencer == CNNACC_SEQ_EVENT &&
	   b.sequencer == CNNACC_SEQ_EVENT, "a round that nobody acknowledges suspends the program");
	ok(a.progress == b.progress && a.round == b.round, "and the core");
	ok(b.round == b.count && early == b.count - 1, "at the one round that is not counted yet");
	note("round %u, %llu counted, events %u", b.round, (unsigned long long)early, b.count);
	write_reg(env, CNNACC_REG_IRQ_ENABLE, enabled);
	ok_ret(kmd_wait(env->fd, out), 0, "it goes on when it is");
	ok(early + counted(event) == rounds_of(l) && events_of_stats(env) == rounds_of(l),
	   "and every round is counted");
	close(event);
	drmSyncobjDestroy(env->fd, out);
}

/* ---- a device that loses something ---- */

static void test_lost(struct kmd_env *env)
{
	static const struct layer l = { "1x1", 1, CFG1(1, INT8, 1), 1, LOST_ROUNDS, 0x01, 8 };
	int event = listen(env);

	ok(count_once(env, event, &l, CNNACC_SEQ_EVENTS, DRM_CNNACC_JOB_EVENT_WAIT, LOST_ROUNDS),
	   "messages that are lost: each of %u rounds is counted", LOST_ROUNDS);
	close(event);
}

/* Command that comes after the WAIT for a round. */
#define BEHIND_WAIT	11u

/* Returns the time until all jobs have ended. */
static double hang(struct kmd_env *guilty, struct kmd_env *same, struct kmd_env *other)
{
	static const struct layer l = { "1x1", 1, CFG1(1, INT8, 1), 1, HUNG_ROUNDS, 0x01, 8 };
	uint32_t out = kmd_syncobj(guilty->fd), next = kmd_syncobj(same->fd);
	double start = kmd_seconds(), took;
	int event = listen(guilty), ret;
	struct drm_cnnacc_ctx_query q;
	uint64_t got;

	submit(guilty, program(guilty, &l, CNNACC_SEQ_EVENTS), DRM_CNNACC_JOB_EVENT_WAIT, out);
	submit(same, program(same, &l, 0), 0, next);
	ret = kmd_run(other, kmd_program_nop(other));
	took = kmd_seconds() - start;
	ok_ret(ret, 0, "a program waits for an acknowledgement: another core's job runs");
	note("after %.3f s", took);
	ok_ret(kmd_wait(guilty->fd, out), -ETIMEDOUT, "the program hangs");
	ok_ret(kmd_wait(same->fd, next), 0, "the next job of its core runs");
	took = kmd_seconds() - start;
	q = kmd_ctx_query(guilty->fd, guilty->ctx);
	got = counted(event);
	ok(q.state == DRM_CNNACC_CTX_HANG && q.failed_jobs == 1 && !q.reset_jobs &&
	   q.core == guilty->core && q.pc == BEHIND_WAIT, "its context is told what and where");
	ok(got > 0 && got < HUNG_ROUNDS, "and the rounds until then were counted");
	note("%.3f s until all have ended; state 0x%x, pc %u, %llu of %u rounds", took, q.state, q.pc,
	     (unsigned long long)got, HUNG_ROUNDS);
	ok(!kmd_ctx_query(same->fd, same->ctx).state && !kmd_ctx_query(other->fd, other->ctx).state,
	   "the others are healthy");
	ok(right_rounds(same, &l) == HUNG_ROUNDS, "and right");
	close(event);
	drmSyncobjDestroy(guilty->fd, out);
	drmSyncobjDestroy(same->fd, next);
	return took;
}

/* Sets job_limit_ms so that only lack of progress ends jobs; before: the old value. */
static void set_job_limit(const char *ms, char *before, size_t size)
{
	static const char path[] = "/sys/module/cnnacc/parameters/job_limit_ms";
	FILE *f = fopen(path, "re");

	if (!f || (before && !fgets(before, (int)size, f)) || kmd_write_file(path, ms))
		bail("%s", path);
	fclose(f);
}

static bool has_hwpe(int fd)
{
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_dev_info info;

	kmd_dev_info(fd, &info);
	for (uint32_t i = 0; i < info.core_count; i++) {
		kmd_core_info(fd, i, &core);
		if (core.type == CNNACC_CORE_HWPE)
			return true;
	}
	return false;
}

/* Like kmd_env(), for hwpe. */
static struct kmd_env hwpe_env(int fd)
{
	struct kmd_env env = kmd_env(fd);

	env.core = kmd_find_core(fd, CNNACC_CORE_HWPE);
	return env;
}

static void test_unacknowledged(struct kmd_env *same, struct kmd_env *other)
{
	double took = RECOVERY_MAX_S;

	for (int tries = 0; tries < KMD_TRIES && took >= RECOVERY_MAX_S; tries++) {
		struct kmd_env guilty = hwpe_env(same->fd);

		took = hang(&guilty, same, other);
		kmd_env_free(&guilty);
	}
	ok(took < RECOVERY_MAX_S, "all have ended within %.0f s", RECOVERY_MAX_S);
}

static void test_losses(struct kmd_env *env, struct kmd_env *other, const char *what)
{
	char limit[32];

	set_job_limit("120000\n", limit, sizeof(limit));
	if (!strcmp(what, "lost"))
		test_lost(env);
	else
		test_unacknowledged(env, other);
	set_job_limit(limit, NULL, 0);
}

int main(int argc, char **argv)
{
	struct kmd_env env, other;
	int fd = kmd_open();

	if (!has_hwpe(fd)) {
		skip("events of rounds", "no core hwpe");
		return done_testing();
	}
	kmd_stay_awake(true);
	env = hwpe_env(fd);
	other = kmd_env(fd);
	if (argc > 1) {
		test_losses(&env, &other, argv[1]);
	} else {
		test_counts(&env);
		test_flood(&env, &other);
		test_suspended(&env);
	}
	kmd_stay_awake(false);
	return done_testing();
}
