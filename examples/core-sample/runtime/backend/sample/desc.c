// SPDX-License-Identifier: MIT
/* Core sample in words, and programs with known answers. */
#include "backend/desc.h"

#include <stdio.h>

#include <cnnacc_sample.h>

static const struct cnnacc_param_info params[] = CNNACC_SAMPLE_PARAMS;
static const struct cnnacc_code_info codes[] = CNNACC_SAMPLE_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_SAMPLE_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_SAMPLE_REGS;

static void decode(const uint32_t *c, char *buf, size_t len)
{
	if ((c[0] & CNNACC_SEQ_OP_MASK) == CNNACC_SEQ_EXEC && (c[1] & 0xff) == CNNACC_SAMPLE_ADD)
		snprintf(buf, len, "Add bank %u: %u elements * %d, * %d, + %d, >> %u, zero point %d",
			 c[1] >> 8, c[6], (int32_t)c[2], (int32_t)c[3], (int32_t)c[4], c[5] >> 8,
			 (int8_t)c[5]);
	else
		cnn_sequencer_decode(c, buf, len);
}

#define OP(op, param)	((op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT)
#define LOAD(bank, va, local, bytes)	{ OP(CNNACC_SEQ_COPY2D, bank), { va, local, 1, bytes } }
#define STORE(bank, va, bytes) \
	{ OP(CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, bank), { va, 0, 1, bytes } }
#define ADD(bank, a, b, bias, result, count) \
	{ CNNACC_SEQ_EXEC, \
	  { CNNACC_SAMPLE_INSN(CNNACC_SAMPLE_ADD, bank), a, b, bias, result, count } }
#define IDLE	{ CNNACC_SEQ_WAIT, { CNNACC_SAMPLE_WAIT_IDLE } }
#define END	{ CNNACC_SEQ_END, { 0 } }

/* Elements that fit half of the smallest bank. */
#define ELEMENTS	2048u

static const struct cnnacc_seq_command copy[] = {
	LOAD(0, CNN_TEST_IN, 0, CNN_TEST_FILLED),
	STORE(0, CNN_TEST_OUT, CNN_TEST_FILLED),
	END,
};

/* (3 a + 4) / 8 + 1, downwards. b has the factor 0, as its place depends on the size of a bank. */
static const int8_t add_in[] = { 1, -2, -128, 127 };
static const int8_t add_out[] = { 1, 0, -47, 49 };

static const struct cnnacc_seq_command add[] = {
	LOAD(1, CNN_TEST_IN, 0, sizeof(add_in)),
	ADD(1, 3, 0, 4, CNNACC_SAMPLE_RESULT(1, 3), sizeof(add_in)),
	IDLE,
	STORE(1, CNN_TEST_OUT, sizeof(add_in)),
	END,
};

static const struct cnnacc_seq_command illegal[] = {
	IDLE,
	ADD(0, 1, 1, 0, 0, 0),
};

static const struct cnnacc_seq_command busy[] = {
	ADD(0, 1, 1, 0, 0, ELEMENTS),
	LOAD(0, CNN_TEST_IN, 0, 1),
};

static const struct cnnacc_seq_command nowhere[] = {
	LOAD(0, CNN_TEST_NOWHERE, 0, CNN_TEST_FILLED),
	END,
};

static const struct cnnacc_seq_command endless[] = {
	{ OP(CNNACC_SEQ_LOOP, 1), { UINT32_MAX } },
	IDLE,
	END,
};

static const struct cnn_core_test tests[] = {
	{ .name = "copy a line through a bank", CNN_TEST_CODE(copy), .out_size = CNN_TEST_FILLED },
	{ .name = "scale four elements", CNN_TEST_CODE(add), .in = add_in,
	  .in_size = sizeof(add_in), .out = add_out, .out_size = sizeof(add_out) },
	{ .name = "a sum of no elements is refused", CNN_TEST_CODE(illegal),
	  CNN_TEST_ENDS(CONFIG, SAMPLE_E_CFG), .pc = 1 },
	{ .name = "a bank in use is refused", CNN_TEST_CODE(busy),
	  CNN_TEST_ENDS(BAD_PROGRAM, SEQ_E_CONFLICT), .pc = 1 },
	{ .name = "an access to nowhere faults", CNN_TEST_CODE(nowhere),
	  CNN_TEST_ENDS(MMU_FAULT, SEQ_E_DMA), .va = CNN_TEST_NOWHERE },
	{ .name = "an endless loop meets its cycle limit", CNN_TEST_CODE(endless),
	  CNN_TEST_ENDS(TIME_LIMIT, CODE_TIME_LIMIT), .pc = 1, .cycle_limit = 10000 },
};

const struct cnn_core_desc cnn_desc_sample = {
	.name = "sample",
	.base = &cnn_desc_sequencer,
	CNN_DESC_TABLE(params),
	CNN_DESC_TABLE(codes),
	CNN_DESC_TABLE(details),
	CNN_DESC_TABLE(regs),
	CNN_DESC_TABLE(tests),
	.insn_words = sizeof(struct cnnacc_seq_command) / 4,
	.decode = decode,
};
