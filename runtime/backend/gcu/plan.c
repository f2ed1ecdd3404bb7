// SPDX-License-Identifier: MIT
/*
 * The cheapest plan of a convolution: how it is cut, and how CBUF is split. Candidates are compared
 * by a block in the middle of the map, of which a few kernel groups are counted; the plan that is
 * taken is then counted in full.
 */
#include <stdio.h>
#include <string.h>

#include "gcu.h"

#define GROUPS_COUNTED	3		/* kernel groups of a candidate */
#define SCHEMES		3		/* that are counted: FIFO, and tables of two kinds */
#define TRIED_MAX	((uint64_t)1 << 30) /* op3 of all candidates of a network */
#define COUNTED_MAX	((uint64_t)1 << 32) /* op3 of a node that is counted in full */
#define BANDS		4

struct search {
	const struct gcuc_hw *hw;
	struct gcuc_node *n;
	uint64_t *tried;
	struct gcuc_plan best;
	uint64_t weight;		/* of the best; 0: there is none */
	int64_t rows;			/* of the output, or of its largest phase */
};

static int64_t outputs(const struct gcuc_conv *v)
{
	return v->ofm.c;
}

/* ---- candidates -------------------------------------------------------------------------- */

/* Counts the first kernel groups of a block and adds what the others take, as the last of these. */
static bool estimate(const struct gcuc_hw *hw, const struct gcuc_block *b, struct gcuc_count *n)
{
	int64_t groups = gcuc_kernel_groups(hw, b), some = cnn_min(groups, GROUPS_COUNTED);
	struct gcuc_schemes list = { .n = 0 };
	struct gcuc_scheme *s = gcuc_choose_scheme(hw, &list, b, some);
	struct gcuc_count less;

	if (s)
		*n = s->count;
	if (s && groups > some && gcuc_count_block(hw, &s->b, some - 1, &less)) {
		n->cycles += (n->cycles - less.cycles) * (uint64_t)(groups - some);
		n->lines += (n->lines - less.lines) * (uint64_t)(groups - some);
	}
	gcuc_schemes_free(&list);
	return s;
}

/* Of the first kernel groups of a block. */
static uint64_t op3_of(const struct gcuc_hw *hw, const struct gcuc_block *b, int64_t groups)
{
	return (uint64_t)(cnn_min(gcuc_kernel_groups(hw, b), groups) * b->y.out *
			  gcuc_channel_groups(hw, b) * b->y.kernel);
}

/* Weighs the plan of the node, and keeps it if it is the best so far. */
static void weigh(struct search *s)
{
	struct gcuc_piece p;
	struct gcuc_count n;
	uint64_t weight, pieces;

	if ((s->weight && *s->tried > TRIED_MAX) ||
	    gcuc_psum_bytes(s->hw, s->n) > s->n->conv.psum_bytes ||
	    !gcuc_typical_piece(s->hw, s->n, &p))
		return;
	*s->tried += SCHEMES * op3_of(s->hw, &p.b, GROUPS_COUNTED);
	if (!estimate(s->hw, &p.b, &n) || n.cycles > s->hw->cycles_max / 2)
		return;
	pieces = (uint64_t)gcuc_count_pieces(s->hw, s->n);
	if (op3_of(s->hw, &p.b, INT64_MAX) > COUNTED_MAX / pieces)
		return;
	weight = gcuc_weigh(&n) * pieces;
	if (!s->weight || weight < s->weight) {
		s->best = s->n->plan;
		s->weight = weight;
	}
}

/* Numbers without repetition. */
struct list {
	int64_t v[8];
	int n;
};

static void add(struct list *l, int64_t v)
{
	for (int i = 0; i < l->n; i++)
		if (l->v[i] == v)
			return;
	if (l->n < (int)(sizeof(l->v) / sizeof(l->v[0])))
		l->v[l->n++] = v;
}

/* Rows of a band: all; those whose input the slots hold; and fewer. */
static void try_bands(struct search *s)
{
	struct gcuc_sizes *z = &s->n->plan.sizes;
	int64_t rows = s->rows, held;
	struct list bands = { .n = 0 };
	struct gcuc_piece p;

	z->rows = rows;
	add(&bands, rows);
	if (gcuc_typical_piece(s->hw, s->n, &p)) {
		held = p.b.rows / gcuc_channel_groups(s->hw, &p.b) * (p.b.y.inner + 1);
		held = (held - gcuc_reach(&p.b.y)) / p.b.y.stride + 1;
		if (held > 0 && held < rows)
			add(&bands, cnn_div_up(rows, cnn_div_up(rows, held)));
	}
	for (int64_t i = 2; bands.n < BANDS && i <= rows; i *= 4)
		add(&bands, cnn_div_up(rows, i));
	for (int i = 0; i < bands.n; i++) {
		z->rows = bands.v[i];
		weigh(s);
	}
}

