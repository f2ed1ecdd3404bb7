// SPDX-License-Identifier: MIT
/*
 * Random quantised products on core hwpe, of several sizes, against the operators on the CPU, bit
 * for bit; the compiler's cycles against the device's; programs from files; a share of a network's
 * multiply-adds; shares of the core's slots; what is refused, and why.
 * Usage: lower_hwpe [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"
#include "core_run.h"
#include "random_products.h"


/* ---- networks -------------------------------------------------------------------------- */

/* Weights that take every value of a format. */
static void add_values(struct onnx_build *b, const char *name, bool ternary, int rank,
		       const int64_t *dims)
{
	int64_t count = 1;
	int8_t *v;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	v = malloc((size_t)count);
	if (!v)
		abort();
	for (int64_t i = 0; i < count; i++)
		v[i] = (int8_t)(pick(-1, 1) * (1 << (ternary ? 0 : pick(0, 6))));
	ob_bytes(b, name, INT8, rank, dims, v);
	free(v);
}

/* Quantise x to a format, as q. */
static void add_quantizer(struct onnx_build *b, const char *format, float scale)
{
	Onnx__NodeProto *n;

	ob_floats(b, "s", 0, NULL, &scale);
	n = ob_node(b, "QuantizeCodes", "x s", "q");
	n->domain = strdup("cnnacc");
	ob_attr_str(n, "format", format);
}

/* Products of two operands in EXP4 or TER2; at times one is of the other format. */
static void add_codes(struct onnx_build *b, const struct conv *c)
{
	int64_t a[2] = { pick(1, 20), pick(1, 200) }, w[2] = { a[1], pick(1, 50) };
	bool ternary = pick(0, 1), conv = pick(0, 2);
	const int8_t zero = (int8_t)pick(-4, 1);	/* padding value, mostly one of the format */
	Onnx__NodeProto *n;

	ob_input(b, "x", FLOAT, conv ? 4 : 2, conv ? c->x : a);
	add_values(b, "w", ternary != !pick(0, 7), conv ? 4 : 2, conv ? c->w : w);
	add_quantizer(b, ternary ? "TER2" : "EXP4", 1.0f / (float)(1 << pick(0, 5)));
	ob_bytes(b, "qz", INT8, 0, NULL, &zero);
	if (pick(0, 1))
		n = ob_node(b, conv ? "ConvInteger" : "MatMulInteger", "q w", "y");
	else
		n = ob_node(b, conv ? "ConvInteger" : "MatMulInteger", "q w qz", "y");
	if (conv)
		conv_attributes(n, c);
}

/* all: a layer on the core has all its multiply-adds there. */
static const char *run_random(struct bench *t, uint32_t seed, bool all)
{
	struct onnx_build *b;
	const char *wrong;
	struct answer got;
	struct conv c;
	bool quantised;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	b = ob_new(13);
	quantised = pick(0, 1);
	random_conv(&c);
	if (!pick(0, 7))
		add_dynamic(b);
	else if (!pick(0, 2))
		add_codes(b, &c);
	else if (pick(0, 3))
		add_conv(b, &c, quantised);
	else
		add_product(b, quantised);
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = run_both(t, file, len, seed % 8 == 0, ob_rand(&random_state), &got);
	if (!wrong && all && got.estimate.macs_device != got.estimate.macs_total)
		wrong = "some of its multiply-adds are on the CPU";
	free(file);
	return with_seed(wrong, seed);
}

/* On small devices, about one layer in so many is too large for the core. */
static const struct {
	const char *name;
	uint32_t refused;
} devices[] = {
	{ "sim:cores=hwpe", 0 },
	{ "sim:cores=hwpe:fmap=8192:kernel=262144:program=4096", 50 },
	{ "sim:cores=hwpe:fmap=65536:kernel=65536:job-cycles-max=2000000", 200 },
	{ "sim:cores=ccp+hwpe", 0 },
};

#define DEVICES	(sizeof(devices) / sizeof(devices[0]))

static void check_random(uint32_t seed, uint32_t count)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct bench t = { .core = "hwpe" };
		const char *wrong = bench_open(&t, devices[i].name) ? t.err.text : NULL;

		t.refused = devices[i].refused ? 1 + count / devices[i].refused : 0;
		for (uint32_t k = 0; k < count && !wrong; k++)
			wrong = run_random(&t, seed + k, !devices[i].refused);
		check(devices[i].name, wrong);
		bench_close(&t);
	}
}

/* ---- networks -------------------------------------------------------------------------- */

