// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core imc's interface to the shell: build parameters, state, register window. */
#include <stdio.h>
#include <stdlib.h>

#include "imc.h"
#include "imc_mutant.h"

#define WINDOW_WORDS	((CNNACC_IMC_REG_PARTIAL_STORES + 8) / 4)

_Static_assert(offsetof(struct imc_state, seq) == 0, "the sequencer's state comes first");
_Static_assert(sizeof(struct imc_state) == offsetof(struct imc_state, fifo) +
	       CNNACC_IMC_N_MAX * CNNACC_IMC_CSUS_MAX * 4, "no hidden padding in the saved state");
_Static_assert(offsetof(struct imc_state, fifo) ==
	       sizeof(struct cm_seq_state) + sizeof(struct imc_counters) + 8 +
	       (IMC_SETUP_WORDS + IMC_CONV_WORDS + 9) * 4 + sizeof(struct imc_position) +
	       sizeof(struct imc_last), "nor inside it");
_Static_assert(WINDOW_WORDS <= 256, "CM_WINDOW_WORDS");

enum { CIN_MAX, CSUS, N_MAX, FULL, FP32, INPUT, WEIGHT, UNIT, PORT, PROGRAM };

#define BANK(name, def)	{ name, CNNACC_IMC_BANK_MIN, CNNACC_IMC_BANK_MAX, CNNACC_LINE_SIZE, def }

static const struct cm_param params[] = {
	[CIN_MAX] = { "cin-max", 1, CNNACC_IMC_CIN_MAX_MAX, 1, CNNACC_IMC_CIN_MAX_DEFAULT },
	[CSUS] = { "csus", 1, CNNACC_IMC_CSUS_MAX, 1, CNNACC_IMC_CSUS_DEFAULT },
	[N_MAX] = { "n-max", 1, CNNACC_IMC_N_MAX, 1, CNNACC_IMC_N_DEFAULT },
	[FULL] = CM_SWITCH("full-reuse", CM_ON),
	[FP32] = CM_SWITCH("fp32", CM_ON),
	[INPUT] = BANK("input", CNNACC_IMC_INPUT_DEFAULT),
	[WEIGHT] = BANK("weight", CNNACC_IMC_WEIGHT_DEFAULT),
	[UNIT] = BANK("unit", CNNACC_IMC_UNIT_DEFAULT),
	[PORT] = { .name = "port", .min = 1, .max = CNNACC_IMC_PORT_MAX, .multiple = 1,
		   .def = CNNACC_IMC_PORT_DEFAULT, .power_of_two = true },
	[PROGRAM] = { "program", 256, 1u << 20, 256, CNNACC_IMC_PROGRAM_DEFAULT },
};

static void describe(const uint32_t *param, struct cnnacc_core_entry *entry)
{
	entry->program_max = param[PROGRAM];
	entry->param[CNNACC_IMC_PARAM_ARRAY] =
		param[CIN_MAX] | param[CSUS] << 8 | param[N_MAX] << 16 |
		(param[FULL] == CM_ON ? CNNACC_IMC_ARRAY_FULL : 0) |
		(param[FP32] == CM_ON ? CNNACC_IMC_ARRAY_FP32 : 0);
	entry->param[CNNACC_IMC_PARAM_INPUT] = param[INPUT];
	entry->param[CNNACC_IMC_PARAM_WEIGHT] = param[WEIGHT];
	entry->param[CNNACC_IMC_PARAM_UNIT] = param[UNIT];
	entry->param[CNNACC_IMC_PARAM_PORT] = param[PORT];
	entry->param[CNNACC_IMC_PARAM_LIMITS] =
		CNNACC_IMC_CHANNELS_MAX | CNNACC_IMC_CHANNELS_MAX << 16;
}

static void destroy(void *core)
{
	struct imc *h = core;

	cm_seq_free(&h->seq);
	free(h->weights);
	free(h);
}

static void configure(struct imc *h, const uint32_t *param)
{
	h->build = (struct imc_build){
		.cin_max = param[CIN_MAX], .csus = param[CSUS], .n_max = param[N_MAX],
		.port = param[PORT], .full = param[FULL] == CM_ON, .fp32 = param[FP32] == CM_ON,
	};
	h->seq.ops = &imc_seq_ops;
	h->seq.memories = CNNACC_IMC_MEMORIES;
	h->seq.memory[CNNACC_IMC_INPUT0].size = param[INPUT];
	h->seq.memory[CNNACC_IMC_INPUT1].size = param[INPUT];
	h->seq.memory[CNNACC_IMC_WEIGHT0].size = param[WEIGHT];
	h->seq.memory[CNNACC_IMC_WEIGHT1].size = param[WEIGHT];
	h->seq.memory[CNNACC_IMC_UNIT0].size = param[UNIT];
	h->seq.memory[CNNACC_IMC_UNIT1].size = param[UNIT];
	h->seq.commands = param[PROGRAM] / sizeof(struct cnnacc_seq_command);
}

static void *create(const uint32_t *param, const struct cm_core_resources *resources)
{
	struct imc *h = cm_core_alloc(sizeof(*h));

	if (!h)
		return NULL;
	h->resources = *resources;
	h->simd = imc_simd(resources->simd);
	h->bytes = resources->simd == CM_SIMD_AVX512 ? imc_vnni() : NULL;
	configure(h, param);
	/* Not zeroed, so that memory that no plane needs is not resident. */
	h->weights = aligned_alloc(CM_CORE_ALIGN, IMC_PACKED * sizeof(*h->weights));
	if (!cm_seq_create(&h->seq, sizeof(struct imc_state)) || !h->weights) {
		destroy(h);
		return NULL;
	}
	h->s = (struct imc_state *)h->seq.s;
	return h;
}

static void drop_derived(void *core)
{
	struct imc *h = core;

	cm_seq_drop_derived(core);
	h->packed = false;
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

/* Only the memories keep their contents. */
static void start(void *core, const struct cm_core_job *job)
{
	struct imc *h = core;

	memset(h->s, 0, sizeof(*h->s));
	h->packed = false;
	cm_seq_start(&h->seq, job);
}

/* A plane that was being computed is never finished. */
static uint32_t stop(void *core)
{
	struct imc *h = core;

	h->s->computing = 0;
	h->s->blocks = 0;
	h->s->clocks = 0;
	return cm_seq_stop(core);
}

static void publish(const void *core, uint32_t *window)
{
	const struct imc *h = core;

	cm_seq_publish(&h->seq, CNNACC_IMC_ID, window);
	imc_registers(h->s, window);
}

static int check(void *core, char err[CM_ERR_LEN])
{
	struct imc *h = core;
	const char *field;
	uint64_t value;

	h->seq.filled = true;
	if (cm_seq_check(&h->seq, &field, &value) && imc_state_possible(h, &field, &value))
		return 0;
	snprintf(err, CM_ERR_LEN, "imc: saved %s is impossible (%llu)", field,
		 (unsigned long long)value);
	return -1;
}

const struct cm_core_ops cm_imc_ops = {
	.type = CNNACC_CORE_IMC,
	.name = "imc",
	.version = 0x00010000,
	.window_size = CNNACC_IMC_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.mutants = CM_MUTANT_NAMES(IMC_MUTANTS),
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
