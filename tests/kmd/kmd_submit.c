// SPDX-License-Identifier: MIT
/* SUBMIT: wrong arguments, atomicity, syncobjs, chains of jobs and tasks. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

/* A valid job with one task and two syncs, one of each kind, for tests to modify. */
struct spoilt {
	struct drm_cnnacc_submit submit;
	struct drm_cnnacc_job job;
	struct drm_cnnacc_task task;
	struct drm_cnnacc_sync syncs[2];
	struct drm_cnnacc_bo_ref ref;
};

static struct kmd_env env;
static uint32_t signalled, out;

static struct spoilt good(void)
{
	return (struct spoilt){
		.submit = { .ctx_id = env.ctx },
		.job = { .core = env.core },
		.task = kmd_task(4),
		.syncs = {
			{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = signalled },
			{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out },
		},
		.ref = { .handle = env.data.handle, .flags = DRM_CNNACC_BO_REF_WRITE },
	};
}

static int submit(struct spoilt *s)
{
	s->job.tasks = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &s->task);
	s->job.syncs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(2, s->syncs);
	s->job.bos = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &s->ref);
	s->submit.jobs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &s->job);
	return kmd_ioctl(env.fd, DRM_IOCTL_CNNACC_SUBMIT, &s->submit);
}

static void test_arguments(void)
{
	struct drm_cnnacc_core_info core;

	kmd_core_info(env.fd, env.core, &core);
#define CASE(wanted, name, ...) do { \
	struct spoilt s = good(); \
	__VA_ARGS__; \
	ok_ret(submit(&s), wanted, "%s", name); \
} while (0)
	CASE(-ENOENT, "unknown context", s.submit.ctx_id = 4711);
	CASE(-EINVAL, "unknown SUBMIT flag", s.submit.flags = 2);
	CASE(-EINVAL, "unknown core", s.job.core = 8);
	CASE(-EINVAL, "unknown job flag", s.job.flags = 8);
	CASE(-EINVAL, "unknown task flag", s.task.flags = 2);
	CASE(-EINVAL, "program not of a line", s.task.program_va += 4);
	CASE(-EINVAL, "program of no bytes", s.task.program_len = 0);
	CASE(-EINVAL, "program not of words", s.task.program_len = 6);
	CASE(-EINVAL, "program too long", s.task.program_len = core.program_max + 4);
	CASE(-EINVAL, "statistics without flag", s.task.stats_va = 64);
	CASE(-EINVAL, "statistics not of a line",
	     s.task.flags = DRM_CNNACC_TASK_STATS, s.task.stats_va = 32);
	CASE(-EINVAL, "cycle limit too high", s.task.cycle_limit = core.job_cycles_max + 1);
	CASE(-EINVAL, "sync neither waited for nor signalled", s.syncs[0].flags = 0);
	CASE(-EINVAL, "sync both waited for and signalled", s.syncs[0].flags = 3);
	CASE(-EINVAL, "unknown sync flag", s.syncs[0].flags |= 8);
	CASE(-EINVAL, "point of a binary sync", s.syncs[1].point = 1);
	CASE(-EINVAL, "timeline sync without point",
	     s.syncs[1].flags |= DRM_CNNACC_SYNC_TIMELINE);
	CASE(-ENOENT, "unknown syncobj to wait for", s.syncs[0].handle = 4711);
	CASE(-ENOENT, "unknown syncobj to signal", s.syncs[1].handle = 4711);
	CASE(-ENOENT, "unknown timeline to signal", s.syncs[1] = (struct drm_cnnacc_sync){
		DRM_CNNACC_SYNC_SIGNAL | DRM_CNNACC_SYNC_TIMELINE, 4711, 1 });
	CASE(-EINVAL, "syncobj that nobody signals", s.syncs[0].handle = out);
	CASE(-ENOENT, "unknown buffer", s.ref.handle = 4711);
	CASE(-EINVAL, "buffer without use", s.ref.flags = 0);
	CASE(-EINVAL, "buffer of unknown use", s.ref.flags = 4);
#undef CASE
	ok_ret(kmd_fence_status(env.fd, out), -EINVAL, "no syncobj has changed");
	struct spoilt s = good();
	ok_ret(submit(&s), 0, "the same without a mistake");
	ok_ret(kmd_wait(env.fd, out), 0, "runs");
	ok(s.submit.first_seqno == 1, "and is the context's first job");
}

static struct drm_cnnacc_task task_at(uint32_t va, uint32_t length)
{
	return (struct drm_cnnacc_task){ .program_va = va, .program_len = length };
}

