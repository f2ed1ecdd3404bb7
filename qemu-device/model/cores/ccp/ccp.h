/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Inside of core ccp: Documentation/hardware/ccp.rst in C. */
#ifndef CM_CCP_H
#define CM_CCP_H

#include "core.h"
#include "mmu.h"
#include "cnnacc_ccp.h"

#define CCP_HALVES	(2 * (CNNACC_CCP_DATA_BANKS + CNNACC_CCP_WEIGHT_BANKS))
#define CCP_LINE_FLOATS	(CNNACC_LINE_SIZE / 4)
#define CCP_TILE	(CNNACC_CCP_ROWS * CNNACC_CCP_LANES)	/* floats of one channel in the LOBs */
#define CCP_TAPS_MAX	(CNNACC_CCP_KERNEL_MAX * CNNACC_CCP_KERNEL_MAX)
/* EXECs of so few output channels are computed without a tile. */
#define CCP_THIN	2
#define CCP_PASS	16	/* output channels: a piece has a multiple, or all that are left */

#define CCP_TILE_ROWS	((CNNACC_CCP_ROWS - 1) * CNNACC_CCP_STRIDE_MAX + CNNACC_CCP_KERNEL_MAX)
/* Floats of a channel's input tile, at most, whatever the width of the host's vectors. */
#define CCP_TILE_FLOATS(rows, kh, kw, sy) \
	((kw) * (((rows) - 1) * (sy) + 2 * (kh)) * CNNACC_CCP_LANES)
#define CCP_TILE_MAX \
	CCP_TILE_FLOATS(CNNACC_CCP_ROWS, CNNACC_CCP_KERNEL_MAX, CNNACC_CCP_KERNEL_MAX, \
			CNNACC_CCP_STRIDE_MAX)
/* What the tiles of a slice may take: the host's caches are quick to give it again. */
#define CCP_TILE_CACHE	12288
_Static_assert(CCP_TILE_CACHE <= CCP_TILE_MAX, "a thread has place for CCP_TILE_MAX");
/* Host time of a piece of an EXEC: a step may overrun its budget by the shortest. */
#define CCP_PIECE_NS_MIN	20000
#define CCP_PIECE_NS_MAX	500000

#define CCP_INSN_NS	12	/* of a simple instruction, about */

enum ccp_phase {
	CCP_IDLE,
	CCP_BOOT,
	CCP_FETCH,
	CCP_DMA,
	CCP_UNIT,
	CCP_PHASES
};

enum ccp_group {
	CCP_CONV0,
	CCP_CONV1,
	CCP_POOL0,
	CCP_PAD0,
	CCP_FC0,
	CCP_GROUPS
};

/** struct ccp_chain - partial sums that wait in the LOBs for more channels. */
struct ccp_chain {
	uint32_t valid;
	uint32_t next_ci;
	uint32_t row_start, col_start, vec_active;
	uint32_t co_start, co_cnt;
	uint32_t reserved;
};

/** struct ccp_state - head of the flat state; the memories follow it. */
struct ccp_state {
	uint64_t t;			/* controller's time */
	uint64_t d;			/* when the DMA engine is free */
	uint64_t half_write[CCP_HALVES];	/* last write ends: data 0, 1, weight 0..3 */
	uint64_t half_read[CCP_HALVES];
	struct cnnacc_stats n;		/* cycles_serial and what else grows by instruction */
	uint64_t cycle_limit;
	uint64_t pos[2];		/* progress inside an instruction */
	uint32_t program_va;
	uint32_t program_len;
	uint32_t gpr[CNNACC_CCP_GPRS];
	uint32_t group[CCP_GROUPS][CNNACC_CCP_GPRS];
	struct ccp_chain chain;
	uint32_t pc;
	uint32_t insn;			/* at pc, while it is being executed */
	uint32_t sel;			/* read bank */
	uint32_t phase;			/* enum ccp_phase */
};

/** struct ccp_work - what an EXEC costs and counts. */
struct ccp_work {
	uint64_t cycles;
	uint64_t mac_slots;
	uint64_t mac_useful;
	uint64_t local_read;		/* bytes */
	uint64_t stored;		/* outputs */
	uint32_t reads, writes;		/* masks of halves of banks */
};

/** struct ccp_maps - input and output maps of conv, pool and pad. */
struct ccp_maps {
	uint32_t ih, iw, oh, ow;
	int64_t in_base, out_base;
	uint64_t in_pitch, out_pitch;
};

/** struct ccp_bases - where the maps and weights of a convolution are, in floats. */
struct ccp_bases {
	int32_t in, out, weight, bias;
	uint32_t weight_pitch;
};

#define CCP_BASES	4	/* of input, output, weights, biases */

/** struct ccp_span - floats first..end-1 from a base on, of a memory of floats. */
struct ccp_span {
	int64_t first, end, floats;
};

/** struct ccp_bounds - the lowest and the highest of each base. */
struct ccp_bounds {
	int32_t least[CCP_BASES], most[CCP_BASES];
};

