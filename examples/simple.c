/* SPDX-License-Identifier: MIT */
/* simple MODEL [DEVICE]: run a model once with cnnrt_run(). */
#include <stdio.h>
#include <stdlib.h>

#include <cnnrt.h>

/* cnnrt_run() takes as many arrays as the network has inputs and outputs. */
static bool is_simple(const struct cnnrt_program *p, const struct cnnrt_tensor_info *in,
		      const struct cnnrt_tensor_info *out)
{
	if (cnnrt_program_io_count(p, CNNRT_INPUT) == 1 && in->type == CNNRT_FLOAT32 &&
	    cnnrt_program_io_count(p, CNNRT_OUTPUT) == 1 && out->type == CNNRT_FLOAT32 &&
	    out->size)
		return true;
	fprintf(stderr, "this example needs a network with one float32 input and output\n");
	return false;
}

int main(int argc, char **argv)
{
	struct cnnrt_device *dev = NULL;
	struct cnnrt_model *model = NULL;
	struct cnnrt_program *program = NULL;
	struct cnnrt_context *ctx = NULL;
	struct cnnrt_tensor_info in = { .struct_size = sizeof(in) };
	struct cnnrt_tensor_info out = { .struct_size = sizeof(out) };
	struct cnnrt_error err = { 0 };
	float *x = NULL, *y = NULL;
	size_t best = 0;
	int ret = 1;

	if (argc < 2) {
		fprintf(stderr, "usage: %s MODEL [DEVICE]\n", argv[0]);
		return 2;
	}
	if (cnnrt_device_open(argc > 2 ? argv[2] : NULL, 0, &dev, &err) ||
	    cnnrt_model_load(argv[1], &model, &err) ||
	    cnnrt_compile(model, dev, NULL, &program, &err) ||
	    cnnrt_program_io(program, CNNRT_INPUT, 0, &in, &err) ||
	    cnnrt_program_io(program, CNNRT_OUTPUT, 0, &out, &err) ||
	    cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &ctx, &err) ||
	    !is_simple(program, &in, &out))
		goto out;
	x = malloc(in.size);
	y = malloc(out.size);
	if (!x || !y)
		goto out;
	for (size_t i = 0; i < in.size / sizeof(*x); i++)
		x[i] = (float)(i % 64) / 64;

	if (cnnrt_run(ctx, program, (const void *[]){ x }, (void *[]){ y }, &err))
		goto out;
	for (size_t i = 1; i < out.size / sizeof(*y); i++)
		best = y[i] > y[best] ? i : best;
	printf("class %zu, score %g\n", best, y[best]);
	ret = 0;
out:
	if (err.code)
		fprintf(stderr, "%s\n", err.text);
	free(x);
	free(y);
	cnnrt_context_destroy(ctx);
	cnnrt_program_free(program);
	cnnrt_model_free(model);
	cnnrt_device_close(dev);
	return ret;
}
