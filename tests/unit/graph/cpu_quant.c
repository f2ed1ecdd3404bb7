// SPDX-License-Identifier: MIT
/* Quantised operators against slow readings of their definitions; bytes through other operators. */
#include <math.h>
#include <stdio.h>

#include "util.h"

#define MAX_CHANNELS	8

static int pick(uint32_t *state, int lo, int hi)
{
	return lo + (int)(ob_rand(state) % (uint32_t)(hi - lo + 1));
}

static int byte_type(uint32_t *state)
{
	return pick(state, 0, 1) ? CNN_INT8 : CNN_UINT8;
}

static struct cnn_tensor random_bytes(uint32_t *state, int dtype, int rank, const int64_t *dims)
{
	struct cnn_tensor t = view(dtype, rank, dims, NULL);
	struct cnn_err err;

	assert_int_equal(cnn_tensor_alloc(&t, 0, &err), 0);
	for (int64_t i = 0; i < cnn_tensor_count(&t); i++)
		((uint8_t *)t.data)[i] = (uint8_t)ob_rand(state);
	return t;
}

static int at(const struct cnn_tensor *t, int64_t i)
{
	return t->dtype == CNN_INT8 ? ((int8_t *)t->data)[i] : ((uint8_t *)t->data)[i];
}

static void constant(struct onnx_build *b, const char *name, const struct cnn_tensor *t)
{
	ob_raw(b, name, t->dtype, cnn_dtype_size(t->dtype), t->rank, t->dims, t->data);
}

/* round half to even, then the zero point, then the range */
static int quantise(double real, int zero, int dtype)
{
	double v = nearbyint(real) + zero, lo = dtype == CNN_INT8 ? -128 : 0;

	return (int)fmin(fmax(v, lo), lo + 255);
}

/* ---- convolutions ----------------------------------------------------------------------- */

struct layer {
	int64_t x[4], w[4], y[4], stride[2], dilation[2], pads[4], group;
	bool by_channel, biased;
	struct cnn_tensor tx, tw, x_zero, w_zero, y_zero;
	float x_scale, y_scale, w_scale[MAX_CHANNELS];
	int32_t bias[MAX_CHANNELS];
};

static void random_layer(uint32_t *rng, struct layer *l)
{
	bool deep = !pick(rng, 0, 9);	/* more products than one exact sum of floats takes */

	memset(l, 0, sizeof(*l));
	l->group = pick(rng, 1, 2);
	l->x[0] = pick(rng, 1, 2);
	l->w[1] = deep ? pick(rng, 40, 90) : pick(rng, 1, 4);
	l->w[0] = l->group * pick(rng, 1, 3);
	l->x[1] = l->w[1] * l->group;
	l->y[0] = l->x[0];
	l->y[1] = l->w[0];
	for (int i = 0; i < 2; i++) {
		l->w[i + 2] = pick(rng, 1, 3);
		l->stride[i] = pick(rng, 1, 2);
		l->dilation[i] = pick(rng, 1, 2);
		l->pads[i] = pick(rng, 0, 2);
		l->pads[i + 2] = pick(rng, 0, 2);
		l->x[i + 2] = (l->w[i + 2] - 1) * l->dilation[i] + pick(rng, 1, 9);
		l->y[i + 2] = (l->x[i + 2] + l->pads[i] + l->pads[i + 2] -
			       (l->w[i + 2] - 1) * l->dilation[i] - 1) / l->stride[i] + 1;
	}
	l->by_channel = pick(rng, 0, 1);
	l->biased = pick(rng, 0, 1);
	l->tx = random_bytes(rng, byte_type(rng), 4, l->x);
	l->tw = random_bytes(rng, byte_type(rng), 4, l->w);
	l->x_zero = random_bytes(rng, l->tx.dtype, 0, NULL);
	l->w_zero = random_bytes(rng, l->tw.dtype, l->by_channel, &l->w[0]);
	l->y_zero = random_bytes(rng, byte_type(rng), 0, NULL);
	l->x_scale = (float)pick(rng, 1, 1000) / 3000;
	l->y_scale = (float)pick(rng, 1, 1000) / (deep ? 0.3f : 11);
	for (int i = 0; i < l->w[0]; i++) {
		l->w_scale[i] = (float)pick(rng, 1, 1000) / 700;
		l->bias[i] = pick(rng, -20000, 20000);
	}
}

