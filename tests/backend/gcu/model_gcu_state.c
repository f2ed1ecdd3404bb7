// SPDX-License-Identifier: MIT
/* Saving and loading a device with gcu in the middle of each phase, also wrong states. */
#include "cores/gcu/gcu.h"
#include "gcu_fixture.h"
#include "saved_state.h"

#define CORES		"gcu:cbuf-banks=8:fmbuf-rows=32:rbuf-depth=64:program=2048"
#define OUT_BYTES	0x8000u
#define STRIDE		5u	/* steps from a save to the next */

struct fixture {
	struct gcu_fixture *f;
	struct cnnacc_packet packet;
	size_t size;
	char *saved;
};

/* FIFO that reads rows again, swapped weights, accumulators of 16 bits that saturate. */
static struct cnnacc_gcu_layer bytes_layer(void)
{
	struct cnnacc_gcu_layer b = gf_base();

	b.control |= CNNACC_GCU_ACC16 | CNNACC_GCU_OUT_INT32 << CNNACC_GCU_OUT_SHIFT;
	b.channels = PAIR(40, 12);
	b.fmbuf = 6 | 1 << 8 | 5 << 16;
	b.threshold = 4;
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP, 64, 384, 32 };
	return b;
}

/* Tables, accumulators to continue, the linear unit and an activation with its table. */
static struct cnnacc_gcu_layer floats_layer(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = gf_base();

	b.control |= CNNACC_GCU_FP16 << CNNACC_GCU_FORMAT_SHIFT | CNNACC_GCU_PSUM |
		     CNNACC_GCU_LINEAR | CNNACC_GCU_ACT_SIGMOID << CNNACC_GCU_ACT_SHIFT |
		     CNNACC_GCU_OUT_FP16 << CNNACC_GCU_OUT_SHIFT;
	b.channels = PAIR(13, 9);
	b.fmbuf = 6 | 1 << 8 | 32 << 16;
	b.padding = BYTES(1, 0, 1, 0);
	b.ifmap = (struct cnnacc_gcu_map){ IFMAP, 16, 128, 1024 };
	b.psum = (struct cnnacc_gcu_map){ PSUM, 32, 256, 2048 };
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP + 0x2000, 16, 128, 1024 };
	b.linear_va = LINEAR;
	b.lut_va = LUT;
	gf_keep_rows(f, &b);
	return b;
}

static struct cnnacc_gcu_layer words_layer(struct gcu_fixture *f)
{
	struct cnnacc_gcu_layer b = floats_layer(f);

	b.control = CNNACC_GCU_LAYER | CNNACC_GCU_TABLE |
		    CNNACC_GCU_INT16 << CNNACC_GCU_FORMAT_SHIFT |
		    CNNACC_GCU_OUT_INT32 << CNNACC_GCU_OUT_SHIFT;
	memset(&b.psum, 0, sizeof(b.psum));
	b.spacing = BYTES(0, 0, 1, 0);
	b.ofmap = (struct cnnacc_gcu_map){ OFMAP + 0x4000, 32, 256, 2048 };
	b.linear_va = 0;
	b.lut_va = 0;
	return b;
}

static void add_program(struct gcu_fixture *f)
{
	const struct cnnacc_gcu_layer bytes = bytes_layer(), floats = floats_layer(f);
	const struct cnnacc_gcu_layer words = words_layer(f);
	const struct cnnacc_gcu_probe fill = {
		.control = CNNACC_GCU_FILL, .address = 64, .count = 20, .va = IFMAP,
		.fmbuf_banks = 1,
	};
	const struct cnnacc_gcu_probe probe = {
		.control = CNNACC_GCU_PROBE, .port = CNNACC_GCU_PORT_KERNEL, .count = 40,
		.va = OFMAP + 0x7000, .fmbuf_banks = 6,
	};
	const struct cnnacc_gcu_wait wait = { .control = CNNACC_GCU_WAIT, .cycles = 4 };

	gf_add(f, &bytes);
	gf_add(f, &floats);
	gf_add(f, &words);
	gf_add(f, &probe);
	gf_add(f, &fill);
	gf_add(f, &wait);
}

static int setup(void **state)
{
	static struct fixture t;
	uint64_t seed = 5;

	t.f = gf_cores(CORES);
	for (uint32_t i = 0; i < DATA_BYTES; i++)
		t.f->j.data[i] = (uint8_t)mh_random(&seed);
	add_program(t.f);
	t.packet = mh_packet(t.f->j.h, &t.f->j.space, t.f->words,
			     gf_words(t.f));
	t.size = cm_device_state_size(t.f->j.h->dev);
	t.saved = malloc(t.size);
	assert_non_null(t.saved);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	free(t->saved);
	mh_free(t->f->j.h);
	return 0;
}

