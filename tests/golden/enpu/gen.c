// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../min_max.h"
#include "../spoil.h"
#include "../stream.h"

#define LINE		CNNACC_LINE_SIZE
#define LAST_LINE	0xffffffc0u
#define WORD		CNNACC_ENPU_WORD_BYTES
#define PARAM(memory)	((uint32_t)(memory) << CNNACC_SEQ_PARAM_SHIFT)
#define SPOILT_CYCLES	60000	/* of a job that may do anything */

int64_t enpu_pick(struct gen_enpu *gen, int64_t low, int64_t high)
{
	return prng_range(&gen->prng, low, high);
}

bool enpu_chance(struct gen_enpu *gen, unsigned int percent)
{
	return prng_chance(&gen->prng, percent);
}

bool gen_enpu_due(struct gen_enpu *gen, enum gen_enpu_kind kind, unsigned int percent)
{
	if (gen->kind != kind || gen->spoilt || !enpu_chance(gen, percent))
		return false;
	gen->spoilt = true;
	return true;
}

void gen_enpu_emit(struct gen_enpu *gen, const struct cnnacc_seq_command *c)
{
	struct cnnacc_seq_command changed = *c;

	gen_enpu_spoil_command(gen, &changed);
	stream_emit(&gen->job->program, changed.op, changed.arg);
}

/* ------------------------------------------------------------------- memory */

static struct gen_enpu_region region(struct gen_enpu *gen, uint64_t bytes, uint32_t permissions)
{
	uint64_t lines = (bytes + LINE - 1) / LINE;
	struct gen_enpu_region r = { places_take(&gen->places, lines), lines * LINE };

	job_region(gen->job, r.va, lines, permissions);
	return r;
}

/* Values of maps: any, extremes, or near zero. */
static uint8_t any_byte(uint64_t random, unsigned int mood)
{
	static const uint8_t extremes[] = { 0x80, 0x7f, 0xff, 0x00, 0x81, 0x01 };

	if (mood == 0)
		return extremes[random % 6];
	return mood == 1 ? random % 9 - 4 : random >> 16;
}

static void pick_memory(struct gen_enpu *gen)
{
	const uint32_t bytes[CNNACC_ENPU_MEMORIES] = {
		gen->params.itcm, 4 * gen->params.itcm, gen->params.work, gen->params.skip,
		gen->params.weight,
	};
	unsigned int mood = enpu_pick(gen, 0, 5);

	memcpy(gen->bytes, bytes, sizeof(bytes));
	gen->source = region(gen, enpu_pick(gen, 500, 5000), CNNACC_PTE_READ);
	gen->sink = region(gen, 8192, CNNACC_PTE_WRITE | (enpu_chance(gen, 50) ?
							   CNNACC_PTE_READ : 0));
	for (uint32_t n = 0; n < gen->source.length; n++)
		*space_at(&gen->job->space, gen->source.va + n) =
			any_byte(prng_next(&gen->prng), mood);
	for (unsigned int m = CNNACC_ENPU_WORK; m < CNNACC_ENPU_MEMORIES; m++) {
		int64_t words = bytes[m] / WORD;

		gen->span[m] = min64(words, enpu_pick(gen, 64, 512));
		gen->low[m] = enpu_chance(gen, 20) ? words - gen->span[m] :
			      enpu_chance(gen, 20) ? 0 : enpu_pick(gen, 0, words - gen->span[m]);
	}
}

/* ------------------------------------------------------------ COPY2D, FILL */

/** struct bytes - of a local memory, or of one of its banks. */
struct bytes {
	unsigned int memory;
	int64_t first, length;
};

