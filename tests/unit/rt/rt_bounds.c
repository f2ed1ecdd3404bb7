/* SPDX-License-Identifier: MIT */
/*
 * Bounds that cores state of their results: how cnnrt_job_bounds() carries them to the outputs, and
 * how cnnrt_compare() judges by them.  The back ends here are the library's, but that they state
 * bounds of convolutions.
 */
#include "rt.h"
#include "backend/backend.h"
#include "device/device.h"
#include "onnx_build.h"
#include "ops/cpu.h"

#include <math.h>

static struct {
	double slack;	/* stated as the bound */
	double offset;	/* what is stated as exact is off by so much */
	bool saturates;	/* every element is stated to be */
	int calls, spread;	/* how often it was asked, and with inputs that have a spread */
} core;

static double largest(const double *v, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; v && i < n; i++)
		most = fmax(most, v[i]);
	return most;
}

/* What the CPU gives; the bound is the slack and twice the input's largest spread. */
static int state_bounds(const struct cnnrt_core_info *info, const struct cnn_bounds *b)
{
	const struct cnn_node *n = &b->g->nodes[b->node];
	struct cnn_tensor y = { .rank = -1 }, *out = &y;
	const double *spread = b->spread ? b->spread[0] : NULL;
	double more = 2 * largest(spread, cnn_tensor_count(b->in[0]));
	struct cnn_err err;

	(void)info;
	if (n->op != CNN_OP_CONV)
		return 0;
	core.calls++;
	core.spread += spread != NULL;
	assert_int_equal(cnn_cpu_run(n, b->in, &out, NULL, &err), 0);
	for (int64_t i = 0; i < cnn_tensor_count(&y); i++) {
		b->exact[i] = (double)((float *)y.data)[i] + core.offset;
		b->bound[i] = core.slack + more;
		b->saturated[i] = core.saturates;
	}
	cnn_tensor_release(&y);
	return 1;
}

/* In place of the library's. */
const struct cnn_backend_ops *cnn_backend_find(const char *name)
{
	static const struct cnn_backend_ops *const real[] = {
#define CORE(name) &cnn_backend_##name,
#include "backend/cores.def"
#undef CORE
	};
	static struct cnn_backend_ops stating[sizeof(real) / sizeof(real[0])];

	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++) {
		if (strcmp(real[i]->name, name))
			continue;
		stating[i] = *real[i];
		stating[i].bounds = core.slack < 0 ? NULL : state_bounds;
		return &stating[i];
	}
	return NULL;
}

/* x -> Conv -> the operators -> y */
static void open_net(struct rt_net *n, const char *const *ops, bool observe)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .observe = observe };
	struct onnx_build *b = ob_new(13);
	char from[16] = "c0", to[16];
	size_t size;
	void *file;

	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 4, 8, 8));
	ob_random(b, "w", 3, OB_DIMS(4, 4, 3, 3));
	ob_node(b, "Conv", "x w", "c0");
	for (int i = 0; ops[i]; i++) {
		char in[24];

		snprintf(to, sizeof(to), "c%d", i + 1);
		snprintf(in, sizeof(in), strcmp(ops[i], "Conv") ? "%s" : "%s w", from);
		if (!strcmp(ops[i], "MaxPool"))
			ob_attr_ints(ob_node(b, ops[i], in, to), "kernel_shape", 2,
				     (const int64_t[]){ 2, 2 });
		else
			ob_node(b, ops[i], in, to);
		memcpy(from, to, sizeof(from));
	}
	ob_output(b, from);
	file = ob_pack(b, &size);
	ob_free(b);
	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open("sim", 0, &n->dev, &rt_err));
	OK(cnnrt_model_load_buffer(file, size, NULL, &n->model, &rt_err));
	opt.core = n->dev->core[0].name;
	OK(cnnrt_compile(n->model, n->dev, &opt, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
	free(file);
}

static struct cnnrt_job *new_job(struct rt_net *n)
{
	struct cnnrt_job *job;
	float *in;

	OK(cnnrt_job_create(n->ctx, n->program, &job, &rt_err));
	OK(cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, (void **)&in, &rt_err));
	for (int i = 0; i < 256; i++)
		in[i] = (float)(i % 37) / 37 - 0.5f;
	return job;
}

