// SPDX-License-Identifier: MIT
/*
 * kmd_coredump [SECONDS]: jobs fail and are dumped while the dumped memory is unmapped, or the
 * context or file is closed.  Runs for 5 s, and longer if a case has not run ROUNDS_MIN times.
 * Each program page contains its page number, so that a dump with a wrong page is detected; a
 * kernel with KASAN detects other use after free.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include <cnnacc_dump.h>

#include "kmd.h"

#define INTERVAL_PARAM	"/sys/module/cnnacc/parameters/dump_interval_ms"
#define DUMPS		"/sys/class/devcoredump"
#define PROGRAMS	16
#define PROGRAM_SIZE	16384u
#define PROGRAMS_VA	0xe0000000u
#define FILE_MAX	(4 << 20)
#define JOBS_AHEAD	4
#define ROUNDS_MIN	4
#define DUMPS_MIN	3
#define MORE_S		60	/* additional time if there are too few dumps */

static bool stop;
static unsigned int programs_seen;
static _Atomic unsigned int dumps, wrong;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* ---- dumps ----------------------------------------------------------------------------- */

static void check_program(uint64_t va, const uint8_t *bytes, uint64_t size)
{
	if (va < PROGRAMS_VA || va >= PROGRAMS_VA + PROGRAMS * PROGRAM_SIZE)
		return;
	programs_seen++;
	for (uint64_t at = 0; at + 4 <= size; at += 4) {
		uint32_t word, page = (uint32_t)((va + at) >> CNNACC_PAGE_SHIFT);

		memcpy(&word, bytes + at, 4);
		if (word != page) {
			note("VA 0x%llx holds 0x%x", (unsigned long long)(va + at), word);
			wrong++;
			return;
		}
	}
}

static void check_dump(const uint8_t *data, uint64_t size)
{
	struct cnnacc_dump_header header;
	struct cnnacc_dump_section s;
	uint64_t at = sizeof(header);

	memcpy(&header, data, sizeof(header));
	if (size < sizeof(header) || header.magic != CNNACC_DUMP_MAGIC || header.size != size) {
		note("no dump: %llu bytes", (unsigned long long)size);
		wrong++;
		return;
	}
	for (; at + sizeof(s) <= size; at += sizeof(s) + ((s.size + 7) & ~7ull)) {
		memcpy(&s, data + at, sizeof(s));
		if (s.size > size - at - sizeof(s)) {
			note("section %u is cut off", s.type);
			wrong++;
			return;
		}
		if (s.type == CNNACC_DUMP_PROGRAM)
			check_program(s.va, data + at + sizeof(s), s.size);
	}
	dumps++;
}

static void fetch(const char *name, uint8_t *data)
{
	char path[320];
	uint64_t size = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), DUMPS "/%s/data", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	while (size < FILE_MAX && (n = read(fd, data + size, FILE_MAX - size)) > 0)
		size += (uint64_t)n;
	if (!n)
		check_dump(data, size);
	/* It may have been removed already. */
	(void)!write(fd, "1", 1);
	close(fd);
}

static void *read_dumps(void *arg)
{
	uint8_t *data = malloc(FILE_MAX);
	struct dirent *e;
	bool last;
	DIR *dir;

	(void)arg;
	do {
		last = stopped();
		dir = opendir(DUMPS);
		while (dir && (e = readdir(dir)))
			if (*e->d_name != '.')
				fetch(e->d_name, data);
		if (dir)
			closedir(dir);
		usleep(1000);
	} while (!last);
	free(data);
	return NULL;
}

/* ---- who is dumped --------------------------------------------------------------------- */

static uint64_t program_va(unsigned int i)
{
	return PROGRAMS_VA + (uint64_t)i * PROGRAM_SIZE;
}

