// SPDX-License-Identifier: MIT
/* Tables of parameters, and what walks them. */
#include <math.h>
#include <string.h>

#include "graph_internal.h"
#include "params_table.h"

TABLE(none) = { END };

TABLE(conv) = { WINDOW, GROUP, END };
TABLE(qlinear_conv) = {
	WINDOW, GROUP, INT("multiplier_bits", product.multiplier_bits, 24, NO_LIMITS),
	INT("unused_outputs", product.unused_outputs, 0, LIMITS(0, WINDOW_MAX)), END
};
TABLE(conv_transpose) = {
	WINDOW, GROUP,
	INTS("output_padding", window.output_padding, CNN_MAX_SPATIAL, LIMITS(0, WINDOW_MAX)),
	INTS("output_shape", window.output_shape, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)), END
};
TABLE(qlinear_conv_transpose) = {
	WINDOW, GROUP,
	INTS("output_padding", window.output_padding, CNN_MAX_SPATIAL, LIMITS(0, WINDOW_MAX)),
	INTS("output_shape", window.output_shape, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)),
	INT("multiplier_bits", product.multiplier_bits, 24, NO_LIMITS), END
};
TABLE(average_pool) = {
	WINDOW, FLAG("ceil_mode", window.ceil_mode, 0),
	FLAG("count_include_pad", window.count_include_pad, 0), END
};
#define NORM_P	INT("p", window.p, 2, LIMITS(1, INT32_MAX))
TABLE(lp_pool) = { WINDOW, FLAG("ceil_mode", window.ceil_mode, 0), NORM_P, END };
TABLE(global_lp_pool) = { NORM_P, END };
TABLE(max_pool) = {
	WINDOW, FLAG("ceil_mode", window.ceil_mode, 0),
	FLAG("storage_order", window.storage_order, 0), END
};
TABLE(col2im) = {
	INTS("dilations", window.dilations, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)),
	INTS("pads", window.pads, 2 * CNN_MAX_SPATIAL, LIMITS(0, WINDOW_MAX)),
	INTS("strides", window.strides, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)), END
};
TABLE(max_unpool) = {
	INTS("kernel_shape", window.kernel_shape, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)),
	INTS("pads", window.pads, 2 * CNN_MAX_SPATIAL, LIMITS(-WINDOW_MAX, WINDOW_MAX)),
	INTS("strides", window.strides, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)), END
};
TABLE(gemm) = {
	FLOAT("alpha", gemm.alpha, 1), FLOAT("beta", gemm.beta, 1),
	FLAG("transA", gemm.trans_a, 0), FLAG("transB", gemm.trans_b, 0),
	IGNORED("broadcast", 'i'), END
};
TABLE(qgemm) = {
	FLAG("transB", gemm.trans_b, 0),
	INT("multiplier_bits", product.multiplier_bits, 24, NO_LIMITS), END
};

TABLE(binary) = {
	INT("axis", binary.axis, CNN_AXIS_NONE, NO_LIMITS), FLAG("broadcast", binary.broadcast, 0),
	END
};
static const char *const shifts[] = { "", "LEFT", "RIGHT", NULL };
static const char *const gelus[] = { "none", "tanh", NULL };

