// SPDX-License-Identifier: MIT
/* Saving and loading a device with enpu in the middle of a layer, also wrong states. */
#include "cores/enpu/enpu.h"
#include "core_programs.h"
#include "saved_state.h"

#define CORES		"enpu:itcm=128:dtcm=4096:skip=4096:weight=4096:program=1024"
#define ITCM		128	/* bytes, as in CORES; the side table has 4 times as many */
#define DATA		0x00400000u
#define DATA_BYTES	8192u
#define OUT_BYTES	4096u	/* behind the maps */

/* A convolution 3 x 3 in four tiles. */
static int setup(void **state)
{
	const struct core_programs *p = core_programs("enpu");
	const struct cm_config config = { 0 };
	uint32_t code[CORE_PROGRAM_LONG / 4], bytes;
	static struct saved_job j;
	uint64_t seed = 5;

	j = (struct saved_job){
		.cores = CORES, .out_bytes = OUT_BYTES, .regs = 96, .stride = 1, .steps = 3,
	};
	cj_start(&j.f, CORES, &config, (struct cj_range){ DATA, DATA_BYTES });
	j.out = j.f.data + DATA_BYTES - OUT_BYTES;
	for (uint8_t *at = j.f.data; at < j.out; at++)
		*at = (uint8_t)mh_random(&seed);
	bytes = p->compute(code, DATA, DATA + DATA_BYTES - OUT_BYTES);
	j.packet = cj_packet(&j.f, code, bytes / 4);
	sj_start(&j);
	*state = &j;
	return 0;
}

static void *core_state(struct saved_job *j)
{
	return j->state + SAVED_CORE;
}

/* Saves the state in which tile @tile of four is next, with others of the job done. */
static void save_at(struct saved_job *j, unsigned int tile)
{
	const struct enpu_state *s = core_state(j);

	sj_run(j, 0);
	do {
		assert_true(mh_work_once(j->f.h, 0, 1));
		sj_save(j);
	} while (!s->pending || s->oy / 4 * 2 + s->ox / 4 < tile);
	assert_int_equal(s->running, 1);
	assert_int_equal(s->end, 1);
}

/* Each tile is a step of its own, so that test_save_everywhere() has them all. */
static void test_tiles(void **state)
{
	struct saved_job *j = *state;
	const struct enpu_state *s = core_state(j);

	for (unsigned int tile = 0; tile < 4; tile++) {
		save_at(j, tile);
		assert_int_equal(s->oy / 4 * 2 + s->ox / 4, tile);
	}
}

/* ITCM and side table are the first memories. */
static uint8_t *itcm(struct saved_job *j)
{
	return (uint8_t *)core_state(j) + cm_core_align(sizeof(struct enpu_state));
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
	struct saved_job *j = *state;

	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		save_at(j, 1);
		memcpy((char *)core_state(j) + wrong[i].at, &wrong[i].value, 4);
		sj_refused(j, "");
	}
}

/* A program that would not have passed: its opcode, its tile, its STOP, its map A. */
static void test_programs(void **state)
{
	static const struct { size_t at; uint8_t value; } wrong[] = {
		{ 0, 0x03 }, { 4, 0 }, { 16, 0 }, { ITCM + 10, 1 }, { ITCM + 40, 32 },
	};
	struct saved_job *j = *state;

	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		save_at(j, 2);
		itcm(j)[wrong[i].at] = wrong[i].value;
		sj_refused(j, "");
	}
}

/* Half of them in what follows the sequencer's state, a quarter in ITCM and side table. */
static size_t any_place(uint64_t *seed)
{
	if (mh_random(seed) % 2)
		return SAVED_CORE + sizeof(struct cm_seq_state) + mh_random(seed) % 12 * 4;
	if (mh_random(seed) % 2)
		return SAVED_CORE + cm_core_align(sizeof(struct enpu_state)) +
		       mh_random(seed) % (5 * ITCM / 4) * 4;
	return SAVED_CORE + mh_random(seed) % (sizeof(struct enpu_state) / 4) * 4;
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	struct saved_job *j = *state;
	unsigned int taken = 0;
	uint64_t seed = 1;

	for (unsigned int tile = 0; tile < 4; tile++) {
		save_at(j, tile);
		taken += sj_forge(j, 1000, any_place, &seed);
	}
	assert_in_range(taken, 200, 3600);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, sj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_save_everywhere), T(test_budgets), T(test_tiles), T(test_positions),
		T(test_programs), T(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
