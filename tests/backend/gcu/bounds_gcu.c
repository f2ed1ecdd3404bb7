// SPDX-License-Identifier: MIT
/*
 * Bounds of products in FP16 on core gcu: results that are computed here tap by tap, as
 * Documentation/hardware/gcu.rst says, are within them, and the bounds are not idle: a result with
 * one product left out is not, nor are they many times as large as the largest error.
 */
#include <math.h>
#include <string.h>

#include <cnnacc_gcu.h>

#include "backend/gcu/bounds.h"
#include "ops/float16.h"
#include "util.h"

#define LANES	8
#define ROUNDS	120

static uint32_t seed = 5;

static int64_t pick(int64_t low, int64_t high)
{
	return low + (int64_t)(ob_rand(&seed) % (uint32_t)(high - low + 1));
}

/* ---- the core's arithmetic --------------------------------------------------------------- */

struct half {
	int64_t mts;	/* with its sign */
	int ex;
};

static struct half decode(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	int64_t mts = e == 0 ? m << 1 : (1024 + m) << (e & 3);

	return (struct half){ h & 0x8000 ? -mts : mts, e >> 2 };
}

/* The sum of a surface in units of 2^(4 func - 50). */
static int64_t mac(const struct half *x, const struct half *w, int *func)
{
	int64_t f = 0;

	*func = 0;
	for (int i = 0; i < LANES; i++)
		*func = x[i].ex + w[i].ex > *func ? x[i].ex + w[i].ex : *func;
	for (int i = 0; i < LANES; i++) {
		int64_t product = x[i].mts * w[i].mts;
		int shift = 4 * (*func - x[i].ex - w[i].ex);

		product = shift > 40 ? 0 : product < 0 ? -(-product >> shift) : product >> shift;
		f += product;
	}
	return f;
}

static __int128 shift_floor(__int128 v, int n)
{
	return n >= 127 ? v < 0 ? -1 : 0 : v >> n;
}

/* old is +0 or normal in these tests. */
static float add(float old, int64_t f, int func)
{
	uint32_t bits = as_bits(old);
	int field = (int)(bits >> 23 & 255), oe = (field > 1 ? field : 1) - 150, e = 4 * func - 50;
	int64_t om = (bits & 0x7fffff) | (field ? 0x800000 : 0);
	int d = oe > e ? oe - e : e - oe, x = oe > e ? oe : e, p = 0;
	__int128 big, small, s, whole;

	om = bits >> 31 ? -om : om;
	big = oe > e ? om : f;
	small = oe > e ? f : om;
	s = (big << 23) + (d > 63 ? 0 : shift_floor(small << 23, d));
	whole = shift_floor(s, 23);
	for (int i = 0; i < 100; i++)
		if ((whole >> i & 1) != (whole < 0))
			p = i;
	s = shift_floor(s, p);
	x += p;
	if (x < -126)
		return s < 0 ? -0.0f : 0;
	if (s == -(1 << 24))
		return ldexpf(-1, x + 1);
	if ((s < 0 ? -s : s) < 1 << 23)
		return s < 0 ? -0.0f : 0;
	return ldexpf((float)(int64_t)s, x - 23);
}

static double to_output(float v)
{
	uint16_t h = float_to_half(v);

	if (fabsf(v) < 0x1p-14f)
		return 0;
	return (double)((h & 0x7fff) >= 0x7c00 ? copysignf(65504, v) : half_to_float(h));
}

/* ---- a convolution on it ----------------------------------------------------------------- */

struct conv {
	struct cnn_window w;
	bool transposed;
	const float *x, *k, *bias;
	int64_t skip;	/* a lane that is left out; -1: none */
};

/* Input row or column of a kernel one; -1: none. */
static int64_t read_from(const struct conv *c, int axis, int64_t out, int64_t k)
{
	const struct cnn_window *w = &c->w;
	int64_t at = out * w->stride[axis] - w->pad_begin[axis] + k * w->dilation[axis];

	if (c->transposed) {
		at = out + w->pad_begin[axis] - k * w->dilation[axis];
		if (at < 0 || at % w->stride[axis])
			return -1;
		at /= w->stride[axis];
	}
	return at < w->in[axis] ? at : -1;
}

static float weight(const struct conv *c, int64_t k, int64_t channel, int64_t r, int64_t s)
{
	const struct cnn_window *w = &c->w;
	int64_t in = w->in_ch / w->group, out = w->out_ch / w->group;
	int64_t taps = w->kernel[0] * w->kernel[1];
	int64_t tap = r * w->kernel[1] + s;

	if (channel < k / out * in || channel >= (k / out + 1) * in)
		return 0;
	return c->transposed ? c->k[(channel * out + k % out) * taps + tap] :
			       c->k[(k * in + channel % in) * taps + tap];
}

static float add_tap(const struct conv *c, float acc, int64_t k, int64_t first, int64_t place[4])
{
	struct half x[LANES], w[LANES];
	const int64_t plane = c->w.in[0] * c->w.in[1];
	int64_t f;
	int func;

	for (int i = 0; i < LANES; i++) {
		bool real = first + i < c->w.in_ch && first + i != c->skip;

		x[i] = decode(real ? float_to_half(c->x[(first + i) * plane +
							place[2] * c->w.in[1] + place[3]]) : 0);
		w[i] = decode(float_to_half(real ? weight(c, k, first + i, place[0], place[1]) :
						   0));
	}
	f = mac(x, w, &func);
	return add(acc, f, func);
}

