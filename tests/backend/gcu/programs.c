// SPDX-License-Identifier: MIT
#include <string.h>

#include "any_value.h"
#include "cnnacc_gcu.h"
#include "core_programs.h"

#define LINE		64u
#define WORD		16u		/* bytes of a CBUF word of the default build */
#define BANK_BYTES	(CNNACC_GCU_BANK_WORDS * WORD)
#define PAIR(low, high)		((uint32_t)(low) | (uint32_t)(high) << 16)
#define BYTES(a, b, c, d)	(PAIR(a, c) | PAIR(b, d) << 8)

static uint32_t put(uint32_t *to, const void *block)
{
	memcpy(to, block, CNNACC_GCU_BLOCK_SIZE);
	return CNNACC_GCU_BLOCK_SIZE;
}

static uint32_t put_wait(uint32_t *words, uint32_t cycles)
{
	const struct cnnacc_gcu_wait b = { .control = CNNACC_GCU_WAIT, .cycles = cycles };

	return put(words, &b);
}

/* Lines between memory and the first words of CBUF. */
static uint32_t put_lines(uint32_t *words, uint32_t kind, uint32_t va, uint32_t lines)
{
	const struct cnnacc_gcu_probe b = {
		.control = kind, .port = CNNACC_GCU_PORT_FMAP, .count = lines * LINE / WORD,
		.va = va, .fmbuf_banks = (lines * LINE + BANK_BYTES - 1) / BANK_BYTES,
	};

	return put(words, &b);
}

static uint32_t put_nop(uint32_t *words)
{
	return put_wait(words, 0);
}

static uint32_t put_copy(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines)
{
	uint32_t size = put_lines(words, CNNACC_GCU_FILL, from, lines);

	return size + put_lines(words + size / 4, CNNACC_GCU_PROBE, to, lines);
}

static uint32_t put_load(uint32_t *words, uint32_t line, uint32_t lines)
{
	return put_lines(words, CNNACC_GCU_FILL, line * LINE, lines);
}

static uint32_t put_store(uint32_t *words, uint32_t line, uint32_t lines)
{
	return put_lines(words, CNNACC_GCU_PROBE, line * LINE, lines);
}

/* Longer than any job may be; fetched in as long as a copy. */
static uint32_t put_endless(uint32_t *words)
{
	uint32_t size = put_wait(words, UINT32_MAX);

	return size + put_wait(words + size / 4, UINT32_MAX);
}

/* As long as the loops of a core that has some. */
static uint32_t put_delay(uint32_t *words, uint32_t loops)
{
	return put_wait(words, loops < UINT32_MAX / 3 ? 3 * loops : UINT32_MAX);
}

static uint32_t put_illegal(uint32_t *words, uint32_t pc)
{
	const struct cnnacc_gcu_probe beyond = {
		.control = CNNACC_GCU_PROBE, .port = CNNACC_GCU_PORT_FMAP,
		.address = UINT32_MAX, .count = 1, .fmbuf_banks = 1,
	};
	uint32_t size = 0;

	for (uint32_t i = 0; i < pc; i++)
		size += put_nop(words + size / 4);
	return size + put(words + size / 4, &beyond);
}

static uint32_t put_config_error(uint32_t *words)
{
	const struct cnnacc_gcu_layer empty = { .control = CNNACC_GCU_LAYER };

	return put(words, &empty);
}

/* 3 x 3 kernels over 8 channels of a 16 x 8 map of 16-bit elements in 4 KiB at @data. */
static struct cnnacc_gcu_layer layer_of(uint32_t control, uint32_t data, uint32_t out)
{
	return (struct cnnacc_gcu_layer){
		.control = CNNACC_GCU_LAYER | control,
		.in_size = PAIR(16, 8), .channels = PAIR(8, 8), .out_size = PAIR(16, 8),
		.kernel = BYTES(3, 3, 1, 1), .padding = BYTES(1, 1, 1, 1), .groups = 1,
		.fmbuf = 1 | 2 << 8 | 8 << 16, .kbuf = PAIR(9, 3), .threshold = 7,
		.ifmap = { data, 16, 256, 0 }, .ofmap = { out, 16, 256, 0 },
		.weight_va = data + 2048,
	};
}

