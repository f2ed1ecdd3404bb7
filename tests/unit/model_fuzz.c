// SPDX-License-Identifier: MIT
/*
 * Hostile software: random registers, rings, tables and programs.  Nothing may
 * crash, hang or leave RAM; built with sanitizers this is a fuzzer with fixed seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "any_value.h"
#include "core_programs.h"
#include "model_host.h"

#define PAGE	CNNACC_PAGE_SIZE
#define RW	(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define DATA_VA	0x00000000u
#define RAM	(1 << 20)

static uint64_t seed;

/* The device: each kind of core with small memories, then with the smallest as far as it may be. */
static char cores[1024];
static unsigned int kinds, core_count;
static uint32_t program_max[CM_MAX_CORES];	/* of each */

/* A number below @n; 0: any. */
static uint32_t rnd(uint32_t n)
{
	uint32_t number = mh_random(&seed);

	return n ? number % n : number;
}

static uint32_t any_offset(void)
{
	if (rnd(4))
		return 0x2000 + rnd(core_count) * 0x100 + rnd(24) * 4;
	return rnd(2) ? rnd(32) * 4 : rnd(0x12000);
}

/* One call of a core's worker, so that the cores' calls interleave. */
static void work(struct model_host *h, bool in_run[CM_MAX_CORES])
{
	unsigned int core = rnd(core_count);

	if (!in_run[core]) {
		in_run[core] = cm_device_begin(h->dev, core);
		return;
	}
	if (rnd(2)) {
		h->running = true;
		cm_device_run(h->dev, core, rnd(20000));
		h->running = false;
	}
	cm_device_end(h->dev, core);
	in_run[core] = false;
}

static void settle(struct model_host *h, bool in_run[CM_MAX_CORES])
{
	for (unsigned int i = 0; i < core_count; i++)
		if (in_run[i])
			cm_device_end(h->dev, i);
}

static void test_registers(void **state)
{
	(void)state;
	for (seed = 1; seed < 100;) {
		struct model_host *h = mh_new(cores, RAM);
		uint64_t start = seed;
		bool in_run[CM_MAX_CORES] = { false };

		for (unsigned int i = 0; i < RAM / 4; i++)
			((uint32_t *)h->ram)[i] = rnd(4) ? 0 : any_value(rnd);
		for (unsigned int i = 0; i < 7000 * core_count; i++) {
			switch (rnd(4)) {
			case 0:
				work(h, in_run);
				break;
			case 1:
				mh_read(h, any_offset());
				break;
			default:
				mh_write(h, any_offset(), rnd(3) ? any_value(rnd) : 1);
			}
		}
		settle(h, in_run);
		mh_free(h);
		seed = start + 1;
	}
}

static struct cnnacc_packet any_packet(struct model_host *h, const struct mh_space *s,
				       unsigned int core)
{
	uint32_t code[CORE_PROGRAM_LONG / 4];
	uint32_t size = core_programs_at(core % kinds)->any(code, program_max[core], rnd);
	struct cnnacc_packet p = mh_packet(h, s, code, size / 4);

	p.cycle_limit = 1 + rnd(20000);
	if (!rnd(20))
		((uint32_t *)&p)[rnd(16)] = any_value(rnd);
	return p;
}

/* The host's time is bounded by the cycle limit, whatever runs. */
static void check_jobs(struct model_host *h, const struct mh_space *space, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		unsigned int core = rnd(core_count), runs = 0;
		struct cnnacc_completion done;
		struct cnnacc_packet p;

		p = any_packet(h, &space[rnd(2)], core);
		mh_submit(h, core, &p);
		while (mh_work_once(h, core, rnd(4) ? 5000 : 1)) {
			assert_true(++runs < 200000);
			mh_qwrite(h, core, CNNACC_QREG_EVENT_ACK, 1);
		}
		assert_true(mh_completion(h, core, &done));
		assert_int_equal(done.fence, p.fence);
		if (done.status_class)
			mh_core_reset(h, core);
	}
}

static void test_programs(void **state)
{
	struct model_host *h = mh_new(cores, RAM);
	struct mh_space space[2];

	(void)state;
	seed = 77;
	for (unsigned int i = 0; i < core_count; i++)
		mh_queue_init(h, i, MH_RING_SIZE, MH_RING_SIZE);
	for (unsigned int i = 0; i < 2; i++) {
		float *data;

		space[i] = mh_space_new(h, i);
		mh_map_job(h, &space[i]);
		data = mh_map_new(h, &space[i], DATA_VA, 4 * PAGE, RW | CNNACC_PTE_EXEC);
		for (unsigned int j = 0; j < PAGE; j++)
			data[j] = (float)rnd(2000) - 1000.0f;
	}
	check_jobs(h, space, 10000 * core_count);
	mh_free(h);
}

/* A low limit of cycles for the cores that are small, a high one for the smallest. */
static int build_cores(void **state)
{
	struct model_host *h;
	size_t n = 0;

	(void)state;
	while (core_programs_at(kinds))
		kinds++;
	for (; core_count < 2 * kinds && core_count < CM_MAX_CORES; core_count++) {
		const struct core_programs *p = core_programs_at(core_count % kinds);

		n += (size_t)snprintf(cores + n, sizeof(cores) - n, "%s%s:job-cycles-max=%u",
				      n ? "+" : "", core_count < kinds ? p->small : p->tiny,
				      core_count < kinds ? 20000 : 1000000);
		if (n >= sizeof(cores))
			return -1;
	}
	h = mh_new(cores, RAM);
	for (unsigned int i = 0; i < core_count; i++)
		program_max[i] = mh_read(h, mh_read(h, CNNACC_REG_CORE_TABLE) +
					 i * CNNACC_CORE_ENTRY_SIZE +
					 offsetof(struct cnnacc_core_entry, program_max));
	mh_free(h);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests_name("model_fuzz", tests, build_cores, NULL);
}
