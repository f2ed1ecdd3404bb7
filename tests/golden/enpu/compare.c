// SPDX-License-Identifier: MIT
#include "compare.h"
#include "gen.h"
#include "vectors.h"

static const char *const device_cores[] = {
	"enpu:weight=131072:job-cycles-max=9223372036854775807",
	"enpu:itcm=64:dtcm=1024:skip=1024:weight=1024:program=4096:psum-bits=24",
	"enpu:dtcm=20480:skip=20480:weight=24576:prefetch=off:job-cycles-max=9223372036854775807",
	("enpu:itcm=1024:dtcm=4096:skip=2048:weight=8192:psum-bits=24:prefetch=off+"
	 "enpu:itcm=16384:dtcm=131072:skip=1088:weight=16384:job-cycles-max=50000000"),
	"enpu:psum-bits=24:weight=131072:job-cycles-max=9223372036854775807",
};

static const char *const kind_name[GEN_ENPU_KINDS] = {
	"legal", "short", "command", "illegal", "cfg", "shift", "endless", "range", "overlap",
	"busy", "conflict", "rows", "flip", "fault", "packet", "noise", "limit",
};

/* Two jobs in three are legal. */
static unsigned int kind_of(uint64_t index)
{
	static const enum gen_enpu_kind other[] = {
		GEN_ENPU_COMMAND, GEN_ENPU_COMMAND, GEN_ENPU_ILLEGAL, GEN_ENPU_CFG, GEN_ENPU_CFG,
		GEN_ENPU_CFG, GEN_ENPU_SHIFT, GEN_ENPU_ENDLESS, GEN_ENPU_RANGE, GEN_ENPU_RANGE,
		GEN_ENPU_OVERLAP, GEN_ENPU_OVERLAP, GEN_ENPU_BUSY, GEN_ENPU_CONFLICT,
		GEN_ENPU_ROWS, GEN_ENPU_FLIP, GEN_ENPU_FLIP, GEN_ENPU_FAULT, GEN_ENPU_FAULT,
		GEN_ENPU_FAULT, GEN_ENPU_PACKET, GEN_ENPU_NOISE, GEN_ENPU_LIMIT,
	};

	if (index % 3 == 2)
		return other[index / 3 % (sizeof(other) / sizeof(other[0]))];
	return index % 41 == 0 ? GEN_ENPU_SHORT : GEN_ENPU_LEGAL;
}

static unsigned int device_of(uint64_t random, unsigned int kind)
{
	(void)kind;
	return random % (sizeof(device_cores) / sizeof(device_cores[0]));
}

static bool legal(unsigned int kind)
{
	return kind == GEN_ENPU_LEGAL || kind == GEN_ENPU_SHORT;
}

static void generate(unsigned int kind, uint64_t seed, const struct host_queue *queue,
		     struct job *job, struct image *image)
{
	static struct gen_enpu gen;
	struct golden_enpu_params params;

	golden_enpu_params_of(&queue->entry, &params);
	gen_enpu_job(&gen, kind, seed, &params, queue->job_cycles_max, job, image);
}

/* The results are read from whole DTCMs of the default size. */
static bool vector_fits(unsigned int index, const struct cnnacc_core_entry *entry)
{
	unsigned int psum_bits = enpu_vector_psum_bits(index);
	struct golden_enpu_params p;

	return golden_enpu_params_of(entry, &p) && p.itcm >= CNNACC_ENPU_ITCM_DEFAULT &&
	       p.work >= CNNACC_ENPU_DTCM_DEFAULT && p.skip >= CNNACC_ENPU_DTCM_DEFAULT &&
	       p.weight >= enpu_vector_weight_bytes(index) &&
	       p.psum_bits == (psum_bits ? psum_bits : CNNACC_ENPU_PSUM_BITS_DEFAULT);
}

const struct compare compare_core = {
	.kind = &enpu_bench,
	.devices = device_cores,
	.device_count = sizeof(device_cores) / sizeof(device_cores[0]),
	.legal_jobs = 10000,
	.kinds = kind_name, .limit = GEN_ENPU_LIMIT, .kind_of = kind_of,
	.device_of = device_of, .legal = legal, .together = legal, .generate = generate,
	.print_code = enpu_print,
	.vectors = {
		enpu_vector_count, enpu_vector_name, vector_fits, enpu_vector_build,
		enpu_vector_check,
	},
	.access = enpu_coverage_access, .coverage = enpu_coverage,
};
