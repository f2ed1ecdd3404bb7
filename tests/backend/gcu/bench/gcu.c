/* SPDX-License-Identifier: MIT */
/*
 * bench-gcu DEVICE DATA CI ROWS COLUMNS CO: a 3 x 3 convolution with padding 1 and stride 1 on core
 * gcu, its accumulators written to memory.  DATA is INT8 (unsigned ifmap, accumulators of 32 bits),
 * INT16, INT16-full (numbers of all sizes, so that sums saturate) or FP16.  Rows are replaced by
 * tables.  The program does the whole layer, transfers included, REPEATS times.  Prints "ready",
 * then for every line on stdin runs it and prints
 *
 *   MS cycles=N sum=N	the milliseconds and cycles of one layer, a checksum of the results
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_gcu.h>
#include <cnnrt.h>

#include "bench_layer.h"

#define REPEATS		16
#define KERNEL		3
#define POINTS		(KERNEL * KERNEL)
#define CODE_VA		0xf0000000u
#define IFMAP_VA	0x10000000u
#define WEIGHT_VA	0x20000000u
#define TABLE_VA	0x30000000u
#define OUT_VA		0x40000000u
#define NONE		UINT32_MAX
#define PAIR(low, high)		((uint32_t)(low) | (uint32_t)(high) << 16)
#define BYTES(a, b, c, d)	(PAIR(a, c) | PAIR(b, d) << 8)

/** struct build - what a layer's program depends on. */
struct build {
	uint32_t c, k, banks, rows;	/* ATOMIC_C, ATOMIC_K, CBUF_BANK_N, MAX_FMBUF_ROWN */
};

/** struct tables - replacement tables of one kernel group, which evicts all rows at its end. */
struct tables {
	uint8_t *increments, *vectors;
	uint32_t count, vector_bytes;
	uint32_t last;			/* op4 of the last entry */
};

struct layer {
	uint32_t format, control, esz;
	bool full;
	uint32_t ci, rows, columns, co;
	uint32_t groups, slots;		/* channel groups, row slots */
	struct build build;
	struct cnnacc_gcu_layer block;
	struct tables tables;
	size_t ifmap, weights, out;	/* bytes */
};

static void *zeroed(size_t size)
{
	void *memory = calloc(1, size);

	bench_must(memory, "no memory");
	return memory;
}

