/* SPDX-License-Identifier: MIT */
/* State of a golden model and of the layer that it runs. */
#ifndef GOLDEN_GCU_STATE_H
#define GOLDEN_GCU_STATE_H

#include "block.h"
#include "cover.h"
#include "geometry.h"

#define GOLDEN_GCU_RBUF_COLUMNS	(2 * CNNACC_GCU_RBUF_DEPTH_MAX)

/** struct golden_gcu_counts - what a job or a block counts. */
struct golden_gcu_counts {
	struct cnnacc_stats stats;
	struct golden_gcu_counters window;
};

struct golden_gcu_slot {
	bool valid;
	int64_t cg, row;
	uint64_t ready;
};

/** struct golden_gcu_need - of a packet: op4 @e, kernel row @r. */
struct golden_gcu_need {
	int64_t e, r;
};

/** struct golden_gcu_times - t, f, w, p and o of the page, and free[]. */
struct golden_gcu_times {
	uint64_t t, f, w, p, o;
	uint64_t free[CNNACC_GCU_RBUF_BANKS_MAX];
};

/** struct golden_gcu_run - the layer that runs. */
struct golden_gcu_run {
	const struct golden_gcu_layer *l;
	int64_t i;			/* kernel group */
	struct golden_gcu_range range;
	int64_t h, cg;
	struct golden_gcu_times time;
	struct golden_gcu_need next;	/* of the generator */
	int64_t complete;		/* op4 of the packet that are complete */
	int64_t rows_done;		/* ofmap rows begun, for the bank of RBUF */
	uint64_t weight_ready[1 << 16];	/* of each slot of the kernel area */
	int64_t request;		/* next swap request */
	uint16_t lut[CNNACC_GCU_LUT_ENTRIES];
	uint8_t linear[16 * CNNACC_GCU_ATOMIC_MAX];
	uint32_t acc[GOLDEN_GCU_RBUF_COLUMNS][CNNACC_GCU_ATOMIC_MAX];
	uint32_t out[GOLDEN_GCU_RBUF_COLUMNS][CNNACC_GCU_ATOMIC_MAX];
};

struct golden_gcu {
	struct golden_gcu_params params;
	uint8_t *cbuf, *program;
	struct golden_gcu_regs regs;
	struct golden_gcu_coverage coverage;
	enum golden_gcu_access failed_access;

	/* the job */
	const struct golden_job *job;
	const struct golden_memory *memory;
	struct golden_status *status;
	uint64_t time;			/* T */
	uint8_t words[CNNACC_GCU_PROBE_WORDS * 2 * CNNACC_GCU_ATOMIC_MAX];	/* being moved */
	struct golden_gcu_counts total, block;

	/* the last layer of the job */
	bool has_layer;
	struct golden_gcu_layer layer;
	struct golden_gcu_slot slot[CNNACC_GCU_ROWS_MAX];
	uint8_t vector[CNNACC_GCU_ROWS_MAX / 8];
	unsigned int fills;
	struct golden_gcu_fill fill[GOLDEN_GCU_FILLS];
	struct golden_gcu_run run;
};

/* All of these return false if the job ends. */

/* End the job. */
bool golden_gcu_fail(struct golden_gcu *gcu, uint16_t status_class, uint16_t code,
		     uint32_t detail);
/* The cycle limit at @cycles. */
bool golden_gcu_within_limit(struct golden_gcu *gcu, uint64_t cycles, enum golden_gcu_check check);

/* access.c: bytes of memory, in ascending order */
bool golden_gcu_read(struct golden_gcu *gcu, enum golden_gcu_access access, uint64_t va,
		     void *bytes, size_t length);
bool golden_gcu_write(struct golden_gcu *gcu, enum golden_gcu_access access, uint64_t va,
		      const void *bytes, size_t length);
/* Cycles of @lines lines on a stream. */
uint64_t golden_gcu_moved(const struct golden_gcu *gcu, int64_t lines);
/* use(X, lines); returns the slot's ready. */
uint64_t golden_gcu_use(struct golden_gcu *gcu, uint64_t *stream, int64_t lines);
/* Counts a transfer of @lines lines, without its time. */
void golden_gcu_count_transfer(struct golden_gcu *gcu, int64_t lines);
/* Counts bytes that were read from memory. */
void golden_gcu_count_read(struct golden_gcu *gcu, uint64_t bytes);
/* wait() */
void golden_gcu_wait(struct golden_gcu *gcu, enum golden_gcu_stall why, uint64_t until);
/* The @bytes bytes at a logical byte address of CBUF; all in one word. */
uint8_t *golden_gcu_cbuf_at(struct golden_gcu *gcu, enum cnnacc_gcu_port port, int64_t address,
			    int64_t fmbufbankn);

/* rows.c: row slots */
void golden_gcu_rows_begin(struct golden_gcu *gcu);
bool golden_gcu_rows_begin_op6(struct golden_gcu *gcu);
bool golden_gcu_walk(struct golden_gcu *gcu);
/* The slot of input row @row for (h, cg, r) of the run; -1: the job ends with E_DEADLOCK. */
int64_t golden_gcu_slot_for(struct golden_gcu *gcu, int64_t row, int64_t r);
bool golden_gcu_rows_after_op3(struct golden_gcu *gcu);
bool golden_gcu_rows_after_op4(struct golden_gcu *gcu);
void golden_gcu_rows_after_op6(struct golden_gcu *gcu);
/* A valid slot with that tag, -1: none. */
int64_t golden_gcu_search(const struct golden_gcu *gcu, int64_t cg, int64_t row);

/* weights.c: the kernel area */
void golden_gcu_weights_invalid(struct golden_gcu *gcu);
bool golden_gcu_weights_begin_op6(struct golden_gcu *gcu);
/* Slot of the run's channel group. */
int64_t golden_gcu_weights_slot(const struct golden_gcu *gcu);
bool golden_gcu_weights_after_op4(struct golden_gcu *gcu);

/* layer.c, probe.c: blocks; the cycle limit at their end is the caller's, but not a wait's */
bool golden_gcu_run_layer(struct golden_gcu *gcu, const struct golden_gcu_layer *layer);
bool golden_gcu_run_probe(struct golden_gcu *gcu, const struct golden_gcu_probe *probe);
bool golden_gcu_run_fill(struct golden_gcu *gcu, const struct golden_gcu_probe *fill);
bool golden_gcu_run_wait(struct golden_gcu *gcu, int64_t cycles);

#endif /* GOLDEN_GCU_STATE_H */