/* Banks of rows: all but those of the weights of all channel groups, or of as few as can be. */
static void try_banks(struct search *s)
{
	const struct gcuc_sizes *z = &s->n->plan.sizes;
	const struct gcuc_hw *hw = s->hw;
	int64_t words = gcuc_kbuf_points(z->kernel_y * z->kernel_x) * hw->atomic_k;
	int64_t groups = cnn_max(3, cnn_div_up(z->c, hw->atomic_c));
	int64_t all = cnn_div_up(groups * words, CNNACC_GCU_BANK_WORDS);
	int64_t least = cnn_div_up(3 * words, CNNACC_GCU_BANK_WORDS);
	struct list banks = { .n = 0 };

	if (all < hw->banks)
		add(&banks, hw->banks - all);
	add(&banks, hw->banks - least);
	if (least < hw->banks / 2)
		add(&banks, hw->banks / 2);
	for (int i = 0; i < banks.n; i++) {
		s->n->plan.fmbuf_banks = banks.v[i];
		try_bands(s);
	}
}

/* Input channels: all, or ranges whose weights stay for all output rows. */
static void try_channels(struct search *s)
{
	struct gcuc_sizes *z = &s->n->plan.sizes;
	const struct gcuc_hw *hw = s->hw;
	int64_t words = gcuc_kbuf_points(z->kernel_y * z->kernel_x) * hw->atomic_k;
	int64_t groups = cnn_div_up(s->n->conv.ifm.c, hw->atomic_c), fit;

	z->c = groups * hw->atomic_c;
	try_banks(s);
	fit = (hw->banks - 1) * CNNACC_GCU_BANK_WORDS / words;
	if (gcuc_is_native(&s->n->conv) || groups <= fit || !s->n->conv.psum_bytes)
		return;
	for (int64_t parts = cnn_div_up(groups, fit), i = 0; i < 2; i++, parts *= 2) {
		z->c = cnn_div_up(groups, parts) * hw->atomic_c;
		try_banks(s);
	}
}

/* The step of ranges of output channels: those of a group, or of a group of lanes. */
static int64_t k_step(const struct search *s)
{
	const struct gcuc_conv *v = &s->n->conv;
	int64_t step = cnn_max(s->hw->atomic_c, s->hw->atomic_k);

	return v->groups > 1 && !v->group_of && v->co % s->hw->atomic_c == 0 ? v->co : step;
}

/* Output channels: all, or fewer for the accumulators, the groups or the cycle limit. */
static void try_outputs(struct search *s)
{
	const struct gcuc_conv *v = &s->n->conv;
	struct gcuc_sizes *z = &s->n->plan.sizes;
	int64_t all = outputs(v), step = k_step(s);
	struct list sizes = { .n = 0 };

	if (gcuc_is_native(v) || v->groups == 1)
		add(&sizes, all);
	if (v->psum_bytes && v->groups == 1)
		add(&sizes, cnn_max(1, v->psum_bytes / (v->y.out * v->x.out * 4) / step) * step);
	if (!gcuc_is_native(v) && (v->groups > 1 || v->psum_bytes))
		add(&sizes, cnn_min(all, step));
	for (int i = 0; i < sizes.n; i++) {
		z->k = sizes.v[i];
		try_channels(s);
	}
	/* Still beyond the cycle limit: one kernel group at a time. */
	if (!s->weight && !gcuc_is_native(v)) {
		z->k = cnn_min(all, step);
		try_channels(s);
	}
}

/* Rows of a convolution of points may be one: short ones waste clocks. */
static int64_t merged_rows(const struct gcuc_hw *hw, const struct gcuc_node *n)
{
	const struct gcuc_conv *v = &n->conv;
	const struct gcuc_view *i = &n->plan.ifm, *o = &n->plan.ofm, *a = &n->plan.add;
	int64_t least = (v->format == CNNACC_GCU_FP16 ? CNNACC_GCU_UPDATE_FP16 :
							 CNNACC_GCU_UPDATE_INT) + 1, best = 1;

	if (v->y.kernel > 1 || v->x.kernel > 1 || v->y.out != v->y.in || v->x.out != v->x.in ||
	    v->y.inner || v->x.inner || v->y.begin || v->x.begin ||
	    i->row != v->x.in * i->column || o->row != v->x.in * o->column ||
	    (v->add >= 0 && a->row != v->x.in * a->column))
		return 1;
	for (int64_t m = 2; m <= v->y.in && best * v->x.in < least; m++)
		if (v->y.in % m == 0 && m * v->x.in <= hw->rbuf_depth)
			best = m;
	return best;
}

