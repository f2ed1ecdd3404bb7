// SPDX-License-Identifier: MIT
/* Rings, completions, aborts, resets and counters of the model. */
#include "model_fixture.h"

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
	struct cnnacc_packet p = nop_packet(f);
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
	assert_int_equal(done.cycles, programs->nop_stats.cycles);
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
	struct cnnacc_packet p = nop_packet(f);

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
	struct cnnacc_packet p = nop_packet(f);
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
		p[i] = nop_packet(f);
	p[0].flags = 8;
	p[1].ctx_id = 0x10000;
	p[2].root = 1ull << 40;
	p[3].cycle_limit = 0;
	p[4].program_va |= 32;
	p[5].program_len = entry_of(f->h, 0).program_max + 4;
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
	struct cnnacc_packet ok = nop_packet(f), p;
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
	struct cnnacc_packet p = nop_packet(f), bad = p;
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
	struct cnnacc_packet p = nop_packet(f);

	f->h->hole = f->h->ring[0].records;
	f->h->hole_size = 64;
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	expect_error(f, CNNACC_SHELL_COMPL_WRITE, f->h->ring[0].records);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
	assert_int_equal(qreg(f, CNNACC_QREG_COMPL_TAIL), 0);
	assert_int_equal(qreg(f, CNNACC_QREG_RING_HEAD), 0);
}

static void test_disable(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);
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
	p = nop_packet(f);
	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 0, &p);
	assert_true(cm_device_begin(f->h->dev, 0));
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	run_between(f, 0);
	cm_device_end(f->h->dev, 0);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
	assert_false(mh_completion(f->h, 0, &done));
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_DISABLED);
}

/* ----------------------------------------------- abort, resets, limits */

static void test_time_limit(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);
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
	assert_int_equal(done.pc, programs->endless_pc);
	assert_in_range(done.cycles, 100001, 100002);
}

static void test_abort(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);
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
	assert_int_equal(done.pc, programs->endless_pc);
	assert_true(done.cycles > 0);
	assert_int_equal(qreg(f, CNNACC_QREG_STATE), CNNACC_QSTATE_HALTED);
}

/* An abort during the last step has no effect: the job is complete. */
static void test_late_abort(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = nop_packet(f);

	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 0, &p);
	assert_true(cm_device_begin(f->h->dev, 0));
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, CNNACC_QCTRL_ENABLE | CNNACC_QCTRL_ABORT);
	run_between(f, 0);
	cm_device_end(f->h->dev, 0);
	mh_work(f->h, 0);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
	assert_int_equal(take(f, 0).status_class, CNNACC_STATUS_OK);
}

static void test_core_reset_in_run(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);

	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 1, &p);
	assert_true(cm_device_begin(f->h->dev, 0));
	assert_true(cm_device_begin(f->h->dev, 1));
	run_between(f, 0);
	mh_qwrite(f->h, 0, CNNACC_QREG_RESET, 1);
	assert_int_equal(qreg(f, CNNACC_QREG_RESET), 1);
	mh_qwrite(f->h, 0, CNNACC_QREG_CTRL, 0);
	assert_int_equal(qreg(f, CNNACC_QREG_CTRL), 1);
	assert_false(cm_device_begin(f->h->dev, 0));
	run_between(f, 1);
	cm_device_end(f->h->dev, 1);
	cm_device_end(f->h->dev, 0);
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
	struct cnnacc_packet p = nop_packet(f);

	for (unsigned int i = 0; i < 2; i++) {
		mh_submit(f->h, i, &p);
		mh_work(f->h, i);
	}
	mh_write(f->h, CNNACC_REG_IRQ_RAISE, 0x303);
	mh_qwrite(f->h, 0, CNNACC_QREG_RESET, 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_IRQ_STATUS), 0x202);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_STATS), programs->nop_stats.cycles);
	assert_int_equal(mh_qread(f->h, 0, CNNACC_QREG_CONTEXT), CNNACC_NO_CONTEXT);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_CONTEXT), 7);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_RING_HEAD), 1);
	assert_int_equal(mh_qread(f->h, 1, CNNACC_QREG_CTRL), 1);
}

static void test_device_reset_in_run(void **state)
{
	struct fixture *f = *state;
	struct cnnacc_packet p = endless_packet(f);

	mh_submit(f->h, 0, &p);
	mh_submit(f->h, 1, &p);
	assert_true(cm_device_begin(f->h->dev, 0));
	assert_true(cm_device_begin(f->h->dev, 1));
	mh_write(f->h, CNNACC_REG_RESET, 1);
	assert_int_equal(mh_read(f->h, CNNACC_REG_RESET), 1);
	mh_write(f->h, CNNACC_REG_SCRATCH, 3);
	run_between(f, 0);
	cm_device_end(f->h->dev, 0);
	assert_int_equal(mh_read(f->h, CNNACC_REG_RESET), 1);
	assert_false(cm_device_begin(f->h->dev, 0));
	run_between(f, 1);
	cm_device_end(f->h->dev, 1);
	check_reset_values(f->h, true);
}

static void test_counters(void **state)
{
	struct fixture *f = *state;
	const struct cnnacc_stats *one = &programs->nop_stats;
	const struct { size_t offset; uint64_t value; } expected[] = {
		{ offsetof(struct cnnacc_stats, cycles), 3 * one->cycles },
		{ offsetof(struct cnnacc_stats, dma_cycles), 3 * one->dma_cycles },
		{ offsetof(struct cnnacc_stats, mem_read_bytes), 3 * one->mem_read_bytes },
		{ offsetof(struct cnnacc_stats, instructions), 3 * one->instructions },
		{ offsetof(struct cnnacc_stats, jobs), 3 * one->jobs },
		{ offsetof(struct cnnacc_stats, scrub_cycles), 0 },
	};

	for (unsigned int i = 0; i < 3; i++)
		exec_code(f, programs->nop(f->code));
	mh_core_reset(f->h, 0);
	for (size_t i = 0; i < ELEMENTS(expected); i++) {
		uint32_t reg = CNNACC_QREG_STATS + (uint32_t)expected[i].offset;

		assert_int_equal(qreg(f, reg), expected[i].value);
		assert_int_equal(qreg(f, reg + 4), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_bad_rings),
		T(test_ring_at_the_end_of_the_bus),
		T(test_doorbells),
		T(test_one_job),
		T(test_rings_wrap),
		T(test_full_completion_ring),
		T(test_bad_packets),
		T(test_more_bad_packets),
		T(test_halt),
		T(test_completion_unwritable),
		T(test_disable),
		T(test_time_limit),
		T(test_abort),
		T(test_late_abort),
		TWO(test_core_reset_in_run),
		TWO(test_core_reset_scope),
		TWO(test_device_reset_in_run),
		T(test_counters),
	};

	return RUN_ON_CORES("model_queue", tests);
}
