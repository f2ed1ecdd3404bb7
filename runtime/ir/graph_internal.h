/* SPDX-License-Identifier: MIT */
/* What the files of the rooms that work on graphs share and no one else sees. */
#ifndef CNN_GRAPH_INTERNAL_H
#define CNN_GRAPH_INTERNAL_H

#include "graph.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ONNX raw_data is little-endian and is used in place"
#endif

void cnn_node_free(struct cnn_node *n);

/* A copy with its parameters and bodies, the same indices of values; on failure to is to be freed. */
int cnn_node_copy(struct cnn_node *to, const struct cnn_node *from, struct cnn_err *err);

/* The table of n's operator. */
const struct cnn_field *cnn_node_fields(const struct cnn_node *n);
/* NULL: its operator has no such attribute. */
const struct cnn_field *cnn_node_field(const struct cnn_node *n, const char *name);
bool cnn_node_is_default(const struct cnn_node *n, const struct cnn_field *f);

/* Defaults of n's operator and operator set. */
void cnn_params_init(struct cnn_node *n);
/* n becomes an operator op: it keeps the parameters that both have, the others are defaults. */
void cnn_params_convert(struct cnn_node *n, enum cnn_op op);
/* Are all within their limits? */
int cnn_params_check(const struct cnn_node *n, struct cnn_err *err);
void cnn_params_release(struct cnn_node *n);

/* Recomputes producers and consumers, sorts nodes if needed; fails on a cycle. */
int cnn_graph_link(struct cnn_graph *g, struct cnn_err *err);
/* Drops nodes whose op_type was cleared by cnn_node_free, then links. */
int cnn_graph_compact(struct cnn_graph *g, struct cnn_err *err);
/* Drops nodes that no graph output needs. */
int cnn_graph_prune(struct cnn_graph *g, struct cnn_err *err);
/* Frees constants that no one reads any more. */
void cnn_graph_drop_constants(struct cnn_graph *g);
/* Index of a new value that takes over t, with data a constant, or an error: t is released. */
int cnn_graph_add_value(struct cnn_graph *g, const char *name, struct cnn_tensor *t,
			struct cnn_err *err);

/*
 * A copy of some nodes (ascending) and their values, with the data of constants shared: g is to
 * outlive it. What these nodes do not make are its inputs, what others read its outputs. The caller
 * frees it.
 */
int cnn_subgraph_copy(const struct cnn_graph *g, const int *nodes, int n, struct cnn_graph **out,
		      struct cnn_err *err);

#endif
