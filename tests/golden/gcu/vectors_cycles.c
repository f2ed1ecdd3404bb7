// SPDX-License-Identifier: MIT
/* Layers A to G of the page: cycles, counters, cycle limits and deadlocks. */
#include <string.h>

#include "vectors.h"
#include "writer.h"
#include "../words.h"

#define BOOT	20	/* of one block */

enum layer { A, B, C, D, E, F, G, LAYERS };

/* INT8 with W = H = 8, C = K = 16, 3 x 3. */
static struct cnnacc_gcu_layer plain(void)
{
	struct cnnacc_gcu_layer l = gcu_vector_layer(GCU_FORMAT(INT8) | GCU_OUT(INT8), 8, 8, 16,
						     16);

	gcu_vector_kernel(&l, 3);
	l.fmbuf = 10 | 1 << 8;
	return l;
}

static void use_fifo(struct cnnacc_gcu_layer *l, uint32_t rows, uint32_t threshold)
{
	l->fmbuf |= rows << 16;
	l->threshold = threshold;
}

/* @count pairs of increment and vector. */
static void use_table(struct job *job, struct cnnacc_gcu_layer *l, uint32_t rows,
		      const uint8_t (*entries)[2], unsigned int count)
{
	uint32_t bytes = (rows + 7) / 8;

	l->control |= CNNACC_GCU_TABLE;
	l->fmbuf |= rows << 16;
	l->threshold = 0;
	l->table_entries = count;
	l->increment_va = GCU_VECTOR_TABLES;
	l->vector_va = GCU_VECTOR_TABLES + 0x1000;
	for (unsigned int n = 0; n < count; n++) {
		gcu_vector_put(job, l->increment_va + n, &entries[n][0], 1);
		gcu_vector_put(job, l->vector_va + n * bytes, &entries[n][1], 1);
	}
}

static void never_evict(struct job *job, struct cnnacc_gcu_layer *l, uint32_t rows)
{
	static const uint8_t restart[1][2] = { { 255, 0 } };

	use_table(job, l, rows, restart, 1);
}

static void make_a(struct job *job, struct cnnacc_gcu_layer *l)
{
	static const uint8_t entries[10][2] = {
		{ 0, 0x01 }, { 1, 0x08 }, { 1, 0x02 }, { 1, 0x10 }, { 1, 0x04 }, { 1, 0x20 },
		{ 1, 0x40 }, { 1, 0x80 }, { 4, 0xff }, { 255, 0x00 },
	};

	use_table(job, l, 8, entries, 10);
}

static void make_d(struct job *job, struct cnnacc_gcu_layer *l)
{
	never_evict(job, l, 64);
	l->channels = gcu_halves(40, 16);
}

static void make_e(struct job *job, struct cnnacc_gcu_layer *l)
{
	l->control = CNNACC_GCU_LAYER | GCU_FORMAT(FP16) | GCU_OUT(FP16) | GCU_ACT(RELU) |
		     CNNACC_GCU_LINEAR | CNNACC_GCU_PSUM;
	l->fmbuf = 10 | 2 << 8;
	never_evict(job, l, 16);
	l->in_size = gcu_halves(16, 8);
	l->out_size = gcu_halves(14, 6);
	l->linear_va = GCU_VECTOR_LINEAR;
	l->ifmap = (struct cnnacc_gcu_map){ GCU_VECTOR_IN, 16, 256, 2048 };
	l->psum = (struct cnnacc_gcu_map){ GCU_VECTOR_PSUM, 32, 448, 2688 };
	l->ofmap = (struct cnnacc_gcu_map){ GCU_VECTOR_OUT, 16, 224, 1344 };
}

static void make_f(struct job *job, struct cnnacc_gcu_layer *l)
{
	never_evict(job, l, 16);
	l->groups = 4;
	l->padding = gcu_bytes(1, 1, 1, 1);
	l->out_size = gcu_halves(8, 8);
	l->ofmap = (struct cnnacc_gcu_map){ GCU_VECTOR_OUT, 16, 128, 8 };
}

static void make_g(struct job *job, struct cnnacc_gcu_layer *l)
{
	never_evict(job, l, 8);
	l->channels = gcu_halves(3, 5);
	l->spacing = gcu_bytes(0, 0, 1, 1);
	l->padding = gcu_bytes(1, 1, 1, 1);
	l->out_size = gcu_halves(15, 15);
	l->ifmap = (struct cnnacc_gcu_map){ GCU_VECTOR_IN, 3, 24, 0 };
	l->ofmap = (struct cnnacc_gcu_map){ GCU_VECTOR_OUT, 5, 75, 0 };
}

