// SPDX-License-Identifier: MIT
/*
 * Random float layers on core gcu in FP16, of float32 and of float16 networks: results within the
 * bounds of the core's arithmetic, the compiler's cycles equal to the device's.
 * Usage: lower_gcu_half [--count N] [--seed N]; TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_run.h"
#include "ops/float16.h"
#include "onnx_build.h"

#define FLOAT	1
#define FLOAT16	10
#define SIGMOID	3	/* kind of activation */

static float number(void)
{
	return ldexpf((float)pick(-2048, 2048), (int)pick(-14, -11));
}

/* A constant of that type. */
static void add_numbers(struct onnx_build *b, const char *name, int type, int rank,
			const int64_t *dims)
{
	int64_t count = 1;
	uint16_t *half;
	float *v;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	v = malloc((size_t)count * sizeof(*v));
	half = malloc((size_t)count * sizeof(*half));
	if (!v || !half)
		abort();
	for (int64_t i = 0; i < count; i++) {
		v[i] = number();
		half[i] = float_to_half(v[i]);
	}
	if (type == FLOAT)
		ob_floats(b, name, rank, dims, v);
	else
		ob_raw(b, name, type, sizeof(*half), rank, dims, half);
	free(v);
	free(half);
}

/* ---- networks -------------------------------------------------------------------------- */

struct conv {
	int64_t x[4], w[4], groups, stride[2], dilation[2], pads[4];
	bool transposed, bias;
};

static void set_channels(struct conv *c)
{
	int64_t form = pick(0, 4), in, out;

	c->groups = form == 0 ? pick(2, 40) : form <= 2 ? pick(2, 6) : 1;
	in = form == 0 ? 1 : form <= 2 ? pick(1, 12) : pick(1, pick(0, 3) ? 30 : 150);
	out = form == 0 ? 1 : form == 1 ? in : form == 2 ? pick(1, 12) : pick(1, 60);
	c->x[0] = pick(0, 3) ? 1 : 2;
	c->x[1] = c->groups * in;
	c->w[0] = c->transposed ? c->x[1] : c->groups * out;
	c->w[1] = c->transposed ? out : in;
}

static void random_conv(struct conv *c)
{
	c->transposed = !pick(0, 2);
	c->bias = pick(0, 1);
	set_channels(c);
	for (int i = 0; i < 2; i++) {
		int64_t reach;

		c->w[2 + i] = pick(0, 3) ? pick(1, 3) : pick(1, 13);
		c->stride[i] = pick(0, 2) ? 1 : pick(2, 4);
		c->dilation[i] = pick(0, 3) ? 1 : pick(2, 3);
		reach = (c->w[2 + i] - 1) * c->dilation[i] + 1;
		c->pads[i] = pick(0, c->transposed ? (reach - 1) / 2 : 3);
		c->pads[2 + i] = pick(0, c->transposed ? (reach - 1) / 2 : 3);
		c->x[2 + i] = pick(reach > 6 ? reach - 6 : 1, reach + (pick(0, 7) ? 12 : 40));
		if (!c->transposed && c->x[2 + i] + c->pads[i] + c->pads[2 + i] < reach)
			c->x[2 + i] = reach;
	}
}

static void add_conv(struct onnx_build *b, const struct conv *c, int type, const char *out)
{
	const int64_t channels = c->transposed ? c->groups * c->w[1] : c->w[0];
	Onnx__NodeProto *n;

	ob_input(b, "x", type, 4, c->x);
	add_numbers(b, "w", type, 4, c->w);
	if (c->bias)
		add_numbers(b, "b", type, 1, &channels);
	n = ob_node(b, c->transposed ? "ConvTranspose" : "Conv", c->bias ? "x w b" : "x w", out);
	ob_attr_int(n, "group", c->groups);
	ob_attr_ints(n, "strides", 2, c->stride);
	ob_attr_ints(n, "dilations", 2, c->dilation);
	ob_attr_ints(n, "pads", 4, c->pads);
}

/* Three axes. */
static void add_cube(struct onnx_build *b, int type, const char *out)
{
	bool transposed = pick(0, 1);
	int64_t x[5] = { pick(1, 2), pick(1, 20) }, w[5] = { 0, pick(1, 20) };
	int64_t strides[3], dilations[3], pads[6];
	Onnx__NodeProto *n;

	w[0] = transposed ? x[1] : w[1];
	w[1] = transposed ? w[1] : x[1];
	for (int i = 0; i < 3; i++) {
		w[2 + i] = pick(2, 3);
		strides[i] = pick(1, 2);
		dilations[i] = pick(1, 2);
		x[2 + i] = pick(5, 7);
		pads[i] = pick(0, 1);
		pads[3 + i] = pick(0, 1);
	}
	ob_input(b, "x", type, 5, x);
	add_numbers(b, "w", type, 5, w);
	n = ob_node(b, transposed ? "ConvTranspose" : "Conv", "x w", out);
	ob_attr_ints(n, "strides", 3, strides);
	ob_attr_ints(n, "dilations", 3, dilations);
	ob_attr_ints(n, "pads", 6, pads);
}

static void add_product(struct onnx_build *b, int type, const char *out)
{
	const int64_t a[2] = { pick(1, 40), pick(1, 200) }, w[2] = { a[1], pick(1, 70) };
	const int64_t t[2] = { w[1], w[0] };
	bool gemm = pick(0, 1), transposed = gemm && pick(0, 1);
	Onnx__NodeProto *n;

	ob_input(b, "x", type, 2, a);
	add_numbers(b, "w", type, 2, transposed ? t : w);
	if (gemm)
		add_numbers(b, "b", type, 1, &w[1]);
	n = ob_node(b, gemm ? "Gemm" : "MatMul", gemm ? "x w b" : "x w", out);
	if (!gemm)
		return;
	ob_attr_int(n, "transB", transposed);
	ob_attr_float(n, "alpha", pick(0, 1) ? 1 : 0.37f);
	ob_attr_float(n, "beta", pick(0, 1) ? 1 : -1.5f);
}

