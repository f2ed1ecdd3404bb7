/* SPDX-License-Identifier: MIT */
/*
 * quant_mutate FLOATS.tflite: damages a network of floats, its samples or its labels, and gives
 * what is left to cnnquant: a message, or a network that runs. Built with the address and
 * undefined-behaviour sanitizers, which end the program at the first fault; leaks fail it at the
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/import.h"
#include "ir/graph.h"
#include "passes/passes.h"
#include "hang.h"
#include "onnx_build.h"
#include "runtime_case.h"

#define CASE_SECONDS	120
#define CASES		400	/* per network */
#define SAMPLES		3
#define MAX_WORK	(1 << 20)
#define MAX_BYTES	(1 << 20)

/* The tool's main(). */
int cnnquant_main(int argc, char **argv);

enum { MODEL, INPUTS, LABELS, READ, OUT = READ, ANSWERS, FILES };

struct file {
	uint8_t *bytes;
	size_t size;
	int fd;
	char path[32];
};

struct world {
	struct file file[FILES];
	FILE *tap;
	long networks, messages, skipped;
};

static void store(const struct file *f, const void *bytes, size_t size)
{
	if (ftruncate(f->fd, 0) || pwrite(f->fd, bytes, size, 0) != (ssize_t)size)
		abort();
}

static void open_files(struct world *w)
{
	for (int i = 0; i < FILES; i++) {
		w->file[i].fd = memfd_create("file", 0);
		snprintf(w->file[i].path, sizeof(w->file[i].path), "/proc/self/fd/%d",
			 w->file[i].fd);
		store(&w->file[i], w->file[i].bytes, w->file[i].size);
	}
}

static void close_files(struct world *w)
{
	for (int i = 0; i < FILES; i++) {
		close(w->file[i].fd);
		free(w->file[i].bytes);
	}
}

/* A .npy file of a type, "<f4" or "|u1", whose elements follow from the generator. */
static void make_array(struct file *f, const char *type, const char *shape, size_t count)
{
	size_t width = (size_t)(type[2] - '0');
	int n;

	f->bytes = malloc(128 + count * width);
	if (!f->bytes)
		abort();
	n = sprintf((char *)f->bytes + 10, "{'descr': '%s', 'fortran_order': False, "
		    "'shape': (%s), }\n", type, shape);
	memcpy(f->bytes, "\x93NUMPY\1\0", 8);
	f->bytes[8] = (uint8_t)n;
	f->bytes[9] = 0;
	f->size = 10 + (size_t)n + count * width;
	for (size_t i = 0; i < count; i++) {
		float v = (float)fuzz_number(2001) / 1000 - 1;

		if (width == 1)
			f->bytes[10 + (size_t)n + i] = (uint8_t)(i % 2);
		else
			memcpy(f->bytes + 10 + n + 4 * i, &v, sizeof(v));
	}
}

/* The tool has no limits but those of memory, and work that damage makes says nothing of it. */
static bool is_small(const uint8_t *bytes, size_t size)
{
	struct cnn_graph *g;
	struct cnn_err err;
	int ret = cnn_graph_import(bytes, size, -1, &g, &err);

	if (ret)
		return true;
	g->limits = (struct cnn_limits){ MAX_BYTES, 4 * MAX_BYTES, MAX_WORK, MAX_WORK };
	ret = cnn_graph_infer(g, &err);
	cnn_graph_free(g);
	return ret != CNN_ELIMIT;
}

/* The tool's status, and whether it said something. */
static int quantize(struct world *w, const char *format, bool *said)
{
	char *argv[] = {
		"cnnquant", w->file[MODEL].path, "-o", w->file[OUT].path, "--format",
		(char *)format, "--samples", w->file[INPUTS].path, "--count", "2", "--test",
		w->file[INPUTS].path, "--labels", w->file[LABELS].path, "--answers",
		w->file[ANSWERS].path, NULL
	};
	FILE *real = stderr;
	char *text = NULL;
	size_t size = 0;
	int status;

	stderr = open_memstream(&text, &size);
	if (!stderr)
		abort();
	status = cnnquant_main((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv);
	fclose(stderr);
	stderr = real;
	*said = size > strlen("cnnquant: ");
	free(text);
	return status;
}

static void damage(uint8_t *bytes, size_t size)
{
	static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (uint32_t n = 1 + fuzz_number(4); n && size; n--)
		bytes[fuzz_number((uint32_t)size)] = fuzz_number(2) ? nasty[fuzz_number(5)] :
						     (uint8_t)fuzz_number(256);
}

/* One of the files that are read, damaged and perhaps cut off; as it was in case 0. */
static bool try_case(struct world *w, int number)
{
	static const char *const formats[] = { "EXP4", "TER2", "INT8" };
	struct file *f = &w->file[number % 4 ? MODEL : 1 + fuzz_number(READ - 1)];
	size_t size = fuzz_number(8) ? f->size : fuzz_number((uint32_t)f->size);
	uint8_t *copy = malloc(f->size);
	bool ok = true, said;
	int status;

	if (!copy)
		abort();
	memcpy(copy, f->bytes, f->size);
	if (number)
		damage(copy, size);
	if (f == &w->file[MODEL] && !is_small(copy, size)) {
		w->skipped++;
	} else {
		store(f, copy, number ? size : f->size);
		status = quantize(w, formats[number % 3], &said);
		ok = status ? status == 1 && said && number : !said;
		w->networks += !status;
		w->messages += status != 0;
		store(f, f->bytes, f->size);
	}
	free(copy);
	return ok;
}

static bool mutate(struct world *w, const char *name)
{
	bool ok = true;

	open_files(w);
	for (int i = 0; i < CASES && ok; i++) {
		snprintf(fuzz_where, sizeof(fuzz_where), "%s, case %d", name, i);
		alarm(CASE_SECONDS);
		ok = try_case(w, i);
	}
	alarm(0);
	close_files(w);
	ok = ok && w->networks && w->messages;
	fprintf(w->tap, "%sok - %s: %ld networks, %ld messages, %ld too large\n", ok ? "" : "not ",
		ok ? name : fuzz_where, w->networks, w->messages, w->skipped);
	return ok;
}

int main(int argc, char **argv)
{
	struct onnx_build *b = ob_network(0);
	struct world onnx = { .tap = stdout }, tflite = { .tap = stdout };
	uint8_t *copy;
	bool ok;

	stdout = fopen("/dev/null", "w");
	if (!stdout || argc != 2 || !fuzz_read(argv[1], &tflite.file[MODEL].bytes, &copy,
					      &tflite.file[MODEL].size))
		return 1;
	free(copy);
	fuzz_name_hangs();
	onnx.file[MODEL].bytes = ob_pack(b, &onnx.file[MODEL].size);
	ob_free(b);
	make_array(&onnx.file[INPUTS], "<f4", "3, 2, 6, 7", SAMPLES * 2 * 6 * 7);
	make_array(&tflite.file[INPUTS], "<f4", "3, 4, 4, 2", SAMPLES * 4 * 4 * 2);
	make_array(&onnx.file[LABELS], "|u1", "3,", SAMPLES);
	make_array(&tflite.file[LABELS], "|u1", "3,", SAMPLES);
	fprintf(onnx.tap, "1..2\n");
	ok = mutate(&onnx, "ONNX");
	ok = mutate(&tflite, "TensorFlow Lite") && ok;
	fclose(stdout);
	return !ok;
}
