// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sync_file.h>
#include <xf86drm.h>

#include "kmd.h"

static int count, failures;

static void print_line(bool condition, const char *format, va_list args)
{
	printf("%sok %d - %s: ", condition ? "" : "not ", ++count, program_invocation_short_name);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	failures += !condition;
}

bool ok(bool condition, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(condition, format, args);
	va_end(args);
	return condition;
}

bool ok_ret(int got, int wanted, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(got == wanted, format, args);
	va_end(args);
	if (got != wanted)
		note("got %d (%s), wanted %d", got, strerror(got < 0 ? -got : 0), wanted);
	return got == wanted;
}

void skip(const char *name, const char *reason)
{
	printf("ok %d - %s: %s # SKIP %s\n", ++count, program_invocation_short_name, name, reason);
	fflush(stdout);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	va_end(args);
}

void bail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("not ok %d - %s: ", ++count, program_invocation_short_name);
	vprintf(format, args);
	printf(": %s\n1..%d\n", strerror(errno), count);
	va_end(args);
	exit(1);
}

int done_testing(void)
{
	printf("1..%d\n", count);
	return failures ? 1 : 0;
}

int kmd_ioctl(int fd, unsigned long request, void *arg)
{
	return drmIoctl(fd, request, arg) ? -errno : 0;
}

static bool banning;

/* Kernels without DRM_ACCEL have a render node.  It may change while the program runs. */
const char *kmd_node(void)
{
	const char *path = getenv("CNNACC_DEVICE");

	if (path)
		return path;
	return access("/sys/class/accel", F_OK) ? "/dev/dri/renderD128" : "/dev/accel/accel0";
}

int kmd_open(void)
{
	int fd = open(kmd_node(), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		bail("open the device");
	/* Most programs fail on purpose.  A user who is not root cannot, and need not, write there. */
	if (!banning)
		kmd_ban(false);
	return fd;
}

/* Absolute path of the device in sysfs, which stays valid when the driver is unbound. */
static const char *device_path(void)
{
	static char path[PATH_MAX];

	if (!*path && !realpath("/sys/class/accel/accel0/device", path) &&
	    !realpath("/sys/class/drm/renderD128/device", path))
		bail("sysfs node of the device");
	return path;
}

const char *kmd_function(void)
{
	return strrchr(device_path(), '/') + 1;
}

const char *kmd_function_file(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", device_path(), name);
	return path;
}

bool kmd_is_pci(void)
{
	return !access(kmd_function_file("vendor"), F_OK);
}

int kmd_driver_file(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/%s/drivers/cnnacc/%s",
		 kmd_is_pci() ? "pci" : "platform", name);
	return kmd_write_file(path, kmd_function());
}

int kmd_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

void kmd_stay_awake(bool awake)
{
	const char *path = kmd_function_file("power/control");

	if (kmd_write_file(path, awake ? "on" : "auto"))
		bail("%s", path);
}

bool kmd_power_is(const char *wanted)
{
	int fd = open(kmd_function_file("power/runtime_status"), O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		bail("runtime_status");
	close(fd);
	return !strncmp(text, wanted, strlen(wanted));
}

void kmd_dev_info(int fd, struct drm_cnnacc_dev_info *info)
{
	struct drm_cnnacc_dev_query query = {
		.type = DRM_CNNACC_DEV_QUERY_DEV_INFO, .result = DRM_CNNACC_OBJ_ARRAY(1, info),
	};

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query))
		bail("DEV_QUERY DEV_INFO");
}

void kmd_core_info(int fd, uint32_t core, struct drm_cnnacc_core_info *info)
{
	struct drm_cnnacc_core_info all[CNNACC_MAX_CORES];
	struct drm_cnnacc_dev_query query = {
		.type = DRM_CNNACC_DEV_QUERY_CORE_INFO,
		.result = DRM_CNNACC_OBJ_ARRAY(CNNACC_MAX_CORES, all),
	};

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_DEV_QUERY, &query))
		bail("DEV_QUERY CORE_INFO");
	*info = all[core];
}

