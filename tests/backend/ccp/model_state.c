// SPDX-License-Identifier: MIT
/* Saving and loading the model's state, also wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_asm.h"
#include "model_host.h"
#include "saved_state.h"

#define CORES		"ccp:data-bank=65536:weight-bank=8192:lob=16+ccp:data-bank=4096:lob=2"
#define DATA_VA		0x00400000u
#define OUT_VA		0x00500000u
#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)

struct fixture {
	struct model_host *h;
	struct mh_space space;
	struct cnnacc_packet packet;
	uint32_t *data, *out;
	size_t size;
	char *saved;
};

/* Loads, convolves in two slices, pools, pads, multiplies and stores. */
static struct masm program(void)
{
	static const uint32_t conv0[8] = {
		3 | 1 << 8 | 3 << 16, 16 | 14 << 16, 6 | 20 << 16, 2 << 16, 0, 16 | 3 << 8,
	};
	static const uint32_t conv1[8] = { 0, 64, 0, 400 };
	static const uint32_t pool[8] = { 2 << 8 | 3 << 16, 14, 20, 64, 0 };
	static const uint32_t pad[8] = { 1, 6, 20, 0, 0 };
	static const uint32_t fc[8] = { 3, 100, 40, 0, 8000, 0, 4200 };
	struct masm a = { .n = 0 };
	uint32_t g[8];

	ma_dma(&a, 0, DATA_VA, 96, 0, CNNACC_CCP_TGT_READ_BANK);
	for (unsigned int b = 0; b < 4; b++)
		ma_dma(&a, 0, DATA_VA + b * 64, 100, 0, CNNACC_CCP_TGT_WEIGHT0 + b);
	ma_cfg(&a, CNNACC_CCP_CONV, 1, conv1);
	for (unsigned int col = 0; col < 14; col += 8) {
		memcpy(g, conv0, sizeof(g));
		g[4] = col << 16;
		ma_cfg(&a, CNNACC_CCP_CONV, 0, g);
		ma_exec(&a, CNNACC_CCP_CONV);
		g[3] = 3 | 5 << 16;
		ma_cfg(&a, CNNACC_CCP_CONV, 0, g);
		ma_exec(&a, CNNACC_CCP_CONV);
	}
	ma_swap(&a);
	ma_cfg(&a, CNNACC_CCP_POOL, 0, pool);
	ma_exec(&a, CNNACC_CCP_POOL);
	ma_swap(&a);
	ma_cfg(&a, CNNACC_CCP_PAD, 0, pad);
	ma_exec(&a, CNNACC_CCP_PAD);
	ma_cfg(&a, CNNACC_CCP_FC, 0, fc);
	ma_exec(&a, CNNACC_CCP_FC);
	ma_dma(&a, 1, OUT_VA, 1024, 0, CNNACC_CCP_TGT_WRITE_BANK);
	ma_end(&a);
	return a;
}

static int setup(void **state)
{
	static struct fixture f;
	struct masm a = program();
	uint64_t seed = 5;

	f.h = mh_new(CORES, 2 << 20);
	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.data = mh_map_new(f.h, &f.space, DATA_VA, 2 * PAGE, RW);
	f.out = mh_map_new(f.h, &f.space, OUT_VA, 16 * PAGE, RW);
	for (unsigned int i = 0; i < 2 * PAGE / 4; i++) {
		float x = (float)(int32_t)mh_random(&seed) * 0x1p-30f;

		memcpy(&f.data[i], &x, sizeof(x));
	}
	mh_queue_init(f.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	f.packet = mh_packet(f.h, &f.space, a.word, a.n);
	f.size = cm_device_state_size(f.h->dev);
	f.saved = malloc(f.size);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->saved);
	mh_free(f->h);
	return 0;
}

static int load(struct fixture *f)
{
	char err[CM_ERR_LEN] = "";
	int ret = cm_device_load(f->h->dev, f->saved, f->size, err);

	assert_true(ret == 0 || (ret == -1 && err[0] && !strchr(err, '\n')));
	return ret;
}

/* A job's results: completion record without times, statistics, output. */
static uint32_t finish(struct fixture *f)
{
	struct cnnacc_completion done;

	mh_work(f->h, 0);
	assert_true(mh_completion(f->h, 0, &done));
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	done.start_ns = 0;
	done.end_ns = 0;
	return mh_crc32(&done, sizeof(done)) ^
	       mh_crc32(mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, MH_STATS_VA))),
			sizeof(struct cnnacc_stats)) ^
	       mh_crc32(f->out, 16 * PAGE);
}

/* At every step of a job: a new device goes on from the saved state to the same end. */
static void test_save_everywhere(void **state)
{
	struct fixture *f = *state;
	uint32_t expected, steps = 0;

	mh_submit(f->h, 0, &f->packet);
	expected = finish(f);
	for (unsigned int at = 0;; at++) {
		bool more = true;

		mh_core_reset(f->h, 0);
		memset(f->out, 0, 16 * PAGE);
		mh_submit(f->h, 0, &f->packet);
		for (steps = 0; more && steps < at; steps++)
			more = mh_work_once(f->h, 0, 1);
		if (!more)
			break;
		cm_device_save(f->h->dev, f->saved);
		mh_replace_device(f->h, CORES);
		assert_int_equal(load(f), 0);
		assert_int_equal(finish(f), expected);
	}
	assert_true(steps > 100);
}

