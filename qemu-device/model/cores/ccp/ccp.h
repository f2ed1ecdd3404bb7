/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Internals of core ccp (Documentation/hardware/ccp.rst). */
#ifndef CM_CCP_H
#define CM_CCP_H

#include "cnnacc_ccp.h"
#include "core.h"
#include "mmu.h"

#define CCP_HALVES	(2 * (CNNACC_CCP_DATA_BANKS + CNNACC_CCP_WEIGHT_BANKS))
#define CCP_LINE_FLOATS	(CNNACC_LINE_SIZE / 4)
/* Floats of one channel in the LOBs. */
#define CCP_TILE	(CNNACC_CCP_ROWS * CNNACC_CCP_LANES)
#define CCP_TAPS_MAX	(CNNACC_CCP_KERNEL_MAX * CNNACC_CCP_KERNEL_MAX)
/* EXECs of at most so many output channels are computed directly, without an input tile. */
#define CCP_DIRECT_MAX	2
/* The output channels of a chunk are a multiple of this, or all that are left. */
#define CCP_CHUNK_CHANNELS	16

#define CCP_TILE_ROWS	((CNNACC_CCP_ROWS - 1) * CNNACC_CCP_STRIDE_MAX + CNNACC_CCP_KERNEL_MAX)
/* Maximum floats in a channel's input tile, for any vector width. */
#define CCP_TILE_FLOATS(rows, kh, kw, sy) \
	((kw) * (((rows) - 1) * (sy) + 2 * (kh)) * CNNACC_CCP_LANES)
#define CCP_TILE_MAX \
	CCP_TILE_FLOATS(CNNACC_CCP_ROWS, CNNACC_CCP_KERNEL_MAX, CNNACC_CCP_KERNEL_MAX, \
			CNNACC_CCP_STRIDE_MAX)
/*
 * Maximum floats in the tiles of a slice, so that they stay in the host's second-level cache; the
 * first level's would be slices so short that the LOBs, loaded and stored for each, take time.
 */
#define CCP_TILE_CACHE	32768
_Static_assert(CCP_TILE_CACHE >= CCP_TILE_MAX, "a slice has at least one channel");
/* Host time of a chunk of an EXEC; a step may exceed its budget by the minimum. */
#define CCP_CHUNK_NS_MIN	20000
#define CCP_CHUNK_NS_MAX	500000

#define CCP_INSN_NS	12	/* estimated host time of a control instruction */

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

/** struct ccp_chain - identifies the partial sums in the LOBs that an EXEC may continue. */
struct ccp_chain {
	uint32_t valid;
	uint32_t next_ci;
	uint32_t row_start, col_start, vec_active;
	uint32_t co_start, co_cnt;
	uint32_t reserved;
};

/** struct ccp_state - head of the flat state; the memories follow it. */
struct ccp_state {
	uint64_t t;			/* the controller's time, in cycles */
	uint64_t d;			/* cycle at which the DMA engine becomes free */
	uint64_t half_write[CCP_HALVES];	/* end of last write: data 0, 1, weight 0..3 */
	uint64_t half_read[CCP_HALVES];		/* end of last read */
	struct cnnacc_stats n;		/* counters that instructions increment */
	uint64_t cycle_limit;
	uint64_t pos[2];		/* progress inside an instruction */
	uint32_t program_va;
	uint32_t program_len;
	uint32_t gpr[CNNACC_CCP_GPRS];
	uint32_t group[CCP_GROUPS][CNNACC_CCP_GPRS];
	struct ccp_chain chain;
	uint32_t pc;
	uint32_t insn;			/* instruction at pc, while it executes */
	uint32_t sel;			/* number of the read bank */
	uint32_t phase;			/* enum ccp_phase */
};

/** struct ccp_work - cycles, counters and memory accesses of an EXEC. */
struct ccp_work {
	uint64_t cycles;
	uint64_t mac_slots;
	uint64_t mac_useful;
	uint64_t local_read;		/* bytes */
	uint64_t stored;		/* outputs written */
	uint32_t reads, writes;		/* masks of the bank halves accessed */
};

/** struct ccp_maps - input and output feature maps of conv, pool and pad. */
struct ccp_maps {
	uint32_t ih, iw, oh, ow;
	int64_t in_base, out_base;
	uint64_t in_pitch, out_pitch;
};