static void copy(struct gen_enpu *gen, struct bytes local, bool out)
{
	const struct gen_enpu_region *r = out ? &gen->sink : &gen->source;
	int64_t rows = enpu_pick(gen, 1, 4), bytes, room;
	struct cnnacc_seq_command c = {
		.op = CNNACC_SEQ_COPY2D | (out ? CNNACC_SEQ_TO_MEMORY : 0) | PARAM(local.memory),
	};

	bytes = enpu_pick(gen, 1, min64(local.length, min64(r->length, 2000)) / rows);
	c.arg[2] = enpu_chance(gen, 3) ? 0 : rows;
	c.arg[3] = enpu_chance(gen, 3) ? 0 : bytes;
	if (rows > 1) {
		c.arg[4] = enpu_pick(gen, 0, (r->length - bytes) / (rows - 1));
		c.arg[5] = enpu_pick(gen, 0, (local.length - bytes) / (rows - 1));
	}
	room = r->length - ((rows - 1) * c.arg[4] + bytes);
	c.arg[0] = r->va + enpu_pick(gen, 0, room);
	room = local.length - ((rows - 1) * c.arg[5] + bytes);
	c.arg[1] = local.first + (enpu_chance(gen, 25) ? 0 : enpu_chance(gen, 25) ? room :
				  enpu_pick(gen, 0, room));
	gen_enpu_emit(gen, &c);
}

static void fill(struct gen_enpu *gen, struct bytes local)
{
	int64_t rows = enpu_pick(gen, 1, 4), bytes = enpu_pick(gen, 1, min64(local.length, 64) / 4);
	struct cnnacc_seq_command c = { .op = CNNACC_SEQ_FILL | PARAM(local.memory) };
	int64_t room;

	c.arg[0] = enpu_pick(gen, 0, 255);
	c.arg[2] = rows;
	c.arg[3] = enpu_chance(gen, 5) ? 0 : bytes;
	c.arg[5] = rows > 1 ? enpu_pick(gen, 0, (local.length - bytes) / (rows - 1)) : 0;
	room = local.length - ((rows - 1) * c.arg[5] + bytes);
	c.arg[1] = local.first + enpu_pick(gen, 0, room);
	gen_enpu_emit(gen, &c);
}

static void irq(struct gen_enpu *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_IRQ, { prng_next(&gen->prng) } };

	gen_enpu_emit(gen, &c);
}

static void rows(struct gen_enpu *gen, struct bytes local)
{
	if (enpu_chance(gen, 30))
		fill(gen, local);
	else
		copy(gen, local, enpu_chance(gen, 40));
}

static struct bytes whole(const struct gen_enpu *gen, unsigned int memory)
{
	return (struct bytes){ memory, 0, gen->bytes[memory] };
}

static void simple(struct gen_enpu *gen)
{
	struct cnnacc_seq_command wait = { CNNACC_SEQ_WAIT, { CNNACC_ENPU_WAIT_IDLE } };

	switch (enpu_pick(gen, 0, 3)) {
	case 0:
		irq(gen);
		break;
	case 1:
		gen_enpu_emit(gen, &wait);
		break;
	default:
		rows(gen, whole(gen, enpu_pick(gen, 0, CNNACC_ENPU_MEMORIES - 1)));
		break;
	}
}

/* ------------------------------------------------- commands beside a program */

/* Rows of a bank: one that the program leaves alone, or any at all. */
static void bank_rows(struct gen_enpu *gen, bool any)
{
	uint32_t claimed = enpu_banks(gen->bytes, gen->start, gen->insn, gen->insns);
	unsigned int count = CNNACC_ENPU_BANKS * CNNACC_ENPU_MEMORIES, bank;
	int64_t half;

	for (unsigned int try = 0; try < 10; try++) {
		bank = enpu_pick(gen, 0, count - 1);
		half = gen->bytes[bank / 2] / 2;
		if (any || !(claimed >> bank & 1)) {
			rows(gen, (struct bytes){ bank / 2, bank % 2 * half, half });
			return;
		}
	}
	irq(gen);
}

/* No rows anywhere: claims do not matter. */
static void nothing(struct gen_enpu *gen)
{
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_COPY2D | PARAM(enpu_pick(gen, 0, CNNACC_ENPU_MEMORIES - 1)),
		{ gen->source.va, prng_next(&gen->prng), 0, 5 },
	};

	gen_enpu_emit(gen, &c);
}

static void beside(struct gen_enpu *gen)
{
	bool looped = enpu_chance(gen, 10);

	if (looped)
		stream_loop(&gen->job->program, 1, enpu_pick(gen, 1, 4));
	if (enpu_chance(gen, 10))
		nothing(gen);
	else
		bank_rows(gen, gen->kind == GEN_ENPU_CONFLICT);
}

/* -------------------------------------------------------------- the program */

