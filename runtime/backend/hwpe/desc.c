/* SPDX-License-Identifier: MIT */
/* Core hwpe in words, and programs with known answers. */
#include "backend/desc.h"

#include <stdio.h>

#include <cnnacc_hwpe.h>

static const struct cnnacc_param_info params[] = CNNACC_HWPE_PARAMS;
static const struct cnnacc_code_info codes[] = CNNACC_HWPE_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_HWPE_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_HWPE_REGS;

static void decode(const uint32_t *c, char *buf, size_t len)
{
	uint32_t insn = c[1], rd = insn >> 7 & 31, rs1 = insn >> 15 & 31, rs2 = insn >> 20 & 31;

	if ((c[0] & CNNACC_SEQ_OP_MASK) != CNNACC_SEQ_EXEC) {
		cnn_sequencer_decode(c, buf, len);
		return;
	}
	switch (insn >> 25) {
	case CNNACC_HWPE_WRITE_FMAP_ADDR:
		snprintf(buf, len, "WriteFmapAddr bases %u, %u = 0x%x, 0x%x", rd & 30, rd | 1, c[5],
			 c[6]);
		break;
	case CNNACC_HWPE_WRITE_CFG:
		snprintf(buf, len, "WriteCfg 0x%x, 0x%x", c[5], c[6]);
		break;
	case CNNACC_HWPE_MATRIX_MAC:
		snprintf(buf, len, "MatrixMac H %u x 0x%x, W %u x 0x%x", c[5] & 0xffff,
			 c[6] & 0xffff, c[5] >> 16, c[6] >> 16);
		break;
	case CNNACC_HWPE_WRITE_ACC:
		snprintf(buf, len, "WriteAcc PE %u, AccReg %u = 0x%x", rs2, rd, c[5]);
		break;
	case CNNACC_HWPE_READ_ACC:
		snprintf(buf, len, "ReadAcc PE %u, AccReg %u%s to VA 0x%x", rs2, rs1 & 15,
			 rs1 & CNNACC_HWPE_ENABLE ? ", resume," : "", c[7]);
		break;
	case CNNACC_HWPE_RELU_WRITE:
		snprintf(buf, len, "ReLUWrite AccReg %u%s to VA 0x%x", rs2 & 15,
			 rs2 & CNNACC_HWPE_ENABLE ? ", resume," : "", c[5]);
		break;
	case CNNACC_HWPE_RESET:
		snprintf(buf, len, "Reset");
		break;
	default:
		cnn_sequencer_decode(c, buf, len);
	}
}

/*
 * A 1 x 1 convolution of eight pixels by sixteen filters in one window. Pixel i has the channels
 * { 3 (i + 1), -3 (i + 1), 10 } and filter q the weights { q, 1, q - 8 }; five more are zero. So
 * the sum is 3 (i + 1) (q - 1) + 10 (q - 8), which ReLUWrite clips to a byte.
 */
#define PIXEL(i)	{ 3 * ((i) + 1), -3 * ((i) + 1), 10 }
#define FILTER(q)	{ (q), 1, (q) - 8 }
#define SUM(i, q)	(3 * ((i) + 1) * ((q) - 1) + 10 * ((q) - 8))
#define CLIP(sum)	((uint8_t)((sum) < 0 ? 0 : (sum) > 255 ? 255 : (sum)))
#define SUMS(i) \
	{ CLIP(SUM(i, 0)),  CLIP(SUM(i, 1)),  CLIP(SUM(i, 2)),	CLIP(SUM(i, 3)), \
	  CLIP(SUM(i, 4)),  CLIP(SUM(i, 5)),  CLIP(SUM(i, 6)),	CLIP(SUM(i, 7)), \
	  CLIP(SUM(i, 8)),  CLIP(SUM(i, 9)),  CLIP(SUM(i, 10)), CLIP(SUM(i, 11)), \
	  CLIP(SUM(i, 12)), CLIP(SUM(i, 13)), CLIP(SUM(i, 14)), CLIP(SUM(i, 15)) }

static const struct {
	int8_t even[4][8], odd[4][8]; /* pixels, by the SRAM that they go to */
	int8_t filter[CNNACC_HWPE_PES][8];
} conv_in = {
	.even = { PIXEL(0), PIXEL(2), PIXEL(4), PIXEL(6) },
	.odd = { PIXEL(1), PIXEL(3), PIXEL(5), PIXEL(7) },
	.filter = { FILTER(0), FILTER(1), FILTER(2), FILTER(3), FILTER(4), FILTER(5), FILTER(6),
		    FILTER(7), FILTER(8), FILTER(9), FILTER(10), FILTER(11), FILTER(12), FILTER(13),
		    FILTER(14), FILTER(15) },
};

static const uint8_t conv_out[CNNACC_HWPE_ACCS][CNNACC_HWPE_PES] = {
	SUMS(0), SUMS(1), SUMS(2), SUMS(3), SUMS(4), SUMS(5), SUMS(6), SUMS(7),
};

#define OP(op, param)	((op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT)
#define LOAD(memory, va, bytes) \
	{ OP(CNNACC_SEQ_COPY2D, memory), { (va), 0, 1, (bytes) } }
