/* SPDX-License-Identifier: MIT */
/* What the rooms that work on graphs share and no one else sees. */
#ifndef CNN_GRAPH_INTERNAL_H
#define CNN_GRAPH_INTERNAL_H

#include "graph.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ONNX raw_data is little-endian and is used in place"
#endif

struct cnn_attr {
	char *name;
	char type;		/* as in ops.def; 'T' 'g' 'G' and '?' for the rest */
	int64_t i;
	float f;
	char *s;
	int64_t *ints;
	float *floats;
	int count;		/* of ints or floats */
	struct cnn_tensor t;
};

const struct cnn_attr *cnn_node_attr(const struct cnn_node *n, const char *name);
/* Every attribute must be one that spec (see ops.def) allows. */
int cnn_node_check_attrs(const struct cnn_node *n, const char *spec, struct cnn_err *err);
void cnn_node_free(struct cnn_node *n);
void cnn_node_drop_attrs(struct cnn_node *n);
/* Each adds an attribute that the node does not have yet. */
int cnn_node_add_int(struct cnn_node *n, const char *name, int64_t v, struct cnn_err *err);
int cnn_node_add_str(struct cnn_node *n, const char *name, const char *v, struct cnn_err *err);
int cnn_node_add_ints(struct cnn_node *n, const char *name, int count, const int64_t *v,
		      struct cnn_err *err);

/* Recomputes producers and consumers, sorts nodes if needed; fails on a cycle. */
int cnn_graph_link(struct cnn_graph *g, struct cnn_err *err);
/* Drops nodes whose op_type was cleared by cnn_node_free, then links. */
int cnn_graph_compact(struct cnn_graph *g, struct cnn_err *err);
/* Drops nodes that no graph output needs. */
int cnn_graph_prune(struct cnn_graph *g, struct cnn_err *err);
/* Frees constants that no one reads any more. */
void cnn_graph_drop_constants(struct cnn_graph *g);
/* Index of a new value that takes over t, with data a constant, or an error. */
int cnn_graph_add_value(struct cnn_graph *g, const char *name, struct cnn_tensor *t,
			struct cnn_err *err);

/* Adds b, and what is fused into it, to the report of what is fused into a. */
int cnn_fuse_note(struct cnn_node *a, const struct cnn_node *b, struct cnn_err *err);
/* The only reader of output 0 of node n, which no one else sees; NULL if there is none. */
struct cnn_node *cnn_fuse_only_reader(const struct cnn_graph *g, const struct cnn_node *n);
/* Makes b an input, number i, of node a; those left out before it become -1. */
int cnn_fuse_set_input(struct cnn_node *a, int i, int b, struct cnn_err *err);
/* A new constant of that shape as input i of node a, in place of what was there. */
int cnn_fuse_set_const(struct cnn_graph *g, struct cnn_node *a, int i,
		       const struct cnn_tensor *shape, const char *suffix, float **data,
		       struct cnn_err *err);
/* A node without attributes from value in to value out, as node number at. */
int cnn_fuse_insert(struct cnn_graph *g, int at, enum cnn_op op, const char *type, int in, int out,
		    struct cnn_err *err);
/* n becomes an operator op, of whose attributes it has none that are wrong. */
int cnn_fuse_rename(struct cnn_node *n, enum cnn_op op, struct cnn_err *err);
/* Operators between DequantizeLinear and QuantizeLinear, as quantised operators. */
int cnn_fuse_qdq(struct cnn_graph *g, struct cnn_err *err);
/* Computes the dequantised constants that cnn_graph_infer left for cnn_fuse_qdq. */
int cnn_graph_fold_dequantised(struct cnn_graph *g, struct cnn_err *err);
/* The pixels that 1 x 1 convolutions with strides read, picked out first. */
int cnn_fuse_strides(struct cnn_graph *g, struct cnn_err *err);
/* ConvTranspose without overlaps as 1 x 1 convolutions and DepthToSpace. */
int cnn_fuse_shuffles(struct cnn_graph *g, struct cnn_err *err);
/* Additions into the convolutions that make one of their operands. */
int cnn_fuse_additions(struct cnn_graph *g, unsigned int what, struct cnn_err *err);
/* Quantised products as sums of products and what follows them. */
int cnn_fuse_sums(struct cnn_graph *g, struct cnn_err *err);
/* The node of operator op that makes a value which only one node reads; it may go. */
struct cnn_node *cnn_fuse_maker(const struct cnn_graph *g, int value, enum cnn_op op);
/* Replaces chains of nodes that spell out one operator; then those that are a ScaledAdd. */
int cnn_fuse_chains(struct cnn_graph *g, struct cnn_err *err);
int cnn_fuse_scaled_adds(struct cnn_graph *g, struct cnn_err *err);

#endif
