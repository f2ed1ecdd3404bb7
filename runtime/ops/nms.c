// SPDX-License-Identifier: MIT
/* NonMaxSuppression: the boxes of each class that no better box overlaps. */
#include <math.h>
#include <stdlib.h>

#include "ops.h"

struct nms {
	const float *boxes, *scores;	/* of one batch; of one class of it */
	int64_t batches, classes, n;	/* n boxes */
	int64_t max;			/* boxes of one class that may be selected */
	float iou, score;		/* thresholds; score -infinity: none */
	bool center;			/* boxes are centre and size, not two corners */
	int64_t *order;			/* candidates by falling score; those selected move forward */
};

struct corners {
	float x0, y0, x1, y1;
};

/* The number in an optional input: def if it is left out, CNN_NEED_DATA without its data. */
static int read_float(struct cnn_call *c, int i, const char *name, float def, float *v)
{
	const struct cnn_tensor *t = cnn_in(c, i);
	int ret = t ? CNN_WANT(c, t, CNN_FLOAT32) : CNN_OK;

	*v = def;
	if (ret || !t)
		return ret;
	if (cnn_tensor_count(t) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "%s is not one number", name);
	if (!t->data)
		return CNN_NEED_DATA;
	*v = *(const float *)t->data;
	return CNN_OK;
}

/* At most so many boxes of a class: none if the input is left out. */
static int read_max(struct cnn_call *c, struct nms *s)
{
	const struct cnn_tensor *t = cnn_in(c, 2);
	int ret = t ? CNN_WANT(c, t, CNN_INT64) : CNN_OK;

	s->max = 0;
	if (ret || !t)
		return ret;
	if (cnn_tensor_count(t) != 1)
		return cnn_op_fail(c, CNN_EINVAL, "max_output_boxes_per_class is not one number");
	if (!t->data)
		return CNN_NEED_DATA;
	s->max = *(const int64_t *)t->data;
	s->max = s->max < 0 ? 0 : s->max > s->n ? s->n : s->max;
	return CNN_OK;
}

static int resolve(struct cnn_call *c, struct nms *s)
{
	const struct cnn_tensor *boxes = c->in[0], *scores = c->in[1];
	int ret = CNN_WANT(c, boxes, CNN_FLOAT32) ?: CNN_WANT(c, scores, CNN_FLOAT32);

	if (ret)
		return ret;
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
	    boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
		return cnn_op_fail(c, CNN_EINVAL, "boxes are not [batches, n, 4], or scores not "
				   "[batches, classes, n]");
	s->batches = scores->dims[0];
	s->classes = scores->dims[1];
	s->n = scores->dims[2];
	s->center = c->node->params.nms.center_point_box;
	ret = read_max(c, s) ?: read_float(c, 3, "iou_threshold", 0, &s->iou) ?:
	      read_float(c, 4, "score_threshold", -INFINITY, &s->score);
	if (ret)
		return ret;
	if (!(s->iou >= 0 && s->iou <= 1))
		return cnn_op_fail(c, CNN_EINVAL, "iou_threshold is %g, limits 0 to 1",
				   (double)s->iou);
	return boxes->data && scores->data ? CNN_OK : CNN_NEED_DATA;
}

#define OVERLAP_STEPS	8	/* of two boxes: what they share over what both take */

int64_t cnn_nms_work(const struct cnn_tensor *const *in, const struct cnn_tensor *y)
{
	int64_t pairs = cnn_mul_sat(y->dims[0], in[1]->dims[2]);

	return cnn_add_sat(cnn_tensor_count(in[1]), cnn_mul_sat(OVERLAP_STEPS, pairs));
}

/* The shape is the largest there may be: compute finds the number of rows. */
int cnn_infer_nms(struct cnn_call *c)
{
	struct cnn_tensor *y = c->out[0];
	struct nms s = { 0 };
	int ret = resolve(c, &s);

	if (ret)
		return ret;
	y->dtype = CNN_INT64;
	y->rank = 2;
	y->dims[0] = cnn_mul_sat(cnn_mul_sat(s.batches, s.classes), s.max);
	y->dims[1] = 3;
	return CNN_OK;
}

static struct corners corners_of(const struct nms *s, int64_t i)
{
	const float *b = s->boxes + 4 * i;

	if (s->center)
		return (struct corners){ b[0] - b[2] / 2, b[1] - b[3] / 2,
					 b[0] + b[2] / 2, b[1] + b[3] / 2 };
	/* Any two opposite corners, y before x */
	return (struct corners){ fminf(b[1], b[3]), fminf(b[0], b[2]),
				 fmaxf(b[1], b[3]), fmaxf(b[0], b[2]) };
}

static bool overlaps(const struct nms *s, int64_t i, int64_t j)
{
	struct corners a = corners_of(s, i), b = corners_of(s, j);
	float w = fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0);
	float h = fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0);
	float area_a = (a.x1 - a.x0) * (a.y1 - a.y0), area_b = (b.x1 - b.x0) * (b.y1 - b.y0);
	float both = w * h;

	if (!(w > 0 && h > 0 && area_a > 0 && area_b > 0))
		return false;
	return both / (area_a + area_b - both) > s->iou;
}

/* Falling scores, equal ones by index; NaNs last. */
static int compare_scores(const void *pa, const void *pb, void *opaque)
{
	const float *scores = opaque;
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	float x = scores[a], y = scores[b];

	if (x > y || x < y)
		return x > y ? -1 : 1;
	if ((x != x) != (y != y))
		return x != x ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* Moves the boxes that are selected to the front of order: their number. */
static int64_t select_boxes(struct nms *s)
{
	int64_t candidates = 0, selected = 0;

	for (int64_t i = 0; i < s->n; i++)
		if (s->score == -INFINITY || s->scores[i] > s->score)
			s->order[candidates++] = i;
	qsort_r(s->order, candidates, sizeof(*s->order), compare_scores, (void *)s->scores);
	for (int64_t i = 0; i < candidates && selected < s->max; i++) {
		bool keep = true;

		for (int64_t k = 0; keep && k < selected; k++)
			keep = !overlaps(s, s->order[k], s->order[i]);
		if (keep)
			s->order[selected++] = s->order[i];
	}
	return selected;
}

int cnn_compute_nms(struct cnn_call *c)
{
	int64_t *y = c->out[0]->data, rows = 0, count;
	struct nms s = { 0 };
	int ret = resolve(c, &s);

	if (ret || !cnn_tensor_count(c->out[0]))
		return ret;
	s.order = malloc((s.n + 1) * sizeof(*s.order));
	if (!s.order)
		return cnn_op_fail(c, CNN_ENOMEM, "no memory for %lld boxes", (long long)s.n);
	for (int64_t i = 0; i < s.batches * s.classes; i++) {
		s.boxes = (const float *)c->in[0]->data + i / s.classes * s.n * 4;
		s.scores = (const float *)c->in[1]->data + i * s.n;
		count = select_boxes(&s);
		for (int64_t k = 0; k < count; k++, rows++) {
			y[3 * rows] = i / s.classes;
			y[3 * rows + 1] = i % s.classes;
			y[3 * rows + 2] = s.order[k];
		}
	}
	free(s.order);
	c->out[0]->dims[0] = rows;
	return CNN_OK;
}