#define NARROW	64	/* columns that are not cut if they need not be */

/* Columns: as many as RBUF and a row slot take, and half of them. */
static void try_columns(struct search *s)
{
	const struct gcuc_axis *x = &s->n->conv.x;
	struct gcuc_sizes *z = &s->n->plan.sizes;
	int64_t columns, least, fits;

	gcuc_phase_size(s->n, z);
	gcuc_cut_kernel(s->hw, z);
	s->rows = z->rows;
	columns = z->columns;
	fits = ((CNNACC_GCU_COLUMNS_MIN << CNNACC_GCU_COLUMNS_CODE_MAX) * (x->inner + 1) -
		gcuc_reach(x)) / x->stride;
	least = cnn_div_up(columns, cnn_min(cnn_max(1, fits), s->hw->rbuf_depth));
	for (int64_t parts = least; parts <= columns; parts *= 2) {
		if (parts > least && s->weight && (parts > 2 * least || columns / parts < NARROW))
			break;
		z->columns = cnn_div_up(columns, parts);
		try_outputs(s);
	}
}

/* ---- the plan ---------------------------------------------------------------------------- */

struct totals {
	const struct gcuc_hw *hw;
	struct gcuc_plan *plan;
	struct gcuc_schemes list;
};

/* All members are uint64_t. */
static void add_count(struct gcuc_count *to, const struct gcuc_count *from)
{
	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

static int count_piece(void *opaque, const struct gcuc_piece *p)
{
	struct totals *t = opaque;
	const struct gcuc_scheme *s = gcuc_choose_scheme(t->hw, &t->list, &p->b, INT64_MAX);

	if (!s || s->count.cycles > t->hw->cycles_max / 2)
		return CNN_ELIMIT;
	add_count(&t->plan->count, &s->count);
	t->plan->fifo_refills += s->fifo_refills;
	t->plan->blocks++;
	return CNN_OK;
}

static const char *const formats[] = { "INT8", "INT16", "FP16" };

static void describe(const struct gcuc_node *n, const char *op, char *reason)
{
	const struct gcuc_plan *p = &n->plan;
	const struct gcuc_count *c = &p->count;

	snprintf(reason, CNN_REASON_LEN, "%s: %s, %lld block%s, %.1f %% of slots used, %llu bytes "
		 "of rows, %llu again and %llu of tables, FIFO %llu", op, formats[n->conv.format],
		 (long long)p->blocks, p->blocks == 1 ? "" : "s",
		 100.0 * (double)c->useful / (double)c->slots, (unsigned long long)c->rows_once,
		 (unsigned long long)c->row_refills, (unsigned long long)c->table_bytes,
		 (unsigned long long)p->fifo_refills);
}

bool gcuc_find_plan(const struct gcuc_hw *hw, struct gcuc_node *n, const char *op, uint64_t *tried,
		    char *reason)
{
	struct search s = { .hw = hw, .n = n, .tried = tried };
	struct totals t = { .hw = hw, .plan = &n->plan };
	int ret;

	n->plan.merge = merged_rows(hw, n);
	try_columns(&s);
	n->plan.phases = gcuc_has_phases(&n->conv);
	if (n->plan.phases)
		try_columns(&s);
	if (!s.weight)
		return cnn_reject(reason, "%s: no cut of %lld x %lld outputs and %lld x %lld "
				  "kernel points fits CBUF, RBUF and the cycle limit of gcu", op,
				  (long long)n->conv.y.out, (long long)n->conv.x.out,
				  (long long)n->conv.y.kernel, (long long)n->conv.x.kernel);
	n->plan = s.best;
	ret = gcuc_each_piece(hw, n, count_piece, &t);
	gcuc_schemes_free(&t.list);
	if (ret)
		return cnn_reject(reason, "%s: a piece of it exceeds the cycle limit or the "
				  "padding of gcu, %d", op, UINT8_MAX);
	describe(n, op, reason);
	return true;
}
