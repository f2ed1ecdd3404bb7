// SPDX-License-Identifier: MIT
/*
 * The device model against the golden model: the same jobs through both, all
 * memory, completions, statistics and visible registers compared bit for bit.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "coverage.h"
#include "gen.h"
#include "vectors_ccp.h"

#define LEGAL_JOBS	20000
#define FULL_COMPARE	512	/* jobs between comparisons of all RAM */

static const char *const device_cores[] = {
	"ccp:job-cycles-max=9223372036854775807",
	"ccp:data-bank=4096:weight-bank=1024:icache=2048:lob=1",
	("ccp:data-bank=4160:weight-bank=1088:icache=320:lob=2:"
	 "job-cycles-max=9223372036854775807"),
	"ccp:data-bank=65536:weight-bank=4096:lob=8",
	("ccp:data-bank=16384:weight-bank=16384:icache=1024:lob=3+"
	 "ccp:data-bank=8256:weight-bank=2048:icache=512:lob=4:job-cycles-max=5000000"),
};

#define SKIPPED		77	/* exit status, for meson */
#define DEVICES		(sizeof(device_cores) / sizeof(device_cores[0]))

/* BROKEN: the comparison itself did not do what it should. */
enum outcome { AGREE, MISMATCH, BROKEN };

static struct bench benches[DEVICES];
static struct job jobs[BENCH_RUNS];
static struct gen gen;

static const char *const kind_name[GEN_KINDS] = {
	"legal", "extreme", "short", "field", "flip", "dma", "illegal", "pc", "fault", "packet",
	"noise", "limit",
};

/* Two jobs in three are legal. */
static enum gen_kind kind_of(uint64_t index)
{
	static const enum gen_kind other[] = {
		GEN_FIELD, GEN_FIELD, GEN_FIELD, GEN_FIELD, GEN_FIELD, GEN_FLIP, GEN_FLIP, GEN_DMA,
		GEN_FAULT, GEN_FAULT, GEN_FAULT, GEN_FAULT, GEN_LIMIT, GEN_LIMIT, GEN_PACKET,
		GEN_ILLEGAL, GEN_NOISE, GEN_PC,
	};

	if (index % 3 == 2)
		return other[index / 3 % (sizeof(other) / sizeof(other[0]))];
	if (index % 61 == 0)
		return GEN_SHORT;
	return index % 67 == 0 ? GEN_EXTREME : GEN_LEGAL;
}

static struct bench *bench_of(uint64_t random, enum gen_kind kind)
{
	static const unsigned int share[] = { 0, 0, 1, 1, 2, 3, 3, 3, 4, 4 };

	/* An 8 KiB instruction cache has no branch target past its end. */
	if (kind == GEN_PC && random % 2)
		return &benches[2];
	if (kind == GEN_EXTREME && random % 3)
		return &benches[0];
	return &benches[share[random % (sizeof(share) / sizeof(share[0]))]];
}

/* Build a job of @kind; one of kind LIMIT gets a limit somewhere inside its run. */
static void build_job(struct bench *bench, struct bench_run *run, uint64_t seed,
		      enum gen_kind kind)
{
	struct host_queue *q = &bench->host.queue[run->core];
	struct prng prng = { ~seed };

	gen_job(&gen, kind, seed, &q->params, q->job_cycles_max, run->job, &bench->image);
	if (kind != GEN_LIMIT)
		return;
	golden_shell_run(&bench->shell[run->core], &run->job->packet, &run->golden);
	bench_reset_core(bench, run->core);
	gen_job(&gen, kind, seed, &q->params, q->job_cycles_max, run->job, &bench->image);
	run->job->packet.cycle_limit = prng_range(&prng, prng_chance(&prng, 5) ? 1 : 17,
						  run->golden.stats.cycles -
						  run->golden.stats.scrub_cycles);
}

static bool legal(enum gen_kind kind)
{
	return kind == GEN_LEGAL || kind == GEN_EXTREME || kind == GEN_SHORT;
}

