// SPDX-License-Identifier: MIT
#include <string.h>

#include "compare.h"
#include "gen.h"
#include "vectors.h"

static const char *const device_cores[] = {
	"ccp:job-cycles-max=9223372036854775807",
	"ccp:data-bank=4096:weight-bank=1024:icache=2048:lob=1",
	("ccp:data-bank=4160:weight-bank=1088:icache=320:lob=2:"
	 "job-cycles-max=9223372036854775807"),
	"ccp:data-bank=65536:weight-bank=4096:lob=8",
	("ccp:data-bank=16384:weight-bank=16384:icache=1024:lob=3+"
	 "ccp:data-bank=8256:weight-bank=2048:icache=512:lob=4:job-cycles-max=5000000"),
	"ccp:split-banks=off:job-cycles-max=9223372036854775807",
	("ccp:data-bank=4160:weight-bank=1088:icache=320:lob=2:split-banks=off+"
	 "ccp:data-bank=12288:weight-bank=2048:icache=512:lob=3:split-banks=on"),
	"ccp:data-bank=32768:weight-bank=4096:lob=5:split-banks=off",
};

static const char *const kind_name[GEN_KINDS] = {
	"legal", "extreme", "short", "field", "flip", "dma", "illegal", "pc", "fault", "packet",
	"noise", "limit",
};

/* Two jobs in three are legal. */
static unsigned int kind_of(uint64_t index)
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

static unsigned int device_of(uint64_t random, unsigned int kind)
{
	static const unsigned int share[] = { 0, 0, 1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 6, 7, 7 };

	/* BNZ cannot reach past the end of an 8 KiB instruction cache: prefer a smaller one. */
	if (kind == GEN_PC && random % 2)
		return 2;
	if (kind == GEN_EXTREME && random % 3)
		return 0;
	return share[random % (sizeof(share) / sizeof(share[0]))];
}

static bool legal(unsigned int kind)
{
	return kind == GEN_LEGAL || kind == GEN_EXTREME || kind == GEN_SHORT;
}

static bool together(unsigned int kind)
{
	return legal(kind) || kind == GEN_FIELD;
}

static void generate(unsigned int kind, uint64_t seed, const struct host_queue *queue,
		     struct job *job, struct image *image)
{
	static struct gen gen;
	struct golden_ccp_params params;

	golden_ccp_params_of(&queue->entry, &params);
	gen_job(&gen, kind, seed, &params, queue->job_cycles_max, job, image);
}

static bool vector_fits(unsigned int index, const struct cnnacc_core_entry *entry)
{
	static const struct golden_ccp_params by_default = {
		CNNACC_CCP_DATA_BANK_DEFAULT, CNNACC_CCP_WEIGHT_BANK_DEFAULT,
		CNNACC_CCP_ICACHE_DEFAULT, CNNACC_CCP_LOB_DEFAULT, 1,
	};
	const struct golden_ccp_params *want = vector_params(index);
	struct golden_ccp_params params;

	return golden_ccp_params_of(entry, &params) &&
	       !memcmp(&params, want ? want : &by_default, sizeof(params));
}

const struct compare compare_core = {
	.kind = &ccp_bench,
	.devices = device_cores,
	.device_count = sizeof(device_cores) / sizeof(device_cores[0]),
	.legal_jobs = 20000,
	.kinds = kind_name, .limit = GEN_LIMIT, .kind_of = kind_of, .device_of = device_of,
	.legal = legal, .together = together, .generate = generate,
	.print_code = asm_print,
	.vectors = {
		vector_count, vector_name, vector_fits, vector_build, vector_check,
	},
	.access = ccp_coverage_access, .coverage = ccp_coverage,
};
