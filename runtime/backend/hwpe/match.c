// SPDX-License-Identifier: MIT
/* Which graph nodes core hwpe can run, as what convolution, and their layouts. */
#include <stdlib.h>

#include "hwpe.h"

#define RESULT_ALIGN	4 /* bytes; ReLUWrite and DRAIN write aligned results */
#define BYTES_MAX	(CNN_ARENA_MAX / 4)	/* of one value in the arena */

/*
 * Cuts groups into blocks: their pixels are whole words, their outputs fill most columns, and their
 * results are aligned for ReLUWrite.
 */
static void cut_blocks(struct hwpec_conv *v)
{
	int64_t word = HWPEC_WORD * v->per_byte, count = word / cnn_gcd(word, v->ci);

	while (count * v->co < HWPEC_COLUMNS && 2 * count <= v->groups)
		count *= 2;
	while (count < v->groups && count * v->co * hwpec_result_bytes(v) % RESULT_ALIGN)
		count *= 2;
	if (v->input_layer || count > v->groups)
		count = v->groups;
	v->block_groups = count;
	v->blocks = cnn_div_up(v->groups, count);
	v->sram_pixel = v->blocks > 1 ? count * v->ci / v->per_byte : v->pixel;
	v->words = cnn_div_up(v->kh * v->sram_pixel, HWPEC_WORD);
	v->ofm_c_padded = cnn_round_up((v->blocks - 1) * count * v->co +
				       cnn_round_up(hwpec_block_outputs(v, v->blocks - 1),
						    HWPEC_COLUMNS), HWPEC_COLUMNS);
}

static void set_pixels(struct hwpec_conv *v)
{
	int64_t bytes = cnn_div_up(v->groups * v->ci, v->per_byte);

	v->input_layer = bytes < HWPEC_WORD && !v->codes;
	v->pixel = v->input_layer ? bytes : cnn_round_up(bytes, HWPEC_WORD);
	v->ofm_h_padded = cnn_round_up(v->ofm_h, HWPEC_OUT_ROWS);
	v->ofm_w_padded = cnn_round_up(v->ofm_w, HWPEC_OUT_COLUMNS);
	cut_blocks(v);
}

static void set_maps(struct hwpec_conv *v)
{
	int64_t pixel = v->pixel * v->per_byte;
	const struct cnn_pixels ifm = {
		.n = v->batch, .c = v->groups * v->ci, .rows = v->ifm_h, .columns = v->ifm_w,
		.image_pitch = cnn_round_up(v->ifm_w * v->ifm_h * v->pixel, CNNACC_LINE_SIZE) *
			       v->per_byte,
		.row_pitch = pixel, .column_pitch = v->ifm_h * pixel,
		.size = 1, .codes = cnn_codes_number(v->codes),
	};
	const struct cnn_pixels ofm = {
		.n = v->batch, .c = v->groups * v->co, .rows = v->ofm_h, .columns = v->ofm_w,
		.image_pitch = v->ofm_w_padded * v->ofm_h_padded * v->ofm_c_padded,
		.row_pitch = v->ofm_c_padded, .column_pitch = v->ofm_h_padded * v->ofm_c_padded,
		.size = hwpec_result_bytes(v),
	};

	v->ifm = cnn_pixels_layout(&ifm);
	v->ofm = cnn_pixels_layout(&ofm);
	v->ofm_bytes = v->batch * ofm.image_pitch * ofm.size;
}

static int shift_of(const struct cnn_node *op)
{
	return op->op == CNN_OP_CONV_SUMS || op->op == CNN_OP_MATMUL_SUMS ?
		       (int)op->params.product.shift_out : -1;
}

static const int32_t *acc_init_of(const struct cnn_graph *g, const struct cnn_node *op)
{
	const struct cnn_tensor *t = cnn_node_in(g, op, 4);

	return t ? t->data : NULL;
}

