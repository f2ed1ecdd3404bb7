// SPDX-License-Identifier: MIT
/*
 * The programs of a node. A tile of the result is made in steps, one for each phase of the taps and
 * part of the input channels, in this order; a step has a plane for each class of results. What
 * the next step reads goes to the other bank while a plane runs.
 */
#include "imc.h"

/* A tile: rows y..y+h-1, columns x..x+w-1 of result n; channels k0..k0+k-1 of a block. */
struct tile {
	int64_t block, n, y, x, h, w, k0, k;
};

/* A step of a tile: number @i. */
struct step {
	struct imcc_phase phase;
	int64_t phase_number, addend, c0, c;
};

/* What a bank holds. */
struct loaded {
	bool any;
	int64_t block, n, y, x, k0, phase, addend, c0;
};

struct emitter {
	const struct imcc_hw *hw;
	const struct imcc_node *n;
	uint32_t in, out, weights, starts;	/* addresses */
	struct loaded input, weight;	/* what the banks that were filled last hold */
	uint32_t input_bank, weight_bank;
};

/* ---- tiles and steps --------------------------------------------------------------------- */

static int64_t block_inputs(const struct imcc_conv *v, int64_t block)
{
	return imcc_block_groups(v, block) * v->ci;
}

static int64_t block_outputs(const struct imcc_conv *v, int64_t block)
{
	return imcc_block_groups(v, block) * v->co;
}

/* Tiles of a block by what they are counted along. */
struct counts {
	int64_t n, y, x, k;
};

static struct counts get_counts(const struct imcc_node *n)
{
	return (struct counts){
		.n = n->conv.batch, .y = cnn_div_up(n->conv.y.out, n->plan.h),
		.x = cnn_div_up(n->conv.x.out, n->plan.w),
		.k = cnn_div_up(block_outputs(&n->conv, 0), n->plan.k),
	};
}

int64_t imcc_tiles(const struct imcc_node *n)
{
	struct counts c = get_counts(n);

	return n->conv.blocks * c.n * c.y * c.x * c.k;
}

/* Takes the remainder of a number off it. */
static int64_t take(int64_t *number, int64_t count)
{
	int64_t rest = *number % count;

	*number /= count;
	return rest;
}

/* Tile number @i. The last block may have no tile of that number: k is 0 then. */
static struct tile get_tile(const struct imcc_node *n, int64_t i)
{
	const struct imcc_plan *p = &n->plan;
	struct counts c = get_counts(n);
	struct tile t;

	if (!p->keep_weights)
		t.k0 = take(&i, c.k) * p->k;
	t.x = take(&i, c.x) * p->w;
	t.y = take(&i, c.y) * p->h;
	t.n = take(&i, c.n);
	if (p->keep_weights)
		t.k0 = take(&i, c.k) * p->k;
	t.block = i;
	t.h = cnn_min(p->h, n->conv.y.out - t.y);
	t.w = cnn_min(p->w, n->conv.x.out - t.x);
	t.k = cnn_max(cnn_min(p->k, block_outputs(&n->conv, t.block) - t.k0), 0);
	return t;
}

static int64_t count_steps(const struct imcc_node *n, int64_t block)
{
	return imcc_phases(&n->conv) * n->conv.addends *
	       cnn_div_up(block_inputs(&n->conv, block), n->plan.c);
}

static struct step get_step(const struct imcc_node *n, const struct tile *t, int64_t i)
{
	int64_t inputs = block_inputs(&n->conv, t->block), parts = cnn_div_up(inputs, n->plan.c);
	struct step s = { .phase_number = i / parts / n->conv.addends,
			  .addend = i / parts % n->conv.addends, .c0 = i % parts * n->plan.c };

	s.phase = imcc_phase(&n->conv, s.phase_number);
	s.c = cnn_min(n->plan.c, inputs - s.c0);
	return s;
}

/* Has it planes? A transposed kernel may have a phase without taps, a tile one without results. */
static bool has_planes(const struct tile *t, const struct step *s)
{
	return s->phase.n && s->phase.y.class_first < t->h && s->phase.x.class_first < t->w;
}

