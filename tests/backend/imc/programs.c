// SPDX-License-Identifier: MIT
#include <string.h>

#include "any_value.h"
#include "core_programs.h"
#include "imc_code.h"
#include "seq_programs.h"

static uint32_t put_copy(uint32_t *words, uint32_t from, uint32_t to, uint32_t lines)
{
	return seq_put_copy(words, CNNACC_IMC_INPUT0, from, to, lines);
}

static uint32_t put_load(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_load(words, CNNACC_IMC_INPUT0, line, lines);
}

static uint32_t put_store(uint32_t *words, uint32_t line, uint32_t lines)
{
	return seq_put_store(words, CNNACC_IMC_INPUT0, line, lines);
}

static uint32_t put_delay(uint32_t *words, uint32_t loops)
{
	return seq_put_delay(words, CNNACC_IMC_INPUT0, loops);
}

/* More cycles than any limit allows. */
static uint32_t put_endless(uint32_t *words)
{
	return put_delay(words, UINT32_MAX);
}

/* A kernel of no rows. */
static uint32_t put_config_error(uint32_t *words)
{
	const struct imc_setup none = { .w = 1, .h = 1, .cin = 1, .cout = 1 };
	struct sasm a = { .n = 0 };

	sa_setup(&a, &none);
	return seq_put(words, a.c, a.n);
}

