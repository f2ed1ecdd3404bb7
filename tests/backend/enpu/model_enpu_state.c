// SPDX-License-Identifier: MIT
/* Saving and loading a device with enpu in the middle of a layer, also wrong states. */
#include "cores/enpu/enpu.h"
#include "core_programs.h"
#include "model_fixture.h"
#include "saved_state.h"

#define CORES		"enpu:itcm=128:dtcm=4096:skip=4096:weight=4096:program=1024"
#define ITCM		128	/* bytes, as in CORES; the side table has 4 times as many */
#define DATA		0x00400000u
#define OUT		(DATA + 4096)
#define STATES		4000u

struct machine {
	struct model_host *h;
	struct mh_space space;
	uint8_t *data;
	struct cnnacc_packet packet;
	size_t size;
	char *saved;
};

/* A convolution 3 x 3 in four tiles. */
static int start_machine(void **state)
{
	const struct core_programs *p = core_programs("enpu");
	uint32_t code[CORE_PROGRAM_LONG / 4];
	static struct machine t;
	uint64_t seed = 5;

	t.h = mh_new(CORES, 1 << 20);
	t.space = mh_space_new(t.h, 7);
	mh_map_job(t.h, &t.space);
	t.data = mh_map_new(t.h, &t.space, DATA, 8192, CNNACC_PTE_READ | CNNACC_PTE_WRITE);
	for (uint32_t i = 0; i < 4096; i++)
		t.data[i] = (uint8_t)mh_random(&seed);
	mh_queue_init(t.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	t.packet = mh_packet(t.h, &t.space, code, p->compute(code, DATA, OUT) / 4);
	t.size = cm_device_state_size(t.h->dev);
	t.saved = malloc(t.size);
	assert_non_null(t.saved);
	*state = &t;
	return 0;
}

static int stop_machine(void **state)
{
	struct machine *t = *state;

	free(t->saved);
	mh_free(t->h);
	return 0;
}

static int load(struct machine *t)
{
	char err[CM_ERR_LEN] = "";
	int ret = cm_device_load(t->h->dev, t->saved, t->size, err);

	assert_true(ret == 0 || (ret == -1 && err[0] && !strchr(err, '\n')));
	return ret;
}

static void begin(struct machine *t)
{
	mh_core_reset(t->h, 0);
	memset(t->data + 4096, 0, 4096);
	mh_submit(t->h, 0, &t->packet);
}

/* Saves the state in which tile @tile of four is next, with others of the job done. */
static void save_at(struct machine *t, unsigned int tile)
{
	const struct enpu_state *s;

	begin(t);
	do {
		assert_true(mh_work_once(t->h, 0, 1));
		cm_device_save(t->h->dev, t->saved);
		s = (const void *)(t->saved + SAVED_CORE);
	} while (!s->pending || s->oy / 4 * 2 + s->ox / 4 < tile);
	assert_int_equal(s->running, 1);
	assert_int_equal(s->end, 1);
}

/* The job's record without times, statistics, registers, output. */
static uint32_t finish(struct machine *t)
{
	struct cnnacc_core_entry e = entry_of(t->h, 0);
	struct cnnacc_completion done;
	uint32_t regs[96];

	mh_work(t->h, 0);
	assert_true(mh_completion(t->h, 0, &done));
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	done.start_ns = 0;
	done.end_ns = 0;
	for (uint32_t i = 0; i < 96; i++)
		regs[i] = mh_read(t->h, e.window_offset + 4 * i);
	return mh_crc32(&done, sizeof(done)) ^ mh_crc32(regs, sizeof(regs)) ^
	       mh_crc32(mh_ptr(t->h, CNNACC_PTE_BUS(*mh_pte(t->h, &t->space, MH_STATS_VA))),
			sizeof(struct cnnacc_stats)) ^
	       mh_crc32(t->data + 4096, 4096);
}

/* At every step of a job: a new device goes on from the saved state to the same end. */
static void test_save_everywhere(void **state)
{
	struct machine *t = *state;
	uint32_t expected, steps, tiles = 0;
	bool more = true;

	begin(t);
	expected = finish(t);
	for (unsigned int at = 1; more; at++) {
		const struct enpu_state *s;

		begin(t);
		for (steps = 0; more && steps < at; steps++)
			more = mh_work_once(t->h, 0, 1);
		if (!more)
			break;
		cm_device_save(t->h->dev, t->saved);
		s = (const void *)(t->saved + SAVED_CORE);
		tiles += s->pending && (s->oy || s->ox);
		mh_replace_device(t->h, CORES);
		assert_int_equal(load(t), 0);
		assert_int_equal(finish(t), expected);
	}
	assert_true(tiles >= 3);
}

static void *core_state(struct machine *t)
{
	return t->saved + SAVED_CORE;
}

/* ITCM and side table are the first memories. */
static uint8_t *itcm(struct machine *t)
{
	return (uint8_t *)core_state(t) + cm_core_align(sizeof(struct enpu_state));
}

/* Positions that no program of this device reaches. */
static void test_positions(void **state)
{
	static const struct { size_t at; uint32_t value; } wrong[] = {
		{ offsetof(struct enpu_state, running), 0 },
		{ offsetof(struct enpu_state, running), 2 },
		{ offsetof(struct enpu_state, start), 1 },
		{ offsetof(struct enpu_state, start), 8 },
		{ offsetof(struct enpu_state, end), 0 },
		{ offsetof(struct enpu_state, end), 2 },
		{ offsetof(struct enpu_state, end), 0xffffffff },
		{ offsetof(struct enpu_state, banks), 0 },
		{ offsetof(struct enpu_state, banks), 0x3ff },
		{ offsetof(struct enpu_state, pending), 2 },
		{ offsetof(struct enpu_state, layer), 1 },
		{ offsetof(struct enpu_state, layer), 0xfffffff0 },
		{ offsetof(struct enpu_state, oy), 2 },
		{ offsetof(struct enpu_state, oy), 8 },
		{ offsetof(struct enpu_state, ox), 1 },
		{ offsetof(struct enpu_state, ox), 0xfffffffc },
		{ offsetof(struct enpu_state, reserved), 1 },
	};
	struct machine *t = *state;

	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		save_at(t, 1);
		memcpy((char *)core_state(t) + wrong[i].at, &wrong[i].value, 4);
		saved_state_sum(t->saved, t->size);
		assert_int_equal(load(t), -1);
		mh_replace_device(t->h, CORES);
		mh_queue_init(t->h, 0, MH_RING_SIZE, MH_RING_SIZE);
	}
}