/* An activation from v to y. */
static void add_activation(struct onnx_build *b, int kind, int type)
{
	static const char *const ops[] = {
		"", "Relu", "LeakyRelu", "Sigmoid", "Clip", "HardSigmoid",
	};
	const float low = 0, high = 6;
	const uint16_t half[2] = { 0, 0x4600 };

	if (kind == 4 && type == FLOAT) {
		ob_floats(b, "low", 0, NULL, &low);
		ob_floats(b, "high", 0, NULL, &high);
	} else if (kind == 4) {
		ob_raw(b, "low", FLOAT16, 2, 0, NULL, &half[0]);
		ob_raw(b, "high", FLOAT16, 2, 0, NULL, &half[1]);
	}
	ob_node(b, ops[kind], kind == 4 ? "v low high" : "v", "y");
}

static const char *run_random(struct bench *t, uint32_t seed)
{
	int type, kind;
	struct onnx_build *b;
	const char *wrong, *out;
	struct answer got;
	struct conv c;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	type = pick(0, 2) ? FLOAT : FLOAT16;
	kind = (int)pick(0, 5);
	out = kind ? "v" : "y";
	b = ob_new(13);
	random_conv(&c);
	if (!pick(0, 9))
		add_cube(b, type, out);
	else if (pick(0, 4))
		add_conv(b, &c, type, out);
	else
		add_product(b, type, out);
	if (kind)
		add_activation(b, kind, type);
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = run_compared(t, file, len, ob_rand(&random_state), &got);
	/* The table of Sigmoid costs more than a small Sigmoid on the CPU. */
	if (!wrong && got.estimate.ops_device != got.estimate.ops_total &&
	    (kind != SIGMOID || got.estimate.macs_device != got.estimate.macs_total))
		wrong = got.reason;
	free(file);
	return with_seed(wrong, seed);
}

/* Of positive numbers. */
static void add_scales(struct onnx_build *b, const char *name, int type, int64_t n)
{
	float *v = malloc((size_t)n * sizeof(*v));
	uint16_t *half = malloc((size_t)n * sizeof(*half));

	if (!v || !half)
		abort();
	for (int64_t i = 0; i < n; i++) {
		v[i] = (float)pick(8, 32) / 16;
		half[i] = float_to_half(v[i]);
	}
	if (type == FLOAT)
		ob_floats(b, name, 1, &n, v);
	else
		ob_raw(b, name, type, sizeof(*half), 1, &n, half);
	free(v);
	free(half);
}

/* Conv, BatchNormalization, activation, Conv, activation: all of it on the core. */
static const char *run_preactivated(struct bench *t, int type, const char *act)
{
	const int64_t x[4] = { 1, 24, 14, 14 }, w[4] = { 24, 24, 3, 3 };
	struct onnx_build *b = ob_new(13);
	const char *wrong;
	struct answer got;
	size_t len;
	void *file;

	ob_input(b, "x", type, 4, x);
	add_numbers(b, "w", type, 4, w);
	add_scales(b, "scale", type, w[0]);
	add_numbers(b, "shift", type, 1, w);
	add_numbers(b, "mean", type, 1, w);
	add_scales(b, "var", type, w[0]);
	ob_node(b, "Conv", "x w", "a");
	ob_node(b, act, "a", "b");
	ob_node(b, "BatchNormalization", "b scale shift mean var", "c");
	ob_node(b, "Relu", "c", "d");
	ob_node(b, "Conv", "d w", "e");
	ob_node(b, act, "e", "y");
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = run_compared(t, file, len, 1, &got);
	free(file);
	if (!wrong && got.estimate.ops_device != got.estimate.ops_total)
		wrong = got.reason;
	return with_seed(wrong, 1);
}

static void check_preactivated(void)
{
	static const char *const acts[] = { "Relu", "LeakyRelu", "HardSigmoid", "Sigmoid" };
	struct bench t = { .core = "gcu", .fp16 = true };
	const char *wrong = bench_open(&t, "sim:cores=gcu") ? t.err.text : NULL;

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]) && !wrong; i++) {
		wrong = run_preactivated(&t, FLOAT, acts[i]);
		wrong = wrong ? wrong : run_preactivated(&t, FLOAT16, acts[i]);
	}
	check("normalisation before a convolution, and every activation", wrong);
	bench_close(&t);
}

static const char *const devices[] = {
	"sim:cores=gcu",
	"sim:cores=gcu:fp-floor=on:atomic-c=4:atomic-k=32:cbuf-banks=8:bus=8",
	"sim:cores=gcu:atomic-c=32:atomic-k=4:cbuf-banks=4:fmbuf-rows=8:rbuf-depth=16",
	"sim:cores=gcu:atomic-c=16:atomic-k=16:program=512:job-cycles-max=400000",
};

#define DEVICES	(sizeof(devices) / sizeof(devices[0]))

static void check_random(uint32_t seed, uint32_t count)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct bench t = { .core = "gcu", .fp16 = true };
		const char *wrong = bench_open(&t, devices[i]) ? t.err.text : NULL;

		for (uint32_t k = 0; k < count && !wrong; k++)
			wrong = run_random(&t, seed + k);
		check(devices[i], wrong);
		bench_close(&t);
	}
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 60;

	read_options(argc, argv, &seed, &count);
	check_random(seed, count);
	check_preactivated();
	return end_checks();
}
