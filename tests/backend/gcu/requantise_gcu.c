// SPDX-License-Identifier: MIT
/*
 * Quantised products of every form of which core gcu requantises some channels: these do not leave
 * the core as sums, the others do, and the bytes are the CPU's. Then files with the operators that
 * the compiler makes of them, of which some are wrong.
 * Usage: requantise_gcu [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_run.h"
#include "onnx_build.h"

#define UINT8	2
#define INT8	3
#define INT16	5
#define INT32	6
#define INT64	7

#define CHANNELS_MAX	64

/*
 * A product. Every step-th output channel has a scale of 1 and weights of -1..1, with which both
 * ways of rounding are the same; the others have large weights and small scales.
 */
struct product {
	const char *name, *op;
	int x, w, y;			/* types */
	int64_t inputs, outputs, groups, step, bits;
	const char *device;		/* NULL: the default build */
};

static const struct product products[] = {
	{ "one channel of many", "QLinearConv", UINT8, INT8, UINT8, 20, 40, 1, 40, 24, NULL },
	{ "half of them", "QLinearConv", INT8, UINT8, INT8, 20, 40, 1, 2, 24, NULL },
	{ "all but a few", "QLinearConv", INT8, INT8, INT8, 20, 40, 1, 1, 24, NULL },
	{ "depthwise", "QLinearConv", UINT8, UINT8, UINT8, 37, 37, 37, 3, 24, NULL },
	{ "depthwise, one channel", "QLinearConv", INT8, INT8, INT8, 40, 40, 40, 40, 24, NULL },
	{ "groups of as many inputs as outputs", "QLinearConv", INT8, INT8, INT8, 24, 24, 4, 2, 24,
	  NULL },
	{ "groups of others", "QLinearConv", UINT8, INT8, INT8, 15, 35, 5, 3, 24, NULL },
	{ "groups of many channels", "QLinearConv", INT8, INT8, UINT8, 32, 64, 2, 5, 24,
	  "sim:cores=gcu:atomic-c=4:atomic-k=32:cbuf-banks=8:bus=8" },
	{ "depthwise, other lanes", "QLinearConv", INT8, INT8, INT8, 50, 50, 50, 2, 24,
	  "sim:cores=gcu:atomic-c=32:atomic-k=4:cbuf-banks=4:fmbuf-rows=8:rbuf-depth=16" },
	{ "transposed, float32", "QLinearConvTranspose", UINT8, UINT8, UINT8, 12, 25, 1, 3, 24,
	  NULL },
	{ "transposed, 31 bits", "QLinearConvTranspose", INT8, INT8, INT8, 12, 25, 1, 2, 31, NULL },
	{ "int16", "QLinearConv", INT16, INT8, INT16, 9, 30, 1, 3, 24, NULL },
	{ "int16 to int8", "QLinearConv", INT16, INT16, INT8, 9, 30, 1, 30, 24, NULL },
	{ "int16 depthwise", "QLinearConv", INT16, INT8, INT16, 30, 30, 30, 2, 24, NULL },
	{ "int16 in groups", "QLinearConv", INT16, INT16, INT16, 12, 30, 6, 4, 24, NULL },
	{ "matrix", "QLinearMatMul", UINT8, INT8, UINT8, 70, 33, 1, 4, 24, NULL },
	{ "matrix of int16", "QLinearMatMul", INT16, INT16, INT16, 20, 33, 1, 4, 24, NULL },
};

#define PRODUCTS	((int)(sizeof(products) / sizeof(products[0])))

static bool is_conv(const struct product *p)
{
	return strcmp(p->op, "QLinearMatMul");
}

static bool is_transposed(const struct product *p)
{
	return !strcmp(p->op, "QLinearConvTranspose");
}

/* Is the scale 1? The others are so small that results reach most of their range. */
static bool is_exact(const struct product *p, int64_t k)
{
	return p->step > 1 ? k % p->step == 0 : k % 5;
}

static void add_number(struct onnx_build *b, const char *name, int type, int value)
{
	const int16_t word = (int16_t)value;

	ob_raw(b, name, type, type == INT16 ? 2 : 1, 0, NULL, &word);
}

/* Zero points: those of bytes are not 0, unless there is a list of the weights'. */
static void add_zeros(struct onnx_build *b, const struct product *p)
{
	add_number(b, "xz", p->x, p->x == INT16 ? 0 : 3);
	add_number(b, "wz", p->w, p->x == INT16 ? 0 : 5);
	add_number(b, "yz", p->y, p->y == INT16 ? 0 : 7);
}