static uint32_t div_up(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* ---- replacement tables ---- */

/** struct area - the slots as the hardware fills them. */
struct area {
	const struct layer *l;
	uint32_t *slot_of;		/* by need: channel group and row; NONE: in no slot */
	bool *used;			/* by slot */
	uint32_t need, needs;		/* next one in the order of the array */
};

/*
 * What the array needs in the order in which it needs it first: channel group by channel group,
 * rows 0 and 1 for the first output row, then a new row for each.
 */
static uint32_t need_at(const struct layer *l, uint32_t n)
{
	uint32_t first = l->rows > 1 ? 2 : 1;

	if (n < first * l->groups)
		return n / first * l->rows + n % first;
	n -= first * l->groups;
	return n % l->groups * l->rows + first + n / l->groups;
}

static uint32_t free_slot(const struct area *a)
{
	for (uint32_t slot = 0; slot < a->l->slots; slot++)
		if (!a->used[slot])
			return slot;
	return NONE;
}

/* Requests ahead of output row @h, as far as there are slots. */
static void fill_area(struct area *a, uint32_t op4)
{
	for (; a->need < a->needs; a->need++) {
		uint32_t need = need_at(a->l, a->need), slot = free_slot(a), y = need % a->l->rows;
		uint32_t h = y ? y - 1 : 0, number = h * a->l->groups + need / a->l->rows;

		if (slot == NONE || number > op4 + CNNACC_GCU_LOOKAHEAD)
			return;
		a->slot_of[need] = slot;
		a->used[slot] = true;
	}
}

static void add_entry(struct tables *t, uint32_t op4, uint32_t slot)
{
	uint8_t *vector = t->vectors + (size_t)t->count * t->vector_bytes;

	t->increments[t->count++] = (uint8_t)(op4 - t->last);
	t->last = op4;
	if (slot == NONE)
		memset(vector, 0xff, t->vector_bytes);
	else
		vector[slot / 8] |= (uint8_t)(1u << slot % 8);
}

/* After each op4 the row goes that no later output row needs; after the last one all do. */
static void make_tables(struct layer *l)
{
	uint32_t op4s = l->rows * l->groups;
	struct area a = {
		.l = l, .needs = op4s, .slot_of = zeroed(op4s * sizeof(uint32_t)),
		.used = zeroed(l->slots),
	};
	struct tables *t = &l->tables;

	t->vector_bytes = div_up(l->slots, 8);
	t->increments = zeroed(op4s + 1);
	t->vectors = zeroed(((size_t)op4s + 1) * t->vector_bytes);
	fill_area(&a, 0);
	for (uint32_t op4 = 0; op4 < op4s; op4++) {
		uint32_t h = op4 / l->groups, cg = op4 % l->groups;

		if (op4 + 1 == op4s) {
			add_entry(t, op4, NONE);
		} else if (h) {
			uint32_t slot = a.slot_of[cg * l->rows + h - 1];

			add_entry(t, op4, slot);
			a.used[slot] = false;
		}
		fill_area(&a, op4 + 1);
	}
	t->increments[t->count++] = CNNACC_GCU_RESTART;
	free(a.slot_of);
	free(a.used);
}

/* ---- the layer ---- */

static uint32_t columns_code(uint32_t columns)
{
	uint32_t code = 0;

	while ((uint32_t)CNNACC_GCU_COLUMNS_MIN << code < columns)
		code++;
	return code;
}

static void choose_buffers(struct layer *l)
{
	uint32_t code = columns_code(l->columns), groups = l->groups > 3 ? l->groups : 3;
	uint32_t words = POINTS * l->build.k, most = (l->build.banks - 1) * CNNACC_GCU_BANK_WORDS;
	uint32_t banks;

	/* All weights of a kernel group, if half of CBUF holds them. */
	if (groups * words > most / 2)
		groups = most / 2 / words < 3 ? 3 : most / 2 / words;
	banks = l->build.banks - div_up(groups * words, CNNACC_GCU_BANK_WORDS);
	l->slots = banks * CNNACC_GCU_BANK_WORDS / (CNNACC_GCU_COLUMNS_MIN << code);
	l->slots = l->slots < l->build.rows ? l->slots : l->build.rows;
	bench_must(l->slots > KERNEL * l->groups || l->slots >= l->rows * l->groups, "too few row slots");
	l->block.fmbuf = banks | code << 8 | l->slots << 16;
	l->block.kbuf = PAIR(POINTS, groups);
}

static void make_layer(struct layer *l)
{
	uint32_t surface = l->build.c * l->esz, row = l->columns * surface, result = l->build.c * 4;
	uint32_t out_row = l->columns * result;

	l->groups = div_up(l->ci, l->build.c);
	choose_buffers(l);
	make_tables(l);
	l->ifmap = (size_t)l->groups * l->rows * row;
	l->weights = (size_t)POINTS * l->groups * l->build.c * l->co * l->esz;
	l->out = (size_t)div_up(l->co, l->build.c) * l->rows * out_row;
	l->block.control = CNNACC_GCU_LAYER | CNNACC_GCU_TABLE |
			   l->format << CNNACC_GCU_FORMAT_SHIFT | l->control;
	l->block.in_size = PAIR(l->columns, l->rows);
	l->block.channels = PAIR(l->ci, l->co);
	l->block.out_size = l->block.in_size;
	l->block.kernel = BYTES(KERNEL, KERNEL, 1, 1);
	l->block.padding = BYTES(1, 1, 1, 1);
	l->block.groups = 1;
	l->block.ifmap = (struct cnnacc_gcu_map){ IFMAP_VA, surface, row, l->rows * row };
	l->block.ofmap = (struct cnnacc_gcu_map){ OUT_VA, result, out_row, l->rows * out_row };
	l->block.weight_va = WEIGHT_VA;
	l->block.table_entries = l->tables.count;
	l->block.increment_va = TABLE_VA;
	l->block.vector_va = TABLE_VA + (l->tables.count + 63) / 64 * 64;
}

/* FP16 of sizes between 2^-7 and 2^7, INT16 of 8 bits or of all, INT8. */
static uint8_t *random_elements(const struct layer *l, size_t bytes)
{
	uint16_t *words = zeroed(bytes + 1);
	uint32_t state = 1;

	for (size_t i = 0; i < (bytes + 1) / 2; i++) {
		state = state * 1664525 + 1013904223;
		words[i] = (uint16_t)(state >> 16);
		if (l->format == CNNACC_GCU_FP16)
			words[i] = (uint16_t)((words[i] & 0xb7ff) | 0x2000);
		else if (l->format == CNNACC_GCU_INT16 && !l->full)
			words[i] = (uint16_t)((int16_t)words[i] >> 8);
	}
	return (uint8_t *)words;
}

static uint8_t *table_bytes(const struct layer *l, size_t *size)
{
	size_t vectors = l->block.vector_va - TABLE_VA;
	size_t bytes = (size_t)l->tables.count * l->tables.vector_bytes;
	uint8_t *tables = zeroed(vectors + bytes);

	memcpy(tables, l->tables.increments, l->tables.count);
	memcpy(tables + vectors, l->tables.vectors, bytes);
	*size = vectors + bytes;
	return tables;
}

/** struct run - the program and its memory. */
struct run {
	struct cnnacc_gcu_layer code[REPEATS];
	struct cnnrt_range ranges[5];
	uint32_t *out;
};

static void prepare(struct run *r, const struct layer *l)
{
	size_t tables;
	const uint8_t *table = table_bytes(l, &tables);
	const uint8_t *ifmap = random_elements(l, l->ifmap);
	const uint8_t *weights = random_elements(l, l->weights);
	const struct cnnrt_range ranges[] = {
		{ .va = CODE_VA, .size = sizeof(r->code), .flags = CNNRT_MAP_EXEC, .in = r->code },
		{ .va = IFMAP_VA, .size = l->ifmap, .flags = CNNRT_MAP_READ, .in = ifmap },
		{ .va = WEIGHT_VA, .size = l->weights, .flags = CNNRT_MAP_READ, .in = weights },
		{ .va = TABLE_VA, .size = tables, .flags = CNNRT_MAP_READ, .in = table },
		{ .va = OUT_VA, .size = l->out, .flags = CNNRT_MAP_WRITE },
	};

	for (unsigned int i = 0; i < REPEATS; i++)
		r->code[i] = l->block;
	r->out = zeroed(l->out);
	memcpy(r->ranges, ranges, sizeof(ranges));
	r->ranges[4].out = r->out;
}

static void measure(struct cnnrt_device *dev, struct run *r, const struct layer *l)
{
	struct cnnacc_stats stats;
	double start = bench_now_ms(), ms;
	uint32_t sum = 0;

	stats = bench_exec(dev, r->ranges, 5);
	ms = bench_now_ms() - start;
	for (size_t i = 0; i < l->out / 4; i++)
		sum = sum * 31 + r->out[i];
	printf("%.4f cycles=%llu sum=%u\n", ms / REPEATS,
	       (unsigned long long)stats.cycles / REPEATS, sum);
}

static bool set_data(struct layer *l, const char *name)
{
	static const struct {
		const char *name;
		uint32_t format, flags, out, esz;
		bool full;
	} kinds[] = {
		{ "INT8", CNNACC_GCU_INT8, CNNACC_GCU_UNSIGNED_IFMAP, CNNACC_GCU_OUT_INT32, 1,
		  true },
		{ "INT16", CNNACC_GCU_INT16, 0, CNNACC_GCU_OUT_INT32, 2, false },
		{ "INT16-full", CNNACC_GCU_INT16, 0, CNNACC_GCU_OUT_INT32, 2, true },
		{ "FP16", CNNACC_GCU_FP16, 0, CNNACC_GCU_OUT_FP32, 2, false },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name)) {
			l->format = kinds[i].format;
			l->control = kinds[i].flags | kinds[i].out << CNNACC_GCU_OUT_SHIFT;
			l->esz = kinds[i].esz;
			l->full = kinds[i].full;
			return true;
		}
	return false;
}