static bool match_conv(const struct hwpec_hw *hw, const struct cnn_graph *g,
		       const struct cnn_node *op, struct hwpec_conv *v, char *reason)
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
	*v = (struct hwpec_conv){
		.in = op->in[0], .out = op->out[0], .batch = w.batch, .groups = w.group,
		.ci = w.in_ch / w.group, .co = w.out_ch / w.group, .ifm_h = 1, .ofm_h = 1, .kh = 1,
		.dh = 1, .sh = 1, .ifm_w = w.in[x], .ofm_w = w.out[x], .kw = w.kernel[x],
		.dw = w.dilation[x], .sw = w.stride[x], .pad_left = w.pad_begin[x],
		.codes = v->codes, .per_byte = v->per_byte, .type = v->type,
		.pad_byte = cnn_codes_fill(v->codes, (int8_t)op->params.product.pad_value),
		.shift = shift_of(op), .acc_init = acc_init_of(g, op),
	};
	y = x - 1;
	if (y >= 0) {
		v->ifm_h = w.in[y];
		v->ofm_h = w.out[y];
		v->dh = w.dilation[y];
		v->kh = (w.kernel[y] - 1) * v->dh + 1;
		v->sh = w.stride[y];
		v->pad_top = w.pad_begin[y];
	}
	v->weights = (struct hwpec_weights){
		.data = cnn_node_in(g, op, 1)->data, .x = 1, .y = v->kw,
		.c = v->kw * (y >= 0 ? w.kernel[y] : 1),
	};
	v->weights.k = v->weights.c * v->ci;
	set_pixels(v);
	set_maps(v);
	return true;
}

static void set_matrices(struct hwpec_conv *v)
{
	const struct cnn_planes ifm = {
		.n = 1, .c = v->rows, .plane = v->ci, .plane_pitch = v->pixel * v->per_byte,
		.image_pitch = v->rows * v->pixel * v->per_byte, .size = 1,
		.codes = cnn_codes_number(v->codes),
	};
	const struct cnn_planes ofm = {
		.n = 1, .c = v->rows, .plane = v->co, .plane_pitch = v->ofm_c_padded,
		.image_pitch = v->rows * v->ofm_c_padded, .size = hwpec_result_bytes(v),
	};

	v->ifm = cnn_planes_layout(&ifm);
	v->ofm = cnn_planes_layout(&ofm);
	v->ofm_bytes = v->ofm_w * v->ofm_h * v->ofm_c_padded * ofm.size;
}

/* Rows of the left matrix become pixels, half of them in each of two columns. */
static void match_product(const struct cnn_graph *g, const struct cnn_node *op,
			  struct hwpec_conv *v)
{
	const struct cnn_tensor *a = cnn_node_in(g, op, 0), *b = cnn_node_in(g, op, 1);
	int64_t depth = b->dims[b->rank - 2], columns = b->dims[b->rank - 1];
	int64_t rows = cnn_tensor_count(a) / depth;
	int64_t part = cnn_round_up(cnn_div_up(rows, HWPEC_OUT_COLUMNS), HWPEC_OUT_ROWS);

	*v = (struct hwpec_conv){
		.in = op->in[0], .out = op->out[0], .product = true, .rows = rows, .batch = 1,
		.groups = 1, .ci = depth, .co = columns, .codes = v->codes, .per_byte = v->per_byte,
		.type = v->type, .ifm_h = part, .ofm_h = part, .ifm_w = 2, .ofm_w = 2, .kh = 1,
		.kw = 1, .dh = 1, .dw = 1, .sh = 1, .sw = 1,
		.weights = { .data = b->data, .k = 1, .c = columns }, .shift = shift_of(op),
		.acc_init = acc_init_of(g, op),
	};
	set_pixels(v);
	set_matrices(v);
}

