/* SPDX-License-Identifier: MIT */
/* Jobs: repeated, bound, chained by fences, canceled, and many at once. */
#include "rt_programs.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static void repeat(const char *model)
{
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_job *job;
	struct rt_net n;
	size_t size;

	rt_open(&n, model);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	OK(cnnrt_job_status(job, &status, &rt_err));
	assert_int_equal(status.state, CNNRT_JOB_IDLE);
	FAILS(CNNRT_EINVAL, "never submitted", cnnrt_job_wait(job, -1, &rt_err));
	for (unsigned int seed = 0; seed < 5; seed++) {
		float *want = rt_answer(&n, seed, &size);

		rt_set_input(job, seed);
		OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
		OK(cnnrt_job_wait(job, -1, &rt_err));
		OK(cnnrt_job_wait(job, 0, &rt_err));
		rt_check_output(job, want, size);
		OK(cnnrt_job_status(job, &status, &rt_err));
		assert_int_equal(status.state, CNNRT_JOB_DONE);
		free(want);
	}
	cnnrt_job_free(job);
	rt_close(&n);
}

static void test_repeat(void **state)
{
	(void)state;
	repeat("RT_DIGITS");
	repeat("RT_MIXED");
}

/* The CPU alone gives nearly the same, so the device did compute. */
static void test_against_cpu(void **state)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .cpu_only = true };
	float *device, *cpu;
	struct rt_net n;
	size_t size;

	(void)state;
	rt_open(&n, "RT_MIXED");
	device = rt_answer(&n, 7, &size);
	cnnrt_program_free(n.program);
	OK(cnnrt_compile(n.model, n.dev, &opt, &n.program, &rt_err));
	cpu = rt_answer(&n, 7, &size);
	for (size_t i = 0; i < size / sizeof(float); i++)
		assert_true(device[i] - cpu[i] < 1e-4f && cpu[i] - device[i] < 1e-4f);
	free(device);
	free(cpu);
	rt_close(&n);
}

static void bind_both(struct rt_net *n, struct cnnrt_job *job, struct cnnrt_buffer *buf[2],
		      size_t offset)
{
	for (int d = 0; d < 2; d++) {
		struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };

		OK(cnnrt_program_io(n->program, d, 0, &info, &rt_err));
		OK(cnnrt_buffer_create(n->ctx, info.size + offset, &buf[d], &rt_err));
		OK(cnnrt_job_bind(job, d, 0, buf[d], offset, &rt_err));
	}
}

static void bound(const char *model)
{
	struct cnnrt_buffer *first[2], *second[2], **now = first;
	struct cnnrt_job *job;
	struct rt_net n;
	size_t size;
	void *mem;

	rt_open(&n, model);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	bind_both(&n, job, first, 0);
	for (unsigned int seed = 0; seed < 4; seed++) {
		float *want = rt_answer(&n, seed, &size);
		size_t offset = seed < 2 ? 0 : 8192;

		if (seed == 2) {
			bind_both(&n, job, second, offset);
			now = second;
		}
		rt_set_input(job, seed);
		OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
		OK(cnnrt_job_wait(job, -1, &rt_err));
		OK(cnnrt_buffer_map(now[CNNRT_OUTPUT], &mem, &rt_err));
		assert_memory_equal((uint8_t *)mem + offset, want, size);
		free(want);
	}
	FAILS(CNNRT_EINVAL, "multiple of 4096",
	      cnnrt_job_bind(job, CNNRT_INPUT, 0, first[0], 64, &rt_err));
	FAILS(CNNRT_EINVAL, "bytes",
	      cnnrt_job_bind(job, CNNRT_INPUT, 0, first[0], 1 << 20, &rt_err));
	FAILS(CNNRT_EINVAL, "input 1",
	      cnnrt_job_bind(job, CNNRT_INPUT, 1, first[0], 0, &rt_err));
	cnnrt_job_free(job);
	for (int d = 0; d < 2; d++) {
		cnnrt_buffer_free(first[d]);
		cnnrt_buffer_free(second[d]);
	}
	rt_close(&n);
}

