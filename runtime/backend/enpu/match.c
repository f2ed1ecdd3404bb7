// SPDX-License-Identifier: MIT
/* Which graph nodes core enpu can run, as what layer of which stages. */
#include <math.h>
#include <string.h>

#include "enpu.h"
#include "ops/ops.h"
#include "ops/quant.h"
#include "passes/rewrite.h"

#define PAD_MAX		15	/* strides, padding and points between taps are fields of 4 bits */
#define PHASES_MAX	64	/* of an axis */
#define STEP_MAX	255	/* words of a pixel */
#define MAPS_MAX	(CNN_ARENA_MAX / 4)	/* bytes of one value in the arena */

/* Inputs of QLinearAdd: a map, its scale and its zero point; those of the result. */
enum { ADD_A = 0, ADD_B = 3, ADD_Y_SCALE = 6, ADD_Y_ZERO = 7, ADD_INPUTS = 8 };

static bool is_sum(enum cnn_op op)
{
	return op == CNN_OP_CONV_INTEGER || op == CNN_OP_MATMUL_INTEGER;
}

static bool is_product(enum cnn_op op)
{
	return op == CNN_OP_SHIFT_CONV || op == CNN_OP_SHIFT_MATMUL;
}

bool enpuc_is_for(const struct cnn_graph *g, const struct cnn_node *n)
{
	(void)g;
	return is_sum(n->op) || is_product(n->op) || n->op == CNN_OP_SHIFT_REQUANTIZE ||
	       n->op == CNN_OP_SEGMENTED_LINEAR || n->op == CNN_OP_QLINEAR_CONV ||
	       n->op == CNN_OP_QLINEAR_MATMUL || n->op == CNN_OP_QGEMM ||
	       n->op == CNN_OP_QLINEAR_ADD || n->op == CNN_OP_SATURATING_ADD;
}

/* ---- maps ---- */

static bool map_dims(const struct cnn_tensor *t, int64_t dims[CNN_DIMS])
{
	if (!t || t->rank < 2 || t->rank > 4 || cnn_tensor_count(t) < 1)
		return false;
	for (int i = 0; i < CNN_DIMS; i++)
		dims[i] = i < t->rank ? t->dims[i] : 1;
	return true;
}

static struct cnn_layout map_layout(const int64_t dims[CNN_DIMS])
{
	int64_t pixel = cnn_round_up(dims[CNN_DIM_CHANNELS], ENPUC_WORD);
	const struct cnn_pixels p = {
		.n = dims[CNN_DIM_BATCH], .c = dims[CNN_DIM_CHANNELS], .rows = dims[CNN_DIM_ROWS],
		.columns = dims[CNN_DIM_COLUMNS], .column_pitch = pixel,
		.row_pitch = dims[CNN_DIM_COLUMNS] * pixel,
		.image_pitch = dims[CNN_DIM_ROWS] * dims[CNN_DIM_COLUMNS] * pixel, .size = 1,
	};

	return cnn_pixels_layout(&p);
}

/* Is it a map of int8 that the core can address? */
static bool check_map(const struct cnn_node *n, const struct cnn_tensor *t, const char *what,
		      char *reason)
{
	int64_t dims[CNN_DIMS];

	if (!map_dims(t, dims))
		return cnn_reject(reason, "%s: %s is empty, of unknown shape, or has not 2 to 4 "
				  "dimensions", n->op_type, what);
	if (t->dtype != CNN_INT8)
		return cnn_reject(reason, "%s: %s of type %s, enpu has int8", n->op_type, what,
				  cnn_dtype_name(t->dtype));
	if (dims[CNN_DIM_CHANNELS] > STEP_MAX * ENPUC_WORD)
		return cnn_reject(reason, "%s: %lld channels of %s, limit of enpu %d", n->op_type,
				  (long long)dims[CNN_DIM_CHANNELS], what, STEP_MAX * ENPUC_WORD);
	if (cnn_tensor_count(t) / dims[CNN_DIM_CHANNELS] >
	    MAPS_MAX / cnn_round_up(dims[CNN_DIM_CHANNELS], ENPUC_WORD))
		return cnn_reject(reason, "%s: %s is larger than %lld bytes", n->op_type, what,
				  (long long)MAPS_MAX);
	return true;
}

