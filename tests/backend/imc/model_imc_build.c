// SPDX-License-Identifier: MIT
/* Core imc in the discovery table, its window and its build parameters. */
#include "cnnacc_imc.h"
#include "model_build.h"

static const struct cnnacc_param_info params[] = CNNACC_IMC_PARAMS;
static const struct cnnacc_window_info regs[] = CNNACC_IMC_REGS;
static const struct cnnacc_window_info seq_regs[] = CNNACC_SEQ_REGS;

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("imc+imc:cin-max=1:csus=128:n-max=3:full-reuse=off:fp32=off:"
				      "input=1024:weight=4194304:unit=2048:port=256:program=256",
				      1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 0);

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_IMC);
	assert_memory_equal(e.name, "imc\0\0\0\0", sizeof(e.name));
	assert_int_equal(e.version, 0x00010000);
	assert_int_equal(e.program_max, 65536);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_ARRAY], 0x030b4040);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_INPUT], 256 << 10);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_WEIGHT], 256 << 10);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_UNIT], 512 << 10);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_PORT], 64);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_LIMITS], 0x10001000);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_SEQ_REG_ID), CNNACC_IMC_ID);
	e = entry_of(h, 1);
	assert_int_equal(e.program_max, 256);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_ARRAY], 0x00038001);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_INPUT], 1024);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_WEIGHT], 4 << 20);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_UNIT], 2048);
	assert_int_equal(e.param[CNNACC_IMC_PARAM_PORT], 256);
	mh_free(h);
}

static void test_window(void **state)
{
	uint32_t want[CNNACC_IMC_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	mb_add_regs(want, regs, ELEMENTS(regs));
	mb_add_regs(want, seq_regs, ELEMENTS(seq_regs));
	mb_check_window("imc", want);
}

/* Every parameter of the build by its name in the header, with a value of its own. */
static void test_params(void **state)
{
	static const struct {
		const char *name, *text;
		uint32_t value;
	} values[] = {
		{ "cin-max", "7", 7 }, { "csus", "9", 9 }, { "n-max", "5", 5 },
		{ "full-reuse", "off", 0 }, { "fp32", "off", 0 }, { "input", "4096", 4096 },
		{ "weight", "8192", 8192 }, { "unit", "1088", 1088 }, { "port", "2", 2 },
		{ "program", "512", 512 },
	};
	size_t found = 0, wanted = 0;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(params); i++) {
		wanted += !!(params[i].flags & CNNACC_PARAM_F_BUILD);
		for (size_t j = 0; j < ELEMENTS(values); j++)
			if (!strcmp(params[i].name, values[j].name)) {
				mb_check_param("imc", &params[i], values[j].text, values[j].value);
				found++;
			}
	}
	assert_int_equal(found, ELEMENTS(values));
	assert_int_equal(found, wanted);
}

static void test_refused(void **state)
{
	static const struct { const char *value, *says; } bad[] = {
		{ "imc:colour=1", "(there are: job-cycles-max, cin-max, csus, n-max, full-reuse" },
		{ "imc:cin-max=65", "cin-max" }, { "imc:cin-max=0", "cin-max" },
		{ "imc:csus=129", "csus" }, { "imc:csus=0", "csus" },
		{ "imc:n-max=12", "n-max" }, { "imc:full-reuse=2", "full-reuse" },
		{ "imc:fp32=yes", "fp32" }, { "imc:input=1000", "input" },
		{ "imc:input=1056", "multiple of 64" }, { "imc:weight=4194368", "weight" },
		{ "imc:unit=960", "unit" }, { "imc:port=3", "power of two" },
		{ "imc:port=512", "port" }, { "imc:program=384", "multiple of 256" },
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

	return cmocka_run_group_tests_name("model_imc_build", tests, NULL, NULL);
}
