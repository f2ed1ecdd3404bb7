// SPDX-License-Identifier: MIT
/* The shell of the model: registers, rings, interrupts, resets, MMU, residue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model_asm.h"
#include "model_host.h"

#define DATA_VA		0x00400000u
#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define ELEMENTS(a)	(sizeof(a) / sizeof((a)[0]))

static const struct cnnacc_reg_info global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info queue_regs[] = CNNACC_QUEUE_REGS;

struct fixture {
	struct model_host *h;
	struct mh_space space;
	uint8_t *data;
};

static struct fixture make(const char *cores)
{
	struct fixture f = { .h = mh_new(cores, 8 << 20) };

	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.data = mh_map_new(f.h, &f.space, DATA_VA, 4 * PAGE, RW);
	for (unsigned int i = 0; i < cnn_device_core_count(f.h->dev); i++)
		mh_queue_init(f.h, i, MH_RING_SIZE, MH_RING_SIZE);
	return f;
}

static int setup(void **state)
{
	static struct fixture f;

	f = make(NULL);
	*state = &f;
	return 0;
}

static int setup_two(void **state)
{
	static struct fixture f;

	f = make("ccp+ccp:data-bank=65536");
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mh_free(f->h);
	return 0;
}

static const uint32_t nop[] = { CNNACC_CCP_INSN_NOP };
/* Never ends. */
static const uint32_t loop[] = {
	CNNACC_CCP_INSN_LDI(0, 1), CNNACC_CCP_INSN_BNZ(0, 1),
};

static struct cnnacc_packet packet_of(struct fixture *f, const uint32_t *program, size_t words)
{
	return mh_packet(f->h, &f->space, program, words);
}

static struct cnnacc_completion take(struct fixture *f, unsigned int core)
{
	struct cnnacc_completion record;

	assert_true(mh_completion(f->h, core, &record));
	return record;
}

static uint32_t qreg(struct fixture *f, uint32_t reg)
{
	return mh_qread(f->h, 0, reg);
}

/* ------------------------------------------------------------ registers */

static void check_reset_values(struct model_host *h, bool counters)
{
	for (size_t i = 0; i < ELEMENTS(global_regs); i++)
		if (!(global_regs[i].flags & (CNNACC_REG_F_BUILD | CNNACC_REG_F_LIVE)))
			assert_int_equal(mh_read(h, global_regs[i].offset), global_regs[i].reset);
	for (unsigned int core = 0; core < cnn_device_core_count(h->dev); core++) {
		for (size_t i = 0; i < ELEMENTS(queue_regs); i++)
			assert_int_equal(mh_qread(h, core, queue_regs[i].offset),
					 queue_regs[i].reset);
		for (uint32_t reg = CNNACC_QREG_STATS;
		     counters && reg < CNNACC_QREG_BLOCK_SIZE; reg += 4)
			assert_int_equal(mh_qread(h, core, reg), 0);
	}
}

static void test_reset_values(void **state)
{
	struct model_host *h = mh_new("ccp+ccp+ccp", 1 << 20);

	(void)state;
	check_reset_values(h, true);
	assert_int_equal(mh_read(h, CNNACC_REG_CORE_COUNT), 3);
	assert_int_equal(mh_read(h, CNNACC_REG_CLOCK_HZ), 100000000);
	assert_int_equal(mh_read(h, CNNACC_REG_FEATURES), CNNACC_FEATURE_COHERENT);
	mh_free(h);
}

static void test_written_then_reset(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);

	p.cycle_limit = 100;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	for (uint32_t offset = 0; offset < CNNACC_REGS_SIZE; offset += 4)
		if (offset != CNNACC_REG_RESET)
			mh_write(f->h, offset, 0x1fff);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_ERROR);
	mh_write(f->h, CNNACC_REG_RESET, 2);
	assert_int_not_equal(mh_read(f->h, CNNACC_REG_SCRATCH), 0);
	mh_write(f->h, CNNACC_REG_RESET, 1);
	check_reset_values(f->h, true);
	assert_false(f->h->level);
}

