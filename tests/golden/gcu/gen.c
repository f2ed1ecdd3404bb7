// SPDX-License-Identifier: MIT
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random_job.h"
#include "../spoil.h"

#define LINE		CNNACC_LINE_SIZE
#define LAST_LINE	0xffffffc0u

int64_t gcu_pick(struct gen_gcu *gen, int64_t low, int64_t high)
{
	return prng_range(&gen->prng, low, high);
}

bool gcu_chance(struct gen_gcu *gen, unsigned int percent)
{
	return prng_chance(&gen->prng, percent);
}

bool gen_gcu_legal(enum gen_gcu_kind kind)
{
	return kind <= GEN_GCU_SHORT;
}

/* ----------------------------------------------------------------- blocks */

void gen_gcu_derive(struct golden_gcu_layer *l)
{
	l->fp16 = l->format == CNNACC_GCU_FP16;
	l->esz = l->format == CNNACC_GCU_INT8 ? 1 : 2;
	l->out_bytes = l->out <= CNNACC_GCU_OUT_UINT8 ? 1 :
		       l->out == CNNACC_GCU_OUT_INT16 || l->out == CNNACC_GCU_OUT_FP16 ? 2 : 4;
	l->uses_lut = l->act == CNNACC_GCU_ACT_SIGMOID || l->act == CNNACC_GCU_ACT_TANH;
}

static uint32_t control_of(const struct golden_gcu_layer *l)
{
	return CNNACC_GCU_LAYER | (uint32_t)l->format << CNNACC_GCU_FORMAT_SHIFT |
	       (l->unsigned_ifmap ? CNNACC_GCU_UNSIGNED_IFMAP : 0) |
	       (l->unsigned_weights ? CNNACC_GCU_UNSIGNED_WEIGHTS : 0) |
	       (l->acc16 ? CNNACC_GCU_ACC16 : 0) | (l->psum_on ? CNNACC_GCU_PSUM : 0) |
	       (l->linear ? CNNACC_GCU_LINEAR : 0) | (l->round_up ? CNNACC_GCU_ROUND_UP : 0) |
	       (l->clamp ? CNNACC_GCU_CLAMP : 0) | (l->table ? CNNACC_GCU_TABLE : 0) |
	       (uint32_t)l->act << CNNACC_GCU_ACT_SHIFT | (uint32_t)l->out << CNNACC_GCU_OUT_SHIFT;
}

static struct cnnacc_gcu_map encode_map(const struct golden_gcu_map *m)
{
	return (struct cnnacc_gcu_map){ m->va, m->column, m->row, m->group };
}

struct cnnacc_gcu_layer gen_gcu_encode(const struct golden_gcu_layer *l)
{
	return (struct cnnacc_gcu_layer){
		.control = control_of(l), .zero_in = gcu_halves(l->zx, l->zw), .zero_out = l->zy,
		.in_size = gcu_halves(l->w, l->h), .channels = gcu_halves(l->c, l->k),
		.out_size = gcu_halves(l->ofmw, l->ofmh),
		.kernel = gcu_bytes(l->s, l->r, l->hstride, l->vstride),
		.spacing = gcu_bytes(l->dil_h, l->dil_v, l->inner_lr, l->inner_tb),
		.padding = gcu_bytes(l->left, l->right, l->top, l->bottom),
		.groups = l->group_n,
		.fmbuf = l->fmbufbankn | l->column_code << 8 | (uint32_t)l->fmbufrown << 16,
		.kbuf = l->kbufgrpsz | (uint32_t)l->kbufgrpn << 16,
		.threshold = l->threshold, .table_entries = l->entries,
		.act_factor = l->act_factor, .act_shift = l->act_shift,
		.ifmap = encode_map(&l->ifmap), .psum = encode_map(&l->psum),
		.ofmap = encode_map(&l->ofmap),
		.weight_va = l->weight_va, .linear_va = l->linear_va, .lut_va = l->lut_va,
		.increment_va = l->increment_va, .vector_va = l->vector_va,
		.clamp_low = l->clamp_low, .clamp_high = l->clamp_high,
	};
}

static unsigned int blocks_left(const struct gen_gcu *gen)
{
	unsigned int most = gen->params.program / CNNACC_GCU_BLOCK_SIZE;

	return most - gcu_blocks(&gen->job->program);
}

