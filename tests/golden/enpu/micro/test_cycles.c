// SPDX-License-Identifier: MIT
/*
 * Clocks and counters by the page's formulas, which the golden model counts, against a clocked
 * model that has none, on random programs; TAP.
 *
 * Both are equal in all clocks, those of each port, too, with prefetch and without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gen.h"
#include "micro.h"

#define PROGRAMS	2000

static const struct golden_enpu_params builds[] = {
	{ 4096, 65536, 65536, 65536, 32, true, 65536 },
	{ 4096, 20480, 20480, 24576, 24, true, 65536 },
	{ 1024, 4096, 2048, 8192, 32, true, 65536 },
};

#define BUILDS	(sizeof(builds) / sizeof(builds[0]))

static struct {
	unsigned int unequal, serial_off, off;
} result;

static struct gen_enpu gen;
static struct job job;
static struct image image;

/* Clocks of @gen's program by the formulas. */
static uint64_t count(struct golden_enpu *enpu, bool prefetch)
{
	struct cnnacc_stats stats = { 0 };
	uint64_t clocks;

	memcpy(enpu->insn, gen.insn, sizeof(gen.insn));
	enpu->insns = gen.insns;
	enpu->params.prefetch = prefetch;
	memset(&enpu->regs, 0, sizeof(enpu->regs));
	enpu->seq.stats = &stats;
	clocks = enpu_count(enpu);
	enpu->seq.stats = NULL;
	return clocks;
}

static bool ports_differ(const struct golden_enpu *enpu, const struct micro_count *c)
{
	const uint64_t *count = enpu->regs.count;

	return c->computing != count[ENPU_COMPUTE] || c->later != count[ENPU_FUSED] ||
	       c->loaded != count[ENPU_LOAD] || c->stored != count[ENPU_STORE] ||
	       c->weights != count[ENPU_WPAD_WRITES];
}

static void compare_program(struct golden_enpu *enpu)
{
	struct micro_count c;
	uint64_t clocks = count(enpu, false);

	micro_run(gen.insn, gen.insns, false, &c);
	result.serial_off += clocks != c.clocks;
	result.unequal += ports_differ(enpu, &c);
	clocks = count(enpu, true);
	micro_run(gen.insn, gen.insns, true, &c);
	result.unequal += ports_differ(enpu, &c);
	result.off += clocks != c.clocks;
	if (clocks != c.clocks)
		printf("# %llu clocks, stepped %llu\n", (unsigned long long)clocks,
		       (unsigned long long)c.clocks);
}

static void test_programs(void)
{
	struct golden_enpu *enpu[BUILDS];

	for (unsigned int n = 0; n < BUILDS; n++) {
		enpu[n] = golden_enpu_create(&builds[n]);
		if (!enpu[n])
			exit(2);
	}
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		gen_enpu_job(&gen, GEN_ENPU_LEGAL, seed * 977, &builds[seed % BUILDS], INT64_MAX,
			     &job, &image);
		compare_program(enpu[seed % BUILDS]);
	}
	for (unsigned int n = 0; n < BUILDS; n++)
		golden_enpu_destroy(enpu[n]);
}

int main(void)
{
	image.bytes = calloc(1, IMAGE_BYTES);
	if (!image.bytes)
		return 2;
	test_programs();
	printf("1..3\n%sok 1 - clocks of %u programs with prefetch equal\n",
	       result.off ? "not " : "", PROGRAMS);
	printf("%sok 2 - clocks without prefetch equal\n", result.serial_off ? "not " : "");
	printf("%sok 3 - clocks of all ports equal\n", result.unequal ? "not " : "");
	free(image.bytes);
	return result.off || result.serial_off || result.unequal;
}
