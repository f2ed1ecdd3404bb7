// SPDX-License-Identifier: MIT
/* Translation, faults and transfers of the model. */
#include "model_fixture.h"

static void test_invalidate(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);

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

/* After INVALIDATE a remapped page is read at its new address. */
static void test_remapped_page(void **state)
{
	struct fixture *f = *state;
	uint32_t size = programs->copy(f->code, DATA_VA, DATA_VA + PAGE, 1);
	uint64_t other = mh_alloc(f->h, PAGE);
	struct cnnacc_completion done;

	f->data[0] = 1;
	done = exec_code(f, size);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->data[PAGE], 1);
	mh_map(f->h, &f->space, DATA_VA, other, PAGE, RW);
	*(uint8_t *)mh_ptr(f->h, other) = 2;
	mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
	exec_code(f, size);
	assert_int_equal(f->data[PAGE], 2);
}

/* What a job has ended with. */
struct fault {
	uint32_t status_class, code, level, access;
	uint64_t va;
};

static void check_record(struct fixture *f, const struct cnnacc_completion *done,
			 const struct fault *want)
{
	assert_int_equal(done->status_class, want->status_class);
	assert_int_equal(done->status_code, want->code);
	assert_int_equal(done->detail, want->level);
	assert_int_equal(done->access, want->access);
	assert_int_equal(done->fault_va, want->va);
	assert_int_equal(qreg(f, CNNACC_QREG_STATUS_VA_LO), (uint32_t)want->va);
	assert_int_equal(qreg(f, CNNACC_QREG_STATUS_VA_HI), want->va >> 32);
	assert_int_equal(qreg(f, CNNACC_QREG_STATUS_PC), done->pc);
	mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
}

/* A program that the core fetches from @va. */
static struct cnnacc_completion exec_at(struct fixture *f, uint32_t va)
{
	struct cnnacc_packet p = nop_packet(f);

	p.program_va = va;
	mh_core_reset(f->h, 0);
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	return take(f, 0);
}

/* One access of a kind to the page at @va. */
static struct cnnacc_completion access_page(struct fixture *f, uint32_t va, uint32_t access)
{
	if (access == CNNACC_ACCESS_EXEC)
		return exec_at(f, va);
	return exec_code(f, access == CNNACC_ACCESS_WRITE ?
			 programs->store(f->code, va / CNNACC_LINE_SIZE, 1) :
			 programs->load(f->code, va / CNNACC_LINE_SIZE, 1));
}

static const uint32_t accesses[] = {
	CNNACC_ACCESS_READ, CNNACC_ACCESS_WRITE, CNNACC_ACCESS_EXEC,
};