static void emit_layer(struct gen_gcu *gen, const struct golden_gcu_layer *l)
{
	struct cnnacc_gcu_layer block = gen_gcu_encode(l);

	gcu_write_layer(&gen->job->program, &block);
	if (gen->layers < GEN_GCU_LAYERS)
		gen->layer[gen->layers++] = *l;
}

/* Fewer entries than the layer needs. */
static void shorten(struct gen_gcu *gen, struct golden_gcu_layer *l)
{
	if (!l->table)
		return;
	if (l->entries > 1)
		l->entries = gcu_pick(gen, 1, l->entries - 1);
	else
		gen->tables.increment[0] = gcu_pick(gen, 0, 1);
}

static void layer(struct gen_gcu *gen)
{
	struct golden_gcu_layer l;

	if (!blocks_left(gen))
		return;
	gen_gcu_shape(gen, &l);
	gen_gcu_rows(gen, &l, gen->kind == GEN_GCU_STUCK);
	if (gen->kind == GEN_GCU_TABLE)
		shorten(gen, &l);
	gen_gcu_memory(gen, &l);
	emit_layer(gen, &l);
}

/* ------------------------------------------------------------ other blocks */

static void search_probe(struct gen_gcu *gen, struct cnnacc_gcu_probe *p)
{
	const struct golden_gcu_layer *l = &gen->layer[gen->layers ? gen->layers - 1 : 0];
	bool any = !gen->layers || gcu_chance(gen, 20);
	int64_t cg = any ? gcu_pick(gen, 0, 3) :
			   gcu_pick(gen, 0, golden_gcu_ceil(l->c, gen->params.atomic_c) - 1);

	p->port = CNNACC_GCU_PORT_SEARCH;
	p->address = gcu_halves(cg, any ? gcu_pick(gen, 0, 65535) : gcu_pick(gen, 0, l->h - 1));
	p->count = any ? gcu_pick(gen, 0, 5000) : gcu_pick(gen, 0, l->fmbufcoln);
	p->va = gen_gcu_take(gen, GOLDEN_GCU_PROBED, 4);
}

static int64_t words_to_move(struct gen_gcu *gen)
{
	if (gen->kind == GEN_GCU_SHORT || gen->kind == GEN_GCU_LIMIT)
		return gcu_pick(gen, 1, 8);
	if (gcu_chance(gen, 1))
		return gcu_pick(gen, 1, CNNACC_GCU_PROBE_WORDS);
	return gcu_pick(gen, 1, gcu_chance(gen, 90) ? 32 : 512);
}

/* An area and words in it; mostly words that the last layer has written. */
static void pick_words(struct gen_gcu *gen, struct cnnacc_gcu_probe *p)
{
	int64_t word_bytes = 2 * gen->params.atomic_c, words, first;

	p->port = gcu_pick(gen, CNNACC_GCU_PORT_FMAP, CNNACC_GCU_PORT_KERNEL);
	p->fmbuf_banks = gen->layers && gcu_chance(gen, 80) ?
			 gen->layer[gen->layers - 1].fmbufbankn :
			 gcu_pick(gen, 1, gen->params.cbuf_banks - 1);
	words = 512 * (p->port == CNNACC_GCU_PORT_FMAP ? p->fmbuf_banks :
							  gen->params.cbuf_banks - p->fmbuf_banks);
	p->count = words_to_move(gen);
	if (p->count > words)
		p->count = words;
	first = gcu_chance(gen, 70) ? gcu_pick(gen, 0, 40) : gcu_pick(gen, 0, words);
	first = first > words - p->count ? words - p->count : first;
	p->address = first * word_bytes;
	if (gen->kind == GEN_GCU_RANGE)
		gen_gcu_spoil_range(gen, p);
}

static void area_probe(struct gen_gcu *gen, struct cnnacc_gcu_probe *p)
{
	int64_t word_bytes = 2 * gen->params.atomic_c;

	pick_words(gen, p);
	if (gcu_chance(gen, 50) && p->address <= 0xffffffff - word_bytes)
		p->address += gcu_pick(gen, 0, word_bytes - 1);
	p->va = gen_gcu_take(gen, GOLDEN_GCU_PROBED, p->count * word_bytes);
}

static void probe(struct gen_gcu *gen)
{
	struct cnnacc_gcu_probe p = { .control = CNNACC_GCU_PROBE };

	if (!blocks_left(gen))
		return;
	if (gen->kind != GEN_GCU_RANGE && gcu_chance(gen, 30))
		search_probe(gen, &p);
	else
		area_probe(gen, &p);
	gcu_write_probe(&gen->job->program, &p);
}

