// SPDX-License-Identifier: MIT
/*
 * Cycles by the page's rules, which the golden model counts, against a clocked model that has no
 * formula, on random layers of several builds.  And the array's utilisation in steady state from
 * 4 x 4 to 32 x 32; TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../gen.h"
#include "micro.h"

#define LAYERS	2000
#define LIMIT	0.05

static const struct golden_gcu_params builds[] = {
	{ 8, 8, 16, 512, 4, 512, 64, 65536, false },
	{ 4, 4, 4, 8, 2, 16, 16, 4096, false },
	{ 16, 8, 7, 48, 3, 48, 32, 65536, false },
	{ 32, 32, 32, 1024, 8, 4096, 64, 65536, false },
	{ 4, 16, 23, 512, 4, 64, 8, 65536, false },
};

#define BUILDS	(sizeof(builds) / sizeof(builds[0]))

/** struct machine - a golden model with a job. */
struct machine {
	struct golden_shell shell;
	struct golden_gcu *gcu;
	struct job *job;
	struct image image;
	struct gen_gcu gen;
};

static struct {
	double worst;
	unsigned int off, failed, unequal;
	uint64_t golden, micro;
	unsigned int bin[5];	/* equal, within 0.1, 1, 2 and 5 % */
} result;

static void open_machine(struct machine *m, const struct golden_gcu_params *params)
{
	m->gcu = golden_gcu_create(params);
	if (!m->gcu)
		exit(2);
	m->shell = (struct golden_shell){ .core.job_cycles_max = INT64_MAX };
	golden_gcu_core(m->gcu, &m->shell.core);
	m->shell.bus = image_bus(&m->image);
}

static uint8_t *bytes_at(struct machine *m, uint64_t va, uint64_t length)
{
	uint8_t *bytes = malloc(length ? length : 1);

	if (!bytes)
		exit(2);
	for (uint64_t n = 0; n < length; n++)
		bytes[n] = *space_at(&m->job->space, va + n);
	return bytes;
}

static void run_micro(struct machine *m, const struct golden_gcu_params *p,
		      const struct golden_gcu_layer *l, struct micro_count *count)
{
	const struct micro_build build = { p->atomic_c, p->atomic_k, p->rbuf_banks, p->bus };
	struct cnnacc_gcu_layer block = gen_gcu_encode(l);
	uint64_t vector = golden_gcu_ceil(l->fmbufrown, 8);
	uint8_t *increments = bytes_at(m, l->increment_va, l->entries);
	uint8_t *vectors = bytes_at(m, l->vector_va, l->entries * vector);

	micro_run(&build, &block, increments, vectors, count);
	free(increments);
	free(vectors);
}

/* Run block @n of the job's program alone. */
static bool run_golden(struct machine *m, unsigned int n, struct cnnacc_stats *stats)
{
	struct cnnacc_packet packet = m->job->packet;
	struct golden_result r;

	packet.program_va += n * CNNACC_GCU_BLOCK_SIZE;
	packet.program_len = CNNACC_GCU_BLOCK_SIZE;
	golden_shell_run(&m->shell, &packet, &r);
	*stats = r.stats;
	stats->cycles -= stats->scrub_cycles;
	return r.status.status_class == CNNACC_STATUS_OK;
}

static void note(uint64_t golden, uint64_t micro, unsigned int build, uint64_t seed)
{
	static const double edge[] = { 0, 0.001, 0.01, 0.02, LIMIT };
	double error = ((double)golden - (double)micro) / (double)micro;
	unsigned int bin = 0;

	result.golden += golden;
	result.micro += micro;
	error = error < 0 ? -error : error;
	result.worst = error > result.worst ? error : result.worst;
	while (bin < 5 && error > edge[bin])
		bin++;
	if (bin < 5) {
		result.bin[bin]++;
		return;
	}
	result.off++;
	printf("# build %u, layer %llu: %llu cycles, stepped %llu\n", build,
	       (unsigned long long)seed, (unsigned long long)golden, (unsigned long long)micro);
}

static void compare_layer(struct machine *m, unsigned int build, uint64_t seed)
{
	const struct golden_gcu_params *p = &builds[build];
	unsigned int layers = gen_gcu_schemes(&m->gen, seed, p, m->job, &m->image);
	struct micro_count count;
	struct cnnacc_stats stats;
	unsigned int n = seed % layers;

	if (!run_golden(m, n, &stats)) {
		result.failed++;
		return;
	}
	run_micro(m, p, &m->gen.layer[n], &count);
	result.unequal += count.macs != stats.mac_useful || count.slots != stats.mac_slots ||
			  count.busy + count.held != stats.compute_cycles;
	note(stats.cycles, count.cycles, build, seed);
}