static void load_bytes(struct gen_enpu *gen, struct bytes local, const uint8_t *bytes)
{
	struct gen_enpu_region r = region(gen, local.length, CNNACC_PTE_READ);
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_COPY2D | PARAM(local.memory), { r.va, local.first, 1, local.length },
	};

	space_write(&gen->job->space, r.va, bytes, local.length);
	gen_enpu_emit(gen, &c);
}

static void put_words(uint8_t *at, const uint32_t *words, unsigned int count)
{
	for (unsigned int n = 0; n < 4 * count; n++)
		at[n] = words[n / 4] >> n % 4 * 8;
}

static void load_program(struct gen_enpu *gen)
{
	uint8_t insns[16 * (GEN_ENPU_INSNS + 1)], records[64 * (GEN_ENPU_INSNS + 1)];
	uint32_t words[4], record[16];

	/* The rest of STOP and its record is ignored. */
	for (unsigned int n = 0; n < sizeof(records); n++) {
		records[n] = prng_next(&gen->prng) >> 16;
		if (n < sizeof(insns))
			insns[n] = prng_next(&gen->prng) >> 16;
	}
	for (unsigned int n = 0; n < gen->insns; n++) {
		enpu_encode(&gen->insn[n], words, record);
		put_words(insns + 16 * n, words, 4);
		put_words(records + 64 * n, record, 16);
	}
	insns[16 * gen->insns] = CNNACC_ENPU_STOP;
	gen_enpu_spoil_words(gen, insns, records);
	load_bytes(gen, (struct bytes){ CNNACC_ENPU_ITCM, 16 * gen->start,
					16 * (gen->insns + 1) }, insns);
	load_bytes(gen, (struct bytes){ CNNACC_ENPU_TABLE, 64 * gen->start,
					64 * (gen->insns + 1) }, records);
}

static struct bytes part(const struct gen_enpu *gen, unsigned int memory)
{
	return (struct bytes){ memory, WORD * gen->low[memory], WORD * gen->span[memory] };
}

/* Maps are whatever is in the source, again and again, or what the program before has left. */
static void load_maps(struct gen_enpu *gen, unsigned int memory)
{
	int64_t length = WORD * gen->span[memory], piece = min64(length, gen->source.length);
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_COPY2D | PARAM(memory),
		{ gen->source.va, WORD * gen->low[memory], length / piece, piece, 0, piece },
	};

	if (enpu_chance(gen, 85))
		gen_enpu_emit(gen, &c);
}

static void unload(struct gen_enpu *gen, unsigned int memory)
{
	struct bytes local = part(gen, memory);
	struct gen_enpu_region r = region(gen, local.length, CNNACC_PTE_WRITE);
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY | PARAM(memory),
		{ r.va, local.first, 1, local.length },
	};

	gen_enpu_emit(gen, &c);
}

static void exec(struct gen_enpu *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, { CNNACC_ENPU_RUN, 0, 0, 0, gen->start } };

	gen_enpu_emit(gen, &c);
}

static void wait_end(struct gen_enpu *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_WAIT, { CNNACC_ENPU_WAIT_IDLE } };

	gen_enpu_emit(gen, &c);
}

/* Load a program and its data, run it, and copy what it may have changed to memory. */
static void program(struct gen_enpu *gen, bool last)
{
	gen_enpu_program(gen);
	gen_enpu_spoil_program(gen);
	load_bytes(gen, part(gen, CNNACC_ENPU_WEIGHT), gen->weight);
	load_maps(gen, CNNACC_ENPU_WORK);
	load_maps(gen, CNNACC_ENPU_SKIP);
	load_program(gen);
	exec(gen);
	for (int64_t n = enpu_pick(gen, 0, 3); n; n--)
		beside(gen);
	if (gen_enpu_due(gen, GEN_ENPU_BUSY, 80))
		exec(gen);
	if (last && enpu_chance(gen, 15))
		return;
	wait_end(gen);
	unload(gen, CNNACC_ENPU_WORK);
	unload(gen, CNNACC_ENPU_SKIP);
}

/* Commands that the program memory has room for. */
static int64_t room(const struct gen_enpu *gen)
{
	return gen->params.program / sizeof(struct cnnacc_seq_command) -
	       (int64_t)stream_length(&gen->job->program);
}