static void test_table_flags(void **state)
{
	struct fixture *f = *state;

	mh_write(f->h, CNNACC_REG_RESET, 1);
	for (size_t i = 0; i < ELEMENTS(queue_regs); i++) {
		uint32_t old = qreg(f, queue_regs[i].offset);

		if (queue_regs[i].flags & CNNACC_REG_F_ACTION)
			continue;
		mh_qwrite(f->h, 0, queue_regs[i].offset, 0xa5a5a5a5);
		assert_int_equal(qreg(f, queue_regs[i].offset),
				 queue_regs[i].flags & CNNACC_REG_F_WRITE ? 0xa5a5a5a5 : old);
	}
	for (size_t i = 0; i < ELEMENTS(global_regs); i++) {
		if (global_regs[i].flags & (CNNACC_REG_F_ACTION | CNNACC_REG_F_WRITE |
					    CNNACC_REG_F_LIVE | CNNACC_REG_F_BUILD))
			continue;
		mh_write(f->h, global_regs[i].offset, 0xa5a5a5a5);
		assert_int_equal(mh_read(f->h, global_regs[i].offset), global_regs[i].reset);
	}
	mh_write(f->h, CNNACC_REG_SCRATCH, 0xa5a5a5a5);
	assert_int_equal(mh_read(f->h, CNNACC_REG_SCRATCH), 0xa5a5a5a5);
}

static struct cnnacc_core_entry entry_of(struct model_host *h, unsigned int index)
{
	struct cnnacc_core_entry entry;
	uint32_t word[16];

	for (unsigned int i = 0; i < 16; i++)
		word[i] = mh_read(h, mh_read(h, CNNACC_REG_CORE_TABLE) + index * 64 + i * 4);
	memcpy(&entry, word, sizeof(entry));
	return entry;
}

static void test_discovery(void **state)
{
	struct model_host *h = mh_new("ccp+ccp:data-bank=8192:weight-bank=0x1000:icache=512:"
				      "lob=3:job-cycles-max=0x123456789", 1 << 20);
	struct cnnacc_core_entry e = entry_of(h, 1), none = { 0 };

	(void)state;
	assert_int_equal(e.type, CNNACC_CORE_CCP);
	assert_int_equal(e.program_max, 512);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_DATA_BANK], 8192);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_WEIGHT_BANK], 4096);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_LOB], 3);
	assert_int_equal(e.job_cycles_max_lo, 0x23456789);
	assert_int_equal(e.job_cycles_max_hi, 1);
	assert_int_equal(mh_read(h, e.window_offset + CNNACC_CCP_REG_ID), CNNACC_CCP_ID);
	assert_true(e.window_offset + e.window_size <= CNNACC_REGS_SIZE);
	e = entry_of(h, 0);
	assert_int_equal(e.program_max, CNNACC_CCP_ICACHE_DEFAULT);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_DATA_BANK], CNNACC_CCP_DATA_BANK_DEFAULT);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_GEOMETRY], 16 | 8 << 8 | 4 << 16);
	assert_int_equal(e.param[CNNACC_CCP_PARAM_LIMITS], 11 | 8 << 8 | 15 << 16);
	for (unsigned int i = 2; i < 9; i++) {
		e = entry_of(h, i);
		assert_memory_equal(&e, &none, sizeof(e));
	}
	mh_free(h);
}

static void test_odd_accesses(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mh_read(f->h, 1), 0);
	assert_int_equal(mh_read(f->h, 0x100), 0);
	assert_int_equal(mh_read(f->h, 0xfffffffc), 0);
	assert_int_equal(mh_read(f->h, CNNACC_REGS_SIZE), 0);
	mh_write(f->h, CNNACC_REG_SCRATCH + 2, 5);
	assert_int_equal(mh_read(f->h, CNNACC_REG_SCRATCH), 0);
	mh_write(f->h, 0xfffffffc, 5);
	mh_write(f->h, 0xffffffff, 5);
}

