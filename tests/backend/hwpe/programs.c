// SPDX-License-Identifier: MIT
#include <string.h>

#include "any_value.h"
#include "core_programs.h"
#include "hwpe_code.h"
#include "seq_programs.h"

static uint32_t put_copy(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines)
{
	return seq_put_copy(words, CNNACC_HWPE_FMAP0, from, to, lines);
}

static uint32_t put_load(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_load(words, CNNACC_HWPE_FMAP0, line, lines);
}

static uint32_t put_store(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_store(words, CNNACC_HWPE_FMAP0, line, lines);
}

static uint32_t put_delay(uint32_t *words, uint32_t loops)
{
	return seq_put_delay(words, CNNACC_HWPE_FMAP0, loops);
}

/* More cycles than any limit allows. */
static uint32_t put_endless(uint32_t *words)
{
	return put_delay(words, UINT32_MAX);
}

static uint32_t put_config_error(uint32_t *words)
{
	struct sasm a = { .n = 0 };

	sa_cfg(&a, 0, 0);
	return seq_put(words, a.c, a.n);
}

/* A convolution 3 x 3 of two groups, the end of each of its rounds an event. */
static uint32_t put_compute(uint32_t *words, uint32_t data, uint32_t out)
{
	struct sasm a = { .n = 0 };

	sa_load(&a, CNNACC_HWPE_FMAP0, data, 0, 4096);
	sa_load(&a, CNNACC_HWPE_FMAP1, data, 0, 4096);
	sa_load(&a, CNNACC_HWPE_KERNEL, data, 0, 4096);
	for (unsigned int i = 0; i < CNNACC_HWPE_ACCS; i += 2)
		sa_bases(&a, i, 16 * i, CNNACC_HWPE_SRAM2 + 16 * i);
	sa_cfg(&a, 512 << 16 | 2, 3 | CNNACC_HWPE_INT8 << CNNACC_HWPE_CFG_TYPE_SHIFT |
	       2 << CNNACC_HWPE_CFG_K_SHIFT);
	sa_mac(&a, 4 << 16 | 4, 512 << 16 | 16);
	a.c[a.n - 1].op |= CNNACC_SEQ_EVENTS;
	SA(&a, CNNACC_SEQ_LOOP, 2, 32, CNNACC_SEQ_STEP(1, 0, 0), 512);
	sa_wait(&a, ROUND);
	sa_drain(&a, CNNACC_SEQ_RESUME, out);
	sa_end(&a);
	return seq_put(words, a.c, a.n);
}

/* ---- random programs ---- */

static uint32_t (*rnd)(uint32_t below);

/* An address near the end of a small memory, or any. */
static uint32_t any_size(void)
{
	return rnd(6) ? rnd(5) * 1024 + rnd(3) - 1 + rnd(2) * rnd(200) : any_value(rnd);
}

static uint32_t any_insn(void)
{
	static const struct {
		uint32_t funct, flags;
	} insns[] = {
		{ CNNACC_HWPE_WRITE_FMAP_ADDR, CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2 },
		{ CNNACC_HWPE_WRITE_CFG, CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2 },
		{ CNNACC_HWPE_MATRIX_MAC, CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2 },
		{ CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1 },
		{ CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD },
		{ CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1 },
		{ CNNACC_HWPE_RESET, 0 },
	};
	unsigned int i = rnd(7);

	return CNNACC_HWPE_INSN(insns[i].funct, insns[i].flags, rnd(8), rnd(4) ? rnd(8) : rnd(32),
				rnd(4) ? rnd(8) : rnd(32));
}

static struct cnnacc_seq_command any_command(void)
{
	struct cnnacc_seq_command c = { .op = rnd(30) ? 1 + rnd(7) : 0 };

