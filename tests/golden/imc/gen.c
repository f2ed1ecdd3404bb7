// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../fp32.h"
#include "../min_max.h"
#include "../spoil.h"
#include "../stream.h"

#define PARAM(memory)	((uint32_t)(memory) << CNNACC_SEQ_PARAM_SHIFT)
#define SOURCE_LENGTH	2048
#define SPOILT_CYCLES	20000	/* of a job that may do anything */

int64_t imc_pick(struct gen_imc *gen, int64_t low, int64_t high)
{
	return prng_range(&gen->prng, low, high);
}

bool imc_chance(struct gen_imc *gen, unsigned int percent)
{
	return prng_chance(&gen->prng, percent);
}

bool gen_imc_due(struct gen_imc *gen, enum gen_imc_kind kind, unsigned int percent)
{
	if (gen->kind != kind || gen->spoilt || !imc_chance(gen, percent))
		return false;
	gen->spoilt = true;
	return true;
}

void gen_imc_emit(struct gen_imc *gen, const struct cnnacc_seq_command *c)
{
	struct cnnacc_seq_command changed = *c;

	gen_imc_spoil(gen, &changed);
	stream_emit(&gen->job->program, changed.op, changed.arg);
}

/* ------------------------------------------------------------------ sources */

static struct random_region region(struct gen_imc *gen, uint64_t bytes, uint32_t permissions)
{
	return random_job_region(gen->job, &gen->places, bytes, permissions);
}

/* Four components of INT8: any, extremes, or near zero. */
static uint32_t any_bytes(uint64_t random, unsigned int mood)
{
	static const uint32_t extremes[] = { 0x7f7f7f7f, 0x80808080, 0x7f80ff80, 0x00ff0180 };

	if (mood == 0)
		return extremes[random % 4];
	return mood == 1 ? random & 0x03030303 : random >> 16;
}

static uint32_t any_float(uint64_t random, unsigned int mood)
{
	static const uint32_t special[] = {
		0x7f800000, 0xff800000, 0x7fc00001, 0xffffffff, 0x80000000, 0x00000001, 0x807fffff,
		0x7f7fffff, 0x4cbebc20, 0xccbebc20, 0x3f800000, 0x00800000,
	};

	if (mood == 0)
		return special[random % 12];
	if (mood == 1)
		return random >> 16;
	if (mood == 2 && random % 16 == 0)
		return special[random / 16 % 12];
	/* Of similar size, so that most sums are rounded. */
	return (random >> 16 & 0x80ffffff) | 0x3f000000;
}

/* What ACCUMULATE adds to: sums near the limits, or any. */
static uint32_t any_sum(uint64_t random, unsigned int mood)
{
	int32_t small = random >> 16 & 0x3ff;

	if (mood < 3)
		return random & 1 ? 0x7fffffffu - small : 0x80000000u + small;
	return random >> 16;
}

static void fill_source(struct gen_imc *gen, enum gen_imc_source source)
{
	uint32_t (*const any[])(uint64_t, unsigned int) = { any_bytes, any_float, any_sum };
	unsigned int mood = imc_pick(gen, 0, 5);

	gen->source[source] = region(gen, SOURCE_LENGTH, CNNACC_PTE_READ);
	for (uint32_t n = 0; n < SOURCE_LENGTH; n += 4)
		word_put(space_at(&gen->job->space, gen->source[source].va + n), 0,
			 any[source](prng_next(&gen->prng), mood));
}

static void pick_memory(struct gen_imc *gen)
{
	const struct golden_imc_params *p = &gen->params;
	const uint32_t bytes[CNNACC_IMC_MEMORIES] = {
		p->input, p->input, p->weight, p->weight, p->unit, p->unit,
	};

	memcpy(gen->bytes, bytes, sizeof(bytes));
	for (unsigned int n = 0; n < GEN_IMC_SOURCES; n++)
		fill_source(gen, n);
	gen->sink = region(gen, 8192, CNNACC_PTE_WRITE | (imc_chance(gen, 50) ?
							  CNNACC_PTE_READ : 0));
}

