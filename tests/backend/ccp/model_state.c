// SPDX-License-Identifier: MIT
/* Saving and loading the model's state, also wrong ones. */
#include "model_asm.h"
#include "saved_state.h"

#define CORES		"ccp:data-bank=65536:weight-bank=8192:lob=16+ccp:data-bank=4096:lob=2"
#define DATA_VA		0x00400000u
#define IN_BYTES	(2 * PAGE)
#define OUT_BYTES	(16 * PAGE)
#define OUT_VA		(DATA_VA + IN_BYTES)

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
	const struct cm_config config = { 0 };
	static struct saved_job j;
	struct masm a = program();
	uint64_t seed = 5;

	j = (struct saved_job){
		.cores = CORES, .out_bytes = OUT_BYTES, .regs = CNNACC_CCP_WINDOW_SIZE / 4,
		.stride = 1, .steps = 100,
	};
	cj_start(&j.f, CORES, &config, (struct cj_range){ DATA_VA, IN_BYTES + OUT_BYTES });
	j.out = j.f.data + IN_BYTES;
	for (unsigned int i = 0; i < IN_BYTES; i += 4) {
		float x = (float)(int32_t)mh_random(&seed) * 0x1p-30f;

		memcpy(j.f.data + i, &x, sizeof(x));
	}
	j.packet = cj_packet(&j.f, a.word, a.n);
	sj_start(&j);
	*state = &j;
	return 0;
}

static void test_save_is_repeatable(void **state)
{
	struct saved_job *j = *state;
	char *first = malloc(j->state_bytes);
	struct model_host *h = j->f.h;

	sj_run(j, 80);
	mh_write(h, CNNACC_REG_IRQ_ENABLE, 0x303);
	mh_write(h, CNNACC_REG_IRQ_RAISE, 1);
	sj_move(j);
	assert_true(h->wires);
	memcpy(first, j->state, j->state_bytes);
	sj_save(j);
	assert_memory_equal(j->state, first, j->state_bytes);
	cm_device_wake_workers(h->dev);
	assert_true(h->kicks[0] > 0);
	assert_int_equal(h->kicks[1], 0);
	free(first);
}

/* Loads the state into a new device of another build, of the same size if it is @sized. */
static int load_into(struct saved_job *j, const char *cores, bool sized)
{
	mh_replace_device(j->f.h, cores);
	if (sized)
		assert_int_equal(cm_device_state_size(j->f.h->dev), j->state_bytes);
	return sj_load(j);
}

static void test_other_build(void **state)
{
	struct saved_job *j = *state;

	sj_save(j);
	assert_int_equal(load_into(j, "ccp:data-bank=65536:weight-bank=8192:lob=16+"
				      "ccp:data-bank=8192:lob=2:weight-bank=63488", false), -1);
	assert_int_equal(load_into(j, "ccp:data-bank=65536:weight-bank=8192:lob=16+"
				      "ccp:data-bank=4096:lob=2:job-cycles-max=5", true), -1);
	assert_int_equal(load_into(j, CORES ":split-banks=off", true), -1);
	assert_int_equal(load_into(j, CORES ":split-banks=on", true), 0);
	assert_int_equal(load_into(j, CORES, true), 0);
}

static void test_lengths(void **state)
{
	struct saved_job *j = *state;
	struct cm_device *dev = j->f.h->dev;
	char err[CM_ERR_LEN];

	sj_save(j);
	assert_int_equal(cm_device_load(dev, j->state, j->state_bytes - 1, err), -1);
	assert_int_equal(cm_device_load(dev, j->state, j->state_bytes + 1, err), -1);
	assert_int_equal(cm_device_load(dev, j->state, 0, err), -1);
	assert_int_equal(mh_qread(j->f.h, 0, CNNACC_QREG_CTRL), 0);
}

/* Any changed byte is noticed. */
static void test_damage(void **state)
{
	struct saved_job *j = *state;
	uint64_t seed = 9;

	sj_save_after(j, 50);
	for (unsigned int i = 0; i < 2000; i++) {
		size_t at = i < 700 ? i : mh_random(&seed) % j->state_bytes;

		j->state[at] ^= 1 << i % 8;
		assert_int_equal(sj_load(j), -1);
		j->state[at] ^= 1 << i % 8;
	}
	assert_int_equal(sj_load(j), 0);
}

/* Registers, queue, job and the head of core 0's state. */
static size_t any_place(uint64_t *seed)
{
	return SAVED_SUMMED + mh_random(seed) % ((SAVED_CORE - SAVED_SUMMED + 800) / 4) * 4;
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	static const unsigned int points[] = { 0, 3, 12, 40, 75, 110, 150, 200 };
	struct saved_job *j = *state;

	assert_in_range(sj_forge_after(j, points, ELEMENTS(points), any_place), 400, 3600);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, sj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_save_everywhere), T(test_budgets), T(test_save_is_repeatable),
		T(test_other_build), T(test_lengths), T(test_damage), T(test_forged),
	};

	return cmocka_run_group_tests_name("model_state", tests, NULL, NULL);
}