/* Puts "store the line counter at data line n" at line 4 * slot of the program page. */
static struct drm_cnnacc_task copy_task(uint32_t slot, uint32_t from, uint32_t to)
{
	uint32_t *words = (uint32_t *)((char *)env.program.map + slot * 64);

	return task_at(KMD_PROGRAM_VA + slot * 64, env.programs->copy(words, from, to, 1));
}

static uint32_t line(uint32_t n)
{
	return KMD_DATA_VA + n * 64;
}

static uint32_t *word(uint32_t n)
{
	return (uint32_t *)((char *)env.data.map + n * 64);
}

static int run_job(struct drm_cnnacc_task *tasks, uint32_t count)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(count, tasks),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};
	int ret = kmd_submit_jobs(env.fd, env.ctx, &job, 1);

	return ret ? ret : kmd_wait(env.fd, out);
}

static void test_tasks(void)
{
	struct drm_cnnacc_ctx_query query;
	struct drm_cnnacc_task tasks[64];
	struct cnnacc_stats *stats = env.data.map;
	uint32_t i;

	/* Each task copies a line to the next place. */
	memset(env.data.map, 0, env.data.size);
	*word(0) = 12345;
	for (i = 0; i < 32; i++)
		tasks[i] = copy_task(i, line(i), line(i + 1));
	ok_ret(run_job(tasks, 32), 0, "a chain of 32 tasks");
	ok(*word(32) == 12345, "runs in order");
	for (i = 0; i < 64; i++)
		tasks[i] = task_at(KMD_PROGRAM_VA, 4);
	copy_task(0, line(0), line(1));
	ok_ret(run_job(tasks, 64), 0, "as many tasks as there may be");
	for (i = 0; i < 5; i++)
		run_job(tasks, 64);
	ok(i == 5, "several times round the ring");

	*word(40) = 1;
	*word(42) = 0;
	tasks[0] = copy_task(0, line(40), line(41));
	tasks[1] = copy_task(1, 0x2000, line(43));
	tasks[2] = copy_task(2, line(40), line(42));
	ok_ret(run_job(tasks, 3), -EFAULT, "a chain whose second task faults");
	query = kmd_ctx_query(env.fd, env.ctx);
	ok(query.task == 1, "it was the second");
	ok(*word(41) == 1 && *word(42) == 0, "the first ran, the third did not");

	memset(env.data.map, 0, 4096);
	tasks[0] = copy_task(0, line(20), line(21));
	tasks[0].flags = DRM_CNNACC_TASK_STATS;
	tasks[0].stats_va = KMD_DATA_VA;
	ok_ret(run_job(tasks, 1), 0, "a task with statistics");
	ok(stats->jobs == 1 && stats->cycles && stats->mem_read_bytes >= 64 &&
	   stats->mem_write_bytes == 64 && stats->instructions == env.programs->copy_instructions,
	   "that were written");
}

/* Three jobs in one SUBMIT, the second one waiting for the first by a syncobj. */
static void test_jobs(void)
{
	uint32_t mid = kmd_syncobj(env.fd), i;
	struct drm_cnnacc_sync syncs[] = {
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = mid },
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = mid },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out },
	};
	struct drm_cnnacc_submit told, next;
	struct drm_cnnacc_task tasks[3];
	struct drm_cnnacc_job jobs[3] = { };

	*word(0) = 777;
	for (i = 0; i < 3; i++) {
		tasks[i] = copy_task(i, line(i), line(i + 1));
		jobs[i].core = env.core;
		jobs[i].tasks = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &tasks[i]);
		jobs[i].syncs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &syncs[i]);
	}
	ok_ret(kmd_submit_told(env.fd, env.ctx, jobs, 3, &told), 0, "three jobs");
	ok_ret(kmd_wait(env.fd, out), 0, "end");
	ok(*word(3) == 777, "in order");
	kmd_submit_told(env.fd, env.ctx, jobs, 1, &next);
	ok(told.first_seqno && next.first_seqno == told.first_seqno + 3, "and are numbered");

	ok_ret(kmd_wait(env.fd, mid), 0, "the one of another SUBMIT ends");
	drmSyncobjReset(env.fd, &mid, 1);
	jobs[1].core = 9;
	*word(1) = 0;
	ok_ret(kmd_submit_told(env.fd, env.ctx, jobs, 3, &told), -EINVAL, "one of them is wrong");
	ok(!told.first_seqno, "none has a number");
	usleep(100000);
	ok(*word(1) == 0 && kmd_fence_status(env.fd, mid) == -EINVAL, "none runs");

	jobs[1].core = env.core;
	syncs[0].flags = DRM_CNNACC_SYNC_WAIT;
	syncs[1].flags = DRM_CNNACC_SYNC_SIGNAL;
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 3), -EINVAL, "wait before signal");
	drmSyncobjDestroy(env.fd, mid);
}

