// SPDX-License-Identifier: MIT
/*
 * Values that steps on core hwpe read in several layouts or formats: random networks in which
 * convolutions, products and what is reshaped for them read one value, from the caller, the CPU or
 * the core, against the operators on the CPU, bit for bit and layer by layer; all multiply-adds are
 * on the core, and each copy is made once.
 * Usage: lower_hwpe_copies [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"
#include "core_run.h"

#define FLOAT	1
#define UINT8	2
#define INT8	3
#define INT32	6
#define READERS	5

/* ---- networks -------------------------------------------------------------------------- */

enum source { FROM_CALLER, FROM_CPU, FROM_CODES, FROM_CONV, FROM_PRODUCT, SOURCES };
enum reader { CONV, PRODUCT, FLAT_PRODUCT, ROWS_PRODUCT, LINE_CONV, ON_CPU, READER_KINDS };

enum format { ANY, EXP4, TER2 };

struct net {
	struct onnx_build *b;
	int64_t v[4];			/* shape of the value that all layers read */
	int type;
	enum format source, weights;	/* of the value if FROM_CODES; of the next weights */
	int parts;
	char outputs[200];		/* names of the readers' outputs, flattened */
};

static int64_t count_of(int rank, const int64_t *dims)
{
	int64_t count = 1;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	return count;
}

static void add_weights(struct net *n, const char *name, int rank, const int64_t *dims)
{
	int64_t count = count_of(rank, dims);
	int8_t *w = malloc((size_t)count);

	if (!w)
		abort();
	for (int64_t i = 0; i < count; i++)
		w[i] = (int8_t)(n->weights == ANY ? pick(-128, 127) :
				pick(-1, 1) * (1 << (n->weights == TER2 ? 0 : pick(0, 6))));
	ob_bytes(n->b, name, INT8, rank, dims, w);
	free(w);
}

/* A layer that the core requantises: all its scales are 1, all zero points 0. */
static void add_layer(struct net *n, const char *op, const char *x, const char *w, const char *y)
{
	const float one = 1;
	const uint8_t zero = 0;
	char inputs[64];

	ob_floats(n->b, "one", 0, NULL, &one);
	ob_bytes(n->b, "zero", UINT8, 0, NULL, &zero);
	ob_bytes(n->b, "wzero", INT8, 0, NULL, &zero);
	snprintf(inputs, sizeof(inputs), "%s one zero %s one wzero one zero", x, w);
	ob_node(n->b, op, inputs, y);
}

static void add_reshape(struct net *n, const char *x, const char *y, int rank, const int64_t *dims)
{
	char shape[16], inputs[32];

	snprintf(shape, sizeof(shape), "%s_shape", y);
	snprintf(inputs, sizeof(inputs), "%s %s", x, shape);
	ob_int64s(n->b, shape, rank, dims);
	ob_node(n->b, "Reshape", inputs, y);
}

static void add_codes(struct net *n)
{
	const float scale = 1.0f / (float)(1 << pick(0, 5));
	Onnx__NodeProto *q;

	ob_input(n->b, "x", FLOAT, 4, n->v);
	ob_floats(n->b, "s", 0, NULL, &scale);
	q = ob_node(n->b, "QuantizeCodes", "x s", "v");
	q->domain = strdup("cnnacc");
	ob_attr_str(q, "format", n->source == TER2 ? "TER2" : "EXP4");
}

static void add_source(struct net *n, enum source source)
{
	const int64_t channels = pick(1, 20), swap[4] = { 0, 1, 3, 2 };
	const int64_t x[4] = { n->v[0], channels, n->v[2], n->v[3] };
	const int64_t turned[4] = { n->v[0], n->v[1], n->v[3], n->v[2] };
	const int64_t w[4] = { n->v[1], channels, 1, 1 };
	const int64_t rows[2] = { n->v[0] * n->v[1], channels };
	const int64_t m[2] = { channels, n->v[2] * n->v[3] };

	n->type = source == FROM_CODES ? INT8 : source < FROM_CODES && pick(0, 1) ? INT8 : UINT8;
	switch (source) {
	case FROM_CPU:
		ob_input(n->b, "x", n->type, 4, turned);
		ob_attr_ints(ob_node(n->b, "Transpose", "x", "v"), "perm", 4, swap);
		break;
	case FROM_CODES:
		add_codes(n);
		break;
	case FROM_CONV:
		ob_input(n->b, "x", UINT8, 4, x);
		add_weights(n, "w", 4, w);
		add_layer(n, "QLinearConv", "x", "w", "v");
		break;
	case FROM_PRODUCT:
		ob_input(n->b, "x", UINT8, 2, rows);
		add_weights(n, "w", 2, m);
		add_layer(n, "QLinearMatMul", "x", "w", "rows");
		add_reshape(n, "rows", "v", 4, n->v);
		break;
	default:
		ob_input(n->b, "v", n->type, 4, n->v);
	}
}