static void fill(struct gen_gcu *gen)
{
	struct cnnacc_gcu_probe p = { .control = CNNACC_GCU_FILL };

	if (!blocks_left(gen))
		return;
	pick_words(gen, &p);
	p.va = gen_gcu_take_filled(gen, GOLDEN_GCU_FILLING,
				   p.count * 2 * gen->params.atomic_c, 2);
	gcu_write_probe(&gen->job->program, &p);
}

static void pause(struct gen_gcu *gen)
{
	struct cnnacc_gcu_wait w = {
		.control = CNNACC_GCU_WAIT, .cycles = gcu_pick(gen, 0, 100),
	};
	unsigned int bits = gcu_chance(gen, 97) ? 20 : 32;

	if (!blocks_left(gen))
		return;
	/* Long ones are rare: a device in the process spends time on them. */
	if (gen->kind == GEN_GCU_LEGAL && gen->job->packet.cycle_limit > 1ull << 34 &&
	    gcu_chance(gen, 30))
		w.cycles = prng_next(&gen->prng) >> (64 - bits);
	gcu_write_wait(&gen->job->program, &w);
}

static void other_block(struct gen_gcu *gen)
{
	int64_t mood = gcu_pick(gen, 0, 9);

	if (mood < 5)
		probe(gen);
	else if (mood < 8)
		fill(gen);
	else
		pause(gen);
}

/* ---------------------------------------------------------------- the job */

static void ordinary(struct gen_gcu *gen)
{
	int64_t layers = gcu_chance(gen, 60) ? 1 : gcu_pick(gen, 2, 3);

	if (gcu_chance(gen, 10))
		other_block(gen);
	for (; layers; layers--) {
		layer(gen);
		for (unsigned int n = 0; n < 3; n++)
			if (gcu_chance(gen, 30))
				other_block(gen);
	}
	if (gen->target == GOLDEN_GCU_FILLING ||
	    (gen->kind == GEN_GCU_RANGE && gcu_chance(gen, 30)))
		fill(gen);
	if (gen->kind == GEN_GCU_RANGE || gen->target == GOLDEN_GCU_PROBED)
		probe(gen);
}

static void write_program(struct gen_gcu *gen)
{
	if (gen->kind == GEN_GCU_NOISE && gcu_chance(gen, 50)) {
		gen_gcu_noise(gen);
		return;
	}
	/* So few cycles that a limit can fall on any block. */
	if (gen->kind == GEN_GCU_LIMIT && gcu_chance(gen, 30)) {
		for (int64_t blocks = gcu_pick(gen, 1, 3); blocks; blocks--)
			other_block(gen);
		return;
	}
	ordinary(gen);
	if (!gcu_blocks(&gen->job->program))
		probe(gen);
	if (gen->kind == GEN_GCU_CONFIG)
		gen_gcu_spoil_config(gen);
	if (gen->kind == GEN_GCU_FLIP)
		gen_gcu_flip(gen);
	if (gen->kind == GEN_GCU_NOISE)
		gen_gcu_noise(gen);
}

/* Damage under the target, if the program has such an access. */
static void spoil_target(struct gen_gcu *gen)
{
	for (unsigned int n = 0; n < gen->spots; n++)
		if (gen->spot[n].access == gen->target) {
			spoil_region(&gen->prng, gen->job,
				     &gen->job->region[gen->spot[n].region]);
			return;
		}
	spoil_memory(&gen->prng, gen->job);
}

static void spoil_faults(struct gen_gcu *gen)
{
	/* The last two regions are the program and the statistics record. */
	const struct job_region *last = &gen->job->region[gen->job->regions - 1];
	int64_t mood = gcu_pick(gen, 0, 99);

	if (mood < 2)
		gen->job->packet.root = IMAGE_HOLE;
	else if (mood < 8)
		spoil_region(&gen->prng, gen->job, last - 1);
	else if (mood < 16)
		spoil_region(&gen->prng, gen->job, last);
	else if (mood < 20)
		spoil_memory(&gen->prng, gen->job);
	else
		spoil_target(gen);
}

static void pick_packet(struct gen_gcu *gen)
{
	random_job_flags(gen->job, &gen->prng);
	if (gen->kind == GEN_GCU_PACKET)
		spoil_packet(&gen->prng, &gen->job->packet, gen->params.program,
			     gen->job_cycles_max);
}

