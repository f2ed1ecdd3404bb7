// SPDX-License-Identifier: MIT
/* Damage: each function makes one thing bad and leaves the rest as it was. */
#include "gen.h"

#define VA_END		(1ull << CNNACC_VA_BITS)
#define LINE		CNNACC_LINE_SIZE
#define PARAM(value)	((uint32_t)(value) << CNNACC_SEQ_PARAM_SHIFT)

static uint32_t any_bit(struct gen_hwpe *gen, unsigned int low, unsigned int high)
{
	return 1u << hwpe_pick(gen, low, high);
}

static uint32_t not_zero(struct gen_hwpe *gen)
{
	return hwpe_chance(gen, 50) ? any_bit(gen, 0, 31) : 1 + prng_next(&gen->prng) % 0xffff;
}

static unsigned int op_of(const struct cnnacc_seq_command *c)
{
	return c->op & CNNACC_SEQ_OP_MASK;
}

static unsigned int funct_of(const struct cnnacc_seq_command *c)
{
	return c->arg[0] >> 25;
}

/* ------------------------------------------------------------ E_COMMAND */

static void bad_op(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	static const uint32_t flags[] = {
		CNNACC_SEQ_TO_MEMORY, CNNACC_SEQ_RESULT, CNNACC_SEQ_EVENTS, CNNACC_SEQ_RESUME,
		0x1000, 0x8000,
	};
	unsigned int memory = hwpe_pick(gen, CNNACC_HWPE_MEMORIES, 0xffff);

	switch (hwpe_pick(gen, 0, 3)) {
	case 0:
		c->op = (c->op & ~CNNACC_SEQ_OP_MASK) | hwpe_pick(gen, 8, 255);
		break;
	case 1:
		c->op |= flags[hwpe_pick(gen, 0, 5)];
		break;
	default:
		if (op_of(c) == CNNACC_SEQ_DRAIN)
			c->op = (c->op & 0xffff) |
				PARAM(hwpe_chance(gen, 50) ? 0 : hwpe_pick(gen, 9, 0xffff));
		else if (op_of(c) == CNNACC_SEQ_COPY2D || op_of(c) == CNNACC_SEQ_FILL)
			c->op = (c->op & 0xffff) |
				PARAM(hwpe_chance(gen, 50) ? CNNACC_HWPE_MEMORIES : memory);
		else
			c->op |= PARAM(hwpe_pick(gen, 1, 0xffff));
		break;
	}
}

static void bad_exec_arg(struct gen_hwpe *gen, struct cnnacc_seq_command *c, int n)
{
	bool result = c->op & CNNACC_SEQ_RESULT;

	if (n == 0)
		c->op |= hwpe_chance(gen, 50) ? CNNACC_SEQ_RESULT : CNNACC_SEQ_EVENTS;
	else if (n == 4 && funct_of(c) == CNNACC_HWPE_RELU_WRITE)
		c->arg[4] += hwpe_pick(gen, 1, 3);
	else if (n == 6 && result)
		c->arg[6] += hwpe_pick(gen, 1, 3);
	else
		c->arg[n] = not_zero(gen);
}

static void bad_drain_arg(struct gen_hwpe *gen, struct cnnacc_seq_command *c, int n)
{
	uint32_t count = c->op >> CNNACC_SEQ_PARAM_SHIFT;

	if (n == 1)
		c->arg[1] = hwpe_chance(gen, 50) ? CNNACC_HWPE_ACCS - count + 1 :
						       -(uint32_t)hwpe_pick(gen, 1, 8);
	else if (n == 0 || n == 3 || n == 4)
		c->arg[n] += hwpe_pick(gen, 1, 3);
	else
		c->arg[n] = not_zero(gen);
}