/* The first step from number @i on that has planes; the number of steps if none has. */
static int64_t next_step(const struct imcc_node *n, const struct tile *t, int64_t i)
{
	int64_t steps = t->k ? count_steps(n, t->block) : 0;

	for (; i < steps; i++) {
		const struct step step = get_step(n, t, i);

		if (has_planes(t, &step))
			return i;
	}
	return steps;
}

/* ---- loads and stores -------------------------------------------------------------------- */

/* The part of the input that a tile reads. */
struct region {
	int64_t y, x, rows, columns;
};

static struct region get_region(const struct imcc_conv *v, const struct tile *t)
{
	return (struct region){
		.y = imcc_input_at(&v->y, t->y), .x = imcc_input_at(&v->x, t->x),
		.rows = imcc_reach(v, &v->y, t->h), .columns = imcc_reach(v, &v->x, t->w),
	};
}

/* Copies @rows x @columns pixels; whole rows if their pixels are adjacent. */
static void copy_pixels(struct seqc *s, struct seqc_copy c, int64_t columns, int64_t row,
			int64_t local_row)
{
	int64_t rows = c.rows;

	if (c.va_pitch == c.row_bytes && c.local_pitch == c.row_bytes) {
		c.row_bytes *= columns;
		c.va_pitch = row;
		c.local_pitch = local_row;
		seqc_copy(s, &c);
		return;
	}
	c.rows = columns;
	if (rows == 1)
		seqc_copy(s, &c);
	else
		seqc_copy_loop(s, &c, rows, row, local_row);
}

/* What is not in the map is padding, or is multiplied by zeros. */
static void load_input(struct emitter *u, struct seqc *s, const struct tile *t,
		       const struct step *step)
{
	const struct imcc_conv *v = &u->n->conv;
	const struct imcc_plan *p = &u->n->plan;
	struct region r = get_region(v, t);
	int64_t y0 = cnn_max(r.y, 0), y1 = cnn_min(r.y + r.rows, v->y.in);
	int64_t x0 = cnn_max(r.x, 0), x1 = cnn_min(r.x + r.columns, v->x.in);
	int64_t pixel = step->c * v->size, row = r.columns * pixel;
	int64_t c0 = t->block * v->block_groups * v->ci + step->c0;
	struct seqc_copy copy = {
		.memory = CNNACC_IMC_INPUT0 + u->input_bank, .rows = y1 - y0, .row_bytes = pixel,
		.va = u->in + t->n * p->image + y0 * p->row + x0 * p->pixel + c0 * v->size,
		.local = (y0 - r.y) * row + (x0 - r.x) * pixel,
		.va_pitch = p->pixel, .local_pitch = pixel,
	};

	if (y1 - y0 < r.rows || x1 - x0 < r.columns)
		seqc_fill(s, copy.memory, v->pad_byte, r.rows * row);
	if (y0 < y1 && x0 < x1)
		copy_pixels(s, copy, x1 - x0, p->row, row);
}

/* Where the weights of a step are behind those of the node. */
static int64_t weights_at(const struct imcc_node *n, const struct tile *t, const struct step *s)
{
	const struct imcc_conv *v = &n->conv;
	int64_t taps = imcc_taps_before(v, imcc_phases(v)) * v->addends;
	int64_t inputs = block_inputs(v, t->block);
	int64_t before = t->block * block_outputs(v, 0) * block_inputs(v, 0) * taps;

	before += t->k0 * inputs * taps;
	before += t->k * inputs * imcc_taps_before(v, s->phase_number) * v->addends;
	before += t->k * s->phase.n * s->phase.n * (s->addend * inputs + s->c0);
	return before * v->fold * v->size;
}

static int64_t weight_bytes(const struct imcc_node *n, const struct tile *t, const struct step *s)
{
	return t->k * s->phase.n * s->phase.n * s->c * n->conv.fold * n->conv.size;
}

static bool is_same(const struct loaded *a, const struct loaded *b)
{
	return a->any && a->block == b->block && a->n == b->n && a->y == b->y && a->x == b->x &&
	       a->k0 == b->k0 && a->phase == b->phase && a->addend == b->addend &&
	       a->c0 == b->c0;
}

