// SPDX-License-Identifier: MIT
/* Quantised products on core gcu: zero points, sums that can occur, and requantisation. */
#include <math.h>
#include <stdlib.h>

#include "backend/qproduct.h"
#include "gcu.h"

#define INPUTS_MAX	9

static const struct cnn_tensor *input(const struct gcuc_product *p, int i)
{
	return i < 0 ? NULL : cnn_node_in(p->g, p->n, i);
}

bool gcuc_product_get(const struct cnn_graph *g, const struct cnn_node *n, struct gcuc_product *p)
{
	const struct cnn_qproduct_form *f = cnn_qproduct_form(n->op);

	if (!f)
		return false;
	*p = (struct gcuc_product){ .g = g, .n = n, .sums = f->y_scale < 0 };
	p->x = input(p, 0);
	p->w = input(p, f->w);
	p->x_zero = input(p, f->x_zero);
	p->w_zero = input(p, f->w_zero);
	p->bias = input(p, f->bias);
	p->groups = n->op == CNN_OP_INTEGER_CONV ? input(p, 4) : NULL;
	if (p->sums)
		return true;
	p->x_scale = input(p, 1);
	p->w_scale = input(p, f->w + 1);
	p->y = f->y_scale;
	p->y_scale = input(p, f->y_scale);
	p->y_zero = input(p, f->y_scale + 1);
	return true;
}

static bool is_known(const struct cnn_tensor *t)
{
	return !t || t->data;
}

static bool check_constants(const struct gcuc_product *p, char *reason)
{
	const struct cnn_tensor *all[] = { p->x_zero, p->w_zero, p->bias, p->x_scale,
					   p->w_scale, p->y_scale, p->y_zero };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!is_known(all[i]))
			return cnn_reject(reason, "%s: a scale, zero point or bias is not constant",
					  p->n->op_type);
	if (p->x_zero && cnn_tensor_count(p->x_zero) != 1)
		return cnn_reject(reason, "%s: a zero point for each row", p->n->op_type);
	return true;
}

static int32_t integer_at(const struct cnn_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case CNN_INT8:
		return ((const int8_t *)t->data)[i];
	case CNN_UINT8:
		return ((const uint8_t *)t->data)[i];
	default:
		return ((const int16_t *)t->data)[i];
	}
}

static int64_t weight_index(const struct gcuc_conv *v, int64_t k, int64_t c, struct gcuc_point p)
{
	const struct gcuc_weights *w = &v->weights;

	if (w->flip)
		p = (struct gcuc_point){
			v->z.kernel - 1 - p.z, v->y.kernel - 1 - p.y, v->x.kernel - 1 - p.x,
		};
	return k / v->co * w->group + k % v->co * w->k + c * w->c + p.z * w->z + p.y * w->y +
	       p.x * w->x;
}

int32_t gcuc_weight_int(const struct gcuc_conv *v, int64_t k, int64_t c, struct gcuc_point p)
{
	int32_t w = integer_at(v->weights.t, weight_index(v, k, c, p));

	return v->weights.subtract ? w - cnn_zero_point(v->weights.zero, k) : w;
}

float gcuc_weight_float(const struct gcuc_conv *v, int64_t k, int64_t c, struct gcuc_point p)
{
	return ((const float *)v->weights.t->data)[weight_index(v, k, c, p)];
}

/* The least and the largest weight less its zero point. */
static void weight_range(const struct gcuc_conv *v, int32_t *low, int32_t *high)
{
	const struct gcuc_weights *w = &v->weights;
	int64_t points = gcuc_points(v);

	*low = *high = 0;
	for (int64_t k = 0; k < v->ofm.c; k++) {
		int32_t zero = cnn_zero_point(w->zero, k);

		for (int64_t i = 0; i < v->ci * points; i++) {
			int64_t at = weight_index(v, k, i / points, gcuc_point_at(v, i % points));
			int32_t d = integer_at(w->t, at) - zero;

			*low = d < *low ? d : *low;
			*high = d > *high ? d : *high;
		}
	}
}

static bool is_uniform(const struct cnn_tensor *zero)
{
	for (int64_t i = 1; zero && i < cnn_tensor_count(zero); i++)
		if (cnn_zero_point(zero, i) != cnn_zero_point(zero, 0))
			return false;
	return true;
}

