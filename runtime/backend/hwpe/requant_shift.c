// SPDX-License-Identifier: MIT
/*
 * Quantised products that core hwpe can requantise. A channel of int8 weights w, with b for what is
 * added to its sums and a scale of 2^-e, gives
 *
 *	clamp(rint(S / 2^e) + zero, 0, 255),	S = sum x w + b, ties to even
 *
 * and the core clamp(floor(V / 2^s), 0, 255), V = sum x w' + b'. With h = 2^(e - 1), 0 if e < 1,
 *
 *	rint(S / 2^e) = floor((S + h) / 2^e)
 *
 * unless S is a tie, that is S = h modulo 2^e. So these are equal for all x:
 *
 *	w' = w 2^(s - e),  b' = floor((b + h) 2^(s - e)) + zero 2^s
 *
 * if each w' is an int8 and no S is a tie. All S are b modulo 2^t if 2^t divides the channel's
 * weights; so no S is a tie if e < 1, or b - h is no multiple of 2^min(t, e). A sum that the float
 * rounds is 2^24 or more and beyond the clamp if e is at most 16. A result of int8 is one of uint8
 * less 128.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/quant.h"
#include "hwpe.h"

#define E_MIN (-7)
#define E_MAX 16

/* Properties of the weights of channel k. */
struct weights {
	int most;    /* all are in -most - 1..most */
	int zeros;   /* 2 to the power of this divides all; E_MAX if all are 0 */
	int64_t sum; /* of absolute values */
};

static struct weights get_weights(const struct cnn_qproduct *p, int64_t k)
{
	struct weights w = { 0 };
	int bits = 1 << E_MAX;

	for (int64_t tap = 0; tap < p->taps; tap++) {
		int v = cnn_qproduct_weight(p, k, tap);

		bits |= v;
		w.sum += abs(v);
		v = v < 0 ? ~v : v;
		w.most = v > w.most ? v : w.most;
	}
	w.zeros = __builtin_ctz((unsigned int)bits);
	return w;
}

/* Exponent e of channel k; false if its scale is not a power of 2, or too far from 1. */
static bool get_exponent(const struct cnn_qproduct *p, int64_t k, int *e)
{
	int exponent;

	if (frexpf(cnn_qproduct_scale(p, k), &exponent) != 0.5f)
		return false;
	*e = 1 - exponent;
	return *e >= E_MIN && *e <= E_MAX;
}

static int64_t half(int e)
{
	return e < 1 ? 0 : (int64_t)1 << (e - 1);
}

static bool has_tie(const struct weights *w, int64_t b, int e)
{
	int64_t unit = (int64_t)1 << (w->zeros < e ? w->zeros : e > 0 ? e : 0);

	return e > 0 && (b - half(e)) % unit == 0;
}

static int64_t shift_by(int64_t v, int up)
{
	return up < 0 ? v >> -up : v * ((int64_t)1 << up);
}

static int32_t result_zero(const struct cnn_qproduct *p)
{
	const struct cnn_tensor *zero = cnn_qproduct_input(p, p->form.y_scale + 1);

	return cnn_zero_point(zero, 0) + (zero->dtype == CNN_INT8 ? 128 : 0);
}

static int64_t start_of(const struct cnn_qproduct *p, int64_t k, int shift, int e)
{
	return shift_by(cnn_qproduct_term(p, k) + half(e), shift - e) +
	       shift_by(result_zero(p), shift);
}

__attribute__((format(printf, 2, 3)))
static bool no(struct cnn_qproduct *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	return false;
}

static bool check_scales(struct cnn_qproduct *p)
{
	int e;

	for (int64_t k = 0; k < p->channels; k++)
		if (!get_exponent(p, k, &e))
			return no(p, "the scale of channel %lld is %g, no power of 2 from 2^-%d to "
				  "2^%d", (long long)k, (double)cnn_qproduct_scale(p, k), E_MAX,
				  -E_MIN);
	return true;
}

/* The least shift that makes all weights integers; -1: a sum can be a tie. */
static int least_shift(struct cnn_qproduct *p)
{
	int shift = 0, e = 0;

	for (int64_t k = 0; k < p->channels; k++) {
		struct weights w = get_weights(p, k);

		get_exponent(p, k, &e);
		if (has_tie(&w, cnn_qproduct_term(p, k), e)) {
			no(p, "a sum of channel %lld can be a half, which the core rounds up",
			   (long long)k);
			return -1;
		}
		shift = e - w.zeros > shift ? e - w.zeros : shift;
	}
	return shift;
}

