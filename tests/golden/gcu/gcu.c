// SPDX-License-Identifier: MIT
/* A job: boot, blocks, its end; sections "Build", "Program" and "Counters". */
#include "gcu.h"

#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "../words.h"

#define LINE		CNNACC_LINE_SIZE
#define BLOCK		(4 * GOLDEN_GCU_BLOCK_WORDS)

/* The only limits that this model implements: points, stride, dilation, inner padding. */
#define LIMITS		(121u | 8u << 8 | 63u << 16 | 7u << 24)

static bool between(uint32_t value, uint32_t low, uint32_t high)
{
	return value >= low && value <= high;
}

/* 2^low..2^high */
static bool power(uint32_t value, unsigned int low, unsigned int high)
{
	for (unsigned int n = low; n <= high; n++)
		if (value == 1u << n)
			return true;
	return false;
}

bool golden_gcu_params_of(const struct cnnacc_core_entry *entry, struct golden_gcu_params *p)
{
	uint32_t param[CNNACC_CORE_PARAMS];

	for (unsigned int n = 0; n < CNNACC_CORE_PARAMS; n++)
		param[n] = le32toh(entry->param[n]);
	*p = (struct golden_gcu_params){
		.atomic_c = param[0] & 255, .atomic_k = param[0] >> 8,
		.cbuf_banks = param[1] & 0xffff, .fmbuf_rows = param[2],
		.rbuf_banks = param[3] & 0xffff, .rbuf_depth = param[3] >> 16,
		.bus = param[4], .program = le32toh(entry->program_max),
		.fp_floor = param[5] & 1,
	};
	return le32toh(entry->type) == CNNACC_CORE_GCU && param[1] >> 16 == 512 &&
	       param[5] <= 1 && param[6] == LIMITS && power(p->atomic_c, 2, 5) &&
	       power(p->atomic_k, 2, 5) && between(p->cbuf_banks, 4, 32) &&
	       between(p->fmbuf_rows, 8, 1024) && p->fmbuf_rows % 8 == 0 &&
	       between(p->rbuf_banks, 2, 8) && between(p->rbuf_depth, 16, 4096) &&
	       p->rbuf_depth % 16 == 0 && power(p->bus, 3, 6) &&
	       between(p->program, 256, 1 << 20) && p->program % 256 == 0;
}

/* ---------------------------------------------------------------- the job */

bool golden_gcu_fail(struct golden_gcu *gcu, uint16_t status_class, uint16_t code,
		     uint32_t detail)
{
	gcu->status->status_class = status_class;
	gcu->status->status_code = code;
	gcu->status->detail = detail;
	return false;
}

static void add_counters(void *sum, const void *one, size_t bytes)
{
	uint64_t a, b;

	for (size_t i = 0; i < bytes; i += sizeof(a)) {
		memcpy(&a, (uint8_t *)sum + i, sizeof(a));
		memcpy(&b, (const uint8_t *)one + i, sizeof(b));
		a += b;
		memcpy((uint8_t *)sum + i, &a, sizeof(a));
	}
}

static void count_block(struct golden_gcu *gcu)
{
	add_counters(&gcu->total, &gcu->block, sizeof(gcu->total));
}

bool golden_gcu_within_limit(struct golden_gcu *gcu, uint64_t cycles, enum golden_gcu_check check)
{
	if (cycles <= gcu->job->cycle_limit)
		return true;
	gcu->coverage.limit[check]++;
	gcu->time = cycles;
	count_block(gcu);
	return golden_gcu_fail(gcu, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 0);
}

static bool fetch(struct golden_gcu *gcu, uint64_t lines)
{
	struct golden_fault fault;

	for (uint64_t i = 0; i < lines; i++) {
		uint64_t va = gcu->job->program_va + i * LINE;

		if (gcu->memory->read(gcu->memory->opaque, va, CNNACC_ACCESS_EXEC,
				      gcu->program + i * LINE, &fault))
			continue;
		gcu->status->access = CNNACC_ACCESS_EXEC;
		gcu->status->fault_va = va;
		return golden_gcu_fail(gcu, fault.status_class, CNNACC_CODE_FETCH, fault.level);
	}
	return true;
}

static bool boot(struct golden_gcu *gcu)
{
	uint64_t lines = golden_gcu_ceil(gcu->job->program_len, LINE);

	memset(&gcu->block, 0, sizeof(gcu->block));
	if (!fetch(gcu, lines))
		return false;
	gcu->time = 16 + lines;
	gcu->total.stats.cycles_serial = 16 + lines;
	gcu->total.stats.dma_cycles = 16 + lines;
	gcu->total.stats.mem_read_bytes = LINE * lines;
	gcu->total.stats.local_write_bytes = LINE * lines;
	return golden_gcu_within_limit(gcu, gcu->time, GOLDEN_GCU_AT_BOOT);
}

