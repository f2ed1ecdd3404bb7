// SPDX-License-Identifier: MIT
/* Core imc: checks, claims, states, registers and time (Documentation/hardware/imc.rst). */
#include "imc_fixture.h"

#define C(name)		CNNACC_IMC_E_##name
#define STEP		CNNACC_IMC_CONV_STEP
#define VALID		CNNACC_IMC_STEP_VALID
#define IDLE		CNNACC_IMC_WAIT_IDLE
#define REG(name)	CNNACC_IMC_REG_##name
#define OUT_VA		(DATA_VA + 0xc0000)
#define NOWHERE		0x70000000u	/* is not mapped */

/* Plane A of the page: INT8, W 8, H 6, cin 3, cout 5, n 3, partial reuse. */
static const struct imc_setup plane_a = { 3, CNNACC_IMC_INT8, 8, 6, 3, 5, 0, 3, 24, 5, 30 };

static struct sasm begin_plane(const struct imc_setup *p, uint32_t flags)
{
	struct sasm a = { .n = 0 };

	sa_setup(&a, p);
	sa_conv(&a, flags, 0, 0, 0);
	return a;
}

static uint32_t read_out(struct core_jobs *f)
{
	return if_get(f, OUT_VA - DATA_VA);
}

/* ---- E_ILLEGAL, E_COMMAND ---- */

static void expect_exec(struct core_jobs *f, uint32_t code, uint32_t detail, uint32_t flags,
			const uint32_t arg[7])
{
	struct sasm a = { .n = 0 };

	sa_emit(&a, CNNACC_SEQ_EXEC | flags, arg);
	sq_bad(f, &a, code, 0, detail);
	assert_int_equal(f->stats.instructions, 0);
	assert_int_equal(f->stats.cycles, BOOT(&a));
}

#define EXEC(f, code, detail, flags, ...) \
	expect_exec(f, code, detail, flags, (const uint32_t[7]){ __VA_ARGS__ })
#define ILLEGAL(f, detail, ...)	EXEC(f, C(ILLEGAL), CNNACC_IMC_##detail, 0, __VA_ARGS__)

static void test_operations(void **state)
{
	for (uint32_t op = 0; op < 16; op++)
		if (op < CNNACC_IMC_SETUP || op > CNNACC_IMC_READ)
			ILLEGAL(*state, BAD_OP, 0xfffffff0u | op, 1, 1, 1, 1, 1);
}

/** struct used - words and bits that an operation uses, from the page's tables. */
struct used {
	uint32_t op, bits, words;	/* bits of word 0 beside the operation; mask of words */
};

static void test_bits(void **state)
{
	static const struct used used[] = {
		{ CNNACC_IMC_SETUP, 0x13f0, 0x3e }, { CNNACC_IMC_CONV, 0x7300, 0x0e },
		{ CNNACC_IMC_STEP, 0x0100, 0x02 }, { CNNACC_IMC_READ, 0, 0x02 },
	};

	for (size_t i = 0; i < ELEMENTS(used); i++) {
		for (uint32_t bit = 4; bit < 32; bit++)
			if (!(used[i].bits >> bit & 1))
				ILLEGAL(*state, BAD_BITS, used[i].op | 1u << bit);
		for (uint32_t word = 1; word < 6; word++) {
			uint32_t arg[7] = { used[i].op };

			arg[word] = 0x80000000;
			if (!(used[i].words >> word & 1))
				expect_exec(*state, C(ILLEGAL), CNNACC_IMC_BAD_BITS, 0, arg);
		}
	}
}

static void test_register_offsets(void **state)
{
	static const uint32_t bad[] = { 0, 0x3c, 0x41, 0x42, 0x43, 0x1fd, 0x200, 0x80000040 };

	for (size_t i = 0; i < ELEMENTS(bad); i++)
		ILLEGAL(*state, BAD_REGISTER, CNNACC_IMC_READ, bad[i]);
	ILLEGAL(*state, BAD_BITS, CNNACC_IMC_READ, 0, 1);
}

