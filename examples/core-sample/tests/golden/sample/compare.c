// SPDX-License-Identifier: MIT
#include "../compare.h"

#include "../bench_sequencer.h"
#include "../coverage.h"
#include "gen.h"
#include "vectors.h"

#define ALL(count)	((1ull << (count)) - 1)
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define LINE(name, counts, expected)	coverage_line(name, counts, COUNT(counts), expected)

/* ---- a device beside its golden models */

static void *create(const struct cnnacc_core_entry *entry, struct golden_core *core)
{
	struct golden_sample_params params;
	struct golden_sample *sample;

	if (!golden_sample_params_of(entry, &params))
		return NULL;
	sample = golden_sample_create(&params);
	if (sample)
		golden_sample_core(sample, core);
	return sample;
}

static void destroy(void *model)
{
	golden_sample_destroy(model);
}

static bool compare_window(struct host *host, uint32_t window, void *model)
{
	const struct golden_sample *sample = model;
	const struct {
		const char *name;
		uint32_t offset, value;
	} regs[] = {
		{ "STATUS", CNNACC_SAMPLE_REG_STATUS, sample->running | sample->last_bank << 8 },
		{ "ELEMENTS", CNNACC_SAMPLE_REG_ELEMENTS, sample->elements },
	};
	bool bad = bench_compare_sequencer(host, window, CNNACC_SAMPLE_ID, &sample->seq.regs);

	for (unsigned int i = 0; i < COUNT(regs); i++)
		bad |= bench_differ(regs[i].name, host_read(host, window + regs[i].offset),
				    regs[i].value);
	return bad;
}

static const struct cnnacc_code_info codes[] = CNNACC_SAMPLE_CODES;
static const struct cnnacc_code_info seq_codes[] = CNNACC_SEQ_CODES;

static const struct bench_kind sample_bench = {
	.create = create, .destroy = destroy, .compare_window = compare_window,
	.codes = { { codes, COUNT(codes) }, { seq_codes, COUNT(seq_codes) } },
};

/* ---- jobs */

static const char *const device_cores[] = {
	"sample:job-cycles-max=9223372036854775807",
	"sample:bank=4096:program=2048+sample:bank=8192:program=4096:job-cycles-max=1000000",
};

static const char *const kind_name[GEN_SAMPLE_KINDS] = {
	"legal", "command", "illegal", "state", "range", "flip", "fault", "packet", "limit",
};

/* Two jobs in three are legal, and most others faults, of which there are many kinds. */
static unsigned int kind_of(uint64_t index)
{
	unsigned int other = index / 3 % (2 * GEN_SAMPLE_KINDS);

	if (index % 3 != 2)
		return GEN_SAMPLE_LEGAL;
	return other && other < GEN_SAMPLE_KINDS ? other : GEN_SAMPLE_FAULT;
}

static unsigned int device_of(uint64_t random, unsigned int kind)
{
	(void)kind;
	return random % COUNT(device_cores);
}

static bool legal(unsigned int kind)
{
	return kind == GEN_SAMPLE_LEGAL;
}

static void generate(unsigned int kind, uint64_t seed, const struct host_queue *queue,
		     struct job *job, struct image *image)
{
	struct golden_sample_params params;

	golden_sample_params_of(&queue->entry, &params);
	gen_sample_job(kind, seed, &params, queue->job_cycles_max, job, image);
}

static bool vector_fits(unsigned int index, const struct cnnacc_core_entry *entry)
{
	(void)index;
	return entry->param[CNNACC_SAMPLE_PARAM_BANK] == CNNACC_SAMPLE_BANK_DEFAULT;
}

/* ---- coverage */

enum access { COPY_IN, COPY_OUT };

static unsigned int failed_access(const struct golden_status *status, void *model)
{
	const struct golden_sample *sample = model;

	(void)status;
	return COVERAGE_CORE + (sample->seq.refused == CNNACC_ACCESS_READ ? COPY_IN : COPY_OUT);
}

static unsigned int report(const struct golden_sample_coverage *c,
			   const struct golden_seq_coverage *s)
{
	return LINE("operations", s->op, ALL(GOLDEN_SEQ_OPS) & ~(1u << CNNACC_SEQ_DRAIN)) +
	       LINE("bad words of EXEC", s->word[CNNACC_SEQ_EXEC], 0x81) +
	       LINE("bad words of WAIT", s->word[CNNACC_SEQ_WAIT], 0x02) +
	       LINE("bad words of DRAIN", s->word[CNNACC_SEQ_DRAIN], 0x01) +
	       LINE("E_ILLEGAL", c->illegal, 0x6) +
	       LINE("E_CFG", c->cfg, 0x6) +
	       LINE("E_BUSY", c->busy, ALL(CNNACC_SAMPLE_BANKS)) +
	       LINE("E_CONFLICT", s->conflict, ALL(CNNACC_SAMPLE_BANKS)) +
	       LINE("E_RANGE", s->range, ALL(CNNACC_SAMPLE_BANKS)) +
	       LINE("WAIT", s->wait, 1 << GOLDEN_SEQ_HOLDS | 1 << GOLDEN_SEQ_COMES) +
	       LINE("ADD", c->added, ALL(CNNACC_SAMPLE_BANKS)) +
	       LINE("saturated", c->saturated, 0x3) +
	       LINE("op changed by loops", s->stepped, 1 << CNNACC_SEQ_EXEC) +
	       coverage_line("half a bank", &c->whole, 1, 1) +
	       coverage_line("END beside an instruction", &s->ended_busy, 1, 1);
}

static unsigned int coverage(const struct bench *benches, unsigned int count)
{
	static const struct coverage_scope scope = {
		.kinds = GEN_SAMPLE_KINDS,
		.classes = ALL(CNNACC_STATUS_TIME_LIMIT + 1) & ~(1u << CNNACC_STATUS_DEADLOCK),
		.accesses = {
			[COPY_IN] = { "COPY2D reading", 0x7e },
			[COPY_OUT] = { "COPY2D writing", 0x7e },
		},
	};
	struct golden_sample_coverage c = { 0 };
	struct golden_seq_coverage s = { 0 };

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++) {
			const struct golden_sample *sample = benches[i].model[core];

			coverage_add(&c, &sample->coverage, sizeof(c));
			coverage_add(&s, &sample->seq.coverage, sizeof(s));
		}
	return coverage_common(benches, count, &scope) + report(&c, &s);
}

const struct compare compare_core = {
	.kind = &sample_bench,
	.devices = device_cores,
	.device_count = COUNT(device_cores),
	.legal_jobs = 5000,
	.kinds = kind_name, .limit = GEN_SAMPLE_LIMIT, .kind_of = kind_of,
	.device_of = device_of, .legal = legal, .together = legal, .generate = generate,
	.print_code = sample_print,
	.vectors = {
		sample_vector_count, sample_vector_name, vector_fits, sample_vector_build,
		sample_vector_check,
	},
	.access = failed_access, .coverage = coverage,
};
