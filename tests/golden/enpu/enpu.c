// SPDX-License-Identifier: MIT
#include "enpu.h"

#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Words of the discovery table: the only limits that this model implements. */
#define LIMITS	(CNNACC_ENPU_IFMAP_PAD | CNNACC_ENPU_WEIGHT_PAD << 8 | CNNACC_ENPU_PSUMS << 16 | \
		 (uint32_t)CNNACC_ENPU_SHIFT_MAX << 24)

/* -------------------------------------------------------------- coverage */

static unsigned int at_most(unsigned int value, unsigned int most)
{
	return value < most ? value : most;
}

static void cover_layer(struct golden_enpu_coverage *c, const struct enpu_insn *i)
{
	c->whole[0] += i->ho == 256;
	c->whole[1] += i->wo == 256;
	c->whole[2] += i->co == 256;
	c->whole[3] += enpu_is_conv(i) && i->ci == 256;
	c->edge += i->ho % i->y || i->wo % i->x;
	c->dilated += enpu_is_window(i) && (i->dh || i->dw) && i->hk * i->wk > 1;
}

static void cover_reshape(struct golden_enpu_coverage *c, const struct enpu_insn *i)
{
	bool split = (i->reshape >> CNNACC_ENPU_FACTOR_SHIFT & 255) > 1;
	bool interleave = i->reshape & CNNACC_ENPU_INTERLEAVE;

	c->reshaped[enpu_lanes_change(i)][split ? 1 + interleave : 0]++;
}

static void cover_program(struct golden_enpu *enpu)
{
	struct golden_enpu_coverage *c = &enpu->coverage;
	unsigned int stages = 0;

	for (unsigned int n = 0; n < enpu->insns; n++) {
		const struct enpu_insn *i = &enpu->insn[n];

		(i->first ? c->first : c->later)[i->op]++;
		if (i->first)
			cover_layer(c, i);
		if (i->op == CNNACC_ENPU_RESHAPE)
			cover_reshape(c, i);
		c->results[!i->fused][i->stored][i->flags & CNNACC_ENPU_F_OUT_ONLY]++;
		stages++;
		if (i->fused)
			continue;
		c->stages[at_most(stages, 4)]++;
		stages = 0;
	}
	c->insns[at_most(enpu->insns, 12)]++;
	for (unsigned int bank = 0; bank < CNNACC_ENPU_BANKS * CNNACC_ENPU_MEMORIES; bank++)
		c->banks[bank] += enpu->regs.banks >> bank & 1;
}

/* ------------------------------------------------ callbacks of the sequencer */

static bool fails(struct golden_enpu *enpu, uint16_t code, uint32_t detail)
{
	return golden_seq_fail(&enpu->seq, CNNACC_STATUS_BAD_PROGRAM, code, detail);
}

static bool check_command(struct golden_enpu *enpu, const struct cnnacc_seq_command *command)
{
	if (command->op & (CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS))
		return fails(enpu, CNNACC_SEQ_E_COMMAND, 0);
	if (command->arg[5])
		return fails(enpu, CNNACC_SEQ_E_COMMAND, 6);
	if (command->arg[0] != CNNACC_ENPU_RUN) {
		enpu->coverage.illegal[CNNACC_ENPU_BAD_EXEC]++;
		return fails(enpu, CNNACC_ENPU_E_ILLEGAL, CNNACC_ENPU_BAD_EXEC);
	}
	if (enpu->running) {
		enpu->coverage.busy++;
		return fails(enpu, CNNACC_ENPU_E_BUSY, 0);
	}
	return true;
}

static bool enpu_exec(void *priv, const struct cnnacc_seq_command *command)
{
	struct golden_enpu *enpu = priv;
	uint32_t start = command->arg[4];

	if (!check_command(enpu, command) || !enpu_check(enpu, start))
		return false;
	golden_seq_spend(&enpu->seq, 1);
	enpu->running = true;
	enpu->regs.start = start;
	enpu->regs.end = start + enpu->insns;
	enpu->regs.banks = enpu_banks(enpu->bytes, start, enpu->insn, enpu->insns);
	enpu->seq.d = enpu->seq.t + enpu_count(enpu);
	if (enpu->seq.d > enpu->seq.job->cycle_limit) {
		enpu->coverage.cut_off++;
		return true;
	}
	cover_program(enpu);
	enpu_run(enpu);
	return true;
}

/* DRAIN is refused before it gets here: the core has no registers. */
static bool enpu_drain(void *priv, const struct cnnacc_seq_command *command)
{
	(void)command;
	return fails(priv, CNNACC_SEQ_E_COMMAND, 0);
}

static bool enpu_busy(void *priv)
{
	const struct golden_enpu *enpu = priv;

	return enpu->running;
}

static bool enpu_uses(void *priv, unsigned int memory, uint64_t first, uint64_t length)
{
	struct golden_enpu *enpu = priv;
	uint64_t half = enpu->bytes[memory] / 2;
	uint32_t banks = enpu->regs.banks >> (CNNACC_ENPU_BANKS * memory);

	if (!enpu->running || !length)
		return false;
	if ((banks & 1) && first < half)
		return true;
	if ((banks & 2) && first < 2 * half && first + length > half)
		return true;
	enpu->coverage.beside++;
	return false;
}

