/* SPDX-License-Identifier: MIT */
/* Shared by the ioctl-level tests: TAP, access to the device, small programs. */
#ifndef KMD_H
#define KMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

#include "core_programs.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Waits up to a minute for a condition: milliseconds can become seconds on a busy host. */
#define kmd_soon(condition) ({ \
	unsigned int kmd_tries; \
	\
	for (kmd_tries = 0; kmd_tries < 6000 && !(condition); kmd_tries++) \
		usleep(10000); \
	kmd_tries < 6000; \
})

/*
 * How often to try something that a busy host may spoil by delaying the guest or the device, such
 * as observing a job before it ends, or a time limit.
 */
#define KMD_TRIES	6

/* Tasks of a job at most. */
#define KMD_TASKS_MAX	64u
/* A job that runs for long, and leaves room for others in what a context may queue. */
#define KMD_LONG_TASKS	48u

/* VAs used by the helpers. */
#define KMD_PROGRAM_VA	0xf0000000u
#define KMD_DATA_VA	0x10000000u

/* TAP.  ok() returns its condition; a failed one prints the format as a diagnostic. */
bool ok(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool ok_ret(int got, int wanted, const char *format, ...) __attribute__((format(printf, 3, 4)));
void skip(const char *name, const char *reason);
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void bail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int done_testing(void);

/* An ioctl: 0 or -errno. */
int kmd_ioctl(int fd, unsigned long request, void *arg);

/* Pattern for the directory of a device in debugfs, with GLOB_BRACE. */
#define KMD_DEBUGFS	"/sys/kernel/debug/{accel/*,dri/[0-9]}"

/* Path of the device's node: $CNNACC_DEVICE, else that of the first device. */
const char *kmd_node(void);
int kmd_open(void);
/* Name of the first device in sysfs: of a PCI function or a platform device. */
const char *kmd_function(void);
/* Path of a sysfs file of that device; valid until the next call. */
const char *kmd_function_file(const char *name);
bool kmd_is_pci(void);
/* Writes the device's name to the driver's file bind or unbind: 0 or -errno. */
int kmd_driver_file(const char *name);
/* Writes a string to a sysfs or debugfs file with one write(): 0 or -errno. */
int kmd_write_file(const char *path, const char *text);
/* Keeps the device resumed, since runtime suspend clears its registers. */
void kmd_stay_awake(bool awake);
/* Compares the runtime PM status in sysfs. */
bool kmd_power_is(const char *wanted);
void kmd_dev_info(int fd, struct drm_cnnacc_dev_info *info);
void kmd_core_info(int fd, uint32_t core, struct drm_cnnacc_core_info *info);
/* The first core of a type; false: the device has none. */
bool kmd_find_core(int fd, uint32_t type, uint32_t *index);
/* The first core that there are programs for, and its index. */
const struct core_programs *kmd_find_programs(int fd, uint32_t *index);

uint32_t kmd_vm(int fd);
int kmd_vm_destroy(int fd, uint32_t vm);
uint32_t kmd_ctx_in(int fd, uint32_t vm);
/* In an address space of its own, which goes with it. */
uint32_t kmd_ctx(int fd);
int kmd_ctx_destroy(int fd, uint32_t ctx);
struct drm_cnnacc_ctx_query kmd_ctx_query(int fd, uint32_t ctx);

/* A buffer object, mapped into the process. */
struct kmd_bo {
	uint32_t handle;
	uint64_t size;
	void *map;
};

struct kmd_bo kmd_bo(int fd, uint32_t use, uint64_t size);
struct kmd_bo kmd_bo_flags(int fd, uint32_t use, uint32_t flags, uint64_t size);
void kmd_bo_free(int fd, struct kmd_bo *bo);
void *kmd_mmap(int fd, uint32_t handle, uint64_t size);

int kmd_map(int fd, uint32_t vm, uint32_t handle, uint32_t flags, uint64_t va, uint64_t size);
int kmd_unmap(int fd, uint32_t vm, uint64_t va, uint64_t size);

/* A context with a page of program and some pages of data, at the VAs above. */
struct kmd_env {
	int fd;
	uint32_t vm, ctx, core;
	const struct core_programs *programs;	/* of that core */
	struct kmd_bo program, data;
};

/* On the first core that there are programs for, or on that core. */
struct kmd_env kmd_env(int fd);
struct kmd_env kmd_env_on(int fd, uint32_t core);
void kmd_env_free(struct kmd_env *env);

/* Program counter of what kmd_program_illegal() writes. */
#define KMD_ILLEGAL_PC	2u

/* Programs: each returns its length in bytes. */
uint32_t kmd_program_nop(struct kmd_env *env);
uint32_t kmd_program_copy(struct kmd_env *env, uint32_t from, uint32_t to, uint32_t lines);
uint32_t kmd_program_load(struct kmd_env *env, uint32_t line, uint32_t lines);
uint32_t kmd_program_store(struct kmd_env *env, uint32_t line, uint32_t lines);
uint32_t kmd_program_endless(struct kmd_env *env);
uint32_t kmd_program_delay(struct kmd_env *env, uint32_t loops);
uint32_t kmd_program_illegal(struct kmd_env *env);
/* A task of some tenths of a second, on a host without other work. */
uint32_t kmd_program_long(struct kmd_env *env);

struct drm_cnnacc_task kmd_task(uint32_t length);
/* One of the program nop, which it writes behind whatever program the page begins with. */
struct drm_cnnacc_task kmd_task_nop(struct kmd_env *env);

/* One job of one task, out to a binary syncobj (0: none): 0 or -errno. */
int kmd_submit(struct kmd_env *env, uint32_t length, uint64_t cycle_limit, uint32_t out);
int kmd_submit_jobs(int fd, uint32_t ctx, const struct drm_cnnacc_job *jobs, uint32_t count);
/* The same; submit receives the argument as the kernel leaves it. */
int kmd_submit_told(int fd, uint32_t ctx, const struct drm_cnnacc_job *jobs, uint32_t count,
		    struct drm_cnnacc_submit *submit);
/* One job of several equal tasks. */
int kmd_submit_tasks(struct kmd_env *env, uint32_t length, uint32_t tasks, uint32_t flags,
		     uint32_t out);
/* Waits until the core runs, or the job that signals out has ended; true if it has not ended. */
bool kmd_runs(const struct kmd_env *env, uint32_t out);

uint32_t kmd_syncobj(int fd);
/* Absolute CLOCK_MONOTONIC time ms milliseconds from now. */
int64_t kmd_deadline(int64_t ms);
/* Waits for a syncobj and returns its fence's error, 0, or -ETIME after 120 s. */
int kmd_wait(int fd, uint32_t syncobj);
int kmd_fence_status(int fd, uint32_t syncobj);
/* Submits and waits: the fence's error. */
int kmd_run(struct kmd_env *env, uint32_t length);
int kmd_run_limited(struct kmd_env *env, uint32_t length, uint64_t cycle_limit);

double kmd_seconds(void);
/* Kills a running child; returns the seconds until it has exited, -1 if it had already ended. */
double kmd_kill(pid_t pid);

/*
 * Writes a register behind the driver's back, through the PCI function's BAR; needs iomem=relaxed on
 * the kernel's command line.
 */
void kmd_poke(uint32_t offset, uint32_t value);
/* Has the driver reset the device, or the core of that name, through debugfs: 0 or -errno. */
int kmd_force_reset(const char *what);
/* Lets the driver ban contexts that keep failing, or not, as kmd_open() does: 0 or -errno. */
int kmd_ban(bool ban);

/* A value in the fdinfo of this process, by its full key; ~0 if it is missing. */
uint64_t kmd_fdinfo(int fd, const char *prefix, const char *suffix);

/* Usage of a core by all contexts of a file, from its fdinfo. */
struct kmd_usage {
	uint64_t jobs, busy_ns, cycles;
};

struct kmd_usage kmd_usage(int fd, uint32_t core);

/* Number of processes and kernel threads whose name is counted. */
unsigned int kmd_count_threads(bool (*counted)(const char *name));

/* Whether the kernel is that of "scripts/build-debug-kernel debug", whose objects are larger. */
bool kmd_has_checkers(void);

/* Number of messages with a text in the kernel's log. */
unsigned int kmd_log_count(const char *text);

/* Totals over all files of the device, from debugfs; -1 without it. */
struct kmd_left {
	long long contexts, vms, buffers;
};

struct kmd_left kmd_left(void);
/* Checks that totals return to earlier values; waits, as contexts are destroyed asynchronously. */
void kmd_check_left(struct kmd_left before);

#endif