/* The core saturates at the limits of int32 where the CPU wraps: no sum may reach them. */
static bool check_sums(const struct hwpec_conv *v, const char *op, char *reason)
{
	const struct hwpec_weights *w = &v->weights;
	int64_t most = v->type == CNNACC_HWPE_UINT8 ? 255 :
		       v->codes			    ? cnn_codes_format(v->codes)->largest :
						      128;
	int64_t rows = (v->kh - 1) / v->dh + 1;

	for (int64_t k = 0; k < v->groups * v->co; k++) {
		int64_t sum = v->acc_init ? llabs((int64_t)v->acc_init[k]) : 0;

		for (int64_t c = 0; c < v->ci; c++)
			for (int64_t i = 0; i < rows * v->kw; i++)
				sum += most * abs(w->data[k * w->k + c * w->c + i / v->kw * w->y +
							  i % v->kw * w->x]);
		if (sum > INT32_MAX)
			return cnn_reject(reason, "%s: sums of output channel %lld up to %lld, "
					  "limit of hwpe %d", op, (long long)k, (long long)sum,
					  INT32_MAX);
	}
	return true;
}

/*
 * The narrowest format that has the values of both operands, or bytes if a pixel is less than a
 * word.
 */
static void set_type(const struct hwpec_core *core, const struct cnn_node *op, struct hwpec_conv *v)
{
	const struct cnn_graph *g = core->base.compile->g;
	const struct cnn_tensor *a = cnn_node_in(g, op, 0), *b = cnn_node_in(g, op, 1);
	static const uint32_t types[CNN_CODES_COUNT] = {
		[CNN_CODES_NONE] = CNNACC_HWPE_INT8, [CNN_CODES_EXP4] = CNNACC_HWPE_EXP4,
		[CNN_CODES_TER2] = CNNACC_HWPE_TER2,
	};
	enum cnn_codes x = core->codes[op->in[0]], w = core->codes[op->in[1]];
	int64_t channels = cnn_op_base(op->op) == CNN_OP_CONV_INTEGER ? a->dims[1] :
			   b->rank > 1 ? b->dims[b->rank - 2] : 1;
	int8_t pad = (int8_t)op->params.product.pad_value;
	enum cnn_codes beside = cnn_codes_of(&pad, 1);

	x = beside < x ? beside : x;
	v->codes = channels < HWPEC_WORD ? CNN_CODES_NONE : x < w ? x : w;
	v->per_byte = 8 / cnn_packed_bits(cnn_codes_number(v->codes));
	v->type = types[v->codes];
	if (a->dtype == CNN_UINT8)
		v->type = CNNACC_HWPE_UINT8;
}

bool hwpec_match(const struct hwpec_core *core, int node, struct hwpec_conv *v, char *reason)
{
	const struct cnn_graph *g = core->base.compile->g;
	const struct cnn_node *op = &g->nodes[node];
	bool product = cnn_op_base(op->op) == CNN_OP_MATMUL_INTEGER;
	const struct hwpec_hw *hw = &core->hw;

	if (hw->bad[0])
		return cnn_reject(reason, "%s: %s", op->op_type, hw->bad);
	if (!product && cnn_op_base(op->op) != CNN_OP_CONV_INTEGER)
		return cnn_refuse_product(g, op, "hwpe", reason);
	if (!cnn_check_product(g, op, "hwpe", reason))
		return false;
	set_type(core, op, v);
	if (product)
		match_product(g, op, v);
	else if (!match_conv(hw, g, op, v, reason))
		return false;
	if (v->shift > hw->shift_max)
		return cnn_reject(reason, "%s: shift of %d, limit of hwpe %lld", op->op_type,
				  v->shift, (long long)hw->shift_max);
	if (v->ofm_bytes > BYTES_MAX)
		return cnn_reject(reason, "%s: results of %lld bytes, limit of hwpe %lld",
				  op->op_type, (long long)v->ofm_bytes, (long long)BYTES_MAX);
	return check_sums(v, op->op_type, reason);
}