static void set_maps(const struct cnn_tensor *x, const struct cnn_tensor *y, struct enpuc_layer *l)
{
	int64_t in[CNN_DIMS], out[CNN_DIMS];

	map_dims(x, in);
	map_dims(y, out);
	l->in_layout = map_layout(in);
	l->out_layout = map_layout(out);
	l->n = in[CNN_DIM_BATCH];
	l->ci = in[CNN_DIM_CHANNELS];
	l->hi = in[CNN_DIM_ROWS];
	l->wi = in[CNN_DIM_COLUMNS];
	l->co = out[CNN_DIM_CHANNELS];
	l->ho = out[CNN_DIM_ROWS];
	l->wo = out[CNN_DIM_COLUMNS];
	l->out_words = l->ho * l->wo * enpuc_groups(l->co);
	l->hk = l->wk = l->sh = l->sw = 1;
	l->groups = 1;
	l->gather = (struct enpuc_gather){ .out = { 1, 1 }, .in = { 1, 1 }, .kernel_rows = 1 };
}

/* ---- windows ---- */

static bool set_window(const struct cnn_graph *g, const struct cnn_node *n,
		       const struct cnn_tensor *w, struct enpuc_layer *l, char *reason)
{
	struct cnn_window win;
	struct cnn_err err;

	if (cnn_window_resolve(n, cnn_node_in(g, n, 0), w, &win, &err))
		return cnn_reject(reason, "%s: %.100s", n->op_type, err.text);
	if (win.spatial != 2)
		return cnn_reject(reason, "%s: %d spatial axes, enpu has 2", n->op_type, win.spatial);
	l->hk = win.kernel[0];
	l->wk = win.kernel[1];
	/* Of a single row or column it does not matter. */
	l->sh = l->ho > 1 ? win.stride[0] : 1;
	l->sw = l->wo > 1 ? win.stride[1] : 1;
	l->dh = l->hk > 1 ? win.dilation[0] - 1 : 0;
	l->dw = l->wk > 1 ? win.dilation[1] - 1 : 0;
	l->ph = win.pad_begin[0];
	l->pw = win.pad_begin[1];
	l->groups = win.group;
	return true;
}

static bool check_field(const struct cnn_node *n, const char *what, int64_t v, int64_t limit,
			char *reason)
{
	return v >= 0 && v <= limit ? true :
	       cnn_reject(reason, "%s: %s %lld, limit of enpu %lld", n->op_type, what, (long long)v,
			  (long long)limit);
}

/* Padding that the instruction has. */
static int64_t padding(const struct enpuc_layer *l, int axis)
{
	if (axis == ENPUC_ROWS && l->gather.kernel_rows > 1)
		return 0;
	return cnn_div_up(axis == ENPUC_ROWS ? l->ph : l->pw, l->gather.in[axis]);
}

static bool check_window(const struct cnn_node *n, const struct enpuc_layer *l, char *reason)
{
	int64_t rows = (l->dh + 1) * (l->hk - 1) + 1, columns = (l->dw + 1) * (l->wk - 1) + 1;
	bool all = l->stage[0].opcode == CNNACC_ENPU_CONV && l->groups == 1;

	if (rows * columns > CNNACC_ENPU_IFMAP_PAD)
		return cnn_reject(reason, "%s: kernel of %lld x %lld points with its dilation, limit "
				  "of enpu %d in all; %s", n->op_type, (long long)rows,
				  (long long)columns, CNNACC_ENPU_IFMAP_PAD,
				  all ? "its rows are too many channels, or too long" :
					"only a convolution without groups has more");
	return check_field(n, "row stride", l->sh, PAD_MAX, reason) &&
	       check_field(n, "column stride", l->sw, PAD_MAX, reason) &&
	       check_field(n, "row padding", padding(l, ENPUC_ROWS), PAD_MAX, reason) &&
	       check_field(n, "column padding", padding(l, ENPUC_COLUMNS), PAD_MAX, reason) &&
	       check_field(n, "row dilation", l->dh + 1, PAD_MAX + 1, reason) &&
	       check_field(n, "column dilation", l->dw + 1, PAD_MAX + 1, reason);
}

/* ---- windows beyond the ifmap pad ---- */

/* Each phase of the input must have a pixel. */
static bool has_phases(const struct enpuc_layer *l, int axis)
{
	int64_t step = (axis == ENPUC_ROWS ? l->dh : l->dw) + 1;

	return step <= PHASES_MAX && step <= (axis == ENPUC_ROWS ? l->hi : l->wi);
}

/* Makes a kernel dense along an axis. */
static void cut_phases(struct enpuc_layer *l, int axis)
{
	int64_t *stride = axis == ENPUC_ROWS ? &l->sh : &l->sw;
	int64_t *between = axis == ENPUC_ROWS ? &l->dh : &l->dw;
	int64_t step = *between + 1, common = cnn_gcd(*stride, step);

	l->gather.used = true;
	l->gather.in[axis] = step;
	l->gather.out[axis] = step / common;
	*stride /= common;
	*between = 0;
}

