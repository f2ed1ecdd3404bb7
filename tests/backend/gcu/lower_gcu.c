// SPDX-License-Identifier: MIT
/*
 * Random quantised layers on core gcu, of several builds, against the operators on the CPU, bit for
 * bit; the compiler's cycles against the device's; programs from files; what is refused, and why.
 * Usage: lower_gcu [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_run.h"
#include "onnx_build.h"
#include "random_products.h"

#define INT16	5
#define INT64	7

/* ---- networks -------------------------------------------------------------------------- */

/* A zero point, or for each of count channels one that the weights allow. */
static void add_zero(struct onnx_build *b, const char *name, int type, int64_t count)
{
	uint8_t v[512];
	bool list = count > 1 && !pick(0, 3);

	for (int64_t i = 0; i < count; i++)
		v[i] = list ? (type == UINT8 ? 128 : 0) : (uint8_t)ob_rand(&random_state);
	if (!list && !pick(0, 3))
		v[0] = 0;
	ob_bytes(b, name, type, list, &count, v);
}

static void add_scales(struct onnx_build *b, const char *name, int64_t count, float most)
{
	float v[512];
	bool list = count > 1 && pick(0, 1);

	for (int64_t i = 0; i < (list ? count : 1); i++)
		v[i] = most * (float)pick(1, 1000) / 1000;
	ob_floats(b, name, list, &count, v);
}

/* Scales and zero points of a quantised operator that sums so many products. */
static void add_quantisation(struct onnx_build *b, int64_t count, int64_t terms, bool bias)
{
	int32_t v[512];

	add_scales(b, "xs", 1, 0.1f);
	add_scales(b, "ws", count, 0.1f);
	add_scales(b, "ys", 1, 2 * (float)terms);
	add_zero(b, "yz", byte_type(), 1);
	for (int64_t i = 0; i < count; i++)
		v[i] = (int32_t)ob_rand(&random_state) >> pick(8, 20);
	if (bias)
		ob_raw(b, "bias", INT32, sizeof(*v), 1, &count, v);
}

/* Depthwise; groups of as many inputs as outputs; groups of others; ordinary; of one point. */
enum { DEPTHWISE, GROUPED, UNEVEN, ORDINARY, POINT, FORMS };

static void set_channels(struct conv *c, int form)
{
	c->groups = form == DEPTHWISE ? pick(2, 40) : form <= UNEVEN ? pick(2, 6) : 1;
	c->w[1] = form == DEPTHWISE ? 1 :
		  form <= UNEVEN ? pick(1, 12) : pick(1, pick(0, 3) ? 30 : 150);
	c->w[0] = c->groups * (form == DEPTHWISE ? 1 : form == GROUPED ? c->w[1] :
			       form == UNEVEN	 ? pick(1, 12) :
						   pick(1, 60));
	c->x[0] = pick(0, 3) ? 1 : 2;
	c->x[1] = c->groups * c->w[1];
}

static void random_gcu_conv(struct conv *c)
{
	int form = (int)pick(0, FORMS - 1);

	set_channels(c, form);
	for (int i = 0; i < 2; i++) {
		int64_t reach;

		c->w[2 + i] = form == POINT ? 1 : pick(0, 3) ? pick(1, 3) : pick(1, 13);
		c->stride[i] = pick(0, 2) ? 1 : pick(2, 4);
		c->dilation[i] = pick(0, 3) ? 1 : pick(2, 3);
		c->pads[i] = form == POINT ? 0 : pick(0, 3);
		c->pads[2 + i] = form == POINT ? 0 : pick(0, 3);
		reach = (c->w[2 + i] - 1) * c->dilation[i] + 1;
		c->x[2 + i] = pick(reach > 6 ? reach - 6 : 1, reach + (pick(0, 7) ? 12 : 60));
		if (c->x[2 + i] + c->pads[i] + c->pads[2 + i] < reach)
			c->x[2 + i] = reach;
	}
}

