/* SPDX-License-Identifier: MIT */
/*
 * The network in memory: values (edges) and nodes in topological order. A caller goes
 *
 *	cnn_graph_import (import/import.h) -> cnn_graph_set_input_shape (dynamic dimensions only)
 *	-> cnn_graph_infer (shapes, constant folding), cnn_graph_fuse (passes/passes.h)
 *	-> cnn_graph_free
 * There is no global state. A graph may be read by many threads while none changes it.
 */
#ifndef CNN_GRAPH_H
#define CNN_GRAPH_H

#include "params.h"

#define CNN_MAX_NODES	65536
#define CNN_MAX_VALUES	262144

/* The domain of operators that files name and ONNX does not have. */
#define CNN_DOMAIN	"cnnacc"

enum cnn_op {
	CNN_OP_UNKNOWN = 0,
#define OP(sym, ...) CNN_OP_##sym,
#include "ops.def"
#undef OP
	CNN_OP_COUNT
};

/* The operator whose geometry op shares: ONNX's own where op is a core's variant of it. */
enum cnn_op cnn_op_base(enum cnn_op op);

struct cnn_value {
	char *name;
	struct cnn_tensor t;	/* t.data != NULL: constant (initializer or folded) */
	int producer;		/* node index; -1: graph input or constant */
	int *consumers;		/* node indices, ascending, each once */
	int n_consumers;
	bool is_input;		/* listed in graph->inputs */
	bool is_output;		/* listed in graph->outputs */
	/* A constant that only cores read, from their images: t.data may be missing. */
	bool in_weight_image;
	bool rewritten;		/* cnn_graph_fuse made it another number than the file's */
};

/* An activation that a producer applies to each element of its output 0, after its bias. */
enum cnn_act_kind {
	CNN_ACT_NONE = 0,
	CNN_ACT_RELU,
	CNN_ACT_CLIP,		/* min(max(x, a), b) */
	CNN_ACT_SIGMOID,
	CNN_ACT_HARD_SIGMOID,	/* max(0, min(1, a * x + b)) */
	CNN_ACT_HARD_SWISH,	/* x * max(0, min(6, x + 3)) / 6 */
	CNN_ACT_LEAKY_RELU,	/* x < 0 ? a * x : x */
	CNN_ACT_SWISH,		/* x * sigmoid(a * x) */
	CNN_ACT_AFFINE,		/* a * x + b */
	CNN_ACT_LAST = CNN_ACT_AFFINE
};

struct cnn_act {
	enum cnn_act_kind kind;
	float a, b;
};

struct cnn_node {
	enum cnn_op op;
	char *op_type;		/* "Conv"; the file's word even when op is CNN_OP_UNKNOWN */
	char *domain;		/* "" for ai.onnx */
	char *name;		/* as in the file, or "Conv_12" */
	int opset;		/* version of the domain the file asked for */
	int n_in, n_out;
	int file_op;		/* while compiling: 1 + its place in the file; 0: a pass made it */
	int *in, *out;		/* value indices; -1: optional and left out */
	struct cnn_params params;	/* set by cnn_params_init */
	struct cnn_act act;	/* set by cnn_graph_fuse */
	bool wide;		/* of float16, but its constants have become float32 */
	/*
	 * What cnn_graph_fuse put into this node, such as "BatchNormalization bn1, Relu r1";
	 * NULL if nothing. For reports.
	 */
	char *fused;
	/* Why import refuses a parameter, told if the node is needed; NULL: it does not. */
	struct cnn_err *refused;
	int place;		/* while compiling: where it is to run, see below */
	struct cnn_choice *choice; /* while compiling: why there; NULL: not decided by cost */
};

#define CNN_PLACE_OPEN	0	/* not decided */
#define CNN_PLACE_CPU	1
#define CNN_PLACE_CORE(i) (2 + (i))	/* core number i of the device, or one equal to it */

#define CNN_REASON_LEN	160

/* The place of a node, and the one that would have been next. */
struct cnn_choice {
	int64_t ns, next_ns;	/* times, on the target */
	int next;		/* CNN_PLACE_*; CNN_PLACE_OPEN: no other can run it */
	char reason[CNN_REASON_LEN]; /* on the CPU: why on no core */
};