static enum golden_seq_wait enpu_wait(void *priv, uint32_t conditions)
{
	(void)conditions;
	return enpu_busy(priv) ? GOLDEN_SEQ_COMES : GOLDEN_SEQ_HOLDS;
}

static void enpu_waited(void *priv)
{
	struct golden_enpu *enpu = priv;

	enpu->running = false;
	enpu->regs.banks = 0;
}

static void enpu_reset(void *priv)
{
	struct golden_enpu *enpu = priv;

	enpu->running = false;
	memset(&enpu->regs, 0, sizeof(enpu->regs));
}

/* Nothing but what enpu_reset() does: all other state is in the local memories. */
static void enpu_clear(void *priv)
{
	(void)priv;
}

/* -------------------------------------------------------------- interface */

bool golden_enpu_params_of(const struct cnnacc_core_entry *entry,
			   struct golden_enpu_params *params)
{
	uint32_t pe = entry->param[CNNACC_ENPU_PARAM_PE];

	*params = (struct golden_enpu_params){
		.itcm = entry->param[CNNACC_ENPU_PARAM_ITCM],
		.work = entry->param[CNNACC_ENPU_PARAM_WORK],
		.skip = entry->param[CNNACC_ENPU_PARAM_SKIP],
		.weight = entry->param[CNNACC_ENPU_PARAM_WEIGHT],
		.psum_bits = pe >> 8 & 255, .prefetch = pe >> 16 & 1,
		.program = entry->program_max,
	};
	return entry->type == CNNACC_CORE_ENPU && (pe & 255) == CNNACC_ENPU_PES &&
	       params->itcm <= CNNACC_ENPU_ITCM_MAX &&
	       entry->param[CNNACC_ENPU_PARAM_LIMITS] == LIMITS;
}

static bool create_memories(struct golden_enpu *enpu)
{
	const struct golden_enpu_params *p = &enpu->params;
	const uint32_t bytes[CNNACC_ENPU_MEMORIES] = {
		[CNNACC_ENPU_ITCM] = p->itcm, [CNNACC_ENPU_TABLE] = 4 * p->itcm,
		[CNNACC_ENPU_WORK] = p->work, [CNNACC_ENPU_SKIP] = p->skip,
		[CNNACC_ENPU_WEIGHT] = p->weight,
	};

	for (unsigned int n = 0; n < CNNACC_ENPU_MEMORIES; n++) {
		enpu->bytes[n] = bytes[n];
		enpu->memory[n] = calloc(1, bytes[n]);
		if (!enpu->memory[n])
			return false;
		enpu->seq.core.memory[n] = (struct golden_seq_memory){ enpu->memory[n], bytes[n] };
	}
	return true;
}

struct golden_enpu *golden_enpu_create(const struct golden_enpu_params *params)
{
	struct golden_enpu *enpu = calloc(1, sizeof(*enpu));

	if (!enpu)
		return NULL;
	enpu->params = *params;
	enpu->seq.core = (struct golden_seq_core){
		.priv = enpu, .memories = CNNACC_ENPU_MEMORIES,
		.insn_words = 1, .registers = 0, .conditions = CNNACC_ENPU_WAIT_IDLE,
		.reset = enpu_reset, .clear = enpu_clear, .uses = enpu_uses, .busy = enpu_busy,
		.exec = enpu_exec, .drain = enpu_drain, .wait = enpu_wait, .waited = enpu_waited,
	};
	if (create_memories(enpu) && golden_seq_init(&enpu->seq, params->program))
		return enpu;
	golden_enpu_destroy(enpu);
	return NULL;
}

void golden_enpu_destroy(struct golden_enpu *enpu)
{
	if (!enpu)
		return;
	golden_seq_free(&enpu->seq);
	for (unsigned int n = 0; n < CNNACC_ENPU_MEMORIES; n++)
		free(enpu->memory[n]);
	free(enpu);
}

void golden_enpu_core(struct golden_enpu *enpu, struct golden_core *core)
{
	golden_seq_shell(&enpu->seq, core);
}

struct golden_enpu_regs golden_enpu_regs(const struct golden_enpu *enpu)
{
	struct golden_enpu_regs regs = enpu->regs;

	regs.status = enpu->running ? CNNACC_ENPU_STATUS_RUNNING : 0;
	return regs;
}

const struct golden_seq_regs *golden_enpu_seq_regs(const struct golden_enpu *enpu)
{
	return &enpu->seq.regs;
}

const struct golden_enpu_coverage *golden_enpu_coverage(const struct golden_enpu *enpu)
{
	return &enpu->coverage;
}

const struct golden_seq_coverage *golden_enpu_seq_coverage(const struct golden_enpu *enpu)
{
	return &enpu->seq.coverage;
}

bool golden_enpu_failed_out(const struct golden_enpu *enpu)
{
	return enpu->seq.refused == CNNACC_ACCESS_WRITE;
}