static void test_save_is_repeatable(void **state)
{
	struct fixture *f = *state;
	char *again = malloc(f->size);

	mh_submit(f->h, 0, &f->packet);
	for (unsigned int i = 0; i < 80; i++)
		mh_work_once(f->h, 0, 1);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0x303);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, 1);
	cm_device_save(f->h->dev, f->saved);
	mh_replace_device(f->h, CORES);
	assert_int_equal(load(f), 0);
	assert_true(f->h->wires);
	cm_device_save(f->h->dev, again);
	assert_memory_equal(again, f->saved, f->size);
	cm_device_wake_workers(f->h->dev);
	assert_true(f->h->kicks[0] > 0);
	assert_int_equal(f->h->kicks[1], 0);
	free(again);
}

static void test_other_build(void **state)
{
	struct fixture *f = *state;

	cm_device_save(f->h->dev, f->saved);
	mh_replace_device(f->h, "ccp:data-bank=65536:weight-bank=8192:lob=16+"
				"ccp:data-bank=8192:lob=2:weight-bank=63488");
	assert_int_equal(load(f), -1);
	mh_replace_device(f->h, "ccp:data-bank=65536:weight-bank=8192:lob=16+"
				"ccp:data-bank=4096:lob=2:job-cycles-max=5");
	assert_int_equal(cm_device_state_size(f->h->dev), f->size);
	assert_int_equal(load(f), -1);
	mh_replace_device(f->h, CORES ":split-banks=off");
	assert_int_equal(cm_device_state_size(f->h->dev), f->size);
	assert_int_equal(load(f), -1);
	mh_replace_device(f->h, CORES ":split-banks=on");
	assert_int_equal(load(f), 0);
	mh_replace_device(f->h, CORES);
	assert_int_equal(load(f), 0);
}

static void test_lengths(void **state)
{
	struct fixture *f = *state;
	char err[CM_ERR_LEN];

	cm_device_save(f->h->dev, f->saved);
	assert_int_equal(cm_device_load(f->h->dev, f->saved, f->size - 1, err), -1);
	assert_int_equal(cm_device_load(f->h->dev, f->saved, f->size + 1, err), -1);
	assert_int_equal(cm_device_load(f->h->dev, f->saved, 0, err), -1);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_CTRL), 0);
}

/* Any changed byte is noticed. */
static void test_damage(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 9;

	mh_submit(f->h, 0, &f->packet);
	for (unsigned int i = 0; i < 50; i++)
		mh_work_once(f->h, 0, 1);
	cm_device_save(f->h->dev, f->saved);
	for (unsigned int i = 0; i < 2000; i++) {
		size_t at = i < 700 ? i : mh_random(&seed) % f->size;

		f->saved[at] ^= 1 << i % 8;
		assert_int_equal(load(f), -1);
		f->saved[at] ^= 1 << i % 8;
	}
	assert_int_equal(load(f), 0);
}

static void mutate(struct fixture *f, uint64_t *seed, size_t head)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 64, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff,
	};
	uint32_t value, at = mh_random(seed) % (uint32_t)(head / 4) * 4;

	if (mh_random(seed) & 1)
		value = values[mh_random(seed) % (sizeof(values) / sizeof(values[0]))];
	else
		value = mh_random(seed);
	memcpy(f->saved + SAVED_SUMMED + at, &value, 4);
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	struct fixture *f = *state;
	/* Registers, queue, job and the head of core 0's state; then the memories. */
	size_t head = 8 + CNNACC_MAX_CORES * CNNACC_CORE_ENTRY_SIZE + 48 + 248 + 296 + 800;
	unsigned int taken = 0, points[] = { 0, 3, 12, 40, 75, 110, 150, 200 };
	char *good = malloc(f->size);
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 4000; i++) {
		if (i % 500 == 0) {
			mh_replace_device(f->h, CORES);
			mh_core_reset(f->h, 0);
			mh_submit(f->h, 0, &f->packet);
			for (unsigned int j = 0; j < points[i / 500]; j++)
				mh_work_once(f->h, 0, 1);
			cm_device_save(f->h->dev, good);
		}
		memcpy(f->saved, good, f->size);
		for (unsigned int j = 0; j <= i % 3; j++)
			mutate(f, &seed, head);
		saved_state_sum(f->saved, f->size);
		if (load(f))
			continue;
		taken++;
		for (unsigned int j = 0; j < 60; j++)
			if (!mh_work_once(f->h, 0, 20000))
				break;
		mh_work_once(f->h, 1, 20000);
		cm_device_save(f->h->dev, f->saved);
		assert_int_equal(load(f), 0);
	}
	assert_in_range(taken, 400, 3600);
	free(good);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_save_everywhere), T(test_save_is_repeatable), T(test_other_build),
		T(test_lengths), T(test_damage), T(test_forged),
	};

	return cmocka_run_group_tests_name("model_state", tests, NULL, NULL);
}
