// SPDX-License-Identifier: MIT
/* Core hwpe: Documentation/hardware/hwpe.rst, rule by rule. */
#include "hwpe_fixture.h"
#include "saved_state.h"

#define C(name)		CNNACC_HWPE_E_##name
#define BOOT(a)		(16 + ((a).n + 1) / 2)
#define OUT_VA		(DATA_VA + 8 * PAGE)
#define SRAM2		CNNACC_HWPE_SRAM2
#define INSN		CNNACC_HWPE_INSN
#define ENABLE		CNNACC_HWPE_ENABLE

/* CfgReg1 of K_count @k, AccReg_shift 8. */
#define CFG1(kernel, type, k) \
	((kernel) | (CNNACC_HWPE_##type) << CNNACC_HWPE_CFG_TYPE_SHIFT | 8 << 8 | \
	 (uint32_t)(k) << CNNACC_HWPE_CFG_K_SHIFT)
#define COUNTS(w, h)	((uint32_t)(w) << 16 | (h))

static const int32_t *out(struct core_jobs *f)
{
	return (const int32_t *)(f->data + 8 * PAGE);
}

/* Even bases at @step * n, odd ones there in the other SRAM. */
static void bases(struct sasm *a, uint32_t step)
{
	for (unsigned int i = 0; i < 8; i += 2)
		sa_bases(a, i, i / 2 * step, SRAM2 + i / 2 * step);
}

/* A task of one product per window: 1 x 1, one word. */
static void small_task(struct sasm *a, uint32_t w, uint32_t h, uint32_t k)
{
	bases(a, 8);
	sa_cfg(a, 1, CFG1(1, INT8, k));
	sa_mac(a, COUNTS(w, h), 8 << 16 | 16);
}

/* ---- E_ILLEGAL, E_COMMAND ---- */

static void expect_exec(struct core_jobs *f, uint32_t code, uint32_t detail, uint32_t op,
			const uint32_t arg[7])
{
	struct sasm a = { .n = 0 };

	sa_emit(&a, op, arg);
	sq_bad(f, &a, code, 0, detail);
}

#define EXEC(f, code, detail, flags, ...) \
	expect_exec(f, code, detail, CNNACC_SEQ_EXEC | (flags), (const uint32_t[7]){ __VA_ARGS__ })
#define ILLEGAL(f, detail, insn)	EXEC(f, C(ILLEGAL), CNNACC_HWPE_##detail, 0, insn)

static void test_illegal(void **state)
{
	static const struct {
		uint32_t funct, flags;
	} insns[] = {
		{ CNNACC_HWPE_WRITE_FMAP_ADDR, XS12 }, { CNNACC_HWPE_WRITE_CFG, XS12 },
		{ CNNACC_HWPE_MATRIX_MAC, XS12 }, { CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1 },
		{ CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD }, { CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1 },
		{ CNNACC_HWPE_RESET, 0 },
	};
	struct core_jobs *f = *state;

	ILLEGAL(f, BAD_OPCODE, 0);
	ILLEGAL(f, BAD_OPCODE, 0xffffff2b);
	ILLEGAL(f, BAD_OPCODE, (INSN(3, 0, 0, 0, 0) & ~0x7fu) | 0x0a);
	for (uint32_t funct = 0; funct < 128; funct++)
		if (!funct || funct & (funct - 1))
			ILLEGAL(f, BAD_FUNCT, INSN(funct, XS12, 31, 31, 31));
	for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++)
		for (uint32_t flags = 0; flags < 8; flags++)
			if (flags << 12 != insns[i].flags)
				ILLEGAL(f, BAD_FLAGS, INSN(insns[i].funct, flags << 12, 31, 31, 31));
	ILLEGAL(f, BAD_PE, INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 31, 0, 16));
	ILLEGAL(f, BAD_PE, INSN(CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD, 0, 31, 31));
	ILLEGAL(f, BAD_ACC, INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 8, 0, 15));
	ILLEGAL(f, BAD_ACC, INSN(CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD, 0, 8, 15));
	ILLEGAL(f, BAD_ACC, INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0, 15 | ENABLE));
	ILLEGAL(f, BAD_BASE, INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, XS12, 8, 0, 0));
}

static void test_command_words(void **state)
{
	const uint32_t relu = INSN(CNNACC_HWPE_RELU_WRITE, CNNACC_HWPE_XS1, 0, 0, 0);
	const uint32_t read = INSN(CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD, 0, 0, 0);
	const uint32_t mac = INSN(CNNACC_HWPE_MATRIX_MAC, XS12, 0, 0, 0);
	struct core_jobs *f = *state;

	EXEC(f, CNNACC_SEQ_E_COMMAND, 2, 0, 0, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 3, CNNACC_SEQ_RESULT, 0, 0, 1, 0, 0, 0, 3);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 0, CNNACC_SEQ_RESULT, relu, 0, 0, 0, 1, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 0, CNNACC_SEQ_EVENTS, read, 0, 0, 0, 1, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 0, CNNACC_SEQ_RESULT | CNNACC_SEQ_EVENTS, mac);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 5, 0, read, 0, 0, 0, 1, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 6, 0, read, 0, 0, 0, 0, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 5, 0, INSN(CNNACC_HWPE_RESET, 0, 0, 0, 0), 0, 0, 0, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 6, 0, INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 0, 0, 0),
	     0, 0, 0, 1, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 5, 0, relu, 0, 0, 0, 2);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 5, 0, relu, 0, 0, 0, 2, 1);
	EXEC(f, CNNACC_SEQ_E_COMMAND, 6, 0, relu, 0, 0, 0, 4, 1);
	EXEC(f, C(ILLEGAL), CNNACC_HWPE_BAD_OPCODE, CNNACC_SEQ_EVENTS, 1);
}

/* Fields that name registers of an MCU, and unused ones, are ignored. */
static void test_ignored_fields(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	SA(&a, CNNACC_SEQ_EXEC, 0, INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, XS12, 7, 31, 31), 0, 0, 0, 5, 6);
	SA(&a, CNNACC_SEQ_EXEC, 0, INSN(CNNACC_HWPE_WRITE_FMAP_ADDR, XS12, 2, 31, 31), 0, 0, 0, 7, 8);
	SA(&a, CNNACC_SEQ_EXEC, 0, INSN(CNNACC_HWPE_WRITE_CFG, XS12, 31, 31, 31), 0, 0, 0, 1,
	   CFG1(11, EXP4, 0x3ff));
	SA(&a, CNNACC_SEQ_EXEC, 0, INSN(CNNACC_HWPE_WRITE_ACC, CNNACC_HWPE_XS1, 7, 31, 15), 0, 0, 0,
	   0x80000000);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, BOOT(a) + 5);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_BASE(i)),
				 i == 6 ? 5 : i == 7 ? 6 : i == 2 ? 7 : i == 3 ? 8 : 0);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_CFG(0)), 1);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_CFG(1)), CFG1(11, EXP4, 0x3ff));
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(15, 7)), 0x80000000);
	a.n = 0;
	SA(&a, CNNACC_SEQ_EXEC | CNNACC_SEQ_RESULT, 0,
	   INSN(CNNACC_HWPE_READ_ACC, CNNACC_HWPE_XD, 31, 7, 15), 0, 0, 0, 0, 0, OUT_VA);
	SA(&a, CNNACC_SEQ_EXEC, 0, INSN(CNNACC_HWPE_RESET, 0, 31, 31, 31));
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(out(f)[0], INT32_MIN);
	assert_int_equal(f->stats.cycles, BOOT(a) + 2 + 1 + 1);
	assert_int_equal(f->stats.mem_write_bytes, 4);
	/* The job began with a reset of all but the AccRegs. */
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_CFG(0)), 0);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(15, 7)), 0);
}

