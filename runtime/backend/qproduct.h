/* SPDX-License-Identifier: MIT */
/* A quantised product and its constants, shared by the back ends that split it. */
#ifndef CNN_QPRODUCT_H
#define CNN_QPRODUCT_H

#include "backend.h"
#include "passes/rewrite.h"

/* Inputs of the operators; -1: it has none. x is input 0, its scale and zero point come next. */
struct cnn_qproduct_form {
	enum cnn_op op;
	int x_zero, w, w_zero, bias, y_scale; /* y's zero point comes next, w's scale before */
	bool keeps_zeros;	/* for cores that take zero points: not split by split_product.c */
};

/* That of an operator; NULL: it is no quantised product. */
const struct cnn_qproduct_form *cnn_qproduct_form(enum cnn_op op);

struct cnn_qproduct {
	struct cnn_graph *g;
	int node;
	struct cnn_qproduct_form form;
	bool conv, trans_b, by_inputs;
	bool late;			/* the zero point of x is not known yet */
	struct cnn_window win;		/* conv */
	int64_t groups, channels, taps; /* outputs, products of each */
	int32_t x_zero;
	int shift;	/* by which a core requantises; -1: none does */
	char why[CNN_WHY_MAX];	/* why it does not; "": nothing to requantise */
	struct cnn_err *err;
};

/* A product that is requantised, and so not split yet? */
bool cnn_is_unsplit(const struct cnn_node *n);
/* True if the node can be split. The caller sets graph, node and err; the rest but shift is set. */
bool cnn_qproduct_get(struct cnn_qproduct *p);
const struct cnn_tensor *cnn_qproduct_input(const struct cnn_qproduct *p, int i);
/* Type and shape of x with its padding; no data. */
struct cnn_tensor cnn_qproduct_padded(const struct cnn_qproduct *p);
/* Weight @tap of channel k as int8, and the zero point of these weights. */
int cnn_qproduct_weight(const struct cnn_qproduct *p, int64_t k, int64_t tap);
int32_t cnn_qproduct_weight_zero(const struct cnn_qproduct *p, int64_t k);
/* Scale of the sums of channel k, rounded as the operators do. */
float cnn_qproduct_scale(const struct cnn_qproduct *p, int64_t k);
/* What is added to the sums of channel k: its bias and the share of a known zero point of x. */
int32_t cnn_qproduct_term(const struct cnn_qproduct *p, int64_t k);
/* Excess of the sums of channel k for each unit of the zero point of x. */
int32_t cnn_qproduct_zero_factor(const struct cnn_qproduct *p, int64_t k);

/* Binary logarithm of a factor of the weights of channel k. */
typedef int (*cnn_qproduct_up)(const struct cnn_qproduct *p, int64_t k);
/*
 * split_product.c adds constants: the int8 weights of the sums, up NULL: as they are, and a number
 * for each channel. Each returns the value, or an error.
 */
int cnn_qproduct_add_weights(const struct cnn_qproduct *p, cnn_qproduct_up up);
int cnn_qproduct_add_numbers(const struct cnn_qproduct *p, const char *suffix,
			     int32_t (*number)(const struct cnn_qproduct *p, int64_t k));
/* Makes the node compute these sums, a ConvInteger or a MatMulInteger. */
int cnn_qproduct_turn(const struct cnn_qproduct *p, int weights, int sums);
/*
 * Makes it sums of products without zero points and a QLinearSums behind it, with bit-identical
 * results. Parameter pad_value is what surrounds the map. p->node is then the sums.
 */
int cnn_qproduct_split(struct cnn_qproduct *p);
/*
 * check_product.c: are the operands of a ConvInteger or MatMulInteger what core @core, which has
 * int8 weights and no zero points, can take? Else false with the reason.
 */
bool cnn_check_product(const struct cnn_graph *g, const struct cnn_node *n, const char *core,
		       char *reason);
/* Tells why an operator is not, or has not become, a sum of products; returns false. */
bool cnn_refuse_product(const struct cnn_graph *g, const struct cnn_node *n, const char *core,
			char *reason);
/* split_matmul.c: a product with several matrices of weights becomes one product for each. */
int cnn_split_matmul(struct cnn_graph *g, int place, struct cnn_err *err);

#endif
