// SPDX-License-Identifier: MIT
/*
 * Random layers on core imc, of several sizes, against the operators on the CPU, bit for bit; the
 * compiler's cycles against the device's; programs from files; what it says of a layer; what is
 * refused, and why. Floats have few bits here, so that their sums are exact; each has a bias, as
 * the CPU begins a sum with 0 and so never gives -0 (lower_imc_float.c has the core's own order).
 * Usage: lower_imc [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"
#include "core_run.h"
#include "random_products.h"

/* ---- random layers ----------------------------------------------------------------------- */

/* Multiples of 1/16 from -2 to 2. */
static void add_floats(struct onnx_build *b, const char *name, int rank, const int64_t *dims)
{
	int64_t count = 1;
	float *v;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	v = malloc((size_t)count * sizeof(*v));
	if (!v)
		abort();
	for (int64_t i = 0; i < count; i++)
		v[i] = (float)pick(-32, 31) / 16;
	ob_floats(b, name, rank, dims, v);
	free(v);
}

/* A convolution of floats, at times transposed, or with a Relu. */
static void add_float_conv(struct onnx_build *b, struct conv *c)
{
	bool relu = pick(0, 1), transposed = !pick(0, 2);
	int64_t channels = c->w[0];

	if (transposed)
		transpose_conv(c);
	ob_input(b, "x", FLOAT, 4, c->x);
	add_floats(b, "w", 4, c->w);
	add_floats(b, "bias", 1, &channels);
	conv_attributes(ob_node(b, transposed ? "ConvTranspose" : "Conv", "x w bias",
				relu ? "c" : "y"), c);
	if (relu)
		ob_node(b, "Relu", "c", "y");
}

/* A Gemm, at times with the weights transposed, or a MatMul and an Add. */
static void add_float_product(struct onnx_build *b)
{
	int64_t a[3] = { pick(1, 3), pick(1, 30), pick(1, 300) }, w[2] = { a[2], pick(1, 90) };
	int64_t t[2] = { w[1], w[0] };
	bool gemm = pick(0, 1), trans = gemm && pick(0, 1);

	ob_input(b, "x", FLOAT, gemm ? 2 : 3, gemm ? a + 1 : a);
	add_floats(b, "w", 2, trans ? t : w);
	add_floats(b, "bias", 1, w + 1);
	if (gemm) {
		ob_attr_int(ob_node(b, "Gemm", "x w bias", "y"), "transB", trans);
		return;
	}
	ob_node(b, "MatMul", "x w", "m");
	ob_node(b, "Add", "m bias", "y");
}

/* all: a layer on the core has all its multiply-adds there. */
static const char *run_random(struct bench *t, uint32_t seed, bool all)
{
	struct onnx_build *b;
	const char *wrong;
	struct answer got;
	struct conv c;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	b = ob_new(13);
	random_conv(&c);
	if (!pick(0, 7))
		add_dynamic(b);
	else if (!pick(0, 3))
		add_float_conv(b, &c);
	else if (!pick(0, 7))
		add_float_product(b);
	else if (!pick(0, 4))
		add_transposed(b);
	else if (pick(0, 3))
		add_conv(b, &c, pick(0, 1));
	else
		add_product(b, pick(0, 1));
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = run_both(t, file, len, seed % 8 == 0, ob_rand(&random_state), &got);
	if (!wrong && all && got.estimate.macs_device != got.estimate.macs_total)
		wrong = "some of its multiply-adds are on the CPU";
	free(file);
	return with_seed(wrong, seed);
}

/* On small devices, about one layer in so many is too large for the core; 0: none. */
static const struct {
	const char *name;
	uint32_t refused;
} devices[] = {
	{ "sim:cores=imc", 0 },
	{ "sim:cores=imc:cin-max=7:csus=5:port=4:full-reuse=off", 0 },
	{ "sim:cores=imc:input=4096:weight=4096:unit=4096:program=8192", 4 },
	{ "sim:cores=imc:input=16384:weight=8192:unit=16384:port=8:job-cycles-max=300000", 10 },
	{ "sim:cores=ccp+imc", 0 },
};

#define DEVICES	(sizeof(devices) / sizeof(devices[0]))

static void check_random(uint32_t seed, uint32_t count)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct bench t = { .core = "imc" };
		const char *wrong = bench_open(&t, devices[i].name) ? t.err.text : NULL;

		t.refused = devices[i].refused ? 1 + count / devices[i].refused : 0;
		for (uint32_t k = 0; k < count && !wrong; k++)
			wrong = run_random(&t, seed + k, !devices[i].refused);
		check(devices[i].name, wrong);
		bench_close(&t);
	}
}

/* ---- what it says of layers -------------------------------------------------------------- */

struct search {
	const char *text;
	int core;		/* -1: among the layers on the CPU */
	bool found;
	char reason[200];
};

static void look(const struct cnnrt_op_report *op, void *opaque)
{
	struct search *s = opaque;

	if ((op->core < 0) == (s->core < 0) && strstr(op->reason, s->text))
		s->found = true;
	if (!op->index)
		snprintf(s->reason, sizeof(s->reason), "%s", op->reason);
}

static void check_reason(const char *text, int core, struct onnx_build *b, const char *device)
{
	struct search s = { .text = text, .core = core };
	struct cnnrt_program *p = NULL;
	struct bench t = { .core = "imc" };
	size_t len;
	void *file = ob_pack(b, &len);

	if (!bench_open(&t, device) && !compile(&t, file, len, false, &p))
		cnnrt_program_explain(p, look, &s);
	check(text, s.found ? NULL : s.reason[0] ? s.reason : t.err.text);
	cnnrt_program_free(p);
	bench_close(&t);
	free(file);
}

