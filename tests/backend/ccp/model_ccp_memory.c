// SPDX-License-Identifier: MIT
/*
 * Core ccp and memory: loads of program lines, line numbers beyond the address space, and what
 * the next context finds in the caches.
 */
#include "model_asm.h"
#include "model_fixture.h"

static void check_fault(struct fixture *f, const struct masm *a, uint32_t status_class,
			uint32_t level, uint32_t access, uint64_t va)
{
	struct cnnacc_completion done = mh_exec(f->h, &f->space, a->word, a->n, NULL);

	assert_int_equal(done.status_class, status_class);
	assert_int_equal(done.status_code, CNNACC_CCP_E_DMA);
	assert_int_equal(done.detail, level);
	assert_int_equal(done.access, access);
	assert_int_equal(done.fault_va, va);
	mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
}

static struct masm load_program(uint32_t va)
{
	struct masm a = { .n = 0 };

	ma_dma(&a, 0, va, 1, 0, CNNACC_CCP_TGT_ICACHE);
	ma_end(&a);
	return a;
}

/* A LOAD into the instruction cache needs execute permission, and each level refuses it. */
static void test_icache_levels(void **state)
{
	const uint32_t va = 0x01000000;
	const struct masm a = load_program(va);
	struct fixture *f = *state;
	uint32_t *dir = mh_ptr(f->h, f->space.root);
	uint32_t *pte;

	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR, CNNACC_ACCESS_EXEC, va);
	mh_map_new(f->h, &f->space, va, PAGE, RW | CNNACC_PTE_EXEC);
	pte = mh_pte(f->h, &f->space, va);
	dir[CNNACC_PT_DIR_INDEX(va)] |= CNNACC_PTE_READ;
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR, CNNACC_ACCESS_EXEC, va);
	dir[CNNACC_PT_DIR_INDEX(va)] ^= CNNACC_PTE_READ;
	*pte &= ~CNNACC_PTE_VALID;
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PAGE, CNNACC_ACCESS_EXEC, va);
	*pte = (*pte & ~CNNACC_PTE_FLAGS) | CNNACC_PTE_VALID;
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PERM, CNNACC_ACCESS_EXEC, va);
	*pte = 0xffffffff;
	check_fault(f, &a, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE, CNNACC_ACCESS_EXEC, va);
	dir[CNNACC_PT_DIR_INDEX(va)] = 0xfffffff1;
	check_fault(f, &a, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_PAGE, CNNACC_ACCESS_EXEC, va);
}

static void test_icache_permission(void **state)
{
	static const uint32_t flags[] = { CNNACC_PTE_READ, CNNACC_PTE_WRITE, CNNACC_PTE_EXEC };
	const uint32_t va = 0x01000000;
	const struct masm a = load_program(va);
	struct fixture *f = *state;

	mh_map_new(f->h, &f->space, va, PAGE, 0);
	for (unsigned int have = 0; have < 3; have++) {
		uint32_t *pte = mh_pte(f->h, &f->space, va);
		struct cnnacc_completion done;

		*pte = (*pte & ~CNNACC_PTE_FLAGS) | CNNACC_PTE_VALID | flags[have];
		mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
		done = mh_exec(f->h, &f->space, a.word, a.n, NULL);
		assert_int_equal(done.status_class, have == 2 ?
				 CNNACC_STATUS_OK : CNNACC_STATUS_MMU_FAULT);
		if (have != 2)
			assert_int_equal(done.access, CNNACC_ACCESS_EXEC);
	}
}

static void test_beyond(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };

	ma_emit(&a, CNNACC_CCP_INSN_LDIH(0, 0x0400));
	ma_emit(&a, CNNACC_CCP_INSN_LDI(1, 1));
	ma_emit(&a, CNNACC_CCP_INSN_LOAD(0, 1, 2, 0));
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND,
		    CNNACC_ACCESS_READ, 0x100000000ull);
	/* The last page below the end, then beyond. */
	mh_map_new(f->h, &f->space, 0xfffff000, PAGE, RW);
	a.n = 0;
	ma_dma(&a, 0, 0xfffff000, 65, 0, 0);
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND,
		    CNNACC_ACCESS_READ, 0x100000000ull);
	a.n = 0;
	ma_emit(&a, CNNACC_CCP_INSN_ADDI(0, 0, -1));
	ma_emit(&a, CNNACC_CCP_INSN_LDI(1, 1));
	ma_emit(&a, CNNACC_CCP_INSN_STORE(0, 1, 2, 0));
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_BEYOND,
		    CNNACC_ACCESS_WRITE, 0xffffffffull * 64);
}