/* As cnn_fail, with "OPERATOR (NAME): " before the message. */
int cnn_node_fail(const struct cnn_node *n, struct cnn_err *err, enum cnn_status code,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* What one graph may take; importing sets the defaults, a caller may change them. */
struct cnn_limits {
	int64_t tensor_bytes;	/* one tensor */
	int64_t total_bytes;	/* all constants, and all tensors alive in a CPU run */
	int64_t work;		/* multiply-adds or element steps of one CPU run */
	int64_t fold_work;	/* the same for folding constants in cnn_graph_infer */
};

#define CNN_MAX_TENSOR_BYTES	((int64_t)1 << 31)
#define CNN_DEFAULT_TOTAL_BYTES	((int64_t)1 << 33)
#define CNN_DEFAULT_WORK	((int64_t)1 << 42)
#define CNN_DEFAULT_FOLD_WORK	((int64_t)1 << 34)

struct cnn_graph {
	char *name;
	struct cnn_value *values;
	int n_values;
	struct cnn_node *nodes;	/* always in topological order, dense */
	int n_nodes;
	int *inputs;		/* value indices; initializers are not among them */
	int n_inputs;
	int *outputs;
	int n_outputs;
	struct cnn_limits limits;
	int64_t const_bytes;	/* data held by constants */
	bool inferred;
	bool fp16;		/* cores may compute float32 operators with float16 */
	bool whole_groups;	/* no core splits the output channels of a product with groups */
};

void cnn_graph_default_limits(struct cnn_graph *g);
void cnn_graph_free(struct cnn_graph *g);
/* Value index by name, -1 if there is none. */
int cnn_graph_find_value(const struct cnn_graph *g, const char *name);

/* i counts graph->inputs. A fixed dimension of the file must be kept; -1 dims become dims[]. */
int cnn_graph_set_input_shape(struct cnn_graph *g, int i, int rank, const int64_t *dims,
			      struct cnn_err *err);
/*
 * Makes input i a constant with a copy of t (for inputs that give shapes, such as Reshape's);
 * it stays in graph->inputs. Call before cnn_graph_infer.
 */
int cnn_graph_set_input_data(struct cnn_graph *g, int i, const struct cnn_tensor *t,
			     struct cnn_err *err);

/*
 * A Conv, ConvTranspose, MaxPool, AveragePool, GlobalAveragePool or GlobalMaxPool after
 * inference: auto_pad is resolved, the default kernel, strides and dilations are filled in.
 * Axis 0 is the outermost spatial axis: for 2-D maps kernel[0] is the height and kernel[1] the
 * width. The global pools are a window of the whole map.
 *
 * ConvTranspose adds w[c][oc][k] * x[c][i] to y[oc][i * stride + k * dilation - pad_begin], where
 * that lies in y; out holds what output_shape or output_padding asked for.
 */
struct cnn_window {
	int spatial;			/* spatial axes: 1..3 */
	int64_t batch, in_ch, out_ch, group;
	int64_t in[CNN_MAX_SPATIAL], out[CNN_MAX_SPATIAL];
	int64_t kernel[CNN_MAX_SPATIAL], stride[CNN_MAX_SPATIAL], dilation[CNN_MAX_SPATIAL];
	/*
	 * pad_end is what the file says (or auto_pad gives); with ceil_mode the last window may
	 * reach further: past in + pad_begin + pad_end, and counts only what lies inside.
	 */
	int64_t pad_begin[CNN_MAX_SPATIAL], pad_end[CNN_MAX_SPATIAL];
	bool ceil_mode;
	bool count_include_pad;		/* AveragePool */
};

/* x, w: tensors of inputs 0 and 1 (w NULL for pools); their shapes must be known. */
int cnn_window_resolve(const struct cnn_node *n, const struct cnn_tensor *x,
		       const struct cnn_tensor *w, struct cnn_window *win, struct cnn_err *err);
int64_t cnn_window_taps(const struct cnn_window *win);	/* of one channel, INT64_MAX at most */
bool cnn_window_is_padded(const struct cnn_window *win);
/* The input that holds the weights of a convolution, quantised or not; -1: op is none. */
int cnn_weights_input(enum cnn_op op);
/* The same as cnn_window_resolve for a node of a graph. */
int cnn_node_window(const struct cnn_graph *g, const struct cnn_node *n, struct cnn_window *win,
		    struct cnn_err *err);

/*
 * A Gemm, MatMul, MatMulInteger, QGemm or QLinearMatMul seen as
 * y[m,n] = alpha * a[m,k] b[k,n] + beta * c: resolved for each of batch matrices (1 for Gemm).
 * b_const tells whether b is a constant.
 */
struct cnn_matmul {
	int64_t batch, m, n, k;
	bool trans_a, trans_b;
	float alpha, beta;
	bool has_c, b_const;
};

int cnn_node_matmul(const struct cnn_graph *g, const struct cnn_node *n, struct cnn_matmul *mm,
		    struct cnn_err *err);

/*
 * Multiply-adds of one execution of a node with known shapes: convolutions and matrix products
 * count theirs (padding taps included, the sums of inputs that a core adds not), means (of
 * pools and ReduceMean) one for each element of each, everything else, maxima too, is 0.
 */
int64_t cnn_node_macs(const struct cnn_graph *g, const struct cnn_node *n);

static inline struct cnn_tensor *cnn_node_in(const struct cnn_graph *g, const struct cnn_node *n,
					     int i)
{
	return i < n->n_in && n->in[i] >= 0 ? &g->values[n->in[i]].t : NULL;
}

static inline struct cnn_tensor *cnn_node_out(const struct cnn_graph *g, const struct cnn_node *n,
					      int i)
{
	return i < n->n_out && n->out[i] >= 0 ? &g->values[n->out[i]].t : NULL;
}

#endif
