// SPDX-License-Identifier: MIT
/* Which graph nodes core hwpe can run, as what convolution, and how their values lie. */
#include <stdlib.h>

#include "hwpe.h"

#define RESULT_ALIGN	4			/* bytes, of what ReLUWrite and DRAIN write */
#define BYTES_MAX	(CNN_ARENA_MAX / 4)	/* of one value in the arena */

static bool is_zero(const struct cnn_tensor *t)
{
	int64_t bytes = t ? cnn_tensor_bytes(t) : 0;

	for (int64_t i = 0; i < bytes; i++)
		if (!t->data || ((const uint8_t *)t->data)[i])
			return false;
	return true;
}

static bool check_weights(const struct cnn_node *n, const struct cnn_tensor *w, char *reason)
{
	return w && w->data ? true : cnn_reject(reason, "%s: weight is not constant", n->op_type);
}

static bool check_matrices(const struct cnn_node *n, const struct cnn_tensor *a,
			   const struct cnn_tensor *b, char *reason)
{
	if (b->rank >= 2 && a->rank >= b->rank &&
	    cnn_tensor_count(b) == b->dims[b->rank - 2] * b->dims[b->rank - 1])
		return true;
	return cnn_reject(reason,
			  "%s: matrices of %d and %d dimensions, one matrix of weights wanted",
			  n->op_type, a->rank, b->rank);
}

bool hwpec_is_unsplit(const struct cnn_node *n)
{
	return n->op == CNN_OP_QLINEAR_CONV || n->op == CNN_OP_QLINEAR_MATMUL ||
	       n->op == CNN_OP_QGEMM;
}

/* Why it was not made sums of products, or did not become a part of them. */
static bool refuse(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *w = hwpec_is_unsplit(n) ? cnn_node_in(g, n, 3) : NULL;
	const char *why = cnn_node_str(n, "why", NULL);

	if (n->op == CNN_OP_QLINEAR_SUMS && why)
		return cnn_reject(reason, "%s: hwpe does not requantise: %s", n->op_type, why);
	if (!hwpec_is_unsplit(n))
		return cnn_reject(reason,
				  "%s: hwpe has only ConvInteger and MatMulInteger, and what "
				  "becomes one of them",
				  n->op_type);
	return check_weights(n, w, reason) &&
	       (n->op != CNN_OP_QLINEAR_MATMUL ||
		check_matrices(n, cnn_node_in(g, n, 0), w, reason)) &&
	       cnn_reject(reason,
			  "%s: a scale, zero point or bias is not constant, or one for each row",
			  n->op_type);
}

static bool check_operands(const struct cnn_graph *g, const struct cnn_node *n, char *reason)
{
	const struct cnn_tensor *x = cnn_node_in(g, n, 0), *w = cnn_node_in(g, n, 1);
	const struct cnn_tensor *y = cnn_node_out(g, n, 0);

	if (!x || !y || cnn_tensor_count(x) < 1 || cnn_tensor_count(y) < 1)
		return cnn_reject(reason, "%s: a shape is unknown or empty", n->op_type);
	if (!check_weights(n, w, reason) ||
	    (n->op == CNN_OP_MATMUL_INTEGER && !check_matrices(n, x, w, reason)))
		return false;
	if (!is_zero(cnn_node_in(g, n, 2)) || !is_zero(cnn_node_in(g, n, 3)))
		return cnn_reject(reason, "%s: a zero point is not constant, or one for each row",
				  n->op_type);
	if (w->dtype != CNN_INT8)
		return cnn_reject(reason, "%s: weight of type %s, hwpe has int8", n->op_type,
				  cnn_dtype_name(w->dtype));
	if (cnn_node_in(g, n, 4) && !cnn_node_in(g, n, 4)->data)
		return cnn_reject(reason, "%s: what its sums begin with is not constant",
				  n->op_type);
	return true;
}

/* ---- shapes ---------------------------------------------------------------------------- */

