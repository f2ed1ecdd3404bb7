// SPDX-License-Identifier: MIT
/*
 * ONNX external data. The location, offset and length come from a file that nobody vouches for; the
 * bytes are read, not mapped: a mapped file that somebody cuts kills the process that reads it.
 */
#include "external_data.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the entries of TensorProto.external_data say. */
struct place {
	const char *location;
	int64_t offset, length;		/* length -1: the tensor's */
};

void cnn_external_init(struct cnn_external *x, int folder)
{
	*x = (struct cnn_external){
		.folder = folder, .left = CNN_DEFAULT_TOTAL_BYTES, .fd = -1,
	};
}

void cnn_external_close(struct cnn_external *x)
{
	if (x->location)
		close(x->fd);
	free(x->location);
	x->location = NULL;
}

static const char *name_of(const Onnx__TensorProto *tp)
{
	return tp->name ? tp->name : "";
}

static int parse_bytes(const Onnx__TensorProto *tp, const char *key, const char *text,
		       int64_t *bytes, struct cnn_err *err)
{
	size_t digits = strspn(text, "0123456789");

	errno = 0;
	*bytes = strtoll(text, NULL, 10);
	if (digits && !text[digits] && !errno)
		return CNN_OK;
	return cnn_fail(err, CNN_EINVAL,
			"tensor %.80s: external data: %s is \"%.40s\", a number of bytes is wanted",
			name_of(tp), key, text);
}

static int parse_entry(const Onnx__TensorProto *tp, const Onnx__StringStringEntryProto *entry,
		       struct place *at, struct cnn_err *err)
{
	const char *key = entry->key ? entry->key : "", *text = entry->value ? entry->value : "";

	if (!strcmp(key, "location"))
		at->location = text;
	else if (!strcmp(key, "offset"))
		return parse_bytes(tp, key, text, &at->offset, err);
	else if (!strcmp(key, "length"))
		return parse_bytes(tp, key, text, &at->length, err);
	else if (strcmp(key, "checksum"))
		return cnn_fail(err, CNN_EUNSUPPORTED,
				"tensor %.80s: external data: unknown key %.40s", name_of(tp), key);
	return CNN_OK;
}

static int parse(const Onnx__TensorProto *tp, const struct cnn_tensor *t, struct place *at,
		 struct cnn_err *err)
{
	int64_t bytes = cnn_tensor_bytes(t);
	int ret = CNN_OK;

	*at = (struct place){ .length = -1 };
	for (size_t i = 0; i < tp->n_external_data && !ret; i++)
		ret = parse_entry(tp, tp->external_data[i], at, err);
	if (ret)
		return ret;
	if (!at->location || !*at->location)
		return cnn_fail(err, CNN_EINVAL, "tensor %.80s: external data without a location",
				name_of(tp));
	if (at->length >= 0 && at->length != bytes)
		return cnn_fail(err, CNN_EINVAL,
				"tensor %.80s: external data: length is %lld, %lld wanted",
				name_of(tp), (long long)at->length, (long long)bytes);
	at->length = bytes;
	return CNN_OK;
}

static int open_fail(const Onnx__TensorProto *tp, const char *location, const char *why,
		     struct cnn_err *err)
{
	return cnn_fail(err, CNN_EINVAL, "tensor %.80s: external data in \"%.80s\": %s", name_of(tp),
			location, why);
}

/* Nothing outside the folder is opened, and nothing that blocks: a pipe, a device. */
static int open_beneath(int folder, const char *location)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	/* EAGAIN: something was renamed meanwhile, so ".." could not be judged. */
	for (int tries = 0; tries < 8; tries++) {
		fd = syscall(SYS_openat2, folder, location, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return (int)fd;
}

static int open_location(struct cnn_external *x, const Onnx__TensorProto *tp, const char *location,
			 struct cnn_err *err)
{
	struct stat st;

	if (x->location && !strcmp(x->location, location))
		return CNN_OK;
	cnn_external_close(x);
	x->fd = open_beneath(x->folder, location);
	if (x->fd < 0)
		return open_fail(tp, location, errno == EXDEV ? "it is outside the model's folder" :
							       strerror(errno), err);
	if (fstat(x->fd, &st) || !S_ISREG(st.st_mode)) {
		close(x->fd);
		return open_fail(tp, location, "it is not a regular file", err);
	}
	x->size = st.st_size;
	x->location = strdup(location);
	if (x->location)
		return CNN_OK;
	close(x->fd);
	return cnn_fail(err, CNN_ENOMEM, "no memory for the network");
}

static int read_all(const struct cnn_external *x, const Onnx__TensorProto *tp,
		    const struct place *at, char *data, struct cnn_err *err)
{
	for (int64_t done = 0; done < at->length;) {
		ssize_t n = pread(x->fd, data + done, (size_t)(at->length - done),
				  at->offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return open_fail(tp, at->location, n ? strerror(errno) :
				 "it became shorter while it was read", err);
		done += n;
	}
	return CNN_OK;
}

static int check_place(const struct cnn_external *x, const Onnx__TensorProto *tp,
		       const struct place *at, struct cnn_err *err)
{
	if (at->offset > x->size || at->length > x->size - at->offset)
		return cnn_fail(err, CNN_EINVAL,
				"tensor %.60s: external data in \"%.60s\": %lld bytes at %lld are wanted, it has %lld",
				name_of(tp), at->location, (long long)at->length,
				(long long)at->offset, (long long)x->size);
	if (at->length > x->left)
		return cnn_fail(err, CNN_ELIMIT,
				"tensor %.80s: external data exceeds %lld bytes in all",
				name_of(tp), (long long)CNN_DEFAULT_TOTAL_BYTES);
	return CNN_OK;
}

int cnn_external_read(struct cnn_external *x, const Onnx__TensorProto *tp, struct cnn_tensor *t,
		      struct cnn_err *err)
{
	struct place at;
	int ret = parse(tp, t, &at, err);

	if (ret)
		return ret;
	if (x->folder < 0)
		return open_fail(tp, at.location, "no folder was given for a model in memory", err);
	ret = open_location(x, tp, at.location, err);
	if (!ret)
		ret = check_place(x, tp, &at, err);
	if (!ret)
		ret = cnn_tensor_alloc(t, 0, err);
	if (ret)
		return ret;
	x->left -= at.length;
	ret = read_all(x, tp, &at, t->data, err);
	if (ret)
		cnn_tensor_release(t);
	return ret;
}
