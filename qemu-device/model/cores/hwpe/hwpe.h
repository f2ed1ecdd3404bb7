/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Internals of core hwpe (Documentation/hardware/hwpe.rst). */
#ifndef CM_HWPE_H
#define CM_HWPE_H

#include <stdatomic.h>

#include "cnnacc_hwpe.h"
#include "sequencer.h"

#define HWPE_PES	CNNACC_HWPE_PES
#define HWPE_ACCS	CNNACC_HWPE_ACCS
#define HWPE_ROUNDS	1024	/* maximum number of products computed together */
#define HWPE_ELEMENTS	32	/* maximum number of elements in a word */
/* Words after each row: rows a power of two apart would conflict in the host's cache. */
#define HWPE_PAD	8
/* Bytes, for elements widened to 16 bits. */
#define HWPE_SCRATCH	(HWPE_ACCS * (HWPE_ROUNDS + HWPE_PAD) * HWPE_ELEMENTS * 2)
#define HWPE_RIGHT	(HWPE_ROUNDS * HWPE_PES * HWPE_ELEMENTS * 2)

/** struct hwpe_window - indices of a window in its task. */
struct hwpe_window {
	uint32_t k, cw, ch;
};

/** struct hwpe_state - head of the flat state; the memories follow it. */
struct hwpe_state {
	struct cm_seq_state seq;
	uint32_t state;			/* enum cnnacc_hwpe_state */
	uint32_t sticky;		/* CNNACC_HWPE_STATUS_BAD_TER2, ALIGN */
	uint32_t base[8];
	uint32_t cfg[2];
	uint32_t mac[2];		/* operands of the last MatrixMac */
	uint32_t events;		/* the task's rounds raise events */
	uint32_t round, rounds;
	struct hwpe_window window;	/* the running or last window */
	uint32_t pending;		/* its products not yet computed */
	uint32_t useful;		/* its useful multiply-accumulates for each AccReg */
	uint16_t undrained[HWPE_ACCS];	/* mask of PEs not drained since it started */
	/* A job starts with zeros in everything above. */
	int32_t acc[HWPE_ACCS][HWPE_PES];
};

/** struct hwpe_layer - a task's decoded configuration. */
struct hwpe_layer {
	uint32_t type;			/* enum cnnacc_hwpe_type */
	bool special;			/* Kernel_333 */
	bool input;
	uint32_t columns;		/* W columns in a window */
	uint32_t words;			/* left words in a column */
	uint32_t rounds;		/* R_n: products in a window */
	uint32_t offset;		/* Conv_W_offset */
	uint32_t strides;		/* W_stride and H_stride */
	uint32_t base[8];
};

/** struct hwpe_left - addresses of the left words of some products. */
struct hwpe_left {
	const uint8_t *memory[HWPE_ACCS];	/* SRAM of each row */
	uint64_t conv[HWPE_ACCS];		/* address of column 0 in it */
	uint64_t mask;				/* alignment of a column's address */
	uint32_t offset;			/* distance between columns */
	uint32_t words;				/* words in a column */
	uint32_t column, word;			/* position of product 0 */
	uint32_t rounds;			/* number of products */
};

/** struct hwpe_run - contiguous left words of a row. */
struct hwpe_run {
	const uint8_t *in;
	uint32_t to, words;		/* first product that uses them, number of words */
	uint32_t columns;		/* columns started so far */
};

/** struct hwpe_simd - kernels for one vector width; all give bit-identical results. */
struct hwpe_simd {
	uint32_t round_ns;		/* estimated time of a product: 8 rows, 16 columns */
	/*
	 * Convert @rounds right words of each column to the layout that add() reads; return @out,
	 * or @in if that layout is the same.
	 */
	const void *(*right)(const uint8_t *in, uint32_t rounds, uint32_t type, void *out,
			     int32_t sum[HWPE_PES]);
	/* Add products modulo 2^32; return whether a left TER2 value is 10. */
	bool (*add)(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left, uint32_t type,
		    const void *right, const int32_t sum[HWPE_PES], void *scratch);
};

/** struct hwpe_right - right words in the layout of hwpe_simd.add(). */
struct hwpe_right {
	bool valid;
	uint32_t address;		/* in the kernel memory */
	uint32_t rounds;
	uint32_t type;
	bool bad;			/* contains a TER2 value of 10 */
	int32_t sum[HWPE_PES];
	const void *words;		/* in @memory or the kernel memory */
	uint8_t memory[HWPE_RIGHT] __attribute__((aligned(64)));
};

/** struct hwpe_span - bounds within which a window's addresses need no check. */
struct hwpe_span {
	bool valid;
	bool aligned;			/* bases and offset are multiples of 8 */
	uint64_t max_distance;		/* maximum distance from the bases */
	uint32_t groups;		/* values of k that fit the kernel memory */
};

#define HWPE_BLOCK	32
#define HWPE_BLOCKS	64

/**
 * struct hwpe_block - sums of consecutive windows that use the same kernels.
 *
 * A block holds many windows because moving a cache line between the host's processors takes as
 * long as computing a window.
 */