static void write_stream(struct gen_enpu *gen)
{
	int64_t programs = gen->kind == GEN_ENPU_SHORT ? 0 : enpu_pick(gen, 1, 3);

	pick_memory(gen);
	if (gen->kind == GEN_ENPU_LIMIT && enpu_chance(gen, 30))
		programs = 0;
	for (int64_t n = enpu_pick(gen, programs ? 0 : 1, programs ? 3 : 8); n && room(gen) > 2; n--)
		simple(gen);
	for (int64_t n = 0; n < programs && room(gen) > 24; n++)
		program(gen, n + 1 == programs);
	stream_end(&gen->job->program);
}

/* ------------------------------------------------------------------ the job */

static void flip(struct gen_enpu *gen)
{
	struct program *program = &gen->job->program;

	if (gen->kind != GEN_ENPU_FLIP || gen->spoilt)
		return;
	for (int64_t n = enpu_pick(gen, 1, 3); n; n--)
		program->word[enpu_pick(gen, 0, program->length - 1)] ^= 1u << enpu_pick(gen, 0, 31);
}

static void finish(struct gen_enpu *gen, uint64_t job_cycles_max)
{
	struct cnnacc_packet *packet = &gen->job->packet;
	uint32_t length = 4 * gen->job->program.length;
	uint32_t program_va = places_take(&gen->places, (length + LINE - 1) / LINE);
	uint32_t stats_va = places_take(&gen->places, 2);

	if (gen->kind == GEN_ENPU_FAULT && enpu_chance(gen, 6))
		program_va = LAST_LINE;
	if (gen->kind == GEN_ENPU_FAULT && enpu_chance(gen, 6))
		stats_va = LAST_LINE;
	job_finish(gen->job, program_va, stats_va);
	packet->flags = (enpu_chance(gen, 95) ? CNNACC_PACKET_STATS : 0) |
			(enpu_chance(gen, 30) ? CNNACC_PACKET_IRQ : 0) |
			(enpu_chance(gen, 30) ? CNNACC_PACKET_EVENT_WAIT : 0);
	if (!(packet->flags & CNNACC_PACKET_STATS))
		packet->stats_va = prng_next(&gen->prng);
	if (gen->kind == GEN_ENPU_FAULT && enpu_chance(gen, 85))
		spoil_memory(&gen->prng, gen->job);
	if (gen->kind == GEN_ENPU_FAULT && enpu_chance(gen, 3))
		packet->root = IMAGE_HOLE;
	if (gen->kind == GEN_ENPU_PACKET)
		spoil_packet(&gen->prng, packet, gen->params.program, job_cycles_max);
}

/* Jobs that are legal whatever they are for may take any time; the damage of others may be long. */
static bool may_be_long(enum gen_enpu_kind kind)
{
	return kind == GEN_ENPU_LEGAL || kind == GEN_ENPU_SHORT || kind == GEN_ENPU_LIMIT ||
	       kind == GEN_ENPU_FAULT || kind == GEN_ENPU_PACKET || kind == GEN_ENPU_BUSY ||
	       kind == GEN_ENPU_CONFLICT;
}

void gen_enpu_job(struct gen_enpu *gen, enum gen_enpu_kind kind, uint64_t seed,
		  const struct golden_enpu_params *params, uint64_t job_cycles_max,
		  struct job *job, struct image *image)
{
	memset(gen, 0, sizeof(*gen));
	gen->prng.state = seed;
	gen->params = *params;
	gen->job = job;
	gen->kind = kind;
	places_begin(&gen->places, &gen->prng, kind == GEN_ENPU_FAULT ? PLACES_NEAR : 3);
	job_begin(job, image, &gen->prng);
	job->packet.ctx_id = enpu_chance(gen, 80) ? 7 : enpu_chance(gen, 50) ? 0 : 65535;
	job->packet.cycle_limit = job_cycles_max;
	if (!may_be_long(kind))
		job->packet.cycle_limit = min64(job_cycles_max, SPOILT_CYCLES);
	write_stream(gen);
	flip(gen);
	finish(gen, job_cycles_max);
}

static void print_insn(FILE *out, __u32 insn)
{
	fprintf(out, insn == CNNACC_ENPU_RUN ? " run" : " illegal");
}

void enpu_print(FILE *out, const struct program *program, unsigned int base)
{
	stream_print(out, program, base, print_insn);
}
