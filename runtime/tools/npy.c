/* SPDX-License-Identifier: MIT */
/* NumPy's .npy files, versions 1 to 3, little-endian and in C order. */
#include "tensor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC	"\x93NUMPY"

static const struct {
	const char *name;
	enum cnn_dtype type;
} descriptors[] = {
	{ "<f4", CNN_FLOAT32 }, { "<f8", CNN_FLOAT64 }, { "<f2", CNN_FLOAT16 },
	{ "|u1", CNN_UINT8 }, { "|i1", CNN_INT8 }, { "|b1", CNN_BOOL },
	{ "<u2", CNN_UINT16 }, { "<i2", CNN_INT16 }, { "<u4", CNN_UINT32 },
	{ "<i4", CNN_INT32 }, { "<u8", CNN_UINT64 }, { "<i8", CNN_INT64 },
};

/* The text after "'KEY':" in the header, NULL if it is not there. */
static const char *find_key(const char *header, const char *key)
{
	const char *p = strstr(header, key);

	p = p ? strchr(p + strlen(key), ':') : NULL;
	return p ? p + 1 + strspn(p + 1, " ") : NULL;
}

static bool parse_type(const char *header, struct cnn_tensor *t)
{
	const char *p = find_key(header, "'descr'");

	for (size_t i = 0; p && i < ARRAY_SIZE(descriptors); i++) {
		if ((*p == '\'' || *p == '"') && !strncmp(p + 1, descriptors[i].name, 3) &&
		    p[4] == *p) {
			t->dtype = descriptors[i].type;
			return true;
		}
	}
	return false;
}

static bool parse_shape(const char *header, struct cnn_tensor *t)
{
	const char *p = find_key(header, "'shape'");

	if (!p || *p++ != '(')
		return false;
	for (t->rank = 0; t->rank < CNN_MAX_RANK; t->rank++) {
		char *end;

		p += strspn(p, " ,");
		if (*p == ')')
			return true;
		if (*p < '0' || *p > '9')
			return false;
		errno = 0;
		t->dims[t->rank] = strtoll(p, &end, 10);
		if (errno)
			return false;
		p = end;
	}
	p += strspn(p, " ,");
	return *p == ')';
}

static bool parse_header(const char *header, struct cnn_tensor *t, const char **why)
{
	const char *order = find_key(header, "'fortran_order'");

	if (!parse_type(header, t))
		*why = "unsupported element type";
	else if (!order || strncmp(order, "False", 5))
		*why = "not in C order";
	else if (!parse_shape(header, t))
		*why = "the shape cannot be read";
	else
		return true;
	return false;
}

bool npy_parse(const void *data, size_t size, struct cnn_tensor *t, const char **why)
{
	const uint8_t *p = data;
	size_t header, start;
	struct cnn_err err;
	char *text;
	bool ok;

	*why = "not a .npy file";
	if (size < 12 || memcmp(p, MAGIC, 6) || p[6] < 1 || p[6] > 3)
		return false;
	start = p[6] == 1 ? 10 : 12;
	header = p[8] | (size_t)p[9] << 8;
	if (p[6] != 1)
		header |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
	*why = "the header is cut off";
	if (header > size - start)
		return false;
	text = strndup((const char *)p + start, header);
	memset(t, 0, sizeof(*t));
	*why = "out of memory";
	ok = text && parse_header(text, t, why);
	free(text);
	if (!ok)
		return false;
	*why = "it does not hold as many bytes as its shape says";
	if (cnn_tensor_bytes(t) != (int64_t)(size - start - header))
		return false;
	*why = "out of memory";
	if (cnn_tensor_alloc(t, 0, &err))
		return false;
	if (size > start + header)
		memcpy(t->data, p + start + header, size - start - header);
	return true;
}

int npy_write(const char *path, const struct cnn_tensor *t)
{
	char header[512], shape[256] = "";
	const char *descr = NULL;
	size_t n = 0;
	FILE *f;

	for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++)
		if (descriptors[i].type == t->dtype)
			descr = descriptors[i].name;
	if (!descr)
		return complain(EXIT_FAILED, "%s: .npy has no %s", path, cnn_dtype_name(t->dtype));
	for (int i = 0; i < t->rank; i++)
		n += (size_t)snprintf(shape + n, sizeof(shape) - n, "%lld,%s",
				      (long long)t->dims[i], i + 1 < t->rank ? " " : "");
	n = (size_t)snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, "
			     "'shape': (%s), }", descr, shape);
	while ((10 + n + 1) % 64)
		header[n++] = ' ';
	header[n++] = '\n';
	f = fopen(path, "wbe");
	if (!f)
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	fwrite(MAGIC "\1\0", 1, 8, f);
	fputc((int)(n & 0xff), f);
	fputc((int)(n >> 8), f);
	fwrite(header, 1, n, f);
	fwrite(t->data, 1, (size_t)cnn_tensor_bytes(t), f);
	return close_file(f, path);
}
