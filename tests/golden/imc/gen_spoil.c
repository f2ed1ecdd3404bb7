// SPDX-License-Identifier: MIT
/* Damage: each function makes one thing bad and leaves the rest as it was. */
#include "gen.h"

#define VA_END		(1ull << CNNACC_VA_BITS)
#define PARAM(value)	((uint32_t)(value) << CNNACC_SEQ_PARAM_SHIFT)

static uint32_t any_bit(struct gen_imc *gen, unsigned int low, unsigned int high)
{
	return 1u << imc_pick(gen, low, high);
}

static unsigned int op_of(const struct cnnacc_seq_command *c)
{
	return c->op & CNNACC_SEQ_OP_MASK;
}

static bool is_exec(const struct cnnacc_seq_command *c, enum cnnacc_imc_op op)
{
	return op_of(c) == CNNACC_SEQ_EXEC && (c->arg[0] & CNNACC_IMC_OP_MASK) == op;
}

/* ----------------------------------------------------------------- commands */

static void bad_op(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	switch (imc_pick(gen, 0, 3)) {
	case 0:		/* the core has no registers to drain */
		c->op = CNNACC_SEQ_DRAIN | PARAM(imc_pick(gen, 0, 2));
		break;
	case 1:
		c->op |= any_bit(gen, 8, 15);
		break;
	case 2:
		c->op = (c->op & 0xffff) | PARAM(imc_pick(gen, CNNACC_IMC_MEMORIES, 0xffff));
		break;
	default:
		c->op = (c->op & ~0xffu) | imc_pick(gen, 8, 255);
		break;
	}
}

static void bad_exec(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	switch (imc_pick(gen, 0, 2)) {
	case 0:
		c->op ^= CNNACC_SEQ_RESULT;
		if (imc_chance(gen, 70))
			c->arg[6] = 0;
		break;
	case 1:
		c->op |= CNNACC_SEQ_EVENTS;
		break;
	default:
		c->arg[6] |= any_bit(gen, 0, imc_chance(gen, 50) ? 1 : 31);
		break;
	}
}

static void bad_command(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	if (op_of(c) == CNNACC_SEQ_EXEC && imc_chance(gen, 80))
		bad_exec(gen, c);
	else if (op_of(c) == CNNACC_SEQ_WAIT && imc_chance(gen, 70))
		c->arg[0] = imc_chance(gen, 50) ? 0 : c->arg[0] | any_bit(gen, 1, 31);
	else if (imc_chance(gen, 50))
		bad_op(gen, c);
	else
		c->arg[6] |= any_bit(gen, 0, 31);
}

static void bad_rows(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	uint32_t size = gen->bytes[c->op >> CNNACC_SEQ_PARAM_SHIFT];

	c->arg[2] = c->arg[2] ? c->arg[2] : 1;
	c->arg[3] = c->arg[3] ? c->arg[3] : 1;
	switch (imc_pick(gen, 0, 2)) {
	case 0:		/* by one byte */
		c->arg[1] = size - (c->arg[2] - 1) * c->arg[5] - c->arg[3] + 1;
		break;
	case 1:
		c->arg[1] = 0xffffffff - imc_pick(gen, 0, 3);
		break;
	default:	/* the last row only */
		c->arg[2]++;
		c->arg[5] = imc_chance(gen, 50) ? 0xffffffff : size;
		break;
	}
}

/* Across or past the end of the address space. */
static void beyond(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	if (op_of(c) == CNNACC_SEQ_EXEC)
		c->arg[6] = prng_next(&gen->prng) & ~3u;
	else if (imc_chance(gen, 50))
		c->arg[0] = VA_END - imc_pick(gen, 1, CNNACC_LINE_SIZE);
	else
		c->arg[4] = 0xffffffff - imc_pick(gen, 0, CNNACC_LINE_SIZE);
}

/* ------------------------------------------------------------- instructions */

static void bad_insn(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	do {
		switch (imc_pick(gen, 0, 3)) {
		case 0:
			c->arg[0] = (c->arg[0] & ~CNNACC_IMC_OP_MASK) | imc_pick(gen, 0, 15);
			break;
		case 1:		/* of READ */
			c->arg[1] = imc_pick(gen, 0, 0x240);
			break;
		default:
			c->arg[imc_chance(gen, 60) ? 0 : imc_pick(gen, 2, 5)] |=
				any_bit(gen, imc_chance(gen, 80) ? 4 : 0, 31);
			break;
		}
	} while (imc_chance(gen, 20));
}

static void put_half(uint32_t *word, bool high, uint32_t value)
{
	*word = high ? (*word & 0xffff) | value << 16 : (*word & 0xffff0000) | (value & 0xffff);
}