static void test_bound(void **state)
{
	(void)state;
	bound("RT_DIGITS");
	bound("RT_MIXED");
}

static void chain(const char *model)
{
	struct cnnrt_job *job[3];
	int fence[3], start = eventfd(0, EFD_CLOEXEC);
	struct rt_net n;
	size_t size;
	float *want;

	rt_open(&n, model);
	want = rt_answer(&n, 1, &size);
	for (int j = 0; j < 3; j++) {
		OK(cnnrt_job_create(n.ctx, n.program, &job[j], &rt_err));
		rt_set_input(job[j], 1);
		OK(cnnrt_job_submit(job[j], j ? fence[j - 1] : start, &fence[j], &rt_err));
	}
	for (int j = 0; j < 3; j++) {
		assert_false(is_ready(fence[j]));
		FAILS(CNNRT_EBUSY, "runs", cnnrt_job_submit(job[j], -1, NULL, &rt_err));
		FAILS(CNNRT_ETIMEDOUT, "runs", cnnrt_job_wait(job[j], 1000, &rt_err));
	}
	eventfd_write(start, 1);
	for (int j = 2; j >= 0; j--) {
		OK(cnnrt_job_wait(job[j], -1, &rt_err));
		assert_true(is_ready(fence[j]));
		rt_check_output(job[j], want, size);
	}
	for (int j = 0; j < 3; j++) {
		close(fence[j]);
		cnnrt_job_free(job[j]);
	}
	close(start);
	free(want);
	rt_close(&n);
}

static void test_chain(void **state)
{
	(void)state;
	chain("RT_DIGITS");
	chain("RT_MIXED");
}

static void test_no_memory_given(void **state)
{
	const void *inputs[1] = { NULL };
	void *outputs[1] = { NULL };
	static float x[28 * 28];
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	FAILS(CNNRT_EINVAL, "input 0", cnnrt_run(n.ctx, n.program, inputs, outputs, &rt_err));
	inputs[0] = x;
	FAILS(CNNRT_EINVAL, "output 0", cnnrt_run(n.ctx, n.program, inputs, outputs, &rt_err));
	rt_close(&n);
}

/* A fence that fails takes those with it who wait for it; one that never comes holds nobody. */
static void test_cancel(void **state)
{
	int never = eventfd(0, EFD_CLOEXEC), failed = eventfd(0, EFD_CLOEXEC), fence;
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_job *a, *b, *c;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_job_create(n.ctx, n.program, &a, &rt_err));
	OK(cnnrt_job_create(n.ctx, n.program, &b, &rt_err));
	OK(cnnrt_job_create(n.ctx, n.program, &c, &rt_err));
	eventfd_write(failed, 1 + EFAULT);
	OK(cnnrt_job_submit(a, failed, &fence, &rt_err));
	OK(cnnrt_job_submit(b, fence, NULL, &rt_err));
	FAILS(CNNRT_ECANCELED, "in-fence failed", cnnrt_job_wait(b, -1, &rt_err));
	FAILS(CNNRT_ECANCELED, "in-fence failed", cnnrt_job_wait(a, -1, &rt_err));
	OK(cnnrt_job_status(a, &status, &rt_err));
	assert_int_equal(status.state, CNNRT_JOB_FAILED);
	assert_string_equal(status.class_name, "CANCELED");
	OK(cnnrt_job_submit(c, never, NULL, &rt_err));
	cnnrt_job_free(c);
	/* And it can run again. */
	rt_set_input(a, 0);
	OK(cnnrt_job_submit(a, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(a, -1, &rt_err));
	/* Also freed in a run in which its thread has no part. */
	OK(cnnrt_job_submit(a, -1, NULL, &rt_err));
	cnnrt_job_free(a);
	close(fence);
	close(never);
	close(failed);
	cnnrt_job_free(b);
	rt_close(&n);
}

