// SPDX-License-Identifier: MIT
/*
 * Observability: fdinfo as defined by drm-usage-stats.rst, sysfs, debugfs and
 * tracepoints; all must be consistent.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xf86drm.h>

#include "kmd.h"

#define TRACE "/sys/kernel/tracing/instances/kmd"
#define ABORT_PARAM "/sys/module/cnnacc/parameters/abort_ms"

static char core_name[16];	/* as in keys: NAME.INDEX */
static char device_dir[64];	/* in sysfs */
static char debug_dir[300];	/* in debugfs; "" without it */

/* ---- files ----------------------------------------------------------------------------- */

/* Contents of a file in a static buffer; NULL if it cannot be read. */
static const char *read_text(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n;

	if (fd < 0)
		return NULL;
	while ((n = read(fd, text + at, sizeof(text) - 1 - at)) > 0)
		at += n;
	close(fd);
	text[at] = '\0';
	return n < 0 ? NULL : text;
}

static const char *debug_text(const char *name)
{
	char path[320];
	const char *text;

	snprintf(path, sizeof(path), "%s/%s", debug_dir, name);
	text = read_text(path);
	return text ? text : "";
}

static int force_reset(const char *what)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/force_reset", debug_dir);
	return kmd_write_file(path, what);
}

/* The number after KEY in a line that contains WHERE; ~0 if there is none. */
static uint64_t value_in(const char *text, const char *where, const char *key)
{
	const char *line = strstr(text, where), *end = line ? strchr(line, '\n') : NULL, *at;

	at = line ? strstr(line, key) : NULL;
	if (!at || (end && at > end))
		return UINT64_MAX;
	return strtoull(at + strlen(key), NULL, 0);
}

static uint64_t sysfs_value(const char *name)
{
	char path[128];
	const char *text;

	snprintf(path, sizeof(path), "%s/%s", device_dir, name);
	text = read_text(path);
	return text ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* Busy time of all cores. */
static uint64_t sysfs_busy(void)
{
	uint64_t sum = 0, value;
	char name[32];

	for (uint32_t i = 0; ; i++) {
		snprintf(name, sizeof(name), "core%u_busy_time_ns", i);
		value = sysfs_value(name);
		if (value == UINT64_MAX)
			return sum;
		sum += value;
	}
}

static void find_dirs(struct kmd_env *env)
{
	struct drm_cnnacc_core_info core;
	struct stat st;
	glob_t found;

	kmd_core_info(env->fd, env->core, &core);
	snprintf(core_name, sizeof(core_name), "%s.%u", core.name, env->core);
	if (fstat(env->fd, &st))
		bail("fstat");
	snprintf(device_dir, sizeof(device_dir), "/sys/dev/char/%u:%u/device",
		 major(st.st_rdev), minor(st.st_rdev));
	if (!glob(KMD_DEBUGFS "/force_reset", GLOB_BRACE, NULL, &found)) {
		snprintf(debug_dir, sizeof(debug_dir), "%s", found.gl_pathv[0]);
		*strrchr(debug_dir, '/') = '\0';
		globfree(&found);
	}
}

/* ---- the user's side ------------------------------------------------------------------- */

/* A copy of lines with a statistics record at the end of the data. */
static int run_with_stats(struct kmd_env *env, uint32_t lines, struct cnnacc_stats *sum)
{
	struct drm_cnnacc_sync sync = {
		.flags = DRM_CNNACC_SYNC_SIGNAL, .handle = kmd_syncobj(env->fd),
	};
	struct drm_cnnacc_task task = kmd_task(kmd_program_copy(env, KMD_DATA_VA,
								KMD_DATA_VA + 16384, lines));
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};
	struct cnnacc_stats *record = (void *)((char *)env->data.map + 60 * 1024);
	int ret;

	task.flags = DRM_CNNACC_TASK_STATS;
	task.stats_va = KMD_DATA_VA + 60 * 1024;
	ret = kmd_submit_jobs(env->fd, env->ctx, &job, 1);
	if (!ret)
		ret = kmd_wait(env->fd, sync.handle);
	drmSyncobjDestroy(env->fd, sync.handle);
	sum->cycles += record->cycles;
	sum->jobs += record->jobs;
	return ret;
}

