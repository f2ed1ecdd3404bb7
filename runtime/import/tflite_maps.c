// SPDX-License-Identifier: MIT
/* TensorFlow Lite's operators of maps as nodes: windows, borders, means, other sizes. */
#include "tflite_ops.h"

void tfl_make_pool(struct tfl *m, const struct tfl_op *op)
{
	bool max = op->kind->code == MAX_POOL_2D;
	const struct fb_table *o = &op->options;
	int64_t stride[] = { fb_int(o, 2, 4, 0), fb_int(o, 1, 4, 0) };
	const struct cnn_window_ints kernel = { 2, { fb_int(o, 4, 4, 0), fb_int(o, 3, 4, 0) } };
	int v;

	tfl_want_maps(m, op, op->in[0]);
	tfl_want_same(m, op, op->in[0]);
	v = tfl_value(m, op, op->in[0], TFL_NCHW);
	v = tfl_node(m, op, max ? CNN_OP_MAX_POOL : CNN_OP_AVERAGE_POOL, 1, &v);
	tfl_params(m)->window.kernel_shape = kernel;
	tfl_fill_window(m, op, stride, NULL, fb_int(o, 0, 1, 0));
	tfl_give_act(m, op, TFL_NCHW, fb_int(o, 5, 1, 0), max ? BOUND_XNNPACK : BOUND_TFLITE, v);
}

void tfl_make_pad(struct tfl *m, const struct tfl_op *op)
{
	int64_t pads[2 * CNN_MAX_RANK], onnx[2 * CNN_MAX_RANK] = { 0 };
	int rank = m->tensors[op->in[0]].rank, in[3];
	size_t n;

	tfl_want_like(m, op);
	tfl_want_same(m, op, op->in[0]);
	tfl_integers(m, op, op->in[1], pads, 2 * CNN_MAX_RANK, &n);
	if (!m->status && n != 2 * (size_t)rank)
		tfl_fail(m, op, CNN_EINVAL, "%zu paddings, %d dimensions", n, rank);
	for (int i = 0; i < rank && !m->status; i++) {
		int axis = rank == 4 ? (int)tfl_nchw_axis(i) : i;

		onnx[axis] = pads[2 * i];
		onnx[axis + rank] = pads[2 * i + 1];
		if (pads[2 * i] < 0 || pads[2 * i + 1] < 0)
			tfl_fail(m, op, CNN_EINVAL, "padding %lld and %lld of axis %d",
				 (long long)pads[2 * i], (long long)pads[2 * i + 1], i);
	}
	in[0] = tfl_value(m, op, op->in[0], TFL_NCHW);
	in[1] = tfl_list(m, onnx, 2 * rank);
	in[2] = tfl_is_float(m, op) ? -1 : tfl_zero(m, op, op->in[0]);
	tfl_give(m, op, TFL_NCHW, tfl_node(m, op, CNN_OP_PAD, in[2] < 0 ? 2 : 3, in));
}

/* Height and width of maps only: a global average, of quantised ones from their sums. */
void tfl_make_mean(struct tfl *m, const struct tfl_op *op)
{
	int64_t axes[CNN_MAX_RANK];
	unsigned int set = 0;
	int in[5];
	size_t n;

	tfl_integers(m, op, op->in[1], axes, CNN_MAX_RANK, &n);
	for (size_t i = 0; i < n; i++)
		set |= axes[i] >= -4 && axes[i] < 4 ? 1u << (axes[i] & 3) : 1u << 4;
	if (m->tensors[op->in[0]].rank != 4 || set != 6)
		tfl_fail(m, op, CNN_EUNSUPPORTED, "axes other than height and width of a map");
	in[0] = tfl_value(m, op, op->in[0], TFL_NCHW);
	if (tfl_is_float(m, op)) {
		in[0] = tfl_node(m, op, CNN_OP_GLOBAL_AVERAGE_POOL, 1, in);
	} else {
		in[1] = tfl_scale(m, op, op->in[0]);
		in[2] = tfl_zero(m, op, op->in[0]);
		in[3] = tfl_scale(m, op, op->out);
		in[4] = tfl_zero(m, op, op->out);
		in[0] = tfl_node(m, op, CNN_OP_QLINEAR_GLOBAL_AVERAGE_POOL, 5, in);
	}
	if (m->tensors[op->out].rank != 4)
		in[0] = tfl_as_declared(m, op, in[0]);
	tfl_give(m, op, TFL_NCHW, in[0]);
}