static void test_time_latch(void **state)
{
	struct fixture *f = *state;
	uint32_t lo;

	f->h->now = 0x1ffff0000ull - 10;
	lo = mh_read(f->h, CNNACC_REG_TIME_LO);
	assert_int_equal(lo, 0xffff0000);
	f->h->now += 0x100000000ull;
	assert_int_equal(mh_read(f->h, CNNACC_REG_TIME_HI), 1);
	mh_read(f->h, CNNACC_REG_ERR_ADDR_LO);
	assert_int_equal(mh_read(f->h, CNNACC_REG_TIME_HI), 2);
}

/* ----------------------------------------------------------- interrupts */

static void test_irq_status(void **state)
{
	struct fixture *f = *state;
	uint32_t all = 0x303 | CNNACC_IRQ_ERROR;

	mh_write(f->h, CNNACC_REG_IRQ_RAISE, 0xffffffff);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), all);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0x0000ffff);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_ENABLE), 0x303);
	assert_true(f->h->level);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, 0x301);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), 2 | CNNACC_IRQ_ERROR);
	assert_true(f->h->level);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, 2);
	assert_false(f->h->level);
}

static void expect_messages(struct fixture *f, unsigned int v0, unsigned int v1, unsigned int v2)
{
	assert_int_equal(f->h->messages[0], v0);
	assert_int_equal(f->h->messages[1], v1);
	assert_int_equal(f->h->messages[2], v2);
}

static void test_irq_messages(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(cnn_device_vectors(f->h->dev), 3);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 0, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0xffffffff);
	expect_messages(f, 1, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 1, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_EVENT(0));
	expect_messages(f, 2, 0, 0);
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(1));
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_ERROR);
	expect_messages(f, 2, 1, 1);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, CNNACC_IRQ_CORE(0));
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, CNNACC_IRQ_CORE(0));
	expect_messages(f, 3, 1, 1);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, 0);
	assert_false(f->h->level);
	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, CNNACC_IRQ_CORE(1));
	expect_messages(f, 3, 2, 1);
}

/* ---------------------------------------------------------------- rings */

static void expect_error(struct fixture *f, uint32_t code, uint64_t addr)
{
	assert_true(mh_read(f->h, CNNACC_REG_IRQ_STATUS) & CNNACC_IRQ_ERROR);
	assert_int_equal(mh_read(f->h, CNNACC_REG_ERR_CODE), code);
	assert_int_equal(mh_read(f->h, CNNACC_REG_ERR_CORE), 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_ERR_ADDR_LO), (uint32_t)addr);
	assert_int_equal(mh_read(f->h, CNNACC_REG_ERR_ADDR_HI), addr >> 32);
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, CNNACC_IRQ_ERROR);
	assert_int_equal(mh_read(f->h, CNNACC_REG_ERR_CODE), 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_ERR_ADDR_LO), 0);
}

static void test_bad_rings(void **state)
{
	static const struct { uint32_t reg, value; uint64_t addr; } bad[] = {
		{ CNNACC_QREG_RING_SIZE, 0, 0 }, { CNNACC_QREG_RING_SIZE, 1, 1 },
		{ CNNACC_QREG_RING_SIZE, 3, 3 }, { CNNACC_QREG_RING_SIZE, 8192, 8192 },
		{ CNNACC_QREG_COMPL_SIZE, 0xffffffff, 0xffffffff },
		{ CNNACC_QREG_RING_BASE_LO, 0x800, 0x100000800 },
		{ CNNACC_QREG_RING_BASE_HI, 0x100, 0x10000000000 },
		{ CNNACC_QREG_COMPL_BASE_LO, 1, 0x100000001 },
		{ CNNACC_QREG_COMPL_BASE_HI, 0xffffffff, 0xffffffff00000000 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		struct mh_ring *r = &f->h->ring[0];

		r->packets = MH_RAM_BASE;
		r->records = MH_RAM_BASE;
		mh_core_reset(f->h, 0);
		mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
		mh_qwrite(f->h, 0, bad[i].reg, bad[i].value);
		mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
		assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_DISABLED);
		assert_int_equal(qreg(f, CNNACC_QREG_CTRL), CNNACC_QCTRL_ENABLE);
		expect_error(f, CNNACC_SHELL_RING, bad[i].addr);
	}
}

