// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Core hwpe as the shell sees it: build, state, register window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwpe.h"

#define WORD(offset)	((offset) / 4)
#define WINDOW_WORDS	WORD(CNNACC_HWPE_REG_ACC(0, HWPE_ACCS))
#define STICKY		(CNNACC_HWPE_STATUS_BAD_TER2 | CNNACC_HWPE_STATUS_ALIGN)

_Static_assert(offsetof(struct hwpe_state, seq) == 0, "the sequencer's state comes first");
_Static_assert(sizeof(struct hwpe_state) % 8 == 0, "no hidden padding in the saved state");
_Static_assert(offsetof(struct hwpe_state, acc) ==
	       sizeof(struct seq_state) + 22 * 4 + 2 * HWPE_ACCS, "nor inside it");
_Static_assert(WINDOW_WORDS <= 256, "CM_WINDOW_WORDS");

static const struct core_param params[] = {
	{ "fmap", offsetof(struct cm_core_config, fmap),
	  4096, CNNACC_HWPE_SRAM2, CNNACC_LINE_SIZE, CNNACC_HWPE_FMAP_DEFAULT },
	{ "kernel", offsetof(struct cm_core_config, kernel),
	  4096, 16u << 20, CNNACC_HWPE_ROUND_BYTES, CNNACC_HWPE_KERNEL_DEFAULT },
	{ "program", offsetof(struct cm_core_config, program),
	  256, 1u << 20, CNNACC_LINE_SIZE, CNNACC_HWPE_PROGRAM_DEFAULT },
};

static void describe(const struct cm_core_config *config, struct cnnacc_core_entry *entry)
{
	entry->program_max = config->program;
	entry->param[CNNACC_HWPE_PARAM_FMAP] = config->fmap;
	entry->param[CNNACC_HWPE_PARAM_KERNEL] = config->kernel;
	entry->param[CNNACC_HWPE_PARAM_GEOMETRY] =
		HWPE_PES | HWPE_ACCS << 8 | CNNACC_HWPE_OPERAND_BYTES * 8 << 16;
	entry->param[CNNACC_HWPE_PARAM_LIMITS] =
		CNNACC_HWPE_KERNEL_MAX | CNNACC_HWPE_SHIFT_MAX << 8;
}

/* Places the memories behind the head of the state; counts only if it is NULL. */
static void place(struct hwpe *h)
{
	size_t pos = core_align(sizeof(struct hwpe_state));
	uint8_t *base = (uint8_t *)h->s;

	for (unsigned int i = 0; i < CNNACC_HWPE_MEMORIES; i++) {
		h->seq.memory[i].bytes = base ? base + pos : NULL;
		pos += h->seq.memory[i].size;
	}
	h->seq.program = base ? (struct cnnacc_seq_command *)(base + pos) : NULL;
	h->size = pos + h->seq.commands * sizeof(*h->seq.program);
}

static void destroy(void *core)
{
	struct hwpe *h = core;

	free(h->seq.live);
	free(h->seat);
	free(h->s);
	free(h);
}

static void *create(const struct cm_core_config *config, const struct core_means *means)
{
	struct hwpe *h = core_alloc(sizeof(*h));

	if (!h)
		return NULL;
	h->means = *means;
	h->simd = hwpe_simd(means->simd);
	h->seq.ops = &hwpe_seq_ops;
	seq_init(&h->seq);
	h->seq.memories = CNNACC_HWPE_MEMORIES;
	h->seq.memory[CNNACC_HWPE_FMAP0].size = config->fmap;
	h->seq.memory[CNNACC_HWPE_FMAP1].size = config->fmap;
	h->seq.memory[CNNACC_HWPE_KERNEL].size = config->kernel;
	h->seq.commands = config->program / sizeof(struct cnnacc_seq_command);
	place(h);
	h->s = core_alloc(h->size);
	h->seq.live = core_alloc(config->program);
	/* Memory that no thread uses is none of the host's. */
	h->seat = aligned_alloc(CORE_ALIGN, means->threads * sizeof(*h->seat));
	if (!h->s || !h->seq.live || !h->seat) {
		destroy(h);
		return NULL;
	}
	h->seq.s = &h->s->seq;
	place(h);
	hwpe_forget_right(h);
	return h;
}

static void *state(void *core, size_t *size)
{
	struct hwpe *h = core;

	*size = h->size;
	return h->s;
}

static uint64_t scrub_cycles(const void *core)
{
	return seq_scrub_cycles(core);
}

static void forget(void *core)
{
	struct hwpe *h = core;

	seq_forget(&h->seq);
	hwpe_forget_right(h);
	h->span.valid = false;
	hwpe_forget_ahead(h);
}

static void zeroed(void *core)
{
	struct hwpe *h = core;

	forget(h);
	h->seq.filled = false;
}

static bool zero_little(void *core)
{
	struct hwpe *h = core;

	if (h->seq.filled)
		return false;
	memset(h->s, 0, sizeof(*h->s));
	memset(h->seq.program, 0, h->seq.commands * sizeof(*h->seq.program));
	zeroed(h);
	return true;
}

/* The memories and the AccRegs keep what they hold; everything else starts from zero. */
static void start(void *core, const struct core_job *job)
{
	struct hwpe *h = core;

	memset(h->s, 0, offsetof(struct hwpe_state, acc));
	h->span.valid = false;
	hwpe_forget_ahead(h);
	seq_start(&h->seq, job);
}

static enum core_step step(void *core, struct cm_port *port, uint32_t budget_ns,
			   struct core_fault *fault)
{
	return seq_step(core, port, budget_ns, fault);
}

static void stats(const void *core, struct cnnacc_stats *stats)
{
	seq_stats(core, stats);
}

static uint32_t stop(void *core)
{
	struct hwpe *h = core;

	h->s->pending = 0;
	return seq_stop(&h->seq);
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

	seq_publish(&h->seq, CNNACC_HWPE_ID, window);
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
	if (!seq_check(&h->seq, &field, &value))
		return refuse(err, field, value);
	if (s->state > CNNACC_HWPE_SUSPENDED)
		return refuse(err, "state", s->state);
	if (s->sticky & ~STICKY || s->events > 1)
		return refuse(err, "STATUS", s->sticky);
	if ((s->cfg[0] || s->cfg[1]) && hwpe_bad_config(s->cfg[0], s->cfg[1]))
		return refuse(err, "configuration", s->cfg[1]);
	if (s->state != CNNACC_HWPE_IDLE && !hwpe_window_possible(h))
		return refuse(err, "window", s->window.ch);
	if (s->pending && (s->state != CNNACC_HWPE_RUNNING || s->seq.phase != SEQ_PHASE_WORK))
		return refuse(err, "products", s->pending);
	return 0;
}

const struct core_ops cm_hwpe_ops = {
	.type = CNNACC_CORE_HWPE,
	.name = "hwpe",
	.version = 0x00010000,
	.window_size = CNNACC_HWPE_WINDOW_SIZE,
	.window_words = WINDOW_WORDS,
	.params = params,
	.param_count = sizeof(params) / sizeof(params[0]),
	.describe = describe,
	.create = create,
	.destroy = destroy,
	.state = state,
	.scrub_cycles = scrub_cycles,
	.forget = forget,
	.zeroed = zeroed,
	.zero_little = zero_little,
	.check = check,
	.start = start,
	.step = step,
	.stats = stats,
	.stop = stop,
	.publish = publish,
};
