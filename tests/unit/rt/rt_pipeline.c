/* SPDX-License-Identifier: MIT */
/*
 * A network whose halves run on cores of two kinds: of jobs that an application submits ahead, the
 * first core computes the next one while the second core computes this one.  A reset meanwhile
 * costs time only.
 */
#include "onnx_build.h"
#include "rt.h"

#include "exec/job.h"

#include <unistd.h>

#define CORES		"sim:cores=ccp+hwpe"
/* A half takes about 0.2 s, much longer than what the host does for it. */
#define CLOCK_HZ	600000u
#define WAIT_MS		60000	/* for a state that comes in less than a second */
#define JOBS		6
#define CHANNELS	64
#define OUTPUTS		16
#define SIDE		28

/* A convolution of floats for one core, and one of bytes for the other. */
static void add_halves(struct onnx_build *b, const char *bytes)
{
	const int64_t pads[] = { 1, 1, 1, 1 };
	int8_t weight[OUTPUTS * CHANNELS * 9];
	char inputs[16];

	for (size_t i = 0; i < sizeof(weight); i++)
		weight[i] = (int8_t)((int)(i % 7) - 3);
	ob_random(b, "floats", 7, OB_DIMS(CHANNELS, CHANNELS, 3, 3));
	ob_bytes(b, "integers", 3, OB_DIMS(OUTPUTS, CHANNELS, 3, 3), weight);
	ob_attr_ints(ob_node(b, "Conv", "x floats", "c"), "pads", 4, pads);
	snprintf(inputs, sizeof(inputs), "%s integers", bytes);
	ob_attr_ints(ob_node(b, "ConvInteger", inputs, "y"), "pads", 4, pads);
}

/* The second half reads what the first one computes, quantised. */
static struct onnx_build *chain(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, CHANNELS, SIDE, SIDE));
	ob_floats(b, "scale", 0, NULL, (const float[]){ 0.25f });
	ob_bytes(b, "zero", 3, 0, NULL, (const int8_t[]){ 0 });
	ob_node(b, "QuantizeLinear", "c scale zero", "q");
	add_halves(b, "q");
	ob_output(b, "y");
	return b;
}

/* Neither half reads the other one. */
static struct onnx_build *beside(void)
{
	struct onnx_build *b = ob_new(13);

	ob_input(b, "x", 1, OB_DIMS(1, CHANNELS, SIDE, SIDE));
	ob_input(b, "q", 3, OB_DIMS(1, CHANNELS, SIDE, SIDE));
	add_halves(b, "q");
	ob_output(b, "y c");
	return b;
}