static void test_ring_at_the_end_of_the_bus(void **state)
{
	struct fixture *f = *state;

	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_BASE_LO, 0xfffff000);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_BASE_HI, 0xff);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_SIZE, 128);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	expect_error(f, CNNACC_SHELL_RING, 0xfffffff000);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_SIZE, 64);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_IDLE);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_TAIL, 1);
	mh_work(f->h, 0);
	expect_error(f, CNNACC_SHELL_PACKET_READ, 0xfffffff000);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
}

static void test_doorbells(void **state)
{
	struct fixture *f = *state;

	mh_qwrite(f->h, 0, CNNACC_QREG_RING_TAIL, MH_RING_SIZE);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_TAIL), 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_COMPL_HEAD, 0xffffffff);
	assert_int_equal(qreg(f, CNNACC_QREG_COMPL_HEAD), 0);
	expect_error(f, CNNACC_SHELL_DOORBELL, MH_RING_SIZE);
	mh_qwrite(f->h, 0, CNNACC_QREG_COMPL_HEAD, 3);
	assert_int_equal(qreg(f, CNNACC_QREG_COMPL_HEAD), 3);
	mh_write(f->h, CNNACC_REG_RESET, 1);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_TAIL, 0);
	expect_error(f, CNNACC_SHELL_DOORBELL, 0);
}

static void test_one_job(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);
	struct cnnacc_completion done;
	uint64_t before = f->h->now;

	mh_write(f->h, CNNACC_REG_IRQ_ENABLE, CNNACC_IRQ_CORE(0));
	mh_submit(f->h, 0, &p);
	assert_int_equal(f->h->kicks[0], 1);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.fence, p.fence);
	assert_int_equal(done.seq, 1);
	assert_int_equal(done.ctx_id, 7);
	assert_int_equal(done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(done.status_code, CNNACC_CODE_NONE);
	assert_int_equal(done.cycles, 18);
	assert_true(before < done.start_ns && done.start_ns < done.end_ns);
	assert_int_equal(done.fault_va, 0);
	assert_int_equal(done.access, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_HEAD), 1);
	assert_int_equal(qreg(f, CNNACC_QREG_CONTEXT), 7);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_IDLE);
	assert_int_equal(f->h->messages[0], 1);
	p.flags = 0;
	mh_write(f->h, CNNACC_REG_IRQ_STATUS, CNNACC_IRQ_CORE(0));
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).seq, 2);
	assert_int_equal(f->h->messages[0], 1);
}

static void test_rings_wrap(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);

	for (unsigned int i = 1; i <= 5 * MH_RING_SIZE; i += 3) {
		for (unsigned int j = 0; j < 3; j++) {
			p.fence = i + j;
			mh_submit(f->h, 0, &p);
		}
		mh_work(f->h, 0);
		for (unsigned int j = 0; j < 3; j++) {
			struct cnnacc_completion done = take(f, 0);

			assert_int_equal(done.fence, i + j);
			assert_int_equal(done.seq, i + j);
		}
	}
}

