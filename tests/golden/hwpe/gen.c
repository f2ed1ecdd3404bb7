// SPDX-License-Identifier: MIT
#include "gen.h"

#include <string.h>

#include "../min_max.h"
#include "../spoil.h"

#define LINE		CNNACC_LINE_SIZE
#define ENDLESS		(1 << 30)	/* room for words that are not addresses */

int64_t hwpe_pick(struct gen_hwpe *gen, int64_t low, int64_t high)
{
	return prng_range(&gen->prng, low, high);
}

bool hwpe_chance(struct gen_hwpe *gen, unsigned int percent)
{
	return prng_chance(&gen->prng, percent);
}

bool gen_hwpe_due(struct gen_hwpe *gen, enum gen_hwpe_kind kind, unsigned int percent)
{
	if (gen->kind != kind || gen->spoilt || !hwpe_chance(gen, percent))
		return false;
	gen->spoilt = true;
	return true;
}

/* ----------------------------------------------------------------- loops */

bool gen_hwpe_open(struct gen_hwpe *gen, int64_t iterations)
{
	if (gen->depth == CNNACC_SEQ_LOOPS)
		return false;
	gen->loop[gen->depth] = (struct gen_hwpe_loop){
		stream_length(&gen->job->program), 0, iterations,
	};
	stream_loop(&gen->job->program, 0, iterations);
	gen->depth++;
	return true;
}

void gen_hwpe_close(struct gen_hwpe *gen)
{
	const struct gen_hwpe_loop *loop = &gen->loop[--gen->depth];
	struct program *program = &gen->job->program;
	uint32_t count = stream_length(program) - loop->command - 1;

	program->word[loop->command * COMMAND_WORDS] |= count << CNNACC_SEQ_PARAM_SHIFT;
}

/* How the values of a word may change: up to @room above it, in steps of @granule. */
struct motion {
	unsigned int word;
	int64_t room, granule;
};

/* Let one loop change the word; return the rest of the room. */
static int64_t step_in_loop(struct gen_hwpe *gen, struct gen_hwpe_loop *loop,
			    const struct motion *m, uint32_t *value)
{
	uint32_t command = stream_length(&gen->job->program) - loop->command - 1;
	int64_t times = loop->iterations - 1, step;

	if (loop->pairs == 3 || times < 1 || m->room / times < m->granule || hwpe_chance(gen, 30))
		return m->room;
	step = hwpe_pick(gen, 1, m->room / times / m->granule) * m->granule;
	if (hwpe_chance(gen, 40))
		step = m->granule;
	/* Downwards, from the top. */
	if (hwpe_chance(gen, 30)) {
		*value += step * times;
		step = -step;
	}
	stream_step(&gen->job->program, loop->command, loop->pairs++,
		    CNNACC_SEQ_STEP(command, 0, m->word), step);
	return m->room - (step < 0 ? -step : step) * times;
}

void gen_hwpe_step(struct gen_hwpe *gen, struct cnnacc_seq_command *c, unsigned int word,
		   int64_t room, int64_t granule)
{
	struct motion m = { word, room, granule };

	for (unsigned int i = gen->depth; i; i--)
		m.room = step_in_loop(gen, &gen->loop[i - 1], &m, &c->arg[m.word]);
}

/* ---------------------------------------------------------------- memory */

static struct random_region region(struct gen_hwpe *gen, uint64_t lines, uint32_t permissions)
{
	return random_job_region(gen->job, &gen->places, lines * LINE, permissions);
}

/* Operand bytes of all types: extremes, and TER2 without its invalid code. */
static uint8_t any_byte(uint64_t random, unsigned int mood)
{
	static const uint8_t extremes[] = { 0x80, 0x7f, 0xff, 0x00, 0x77, 0xf7, 0x55 };
	uint8_t byte = random >> 16;

	switch (mood) {
	case 0:
		return byte;
	case 1:		/* each pair of bits 00, 01 or 11 */
		return byte & ~((byte & ~(byte << 1) & 0xaa) & ~((byte & 0x55) << 1));
	case 2:
		return extremes[(random >> 8) % 7];
	default:
		return random % 4 ? 0x80 : byte;
	}
}

static void fill_source(struct gen_hwpe *gen)
{
	unsigned int mood = hwpe_pick(gen, 0, 9);

	gen->source = region(gen, hwpe_pick(gen, 4, 80),
			     CNNACC_PTE_READ | (hwpe_chance(gen, 20) ? CNNACC_PTE_WRITE : 0));
	mood = mood < 4 ? 0 : mood < 7 ? 1 : mood < 9 ? 2 : 3;
	for (uint32_t i = 0; i < gen->source.length; i++)
		*space_at(&gen->job->space, gen->source.va + i) =
			any_byte(prng_next(&gen->prng), mood);
}

