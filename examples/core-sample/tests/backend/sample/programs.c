// SPDX-License-Identifier: MIT
/* Programs of sample for the tests of everything around a core. */
#include <string.h>

#include "any_value.h"
#include "cnnacc_sample.h"
#include "core_programs.h"
#include "seq_programs.h"

#define HALF	2048u	/* a half of the smallest bank */

static struct cnnacc_seq_command add_of(uint32_t bank, uint32_t count)
{
	return (struct cnnacc_seq_command){
		CNNACC_SEQ_EXEC,
		{ CNNACC_SAMPLE_INSN(CNNACC_SAMPLE_ADD, bank), 3, 5, 4, CNNACC_SAMPLE_RESULT(7, 3),
		  count },
	};
}

static uint32_t put_copy(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines)
{
	return seq_put_copy(words, 0, from, to, lines);
}

static uint32_t put_load(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_load(words, 0, line, lines);
}

static uint32_t put_store(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_store(words, 0, line, lines);
}

/* The body waits for nothing, which takes a cycle. */
static uint32_t put_delay(uint32_t *words, uint32_t loops)
{
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_LOOP, 1, loops);
	sa_wait(&a, CNNACC_SAMPLE_WAIT_IDLE);
	return seq_put(words, a.c, a.n);
}

/* More cycles than any limit allows. */
static uint32_t put_endless(uint32_t *words)
{
	return put_delay(words, UINT32_MAX);
}

static uint32_t put_illegal(uint32_t *words, uint32_t pc)
{
	struct sasm a = { .n = 0 };

	for (uint32_t i = 0; i < pc; i++)
		sa_wait(&a, CNNACC_SAMPLE_WAIT_IDLE);
	SA(&a, SEQ_ILLEGAL, 0, 0);
	return seq_put(words, a.c, a.n);
}

static uint32_t put_config_error(uint32_t *words)
{
	const struct cnnacc_seq_command none = add_of(0, 0);

	memcpy(words, &none, sizeof(none));
	return sizeof(none);
}

static uint32_t put_compute(uint32_t *words, uint32_t data, uint32_t out)
{
	const struct cnnacc_seq_command add = add_of(1, HALF);
	struct sasm a = { .n = 0 };

	sa_load(&a, 1, data, 0, 2 * HALF);
	sa_emit(&a, add.op, add.arg);
	sa_wait(&a, CNNACC_SAMPLE_WAIT_IDLE);
	sa_save(&a, 1, out, 0, HALF);
	sa_end(&a);
	return seq_put(words, a.c, a.n);
}

/* ---- random programs ---- */

static uint32_t (*rnd)(uint32_t below);

static struct cnnacc_seq_command any_command(void)
{
	struct cnnacc_seq_command c = add_of(rnd(2), rnd(2) ? rnd(HALF) : any_value(rnd));

	if (rnd(3))
		c.op = 1 + rnd(7);
	switch (c.op) {
	case CNNACC_SEQ_COPY2D:
	case CNNACC_SEQ_FILL:
		return (struct cnnacc_seq_command){
			c.op | rnd(2) << 16 | (c.op == CNNACC_SEQ_COPY2D ? rnd(2) << 8 : 0),
			{ c.op == CNNACC_SEQ_FILL ? rnd(256) : rnd(8192), rnd(HALF), rnd(3),
			  rnd(HALF), 0, rnd(64) },
		};
	case CNNACC_SEQ_WAIT:
	case CNNACC_SEQ_IRQ:
		return (struct cnnacc_seq_command){ c.op, { 1 } };
	case CNNACC_SEQ_LOOP:
		return (struct cnnacc_seq_command){
			c.op | rnd(5) << 16, { rnd(6), CNNACC_SEQ_STEP(0, 0, rnd(7)), rnd(80) },
		};
	}
	return c;
}

static uint32_t put_any(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below))
{
	struct sasm a = { .n = 0 };

	rnd = number;
	while (a.n < bytes / sizeof(a.c[0]))
		a.c[a.n++] = any_command();
	return seq_put(words, a.c, a.n);
}

static const struct core_text texts[] = {
	{ CNNACC_STATUS_CONFIG, CNNACC_SAMPLE_E_CFG, CNNACC_SAMPLE_BAD_COUNT,
	  "CONFIG (E_CFG) at instruction 9: number of elements" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_SAMPLE_E_BUSY, 1,
	  "BAD_PROGRAM (E_BUSY) at instruction 9: bank 1" },
};

/* Fetched by 16 + 1; a copy takes 1 + 16 and its lines, END 1. */
#define FETCHED		17u
#define LOADED		(FETCHED + 1 + 16 + CORE_TIMED_LINES)
#define STORED		(LOADED + 1 + 16 + CORE_TIMED_LINES)

const struct core_programs sample_programs = {
	.name = "sample",
	.small = "sample:bank=4096:program=1024",
	.tiny = "sample:bank=4096:program=256",
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
	.config_text = "number of elements",
	.texts = texts, .text_count = sizeof(texts) / sizeof(texts[0]),
	.nop = seq_put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = put_illegal,
	.config_error = put_config_error, .compute = put_compute, .any = put_any,
};