/* Alternating jobs of two files: each is charged with its own usage. */
static void test_usage(struct kmd_env *env, struct kmd_env *other)
{
	struct cnnacc_stats sum[2] = { };
	struct kmd_usage s[2];
	int i, ret = 0;

	for (i = 0; i < 10 && !ret; i++)
		ret = run_with_stats(i % 3 ? env : other, 1 + i * 7, &sum[i % 3 ? 0 : 1]);
	ok_ret(ret, 0, "jobs of two files");
	s[0] = kmd_usage(env->fd, env->core);
	s[1] = kmd_usage(other->fd, other->core);
	for (i = 0; i < 2; i++) {
		ok(s[i].jobs == sum[i].jobs && s[i].cycles == sum[i].cycles,
		   "fdinfo: jobs and cycles are those of the statistics records");
		ok(s[i].busy_ns > 0, "fdinfo: it took time");
	}
}

#define SIZE "[0-9]+( KiB| MiB)?"

/* Keys and units in drm-usage-stats.rst and Documentation/driver/driver.rst. */
static const struct fdinfo_line {
	const char *key, *value;	/* patterns; - and the core follow the key of one per core */
	enum { ONCE, ON_PCI, PER_CORE, MAY_LACK } how_often;
} fdinfo_lines[] = {
	{ "drm-driver", "cnnacc", ONCE },
	{ "drm-client-id", "[0-9]+", ONCE },
	{ "drm-pdev", "[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]", ON_PCI },
	{ "drm-engine", "[0-9]+ ns", PER_CORE },
	{ "drm-cycles", "[0-9]+", PER_CORE },
	{ "drm-maxfreq", "[1-9][0-9]* Hz", PER_CORE },
	{ "cnnacc-jobs", "[0-9]+", PER_CORE },
	{ "drm-total-memory", SIZE, ONCE },
	{ "drm-shared-memory", SIZE, ONCE },
	{ "drm-resident-memory", SIZE, ONCE },
	/* Kernels from 6.14 on omit these if they are zero. */
	{ "drm-active-memory", SIZE, MAY_LACK },
	{ "drm-purgeable-memory", SIZE, MAY_LACK },
	{ "drm-client-name", ".*", MAY_LACK },
};

/* A pattern of the device's cores as they are in keys. */
static void core_keys(int fd, char *pattern, size_t size)
{
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_dev_info info;
	int len = 0;

	kmd_dev_info(fd, &info);
	for (uint32_t i = 0; i < info.core_count; i++) {
		kmd_core_info(fd, i, &core);
		len += snprintf(pattern + len, size - len, "%c%s\\.%u", i ? '|' : '(', core.name, i);
	}
	snprintf(pattern + len, size - len, ")");
}

/* The index of the pattern that the whole line matches, or -1. */
static int fdinfo_match(const char *line, const char *cores)
{
	char pattern[256];
	regex_t regex;
	int found;

	for (size_t i = 0; i < ARRAY_LEN(fdinfo_lines); i++) {
		const struct fdinfo_line *l = &fdinfo_lines[i];
		bool per_core = l->how_often == PER_CORE;

		snprintf(pattern, sizeof(pattern), "^%s%s%s:\t%s$", l->key, per_core ? "-" : "",
			 per_core ? cores : "", l->value);
		if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
			bail("pattern %s", pattern);
		found = !regexec(&regex, line, 0, NULL, 0);
		regfree(&regex);
		if (found)
			return (int)i;
	}
	return -1;
}