/* ---- E_CFG, E_BUSY, E_ENABLE_IDLE, E_DEADLOCK ---- */

static void expect_cfg(struct core_jobs *f, uint32_t cfg0, uint32_t cfg1, uint32_t detail)
{
	struct sasm a = { .n = 0 };

	sa_cfg(&a, cfg0, cfg1);
	sa_end(&a);
	if (!detail) {
		sq_ok(f, &a);
		return;
	}
	sq_fails(f, &a, CNNACC_STATUS_CONFIG, C(CFG), 0, detail);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_CFG(1)), 0);
}

static void test_cfg(void **state)
{
	const uint32_t input = CNNACC_HWPE_CFG_INPUT, special = CNNACC_HWPE_CFG_333;
	struct core_jobs *f = *state;

	for (uint32_t bit = 23; bit < 32; bit++)
		expect_cfg(f, 0, CFG1(0, EXP4, 1) | special | 1u << bit, CNNACC_HWPE_BAD_RESERVED);
	for (uint32_t kernel = 0; kernel < 16; kernel++) {
		bool good = kernel && kernel <= 11;

		expect_cfg(f, 1, CFG1(kernel, TER2, 1), good ? 0 : CNNACC_HWPE_BAD_KERNEL);
		expect_cfg(f, 0, CFG1(kernel, INT8, 1) | special | input,
			   kernel == 3 ? 0 : CNNACC_HWPE_BAD_KERNEL);
	}
	expect_cfg(f, 0, CFG1(3, EXP4, 1) | special | 31 << 8, CNNACC_HWPE_BAD_TYPE);
	expect_cfg(f, 0, CFG1(3, TER2, 1) | input | 31 << 8, CNNACC_HWPE_BAD_TYPE);
	expect_cfg(f, 0, CFG1(3, UINT8, 1) | input | special, 0);
	expect_cfg(f, 0, CFG1(3, UINT8, 1) | special | 31 << 8, CNNACC_HWPE_BAD_LAYER);
	for (uint32_t shift = 0; shift < 32; shift++)
		expect_cfg(f, 0x10000, (CFG1(3, UINT8, 1) & ~(31u << 8)) | shift << 8,
			   shift > 24 ? CNNACC_HWPE_BAD_SHIFT : CNNACC_HWPE_BAD_CH_COUNT);
	expect_cfg(f, 1, CFG1(11, INT8, 0), 0);
}

/* The instructions of a task in each state. */
static void test_states(void **state)
{
	struct core_jobs *f = *state;

	for (uint32_t s = CNNACC_HWPE_IDLE; s <= CNNACC_HWPE_SUSPENDED; s++)
		for (unsigned int insn = 0; insn < 8; insn++) {
			struct sasm a = { .n = 0 };
			bool drains = insn >= 3 && insn <= 6, idle = insn < 3;
			bool good = idle ? s == CNNACC_HWPE_IDLE :
				    drains ? s != CNNACC_HWPE_RUNNING : true;

			small_task(&a, 1, 2, 1);
			if (s == CNNACC_HWPE_SUSPENDED)
				sa_wait(&a, ROUND);
			if (s == CNNACC_HWPE_IDLE)
				sa_reset(&a);
			switch (insn) {
			case 0: sa_bases(&a, 0, 0, SRAM2); break;
			case 1: sa_cfg(&a, 1, CFG1(1, INT8, 1)); break;
			case 2:
				if (s == CNNACC_HWPE_IDLE) {
					bases(&a, 8);
					sa_cfg(&a, 1, CFG1(1, INT8, 1));
				}
				sa_mac(&a, COUNTS(1, 1), 0);
				break;
			case 3: sa_write_acc(&a, 0, 0, 1); break;
			case 4: sa_read_acc(&a, 0, 0, 0, OUT_VA); break;
			case 5: sa_relu(&a, 0, 0, OUT_VA); break;
			case 6: sa_drain(&a, 0, OUT_VA); break;
			case 7: sa_reset(&a); break;
			}
			sa_end(&a);
			if (good)
				sq_ok(f, &a);
			else
				sq_bad(f, &a, C(BUSY), a.n - 2, s);
		}
}

/* The enable flag wants a SUSPENDED task, E_BUSY comes first; DRAIN writes nothing then. */
static void test_enable(void **state)
{
	struct core_jobs *f = *state;

	for (unsigned int running = 0; running < 2; running++)
		for (unsigned int insn = 0; insn < 3; insn++) {
			struct sasm a = { .n = 0 };

			if (running)
				small_task(&a, 1, 1, 1);
			if (insn == 0)
				sa_read_acc(&a, 0, 0, ENABLE, OUT_VA);
			else if (insn == 1)
				sa_relu(&a, 0, ENABLE, OUT_VA);
			else
				sa_drain(&a, CNNACC_SEQ_RESUME, OUT_VA);
			memset(f->data + 8 * PAGE, 0xee, 64);
			sq_bad(f, &a, running ? C(BUSY) : C(ENABLE_IDLE), a.n - 1,
			       running ? CNNACC_HWPE_RUNNING : 0);
			assert_int_equal(out(f)[0], (int32_t)0xeeeeeeee);
		}
}

static void test_wait(void **state)
{
	const uint32_t idle = CNNACC_HWPE_WAIT_IDLE, masks[] = { ROUND, idle, ROUND | idle };
	struct core_jobs *f = *state;

	for (uint32_t s = CNNACC_HWPE_IDLE; s <= CNNACC_HWPE_SUSPENDED; s++)
		for (unsigned int i = 0; i < 3; i++) {
			struct sasm a = { .n = 0 };
			bool good = masks[i] & (s == CNNACC_HWPE_IDLE ? idle : ROUND);

			if (s != CNNACC_HWPE_IDLE)
				small_task(&a, 1, 1, 1);
			if (s == CNNACC_HWPE_SUSPENDED)
				sa_wait(&a, ROUND);
			sa_wait(&a, masks[i]);
			sa_end(&a);
			if (!good) {
				sq_fails(f, &a, CNNACC_STATUS_DEADLOCK, CNNACC_SEQ_E_DEADLOCK, a.n - 2, 0);
				continue;
			}
			sq_ok(f, &a);
			assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_STATUS) & 3,
					 s == CNNACC_HWPE_IDLE ? 0 : CNNACC_HWPE_SUSPENDED);
			assert_int_equal(f->stats.events, s != CNNACC_HWPE_IDLE);
		}
}

static void test_mac_without_a_task(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	sa_mac(&a, 0, 0);
	sq_fails(f, &a, CNNACC_STATUS_CONFIG, C(CFG), 0, CNNACC_HWPE_BAD_KERNEL);
	a.n = 0;
	sa_bases(&a, 0, 1 << 30, 0);
	sa_cfg(&a, 1, CFG1(1, INT8, 1));
	sa_mac(&a, COUNTS(0, 5), 1);
	sa_mac(&a, COUNTS(5, 0), 2);
	sa_cfg(&a, 1, CFG1(1, INT8, 0));
	sa_mac(&a, COUNTS(5, 5), 3);
	sa_wait(&a, CNNACC_HWPE_WAIT_IDLE);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.compute_cycles, 0);
	assert_int_equal(f->stats.cycles, BOOT(a) + 8);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_MAC(1)), 0);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ROUNDS), 0);
}

