// SPDX-License-Identifier: MIT
/*
 * Requantisation by core hwpe itself: random chains of quantised layers with scales that are powers
 * of two, on the core and on the CPU, byte for byte; the core requantises the layers where its shift
 * cannot differ from rounding to even, and no others, and nothing of them is then on the CPU; what is
 * said of the others.
 * Usage: lower_hwpe_shift [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"
#include "core_run.h"

#define UINT8	2
#define INT8	3
#define INT32	6
#define LAYERS	3
#define OUTPUTS	70
#define KERNEL_TOO_LARGE	12	/* for the core */

/* One layer: sums of channel k have the scale 2^-e[k], and weights that 2^t divides. */
struct layer {
	bool conv, bias, last;
	int64_t in, out, kernel, stride, pads, groups;
	int x_type, y_type, x_zero, y_zero;
	int t, e[OUTPUTS];
	int32_t b[OUTPUTS];
	int8_t *w;		/* [out][taps] of a convolution, [taps][out] of a product */
	float factor;		/* 1, or a factor that makes the scale no power of two */
	int weight_zero;
};

static int64_t taps_of(const struct layer *l)
{
	return l->conv ? l->in / l->groups * l->kernel * l->kernel : l->in;
}

static int weight(const struct layer *l, int64_t k, int64_t tap)
{
	return l->w[l->conv ? k * taps_of(l) + tap : tap * l->out + k];
}

/* ---- what is right --------------------------------------------------------------------- */

/* Can a sum of channel k be a tie, halfway between two results? Its sums are b + u 2^t. */
static bool has_tie(const struct layer *l, int64_t k)
{
	int64_t sum = 0, unit = (int64_t)1 << (l->e[k] > 0 ? l->e[k] : 0);

	for (int64_t tap = 0; tap < taps_of(l); tap++)
		sum += weight(l, k, tap);
	for (int64_t u = 0; u < unit; u++) {
		int64_t s = l->b[k] - l->x_zero * sum + (u << l->t);

		if (unit > 1 && (s % unit + unit) % unit == unit / 2)
			return true;
	}
	return false;
}

/* The next layer reads the result as uint8, so the last layer cannot give int8. */
static bool is_shifted(const struct layer *l)
{
	if (l->factor != 1 || l->weight_zero || (l->last && l->y_type == INT8))
		return false;
	for (int64_t k = 0; k < l->out; k++)
		if (has_tie(l, k))
			return false;
	return true;
}

/* ---- random layers --------------------------------------------------------------------- */

/* Weights of which 2^t is the largest power of two that divides all of a channel. */
static void fill_weights(struct layer *l, int most)
{
	for (int64_t i = 0; i < l->out * taps_of(l); i++)
		l->w[i] = (int8_t)(pick(-most - (most == 127), most) * (1 << l->t));
	for (int64_t k = 0; k < l->out; k++)
		l->w[l->conv ? k * taps_of(l) : k] = (int8_t)(1 << l->t);
}

/* Scales of all channels are near each other, so that one shift serves them. */
static void fill_scales(struct layer *l)
{
	bool full = !pick(0, 3);
	int e;

	l->t = full ? 0 : (int)pick(0, 3);
	e = full ? 0 : (int)pick(0, l->t ? 10 : 0);
	fill_weights(l, full ? 127 : 7);
	for (int64_t k = 0; k < l->out; k++)
		l->e[k] = full ? 0 : e + (int)pick(0, l->t ? 2 : 0);
}

/* Most biases make a tie impossible where a bias can. */
static void fill_bias(struct layer *l)
{
	bool any = !pick(0, 3);

	for (int64_t k = 0; k < l->out; k++) {
		int32_t v = (int32_t)ob_rand(&random_state) >> pick(16, 24);

		if (!any && l->t < l->e[k])
			v = (v & -(1 << l->t)) + (l->t ? (int32_t)pick(1, (1 << l->t) - 1) : 0);
		if (!any && l->e[k] > 0 && l->t >= l->e[k])
			v = (v & -(1 << l->e[k])) + (int32_t)pick(0, (1 << (l->e[k] - 1)) - 1);
		l->b[k] = l->bias ? v : 0;
	}
}