/* The scale of the results makes the product's no number of few bits. */
static void add_scales(struct onnx_build *b, const struct product *p)
{
	int64_t terms = p->inputs / p->groups * (is_conv(p) ? 9 : 1);
	float one = 1, three = 3, v[CHANNELS_MAX];
	float small = p->w == INT16 ? 3e-5f : (p->x == INT16 ? 0.03f : 0.06f) / (float)terms;

	for (int64_t k = 0; k < p->outputs; k++)
		v[k] = is_exact(p, k) ? three : small * (float)pick(500, 1000) / 1000;
	ob_floats(b, "xs", 0, NULL, &one);
	ob_floats(b, "ys", 0, NULL, &three);
	ob_floats(b, "ws", 1, &p->outputs, v);
}

/* The output channel of element i of the weights. */
static int64_t channel_of(const struct product *p, const int64_t dims[4], int64_t i)
{
	if (!is_conv(p))
		return i % dims[1];
	i /= dims[2] * dims[3];
	return is_transposed(p) ? i % dims[1] : i / dims[1];
}

static void add_weights(struct onnx_build *b, const struct product *p, const int64_t dims[4])
{
	int64_t count = dims[0] * dims[1] * dims[2] * dims[3];
	int64_t most = p->x == INT16 ? 65535 * p->outputs / count : 100;
	int zero = p->x == INT16 ? 0 : 5;
	int16_t *words = malloc((size_t)count * sizeof(*words));
	uint8_t *bytes = (uint8_t *)words;

	if (!words)
		abort();
	most = p->w != INT16 && most > 100 ? 100 : most;
	for (int64_t i = 0; i < count; i++) {
		int64_t reach = is_exact(p, channel_of(p, dims, i)) ? 1 : most;
		int64_t w = p->w == UINT8 ? pick(0, 2 * reach) : pick(-reach, reach);

		if (p->w == INT16)
			words[i] = (int16_t)(w + zero);
		else
			bytes[i] = (uint8_t)(w + zero);
	}
	ob_raw(b, "w", p->w, p->w == INT16 ? 2 : 1, is_conv(p) ? 4 : 2, dims, words);
	free(words);
}

static void add_bias(struct onnx_build *b, const struct product *p)
{
	bool wide = p->x == INT16;
	int64_t longs[CHANNELS_MAX];
	int32_t words[CHANNELS_MAX];

	for (int64_t k = 0; k < p->outputs; k++)
		longs[k] = words[k] = (int32_t)pick(-50, 50);
	ob_raw(b, "bias", wide ? INT64 : INT32, wide ? 8 : 4, 1, &p->outputs,
	       wide ? (const void *)longs : words);
}

static struct onnx_build *make(const struct product *p)
{
	const int64_t x[4] = { 2, p->inputs, 7, 9 }, a[2] = { 9, p->inputs };
	const int64_t conv[4] = { p->outputs, p->inputs / p->groups, 3, 3 };
	const int64_t transposed[4] = { p->inputs, p->outputs, 3, 3 };
	const int64_t matrix[4] = { p->inputs, p->outputs, 1, 1 };
	const int64_t strides[2] = { 2, is_transposed(p) ? 3 : 1 }, pads[4] = { 1, 1, 1, 1 };
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", p->x, is_conv(p) ? 4 : 2, is_conv(p) ? x : a);
	add_weights(b, p, !is_conv(p) ? matrix : is_transposed(p) ? transposed : conv);
	add_zeros(b, p);
	add_scales(b, p);
	if (is_conv(p))
		add_bias(b, p);
	n = ob_node(b, p->op, is_conv(p) ? "x xs xz w ws wz ys yz bias" : "x xs xz w ws wz ys yz",
		    "y");
	if (is_conv(p)) {
		ob_attr_int(n, "group", p->groups);
		ob_attr_int(n, "multiplier_bits", p->bits);
		ob_attr_ints(n, "strides", 2, strides);
		ob_attr_ints(n, "pads", 4, pads);
	}
	ob_output(b, "y");
	return b;
}

/* ---- what becomes of them ---------------------------------------------------------------- */

struct parts {
	const struct product *p;
	int requantised, sums;		/* products on the core */
	int on_cpu, merged;		/* requantisations and MergeChannels on the CPU */
	char why[200];
};

static void look(const struct cnnrt_op_report *op, void *opaque)
{
	struct parts *s = opaque;

	s->requantised += op->core >= 0 && !strcmp(op->op, s->p->op);
	s->sums += op->core >= 0 && strstr(op->op, "Integer");
	s->merged += op->core < 0 && !strcmp(op->op, "MergeChannels");
	if (op->core >= 0 || (strcmp(op->op, "QLinearSums") && strcmp(op->op, "RequantizeSums")))
		return;
	s->on_cpu++;
	snprintf(s->why, sizeof(s->why), "%s", op->reason);
}