/* ---- E_CONFLICT ---- */

static void test_conflict(void **state)
{
	struct core_jobs *f = *state;

	for (uint32_t memory = 0; memory < 3; memory++)
		for (unsigned int i = 0; i < 4; i++) {
			struct sasm a = { .n = 0 };

			small_task(&a, 1, 1, 1);
			if (i == 3)
				sa_wait(&a, ROUND);
			SA(&a, i == 1 ? CNNACC_SEQ_FILL : CNNACC_SEQ_COPY2D, memory, 0, 0xffffffff);
			sa_end(&a);
			if (i == 2)
				a.c[a.n - 2].op |= CNNACC_SEQ_TO_MEMORY;
			if (i == 3)
				sq_ok(f, &a);
			else
				sq_bad(f, &a, CNNACC_SEQ_E_CONFLICT, a.n - 2, memory);
		}
}

/* ---- addresses ---- */

struct place {
	uint32_t base[8];
	uint32_t cfg0, cfg1, counts, strides;
	uint32_t code, detail, rounds;	/* code 0: good */
};

static void expect_place(struct core_jobs *f, const struct place *p)
{
	struct sasm a = { .n = 0 };
	uint32_t i;

	for (i = 0; i < 8; i += 2)
		sa_bases(&a, i, p->base[i], p->base[i + 1]);
	sa_cfg(&a, p->cfg0, p->cfg1);
	sa_mac(&a, p->counts, p->strides);
	for (i = 0; i < p->rounds; i++) {
		sa_wait(&a, ROUND);
		sa_drain(&a, CNNACC_SEQ_RESUME, OUT_VA);
	}
	if (!p->code) {
		sa_end(&a);
		sq_ok(f, &a);
		return;
	}
	memset(f->data + 8 * PAGE, 0xee, 64);
	sq_bad(f, &a, p->code, a.n - 1, p->detail);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_STATUS) & 3,
			 p->rounds ? CNNACC_HWPE_SUSPENDED : CNNACC_HWPE_IDLE);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ROUND), p->rounds);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_MAC(0)), p->rounds ? p->counts : 0);
	/* The failing DRAIN's earlier writes remain. */
	assert_int_equal(out(f)[0] == (int32_t)0xeeeeeeee, !p->rounds);
}

#define EVEN(n)	{ 0, SRAM2, 0, SRAM2, 0, SRAM2, n, SRAM2 }
#define ODD(n)	{ 0, SRAM2, 0, SRAM2, 0, SRAM2, 0, n }
#define ONE	COUNTS(1, 1)

static void test_addresses(void **state)
{
	const uint32_t input = CNNACC_HWPE_CFG_INPUT, special = CNNACC_HWPE_CFG_333 | input;
	const struct place places[] = {
		/* an inner layer: words, of 3 columns 100 bytes apart */
		{ EVEN(FMAP - 8), 1, CFG1(1, INT8, 1), ONE, 0, 0, 0, 0 },
		{ EVEN(FMAP - 1), 1, CFG1(1, INT8, 1), ONE, 0, 0, 0, 0 },
		{ EVEN(FMAP), 1, CFG1(1, INT8, 1), ONE, 0, C(ADDR), 6, 0 },
		{ ODD(SRAM2 + FMAP - 8), 1, CFG1(1, INT8, 1), ONE, 0, 0, 0, 0 },
		{ ODD(SRAM2 + FMAP), 1, CFG1(1, INT8, 1), ONE, 0, C(ADDR), 7, 0 },
		{ EVEN(FMAP - 208 - 1), 100 << 16 | 2, CFG1(3, INT8, 1), ONE, 0, 0, 0, 0 },
		{ EVEN(FMAP - 208), 100 << 16 | 2, CFG1(3, INT8, 1), ONE, 0, C(ADDR), 6, 0 },
		/* an input layer: bytes */
		{ EVEN(FMAP - 8), 1, CFG1(1, INT8, 1) | input, ONE, 0, 0, 0, 0 },
		{ EVEN(FMAP - 7), 1, CFG1(1, INT8, 1) | input, ONE, 0, C(ADDR), 6, 0 },
		/* Kernel_333: 2 * offset + 17, of both rows of a base; bases 4 to 7 are not used */
		{ { 0, SRAM2, FMAP - 218, SRAM2, -1, -1, -1, -1 }, 100 << 16, CFG1(3, INT8, 1) | special,
		  ONE, 0, 0, 0, 0 },
		{ { 0, SRAM2, FMAP - 217, 0 }, 100 << 16, CFG1(3, INT8, 1) | special, ONE, 0, C(ADDR), 2,
		  0 },
		{ { 0, SRAM2, 0, 2 * SRAM2 - 217 }, 100 << 16, CFG1(3, INT8, 1) | special, ONE, 0, C(ADDR),
		  3, 0 },
		{ { 0, SRAM2, SRAM2 - 217, 0 }, 100 << 16, CFG1(3, INT8, 1) | special, ONE, 0,
		  C(FMAP_2ADDR), 2, 0 },
		/* the order of the checks */
		{ EVEN(SRAM2), 1, CFG1(1, INT8, 1), ONE, 0, C(FMAP_2ADDR), 6, 0 },
		{ ODD(0), 1, CFG1(1, INT8, 1), ONE, 0, C(FMAP_2ADDR), 7, 0 },
		{ ODD(2 * SRAM2 - 8), 1, CFG1(1, INT8, 1), ONE, 0, C(ADDR), 7, 0 },
		{ ODD(2 * SRAM2), 1, CFG1(1, INT8, 1), ONE, 0, C(ADDR), 7, 0 },
		{ EVEN(SRAM2 - 8), 2, CFG1(1, INT8, 1), ONE, 0, C(FMAP_2ADDR), 6, 0 },
		{ EVEN(0xffffffff), 0xffffu << 16 | 0xffff, CFG1(11, INT8, 1), ONE, 0, C(FMAP_2ADDR),
		  0, 0 },
		{ ODD(0xfffffff8), 1, CFG1(1, INT8, 1), ONE, 0, C(ADDR), 7, 0 },
		{ { 8, SRAM2, SRAM2, 0 }, 1, CFG1(1, INT8, 1), ONE, 0, C(FMAP_2ADDR), 2, 0 },
		/* later windows; 64-bit sums */
		{ EVEN(FMAP - 16), 1, CFG1(1, INT8, 1), COUNTS(1, 3), 8, C(ADDR), 6, 2 },
		{ EVEN(FMAP - 24), 1, CFG1(1, INT8, 1), COUNTS(2, 2), 8 | 16 << 16, C(ADDR), 6, 3 },
		{ EVEN(FMAP - 32), 1, CFG1(1, INT8, 1), COUNTS(2, 2), 8 | 16 << 16, 0, 0, 4 },
		{ EVEN(FMAP - 9), 1, CFG1(1, INT8, 1) | input, COUNTS(1, 3), 1, C(ADDR), 6, 2 },
		{ { 0, SRAM2, 0, SRAM2 + FMAP - 219 }, 100 << 16, CFG1(3, UINT8, 1) | special, COUNTS(3, 1),
		  1 << 16, C(ADDR), 3, 2 },
		/* the kernel memory holds 256 rounds; two groups of 128, three of 100 */
		{ EVEN(0), 128, CFG1(1, INT8, 2), ONE, 0, 0, 0, 2 },
		{ EVEN(0), 100, CFG1(1, INT8, 3), ONE, 0, C(ADDR), 8, 2 },
		{ EVEN(0), 257, CFG1(1, INT8, 1), ONE, 0, C(ADDR), 8, 0 },
	};
	struct core_jobs *f = *state;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		expect_place(f, &places[i]);
}