static void cover_geometry(struct golden_gcu_coverage *c, const struct golden_gcu_layer *l)
{
	c->hstride[l->hstride]++;
	c->vstride[l->vstride]++;
	c->inner_lr[l->inner_lr]++;
	c->inner_tb[l->inner_tb]++;
	c->dilated[0] += l->dil_h > 0;
	c->dilated[1] += l->dil_v > 0;
	c->padded[0] += l->left > 0;
	c->padded[1] += l->right > 0;
	c->padded[2] += l->top > 0;
	c->padded[3] += l->bottom > 0;
	c->oblong += l->r != l->s;
}

static void cover_cut(struct golden_gcu_coverage *c, const struct golden_gcu_layer *l)
{
	int64_t ext_w = l->w + l->left + l->right + (l->w - 1) * l->inner_lr;
	int64_t ext_h = l->h + l->top + l->bottom + (l->h - 1) * l->inner_tb;
	int64_t kd_w = l->s + (l->s - 1) * l->dil_h, kd_h = l->r + (l->r - 1) * l->dil_v;

	c->cut[0] += l->ofmw < (ext_w - kd_w) / l->hstride + 1;
	c->cut[1] += l->ofmh < (ext_h - kd_h) / l->vstride + 1;
}

static void cover_groups(struct golden_gcu *gcu, const struct golden_gcu_layer *l)
{
	struct golden_gcu_coverage *c = &gcu->coverage;

	if (l->group_n == 1)
		c->groups[0]++;
	else
		c->groups[l->c / l->group_n > gcu->params.atomic_k ? 2 : 1]++;
	c->part_channels += l->c % gcu->params.atomic_c != 0;
	c->part_kernels += l->k % gcu->params.atomic_k != 0;
}

static void cover_layer(struct golden_gcu *gcu, const struct golden_gcu_layer *l)
{
	struct golden_gcu_coverage *c = &gcu->coverage;
	unsigned int size = 0;

	c->layers[l->format][l->table]++;
	for (unsigned int n = 0; n < GOLDEN_GCU_FLAGS; n++)
		c->flag[l->format][n] += l->flags >> n & 1;
	c->act[l->format][l->act]++;
	c->out[l->out]++;
	c->column_code[l->column_code]++;
	while ((2 * size + 1) * (2 * size + 1) != l->kbufgrpsz)
		size++;
	c->kernel_size[size]++;
	c->narrow += gcu->regs.status & CNNACC_GCU_STATUS_NARROW;
	cover_geometry(c, l);
	cover_cut(c, l);
	cover_groups(gcu, l);
}

static bool refuse_block(struct golden_gcu *gcu, uint32_t field)
{
	gcu->coverage.cfg[field]++;
	return golden_gcu_fail(gcu, CNNACC_STATUS_CONFIG, CNNACC_GCU_E_CFG, field);
}

/* Run a good block to its end, without the check of the cycle limit there. */
static bool run_kind(struct golden_gcu *gcu, const struct golden_gcu_block *block)
{
	switch (block->kind) {
	case CNNACC_GCU_LAYER:
		if (!golden_gcu_run_layer(gcu, &block->layer))
			return false;
		cover_layer(gcu, &block->layer);
		return true;
	case CNNACC_GCU_PROBE:
		return golden_gcu_run_probe(gcu, &block->probe);
	case CNNACC_GCU_FILL:
		return golden_gcu_run_fill(gcu, &block->probe);
	default:
		return golden_gcu_run_wait(gcu, block->cycles);
	}
}

/* Run block @index; false at the end of the job. */
static bool run_block(struct golden_gcu *gcu, uint32_t index)
{
	static const enum golden_gcu_check checks[] = {
		[CNNACC_GCU_LAYER] = GOLDEN_GCU_AT_END, [CNNACC_GCU_PROBE] = GOLDEN_GCU_AT_PROBE,
		[CNNACC_GCU_FILL] = GOLDEN_GCU_AT_FILL, [CNNACC_GCU_WAIT] = GOLDEN_GCU_AT_WAIT,
	};
	uint32_t words[GOLDEN_GCU_BLOCK_WORDS], bad;
	struct golden_gcu_block block;

	for (unsigned int n = 0; n < GOLDEN_GCU_BLOCK_WORDS; n++)
		words[n] = word_get(gcu->program + index * BLOCK, n);
	golden_gcu_decode(words, &block);
	bad = golden_gcu_check(&block, &gcu->params);
	if (bad)
		return refuse_block(gcu, bad);
	memset(&gcu->block, 0, sizeof(gcu->block));
	if (!run_kind(gcu, &block))
		return false;
	gcu->block.stats.instructions = 1;
	if (!golden_gcu_within_limit(gcu, gcu->time, checks[block.kind]))
		return false;
	count_block(gcu);
	return true;
}

