// SPDX-License-Identifier: MIT
#include <string.h>

#include "any_value.h"
#include "cnnacc_enpu.h"
#include "core_programs.h"
#include "seq_programs.h"

#define INSN		CNNACC_ENPU_INSN_BYTES
#define RECORD		CNNACC_ENPU_RECORD_BYTES

static void fill(struct sasm *a, uint32_t memory, uint32_t local, uint8_t value, uint32_t bytes)
{
	SA(a, CNNACC_SEQ_FILL, memory, value, local, 1, bytes);
}

/* Bytes of a local memory without any in memory: a FILL for each run of equal ones. */
static void put_bytes(struct sasm *a, uint32_t memory, uint32_t local, const void *data,
		      uint32_t bytes)
{
	const uint8_t *byte = data;

	for (uint32_t i = 0, run; i < bytes; i += run) {
		for (run = 1; i + run < bytes && byte[i + run] == byte[i]; run++)
			;
		fill(a, memory, local + i, byte[i], run);
	}
}

static void exec(struct sasm *a, uint32_t index)
{
	SA(a, CNNACC_SEQ_EXEC, 0, CNNACC_ENPU_RUN, 0, 0, 0, index);
}

static uint32_t put_copy(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines)
{
	return seq_put_copy(words, CNNACC_ENPU_WORK, from, to, lines);
}

static uint32_t put_load(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_load(words, CNNACC_ENPU_WORK, line, lines);
}

static uint32_t put_store(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_store(words, CNNACC_ENPU_WORK, line, lines);
}

static uint32_t put_delay(uint32_t *words, uint32_t loops)
{
	return seq_put_delay(words, CNNACC_ENPU_WORK, loops);
}

/* More cycles than any limit allows. */
static uint32_t put_endless(uint32_t *words)
{
	return put_delay(words, UINT32_MAX);
}

/* An instruction of zeros is a convolution with tiles of no rows. */
static uint32_t put_config_error(uint32_t *words)
{
	struct sasm a = { .n = 0 };

	fill(&a, CNNACC_ENPU_ITCM, 0, 0, INSN);
	fill(&a, CNNACC_ENPU_TABLE, 0, 0, RECORD);
	exec(&a, 0);
	return seq_put(words, a.c, a.n);
}

/* A convolution 3 x 3 of 8 x 8 x 16, and STOP. */
static void put_layer(struct sasm *a, const struct cnnacc_enpu_record *record)
{
	const struct cnnacc_enpu_insn insn[2] = {
		{ CNNACC_ENPU_WORD0(CNNACC_ENPU_CONV, 1, 1, 1, 1, 0, 0),
		  CNNACC_ENPU_WORD1(4, 4, 6, 6, 3), CNNACC_ENPU_WORD2(3, 8, 8, 16),
		  CNNACC_ENPU_WORD3(16, 1) },
		{ CNNACC_ENPU_STOP, 0, 0, 0 },
	};

	put_bytes(a, CNNACC_ENPU_ITCM, 0, insn, sizeof(insn));
	put_bytes(a, CNNACC_ENPU_TABLE, 0, record, sizeof(*record));
}

/* The map and the weights are the data, the result is behind the map. */
static uint32_t put_compute(uint32_t *words, uint32_t data, uint32_t out)
{
	const struct cnnacc_enpu_record record = {
		.in_size = 8 | 8 << 16, .out = 64, .shift = 8,
	};
	struct sasm a = { .n = 0 };

	sa_load(&a, CNNACC_ENPU_WORK, data, 0, 1024);
	sa_load(&a, CNNACC_ENPU_WEIGHT, data, 0, 2304);
	put_layer(&a, &record);
	exec(&a, 0);
	sa_wait(&a, CNNACC_ENPU_WAIT_IDLE);
	sa_save(&a, CNNACC_ENPU_WORK, out, 0, 2048);
	sa_end(&a);
	return seq_put(words, a.c, a.n);
}

/* ---- random programs ---- */

static uint32_t (*rnd)(uint32_t below);

/* An address near the start or the end of a small memory, or any. */
static uint32_t any_size(void)
{
	return rnd(6) ? rnd(3) * 1024 + rnd(3) - 1 + rnd(2) * rnd(200) : any_value(rnd);
}