/* -------------------------------------------------------------- residue */

static struct masm dump_program(void)
{
	struct masm a = { .n = 0 };
	static const uint32_t fc[8] = { 0, 16, 16, 0, 64, 0, 0 };

	/* Stored: what fc makes of the weights, then both data banks. */
	ma_cfg(&a, CNNACC_CCP_FC, 0, fc);
	ma_exec(&a, CNNACC_CCP_FC);
	ma_dma(&a, 1, DATA_VA, 16, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 1, DATA_VA + PAGE, 16, 0, CNNACC_CCP_TGT_WRITE_BANK);
	ma_end(&a);
	return a;
}

static void fill_core(struct fixture *f)
{
	struct masm a = { .n = 0 };

	memset(f->data, 0x3f, PAGE);
	ma_dma(&a, 0, DATA_VA, 32, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 0, DATA_VA, 32, 0, CNNACC_CCP_TGT_WRITE_BANK);
	for (unsigned int i = 0; i < 4; i++)
		ma_dma(&a, 0, DATA_VA, 32, 0, CNNACC_CCP_TGT_WEIGHT0 + i);
	ma_end(&a);
	assert_int_equal(mh_exec(f->h, &f->space, a.word, a.n, NULL).status_class, 0);
}

static void check_other_sees_zero(struct fixture *f, const struct mh_space *other,
				  uint64_t scrub_cycles)
{
	uint8_t *seen = mh_map_new(f->h, other, DATA_VA, 2 * PAGE, RW);
	struct masm a = dump_program();
	struct cnnacc_stats stats;
	struct cnnacc_completion done;

	mh_map_job(f->h, other);
	memset(seen, 0xee, 2 * PAGE);
	done = mh_exec(f->h, other, a.word, a.n, &stats);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	for (unsigned int i = 0; i < 16 * 64; i++) {
		assert_int_equal(seen[i], 0);
		assert_int_equal(seen[PAGE + i], 0);
	}
	assert_int_equal(stats.scrub_cycles, scrub_cycles);
	assert_int_equal(stats.cycles, done.cycles);
}

static void test_residue(void **state)
{
	struct fixture *f = *state;
	struct mh_space other = mh_space_new(f->h, 8), same_id = mh_space_new(f->h, 8);

	fill_core(f);
	check_other_sees_zero(f, &other, CNNACC_CCP_DATA_BANK_DEFAULT / 64);
	assert_int_equal(qreg(f, CNNACC_QREG_CONTEXT), 8);
	fill_core(f);
	mh_core_reset(f->h, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_CONTEXT), CNNACC_NO_CONTEXT);
	check_other_sees_zero(f, &same_id, 0);
}

static void test_residue_same_id(void **state)
{
	struct fixture *f = *state;
	struct mh_space other = mh_space_new(f->h, f->space.ctx_id);

	fill_core(f);
	check_other_sees_zero(f, &other, CNNACC_CCP_DATA_BANK_DEFAULT / 64);
}

/* A retired context id may be reused with the same root. */
static void test_residue_retired(void **state)
{
	struct fixture *f = *state;
	struct masm a = dump_program();
	struct cnnacc_stats stats;

	fill_core(f);
	mh_write(f->h, CNNACC_REG_INVALIDATE,
		 f->space.ctx_id | CNNACC_INVALIDATE_RETIRE);
	memset(f->data, 0xee, 2 * PAGE);
	mh_exec(f->h, &f->space, a.word, a.n, &stats);
	assert_int_equal(stats.scrub_cycles, CNNACC_CCP_DATA_BANK_DEFAULT / 64);
	for (unsigned int i = 0; i < 16 * 64; i++)
		assert_int_equal(f->data[i] | f->data[PAGE + i], 0);
	mh_exec(f->h, &f->space, a.word, a.n, &stats);
	assert_int_equal(stats.scrub_cycles, 0);
	mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
	mh_write(f->h, CNNACC_REG_INVALIDATE,
		 (f->space.ctx_id + 1) | CNNACC_INVALIDATE_RETIRE);
	mh_exec(f->h, &f->space, a.word, a.n, &stats);
	assert_int_equal(stats.scrub_cycles, 0);
}

