/* SPDX-License-Identifier: MIT */
/*
 * What the jobs of an open device share: its address space, so that the device clears nothing
 * between them and weights are there once, and the jobs that cnnrt_run() keeps.
 */
#include "rt_programs.h"

#include <limits.h>
#include <pthread.h>

#include "device/sim.h"
#include "exec/job.h"

#define RUNS	4
#define THREADS	4
#define JOBS	32	/* that an open device has at most */

/* A network of $RT_NETS, paths with colons between them; NULL: there are no more. */
static char *next_net(char **rest)
{
	return strsep(rest, ":");
}

static char *all_nets(void)
{
	return strdup(rt_model_path("RT_NETS"));
}

static void open_net(struct rt_net *n, const char *path)
{
	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open(rt_device(), 0, &n->dev, &rt_err));
	OK(cnnrt_model_load(path, &n->model, &rt_err));
	OK(cnnrt_compile(n->model, n->dev, NULL, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
}

static struct cnnrt_job *new_job(struct rt_net *n)
{
	struct cnnrt_job *job;

	OK(cnnrt_job_create(n->ctx, n->program, &job, &rt_err));
	return job;
}

static void run_job(struct cnnrt_job *job)
{
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
}

/* ---- what the device counts ------------------------------------------------------------ */

static uint64_t counter(struct cnnrt_device *dev, unsigned int core, size_t offset)
{
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };
	uint32_t reg, lo, hi;

	OK(cnnrt_device_core(dev, core, &info, &rt_err));
	reg = info.queue_offset + CNNACC_QREG_STATS + (uint32_t)offset;
	OK(cnnrt_device_reg_read(dev, reg, &lo, &rt_err));
	OK(cnnrt_device_reg_read(dev, reg + 4, &hi, &rt_err));
	return (uint64_t)hi << 32 | lo;
}

struct counted {
	uint64_t cycles, scrub;
};

/* Of all cores since the device was reset. */
static struct counted count(struct cnnrt_device *dev)
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	struct counted sum = { 0 };

	OK(cnnrt_device_info(dev, &info, &rt_err));
	for (unsigned int i = 0; i < info.core_count; i++) {
		sum.cycles += counter(dev, i, offsetof(struct cnnacc_stats, cycles));
		sum.scrub += counter(dev, i, offsetof(struct cnnacc_stats, scrub_cycles));
	}
	return sum;
}

static struct counted since(struct cnnrt_device *dev, struct counted start)
{
	struct counted now = count(dev);

	return (struct counted){ now.cycles - start.cycles, now.scrub - start.scrub };
}

/* RUNS runs take at most 1.05 times the cycles of the model, and nothing is cleared. */
static void check_cycles(struct rt_net *n, struct counted start, const char *what)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct counted took = since(n->dev, start);

	OK(cnnrt_program_estimate(n->program, &est, &rt_err));
	print_message("%s: %llu cycles a run, %llu modelled\n", what,
		      (unsigned long long)took.cycles / RUNS, (unsigned long long)est.cycles);
	assert_int_equal(took.scrub, 0);
	assert_in_range(took.cycles, 1, est.cycles * RUNS * 105 / 100);
}

/* A job submitted again, and two jobs in turn. */
static void check_jobs(struct rt_net *n)
{
	struct cnnrt_job *job[2] = { new_job(n), new_job(n) };
	struct counted start;

	run_job(job[0]);
	start = count(n->dev);
	for (int i = 0; i < RUNS; i++)
		run_job(job[0]);
	check_cycles(n, start, "one job");
	start = count(n->dev);
	for (int i = 0; i < RUNS; i++)
		run_job(job[i % 2]);
	check_cycles(n, start, "two jobs in turn");
	cnnrt_job_free(job[0]);
	cnnrt_job_free(job[1]);
}

/* Inputs of zeros and what the outputs are, for cnnrt_run(). */
struct memory {
	void *in[CNNRT_MAX_RANK], *out[CNNRT_MAX_RANK];
};

static void allocate(struct rt_net *n, enum cnnrt_direction dir, void **to)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };

	for (unsigned int i = 0; i < cnnrt_program_io_count(n->program, dir); i++) {
		OK(cnnrt_program_io(n->program, dir, i, &info, &rt_err));
		to[i] = calloc(1, info.size + 1);
		assert_non_null(to[i]);
	}
}

static void free_memory(struct memory *m)
{
	for (int i = 0; i < CNNRT_MAX_RANK; i++) {
		free(m->in[i]);
		free(m->out[i]);
	}
}

static void check_run(struct rt_net *n)
{
	struct memory m = { 0 };
	struct counted start;

	allocate(n, CNNRT_INPUT, m.in);
	allocate(n, CNNRT_OUTPUT, m.out);
	for (int i = 0; i <= RUNS; i++) {
		OK(cnnrt_run(n->ctx, n->program, (const void *const *)m.in, m.out, &rt_err));
		if (!i)
			start = count(n->dev);
	}
	check_cycles(n, start, "cnnrt_run");
	free_memory(&m);
}

