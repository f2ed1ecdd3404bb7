/* SPDX-License-Identifier: MIT */
/* Measures the accuracy of the quantised network and of the float network. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cnnquant.h"
#include "cnnrun.h"
#include "ops/ops.h"

static int read_array(const char *path, struct cnn_tensor *t)
{
	const char *why = NULL;
	size_t size;
	void *data;
	bool ok;

	if (!read_file(path, &data, &size))
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	ok = npy_parse(data, size, t, &why);
	free(data);
	return ok ? EXIT_DONE : complain(EXIT_FAILED, "%s: %s", path, why);
}

int read_samples(const char *path, struct cnn_tensor *t)
{
	int ret = read_array(path, t);

	if (ret)
		return ret;
	if (t->dtype != CNN_FLOAT32 || t->rank < 2 || cnn_tensor_count(t) < 1)
		return complain(EXIT_FAILED, "%s: float32 samples along the first axis are wanted, "
				"it has %s of rank %d", path, cnn_dtype_name(t->dtype), t->rank);
	for (int64_t i = 0; i < cnn_tensor_count(t); i++)
		if (!isfinite(((const float *)t->data)[i]))
			return complain(EXIT_FAILED, "%s: element %" PRId64 " is not finite",
					path, i);
	return EXIT_DONE;
}

static int read_labels(struct test *t)
{
	int ret = read_array(t->o->labels, &t->labels);

	if (ret)
		return ret;
	if (t->labels.rank != 1 || t->labels.dims[0] != t->samples.dims[0] ||
	    t->labels.dtype == CNN_FLOAT32 || t->labels.dtype == CNN_FLOAT64 ||
	    t->labels.dtype == CNN_FLOAT16)
		return complain(EXIT_FAILED, "%s: a list of %" PRId64 " integers is wanted, one for "
				"each sample", t->o->labels, t->samples.dims[0]);
	return EXIT_DONE;
}

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

static int add_answer(struct test *t, struct cnnrt_job *job, int64_t sample, struct cnn_tensor *all)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	void *p;

	if (cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &p, &err))
		return complain_error(&err);
	if (!sample) {
		*all = (struct cnn_tensor){ .dtype = CNN_FLOAT32, .rank = 2 };
		all->dims[0] = t->samples.dims[0];
		all->dims[1] = (int64_t)(info.size / sizeof(float));
		if (info.type != CNNRT_FLOAT32 || !all->dims[1])
			return complain(EXIT_FAILED, "%s: output %s is %s of %zu bytes, float32 wanted",
					t->o->model, info.name,
					cnn_dtype_name((enum cnn_dtype)info.type), info.size);
		if (cnn_tensor_alloc(all, 0, NULL))
			return complain(EXIT_FAILED, "out of memory");
	}
	if ((int64_t)(info.size / sizeof(float)) != all->dims[1])
		return complain(EXIT_FAILED, "%s: the size of output %s depends on the input",
				t->o->model, info.name);
	memcpy((float *)all->data + sample * all->dims[1], p, info.size);
	return EXIT_DONE;
}

static int run_samples(struct test *t, const struct cnnrt_program *p, struct cnn_tensor *all)
{
	size_t size = (size_t)(cnn_tensor_bytes(&t->samples) / t->samples.dims[0]);
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	struct cnnrt_job *job;
	int ret = EXIT_DONE;
	void *in;

	if (cnnrt_job_create(t->ctx, p, &job, &err))
		return complain_error(&err);
	for (int64_t i = 0; i < t->samples.dims[0] && !ret; i++) {
		ret = cnnrt_job_map(job, CNNRT_INPUT, 0, &info, &in, &err);
		if (!ret)
			memcpy(in, (char *)t->samples.data + (size_t)i * size, size);
		ret = ret ?: cnnrt_job_submit(job, -1, NULL, &err) ?: cnnrt_job_wait(job, -1, &err);
		ret = checked(ret, &err) ?: add_answer(t, job, i, all);
	}
	cnnrt_job_free(job);
	return ret;
}

static int run_network_of(struct test *t, const struct network *net)
{
	struct cnnrt_program *p = NULL;
	int ret = compile(t, net, &p);

	if (!ret && net->quantised)
		print_macs(p, t->dev);
	if (!ret)
		ret = run_samples(t, p, &t->answers[net->quantised]);
	cnnrt_program_free(p);
	return ret;
}

static int64_t best_of(const struct cnn_tensor *t, int64_t sample)
{
	const float *v = (const float *)t->data + sample * t->dims[1];
	int64_t best = 0;

	for (int64_t i = 1; i < t->dims[1]; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

/* Refuses labels that are no index of an element of the answer. */
static int check_labels(const struct test *t)
{
	int64_t places = t->answers[0].dims[1];

	for (int64_t i = 0; t->labels.data && i < t->samples.dims[0]; i++) {
		double label = cnn_tensor_element(&t->labels, i);

		if (label < 0 || label >= (double)places)
			return complain(EXIT_FAILED, "%s: element %" PRId64 " is %.0f, limits 0 to %"
					PRId64 ", the answers' last element", t->o->labels, i,
					label, places - 1);
	}
	return EXIT_DONE;
}

static void print_right(const struct test *t, const struct cnn_tensor *answers)
{
	int64_t right = 0, n = t->samples.dims[0];

	for (int64_t i = 0; i < n; i++)
		right += t->labels.data &&
			 (double)best_of(answers, i) == cnn_tensor_element(&t->labels, i);
	if (t->labels.data)
		printf("  %7.2f %%", 100.0 * (double)right / (double)n);
	else
		printf("  %9s", "-");
}

static int print_table(const struct test *t)
{
	const struct cnn_tensor *a = &t->answers[0], *b = &t->answers[1];
	int64_t n = t->samples.dims[0], same = 0;
	double sum = 0, most = 0, largest = 0;

	if (a->dims[1] != b->dims[1])
		return complain(EXIT_FAILED, "%s: the networks' outputs differ in size",
				t->o->model);
	if (check_labels(t))
		return EXIT_FAILED;
	for (int64_t i = 0; i < cnn_tensor_count(a); i++) {
		double d = fabs(cnn_tensor_element(a, i) - cnn_tensor_element(b, i));

		sum += d;
		most = isnan(most) || d <= most ? most : d;
		largest = fmax(largest, fabs(cnn_tensor_element(a, i)));
	}
	for (int64_t i = 0; i < n; i++)
		same += best_of(a, i) == best_of(b, i);
	printf("%" PRId64 " samples of %s\n", n, t->o->test);
	printf("%-8s  %9s  %9s  %11s  %11s  of up to\n", "", "top-1", "same", "mean error",
	       "max error");
	printf("%-8s", format_name(FORMAT_FLOAT32));
	print_right(t, a);
	printf("\n%-8s", format_name(t->o->format));
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
		ret = read_labels(t);
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
