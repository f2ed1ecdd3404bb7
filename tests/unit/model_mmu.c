// SPDX-License-Identifier: MIT
/* Translation, faults, transfers and residue of the model. */
#include "model_fixture.h"

static void test_invalidate(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);

	mh_write(f->h, CNNACC_REG_INVALIDATE, 0x20007);
	mh_write(f->h, CNNACC_REG_INVALIDATE, 0x80000007);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_SEQ), 0);
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_SEQ), 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 1);
	mh_submit(f->h, 0, &p);
	assert_true(cm_device_begin(f->h->dev, 0));
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	mh_write(f->h, CNNACC_REG_INVALIDATE, 0xffff);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_SEQ), 3);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 1);
	run_between(f, 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 1);
	cm_device_end(f->h->dev, 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 3);
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 4);
}

static struct masm copy_program(uint32_t from, uint32_t to, uint32_t lines)
{
	struct masm a = { .n = 0 };

	ma_dma(&a, 0, from, lines, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_dma(&a, 1, to, lines, 0, CNNACC_CCP_TGT_READ_BANK);
	ma_end(&a);
	return a;
}

/* After INVALIDATE a remapped page is read at its new address. */
static void test_remapped_page(void **state)
{
	struct fixture *f = *state;
	struct masm a = copy_program(DATA_VA, DATA_VA + PAGE, 1);
	uint64_t other = mh_alloc(f->h, PAGE);
	struct cnnacc_completion done;

	f->data[0] = 1;
	done = mh_exec(f->h, &f->space, a.word, a.n, NULL);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->data[PAGE], 1);
	mh_map(f->h, &f->space, DATA_VA, other, PAGE, RW);
	*(uint8_t *)mh_ptr(f->h, other) = 2;
	mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
	mh_exec(f->h, &f->space, a.word, a.n, NULL);
	assert_int_equal(f->data[PAGE], 2);
}

static void check_fault(struct fixture *f, const struct masm *a, uint32_t status_class,
			uint32_t code, uint32_t level, uint32_t access, uint64_t va)
{
	struct cnnacc_completion done = mh_exec(f->h, &f->space, a->word, a->n, NULL);

	assert_int_equal(done.status_class, status_class);
	assert_int_equal(done.status_code, code);
	assert_int_equal(done.detail, level);
	assert_int_equal(done.access, access);
	assert_int_equal(done.fault_va, va);
	assert_int_equal(qreg(f, CNNACC_QREG_STATUS_VA_LO), (uint32_t)va);
	assert_int_equal(qreg(f, CNNACC_QREG_STATUS_VA_HI), va >> 32);
	assert_int_equal(qreg(f, CNNACC_QREG_STATUS_PC), done.pc);
	mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
}

/* One access of each kind to the page at @va. */
static void check_accesses(struct fixture *f, uint32_t va, uint32_t status_class, uint32_t level)
{
	static const struct { uint8_t store, target, access; } kinds[] = {
		{ 0, CNNACC_CCP_TGT_READ_BANK, CNNACC_ACCESS_READ },
		{ 1, CNNACC_CCP_TGT_WRITE_BANK, CNNACC_ACCESS_WRITE },
		{ 0, CNNACC_CCP_TGT_ICACHE, CNNACC_ACCESS_EXEC },
	};

	for (size_t i = 0; i < ELEMENTS(kinds); i++) {
		struct masm a = { .n = 0 };

		ma_dma(&a, kinds[i].store, va, 1, 0, kinds[i].target);
		ma_end(&a);
		check_fault(f, &a, status_class, CNNACC_CCP_E_DMA, level, kinds[i].access, va);
	}
}

static void test_fault_levels(void **state)
{
	struct fixture *f = *state;
	uint32_t *dir = mh_ptr(f->h, f->space.root);
	uint32_t va = 0x01000000, *pte;

	check_accesses(f, va, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR);
	mh_map_new(f->h, &f->space, va, PAGE, RW | CNNACC_PTE_EXEC);
	pte = mh_pte(f->h, &f->space, va);
	dir[CNNACC_PT_DIR_INDEX(va)] |= CNNACC_PTE_READ;
	check_accesses(f, va, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_DIR);
	dir[CNNACC_PT_DIR_INDEX(va)] ^= CNNACC_PTE_READ;
	*pte &= ~CNNACC_PTE_VALID;
	check_accesses(f, va, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PAGE);
	*pte = (*pte & ~CNNACC_PTE_FLAGS) | CNNACC_PTE_VALID;
	check_accesses(f, va, CNNACC_STATUS_MMU_FAULT, CNNACC_FAULT_PERM);
	*pte = 0xffffffff;
	check_accesses(f, va, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_NONE);
	dir[CNNACC_PT_DIR_INDEX(va)] = 0xfffffff1;
	check_accesses(f, va, CNNACC_STATUS_BUS_ERROR, CNNACC_FAULT_PAGE);
}

