// SPDX-License-Identifier: MIT
/*
 * kmd_guilty [COUNT [KIND]]: jobs that make no progress, are endless, fault, are illegal, exceed
 * their cycle limit or are orphaned, COUNT times each (5).  CTX_QUERY of the guilty context reports
 * what failed and where; the job behind it and the next job of a bystander succeed, all within a
 * time limit.  Behind a job with a small cycle limit they are in the ring.  A round that a busy
 * host delays is retried, a few times in all.
 *
 * "still" is a queue that is stopped in the middle of a job and so does not start its next task.
 * The job has the ring alone: of others, the first would be taken for the one that hangs.  "hang"
 * is an endless program and "tasks" a job of many tasks; both make progress, so only the driver's
 * job_limit_ms, which the test sets, ends them.  The cycle limit must not end them first, so the
 * module has to be loaded with watchdog_ms=1000 or less, else those kinds are skipped.  On a busy
 * host, use a device with a larger job-cycles-max, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define LIMIT_PARAM	"/sys/module/cnnacc/parameters/job_limit_ms"
#define WATCHDOG_PARAM	"/sys/module/cnnacc/parameters/watchdog_ms"
#define WATCHDOG_MAX_MS	1000
#define RECOVERY_MAX_S	2.0
#define HANG_LIMIT_MS	100
#define NOP_OFFSET	2048
#define NOP_CYCLES	1000
#define SHORT_CYCLES	10000
#define ROUND_MAX	2
#define RUN_LOOPS	20000000
#define NOWHERE		0x50000040u
#define FAR_VA		0xe0000000u
#define FAR_SIZE	0x400000u
#define FAR_SPLIT	0x300000u	/* where another mapping begins */
#define SPLIT_PC	20u
#define TASKS		KMD_TASKS_MAX
#define STILL_TASK	2u
#define TASK_LOOPS	8000000
#define LATE_MAX	50	/* allowed number of stops that come too late */

struct kind {
	const char *name;
	uint32_t (*program)(struct kmd_env *env);
	uint64_t cycle_limit;
	int error;
	uint32_t state;
	uint16_t class, code;
	uint32_t detail, pc, access;
	uint64_t va;
	uint32_t far;		/* offset of the program in a large mapping, in bytes */
	bool still;		/* the queue does not start its task STILL_TASK */
	unsigned int limit_ms;	/* job_limit_ms, 0: unchanged */
	uint32_t tasks;		/* 0: one; any of them may be the one that fails */
};

static uint32_t program_fault(struct kmd_env *env)
{
	return kmd_program_load(env, NOWHERE / 64, 1);
}

/* Runs long enough for the test to stop the queue. */
static uint32_t program_run(struct kmd_env *env)
{
	return kmd_program_delay(env, RUN_LOOPS);
}

/* A task is far below the limit, all tasks of a job are above it. */
static uint32_t program_task(struct kmd_env *env)
{
	return kmd_program_delay(env, TASK_LOOPS);
}

/* Illegal behind its first line. */
static uint32_t program_long(struct kmd_env *env)
{
	return env->programs->illegal(env->program.map, SPLIT_PC);
}

/* set_codes() adds what depends on the core. */
static struct kind kinds[] = {
	{ "still", program_run, 0, -ETIMEDOUT, DRM_CNNACC_CTX_HANG, .still = true,
	  .tasks = STILL_TASK + 2 },
	{ "hang", kmd_program_endless, 0, -ETIMEDOUT, DRM_CNNACC_CTX_HANG,
	  .limit_ms = HANG_LIMIT_MS },
	{ "tasks", program_task, 0, -ETIMEDOUT, DRM_CNNACC_CTX_HANG, .limit_ms = HANG_LIMIT_MS,
	  .tasks = TASKS },
	{ "fault", program_fault, SHORT_CYCLES, -EFAULT, DRM_CNNACC_CTX_FAULT, CNNACC_STATUS_MMU_FAULT,
	  .detail = CNNACC_FAULT_DIR, .access = CNNACC_ACCESS_READ, .va = NOWHERE },
	{ "illegal", kmd_program_illegal, SHORT_CYCLES, -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM,
	  CNNACC_STATUS_BAD_PROGRAM, .pc = KMD_ILLEGAL_PC },
	{ "far", kmd_program_illegal, SHORT_CYCLES, -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM,
	  CNNACC_STATUS_BAD_PROGRAM, .pc = KMD_ILLEGAL_PC, .far = 0x280040 },
	{ "split", program_long, SHORT_CYCLES, -EINVAL, DRM_CNNACC_CTX_BAD_PROGRAM,
	  CNNACC_STATUS_BAD_PROGRAM, .pc = SPLIT_PC, .far = FAR_SPLIT - 64 },
	{ "limit", kmd_program_endless, SHORT_CYCLES, -ETIMEDOUT, DRM_CNNACC_CTX_TIME_LIMIT,
	  CNNACC_STATUS_TIME_LIMIT, .code = CNNACC_CODE_TIME_LIMIT },
};