bool kmd_find_core(int fd, uint32_t type, uint32_t *index)
{
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_dev_info info;

	kmd_dev_info(fd, &info);
	for (*index = 0; *index < info.core_count; ++*index) {
		kmd_core_info(fd, *index, &core);
		if (core.type == type)
			return true;
	}
	return false;
}

uint32_t kmd_vm(int fd)
{
	struct drm_cnnacc_vm_create create = { };

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_CREATE, &create))
		bail("VM_CREATE");
	return create.vm_id;
}

int kmd_vm_destroy(int fd, uint32_t vm)
{
	struct drm_cnnacc_vm_destroy destroy = { .vm_id = vm };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_DESTROY, &destroy);
}

uint32_t kmd_ctx_in(int fd, uint32_t vm)
{
	struct drm_cnnacc_ctx_create create = {
		.priority = DRM_CNNACC_PRIORITY_NORMAL, .vm_id = vm,
	};

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_CREATE, &create))
		bail("CTX_CREATE");
	return create.ctx_id;
}

uint32_t kmd_ctx(int fd)
{
	uint32_t vm = kmd_vm(fd), ctx = kmd_ctx_in(fd, vm);

	kmd_vm_destroy(fd, vm);
	return ctx;
}

int kmd_ctx_destroy(int fd, uint32_t ctx)
{
	struct drm_cnnacc_ctx_destroy destroy = { .ctx_id = ctx };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_DESTROY, &destroy);
}

struct drm_cnnacc_ctx_query kmd_ctx_query(int fd, uint32_t ctx)
{
	struct drm_cnnacc_ctx_query query = { .ctx_id = ctx };

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_CTX_QUERY, &query))
		bail("CTX_QUERY");
	return query;
}

void *kmd_mmap(int fd, uint32_t handle, uint64_t size)
{
	struct drm_cnnacc_bo_info info = { .handle = handle };
	void *map;

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_INFO, &info))
		bail("BO_INFO");
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, info.mmap_offset);
	if (map == MAP_FAILED)
		bail("mmap");
	return map;
}

struct kmd_bo kmd_bo_flags(int fd, uint32_t use, uint32_t flags, uint64_t size)
{
	struct drm_cnnacc_bo_create create = { .size = size, .use = use, .flags = flags };

	if (kmd_ioctl(fd, DRM_IOCTL_CNNACC_BO_CREATE, &create))
		bail("BO_CREATE");
	return (struct kmd_bo){
		.handle = create.handle,
		.size = create.size,
		.map = kmd_mmap(fd, create.handle, create.size),
	};
}

struct kmd_bo kmd_bo(int fd, uint32_t use, uint64_t size)
{
	return kmd_bo_flags(fd, use, 0, size);
}

void kmd_bo_free(int fd, struct kmd_bo *bo)
{
	munmap(bo->map, bo->size);
	drmCloseBufferHandle(fd, bo->handle);
}

static int bind_one(int fd, uint32_t vm, struct drm_cnnacc_bind_op *op)
{
	struct drm_cnnacc_vm_bind bind = { .vm_id = vm, .ops = DRM_CNNACC_OBJ_ARRAY(1, op) };

	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_VM_BIND, &bind);
}

int kmd_map(int fd, uint32_t vm, uint32_t handle, uint32_t flags, uint64_t va, uint64_t size)
{
	struct drm_cnnacc_bind_op op = {
		.op = DRM_CNNACC_BIND_MAP, .flags = flags, .handle = handle,
		.va = va, .size = size,
	};

	return bind_one(fd, vm, &op);
}

int kmd_unmap(int fd, uint32_t vm, uint64_t va, uint64_t size)
{
	struct drm_cnnacc_bind_op op = { .op = DRM_CNNACC_BIND_UNMAP, .va = va, .size = size };

	return bind_one(fd, vm, &op);
}

const struct core_programs *kmd_find_programs(int fd, uint32_t *index)
{
	const struct core_programs *programs;
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_dev_info info;

	kmd_dev_info(fd, &info);
	for (*index = 0; *index < info.core_count; ++*index) {
		kmd_core_info(fd, *index, &core);
		programs = core_programs(core.name);
		if (programs)
			return programs;
	}
	errno = ENODEV;
	bail("no core with programs for tests");
}