static void test_permissions_are_separate(void **state)
{
	static const uint32_t flags[] = { CNNACC_PTE_READ, CNNACC_PTE_WRITE, CNNACC_PTE_EXEC };
	static const uint32_t access[] = {
		CNNACC_ACCESS_READ, CNNACC_ACCESS_WRITE, CNNACC_ACCESS_EXEC,
	};
	struct fixture *f = *state;
	uint32_t va = 0x01000000;

	mh_map_new(f->h, &f->space, va, PAGE, 0);
	for (unsigned int have = 0; have < 3; have++)
		for (unsigned int want = 0; want < 3; want++) {
			struct masm a = { .n = 0 };
			struct cnnacc_completion done;
			uint32_t *pte = mh_pte(f->h, &f->space, va);

			*pte = (*pte & ~CNNACC_PTE_FLAGS) | CNNACC_PTE_VALID | flags[have];
			mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
			ma_dma(&a, want == 1, va, 1, 0, want == 2 ? CNNACC_CCP_TGT_ICACHE : 0);
			ma_end(&a);
			done = mh_exec(f->h, &f->space, a.word, a.n, NULL);
			assert_int_equal(done.status_class, have == want ?
					 CNNACC_STATUS_OK : CNNACC_STATUS_MMU_FAULT);
			if (have != want)
				assert_int_equal(done.access, access[want]);
		}
}

static void test_beyond(void **state)
{
	struct fixture *f = *state;
	struct masm a = { .n = 0 };

	ma_emit(&a, CNNACC_CCP_INSN_LDIH(0, 0x0400));
	ma_emit(&a, CNNACC_CCP_INSN_LDI(1, 1));
	ma_emit(&a, CNNACC_CCP_INSN_LOAD(0, 1, 2, 0));
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_CCP_E_DMA, CNNACC_FAULT_BEYOND,
		    CNNACC_ACCESS_READ, 0x100000000ull);
	/* The last page below the end, then beyond. */
	mh_map_new(f->h, &f->space, 0xfffff000, PAGE, RW);
	a.n = 0;
	ma_dma(&a, 0, 0xfffff000, 65, 0, 0);
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_CCP_E_DMA, CNNACC_FAULT_BEYOND,
		    CNNACC_ACCESS_READ, 0x100000000ull);
	a.n = 0;
	ma_emit(&a, CNNACC_CCP_INSN_ADDI(0, 0, -1));
	ma_emit(&a, CNNACC_CCP_INSN_LDI(1, 1));
	ma_emit(&a, CNNACC_CCP_INSN_STORE(0, 1, 2, 0));
	check_fault(f, &a, CNNACC_STATUS_MMU_FAULT, CNNACC_CCP_E_DMA, CNNACC_FAULT_BEYOND,
		    CNNACC_ACCESS_WRITE, 0xffffffffull * 64);
}

static void test_unreadable_directory(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);
	struct cnnacc_completion done;

	p.root = 0x5000;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_BUS_ERROR);
	assert_int_equal(done.status_code, CNNACC_CODE_FETCH);
	assert_int_equal(done.detail, CNNACC_FAULT_DIR);
	assert_int_equal(done.access, CNNACC_ACCESS_EXEC);
	assert_int_equal(done.fault_va, MH_PROGRAM_VA);
	assert_int_equal(done.pc, 0);
	assert_int_equal(done.cycles, 0);
}

static void test_fetch_faults(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);
	struct cnnacc_completion done;

	p.program_va = DATA_VA;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_MMU_FAULT);
	assert_int_equal(done.status_code, CNNACC_CODE_FETCH);
	assert_int_equal(done.detail, CNNACC_FAULT_PERM);
	mh_core_reset(f->h, 0);
	/* The second page of the program is missing. */
	*mh_pte(f->h, &f->space, MH_PROGRAM_VA + PAGE) = 0;
	p = packet_of(f, nop, 1);
	p.program_len = PAGE + 4;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.detail, CNNACC_FAULT_PAGE);
	assert_int_equal(done.fault_va, MH_PROGRAM_VA + PAGE);
}

