// SPDX-License-Identifier: MIT
/*
 * kmd_fuzz [OPTION...]: random sequences of mostly valid calls of the driver and the DRM core, by
 * several threads at once, on private files and on a shared one.  Afterwards the device must still
 * run jobs, and all resources of the sequences must be freed.
 *
 * Sequence n of a run uses the seed "seed + n".  FUZZ_LIFE consecutive sequences use the same
 * files, so --seed and --count reproduce any part of a run that begins with new files; --threads 1
 * --verbose logs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <xf86drm.h>

#include "fuzz.h"

#define THREADS_MAX	16
#define STUCK_S		60.0	/* no call takes that long, even on a slow machine */
#define CHECK_EVERY	5000	/* sequences between two checks of the device */
#define TELL_EVERY	50000	/* sequences between two progress messages */
#define SUBMITS_MIN	500	/* from which on their share of good ones is checked */

static struct {
	uint64_t seed, count;
	double seconds;
	unsigned int threads;
} options = { .count = 10000, .seconds = 60, .threads = 3 };

static struct fuzz_base base;
static struct fuzz_world worlds[THREADS_MAX];
static uint64_t next_sequence, done, failures;
static double end;
static volatile bool over, paused;

static const char usage[] =
"usage: kmd_fuzz [--seed N] [--count N] [--seconds N] [--threads 1..16] [--verbose]\n"
"  --seed     of the first sequence (the time)\n"
"  --count    sequences (10000, as far as a minute goes)\n"
"  --seconds  no more sequences after that time\n"
"  --threads  at once (3)\n"
"  --verbose  show every call before it is made\n";