static void pick_memory(struct gen_hwpe *gen)
{
	int64_t fmap = gen->params.fmap;

	fill_source(gen);
	for (int i = 0; i < SINKS; i++)
		gen->sink[i] = region(gen, hwpe_pick(gen, 2, i == SINK_RESULT ? 2 : 12),
				      CNNACC_PTE_WRITE |
				      (hwpe_chance(gen, 50) ? CNNACC_PTE_READ : 0));
	gen->span = min64(fmap, hwpe_pick(gen, 512, 6000));
	for (int i = 0; i < 2; i++)
		gen->low[i] = hwpe_chance(gen, 40) ? fmap - gen->span :
			      hwpe_chance(gen, 40) ? 0 : hwpe_pick(gen, 0, fmap - gen->span);
	if (gen->kind == GEN_HWPE_LAYER)
		gen->low[0] = gen->low[1] = 0;
	gen->kernel_span = min64(gen->params.kernel, hwpe_pick(gen, 1024, 16384));
}

/* ---------------------------------------------------------- COPY2D, FILL */

/* A stride such that @rows rows of @bytes bytes fit into @length. */
static int64_t pick_stride(struct gen_hwpe *gen, int64_t rows, int64_t bytes, int64_t length)
{
	int64_t most = rows > 1 ? (length - bytes) / (rows - 1) : ENDLESS;

	if (hwpe_chance(gen, 50) && bytes <= most)
		return bytes;
	return hwpe_pick(gen, 0, most);
}

static int64_t extent(int64_t rows, int64_t bytes, int64_t stride)
{
	return rows && bytes ? (rows - 1) * stride + bytes : 0;
}

/* Local memory of a command and where in it this job works. */
static unsigned int pick_local(struct gen_hwpe *gen, int64_t *low, int64_t *length)
{
	unsigned int memory = hwpe_pick(gen, 0, CNNACC_HWPE_MEMORIES - 1);

	*low = memory == CNNACC_HWPE_KERNEL ? 0 : gen->low[memory];
	*length = memory == CNNACC_HWPE_KERNEL ? gen->kernel_span : gen->span;
	return memory;
}

static void place_local(struct gen_hwpe *gen, struct cnnacc_seq_command *c, int64_t low,
			int64_t length)
{
	int64_t room = length - extent(c->arg[2], c->arg[3], c->arg[5]);
	int64_t at = hwpe_chance(gen, 30) ? 0 : hwpe_pick(gen, 0, room);

	if (hwpe_chance(gen, 20))
		at = room;
	c->arg[1] = low + at;
	gen_hwpe_step(gen, c, 1, room - at, 1);
}

/* A loop may add rows: start with fewer than there is room for. */
static void step_rows(struct gen_hwpe *gen, struct cnnacc_seq_command *c)
{
	int64_t more = c->arg[2] && gen->depth ? hwpe_pick(gen, 0, c->arg[2] - 1) : 0;

	c->arg[2] -= more;
	gen_hwpe_step(gen, c, 2, more, 1);
}

static void copy(struct gen_hwpe *gen)
{
	bool out = hwpe_chance(gen, 35);
	const struct random_region *r = out ? &gen->sink[SINK_COPY] : &gen->source;
	struct cnnacc_seq_command c = {
		.op = CNNACC_SEQ_COPY2D | (out ? CNNACC_SEQ_TO_MEMORY : 0),
	};
	int64_t low, length, rows = hwpe_pick(gen, 1, 6), bytes, room;

	c.op |= pick_local(gen, &low, &length) << CNNACC_SEQ_PARAM_SHIFT;
	bytes = hwpe_pick(gen, 1, min64(length, r->length) / rows);
	c.arg[2] = hwpe_chance(gen, 3) ? 0 : rows;
	c.arg[3] = hwpe_chance(gen, 3) ? 0 : bytes;
	c.arg[4] = pick_stride(gen, rows, bytes, r->length);
	c.arg[5] = pick_stride(gen, rows, bytes, length);
	room = r->length - extent(rows, bytes, c.arg[4]);
	c.arg[0] = r->va + hwpe_pick(gen, 0, room);
	gen_hwpe_step(gen, &c, 0, r->va + room - c.arg[0], 1);
	place_local(gen, &c, low, length);
	step_rows(gen, &c);
	gen_hwpe_emit(gen, &c);
}

