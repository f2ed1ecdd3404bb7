/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Internals of core imc (Documentation/hardware/imc.rst); names are those of the page. */
#ifndef CM_IMC_H
#define CM_IMC_H

#include "cnnacc_imc.h"
#include "sequencer.h"

#define IMC_SETUP_WORDS	6
#define IMC_CONV_WORDS	4
#define IMC_NAN		0x7fc00000u

/** struct imc_position - the next clock with valid = 1 of a plane in step mode. */
struct imc_position {
	uint32_t group, pass;
	uint32_t row;			/* o in partial, i in full reuse */
	uint32_t kernel_row;		/* r in partial reuse, else 0 */
	uint32_t element, weight;	/* j and w, from 1 */
};

/** struct imc_last - registers of the last clock, SIG to FIFO. */
struct imc_last {
	uint32_t sig, group, pass, row, csu, kernel_row, element, weight, p, head, out;
	uint32_t none;			/* no register here */
	uint32_t fifo[CNNACC_IMC_N_MAX];
};

/** struct imc_counters - counters of the window that are not in struct cnnacc_stats. */
struct imc_counters {
	uint64_t row_reads, element_reads, weight_reads, pushes, pops, outputs, partial_stores;
};

/** struct imc_state - head of the flat state; the memories follow it. */
struct imc_state {
	struct cm_seq_state seq;
	struct imc_counters n;
	uint64_t blocks;		/* blocks that a plane without step mode has computed */
	uint32_t state;			/* enum cnnacc_imc_state */
	uint32_t peak;			/* FIFO_PEAK */
	uint32_t setup[IMC_SETUP_WORDS];
	uint32_t conv[IMC_CONV_WORDS];
	uint32_t computing;		/* a plane without step mode is being computed */
	uint32_t clocks;		/* that the STEP has left */
	uint32_t external;		/* its valid flag */
	uint32_t left;			/* clocks until the next element is there */
	struct imc_position at;
	struct imc_last last;
	/* The FIFOs of all active CSUs have the same level and oldest slot. */
	uint32_t level, oldest;
	uint32_t reserved;
	uint32_t fifo[CNNACC_IMC_N_MAX][CNNACC_IMC_CSUS_MAX];
};

/** struct imc_build - the parameters of a build. */
struct imc_build {
	uint32_t cin_max, csus, n_max, port;
	bool full, fp32;
};

/** struct imc_plane - a plane, decoded from SETUP and CONV. */
struct imc_plane {
	uint32_t n, format, esz;
	bool full, accumulate;
	uint32_t w, h, wo, ho, cin, cout;
	uint64_t in_row, in_column, result_row, result_column;	/* bytes */
	uint32_t cin_max, port;
	uint32_t group;			/* Gs */
	uint32_t groups, passes;
	uint32_t rows;			/* rows of a pass: Ho in partial, H in full reuse */
	const uint8_t *in, *weight;
	uint8_t *result;
};

#define IMC_COLUMNS	16	/* results of a row in a block */
#define IMC_STEP	4	/* of which a kernel computes so many together */
#define IMC_KERNELS	64	/* output channels of a block, at most */
#define IMC_LANES	16	/* output channels are packed in multiples of this */
#define IMC_ELEMENTS	(IMC_COLUMNS + CNNACC_IMC_N_MAX - 1)
#define IMC_PACKED	(CNNACC_IMC_N_MAX * CNNACC_IMC_N_MAX * CNNACC_IMC_CIN_MAX_MAX * IMC_KERNELS)

/**
 * struct imc_tile - a kernel row's row results of some columns and output channels.
 *
 * A word has four integer components of 8 bits, for the kernels of struct imc_bytes, or two of 16
 * bits, or one FP32.
 */
struct imc_tile {
	const uint32_t *elements;	/* [column][word] */
	const uint32_t *weights;	/* [s][word][lane] */
	const uint32_t *start;		/* [lane]: what a row result starts with; of bytes */
	uint32_t n;
	uint32_t words;			/* of an element in this pass */
	uint32_t columns;		/* a multiple of IMC_STEP */
	uint32_t lanes;			/* a multiple of IMC_LANES */
	bool add;			/* to the cells; else replace them */
	uint32_t *cells;		/* [column][lane] */
};

/** struct imc_pack - weights of some output channels, to be packed as bytes. */
struct imc_pack {
	const uint8_t *from;
	size_t kernel, tap;		/* bytes to the next output channel, to the next weight */
	uint32_t n, channels, words;
	uint32_t kernels, lanes;
	bool is_signed;			/* the elements */
	uint32_t *to, *start;		/* as in struct imc_tile; [r][lane] */
};

/** struct imc_unpack - elements of a row, to be unpacked as bytes. */
struct imc_unpack {
	const uint8_t *from;
	size_t column;			/* bytes to the next element */
	uint32_t elements, channels, words;
	bool is_signed;
	uint32_t *to;
};