TABLE(clip) = { FLOAT("min", clip.min, -INFINITY), FLOAT("max", clip.max, INFINITY), END };
TABLE(alpha_1) = { FLOAT("alpha", unary.alpha, 1), END };
TABLE(leaky_relu) = { FLOAT("alpha", unary.alpha, 0.01f), END };
TABLE(selu) = {
	FLOAT("alpha", unary.alpha, 1.67326319217681884765625f),
	FLOAT("gamma", unary.beta, 1.05070102214813232421875f), END
};
TABLE(shrink) = { FLOAT("lambd", unary.alpha, 0.5f), FLOAT("bias", unary.beta, 0), END };
TABLE(gelu) = { CHOICE("approximate", unary.approximate, 0, gelus), END };
TABLE(hard_sigmoid) = {
	FLOAT("alpha", unary.alpha, 0.2f), FLOAT("beta", unary.beta, 0.5f), END
};
TABLE(is_inf) = {
	FLAG("detect_negative", is_inf.negative, 1), FLAG("detect_positive", is_inf.positive, 1),
	END
};
TABLE(batch_norm) = {
	FLOAT("epsilon", norm.epsilon, 1e-5f), IGNORED("momentum", 'f'),
	FLAG("spatial", norm.spatial, 1), FLAG("is_test", norm.is_test, 0),
	FLAG("training_mode", norm.training_mode, 0), END
};
TABLE(layer_norm) = {
	FLOAT("epsilon", norm.epsilon, 1e-5f), INT("axis", norm.axis, -1, NO_LIMITS),
	IGNORED("stash_type", 'i'), END
};
TABLE(instance_norm) = { FLOAT("epsilon", norm.epsilon, 1e-5f), END };
TABLE(group_norm) = {
	FLOAT("epsilon", norm.epsilon, 1e-5f), INT("num_groups", norm.num_groups, 0, NO_LIMITS),
	IGNORED("stash_type", 'i'), END
};
TABLE(lrn) = {
	INT("size", lrn.size, 0, NO_LIMITS), FLOAT("alpha", lrn.alpha, 1e-4f),
	FLOAT("beta", lrn.beta, 0.75f), FLOAT("bias", lrn.bias, 1), END
};
TABLE(lp_norm) = {
	INT("axis", lp_norm.axis, -1, NO_LIMITS), INT("p", lp_norm.p, 2, NO_LIMITS), END
};
TABLE(mod) = { FLAG("fmod", mod.fmod, 0), END };
TABLE(shift) = { CHOICE("direction", shift.direction, CNN_SHIFT_NONE, shifts), END };
TABLE(dropout) = {
	IGNORED("ratio", 'f'), IGNORED("seed", 'i'), FLAG("is_test", norm.is_test, 0), END
};
/* Of rounding to 8-bit floats, which no tensor holds. */
#define FLOAT8	IGNORED("saturate", 'i'), IGNORED("round_mode", 's')

TABLE(cast) = { INT("to", cast.to, 0, NO_LIMITS), FLOAT8, END };
TABLE(cast_like) = { FLOAT8, END };

TABLE(quantize) = {
	INT("axis", axis.axis, 1, NO_LIMITS), FIXED("block_size", 0), FIXED("precision", 0),
	INT("output_dtype", axis.output_dtype, CNN_UNDEFINED, NO_LIMITS), IGNORED("saturate", 'i'),
	END
};
TABLE(requantize) = { INT("multiplier_bits", requantize.multiplier_bits, 31, NO_LIMITS), END };
/* Beside int16; 0: the scales are powers of two, and operands are shifted. */
TABLE(qlinear_add) = { INT("multiplier_bits", product.multiplier_bits, 31, NO_LIMITS), END };
TABLE(qlinear_sums) = {
	INT("axis", sums.axis, 1, NO_LIMITS), INT("group", sums.group, 1, NO_LIMITS),
	TEXT("why", sums.why), END
};
TABLE(integer_conv) = {
	WINDOW, GROUP, FLAG("uneven_groups", window.uneven_groups, 0), END
};
TABLE(requantize_sums) = {
	INT("axis", sums.axis, 1, NO_LIMITS),
	INT("multiplier_bits", product.multiplier_bits, 24, NO_LIMITS), TEXT("why", sums.why), END
};
#define PRODUCT \
	FLAG("input_sums", product.input_sums, 0), \
	INT("shift_out", product.shift_out, -1, LIMITS(-1, 31))

TABLE(conv_sums) = {
	WINDOW, GROUP, PRODUCT,
	INT("pad_value", product.pad_value, 0, LIMITS(INT8_MIN, UINT8_MAX)), END
};
TABLE(matmul_sums) = { PRODUCT, END };
TABLE(dynamic_levels) = { FLAG("symmetric", levels.symmetric, 0), END };