/* No duplicate key, no unknown key, no malformed value. */
static void test_fdinfo_format(struct kmd_env *env)
{
	unsigned int seen[ARRAY_LEN(fdinfo_lines)] = { }, twice = 0, unknown = 0, wrong = 0;
	char path[64], cores[128], copy[1 << 14], *line, *save = NULL;
	struct drm_cnnacc_dev_info info;
	struct drm_cnnacc_clocks clocks;
	struct drm_cnnacc_dev_query query = {
		.type = DRM_CNNACC_DEV_QUERY_CLOCKS, .result = DRM_CNNACC_OBJ_ARRAY(1, &clocks),
	};
	const char *text;

	kmd_dev_info(env->fd, &info);
	if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query))
		bail("DEV_QUERY CLOCKS");
	core_keys(env->fd, cores, sizeof(cores));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", env->fd);
	text = read_text(path);
	snprintf(copy, sizeof(copy), "\n%s", text ? text : "");
	text = strdup(copy);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char key[64];
		int match;

		if (strncmp(line, "drm-", 4) && strncmp(line, "cnnacc-", 7))
			continue;
		snprintf(key, sizeof(key), "\n%.*s:", (int)strcspn(line, ":"), line);
		twice += strstr(strstr(text, key) + 1, key) != NULL;
		match = fdinfo_match(line, cores);
		if (match >= 0)
			seen[match]++;
		else
			note("unknown: %s", line);
		unknown += match < 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(fdinfo_lines); i++) {
		const struct fdinfo_line *l = &fdinfo_lines[i];

		if (seen[i] == (l->how_often == PER_CORE ? info.core_count : 1) ||
		    (l->how_often == MAY_LACK && !seen[i]) ||
		    (l->how_often == ON_PCI && !seen[i] && !kmd_is_pci()))
			continue;
		note("%u times: %s", seen[i], l->key);
		wrong++;
	}
	free((char *)text);
	ok(!unknown, "fdinfo: every line is one of those documented, with its unit");
	ok(!wrong, "fdinfo: each is there, once or once per core");
	ok(!twice, "fdinfo: no key comes twice");
	ok(kmd_fdinfo(env->fd, "drm-maxfreq-", core_name) == clocks.max_hz, "fdinfo: tells the clock");
}

/* In KiB; not there if it is zero on kernels from 6.14 on. */
static uint64_t active_memory(int fd)
{
	uint64_t kib = kmd_fdinfo(fd, "drm-active-memory", "");

	return kib == UINT64_MAX ? 0 : kib;
}

/* Memory that is active while a job has not ended. */
static void test_fdinfo_active(struct kmd_env *env)
{
	uint32_t out = kmd_syncobj(env->fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_bo_ref ref = {
		.handle = env->data.handle, .flags = DRM_CNNACC_BO_REF_WRITE,
	};
	struct drm_cnnacc_task task = kmd_task(kmd_program_endless(env));
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
		.bos = DRM_CNNACC_OBJ_ARRAY(1, &ref),
	};
	struct drm_cnnacc_bo_create private = {
		.size = 128 << 10, .flags = DRM_CNNACC_BO_PRIVATE, .vm_id = env->vm,
	};
	int tries, submit = 0, end = 0;
	uint64_t active = 0;
	bool runs = false;

	ok_ret(kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_BO_CREATE, &private), 0, "a private buffer");
	task.cycle_limit = 200000000;
	for (tries = 0; tries < KMD_TRIES && !runs && !submit; tries++) {
		submit = kmd_submit_jobs(env->fd, env->ctx, &job, 1);
		active = active_memory(env->fd);
		runs = kmd_fence_status(env->fd, out) == -EBUSY;
		end = kmd_wait(env->fd, out);
	}
	ok_ret(submit, 0, "a job that refers to a buffer");
	ok_ret(end, -ETIMEDOUT, "ends");
	ok(active == 64 + 128, "fdinfo: its buffer and its address space's own were active, in KiB");
	/* The scheduler's fence, which counts, is signalled behind the job's own. */
	ok(kmd_soon(!active_memory(env->fd)), "fdinfo: none is now");
	drmCloseBufferHandle(env->fd, private.handle);
	drmSyncobjDestroy(env->fd, out);
}