static void move_kernel_rows(struct enpuc_layer *l)
{
	l->gather.used = true;
	l->gather.kernel_rows = l->hk;
	l->gather.dilation = l->dh + 1;
	l->gather.in[ENPUC_ROWS] = l->sh;
	l->ci *= l->hk;
	l->hk = l->sh = 1;
	l->dh = 0;
}

/* Does one row of the kernel fit, as it is or, if it may be, dense? */
static bool row_fits(const struct enpuc_layer *l, int64_t rows, bool dense)
{
	int64_t columns = (dense ? 1 : l->dw + 1) * (l->wk - 1) + 1;

	return rows * columns <= CNNACC_ENPU_IFMAP_PAD &&
	       (dense ? has_phases(l, ENPUC_COLUMNS) : l->dw <= PAD_MAX);
}

/* Phases of rows, of rows and columns; kernel rows as channels, and phases of columns. */
static void gather_window(struct enpuc_layer *l)
{
	bool rows = has_phases(l, ENPUC_ROWS), all = l->stage[0].opcode == CNNACC_ENPU_CONV;

	if (l->dh <= PAD_MAX && row_fits(l, (l->dh + 1) * (l->hk - 1) + 1, false))
		return;
	if (rows && (row_fits(l, l->hk, false) || row_fits(l, l->hk, true)))
		cut_phases(l, ENPUC_ROWS);
	else if (all && l->groups == 1 && l->hk * l->ci <= ENPUC_FIELD_MAX &&
		 (row_fits(l, 1, false) || row_fits(l, 1, true)))
		move_kernel_rows(l);
	else
		return;
	if (!row_fits(l, l->hk, false))
		cut_phases(l, ENPUC_COLUMNS);
}

/* ---- stages ---- */

static bool check_weights(const struct cnn_node *n, const struct cnn_tensor *w, char *reason)
{
	if (!w || !w->data)
		return cnn_reject(reason, "%s: weight is not constant", n->op_type);
	if (w->dtype != CNN_INT8)
		return cnn_reject(reason, "%s: weight of type %s, enpu has int8", n->op_type,
				  cnn_dtype_name(w->dtype));
	return true;
}

static bool is_zero(const struct cnn_tensor *t)
{
	for (int64_t i = 0; t && i < cnn_tensor_count(t); i++)
		if (!t->data || ((const int8_t *)t->data)[i])
			return false;
	return true;
}

/* The constants of a ShiftRequantize, for the channels of a map. */
static bool set_requantize(const struct cnn_graph *g, const struct cnn_node *n,
			   struct enpuc_stage *s, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);

	s->add = cnn_node_in(g, n, 2);
	s->shift = cnn_node_in(g, n, 3);
	if (!enpuc_is_by_channel(s->add, x->rank, x->dims[1]) ||
	    !enpuc_is_by_channel(s->shift, x->rank, x->dims[1]))
		return cnn_reject(reason, "%s: add or shift is not constant, or not one for each "
				  "channel", n->op_type);
	return true;
}

/* A psum of 24 bits must not wrap where the CPU's of 32 does not. */
static bool check_psums(const struct enpuc_core *core, const struct enpuc_layer *l,
			const struct cnn_node *n, char *reason)
{
	const struct enpuc_stage *s = &l->stage[0];
	int64_t limit = (int64_t)1 << (core->hw.psum_bits - 1);

	for (int64_t k = 0; k < l->co && core->hw.psum_bits < 32; k++) {
		int64_t sum = 0, add = 0;

		for (int64_t i = 0; i < s->per_channel; i++) {
			int64_t w = s->transposed ? s->weights[i * l->co + k] :
						    s->weights[k * s->per_channel + i];

			sum += w < 0 ? -w : w;
			add -= w * s->zero;
		}
		if (s->add)
			add += ((const int32_t *)s->add->data)[cnn_tensor_count(s->add) > 1 ? k : 0];
		sum = 128 * sum + (add < 0 ? -add : add);
		if (sum >= limit)
			return cnn_reject(reason, "%s: sums of channel %lld up to %lld, limit of "
					  "enpu %lld", n->op_type, (long long)k, (long long)sum,
					  (long long)limit);
	}
	return true;
}

static bool check_product(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *w = cnn_node_in(g, n, 1), *zero = cnn_node_in(g, n, 2);

	if (!check_map(n, cnn_node_in(g, n, 0), "input", reason) ||
	    !check_map(n, cnn_node_out(g, n, 0), "result", reason) || !check_weights(n, w, reason))
		return false;
	if (!is_zero(cnn_node_in(g, n, 3)) ||
	    (zero && (!zero->data || cnn_tensor_count(zero) != 1)))
		return cnn_reject(reason, "%s: a zero point is not constant, or weights have one",
				  n->op_type);
	if (n->op == CNN_OP_SHIFT_MATMUL && w->rank != 2)
		return cnn_reject(reason, "%s: enpu multiplies matrices of 2 dimensions", n->op_type);
	return true;
}