static int64_t gcd(int64_t a, int64_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* Blocks begin at a word, have results for most columns, and write them where ReLUWrite can. */
static void cut_blocks(struct hwpec_node *n)
{
	int64_t word = HWPEC_WORD * n->per_byte, count = word / gcd(word, n->ci);

	while (count * n->co < HWPEC_COLUMNS && 2 * count <= n->groups)
		count *= 2;
	while (count < n->groups && count * n->co * hwpec_result_bytes(n) % RESULT_ALIGN)
		count *= 2;
	if (n->input || count > n->groups)
		count = n->groups;
	n->block_groups = count;
	n->blocks = cnn_div_up(n->groups, count);
	n->cs = n->blocks > 1 ? count * n->ci / n->per_byte : n->cp;
	n->words = cnn_div_up(n->kh * n->cs, HWPEC_WORD);
	n->rounds = n->kw * n->words;
	n->kp = cnn_round_up((n->blocks - 1) * count * n->co +
				     cnn_round_up(hwpec_block_outputs(n, n->blocks - 1),
						  HWPEC_COLUMNS),
			     HWPEC_COLUMNS);
}

static void set_pixels(struct hwpec_node *n)
{
	int64_t bytes = cnn_div_up(n->groups * n->ci, n->per_byte);

	n->input = bytes < HWPEC_WORD && !n->codes;
	n->cp = n->input ? bytes : cnn_round_up(bytes, HWPEC_WORD);
	n->ohp = cnn_round_up(n->oh, HWPEC_OUT_ROWS);
	n->owp = cnn_round_up(n->ow, HWPEC_OUT_COLUMNS);
	cut_blocks(n);
}

static void set_maps(struct hwpec_node *n)
{
	int64_t pixel = n->cp * n->per_byte;

	n->in_l = (struct cnn_layout){
		.n = n->n,
		.c = n->groups * n->ci,
		.plane = n->ih * n->iw,
		.plane_pitch = 1,
		.image_pitch = cnn_round_up(n->iw * n->ih * n->cp, CNNACC_LINE_SIZE) * n->per_byte,
		.columns = n->iw,
		.row_pitch = pixel,
		.column_pitch = n->ih * pixel,
		.size = 1,
		.codes = n->codes,
	};
	n->out_l = (struct cnn_layout){
		.n = n->n,
		.c = n->groups * n->co,
		.plane = n->oh * n->ow,
		.plane_pitch = 1,
		.image_pitch = n->owp * n->ohp * n->kp,
		.columns = n->ow,
		.row_pitch = n->kp,
		.column_pitch = n->ohp * n->kp,
		.size = hwpec_result_bytes(n),
	};
	n->out_bytes = n->n * n->out_l.image_pitch * n->out_l.size;
}

static int shift_of(const struct cnn_node *op)
{
	return (int)cnn_node_int(op, "shift_out", -1);
}

static const int32_t *start_of(const struct cnn_graph *g, const struct cnn_node *op)
{
	const struct cnn_tensor *t = cnn_node_in(g, op, 4);

	return t ? t->data : NULL;
}

static bool match_conv(const struct hwpec_hw *hw, const struct cnn_graph *g,
		       const struct cnn_node *op, struct hwpec_node *n, char *reason)
{
	struct cnn_window w;
	struct cnn_err err;
	int x, y;

	if (cnn_node_window(g, op, &w, &err))
		return cnn_reject(reason, "%s", err.text);
	if (w.spatial > 2)
		return cnn_reject(reason, "%s: %d spatial axes, limit of hwpe 2", op->op_type,
				  w.spatial);
	x = w.spatial - 1;
	if (w.kernel[x] > hw->kernel_max)
		return cnn_reject(reason, "%s: kernel of %lld columns, limit of hwpe %lld",
				  op->op_type, (long long)w.kernel[x], (long long)hw->kernel_max);
	*n = (struct hwpec_node){
		.in = op->in[0],
		.out = op->out[0],
		.n = w.batch,
		.groups = w.group,
		.ci = w.in_ch / w.group,
		.co = w.out_ch / w.group,
		.ih = 1,
		.oh = 1,
		.kh = 1,
		.dh = 1,
		.sh = 1,
		.iw = w.in[x],
		.ow = w.out[x],
		.kw = w.kernel[x],
		.dw = w.dilation[x],
		.sw = w.stride[x],
		.pl = w.pad_begin[x],
		.codes = n->codes,
		.per_byte = n->per_byte,
		.type = n->type,
		.pad = cnn_codes_fill(n->codes, (int8_t)cnn_node_int(op, "pad_value", 0)),
		.shift = shift_of(op),
		.start = start_of(g, op),
	};
	y = x - 1;
	if (y >= 0) {
		n->ih = w.in[y];
		n->oh = w.out[y];
		n->dh = w.dilation[y];
		n->kh = (w.kernel[y] - 1) * n->dh + 1;
		n->sh = w.stride[y];
		n->pt = w.pad_begin[y];
	}
	n->w = (struct hwpec_weights){
		.data = cnn_node_in(g, op, 1)->data,
		.x = 1,
		.y = n->kw,
		.c = n->kw * (y >= 0 ? w.kernel[y] : 1),
	};
	n->w.k = n->w.c * n->ci;
	set_pixels(n);
	set_maps(n);
	return true;
}

/* Rows of the left matrix are pixels, half of them in the left column. */
static void match_product(const struct cnn_graph *g, const struct cnn_node *op,
			  struct hwpec_node *n)
{
	const struct cnn_tensor *a = cnn_node_in(g, op, 0), *b = cnn_node_in(g, op, 1);
	int64_t depth = b->dims[b->rank - 2], columns = b->dims[b->rank - 1];
	int64_t rows = cnn_tensor_count(a) / depth;
	int64_t part = cnn_round_up(cnn_div_up(rows, HWPEC_OUT_COLUMNS), HWPEC_OUT_ROWS);

	*n = (struct hwpec_node){
		.in = op->in[0],
		.out = op->out[0],
		.product = true,
		.rows = rows,
		.n = 1,
		.groups = 1,
		.ci = depth,
		.co = columns,
		.codes = n->codes,
		.per_byte = n->per_byte,
		.type = n->type,
		.ih = part,
		.oh = part,
		.iw = 2,
		.ow = 2,
		.kh = 1,
		.kw = 1,
		.dh = 1,
		.dw = 1,
		.sh = 1,
		.sw = 1,
		.w = { .data = b->data, .k = 1, .c = columns },
		.shift = shift_of(op),
		.start = start_of(g, op),
	};
	set_pixels(n);
	n->in_l = (struct cnn_layout){
		.n = 1, .c = rows, .plane = n->ci, .plane_pitch = n->cp * n->per_byte,
		.image_pitch = rows * n->cp * n->per_byte, .size = 1, .codes = n->codes,
	};
	n->out_l = (struct cnn_layout){
		.n = 1,
		.c = rows,
		.plane = n->co,
		.plane_pitch = n->kp,
		.image_pitch = rows * n->kp,
		.size = hwpec_result_bytes(n),
	};
	n->out_bytes = 2 * part * n->kp * n->out_l.size;
}

/* ---- sums ------------------------------------------------------------------------------ */

/* The core stops at the ends of int32 where the CPU goes round: no sum may come there. */
static bool check_sums(const struct hwpec_node *n, const char *op, char *reason)
{
	int64_t most = n->type == CNNACC_HWPE_UINT8 ? 255 : n->codes ? cnn_codes_most(n->codes) : 128;
	int64_t rows = (n->kh - 1) / n->dh + 1;

	for (int64_t k = 0; k < n->groups * n->co; k++) {
		int64_t sum = n->start ? llabs((int64_t)n->start[k]) : 0;

		for (int64_t c = 0; c < n->ci; c++)
			for (int64_t i = 0; i < rows * n->kw; i++)
				sum += most * abs(n->w.data[k * n->w.k + c * n->w.c +
							    i / n->kw * n->w.y + i % n->kw * n->w.x]);
		if (sum > INT32_MAX)
			return cnn_reject(reason,
					  "%s: sums of output channel %lld up to %lld, limit of "
					  "hwpe %d",
					  op, (long long)k, (long long)sum, INT32_MAX);
	}
	return true;
}

/* The format that has the values of both operands; bytes where pixels have less than a word. */
static void set_type(const struct hwpec_core *core, const struct cnn_node *op, struct hwpec_node *n)
{
	const struct cnn_graph *g = core->base.lw->g;
	const struct cnn_tensor *a = cnn_node_in(g, op, 0), *b = cnn_node_in(g, op, 1);
	static const uint32_t types[CNN_CODES_COUNT] = {
		[CNN_CODES_NONE] = CNNACC_HWPE_INT8, [CNN_CODES_EXP4] = CNNACC_HWPE_EXP4,
		[CNN_CODES_TER2] = CNNACC_HWPE_TER2,
	};
	enum cnn_codes x = core->codes[op->in[0]], w = core->codes[op->in[1]];
	int64_t channels = op->op == CNN_OP_CONV_INTEGER ? a->dims[1] :
			   b->rank > 1 ? b->dims[b->rank - 2] : 1;
	int8_t pad = (int8_t)cnn_node_int(op, "pad_value", 0);
	enum cnn_codes beside = cnn_codes_of(&pad, 1);

	x = beside < x ? beside : x;
	n->codes = channels < HWPEC_WORD ? CNN_CODES_NONE : x < w ? x : w;
	n->per_byte = 8 / cnn_codes_bits(n->codes);
	n->type = types[n->codes];
	if (a->dtype == CNN_UINT8)
		n->type = CNNACC_HWPE_UINT8;
}

bool hwpec_match(const struct hwpec_core *core, int node, struct hwpec_node *n, char *reason)
{
	const struct cnn_graph *g = core->base.lw->g;
	const struct cnn_node *op = &g->nodes[node];
	bool product = op->op == CNN_OP_MATMUL_INTEGER;
	const struct hwpec_hw *hw = &core->hw;

	if (hw->bad[0])
		return cnn_reject(reason, "%s: %s", op->op_type, hw->bad);
	if (!product && op->op != CNN_OP_CONV_INTEGER)
		return refuse(g, op, reason);
	if (!check_operands(g, op, reason))
		return false;
	set_type(core, op, n);
	if (product)
		match_product(g, op, n);
	else if (!match_conv(hw, g, op, n, reason))
		return false;
	if (n->shift > hw->shift_max)
		return cnn_reject(reason, "%s: shift of %d, limit of hwpe %lld", op->op_type,
				  n->shift, (long long)hw->shift_max);
	if (n->out_bytes > BYTES_MAX)
		return cnn_reject(reason, "%s: results of %lld bytes, limit of hwpe %lld",
				  op->op_type, (long long)n->out_bytes, (long long)BYTES_MAX);
	return check_sums(n, op->op_type, reason);
}
