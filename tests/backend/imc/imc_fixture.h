/* SPDX-License-Identifier: MIT */
/* Runs programs of imc on the model. */
#ifndef IMC_FIXTURE_H
#define IMC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "imc_code.h"
#include "model_host.h"

#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
#define DATA_VA		0x00400000u
#define DATA_BYTES	0x100000u
/* Where in it operands and results are. */
#define INPUT		0u
#define WEIGHT		0x40000u
#define UNIT		0x80000u
#define BOOT(a)		(16 + ((a)->n + 1) / 2)

struct imc_fixture {
	struct model_host *h;
	struct mh_space space;
	uint8_t *data;			/* of DATA_VA */
	struct cnnacc_stats stats;
	struct cnnacc_completion done;
	uint64_t limit;			/* of the next jobs */
	uint32_t flags;			/* CNNACC_PACKET_* beside statistics and interrupt */
};

/* Has this host the vectors of the configuration? */
static inline bool if_possible(const struct cm_config *config)
{
	const struct cm_host_ops none = { 0 };
	char err[CM_ERR_LEN];
	struct cm_device *dev = cm_device_create(config, &none, NULL, err);

	cm_device_destroy(dev);
	return dev != NULL;
}

static inline struct imc_fixture *if_new(const char *cores, const struct cm_config *config)
{
	static struct imc_fixture f;
	struct cm_config c = *config;
	char err[CM_ERR_LEN];

	assert_int_equal(cm_config_set(&c, "cores", cores, err), 0);
	f = (struct imc_fixture){ .h = mh_new_config(&c, 4 << 20), .limit = 1 << 26 };
	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.data = mh_map_new(f.h, &f.space, DATA_VA, DATA_BYTES, RW);
	mh_queue_init(f.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	return &f;
}

static inline int if_setup_cores(void **state, const char *cores)
{
	const struct cm_config config = { 0 };

	*state = if_new(cores, &config);
	return 0;
}

static inline int if_setup(void **state)
{
	return if_setup_cores(state, "imc");
}

static inline int if_teardown(void **state)
{
	mh_free(((struct imc_fixture *)*state)->h);
	return 0;
}

static inline void if_submit(struct imc_fixture *f, const struct sasm *a)
{
	struct cnnacc_packet p = mh_packet(f->h, &f->space, (const uint32_t *)a->c,
					   a->n * sizeof(a->c[0]) / 4);

	p.flags |= f->flags;
	p.cycle_limit = f->limit;
	if (mh_qread(f->h, 0, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED)
		mh_core_reset(f->h, 0);
	mh_submit(f->h, 0, &p);
}

/* Takes the job's record and statistics; false if it has not ended. */
static inline bool if_done(struct imc_fixture *f)
{
	if (!mh_completion(f->h, 0, &f->done))
		return false;
	memcpy(&f->stats, mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, MH_STATS_VA))),
	       sizeof(f->stats));
	return true;
}

static inline void if_run(struct imc_fixture *f, const struct sasm *a)
{
	if_submit(f, a);
	mh_work(f->h, 0);
	assert_true(if_done(f));
}

static inline void if_ok(struct imc_fixture *f, const struct sasm *a)
{
	if_run(f, a);
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->done.status_code, 0);
	assert_int_equal(f->done.fault_va, 0);
	assert_int_equal(f->done.pc, a->n - 1);
}

#define if_fails(f, a, status_class_, code, pc_, detail_) do { \
	if_run(f, a); \
	assert_int_equal((f)->done.status_class, status_class_); \
	assert_int_equal((f)->done.status_code, code); \
	assert_int_equal((f)->done.pc, pc_); \
	assert_int_equal((f)->done.detail, detail_); \
} while (0)

#define if_bad(f, a, code, pc, detail) \
	if_fails(f, a, CNNACC_STATUS_BAD_PROGRAM, code, pc, detail)

/* Register of the core's window. */
static inline uint32_t if_reg(struct imc_fixture *f, uint32_t offset)
{
	uint32_t entry = mh_read(f->h, CNNACC_REG_CORE_TABLE);

	return mh_read(f->h, mh_read(f->h, entry + offsetof(struct cnnacc_core_entry,
							     window_offset)) + offset);
}

static inline uint64_t if_counter(struct imc_fixture *f, uint32_t offset)
{
	return if_reg(f, offset) | (uint64_t)if_reg(f, offset + 4) << 32;
}

/* Loads @bytes of f->data from @from on into a bank; the memories keep them between jobs. */
static inline void if_load(struct imc_fixture *f, unsigned int memory, uint32_t from,
			   uint32_t bytes)
{
	struct sasm a = { .n = 0 };

	sa_load(&a, memory, DATA_VA + from, 0, bytes);
	sa_end(&a);
	if_ok(f, &a);
}

static inline void if_save(struct imc_fixture *f, unsigned int memory, uint32_t to, uint32_t bytes)
{
	struct sasm a = { .n = 0 };

	sa_save(&a, memory, DATA_VA + to, 0, bytes);
	sa_end(&a);
	if_ok(f, &a);
}

static inline void if_put(struct imc_fixture *f, uint32_t at, uint32_t value)
{
	memcpy(f->data + at, &value, sizeof(value));
}

static inline uint32_t if_get(const struct imc_fixture *f, uint32_t at)
{
	uint32_t value;

	memcpy(&value, f->data + at, sizeof(value));
	return value;
}

#define ELEMENTS(a)	(sizeof(a) / sizeof((a)[0]))
#define IT(name)	cmocka_unit_test_setup_teardown(name, if_setup, if_teardown)

#endif
