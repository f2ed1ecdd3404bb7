// SPDX-License-Identifier: MIT
/* Saving and loading a device with imc in the middle of planes and between clocks; wrong states. */
#include "cores/imc/imc.h"
#include "imc_fixture.h"
#include "saved_state.h"

#define CORES		"imc:cin-max=8:csus=12:input=8192:weight=8192:unit=8192:port=4:program=1024"
#define BANK		8192u
#define VALID		CNNACC_IMC_STEP_VALID

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
	static struct saved_job j;
	struct sasm a = { .n = 0 };
	uint64_t seed = 5;

	j = (struct saved_job){
		.f = *if_new(CORES, &config), .cores = CORES, .out_bytes = 3 * BANK,
		.regs = CNNACC_IMC_REG_END / 4, .stride = 3, .steps = 1100,
	};
	j.out = j.f.data + UNIT;
	for (uint32_t i = 0; i < UNIT; i += 4)
		if_put(&j.f, i, (mh_random(&seed) & 0x807fffff) | 0x3f000000);
	write_program(&a);
	j.packet = cj_packet(&j.f, (const uint32_t *)a.c, sq_words(&a));
	sj_start(&j);
	*state = &j;
	return 0;
}

/* The end that the other tests compare. */
static void test_end(void **state)
{
	struct saved_job *j = *state;

	sj_run(j, 0);
	sj_finish(j);
	assert_int_equal(cj_reg(&j->f, CNNACC_IMC_REG_STATUS), CNNACC_IMC_STEPPING);
}

/* The core's state in the saved one. */
static struct imc_state *core(struct saved_job *j)
{
	return (struct imc_state *)(j->state + SAVED_CORE);
}

/* Steps until the core is as wanted. */
static unsigned int steps_until(struct saved_job *j, uint32_t state, bool working)
{
	for (unsigned int steps = 0; steps < 2000; steps++) {
		const struct imc_state *s = core(j);

		sj_save_after(j, steps);
		if (s->state == state && working == (s->computing || s->clocks > 350) &&
		    (!working || s->blocks || s->clocks))
			return steps;
	}
	fail();
	return 0;
}

#define REFUSED(j, steps, field, change) do { \
	struct imc_state *s = core(j); \
	sj_save_after(j, steps); \
	change; \
	sj_refused(j, field); \
} while (0)

/* What is wrong is named. */
static void test_refused_stepping(void **state)
{
	struct saved_job *j = *state;
	unsigned int at = steps_until(j, CNNACC_IMC_STEPPING, true);

	REFUSED(j, at, "state", s->state = 3);
	REFUSED(j, at, "SETUP", s->setup[0] = 0);
	REFUSED(j, at, "SETUP", s->setup[0] |= 0x400);
	REFUSED(j, at, "SETUP", s->setup[1] = 0x00090002);
	REFUSED(j, at, "CONV", s->conv[0] &= ~CNNACC_IMC_CONV_STEP);
	REFUSED(j, at, "CONV", s->conv[0] |= 0x8000);
	REFUSED(j, at, "CONV", s->conv[1] = 6);
	REFUSED(j, at, "CONV", s->conv[1] = BANK);
	REFUSED(j, at, "CONV", s->conv[2] = BANK - 4);
	REFUSED(j, at, "CONV", s->conv[3] = 0xfffffffc);
	REFUSED(j, at, "block", s->computing = 1);
	REFUSED(j, at, "block", s->blocks = 1);
	REFUSED(j, at, "clocks", s->clocks = 4097);
	REFUSED(j, at, "clocks", s->external = 2);
	REFUSED(j, at, "clocks", s->seq.phase = CM_SEQ_PHASE_FETCH);
	REFUSED(j, at, "element", s->at.group = 2);
	REFUSED(j, at, "element", s->at.pass = 2);
	REFUSED(j, at, "element", s->at.row = 9);
	REFUSED(j, at, "element", s->at.kernel_row = 1);
	REFUSED(j, at, "element", s->at.element = 0);
	REFUSED(j, at, "element", s->at.element = 7);
	REFUSED(j, at, "element", s->at.weight = 0);
	REFUSED(j, at, "element", s->at.weight = 4);
	REFUSED(j, at, "element", s->level++);
	REFUSED(j, at, "element", s->oldest = 11);
	REFUSED(j, at, "element", s->left = 9);
	REFUSED(j, at, "FIFO_PEAK", s->peak = 12);
	REFUSED(j, at, "FIFO_PEAK", s->reserved = 1);
}

static void test_refused_running(void **state)
{
	struct saved_job *j = *state;
	unsigned int at = steps_until(j, CNNACC_IMC_RUNNING, true);

	REFUSED(j, at, "CONV", s->conv[0] |= CNNACC_IMC_CONV_STEP);
	REFUSED(j, at, "block", s->computing = 2);
	REFUSED(j, at, "block", s->blocks = 2 * 5 * 2);
	REFUSED(j, at, "block", s->seq.phase = CM_SEQ_PHASE_FETCH);
	REFUSED(j, at, "CONV", s->state = CNNACC_IMC_STEPPING);
	REFUSED(j, at, "block", s->state = CNNACC_IMC_IDLE);
	REFUSED(j, at, "clocks", s->clocks = 1);
}

/* In the core's state before its FIFOs, mostly behind the sequencer's. */
static size_t any_place(uint64_t *seed)
{
	size_t head = offsetof(struct imc_state, n), size = offsetof(struct imc_state, fifo);
	size_t at = mh_random(seed) % 4 ? head + mh_random(seed) % (size - head) :
		    mh_random(seed) % size;

	return SAVED_CORE + at / 4 * 4;
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	struct saved_job *j = *state;
	unsigned int running = steps_until(j, CNNACC_IMC_RUNNING, true);
	unsigned int stepping = steps_until(j, CNNACC_IMC_STEPPING, true);
	const unsigned int points[] = { 3, running, running + 2, stepping, stepping + 333 };

	assert_in_range(sj_forge_after(j, points, ELEMENTS(points), any_place), 400, 3800);
}

/* An abort in the middle of a plane leaves a state that can be saved. */
static void test_abort(void **state)
{
	struct saved_job *j = *state;

	for (uint32_t which = CNNACC_IMC_RUNNING; which <= CNNACC_IMC_STEPPING; which++) {
		sj_run(j, steps_until(j, which, true));
		mh_qwrite(j->f.h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ABORT | CNNACC_QCTRL_ENABLE);
		mh_work(j->f.h, 0);
		assert_true(cj_done(&j->f));
		assert_int_equal(j->f.done.status_class, CNNACC_STATUS_ABORTED);
		sj_move(j);
	}
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, sj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_end), T(test_save_everywhere), T(test_budgets), T(test_refused_stepping),
		T(test_refused_running), T(test_forged), T(test_abort),
	};

	return cmocka_run_group_tests_name("model_imc_state", tests, NULL, NULL);
}
