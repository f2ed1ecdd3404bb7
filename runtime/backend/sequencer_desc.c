/* SPDX-License-Identifier: MIT */
/* The sequencer's status codes, registers and commands in words. */
#include "desc.h"

#include <stdio.h>

#include <cnnacc_seq.h>

static const struct cnnacc_code_info codes[] = CNNACC_SEQ_CODES;
static const struct cnnacc_detail_info details[] = CNNACC_SEQ_DETAILS;
static const struct cnnacc_window_info regs[] = CNNACC_SEQ_REGS;

#define ARGS	7

_Static_assert(sizeof(struct cnnacc_seq_command) <= 4 * CNN_DESC_INSN_WORDS_MAX,
	       "CNN_DESC_INSN_WORDS_MAX has to hold a command");

static const struct {
	const char *name;
	const char *param; /* bits 31:16, NULL: unused */
	const char *arg[ARGS];
} ops[] = {
	[CNNACC_SEQ_END] = { "END", NULL, { NULL } },
	[CNNACC_SEQ_COPY2D] = { "COPY2D", "memory",
				{ "va", "local", "rows", "bytes", "va-stride", "local-stride" } },
	[CNNACC_SEQ_FILL] = { "FILL", "memory",
			      { "value", "local", "rows", "bytes", NULL, "local-stride" } },
	[CNNACC_SEQ_EXEC] = { "EXEC", NULL,
			      { "insn0", "insn1", "insn2", "insn3", "op0", "op1", "result-va" } },
	[CNNACC_SEQ_DRAIN] = { "DRAIN", "registers",
			       { "va", "first", "per-row", "row-pitch", "pitch" } },
	[CNNACC_SEQ_WAIT] = { "WAIT", NULL, { "mask" } },
	[CNNACC_SEQ_IRQ] = { "IRQ", NULL, { "value" } },
	[CNNACC_SEQ_LOOP] = { "LOOP", "commands",
			      { "iterations", "step0", "add0", "step1", "add1", "step2", "add2" } },
};

static const struct {
	uint32_t flag;
	const char *text;
} flags[] = {
	{ CNNACC_SEQ_TO_MEMORY, "to-memory" },
	{ CNNACC_SEQ_RESULT, "result" },
	{ CNNACC_SEQ_EVENTS, "events" },
	{ CNNACC_SEQ_RESUME, "resume" },
};

static void append(char **at, const char *end, const char *fmt, const char *name, uint32_t value)
{
	int n = snprintf(*at, (size_t)(end - *at), fmt, name, value);

	*at = n < 0 || n >= end - *at ? (char *)end - 1 : *at + n;
}

/* Arguments of 0 are left out: most are. */
void cnn_sequencer_decode(const uint32_t *insn, char *buf, size_t len)
{
	uint32_t op = insn[0] & CNNACC_SEQ_OP_MASK;
	const char *end = buf + len;

	*buf = '\0';
	if (op >= sizeof(ops) / sizeof(ops[0])) {
		snprintf(buf, len, "unknown operation %u", op);
		return;
	}
	append(&buf, end, "%s", ops[op].name, 0);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (insn[0] & flags[i].flag)
			append(&buf, end, " %s", flags[i].text, 0);
	if (ops[op].param)
		append(&buf, end, " %s=%u", ops[op].param, insn[0] >> CNNACC_SEQ_PARAM_SHIFT);
	for (int i = 0; i < ARGS; i++)
		if (ops[op].arg[i] && insn[1 + i])
			append(&buf, end, " %s=0x%x", ops[op].arg[i], insn[1 + i]);
}

const struct cnn_core_desc cnn_desc_sequencer = {
	.name = "sequencer",
	CNN_DESC_TABLE(codes),
	CNN_DESC_TABLE(details),
	CNN_DESC_TABLE(regs),
};
