// SPDX-License-Identifier: MIT
/* DFT and STFT: discrete Fourier transforms, of lines and of windowed pieces of a signal. */
#include <stdlib.h>

#include "ops.h"

#define MAX_LENGTH	((int64_t)1 << 24)	/* its table takes 256 MiB */

/* Transforms of n elements, of which in are there and the rest are zeros, to out complex ones. */
struct transform {
	int64_t n, in, out;
	int64_t step;			/* elements of x or y from one of a line to the next */
	int parts;			/* of an element of x: 1 real, 2 complex */
	bool inverse;
	const float *window;		/* factors of the elements; NULL: none */
	double *cosine, *sine;		/* of i / n turns */
};

static int make_table(const struct cnn_call *c, struct transform *t)
{
	t->cosine = malloc(2 * t->n * sizeof(*t->cosine));
	if (!t->cosine)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for scratch");
	t->sine = t->cosine + t->n;
	for (int64_t i = 0; i < t->n; i++) {
		double turn = (double)i / (double)t->n;

		t->cosine[i] = cnn_cos_turn(turn);
		t->sine[i] = cnn_cos_turn(turn + 0.75) * (t->inverse ? 1 : -1);
	}
	return CNN_OK;
}

/* Output k of a line. */
static void one_output(const struct transform *t, const float *x, int64_t k, float *y)
{
	double real = 0, imaginary = 0;

	for (int64_t j = 0, at = 0; j < t->in; j++, at += k, at -= at >= t->n ? t->n : 0) {
		const float *v = x + j * t->step * t->parts;
		double factor = t->window ? t->window[j] : 1;
		double re = v[0] * factor, im = t->parts > 1 ? v[1] * factor : 0;

		real += re * t->cosine[at] - im * t->sine[at];
		imaginary += re * t->sine[at] + im * t->cosine[at];
	}
	y[0] = (float)(t->inverse ? real / (double)t->n : real);
	y[1] = (float)(t->inverse ? imaginary / (double)t->n : imaginary);
}

static void one_line(const struct transform *t, const float *x, float *y)
{
	for (int64_t k = 0; k < t->out; k++)
		one_output(t, x, k, y + 2 * k * t->step);
}

/* A length or a step that is input i. */
static int read_length(struct cnn_call *c, int i, const char *name, int64_t *v)
{
	if (cnn_tensor_count(c->in[i]) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "%s is not one number", name);
	return cnn_op_list(c, name, c->in[i], 1, v);
}

static int check_length(struct cnn_call *c, const char *name, int64_t v)
{
	if (v >= 1 && v <= MAX_LENGTH)
		return CNN_OK;
	return cnn_op_fail(c, CNN_ELIMIT, "%s is %lld, limits 1 to %lld", name, (long long)v,
			   (long long)MAX_LENGTH);
}

/* Real or complex numbers? */
static int read_parts(struct cnn_call *c, bool onesided, int *parts)
{
	const struct cnn_tensor *x = c->in[0];

	*parts = (int)x->dims[x->rank - 1];
	if (x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 2)
		return cnn_op_fail(c, CNN_EINVAL, "the last axis has %lld elements, 1 or 2 wanted",
				   (long long)x->dims[x->rank - 1]);
	if (onesided && *parts == 2)
		return cnn_op_fail(c, CNN_EINVAL, "attribute onesided with complex numbers");
	return CNN_OK;
}

/* Before operator set 20 the axis is an attribute. */
static int read_axis(struct cnn_call *c, int64_t *axis)
{
	int ret = CNN_OK;

	*axis = c->node->opset < 20 ? c->node->params.dft.axis : -2;
	if (cnn_in(c, 2) && cnn_tensor_count(c->in[2]) == 1)
		ret = cnn_op_list(c, "axis", c->in[2], 1, axis);
	if (!ret)
		ret = cnn_op_axis(c, axis, c->in[0]->rank);
	if (!ret && *axis == c->in[0]->rank - 1)
		ret = cnn_op_fail(c, CNN_EINVAL, "axis %lld holds the parts of a number",
				  (long long)*axis);
	return ret;
}