static double result(const struct conv *c, int64_t k, int64_t oy, int64_t ox)
{
	const struct cnn_window *w = &c->w;
	float acc = 0;

	for (int64_t g = 0; g < w->in_ch; g += LANES)
		for (int64_t i = 0; i < w->kernel[0]; i++)
			for (int64_t j = 0; j < w->kernel[1]; j++) {
				int64_t r = c->transposed ? w->kernel[0] - 1 - i : i;
				int64_t s = c->transposed ? w->kernel[1] - 1 - j : j;
				int64_t place[4] = { r, s, read_from(c, 0, oy, r),
						     read_from(c, 1, ox, s) };
				int64_t in = w->in_ch / w->group;
				int64_t group = k / (w->out_ch / w->group);
				bool own = g < (group + 1) * in && g + LANES > group * in;

				if (place[2] >= 0 && place[3] >= 0 && own)
					acc = add_tap(c, acc, k, g, place);
			}
	return to_output(acc + c->bias[k]);
}

/* ---- tests ------------------------------------------------------------------------------- */

/* Numbers of many sizes, some of them zero. */
static void make_numbers(float *v, int64_t n, int exponents)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = pick(0, 9) ? ldexpf((float)pick(-4096, 4096),
					   (int)pick(-12 - exponents, -12)) : 0;
}

struct found {
	double ratio, missed;	/* largest error of its bound, without and with a lane left out */
};

static void check(struct conv *c, const struct cnn_bounds *b, struct found *found)
{
	int64_t i = 0;

	for (int64_t k = 0; k < c->w.out_ch; k++)
		for (int64_t y = 0; y < c->w.out[0]; y++)
			for (int64_t x = 0; x < c->w.out[1]; x++, i++) {
				double error;

				c->skip = -1;
				error = fabs(result(c, k, y, x) - b->exact[i]);
				if (!(error <= b->bound[i]))
					fail_msg("element %lld: %g off, bound %g", (long long)i,
						 error, b->bound[i]);
				found->ratio = fmax(found->ratio, error / b->bound[i]);
				c->skip = pick(0, c->w.in_ch - 1);
				error = fabs(result(c, k, y, x) - b->exact[i]);
				found->missed = fmax(found->missed, error / b->bound[i]);
			}
}

static void run_case(const char *op, int64_t group, int64_t in, int64_t out, struct found *found)
{
	int64_t kernel = pick(1, 3), side = pick(5, 7);
	bool transposed = !strcmp(op, "ConvTranspose");
	struct onnx_build *ob = ob_new(13);
	struct cnn_tensor x, w, bias;
	const struct cnn_tensor *inputs[3] = { &x, &w, &bias };
	const struct cnnrt_core_info info = {
		.param = { [CNNACC_GCU_PARAM_ATOMIC] = LANES | LANES << 8 },
	};
	struct cnn_bounds b = { .in = inputs };
	Onnx__NodeProto *n;
	struct cnn_graph *g;
	struct conv c = { .transposed = transposed };
	int64_t count;

	x = random_tensor(1, OB_DIMS(1, in, side, side));
	w = random_tensor(2, OB_DIMS(transposed ? in : out, (transposed ? out : in) / group, kernel,
				     kernel));
	bias = random_tensor(3, OB_DIMS(out));
	make_numbers(x.data, cnn_tensor_count(&x), (int)pick(0, 12));
	make_numbers(w.data, cnn_tensor_count(&w), (int)pick(0, 12));
	ob_input(ob, "x", CNN_FLOAT32, OB_DIMS(1, in, side, side));
	ob_floats(ob, "w", w.rank, w.dims, w.data);
	ob_floats(ob, "b", 1, &out, bias.data);
	n = ob_node(ob, op, "x w b", "y");
	ob_attr_int(n, "group", group);
	ob_attr_ints(n, "strides", 2, (int64_t[]){ pick(1, 3), pick(1, 2) });
	ob_attr_ints(n, "dilations", 2, (int64_t[]){ 1, pick(1, 2) });
	ob_attr_ints(n, "pads", 4, (int64_t[]){ pick(0, 1), 0, 0, pick(0, 1) });
	ob_output(ob, "y");
	g = inferred(ob);
	b.g = g;
	assert_int_equal(cnn_node_window(g, &g->nodes[0], &c.w, NULL), 0);
	count = cnn_tensor_count(cnn_node_out(g, &g->nodes[0], 0));
	b.exact = calloc((size_t)count, sizeof(double));
	b.bound = calloc((size_t)count, sizeof(double));
	b.saturated = calloc((size_t)count, sizeof(bool));
	assert_int_equal(gcuc_bounds(&info, &b), 1);
	c.x = x.data;
	c.k = w.data;
	c.bias = bias.data;
	check(&c, &b, found);
	free(b.exact);
	free(b.bound);
	free(b.saturated);
	cnn_graph_free(g);
	cnn_tensor_release(&x);
	cnn_tensor_release(&w);
	cnn_tensor_release(&bias);
}

static void check_kind(const char *op, bool grouped)
{
	struct found found = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		int64_t group = grouped ? pick(2, 6) : 1, in = group * pick(1, grouped ? 4 : 20);

		run_case(op, group, in, grouped ? in : pick(1, 3), &found);
	}
	printf("# %s%s: an error is %.3f of its bound, without a lane %.3g\n", op,
	       grouped ? ", grouped" : "", found.ratio, found.missed);
	assert_true(found.ratio > 0.2);
	assert_true(found.missed > 10);
}

static void test_conv(void **state)
{
	(void)state;
	check_kind("Conv", false);
}

static void test_grouped(void **state)
{
	(void)state;
	check_kind("Conv", true);
}

static void test_transposed(void **state)
{
	(void)state;
	check_kind("ConvTranspose", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv), cmocka_unit_test(test_grouped),
		cmocka_unit_test(test_transposed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
