// SPDX-License-Identifier: MIT
#include "sample.h"

#include <stdlib.h>

static uint32_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & (uint32_t)((1ull << (high - low + 1)) - 1);
}

static bool bad(struct golden_sample *sample, uint16_t code, uint32_t detail)
{
	return golden_seq_fail(&sample->seq, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Rounds towards minus infinity. */
static int64_t shift_right(int64_t value, unsigned int shift)
{
	int64_t unit = (int64_t)1 << shift, rest = value % unit;

	return value / unit - (rest < 0);
}

static int8_t sat(struct golden_sample *sample, int64_t value)
{
	if (value >= -128 && value <= 127)
		return value;
	sample->coverage.saturated[value > 0]++;
	return value > 0 ? 127 : -128;
}

/* ADD of one element; @c: the command. */
static int8_t sum(struct golden_sample *sample, const struct cnnacc_seq_command *c, int8_t a,
		  int8_t b)
{
	int32_t factor_a = c->arg[1], factor_b = c->arg[2], bias = c->arg[3];
	int8_t zero_point = bits(c->arg[4], 7, 0);
	int64_t value = (int64_t)a * factor_a + (int64_t)b * factor_b + bias;

	return sat(sample, shift_right(value, bits(c->arg[4], 12, 8)) + zero_point);
}

static enum cnnacc_sample_illegal illegal(const struct cnnacc_seq_command *c)
{
	if (bits(c->arg[0], 7, 0) != 1 || bits(c->arg[0], 31, 16))
		return CNNACC_SAMPLE_BAD_OPERATION;
	if (bits(c->arg[0], 15, 8) > 1)
		return CNNACC_SAMPLE_BAD_BANK;
	return 0;
}

static enum cnnacc_sample_cfg bad_cfg(const struct golden_sample *sample,
				      const struct cnnacc_seq_command *c)
{
	if (bits(c->arg[4], 31, 13))
		return CNNACC_SAMPLE_BAD_RESULT;
	if (c->arg[5] == 0 || c->arg[5] > sample->params.bank / 2)
		return CNNACC_SAMPLE_BAD_COUNT;
	return 0;
}

static void add(struct golden_sample *sample, const struct cnnacc_seq_command *c)
{
	uint8_t *a = sample->bank[sample->last_bank], *b = a + sample->params.bank / 2;
	uint64_t count = c->arg[5], cycles = 4 + ceil_div(count, 16);
	struct cnnacc_stats *stats = sample->seq.stats;

	for (uint64_t i = 0; i < count; i++)
		a[i] = sum(sample, c, a[i], b[i]);
	golden_seq_spend(&sample->seq, 1);
	sample->seq.d = sample->seq.t + cycles;
	stats->cycles_serial += cycles;
	stats->compute_cycles += cycles;
	stats->mac_slots += 32 * ceil_div(count, 16);
	stats->mac_useful += 2 * count;
	stats->local_read_bytes += 2 * count;
	stats->local_write_bytes += count;
}

static bool sample_exec(void *priv, const struct cnnacc_seq_command *c)
{
	struct golden_sample *sample = priv;
	enum cnnacc_sample_illegal detail = illegal(c);
	enum cnnacc_sample_cfg cfg = bad_cfg(sample, c);

	if (c->op & (CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS))
		return bad(sample, CNNACC_SEQ_E_COMMAND, 0);
	if (detail) {
		sample->coverage.illegal[detail]++;
		return bad(sample, CNNACC_SAMPLE_E_ILLEGAL, detail);
	}
	if (sample->running) {
		sample->coverage.busy[sample->last_bank]++;
		return bad(sample, CNNACC_SAMPLE_E_BUSY, sample->last_bank);
	}
	if (cfg) {
		sample->coverage.cfg[cfg]++;
		return golden_seq_fail(&sample->seq, CNNACC_STATUS_CONFIG, CNNACC_SAMPLE_E_CFG,
				       cfg);
	}
	sample->running = true;
	sample->last_bank = bits(c->arg[0], 15, 8);
	sample->elements = c->arg[5];
	sample->coverage.added[sample->last_bank]++;
	sample->coverage.whole += sample->elements == sample->params.bank / 2;
	add(sample, c);
	return true;
}

static bool sample_busy(void *priv)
{
	const struct golden_sample *sample = priv;

	return sample->running;
}

static bool sample_uses(void *priv, unsigned int memory, uint64_t first, uint64_t length)
{
	const struct golden_sample *sample = priv;

	(void)first;
	(void)length;
	return sample->running && sample->last_bank == memory;
}

static enum golden_seq_wait sample_wait(void *priv, uint32_t conditions)
{
	const struct golden_sample *sample = priv;

	(void)conditions;
	return sample->running ? GOLDEN_SEQ_COMES : GOLDEN_SEQ_HOLDS;
}

static void sample_waited(void *priv)
{
	struct golden_sample *sample = priv;

	sample->running = false;
}

static void sample_reset(void *priv)
{
	struct golden_sample *sample = priv;

	sample->running = false;
	sample->last_bank = 0;
	sample->elements = 0;
}

/* There are no registers beside those that a job resets. */
static void sample_clear(void *priv)
{
	(void)priv;
}

bool golden_sample_params_of(const struct cnnacc_core_entry *entry,
			     struct golden_sample_params *params)
{
	*params = (struct golden_sample_params){
		.bank = entry->param[CNNACC_SAMPLE_PARAM_BANK], .program = entry->program_max,
	};
	return entry->type == CNNACC_SAMPLE_TYPE &&
	       entry->param[CNNACC_SAMPLE_PARAM_LANES] == CNNACC_SAMPLE_LANES;
}

struct golden_sample *golden_sample_create(const struct golden_sample_params *params)
{
	struct golden_sample *sample = calloc(1, sizeof(*sample));

	if (!sample)
		return NULL;
	sample->params = *params;
	sample->bank[0] = calloc(1, params->bank);
	sample->bank[1] = calloc(1, params->bank);
	sample->seq.core = (struct golden_seq_core){
		.priv = sample, .memories = CNNACC_SAMPLE_BANKS,
		.memory = { { sample->bank[0], params->bank }, { sample->bank[1], params->bank } },
		.insn_words = 4, .conditions = CNNACC_SAMPLE_WAIT_IDLE,
		.reset = sample_reset, .clear = sample_clear, .uses = sample_uses,
		.busy = sample_busy, .exec = sample_exec, .wait = sample_wait, .waited = sample_waited,
	};
	if (golden_seq_init(&sample->seq, params->program) && sample->bank[0] && sample->bank[1])
		return sample;
	golden_sample_destroy(sample);
	return NULL;
}

void golden_sample_destroy(struct golden_sample *sample)
{
	if (!sample)
		return;
	golden_seq_free(&sample->seq);
	free(sample->bank[0]);
	free(sample->bank[1]);
	free(sample);
}

void golden_sample_core(struct golden_sample *sample, struct golden_core *core)
{
	golden_seq_shell(&sample->seq, core);
}