static void test_flags(void **state)
{
	const uint32_t events = CNNACC_SEQ_EVENTS, result = CNNACC_SEQ_RESULT;
	const uint32_t command = CNNACC_SEQ_E_COMMAND;
	struct core_jobs *f = *state;

	EXEC(f, command, 0, events, CNNACC_IMC_CONV);
	EXEC(f, command, 0, events | result, CNNACC_IMC_READ, 0x40, 0, 0, 0, 0, OUT_VA);
	EXEC(f, command, 0, result, CNNACC_IMC_SETUP, 0, 0, 0, 0, 0, OUT_VA);
	EXEC(f, command, 0, result, CNNACC_IMC_CONV, 0, 0, 0, 0, 0, OUT_VA);
	EXEC(f, command, 0, result, CNNACC_IMC_STEP, 1, 0, 0, 0, 0, OUT_VA);
	EXEC(f, command, 0, 0, CNNACC_IMC_READ, 0x40);
	EXEC(f, command, 7, result, CNNACC_IMC_READ, 0x40, 0, 0, 0, 0, OUT_VA + 2);
	EXEC(f, command, 7, 0, CNNACC_IMC_CONV, 0, 0, 0, 0, 0, OUT_VA);
	/* E_ILLEGAL is first. */
	EXEC(f, C(ILLEGAL), CNNACC_IMC_BAD_OP, events, 5);
	EXEC(f, C(ILLEGAL), CNNACC_IMC_BAD_REGISTER, 0, CNNACC_IMC_READ, 0x3c);
}

static void test_drain(void **state)
{
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_DRAIN, 1, OUT_VA, 0);
	sq_bad((struct core_jobs *)*state, &a, CNNACC_SEQ_E_COMMAND, 0, 0);
}

/* ---- E_BUSY ---- */

static void expect_busy(struct core_jobs *f, struct sasm *a, uint32_t busy)
{
	uint32_t pc = (uint32_t)a->n - 1;

	sa_end(a);
	sq_bad(f, a, C(BUSY), pc, busy);
}

static void test_busy(void **state)
{
	struct sasm a = { .n = 0 };

	sa_step(&a, VALID, 0);		/* E_CFG comes later */
	expect_busy(*state, &a, CNNACC_IMC_IDLE);
	a = begin_plane(&plane_a, 0);
	sa_step(&a, VALID, 1);
	expect_busy(*state, &a, CNNACC_IMC_RUNNING);
	a = begin_plane(&plane_a, 0);
	sa_conv(&a, 0, 0, 0, 2);
	expect_busy(*state, &a, CNNACC_IMC_RUNNING);
	a = begin_plane(&plane_a, STEP);
	SA(&a, CNNACC_SEQ_EXEC, 0, CNNACC_IMC_SETUP);
	expect_busy(*state, &a, CNNACC_IMC_STEPPING);
	a = begin_plane(&plane_a, STEP);
	sa_step(&a, VALID, 216);
	sa_step(&a, VALID, 1);
	expect_busy(*state, &a, CNNACC_IMC_IDLE);
}

/* However late a WAIT is, only it makes the core IDLE. */
static void test_late_wait(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = begin_plane(&plane_a, 0);

	SA(&a, CNNACC_SEQ_LOOP, 1, 300);
	SA(&a, CNNACC_SEQ_FILL, CNNACC_IMC_INPUT1, 0);
	sa_read(&a, REG(STATUS), OUT_VA);
	sa_wait(&a, IDLE);
	sa_read(&a, REG(STATUS), OUT_VA + 4);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, BOOT(&a) + 2 + 1 + 300 + 2 + 1 + 2 + 1);
	assert_int_equal(read_out(f), CNNACC_IMC_RUNNING);
	assert_int_equal(if_get(f, OUT_VA - DATA_VA + 4), CNNACC_IMC_IDLE);
	a.n -= 4;
	sa_conv(&a, 0, 0, 0, 0);
	expect_busy(f, &a, CNNACC_IMC_RUNNING);
}

static void test_wait(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	sa_wait(&a, IDLE);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, BOOT(&a) + 2);
	a = begin_plane(&plane_a, STEP);
	sa_wait(&a, IDLE);
	sq_fails(f, &a, CNNACC_STATUS_DEADLOCK, CNNACC_SEQ_E_DEADLOCK, 2, 0);
	a.n = 0;
	sa_wait(&a, 2);
	sq_bad(f, &a, CNNACC_SEQ_E_COMMAND, 0, 1);
}

/* ---- E_CFG, E_ADDR ---- */