static void bad_arg(struct gen_hwpe *gen, struct cnnacc_seq_command *c, int n)
{
	switch (op_of(c)) {
	case CNNACC_SEQ_COPY2D:
		c->arg[6] = not_zero(gen);
		break;
	case CNNACC_SEQ_FILL:
		if (n < 2)
			c->arg[0] = hwpe_chance(gen, 50) ? 256 : hwpe_pick(gen, 256, 0xffffffff);
		else
			c->arg[n < 4 ? 4 : 6] = not_zero(gen);
		break;
	case CNNACC_SEQ_EXEC:
		bad_exec_arg(gen, c, n);
		break;
	case CNNACC_SEQ_DRAIN:
		bad_drain_arg(gen, c, n);
		break;
	case CNNACC_SEQ_WAIT:
		if (n == 0)
			c->arg[0] = hwpe_chance(gen, 50) ? 0 : c->arg[0] | any_bit(gen, 2, 31);
		else
			c->arg[n] = not_zero(gen);
		break;
	default:	/* IRQ */
		c->arg[n ? n : 1] = not_zero(gen);
		break;
	}
}

/* At times spoil a second word, to check which one is reported. */
static void bad_words(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	/* Other code emits the legal ENDs; this one may be bad. */
	if (hwpe_chance(gen, 10)) {
		*c = (struct cnnacc_seq_command){ .op = CNNACC_SEQ_END };
		c->arg[hwpe_pick(gen, 0, 6)] = not_zero(gen);
		if (hwpe_chance(gen, 30))
			c->op |= any_bit(gen, 8, 31);
		return;
	}
	do {
		if (hwpe_chance(gen, 25))
			bad_op(gen, c);
		else
			bad_arg(gen, c, hwpe_pick(gen, 0, 6));
	} while (hwpe_chance(gen, 25) && op_of(c) <= CNNACC_SEQ_LOOP);
}

/* ------------------------------------------------------------ E_ILLEGAL */

static void bad_insn(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	uint32_t *insn = &c->arg[0];

	switch (hwpe_pick(gen, 0, 5)) {
	case 0:
		*insn ^= any_bit(gen, 0, 6);
		break;
	case 1:
		*insn ^= any_bit(gen, 25, 31);
		break;
	case 2:
		*insn ^= any_bit(gen, 12, 14);
		break;
	default:	/* PE, AccReg or base, as the instruction has it */
		if (funct_of(c) == CNNACC_HWPE_WRITE_ACC || funct_of(c) == CNNACC_HWPE_READ_ACC)
			*insn |= hwpe_chance(gen, 50) ? 16u << 20 : 0;
		if (funct_of(c) == CNNACC_HWPE_WRITE_ACC ||
		    funct_of(c) == CNNACC_HWPE_WRITE_FMAP_ADDR)
			*insn |= any_bit(gen, 3, 4) << 7;
		if (funct_of(c) == CNNACC_HWPE_READ_ACC)
			*insn |= 8u << 15;
		if (funct_of(c) == CNNACC_HWPE_RELU_WRITE)
			*insn |= 8u << 20;
		break;
	}
}

/* ------------------------------------------------- E_RANGE, beyond 4 GiB */

static void bad_range(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	uint32_t memory = c->op >> CNNACC_SEQ_PARAM_SHIFT, rows = c->arg[2] ? c->arg[2] : 1;
	int64_t size = memory == CNNACC_HWPE_KERNEL ? gen->params.kernel : gen->params.fmap;
	int64_t bytes = c->arg[3] ? c->arg[3] : 1;

	c->arg[2] = rows;
	c->arg[3] = bytes;
	switch (hwpe_pick(gen, 0, 3)) {
	case 0:		/* by one byte */
		c->arg[1] = size - (int64_t)(rows - 1) * c->arg[5] - bytes + 1;
		break;
	case 1:
		c->arg[1] = 0xffffffff - hwpe_pick(gen, 0, 3);
		break;
	case 2:		/* the last row only */
		c->arg[2] = rows + 1;
		c->arg[5] = hwpe_chance(gen, 50) ? 0xffffffff : size;
		break;
	default:
		c->arg[3] = size + 1;
		break;
	}
}

