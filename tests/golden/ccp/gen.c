// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../min_max.h"
#include "../random_job.h"
#include "../spoil.h"

#define LINE_WORDS	(CNNACC_LINE_SIZE / 4)
#define TARGETS		(CNNACC_CCP_TARGET_MASK + 1)	/* instructions that BNZ reaches */
#define LAST_LINE	0xffffffc0u
#define READABLE	CNNACC_PTE_READ

/* ---------------------------------------------------------- the program */

/* A window at an end of the bank, around its middle or anywhere. */
static struct gen_window pick_window(struct gen *gen, int64_t words, int64_t most_lines)
{
	int64_t all = words / LINE_WORDS, lines = all, first;

	if (all > 2 * most_lines || gen_chance(gen, 40))
		lines = min64(all, gen_pick(gen, 4, most_lines));
	first = gen_chance(gen, 30) ? 0 : gen_chance(gen, 30) ? all - lines :
		gen_pick(gen, 0, all - lines);
	if (gen_chance(gen, 30))
		first = min64(all - lines, max64(0, all / 2 - gen_pick(gen, 0, lines)));
	return (struct gen_window){
		first * LINE_WORDS, (first + lines) * LINE_WORDS, all / 2 * LINE_WORDS,
	};
}

static struct gen_window whole_window(uint32_t bytes)
{
	return (struct gen_window){ 0, bytes / 4, bytes / CNNACC_LINE_SIZE / 2 * LINE_WORDS };
}

static int64_t window_lines(const struct gen_window *window)
{
	return (window->high - window->low) / LINE_WORDS;
}

static uint32_t source(struct gen *gen, const struct gen_window *window)
{
	uint32_t va = places_take(&gen->places, window_lines(window));

	gen_fill(gen, va, window_lines(window), READABLE);
	return va;
}

static void pick_memory(struct gen *gen)
{
	for (int bank = 0; bank < 2; bank++) {
		gen->data_source[bank] = source(gen, &gen->data);
		gen->data_sink[bank] = places_take(&gen->places, window_lines(&gen->data));
		gen->sink_readable[bank] = gen_chance(gen, 50);
		job_region(gen->job, gen->data_sink[bank], window_lines(&gen->data),
			   CNNACC_PTE_WRITE | (gen->sink_readable[bank] ? READABLE : 0));
	}
	for (int bank = 0; bank < 4; bank++)
		gen->weight_source[bank] = source(gen, &gen->weight);
}

/* Load a window, in one or two pieces. */
static void load_window(struct gen *gen, uint32_t va, const struct gen_window *window,
			unsigned int target)
{
	int64_t lines = window_lines(window), first = window->low / LINE_WORDS;
	int64_t half = gen_chance(gen, 20) ? gen_pick(gen, 0, lines) : 0;

	if (half)
		gen_dma(gen, true, va, half, first, target);
	gen_dma(gen, true, va + half * CNNACC_LINE_SIZE, lines - half, first + half, target);
}

static void load_all(struct gen *gen)
{
	unsigned int first = gen_pick(gen, 0, 5);

	for (unsigned int i = 0; i < 6; i++) {
		unsigned int which = (first + i) % 6;

		/* The models must agree on what an earlier job left, too: do not always load. */
		if (gen_chance(gen, 6))
			continue;
		if (which < 2)
			load_window(gen, gen->data_source[which], &gen->data, which);
		else
			load_window(gen, gen->weight_source[which - 2], &gen->weight,
				    CNNACC_CCP_TGT_WEIGHT0 + which - 2);
	}
}

static void store_all(struct gen *gen)
{
	for (unsigned int bank = 0; bank < 2; bank++)
		gen_dma(gen, false, gen->data_sink[bank], window_lines(&gen->data),
			gen->data.low / LINE_WORDS, bank);
	gen_room(gen, 1);
	gen_emit(gen, CNNACC_CCP_INSN_NOP);
}

static void ordinary(struct gen *gen)
{
	int64_t layers = gen_pick(gen, 1, 4);

	gen->data = pick_window(gen, gen->params.data_bank / 4, 400);
	gen->weight = pick_window(gen, gen->params.weight_bank / 4, 64);
	pick_memory(gen);
	load_all(gen);
	for (int64_t i = 0; i < layers && !gen_full(gen); i++) {
		gen_layer(gen);
		gen_noise(gen);
		if (gen_chance(gen, 40))
			gen_noise(gen);
	}
	store_all(gen);
}

