/* SPDX-License-Identifier: MIT */
/* Core imc in words, and programs with known answers. */
#include "backend/desc.h"

#include <stdio.h>

#include <cnnacc_imc.h>

static const struct cnnacc_param_info params[] = CNNACC_IMC_PARAMS;
static const struct cnnacc_code_info codes[] = CNNACC_IMC_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_IMC_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_IMC_REGS;

#define LOW(word)	((word) & 0xffff)
#define HIGH(word)	((word) >> 16)

static void decode_setup(const uint32_t *insn, const uint32_t *op, char *buf, size_t len)
{
	static const char *const formats[] = { "INT8", "UINT8", "FP32", "format 3" };

	snprintf(buf, len, "SETUP %s n %u, %s reuse, W %u, H %u, cin %u, cout %u, strides %u, %u to "
		 "%u, %u", formats[insn[0] >> CNNACC_IMC_SETUP_FORMAT_SHIFT & 3],
		 insn[0] >> CNNACC_IMC_SETUP_N_SHIFT & 15,
		 insn[0] & CNNACC_IMC_SETUP_FULL ? "full" : "partial", LOW(insn[1]), HIGH(insn[1]),
		 LOW(insn[2]), HIGH(insn[2]), LOW(insn[3]), op[0], HIGH(insn[3]), op[1]);
}

static void decode_conv(const uint32_t *insn, char *buf, size_t len)
{
	snprintf(buf, len, "CONV input bank %u 0x%x, weight bank %u 0x%x to unit bank %u 0x%x%s%s",
		 !!(insn[0] & CNNACC_IMC_CONV_INPUT1), insn[1],
		 !!(insn[0] & CNNACC_IMC_CONV_WEIGHT1), insn[2],
		 !!(insn[0] & CNNACC_IMC_CONV_UNIT1), insn[3],
		 insn[0] & CNNACC_IMC_CONV_ACCUMULATE ? ", accumulate" : "",
		 insn[0] & CNNACC_IMC_CONV_STEP ? ", step mode" : "");
}

static void decode(const uint32_t *c, char *buf, size_t len)
{
	const uint32_t *insn = c + 1;

	if ((c[0] & CNNACC_SEQ_OP_MASK) != CNNACC_SEQ_EXEC) {
		cnn_sequencer_decode(c, buf, len);
		return;
	}
	switch (insn[0] & CNNACC_IMC_OP_MASK) {
	case CNNACC_IMC_SETUP:
		decode_setup(insn, c + 5, buf, len);
		break;
	case CNNACC_IMC_CONV:
		decode_conv(insn, buf, len);
		break;
	case CNNACC_IMC_STEP:
		snprintf(buf, len, "STEP %u clocks, %s", insn[1],
			 insn[0] & CNNACC_IMC_STEP_VALID ? "valid" : "stalled");
		break;
	case CNNACC_IMC_READ:
		snprintf(buf, len, "READ register 0x%x to VA 0x%x", insn[1], c[7]);
		break;
	default:
		cnn_sequencer_decode(c, buf, len);
	}
}

/*
 * Three rows 1 2 3 4 5, convolved with a kernel of rows 1 10 100 and one of ones: the row results
 * are those of the page's trace, and the results three times these.
 */
#define ROW		1, 2, 3, 4, 5
#define KERNEL_ROW	1, 10, 100
#define ONES		1, 1, 1

static const struct {
	int8_t row[3][5];
	int8_t pad;
	int8_t kernel[2][3][3];
} conv_in = {
	.row = { { ROW }, { ROW }, { ROW } },
	.kernel = { { { KERNEL_ROW }, { KERNEL_ROW }, { KERNEL_ROW } },
		    { { ONES }, { ONES }, { ONES } } },
};

static const int32_t conv_out[3][2] = {
	{ 3 * 321, 3 * 6 }, { 3 * 432, 3 * 9 }, { 3 * 543, 3 * 12 },
};

/* SIG of clock 4 of that trace, and its row result. */
static const uint32_t step_out[] = { 0x00040195, 321 };

#define OP(op, param)	((op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT)
#define LOAD(memory, va, bytes) \
	{ OP(CNNACC_SEQ_COPY2D, memory), { (va), 0, 1, (bytes) } }
#define SAVE(memory, bytes) \
	{ OP(CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, memory), { CNN_TEST_OUT, 0, 1, (bytes) } }
#define LOADS \
	LOAD(CNNACC_IMC_INPUT0, CNN_TEST_IN, sizeof(conv_in.row)), \
	LOAD(CNNACC_IMC_WEIGHT0, CNN_TEST_IN + sizeof(conv_in.row) + 1, sizeof(conv_in.kernel))
