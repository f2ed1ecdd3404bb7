// SPDX-License-Identifier: MIT
#include "micro.h"

#include <string.h>

/** struct port - brings the words of one load after the other, a word a clock. */
struct port {
	uint64_t load;		/* under way */
	int64_t words;		/* of it that have arrived */
};

/** struct layer - a layer under way. */
struct layer {
	const struct enpu_insn *stage;
	unsigned int stages;
	bool prefetch;
	uint64_t loads;		/* of all tiles */
	uint64_t done;		/* loads that the PEs have used up */
	struct port input;
	struct micro_count *count;
};

static uint64_t loads_of_unit(const struct enpu_insn *i)
{
	return enpu_is_conv(i) ? enpu_groups(i->ci) : 1;
}

static uint64_t units(const struct enpu_insn *i)
{
	return enpu_is_conv(i) ? 1 : enpu_groups(i->co);
}

/* Channels that a load brings and that are used one by one: broadcast, or all at once. */
static int64_t channels(const struct enpu_insn *i, uint64_t load)
{
	int64_t from = 16 * (load % loads_of_unit(i));

	if (!enpu_is_conv(i))
		return 1;
	return i->ci - from < 16 ? i->ci - from : 16;
}

static int64_t taps(const struct enpu_insn *i)
{
	return enpu_is_window(i) ? i->hk * i->wk : 1;
}

static bool shares_port(const struct enpu_insn *i)
{
	return enpu_has_b(i) && enpu_range_a(i).memory == enpu_range_b(i).memory;
}

/* Words of a load of input, and of the weights that go with it. */
static int64_t input_words(const struct enpu_insn *i)
{
	if (enpu_is_window(i))
		return i->in_y * i->in_x;
	return i->y * i->x * (shares_port(i) ? 2 : 1);
}

static int64_t weight_words(const struct enpu_insn *i, uint64_t load)
{
	if (!enpu_has_weights(i))
		return 0;
	return channels(i, load) * taps(i) * enpu_stage_z(i);
}

/* ------------------------------------------------------------------- ports */

/* One word; the next load begins when the one before has used up the other sub-image. */
static void step_input(struct layer *l)
{
	struct port *p = &l->input;

	if (p->words == input_words(l->stage) && l->done >= p->load) {
		p->load++;
		p->words = 0;
	}
	if (p->load == l->loads || p->words == input_words(l->stage))
		return;
	p->words++;
	l->count->loaded++;
}

/* Without prefetch a load's weights come after its input, and both before the products. */
static void fetch_all(struct layer *l)
{
	for (int64_t n = 0; n < input_words(l->stage); n++) {
		l->count->clocks++;
		l->count->loaded++;
	}
	for (int64_t n = 0; n < weight_words(l->stage, l->done); n++) {
		l->count->clocks++;
		l->count->weights++;
	}
}

/* Has word @n of the load that the PEs are at arrived? */
static bool has_input(const struct layer *l, int64_t n)
{
	return !l->prefetch || l->input.load > l->done ||
	       (l->input.load == l->done && l->input.words > n);
}

/* ------------------------------------------------------------------- PEs */

/** struct product - a step of the loop nest within a load. */
struct product {
	int64_t c, r, s, g, y, x;
};

/* Of the sub-image, the word that the PEs multiply. */
static int64_t word_of(const struct enpu_insn *i, const struct product *p)
{
	int64_t row, column;

	if (!enpu_is_window(i))
		return (p->y * i->x + p->x) * (shares_port(i) ? 2 : 1) + shares_port(i);
	row = p->y * i->sh + p->r * (i->dh + 1);
	column = p->x * i->sw + p->s * (i->dw + 1);
	return row * i->in_x + column;
}

/* The next step, x innermost; false after the last one. */
static bool next(const struct enpu_insn *i, int64_t load_channels, struct product *p)
{
	if (++p->x < i->x)
		return true;
	p->x = 0;
	if (++p->y < i->y)
		return true;
	p->y = 0;
	if (++p->g < enpu_stage_z(i))
		return true;
	p->g = 0;
	if (++p->s < (enpu_is_window(i) ? i->wk : 1))
		return true;
	p->s = 0;
	if (++p->r < (enpu_is_window(i) ? i->hk : 1))
		return true;
	p->r = 0;
	return ++p->c < load_channels;
}

