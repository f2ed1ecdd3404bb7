/* SPDX-License-Identifier: MIT */
/*
 * run_compiled FILE.cnn OUT: runs a compiled network on zeros and writes its first output as it is
 * in memory. Linked with the parts of libcnnrt that it calls and nothing else: see no-onnx.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cnnrt.h>

int main(int argc, char **argv)
{
	struct cnnrt_program *program = NULL;
	struct cnnrt_context *ctx = NULL;
	struct cnnrt_device *dev = NULL;
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_job *job = NULL;
	struct cnnrt_error err = { 0 };
	void *mem = NULL;
	FILE *f = argc == 3 ? fopen(argv[2], "wb") : NULL;
	bool ok = f && !cnnrt_device_open("sim", 0, &dev, &err) &&
		  !cnnrt_program_load(argv[1], dev, NULL, &program, &err) &&
		  !cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &ctx, &err) &&
		  !cnnrt_job_create(ctx, program, &job, &err) &&
		  !cnnrt_job_submit(job, -1, NULL, &err) && !cnnrt_job_wait(job, -1, &err) &&
		  !cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &mem, &err) &&
		  fwrite(mem, 1, info.size, f) == info.size;

	if (f)
		fclose(f);
	if (!ok)
		fprintf(stderr, "%s\n", err.text);
	cnnrt_job_free(job);
	cnnrt_context_destroy(ctx);
	cnnrt_program_free(program);
	cnnrt_device_close(dev);
	return !ok;
}