/* A byte of an instruction or a record changes. */
static void spoil(struct sasm *a)
{
	bool insn = rnd(2);

	fill(a, insn ? CNNACC_ENPU_ITCM : CNNACC_ENPU_TABLE,
	     insn ? rnd(2 * INSN) : rnd(4) ? rnd(52) : rnd(2 * RECORD),
	     (uint8_t)(rnd(2) ? 1u << rnd(8) : rnd(256)), 1);
}

static void add_copy(struct sasm *a)
{
	struct cnnacc_seq_command *c = &a->c[a->n];

	SA(a, CNNACC_SEQ_COPY2D | rnd(2) * CNNACC_SEQ_TO_MEMORY, rnd(6), any_size(), any_size(),
	   rnd(4) ? rnd(5) : any_value(rnd), any_size(), rnd(8) ? 0 : any_size(), any_size());
	if (!rnd(40))
		c->arg[rnd(7)] = any_value(rnd);
}

static void add_command(struct sasm *a)
{
	switch (rnd(10)) {
	case 0:
	case 1:
		add_copy(a);
		break;
	case 2:
		SA(a, CNNACC_SEQ_LOOP, rnd(6), rnd(8) ? rnd(6) : any_value(rnd),
		   CNNACC_SEQ_STEP(rnd(3), rnd(3), rnd(8)), rnd(2) ? rnd(80) : any_value(rnd));
		break;
	case 3:
		sa_irq(a, any_value(rnd));
		break;
	case 4:
	case 5:
		exec(a, rnd(6) ? 0 : rnd(8));
		break;
	case 6:
	case 7:
		sa_wait(a, rnd(10) ? CNNACC_ENPU_WAIT_IDLE : any_value(rnd));
		break;
	default:
		spoil(a);
	}
}

/* A layer that is valid or nearly so if there is room, then random commands. */
static uint32_t put_any(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below))
{
	struct cnnacc_enpu_record record = { .in_size = 8 | 8 << 16, .shift = 8 };
	struct sasm a = { .n = 0 };
	uint32_t commands = bytes / sizeof(a.c[0]);

	rnd = number;
	record.out = 32 * rnd(4);
	if (commands >= 28) {
		put_layer(&a, &record);
		if (rnd(2))
			spoil(&a);
		exec(&a, 0);
	}
	while (a.n < commands)
		add_command(&a);
	return seq_put(words, a.c, a.n);
}

static const struct core_text texts[] = {
	{ CNNACC_STATUS_CONFIG, CNNACC_ENPU_E_CFG, CNNACC_ENPU_BAD_ZS,
	  "CONFIG (E_CFG) at instruction 9: Zs" },
	{ CNNACC_STATUS_CONFIG, CNNACC_ENPU_E_CFG, 99, "CONFIG (E_CFG) at instruction 9" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_ENPU_E_OVERLAP, CNNACC_ENPU_OVERLAP_B,
	  "BAD_PROGRAM (E_OVERLAP) at instruction 9: map B" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_SEQ_E_RANGE, 2,
	  "BAD_PROGRAM (E_RANGE) at instruction 9: local memory 2" },
};

/* Fetched by 16 + 1; a copy takes 1 + 16 and its lines, END 1. */
#define FETCHED		17u
#define LOADED		(FETCHED + 1 + 16 + CORE_TIMED_LINES)
#define STORED		(LOADED + 1 + 16 + CORE_TIMED_LINES)

const struct core_programs enpu_programs = {
	.name = "enpu",
	.small = "enpu:itcm=256:dtcm=4096:skip=4096:weight=4096:program=1024",
	.tiny = "enpu:itcm=64:dtcm=4096:skip=1024:weight=4096:program=256",
	.dma_code = CNNACC_SEQ_E_DMA, .dma_pc = 0,
	.illegal_code = CNNACC_SEQ_E_COMMAND, .illegal_name = "E_COMMAND",
	.endless_pc = 1,
	.long_loops = SEQ_LONG_LOOPS,
	.copy_instructions = 3,
	.copy_times = { FETCHED, LOADED, STORED, STORED + 1 },
	.nop_stats = {
		.cycles = FETCHED + 1, .dma_cycles = FETCHED, .mem_read_bytes = 64,
		.instructions = 1, .jobs = 1,
	},
	.config_text = "y or x",
	.texts = texts, .text_count = sizeof(texts) / sizeof(texts[0]),
	.nop = seq_put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = seq_put_illegal,
	.config_error = put_config_error, .compute = put_compute, .any = put_any,
};
