// SPDX-License-Identifier: MIT
/* Registers, discovery, interrupts and build parameters of the model. */
#include <stdio.h>

#include "cnnacc_hwpe.h"
#include "model_fixture.h"

static void test_reset_values(void **state)
{
	struct model_host *h = mh_new("ccp+hwpe+ccp", 1 << 20);

	(void)state;
	check_reset_values(h, true);
	assert_int_equal(mh_read(h, CNNACC_REG_CORE_COUNT), 3);
	assert_int_equal(mh_read(h, CNNACC_REG_CLOCK_HZ), 100000000);
	assert_int_equal(mh_read(h, CNNACC_REG_FEATURES), CNNACC_FEATURE_COHERENT);
	mh_free(h);
}

static void test_written_then_reset(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);

	p.cycle_limit = 100;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	for (uint32_t offset = 0; offset < CNNACC_REGS_SIZE; offset += 4)
		if (offset != CNNACC_REG_RESET)
			mh_write(f->h, offset, 0x1fff);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_ERROR);
	mh_write(f->h, CNNACC_REG_RESET, 2);
	assert_int_not_equal(mh_read(f->h, CNNACC_REG_SCRATCH), 0);
	mh_write(f->h, CNNACC_REG_RESET, 1);
	check_reset_values(f->h, true);
	assert_false(f->h->level);
}

static void test_table_flags(void **state)
{
	struct fixture *f = *state;

	mh_write(f->h, CNNACC_REG_RESET, 1);
	for (size_t i = 0; i < ELEMENTS(queue_regs); i++) {
		uint32_t old = qreg(f, queue_regs[i].offset);

		if (queue_regs[i].flags & CNNACC_REG_F_ACTION)
			continue;
		mh_qwrite(f->h, 0, queue_regs[i].offset, 0xa5a5a5a5);
		assert_int_equal(qreg(f, queue_regs[i].offset),
				 queue_regs[i].flags & CNNACC_REG_F_WRITE ? 0xa5a5a5a5 : old);
	}
	for (size_t i = 0; i < ELEMENTS(global_regs); i++) {
		if (global_regs[i].flags & (CNNACC_REG_F_ACTION | CNNACC_REG_F_WRITE |
					    CNNACC_REG_F_LIVE | CNNACC_REG_F_BUILD))
			continue;
		mh_write(f->h, global_regs[i].offset, 0xa5a5a5a5);
		assert_int_equal(mh_read(f->h, global_regs[i].offset), global_regs[i].reset);
	}
	mh_write(f->h, CNNACC_REG_SCRATCH, 0xa5a5a5a5);
	assert_int_equal(mh_read(f->h, CNNACC_REG_SCRATCH), 0xa5a5a5a5);
}

static struct cnnacc_core_entry entry_of(struct model_host *h, unsigned int index)
{
	struct cnnacc_core_entry entry;
	uint32_t word[CNNACC_CORE_ENTRY_SIZE / 4];

	for (unsigned int i = 0; i < ELEMENTS(word); i++)
		word[i] = mh_read(h, mh_read(h, CNNACC_REG_CORE_TABLE) + index * sizeof(entry) +
				  i * 4);
	memcpy(&entry, word, sizeof(entry));
	return entry;
}

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("ccp+ccp:data-bank=8192:weight-bank=0x1000:icache=512:"
				      "lob=3:job-cycles-max=0x123456789+hwpe+"
				      "hwpe:fmap=4096:kernel=8192:program=256", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 1), none = { 0 };

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_CCP);
	assert_memory_equal(e.name, "ccp\0\0\0\0", sizeof(e.name));
	for (size_t i = 0; i < ELEMENTS(e.reserved); i++)
		assert_int_equal(e.reserved[i], 0);
	assert_int_equal(e.program_max, 512);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_DATA_BANK], 8192);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_WEIGHT_BANK], 4096);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_LOB], 3);
	assert_int_equal(e.job_cycles_max_lo, 0x23456789);
	assert_int_equal(e.job_cycles_max_hi, 1);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_CCP_REG_ID), CNNACC_CCP_ID);
	assert_true(e.window_offset + e.window_size <= CNNACC_REGS_SIZE);
	e = entry_of(h, 0);
	assert_int_equal(e.program_max, CNNACC_CCP_ICACHE_DEFAULT);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_DATA_BANK], CNNACC_CCP_DATA_BANK_DEFAULT);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_GEOMETRY], 16 | 8 << 8 | 4 << 16);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_LIMITS], 11 | 8 << 8 | 15 << 16);
	e = entry_of(h, 2);
	assert_int_equal(e.type, CNNACC_CORE_HWPE);
	assert_memory_equal(e.name, "hwpe\0\0\0", sizeof(e.name));
	assert_int_equal(e.version, 0x00010000);
	assert_int_equal(e.program_max, CNNACC_HWPE_PROGRAM_DEFAULT);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_FMAP], CNNACC_HWPE_FMAP_DEFAULT);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_KERNEL], CNNACC_HWPE_KERNEL_DEFAULT);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_GEOMETRY], 16 | 8 << 8 | 64 << 16);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_LIMITS], 11 | 24 << 8);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_SEQ_REG_ID), CNNACC_HWPE_ID);
	e = entry_of(h, 3);
	assert_int_equal(e.program_max, 256);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_FMAP], 4096);
	assert_int_equal(e.param[CNNACC_HWPE_PARAM_KERNEL], 8192);
	assert_true(e.window_offset + e.window_size <= CNNACC_REGS_SIZE);
	for (unsigned int i = 4; i < 9; i++) {
		e = entry_of(h, i);
		assert_memory_equal(&e, &none, sizeof(e));
	}
	mh_free(h);
}

