// SPDX-License-Identifier: MIT
#include "imc.h"

#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Words of the discovery table: the only limits that this model implements. */
#define LIMITS	(CNNACC_IMC_CHANNELS_MAX | (uint32_t)CNNACC_IMC_CHANNELS_MAX << 16)

static int64_t at_most(int64_t value, int64_t most)
{
	return value < most ? value : most;
}

/* -------------------------------------------------------------------- READ */

static uint32_t read_array(const uint32_t *words, uint32_t offset, uint32_t first)
{
	return words[(offset - first) / 4];
}

static uint32_t read_last(const struct golden_imc_last *last, uint32_t offset)
{
	const uint32_t words[] = {
		last->sig, last->group, last->pass, last->row, last->csu, last->kernel_row,
		last->element, last->weight, last->p, last->head, last->out,
	};

	return read_array(words, offset, CNNACC_IMC_REG_SIG);
}

/* The word of the window at @offset, 0 without a register. */
static uint32_t read_register(const struct golden_imc_regs *r, uint32_t offset)
{
	if (offset == CNNACC_IMC_REG_STATUS)
		return r->status;
	if (offset == CNNACC_IMC_REG_FIFO_PEAK)
		return r->fifo_peak;
	if (offset >= CNNACC_IMC_REG_SETUP(0) && offset < CNNACC_IMC_REG_SETUP(6))
		return read_array(r->setup, offset, CNNACC_IMC_REG_SETUP(0));
	if (offset >= CNNACC_IMC_REG_CONV(0) && offset < CNNACC_IMC_REG_CONV(4))
		return read_array(r->conv, offset, CNNACC_IMC_REG_CONV(0));
	if (offset >= CNNACC_IMC_REG_SIG && offset <= CNNACC_IMC_REG_OUT)
		return read_last(&r->last, offset);
	if (offset >= CNNACC_IMC_REG_FIFO(0) && offset < CNNACC_IMC_REG_FIFO(CNNACC_IMC_N_MAX))
		return read_array(r->last.fifo, offset, CNNACC_IMC_REG_FIFO(0));
	if (offset >= CNNACC_IMC_REG_CLOCKS && offset < CNNACC_IMC_REG_CLOCKS + 8 * IMC_COUNTS)
		return r->count[(offset - CNNACC_IMC_REG_CLOCKS) / 8] >> offset % 8 * 8;
	return 0;
}

static bool do_read(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	uint32_t word = htole32(read_register(&imc->regs, c->arg[1]));

	if (!golden_seq_store(&imc->seq, c->arg[6], &word, sizeof(word)))
		return false;
	imc->coverage.read[c->arg[1] / 4]++;
	imc->seq.stats->mem_write_bytes += sizeof(word);
	golden_seq_spend(&imc->seq, 2);
	return true;
}

/* ------------------------------------------------------------ SETUP, CONV */

static bool do_setup(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	memcpy(imc->regs.setup, c->arg, sizeof(imc->regs.setup));
	imc->configured = true;
	golden_seq_spend(&imc->seq, 1);
	return true;
}

static void cover_plane(struct golden_imc *imc)
{
	const struct imc_plane *p = &imc->plane;
	struct golden_imc_coverage *c = &imc->coverage;

	c->planes[p->format][p->full]++;
	c->kernel[p->n]++;
	c->extra[at_most(p->wo, 9)]++;
	c->passes[at_most(p->passes, 4) - 1]++;
	c->groups[at_most(p->groups, 4) - 1]++;
	c->accumulated += p->accumulate;
	c->short_pass += p->passes > 1 && p->cin % p->cin_max;
	c->short_group += p->groups > 1 && p->cout % p->group_channels;
	c->strided += p->in_column > p->cin;
	c->overlapping_input += p->in_column < p->cin;
	c->bank[p->in_bank]++;
	c->bank[p->wt_bank]++;
	c->bank[p->res_bank]++;
}

/* Count a plane as a whole, without its clocks. */
static void count_plane(struct golden_imc *imc, const struct imc_cost *cost)
{
	struct cnnacc_stats *stats = imc->seq.stats;

	for (unsigned int n = 0; n < IMC_COUNTS; n++)
		imc->regs.count[n] += cost->count[n];
	stats->compute_cycles += cost->count[IMC_CLOCKS];
	stats->stall_cycles += cost->count[IMC_STALLS];
	stats->mac_slots += cost->slots;
	stats->mac_useful += cost->useful;
	stats->local_read_bytes += cost->read;
	stats->local_write_bytes += cost->written;
	if (imc->regs.fifo_peak < cost->peak)
		imc->regs.fifo_peak = cost->peak;
}