/** struct ccp_bases - addresses of a convolution's maps and weights, in floats. */
struct ccp_bases {
	int32_t in, out, weight, bias;
	uint32_t weight_pitch;
};

#define CCP_BASES	4	/* input, output, weights, biases */

/** struct ccp_span - floats first..end-1 relative to a base, in a memory of @floats. */
struct ccp_span {
	int64_t first, end, floats;
};

/** struct ccp_bounds - range of each base. */
struct ccp_bounds {
	int32_t min[CCP_BASES], max[CCP_BASES];
};

struct ccp_conv {
	struct ccp_maps m;		/* its bases are also in base */
	struct ccp_bases base;
	uint32_t kh, kw, sy, sx;
	uint32_t pt, pb, pl, pr;
	uint32_t ci_num, co_num, ci_start, ci_end;
	uint32_t row_start, col_start, vec_active, groups;
	uint32_t co_start, co_cnt;
	bool bias, last;		/* last: this EXEC ends with the last input channel */
	/* A result that is not >= threshold is stored as the bits of replacement. */
	float threshold;
	int32_t replacement;
	uint32_t rows, cols;		/* rows and columns of the tile inside the map */
	/*
	 * For each tap column, the input tile of a channel holds tile_rows vectors.  Vector q holds
	 * the lanes of input rows q, q + height * sy, .., as many rows as fill it.  So the inputs
	 * of a tap for the vector of output rows i, i + height, .. are one aligned vector.
	 */
	uint32_t lanes;			/* 8, or 4 if at most 4 columns are inside the map */
	uint32_t vector_floats;		/* floats in a vector of the tile */
	uint32_t height, tile_rows, tile_size;
	int64_t first_row, first_column;	/* input position of the tile, may be negative */
	int64_t low, high;		/* range that vectors may read, from first_column */
	bool direct;			/* computed from the input's rows, without a tile */
	bool columns;			/* all lanes have outputs and inputs inside the maps */
	bool whole;			/* the whole tile is inside the input, and sx is 1 */
	uint32_t depth;			/* channels in a slice; the same on every host */
	/* Mostly the same in the next EXEC, and then not written: other threads read them. */
	uint32_t tap[CCP_TAPS_MAX];	/* offset of each tap in the tile */
	/* Masks: lanes inside the map; by tap column, lanes whose input column exists. */
	uint32_t valid[CNNACC_CCP_LANES] __attribute__((aligned(32)));
	uint32_t column[CNNACC_CCP_KERNEL_MAX][CNNACC_CCP_LANES] __attribute__((aligned(32)));
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
	/* Decode the parameters to c->plan and c->work; return the first bad field, or 0. */
	uint32_t (*check)(struct ccp *c);
	/* Can run() have left the progress in a loaded state? */
	bool (*check_pos)(const struct ccp *c);
	/* Compute until done (true) or until *budget ns are used up. */
	bool (*run)(struct ccp *c, int64_t *budget);
};

extern const struct ccp_unit ccp_conv_unit, ccp_pool_unit, ccp_pad_unit, ccp_fc_unit;

struct ccp_simd;

/** struct ccp_scratch - private memory of a computing thread. */
struct ccp_scratch {
	uint64_t slice;		/* slice that @tile holds: EXEC and first channel; 0: none */
	float tile[CCP_TILE_CACHE] __attribute__((aligned(64)));
};

#define CCP_BATCH_RUNS	64
#define CCP_BATCH_PLANS	32

/** struct ccp_run - EXECs of one plan that write consecutive groups of planes. */
struct ccp_run {
	uint32_t plan, count;
	int64_t ns;			/* estimated time of one EXEC on one thread */
	int64_t group;			/* group of planes that the first EXEC writes */
	struct ccp_bases first;
	int64_t in, out, weight, bias;	/* increments of the bases */
};

/** struct ccp_batch - EXECs, in program order, whose results are not yet computed. */
struct ccp_batch {
	bool plan_valid;		/* the last of @plan equals plan.conv, bases excepted */
	uint32_t runs, plans, parts;
	int64_t origin;			/* address of group 0 */
	int64_t low, end;		/* groups that the batch writes */
	struct ccp_conv plan[CCP_BATCH_PLANS];
	struct ccp_run run[CCP_BATCH_RUNS];
};