static void expect_config(struct core_jobs *f, const struct imc_setup *p, uint32_t detail)
{
	struct sasm a = { .n = 0 };

	sa_setup(&a, &plane_a);
	sa_setup(&a, p);
	sa_end(&a);
	sq_fails(f, &a, CNNACC_STATUS_CONFIG, C(CFG), 1, detail);
	/* The one before still holds. */
	assert_int_equal(cj_reg(f, REG(SETUP(0))), 0x31);
	assert_int_equal(cj_reg(f, REG(SETUP(5))), 30);
	assert_int_equal(f->stats.instructions, 1);
}

#define CONFIG(f, detail, ...) do { \
	struct imc_setup config_p = plane_a; \
	__VA_ARGS__; \
	expect_config(f, &config_p, CNNACC_IMC_##detail); \
} while (0)
#define P config_p

static void test_setup(void **state)
{
	struct core_jobs *f = *state;

	CONFIG(f, BAD_FORMAT, P.format = 3);
	CONFIG(f, BAD_KERNEL, P.n = 0);
	CONFIG(f, BAD_KERNEL, P.n = 12);
	CONFIG(f, BAD_WIDTH, P.w = 2);
	CONFIG(f, BAD_WIDTH, P.w = 0);
	CONFIG(f, BAD_HEIGHT, P.h = 2);
	CONFIG(f, BAD_CIN, P.cin = 0);
	CONFIG(f, BAD_CIN, P.cin = 4097);
	CONFIG(f, BAD_COUT, P.cout = 0);
	CONFIG(f, BAD_COUT, P.cout = 4097);
	CONFIG(f, BAD_RESULT_COLUMN, P.result_column = 4);
	CONFIG(f, BAD_RESULT_ROW, P.result_row = 29);
	CONFIG(f, BAD_RESULT_ROW, P.result_row = 29, P.h = 3);
	/* The first of several. */
	CONFIG(f, BAD_FORMAT, P.format = 3, P.n = 12);
	CONFIG(f, BAD_KERNEL, P.n = 12, P.w = 2);
	CONFIG(f, BAD_WIDTH, P.w = 2, P.h = 2);
	CONFIG(f, BAD_HEIGHT, P.h = 2, P.cin = 0);
	CONFIG(f, BAD_CIN, P.cin = 0, P.cout = 0);
	CONFIG(f, BAD_COUT, P.cout = 4097, P.result_column = 0);
	CONFIG(f, BAD_RESULT_COLUMN, P.result_column = 0, P.result_row = 0);
}

static void test_setup_of_build(void **state)
{
	struct core_jobs *f = *state;

	CONFIG(f, BAD_FORMAT, P.format = CNNACC_IMC_FP32, P.n = 12);
	CONFIG(f, BAD_KERNEL, P.n = 4, P.full = 1);
	CONFIG(f, BAD_MODE, P.full = 1, P.w = 2);
}

/* Full reuse needs a CSU for each kernel row. */
static void test_setup_of_csus(void **state)
{
	struct core_jobs *f = *state;

	CONFIG(f, BAD_MODE, P.full = 1, P.w = 2);
	CONFIG(f, BAD_HEIGHT, P.full = 1, P.n = 2, P.h = 1);
}

static int setup_plain(void **state)
{
	return if_setup_cores(state, "imc:n-max=3:full-reuse=off:fp32=off");
}

static int setup_two_csus(void **state)
{
	return if_setup_cores(state, "imc:csus=2");
}

static void expect_conv(struct core_jobs *f, const struct imc_setup *p, const uint32_t conv[4],
			uint32_t code, uint32_t detail)
{
	struct sasm a = { .n = 0 };

	sa_setup(&a, p);
	sa_conv(&a, conv[0], conv[1], conv[2], conv[3]);
	sa_end(&a);
	sq_run(f, &a);
	assert_int_equal(f->done.status_code, code);
	assert_int_equal(f->done.status_class, code == C(CFG) ? CNNACC_STATUS_CONFIG :
			 code ? CNNACC_STATUS_BAD_PROGRAM : CNNACC_STATUS_OK);
	assert_int_equal(f->done.detail, detail);
	if (!code)
		return;
	assert_int_equal(cj_reg(f, REG(CONV(0))), 0);
	assert_int_equal(cj_reg(f, REG(STATUS)), CNNACC_IMC_IDLE);
}

#define CONV(f, p, code, detail, ...) \
	expect_conv(f, p, (const uint32_t[4]){ __VA_ARGS__ }, code, detail)

