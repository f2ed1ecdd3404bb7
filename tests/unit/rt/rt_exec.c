/* SPDX-License-Identifier: MIT */
/* Raw programs in process: address ranges, ends, statistics. */
#include "rt_programs.h"

#include <poll.h>

#define RW	(CNNRT_MAP_READ | CNNRT_MAP_WRITE)
#define CODE_VA	0xf0000000u

#define LINE(va)	((va) / CNNACC_LINE_SIZE)

static char device[64];
static struct cnnrt_device *dev;
static const struct core_programs *programs;	/* of its first core */

static int open_device(void **state)
{
	int ret = cnnrt_device_open(device, 0, &dev, &rt_err);

	(void)state;
	if (!ret)
		programs = rt_programs(dev);
	return ret;
}

static int close_device(void **state)
{
	(void)state;
	cnnrt_device_close(dev);
	return 0;
}

static struct cnnrt_exec exec_of(struct cnnrt_range *ranges, unsigned int count)
{
	return (struct cnnrt_exec){
		.struct_size = sizeof(struct cnnrt_exec), .program_va = CODE_VA,
		.program_size = ranges[0].size, .timeout_ns = 30000000000,
		.ranges = ranges, .range_count = count, .range_size = sizeof(struct cnnrt_range),
	};
}