static void test_full_completion_ring(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);
	struct cnnacc_completion done;

	mh_queue_init(f->h, 0, 8, 2);
	for (unsigned int i = 1; i <= 3; i++) {
		p.fence = i;
		mh_submit(f->h, 0, &p);
	}
	mh_work(f->h, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_HEAD), 1);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_IDLE);
	for (unsigned int i = 1; i <= 3; i++) {
		unsigned int kicks = f->h->kicks[0];

		assert_true(mh_completion(f->h, 0, &done));
		assert_int_equal(done.fence, i);
		assert_int_equal(f->h->kicks[0], kicks + (i < 3));
		mh_work(f->h, 0);
	}
	assert_false(mh_completion(f->h, 0, &done));
}

static void test_bad_packets(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p[8];
	struct cnnacc_completion done;

	for (size_t i = 0; i < ELEMENTS(p); i++)
		p[i] = packet_of(f, nop, 1);
	p[0].flags = 8;
	p[1].ctx_id = 0x10000;
	p[2].root = 1ull << 40;
	p[3].cycle_limit = 0;
	p[4].program_va |= 32;
	p[5].program_len = CNNACC_CCP_ICACHE_DEFAULT + 4;
	p[6].stats_va |= 4;
	p[7].reserved[4] = 1;
	for (uint32_t i = 0; i < ELEMENTS(p); i++) {
		if (i < 7)
			p[i].reserved[0] = 1;
		mh_submit(f->h, 0, &p[i]);
		mh_work(f->h, 0);
		done = take(f, 0);
		assert_int_equal(done.status_class, CNNACC_STATUS_CONFIG);
		assert_int_equal(done.status_code, CNNACC_CODE_PACKET);
		assert_int_equal(done.detail, i + 1);
		assert_int_equal(done.cycles, 0);
		assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
		assert_int_equal(qreg(f, CNNACC_QREG_RING_HEAD), 0);
		assert_int_equal(qreg(f, CNNACC_QREG_STATUS),
				 CNNACC_STATUS_CONFIG << 16 | CNNACC_CODE_PACKET);
		mh_core_reset(f->h, 0);
	}
}

static void test_more_bad_packets(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet ok = packet_of(f, nop, 1), p;
	const uint32_t lens[] = { 0, 2, 0xfffffffc };
	const uint64_t limits[] = { (1 << 28) + 1, ~0ull };

	for (size_t i = 0; i < ELEMENTS(lens); i++) {
		p = ok;
		p.program_len = lens[i];
		mh_submit(f->h, 0, &p);
		mh_work(f->h, 0);
		assert_int_equal(take(f, 0).detail, CNNACC_PACKET_BAD_PROGRAM_LEN);
		mh_core_reset(f->h, 0);
	}
	for (size_t i = 0; i < ELEMENTS(limits); i++) {
		p = ok;
		p.cycle_limit = limits[i];
		mh_submit(f->h, 0, &p);
		mh_work(f->h, 0);
		assert_int_equal(take(f, 0).detail, CNNACC_PACKET_BAD_LIMIT);
		mh_core_reset(f->h, 0);
	}
	p = ok;
	p.root |= 0x800;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).detail, CNNACC_PACKET_BAD_ROOT);
	mh_core_reset(f->h, 0);
	p = ok;
	p.flags = 0;
	p.stats_va = 3;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
}

static void test_halt(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1), bad = p;
	struct cnnacc_completion done;

	bad.flags = 0x80;
	mh_submit(f->h, 0, &bad);
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	take(f, 0);
	assert_false(mh_completion(f->h, 0, &done));
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	assert_int_equal(qreg(f, CNNACC_QREG_CTRL), 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_TAIL, 2);
	mh_work(f->h, 0);
	assert_false(mh_completion(f->h, 0, &done));
	mh_core_reset(f->h, 0);
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
}

static void test_completion_unwritable(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);

	f->h->hole = f->h->ring[0].records;
	f->h->hole_size = 64;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	expect_error(f, CNNACC_SHELL_COMPL_WRITE, f->h->ring[0].records);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
	assert_int_equal(qreg(f, CNNACC_QREG_COMPL_TAIL), 0);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_HEAD), 0);
}