static void test_fdinfo_memory(void)
{
	struct drm_cnnacc_bo_create create = { .size = 1 << 20 };
	int fd = kmd_open();
	struct kmd_env env = kmd_env(fd);

	/* One program page and 16 data pages, mapped for the device; 256 pages never accessed. */
	kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create);
	ok(kmd_fdinfo(fd, "drm-total-memory", "") == 1024 + 68, "fdinfo: all memory");
	ok(kmd_fdinfo(fd, "drm-resident-memory", "") == 68, "fdinfo: resident memory");
	ok(kmd_fdinfo(fd, "drm-shared-memory", "") == 0, "fdinfo: none is shared");
	drmCloseBufferHandle(fd, create.handle);
	kmd_env_free(&env);
	ok(kmd_fdinfo(fd, "drm-total-memory", "") == 0, "fdinfo: none is left");
	close(fd);
}

/* Busy time increases while a job runs, never decreases, and ends at the value in the records. */
static void test_running(struct kmd_env *env)
{
	uint32_t out = kmd_syncobj(env->fd), steps = 0;
	uint64_t before = kmd_fdinfo(env->fd, "drm-engine-", core_name), last = before, now, all;
	uint32_t length = kmd_program_long(env), tasks;
	bool back = false;
	int ret = 0;

	for (tasks = 1; tasks <= KMD_TASKS_MAX && steps <= 2 && !ret; tasks *= 2) {
		ret = kmd_submit_tasks(env, length, tasks, 0, out);
		while (kmd_fence_status(env->fd, out) == -EBUSY) {
			now = kmd_fdinfo(env->fd, "drm-engine-", core_name);
			back |= now < last;
			steps += now > last && kmd_fence_status(env->fd, out) == -EBUSY;
			last = now;
			usleep(5000);
		}
		ret = ret ? ret : kmd_wait(env->fd, out);
	}
	ok_ret(ret, 0, "a long job ends");
	now = kmd_fdinfo(env->fd, "drm-engine-", core_name);
	all = sysfs_busy();
	ok(steps > 2, "fdinfo: its time is counted while it runs (%u steps)", steps);
	ok(!back && now >= last, "fdinfo: and never goes back");
	ok(all >= now, "sysfs: the device was busy at least as long");
	drmSyncobjDestroy(env->fd, out);
}

static void test_sysfs(struct kmd_env *env)
{
	struct drm_cnnacc_dev_info info;
	char name[32];
	uint32_t i;

	kmd_dev_info(env->fd, &info);
	for (i = 0; i < info.core_count; i++) {
		snprintf(name, sizeof(name), "core%u_busy_time_ns", i);
		ok(sysfs_value(name) != UINT64_MAX, "sysfs: core %u has a busy time", i);
	}
	snprintf(name, sizeof(name), "core%u_busy_time_ns", i);
	ok(sysfs_value(name) == UINT64_MAX, "sysfs: there are no more cores");
}

/* ---- the administrator's side ---------------------------------------------------------- */

#define COUNTERS (sizeof(struct cnnacc_stats) / sizeof(uint64_t))

static void read_counters(uint64_t to[COUNTERS])
{
	static const char *const names[] = CNNACC_STATS_NAMES;
	const char *text = debug_text("stats");
	char key[32];
	size_t i;

	for (i = 0; i < COUNTERS; i++) {
		snprintf(key, sizeof(key), " %s=", names[i]);
		to[i] = value_in(text, core_name, key);
	}
}

/* The counters continue after the device has lost them: each time by one job. */
static void test_counters(struct kmd_env *env)
{
	const uint64_t *record = (void *)((char *)env->data.map + 60 * 1024);
	uint64_t before[COUNTERS], after[COUNTERS];
	struct cnnacc_stats sum = { };
	int i, slept = 0, wrong = 0;
	size_t n;

	for (i = 0; i < 6; i++) {
		read_counters(before);
		if (run_with_stats(env, 1 + i * 20, &sum))
			bail("SUBMIT");
		if (i % 2 && force_reset("device"))
			bail("force_reset");
		slept += kmd_soon(kmd_power_is("suspended"));
		read_counters(after);
		for (n = 0; n < COUNTERS; n++)
			wrong += after[n] != before[n] + record[n];
	}
	ok(slept == i, "debugfs: the device sleeps after each of %d jobs and %d resets", i, i / 2);
	ok(!wrong && sum.jobs == 6, "debugfs: and its counters are the sum of the records");
}

