/* SPDX-License-Identifier: MIT */
/*
 * bench-hwpe DEVICE TYPE CI ROWS COLUMNS CO: a 3 x 3 convolution with padding 1 and stride 1 on
 * core hwpe, an inner layer, of elements of TYPE (INT8, UINT8, EXP4, TER2), its sums drained to
 * memory.  The program does the whole layer, transfers included, REPEATS times.  Prints "ready",
 * then for every line on stdin runs it and prints
 *
 *   MS words=N sum=N	the milliseconds of one layer, the 64-bit words that each of the eight rows
 *			takes in it, a checksum of the results
 *
 * bench-hwpe DEVICE utilisation: prints NAME USEFUL SLOTS, what the device counts, for every
 * configuration whose utilisation the core's specification publishes.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_hwpe.h>
#include <cnnrt.h>

#include "bench_layer.h"

#define REPEATS		16
#define KERNEL		3
#define CODE_VA		0xf0000000u
#define FMAP_VA		0x10000000u	/* as large for both halves */
#define KERNEL_VA	0x20000000u
#define OUT_VA		0x40000000u
#define COMMANDS	64
#define WINDOW_BYTES	(CNNACC_HWPE_ACCS * CNNACC_HWPE_PES * 4)
#define XS12		(CNNACC_HWPE_XS1 | CNNACC_HWPE_XS2)

/** struct program - commands, with an END behind them. */
struct program {
	struct cnnacc_seq_command c[COMMANDS];
	unsigned int n;
};

/** struct task - a MatrixMac and what it takes. */
struct task {
	uint32_t type, kernel;
	uint32_t flags;			/* CNNACC_HWPE_CFG_INPUT, _333 */
	uint32_t words;			/* left words of a column */
	uint32_t offset;		/* bytes from a column to the next */
	uint32_t w, h, k;		/* counts */
	uint32_t w_stride, h_stride;
	uint32_t part, odd;		/* bytes between the bases of an SRAM, to the first of SRAM2 */
	uint32_t drained;		/* AccRegs of a window */
};

#define EMIT(p, op, param, ...) \
	emit(p, (op) | (uint32_t)(param) << CNNACC_SEQ_PARAM_SHIFT, \
	     (const uint32_t[7]){ __VA_ARGS__ })

static void emit(struct program *p, uint32_t op, const uint32_t arg[7])
{
	if (p->n == COMMANDS) {
		fputs("bench-hwpe: a layer takes too many commands\n", stderr);
		exit(1);
	}
	p->c[p->n].op = op;
	memcpy(p->c[p->n++].arg, arg, sizeof(p->c[0].arg));
}

static void load(struct program *p, uint32_t memory, uint32_t va, uint32_t bytes)
{
	EMIT(p, CNNACC_SEQ_COPY2D, memory, va, 0, 1, bytes);
}

static void exec(struct program *p, uint32_t funct, uint32_t rd, uint32_t first, uint32_t second)
{
	EMIT(p, CNNACC_SEQ_EXEC, 0, CNNACC_HWPE_INSN(funct, XS12, rd, 0, 0), 0, 0, 0, first, second);
}

static uint32_t rounds_of(const struct task *t)
{
	return t->flags & CNNACC_HWPE_CFG_333 ? 4 : t->kernel * t->words;
}

static uint32_t windows_of(const struct task *t)
{
	return t->w * t->h * t->k;
}

/* The task with what its windows write from @va on, one after the other. */
static void emit_task(struct program *p, const struct task *t, uint32_t va)
{
	for (uint32_t i = 0; i < 8; i += 2)
		exec(p, CNNACC_HWPE_WRITE_FMAP_ADDR, i, i / 2 * t->part,
		     CNNACC_HWPE_SRAM2 + i / 2 * t->part + t->odd);
	exec(p, CNNACC_HWPE_WRITE_CFG, 0, t->offset << 16 | t->words,
	     t->kernel | t->type << CNNACC_HWPE_CFG_TYPE_SHIFT | t->flags |
	     t->k << CNNACC_HWPE_CFG_K_SHIFT);
	exec(p, CNNACC_HWPE_MATRIX_MAC, 0, t->w << 16 | t->h, t->w_stride << 16 | t->h_stride);
	EMIT(p, CNNACC_SEQ_LOOP, 2, windows_of(t), CNNACC_SEQ_STEP(1, 0, 0), WINDOW_BYTES);
	EMIT(p, CNNACC_SEQ_WAIT, 0, CNNACC_HWPE_WAIT_ROUND);
	EMIT(p, CNNACC_SEQ_DRAIN | CNNACC_SEQ_RESUME, t->drained, va, 0, 0, 0, WINDOW_BYTES / 8);
}

