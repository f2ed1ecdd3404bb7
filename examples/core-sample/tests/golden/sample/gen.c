// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../places.h"
#include "../spoil.h"
#include "../stream.h"

#define LINE		CNNACC_LINE_SIZE
#define LAST_LINE	0xffffffc0u
#define MEMORY(n)	((uint32_t)(n) << CNNACC_SEQ_PARAM_SHIFT)
#define SOURCE_LINES	64
#define SINK_LINES	16

struct gen {
	struct prng prng;
	struct golden_sample_params params;
	struct job *job;
	enum gen_sample_kind kind;
	bool spoilt;		/* the intended damage is in the program */
	uint32_t source, sink;	/* addresses of memory that may be read, written */
	int running;		/* bank of the running instruction; -1: none */
};

static int64_t pick(struct gen *gen, int64_t low, int64_t high)
{
	return prng_range(&gen->prng, low, high);
}

static bool chance(struct gen *gen, unsigned int percent)
{
	return prng_chance(&gen->prng, percent);
}

static void emit(struct gen *gen, const struct cnnacc_seq_command *c)
{
	stream_emit(&gen->job->program, c->op, c->arg);
}

/* A bank that no instruction uses. */
static unsigned int free_bank(struct gen *gen)
{
	return gen->running < 0 ? pick(gen, 0, 1) : 1 - gen->running;
}

/* Is it time for the damage of this kind?  True at most once. */
static bool due(struct gen *gen, enum gen_sample_kind kind)
{
	if (gen->kind != kind || gen->spoilt || !chance(gen, 30))
		return false;
	gen->spoilt = true;
	return true;
}

static struct cnnacc_seq_command copy_of(struct gen *gen, unsigned int bank)
{
	bool out = chance(gen, 40);
	uint32_t room = (out ? SINK_LINES : SOURCE_LINES) * LINE;
	uint32_t rows = pick(gen, 1, 4), bytes = pick(gen, 1, room / rows);
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_COPY2D | (out ? CNNACC_SEQ_TO_MEMORY : 0) | MEMORY(bank),
		{ out ? gen->sink : gen->source, 0, rows, bytes, pick(gen, 0, room / rows),
		  pick(gen, 0, gen->params.bank / rows - bytes) },
	};

	if (rows > 1 && c.arg[4] > (room - bytes) / (rows - 1))
		c.arg[4] = (room - bytes) / (rows - 1);
	c.arg[0] += pick(gen, 0, room - (rows - 1) * c.arg[4] - bytes);
	c.arg[1] = pick(gen, 0, gen->params.bank - (rows - 1) * c.arg[5] - bytes);
	return c;
}

/* Factors as a compiler makes them, or anything. */
static struct cnnacc_seq_command add_of(struct gen *gen, unsigned int bank)
{
	uint32_t shift = pick(gen, 0, 31), most = 1u << shift;
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_EXEC,
		{ CNNACC_SAMPLE_INSN(CNNACC_SAMPLE_ADD, bank), pick(gen, -1, 1) * (int64_t)most,
		  pick(gen, 0, most), most / 2, CNNACC_SAMPLE_RESULT(pick(gen, -128, 127), shift),
		  pick(gen, 1, chance(gen, 20) ? gen->params.bank / 2 : 100) },
	};

	for (int i = 1; i < 4 && chance(gen, 30); i++)
		c.arg[i] = prng_next(&gen->prng);
	if (chance(gen, 5))
		c.arg[5] = gen->params.bank / 2;
	return c;
}

static void illegal_field(struct gen *gen, struct cnnacc_seq_command *add)
{
	switch (pick(gen, 0, 4)) {
	case 0:
		add->arg[0] ^= pick(gen, 1, 255);
		break;
	case 1:
		add->arg[0] |= 1u << pick(gen, 16, 31);
		break;
	case 2:
		add->arg[0] |= 0x200u << pick(gen, 0, 6);
		break;
	case 3:
		add->arg[4] |= 1u << pick(gen, 13, 31);
		break;
	default:
		add->arg[5] = chance(gen, 50) ? 0 : gen->params.bank / 2 + pick(gen, 1, 9);
		break;
	}
	/* At times a second one, to check which is reported. */
	if (chance(gen, 25))
		illegal_field(gen, add);
}

/* Words that this core does not have, though the sequencer does. */
static struct cnnacc_seq_command bad_command(struct gen *gen)
{
	struct cnnacc_seq_command c = add_of(gen, 0);

	switch (pick(gen, 0, 5)) {
	case 0:
		c.op |= chance(gen, 50) ? CNNACC_SEQ_EVENTS : CNNACC_SEQ_RESULT;
		return c;
	case 1:
		c.arg[6] = pick(gen, 1, 100);
		return c;
	case 2:
		return (struct cnnacc_seq_command){ CNNACC_SEQ_WAIT, { pick(gen, 0, 4) * 2 } };
	case 3:
		return (struct cnnacc_seq_command){
			.op = CNNACC_SEQ_FILL | MEMORY(pick(gen, 2, 9)),
		};
	case 4:
		return (struct cnnacc_seq_command){ .op = pick(gen, 8, 255) };
	default:
		return (struct cnnacc_seq_command){
			.op = CNNACC_SEQ_DRAIN | MEMORY(pick(gen, 0, 2)),
		};
	}
}

static void wait(struct gen *gen)
{
	emit(gen, &(struct cnnacc_seq_command){ CNNACC_SEQ_WAIT, { CNNACC_SAMPLE_WAIT_IDLE } });
	gen->running = -1;
}