struct ccp_conv {
	struct ccp_maps m;		/* bases in base too */
	struct ccp_bases base;
	uint32_t kh, kw, sy, sx;
	uint32_t pt, pb, pl, pr;
	uint32_t ci_num, co_num, ci_start, ci_end;
	uint32_t row_start, col_start, vec_active, groups;
	uint32_t co_start, co_cnt;
	bool bias, last;		/* last: reaches the last input channel */
	float least;			/* what is not at least that is stored as .. */
	int32_t other;			/* .. these bits */
	uint32_t rows, cols;		/* of the tile that are inside the map */
	/*
	 * The input tile of a channel holds, per tap column, tile_rows places:
	 * place q the lanes of input row q, q + height * sy, .., as many as fill
	 * a vector.  So vectors of output rows i, i + height, .. find the inputs
	 * of a tap in one aligned piece.
	 */
	uint32_t lanes;			/* 8, or 4 if there are no more columns */
	uint32_t place;			/* floats of a place */
	uint32_t height, tile_rows, tile_size;
	int64_t first_row, first_column;	/* of the input, may be outside */
	int64_t low, high;		/* floats of a plane that vectors may read, from first_column */
	bool thin;			/* computed from the input's rows, no tile */
	bool columns;			/* no lane is outside the map or its input */
	bool whole;			/* all of the tile's rows and columns exist, sx is 1 */
	uint32_t depth;			/* channels of a slice, the same on every host */
	uint32_t tap[CCP_TAPS_MAX];	/* offsets of the taps in the tile */
	/* All ones: lanes inside the map; lanes whose input column exists, by tap column. */
	int32_t valid[CNNACC_CCP_LANES] __attribute__((aligned(32)));
	int32_t column[CNNACC_CCP_KERNEL_MAX][CNNACC_CCP_LANES] __attribute__((aligned(32)));
};

struct ccp_pool {
	struct ccp_maps m;
	uint32_t kh, kw, sy, sx;
	uint32_t pt, pb, pl, pr;
	uint32_t channels;
	bool average;
	float reciprocal;
};

struct ccp_pad {
	struct ccp_maps m;
	uint32_t layers, channels;
};

struct ccp_fc {
	uint32_t in, out;
	uint64_t in16;
	int64_t in_base, out_base, weight_base, bias_base;
	bool relu, bias;
};

struct ccp;

/** struct ccp_unit - one of the four units. */
struct ccp_unit {
	/* Resolves the parameters into c->plan and c->work; first bad field or 0. */
	uint32_t (*check)(struct ccp *c);
	/* Is the saved progress one that run() leaves? */
	bool (*check_pos)(const struct ccp *c);
	/* Works until done (true) or *budget ns are used up. */
	bool (*run)(struct ccp *c, int64_t *budget);
};

extern const struct ccp_unit ccp_conv_unit, ccp_pool_unit, ccp_pad_unit, ccp_fc_unit;

struct ccp_simd;

/** struct ccp_scratch - what a thread that computes has to itself. */
struct ccp_scratch {
	uint64_t slice;		/* whose tiles it holds: EXEC and first channel, 0 = none */
	float tile[CCP_TILE_MAX] __attribute__((aligned(64)));
};

#define CCP_BATCH_RUNS	64
#define CCP_BATCH_PLANS	32

/** struct ccp_run - EXECs of one plan, each of which writes the planes behind those of the last. */
struct ccp_run {
	uint32_t plan, count;
	int64_t ns;			/* about what each takes one thread */
	int64_t group;			/* of planes, that the first one writes */
	struct ccp_bases first;
	int64_t in, out, weight, bias;	/* what the bases grow by */
};

/** struct ccp_batch - EXECs that are over but for what they write, in their order. */
struct ccp_batch {
	bool planned;			/* plan.conv is the last of @plan, but for its bases */
	uint32_t runs, plans, parts;
	int64_t origin;			/* float of group 0 */
	int64_t low, end;		/* groups that they write, when they are done */
	struct ccp_conv plan[CCP_BATCH_PLANS];
	struct ccp_run run[CCP_BATCH_RUNS];
};

struct ccp {
	struct ccp_state *s;
	size_t size;
	uint32_t bank_floats, weight_floats, icache_words, lob_vectors;
	float *data[CNNACC_CCP_DATA_BANKS];
	float *weight;			/* four banks, one after the other */
	uint32_t *icache;
	float *lob;			/* [output channel][row][lane] */

	/* Derived from the state, never saved. */
	struct {
		struct ccp_conv conv;
		struct ccp_pool pool;
		struct ccp_pad pad;
		struct ccp_fc fc;
	} plan;
	/* What plan.conv was made of, bases with which it would be the same, and its work. */
	struct {
		bool valid;
		uint32_t sel;
		uint32_t g0[CNNACC_CCP_GPRS], g1[CNNACC_CCP_GPRS];
		uint32_t pitch_mask;		/* bits of g1[7] that matter */
		struct ccp_span span[CCP_BASES];
		struct ccp_bounds good, near;	/* near: same plan and same work */
		struct ccp_work work;
	} conv_of;
	struct ccp_work work;
	bool filled;			/* memories but the icache may hold something */
	uint64_t execs;			/* a number for each */
	struct core_means means;
	const struct ccp_simd *simd;
	struct ccp_scratch *scratch;	/* by seat */
	struct ccp_batch batch;		/* empty between steps */
};