static void test_contexts(struct kmd_env *env)
{
	struct kmd_usage sum = { }, s = kmd_usage(env->fd, env->core);
	char mine[32], own[64];
	const char *text, *at;

	snprintf(mine, sizeof(mine), " pid=%d ", getpid());
	text = debug_text("contexts");
	ok(strstr(text, mine) && strstr(text, "comm=kmd_observe\n"),
	   "debugfs: a context tells whose it is");
	ok(value_in(text, mine, "dead=") == 0 && value_in(text, mine, "busy=") == 0 &&
	   value_in(text, mine, "submitted=") > 0, "debugfs: and how it is");
	snprintf(own, sizeof(own), " core %s jobs=", core_name);
	for (at = text; (at = strstr(at, own)); at++) {
		sum.jobs += value_in(at, own, "jobs=");
		sum.busy_ns += value_in(at, own, "busy_ns=");
	}
	ok(sum.jobs == s.jobs && sum.busy_ns == s.busy_ns,
	   "debugfs: the usage by its contexts adds up to that of the file");
}

static void test_mm(void)
{
	char range[64];
	const char *text = debug_text("mm");

	snprintf(range, sizeof(range), " %08x-%08x\n", KMD_DATA_VA, KMD_DATA_VA + 0xffff);
	ok(strstr(text, range), "debugfs: address ranges");
	ok(value_in(text, "buffers ", "count=") >= 2 &&
	   value_in(text, "buffers ", "resident=") >= 68 * 1024, "debugfs: memory of buffers");
}

/* Contents of debugfs/queues once the core's oldest job has run for a millisecond. */
static const char *queues_with_age(const char *oldest)
{
	const char *text = "";

	kmd_soon(value_in(text = debug_text("queues"), oldest, "age_ms=") - 1 < 60000);
	return text;
}

/* A long job in the ring is visible there; a reset of its core ends it and nothing else. */
static void test_busy_core(struct kmd_env *env)
{
	uint32_t out = kmd_syncobj(env->fd), next = kmd_syncobj(env->fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = next };
	struct drm_cnnacc_task nop = kmd_task_nop(env);
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &nop),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};
	struct drm_cnnacc_ctx_query q;
	char oldest[32], queue[32];
	uint64_t resets;
	const char *text;

	snprintf(oldest, sizeof(oldest), "%s oldest ", core_name);
	snprintf(queue, sizeof(queue), "%s enabled=1", core_name);
	resets = value_in(debug_text("queues"), core_name, "resets=");
	kmd_submit_tasks(env, kmd_program_long(env), KMD_LONG_TASKS, 0, out);
	kmd_submit_jobs(env->fd, env->ctx, &job, 1);
	text = queues_with_age(oldest);
	ok(value_in(text, queue, "jobs=") >= 1 && value_in(text, queue, "tasks=") >= 1,
	   "debugfs: a queue's jobs");
	ok(value_in(text, oldest, "age_ms=") >= 1 &&
	   value_in(text, oldest, "age_ms=") < 60000, "debugfs: the age of the oldest");
	ok_ret(force_reset(core_name), 0, "debugfs: reset of a core");
	ok_ret(kmd_wait(env->fd, out), -ECANCELED, "takes the job that runs");
	q = kmd_ctx_query(env->fd, env->ctx);
	ok(q.reset_jobs >= 1 && !q.failed_jobs, "which is not to blame");
	ok(value_in(debug_text("queues"), core_name, "resets=") == resets + 1, "and is counted");
	ok_ret(kmd_wait(env->fd, next), 0, "and the next one runs");
	drmSyncobjDestroy(env->fd, out);
	drmSyncobjDestroy(env->fd, next);
}

