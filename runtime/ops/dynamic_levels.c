// SPDX-License-Identifier: MIT
/*
 * DynamicLevels, which the TensorFlow Lite reader makes: each element becomes the nearest of 256
 * multiples of a scale that fit its row, a row being all with one index of axis 0. So TensorFlow
 * Lite's own kernels quantise what meets weights of int8 ("dynamic range"). The levels are -127 to
 * 127 if they are symmetric, otherwise -128 to 127 about a zero point.
 */
#include <math.h>

#include "ops.h"

int cnn_infer_dynamic_levels(struct cnn_call *c)
{
	int ret = CNN_WANT(c, c->in[0], CNN_FLOAT32);

	if (!ret && c->in[0]->rank < 1)
		return cnn_op_fail(c, CNN_EINVAL, "a scalar has no rows");
	return ret ? ret : cnn_infer_like(c, c->in[0]);
}

struct levels {
	float scale, inverse, zero, low;
};

/* Of the two ends, the zero point follows that at which it is known better. */
static float zero_point(double low, double high, double scale)
{
	double from_low = -128 - low / scale, from_high = 127 - high / scale;
	double zero = 128 - low / scale < 127 + high / scale ? from_low : from_high;

	return (float)round(zero < -128 ? -128 : zero > 127 ? 127 : zero);
}

/* Of a row whose elements lie between low <= 0 and high >= 0, which are not both 0. */
static struct levels make_levels(float low, float high, bool symmetric)
{
	double scale = ((double)high - (double)low) / 255;
	float most = -low > high ? -low : high;

	if (symmetric)
		return (struct levels){ most / 127, 127 / most, 0, -127 };
	return (struct levels){ (float)scale, 1 / (float)scale,
				zero_point(low, high, scale), -128 };
}

CNN_CLONES
static void to_levels(const struct levels *l, const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float v = l->zero + x[i] * l->inverse;
		float whole = truncf(fabsf(v) + 0.5f);

		/* Beyond 2^23 every float is whole; just below a half, adding it rounds up. */
		whole = fabsf(v) == 0x1.fffffep-2f ? 0 : whole;
		whole = copysignf(whole, v);
		whole = whole > l->low ? whole : l->low;
		whole = whole < 127 ? whole : 127;
		y[i] = (whole - l->zero) * l->scale;
	}
}

static void some_rows(const void *arg, int64_t first, int64_t n)
{
	const struct cnn_call *c = arg;
	int64_t row = cnn_tensor_count(c->in[0]) / c->in[0]->dims[0];

	for (int64_t i = first; i < first + n; i++) {
		const float *x = (const float *)c->in[0]->data + i * row;
		float *y = (float *)c->out[0]->data + i * row, low = 0, high = 0;
		struct levels l = { .low = -128 };

		for (int64_t j = 0; j < row; j++) {
			low = x[j] < low ? x[j] : low;
			high = x[j] > high ? x[j] : high;
		}
		if (low < high)
			l = make_levels(low, high, c->node->params.levels.symmetric);
		to_levels(&l, x, y, row);
	}
}

int cnn_compute_dynamic_levels(struct cnn_call *c)
{
	if (cnn_tensor_count(c->in[0]))
		cnn_for_blocks(c, c->in[0]->dims[0], 1, some_rows, c);
	return CNN_OK;
}