/* Brings what a step reads to the banks that no plane uses, unless it is there. */
static void load_step(struct emitter *u, struct seqc *s, const struct tile *t,
		      const struct step *step)
{
	const struct loaded input = { .any = true, .block = t->block, .n = t->n, .y = t->y,
				      .x = t->x, .c0 = step->c0 };
	const struct loaded weight = { .any = true, .block = t->block, .k0 = t->k0,
				       .phase = step->phase_number, .addend = step->addend,
				       .c0 = step->c0 };

	if (!is_same(&u->input, &input)) {
		u->input_bank ^= 1;
		load_input(u, s, t, step);
	}
	u->input = input;
	if (!is_same(&u->weight, &weight)) {
		const struct seqc_copy copy = {
			.memory = CNNACC_IMC_WEIGHT0 + (u->weight_bank ^= 1), .rows = 1,
			.va = u->weights + weights_at(u->n, t, step),
			.row_bytes = weight_bytes(u->n, t, step), .weights = true,
		};

		seqc_copy(s, &copy);
	}
	u->weight = weight;
}

static void load(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque)
{
	struct emitter *u = opaque;
	const struct tile t = get_tile(u->n, tile);
	int64_t first = next_step(u->n, &t, 0);

	(void)buffer;
	if (t.k && first < count_steps(u->n, t.block)) {
		const struct step step = get_step(u->n, &t, first);

		load_step(u, s, &t, &step);
	}
}

static void store(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque)
{
	const struct emitter *u = opaque;
	const struct imcc_conv *v = &u->n->conv;
	const struct tile t = get_tile(u->n, tile);
	int64_t pixel = v->groups * v->co * IMCC_RESULT_BYTES, row = v->x.out * pixel;
	int64_t k0 = t.block * block_outputs(v, 0) + t.k0, own = t.k * IMCC_RESULT_BYTES;
	const struct seqc_copy copy = {
		.memory = CNNACC_IMC_UNIT0 + buffer, .rows = t.h, .row_bytes = own, .store = true,
		.va = u->out + (t.n * v->y.out + t.y) * row + t.x * pixel + k0 * IMCC_RESULT_BYTES,
		.va_pitch = pixel, .local_pitch = own,
	};

	if (t.k)
		copy_pixels(s, copy, t.w, row, t.w * own);
}

/* ---- planes ------------------------------------------------------------------------------ */

/* A plane of a step: the results of class a, b of rows and columns. */
struct job {
	const struct tile *t;
	const struct step *step;
	int64_t a, b;
	bool accumulate, waits;		/* waits: for the plane before */
};

static struct imcc_plane get_plane(const struct emitter *u, const struct job *j)
{
	const struct imcc_conv *v = &u->n->conv;
	struct imcc_plane p = {
		.n = j->step->phase.n, .cin = j->step->c * v->fold, .cout = j->t->k, .size = v->size,
		.h = imcc_class_size(&v->y, j->a, j->t->h) + j->step->phase.n - 1,
		.w = imcc_class_size(&v->x, j->b, j->t->w) + j->step->phase.n - 1,
	};

	imcc_choose_mode(u->hw, &p);
	return p;
}

static void add_setup(const struct emitter *u, struct seqc *s, const struct job *j,
		      const struct imcc_plane *p)
{
	const struct imcc_conv *v = &u->n->conv;
	int64_t columns = imcc_reach(v, &v->x, j->t->w);
	const uint32_t insn[4] = {
		CNNACC_IMC_SETUP | (uint32_t)p->n << CNNACC_IMC_SETUP_N_SHIFT |
			v->format << CNNACC_IMC_SETUP_FORMAT_SHIFT |
			(p->full ? CNNACC_IMC_SETUP_FULL : 0),
		(uint32_t)(p->w | p->h << 16),
		(uint32_t)(p->cin | p->cout << 16),
		(uint32_t)(v->x.step * j->step->c | v->x.classes * p->cout << 16),
	};

	seqc_exec_wide(s, insn, (uint32_t)(v->y.step * columns * j->step->c),
		       (uint32_t)(v->y.classes * j->t->w * p->cout));
	seqc_charge(s, 1);
}

