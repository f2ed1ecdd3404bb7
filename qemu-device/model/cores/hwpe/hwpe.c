// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core hwpe's interface to the shell: build parameters, state, register window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwpe.h"
#include "hwpe_mutant.h"

#define WORD(offset)	((offset) / 4)
#define WINDOW_WORDS	WORD(CNNACC_HWPE_REG_ACC(0, HWPE_ACCS))
#define STICKY		(CNNACC_HWPE_STATUS_BAD_TER2 | CNNACC_HWPE_STATUS_ALIGN)

_Static_assert(offsetof(struct hwpe_state, seq) == 0, "the sequencer's state comes first");
_Static_assert(sizeof(struct hwpe_state) % 8 == 0, "no hidden padding in the saved state");
_Static_assert(offsetof(struct hwpe_state, acc) ==
	       sizeof(struct cm_seq_state) + 22 * 4 + 2 * HWPE_ACCS, "nor inside it");
_Static_assert(WINDOW_WORDS <= 256, "CM_WINDOW_WORDS");

enum { FMAP, KERNEL, PROGRAM };

static const struct cm_param params[] = {
	[FMAP] = { "fmap", 4096, CNNACC_HWPE_SRAM2, CNNACC_LINE_SIZE, CNNACC_HWPE_FMAP_DEFAULT },
	[KERNEL] = { "kernel", 4096, 16u << 20, CNNACC_HWPE_ROUND_BYTES,
		     CNNACC_HWPE_KERNEL_DEFAULT },
	[PROGRAM] = { "program", 256, 1u << 20, CNNACC_LINE_SIZE, CNNACC_HWPE_PROGRAM_DEFAULT },
};

static void describe(const uint32_t *param, struct cnnacc_core_entry *entry)
{
	entry->program_max = param[PROGRAM];
	entry->param[CNNACC_HWPE_PARAM_FMAP] = param[FMAP];
	entry->param[CNNACC_HWPE_PARAM_KERNEL] = param[KERNEL];
	entry->param[CNNACC_HWPE_PARAM_GEOMETRY] =
		HWPE_PES | HWPE_ACCS << 8 | CNNACC_HWPE_OPERAND_BYTES * 8 << 16;
	entry->param[CNNACC_HWPE_PARAM_LIMITS] =
		CNNACC_HWPE_KERNEL_MAX | CNNACC_HWPE_SHIFT_MAX << 8;
}

static void destroy(void *core)
{
	struct hwpe *h = core;

	cm_seq_free(&h->seq);
	free(h->thread);
	free(h);
}

static void *create(const uint32_t *param, const struct cm_core_resources *resources)
{
	struct hwpe *h = cm_core_alloc(sizeof(*h));

	if (!h)
		return NULL;
	h->resources = *resources;
	h->simd = hwpe_simd(resources->simd);
	h->seq.ops = &hwpe_seq_ops;
	h->seq.memories = CNNACC_HWPE_MEMORIES;
	h->seq.memory[CNNACC_HWPE_FMAP0].size = param[FMAP];
	h->seq.memory[CNNACC_HWPE_FMAP1].size = param[FMAP];
	h->seq.memory[CNNACC_HWPE_KERNEL].size = param[KERNEL];
	h->seq.commands = param[PROGRAM] / sizeof(struct cnnacc_seq_command);
	/* Not zeroed, so that untouched memory of unused threads costs no resident memory. */
	h->thread = aligned_alloc(CM_CORE_ALIGN, resources->threads * sizeof(*h->thread));
	if (!cm_seq_create(&h->seq, sizeof(struct hwpe_state)) || !h->thread) {
		destroy(h);
		return NULL;
	}
	h->s = (struct hwpe_state *)h->seq.s;
	hwpe_drop_right(h);
	return h;
}

static void drop_derived(void *core)
{
	struct hwpe *h = core;

	cm_seq_drop_derived(core);
	hwpe_drop_right(h);
	h->span.valid = false;
	hwpe_drop_lookahead(h);
}

