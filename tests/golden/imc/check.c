// SPDX-License-Identifier: MIT
#include "state.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static bool fails(struct golden_imc *imc, uint16_t code, uint32_t detail)
{
	return golden_seq_fail(&imc->seq, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

static bool illegal(struct golden_imc *imc, enum cnnacc_imc_illegal detail)
{
	imc->coverage.illegal[detail]++;
	return fails(imc, CNNACC_IMC_E_ILLEGAL, detail);
}

static enum cnnacc_imc_op op_of(const struct cnnacc_seq_command *c)
{
	return c->arg[0] & CNNACC_IMC_OP_MASK;
}

/* --------------------------------------------------------------- E_ILLEGAL */

/* Bits that an operation does not use, of the instruction words and the operands. */
static const uint32_t unused[][6] = {
	[CNNACC_IMC_SETUP] = { CNNACC_IMC_SETUP_RESERVED },
	[CNNACC_IMC_CONV] = { CNNACC_IMC_CONV_RESERVED, 0, 0, 0, ~0u, ~0u },
	[CNNACC_IMC_STEP] = { CNNACC_IMC_STEP_RESERVED, 0, ~0u, ~0u, ~0u, ~0u },
	[CNNACC_IMC_READ] = { CNNACC_IMC_READ_RESERVED, 0, ~0u, ~0u, ~0u, ~0u },
};

static bool check_illegal(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	unsigned int op = op_of(c);
	uint32_t offset = c->arg[1];

	if (op < CNNACC_IMC_SETUP || op > CNNACC_IMC_READ)
		return illegal(imc, CNNACC_IMC_BAD_OP);
	for (unsigned int n = 0; n < 6; n++)
		if (c->arg[n] & unused[op][n])
			return illegal(imc, CNNACC_IMC_BAD_BITS);
	if (op == CNNACC_IMC_READ && (offset % 4 || offset < 0x40 || offset > 0x1fc))
		return illegal(imc, CNNACC_IMC_BAD_REGISTER);
	return true;
}

static bool check_flags(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	bool read = op_of(c) == CNNACC_IMC_READ, result = c->op & CNNACC_SEQ_RESULT;
	bool events = c->op & CNNACC_SEQ_EVENTS;

	if (!events && read == result)
		return true;
	imc->coverage.flags[events ? 0 : read ? 2 : 1]++;
	return fails(imc, CNNACC_SEQ_E_COMMAND, 0);
}

static bool check_state(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	uint32_t wanted = op_of(c) == CNNACC_IMC_STEP ? CNNACC_IMC_STEPPING : CNNACC_IMC_IDLE;

	if (op_of(c) == CNNACC_IMC_READ || imc->regs.status == wanted)
		return true;
	imc->coverage.busy[imc->regs.status]++;
	return fails(imc, CNNACC_IMC_E_BUSY, imc->regs.status);
}

/* ------------------------------------------------------------------- E_CFG */

/** struct rule - a detail of E_CFG, and whether it applies. */
struct rule {
	enum cnnacc_imc_cfg detail;
	bool broken;
};

static bool check_rules(struct golden_imc *imc, const struct rule *rules, unsigned int count)
{
	for (unsigned int n = 0; n < count; n++) {
		if (!rules[n].broken)
			continue;
		imc->coverage.cfg[rules[n].detail]++;
		return golden_seq_fail(&imc->seq, CNNACC_STATUS_CONFIG, CNNACC_IMC_E_CFG,
				       rules[n].detail);
	}
	return true;
}

static bool bad_channels(int64_t channels)
{
	return channels < 1 || channels > CNNACC_IMC_CHANNELS_MAX;
}

static bool check_setup(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	static const uint32_t no_conv[4];
	const struct golden_imc_params *build = &imc->params;
	struct imc_plane p = imc_decode(build, c->arg, no_conv);
	const struct rule rules[] = {
		{ CNNACC_IMC_BAD_FORMAT, p.format > CNNACC_IMC_FP32 ||
					 (p.format == CNNACC_IMC_FP32 && !build->fp32) },
		{ CNNACC_IMC_BAD_KERNEL, p.n == 0 || p.n > build->n_max },
		{ CNNACC_IMC_BAD_MODE, p.full && (!build->full_reuse || p.n > build->csus) },
		{ CNNACC_IMC_BAD_WIDTH, p.w < p.n },
		{ CNNACC_IMC_BAD_HEIGHT, p.h < p.n },
		{ CNNACC_IMC_BAD_CIN, bad_channels(p.cin) },
		{ CNNACC_IMC_BAD_COUT, bad_channels(p.cout) },
		{ CNNACC_IMC_BAD_RESULT_COLUMN, p.res_column < p.cout },
		{ CNNACC_IMC_BAD_RESULT_ROW,
		  p.res_row < (p.wo - 1) * p.res_column + p.cout },
	};

	return check_rules(imc, rules, COUNT(rules));
}

static bool check_address(struct golden_imc *imc, unsigned int memory, uint64_t end)
{
	if (end <= imc->bytes[memory])
		return true;
	imc->coverage.address[memory]++;
	return fails(imc, CNNACC_IMC_E_ADDR, memory);
}

static bool check_conv(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	struct imc_plane p = imc_decode(&imc->params, imc->regs.setup, c->arg);
	const struct rule rules[] = {
		{ CNNACC_IMC_BAD_SETUP, !imc->configured },
		{ CNNACC_IMC_BAD_ALIGN, p.in % p.esz || p.wt % p.esz || p.res % 4 },
	};

	return check_rules(imc, rules, COUNT(rules)) &&
	       check_address(imc, p.in_bank, imc_input_end(&p)) &&
	       check_address(imc, p.wt_bank, imc_weight_end(&p)) &&
	       check_address(imc, p.res_bank, imc_result_end(&p));
}

static bool check_step(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	const struct rule rule = {
		CNNACC_IMC_BAD_CLOCKS, c->arg[1] < 1 || c->arg[1] > CNNACC_IMC_CLOCKS_MAX,
	};

	return check_rules(imc, &rule, 1);
}

bool imc_check(struct golden_imc *imc, const struct cnnacc_seq_command *command)
{
	if (!check_illegal(imc, command) || !check_flags(imc, command) ||
	    !check_state(imc, command))
		return false;
	switch (op_of(command)) {
	case CNNACC_IMC_SETUP:
		return check_setup(imc, command);
	case CNNACC_IMC_CONV:
		return check_conv(imc, command);
	case CNNACC_IMC_STEP:
		return check_step(imc, command);
	default:
		return true;
	}
}