static void test_stats_faults(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);
	struct cnnacc_completion done;
	uint32_t bad = CNNACC_CCP_INSN_NOP | 0xf0000000;

	p.stats_va = MH_STATS_VA + PAGE - 64;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_MMU_FAULT);
	assert_int_equal(done.status_code, CNNACC_CODE_STATS);
	assert_int_equal(done.detail, CNNACC_FAULT_PAGE);
	assert_int_equal(done.access, CNNACC_ACCESS_WRITE);
	assert_int_equal(done.fault_va, MH_STATS_VA + PAGE - 64);
	assert_int_equal(done.cycles, 18);
	mh_core_reset(f->h, 0);
	p.stats_va = 0xffffffc0;
	mh_map_new(f->h, &f->space, 0xfffff000, PAGE, RW);
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_code, CNNACC_CODE_STATS);
	assert_int_equal(done.detail, CNNACC_FAULT_BEYOND);
	mh_core_reset(f->h, 0);
	p = packet_of(f, &bad, 1);
	p.stats_va = 0;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_BAD_PROGRAM);
	assert_int_equal(done.status_code, CNNACC_CCP_E_ILLEGAL);
}

/* Scattered pages, holes in the bus and a host without mappings: the same lines. */
static void test_transfer_paths(void **state)
{
	/* Runs of one to three pages on the bus. */
	static const uint32_t order[] = { 2, 3, 0, 1, 8, 7, 4, 5, 6 };
	struct fixture *f = *state;
	uint32_t va = 0x02000000, out = 0x03000000, pages = ELEMENTS(order);
	struct masm a = copy_program(va + 192, out + 64, (pages * PAGE - 256) / 64);
	uint64_t seed = 3;

	for (uint32_t i = 0; i < pages; i++) {
		mh_map_new(f->h, &f->space, va + order[i] * PAGE, PAGE, RW);
		mh_map_new(f->h, &f->space, out + i * PAGE, PAGE, RW);
	}
	for (uint32_t i = 0; i < pages; i++) {
		uint64_t bus = CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, va + i * PAGE));
		uint32_t *p = mh_ptr(f->h, bus);

		for (uint32_t j = 0; j < PAGE / 4; j++)
			p[j] = mh_random(&seed);
	}
	for (unsigned int pass = 0; pass < 2; pass++) {
		f->h->no_map = pass;
		assert_int_equal(mh_exec(f->h, &f->space, a.word, a.n, NULL).status_class, 0);
		for (uint32_t pos = 0; pos < pages * PAGE - 256; pos += 64) {
			uint32_t from = va + 192 + pos, to = out + 64 + pos;
			uint8_t *x = mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, from)));
			uint8_t *y = mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, to)));

			assert_memory_equal(x + from % PAGE, y + to % PAGE, 64);
			memset(y + to % PAGE, 0, 64);
		}
	}
}

/* Lines before the one that the bus refuses are transferred. */
static void test_bus_error_line(void **state)
{
	struct fixture *f = *state;
	struct masm a = copy_program(DATA_VA, DATA_VA + 2 * PAGE, 64);
	uint64_t bus = CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, DATA_VA + 2 * PAGE));

	for (unsigned int pass = 0; pass < 2; pass++) {
		f->h->no_map = pass;
		memset(f->data, 0x5a, PAGE);
		memset(f->data + 2 * PAGE, 0, PAGE);
		f->h->hole = bus + 5 * 64;
		f->h->hole_size = 1;
		check_fault(f, &a, CNNACC_STATUS_BUS_ERROR, CNNACC_CCP_E_DMA, CNNACC_FAULT_NONE,
			    CNNACC_ACCESS_WRITE, DATA_VA + 2 * PAGE + 5 * 64);
		assert_memory_equal(f->data, f->data + 2 * PAGE, 5 * 64);
		assert_int_equal(f->data[2 * PAGE + 5 * 64], 0);
		assert_int_equal(f->data[2 * PAGE + 6 * 64], 0);
	}
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
	struct cnnacc_packet p = packet_of(f, a.word, a.n);
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
		T(test_invalidate),
		T(test_remapped_page),
		T(test_fault_levels),
		T(test_permissions_are_separate),
		T(test_beyond),
		T(test_unreadable_directory),
		T(test_fetch_faults),
		T(test_stats_faults),
		T(test_transfer_paths),
		T(test_bus_error_line),
		T(test_residue),
		T(test_residue_same_id),
		T(test_residue_retired),
		T(test_residue_retired_in_run),
		T(test_no_scrub_within_context),
		cmocka_unit_test(test_scrub_of_nothing),
		cmocka_unit_test(test_scrub_in_pieces),
	};

	return cmocka_run_group_tests_name("model_mmu", tests, NULL, NULL);
}
