// SPDX-License-Identifier: MIT
/* Core gcu in the discovery table, its window and its build parameters. */
#include "cnnacc_gcu.h"
#include "model_build.h"

static const struct cnnacc_param_info params[] = CNNACC_GCU_PARAMS;
static const struct cnnacc_window_info regs[] = CNNACC_GCU_REGS;

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("gcu+gcu:atomic-c=32:atomic-k=4:fp-floor=on", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 0);

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_GCU);
	assert_memory_equal(e.name, "gcu\0\0\0\0", sizeof(e.name));
	assert_int_equal(e.version, 0x00010000);
	assert_int_equal(e.program_max, CNNACC_GCU_PROGRAM_DEFAULT);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_ATOMIC], 8 | 8 << 8);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_CBUF], 16 | 512 << 16);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_ROWS], 512);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_RBUF], 4 | 512 << 16);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_BUS], 64);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_FP], 0);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_LIMITS], 121 | 8 << 8 | 63 << 16 | 7 << 24);
	e = entry_of(h, 1);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_ATOMIC], 32 | 4 << 8);
	assert_int_equal(e.param[CNNACC_GCU_PARAM_FP], CNNACC_GCU_FP_FLOOR);
	mh_free(h);
}

static void test_window(void **state)
{
	uint32_t want[CNNACC_GCU_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	mb_add_regs(want, regs, ELEMENTS(regs));
	mb_check_window("gcu", want);
}

/* Every parameter of the build by its name in the header, with a value of its own. */
static void test_params(void **state)
{
	static const struct {
		const char *name, *text;
		uint32_t value;
	} values[] = {
		{ "atomic-c", "16", 16 }, { "atomic-k", "4", 4 }, { "cbuf-banks", "7", 7 },
		{ "fmbuf-rows", "24", 24 }, { "rbuf-banks", "7", 7 }, { "rbuf-depth", "48", 48 },
		{ "bus", "16", 16 }, { "program", "4096", 4096 }, { "fp-floor", "on", 1 },
	};
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(params); i++)
		for (size_t j = 0; j < ELEMENTS(values); j++)
			if (!strcmp(params[i].name, values[j].name)) {
				mb_check_param("gcu", &params[i], values[j].text, values[j].value);
				assert_true(params[i].flags & CNNACC_PARAM_F_BUILD);
				found++;
			}
	assert_int_equal(found, ELEMENTS(values));
}

static void test_refused(void **state)
{
	static const struct { const char *value, *says; } bad[] = {
		{ "gcu:colour=1", "(there are: job-cycles-max, atomic-c, atomic-k, cbuf-banks, "
				  "fmbuf-rows, rbuf-banks, rbuf-depth, bus, program, fp-floor)" },
		{ "gcu:atomic-c=12", "atomic-c: 12 is not a power of two in 4..32" },
		{ "gcu:atomic-k=64", "atomic-k" }, { "gcu:cbuf-banks=3", "cbuf-banks" },
		{ "gcu:fmbuf-rows=12", "multiple of 8" }, { "gcu:rbuf-banks=9", "rbuf-banks" },
		{ "gcu:rbuf-depth=24", "multiple of 16" }, { "gcu:bus=48", "a power of two" },
		{ "gcu:program=384", "multiple of 256" }, { "gcu:fp-floor=1", "fp-floor" },
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

	return cmocka_run_group_tests(tests, NULL, NULL);
}