static void add_gcu_conv(struct onnx_build *b, const struct conv *c, bool quantised)
{
	int x_type = byte_type(), w_type = byte_type();
	bool bias = pick(0, 1);

	ob_input(b, "x", x_type, 4, c->x);
	add_bytes(b, "w", w_type, 4, c->w);
	add_zero(b, "xz", x_type, 1);
	add_zero(b, "wz", w_type, c->w[0]);
	if (quantised)
		add_quantisation(b, c->w[0], c->w[1] * c->w[2] * c->w[3], bias);
	conv_attributes(quantised ? ob_node(b, "QLinearConv",
					    bias ? "x xs xz w ws wz ys yz bias" :
						   "x xs xz w ws wz ys yz", "y") :
				    ob_node(b, "ConvInteger", "x w xz wz", "y"), c);
}

/* Weights of 8 or 16 bits, so small that no sum of products with int16 leaves an int32. */
static void add_small(struct onnx_build *b, int type, int rank, const int64_t dims[4])
{
	int64_t each = rank == 2 ? dims[0] : dims[1] * dims[2] * dims[3];
	int64_t count = dims[0] * dims[1] * dims[2] * dims[3], most = 65535 / each;
	int16_t *words = malloc((size_t)count * sizeof(*words));
	int8_t *bytes = (int8_t *)words;

	if (!words)
		abort();
	most = type == INT8 && most > 127 ? 127 : most;
	for (int64_t i = 0; i < count; i++) {
		int64_t w = pick(-most, most);

		if (type == INT8)
			bytes[i] = (int8_t)w;
		else
			words[i] = (int16_t)w;
	}
	ob_raw(b, "w", type, type == INT8 ? 1 : sizeof(*words), rank, dims, words);
	free(words);
}

/* Elements of int16, with factors of doubles or of TensorFlow Lite's 15 bits. */
static void add_wide_conv(struct onnx_build *b, const struct conv *c)
{
	int w_type = pick(0, 1) ? INT8 : INT16, y_type = pick(0, 3) ? INT16 : INT8;
	const int16_t zero[2] = { 0 };
	int64_t bias[512];
	Onnx__NodeProto *n;

	ob_input(b, "x", INT16, 4, c->x);
	add_small(b, w_type, 4, c->w);
	ob_raw(b, "xz", INT16, 2, 0, NULL, zero);
	ob_raw(b, "wz", w_type, w_type == INT8 ? 1 : 2, 0, NULL, zero);
	ob_raw(b, "yz", y_type, y_type == INT8 ? 1 : 2, 0, NULL, zero);
	add_scales(b, "xs", 1, 0.01f);
	add_scales(b, "ws", c->w[0], 0.1f);
	add_scales(b, "ys", 1, 1);
	for (int64_t i = 0; i < c->w[0]; i++)
		bias[i] = (int32_t)ob_rand(&random_state) >> pick(14, 20);
	ob_raw(b, "bias", INT64, sizeof(*bias), 1, c->w, bias);
	n = ob_node(b, "QLinearConv", "x xs xz w ws wz ys yz bias", "y");
	ob_attr_int(n, "multiplier_bits", pick(0, 1) ? 15 : 24);
	conv_attributes(n, c);
}

/* The same as a matrix product. */
static void add_wide_product(struct onnx_build *b)
{
	const int64_t a[2] = { pick(1, 20), pick(1, 100) }, w[4] = { a[1], pick(1, 40), 1, 1 };
	const int16_t zero[2] = { 0 };

	ob_input(b, "x", INT16, 2, a);
	add_small(b, INT16, 2, w);
	ob_raw(b, "xz", INT16, 2, 0, NULL, zero);
	ob_raw(b, "yz", INT16, 2, 0, NULL, zero);
	add_scales(b, "xs", 1, 0.01f);
	add_scales(b, "ws", w[1], 0.1f);
	add_scales(b, "ys", 1, 1);
	ob_node(b, "QLinearMatMul", "x xs xz w ws xz ys yz", "y");
}