static struct cnnacc_gcu_layer make(struct job *job, enum layer which)
{
	struct cnnacc_gcu_layer l = plain();

	switch (which) {
	case A:
		make_a(job, &l);
		break;
	case B:
		use_fifo(&l, 4, 3);
		break;
	case C:
		use_fifo(&l, 1, 0);
		break;
	case D:
		make_d(job, &l);
		break;
	case E:
		make_e(job, &l);
		break;
	case F:
		make_f(job, &l);
		break;
	default:
		make_g(job, &l);
		break;
	}
	return l;
}

/* Any data will do. */
static void put_data(struct job *job)
{
	uint8_t bytes[0x9000];

	for (unsigned int n = 0; n < sizeof(bytes); n++)
		bytes[n] = (n * 37 + (n >> 8) * 11) & 0x3f;
	gcu_vector_put(job, GCU_VECTOR_IN, bytes, sizeof(bytes));
	gcu_vector_put(job, GCU_VECTOR_WEIGHTS, bytes, sizeof(bytes));
	gcu_vector_put(job, GCU_VECTOR_PSUM, bytes, sizeof(bytes));
	gcu_vector_put(job, GCU_VECTOR_LINEAR, bytes, sizeof(bytes));
}

static void build_layer(struct job *job, unsigned int which)
{
	struct cnnacc_gcu_layer l = make(job, which);

	put_data(job);
	gcu_write_layer(&job->program, &l);
}

/* Layer A, with a cycle limit. */
static void build_limited(struct job *job, unsigned int limit)
{
	build_layer(job, A);
	job->packet.cycle_limit = limit + BOOT;
}

enum stuck { FIFO_LOW, FIFO_HIGH, TABLE_4, TABLE_2, TABLE_EVICTED };

static void build_stuck(struct job *job, unsigned int which)
{
	static const uint8_t evicting[2][2] = { { 0, 0x02 }, { 255, 0 } };
	struct cnnacc_gcu_layer l = plain();

	put_data(job);
	switch (which) {
	case FIFO_LOW:
		use_fifo(&l, 4, 2);
		break;
	case FIFO_HIGH:
		use_fifo(&l, 4, 4);
		break;
	case TABLE_EVICTED:
		use_table(job, &l, 8, evicting, 2);
		break;
	default:
		never_evict(job, &l, which == TABLE_4 ? 4 : 2);
		break;
	}
	gcu_write_layer(&job->program, &l);
}

/* ------------------------------------------------------------ other blocks */

/* Fill, probe, probe of 512 words, SEARCH. */
static void build_moves(struct job *job, unsigned int argument)
{
	struct cnnacc_gcu_probe p = {
		.control = CNNACC_GCU_FILL, .count = 32, .va = GCU_VECTOR_IN, .fmbuf_banks = 10,
	};

	(void)argument;
	put_data(job);
	gcu_write_probe(&job->program, &p);
	p.control = CNNACC_GCU_PROBE;
	p.va = GCU_VECTOR_OUT;
	gcu_write_probe(&job->program, &p);
	p.count = 512;
	p.va += 0x1000;
	gcu_write_probe(&job->program, &p);
	p.port = CNNACC_GCU_PORT_SEARCH;
	p.fmbuf_banks = 0;
	p.va += 0x4000;
	gcu_write_probe(&job->program, &p);
}

static bool check_moves(struct job *job, unsigned int argument)
{
	(void)argument;
	return !memcmp(space_at(&job->space, GCU_VECTOR_OUT),
		       space_at(&job->space, GCU_VECTOR_IN), 512) &&
	       gcu_vector_same(job, "row", GCU_VECTOR_OUT + 0x5000, CNNACC_GCU_MISS);
}

static void build_wait(struct job *job, unsigned int limit)
{
	const struct cnnacc_gcu_wait w = { .control = CNNACC_GCU_WAIT, .cycles = 1000 };

	gcu_write_wait(&job->program, &w);
	if (limit)
		job->packet.cycle_limit = limit + BOOT;
}

/* A wait that exceeds the limit is not complete, whatever it exceeds it by. */
static bool check_wait(struct job *job, unsigned int limit)
{
	struct cnnacc_stats is;

	memcpy(&is, space_at(&job->space, GCU_VECTOR_STATS), sizeof(is));
	return le64toh(is.instructions) == (limit >= 1016) &&
	       le64toh(is.cycles_serial) == BOOT + (limit >= 1016 ? 1016 : limit + 1);
}

/* ---------------------------------------------------------------- results */

