// SPDX-License-Identifier: MIT
/* RoiAlign: means or maxima of regions of maps. */
#include <math.h>

#include "ops.h"

int cnn_infer_roi_align(struct cnn_call *c)
{
	const struct cnn_roi_align_params *p = &c->node->params.roi_align;
	const struct cnn_tensor *x = c->in[0], *rois = c->in[1], *batch = c->in[2];
	struct cnn_tensor *y = c->out[0];
	int ret = CNN_WANT(c, x, CNN_FLOAT32);

	if (!ret)
		ret = CNN_WANT(c, rois, CNN_FLOAT32);
	if (!ret)
		ret = CNN_WANT(c, batch, CNN_INT64);
	if (ret)
		return ret;
	if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || batch->rank != 1 ||
	    batch->dims[0] != rois->dims[0])
		return cnn_op_fail(c, CNN_EINVAL, "X is not 4-dimensional, rois not [n, 4], or "
				   "batch_indices not [n]");
	y->dtype = CNN_FLOAT32;
	y->rank = 4;
	y->dims[0] = rois->dims[0];
	y->dims[1] = x->dims[1];
	y->dims[2] = p->height;
	y->dims[3] = p->width;
	if (cnn_tensor_count(y) && !cnn_tensor_count(x))
		return cnn_op_fail(c, CNN_EINVAL, "the maps are empty");
	return CNN_OK;
}

/* For each element of the output as many samples as asked for, or some for each of the map's. */
int64_t cnn_roi_align_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
			   const struct cnn_tensor *y)
{
	int64_t ratio = node->params.roi_align.sampling_ratio, samples;

	samples = ratio ? cnn_mul_sat(ratio, ratio) :
			  cnn_mul_sat(cnn_add_sat(in[0]->dims[2], 4),
				      cnn_add_sat(in[0]->dims[3], 4));
	return cnn_mul_sat(cnn_tensor_count(y), samples);
}

/* A region along one axis: samples of each of its bins, those of each bin that may be inside. */
struct span {
	double start, bin;
	int64_t samples, dim;
};

/* Where a sample lies between two elements of an axis of dim; none: outside. */
struct between {
	bool none;
	int64_t low, high;
	float weight_low, weight_high;
};

static int make_span(const struct cnn_call *c, int axis, float from, float to, struct span *s)
{
	const struct cnn_roi_align_params *p = &c->node->params.roi_align;
	bool half = p->coordinates == CNN_ROI_HALF_PIXEL && c->node->opset >= 16;
	int64_t bins = axis == 2 ? p->height : p->width;
	double offset = half ? 0.5 : 0, size, samples;

	s->start = (double)from * (double)p->spatial_scale - offset;
	size = (double)to * (double)p->spatial_scale - offset - s->start;
	if (!half && size < 1)
		size = 1;
	s->bin = size / (double)bins;
	samples = p->sampling_ratio > 0 ? (double)p->sampling_ratio : ceil(s->bin);
	if (!(samples < 0x1p40))
		return cnn_op_fail(c, CNN_ELIMIT, "a region from %g to %g", (double)from, (double)to);
	s->samples = samples > 0 ? (int64_t)samples : 0;
	s->dim = c->in[0]->dims[axis];
	return CNN_OK;
}

static double place(const struct span *s, int64_t bin, int64_t sample)
{
	return s->start + (double)bin * s->bin +
	       ((double)sample + 0.5) * s->bin / (double)s->samples;
}

/*
 * Samples first..end-1 of a bin are all that may lie inside. There are few more than elements even
 * if the region is much larger than the map.
 */
static void find_inside(const struct span *s, int64_t bin, int64_t *first, int64_t *end)
{
	double step = s->bin / (double)s->samples, at = place(s, bin, 0);

	*first = 0;
	*end = s->samples;
	if (!(step > 0.25))
		return;
	if (at < -2)
		*first = (int64_t)fmin((-2 - at) / step, (double)s->samples);
	*end = *first + (int64_t)fmin((double)(*end - *first), ((double)s->dim + 4) / step + 2);
}