/* True if the weights are int8 and no sum of core or operator leaves int32. */
static bool check_fit(struct cnn_qproduct *p, int shift)
{
	for (int64_t k = 0; k < p->channels; k++) {
		struct weights w = get_weights(p, k);
		int64_t b = cnn_qproduct_term(p, k), start;
		int e = 0, up;

		get_exponent(p, k, &e);
		up = shift - e;
		start = start_of(p, k, shift, e);
		if (up > 0 && shift_by(w.most + 1, up) > 128)
			return no(p, "weights of channel %lld times 2^%d are no int8", (long long)k,
				  up);
		if (255 * w.sum + llabs(b) > INT32_MAX ||
		    255 * shift_by(w.sum, up) + llabs(start) > INT32_MAX)
			return no(p, "a sum of channel %lld can leave an int32", (long long)k);
	}
	return true;
}

void hwpec_find_shift(struct cnn_qproduct *p)
{
	int shift;

	p->shift = -1;
	p->why[0] = 0;
	if (p->form.y_scale < 0)
		return;
	if (p->late || p->by_inputs)
		no(p, p->late ? "the zero point is not constant" : "weights have a zero point");
	else if (check_scales(p)) {
		shift = least_shift(p);
		p->shift = shift >= 0 && check_fit(p, shift) ? shift : -1;
	}
}

int hwpec_shift_up(const struct cnn_qproduct *p, int64_t k)
{
	int e = 0;

	get_exponent(p, k, &e);
	return p->shift - e;
}

int32_t hwpec_shift_start(const struct cnn_qproduct *p, int64_t k)
{
	return (int32_t)start_of(p, k, p->shift, p->shift - hwpec_shift_up(p, k));
}

/* Changes int8 zero point i of a node for values that are larger by 128. */
static int turn_zero(struct cnn_graph *g, struct cnn_node *n, int i, struct cnn_err *err)
{
	struct cnn_tensor t = { .dtype = CNN_UINT8 };
	int v, ret = cnn_tensor_alloc(&t, g->limits.tensor_bytes, err);

	if (ret)
		return ret;
	*(uint8_t *)t.data = (uint8_t)(cnn_zero_point(cnn_node_in(g, n, i), 0) + 128);
	v = cnn_graph_add_value(g, n->name, &t, err);
	if (v >= 0)
		return cnn_rewrite_set_input(n, i, v, err);
	cnn_tensor_release(&t);
	return v;
}

/* True if the only reader of the value is a product with a known zero point. */
static bool is_operand(const struct cnn_graph *g, int value, const struct cnn_node *n)
{
	const struct cnn_tensor *zero = cnn_node_in(g, n, 2);

	if (n->op != CNN_OP_QLINEAR_CONV && n->op != CNN_OP_QLINEAR_MATMUL && n->op != CNN_OP_QGEMM)
		return false;
	for (int i = 1; i < n->n_in; i++)
		if (n->in[i] == value)
			return false;
	return zero && zero->data && cnn_tensor_count(zero) == 1;
}

static bool can_turn(const struct cnn_graph *g, int value)
{
	const struct cnn_value *v = &g->values[value];

	if (v->t.dtype != CNN_INT8 || v->is_output || !v->n_consumers)
		return false;
	for (int i = 0; i < v->n_consumers; i++) {
		const struct cnn_node *reader = &g->nodes[v->consumers[i]];

		if (!is_operand(g, value, reader) ||
		    !cnn_can_share_place(reader->place, g->nodes[v->producer].place))
			return false;
	}
	return true;
}

int hwpec_companions(const struct cnn_graph *g, int node, int *nodes)
{
	const struct cnn_node *n = &g->nodes[node];
	const struct cnn_value *y = n->n_out && n->out[0] >= 0 ? &g->values[n->out[0]] : NULL;

	if (!cnn_is_unsplit(n) || !y || y->n_consumers > CNN_COMPANIONS_MAX ||
	    !can_turn(g, n->out[0]))
		return 0;
	memcpy(nodes, y->consumers, sizeof(*nodes) * (size_t)y->n_consumers);
	return y->n_consumers;
}

static int turn_type(struct cnn_graph *g, struct cnn_node *n, int y_zero, struct cnn_err *err)
{
	int value = n->out[0], ret = turn_zero(g, n, y_zero, err);

	g->values[value].t.dtype = CNN_UINT8;
	g->values[value].rewritten = true;
	for (int i = 0; i < g->values[value].n_consumers && !ret; i++)
		ret = turn_zero(g, &g->nodes[g->values[value].consumers[i]], 2, err);
	return ret;
}

int hwpec_shift_types(struct cnn_graph *g, int place, struct cnn_err *err)
{
	int ret = CNN_OK;

	for (int i = 0; i < g->n_nodes && !ret; i++) {
		struct cnn_qproduct p = { .g = g, .node = i, .err = err };

		if (!cnn_can_share_place(g->nodes[i].place, place) ||
		    !g->nodes[i].n_out || g->nodes[i].out[0] < 0 ||
		    !can_turn(g, g->nodes[i].out[0]) || !cnn_qproduct_get(&p))
			continue;
		hwpec_find_shift(&p);
		if (p.shift >= 0)
			ret = turn_type(g, &g->nodes[i], p.form.y_scale + 1, err);
	}
	return ret;
}