static void add_conv(struct net *n, const char *x, int64_t channels, const char *w, const char *y)
{
	const int64_t pads[4] = { 0, pick(0, 2), 0, pick(0, 2) };
	const int64_t dims[4] = { pick(1, 20), channels, 1, pick(1, 1 + pads[1] + pads[3]) };
	char inputs[32];

	add_weights(n, w, 4, dims);
	snprintf(inputs, sizeof(inputs), "%s %s", x, w);
	ob_attr_ints(ob_node(n->b, "ConvInteger", inputs, y), "pads", 4, pads);
}

static void add_product(struct net *n, const char *x, int64_t depth, const char *w, const char *y)
{
	const int64_t dims[2] = { depth, pick(1, 40) };
	char inputs[32];

	add_weights(n, w, 2, dims);
	snprintf(inputs, sizeof(inputs), "%s %s", x, w);
	ob_node(n->b, "MatMulInteger", inputs, y);
}

static void add_reader(struct net *n, enum reader kind)
{
	const int64_t all = count_of(4, n->v), flat = -1;
	const int64_t rows[2] = { n->v[1], all / n->v[1] };
	const int64_t line[4] = { n->v[0], n->v[1], 1, n->v[2] * n->v[3] };
	int i = n->parts++;
	char w[8], r[8], y[8], o[8];

	snprintf(w, sizeof(w), "w%d", i);
	snprintf(r, sizeof(r), "r%d", i);
	snprintf(y, sizeof(y), "y%d", i);
	snprintf(o, sizeof(o), "o%d", i);
	if (kind == CONV)
		add_conv(n, "v", n->v[1], w, y);
	else if (kind == PRODUCT)
		add_product(n, "v", n->v[3], w, y);
	else if (kind == ON_CPU)
		ob_attr_int(ob_node(n->b, "Cast", "v", y), "to", INT32);
	if (kind == FLAT_PRODUCT) {
		ob_node(n->b, "Flatten", "v", r);
		add_product(n, r, all / n->v[0], w, y);
	} else if (kind == ROWS_PRODUCT) {
		add_reshape(n, "v", r, 2, rows);
		add_product(n, r, rows[1], w, y);
	} else if (kind == LINE_CONV) {
		add_reshape(n, "v", r, 4, line);
		add_conv(n, r, n->v[1], w, y);
	}
	add_reshape(n, y, o, 1, &flat);
	snprintf(n->outputs + strlen(n->outputs), sizeof(n->outputs) - strlen(n->outputs), "%s%s",
		 i ? " " : "", o);
}

static void *end_network(struct net *n, size_t *len)
{
	void *file;

	ob_attr_int(ob_node(n->b, "Concat", n->outputs, "y"), "axis", 0);
	ob_output(n->b, "y");
	file = ob_pack(n->b, len);
	ob_free(n->b);
	return file;
}

/* ---- random ones ----------------------------------------------------------------------- */

static void count_bad(const struct cnnrt_layer *layer, void *opaque)
{
	*(uint64_t *)opaque += layer->beyond;
}

/* Compare every value of a run, also converted ones, with the CPU operators. */
static const char *compare_layers(struct bench *t, const void *file, size_t len)
{
	const struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .core = "hwpe",
						   .observe = true };
	struct cnnrt_program *p = NULL;
	struct cnnrt_job *job = NULL;
	struct cnnrt_model *model;
	uint64_t bad = 0;
	int ret = cnnrt_model_load_buffer(file, len, NULL, &model, &t->err);

	if (ret)
		return t->err.text;
	ret = cnnrt_compile(model, t->dev, &opt, &p, &t->err);
	cnnrt_model_free(model);
	if (!ret)
		ret = cnnrt_job_create(t->ctx, p, &job, &t->err);
	if (!ret)
		ret = cnnrt_compare(job, NULL, count_bad, &bad, &t->err);
	cnnrt_job_free(job);
	cnnrt_program_free(p);
	return ret < 0 ? t->err.text : ret || bad ? "--compare finds a wrong layer" : NULL;
}