/* One quantised layer from v1 to v2, with maps of that size. */
static void add_layer(struct onnx_build *b, int i, const int64_t w[4], int64_t groups,
		      int64_t stride)
{
	const int64_t strides[2] = { stride, stride };
	const int64_t pads[4] = { w[2] / 2, w[3] / 2, w[2] / 2, w[3] / 2 };
	char names[100], weights[16], out[16];
	Onnx__NodeProto *n;

	snprintf(weights, sizeof(weights), "w%d", i);
	snprintf(out, sizeof(out), "v%d", i + 1);
	snprintf(names, sizeof(names), "v%d xs zero w%d ws wzero xs zero", i, i);
	add_bytes(b, weights, INT8, 4, w);
	n = ob_node(b, "QLinearConv", names, out);
	ob_attr_int(n, "group", groups);
	ob_attr_ints(n, "strides", 2, strides);
	ob_attr_ints(n, "pads", 4, pads);
}

/* A float convolution, then each kind of quantised one between QuantizeLinear and its inverse. */
static struct onnx_build *small_network(void)
{
	const int64_t x[4] = { 1, 3, 96, 80 }, stem[4] = { 3, 3, 3, 3 };
	const int64_t first[4] = { 16, 3, 3, 3 }, deep[4] = { 16, 1, 3, 3 };
	const int64_t point[4] = { 40, 16, 1, 1 }, last[4] = { 10, 40, 6, 5 };
	const float scale[2] = { 4, 1.0f / 256 };
	float weights[81];
	const uint8_t zero = 17;
	const int8_t none = 0;
	struct onnx_build *b = ob_new(13);
	const int64_t same[4] = { 1, 1, 1, 1 };

	ob_input(b, "x", FLOAT, 4, x);
	ob_floats(b, "xs", 0, NULL, &scale[0]);
	ob_floats(b, "ws", 0, NULL, &scale[1]);
	ob_bytes(b, "zero", UINT8, 0, NULL, &zero);
	ob_bytes(b, "wzero", INT8, 0, NULL, &none);
	for (int i = 0; i < 81; i++)
		weights[i] = (float)(i * 37 % 64) / 2 - 16;
	ob_floats(b, "stem", 4, stem, weights);
	ob_attr_ints(ob_node(b, "Conv", "x stem", "f"), "pads", 4, same);
	ob_node(b, "QuantizeLinear", "f xs zero", "v0");
	add_layer(b, 0, first, 1, 2);
	add_layer(b, 1, deep, 16, 1);
	add_layer(b, 2, point, 1, 2);
	add_layer(b, 3, last, 1, 1);
	ob_node(b, "DequantizeLinear", "v4 xs zero", "y");
	ob_output(b, "y");
	return b;
}

/* A column of 66560 bytes: more than the 16 bits of Conv_W_offset and W_stride. */
static void check_column(void)
{
	const int64_t x[4] = { 1, 512, 128, 3 }, w[4] = { 3, 512, 3, 3 }, pads[4] = { 1, 1, 1, 1 };
	struct onnx_build *b = ob_new(13);
	struct answer got = { 0 };
	struct bench t = { .core = "hwpe" };
	const char *wrong;
	size_t len;
	void *file;

	random_state = 5;
	ob_input(b, "x", INT8, 4, x);
	add_bytes(b, "w", INT8, 4, w);
	ob_attr_ints(ob_node(b, "ConvInteger", "x w", "y"), "pads", 4, pads);
	ob_output(b, "y");
	file = ob_pack(b, &len);
	wrong = bench_open(&t, devices[0].name) ? t.err.text :
		run_both(&t, file, len, false, ob_rand(&random_state), &got);
	check("a column longer than a stride", wrong);
	bench_close(&t);
	ob_free(b);
	free(file);
}

/* Both cores do multiply-adds of the network, and hwpe at least three quarters of them. */
static void check_network(void)
{
	struct onnx_build *b = small_network();
	const struct cnnrt_estimate *est;
	struct answer got = { 0 };
	struct bench t = { 0 };
	const char *wrong;
	size_t len;
	void *file = ob_pack(b, &len);

	random_state = 3;
	wrong = bench_open(&t, "sim:cores=ccp+hwpe") ? t.err.text :
		run_both(&t, file, len, true, ob_rand(&random_state), &got);
	est = &got.estimate;
	if (!wrong && (!est->macs_core[0] || est->macs_core[1] * 4 < est->macs_total * 3 ||
		       est->macs_device != est->macs_total))
		wrong = "some of its multiply-adds are elsewhere";
	check("floats on ccp, integers on hwpe, all multiply-adds on cores", wrong);
	bench_close(&t);
	ob_free(b);
	free(file);
}

