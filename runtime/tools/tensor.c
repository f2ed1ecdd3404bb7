/* SPDX-License-Identifier: MIT */
#include "ops/ops.h"
#include "tensor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool parse_floats(const char *text, float values[3])
{
	int n;

	for (n = 0; n < 3; n++) {
		char *end;

		values[n] = strtof(text, &end);
		if (end == text || !isfinite(values[n]))
			return false;
		if (!*end)
			break;
		if (*end != ',')
			return false;
		text = end + 1;
	}
	if (n == 0)
		values[1] = values[2] = values[0];
	return n == 0 || n == 2;
}

static int read_pb(const char *path, const void *data, size_t size, struct cnn_tensor *t)
{
	struct cnn_err err;

	memset(t, 0, sizeof(*t));
	if (cnn_tensor_from_pb(data, size, t, NULL, &err))
		return complain(EXIT_FAILED, "%s: no .npy, PNG, JPEG or PNM, and as ONNX .pb: %s",
				path, err.text);
	return EXIT_DONE;
}

static int read_picture(const char *path, const void *data, size_t size,
			const struct cnnrt_tensor_info *want, const struct picture_options *opt,
			struct cnn_tensor *t)
{
	struct picture p;
	const char *why;
	int ret;

	if (!picture_decode(data, size, &p, &why))
		return complain(EXIT_FAILED, "%s: %s", path, why);
	ret = picture_to_tensor(&p, want, opt, t);
	free(p.pixels);
	return ret;
}

int tensor_read(const char *path, const struct cnnrt_tensor_info *want,
		const struct picture_options *opt, struct cnn_tensor *t)
{
	const char *why;
	size_t size;
	void *data;
	int ret = EXIT_DONE;

	if (!read_file(path, &data, &size))
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	if (picture_is(data, size))
		ret = read_picture(path, data, size, want, opt, t);
	else if (size > 6 && !memcmp(data, "\x93NUMPY", 6)) {
		if (!npy_parse(data, size, t, &why))
			ret = complain(EXIT_FAILED, "%s: %s", path, why);
	} else {
		ret = read_pb(path, data, size, t);
	}
	free(data);
	return ret;
}

int tensor_write(const char *path, const char *name, const struct cnn_tensor *t)
{
	const char *dot = strrchr(path, '.');
	struct cnn_err err;
	size_t size;
	void *data;
	int ret = EXIT_DONE;

	if (!dot || strcmp(dot, ".pb"))
		return npy_write(path, t);
	if (cnn_tensor_to_pb(t, name, &data, &size, &err))
		return complain(EXIT_FAILED, "%s: %s", path, err.text);
	if (!write_file(path, data, size))
		ret = complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	free(data);
	return ret;
}

struct cnn_tensor tensor_of(const struct cnnrt_tensor_info *info, void *data)
{
	struct cnn_tensor t = {
		.dtype = (enum cnn_dtype)info->type, .rank = info->rank, .data = data,
	};

	memcpy(t.dims, info->dims, sizeof(t.dims));
	return t;
}

static bool close_enough(double got, double want, double rtol, double atol)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want);
	if (isinf(got) || isinf(want))
		return got == want;
	return fabs(got - want) <= atol + rtol * fabs(want);
}

/* What rounding to its type may have changed a number by. */
static double rounding(enum cnn_dtype type, double v)
{
	return type == CNN_FLOAT16 ? fabs(v) * 0x1p-11 + 0x1p-25 : fabs(v) * 0x1p-22;
}

bool tensor_exceeds(const struct cnn_tensor *got, const struct cnn_tensor *want,
		    const double *bound, char *text, size_t len)
{
	for (int64_t i = 0; i < cnn_tensor_count(want); i++) {
		double x = cnn_tensor_element(got, i), y = cnn_tensor_element(want, i);

		if (close_enough(x, y, 0, bound[i] + rounding(want->dtype, y)))
			continue;
		snprintf(text, len, "element %lld is %.9g, %.9g expected, by the core's arithmetic "
			 "within %.3g", (long long)i, x, y, bound[i]);
		return true;
	}
	return false;
}

bool tensor_differs(const struct cnn_tensor *got, const struct cnn_tensor *want, double rtol,
		    double atol, char *text, size_t len)
{
	bool is_float = want->dtype == CNN_FLOAT32 || want->dtype == CNN_FLOAT64 ||
			want->dtype == CNN_FLOAT16;
	size_t size = cnn_dtype_size(want->dtype);
	char a[128], b[128];

	if (got->dtype != want->dtype || !cnn_tensor_same_shape(got, want)) {
		snprintf(text, len, "%s, %s expected", cnn_tensor_describe(got, a, sizeof(a)),
			 cnn_tensor_describe(want, b, sizeof(b)));
		return true;
	}
	for (int64_t i = 0; i < cnn_tensor_count(want); i++) {
		const uint8_t *x = (const uint8_t *)got->data + (size_t)i * size;
		const uint8_t *y = (const uint8_t *)want->data + (size_t)i * size;

		if (!memcmp(x, y, size))
			continue;
		if (is_float &&
		    close_enough(cnn_tensor_element(got, i), cnn_tensor_element(want, i), rtol, atol))
			continue;
		snprintf(text, len, "element %lld is %.9g, %.9g expected", (long long)i,
			 cnn_tensor_element(got, i), cnn_tensor_element(want, i));
		return true;
	}
	return false;
}
