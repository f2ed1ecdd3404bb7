/* SPDX-License-Identifier: MIT */
/*
 * async MODEL [DEVICE]: submit two jobs, the second of which waits for the first one's fence, and
 * poll() their fences.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <cnnrt.h>

struct app {
	struct cnnrt_device *dev;
	struct cnnrt_model *model;
	struct cnnrt_program *program;
	struct cnnrt_context *ctx;
	struct cnnrt_job *job[2];
	int fence[2];
	struct cnnrt_error err;
};

static int setup(struct app *a, const char *model, const char *device)
{
	struct cnnrt_error *err = &a->err;
	struct cnnrt_tensor_info in = { .struct_size = sizeof(in) };
	void *mem;

	if (cnnrt_device_open(device, 0, &a->dev, err) ||
	    cnnrt_model_load(model, &a->model, err) ||
	    cnnrt_compile(a->model, a->dev, NULL, &a->program, err) ||
	    cnnrt_context_create(a->dev, CNNRT_PRIORITY_NORMAL, &a->ctx, err))
		return err->code;
	for (int j = 0; j < 2; j++) {
		if (cnnrt_job_create(a->ctx, a->program, &a->job[j], err) ||
		    cnnrt_job_map(a->job[j], CNNRT_INPUT, 0, &in, &mem, err))
			return err->code;
		for (size_t i = 0; i < in.size / sizeof(float); i++)
			((float *)mem)[i] = (float)(i % 64) / 64;
	}
	return 0;
}

static int print_answer(struct app *a, int j)
{
	struct cnnrt_tensor_info out = { .struct_size = sizeof(out) };
	size_t best = 0;
	void *mem;
	float *y;

	/* The job has ended: this gives its result and does not wait. */
	if (cnnrt_job_wait(a->job[j], 0, &a->err) ||
	    cnnrt_job_map(a->job[j], CNNRT_OUTPUT, 0, &out, &mem, &a->err))
		return a->err.code;
	y = mem;
	for (size_t i = 1; i < out.size / sizeof(*y); i++)
		best = y[i] > y[best] ? i : best;
	printf("job %d: class %zu, score %g\n", j, best, y[best]);
	return 0;
}

static int run(struct app *a)
{
	struct pollfd p[2];

	if (cnnrt_job_submit(a->job[0], -1, &a->fence[0], &a->err) ||
	    cnnrt_job_submit(a->job[1], a->fence[0], &a->fence[1], &a->err))
		return a->err.code;
	for (int j = 0; j < 2; j++)
		p[j] = (struct pollfd){ .fd = a->fence[j], .events = POLLIN };
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, 60000) <= 0) {
			fprintf(stderr, "no job ended within a minute\n");
			return 1;
		}
		for (int j = 0; j < 2; j++) {
			if (p[j].fd < 0 || !p[j].revents)
				continue;
			if (print_answer(a, j))
				return a->err.code;
			p[j].fd = -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct app a = { .fence = { -1, -1 } };
	int ret = 1;

	if (argc < 2) {
		fprintf(stderr, "usage: %s MODEL [DEVICE]\n", argv[0]);
		return 2;
	}
	if (!setup(&a, argv[1], argc > 2 ? argv[2] : NULL))
		ret = run(&a);
	if (a.err.code)
		fprintf(stderr, "%s\n", a.err.text);
	for (int j = 0; j < 2; j++) {
		if (a.fence[j] >= 0)
			close(a.fence[j]);
		cnnrt_job_free(a.job[j]);
	}
	cnnrt_context_destroy(a.ctx);
	cnnrt_program_free(a.program);
	cnnrt_model_free(a.model);
	cnnrt_device_close(a.dev);
	return ret != 0;
}