/* ShiftConv or ShiftMatMul. */
static bool match_product(const struct enpuc_core *core, const struct cnn_unit *unit,
			  struct enpuc_layer *l, char *reason)
{
	const struct cnn_graph *g = unit->g;
	const struct cnn_node *n = &g->nodes[unit->nodes[0]];
	const struct cnn_tensor *w = cnn_node_in(g, n, 1), *zero = cnn_node_in(g, n, 2);
	bool conv = n->op == CNN_OP_SHIFT_CONV;

	if (!check_product(g, n, reason))
		return false;
	set_maps(cnn_node_in(g, n, 0), cnn_node_out(g, n, 0), l);
	if (conv && !set_window(g, n, w, l, reason))
		return false;
	l->stage[0] = (struct enpuc_stage){
		.opcode = l->groups > 1 && l->groups == l->ci && l->groups == l->co ?
				  CNNACC_ENPU_DEPTHWISE : CNNACC_ENPU_CONV,
		.node = unit->nodes[0], .result = n->out[0], .relu = n->params.product.relu,
		.weights = w->data, .per_channel = cnn_tensor_count(w) / l->co, .transposed = !conv,
		.add = cnn_node_in(g, n, 4), .shift = cnn_node_in(g, n, 5),
		.zero = zero ? cnn_zero_point(zero, 0) : 0, .b = -1,
	};
	l->pad = (int8_t)l->stage[0].zero;
	gather_window(l);
	return check_window(n, l, reason) && check_psums(core, l, n, reason);
}

/* BN or MUL of a map of int8; x: the value that is map A. */
static bool set_product(const struct cnn_graph *g, const struct cnn_node *n, int x,
			struct enpuc_stage *s, char *reason)
{
	const struct cnn_tensor *times = cnn_node_in(g, n, 1), *t = cnn_node_in(g, n, 0);

	if (!check_map(n, t, "input", reason) || !set_requantize(g, n, s, reason))
		return false;
	if (times && !times->data) {
		if (s->add || (s->shift && cnn_tensor_count(s->shift) != 1))
			return cnn_reject(reason, "%s: a product of two maps has add, or not one "
					  "shift", n->op_type);
		s->opcode = CNNACC_ENPU_MUL;
		s->b = n->in[n->in[0] == x ? 1 : 0];
		return check_map(n, times, "times", reason);
	}
	if (!times || !enpuc_is_by_channel(times, t->rank, t->dims[1]))
		return cnn_reject(reason, "%s: times is left out, or not one number for each channel",
				  n->op_type);
	s->opcode = CNNACC_ENPU_BN;
	s->weights = times->data;
	s->per_channel = cnn_tensor_count(times) > 1 ? 1 : 0;
	return true;
}

/* ADD adds integers: that is a QLinearAdd of equal scales whose zero points add up. */
static bool set_qlinear_add(const struct cnn_graph *g, const struct cnn_node *n, int x,
			    struct enpuc_stage *s, char *reason)
{
	float a, b, sum;

	if (!check_map(n, cnn_node_in(g, n, ADD_A), "input 0", reason) ||
	    !check_map(n, cnn_node_in(g, n, ADD_B), "input 3", reason))
		return false;
	for (int i = 1; i < ADD_INPUTS; i++)
		if (i != ADD_B &&
		    (!cnn_node_in(g, n, i)->data || cnn_tensor_count(cnn_node_in(g, n, i)) != 1))
			return cnn_reject(reason, "%s: input %d is not one constant", n->op_type, i);
	a = cnn_scale(cnn_node_in(g, n, ADD_A + 1), 0);
	b = cnn_scale(cnn_node_in(g, n, ADD_B + 1), 0);
	sum = cnn_scale(cnn_node_in(g, n, ADD_Y_SCALE), 0);
	if (a != sum || b != sum)
		return cnn_reject(reason, "%s: scales %g and %g, sum %g: enpu adds maps of one scale",
				  n->op_type, (double)a, (double)b, (double)sum);
	if (cnn_zero_point(cnn_node_in(g, n, ADD_A + 2), 0) +
		    cnn_zero_point(cnn_node_in(g, n, ADD_B + 2), 0) !=
	    cnn_zero_point(cnn_node_in(g, n, ADD_Y_ZERO), 0))
		return cnn_reject(reason, "%s: the zero points of enpu's maps must add up to that of "
				  "the sum", n->op_type);
	s->opcode = CNNACC_ENPU_ADD;
	s->b = n->in[n->in[ADD_A] == x ? ADD_B : ADD_A];
	return true;
}