static void test_alignment(void **state)
{
	struct core_jobs *f = *state;
	struct imc_setup p = plane_a;
	struct sasm a = { .n = 0 };

	sa_conv(&a, 0, 1, 1, 1);
	sq_fails(f, &a, CNNACC_STATUS_CONFIG, C(CFG), 0, CNNACC_IMC_BAD_SETUP);
	CONV(f, &p, C(CFG), CNNACC_IMC_BAD_ALIGN, 0, 0, 0, 2);
	CONV(f, &p, 0, 0, 0, 1, 3, 4);
	p.format = CNNACC_IMC_FP32;
	CONV(f, &p, C(CFG), CNNACC_IMC_BAD_ALIGN, 0, 2, 0, 0);
	CONV(f, &p, C(CFG), CNNACC_IMC_BAD_ALIGN, 0, 0, 1, 0);
	CONV(f, &p, C(CFG), CNNACC_IMC_BAD_ALIGN, 0, 0xfffffffc, 0, 1);
	CONV(f, &p, 0, 0, 0, 4, 8, 12);
}

static void test_steps_clocks(void **state)
{
	static const uint32_t bad[] = { 0, 4097, 0x80000001 };
	struct core_jobs *f = *state;

	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		struct sasm a = begin_plane(&plane_a, STEP);

		sa_step(&a, VALID, bad[i]);
		sq_fails(f, &a, CNNACC_STATUS_CONFIG, C(CFG), 2, CNNACC_IMC_BAD_CLOCKS);
	}
}

static void test_addresses(void **state)
{
	const struct imc_setup large = { 3, CNNACC_IMC_INT8, 512, 512, 1, 1, 0, 1, 512, 1, 510 };
	struct imc_setup deep = imc_compact((struct imc_shape){ 11, 0, 11, 11, 64, 34, 0 });
	struct imc_setup fits = imc_compact((struct imc_shape){ 11, 0, 11, 11, 64, 33, 0 });
	struct imc_setup wide = plane_a;
	struct core_jobs *f = *state;

	CONV(f, &large, C(ADDR), 4, 0);
	CONV(f, &large, C(ADDR), 5, CNNACC_IMC_CONV_UNIT1);
	CONV(f, &large, C(ADDR), 0, 0, 1);
	CONV(f, &large, C(ADDR), 1, CNNACC_IMC_CONV_INPUT1, 1, 0xffffffff);
	CONV(f, &deep, C(ADDR), 2, 0);
	CONV(f, &deep, C(ADDR), 3, CNNACC_IMC_CONV_WEIGHT1, 0, 0, 0xfffffffc);
	CONV(f, &fits, 0, 0, 0);
	/* Ends, exactly: 144 components, 135 weights, 120 results. */
	CONV(f, &plane_a, 0, 0, 0, 0x40000 - 144, 0x40000 - 135, 0x80000 - 480);
	CONV(f, &plane_a, C(ADDR), 0, 0, 0x40000 - 143, 0x40000 - 135, 0x80000 - 480);
	CONV(f, &plane_a, C(ADDR), 2, 0, 0x40000 - 144, 0x40000 - 134, 0x80000 - 480);
	CONV(f, &plane_a, C(ADDR), 4, 0, 0x40000 - 144, 0x40000 - 135, 0x80000 - 476);
	/* Sums beyond 32 bits. */
	wide.in_row = 0xffffffff;
	CONV(f, &wide, C(ADDR), 0, 0);
	wide.in_row = 0x33333334;	/* 5 rows: 2^32 + 4 */
	CONV(f, &wide, C(ADDR), 0, 0);
	wide.in_row = 0;
	wide.result_row = 0x55555556;	/* 3 rows: 2^32 + 2 */
	CONV(f, &wide, C(ADDR), 4, 0);
	wide.result_row = 30;
	CONV(f, &wide, C(ADDR), 0, 0, 0xffffffff);
	CONV(f, &wide, C(ADDR), 2, 0, 0, 0xffffffff);
	CONV(f, &wide, C(ADDR), 4, 0, 0, 0, 0xfffffffc);
}

/* ---- claims ---- */

static struct sasm plane_with(uint32_t flags, uint32_t op, uint32_t memory, uint32_t bytes)
{
	struct sasm a = begin_plane(&plane_a, flags);

	if (op == CNNACC_SEQ_FILL)
		SA(&a, op, memory, 0, 0, 1, bytes);
	else
		SA(&a, op, memory, OUT_VA, 0, 1, bytes);
	sa_end(&a);
	return a;
}