/* The largest and the least bound of the output of a network of these operators. */
static void find_bounds(const char *const *ops, double range[2])
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_job *job;
	struct rt_net n;
	double bound[144];
	size_t count;
	void *data;

	open_net(&n, ops, false);
	job = new_job(&n);
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
	OK(cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &data, &rt_err));
	count = info.size / sizeof(float);
	OK(cnnrt_job_bounds(job, 0, bound, count, &rt_err));
	range[0] = range[1] = bound[0];
	for (size_t i = 1; i < count; i++) {
		range[0] = fmin(range[0], bound[i]);
		range[1] = fmax(range[1], bound[i]);
	}
	FAILS(CNNRT_EINVAL, "output 1, there are 1", cnnrt_job_bounds(job, 1, bound, count, &rt_err));
	if (core.slack > 0)
		FAILS(CNNRT_EINVAL, "room for 3 elements", cnnrt_job_bounds(job, 0, bound, 3, &rt_err));
	cnnrt_job_free(job);
	rt_close(&n);
}

/* What keeps order hands a bound on; a core takes those of its inputs into its own. */
static void test_carried(void **state)
{
	double range[2];

	(void)state;
	core = (typeof(core)){ .slack = 0.125 };
	find_bounds((const char *const[]){ NULL }, range);
	assert_true(range[0] >= 0.125 && range[1] < 0.12501);
	assert_int_equal(core.spread, 0);
	find_bounds((const char *const[]){ "MaxPool", "Transpose", "Flatten", NULL }, range);
	assert_true(range[0] > 0 && range[1] < 0.12501);
	core = (typeof(core)){ .slack = 0.125 };
	find_bounds((const char *const[]){ "Conv", NULL }, range);
	assert_true(range[0] >= 0.375 && range[1] < 0.37501);
	assert_int_equal(core.spread, core.calls / 2);
}

/* No core rounds in a way of its own. */
static void test_none(void **state)
{
	double range[2];

	(void)state;
	core = (typeof(core)){ .slack = -1 };
	find_bounds((const char *const[]){ "Softmax", NULL }, range);
	assert_true(range[0] == 0 && range[1] == 0);
}

static void test_unknown(void **state)
{
	struct cnnrt_job *job;
	struct rt_net n;
	double bound[144];

	(void)state;
	core = (typeof(core)){ .slack = 0.125 };
	open_net(&n, (const char *const[]){ "Softmax", NULL }, false);
	job = new_job(&n);
	FAILS(CNNRT_EUNSUPPORTED, "Softmax", cnnrt_job_bounds(job, 0, bound, 144, &rt_err));
	cnnrt_job_free(job);
	rt_close(&n);
}

static void take_layer(const struct cnnrt_layer *l, void *opaque)
{
	if (!strcmp(l->op, "Conv"))
		*(struct cnnrt_layer *)opaque = *l;
}

/* How many outputs are beyond the bounds; *conv: of the convolution. */
static int compare(struct cnnrt_layer *conv)
{
	struct cnnrt_job *job;
	struct rt_net n;
	int bad;

	open_net(&n, (const char *const[]){ "MaxPool", NULL }, true);
	job = new_job(&n);
	bad = cnnrt_compare(job, NULL, take_layer, conv, &rt_err);
	cnnrt_job_free(job);
	rt_close(&n);
	return bad;
}

/* A result beyond its bound is wrong, and so is an exact one with which the file disagrees. */
static void test_compare(void **state)
{
	struct cnnrt_layer conv;

	(void)state;
	core = (typeof(core)){ .slack = 1e-5 };
	assert_int_equal(compare(&conv), 0);
	assert_true(conv.bound == 1e-5 && conv.error < 1e-5);
	core = (typeof(core)){ .slack = 1e-5, .saturates = true };
	assert_int_equal(compare(&conv), 0);
	assert_int_equal(conv.saturated, 0);
	core = (typeof(core)){ .slack = 1e-5, .offset = 3e-5 };
	assert_int_equal(compare(&conv), 1);
	assert_int_equal(conv.beyond, conv.count);
	assert_int_equal(conv.saturated, 0);
	core.saturates = true;
	assert_int_equal(compare(&conv), 1);
	assert_int_equal(conv.saturated, conv.count);
	core = (typeof(core)){ .slack = 1, .offset = 0.5 };
	assert_int_equal(compare(&conv), 1);
	assert_true(conv.error < 1);
	assert_int_equal(conv.beyond, conv.count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_carried), cmocka_unit_test(test_none), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