/* Few cycles, so that a limit can fall on any kind of instruction. */
static void brief(struct gen *gen)
{
	static const uint32_t one_by_one[8] = { 1, 1, 1 };
	int64_t count = gen_pick(gen, 1, 24);

	for (int64_t i = 0; i < count; i++) {
		unsigned int reg = gen_pick(gen, 3, 7);

		gen_room(gen, 12);
		switch (gen_pick(gen, 0, 7)) {
		case 0:
			gen_emit(gen, CNNACC_CCP_INSN_LDI(reg, i));
			break;
		case 1:
			gen_emit(gen, CNNACC_CCP_INSN_LDIH(reg, i));
			break;
		case 2:
			gen_emit(gen, CNNACC_CCP_INSN_ADDI(reg, reg, -i));
			break;
		case 3:
			gen_emit(gen, CNNACC_CCP_INSN_SWAP);
			break;
		case 4:
			gen_emit(gen, CNNACC_CCP_INSN_CFG(gen_pick(gen, 0, 3), 0));
			break;
		case 5:
			gen_emit(gen, CNNACC_CCP_INSN_BNZ(reg, gen->code_base +
							       gen->code->length + 1));
			break;
		case 6:		/* LOAD or STORE of nothing */
			gen_emit(gen, CNNACC_CCP_INSN_LDI(1, 0));
			gen_emit(gen, gen_chance(gen, 50) ? CNNACC_CCP_INSN_LOAD(0, 1, 2, 4) :
							    CNNACC_CCP_INSN_STORE(0, 1, 2, 1));
			break;
		default:
			asm_set_all(gen->code, one_by_one);
			gen_emit(gen, CNNACC_CCP_INSN_CFG(CNNACC_CCP_PAD, 0));
			gen_emit(gen, CNNACC_CCP_INSN_EXEC(CNNACC_CCP_PAD));
			break;
		}
	}
	gen_emit(gen, CNNACC_CCP_INSN_NOP);
}

/* Random words, with legal layers among them. */
static void noise(struct gen *gen)
{
	int64_t count = gen_pick(gen, 4, 60);

	places_keep(&gen->places, 0, 1024 * CNNACC_LINE_SIZE);
	gen_fill(gen, 0, 1024, CNNACC_PTE_READ | CNNACC_PTE_WRITE | CNNACC_PTE_EXEC);
	gen->data = pick_window(gen, gen->params.data_bank / 4, 40);
	gen->weight = pick_window(gen, gen->params.weight_bank / 4, 8);
	pick_memory(gen);
	for (int64_t i = 0; i < count && !gen_full(gen); i++) {
		uint32_t random = prng_next(&gen->prng), op = gen_pick(gen, 0, 99);

		if (op < 5) {
			gen_layer(gen);
			continue;
		}
		gen_room(gen, 1);
		op = op < 7 ? 0 : op < 9 ? 10 + random % 6 : op < 55 ? 1 : 2 + random % 8;
		if (op == CNNACC_CCP_LDI)
			random &= gen_chance(gen, 50) ? 0xffff0003 : 0xffff01ff;
		gen_emit(gen, op << 28 | (random & 0x0fffffff));
	}
	gen->job->packet.cycle_limit = gen_pick(gen, 1, 20000);
}

/* Run past the end of the instruction cache, by a branch or sequentially. */
static void past_end(struct gen *gen)
{
	uint32_t words = gen->params.icache / 4;
	struct job_segment *tail;

	if (words < TARGETS && gen_chance(gen, 50)) {
		gen_emit(gen, CNNACC_CCP_INSN_LDI(3, 1));
		gen_emit(gen, CNNACC_CCP_INSN_BNZ(3, gen_chance(gen, 40) ? words :
							gen_pick(gen, words, TARGETS - 1)));
		return;
	}
	tail = &gen->job->segment[gen->job->segments++];
	tail->va = places_take(&gen->places, 1);
	tail->base = words - LINE_WORDS;
	tail->code.length = 0;
	for (unsigned int i = 0; i < LINE_WORDS; i++)
		program_emit(&tail->code, CNNACC_CCP_INSN_ADDI(i % 8, i % 8, 1));
	gen_dma(gen, true, tail->va, 1, words / LINE_WORDS - 1, CNNACC_CCP_TGT_ICACHE);
	gen_emit(gen, CNNACC_CCP_INSN_LDI(3, 1));
	gen_emit(gen, CNNACC_CCP_INSN_BNZ(3, tail->base + gen_pick(gen, 0, LINE_WORDS - 1)));
}

/* ---------------------------------------------------------- at the limits */