/* A node that is a pointwise stage, of which value x is map A. */
static bool set_stage(const struct cnn_graph *g, const struct cnn_node *n, int x,
		      struct enpuc_stage *s, char *reason)
{
	*s = (struct enpuc_stage){ .result = n->out[0], .b = -1 };
	switch (n->op) {
	case CNN_OP_SHIFT_REQUANTIZE:
		return set_product(g, n, x, s, reason);
	case CNN_OP_QLINEAR_ADD:
		return set_qlinear_add(g, n, x, s, reason);
	case CNN_OP_SATURATING_ADD:
		s->opcode = CNNACC_ENPU_ADD;
		s->b = n->in[n->in[0] == x ? 1 : 0];
		return check_map(n, cnn_node_in(g, n, 0), "input 0", reason) &&
		       check_map(n, cnn_node_in(g, n, 1), "input 1", reason);
	case CNN_OP_SEGMENTED_LINEAR:
		s->opcode = CNNACC_ENPU_LUT;
		s->table = cnn_node_in(g, n, 1)->data;
		return s->table ? check_map(n, cnn_node_in(g, n, 0), "input", reason) :
				  cnn_reject(reason, "%s: the table is not constant", n->op_type);
	case CNN_OP_RELU:
		s->opcode = CNNACC_ENPU_RELU;
		return check_map(n, cnn_node_in(g, n, 0), "input", reason);
	default:
		return cnn_reject(reason, "%s: no operator of enpu", n->op_type);
	}
}

/* How a second map becomes as large as the result; false: in no way of the core. */
static bool set_repeat(const struct cnn_tensor *b, const struct cnn_tensor *y,
		       struct enpuc_stage *s)
{
	int64_t from[CNN_DIMS], to[CNN_DIMS];
	bool rows, columns;

	if (!map_dims(b, from) || !map_dims(y, to) || b->rank != y->rank ||
	    from[CNN_DIM_BATCH] != to[CNN_DIM_BATCH] ||
	    from[CNN_DIM_CHANNELS] != to[CNN_DIM_CHANNELS])
		return false;
	rows = from[CNN_DIM_ROWS] != to[CNN_DIM_ROWS];
	columns = from[CNN_DIM_COLUMNS] != to[CNN_DIM_COLUMNS];
	if ((rows && from[CNN_DIM_ROWS] != 1) || (columns && from[CNN_DIM_COLUMNS] != 1))
		return false;
	s->repeat = rows && columns ? ENPUC_REPEAT_PIXEL : rows ? ENPUC_REPEAT_ROW :
		    columns ? ENPUC_REPEAT_COLUMN : ENPUC_WHOLE;
	s->b_layout = map_layout(from);
	return true;
}

static bool same_shape(const struct cnn_tensor *a, const struct cnn_tensor *b)
{
	return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(*a->dims));
}

/* The stage that a node is with value x as map A; the other one may be broadcast. */
static bool make_stage(const struct cnn_graph *g, int node, int x, struct enpuc_stage *s,
		       char *reason)
{
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_tensor *y;

	if (!set_stage(g, n, x, s, reason))
		return false;
	s->node = node;
	y = cnn_node_out(g, n, 0);
	if (!same_shape(&g->values[x].t, y))
		return cnn_reject(reason, "%s: the first map is broadcast", n->op_type);
	if (s->b >= 0 && (g->values[s->b].t.data || !set_repeat(&g->values[s->b].t, y, s)))
		return cnn_reject(reason, "%s: the second map is constant, or is broadcast along the "
				  "channels", n->op_type);
	return true;
}

static bool match_pool(const struct cnn_unit *unit, struct enpuc_layer *l, char *reason)
{
	const struct cnn_graph *g = unit->g;
	const struct cnn_node *n = &g->nodes[unit->nodes[0]];

	if (!check_map(n, cnn_node_in(g, n, 0), "input", reason))
		return false;
	if ((n->n_out > 1 && n->out[1] >= 0) || n->act.kind != CNN_ACT_NONE)
		return cnn_reject(reason, "%s: enpu gives no indices and no activation", n->op_type);
	set_maps(cnn_node_in(g, n, 0), cnn_node_out(g, n, 0), l);
	if (!set_window(g, n, NULL, l, reason))
		return false;
	l->stage[0] = (struct enpuc_stage){
		.opcode = CNNACC_ENPU_MAX_POOL, .node = unit->nodes[0], .result = n->out[0], .b = -1,
	};
	gather_window(l);
	return check_window(n, l, reason);
}