static void test_force_reset(struct kmd_env *env)
{
	struct drm_cnnacc_dev_info before, after;
	uint64_t busy = sysfs_busy();
	struct kmd_usage s = kmd_usage(env->fd, env->core), t;
	char unknown[32];

	kmd_dev_info(env->fd, &before);
	ok_ret(force_reset(core_name), 0, "debugfs: reset of an idle core");
	ok_ret(kmd_run(env, kmd_program_nop(env)), 0, "it runs jobs again");
	ok_ret(force_reset("device\n"), 0, "debugfs: reset of the device");
	ok_ret(kmd_run(env, kmd_program_copy(env, KMD_DATA_VA, KMD_DATA_VA + 4096, 2)), 0,
	       "it runs jobs again");
	kmd_dev_info(env->fd, &after);
	ok(after.reset_count == before.reset_count + 1, "and is counted");
	t = kmd_usage(env->fd, env->core);
	ok(t.jobs == s.jobs + 2 && t.cycles > s.cycles && sysfs_busy() >= busy,
	   "usage goes on from where it was");
	snprintf(unknown, sizeof(unknown), "%.*s.9", (int)strcspn(core_name, "."), core_name);
	ok_ret(force_reset(unknown), -EINVAL, "debugfs: reset of an unknown core");
	ok_ret(force_reset(""), -EINVAL, "debugfs: reset of nothing");
	ok_ret(force_reset("a name that no core has"), -EINVAL, "debugfs: a name too long");
}

