/* SPDX-License-Identifier: MIT */
/*
 * Splits a quantised product into its sums, whose node has the zero points of the product, and a
 * node that requantises them; for back ends whose cores take zero points. Those of cores that do
 * not take them have split_product.c.
 */
#ifndef CNN_SPLIT_SUMS_H
#define CNN_SPLIT_SUMS_H

#include "backend.h"
#include "passes/rewrite.h"

#define CNN_SPLIT_INPUTS	9

/* Inputs of quantised products; those behind differ. */
enum { CNN_SPLIT_X, CNN_SPLIT_X_SCALE, CNN_SPLIT_X_ZERO, CNN_SPLIT_W, CNN_SPLIT_W_SCALE,
       CNN_SPLIT_W_ZERO };

/* The output channels that a node has: all, or those that the core requantises, or the others. */
enum cnn_split_part { CNN_SPLIT_ALL, CNN_SPLIT_PASSING, CNN_SPLIT_OTHERS };

/* A product that is split. Tensors are copies: the graph's move when it gets more values. */
struct cnn_split {
	struct cnn_graph *g;
	struct cnn_err *err;
	int node;			/* where it is */
	int in[CNN_SPLIT_INPUTS], out;	/* values; -1: none */
	int bias, y_scale, y_zero;	/* inputs; bias -1: it has none */
	struct cnn_tensor t[CNN_SPLIT_INPUTS], y;
	bool conv;			/* weights are by output channel */
	bool plain;			/* ConvInteger and QLinearSums: bytes, not transposed */
	bool transposed;
	int64_t bits;			/* multiplier_bits of RequantizeSums, if not plain */
	int64_t w_k, w_c;		/* weights between output and input channels */
	int64_t channels;		/* of the output */
	int axis;			/* of the channels in the result */
	char name[100];
	/* The rest is set by the caller; the first two only where there are parts. */
	const bool *passes;		/* by output channel */
	int64_t passing;
	char why[CNN_WHY_MAX];		/* why the core does not requantise; "": it has sums only */
};

/*
 * Describes a QLinearConv, QLinearConvTranspose, QLinearMatMul or QGemm whose scales, zero points,
 * weights and bias are constants. The caller has set graph, node and err; passes, passing and why
 * stay as they are.
 */
void cnn_split_get(struct cnn_split *s);
/* The product becomes its sums and their requantisation. s->node is then the latter. */
int cnn_split_all(struct cnn_split *s);

/* ---- for those that split parts of the channels ------------------------------------------ */

static inline bool cnn_split_has(const struct cnn_split *s, enum cnn_split_part part, int64_t k)
{
	return part == CNN_SPLIT_ALL || s->passes[k] == (part == CNN_SPLIT_PASSING);
}

static inline int64_t cnn_split_count(const struct cnn_split *s, enum cnn_split_part part)
{
	return part == CNN_SPLIT_ALL	 ? s->channels :
	       part == CNN_SPLIT_PASSING ? s->passing :
					   s->channels - s->passing;
}

/* Adds a constant, which the caller fills. Returns its value, or an error. */
int cnn_split_add_const(const struct cnn_split *s, struct cnn_tensor *t, const char *suffix,
			void **data);
/* Adds a value like the result, with the channels of a part. Returns it, or an error. */
int cnn_split_add_value(const struct cnn_split *s, enum cnn_dtype type, enum cnn_split_part part,
			const char *suffix);
/* Input i, a list with a number for each channel, for a part; one number for all is as it is. */
int cnn_split_take_list(const struct cnn_split *s, int i, enum cnn_split_part part,
			const char *suffix, int *value);
/* The weights of a part: of convolutions in their order, of a matrix product as columns. */
int cnn_split_take_weights(const struct cnn_split *s, enum cnn_split_part part, const char *suffix,
			   int *value);
/* The operator that gives the sums of all channels. */
enum cnn_op cnn_split_sums_op(const struct cnn_split *s);
/* Sets weights and zero points of a node of sums with input X. */
int cnn_split_set_sums(const struct cnn_split *s, struct cnn_node *n, int weights, int zero);
/* Requantises the sums of a part on the CPU, as a node before number s->node, which moves on. */
int cnn_split_requantise(struct cnn_split *s, enum cnn_split_part part, int sums, int out);

#endif