/* -------------------------------------------------------------- steady state */

/* A layer of 3 x 3 without padding whose rows all have a slot, FIFO. */
static struct golden_gcu_layer steady_layer(int64_t c, int64_t k)
{
	struct golden_gcu_layer l = {
		.w = 18, .h = 10, .c = c, .k = k, .ofmw = 16, .ofmh = 8, .s = 3, .r = 3,
		.hstride = 1, .vstride = 1, .group_n = 1, .out = CNNACC_GCU_OUT_INT8,
		.fmbufbankn = 6, .column_code = 3, .fmbufrown = 96, .kbufgrpsz = 9, .kbufgrpn = 3,
		.threshold = 95, .weight_va = 0x100000,
	};

	gen_gcu_derive(&l);
	l.ifmap = (struct golden_gcu_map){ 0, c, 18 * c, 32 };
	l.ofmap = (struct golden_gcu_map){ 0x200000, k, 16 * k, 32 };
	return l;
}

/* One kernel group: from the first to the last surface there is one in every clock. */
static bool steady(unsigned int atomic_c, unsigned int atomic_k, int64_t c, int64_t k)
{
	const struct micro_build build = { atomic_c, atomic_k, 4, 64 };
	struct golden_gcu_layer l = steady_layer(c, k);
	struct cnnacc_gcu_layer block;
	struct micro_count count;
	uint64_t lanes;

	l.ifmap.group = l.ofmap.group = atomic_c;
	block = gen_gcu_encode(&l);
	micro_run(&build, &block, NULL, NULL, &count);
	lanes = golden_gcu_ceil(c, atomic_c) * atomic_c * golden_gcu_ceil(k, atomic_k) * atomic_k;
	return count.last - count.first + 1 == count.busy && count.slots ==
	       count.busy * atomic_c * atomic_k && count.macs * lanes == count.slots * c * k;
}

static void test_steady(unsigned int *number, unsigned int *failures)
{
	for (unsigned int atomic_c = 4; atomic_c <= 32; atomic_c *= 2)
		for (unsigned int atomic_k = 4; atomic_k <= 32; atomic_k *= 2) {
			bool good = steady(atomic_c, atomic_k, atomic_c, atomic_k) &&
				    steady(atomic_c, atomic_k, 2 * atomic_c, atomic_k) &&
				    steady(atomic_c, atomic_k, atomic_c + 1, atomic_k - 1) &&
				    steady(atomic_c, atomic_k, 3, 1);

			*failures += !good;
			printf("%sok %u - utilisation of %u x %u\n", good ? "" : "not ",
			       ++*number, atomic_c, atomic_k);
		}
}

static void test_layers(struct machine *m)
{
	for (unsigned int build = 0; build < BUILDS; build++) {
		open_machine(m, &builds[build]);
		for (uint64_t n = 0; n < LAYERS / BUILDS; n++)
			compare_layer(m, build, 1 + n * 977);
		golden_gcu_destroy(m->gcu);
	}
}

int main(void)
{
	static struct machine m;
	unsigned int number = 3, failures;

	m.job = calloc(1, sizeof(*m.job));
	m.image.bytes = calloc(1, IMAGE_BYTES);
	if (!m.job || !m.image.bytes)
		return 2;
	test_layers(&m);
	printf("1..19\n# furthest %.2f %%, all together %+.2f %%; equal %u, within 0.1 %% %u, "
	       "1 %% %u, 2 %% %u, 5 %% %u, more %u\n", 100 * result.worst,
	       100 * ((double)result.golden / (double)result.micro - 1), result.bin[0],
	       result.bin[1], result.bin[2], result.bin[3], result.bin[4], result.off);
	printf("%sok 1 - every layer ends well\n", result.failed ? "not " : "");
	printf("%sok 2 - cycles of %u layers within 5 %%\n", result.off ? "not " : "", LAYERS);
	printf("%sok 3 - clocks and MACs of the array equal\n", result.unequal ? "not " : "");
	failures = !!result.failed + !!result.off + !!result.unequal;
	test_steady(&number, &failures);
	free(m.job);
	free(m.image.bytes);
	return failures ? 1 : 0;
}