static void run_between(struct fixture *f, unsigned int core)
{
	f->h->running = true;
	cnn_device_run(f->h->dev, core, 10000);
	f->h->running = false;
}

static void test_disable(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);
	struct cnnacc_completion done;

	p.cycle_limit = 1 << 20;
	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 0, &p);
	mh_work_once(f->h, 0, 1000);
	mh_qwrite(f->h, 0, CNNACC_QREG_RING_SIZE, 4);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_SIZE), MH_RING_SIZE);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_RUNNING);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE);
	assert_int_equal(qreg(f, CNNACC_QREG_CTRL), 0);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_TAIL), 2);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_TIME_LIMIT);
	mh_core_reset(f->h, 0);
	p = packet_of(f, nop, 1);
	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 0, &p);
	assert_true(cnn_device_begin(f->h->dev, 0));
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	run_between(f, 0);
	cnn_device_end(f->h->dev, 0);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
	assert_false(mh_completion(f->h, 0, &done));
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_DISABLED);
}

/* ----------------------------------------------- abort, resets, limits */

static void test_time_limit(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);
	struct cnnacc_completion done;
	uint32_t progress;

	p.cycle_limit = 100000;
	mh_submit(f->h, 0, &p);
	mh_work_once(f->h, 0, 1000);
	progress = qreg(f, CNNACC_QREG_PROGRESS);
	mh_work_once(f->h, 0, 1000);
	assert_int_not_equal(qreg(f, CNNACC_QREG_PROGRESS), progress);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_RUNNING);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_TIME_LIMIT);
	assert_int_equal(done.status_code, CNNACC_CODE_TIME_LIMIT);
	assert_int_equal(done.pc, 1);
	assert_in_range(done.cycles, 100001, 100002);
}

static void test_abort(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);
	struct cnnacc_completion done;

	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	mh_submit(f->h, 0, &p);
	mh_work_once(f->h, 0, 10000);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_RUNNING);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	assert_int_equal(qreg(f, CNNACC_QREG_CTRL), CNNACC_QCTRL_ENABLE);
	mh_work(f->h, 0);
	done = take(f, 0);
	assert_int_equal(done.status_class, CNNACC_STATUS_ABORTED);
	assert_int_equal(done.status_code, CNNACC_CODE_ABORT);
	assert_int_equal(done.pc, 1);
	assert_true(done.cycles > 0);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
}

/* An abort that comes while the last piece runs has nothing to abort. */
static void test_late_abort(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);

	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 0, &p);
	assert_true(cnn_device_begin(f->h->dev, 0));
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	run_between(f, 0);
	cnn_device_end(f->h->dev, 0);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
}

static void test_core_reset_in_run(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);

	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 1, &p);
	assert_true(cnn_device_begin(f->h->dev, 0));
	assert_true(cnn_device_begin(f->h->dev, 1));
	run_between(f, 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_RESET, 1);
	assert_int_equal(qreg(f, CNNACC_QREG_RESET), 1);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_CTRL), 1);
	assert_false(cnn_device_begin(f->h->dev, 0));
	run_between(f, 1);
	cnn_device_end(f->h->dev, 1);
	cnn_device_end(f->h->dev, 0);
	for (size_t i = 0; i < ELEMENTS(queue_regs); i++)
		assert_int_equal(qreg(f, queue_regs[i].offset), queue_regs[i].reset);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_COMPL_TAIL), 0);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_STATE), CNNACC_QSTATE_RUNNING);
	mh_qwrite(f->h, 1, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	mh_work(f->h, 1);
	assert_int_equal(take(f, 1).status_class, CNNACC_STATUS_ABORTED);
}

static void test_core_reset_scope(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, nop, 1);

	for (unsigned int i = 0; i < 2; i++) {
		mh_submit(f->h, i, &p);
		mh_work(f->h, i);
	}
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, 0x303);
	mh_qwrite(f->h, 0, CNNACC_QREG_RESET, 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), 0x202);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_STATS), 18);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_CONTEXT), CNNACC_NO_CONTEXT);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_CONTEXT), 7);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_RING_HEAD), 1);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_CTRL), 1);
}

