// SPDX-License-Identifier: MIT
/* Saving and loading a device with imc in the middle of planes and between clocks; wrong states. */
#include "cores/imc/imc.h"
#include "imc_fixture.h"
#include "saved_state.h"

#define CORES		"imc:cin-max=8:csus=12:input=8192:weight=8192:unit=8192:port=4:program=1024"
#define BANK		8192u
#define STRIDE		3u	/* steps from a save to the next */
#define VALID		CNNACC_IMC_STEP_VALID

struct fixture {
	struct core_jobs *f;
	struct sasm a;
	size_t size;
	char *saved;
};

/* Several blocks of results, passes and groups. */
static const struct imc_setup whole = { 3, CNNACC_IMC_INT8, 21, 7, 13, 14, 0, 13, 273, 14, 266 };
/* Clock by clock, with stalls and several groups. */
static const struct imc_setup stepped = { 3, CNNACC_IMC_FP32, 6, 9, 10, 7, 1, 10, 60, 7, 28 };

static void write_program(struct sasm *a)
{
	sa_load(a, CNNACC_IMC_INPUT0, DATA_VA + INPUT, 0, BANK);
	sa_load(a, CNNACC_IMC_WEIGHT1, DATA_VA + WEIGHT, 0, BANK);
	sa_setup(a, &whole);
	sa_conv(a, CNNACC_IMC_CONV_WEIGHT1, 0, 0, 0);
	sa_load(a, CNNACC_IMC_UNIT1, DATA_VA + INPUT, 0, BANK);
	sa_wait(a, CNNACC_IMC_WAIT_IDLE);
	sa_setup(a, &stepped);
	sa_conv(a, CNNACC_IMC_CONV_STEP | CNNACC_IMC_CONV_WEIGHT1 | CNNACC_IMC_CONV_UNIT1 |
		CNNACC_IMC_CONV_ACCUMULATE, 4, 8, 12);
	sa_step(a, VALID, 700);
	sa_step(a, 0, 5);
	sa_step(a, VALID, 390);
	sa_read(a, CNNACC_IMC_REG_SIG, DATA_VA + UNIT + 2 * BANK);
	sa_save(a, CNNACC_IMC_UNIT0, DATA_VA + UNIT, 0, BANK);
	sa_end(a);
}

static int setup(void **state)
{
	const struct cm_config config = { 0 };
	static struct fixture t;
	uint64_t seed = 5;

	t = (struct fixture){ .f = if_new(CORES, &config) };
	for (uint32_t i = 0; i < UNIT; i += 4)
		if_put(t.f, i, (mh_random(&seed) & 0x807fffff) | 0x3f000000);
	write_program(&t.a);
	t.size = cm_device_state_size(t.f->h->dev);
	t.saved = malloc(t.size);
	assert_non_null(t.saved);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	free(t->saved);
	mh_free(t->f->h);
	return 0;
}

static int load(struct fixture *t)
{
	char err[CM_ERR_LEN] = "";
	int ret = cm_device_load(t->f->h->dev, t->saved, t->size, err);

	assert_true(ret == 0 || (ret == -1 && err[0] && !strchr(err, '\n')));
	return ret;
}

/* A job's results: statistics, registers, output. */
static uint32_t finish(struct fixture *t)
{
	struct core_jobs *f = t->f;
	uint32_t regs[CNNACC_IMC_REG_END / 4];

	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	for (uint32_t i = 0; i < ELEMENTS(regs); i++)
		regs[i] = cj_reg(f, 4 * i);
	assert_int_equal(regs[CNNACC_IMC_REG_STATUS / 4], CNNACC_IMC_STEPPING);
	return mh_crc32(regs, sizeof(regs)) ^ mh_crc32(&f->stats, sizeof(f->stats)) ^
	       mh_crc32(f->data + UNIT, 3 * BANK);
}

static void begin(struct fixture *t)
{
	mh_core_reset(t->f->h, 0);
	memset(t->f->data + UNIT, 0, 3 * BANK);
	sq_submit(t->f, &t->a);
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
			more = mh_work_once(t->f->h, 0, 1);
		if (!more)
			break;
		cm_device_save(t->f->h->dev, t->saved);
		mh_replace_device(t->f->h, CORES);
		assert_int_equal(load(t), 0);
		assert_int_equal(finish(t), expected);
	}
	assert_true(steps > 1100);
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
		while (mh_work_once(t->f->h, 0, 1 + mh_random(&seed) % 20000))
			;
		assert_int_equal(finish(t), expected);
	}
}

static void save_after(struct fixture *t, unsigned int steps)
{
	mh_replace_device(t->f->h, CORES);
	begin(t);
	for (unsigned int i = 0; i < steps; i++)
		mh_work_once(t->f->h, 0, 1);
	cm_device_save(t->f->h->dev, t->saved);
}

/* The core's state in the saved one. */
static struct imc_state *core(struct fixture *t)
{
	return (struct imc_state *)(t->saved + SAVED_CORE);
}

/* Steps until the core is as wanted. */
static unsigned int steps_until(struct fixture *t, uint32_t state, bool working)
{
	for (unsigned int steps = 0; steps < 2000; steps++) {
		const struct imc_state *s = core(t);

		save_after(t, steps);
		if (s->state == state && working == (s->computing || s->clocks > 350) &&
		    (!working || s->blocks || s->clocks))
			return steps;
	}
	fail();
	return 0;
}

static void refuse(struct fixture *t, const char *field)
{
	char err[CM_ERR_LEN] = "";

	saved_state_sum(t->saved, t->size);
	assert_int_equal(cm_device_load(t->f->h->dev, t->saved, t->size, err), -1);
	assert_non_null(strstr(err, field));
}