/* One row of very many columns. */
static void wide_conv(struct gen *gen)
{
	int64_t words = gen->params.data_bank / 4, most = min64(65535, words);
	struct conv_layer l = {
		.kernel = 1, .kernel_x = gen_pick(gen, 1, 11), .stride = 1,
		.stride_x = gen_pick(gen, 1, 8), .in_cols = most, .in_rows = 1, .out_rows = 1,
		.ci_num = words / most, .co_num = 1, .groups = 1, .vec_active = 16,
		.left = 15, .right = 15,
	};

	l.out_cols = (l.in_cols + 30 - l.kernel_x) / l.stride_x + 1;
	if (l.out_cols > 65535 || l.out_cols > words) {
		l.left = 0;
		l.right = 0;
		l.out_cols = (l.in_cols - l.kernel_x) / l.stride_x + 1;
	}
	l.ci_end = l.ci_num - 1;
	l.col_start = gen_chance(gen, 50) ? l.out_cols - gen_pick(gen, 1, 8) : 0;
	gen_conv_exec(gen, &l, true);
}

/* One column of very many rows. */
static void tall_conv(struct gen *gen)
{
	int64_t most = min64(65535, gen->params.data_bank / 4);
	struct conv_layer l = {
		.kernel = gen_pick(gen, 1, 11), .kernel_x = 1, .stride = gen_pick(gen, 1, 8),
		.stride_x = 1, .in_cols = 1, .in_rows = most, .out_cols = 1, .ci_num = 1, .co_num = 1,
		.groups = 1, .vec_active = 16,
	};

	l.out_rows = (l.in_rows - l.kernel) / l.stride + 1;
	l.row_start = gen_chance(gen, 70) ? l.out_rows - gen_pick(gen, 1, 16) : 0;
	gen_conv_exec(gen, &l, true);
}

/* Thousands of input channels, in slices that fit the weight banks. */
static void deep_conv(struct gen *gen)
{
	int64_t words = gen->params.data_bank / 4, weights = gen->params.weight_bank / 4;
	int64_t channels = min64(min64(65535, words), 3 * weights);
	struct conv_layer l = {
		.kernel = 1, .stride = 1, .in_cols = 1, .out_cols = 1, .ci_num = channels,
		.co_num = 4, .co_cnt = min64(4, gen->params.lob * 4), .groups = 4, .vec_active = 1,
		.bias = 1,
	};

	for (int64_t first = 0; first < channels; first += weights) {
		l.ci_start = first;
		l.ci_end = min64(first + weights, channels) - 1;
		l.weight_base = -first;
		gen_conv_exec(gen, &l, true);
	}
}

/* As many output channels as the local output buffers hold, the last of 65535. */
static void broad_conv(struct gen *gen)
{
	int64_t most = min64(gen->params.lob * 4, min64(gen->params.data_bank / 4,
							gen->params.weight_bank));
	struct conv_layer l = {
		.kernel = 1, .stride = 1, .in_cols = 1, .out_cols = 1, .ci_num = 1,
		.co_num = 65535, .groups = 4, .vec_active = 16,
	};

	if (most > 4)
		most -= 4;
	l.co_start = gen_chance(gen, 50) ? 65535 - most : 0;
	l.co_cnt = most;
	l.out_base = -(int32_t)l.co_start;
	l.weight_base = -(int32_t)(l.co_start / 4);
	gen_conv_exec(gen, &l, true);
}

static void large_kernel(struct gen *gen)
{
	struct conv_layer l = {
		.kernel = 11, .stride = 8, .in_cols = gen_pick(gen, 1, 30), .ci_num = 1, .co_num = 1,
		.groups = 1, .vec_active = 16, .top = 15, .bottom = 15, .left = 15, .right = 15,
		.relu = 1,
	};

	l.out_cols = (l.in_cols + 30 - 11) / 8 + 1;
	gen_conv_exec(gen, &l, true);
}

static void wide_pool(struct gen *gen)
{
	int64_t words = gen->params.data_bank / 4;
	struct pool_layer l = {
		.average = gen_chance(gen, 50), .kernel = gen_pick(gen, 2, 3),
		.stride = gen_pick(gen, 2, 8), .in_cols = min64(65535, words / 3), .in_rows = 3,
		.channels = 1,
	};
	uint32_t g[8];

	pool_pack(&l, g);
	gen_unit(gen, CNNACC_CCP_POOL, g);
}

