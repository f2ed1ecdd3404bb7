/* SPDX-License-Identifier: MIT */
/* Scales that are powers of two. */
#include <math.h>

#include "ops/quant.h"
#include "cnnquant.h"

const char *format_name(enum format f)
{
	return f == FORMAT_FLOAT32 ? "FLOAT32" : cnn_codes_name((enum cnn_codes)f);
}

float scale_number(enum format f, float most, int i)
{
	int exponent;

	if (!(most > 0))
		return 1;
	frexpf(most / (float)cnn_codes_most((enum cnn_codes)f), &exponent);
	return ldexpf(1, exponent + 1 - i < -100 ? -100 : exponent + 1 - i);
}

void quantize(enum format f, const float *x, float scale, int8_t zero, int8_t *y, int64_t n)
{
	struct cnn_range range = cnn_range_of(CNN_INT8, zero);

	if (f != FORMAT_INT8)
		cnn_codes_quantize((enum cnn_codes)f, x, scale, (float)zero, y, n);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = (int8_t)cnn_to_range(&range, x[i] / scale);
}