/* ALIGN and what an inner layer reads then. */
static void test_align(void **state)
{
	struct core_jobs *f = *state;

	for (unsigned int i = 0; i < 5; i++) {
		const uint32_t input = i == 4 ? CNNACC_HWPE_CFG_INPUT : 0;
		struct sasm a = { .n = 0 };

		for (unsigned int j = 0; j < 64; j++)
			f->data[j] = (uint8_t)j;
		memset(f->data + PAGE, 0, 256);
		f->data[PAGE] = 1;
		sa_load(&a, 0, DATA_VA, 0, 64);
		sa_load(&a, 2, DATA_VA + PAGE, 0, 256);
		bases(&a, 0);
		sa_bases(&a, 0, i == 1 ? 13 : i == 4 ? 15 : 8, SRAM2);
		sa_cfg(&a, (i == 2 ? 9 : 8) << 16 | 1, CFG1(i == 3 ? 1 : 2, INT8, 1) | input);
		sa_mac(&a, ONE, 0);
		sa_wait(&a, ROUND);
		sa_drain(&a, CNNACC_SEQ_RESUME, OUT_VA);
		sa_end(&a);
		sq_ok(f, &a);
		assert_int_equal(out(f)[0], i == 4 ? 15 : 8);
		assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_STATUS) & CNNACC_HWPE_STATUS_ALIGN,
				 i == 1 || i == 2 ? CNNACC_HWPE_STATUS_ALIGN : 0);
	}
}

/* ---- registers, counters ---- */

static void test_task_registers(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	small_task(&a, 2, 1, 2);
	a.c[a.n - 1].op |= CNNACC_SEQ_EVENTS;
	for (unsigned int i = 0; i < 4; i++) {
		sa_wait(&a, ROUND);
		sa_drain(&a, CNNACC_SEQ_RESUME, OUT_VA);
	}
	sa_end(&a);
	f->flags = CNNACC_PACKET_EVENT_WAIT;
	sq_submit(f, &a);
	for (unsigned int i = 1; i <= 4; i++) {
		mh_work(f->h, 0);
		assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_EVENT_COUNT), i);
		assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_STATUS),
				 CNNACC_HWPE_SUSPENDED | (i == 4 ? CNNACC_HWPE_STATUS_LAST : 0));
		assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ROUND), i);
		assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ROUNDS), 4);
		assert_int_equal(cj_reg(f, CNNACC_SEQ_REG_PC), 5 + 2 * i);
		mh_qwrite(f->h, 0, CNNACC_QREG_EVENT_ACK, 1);
	}
	mh_work(f->h, 0);
	assert_true(cj_done(f));
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_STATUS), CNNACC_HWPE_IDLE);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ROUND), 4);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_MAC(0)), COUNTS(2, 1));
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_MAC(1)), 8 << 16 | 16);
	assert_int_equal(f->stats.events, 4);
	/* Rounds count, raised or not. */
	f->flags = 0;
	a.c[5].op = CNNACC_SEQ_EXEC;
	sq_ok(f, &a);
	assert_int_equal(f->stats.events, 4);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_EVENT_COUNT), 4);
}

static void test_cycles_and_counters(void **state)
{
	static const struct {
		uint32_t cfg0, cfg1, rounds, a, useful, elements;
	} layers[] = {
		{ 5, CFG1(2, INT8, 1), 10, 8, 80, 8 },
		{ 5, CFG1(2, EXP4, 1), 10, 8, 160, 16 },
		{ 5, CFG1(2, TER2, 1), 10, 8, 320, 32 },
		{ 2, CFG1(5, UINT8, 1) | CNNACC_HWPE_CFG_INPUT, 10, 9, 75, 8 },
		{ 1, CFG1(5, UINT8, 1) | CNNACC_HWPE_CFG_INPUT, 5, 9, 40, 8 },
		{ 9, CFG1(3, INT8, 1) | CNNACC_HWPE_CFG_INPUT | CNNACC_HWPE_CFG_333, 4, 11, 27, 8 },
	};
	struct core_jobs *f = *state;

	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		uint32_t rounds = layers[i].rounds, first = 8 * rounds + 12;
		uint32_t second = 8 * rounds + layers[i].a, drain = 1 + 8 * 16 + 16;
		struct sasm a = { .n = 0 };

		bases(&a, 8);
		sa_cfg(&a, layers[i].cfg0, layers[i].cfg1);
		sa_mac(&a, COUNTS(1, 2), 0);
		sa_wait(&a, ROUND);
		sa_irq(&a, 0);
		SA(&a, CNNACC_SEQ_DRAIN | CNNACC_SEQ_RESUME, 8, OUT_VA + 4, 0, 0, 0, 64);
		sa_wait(&a, ROUND);
		sa_read_acc(&a, 0, 0, 0, OUT_VA);
		sa_read_acc(&a, 0, 0, 0, OUT_VA);
		sa_relu(&a, 0, ENABLE, OUT_VA);
		sa_end(&a);
		sq_ok(f, &a);
		assert_int_equal(f->stats.cycles, BOOT(a) + 6 + first + 1 + drain + second +
				 2 + 2 + 6 + 1);
		assert_int_equal(f->stats.cycles_serial, f->stats.cycles + 2);
		assert_int_equal(f->stats.compute_cycles, first + second);
		assert_int_equal(f->stats.stall_cycles, 1 + drain + 10);
		assert_int_equal(f->stats.mac_slots, 2 * 128 * rounds * layers[i].elements);
		assert_int_equal(f->stats.mac_useful, (128 + 16) * layers[i].useful);
		assert_int_equal(f->stats.local_read_bytes, 2 * 192 * rounds);
		assert_int_equal(f->stats.mem_write_bytes, 512 + 4 + 4 + 16);
		assert_int_equal(f->stats.events, 3);
		assert_int_equal(f->stats.instructions, a.n);
	}
}

/* A window ends at its time, whether or not a WAIT polls for it. */
static void test_reset_in_a_window(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	memset(f->data, 1, 64);
	sa_load(&a, 0, DATA_VA, 0, 64);
	sa_load(&a, 2, DATA_VA, 0, 64);
	SA(&a, CNNACC_SEQ_FILL, 2, 1, 0, 1, 128);
	small_task(&a, 1, 2, 1);
	sa_reset(&a);
	sa_read_acc(&a, 0, 0, 0, OUT_VA);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(out(f)[0], 8);
	assert_int_equal(f->stats.mac_useful, 8);
	assert_int_equal(f->stats.cycles, BOOT(a) + 18 + 18 + 3 + 6 + 20);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_STATUS), 0);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_BASE(1)), 0);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_MAC(0)), 0);
	/* The next one waits for the PEs. */
	a.n -= 2;
	small_task(&a, 1, 1, 1);
	sa_end(&a);
	sq_ok(f, &a);
	assert_int_equal(f->stats.cycles, BOOT(a) + 18 + 18 + 3 + 6 + 20 + 20);
	/* The time limit sees it too, at the command that starts it. */
	f->limit = f->stats.cycles - 1;
	sq_fails(f, &a, CNNACC_STATUS_TIME_LIMIT, CNNACC_CODE_TIME_LIMIT, a.n - 2, 0);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(0, 0)), 32);
}

/* ---- DRAIN ---- */