/* ---- how much of the core is used ------------------------------------------------------ */

/* A layer whose outputs fill the core's rows and columns, and the share of slots it uses. */
static const struct use {
	const char *name;
	int64_t channels, kernel, outputs, rows;	/* kernel 0: a product of so many rows */
	uint64_t used, of;
	const char *format;		/* of codes; NULL: bytes */
} uses[] = {
	{ "100 % of an inner layer", 16, 3, 32, 0, 1, 1, NULL },
	{ "84.38 % of 3 x 3 x 3, interleaved where that pays", 3, 3, 64, 0, 27, 32, NULL },
	{ "56.25 % of 3 x 3 x 3 with few outputs, not interleaved", 3, 3, 16, 0, 9, 16, NULL },
	{ "93.75 % of 5 x 5 x 3", 3, 5, 16, 0, 15, 16, NULL },
	{ "87.5 % of 7 x 7 x 3", 3, 7, 16, 0, 21, 24, NULL },
	{ "82.5 % of 11 x 11 x 3", 3, 11, 16, 0, 33, 40, NULL },
	{ "12.5 % of a fully connected layer, one batch", 64, 0, 32, 1, 1, 8, NULL },
	{ "100 % of a fully connected layer, eight batches", 64, 0, 32, 8, 1, 1, NULL },
	{ "100 % of an inner layer in EXP4", 16, 3, 32, 0, 1, 1, "EXP4" },
	{ "100 % of an inner layer in TER2", 32, 3, 32, 0, 1, 1, "TER2" },
	{ "100 % of a fully connected layer in TER2", 64, 0, 32, 8, 1, 1, "TER2" },
};

static void add_use(struct onnx_build *b, const struct use *u)
{
	const int64_t x[4] = { 1, u->channels, 31 + u->kernel, 31 + u->kernel };
	const int64_t w[4] = { u->outputs, u->channels, u->kernel, u->kernel };
	const int64_t a[2] = { u->rows, u->channels }, m[2] = { u->channels, u->outputs };

	ob_input(b, "x", u->format ? FLOAT : UINT8, u->kernel ? 4 : 2, u->kernel ? x : a);
	if (u->format)
		add_values(b, "w", !strcmp(u->format, "TER2"), u->kernel ? 4 : 2, u->kernel ? w : m);
	else
		add_bytes(b, "w", INT8, u->kernel ? 4 : 2, u->kernel ? w : m);
	if (u->format)
		add_quantizer(b, u->format, 0.25f);
	ob_node(b, u->kernel ? "ConvInteger" : "MatMulInteger", u->format ? "q w" : "x w", "y");
	ob_output(b, "y");
}

static uint64_t macs_a_cycle(const struct use *u)
{
	return !u->format ? 128 : strcmp(u->format, "TER2") ? 256 : 512;
}

static void check_use(const struct use *u)
{
	struct onnx_build *b = ob_new(13);
	struct answer got = { 0 };
	struct bench t = { .core = "hwpe" };
	const char *wrong;
	char text[100];
	size_t len;
	void *file;

	random_state = 7;
	add_use(b, u);
	file = ob_pack(b, &len);
	wrong = bench_open(&t, devices[0].name) ? t.err.text :
		run_both(&t, file, len, false, ob_rand(&random_state), &got);
	if (!wrong && (!got.slots || got.macs * u->of != got.slots * u->used)) {
		snprintf(text, sizeof(text), "%llu of %llu slots used",
			 (unsigned long long)got.macs, (unsigned long long)got.slots);
		wrong = text;
	}
	if (!wrong && got.peak != got.estimate.cycles * macs_a_cycle(u)) {
		snprintf(text, sizeof(text), "a peak of %llu in %llu cycles",
			 (unsigned long long)got.peak, (unsigned long long)got.estimate.cycles);
		wrong = text;
	}
	check(u->name, wrong);
	bench_close(&t);
	ob_free(b);
	free(file);
}

/* ---- what is refused ------------------------------------------------------------------- */

struct search {
	const char *text;
	bool found;
	char reason[200];
};

static void look(const struct cnnrt_op_report *op, void *opaque)
{
	struct search *s = opaque;

	if (op->core < 0 && strstr(op->reason, s->text))
		s->found = true;
	if (!op->index)
		snprintf(s->reason, sizeof(s->reason), "%s", op->reason);
}