/* Concat of channels, of which all parts but the last end at words, or of one image's rows. */
static bool match_concat(const struct cnn_unit *unit, struct enpuc_layer *l, char *reason)
{
	const struct cnn_graph *g = unit->g;
	const struct cnn_node *n = &g->nodes[unit->nodes[0]];
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);
	int64_t axis = n->params.axis.axis, dims[CNN_DIMS];

	if (!check_map(n, y, "result", reason))
		return false;
	axis += axis < 0 ? y->rank : 0;
	l->of_rows = axis == CNN_DIM_ROWS && y->dims[0] == 1;
	if (n->n_in > ENPUC_STAGES || (axis != CNN_DIM_CHANNELS && !l->of_rows))
		return cnn_reject(reason, "%s: not along the channels or the rows of one image, or "
				  "of more than %d parts", n->op_type, ENPUC_STAGES);
	set_maps(cnn_node_in(g, n, 0), y, l);
	l->concat = true;
	for (int i = 0; i < n->n_in; i++) {
		const struct cnn_tensor *t = cnn_node_in(g, n, i);

		if (!check_map(n, t, "a part", reason))
			return false;
		if (t->data || (!l->of_rows && i < n->n_in - 1 && t->dims[1] % ENPUC_WORD))
			return cnn_reject(reason, "%s: part %d is constant, or its channels are not "
					  "a multiple of 16", n->op_type, i);
		map_dims(t, dims);
		l->part[i] = dims[axis];
		l->stage[l->stages++] = (struct enpuc_stage){
			.opcode = CNNACC_ENPU_RESHAPE, .node = unit->nodes[0],
			.result = i == n->n_in - 1 ? n->out[0] : -1, .b = i ? n->in[i] : -1,
			.b_layout = map_layout(dims),
		};
	}
	return true;
}

/* Transpose of one image: the core's dimensions are N, H, W, C. */
static bool match_transpose(const struct cnn_unit *unit, struct enpuc_layer *l, char *reason)
{
	static const uint32_t place[] = { 0, 3, 1, 2 };
	const struct cnn_graph *g = unit->g;
	const struct cnn_node *n = &g->nodes[unit->nodes[0]];
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *y = cnn_node_out(g, n, 0);
	const struct cnn_ints *perm = &n->params.transpose.perm;
	int64_t out[CNN_DIMS];

	if (!check_map(n, x, "input", reason) || !check_map(n, y, "result", reason))
		return false;
	set_maps(x, y, l);
	map_dims(y, out);
	if (l->n != 1 || l->ci > ENPUC_FIELD_MAX)
		return cnn_reject(reason, "%s: %lld images of %lld channels, limit of enpu 1 of %d",
				  n->op_type, (long long)l->n, (long long)l->ci, ENPUC_FIELD_MAX);
	l->out_words = out[CNN_DIM_BATCH] * l->out_words;
	l->ho = l->hi;
	l->wo = l->wi;
	l->co = l->ci;
	for (int i = 0; i < CNN_DIMS; i++) {
		int64_t from = i >= x->rank ? i : perm->n > 0 ? perm->v[i] : x->rank - 1 - i;

		l->order |= place[from] << 2 * place[i];
	}
	l->stage[l->stages++] = (struct enpuc_stage){
		.opcode = CNNACC_ENPU_RESHAPE, .node = unit->nodes[0], .result = n->out[0], .b = -1,
	};
	return true;
}

/* A list that is an attribute or input @i, if given; false: it is not constant, or too long. */
static bool get_list(const struct cnn_graph *g, const struct cnn_node *n, int i,
		     const struct cnn_ints *attribute, struct cnn_ints *list)
{
	const struct cnn_tensor *t = cnn_node_in(g, n, i);

	*list = attribute ? *attribute : (struct cnn_ints){ .n = -1 };
	if (!t)
		return true;
	if (!t->data || cnn_tensor_count(t) > CNN_MAX_RANK)
		return false;
	list->n = (int)cnn_tensor_count(t);
	for (int k = 0; k < list->n; k++)
		list->v[k] = cnn_int_at(t, k);
	return true;
}

/* Where a Slice begins; false: it is not constant, or has steps. */
static bool get_start(const struct cnn_graph *g, const struct cnn_node *n,
		      int64_t from[CNN_DIMS])
{
	const struct cnn_slice_params *p = &n->params.slice;
	const struct cnn_tensor *x = cnn_node_in(g, n, 0);
	struct cnn_ints starts, axes, steps;

	if (!get_list(g, n, 1, &p->starts, &starts) || !get_list(g, n, 3, &p->axes, &axes) ||
	    !get_list(g, n, 4, NULL, &steps))
		return false;
	for (int i = 0; i < starts.n; i++) {
		int64_t axis = axes.n >= 0 ? axes.v[i] : i;

		axis += axis < 0 ? x->rank : 0;
		if (steps.n >= 0 && steps.v[i] != 1)
			return false;
		from[axis] = starts.v[i] + (starts.v[i] < 0 ? x->dims[axis] : 0);
		from[axis] = cnn_max(0, cnn_min(from[axis], x->dims[axis]));
	}
	return true;
}

