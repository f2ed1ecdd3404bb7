// SPDX-License-Identifier: MIT
#include "compare.h"

#include <getopt.h>
#include <stdlib.h>

#include "cnnacc_model.h"
#include "coverage.h"

#define FULL_COMPARE	512	/* jobs between comparisons of all RAM */
#define SKIPPED		77	/* exit status, for meson */
#define DEVICES		8

/* Defined only in a model compiled with -DCM_MUTANTS. */
#pragma weak cm_mutant_select

/* BROKEN: both models agree, but the generator or the coverage is not as intended. */
enum outcome { AGREE, MISMATCH, BROKEN };

static struct bench benches[DEVICES];
static struct job jobs[BENCH_RUNS];

/* Build a job of @kind; one of kind LIMIT gets a cycle limit below what it takes. */
static void build_job(struct bench *bench, struct bench_run *run, uint64_t seed,
		      unsigned int kind)
{
	struct host_queue *q = &bench->host.queue[run->core];
	struct prng prng = { ~seed };

	compare_core.generate(kind, seed, q, run->job, &bench->image);
	if (kind != compare_core.limit)
		return;
	golden_shell_run(&bench->shell[run->core], &run->job->packet, &run->golden);
	bench_reset_core(bench, run->core);
	compare_core.generate(kind, seed, q, run->job, &bench->image);
	run->job->packet.cycle_limit = prng_range(&prng, prng_chance(&prng, 5) ? 1 : 17,
						  run->golden.stats.cycles -
						  run->golden.stats.scrub_cycles);
}

static void report_job(uint64_t seed, uint64_t index, unsigned int kind, const char *cores,
		       const struct bench_run *run)
{
	const struct golden_status *status = &run->golden.status;

	printf("job %llu of seed %llu, %s, on core %u of %s\n", (unsigned long long)index,
	       (unsigned long long)seed, compare_core.kinds[kind], run->core, cores);
	printf("repeat with: --seed %llu --only %llu --times 1000 (if it does not depend on earlier "
	       "jobs)\n",
	       (unsigned long long)seed, (unsigned long long)index);
	printf("golden: class %u code %u pc %u detail %u\n", status->status_class,
	       status->status_code, status->pc, status->detail);
	job_print(stdout, run->job, compare_core.print_code);
}

/* Jobs that run at the same time use separate parts of the RAM and separate contexts. */
static unsigned int build_jobs(struct bench *bench, struct bench_run runs[BENCH_RUNS],
			       struct prng *prng, unsigned int kind)
{
	bool together = bench->host.core_count > 1 && compare_core.together(kind) &&
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
	unsigned int kind = compare_core.kind_of(index);
	struct bench *bench = &benches[compare_core.device_of(prng_next(&prng) >> 8, kind)];
	struct bench_run runs[BENCH_RUNS];
	unsigned int count = build_jobs(bench, runs, &prng, kind);
	enum outcome outcome = AGREE;

	if (!bench_run(bench, runs, count, index % FULL_COMPARE == 0))
		outcome = MISMATCH;
	for (unsigned int i = 0; i < count; i++) {
		const struct golden_status *status = &runs[i].golden.status;

		coverage_count(kind, &runs[i].golden,
			       compare_core.access(status, bench->model[runs[i].core]), count > 1);
		if (compare_core.legal(kind) && status->status_class != CNNACC_STATUS_OK) {
			printf("a job generated as legal failed\n");
			outcome = BROKEN;
		}
	}
	for (unsigned int i = 0; i < count && outcome != AGREE; i++)
		report_job(seed, index, kind, compare_core.devices[bench - benches], &runs[i]);
	return outcome;
}

/* The first device whose core 0 has the build parameters that the vector needs. */
static struct bench *bench_for(unsigned int vector)
{
	for (unsigned int i = 0; i < compare_core.device_count; i++)
		if (compare_core.vectors.fits(vector, &benches[i].host.queue[0].entry))
			return &benches[i];
	fprintf(stderr, "no device has the build parameters of vector %s\n",
		compare_core.vectors.name(vector));
	exit(2);
}