/* Of the table, as far as the statistics record has it; the boot of one block is not in it. */
static const struct cnnacc_stats stats[LAYERS] = {
	[A] = { .cycles = 1383, .cycles_serial = 2200, .compute_cycles = 1296, .stall_cycles = 51,
		.dma_cycles = 106, .mac_useful = 82944, .mem_read_bytes = 4392,
		.mem_write_bytes = 576, .local_read_bytes = 67968, .local_write_bytes = 45864 },
	[B] = { .cycles = 1382, .cycles_serial = 2860, .compute_cycles = 1296, .stall_cycles = 50,
		.dma_cycles = 126, .mac_useful = 82944, .mem_read_bytes = 6912,
		.mem_write_bytes = 576, .local_read_bytes = 67968, .local_write_bytes = 48384 },
	[C] = { .cycles = 2572, .cycles_serial = 2860, .compute_cycles = 1296,
		.stall_cycles = 1240, .dma_cycles = 126, .mac_useful = 82944,
		.mem_read_bytes = 6912, .mem_write_bytes = 576, .local_read_bytes = 67968,
		.local_write_bytes = 48384 },
	[D] = { .cycles = 3326, .cycles_serial = 5414, .compute_cycles = 3240, .stall_cycles = 50,
		.dma_cycles = 512, .mac_useful = 207360, .mem_read_bytes = 31396,
		.mem_write_bytes = 576, .local_read_bytes = 166464, .local_write_bytes = 135076 },
	[E] = { .cycles = 3496, .cycles_serial = 5992, .compute_cycles = 3024,
		.stall_cycles = 388, .dma_cycles = 2180, .mac_useful = 193536,
		.mem_read_bytes = 14348, .mem_write_bytes = 2688, .local_read_bytes = 178176,
		.local_write_bytes = 111116 },
	[F] = { .cycles = 1240, .cycles_serial = 1795, .compute_cycles = 1152, .stall_cycles = 50,
		.dma_cycles = 69, .mac_useful = 30976, .mem_read_bytes = 2185,
		.mem_write_bytes = 1024, .local_read_bytes = 51264, .local_write_bytes = 33161 },
	[G] = { .cycles = 2092, .cycles_serial = 2489, .compute_cycles = 2025, .stall_cycles = 22,
		.dma_cycles = 50, .mac_useful = 7260, .mem_read_bytes = 556,
		.mem_write_bytes = 1125, .local_read_bytes = 20692, .local_write_bytes = 10236 },
};

static bool check_stats(struct job *job, unsigned int which)
{
	struct cnnacc_stats want = stats[which];
	static const char *const names[] = CNNACC_STATS_NAMES;
	uint64_t is[sizeof(want) / 8], should[sizeof(want) / 8];
	bool good = true;

	want.cycles += BOOT;
	want.cycles_serial += BOOT;
	want.dma_cycles += BOOT;
	want.mem_read_bytes += CNNACC_GCU_BLOCK_SIZE;
	want.local_write_bytes += CNNACC_GCU_BLOCK_SIZE;
	want.mac_slots = want.compute_cycles * 64;
	want.instructions = 1;
	want.jobs = 1;
	memcpy(should, &want, sizeof(want));
	memcpy(is, space_at(&job->space, GCU_VECTOR_STATS), sizeof(is));
	for (unsigned int n = 0; n < sizeof(is) / 8; n++) {
		if (le64toh(is[n]) == should[n])
			continue;
		printf("# %s is %llu, not %llu\n", names[n],
		       (unsigned long long)le64toh(is[n]), (unsigned long long)should[n]);
		good = false;
	}
	return good;
}

static bool check_limited(struct job *job, unsigned int limit)
{
	struct cnnacc_stats is;

	memcpy(&is, space_at(&job->space, GCU_VECTOR_STATS), sizeof(is));
	return le64toh(is.mem_write_bytes) == (limit >= 1379 ? 576 : 0) &&
	       le64toh(is.instructions) == (limit >= 1380);
}

static const struct golden_gcu_counters counters[LAYERS] = {
	[A] = { .stall_weight = 51, .row_fills = 32, .row_bytes = 2048, .row_refills = 1024,
		.evictions = 32, .weight_bytes = 2304, .table_bytes = 40, .taps = 1296 },
	[B] = { .stall_weight = 50, .row_fills = 72, .row_bytes = 4608, .row_refills = 3584,
		.evictions = 72, .weight_bytes = 2304, .taps = 1296 },
	[C] = { .stall_row = 1190, .stall_weight = 50, .row_fills = 72, .row_bytes = 4608,
		.row_refills = 3584, .evictions = 72, .weight_bytes = 2304, .taps = 1296 },
	[D] = { .stall_weight = 50, .row_fills = 40, .row_bytes = 2560, .weight_bytes = 28800,
		.weight_refills = 23040, .table_bytes = 36, .taps = 3240 },
	[E] = { .stall_weight = 316, .stall_psum = 72, .row_fills = 16, .row_bytes = 4096,
		.weight_bytes = 4608, .table_bytes = 12, .taps = 3024 },
	[F] = { .stall_weight = 50, .row_fills = 16, .row_bytes = 1024, .weight_bytes = 1152,
		.table_bytes = 9, .taps = 968, .taps_masked = 184 },
	[G] = { .stall_weight = 22, .row_fills = 8, .row_bytes = 192, .weight_bytes = 360,
		.table_bytes = 4, .taps = 484, .taps_masked = 1541 },
};

