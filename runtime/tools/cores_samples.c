/* SPDX-License-Identifier: MIT */
/* --samples and --classes: every second sample calibrates, the others measure. */
#include "cnnrun.h"
#include "cores_report.h"

#include <inttypes.h>
#include <string.h>

/* Copies the elements of the first axis with an even or odd index. */
static int take_half(const struct cnn_tensor *from, bool odd, struct cnn_tensor *to)
{
	size_t size = (size_t)(cnn_tensor_bytes(from) / from->dims[0]);
	char *data;

	*to = *from;
	to->data = NULL;
	to->owned = false;
	to->dims[0] = (from->dims[0] + !odd) / 2;
	if (cnn_tensor_alloc(to, 0, NULL))
		return complain(EXIT_FAILED, "out of memory");
	data = to->data;
	for (int64_t i = 0; i < to->dims[0]; i++)
		memcpy(data + (size_t)i * size,
		       (char *)from->data + (size_t)(2 * i + odd) * size, size);
	return EXIT_DONE;
}

static int share_out(struct cores_report *r, const struct cnn_tensor *samples,
		     const struct cnn_tensor *labels)
{
	int ret = take_half(samples, false, &r->calibration) ?:
		  take_half(samples, true, &r->test);

	return ret || !labels->data ? ret : take_half(labels, true, &r->labels);
}

int cores_read_samples(struct cores_report *r)
{
	struct cnn_tensor samples = { 0 }, labels = { 0 };
	const char *path = r->o->samples;
	int ret;

	if (!path)
		return EXIT_DONE;
	ret = read_samples(path, &samples);
	if (!ret && samples.dims[0] < 4)
		ret = complain(EXIT_FAILED, "--samples %s: samples: %" PRId64 ", at least 4 are "
			       "wanted: every second one calibrates, the others measure", path,
			       samples.dims[0]);
	if (!ret && r->o->classes)
		ret = read_labels(r->o->classes, samples.dims[0], &labels);
	ret = ret ?: share_out(r, &samples, &labels);
	cnn_tensor_release(&samples);
	cnn_tensor_release(&labels);
	return ret;
}