static void test_device_reset_in_run(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);

	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 1, &p);
	assert_true(cnn_device_begin(f->h->dev, 0));
	assert_true(cnn_device_begin(f->h->dev, 1));
	mh_write(f->h, CNNACC_REG_RESET, 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_RESET), 1);
	mh_write(f->h, CNNACC_REG_SCRATCH, 3);
	run_between(f, 0);
	cnn_device_end(f->h->dev, 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_RESET), 1);
	assert_false(cnn_device_begin(f->h->dev, 0));
	run_between(f, 1);
	cnn_device_end(f->h->dev, 1);
	check_reset_values(f->h, true);
}

static void test_counters(void **state)
{
	struct fixture *f = *state;
	const struct { size_t offset; uint64_t value; } expected[] = {
		{ offsetof(struct cnnacc_stats, cycles), 3 * 18 },
		{ offsetof(struct cnnacc_stats, dma_cycles), 3 * 17 },
		{ offsetof(struct cnnacc_stats, mem_read_bytes), 3 * 64 },
		{ offsetof(struct cnnacc_stats, instructions), 3 },
		{ offsetof(struct cnnacc_stats, jobs), 3 },
		{ offsetof(struct cnnacc_stats, scrub_cycles), 0 },
	};

	for (unsigned int i = 0; i < 3; i++)
		mh_exec(f->h, &f->space, nop, 1, NULL);
	mh_core_reset(f->h, 0);
	for (size_t i = 0; i < ELEMENTS(expected); i++) {
		uint32_t reg = CNNACC_QREG_STATS + (uint32_t)expected[i].offset;

		assert_int_equal(qreg(f, reg), expected[i].value);
		assert_int_equal(qreg(f, reg + 4), 0);
	}
}

/* ------------------------------------------------------------------ MMU */

static void test_invalidate(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = packet_of(f, loop, 2);

	mh_write(f->h, CNNACC_REG_INVALIDATE, 0x10000);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_SEQ), 0);
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_SEQ), 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 1);
	mh_submit(f->h, 0, &p);
	assert_true(cnn_device_begin(f->h->dev, 0));
	mh_write(f->h, CNNACC_REG_INVALIDATE, 7);
	mh_write(f->h, CNNACC_REG_INVALIDATE, 0xffff);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_SEQ), 3);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 1);
	run_between(f, 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_INV_DONE), 1);
	cnn_device_end(f->h->dev, 0);
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

/* A page that moved is seen at its new place after INVALIDATE. */
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

/* The lines before the one that the bus refuses have moved. */
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

