/* SPDX-License-Identifier: MIT */
/* A quantised product and its constants, as the files that split it see it. */
#ifndef CNN_GRAPH_FUSE_SUMS_H
#define CNN_GRAPH_FUSE_SUMS_H

#include "ir/graph_internal.h"

/* Inputs of the operators; -1: it has none. x is input 0, its scale and zero point come next. */
struct hwpec_product_form {
	enum cnn_op op;
	int x_zero, w, w_zero, bias, y_scale;	/* y's zero point comes next, w's scale before */
};

struct hwpec_product {
	struct cnn_graph *g;
	int node;
	struct hwpec_product_form form;
	bool conv, trans_b, by_inputs;
	bool late;			/* the zero point of x is not known yet */
	struct cnn_window win;		/* conv */
	int64_t groups, channels, taps;		/* outputs, products of each */
	int32_t x_zero;
	int shift;			/* that the core requantises by; -1: it does not */
	char why[96];			/* it does not; "": there is nothing to requantise */
	struct cnn_err *err;
};

/* Can the node be split? Fills p, whose graph, node and err are there, but for shift. */
bool hwpec_product_get(struct hwpec_product *p);
const struct cnn_tensor *hwpec_product_input(const struct hwpec_product *p, int i);
/* Weight number tap of channel k, int8; the scale of its sums, rounded as the operators do. */
int hwpec_product_weight(const struct hwpec_product *p, int64_t k, int64_t tap);
float hwpec_product_scale(const struct hwpec_product *p, int64_t k);
/* What is added to the sums of channel k: its bias, and what a known zero point of x gives. */
int32_t hwpec_product_term(const struct hwpec_product *p, int64_t k);

/* split_matmul.c: products with several matrices of weights become one for each. */
int cnn_fuse_matrices(struct cnn_graph *g, struct cnn_err *err);

/* requant_shift.c: fills shift, by which the core gives the operator's very results, and why. */
void hwpec_product_find_shift(struct hwpec_product *p);
/* What a weight of channel k is multiplied with then is 2 to the power of this. */
int hwpec_shift_up(const struct hwpec_product *p, int64_t k);
/* What the core adds to the sums of channel k. */
int32_t hwpec_shift_start(const struct hwpec_product *p, int64_t k);
/* int8 results that the core could write become uint8 where only products read them. */
int hwpec_shift_types(struct cnn_graph *g, struct cnn_err *err);

#endif