/* One zero point is the core's; those of channels are subtracted before, if the weights allow. */
static bool set_weight_zero(const struct gcuc_product *p, struct gcuc_conv *v, char *reason)
{
	bool wide = v->format == CNNACC_GCU_INT16;
	int32_t low, high;

	v->weights.zero = p->w_zero;
	if (!wide && is_uniform(p->w_zero)) {
		v->w_unsigned = p->w->dtype == CNN_UINT8;
		v->w_zero = cnn_zero_point(p->w_zero, 0);
		return true;
	}
	v->weights.subtract = true;
	weight_range(v, &low, &high);
	if (low >= (wide ? INT16_MIN : INT8_MIN) && high <= (wide ? INT16_MAX : INT8_MAX))
		return true;
	v->w_unsigned = !wide && low >= 0 && high <= UINT8_MAX;
	return v->w_unsigned ||
	       cnn_reject(reason, "%s: weights less the zero points of their channels are %d to "
			  "%d, gcu has %d bits", p->n->op_type, low, high, wide ? 16 : 8);
}

bool gcuc_product_numbers(const struct gcuc_product *p, struct gcuc_conv *v, char *reason)
{
	static const struct {
		enum cnn_dtype type;
		enum cnnacc_gcu_out out;
	} types[] = { { CNN_INT8, CNNACC_GCU_OUT_INT8 }, { CNN_UINT8, CNNACC_GCU_OUT_UINT8 },
		      { CNN_INT16, CNNACC_GCU_OUT_INT16 }, { CNN_INT32, CNNACC_GCU_OUT_INT32 } };
	enum cnn_dtype type = p->sums ? CNN_INT32 : p->y_zero->dtype;
	bool known = false;

	if (!check_constants(p, reason))
		return false;
	if (p->x->dtype == CNN_UINT16 || p->w->dtype == CNN_UINT16)
		return cnn_reject(reason, "%s: type uint16, gcu has int16", p->n->op_type);
	v->format = p->x->dtype == CNN_INT16 || p->w->dtype == CNN_INT16 ? CNNACC_GCU_INT16 :
									 CNNACC_GCU_INT8;
	if (v->format == CNNACC_GCU_INT16 && p->x->dtype != CNN_INT16)
		return cnn_reject(reason, "%s: bytes with weights of 16 bits", p->n->op_type);
	v->x_unsigned = p->x->dtype == CNN_UINT8;
	v->x_zero = cnn_zero_point(p->x_zero, 0);
	if (v->format == CNNACC_GCU_INT16 && v->x_zero)
		return cnn_reject(reason, "%s: zero point %d of int16, gcu has 0", p->n->op_type,
				  v->x_zero);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type) {
			v->result = types[i].out;
			known = true;
		}
	if (!known)
		return cnn_reject(reason, "%s: results of type %s", p->n->op_type,
				  cnn_dtype_name(type));
	v->y_zero = p->sums ? 0 : cnn_zero_point(p->y_zero, 0);
	return set_weight_zero(p, v, reason);
}

/* ---- sums -------------------------------------------------------------------------------- */

/* The sums of products that channel k can have; those with padding are between them. */
static void sum_range(const struct gcuc_product *p, const struct gcuc_conv *v, int64_t k,
		      int64_t *low, int64_t *high)
{
	struct cnn_range x = cnn_range_of(p->x->dtype, v->x_zero);
	int64_t points = gcuc_points(v);
	int32_t least = x.low - v->x_zero, most = x.high - v->x_zero;

	*low = *high = 0;
	for (int64_t i = 0; i < v->ci * points; i++) {
		int64_t w = gcuc_weight_int(v, k, i / points, gcuc_point_at(v, i % points)) -
			    v->w_zero;

		*low += w < 0 ? w * most : w * least;
		*high += w < 0 ? w * least : w * most;
	}
}

static int64_t bias_of(const struct gcuc_product *p, int64_t k)
{
	if (!p->bias)
		return 0;
	return p->bias->dtype == CNN_INT64 ? ((const int64_t *)p->bias->data)[k] :
					     ((const int32_t *)p->bias->data)[k];
}

/* The operator on the CPU, to ask it about its numbers. */
struct call {
	struct cnn_call c;
	const struct cnn_tensor *in[INPUTS_MAX];
	struct cnn_tensor *out[1];
};