struct ccp {
	struct ccp_state *s;
	size_t size;
	uint32_t bank_floats, weight_floats, icache_words, lob_vectors;
	bool split_banks;
	float *data[CNNACC_CCP_DATA_BANKS];
	float *weight;			/* four banks, contiguous */
	uint32_t *icache;
	float *lob;			/* [output channel][row][lane] */

	/* Derived from the state, never saved.  A plan is the decoded parameters of an EXEC. */
	struct {
		struct ccp_conv conv;
		struct ccp_pool pool;
		struct ccp_pad pad;
		struct ccp_fc fc;
	} plan;
	/* Key of plan.conv and the result of its checks, to skip them for similar EXECs. */
	struct {
		bool valid;
		uint32_t sel;
		uint32_t g0[CNNACC_CCP_GPRS], g1[CNNACC_CCP_GPRS];
		uint32_t pitch_mask;		/* bits of g1[7] that matter */
		struct ccp_span span[CCP_BASES];
		struct ccp_bounds in_range;	/* bases that give the same plan */
		struct ccp_bounds same_halves;	/* bases that give the same plan and work */
		struct ccp_work work;
	} conv_cache;
	struct ccp_work work;
	bool filled;			/* a job has written to a memory besides the icache */
	uint64_t execs;			/* number of the EXEC, for ccp_scratch.slice */
	struct cm_core_resources resources;
	const struct ccp_simd *simd;
	struct ccp_scratch *scratch;	/* by thread index */
	struct ccp_batch batch;		/* empty between steps */
};

/* controller.c */
enum cm_core_step ccp_step(void *core, struct cm_port *port, uint32_t budget_ns,
			   struct cm_core_fault *fault);
const struct ccp_unit *ccp_unit(const struct ccp *c);

/* dma.c: on -1, @fault is filled in */
int ccp_boot(struct ccp *c, struct cm_port *port, struct cm_core_fault *fault);
uint32_t ccp_dma_check(const struct ccp *c, uint32_t *field);
uint64_t ccp_dma_lines(const struct ccp *c);
int ccp_dma_run(struct ccp *c, struct cm_port *port, int64_t *budget, struct cm_core_fault *fault);

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
 * conv_batch.c: add defers plan.conv and returns its estimated time on one thread; finish computes
 * all deferred EXECs, so that the memories are up to date.
 */
int64_t ccp_batch_add(struct ccp *c);
void ccp_batch_finish(struct ccp *c);

/* conv.c: does a conv EXEC with group 1 @g1 have the plan of the last one, bases excepted? */
bool ccp_conv_same(const struct ccp *c, const uint32_t *g1);

/*
 * conv_loop.c: after the jump from @bnz to pc, execute all iterations at once that end before cycle
 * @until and differ only in addresses.
 */
void ccp_conv_loop(struct ccp *c, uint32_t bnz, uint64_t until, int64_t *budget);

/* conv_run.c */
bool ccp_conv_check_pos(const struct ccp *c);
bool ccp_conv_run(struct ccp *c, int64_t *budget);

/* conv_time.c: estimated ns on one thread for @depth input and @count output channels */
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

/* First float of the upper half of a bank; a bank that is not split is all lower half. */
static inline int64_t ccp_middle(const struct ccp *c, uint32_t floats)
{
	return c->split_banks ? floats / CCP_LINE_FLOATS / 2 * CCP_LINE_FLOATS : floats;
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

/* Value of a field for which zero means @def. */
static inline uint32_t ccp_or(uint32_t field, uint32_t def)
{
	return field ? field : def;
}

/* Maximum time of the next chunk of an EXEC, so that the step ends within about its budget. */
static inline int64_t ccp_chunk_ns(int64_t budget)
{
	if (budget < CCP_CHUNK_NS_MIN)
		return CCP_CHUNK_NS_MIN;
	return budget < CCP_CHUNK_NS_MAX ? budget : CCP_CHUNK_NS_MAX;
}

static inline uint64_t ccp_div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

#define CCP_NAN	0x7fc00000

/* The value that a unit stores: every NaN becomes CCP_NAN. */
static inline float ccp_canonical(float x)
{
	return x != x ? __builtin_nanf("") : x;
}

static inline float ccp_relu(float x)
{
	return x > 0.0f ? x : 0.0f;
}

#endif
