/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Internals of core enpu (Documentation/hardware/enpu.rst). */
#ifndef CM_ENPU_H
#define CM_ENPU_H

#include "cnnacc_enpu.h"
#include "sequencer.h"

#define ENPU_LANES	CNNACC_ENPU_PES		/* channels in a word */
#define ENPU_WORD	CNNACC_ENPU_WORD_BYTES
#define ENPU_PSUMS	CNNACC_ENPU_PSUMS	/* words of a tile, at most */
/* The model computes several tiles of a row at once: words of them, and points of sub-images. */
#define ENPU_WORDS	(8 * ENPU_PSUMS)
#define ENPU_POINTS	(8 * CNNACC_ENPU_IFMAP_PAD)
#define ENPU_COUNTERS \
	((CNNACC_ENPU_REG_PSUM_WRITES - CNNACC_ENPU_REG_LAYERS) / 8 + 1)
/* Index of a counter, by its register. */
#define ENPU_COUNTER(name)	((CNNACC_ENPU_REG_##name - CNNACC_ENPU_REG_LAYERS) / 8)

/* ---- stage.c: instructions ---- */

enum enpu_kind { ENPU_WINDOW, ENPU_POINTWISE, ENPU_RESHAPE };

/* What an opcode uses. */
enum {
	ENPU_ALL_CHANNELS = 0x1,	/* sums over the Ci channels of A */
	ENPU_WEIGHTS = 0x2,
	ENPU_BLOCK = 0x4,		/* may have a block */
	ENPU_SHIFT = 0x8,		/* has a shift, of the record unless of a block */
	ENPU_TABLE = 0x10,
	ENPU_MAP_B = 0x20,
};

/** struct enpu_op - properties of an opcode. */
struct enpu_op {
	uint32_t opcode;		/* enum cnnacc_enpu_opcode */
	enum enpu_kind kind;
	uint32_t uses;
};

/** struct enpu_stage - a decoded instruction with its record; sizes are 1 to 256. */
struct enpu_stage {
	const struct enpu_op *op;	/* NULL: no such opcode, or STOP */
	uint32_t index;			/* in the ITCM */
	uint32_t opcode;		/* all eight bits */
	bool first;			/* of its layer */
	bool fused, stored;
	bool block;			/* bias and shift come from a block */
	uint32_t sh, sw, ph, pw, dh, dw;
	uint32_t y, x, in_y, in_x;
	uint32_t hk, wk, ho, wo, co, ci, zs;
	uint32_t hi, wi;
	uint32_t groups;		/* words of a pixel of the results: ceil16(Co) */
	uint32_t word3;			/* with its reserved bits */
	struct cnnacc_enpu_record r;
};

/** struct enpu_range - words of a local memory that a stage uses. */
struct enpu_range {
	uint32_t memory;		/* enum cnnacc_enpu_memory */
	uint32_t step;			/* words between the pixels of a map */
	uint64_t first, count;		/* words */
};

struct enpu;

/* Decode ITCM entry @index, which must exist; @first: it begins a layer. */
void enpu_decode(const struct enpu *h, uint32_t index, bool first, struct enpu_stage *stage);
/* Words of what @which, an enum cnnacc_enpu_range from A on, names; false if @stage lacks it. */
bool enpu_range(const struct enpu_stage *stage, uint32_t which, struct enpu_range *range);
/* Channels of map A that a first stage reads. */
uint32_t enpu_channels(const struct enpu_stage *stage);

static inline uint32_t enpu_ceil16(uint32_t n)
{
	return (n + 15) / 16;
}

static inline bool enpu_last(const struct enpu_stage *stage)
{
	return !stage->fused;
}

/* ---- reshape.c ---- */

