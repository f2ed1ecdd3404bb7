// SPDX-License-Identifier: MIT
#include "compare.h"
#include "gen.h"
#include "vectors.h"

static const char *const device_cores[] = {
	"imc:job-cycles-max=9223372036854775807",
	"imc:port=16:job-cycles-max=9223372036854775807",
	"imc:port=8:job-cycles-max=9223372036854775807",
	"imc:port=32:job-cycles-max=2147483648",
	"imc:cin-max=32:job-cycles-max=2147483648",
	"imc:cin-max=3:csus=5:n-max=4:full-reuse=off:fp32=off:input=1024:weight=1024:unit=1024:"
	"port=1:program=4096",
	("imc:cin-max=1:csus=1:input=8192:weight=65536:unit=4096:port=2+"
	 "imc:cin-max=7:csus=128:n-max=9:input=4096:weight=16384:unit=8192:port=4:"
	 "job-cycles-max=50000000"),
	"imc:cin-max=16:csus=12:port=256:weight=4194304",
};

static const char *const kind_name[GEN_IMC_KINDS] = {
	"legal", "step", "short", "command", "illegal", "cfg", "addr", "busy", "deadlock",
	"conflict", "rows", "flip", "noise", "fault", "packet", "limit",
};

/* Two jobs in three are legal. */
static unsigned int kind_of(uint64_t index)
{
	static const enum gen_imc_kind other[] = {
		GEN_IMC_COMMAND, GEN_IMC_COMMAND, GEN_IMC_ILLEGAL, GEN_IMC_ILLEGAL, GEN_IMC_CFG,
		GEN_IMC_CFG, GEN_IMC_CFG, GEN_IMC_CFG, GEN_IMC_ADDR, GEN_IMC_ADDR, GEN_IMC_BUSY,
		GEN_IMC_BUSY, GEN_IMC_DEADLOCK, GEN_IMC_CONFLICT, GEN_IMC_ROWS, GEN_IMC_FLIP,
		GEN_IMC_FLIP, GEN_IMC_NOISE, GEN_IMC_FAULT, GEN_IMC_FAULT, GEN_IMC_FAULT,
		GEN_IMC_PACKET, GEN_IMC_LIMIT,
	};

	if (index % 3 == 2)
		return other[index / 3 % (sizeof(other) / sizeof(other[0]))];
	if (index % 41 == 0)
		return GEN_IMC_SHORT;
	return index % 5 == 0 ? GEN_IMC_STEP : GEN_IMC_LEGAL;
}

static unsigned int device_of(uint64_t random, unsigned int kind)
{
	(void)kind;
	return random % (sizeof(device_cores) / sizeof(device_cores[0]));
}

static bool legal(unsigned int kind)
{
	return kind == GEN_IMC_LEGAL || kind == GEN_IMC_STEP || kind == GEN_IMC_SHORT;
}

static void generate(unsigned int kind, uint64_t seed, const struct host_queue *queue,
		     struct job *job, struct image *image)
{
	static struct gen_imc gen;
	struct golden_imc_params params;

	golden_imc_params_of(&queue->entry, &params);
	gen_imc_job(&gen, kind, seed, &params, queue->job_cycles_max, job, image);
}

static bool vector_fits(unsigned int index, const struct cnnacc_core_entry *entry)
{
	struct golden_imc_params is, should = imc_vector_params(index);

	return golden_imc_params_of(entry, &is) && is.cin_max == should.cin_max &&
	       is.csus == should.csus && is.n_max == should.n_max &&
	       is.full_reuse == should.full_reuse && is.fp32 == should.fp32 &&
	       is.input == should.input && is.weight == should.weight && is.unit == should.unit &&
	       is.port == should.port;
}

const struct compare compare_core = {
	.kind = &imc_bench,
	.devices = device_cores,
	.device_count = sizeof(device_cores) / sizeof(device_cores[0]),
	.legal_jobs = 12000,	/* with more than 20,000 planes */
	.kinds = kind_name, .limit = GEN_IMC_LIMIT, .kind_of = kind_of,
	.device_of = device_of, .legal = legal, .together = legal, .generate = generate,
	.print_code = imc_print,
	.vectors = {
		imc_vector_count, imc_vector_name, vector_fits, imc_vector_build,
		imc_vector_check,
	},
	.access = imc_coverage_access, .coverage = imc_coverage,
};