/** struct imc_bytes - kernels for integers with four components in a word. */
struct imc_bytes {
	uint32_t ps, pack_ps;		/* estimated time of a multiply-accumulate, of a weight */
	void (*pack)(const struct imc_pack *pack);
	void (*unpack)(const struct imc_unpack *unpack);
	/* The row results and the column adder. */
	void (*rows)(const struct imc_tile *tile);
};

/** struct imc_simd - kernels for one vector width; all give bit-identical results. */
struct imc_simd {
	uint32_t integer_ps, float_ps;	/* estimated time of a multiply-accumulate */
	/* The row results and the column adder. */
	void (*integers)(const struct imc_tile *tile);
	void (*floats)(const struct imc_tile *tile);
};

struct imc {
	struct cm_seq seq;		/* must be the first member */
	struct imc_state *s;		/* begins with that of seq */
	struct cm_core_resources resources;
	struct imc_build build;
	const struct imc_simd *simd;
	const struct imc_bytes *bytes;	/* NULL: simd has the integers, too */

	/* Derived from the state, never saved. */
	bool packed;			/* the weights of the current blocks are in @weights */
	uint32_t *weights;
	uint32_t start[CNNACC_IMC_N_MAX * IMC_KERNELS];
};

static inline struct imc *imc_of(const struct cm_seq *seq)
{
	return (struct imc *)seq;
}

static inline uint32_t imc_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t imc_most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t imc_ceil(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* geometry.c */
/* Local memories that CONV names. */
uint32_t imc_input(const uint32_t *conv);
uint32_t imc_weight(const uint32_t *conv);
uint32_t imc_unit(const uint32_t *conv);
/* The fields of SETUP alone. */
void imc_decode_setup(const uint32_t setup[IMC_SETUP_WORDS], struct imc_plane *p);
void imc_plane(const struct imc *h, struct imc_plane *p);
/* Channels of a pass. */
uint32_t imc_channels(const struct imc_plane *p, uint32_t pass);
/* Clocks to load an element of a pass: L. */
uint32_t imc_load(const struct imc_plane *p, uint32_t pass);
/* Output channels of a group. */
uint32_t imc_kernels(const struct imc_plane *p, uint32_t group);
/* Lowest and highest weight number w that element @j is multiplied by. */
uint32_t imc_lowest_weight(const struct imc_plane *p, uint32_t j);
uint32_t imc_highest_weight(const struct imc_plane *p, uint32_t j);
/* Advance to the next clock of the plane; false at its end. */
bool imc_next(const struct imc_plane *p, struct imc_position *at);
/* Can a plane be at this position? */
bool imc_position_possible(const struct imc_plane *p, const struct imc_position *at);
/* Entries of a FIFO before the clock at @at. */
uint32_t imc_level(const struct imc_plane *p, const struct imc_position *at);

/* check.c: enum cnnacc_imc_cfg of the first invalid field, or 0 */
uint32_t imc_bad_setup(const struct imc_build *build, const uint32_t setup[IMC_SETUP_WORDS]);
uint32_t imc_bad_align(const struct imc_state *s, const uint32_t conv[IMC_CONV_WORDS]);
/* The first local memory that is too small for the plane, or CNNACC_IMC_MEMORIES. */
uint32_t imc_bad_memory(const struct imc *h, const uint32_t conv[IMC_CONV_WORDS]);
/* Could a save have written this state? Else a name and a value of what is impossible. */
bool imc_state_possible(const struct imc *h, const char **field, uint64_t *value);

/* arithmetic.c */
/* The ALU: products of @channels components, added from left to right. */
uint32_t imc_alu(uint32_t format, const uint8_t *element, const uint8_t *weight,
		 uint32_t channels);
/* Adder 1 and the column adder. */
uint32_t imc_add(uint32_t format, uint32_t a, uint32_t b);

/* count.c: counters and clocks of a whole plane */
void imc_count_plane(struct imc *h, const struct imc_plane *p);
uint64_t imc_plane_clocks(const struct imc_plane *p);
uint64_t imc_plane_stalls(const struct imc_plane *p);

/* clock.c: run the clocks of a STEP; true when done */
bool imc_step(struct imc *h, int64_t *budget);

/* block.c: compute a plane without step mode; true when done */
bool imc_compute(struct imc *h, int64_t *budget);
/* Number of blocks of a plane. */
uint64_t imc_blocks(const struct imc_plane *p);

/* registers.c: the core's registers from CNNACC_SEQ_REGS_SIZE on, by offset / 4 */
void imc_registers(const struct imc_state *s, uint32_t *window);

/* insn.c */
extern const struct cm_seq_ops imc_seq_ops;

/* simd.c */
const struct imc_simd *imc_simd(uint32_t simd);

/* vnni.c: NULL if the host lacks it */
const struct imc_bytes *imc_vnni(void);

#endif
