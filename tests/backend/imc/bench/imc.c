/* SPDX-License-Identifier: MIT */
/*
 * bench-imc DEVICE KIND CI ROWS COLUMNS CO: a 3 x 3 convolution with stride 1 on core imc of the
 * default build, its sums copied to memory.  KIND is INT8, INT8-full (full reuse) or FP32.  The
 * input is [ROWS + 2][COLUMNS + 2][CI], padding included; the layer is cut into planes that fit the
 * banks, of which one runs while the next one is loaded and the one before is stored, and the
 * results of a plane are one after the other in memory.  The program does the whole layer,
 * transfers included, REPEATS times.  Prints "ready", then for every line on stdin runs it and
 * prints
 *
 *   MS planes=N cycles=N sum=N	the milliseconds, planes and cycles of one layer, a checksum of
 *				the results
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_imc.h>
#include <cnnrt.h>

#include "bench_layer.h"

#define REPEATS		16
#define KERNEL		3
#define CODE_VA		0xf0000000u
#define INPUT_VA	0x10000000u
#define WEIGHT_VA	0x20000000u
#define OUT_VA		0x40000000u
#define COMMANDS	1024
#define PAIR(low, high)	((uint32_t)(low) | (uint32_t)(high) << 16)

/** struct program - commands, with an END behind them. */
struct program {
	struct cnnacc_seq_command c[COMMANDS];
	unsigned int n;
};

/** struct layer - sizes of a layer, and of the planes it is cut into: result rows, channels. */
struct layer {
	uint32_t format, esz;
	bool full;
	uint32_t ci, rows, columns, co;
	uint32_t band, chunk, planes;
	struct program program;
};

