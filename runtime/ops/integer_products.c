// SPDX-License-Identifier: MIT
/*
 * IntegerConv, IntegerConvTranspose and IntegerMatMul: sums of products of int8, uint8 or int16,
 * less their zero points, as int32, modulo 2^32. Inputs: x, weights, and optionally the zero point
 * of x and those of the weights, one or one for each output channel. IntegerConv has another one
 * with the attribute uneven_groups: the group of each output channel, int32, ascending.
 */
#include "geom.h"
#include "groups.h"
#include "quant.h"

static int check_types(const struct cnn_call *c, int64_t channels)
{
	return CNN_WANT(c, c->in[0], CNN_INT8, CNN_UINT8, CNN_INT16) ?:
	       CNN_WANT(c, c->in[1], CNN_INT8, CNN_UINT8, CNN_INT16) ?:
	       cnn_quant_param(c, 2, c->in[0]->dtype, 1) ?:
	       cnn_quant_param(c, 3, c->in[1]->dtype, channels);
}

static int32_t element(const struct cnn_tensor *t, int64_t i, int32_t zero)
{
	switch (t->dtype) {
	case CNN_INT8:
		return ((const int8_t *)t->data)[i] - zero;
	case CNN_UINT8:
		return ((const uint8_t *)t->data)[i] - zero;
	default:
		return ((const int16_t *)t->data)[i] - zero;
	}
}

/* ---- convolutions ------------------------------------------------------------------------ */

struct conv {
	const struct cnn_call *c;
	struct cnn_window w;
	struct cnn_geom g;
	bool transposed;
	const int32_t *groups;		/* of the output channels; NULL: as many in each */
	int32_t x_zero;
	int64_t group_in, group_out;	/* channels of a group */
};

static int check_groups(const struct cnn_call *c, const struct cnn_window *w)
{
	const struct cnn_tensor *t = cnn_in(c, 4);

	if (!t == c->node->params.window.uneven_groups)
		return cnn_op_fail(c, CNN_EINVAL, "one of input 4 and uneven_groups alone");
	if (!t || (t->dtype == CNN_INT32 && t->rank == 1 && t->dims[0] == w->out_ch))
		return CNN_OK;
	return cnn_op_fail(c, CNN_EINVAL, "input 4 is not one int32 for each of %lld output "
			   "channels", (long long)w->out_ch);
}

int cnn_infer_integer_conv(struct cnn_call *c)
{
	struct cnn_window w;
	int ret = cnn_infer_window(c, c->in[1], &w) ?: check_types(c, w.out_ch) ?:
		  check_groups(c, &w);

	c->out[0]->dtype = CNN_INT32;
	return ret;
}

/* The element of a plane of x that output @out reads at a tap; -1: padding, or none. */
static int64_t place_of(const struct conv *v, int64_t out, int64_t tap)
{
	const struct cnn_geom *g = &v->g;
	int64_t place = 0, scale = 1;

	for (int i = 2; i >= 0; i--) {
		int64_t k = tap % g->kernel[i] * g->dilation[i], o = out % g->out[i];
		int64_t at = v->transposed ? o + g->pad[i] - k : o * g->stride[i] - g->pad[i] + k;

		if (v->transposed && at % g->stride[i])
			return -1;
		at /= v->transposed ? g->stride[i] : 1;
		if (at < 0 || at >= g->in[i])
			return -1;
		place += at * scale;
		scale *= g->in[i];
		tap /= g->kernel[i];
		out /= g->out[i];
	}
	return place;
}

static int32_t sum_at(const struct conv *v, int64_t image, int64_t k, int64_t out)
{
	const struct cnn_tensor *x = v->c->in[0], *w = v->c->in[1];
	int32_t zero = cnn_zero_point(cnn_in(v->c, 3), k);
	int64_t first = (v->groups ? v->groups[k] : k / v->group_out) * v->group_in;
	uint32_t sum = 0;

	for (int64_t tap = 0; tap < v->g.taps; tap++) {
		int64_t place = place_of(v, out, tap);

		for (int64_t c = 0; place >= 0 && c < v->group_in; c++) {
			int64_t in = first + c, row;

			row = v->transposed ? in * v->group_out + k % v->group_out :
					      k * v->group_in + c;
			sum += (uint32_t)element(x, (image * v->w.in_ch + in) * v->g.in_plane +
							    place, v->x_zero) *
			       (uint32_t)element(w, row * v->g.taps + tap, zero);
		}
	}
	return (int32_t)sum;
}

/* Output planes, counted over images and channels. */
static void run_planes(const void *arg, int64_t first, int64_t n)
{
	const struct conv *v = arg;
	int32_t *y = (int32_t *)v->c->out[0]->data + first * v->g.out_plane;

	for (int64_t p = first; p < first + n; p++)
		for (int64_t i = 0; i < v->g.out_plane; i++)
			*y++ = sum_at(v, p / v->w.out_ch, p % v->w.out_ch, i);
}

int cnn_compute_integer_conv(struct cnn_call *c)
{
	struct conv v = {
		.c = c, .transposed = cnn_op_base(c->node->op) == CNN_OP_CONV_TRANSPOSE,
		.x_zero = cnn_zero_point(cnn_in(c, 2), 0),
	};
	int ret = cnn_window_resolve(c->node, c->in[0], c->in[1], &v.w, c->err);

	if (ret)
		return ret;
	if (cnn_in(c, 4)) {
		v.groups = c->in[4]->data;
		if (!cnn_are_groups(v.groups, v.w.out_ch, v.w.group))
			return cnn_op_fail(c, CNN_EINVAL, "input 4: groups are not ascending, or "
					   "not below %lld", (long long)v.w.group);
	}
	v.g = cnn_geom_of(&v.w);
	v.group_in = v.w.in_ch / v.w.group;
	v.group_out = v.w.out_ch / v.w.group;
	cnn_for_blocks(c, v.w.batch * v.w.out_ch, 1, run_planes, &v);
	return CNN_OK;
}

/* ---- matrices ---------------------------------------------------------------------------- */

int cnn_infer_integer_matmul(struct cnn_call *c)
{
	const struct cnn_tensor *w = c->in[1];
	int ret;

	if (w->rank != 2)
		return cnn_op_fail(c, CNN_EINVAL, "%d dimensions of weights, 2 wanted", w->rank);
	ret = cnn_matmul_shape(c, c->in[0], w) ?: check_types(c, w->dims[1]);
	c->out[0]->dtype = CNN_INT32;
	return ret;
}

static void run_rows(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	const struct cnn_tensor *x = c->in[0], *w = c->in[1], *w_zero = cnn_in(c, 3);
	int64_t depth = w->dims[0], columns = w->dims[1];
	int32_t x_zero = cnn_zero_point(cnn_in(c, 2), 0);
	int32_t *y = (int32_t *)c->out[0]->data + first * columns;

	for (int64_t row = first; row < first + n; row++)
		for (int64_t k = 0; k < columns; k++) {
			int32_t zero = cnn_zero_point(w_zero, k);
			uint32_t sum = 0;

			for (int64_t i = 0; i < depth; i++)
				sum += (uint32_t)element(x, row * depth + i, x_zero) *
				       (uint32_t)element(w, i * columns + k, zero);
			*y++ = (int32_t)sum;
		}
}

int cnn_compute_integer_matmul(struct cnn_call *c)
{
	int64_t columns = c->in[1]->dims[1], n = cnn_tensor_count(c->out[0]);

	if (n)
		cnn_for_blocks(c, n / columns, 1, run_rows, c);
	return CNN_OK;
}
