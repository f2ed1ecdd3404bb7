// SPDX-License-Identifier: MIT
/* Cuts a layer into pieces, for the weight DTCM, and into slabs, for the other DTCMs. */
#include <stdio.h>

#include "enpu.h"

/* ---- pieces ---- */

static bool add_piece(struct enpuc_node *n, const struct enpuc_piece *p)
{
	if (n->plan.pieces == ENPUC_PIECES)
		return false;
	n->plan.piece[n->plan.pieces] = *p;
	n->plan.piece[n->plan.pieces++].words = enpuc_piece_words(&n->layer, p);
	return true;
}

/* Most groups of output channels whose weights fit so many words; 0: none. */
static int64_t fitting_groups(const struct enpuc_layer *l, struct enpuc_piece p, int64_t words)
{
	int64_t groups = cnn_min(enpuc_groups(p.co), ENPUC_FIELD_MAX / ENPUC_WORD);

	for (; groups; groups--) {
		p.co = groups * ENPUC_WORD;
		if (enpuc_piece_words(l, &p) <= words)
			break;
	}
	return groups;
}

/* Cuts a range of output channels; false: even 16 of them have too many weights. */
static bool cut_range(const struct enpuc_hw *hw, struct enpuc_node *n, struct enpuc_piece p,
		      const char *op, char *reason)
{
	int64_t words = hw->words[CNNACC_ENPU_WEIGHT], groups, end = p.co0 + p.co;

	groups = fitting_groups(&n->layer, p, words / ENPUC_BANKS);
	if (!groups)
		groups = fitting_groups(&n->layer, p, words);
	if (!groups)
		return cnn_reject(reason, "%s: %lld bytes of weights for 16 channels, limit of enpu "
				  "%lld", op, (long long)(enpuc_piece_words(&n->layer,
				  &(struct enpuc_piece){ .ci = p.ci, .co = ENPUC_WORD }) *
				  ENPUC_WORD), (long long)(words * ENPUC_WORD));
	groups = cnn_div_up(enpuc_groups(p.co),
			    cnn_div_up(enpuc_groups(p.co), groups));
	for (; p.co0 < end; p.co0 += groups * ENPUC_WORD) {
		p.co = cnn_min(groups * ENPUC_WORD, end - p.co0);
		if (!add_piece(n, &p))
			return cnn_reject(reason, "%s: more than %d pieces of output channels", op,
					  ENPUC_PIECES);
	}
	return true;
}

/* Groups of a convolution of which a block begins and ends at words, in input and output. */
static int64_t block_groups(const struct enpuc_layer *l)
{
	int64_t in = l->ci / l->groups, out = l->co / l->groups, block = 1;

	while (block < l->groups && (block * in % ENPUC_WORD || block * out % ENPUC_WORD))
		block++;
	return block;
}

static bool cut_parts(const struct enpuc_hw *hw, struct enpuc_node *n, const char *op, char *reason)
{
	struct enpuc_piece p = { 0 };

	for (; p.source < n->layer.stages; p.source++) {
		p.ci0 = p.co0;
		p.co = enpuc_second_channels(&n->layer, p.source);
		if (!cut_range(hw, n, p, op, reason))
			return false;
		p.co0 += n->layer.of_rows ? 0 : p.co;
	}
	return true;
}

static bool cut_pieces(const struct enpuc_hw *hw, struct enpuc_node *n, const char *op,
		       char *reason)
{
	const struct enpuc_layer *l = &n->layer;
	int64_t block = block_groups(l), in = l->ci / l->groups, out = l->co / l->groups;
	bool all = enpuc_uses(l->stage[0].opcode) & ENPUC_ALL_CHANNELS;

	n->plan.pieces = 0;
	if (l->concat)
		return cut_parts(hw, n, op, reason);
	if (!all)
		return cut_range(hw, n, (struct enpuc_piece){ .ci = ENPUC_WORD, .co = l->co }, op,
				 reason);
	if (block * in > ENPUC_FIELD_MAX)
		return cnn_reject(reason, "%s: %lld input channels, limit of enpu %d: sums of parts "
				  "have 8 bits", op, (long long)(block * in), ENPUC_FIELD_MAX);
	for (int64_t g = 0; g < l->groups; g += block) {
		int64_t count = cnn_min(block, l->groups - g);

		if (!cut_range(hw, n, (struct enpuc_piece){ .ci0 = g * in, .ci = count * in,
							    .co0 = g * out, .co = count * out },
			       op, reason))
			return false;
	}
	return true;
}