/* A layer of each 16-bit format. */
static uint32_t put_compute(uint32_t *words, uint32_t data, uint32_t out)
{
	const struct cnnacc_gcu_layer integers =
		layer_of(CNNACC_GCU_INT16 << CNNACC_GCU_FORMAT_SHIFT |
			 CNNACC_GCU_OUT_INT16 << CNNACC_GCU_OUT_SHIFT, data, out);
	const struct cnnacc_gcu_layer floats =
		layer_of(CNNACC_GCU_FP16 << CNNACC_GCU_FORMAT_SHIFT |
			 CNNACC_GCU_OUT_FP16 << CNNACC_GCU_OUT_SHIFT, data, out + 2048);
	uint32_t size = put(words, &integers);

	return size + put(words + size / 4, &floats);
}

/* ---- random programs ---- */

static uint32_t (*rnd)(uint32_t below);

/* An aligned address in 16 KiB, mostly. */
static uint32_t any_address(void)
{
	return rnd(12) ? rnd(224) * LINE : any_value(rnd);
}

static struct cnnacc_gcu_map any_map(void)
{
	return (struct cnnacc_gcu_map){
		any_address(), 4 * rnd(5), 4 * rnd(40), 4 * rnd(100),
	};
}

static uint32_t any_control(uint32_t *format)
{
	*format = rnd(3);
	return CNNACC_GCU_LAYER | *format << CNNACC_GCU_FORMAT_SHIFT |
	       (*format == CNNACC_GCU_FP16 ? 4 + rnd(2) : rnd(4)) << CNNACC_GCU_OUT_SHIFT |
	       rnd(4) % 3 << CNNACC_GCU_ACT_SHIFT |
	       (rnd(2) ? CNNACC_GCU_LINEAR : 0) | (rnd(3) ? 0 : CNNACC_GCU_PSUM) |
	       (rnd(2) ? CNNACC_GCU_TABLE : 0) |
	       (*format || rnd(2) ? 0 : CNNACC_GCU_UNSIGNED_IFMAP) |
	       (*format || rnd(3) ? 0 : CNNACC_GCU_ACC16);
}

/* An output length that the geometry allows, mostly. */
static uint32_t length_of(uint32_t size, uint32_t points, uint32_t dilation, uint32_t inner,
			  uint32_t padding, uint32_t stride)
{
	uint32_t extended = size + padding + (size - 1) * inner;
	uint32_t kernel = points + (points - 1) * dilation;

	return extended < kernel ? 1 : (extended - kernel) / stride + 1 - (rnd(4) ? 0 : 1);
}

static void any_geometry(struct cnnacc_gcu_layer *b)
{
	uint32_t w = 1 + rnd(8), h = 1 + rnd(8), s = 1 + rnd(3), r = 1 + rnd(3);
	uint32_t step = 1 + rnd(2), dilation = rnd(3) / 2, inner = rnd(3) / 2, pad = rnd(3);

	b->in_size = PAIR(w, h);
	b->channels = PAIR(1 + rnd(20), 1 + rnd(20));
	b->kernel = BYTES(s, r, step, step);
	b->spacing = BYTES(dilation, dilation, inner, inner);
	b->padding = BYTES(pad, pad, pad, pad);
	b->groups = 1;
	b->out_size = PAIR(length_of(w, s, dilation, inner, 2 * pad, step),
			   length_of(h, r, dilation, inner, 2 * pad, step));
}

static struct cnnacc_gcu_layer any_layer(void)
{
	struct cnnacc_gcu_layer b = { .threshold = rnd(8) };
	uint32_t format;

	b.control = any_control(&format);
	any_geometry(&b);
	b.fmbuf = 1 | 1 << 8 | (1 + rnd(8)) << 16;
	b.kbuf = PAIR(9, 3 + rnd(3));
	b.ifmap = any_map();
	b.ofmap = any_map();
	b.weight_va = any_address();
	if (b.control & CNNACC_GCU_PSUM)
		b.psum = any_map();
	if (b.control & CNNACC_GCU_LINEAR)
		b.linear_va = any_address();
	if (b.control & CNNACC_GCU_TABLE) {
		b.threshold = 0;
		b.table_entries = 1 + rnd(40);
		b.increment_va = any_address();
		b.vector_va = any_address();
	}
	return b;
}