/* Slice: a RESHAPE of what is loaded out of the input, unless that is in a DTCM. */
static bool match_slice(const struct cnn_unit *unit, struct enpuc_layer *l, char *reason)
{
	const struct cnn_graph *g = unit->g;
	const struct cnn_node *n = &g->nodes[unit->nodes[0]];
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *y = cnn_node_out(g, n, 0);

	if (!check_map(n, x, "input", reason) || !check_map(n, y, "result", reason))
		return false;
	if (!get_start(g, n, l->from))
		return cnn_reject(reason, "%s: its range is not constant, or has steps",
				  n->op_type);
	set_maps(x, y, l);
	l->slice = true;
	l->n = y->dims[0];
	l->hi = l->ho;
	l->wi = l->wo;
	l->ci = l->co;
	l->stage[l->stages++] = (struct enpuc_stage){
		.opcode = CNNACC_ENPU_RESHAPE, .node = unit->nodes[0], .result = n->out[0], .b = -1,
	};
	return true;
}

static bool match_pointwise(const struct cnn_unit *unit, struct enpuc_layer *l, char *reason)
{
	const struct cnn_graph *g = unit->g;
	const struct cnn_node *n = &g->nodes[unit->nodes[0]];
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);
	int other = n->op == CNN_OP_QLINEAR_ADD ? ADD_B : n->op == CNN_OP_SATURATING_ADD ? 1 : 0;
	bool second = other && y && y->rank >= 0 && cnn_node_in(g, n, other) &&
		      !same_shape(cnn_node_in(g, n, 0), y);

	l->in = n->in[second ? other : 0];
	if (!y || y->rank < 0)
		return cnn_reject(reason, "%s: a shape is unknown", n->op_type);
	if (n->op == CNN_OP_SHIFT_REQUANTIZE && cnn_node_in(g, n, 0)->dtype != CNN_INT8)
		return cnn_reject(reason, "%s: no ConvInteger or MatMulInteger on enpu makes its "
				  "input", n->op_type);
	if (!make_stage(g, unit->nodes[0], l->in, &l->stage[0], reason))
		return false;
	set_maps(&g->values[l->in].t, y, l);
	return true;
}

static bool match_first(const struct enpuc_core *core, const struct cnn_unit *unit,
			struct enpuc_layer *l, char *reason)
{
	const struct cnn_node *n = &unit->g->nodes[unit->nodes[0]];

	l->in = n->n_in ? n->in[0] : -1;
	if (n->op == CNN_OP_QLINEAR_CONV || n->op == CNN_OP_QLINEAR_MATMUL || n->op == CNN_OP_QGEMM)
		return cnn_reject(reason, "%s: enpu requantises by shifts only (cnnquant --format "
				  "POT8)", n->op_type);
	if (is_sum(n->op))
		return cnn_reject(reason, "%s: enpu gives no sums of 32 bits: a ShiftRequantize by "
				  "channel must be its only reader", n->op_type);
	if (is_product(n->op))
		return match_product(core, unit, l, reason);
	if (n->op == CNN_OP_MAX_POOL)
		return match_pool(unit, l, reason);
	if (n->op == CNN_OP_CONCAT)
		return match_concat(unit, l, reason);
	if (n->op == CNN_OP_TRANSPOSE)
		return match_transpose(unit, l, reason);
	if (n->op == CNN_OP_SLICE)
		return match_slice(unit, l, reason);
	if (l->in < 0 || unit->g->values[l->in].t.rank < 0)
		return cnn_reject(reason, "%s: no operator of enpu", n->op_type);
	return match_pointwise(unit, l, reason);
}

/* ---- chains ---- */

static bool makes(const struct enpuc_layer *l, int value)
{
	for (int i = 0; i < l->stages; i++)
		if (l->stage[i].result == value)
			return true;
	return false;
}

/* A reader of the last stage's result that could be the next stage, or -1. */
static int find_stage(const struct cnn_graph *g, const struct enpuc_layer *l, int from,
		      struct enpuc_stage *s)
{
	int x = l->stage[l->stages - 1].result;
	const struct cnn_value *v = &g->values[x];
	char reason[CNN_REASON_LEN];

	for (int i = from; i < v->n_consumers && l->stages < ENPUC_STAGES; i++) {
		int next = v->consumers[i];

		if (!make_stage(g, next, x, s, reason))
			continue;
		/* Both maps, or one that the layer makes itself. */
		if (s->b < 0 || (s->b != x && !makes(l, s->b)))
			return i;
	}
	return -1;
}

