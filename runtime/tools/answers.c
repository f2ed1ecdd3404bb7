/* SPDX-License-Identifier: MIT */
/* Samples of a network's input in .npy files, and the answers that a network gives for them. */
#include "answers.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	if (t->rank && !t->dims[0])
		return complain(EXIT_FAILED, "%s: there are no samples: the first axis has length 0",
				path);
	if (t->dtype != CNN_FLOAT32 || t->rank < 2 || cnn_tensor_count(t) < 1)
		return complain(EXIT_FAILED, "%s: float32 samples along the first axis are wanted, "
				"it has %s of rank %d", path, cnn_dtype_name(t->dtype), t->rank);
	for (int64_t i = 0; i < cnn_tensor_count(t); i++)
		if (!isfinite(((const float *)t->data)[i]))
			return complain(EXIT_FAILED, "%s: element %" PRId64 " is not finite",
					path, i);
	return EXIT_DONE;
}

int read_labels(const char *path, int64_t samples, struct cnn_tensor *t)
{
	int ret = read_array(path, t);

	if (ret)
		return ret;
	if (t->rank != 1 || t->dims[0] != samples || t->dtype == CNN_FLOAT32 ||
	    t->dtype == CNN_FLOAT64 || t->dtype == CNN_FLOAT16)
		return complain(EXIT_FAILED, "%s: a list of %" PRId64 " integers is wanted, one for "
				"each sample", path, samples);
	return EXIT_DONE;
}

int check_labels(const struct cnn_tensor *labels, const struct cnn_tensor *answers,
		 const char *path)
{
	int64_t places = answers->dims[1];

	for (int64_t i = 0; i < labels->dims[0]; i++) {
		double label = cnn_tensor_element(labels, i);

		if (label < 0 || label >= (double)places)
			return complain(EXIT_FAILED, "%s: element %" PRId64 " is %.0f, limits 0 to %"
					PRId64 ", the answers' last element", path, i, label,
					places - 1);
	}
	return EXIT_DONE;
}

static int add_answer(struct cnnrt_job *job, int64_t sample, const char *model,
		      struct cnn_tensor *all)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	void *p;

	if (cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &p, &err))
		return complain_error(&err);
	if (!sample) {
		all->dims[1] = (int64_t)(info.size / sizeof(float));
		if (info.type != CNNRT_FLOAT32 || !all->dims[1])
			return complain(EXIT_FAILED, "%s: output %s is %s of %zu bytes, float32 wanted",
					model, info.name, cnn_dtype_name((enum cnn_dtype)info.type),
					info.size);
		if (cnn_tensor_alloc(all, 0, NULL))
			return complain(EXIT_FAILED, "out of memory");
	}
	if ((int64_t)(info.size / sizeof(float)) != all->dims[1])
		return complain(EXIT_FAILED, "%s: the size of output %s depends on the input", model,
				info.name);
	memcpy((float *)all->data + sample * all->dims[1], p, info.size);
	return EXIT_DONE;
}

int run_samples(struct cnnrt_job *job, const struct cnn_tensor *samples, const char *model,
		struct cnn_tensor *all)
{
	size_t size = (size_t)(cnn_tensor_bytes(samples) / samples->dims[0]);
	struct cnnrt_error err;
	int ret = EXIT_DONE;
	void *in;

	*all = (struct cnn_tensor){ .dtype = CNN_FLOAT32, .rank = 2, .dims = { samples->dims[0] } };
	for (int64_t i = 0; i < samples->dims[0] && !ret; i++) {
		ret = cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, &in, &err);
		if (!ret)
			memcpy(in, (char *)samples->data + (size_t)i * size, size);
		ret = ret ?: cnnrt_job_submit(job, -1, NULL, &err) ?: cnnrt_job_wait(job, -1, &err);
		ret = checked(ret, &err) ?: add_answer(job, i, model, all);
	}
	return ret;
}

static int64_t largest_of(const struct cnn_tensor *t, int64_t sample)
{
	const float *v = (const float *)t->data + sample * t->dims[1];
	int64_t best = 0;

	for (int64_t i = 1; i < t->dims[1]; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

int64_t count_right(const struct cnn_tensor *answers, const struct cnn_tensor *labels)
{
	int64_t right = 0;

	for (int64_t i = 0; i < answers->dims[0]; i++)
		right += (double)largest_of(answers, i) == cnn_tensor_element(labels, i);
	return right;
}

int64_t count_same(const struct cnn_tensor *a, const struct cnn_tensor *b)
{
	int64_t same = 0;

	for (int64_t i = 0; i < a->dims[0]; i++)
		same += largest_of(a, i) == largest_of(b, i);
	return same;
}