/* ------------------------------------------- what the headers say of the cores */

static const struct cnnacc_param_info ccp_params[] = CNNACC_CCP_PARAMS;
static const struct cnnacc_param_info hwpe_params[] = CNNACC_HWPE_PARAMS;
static const struct cnnacc_window_info ccp_regs[] = CNNACC_CCP_REGS;
static const struct cnnacc_window_info hwpe_regs[] = CNNACC_HWPE_REGS;
static const struct cnnacc_window_info seq_regs[] = CNNACC_SEQ_REGS;

static void set_window(uint32_t *want, const struct cnnacc_window_info *regs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < regs[i].count; n++) {
			/* No register is listed twice. */
			assert_int_equal(want[regs[i].offset / 4 + n], 0);
			want[regs[i].offset / 4 + n] = regs[i].reset;
		}
}

static void check_window(struct model_host *h, unsigned int core, const uint32_t *want)
{
	struct cnnacc_core_entry e = entry_of(h, core);

	for (uint32_t at = 0; at < e.window_size; at += 4)
		assert_int_equal(mh_read(h, e.window_offset + at), want[at / 4]);
}

static void test_windows(void **state)
{
	struct model_host *h = mh_new("ccp+hwpe", 1 << 20);
	uint32_t want[CNNACC_CCP_WINDOW_SIZE / 4] = { 0 };

	(void)state;
	set_window(want, ccp_regs, ELEMENTS(ccp_regs));
	check_window(h, 0, want);
	memset(want, 0, sizeof(want));
	set_window(want, hwpe_regs, ELEMENTS(hwpe_regs));
	set_window(want, seq_regs, ELEMENTS(seq_regs));
	check_window(h, 1, want);
	mh_free(h);
}

/* Every parameter of the build by its name in the header, one after the other. */
static void check_params(const char *name, const struct cnnacc_param_info *params, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct cnnacc_core_entry e;
		struct model_host *h;
		char cores[64];
		uint32_t value;

		if (!(params[i].flags & CNNACC_PARAM_F_BUILD))
			continue;
		value = params[i].flags & CNNACC_PARAM_F_BYTES ? 4096 : 7;
		snprintf(cores, sizeof(cores), "%s:%s=%u", name, params[i].name, value);
		h = mh_new(cores, 1 << 20);
		e = entry_of(h, 0);
		assert_int_equal(params[i].index == CNNACC_PARAM_PROGRAM_MAX ? e.program_max :
				 e.param[params[i].index], value);
		mh_free(h);
	}
}

static void test_params(void **state)
{
	(void)state;
	check_params("ccp", ccp_params, ELEMENTS(ccp_params));
	check_params("hwpe", hwpe_params, ELEMENTS(hwpe_params));
}

static void test_odd_accesses(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mh_read(f->h, 1), 0);
	assert_int_equal(mh_read(f->h, 0x100), 0);
	assert_int_equal(mh_read(f->h, 0xfffffffc), 0);
	assert_int_equal(mh_read(f->h, CNNACC_REGS_SIZE), 0);
	mh_write(f->h, CNNACC_REG_SCRATCH + 2, 5);
	assert_int_equal(mh_read(f->h, CNNACC_REG_SCRATCH), 0);
	mh_write(f->h, 0xfffffffc, 5);
	mh_write(f->h, 0xffffffff, 5);
}

static void test_time_latch(void **state)
{
	struct fixture *f = *state;
	uint32_t lo;

	f->h->now = 0x1ffff0000ull - 10;
	lo = mh_read(f->h, CNNACC_REG_TIME_LO);
	assert_int_equal(lo, 0xffff0000);
	f->h->now += 0x100000000ull;
	assert_int_equal(mh_read(f->h, CNNACC_REG_TIME_HI), 1);
	mh_read(f->h, CNNACC_REG_ERR_ADDR_LO);
	assert_int_equal(mh_read(f->h, CNNACC_REG_TIME_HI), 2);
}

/* ----------------------------------------------------------- interrupts */

static void test_irq_status(void **state)
{
	struct fixture *f = *state;
	uint32_t all = 0x303 | CNNACC_IRQ_ERROR;

	mh_write(f->h, CNNACC_REG_IRQ_RAISE, 0xffffffff);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), all);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0x0000ffff);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_ENABLE), 0x303);
	assert_true(f->h->level);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, 0x301);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), 2 | CNNACC_IRQ_ERROR);
	assert_true(f->h->level);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, 2);
	assert_false(f->h->level);
}