/* A program whose pages contain their page numbers; unmapping it frees its memory. */
static int map_program(const struct kmd_env *env, unsigned int i)
{
	struct kmd_bo bo = kmd_bo(env->fd, DRM_CNNACC_BO_PROGRAM, PROGRAM_SIZE);
	uint32_t *words = bo.map;
	int ret;

	for (uint32_t at = 0; at < PROGRAM_SIZE / 4; at++)
		words[at] = (uint32_t)((program_va(i) + 4 * at) >> CNNACC_PAGE_SHIFT);
	ret = kmd_map(env->fd, env->vm, bo.handle, DRM_CNNACC_BIND_EXEC, program_va(i),
		      PROGRAM_SIZE);
	kmd_bo_free(env->fd, &bo);
	return ret;
}

static struct kmd_env new_env(void)
{
	struct kmd_env env = kmd_env(kmd_open());

	for (unsigned int i = 0; i < PROGRAMS; i++)
		if (map_program(&env, i))
			bail("VM_BIND");
	return env;
}

/* Keeps JOBS_AHEAD failing jobs queued. */
static void *fail_jobs(void *arg)
{
	struct kmd_env *env = arg;
	uint32_t length = kmd_program_illegal(env), out[JOBS_AHEAD];

	for (int i = 0; i < JOBS_AHEAD; i++)
		out[i] = kmd_syncobj(env->fd);
	for (unsigned int n = 0; !stopped(); n++) {
		uint32_t handle = out[n % JOBS_AHEAD];

		int ret = n < JOBS_AHEAD ? -EINVAL : kmd_wait(env->fd, handle);

		if (ret != -EINVAL) {
			note("a job ended %d", ret);
			wrong++;
		}
		if (kmd_submit(env, length, 0, handle))
			bail("SUBMIT");
		usleep((useconds_t)rand() % 2000);
	}
	for (int i = 0; i < JOBS_AHEAD; i++)
		drmSyncobjDestroy(env->fd, out[i]);
	return NULL;
}

static void test_unmap(double end)
{
	struct kmd_env env = new_env();
	unsigned int n = 0, odd = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, fail_jobs, &env);
	for (; n < ROUNDS_MIN || kmd_seconds() < end + (dumps < DUMPS_MIN ? MORE_S : 0); n++) {
		odd += !!kmd_unmap(env.fd, env.vm, program_va(n % PROGRAMS), PROGRAM_SIZE);
		odd += !!map_program(&env, n % PROGRAMS);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	ok(!odd, "%u programs unmapped and mapped while their context is dumped", n);
	kmd_env_free(&env);
	close(env.fd);
}

/* Closes the context or the file while its job fails. */
static void test_end(double end, bool whole_file)
{
	unsigned int n = 0, odd = 0;

	for (; n < ROUNDS_MIN || kmd_seconds() < end; n++) {
		struct kmd_env env = new_env();

		odd += !!kmd_submit(&env, kmd_program_illegal(&env), 0, 0);
		usleep((useconds_t)rand() % 3000);
		if (!whole_file)
			odd += !!kmd_ctx_destroy(env.fd, env.ctx);
		munmap(env.program.map, env.program.size);
		munmap(env.data.map, env.data.size);
		close(env.fd);
	}
	ok(!odd, "%u %s end while they are dumped", n, whole_file ? "files" : "contexts");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5, start = kmd_seconds();
	struct kmd_left before = kmd_left();
	struct kmd_env env;
	pthread_t reader;

	if (access(DUMPS, F_OK)) {
		skip("coredumps", "the kernel has no devcoredump");
		return done_testing();
	}
	if (kmd_write_file(INTERVAL_PARAM, "0"))
		bail(INTERVAL_PARAM);
	pthread_create(&reader, NULL, read_dumps, NULL);
	test_unmap(start + seconds * 0.6);
	test_end(start + seconds * 0.8, false);
	test_end(start + seconds, true);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	kmd_write_file(INTERVAL_PARAM, "1000");
	ok(dumps >= DUMPS_MIN && programs_seen > dumps && !wrong, "%u dumps with %u of those programs, "
	   "%u wrong", dumps, programs_seen, wrong);
	env = kmd_env(kmd_open());
	ok_ret(kmd_run(&env, kmd_program_nop(&env)), 0, "the device still works");
	kmd_env_free(&env);
	close(env.fd);
	kmd_check_left(before);
	return done_testing();
}
