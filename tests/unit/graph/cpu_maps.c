// SPDX-License-Identifier: MIT
/* ConvTranspose, Resize, global maxima and Split against slow readings of their definitions. */
#include <math.h>
#include <stdio.h>

#include "util.h"

static int pick(uint32_t *state, int lo, int hi)
{
	return lo + (int)(ob_rand(state) % (uint32_t)(hi - lo + 1));
}

/* Coordinates of element i of a box, and back; -1 outside. */
static void unravel(int64_t i, int rank, const int64_t *dims, int64_t *at)
{
	for (int a = rank - 1; a >= 0; a--) {
		at[a] = i % dims[a];
		i /= dims[a];
	}
}

static int64_t ravel(int rank, const int64_t *dims, const int64_t *at)
{
	int64_t index = 0;

	for (int i = 0; i < rank; i++) {
		if (at[i] < 0 || at[i] >= dims[i])
			return -1;
		index = index * dims[i] + at[i];
	}
	return index;
}

/* ---- ConvTranspose ---------------------------------------------------------------------- */

struct layer {
	int rank, group;
	int64_t x[5], w[5], y[5], stride[3], dilation[3], pads[6], extra[3];
};

static struct layer random_layer(uint32_t *rng)
{
	struct layer l = { .rank = pick(rng, 1, 3), .group = pick(rng, 1, 3) };

	l.x[0] = l.y[0] = pick(rng, 1, 2);
	l.x[1] = l.w[0] = l.group * pick(rng, 1, 3);
	l.w[1] = pick(rng, 1, 4);
	l.y[1] = l.group * l.w[1];
	for (int i = 0; i < l.rank; i++) {
		l.w[i + 2] = pick(rng, 1, 4);
		l.stride[i] = pick(rng, 1, 3);
		l.dilation[i] = pick(rng, 1, 3);
		l.x[i + 2] = pick(rng, 1, l.rank > 2 ? 4 : 20);
		l.extra[i] = pick(rng, 0, l.stride[i] - 1);
		l.y[i + 2] = (l.x[i + 2] - 1) * l.stride[i] + (l.w[i + 2] - 1) * l.dilation[i] + 1;
		l.pads[i] = pick(rng, 0, (l.y[i + 2] - 1) / 2);
		l.pads[i + l.rank] = pick(rng, 0, (l.y[i + 2] - 1) / 2);
		l.y[i + 2] += l.extra[i] - l.pads[i] - l.pads[i + l.rank];
	}
	return l;
}

/* Every product of an element and a weight, added where it belongs. */
static void slow_transpose(const struct layer *l, const float *x, const float *w,
			   const float *bias, double *y)
{
	int rank = l->rank + 2;
	int64_t nx = 1, nw = 1, ny = 1, at[5], k[5], o[5];

	for (int i = 0; i < rank; i++) {
		nx *= l->x[i];
		nw *= l->w[i];
		ny *= l->y[i];
	}
	for (int64_t i = 0; i < ny; i++) {
		unravel(i, rank, l->y, o);
		y[i] = bias[o[1]];
	}
	for (int64_t i = 0; i < nx * nw; i++) {
		int64_t to;

		unravel(i / nw, rank, l->x, at);
		unravel(i % nw, rank, l->w, k);
		if (k[0] != at[1])
			continue;
		o[0] = at[0];
		o[1] = at[1] / (l->x[1] / l->group) * l->w[1] + k[1];
		for (int a = 0; a < l->rank; a++)
			o[a + 2] = at[a + 2] * l->stride[a] + k[a + 2] * l->dilation[a] - l->pads[a];
		to = ravel(rank, l->y, o);
		if (to >= 0)
			y[to] += (double)x[i / nw] * w[i % nw];
	}
}

static struct cnn_graph *transpose_graph(const struct layer *l, int seed)
{
	struct onnx_build *b = ob_new(11);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, l->rank + 2, l->x);
	ob_random(b, "w", seed + 1, l->rank + 2, l->w);
	ob_random(b, "b", seed + 2, 1, &l->y[1]);
	n = ob_node(b, "ConvTranspose", "x w b", "y");
	ob_attr_ints(n, "strides", l->rank, l->stride);
	ob_attr_ints(n, "dilations", l->rank, l->dilation);
	ob_attr_ints(n, "pads", 2 * l->rank, l->pads);
	ob_attr_ints(n, "output_padding", l->rank, l->extra);
	ob_attr_int(n, "group", l->group);
	ob_output(b, "y");
	return inferred(b);
}