static void test_failed_dependency(void)
{
	uint32_t mid = kmd_syncobj(env.fd);
	struct drm_cnnacc_sync syncs[] = {
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = mid },
		{ .flags = DRM_CNNACC_SYNC_WAIT, .handle = mid },
		{ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out },
	};
	struct drm_cnnacc_task bad = copy_task(0, 0x2000, line(1));
	struct drm_cnnacc_task next = copy_task(1, line(2), line(3));
	struct drm_cnnacc_job jobs[] = {
		{ .core = env.core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, &bad),
		  .syncs = DRM_CNNACC_OBJ_ARRAY(1, syncs) },
		{ .core = env.core, .tasks = DRM_CNNACC_OBJ_ARRAY(1, &next),
		  .syncs = DRM_CNNACC_OBJ_ARRAY(2, syncs + 1) },
	};
	uint32_t timeline = kmd_syncobj(env.fd);

	*word(2) = 5;
	*word(3) = 6;
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 2), 0, "a faulting job and a dependent");
	ok_ret(kmd_wait(env.fd, out), -ECANCELED, "the dependent is cancelled");
	ok_ret(kmd_fence_status(env.fd, mid), -EFAULT, "the other has its own error");
	ok(*word(3) == 6, "the dependent did not run");
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs + 1, 1), 0, "a dependent submitted later");
	ok_ret(kmd_wait(env.fd, out), -ECANCELED, "is cancelled too");

	syncs[0] = (struct drm_cnnacc_sync){
		DRM_CNNACC_SYNC_SIGNAL | DRM_CNNACC_SYNC_TIMELINE, timeline, 1 };
	syncs[1] = (struct drm_cnnacc_sync){
		DRM_CNNACC_SYNC_WAIT | DRM_CNNACC_SYNC_TIMELINE, timeline, 1 };
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 2), 0, "the same through a timeline");
	ok_ret(kmd_wait(env.fd, out), -ECANCELED, "is cancelled");

	jobs[1].syncs = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, syncs + 2);
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs + 1, 1), 0, "an independent job");
	ok_ret(kmd_wait(env.fd, out), 0, "runs");
	ok(*word(3) == 5, "and does its work");
	drmSyncobjDestroy(env.fd, mid);
	drmSyncobjDestroy(env.fd, timeline);
}

static void test_timeline(void)
{
	uint32_t timeline = kmd_syncobj(env.fd), i;
	struct drm_cnnacc_sync syncs[4][2];
	struct drm_cnnacc_task task = task_at(KMD_PROGRAM_VA, 4);
	struct drm_cnnacc_job jobs[4] = { };
	uint64_t point = 4;

	kmd_program_nop(&env);
	for (i = 0; i < 4; i++) {
		syncs[i][0] = (struct drm_cnnacc_sync){
			DRM_CNNACC_SYNC_SIGNAL | DRM_CNNACC_SYNC_TIMELINE, timeline, i + 1 };
		syncs[i][1] = (struct drm_cnnacc_sync){
			DRM_CNNACC_SYNC_WAIT | DRM_CNNACC_SYNC_TIMELINE, timeline, i };
		jobs[i].core = env.core;
		jobs[i].tasks = (struct drm_cnnacc_obj_array)DRM_CNNACC_OBJ_ARRAY(1, &task);
		jobs[i].syncs = (struct drm_cnnacc_obj_array)
			DRM_CNNACC_OBJ_ARRAY(i ? 2 : 1, syncs[i]);
	}
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 4), 0, "four jobs along a timeline");
	ok(!drmSyncobjTimelineWait(env.fd, &timeline, &point, 1, kmd_deadline(60000), 0, NULL),
	   "its last point is reached");
	ok(!drmSyncobjQuery(env.fd, &timeline, &point, 1) && point == 4, "and is the last");
	syncs[0][0] = (struct drm_cnnacc_sync){
		DRM_CNNACC_SYNC_WAIT | DRM_CNNACC_SYNC_TIMELINE, timeline, 9 };
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 1), -EINVAL, "a point nobody signals");
	syncs[0][0] = (struct drm_cnnacc_sync){
		DRM_CNNACC_SYNC_WAIT | DRM_CNNACC_SYNC_TIMELINE, timeline, 2 };
	syncs[0][1] = (struct drm_cnnacc_sync){ DRM_CNNACC_SYNC_SIGNAL, out, 0 };
	jobs[0].syncs.count = 2;
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, 1), 0, "a point in the past");
	ok_ret(kmd_wait(env.fd, out), 0, "does not block");
	drmSyncobjDestroy(env.fd, timeline);
}

