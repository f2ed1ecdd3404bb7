/* SPDX-License-Identifier: MIT */
/* Measures what operators, copies and programs take here: the costs of this machine as a target. */
#include "calibrate.h"
#include "backend/lowered.h"
#include "device/device.h"
#include "import/import.h"
#include "thread_pool.h"

#include <stdlib.h>
#include <string.h>

#define RUNS		15	/* the median counts */
#define RUNS_LEAST	3	/* of what takes long */
#define RUNS_NS		100000000
#define COPY_SIDE	56
#define COPY_CHANNELS	64

#define MAP(o, t, c, s, ...) \
	{ .op = CNN_OP_##o, .type = t, .channels = c, .side = s, __VA_ARGS__ }
#define CONV(o, t, c, n, s, k, g)	MAP(o, t, c, s, .outs = n, .kernel = k, .group = g)
#define F	CNN_FLOAT32
#define I	CNN_INT8

/* Some of each kind (enum cnn_cost_kind), between which its rates differ in weight. */
static const struct rt_sample_net operators[] = {
	CONV(CONV, F, 64, 64, 28, 3, 1),
	CONV(CONV, F, 32, 128, 56, 1, 1),
	CONV(CONV, F, 256, 256, 14, 1, 1),
	CONV(CONV, F, 4, 32, 112, 3, 1),
	CONV(CONV, F, 64, 64, 8, 3, 1),
	MAP(MATMUL, F, 1024, 1, .outs = 1000),
	CONV(CONV, F, 64, 64, 56, 3, 64),
	CONV(CONV, F, 256, 256, 14, 3, 256),
	CONV(CONV, F, 96, 96, 28, 5, 96),
	CONV(CONV, F, 256, 256, 5, 3, 256),
	CONV(QLINEAR_CONV, I, 64, 64, 28, 3, 1),
	CONV(QLINEAR_CONV, I, 32, 128, 56, 1, 1),
	CONV(QLINEAR_CONV, I, 256, 256, 14, 1, 1),
	CONV(QLINEAR_CONV, I, 4, 32, 112, 3, 1),
	CONV(QLINEAR_CONV, I, 64, 64, 8, 3, 1),
	MAP(QLINEAR_MATMUL, I, 1024, 1, .outs = 1000),
	CONV(QLINEAR_CONV, I, 64, 64, 56, 3, 64),
	CONV(QLINEAR_CONV, I, 256, 256, 14, 3, 256),
	CONV(QLINEAR_CONV, I, 96, 96, 28, 5, 96),
	CONV(QLINEAR_CONV, I, 256, 256, 5, 3, 256),
	MAP(MAX_POOL, F, 64, 56, .kernel = 2),
	MAP(MAX_POOL, F, 64, 28, .kernel = 3),
	MAP(AVERAGE_POOL, F, 64, 28, .kernel = 3),
	MAP(GLOBAL_AVERAGE_POOL, F, 256, 28),
	MAP(REDUCE_MAX, F, 64, 56),
	MAP(REDUCE_MEAN, F, 256, 14),
	MAP(ADD, F, 64, 56),
	MAP(RELU, F, 64, 56),
	MAP(MUL, F, 256, 14, .outs = 1),
	MAP(EXP, F, 64, 28),
	MAP(SIGMOID, F, 64, 28),
	MAP(SOFTMAX, F, 64, 28),
	MAP(QUANTIZE_LINEAR, F, 64, 56),
	MAP(DEQUANTIZE_LINEAR, I, 64, 56),
	MAP(QLINEAR_ADD, I, 64, 28),
	MAP(FLATTEN, F, 64, 56),
	MAP(FLATTEN, F, 64, 14),
	MAP(CONCAT, F, 64, 28),
	MAP(PAD, F, 64, 28),
	MAP(TRANSPOSE, F, 64, 28),
	MAP(TRANSPOSE, I, 3, 96),
	MAP(TRANSPOSE, I, 64, 14),
	MAP(UPSAMPLE, F, 32, 28),
	MAP(UPSAMPLE, F, 32, 28, .kernel = 1),
	MAP(TOP_K, F, 64, 28),
};

static const struct rt_sample_net tiny = MAP(RELU, F, 1, 1);

/* A small and a large program for a core: the first pair that it runs is measured. */
static const struct rt_sample_net programs[][2] = {
	{ CONV(CONV, F, 8, 8, 8, 3, 1), CONV(CONV, F, 64, 64, 28, 3, 1) },
	{ CONV(QLINEAR_CONV, I, 8, 8, 8, 3, 1), CONV(QLINEAR_CONV, I, 64, 64, 28, 3, 1) },
};

/* ---- medians ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the nanoseconds of some runs, after a first one. run sets *ns. */
static int median(int (*run)(void *arg, double *ns), void *arg, double *ns)
{
	uint64_t end = rt_now() + RUNS_NS;
	double times[RUNS];
	int n = 0, ret = run(arg, ns);

	while (!ret && n < RUNS && (n < RUNS_LEAST || rt_now() < end))
		ret = run(arg, &times[n++]);
	if (!ret) {
		qsort(times, (size_t)n, sizeof(*times), compare);
		*ns = times[n / 2];
	}
	return ret;
}

/* ---- operators on the CPU ---------------------------------------------------------------- */

#define MAX_INPUTS	9

struct cpu_run {
	struct cnn_graph *g;
	struct rt_thread_pool *pool;
	const struct cnn_tensor *in[MAX_INPUTS];
	struct cnn_tensor *out[2];
	struct cnn_err err;
};

static int run_node(void *arg, double *ns)
{
	struct cpu_run *r = arg;
	uint64_t start = rt_now();
	int ret = cnn_cpu_run(r->g->nodes, r->in, r->out, rt_thread_pool_workers(r->pool), &r->err);

	*ns = (double)(rt_now() - start);
	return ret;
}

/* Gives the network's inputs data. */
static int prepare_node(struct cpu_run *r)
{
	const struct cnn_node *n = r->g->nodes;
	int ret = CNN_OK;

	for (int i = 0; i < r->g->n_inputs && !ret; i++) {
		struct cnn_tensor *t = &r->g->values[r->g->inputs[i]].t;

		ret = cnn_tensor_alloc(t, CNN_MAX_TENSOR_BYTES, &r->err);
		if (!ret)
			rt_sample_fill(t);
	}
	for (int i = 0; i < n->n_in; i++)
		r->in[i] = cnn_node_in(r->g, n, i);
	for (int i = 0; i < n->n_out; i++)
		r->out[i] = cnn_node_out(r->g, n, i);
	return ret;
}

/* The samples of a kind. */
struct samples {
	struct rt_sample list[RT_SAMPLES_MAX];
	int n;
};

static int measure_node(const struct rt_sample_net *net, struct rt_thread_pool *pool,
			struct samples *kinds, struct cnnrt_error *err)
{
	struct cpu_run r = { .pool = pool };
	int ret = rt_sample_net_graph(net, &r.g, &r.err);
	struct samples *to;

	if (!ret) {
		to = &kinds[cnn_cost_kind_of(r.g, r.g->nodes)];
		to->list[to->n].count = cnn_cpu_quantities(r.g, r.g->nodes);
		ret = prepare_node(&r);
		if (!ret)
			ret = median(run_node, &r, &to->list[to->n].ns);
		to->n += to->n + 1 < RT_SAMPLES_MAX;
		cnn_graph_free(r.g);
	}
	return ret ? rt_fail(err, ret, "calibrate: %s", r.err.text) : CNNRT_OK;
}

static int measure_cpu(struct cnn_target *t, struct cnnrt_error *err)
{
	struct rt_thread_pool *pool = rt_thread_pool_create();
	struct samples kinds[CNN_COST_KINDS] = { 0 };
	int ret = CNNRT_OK;

	if (!pool)
		return rt_fail(err, CNNRT_ENOMEM, "calibrate: no memory for threads");
	rt_thread_pool_wake(pool);
	for (size_t i = 0; i < RT_ARRAY_SIZE(operators) && !ret; i++)
		ret = measure_node(&operators[i], pool, kinds, err);
	rt_thread_pool_free(pool);
	for (int i = 0; i < CNN_COST_KINDS && !ret; i++)
		rt_fit_rates(kinds[i].list, kinds[i].n, t->op_ns, &t->cpu[i]);
	return ret;
}

/* ---- copies ------------------------------------------------------------------------------ */

struct copy {
	struct cnn_layout layout;
	void *to, *from;
};

static int run_copy(void *arg, double *ns)
{
	const struct copy *c = arg;
	uint64_t start = rt_now();

	cnn_layout_write(&c->layout, c->to, c->from);
	*ns = (double)(rt_now() - start);
	return CNNRT_OK;
}

/* To memory that the device can reach, as the arena is. */
static int measure_copies(struct cnnrt_context *ctx, struct cnn_target *t, struct cnnrt_error *err)
{
	const int64_t dims[CNN_DIMS] = { 1, COPY_CHANNELS, COPY_SIDE, COPY_SIDE };
	const int64_t elements = COPY_CHANNELS * COPY_SIDE * COPY_SIDE;
	const struct cnn_pixels pixels = {
		.n = 1, .c = COPY_CHANNELS, .rows = COPY_SIDE, .columns = COPY_SIDE,
		.image_pitch = elements, .row_pitch = COPY_CHANNELS * COPY_SIDE,
		.column_pitch = COPY_CHANNELS, .size = 4,
	};
	struct copy dense = { .layout = cnn_dense_layout(dims, 4) };
	struct copy moved = { .layout = cnn_pixels_layout(&pixels) };
	struct cnnrt_buffer *buf;
	double ns;
	int ret = cnnrt_buffer_create(ctx, (size_t)elements * 4, &buf, err);

	if (ret)
		return ret;
	dense.from = moved.from = calloc((size_t)elements, 4);
	ret = dense.from ? cnnrt_buffer_map(buf, &dense.to, err) :
	      rt_fail(err, CNNRT_ENOMEM, "calibrate: no memory for a tensor");
	moved.to = dense.to;
	if (!ret) {
		median(run_copy, &dense, &ns);
		t->copy_fs_per_byte = (int64_t)(ns * 1e6 / (double)(elements * 4)) + 1;
		median(run_copy, &moved, &ns);
		t->rearrange_fs_per_element = (int64_t)(ns * 1e6 / (double)elements) + 1;
	}
	free(dense.from);
	cnnrt_buffer_free(buf);
	return ret;
}

/* ---- jobs -------------------------------------------------------------------------------- */

/* Compiles a network for one core, or for the CPU. */
static int compile_for(struct cnnrt_device *dev, int core, const struct rt_sample_net *net,
		       struct cnnrt_program **program, struct cnnrt_error *err)
{
	char name[12];
	struct cnnrt_compile_options options = {
		.struct_size = sizeof(options), .core = core < 0 ? NULL : name,
		.cpu_only = core < 0,
	};
	struct cnnrt_model *model = NULL;
	struct cnn_graph *g = NULL;
	struct cnn_err e = { 0 };
	void *file = NULL;
	size_t size;
	int ret = rt_sample_net_graph(net, &g, &e) ?: cnn_graph_export_onnx(g, &file, &size, &e);

	snprintf(name, sizeof(name), "%d", core);
	ret = ret ? rt_fail(err, ret, "calibrate: %s", e.text) :
	      cnnrt_model_load_buffer(file, size, NULL, &model, err) ?:
	      cnnrt_compile(model, dev, &options, program, err);
	cnnrt_model_free(model);
	cnn_graph_free(g);
	free(file);
	return ret;
}

struct job_run {
	struct cnnrt_job *job;
	enum cnnrt_step_kind kind;	/* of the steps that count */
	double *ns;
	struct cnnrt_error *err;
};

static void add_step(const struct cnnrt_step *step, void *opaque)
{
	struct job_run *r = opaque;

	if (step->kind == r->kind)
		*r->ns += (double)(step->end_ns - step->start_ns);
}

static int run_job(void *arg, double *ns)
{
	struct job_run *r = arg;

	*ns = 0;
	r->ns = ns;
	return cnnrt_job_submit(r->job, -1, NULL, r->err) ?:
	       cnnrt_job_wait(r->job, -1, r->err) ?:
	       cnnrt_job_profile(r->job, add_step, r, r->err);
}

/* The time of a network's steps on a core or the CPU; cycles 0 on a core: it does not run it. */
static int measure_job(struct cnnrt_device *dev, struct cnnrt_context *ctx, int core,
		       const struct rt_sample_net *net, struct rt_core_sample *s,
		       struct cnnrt_error *err)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct job_run r = {
		.kind = core < 0 ? CNNRT_STEP_OP : CNNRT_STEP_TASKS, .err = err,
	};
	struct cnnrt_program *program = NULL;
	int ret = compile_for(dev, core, net, &program, err) ?:
		  cnnrt_program_estimate(program, &est, err);

	s->cycles = est.cycles;
	if (!ret && (core < 0 || est.cycles))
		ret = cnnrt_job_create(ctx, program, &r.job, err) ?: median(run_job, &r, &s->ns);
	cnnrt_job_free(r.job);
	cnnrt_program_free(program);
	return ret;
}

