// SPDX-License-Identifier: MIT
/* MelWeightMatrix: triangles over the bins of a spectrum, as wide as the ear resolves. */
#include <math.h>
#include <string.h>

#include "ops.h"

struct mel {
	int64_t bins, length, rate;	/* triangles, elements of the transform, samples per second */
	double low, high;		/* edges in Hz */
};

static int resolve(struct cnn_call *c, struct mel *m)
{
	static const char *const names[] = {
		"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz",
	};
	double v[5];

	for (int i = 0; i < 5; i++) {
		const struct cnn_tensor *t = c->in[i];

		if (cnn_tensor_count(t) != 1)
			return cnn_op_fail(c, CNN_EINVAL, "%s is not one number", names[i]);
		if (!t->data)
			return CNN_NEED_DATA;
		cnn_cast(t->dtype, t->data, CNN_FLOAT64, &v[i], 1);
		if (!(v[i] >= (i < 3)) || v[i] > INT32_MAX)
			return cnn_op_fail(c, CNN_ELIMIT, "%s is %g, limits %d to %d", names[i], v[i],
					   i < 3, INT32_MAX);
	}
	*m = (struct mel){ (int64_t)v[0], (int64_t)v[1], (int64_t)v[2], v[3], v[4] };
	return CNN_OK;
}

static double to_mel(double hz)
{
	return 2595 * cnn_ln(1 + hz / 700) / cnn_ln(10);
}

/* The spectrum's bin at which triangle i begins; i - 1 peaks and i - 2 ends there. */
static int64_t edge(const struct mel *m, int64_t i)
{
	double low = to_mel(m->low), step = (to_mel(m->high) - low) / (double)(m->bins + 2);
	double hz = 700 * (cnn_pow(10, (low + step * (double)i) / 2595) - 1);

	return (int64_t)floor((double)(m->length + 1) * hz / (double)m->rate);
}

int cnn_infer_mel(struct cnn_call *c)
{
	int64_t type = c->node->params.mel.dtype;
	struct cnn_tensor *y = c->out[0];
	struct mel m;
	int ret = resolve(c, &m);

	if (ret)
		return ret;
	if (type <= 0 || type > CNN_BFLOAT16 || !cnn_dtype_size(type))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute output_datatype: type %lld",
				   (long long)type);
	if (edge(&m, 0) < 0 || edge(&m, m.bins + 1) > m.length / 2)
		return cnn_op_fail(c, CNN_EINVAL, "edges of %g and %g Hz do not lie in the spectrum",
				   m.low, m.high);
	y->dtype = type;
	y->rank = 2;
	y->dims[0] = m.length / 2 + 1;
	y->dims[1] = m.bins;
	return CNN_OK;
}

static double triangle(int64_t at, int64_t first, int64_t peak, int64_t last)
{
	if (at == peak)
		return 1;
	if (at >= first && at < peak)
		return (double)(at - first) / (double)(peak - first);
	return at > peak && at < last ? (double)(last - at) / (double)(last - peak) : 0;
}

int cnn_compute_mel(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	size_t size = cnn_dtype_size(y->dtype);
	struct mel m;
	int ret = resolve(c, &m);

	for (int64_t i = 0; !ret && i < m.bins; i++) {
		int64_t first = edge(&m, i), peak = edge(&m, i + 1), last = edge(&m, i + 2);

		for (int64_t at = 0; at < y->dims[0]; at++) {
			double v = triangle(at, first, peak, last);

			cnn_cast(CNN_FLOAT64, &v, y->dtype,
				 (char *)y->data + (size_t)(at * m.bins + i) * size, 1);
		}
	}
	return ret;
}
