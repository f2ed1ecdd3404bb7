// SPDX-License-Identifier: MIT
/* Registers, discovery, interrupts and build parameters of the model. */
#include "model_build.h"

/* Every core, then the one of the tests again with other parameters; returns their number. */
static unsigned int write_all_cores(char *text, size_t size)
{
	const struct core_programs *p;
	unsigned int count = 0;
	size_t n = 0;

	for (; (p = core_programs_at(count)); count++)
		n += (size_t)snprintf(text + n, size - n, "%s+", p->name);
	assert_true(n < size);
	n += (size_t)snprintf(text + n, size - n, "%s:job-cycles-max=0x123456789",
			      programs->small);
	assert_true(n < size);
	return count + 1;
}

static void test_reset_values(void **state)
{
	char cores[256];
	unsigned int count = write_all_cores(cores, sizeof(cores));
	struct model_host *h = mh_new(cores, 1 << 20);

	(void)state;
	check_reset_values(h, true);
	assert_int_equal(mh_read(h, CNNACC_REG_CORE_COUNT), count);
	assert_int_equal(mh_read(h, CNNACC_REG_CLOCK_HZ), 100000000);
	assert_int_equal(mh_read(h, CNNACC_REG_FEATURES), CNNACC_FEATURE_COHERENT);
	mh_free(h);
}

static void test_written_then_reset(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);

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
	assert_false(f->h->wires);
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

static void test_discovery(void **state)
{
	char cores[256];
	unsigned int count = write_all_cores(cores, sizeof(cores));
	struct model_host *h = mh_new(cores, 1 << 20);
	struct cnnacc_core_entry e, none = { 0 };

	(void)state;
	for (unsigned int i = 0; i < count; i++) {
		const struct core_programs *p = i < count - 1 ? core_programs_at(i) : programs;
		char name[sizeof(e.name) + 1] = "";

		e = entry_of(h, i);
		snprintf(name, sizeof(name), "%s", p->name);
		assert_memory_equal(e.name, name, sizeof(e.name));
		for (size_t j = 0; j < ELEMENTS(e.reserved); j++)
			assert_int_equal(e.reserved[j], 0);
		assert_true(e.type > 0 && e.version > 0 && e.program_max > 0);
		assert_true(e.window_size > 0);
		assert_true(e.window_offset + e.window_size <= CNNACC_REGS_SIZE);
	}
	assert_int_equal(e.job_cycles_max_lo, 0x23456789);
	assert_int_equal(e.job_cycles_max_hi, 1);
	for (unsigned int i = count; i < 9; i++) {
		e = entry_of(h, i);
		assert_memory_equal(&e, &none, sizeof(e));
	}
	mh_free(h);
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
	assert_true(f->h->wires);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, 0x301);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), 2 | CNNACC_IRQ_ERROR);
	assert_true(f->h->wires);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, 2);
	assert_false(f->h->wires);
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
	assert_int_equal(f->h->wires, 7);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, CNNACC_IRQ_CORE(0));
	assert_int_equal(f->h->wires, 7); /* of the event */
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 3, 1, 1);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0);
	assert_false(f->h->wires);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, CNNACC_IRQ_CORE(1));
	expect_messages(f, 3, 2, 1);
	assert_int_equal(f->h->wires, 2);
}

static void test_refused_messages(void **state)
{
	struct fixture *f = *state;

	cm_device_message_refused(f->h->dev);
	cm_device_message_refused(f->h->dev);
	assert_int_equal(mh_read(f->h, CNNACC_REG_MSG_REFUSED), 2);
	mh_write(f->h, CNNACC_REG_RESET, 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_MSG_REFUSED), 0);
}

/* --------------------------------------------------------------- config */

/* A property cores: @first, then the name of the core, then @last. */
static void check_refused_core(const char *first, const char *last, const char *says)
{
	char cores[128];

	snprintf(cores, sizeof(cores), "%s%s%s", first, programs->name, last);
	mb_check_refused("cores", cores, says);
}

static void test_refused(void **state)
{
	static const struct { const char *key, *value, *says; } bad[] = {
		{ "cores", "", "no core type" },
		{ "cores", "npu", "'npu'" },
		{ "cores", "npu", "(there are: " },
		{ "clock-hz", "0", "clock-hz" },
		{ "clock-hz", "4294967296", "clock-hz" },
		{ "threads", "0", "threads" },
		{ "threads", "65", "1..64" },
		{ "simd", "avx3", "'avx3'" },
		{ "clock", "1", "'clock'" },
	};
	char nine[128] = "";

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		mb_check_refused(bad[i].key, bad[i].value, bad[i].says);
	mb_check_refused("cores", "npu", programs->name);
	check_refused_core("", "+", "no core type");
	check_refused_core("", ":job-cycles-max", "PARAM=N");
	check_refused_core("", ":job-cycles-max=", "job-cycles-max");
	check_refused_core("", ":job-cycles-max=9223372036854775808", "job-cycles-max");
	check_refused_core("", ":colour=1", "'colour'");
	check_refused_core("", ":averyveryverylongparametername=1", "too long");
	for (unsigned int i = 0; i < 8; i++) {
		strcat(nine, programs->name);
		strcat(nine, "+");
	}
	check_refused_core(nine, "", "more than 8");
}

static void test_config(void **state)
{
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN], cores[128];

	(void)state;
	snprintf(cores, sizeof(cores), "%s+%s:job-cycles-max=0x100", programs->name,
		 programs->name);
	assert_int_equal(cm_config_set(&config, "cores", cores, err), 0);
	assert_int_equal(cm_config_set(&config, "clock-hz", "200000000", err), 0);
	assert_int_equal(cm_config_set(&config, "threads", "64", err), 0);
	assert_int_equal(cm_config_set(&config, "simd", "baseline", err), 0);
	assert_int_equal(config.threads, 64);
	assert_int_equal(config.simd, CM_SIMD_BASELINE);
	assert_int_equal(config.core_count, 2);
	assert_string_equal(config.core[1].name, programs->name);
	assert_int_equal(config.core[1].job_cycles_max, 256);
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
	snprintf(config.core[0].name, sizeof(config.core[0].name), "%s", programs->name);
	config.core[0].param[0] = UINT32_MAX;
	assert_null(cm_device_create(&config, &none, NULL, err));
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
		T(test_odd_accesses),
		T(test_time_latch),
		TWO(test_irq_status),
		TWO(test_irq_messages),
		TWO(test_refused_messages),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_config_struct),
	};

	return RUN_ON_CORES("model_registers", tests);
}