static void add_conv(const struct emitter *u, struct seqc *s, const struct job *j, uint32_t unit)
{
	const struct imcc_conv *v = &u->n->conv;
	const struct imcc_phase *f = &j->step->phase;
	int64_t y = j->a * v->y.class_input + f->y.input;
	int64_t x = j->b * v->x.class_input + f->x.input;
	const uint32_t insn[4] = {
		CNNACC_IMC_CONV | (j->accumulate ? CNNACC_IMC_CONV_ACCUMULATE : 0) |
			(u->input_bank ? CNNACC_IMC_CONV_INPUT1 : 0) |
			(u->weight_bank ? CNNACC_IMC_CONV_WEIGHT1 : 0) |
			(unit ? CNNACC_IMC_CONV_UNIT1 : 0),
		(uint32_t)((y * imcc_reach(v, &v->x, j->t->w) + x) * j->step->c * v->size),
		0,
		(uint32_t)((j->a * j->t->w + j->b) * j->t->k * IMCC_RESULT_BYTES),
	};

	seqc_exec_wide(s, insn, 0, 0);
	seqc_charge(s, 1);
}

/* The plane's cycles, of which the clocks compute and the others load elements. */
static void charge_plane(const struct emitter *u, struct seqc *s, const struct imcc_plane *p)
{
	struct imcc_cycles c = imcc_plane_cycles(u->hw, p);
	int64_t results = (p->h - p->n + 1) * (p->w - p->n + 1);

	seqc_start(s, imcc_total(&c));
	s->cost.compute -= c.start + c.stalls;
	s->cost.control += c.start;
	s->cost.stall += c.stalls;
	s->cost.mac_slots += c.clocks * (uint64_t)(u->hw->cin_max * u->hw->csus);
	s->cost.mac_useful += (uint64_t)(results * p->n * p->n * p->cin * p->cout);
}

static void add_plane(const struct emitter *u, struct seqc *s, const struct job *j, uint32_t unit)
{
	const struct imcc_plane p = get_plane(u, j);

	if (j->waits) {
		seqc_wait(s, CNNACC_IMC_WAIT_IDLE);
		seqc_charge(s, 1);
		seqc_idle(s);
	}
	add_setup(u, s, j, &p);
	add_conv(u, s, j, unit);
	charge_plane(u, s, &p);
}

static void add_step(const struct emitter *u, struct seqc *s, struct job *j, uint32_t unit)
{
	const struct imcc_taps *y = &j->step->phase.y, *x = &j->step->phase.x;

	for (j->a = y->class_first; j->a < cnn_min(y->class_end, j->t->h); j->a++)
		for (j->b = x->class_first; j->b < cnn_min(x->class_end, j->t->w); j->b++) {
			add_plane(u, s, j, unit);
			j->waits = true;
		}
}

static bool is_transposed(const struct imcc_conv *v)
{
	return v->y.transposed || v->x.transposed;
}

static bool has_phase_without_taps(const struct imcc_conv *v)
{
	for (int64_t i = 0; i < imcc_phases(v); i++)
		if (!imcc_phase(v, i).n)
			return true;
	return false;
}

/* Rows of results of which each has sums of its own to start with. */
static int64_t start_rows(const struct imcc_node *n)
{
	return cnn_min(n->conv.y.classes, n->plan.h);
}

/* Brings what the sums of a tile start with to the memory unit, if no plane begins them. */
static void start_sums(const struct emitter *u, struct seqc *s, const struct tile *t,
		       uint32_t unit)
{
	const struct imcc_conv *v = &u->n->conv;
	int64_t pixel = t->k * IMCC_RESULT_BYTES, rows = start_rows(u->n);
	int64_t channel = t->block * block_outputs(v, 0) + t->k0;

	if (!v->x_zero && is_transposed(v) && has_phase_without_taps(v))
		seqc_fill(s, CNNACC_IMC_UNIT0 + unit, 0, t->h * t->w * pixel);
	for (int64_t a = 0; v->x_zero && a < cnn_min(rows, t->h); a++) {
		const struct seqc_copy copy = {
			.memory = CNNACC_IMC_UNIT0 + unit, .rows = imcc_class_size(&v->y, a, t->h),
			.va = u->starts + channel * rows * u->n->plan.w * IMCC_RESULT_BYTES +
			      a * u->n->plan.w * pixel,
			.row_bytes = t->w * pixel, .local = a * t->w * pixel,
			.local_pitch = v->y.classes * t->w * pixel, .weights = true,
		};

		seqc_copy(s, &copy);
	}
}