static void on_zeroed(void *core)
{
	drop_derived(core);
	cm_seq_on_zeroed(core);
}

static bool try_fast_zero(void *core)
{
	if (!cm_seq_try_fast_zero(core))
		return false;
	drop_derived(core);
	return true;
}

/* The memories and the AccRegs keep their contents; everything else is zeroed. */
static void start(void *core, const struct cm_core_job *job)
{
	struct hwpe *h = core;

	memset(h->s, 0, offsetof(struct hwpe_state, acc));
	h->span.valid = false;
	hwpe_drop_lookahead(h);
	cm_seq_start(&h->seq, job);
}

static uint32_t stop(void *core)
{
	struct hwpe *h = core;

	h->s->pending = 0;
	return cm_seq_stop(core);
}

static uint32_t status_register(const struct hwpe_state *s)
{
	bool last = s->state != CNNACC_HWPE_IDLE && hwpe_last(s);

	return s->state | (last ? CNNACC_HWPE_STATUS_LAST : 0) | s->sticky;
}

static void publish(const void *core, uint32_t *window)
{
	const struct hwpe *h = core;
	const struct hwpe_state *s = h->s;

	cm_seq_publish(&h->seq, CNNACC_HWPE_ID, window);
	window[WORD(CNNACC_HWPE_REG_STATUS)] = status_register(s);
	window[WORD(CNNACC_HWPE_REG_ROUND)] = s->round;
	window[WORD(CNNACC_HWPE_REG_ROUNDS)] = s->rounds;
	memcpy(&window[WORD(CNNACC_HWPE_REG_CFG(0))], s->cfg, sizeof(s->cfg));
	memcpy(&window[WORD(CNNACC_HWPE_REG_MAC(0))], s->mac, sizeof(s->mac));
	memcpy(&window[WORD(CNNACC_HWPE_REG_BASE(0))], s->base, sizeof(s->base));
	memcpy(&window[WORD(CNNACC_HWPE_REG_ACC(0, 0))], s->acc, sizeof(s->acc));
}

static int refuse(char *err, const char *field, uint64_t value)
{
	snprintf(err, CM_ERR_LEN, "hwpe: saved %s is impossible (%llu)", field,
		 (unsigned long long)value);
	return -1;
}

static int check(void *core, char err[CM_ERR_LEN])
{
	struct hwpe *h = core;
	const struct hwpe_state *s = h->s;
	const char *field;
	uint64_t value;

	h->seq.filled = true;
	if (!cm_seq_check(&h->seq, &field, &value))
		return refuse(err, field, value);
	if (s->state > CNNACC_HWPE_SUSPENDED)
		return refuse(err, "state", s->state);
	if (s->sticky & ~STICKY || s->events > 1)
		return refuse(err, "STATUS", s->sticky);
	if ((s->cfg[0] || s->cfg[1]) && hwpe_bad_config(s->cfg[0], s->cfg[1]))
		return refuse(err, "configuration", s->cfg[1]);
	if (s->state != CNNACC_HWPE_IDLE && !hwpe_window_possible(h))
		return refuse(err, "window", s->window.ch);
	if (s->pending && (s->state != CNNACC_HWPE_RUNNING || s->seq.phase != CM_SEQ_PHASE_WORK))
		return refuse(err, "products", s->pending);
	return 0;
}

const struct cm_core_ops cm_hwpe_ops = {
	.type = CNNACC_CORE_HWPE,
	.name = "hwpe",
	.version = 0x00010000,
	.window_size = CNNACC_HWPE_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.mutants = CM_MUTANT_NAMES(HWPE_MUTANTS),
	.describe = describe,
	.create = create,
	.destroy = destroy,
	.state = cm_seq_state,
	.scrub_cycles = cm_seq_scrub_cycles,
	.drop_derived = drop_derived,
	.on_zeroed = on_zeroed,
	.try_fast_zero = try_fast_zero,
	.check = check,
	.start = start,
	.step = cm_seq_step,
	.stats = cm_seq_stats,
	.stop = stop,
	.publish = publish,
};
