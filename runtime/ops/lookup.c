// SPDX-License-Identifier: MIT
/*
 * Lookup, which the TensorFlow Lite reader makes: y = table[x] for x of 8 or 16 bits. The table has
 * 256 or 65536 elements of any type, those for negative x in its second half. Any function of one quantised
 * tensor is such a table.
 */
#include <string.h>

#include "quant.h"

int cnn_infer_lookup(struct cnn_call *c)
{
	const struct cnn_tensor *table = c->in[1];
	int ret = CNN_WANT(c, c->in[0], CNN_INT8, CNN_UINT8, CNN_INT16, CNN_UINT16);
	int64_t n = cnn_dtype_size(c->in[0]->dtype) > 1 ? 65536 : 256;

	if (ret)
		return ret;
	if (table->rank != 1 || table->dims[0] != n)
		return cnn_op_fail(c, CNN_EINVAL, "the table is not one list of %lld elements",
				   (long long)n);
	cnn_infer_like(c, c->in[0]);
	c->out[0]->dtype = table->dtype;
	return CNN_OK;
}

struct lookup {
	const void *x;
	const char *table;
	char *y;
	size_t size;
};

static void look_up(const void *arg, int64_t first, int64_t n)
{
	const struct lookup *l = arg;
	const uint8_t *x = (const uint8_t *)l->x + first;
	char *y = l->y + first * (int64_t)l->size;

	if (l->size == 1)
		for (int64_t i = 0; i < n; i++)
			y[i] = l->table[x[i]];
	else
		for (int64_t i = 0; i < n; i++, y += l->size)
			memcpy(y, l->table + x[i] * l->size, l->size);
}

static void look_up_wide(const void *arg, int64_t first, int64_t n)
{
	const struct lookup *l = arg;
	const uint16_t *x = (const uint16_t *)l->x + first;
	char *y = l->y + first * (int64_t)l->size;

	for (int64_t i = 0; i < n; i++, y += l->size)
		memcpy(y, l->table + x[i] * l->size, l->size);
}

int cnn_compute_lookup(struct cnn_call *c)
{
	const struct lookup l = {
		.x = c->in[0]->data, .table = c->in[1]->data, .y = c->out[0]->data,
		.size = cnn_dtype_size(c->in[1]->dtype),
	};

	cnn_for_blocks(c, cnn_tensor_count(c->in[0]), CNN_BLOCK,
		       cnn_dtype_size(c->in[0]->dtype) > 1 ? look_up_wide : look_up, &l);
	return CNN_OK;
}
