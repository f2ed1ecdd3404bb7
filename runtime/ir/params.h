/* SPDX-License-Identifier: MIT */
/*
 * Parameters of operators, with types. A file's attributes are read once, by importing; kernels,
 * passes and back ends read the structs. One table per operator (struct cnn_field) names its
 * attributes and gives their types, defaults and limits: importers, the ONNX writer and program
 * files walk that table.
 */
#ifndef CNN_PARAMS_H
#define CNN_PARAMS_H

#include "tensor.h"

struct cnn_graph;

#define CNN_MAX_SPATIAL	3
#define CNN_MAX_INPUTS	1024		/* inputs or outputs of one node */

/* An axis that the file does not name, where no number can stand for that. */
#define CNN_AXIS_NONE	INT64_MIN

/* Lists: n is -1 if the file has none. All begin alike, see cnn_field. */
struct cnn_ints {
	int n;
	int64_t v[2 * CNN_MAX_RANK];
};

struct cnn_window_ints {
	int n;
	int64_t v[2 * CNN_MAX_SPATIAL];
};

struct cnn_floats {
	int n;
	float v[CNN_MAX_RANK];
};

enum cnn_auto_pad { CNN_PAD_NOTSET, CNN_PAD_SAME_UPPER, CNN_PAD_SAME_LOWER, CNN_PAD_VALID };

/* Convolutions and pools; those without attributes (global pools) have zeros. */
struct cnn_window_params {
	enum cnn_auto_pad auto_pad;
	struct cnn_window_ints kernel_shape, strides, pads, dilations;
	struct cnn_window_ints output_padding, output_shape;	/* ConvTranspose */
	int64_t group;						/* convolutions */
	bool uneven_groups;		/* with different numbers of outputs, which an input lists */
	bool ceil_mode, count_include_pad, storage_order;	/* pools */
	int64_t p;						/* LpPool: of the norm */
};

/* Products of integers: what ONNX does not have. */
struct cnn_product_params {
	int64_t pad_value;	/* pads input 0, which has no zero point then */
	int64_t shift_out;	/* the result is min(max(sum, 0) >> shift_out, 255); -1: the sum */
	/* QLinearConvTranspose: 24 (float32) or 31. QLinearConv, QGemm: 24, or 15 beside int16. */
	int64_t multiplier_bits;
	bool input_sums;	/* the last channel of each group is the sum of its inputs */
	int64_t unused_outputs;	/* output channels that no node reads; their weights are zero */
	bool relu;		/* the result is not below 0 */
};

struct cnn_gemm_params {
	bool trans_a, trans_b;
	float alpha, beta;
};

/* ArgMax, ArgMin, Concat, Flatten, Gather, Softmax, QuantizeLinear and their like. */
struct cnn_axis_params {
	int64_t axis;
	int64_t output_dtype;		/* QuantizeLinear, DequantizeLinear: CNN_UNDEFINED: not given */
	bool keepdims, select_last_index;
};

enum cnn_scatter_reduction {
	CNN_SCATTER_NONE, CNN_SCATTER_ADD, CNN_SCATTER_MUL, CNN_SCATTER_MAX, CNN_SCATTER_MIN,
};

/* GatherElements, GatherND, ScatterElements, ScatterND; each has its part. */
struct cnn_scatter_params {
	int64_t axis, batch_dims;
	enum cnn_scatter_reduction reduction;
};

struct cnn_top_k_params {
	int64_t axis, k;	/* k: before operator set 10, else -1 */
	bool largest, sorted;
};

struct cnn_unique_params {
	int64_t axis;		/* CNN_AXIS_NONE: of all elements */
	bool sorted;
};

struct cnn_cum_sum_params {
	bool exclusive, reverse;
};

struct cnn_reverse_params {
	int64_t batch_axis, time_axis;
};

struct cnn_nms_params {
	bool center_point_box;
};

struct cnn_einsum_params {
	char equation[128];
};

enum cnn_recurrent_direction {
	CNN_RECURRENT_FORWARD, CNN_RECURRENT_REVERSE, CNN_RECURRENT_BIDIRECTIONAL,
};

/* RNN, GRU, LSTM */
struct cnn_recurrent_params {
	enum cnn_recurrent_direction direction;
	int64_t hidden_size;		/* -1: not given */
	float clip;			/* 0: none */
	bool layout;			/* the batch is the first axis */
	bool linear_before_reset;	/* GRU */
	bool input_forget;		/* LSTM */
	char activations[96];		/* names with commas between; "": the operator's own */
};

/*
 * If, Loop and Scan, which inference expands: no other room sees them. A body's inputs are those of
 * its own, then what it reads of the graph around it; the latter are inputs of the node, too, behind
 * its own. Of If the second body's follow the first one's.
 */
struct cnn_control_params {
	struct cnn_graph *body[2];	/* then and else; Loop and Scan have one */
	int64_t formals;		/* inputs of its own of the body */
	int64_t iteration;		/* those expanded so far */
	int64_t num_scan_inputs;
	struct cnn_ints input_axes, output_axes, input_directions, output_directions;
};