/* Across or past the end of the address space; VA 0 is mapped, so a wrap would not fault. */
static void beyond(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	switch (op_of(c)) {
	case CNNACC_SEQ_COPY2D:
		if (hwpe_chance(gen, 50)) {
			c->arg[0] = VA_END - hwpe_pick(gen, 1, LINE);
		} else {
			c->arg[4] = 0xffffffff - hwpe_pick(gen, 0, LINE);
			c->arg[2] += 2;
			c->arg[5] = 0;
		}
		break;
	case CNNACC_SEQ_DRAIN:
		c->arg[hwpe_chance(gen, 70) ? 0 : hwpe_pick(gen, 3, 4)] =
			VA_END - 4 * hwpe_pick(gen, 1, 16);
		break;
	default:
		if (funct_of(c) != CNNACC_HWPE_RELU_WRITE)
			return;
		c->arg[4] = VA_END - 4 * hwpe_pick(gen, 1, 4);
		break;
	}
	space_map(&gen->job->space, VA_END - LINE, 2 * LINE, CNNACC_PTE_READ | CNNACC_PTE_WRITE);
}

void gen_hwpe_spoil_command(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	unsigned int op = op_of(c);
	bool rows = op == CNNACC_SEQ_COPY2D || op == CNNACC_SEQ_FILL;

	if (gen_hwpe_due(gen, GEN_HWPE_COMMAND, 8))
		bad_words(gen, c);
	if (op == CNNACC_SEQ_EXEC && gen_hwpe_due(gen, GEN_HWPE_ILLEGAL, 10))
		bad_insn(gen, c);
	if (rows && gen_hwpe_due(gen, GEN_HWPE_RANGE, 25))
		bad_range(gen, c);
	if (op != CNNACC_SEQ_WAIT && op != CNNACC_SEQ_IRQ && gen_hwpe_due(gen, GEN_HWPE_FAULT, 2))
		beyond(gen, c);
}

/* ------------------------------------------ E_BUSY and what goes with it */

static void emit(struct gen_hwpe *gen, uint32_t op, uint32_t arg0)
{
	stream_emit(&gen->job->program, op, (uint32_t[7]){ arg0 });
}

static void emit_insn(struct gen_hwpe *gen, unsigned int funct, uint32_t rs1, uint32_t rs2)
{
	emit(gen, CNNACC_SEQ_EXEC, insn_encode(funct, 0, rs1, rs2));
}

static void configure_beside(struct gen_hwpe *gen)
{
	static const unsigned int functs[] = {
		CNNACC_HWPE_WRITE_FMAP_ADDR, CNNACC_HWPE_WRITE_CFG, CNNACC_HWPE_MATRIX_MAC,
	};

	emit_insn(gen, functs[hwpe_pick(gen, 0, 2)], 0, 0);
}

static void resume_nothing(struct gen_hwpe *gen)
{
	switch (hwpe_pick(gen, 0, 2)) {
	case 0:
		emit_insn(gen, CNNACC_HWPE_READ_ACC, CNNACC_HWPE_ENABLE, 0);
		break;
	case 1:
		emit_insn(gen, CNNACC_HWPE_RELU_WRITE, 0, CNNACC_HWPE_ENABLE);
		break;
	default:
		emit(gen, CNNACC_SEQ_DRAIN | CNNACC_SEQ_RESUME | PARAM(1),
		     gen->sink[SINK_DRAIN].va);
		break;
	}
}