/* Is there something in the cells of a step's results? */
static bool adds(const struct imcc_conv *v, const struct step *s, int64_t number)
{
	return is_transposed(v) ? v->x_zero || s->addend || s->c0 : number > 0;
}

static void run(struct seqc *s, int64_t tile, uint32_t buffer, void *opaque)
{
	struct emitter *u = opaque;
	const struct tile t = get_tile(u->n, tile);
	int64_t steps = t.k ? count_steps(u->n, t.block) : 0;
	int64_t first = next_step(u->n, &t, 0);

	if (t.k)
		start_sums(u, s, &t, buffer);
	for (int64_t i = first; i < steps; i = next_step(u->n, &t, i + 1)) {
		const struct step step = get_step(u->n, &t, i);
		struct job j = { .t = &t, .step = &step, .waits = i > first,
				 .accumulate = adds(&u->n->conv, &step, i) };

		if (i > first)
			load_step(u, s, &t, &step);
		add_step(u, s, &j, buffer);
	}
}

/* ---- programs ---------------------------------------------------------------------------- */

int64_t imcc_tile_commands(const struct imcc_node *n)
{
	const struct imcc_conv *v = &n->conv;
	int64_t planes = cnn_min(v->y.classes, n->plan.h) * cnn_min(v->x.classes, n->plan.w);

	if (is_transposed(v))
		planes = 1;
	return count_steps(n, 0) * (4 + 3 * planes) + 3 + start_rows(n) + 1;
}

#define TRANSFER	20	/* cycles of a transfer and its commands besides its lines */

static uint64_t copy_cycles(int64_t rows, int64_t columns, int64_t pixel)
{
	return (uint64_t)(rows * (TRANSFER + columns * (2 + pixel / CNNACC_LINE_SIZE)));
}

/* Of the largest tile, if nothing overlaps. */
uint64_t imcc_tile_cycles(const struct imcc_hw *hw, const struct imcc_node *n)
{
	struct emitter u = { .hw = hw, .n = n };
	const struct imcc_conv *v = &n->conv;
	const struct tile t = get_tile(n, 0);
	int64_t rows = imcc_reach(v, &v->y, t.h), columns = imcc_reach(v, &v->x, t.w);
	uint64_t cycles = TRANSFER + copy_cycles(t.h, t.w, t.k * IMCC_RESULT_BYTES);

	if (is_transposed(v))
		cycles *= 2;	/* what the sums start with */

	for (int64_t i = 0; i < count_steps(n, 0); i++) {
		const struct step step = get_step(n, &t, i);
		struct job j = { .t = &t, .step = &step };

		cycles += 2 * copy_cycles(rows, columns, step.c * v->size);
		cycles += copy_cycles(1, 1, weight_bytes(n, &t, &step));
		if (!has_planes(&t, &step))
			continue;
		for (j.a = step.phase.y.class_first; j.a < cnn_min(step.phase.y.class_end, t.h); j.a++)
			for (j.b = step.phase.x.class_first;
			     j.b < cnn_min(step.phase.x.class_end, t.w); j.b++) {
				const struct imcc_plane p = get_plane(&u, &j);
				const struct imcc_cycles c = imcc_plane_cycles(hw, &p);

				cycles += imcc_total(&c) + 3;
			}
	}
	return cycles;
}

/* Banks may have been cleared between two programs. */
static void begin(struct seqc *s, void *opaque)
{
	struct emitter *u = opaque;

	seqc_begin(s);
	u->input.any = false;
	u->weight.any = false;
}

/* Makes all programs of a node. */
static int add_programs(struct imcc_core *core, struct emitter *u, struct seqc *s)
{
	const struct seqc_stages stages = {
		.begin = begin, .load = load, .run = run, .store = store,
		.idle = CNNACC_IMC_WAIT_IDLE, .commands = imcc_tile_commands(u->n),
		.cycles = imcc_tile_cycles(u->hw, u->n),
	};

	s->compile = core->base.compile;
	s->commands_max = core->hw.commands;
	s->cycles_max = core->hw.cycles_max;
	return seqc_finish(s, seqc_tiles(s, &stages, imcc_tiles(u->n), IMCC_BANKS, u));
}