/* The clocks themselves: they store, and count one by one. */
static uint64_t run_plane(struct golden_imc *imc)
{
	while (!imc->control.done)
		imc_clock(imc, true);
	return imc->control.clock;
}

static void begin_plane(struct golden_imc *imc, const uint32_t conv[4])
{
	memcpy(imc->regs.conv, conv, sizeof(imc->regs.conv));
	imc->plane = imc_decode(&imc->params, imc->regs.setup, conv);
	imc_begin(imc);
}

static bool start_stepping(struct golden_imc *imc)
{
	imc->regs.status = CNNACC_IMC_STEPPING;
	golden_seq_spend(&imc->seq, 1 + 4 + imc_load_clocks(imc, &imc->plane, 0));
	imc->coverage.stepped++;
	return true;
}

static bool do_conv(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	struct golden_seq *seq = &imc->seq;
	struct imc_cost cost;
	uint64_t duration;

	begin_plane(imc, c->arg);
	if (c->arg[0] & CNNACC_IMC_CONV_STEP)
		return start_stepping(imc);
	golden_seq_spend(seq, 1);
	imc->regs.status = CNNACC_IMC_RUNNING;
	cost = imc_cost(imc, &imc->plane);
	duration = cost.duration;
	if (seq->t + duration > seq->job->cycle_limit) {
		count_plane(imc, &cost);
		imc->coverage.cut_off++;
	} else {
		duration = 4 + imc_load_clocks(imc, &imc->plane, 0) + run_plane(imc);
		cover_plane(imc);
		memset(&imc->regs.last, 0, sizeof(imc->regs.last));
	}
	seq->d = seq->t + duration;
	seq->stats->cycles_serial += duration;
	return true;
}

static bool do_step(struct golden_imc *imc, const struct cnnacc_seq_command *c)
{
	bool valid = c->arg[0] & CNNACC_IMC_STEP_VALID;
	uint32_t clocks = 0;

	while (clocks < c->arg[1] && !imc->control.done) {
		imc_clock(imc, valid);
		clocks++;
	}
	imc->coverage.steps_short += clocks < c->arg[1];
	if (imc->control.done) {
		imc->regs.status = CNNACC_IMC_IDLE;
		imc->coverage.stepped_out++;
	}
	golden_seq_spend(&imc->seq, 1 + clocks);
	return true;
}

/* ------------------------------------------------ callbacks of the sequencer */

static bool imc_exec(void *priv, const struct cnnacc_seq_command *command)
{
	struct golden_imc *imc = priv;

	if (!imc_check(imc, command))
		return false;
	switch (command->arg[0] & CNNACC_IMC_OP_MASK) {
	case CNNACC_IMC_SETUP:
		return do_setup(imc, command);
	case CNNACC_IMC_CONV:
		return do_conv(imc, command);
	case CNNACC_IMC_STEP:
		return do_step(imc, command);
	default:
		return do_read(imc, command);
	}
}

/* DRAIN is refused before it gets here: the core has no registers. */
static bool imc_drain(void *priv, const struct cnnacc_seq_command *command)
{
	struct golden_imc *imc = priv;

	(void)command;
	return golden_seq_fail(&imc->seq, CNNACC_STATUS_BAD_PROGRAM, CNNACC_SEQ_E_COMMAND, 0);
}

/* Asked when the job ends. */
static bool imc_busy(void *priv)
{
	struct golden_imc *imc = priv;

	imc->coverage.lost += imc->regs.status == CNNACC_IMC_STEPPING;
	return imc->regs.status == CNNACC_IMC_RUNNING;
}

static bool imc_uses(void *priv, unsigned int memory, uint64_t first, uint64_t length)
{
	struct golden_imc *imc = priv;
	const struct imc_plane *p = &imc->plane;

	(void)first;
	(void)length;
	if (imc->regs.status == CNNACC_IMC_IDLE)
		return false;
	if (memory == p->in_bank || memory == p->wt_bank || memory == p->res_bank)
		return true;
	imc->coverage.beside++;
	return false;
}

static enum golden_seq_wait imc_wait(void *priv, uint32_t conditions)
{
	const struct golden_imc *imc = priv;

	(void)conditions;
	if (imc->regs.status == CNNACC_IMC_STEPPING)
		return GOLDEN_SEQ_NEVER;
	return imc->regs.status == CNNACC_IMC_IDLE ? GOLDEN_SEQ_HOLDS : GOLDEN_SEQ_COMES;
}