/* A descriptor that only polls like a fence would never end the wait, or at any time. */
static void test_no_fence(void **state)
{
	struct cnnrt_job *job;
	struct rt_net n;
	int ends[2];

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	assert_int_equal(pipe(ends), 0);
	FAILS(CNNRT_EINVAL, "neither a sync_file nor an eventfd",
	      cnnrt_job_submit(job, ends[0], NULL, &rt_err));
	close(ends[0]);
	close(ends[1]);
	FAILS(CNNRT_EINVAL, "Bad file descriptor", cnnrt_job_submit(job, ends[0], NULL, &rt_err));
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
	cnnrt_job_free(job);
	rt_close(&n);
}

struct seen {
	struct cnnrt_core_info core;
	uint64_t cycles, macs, end_ns;
	unsigned int tasks, ops, copies;
	/* by the compiler */
	uint64_t op_cycles, op_macs;
	unsigned int cpu_ops;
};

static void note_step(const struct cnnrt_step *step, void *opaque)
{
	struct seen *seen = opaque;

	assert_true(strlen(step->name) > 0);
	assert_true(step->start_ns >= seen->end_ns);
	assert_true(step->submitted_ns >= step->start_ns);
	assert_true(step->end_ns >= step->submitted_ns);
	seen->end_ns = step->end_ns;
	assert_int_equal(step->kind == CNNRT_STEP_TASKS, !strcmp(step->place, seen->core.name));
	if (step->kind == CNNRT_STEP_TASKS) {
		assert_int_equal(step->first_task, seen->tasks);
		assert_true(step->cycles > 0);
		seen->tasks += step->task_count;
		seen->cycles += step->cycles;
		seen->macs += step->macs;
	} else {
		assert_int_equal(step->cycles, 0);
		*(step->kind == CNNRT_STEP_OP ? &seen->ops : &seen->copies) += 1;
	}
}

static void note_cost(const struct cnnrt_op_report *op, void *opaque)
{
	struct seen *seen = opaque;

	assert_int_equal(op->cost->cycles,
			 op->cost->compute + op->cost->stall + op->cost->control);
	if (op->core < 0) {
		assert_int_equal(op->cost->cycles, 0);
		seen->cpu_ops++;
	}
	seen->op_cycles += op->cost->cycles;
	seen->op_macs += op->cost->mac_useful;
}

/* The device counts what the compiler said. */
static void profile(const char *model)
{
	struct seen seen = { 0 };
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct cnnrt_job *job;
	struct rt_net n;

	rt_open(&n, model);
	seen.core = rt_first_core(n.dev);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	rt_set_input(job, 0);
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
	OK(cnnrt_job_profile(job, note_step, &seen, &rt_err));
	cnnrt_program_explain(n.program, note_cost, &seen);
	OK(cnnrt_program_estimate(n.program, &est, &rt_err));
	assert_true(seen.cycles > 1000);
	assert_int_equal(seen.tasks, est.tasks);
	assert_int_equal(seen.ops, seen.cpu_ops);
	assert_int_equal(seen.op_cycles, est.cycles);
	assert_int_equal(seen.op_macs, seen.macs);
	/* A device that more than one context uses also clears what another left. */
	if (!getenv("RT_DEVICE"))
		assert_int_equal(seen.cycles, est.cycles);
	assert_true(est.compile_ns > 0);
	cnnrt_job_free(job);
	rt_close(&n);
}

static void test_profile(void **state)
{
	(void)state;
	profile("RT_DIGITS");
	profile("RT_MIXED");
}