static void fill(struct gen_hwpe *gen)
{
	struct cnnacc_seq_command c = { .op = CNNACC_SEQ_FILL };
	int64_t low, length, rows = hwpe_pick(gen, 1, 6);

	c.op |= pick_local(gen, &low, &length) << CNNACC_SEQ_PARAM_SHIFT;
	c.arg[0] = hwpe_pick(gen, 0, 255);
	gen_hwpe_step(gen, &c, 0, 255 - c.arg[0], 1);
	c.arg[2] = hwpe_chance(gen, 5) ? 0 : rows;
	c.arg[3] = hwpe_pick(gen, hwpe_chance(gen, 10) ? 0 : 1,
				 hwpe_chance(gen, 30) ? length / rows : min64(9, length / rows));
	c.arg[5] = pick_stride(gen, rows, c.arg[3], length);
	place_local(gen, &c, low, length);
	step_rows(gen, &c);
	gen_hwpe_emit(gen, &c);
}

/* Fill the parts of the local memories that the job uses from anywhere in the source. */
static void load_all(struct gen_hwpe *gen)
{
	for (unsigned int memory = 0; memory < CNNACC_HWPE_MEMORIES; memory++) {
		int64_t length = memory == CNNACC_HWPE_KERNEL ? gen->kernel_span : gen->span;
		int64_t piece = min64(length, hwpe_pick(gen, 200, gen->source.length));
		struct cnnacc_seq_command c = {
			CNNACC_SEQ_COPY2D | memory << CNNACC_SEQ_PARAM_SHIFT,
			{ gen->source.va, memory == CNNACC_HWPE_KERNEL ? 0 : gen->low[memory],
			  length / piece, piece, 0, piece },
		};

		/* The models must agree on what an earlier job left, too: do not always load. */
		if (hwpe_chance(gen, 6))
			continue;
		if (c.arg[2] > 1)
			c.arg[4] = hwpe_pick(gen, 0, (gen->source.length - piece) /
							  (c.arg[2] - 1));
		gen_hwpe_emit(gen, &c);
	}
}

/* --------------------------------------------------------- small commands */

static void irq(struct gen_hwpe *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_IRQ, { prng_next(&gen->prng) } };

	gen_hwpe_step(gen, &c, 0, ENDLESS, 1);
	gen_hwpe_emit(gen, &c);
}

static void write_acc(struct gen_hwpe *gen)
{
	unsigned int pe = hwpe_pick(gen, 0, 15), acc = hwpe_pick(gen, 0, 7);
	struct cnnacc_seq_command c = { CNNACC_SEQ_EXEC, {
		insn_encode(CNNACC_HWPE_WRITE_ACC, acc, hwpe_pick(gen, 0, 31), pe) } };
	uint32_t random = prng_next(&gen->prng);

	/* Near the ends, where sums saturate. */
	c.arg[4] = hwpe_chance(gen, 30) ? random :
		   hwpe_chance(gen, 50) ? INT32_MAX - random % 40000 :
					      0x80000000u + random % 40000;
	if (hwpe_chance(gen, 50))
		gen_hwpe_step(gen, &c, 0, (7 - acc) << 7, 1 << 7);
	else
		gen_hwpe_step(gen, &c, 0, (15 - pe) << 20, 1 << 20);
	gen_hwpe_step(gen, &c, 4, ENDLESS, 1);
	gen_hwpe_emit(gen, &c);
}

static void wait_held(struct gen_hwpe *gen)
{
	struct cnnacc_seq_command c = { CNNACC_SEQ_WAIT, { CNNACC_HWPE_WAIT_IDLE } };

	if (gen->state == CNNACC_HWPE_SUSPENDED)
		c.arg[0] = CNNACC_HWPE_WAIT_ROUND;
	if (hwpe_chance(gen, 30))
		c.arg[0] = CNNACC_HWPE_WAIT_ROUND | CNNACC_HWPE_WAIT_IDLE;
	gen_hwpe_emit(gen, &c);
}

void gen_hwpe_simple(struct gen_hwpe *gen)
{
	switch (hwpe_pick(gen, 0, 6)) {
	case 0:
	case 1:
		copy(gen);
		break;
	case 2:
		fill(gen);
		break;
	case 3:
		irq(gen);
		break;
	case 4:
		wait_held(gen);
		break;
	case 5:
		gen_hwpe_drain(gen, false);
		break;
	default:
		write_acc(gen);
		break;
	}
}

void gen_hwpe_beside(struct gen_hwpe *gen)
{
	bool loop = hwpe_chance(gen, 30) && gen_hwpe_open(gen, hwpe_pick(gen, 1, 5));

	irq(gen);
	if (loop)
		gen_hwpe_close(gen);
}

