// SPDX-License-Identifier: MIT
/*
 * ShiftRequantize: what core enpu does with its sums, and with a product of two maps.  Inputs: x,
 * int8 or int32; times, int8; add, int32; shift, int8, a constant of -31..31.  The last three are
 * broadcast to the shape of x and are 1, 0 and 0 if they are left out.  The result is int8.
 */
#include "arithmetic.h"
#include "ops/ops.h"

#define SHIFT_MAX	31
#define OPERANDS	4	/* x, times, add, shift */

static int check_shift(const struct cnn_call *c)
{
	const struct cnn_tensor *shift = cnn_in(c, 3);

	if (shift && !shift->data)
		return cnn_op_fail(c, CNN_EUNSUPPORTED, "input 3, the shift, is not constant");
	for (int64_t i = 0; shift && i < cnn_tensor_count(shift); i++) {
		int v = ((const int8_t *)shift->data)[i];

		if (v < -SHIFT_MAX || v > SHIFT_MAX)
			return cnn_op_fail(c, CNN_EINVAL, "shift %d of element %lld, limits -31 and "
					   "31", v, (long long)i);
	}
	return CNN_OK;
}

static bool fits(const struct cnn_tensor *x, const struct cnn_tensor *t)
{
	if (t->rank > x->rank)
		return false;
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] != 1 && t->dims[i] != x->dims[x->rank - t->rank + i])
			return false;
	return true;
}

int cnn_infer_shift_requantize(struct cnn_call *c)
{
	static const enum cnn_dtype types[OPERANDS] = { 0, CNN_INT8, CNN_INT32, CNN_INT8 };
	int ret = CNN_WANT(c, c->in[0], CNN_INT8, CNN_INT32);

	for (int i = 1; i < OPERANDS && !ret; i++) {
		const struct cnn_tensor *t = cnn_in(c, i);

		if (!t)
			continue;
		ret = cnn_op_want(c, t, &types[i], 1);
		if (!ret && !fits(c->in[0], t))
			ret = cnn_op_fail(c, CNN_EINVAL, "input %d cannot be broadcast to the shape "
					  "of input 0", i);
	}
	ret = ret ?: check_shift(c) ?: cnn_infer_like(c, c->in[0]);
	c->out[0]->dtype = CNN_INT8;
	return ret;
}

/* The operands' rows; an operand that is left out is a number of its own. */
struct rows {
	const struct cnn_call *c;
	int64_t row;			/* elements of one */
	int rank;
	const void *data[OPERANDS];
	int64_t step[OPERANDS][CNN_MAX_RANK];	/* elements */
};

static const int8_t one = 1, no_shift;
static const int32_t no_add;

static void set_operand(struct rows *r, int i, const struct cnn_tensor *t, const void *none)
{
	int64_t step = 1;

	r->data[i] = t ? t->data : none;
	for (int k = t ? t->rank - 1 : -1; k >= 0; k--) {
		r->step[i][r->rank - t->rank + k] = t->dims[k] == 1 ? 0 : step;
		step *= t->dims[k];
	}
}

static int64_t offset_of(const struct rows *r, int i, int64_t row)
{
	int64_t at = 0;

	for (int k = r->rank - 2; k >= 0; k--) {
		at += row % r->c->in[0]->dims[k] * r->step[i][k];
		row /= r->c->in[0]->dims[k];
	}
	return at;
}

static void run_rows(const void *arg, int64_t first, int64_t n)
{
	const struct rows *r = arg;
	const bool wide = r->c->in[0]->dtype == CNN_INT32;
	const int8_t least = r->c->node->params.product.relu ? 0 : INT8_MIN;
	int64_t step[OPERANDS], at[OPERANDS];

	for (int i = 0; i < OPERANDS; i++)
		step[i] = r->rank ? r->step[i][r->rank - 1] : 0;
	for (int64_t row = first; row < first + n; row++) {
		int8_t *y = (int8_t *)r->c->out[0]->data + row * r->row;

		for (int i = 0; i < OPERANDS; i++)
			at[i] = offset_of(r, i, row);
		for (int64_t k = 0; k < r->row; k++) {
			uint32_t x = wide ? ((const uint32_t *)r->data[0])[at[0] + k] :
					    (uint32_t)((const int8_t *)r->data[0])[at[0] + k];
			int8_t times = ((const int8_t *)r->data[1])[at[1] + k * step[1]];
			uint32_t add = ((const uint32_t *)r->data[2])[at[2] + k * step[2]];
			int8_t shift = ((const int8_t *)r->data[3])[at[3] + k * step[3]];
			int8_t v = enpuc_requantize((int32_t)(x * (uint32_t)times + add), shift);

			y[k] = v > least ? v : least;
		}
	}
}

int cnn_compute_shift_requantize(struct cnn_call *c)
{
	const struct cnn_tensor *x = c->in[0];
	struct rows r = { .c = c, .rank = x->rank };
	int64_t count = cnn_tensor_count(x);
	int ret = check_shift(c);

	if (ret || !count)
		return ret;
	r.row = x->rank ? x->dims[x->rank - 1] : 1;
	set_operand(&r, 0, x, NULL);
	if (r.rank)
		r.step[0][r.rank - 1] = 1;
	for (int k = r.rank - 2; k >= 0; k--)
		r.step[0][k] = cnn_span(x, k + 1, x->rank);
	set_operand(&r, 1, cnn_in(c, 1), &one);
	set_operand(&r, 2, cnn_in(c, 2), &no_add);
	set_operand(&r, 3, cnn_in(c, 3), &no_shift);
	cnn_for_blocks(c, count / r.row, CNN_BLOCK / r.row + 1, run_rows, &r);
	return CNN_OK;
}