/* A plane at once, then the begin of another one clock by clock, on its results. */
static uint32_t put_compute(uint32_t *words, uint32_t data, uint32_t out)
{
	const struct imc_setup p = imc_compact((struct imc_shape){
		3, CNNACC_IMC_INT8, 20, 10, 16, 7, 1 });
	struct sasm a = { .n = 0 };

	sa_load(&a, CNNACC_IMC_INPUT0, data, 0, 4096);
	sa_load(&a, CNNACC_IMC_WEIGHT0, data, 0, 4096);
	sa_setup(&a, &p);
	sa_conv(&a, 0, 0, 0, 0);
	sa_wait(&a, CNNACC_IMC_WAIT_IDLE);
	sa_save(&a, CNNACC_IMC_UNIT0, out, 0, 4032);
	sa_conv(&a, CNNACC_IMC_CONV_STEP | CNNACC_IMC_CONV_ACCUMULATE, 0, 0, 0);
	sa_step(&a, CNNACC_IMC_STEP_VALID, 100);
	sa_read(&a, CNNACC_IMC_REG_OUT, out + 4032);
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

static void any_setup(struct cnnacc_seq_command *c)
{
	uint32_t n = rnd(12), w = n + rnd(9), h = n + rnd(9), cin = 1 + rnd(30);
	uint32_t cout = 1 + rnd(20), column = cout + rnd(2) * rnd(4);

	c->arg[0] = CNNACC_IMC_SETUP | n << CNNACC_IMC_SETUP_N_SHIFT |
		    rnd(4) << CNNACC_IMC_SETUP_FORMAT_SHIFT | rnd(2) * CNNACC_IMC_SETUP_FULL;
	c->arg[1] = w | h << 16;
	c->arg[2] = cin | cout << 16;
	c->arg[3] = (rnd(3) ? cin : rnd(40)) | column << 16;
	c->arg[4] = rnd(3) ? w * cin : rnd(200);
	c->arg[5] = (w - n) * column + cout - !rnd(20);
}

static void any_conv(struct cnnacc_seq_command *c)
{
	c->arg[0] = CNNACC_IMC_CONV | rnd(4) << 8 | rnd(8) << 12;
	c->arg[1] = rnd(3) ? 0 : any_size();
	c->arg[2] = rnd(3) ? 0 : any_size();
	c->arg[3] = rnd(3) ? 4 * rnd(20) : any_size();
}

static void any_exec(struct cnnacc_seq_command *c)
{
	switch (rnd(5)) {
	case 0:
		any_setup(c);
		break;
	case 1:
	case 2:
		any_conv(c);
		break;
	case 3:
		c->arg[0] = CNNACC_IMC_STEP | rnd(2) * CNNACC_IMC_STEP_VALID;
		c->arg[1] = rnd(20) ? 1 + rnd(400) : any_value(rnd);
		break;
	default:
		c->op |= CNNACC_SEQ_RESULT;
		c->arg[0] = CNNACC_IMC_READ;
		c->arg[1] = rnd(20) ? 4 * (16 + rnd(112)) : any_value(rnd);
		c->arg[6] = any_size() & ~3u;
	}
}

static void any_rows(struct cnnacc_seq_command *c)
{
	c->op |= rnd(CNNACC_IMC_MEMORIES + 1) << 16;
	if ((c->op & CNNACC_SEQ_OP_MASK) == CNNACC_SEQ_COPY2D) {
		c->op |= rnd(2) * CNNACC_SEQ_TO_MEMORY;
		c->arg[0] = any_size();
	}
	c->arg[1] = any_size();
	c->arg[2] = rnd(4) ? rnd(5) : any_value(rnd);
	c->arg[3] = any_size();
	c->arg[5] = any_size();
}

static struct cnnacc_seq_command any_command(void)
{
	static const uint32_t ops[] = {
		CNNACC_SEQ_COPY2D, CNNACC_SEQ_FILL, CNNACC_SEQ_EXEC, CNNACC_SEQ_EXEC,
		CNNACC_SEQ_EXEC, CNNACC_SEQ_EXEC, CNNACC_SEQ_DRAIN, CNNACC_SEQ_WAIT,
		CNNACC_SEQ_WAIT, CNNACC_SEQ_IRQ, CNNACC_SEQ_LOOP,
	};
	struct cnnacc_seq_command c = {
		.op = rnd(30) ? ops[rnd(sizeof(ops) / sizeof(ops[0]))] : 0,
	};

	switch (c.op) {
	case CNNACC_SEQ_COPY2D:
	case CNNACC_SEQ_FILL:
		any_rows(&c);
		break;
	case CNNACC_SEQ_EXEC:
		any_exec(&c);
		break;
	case CNNACC_SEQ_WAIT:
		c.arg[0] = rnd(20) ? CNNACC_IMC_WAIT_IDLE : any_value(rnd);
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

/* A plane that is valid or nearly so, then random commands. */
static uint32_t put_any(uint32_t *words, uint32_t bytes, uint32_t (*number)(uint32_t below))
{
	struct cnnacc_seq_command c[CORE_PROGRAM_LONG / sizeof(struct cnnacc_seq_command)];
	uint32_t n = 0;

	rnd = number;
	if (rnd(8)) {
		c[n] = (struct cnnacc_seq_command){ .op = CNNACC_SEQ_EXEC };
		any_setup(&c[n++]);
		c[n] = (struct cnnacc_seq_command){ .op = CNNACC_SEQ_EXEC };
		any_conv(&c[n++]);
	}
	while (n < bytes / sizeof(c[0]))
		c[n++] = any_command();
	return seq_put(words, c, n);
}

static const struct core_text texts[] = {
	{ CNNACC_STATUS_CONFIG, CNNACC_IMC_E_CFG, CNNACC_IMC_BAD_CIN,
	  "CONFIG (E_CFG) at instruction 9: input channels not 1..4096" },
	{ CNNACC_STATUS_CONFIG, CNNACC_IMC_E_CFG, 99, "CONFIG (E_CFG) at instruction 9" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_IMC_E_ADDR, 4,
	  "BAD_PROGRAM (E_ADDR) at instruction 9: local memory 4" },
	{ CNNACC_STATUS_BAD_PROGRAM, CNNACC_IMC_E_BUSY, CNNACC_IMC_RUNNING,
	  "BAD_PROGRAM (E_BUSY) at instruction 9: a plane is running" },
};

/* Fetched by 16 + 1; a copy takes 1 + 16 and its lines, END 1. */
#define FETCHED		17u
#define LOADED		(FETCHED + 1 + 16 + CORE_TIMED_LINES)
#define STORED		(LOADED + 1 + 16 + CORE_TIMED_LINES)

const struct core_programs imc_programs = {
	.name = "imc",
	.small = "imc:input=4096:weight=4096:unit=8192:program=1024",
	.tiny = "imc:input=1024:weight=1024:unit=1024:program=256",
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
	.config_text = "kernel size",
	.texts = texts, .text_count = sizeof(texts) / sizeof(texts[0]),
	.nop = seq_put_nop, .copy = put_copy, .load = put_load, .store = put_store,
	.endless = put_endless, .delay = put_delay, .illegal = seq_put_illegal,
	.config_error = put_config_error, .compute = put_compute, .any = put_any,
};
