// SPDX-License-Identifier: MIT
/* Core gcu in words, and programs with known answers. */
#include "backend/desc.h"

#include <stddef.h>
#include <stdio.h>

#include <cnnacc_gcu.h>

static const struct cnnacc_param_info params[] = CNNACC_GCU_PARAMS;
static const struct cnnacc_code_info codes[] = CNNACC_GCU_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_GCU_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_GCU_REGS;

#define WORD(field)	(offsetof(struct cnnacc_gcu_layer, field) / 4)
#define LOW(word)	((word) & 0xffff)
#define HIGH(word)	((word) >> 16)
#define BYTE(word, i)	((word) >> 8 * (i) & 0xff)

static void decode_layer(const uint32_t *w, char *buf, size_t len)
{
	static const char *const formats[] = { "INT8", "INT16", "FP16", "format 3" };
	static const char *const types[] = { "INT8", "UINT8", "INT16", "INT32", "FP16", "FP32",
					     "type 6", "type 7" };
	static const char *const acts[] = { "", ", ReLU", ", leaky ReLU", ", sigmoid", ", tanh",
					    ", activation 5", ", activation 6", ", activation 7" };
	uint32_t control = w[0], size = w[WORD(in_size)], channels = w[WORD(channels)];
	uint32_t out = w[WORD(out_size)], kernel = w[WORD(kernel)], fmbuf = w[WORD(fmbuf)];

	snprintf(buf, len, "LAYER %s %u x %u x %u at VA 0x%x, kernel %u x %u at 0x%x, stride %u x "
		 "%u, groups %u%s%s%s, %s %u x %u x %u to 0x%x, %s, %u rows",
		 formats[control >> CNNACC_GCU_FORMAT_SHIFT & 3], HIGH(size), LOW(size),
		 LOW(channels), w[WORD(ifmap)], BYTE(kernel, 1), BYTE(kernel, 0),
		 w[WORD(weight_va)], BYTE(kernel, 3), BYTE(kernel, 2), LOW(w[WORD(groups)]),
		 control & CNNACC_GCU_PSUM ? ", continued" : "",
		 control & CNNACC_GCU_LINEAR ? ", linear" : "",
		 acts[control >> CNNACC_GCU_ACT_SHIFT & 7],
		 types[control >> CNNACC_GCU_OUT_SHIFT & 7], HIGH(out), LOW(out), HIGH(channels),
		 w[WORD(ofmap)], control & CNNACC_GCU_TABLE ? "tables" : "FIFO", HIGH(fmbuf));
}

static void decode(const uint32_t *w, char *buf, size_t len)
{
	static const char *const ports[] = { "feature map", "kernels", "search" };
	const char *port = w[1] <= CNNACC_GCU_PORT_SEARCH ? ports[w[1]] : "unknown port";

	switch (w[0] & CNNACC_GCU_KIND_MASK) {
	case CNNACC_GCU_LAYER:
		decode_layer(w, buf, len);
		break;
	case CNNACC_GCU_PROBE:
		snprintf(buf, len, "PROBE %s 0x%x, %u to VA 0x%x", port, w[2], w[3], w[4]);
		break;
	case CNNACC_GCU_FILL:
		snprintf(buf, len, "FILL %s 0x%x, %u from VA 0x%x", port, w[2], w[3], w[4]);
		break;
	case CNNACC_GCU_WAIT:
		snprintf(buf, len, "WAIT %u", w[1]);
		break;
	default:
		snprintf(buf, len, "block of kind %u", w[0] & CNNACC_GCU_KIND_MASK);
	}
}

/*
 * Programs for every build: one channel, and maps of 16 columns. A surface of weights has as many
 * elements as the build says; those behind the first meet no channel.
 */
#define ELEMENTS	32
#define COLUMNS		16
#define ROWS		4
#define IN_WEIGHTS	128	/* offset in the input */
#define IN_LINEAR	192