static void test_drain_places(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	memset(f->data + 8 * PAGE, 0xee, PAGE);
	for (uint32_t n = 0; n < 8; n++)
		for (uint32_t pe = 0; pe < 16; pe += 15)
			sa_write_acc(&a, pe, n, 100 * n + pe);
	SA(&a, CNNACC_SEQ_DRAIN, 5, OUT_VA + 60, 2, 2, 512, 68);
	sa_drain(&a, 0, OUT_VA + 2048);
	sa_end(&a);
	sq_ok(f, &a);
	for (uint32_t n = 0; n < 8; n++) {
		uint32_t at = n >= 2 && n < 7 ? 60 + (n - 2) / 2 * 512 + (n - 2) % 2 * 68 : 0;
		const int32_t *row = out(f) + 512 + 16 * n;

		assert_int_equal(row[0], at ? 0 : 100 * n);
		assert_int_equal(row[15], at ? 0 : 100 * n + 15);
		if (!at)
			continue;
		assert_int_equal(out(f)[at / 4], 100 * n);
		assert_int_equal(out(f)[at / 4 + 15], 100 * n + 15);
	}
	assert_int_equal(out(f)[14], (int32_t)0xeeeeeeee);
	assert_int_equal(out(f)[31], (int32_t)0xeeeeeeee);
	/* 60: two lines, 128: one, 572: two, 640: one, 1084: two. */
	assert_int_equal(f->stats.cycles, BOOT(a) + 16 + 1 + 5 * 16 + 8 + 1 + 8 * 17 + 1);
	assert_int_equal(f->stats.mem_write_bytes, 13 * 64);
}

static void test_drain_refused(void **state)
{
	struct core_jobs *f = *state;
	struct sasm a = { .n = 0 };

	memset(f->data + 8 * PAGE, 0xee, 2 * PAGE);
	*mh_pte(f->h, &f->space, OUT_VA + PAGE) &= ~CNNACC_PTE_WRITE;
	for (uint32_t n = 0; n < 8; n++)
		sa_write_acc(&a, 3, n, 1 + n);
	SA(&a, CNNACC_SEQ_DRAIN, 8, OUT_VA + PAGE - 96, 0, 0, 0, 64);
	sq_fails(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_SEQ_E_DMA, 8, CNNACC_FAULT_PERM);
	assert_int_equal(f->done.fault_va, OUT_VA + PAGE);
	assert_int_equal(out(f)[(PAGE - 96) / 4 + 3], 1);
	assert_int_equal(out(f)[(PAGE - 96) / 4 + 16 + 3], 2);
	assert_int_equal(out(f)[PAGE / 4], (int32_t)0xeeeeeeee);
	for (uint32_t n = 0; n < 8; n++)
		assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(3, n)), n < 2 ? 0 : 1 + n);
	assert_int_equal(f->stats.mem_write_bytes, 0);
	a.n = 8;
	SA(&a, CNNACC_SEQ_DRAIN, 2, 0xfffffffc, 0, 1, 0xfffffffc, 0);
	sq_fails(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_SEQ_E_DMA, 8, CNNACC_FAULT_DIR);
	assert_int_equal(f->done.fault_va, 0xffffffc0);
	a.n = 8;
	sa_relu(&a, 1, 0, OUT_VA + PAGE - 8);
	sq_fails(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_SEQ_E_DMA, 8, CNNACC_FAULT_PERM);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(3, 1)), 0);
	a.n = 8;
	sa_read_acc(&a, 3, 1, 0, OUT_VA + PAGE);
	sq_fails(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_SEQ_E_DMA, 8, CNNACC_FAULT_PERM);
	assert_int_equal(cj_reg(f, CNNACC_HWPE_REG_ACC(3, 1)), 0);
}

/* ---- vectors ---- */

/* Specification 10.3. */
static void test_relu_vectors(void **state)
{
	static const struct {
		uint32_t shift;
		int32_t value;
		uint8_t out;
	} vectors[] = {
		{ 0, -1, 0 }, { 0, 0, 0 }, { 0, 255, 255 }, { 0, 256, 255 }, { 8, 255, 0 },
		{ 8, 256, 1 }, { 8, 65535, 255 }, { 8, 65536, 255 }, { 8, 511, 1 },
		{ 24, INT32_MAX, 127 }, { 24, INT32_MIN, 0 },
	};
	struct core_jobs *f = *state;

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct sasm a = { .n = 0 };

		sa_cfg(&a, 1, 1 | vectors[i].shift << 8);
		sa_write_acc(&a, i, 5, (uint32_t)vectors[i].value);
		sa_relu(&a, 5, 0, OUT_VA + 4);
		sa_relu(&a, 5, 0, OUT_VA + 20);
		sa_end(&a);
		memset(f->data + 8 * PAGE, 0xee, 64);
		sq_ok(f, &a);
		for (unsigned int q = 0; q < 16; q++) {
			assert_int_equal(f->data[8 * PAGE + 4 + q], q == i ? vectors[i].out : 0);
			assert_int_equal(f->data[8 * PAGE + 20 + q], 0);
		}
		assert_int_equal(f->data[8 * PAGE + 3], 0xee);
		assert_int_equal(f->data[8 * PAGE + 36], 0xee);
		assert_int_equal(f->stats.cycles, BOOT(a) + 1 + 1 + 6 + 6 + 1);
	}
}

/** struct vector - a case of specification 10.2. */
struct vector {
	uint32_t h, w, c, k, ks, st;
	uint32_t cfg[2], mac[2];
	int32_t first[4], last[4];	/* AccReg 0 of PE 0..3, 7 of PE 12..15 */
	uint32_t crc, fm[2], km;	/* of the results and of the images */
};

static uint32_t type_of(const struct vector *v)
{
	return v->cfg[1] >> CNNACC_HWPE_CFG_TYPE_SHIFT & 3;
}

static uint32_t bits_of(const struct vector *v)
{
	return type_of(v) == CNNACC_HWPE_TER2 ? 2 : type_of(v) == CNNACC_HWPE_EXP4 ? 4 : 8;
}

static uint32_t code_of(const struct vector *v, uint32_t i, uint32_t salt)
{
	static const uint8_t ter2[] = { 0, 1, 3 };
	uint32_t code = (i * 37 + salt * 11 + (i >> 3) * 5) & 0xff;

	if (type_of(v) == CNNACC_HWPE_TER2)
		return ter2[code % 3];
	return type_of(v) == CNNACC_HWPE_EXP4 ? code % 16 : code;
}

static void put(uint8_t *image, uint32_t element, uint32_t bits, uint32_t code)
{
	image[element * bits / 8] |= (uint8_t)(code << element * bits % 8);
}

/* One half of the map; returns its bytes. */
static uint32_t pack_fmap(const struct vector *v, unsigned int half, uint8_t *image)
{
	bool special = v->cfg[1] & CNNACC_HWPE_CFG_333;
	uint32_t w_count = v->mac[0] >> 16, h_count = v->mac[0] & 0xffff;
	uint32_t columns = (w_count - 1) * v->st + v->ks, x0 = half * w_count * v->st;
	uint32_t rows = special ? (v->h + v->ks - v->st) / 2 : v->h, n = 0;

	for (uint32_t x = 0; x < columns; x++)
		for (uint32_t y = 0; y < rows; y++)
			for (uint32_t c = 0; c < v->c; c++)
				for (uint32_t p = 0; p < 1u + special; p++) {
					uint32_t row = y + p * 2 * h_count * v->st;

					put(image, n++, bits_of(v),
					    code_of(v, ((x0 + x) * v->h + row) * v->c + c, 1));
				}
	return n * bits_of(v) / 8;
}