struct hwpe_block {
	atomic_bool done;
	uint32_t count;
	struct hwpe_window window[HWPE_BLOCK];
	uint32_t sticky[HWPE_BLOCK];	/* STATUS bits that the window sets */
	int32_t sum[HWPE_BLOCK][HWPE_ACCS][HWPE_PES] __attribute__((aligned(64)));
};

/** struct hwpe_lookahead - precomputed sums of the current and the following windows. */
struct hwpe_lookahead {
	/* Used by the core's thread only. */
	bool running;			/* other threads are computing blocks */
	uint32_t block, window;		/* next block to use, next window in it */
	/* Read by the other threads. */
	struct hwpe_layer layer __attribute__((aligned(64)));
	uint32_t count;			/* number of blocks */
	atomic_uint claimed __attribute__((aligned(64)));	/* number of claimed blocks */
	struct hwpe_block blocks[HWPE_BLOCKS];
};

/** struct hwpe_thread - private memory of a computing thread. */
struct hwpe_thread {
	struct hwpe_right right;
	uint64_t special[HWPE_ACCS][4];		/* left words with Kernel_333 */
	uint8_t scratch[HWPE_SCRATCH] __attribute__((aligned(64)));	/* for simd->add() */
};

struct hwpe {
	struct cm_seq seq;		/* must be the first member */
	struct hwpe_state *s;		/* begins with that of seq */
	struct cm_core_resources resources;
	const struct hwpe_simd *simd;

	/* Derived from the state, never saved. */
	struct hwpe_span span;
	struct hwpe_lookahead lookahead;
	struct hwpe_thread *thread;	/* by thread index */
};

static inline struct hwpe *hwpe_of(const struct cm_seq *seq)
{
	return (struct hwpe *)seq;
}

/* task.c */
void hwpe_layer(const struct hwpe_state *s, struct hwpe_layer *l);
/* Start a window; CM_SEQ_FAILED if its addresses are out of range. */
enum cm_seq_outcome hwpe_start_window(struct hwpe *h, struct hwpe_window window, bool first,
				      struct cm_core_fault *fault);
/* Resume the task: start its next window or end it. */
enum cm_seq_outcome hwpe_resume(struct hwpe *h, struct cm_core_fault *fault);
bool hwpe_last(const struct hwpe_state *s);
/* Number of windows that use the same kernels. */
uint64_t hwpe_windows_of_k(const struct hwpe_state *s);
/* Advance to the task's next window; false if there is none or its addresses need a check. */
bool hwpe_next(const struct hwpe *h, struct hwpe_window *window);
/* Can the window of a loaded state have been started? */
bool hwpe_window_possible(const struct hwpe *h);
/* Fmap address of product 0 of base register @j. */
uint64_t hwpe_window_base(const struct hwpe_layer *l, struct hwpe_window window, unsigned int j);

/* product.c */
bool hwpe_work(struct cm_seq *seq, int64_t *budget);
/* lookahead.c: stop the other threads; the sums that they have computed remain valid. */
void hwpe_pause(struct cm_seq *seq);
/* lookahead.c: stop the other threads and discard all sums. */
void hwpe_drop_lookahead(struct hwpe *h);
/* Discard the converted right words: the kernel memory has changed. */
void hwpe_drop_right(struct hwpe *h);

/* insn.c: enum cnnacc_hwpe_cfg of the first invalid field, or 0 */
uint32_t hwpe_bad_config(uint32_t cfg0, uint32_t cfg1);
extern const struct cm_seq_ops hwpe_seq_ops;

/* simd.c */
const struct hwpe_simd *hwpe_simd(uint32_t simd);
/* Compute the bytes that ReLUWrite stores for one AccReg of all PEs. */
void hwpe_relu(const int32_t acc[HWPE_PES], uint32_t shift, uint8_t out[HWPE_PES]);

/* vnni.c: AVX-512 kernels; NULL if the host lacks VNNI or VPOPCNTDQ */
const struct hwpe_simd *hwpe_vnni(void);

/* Next contiguous left words of row @row, from product run->to on; false at the end. */
static inline bool hwpe_left_run(const struct hwpe_left *left, unsigned int row,
				 struct hwpe_run *run)
{
	uint32_t rest = left->rounds - run->to, word = run->to ? 0 : left->word;
	uint64_t column = (uint64_t)left->column + run->columns++;

	run->in = left->memory[row] + (size_t)word * CNNACC_HWPE_OPERAND_BYTES +
		  ((left->conv[row] + column * left->offset) & left->mask);
	run->words = left->words - word < rest ? left->words - word : rest;
	return rest;
}

/* Does a word contain a TER2 value of 10? */
static inline bool hwpe_bad_ter2(const uint8_t *in, size_t words)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < words; i++) {
		uint64_t word;

		memcpy(&word, in + i * sizeof(word), sizeof(word));
		bad |= word >> 1 & ~word;
	}
	return bad & 0x5555555555555555u;
}

static inline uint32_t hwpe_elements(uint32_t type)
{
	return type == CNNACC_HWPE_TER2 ? 32 : type == CNNACC_HWPE_EXP4 ? 16 : 8;
}

#endif