static struct kmd_env env_on(int fd, uint32_t core, const struct core_programs *programs)
{
	uint32_t vm = kmd_vm(fd);
	struct kmd_env env = {
		.fd = fd,
		.vm = vm,
		.ctx = kmd_ctx_in(fd, vm),
		.core = core,
		.programs = programs,
		.program = kmd_bo(fd, DRM_CNNACC_BO_PROGRAM, CNNACC_PAGE_SIZE),
		.data = kmd_bo(fd, DRM_CNNACC_BO_DATA, 16 * CNNACC_PAGE_SIZE),
	};

	if (kmd_map(fd, env.vm, env.program.handle, DRM_CNNACC_BIND_EXEC, KMD_PROGRAM_VA,
		    env.program.size) ||
	    kmd_map(fd, env.vm, env.data.handle, DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
		    KMD_DATA_VA, env.data.size))
		bail("VM_BIND");
	return env;
}

struct kmd_env kmd_env(int fd)
{
	uint32_t core;
	const struct core_programs *programs = kmd_find_programs(fd, &core);

	return env_on(fd, core, programs);
}

struct kmd_env kmd_env_on(int fd, uint32_t core)
{
	struct drm_cnnacc_core_info info;

	kmd_core_info(fd, core, &info);
	return env_on(fd, core, core_programs(info.name));
}

void kmd_env_free(struct kmd_env *env)
{
	kmd_bo_free(env->fd, &env->program);
	kmd_bo_free(env->fd, &env->data);
	kmd_ctx_destroy(env->fd, env->ctx);
	kmd_vm_destroy(env->fd, env->vm);
}

uint32_t kmd_program_nop(struct kmd_env *env)
{
	return env->programs->nop(env->program.map);
}

uint32_t kmd_program_copy(struct kmd_env *env, uint32_t from, uint32_t to, uint32_t lines)
{
	return env->programs->copy(env->program.map, from, to, lines);
}

uint32_t kmd_program_load(struct kmd_env *env, uint32_t line, uint32_t lines)
{
	return env->programs->load(env->program.map, line, lines);
}

uint32_t kmd_program_store(struct kmd_env *env, uint32_t line, uint32_t lines)
{
	return env->programs->store(env->program.map, line, lines);
}

uint32_t kmd_program_endless(struct kmd_env *env)
{
	return env->programs->endless(env->program.map);
}

uint32_t kmd_program_delay(struct kmd_env *env, uint32_t loops)
{
	return env->programs->delay(env->program.map, loops);
}

uint32_t kmd_program_long(struct kmd_env *env)
{
	return kmd_program_delay(env, env->programs->long_loops);
}

uint32_t kmd_program_illegal(struct kmd_env *env)
{
	return env->programs->illegal(env->program.map, KMD_ILLEGAL_PC);
}

struct drm_cnnacc_task kmd_task(uint32_t length)
{
	return (struct drm_cnnacc_task){
		.program_va = KMD_PROGRAM_VA,
		.program_len = length,
	};
}

struct drm_cnnacc_task kmd_task_nop(struct kmd_env *env)
{
	const uint32_t at = CNNACC_PAGE_SIZE / 2;
	struct drm_cnnacc_task task;

	_Static_assert(CNNACC_PAGE_SIZE / 2 >= CORE_PROGRAM_LONG, "no program is that long");
	task = kmd_task(env->programs->nop((uint32_t *)((char *)env->program.map + at)));
	task.program_va += at;
	return task;
}

int kmd_submit_told(int fd, uint32_t ctx, const struct drm_cnnacc_job *jobs, uint32_t jobs_count,
		    struct drm_cnnacc_submit *submit)
{
	*submit = (struct drm_cnnacc_submit){
		.ctx_id = ctx,
		.jobs = DRM_CNNACC_OBJ_ARRAY(jobs_count, jobs),
	};
	return kmd_ioctl(fd, DRM_IOCTL_CNNACC_SUBMIT, submit);
}

int kmd_submit_jobs(int fd, uint32_t ctx, const struct drm_cnnacc_job *jobs, uint32_t jobs_count)
{
	struct drm_cnnacc_submit submit;

	return kmd_submit_told(fd, ctx, jobs, jobs_count, &submit);
}