/* Element of a column, zeros of the padding included, of kernel element @e. */
static uint32_t padded(const struct vector *v, uint32_t e)
{
	uint32_t slice = v->ks * v->c;

	if (v->cfg[1] & CNNACC_HWPE_CFG_333)
		return e < 22 ? e : e + 2;
	if (v->cfg[1] & CNNACC_HWPE_CFG_INPUT)
		return e / slice * ((slice + 7) / 8 * 8) + e % slice;
	return e;
}

/* Groups of 16 kernels; returns bytes of all. */
static uint32_t pack_kernels(const struct vector *v, uint8_t *image)
{
	uint32_t all = v->ks * v->ks * v->c, per_word = 64 / bits_of(v);
	uint32_t words = padded(v, all - 1) / per_word + 1;

	for (uint32_t k = 0; k < v->k; k++)
		for (uint32_t e = 0; e < all; e++) {
			uint32_t at = padded(v, e), word = k / 16 * words + at / per_word;

			put(image + word * 128 + k % 16 * 8, at % per_word, bits_of(v),
			    code_of(v, k * all + e, 5));
		}
	return v->k / 16 * words * 128;
}

static const struct vector vectors[] = {
	{ 6, 4, 8, 16, 3, 1, { 0x00300003, 0x00002833 }, { 0x00010001, 0x00300008 },
	  { 36696, -80220, -54800, 26428 }, { -39396, 11632, -66364, -48616 },
	  0x26e64f95, { 0x603c8e64, 0x71e256d4 }, 0xb240311c },
	{ 10, 6, 16, 32, 3, 1, { 0x00a00006, 0x00004833 }, { 0x00020002, 0x00a00010 },
	  { -36088, -109656, -17592, -144664 }, { 300616, -34712, -148344, -21848 },
	  0xeb9a1915, { 0x67fe416b, 0x208e75bc }, 0xc3ac0559 },
	{ 6, 4, 8, 16, 3, 1, { 0x00300003, 0x00002803 }, { 0x00010001, 0x00300008 },
	  { -49320, -21596, -48144, -18884 }, { 140060, 2160, -68156, 22808 },
	  0xb0365c86, { 0x603c8e64, 0x71e256d4 }, 0xb240311c },
	{ 6, 4, 16, 16, 3, 1, { 0x00300003, 0x00002823 }, { 0x00010001, 0x00300008 },
	  { 40566, -48366, 40566, 0 }, { 0, -40566, 48366, -40566 },
	  0x4898d4c4, { 0x47c1799f, 0xa3253bd1 }, 0x102f5d9f },
	{ 6, 4, 32, 16, 3, 1, { 0x00300003, 0x00002813 }, { 0x00010001, 0x00300008 },
	  { 2, 9, 8, 13 }, { 12, 15, 11, 13 },
	  0xceb8140f, { 0xc9a1b84c, 0x996c7adf }, 0xd2469fb7 },
	{ 8, 6, 3, 16, 5, 1, { 0x00180002, 0x00002875 }, { 0x00010001, 0x00180003 },
	  { -9297, 42258, 70278, 81324 }, { -63168, -44968, -38732, -59725 },
	  0x0d88badd, { 0x44fed835, 0x687d1154 }, 0x38dfbc27 },
	{ 13, 9, 3, 16, 7, 2, { 0x00270003, 0x00002847 }, { 0x00010001, 0x004e0006 },
	  { -58029, -5316, 31257, -38251 }, { 34947, -188975, 31610, -32782 },
	  0x909cc6cb, { 0x519e643e, 0x51cb7172 }, 0x0bd457be },
	{ 10, 10, 3, 16, 3, 1, { 0x00240003, 0x000028f3 }, { 0x00040002, 0x00240006 },
	  { 37208, 86225, 114335, 112875 }, { -57654, -61124, -61073, -64223 },
	  0x16646ecd, { 0x3ce77a40, 0x9a4c969a }, 0x85924870 },
	{ 17, 9, 3, 16, 3, 2, { 0x00360003, 0x000028c3 }, { 0x00020002, 0x006c000c },
	  { -78667, -47681, -36132, -61647 }, { 65247, 38402, 11982, -17403 },
	  0x91dff3fc, { 0x3f72d6af, 0xb1dffd49 }, 0x85924870 },
};

static void vector_program(struct sasm *a, const struct vector *v, const uint32_t bytes[3],
			   uint32_t windows)
{
	bool special = v->cfg[1] & CNNACC_HWPE_CFG_333;
	uint32_t step = (v->mac[0] & 0xffff) * (v->mac[1] & 0xffff);

	for (uint32_t i = 0; i < 3; i++)
		sa_load(a, i, DATA_VA + i * PAGE, 0, bytes[i]);
	for (uint32_t i = 0; i < (special ? 4 : 8); i += 2)
		sa_bases(a, i, i / 2 * step, SRAM2 + i / 2 * step);
	sa_cfg(a, v->cfg[0], v->cfg[1]);
	sa_mac(a, v->mac[0], v->mac[1]);
	SA(a, CNNACC_SEQ_LOOP, 2, windows, CNNACC_SEQ_STEP(1, 0, 0), 512);
	sa_wait(a, ROUND);
	sa_drain(a, CNNACC_SEQ_RESUME, OUT_VA);
	sa_end(a);
}

static void check_vector(struct core_jobs *f, const struct vector *v)
{
	uint32_t windows = (v->mac[0] >> 16) * (v->mac[0] & 0xffff) * (v->k / 16), bytes[3];
	struct sasm a = { .n = 0 };

	memset(f->data, 0, DATA_PAGES * PAGE);
	for (unsigned int half = 0; half < 2; half++) {
		bytes[half] = pack_fmap(v, half, f->data + half * PAGE);
		assert_int_equal(mh_crc32(f->data + half * PAGE, bytes[half]), v->fm[half]);
	}
	/* The left SRAM may be read beyond the map; the kernel elements for those words are 0. */
	memset(f->data + PAGE + bytes[1], 0xa5, 8);
	bytes[2] = pack_kernels(v, f->data + 2 * PAGE);
	assert_int_equal(mh_crc32(f->data + 2 * PAGE, bytes[2]), v->km);
	vector_program(&a, v, bytes, windows);
	sq_ok(f, &a);
	for (unsigned int q = 0; q < 4; q++) {
		assert_int_equal(out(f)[q], v->first[q]);
		assert_int_equal(out(f)[7 * 16 + 12 + q], v->last[q]);
	}
	assert_int_equal(mh_crc32(out(f), windows * 512), v->crc);
}

/* Specification 10.2, also with a budget that ends in every window. */
static void test_vectors(void **state)
{
	struct core_jobs *f = *state;

	for (uint32_t budget = 1; budget <= MH_BUDGET_NS; budget *= 1000)
		for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
			f->h->budget_ns = budget;
			check_vector(f, &vectors[i]);
		}
}

/* ---- any window against the formula ---- */

struct machine {
	uint8_t fmap[2][FMAP], kernel[KERNEL];
	int32_t acc[8][16];
	bool bad_ter2;
};

/** struct shape - a task of one window. */
struct shape {
	uint32_t type, kernel, words, offset, base[8];
	bool input, special;
};