#define REFUSED(t, steps, field, change) do { \
	struct imc_state *s = core(t); \
	save_after(t, steps); \
	change; \
	refuse(t, field); \
} while (0)

/* What is wrong is named. */
static void test_refused_stepping(void **state)
{
	struct fixture *t = *state;
	unsigned int at = steps_until(t, CNNACC_IMC_STEPPING, true);

	REFUSED(t, at, "state", s->state = 3);
	REFUSED(t, at, "SETUP", s->setup[0] = 0);
	REFUSED(t, at, "SETUP", s->setup[0] |= 0x400);
	REFUSED(t, at, "SETUP", s->setup[1] = 0x00090002);
	REFUSED(t, at, "CONV", s->conv[0] &= ~CNNACC_IMC_CONV_STEP);
	REFUSED(t, at, "CONV", s->conv[0] |= 0x8000);
	REFUSED(t, at, "CONV", s->conv[1] = 6);
	REFUSED(t, at, "CONV", s->conv[1] = BANK);
	REFUSED(t, at, "CONV", s->conv[2] = BANK - 4);
	REFUSED(t, at, "CONV", s->conv[3] = 0xfffffffc);
	REFUSED(t, at, "block", s->computing = 1);
	REFUSED(t, at, "block", s->blocks = 1);
	REFUSED(t, at, "clocks", s->clocks = 4097);
	REFUSED(t, at, "clocks", s->external = 2);
	REFUSED(t, at, "clocks", s->seq.phase = CM_SEQ_PHASE_FETCH);
	REFUSED(t, at, "element", s->at.group = 2);
	REFUSED(t, at, "element", s->at.pass = 2);
	REFUSED(t, at, "element", s->at.row = 9);
	REFUSED(t, at, "element", s->at.kernel_row = 1);
	REFUSED(t, at, "element", s->at.element = 0);
	REFUSED(t, at, "element", s->at.element = 7);
	REFUSED(t, at, "element", s->at.weight = 0);
	REFUSED(t, at, "element", s->at.weight = 4);
	REFUSED(t, at, "element", s->level++);
	REFUSED(t, at, "element", s->oldest = 11);
	REFUSED(t, at, "element", s->left = 9);
	REFUSED(t, at, "FIFO_PEAK", s->peak = 12);
	REFUSED(t, at, "FIFO_PEAK", s->reserved = 1);
}

static void test_refused_running(void **state)
{
	struct fixture *t = *state;
	unsigned int at = steps_until(t, CNNACC_IMC_RUNNING, true);

	REFUSED(t, at, "CONV", s->conv[0] |= CNNACC_IMC_CONV_STEP);
	REFUSED(t, at, "block", s->computing = 2);
	REFUSED(t, at, "block", s->blocks = 2 * 5 * 2);
	REFUSED(t, at, "block", s->seq.phase = CM_SEQ_PHASE_FETCH);
	REFUSED(t, at, "CONV", s->state = CNNACC_IMC_STEPPING);
	REFUSED(t, at, "block", s->state = CNNACC_IMC_IDLE);
	REFUSED(t, at, "clocks", s->clocks = 1);
}

static void mutate(struct fixture *t, uint64_t *seed)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 64, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff,
	};
	size_t head = offsetof(struct imc_state, n), size = offsetof(struct imc_state, fifo);
	uint32_t value = mh_random(seed);
	size_t at = mh_random(seed) % 4 ? head + mh_random(seed) % (size - head) :
		    mh_random(seed) % size;

	if (mh_random(seed) % 4)
		value = values[mh_random(seed) % ELEMENTS(values)];
	memcpy((char *)core(t) + at / 4 * 4, &value, 4);
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	struct fixture *t = *state;
	unsigned int points[5], taken = 0;
	char *good = malloc(t->size);
	uint64_t seed = 1;

	points[0] = 3;
	points[1] = steps_until(t, CNNACC_IMC_RUNNING, true);
	points[2] = points[1] + 2;
	points[3] = steps_until(t, CNNACC_IMC_STEPPING, true);
	points[4] = points[3] + 333;
	for (unsigned int i = 0; i < 4000; i++) {
		if (i % 800 == 0) {
			save_after(t, points[i / 800]);
			memcpy(good, t->saved, t->size);
		}
		memcpy(t->saved, good, t->size);
		for (unsigned int j = 0; j <= i % 3; j++)
			mutate(t, &seed);
		saved_state_sum(t->saved, t->size);
		if (load(t))
			continue;
		taken++;
		for (unsigned int j = 0; j < 60; j++)
			if (!mh_work_once(t->f->h, 0, 20000))
				break;
		cm_device_save(t->f->h->dev, t->saved);
		assert_int_equal(load(t), 0);
	}
	assert_in_range(taken, 400, 3800);
	free(good);
}

/* An abort in the middle of a plane leaves a state that can be saved. */
static void test_abort(void **state)
{
	struct fixture *t = *state;

	for (uint32_t which = CNNACC_IMC_RUNNING; which <= CNNACC_IMC_STEPPING; which++) {
		unsigned int at = steps_until(t, which, true);

		save_after(t, at);
		mh_qwrite(t->f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ABORT | CNNACC_QCTRL_ENABLE);
		mh_work(t->f->h, 0);
		assert_true(cj_done(t->f));
		assert_int_equal(t->f->done.status_class, CNNACC_STATUS_ABORTED);
		cm_device_save(t->f->h->dev, t->saved);
		mh_replace_device(t->f->h, CORES);
		assert_int_equal(load(t), 0);
	}
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_save_everywhere), T(test_budgets), T(test_refused_stepping),
		T(test_refused_running), T(test_forged), T(test_abort),
	};

	return cmocka_run_group_tests_name("model_imc_state", tests, NULL, NULL);
}