static void note_end(const struct cnnrt_step *step, void *opaque)
{
	*(uint64_t *)opaque = step->end_ns;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A run ends when the device is done, not when somebody asks. */
static void test_profile_late(void **state)
{
	struct pollfd p = { .events = POLLIN };
	uint64_t start, took, end = 0;
	struct cnnrt_job *job;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	rt_set_input(job, 0);
	start = now();
	OK(cnnrt_job_submit(job, -1, &p.fd, &rt_err));
	assert_int_equal(poll(&p, 1, -1), 1);
	took = now() - start;
	usleep(50000);
	OK(cnnrt_job_wait(job, -1, &rt_err));
	OK(cnnrt_job_profile(job, note_end, &end, &rt_err));
	assert_in_range(end, 1, took);
	close(p.fd);
	cnnrt_job_free(job);
	rt_close(&n);
}

/* Freed while it runs, by its thread or directly on the device, also after the other kind. */
static void test_free_running(void **state)
{
	int ready = eventfd(1, EFD_CLOEXEC);
	struct cnnrt_job *job;
	struct rt_net n;

	(void)state;
	for (int model = 0; model < 2; model++) {
		rt_open(&n, model ? "RT_MIXED" : "RT_DIGITS");
		for (int i = 0; i < 20; i++) {
			OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
			if (i % 4 > 1) {
				OK(cnnrt_job_submit(job, ready, NULL, &rt_err));
				OK(cnnrt_job_wait(job, -1, &rt_err));
			}
			OK(cnnrt_job_submit(job, i % 2 ? ready : -1, NULL, &rt_err));
			cnnrt_job_free(job);
		}
		rt_close(&n);
	}
	close(ready);
}

static uint32_t queue_reg(struct rt_net *n, uint32_t reg)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };

	OK(cnnrt_device_core(n->dev, 0, &core, &rt_err));
	return core.queue_offset + reg;
}

static bool is_sim(void)
{
	return !strncmp(rt_device(), "sim", 3);
}

/* As the administrator resets a device: through its driver, or that in the process by a register. */
static void reset_device(struct rt_net *n, uint32_t reg)
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	char path[160];
	FILE *f;

	if (is_sim()) {
		OK(cnnrt_device_reg_write(n->dev, reg, 1, &rt_err));
		return;
	}
	OK(cnnrt_device_info(n->dev, &info, &rt_err));
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/force_reset", info.bus);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("device", f);
	assert_int_equal(fclose(f), 0);
}

/* A reset by hand costs time: what ran is run again, by the driver or by the library. */
static void reset_by(const char *model, bool whole)
{
	struct cnnrt_job *job;
	struct rt_net n;
	uint32_t reg;
	size_t size;
	float *want;

	rt_open(&n, model);
	reg = whole ? CNNACC_REG_RESET : queue_reg(&n, CNNACC_QREG_RESET);
	want = rt_answer(&n, 2, &size);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	rt_set_input(job, 2);
	for (int i = 0; i < 20; i++) {
		OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
		if (i % 2)
			usleep((unsigned int)i * 10);
		reset_device(&n, reg);
		OK(cnnrt_job_wait(job, -1, &rt_err));
		rt_check_output(job, want, size);
	}
	cnnrt_job_free(job);
	free(want);
	rt_close(&n);
}

static void test_reset(void **state)
{
	(void)state;
	reset_by("RT_DIGITS", true);
	reset_by("RT_MIXED", true);
	/* Behind the back of a kernel driver that would be somebody's mistake. */
	if (is_sim()) {
		reset_by("RT_DIGITS", false);
		reset_by("RT_MIXED", false);
	}
}

/* An open device takes so many jobs; one that is freed makes room. */
static void test_many_jobs(void **state)
{
	enum { MANY = 2100 };
	struct cnnrt_job *job[MANY];
	unsigned int count = 0;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	while (count < MANY && !cnnrt_job_create(n.ctx, n.program, &job[count], &rt_err))
		count++;
	assert_true(count >= 32 && count < MANY);
	assert_int_equal(rt_err.code, CNNRT_ELIMIT);
	/* Of the driver, or of the process's descriptors. */
	assert_true(strstr(rt_err.text, "at most") || strstr(rt_err.text, "open files"));
	cnnrt_job_free(job[--count]);
	OK(cnnrt_job_create(n.ctx, n.program, &job[count++], &rt_err));
	while (count)
		cnnrt_job_free(job[--count]);
	rt_close(&n);
}