static int32_t value_of(uint64_t word, uint32_t e, uint32_t type, bool left)
{
	uint32_t bits = type == CNNACC_HWPE_TER2 ? 2 : type == CNNACC_HWPE_EXP4 ? 4 : 8;
	uint32_t code = word >> e * bits & ((1u << bits) - 1);

	if (type == CNNACC_HWPE_TER2)
		return code == 1 ? 1 : code ? -1 : 0;
	if (type == CNNACC_HWPE_EXP4)
		return code & 7 ? (code & 8 ? -1 : 1) * (1 << ((code & 7) - 1)) : 0;
	return type == CNNACC_HWPE_UINT8 && left ? (int32_t)code : (int8_t)code;
}

static uint64_t left_word(const struct machine *m, const struct shape *s, uint32_t i, uint32_t t)
{
	uint32_t j = s->special ? i / 2 : i;
	uint32_t at = s->base[j] % SRAM2 + t / s->words * s->offset, n;
	uint64_t word = 0;

	if (!s->special) {
		at = (s->input ? at : at & ~7u) + t % s->words * 8;
		memcpy(&word, &m->fmap[j % 2][at], 8);
		return word;
	}
	for (n = 0; n < 8; n++) {
		uint32_t e = t < 2 ? 8 * t + n : t == 2 ? 16 + n : 22 + n;

		if (t < 2 || n < (t == 2 ? 6 : 5))
			word |= (uint64_t)m->fmap[j % 2][s->base[j] % SRAM2 + e / 9 * s->offset +
							 e % 9 * 2 + i % 2] << 8 * n;
	}
	return word;
}

static void formula(struct machine *m, const struct shape *s)
{
	uint32_t rounds = s->special ? 4 : s->kernel * s->words, n;

	n = s->type == CNNACC_HWPE_TER2 ? 32 : s->type == CNNACC_HWPE_EXP4 ? 16 : 8;
	for (uint32_t t = 0; t < rounds; t++)
		for (uint32_t i = 0; i < 8; i++)
			for (uint32_t q = 0; q < 16; q++) {
				uint64_t left = left_word(m, s, i, t), right;
				int64_t sum = m->acc[i][q];

				memcpy(&right, &m->kernel[(t * 16 + q) * 8], 8);
				for (uint32_t e = 0; e < n; e++)
					sum += value_of(left, e, s->type, true) *
					       value_of(right, e, s->type, false);
				if (s->type == CNNACC_HWPE_TER2)
					m->bad_ter2 |= ((left >> 1 & ~left) | (right >> 1 & ~right)) &
						       0x5555555555555555u;
				m->acc[i][q] = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN :
					       (int32_t)sum;
			}
}

static struct shape any_shape(uint64_t *seed)
{
	struct shape s = { .type = mh_random(seed) % 4 };
	uint32_t most;

	s.kernel = 1 + mh_random(seed) % 11;
	s.input = (s.type == CNNACC_HWPE_UINT8 || s.type == CNNACC_HWPE_INT8) &&
		  mh_random(seed) % 2;
	s.special = s.input && mh_random(seed) % 3 == 0;
	if (s.special)
		s.kernel = 3;
	most = KERNEL / 128 / s.kernel;
	s.words = 1 + mh_random(seed) % (mh_random(seed) % 2 ? most : 12 < most ? 12 : most);
	s.offset = mh_random(seed) % 400;
	for (uint32_t i = 0; i < 8; i++)
		s.base[i] = mh_random(seed) % 1500 + i % 2 * SRAM2;
	return s;
}

static uint32_t cfg1_of(const struct shape *s)
{
	return s->kernel | s->type << 4 | (s->input ? CNNACC_HWPE_CFG_INPUT : 0) |
	       (s->special ? CNNACC_HWPE_CFG_333 : 0) | 1 << CNNACC_HWPE_CFG_K_SHIFT;
}

/* AccRegs at first: small, or so large that they reach their limits and leave them again. */
static int32_t any_acc(uint64_t *seed)
{
	int32_t value = (int32_t)mh_random(seed);

	if (*seed & 1 << 20)
		return value % 1000;
	return value % 100000 + (value < 0 ? INT32_MIN + 100000 : INT32_MAX - 100000);
}

static uint8_t any_byte(const struct shape *s, uint32_t kind, uint64_t *seed)
{
	uint32_t byte = mh_random(seed) & 0xff;

	/* TER2 without 10, and the largest products. */
	if (kind == 1 && s->type == CNNACC_HWPE_TER2)
		return (uint8_t)(byte | (byte >> 1 & 0x55));
	return kind == 2 ? byte & 1 ? 0x80 : 0xff : (uint8_t)byte;
}

static void check_window(struct core_jobs *f, struct machine *m, uint64_t *seed)
{
	struct shape s = any_shape(seed);
	struct sasm a = { .n = 0 };
	uint32_t kind = mh_random(seed) % 4;
	bool large = mh_random(seed) % 4 == 0;

	for (uint32_t i = 0; i < FMAP; i++) {
		f->data[i] = m->fmap[0][i] = any_byte(&s, kind, seed);
		f->data[FMAP + i] = m->fmap[1][i] = any_byte(&s, kind, seed);
	}
	for (uint32_t i = 0; i < KERNEL / 2; i++)
		f->data[2 * FMAP + i] = m->kernel[i] = any_byte(&s, kind, seed);
	memset(m->kernel + KERNEL / 2, m->kernel[0], KERNEL / 2);
	m->bad_ter2 = false;
	sa_load(&a, 0, DATA_VA, 0, FMAP);
	sa_load(&a, 1, DATA_VA + FMAP, 0, FMAP);
	sa_load(&a, 2, DATA_VA + 2 * FMAP, 0, KERNEL / 2);
	SA(&a, CNNACC_SEQ_FILL, 2, m->kernel[0], KERNEL / 2, 1, KERNEL / 2);
	sa_end(&a);
	sq_ok(f, &a);
	a.n = 0;
	memset(m->acc, 0, sizeof(m->acc));
	for (uint32_t i = 0; large && i < 64; i++) {
		uint32_t n = mh_random(seed) % 8, q = mh_random(seed) % 16;

		m->acc[n][q] = any_acc(seed);
		sa_write_acc(&a, q, n, (uint32_t)m->acc[n][q]);
	}
	for (uint32_t i = 0; i < 8; i += 2)
		sa_bases(&a, i, s.base[i], s.base[i + 1]);
	sa_cfg(&a, s.offset << 16 | s.words, cfg1_of(&s));
	sa_mac(&a, ONE, 0);
	sa_wait(&a, ROUND);
	sa_drain(&a, CNNACC_SEQ_RESUME, OUT_VA);
	sa_end(&a);
	sq_ok(f, &a);
	formula(m, &s);
	assert_memory_equal(out(f), m->acc, sizeof(m->acc));
	assert_int_equal((cj_reg(f, CNNACC_HWPE_REG_STATUS) & CNNACC_HWPE_STATUS_BAD_TER2) != 0,
			 m->bad_ter2);
}

/* On each of the host's widths of vectors. */
static void test_windows(void **state)
{
	static struct machine m;

	for (uint32_t simd = CM_SIMD_BASELINE; simd <= CM_SIMD_AVX512; simd++) {
		const struct cm_config config = { .simd = simd };
		uint64_t seed = 77 + simd;
		struct core_jobs *f;

		if (!cj_possible(&config))
			continue;
		f = hf_new(&config);
		for (unsigned int i = 0; i < 150; i++)
			check_window(f, &m, &seed);
		mh_free(f->h);
	}
	hf_setup(state);
}