static void check_claims(struct core_jobs *f, uint32_t flags, uint32_t op, uint32_t bytes)
{
	const uint32_t banks[3] = {
		flags & CNNACC_IMC_CONV_INPUT1 ? 1 : 0, flags & CNNACC_IMC_CONV_WEIGHT1 ? 3 : 2,
		flags & CNNACC_IMC_CONV_UNIT1 ? 5 : 4,
	};

	for (uint32_t memory = 0; memory < CNNACC_IMC_MEMORIES; memory++) {
		struct sasm a = plane_with(flags, op, memory, bytes);

		if (memory == banks[memory / 2])
			sq_bad(f, &a, CNNACC_SEQ_E_CONFLICT, 2, memory);
		else
			sq_ok(f, &a);
	}
}

static void test_claims(void **state)
{
	static const uint32_t ops[] = {
		CNNACC_SEQ_COPY2D, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, CNNACC_SEQ_FILL,
	};

	for (uint32_t banks = 0; banks < 8; banks++)
		for (size_t i = 0; i < ELEMENTS(ops); i++) {
			check_claims(*state, banks << 12, ops[i], 64);
			check_claims(*state, banks << 12 | STEP, ops[i], 64);
			check_claims(*state, banks << 12, ops[i], 0);
		}
}

/* WAIT frees the banks, and so does the last clock. */
static void test_free_banks(void **state)
{
	for (uint32_t step = 0; step < 2; step++) {
		struct sasm a = begin_plane(&plane_a, step * STEP);

		if (step)
			sa_step(&a, VALID, 216);
		else
			sa_wait(&a, IDLE);
		for (uint32_t memory = 0; memory < CNNACC_IMC_MEMORIES; memory++)
			sa_save(&a, memory, OUT_VA, 0, 64);
		sa_end(&a);
		sq_ok(*state, &a);
	}
}

/* ---- registers ---- */

static void test_read(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = begin_plane(&plane_a, 0);

	sa_read(&a, REG(CLOCKS), OUT_VA);
	sa_read(&a, REG(CLOCKS) + 4, OUT_VA + 4);
	sa_read(&a, REG(SETUP(1)), OUT_VA + 8);
	sa_read(&a, 0x0ac, OUT_VA + 12);
	sa_read(&a, 0x1fc, OUT_VA + 16);
	sa_end(&a);
	memset(f->data + (OUT_VA - DATA_VA), 0x77, 20);
	sq_ok(f, &a);
	assert_int_equal(read_out(f), 216);
	assert_int_equal(if_get(f, OUT_VA - DATA_VA + 4), 0);
	assert_int_equal(if_get(f, OUT_VA - DATA_VA + 8), 0x00060008);
	assert_int_equal(if_get(f, OUT_VA - DATA_VA + 12), 0);
	assert_int_equal(if_get(f, OUT_VA - DATA_VA + 16), 0);
	assert_int_equal(f->stats.mem_write_bytes, 20);
	assert_int_equal(f->stats.cycles_serial, BOOT(&a) + 2 + 221 + 5 * 2 + 1);
}

static void test_read_fault(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	sa_read(&a, REG(STATUS), NOWHERE + 64);
	sq_run(f, &a);
	assert_int_equal(f->done.status_code, CNNACC_SEQ_E_DMA);
	assert_int_equal(f->done.fault_va, NOWHERE + 64);
	assert_int_equal(f->stats.cycles, BOOT(&a));
	assert_int_equal(f->stats.mem_write_bytes, 0);
}

/* Registers of the last of @clocks clocks of a plane in step mode. */
static void step_to(struct core_jobs *f, const struct imc_setup *p, uint32_t clocks)
{
	struct sasm a = begin_plane(p, STEP);

	sa_steps(&a, clocks);
	sa_end(&a);
	sq_ok(f, &a);
}

static void expect_place(struct core_jobs *f, const uint32_t want[7])
{
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(cj_reg(f, REG(GROUP) + 4 * i), want[i]);
}

#define PLACE(f, ...)	expect_place(f, (const uint32_t[7]){ __VA_ARGS__ })