static struct between find(const struct span *s, int64_t bin, int64_t sample)
{
	double at = place(s, bin, sample);
	int64_t dim = s->dim;
	struct between b = { .none = !(at >= -1 && at <= (double)dim) };

	if (b.none)
		return b;
	at = at < 0 ? 0 : at;
	b.low = (int64_t)at;
	if (b.low >= dim - 1) {
		b.low = b.high = dim - 1;
		b.weight_low = 1;
		return b;
	}
	b.high = b.low + 1;
	b.weight_high = (float)(at - (double)b.low);
	b.weight_low = 1 - b.weight_high;
	return b;
}

static float larger(float a, float b)
{
	return b > a ? b : a;
}

/* One bin of one map: the mean of its samples, or the largest weighted element of them. */
static float pool(const struct cnn_call *c, const float *map, const struct span *rows,
		  const struct span *columns, const int64_t *bin)
{
	bool max = c->node->params.roi_align.mode == CNN_ROI_MAX;
	double count = (double)rows->samples * (double)columns->samples, sum = 0;
	int64_t first[2], end[2], inside = 0;
	float most = -INFINITY;

	find_inside(rows, bin[0], &first[0], &end[0]);
	find_inside(columns, bin[1], &first[1], &end[1]);
	for (int64_t i = first[0]; i < end[0]; i++) {
		struct between y = find(rows, bin[0], i);

		for (int64_t j = first[1]; j < end[1] && !y.none; j++) {
			struct between x = find(columns, bin[1], j);
			float v[4];

			if (x.none)
				continue;
			inside++;
			v[0] = y.weight_low * x.weight_low * map[y.low * columns->dim + x.low];
			v[1] = y.weight_low * x.weight_high * map[y.low * columns->dim + x.high];
			v[2] = y.weight_high * x.weight_low * map[y.high * columns->dim + x.low];
			v[3] = y.weight_high * x.weight_high * map[y.high * columns->dim + x.high];
			most = larger(most, larger(larger(v[0], v[1]), larger(v[2], v[3])));
			sum += (double)(v[0] + v[1] + v[2] + v[3]);
		}
	}
	if (count == 0)
		return 0;
	/* What lies outside is 0. */
	if (max)
		return (double)inside < count ? larger(most, 0) : most;
	return (float)(sum / count);
}

static int align_roi(const struct cnn_call *c, int64_t roi)
{
	const struct cnn_roi_align_params *p = &c->node->params.roi_align;
	const struct cnn_tensor *x = c->in[0];
	const float *r = (const float *)c->in[1]->data + 4 * roi;
	int64_t plane = x->dims[2] * x->dims[3], batch = cnn_int_at(c->in[2], roi);
	float *y = (float *)c->out[0]->data + roi * x->dims[1] * p->height * p->width;
	struct span rows, columns;
	int ret;

	if (batch < 0 || batch >= x->dims[0])
		return cnn_op_fail(c, CNN_EINVAL, "batch_indices[%lld] is %lld, limits 0 to %lld",
				   (long long)roi, (long long)batch, (long long)x->dims[0] - 1);
	ret = make_span(c, 2, r[1], r[3], &rows);
	if (!ret)
		ret = make_span(c, 3, r[0], r[2], &columns);
	if (ret)
		return ret;
	for (int64_t ch = 0; ch < x->dims[1]; ch++)
		for (int64_t i = 0; i < p->height * p->width; i++)
			*y++ = pool(c, (float *)x->data + (batch * x->dims[1] + ch) * plane, &rows,
				    &columns, (int64_t[]){ i / p->width, i % p->width });
	return CNN_OK;
}

int cnn_compute_roi_align(struct cnn_call *c)
{
	int ret = CNN_OK;

	if (!cnn_tensor_count(c->out[0]))
		return CNN_OK;
	for (int64_t roi = 0; roi < c->in[1]->dims[0] && !ret; roi++)
		ret = align_roi(c, roi);
	return ret;
}
