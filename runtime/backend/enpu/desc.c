// SPDX-License-Identifier: MIT
/* Core enpu in words, and programs with known answers. */
#include "backend/desc.h"

#include <stdio.h>

#include <cnnacc_enpu.h>

static const struct cnnacc_param_info params[] = CNNACC_ENPU_PARAMS;
static const struct cnnacc_code_info codes[] = CNNACC_ENPU_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_ENPU_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_ENPU_REGS;

static void decode(const uint32_t *c, char *buf, size_t len)
{
	if ((c[0] & CNNACC_SEQ_OP_MASK) == CNNACC_SEQ_EXEC && c[1] == CNNACC_ENPU_RUN)
		snprintf(buf, len, "Run from instruction %u", c[5]);
	else
		cnn_sequencer_decode(c, buf, len);
}

/* BN of two pixels of 16 channels: channel k of pixel i has (i + 1) (k - 4), its factor is k + 1. */
#define LANES(of, i) \
	{ of(i, 0), of(i, 1), of(i, 2),	 of(i, 3),  of(i, 4),  of(i, 5),  of(i, 6),  of(i, 7), \
	  of(i, 8), of(i, 9), of(i, 10), of(i, 11), of(i, 12), of(i, 13), of(i, 14), of(i, 15) }
#define PIXEL(i, k)	(((i) + 1) * ((k) - 4))
#define FACTOR(i, k)	((k) + 1)
/* A shift of 1, halves up; the sum of 512 keeps the division's operand positive. */
#define SCALED(i, k)	((PIXEL(i, k) * FACTOR(i, k) + 1 + 512) / 2 - 256)
#define RESULT(i, k)	(SCALED(i, k) > 127 ? 127 : SCALED(i, k))

static const struct {
	struct cnnacc_enpu_insn insn[2];
	struct cnnacc_enpu_record record;
	int8_t pixel[2][16], factor[16];
} bn_in = {
	.insn = {
		{ CNNACC_ENPU_BN, CNNACC_ENPU_WORD1(1, 2, 0, 0, 0),
		  CNNACC_ENPU_WORD2(0, 1, 2, 16), CNNACC_ENPU_WORD3(16, 1) },
		{ CNNACC_ENPU_STOP, 0, 0, 0 },
	},
	.record = { .out = 2, .shift = 1 },
	.pixel = { LANES(PIXEL, 0), LANES(PIXEL, 1) },
	.factor = LANES(FACTOR, 0),
};

static const int8_t bn_out[2][16] = { LANES(RESULT, 0), LANES(RESULT, 1) };

#define OP(op, param)	((op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT)
#define LOAD(memory, va, bytes) \
	{ OP(CNNACC_SEQ_COPY2D, memory), { (va), 0, 1, (bytes) } }
#define AT(member)	(CNN_TEST_IN + (uint32_t)__builtin_offsetof(__typeof__(bn_in), member))
#define LOAD_OF(memory, member)	LOAD(memory, AT(member), sizeof(bn_in.member))

static const struct cnnacc_seq_command bn[] = {
	LOAD_OF(CNNACC_ENPU_ITCM, insn),
	LOAD_OF(CNNACC_ENPU_TABLE, record),
	LOAD_OF(CNNACC_ENPU_WORK, pixel),
	LOAD_OF(CNNACC_ENPU_WEIGHT, factor),
	{ CNNACC_SEQ_EXEC, { CNNACC_ENPU_RUN } },
	{ CNNACC_SEQ_WAIT, { CNNACC_ENPU_WAIT_IDLE } },
	{ OP(CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, CNNACC_ENPU_WORK),
	  { CNN_TEST_OUT, 32, 1, sizeof(bn_out) } },
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command copy[] = {
	LOAD(CNNACC_ENPU_SKIP, CNN_TEST_IN, CNN_TEST_FILLED),
	{ OP(CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, CNNACC_ENPU_SKIP),
	  { CNN_TEST_OUT, 0, 1, CNN_TEST_FILLED } },
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command illegal[] = {
	{ CNNACC_SEQ_EXEC, { 0 } },
};

static const struct cnnacc_seq_command nowhere[] = {
	LOAD(CNNACC_ENPU_WORK, CNN_TEST_NOWHERE, CNN_TEST_FILLED),
	{ CNNACC_SEQ_END, { 0 } },
};

static const struct cnnacc_seq_command endless[] = {
	{ OP(CNNACC_SEQ_LOOP, 1), { UINT32_MAX } },
	{ CNNACC_SEQ_WAIT, { CNNACC_ENPU_WAIT_IDLE } },
};

static const struct cnn_core_test tests[] = {
	{ .name = "copy a line through the skip DTCM", CNN_TEST_CODE(copy),
	  .out_size = CNN_TEST_FILLED },
	{ .name = "multiply two pixels of sixteen channels", CNN_TEST_CODE(bn), .in = &bn_in,
	  .in_size = sizeof(bn_in), .out = bn_out, .out_size = sizeof(bn_out) },
	{ .name = "an illegal instruction is refused", CNN_TEST_CODE(illegal),
	  CNN_TEST_ENDS(BAD_PROGRAM, ENPU_E_ILLEGAL), .pc = 0 },
	{ .name = "an access to nowhere faults", CNN_TEST_CODE(nowhere),
	  CNN_TEST_ENDS(MMU_FAULT, SEQ_E_DMA), .va = CNN_TEST_NOWHERE },
	{ .name = "an endless loop meets its cycle limit", CNN_TEST_CODE(endless),
	  CNN_TEST_ENDS(TIME_LIMIT, CODE_TIME_LIMIT), .pc = 1, .cycle_limit = 10000 },
};

static const struct cnn_core_variant variants[] = {
	{ .name = "INT8", .format = "POT8", .mac = "INT8" },
};

/*
 * The side table has four times the bytes of the ITCM.  What is moved into the memories of an entry
 * is not told apart.
 */
static size_t memories(const uint32_t *param, uint32_t program_max, struct cnn_core_memory *to)
{
	to[0] = (struct cnn_core_memory){
		"working and skip DTCM",
		((uint64_t)param[CNNACC_ENPU_PARAM_WORK] + param[CNNACC_ENPU_PARAM_SKIP]) / 2, 2,
		CNN_HOLDS_DATA,
	};
	to[1] = (struct cnn_core_memory){
		"weight DTCM, ITCM and side table",
		param[CNNACC_ENPU_PARAM_WEIGHT] + 5ull * param[CNNACC_ENPU_PARAM_ITCM], 1,
		CNN_HOLDS_WEIGHTS,
	};
	to[2] = (struct cnn_core_memory){ "program", program_max, 1, CNN_HOLDS_PROGRAM };
	return 3;
}

const struct cnn_core_desc cnn_desc_enpu = {
	.name = "enpu",
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
