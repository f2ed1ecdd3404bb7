// SPDX-License-Identifier: MIT
/*
 * Floats on core imc, bit for bit: layers and a network of numbers whose sums are not exact, of
 * small numbers, negative zeros and infinities, against a reference that adds in the order of the
 * page: channels of a pass ascending, columns of the kernel, its rows, passes of CIN_MAX, phases.
 * A transposed convolution has one phase for each result, with its taps in descending order.
 * Usage: lower_imc_float [--count N] [--seed N]; TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"
#include "core_run.h"
#include "random_products.h"

/* A map [n][c][h][w]. */
struct map {
	int64_t n, c, h, w;
	float *v;
};

static int64_t count(const struct map *m)
{
	return m->n * m->c * m->h * m->w;
}

static struct map new_map(int64_t n, int64_t c, int64_t h, int64_t w)
{
	struct map m = { n, c, h, w, NULL };

	m.v = calloc((size_t)count(&m), sizeof(*m.v));
	if (!m.v)
		abort();
	return m;
}

/* ---- the reference ----------------------------------------------------------------------- */

static int64_t gcd(int64_t a, int64_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* Along an axis, what a result adds of one phase: taps, and the inputs that they meet. */
struct run {
	int64_t tap, tap_step, count;
	int64_t input, input_step;
};

/* Phase number @phase of result @out; false if there are fewer. */
static bool conv_run(const struct conv *c, int i, int64_t outs, int64_t out, int64_t phase,
		     struct run *r)
{
	/* The stride of one result and the dilation of one tap have no effect; they become 1. */
	int64_t stride = outs == 1 ? 1 : c->stride[i], kernel = c->w[2 + i];
	int64_t dilation = kernel == 1 ? 1 : c->dilation[i], phases = stride / gcd(stride, dilation);

	*r = (struct run){ .tap = phase, .tap_step = phases, .input_step = phases * dilation };
	r->count = (kernel - phase + phases - 1) / phases;
	r->input = out * stride + phase * dilation - c->pads[i];
	return phase < phases && phase < kernel;
}

/* The taps of a transposed one that fall on an input. */
static bool transposed_run(const struct conv *c, int i, int64_t out, struct run *r)
{
	int64_t stride = c->stride[i], dilation = c->w[2 + i] == 1 ? 1 : c->dilation[i];

	*r = (struct run){ .input_step = dilation / gcd(stride, dilation) };
	for (int64_t k = 0; k < c->w[2 + i]; k++)
		if ((out + c->pads[i] - k * dilation) % stride == 0) {
			r->tap_step = r->count++ ? r->tap - k : 0;
			r->tap = k;
			r->input = (out + c->pads[i] - k * dilation) / stride;
		}
	return r->count;
}

/* All that one result needs. */
struct result {
	const struct map *x, *w;
	bool transposed;
	int64_t cin, cin_max, image, k, group, out;	/* cin, out: channels of a group */
};

/* The element that tap number (i, j) of a phase meets, which may be behind its taps. */
static float element(const struct result *r, const struct run *v, const struct run *h, int64_t c,
		     int64_t i, int64_t j)
{
	int64_t y = v->input + i * v->input_step, x = h->input + j * h->input_step;

	c += r->group * r->cin;
	if (y < 0 || y >= r->x->h || x < 0 || x >= r->x->w)
		return 0;
	return r->x->v[((r->image * r->x->c + c) * r->x->h + y) * r->x->w + x];
}

static float weight(const struct result *r, const struct run *v, const struct run *h, int64_t c,
		    int64_t i, int64_t j)
{
	int64_t row = r->transposed ? (r->group * r->cin + c) * r->out + r->k % r->out :
				      r->k * r->cin + c;

	if (i >= v->count || j >= h->count)
		return 0;
	return r->w->v[(row * r->w->h + v->tap + i * v->tap_step) * r->w->w + h->tap +
		       j * h->tap_step];
}

/* ALU: channels first..end-1, the first product as it is. */
static float multiply(const struct result *r, const struct run *v, const struct run *h,
		      const int64_t c[2], int64_t i, int64_t j)
{
	float p = element(r, v, h, c[0], i, j) * weight(r, v, h, c[0], i, j);

	for (int64_t k = c[0] + 1; k < c[1]; k++)
		p += element(r, v, h, k, i, j) * weight(r, v, h, k, i, j);
	return p;
}

/* All passes of a phase; *cell is valid if *any. */
static void add_phase(const struct result *r, const struct run *v, const struct run *h, float *cell,
		      bool *any)
{
	int64_t n = v->count > h->count ? v->count : h->count;

	for (int64_t c = 0; c < r->cin; c += r->cin_max)
		for (int64_t i = 0; i < n; i++) {
			int64_t end = c + r->cin_max < r->cin ? c + r->cin_max : r->cin;
			const int64_t pass[2] = { c, end };
			float row = multiply(r, v, h, pass, i, 0);

			for (int64_t j = 1; j < n; j++)
				row += multiply(r, v, h, pass, i, j);
			*cell = *any ? *cell + row : row;
			*any = true;
		}
}

static float sum_of(const struct result *r, const struct conv *c, const struct map *y,
		    const int64_t at[2])
{
	struct run v, h;
	bool any = false;
	float cell = 0;

	if (r->transposed) {
		if (transposed_run(c, 0, at[0], &v) && transposed_run(c, 1, at[1], &h))
			add_phase(r, &v, &h, &cell, &any);
		return cell;
	}
	for (int64_t a = 0; conv_run(c, 0, y->h, at[0], a, &v); a++)
		for (int64_t b = 0; conv_run(c, 1, y->w, at[1], b, &h); b++)
			add_phase(r, &v, &h, &cell, &any);
	return cell;
}

/* Results along an axis of @in inputs. */
static int64_t results(const struct conv *c, int i, int64_t in, bool transposed)
{
	int64_t reach = (c->w[2 + i] - 1) * c->dilation[i] + 1, pads = c->pads[i] + c->pads[2 + i];

	return transposed ? (in - 1) * c->stride[i] + reach - pads :
			    (in + pads - reach) / c->stride[i] + 1;
}

static struct map convolve(const struct map *x, const struct map *w, const struct conv *c,
			   int64_t cin_max, bool transposed)
{
	struct map y = new_map(x->n, transposed ? w->c * c->groups : w->n,
			       results(c, 0, x->h, transposed), results(c, 1, x->w, transposed));
	int64_t out = y.c / c->groups;

	for (int64_t i = 0; i < count(&y); i++) {
		const int64_t at[2] = { i / y.w % y.h, i % y.w };
		const struct result r = {
			.x = x, .w = w, .transposed = transposed, .cin = x->c / c->groups,
			.cin_max = cin_max, .image = i / (y.c * y.h * y.w),
			.k = i / (y.h * y.w) % y.c, .group = i / (y.h * y.w) % y.c / out,
			.out = out,
		};

		y.v[i] = sum_of(&r, c, &y, at);
	}
	return y;
}

/* ---- on the core ------------------------------------------------------------------------- */

/* The bits, as every NaN is one. */
static uint32_t bits_of(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return isnan(v) ? 0x7fc00000 : bits;
}

static const char *compare(const float *got, const struct map *want)
{
	static char text[160];

	for (int64_t i = 0; i < count(want); i++) {
		if (bits_of(got[i]) == bits_of(want->v[i]))
			continue;
		snprintf(text, sizeof(text), "element %lld of %lld is %a, not %a", (long long)i,
			 (long long)count(want), (double)got[i], (double)want->v[i]);
		return text;
	}
	return NULL;
}

/* Runs an ONNX file whose multiply-adds have to be on the core. */
static const char *run_file(struct bench *t, struct onnx_build *b, const struct map *x,
			    const struct map *want)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_estimate e = { .struct_size = sizeof(e) };
	struct cnnrt_program *p = NULL;
	struct cnnrt_job *job = NULL;
	const char *wrong = t->err.text;
	size_t len;
	void *file, *data;

	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	if (!compile(t, file, len, false, &p) && !cnnrt_program_estimate(p, &e, &t->err) &&
	    !cnnrt_job_create(t->ctx, p, &job, &t->err) &&
	    !cnnrt_job_map(job, CNNRT_INPUT, 0, &info, &data, &t->err)) {
		memcpy(data, x->v, info.size);
		if (!cnnrt_job_submit(job, -1, NULL, &t->err) &&
		    !cnnrt_job_wait(job, -1, &t->err) &&
		    !cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &data, &t->err))
			wrong = e.macs_device != e.macs_total ? "not on the core" :
				info.size != (size_t)count(want) * sizeof(float) ? "another size" :
				compare(data, want);
	}
	cnnrt_job_free(job);
	cnnrt_program_free(p);
	free(file);
	return wrong;
}

