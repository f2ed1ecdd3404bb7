/* SPDX-License-Identifier: MIT */
/* Functions with which passes and back ends rewrite a graph. */
#ifndef CNN_REWRITE_H
#define CNN_REWRITE_H

#include "ir/graph_internal.h"

/* Is it a constant of floats? */
static inline bool cnn_is_const(const struct cnn_tensor *t)
{
	return t && t->data && t->dtype == CNN_FLOAT32;
}

/* Does a value hold floats: float32, or where halves are fused float16? */
static inline bool cnn_is_float(const struct cnn_tensor *t, bool halves)
{
	return t->dtype == CNN_FLOAT32 || (halves && t->dtype == CNN_FLOAT16);
}

/* Does an Add, Mul or Div broadcast by the rules of operator set 7 and later? */
static inline bool cnn_has_opset7_broadcast(const struct cnn_node *n)
{
	return n->params.binary.axis == CNN_AXIS_NONE && !n->params.binary.broadcast;
}

static inline int cnn_rewrite_nomem(struct cnn_err *err)
{
	return cnn_fail(err, CNN_ENOMEM, "no memory to fuse nodes");
}

/* The bounds of a float Clip; false if one is not constant. */
bool cnn_clip_bounds(const struct cnn_graph *g, const struct cnn_node *clip, float *low,
		     float *high);
/* Adds b, and what is fused into b, to a's list of fused operators. */
int cnn_rewrite_note(struct cnn_node *a, const struct cnn_node *b, struct cnn_err *err);
/* May nodes of these places (CNN_PLACE_*) become one? */
static inline bool cnn_can_share_place(int a, int b)
{
	return a == b || a == CNN_PLACE_OPEN || b == CNN_PLACE_OPEN;
}

/*
 * The only reader of output 0 of node n; NULL for more readers, for a graph output, and for a
 * reader in another place.
 */
struct cnn_node *cnn_rewrite_only_reader(const struct cnn_graph *g, const struct cnn_node *n);
/* Makes value b input i of node a; new inputs before it are -1 (omitted). */
int cnn_rewrite_set_input(struct cnn_node *a, int i, int b, struct cnn_err *err);
/*
 * Adds a value like t, whose data it takes, also on failure. Its name is the first 100 characters
 * of name, and suffix. Returns its index, or an error.
 */
int cnn_rewrite_add_value(struct cnn_graph *g, const char *name, const char *suffix,
			  struct cnn_tensor *t, struct cnn_err *err);
/* The same for a constant of t's type and shape: allocates *data, which the caller fills. */
int cnn_rewrite_add_const(struct cnn_graph *g, const char *name, const char *suffix,
			  struct cnn_tensor *t, void **data, struct cnn_err *err);
/* Replaces input i of node a by a new float constant of that shape, which the caller fills. */
int cnn_rewrite_set_const(struct cnn_graph *g, struct cnn_node *a, int i,
			  const struct cnn_tensor *shape, const char *suffix, float **data,
			  struct cnn_err *err);
/* Inserts a node with default parameters from value in to value out, as node number at. */
int cnn_rewrite_insert(struct cnn_graph *g, int at, enum cnn_op op, int in, int out,
		       struct cnn_err *err);
/* Turns n into operator op; see cnn_params_convert. */
int cnn_rewrite_rename(struct cnn_node *n, enum cnn_op op, struct cnn_err *err);
/* The value's producer, if its operator is op and the value has one reader; else NULL. */
struct cnn_node *cnn_rewrite_producer(const struct cnn_graph *g, int value, enum cnn_op op);
/*
 * Removes b, the only reader of a's output: a computes b's output instead. b is added to the list
 * of operators fused into note. Returns 1 or an error.
 */
int cnn_rewrite_merge(struct cnn_graph *g, struct cnn_node *a, struct cnn_node *b,
		      struct cnn_node *note, struct cnn_err *err);

#endif