static void check_reason(const char *text, struct onnx_build *b, const char *device)
{
	struct search s = { .text = text };
	struct cnnrt_program *p = NULL;
	struct bench t = { .core = "hwpe" };
	size_t len;
	void *file = ob_pack(b, &len);

	if (!bench_open(&t, device) && !compile(&t, file, len, false, &p))
		cnnrt_program_explain(p, look, &s);
	check(text, s.found ? NULL : s.reason[0] ? s.reason : t.err.text);
	cnnrt_program_free(p);
	bench_close(&t);
	free(file);
}

/* A layer that falls to the CPU because of a limit; all its values are 1. */
static void check_refusal(const char *text, int64_t channels, int64_t rows, int64_t columns,
			  const char *device)
{
	const int64_t x[4] = { 1, channels, rows, columns + 2 };
	const int64_t w[4] = { 1, channels, rows, columns };
	struct onnx_build *b = ob_new(13);
	size_t count = (size_t)(channels * rows * columns);
	uint8_t *ones = malloc(count);

	if (!ones)
		abort();
	memset(ones, 127, count);
	ob_input(b, "x", UINT8, 4, x);
	ob_bytes(b, "w", INT8, 4, w, ones);
	ob_node(b, "ConvInteger", "x w", "y");
	ob_output(b, "y");
	check_reason(text, b, device);
	ob_free(b);
	free(ones);
}

/* A product that is not made sums: of too many matrices of weights, or of what is no constant. */
static void check_unsplit(const char *text, int64_t matrices, const char *input)
{
	const int64_t x[3] = { matrices, 4, 8 }, w[3] = { matrices, 8, 5 };
	struct onnx_build *b = ob_new(13);
	const uint8_t zero = 3;
	const float one = 1;

	random_state = 5;
	ob_input(b, "x", UINT8, 3, x);
	if (!strcmp(input, "w"))
		ob_input(b, "w", INT8, 3, w);
	else
		add_bytes(b, "w", INT8, 3, w);
	if (!strcmp(input, "s"))
		ob_input(b, "s", FLOAT, 0, NULL);
	else
		ob_floats(b, "s", 0, NULL, &one);
	ob_bytes(b, "z", UINT8, 0, NULL, &zero);
	ob_bytes(b, "wz", INT8, 0, NULL, &zero);
	ob_node(b, "QLinearMatMul", "x s z w s wz s z", "y");
	ob_output(b, "y");
	check_reason(text, b, "sim:cores=ccp+hwpe");
	ob_free(b);
}

/* The same of MatMulInteger: of a vector with a zero point, or of four rows with one each. */
static void check_unsplit_sums(const char *text, bool rows)
{
	const int64_t x[] = { 4, 8 }, w[] = { 8, 5 };
	struct onnx_build *b = ob_new(13);
	const uint8_t zeros[] = { 1, 2, 3, 4 };

	random_state = 6;
	ob_input(b, "x", UINT8, rows ? 2 : 1, rows ? x : x + 1);
	add_bytes(b, "w", INT8, 2, w);
	ob_bytes(b, "z", UINT8, rows ? 1 : 0, x, zeros);
	ob_node(b, "MatMulInteger", "x w z", "y");
	ob_output(b, "y");
	check_reason(text, b, "sim:cores=ccp+hwpe");
	ob_free(b);
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 200;

	read_options(argc, argv, &seed, &count);
	check_random(seed, count);
	/* Weights with a zero point, in a layer that is too large for the second device. */
	check_random(5332, 1);
	check_network();
	check_column();
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		check_use(&uses[i]);
	check_refusal("kernel of 12 columns, limit of hwpe 11", 1, 1, 12, devices[3].name);
	check_refusal("sums of output channel 0 up to 2148744750, limit of hwpe 2147483647", 66350, 1,
		      1, devices[0].name);
	check_refusal("bytes of weights 67584, limit of hwpe 65536", 64, 6, 11, devices[2].name);
	check_refusal("bytes of the map in one SRAM 9864, limit of hwpe 8192", 64, 11, 11,
		      devices[1].name);
	check_unsplit("QLinearMatMul: matrices of 3 and 3 dimensions, one matrix of weights wanted",
		      65, "");
	check_unsplit("QLinearMatMul: weight is not constant", 1, "w");
	check_unsplit("QLinearMatMul: a scale, zero point or bias is not constant", 1, "s");
	check_unsplit_sums("matrices of 1 and 2 dimensions, one matrix of weights wanted", false);
	check_unsplit_sums("a zero point is not constant, or one for each row", true);
	return end_checks();
}