static void expect_messages(struct fixture *f, unsigned int v0, unsigned int v1, unsigned int v2)
{
	assert_int_equal(f->h->messages[0], v0);
	assert_int_equal(f->h->messages[1], v1);
	assert_int_equal(f->h->messages[2], v2);
}

static void test_irq_messages(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(cm_device_vectors(f->h->dev), 3);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 0, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0xffffffff);
	expect_messages(f, 1, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 1, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_EVENT(0));
	expect_messages(f, 2, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(1));
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_ERROR);
	expect_messages(f, 2, 1, 1);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, CNNACC_IRQ_CORE(0));
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 3, 1, 1);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0);
	assert_false(f->h->level);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, CNNACC_IRQ_CORE(1));
	expect_messages(f, 3, 2, 1);
}

/* --------------------------------------------------------------- config */

static void test_config(void **state)
{
	static const struct { const char *key, *value, *says; } bad[] = {
		{ "cores", "", "no core type" },
		{ "cores", "ccp+", "no core type" },
		{ "cores", "npu", "'npu'" },
		{ "cores", "npu", "(there are: ccp, hwpe)" },
		{ "cores", "ccp:lob", "PARAM=N" },
		{ "cores", "ccp:lob=", "lob" },
		{ "cores", "ccp:lob=-1", "lob" },
		{ "cores", "ccp:lob=0", "1..1024" },
		{ "cores", "ccp:lob=1025", "1..1024" },
		{ "cores", "ccp:lob=12x", "12x" },
		{ "cores", "ccp:data-bank=4097", "multiple of 64" },
		{ "cores", "ccp:data-bank=99999999999999999999999", "data-bank" },
		{ "cores", "ccp:icache=8256", "icache" },
		{ "cores", "ccp:job-cycles-max=9223372036854775808", "job-cycles-max" },
		{ "cores", "ccp:colour=1", "'colour'" },
		{ "cores", "hwpe:colour=1", "(there are: job-cycles-max, fmap, kernel, program)" },
		{ "cores", "hwpe:fmap=1048640", "fmap" },
		{ "cores", "hwpe:kernel=4160", "multiple of 128" },
		{ "cores", "hwpe:program=192", "program" },
		{ "cores", "hwpe:lob=1", "core hwpe" },
		{ "cores", "ccp:averyveryverylongparametername=1", "too long" },
		{ "cores", "ccp+ccp+ccp+ccp+ccp+ccp+ccp+ccp+ccp", "more than 8" },
		{ "clock-hz", "0", "clock-hz" },
		{ "clock-hz", "4294967296", "clock-hz" },
		{ "threads", "0", "threads" },
		{ "threads", "65", "1..64" },
		{ "simd", "avx3", "'avx3'" },
		{ "clock", "1", "'clock'" },
	};
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		err[0] = 0;
		assert_int_equal(cm_config_set(&config, bad[i].key, bad[i].value, err), -1);
		assert_non_null(strstr(err, bad[i].says));
		assert_int_equal(config.core_count, 0);
	}
	assert_int_equal(cm_config_set(&config, "cores", "ccp+ccp:lob=7:icache=0x100", err), 0);
	assert_int_equal(cm_config_set(&config, "clock-hz", "200000000", err), 0);
	assert_int_equal(cm_config_set(&config, "threads", "64", err), 0);
	assert_int_equal(cm_config_set(&config, "simd", "baseline", err), 0);
	assert_int_equal(config.threads, 64);
	assert_int_equal(config.simd, CM_SIMD_BASELINE);
	assert_int_equal(config.core_count, 2);
	assert_string_equal(config.core[1].name, "ccp");
	assert_int_equal(config.core[1].param[2], 256);
	assert_int_equal(config.core[1].param[3], 7);
	assert_int_equal(config.clock_hz, 200000000);
}

static void test_config_struct(void **state)
{
	struct cm_config config = { .core_count = 9 };
	struct cm_host_ops none = { 0 };
	char err[CM_ERR_LEN];

	(void)state;
	assert_null(cm_device_create(&config, &none, NULL, err));
	config.core_count = 1;
	assert_null(cm_device_create(&config, &none, NULL, err));
	strcpy(config.core[0].name, "ccp");
	config.core[0].param[0] = 100;
	assert_null(cm_device_create(&config, &none, NULL, err));
	assert_non_null(strstr(err, "data-bank"));
	config.core[0].param[0] = 0;
	config.core[0].job_cycles_max = ~0ull;
	assert_null(cm_device_create(&config, &none, NULL, err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reset_values),
		T(test_written_then_reset),
		T(test_table_flags),
		cmocka_unit_test(test_discovery),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_params),
		T(test_odd_accesses),
		T(test_time_latch),
		TWO(test_irq_status),
		TWO(test_irq_messages),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_config_struct),
	};

	return cmocka_run_group_tests_name("model_registers", tests, NULL, NULL);
}