static int resolve_dft(struct cnn_call *c, struct transform *t, int64_t *axis)
{
	const struct cnn_dft_params *p = &c->node->params.dft;
	const struct cnn_tensor *x = c->in[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	*t = (struct transform){ .step = 1, .inverse = p->inverse };
	if (!ret && x->rank < 2)
		ret = cnn_op_fail(c, CNN_EINVAL, "%d axes, 2 or more wanted", x->rank);
	if (!ret && p->inverse && p->onesided)
		ret = cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute onesided of an inverse");
	if (!ret)
		ret = read_parts(c, p->onesided, &t->parts);
	if (!ret)
		ret = read_axis(c, axis);
	if (ret)
		return ret;
	t->n = x->dims[*axis];
	if (cnn_in(c, 1))
		ret = read_length(c, 1, "dft_length", &t->n);
	if (!ret)
		ret = check_length(c, "dft_length", t->n);
	t->in = t->n < x->dims[*axis] ? t->n : x->dims[*axis];
	t->out = p->onesided ? t->n / 2 + 1 : t->n;
	for (int i = (int)*axis + 1; i < x->rank - 1; i++)
		t->step *= x->dims[i];
	return ret;
}

int cnn_infer_dft(struct cnn_call *c)
{
	struct transform t;
	int64_t axis;
	int ret = resolve_dft(c, &t, &axis);

	if (ret)
		return ret;
	cnn_infer_like(c, c->in[0]);
	c->out[0]->dims[axis] = t.out;
	c->out[0]->dims[c->in[0]->rank - 1] = 2;
	return CNN_OK;
}

int cnn_compute_dft(struct cnn_call *c)
{
	const float *x = c->in[0]->data;
	float *y = c->out[0]->data;
	int64_t axis, lines, dim;
	struct transform t;
	int ret = resolve_dft(c, &t, &axis);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	ret = make_table(c, &t);
	dim = c->in[0]->dims[axis];
	lines = cnn_tensor_count(c->out[0]) / 2 / t.out;
	for (int64_t i = 0; !ret && i < lines; i++) {
		int64_t outer = i / t.step, inner = i % t.step;

		one_line(&t, x + (outer * dim * t.step + inner) * t.parts,
			 y + (outer * t.out * t.step + inner) * 2);
	}
	free(t.cosine);
	return ret;
}

/* Frames of n elements, step apart. */
static int resolve_stft(struct cnn_call *c, struct transform *t, int64_t *step)
{
	bool onesided = c->node->params.dft.onesided;
	const struct cnn_tensor *x = c->in[0], *window = cnn_in(c, 2);
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	*t = (struct transform){ .step = 1 };
	if (!ret && x->rank != 3)
		ret = cnn_op_fail(c, CNN_EINVAL, "%d axes, 3 wanted", x->rank);
	if (!ret && window)
		ret = CNN_WANT(c, window, CNN_FLOAT32);
	if (!ret)
		ret = read_parts(c, onesided, &t->parts);
	if (!ret)
		ret = read_length(c, 1, "frame_step", step);
	if (!ret)
		ret = check_length(c, "frame_step", *step);
	if (!ret && cnn_in(c, 3))
		ret = read_length(c, 3, "frame_length", &t->n);
	else
		t->n = window ? cnn_tensor_count(window) : 0;
	if (!ret)
		ret = check_length(c, "frame_length", t->n);
	if (!ret && (t->n > x->dims[1] || (window && cnn_tensor_count(window) != t->n)))
		ret = cnn_op_fail(c, CNN_EINVAL, "frames of %lld elements do not fit the signal or "
				  "the window", (long long)t->n);
	t->in = t->n;
	t->out = onesided ? t->n / 2 + 1 : t->n;
	return ret;
}

int cnn_infer_stft(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct transform t;
	int64_t step;
	int ret = resolve_stft(c, &t, &step);

	if (ret)
		return ret;
	*y = (struct cnn_tensor){
		.dtype = CNN_FLOAT32, .rank = 4, .data = y->data, .capacity = y->capacity,
		.owned = y->owned,
		.dims = { c->in[0]->dims[0], (c->in[0]->dims[1] - t.n) / step + 1, t.out, 2 },
	};
	return CNN_OK;
}

int cnn_compute_stft(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0], *y = c->out[0];
	struct transform t;
	int64_t step;
	int ret = resolve_stft(c, &t, &step);

	if (ret || !cnn_tensor_count(y))
		return ret;
	t.window = cnn_in(c, 2) ? c->in[2]->data : NULL;
	ret = make_table(c, &t);
	for (int64_t i = 0; !ret && i < y->dims[0] * y->dims[1]; i++) {
		int64_t batch = i / y->dims[1], frame = i % y->dims[1];

		one_line(&t, (float *)x->data + (batch * x->dims[1] + frame * step) * t.parts,
			 (float *)y->data + i * t.out * 2);
	}
	free(t.cosine);
	return ret;
}
