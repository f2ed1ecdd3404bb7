// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../min_max.h"
#include "../spoil.h"
#include "../stream.h"

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

static struct random_region region(struct gen_enpu *gen, uint64_t bytes, uint32_t permissions)
{
	return random_job_region(gen->job, &gen->places, bytes, permissions);
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

static void irq(struct gen_enpu *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_IRQ, { prng_next(&gen->prng) } };

	gen_enpu_emit(gen, &c);
}

static void rows(struct gen_enpu *gen, struct random_bytes local)
{
	struct cnnacc_seq_command c;
	bool out;

	if (enpu_chance(gen, 30)) {
		c = random_fill(&gen->prng, &local);
	} else {
		out = enpu_chance(gen, 40);
		c = random_copy(&gen->prng, &local, out ? &gen->sink : &gen->source, out);
	}
	gen_enpu_emit(gen, &c);
}

static struct random_bytes whole(const struct gen_enpu *gen, unsigned int memory)
{
	return (struct random_bytes){ memory, 0, gen->bytes[memory] };
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
			rows(gen, (struct random_bytes){ bank / 2, bank % 2 * half, half });
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

static void load_bytes(struct gen_enpu *gen, struct random_bytes local, const uint8_t *bytes)
{
	struct random_region r = region(gen, local.length, CNNACC_PTE_READ);
	struct cnnacc_seq_command c = copy_all(&local, r.va, false);

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
	load_bytes(gen, (struct random_bytes){ CNNACC_ENPU_ITCM, 16 * gen->start,
					16 * (gen->insns + 1) }, insns);
	load_bytes(gen, (struct random_bytes){ CNNACC_ENPU_TABLE, 64 * gen->start,
					64 * (gen->insns + 1) }, records);
}

static struct random_bytes part(const struct gen_enpu *gen, unsigned int memory)
{
	return (struct random_bytes){ memory, WORD * gen->low[memory], WORD * gen->span[memory] };
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
	struct random_bytes local = part(gen, memory);
	struct random_region r = region(gen, local.length, CNNACC_PTE_WRITE);
	struct cnnacc_seq_command c = copy_all(&local, r.va, true);

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

static int64_t room(const struct gen_enpu *gen)
{
	return stream_room(&gen->job->program, gen->params.program);
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

static void finish(struct gen_enpu *gen, uint64_t job_cycles_max)
{
	random_job_finish(gen->job, &gen->places, gen->kind == GEN_ENPU_FAULT);
	random_job_flags(gen->job, &gen->prng);
	if (gen->kind == GEN_ENPU_FAULT)
		spoil_fault(&gen->prng, gen->job);
	if (gen->kind == GEN_ENPU_PACKET)
		spoil_packet(&gen->prng, &gen->job->packet, gen->params.program, job_cycles_max);
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
	random_job_begin(job, image, &gen->places, &gen->prng, kind == GEN_ENPU_FAULT);
	job->packet.cycle_limit = job_cycles_max;
	if (!may_be_long(kind))
		job->packet.cycle_limit = min64(job_cycles_max, SPOILT_CYCLES);
	write_stream(gen);
	if (kind == GEN_ENPU_FLIP && !gen->spoilt)
		spoil_program(&gen->prng, &job->program);
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