static void test_reset_restarts(struct kmd_env *env)
{
	struct drm_cnnacc_task task = kmd_task(kmd_program_delay(env, 20000000));
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(env->fd, env->ctx);
	uint32_t out = kmd_syncobj(env->fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_job job = {
		.core = env->core,
		.flags = DRM_CNNACC_JOB_RESTARTABLE,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	kmd_submit_jobs(env->fd, env->ctx, &job, 1);
	kmd_runs(env, out);
	ok_ret(force_reset(core_name), 0, "debugfs: reset of a core with a restartable job");
	ok_ret(kmd_wait(env->fd, out), 0, "which is run again");
	ok(kmd_ctx_query(env->fd, env->ctx).reset_jobs == before.reset_jobs,
	   "and not counted as lost");
	drmSyncobjDestroy(env->fd, out);
}

/*
 * Short jobs and a long one behind them in the ring: a reset that hits the core between two jobs
 * ends the next one, but does not report it as hung.  A busy host may keep the device from an ABORT
 * for longer than the driver waits, so it waits longer here.
 */
static void test_reset_blames_nobody(struct kmd_env *env)
{
	const uint32_t length = kmd_program_delay(env, 60000000);
	struct drm_cnnacc_ctx_query before = kmd_ctx_query(env->fd, env->ctx), after;
	uint32_t i, round, out = kmd_syncobj(env->fd);
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_task task[64];
	struct drm_cnnacc_job job[64];
	char abort_ms[16] = "";
	const char *text;
	pid_t child;

	text = read_text(ABORT_PARAM);
	if (text)
		snprintf(abort_ms, sizeof(abort_ms), "%.15s", text);
	kmd_core_info(env->fd, env->core, &core);
	for (i = 0; i < 64; i++) {
		/* Together they fit a batch. */
		task[i] = i < 63 ? kmd_task_nop(env) : kmd_task(length);
		task[i].cycle_limit = i < 63 ? 10000 : core.job_cycles_max - 63 * 10000;
		job[i] = (struct drm_cnnacc_job){
			.core = env->core,
			.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task[i]),
			.syncs = DRM_CNNACC_OBJ_ARRAY(i == 63, &sync),
		};
	}
	ok(!kmd_write_file(ABORT_PARAM, "60000"), "abort_ms can be changed");
	child = fork();
	while (!child)
		force_reset(core_name);
	for (round = 0; round < 40; round++) {
		kmd_submit_jobs(env->fd, env->ctx, job, 64);
		kmd_wait(env->fd, out);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	kmd_write_file(ABORT_PARAM, abort_ms);
	after = kmd_ctx_query(env->fd, env->ctx);
	note("%u jobs lost", after.reset_jobs - before.reset_jobs);
	ok(after.reset_jobs > before.reset_jobs, "debugfs: resets of a busy core take jobs");
	ok(after.failed_jobs == before.failed_jobs, "and blame none");
	ok_ret(kmd_run(env, kmd_program_nop(env)), 0, "it runs jobs again");
	drmSyncobjDestroy(env->fd, out);
}

/* ---- tracepoints ----------------------------------------------------------------------- */

/* Start of the next line after FROM that contains all of the words; NULL if there is none. */
static const char *find_line(const char *from, const char *event, const char *a, const char *b)
{
	const char *line, *end, *at;

	for (line = from; line && *line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		at = strstr(line, event);
		if (!at || (end && at > end))
			continue;
		if ((at = strstr(line, a)) && (!end || at < end) &&
		    (at = strstr(line, b)) && (!end || at < end))
			return line;
	}
	return NULL;
}

/* The trace once it contains a line: a fence may be signalled before its event is readable. */
static const char *trace_with(const char *event, const char *a, const char *b)
{
	const char *text = NULL;

	kmd_soon(find_line(text = read_text(TRACE "/trace"), event, a, b));
	return text;
}

static void trace_good(struct kmd_env *env)
{
	const char *text, *queue, *start, *done;
	char core[16];
	uint64_t fence[2];

	snprintf(core, sizeof(core), "core=%u ", env->core);
	kmd_write_file(TRACE "/trace", "");
	kmd_run(env, kmd_program_nop(env));
	text = trace_with("cnnacc_job_done:", core, "error=0 class=0");
	queue = find_line(text, "cnnacc_job_queue:", core, "tasks=1");
	start = find_line(text, "cnnacc_job_start:", core, "tasks=1");
	done = find_line(text, "cnnacc_job_done:", core, "error=0 class=0");
	ok(queue && start && done, "trace: queue, start and done");
	ok(queue < start && start < done, "trace: in this order");
	if (!queue || !done)
		return;
	fence[0] = value_in(queue, "cnnacc_job_queue:", "fence=");
	fence[1] = value_in(done, "cnnacc_job_done:", "fence=");
	ok(fence[0] == fence[1] && value_in(queue, "cnnacc_job_queue:", "seqno=") ==
	   value_in(done, "cnnacc_job_done:", "seqno="), "trace: of one job and fence");
	ok(value_in(done, "cnnacc_job_done:", "cycles=") > 0, "trace: with its cycles");
}

static void trace_fault(struct kmd_env *env)
{
	const char *text, *fault, *done;

	kmd_write_file(TRACE "/trace", "");
	kmd_run(env, kmd_program_load(env, 0x50000040 / 64, 1));
	trace_with("cnnacc_job_done:", "error=-14 ", "class=2 ");
	text = trace_with("cnnacc_reset:", "core=0", "count=");
	fault = find_line(text, "cnnacc_fault:", "class=2 ", "va=0x50000040");
	done = find_line(text, "cnnacc_job_done:", "error=-14 ", "class=2 ");
	ok(fault && done && fault < done, "trace: a fault, with its class and address");
	ok(find_line(text, "cnnacc_reset:", "core=0", "count="), "trace: the core's reset");
}

/* Checks the trace of a device reset that returned ret. */
static void trace_device_reset(int ret, const char *what)
{
	ok_ret(ret, 0, "%s", what);
	ok(find_line(trace_with("cnnacc_reset:", "core=-1", "count="), "cnnacc_reset:", "core=-1",
		     "count="), "trace: %s", what);
	kmd_write_file(TRACE "/trace", "");
}

static void test_trace(struct kmd_env *env)
{
	if (access("/sys/kernel/tracing/events", F_OK)) {
		skip("tracepoints", "tracefs is not mounted");
		return;
	}
	mkdir(TRACE, 0700);
	if (!ok(!kmd_write_file(TRACE "/events/cnnacc/enable", "1"), "trace: events can be enabled"))
		return;
	trace_good(env);
	trace_fault(env);
	kmd_write_file(TRACE "/trace", "");
	if (*debug_dir)
		trace_device_reset(force_reset("device"), "the device's reset");
	if (kmd_is_pci())
		trace_device_reset(kmd_write_file(kmd_function_file("reset"), "1"),
				   "its reset from outside");
	kmd_write_file(TRACE "/events/cnnacc/enable", "0");
	rmdir(TRACE);
}

/* ---- while the device comes and goes ---------------------------------------------------- */

static void read_all(const char *pattern)
{
	glob_t found;
	size_t i;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		read_text(found.gl_pathv[i]);
	globfree(&found);
}

/* Repeatedly opens the device and reads all of its files in sysfs and debugfs. */
static _Noreturn void read_for_ever(void)
{
	char pattern[PATH_MAX];
	struct drm_cnnacc_vm_create vm = { };
	glob_t found;
	int fd = -1;

	for (;;) {
		if (fd < 0 && !glob("/dev/{accel/accel,dri/renderD}*", GLOB_BRACE, NULL, &found)) {
			fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
			globfree(&found);
			/* For the removal to free.  Without a device, that fails. */
			kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_CREATE, &vm);
		}
		snprintf(pattern, sizeof(pattern), "/proc/self/fdinfo/%d", fd);
		read_all(pattern);
		read_all("/sys/bus/*/drivers/cnnacc/[0-9a-f]*/*busy_time_ns");
		snprintf(pattern, sizeof(pattern), "%s/*", debug_dir);
		if (*debug_dir)
			read_all(pattern);
		if (rand() % 8 == 0 && fd >= 0) {
			close(fd);
			fd = -1;
		}
	}
}

/* Open files of the readers keep the number of the node in use for a moment. */
static int bind_for_good(void)
{
	int ret = 0;

	kmd_soon(kmd_driver_file("unbind") || (ret = kmd_driver_file("bind")) ||
		 !access(kmd_node(), F_OK));
	return ret;
}

static void test_unbind(void)
{
	pid_t readers[2];
	size_t i, n;
	int ret = 0;

	kmd_function();
	for (n = 0; n < ARRAY_LEN(readers); n++) {
		readers[n] = fork();
		if (!readers[n])
			read_for_ever();
	}
	for (i = 0; i < 5 && !ret; i++) {
		usleep(200000);
		ret = kmd_driver_file("unbind");
		usleep(50000);
		if (!ret)
			ret = kmd_driver_file("bind");
	}
	ok_ret(ret, 0, "all of it is read while the device comes and goes");
	for (n = 0; n < ARRAY_LEN(readers); n++) {
		kill(readers[n], SIGKILL);
		waitpid(readers[n], NULL, 0);
	}
	ok_ret(bind_for_good(), 0, "and comes for good");
}

int main(void)
{
	struct kmd_env other = kmd_env(kmd_open()), env = kmd_env(kmd_open());

	find_dirs(&env);
	test_usage(&env, &other);
	kmd_env_free(&other);
	close(other.fd);
	other = kmd_env(env.fd);
	test_fdinfo_format(&env);
	test_fdinfo_memory();
	test_fdinfo_active(&other);
	test_running(&env);
	test_sysfs(&env);
	if (*debug_dir) {
		test_counters(&env);
		test_contexts(&env);
		test_mm();
		test_busy_core(&env);
		test_force_reset(&env);
		test_reset_restarts(&env);
		test_reset_blames_nobody(&env);
	} else {
		skip("debugfs", "not mounted");
	}
	test_trace(&env);
	kmd_env_free(&other);
	kmd_env_free(&env);
	close(env.fd);
	test_unbind();
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "it runs a job again");
	kmd_env_free(&env);
	return done_testing();
}