static int load(struct fixture *t)
{
	char err[CM_ERR_LEN] = "";
	int ret = cm_device_load(t->f->j.h->dev, t->saved, t->size, err);

	assert_true(ret == 0 || (ret == -1 && err[0] && !strchr(err, '\n')));
	return ret;
}

/* A job's results: completion record without times, statistics, registers, output. */
static uint32_t finish(struct fixture *t)
{
	struct model_host *h = t->f->j.h;
	struct cnnacc_completion done;
	uint32_t regs[64];

	mh_work(h, 0);
	assert_true(mh_completion(h, 0, &done));
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	done.start_ns = 0;
	done.end_ns = 0;
	for (uint32_t i = 0; i < 64; i++)
		regs[i] = cj_reg(&t->f->j, 4 * i);
	return mh_crc32(&done, sizeof(done)) ^ mh_crc32(regs, sizeof(regs)) ^
	       mh_crc32(mh_ptr(h, CNNACC_PTE_BUS(*mh_pte(h, &t->f->j.space, MH_STATS_VA))),
			sizeof(struct cnnacc_stats)) ^
	       mh_crc32(gf_at(t->f, OFMAP), OUT_BYTES);
}

static void begin(struct fixture *t)
{
	mh_core_reset(t->f->j.h, 0);
	memset(gf_at(t->f, OFMAP), 0, OUT_BYTES);
	mh_submit(t->f->j.h, 0, &t->packet);
}

/* At many steps of a job: a new device goes on from the saved state to the same end. */
static void test_save_everywhere(void **state)
{
	struct fixture *t = *state;
	uint32_t expected, steps = 0;

	begin(t);
	expected = finish(t);
	for (unsigned int at = 0;; at += STRIDE) {
		bool more = true;

		begin(t);
		for (steps = 0; more && steps < at; steps++)
			more = mh_work_once(t->f->j.h, 0, 1);
		if (!more)
			break;
		cm_device_save(t->f->j.h->dev, t->saved);
		mh_replace_device(t->f->j.h, CORES);
		assert_int_equal(load(t), 0);
		assert_int_equal(finish(t), expected);
	}
	assert_true(steps > 1000);
}

/* Steps of any length, and nothing else, give the same end. */
static void test_budgets(void **state)
{
	struct fixture *t = *state;
	uint64_t seed = 3;
	uint32_t expected;

	begin(t);
	expected = finish(t);
	for (unsigned int i = 0; i < 50; i++) {
		begin(t);
		while (mh_work_once(t->f->j.h, 0, 1 + mh_random(&seed) % 20000))
			;
		assert_int_equal(finish(t), expected);
	}
}

/* In the core's head, mostly in what is not an array. */
static size_t any_place(uint64_t *seed)
{
	size_t at = offsetof(struct gcu_state, program_va);

	switch (mh_random(seed) % 4) {
	case 0:
		return mh_random(seed) % (sizeof(struct gcu_state) / 4) * 4;
	case 1:
		return offsetof(struct gcu_state, pending) + mh_random(seed) % 80 * 4;
	case 2:
		return mh_random(seed) % 24 * 4;
	}
	return at + mh_random(seed) % ((offsetof(struct gcu_state, pending) - at) / 4) * 4;
}

static void mutate(struct fixture *t, uint64_t *seed)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 64, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff,
	};
	uint32_t value = mh_random(seed);

	if (mh_random(seed) % 4)
		value = values[mh_random(seed) % (sizeof(values) / sizeof(values[0]))];
	memcpy(t->saved + SAVED_CORE + any_place(seed), &value, 4);
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	static const unsigned int points[] = { 3, 20, 60, 150, 400, 900, 1300, 1500 };
	struct fixture *t = *state;
	char *good = malloc(t->size);
	unsigned int taken = 0;
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 4000; i++) {
		if (i % 500 == 0) {
			mh_replace_device(t->f->j.h, CORES);
			begin(t);
			for (unsigned int j = 0; j < points[i / 500]; j++)
				mh_work_once(t->f->j.h, 0, 1);
			cm_device_save(t->f->j.h->dev, good);
		}
		memcpy(t->saved, good, t->size);
		for (unsigned int j = 0; j <= i % 3; j++)
			mutate(t, &seed);
		saved_state_sum(t->saved, t->size);
		if (load(t))
			continue;
		taken++;
		for (unsigned int j = 0; j < 60; j++)
			if (!mh_work_once(t->f->j.h, 0, 20000))
				break;
		cm_device_save(t->f->j.h->dev, t->saved);
		assert_int_equal(load(t), 0);
	}
	assert_in_range(taken, 400, 3600);
	free(good);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_save_everywhere), T(test_budgets), T(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