#define AXES(member)	INTS("axes", member, CNN_MAX_RANK, NO_LIMITS)
#define KEEP(member)	FLAG("keepdims", member, 1)

static const char *const reductions[] = { "none", "add", "mul", "max", "min", NULL };

TABLE(arg) = {
	INT("axis", axis.axis, 0, NO_LIMITS), KEEP(axis.keepdims),
	FLAG("select_last_index", axis.select_last_index, 0), END
};
TABLE(concat) = {
	{ .name = "axis", .kind = CNN_FIELD_INT, .type = 'i', AT(axis.axis), .since = 4,
	  .def = CNN_AXIS_NONE, .before = 1, NO_LIMITS }, END
};
TABLE(compress) = { INT("axis", axis.axis, CNN_AXIS_NONE, NO_LIMITS), END };
TABLE(cum_sum) = {
	FLAG("exclusive", cum_sum.exclusive, 0), FLAG("reverse", cum_sum.reverse, 0), END
};
TABLE(reverse_sequence) = {
	INT("batch_axis", reverse.batch_axis, 1, NO_LIMITS),
	INT("time_axis", reverse.time_axis, 0, NO_LIMITS), END
};
TABLE(top_k) = {
	INT("axis", top_k.axis, -1, NO_LIMITS), INT("k", top_k.k, -1, NO_LIMITS),
	FLAG("largest", top_k.largest, 1), FLAG("sorted", top_k.sorted, 1), END
};
TABLE(unique) = {
	INT("axis", unique.axis, CNN_AXIS_NONE, NO_LIMITS), FLAG("sorted", unique.sorted, 1), END
};
TABLE(flatten) = { INT("axis", axis.axis, 1, NO_LIMITS), END };
TABLE(gather) = { INT("axis", axis.axis, 0, NO_LIMITS), END };
TABLE(gather_elements) = { INT("axis", scatter.axis, 0, NO_LIMITS), END };
TABLE(gather_nd) = { INT("batch_dims", scatter.batch_dims, 0, NO_LIMITS), END };
TABLE(scatter_elements) = {
	INT("axis", scatter.axis, 0, NO_LIMITS),
	CHOICE("reduction", scatter.reduction, 0, reductions), END
};
TABLE(scatter_nd) = { CHOICE("reduction", scatter.reduction, 0, reductions), END };
TABLE(softmax) = {
	{ .name = "axis", .kind = CNN_FIELD_INT, .type = 'i', AT(axis.axis), .since = 13,
	  .def = -1, .before = 1, NO_LIMITS }, END
};
TABLE(reduce) = {
	AXES(reduce.axes), KEEP(reduce.keepdims),
	FLAG("noop_with_empty_axes", reduce.noop_with_empty_axes, 0), END
};
TABLE(squeeze) = { AXES(axes), END };
TABLE(reshape) = {
	FLAG("allowzero", reshape.allowzero, 0),
	INTS("shape", reshape.shape, CNN_MAX_RANK, NO_LIMITS), END
};
TABLE(shape) = {
	INT("start", shape.start, 0, NO_LIMITS), INT("end", shape.end, INT64_MAX, NO_LIMITS), END
};
TABLE(eye) = {
	INT("dtype", eye.dtype, CNN_UNDEFINED, NO_LIMITS), INT("k", eye.k, 0, NO_LIMITS), END
};
TABLE(dft) = {
	INT("axis", dft.axis, 1, NO_LIMITS), FLAG("inverse", dft.inverse, 0),
	FLAG("onesided", dft.onesided, 0), END
};
TABLE(stft) = { FLAG("onesided", dft.onesided, 1), END };
TABLE(mel) = { INT("output_datatype", mel.dtype, CNN_FLOAT32, NO_LIMITS), END };
TABLE(cosine_window) = {
	INT("output_datatype", cosine_window.dtype, CNN_FLOAT32, NO_LIMITS),
	FLAG("periodic", cosine_window.periodic, 1), END
};
TABLE(trilu) = { FLAG("upper", trilu.upper, 1), END };
TABLE(range) = { IGNORED("stash_type", 'i'), END };
TABLE(one_hot) = { INT("axis", axis.axis, -1, NO_LIMITS), END };
TABLE(slice) = {
	AXES(slice.axes), INTS("starts", slice.starts, CNN_MAX_RANK, NO_LIMITS),
	INTS("ends", slice.ends, CNN_MAX_RANK, NO_LIMITS), END
};
TABLE(split) = {
	INT("axis", split.axis, 0, NO_LIMITS), INT("num_outputs", split.num_outputs, -1, NO_LIMITS),
	TENSOR("split", 'I', split.split, CNN_MAX_INPUTS), END
};
TABLE(transpose) = { INTS("perm", transpose.perm, CNN_MAX_RANK, NO_LIMITS), END };