static void test_no_residue(void **state)
{
	char *nets = all_nets(), *rest = nets, *path;

	(void)state;
	while ((path = next_net(&rest))) {
		struct rt_net n;

		print_message("%s\n", path);
		open_net(&n, path);
		check_jobs(&n);
		check_run(&n);
		rt_close(&n);
	}
	free(nets);
}

static void add_scrub(const struct cnnrt_step *step, void *opaque)
{
	assert_true(step->scrub_cycles <= step->cycles);
	*(uint64_t *)opaque += step->scrub_cycles;
}

static uint64_t scrub_of(struct cnnrt_job *job)
{
	uint64_t sum = 0;

	OK(cnnrt_job_profile(job, add_scrub, &sum, &rt_err));
	return sum;
}

static void run_other_program(struct cnnrt_device *dev)
{
	uint32_t nop[CORE_PROGRAM_MAX / 4];
	struct cnnrt_range range = {
		.va = 0x1000, .size = rt_programs(dev)->nop(nop),
		.flags = CNNRT_MAP_EXEC, .in = nop,
	};
	const struct cnnrt_exec exec = {
		.struct_size = sizeof(exec), .program_va = range.va, .program_size = range.size,
		.timeout_ns = -1, .ranges = &range, .range_count = 1, .range_size = sizeof(range),
	};
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };

	OK(cnnrt_exec(dev, &exec, &status, NULL, &rt_err));
	assert_int_equal(status.state, CNNRT_JOB_DONE);
}

/* A raw program has an address space of its own: what it leaves is cleared, as a profile says. */
static void test_profile(void **state)
{
	struct cnnrt_job *job;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	job = new_job(&n);
	run_job(job);
	run_other_program(n.dev);
	run_job(job);
	assert_true(scrub_of(job) > 0);
	run_job(job);
	assert_int_equal(scrub_of(job), 0);
	cnnrt_job_free(job);
	rt_close(&n);
}

/* ---- memory ---------------------------------------------------------------------------- */

/* What is on the bus of a device in the process, without page tables, which stay. */
static uint64_t memory_of_sim(const struct rt_sim *sim)
{
	uint64_t bytes = 0;

	for (const struct rt_sim_extent *e = sim->mem.used; e; e = e->next)
		bytes += e->size;
	for (const struct rt_sim_vm *vm = sim->vms; vm; vm = vm->next)
		for (unsigned int i = 0; i < CNNACC_PT_ENTRIES; i++)
			bytes -= vm->table[i] ? CNNACC_PAGE_SIZE : 0;
	return bytes;
}

/* Buffers of the open device. */
static uint64_t memory_of(const struct cnnrt_device *dev)
{
	unsigned long long total = ULLONG_MAX;
	char path[64], line[128], unit[8] = "";
	FILE *f;

	if (dev->fd < 0)
		return memory_of_sim((const struct rt_sim *)dev);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", dev->fd);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "drm-total-memory: %llu %7s", &total, unit) >= 1)
			break;
	fclose(f);
	assert_true(total != ULLONG_MAX);
	return total << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
}

static uint64_t growth_of(struct rt_net *n, struct cnnrt_job **job)
{
	uint64_t before = memory_of(n->dev);

	*job = new_job(n);
	return memory_of(n->dev) - before;
}

/* The first job brings the weights; the others, also of another context, use them. */
static void test_weights_once(void **state)
{
	char *nets = all_nets(), *rest = nets, *path;

	(void)state;
	while ((path = next_net(&rest))) {
		struct cnnrt_job *job[3];
		struct cnnrt_context *other;
		uint64_t empty, first, weights;
		struct rt_net n;

		open_net(&n, path);
		OK(cnnrt_context_create(n.dev, CNNRT_PRIORITY_LOW, &other, &rt_err));
		job[0] = new_job(&n);	/* the first address space of the device stays */
		cnnrt_job_free(job[0]);
		empty = memory_of(n.dev);
		weights = rt_pages(n.dev, (uint64_t)n.program->low->weight_bytes);
		first = growth_of(&n, &job[0]);
		assert_int_equal(growth_of(&n, &job[1]), first - weights);
		OK(cnnrt_job_create(other, n.program, &job[2], &rt_err));
		assert_int_equal(memory_of(n.dev), empty + 3 * first - 2 * weights);
		cnnrt_job_free(job[0]);
		run_job(job[1]);
		cnnrt_job_free(job[1]);
		run_job(job[2]);
		cnnrt_job_free(job[2]);
		assert_int_equal(memory_of(n.dev), empty);
		cnnrt_context_destroy(other);
		rt_close(&n);
	}
	free(nets);
}