/* Codes of the core, and where its programs end. */
static void set_codes(const struct core_programs *p)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct kind *k = &kinds[i];

		if (k->program == kmd_program_endless)
			k->pc = p->endless_pc;
		if (k->class == CNNACC_STATUS_BAD_PROGRAM)
			k->code = p->illegal_code;
		if (k->class == CNNACC_STATUS_MMU_FAULT) {
			k->code = p->dma_code;
			k->pc = p->dma_pc;
		}
	}
}

static unsigned int parameter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		bail("cannot read %s", path);
	close(fd);
	return (unsigned int)strtoul(text, NULL, 10);
}

static void set_limit(unsigned int ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%u\n", ms);
	if (kmd_write_file(LIMIT_PARAM, text))
		bail("cannot write " LIMIT_PARAM);
}

static bool told(const struct kind *k, const struct kmd_env *env, uint32_t failed,
		 uint64_t seqno)
{
	struct drm_cnnacc_ctx_query q = kmd_ctx_query(env->fd, env->ctx);
	bool good = q.state == k->state && q.failed_jobs == failed && q.seqno == seqno &&
		    !q.reset_jobs && q.core == env->core &&
		    (k->still ? q.task == STILL_TASK :
		     k->tasks ? q.task < k->tasks : !q.task && q.pc == k->pc) &&
		    q.status_class == k->class && q.status_code == k->code &&
		    q.detail == k->detail && q.access == k->access && q.fault_va == k->va;

	if (!good)
		note("%s: state 0x%x, %u failed, job %llu task %u, class %u code %u detail %u "
		     "pc %u access %u va 0x%llx", k->name, q.state, q.failed_jobs,
		     (unsigned long long)q.seqno, q.task, q.status_class, q.status_code,
		     q.detail, q.pc, q.access, (unsigned long long)q.fault_va);
	return good;
}

/* Copies the program of @env to another address. */
static struct kmd_bo copy_far(const struct kind *k, struct kmd_env *env, uint32_t length)
{
	struct kmd_bo bo = kmd_bo(env->fd, DRM_CNNACC_BO_PROGRAM, FAR_SIZE);
	struct drm_cnnacc_bind_op ops[] = {
		{ .op = DRM_CNNACC_BIND_MAP, .flags = DRM_CNNACC_BIND_EXEC, .handle = bo.handle,
		  .va = FAR_VA, .size = FAR_SPLIT },
		{ .op = DRM_CNNACC_BIND_MAP, .flags = DRM_CNNACC_BIND_EXEC, .handle = bo.handle,
		  .va = FAR_VA + FAR_SPLIT, .bo_offset = FAR_SPLIT, .size = FAR_SIZE - FAR_SPLIT },
	};
	struct drm_cnnacc_vm_bind args = {
		.vm_id = env->vm, .ops = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(ops), ops),
	};

	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_VM_BIND, &args))
		bail("VM_BIND");
	memcpy((char *)bo.map + k->far, env->program.map, length);
	return bo;
}

struct round {
	struct drm_cnnacc_job jobs[ROUND_MAX];
	struct drm_cnnacc_task tasks[ROUND_MAX][TASKS];
	struct drm_cnnacc_sync syncs[ROUND_MAX];
	struct drm_cnnacc_submit told;
	uint32_t count;
};

static void add_job(struct round *r, const struct kmd_env *env, struct drm_cnnacc_task task,
		    uint32_t tasks)
{
	uint32_t i = r->count++, t;

	for (t = 0; t < tasks; t++)
		r->tasks[i][t] = task;
	r->syncs[i] = (struct drm_cnnacc_sync){
		.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(env->fd),
	};
	r->jobs[i] = (struct drm_cnnacc_job){
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(tasks, r->tasks[i]),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &r->syncs[i]),
	};
}

static int wait_job(const struct round *r, const struct kmd_env *env, uint32_t i)
{
	return kmd_wait(env->fd, r->syncs[i].handle);
}

static struct drm_cnnacc_task nop_task(const struct kmd_env *env)
{
	uint32_t *words = (uint32_t *)((char *)env->program.map + NOP_OFFSET);
	struct drm_cnnacc_task task = kmd_task(env->programs->nop(words));

	task.program_va += NOP_OFFSET;
	task.cycle_limit = NOP_CYCLES;
	return task;
}

