// SPDX-License-Identifier: MIT
/* What back ends append to: program and weight images, tasks and spans. */
#include <stdlib.h>
#include <string.h>

#include "backend.h"

static int64_t buf_grow(struct cnn_compile *compile, struct cnn_image *b, int64_t need)
{
	int64_t cap = cnn_max(b->cap * 2, cnn_round_up(need, 4096));
	uint8_t *data = realloc(b->data, (size_t)cap);

	if (!data)
		return cnn_fail(compile->err, CNN_ENOMEM, "no memory for %lld bytes of %s",
				(long long)cap, b->what);
	b->data = data;
	b->cap = cap;
	return 0;
}

int64_t cnn_image_add(struct cnn_compile *compile, struct cnn_image *b, int64_t len, int64_t align)
{
	int64_t at = cnn_round_up(b->len, align);

	if (len > b->max - at)
		return cnn_fail(compile->err, CNN_ELIMIT, "%s would exceed %lld bytes", b->what,
				(long long)b->max);
	if (at + len > b->cap && buf_grow(compile, b, at + len))
		return CNN_ENOMEM;
	memset(b->data + b->len, 0, (size_t)(at + len - b->len));
	b->len = at + len;
	return at;
}

/* A list of n elements with room for one more; NULL after a message: it stays as it is. */
static void *extend(struct cnn_compile *compile, void *list, int n, size_t size)
{
	void *more = reallocarray(list, (size_t)n + 1, size);

	if (!more)
		cnn_fail(compile->err, CNN_ENOMEM, "no memory for %d tasks or spans", n + 1);
	return more;
}

struct cnn_task *cnn_add_task(struct cnn_compile *compile, int64_t program, uint32_t length)
{
	struct cnn_lowered *out = compile->out;
	struct cnn_task *tasks = extend(compile, out->tasks, out->n_tasks, sizeof(*tasks));

	if (!tasks)
		return NULL;
	out->tasks = tasks;
	tasks[out->n_tasks] = (struct cnn_task){ .offset = program, .length = length };
	return &tasks[out->n_tasks++];
}

struct cnnrt_span *cnn_add_span(struct cnn_compile *compile)
{
	struct cnn_lowered *out = compile->out;
	struct cnnrt_span *spans = extend(compile, out->spans, out->n_spans, sizeof(*spans));

	if (!spans)
		return NULL;
	out->spans = spans;
	return &out->spans[out->n_spans++];
}