/* ------------------------------------------------------------ COPY2D, FILL */

static bool claimed(const struct gen_imc *gen, unsigned int memory)
{
	const struct imc_plane *p = &gen->plane;

	return gen->busy && (memory == p->in_bank || memory == p->wt_bank ||
			     memory == p->res_bank);
}

/* A bank that no plane uses, or any one. */
static struct random_bytes any_bank(struct gen_imc *gen)
{
	unsigned int memory;

	do
		memory = imc_pick(gen, 0, CNNACC_IMC_MEMORIES - 1);
	while (gen->kind != GEN_IMC_CONFLICT && claimed(gen, memory));
	return (struct random_bytes){ memory, 0, gen->bytes[memory] };
}

static void rows(struct gen_imc *gen)
{
	struct random_bytes local = any_bank(gen);
	struct cnnacc_seq_command c;

	if (imc_chance(gen, 30))
		c = random_fill(&gen->prng, &local);
	else if (imc_chance(gen, 40))
		c = random_copy(&gen->prng, &local, &gen->sink, true);
	else
		c = random_copy(&gen->prng, &local,
				&gen->source[imc_pick(gen, 0, GEN_IMC_SOURCES - 1)], false);
	gen_imc_emit(gen, &c);
}

static void load(struct gen_imc *gen, struct random_bytes local, enum gen_imc_source source)
{
	int64_t piece = min64(local.length, SOURCE_LENGTH - 4 * imc_pick(gen, 0, 9));
	int64_t whole = local.length / piece, rest = local.length % piece;
	struct cnnacc_seq_command c = {
		CNNACC_SEQ_COPY2D | PARAM(local.memory),
		{ gen->source[source].va, local.first, whole, piece, 0, piece },
	};

	gen_imc_emit(gen, &c);
	if (!rest)
		return;
	c.arg[1] += whole * piece;
	c.arg[2] = 1;
	c.arg[3] = rest;
	gen_imc_emit(gen, &c);
}

static void unload(struct gen_imc *gen, struct random_bytes local)
{
	struct random_region r = region(gen, local.length, CNNACC_PTE_WRITE);
	struct cnnacc_seq_command c = copy_all(&local, r.va, true);

	gen_imc_emit(gen, &c);
}

/* ---------------------------------------------------------- other commands */

static void irq(struct gen_imc *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_IRQ, { prng_next(&gen->prng) } };

	gen_imc_emit(gen, &c);
}

static void wait(struct gen_imc *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_WAIT, { CNNACC_IMC_WAIT_IDLE } };

	gen_imc_emit(gen, &c);
}

static void read_one(struct gen_imc *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, { CNNACC_IMC_READ } };

	c.arg[1] = 4 * imc_pick(gen, CNNACC_IMC_REG_STATUS / 4, imc_chance(gen, 80) ?
				CNNACC_IMC_REG_PARTIAL_STORES / 4 + 1 : CNNACC_IMC_REG_END / 4 - 1);
	c.arg[6] = gen->sink.va + 4 * imc_pick(gen, 0, gen->sink.length / 4 - 1);
	gen_imc_emit(gen, &c);
}

/* Anything that is legal in any state. */
static void simple(struct gen_imc *gen)
{
	bool looped = imc_chance(gen, 8);

	if (looped)
		stream_loop(&gen->job->program, 1, imc_pick(gen, 1, 4));
	switch (imc_pick(gen, 0, 5)) {
	case 0:
		irq(gen);
		break;
	case 1:
	case 2:
		read_one(gen);
		break;
	default:
		rows(gen);
		break;
	}
}

/* --------------------------------------------------------------- planes */

static void exec(struct gen_imc *gen, const uint32_t *words, unsigned int count)
{
	struct cnnacc_seq_command c = { .op = CNNACC_SEQ_EXEC };

	memcpy(c.arg, words, count * sizeof(*words));
	gen_imc_emit(gen, &c);
}

