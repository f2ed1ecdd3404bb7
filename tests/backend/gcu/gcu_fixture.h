/* SPDX-License-Identifier: MIT */
/* Builds blocks of gcu and runs them on the model. */
#ifndef GCU_FIXTURE_H
#define GCU_FIXTURE_H

#include "cnnacc_gcu.h"
#include "core_jobs.h"

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
#define BLOCKS_MAX	8

/* A word of two halves. */
#define PAIR(low, high)		((uint32_t)(uint16_t)(low) | (uint32_t)(uint16_t)(high) << 16)
#define BYTES(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

struct gcu_fixture {
	struct core_jobs j;
	uint32_t words[BLOCKS_MAX * CNNACC_GCU_BLOCK_SIZE / 4];
	uint32_t blocks;
};

static inline struct gcu_fixture *gf_new(const char *cores, const struct cm_config *config)
{
	static struct gcu_fixture f;

	f.blocks = 0;
	cj_start(&f.j, cores, config, (struct cj_range){ DATA_VA, DATA_BYTES });
	return &f;
}

static inline struct gcu_fixture *gf_cores(const char *cores)
{
	const struct cm_config config = { 0 };

	return gf_new(cores, &config);
}

static inline int gf_setup(void **state)
{
	*state = gf_cores("gcu");
	return 0;
}

static inline void *gf_at(struct gcu_fixture *f, uint32_t va)
{
	return f->j.data + (va - DATA_VA);
}

static inline void gf_add(struct gcu_fixture *f, const void *block)
{
	assert_true(f->blocks < BLOCKS_MAX);
	memcpy(f->words + f->blocks++ * CNNACC_GCU_BLOCK_SIZE / 4, block, CNNACC_GCU_BLOCK_SIZE);
}

static inline uint32_t gf_words(const struct gcu_fixture *f)
{
	return f->blocks * CNNACC_GCU_BLOCK_SIZE / 4;
}

/* Runs the blocks that were added, and forgets them. */
static inline void gf_run(struct gcu_fixture *f)
{
	cj_run(&f->j, f->words, gf_words(f));
	f->blocks = 0;
}

static inline void gf_layer(struct gcu_fixture *f, const struct cnnacc_gcu_layer *b)
{
	gf_add(f, b);
	gf_run(f);
}

static inline void gf_ok(struct gcu_fixture *f, const struct cnnacc_gcu_layer *b)
{
	gf_layer(f, b);
	assert_int_equal(f->j.done.status_class, CNNACC_STATUS_OK);
	assert_int_equal(f->j.done.status_code, 0);
	assert_int_equal(f->j.done.fault_va, 0);
}

#define gf_fails(f, b, status_class_, code, detail_) do { \
	gf_layer(f, b); \
	assert_int_equal((f)->j.done.status_class, status_class_); \
	assert_int_equal((f)->j.done.status_code, code); \
	assert_int_equal((f)->j.done.detail, detail_); \
} while (0)

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