static void report_job(uint64_t seed, uint64_t index, enum gen_kind kind, const char *cores,
		       const struct bench_run *run)
{
	const struct golden_status *status = &run->golden.status;

	printf("job %llu of seed %llu, %s, on core %u of %s\n", (unsigned long long)index,
	       (unsigned long long)seed, kind_name[kind], run->core, cores);
	printf("again: --seed %llu --only %llu, if it does not need the jobs before it\n",
	       (unsigned long long)seed, (unsigned long long)index);
	printf("golden: class %u code %u pc %u detail %u\n", status->status_class,
	       status->status_code, status->pc, status->detail);
	job_print(stdout, run->job);
}

/* Jobs that run together have a part of the RAM and a context each. */
static unsigned int build_jobs(struct bench *bench, struct bench_run runs[BENCH_RUNS],
			       struct prng *prng, enum gen_kind kind)
{
	bool together = bench->host.core_count > 1 && (legal(kind) || kind == GEN_FIELD) &&
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
	enum gen_kind kind = kind_of(index);
	struct bench *bench = bench_of(prng_next(&prng) >> 8, kind);
	struct bench_run runs[BENCH_RUNS];
	unsigned int count = build_jobs(bench, runs, &prng, kind);
	enum outcome outcome = AGREE;

	if (!bench_run(bench, runs, count, index % FULL_COMPARE == 0))
		outcome = MISMATCH;
	for (unsigned int i = 0; i < count; i++) {
		coverage_count(kind, &runs[i].golden, count > 1);
		if (legal(kind) && runs[i].golden.status.status_class != CNNACC_STATUS_OK) {
			printf("the generator made a bad job where it wanted a legal one\n");
			outcome = BROKEN;
		}
	}
	for (unsigned int i = 0; i < count && outcome != AGREE; i++)
		report_job(seed, index, kind, device_cores[bench - benches], &runs[i]);
	return outcome;
}

/* A device whose first core has those sizes; NULL: those of the default build. */
static struct bench *bench_with(const struct golden_ccp_params *params)
{
	if (!params)
		return &benches[0];
	for (unsigned int i = 0; i < DEVICES; i++)
		if (!memcmp(&benches[i].host.queue[0].params, params, sizeof(*params)))
			return &benches[i];
	fprintf(stderr, "no device for a vector\n");
	exit(2);
}

static bool run_vectors(void)
{
	for (unsigned int i = 0; i < vector_count(); i++) {
		struct bench *bench = bench_with(vector_params(i));
		struct bench_run run = { .job = &jobs[0] };
		struct prng prng = { i };

		bench_reset_core(bench, 0);
		job_begin(run.job, &bench->image, &prng);
		vector_build(i, run.job);
		if (!bench_run(bench, &run, 1, true) || !vector_check(i, run.job)) {
			printf("vector %s\n", vector_name(i));
			return false;
		}
	}
	return true;
}

static bool check_totals(void)
{
	bool good = true;

	for (unsigned int i = 0; i < DEVICES; i++)
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
	       (unsigned long long)coverage_macs(benches, DEVICES));
	/* A shorter run cannot see everything. */
	return coverage_report(benches, DEVICES) && o->legal >= LEGAL_JOBS ? BROKEN : AGREE;
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .legal = LEGAL_JOBS };
	enum outcome outcome;

	parse(argc, argv, &options);
	if (options.simd && !host_has_simd(options.simd)) {
		printf("this machine has no %s\n", options.simd);
		return SKIPPED;
	}
	for (unsigned int i = 0; i < DEVICES; i++)
		bench_open(&benches[i], device_cores[i], options.simd);
	outcome = run_all(&options);
	for (unsigned int i = 0; i < DEVICES; i++)
		bench_close(&benches[i]);
	return outcome == (options.expect_mismatch ? MISMATCH : AGREE) ? 0 : 1;
}
