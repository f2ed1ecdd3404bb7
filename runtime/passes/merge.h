/* SPDX-License-Identifier: MIT */
/* What the files that merge a node b into the node a before it share. */
#ifndef CNN_GRAPH_FUSE_H
#define CNN_GRAPH_FUSE_H

#include "ir/graph_internal.h"

struct fuse {
	struct cnn_graph *g;
	unsigned int what;
	struct cnn_err *err;
};

static inline bool is_const(const struct cnn_tensor *t)
{
	return t && t->data && t->dtype == CNN_FLOAT32;
}

static inline int nomem(struct cnn_err *err)
{
	return cnn_fail(err, CNN_ENOMEM, "no memory to fuse nodes");
}

/* b, the only reader of a's output, disappears: a gives b's output. 1, or an error. */
int cnn_fuse_merge(struct fuse *f, struct cnn_node *a, struct cnn_node *b);
/*
 * The constant that node b, an Add or Mul as op says, takes with the output y of a; NULL if that
 * is not what it does.
 */
const struct cnn_tensor *cnn_fuse_operand(const struct cnn_graph *g, const struct cnn_node *a,
					  const struct cnn_node *b, enum cnn_op op);
/* Into the constants of a; each gives 1 if b was merged, 0 if not, or an error. */
int cnn_fuse_bn(struct fuse *f, struct cnn_node *a, struct cnn_node *b);
int cnn_fuse_conv_scale(struct fuse *f, struct cnn_node *a, struct cnn_node *b);
int cnn_fuse_bias(struct fuse *f, struct cnn_node *a, struct cnn_node *b);
/* Weights of a that may be changed: its own if no one else reads them, else a copy. */
int cnn_fuse_own_weights(struct fuse *f, struct cnn_node *a, float **data);
/* The old bias (or n zeros) as a fresh constant that may be changed. */
int cnn_fuse_own_bias(struct fuse *f, struct cnn_node *a, int64_t n, float **data);
/* What scales and shifts a HardSwish, into the convolutions that read it. */
int cnn_fuse_scales(struct fuse *f);

#endif