static void test_conv_transpose(void **state)
{
	uint32_t rng = 2718;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct layer l = random_layer(&rng);
		struct cnn_tensor x = random_tensor(i, l.rank + 2, l.x), y;
		struct cnn_graph *g = transpose_graph(&l, i);
		const float *w = g->values[cnn_graph_find_value(g, "w")].t.data;
		const float *bias = g->values[cnn_graph_find_value(g, "b")].t.data;
		double *want;

		run_graph(g, &x, &y);
		assert_dims(&y, l.rank + 2, l.y);
		want = malloc(cnn_tensor_count(&y) * sizeof(*want));
		assert_non_null(want);
		slow_transpose(&l, x.data, w, bias, want);
		for (int64_t j = 0; j < cnn_tensor_count(&y); j++)
			if (fabs(((float *)y.data)[j] - want[j]) > 2e-5)
				fail_msg("layer %d, element %lld: %g, %g expected", i, (long long)j,
					 ((float *)y.data)[j], want[j]);
		free(want);
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

/* The output's size and first padding that a 1-D ConvTranspose of 5 elements resolves to. */
static void transpose_forms(int opset, const char *mode, int64_t output_shape, int64_t kernel,
			    int64_t want_out, int64_t want_pad)
{
	struct onnx_build *b = ob_new(opset);
	struct cnn_window w;
	struct cnn_graph *g;
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 1, 5));
	ob_random(b, "w", 1, OB_DIMS(1, 1, kernel));
	n = ob_node(b, "ConvTranspose", "x w", "y");
	ob_attr_ints(n, "strides", 1, (const int64_t[]){ 2 });
	if (mode)
		ob_attr_str(n, "auto_pad", mode);
	if (output_shape)
		ob_attr_ints(n, "output_shape", 1, &output_shape);
	ob_output(b, "y");
	g = inferred(b);
	assert_int_equal(cnn_node_window(g, &g->nodes[0], &w, NULL), 0);
	assert_int_equal(w.out[0], want_out);
	assert_int_equal(w.pad_begin[0], want_pad);
	assert_int_equal(cnn_node_macs(g, &g->nodes[0]), 5 * kernel);
	cnn_graph_free(g);
}

static void test_transpose_forms(void **state)
{
	(void)state;
	transpose_forms(11, NULL, 0, 4, 12, 0);
	transpose_forms(11, "VALID", 0, 4, 12, 0);
	transpose_forms(11, "SAME_UPPER", 0, 5, 10, 1);
	transpose_forms(11, "SAME_LOWER", 0, 5, 10, 2);
	transpose_forms(1, "SAME_UPPER", 0, 5, 10, 2);
	transpose_forms(1, "SAME_LOWER", 0, 5, 10, 1);
	transpose_forms(11, NULL, 9, 4, 9, 2);
	transpose_forms(11, NULL, 15, 4, 15, 0);
}

/* A 1x1 window whose stride and padding at the end give back the input's size is not pointwise. */
static void test_pointwise(void **state)
{
	struct onnx_build *b = ob_new(11);
	float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const float want[8] = { 2, 4, 0, 0, 10, 12, 0, 0 };
	struct cnn_tensor in = view(1, OB_DIMS(1, 1, 4, 2), x), y;
	struct cnn_graph *g;
	Onnx__NodeProto *n;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(1, 1, 4, 2));
	ob_floats(b, "w", OB_DIMS(1, 1, 1, 1), (const float[]){ 2 });
	n = ob_node(b, "Conv", "x w", "y");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 1 });
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 0, 0, 0, 2 });
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &in, &y);
	assert_dims(&y, OB_DIMS(1, 1, 2, 4));
	assert_memory_equal(y.data, want, sizeof(want));
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- Resize ----------------------------------------------------------------------------- */

static const char *const modes[] = { "nearest", "linear", "cubic" };
static const char *const coordinates[] = {
	"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
	"tf_half_pixel_for_nn",
};
static const char *const roundings[] = {
	"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
};

struct form {
	int mode, coordinate, rounding;
};

static double slow_source(const struct form *f, double o, double in, double out)
{
	switch (f->coordinate) {
	case 1:
		return out == 1 ? -0.5 : (o + 0.5) * in / out - 0.5;
	case 2:
		return out == 1 ? 0 : o * (in - 1) / (out - 1);
	case 3:
		return o * in / out;
	case 5:
		return (o + 0.5) * in / out;
	default:
		return (o + 0.5) * in / out - 0.5;
	}
}