/* ---- many at once ---------------------------------------------------------------------- */

#define THREADS	4
#define RUNS	12
/* The driver bans a file with eight failures in succession, and the members may be done first. */
#define FAULTS	7

struct crowd {
	struct rt_net *net[2];
	float *want[2][RUNS];
	size_t size[2];
	unsigned int index;
	int bad;
};

static void *member(void *arg)
{
	struct crowd *c = arg;
	struct rt_net *n = c->net[c->index % 2];
	struct cnnrt_error err;
	struct cnnrt_context *ctx;
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_job *job;
	void *mem;

	c->bad += !!cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &ctx, &err);
	c->bad += !!cnnrt_job_create(ctx, n->program, &job, &err);
	for (unsigned int seed = 0; seed < RUNS && !c->bad; seed++) {
		c->bad += !!cnnrt_job_map(job, CNNRT_INPUT, 0, &info, &mem, &err);
		rt_fill(mem, info.size, seed);
		c->bad += !!cnnrt_job_submit(job, -1, NULL, &err);
		c->bad += !!cnnrt_job_wait(job, -1, &err);
		c->bad += !!cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &mem, &err);
		c->bad += !!memcmp(mem, c->want[c->index % 2][seed], info.size);
	}
	cnnrt_job_free(job);
	cnnrt_context_destroy(ctx);
	return NULL;
}

/* Programs that fail, beside the others. */
static void *vandal(void *arg)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];
	struct crowd *c = arg;
	const uint32_t size = rt_programs(c->net[0]->dev)->load(code, 9, 1);
	struct cnnrt_range r = {
		.va = 0xf0000000u, .size = size, .flags = CNNRT_MAP_EXEC, .in = code,
	};
	struct cnnrt_exec e = {
		.struct_size = sizeof(e),
		.program_va = 0xf0000000u, .program_size = size, .ranges = &r,
		.range_count = 1, .range_size = sizeof(struct cnnrt_range), .timeout_ns = -1,
	};
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };
	struct cnnrt_error err;

	for (int i = 0; i < FAULTS; i++) {
		c->bad += !!cnnrt_exec(c->net[0]->dev, &e, &s, NULL, &err);
		c->bad += s.status_class != CNNACC_STATUS_MMU_FAULT || s.va != 9 * 64;
	}
	return NULL;
}

static void test_crowd(void **state)
{
	struct rt_net digits, mixed;
	struct crowd c[THREADS + 1] = { { .net = { &digits, &mixed } } };
	pthread_t thread[THREADS + 1];

	(void)state;
	rt_open(&digits, "RT_DIGITS");
	mixed = digits;
	OK(cnnrt_model_load(rt_model_path("RT_MIXED"), &mixed.model, &rt_err));
	OK(cnnrt_compile(mixed.model, mixed.dev, NULL, &mixed.program, &rt_err));
	for (unsigned int seed = 0; seed < RUNS; seed++)
		for (int k = 0; k < 2; k++)
			c[0].want[k][seed] = rt_answer(c[0].net[k], seed, &c[0].size[k]);
	for (unsigned int i = 0; i <= THREADS; i++) {
		c[i] = c[0];
		c[i].index = i;
	}
	for (unsigned int i = 0; i <= THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, i < THREADS ? member : vandal,
						&c[i]), 0);
	for (unsigned int i = 0; i <= THREADS; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(c[i].bad, 0);
	}
	for (unsigned int seed = 0; seed < RUNS; seed++)
		for (int k = 0; k < 2; k++)
			free(c[0].want[k][seed]);
	cnnrt_program_free(mixed.program);
	cnnrt_model_free(mixed.model);
	rt_close(&digits);
}

