// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "core_run.h"
#include "random_products.h"

int byte_type(void)
{
	return pick(0, 1) ? INT8 : UINT8;
}

void add_bytes(struct onnx_build *b, const char *name, int type, int rank, const int64_t *dims)
{
	int64_t count = 1;
	uint8_t *v;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	v = malloc((size_t)count);
	if (!v)
		abort();
	for (int64_t i = 0; i < count; i++)
		v[i] = (uint8_t)(pick(0, 7) ? ob_rand(&random_state) : (uint32_t)(pick(0, 1) ? 128 : 127));
	ob_bytes(b, name, type, rank, dims, v);
	free(v);
}

/* A zero point for the whole tensor or for each of count channels, or zero. */
static void add_zero(struct onnx_build *b, const char *name, int type, int64_t count)
{
	const uint8_t none = 0;
	bool list = count > 1 && pick(0, 1);

	if (pick(0, 2))
		add_bytes(b, name, type, list, &count);
	else
		ob_bytes(b, name, type, 0, NULL, &none);
}

static void add_scales(struct onnx_build *b, const char *name, int64_t count, float most)
{
	float v[256];
	bool list = count > 1 && pick(0, 1);

	for (int64_t i = 0; i < (list ? count : 1); i++)
		v[i] = most * (float)pick(1, 1000) / 1000;
	ob_floats(b, name, list, &count, v);
}

/* Scales and zero points of a quantised operator that sums so many products. */
static void add_quantisation(struct onnx_build *b, int64_t count, int64_t terms, bool bias)
{
	int32_t v[256];

	add_scales(b, "xs", 1, 0.1f);
	add_scales(b, "ws", count, 0.1f);
	add_scales(b, "ys", 1, 2 * (float)terms);
	add_zero(b, "yz", byte_type(), 1);
	for (int64_t i = 0; i < count; i++)
		v[i] = (int32_t)ob_rand(&random_state) >> pick(8, 20);
	if (bias)
		ob_raw(b, "bias", INT32, sizeof(*v), 1, &count, v);
}

void random_conv(struct conv *c)
{
	int form = (int)pick(0, 6);

	c->groups = form == 0 ? pick(2, 40) : form == 1 ? pick(2, 5) : 1;
	c->w[1] = form == 0 ? 1 : form == 2 || form == 6 ? 3 : form == 3 ? 8 * pick(1, 3) : pick(1, 20);
	c->w[0] = c->groups * (form == 0 ? pick(1, 2) : pick(1, form == 1 ? 6 : form == 6 ? 100 : 40));
	c->x[0] = pick(1, 2);
	c->x[1] = c->groups * c->w[1];
	for (int i = 0; i < 2; i++) {
		int64_t reach;

		c->w[2 + i] = pick(0, 3) ? pick(1, 3) : pick(1, 11);
		c->stride[i] = pick(0, 2) ? 1 : pick(2, 3);
		c->dilation[i] = pick(0, 3) ? 1 : 2;
		c->pads[i] = pick(0, 3);
		c->pads[2 + i] = pick(0, 3);
		if (form == 6)
			c->w[2 + i] = 3;
		if (form == 6)
			c->dilation[i] = 1;
		reach = (c->w[2 + i] - 1) * c->dilation[i] + 1;
		c->x[2 + i] = pick(reach > 6 ? reach - 6 : 1, reach + 12);
		if (c->x[2 + i] + c->pads[i] + c->pads[2 + i] < reach)
			c->x[2 + i] = reach;
	}
}

void transpose_conv(struct conv *c)
{
	int64_t out = c->w[0] / c->groups;

	c->w[0] = c->x[1];
	c->w[1] = out;
	for (int i = 0; i < 4; i++) {
		int64_t most = (c->w[2 + i % 2] - 1) * c->dilation[i % 2] / 2;

		c->pads[i] = c->pads[i] < most ? c->pads[i] : most;
	}
}

void conv_attributes(Onnx__NodeProto *n, const struct conv *c)
{
	ob_attr_int(n, "group", c->groups);
	ob_attr_ints(n, "strides", 2, c->stride);
	ob_attr_ints(n, "dilations", 2, c->dilation);
	ob_attr_ints(n, "pads", 4, c->pads);
}