static void reset(struct gen_hwpe *gen)
{
	gen_hwpe_exec(gen, insn_encode(CNNACC_HWPE_RESET, 9, 9, 9), 0, 0);
}

/* Commands in loops, whose inner ones an outer one may make longer. */
static void loops(struct gen_hwpe *gen, int64_t most)
{
	int64_t iterations = hwpe_pick(gen, 1, 3), longer = hwpe_pick(gen, 0, 2);
	struct gen_hwpe_loop *outer = gen->depth ? &gen->loop[gen->depth - 1] : NULL;

	if (gen->depth == CNNACC_SEQ_LOOPS)
		return;
	if (outer && outer->pairs < 3 && longer) {
		stream_step(&gen->job->program, outer->command, outer->pairs++,
			    CNNACC_SEQ_STEP(stream_length(&gen->job->program) - outer->command - 1,
					    0, 0), longer);
	} else {
		longer = 0;
	}
	gen_hwpe_open(gen, iterations);
	/* The words must fit in the longest of its runs. */
	if (longer)
		gen->loop[gen->depth - 1].iterations += longer * (outer->iterations - 1);
	for (int64_t i = hwpe_pick(gen, 1, 3); i; i--)
		gen_hwpe_simple(gen);
	if (most > 1 && hwpe_chance(gen, 70))
		loops(gen, most - 1);
	if (hwpe_chance(gen, 40))
		gen_hwpe_simple(gen);
	gen_hwpe_close(gen);
}

/* One pair for several commands. */
static void accs_of_many(struct gen_hwpe *gen)
{
	unsigned int others = hwpe_pick(gen, 0, 7);
	struct program *program = &gen->job->program;

	stream_loop(program, others + 1, hwpe_pick(gen, 2, 4));
	stream_step(program, stream_length(program) - 1, hwpe_pick(gen, 0, 2),
		    CNNACC_SEQ_STEP(hwpe_pick(gen, 0, others / 2),
				    hwpe_pick(gen, 0, others / 2), 4),
		    prng_next(&gen->prng));
	for (unsigned int i = 0; i <= others; i++)
		write_acc(gen);
}

/* The same with an inner LOOP among them. */
static void loop_of_many(struct gen_hwpe *gen)
{
	unsigned int others = hwpe_pick(gen, 1, 4);
	int64_t iterations = hwpe_pick(gen, 2, 4), step = hwpe_pick(gen, 1, 3);
	struct program *program = &gen->job->program;

	stream_loop(program, others + 2, iterations);
	stream_step(program, stream_length(program) - 1, hwpe_pick(gen, 0, 2),
		    CNNACC_SEQ_STEP(0, hwpe_pick(gen, 1, others), 0), step);
	stream_loop(program, others, hwpe_pick(gen, 1, 3));
	for (unsigned int i = 0; i <= others; i++)
		irq(gen);
}

/* ------------------------------------------------------------ the program */

static void emit_now(struct gen_hwpe *gen, const struct cnnacc_seq_command *c)
{
	stream_emit(&gen->job->program, c->op, c->arg);
}

void gen_hwpe_emit(struct gen_hwpe *gen, const struct cnnacc_seq_command *c)
{
	struct cnnacc_seq_command changed = *c;

	if (gen_hwpe_due(gen, GEN_HWPE_STATE, gen->state == CNNACC_HWPE_RUNNING ? 25 : 5))
		gen_hwpe_spoil_state(gen);
	if (gen_hwpe_due(gen, GEN_HWPE_LOOP, 8))
		gen_hwpe_spoil_loop(gen);
	gen_hwpe_spoil_command(gen, &changed);
	emit_now(gen, &changed);
	if (gen->kind == GEN_HWPE_LEGAL && !hwpe_pick(gen, 0, 399))
		stream_end(&gen->job->program);
}

static unsigned int commands_left(const struct gen_hwpe *gen)
{
	return max64(0, stream_room(&gen->job->program, gen->params.program) - 1);
}

/* Commands that start and end with an IDLE core; nothing if they do not fit. */
static void piece(struct gen_hwpe *gen, void (*write)(struct gen_hwpe *gen))
{
	unsigned int length = gen->job->program.length;
	int64_t taken = stream_length(&gen->job->program) + commands_left(gen);

	write(gen);
	if (stream_length(&gen->job->program) > taken)
		gen->job->program.length = length;
	gen->state = CNNACC_HWPE_IDLE;
	gen->depth = 0;
}

static void some_loops(struct gen_hwpe *gen)
{
	loops(gen, hwpe_pick(gen, 1, CNNACC_SEQ_LOOPS));
}

