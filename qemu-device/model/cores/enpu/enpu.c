// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core enpu's interface to the shell: build parameters, state, register window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enpu.h"
#include "enpu_mutant.h"

#define WORD(offset)	((offset) / 4)
#define WINDOW_WORDS	(WORD(CNNACC_ENPU_REG_PSUM_WRITES) + 2)

_Static_assert(offsetof(struct enpu_state, seq) == 0, "the sequencer's state comes first");
_Static_assert(sizeof(struct enpu_state) ==
	       sizeof(struct cm_seq_state) + 12 * 4 + ENPU_COUNTERS * 8,
	       "no hidden padding in the saved state");
_Static_assert(WINDOW_WORDS <= 256, "CM_WINDOW_WORDS");

enum { ITCM, WORK, SKIP, WEIGHT, PSUM_BITS, PREFETCH, PROGRAM };

#define DTCM(name) \
	{ name, CNNACC_ENPU_DTCM_MIN, CNNACC_ENPU_DTCM_MAX, 64, CNNACC_ENPU_DTCM_DEFAULT }

static const struct cm_param params[] = {
	[ITCM] = { "itcm", CNNACC_ENPU_ITCM_MIN, CNNACC_ENPU_ITCM_MAX, 64,
		   CNNACC_ENPU_ITCM_DEFAULT },
	[WORK] = DTCM("dtcm"),
	[SKIP] = DTCM("skip"),
	[WEIGHT] = DTCM("weight"),
	[PSUM_BITS] = { "psum-bits", CNNACC_ENPU_PSUM_BITS_SMALL, CNNACC_ENPU_PSUM_BITS_LARGE,
			CNNACC_ENPU_PSUM_BITS_LARGE - CNNACC_ENPU_PSUM_BITS_SMALL,
			CNNACC_ENPU_PSUM_BITS_DEFAULT },
	[PREFETCH] = CM_SWITCH("prefetch", CM_ON),
	[PROGRAM] = { "program", 256, 1u << 20, 256, CNNACC_ENPU_PROGRAM_DEFAULT },
};

static void describe(const uint32_t *param, struct cnnacc_core_entry *entry)
{
	entry->program_max = param[PROGRAM];
	entry->param[CNNACC_ENPU_PARAM_ITCM] = param[ITCM];
	entry->param[CNNACC_ENPU_PARAM_WORK] = param[WORK];
	entry->param[CNNACC_ENPU_PARAM_SKIP] = param[SKIP];
	entry->param[CNNACC_ENPU_PARAM_WEIGHT] = param[WEIGHT];
	entry->param[CNNACC_ENPU_PARAM_PE] = CNNACC_ENPU_PES | param[PSUM_BITS] << 8 |
		(param[PREFETCH] == CM_ON ? 1u << 16 : 0);
	entry->param[CNNACC_ENPU_PARAM_LIMITS] = CNNACC_ENPU_IFMAP_PAD |
		CNNACC_ENPU_WEIGHT_PAD << 8 | CNNACC_ENPU_PSUMS << 16 |
		CNNACC_ENPU_SHIFT_MAX << 24;
}

static void destroy(void *core)
{
	struct enpu *h = core;

	cm_seq_free(&h->seq);
	free(h->layer.stage);
	free(h->range);
	free(h->steps);
	free(h->scratch);
	free(h);
}

static void set_sizes(struct enpu *h, const uint32_t *param)
{
	h->insns = param[ITCM] / CNNACC_ENPU_INSN_BYTES;
	h->seq.memories = CNNACC_ENPU_MEMORIES;
	h->seq.memory[CNNACC_ENPU_ITCM].size = param[ITCM];
	h->seq.memory[CNNACC_ENPU_TABLE].size = h->insns * CNNACC_ENPU_RECORD_BYTES;
	h->seq.memory[CNNACC_ENPU_WORK].size = param[WORK];
	h->seq.memory[CNNACC_ENPU_SKIP].size = param[SKIP];
	h->seq.memory[CNNACC_ENPU_WEIGHT].size = param[WEIGHT];
	h->seq.commands = param[PROGRAM] / sizeof(struct cnnacc_seq_command);
}