static void finish(struct program *p)
{
	EMIT(p, CNNACC_SEQ_END, 0, 0);
}

/* ---- a layer ---- */

/** struct layer - a layer as tasks, which differ in their kernels alone. */
struct layer {
	struct task task;		/* of as many kernels as the kernel memory holds */
	uint32_t groups;		/* of 16 kernels, in all */
	uint32_t fmap, kernel, out;	/* bytes of a half, of all kernels, of the results */
	struct program program;
};

static uint32_t bits_of(uint32_t type)
{
	return type == CNNACC_HWPE_TER2 ? 2 : type == CNNACC_HWPE_EXP4 ? 4 : 8;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The eight rows of a window are four parts of rows of the plane in two halves of its columns, one
 * in each SRAM, or eight parts of rows, of which both have all, whichever takes fewer windows.
 * What the plane is short of that is computed all the same.
 */
static void place(struct task *t, uint32_t pixel, uint32_t rows, uint32_t columns)
{
	uint32_t half = (columns + 1) / 2, h4 = (rows + 3) / 4, h8 = (rows + 7) / 8;
	bool halves = half * h4 <= columns * h8;

	t->w = halves ? half : columns;
	t->h = halves ? h4 : h8;
	t->offset = ((halves ? 4 : 8) * t->h + KERNEL - 1) * pixel;
	t->w_stride = t->offset;
	t->h_stride = pixel;
	t->part = (halves ? 1 : 2) * t->h * pixel;
	t->odd = halves ? 0 : t->h * pixel;
}

static void make_layer(struct layer *l, uint32_t type, uint32_t ci, uint32_t rows,
		       uint32_t columns, uint32_t co)
{
	uint32_t pixel = ci * bits_of(type) / 8, window = WINDOW_BYTES, group, first;
	struct task *t = &l->task;

	*t = (struct task){
		.type = type, .kernel = KERNEL, .words = KERNEL * pixel / 8,
		.drained = CNNACC_HWPE_ACCS,
	};
	place(t, pixel, rows, columns);
	group = rounds_of(t) * CNNACC_HWPE_ROUND_BYTES;
	l->groups = co / CNNACC_HWPE_PES;
	l->fmap = (t->w + KERNEL - 1) * t->offset;
	l->kernel = l->groups * group;
	l->out = t->w * t->h * l->groups * window;
	load(&l->program, CNNACC_HWPE_FMAP0, FMAP_VA, l->fmap);
	load(&l->program, CNNACC_HWPE_FMAP1, FMAP_VA + l->fmap, l->fmap);
	for (first = 0; first < l->groups; first += t->k) {
		t->k = least(CNNACC_HWPE_KERNEL_DEFAULT / group, l->groups - first);
		load(&l->program, CNNACC_HWPE_KERNEL, KERNEL_VA + first * group, t->k * group);
		emit_task(&l->program, t, OUT_VA + first * t->w * t->h * window);
	}
}

/* All of it REPEATS times. */
static void repeat(struct program *p)
{
	memmove(p->c + 1, p->c, p->n * sizeof(p->c[0]));
	p->c[0] = (struct cnnacc_seq_command){
		.op = CNNACC_SEQ_LOOP | p->n << CNNACC_SEQ_PARAM_SHIFT, .arg = { REPEATS },
	};
	p->n++;
	finish(p);
}

/* Codes without those that a type has not. */
static uint8_t *random_codes(size_t size, uint32_t type)
{
	uint8_t *bytes = bench_random_bytes(size);

	for (size_t i = 0; type == CNNACC_HWPE_TER2 && i < size; i++)
		bytes[i] |= bytes[i] >> 1 & 0x55;
	return bytes;
}

static void measure(struct cnnrt_device *dev, struct layer *l)
{
	uint8_t *maps = random_codes(2 * (size_t)l->fmap, l->task.type);
	uint8_t *kernels = random_codes(l->kernel, l->task.type);
	uint32_t *out = malloc(l->out), sum = 0;
	struct cnnrt_range ranges[] = {
		{ .va = CODE_VA, .size = l->program.n * sizeof(l->program.c[0]), .flags = CNNRT_MAP_EXEC,
		  .in = l->program.c },
		{ .va = FMAP_VA, .size = 2 * (uint64_t)l->fmap, .flags = CNNRT_MAP_READ, .in = maps },
		{ .va = KERNEL_VA, .size = l->kernel, .flags = CNNRT_MAP_READ, .in = kernels },
		{ .va = OUT_VA, .size = l->out, .flags = CNNRT_MAP_WRITE, .out = out },
	};
	double start = bench_now_ms(), ms;

	bench_must(out, "no memory");
	bench_exec(dev, ranges, sizeof(ranges) / sizeof(ranges[0]));
	ms = bench_now_ms() - start;
	for (uint32_t i = 0; i < l->out / 4; i++)
		sum = sum * 31 + out[i];
	printf("%.4f words=%u sum=%u\n", ms / REPEATS,
	       l->task.w * l->task.h * l->groups * rounds_of(&l->task), sum);
	free(maps);
	free(kernels);
	free(out);
}

/* ---- utilisation ---- */

#define CONFIG(name_, kernel_, flags_, words_, drained_) { \
	.name = name_, \
	.task = { \
		.type = CNNACC_HWPE_INT8, .kernel = kernel_, .flags = flags_, .words = words_, \
		.w = 2, .h = 2, .k = 2, .w_stride = 64, .h_stride = 8, .offset = 256, \
		.drained = drained_, \
	}, \
}