static void free_layer(struct layer *l)
{
	cnn_tensor_release(&l->tx);
	cnn_tensor_release(&l->tw);
	cnn_tensor_release(&l->x_zero);
	cnn_tensor_release(&l->w_zero);
	cnn_tensor_release(&l->y_zero);
}

/* The sum for output (n, oc, oh, ow). */
static int32_t slow_sum(const struct layer *l, int64_t n, int64_t oc, int64_t oh, int64_t ow)
{
	int64_t sum = 0, first = oc / (l->w[0] / l->group) * l->w[1];

	for (int64_t c = 0; c < l->w[1]; c++)
		for (int64_t kh = 0; kh < l->w[2]; kh++)
			for (int64_t kw = 0; kw < l->w[3]; kw++) {
				int64_t h = oh * l->stride[0] + kh * l->dilation[0] - l->pads[0];
				int64_t w = ow * l->stride[1] + kw * l->dilation[1] - l->pads[1];
				int64_t plane = n * l->x[1] + first + c;
				int64_t ix = (plane * l->x[2] + h) * l->x[3] + w;
				int64_t iw = ((oc * l->w[1] + c) * l->w[2] + kh) * l->w[3] + kw;

				if (h < 0 || h >= l->x[2] || w < 0 || w >= l->x[3])
					continue;
				sum += (at(&l->tx, ix) - at(&l->x_zero, 0)) *
				       (at(&l->tw, iw) - at(&l->w_zero, l->by_channel ? oc : 0));
			}
	return (int32_t)sum;
}

static struct cnn_graph *layer_graph(const struct layer *l, bool quantised)
{
	struct onnx_build *b = ob_new(10);
	Onnx__NodeProto *n;

	ob_input(b, "x", (int)l->tx.dtype, 4, l->x);
	constant(b, "w", &l->tw);
	constant(b, "xz", &l->x_zero);
	constant(b, "wz", &l->w_zero);
	constant(b, "yz", &l->y_zero);
	ob_floats(b, "xs", 0, NULL, &l->x_scale);
	ob_floats(b, "ws", l->by_channel, &l->w[0], l->w_scale);
	ob_floats(b, "ys", 0, NULL, &l->y_scale);
	ob_raw(b, "b", CNN_INT32, sizeof(int32_t), 1, &l->w[0], l->bias);
	n = quantised ? ob_node(b, "QLinearConv", l->biased ? "x xs xz w ws wz ys yz b" :
				"x xs xz w ws wz ys yz", "y") :
			ob_node(b, "ConvInteger", "x w xz wz", "y");
	ob_attr_ints(n, "strides", 2, l->stride);
	ob_attr_ints(n, "dilations", 2, l->dilation);
	ob_attr_ints(n, "pads", 4, l->pads);
	ob_attr_int(n, "group", l->group);
	ob_output(b, "y");
	return inferred(b);
}

static int want_conv(const struct layer *l, int64_t oc, int32_t sum)
{
	float scale = l->x_scale * l->w_scale[l->by_channel ? oc : 0] / l->y_scale;

	sum += l->biased ? l->bias[oc] : 0;
	return quantise((float)sum * scale, at(&l->y_zero, 0), (int)l->y_zero.dtype);
}

static void check_layer(const struct layer *l, bool quantised)
{
	struct cnn_graph *g = layer_graph(l, quantised);
	struct cnn_tensor y;
	int64_t i = 0;

	assert_int_equal(cnn_node_macs(g, &g->nodes[0]), l->y[0] * l->y[1] * l->y[2] * l->y[3] *
			 l->w[1] * l->w[2] * l->w[3]);
	run_graph(g, &l->tx, &y);
	assert_dims(&y, 4, l->y);
	for (int64_t n = 0; n < l->y[0]; n++)
		for (int64_t oc = 0; oc < l->y[1]; oc++)
			for (int64_t oh = 0; oh < l->y[2]; oh++)
				for (int64_t ow = 0; ow < l->y[3]; ow++, i++) {
					int32_t sum = slow_sum(l, n, oc, oh, ow);

					if (quantised)
						assert_int_equal(at(&y, i), want_conv(l, oc, sum));
					else
						assert_int_equal(((int32_t *)y.data)[i], sum);
				}
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

static void test_conv(void **state)
{
	uint32_t rng = 31415;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct layer l;

		random_layer(&rng, &l);
		check_layer(&l, i & 1);
		free_layer(&l);
	}
}