/* ---- slabs ---- */

/* Words of a slab in the two DTCMs, with the last result in the skip DTCM if that has no more. */
static void slab_words(const struct enpuc_layer *l, const struct enpuc_slab *s, int64_t *work,
		       int64_t *skip)
{
	int64_t out = enpuc_out_words(l, s);

	*work = enpuc_in_words(l, s);
	*skip = 0;
	for (int i = 0; i < l->stages; i++)
		*skip += (enpuc_needs_second(l, i) ?
				  s->h * s->w * enpuc_groups(enpuc_second_channels(l, i)) : 0) +
			 (l->stage[i].stored && i < l->stages - 1 ? out : 0);
	*(*skip ? work : skip) += out;
}

static bool slab_fits(const struct enpuc_hw *hw, const struct enpuc_node *n, int64_t h, int64_t w,
		      int64_t buffers)
{
	const struct enpuc_layer *l = &n->layer;
	struct enpuc_slab s = enpuc_largest_slab(l, h, w);
	int64_t work, skip;

	slab_words(l, &s, &work, &skip);
	return work <= hw->words[CNNACC_ENPU_WORK] / buffers &&
	       skip <= hw->words[CNNACC_ENPU_SKIP] / buffers;
}

/* Clocks of a slab: of all pieces, and of its transfers. */
static uint64_t slab_cycles(const struct enpuc_hw *hw, const struct enpuc_node *n, int64_t h,
			    int64_t w)
{
	const struct enpuc_layer *l = &n->layer;
	const struct enpuc_binding bind = { .has_out = true };
	struct enpuc_slab s = enpuc_largest_slab(l, h, w);
	uint64_t cycles = 0;
	int64_t work, skip;

	for (int i = 0; i < n->plan.pieces; i++) {
		struct enpuc_tile t;

		if (!enpuc_find_tile(hw, l, &n->plan.piece[i], &s, &bind, &t))
			return UINT64_MAX;
		cycles += enpuc_layer_cost(hw, l, &n->plan.piece[i], &s, &bind, &t).cycles +
			  (uint64_t)(n->plan.piece[i].words + 64);
	}
	slab_words(l, &s, &work, &skip);
	/* Each stage may store: a P for each; a pixel's copy touches two lines more. */
	return 2 * cycles + (uint64_t)(work + 2 * skip) + 4 * (uint64_t)(h * w) + 1024 +
	       enpuc_gather_cycles(l, &s);
}

static int64_t balance(int64_t total, int64_t part)
{
	return cnn_div_up(total, cnn_div_up(total, part));
}

/* The largest slab that fits: whole rows, or parts of one. */
static bool find_slab(const struct enpuc_hw *hw, struct enpuc_node *n, int64_t buffers)
{
	const struct enpuc_layer *l = &n->layer;
	/* Of the first phase. */
	int64_t rows = cnn_div_up(l->ho, l->gather.out[ENPUC_ROWS]);
	int64_t columns = cnn_div_up(l->wo, l->gather.out[ENPUC_COLUMNS]);
	int64_t w = balance(columns, cnn_min(columns, ENPUC_FIELD_MAX)), h;

	for (; w; w = w == 1 ? 0 : balance(columns, w / 2))
		for (h = cnn_min(rows, ENPUC_FIELD_MAX); h; h--) {
			if (!slab_fits(hw, n, h, w, buffers) ||
			    slab_cycles(hw, n, h, w) > hw->cycles_max / 4)
				continue;
			n->plan.rows = balance(rows, h);
			n->plan.columns = w;
			n->plan.buffers = buffers;
			return true;
		}
	return false;
}

static bool plan_slabs(const struct enpuc_hw *hw, struct enpuc_node *n)
{
	return find_slab(hw, n, ENPUC_BANKS) || find_slab(hw, n, 1);
}

