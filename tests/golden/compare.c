// SPDX-License-Identifier: MIT
#include "compare.h"

#include <getopt.h>
#include <stdlib.h>

#include "coverage.h"

#define FULL_COMPARE	512	/* jobs between comparisons of all RAM */
#define SKIPPED		77	/* exit status, for meson */
#define DEVICES		8

/* BROKEN: the comparison itself did not do what it should. */
enum outcome { AGREE, MISMATCH, BROKEN };

static const struct compare *compare;
static struct bench benches[DEVICES];
static struct job jobs[BENCH_RUNS];

/* Build a job of @kind; one of kind LIMIT gets a limit somewhere inside its run. */
static void build_job(struct bench *bench, struct bench_run *run, uint64_t seed,
		      unsigned int kind)
{
	struct host_queue *q = &bench->host.queue[run->core];
	struct prng prng = { ~seed };

	compare->generate(kind, seed, q, run->job, &bench->image);
	if (kind != compare->limit)
		return;
	golden_shell_run(&bench->shell[run->core], &run->job->packet, &run->golden);
	bench_reset_core(bench, run->core);
	compare->generate(kind, seed, q, run->job, &bench->image);
	run->job->packet.cycle_limit = prng_range(&prng, prng_chance(&prng, 5) ? 1 : 17,
						  run->golden.stats.cycles -
						  run->golden.stats.scrub_cycles);
}

static void report_job(uint64_t seed, uint64_t index, unsigned int kind, const char *cores,
		       const struct bench_run *run)
{
	const struct golden_status *status = &run->golden.status;

	printf("job %llu of seed %llu, %s, on core %u of %s\n", (unsigned long long)index,
	       (unsigned long long)seed, compare->kinds[kind], run->core, cores);
	printf("again: --seed %llu --only %llu, if it does not need the jobs before it\n",
	       (unsigned long long)seed, (unsigned long long)index);
	printf("golden: class %u code %u pc %u detail %u\n", status->status_class,
	       status->status_code, status->pc, status->detail);
	job_print(stdout, run->job);
}

/* Jobs that run together have a part of the RAM and a context each. */
static unsigned int build_jobs(struct bench *bench, struct bench_run runs[BENCH_RUNS],
			       struct prng *prng, unsigned int kind)
{
	bool together = bench->host.core_count > 1 && compare->together(kind) &&
			prng_chance(prng, 50);
	unsigned int count = together ? BENCH_RUNS : 1;

	for (unsigned int i = 0; i < count; i++) {
		runs[i].job = &jobs[i];
		runs[i].retire = prng_chance(prng, 10);
		runs[i].core = together ? i : prng_range(prng, 0, bench->host.core_count - 1);
		jobs[i].space.first = i * IMAGE_PAGES / BENCH_RUNS;
		jobs[i].space.pages = IMAGE_PAGES / BENCH_RUNS;
		build_job(bench, &runs[i], prng_next(prng), kind);
		jobs[i].packet.ctx_id ^= i;
	}
	return count;
}

static enum outcome run_index(uint64_t seed, uint64_t index)
{
	struct prng prng = { seed * 0x10001 + index };
	unsigned int kind = compare->kind_of(index);
	struct bench *bench = &benches[compare->device_of(prng_next(&prng) >> 8, kind)];
	struct bench_run runs[BENCH_RUNS];
	unsigned int count = build_jobs(bench, runs, &prng, kind);
	enum outcome outcome = AGREE;

	if (!bench_run(bench, runs, count, index % FULL_COMPARE == 0))
		outcome = MISMATCH;
	for (unsigned int i = 0; i < count; i++) {
		coverage_count(kind, &runs[i].golden,
			       compare->access(&runs[i].golden.status, bench->model[runs[i].core]),
			       count > 1);
		if (compare->legal(kind) &&
		    runs[i].golden.status.status_class != CNNACC_STATUS_OK) {
			printf("the generator made a bad job where it wanted a legal one\n");
			outcome = BROKEN;
		}
	}
	for (unsigned int i = 0; i < count && outcome != AGREE; i++)
		report_job(seed, index, kind, compare->devices[bench - benches], &runs[i]);
	return outcome;
}