static void *create(const uint32_t *param, const struct cm_core_resources *resources)
{
	struct enpu *h = cm_core_alloc(sizeof(*h));

	if (!h)
		return NULL;
	h->seq.ops = &enpu_seq_ops;
	h->resources = *resources;
	h->simd = enpu_simd(resources->simd);
	h->psum_bits = param[PSUM_BITS];
	h->prefetch = param[PREFETCH] == CM_ON;
	set_sizes(h, param);
	/* At most as many maps B, and one more result, as there are stages. */
	h->layer.stage = calloc(h->insns + 1, sizeof(*h->layer.stage));
	h->range = calloc(2 * (size_t)h->insns + 2, sizeof(*h->range));
	/* A step has up to four channels, of which all but one may be missing. */
	h->steps = h->simd->step ? cm_core_alloc(4 * (size_t)param[WEIGHT]) : NULL;
	h->scratch = cm_core_alloc(resources->threads * sizeof(*h->scratch));
	if (!cm_seq_create(&h->seq, sizeof(struct enpu_state)) || !h->layer.stage || !h->range ||
	    !h->scratch || (h->simd->step && !h->steps)) {
		destroy(h);
		return NULL;
	}
	h->s = (struct enpu_state *)h->seq.s;
	return h;
}

static void drop_derived(void *core)
{
	struct enpu *h = core;

	cm_seq_drop_derived(core);
	h->layer_valid = false;
	h->check_ns = 0;
}

static void on_zeroed(void *core)
{
	drop_derived(core);
	cm_seq_on_zeroed(core);
}

/* The memories keep their contents; everything else is zeroed. */
static void start(void *core, const struct cm_core_job *job)
{
	struct enpu *h = core;

	memset(h->s, 0, sizeof(*h->s));
	h->layer_valid = false;
	h->check_ns = 0;
	cm_seq_start(&h->seq, job);
}

static uint32_t stop(void *core)
{
	struct enpu *h = core;

	h->s->pending = 0;
	h->s->layer = 0;
	h->s->oy = 0;
	h->s->ox = 0;
	return cm_seq_stop(core);
}

static void publish(const void *core, uint32_t *window)
{
	const struct enpu *h = core;
	const struct enpu_state *s = h->s;

	cm_seq_publish(&h->seq, CNNACC_ENPU_ID, window);
	window[WORD(CNNACC_ENPU_REG_STATUS)] = s->running ? CNNACC_ENPU_STATUS_RUNNING : 0;
	window[WORD(CNNACC_ENPU_REG_START)] = s->start;
	window[WORD(CNNACC_ENPU_REG_END)] = s->end;
	window[WORD(CNNACC_ENPU_REG_BANKS)] = s->banks;
	window[WORD(CNNACC_ENPU_REG_ERR_INSN)] = s->err_insn;
	window[WORD(CNNACC_ENPU_REG_ERR_VALUE)] = s->err_value;
	window[WORD(CNNACC_ENPU_REG_ERR_LIMIT)] = s->err_limit;
	memcpy(&window[WORD(CNNACC_ENPU_REG_LAYERS)], s->counter, sizeof(s->counter));
}

static int refuse(char *err, const char *field, uint64_t value)
{
	snprintf(err, CM_ERR_LEN, "enpu: saved %s is impossible (%llu)", field,
		 (unsigned long long)value);
	return -1;
}

static int check(void *core, char err[CM_ERR_LEN])
{
	struct enpu *h = core;
	const struct enpu_state *s = h->s;
	const char *field;
	uint64_t value;

	h->seq.filled = true;
	if (!cm_seq_check(&h->seq, &field, &value))
		return refuse(err, field, value);
	if (s->running > 1 || s->reserved)
		return refuse(err, "state", s->running);
	if (s->pending > 1 || (s->pending && (!s->running ||
					      s->seq.phase != CM_SEQ_PHASE_WORK)))
		return refuse(err, "work", s->pending);
	if (!s->pending && (s->layer || s->oy || s->ox))
		return refuse(err, "position", s->layer);
	if (s->start > s->end || s->end >= h->insns)
		return refuse(err, "program", s->start);
	if (s->running ? !enpu_position_possible(h) : s->banks != 0)
		return refuse(err, "position", s->layer);
	return 0;
}

const struct cm_core_ops cm_enpu_ops = {
	.type = CNNACC_CORE_ENPU,
	.name = "enpu",
	.version = 0x00010000,
	.window_size = CNNACC_ENPU_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.mutants = CM_MUTANT_NAMES(ENPU_MUTANTS),
	.describe = describe,
	.create = create,
	.destroy = destroy,
	.state = cm_seq_state,
	.scrub_cycles = cm_seq_scrub_cycles,
	.drop_derived = drop_derived,
	.on_zeroed = on_zeroed,
	.try_fast_zero = cm_seq_try_fast_zero,
	.check = check,
	.start = start,
	.step = cm_seq_step,
	.stats = cm_seq_stats,
	.stop = stop,
	.publish = publish,
};