/* The same calls give the same addresses. */
static void test_same_addresses(void **state)
{
	struct cnn_bases bases[2][2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct cnnrt_job *job[3];
		struct rt_net n;

		rt_open(&n, "RT_MIXED");
		for (int k = 0; k < 3; k++)
			job[k] = new_job(&n);
		cnnrt_job_free(job[0]);
		job[0] = new_job(&n);
		for (int k = 0; k < 2; k++)
			bases[i][k] = job[k]->place.bases;
		for (int k = 0; k < 3; k++)
			cnnrt_job_free(job[k]);
		rt_close(&n);
	}
	assert_memory_equal(&bases[0], &bases[1], sizeof(bases[0]));
	assert_memory_not_equal(&bases[0][0], &bases[0][1], sizeof(bases[0][0]));
	assert_int_equal(bases[0][0].va[CNN_WEIGHTS], bases[0][1].va[CNN_WEIGHTS]);
}

/* When an address space is full, a second one is made, which goes with its last job. */
static void test_second_space(void **state)
{
	struct cnnrt_job *first, *second, *third;
	uint64_t before;
	struct rt_net n;
	size_t size;
	float *want;
	uint32_t va;

	(void)state;
	rt_open(&n, "RT_MIXED");
	want = rt_answer(&n, 1, &size);
	first = new_job(&n);
	while (rt_vm_reserve(first->place.vm, CNN_BASE_ALIGN, &va))
		;
	before = memory_of(n.dev);
	second = new_job(&n);
	third = new_job(&n);
	assert_ptr_not_equal(second->place.vm, first->place.vm);
	assert_ptr_equal(second->place.vm, third->place.vm);
	rt_set_input(second, 1);
	run_job(second);
	rt_check_output(second, want, size);
	cnnrt_job_free(second);
	rt_set_input(third, 1);
	run_job(third);
	rt_check_output(third, want, size);
	cnnrt_job_free(third);
	assert_int_equal(memory_of(n.dev), before);
	cnnrt_job_free(first);
	free(want);
	rt_close(&n);
}

/* ---- jobs that cnnrt_run() keeps --------------------------------------------------------- */

struct caller {
	struct rt_net *net;
	unsigned int seed;
	const float *want;
	pthread_t thread;
};

static void *call(void *arg)
{
	struct caller *c = arg;
	size_t size;

	for (int i = 0; i < RUNS; i++) {
		float *y = rt_answer(c->net, c->seed, &size);

		assert_memory_equal(y, c->want, size);
		free(y);
	}
	return NULL;
}

/* Threads that run a program at the same time have a job each. */
static void test_threads(void **state)
{
	struct caller callers[THREADS];
	struct rt_net n;
	size_t size;

	(void)state;
	rt_open(&n, "RT_MIXED");
	for (unsigned int i = 0; i < THREADS; i++)
		callers[i] = (struct caller){
			.net = &n, .seed = i, .want = rt_answer(&n, i, &size),
		};
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(callers[i].thread, NULL);
	assert_in_range(rt_kept_jobs_free(&(struct rt_job_owner){ .program = n.program }), 1,
			THREADS);
	for (unsigned int i = 0; i < THREADS; i++)
		free((void *)callers[i].want);
	rt_close(&n);
}

static void run_twice(struct rt_net *n)
{
	size_t size;

	for (unsigned int i = 0; i < 2; i++)
		free(rt_answer(n, i, &size));
}

/* A program and a context may be freed in any order; what is kept goes with the first. */
static void test_orders(void **state)
{
	struct cnnrt_context *other;
	uint64_t empty;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_MIXED");
	cnnrt_job_free(new_job(&n));
	empty = memory_of(n.dev);
	run_twice(&n);
	cnnrt_program_free(n.program);
	assert_int_equal(memory_of(n.dev), empty);
	OK(cnnrt_compile(n.model, n.dev, NULL, &n.program, &rt_err));
	run_twice(&n);
	other = n.ctx;
	OK(cnnrt_context_create(n.dev, CNNRT_PRIORITY_LOW, &n.ctx, &rt_err));
	run_twice(&n);
	cnnrt_context_destroy(other);
	run_twice(&n);
	cnnrt_context_destroy(n.ctx);
	assert_int_equal(memory_of(n.dev), empty);
	cnnrt_program_free(n.program);
	OK(cnnrt_compile(n.model, n.dev, NULL, &n.program, &rt_err));
	OK(cnnrt_context_create(n.dev, CNNRT_PRIORITY_LOW, &n.ctx, &rt_err));
	run_twice(&n);
	rt_close(&n);
}

/* Jobs that are only kept make room for those of the application. */
static void test_make_room(void **state)
{
	struct cnnrt_job *jobs[JOBS];
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	run_twice(&n);
	for (unsigned int i = 0; i < n.dev->max_contexts && i < JOBS; i++)
		jobs[i] = new_job(&n);
	assert_int_equal(rt_kept_jobs_free(&(struct rt_job_owner){ .dev = n.dev }),
			 n.dev->max_contexts > JOBS);
	for (unsigned int i = 0; i < n.dev->max_contexts && i < JOBS; i++)
		cnnrt_job_free(jobs[i]);
	rt_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_residue),     cmocka_unit_test(test_profile),
		cmocka_unit_test(test_weights_once),   cmocka_unit_test(test_same_addresses),
		cmocka_unit_test(test_second_space),   cmocka_unit_test(test_threads),
		cmocka_unit_test(test_orders),	       cmocka_unit_test(test_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