static void utilisation(struct cnnrt_device *dev)
{
	const uint32_t input = CNNACC_HWPE_CFG_INPUT, special = input | CNNACC_HWPE_CFG_333;
	const struct {
		const char *name;
		struct task task;
	} configs[] = {
		CONFIG("inner", 3, 0, 24, 8), CONFIG("3x3x3", 3, special, 0, 8),
		CONFIG("5x5x3", 5, input, 2, 8), CONFIG("7x7x3", 7, input, 3, 8),
		CONFIG("11x11x3", 11, input, 5, 8), CONFIG("fc1", 1, 0, 128, 1),
		CONFIG("fc8", 1, 0, 128, 8),
	};

	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		const struct task *t = &configs[i].task;
		struct program p = { .n = 0 };
		struct cnnrt_range ranges[2] = {
			{ .va = CODE_VA, .flags = CNNRT_MAP_EXEC, .in = p.c },
			{ .va = OUT_VA, .size = (uint64_t)windows_of(t) * WINDOW_BYTES,
			  .flags = CNNRT_MAP_WRITE },
		};
		struct cnnacc_stats stats;

		emit_task(&p, t, OUT_VA);
		finish(&p);
		ranges[0].size = p.n * sizeof(p.c[0]);
		stats = bench_exec(dev, ranges, 2);
		printf("%s %llu %llu\n", configs[i].name, (unsigned long long)stats.mac_useful,
		       (unsigned long long)stats.mac_slots);
	}
}

static int type_of(const char *name)
{
	static const char *const names[] = {
		[CNNACC_HWPE_UINT8] = "UINT8", [CNNACC_HWPE_TER2] = "TER2",
		[CNNACC_HWPE_EXP4] = "EXP4", [CNNACC_HWPE_INT8] = "INT8",
	};

	for (int i = 0; i < 4; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	struct layer layer = { .groups = 0 };
	struct cnnrt_device *dev;
	char line[16];

	if (!(argc == 3 && !strcmp(argv[2], "utilisation")) && !(argc == 7 && type_of(argv[2]) >= 0)) {
		fprintf(stderr, "usage: %s DEVICE utilisation | DEVICE TYPE CI ROWS COLUMNS CO\n", argv[0]);
		return 2;
	}
	dev = bench_open(argv[1]);
	if (argc == 3) {
		utilisation(dev);
	} else {
		make_layer(&layer, (uint32_t)type_of(argv[2]), (uint32_t)atoi(argv[3]),
			   (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6]));
		repeat(&layer.program);
		setvbuf(stdout, NULL, _IOLBF, 0);
		puts("ready");
		while (fgets(line, sizeof(line), stdin))
			measure(dev, &layer);
	}
	cnnrt_device_close(dev);
	return 0;
}