/* Group, pass, input row, CSU, kernel row, j and w. */
static void test_places(void **state)
{
	const struct imc_setup partial = imc_compact((struct imc_shape){ 3, 0, 5, 5, 70, 65, 0 });
	const struct imc_setup full = imc_compact((struct imc_shape){ 3, 0, 5, 5, 70, 22, 1 });
	struct core_jobs *f = *state;

	step_to(f, &partial, 1);
	PLACE(f, 0, 0, 0, 0, 0, 1, 1);
	/* A row pass has 9 clocks, a pass 81, a group 162. */
	step_to(f, &partial, 9);
	PLACE(f, 0, 0, 0, 0, 0, 5, 3);
	step_to(f, &partial, 9 * 4 + 4);
	PLACE(f, 0, 0, 2, 0, 1, 3, 3);
	step_to(f, &partial, 81 + 1);
	PLACE(f, 0, 1, 0, 0, 0, 1, 1);
	step_to(f, &partial, 162 + 2);
	PLACE(f, 1, 0, 0, 0, 0, 2, 2);
	step_to(f, &partial, 324);
	PLACE(f, 1, 1, 4, 0, 2, 5, 3);
	/* 5 row passes in a pass; in rows 3 and 4 kernel rows 1 and 2 are the lowest ones. */
	step_to(f, &full, 9 * 2 + 1);
	PLACE(f, 0, 0, 2, 0, 0, 1, 1);
	step_to(f, &full, 9 * 3 + 3);
	PLACE(f, 0, 0, 3, 1, 1, 2, 1);
	step_to(f, &full, 9 * 4 + 9);
	PLACE(f, 0, 0, 4, 2, 2, 5, 3);
	step_to(f, &full, 45 * 3 + 1);
	PLACE(f, 1, 1, 0, 0, 0, 1, 1);
	assert_int_equal(cj_counter(f, REG(WEIGHT_READS)),
			 9 * (1 + 2 + 3 + 2 + 1) * (2 * 21 + 1) + 1);
}

/* A clock without VALID changes only the signals and its number. */
static void test_invalid_clock(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = begin_plane(&plane_a, STEP);
	uint32_t before[24];

	step_to(f, &plane_a, 4);
	for (uint32_t i = 0; i < ELEMENTS(before); i++)
		before[i] = cj_reg(f, REG(SIG) + 4 * i);
	assert_int_equal(before[0], 0x00040195);
	sa_step(&a, VALID, 4);
	sa_step(&a, 0, 4096);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_reg(f, REG(SIG)), (4100 & 0xffff) << 16 | 0x0180);
	for (uint32_t i = 1; i < ELEMENTS(before); i++)
		assert_int_equal(cj_reg(f, REG(SIG) + 4 * i), before[i]);
	assert_int_equal(cj_counter(f, REG(STALLS)), 4096);
	assert_int_equal(f->stats.stall_cycles, 4096);
}

/* The clock's number is modulo 65536. */
static void test_clock_number(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = begin_plane(&plane_a, STEP);

	SA(&a, CNNACC_SEQ_LOOP, 1, 17);
	sa_step(&a, 0, 4096);
	sa_step(&a, VALID, 1);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(cj_reg(f, REG(SIG)) >> 16, 4097);
	assert_int_equal(f->stats.cycles, BOOT(&a) + 1 + 6 + 1 + 17 * 4097 + 2 + 1);
}

/* Every CONV clears the registers of the last clock. */
static void test_cleared_registers(void **state)
{
	for (uint32_t step = 0; step < 2; step++) {
		struct core_jobs *f = *state;
		struct sasm a = begin_plane(&plane_a, STEP);

		sa_step(&a, VALID, 216);
		sa_conv(&a, step * STEP, 0, 0, 0);
		sa_end(&a);
		sq_ok(f, &a);
		for (uint32_t reg = REG(SIG); reg < REG(CLOCKS); reg += 4)
			assert_int_equal(cj_reg(f, reg), 0);
		assert_int_equal(cj_reg(f, REG(CONV(0))), CNNACC_IMC_CONV | step * STEP);
		assert_int_equal(cj_counter(f, REG(CLOCKS)), step ? 216 : 432);
		assert_int_equal(cj_reg(f, REG(FIFO_PEAK)), 2);
	}
}

/* A job begins with everything 0, also behind one that ended in step mode. */
static void test_next_job(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	step_to(f, &plane_a, 10);
	assert_int_equal(cj_reg(f, REG(STATUS)), CNNACC_IMC_STEPPING);
	sa_conv(&a, 0, 0, 0, 0);
	sq_fails(f, &a, CNNACC_STATUS_CONFIG, C(CFG), 0, CNNACC_IMC_BAD_SETUP);
	for (uint32_t reg = REG(STATUS); reg < REG(END); reg += 4)
		assert_int_equal(cj_reg(f, reg), 0);
}

