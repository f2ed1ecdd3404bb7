/* SPDX-License-Identifier: MIT */
/*
 * What the tests of libcnnrt share: a device, in this process unless $RT_DEVICE names another,
 * and two networks.
 */
#ifndef RT_TEST_H
#define RT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cnnacc_hw.h>
#include <cnnrt.h>

/* $RT_DIGITS: wholly on the device; $RT_MIXED: device and CPU segments. */
static inline const char *rt_model_path(const char *name)
{
	const char *path = getenv(name);

	if (!path)
		fail_msg("%s is not set", name);
	return path;
}

static inline const char *rt_device(void)
{
	const char *name = getenv("RT_DEVICE");

	return name ? name : "sim";
}

struct rt_net {
	struct cnnrt_device *dev;
	struct cnnrt_model *model;
	struct cnnrt_program *program;
	struct cnnrt_context *ctx;
};

#define OK(call)	rt_ok(call, #call, __FILE__, __LINE__)

static __thread struct cnnrt_error rt_err;

static inline void rt_ok(int code, const char *call, const char *file, int line)
{
	if (code) {
		print_error("%s: %d, %s\n", call, code, rt_err.text);
		_fail(file, line);
	}
}

/* Fails with this code, and says a word. */
#define FAILS(want, word, call) do { \
	memset(&rt_err, 0, sizeof(rt_err)); \
	assert_int_equal(call, want); \
	assert_int_equal(rt_err.code, want); \
	if (!strstr(rt_err.text, word)) \
		fail_msg("\"%s\" does not say \"%s\"", rt_err.text, word); \
} while (0)

static inline void rt_open(struct rt_net *n, const char *model)
{
	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open(rt_device(), 0, &n->dev, &rt_err));
	OK(cnnrt_model_load(rt_model_path(model), &n->model, &rt_err));
	OK(cnnrt_compile(n->model, n->dev, NULL, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
}

static inline void rt_close(struct rt_net *n)
{
	cnnrt_context_destroy(n->ctx);
	cnnrt_program_free(n->program);
	cnnrt_model_free(n->model);
	cnnrt_device_close(n->dev);
}

static inline void rt_fill(float *x, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size / sizeof(*x); i++)
		x[i] = (float)((i * 7 + seed * 13) % 64) / 64;
}

/* The answer for a seed, by cnnrt_run; malloc'ed. */
static inline float *rt_answer(struct rt_net *n, unsigned int seed, size_t *size)
{
	struct cnnrt_tensor_info in = { .struct_size = sizeof(in) };
	struct cnnrt_tensor_info out = { .struct_size = sizeof(out) };
	float *x, *y;

	OK(cnnrt_program_io(n->program, CNNRT_INPUT, 0, &in, &rt_err));
	OK(cnnrt_program_io(n->program, CNNRT_OUTPUT, 0, &out, &rt_err));
	x = malloc(in.size);
	y = malloc(out.size);
	assert_non_null(x);
	assert_non_null(y);
	rt_fill(x, in.size, seed);
	OK(cnnrt_run(n->ctx, n->program, (const void *[]){ x }, (void *[]){ y }, &rt_err));
	free(x);
	*size = out.size;
	return y;
}

static inline void rt_set_input(struct cnnrt_job *job, unsigned int seed)
{
	struct cnnrt_tensor_info in = { .struct_size = sizeof(in) };
	void *mem;

	OK(cnnrt_job_map(job, CNNRT_INPUT, 0, &in, &mem, &rt_err));
	rt_fill(mem, in.size, seed);
}

static inline void rt_check_output(struct cnnrt_job *job, const float *want, size_t size)
{
	struct cnnrt_tensor_info out = { .struct_size = sizeof(out) };
	void *mem;

	OK(cnnrt_job_map(job, CNNRT_OUTPUT, 0, &out, &mem, &rt_err));
	assert_int_equal(out.size, size);
	assert_memory_equal(mem, want, size);
}

#endif