static void touch_running(struct gen_hwpe *gen)
{
	static const unsigned int functs[] = {
		CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_READ_ACC, CNNACC_HWPE_RELU_WRITE,
	};
	uint32_t memory = PARAM(hwpe_pick(gen, 0, CNNACC_HWPE_MEMORIES - 1));
	uint32_t enable = hwpe_chance(gen, 50) ? CNNACC_HWPE_ENABLE : 0;
	unsigned int funct = functs[hwpe_pick(gen, 0, 2)];

	switch (hwpe_pick(gen, 0, 3)) {
	case 0:
		emit(gen, CNNACC_SEQ_COPY2D | memory, gen->source.va);
		break;
	case 1:
		emit(gen, CNNACC_SEQ_FILL | memory, 0);
		break;
	case 2:
		emit(gen, CNNACC_SEQ_DRAIN | PARAM(1) | (enable ? CNNACC_SEQ_RESUME : 0),
		     gen->sink[SINK_DRAIN].va);
		break;
	default:
		emit_insn(gen, funct, enable, funct == CNNACC_HWPE_RELU_WRITE ? enable : 0);
		break;
	}
}

void gen_hwpe_spoil_state(struct gen_hwpe *gen)
{
	if (hwpe_chance(gen, 20))
		emit(gen, CNNACC_SEQ_WAIT, gen->state == CNNACC_HWPE_IDLE ? CNNACC_HWPE_WAIT_ROUND :
									     CNNACC_HWPE_WAIT_IDLE);
	else if (gen->state == CNNACC_HWPE_IDLE)
		resume_nothing(gen);
	else if (gen->state == CNNACC_HWPE_SUSPENDED || hwpe_chance(gen, 30))
		configure_beside(gen);
	else
		touch_running(gen);
}

/* ---------------------------------------------------------------- E_CFG */

void gen_hwpe_spoil_config(struct gen_hwpe *gen, uint32_t cfg[2])
{
	uint32_t type = 3u << CNNACC_HWPE_CFG_TYPE_SHIFT;

	if (!gen_hwpe_due(gen, GEN_HWPE_CONFIG, 60))
		return;
	do {
		switch (hwpe_pick(gen, 0, 7)) {
		case 0:
			cfg[1] |= any_bit(gen, 23, 31);
			break;
		case 1:
			cfg[1] &= ~CNNACC_HWPE_CFG_KERNEL_MASK;
			break;
		case 2:
			cfg[1] |= 12;
			break;
		case 3:
			cfg[1] = (cfg[1] & ~CNNACC_HWPE_CFG_KERNEL_MASK & ~type) |
				 CNNACC_HWPE_CFG_333 | CNNACC_HWPE_CFG_INPUT | 4;
			break;
		case 4:
			cfg[1] = (cfg[1] & ~type) | CNNACC_HWPE_CFG_INPUT |
				 hwpe_pick(gen, 1, 2) << CNNACC_HWPE_CFG_TYPE_SHIFT;
			break;
		case 5:
			cfg[1] = (cfg[1] & ~type & ~(CNNACC_HWPE_CFG_INPUT | 0xf)) |
				 CNNACC_HWPE_CFG_333 | 3;
			break;
		case 6:
			cfg[1] |= hwpe_pick(gen, 25, 31) << CNNACC_HWPE_CFG_SHIFT_SHIFT;
			break;
		default:
			cfg[0] &= 0xffff0000;
			cfg[1] &= ~CNNACC_HWPE_CFG_333;
			break;
		}
	} while (hwpe_chance(gen, 25));
}

/* --------------------------------------------------------------- E_LOOP */

static void bad_pair(struct gen_hwpe *gen, uint32_t arg[7], unsigned int commands)
{
	uint32_t *step = &arg[1 + 2 * hwpe_pick(gen, 0, 2)];

	switch (hwpe_pick(gen, 0, 3)) {
	case 0:
		*step = any_bit(gen, 27, 31);
		break;
	case 1:
		*step = CNNACC_SEQ_STEP(0, 0, 7);
		break;
	case 2:
		*step = CNNACC_SEQ_STEP(commands, 0, 0);
		break;
	default:
		*step = CNNACC_SEQ_STEP(1, commands - 1, 0);
		break;
	}
}