/* The same during a job: it keeps its memories, and the next job's are cleared. */
static void test_residue_retired_in_run(void **state)
{
	struct fixture *f = *state;
	struct masm a = dump_program();
	struct cnnacc_packet p = mh_packet(f->h, &f->space, a.word, a.n);
	struct cnnacc_completion done;
	struct cnnacc_stats stats;

	fill_core(f);
	mh_submit(f->h, 0, &p);
	assert_true(cm_device_begin(f->h->dev, 0));
	mh_write(f->h, CNNACC_REG_INVALIDATE,
		 f->space.ctx_id | CNNACC_INVALIDATE_RETIRE);
	run_between(f, 0);
	cm_device_end(f->h->dev, 0);
	mh_work(f->h, 0);
	assert_true(mh_completion(f->h, 0, &done));
	assert_int_equal(f->data[0], 0x3f);
	mh_exec(f->h, &f->space, a.word, a.n, &stats);
	assert_int_equal(stats.scrub_cycles, CNNACC_CCP_DATA_BANK_DEFAULT / 64);
	assert_int_equal(f->data[0], 0);
}

static void test_no_scrub_within_context(void **state)
{
	struct fixture *f = *state;
	struct masm a = dump_program();
	struct cnnacc_stats stats;

	fill_core(f);
	memset(f->data, 0, 2 * PAGE);
	mh_exec(f->h, &f->space, a.word, a.n, &stats);
	assert_int_equal(stats.scrub_cycles, 0);
	assert_int_equal(f->data[0], 0x3f);
}

static const uint32_t nop[] = { CNNACC_CCP_INSN_NOP };

/* Memories that no job has filled are not cleared again, but the cycles are charged. */
static void test_scrub_of_nothing(void **state)
{
	struct model_host *h = mh_new("ccp:data-bank=0x4000000", 1 << 20);
	struct mh_space one = mh_space_new(h, 1), two = mh_space_new(h, 2);
	struct cnnacc_stats stats;
	struct cnnacc_packet p;

	(void)state;
	mh_map_job(h, &one);
	mh_map_job(h, &two);
	mh_queue_init(h, 0, 8, 8);
	mh_exec(h, &one, nop, 1, NULL);
	p = mh_packet(h, &two, nop, 1);
	mh_submit(h, 0, &p);
	assert_true(mh_work_once(h, 0, 1000000));
	assert_int_equal(mh_qread(h, 0, CNNACC_QREG_STATE), CNNACC_QSTATE_IDLE);
	mh_exec(h, &one, nop, 1, &stats);
	assert_int_equal(stats.scrub_cycles, (64 << 20) / 64);
	mh_free(h);
}

/* A state of 64 MiB banks is cleared in pieces, which an abort may interrupt. */
static void test_scrub_in_pieces(void **state)
{
	struct model_host *h = mh_new("ccp:data-bank=0x4000000", 1 << 20);
	struct mh_space one = mh_space_new(h, 1), two = mh_space_new(h, 2);
	struct cnnacc_completion done;
	struct masm fill = { .n = 0 };
	struct cnnacc_packet p;

	(void)state;
	mh_map_job(h, &one);
	mh_map_job(h, &two);
	mh_map_new(h, &one, DATA_VA, PAGE, RW);
	mh_queue_init(h, 0, 8, 8);
	ma_dma(&fill, 0, DATA_VA, 1, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_end(&fill);
	mh_exec(h, &one, fill.word, fill.n, NULL);
	p = mh_packet(h, &two, nop, 1);
	mh_submit(h, 0, &p);
	for (unsigned int i = 0; i < 5; i++)
		assert_true(mh_work_once(h, 0, 1000));
	assert_int_equal(mh_qread(h, 0, CNNACC_QREG_STATE), CNNACC_QSTATE_RUNNING);
	assert_int_equal(mh_qread(h, 0, CNNACC_QREG_CONTEXT), 1);
	mh_qwrite(h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	mh_work(h, 0);
	assert_true(mh_completion(h, 0, &done));
	assert_int_equal(done.status_class, CNNACC_STATUS_ABORTED);
	assert_int_equal(done.cycles, 0);
	assert_int_equal(done.pc, 0);
	mh_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_icache_levels),
		T(test_icache_permission),
		T(test_beyond),
		T(test_residue),
		T(test_residue_same_id),
		T(test_residue_retired),
		T(test_residue_retired_in_run),
		T(test_no_scrub_within_context),
		cmocka_unit_test(test_scrub_of_nothing),
		cmocka_unit_test(test_scrub_in_pieces),
	};

	programs = core_programs("ccp");
	return cmocka_run_group_tests_name("model_ccp_memory", tests, NULL, NULL);
}