static bool run_vectors(void)
{
	for (unsigned int i = 0; i < compare_core.vectors.count(); i++) {
		struct bench *bench = bench_for(i);
		struct bench_run run = { .job = &jobs[0] };
		struct prng prng = { i };

		bench_reset_core(bench, 0);
		job_begin(run.job, &bench->image, &prng);
		compare_core.vectors.build(i, run.job);
		if (!bench_run(bench, &run, 1, true) || !compare_core.vectors.check(i, run.job)) {
			printf("vector %s\n", compare_core.vectors.name(i));
			return false;
		}
	}
	return true;
}

static bool check_totals(void)
{
	bool good = true;

	for (unsigned int i = 0; i < compare_core.device_count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			good &= !bench_compare_totals(&benches[i], core);
	return good;
}

struct options {
	uint64_t seed, legal, only, times;
	const char *simd, *mutant;
	bool one, no_vectors;
};

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "only", required_argument, NULL, 'o' },
		{ "times", required_argument, NULL, 't' },
		{ "simd", required_argument, NULL, 'd' },
		{ "mutant", required_argument, NULL, 'm' },
		{ "no-vectors", no_argument, NULL, 'v' },
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
		case 't':
			o->times = strtoull(optarg, NULL, 0);
			break;
		case 'd':
			o->simd = optarg;
			break;
		case 'v':
			o->no_vectors = true;
			break;
		case 'm':
			o->mutant = optarg;
			break;
		default:
			fprintf(stderr, "usage: %s [--seed N] [--count LEGAL-JOBS] [--only INDEX "
				"[--times N]] [--simd NAME] [--mutant OWNER.NAME] [--no-vectors]\n", argv[0]);
			exit(2);
		}
	}
}

/* Run a job again and again, each time with other budgets, threads, vectors and moves. */
static enum outcome repeat(const struct options *o)
{
	enum outcome outcome = AGREE;

	for (uint64_t time = 0; time < o->times && outcome == AGREE; time++) {
		for (unsigned int i = 0; i < compare_core.device_count; i++) {
			benches[i].host.prng.state = time;
			for (unsigned int core = 0; core < benches[i].host.core_count; core++)
				bench_reset_core(&benches[i], core);
		}
		outcome = run_index(o->seed, o->only);
		if (outcome != AGREE)
			printf("time %llu\n", (unsigned long long)time);
	}
	return outcome;
}

static enum outcome run_all(const struct options *o)
{
	uint64_t count = (o->legal * 3 + 1) / 2;

	if (o->one)
		return repeat(o);
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
	       (unsigned long long)coverage_macs(benches, compare_core.device_count));
	/* Shorter runs are not expected to cover everything. */
	return compare_core.coverage(benches, compare_core.device_count) &&
	       o->legal >= compare_core.legal_jobs ? BROKEN : AGREE;
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .legal = compare_core.legal_jobs, .times = 1 };
	enum outcome outcome;

	parse(argc, argv, &options);
	if (options.mutant && (!cm_mutant_select || !cm_mutant_select(options.mutant))) {
		fprintf(stderr, "--mutant %s: this model has no such mutant\n", options.mutant);
		return 2;
	}
	if (options.simd && !host_has_simd(compare_core.devices[0], options.simd)) {
		printf("--simd %s: not available on this machine\n", options.simd);
		return SKIPPED;
	}
	for (unsigned int i = 0; i < compare_core.device_count; i++)
		bench_open(&benches[i], compare_core.kind, compare_core.devices[i], options.simd);
	outcome = run_all(&options);
	for (unsigned int i = 0; i < compare_core.device_count; i++)
		bench_close(&benches[i]);
	return outcome == (options.mutant ? MISMATCH : AGREE) ? 0 : 1;
}