/* A device whose first core is what a vector is for. */
static struct bench *bench_for(unsigned int vector)
{
	for (unsigned int i = 0; i < compare->device_count; i++)
		if (compare->vectors.fits(vector, &benches[i].host.queue[0].entry))
			return &benches[i];
	fprintf(stderr, "no device for a vector\n");
	exit(2);
}

static bool run_vectors(void)
{
	for (unsigned int i = 0; i < compare->vectors.count(); i++) {
		struct bench *bench = bench_for(i);
		struct bench_run run = { .job = &jobs[0] };
		struct prng prng = { i };

		bench_reset_core(bench, 0);
		job_begin(run.job, &bench->image, &prng);
		compare->vectors.build(i, run.job);
		if (!bench_run(bench, &run, 1, true) || !compare->vectors.check(i, run.job)) {
			printf("vector %s\n", compare->vectors.name(i));
			return false;
		}
	}
	return true;
}

static bool check_totals(void)
{
	bool good = true;

	for (unsigned int i = 0; i < compare->device_count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			good &= !bench_compare_totals(&benches[i], core);
	return good;
}

struct options {
	uint64_t seed, legal, only;
	const char *simd;
	bool one, no_vectors, expect_mismatch;
};

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "simd", required_argument, NULL, 'd' },
		{ "no-vectors", no_argument, NULL, 'v' },
		{ "expect-mismatch", no_argument, NULL, 'x' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			o->legal = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			o->only = strtoull(optarg, NULL, 0);
			o->one = true;
			break;
		case 'd':
			o->simd = optarg;
			break;
		case 'v':
			o->no_vectors = true;
			break;
		case 'x':
			o->expect_mismatch = true;
			break;
		default:
			fprintf(stderr, "usage: %s [--seed N] [--count LEGAL-JOBS] [--only INDEX] "
				"[--simd NAME] [--no-vectors] [--expect-mismatch]\n", argv[0]);
			exit(2);
		}
	}
}

static enum outcome run_all(const struct options *o)
{
	uint64_t count = (o->legal * 3 + 1) / 2;

	if (o->one)
		return run_index(o->seed, o->only);
	if (!o->no_vectors && !run_vectors())
		return MISMATCH;
	for (uint64_t i = 0; i < count; i++) {
		enum outcome outcome = run_index(o->seed, i);

		if (outcome != AGREE)
			return outcome;
	}
	if (!check_totals())
		return MISMATCH;
	printf("seed %llu: %llu runs with %llu multiply-accumulates agree\n",
	       (unsigned long long)o->seed, (unsigned long long)count,
	       (unsigned long long)coverage_macs(benches, compare->device_count));
	/* A shorter run cannot see everything. */
	return compare->coverage(benches, compare->device_count) &&
	       o->legal >= compare->legal_jobs ? BROKEN : AGREE;
}

int compare_main(int argc, char **argv, const struct compare *what)
{
	struct options options = { .seed = 1, .legal = what->legal_jobs };
	enum outcome outcome;

	compare = what;
	parse(argc, argv, &options);
	if (options.simd && !host_has_simd(options.simd)) {
		printf("this machine has no %s\n", options.simd);
		return SKIPPED;
	}
	for (unsigned int i = 0; i < compare->device_count; i++)
		bench_open(&benches[i], compare->kind, compare->devices[i], options.simd);
	outcome = run_all(&options);
	for (unsigned int i = 0; i < compare->device_count; i++)
		bench_close(&benches[i]);
	return outcome == (options.expect_mismatch ? MISMATCH : AGREE) ? 0 : 1;
}