static void random_layer(struct layer *l, const struct layer *before, bool last)
{
	bool zeros = pick(0, 2);

	*l = (struct layer){
		.conv = before ? before->conv : pick(0, 2), .last = last,
		.in = before ? before->out : pick(1, 20), .out = pick(1, OUTPUTS),
		.kernel = pick(1, 3), .stride = pick(1, 2), .pads = pick(0, 1), .groups = 1,
		.x_type = before ? before->y_type : pick(0, 1) ? INT8 : UINT8,
		.y_type = pick(0, 2) ? UINT8 : INT8, .factor = pick(0, 9) ? 1 : 1.25f,
		.weight_zero = pick(0, 9) ? 0 : 3,
	};
	if (!before && !pick(0, 15)) {
		l->kernel = KERNEL_TOO_LARGE;
		l->stride = 1;
	}
	if (l->conv && !pick(0, 3)) {
		int64_t each = 8;

		/* Groups of a word each are blocks of any number of outputs. */
		if (!before && pick(0, 1))
			l->in = each * pick(2, 5);
		while (l->in % each)
			each--;
		each = pick(0, 1) ? each : 1;
		l->groups = l->in / each;
		l->out = l->groups * pick(1, OUTPUTS / l->groups < 5 ? OUTPUTS / l->groups : 5);
	}
	l->bias = l->conv && pick(0, 3);
	l->x_zero = before ? before->y_zero : zeros ? (int)pick(0, 100) : 0;
	l->y_zero = l->y_type == INT8 ? (zeros ? (int)pick(-128, 20) : -128) :
		    zeros ? (int)pick(0, 60) : 0;
	l->w = malloc((size_t)(l->out * taps_of(l)));
	if (!l->w)
		abort();
	fill_scales(l);
	fill_bias(l);
}

/* ---- the network ----------------------------------------------------------------------- */

static void add_zero(struct onnx_build *b, const char *name, int type, int v)
{
	const uint8_t byte = (uint8_t)v;

	ob_bytes(b, name, type, 0, NULL, &byte);
}

/* Scales of inputs and results are 1/4. */
static void add_scales(struct onnx_build *b, const char *name, const struct layer *l)
{
	float v[OUTPUTS];

	for (int64_t k = 0; k < l->out; k++) {
		v[k] = l->factor;
		for (int i = 0; i < abs(l->e[k]); i++)
			v[k] *= l->e[k] > 0 ? 0.5f : 2;
	}
	ob_floats(b, name, 1, &l->out, v);
}

static void add_layer(struct onnx_build *b, int i, const struct layer *l)
{
	const int64_t w[4] = { l->out, l->in / l->groups, l->kernel, l->kernel };
	const int64_t m[2] = { l->in, l->out }, strides[2] = { l->stride, l->stride };
	const int64_t pads[4] = { l->pads, l->pads, l->pads, l->pads };
	char name[6][16], inputs[128], out[16];
	Onnx__NodeProto *n;

	for (int k = 0; k < 6; k++)
		snprintf(name[k], sizeof(name[k]), "%c%d", "wsxzyb"[k], i);
	ob_bytes(b, name[0], INT8, l->conv ? 4 : 2, l->conv ? w : m, l->w);
	add_scales(b, name[1], l);
	add_zero(b, name[2], l->x_type, l->x_zero);
	add_zero(b, name[3], INT8, l->weight_zero);
	add_zero(b, name[4], l->y_type, l->y_zero);
	ob_raw(b, name[5], INT32, sizeof(*l->b), 1, &l->out, l->b);
	snprintf(inputs, sizeof(inputs), "v%d scale %s %s %s %s scale %s %s", i, name[2], name[0],
		 name[1], name[3], name[4], l->bias ? name[5] : "");
	snprintf(out, sizeof(out), "v%d", i + 1);
	n = ob_node(b, l->conv ? "QLinearConv" : "QLinearMatMul", inputs, out);
	if (!l->conv)
		return;
	ob_attr_int(n, "group", l->groups);
	ob_attr_ints(n, "strides", 2, strides);
	ob_attr_ints(n, "pads", 4, pads);
}

static void *make_network(const struct layer *l, int layers, size_t *len)
{
	const int64_t x[4] = { pick(1, 2), l->in, pick(18, 24), pick(18, 24) };
	const int64_t a[2] = { pick(1, 20), l->in };
	struct onnx_build *b = ob_new(13);
	const float scale = 0.25f;
	char out[16];
	void *file;

	ob_input(b, "v0", l->x_type, l->conv ? 4 : 2, l->conv ? x : a);
	ob_floats(b, "scale", 0, NULL, &scale);
	for (int i = 0; i < layers; i++)
		add_layer(b, i, &l[i]);
	snprintf(out, sizeof(out), "v%d", layers);
	ob_output(b, out);
	file = ob_pack(b, len);
	ob_free(b);
	return file;
}

/* ---- checks ---------------------------------------------------------------------------- */

static bool is_too_large(const struct layer *l)
{
	return l->conv && l->kernel == KERNEL_TOO_LARGE;
}

struct tally {
	uint32_t shifted, sums, whole;		/* layers; networks that are one job */
};

static const char *judge(const struct layer *l, int layers, const struct answer *got,
			 struct tally *all)
{
	static char text[128];
	uint32_t shifted = 0, large = 0;
	bool whole;