uint64_t imcc_cycles(struct imcc_core *core, struct imcc_node *n)
{
	struct seqc s = { .dry = true };
	struct emitter u = { .hw = &core->hw, .n = n };

	return add_programs(core, &u, &s) ? 0 : s.total;
}

/* Packs the weights of a tile's steps. */
static void pack_tile(const struct imcc_node *n, const struct tile *t, uint8_t *to)
{
	for (int64_t i = 0; i < count_steps(n, t->block); i++) {
		const struct step step = get_step(n, t, i);
		const struct imcc_part part = {
			.block = t->block, .k0 = t->k0, .k = t->k, .c0 = step.c0, .c = step.c,
			.phase = step.phase, .addend = step.addend,
		};

		imcc_pack(&n->conv, &part, to + weights_at(n, t, &step));
	}
}

/* Adds the weights of all blocks to the image; their address. */
static int add_weights(struct cnn_compile *compile, const struct imcc_node *n, uint32_t *va)
{
	const struct imcc_conv *v = &n->conv;
	int64_t taps = imcc_taps_before(v, imcc_phases(v)) * v->addends, bytes = 0, at;

	for (int64_t b = 0; b < v->blocks; b++)
		bytes += block_outputs(v, b) * block_inputs(v, b) * taps * v->fold * v->size;
	at = cnn_image_add(compile, &compile->weights, bytes, CNNACC_LINE_SIZE);
	if (at < 0)
		return (int)at;
	for (struct tile t = { 0 }; t.block < v->blocks; t.block++)
		for (t.k0 = 0; t.k0 < block_outputs(v, t.block); t.k0 += t.k) {
			t.k = cnn_min(n->plan.k, block_outputs(v, t.block) - t.k0);
			pack_tile(n, &t, compile->weights.data + at);
		}
	*va = CNN_VA_WEIGHTS + (uint32_t)at;
	return CNN_OK;
}

/* Writes what the sums of a part's channels start with, [rows][columns of a tile][k]. */
static void pack_starts(const struct imcc_node *n, const struct tile *t, int32_t *to)
{
	const struct imcc_conv *v = &n->conv;
	int64_t columns = cnn_min(v->x.classes, v->x.out), first = t->block * block_outputs(v, 0) + t->k0;

	for (int64_t a = 0; a < start_rows(n); a++)
		for (int64_t x = 0; x < n->plan.w; x++) {
			const struct imcc_phase f = imcc_phase(v, a * columns + x % v->x.classes);

			for (int64_t k = first; k < first + t->k; k++)
				*to++ = f.n ? imcc_start(v, k, &f) : 0;
		}
}

/* Adds what all sums start with to the image; the address. */
static int add_starts(struct cnn_compile *compile, const struct imcc_node *n, uint32_t *va)
{
	const struct imcc_conv *v = &n->conv;
	int64_t one = start_rows(n) * n->plan.w;	/* numbers of a channel */
	int64_t at = cnn_image_add(compile, &compile->weights,
				   one * v->groups * v->co * IMCC_RESULT_BYTES, CNNACC_LINE_SIZE);

	if (at < 0)
		return (int)at;
	for (struct tile t = { 0 }; t.block < v->blocks; t.block++)
		for (t.k0 = 0; t.k0 < block_outputs(v, t.block); t.k0 += t.k) {
			int64_t first = t.block * block_outputs(v, 0) + t.k0;

			t.k = cnn_min(n->plan.k, block_outputs(v, t.block) - t.k0);
			pack_starts(n, &t, (int32_t *)(compile->weights.data + at) + first * one);
		}
	*va = CNN_VA_WEIGHTS + (uint32_t)at;
	return CNN_OK;
}

int imcc_emit(struct imcc_core *core, int node)
{
	struct imcc_node *n = &core->nodes[node];
	const struct cnn_slot *slots = core->base.compile->out->slots;
	struct seqc s = { .node = node };
	struct emitter u = {
		.hw = &core->hw, .n = n,
		.in = CNN_VA_ARENA + (uint32_t)slots[n->conv.in].offset,
		.out = CNN_VA_ARENA + (uint32_t)slots[n->conv.out].offset,
	};
	int ret = add_weights(core->base.compile, n, &u.weights);

	if (!ret && n->conv.x_zero)
		ret = add_starts(core->base.compile, n, &u.starts);
	return ret ? ret : add_programs(core, &u, &s);
}