/* One matrix of weights. */
static void add_gcu_product(struct onnx_build *b, bool quantised)
{
	const int64_t a[3] = { pick(1, 2), pick(1, 40), pick(1, 200) };
	const int64_t w[2] = { a[2], pick(1, 70) };
	int a_type = byte_type(), w_type = byte_type(), rank = (int)pick(2, 3);

	ob_input(b, "x", a_type, rank, a + 3 - rank);
	add_bytes(b, "w", w_type, 2, w);
	add_zero(b, "xz", a_type, 1);
	add_zero(b, "wz", w_type, w[1]);
	if (quantised)
		add_quantisation(b, w[1], w[0], false);
	if (quantised)
		ob_node(b, "QLinearMatMul", "x xs xz w ws wz ys yz", "y");
	else
		ob_node(b, "MatMulInteger", "x w xz wz", "y");
}

static void add_layer(struct onnx_build *b)
{
	bool quantised = pick(0, 2);
	struct conv c;

	random_gcu_conv(&c);
	if (!pick(0, 9))
		add_transposed(b);
	else if (!pick(0, 12))
		add_wide_product(b);
	else if (!pick(0, 5) && 8 * c.w[1] * c.w[2] * c.w[3] < 65535)
		add_wide_conv(b, &c);
	else if (pick(0, 4))
		add_gcu_conv(b, &c, quantised);
	else
		add_gcu_product(b, quantised);
}

static const char *run_random(struct bench *t, uint32_t seed)
{
	struct onnx_build *b;
	const char *wrong;
	struct answer got;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	b = ob_new(13);
	add_layer(b);
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = run_both(t, file, len, seed % 8 == 0, ob_rand(&random_state), &got);
	if (!wrong && got.estimate.macs_device != got.estimate.macs_total)
		wrong = "some of its multiply-adds are on the CPU";
	/* Every operator that took its place, too. */
	if (!wrong && seed % 4 == 0)
		wrong = run_compared(t, file, len, ob_rand(&random_state), &got);
	free(file);
	return with_seed(wrong, seed);
}

static const char *const devices[] = {
	"sim:cores=gcu",
	"sim:cores=gcu:atomic-c=4:atomic-k=32:cbuf-banks=8:bus=8",
	"sim:cores=gcu:atomic-c=32:atomic-k=4:cbuf-banks=4:fmbuf-rows=8:rbuf-depth=16",
	"sim:cores=gcu:atomic-c=16:atomic-k=16:program=512:job-cycles-max=200000",
	"sim:cores=ccp+gcu",
};

#define DEVICES	(sizeof(devices) / sizeof(devices[0]))

static void check_random(uint32_t seed, uint32_t count)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct bench t = { .core = "gcu" };
		const char *wrong = bench_open(&t, devices[i]) ? t.err.text : NULL;

		for (uint32_t k = 0; k < count && !wrong; k++)
			wrong = run_random(&t, seed + k);
		check(devices[i], wrong);
		bench_close(&t);
	}
}

/* ---- maps that are read in two layouts -------------------------------------------------- */

#define MAPS		3
#define CHANNELS	16
#define POINTS		16

/* A convolution of map i, whose result the next convolution and a product read. */
static void add_map(struct onnx_build *b, int i)
{
	char in[64], map[16], flat[16], row[16];

	snprintf(in, sizeof(in), "x%d s xz w ws wz s xz", i);
	snprintf(map, sizeof(map), "x%d", i + 1);
	snprintf(flat, sizeof(flat), "flat%d", i);
	snprintf(row, sizeof(row), "row%d", i);
	ob_node(b, "QLinearConv", in, map);
	ob_node(b, "Flatten", map, flat);
	snprintf(in, sizeof(in), "%s s xz p ws wz s xz", flat);
	ob_node(b, "QLinearMatMul", in, row);
}