static void nest_too_deep(struct gen_hwpe *gen)
{
	for (unsigned int left = CNNACC_SEQ_LOOPS + 1 - gen->depth; left; left--)
		stream_loop(&gen->job->program, left, hwpe_pick(gen, 1, 2));
	emit(gen, CNNACC_SEQ_IRQ, 0);
}

void gen_hwpe_spoil_loop(struct gen_hwpe *gen)
{
	unsigned int commands = hwpe_pick(gen, 1, 3);
	uint32_t arg[7] = { hwpe_pick(gen, 1, 3) };

	if (hwpe_chance(gen, 25)) {
		nest_too_deep(gen);
		return;
	}
	do {
		switch (hwpe_pick(gen, 0, 5)) {
		case 0:
			commands = 0;
			break;
		case 1:
			commands = gen->params.program / sizeof(struct cnnacc_seq_command);
			commands -= hwpe_chance(gen, 50) ? stream_length(&gen->job->program) : 0;
			break;
		case 2:
			arg[0] = 0;
			break;
		default:
			bad_pair(gen, arg, commands ? commands : 1);
			break;
		}
	} while (hwpe_chance(gen, 25));
	stream_emit(&gen->job->program, CNNACC_SEQ_LOOP | PARAM(commands), arg);
	for (int i = 0; i < 3; i++)
		emit(gen, CNNACC_SEQ_IRQ, i);
}

/* --------------------------------------------------- E_PC and random bits */

/* Fill the program memory with commands, as a sequence or as the body of one LOOP. */
void gen_hwpe_past_end(struct gen_hwpe *gen)
{
	unsigned int commands = gen->params.program / sizeof(struct cnnacc_seq_command);
	struct program *program = &gen->job->program;

	if (hwpe_chance(gen, 50))
		stream_loop(program, commands - 1, hwpe_pick(gen, 1, 2));
	while (stream_length(program) < commands)
		emit(gen, CNNACC_SEQ_IRQ, stream_length(program));
}

void gen_hwpe_flip(struct gen_hwpe *gen)
{
	struct program *program = &gen->job->program;

	for (int64_t flips = hwpe_pick(gen, 1, 4); flips; flips--)
		program->word[hwpe_pick(gen, 0, program->length - 1)] ^= any_bit(gen, 0, 31);
}

/* A value that is plausible in some word. */
static uint32_t any_value(struct gen_hwpe *gen)
{
	switch (hwpe_pick(gen, 0, 5)) {
	case 0:
		return gen->source.va + hwpe_pick(gen, 0, gen->source.length);
	case 1:
		return gen->sink[hwpe_pick(gen, 0, SINKS - 1)].va + hwpe_pick(gen, 0, 64) * 4;
	case 2:
		return prng_next(&gen->prng);
	default:
		return hwpe_pick(gen, 0, hwpe_chance(gen, 50) ? 4 : 300);
	}
}

void gen_hwpe_noise(struct gen_hwpe *gen)
{
	struct program *program = &gen->job->program;

	for (int64_t i = hwpe_pick(gen, 4, 40); i; i--) {
		uint32_t op = hwpe_pick(gen, 0, hwpe_chance(gen, 95) ? 7 : 9), arg[7];

		if (op == CNNACC_SEQ_END || hwpe_chance(gen, 40)) {
			gen_hwpe_simple(gen);
			continue;
		}
		if (op == CNNACC_SEQ_LOOP || hwpe_chance(gen, 50))
			op |= PARAM(hwpe_pick(gen, 0, 3));
		if (hwpe_chance(gen, 10))
			op |= any_bit(gen, 8, 11);
		for (int n = 0; n < 7; n++)
			arg[n] = hwpe_chance(gen, 40) ? 0 : any_value(gen);
		stream_emit(program, op, arg);
	}
}