/* ---- children of fork() ------------------------------------------------------------------ */

/* A child can have its parent's pid: each may be the first process of its namespace. */
pid_t getpid(void)
{
	return 1;
}

/* A program under ThreadSanitizer may not. */
#ifdef __SANITIZE_THREAD__
#define CHILD_STARTS_THREADS	false
#else
#define CHILD_STARTS_THREADS	true
#endif

static void ignore_test(const char *test, const char *failure, void *opaque)
{
	(void)test;
	(void)failure;
	(void)opaque;
}

static void ignore_step(const struct cnnrt_step *step, void *opaque)
{
	(void)step;
	(void)opaque;
}

static void ignore_layer(const struct cnnrt_layer *layer, void *opaque)
{
	(void)layer;
	(void)opaque;
}

/* A failed assertion would go on with the parent's tests. */
#define REFUSED(call) do { \
	struct cnnrt_error err = { 0 }; \
	if ((call) != CNNRT_EINVAL || err.code != CNNRT_EINVAL || \
	    !strstr(err.text, "another process opened this device")) \
		return __LINE__; \
} while (0)

/* Everything that would use the device: 0, or the number of the line that is wrong. */
static int refused_device(struct rt_net *n)
{
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	struct cnnrt_exec exec = { .struct_size = sizeof(exec) };
	struct cnnrt_context *ctx;
	uint32_t value;

	REFUSED(cnnrt_device_info(n->dev, &info, &err));
	REFUSED(cnnrt_device_reg_read(n->dev, CNNACC_REG_MAGIC, &value, &err));
	REFUSED(cnnrt_device_reg_write(n->dev, CNNACC_REG_SCRATCH, 1, &err));
	REFUSED(cnnrt_device_selftest(n->dev, ignore_test, NULL, &err));
	REFUSED(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &ctx, &err));
	REFUSED(cnnrt_exec(n->dev, &exec, &status, NULL, &err));
	return 0;
}

static int refused_buffer(struct rt_net *n, struct cnnrt_buffer *buf)
{
	struct cnnrt_buffer *more;
	void *mem;
	int fd;

	REFUSED(cnnrt_buffer_create(n->ctx, 64, &more, &err));
	REFUSED(cnnrt_buffer_import(n->ctx, 0, &more, &err));
	REFUSED(cnnrt_buffer_export(buf, &fd, &err));
	REFUSED(cnnrt_buffer_map(buf, &mem, &err));
	REFUSED(cnnrt_buffer_sync(buf, CNNRT_SYNC_FOR_CPU, &err));
	return 0;
}

static int refused_job(struct rt_net *n, struct cnnrt_job *job, struct cnnrt_buffer *buf)
{
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_job *more;
	void *mem[1] = { NULL };

	REFUSED(cnnrt_job_create(n->ctx, n->program, &more, &err));
	REFUSED(cnnrt_job_bind(job, CNNRT_INPUT, 0, buf, 0, &err));
	REFUSED(cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, mem, &err));
	REFUSED(cnnrt_job_submit(job, -1, NULL, &err));
	REFUSED(cnnrt_job_wait(job, -1, &err));
	REFUSED(cnnrt_job_status(job, &status, &err));
	REFUSED(cnnrt_job_profile(job, ignore_step, NULL, &err));
	REFUSED(cnnrt_compare(job, NULL, ignore_layer, NULL, &err));
	REFUSED(cnnrt_run(n->ctx, n->program, (const void *const *)mem, mem, &err));
	return 0;
}

/* Its own device, with the program that it has a copy of. */
static int runs_anew(struct rt_net *n, const float *want)
{
	struct cnnrt_error err;
	size_t size;
	float *got;

	if (cnnrt_device_open(rt_device(), 0, &n->dev, &err) ||
	    cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &err))
		return __LINE__;
	got = rt_answer(n, 3, &size);
	if (memcmp(got, want, size))
		return __LINE__;
	free(got);
	rt_close(n);
	return 0;
}