#define SETUP	/* W 5, H 3, n 3, a channel to two, compact */ \
	{ CNNACC_SEQ_EXEC, { CNNACC_IMC_SETUP | 3 << CNNACC_IMC_SETUP_N_SHIFT, 3 << 16 | 5, \
			     2 << 16 | 1, 2 << 16 | 1, 5, 6 } }
#define READ(reg, va) \
	{ CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, { CNNACC_IMC_READ, (reg), 0, 0, 0, 0, (va) } }

static const struct cnnacc_seq_command conv[] = {
	LOADS,
	SETUP,
	{ CNNACC_SEQ_EXEC, { CNNACC_IMC_CONV } },
	{ CNNACC_SEQ_WAIT, { CNNACC_IMC_WAIT_IDLE } },
	SAVE(CNNACC_IMC_UNIT0, sizeof(conv_out)),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command step[] = {
	LOADS,
	SETUP,
	{ CNNACC_SEQ_EXEC, { CNNACC_IMC_CONV | CNNACC_IMC_CONV_STEP } },
	{ CNNACC_SEQ_EXEC, { CNNACC_IMC_STEP | CNNACC_IMC_STEP_VALID, 4 } },
	READ(CNNACC_IMC_REG_SIG, CNN_TEST_OUT),
	READ(CNNACC_IMC_REG_OUT, CNN_TEST_OUT + 4),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command copy[] = {
	LOAD(CNNACC_IMC_UNIT1, CNN_TEST_IN, CNN_TEST_FILLED),
	SAVE(CNNACC_IMC_UNIT1, CNN_TEST_FILLED),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command illegal[] = {
	SETUP,
	{ CNNACC_SEQ_EXEC, { 15 } },
};

static const struct cnnacc_seq_command nowhere[] = {
	LOAD(CNNACC_IMC_INPUT0, CNN_TEST_NOWHERE, CNN_TEST_FILLED),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command endless[] = {
	{ OP(CNNACC_SEQ_LOOP, 1), { UINT32_MAX } },
	SETUP,
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnn_core_test tests[] = {
	{ .name = "copy a line through the memory unit", CNN_TEST_CODE(copy),
	  .out_size = CNN_TEST_FILLED },
	{ .name = "convolve three rows with two kernels", CNN_TEST_CODE(conv), .in = &conv_in,
	  .in_size = sizeof(conv_in), .out = conv_out, .out_size = sizeof(conv_out) },
	{ .name = "signals of the fourth clock", CNN_TEST_CODE(step), .in = &conv_in,
	  .in_size = sizeof(conv_in), .out = step_out, .out_size = sizeof(step_out) },
	{ .name = "an illegal instruction is refused", CNN_TEST_CODE(illegal),
	  CNN_TEST_ENDS(BAD_PROGRAM, IMC_E_ILLEGAL), .pc = 1 },
	{ .name = "an access to nowhere faults", CNN_TEST_CODE(nowhere),
	  CNN_TEST_ENDS(MMU_FAULT, SEQ_E_DMA), .va = CNN_TEST_NOWHERE },
	{ .name = "an endless loop meets its cycle limit", CNN_TEST_CODE(endless),
	  CNN_TEST_ENDS(TIME_LIMIT, CODE_TIME_LIMIT), .pc = 1, .cycle_limit = 10000 },
};

static const struct cnn_core_variant variants[] = {
	{ .name = "INT8", .format = "INT8", .mac = "INT8" },
	{ .name = "FP32", .mac = "FP32" },
};

static size_t memories(const uint32_t *param, uint32_t program_max, struct cnn_core_memory *to)
{
	to[0] = (struct cnn_core_memory){
		"input", param[CNNACC_IMC_PARAM_INPUT], 2, CNN_HOLDS_INPUTS,
	};
	/* What sums start with in the memory unit counts as weights. */
	to[1] = (struct cnn_core_memory){
		"weight", param[CNNACC_IMC_PARAM_WEIGHT], 2, CNN_HOLDS_WEIGHTS,
	};
	to[2] = (struct cnn_core_memory){
		"memory unit", param[CNNACC_IMC_PARAM_UNIT], 2, CNN_HOLDS_OUTPUTS,
	};
	to[3] = (struct cnn_core_memory){ "program", program_max, 1, CNN_HOLDS_PROGRAM };
	return 4;
}

const struct cnn_core_desc cnn_desc_imc = {
	.name = "imc",
	.base = &cnn_desc_sequencer,
	CNN_DESC_TABLE(params),
	CNN_DESC_TABLE(codes),
	CNN_DESC_TABLE(details),
	CNN_DESC_TABLE(regs),
	CNN_DESC_TABLE(tests),
	CNN_DESC_TABLE(variants),
	.memories = memories,
	.insn_words = sizeof(struct cnnacc_seq_command) / 4,
	.decode = decode,
};