/* The administrator looks while the program is suspended between two STEPs. */
static void test_suspended(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = begin_plane(&plane_a, STEP);

	sa_step(&a, VALID, 3);
	sa_irq(&a, 9);
	sa_step(&a, VALID, 1);
	sa_end(&a);
	f->flags = CNNACC_PACKET_EVENT_WAIT;
	sq_submit(f, &a);
	mh_work(f->h, 0);
	assert_false(cj_done(f));
	assert_int_equal(cj_reg(f, REG(SIG)), 0x00030249);
	assert_int_equal(cj_reg(f, REG(STATUS)), CNNACC_IMC_STEPPING);
	mh_qwrite(f->h, 0, CNNACC_QREG_EVENT_ACK, 1);
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(cj_reg(f, REG(SIG)), 0x00040195);
	assert_int_equal(f->stats.events, 1);
}

/* ---- cycle limit ---- */

static void fill_unit(struct core_jobs *f)
{
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_FILL, CNNACC_IMC_UNIT0, 0x5a, 0, 1, 480);
	SA(&a, CNNACC_SEQ_FILL, CNNACC_IMC_INPUT0, 0, 0, 1, 144);
	SA(&a, CNNACC_SEQ_FILL, CNNACC_IMC_WEIGHT0, 0, 0, 1, 135);
	sa_end(&a);
	sq_ok(f, &a);
}

/* Is a run of @bytes 5Ah anywhere in the device?  A reset after an error clears the memories. */
static bool holds_filling(struct core_jobs *f, size_t bytes)
{
	size_t size = cm_device_state_size(f->h->dev), run = 0;
	uint8_t *saved = malloc(size);
	bool found = false;

	assert_non_null(saved);
	cm_device_save(f->h->dev, saved);
	for (size_t i = 0; i < size; i++) {
		run = saved[i] == 0x5a ? run + 1 : 0;
		found |= run == bytes;
	}
	free(saved);
	return found;
}

/* A plane past the limit is counted, but its cells keep what was there. */
static void test_limit(void **state)
{
	struct core_jobs *f = *state;

	for (uint32_t late = 0; late < 2; late++) {
		struct sasm a = begin_plane(&plane_a, 0);

		f->limit = 1 << 26;
		fill_unit(f);
		sa_end(&a);
		f->limit = BOOT(&a) + 2 + 221 - late;
		sq_run(f, &a);
		assert_int_equal(f->done.status_class,
				 late ? CNNACC_STATUS_TIME_LIMIT : CNNACC_STATUS_OK);
		assert_int_equal(f->stats.compute_cycles, 216);
		assert_int_equal(cj_counter(f, REG(OUTPUTS)), 360);
		assert_int_equal(cj_reg(f, REG(FIFO_PEAK)), 2);
		assert_int_equal(holds_filling(f, 480), late);
	}
}

/* A STEP past the limit has run its clocks. */
static void test_limit_in_steps(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = begin_plane(&plane_a, STEP);

	sa_step(&a, VALID, 100);
	f->limit = BOOT(&a) + 1 + 6 + 100;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, 2, 0);
	assert_int_equal(cj_counter(f, REG(CLOCKS)), 100);
	assert_int_equal(cj_reg(f, REG(SIG)) >> 16, 100);
	assert_int_equal(f->stats.cycles, f->limit + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IT(test_operations), IT(test_bits), IT(test_register_offsets), IT(test_flags),
		IT(test_drain), IT(test_busy), IT(test_late_wait), IT(test_wait), IT(test_setup),
		cmocka_unit_test_setup_teardown(test_setup_of_build, setup_plain, cj_teardown),
		cmocka_unit_test_setup_teardown(test_setup_of_csus, setup_two_csus, cj_teardown),
		IT(test_alignment), IT(test_steps_clocks), IT(test_addresses), IT(test_claims),
		IT(test_free_banks), IT(test_read), IT(test_read_fault), IT(test_places),
		IT(test_invalid_clock), IT(test_clock_number), IT(test_cleared_registers),
		IT(test_next_job), IT(test_suspended), IT(test_limit), IT(test_limit_in_steps),
	};

	return cmocka_run_group_tests_name("model_imc", tests, NULL, NULL);
}