static const char *run_random(struct bench *t, uint32_t seed)
{
	struct net n = { .b = ob_new(13) };
	struct answer got;
	const char *wrong;
	size_t len;
	void *file;

	random_state = seed * 2654435761u + 1;
	n.v[0] = pick(1, 2);
	n.v[1] = pick(1, 24);
	n.v[2] = pick(1, 9);
	n.v[3] = pick(1, 24);
	n.source = pick(EXP4, TER2);
	add_source(&n, seed % SOURCES);
	add_reader(&n, pick(0, ON_CPU - 1));
	for (int64_t more = pick(1, READERS - 1); more > 0; more--) {
		n.weights = pick(0, 3) ? n.source : pick(ANY, TER2);
		add_reader(&n, pick(0, READER_KINDS - 1));
	}
	file = end_network(&n, &len);
	wrong = run_both(t, file, len, seed % 4 == 0, seed, &got);
	if (!wrong && got.estimate.macs_device != got.estimate.macs_total)
		wrong = "some multiply-adds are on the CPU";
	if (!wrong && seed % 4 == 1)
		wrong = compare_layers(t, file, len);
	free(file);
	return with_seed(wrong, seed);
}

static void check_random(const char *device, uint32_t seed, uint32_t count)
{
	struct bench t = { .core = "hwpe" };
	const char *wrong = bench_open(&t, device) ? t.err.text : NULL;

	for (uint32_t k = 0; k < count && !wrong; k++)
		wrong = run_random(&t, seed + k);
	check(device, wrong);
	bench_close(&t);
}

/* ---- what is converted ----------------------------------------------------------------- */

static const struct plan {
	const char *name;
	enum source source;
	int count;
	enum reader readers[READERS];
	enum format weights[READERS];
	/*
	 * The input for each layout that is not its own, what the core makes by a single move to
	 * each other layout, and sums with gaps. On the CPU is a step for each further layout that
	 * is dearer on the core, a Reshape of each result, and Concat.
	 */
	uint32_t conversions, cpu_steps, submissions;
	uint32_t moved, converted; /* ConvertLayouts on the CPU, and on the core, by their costs */
} plans[] = {
	{ "a map for a convolution and two products", FROM_CALLER, 3, { CONV, PRODUCT, PRODUCT },
	  { ANY }, 4, 5, 1, 1, 0 },
	{ "a map of the core for a convolution and two products", FROM_CONV, 3,
	  { CONV, PRODUCT, PRODUCT }, { ANY }, 5, 4, 1, 0, 1 },
	{ "Flatten between a convolution and a product", FROM_CONV, 1, { FLAT_PRODUCT }, { ANY },
	  2, 1, 1, 0, 0 },
	{ "Flatten of what the caller gives", FROM_CALLER, 1, { FLAT_PRODUCT }, { ANY }, 0, 1, 1, 0, 0 },
	{ "a map in two formats", FROM_CODES, 4, { CONV, CONV, CONV, CONV },
	  { ANY, EXP4, ANY, EXP4 }, 6, 7, 1, 1, 0 },
	{ "a Reshape of what the CPU makes", FROM_CPU, 1, { LINE_CONV }, { ANY }, 2, 3, 1, 0, 0 },
	{ "what the CPU makes as rows of two lengths", FROM_CPU, 2, { PRODUCT, ROWS_PRODUCT },
	  { ANY }, 2, 4, 1, 0, 0 },
	{ "a product's rows for a convolution and another product", FROM_PRODUCT, 2,
	  { LINE_CONV, ROWS_PRODUCT }, { ANY }, 4, 3, 1, 0, 1 },
	/* The layout that is best for all, not for the first. */
	{ "a map that two of three read as it is", FROM_CALLER, 3,
	  { CONV, FLAT_PRODUCT, ROWS_PRODUCT }, { ANY }, 3, 4, 1, 1, 0 },
	{ "a map for a product and two convolutions", FROM_CALLER, 3,
	  { PRODUCT, CONV, LINE_CONV }, { ANY }, 5, 5, 1, 1, 0 },
};

static void check_plan(const struct plan *p)
{
	struct net n = { .b = ob_new(13), .v = { 1, 16, 4, 16 }, .source = EXP4 };
	struct bench t = { .core = "hwpe" };
	struct answer got;
	const char *wrong;
	char text[120];
	size_t len;
	void *file;

	random_state = 11;
	add_source(&n, p->source);
	for (int i = 0; i < p->count; i++) {
		n.weights = p->weights[i];
		add_reader(&n, p->readers[i]);
	}
	file = end_network(&n, &len);
	wrong = bench_open(&t, "sim:cores=hwpe") ? t.err.text :
		run_both(&t, file, len, false, 1, &got);
	if (!wrong && (got.estimate.conversions != p->conversions ||
		       got.cpu_steps != p->cpu_steps || got.submissions != p->submissions ||
		       got.moved != p->moved || got.converted != p->converted)) {
		snprintf(text, sizeof(text), "%u conversions, %u steps on the CPU, %u submissions, "
			 "%u + %u ConvertLayouts", (unsigned int)got.estimate.conversions,
			 got.cpu_steps, got.submissions, got.moved, got.converted);
		wrong = text;
	}
	check(p->name, wrong);
	bench_close(&t);
	free(file);
}

