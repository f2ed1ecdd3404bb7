/* SPDX-License-Identifier: MIT */
/*
 * bench-peak ISA THREADS: what bounds a program that may not contract multiplications and additions.
 * ISA: avx512, avx2 or baseline (vectors of 16 bytes).  Prints "ready", then a figure for every line
 * on stdin: for an empty one the GFLOP/s of a loop of separate multiplications and additions whose
 * operands are all in registers, for a number the GB/s of copying that many bytes.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	2000000
#define SUMS	12	/* enough to hide how long an addition takes, few enough for 16 registers */
#define MAX_THREADS	256
#define COPIED	(1ull << 30)

/* The barrier on x keeps each product from being computed once for all. */
#define PEAK(name, bytes, constraint, attributes)						\
typedef float v_##name __attribute__((vector_size(bytes)));					\
attributes static float peak_##name(void)							\
{												\
	v_##name sum[SUMS] = { 0 }, x = { 0 }, w = { 0 };					\
	float total = 0;									\
												\
	for (int n = 0; n < ROUNDS; n++) {							\
		_Pragma("GCC unroll 12") for (int i = 0; i < SUMS; i++) {			\
			__asm__ volatile("" : "+" constraint(x));				\
			sum[i] += x * w;							\
		}										\
	}											\
	for (int i = 0; i < SUMS; i++)								\
		total += sum[i][0];								\
	return total;										\
}												\
static const int lanes_##name = bytes / (int)sizeof(float)

#ifdef __x86_64__
PEAK(avx512, 64, "v", __attribute__((target("avx512f"))));
PEAK(avx2, 32, "x", __attribute__((target("avx2"))));
PEAK(baseline, 16, "x", );
#else
PEAK(baseline, 16, "w", );
#endif

struct loop {
	const char *name;
	float (*run)(void);
	int lanes;
};

static const struct loop loops[] = {
#ifdef __x86_64__
	{ "avx512", peak_avx512, lanes_avx512 },
	{ "avx2", peak_avx2, lanes_avx2 },
#endif
	{ "baseline", peak_baseline, lanes_baseline },
};

struct worker {
	pthread_t thread;
	const struct loop *loop;
	float result;
	char *to, *from;
	size_t size;		/* bytes to copy; 0: run the loop */
	int copies;
};

static void *work(void *opaque)
{
	struct worker *w = opaque;

	if (!w->size)
		w->result = w->loop->run();
	for (int i = 0; i < w->copies; i++) {
		memcpy(w->to, w->from, w->size);
		__asm__ volatile("" : : : "memory");
	}
	return NULL;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Seconds that the threads take together, infinity if one cannot be started. */
static double run_all(struct worker *workers, int threads)
{
	double start = now();
	int n;

	for (n = 0; n < threads; n++)
		if (pthread_create(&workers[n].thread, NULL, work, &workers[n]))
			break;
	for (int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	return n < threads ? INFINITY : now() - start;
}

static double measure_loop(const struct loop *loop, int threads)
{
	struct worker workers[MAX_THREADS] = { 0 };

	for (int i = 0; i < threads; i++)
		workers[i].loop = loop;
	return 2.0 * ROUNDS * SUMS * loop->lanes * threads / run_all(workers, threads) / 1e9;
}

/* Each thread copies its part again and again, COPIED bytes in all, so that caches do their best. */
static double measure_copy(size_t size, int threads)
{
	struct worker workers[MAX_THREADS] = { 0 };
	char *from = malloc(size), *to = malloc(size);
	size_t part = size / threads;
	double seconds;

	if (!from || !to || !part)
		exit(1);
	memset(from, 1, size);
	memset(to, 2, size);
	for (int i = 0; i < threads; i++)
		workers[i] = (struct worker){
			.to = to + i * part, .from = from + i * part, .size = part,
			.copies = (int)(COPIED / size) + 1,
		};
	seconds = run_all(workers, threads);
	free(from);
	free(to);
	return (double)part * threads * workers[0].copies / seconds / 1e9;
}

int main(int argc, char **argv)
{
	const struct loop *loop = NULL;
	int threads = argc == 3 ? atoi(argv[2]) : 0;
	char line[24];

	for (size_t i = 0; argc == 3 && i < sizeof(loops) / sizeof(*loops); i++)
		if (!strcmp(argv[1], loops[i].name))
			loop = &loops[i];
	if (!loop || threads < 1 || threads > MAX_THREADS) {
		fprintf(stderr, "usage: %s ISA THREADS\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	measure_loop(loop, threads);
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		printf("%.3f\n", atol(line) > 0 ? measure_copy((size_t)atol(line), threads) :
						   measure_loop(loop, threads));
	return 0;
}
