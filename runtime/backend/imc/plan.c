// SPDX-License-Identifier: MIT
/* How a convolution is cut: parts of its channels, tiles of its results, and their order. */
#include "imc.h"

#define MAX_FIELD	65535	/* sizes of a plane and column strides */
#define HALVINGS	3	/* tiles of a half, a quarter, an eighth of the rows are tried */

struct search {
	struct imcc_core *core;
	struct imcc_node *node;		/* with the plan that is tried */
	struct imcc_plan best;
	uint64_t cycles;		/* of the best plan; 0: there is none */
	char *reason;			/* against the last one that does not fit */
	const char *op;
};

struct limit {
	const char *what;
	int64_t value, limit;
};

/* The first limit that the plan breaks; what is NULL if it keeps all. */
static struct limit find_broken(const struct imcc_hw *hw, const struct imcc_node *n)
{
	const struct imcc_conv *v = &n->conv;
	const struct imcc_plan *p = &n->plan;
	int64_t h = imcc_reach(v, &v->y, p->h), w = imcc_reach(v, &v->x, p->w);
	int64_t taps = imcc_most_taps(v) * imcc_most_taps(v);
	int64_t rows = imcc_class_size(&v->y, 0, p->h) + imcc_most_taps(v) - 1;
	int64_t columns = imcc_class_size(&v->x, 0, p->w) + imcc_most_taps(v) - 1;
	const struct limit all[] = {
		{ "bytes of weights", p->k * taps * p->c * v->fold * v->size,
		  hw->weight },
		{ "rows of a plane", rows, MAX_FIELD },
		{ "columns of a plane", columns, MAX_FIELD },
		{ "column stride", v->x.step * p->c, MAX_FIELD },
		{ "result column stride", v->x.classes * p->k, MAX_FIELD },
		{ "bytes of a tile's input", h * w * p->c * v->size, hw->input },
		{ "bytes of a tile's results", p->h * p->w * p->k * IMCC_RESULT_BYTES, hw->unit },
		{ "commands of a tile", imcc_tile_commands(n), hw->commands / 2 - 1 },
		{ "cycles of a tile", (int64_t)imcc_tile_cycles(hw, n),
		  (int64_t)(hw->cycles_max & INT64_MAX) / 4 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value > all[i].limit)
			return all[i];
	return (struct limit){ 0 };
}

/* Halves the tile until it fits; false if the smallest does not. */
static bool fit_tile(struct search *s)
{
	const struct imcc_axis *y = &s->node->conv.y, *x = &s->node->conv.x;
	struct imcc_plan *p = &s->node->plan;

	while (true) {
		struct limit bad = find_broken(&s->core->hw, s->node);

		if (!bad.what)
			return true;
		if (p->h > imcc_unit(y))
			p->h = cnn_round_up(cnn_div_up(p->h, 2), imcc_unit(y));
		else if (p->w > imcc_unit(x))
			p->w = cnn_round_up(cnn_div_up(p->w, 2), imcc_unit(x));
		else
			return cnn_reject(s->reason, "%s: %s %lld, limit of imc %lld", s->op,
					  bad.what, (long long)bad.value, (long long)bad.limit);
	}
}

static void try_plan(struct search *s)
{
	uint64_t cycles = imcc_cycles(s->core, s->node);

	if (cycles && (!s->cycles || cycles < s->cycles)) {
		s->cycles = cycles;
		s->best = s->node->plan;
	}
}

/* Both orders of the largest tile, and of smaller ones, which overlap more. */
static void try_tiles(struct search *s)
{
	const struct imcc_conv *v = &s->node->conv;
	struct imcc_plan *p = &s->node->plan;
	int64_t rows;

	p->h = v->y.out;
	p->w = v->x.out;
	if (!fit_tile(s))
		return;
	rows = p->h;
	for (int i = 0; i <= HALVINGS && rows >> i; i++) {
		p->h = cnn_round_up(cnn_div_up(rows, (int64_t)1 << i), imcc_unit(&v->y));
		p->h = cnn_min(p->h, rows);
		for (int keep = 0; keep <= (p->k < v->co * v->block_groups); keep++) {
			p->keep_weights = keep;
			try_plan(s);
		}
	}
}

/*
 * The most input channels whose weights fit beside each other; whole passes if not all do. Adjacent
 * pixels are an element only with all of them.
 */
static int64_t most_inputs(const struct imcc_hw *hw, const struct imcc_conv *v, int64_t k)
{
	int64_t all = v->ci * v->block_groups, taps = imcc_most_taps(v) * imcc_most_taps(v);
	int64_t c = cnn_min(hw->weight / (k * taps * v->size), hw->cin_limit) / v->fold;

	c = cnn_min(c, MAX_FIELD / v->x.step);
	if (c < all && v->fold > 1)
		return 0;
	return c >= all ? all : c / hw->cin_max * hw->cin_max;
}

/* Tries parts of @k output channels, if a pass of their inputs fits. */
static void try_outputs(struct search *s, int64_t k)
{
	struct imcc_plan *p = &s->node->plan;
	int64_t cin_max = s->core->hw.cin_max;
	int64_t c = most_inputs(&s->core->hw, &s->node->conv, k);

	if (!c) {
		cnn_reject(s->reason, "%s: weights of %lld output and %lld input channels do not "
			   "fit the %lld bytes of a weight bank of imc", s->op, (long long)k,
			   (long long)cin_max, (long long)s->core->hw.weight);
		return;
	}
	p->k = k;
	p->c = c;
	try_tiles(s);
	if (c > cin_max && s->node->conv.fold == 1) {
		p->c = cnn_round_up(cnn_div_up(c, 2), cin_max);
		try_tiles(s);
	}
	if (p->c > cin_max && !s->cycles && s->node->conv.fold == 1) {
		p->c = cin_max;
		try_tiles(s);
	}
}

bool imcc_find_plan(struct imcc_core *core, struct imcc_node *n, const char *op, char *reason)
{
	struct search s = { .core = core, .node = n, .reason = reason, .op = op };
	const struct imcc_hw *hw = &core->hw;
	int64_t k = cnn_min(n->conv.co * n->conv.block_groups, hw->cout_limit);

	while (true) {
		try_outputs(&s, k);
		if (k == 1 || (s.cycles && k <= hw->csus))
			break;
		k = k > hw->csus ? cnn_round_up(cnn_div_up(k, 2), hw->csus) : cnn_div_up(k, 2);
	}
	if (!s.cycles)
		return false;
	n->plan = s.best;
	return true;
}
