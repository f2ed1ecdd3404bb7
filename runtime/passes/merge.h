/* SPDX-License-Identifier: MIT */
/* Merging a node b into the node a that produces its input: shared by merge*.c. */
#ifndef CNN_MERGE_H
#define CNN_MERGE_H

#include "passes.h"

/*
 * The constant operand of b, if b is the Add or Mul (op) of it and the output of a, in that shape;
 * else NULL.
 */
const struct cnn_tensor *cnn_merge_operand(const struct cnn_graph *g, const struct cnn_node *a,
					   const struct cnn_node *b, enum cnn_op op);
/* Each merges b into the constants of a. 1 if b was merged, 0 if not, or an error. */
int cnn_merge_bn(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b);
int cnn_merge_scale(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b);
int cnn_merge_affine(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b);
int cnn_merge_bias(struct cnn_pass *f, struct cnn_node *a, struct cnn_node *b);
/* Does t broadcast to y per channel (axis 1), or as a scalar? */
bool cnn_merge_is_per_channel(const struct cnn_tensor *t, const struct cnn_tensor *y);
/* Weights of a that may be modified: its own if it is their only reader, else a copy. */
int cnn_merge_own_weights(struct cnn_pass *f, struct cnn_node *a, float **data);
/* A new bias of a that may be modified: of n numbers as the old one, or zeros. */
int cnn_merge_own_bias(struct cnn_pass *f, struct cnn_node *a, int64_t n, float **data);

#endif