/* A program that would not have passed: its opcode, its tile, its STOP, its map A. */
static void test_programs(void **state)
{
	static const struct { size_t at; uint8_t value; } wrong[] = {
		{ 0, 0x03 }, { 4, 0 }, { 16, 0 }, { ITCM + 10, 1 }, { ITCM + 40, 32 },
	};
	struct machine *t = *state;

	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		save_at(t, 2);
		itcm(t)[wrong[i].at] = wrong[i].value;
		saved_state_sum(t->saved, t->size);
		assert_int_equal(load(t), -1);
		mh_replace_device(t->h, CORES);
		mh_queue_init(t->h, 0, MH_RING_SIZE, MH_RING_SIZE);
	}
}

static void mutate(struct machine *t, uint64_t *seed)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 64, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff,
	};
	size_t at = mh_random(seed) % (sizeof(struct enpu_state) / 4) * 4;
	uint32_t value = mh_random(seed);

	if (mh_random(seed) % 4)
		value = values[mh_random(seed) % ELEMENTS(values)];
	if (mh_random(seed) % 2)
		at = sizeof(struct cm_seq_state) + mh_random(seed) % 12 * 4;
	else if (mh_random(seed) % 2)
		at = cm_core_align(sizeof(struct enpu_state)) +
		     mh_random(seed) % (5 * ITCM / 4) * 4;
	memcpy((char *)core_state(t) + at, &value, 4);
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	struct machine *t = *state;
	char *good = malloc(t->size);
	unsigned int taken = 0;
	uint64_t seed = 1;

	for (unsigned int i = 0; i < STATES; i++) {
		if (i % 1000 == 0) {
			mh_replace_device(t->h, CORES);
			mh_queue_init(t->h, 0, MH_RING_SIZE, MH_RING_SIZE);
			save_at(t, i / 1000);
			memcpy(good, t->saved, t->size);
		}
		memcpy(t->saved, good, t->size);
		for (unsigned int j = 0; j <= i % 3; j++)
			mutate(t, &seed);
		saved_state_sum(t->saved, t->size);
		if (load(t))
			continue;
		taken++;
		for (unsigned int j = 0; j < 60 && mh_work_once(t->h, 0, 20000); j++)
			;
		cm_device_save(t->h->dev, t->saved);
		assert_int_equal(load(t), 0);
	}
	assert_in_range(taken, STATES / 20, STATES - STATES / 10);
	free(good);
}

#define STATE_TEST(name)	cmocka_unit_test_setup_teardown(name, start_machine, stop_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STATE_TEST(test_save_everywhere), STATE_TEST(test_positions),
		STATE_TEST(test_programs), STATE_TEST(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
