/* SPDX-License-Identifier: MIT */
/* Raw programs in process: address ranges, ends, statistics. */
#include <cnnacc_ccp.h>

#include "rt.h"

#define RW	(CNNRT_MAP_READ | CNNRT_MAP_WRITE)
#define CODE_VA	0xf0000000u

#define LINE_IN_R(reg, va) \
	CNNACC_CCP_INSN_LDI(reg, ((va) / 64) & 0xffff), CNNACC_CCP_INSN_LDIH(reg, ((va) / 64) >> 16)

static struct cnnrt_device *dev;

static int open_device(void **state)
{
	(void)state;
	return cnnrt_device_open(rt_device(), 0, &dev, &rt_err);
}

static int close_device(void **state)
{
	(void)state;
	cnnrt_device_close(dev);
	return 0;
}

static const uint32_t nop[] = { CNNACC_CCP_INSN_NOP };

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
	struct cnnrt_range r[2] = {
		{ .va = CODE_VA, .size = 4, .flags = CNNRT_MAP_EXEC, .in = nop },
		{ .va = 0x1000, .size = 64, .flags = RW },
	};
	struct cnnrt_exec e = exec_of(r, 2);
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };

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
	e.program_size = 0x2004;
	FAILS(CNNRT_EINVAL, "up to 8192", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
	e.program_size = (1ull << 32) + 4;
	FAILS(CNNRT_EINVAL, "up to 8192", cnnrt_exec(dev, &e, &s, NULL, &rt_err));
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
	const uint32_t code[] = {
		LINE_IN_R(1, 0x40), CNNACC_CCP_INSN_LDI(2, 1),
		CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
		LINE_IN_R(3, 0xffffffc0u),
		CNNACC_CCP_INSN_STORE(3, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	};
	uint8_t src[64], dst[64], rest[8], far[4096];
	struct cnnrt_range r[] = {
		{ .va = CODE_VA, .size = sizeof(code), .flags = CNNRT_MAP_EXEC, .in = code },
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
	assert_int_equal(stats.mem_read_bytes, 64 + 64);
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
	const uint32_t fault[] = {
		LINE_IN_R(1, 0x12340000), CNNACC_CCP_INSN_LDI(2, 1),
		CNNACC_CCP_INSN_STORE(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	};
	const uint32_t illegal[] = { CNNACC_CCP_INSN_SWAP, CNNACC_CCP_INSN_SWAP, 0xc0000000 };
	const uint32_t endless[] = { CNNACC_CCP_INSN_LDI(1, 1), CNNACC_CCP_INSN_BNZ(1, 1) };
	const uint32_t config[] = { CNNACC_CCP_INSN_EXEC(CNNACC_CCP_CONV) };
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };

	(void)state;
	run_failing(fault, sizeof(fault), 0, &s);
	assert_int_equal(s.status_class, CNNACC_STATUS_MMU_FAULT);
	assert_int_equal(s.va, 0x12340000);
	assert_int_equal(s.pc, 3);
	assert_int_equal(s.access, CNNACC_ACCESS_WRITE);
	assert_non_null(strstr(s.text, "write of VA 0x12340000"));
	run_failing(illegal, sizeof(illegal), 0, &s);
	assert_string_equal(s.class_name, "BAD_PROGRAM");
	assert_string_equal(s.code_name, "E_ILLEGAL");
	assert_int_equal(s.pc, 2);
	run_failing(config, sizeof(config), 0, &s);
	assert_int_equal(s.status_class, CNNACC_STATUS_CONFIG);
	assert_non_null(strstr(s.text, "kernel size"));
	run_failing(endless, sizeof(endless), 5000, &s);
	assert_int_equal(s.status_class, CNNACC_STATUS_TIME_LIMIT);
	assert_non_null(strstr(s.text, "cycle limit"));
	test_ranges(state);
}

/* The program's own statistics record, and nothing mapped that no range has. */
static void test_own_stats(void **state)
{
	const uint32_t last[] = {
		LINE_IN_R(1, 0xfffff000u), CNNACC_CCP_INSN_LDI(2, 1),
		CNNACC_CCP_INSN_STORE(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	};
	const uint32_t load[] = {
		LINE_IN_R(1, 0x1000), CNNACC_CCP_INSN_LDI(2, 1),
		CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
	};
	struct cnnrt_job_status s = { .struct_size = sizeof(s) };
	struct cnnrt_job_status again = { .struct_size = sizeof(again) };
	struct cnnacc_stats stats;
	struct cnnrt_range r[2] = {
		{ .va = CODE_VA, .size = sizeof(nop), .flags = CNNRT_MAP_EXEC, .in = nop },
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
	OK(cnnrt_status_describe("ccp", &again, &rt_err));
	assert_string_equal(again.code_name, s.code_name);
	assert_non_null(strstr(s.text, again.text));
	run_failing(last, sizeof(last), 0, &s);
	assert_int_equal(s.va, 0xfffff000u);
	/* What may be written may not be read. */
	r[0] = (struct cnnrt_range){
		.va = CODE_VA, .size = sizeof(load), .flags = CNNRT_MAP_EXEC, .in = load,
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
	const uint32_t endless[] = { CNNACC_CCP_INSN_LDI(1, 1), CNNACC_CCP_INSN_BNZ(1, 1) };
	struct cnnrt_range r = {
		.va = CODE_VA, .size = sizeof(endless), .flags = CNNRT_MAP_EXEC, .in = endless,
	};
	struct cnnrt_exec e = exec_of(&r, 1);

	e.timeout_ns = 1000000;
	FAILS(CNNRT_ETIMEDOUT, "still runs", exec_endless(&e));
	test_ranges(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arguments, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_ranges, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_failures, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_own_stats, open_device, close_device),
		cmocka_unit_test_setup_teardown(test_timeout, open_device, close_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