static void test_arguments(void **state)
{
	uint32_t nop[CORE_PROGRAM_MAX / 4];
	struct cnnrt_range r[2] = {
		{ .va = CODE_VA, .size = programs->nop(nop), .flags = CNNRT_MAP_EXEC, .in = nop },
		{ .va = 0x1000, .size = 64, .flags = RW },
	};
	const uint64_t program_max = rt_first_core(dev).program_max;
	struct cnnrt_exec e = exec_of(r, 2);
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };
	char limit[32];

	(void)state;
	OK(cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	assert_int_equal(s.state, CNNRT_JOB_DONE);
	e.core = 1;
	s.pc = 7;
	FAILS(CNNRT_EINVAL, "core 1", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	assert_int_equal(s.pc, 7);
	e = exec_of(r, 0);
	FAILS(CNNRT_EINVAL, "ranges", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e = exec_of(r, 2);
	e.cycle_limit = UINT64_MAX;
	FAILS(CNNRT_EINVAL, "cycle limit", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e = exec_of(r, 2);
	e.program_va = 1ull << 32;
	FAILS(CNNRT_EINVAL, "beyond", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e.program_va = CODE_VA + 4;
	FAILS(CNNRT_EINVAL, "multiple of 64", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e = exec_of(r, 2);
	e.program_size = 3;
	FAILS(CNNRT_EINVAL, "program of 3", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	snprintf(limit, sizeof(limit), "up to %u", (unsigned int)program_max);
	e.program_size = program_max + 4;
	FAILS(CNNRT_EINVAL, limit, cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e.program_size = (1ull << 32) + 4;
	FAILS(CNNRT_EINVAL, limit, cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e = exec_of(r, 2);
	r[1].size = 0;
	FAILS(CNNRT_EINVAL, "empty", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	r[1] = (struct cnnrt_range){ .va = 0xfffff000, .size = 4097, .flags = RW };
	FAILS(CNNRT_EINVAL, "4 GiB", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	r[1] = (struct cnnrt_range){ .va = 0, .size = UINT64_MAX, .flags = RW };
	FAILS(CNNRT_EINVAL, "4 GiB", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	r[1] = (struct cnnrt_range){ .va = 0, .size = 64, .flags = RW | CNNRT_MAP_EXEC };
	FAILS(CNNRT_EINVAL, "flags", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	r[1] = (struct cnnrt_range){ .va = CODE_VA + 64, .size = 64, .flags = RW };
	FAILS(CNNRT_EINVAL, "permissions", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
}

/* Ranges that share pages, in any order, with VA 0 and the last page taken. */
static void test_ranges(void **state)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];
	const uint32_t size = programs->copy(code, 0x40, 0xffffffc0u, 1);
	uint8_t src[64], dst[64], rest[8], far[4096];
	struct cnnrt_range r[] = {
		{ .va = CODE_VA, .size = size, .flags = CNNRT_MAP_EXEC, .in = code },
		{ .va = 0xffffffc0u, .size = 64, .flags = RW, .out = dst },
		{ .va = 0x40, .size = 64, .flags = RW, .in = src },
		{ .va = 0, .size = 8, .flags = RW, .out = rest },
		{ .va = 0xfffff000u, .size = 8, .flags = RW },
		{ .va = 0xffffe001u, .size = 4000, .flags = RW, .out = far },
	};
	struct cnnrt_exec e = exec_of(r, 6);
	struct cnnacc_stats stats;
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };

	(void)state;
	for (int i = 0; i < 64; i++)
		src[i] = (uint8_t)(i + 1);
	memset(rest, 0xff, sizeof(rest));
	memset(dst, 0, sizeof(dst));
	OK(cnnrt_exec(dev, &e, &s, &stats, &rt_err));
	assert_int_equal(s.state, CNNRT_JOB_DONE);
	assert_string_equal(s.class_name, "OK");
	assert_memory_equal(src, dst, 64);
	for (int i = 0; i < 8; i++)
		assert_int_equal(rest[i], 0);
	assert_int_equal(stats.jobs, 1);
	assert_int_equal(stats.mem_read_bytes, 64 + (size + 63) / 64 * 64);
	assert_int_equal(stats.mem_write_bytes, 64);
}

static void run_failing(const uint32_t *code, size_t size, uint64_t limit,
			struct cnnrt_job_status *s)
{
	struct cnnrt_range r = { .va = CODE_VA, .size = size, .flags = CNNRT_MAP_EXEC, .in = code };
	struct cnnrt_exec e = exec_of(&r, 1);

	e.cycle_limit = limit;
	OK(cnnrt_exec(dev, &e, s, NULL, &rt_err));
	assert_int_equal(s->state, CNNRT_JOB_FAILED);
	assert_int_equal(s->code, CNNRT_EJOB);
	assert_int_equal(s->core, 0);
}

static void test_failures(void **state)
{
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };
	uint32_t code[2 * CORE_PROGRAM_MAX / 4];

	run_failing(code, programs->store(code, LINE(0x12340000), 1), 0, &s);
	assert_int_equal(s.status_class, CNNACC_STATUS_MMU_FAULT);
	assert_int_equal(s.va, 0x12340000);
	assert_int_equal(s.pc, programs->dma_pc);
	assert_int_equal(s.access, CNNACC_ACCESS_WRITE);
	assert_non_null(strstr(s.text, "write of VA 0x12340000"));
	run_failing(code, programs->illegal(code, 2), 0, &s);
	assert_string_equal(s.class_name, "BAD_PROGRAM");
	assert_int_equal(s.status_code, programs->illegal_code);
	assert_string_equal(s.code_name, programs->illegal_name);
	assert_int_equal(s.pc, 2);
	run_failing(code, programs->config_error(code), 0, &s);
	assert_int_equal(s.status_class, CNNACC_STATUS_CONFIG);
	assert_non_null(strstr(s.text, programs->config_text));
	run_failing(code, programs->endless(code), 5000, &s);
	assert_int_equal(s.status_class, CNNACC_STATUS_TIME_LIMIT);
	assert_non_null(strstr(s.text, "cycle limit"));
	test_ranges(state);
}

/* The program's own statistics record, and nothing mapped that no range has. */
static void test_own_stats(void **state)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };
	struct cnnrt_job_status again = { .struct_size = sizeof(again) };
	struct cnnacc_stats stats;
	struct cnnrt_range r[2] = {
		{ .va = CODE_VA, .size = programs->nop(code), .flags = CNNRT_MAP_EXEC, .in = code },
		{ .va = 0x1000, .size = sizeof(stats), .flags = CNNRT_MAP_WRITE, .out = &stats },
	};
	struct cnnrt_exec e = exec_of(r, 2);

	(void)state;
	e.own_stats = true;
	e.stats_va = 0x1000;
	OK(cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	assert_int_equal(s.state, CNNRT_JOB_DONE);
	assert_int_equal(stats.jobs, 1);
	e.stats_va = 0x1001;
	FAILS(CNNRT_EINVAL, "statistics at", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e.stats_va = 0x2000;
	OK(cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	assert_string_equal(s.code_name, "STATS");
	assert_int_equal(s.va, 0x2000);
	again = s;
	again.class_name = again.code_name = NULL;
	OK(cnnrt_status_describe(programs->name, &again, &rt_err));
	assert_string_equal(again.code_name, s.code_name);
	assert_non_null(strstr(s.text, again.text));
	run_failing(code, programs->store(code, LINE(0xfffff000u), 1), 0, &s);
	assert_int_equal(s.va, 0xfffff000u);
	/* What may be written may not be read. */
	r[0] = (struct cnnrt_range){
		.va = CODE_VA, .size = programs->load(code, LINE(0x1000), 1),
		.flags = CNNRT_MAP_EXEC, .in = code,
	};
	e = exec_of(r, 2);
	OK(cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	assert_int_equal(s.detail, CNNACC_FAULT_PERM);
}

/* On a busy host an endless program may come to its cycle limit before the wait to its end. */
static int exec_endless(const struct cnnrt_exec *e)
{
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };
	int ret, tries = 0;

	do
		ret = cnnrt_exec(dev, e, &s, NULL, &rt_err);
	while (!ret && s.status_class == CNNACC_STATUS_TIME_LIMIT && ++tries < 20);
	return ret;
}

/* A wait that is too short gives the core back for the next one. */
static void test_timeout(void **state)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];
	struct cnnrt_range r = {
		.va = CODE_VA, .size = programs->endless(code), .flags = CNNRT_MAP_EXEC, .in = code,
	};
	struct cnnrt_exec e = exec_of(&r, 1);

	e.timeout_ns = 1000000;
	FAILS(CNNRT_ETIMEDOUT, "still runs", exec_endless(&e));
	test_ranges(state);
}

#define EVENT_DATA	0x10000000u
#define EVENT_OUT	0x10010000u
#define EVENT_MEMORY	0x10000u

static uint32_t event_count(void)
{
	uint32_t count;

	OK(cnnrt_device_reg_read(dev, rt_first_core(dev).queue_offset + CNNACC_QREG_EVENT_COUNT,
				 &count, &rt_err));
	return count;
}

static void run_compute(void)
{
	static uint32_t code[CORE_PROGRAM_LONG / 4];
	struct cnnrt_range r[3] = {
		{ .va = CODE_VA, .flags = CNNRT_MAP_EXEC, .in = code,
		  .size = programs->compute(code, EVENT_DATA, EVENT_OUT) },
		{ .va = EVENT_DATA, .size = EVENT_MEMORY, .flags = RW },
		{ .va = EVENT_OUT, .size = EVENT_MEMORY, .flags = RW },
	};
	struct cnnrt_exec e = exec_of(r, 3);
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };

	OK(cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	assert_int_equal(s.state, CNNRT_JOB_DONE);
}

/* A counter gets each event of a program, and none of a program that began before. */
static void test_events(void **state)
{
	struct cnnrt_event *event, *other;
	uint64_t count = 0;
	uint32_t before;

	(void)state;
	run_compute();
	FAILS(CNNRT_EINVAL, "core 99", cnnrt_event_create(dev, 99, &event, &rt_err));
	OK(cnnrt_event_create(dev, 0, &event, &rt_err));
	FAILS(CNNRT_EBUSY, "core 0", cnnrt_event_create(dev, 0, &other, &rt_err));
	FAILS(CNNRT_ETIMEDOUT, "none", cnnrt_event_read(event, 0, &count, &rt_err));
	before = event_count();
	run_compute();
	if (programs->compute_events) {
		struct pollfd p = { .fd = cnnrt_event_fd(event), .events = POLLIN };

		assert_int_equal(poll(&p, 1, 0), 1);
		OK(cnnrt_event_read(event, -1, &count, &rt_err));
		assert_true(count > 0);
	}
	assert_int_equal(count, event_count() - before);
	FAILS(CNNRT_ETIMEDOUT, "none", cnnrt_event_read(event, 1000, &count, &rt_err));
	cnnrt_event_destroy(event);
	run_compute();
	OK(cnnrt_event_create(dev, 0, &event, &rt_err));
	cnnrt_event_destroy(event);
	cnnrt_event_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arguments, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_ranges, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_failures, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_own_stats, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_timeout, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_events, open_device, close_device),
	};

	const struct core_programs *p;
	int failed = 0;

	if (getenv("RT_DEVICE")) {
		snprintf(device, sizeof(device), "%s", rt_device());
		return cmocka_run_group_tests(tests, NULL, NULL);
	}
	for (size_t i = 0; (p = core_programs_at(i)); i++) {
		snprintf(device, sizeof(device), "sim:cores=%s", p->name);
		failed += cmocka_run_group_tests_name(device, tests, NULL, NULL);
	}
	return failed;
}
