// SPDX-License-Identifier: MIT
#include "../coverage.h"
#include "compare.h"
#include "gen.h"

#define ALL(count)	((1ull << (count)) - 1)
#define LINE(name, counts, expected) \
	coverage_line(name, counts, sizeof(counts) / sizeof((counts)[0]), expected)
#define ONE(name, count)	coverage_line(name, &(count), 1, 1)
#define BIT(op)			(1ull << CNNACC_ENPU_##op)

enum { COPY_IN, COPY_OUT, ACCESSES };

unsigned int enpu_coverage_access(const struct golden_status *status, void *model)
{
	(void)status;
	return COVERAGE_CORE + (golden_enpu_failed_out(model) ? COPY_OUT : COPY_IN);
}

static unsigned int report_sequencer(const struct golden_seq_coverage *c)
{
	uint64_t ops = ALL(CNNACC_SEQ_LOOP + 1) & ~(1ull << CNNACC_SEQ_DRAIN);

	return LINE("operations", c->op, ops) +
	       LINE("bad words of EXEC", c->word[CNNACC_SEQ_EXEC], 0xdd) +
	       LINE("bad words of DRAIN", c->word[CNNACC_SEQ_DRAIN], 0x1) +
	       LINE("bad words of WAIT", c->word[CNNACC_SEQ_WAIT], 0x2) +
	       LINE("E_CONFLICT", c->conflict, ALL(CNNACC_ENPU_MEMORIES)) +
	       LINE("E_RANGE of rows", c->range, ALL(CNNACC_ENPU_MEMORIES)) +
	       LINE("COPY2D from memory", c->copied_in, ALL(CNNACC_ENPU_MEMORIES)) +
	       LINE("COPY2D to memory", c->copied_out, ALL(CNNACC_ENPU_MEMORIES)) +
	       LINE("FILL", c->filled, ALL(CNNACC_ENPU_MEMORIES)) +
	       ONE("rows of nothing", c->nothing) +
	       LINE("WAIT", c->wait, 0x6) +
	       ONE("END beside a program", c->ended_busy);
}

/* Indices of opcodes that do not exist stay 0. */
static unsigned int report_stages(const struct golden_enpu_coverage *c)
{
	uint64_t later = BIT(BN) | BIT(RELU) | BIT(LUT) | BIT(ADD) | BIT(MUL);
	uint64_t first = later | BIT(CONV) | BIT(CONV_RELU) | BIT(DEPTHWISE) | BIT(AVG_POOL) |
			 BIT(MAX_POOL);

	return coverage_line("first stages", c->first, CNNACC_ENPU_MUL + 1, first) +
	       coverage_line("later stages", c->later, CNNACC_ENPU_MUL + 1, later) +
	       ONE("RESHAPE alone", c->first[CNNACC_ENPU_RESHAPE]) +
	       ONE("RESHAPE at the end", c->later[CNNACC_ENPU_RESHAPE]) +
	       LINE("instructions", c->insns, ALL(13)) +
	       LINE("stages of a layer", c->stages, 0x1e) +
	       LINE("not last, not stored", c->results[0][0], 0x1) +
	       LINE("not last, stored", c->results[0][1], 0x1) +
	       LINE("last, not stored", c->results[1][0], 0x1) +
	       LINE("last, stored: both, one", c->results[1][1], 0x3);
}

static unsigned int report_values(const struct golden_enpu_coverage *c)
{
	return LINE("in place of A, of B", c->in_place, 0x3) +
	       LINE("256 as Ho, Wo, Co, Ci", c->whole, 0xf) +
	       ONE("padding points", c->padded) +
	       ONE("tiles at the edge", c->edge) +
	       ONE("dilated kernels", c->dilated) +
	       ONE("shifts to the left", c->shift_left) +
	       LINE("clamped", c->clamped, 0x3) +
	       LINE("segments", c->segment, ALL(CNNACC_ENPU_LUT_SEGMENTS)) +
	       LINE("reshaped, words", c->reshaped[0], 0x7) +
	       LINE("reshaped, lanes", c->reshaped[1], 0x7) +
	       LINE("claimed banks", c->banks, ALL(CNNACC_ENPU_BANKS * CNNACC_ENPU_MEMORIES)) +
	       ONE("rows beside a program", c->beside);
}

static unsigned int report_refusals(const struct golden_enpu_coverage *c)
{
	return LINE("E_ILLEGAL", c->illegal, 0xe) +
	       LINE("E_CFG", c->cfg, ALL(CNNACC_ENPU_BAD_SHIFT + 1) & ~1ull) +
	       ONE("BAD_SHIFT of a block", c->block_shift) +
	       LINE("E_RANGE", c->range, ALL(CNNACC_ENPU_RANGE_OUT + 1) & ~1ull) +
	       LINE("E_OVERLAP", c->overlap, 0xe) +
	       ONE("E_BUSY", c->busy) +
	       ONE("past the cycle limit", c->cut_off);
}

unsigned int enpu_coverage_model(const struct golden_enpu_coverage *c,
				 const struct golden_seq_coverage *s)
{
	return report_sequencer(s) + report_stages(c) + report_values(c) + report_refusals(c);
}

unsigned int enpu_coverage(const struct bench *benches, unsigned int count)
{
	static const struct coverage_scope scope = {
		.kinds = GEN_ENPU_KINDS, .classes = 0x5f,
		.accesses = {
			[COPY_IN] = { "COPY2D reading", 0x7f },
			[COPY_OUT] = { "COPY2D writing", 0x7f },
		},
	};
	struct golden_enpu_coverage c = { 0 };
	struct golden_seq_coverage s = { 0 };

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++) {
			void *model = benches[i].model[core];

			coverage_add(&c, golden_enpu_coverage(model), sizeof(c));
			coverage_add(&s, golden_enpu_seq_coverage(model), sizeof(s));
		}
	return coverage_common(benches, count, &scope) + enpu_coverage_model(&c, &s);
}