/* Thousands of planes of one element, or one row of very many columns. */
static void large_pad(struct gen *gen)
{
	int64_t words = gen->params.data_bank / 4;
	struct pad_layer l = {
		.layers = 1, .in_cols = 1, .channels = min64(65535, words / 9),
	};
	uint32_t g[8];

	if (gen_chance(gen, 50)) {
		l.in_cols = min64(65535, words / 3 - 2);
		l.in_rows = 1;
		l.channels = 1;
	}
	pad_pack(&l, g);
	gen_unit(gen, CNNACC_CCP_PAD, g);
}

static void large_fc(struct gen *gen)
{
	int64_t words = gen->params.data_bank / 4, weights = gen->params.weight_bank;
	struct fc_layer l = { .relu = gen_chance(gen, 50) };
	uint32_t g[8];

	if (gen_chance(gen, 50)) {
		l.in = min64(words, weights) - gen_pick(gen, 0, 15);
		l.out = weights / ((l.in + 15) / 16 * 16);
	} else {
		l.in = gen_pick(gen, 1, 16);
		l.out = min64(words, weights / 16);
	}
	fc_pack(&l, g);
	gen_unit(gen, CNNACC_CCP_FC, g);
}

static void extreme(struct gen *gen)
{
	static void (*const layers[])(struct gen *gen) = {
		wide_conv, tall_conv, deep_conv, broad_conv, large_kernel, wide_pool, large_pad, large_fc,
	};
	int64_t count = sizeof(layers) / sizeof(layers[0]);

	gen->data = whole_window(gen->params.data_bank);
	gen->weight = whole_window(gen->params.weight_bank);
	pick_memory(gen);
	load_all(gen);
	layers[gen_pick(gen, 0, count - 1)](gen);
	store_all(gen);
}

/* -------------------------------------------------------------- the job */

static void write_program(struct gen *gen)
{
	switch (gen->kind) {
	case GEN_EXTREME:
		extreme(gen);
		break;
	case GEN_SHORT:
		brief(gen);
		break;
	case GEN_PC:
		past_end(gen);
		break;
	case GEN_NOISE:
		noise(gen);
		break;
	case GEN_LIMIT:
		if (gen_chance(gen, 70))
			brief(gen);
		else
			ordinary(gen);
		break;
	default:
		ordinary(gen);
		break;
	}
}

static void finish(struct gen *gen)
{
	struct cnnacc_packet *packet = &gen->job->packet;
	uint32_t length = 4 * gen->job->program.length;
	uint32_t program_va, stats_va;

	gen_code_end(gen);
	/* At times the program's length includes zero words behind its last instruction. */
	if (gen_chance(gen, 3))
		length = gen_chance(gen, 50) ? gen->params.icache :
			 4 * gen_pick(gen, length / 4, gen->params.icache / 4);
	program_va = places_take(&gen->places, (length + 63) / 64);
	stats_va = places_take(&gen->places, 2);
	/* The rest is beyond 4 GiB; VA 0 is mapped, so that a wrap would not fault. */
	if (gen->kind == GEN_FAULT && gen_chance(gen, 6))
		program_va = LAST_LINE;
	if (gen->kind == GEN_FAULT && gen_chance(gen, 6))
		stats_va = LAST_LINE;
	job_finish(gen->job, program_va, stats_va);
	space_map(&gen->job->space, program_va, length, CNNACC_PTE_EXEC);
	packet->program_len = length;
	packet->flags = (gen_chance(gen, 95) ? CNNACC_PACKET_STATS : 0) |
			(gen_chance(gen, 30) ? CNNACC_PACKET_IRQ : 0);
	if (!packet->flags)
		packet->stats_va = prng_next(&gen->prng);
	if (gen->kind == GEN_FAULT)
		spoil_fault(&gen->prng, gen->job);
	if (gen->kind == GEN_PACKET)
		spoil_packet(&gen->prng, packet, gen->params.icache, gen->job_cycles_max);
}

void gen_job(struct gen *gen, enum gen_kind kind, uint64_t seed,
	     const struct golden_ccp_params *params, uint64_t job_cycles_max, struct job *job,
	     struct image *image)
{
	gen->prng.state = seed;
	gen->params = *params;
	gen->job_cycles_max = job_cycles_max;
	gen->job = job;
	gen->kind = kind;
	gen->spoilt = false;
	gen->macs = gen_chance(gen, 1) ? 20000000 : gen_chance(gen, 4) ? 1000000 : 60000;
	random_job_begin(job, image, &gen->places, &gen->prng, kind == GEN_FAULT);
	job->packet.cycle_limit = job_cycles_max;
	if (gen_chance(gen, 50) && job_cycles_max > 1u << 30)
		job->packet.cycle_limit = 1u << 30;
	gen_code_begin(gen);
	write_program(gen);
	finish(gen);
}