static void load_plane(struct gen_imc *gen)
{
	const struct imc_plane *p = &gen->plane;
	enum gen_imc_source source = p->format == CNNACC_IMC_FP32 ? SOURCE_FLOATS : SOURCE_BYTES;
	const struct random_bytes in = { p->in_bank, p->in, imc_input_end(p) - p->in };
	const struct random_bytes wt = { p->wt_bank, p->wt, imc_weight_end(p) - p->wt };
	const struct random_bytes res = { p->res_bank, p->res, imc_result_end(p) - p->res };

	load(gen, in, source);
	load(gen, wt, source);
	if (imc_chance(gen, p->accumulate ? 80 : 10))
		load(gen, res, p->format == CNNACC_IMC_FP32 ? SOURCE_FLOATS : SOURCE_SUMS);
}

static void step(struct gen_imc *gen, bool valid, int64_t clocks)
{
	const uint32_t words[2] = {
		CNNACC_IMC_STEP | (valid ? CNNACC_IMC_STEP_VALID : 0), clocks,
	};

	exec(gen, words, 2);
}

/* Some clocks of a plane in step mode, fewer than it has. */
static void some_steps(struct gen_imc *gen)
{
	int64_t left = imc_clocks_of(&gen->plane) - 1;

	for (int64_t n = imc_pick(gen, 0, 6); n && left > 0; n--) {
		bool valid = imc_chance(gen, 75);
		int64_t clocks = imc_pick(gen, 1, min64(left, imc_chance(gen, 70) ? 5 : 300));

		if (imc_chance(gen, 10)) {	/* looped, with a READ after each */
			clocks = min64(clocks, left / 3);
			if (!clocks)
				continue;
			stream_loop(&gen->job->program, 2, 3);
			left -= 2 * clocks;
			step(gen, valid, clocks);
			read_one(gen);
		} else {
			step(gen, valid, clocks);
			simple(gen);
		}
		left -= clocks;
	}
}

/* The rest of the plane; stalls may make it any number of STEPs, so the job may end before. */
static bool step_to_end(struct gen_imc *gen)
{
	const struct imc_plane *p = &gen->plane;
	int64_t rest, load = (min64(p->cin, p->cin_max) * p->esz + gen->params.port - 1) /
			     gen->params.port;

	/* No element waits longer than it takes to load. */
	rest = imc_clocks_of(p) * load;
	if (rest > CNNACC_IMC_CLOCKS_MAX)
		return false;
	step(gen, true, CNNACC_IMC_CLOCKS_MAX);
	gen->busy = false;
	return true;
}

static void wrong_state(struct gen_imc *gen, bool stepping)
{
	uint32_t words[6];

	if (imc_chance(gen, 35) && !stepping) {
		step(gen, true, 1);
	} else if (imc_chance(gen, 50)) {
		gen_imc_setup(gen, words);
		exec(gen, words, 6);
	} else {
		gen_imc_conv(gen, words);
		exec(gen, words, 4);
	}
}

/* A plane in step mode; false if it does not end, so that the job has to. */
static bool stepped_plane(struct gen_imc *gen)
{
	some_steps(gen);
	if (gen_imc_due(gen, GEN_IMC_BUSY, 70))
		wrong_state(gen, true);
	if (gen_imc_due(gen, GEN_IMC_DEADLOCK, 80))
		wait(gen);
	return step_to_end(gen);
}

static bool next_plane(struct gen_imc *gen)
{
	uint32_t conv[4];
	bool steps = gen->kind == GEN_IMC_STEP || gen->kind == GEN_IMC_DEADLOCK ||
		     imc_chance(gen, 15);

	if (!gen->configured || imc_chance(gen, 80)) {
		gen_imc_setup(gen, gen->setup);
		if (!gen_imc_due(gen, GEN_IMC_CFG, gen->configured ? 0 : 10))
			exec(gen, gen->setup, 6);
		gen->configured = true;
	}
	gen_imc_conv(gen, conv);
	gen->plane = imc_decode(&gen->params, gen->setup, conv);
	load_plane(gen);
	if (gen_imc_due(gen, GEN_IMC_BUSY, 20))
		step(gen, imc_chance(gen, 50), 1);
	conv[0] |= steps ? CNNACC_IMC_CONV_STEP : 0;
	exec(gen, conv, 4);
	gen->busy = true;
	if (steps)
		return stepped_plane(gen);
	for (int64_t n = imc_pick(gen, 0, 3); n; n--)
		simple(gen);
	if (gen_imc_due(gen, GEN_IMC_BUSY, 70))
		wrong_state(gen, false);
	return true;
}