/** struct enpu_shape - a decoded reshape of a map of a stage. */
struct enpu_shape {
	uint32_t perm[4];
	uint32_t split, stack;
	uint32_t factor;		/* 1: nothing is cut */
	bool interleave;
	bool keeps_words;
	uint32_t part;			/* size of a part of dimension split */
	uint32_t stacked;		/* size of dimension stack before the cut */
	uint32_t size[4];		/* of the result: N', H', W', C' */
};

/* Is the reshape impossible?  If so, @limit is what ERR_LIMIT says of it. */
bool enpu_bad_shape(const struct enpu_stage *stage, uint32_t *limit);
/* Decode a reshape that is possible. */
struct enpu_shape enpu_shape(const struct enpu_stage *stage);
/*
 * Store @value, the 16 channels of @pixel (row, column, group) of the map, at their places in
 * the result @range.
 */
void enpu_store_reshaped(const struct enpu *h, const struct enpu_stage *stage,
			 const struct enpu_range *range, const uint32_t pixel[3],
			 const int8_t value[ENPU_LANES]);

/* ---- checks.c, overlap.c, cost.c: a program before it runs ---- */

/** struct enpu_cost - clocks and counters of a layer or a program. */
struct enpu_cost {
	uint64_t cycles;
	uint64_t counter[ENPU_COUNTERS];
	uint64_t mac_useful, local_read_bytes, local_write_bytes;
};

/** struct enpu_error - why a program is refused. */
struct enpu_error {
	uint32_t status_class, code, detail;
	uint32_t insn, value, limit;
};

/** struct enpu_program - what the checks find out. */
struct enpu_program {
	uint32_t end;			/* ITCM index of STOP */
	uint32_t banks;			/* bit 2 * memory + bank of each that it claims */
	struct enpu_cost cost;
	struct enpu_error error;
};

/** struct enpu_layer - stages of one layer. */
struct enpu_layer {
	struct enpu_stage *stage;
	uint32_t count;
};

/* Check the program that begins at @start; on false, @program->error is filled in. */
bool enpu_check_program(struct enpu *h, uint32_t start, struct enpu_program *program);
/* Fill in @error with E_OVERLAP and return false if a result overlaps what it must not. */
bool enpu_check_overlap(struct enpu *h, const struct enpu_layer *layer, struct enpu_error *error);
/* Add what a layer costs. */
void enpu_add_cost(const struct enpu *h, const struct enpu_layer *layer, struct enpu_cost *cost);
/* Tiles of a layer. */
uint64_t enpu_tiles(const struct enpu_stage *first);

/* ---- arithmetic.c ---- */

/** struct enpu_scale - bias and shift of 16 channels. */
struct enpu_scale {
	int32_t bias[ENPU_LANES];
	int32_t right[ENPU_LANES];	/* shift to the right, */
	int32_t last[ENPU_LANES];	/* by all but one bit, of which */
	int32_t half[ENPU_LANES];	/* this is added: 1, or 0 if there is none */
	int32_t left[ENPU_LANES];	/* shift to the left, 8 for all that is more */
};

/* Set the shift of a lane, -31 to 31. */
void enpu_set_shift(struct enpu_scale *scale, uint32_t lane, int32_t shift);

/** struct enpu_segment - an entry of an activation table. */
struct enpu_segment {
	int32_t a, b;
	uint32_t shift;
};

/** struct enpu_window - the points of tiles: rows and columns of psums in those of a pad. */
struct enpu_window {
	uint32_t y, x;			/* pixels */
	uint32_t hk, wk;
	uint32_t sh, sw;		/* points between pixels */
	uint32_t dh, dw;		/* points between kernel rows and columns */
	uint32_t pitch, points;		/* points in a row of the pad, and in all rows */
};

/** struct enpu_pad - 16 channels of each point of a sub-image. */
struct enpu_pad {
	int8_t point[ENPU_POINTS][ENPU_LANES];
};

/* Psums, or values of a stage, of tiles: one word each, groups of channels outside pixels. */
typedef uint32_t enpu_psums[ENPU_WORDS][ENPU_LANES];
typedef int8_t enpu_values[ENPU_WORDS][ENPU_LANES];