/* ---- an output in the caller's buffer ---------------------------------------------------- */

#define DEPTH	8
#define CHANNELS	32
#define BUFFER	8192

/* The output renames a value that the core computes; read: a Cast on the CPU reads it, too. */
static void *make_renamed(int64_t rows, bool read, size_t *len)
{
	struct net n = { .b = ob_new(13), .v = { rows, DEPTH } };
	const int64_t w[2] = { DEPTH, CHANNELS }, flat = -1;
	int8_t ones[DEPTH * CHANNELS];
	void *file;

	memset(ones, 1, sizeof(ones));
	ob_input(n.b, "x", UINT8, 2, n.v);
	ob_bytes(n.b, "w", INT8, 2, w, ones);
	ob_node(n.b, "MatMulInteger", "x w", "v");
	add_reshape(&n, "v", "y", 1, &flat);
	ob_output(n.b, "y");
	if (read) {
		ob_attr_int(ob_node(n.b, "Cast", "v", "z"), "to", FLOAT);
		ob_output(n.b, "z");
	}
	file = ob_pack(n.b, len);
	ob_free(n.b);
	return file;
}

/* Run it on an x of ones. */
static const char *check_bound(const uint8_t *buf, const float *z, int64_t count)
{
	const int32_t *y = (const int32_t *)buf;

	for (int64_t i = 0; i < count; i++)
		if (y[i] != DEPTH || (z && z[i] != DEPTH))
			return y[i] != DEPTH ? "wrong output" : "the CPU read something else";
	for (int64_t i = count * 4; i < BUFFER; i++)
		if (buf[i] != 0xcc)
			return "it was written behind the output";
	return NULL;
}

static const char *run_bound(struct bench *t, struct cnnrt_job *job, int64_t rows, bool read)
{
	struct cnnrt_buffer *buf = NULL;
	const char *wrong;
	void *x, *y, *z = NULL;
	int ret = cnnrt_buffer_create(t->ctx, BUFFER, &buf, &t->err);

	if (!ret)
		ret = cnnrt_buffer_map(buf, &y, &t->err);
	if (!ret)
		ret = cnnrt_job_bind(job, CNNRT_OUTPUT, 0, buf, 0, &t->err);
	if (!ret)
		ret = cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, &x, &t->err);
	if (!ret) {
		memset(x, 1, (size_t)(rows * DEPTH));
		memset(y, 0xcc, BUFFER);
		ret = cnnrt_job_submit(job, -1, NULL, &t->err);
	}
	if (!ret)
		ret = cnnrt_job_wait(job, -1, &t->err);
	if (!ret && read)
		ret = cnnrt_job_map(job, CNNRT_OUTPUT, 1, NULL, &z, &t->err);
	wrong = ret ? t->err.text : check_bound(y, z, rows * CHANNELS);
	cnnrt_job_free(job);
	cnnrt_buffer_free(buf);
	return wrong;
}

static void check_renamed(const char *name, int64_t rows, bool read)
{
	struct cnnrt_program *p = NULL;
	struct cnnrt_job *job = NULL;
	struct bench t = { .core = "hwpe" };
	const char *wrong;
	size_t len;
	void *file = make_renamed(rows, read, &len);

	if (bench_open(&t, "sim:cores=hwpe") || compile(&t, file, len, false, &p) ||
	    cnnrt_job_create(t.ctx, p, &job, &t.err))
		wrong = t.err.text;
	else
		wrong = run_bound(&t, job, rows, read);
	check(name, wrong);
	cnnrt_program_free(p);
	bench_close(&t);
	free(file);
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 200;

	read_options(argc, argv, &seed, &count);
	check_random("sim:cores=hwpe", seed, count);
	check_random("sim:cores=ccp+hwpe:fmap=16384:program=8192", seed, count);
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		check_plan(&plans[i]);
	check_renamed("the CPU reads what is an output in the caller's buffer by another name", 16,
		      true);
	check_renamed("a core's padding beside an output in the caller's buffer", 3, false);
	return end_checks();
}