/* ---- layers ------------------------------------------------------------------------------ */

/* Of both signs and some 60 powers of two; special: also 0, -0, an infinity and subnormals. */
static float any_float(bool special)
{
	static const float list[] = { 0, -0.0f, INFINITY, -INFINITY, 1e-40f, -1e-40f };
	uint32_t bits = ob_rand(&random_state);
	float v;

	if (special && !pick(0, 9))
		return list[pick(0, pick(0, 30) ? 1 : 5)];
	bits = (bits & 0x807fffff) | (uint32_t)pick(97, 157) << 23;
	if (pick(0, 3))
		bits = (bits & 0x807fffff) | (uint32_t)pick(124, 130) << 23;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void fill(struct map *m, bool special)
{
	for (int64_t i = 0; i < count(m); i++)
		m->v[i] = any_float(special);
}

static void add_weights(struct onnx_build *b, const char *name, const struct map *w)
{
	const int64_t dims[4] = { w->n, w->c, w->h, w->w };

	ob_floats(b, name, 4, dims, w->v);
}

static const char *run_layer(struct bench *t, uint32_t seed, int64_t cin_max)
{
	struct onnx_build *b = ob_new(13);
	struct map x, w, y;
	const char *wrong;
	struct conv c;
	bool transposed;

	random_state = seed * 2654435761u + 1;
	random_conv(&c);
	if (c.groups == 1 && !pick(0, 2))
		c.x[1] = c.w[1] = pick(60, 200);
	transposed = !pick(0, 2);
	if (transposed)
		transpose_conv(&c);
	x = new_map(c.x[0], c.x[1], c.x[2], c.x[3]);
	w = new_map(c.w[0], c.w[1], c.w[2], c.w[3]);
	fill(&x, true);
	fill(&w, false);
	y = convolve(&x, &w, &c, cin_max, transposed);
	ob_input(b, "x", FLOAT, 4, c.x);
	add_weights(b, "w", &w);
	conv_attributes(ob_node(b, transposed ? "ConvTranspose" : "Conv", "x w", "y"), &c);
	wrong = run_file(t, b, &x, &y);
	free(x.v);
	free(w.v);
	free(y.v);
	return with_seed(wrong, seed);
}

/* Builds differ in CIN_MAX, which is in the order; nothing else of them shows. */
static const struct {
	const char *name;
	int64_t cin_max;
} devices[] = {
	{ "sim:cores=imc", 64 },
	{ "sim:cores=imc:full-reuse=off:csus=7:port=4", 64 },
	{ "sim:cores=imc:cin-max=5:input=65536:weight=65536:unit=16384", 5 },
};

static void check_layers(uint32_t seed, uint32_t n)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct bench t = { .core = "imc" };
		const char *wrong = bench_open(&t, devices[i].name) ? t.err.text : NULL;

		for (uint32_t k = 0; k < n && !wrong; k++)
			wrong = run_layer(&t, seed + k, devices[i].cin_max);
		check(devices[i].name, wrong);
		bench_close(&t);
	}
}