#define ENPU_STEPS	8u	/* of 16 channels, at most */
/* Of a layer, at most: 256 channels and a kernel that fills a pad. */
#define ENPU_ALL_STEPS	(16 * ENPU_STEPS * CNNACC_ENPU_IFMAP_PAD)

/* Steps of 16 channels of a point. */
typedef uint32_t enpu_steps[ENPU_STEPS];

/**
 * struct enpu_factors - weights of CONV in steps: channels whose products are added at once.
 *
 * A step of one point is 32 bits, a step of weights 32 bits for each of 16 lanes; the steps of a
 * group are in the order of the loop nest: 16 channels, step within them, kernel point.
 */
struct enpu_factors {
	uint32_t channels, points;	/* of the kernel */
	uint32_t groups;		/* of output channels */
	const uint32_t (*weight)[ENPU_LANES];	/* group after group */
	uint32_t start[CNNACC_ENPU_WEIGHT_PAD][ENPU_LANES];	/* psums without products */
};

/** struct enpu_inputs - steps of the sub-images of some tiles, and which of them CONV needs. */
struct enpu_inputs {
	uint64_t layer;			/* enpu.layers when the places were found */
	/* Places, in steps: of each pixel, and from there of each step of weights. */
	uint32_t pixels, pitch, steps;
	uint32_t pixel[ENPU_WORDS];
	uint32_t offset[ENPU_ALL_STEPS];
	enpu_steps step[16 * ENPU_POINTS];
};

/** struct enpu_simd - kernels for one vector width; all give bit-identical results. */
struct enpu_simd {
	uint32_t step;		/* channels of a step; 0: plain C, without factors */
	uint32_t word_ps;	/* estimated host time of a word of MACs */
	/* Fill in @f, whose steps are at @to, from weights in the layout of CONV. */
	void (*pack)(struct enpu_factors *f, uint32_t (*to)[ENPU_LANES], const int8_t *weight);
	/* The steps of @count points. */
	void (*split)(enpu_steps *to, const struct enpu_pad *pad, uint32_t count);
	/* The psums of all groups. */
	void (*conv)(enpu_psums psum, const struct enpu_inputs *in, const struct enpu_factors *f);
	void (*requantise)(const uint32_t (*psum)[ENPU_LANES], const struct enpu_scale *scale,
			   uint32_t bits, int8_t (*value)[ENPU_LANES], uint32_t count);
};

const struct enpu_simd *enpu_simd(uint32_t simd);
/* NULL if this host has no VNNI. */
const struct enpu_simd *enpu_vnni(void);

/*
 * Add the products of @channels channels, all with all of @groups groups; @weight is that of the
 * first channel, in the layout of CONV weights.
 */
void enpu_conv(enpu_psums psum, const struct enpu_pad *pad, const struct enpu_window *w,
	       const int8_t *weight, uint32_t channels, uint32_t groups);
/* Add the products of each channel; a kernel point's weights are @groups words apart. */
void enpu_channelwise(enpu_psums psum, const struct enpu_pad *pad, const struct enpu_window *w,
		      const int8_t *weight, uint32_t groups);
/* Point of the pad that pixel (@i, @j) multiplies with the weight of kernel point (@r, @s). */
static inline uint32_t enpu_point(const struct enpu_window *w, uint32_t i, uint32_t j, uint32_t r,
				  uint32_t s)
{
	return (i * w->sh + r * w->dh) * w->pitch + j * w->sw + s * w->dw;
}

/* Maxima of each channel. */
void enpu_max(enpu_values value, const struct enpu_pad *pad, const struct enpu_window *w);
void enpu_relu(int8_t (*value)[ENPU_LANES], uint32_t count);
/* @table: CNNACC_ENPU_LUT_SEGMENTS entries. */
void enpu_lookup(int8_t (*value)[ENPU_LANES], const struct enpu_segment *table, uint32_t count);
/* value = clamp8(value + b) */
void enpu_add(int8_t (*value)[ENPU_LANES], const int8_t (*b)[ENPU_LANES], uint32_t count);