/* The same task twice, with different bases. */
static void tasks(struct gen_hwpe *gen)
{
	bool twice = hwpe_chance(gen, 10) && gen_hwpe_open(gen, 2);

	gen_hwpe_task(gen);
	if (twice)
		gen_hwpe_close(gen);
}

static void ordinary(struct gen_hwpe *gen)
{
	pick_memory(gen);
	piece(gen, load_all);
	for (int64_t i = hwpe_pick(gen, 1, 3); i; i--) {
		if (hwpe_chance(gen, 40))
			piece(gen, some_loops);
		if (hwpe_chance(gen, 10))
			piece(gen, hwpe_chance(gen, 50) ? accs_of_many : loop_of_many);
		if (hwpe_chance(gen, 60))
			piece(gen, gen_hwpe_simple);
		piece(gen, tasks);
		if (hwpe_chance(gen, 10))
			piece(gen, reset);
	}
	if (hwpe_chance(gen, 40))
		piece(gen, gen_hwpe_simple);
	if (commands_left(gen) && hwpe_chance(gen, 90))
		stream_end(&gen->job->program);
}

/* Few cycles, so that a limit can fall on any kind of command. */
static void brief(struct gen_hwpe *gen)
{
	pick_memory(gen);
	for (int64_t i = hwpe_pick(gen, 1, 12); i; i--)
		piece(gen, hwpe_chance(gen, 20) ? irq :
			   hwpe_chance(gen, 20) ? reset : gen_hwpe_simple);
	if (hwpe_chance(gen, 40))
		piece(gen, some_loops);
	gen->rounds = 1;
	if (hwpe_chance(gen, 40))
		piece(gen, gen_hwpe_task);
	stream_end(&gen->job->program);
}

static void write_program(struct gen_hwpe *gen)
{
	switch (gen->kind) {
	case GEN_HWPE_SHORT:
		brief(gen);
		break;
	case GEN_HWPE_LIMIT:
		if (hwpe_chance(gen, 70))
			brief(gen);
		else
			ordinary(gen);
		break;
	case GEN_HWPE_NOISE:
		pick_memory(gen);
		gen_hwpe_noise(gen);
		break;
	case GEN_HWPE_PC:
		gen_hwpe_past_end(gen);
		break;
	default:
		ordinary(gen);
		break;
	}
	if (gen->kind == GEN_HWPE_FLIP)
		gen_hwpe_flip(gen);
}

/* -------------------------------------------------------------- the job */

static void finish(struct gen_hwpe *gen)
{
	struct cnnacc_packet *packet = &gen->job->packet;
	uint32_t length = 4 * gen->job->program.length;

	random_job_finish(gen->job, &gen->places, gen->kind == GEN_HWPE_FAULT);
	/* Bytes behind the program in its last line must have no effect. */
	for (uint32_t i = length; i % LINE; i++)
		*space_at(&gen->job->space, packet->program_va + i) = prng_next(&gen->prng);
	/* A program may end in the middle of a command. */
	if (gen->kind == GEN_HWPE_FLIP && hwpe_chance(gen, 10))
		packet->program_len = 4 * hwpe_pick(gen, 1, length / 4);
	random_job_flags(gen->job, &gen->prng);
	if (gen->kind == GEN_HWPE_FAULT)
		spoil_fault(&gen->prng, gen->job);
	if (gen->kind == GEN_HWPE_PACKET)
		spoil_packet(&gen->prng, packet, gen->params.program, gen->job_cycles_max);
}

void gen_hwpe_job(struct gen_hwpe *gen, enum gen_hwpe_kind kind, uint64_t seed,
		  const struct golden_hwpe_params *params, uint64_t job_cycles_max,
		  struct job *job, struct image *image)
{
	memset(gen, 0, sizeof(*gen));
	gen->prng.state = seed;
	gen->params = *params;
	gen->job_cycles_max = job_cycles_max;
	gen->job = job;
	gen->kind = kind;
	gen->rounds = hwpe_chance(gen, 1) ? 3000 : hwpe_chance(gen, 5) ? 500 : 80;
	random_job_begin(job, image, &gen->places, &gen->prng, kind == GEN_HWPE_FAULT);
	job->packet.cycle_limit = job_cycles_max;
	if (hwpe_chance(gen, 50) && job_cycles_max > 1u << 30)
		job->packet.cycle_limit = 1u << 30;
	if (kind == GEN_HWPE_FLIP || kind == GEN_HWPE_NOISE)
		job->packet.cycle_limit = hwpe_pick(gen, 1, 30000);
	write_program(gen);
	finish(gen);
}
