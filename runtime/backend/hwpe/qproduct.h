/* SPDX-License-Identifier: MIT */
/* A quantised product and its constants, shared by the files that rewrite it. */
#ifndef HWPE_QPRODUCT_H
#define HWPE_QPRODUCT_H

#include "passes/rewrite.h"

/* Inputs of the operators; -1: it has none. x is input 0, its scale and zero point come next. */
struct hwpec_product_form {
	enum cnn_op op;
	int x_zero, w, w_zero, bias, y_scale; /* y's zero point comes next, w's scale before */
};

struct hwpec_product {
	struct cnn_graph *g;
	int node;
	struct hwpec_product_form form;
	bool conv, trans_b, by_inputs;
	bool late;			/* the zero point of x is not known yet */
	struct cnn_window win;		/* conv */
	int64_t groups, channels, taps; /* outputs, products of each */
	int32_t x_zero;
	int shift;	/* by which the core requantises; -1: it does not */
	char why[CNN_WHY_MAX];	/* why it does not; "": nothing to requantise */
	struct cnn_err *err;
};

/* True if the node can be split. The caller sets graph, node and err; the rest but shift is set. */
bool hwpec_product_get(struct hwpec_product *p);
const struct cnn_tensor *hwpec_product_input(const struct hwpec_product *p, int i);
/* Type and shape of x with its padding; no data. */
struct cnn_tensor hwpec_product_padded(const struct hwpec_product *p);
/* Weight @tap of channel k as int8, and the zero point of these weights. */
int hwpec_product_weight(const struct hwpec_product *p, int64_t k, int64_t tap);
int32_t hwpec_product_weight_zero(const struct hwpec_product *p, int64_t k);
/* Scale of the sums of channel k, rounded as the operators do. */
float hwpec_product_scale(const struct hwpec_product *p, int64_t k);
/* What is added to the sums of channel k: its bias and the share of a known zero point of x. */
int32_t hwpec_product_term(const struct hwpec_product *p, int64_t k);
/* Excess of the sums of channel k for each unit of the zero point of x. */
int32_t hwpec_product_zero_factor(const struct hwpec_product *p, int64_t k);

/*
 * legalize.c: rewrites the graph for this core.
 *
 * A quantised product with constant parameters becomes a sum of products without zero points and a
 * QLinearSums, with bit-identical results. The sum is a ConvInteger or a MatMulInteger with int8
 * weights; parameter pad_value is what surrounds the map. Where a shift gives the same results,
 * there is no QLinearSums: parameter shift_out is the shift, input 4 what each channel adds before.
 */
int hwpec_legalize(struct cnn_graph *g, int place, struct cnn_err *err);
/* split_matmul.c: a product with several matrices of weights becomes one product for each. */
int hwpec_split_matmul(struct cnn_graph *g, int place, struct cnn_err *err);

/* requant_shift.c: sets the shift that gives bit-identical results, or -1 and why there is none. */
void hwpec_product_find_shift(struct hwpec_product *p);
/* Weights of channel k are then multiplied by 2 to the power of this. */
int hwpec_shift_up(const struct hwpec_product *p, int64_t k);
/* Initial value of the sums of channel k. */
int32_t hwpec_shift_start(const struct hwpec_product *p, int64_t k);
/* int8 results that the core could write become uint8, if only products read them. */
int hwpec_shift_types(struct cnn_graph *g, int place, struct cnn_err *err);
/* The products that read what this one makes, if that lets the core requantise it. */
int hwpec_companions(const struct cnn_graph *g, int node, int *nodes);

#endif