static void run_blocks(struct golden_gcu *gcu)
{
	uint32_t length = gcu->job->program_len;

	if (length % BLOCK) {
		gcu->coverage.length++;
		golden_gcu_fail(gcu, CNNACC_STATUS_BAD_PROGRAM, CNNACC_GCU_E_LENGTH,
				length % BLOCK);
		return;
	}
	for (uint32_t index = 0; index < length / BLOCK; index++) {
		gcu->status->pc = index;
		if (!run_block(gcu, index))
			return;
	}
}

static void cover_end(struct golden_gcu *gcu)
{
	gcu->coverage.table_end += gcu->status->status_code == CNNACC_GCU_E_TABLE;
	if (gcu->status->status_code == CNNACC_GCU_E_DEADLOCK)
		gcu->coverage.deadlock[gcu->status->detail]++;
}

static void run(void *priv, const struct golden_job *job, const struct golden_memory *memory,
		struct golden_status *status, struct cnnacc_stats *stats)
{
	struct golden_gcu *gcu = priv;

	memset(status, 0, sizeof(*status));
	memset(&gcu->regs, 0, sizeof(gcu->regs));
	memset(&gcu->total, 0, sizeof(gcu->total));
	gcu->job = job;
	gcu->memory = memory;
	gcu->status = status;
	gcu->time = 0;
	gcu->has_layer = false;
	if (boot(gcu))
		run_blocks(gcu);
	gcu->regs.pc = status->pc;
	*stats = gcu->total.stats;
	stats->cycles = gcu->time;
	stats->jobs = 1;
	cover_end(gcu);
}

/* ---------------------------------------------------------------- the core */

static uint64_t cbuf_bytes(const struct golden_gcu_params *p)
{
	return 512ull * p->cbuf_banks * 2 * p->atomic_c;
}

static void clear(void *priv)
{
	struct golden_gcu *gcu = priv;

	memset(gcu->cbuf, 0, cbuf_bytes(&gcu->params));
	memset(gcu->program, 0, gcu->params.program);
	memset(&gcu->regs, 0, sizeof(gcu->regs));
	memset(&gcu->total, 0, sizeof(gcu->total));
	gcu->has_layer = false;
}

struct golden_gcu *golden_gcu_create(const struct golden_gcu_params *params)
{
	struct golden_gcu *gcu = calloc(1, sizeof(*gcu));

	if (!gcu)
		return NULL;
	gcu->params = *params;
	gcu->cbuf = calloc(1, cbuf_bytes(params));
	gcu->program = calloc(1, params->program);
	if (gcu->cbuf && gcu->program)
		return gcu;
	golden_gcu_destroy(gcu);
	return NULL;
}

void golden_gcu_destroy(struct golden_gcu *gcu)
{
	if (!gcu)
		return;
	free(gcu->cbuf);
	free(gcu->program);
	free(gcu);
}

void golden_gcu_core(struct golden_gcu *gcu, struct golden_core *core)
{
	const struct golden_gcu_params *p = &gcu->params;
	uint64_t rbuf = 4ull * p->rbuf_banks * p->rbuf_depth * p->atomic_k;
	uint64_t largest = cbuf_bytes(p) > rbuf ? cbuf_bytes(p) : rbuf;

	largest = largest > p->program ? largest : p->program;
	core->priv = gcu;
	core->program_max = p->program;
	core->scrub_cycles = golden_gcu_ceil(largest, LINE);
	core->clear = clear;
	core->run = run;
}

const struct golden_gcu_regs *golden_gcu_regs(const struct golden_gcu *gcu)
{
	return &gcu->regs;
}

const struct golden_gcu_counters *golden_gcu_counters(const struct golden_gcu *gcu)
{
	return &gcu->total.window;
}

enum golden_gcu_access golden_gcu_failed_access(const struct golden_gcu *gcu)
{
	return gcu->failed_access;
}

unsigned int golden_gcu_fills(const struct golden_gcu *gcu,
			      struct golden_gcu_fill fills[GOLDEN_GCU_FILLS])
{
	memcpy(fills, gcu->fill, gcu->fills * sizeof(fills[0]));
	return gcu->fills;
}

const struct golden_gcu_coverage *golden_gcu_coverage(const struct golden_gcu *gcu)
{
	return &gcu->coverage;
}
