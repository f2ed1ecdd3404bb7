/* SPDX-License-Identifier: MIT */
/* Elements of a program file's description, in both directions. */
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_STRING	UINT32_MAX

void rt_ar_fail(struct rt_archive *a, int code, const char *fmt, ...)
{
	char text[CNNRT_ERROR_TEXT];
	va_list ap;

	if (a->code)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	a->code = rt_fail(a->err, code, "%s", text);
}

static void append(struct rt_archive *a, const void *p, size_t n)
{
	if (n > a->cap - a->size) {
		size_t cap = 2 * a->cap + n + 4096;
		uint8_t *bytes = realloc(a->bytes, cap);

		if (!bytes) {
			rt_ar_fail(a, CNNRT_ENOMEM, "program file: no memory for %zu bytes", cap);
			return;
		}
		a->bytes = bytes;
		a->cap = cap;
	}
	if (n)
		memcpy(a->bytes + a->size, p, n);
	a->size += n;
}

void rt_ar_bytes(struct rt_archive *a, void *p, size_t n)
{
	if (a->writing && !a->code) {
		append(a, p, n);
		return;
	}
	if (a->writing)
		return;
	if (!a->code && n > a->size - a->at)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: the description ends %zu bytes early",
			   n - (a->size - a->at));
	if (!n)
		return;
	if (a->code) {
		memset(p, 0, n);
		return;
	}
	memcpy(p, a->bytes + a->at, n);
	a->at += n;
}

void rt_ar_bool(struct rt_archive *a, bool *v)
{
	uint8_t byte = *v;

	rt_ar_bytes(a, &byte, 1);
	if (byte > 1)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %u for a boolean", byte);
	if (!a->writing)
		*v = byte == 1;
}

void rt_ar_i64(struct rt_archive *a, int64_t *v, int64_t min, int64_t max, const char *what)
{
	rt_ar_bytes(a, v, sizeof(*v));
	if (!a->code && !a->writing && (*v < min || *v > max))
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %s is %lld, limits %lld to %lld", what,
			   (long long)*v, (long long)min, (long long)max);
	if (a->code && !a->writing)
		*v = 0;
}

void rt_ar_int(struct rt_archive *a, int *v, int min, int max, const char *what)
{
	int32_t n = *v;

	rt_ar_bytes(a, &n, sizeof(n));
	if (a->writing)
		return;
	if (!a->code && (n < min || n > max))
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %s is %d, limits %d to %d", what, n, min,
			   max);
	*v = a->code ? 0 : n;
}

/* Reads the length of a string; NO_STRING on failure, or if null allows it. */
static uint32_t string_length(struct rt_archive *a, bool null, const char *what)
{
	uint32_t n;

	rt_ar_u32(a, &n);
	if (a->code || (n == NO_STRING && null))
		return NO_STRING;
	if (n > a->size - a->at)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %s of %u bytes, %zu are left", what, n,
			   a->size - a->at);
	else if (memchr(a->bytes + a->at, 0, n))
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %s holds a zero byte", what);
	return a->code ? NO_STRING : n;
}

void rt_ar_string(struct rt_archive *a, char **s, bool null, const char *what)
{
	uint32_t n = *s && a->writing ? (uint32_t)strlen(*s) : NO_STRING;

	if (a->writing) {
		rt_ar_u32(a, &n);
		if (n != NO_STRING)
			rt_ar_bytes(a, *s, n);
		return;
	}
	*s = NULL;
	n = string_length(a, null, what);
	if (n == NO_STRING)
		return;
	*s = malloc((size_t)n + 1);
	if (!*s) {
		rt_ar_fail(a, CNNRT_ENOMEM, "program file: no memory for %s", what);
		return;
	}
	rt_ar_bytes(a, *s, n);
	(*s)[n] = '\0';
}

void rt_ar_chars(struct rt_archive *a, char *s, size_t size, const char *what)
{
	uint32_t n = a->writing ? (uint32_t)strlen(s) : 0;

	if (a->writing) {
		rt_ar_u32(a, &n);
		rt_ar_bytes(a, s, n);
		return;
	}
	n = string_length(a, false, what);
	if (!a->code && n >= size)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %s of %u bytes, limit %zu", what, n,
			   size - 1);
	if (a->code)
		n = 0;
	rt_ar_bytes(a, s, n);
	s[n] = '\0';
}

void rt_ar_list(struct rt_archive *a, int *n, int max, void **list, size_t size, const char *what)
{
	size_t left = a->size - a->at;

	/* Each element takes at least a byte, so a short file cannot request much memory. */
	if (!a->writing && left < (size_t)max)
		max = (int)left;
	rt_ar_int(a, n, 0, max, what);
	if (a->writing)
		return;
	*list = a->code ? NULL : calloc((size_t)*n + 1, size);
	if (!a->code && !*list)
		rt_ar_fail(a, CNNRT_ENOMEM, "program file: no memory for %d %s", *n, what);
	if (a->code)
		*n = 0;
}

static void add_blob(struct rt_archive *a, const void *p, size_t n)
{
	struct rt_blob *blobs = realloc(a->blobs, ((size_t)a->blob_count + 1) * sizeof(*blobs));

	if (!blobs) {
		rt_ar_fail(a, CNNRT_ENOMEM, "program file: no memory for constants");
		return;
	}
	a->blobs = blobs;
	blobs[a->blob_count++] = (struct rt_blob){ p, n };
}

void rt_ar_blob(struct rt_archive *a, void **p, size_t n)
{
	uint64_t at = (a->constants_at + RT_FILE_ALIGN - 1) & ~(uint64_t)(RT_FILE_ALIGN - 1);

	if (a->code)
		return;
	if (a->writing) {
		add_blob(a, *p, n);
	} else if (at > a->constants_size || n > a->constants_size - at) {
		rt_ar_fail(a, CNNRT_EINVAL, "program file: a constant of %zu bytes at byte %llu of "
			   "%llu", n, (unsigned long long)at,
			   (unsigned long long)a->constants_size);
		return;
	} else {
		*p = a->constants + at;
	}
	a->constants_at = at + n;
}