static void make_call(const struct gcuc_product *p, struct call *call)
{
	for (int i = 0; i < INPUTS_MAX; i++)
		call->in[i] = cnn_node_in(p->g, p->n, i);
	call->out[0] = cnn_node_out(p->g, p->n, 0);
	call->c = (struct cnn_call){
		.node = p->n, .in = call->in, .out = call->out, .n_in = p->n->n_in, .n_out = 1,
	};
}

/* False: the operator refuses the scales. */
static bool get_requant(const struct gcuc_product *p, const struct gcuc_conv *v, int64_t k,
			struct gcuc_requant *r)
{
	float x = cnn_scale(p->x_scale, 0), w = cnn_scale(p->w_scale, k);
	float y = cnn_scale(p->y_scale, 0);
	struct call call;

	*r = (struct gcuc_requant){
		.scale = x * w / y, .range = cnn_range_of(p->y_zero->dtype, v->y_zero),
		.bias = bias_of(p, k),
	};
	make_call(p, &call);
	if (cnn_is_wide_product(&call.c)) {
		r->rule = GCUC_BY_WIDE;
		return !cnn_wide_scale_of(&call.c, p->y, k, &r->wide);
	}
	if (p->n->op != CNN_OP_QLINEAR_CONV_TRANSPOSE || p->n->params.product.multiplier_bits != 31)
		return true;
	r->rule = GCUC_BY_FACTOR;
	r->factor = cnn_factor_of((double)x * (double)w / (double)y);
	return true;
}

static void set_linear(struct cnnacc_gcu_linear *to, const struct gcuc_linear *l)
{
	*to = (struct cnnacc_gcu_linear){
		.a = (uint32_t)l->a, .shift = (uint32_t)l->shift, .b_lo = (uint32_t)l->b,
		.b_hi = (uint32_t)((uint64_t)l->b >> 32),
	};
}

/* Can the core add the sums up, and requantise them? found: has a linear multiply-add. */
static bool solve(const struct gcuc_product *p, struct gcuc_conv *v, int64_t k, bool *found,
		  char *reason)
{
	struct gcuc_requant r = { 0 };
	struct gcuc_linear l = { 0 };
	int64_t low, high;

	sum_range(p, v, k, &low, &high);
	if (!p->sums && !get_requant(p, v, k, &r))
		return cnn_reject(reason, "%s: a scale is beyond the operator's limits",
				  p->n->op_type);
	r.low = cnn_min(low, low + r.bias);
	r.high = cnn_max(high, high + r.bias);
	if (r.low < INT32_MIN || r.high > INT32_MAX)
		return cnn_reject(reason, "%s: sums of output channel %lld from %lld to %lld, limit "
				  "of gcu an int32", p->n->op_type, (long long)k,
				  (long long)r.low, (long long)r.high);
	r.low = low + r.bias;
	r.high = high + r.bias;
	*found = p->sums || gcuc_requant_solve(&r, v->round_up, &l);
	if (v->linear && *found)
		set_linear(&v->linear[k], &l);
	return true;
}

int64_t gcuc_product_requantise(const struct gcuc_product *p, struct gcuc_conv *v, bool *passes,
				char *reason)
{
	int64_t channels = v->ofm.c, count = 0, first = -1;

	/* TensorFlow Lite's rule beside int16. */
	v->round_up = !p->sums && p->n->op != CNN_OP_QLINEAR_MATMUL &&
		      p->n->params.product.multiplier_bits == 15;
	if (!p->sums) {
		v->linear = calloc((size_t)channels, sizeof(*v->linear));
		if (!v->linear)
			return cnn_reject(reason, "%s: no memory", p->n->op_type) - 1;
	}
	for (int64_t k = 0; k < channels; k++) {
		bool found = false;

		if (!solve(p, v, k, &found, reason))
			return -1;
		if (passes)
			passes[k] = found;
		count += found;
		first = found || first >= 0 ? first : k;
	}
	if (first >= 0)
		cnn_reject(reason, "%s: %lld of %lld channels have sums that gcu would round in "
			   "another way, channel %lld first", p->n->op_type,
			   (long long)(channels - count), (long long)channels, (long long)first);
	return count;
}
