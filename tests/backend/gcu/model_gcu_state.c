// SPDX-License-Identifier: MIT
/* Saving and loading a device with gcu in the middle of each phase, also wrong states. */
#include "cores/gcu/gcu.h"
#include "gcu_fixture.h"
#include "saved_state.h"

#define CORES		"gcu:cbuf-banks=8:fmbuf-rows=32:rbuf-depth=64:program=2048"
#define OUT_BYTES	0x8000u

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
	struct gcu_fixture *f = gf_cores(CORES);
	static struct saved_job j;
	uint64_t seed = 5;

	for (uint32_t i = 0; i < DATA_BYTES; i++)
		f->j.data[i] = (uint8_t)mh_random(&seed);
	add_program(f);
	j = (struct saved_job){
		.f = f->j, .cores = CORES, .packet = cj_packet(&f->j, f->words, gf_words(f)),
		.out = gf_at(f, OFMAP), .out_bytes = OUT_BYTES, .regs = 64, .stride = 5,
		.steps = 1000,
	};
	sj_start(&j);
	*state = &j;
	return 0;
}

/* In the core's head, mostly in what is not an array. */
static size_t any_place(uint64_t *seed)
{
	size_t at = offsetof(struct gcu_state, program_va);
	size_t words = (offsetof(struct gcu_state, pending) - at) / 4;

	switch (mh_random(seed) % 4) {
	case 0:
		return SAVED_CORE + mh_random(seed) % (sizeof(struct gcu_state) / 4) * 4;
	case 1:
		return SAVED_CORE + offsetof(struct gcu_state, pending) +
		       mh_random(seed) % 80 * 4;
	case 2:
		return SAVED_CORE + mh_random(seed) % 24 * 4;
	}
	return SAVED_CORE + at + mh_random(seed) % words * 4;
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	static const unsigned int points[] = { 3, 20, 60, 150, 400, 900, 1300, 1500 };
	struct saved_job *j = *state;

	assert_in_range(sj_forge_after(j, points, ELEMENTS(points), any_place), 400, 3600);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, sj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_save_everywhere), T(test_budgets), T(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
