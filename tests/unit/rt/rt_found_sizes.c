// SPDX-License-Identifier: MIT
/* Outputs whose size a run finds: the boxes that NonMaxSuppression selects, and what follows them. */
#include "onnx_build.h"
#include "rt.h"

#include <unistd.h>

#define BOXES	8

/* Selected boxes of scores above 0.5, none of which overlap: [n, 3] indices and [n, 4] boxes. */
static void *detector(size_t *size)
{
	struct onnx_build *b = ob_new(13);
	float box[4 * BOXES];
	void *file;

	for (int i = 0; i < BOXES; i++) {
		box[4 * i] = (float)i;
		box[4 * i + 1] = 0;
		box[4 * i + 2] = (float)i + 0.5f;
		box[4 * i + 3] = 1;
	}
	ob_input(b, "s", 1, OB_DIMS(1, 1, BOXES));
	ob_floats(b, "box", OB_DIMS(1, BOXES, 4), box);
	ob_int64s(b, "most", 1, (const int64_t[]){ BOXES });
	ob_floats(b, "half", OB_DIMS(1), (const float[]){ 0.5f });
	ob_int64s(b, "last", 1, (const int64_t[]){ 2 });
	ob_int64s(b, "first", 1, (const int64_t[]){ 0 });
	ob_node(b, "NonMaxSuppression", "box s most half half", "selected");
	ob_attr_int(ob_node(b, "Gather", "selected last", "column"), "axis", 1);
	ob_node(b, "Squeeze", "column one", "which");
	ob_int64s(b, "one", 1, (const int64_t[]){ 1 });
	ob_node(b, "Squeeze", "box first", "rows");
	ob_node(b, "Gather", "rows which", "boxes");
	ob_output(b, "selected boxes");
	file = ob_pack(b, size);
	ob_free(b);
	return file;
}

static void open_net(struct rt_net *n)
{
	size_t size;
	void *file = detector(&size);

	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open(rt_device(), 0, &n->dev, &rt_err));
	OK(cnnrt_model_load_buffer(file, size, NULL, &n->model, &rt_err));
	free(file);
	OK(cnnrt_compile(n->model, n->dev, NULL, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
}

/* Runs with the boxes of mask above the threshold; the last box scores highest. */
static void detect(struct cnnrt_job *job, unsigned int mask)
{
	float *scores;

	OK(cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, (void **)&scores, &rt_err));
	for (int i = 0; i < BOXES; i++)
		scores[i] = mask >> i & 1 ? 0.6f + 0.01f * (float)i : 0.1f;
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
}

static void check_outputs(struct cnnrt_job *job, unsigned int mask)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	int64_t *selected, n = __builtin_popcount(mask);
	float *boxes;

	OK(cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, (void **)&selected, &rt_err));
	assert_int_equal(info.type, CNNRT_INT64);
	assert_int_equal(info.rank, 2);
	assert_int_equal(info.dims[0], n);
	assert_int_equal(info.dims[1], 3);
	assert_int_equal(info.size, n * 24);
	OK(cnnrt_job_map(job, CNNRT_OUTPUT, 1, &info, (void **)&boxes, &rt_err));
	assert_int_equal(info.rank, 2);
	assert_int_equal(info.dims[0], n);
	assert_int_equal(info.dims[1], 4);
	for (int i = BOXES - 1, k = 0; i >= 0; i--) {
		if (!(mask >> i & 1))
			continue;
		assert_int_equal(selected[3 * k + 2], i);
		assert_true(boxes[4 * k] == (float)i);
		k++;
	}
}

static void run_all(const struct rt_net *n)
{
	static const unsigned int masks[] = { 0x12, 0xff, 0, 0x80, 0xff };
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_job *job;
	void *mem;

	for (unsigned int i = 0; i < 2; i++) {
		OK(cnnrt_program_io(n->program, CNNRT_OUTPUT, i, &info, &rt_err));
		assert_int_equal(info.rank, -1);
		assert_int_equal(info.size, 0);
	}
	OK(cnnrt_job_create(n->ctx, n->program, &job, &rt_err));
	FAILS(CNNRT_EINVAL, "only known after a run",
	      cnnrt_job_map(job, CNNRT_OUTPUT, 0, NULL, &mem, &rt_err));
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		detect(job, masks[i]);
		check_outputs(job, masks[i]);
	}
	cnnrt_job_free(job);
}

static void test_run(void **state)
{
	struct rt_net n;

	(void)state;
	open_net(&n);
	run_all(&n);
	rt_close(&n);
}

/* A program from a file does the same. */
static void test_loaded(void **state)
{
	char path[] = "/tmp/rt_found_sizes.XXXXXX";
	struct rt_net n;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	open_net(&n);
	OK(cnnrt_program_save(n.program, path, &rt_err));
	cnnrt_program_free(n.program);
	OK(cnnrt_program_load(path, n.dev, NULL, &n.program, &rt_err));
	unlink(path);
	run_all(&n);
	rt_close(&n);
}

/* A buffer of the caller's gets what the run finds, if it is large enough. */
static void test_bound(void **state)
{
	struct cnnrt_buffer *buf;
	struct cnnrt_job *job;
	struct rt_net n;
	int64_t *selected;

	(void)state;
	open_net(&n);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	OK(cnnrt_buffer_create(n.ctx, 4096, &buf, &rt_err));
	OK(cnnrt_buffer_map(buf, (void **)&selected, &rt_err));
	OK(cnnrt_job_bind(job, CNNRT_OUTPUT, 0, buf, 0, &rt_err));
	detect(job, 0x12);
	check_outputs(job, 0x12);
	assert_int_equal(selected[2], 4);
	assert_int_equal(selected[5], 1);
	cnnrt_job_free(job);
	cnnrt_buffer_free(buf);
	rt_close(&n);
}

static void test_run_once(void **state)
{
	static const float scores[BOXES];
	char mem[1024];
	struct rt_net n;

	(void)state;
	open_net(&n);
	FAILS(CNNRT_EUNSUPPORTED, "use a job",
	      cnnrt_run(n.ctx, n.program, (const void *const[]){ scores },
			(void *const[]){ mem, mem }, &rt_err));
	rt_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_run_once),
	};

	return cmocka_run_group_tests_name("sizes that a run finds", tests, NULL, NULL);
}
