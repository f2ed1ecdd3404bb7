// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "../coverage.h"
#include "compare.h"
#include "cover.h"
#include "gen.h"

#define ALL(count)	((1ull << (count)) - 1)
#define LINE(name, counts, expected) \
	coverage_line(name, counts, sizeof(counts) / sizeof((counts)[0]), expected)
#define EACH(name, counts)	LINE(name, counts, ALL(sizeof(counts) / sizeof((counts)[0])))
#define ONE(name, count)	coverage_line(name, &(count), 1, 1)

unsigned int gcu_coverage_access(const struct golden_status *status, void *model)
{
	(void)status;
	return COVERAGE_CORE + golden_gcu_failed_access(model);
}

static unsigned int report_ends(const struct golden_gcu_coverage *c)
{
	return LINE("E_CFG", c->cfg, ALL(CNNACC_GCU_BAD_ALIGN + 1) & ~1ull) +
	       ONE("E_LENGTH", c->length) +
	       EACH("E_RANGE", c->range) +
	       ONE("E_TABLE", c->table_end) +
	       LINE("E_DEADLOCK", c->deadlock, 0x6) +
	       EACH("limit at", c->limit) +
	       ONE("partly written", c->partly_written);
}

/* Flags from bit 8 on: unsigned ifmap and weights, ACC16, PSUM, LINEAR, ROUND_UP, CLAMP, TABLE. */
static unsigned int report_layers(const struct golden_gcu_coverage *c)
{
	return EACH("INT8 by scheme", c->layers[CNNACC_GCU_INT8]) +
	       EACH("INT16 by scheme", c->layers[CNNACC_GCU_INT16]) +
	       EACH("FP16 by scheme", c->layers[CNNACC_GCU_FP16]) +
	       LINE("flags of INT8", c->flag[CNNACC_GCU_INT8], 0xff) +
	       LINE("flags of INT16", c->flag[CNNACC_GCU_INT16], 0xf8) +
	       LINE("flags of FP16", c->flag[CNNACC_GCU_FP16], 0xd8) +
	       EACH("activations of INT8", c->act[CNNACC_GCU_INT8]) +
	       EACH("activations of INT16", c->act[CNNACC_GCU_INT16]) +
	       EACH("activations of FP16", c->act[CNNACC_GCU_FP16]) +
	       EACH("output types", c->out);
}

static unsigned int report_geometry(const struct golden_gcu_coverage *c)
{
	return LINE("hstride", c->hstride, 0x1fe) + LINE("vstride", c->vstride, 0x1fe) +
	       EACH("inner_lr", c->inner_lr) + EACH("inner_tb", c->inner_tb) +
	       EACH("dilated", c->dilated) + EACH("padded", c->padded) +
	       ONE("R is not S", c->oblong) + EACH("outputs left out", c->cut) +
	       ONE("narrow", c->narrow) +
	       ONE("part of ATOMIC_C", c->part_channels) +
	       ONE("part of ATOMIC_K", c->part_kernels) +
	       EACH("groups", c->groups) +
	       EACH("kbufgrpsz", c->kernel_size) +
	       EACH("fmbufcoln", c->column_code) +
	       EACH("ifmap columns", c->stride[0]) + EACH("psum columns", c->stride[1]) +
	       EACH("ofmap columns", c->stride[2]);
}