/* The graph gets a node for each map's second layout while cores are open. */
static void check_two_layouts(const char *device)
{
	const int64_t x[4] = { 1, CHANNELS, 4, POINTS / 4 }, w[4] = { CHANNELS, CHANNELS, 1, 1 };
	const int64_t p[2] = { CHANNELS * POINTS, CHANNELS };
	struct bench t = { .core = "gcu" };
	struct onnx_build *b = ob_new(13);
	struct answer got = { 0 };
	const char *wrong;
	size_t len;
	void *file;

	ob_input(b, "x0", UINT8, 4, x);
	add_bytes(b, "w", INT8, 4, w);
	add_bytes(b, "p", INT8, 2, p);
	ob_floats(b, "s", 0, NULL, (const float[]){ 1 });
	ob_floats(b, "ws", 0, NULL, (const float[]){ 0.01f });
	ob_bytes(b, "xz", UINT8, 0, NULL, (const uint8_t[]){ 128 });
	ob_bytes(b, "wz", INT8, 0, NULL, (const uint8_t[]){ 0 });
	for (int i = 0; i < MAPS; i++)
		add_map(b, i);
	ob_node(b, "QLinearConv", "x3 s xz w ws wz s xz", "last");
	ob_attr_int(ob_node(b, "Concat", "row0 row1 row2", "y"), "axis", 1);
	ob_output(b, "y last");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = bench_open(&t, device) ? t.err.text : run_both(&t, file, len, false, 1, &got);
	if (!wrong && got.moved + got.converted < MAPS)
		wrong = "fewer changes of layout than maps";
	check("maps that a convolution and a product read", wrong);
	bench_close(&t);
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

	s->found |= op->core < 0 && strstr(op->reason, s->text);
	if (!op->index)
		snprintf(s->reason, sizeof(s->reason), "%s", op->reason);
}

static void check_reason(const char *text, struct onnx_build *b, const char *device)
{
	struct bench t = { .core = "gcu" };
	struct search s = { .text = text };
	struct cnnrt_program *p = NULL;
	size_t len;
	void *file;

	ob_output(b, "y");
	file = ob_pack(b, &len);
	if (!bench_open(&t, device) && !compile(&t, file, len, false, &p))
		cnnrt_program_explain(p, look, &s);
	check(text, s.found ? NULL : s.reason[0] ? s.reason : t.err.text);
	cnnrt_program_free(p);
	bench_close(&t);
	ob_free(b);
	free(file);
}

/* A ConvInteger of uint8 with these strides, zero points of its two channels, and weights. */
static void check_refusal(const char *text, int64_t stride, const uint8_t zeros[2],
			  const uint8_t weights[2], int64_t channels)
{
	const int64_t x[4] = { 1, channels, 1, 40 }, w[4] = { 2, channels, 1, 1 };
	const int64_t strides[2] = { 1, stride }, two = 2;
	struct onnx_build *b = ob_new(13);
	uint8_t *all = malloc((size_t)(2 * channels));

	if (!all)
		abort();
	for (int64_t i = 0; i < 2 * channels; i++)
		all[i] = weights[i / channels];
	ob_input(b, "x", UINT8, 4, x);
	ob_bytes(b, "w", UINT8, 4, w, all);
	ob_bytes(b, "xz", UINT8, 0, NULL, zeros);
	ob_bytes(b, "wz", UINT8, 1, &two, zeros);
	ob_attr_ints(ob_node(b, "ConvInteger", "x w xz wz", "y"), "strides", 2, strides);
	free(all);
	check_reason(text, b, devices[0]);
}

static void check_variable_weights(void)
{
	const int64_t dims[2] = { 4, 4 };
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", UINT8, 2, dims);
	ob_input(b, "w", UINT8, 2, dims);
	ob_node(b, "MatMulInteger", "x w", "y");
	check_reason("MatMulInteger: weight is not constant", b, devices[0]);
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 200;

	read_options(argc, argv, &seed, &count);
	check_random(seed, count);
	check_two_layouts(devices[0]);
	check_refusal("stride 9, limit of gcu 8", 9, (uint8_t[]){ 0, 0 }, (uint8_t[]){ 1, 1 }, 1);
	check_refusal("weights less the zero points of their channels are -100 to 200, gcu has 8 "
		      "bits", 1, (uint8_t[]){ 0, 100 }, (uint8_t[]){ 200, 0 }, 1);
	check_refusal("sums of output channel 0 from 0 to 3060000000, limit of gcu an int32", 1,
		      (uint8_t[]){ 0, 0 }, (uint8_t[]){ 200, 200 }, 60000);
	check_variable_weights();
	return end_checks();
}