/* The largest products, in more terms than float32 adds exactly. */
static void test_conv_extremes(void **state)
{
	static const int64_t dims[] = { 1, 2000, 1, 1 };
	struct onnx_build *b = ob_new(10);
	uint8_t x[2000], w[2000];
	struct cnn_tensor in = view(CNN_UINT8, 4, dims, x), y;
	struct cnn_graph *g;

	(void)state;
	memset(x, 255, sizeof(x));
	memset(w, 255, sizeof(w));
	x[3] = 254;
	ob_input(b, "x", CNN_UINT8, 4, dims);
	ob_bytes(b, "w", CNN_UINT8, 4, dims, w);
	ob_node(b, "ConvInteger", "x w", "y");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &in, &y);
	assert_int_equal(*(int32_t *)y.data, 2000 * 255 * 255 - 255);
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- products of matrices --------------------------------------------------------------- */

struct product {
	int64_t a[3], b[3], rows, columns, k;
	int rank_a, rank_b;
	struct cnn_tensor ta, tb, a_zero, b_zero, y_zero;
	float a_scale, y_scale, b_scale[MAX_CHANNELS];
	bool by_column;
};

static void random_product(uint32_t *rng, struct product *p, bool quantised)
{
	int64_t batch = pick(rng, 1, 3);

	memset(p, 0, sizeof(*p));
	p->rows = pick(rng, 1, 5);
	p->columns = pick(rng, 1, MAX_CHANNELS);
	p->k = pick(rng, 0, 9) ? pick(rng, 1, 20) : pick(rng, 250, 600);
	p->rank_a = pick(rng, 2, 3);
	p->rank_b = pick(rng, 2, 3);
	p->by_column = pick(rng, 0, 1);
	p->a[0] = p->b[0] = batch;
	p->a[p->rank_a - 2] = p->rows;
	p->a[p->rank_a - 1] = p->b[p->rank_b - 2] = p->k;
	p->b[p->rank_b - 1] = p->columns;
	p->ta = random_bytes(rng, byte_type(rng), p->rank_a, p->a);
	p->tb = random_bytes(rng, byte_type(rng), p->rank_b, p->b);
	p->a_zero = random_bytes(rng, (int)p->ta.dtype, !quantised && pick(rng, 0, 1), &p->rows);
	p->b_zero = random_bytes(rng, (int)p->tb.dtype, p->by_column, &p->columns);
	p->y_zero = random_bytes(rng, byte_type(rng), 0, NULL);
	p->a_scale = (float)pick(rng, 1, 1000) / 3000;
	p->y_scale = (float)pick(rng, 1, 1000) / 7;
	for (int i = 0; i < p->columns; i++)
		p->b_scale[i] = (float)pick(rng, 1, 1000) / 900;
}

static int32_t slow_product(const struct product *p, int64_t batch, int64_t row, int64_t column)
{
	int64_t a = (p->rank_a == 3 ? batch * p->rows : 0) + row, sum = 0;
	int64_t b = p->rank_b == 3 ? batch * p->k : 0;

	for (int64_t k = 0; k < p->k; k++)
		sum += (at(&p->ta, a * p->k + k) - at(&p->a_zero, p->a_zero.rank ? row : 0)) *
		       (at(&p->tb, (b + k) * p->columns + column) -
			at(&p->b_zero, p->by_column ? column : 0));
	return (int32_t)sum;
}

static struct cnn_graph *product_graph(const struct product *p, bool quantised)
{
	struct onnx_build *b = ob_new(10);

	ob_input(b, "a", (int)p->ta.dtype, p->rank_a, p->a);
	constant(b, "b", &p->tb);
	constant(b, "az", &p->a_zero);
	constant(b, "bz", &p->b_zero);
	constant(b, "yz", &p->y_zero);
	ob_floats(b, "as", 0, NULL, &p->a_scale);
	ob_floats(b, "bs", p->by_column, &p->columns, p->b_scale);
	ob_floats(b, "ys", 0, NULL, &p->y_scale);
	if (quantised)
		ob_node(b, "QLinearMatMul", "a as az b bs bz ys yz", "y");
	else
		ob_node(b, "MatMulInteger", "a b az bz", "y");
	ob_output(b, "y");
	return inferred(b);
}

