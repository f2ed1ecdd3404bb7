/* SPDX-License-Identifier: MIT */
/* Builds blocks of gcu and runs them on the model. */
#ifndef GCU_FIXTURE_H
#define GCU_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cnnacc_gcu.h"
#include "model_host.h"

#define PAGE		CNNACC_PAGE_SIZE
#define RW		(CNNACC_PTE_READ | CNNACC_PTE_WRITE)
/* One range of memory, from 10000h on, where the page's layers have their data. */
#define DATA_VA		0x10000u
#define DATA_BYTES	0x80000u
#define IFMAP		0x10000u
#define WEIGHTS		0x20000u
#define OFMAP		0x30000u
#define LINEAR		0x40000u
#define PSUM		0x50000u
#define TABLES		0x60000u	/* increments; vectors 4 KiB behind them */
#define LUT		0x70000u
#define RESULT		0x80000u
#define WINDOW		0x4000u		/* of core 0 */
#define BLOCKS_MAX	8

/* A word of two halves. */
#define PAIR(low, high)		((uint32_t)(uint16_t)(low) | (uint32_t)(uint16_t)(high) << 16)
#define BYTES(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

struct gcu_fixture {
	struct model_host *h;
	struct mh_space space;
	uint8_t *memory;		/* of DATA_VA */
	struct cnnacc_stats stats;
	struct cnnacc_completion done;
	uint64_t limit;			/* of the next jobs */
	uint32_t words[BLOCKS_MAX * CNNACC_GCU_BLOCK_SIZE / 4];
	uint32_t blocks;
};

static inline struct gcu_fixture *gf_new(const struct cm_config *config)
{
	static struct gcu_fixture f;
	struct cm_config c = *config;
	char err[CM_ERR_LEN];

	if (!c.core_count)
		assert_int_equal(cm_config_set(&c, "cores", "gcu", err), 0);
	f = (struct gcu_fixture){ .h = mh_new_config(&c, 2 << 20), .limit = 1 << 26 };
	f.space = mh_space_new(f.h, 7);
	mh_map_job(f.h, &f.space);
	f.memory = mh_map_new(f.h, &f.space, DATA_VA, DATA_BYTES, RW);
	mh_queue_init(f.h, 0, MH_RING_SIZE, MH_RING_SIZE);
	return &f;
}

static inline struct gcu_fixture *gf_cores(const char *cores)
{
	struct cm_config config = { 0 };
	char err[CM_ERR_LEN];

	assert_int_equal(cm_config_set(&config, "cores", cores, err), 0);
	return gf_new(&config);
}

/* Has this host the vectors of the configuration? */
static inline bool gf_possible(const struct cm_config *config)
{
	const struct cm_host_ops none = { 0 };
	char err[CM_ERR_LEN];
	struct cm_device *dev = cm_device_create(config, &none, NULL, err);

	cm_device_destroy(dev);
	return dev != NULL;
}

static inline int gf_setup(void **state)
{
	const struct cm_config config = { 0 };

	*state = gf_new(&config);
	return 0;
}

static inline int gf_teardown(void **state)
{
	mh_free(((struct gcu_fixture *)*state)->h);
	return 0;
}

static inline void *gf_at(struct gcu_fixture *f, uint32_t va)
{
	return f->memory + (va - DATA_VA);
}

static inline void gf_add(struct gcu_fixture *f, const void *block)
{
	assert_true(f->blocks < BLOCKS_MAX);
	memcpy(f->words + f->blocks++ * CNNACC_GCU_BLOCK_SIZE / 4, block, CNNACC_GCU_BLOCK_SIZE);
}

/* Runs the blocks that were added, and forgets them. */
static inline void gf_run(struct gcu_fixture *f)
{
	struct cnnacc_packet p = mh_packet(f->h, &f->space, f->words,
					   f->blocks * CNNACC_GCU_BLOCK_SIZE / 4);

	p.cycle_limit = f->limit;
	f->blocks = 0;
	if (mh_qread(f->h, 0, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED)
		mh_core_reset(f->h, 0);
	mh_submit(f->h, 0, &p);
	mh_work(f->h, 0);
	assert_true(mh_completion(f->h, 0, &f->done));
	memcpy(&f->stats, mh_ptr(f->h, CNNACC_PTE_BUS(*mh_pte(f->h, &f->space, MH_STATS_VA))),
	       sizeof(f->stats));
}

static inline void gf_layer(struct gcu_fixture *f, const struct cnnacc_gcu_layer *b)
{
	gf_add(f, b);
	gf_run(f);
}

static inline void gf_ok(struct gcu_fixture *f, const struct cnnacc_gcu_layer *b)
{
	gf_layer(f, b);
	assert_int_equal(f->done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->done.status_code, 0);
	assert_int_equal(f->done.fault_va, 0);
}

#define gf_fails(f, b, status_class_, code, detail_) do { \
	gf_layer(f, b); \
	assert_int_equal((f)->done.status_class, status_class_); \
	assert_int_equal((f)->done.status_code, code); \
	assert_int_equal((f)->done.detail, detail_); \
} while (0)

static inline uint32_t gf_reg(struct gcu_fixture *f, uint32_t reg)
{
	return mh_read(f->h, WINDOW + reg);
}

static inline uint64_t gf_counter(struct gcu_fixture *f, uint32_t reg)
{
	uint64_t low = gf_reg(f, reg);

	return low | (uint64_t)gf_reg(f, reg + 4) << 32;
}

/* The layer that the page's table of cycles begins with, without a replacement scheme. */
static inline struct cnnacc_gcu_layer gf_base(void)
{
	return (struct cnnacc_gcu_layer){
		.control = CNNACC_GCU_LAYER,
		.in_size = PAIR(8, 8), .channels = PAIR(16, 16), .out_size = PAIR(6, 6),
		.kernel = BYTES(3, 3, 1, 1), .groups = 1,
		.fmbuf = 10 | 1 << 8 | 8 << 16, .kbuf = PAIR(9, 3),
		.ifmap = { IFMAP, 8, 64, 512 }, .ofmap = { OFMAP, 8, 48, 288 },
		.weight_va = WEIGHTS,
	};
}

/** struct gf_entry - an entry of the replacement tables with slots below 8. */
struct gf_entry {
	uint8_t increment, vector;
};

/* Tables for the layer's number of slots. */
static inline void gf_tables(struct gcu_fixture *f, struct cnnacc_gcu_layer *b,
			     const struct gf_entry *entries, uint32_t count)
{
	uint32_t bytes = ((b->fmbuf >> 16) + 7) / 8;

	b->control |= CNNACC_GCU_TABLE;
	b->table_entries = count;
	b->increment_va = TABLES;
	b->vector_va = TABLES + PAGE;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(gf_at(f, TABLES + i), &entries[i].increment, 1);
		memset(gf_at(f, TABLES + PAGE + i * bytes), 0, bytes);
		memcpy(gf_at(f, TABLES + PAGE + i * bytes), &entries[i].vector, 1);
	}
}

/* All rows stay: the only entry restarts the tables. */
static inline void gf_keep_rows(struct gcu_fixture *f, struct cnnacc_gcu_layer *b)
{
	gf_tables(f, b, (const struct gf_entry[]){ { CNNACC_GCU_RESTART, 0 } }, 1);
}

#endif