/* controller.c */
enum core_step ccp_step(void *core, struct cm_port *port, uint32_t budget_ns,
			struct core_fault *fault);
const struct ccp_unit *ccp_unit(const struct ccp *c);

/* dma.c: @fault is filled on -1 */
int ccp_boot(struct ccp *c, struct cm_port *port, struct core_fault *fault);
uint32_t ccp_dma_check(const struct ccp *c, uint32_t *field);
uint64_t ccp_dma_lines(const struct ccp *c);
int ccp_dma_run(struct ccp *c, struct cm_port *port, int64_t *budget, struct core_fault *fault);

/* timing.c */
uint64_t ccp_boot_end(const struct ccp *c);
uint64_t ccp_dma_end(const struct ccp *c);
void ccp_time_boot(struct ccp *c);
void ccp_time_dma(struct ccp *c);
void ccp_time_exec(struct ccp *c);
void ccp_time_loop(struct ccp *c, uint64_t times, uint64_t cycles, uint64_t exec_end,
		   uint64_t execs);
void ccp_touch_conv(struct ccp *c);
void ccp_work_conv(struct ccp *c);
void ccp_work_pool(struct ccp *c);
void ccp_work_pad(struct ccp *c);
void ccp_work_fc(struct ccp *c);

/*
 * conv_batch.c: after finish all memories are as the program has made them; add
 * returns about what the EXEC will take one thread.
 */
int64_t ccp_batch_add(struct ccp *c);
void ccp_batch_finish(struct ccp *c);

/* conv.c: has a conv EXEC with group 1 @g1 the plan of the one before, if its bases are good? */
bool ccp_conv_same(const struct ccp *c, const uint32_t *g1);

/*
 * conv_loop.c: after the jump from @bnz to pc, iterations that end before cycle
 * @until and need not be done one by one.
 */
void ccp_conv_loop(struct ccp *c, uint32_t bnz, uint64_t until, int64_t *budget);

/* conv_run.c */
bool ccp_conv_check_pos(const struct ccp *c);
bool ccp_conv_run(struct ccp *c, int64_t *budget);
int64_t ccp_conv_ns(const struct ccp *c, uint32_t depth, uint32_t count);

/* maps.c */
uint32_t ccp_check_pitches(struct ccp_maps *m, uint32_t in_pitch, uint32_t out_pitch);
uint32_t ccp_check_planes(const struct ccp *c, const struct ccp_maps *m, uint32_t channels);

static inline float *ccp_in_plane(const struct ccp *c, const struct ccp_maps *m,
				  uint64_t channel)
{
	return c->data[c->s->sel] + m->in_base + (int64_t)(channel * m->in_pitch);
}

static inline float *ccp_out_plane(const struct ccp *c, const struct ccp_maps *m,
				   uint64_t channel)
{
	return c->data[!c->s->sel] + m->out_base + (int64_t)(channel * m->out_pitch);
}

/* First float of the upper half of a bank. */
static inline int64_t ccp_middle(uint32_t floats)
{
	return floats / CCP_LINE_FLOATS / 2 * CCP_LINE_FLOATS;
}

static inline uint64_t ccp_elapsed(const struct ccp *c)
{
	return c->s->t > c->s->d ? c->s->t : c->s->d;
}

static inline void ccp_time_simple(struct ccp *c, unsigned int cycles)
{
	c->s->t += cycles;
	c->s->n.cycles_serial += cycles;
}

static inline uint32_t ccp_bits(uint32_t word, unsigned int hi, unsigned int lo)
{
	return (word >> lo) & (uint32_t)(((uint64_t)1 << (hi - lo + 1)) - 1);
}

/* Value of a field that stands for @def when zero. */
static inline uint32_t ccp_or(uint32_t field, uint32_t def)
{
	return field ? field : def;
}

/* What a piece of an EXEC may cost: a step ends in time, but for the shortest piece. */
static inline int64_t ccp_piece_ns(int64_t budget)
{
	if (budget < CCP_PIECE_NS_MIN)
		return CCP_PIECE_NS_MIN;
	return budget < CCP_PIECE_NS_MAX ? budget : CCP_PIECE_NS_MAX;
}

static inline uint64_t ccp_div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

#define CCP_NAN	0x7fc00000

/* What a unit stores: every NaN is the same one. */
static inline float ccp_canonical(float x)
{
	return x != x ? __builtin_nanf("") : x;
}

static inline float ccp_relu(float x)
{
	return x > 0.0f ? x : 0.0f;
}

#endif