static double cubic(double d)
{
	const double a = -0.75;

	d = fabs(d);
	return d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1 :
	       d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/* How much element i of a row of in counts for a position; those beyond the ends count there. */
static double weight(const struct form *f, double pos, int64_t i, int64_t in)
{
	double sum = 0, base = floor(pos), part = pos - base;

	if (f->mode == 0) {
		bool up = f->rounding == 0 ? part > 0.5 : f->rounding == 1 ? part >= 0.5 :
			  f->rounding == 3 && part > 0;

		base += up;
		base = base < 0 ? 0 : base > in - 1 ? in - 1 : base;
		return base == i;
	}
	for (int64_t j = -20; j < in + 20; j++) {
		int64_t to = j < 0 ? 0 : j >= in ? in - 1 : j;
		double d = fabs(pos - j);

		if (to == i)
			sum += f->mode == 2 ? cubic(d) : d < 1 ? 1 - d : 0;
	}
	return sum;
}

static double slow_resize(const struct form *f, const float *x, int rank, const int64_t *in,
			  const int64_t *out, const int64_t *o)
{
	int64_t n = 1, at[4];
	double sum = 0;

	for (int i = 0; i < rank; i++)
		n *= in[i];
	for (int64_t i = 0; i < n; i++) {
		double w = 1;

		unravel(i, rank, in, at);
		for (int a = 0; a < rank; a++)
			w *= weight(f, slow_source(f, o[a], in[a], out[a]), at[a], in[a]);
		sum += w * x[i];
	}
	return sum;
}

static struct cnn_graph *resize_graph(const struct form *f, int rank, const int64_t *in,
				      const int64_t *out)
{
	struct onnx_build *b = ob_new(19);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, rank, in);
	ob_int64s(b, "sizes", rank, out);
	n = ob_node(b, "Resize", "x - - sizes", "y");
	ob_attr_str(n, "mode", modes[f->mode]);
	ob_attr_str(n, "coordinate_transformation_mode", coordinates[f->coordinate]);
	ob_attr_str(n, "nearest_mode", roundings[f->rounding]);
	ob_output(b, "y");
	return inferred(b);
}