/* A ConvInteger of unpadded maps whose weights are all 127; core -1: it is refused. */
struct layer {
	const char *text, *device;
	int core;
	int64_t in, rows, columns, out, kernel[2], stride, dilation, groups;
};

static const struct layer layers[] = {
	{ "INT8 convolution, n 3, full reuse", "sim:cores=imc", 0, 64, 12, 12, 8, { 3, 3 }, 1, 1, 1 },
	{ "n 3, partial reuse", "sim:cores=imc:full-reuse=off", 0, 64, 12, 12, 8, { 3, 3 }, 1, 1, 1 },
	/* 64 CSUs have 21 channels with three rows each, so that full reuse takes four groups. */
	{ "n 3, partial reuse", "sim:cores=imc", 0, 64, 5, 12, 64, { 3, 3 }, 1, 1, 2 },
	{ "n 3, full reuse", "sim:cores=imc", 0, 64, 5, 12, 21, { 3, 3 }, 1, 1, 1 },
	{ "4 phases of taps", "sim:cores=imc", 0, 4, 12, 12, 8, { 3, 3 }, 2, 1, 2 },
	/* Few channels leave room for a row of the kernel among the multipliers. */
	{ "n 1, partial reuse, 1 tile, 7 columns as channels, 7 phases of taps", "sim:cores=imc", 0, 3,
	  20, 20, 8, { 7, 7 }, 2, 1, 1 },
	{ "4 classes of results", "sim:cores=imc", 0, 3, 12, 12, 8, { 3, 3 }, 1, 2, 1 },
	{ "96 groups as 2 blocks", "sim:cores=imc", 0, 96, 12, 12, 96, { 3, 3 }, 1, 1, 96 },
	{ "taps of a phase 12, limit of imc 11", "sim:cores=imc", -1, 1, 3, 12, 1, { 1, 12 }, 1, 1,
	  1 },
	{ "taps of a phase 3, limit of imc 2", "sim:cores=imc:n-max=2", -1, 1, 5, 5, 1, { 3, 3 }, 1,
	  1, 1 },
	{ "sums of output channel 0 up to 2147498880, limit of imc 2147483647", "sim:cores=imc", -1,
	  132105, 1, 1, 1, { 1, 1 }, 1, 1, 1 },
	{ "planes 289, limit of imc 256", "sim:cores=imc", -1, 1, 40, 40, 1, { 2, 2 }, 1, 17, 1 },
	{ "bytes of a tile's input 1600, limit of imc 1024", "sim:cores=imc:input=1024", -1, 64, 5,
	  11, 1, { 5, 5 }, 1, 1, 1 },
	{ "weights of 1 output and 64 input channels do not fit the 1024 bytes of a weight bank",
	  "sim:cores=imc:weight=1024", -1, 64, 6, 6, 1, { 5, 5 }, 1, 1, 1 },
	{ "n 2, partial reuse, 2 tiles", "sim:cores=imc:full-reuse=off:unit=4194304", 0, 2, 2, 65536,
	  2, { 2, 2 }, 1, 1, 2 },
	{ "inputs from tap to tap 4200450, limit of imc 4194304", "sim:cores=imc", -1, 1, 1, 4101,
	  1, { 1, 2 }, 2049, 2050, 1 },
};

static void check_layer(const struct layer *l)
{
	const int64_t x[4] = { 1, l->in, l->rows, l->columns };
	const int64_t w[4] = { l->out, l->in / l->groups, l->kernel[0], l->kernel[1] };
	const int64_t stride[2] = { l->stride, l->stride };
	const int64_t dilation[2] = { l->dilation, l->dilation };
	size_t count = (size_t)(w[0] * w[1] * w[2] * w[3]);
	struct onnx_build *b = ob_new(13);
	uint8_t *weights = malloc(count);
	Onnx__NodeProto *n;

	if (!weights)
		abort();
	memset(weights, 127, count);
	ob_input(b, "x", INT8, 4, x);
	ob_bytes(b, "w", INT8, 4, w, weights);
	n = ob_node(b, "ConvInteger", "x w", "y");
	ob_attr_int(n, "group", l->groups);
	ob_attr_ints(n, "strides", 2, stride);
	ob_attr_ints(n, "dilations", 2, dilation);
	ob_output(b, "y");
	check_reason(l->text, l->core, b, l->device);
	ob_free(b);
	free(weights);
}

/* A float layer, refused. weight: its name is that of a constant, or of an input. */
static void check_float(const char *text, const char *op, const char *weight, const char *device)
{
	const int64_t x[4] = { 1, 4, 4, 4 };
	struct onnx_build *b = ob_new(13);

	random_state = 9;
	ob_input(b, "x", FLOAT, 4, x);
	if (!strcmp(weight, "w"))
		add_floats(b, "w", 4, x);
	else
		ob_input(b, "v", FLOAT, 4, x);
	ob_node(b, op, !strcmp(weight, "w") ? "x w" : "x v", "y");
	ob_output(b, "y");
	check_reason(text, -1, b, device);
	ob_free(b);
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 100;

	read_options(argc, argv, &seed, &count);
	check_random(seed, count);
	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
		check_layer(&layers[i]);
	check_float("Conv: weight is not constant", "Conv", "v", "sim:cores=imc");
	check_float("Conv: this imc is built without FP32", "Conv", "w", "sim:cores=imc:fp32=off");
	check_float("Mul: imc has only convolutions and matrix products", "Mul", "w",
		    "sim:cores=imc");
	return end_checks();
}
