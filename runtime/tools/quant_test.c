/* SPDX-License-Identifier: MIT */
/* Measures the accuracy of the quantised network and of the float network. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cnnquant.h"
#include "cnnrun.h"
#include "ops/ops.h"

/* A network's file in memory. */
struct network {
	const void *file;
	size_t size;
	const char *folder;	/* of external data, NULL: there is none */
	bool quantised;
};

static int compile(struct test *t, const struct network *net, struct cnnrt_program **p)
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .cpu_only = !net->quantised,
	};
	int64_t dims[CNN_MAX_RANK];
	struct cnnrt_model *model;
	struct cnnrt_error err;
	int ret;

	if (net->quantised && t->o->core && !strcmp(t->o->core, "cpu"))
		opt.cpu_only = true;
	else if (net->quantised)
		opt.core = t->o->core;
	if (cnnrt_model_load_buffer(net->file, net->size, net->folder, &model, &err))
		return complain_error(&err);
	memcpy(dims, t->samples.dims, sizeof(dims));
	dims[0] = 1;
	if (cnnrt_model_set_input_shape(model, 0, t->samples.rank, dims, &err))
		ret = complain(EXIT_FAILED, "%s: one sample: %s", t->o->test, err.text);
	else
		ret = checked(cnnrt_compile(model, t->dev, &opt, p, &err), &err);
	cnnrt_model_free(model);
	return ret;
}

static int run_network_of(struct test *t, const struct network *net)
{
	struct cnnrt_program *p = NULL;
	struct cnnrt_job *job = NULL;
	struct cnnrt_error err;
	int ret = compile(t, net, &p);

	if (!ret && net->quantised)
		print_macs(p, t->dev);
	if (!ret)
		ret = checked(cnnrt_job_create(t->ctx, p, &job, &err), &err) ?:
		      run_samples(job, &t->samples, t->o->model, &t->answers[net->quantised]);
	cnnrt_job_free(job);
	cnnrt_program_free(p);
	return ret;
}

static void print_right(const struct test *t, const struct cnn_tensor *answers)
{
	int64_t right = t->labels.data ? count_right(answers, &t->labels) : 0;
	int64_t n = t->samples.dims[0];

	if (t->labels.data)
		printf("  %7.2f %%", 100.0 * (double)right / (double)n);
	else
		printf("  %9s", "-");
}

static int print_table(const struct test *t)
{
	const struct cnn_tensor *a = &t->answers[0], *b = &t->answers[1];
	int64_t n = t->samples.dims[0], same;
	double sum = 0, most = 0, largest = 0;

	if (a->dims[1] != b->dims[1])
		return complain(EXIT_FAILED, "%s: the networks' outputs differ in size",
				t->o->model);
	if (t->labels.data && check_labels(&t->labels, a, t->o->labels))
		return EXIT_FAILED;
	for (int64_t i = 0; i < cnn_tensor_count(a); i++) {
		double d = fabs(cnn_tensor_element(a, i) - cnn_tensor_element(b, i));

		sum += d;
		most = isnan(most) || d <= most ? most : d;
		largest = fmax(largest, fabs(cnn_tensor_element(a, i)));
	}
	same = count_same(a, b);
	printf("%" PRId64 " samples of %s\n", n, t->o->test);
	printf("%-8s  %9s  %9s  %11s  %11s  of up to\n", "", "top-1", "same", "mean error",
	       "max error");
	printf("%-8s", format_name(FORMAT_FLOAT32));
	print_right(t, a);
	printf("\n%-8s", t->o->pot8 ? "POT8" : format_name(t->o->format));
	print_right(t, b);
	printf("  %7.2f %%  %11.6g  %11.6g  %8.6g\n", 100.0 * (double)same / (double)n,
	       sum / (double)cnn_tensor_count(a), most, largest);
	return EXIT_DONE;
}

int open_test(struct test *t)
{
	char own[32];
	const char *device = t->o->device ? t->o->device : own;
	struct cnnrt_error err;
	uint32_t cores;
	int ret = read_samples(t->o->test, &t->samples);

	snprintf(own, sizeof(own), "sim:cores=%s", cnn_packed_format(FORMAT_PACKED)->core);
	if (!ret && t->o->labels)
		ret = read_labels(t->o->labels, t->samples.dims[0], &t->labels);
	if (!ret)
		ret = open_device(device, 0, &t->dev);
	if (!ret && t->o->core && strcmp(t->o->core, "cpu"))
		ret = find_cores(t->dev, t->o->core, &cores);
	if (ret)
		return ret;
	return checked(cnnrt_context_create(t->dev, CNNRT_PRIORITY_NORMAL, &t->ctx, &err), &err);
}

void close_test(struct test *t)
{
	cnn_tensor_release(&t->samples);
	cnn_tensor_release(&t->labels);
	cnn_tensor_release(&t->answers[0]);
	cnn_tensor_release(&t->answers[1]);
	cnnrt_context_destroy(t->ctx);
	cnnrt_device_close(t->dev);
}

int test_networks(struct test *t, const struct quantizer *q, const void *file, size_t size)
{
	const struct network quantised = { .file = file, .size = size, .quantised = true };
	const struct network floats = { q->file, q->file_size, q->folder, false };
	int ret = run_network_of(t, &quantised) ?: run_network_of(t, &floats) ?: print_table(t);

	return ret || !t->o->answers ? ret : npy_write(t->o->answers, &t->answers[1]);
}
