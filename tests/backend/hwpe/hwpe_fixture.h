/* SPDX-License-Identifier: MIT */
/* Runs programs of the sequencer and of hwpe on the model. */
#ifndef HWPE_FIXTURE_H
#define HWPE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwpe_code.h"
#include "model_host.h"

#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define DATA_VA		0x00400000u
#define DATA_PAGES	16u
#define FMAP		8192u
#define KERNEL		32768u
#define CORES		"hwpe:fmap=8192:kernel=32768:program=4096"

struct hwpe_fixture {
	struct model_host *h;
	struct mh_space space;
	uint8_t *data;
	struct cnnacc_stats stats;
	struct cnnacc_completion done;
	uint64_t limit;			/* of the next jobs */
	uint32_t flags;			/* CNNACC_PACKET_* beside statistics and interrupt */
};

static inline struct hwpe_fixture *hf_new(const struct cm_config *config)
{
	static struct hwpe_fixture f;
	struct cm_config c = *config;
	char err[CM_ERR_LEN];

	if (!c.core_count)
		assert_int_equal(cm_config_set(&c, "cores", CORES, err), 0);
	f = (struct hwpe_fixture){ .h = mh_new_config(&c, 2 << 20), .limit = 1 << 24 };
	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.data = mh_map_new(f.h, &f.space, DATA_VA, DATA_PAGES * PAGE, RW);
	mh_queue_init(f.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	return &f;
}

/* Has this host the vectors of the configuration? */
static inline bool hf_possible(const struct cm_config *config)
{
	const struct cm_host_ops none = { 0 };
	char err[CM_ERR_LEN];
	struct cm_device *dev = cm_device_create(config, &none, NULL, err);

	cm_device_destroy(dev);
	return dev != NULL;
}

static inline int hf_setup(void **state)
{
	const struct cm_config config = { 0 };

	*state = hf_new(&config);
	return 0;
}

static inline int hf_teardown(void **state)
{
	mh_free(((struct hwpe_fixture *)*state)->h);
	return 0;
}

static inline void hf_submit(struct hwpe_fixture *f, const struct sasm *a)
{
	struct cnnacc_packet p = mh_packet(f->h, &f->space, (const uint32_t *)a->c,
					   a->n * sizeof(a->c[0]) / 4);

	p.flags |= f->flags;
	p.cycle_limit = f->limit;
	if (mh_qread(f->h, 0, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED)
		mh_core_reset(f->h, 0);
	mh_submit(f->h, 0, &p);
}

/* The job's record and statistics; false if it has not ended. */
static inline bool hf_done(struct hwpe_fixture *f)
{
	if (!mh_completion(f->h, 0, &f->done))
		return false;
	memcpy(&f->stats, mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, MH_STATS_VA))),
	       sizeof(f->stats));
	return true;
}

static inline void hf_run(struct hwpe_fixture *f, const struct sasm *a)
{
	hf_submit(f, a);
	mh_work(f->h, 0);
	assert_true(hf_done(f));
}

static inline void hf_ok(struct hwpe_fixture *f, const struct sasm *a)
{
	hf_run(f, a);
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->done.status_code, 0);
	assert_int_equal(f->done.fault_va, 0);
	assert_int_equal(f->done.pc, a->n - 1);
}

#define hf_fails(f, a, status_class_, code, pc_, detail_) do { \
	hf_run(f, a); \
	assert_int_equal((f)->done.status_class, status_class_); \
	assert_int_equal((f)->done.status_code, code); \
	assert_int_equal((f)->done.pc, pc_); \
	assert_int_equal((f)->done.detail, detail_); \
} while (0)

#define hf_bad(f, a, code, pc, detail) \
	hf_fails(f, a, CNNACC_STATUS_BAD_PROGRAM, code, pc, detail)

/* Register of the core's window. */
static inline uint32_t hf_reg(struct hwpe_fixture *f, uint32_t offset)
{
	uint32_t entry = mh_read(f->h, CNNACC_REG_CORE_TABLE);

	return mh_read(f->h, mh_read(f->h, entry + offsetof(struct cnnacc_core_entry,
							     window_offset)) + offset);
}

#define HT(name)	cmocka_unit_test_setup_teardown(name, hf_setup, hf_teardown)

#endif