#define EXEC(insn, op0, op1) \
	{ CNNACC_SEQ_EXEC, { (insn), 0, 0, 0, (op0), (op1) } }
#define XS12	(CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)
#define BASES(n) \
	EXEC(CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, XS12, n, 0, 0), 4 * (n), \
	     CNNACC_HWPE_SRAM2 + 4 * (n))

static const struct cnnacc_seq_command conv[] = {
	LOAD(CNNACC_HWPE_FMAP0, CNN_TEST_IN, sizeof(conv_in.even)),
	LOAD(CNNACC_HWPE_FMAP1, CNN_TEST_IN + sizeof(conv_in.even), sizeof(conv_in.odd)),
	LOAD(CNNACC_HWPE_KERNEL, CNN_TEST_IN + sizeof(conv_in.even) + sizeof(conv_in.odd),
	     sizeof(conv_in.filter)),
	BASES(0),
	BASES(2),
	BASES(4),
	BASES(6),
	/* One word of channels; a kernel of 1 x 1, one group of filters. */
	EXEC(CNNACC_HWPE_INSN(CNNACC_HWPE_WRITE_CFG, XS12, 0, 0, 0), 1,
	     1 | CNNACC_HWPE_INT8 << CNNACC_HWPE_CFG_TYPE_SHIFT | 1 << CNNACC_HWPE_CFG_K_SHIFT),
	EXEC(CNNACC_HWPE_INSN(CNNACC_HWPE_MATRIX_MAC, XS12, 0, 0, 0), 1 << 16 | 1, 0),
	{ CNNACC_SEQ_WAIT, { CNNACC_HWPE_WAIT_ROUND } },
	/* ReLUWrite of AccReg 0..7: the next one, to the next 16 bytes. */
	{ OP(CNNACC_SEQ_LOOP, 1),
	  { CNNACC_HWPE_ACCS, CNNACC_SEQ_STEP(0, 0, 0), 1 << 20, CNNACC_SEQ_STEP(0, 0, 4),
	    CNNACC_HWPE_PES } },
	EXEC(CNNACC_HWPE_INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0, 0), CNN_TEST_OUT, 0),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command copy[] = {
	LOAD(CNNACC_HWPE_KERNEL, CNN_TEST_IN, CNN_TEST_FILLED),
	{ OP(CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, CNNACC_HWPE_KERNEL),
	  { CNN_TEST_OUT, 0, 1, CNN_TEST_FILLED } },
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command illegal[] = {
	EXEC(CNNACC_HWPE_INSN(CNNACC_HWPE_RESET, 0, 0, 0, 0), 0, 0),
	EXEC(CNNACC_HWPE_INSN(3, 0, 0, 0, 0), 0, 0),
};

static const struct cnnacc_seq_command nowhere[] = {
	LOAD(CNNACC_HWPE_FMAP0, CNN_TEST_NOWHERE, CNN_TEST_FILLED),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command endless[] = {
	{ OP(CNNACC_SEQ_LOOP, 1), { UINT32_MAX } },
	EXEC(CNNACC_HWPE_INSN(CNNACC_HWPE_RESET, 0, 0, 0, 0), 0, 0),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnn_core_test tests[] = {
	{ .name = "copy a line through the kernel memory", CNN_TEST_CODE(copy),
	  .out_size = CNN_TEST_FILLED },
	{ .name = "convolve eight pixels with sixteen filters", CNN_TEST_CODE(conv),
	  .in = &conv_in, .in_size = sizeof(conv_in), .out = conv_out,
	  .out_size = sizeof(conv_out) },
	{ .name = "an illegal instruction is refused", CNN_TEST_CODE(illegal),
	  CNN_TEST_ENDS(BAD_PROGRAM, HWPE_E_ILLEGAL), .pc = 1 },
	{ .name = "an access to nowhere faults", CNN_TEST_CODE(nowhere),
	  CNN_TEST_ENDS(MMU_FAULT, SEQ_E_DMA), .va = CNN_TEST_NOWHERE },
	{ .name = "an endless loop meets its cycle limit", CNN_TEST_CODE(endless),
	  CNN_TEST_ENDS(TIME_LIMIT, CODE_TIME_LIMIT), .pc = 1, .cycle_limit = 10000 },
};

static const struct cnn_core_variant variants[] = {
	{ .name = "INT8", .format = "INT8", .mac = "INT8" },
	{ .name = "EXP4", .format = "EXP4", .mac = "EXP4" },
	{ .name = "TER2", .format = "TER2", .mac = "TER2" },
};

static size_t memories(const uint32_t *param, uint32_t program_max, struct cnn_core_memory *to)
{
	to[0] = (struct cnn_core_memory){
		"fmap SRAMs", param[CNNACC_HWPE_PARAM_FMAP], 2, CNN_HOLDS_DATA,
	};
	to[1] = (struct cnn_core_memory){
		"kernel SRAMs", param[CNNACC_HWPE_PARAM_KERNEL] / 2, 2, CNN_HOLDS_WEIGHTS,
	};
	to[2] = (struct cnn_core_memory){ "program", program_max, 1, CNN_HOLDS_PROGRAM };
	return 3;
}

const struct cnn_core_desc cnn_desc_hwpe = {
	.name = "hwpe",
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