/* Large windows, which threads compute ahead of the program that drains them. */
static void large_program(struct sasm *a, bool changes)
{
	sa_load(a, 0, DATA_VA, 0, FMAP);
	sa_load(a, 1, DATA_VA + 1, 0, FMAP);
	sa_load(a, 2, DATA_VA + 2, 0, 6 * PAGE);
	sa_load(a, 2, DATA_VA + 3, 6 * PAGE, 2 * PAGE);
	bases(a, 0x100);
	sa_cfg(a, 120, CFG1(2, INT8, 1));
	sa_mac(a, COUNTS(3, 5), 16 << 16 | 8);
	SA(a, CNNACC_SEQ_LOOP, changes ? 5 : 2, 14, CNNACC_SEQ_STEP(1, 0, 0), 512);
	sa_wait(a, ROUND);
	sa_drain(a, changes ? 0 : CNNACC_SEQ_RESUME, OUT_VA);
	if (changes) {
		/* A resumed task uses memories and AccRegs as they are now. */
		SA(a, CNNACC_SEQ_FILL, 1, 3, 0x200, 1, 100);
		sa_write_acc(a, 3, 4, INT32_MAX - 5);
		sa_read_acc(a, 0, 0, ENABLE, OUT_VA);
	}
	sa_wait(a, ROUND);
	sa_drain(a, CNNACC_SEQ_RESUME, OUT_VA + 14 * 512);
	sa_end(a);
}

static void test_threads(void **state)
{
	static uint8_t first[8 * PAGE];

	for (unsigned int i = 0; i < 8; i++) {
		const struct cm_config config = { .threads = i / 2 % 2 ? 4 : 1 };
		struct core_jobs *f = hf_new(&config);
		struct sasm a = { .n = 0 };
		uint64_t seed = 9;

		for (uint32_t j = 0; j < 8 * PAGE + 3; j++)
			f->data[j] = (uint8_t)mh_random(&seed);
		f->h->budget_ns = i / 4 ? 1 : MH_BUDGET_NS;
		large_program(&a, i % 2);
		sq_ok(f, &a);
		if (i < 2)
			memcpy(first + i * 4 * PAGE, f->data + 8 * PAGE, 15 * 512);
		assert_memory_equal(f->data + 8 * PAGE, first + i % 2 * 4 * PAGE, 15 * 512);
		mh_free(f->h);
	}
	assert_memory_not_equal(first, first + 4 * PAGE, 15 * 512);
	hf_setup(state);
}

/* ---- saved state ---- */

/* Maps, kernels and a task with events, DRAIN and ReLUWrite in nested loops. */
static void long_program(struct sasm *a)
{
	SA(a, CNNACC_SEQ_COPY2D, 0, DATA_VA, 3, 30, 200, 211, 230);
	SA(a, CNNACC_SEQ_COPY2D, 1, DATA_VA, 3, 30, 200, 207, 230);
	sa_load(a, 2, DATA_VA + PAGE, 0, 2 * PAGE);
	bases(a, 0x100);
	sa_cfg(a, 0x80 << 16 | 5, CFG1(3, EXP4, 2));
	sa_mac(a, COUNTS(2, 2), 0x100010);
	a->c[a->n - 1].op |= CNNACC_SEQ_EVENTS;
	SA(a, CNNACC_SEQ_LOOP, 6, 2, CNNACC_SEQ_STEP(2, 0, 0), 2048, CNNACC_SEQ_STEP(5, 0, 4), 256);
	SA(a, CNNACC_SEQ_LOOP, 5, 4, CNNACC_SEQ_STEP(1, 0, 0), 512, CNNACC_SEQ_STEP(4, 0, 4), 64);
	sa_wait(a, ROUND);
	SA(a, CNNACC_SEQ_DRAIN, 7, OUT_VA, 0, 2, 128, 64);
	sa_irq(a, 5);
	SA(a, CNNACC_SEQ_FILL, 0, 7, 0, 2, 64, 0, 128);
	sa_relu(a, 7, ENABLE, OUT_VA + PAGE);
	sa_save(a, 0, OUT_VA + 2 * PAGE, 0, FMAP);
	sa_end(a);
}

static int start_long(void **state)
{
	const struct cm_config config = { 0 };
	static struct saved_job j;
	struct sasm a = { .n = 0 };
	uint64_t seed = 3;

	j = (struct saved_job){
		.f = *hf_new(&config), .cores = CORES, .out_bytes = 8 * PAGE,
		.regs = CNNACC_HWPE_REG_ACC(0, 8) / 4, .stride = 1, .steps = 100,
	};
	j.out = j.f.data + 8 * PAGE;
	for (uint32_t i = 0; i < 8 * PAGE; i++)
		j.f.data[i] = (uint8_t)mh_random(&seed);
	long_program(&a);
	j.packet = cj_packet(&j.f, (const uint32_t *)a.c, sq_words(&a));
	sj_start(&j);
	*state = &j;
	return 0;
}

/* A job suspended by an event is still suspended after its state is loaded. */
static void test_save_suspended(void **state)
{
	struct saved_job *j = *state;
	struct model_host *h = j->f.h;

	j->packet.flags |= CNNACC_PACKET_EVENT_WAIT;
	sj_run(j, 0);
	for (uint32_t i = 1; i <= 16; i++) {
		mh_work(h, 0);
		sj_move(j);
		assert_int_equal(mh_qread(h, 0, CNNACC_QREG_EVENT_COUNT), i);
		assert_false(mh_work_once(h, 0, MH_BUDGET_NS));
		assert_int_equal(cj_reg(&j->f, CNNACC_SEQ_REG_STATE), CNNACC_SEQ_EVENT);
		mh_qwrite(h, 0, CNNACC_QREG_EVENT_ACK, 1);
	}
	sj_finish(j);
}

/* Build parameters, registers, queue, job and the head of the core's state. */
static size_t any_place(uint64_t *seed)
{
	return SAVED_SUMMED + mh_random(seed) % ((SAVED_CORE - SAVED_SUMMED + 1100) / 4) * 4;
}

/* An altered state with a valid checksum is refused, or runs without harm. */
static void test_forged(void **state)
{
	static const unsigned int points[] = { 0, 2, 20, 90, 115, 130, 150, 200 };
	struct saved_job *j = *state;
	unsigned int taken = 0;
	uint64_t seed = 1;

	for (size_t i = 0; i < ELEMENTS(points); i++) {
		sj_save_after(j, points[i]);
		taken += sj_forge(j, 500, any_place, &seed);
		j->packet.flags ^= CNNACC_PACKET_EVENT_WAIT;
	}
	assert_in_range(taken, 400, 3800);
}

#define LONG(name)	cmocka_unit_test_setup_teardown(name, start_long, sj_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HT(test_illegal), HT(test_command_words), HT(test_ignored_fields), HT(test_cfg),
		HT(test_states), HT(test_enable), HT(test_wait), HT(test_mac_without_a_task),
		HT(test_conflict), HT(test_addresses), HT(test_align), HT(test_task_registers),
		HT(test_cycles_and_counters), HT(test_reset_in_a_window), HT(test_drain_places),
		HT(test_drain_refused), HT(test_relu_vectors), HT(test_vectors),
		cmocka_unit_test_setup_teardown(test_windows, NULL, cj_teardown),
		cmocka_unit_test_setup_teardown(test_threads, NULL, cj_teardown),
		LONG(test_save_everywhere), LONG(test_budgets), LONG(test_save_suspended),
		LONG(test_forged),
	};

	return cmocka_run_group_tests_name("model_hwpe", tests, NULL, NULL);
}