/* ---- a network --------------------------------------------------------------------------- */

/* x + bias of each channel + more, if there is more; then Relu. */
static void add_rest(struct map *x, const float *bias, const struct map *more)
{
	for (int64_t i = 0; i < count(x); i++) {
		float v = x->v[i] + bias[i / (x->h * x->w) % x->c];

		if (more)
			v += more->v[i];
		x->v[i] = v > 0 ? v : 0;
	}
}

/* A residual block: a strided convolution, then two, around which its result goes. */
static void check_network(void)
{
	const struct conv first = { .w = { 70, 3, 5, 3 }, .groups = 1, .stride = { 2, 2 },
				    .dilation = { 1, 1 }, .pads = { 2, 1, 2, 1 } };
	const struct conv next = { .w = { 70, 70, 3, 3 }, .groups = 1, .stride = { 1, 1 },
				   .dilation = { 1, 1 }, .pads = { 1, 1, 1, 1 } };
	static const char *const nodes[3][3] = { { "x w0 b0", "c0", "v0" },
						 { "v0 w1 b1", "c1", "v1" },
						 { "v1 w2 b2", "c2", "s" } };
	const int64_t channels = 70, dims[4] = { 1, 3, 23, 17 };
	struct map x = new_map(1, 3, 23, 17), v[4] = { x }, w[3];
	struct onnx_build *b = ob_new(13);
	struct bench t = { .core = "imc" };
	char name[3] = "w0";

	random_state = 77;
	fill(&x, false);
	ob_input(b, "x", FLOAT, 4, dims);
	for (int i = 0; i < 3; i++) {
		const struct conv *c = i ? &next : &first;
		float bias[70];

		w[i] = new_map(c->w[0], c->w[1], c->w[2], c->w[3]);
		for (int64_t k = 0; k < count(&w[i]); k++)
			w[i].v[k] = any_float(false) * 0x1p-4f;
		for (int k = 0; k < 70; k++)
			bias[k] = any_float(false);
		name[0] = 'w';
		name[1] = (char)('0' + i);
		add_weights(b, name, &w[i]);
		name[0] = 'b';
		ob_floats(b, name, 1, &channels, bias);
		conv_attributes(ob_node(b, "Conv", nodes[i][0], nodes[i][1]), c);
		if (i < 2)
			ob_node(b, "Relu", nodes[i][1], nodes[i][2]);
		v[i + 1] = convolve(&v[i], &w[i], c, 64, false);
		add_rest(&v[i + 1], bias, i < 2 ? NULL : &v[1]);
	}
	ob_node(b, "Add", "c2 v0", "s");
	ob_node(b, "Relu", "s", "y");
	check("a residual block",
	      bench_open(&t, devices[0].name) ? t.err.text : run_file(&t, b, &x, &v[3]));
	bench_close(&t);
	for (int i = 0; i < 4; i++)
		free(v[i].v);
	for (int i = 0; i < 3; i++)
		free(w[i].v);
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, n = 60;

	read_options(argc, argv, &seed, &n);
	check_layers(seed, n);
	check_network();
	return end_checks();
}