/* Jobs of two contexts that share a buffer are ordered by their accesses to it. */
static void test_implicit(void)
{
	struct kmd_env other = kmd_env(env.fd);
	struct drm_cnnacc_bo_ref ref = {
		.handle = env.data.handle, .flags = DRM_CNNACC_BO_REF_WRITE,
	};
	uint32_t a = kmd_syncobj(env.fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = a };
	struct drm_cnnacc_task task = kmd_task(kmd_program_delay(&env, 10000000));
	struct drm_cnnacc_job job = {
		.core = env.core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};

	ok_ret(kmd_submit_jobs(env.fd, env.ctx, &job, 1), 0, "a long writer");
	task = kmd_task(kmd_program_nop(&other));
	sync.handle = out;
	ref.flags = DRM_CNNACC_BO_REF_READ;
	ok_ret(kmd_submit_jobs(env.fd, other.ctx, &job, 1), 0, "a reader in another context");
	ok_ret(kmd_wait(env.fd, out), 0, "ends");
	ok_ret(kmd_fence_status(env.fd, a), 0, "after the writer");
	drmSyncobjDestroy(env.fd, a);
	kmd_env_free(&other);
}

/* Every job refers to the same buffer several times, with different accesses. */
static void test_repeated_buffers(void)
{
	struct drm_cnnacc_task task = kmd_task(kmd_program_nop(&env));
	struct kmd_env other[4];
	struct drm_cnnacc_bo_ref refs[6];
	struct drm_cnnacc_job jobs[8];
	uint32_t i, n;
	int ret = 0;

	for (i = 0; i < ARRAY_LEN(refs); i++) {
		refs[i].handle = i < 4 ? env.data.handle : env.program.handle;
		refs[i].flags = i % 2 ? DRM_CNNACC_BO_REF_READ : DRM_CNNACC_BO_REF_WRITE;
	}
	for (i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i] = (struct drm_cnnacc_job){
			.core = env.core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
			.bos = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(refs), refs),
		};
	for (i = 0; i < ARRAY_LEN(other); i++) {
		other[i] = kmd_env(env.fd);
		kmd_program_nop(&other[i]);
	}
	for (n = 1; n <= ARRAY_LEN(jobs) && !ret; n++)
		for (i = 0; i < ARRAY_LEN(other) && !ret; i++)
			ret = kmd_submit_jobs(env.fd, other[i].ctx, jobs, n);
	ok_ret(ret, 0, "buffers named again and again");
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "are sorted out");
	for (i = 0; i < ARRAY_LEN(other); i++)
		kmd_env_free(&other[i]);
}

/* A SUBMIT at all of its limits. */
static void test_large(void)
{
	static struct drm_cnnacc_task tasks[64];
	static struct drm_cnnacc_sync syncs[32];
	static struct drm_cnnacc_bo_ref refs[128];
	static struct drm_cnnacc_job jobs[64];
	uint32_t i;

	kmd_program_nop(&env);
	for (i = 0; i < ARRAY_LEN(tasks); i++)
		tasks[i] = task_at(KMD_PROGRAM_VA, 4);
	for (i = 0; i < ARRAY_LEN(syncs); i++)
		syncs[i] = (struct drm_cnnacc_sync){ .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	for (i = 0; i < ARRAY_LEN(refs); i++)
		refs[i] = (struct drm_cnnacc_bo_ref){ .handle = env.data.handle, .flags = 3 };
	for (i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i] = (struct drm_cnnacc_job){
			.core = env.core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(tasks), tasks),
			.syncs = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(syncs), syncs),
			.bos = DRM_CNNACC_OBJ_ARRAY(ARRAY_LEN(refs), refs),
		};
	ok_ret(kmd_submit_jobs(env.fd, env.ctx, jobs, ARRAY_LEN(jobs)), 0,
	       "a SUBMIT with everything at its limit");
	ok_ret(kmd_wait(env.fd, out), 0, "ends");
}

int main(void)
{
	int fd = kmd_open();

	env = kmd_env(fd);
	kmd_program_nop(&env);
	out = kmd_syncobj(fd);
	if (drmSyncobjCreate(fd, DRM_SYNCOBJ_CREATE_SIGNALED, &signalled))
		bail("drmSyncobjCreate");
	test_arguments();
	test_tasks();
	test_jobs();
	test_failed_dependency();
	test_timeline();
	test_implicit();
	test_repeated_buffers();
	test_large();
	return done_testing();
}
