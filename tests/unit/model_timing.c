// SPDX-License-Identifier: MIT
/* timing=modelled: a job's effects become visible at the modelled time, not before. */
#include <stdlib.h>
#include <string.h>

#include "model_host.h"
#include "on_cores.h"

#define CLOCK_HZ	30000000u	/* a cycle is not a whole number of ns */
#define IN_VA		0x00400000u
#define OUT_VA		0x00500000u
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)

/* When the copy of the core accesses memory. */
static const struct core_times *times;

struct fixture {
	struct model_host *h;
	struct mh_space space;
	uint32_t *in, *out;
};

static int setup(void **state)
{
	static struct fixture f;
	struct cm_config config = { .clock_hz = CLOCK_HZ, .modelled = true };
	char err[CM_ERR_LEN];

	times = &programs->copy_times;
	assert_int_equal(cm_config_set(&config, "cores", programs->name, err), 0);
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

static void submit(struct fixture *f, const uint32_t *code, uint32_t bytes)
{
	struct cnnacc_packet packet = mh_packet(f->h, &f->space, code, bytes / 4);

	mh_submit(f->h, 0, &packet);
}

static void submit_copy(struct fixture *f)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];

	submit(f, code, programs->copy(code, IN_VA, OUT_VA, CORE_TIMED_LINES));
}

static void submit_endless(struct fixture *f)
{
	uint32_t code[CORE_PROGRAM_MAX / 4];

	submit(f, code, programs->endless(code));
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

static void check_record(struct fixture *f)
{
	struct cnnacc_completion record;

	mh_work(f->h, 0);
	assert_int_equal(cm_device_wake_time(f->h->dev, 0), 0);
	assert_true(mh_completion(f->h, 0, &record));
	assert_int_equal(record.status_class, CNNACC_STATUS_OK);
	assert_int_equal(record.cycles, times->done);
	assert_int_equal(record.start_ns, 1000);
	assert_int_equal(record.end_ns, f->h->now);
}

/* Now that the copy has stored. */
static void expect_end(struct fixture *f)
{
	if (times->done > times->stored)
		expect_wait(f, times->done);
	check_record(f);
}

static void test_every_access_has_its_time(void **state)
{
	struct fixture *f = *state;

	submit_copy(f);
	f->in[0] = 1;
	expect_wait(f, times->fetched);
	expect_wait(f, times->loaded);
	f->in[0] = 2;
	expect_wait(f, times->stored);
	f->in[0] = 3;
	assert_int_equal(f->out[0], 0);
	expect_end(f);
	assert_int_equal(f->out[0], 2);
}

/* A time that has passed causes no wait. */
static void test_late_worker(void **state)
{
	struct fixture *f = *state;

	submit_copy(f);
	mh_work(f->h, 0);
	f->h->now = 1000000;
	check_record(f);
}

static void test_next_packet_starts_at_the_end(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_completion first, second;

	submit_copy(f);
	submit_copy(f);
	mh_work(f->h, 0);
	while (cm_device_wake_time(f->h->dev, 0)) {
		f->h->now = cm_device_wake_time(f->h->dev, 0);
		mh_work(f->h, 0);
	}
	assert_true(mh_completion(f->h, 0, &first));
	assert_true(mh_completion(f->h, 0, &second));
	assert_int_equal(first.end_ns, time_of(times->done));
	assert_int_equal(second.start_ns, first.end_ns);
	assert_int_equal(second.end_ns - second.start_ns, first.end_ns - first.start_ns);
}

/* Commands without memory access run ahead of time, up to a limit. */
static void test_ahead(void **state)
{
	struct fixture *f = *state;
	uint64_t wake;

	submit_endless(f);
	expect_wait(f, times->fetched);
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

	submit_copy(f);
	expect_wait(f, times->fetched);
	mh_work(f->h, 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	mh_work(f->h, 0);
	/* The core may be ahead of time, but not by an access to memory. */
	if (cm_device_wake_time(f->h->dev, 0))
		f->h->now = cm_device_wake_time(f->h->dev, 0);
	assert_true(f->h->now < time_of(times->loaded));
	mh_work(f->h, 0);
	assert_true(mh_completion(f->h, 0, &record));
	assert_int_equal(record.status_class, CNNACC_STATUS_ABORTED);
	assert_int_equal(record.end_ns, time_of(record.cycles));
	assert_int_equal(record.end_ns, f->h->now);
	assert_int_equal(f->out[0], 0);
}

static void test_reset(void **state)
{
	struct fixture *f = *state;

	submit_copy(f);
	expect_wait(f, times->fetched);
	mh_work(f->h, 0);
	mh_core_reset(f->h, 0);
	assert_int_equal(cm_device_wake_time(f->h->dev, 0), 0);
	assert_false(mh_work_once(f->h, 0, MH_BUDGET_NS));
}

static void test_save(void **state)
{
	struct fixture *f = *state;
	char err[CM_ERR_LEN];
	size_t size = cm_device_state_size(f->h->dev);
	char *saved = malloc(size);

	assert_non_null(saved);
	submit_copy(f);
	f->in[0] = 4;
	expect_wait(f, times->fetched);
	expect_wait(f, times->loaded);
	mh_work(f->h, 0);
	cm_device_save(f->h->dev, saved);
	cm_device_reset(f->h->dev);
	assert_int_equal(cm_device_load(f->h->dev, saved, size, err), 0);
	free(saved);
	expect_wait(f, times->stored);
	expect_end(f);
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

	return RUN_ON_CORES("model_timing", tests);
}