static struct cnnacc_gcu_probe any_probe(void)
{
	struct cnnacc_gcu_probe b = {
		.control = CNNACC_GCU_PROBE + rnd(2), .port = rnd(3),
		.address = rnd(3) ? rnd(4096) : any_value(rnd), .count = 1 + rnd(64),
		.va = any_address(), .fmbuf_banks = 1,
	};

	if (b.port == CNNACC_GCU_PORT_SEARCH) {
		b.address = PAIR(rnd(3), rnd(8));
		b.fmbuf_banks = 0;
	}
	if (b.control == CNNACC_GCU_FILL)
		b.address &= ~(WORD - 1);
	return b;
}

static uint32_t any_block(uint32_t *words)
{
	const struct cnnacc_gcu_layer layer = any_layer();
	const struct cnnacc_gcu_probe probe = any_probe();

	if (rnd(3))
		put(words, &layer);
	else if (rnd(3))
		put(words, &probe);
	else
		put_wait(words, rnd(3) ? rnd(300) : any_value(rnd));
	if (!rnd(6))
		words[rnd(rnd(2) ? 36 : 64)] = any_value(rnd);
	return CNNACC_GCU_BLOCK_SIZE;
}

static uint32_t put_any(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below))
{
	uint32_t size = 0;

	rnd = number;
	while (size + CNNACC_GCU_BLOCK_SIZE <= bytes)
		size += any_block(words + size / 4);
	return rnd(20) ? size : size - 4;
}

static const struct core_text texts[] = {
	{ CNNACC_STATUS_CONFIG, CNNACC_GCU_E_CFG, CNNACC_GCU_BAD_OUT_SIZE,
	  "CONFIG (E_CFG) at instruction 9: output size" },
	{ CNNACC_STATUS_CONFIG, CNNACC_GCU_E_CFG, 99, "CONFIG (E_CFG) at instruction 9" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_RANGE, CNNACC_GCU_PORT_KERNEL,
	  "BAD_PROGRAM (E_RANGE) at instruction 9: outside the kernel area" },
	{ CNNACC_STATUS_DEADLOCK, CNNACC_GCU_E_DEADLOCK, CNNACC_GCU_DEADLOCK_FULL,
	  "DEADLOCK (E_DEADLOCK) at instruction 9: no slot for a row" },
};

/* A block is 4 lines, fetched by 16 + 4; a fill or probe takes 16, its words and its lines. */
#define BLOCK_LINES	(CNNACC_GCU_BLOCK_SIZE / LINE)
#define MOVE		(16 + CORE_TIMED_LINES * LINE / WORD + CORE_TIMED_LINES)
#define FETCHED		(16 + 2 * BLOCK_LINES)
#define STORED		(FETCHED + 2 * MOVE)

const struct core_programs gcu_programs = {
	.name = "gcu",
	.small = "gcu:cbuf-banks=4:fmbuf-rows=16:rbuf-banks=2:rbuf-depth=64:program=1024",
	.tiny = "gcu:atomic-c=4:atomic-k=4:cbuf-banks=4:fmbuf-rows=8:rbuf-banks=2:rbuf-depth=16"
		":program=256",
	.dma_code = CNNACC_GCU_E_DMA, .dma_pc = 0,
	.illegal_code = CNNACC_GCU_E_RANGE, .illegal_name = "E_RANGE",
	.endless_pc = 0,
	.long_loops = 60000000,
	.copy_instructions = 2,
	.copy_times = { FETCHED, FETCHED + MOVE, STORED, STORED },
	.nop_stats = {
		.cycles = 16 + BLOCK_LINES + 16, .dma_cycles = 16 + BLOCK_LINES,
		.mem_read_bytes = CNNACC_GCU_BLOCK_SIZE, .instructions = 1, .jobs = 1,
	},
	.config_text = "input size or channels",
	.texts = texts, .text_count = sizeof(texts) / sizeof(texts[0]),
	.nop = put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = put_illegal,
	.config_error = put_config_error, .compute = put_compute, .any = put_any,
};