/* ---- unit.c ---- */

/** struct enpu_scratch - what a thread computes a unit in. */
struct enpu_scratch {
	struct enpu_inputs inputs;
	enpu_psums psum;
	enpu_values value, b;
	struct enpu_pad pad;
};

/** struct enpu_unit - of the loop nest: tiles of a row, and some groups of their channels. */
struct enpu_unit {
	struct enpu_scratch *scratch;
	uint32_t oy, ox;
	uint32_t rows, columns;		/* computed */
	uint32_t in_columns;		/* of the sub-image of a window layer */
	uint32_t pixels;		/* rows * columns */
	uint32_t group, groups;		/* first group of channels, and their number */
};

/* The scales of the first stage; they cannot change while the layer is computed. */
void enpu_set_scales(struct enpu *h);
/* The weights of the layer, if it has steps, likewise. */
void enpu_pack(struct enpu *h);
/* Compute the layer's stages, and store the results. */
void enpu_compute(const struct enpu *h, const struct enpu_unit *u);

/* ---- layer.c, exec.c, enpu.c ---- */

/** struct enpu_state - head of the flat state; the memories follow it. */
struct enpu_state {
	struct cm_seq_state seq;
	uint32_t running;		/* no WAIT has seen the end of the last program */
	uint32_t start, end;		/* ITCM indices of the last program */
	uint32_t banks;			/* claimed, while it is running */
	uint32_t err_insn, err_value, err_limit;
	uint32_t pending;		/* the program's results from here on are not computed: */
	uint32_t layer;			/* ITCM index of the layer's first stage */
	uint32_t oy, ox;		/* tile */
	uint32_t reserved;
	uint64_t counter[ENPU_COUNTERS];
};

struct enpu {
	struct cm_seq seq;		/* must be the first member */
	struct enpu_state *s;		/* begins with that of seq */
	const struct enpu_simd *simd;
	struct cm_core_resources resources;
	uint32_t psum_bits;
	bool prefetch;
	uint32_t insns;			/* ITCM entries */
	/* Derived from the state, or of use only while a function runs. */
	struct enpu_layer layer;
	bool layer_valid;		/* it is the one at s->layer */
	uint64_t layers;		/* decoded so far */
	struct enpu_range *range;	/* maps of the layer whose overlaps are checked */
	uint64_t check_ns;		/* estimated host time of checks, not yet charged */
	bool packed;			/* factors are those of layer */
	struct enpu_scale scale[CNNACC_ENPU_WEIGHT_PAD];	/* of the first stage's groups */
	uint32_t (*steps)[ENPU_LANES];	/* its weights */
	struct enpu_factors factors;
	struct enpu_scratch *scratch;	/* of each thread */
};

/* Word of a decoded address, which must be in range. */
static inline int8_t *enpu_word(const struct enpu *h, uint32_t memory, uint64_t word)
{
	return (int8_t *)h->seq.memory[memory].bytes + word * ENPU_WORD;
}

static inline struct enpu *enpu_of(const struct cm_seq *seq)
{
	return (struct enpu *)seq;
}

/* Are the products of the layer computed in steps? */
static inline bool enpu_has_steps(const struct enpu *h)
{
	return h->simd->step && h->layer.stage->op->uses & ENPU_ALL_CHANNELS;
}

/* layer.c: can the saved position have been reached, in a program that passes the checks? */
bool enpu_position_possible(struct enpu *h);
/* Compute tiles; cm_seq_ops.work(). */
bool enpu_work(struct cm_seq *seq, int64_t *budget);

/* exec.c */
extern const struct cm_seq_ops enpu_seq_ops;

#endif