/* A clock of the PEs: a product if its word is there.  RESHAPE only passes words on. */
static bool step_product(struct layer *l, struct product *p)
{
	const struct enpu_insn *i = l->stage;
	bool ready = has_input(l, word_of(i, p)), reshape = i->op == CNNACC_ENPU_RESHAPE;

	l->count->clocks++;
	l->count->computing += ready && !reshape;
	l->count->waiting += !ready || reshape;
	return !ready || next(i, channels(i, l->done), p);
}

/* Use up a load. */
static void compute(struct layer *l)
{
	struct product p = { 0 };
	bool more = l->prefetch || l->stage->op != CNNACC_ENPU_RESHAPE;

	if (!l->prefetch)
		fetch_all(l);
	while (more) {
		if (l->prefetch)
			step_input(l);
		more = step_product(l, &p);
	}
	if (l->prefetch)
		l->count->weights += weight_words(l->stage, l->done);
	l->done++;
}

/* --------------------------------------------------------- stages and results */

/* One pass over the psums of a unit: a clock for each, and @each clocks for a result. */
static void pass(struct layer *l, uint64_t *busy, unsigned int each)
{
	for (int64_t g = 0; g < enpu_stage_z(l->stage); g++)
		for (int64_t n = 0; n < l->stage->y * l->stage->x * each; n++) {
			l->count->clocks++;
			(*busy)++;
		}
}

static void finish_unit(struct layer *l)
{
	for (unsigned int n = 0; n < l->stages; n++) {
		const struct enpu_insn *i = &l->stage[n];
		bool reshape = i->op == CNNACC_ENPU_RESHAPE;

		if (n && i->op == CNNACC_ENPU_BN) {
			l->count->weights += enpu_stage_z(l->stage);
			l->count->clocks += l->prefetch ? 0 : enpu_stage_z(l->stage);
		}
		if (n && !reshape)
			pass(l, &l->count->later, 1);
		for (unsigned int k = enpu_has_skip(i) + enpu_has_out(i); k; k--)
			pass(l, &l->count->stored, reshape && enpu_lanes_change(i) ? 16 : 1);
	}
}

/*
 * Instructions, blocks and tables, a word a clock; the input's port is idle meanwhile, so once the
 * first instruction is there it begins with the first sub-image.
 */
static void parameters(struct layer *l)
{
	int64_t words = -1;

	for (unsigned int n = 0; n < l->stages; n++) {
		const struct enpu_insn *i = &l->stage[n];

		words++;
		if (enpu_has_block(i))
			words += CNNACC_ENPU_BLOCK_WORDS * enpu_groups(i->co);
		if (i->op == CNNACC_ENPU_LUT)
			words += CNNACC_ENPU_LUT_WORDS;
	}
	l->count->clocks++;
	for (int64_t n = 0; n < words; n++) {
		l->count->clocks++;
		if (l->prefetch)
			step_input(l);
	}
}

static void run_layer(struct layer *l)
{
	const struct enpu_insn *i = l->stage;
	uint64_t per_unit = loads_of_unit(i), tiles = 0;

	for (int64_t oy = 0; oy < i->ho; oy += i->y)
		for (int64_t ox = 0; ox < i->wo; ox += i->x)
			tiles++;
	l->loads = tiles * units(i) * per_unit;
	parameters(l);
	for (uint64_t unit = 0; unit < tiles * units(i); unit++) {
		for (uint64_t load = 0; load < per_unit; load++)
			compute(l);
		finish_unit(l);
	}
}

void micro_run(const struct enpu_insn *insn, unsigned int insns, bool prefetch,
	       struct micro_count *count)
{
	memset(count, 0, sizeof(*count));
	for (unsigned int n = 0; n < insns;) {
		struct layer l = { .stage = &insn[n], .prefetch = prefetch, .count = count };

		do
			l.stages++;
		while (insn[n++].fused);
		run_layer(&l);
	}
	count->clocks++;	/* STOP */
}