void add_conv(struct onnx_build *b, const struct conv *c, bool quantised)
{
	int x_type = byte_type(), w_type = byte_type();
	bool bias = pick(0, 1);

	ob_input(b, "x", x_type, 4, c->x);
	add_bytes(b, "w", w_type, 4, c->w);
	add_zero(b, "xz", x_type, 1);
	add_zero(b, "wz", w_type, c->w[0]);
	if (quantised)
		add_quantisation(b, c->w[0], c->w[1] * c->w[2] * c->w[3], bias);
	conv_attributes(quantised ? ob_node(b, "QLinearConv", bias ?
					    "x xs xz w ws wz ys yz bias" : "x xs xz w ws wz ys yz", "y") :
				    ob_node(b, "ConvInteger", "x w xz wz", "y"), c);
}

void add_dynamic(struct onnx_build *b)
{
	int64_t a[2] = { pick(1, 20), pick(1, 70) }, w[2] = { a[1], pick(1, 50) };
	int64_t x[4] = { 1, pick(1, 20), pick(3, 9), pick(3, 9) }, k[4] = { pick(1, 40), x[1], 3, 3 };
	int64_t pads[4] = { pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2) };
	int w_type = byte_type();
	bool conv = pick(0, 1);
	Onnx__NodeProto *n;

	ob_input(b, "x", FLOAT, conv ? 4 : 2, conv ? x : a);
	add_bytes(b, "w", w_type, conv ? 4 : 2, conv ? k : w);
	add_zero(b, "wz", w_type, conv ? k[0] : w[1]);
	ob_node(b, "DynamicQuantizeLinear", "x", "q s z");
	n = ob_node(b, conv ? "ConvInteger" : "MatMulInteger", "q w z wz", "y");
	if (conv)
		ob_attr_ints(n, "pads", 4, pads);
}

void add_product(struct onnx_build *b, bool quantised)
{
	int64_t a[4] = { pick(1, 2), pick(1, 3), pick(1, 40), pick(1, 70) };
	int64_t w[4] = { 1, 1, a[3], pick(1, 50) };
	int a_type = byte_type(), w_type = byte_type(), rank = (int)pick(2, 4);
	int w_rank = (int)pick(2, rank);

	for (int i = 0; i < 2; i++) {
		if (pick(0, 1))
			w[i] = a[i];
		if (i >= 4 - w_rank && pick(0, 1))
			a[i] = 1;
	}
	ob_input(b, "x", a_type, rank, a + 4 - rank);
	add_bytes(b, "w", w_type, w_rank, w + 4 - w_rank);
	add_zero(b, "xz", a_type, 1);
	add_zero(b, "wz", w_type, w[3]);
	if (quantised)
		add_quantisation(b, w[3], w[2], false);
	if (quantised)
		ob_node(b, "QLinearMatMul", "x xs xz w ws wz ys yz", "y");
	else
		ob_node(b, "MatMulInteger", "x w xz wz", "y");
}

void add_transposed(struct onnx_build *b)
{
	const int64_t x[4] = { pick(1, 2), pick(1, 20), pick(1, 9), pick(1, 9) };
	const int64_t w[4] = { x[1], pick(1, 30), pick(1, 5), pick(1, 5) };
	const int64_t strides[2] = { pick(1, 4), pick(1, 4) };
	const int64_t pads[4] = { pick(0, w[2] - 1), pick(0, w[3] - 1), 0, 0 };
	int x_type = byte_type(), w_type = byte_type();
	Onnx__NodeProto *n;

	ob_input(b, "x", x_type, 4, x);
	add_bytes(b, "w", w_type, 4, w);
	add_zero(b, "xz", x_type, 1);
	add_zero(b, "wz", w_type, 1);
	add_quantisation(b, w[1], w[0] * w[2] * w[3], true);
	n = ob_node(b, "QLinearConvTranspose", "x xs xz w ws wz ys yz bias", "y");
	ob_attr_ints(n, "strides", 2, strides);
	ob_attr_ints(n, "pads", 4, pads);
}