/* Where relu is set, DEPTHWISE, BN and MUL have RELU behind them. */
static void add_stage(const struct cnn_graph *g, struct enpuc_layer *l, const struct enpuc_stage *s)
{
	const struct cnn_node *n = &g->nodes[s->node];
	bool relu = (is_product(n->op) || n->op == CNN_OP_SHIFT_REQUANTIZE) &&
		    n->params.product.relu;

	l->stage[l->stages++] = *s;
	if (!relu || s->opcode == CNNACC_ENPU_CONV)
		return;
	l->stage[l->stages - 1].result = -1;
	l->stage[l->stages++] = (struct enpuc_stage){
		.opcode = CNNACC_ENPU_RELU, .node = s->node, .result = s->result, .b = -1,
	};
}

static void add_stages(const struct enpuc_core *core, struct cnn_unit *unit, struct enpuc_layer *l)
{
	const struct cnn_graph *g = unit->g;
	struct enpuc_stage s;

	/* A node may become two stages. */
	for (int at = 0; l->stages < core->hw.stages - 1; at++) {
		at = find_stage(g, l, at, &s);
		if (at < 0)
			return;
		if (!cnn_unit_add_node(unit, s.node))
			continue;
		add_stage(g, l, &s);
		at = -1;
	}
}

/* Is the second map of stage i one that the unit already reads? */
static bool is_read(const struct enpuc_layer *l, int i)
{
	if (l->stage[i].b == l->in)
		return true;
	for (int k = 0; k < i; k++)
		if (l->stage[k].b == l->stage[i].b)
			return true;
	return false;
}

static bool add_values(const struct enpuc_core *core, struct cnn_unit *unit, struct enpuc_layer *l)
{
	struct cnn_node_io io = { .value = l->in, .layout = l->in_layout };
	bool ok = cnn_unit_add_in(unit, &io);

	for (int i = 0; i < l->stages; i++) {
		struct enpuc_stage *s = &l->stage[i];

		s->stored = s->result >= 0 && (core->base.compile->no_residency ||
					       cnn_unit_gives(unit, s->result));
		io = (struct cnn_node_io){ .value = s->b, .layout = s->b_layout };
		if (s->b >= 0 && !is_read(l, i))
			ok = ok && cnn_unit_add_in(unit, &io);
		io = (struct cnn_node_io){ .value = s->result, .layout = l->out_layout };
		if (s->stored)
			ok = ok && cnn_unit_add_out(unit, &io);
	}
	return ok;
}

bool enpuc_match(struct cnn_backend *base, struct cnn_unit *unit, char *reason)
{
	struct enpuc_core *core = (struct enpuc_core *)base;
	struct enpuc_node *n = &core->nodes[unit->nodes[0]];
	struct enpuc_layer *l = &n->layer;
	struct enpuc_stage first;

	*n = (struct enpuc_node){ .layer.in = -1 };
	reason[0] = '\0';
	if (core->hw.bad[0])
		return cnn_reject(reason, "%s: %s", unit->g->nodes[unit->nodes[0]].op_type,
				  core->hw.bad);
	if (!match_first(core, unit, l, reason))
		return false;
	if (l->concat || l->order || l->slice)
		return add_values(core, unit, l);
	first = l->stage[0];
	add_stage(unit->g, l, &first);
	if (l->stages > core->hw.stages)
		return cnn_reject(reason, "%s: half of the ITCM has not two instructions and STOP",
				  unit->g->nodes[unit->nodes[0]].op_type);
	if (!unit->alone)
		add_stages(core, unit, l);
	for (int i = 1; i < unit->n_nodes; i++)
		core->nodes[unit->nodes[i]].layer.stages = 0;
	return add_values(core, unit, l);
}

/* The nodes behind one, as far as the core may run them as one with it. */
int enpuc_companions(const struct cnn_graph *g, int node, int *nodes)
{
	const struct cnn_node *n = &g->nodes[node];
	struct enpuc_layer l = { .stages = 1, .stage[0].b = -1 };
	struct enpuc_stage s;
	int count = 0;

	if (n->n_out < 1 || n->out[0] < 0)
		return 0;
	if (is_sum(n->op)) {
		n = cnn_rewrite_only_reader(g, n);
		if (!n || n->op != CNN_OP_SHIFT_REQUANTIZE)
			return 0;
		nodes[count++] = (int)(n - g->nodes);
	} else if (!enpuc_is_for(g, n) && n->op != CNN_OP_MAX_POOL && n->op != CNN_OP_RELU) {
		return 0;
	}
	l.stage[0].result = n->out[0];
	while (l.stages < ENPUC_STAGES - 1 && find_stage(g, &l, 0, &s) >= 0) {
		nodes[count++] = s.node;
		l.stage[l.stages++] = s;
	}
	return count;
}