/** struct plane - a part of the layer: its first result row and channel, how many. */
struct plane {
	uint32_t row, rows, channel, channels;
	uint32_t out;			/* byte of its first result */
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

#define EMIT(p, op, param, ...) \
	emit(p, (op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT, \
	     (const uint32_t[7]){ __VA_ARGS__ })

static void emit(struct program *p, uint32_t op, const uint32_t arg[7])
{
	bench_must(p->n < COMMANDS, "a layer takes too many commands");
	p->c[p->n].op = op;
	memcpy(p->c[p->n++].arg, arg, sizeof(p->c[0].arg));
}

/* ---- planes ---- */

static uint32_t row_bytes(const struct layer *l)
{
	return (l->columns + KERNEL - 1) * l->ci * l->esz;
}

static uint32_t channel_bytes(const struct layer *l)
{
	return KERNEL * KERNEL * l->ci * l->esz;
}

static uint32_t parts(uint32_t all, uint32_t part)
{
	return (all + part - 1) / part;
}

/* The size of a part if they are as few and as equal as @most allows. */
static uint32_t evenly(uint32_t all, uint32_t most)
{
	bench_must(most, "a channel or a row of results is too long");
	return parts(all, parts(all, most));
}

/* The fewest planes that the banks hold: all channels if they fit, then as many rows as do. */
static void cut(struct layer *l)
{
	uint32_t rows = CNNACC_IMC_INPUT_DEFAULT / row_bytes(l);

	bench_must(rows >= KERNEL, "a row is too long");
	l->chunk = evenly(l->co, CNNACC_IMC_WEIGHT_DEFAULT / channel_bytes(l));
	l->band = evenly(l->rows, least(rows - KERNEL + 1, CNNACC_IMC_UNIT_DEFAULT /
								   (l->columns * l->chunk * 4)));
	l->planes = parts(l->rows, l->band) * parts(l->co, l->chunk);
}

/* Plane @n: channels within a band of rows. */
static struct plane plane_at(const struct layer *l, uint32_t n)
{
	uint32_t chunks = parts(l->co, l->chunk);
	struct plane p = { .row = n / chunks * l->band, .channel = n % chunks * l->chunk };

	p.rows = least(l->band, l->rows - p.row);
	p.channels = least(l->chunk, l->co - p.channel);
	p.out = (p.row * l->co + p.rows * p.channel) * l->columns * 4;
	return p;
}

static void load(struct layer *l, uint32_t n)
{
	struct plane p = plane_at(l, n);
	uint32_t bank = n % 2;

	EMIT(&l->program, CNNACC_SEQ_COPY2D, CNNACC_IMC_INPUT0 + bank,
	     INPUT_VA + p.row * row_bytes(l), 0, 1, (p.rows + KERNEL - 1) * row_bytes(l));
	EMIT(&l->program, CNNACC_SEQ_COPY2D, CNNACC_IMC_WEIGHT0 + bank,
	     WEIGHT_VA + p.channel * channel_bytes(l), 0, 1, p.channels * channel_bytes(l));
}

static void conv(struct layer *l, uint32_t n)
{
	const uint32_t banks[] = {
		0, CNNACC_IMC_CONV_INPUT1 | CNNACC_IMC_CONV_WEIGHT1 | CNNACC_IMC_CONV_UNIT1,
	};
	struct plane p = plane_at(l, n);

	EMIT(&l->program, CNNACC_SEQ_EXEC, 0,
	     CNNACC_IMC_SETUP | KERNEL << CNNACC_IMC_SETUP_N_SHIFT |
	     l->format << CNNACC_IMC_SETUP_FORMAT_SHIFT | (l->full ? CNNACC_IMC_SETUP_FULL : 0),
	     PAIR(l->columns + KERNEL - 1, p.rows + KERNEL - 1), PAIR(l->ci, p.channels),
	     PAIR(l->ci, p.channels), (l->columns + KERNEL - 1) * l->ci, l->columns * p.channels);
	EMIT(&l->program, CNNACC_SEQ_EXEC, 0, CNNACC_IMC_CONV | banks[n % 2]);
}

static void store(struct layer *l, uint32_t n)
{
	struct plane p = plane_at(l, n);

	EMIT(&l->program, CNNACC_SEQ_COPY2D | CNNACC_SEQ_TO_MEMORY, CNNACC_IMC_UNIT0 + n % 2,
	     OUT_VA + p.out, 0, 1, p.rows * l->columns * p.channels * 4);
}

/* All planes, and all of that REPEATS times. */
static void write_program(struct layer *l)
{
	struct program *p = &l->program;

	EMIT(p, CNNACC_SEQ_LOOP, 0, REPEATS);
	load(l, 0);
	for (uint32_t n = 0; n < l->planes; n++) {
		conv(l, n);
		if (n + 1 < l->planes)
			load(l, n + 1);
		if (n)
			store(l, n - 1);
		EMIT(p, CNNACC_SEQ_WAIT, 0, CNNACC_IMC_WAIT_IDLE);
	}
	store(l, l->planes - 1);
	p->c[0].op |= (p->n - 1) << CNNACC_SEQ_PARAM_SHIFT;
	EMIT(p, CNNACC_SEQ_END, 0, 0);
}

/* ---- runs ---- */

/** struct data - of a layer in memory. */
struct data {
	size_t input_bytes, weight_bytes, out_bytes;
	uint8_t *input, *weights;
	uint32_t *out;
};

/* Bytes, or floats of similar size. */
static uint8_t *random_elements(size_t size, bool floats)
{
	uint8_t *bytes = bench_random_bytes(size);

	for (size_t i = 3; floats && i < size; i += 4)
		bytes[i] = (uint8_t)((bytes[i] & 0x80) | 0x3e);
	return bytes;
}

static struct data make_data(const struct layer *l)
{
	struct data d = {
		.input_bytes = (size_t)(l->rows + KERNEL - 1) * row_bytes(l),
		.weight_bytes = (size_t)l->co * channel_bytes(l),
		.out_bytes = (size_t)l->rows * l->columns * l->co * 4,
	};

	d.input = random_elements(d.input_bytes, l->esz == 4);
	d.weights = random_elements(d.weight_bytes, l->esz == 4);
	d.out = malloc(d.out_bytes);
	bench_must(d.out, "no memory");
	return d;
}

static void measure(struct cnnrt_device *dev, const struct layer *l, const struct data *d)
{
	struct cnnrt_range ranges[] = {
		{ .va = CODE_VA, .size = l->program.n * sizeof(l->program.c[0]), .flags = CNNRT_MAP_EXEC,
		  .in = l->program.c },
		{ .va = INPUT_VA, .size = d->input_bytes, .flags = CNNRT_MAP_READ, .in = d->input },
		{ .va = WEIGHT_VA, .size = d->weight_bytes, .flags = CNNRT_MAP_READ,
		  .in = d->weights },
		{ .va = OUT_VA, .size = d->out_bytes, .flags = CNNRT_MAP_WRITE, .out = d->out },
	};
	double start = bench_now_ms(), ms;
	struct cnnacc_stats stats;
	uint32_t sum = 0;

	stats = bench_exec(dev, ranges, sizeof(ranges) / sizeof(ranges[0]));
	ms = bench_now_ms() - start;
	for (size_t i = 0; i < d->out_bytes / 4; i++)
		sum = sum * 31 + d->out[i];
	printf("%.4f planes=%u cycles=%llu sum=%u\n", ms / REPEATS, l->planes,
	       (unsigned long long)stats.cycles / REPEATS, sum);
}

static bool set_kind(struct layer *l, const char *name)
{
	bool floats = !strcmp(name, "FP32");

	l->format = floats ? CNNACC_IMC_FP32 : CNNACC_IMC_INT8;
	l->esz = floats ? 4 : 1;
	l->full = !strcmp(name, "INT8-full");
	return floats || l->full || !strcmp(name, "INT8");
}

int main(int argc, char **argv)
{
	static struct layer layer;
	struct cnnrt_device *dev;
	struct data data;
	char line[16];

	if (argc != 7 || !set_kind(&layer, argv[2])) {
		fprintf(stderr, "usage: %s DEVICE INT8|INT8-full|FP32 CI ROWS COLUMNS CO\n",
			argv[0]);
		return 2;
	}
	layer.ci = (uint32_t)atoi(argv[3]);
	layer.rows = (uint32_t)atoi(argv[4]);
	layer.columns = (uint32_t)atoi(argv[5]);
	layer.co = (uint32_t)atoi(argv[6]);
	dev = bench_open(argv[1]);
	cut(&layer);
	write_program(&layer);
	data = make_data(&layer);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		measure(dev, &layer, &data);
	free(data.input);
	free(data.weights);
	free(data.out);
	cnnrt_device_close(dev);
	return 0;
}