static void check_product(const struct product *p, bool quantised)
{
	struct cnn_graph *g = product_graph(p, quantised);
	struct cnn_tensor y;

	run_graph(g, &p->ta, &y);
	for (int64_t i = 0; i < cnn_tensor_count(&y); i++) {
		int64_t column = i % p->columns, row = i / p->columns;
		int32_t sum = slow_product(p, row / p->rows, row % p->rows, column);
		float scale = p->a_scale * p->b_scale[p->by_column ? column : 0] / p->y_scale;

		if (quantised)
			assert_int_equal(at(&y, i), quantise((float)sum * scale, at(&p->y_zero, 0),
							     (int)p->y_zero.dtype));
		else
			assert_int_equal(((int32_t *)y.data)[i], sum);
	}
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

static void test_matmul(void **state)
{
	uint32_t rng = 161803;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct product p;

		random_product(&rng, &p, i & 1);
		check_product(&p, i & 1);
		cnn_tensor_release(&p.ta);
		cnn_tensor_release(&p.tb);
		cnn_tensor_release(&p.a_zero);
		cnn_tensor_release(&p.b_zero);
		cnn_tensor_release(&p.y_zero);
	}
}

/* ---- QuantizeLinear, DequantizeLinear ---------------------------------------------------- */

/* Halves, and what lies beyond every range. */
static void test_quantise(void **state)
{
	float x[12] = { 0.5f, 1.5f, -0.5f, -2.5f, 1e9f, -1e9f, INFINITY, -INFINITY, NAN, 0, 3, -3 };
	static const int8_t want[12] = { 0, 2, 0, -2, 127, -128, 127, -128, -128, 0, 3, -3 };
	struct cnn_tensor in = view(CNN_FLOAT32, OB_DIMS(3, 2, 2), x), y[2];
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(3, 2, 2));
	ob_floats(b, "s", 0, NULL, (const float[]){ 1 });
	ob_bytes(b, "z", CNN_INT8, 0, NULL, (const int8_t[]){ 0 });
	ob_floats(b, "s2", OB_DIMS(2), (const float[]){ 0.5f, -1 });
	ob_bytes(b, "z2", CNN_UINT8, OB_DIMS(2), (const uint8_t[]){ 12, 8 });
	ob_node(b, "QuantizeLinear", "x s z", "a");
	ob_attr_int(ob_node(b, "QuantizeLinear", "x s2 z2", "b"), "axis", -1);
	ob_output(b, "a b");
	g = inferred(b);
	run_graph(g, &in, y);
	assert_memory_equal(y[0].data, want, sizeof(want));
	for (int i = 0; i < 12; i++) {
		int c = i % 2, v = quantise(x[i] / (c ? -1 : 0.5), c ? 8 : 12, CNN_UINT8);

		assert_int_equal(((uint8_t *)y[1].data)[i], x[i] != x[i] ? 0 : v);
	}
	cnn_tensor_release(&y[0]);
	cnn_tensor_release(&y[1]);
	cnn_graph_free(g);
}

static void test_dequantise(void **state)
{
	int32_t x[4] = { INT32_MAX, INT32_MIN, 5, -7 };
	struct cnn_tensor in = view(CNN_INT32, OB_DIMS(2, 2), x), y;
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	ob_input(b, "x", CNN_INT32, OB_DIMS(2, 2));
	ob_floats(b, "s", OB_DIMS(2), (const float[]){ 0.25f, 3 });
	ob_raw(b, "z", CNN_INT32, 4, OB_DIMS(2), (const int32_t[]){ -1, 1 });
	ob_attr_int(ob_node(b, "DequantizeLinear", "x s z", "y"), "axis", 0);
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &in, &y);
	for (int i = 0; i < 4; i++)
		assert_true(((float *)y.data)[i] == (i < 2 ? (float)(x[i] + 1ll) * 0.25f :
							      (float)(x[i] - 1ll) * 3));
	cnn_tensor_release(&y);
	cnn_graph_free(g);
}

/* ---- bytes through what quantised networks move data with --------------------------------- */

static struct onnx_build *mover(int dtype)
{
	static const int64_t pads[8] = { 0, 0, 1, 0, 0, 0, 0, 1 };
	struct onnx_build *b = ob_new(14);
	Onnx__NodeProto *n;