#define PAIR(low, high)	((low) | (uint32_t)(high) << 16)
#define BYTES(a, b, c, d) \
	((a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define MAP(base, bytes) \
	{ .va = (base), .column_stride = (bytes), .row_stride = (bytes) * COLUMNS }
#define CONTROL(format, type, flags) \
	(CNNACC_GCU_LAYER | (format) << CNNACC_GCU_FORMAT_SHIFT | \
	 (type) << CNNACC_GCU_OUT_SHIFT | (flags))

/* One channel in and out; FIFO with two row slots of 16 columns, in one bank. */
#define LAYER(rows) \
	.in_size = PAIR(COLUMNS, rows), .channels = PAIR(1, 1), \
	.out_size = PAIR(COLUMNS, rows), .groups = 1, .fmbuf = 1 | 2 << 8 | 2u << 16, \
	.threshold = 1, .weight_va = CNN_TEST_IN + IN_WEIGHTS
#define POINT	.kernel = BYTES(1, 1, 1, 1), .kbuf = 1 | 3u << 16
#define INT8	CONTROL(CNNACC_GCU_INT8, CNNACC_GCU_OUT_INT8, 0)

#define EIGHT(v)	(v), (v) + 1, (v) + 2, (v) + 3, (v) + 4, (v) + 5, (v) + 6, (v) + 7

static const struct {
	int8_t map[IN_WEIGHTS], weight[ELEMENTS];
} copy_in = {
	.map = { EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48),
		 EIGHT(56) },
	.weight = { 1 },
};

static const struct cnnacc_gcu_layer copy[] = {
	{ .control = INT8, LAYER(ROWS), POINT, .ifmap = MAP(CNN_TEST_IN, 1),
	  .ofmap = MAP(CNN_TEST_OUT, 1) },
};

/* With a map and a kernel of ones, a sum is the number of taps that are no padding. */
#define ONES_16	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
#define ONES_96	ONES_16, ONES_16, ONES_16, ONES_16, ONES_16, ONES_16
#define EDGE	{ 4, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 4 }
#define INSIDE	{ 6, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 6 }

static const struct {
	int8_t map[IN_WEIGHTS], weight[9 * ELEMENTS];
} taps_in = {
	.map = { ONES_16, ONES_16, ONES_16, ONES_16 }, .weight = { ONES_96, ONES_96, ONES_96 },
};

static const int8_t taps_out[ROWS][COLUMNS] = { EDGE, INSIDE, INSIDE, EDGE };

static const struct cnnacc_gcu_layer taps[] = {
	{ .control = INT8, LAYER(ROWS), .kernel = BYTES(3, 3, 1, 1), .kbuf = 9 | 3u << 16,
	  .padding = BYTES(1, 1, 1, 1), .ifmap = MAP(CNN_TEST_IN, 1),
	  .ofmap = MAP(CNN_TEST_OUT, 1) },
};

/* FP16: max(1.5 x - 2, 0) of 0, 0.5, 1, ... 7.5, in each row. */
#define HALVES \
	0x0000, 0x3800, 0x3c00, 0x3e00, 0x4000, 0x4100, 0x4200, 0x4300, \
	0x4400, 0x4480, 0x4500, 0x4580, 0x4600, 0x4680, 0x4700, 0x4780
/* 0, 0, 0, 0.25, 1, 1.75, ... 9.25 */
#define RESULTS \
	0x0000, 0x0000, 0x0000, 0x3400, 0x3c00, 0x3f00, 0x4100, 0x4280, \
	0x4400, 0x44c0, 0x4580, 0x4640, 0x4700, 0x47c0, 0x4840, 0x48a0

static const struct {
	uint16_t map[IN_WEIGHTS / 2], weight[ELEMENTS];
	struct cnnacc_gcu_linear linear;
} linear_in = {
	.map = { HALVES, HALVES, HALVES, HALVES }, .weight = { 0x3c00 },
	.linear = { .a = 0x3fc00000, .b_lo = 0xc0000000 },
};

static const uint16_t linear_out[] = { RESULTS, RESULTS, RESULTS, RESULTS };

static const struct cnnacc_gcu_layer linear[] = {
	{ .control = CONTROL(CNNACC_GCU_FP16, CNNACC_GCU_OUT_FP16,
			     CNNACC_GCU_LINEAR | CNNACC_GCU_ACT_RELU << CNNACC_GCU_ACT_SHIFT),
	  LAYER(ROWS), POINT, .ifmap = MAP(CNN_TEST_IN, 2), .ofmap = MAP(CNN_TEST_OUT, 2),
	  .linear_va = CNN_TEST_IN + IN_LINEAR },
};

/* Strides of 0: all rows are one. */
static const struct cnnacc_gcu_layer endless[] = {
	{ .control = INT8, LAYER(UINT16_MAX), POINT, .ifmap = { .va = CNN_TEST_IN },
	  .ofmap = { .va = CNN_TEST_OUT } },
};

static const struct cnnacc_gcu_layer illegal[] = {
	{ .control = INT8, LAYER(ROWS), POINT, .ifmap = MAP(CNN_TEST_IN, 1),
	  .ofmap = MAP(CNN_TEST_OUT, 1) },
	{ .control = INT8, LAYER(ROWS), POINT, .reserved = { 1 } },
};

static const struct cnnacc_gcu_layer nowhere[] = {
	{ .control = INT8, LAYER(ROWS), POINT, .ifmap = MAP(CNN_TEST_NOWHERE, 1),
	  .ofmap = MAP(CNN_TEST_OUT, 1) },
};

#define FROM(data)	.in = &(data), .in_size = sizeof(data)
#define TO(data)	.out = (data), .out_size = sizeof(data)

static const struct cnn_core_test tests[] = {
	{ .name = "copy a map by a kernel of one point", CNN_TEST_CODE(copy), FROM(copy_in),
	  .out = copy_in.map, .out_size = ROWS * COLUMNS },
	{ .name = "convolve with 3 x 3 points", CNN_TEST_CODE(taps), FROM(taps_in), TO(taps_out) },
	{ .name = "multiply, add and rectify in FP16", CNN_TEST_CODE(linear), FROM(linear_in),
	  TO(linear_out) },
	{ .name = "a reserved bit is refused", CNN_TEST_CODE(illegal), FROM(copy_in),
	  CNN_TEST_ENDS(CONFIG, GCU_E_CFG), .pc = 1 },
	{ .name = "an access to nowhere faults", CNN_TEST_CODE(nowhere), FROM(copy_in),
	  CNN_TEST_ENDS(MMU_FAULT, GCU_E_DMA), .va = CNN_TEST_NOWHERE },
	{ .name = "a long layer meets its cycle limit", CNN_TEST_CODE(endless), FROM(copy_in),
	  CNN_TEST_ENDS(TIME_LIMIT, CODE_TIME_LIMIT), .cycle_limit = 10000 },
};

static const struct cnn_core_variant variants[] = {
	{ .name = "FP16", .half = true, .mac = "FP16" },
	{ .name = "INT8", .format = "INT8", .mac = "INT8" },
};

static size_t memories(const uint32_t *param, uint32_t program_max, struct cnn_core_memory *to)
{
	uint32_t atomic = param[CNNACC_GCU_PARAM_ATOMIC], cbuf = param[CNNACC_GCU_PARAM_CBUF];
	uint32_t rbuf = param[CNNACC_GCU_PARAM_RBUF];

	to[0] = (struct cnn_core_memory){
		"CBUF", 2ull * (atomic & 0xff) * (cbuf >> 16), cbuf & 0xffff,
		CNN_HOLDS_DATA | CNN_HOLDS_WEIGHTS,
	};
	to[1] = (struct cnn_core_memory){
		"RBUF", 4ull * (atomic >> 8 & 0xff) * (rbuf >> 16), rbuf & 0xffff, 0,
	};
	to[2] = (struct cnn_core_memory){ "program", program_max, 1, CNN_HOLDS_PROGRAM };
	return 3;
}

const struct cnn_core_desc cnn_desc_gcu = {
	.name = "gcu",
	CNN_DESC_TABLE(params),
	CNN_DESC_TABLE(codes),
	CNN_DESC_TABLE(details),
	CNN_DESC_TABLE(regs),
	CNN_DESC_TABLE(tests),
	CNN_DESC_TABLE(variants),
	.memories = memories,
	.insn_words = CNNACC_GCU_BLOCK_SIZE / 4,
	.decode = decode,
};