	switch (c.op) {
	case CNNACC_SEQ_COPY2D:
		c.op |= rnd(2) * CNNACC_SEQ_TO_MEMORY | rnd(3) << 16;
		c.arg[0] = any_size();
		/* fall through */
	case CNNACC_SEQ_FILL:
		c.op |= rnd(3) << 16;
		c.arg[1] = any_size();
		c.arg[2] = rnd(4) ? rnd(5) : any_value(rnd);
		c.arg[3] = any_size();
		c.arg[5] = any_size();
		break;
	case CNNACC_SEQ_EXEC:
		c.arg[0] = any_insn();
		c.arg[4] = rnd(8) ? 0 : any_value(rnd);
		break;
	case CNNACC_SEQ_DRAIN:
		c.op |= rnd(2) * CNNACC_SEQ_RESUME | rnd(10) << 16;
		c.arg[0] = any_size() & ~3u;
		c.arg[1] = rnd(4);
		c.arg[4] = any_size() & ~3u;
		break;
	case CNNACC_SEQ_WAIT:
		c.arg[0] = 1 + rnd(3);
		break;
	case CNNACC_SEQ_IRQ:
		c.arg[0] = any_value(rnd);
		break;
	case CNNACC_SEQ_LOOP:
		c.op |= rnd(12) << 16;
		c.arg[0] = rnd(8) ? rnd(6) : any_value(rnd);
		c.arg[1] = CNNACC_SEQ_STEP(rnd(3), rnd(3), rnd(8));
		c.arg[2] = rnd(2) ? rnd(80) : any_value(rnd);
		break;
	}
	if (!rnd(40))
		c.arg[rnd(7)] = any_value(rnd);
	return c;
}

static struct cnnacc_seq_command exec2(uint32_t funct, uint32_t rd, uint32_t a, uint32_t b)
{
	const uint32_t flags = CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2;

	return (struct cnnacc_seq_command){
		.op = CNNACC_SEQ_EXEC,
		.arg = { CNNACC_HWPE_INSN(funct, flags, rd, 0, 0), 0, 0, 0, a, b },
	};
}

/* A task that is valid or nearly so, then random commands. */
static uint32_t put_any(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below))
{
	struct cnnacc_seq_command c[CORE_PROGRAM_LONG / sizeof(struct cnnacc_seq_command)];
	uint32_t n = 0, kernel, type, task;

	rnd = number;
	kernel = 1 + rnd(3);
	type = rnd(4);
	task = rnd(8);
	for (; task && n < 4; n++)
		c[n] = exec2(CNNACC_HWPE_WRITE_FMAP_ADDR, 2 * n, rnd(3000),
			     CNNACC_HWPE_SRAM2 + rnd(3000));
	if (task) {
		uint32_t input = type % 3 ? 0 : rnd(2) * CNNACC_HWPE_CFG_INPUT;

		c[n++] = exec2(CNNACC_HWPE_WRITE_CFG, 0, (1 + rnd(9)) | rnd(100) << 16,
			       kernel | type << 4 | input | rnd(4) << 13);
		c[n++] = exec2(CNNACC_HWPE_MATRIX_MAC, 0, rnd(4) | rnd(4) << 16,
			       rnd(200) | rnd(200) << 16);
		c[n - 1].op |= rnd(2) * CNNACC_SEQ_EVENTS;
		c[n++] = (struct cnnacc_seq_command){ CNNACC_SEQ_WAIT, { CNNACC_HWPE_WAIT_ROUND } };
	}
	while (n < bytes / sizeof(c[0]))
		c[n++] = any_command();
	return seq_put(words, c, n);
}

static const struct core_text texts[] = {
	{ CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG, CNNACC_HWPE_BAD_CH_COUNT,
	  "CONFIG (E_CFG) at instruction 9: channel count" },
	{ CNNACC_STATUS_CONFIG, CNNACC_HWPE_E_CFG, 99, "CONFIG (E_CFG) at instruction 9" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_SEQ_E_RANGE, 2,
	  "BAD_PROGRAM (E_RANGE) at instruction 9: local memory 2" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_SEQ_E_LOOP, CNNACC_SEQ_LOOP_DEPTH,
	  "BAD_PROGRAM (E_LOOP) at instruction 9: nested too deep" },
};

/* Fetched by 16 + 1; a copy takes 1 + 16 and its lines, END 1. */
#define FETCHED		17u
#define LOADED		(FETCHED + 1 + 16 + CORE_TIMED_LINES)
#define STORED		(LOADED + 1 + 16 + CORE_TIMED_LINES)

const struct core_programs hwpe_programs = {
	.name = "hwpe",
	.small = "hwpe:fmap=4096:kernel=4096:program=1024",
	.tiny = "hwpe:fmap=4096:kernel=4096:program=256",
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
	.compute_events = true,
	.config_text = "kernel size",
	.texts = texts, .text_count = sizeof(texts) / sizeof(texts[0]),
	.nop = seq_put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = seq_put_illegal,
	.config_error = put_config_error, .compute = put_compute, .any = put_any,
};