	/* What the core does not take stays one operator on the CPU. */
	for (int i = 0; i < layers; i++) {
		large += is_too_large(&l[i]);
		shifted += is_shifted(&l[i]) && !is_too_large(&l[i]);
	}
	whole = shifted == (uint32_t)layers;
	if (got->shifted != shifted || got->sums != (uint32_t)layers - large - shifted) {
		snprintf(text, sizeof(text), "of %d layers %u are shifted out, %u are sums; %u are too "
			 "large, %u should be shifted out", layers, got->shifted, got->sums, large,
			 shifted);
		return text;
	}
	if (whole && (got->cpu_steps || got->submissions != 1))
		return "the host comes between layers that the core requantises";
	all->shifted += got->shifted;
	all->sums += got->sums;
	all->whole += whole && layers > 1;
	return NULL;
}

static const char *run_random(struct bench *t, uint32_t seed, struct tally *all)
{
	struct layer l[LAYERS];
	struct answer got;
	const char *wrong;
	int layers;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	layers = (int)pick(1, LAYERS);
	for (int i = 0; i < layers; i++)
		random_layer(&l[i], i ? &l[i - 1] : NULL, i == layers - 1);
	file = make_network(l, layers, &len);
	wrong = run_both(t, file, len, seed % 8 == 0, seed, &got);
	if (!wrong)
		wrong = judge(l, layers, &got, all);
	for (int i = 0; i < layers; i++)
		free(l[i].w);
	free(file);
	return with_seed(wrong, seed);
}

static void check_random(const char *device, uint32_t seed, uint32_t count)
{
	struct bench t = { .core = "hwpe", .refused = 1 + count / 10 };
	struct tally all = { 0 };
	const char *wrong = bench_open(&t, device) ? t.err.text : NULL;

	for (uint32_t k = 0; k < count && !wrong; k++)
		wrong = run_random(&t, seed + k, &all);
	if (!wrong && count >= 100 && (all.shifted < count / 4 || all.sums < count / 4 || !all.whole))
		wrong = "too few layers of either kind";
	printf("# %u layers shifted out, %u sums, %u networks of several layers in one job\n",
	       all.shifted, all.sums, all.whole);
	check(device, wrong);
	bench_close(&t);
}

/* ---- why not --------------------------------------------------------------------------- */

struct search {
	const char *text;
	bool found;
	char reason[200];
};

static void look(const struct cnnrt_op_report *op, void *opaque)
{
	struct search *s = opaque;

	if (strcmp(op->op, "QLinearSums"))
		return;
	s->found = strstr(op->reason, s->text);
	snprintf(s->reason, sizeof(s->reason), "%s", op->reason);
}

/* The layer of two channels runs on the CPU, with this reason. */
static void check_reason(const char *text, const struct layer *l)
{
	struct search s = { .text = text };
	struct cnnrt_program *p = NULL;
	struct bench t = { .core = "hwpe" };
	size_t len;
	void *file = make_network(l, 1, &len);

	if (!bench_open(&t, "sim:cores=hwpe") && !compile(&t, file, len, false, &p))
		cnnrt_program_explain(p, look, &s);
	check(text, s.found ? NULL : s.reason[0] ? s.reason : t.err.text);
	cnnrt_program_free(p);
	bench_close(&t);
	free(file);
}

static void check_reasons(void)
{
	int8_t even[] = { 2, 4, -6, 8, 2, 100, -128, 12 }, odd[] = { 2, 4, -6, 8, 2, 100, 127, 12 };
	const struct layer good = {
		.conv = true, .bias = true, .last = true, .in = 4, .out = 2, .kernel = 1, .stride = 1,
		.groups = 1, .x_type = UINT8, .y_type = UINT8, .factor = 1, .t = 1, .e = { 5, 5 },
		.b = { 1, 3 }, .w = even,
	};
	struct layer l = good;

	l.factor = 1.25f;
	check_reason("the scale of channel 0 is 0.0390625, no power of 2 from 2^-16 to 2^7", &l);
	l = good;
	l.w = odd;
	check_reason("a sum of channel 1 can be a half", &l);
	l = good;
	l.b[0] = 4;
	check_reason("a sum of channel 0 can be a half", &l);
	l = good;
	l.e[0] = 7;
	check_reason("weights of channel 1 times 2^1 are no int8", &l);
	l = good;
	l.weight_zero = 1;
	check_reason("weights have a zero point", &l);
	l = good;
	l.y_type = INT8;
	check_reason("the result is int8 and not only for quantised products", &l);
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 200;

	read_options(argc, argv, &seed, &count);
	check_random("sim:cores=hwpe", seed, count);
	check_random("sim:cores=hwpe:fmap=8192:kernel=262144:program=4096", seed, count);
	check_reasons();
	return end_checks();
}
