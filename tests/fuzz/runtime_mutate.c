/* SPDX-License-Identifier: MIT */
/*
 * runtime_mutate MODEL... [--exact MODEL...]: damages networks and puts what is left through the
 * whole library, down to the in-process device: a message or an answer, of the exact ones that of
 * the CPU.  Built with the address and undefined-behaviour sanitizers, which end the program at the
 * first fault; leaks fail it at the end.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cnnrt.h>

#include "hang.h"
#include "runtime_case.h"

#define CASE_SECONDS	120
#define RANDOM_CASES	10000	/* per network */
#define MAX_MEMORY	(64u << 20)
#define MAX_WORK	(1u << 24)
#define DEVICE		"sim:cores=ccp+hwpe"

struct world {
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	uint8_t *bytes, *copy;
	size_t size;
	bool exact;
	long answers, messages, mute, wrong;
};

/* FNV-1a of all outputs. */
static int hash_outputs(struct cnnrt_job *job, const struct cnnrt_program *program, uint64_t *hash,
			struct cnnrt_error *err)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	void *mem;
	int ret = CNNRT_OK;

	*hash = 0xcbf29ce484222325u;
	for (unsigned int i = 0; i < cnnrt_program_io_count(program, CNNRT_OUTPUT) && !ret; i++) {
		ret = cnnrt_job_map(job, CNNRT_OUTPUT, i, &info, &mem, err);
		for (size_t b = 0; !ret && b < info.size; b++)
			*hash = (*hash ^ ((uint8_t *)mem)[b]) * 0x100000001b3u;
	}
	return ret;
}

static int run(struct world *w, size_t size, bool cpu, uint64_t *hash, struct cnnrt_error *err)
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt),
		.cpu_only = cpu, .max_memory = MAX_MEMORY, .max_work = MAX_WORK,
	};
	struct cnnrt_model *model = NULL;
	struct cnnrt_program *program = NULL;
	struct cnnrt_job *job = NULL;
	int ret = cnnrt_model_load_buffer(w->copy, size, NULL, &model, err);

	if (!ret)
		ret = cnnrt_compile(model, w->dev, &opt, &program, err);
	if (!ret)
		ret = cnnrt_job_create(w->ctx, program, &job, err);
	if (!ret)
		ret = fuzz_fill_and_run(job, program, err);
	if (!ret)
		ret = hash_outputs(job, program, hash, err);
	cnnrt_job_free(job);
	cnnrt_program_free(program);
	cnnrt_model_free(model);
	return ret;
}

/* Does the CPU give another answer?  What is too much work for it alone it need not give. */
static bool is_wrong(struct world *w, size_t size, uint64_t hash)
{
	struct cnnrt_error err = { 0 };
	uint64_t want;
	int ret = run(w, size, true, &want, &err);

	return ret ? ret != CNNRT_ELIMIT : hash != want;
}

static void try_case(struct world *w, size_t size)
{
	struct cnnrt_error err = { 0 };
	uint64_t hash;

	alarm(CASE_SECONDS);
	if (!run(w, size, false, &hash, &err)) {
		w->answers++;
		if (w->exact && is_wrong(w, size, hash)) {
			printf("# %s", fuzz_where);
			w->wrong++;
		}
	} else if (err.code < 0 && *err.text) {
		w->messages++;
	} else {
		w->mute++;
	}
}

static void each_byte(struct world *w, const char *path)
{
	for (size_t i = 0; i < w->size; i++) {
		snprintf(fuzz_where, sizeof(fuzz_where), "%.80s byte %zu\n", path, i);
		w->copy[i] ^= (uint8_t)(1 + fuzz_number(255));
		try_case(w, w->size);
		w->copy[i] = w->bytes[i];
	}
}

static void at_random(struct world *w, const char *path)
{
	for (int n = 0; n < RANDOM_CASES; n++) {
		size_t size = fuzz_number(4) ? w->size : fuzz_number((uint32_t)w->size + 1);
		unsigned int changes = 1 + fuzz_number(8);

		snprintf(fuzz_where, sizeof(fuzz_where), "%.80s random %d\n", path, n);
		while (changes-- && size)
			w->copy[fuzz_number((uint32_t)size)] = (uint8_t)fuzz_number(256);
		try_case(w, size);
		memcpy(w->copy, w->bytes, w->size);
	}
}

/* Without a change it must have an answer. */
static bool mutate(const char *path, bool exact)
{
	struct cnnrt_error err = { 0 };
	struct world w = { .exact = exact };
	uint64_t hash;
	bool ok = !cnnrt_device_open(DEVICE, 0, &w.dev, &err) &&
		  !cnnrt_context_create(w.dev, CNNRT_PRIORITY_NORMAL, &w.ctx, &err) &&
		  fuzz_read(path, &w.bytes, &w.copy, &w.size) && !run(&w, w.size, false, &hash, &err);

	if (ok) {
		each_byte(&w, path);
		at_random(&w, path);
	}
	ok = ok && w.answers && w.messages && !w.mute && !w.wrong;
	printf("%sok - %s: %ld answers, %ld of them wrong, %ld messages%s%s\n", ok ? "" : "not ", path,
	       w.answers, w.wrong, w.messages, err.code ? ", " : "", err.text);
	cnnrt_context_destroy(w.ctx);
	cnnrt_device_close(w.dev);
	free(w.bytes);
	free(w.copy);
	return ok;
}

int main(int argc, char **argv)
{
	bool all = true, exact = false;
	int count = 0;

	fuzz_name_hangs();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--exact")) {
			exact = true;
			continue;
		}
		all = mutate(argv[i], exact) && all;
		count++;
	}
	printf("1..%d\n", count);
	return !all;
}