int kmd_submit(struct kmd_env *env, uint32_t length, uint64_t cycle_limit, uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task task = kmd_task(length);
	struct drm_cnnacc_job job = {
		.core = env->core,
		.tasks = DRM_CNNACC_OBJ_ARRAY(1, &task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(out ? 1 : 0, &sync),
	};

	task.cycle_limit = cycle_limit;
	return kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

int kmd_submit_tasks(struct kmd_env *env, uint32_t length, uint32_t tasks, uint32_t flags,
		     uint32_t out)
{
	struct drm_cnnacc_sync sync = { .flags = DRM_CNNACC_SYNC_SIGNAL, .handle = out };
	struct drm_cnnacc_task task[KMD_TASKS_MAX];
	struct drm_cnnacc_job job = {
		.core = env->core,
		.flags = flags,
		.tasks = DRM_CNNACC_OBJ_ARRAY(tasks, task),
		.syncs = DRM_CNNACC_OBJ_ARRAY(1, &sync),
	};

	for (uint32_t i = 0; i < tasks; i++)
		task[i] = kmd_task(length);
	return kmd_submit_jobs(env->fd, env->ctx, &job, 1);
}

bool kmd_runs(const struct kmd_env *env, uint32_t out)
{
	struct drm_cnnacc_reg_rw state = { };
	struct drm_cnnacc_core_info core;

	kmd_core_info(env->fd, env->core, &core);
	state.offset = core.queue_offset + CNNACC_QREG_STATE;
	while (kmd_fence_status(env->fd, out) == -EBUSY) {
		if (kmd_ioctl(env->fd, DRM_IOCTL_CNNACC_REG_RW, &state))
			bail("REG_RW");
		if (state.value == CNNACC_QSTATE_RUNNING)
			return true;
		usleep(1000);
	}
	return false;
}

uint32_t kmd_syncobj(int fd)
{
	uint32_t handle;

	if (drmSyncobjCreate(fd, 0, &handle))
		bail("drmSyncobjCreate");
	return handle;
}

int64_t kmd_deadline(int64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec + ms * 1000000;
}

double kmd_seconds(void)
{
	return kmd_deadline(0) / 1e9;
}

double kmd_kill(pid_t pid)
{
	double start;
	int status;

	/* kill(-1) would end all other processes. */
	if (pid < 0)
		return -1;
	usleep(200000);
	start = kmd_seconds();
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return -1;
	return kmd_seconds() - start;
}

void kmd_poke(uint32_t offset, uint32_t value)
{
	static volatile uint32_t *regs;
	off_t at = 0;
	void *map;
	int fd;

	if (!regs) {
		fd = open(kmd_function_file("resource0"), O_RDWR | O_CLOEXEC);
		if (!kmd_is_pci()) {
			/* Its name begins with its address. */
			fd = open("/dev/mem", O_RDWR | O_CLOEXEC);
			at = strtol(kmd_function(), NULL, 16);
		}
		map = mmap(NULL, CNNACC_REGS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
		if (fd < 0 || map == MAP_FAILED)
			bail("mmap of the registers, without iomem=relaxed?");
		regs = map;
		close(fd);
	}
	regs[offset / 4] = value;
}

static int write_debugfs(const char *pattern, const char *text)
{
	glob_t found;
	int ret;

	if (glob(pattern, GLOB_BRACE, NULL, &found))
		return -ENOENT;
	ret = kmd_write_file(found.gl_pathv[0], text);
	globfree(&found);
	return ret;
}

int kmd_force_reset(const char *what)
{
	return write_debugfs(KMD_DEBUGFS "/force_reset", what);
}

int kmd_ban(bool ban)
{
	banning = ban;
	return write_debugfs(KMD_DEBUGFS "/ban", ban ? "1" : "0");
}

uint64_t kmd_fdinfo(int fd, const char *prefix, const char *suffix)
{
	char path[64], key[64], line[256];
	uint64_t value = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(key, sizeof(key), "%s%s:", prefix, suffix);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

struct kmd_usage kmd_usage(int fd, uint32_t core)
{
	struct drm_cnnacc_core_info info;
	char name[20];

	kmd_core_info(fd, core, &info);
	snprintf(name, sizeof(name), "%s.%u", info.name, core);
	return (struct kmd_usage){
		.jobs = kmd_fdinfo(fd, "cnnacc-jobs-", name),
		.busy_ns = kmd_fdinfo(fd, "drm-engine-", name),
		.cycles = kmd_fdinfo(fd, "drm-cycles-", name),
	};
}

unsigned int kmd_count_threads(bool (*counted)(const char *name))
{
	DIR *proc = opendir("/proc");
	char path[64], name[64];
	struct dirent *entry;
	unsigned int n = 0;
	FILE *file;

	if (!proc)
		bail("/proc");
	while ((entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%.20s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		n += fgets(name, sizeof(name), file) && counted(name);
		fclose(file);
	}
	closedir(proc);
	return n;
}

bool kmd_has_checkers(void)
{
	return !access("/proc/self/fail-nth", F_OK);
}

unsigned int kmd_log_count(const char *text)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned int found = 0;
	char message[8192];
	ssize_t n;

	if (log < 0)
		bail("/dev/kmsg");
	/* EPIPE: the next message has been overwritten. */
	while ((n = read(log, message, sizeof(message) - 1)) > 0 || (n && errno == EPIPE)) {
		message[n > 0 ? n : 0] = '\0';
		found += strstr(message, text) != NULL;
	}
	close(log);
	return found;
}

int kmd_fence_status(int fd, uint32_t syncobj)
{
	struct sync_file_info info = { };
	int file, ret;

	if (drmSyncobjExportSyncFile(fd, syncobj, &file))
		return -errno;
	ret = ioctl(file, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
	close(file);
	/* 1: done, 0: not yet */
	return ret == 1 ? 0 : ret ? ret : -EBUSY;
}

int kmd_wait(int fd, uint32_t syncobj)
{
	int ret = drmSyncobjWait(fd, &syncobj, 1, kmd_deadline(120000), 0, NULL);

	return ret ? -ETIME : kmd_fence_status(fd, syncobj);
}

int kmd_run_limited(struct kmd_env *env, uint32_t length, uint64_t cycle_limit)
{
	uint32_t syncobj = kmd_syncobj(env->fd);
	int ret = kmd_submit(env, length, cycle_limit, syncobj);

	if (!ret)
		ret = kmd_wait(env->fd, syncobj);
	drmSyncobjDestroy(env->fd, syncobj);
	return ret;
}

int kmd_run(struct kmd_env *env, uint32_t length)
{
	return kmd_run_limited(env, length, 0);
}

/* Number of lines of a debugfs file that contain a text, or the number after it in the last one. */
static long long debugfs_number(const char *name, const char *text, bool count_lines)
{
	char path[128], line[512];
	long long n = count_lines ? 0 : -1;
	glob_t found;
	FILE *file;
	char *at;

	snprintf(path, sizeof(path), KMD_DEBUGFS "/%s", name);
	if (glob(path, GLOB_BRACE, NULL, &found))
		return -1;
	file = fopen(found.gl_pathv[0], "re");
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, text);
		if (at)
			n = count_lines ? n + 1 : strtoll(at + strlen(text), NULL, 10);
	}
	if (file)
		fclose(file);
	globfree(&found);
	return n;
}

struct kmd_left kmd_left(void)
{
	return (struct kmd_left){
		.contexts = debugfs_number("contexts", " pid=", true),
		.vms = debugfs_number("mm", " mappings=", true),
		.buffers = debugfs_number("mm", "buffers count=", false),
	};
}

void kmd_check_left(struct kmd_left before)
{
	struct kmd_left now;

	if (before.contexts < 0) {
		skip("nothing is left", "debugfs is not mounted");
		return;
	}
	if (!ok(kmd_soon((now = kmd_left(), now.contexts <= before.contexts &&
			  now.vms <= before.vms && now.buffers <= before.buffers)),
		"no context, no address space and no buffer is left"))
		note("contexts %lld and %lld, address spaces %lld and %lld, buffers %lld and %lld",
		     before.contexts, now.contexts, before.vms, now.vms, before.buffers,
		     now.buffers);
}