static const struct golden_gcu_fill fills_a[] = {
	{ 0, 0, 0, 33 }, { 0, 1, 1, 34 }, { 0, 2, 2, 35 }, { 1, 0, 3, 36 }, { 1, 1, 4, 37 },
	{ 1, 2, 5, 38 }, { 0, 3, 6, 39 }, { 1, 3, 7, 40 }, { 0, 4, 0, 112 }, { 1, 4, 3, 166 },
	{ 0, 5, 1, 220 },
};

static const struct golden_gcu_fill fills_b[] = {
	{ 0, 0, 0, 33 }, { 0, 1, 1, 34 }, { 0, 2, 2, 35 }, { 1, 0, 3, 36 }, { 1, 1, 0, 76 },
	{ 1, 2, 1, 94 }, { 0, 1, 2, 112 }, { 0, 2, 3, 130 },
};

#define LAYER(name_, ...)	{ "layer " #name_, .build = build_layer, .check = check_stats, \
				  .argument = name_, .counters = &counters[name_], \
				  __VA_ARGS__ }
#define LIMIT(limit, at)	{ "layer A, limit " #limit, .build = build_limited, \
				  .check = check_limited, .argument = limit, \
				  .cycles = (at) + BOOT, \
				  .want = { .status_class = CNNACC_STATUS_TIME_LIMIT, \
					    .status_code = CNNACC_CODE_TIME_LIMIT } }
#define WAIT(limit, at)		{ "wait, limit " #limit, .build = build_wait, \
				  .check = check_wait, .argument = limit, .cycles = (at) + BOOT, \
				  .want = { .status_class = CNNACC_STATUS_TIME_LIMIT, \
					    .status_code = CNNACC_CODE_TIME_LIMIT } }
#define STUCK(text, which, why, h, cg) \
				{ text, .build = build_stuck, .argument = which, \
				  .cycles = BOOT, .out_row = h, .channel_group = cg, \
				  .want = { .status_class = CNNACC_STATUS_DEADLOCK, \
					    .status_code = CNNACC_GCU_E_DEADLOCK, \
					    .detail = CNNACC_GCU_DEADLOCK_##why } }
#define FILLS(list)		.fills = list, .fill_count = sizeof(list) / sizeof((list)[0])

const struct gcu_vector gcu_cycle_vectors[] = {
	LAYER(A, FILLS(fills_a)), LAYER(B, FILLS(fills_b)), LAYER(C,), LAYER(D,),
	LAYER(F,), LAYER(G,),
	{ "layer E", .bus = 8, .build = build_layer, .check = check_stats, .argument = E,
	  .counters = &counters[E] },
	LIMIT(1, 95), LIMIT(94, 95), LIMIT(1379, 1380), LIMIT(1380, 1383), LIMIT(1382, 1383),
	{ "layer A, limit 1383", .build = build_limited, .check = check_limited, .argument = 1383,
	  .cycles = 1383 + BOOT },
	{ "fill, probes, SEARCH", .build = build_moves, .check = check_moves, .want.pc = 3,
	  .cycles = BOOT + 3 * 4 + 56 + 56 + 656 + 18 },
	{ "wait", .build = build_wait, .cycles = BOOT + 1016 },
	WAIT(100, 101), WAIT(1015, 1016),
	{ "wait, limit 1016", .build = build_wait, .check = check_wait, .argument = 1016,
	  .cycles = BOOT + 1016 },
	STUCK("FIFO with threshold 2", FIFO_LOW, EVICTED, 0, 0),
	STUCK("FIFO with threshold 4", FIFO_HIGH, FULL, 0, 1),
	STUCK("four slots, no eviction", TABLE_4, FULL, 0, 1),
	STUCK("two slots, no eviction", TABLE_2, FULL, 0, 0),
	STUCK("a row evicted too early", TABLE_EVICTED, EVICTED, 1, 0),
};

const unsigned int gcu_cycle_vector_count =
	sizeof(gcu_cycle_vectors) / sizeof(gcu_cycle_vectors[0]);