/* The tasks of "still": the statistics tell which of the first three have ended. */
static void set_still(struct drm_cnnacc_task *tasks, const struct kmd_env *env)
{
	const struct drm_cnnacc_task nop = nop_task(env), run = tasks[1];

	memset(env->data.map, 0, (STILL_TASK + 1) * sizeof(struct cnnacc_stats));
	for (uint32_t i = 0; i < STILL_TASK + 2; i++)
		tasks[i] = i == 1 ? run : nop;
	for (uint32_t i = 0; i <= STILL_TASK; i++) {
		tasks[i].flags = DRM_CNNACC_TASK_STATS;
		tasks[i].stats_va = KMD_DATA_VA + i * (uint32_t)sizeof(struct cnnacc_stats);
	}
}

/* The first job is the guilty one. */
static void submit_round(const struct kind *k, struct kmd_env *env, uint32_t length,
			 struct round *r)
{
	struct drm_cnnacc_task task = kmd_task(length);

	task.cycle_limit = k->cycle_limit;
	if (k->far)
		task.program_va = FAR_VA + k->far;
	*r = (struct round){ };
	add_job(r, env, task, k->tasks ? k->tasks : 1);
	if (k->still)
		set_still(r->tasks[0], env);
	add_job(r, env, nop_task(env), 1);
	if (kmd_submit_told(env->fd, env->ctx, r->jobs, r->count, &r->told))
		bail("SUBMIT");
}

/* Reads a register of the core's queue. */
static uint32_t queue_register(const struct kmd_env *env, uint32_t reg)
{
	struct drm_cnnacc_reg_rw args = { };
	struct drm_cnnacc_core_info core;

	kmd_core_info(env->fd, env->core, &core);
	args.offset = core.queue_offset + reg;
	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_REG_RW, &args))
		bail("REG_RW");
	return args.value;
}

/* Waits until a task of "still", or the job, has ended. */
static void wait_task(const struct round *r, const struct kmd_env *env, uint32_t task)
{
	const volatile struct cnnacc_stats *stats = env->data.map;

	while (!stats[task].cycles && kmd_fence_status(env->fd, r->syncs[0].handle) == -EBUSY)
		;
}

/* Waits until the task behind the first makes progress. */
static void wait_until_runs(const struct round *r, const struct kmd_env *env)
{
	uint32_t before;

	wait_task(r, env, 0);
	before = queue_register(env, CNNACC_QREG_PROGRESS);
	while (queue_register(env, CNNACC_QREG_PROGRESS) == before &&
	       kmd_fence_status(env->fd, r->syncs[0].handle) == -EBUSY)
		;
}

/*
 * Stops the queue; the running task ends and no other begins.  Returns false if that was not the
 * one before STILL_TASK: on a busy host the stop may come too late.
 */
static bool stand_still(const struct round *r, const struct kmd_env *env)
{
	const volatile struct cnnacc_stats *stats = env->data.map;
	struct drm_cnnacc_core_info core;
	bool runs = true;

	kmd_core_info(env->fd, env->core, &core);
	wait_until_runs(r, env);
	kmd_poke(core.queue_offset + CNNACC_QREG_CTRL, 0);
	while (runs && queue_register(env, CNNACC_QREG_STATE) != CNNACC_QSTATE_DISABLED)
		runs = kmd_fence_status(env->fd, r->syncs[0].handle) == -EBUSY;
	return runs && !stats[STILL_TASK].cycles;
}

struct tally {
	int errors, wrong, behind, hurt, late, slow;
	double worst, sum;
};

/* Returns the time until all jobs have ended; 0 if the queue was stopped too late. */
static double run_round(const struct kind *k, struct kmd_env *guilty, uint32_t length,
			struct kmd_env *other, struct tally *t)
{
	uint32_t failed = kmd_ctx_query(guilty->fd, guilty->ctx).failed_jobs;
	uint32_t next = kmd_syncobj(other->fd);
	double start = kmd_seconds(), took = 0;
	struct round r;

	submit_round(k, guilty, length, &r);
	if (k->still && !stand_still(&r, guilty)) {
		/* One of these two is taken for the job that hangs. */
		wait_job(&r, guilty, 1);
		kmd_run(guilty, length);
		t->late++;
	} else {
		if (k->still)
			start = kmd_seconds();
		if (kmd_submit(other, kmd_program_nop(other), NOP_CYCLES, next))
			bail("SUBMIT");
		t->errors += wait_job(&r, guilty, 0) != k->error;
		t->behind += wait_job(&r, guilty, 1) != 0;
		t->hurt += kmd_wait(other->fd, next) != 0;
		took = kmd_seconds() - start;
		t->wrong += !told(k, guilty, failed + 1, r.told.first_seqno);
	}
	for (uint32_t i = 0; i < r.count; i++)
		drmSyncobjDestroy(guilty->fd, r.syncs[i].handle);
	drmSyncobjDestroy(other->fd, next);
	return took;
}

