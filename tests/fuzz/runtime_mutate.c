/* SPDX-License-Identifier: MIT */
/*
 * runtime_mutate MODEL...: damages networks and puts what is left through the whole library, down
 * to the in-process device: a message or an answer.  Built with the address and
 * undefined-behaviour sanitizers, which end the program at the first fault; leaks fail it
 * at the end.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cnnrt.h>

#define CASE_SECONDS	20
#define RANDOM_CASES	10000	/* per network */
#define MAX_MEMORY	(64u << 20)
#define MAX_WORK	(1u << 24)

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:detect_leaks=1:hard_rss_limit_mb=4096";
}

static char where[128];		/* for the alarm handler */

static void too_slow(int sig)
{
	static const char text[] = "not ok - hangs: ";

	(void)sig;
	if (write(1, text, sizeof(text) - 1) < 0 || write(1, where, strlen(where)) < 0)
		_exit(3);
	_exit(2);
}

static uint64_t seed = 88172645463325252u;

static uint32_t number(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % below;
}

struct world {
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	uint8_t *bytes, *copy;
	size_t size;
	long answers, messages, mute;
};

static int fill_and_run(struct cnnrt_job *job, const struct cnnrt_program *p,
			struct cnnrt_error *err)
{
	struct cnnrt_tensor_info info;
	void *mem;
	int ret = CNNRT_OK;

	for (unsigned int i = 0; i < cnnrt_program_io_count(p, CNNRT_INPUT) && !ret; i++) {
		ret = cnnrt_job_map(job, CNNRT_INPUT, i, &info, &mem, err);
		for (size_t b = 0; !ret && b < info.size; b++)
			((uint8_t *)mem)[b] = (uint8_t)(b * 5) & 0x3f;
	}
	if (!ret)
		ret = cnnrt_job_submit(job, -1, NULL, err);
	return ret ? ret : cnnrt_job_wait(job, -1, err);
}

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
		ret = fill_and_run(job, program, err);
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
		snprintf(where, sizeof(where), "%.80s byte %zu\n", path, i);
		w->copy[i] ^= (uint8_t)(1 + number(255));
		try_case(w, w->size);
		w->copy[i] = w->bytes[i];
	}
}

static void at_random(struct world *w, const char *path)
{
	for (int n = 0; n < RANDOM_CASES; n++) {
		size_t size = number(4) ? w->size : number((uint32_t)w->size + 1);
		unsigned int changes = 1 + number(8);

		snprintf(where, sizeof(where), "%.80s random %d\n", path, n);
		while (changes-- && size)
			w->copy[number((uint32_t)size)] = (uint8_t)number(256);
		try_case(w, size);
		memcpy(w->copy, w->bytes, w->size);
	}
}

static bool read_model(struct world *w, const char *path)
{
	FILE *f = fopen(path, "rb");
	long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	bool ok = false;

	if (size > 0) {
		rewind(f);
		w->size = (size_t)size;
		w->bytes = malloc(w->size);
		w->copy = malloc(w->size);
		ok = w->bytes && w->copy && fread(w->bytes, 1, w->size, f) == w->size;
		if (ok)
			memcpy(w->copy, w->bytes, w->size);
	}
	if (f)
		fclose(f);
	return ok;
}

int main(int argc, char **argv)
{
	struct cnnrt_error err = { 0 };
	bool all = true;

	signal(SIGALRM, too_slow);
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		struct world w = { 0 };
		bool ok = !cnnrt_device_open("sim", 0, &w.dev, &err) &&
			  !cnnrt_context_create(w.dev, CNNRT_PRIORITY_NORMAL, &w.ctx, &err) &&
			  read_model(&w, argv[i]) && !run(&w, w.size, &err);

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
