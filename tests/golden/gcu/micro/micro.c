// SPDX-License-Identifier: MIT
#include "micro.h"

#include <stdlib.h>
#include <string.h>

#define BOOT_LINES	(CNNACC_GCU_BLOCK_SIZE / CNNACC_LINE_SIZE)
#define ENDLESS		(1ull << 32)

static unsigned int low_half(uint32_t word)
{
	return word & 0xffff;
}

static unsigned int byte(uint32_t word, unsigned int n)
{
	return word >> 8 * n & 0xff;
}

static unsigned int out_bytes(uint32_t control)
{
	static const unsigned int bytes[8] = {
		[CNNACC_GCU_OUT_INT8] = 1, [CNNACC_GCU_OUT_UINT8] = 1, [CNNACC_GCU_OUT_INT16] = 2,
		[CNNACC_GCU_OUT_INT32] = 4, [CNNACC_GCU_OUT_FP16] = 2, [CNNACC_GCU_OUT_FP32] = 4,
	};

	return bytes[control >> CNNACC_GCU_OUT_SHIFT & 7];
}

static struct micro_layer layer_of(const struct cnnacc_gcu_layer *b)
{
	unsigned int format = b->control >> CNNACC_GCU_FORMAT_SHIFT & 3;
	unsigned int act = b->control >> CNNACC_GCU_ACT_SHIFT & 7;

	return (struct micro_layer){
		.w = low_half(b->in_size), .h = b->in_size >> 16,
		.c = low_half(b->channels), .k = b->channels >> 16,
		.ofmw = low_half(b->out_size), .ofmh = b->out_size >> 16,
		.s = byte(b->kernel, 0), .r = byte(b->kernel, 1),
		.hstride = byte(b->kernel, 2), .vstride = byte(b->kernel, 3),
		.dil_h = byte(b->spacing, 0), .dil_v = byte(b->spacing, 1),
		.inner_lr = byte(b->spacing, 2), .inner_tb = byte(b->spacing, 3),
		.left = byte(b->padding, 0), .top = byte(b->padding, 2), .groups = b->groups,
		.rows = b->fmbuf >> 16, .kernel_slots = b->kbuf >> 16, .threshold = b->threshold,
		.bytes = format == CNNACC_GCU_INT8 ? 1 : 2, .out_bytes = out_bytes(b->control),
		.fp16 = format == CNNACC_GCU_FP16, .psum = b->control & CNNACC_GCU_PSUM,
		.linear = b->control & CNNACC_GCU_LINEAR, .act = act != CNNACC_GCU_ACT_NONE,
		.lut = act == CNNACC_GCU_ACT_SIGMOID || act == CNNACC_GCU_ACT_TANH,
		.table = b->control & CNNACC_GCU_TABLE,
		.ifmap = b->ifmap, .psum_map = b->psum, .ofmap = b->ofmap,
		.weight_va = b->weight_va, .linear_va = b->linear_va,
	};
}

static uint64_t group_weights(const struct micro *m)
{
	return (uint64_t)(m->cg_last - m->cg_first + 1) * m->l.r * m->l.s * m->kn *
	       m->build.atomic_c * m->l.bytes;
}

/* Begin the next kernel group as soon as the array has left the one before. */
static void control_step(struct micro *m)
{
	if (m->group_begun || m->array_done)
		return;
	if (m->group)
		m->weight_va += group_weights(m);
	else if (m->l.lut)
		micro_request(m, &m->weights, micro_line_clocks(m) * 2 * CNNACC_GCU_LUT_ENTRIES /
			      CNNACC_LINE_SIZE, NULL);
	micro_begin_group(m);
	m->group_begun = true;
	m->at = micro_first(m);
	micro_weights_begin(m);
	micro_rows_begin(m);
}

static void step(struct micro *m)
{
	control_step(m);
	if (!m->array_done)
		micro_fetch_step(m);
	micro_psum_step(m);
	micro_stream_step(m, &m->rows);
	micro_stream_step(m, &m->weights);
	micro_stream_step(m, &m->psum);
	micro_array_step(m);
	micro_output_step(m);
	m->clock++;
}

void micro_run(const struct micro_build *build, const struct cnnacc_gcu_layer *block,
	       const uint8_t *increment, const uint8_t *vector, struct micro_count *count)
{
	static struct micro m;

	memset(&m, 0, sizeof(m));
	memset(count, 0, sizeof(*count));
	m.build = *build;
	m.l = layer_of(block);
	m.l.increment = increment;
	m.l.vector = vector;
	m.count = count;
	m.groups = (m.l.k + build->atomic_k - 1) / build->atomic_k;
	m.weight_va = m.l.weight_va;
	/* Boot: a line in each clock, after the set-up; then the layer's. */
	m.clock = 16 + BOOT_LINES + MICRO_START;
	while (!m.array_done || micro_output_busy(&m)) {
		step(&m);
		if (m.clock > ENDLESS)
			abort();
	}
	count->cycles = m.clock;
}
