// SPDX-License-Identifier: MIT
/* Core ccp in the discovery table, its window and its build parameters. */
#include "cnnacc_ccp.h"
#include "model_build.h"

static const struct cnnacc_param_info params[] = CNNACC_CCP_PARAMS;
static const struct cnnacc_window_info regs[] = CNNACC_CCP_REGS;

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("ccp+ccp:data-bank=8192:weight-bank=0x1000:icache=512:lob=3:"
				      "split-banks=off", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 1);

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_CCP);
	assert_memory_equal(e.name, "ccp\0\0\0\0", sizeof(e.name));
	assert_int_equal(e.program_max, 512);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_DATA_BANK], 8192);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_WEIGHT_BANK], 4096);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_LOB], 3);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_BANKS], 0);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_CCP_REG_ID), CNNACC_CCP_ID);
	e = entry_of(h, 0);
	assert_int_equal(e.program_max, CNNACC_CCP_ICACHE_DEFAULT);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_DATA_BANK], CNNACC_CCP_DATA_BANK_DEFAULT);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_GEOMETRY], 16 | 8 << 8 | 4 << 16);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_LIMITS], 11 | 8 << 8 | 15 << 16);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_BANKS], CNNACC_CCP_BANKS_SPLIT);
	mh_free(h);
}

static void test_window(void **state)
{
	uint32_t want[CNNACC_CCP_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	mb_add_regs(want, regs, ELEMENTS(regs));
	mb_check_window("ccp", want);
}

static void test_params(void **state)
{
	(void)state;
	mb_check_params("ccp", params, ELEMENTS(params));
}

static void test_refused(void **state)
{
	static const struct { const char *value, *says; } bad[] = {
		{ "ccp:lob", "PARAM=N" },
		{ "ccp:lob=", "lob" },
		{ "ccp:lob=-1", "lob" },
		{ "ccp:lob=0", "1..1024" },
		{ "ccp:lob=1025", "1..1024" },
		{ "ccp:lob=12x", "12x" },
		{ "ccp:data-bank=4097", "multiple of 64" },
		{ "ccp:data-bank=99999999999999999999999", "data-bank" },
		{ "ccp:icache=8256", "icache" },
		{ "ccp:split-banks=maybe", "split-banks: 'maybe' is neither on nor off" },
		{ "ccp:split-banks=1", "'1'" },
		{ "ccp:split-banks=offside", "'offside'" },
		{ "ccp:split-banks=", "split-banks" },
		{ "ccp:split-banks", "PARAM=" },
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		mb_check_refused("cores", bad[i].value, bad[i].says);
}

static void test_config(void **state)
{
	struct cm_host_ops none = { 0 };
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN];

	(void)state;
	assert_int_equal(cm_config_set(&config, "cores", "ccp+ccp:lob=7:icache=0x100", err), 0);
	assert_int_equal(config.core_count, 2);
	assert_string_equal(config.core[1].name, "ccp");
	assert_int_equal(config.core[1].param[2], 256);
	assert_int_equal(config.core[1].param[3], 7);
	config.core[0].param[0] = 100;
	assert_null(cm_device_create(&config, &none, NULL, err));
	assert_non_null(strstr(err, "data-bank"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discovery), cmocka_unit_test(test_window),
		cmocka_unit_test(test_params),	  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_config),
	};

	return cmocka_run_group_tests_name("model_ccp_build", tests, NULL, NULL);
}
