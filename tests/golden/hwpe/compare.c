// SPDX-License-Identifier: MIT
#include "compare.h"
#include "gen.h"
#include "vectors.h"

static const char *const device_cores[] = {
	"hwpe:job-cycles-max=9223372036854775807",
	"hwpe:fmap=4096:kernel=4096:program=4096",
	"hwpe:fmap=65536:kernel=32768:program=8192:job-cycles-max=9223372036854775807",
	("hwpe:fmap=8256:kernel=4224:program=2048+"
	 "hwpe:fmap=16384:kernel=65536:program=16384:job-cycles-max=5000000"),
	"hwpe:fmap=4160:kernel=4096:program=320",
};

static const char *const kind_name[GEN_HWPE_KINDS] = {
	"legal", "layer", "short", "command", "illegal", "config", "window", "state", "loop",
	"range", "pc", "flip", "fault", "packet", "noise", "limit",
};

/* Two jobs in three are legal. */
static unsigned int kind_of(uint64_t index)
{
	static const enum gen_hwpe_kind other[] = {
		GEN_HWPE_COMMAND, GEN_HWPE_COMMAND, GEN_HWPE_COMMAND, GEN_HWPE_ILLEGAL,
		GEN_HWPE_CONFIG, GEN_HWPE_WINDOW, GEN_HWPE_WINDOW, GEN_HWPE_STATE, GEN_HWPE_STATE,
		GEN_HWPE_LOOP, GEN_HWPE_RANGE, GEN_HWPE_PC, GEN_HWPE_FLIP, GEN_HWPE_FLIP,
		GEN_HWPE_FAULT, GEN_HWPE_FAULT, GEN_HWPE_FAULT, GEN_HWPE_FAULT, GEN_HWPE_FAULT,
		GEN_HWPE_PACKET, GEN_HWPE_NOISE, GEN_HWPE_LIMIT, GEN_HWPE_LIMIT,
	};

	if (index % 3 == 2)
		return other[index / 3 % (sizeof(other) / sizeof(other[0]))];
	if (index % 41 == 0)
		return GEN_HWPE_SHORT;
	return index % 5 == 0 ? GEN_HWPE_LAYER : GEN_HWPE_LEGAL;
}

static unsigned int device_of(uint64_t random, unsigned int kind)
{
	static const unsigned int share[] = { 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4 };

	(void)kind;
	return share[random % (sizeof(share) / sizeof(share[0]))];
}

static bool legal(unsigned int kind)
{
	return kind == GEN_HWPE_LEGAL || kind == GEN_HWPE_LAYER || kind == GEN_HWPE_SHORT;
}

static bool together(unsigned int kind)
{
	return legal(kind) || kind == GEN_HWPE_STATE;
}

static void generate(unsigned int kind, uint64_t seed, const struct host_queue *queue,
		     struct job *job, struct image *image)
{
	static struct gen_hwpe gen;
	struct golden_hwpe_params params;

	golden_hwpe_params_of(&queue->entry, &params);
	gen_hwpe_job(&gen, kind, seed, &params, queue->job_cycles_max, job, image);
}

static bool vector_fits(unsigned int index, const struct cnnacc_core_entry *entry)
{
	struct golden_hwpe_params params;

	(void)index;
	return golden_hwpe_params_of(entry, &params) && params.fmap == CNNACC_HWPE_FMAP_DEFAULT &&
	       params.kernel == CNNACC_HWPE_KERNEL_DEFAULT &&
	       params.program == CNNACC_HWPE_PROGRAM_DEFAULT;
}

const struct compare compare_core = {
	.kind = &hwpe_bench,
	.devices = device_cores,
	.device_count = sizeof(device_cores) / sizeof(device_cores[0]),
	.legal_jobs = 20000,
	.kinds = kind_name, .limit = GEN_HWPE_LIMIT, .kind_of = kind_of,
	.device_of = device_of, .legal = legal, .together = together, .generate = generate,
	.print_code = insn_print,
	.vectors = {
		hwpe_vector_count, hwpe_vector_name, vector_fits, hwpe_vector_build,
		hwpe_vector_check,
	},
	.access = hwpe_coverage_access, .coverage = hwpe_coverage,
};