/* The rest is beyond 4 GiB; VA 0 is mapped, so that a wrap would not fault. */
static bool place_last(struct gen_gcu *gen, uint32_t *program_va, uint32_t *stats_va)
{
	int64_t mood = gcu_pick(gen, 0, 99);

	if (mood < 3)
		*program_va = LAST_LINE;
	else if (mood < 6)
		*stats_va = LAST_LINE;
	return mood < 6;
}

/* @beyond: an access of the program crosses the end of the address space. */
static void finish(struct gen_gcu *gen, bool beyond)
{
	uint32_t length = 4 * gen->job->program.length;
	uint32_t program_va = places_take(&gen->places, golden_gcu_ceil(length, LINE));
	uint32_t stats_va = places_take(&gen->places, 2);

	if (gen->kind == GEN_GCU_FAULT && !beyond)
		beyond = place_last(gen, &program_va, &stats_va);
	job_finish(gen->job, program_va, stats_va);
	if (gen->kind == GEN_GCU_LENGTH)
		gen->job->packet.program_len -= 4 * gcu_pick(gen, 1, length / 4 - 1);
	if (gen->kind == GEN_GCU_FAULT && (!beyond || gcu_chance(gen, 10)))
		spoil_faults(gen);
	pick_packet(gen);
}

static void begin(struct gen_gcu *gen, uint64_t seed, const struct golden_gcu_params *params,
		  struct job *job, struct image *image)
{
	memset(gen, 0, sizeof(*gen));
	gen->prng.state = seed;
	gen->params = *params;
	gen->job = job;
	gen->target = GOLDEN_GCU_ACCESSES;
	places_begin(&gen->places, &gen->prng, PLACES_NEAR);
	gen->places.spread = 3;
	job_begin(job, image, &gen->prng);
}

void gen_gcu_job(struct gen_gcu *gen, enum gen_gcu_kind kind, uint64_t seed,
		 const struct golden_gcu_params *params, uint64_t job_cycles_max,
		 struct job *job, struct image *image)
{
	bool beyond;

	begin(gen, seed, params, job, image);
	gen->kind = kind;
	gen->job_cycles_max = job_cycles_max;
	if (kind == GEN_GCU_FAULT) {
		gen->places.spread = PLACES_NEAR - 1;
		gen->target = gcu_pick(gen, 0, GOLDEN_GCU_ACCESSES - 1);
		gen->beyond = gcu_chance(gen, 20);
	}
	gen->many_op4 = kind == GEN_GCU_LONG ||
			(gen->beyond && gen->target == GOLDEN_GCU_INCREMENT);
	beyond = gen->beyond;
	job->packet.ctx_id = gcu_chance(gen, 80) ? 7 : gcu_chance(gen, 50) ? 0 : 65535;
	job->packet.cycle_limit = job_cycles_max;
	if (gcu_chance(gen, 50) && job_cycles_max > 1u << 30)
		job->packet.cycle_limit = 1u << 30;
	if (kind == GEN_GCU_FLIP || kind == GEN_GCU_NOISE)
		job->packet.cycle_limit = gcu_pick(gen, 1, 30000);
	write_program(gen);
	finish(gen, beyond && !gen->beyond);
}

unsigned int gen_gcu_schemes(struct gen_gcu *gen, uint64_t seed,
			     const struct golden_gcu_params *params, struct job *job,
			     struct image *image)
{
	struct golden_gcu_layer l;

	begin(gen, seed, params, job, image);
	gen_gcu_shape(gen, &l);
	gen_gcu_rows(gen, &l, false);
	gen_gcu_memory(gen, &l);
	/* In place, one run would read what another has written. */
	if (l.psum_on && l.psum.va == l.ofmap.va)
		gen_gcu_other_ofmap(gen, &l);
	emit_layer(gen, &l);
	while (gen->layers < 6 && blocks_left(gen)) {
		while (!gen_gcu_areas(gen, &l))
			;
		gen_gcu_other_ofmap(gen, &l);
		l.table = gcu_chance(gen, 60);
		l.increment_va = l.vector_va = 0;
		gen_gcu_rows(gen, &l, false);
		gen_gcu_tables(gen, &l);
		emit_layer(gen, &l);
	}
	job_finish(job, places_take(&gen->places, golden_gcu_ceil(4 * job->program.length, LINE)),
		   places_take(&gen->places, 2));
	return gen->layers;
}