static void describe(const struct enpuc_node *n, const char *op, char *reason)
{
	const struct enpuc_plan *p = &n->plan;
	const struct enpuc_layer *l = &n->layer;
	int64_t phases = l->gather.out[ENPUC_ROWS] * l->gather.out[ENPUC_COLUMNS];
	int len;

	if (l->slice && p->whole) {
		cnn_reject(reason, "%s: read where its input is in the DTCMs, or copied", op);
		return;
	}
	len = snprintf(reason, CNN_REASON_LEN, "%s: a layer of %d %s%s", op, l->stages,
		       l->concat ? "part" : "stage", l->stages == 1 ? "" : "s");
	if (!p->whole)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
				", %lld slabs of %lld x %lld", (long long)enpuc_count_slabs(l, p),
				(long long)p->rows, (long long)p->columns);
	if (l->gather.kernel_rows > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", %lld kernel rows as "
				"channels", (long long)l->gather.kernel_rows);
	if (phases > 1)
		len += snprintf(reason + len, CNN_REASON_LEN - (size_t)len, ", %lld phases",
				(long long)phases);
	if (p->pieces > 1)
		snprintf(reason + len, CNN_REASON_LEN - (size_t)len,
			 ", %d pieces of channels", p->pieces);
}

/* Do the last rows and columns of the output see the input, and not only padding? */
static bool sees_input(const struct enpuc_layer *l)
{
	const int64_t *in = l->gather.in, *out = l->gather.out;

	return (l->ho - 1) * (l->sh * in[ENPUC_ROWS] / out[ENPUC_ROWS]) - l->ph < l->hi &&
	       (l->wo - 1) * (l->sw * in[ENPUC_COLUMNS] / out[ENPUC_COLUMNS]) - l->pw < l->wi;
}

static bool fits_whole(const struct enpuc_core *core, const struct enpuc_node *n,
		       const struct enpuc_layer *l)
{
	return !l->gather.used && l->n == 1 && l->ho <= ENPUC_FIELD_MAX &&
	       l->wo <= ENPUC_FIELD_MAX &&
	       slab_cycles(&core->hw, n, l->ho, l->wo) <= core->hw.cycles_max / 4 &&
	       enpuc_fits_whole(core, l);
}

/* Does the layer of the unit's first node alone fit the DTCMs as a whole? */
static bool first_fits_whole(const struct enpuc_core *core, const struct cnn_unit *unit,
			     const struct enpuc_node *n)
{
	struct enpuc_layer first = n->layer;

	for (first.stages = 1; first.stages < n->layer.stages; first.stages++)
		if (first.stage[first.stages].node != unit->nodes[0])
			break;
	return fits_whole(core, n, &first);
}

bool enpuc_plan(struct cnn_backend *base, const struct cnn_unit *unit, char *reason)
{
	struct enpuc_core *core = (struct enpuc_core *)base;
	const char *op = unit->g->nodes[unit->nodes[0]].op_type;
	struct enpuc_node *n = &core->nodes[unit->nodes[0]];
	const struct enpuc_layer *l = &n->layer;

	if (!cut_pieces(&core->hw, n, op, reason))
		return false;
	if (2 * enpuc_slab_commands(l) > core->hw.commands)
		return cnn_reject(reason, "%s: %lld commands for a slab, limit of enpu %lld", op,
				  (long long)enpuc_slab_commands(l),
				  (long long)core->hw.commands / 2);
	if (!plan_slabs(&core->hw, n))
		return cnn_reject(reason, "%s: not even one pixel of the result fits the DTCMs of "
				  "%lld and %lld bytes", op,
				  (long long)(core->hw.words[CNNACC_ENPU_WORK] * ENPUC_WORD),
				  (long long)(core->hw.words[CNNACC_ENPU_SKIP] * ENPUC_WORD));
	n->plan.whole = fits_whole(core, n, l);
	/* Several layers without traffic are better than one of slabs. */
	if (!n->plan.whole && unit->n_nodes > 1 && first_fits_whole(core, unit, n))
		return cnn_reject(reason, "%s: fits the DTCMs only without the stages behind it", op);
	if (!n->plan.whole && (l->order || l->of_rows))
		return cnn_reject(reason, "%s: the maps do not fit the DTCMs as a whole", op);
	if (!n->plan.whole && !sees_input(l))
		return cnn_reject(reason, "%s: slabs would see nothing but padding", op);
	describe(n, op, reason);
	return true;
}
