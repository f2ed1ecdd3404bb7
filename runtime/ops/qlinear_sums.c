// SPDX-License-Identifier: MIT
/*
 * QLinearSums: what is left of a quantised product when its sums of products have been made
 * without zero points. Inputs: the sums, int32; what is added for each channel; optionally what
 * each channel takes the last channel of its group times, which is then a sum of inputs alone;
 * optionally the scale of each channel and the zero point of the result, which then has its type;
 * optionally the zero point of the inputs, if it was not known before, and what each channel takes
 * it times.
 */
#include <stdlib.h>

#include "quant.h"

struct shape {
	int64_t outer, groups, sums, inner;	/* sums of a group, with the one of inputs */
	bool by_inputs;
};

static int get_shape(const struct cnn_call *c, struct shape *s)
{
	const struct cnn_tensor *x = c->in[0];
	int64_t axis = c->node->params.sums.axis;
	int ret = cnn_op_axis(c, &axis, x->rank);

	if (ret)
		return ret;
	*s = (struct shape){
		.outer = 1, .groups = c->node->params.sums.group, .inner = 1,
		.by_inputs = cnn_in(c, 2),
	};
	if (s->groups < 1 || x->dims[axis] % s->groups || x->dims[axis] / s->groups <= s->by_inputs)
		return cnn_op_fail(c, CNN_EINVAL, "%lld channels in %lld groups",
				   (long long)x->dims[axis], (long long)s->groups);
	s->sums = x->dims[axis] / s->groups;
	for (int i = 0; i < x->rank; i++)
		*(i < axis ? &s->outer : &s->inner) *= i == axis ? 1 : x->dims[i];
	return CNN_OK;
}

static int want_list(const struct cnn_call *c, int i, enum cnn_dtype type, int64_t count)
{
	const struct cnn_tensor *t = cnn_in(c, i);

	if (!t || (t->dtype == type && t->rank == 1 && t->dims[0] == count))
		return CNN_OK;
	return cnn_op_fail(c, CNN_EINVAL, "input %d is not a list of %lld %s", i, (long long)count,
			   cnn_dtype_name(type));
}

int cnn_infer_qlinear_sums(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct shape s;
	int64_t channels, axis;
	int ret = CNN_WANT(c, c->in[0], CNN_INT32) ?: get_shape(c, &s);

	if (ret)
		return ret;
	channels = s.groups * (s.sums - s.by_inputs);
	ret = want_list(c, 1, CNN_INT32, channels) ?: want_list(c, 2, CNN_INT32, channels) ?:
	      want_list(c, 3, CNN_FLOAT32, channels) ?: want_list(c, 6, CNN_INT32, channels);
	if (!ret && (!cnn_in(c, 3) != !cnn_in(c, 4) || !cnn_in(c, 5) != !cnn_in(c, 6)))
		return cnn_op_fail(c, CNN_EINVAL, "one of inputs 3 and 4, or 5 and 6, alone");
	if (!ret && cnn_in(c, 5))
		ret = cnn_quant_bytes(c, 5);
	if (!ret && cnn_in(c, 5))
		ret = cnn_quant_param(c, 5, c->in[5]->dtype, 1);
	if (!ret && cnn_in(c, 4))
		ret = cnn_quant_bytes(c, 4);
	if (!ret)
		ret = cnn_infer_like(c, c->in[0]);
	if (ret)
		return ret;
	axis = c->node->params.sums.axis;
	y->dims[axis + (axis < 0 ? y->rank : 0)] = channels;
	if (cnn_in(c, 4))
		y->dtype = c->in[4]->dtype;
	return cnn_in(c, 4) && cnn_tensor_count(c->in[4]) != 1 ?
	       cnn_op_fail(c, CNN_EINVAL, "input 4 is not one zero point") : CNN_OK;
}

/* The sums of a channel; inputs: those of inputs alone. */
static void correct(const int32_t *sums, const int32_t *inputs, uint32_t add, uint32_t times,
		    int64_t n, int32_t *acc)
{
	for (int64_t i = 0; i < n; i++)
		acc[i] = (int32_t)((uint32_t)sums[i] + add);
	for (int64_t i = 0; times && i < n; i++)
		acc[i] = (int32_t)((uint32_t)acc[i] - times * (uint32_t)inputs[i]);
}

/* One run of group g: all its channels, inner elements of each. */
static void finish_group(const struct cnn_call *c, const struct shape *s, int64_t g,
			 const int32_t *sums, int32_t *acc, uint8_t *y)
{
	const struct cnn_tensor *scale = cnn_in(c, 3);
	int64_t channels = s->sums - s->by_inputs, size = scale ? 1 : sizeof(*acc);
	const uint32_t *add = c->in[1]->data, *times = s->by_inputs ? c->in[2]->data : NULL;
	const uint32_t *factor = cnn_in(c, 6) ? c->in[6]->data : NULL;
	uint32_t zero = (uint32_t)cnn_zero_point(cnn_in(c, 5), 0);
	const int32_t *inputs = sums + channels * s->inner;
	struct cnn_range range = { 0 };

	if (scale)
		range = cnn_range_of(c->out[0]->dtype, cnn_zero_point(c->in[4], 0));
	for (int64_t i = g * channels; i < (g + 1) * channels; i++) {
		int32_t *to = scale ? acc : (int32_t *)y;

		correct(sums, inputs, add[i] - (factor ? zero * factor[i] : 0),
			times ? times[i] : 0, s->inner, to);
		if (scale)
			cnn_requantize(&range, (const float *)scale->data + i, 0, acc, s->inner, y);
		sums += s->inner;
		y += s->inner * size;
	}
}

int cnn_compute_qlinear_sums(struct cnn_call *c)
{
	int64_t size = cnn_in(c, 3) ? 1 : sizeof(int32_t), run;
	const int32_t *sums = c->in[0]->data;
	uint8_t *y = c->out[0]->data;
	struct shape s;
	int32_t *acc;
	int ret = get_shape(c, &s);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	acc = malloc((size_t)s.inner * sizeof(*acc));
	if (!acc)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld sums", (long long)s.inner);
	run = (s.sums - s.by_inputs) * s.inner;
	for (int64_t i = 0; i < s.outer * s.groups; i++, sums += s.sums * s.inner, y += run * size)
		finish_group(c, &s, i % s.groups, sums, acc, y);
	free(acc);
	return CNN_OK;
}