enum cnn_grid_mode {
	CNN_GRID_BILINEAR, CNN_GRID_NEAREST, CNN_GRID_BICUBIC,
	CNN_GRID_LINEAR, CNN_GRID_CUBIC,	/* the newer words */
};

enum cnn_grid_padding { CNN_GRID_ZEROS, CNN_GRID_BORDER, CNN_GRID_REFLECTION };

struct cnn_grid_sample_params {
	enum cnn_grid_mode mode;
	enum cnn_grid_padding padding;
	bool align_corners;
};

struct cnn_roi_align_params {
	enum { CNN_ROI_AVG, CNN_ROI_MAX } mode;
	enum { CNN_ROI_HALF_PIXEL, CNN_ROI_OUTPUT_HALF_PIXEL } coordinates;
	int64_t height, width;
	int64_t sampling_ratio;		/* samples of a bin along an axis; 0: as many as elements */
	float spatial_scale;
};

/* Broadcasting before operator set 7: axis of a where the axes of b begin. */
struct cnn_binary_params {
	int64_t axis;		/* CNN_AXIS_NONE: they end together */
	bool broadcast;
};

struct cnn_reduce_params {
	struct cnn_ints axes;
	bool keepdims, noop_with_empty_axes;
};

struct cnn_reshape_params {
	struct cnn_ints shape;
	bool allowzero;
};

struct cnn_slice_params {
	struct cnn_ints starts, ends, axes;
};

struct cnn_split_params {
	int64_t axis, num_outputs;	/* num_outputs -1: not given */
	struct cnn_tensor split;	/* int64 */
};

struct cnn_shape_params {
	int64_t start, end;
};

enum cnn_pad_mode { CNN_PAD_CONSTANT, CNN_PAD_REFLECT, CNN_PAD_EDGE, CNN_PAD_WRAP };

struct cnn_pad_params {
	enum cnn_pad_mode mode;
	struct cnn_ints pads;
	float value;
};

enum cnn_resize_mode {
	CNN_RESIZE_NEAREST, CNN_RESIZE_LINEAR, CNN_RESIZE_CUBIC,
	CNN_RESIZE_BILINEAR,		/* the older word for linear */
};

enum cnn_resize_coordinates {
	CNN_RESIZE_HALF_PIXEL, CNN_RESIZE_HALF_PIXEL_SYMMETRIC, CNN_RESIZE_PYTORCH_HALF_PIXEL,
	CNN_RESIZE_ALIGN_CORNERS, CNN_RESIZE_ASYMMETRIC, CNN_RESIZE_TF_CROP_AND_RESIZE,
	CNN_RESIZE_TF_HALF_PIXEL_FOR_NN,
};

enum cnn_resize_rounding {
	CNN_RESIZE_ROUND_PREFER_FLOOR, CNN_RESIZE_ROUND_PREFER_CEIL, CNN_RESIZE_FLOOR,
	CNN_RESIZE_CEIL,
};

enum cnn_resize_policy { CNN_RESIZE_STRETCH, CNN_RESIZE_NOT_LARGER, CNN_RESIZE_NOT_SMALLER };

/* Resize, and Upsample with mode and scales. */
struct cnn_resize_params {
	enum cnn_resize_mode mode;
	enum cnn_resize_coordinates coordinates;
	enum cnn_resize_rounding rounding;
	enum cnn_resize_policy policy;
	struct cnn_ints axes;
	struct cnn_floats scales;
	float cubic_coeff_a, extrapolation_value;
	bool antialias, exclude_outside;
};

enum cnn_gelu { CNN_GELU_ERF, CNN_GELU_TANH };

/* Selu has its gamma in beta, Shrink its lambda in alpha and its bias in beta. */
struct cnn_unary_params {
	float alpha, beta;
	enum cnn_gelu approximate;
};

/* IsInf: which infinities count; neither: none. */
struct cnn_is_inf_params {
	bool negative, positive;
};

/* Clip before operator set 11; infinite: no bound. */
struct cnn_clip_params {
	float min, max;
};

struct cnn_lrn_params {
	int64_t size;
	float alpha, beta, bias;
};

struct cnn_lp_norm_params {
	int64_t axis, p;
};

struct cnn_mod_params {
	bool fmod;		/* the result has the sign of the dividend */
};

struct cnn_shift_params {
	enum { CNN_SHIFT_NONE, CNN_SHIFT_LEFT, CNN_SHIFT_RIGHT } direction;
};

struct cnn_eye_params {
	int64_t dtype, k;	/* CNN_UNDEFINED: that of the input */
};

/* DFT, STFT */
struct cnn_dft_params {
	int64_t axis;
	bool inverse, onesided;
};

struct cnn_mel_params {
	int64_t dtype;
};

struct cnn_cosine_window_params {
	int64_t dtype;
	bool periodic;
};

struct cnn_trilu_params {
	bool upper;
};