static const char *check_parts(const struct product *p, const struct parts *s)
{
	static char text[300];

	if (s->requantised == 1 && s->sums == 1 && s->on_cpu == 1 && s->merged == 1 &&
	    strstr(s->why, "channels, whose sums it rounds otherwise"))
		return NULL;
	snprintf(text, sizeof(text), "%d %s and %d sums on gcu, %d requantisations and %d merges "
		 "on the CPU: %s", s->requantised, p->op, s->sums, s->on_cpu, s->merged, s->why);
	return text;
}

static void check_product(const struct product *p, uint32_t seed)
{
	struct bench t = { .core = "gcu" };
	struct parts s = { .p = p };
	struct cnnrt_program *program = NULL;
	struct onnx_build *b;
	struct answer got;
	const char *wrong = NULL;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	b = make(p);
	file = ob_pack(b, &len);
	ob_free(b);
	if (bench_open(&t, p->device ? p->device : "sim:cores=gcu") ||
	    compile(&t, file, len, false, &program))
		wrong = t.err.text;
	else
		cnnrt_program_explain(program, look, &s);
	cnnrt_program_free(program);
	wrong = wrong ? wrong : check_parts(p, &s);
	wrong = wrong ? wrong : run_both(&t, file, len, true, seed, &got);
	if (!wrong && got.estimate.macs_device != got.estimate.macs_total)
		wrong = "some of its multiply-adds are on the CPU";
	wrong = wrong ? wrong : run_compared(&t, file, len, seed, &got);
	check(p->name, wrong);
	bench_close(&t);
	free(file);
}

/* ---- files with the compiler's operators -------------------------------------------------- */

/* text: of the error, or NULL if there is none. Frees b. */
static void check_file(const char *name, struct onnx_build *b, Onnx__NodeProto *n, const char *text)
{
	struct bench t = { .core = "gcu", .refused = 1 };
	struct answer got;
	const char *wrong;
	size_t len;
	void *file;

	free(n->domain);
	n->domain = strdup("cnnacc");
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	wrong = bench_open(&t, "sim:cores=gcu") ? t.err.text :
		run_both(&t, file, len, false, 1, &got);
	if (text && wrong && strstr(wrong, text))
		wrong = NULL;
	else if (text && !wrong)
		wrong = "no error";
	check(name, wrong);
	bench_close(&t);
	free(file);
}

/* Three output channels of two groups of two inputs. */
static void check_groups(const char *name, int64_t count, const int32_t *groups, bool uneven,
			 const char *text)
{
	const int64_t x[4] = { 1, 4, 3, 3 }, w[4] = { 3, 2, 1, 1 };
	const int8_t weights[6] = { 1, -2, 3, -4, 5, -6 };
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", INT8, 4, x);
	ob_raw(b, "w", INT8, 1, 4, w, weights);
	add_number(b, "zero", INT8, 0);
	ob_raw(b, "groups", INT32, 4, 1, &count, groups);
	n = ob_node(b, "IntegerConv", "x w zero zero groups", "y");
	ob_attr_int(n, "group", 2);
	ob_attr_int(n, "uneven_groups", uneven);
	check_file(name, b, n, text);
}

static void check_index(const char *name, const int32_t *index, const char *text)
{
	const int64_t x[4] = { 2, 2, 3, 1 }, three = 3;
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", INT8, 4, x);
	ob_raw(b, "index", INT32, 4, 1, &three, index);
	check_file(name, b, ob_node(b, "MergeChannels", "x x index", "y"), text);
}

static void check_files(void)
{
	check_groups("groups of 1 and 2 channels", 3, (int32_t[]){ 0, 1, 1 }, true, NULL);
	check_groups("one group has no channel", 3, (int32_t[]){ 1, 1, 1 }, true, NULL);
	check_groups("a group is not there", 3, (int32_t[]){ 0, 1, 2 }, true,
		     "groups are not ascending, or not below 2");
	check_groups("a group is negative", 3, (int32_t[]){ -1, 0, 1 }, true,
		     "groups are not ascending, or not below 2");
	check_groups("groups are not ascending", 3, (int32_t[]){ 1, 0, 1 }, true,
		     "groups are not ascending, or not below 2");
	check_groups("groups of four channels", 4, (int32_t[]){ 0, 0, 1, 1 }, true,
		     "input 4 is not one int32 for each of 3 output channels");
	check_groups("groups without the attribute", 3, (int32_t[]){ 0, 1, 1 }, false,
		     "group 2 does not fit");
	check_index("channels of both", (int32_t[]){ 3, 0, 1 }, NULL);
	check_index("a channel is not there", (int32_t[]){ 0, 4, 1 },
		    "channel 4 as number 1, limit 3");
	check_index("a channel is negative", (int32_t[]){ 0, 1, -1 },
		    "channel -1 as number 2, limit 3");
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 1;

	read_options(argc, argv, &seed, &count);
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < PRODUCTS; k++)
			check_product(&products[k], seed + i);
	check_files();
	return end_checks();
}