static void read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' }, { "count", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 'l' },
		{ "threads", required_argument, NULL, 't' }, { "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	double seconds = 0;
	int c;

	options.seed = (uint64_t)time(NULL) << 24;
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case 's': options.seed = strtoull(optarg, NULL, 0); break;
		case 'c':
			options.count = strtoull(optarg, NULL, 0);
			options.seconds = 1e9;
			break;
		case 'l': seconds = strtod(optarg, NULL); break;
		case 't': options.threads = strtoul(optarg, NULL, 0); break;
		case 'v': base.verbose = true; break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (seconds > 0)
		options.seconds = seconds;
	if (!options.threads || options.threads > THREADS_MAX || optind < argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* ---- what sequences use ----------------------------------------------------------------- */

static void write_programs(const struct core_programs *p, uint8_t *page)
{
#define AT(program)	((uint32_t *)(page + (program) * 256))
	uint32_t *length = base.program_len;

	length[FUZZ_NOP] = p->nop(AT(FUZZ_NOP));
	length[FUZZ_COPY] = p->copy(AT(FUZZ_COPY), KMD_DATA_VA, KMD_DATA_VA, 4);
	length[FUZZ_DELAY] = p->delay(AT(FUZZ_DELAY), 2000);
	length[FUZZ_ENDLESS] = p->endless(AT(FUZZ_ENDLESS));
	length[FUZZ_ILLEGAL] = p->illegal(AT(FUZZ_ILLEGAL), 1);
	length[FUZZ_FAULT] = p->load(AT(FUZZ_FAULT), 0x1000000, 1);
#undef AT
}

static int export_bo(struct kmd_bo *bo)
{
	int fd;

	if (drmPrimeHandleToFD(base.fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, &fd))
		bail("drmPrimeHandleToFD");
	return fd;
}

static void prepare(void)
{
	struct drm_cnnacc_reg_rw magic = { .offset = CNNACC_REG_MAGIC };
	struct drm_cnnacc_core_info core;
	struct drm_cnnacc_dev_info info;
	struct kmd_bo program, data;
	uint32_t with_programs;

	base.fd = kmd_open();
	base.shared_fd = kmd_open();
	kmd_dev_info(base.fd, &info);
	base.core_count = info.core_count;
	base.max_bo_size = info.max_bo_size;
	kmd_core_info(base.fd, 0, &core);
	base.queue = core.queue_offset;
	base.admin = !kmd_ioctl(base.fd, DRM_IOCTL_CNNACC_REG_RW, &magic);
	program = kmd_bo(base.fd, DRM_CNNACC_BO_PROGRAM, CNNACC_PAGE_SIZE);
	data = kmd_bo(base.fd, DRM_CNNACC_BO_DATA, FUZZ_DATA_SIZE);
	write_programs(kmd_find_programs(base.fd, &with_programs), program.map);
	base.program = export_bo(&program);
	base.data = export_bo(&data);
	kmd_bo_free(base.fd, &program);
	kmd_bo_free(base.fd, &data);
}

/* ---- the device afterwards -------------------------------------------------------------- */

/* A copy that must be correct.  Retries, as a sequence may reset the device or stop the queue. */
static bool device_works(void)
{
	struct kmd_env env = kmd_env(kmd_open());
	uint32_t *words = env.data.map;
	int ret, tries = 0;
	bool right;

	words[0] = 0x5eed;
	do
		ret = kmd_run(&env, kmd_program_copy(&env, KMD_DATA_VA, KMD_DATA_VA + 8192, 1));
	while (++tries < 20 && (ret == -ECANCELED || ret == -ETIMEDOUT));
	right = !ret && words[2048] == 0x5eed;
	kmd_env_free(&env);
	close(env.fd);
	return right;
}

/* ---- threads ---------------------------------------------------------------------------- */

/* Runs sequence n and regularly checks the device; false on a failure. */
static bool step(struct fuzz_world *w, uint64_t n)
{
	fuzz_sequence(w, options.seed + n, n % FUZZ_LIFE == 0);
	if (w->failed) {
		fuzz_print(w);
		return false;
	}
	if ((n + 1) % TELL_EVERY == 0)
		note("%llu sequences", (unsigned long long)n + 1);
	if ((n + 1) % CHECK_EVERY == 0 && !device_works()) {
		note("after sequence %#llx the device did not run a copy",
		     (unsigned long long)w->seed);
		return false;
	}
	return true;
}

/* Runs the sequences that use the same files, from sequence n on. */
static bool live(struct fuzz_world *w, uint64_t n)
{
	uint64_t last = n + FUZZ_LIFE < options.count ? n + FUZZ_LIFE : options.count;
	bool right = true;

	for (; n < last && right; n++) {
		for (w->started = 0; paused; )
			usleep(10000);
		right = step(w, n);
		__atomic_fetch_add(right ? &done : &failures, 1, __ATOMIC_RELAXED);
	}
	fuzz_finish(w);
	return right;
}

static void *worker(void *opaque)
{
	struct fuzz_world *w = opaque;
	uint64_t n;

	do
		n = __atomic_fetch_add(&next_sequence, FUZZ_LIFE, __ATOMIC_RELAXED);
	while (kmd_seconds() < end && n < options.count && live(w, n));
	return NULL;
}

static const struct fuzz_world *find_stuck(double since)
{
	unsigned int i;

	for (i = 0; i < options.threads; i++) {
		double started = worlds[i].started;

		if (started && started < since)
			return &worlds[i];
	}
	return NULL;
}

/*
 * Reports a call that does not end.  The other threads pause first, since a wait for a buffer
 * restarts when the buffer gets new fences.
 */
static void *watchdog(void *opaque)
{
	double pause = 0;

	(void)opaque;
	while (!over) {
		const struct fuzz_world *w = find_stuck(kmd_seconds() - STUCK_S);

		if (w && paused && kmd_seconds() - pause > STUCK_S) {
			fuzz_print(w);
			ok(false, "a call of sequence %#llx does not end",
			   (unsigned long long)w->seed);
			_exit(done_testing());
		}
		if (w && !paused) {
			note("sequence %#llx: a call has taken %.0f s",
			     (unsigned long long)w->seed, STUCK_S);
			pause = kmd_seconds();
		}
		paused = w;
		usleep(500000);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS_MAX], dog;
	unsigned int i;

	if (pthread_create(&dog, NULL, watchdog, NULL))
		bail("pthread_create");
	for (i = 0; i < options.threads; i++) {
		worlds[i].base = &base;
		if (pthread_create(&threads[i], NULL, worker, &worlds[i]))
			bail("pthread_create");
	}
	for (i = 0; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	over = true;
	pthread_join(dog, NULL);
}

/* A fuzzer whose calls are all refused finds nothing.  Few sequences may be any. */
static void check_calls(void)
{
	uint64_t calls = 0, good = 0, submits = 0, good_submits = 0;
	unsigned int i;

	for (i = 0; i < options.threads; i++) {
		calls += worlds[i].calls;
		good += worlds[i].good;
		submits += worlds[i].submits;
		good_submits += worlds[i].good_submits;
	}
	note("%llu calls, %llu %% good; %llu SUBMITs, %llu %% good", (unsigned long long)calls,
	     (unsigned long long)(good * 100 / (calls ? calls : 1)), (unsigned long long)submits,
	     (unsigned long long)(good_submits * 100 / (submits ? submits : 1)));
	ok(submits < SUBMITS_MIN || (good * 2 > calls && good_submits * 3 > submits),
	   "enough of the calls succeed");
}

int main(int argc, char **argv)
{
	struct kmd_left before;
	double start;

	read_options(argc, argv);
	before = kmd_left();
	prepare();
	note("%llu sequences from seed %#llx on, %u threads",
	     (unsigned long long)options.count, (unsigned long long)options.seed, options.threads);
	start = kmd_seconds();
	end = start + options.seconds;
	run_threads();
	note("%.0f sequences a second", done / (kmd_seconds() - start));
	check_calls();
	ok(!failures && done, "%llu sequences end as they may", (unsigned long long)done);
	ok(device_works(), "the device runs a job afterwards");
	close(base.program);
	close(base.data);
	close(base.shared_fd);
	close(base.fd);
	kmd_check_left(before);
	return done_testing();
}
