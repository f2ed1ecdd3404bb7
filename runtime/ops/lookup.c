// SPDX-License-Identifier: MIT
/*
 * Lookup, which the TensorFlow Lite reader makes: y = table[x] for bytes x. The table has 256
 * elements of any type, those for negative int8 in its second half. Any function of one quantised
 * tensor is such a table.
 */
#include <string.h>

#include "quant.h"

int cnn_infer_lookup(struct cnn_call *c)
{
	const struct cnn_tensor *table = c->in[1];
	int ret = cnn_quant_bytes(c, 0);

	if (ret)
		return ret;
	if (table->rank != 1 || table->dims[0] != 256)
		return cnn_op_fail(c, CNN_EINVAL, "the table is not one list of 256 elements");
	cnn_infer_like(c, c->in[0]);
	c->out[0]->dtype = table->dtype;
	return CNN_OK;
}

struct lookup {
	const uint8_t *x;
	const char *table;
	char *y;
	size_t size;
};

static void look_up(const void *arg, int64_t first, int64_t n)
{
	const struct lookup *l = arg;
	const uint8_t *x = l->x + first;
	char *y = l->y + first * (int64_t)l->size;

	if (l->size == 1)
		for (int64_t i = 0; i < n; i++)
			y[i] = l->table[x[i]];
	else
		for (int64_t i = 0; i < n; i++, y += l->size)
			memcpy(y, l->table + x[i] * l->size, l->size);
}

int cnn_compute_lookup(struct cnn_call *c)
{
	const struct lookup l = {
		.x = c->in[0]->data, .table = c->in[1]->data, .y = c->out[0]->data,
		.size = cnn_dtype_size(c->in[1]->dtype),
	};

	cnn_for_blocks(c, cnn_tensor_count(c->in[0]), CNN_BLOCK, look_up, &l);
	return CNN_OK;
}
