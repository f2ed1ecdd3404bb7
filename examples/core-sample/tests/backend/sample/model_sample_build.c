// SPDX-License-Identifier: MIT
/* Core sample in the discovery table, its window and its build parameters. */
#include "cnnacc_sample.h"
#include "model_build.h"

static const struct cnnacc_param_info params[] = CNNACC_SAMPLE_PARAMS;
static const struct cnnacc_window_info regs[] = CNNACC_SAMPLE_REGS;
static const struct cnnacc_window_info seq_regs[] = CNNACC_SEQ_REGS;

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("sample:bank=8192:program=256", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 0);

	(void)state;
	assert_int_equal(e.type, CNNACC_SAMPLE_TYPE);
	assert_string_equal(e.name, "sample");
	assert_int_equal(e.version, 0x00010000);
	assert_int_equal(e.program_max, 256);
	assert_int_equal(e.param[CNNACC_SAMPLE_PARAM_BANK], 8192);
	assert_int_equal(e.param[CNNACC_SAMPLE_PARAM_LANES], 16);
	mh_free(h);
}

static void test_window(void **state)
{
	uint32_t want[CNNACC_SAMPLE_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	mb_add_regs(want, regs, ELEMENTS(regs));
	mb_add_regs(want, seq_regs, ELEMENTS(seq_regs));
	mb_check_window("sample", want);
}

static void test_params(void **state)
{
	(void)state;
	mb_check_params("sample", params, ELEMENTS(params));
}

static void test_refused(void **state)
{
	(void)state;
	mb_check_refused("cores", "sample:bank=4097", "bank: 4097 is not a multiple of 128");
	mb_check_refused("cores", "sample:colour=1", "(there are: job-cycles-max, bank, program)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discovery), cmocka_unit_test(test_window),
		cmocka_unit_test(test_params),	  cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("model_sample_build", tests, NULL, NULL);
}
