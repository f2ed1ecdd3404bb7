// SPDX-License-Identifier: MIT
#include "../coverage.h"
#include "compare.h"
#include "gen.h"

#define ALL(count)	((1ull << (count)) - 1)
#define LINE(name, counts, expected) \
	coverage_line(name, counts, sizeof(counts) / sizeof((counts)[0]), expected)
#define ONE(name, count)	coverage_line(name, &(count), 1, 1)

unsigned int imc_coverage_access(const struct golden_status *status, void *model)
{
	(void)status;
	return COVERAGE_CORE + golden_imc_failed(model);
}

static unsigned int report_sequencer(const struct golden_seq_coverage *c)
{
	uint64_t ops = ALL(CNNACC_SEQ_LOOP + 1) & ~(1ull << CNNACC_SEQ_DRAIN);

	return LINE("operations", c->op, ops) +
	       LINE("bad words of EXEC", c->word[CNNACC_SEQ_EXEC], 0x81) +
	       LINE("bad words of DRAIN", c->word[CNNACC_SEQ_DRAIN], 0x1) +
	       LINE("bad words of WAIT", c->word[CNNACC_SEQ_WAIT], 0x2) +
	       LINE("E_CONFLICT", c->conflict, ALL(CNNACC_IMC_MEMORIES)) +
	       LINE("E_RANGE of rows", c->range, ALL(CNNACC_IMC_MEMORIES)) +
	       LINE("COPY2D from memory", c->copied_in, ALL(CNNACC_IMC_MEMORIES)) +
	       LINE("COPY2D to memory", c->copied_out, ALL(CNNACC_IMC_MEMORIES)) +
	       LINE("FILL", c->filled, ALL(CNNACC_IMC_MEMORIES)) +
	       ONE("rows of nothing", c->nothing) +
	       LINE("WAIT: never, holds, comes", c->wait, 0x7) +
	       ONE("END beside a plane", c->ended_busy);
}

static unsigned int report_planes(const struct golden_imc_coverage *c)
{
	return LINE("planes of INT8", c->planes[CNNACC_IMC_INT8], 0x3) +
	       LINE("planes of UINT8", c->planes[CNNACC_IMC_UINT8], 0x3) +
	       LINE("planes of FP32", c->planes[CNNACC_IMC_FP32], 0x3) +
	       LINE("kernel size", c->kernel, 0xffe) +
	       LINE("result columns", c->extra, 0x3fe) +
	       LINE("passes", c->passes, 0xf) +
	       LINE("groups", c->groups, 0xf) +
	       LINE("claimed banks", c->bank, ALL(CNNACC_IMC_MEMORIES)) +
	       ONE("ACCUMULATE", c->accumulated) +
	       ONE("a short last pass", c->short_pass) +
	       ONE("a short last group", c->short_group) +
	       ONE("input with gaps", c->strided) +
	       ONE("elements that overlap", c->overlapping_input) +
	       LINE("saturated, low, high", c->saturated, 0x3) +
	       ONE("NaN", c->nans) +
	       ONE("subnormal", c->subnormals) +
	       ONE("rows of a free bank", c->beside) +
	       ONE("past the cycle limit", c->cut_off);
}

static unsigned int report_steps(const struct golden_imc_coverage *c)
{
	uint64_t low = ALL(0x2c) & ~ALL(0x10), counters = ALL(18);

	return LINE("stalled by the port, by STEP", c->stalled, 0x3) +
	       ONE("planes in step mode", c->stepped) +
	       ONE("that ended", c->stepped_out) +
	       ONE("in a shorter STEP", c->steps_short) +
	       ONE("that were lost", c->lost) +
	       coverage_line("READ", c->read, 0x40, low) +
	       coverage_line("READ of counters", c->read + 0x40, 0x40, counters);
}

static unsigned int report_refusals(const struct golden_imc_coverage *c)
{
	return LINE("E_ILLEGAL", c->illegal, 0xe) +
	       LINE("E_COMMAND: EVENTS, RESULT, none", c->flags, 0x7) +
	       LINE("E_CFG", c->cfg, ALL(CNNACC_IMC_BAD_CLOCKS + 1) & ~1ull) +
	       LINE("E_BUSY", c->busy, 0x7) +
	       LINE("E_ADDR", c->address, ALL(CNNACC_IMC_MEMORIES));
}

unsigned int imc_coverage(const struct bench *benches, unsigned int count)
{
	static const struct coverage_scope scope = {
		.kinds = GEN_IMC_KINDS, .classes = 0x7f,
		.accesses = {
			[IMC_COPY_IN] = { "COPY2D reading", 0x7f },
			[IMC_COPY_OUT] = { "COPY2D writing", 0x7f },
			[IMC_READ_RESULT] = { "results of READ", 0x7e },
		},
	};
	struct golden_imc_coverage c = { 0 };
	struct golden_seq_coverage s = { 0 };

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++) {
			void *model = benches[i].model[core];

			coverage_add(&c, golden_imc_coverage(model), sizeof(c));
			coverage_add(&s, golden_imc_seq_coverage(model), sizeof(s));
		}
	return coverage_common(benches, count, &scope) + report_sequencer(&s) +
	       report_planes(&c) + report_steps(&c) + report_refusals(&c);
}