	ob_input(b, "x", dtype, OB_DIMS(1, 2, 3, 4));
	ob_bytes(b, "five", dtype, 0, NULL, (const uint8_t[]){ 5 });
	ob_bytes(b, "ninety", dtype, 0, NULL, (const uint8_t[]){ 90 });
	ob_int64s(b, "pads", 8, pads);
	ob_int64s(b, "flat", 2, (const int64_t[]){ 1, -1 });
	ob_int64s(b, "one", 1, (const int64_t[]){ 0 });
	ob_node(b, "Pad", "x pads five", "p");
	n = ob_node(b, "MaxPool", "p", "m");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 2 });
	ob_node(b, "Relu", "m", "r");
	ob_node(b, "Clip", "r five ninety", "c");
	ob_attr_int(ob_node(b, "Concat", "c m", "cc"), "axis", 1);
	ob_attr_ints(ob_node(b, "Transpose", "cc", "t"), "perm", 4,
		     (const int64_t[]){ 0, 2, 3, 1 });
	ob_node(b, "Reshape", "t flat", "f");
	ob_node(b, "Flatten", "f", "g");
	ob_node(b, "Squeeze", "g one", "s");
	ob_node(b, "Unsqueeze", "s one", "y");
	ob_output(b, "y");
	return b;
}

static int mover_want(const struct cnn_tensor *x, int64_t h, int64_t w, int64_t channel)
{
	int best = -1000, v;

	for (int64_t i = h; i < h + 2; i++)
		for (int64_t j = w; j < w + 2; j++) {
			v = i < 1 || j > 3 ? 5 : at(x, (channel % 2 * 3 + i - 1) * 4 + j);
			best = v > best ? v : best;
		}
	if (channel >= 2)
		return best;
	return best < 5 ? 5 : best > 90 ? 90 : best;
}

static void test_movement(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t rng = 99 + (uint32_t)i;
		int dtype = i ? CNN_INT8 : CNN_UINT8;
		struct cnn_tensor x = random_bytes(&rng, dtype, OB_DIMS(1, 2, 3, 4)), y;
		struct cnn_graph *g = inferred(mover(dtype));

		run_graph(g, &x, &y);
		assert_dims(&y, OB_DIMS(1, 3 * 4 * 4));
		assert_int_equal((int)y.dtype, dtype);
		for (int64_t j = 0; j < 48; j++)
			assert_int_equal(at(&y, j), mover_want(&x, j / 16, j / 4 % 4, j % 4));
		cnn_tensor_release(&x);
		cnn_tensor_release(&y);
		cnn_graph_free(g);
	}
}

/* The last element of an axis so long that float32 does not have its number. */
static void test_long_axis(void **state)
{
	const int64_t n = ((int64_t)1 << 25) + 4;
	struct cnn_tensor in = { .dtype = CNN_INT8, .rank = 4, .dims = { 1, 1, n, 1 } }, y;
	struct onnx_build *b = ob_new(13);
	struct cnn_graph *g;

	(void)state;
	assert_int_equal(cnn_tensor_alloc(&in, 0, NULL), CNN_OK);
	memset(in.data, 1, (size_t)n);
	ob_input(b, "x", CNN_INT8, in.rank, in.dims);
	ob_int64s(b, "size", 2, (const int64_t[]){ n, 1 });
	ob_attr_str(ob_node(b, "QLinearResize", "x size", "y"), "coordinate_transformation_mode",
		    "asymmetric");
	ob_output(b, "y");
	g = inferred(b);
	run_graph(g, &in, &y);
	assert_memory_equal(y.data, in.data, (size_t)n);
	cnn_tensor_release(&y);
	cnn_tensor_release(&in);
	cnn_graph_free(g);
}

/* Scales that no factor holds: with signs, too, which make no ratio small. */
static void test_scales(void **state)
{
	static const struct {
		const char *op;
		float scale[3];
	} bad[] = {
		{ "QLinearConvTranspose", { -1e30f, 1e8f, 1 } },
		{ "QLinearConvTranspose", { -1, 1, 0 } },
		{ "QLinearConvTranspose", { 0, 1, 0 } },
		{ "QLinearConvTranspose", { 1e20f, 1, 1 } },
		{ "QLinearAdd", { -1e5f, -1e-20f, -1 } },
		{ "QLinearSub", { -1e5f, -1e-38f, -1 } },
		{ "QLinearAdd", { 1, 1, 0 } },
		{ "QLinearMul", { 1, 1, -1 } },
	};
	struct cnn_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct onnx_build *b = ob_new(13);
		Onnx__NodeProto *n;

		ob_bytes(b, "x", CNN_INT8, OB_DIMS(1, 1, 1, 1), (const int8_t[]){ 3 });
		ob_bytes(b, "z", CNN_INT8, 0, NULL, (const int8_t[]){ 0 });
		ob_floats(b, "p", 0, NULL, &bad[i].scale[0]);
		ob_floats(b, "q", 0, NULL, &bad[i].scale[1]);
		ob_floats(b, "r", 0, NULL, &bad[i].scale[2]);
		n = ob_node(b, bad[i].op, "x p z x q z r z", "y");
		if (i < 4)
			ob_attr_int(n, "multiplier_bits", 31);
		ob_output(b, "y");
		memset(&err, 0, sizeof(err));
		assert_int_equal(import_and_infer(b, &err), CNN_ELIMIT);
		assert_says(err, "scales");
	}
}

