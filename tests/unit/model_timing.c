// SPDX-License-Identifier: MIT
/* timing=modelled: a job's effects become visible at the modelled time, not before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model_asm.h"
#include "model_host.h"

#define CLOCK_HZ	30000000u	/* a cycle is not a whole number of ns */
#define IN_VA		0x00400000u
#define OUT_VA		0x00500000u
#define LINES		8
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
/* LOAD and its four registers, STORE and its, NOP; the DMA engine is never idle. */
#define WORDS		11
#define BOOT_END	(16 + 1)
#define LOAD_END	(BOOT_END + 4 + 1 + 16 + LINES)
#define STORE_END	(LOAD_END + 16 + LINES)

struct fixture {
	struct model_host *h;
	struct mh_space space;
	uint32_t *in, *out;
};

static int setup(void **state)
{
	static struct fixture f;
	const struct cm_config config = { .clock_hz = CLOCK_HZ, .modelled = true };

	f.h = mh_new_config(&config, 2 << 20);
	f.h->clock_stands = true;
	f.h->now = 1000;
	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.in = mh_map_new(f.h, &f.space, IN_VA, CNNACC_PAGE_SIZE, RW);
	f.out = mh_map_new(f.h, &f.space, OUT_VA, CNNACC_PAGE_SIZE, RW);
	mh_queue_init(f.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	mh_free(((struct fixture *)*state)->h);
	return 0;
}

/* When @cycle of a job that began at 1000 is over. */
static uint64_t time_of(uint64_t cycle)
{
	return 1000 + (cycle * 1000000000 + CLOCK_HZ - 1) / CLOCK_HZ;
}

static struct masm copy(void)
{
	struct masm a = { .n = 0 };

	ma_dma(&a, 0, IN_VA, LINES, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 1, OUT_VA, LINES, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_end(&a);
	assert_int_equal(a.n, WORDS);
	return a;
}

static struct masm endless(void)
{
	struct masm a = { .n = 0 };

	ma_li(&a, 7, 1);
	ma_emit(&a, CNNACC_CCP_INSN_BNZ(7, 1));
	return a;
}

static void submit(struct fixture *f, struct masm a)
{
	struct cnnacc_packet packet = mh_packet(f->h, &f->space, a.word, a.n);

	mh_submit(f->h, 0, &packet);
}

/* Works up to where the device waits; that must be for @cycle. */
static void expect_wait(struct fixture *f, uint64_t cycle)
{
	struct cnnacc_completion record;

	mh_work(f->h, 0);
	assert_int_equal(cm_device_wake_time(f->h->dev, 0), time_of(cycle));
	f->h->now = time_of(cycle) - 1;
	assert_false(mh_work_once(f->h, 0, MH_BUDGET_NS));
	assert_false(mh_completion(f->h, 0, &record));
	f->h->now = time_of(cycle);
}

static void expect_end(struct fixture *f, uint16_t status_class, uint64_t cycles)
{
	struct cnnacc_completion record;

	mh_work(f->h, 0);
	assert_int_equal(cm_device_wake_time(f->h->dev, 0), 0);
	assert_true(mh_completion(f->h, 0, &record));
	assert_int_equal(record.status_class, status_class);
	assert_int_equal(record.cycles, cycles);
	assert_int_equal(record.start_ns, 1000);
	assert_int_equal(record.end_ns, f->h->now);
}

static void test_every_access_has_its_time(void **state)
{
	struct fixture *f = *state;

	submit(f, copy());
	f->in[0] = 1;
	expect_wait(f, BOOT_END);
	expect_wait(f, LOAD_END);
	f->in[0] = 2;
	expect_wait(f, STORE_END);
	f->in[0] = 3;
	assert_int_equal(f->out[0], 0);
	expect_end(f, CNNACC_STATUS_OK, STORE_END);
	assert_int_equal(f->out[0], 2);
}

/* A time that has passed causes no wait. */
static void test_late_worker(void **state)
{
	struct fixture *f = *state;

	submit(f, copy());
	mh_work(f->h, 0);
	f->h->now = 1000000;
	expect_end(f, CNNACC_STATUS_OK, STORE_END);
}

static void test_next_packet_starts_at_the_end(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_completion first, second;

	submit(f, copy());
	submit(f, copy());
	mh_work(f->h, 0);
	while (cm_device_wake_time(f->h->dev, 0)) {
		f->h->now = cm_device_wake_time(f->h->dev, 0);
		mh_work(f->h, 0);
	}
	assert_true(mh_completion(f->h, 0, &first));
	assert_true(mh_completion(f->h, 0, &second));
	assert_int_equal(first.end_ns, time_of(STORE_END));
	assert_int_equal(second.start_ns, first.end_ns);
	assert_int_equal(second.end_ns - second.start_ns, first.end_ns - first.start_ns);
}

/* Commands without memory access run ahead of time, up to a limit. */
static void test_ahead(void **state)
{
	struct fixture *f = *state;
	uint64_t wake;

	submit(f, endless());
	expect_wait(f, BOOT_END);
	for (int i = 0; i < 10; i++) {
		mh_work(f->h, 0);
		wake = cm_device_wake_time(f->h->dev, 0);
		assert_true(wake > f->h->now && wake < f->h->now + 100);
		f->h->now += 1000000;
	}
}

static void test_abort(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_completion record;

	submit(f, copy());
	expect_wait(f, BOOT_END);
	mh_work(f->h, 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	mh_work(f->h, 0);
	f->h->now = cm_device_wake_time(f->h->dev, 0);
	assert_true(f->h->now && f->h->now < time_of(LOAD_END));
	mh_work(f->h, 0);
	assert_true(mh_completion(f->h, 0, &record));
	assert_int_equal(record.status_class, CNNACC_STATUS_ABORTED);
	assert_int_equal(f->out[0], 0);
}

static void test_reset(void **state)
{
	struct fixture *f = *state;

	submit(f, copy());
	expect_wait(f, BOOT_END);
	mh_work(f->h, 0);
	mh_core_reset(f->h, 0);
	assert_int_equal(cm_device_wake_time(f->h->dev, 0), 0);
	assert_false(mh_work_once(f->h, 0, MH_BUDGET_NS));
}

static void test_save(void **state)
{
	struct fixture *f = *state;
	static char saved[8 << 20];
	char err[CM_ERR_LEN];
	size_t size = cm_device_state_size(f->h->dev);

	assert_true(size <= sizeof(saved));
	submit(f, copy());
	f->in[0] = 4;
	expect_wait(f, BOOT_END);
	expect_wait(f, LOAD_END);
	mh_work(f->h, 0);
	cm_device_save(f->h->dev, saved);
	cm_device_reset(f->h->dev);
	assert_int_equal(cm_device_load(f->h->dev, saved, size, err), 0);
	expect_wait(f, STORE_END);
	expect_end(f, CNNACC_STATUS_OK, STORE_END);
	assert_int_equal(f->out[0], 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_access_has_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_next_packet_starts_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abort, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_save, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
