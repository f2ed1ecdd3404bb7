// SPDX-License-Identifier: MIT
/* Operators about diagonals: EyeLike and Trilu. */
#include <string.h>

#include "ops.h"

/* Entries of row i of n columns that are left of the column i + k. */
static int64_t left_of_diagonal(int64_t i, int64_t n, int64_t k)
{
	if (k < -i)
		return 0;
	return k >= n || i >= n - k ? n : i + k;
}

int cnn_infer_eye_like(struct cnn_call *c)
{
	const struct cnn_eye_params *p = &c->node->params.eye;
	int ret;

	if (c->in[0]->rank != 2)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, 2 wanted", c->in[0]->rank);
	ret = cnn_infer_like(c, c->in[0]);
	if (p->dtype == CNN_UNDEFINED)
		return ret;
	if (p->dtype < 0 || p->dtype > CNN_BFLOAT16 || !cnn_dtype_size(p->dtype))
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "attribute dtype: type %s (%lld)",
				   p->dtype > 0 && p->dtype <= CNN_BFLOAT16 ?
				   cnn_dtype_name(p->dtype) : "unknown", (long long)p->dtype);
	c->out[0]->dtype = p->dtype;
	return ret;
}

int cnn_compute_eye_like(struct cnn_call *c)
{
	int64_t rows = c->out[0]->dims[0], n = c->out[0]->dims[1], k = c->node->params.eye.k;
	enum cnn_dtype t = c->out[0]->dtype;
	size_t size = cnn_dtype_size(t);
	const uint8_t one = 1;
	char *row = c->out[0]->data;

	memset(row, 0, (size_t)cnn_tensor_bytes(c->out[0]));
	for (int64_t i = 0; n && i < rows; i++, row += n * (int64_t)size) {
		int64_t at = left_of_diagonal(i, n, k);

		if (at < n && k >= -i)
			cnn_cast(CNN_BOOL, &one, t, row + at * (int64_t)size, 1);
	}
	return CNN_OK;
}

int cnn_infer_trilu(struct cnn_call *c)
{
	const struct cnn_tensor *k = cnn_in(c, 1);

	if (c->in[0]->rank < 2)
		return cnn_op_fail(c, CNN_EINVAL, "%d axes, 2 or more wanted", c->in[0]->rank);
	if (k && (k->dtype != CNN_INT64 || cnn_tensor_count(k) != 1))
		return cnn_op_fail(c, CNN_EINVAL, "k is not one int64");
	return cnn_infer_like(c, c->in[0]);
}

/* Keeps what is right of the diagonal k, with it, if upper, else what is left of it, with it. */
int cnn_compute_trilu(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	bool upper = c->node->params.trilu.upper;
	int64_t k = cnn_in(c, 1) ? *(int64_t *)c->in[1]->data : 0, n = x->dims[x->rank - 1];
	int64_t size = cnn_dtype_size(x->dtype), count = cnn_tensor_count(x);
	const char *from = x->data;
	char *to = c->out[0]->data;

	memset(to, 0, (size_t)(count * size));
	k = !upper && k < INT64_MAX ? k + 1 : k;
	for (int64_t row = 0; row < (count ? count / n : 0); row++) {
		int64_t left = left_of_diagonal(row % x->dims[x->rank - 2], n, k) * size;

		if (upper)
			memcpy(to + left, from + left, (size_t)(n * size - left));
		else
			memcpy(to, from, (size_t)left);
		from += n * size;
		to += n * size;
	}
	return CNN_OK;
}
