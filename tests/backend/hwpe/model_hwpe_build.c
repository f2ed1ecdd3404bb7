// SPDX-License-Identifier: MIT
/* Core hwpe in the discovery table, its window and its build parameters. */
#include "cnnacc_hwpe.h"
#include "model_build.h"

static const struct cnnacc_param_info params[] = CNNACC_HWPE_PARAMS;
static const struct cnnacc_window_info regs[] = CNNACC_HWPE_REGS;
static const struct cnnacc_window_info seq_regs[] = CNNACC_SEQ_REGS;

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("hwpe+hwpe:fmap=4096:kernel=8192:program=256", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 0);

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_HWPE);
	assert_memory_equal(e.name, "hwpe\0\0\0", sizeof(e.name));
	assert_int_equal(e.version, 0x00010000);
	assert_int_equal(e.program_max, CNNACC_HWPE_PROGRAM_DEFAULT);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_FMAP], CNNACC_HWPE_FMAP_DEFAULT);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_KERNEL], CNNACC_HWPE_KERNEL_DEFAULT);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_GEOMETRY], 16 | 8 << 8 | 64 << 16);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_LIMITS], 11 | 24 << 8);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_SEQ_REG_ID), CNNACC_HWPE_ID);
	e = entry_of(h, 1);
	assert_int_equal(e.program_max, 256);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_FMAP], 4096);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_KERNEL], 8192);
	mh_free(h);
}

static void test_window(void **state)
{
	uint32_t want[CNNACC_HWPE_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	mb_add_regs(want, regs, ELEMENTS(regs));
	mb_add_regs(want, seq_regs, ELEMENTS(seq_regs));
	mb_check_window("hwpe", want);
}

static void test_params(void **state)
{
	(void)state;
	mb_check_params("hwpe", params, ELEMENTS(params));
}

static void test_refused(void **state)
{
	static const struct { const char *value, *says; } bad[] = {
		{ "hwpe:colour=1", "(there are: job-cycles-max, fmap, kernel, program)" },
		{ "hwpe:fmap=1048640", "fmap" },
		{ "hwpe:kernel=4160", "multiple of 128" },
		{ "hwpe:program=192", "program" },
		{ "hwpe:lob=1", "core hwpe" },
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		mb_check_refused("cores", bad[i].value, bad[i].says);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discovery), cmocka_unit_test(test_window),
		cmocka_unit_test(test_params),	  cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("model_hwpe_build", tests, NULL, NULL);
}