static void check_accesses(struct fixture *f, uint32_t va, uint32_t status_class, uint32_t level)
{
	for (size_t i = 0; i < ELEMENTS(accesses); i++) {
		const struct cnnacc_completion done = access_page(f, va, accesses[i]);
		const bool fetch = accesses[i] == CNNACC_ACCESS_EXEC;

		check_record(f, &done, &(struct fault){
			status_class, fetch ? CNNACC_CODE_FETCH : programs->dma_code, level,
			accesses[i], va });
		assert_int_equal(done.pc, fetch ? 0 : programs->dma_pc);
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
	struct fixture *f = *state;
	uint32_t va = 0x01000000;
	void *page = mh_map_new(f->h, &f->space, va, PAGE, 0);

	for (unsigned int have = 0; have < 3; have++)
		for (unsigned int want = 0; want < 3; want++) {
			struct cnnacc_completion done;
			uint32_t *pte = mh_pte(f->h, &f->space, va);

			*pte = (*pte & ~CNNACC_PTE_FLAGS) | CNNACC_PTE_VALID | flags[have];
			mh_write(f->h, CNNACC_REG_INVALIDATE, f->space.ctx_id);
			memcpy(page, f->code, programs->nop(f->code));
			done = access_page(f, va, accesses[want]);
			assert_int_equal(done.status_class, have == want ?
					 CNNACC_STATUS_OK : CNNACC_STATUS_MMU_FAULT);
			if (have != want)
				assert_int_equal(done.access, accesses[want]);
		}
}

/* The last page of the address space, then beyond. */
static void test_beyond(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_completion done;
	struct fault want = {
		CNNACC_STATUS_MMU_FAULT, programs->dma_code, CNNACC_FAULT_BEYOND,
		CNNACC_ACCESS_READ, 0x100000000ull,
	};

	mh_map_new(f->h, &f->space, 0xfffff000, PAGE, RW);
	done = exec_code(f, programs->load(f->code, 0xfffff000 / CNNACC_LINE_SIZE, 65));
	check_record(f, &done, &want);
	want.access = CNNACC_ACCESS_WRITE;
	done = exec_code(f, programs->store(f->code, 0xfffff000 / CNNACC_LINE_SIZE, 65));
	check_record(f, &done, &want);
}

static void test_unreadable_directory(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = nop_packet(f);
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
	struct cnnacc_packet p = nop_packet(f);
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
	p = nop_packet(f);
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
	struct cnnacc_packet p = nop_packet(f);
	struct cnnacc_completion done;

	p.stats_va = MH_STATS_VA + PAGE - 64;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_MMU_FAULT);
	assert_int_equal(done.status_code, CNNACC_CODE_STATS);
	assert_int_equal(done.detail, CNNACC_FAULT_PAGE);
	assert_int_equal(done.access, CNNACC_ACCESS_WRITE);
	assert_int_equal(done.fault_va, MH_STATS_VA + PAGE - 64);
	assert_int_equal(done.cycles, programs->nop_stats.cycles);
	mh_core_reset(f->h, 0);
	p.stats_va = 0xffffffc0;
	mh_map_new(f->h, &f->space, 0xfffff000, PAGE, RW);
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_code, CNNACC_CODE_STATS);
	assert_int_equal(done.detail, CNNACC_FAULT_BEYOND);
	mh_core_reset(f->h, 0);
	p = packet_of(f, programs->illegal(f->code, 0));
	p.stats_va = 0;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_BAD_PROGRAM);
	assert_int_equal(done.status_code, programs->illegal_code);
}

/* Scattered pages, holes in the bus and a host without mappings: the same lines. */
static void test_transfer_paths(void **state)
{
	/* Runs of one to three pages on the bus. */
	static const uint32_t order[] = { 2, 3, 0, 1, 8, 7, 4, 5, 6 };
	struct fixture *f = *state;
	uint32_t va = 0x02000000, out = 0x03000000, pages = ELEMENTS(order);
	uint32_t size = programs->copy(f->code, va + 192, out + 64, (pages * PAGE - 256) / 64);
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
		assert_int_equal(exec_code(f, size).status_class, 0);
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
	const struct fault want = {
		CNNACC_STATUS_BUS_ERROR, programs->dma_code, CNNACC_FAULT_NONE,
		CNNACC_ACCESS_WRITE, DATA_VA + 2 * PAGE + 5 * 64,
	};
	uint32_t size = programs->copy(f->code, DATA_VA, DATA_VA + 2 * PAGE, 64);
	uint64_t bus = CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, DATA_VA + 2 * PAGE));
	struct cnnacc_completion done;

	for (unsigned int pass = 0; pass < 2; pass++) {
		f->h->no_map = pass;
		memset(f->data, 0x5a, PAGE);
		memset(f->data + 2 * PAGE, 0, PAGE);
		f->h->hole = bus + 5 * 64;
		f->h->hole_size = 1;
		done = exec_code(f, size);
		check_record(f, &done, &want);
		assert_memory_equal(f->data, f->data + 2 * PAGE, 5 * 64);
		assert_int_equal(f->data[2 * PAGE + 5 * 64], 0);
		assert_int_equal(f->data[2 * PAGE + 6 * 64], 0);
	}
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
	};

	return RUN_ON_CORES("model_mmu", tests);
}