/* Places by cost, for cores of the usual clock. Frees the network. */
static void open_net(struct rt_net *n, struct onnx_build *b)
{
	size_t size;
	void *file = ob_pack(b, &size);

	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open(CORES, 0, &n->dev, &rt_err));
	OK(cnnrt_model_load_buffer(file, size, NULL, &n->model, &rt_err));
	OK(cnnrt_compile(n->model, n->dev, NULL, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
	free(file);
	ob_free(b);
}

/* Goes on with the program on cores that take the modelled time at a slow clock. */
static void slow_down(struct rt_net *n)
{
	char device[128];

	cnnrt_context_destroy(n->ctx);
	cnnrt_device_close(n->dev);
	snprintf(device, sizeof(device), "%s,timing=modelled,clock-hz=%u", CORES, CLOCK_HZ);
	OK(cnnrt_device_open(device, 0, &n->dev, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
}

/* By core: when it computed, in nanoseconds of the host's clock. */
struct halves {
	const struct cnnrt_job *job;
	uint64_t start[2], end[2];
	unsigned int resubmits;
	int count;
};

/* A step waits for its core after the submit, so that the start follows from end and cycles. */
static void note_half(const struct cnnrt_step *step, void *opaque)
{
	struct halves *h = opaque;

	if (step->kind != CNNRT_STEP_TASKS)
		return;
	assert_in_range(step->core, 0, 1);
	h->count++;
	h->end[step->core] = h->job->start_ns + step->end_ns;
	h->start[step->core] = h->end[step->core] - step->cycles * 1000000000 / CLOCK_HZ;
}

static struct halves halves_of(struct cnnrt_job *job)
{
	struct halves h = { .job = job, .resubmits = job->resubmits };

	OK(cnnrt_job_profile(job, note_half, &h, &rt_err));
	assert_int_equal(h.count, 2);
	assert_true(h.start[1] >= h.end[0]);
	return h;
}

/* Jobs of one context run in any order. */
static int by_start(const void *a, const void *b)
{
	const struct halves *x = a, *y = b;

	return (x->start[0] > y->start[0]) - (x->start[0] < y->start[0]);
}

/*
 * Most jobs begin while the one before them is in its second half. Not all need to: on a host with
 * other work a thread may be late by as much as a half takes.
 */
static void check_overlap(struct halves *h)
{
	int overlaps = 0;

	qsort(h, JOBS, sizeof(*h), by_start);
	for (int i = 1; i < JOBS; i++)
		overlaps += h[i].start[0] < h[i - 1].end[1] && h[i - 1].start[1] < h[i].end[0];
	print_message("%d of %d jobs overlap the one before\n", overlaps, JOBS - 1);
	assert_true(2 * overlaps >= JOBS - 1);
}

/* The answers one by one, and jobs on the slow cores that are ready to be submitted. */
static void prepare(struct rt_net *n, float **want, size_t *size, struct cnnrt_job **jobs)
{
	open_net(n, chain());
	for (unsigned int i = 0; i < JOBS; i++)
		want[i] = rt_answer(n, i, size);
	slow_down(n);
	for (unsigned int i = 0; i < JOBS; i++) {
		OK(cnnrt_job_create(n->ctx, n->program, &jobs[i], &rt_err));
		rt_set_input(jobs[i], i);
	}
}

static bool computes(struct rt_net *n, unsigned int core)
{
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };
	uint32_t queue;

	OK(cnnrt_device_core(n->dev, core, &info, &rt_err));
	OK(cnnrt_device_reg_read(n->dev, info.queue_offset + CNNACC_QREG_STATE, &queue, &rt_err));
	return queue == CNNACC_QSTATE_RUNNING;
}

/* Resets the device once both cores compute; what they do then has most of its time before it. */
static void reset_both(struct rt_net *n)
{
	int ms = 0;

	while (!computes(n, 0) || !computes(n, 1)) {
		assert_true(ms++ < WAIT_MS);
		usleep(1000);
	}
	OK(cnnrt_device_reg_write(n->dev, CNNACC_REG_RESET, 1, &rt_err));
}

/* Submits all before it waits for any. reset: while both cores compute. */
static void run_ahead(bool reset, struct halves *h)
{
	struct cnnrt_job *jobs[JOBS];
	float *want[JOBS];
	struct rt_net n;
	size_t size;

	prepare(&n, want, &size, jobs);
	for (int i = 0; i < JOBS; i++)
		OK(cnnrt_job_submit(jobs[i], -1, NULL, &rt_err));
	if (reset)
		reset_both(&n);
	for (int i = 0; i < JOBS; i++) {
		OK(cnnrt_job_wait(jobs[i], -1, &rt_err));
		rt_check_output(jobs[i], want[i], size);
		h[i] = halves_of(jobs[i]);
		cnnrt_job_free(jobs[i]);
		free(want[i]);
	}
	rt_close(&n);
}

static void test_ahead(void **state)
{
	struct halves h[JOBS];

	(void)state;
	run_ahead(false, h);
	check_overlap(h);
}

/* The reset cancels a segment of one job on either core. */
static void test_reset_ahead(void **state)
{
	unsigned int resubmits = 0;
	struct halves h[JOBS];

	(void)state;
	run_ahead(true, h);
	for (int i = 0; i < JOBS; i++)
		resubmits += h[i].resubmits;
	assert_int_equal(resubmits, 2);
}

/* Both results of one job, which it then forgets. reset: while both cores compute. */
static void run_beside(struct rt_net *n, struct cnnrt_job *job, bool reset, char *out)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	void *result;

	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	if (reset)
		reset_both(n);
	OK(cnnrt_job_wait(job, -1, &rt_err));
	for (unsigned int i = 0; i < 2; i++) {
		OK(cnnrt_job_map(job, CNNRT_OUTPUT, i, &info, &result, &rt_err));
		memcpy(out, result, info.size);
		memset(result, 0, info.size);
		out += info.size;
	}
}

/* And here both segments of one job. */
static void test_reset_beside(void **state)
{
	const size_t count = CHANNELS * SIDE * SIDE;
	const size_t size = count * sizeof(float) + OUTPUTS * SIDE * SIDE * sizeof(int32_t);
	char *want = malloc(size), *got = malloc(size);
	struct cnnrt_job *job;
	struct rt_net n;
	void *bytes;

	(void)state;
	assert_true(want && got);
	open_net(&n, beside());
	slow_down(&n);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	rt_set_input(job, 1);
	OK(cnnrt_job_map(job, CNNRT_INPUT, 1, NULL, &bytes, &rt_err));
	for (size_t i = 0; i < count; i++)
		((int8_t *)bytes)[i] = (int8_t)(i % 11);
	run_beside(&n, job, false, want);
	assert_int_equal(job->resubmits, 0);
	run_beside(&n, job, true, got);
	assert_int_equal(job->resubmits, 2);
	assert_memory_equal(got, want, size);
	free(want);
	free(got);
	cnnrt_job_free(job);
	rt_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_reset_ahead),
		cmocka_unit_test(test_reset_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
