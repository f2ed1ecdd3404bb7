// SPDX-License-Identifier: MIT
/*
 * Clocks and bytes of a network on a device in the process: what the device counts in one run.
 * Usage: traffic FILE.onnx DEVICE [reload]; reload: each value goes through memory.
 * Prints clocks, bytes read from and written to DTCMs, bytes read from and written to memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_hw.h>

#include "cnnrt.h"

static const char *const names[] = CNNACC_STATS_NAMES;
static const char *const wanted[] = {
	"cycles", "local_read_bytes", "local_write_bytes", "mem_read_bytes", "mem_write_bytes",
};

#define COUNT	(sizeof(wanted) / sizeof(wanted[0]))

struct run {
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	struct cnnrt_program *program;
	struct cnnrt_job *job;
	struct cnnrt_error err;
};

static int read_counters(struct run *r, uint64_t value[COUNT])
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	int ret = cnnrt_device_core(r->dev, 0, &core, &r->err);

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]) && !ret; i++) {
		uint32_t at = core.queue_offset + CNNACC_QREG_STATS + 8 * i, lo = 0, hi = 0;

		ret = cnnrt_device_reg_read(r->dev, at, &lo, &r->err);
		if (!ret)
			ret = cnnrt_device_reg_read(r->dev, at + 4, &hi, &r->err);
		for (size_t k = 0; k < COUNT; k++)
			if (names[i] && !strcmp(names[i], wanted[k]))
				value[k] = (uint64_t)hi << 32 | lo;
	}
	return ret;
}

static int run_once(struct run *r)
{
	int ret = cnnrt_job_submit(r->job, -1, NULL, &r->err);

	return ret ? ret : cnnrt_job_wait(r->job, -1, &r->err);
}

static int measure(struct run *r)
{
	uint64_t before[COUNT] = { 0 }, after[COUNT] = { 0 };
	/* The first run may clear another context's residue. */
	int ret = run_once(r);

	if (!ret)
		ret = read_counters(r, before);
	if (!ret)
		ret = run_once(r);
	if (!ret)
		ret = read_counters(r, after);
	for (size_t k = 0; k < COUNT && !ret; k++)
		printf("%" PRIu64 "%c", after[k] - before[k], k == COUNT - 1 ? '\n' : ' ');
	return ret;
}

static int compile(struct run *r, const char *file, bool reload)
{
	const struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .prefer = CNNRT_PREFER_DEVICE, .observe = reload,
	};
	struct cnnrt_model *model;
	int ret = cnnrt_model_load(file, &model, &r->err);

	if (ret)
		return ret;
	ret = cnnrt_compile(model, r->dev, &opt, &r->program, &r->err);
	cnnrt_model_free(model);
	return ret;
}

int main(int argc, char **argv)
{
	struct run r = { .dev = NULL };
	int ret;

	if (argc < 3)
		return 2;
	ret = cnnrt_device_open(argv[2], 0, &r.dev, &r.err);
	if (!ret)
		ret = cnnrt_context_create(r.dev, CNNRT_PRIORITY_NORMAL, &r.ctx, &r.err);
	if (!ret)
		ret = compile(&r, argv[1], argc > 3 && !strcmp(argv[3], "reload"));
	if (!ret)
		ret = cnnrt_job_create(r.ctx, r.program, &r.job, &r.err);
	if (!ret)
		ret = measure(&r);
	if (ret)
		fprintf(stderr, "traffic: %s\n", r.err.text);
	cnnrt_job_free(r.job);
	cnnrt_program_free(r.program);
	cnnrt_context_destroy(r.ctx);
	cnnrt_device_close(r.dev);
	return ret != 0;
}