/* A state of 64 MiB banks is cleared in pieces, which an abort may interrupt. */
static void test_scrub_in_pieces(void **state)
{
	struct model_host *h = mh_new("ccp:data-bank=0x4000000", 1 << 20);
	struct mh_space one = mh_space_new(h, 1), two = mh_space_new(h, 2);
	struct cnnacc_completion done;
	struct cnnacc_packet p;

	(void)state;
	mh_map_job(h, &one);
	mh_map_job(h, &two);
	mh_queue_init(h, 0, 8, 8);
	mh_exec(h, &one, nop, 1, NULL);
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

/* --------------------------------------------------------------- config */

static void test_config(void **state)
{
	static const struct { const char *key, *value, *says; } bad[] = {
		{ "cores", "", "no core type" },
		{ "cores", "ccp+", "no core type" },
		{ "cores", "npu", "'npu'" },
		{ "cores", "ccp:lob", "PARAM=N" },
		{ "cores", "ccp:lob=", "lob" },
		{ "cores", "ccp:lob=-1", "lob" },
		{ "cores", "ccp:lob=0", "1..1024" },
		{ "cores", "ccp:lob=1025", "1..1024" },
		{ "cores", "ccp:lob=12x", "12x" },
		{ "cores", "ccp:data-bank=4097", "multiple of 64" },
		{ "cores", "ccp:data-bank=99999999999999999999999", "data-bank" },
		{ "cores", "ccp:icache=8256", "icache" },
		{ "cores", "ccp:job-cycles-max=9223372036854775808", "job-cycles-max" },
		{ "cores", "ccp:colour=1", "'colour'" },
		{ "cores", "ccp:averyveryverylongparametername=1", "too long" },
		{ "cores", "ccp+ccp+ccp+ccp+ccp+ccp+ccp+ccp+ccp", "more than 8" },
		{ "clock-hz", "0", "clock-hz" },
		{ "clock-hz", "4294967296", "clock-hz" },
		{ "clock", "1", "'clock'" },
	};
	struct cnn_config config = { 0 };
	char err[CNN_MODEL_ERR_LEN];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		err[0] = 0;
		assert_int_equal(cnn_config_set(&config, bad[i].key, bad[i].value, err), -1);
		assert_non_null(strstr(err, bad[i].says));
		assert_int_equal(config.core_count, 0);
	}
	assert_int_equal(cnn_config_set(&config, "cores", "ccp+ccp:lob=7:icache=0x100", err), 0);
	assert_int_equal(cnn_config_set(&config, "clock-hz", "200000000", err), 0);
	assert_int_equal(config.core_count, 2);
	assert_int_equal(config.core[1].lob, 7);
	assert_int_equal(config.core[1].icache, 256);
	assert_int_equal(config.clock_hz, 200000000);
}

static void test_config_struct(void **state)
{
	struct cnn_config config = { .core_count = 9 };
	struct cnn_host_ops none = { 0 };
	char err[CNN_MODEL_ERR_LEN];

	(void)state;
	assert_null(cnn_device_create(&config, &none, NULL, err));
	config.core_count = 1;
	assert_null(cnn_device_create(&config, &none, NULL, err));
	config.core[0].type = CNNACC_CORE_CCP;
	config.core[0].data_bank = 100;
	assert_null(cnn_device_create(&config, &none, NULL, err));
	assert_non_null(strstr(err, "data-bank"));
	config.core[0].data_bank = 0;
	config.core[0].job_cycles_max = ~0ull;
	assert_null(cnn_device_create(&config, &none, NULL, err));
}

#define T(name)		cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TWO(name)	cmocka_unit_test_setup_teardown(name, setup_two, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reset_values),
		T(test_written_then_reset), T(test_table_flags),
		cmocka_unit_test(test_discovery),
		T(test_odd_accesses), T(test_time_latch),
		TWO(test_irq_status), TWO(test_irq_messages),
		T(test_bad_rings), T(test_ring_at_the_end_of_the_bus), T(test_doorbells),
		T(test_one_job), T(test_rings_wrap), T(test_full_completion_ring),
		T(test_bad_packets), T(test_more_bad_packets), T(test_halt),
		T(test_completion_unwritable), T(test_disable),
		T(test_time_limit), T(test_abort), T(test_late_abort),
		TWO(test_core_reset_in_run), TWO(test_core_reset_scope),
		TWO(test_device_reset_in_run), T(test_counters),
		T(test_invalidate), T(test_remapped_page), T(test_fault_levels),
		T(test_permissions_are_separate), T(test_beyond), T(test_unreadable_directory),
		T(test_fetch_faults), T(test_stats_faults), T(test_transfer_paths),
		T(test_bus_error_line),
		T(test_residue), T(test_residue_same_id), T(test_no_scrub_within_context),
		cmocka_unit_test(test_scrub_in_pieces),
		cmocka_unit_test(test_config), cmocka_unit_test(test_config_struct),
	};

	return cmocka_run_group_tests_name("model_shell", tests, NULL, NULL);
}
