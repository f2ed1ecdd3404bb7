/* SPDX-License-Identifier: MIT */
/*
 * TensorFlow Lite files: a bounds-checked reader of their flatbuffers, and what the files that turn
 * them into graphs share. Nothing outside the file is ever read; what is damaged sets bad.
 */
#ifndef CNN_IMPORT_TFLITE_H
#define CNN_IMPORT_TFLITE_H

#include "ir/graph_internal.h"

struct fb {
	const uint8_t *data;
	size_t len;
	bool bad;		/* something pointed outside the file, or into the wrong place */
};

/* at 0: absent, all its fields too. */
struct fb_table {
	struct fb *fb;
	size_t at, vtable;
	size_t size, vtable_size;
};

/* count elements of size bytes at data + at; count 0: absent or empty. */
struct fb_vector {
	struct fb *fb;
	size_t at, count;
};

struct fb_table fb_root(struct fb *fb);
/* Field number i of t, in the schema's order; def where it is absent. */
int64_t fb_int(const struct fb_table *t, int i, int size, int64_t def);	/* signed */
float fb_float(const struct fb_table *t, int i, float def);
struct fb_table fb_table(const struct fb_table *t, int i);
struct fb_vector fb_vector(const struct fb_table *t, int i, size_t size);
/* Element i < count: a table, a signed integer of size bytes, a float. */
struct fb_table fb_table_at(const struct fb_vector *v, size_t i);
int64_t fb_int_at(const struct fb_vector *v, size_t i, int size);
float fb_float_at(const struct fb_vector *v, size_t i);

/* Graphs hold maps as NCHW, TensorFlow Lite as NHWC: a tensor of rank 4 may be there as both. */
enum tfl_layout {
	TFL_FILE,
	TFL_NCHW,		/* of rank 4; the same as TFL_FILE for any other rank */
	TFL_LAYOUTS
};

struct tfl_tensor {
	char name[80];
	enum cnn_dtype dtype;		/* CNN_UNDEFINED: one that graphs do not have */
	int rank;
	int64_t dims[CNN_MAX_RANK];
	struct fb_vector data;		/* count 0: not a constant */
	struct fb_vector scale, zero;	/* float, int64 */
	int axis;			/* of scale and zero, if they are more than one */
	int value[TFL_LAYOUTS];		/* of the graph; -1: not there yet */
	int scale_value, zero_value;	/* constants of the graph; -1: not there yet */
};

/* An operator of the file. Inputs and outputs are numbers of tensors; -1: left out. */
struct tfl_op {
	const struct tfl_kind *kind;
	int number;
	int in[CNN_MAX_INPUTS], n_in;
	int outs[CNN_MAX_INPUTS], n_out, out;	/* out: the first of outs */
	struct fb_table options;
	char name[48];
};

struct tfl {
	struct fb fb;
	struct cnn_graph *g;
	struct cnn_err *err;
	struct tfl_tensor *tensors;
	int n_tensors;
	int status;		/* the first error: from then on nothing is built */
	struct cnn_params unused;	/* what tfl_params gives then */
};

#define TFL_CONVERTS	1	/* the output may be of another type than input 0 */
#define TFL_MANY	2	/* there may be more than one output */

struct tfl_kind {
	int code;			/* BuiltinOperator */
	int options;			/* BuiltinOptions; 0: none that matter */
	int min_in, max_in;
	void (*make)(struct tfl *m, const struct tfl_op *op);
	unsigned int flags;
};

/* NULL: an operator that is not known here. */
const struct tfl_kind *tfl_find_kind(int64_t code);
/* What the schema calls it, known here or not; "operator": one that came to the schema later. */
const char *tfl_code_name(int64_t code);

int tfl_nomem(struct tfl *m);

/*
 * "OPERATOR_NUMBER: " + message, as the status; op may be NULL. Like everything below that gives a
 * value of the graph it gives -1, which as an input of a node means that it is left out: what is
 * made of it later is not made.
 */
int tfl_fail(struct tfl *m, const struct tfl_op *op, enum cnn_status code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A new value, which takes t over. */
int tfl_add_value(struct tfl *m, const char *name, struct cnn_tensor *t);
/* The value of a tensor in a layout: a constant, or moved from the other layout, if need be. */
int tfl_value(struct tfl *m, const struct tfl_op *op, int tensor, enum tfl_layout layout);
/* A constant: of rank 0, or of rank 1 with count elements; tfl_list: of int64. */
int tfl_scalar(struct tfl *m, enum cnn_dtype type, const void *v);
int tfl_constant(struct tfl *m, enum cnn_dtype type, int count, const void *v);
int tfl_list(struct tfl *m, const int64_t *v, int count);
/* Scale and zero point of a quantised tensor. */
int tfl_scale(struct tfl *m, const struct tfl_op *op, int tensor);
int tfl_zero(struct tfl *m, const struct tfl_op *op, int tensor);

/* A node with these inputs, one new value as its output and default parameters. */
int tfl_node(struct tfl *m, const struct tfl_op *op, enum cnn_op kind, int n_in, const int *in);
/* A node of that many outputs, which is the last node made; gives the first. */
int tfl_nodes(struct tfl *m, const struct tfl_op *op, enum cnn_op kind, int n_in, const int *in,
	      int n_out);
/* Parameters of the last node made, for its reader to fill in. */
struct cnn_params *tfl_params(struct tfl *m);
/* The last node, a Transpose, moves four axes. */
void tfl_permute(struct tfl *m, const int64_t *perm);
/* v becomes a tensor, which is an output of the operator, in that layout. */
void tfl_give_to(struct tfl *m, const struct tfl_op *op, int tensor, enum tfl_layout layout, int v);
/* v becomes the operator's only output. */
void tfl_give(struct tfl *m, const struct tfl_op *op, enum tfl_layout layout, int v);

#endif
