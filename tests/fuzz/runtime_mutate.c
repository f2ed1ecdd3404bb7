/* SPDX-License-Identifier: MIT */
/*
 * runtime_mutate MODEL...: damages networks and puts what is left through the whole library, down
 * to the in-process device: a message or an answer.  Built with the address and
 * undefined-behaviour sanitizers, which end the program at the first fault; leaks fail it
 * at the end.
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

#define CASE_SECONDS	20
#define RANDOM_CASES	10000	/* per network */
#define MAX_MEMORY	(64u << 20)
#define MAX_WORK	(1u << 24)

struct world {
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	uint8_t *bytes, *copy;
	size_t size;
	long answers, messages, mute;
};

static int run(struct world *w, size_t size, struct cnnrt_error *err)
{
	struct cnnrt_compile_options opt = { .max_memory = MAX_MEMORY, .max_work = MAX_WORK };
	struct cnnrt_model *model = NULL;
	struct cnnrt_program *program = NULL;
	struct cnnrt_job *job = NULL;
	int ret = cnnrt_model_load_buffer(w->copy, size, &model, err);

	if (!ret)
		ret = cnnrt_compile(model, w->dev, &opt, &program, err);
	if (!ret)
		ret = cnnrt_job_create(w->ctx, program, &job, err);
	if (!ret)
		ret = fuzz_fill_and_run(job, program, err);
	cnnrt_job_free(job);
	cnnrt_program_free(program);
	cnnrt_model_free(model);
	return ret;
}

static void try_case(struct world *w, size_t size)
{
	struct cnnrt_error err = { 0 };

	alarm(CASE_SECONDS);
	if (!run(w, size, &err))
		w->answers++;
	else if (err.code < 0 && *err.text)
		w->messages++;
	else
		w->mute++;
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

int main(int argc, char **argv)
{
	struct cnnrt_error err = { 0 };
	bool all = true;

	fuzz_name_hangs();
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		struct world w = { 0 };
		bool ok = !cnnrt_device_open("sim", 0, &w.dev, &err) &&
			  !cnnrt_context_create(w.dev, CNNRT_PRIORITY_NORMAL, &w.ctx, &err) &&
			  fuzz_read(argv[i], &w.bytes, &w.copy, &w.size) && !run(&w, w.size, &err);

		if (ok) {
			each_byte(&w, argv[i]);
			at_random(&w, argv[i]);
		}
		ok = ok && w.answers && w.messages && !w.mute;
		printf("%sok %d - %s: %ld answers, %ld messages%s%s\n", ok ? "" : "not ", i,
		       argv[i], w.answers, w.messages, err.code ? ", " : "", err.text);
		all = all && ok;
		cnnrt_context_destroy(w.ctx);
		cnnrt_device_close(w.dev);
		free(w.bytes);
		free(w.copy);
	}
	return !all;
}
