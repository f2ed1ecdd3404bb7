/* SPDX-License-Identifier: MIT */
/*
 * Quantised operators. An element stands for scale * (element - zero point). Every operator is two
 * steps that do not know each other: sums of products of whole numbers, exact modulo 2^32, and
 * the requantisation of those sums.
 */
#ifndef CNN_OPS_QUANT_H
#define CNN_OPS_QUANT_H

#include "ops.h"

/*
 * Fails unless input i (NULL: left out) is one number of that type, or one for each of count
 * (1: one only).
 */
int cnn_quant_param(const struct cnn_call *c, int i, enum cnn_dtype type, int64_t count);
/* An input of int8 or uint8. */
int cnn_quant_bytes(const struct cnn_call *c, int i);
/* Inputs first, first + 1, first + 2: bytes, their scales and zero points, one or count. */
int cnn_quant_operand(const struct cnn_call *c, int first, int64_t count);
/* The same where elements may have 16 bits, too. */
int cnn_quant_wide_operand(const struct cnn_call *c, int first, int64_t count);
/* Input i: the scale of output 0, and after it the zero point, which tells the type of output 0. */
int cnn_quant_result(const struct cnn_call *c, int i);
int cnn_quant_wide_result(const struct cnn_call *c, int i);

/* Zero point number i of t, which is the only one if there is one; 0 if there is no t. */
int32_t cnn_zero_point(const struct cnn_tensor *t, int64_t i);
static inline float cnn_scale(const struct cnn_tensor *t, int64_t i)
{
	return ((const float *)t->data)[cnn_tensor_count(t) == 1 ? 0 : i];
}

/* y[i] = x[i] - zero_point for n bytes: whole numbers from -255 to 255. */
void cnn_whole(enum cnn_dtype type, const void *x, int32_t zero_point, float *y, int64_t n);
/*
 * float32 adds this many products of two such numbers without rounding: what is longer is added
 * in pieces, the pieces as integers.
 */
#define CNN_WHOLE_TERMS	258

/* acc[m][n] of a[m][k] and panel[k][CNN_PANEL], of which n columns count; sums: m * CNN_PANEL. */
struct cnn_whole_panel {
	int64_t m, k, a_row, a_col, acc_row;
	int n;
	const float *a;
	float *panel, *sums;
	int32_t *acc;
};

void cnn_panel_whole(const struct cnn_whole_panel *p);
/* acc[m][n] = a[m][k] * b[k][n] with cnn_gemm_scratch; c, c0, alpha and beta have no meaning. */
void cnn_gemm_whole(const struct cnn_gemm *g, float *scratch, int32_t *acc);
/* acc = conv(x, weights), all three in the layouts of Conv. */
int cnn_conv_whole(const struct cnn_call *c, const struct cnn_window *w, const float *x,
		   const float *weights, int32_t *acc);

/* acc = the sums of products of ConvInteger, with x_zero and the weights' zero points subtracted. */
int cnn_conv_sums(const struct cnn_call *c, int weights, int32_t x_zero,
		  const struct cnn_tensor *w_zero, int32_t *acc);
/* acc = the sums of products of MatMulInteger's inputs 0 to 3. */
int cnn_matmul_sums(const struct cnn_call *c, int32_t *acc);

/* The elements of a quantised tensor. */
struct cnn_range {
	enum cnn_dtype type;
	int32_t zero_point, low, high;
};

struct cnn_range cnn_range_of(enum cnn_dtype type, int32_t zero_point);

/* To the nearest whole number, ties to even, and into the range; NaN is the lowest. */
static inline int32_t cnn_to_range(const struct cnn_range *r, float v)
{
	float low = (float)(r->low - r->zero_point), high = (float)(r->high - r->zero_point);

	v = v > low ? v : low;
	v = v < high ? v : high;
	return (int32_t)((v + 0x1.8p23f) - 0x1.8p23f) + r->zero_point;
}

/* y[i] = round((float)acc[i] * scale[i * step]) + zero point, in the range. */
void cnn_requantize(const struct cnn_range *r, const float *scale, int step, const int32_t *acc,
		    int64_t n, void *y);

/*
 * QLinearAdd as XNNPACK computes it, for a core that does so, too: elements less their zero points
 * times their factors, added, plus half a unit, shifted. A factor has at most 21 bits.
 */
struct cnn_sum_factors {
	int64_t factor[2];
	int shift;
};

/* For operands of a and b times the scale of the sum; false if XNNPACK does not take them. */
bool cnn_sum_factors(float a, float b, struct cnn_sum_factors *f);

/* v / 2^shift to the nearest, halves away from zero. */
int64_t cnn_rounding_shift(int64_t v, int shift);

/* A ratio as bits * 2^(exponent - 31), bits of 31 bits or 0: TensorFlow Lite's own kernels. */
struct cnn_factor {
	int64_t bits;
	int exponent;
};

/* Is v a power of two, 2^*exponent, within 0.07 %, as TensorFlow Lite asks? */
bool cnn_near_power(float v, int *exponent);
/* The nearest factor; 0 for what is below 2^-32. */
struct cnn_factor cnn_factor_of(double ratio);
/*
 * v * f rounded once to the factor's last bit (halves up) and again to a whole number (halves away
 * from zero). v * 2^exponent must have 31 bits at most.
 */
int64_t cnn_times_factor(int64_t v, struct cnn_factor f);
/* v * ratio with a factor of 8 bits after the point, halves up: XNNPACK. */
int64_t cnn_times_8_bits(int64_t v, float ratio);

/*
 * How a sum of products with elements of 16 bits becomes an element: sum * ratio in double, ties to
 * even; or fixed, as TensorFlow Lite does beside int16 (multiplier_bits 15): (sum * factor +
 * 2^(shift - 1)) >> shift. Then the zero point is added, and the range limits it.
 */
struct cnn_wide_scale {
	struct cnn_range range;
	double ratio;
	bool fixed;
	int64_t factor;
	int shift;
};

/* Has a QLinearConv, QLinearMatMul or QGemm an operand or a result of 16 bits? */
bool cnn_is_wide_product(const struct cnn_call *c);
/* Checks its parameters, and its bias for n channels; to be called once output 0 has its type. */
int cnn_infer_product(const struct cnn_call *c, const struct cnn_tensor *bias, int64_t n);
/* Of channel i; input y: the result's scale. CNN_ELIMIT: no factor fits. */
int cnn_wide_scale_of(const struct cnn_call *c, int y, int64_t i, struct cnn_wide_scale *s);
int64_t cnn_wide_requantize(const struct cnn_wide_scale *s, int64_t sum);
/* QLinearConv. */
int cnn_wide_conv(struct cnn_call *c);
/* QLinearMatMul; trans_b: QGemm, of which B may be rows. */
int cnn_wide_matmul(struct cnn_call *c, bool trans_b, const struct cnn_tensor *bias, int y);

/*
 * Of int16 (qlinear_int16.c): fails unless input 0 is that and these inputs are zero points of 0;
 * the operators themselves.
 */
int cnn_check_int16(const struct cnn_call *c, const int *zeros, int n);
int cnn_qlinear_add_int16(struct cnn_call *c);
int cnn_qlinear_mul_int16(struct cnn_call *c);
int cnn_qlinear_softmax_int16(struct cnn_call *c);

#endif
