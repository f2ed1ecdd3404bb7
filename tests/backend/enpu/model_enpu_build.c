// SPDX-License-Identifier: MIT
/* Core enpu in the discovery table, its window and its build parameters. */
#include "cnnacc_enpu.h"
#include "model_build.h"

static const struct cnnacc_param_info params[] = CNNACC_ENPU_PARAMS;
static const struct cnnacc_window_info regs[] = CNNACC_ENPU_REGS;
static const struct cnnacc_window_info seq_regs[] = CNNACC_SEQ_REGS;

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("enpu+enpu:itcm=64:dtcm=1024:skip=2048:weight=1048576:"
				      "psum-bits=24:prefetch=off:program=256", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 0);

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_ENPU);
	assert_memory_equal(e.name, "enpu\0\0\0", sizeof(e.name));
	assert_int_equal(e.version, 0x00010000);
	assert_int_equal(e.program_max, CNNACC_ENPU_PROGRAM_DEFAULT);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_ITCM], 4096);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_WORK], 65536);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_SKIP], 65536);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_WEIGHT], 65536);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_PE], 16 | 32 << 8 | 1 << 16);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_LIMITS], 64 | 16 << 8 | 64 << 16 | 31 << 24);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_SEQ_REG_ID), CNNACC_ENPU_ID);
	e = entry_of(h, 1);
	assert_int_equal(e.program_max, 256);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_ITCM], 64);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_WORK], 1024);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_SKIP], 2048);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_WEIGHT], 1048576);
	assert_int_equal(e.param[CNNACC_ENPU_PARAM_PE], 16 | 24 << 8);
	mh_free(h);
}

static void test_window(void **state)
{
	uint32_t want[CNNACC_ENPU_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	mb_add_regs(want, regs, ELEMENTS(regs));
	mb_add_regs(want, seq_regs, ELEMENTS(seq_regs));
	mb_check_window("enpu", want);
}

/* All that have sizes, or are switches; psum-bits has only two values. */
static void test_params(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(params); i++)
		if (strcmp(params[i].name, "psum-bits"))
			mb_check_params("enpu", &params[i], 1);
}

static void test_refused(void **state)
{
	static const struct { const char *value, *says; } bad[] = {
		{ "enpu:colour=1", "(there are: job-cycles-max, itcm, dtcm, skip, weight, "
		  "psum-bits, prefetch, program)" },
		{ "enpu:itcm=16448", "itcm" },
		{ "enpu:dtcm=1048640", "dtcm" },
		{ "enpu:skip=1000", "skip" },
		{ "enpu:weight=4100", "multiple of 64" },
		{ "enpu:psum-bits=28", "psum-bits" },
		{ "enpu:prefetch=2", "prefetch" },
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

	return cmocka_run_group_tests_name("model_enpu_build", tests, NULL, NULL);
}