static uint32_t get_half(uint32_t word, bool high)
{
	return high ? word >> 16 : word & 0xffff;
}

static void bad_setup_word(struct gen_imc *gen, uint32_t *word)
{
	bool high = imc_chance(gen, 50);
	uint32_t n = word[0] >> CNNACC_IMC_SETUP_N_SHIFT & 15;

	switch (imc_pick(gen, 0, 5)) {
	case 0:
		word[0] = (word[0] & ~0xf0u) | imc_pick(gen, 0, 15) << CNNACC_IMC_SETUP_N_SHIFT;
		break;
	case 1:
		word[0] |= imc_chance(gen, 50) ? CNNACC_IMC_SETUP_FULL :
			   (uint32_t)imc_pick(gen, 1, 3) << CNNACC_IMC_SETUP_FORMAT_SHIFT;
		break;
	case 2:
		put_half(&word[1], high, imc_pick(gen, 0, n));
		break;
	case 3:
		put_half(&word[2], high, imc_chance(gen, 50) ? 0 : imc_pick(gen, 4096, 65535));
		break;
	case 4:
		put_half(&word[3], true, imc_pick(gen, 0, get_half(word[2], true)));
		break;
	default:
		word[5] -= imc_pick(gen, 1, 10);
		break;
	}
}

static void bad_cfg(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	if (is_exec(c, CNNACC_IMC_SETUP))
		do
			bad_setup_word(gen, c->arg);
		while (imc_chance(gen, 30));
	else if (is_exec(c, CNNACC_IMC_CONV))
		c->arg[imc_pick(gen, 1, 3)] ^= imc_pick(gen, 1, 3);
	else
		c->arg[1] = imc_chance(gen, 50) ? 0 : imc_pick(gen, 4097, UINT32_MAX);
}

/* Past the end of a bank, by one step or by far; or a plane that is too large for it. */
static void bad_address(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	struct imc_plane p;
	uint64_t end[3];
	unsigned int n = imc_pick(gen, 0, 2);

	if (is_exec(c, CNNACC_IMC_SETUP)) {
		c->arg[4 + n % 2] = imc_pick(gen, 1000, UINT32_MAX);
		return;
	}
	p = imc_decode(&gen->params, gen->setup, c->arg);
	end[0] = gen->bytes[p.in_bank] - imc_input_end(&p);
	end[1] = gen->bytes[p.wt_bank] - imc_weight_end(&p);
	end[2] = gen->bytes[p.res_bank] - imc_result_end(&p);
	if (imc_chance(gen, 70))
		c->arg[1 + n] += end[n] + (n == 2 ? 4 : p.esz);
	else
		c->arg[1 + n] = 0xffffffff - imc_pick(gen, 0, 63);
}

static void noise(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	for (unsigned int n = 0; n < 6; n++)
		if (imc_chance(gen, 30))
			c->arg[n] = prng_next(&gen->prng) >> 16;
	if (imc_chance(gen, 70))
		c->arg[0] = (c->arg[0] & 0xfff0) | imc_pick(gen, 1, 4);
}

static void spoil_exec(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	if (gen_imc_due(gen, GEN_IMC_ILLEGAL, 35))
		bad_insn(gen, c);
	else if (!is_exec(c, CNNACC_IMC_READ) && gen_imc_due(gen, GEN_IMC_CFG, 35))
		bad_cfg(gen, c);
	else if ((is_exec(c, CNNACC_IMC_CONV) || is_exec(c, CNNACC_IMC_SETUP)) &&
		 gen_imc_due(gen, GEN_IMC_ADDR, is_exec(c, CNNACC_IMC_CONV) ? 60 : 10))
		bad_address(gen, c);
	else if (gen_imc_due(gen, GEN_IMC_NOISE, 40))
		noise(gen, c);
}

void gen_imc_spoil(struct gen_imc *gen, struct cnnacc_seq_command *c)
{
	bool rows = op_of(c) == CNNACC_SEQ_COPY2D || op_of(c) == CNNACC_SEQ_FILL;
	bool exec = op_of(c) == CNNACC_SEQ_EXEC;

	if (gen_imc_due(gen, GEN_IMC_COMMAND, exec ? 40 : 8))
		bad_command(gen, c);
	else if (rows && gen_imc_due(gen, GEN_IMC_ROWS, 20))
		bad_rows(gen, c);
	else if (gen->kind == GEN_IMC_FAULT &&
		 ((op_of(c) == CNNACC_SEQ_COPY2D && imc_chance(gen, 2)) ||
		  (is_exec(c, CNNACC_IMC_READ) && imc_chance(gen, 10))))
		beyond(gen, c);
	else if (exec)
		spoil_exec(gen, c);
}