static const char *const depth_modes[] = { "DCR", "CRD", NULL };
static const char *const pad_modes[] = { "constant", "reflect", "edge", "wrap", NULL };
static const char *const resize_modes[] = { "nearest", "linear", "cubic", "bilinear", NULL };
static const char *const coordinates[] = {
	"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
	"tf_crop_and_resize", "tf_half_pixel_for_nn", NULL
};
static const char *const roundings[] = {
	"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL
};
static const char *const policies[] = { "stretch", "not_larger", "not_smaller", NULL };

TABLE(depth_to_space) = {
	INT("blocksize", depth_to_space.blocksize, 0, NO_LIMITS),
	CHOICE("mode", depth_to_space.mode, 0, depth_modes), END
};
TABLE(space_to_depth) = { INT("blocksize", depth_to_space.blocksize, 0, NO_LIMITS), END };
TABLE(pad) = {
	CHOICE("mode", pad.mode, 0, pad_modes), FLOAT("value", pad.value, 0),
	INTS("pads", pad.pads, 2 * CNN_MAX_RANK, NO_LIMITS),
	INTS("paddings", pad.pads, 2 * CNN_MAX_RANK, NO_LIMITS, .alias = true), END
};
TABLE(resize) = {
	CHOICE("mode", resize.mode, 0, resize_modes),
	CHOICE("coordinate_transformation_mode", resize.coordinates, CNN_RESIZE_HALF_PIXEL,
	       coordinates, .since = 11, .before = CNN_RESIZE_ASYMMETRIC),
	CHOICE("nearest_mode", resize.rounding, CNN_RESIZE_ROUND_PREFER_FLOOR, roundings,
	       .since = 11, .before = CNN_RESIZE_FLOOR),
	CHOICE("keep_aspect_ratio_policy", resize.policy, 0, policies),
	AXES(resize.axes), FLOAT("cubic_coeff_a", resize.cubic_coeff_a, -0.75f),
	FLOAT("extrapolation_value", resize.extrapolation_value, 0),
	FLAG("antialias", resize.antialias, 0),
	FLAG("exclude_outside", resize.exclude_outside, 0), END
};
TABLE(qlinear_resize) = {
	CHOICE("coordinate_transformation_mode", resize.coordinates, CNN_RESIZE_HALF_PIXEL,
	       coordinates), END
};
TABLE(upsample) = {
	CHOICE("mode", resize.mode, 0, resize_modes),
	{ .name = "scales", .kind = CNN_FIELD_FLOATS, .type = 'F', AT(resize.scales),
	  .max = CNN_MAX_RANK }, END
};

static const char *const grid_modes[] = {
	"bilinear", "nearest", "bicubic", "linear", "cubic", NULL
};
static const char *const grid_paddings[] = { "zeros", "border", "reflection", NULL };
static const char *const roi_modes[] = { "avg", "max", NULL };
static const char *const roi_coordinates[] = { "half_pixel", "output_half_pixel", NULL };