static void test_resize(void **state)
{
	uint32_t rng = 1414;

	(void)state;
	for (int i = 0; i < 600; i++) {
		struct form f = { pick(&rng, 0, 2), pick(&rng, 0, 5), pick(&rng, 0, 3) };
		int rank = pick(&rng, 1, 3);
		int64_t in[3], out[3], at[3];
		struct cnn_tensor x, y;
		struct cnn_graph *g;

		for (int a = 0; a < rank; a++) {
			in[a] = pick(&rng, 1, 7);
			out[a] = pick(&rng, 0, 2) ? pick(&rng, 1, 12) : in[a];
		}
		x = random_tensor(i, rank, in);
		g = resize_graph(&f, rank, in, out);
		run_graph(g, &x, &y);
		assert_dims(&y, rank, out);
		for (int64_t j = 0; j < cnn_tensor_count(&y); j++) {
			double want;

			unravel(j, rank, out, at);
			want = slow_resize(&f, x.data, rank, in, out, at);
			if (fabs(((float *)y.data)[j] - want) > 1e-5)
				fail_msg("%s %s %s %d, element %lld: %g, %g expected", modes[f.mode],
					 coordinates[f.coordinate], roundings[f.rounding], i,
					 (long long)j, ((float *)y.data)[j], want);
		}
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

/* Upsample-7 and -9 and Resize-10, -11 and -18 double a map of bytes alike. */
static void test_upsample_forms(void **state)
{
	static const uint8_t want[16] = { 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4 };
	static const float scales[4] = { 1, 1, 2, 2 };
	uint8_t x[4] = { 1, 2, 3, 4 };
	struct cnn_tensor in = view(CNN_UINT8, OB_DIMS(1, 1, 2, 2), x), y;

	(void)state;
	for (int opset = 7; opset <= 18; opset++) {
		struct onnx_build *b = ob_new(opset);
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		ob_input(b, "x", CNN_UINT8, OB_DIMS(1, 1, 2, 2));
		ob_floats(b, "s", OB_DIMS(4), scales);
		ob_floats(b, "hw", OB_DIMS(2), scales + 2);
		ob_floats(b, "roi", OB_DIMS(0), scales);
		n = ob_node(b, opset < 10 ? "Upsample" : "Resize", opset < 9 ? "x" :
			    opset < 11 ? "x s" : opset < 18 ? "x roi s" : "x - hw", "y");
		if (opset < 9) {
			Onnx__AttributeProto *a = ob_attr(n, "scales",
				ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);

			a->floats = malloc(sizeof(scales));
			assert_non_null(a->floats);
			memcpy(a->floats, scales, sizeof(scales));
			a->n_floats = 4;
		}
		if (opset >= 18)
			ob_attr_ints(n, "axes", 2, (const int64_t[]){ -2, 3 });
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &in, &y);
		assert_dims(&y, OB_DIMS(1, 1, 4, 4));
		assert_memory_equal(y.data, want, sizeof(want));
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

static void test_aspect(void **state)
{
	static const char *const policy[] = { "stretch", "not_larger", "not_smaller" };
	static const int64_t want[3][2] = { { 7, 8 }, { 7, 4 }, { 16, 8 } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct onnx_build *b = ob_new(18);
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		ob_input(b, "x", 1, OB_DIMS(4, 2));
		ob_int64s(b, "sizes", 2, (const int64_t[]){ 7, 8 });
		n = ob_node(b, "Resize", "x - - sizes", "y");
		ob_attr_str(n, "keep_aspect_ratio_policy", policy[i]);
		ob_output(b, "y");
		g = inferred(b);
		assert_dims(&g->values[g->outputs[0]].t, 2, want[i]);
		cnn_graph_free(g);
	}
}

/* A line of 8 becomes 4: each element takes from a window of 4, or of what lies in the line. */
static void test_antialias(void **state)
{
	static const float want[2][4] = { { 1, 3, 0, 0 }, { 1 / 0.875f, 3, 0, 0 } };
	float v[8] = { 0, 0, 8 };
	struct cnn_tensor x = view(1, OB_DIMS(8), v), y;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct onnx_build *b = ob_new(18);
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		ob_input(b, "x", 1, OB_DIMS(8));
		ob_int64s(b, "sizes", 1, (const int64_t[]){ 4 });
		n = ob_node(b, "Resize", "x - - sizes", "y");
		ob_attr_str(n, "mode", "linear");
		ob_attr_int(n, "antialias", 1);
		ob_attr_int(n, "exclude_outside", i);
		ob_output(b, "y");
		g = inferred(b);
		run_graph(g, &x, &y);
		cnn_graph_free(g);
		for (int j = 0; j < 4; j++)
			if (!(fabs(((float *)y.data)[j] - want[i][j]) < 1e-6))
				fail_msg("%d, element %d: %g, %g expected", i, j,
					 ((float *)y.data)[j], want[i][j]);
		cnn_tensor_release(&y);
	}
}

/* ---- the rest --------------------------------------------------------------------------- */

static void test_global_max(void **state)
{
	struct cnn_tensor x = random_tensor(3, OB_DIMS(2, 3, 4, 5)), y;
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", 1, OB_DIMS(2, 3, 4, 5));
	ob_node(b, "GlobalMaxPool", "x", "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &x, &y);
	assert_dims(&y, OB_DIMS(2, 3, 1, 1));
	for (int i = 0; i < 6; i++) {
		float want = -INFINITY;

		for (int j = 0; j < 20; j++)
			want = fmaxf(want, ((float *)x.data)[i * 20 + j]);
		assert_true(((float *)y.data)[i] == want);
	}
	cnn_tensor_release(&x);
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* Splitting and joining again; the sizes as an attribute, an input, or none. */
static void test_split(void **state)
{
	static const int64_t sizes[3] = { 1, 0, 4 };
	struct cnn_tensor x = random_tensor(3, OB_DIMS(2, 5, 3)), y;

	(void)state;
	for (int form = 0; form < 3; form++) {
		struct onnx_build *b = ob_new(form == 0 ? 11 : form == 1 ? 13 : 18);
		struct cnn_graph *g;
		Onnx__NodeProto *n;

		ob_input(b, "x", 1, OB_DIMS(2, 5, 3));
		ob_int64s(b, "sizes", 3, sizes);
		n = ob_node(b, "Split", form == 1 ? "x sizes" : "x", "a b c");
		ob_attr_int(n, "axis", -2);
		if (form == 0)
			ob_attr_ints(n, "split", 3, sizes);
		if (form == 2)
			ob_attr_int(n, "num_outputs", 3);
		ob_attr_int(ob_node(b, "Concat", "a b c", "y"), "axis", 1);
		ob_output(b, "y");
		g = inferred(b);
		assert_int_equal(g->values[cnn_graph_find_value(g, "c")].t.dims[1],
				 form == 2 ? 1 : 4);
		run_graph(g, &x, &y);
		assert_memory_equal(x.data, y.data, cnn_tensor_bytes(&x));
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
	cnn_tensor_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv_transpose),
		cmocka_unit_test(test_transpose_forms),
		cmocka_unit_test(test_pointwise),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_upsample_forms),
		cmocka_unit_test(test_aspect),
		cmocka_unit_test(test_antialias),
		cmocka_unit_test(test_global_max),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests_name("cpu maps", tests, NULL, NULL);
}
