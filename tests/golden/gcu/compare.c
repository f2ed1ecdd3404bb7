// SPDX-License-Identifier: MIT
#include "compare.h"
#include "gen.h"
#include "vectors.h"

static const char *const device_cores[] = {
	"gcu:job-cycles-max=9223372036854775807",
	"gcu:bus=8:job-cycles-max=9223372036854775807",
	"gcu:fp-floor=on:program=8192:job-cycles-max=9223372036854775807",
	("gcu:atomic-c=4:atomic-k=4:cbuf-banks=4:fmbuf-rows=8:rbuf-banks=2:rbuf-depth=16:bus=16:"
	 "program=1024+"
	 "gcu:atomic-c=16:atomic-k=8:cbuf-banks=7:fmbuf-rows=48:rbuf-banks=3:rbuf-depth=48:bus=32:"
	 "job-cycles-max=5000000"),
	("gcu:atomic-c=32:atomic-k=32:cbuf-banks=32:fmbuf-rows=1024:rbuf-banks=8:rbuf-depth=4096:"
	 "fp-floor=on:program=1048576"),
	"gcu:atomic-c=4:atomic-k=16:cbuf-banks=23:bus=8:fp-floor=on:rbuf-depth=64",
};

static const char *const kind_name[GEN_GCU_KINDS] = {
	"legal", "long", "short", "config", "table", "stuck", "range", "length", "flip", "noise",
	"fault", "packet", "limit",
};

/* Two jobs in three are legal. */
static unsigned int kind_of(uint64_t index)
{
	static const enum gen_gcu_kind other[] = {
		GEN_GCU_CONFIG, GEN_GCU_FAULT, GEN_GCU_STUCK, GEN_GCU_FAULT, GEN_GCU_FAULT,
		GEN_GCU_LIMIT, GEN_GCU_FAULT, GEN_GCU_TABLE, GEN_GCU_FAULT, GEN_GCU_FLIP,
		GEN_GCU_CONFIG, GEN_GCU_FAULT, GEN_GCU_RANGE, GEN_GCU_FAULT, GEN_GCU_LIMIT,
		GEN_GCU_PACKET, GEN_GCU_FAULT, GEN_GCU_PACKET, GEN_GCU_FAULT, GEN_GCU_NOISE,
		GEN_GCU_CONFIG, GEN_GCU_FAULT, GEN_GCU_LIMIT, GEN_GCU_FAULT, GEN_GCU_LENGTH,
	};

	if (index % 3 == 2)
		return other[index / 3 % (sizeof(other) / sizeof(other[0]))];
	if (index % 29 == 0)
		return GEN_GCU_LONG;
	return index % 5 == 0 ? GEN_GCU_SHORT : GEN_GCU_LEGAL;
}

static unsigned int device_of(uint64_t random, unsigned int kind)
{
	static const unsigned int share[] = { 0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 4, 5 };

	(void)kind;
	return share[random % (sizeof(share) / sizeof(share[0]))];
}

static bool legal(unsigned int kind)
{
	return gen_gcu_legal(kind);
}

static bool together(unsigned int kind)
{
	return legal(kind) || kind == GEN_GCU_CONFIG;
}

static void generate(unsigned int kind, uint64_t seed, const struct host_queue *queue,
		     struct job *job, struct image *image)
{
	static struct gen_gcu gen;
	struct golden_gcu_params params;

	golden_gcu_params_of(&queue->entry, &params);
	gen_gcu_job(&gen, kind, seed, &params, queue->job_cycles_max, job, image);
}

static bool vector_fits(unsigned int index, const struct cnnacc_core_entry *entry)
{
	const struct gcu_vector *v = gcu_vector(index);
	struct golden_gcu_params p;

	return golden_gcu_params_of(entry, &p) && p.fp_floor == v->fp_floor &&
	       p.bus == (v->bus ? v->bus : CNNACC_GCU_BUS_DEFAULT) &&
	       p.atomic_c == CNNACC_GCU_ATOMIC_DEFAULT &&
	       p.atomic_k == CNNACC_GCU_ATOMIC_DEFAULT &&
	       p.cbuf_banks == CNNACC_GCU_CBUF_BANKS_DEFAULT &&
	       p.fmbuf_rows == CNNACC_GCU_ROWS_DEFAULT &&
	       p.rbuf_banks == CNNACC_GCU_RBUF_BANKS_DEFAULT &&
	       p.rbuf_depth == CNNACC_GCU_RBUF_DEPTH_DEFAULT;
}

const struct compare compare_core = {
	.kind = &gcu_bench,
	.devices = device_cores,
	.device_count = sizeof(device_cores) / sizeof(device_cores[0]),
	.legal_jobs = 12000,
	.kinds = kind_name, .limit = GEN_GCU_LIMIT, .kind_of = kind_of,
	.device_of = device_of, .legal = legal, .together = together, .generate = generate,
	.print_code = gcu_print,
	.vectors = {
		gcu_vector_count, gcu_vector_name, vector_fits, gcu_vector_build,
		gcu_vector_check,
	},
	.access = gcu_coverage_access, .coverage = gcu_coverage,
};