struct cnn_depth_to_space_params {
	int64_t blocksize;
	enum { CNN_DEPTH_COLUMN_ROW, CNN_COLUMN_ROW_DEPTH } mode;
};

#define CNN_WHY_MAX	96

struct cnn_sums_params {
	int64_t axis, group;
	char why[CNN_WHY_MAX];	/* why a core does not requantise; "": there is nothing to */
};

struct cnn_params {
	union {
		struct cnn_window_params window;
		struct cnn_gemm_params gemm;
		struct cnn_axis_params axis;
		struct cnn_binary_params binary;
		struct cnn_reduce_params reduce;
		struct cnn_ints axes;		/* Squeeze, Unsqueeze, MeanVarianceNormalization */
		struct cnn_reshape_params reshape;
		struct cnn_slice_params slice;
		struct cnn_split_params split;
		struct { struct cnn_ints perm; } transpose;
		struct cnn_shape_params shape;
		struct cnn_pad_params pad;
		struct cnn_resize_params resize;
		struct cnn_unary_params unary;
		struct cnn_is_inf_params is_inf;
		struct cnn_clip_params clip;
		struct {			/* normalizations; Dropout has the flags, too */
			float epsilon;
			int64_t axis;		/* of LayerNormalization */
			int64_t num_groups;	/* of GroupNormalization */
			bool spatial, is_test, training_mode;
		} norm;
		struct cnn_lrn_params lrn;
		struct cnn_lp_norm_params lp_norm;
		struct cnn_mod_params mod;
		struct cnn_shift_params shift;
		struct cnn_eye_params eye;
		struct cnn_dft_params dft;
		struct cnn_mel_params mel;
		struct cnn_cosine_window_params cosine_window;
		struct cnn_trilu_params trilu;
		struct cnn_depth_to_space_params depth_to_space;
		/* Constant, in whichever of its attributes the value was, and ConstantOfShape. */
		struct { struct cnn_tensor value; } constant;	/* rank -1: none */
		struct { int64_t to; } cast;
		struct cnn_scatter_params scatter;
		struct cnn_top_k_params top_k;
		struct cnn_unique_params unique;
		struct cnn_cum_sum_params cum_sum;
		struct cnn_reverse_params reverse;
		struct cnn_nms_params nms;
		struct cnn_einsum_params einsum;
		struct cnn_recurrent_params recurrent;
		struct cnn_grid_sample_params grid_sample;
		struct cnn_roi_align_params roi_align;
		struct cnn_control_params control;
		struct cnn_sums_params sums;
		struct { int64_t multiplier_bits; } requantize;
		/* DynamicLevels: 255 levels about 0, or 256 between the least and the largest. */
		struct { bool symmetric; } levels;
		struct { int format; } codes;	/* enum cnn_codes; 0: none */
	};
	struct cnn_product_params product;
};

enum cnn_field_kind {
	CNN_FIELD_IGNORED,	/* known, and without effect here */
	CNN_FIELD_FIXED,	/* an integer of which only the default is supported */
	CNN_FIELD_BOOL,
	CNN_FIELD_INT,		/* int64_t */
	CNN_FIELD_FLOAT,
	CNN_FIELD_CHOICE,	/* an enum: the number of the text in texts */
	CNN_FIELD_TEXT,		/* char[] */
	CNN_FIELD_INTS,		/* struct cnn_ints or cnn_window_ints */
	CNN_FIELD_FLOATS,	/* struct cnn_floats */
	CNN_FIELD_GRAPH,	/* struct cnn_graph *, which the node owns; NULL: none */
	CNN_FIELD_TENSOR,	/* struct cnn_tensor, which the node owns; rank -1: none */
};

struct cnn_field {
	const char *name;		/* of the attribute; NULL ends a table */
	enum cnn_field_kind kind;
	char type;			/* of the attribute: i f s t g single, I F S lists */
	bool alias;			/* an older name of another field, or another type for it */
	unsigned int offset, size;	/* in struct cnn_params */
	int max;			/* entries of a list */
	int since;			/* def holds from this operator set on, before before it */
	int64_t def, before;
	float real;			/* default of CNN_FIELD_FLOAT */
	int64_t least, most;		/* of an integer, or of each in a list */
	const char *const *texts;	/* NULL ends it */
};

static inline void *cnn_field_at(struct cnn_params *p, const struct cnn_field *f)
{
	return (char *)p + f->offset;
}

/* Integers or floats of a list. */
static inline int64_t *cnn_field_ints(void *list)
{
	return (int64_t *)((char *)list + offsetof(struct cnn_ints, v));
}

static inline float *cnn_field_floats(void *list)
{
	return ((struct cnn_floats *)list)->v;
}

/* The value of CNN_FIELD_BOOL, _INT or _CHOICE. */
int64_t cnn_field_int(const struct cnn_field *f, const void *at);
/* The number of a text of CNN_FIELD_CHOICE, -1 if there is no such one; "" is the default. */
int cnn_field_choice(const struct cnn_field *f, const char *text);

#endif
