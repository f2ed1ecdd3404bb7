/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Inside of core hwpe: Documentation/hardware/hwpe.rst in C. */
#ifndef CM_HWPE_H
#define CM_HWPE_H

#include <stdatomic.h>

#include "sequencer.h"
#include "cnnacc_hwpe.h"

#define HWPE_PES	CNNACC_HWPE_PES
#define HWPE_ACCS	CNNACC_HWPE_ACCS
#define HWPE_ROUNDS	1024	/* products that are computed together, at most */
#define HWPE_ELEMENTS	32	/* of a word, at most */
/* Behind each row: rows that are a power of two apart fight for the host's cache. */
#define HWPE_PAD	8
/* Bytes of elements of 16 bits. */
#define HWPE_SCRATCH	(HWPE_ACCS * (HWPE_ROUNDS + HWPE_PAD) * HWPE_ELEMENTS * 2)
#define HWPE_RIGHT	(HWPE_ROUNDS * HWPE_PES * HWPE_ELEMENTS * 2)

/** struct hwpe_window - a window of a task. */
struct hwpe_window {
	uint32_t k, cw, ch;
};

/** struct hwpe_state - head of the flat state; the memories follow it. */
struct hwpe_state {
	struct seq_state seq;
	uint32_t state;			/* enum cnnacc_hwpe_state */
	uint32_t sticky;		/* CNNACC_HWPE_STATUS_BAD_TER2, ALIGN */
	uint32_t base[8];
	uint32_t cfg[2];
	uint32_t mac[2];		/* of the last task */
	uint32_t events;		/* its rounds raise them */
	uint32_t round, rounds;
	struct hwpe_window window;	/* that runs or has run last */
	uint32_t pending;			/* products of it that are still to be computed */
	uint32_t useful;		/* of each of its AccRegs */
	uint16_t fresh[HWPE_ACCS];	/* PEs that nobody has drained since it started */
	/* All above starts a job from zero. */
	int32_t acc[HWPE_ACCS][HWPE_PES];
};

/** struct hwpe_layer - a task's configuration in terms of the loops, and where its windows are. */
struct hwpe_layer {
	uint32_t type;			/* enum cnnacc_hwpe_type */
	bool special;			/* Kernel_333 */
	bool input;
	uint32_t columns;		/* W columns of a window */
	uint32_t words;			/* left words of each */
	uint32_t rounds;		/* R_n: products of a window */
	uint32_t offset;		/* Conv_W_offset */
	uint32_t strides;		/* W_stride and H_stride */
	uint32_t base[8];
};

/** struct hwpe_left - where the left words of some products are. */
struct hwpe_left {
	const uint8_t *memory[HWPE_ACCS];	/* of each row: an SRAM, */
	uint64_t conv[HWPE_ACCS];		/* and where in it column 0 begins */
	uint64_t mask;				/* of addresses of columns */
	uint32_t offset;			/* from one column to the next */
	uint32_t words;				/* of a column */
	uint32_t column, word;			/* that product 0 takes */
	uint32_t rounds;			/* products */
};

/** struct hwpe_run - left words of a row that are one behind the other. */
struct hwpe_run {
	const uint8_t *in;
	uint32_t to, words;		/* first product that takes them, how many */
	uint32_t columns;		/* begun so far */
};

/** struct hwpe_simd - one width of vectors; all give the same results bit by bit. */
struct hwpe_simd {
	uint32_t round_ns;		/* about what a product takes, of eight rows and 16 columns */
	/* Lays out @rounds right words of each column for add(), in @out or, as they are, in @in. */
	const void *(*right)(const uint8_t *in, uint32_t rounds, uint32_t type, void *out,
			     int32_t sum[HWPE_PES]);
	/* Adds products, modulo 2^32; is a left TER2 value 10? */
	bool (*add)(int32_t acc[HWPE_ACCS][HWPE_PES], const struct hwpe_left *left, uint32_t type,
		    const void *right, const int32_t sum[HWPE_PES], void *scratch);
};

/** struct hwpe_right - right words as the host's vectors want them. */
struct hwpe_right {
	bool valid;
	uint32_t address;		/* in the kernel memory */
	uint32_t rounds;
	uint32_t type;
	bool bad;			/* a TER2 value is 10 */
	int32_t sum[HWPE_PES];
	const void *words;		/* in @memory or the kernel memory */
	uint8_t memory[HWPE_RIGHT] __attribute__((aligned(64)));
};

