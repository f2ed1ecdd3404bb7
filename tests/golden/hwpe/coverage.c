// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "../coverage.h"
#include "compare.h"
#include "gen.h"
#include "hwpe.h"

#define ALL(count)	((1ull << (count)) - 1)
#define LINE(name, counts, expected) \
	coverage_line(name, counts, sizeof(counts) / sizeof((counts)[0]), expected)
#define ONE(name, count)	coverage_line(name, &(count), 1, 1)

unsigned int hwpe_coverage_access(const struct golden_status *status, void *model)
{
	(void)status;
	return COVERAGE_CORE + golden_hwpe_failed_access(model);
}

/* Words of each operation that can be bad; any core has these. */
static unsigned int report_words(const struct golden_seq_coverage *c)
{
	static const uint64_t expected[GOLDEN_SEQ_OPS] = {
		[CNNACC_SEQ_END] = 0xff, [CNNACC_SEQ_COPY2D] = 0x81, [CNNACC_SEQ_FILL] = 0xa3,
		[CNNACC_SEQ_EXEC] = 0xfd, [CNNACC_SEQ_DRAIN] = 0xf7, [CNNACC_SEQ_WAIT] = 0xff,
		[CNNACC_SEQ_IRQ] = 0xfd, [CNNACC_SEQ_LOOP] = 0x01,
	};
	unsigned int missing = 0;
	char name[32];

	for (unsigned int op = 0; op < GOLDEN_SEQ_OPS; op++) {
		snprintf(name, sizeof(name), "bad words of op %u", op);
		missing += LINE(name, c->word[op], expected[op]);
	}
	return missing;
}

static unsigned int report_sequencer(const struct golden_seq_coverage *c)
{
	return LINE("operations", c->op, 0xff) +
	       LINE("codes", c->code, 0x3f007f0015ull) +
	       report_words(c) +
	       ONE("unknown operation", c->unknown_op) +
	       LINE("E_LOOP", c->loop, 0x7e) +
	       LINE("E_CONFLICT", c->conflict, ALL(CNNACC_HWPE_MEMORIES)) +
	       LINE("E_RANGE", c->range, ALL(CNNACC_HWPE_MEMORIES)) +
	       LINE("limit at op", c->limit, 0xff) +
	       ONE("limit at boot", c->limit_boot) +
	       LINE("COPY2D from memory", c->copied_in, ALL(CNNACC_HWPE_MEMORIES)) +
	       LINE("COPY2D to memory", c->copied_out, ALL(CNNACC_HWPE_MEMORIES)) +
	       LINE("FILL", c->filled, ALL(CNNACC_HWPE_MEMORIES)) +
	       ONE("rows of nothing", c->nothing) +
	       LINE("rows past the limit", c->too_long, 0x06) +
	       LINE("WAIT", c->wait, 0x7) +
	       LINE("loops under way", c->depth, ALL(CNNACC_SEQ_LOOPS + 1)) +
	       LINE("op changed by loops", c->stepped, 0xde) +
	       LINE("pairs", c->many, 0x3) +
	       ONE("loops with one end", c->shared_end) +
	       ONE("END in a loop", c->ended_in_loop) +
	       ONE("END beside a window", c->ended_busy);
}

static unsigned int report_windows(const struct golden_hwpe_coverage *c)
{
	return LINE("windows of UINT8", c->window[CNNACC_HWPE_UINT8], ALL(GOLDEN_HWPE_LAYERS)) +
	       LINE("windows of TER2", c->window[CNNACC_HWPE_TER2], 1 << GOLDEN_HWPE_INNER) +
	       LINE("windows of EXP4", c->window[CNNACC_HWPE_EXP4], 1 << GOLDEN_HWPE_INNER) +
	       LINE("windows of INT8", c->window[CNNACC_HWPE_INT8], ALL(GOLDEN_HWPE_LAYERS)) +
	       LINE("kernel sizes", c->kernel, 0xffe) +
	       ONE("later K groups", c->k_group) +
	       ONE("later W positions", c->w_step) +
	       ONE("later H positions", c->h_step) +
	       LINE("saturated", c->saturated, 0x3) +
	       ONE("BAD_TER2", c->bad_ter2) +
	       ONE("ALIGN", c->unaligned) +
	       ONE("counts of zero", c->zero_count) +
	       LINE("Reset in state", c->reset, 0x7) +
	       ONE("after a Reset, early", c->started_late);
}

