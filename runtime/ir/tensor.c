// SPDX-License-Identifier: MIT
/* Dense arrays: types, sizes, storage. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

int cnn_fail(struct cnn_err *err, enum cnn_status code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

int cnn_node_fail(const struct cnn_node *n, struct cnn_err *err, enum cnn_status code,
		  const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cnn_fail(err, code, "%s (%.60s): %s", n->op_type, n->name, text);
}

static const struct {
	const char *name;
	size_t size;
} dtypes[] = {
	[CNN_UNDEFINED] = { "undefined", 0 }, [CNN_STRING] = { "string", 0 },
	[CNN_BOOL] = { "bool", 1 }, [CNN_FLOAT16] = { "float16", 2 },
	[CNN_FLOAT32] = { "float32", 4 }, [CNN_FLOAT64] = { "float64", 8 },
	[CNN_INT8] = { "int8", 1 }, [CNN_UINT8] = { "uint8", 1 },
	[CNN_INT16] = { "int16", 2 }, [CNN_UINT16] = { "uint16", 2 },
	[CNN_INT32] = { "int32", 4 }, [CNN_UINT32] = { "uint32", 4 },
	[CNN_INT64] = { "int64", 8 }, [CNN_UINT64] = { "uint64", 8 },
	[14] = { "complex64", 0 }, [15] = { "complex128", 0 }, [CNN_BFLOAT16] = { "bfloat16", 0 },
};

#define N_DTYPES	(sizeof(dtypes) / sizeof(dtypes[0]))

const char *cnn_dtype_name(enum cnn_dtype t)
{
	return (unsigned int)t < N_DTYPES ? dtypes[t].name : "unknown type";
}

size_t cnn_dtype_size(enum cnn_dtype t)
{
	return (unsigned int)t < N_DTYPES ? dtypes[t].size : 0;
}

int64_t cnn_tensor_count(const struct cnn_tensor *t)
{
	int64_t span = 1;	/* as if no dimension were 0, so that no stride overflows either */
	bool empty = false;

	if (t->rank < 0 || t->rank > CNN_MAX_RANK)
		return -1;
	for (int i = 0; i < t->rank; i++) {
		if (t->dims[i] < 0)
			return -1;
		if (!t->dims[i])
			empty = true;
		else if (__builtin_mul_overflow(span, t->dims[i], &span))
			return -1;
	}
	return empty ? 0 : span;
}

int64_t cnn_tensor_bytes(const struct cnn_tensor *t)
{
	int64_t n = cnn_tensor_count(t);

	if (n < 0 || !cnn_dtype_size(t->dtype) ||
	    __builtin_mul_overflow(n, (int64_t)cnn_dtype_size(t->dtype), &n))
		return -1;
	return n;
}

bool cnn_tensor_same_shape(const struct cnn_tensor *a, const struct cnn_tensor *b)
{
	if (a->rank != b->rank || a->rank < 0)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

const char *cnn_tensor_describe(const struct cnn_tensor *t, char *buf, size_t len)
{
	int n = snprintf(buf, len, "%s[", cnn_dtype_name(t->dtype));

	if (t->rank < 0) {
		snprintf(buf, len, "%s[shape unknown]", cnn_dtype_name(t->dtype));
		return buf;
	}
	for (int i = 0; i < t->rank && n > 0 && (size_t)n < len; i++)
		n += snprintf(buf + n, len - n, i ? ",%lld" : "%lld", (long long)t->dims[i]);
	if (n > 0 && (size_t)n < len)
		snprintf(buf + n, len - n, "]");
	return buf;
}

int cnn_tensor_alloc(struct cnn_tensor *t, int64_t max_bytes, struct cnn_err *err)
{
	int64_t bytes = cnn_tensor_bytes(t);
	char shape[128];

	if (!max_bytes)
		max_bytes = CNN_MAX_TENSOR_BYTES;
	if (bytes < 0 || bytes > max_bytes)
		return cnn_fail(err, CNN_ELIMIT, "tensor %s is larger than the limit of %lld bytes",
				cnn_tensor_describe(t, shape, sizeof(shape)), (long long)max_bytes);
	t->data = calloc(1, bytes ? bytes : 1);
	if (!t->data)
		return cnn_fail(err, CNN_ENOMEM, "no memory for tensor %s",
				cnn_tensor_describe(t, shape, sizeof(shape)));
	t->capacity = bytes;
	t->owned = true;
	return CNN_OK;
}

int cnn_tensor_copy(struct cnn_tensor *dst, const struct cnn_tensor *src, struct cnn_err *err)
{
	int ret;

	*dst = *src;
	dst->data = NULL;
	dst->owned = false;
	if (!src->data)
		return CNN_OK;
	ret = cnn_tensor_alloc(dst, 0, err);
	if (!ret)
		memcpy(dst->data, src->data, dst->capacity);
	return ret;
}

void cnn_tensor_release(struct cnn_tensor *t)
{
	if (t->owned)
		free(t->data);
	memset(t, 0, sizeof(*t));
	t->rank = -1;
}
