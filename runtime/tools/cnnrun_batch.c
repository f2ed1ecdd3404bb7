/* SPDX-License-Identifier: MIT */
/* cnnrun --batch: every image of a batch in a job of its own, spread over equal cores. */
#include "cnnrun_network.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_PER_CORE	2	/* so that a core has its next image when it ends one */

/* An output of all images, one behind the other. */
struct batch_output {
	struct cnnrt_tensor_info info;		/* of one image */
	char *data;
};

struct batch {
	struct network *n;
	unsigned int jobs;			/* in flight at most; image i runs in job i % jobs */
	struct cnnrt_job *job[JOBS_PER_CORE * CNNRT_MAX_CORES];
	unsigned int outputs;
	struct batch_output *output;
	uint64_t core_images[CNNRT_MAX_CORES];	/* that ran on the core in the last run */
};

static int check_outputs(const struct cnnrt_program *program, unsigned int count)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	int ret = EXIT_DONE;

	for (unsigned int i = 0; i < count && !ret; i++)
		ret = checked(cnnrt_program_io(program, CNNRT_OUTPUT, i, &info, &err), &err) ?:
		      check_image(&info, "output");
	return ret;
}

static int create_jobs(struct batch *b)
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	const struct session *s = b->n->s;
	struct cnnrt_error err;
	uint64_t want;

	if (cnnrt_device_info(s->dev, &info, &err))
		return complain_error(&err);
	want = JOBS_PER_CORE * (uint64_t)info.core_count;
	if (want > b->n->images)
		want = b->n->images;
	for (; b->jobs < want && b->jobs < ARRAY_SIZE(b->job); b->jobs++)
		if (cnnrt_job_create(s->ctx, b->n->program, &b->job[b->jobs], &err))
			return complain_error(&err);
	return EXIT_DONE;
}

int batch_create(struct network *n)
{
	unsigned int outputs = cnnrt_program_io_count(n->program, CNNRT_OUTPUT);
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return complain(EXIT_FAILED, "out of memory");
	n->batch = b;
	b->n = n;
	b->outputs = outputs;
	b->output = calloc(outputs + 1, sizeof(*b->output));
	if (!b->output)
		return complain(EXIT_FAILED, "out of memory");
	return check_outputs(n->program, outputs) ?: create_jobs(b);
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; i < b->jobs; i++)
		cnnrt_job_free(b->job[i]);
	for (unsigned int i = 0; b->output && i < b->outputs; i++)
		free(b->output[i].data);
	free(b->output);
	free(b);
}

static int complain_image(uint64_t image, const struct cnnrt_error *err)
{
	struct cnnrt_error e = { .code = err->code };

	snprintf(e.text, sizeof(e.text), "image %" PRIu64 ": %.280s", image, err->text);
	return complain_error(&e);
}

/* The first image decides about a shape that is only known after a run. */
static int take_first(struct batch_output *o, const struct cnnrt_tensor_info *info, uint64_t images)
{
	int ret = check_image(info, "output");

	if (ret)
		return ret;
	o->info = *info;
	o->data = calloc(images, info->size ? info->size : 1);
	return o->data ? EXIT_DONE : complain(EXIT_FAILED, "output %s: %" PRIu64 " images of %zu "
					      "bytes: out of memory", info->name, images, info->size);
}

static int take_output(struct batch *b, unsigned int index, uint64_t image, uint64_t run)
{
	struct batch_output *o = &b->output[index];
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnn_tensor have, first;
	struct cnnrt_error err;
	char x[128], y[128];
	void *mem;
	int ret;

	if (cnnrt_job_map(b->job[image % b->jobs], CNNRT_OUTPUT, index, &info, &mem, &err))
		return complain_image(image, &err);
	ret = o->data ? EXIT_DONE : take_first(o, &info, b->n->images);
	if (ret)
		return ret;
	have = tensor_of(&info, NULL);
	first = tensor_of(&o->info, NULL);
	if (!cnn_tensor_same_shape(&have, &first))
		return complain(EXIT_FAILED, "--batch: output %s: image %" PRIu64 " gives %s, image "
				"0 gives %s: they cannot be joined", info.name, image,
				cnn_tensor_describe(&have, x, sizeof(x)),
				cnn_tensor_describe(&first, y, sizeof(y)));
	if (!run)
		memcpy(o->data + image * info.size, mem, info.size);
	else if (memcmp(o->data + image * info.size, mem, info.size))
		return complain(EXIT_FAILED, "output %s: image %" PRIu64 " of run %" PRIu64
				" differs from the first run", info.name, image, run);
	return EXIT_DONE;
}

static void note_core(const struct cnnrt_step *step, void *opaque)
{
	uint32_t *cores = opaque;

	if (step->core >= 0)
		*cores |= 1u << step->core;
}

static int finish(struct batch *b, uint64_t image, uint64_t run)
{
	struct cnnrt_job *job = b->job[image % b->jobs];
	struct cnnrt_error err;
	uint32_t cores = 0;
	int ret = EXIT_DONE;

	if (cnnrt_job_wait(job, -1, &err) || cnnrt_job_profile(job, note_core, &cores, &err))
		return complain_image(image, &err);
	for (unsigned int i = 0; i < CNNRT_MAX_CORES; i++)
		b->core_images[i] += cores >> i & 1;
	for (unsigned int i = 0; i < b->outputs && !ret; i++)
		ret = take_output(b, i, image, run);
	return ret;
}

static int start(struct batch *b, uint64_t image)
{
	struct cnnrt_job *job = b->job[image % b->jobs];
	struct cnnrt_error err;
	int ret = fill_inputs(b->n, job, image);

	if (!ret && cnnrt_job_submit(job, -1, NULL, &err))
		return complain_image(image, &err);
	return ret;
}

int batch_run(struct batch *b, uint64_t run)
{
	int ret = EXIT_DONE;

	memset(b->core_images, 0, sizeof(b->core_images));
	for (uint64_t i = 0; i < b->n->images + b->jobs && !ret; i++) {
		if (i >= b->jobs)
			ret = finish(b, i - b->jobs, run);
		if (!ret && i < b->n->images)
			ret = start(b, i);
	}
	return ret;
}

void *batch_output(const struct batch *b, unsigned int index, uint64_t image,
		   struct cnnrt_tensor_info *info)
{
	*info = b->output[index].info;
	return b->output[index].data + image * info->size;
}

struct cnnrt_job *batch_last_job(const struct batch *b)
{
	return b->job[(b->n->images - 1) % b->jobs];
}

void batch_print(const struct batch *b)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };

	printf("batch: %" PRIu64 " images, at most %u at once", b->n->images, b->jobs);
	for (unsigned int i = 0; !cnnrt_device_core(b->n->s->dev, i, &core, NULL); i++)
		printf(", core %u (%s) %" PRIu64, i, core.name, b->core_images[i]);
	putchar('\n');
}