/* ---- messages --------------------------------------------------------------------------- */

/* A network of one node and inputs of the types and shapes that spec gives, such as "u4x3 f". */
static void refuse(const char *op, const char *spec, const char *says)
{
	struct onnx_build *b = ob_new(13);
	struct cnn_err err = { 0 };
	char names[64] = "", name[4] = "a";
	struct cnn_graph *g;

	for (const char *p = spec; *p; name[0]++) {
		int64_t dims[4];
		int rank = 0, dtype = *p == 'u' ? CNN_UINT8 : *p == 'i' ? CNN_INT8 :
				      *p == 'w' ? CNN_INT32 : CNN_FLOAT32;

		for (p++; *p && *p != ' '; p += *p == 'x')
			dims[rank++] = strtol(p, (char **)&p, 10);
		p += strspn(p, " ");
		ob_input(b, name, dtype, rank, dims);
		strcat(names, name);
		strcat(names, *p ? " " : "");
	}
	ob_node(b, op, names, "y");
	ob_output(b, "y");
	g = import(b);
	assert_true(cnn_graph_infer(g, &err) < 0);
	assert_says(err, op);
	if (!strstr(err.text, says))
		fail_msg("%s %s: %s; wanted %s", op, spec, err.text, says);
	cnn_graph_free(g);
}

static void test_messages(void **state)
{
	(void)state;
	refuse("QuantizeLinear", "u2x3 f u", "type uint8");
	refuse("QuantizeLinear", "f2x3 f2 u", "input 1 has 2 elements");
	refuse("QuantizeLinear", "f2x3 f3 u2", "input 2 has 2 elements");
	refuse("QuantizeLinear", "f2x3 f w", "type int32");
	refuse("QuantizeLinear", "f2x3 i", "input 1 is int8, float32 wanted");
	refuse("DequantizeLinear", "u2x3 f i", "input 2 is int8, uint8 wanted");
	refuse("DequantizeLinear", "f2x3 f", "type float32");
	refuse("ConvInteger", "u1x2x4x4 f3x2x1x1", "type float32");
	refuse("ConvInteger", "u1x2x4x4 i3x2x1x1 u2 i3", "input 2 has 2 elements, limit 1");
	refuse("ConvInteger", "u1x2x4x4 i3x2x1x1 u i2", "input 3 has 2 elements in 1 dimensions");
	refuse("QLinearConv", "u1x2x4x4 f u i3x2x1x1 f3 i3 f u w2", "bias");
	refuse("QLinearConv", "u1x2x4x4 f u i3x2x1x1 f2 i3 f u", "input 4 has 2 elements");
	refuse("QLinearConv", "u1x2x4x4 f u i3x2x1x1 f3 i3 f3 u",
	       "input 6 has 3 elements, limit 1");
	refuse("QLinearConv", "u1x2x4x4 f u i3x2x1x1 f3 i3 f w", "type int32");
	refuse("MatMulInteger", "u2x3 i2x3", "can be multiplied");
	refuse("MatMulInteger", "u2x3 i3x4 u3", "input 2 has 3 elements");
	refuse("QLinearMatMul", "u2x3 f2 u i3x4 f i f u", "input 1 has 2 elements, limit 1");
	refuse("QLinearMatMul", "u2x3 f u i3x4 f3 i f u", "input 4 has 3 elements");
	refuse("DynamicQuantizeLinear", "f4", "1 outputs, 3 wanted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),
		cmocka_unit_test(test_conv_extremes),
		cmocka_unit_test(test_matmul),
		cmocka_unit_test(test_quantise),
		cmocka_unit_test(test_dequantise),
		cmocka_unit_test(test_movement),
		cmocka_unit_test(test_long_axis),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests_name("cpu quantised", tests, NULL, NULL);
}