/** struct hwpe_span - windows of the task whose addresses need no look. */
struct hwpe_span {
	bool valid;
	bool aligned;			/* bases and offset are multiples of 8 */
	uint64_t most;			/* largest distance from the bases that is surely good */
	uint32_t groups;		/* whose right words are in the kernel memory */
};

#define HWPE_BLOCK	32
#define HWPE_BLOCKS	16

/**
 * struct hwpe_block - what some windows of the same kernels add, one after the other.
 *
 * Many at once: a line goes from one of the host's processors to another as slowly as a window
 * is computed.
 */
struct hwpe_block {
	atomic_bool done;
	uint32_t count;
	struct hwpe_window window[HWPE_BLOCK];
	uint32_t sticky[HWPE_BLOCK];	/* STATUS bits that it sets */
	int32_t sum[HWPE_BLOCK][HWPE_ACCS][HWPE_PES] __attribute__((aligned(64)));
};

/** struct hwpe_ahead - sums of windows to come, from the one at hand on. */
struct hwpe_ahead {
	/* Of this thread. */
	bool running;			/* other threads compute them */
	uint32_t block, window;		/* that comes next, and in it */
	/* What the others read. */
	struct hwpe_layer layer __attribute__((aligned(64)));
	uint32_t count;			/* blocks */
	atomic_uint claimed __attribute__((aligned(64)));	/* of them */
	struct hwpe_block blocks[HWPE_BLOCKS];
};

/** struct hwpe_seat - what a thread that computes has to itself. */
struct hwpe_seat {
	struct hwpe_right right;
	uint64_t special[HWPE_ACCS][4];		/* left words with Kernel_333 */
	uint8_t scratch[HWPE_SCRATCH] __attribute__((aligned(64)));	/* of simd->add() */
};

struct hwpe {
	struct seq seq;			/* first */
	struct hwpe_state *s;
	size_t size;
	struct core_means means;
	const struct hwpe_simd *simd;

	/* Derived from the state, never saved. */
	struct hwpe_span span;
	struct hwpe_ahead ahead;
	struct hwpe_seat *seat;		/* by seat of the workers */
};

static inline struct hwpe *hwpe_of(const struct seq *seq)
{
	return (struct hwpe *)seq;
}

/* task.c */
struct hwpe_layer hwpe_layer(const struct hwpe_state *s);
/* Starts a window; SEQ_FAILED if its addresses are wrong. */
enum seq_outcome hwpe_start_window(struct hwpe *h, struct hwpe_window window, bool first,
				   struct core_fault *fault);
/* The task goes on: the next window, or it is over. */
enum seq_outcome hwpe_resume(struct hwpe *h, struct core_fault *fault);
bool hwpe_last(const struct hwpe_state *s);
/* Windows of the same kernels. */
uint64_t hwpe_windows_of_k(const struct hwpe_state *s);
/* Moves to the task's next window; false if there is none whose addresses are surely good. */
bool hwpe_next(const struct hwpe *h, struct hwpe_window *window);
/* Is the window one that could have been started? */
bool hwpe_window_possible(const struct hwpe *h);
/* Fmap address of product 0 of base register @j. */
uint64_t hwpe_window_base(const struct hwpe_layer *l, struct hwpe_window window, unsigned int j);

/* product.c */
bool hwpe_work(struct seq *seq, int64_t *budget);
/* No other thread computes on; what it has computed stays good. */
void hwpe_pause(struct seq *seq);
/* Nothing that has been computed of windows to come is good any more. */
void hwpe_forget_ahead(struct hwpe *h);
/* The kernel memory has changed. */
void hwpe_forget_right(struct hwpe *h);

/* insn.c: enum cnnacc_hwpe_cfg, or 0 */
uint32_t hwpe_bad_config(uint32_t cfg0, uint32_t cfg1);
extern const struct seq_ops hwpe_seq_ops;

/* simd.c */
const struct hwpe_simd *hwpe_simd(uint32_t simd);
/* What ReLUWrite writes of an AccReg of all PEs. */
void hwpe_relu(const int32_t acc[HWPE_PES], uint32_t shift, uint8_t out[HWPE_PES]);

/* vnni.c: with AVX-512; NULL if the host cannot */
const struct hwpe_simd *hwpe_vnni(void);

/* Left words of row @row from product run->to on; false if there is none left. */
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

/* Is a TER2 value 10? */
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