static void plane(struct gen_imc *gen, bool last)
{
	const struct imc_plane *p = &gen->plane;

	if (!next_plane(gen) || (last && imc_chance(gen, 15)))
		return;
	wait(gen);
	gen->busy = false;
	unload(gen, (struct random_bytes){ p->res_bank, p->res, imc_result_end(p) - p->res });
}

static int64_t room(const struct gen_imc *gen)
{
	return stream_room(&gen->job->program, gen->params.program);
}

static void write_stream(struct gen_imc *gen)
{
	int64_t planes = gen->kind == GEN_IMC_SHORT ? 0 : imc_pick(gen, 1, 3);

	pick_memory(gen);
	if (gen->kind == GEN_IMC_LIMIT && imc_chance(gen, 30))
		planes = 0;
	for (int64_t n = imc_pick(gen, planes ? 0 : 1, planes ? 2 : 8); n && room(gen) > 3; n--)
		simple(gen);
	for (int64_t n = 0; n < planes && room(gen) > 40 && !gen->busy; n++)
		plane(gen, n + 1 == planes);
	stream_end(&gen->job->program);
}

/* ------------------------------------------------------------------ the job */

/* Mostly anywhere, at times under what the job writes. */
static void spoil(struct gen_imc *gen)
{
	const struct job_region sink = { gen->sink.va, gen->sink.length, CNNACC_PTE_WRITE };

	if (imc_chance(gen, 20))
		spoil_region(&gen->prng, gen->job, &sink);
	else
		spoil_fault(&gen->prng, gen->job);
}

static void finish(struct gen_imc *gen, uint64_t job_cycles_max)
{
	random_job_finish(gen->job, &gen->places, gen->kind == GEN_IMC_FAULT);
	random_job_flags(gen->job, &gen->prng);
	if (gen->kind == GEN_IMC_FAULT)
		spoil(gen);
	if (gen->kind == GEN_IMC_PACKET)
		spoil_packet(&gen->prng, &gen->job->packet, gen->params.program, job_cycles_max);
}

/* Jobs whose damage may make any plane of them. */
static bool may_be_anything(enum gen_imc_kind kind)
{
	return kind == GEN_IMC_CFG || kind == GEN_IMC_FLIP || kind == GEN_IMC_NOISE ||
	       kind == GEN_IMC_ADDR || kind == GEN_IMC_ILLEGAL || kind == GEN_IMC_COMMAND;
}

void gen_imc_job(struct gen_imc *gen, enum gen_imc_kind kind, uint64_t seed,
		 const struct golden_imc_params *params, uint64_t job_cycles_max,
		 struct job *job, struct image *image)
{
	memset(gen, 0, sizeof(*gen));
	gen->prng.state = seed;
	gen->params = *params;
	gen->job = job;
	gen->kind = kind;
	random_job_begin(job, image, &gen->places, &gen->prng, kind == GEN_IMC_FAULT);
	job->packet.cycle_limit = job_cycles_max;
	if (may_be_anything(kind))
		job->packet.cycle_limit = min64(job_cycles_max, SPOILT_CYCLES);
	write_stream(gen);
	if (kind == GEN_IMC_FLIP)
		spoil_program(&gen->prng, &job->program);
	finish(gen, job_cycles_max);
}

static void print_insn(FILE *out, __u32 insn)
{
	static const char *const name[] = { "?", "setup", "conv", "step", "read" };
	unsigned int op = insn & CNNACC_IMC_OP_MASK;

	fprintf(out, " %s", name[op <= CNNACC_IMC_READ ? op : 0]);
}

void imc_print(FILE *out, const struct program *program, unsigned int base)
{
	stream_print(out, program, base, print_insn);
}