TABLE(grid_sample) = {
	CHOICE("mode", grid_sample.mode, 0, grid_modes),
	CHOICE("padding_mode", grid_sample.padding, 0, grid_paddings),
	FLAG("align_corners", grid_sample.align_corners, 0), END
};
TABLE(nms) = { FLAG("center_point_box", nms.center_point_box, 0), END };
TABLE(roi_align) = {
	CHOICE("mode", roi_align.mode, 0, roi_modes),
	CHOICE("coordinate_transformation_mode", roi_align.coordinates, CNN_ROI_HALF_PIXEL,
	       roi_coordinates, .since = 16, .before = CNN_ROI_OUTPUT_HALF_PIXEL),
	INT("output_height", roi_align.height, 1, LIMITS(1, WINDOW_MAX)),
	INT("output_width", roi_align.width, 1, LIMITS(1, WINDOW_MAX)),
	INT("sampling_ratio", roi_align.sampling_ratio, 0, LIMITS(0, WINDOW_MAX)),
	FLOAT("spatial_scale", roi_align.spatial_scale, 1), END
};

static const char *const directions[] = { "forward", "reverse", "bidirectional", NULL };

#define RECURRENT								\
	CHOICE("direction", recurrent.direction, 0, directions),		\
	INT("hidden_size", recurrent.hidden_size, -1, NO_LIMITS),		\
	FLOAT("clip", recurrent.clip, 0), FLAG("layout", recurrent.layout, 0),	\
	TEXTS("activations", recurrent.activations)

TABLE(einsum) = { TEXT("equation", einsum.equation), END };
TABLE(rnn) = { RECURRENT, END };
TABLE(gru) = { RECURRENT, FLAG("linear_before_reset", recurrent.linear_before_reset, 0), END };
TABLE(lstm) = { RECURRENT, FLAG("input_forget", recurrent.input_forget, 0), END };

#define EACH(text, member)	INTS(text, control.member, 2 * CNN_MAX_RANK, NO_LIMITS)

TABLE(if) = { GRAPH("then_branch", control.body[0]), GRAPH("else_branch", control.body[1]), END };
TABLE(loop) = { GRAPH("body", control.body[0]), END };
TABLE(scan) = {
	GRAPH("body", control.body[0]),
	INT("num_scan_inputs", control.num_scan_inputs, -1, NO_LIMITS),
	EACH("scan_input_axes", input_axes), EACH("scan_output_axes", output_axes),
	EACH("scan_input_directions", input_directions),
	EACH("scan_output_directions", output_directions), END
};

TABLE(constant) = {
	TENSOR("value", 't', constant.value, 0),
	TENSOR("value_float", 'f', constant.value, 0, .alias = true),
	TENSOR("value_floats", 'F', constant.value, INT32_MAX, .alias = true),
	TENSOR("value_int", 'i', constant.value, 0, .alias = true),
	TENSOR("value_ints", 'I', constant.value, INT32_MAX, .alias = true), END
};
TABLE(constant_of_shape) = { TENSOR("value", 't', constant.value, 0), END };

