/* SPDX-License-Identifier: MIT */
/*
 * program_mutate MODEL...: compiles networks, damages the program files and loads and runs what is
 * left. A file whose checksum is wrong must be refused; one whose checksum was made to fit gives
 * a message or an answer. Built with the address and undefined-behaviour sanitizers, which
 * end the program at the first fault; leaks fail it at the end.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include <cnnrt.h>

#include "hang.h"
#include "runtime_case.h"

#define CASE_SECONDS	120
#define RANDOM_CASES	10000	/* per network, half of them with a good checksum */
#define MAX_MEMORY	(64u << 20)
#define MAX_WORK	(1u << 24)
/* So that a damaged program of a core ends soon. */
#define DEVICE		"sim:cores=ccp:job-cycles-max=4194304+hwpe:job-cycles-max=4194304"

/* As Documentation/user/runtime.rst has the header. */
#define AT_SIZE		16
#define AT_CRC		24
#define AT_DESCRIPTION	32
#define HEADER		64

struct world {
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	uint8_t *bytes, *copy;
	size_t size, description;	/* of the file, of that section */
	long answers, messages, mute, accepted;
};

static void count_op(const struct cnnrt_op_report *op, void *opaque)
{
	*(size_t *)opaque += strlen(op->op) + strlen(op->name) + strlen(op->fused) +
			     strlen(op->reason);
}

static int run(struct world *w, size_t size, struct cnnrt_error *err)
{
	struct cnnrt_load_options opt = {
		.struct_size = sizeof(opt), .max_memory = MAX_MEMORY, .max_work = MAX_WORK,
	};
	struct cnnrt_program *program = NULL;
	struct cnnrt_job *job = NULL;
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	size_t text = 0;
	int ret = cnnrt_program_load_buffer(w->copy, size, w->dev, &opt, &program, err);

	if (!ret) {
		cnnrt_program_explain(program, count_op, &text);
		ret = cnnrt_program_estimate(program, &est, err);
	}
	if (!ret)
		ret = cnnrt_job_create(w->ctx, program, &job, err);
	if (!ret)
		ret = fuzz_fill_and_run(job, program, err);
	cnnrt_job_free(job);
	cnnrt_program_free(program);
	return ret;
}

static void set_crc(uint8_t *file, size_t size)
{
	uint32_t crc;

	if (size < HEADER)
		return;
	memset(file + AT_CRC, 0, 4);
	crc = (uint32_t)crc32_z(0, file, size);
	memcpy(file + AT_CRC, &crc, 4);
}

static void try_case(struct world *w, size_t size, bool good_crc)
{
	struct cnnrt_error err = { 0 };
	uint64_t bytes = size;

	if (good_crc && size >= HEADER && fuzz_number(2))
		memcpy(w->copy + AT_SIZE, &bytes, 8);
	if (good_crc)
		set_crc(w->copy, size);
	alarm(CASE_SECONDS);
	if (!run(w, size, &err)) {
		w->answers++;
		/* Nothing may be accepted that is not what was written. */
		w->accepted += !good_crc && (size != w->size || memcmp(w->copy, w->bytes, size));
	} else if (err.code < 0 && *err.text) {
		w->messages++;
	} else {
		w->mute++;
	}
	memcpy(w->copy, w->bytes, w->size);
}

static void each_byte(struct world *w, const char *path)
{
	for (size_t i = 0; i < w->size; i++) {
		snprintf(fuzz_where, sizeof(fuzz_where), "%.80s byte %zu\n", path, i);
		w->copy[i] ^= (uint8_t)(1 + fuzz_number(255));
		try_case(w, w->size, false);
	}
	for (size_t i = 0; i < HEADER + w->description; i++) {
		snprintf(fuzz_where, sizeof(fuzz_where), "%.80s byte %zu, good checksum\n", path, i);
		w->copy[i] ^= (uint8_t)(1 + fuzz_number(255));
		try_case(w, w->size, true);
	}
}

/* Mostly numbers of the description, mostly ones that are nearly right. */
static void change(struct world *w, size_t size)
{
	static const int64_t odd[] = { 0, 1, -1, -2, 2, 64, 4096, INT32_MAX, INT32_MIN, INT64_MAX };
	size_t span = fuzz_number(8) ? HEADER + w->description : size, at;
	size_t width = fuzz_number(2) ? 4 : fuzz_number(2) ? 8 : 1;
	uint64_t v = 0;

	if (span > size)
		span = size;
	if (span < width)
		return;
	at = fuzz_number((uint32_t)(span - width + 1));
	memcpy(&v, w->copy + at, width);
	if (fuzz_number(2))
		v += fuzz_number(5) - (uint64_t)2;
	else if (fuzz_number(2))
		v = (uint64_t)odd[fuzz_number(sizeof(odd) / sizeof(odd[0]))];
	else
		v = (uint64_t)fuzz_number(UINT32_MAX) << 32 | fuzz_number(UINT32_MAX);
	memcpy(w->copy + at, &v, width);
}

static void at_random(struct world *w, const char *path)
{
	for (int n = 0; n < RANDOM_CASES; n++) {
		size_t size = fuzz_number(8) ? w->size : fuzz_number((uint32_t)w->size + 1);
		unsigned int changes = 1 + fuzz_number(4);

		snprintf(fuzz_where, sizeof(fuzz_where), "%.80s random %d\n", path, n);
		while (changes-- && size)
			change(w, size);
		try_case(w, size, n % 2);
	}
}

static bool compile(struct world *w, const char *path, struct cnnrt_error *err)
{
	char file[] = "/tmp/program_mutateXXXXXX";
	struct cnnrt_model *model = NULL;
	struct cnnrt_program *program = NULL;
	int fd = mkstemp(file);
	bool ok = fd >= 0 && !cnnrt_model_load(path, &model, err) &&
		  !cnnrt_compile(model, w->dev, NULL, &program, err) &&
		  !cnnrt_program_save(program, file, err) && fuzz_read(file, &w->bytes, &w->copy, &w->size);

	if (fd >= 0) {
		close(fd);
		unlink(file);
	}
	cnnrt_program_free(program);
	cnnrt_model_free(model);
	if (ok)
		memcpy(&w->description, w->bytes + AT_DESCRIPTION, 8);
	return ok && w->description < w->size;
}

int main(int argc, char **argv)
{
	struct cnnrt_error err = { 0 };
	bool all = true;

	fuzz_name_hangs();
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		struct world w = { 0 };
		bool ok = !cnnrt_device_open(DEVICE, 0, &w.dev, &err) &&
			  !cnnrt_context_create(w.dev, CNNRT_PRIORITY_NORMAL, &w.ctx, &err) &&
			  compile(&w, argv[i], &err) && !run(&w, w.size, &err);

		if (ok) {
			each_byte(&w, argv[i]);
			at_random(&w, argv[i]);
		}
		ok = ok && w.answers && w.messages && !w.mute && !w.accepted;
		printf("%sok %d - %s: %ld answers, %ld messages, %ld damaged files accepted%s%s\n",
		       ok ? "" : "not ", i, argv[i], w.answers, w.messages, w.accepted,
		       err.code ? ", " : "", err.text);
		all = all && ok;
		cnnrt_context_destroy(w.ctx);
		cnnrt_device_close(w.dev);
		free(w.bytes);
		free(w.copy);
	}
	return !all;
}