static void add(struct gen *gen)
{
	struct cnnacc_seq_command c = add_of(gen, pick(gen, 0, 1));

	if (due(gen, GEN_SAMPLE_ILLEGAL))
		illegal_field(gen, &c);
	if (gen->running >= 0 && !due(gen, GEN_SAMPLE_STATE))
		wait(gen);
	emit(gen, &c);
	gen->running = c.arg[0] >> 8 & 1;
}

/* The same instruction several times, each with another factor and bias. */
static void loop_of_adds(struct gen *gen)
{
	struct program *p = &gen->job->program;
	struct cnnacc_seq_command c = add_of(gen, pick(gen, 0, 1));

	if (gen->running >= 0)
		wait(gen);
	stream_loop(p, 2, pick(gen, 1, 4));
	stream_step(p, stream_length(p) - 1, 0, CNNACC_SEQ_STEP(0, 0, 1), pick(gen, 0, 9999));
	stream_step(p, stream_length(p) - 1, 1, CNNACC_SEQ_STEP(0, 0, 3), pick(gen, 0, 9999));
	emit(gen, &c);
	wait(gen);
}

static void copy(struct gen *gen)
{
	unsigned int bank = free_bank(gen);
	struct cnnacc_seq_command c;

	if (gen->running >= 0 && due(gen, GEN_SAMPLE_STATE))
		bank = gen->running;
	c = copy_of(gen, bank);
	if (due(gen, GEN_SAMPLE_RANGE))
		c.arg[1] = gen->params.bank - c.arg[3] + pick(gen, 1, 100);
	emit(gen, &c);
}

static void fill(struct gen *gen)
{
	uint32_t bytes = pick(gen, 0, gen->params.bank);

	stream_fill(&gen->job->program, free_bank(gen), pick(gen, 0, 255),
		    &(struct stream_rows){ pick(gen, 0, gen->params.bank - bytes), 1, bytes, 0, 0 });
}

static void command(struct gen *gen)
{
	if (due(gen, GEN_SAMPLE_COMMAND)) {
		struct cnnacc_seq_command c = bad_command(gen);

		emit(gen, &c);
		return;
	}
	switch (pick(gen, 0, 9)) {
	case 0:
		wait(gen);
		break;
	case 1:
		fill(gen);
		break;
	case 2:
		emit(gen, &(struct cnnacc_seq_command){ CNNACC_SEQ_IRQ, { pick(gen, 0, 9) } });
		break;
	case 3:
		loop_of_adds(gen);
		break;
	case 4:
	case 5:
		add(gen);
		break;
	default:
		copy(gen);
		break;
	}
}

/* At most 41 commands: the smallest program memory of the comparison has 64. */
static void write_program(struct gen *gen)
{
	for (int64_t i = pick(gen, 1, 10); i; i--)
		command(gen);
	stream_end(&gen->job->program);
	for (int64_t flips = gen->kind == GEN_SAMPLE_FLIP ? pick(gen, 1, 4) : 0; flips; flips--)
		gen->job->program.word[pick(gen, 0, gen->job->program.length - 1)] ^=
			1u << pick(gen, 0, 31);
}

static void map_memory(struct gen *gen, struct places *places)
{
	gen->source = places_take(places, SOURCE_LINES);
	gen->sink = places_take(places, SINK_LINES);
	job_region(gen->job, gen->source, SOURCE_LINES, CNNACC_PTE_READ);
	job_region(gen->job, gen->sink, SINK_LINES, CNNACC_PTE_WRITE);
	for (uint32_t i = 0; i < SOURCE_LINES * LINE; i++)
		*space_at(&gen->job->space, gen->source + i) = prng_next(&gen->prng);
}

static void finish(struct gen *gen, struct places *places, uint64_t job_cycles_max)
{
	struct cnnacc_packet *packet = &gen->job->packet;
	uint32_t lines = (4 * gen->job->program.length + LINE - 1) / LINE;
	uint32_t program_va = places_take(places, lines), stats_va = places_take(places, 2);
	bool fault = gen->kind == GEN_SAMPLE_FAULT;

	/* The rest is beyond 4 GiB. */
	if (fault && chance(gen, 6))
		program_va = LAST_LINE;
	if (fault && chance(gen, 6))
		stats_va = LAST_LINE;
	job_finish(gen->job, program_va, stats_va);
	packet->flags = CNNACC_PACKET_STATS | (chance(gen, 30) ? CNNACC_PACKET_EVENT_WAIT : 0);
	if (fault && chance(gen, 85))
		spoil_memory(&gen->prng, gen->job);
	if (fault && chance(gen, 3))
		packet->root = IMAGE_HOLE;
	if (gen->kind == GEN_SAMPLE_PACKET)
		spoil_packet(&gen->prng, packet, gen->params.program, job_cycles_max);
}

void gen_sample_job(enum gen_sample_kind kind, uint64_t seed,
		    const struct golden_sample_params *params, uint64_t job_cycles_max,
		    struct job *job, struct image *image)
{
	struct gen gen = {
		.prng = { seed }, .params = *params, .job = job, .kind = kind, .running = -1,
	};
	struct places places;

	places_begin(&places, &gen.prng, kind == GEN_SAMPLE_FAULT ? PLACES_NEAR : 3);
	job_begin(job, image, &gen.prng);
	job->packet.ctx_id = chance(&gen, 80) ? 7 : 0;
	job->packet.cycle_limit = kind == GEN_SAMPLE_FLIP ? 30000 : job_cycles_max;
	map_memory(&gen, &places);
	write_program(&gen);
	finish(&gen, &places, job_cycles_max);
}