static void imc_waited(void *priv)
{
	struct golden_imc *imc = priv;

	imc->regs.status = CNNACC_IMC_IDLE;
}

static void imc_reset(void *priv)
{
	struct golden_imc *imc = priv;

	imc->configured = false;
	memset(&imc->regs, 0, sizeof(imc->regs));
	memset(imc->csu, 0, sizeof(imc->csu));
}

/* Nothing but what imc_reset() does: all other state is in the local memories. */
static void imc_clear(void *priv)
{
	(void)priv;
}

/* -------------------------------------------------------------- interface */

bool golden_imc_params_of(const struct cnnacc_core_entry *entry, struct golden_imc_params *params)
{
	uint32_t array = entry->param[CNNACC_IMC_PARAM_ARRAY];

	*params = (struct golden_imc_params){
		.cin_max = array & 255, .csus = array >> 8 & 255, .n_max = array >> 16 & 15,
		.full_reuse = array & CNNACC_IMC_ARRAY_FULL, .fp32 = array & CNNACC_IMC_ARRAY_FP32,
		.input = entry->param[CNNACC_IMC_PARAM_INPUT],
		.weight = entry->param[CNNACC_IMC_PARAM_WEIGHT],
		.unit = entry->param[CNNACC_IMC_PARAM_UNIT],
		.port = entry->param[CNNACC_IMC_PARAM_PORT], .program = entry->program_max,
	};
	return entry->type == CNNACC_CORE_IMC && params->cin_max <= CNNACC_IMC_CIN_MAX_MAX &&
	       params->csus <= CNNACC_IMC_CSUS_MAX && params->n_max <= CNNACC_IMC_N_MAX &&
	       entry->param[CNNACC_IMC_PARAM_LIMITS] == LIMITS;
}

static bool create_memories(struct golden_imc *imc)
{
	const struct golden_imc_params *p = &imc->params;
	const uint32_t bytes[CNNACC_IMC_MEMORIES] = {
		p->input, p->input, p->weight, p->weight, p->unit, p->unit,
	};

	for (unsigned int n = 0; n < CNNACC_IMC_MEMORIES; n++) {
		imc->bytes[n] = bytes[n];
		imc->memory[n] = calloc(1, bytes[n]);
		if (!imc->memory[n])
			return false;
		imc->seq.core.memory[n] = (struct golden_seq_memory){ imc->memory[n], bytes[n] };
	}
	return true;
}

struct golden_imc *golden_imc_create(const struct golden_imc_params *params)
{
	struct golden_imc *imc = calloc(1, sizeof(*imc));

	if (!imc)
		return NULL;
	imc->params = *params;
	imc->seq.core = (struct golden_seq_core){
		.priv = imc, .memories = CNNACC_IMC_MEMORIES,
		.insn_words = 4, .registers = 0, .conditions = CNNACC_IMC_WAIT_IDLE,
		.reset = imc_reset, .clear = imc_clear, .uses = imc_uses, .busy = imc_busy,
		.exec = imc_exec, .drain = imc_drain, .wait = imc_wait, .waited = imc_waited,
	};
	if (create_memories(imc) && golden_seq_init(&imc->seq, params->program))
		return imc;
	golden_imc_destroy(imc);
	return NULL;
}

void golden_imc_destroy(struct golden_imc *imc)
{
	if (!imc)
		return;
	golden_seq_free(&imc->seq);
	for (unsigned int n = 0; n < CNNACC_IMC_MEMORIES; n++)
		free(imc->memory[n]);
	free(imc);
}

void golden_imc_core(struct golden_imc *imc, struct golden_core *core)
{
	golden_seq_shell(&imc->seq, core);
}

const struct golden_imc_regs *golden_imc_regs(const struct golden_imc *imc)
{
	return &imc->regs;
}

const struct golden_seq_regs *golden_imc_seq_regs(const struct golden_imc *imc)
{
	return &imc->seq.regs;
}

const struct golden_imc_coverage *golden_imc_coverage(const struct golden_imc *imc)
{
	return &imc->coverage;
}

const struct golden_seq_coverage *golden_imc_seq_coverage(const struct golden_imc *imc)
{
	return &imc->seq.coverage;
}

enum golden_imc_access golden_imc_failed(const struct golden_imc *imc)
{
	if (imc->seq.op == CNNACC_SEQ_EXEC)
		return IMC_READ_RESULT;
	return imc->seq.refused == CNNACC_ACCESS_WRITE ? IMC_COPY_OUT : IMC_COPY_IN;
}