static int in_child(struct rt_net *n, struct cnnrt_job *job, struct cnnrt_buffer *buf,
		    const float *want)
{
	int line;

	/* It may not hang. */
	alarm(600);
	line = refused_device(n);
	if (!line)
		line = refused_buffer(n, buf);
	if (!line)
		line = refused_job(n, job, buf);
	cnnrt_job_free(job);
	cnnrt_buffer_free(buf);
	cnnrt_context_destroy(n->ctx);
	cnnrt_device_close(n->dev);
	return line || !want || !CHILD_STARTS_THREADS ? line : runs_anew(n, want);
}

/* want: the answer that a child with a device of its own must get, NULL: it opens none. */
static void check_child(struct rt_net *n, struct cnnrt_job *job, struct cnnrt_buffer *buf,
			const float *want)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		int line = in_child(n, job, buf, want);

		if (line)
			print_error("child: line %d\n", line);
		_exit(line != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_fork(void **state)
{
	struct cnnrt_buffer *buf;
	struct cnnrt_job *job;
	struct rt_net n;
	float *want;
	size_t size;

	(void)state;
	rt_open(&n, "RT_MIXED");
	want = rt_answer(&n, 3, &size);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	OK(cnnrt_buffer_create(n.ctx, 4096, &buf, &rt_err));
	for (int round = 0; round < 2; round++) {
		rt_set_input(job, 3);
		OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
		OK(cnnrt_job_wait(job, -1, &rt_err));
		rt_check_output(job, want, size);
		if (!round)
			check_child(&n, job, buf, want);
	}
	cnnrt_buffer_free(buf);
	cnnrt_job_free(job);
	free(want);
	rt_close(&n);
}

#define BUSY_CYCLES	100000000	/* more than the time to start the others and fork() */

static void *keep_core_busy(void *arg)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];
	struct rt_net *n = arg;
	const uint32_t size = rt_programs(n->dev)->endless(code);
	struct cnnrt_range r = {
		.va = 0xf0000000u, .size = size, .flags = CNNRT_MAP_EXEC, .in = code,
	};
	struct cnnrt_exec e = {
		.struct_size = sizeof(e),
		.program_va = 0xf0000000u, .program_size = size, .ranges = &r,
		.range_count = 1, .range_size = sizeof(struct cnnrt_range),
		.timeout_ns = -1, .cycle_limit = BUSY_CYCLES,
	};
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };

	return cnnrt_exec(n->dev, &e, &s, NULL, NULL) ||
	       s.status_class != CNNACC_STATUS_TIME_LIMIT ? arg : NULL;
}

static void *wait_for_job(void *arg)
{
	return cnnrt_job_wait(arg, -1, NULL) ? arg : NULL;
}

/* Also not for the locks of a thread that waits, which the child does not have. */
static void test_fork_waiting(void **state)
{
	struct cnnrt_buffer *buf;
	struct cnnrt_job *job;
	pthread_t thread[2];
	struct rt_net n;
	void *failed;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	OK(cnnrt_buffer_create(n.ctx, 4096, &buf, &rt_err));
	rt_set_input(job, 3);
	assert_int_equal(pthread_create(&thread[0], NULL, keep_core_busy, &n), 0);
	usleep(20000);
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	assert_int_equal(pthread_create(&thread[1], NULL, wait_for_job, job), 0);
	usleep(20000);
	check_child(&n, job, buf, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], &failed);
		assert_null(failed);
	}
	cnnrt_buffer_free(buf);
	cnnrt_job_free(job);
	rt_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_against_cpu),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_no_memory_given),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_no_fence),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_profile_late),
		cmocka_unit_test(test_free_running),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_many_jobs),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_fork_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
