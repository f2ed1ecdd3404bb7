// SPDX-License-Identifier: MIT
/* Resize of maps by copies of the nearest element: no arithmetic, every output written once. */
#include <string.h>

#include "resize.h"

CNN_CLONES
static void twice(const uint32_t *x, uint32_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		y[2 * i] = x[i];
		y[2 * i + 1] = x[i];
	}
}

void cnn_repeat(const uint32_t *x, uint32_t *y, int64_t n, int64_t times)
{
	if (times == 1)
		memcpy(y, x, (size_t)n * sizeof(*y));
	else if (times == 2)
		twice(x, y, n);
	else
		for (int64_t i = 0; i < n; i++)
			for (int64_t k = 0; k < times; k++)
				*y++ = x[i];
}

static void gather(const uint32_t *x, const int64_t *at, uint32_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[at[i]];
}

static bool is_twice(const struct choice *c)
{
	for (int64_t i = 0; i < c->out; i++)
		if (c->at[i] != i / 2)
			return false;
	return c->out == 2 * c->in;
}

static bool is_all(const struct choice *c)
{
	for (int64_t i = 0; i < c->out; i++)
		if (c->at[i] != i)
			return false;
	return c->out == c->in;
}

void cnn_resize_choose(const uint32_t *x, uint32_t *y, int64_t planes, const struct choice *rows,
		       const struct choice *columns)
{
	bool doubled = is_twice(columns), all = is_all(columns);

	for (int64_t n = 0; n < planes; n++, x += rows->in * columns->in)
		for (int64_t i = 0; i < rows->out; i++, y += columns->out) {
			const uint32_t *row = x + rows->at[i] * columns->in;

			if (all)
				memcpy(y, row, columns->out * sizeof(*y));
			else if (i && rows->at[i] == rows->at[i - 1])
				memcpy(y, y - columns->out, columns->out * sizeof(*y));
			else if (doubled)
				twice(row, y, columns->in);
			else
				gather(row, columns->at, y, columns->out);
		}
}