static unsigned int report_drains(const struct golden_hwpe_coverage *c)
{
	uint64_t all = ALL(GOLDEN_HWPE_DRAINS);

	return LINE("resumed by", c->resumed, all) +
	       LINE("ended by", c->ended, all) +
	       ONE("resumed late", c->stalled) +
	       LINE("shifts", c->shift, ALL(CNNACC_HWPE_SHIFT_MAX + 1)) +
	       LINE("relu8", c->relu_cut, 0x7) +
	       ONE("events of rounds", c->events) +
	       ONE("drained again", c->drained_again) +
	       ONE("results", c->result) +
	       ONE("stored in two lines", c->stored_in_two_lines) +
	       LINE("refused results", c->fault[GOLDEN_HWPE_READ], 0x1) +
	       LINE("refused ReLUWrites", c->fault[GOLDEN_HWPE_RELU], 0x3) +
	       LINE("refused DRAINs", c->fault[GOLDEN_HWPE_DRAIN], 0x3);
}

static unsigned int report_refusals(const struct golden_hwpe_coverage *c)
{
	/* States that must be covered: never IDLE; configuration also fails when SUSPENDED. */
	static const uint64_t states[8] = { 6, 6, 6, 2, 2, 2, 0, 2 };
	unsigned int missing = 0;
	char name[32];

	for (unsigned int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "E_BUSY of funct %u", i == 7 ? 0 : 1 << i);
		missing += states[i] ? LINE(name, c->busy[i], states[i]) : 0;
	}
	return missing +
	       LINE("instructions", c->insn, 0x7f) +
	       LINE("E_ILLEGAL", c->illegal, 0x7e) +
	       LINE("E_ENABLE_IDLE of", c->enable_idle, ALL(GOLDEN_HWPE_DRAINS)) +
	       LINE("E_CFG", c->cfg, 0x7e) +
	       ONE("E_CFG of MatrixMac", c->mac_unconfigured) +
	       LINE("E_FMAP_2ADDR", c->two_addr, 0xff) +
	       LINE("E_ADDR", c->addr, 0x1ff) +
	       LINE("next window refused", c->refused_resuming, ALL(GOLDEN_HWPE_DRAINS));
}

unsigned int hwpe_coverage(const struct bench *benches, unsigned int count)
{
	static const struct coverage_scope scope = {
		.kinds = GEN_HWPE_KINDS, .classes = 0x7f,
		.accesses = {
			[GOLDEN_HWPE_COPY_IN] = { "COPY2D reading", 0x7f },
			[GOLDEN_HWPE_COPY_OUT] = { "COPY2D writing", 0x7f },
			/* Four aligned bytes at a 32-bit VA cannot be beyond 4 GiB. */
			[GOLDEN_HWPE_RESULT] = { "result", 0x7e },
			[GOLDEN_HWPE_RELU_BYTES] = { "ReLUWrite", 0x7f },
			[GOLDEN_HWPE_DRAINED] = { "DRAIN", 0x7f },
		},
	};
	struct golden_hwpe_coverage c = { 0 };
	struct golden_seq_coverage s = { 0 };

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++) {
			void *model = benches[i].model[core];

			coverage_add(&c, golden_hwpe_coverage(model), sizeof(c));
			coverage_add(&s, golden_hwpe_seq_coverage(model), sizeof(s));
		}
	return coverage_common(benches, count, &scope) + report_sequencer(&s) +
	       report_windows(&c) + report_drains(&c) + report_refusals(&c);
}