const struct cnn_field *cnn_node_fields(const struct cnn_node *n)
{
	static const struct cnn_field *const tables[CNN_OP_COUNT] = {
		[CNN_OP_UNKNOWN] = cnn_fields_none,
#define OP(sym, name, infer, compute, least, most, outs, math, fields)	\
		[CNN_OP_##sym] = cnn_fields_##fields,
#include "ops.def"
#undef OP
	};

	return tables[n->op];
}

const struct cnn_field *cnn_node_field(const struct cnn_node *n, const char *name)
{
	for (const struct cnn_field *f = cnn_node_fields(n); f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

int cnn_field_choice(const struct cnn_field *f, const char *text)
{
	if (!*text)
		return (int)f->def;
	for (int i = 0; f->texts[i]; i++)
		if (!strcmp(f->texts[i], text))
			return i;
	return -1;
}

int64_t cnn_field_int(const struct cnn_field *f, const void *at)
{
	int64_t v = 0;

	memcpy(&v, at, f->size);	/* little-endian, and never negative if shorter */
	return v;
}

static void set_default(struct cnn_node *n, const struct cnn_field *f)
{
	int64_t v = n->opset < f->since ? f->before : f->def;
	void *at = cnn_field_at(&n->params, f);

	if (f->kind == CNN_FIELD_TENSOR)
		((struct cnn_tensor *)at)->rank = -1;
	else if (f->kind == CNN_FIELD_INTS || f->kind == CNN_FIELD_FLOATS)
		*(int *)at = -1;
	else if (f->kind == CNN_FIELD_FLOAT)
		*(float *)at = f->real;
	else if (f->kind != CNN_FIELD_TEXT)
		memcpy(at, &v, f->size);
}

void cnn_params_init(struct cnn_node *n)
{
	memset(&n->params, 0, sizeof(n->params));
	for (const struct cnn_field *f = cnn_node_fields(n); f->name; f++)
		set_default(n, f);
}

bool cnn_node_is_default(const struct cnn_node *n, const struct cnn_field *f)
{
	struct cnn_node fresh = { .op = n->op, .opset = n->opset };

	set_default(&fresh, f);
	return !memcmp(cnn_field_at(&fresh.params, f),
		       cnn_field_at((struct cnn_params *)&n->params, f), f->size);
}

static int check_limits(const struct cnn_node *n, const struct cnn_field *f, const int64_t *v,
			int count, struct cnn_err *err)
{
	for (int i = 0; i < count; i++)
		if (v[i] < f->least || v[i] > f->most)
			return cnn_node_fail(n, err, CNN_ELIMIT, "%s is %lld, limits %lld to %lld",
					     f->name, (long long)v[i], (long long)f->least,
					     (long long)f->most);
	return CNN_OK;
}

static int check_count(const struct cnn_node *n, const struct cnn_field *f, int64_t count,
		       struct cnn_err *err)
{
	if (count >= -1 && count <= f->max)
		return CNN_OK;
	return cnn_node_fail(n, err, CNN_EUNSUPPORTED, "%s has %lld entries, limit %d", f->name,
			     (long long)count, f->max);
}

static int check_tensor(const struct cnn_node *n, const struct cnn_field *f,
			const struct cnn_tensor *t, struct cnn_err *err)
{
	if (t->rank < 0 || f->alias)
		return CNN_OK;
	if ((f->type == 'I' && (t->dtype != CNN_INT64 || t->rank != 1)) ||
	    cnn_tensor_bytes(t) < 0 || (cnn_tensor_bytes(t) > 0 && !t->data))
		return cnn_node_fail(n, err, CNN_EINVAL, "attribute %s holds no data", f->name);
	return f->type == 'I' ? check_count(n, f, t->dims[0], err) : CNN_OK;
}

/* Can a field that has no limits hold this? */
static bool is_valid(const struct cnn_field *f, const void *at)
{
	int count = 0;

	switch (f->kind) {
	case CNN_FIELD_BOOL:
		return cnn_field_int(f, at) <= 1;
	case CNN_FIELD_CHOICE:
		while (f->texts[count])
			count++;
		return cnn_field_int(f, at) < count;
	case CNN_FIELD_TEXT:
		return memchr(at, 0, f->size);
	default:
		return true;
	}
}

static int check_field(const struct cnn_node *n, const struct cnn_field *f, struct cnn_err *err)
{
	void *at = cnn_field_at((struct cnn_params *)&n->params, f);
	int ret;

	if (f->kind == CNN_FIELD_INT)
		return check_limits(n, f, at, 1, err);
	if (f->kind == CNN_FIELD_TENSOR)
		return check_tensor(n, f, at, err);
	if (f->kind == CNN_FIELD_INTS || f->kind == CNN_FIELD_FLOATS) {
		ret = check_count(n, f, *(int *)at, err);
		return ret || f->kind == CNN_FIELD_FLOATS ? ret :
		       check_limits(n, f, cnn_field_ints(at), *(int *)at, err);
	}
	return is_valid(f, at) ? CNN_OK :
	       cnn_node_fail(n, err, CNN_EINVAL, "attribute %s has no valid value", f->name);
}

int cnn_params_check(const struct cnn_node *n, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (const struct cnn_field *f = cnn_node_fields(n); f->name && !ret; f++)
		ret = check_field(n, f, err);
	return ret;
}