static unsigned int report_areas(const struct golden_gcu_coverage *c)
{
	return ONE("rows found", c->hit) + EACH("no slot free", c->full) +
	       ONE("as far ahead as allowed", c->ahead) +
	       EACH("evicted", c->evicted) + ONE("several at once", c->evicted_many) +
	       ONE("tables restarted", c->restarted) + ONE("tables go on", c->continued) +
	       ONE("OP4 goes on", c->kept_op4) +
	       ONE("invalid slots in vector", c->in_vain) +
	       ONE("slots outside", c->outside) +
	       ONE("rows read again", c->refilled_row) +
	       ONE("all weights resident", c->resident_all) +
	       ONE("weights swapped", c->swapped) +
	       ONE("weights read again", c->refilled_weights) +
	       ONE("masked rows", c->masked_row) + ONE("masked columns", c->masked_column) +
	       EACH("stalls", c->stall) +
	       ONE("waits", c->waited) + EACH("fills", c->filled) +
	       EACH("probes", c->probed) + EACH("unaligned probes", c->rotated) +
	       ONE("missed", c->missed) + ONE("searched before a layer", c->searched_nothing);
}

static unsigned int report_sums(const struct golden_gcu_coverage *c)
{
	return EACH("saturated, 32 bits", c->saturated[0]) +
	       EACH("saturated, 16 bits", c->saturated[1]) +
	       /* 4 * func - 50 is never below -126. */
	       LINE("FP16 sums", c->sum, ALL(GOLDEN_GCU_SUMS) & ~(1ull << GOLDEN_GCU_SUM_BELOW)) +
	       EACH("larger exponent", c->sum_big) +
	       ONE("subnormal old", c->old_subnormal) + ONE("special old", c->old_special) +
	       ONE("far apart", c->far_apart) +
	       ONE("raised by zeros", c->raised_by_zero) + ONE("floored", c->floored) +
	       ONE("shifted out", c->shifted_out) + ONE("exponent 31", c->special_factor);
}

static unsigned int report_stages(const struct golden_gcu_coverage *c)
{
	return EACH("linear beyond 64 bits", c->linear_wide) +
	       EACH("linear beyond 32 bits", c->linear_cut) +
	       EACH("halves to even", c->half[0]) + EACH("halves up", c->half[1]) +
	       EACH("ReLU", c->relu_cut) + EACH("leaky saturated", c->leaky_cut) +
	       EACH("sigmoid, tanh saturated", c->act_cut) +
	       EACH("cells", c->cell[0]) + EACH("cells of negative", c->cell[1]) +
	       EACH("clamped", c->clamped[0]) + EACH("clamped FP32", c->clamped[1]) +
	       EACH("INT8 saturated", c->out_cut[0]) + EACH("UINT8 saturated", c->out_cut[1]) +
	       EACH("INT16 saturated", c->out_cut[2]) + EACH("INT32 saturated", c->out_cut[3]) +
	       EACH("NaN by activation", c->nan) + EACH("stored as FP16", c->store);
}

unsigned int gcu_coverage(const struct bench *benches, unsigned int count)
{
	static const struct coverage_scope scope = {
		.kinds = GEN_GCU_KINDS, .classes = 0x7f,
		.accesses = {
			[GOLDEN_GCU_LUT] = { "lut", 0x7f },
			[GOLDEN_GCU_LINEAR] = { "linear table", 0x7f },
			[GOLDEN_GCU_WEIGHTS] = { "weights", 0x7f },
			[GOLDEN_GCU_INCREMENT] = { "increment table", 0x7f },
			[GOLDEN_GCU_VECTOR] = { "vector table", 0x7f },
			[GOLDEN_GCU_ROW] = { "ifmap", 0x7f },
			[GOLDEN_GCU_PSUM] = { "psum", 0x7f },
			[GOLDEN_GCU_OFMAP] = { "ofmap", 0x7f },
			[GOLDEN_GCU_PROBED] = { "probe", 0x7f },
			[GOLDEN_GCU_FILLING] = { "fill", 0x7f },
		},
	};
	struct golden_gcu_coverage c = { 0 };

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int core = 0; core < benches[i].host.core_count; core++)
			coverage_add(&c, golden_gcu_coverage(benches[i].model[core]), sizeof(c));
	return coverage_common(benches, count, &scope) + report_ends(&c) + report_layers(&c) +
	       report_geometry(&c) + report_areas(&c) + report_sums(&c) + report_stages(&c);
}