static struct build build_of(struct cnnrt_device *dev)
{
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error error;

	bench_must(!cnnrt_device_core(dev, 0, &info, &error), error.text);
	return (struct build){
		.c = info.param[CNNACC_GCU_PARAM_ATOMIC] & 0xff,
		.k = info.param[CNNACC_GCU_PARAM_ATOMIC] >> 8 & 0xff,
		.banks = info.param[CNNACC_GCU_PARAM_CBUF] & 0xffff,
		.rows = info.param[CNNACC_GCU_PARAM_ROWS],
	};
}

int main(int argc, char **argv)
{
	struct layer layer = { .format = 0 };
	struct cnnrt_device *dev;
	static struct run run;
	char line[16];

	if (argc != 7 || !set_data(&layer, argv[2])) {
		fprintf(stderr, "usage: %s DEVICE INT8|INT16|INT16-full|FP16 CI ROWS COLUMNS CO\n",
			argv[0]);
		return 2;
	}
	dev = bench_open(argv[1]);
	layer.ci = (uint32_t)atoi(argv[3]);
	layer.rows = (uint32_t)atoi(argv[4]);
	layer.columns = (uint32_t)atoi(argv[5]);
	layer.co = (uint32_t)atoi(argv[6]);
	layer.build = build_of(dev);
	make_layer(&layer);
	prepare(&run, &layer);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		measure(dev, &run, &layer);
	cnnrt_device_close(dev);
	return 0;
}
