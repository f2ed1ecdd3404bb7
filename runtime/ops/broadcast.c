// SPDX-License-Identifier: MIT
/* Broadcasting: the common shape of operands, and the walk through them row by row. */
#include <string.h>

#include "ops.h"

int cnn_broadcast(const struct cnn_call *c, struct cnn_tensor *y, const struct cnn_tensor *t)
{
	int rank = y->rank > t->rank ? y->rank : t->rank;
	int64_t dims[CNN_MAX_RANK];

	for (int i = 0; i < rank; i++) {
		int iy = i - (rank - y->rank), it = i - (rank - t->rank);
		int64_t dy = iy < 0 ? 1 : y->dims[iy], dt = it < 0 ? 1 : t->dims[it];

		if (dy != dt && dy != 1 && dt != 1)
			return cnn_op_fail(c, CNN_EINVAL, "dimensions %lld and %lld do not "
					   "broadcast", (long long)dy, (long long)dt);
		dims[i] = dy == 1 ? dt : dy;
	}
	y->rank = rank;
	if (rank)
		memcpy(y->dims, dims, sizeof(dims[0]) * rank);
	return CNN_OK;
}

static int64_t stride_of(const struct cnn_tensor *t, int axis, const int64_t *strides)
{
	return axis < 0 || t->dims[axis] == 1 ? 0 :
	       strides[axis] * (int64_t)cnn_dtype_size(t->dtype);
}

/* Can the axis with these steps continue the one before it, for every operand? */
static bool continues(const struct cnn_walk *w, const int64_t *step, int64_t dim)
{
	for (int i = 0; i < w->n; i++)
		if (!w->rank || w->step[i][w->rank - 1] != step[i] * dim)
			return false;
	return true;
}

void cnn_walk_start(struct cnn_walk *w, const struct cnn_tensor *y, int n,
		    const struct cnn_tensor *const *t)
{
	int64_t strides[CNN_WALK_MAX][CNN_MAX_RANK];

	memset(w, 0, sizeof(*w));
	w->n = n;
	for (int i = 0; i < n; i++) {
		cnn_strides(t[i], strides[i]);
		w->p[i] = t[i]->data;
	}
	for (int axis = 0; axis < y->rank; axis++) {
		int64_t step[CNN_WALK_MAX] = { 0 };

		if (y->dims[axis] == 1)
			continue;
		for (int i = 0; i < n; i++)
			step[i] = stride_of(t[i], axis - (y->rank - t[i]->rank), strides[i]);
		if (continues(w, step, y->dims[axis]))
			w->dims[w->rank - 1] *= y->dims[axis];
		else
			w->dims[w->rank++] = y->dims[axis];
		for (int i = 0; i < n; i++)
			w->step[i][w->rank - 1] = step[i];
	}
	w->row = w->rank ? w->dims[w->rank - 1] : 1;
	for (int i = 0; i < n; i++)
		w->moves[i] = w->rank && w->step[i][w->rank - 1];
}

void cnn_walk_next(struct cnn_walk *w)
{
	for (int axis = w->rank - 2; axis >= 0; axis--) {
		bool more = ++w->at[axis] < w->dims[axis];

		for (int i = 0; i < w->n; i++)
			w->p[i] += more ? w->step[i][axis] :
					  w->step[i][axis] - w->step[i][axis] * w->dims[axis];
		if (more)
			break;
		w->at[axis] = 0;
	}
}

void cnn_walk_seek(struct cnn_walk *w, int64_t row)
{
	for (int axis = w->rank - 2; axis >= 0; axis--) {
		w->at[axis] = row % w->dims[axis];
		row /= w->dims[axis];
		for (int i = 0; i < w->n; i++)
			w->p[i] += w->at[axis] * w->step[i][axis];
	}
}