static void run_once(const struct kind *k, struct kmd_env *guilty, uint32_t length,
		     struct kmd_env *other, struct tally *t)
{
	double took = 0;

	while (t->slow < KMD_TRIES && t->late < LATE_MAX) {
		took = run_round(k, guilty, length, other, t);
		if (took && took < RECOVERY_MAX_S)
			break;
		t->slow += took > 0;
	}
	/* Too many rounds exceeded the time limit. */
	took = took ? took : RECOVERY_MAX_S;
	t->sum += took;
	t->worst = took > t->worst ? took : t->worst;
}

static void test_kind(const struct kind *k, int count)
{
	struct kmd_env guilty = kmd_env(kmd_open()), other = kmd_env(kmd_open());
	unsigned int before = parameter(LIMIT_PARAM);
	uint32_t length = k->program(&guilty);
	struct kmd_bo far = { };
	struct tally t = { };

	if (k->limit_ms)
		set_limit(k->limit_ms);
	if (k->far)
		far = copy_far(k, &guilty, length);
	for (int i = 0; i < count; i++)
		run_once(k, &guilty, length, &other, &t);
	ok(!t.errors, "%s: the fence's error, %d times", k->name, count);
	ok(!t.wrong, "%s: the context is told what and where", k->name);
	ok(!t.behind, "%s: the job behind it in the ring runs", k->name);
	ok(!t.hurt && !kmd_ctx_query(other.fd, other.ctx).state, "%s: a bystander is not hurt",
	   k->name);
	ok(t.worst < RECOVERY_MAX_S, "%s: and runs again within %.0f s", k->name, RECOVERY_MAX_S);
	note("%s: %.3f s on average, %.3f s at most, until all have ended", k->name,
	     t.sum / count, t.worst);
	if (t.slow)
		note("%s: %d times slower, and tried again", k->name, t.slow);
	if (t.late)
		note("%s: %d times stopped too late", k->name, t.late);
	if (k->limit_ms)
		set_limit(before);
	if (k->far)
		kmd_bo_free(guilty.fd, &far);
	kmd_env_free(&guilty);
	kmd_env_free(&other);
	drmClose(guilty.fd);
	drmClose(other.fd);
}

/* A process with a job of at least half a minute, which waits to be killed. */
static pid_t start_owner(uint32_t flags)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		bail("pipe");
	pid = fork();
	if (!pid) {
		struct kmd_env env = kmd_env(kmd_open());
		uint32_t out = kmd_syncobj(env.fd);

		if (kmd_submit_tasks(&env, kmd_program_long(&env), TASKS, flags,
				     out) || !kmd_runs(&env, out))
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		bail("an owner");
	close(ready[0]);
	return pid;
}

/* Returns the time from the death of the owner to the end of a bystander's job. */
static double orphan_once(struct kmd_env *other, uint32_t length, uint32_t flags, int *hurt)
{
	pid_t owner = start_owner(flags);
	double start = kmd_seconds();

	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	*hurt += kmd_run(other, length) != 0;
	return kmd_seconds() - start;
}

static void test_orphans(const char *name, uint32_t flags, int count)
{
	struct kmd_env other = kmd_env(kmd_open());
	uint32_t length = kmd_program_nop(&other);
	double worst = 0, took;
	int i, slow = 0, hurt = 0;

	for (i = 0; i < count; i++) {
		do {
			took = orphan_once(&other, length, flags, &hurt);
		} while (took >= RECOVERY_MAX_S && ++slow < KMD_TRIES);
		worst = took > worst ? took : worst;
	}
	ok(!hurt && !kmd_ctx_query(other.fd, other.ctx).state,
	   "%s: a bystander is not hurt, %d times", name, count);
	ok(worst < RECOVERY_MAX_S, "%s: and runs within %.0f s", name, RECOVERY_MAX_S);
	note("%s: %.3f s at most, from the owner's end on", name, worst);
	kmd_env_free(&other);
	drmClose(other.fd);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5;
	bool slow = parameter(WATCHDOG_PARAM) > WATCHDOG_MAX_MS;
	int fd = kmd_open();
	uint32_t core;

	set_codes(kmd_find_programs(fd, &core));
	drmClose(fd);
	kmd_stay_awake(true);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (argc > 2 && strcmp(argv[2], kinds[i].name))
			continue;
		if (slow && kinds[i].limit_ms)
			skip(kinds[i].name, "load cnnacc with watchdog_ms=1000 or less");
		else
			test_kind(&kinds[i], count);
	}
	if (argc < 3 || !strcmp(argv[2], "orphans")) {
		test_orphans("orphans", 0, count);
		test_orphans("restartable orphans", DRM_CNNACC_JOB_RESTARTABLE, count);
	}
	kmd_stay_awake(false);
	return done_testing();
}
