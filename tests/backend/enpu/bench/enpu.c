/* SPDX-License-Identifier: MIT */
/*
 * bench-enpu DEVICE CI ROWS COLUMNS CO KERNEL: a convolution with stride 1 and the padding that
 * keeps the size, on core enpu.  The program does the whole layer, transfers included, REPEATS
 * times.  Prints "ready", then for every line on stdin runs it and prints
 *
 *   MS clocks=N sum=N	the milliseconds of one layer, the device's clocks of it, a checksum of the
 *			results
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_enpu.h>
#include <cnnrt.h>

#include "bench_layer.h"

#define REPEATS		16
#define CODE_VA		0xf0000000u
#define INSN_VA		0x10000000u
#define RECORD_VA	0x11000000u
#define IN_VA		0x20000000u
#define WEIGHT_VA	0x30000000u
#define OUT_VA		0x40000000u
#define COMMANDS	16
#define LANES		CNNACC_ENPU_PES

/** struct program - commands, with an END behind them. */
struct program {
	struct cnnacc_seq_command c[COMMANDS];
	unsigned int n;
};

/** struct layer - a layer, its tile, and the bytes of its tensors. */
struct layer {
	uint32_t ci, rows, columns, co, kernel;
	uint32_t y, x;
	uint32_t in, weights, out;
	struct cnnacc_enpu_insn insn[2];
	struct cnnacc_enpu_record record[2];
	struct program program;
};

#define EMIT(p, op, param, ...) \
	emit(p, (op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT, \
	     (const uint32_t[7]){ __VA_ARGS__ })

static void emit(struct program *p, uint32_t op, const uint32_t arg[7])
{
	p->c[p->n].op = op;
	memcpy(p->c[p->n++].arg, arg, sizeof(p->c[0].arg));
}

static void load(struct program *p, uint32_t memory, uint32_t va, uint32_t bytes)
{
	EMIT(p, CNNACC_SEQ_COPY2D, memory, va, 0, 1, bytes);
}

/* Of the tiles that the pads allow the one that has most pixels, then fewest points. */
static void choose_tile(struct layer *l)
{
	uint32_t best = 0, groups = l->co / LANES;

	for (uint32_t y = 1; y <= l->rows; y++)
		for (uint32_t x = 1; x <= l->columns; x++) {
			uint32_t points = (y + l->kernel - 1) * (x + l->kernel - 1);
			uint32_t score = y * x * 64 + (64 - points);
			bool exact = l->rows % y == 0 && l->columns % x == 0;

			if (!exact || points > CNNACC_ENPU_IFMAP_PAD ||
			    y * x * groups > CNNACC_ENPU_PSUMS || score <= best)
				continue;
			best = score;
			l->y = y;
			l->x = x;
		}
}

static void make_layer(struct layer *l)
{
	uint32_t pad = (l->kernel - 1) / 2, pixels = l->rows * l->columns;
	uint32_t in_y, in_x;

	choose_tile(l);
	in_y = l->y + l->kernel - 1;
	in_x = l->x + l->kernel - 1;
	l->in = pixels * l->ci;
	l->out = pixels * l->co;
	l->weights = l->kernel * l->kernel * l->ci * l->co;
	l->insn[0] = (struct cnnacc_enpu_insn){
		CNNACC_ENPU_WORD0(CNNACC_ENPU_CONV, 1, 1, pad, pad, 0, 0),
		CNNACC_ENPU_WORD1(l->y, l->x, in_y, in_x, l->kernel),
		CNNACC_ENPU_WORD2(l->kernel, l->rows, l->columns, l->co),
		CNNACC_ENPU_WORD3(l->ci, l->co / LANES),
	};
	l->insn[1].word0 = CNNACC_ENPU_STOP;
	l->record[0] = (struct cnnacc_enpu_record){
		.in_size = l->rows | l->columns << 16, .out = l->in / LANES, .shift = 12,
	};
}

static void make_program(struct layer *l)
{
	struct program *p = &l->program;

	EMIT(p, CNNACC_SEQ_LOOP, 7, REPEATS);
	load(p, CNNACC_ENPU_ITCM, INSN_VA, sizeof(l->insn));
	load(p, CNNACC_ENPU_TABLE, RECORD_VA, sizeof(l->record));
	load(p, CNNACC_ENPU_WORK, IN_VA, l->in);
	load(p, CNNACC_ENPU_WEIGHT, WEIGHT_VA, l->weights);
	EMIT(p, CNNACC_SEQ_EXEC, 0, CNNACC_ENPU_RUN);
	EMIT(p, CNNACC_SEQ_WAIT, 0, CNNACC_ENPU_WAIT_IDLE);
	EMIT(p, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, CNNACC_ENPU_WORK, OUT_VA, l->in, 1,
	     l->out);
	EMIT(p, CNNACC_SEQ_END, 0, 0);
}

static void measure(struct cnnrt_device *dev, const struct layer *l)
{
	uint8_t *in = bench_random_bytes(l->in), *weights = bench_random_bytes(l->weights);
	uint8_t *out = bench_random_bytes(l->out);
	struct cnnrt_range ranges[] = {
		{ .va = CODE_VA, .size = l->program.n * sizeof(l->program.c[0]), .flags = CNNRT_MAP_EXEC,
		  .in = l->program.c },
		{ .va = INSN_VA, .size = sizeof(l->insn), .flags = CNNRT_MAP_READ, .in = l->insn },
		{ .va = RECORD_VA, .size = sizeof(l->record), .flags = CNNRT_MAP_READ,
		  .in = l->record },
		{ .va = IN_VA, .size = l->in, .flags = CNNRT_MAP_READ, .in = in },
		{ .va = WEIGHT_VA, .size = l->weights, .flags = CNNRT_MAP_READ, .in = weights },
		{ .va = OUT_VA, .size = l->out, .flags = CNNRT_MAP_WRITE, .out = out },
	};
	double start = bench_now_ms(), ms;
	struct cnnacc_stats stats;
	uint32_t sum = 0;

	stats = bench_exec(dev, ranges, sizeof(ranges) / sizeof(ranges[0]));
	ms = bench_now_ms() - start;
	for (uint32_t i = 0; i < l->out; i++)
		sum = sum * 31 + out[i];
	printf("%.4f clocks=%llu sum=%u\n", ms / REPEATS,
	       (unsigned long long)stats.cycles / REPEATS, sum);
	free(in);
	free(weights);
	free(out);
}

int main(int argc, char **argv)
{
	struct cnnrt_device *dev;
	struct layer l = { 0 };
	char line[16];

	if (argc != 7) {
		fprintf(stderr, "usage: %s DEVICE CI ROWS COLUMNS CO KERNEL\n", argv[0]);
		return 2;
	}
	l.ci = (uint32_t)atoi(argv[2]);
	l.rows = (uint32_t)atoi(argv[3]);
	l.columns = (uint32_t)atoi(argv[4]);
	l.co = (uint32_t)atoi(argv[5]);
	l.kernel = (uint32_t)atoi(argv[6]);
	make_layer(&l);
	make_program(&l);
	dev = bench_open(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		measure(dev, &l);
	cnnrt_device_close(dev);
	return 0;
}
