// SPDX-License-Identifier: MIT
/*
 * QLinearResize, which the TensorFlow Lite reader makes: bytes of maps (NCHW) mixed linearly, with
 * weights of 11 bits after the point, rounded once, halves up. That is XNNPACK's arithmetic;
 * input and output have one scale and zero point.
 */
#include <math.h>
#include <stdlib.h>

#include "quant.h"

#define WEIGHT_BITS	11

int cnn_infer_qlinear_resize(struct cnn_call *c)
{
	enum cnn_resize_coordinates mode = c->node->params.resize.coordinates;
	struct cnn_tensor *y = c->out[0];
	int64_t size[2];
	int ret = cnn_quant_bytes(c, 0);

	if (!ret && (c->in[0]->rank != 4 || cnn_tensor_count(c->in[1]) != 2))
		return cnn_op_fail(c, CNN_EINVAL, "%d dimensions and %lld sizes, 4 and 2 wanted",
				   c->in[0]->rank, (long long)cnn_tensor_count(c->in[1]));
	if (!ret && mode != CNN_RESIZE_HALF_PIXEL && mode != CNN_RESIZE_ALIGN_CORNERS &&
	    mode != CNN_RESIZE_ASYMMETRIC)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute coordinate_transformation_mode");
	if (!ret)
		ret = cnn_op_list(c, "sizes", c->in[1], 2, size);
	if (ret)
		return ret;
	cnn_infer_like(c, c->in[0]);
	for (int i = 0; i < 2; i++) {
		int64_t in = c->in[0]->dims[2 + i];

		if (size[i] < 1 || size[i] > INT32_MAX || in < 1 || in > INT32_MAX)
			return cnn_op_fail(c, CNN_EINVAL, "size %lld from %lld, limits 1 and %d",
					   (long long)size[i], (long long)in, INT32_MAX);
		y->dims[2 + i] = size[i];
	}
	return CNN_OK;
}

/* Which two elements of an axis an output mixes: (2^11 - weight) * [low] + weight * [high]. */
struct tap {
	int64_t low, high;
	int32_t weight;
};

static struct tap make_tap(enum cnn_resize_coordinates mode, int64_t in, int64_t out, int64_t i)
{
	int corner = mode == CNN_RESIZE_ALIGN_CORNERS && out != 1;
	float scale = (float)(in - corner) / (float)(out - corner), x = (float)i * scale;
	struct tap t;

	if (mode == CNN_RESIZE_HALF_PIXEL)
		x += 0.5f * scale - 0.5f;
	x = fminf(fmaxf(x, 0), (float)(in - 1));
	t.low = (int64_t)x < in ? (int64_t)x : in - 1;	/* in - 1 may round up */
	t.high = t.low + 1 < in ? t.low + 1 : in - 1;
	t.weight = (int32_t)nearbyintf((x - (float)t.low) * (1 << WEIGHT_BITS));
	return t;
}

static struct tap *make_taps(const struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	int64_t h = y->dims[2], w = y->dims[3];
	struct tap *taps = malloc(sizeof(*taps) * (size_t)(h + w));

	for (int64_t i = 0; taps && i < h + w; i++)
		taps[i] = i < h ? make_tap(c->node->params.resize.coordinates, x->dims[2], h, i) :
				  make_tap(c->node->params.resize.coordinates, x->dims[3], w, i - h);
	return taps;
}

struct resize_call {
	const struct cnn_call *c;
	const struct tap *rows, *columns;
};

#define ROW(name, type)									\
static void name(const void *pa, const void *pb, int32_t weight, const struct tap *t,	\
		 int64_t n, void *py)							\
{											\
	const int64_t one = 1 << WEIGHT_BITS, half = one * one / 2;			\
	const type *a = pa, *b = pb;							\
	type *y = py;									\
											\
	for (int64_t i = 0; i < n; i++) {						\
		int64_t low = t[i].low, high = t[i].high, w = t[i].weight;		\
		int64_t above = a[low] * one + (a[high] - a[low]) * w;			\
		int64_t below = b[low] * one + (b[high] - b[low]) * w;			\
											\
		y[i] = (type)((above * one + (below - above) * weight + half) >>	\
			      2 * WEIGHT_BITS);						\
	}										\
}

ROW(row_i8, int8_t)
ROW(row_u8, uint8_t)

static void some_rows(const void *arg, int64_t first, int64_t n)
{
	const struct resize_call *r = arg;
	const struct cnn_tensor *x = r->c->in[0], *y = r->c->out[0];
	int64_t h = x->dims[2], w = x->dims[3], out_h = y->dims[2], out_w = y->dims[3];

	for (int64_t i = first; i < first + n; i++) {
		const struct tap *t = &r->rows[i % out_h];
		const char *plane = (const char *)x->data + i / out_h * h * w;
		char *to = (char *)y->data + i * out_w;

		(x->dtype == CNN_INT8 ? row_i8 : row_u8)(plane + t->low * w, plane + t->high * w,
							 t->weight, r->columns, out_w, to);
	}
}

int cnn_compute_qlinear_resize(struct cnn_call *c)
{
	const struct cnn_tensor *y = c->out[0];
	struct resize_call r = { .c = c };
	struct tap *taps;

	if (!cnn_tensor_count(y))
		return CNN_OK;
	taps = make_taps(c);
	if (!taps)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	r.rows = taps;
	r.columns = taps + y->dims[2];
	cnn_for_blocks(c, cnn_tensor_count(y) / y->dims[3], 1 + CNN_BLOCK / y->dims[3], some_rows,
		       &r);
	free(taps);
	return CNN_OK;
}
