// SPDX-License-Identifier: MIT
/* Tile: a tensor again and again along each axis. */
#include <string.h>

#include "ops.h"

int cnn_infer_tile(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t repeats[CNN_MAX_RANK];
	int ret;

	if (c->node->opset < 6)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "operator set %d, limit 6 or newer",
				   c->node->opset);
	ret = cnn_op_list(c, "repeats", c->in[1], CNN_MAX_RANK, repeats);
	if (ret)
		return ret;
	if (cnn_tensor_count(c->in[1]) != x->rank)
		return cnn_op_fail(c, CNN_EINVAL, "repeats has %lld entries, %d expected",
				   (long long)cnn_tensor_count(c->in[1]), x->rank);
	cnn_infer_like(c, x);
	for (int i = 0; i < x->rank; i++) {
		if (repeats[i] < 0)
			return cnn_op_fail(c, CNN_EINVAL, "repeats[%d] is %lld", i,
					   (long long)repeats[i]);
		c->out[0]->dims[i] = cnn_mul_sat(x->dims[i], repeats[i]);
	}
	return CNN_OK;
}

struct tile {
	const struct cnn_tensor *x, *y;
	int whole;		/* axes from here on are not repeated */
	size_t bytes;		/* of those */
	const char *src;	/* moves through x */
};

/* Writes what axes axis.. of x at src become; gives where the next one begins. */
static char *tile_axes(struct tile *t, int axis, char *dst)
{
	char *begin = dst;
	size_t bytes;

	if (axis == t->whole) {
		memcpy(dst, t->src, t->bytes);
		t->src += t->bytes;
		return dst + t->bytes;
	}
	for (int64_t i = 0; i < t->x->dims[axis]; i++)
		dst = tile_axes(t, axis + 1, dst);
	bytes = (size_t)(dst - begin);
	for (int64_t i = t->x->dims[axis]; i < t->y->dims[axis]; i += t->x->dims[axis]) {
		memcpy(dst, begin, bytes);
		dst += bytes;
	}
	return dst;
}

int cnn_compute_tile(struct cnn_call *c)
{
	struct tile t = { .x = c->in[0], .y = c->out[0], .src = c->in[0]->data };

	if (!cnn_tensor_count(t.y))
		return CNN_OK;
	t.bytes = cnn_dtype_size(t.x->dtype);
	for (t.whole = t.x->rank; t.whole; t.whole--) {
		if (t.x->dims[t.whole - 1] != t.y->dims[t.whole - 1])
			break;
		t.bytes *= (size_t)t.x->dims[t.whole - 1];
	}
	tile_axes(&t, 0, t.y->data);
	return CNN_OK;
}