/* The clock of a core and the cost of a submission, left alone if it runs no program. */
static int measure_core(struct cnnrt_device *dev, struct cnnrt_context *ctx, int core,
			struct cnn_target *t, struct cnnrt_error *err)
{
	for (size_t i = 0; i < RT_ARRAY_SIZE(programs); i++) {
		struct rt_core_sample small, large;
		int ret = measure_job(dev, ctx, core, &programs[i][0], &small, err) ?:
			  measure_job(dev, ctx, core, &programs[i][1], &large, err);

		if (ret)
			return ret;
		if (!small.cycles || !large.cycles)
			continue;
		rt_fit_core(&small, &large, &t->core_hz[core], &t->submit_ns);
		break;
	}
	return CNNRT_OK;
}

int cnnrt_device_calibrate(struct cnnrt_device *dev, struct cnnrt_error *err)
{
	struct cnn_target t = cnn_target_reference;
	struct rt_core_sample op;
	struct cnnrt_context *ctx;
	int ret = cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &ctx, err);

	if (ret)
		return ret;
	memcpy(t.core_hz, dev->target.core_hz, sizeof(t.core_hz));
	ret = measure_job(dev, ctx, CNN_ON_CPU, &tiny, &op, err);
	if (!ret)
		t.op_ns = (int64_t)op.ns + 1;
	ret = ret ?: measure_cpu(&t, err) ?: measure_copies(ctx, &t, err);
	for (int i = 0; i < (int)dev->info.core_count && !ret; i++)
		ret = measure_core(dev, ctx, i, &t, err);
	cnnrt_context_destroy(ctx);
	if (!ret)
		dev->target = t;
	return ret;
}
