/* SPDX-License-Identifier: MIT */
/*
 * The network in memory: values (edges), nodes in topological order, and what turns an ONNX
 * or TensorFlow Lite file into them. A caller goes
 *
 *	cnn_graph_import -> cnn_graph_set_input_shape (dynamic dimensions only)
 *	-> cnn_graph_infer (shapes, constant folding) -> cnn_graph_fuse -> cnn_graph_free
 *
 * There is no global state. A graph may be read by many threads while none changes it.
 */
#ifndef CNN_GRAPH_H
#define CNN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CNN_MAX_RANK	8
#define CNN_MAX_SPATIAL	3
#define CNN_MAX_INPUTS	1024		/* inputs or outputs of one node */
#define CNN_MAX_NODES	65536
#define CNN_MAX_VALUES	262144

/* ---- errors ---------------------------------------------------------------------------- */

enum cnn_status {
	CNN_OK = 0,
	CNN_EINVAL = -1,	/* the file or the call is wrong */
	CNN_EUNSUPPORTED = -2,	/* valid ONNX, but an operator, attribute or type we lack */
	CNN_ELIMIT = -3,	/* over a size or work limit */
	CNN_ENOMEM = -4,
};

/* text names the operator, the parameter and the limit; err may be NULL everywhere. */
struct cnn_err {
	enum cnn_status code;
	char text[256];
};

/* Fills err and returns code, so that "return cnn_fail(...)" works. */
int cnn_fail(struct cnn_err *err, enum cnn_status code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- arithmetic ------------------------------------------------------------------------ */

/* a * b for non-negative a and b, INT64_MAX where it does not fit. */
static inline int64_t cnn_mul_sat(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

/* a + b for non-negative a and b, likewise. */
static inline int64_t cnn_add_sat(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

/* ---- tensors --------------------------------------------------------------------------- */

/* The numbers of TensorProto.DataType. */
enum cnn_dtype {
	CNN_UNDEFINED = 0,
	CNN_FLOAT32 = 1,
	CNN_UINT8 = 2,
	CNN_INT8 = 3,
	CNN_UINT16 = 4,
	CNN_INT16 = 5,
	CNN_INT32 = 6,
	CNN_INT64 = 7,
	CNN_STRING = 8,		/* named in messages only, like CNN_BFLOAT16 */
	CNN_BOOL = 9,
	CNN_FLOAT16 = 10,
	CNN_FLOAT64 = 11,
	CNN_UINT32 = 12,
	CNN_UINT64 = 13,
	CNN_BFLOAT16 = 16,
};

/* A dense row-major array. */
struct cnn_tensor {
	enum cnn_dtype dtype;
	int rank;		/* 0: scalar; -1: shape not known */
	int64_t dims[CNN_MAX_RANK];	/* -1: not known (graph inputs before set_input_shape) */
	void *data;		/* NULL: no data */
	size_t capacity;	/* bytes at data */
	bool owned;		/* cnn_tensor_release frees data */
};

const char *cnn_dtype_name(enum cnn_dtype t);
size_t cnn_dtype_size(enum cnn_dtype t);	/* 0 for types we do not hold */
/* Number of elements; -1 if unknown or beyond INT64_MAX. */
int64_t cnn_tensor_count(const struct cnn_tensor *t);
/* Bytes of the elements; -1 if unknown. */
int64_t cnn_tensor_bytes(const struct cnn_tensor *t);
bool cnn_tensor_same_shape(const struct cnn_tensor *a, const struct cnn_tensor *b);
/* "float32[1,3,48,192]" */
const char *cnn_tensor_describe(const struct cnn_tensor *t, char *buf, size_t len);
/* Zero-filled data for dtype/rank/dims (16-byte aligned); max_bytes 0: CNN_MAX_TENSOR_BYTES. */
int cnn_tensor_alloc(struct cnn_tensor *t, int64_t max_bytes, struct cnn_err *err);
int cnn_tensor_copy(struct cnn_tensor *dst, const struct cnn_tensor *src, struct cnn_err *err);
void cnn_tensor_release(struct cnn_tensor *t);	/* frees owned data; t is empty afterwards */

/* ONNX TensorProto files (test_data_set_N/{in,out}put_M.pb); name (may be NULL) is malloc'ed. */
int cnn_tensor_from_pb(const void *buf, size_t len, struct cnn_tensor *t, char **name,
		       struct cnn_err *err);
/* *buf is malloc'ed. */
int cnn_tensor_to_pb(const struct cnn_tensor *t, const char *name, void **buf, size_t *len,
		     struct cnn_err *err);

/* ---- the graph ------------------------------------------------------------------------- */

/* The domain of operators that files name and ONNX does not have. */
#define CNN_DOMAIN	"cnnacc"

enum cnn_op {
	CNN_OP_UNKNOWN = 0,
#define OP(sym, ...) CNN_OP_##sym,
#include "ops.def"
#undef OP
	CNN_OP_COUNT
};

struct cnn_value {
	char *name;
	struct cnn_tensor t;	/* t.data != NULL: constant (initializer or folded) */
	int producer;		/* node index; -1: graph input or constant */
	int *consumers;		/* node indices, ascending, each once */
	int n_consumers;
	bool is_input;		/* listed in graph->inputs */
	bool is_output;		/* listed in graph->outputs */
	/* A constant that only cores read, from their images: t.data may be missing. */
	bool elsewhere;
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

struct cnn_attr;		/* use the accessors below */

struct cnn_node {
	enum cnn_op op;
	char *op_type;		/* "Conv"; the file's word even when op is CNN_OP_UNKNOWN */
	char *domain;		/* "" for ai.onnx */
	char *name;		/* as in the file, or "Conv_12" */
	int opset;		/* version of the domain the file asked for */
	int n_in, n_out;
	int *in, *out;		/* value indices; -1: optional and left out */
	struct cnn_attr *attrs;
	int n_attrs;
	struct cnn_act act;	/* set by cnn_graph_fuse */
	/*
	 * What cnn_graph_fuse put into this node, such as "BatchNormalization bn1, Relu r1";
	 * NULL if nothing. For reports.
	 */
	char *fused;
};

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
};

void cnn_graph_default_limits(struct cnn_graph *g);
int cnn_graph_import_onnx(const void *buf, size_t len, struct cnn_graph **graph,
			  struct cnn_err *err);
/* A TensorFlow Lite file: quantised or float32, inputs and outputs in the file's layout (NHWC). */
int cnn_graph_import_tflite(const void *buf, size_t len, struct cnn_graph **graph,
			    struct cnn_err *err);
/* Either, told apart by the identifier that TensorFlow Lite files have at byte 4. */
int cnn_graph_import(const void *buf, size_t len, struct cnn_graph **graph, struct cnn_err *err);
void cnn_graph_free(struct cnn_graph *g);
/*
 * The graph as an ONNX file, *buf malloc'ed: nodes and constants as they are, inputs with the shapes
 * that they have now, the newest operator set that a node has. A value has a name of its own there.
 * Fails on what only we have but CNN_DOMAIN's operators.
 */
int cnn_graph_export_onnx(const struct cnn_graph *g, void **buf, size_t *len, struct cnn_err *err);

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
 * Gives every value a dtype and a shape, computes what is constant, and drops nodes whose
 * outputs nobody needs. All input dimensions must be known. A shape that depends on the data of
 * a non-constant input stays unknown (t.rank == -1), as does everything after it: the CPU
 * executor finds it at run time. Fails with CNN_EUNSUPPORTED at the first node that no CPU
 * operator takes, and names it. Once per graph; after an error it can only be freed.
 * A constant that is dequantised for a Conv, MatMul or Gemm waits for cnn_graph_fuse.
 */
int cnn_graph_infer(struct cnn_graph *g, struct cnn_err *err);

#define CNN_FUSE_NOP		(1u << 0)	/* drop Identity and inference Dropout */
#define CNN_FUSE_BN		(1u << 1)	/* BatchNormalization, Mul into Conv's constants */
#define CNN_FUSE_BIAS		(1u << 2)	/* Add of a constant into Conv; MatMul+Add to Gemm */
#define CNN_FUSE_RELU		(1u << 3)	/* into Conv, Gemm, MatMul, Add, pools */
#define CNN_FUSE_CLIP		(1u << 4)
#define CNN_FUSE_SIGMOID	(1u << 5)
#define CNN_FUSE_HARD		(1u << 6)	/* HardSigmoid, HardSwish */
#define CNN_FUSE_OTHER		(1u << 7)	/* LeakyRelu, Swish; Mul, Add of one constant */
/*
 * What no core runs is put together for the CPU: a chain that spells out one operator becomes
 * that operator (Add, Clip, Mul, Div to HardSwish; Mul and HardSigmoid to HardSwish; Mul and
 * Sigmoid to Swish; x + x * sigmoid to a Mul; Mul, Resize, Add to ScaledAdd), and Sub, Mul, Div,
 * DepthToSpace, LeakyRelu, HardSwish and Swish take every activation. What scales and shifts a
 * HardSwish, its division by six too, goes into the weights of the Convs that read it.
 * Results differ from those of the chain by a few ulp, and where a HardSwish is beyond FLT_MAX / 6.
 */
#define CNN_FUSE_CHAIN		(1u << 8)
/*
 * Also what a core would no longer run: a product with any C, any activation of a MaxPool. Without
 * it a MaxPool hands its Relu to the node before.
 */
#define CNN_FUSE_CPU		(1u << 9)
/*
 * An Add or Sum of two values of one shape into the Conv that makes one of them: its input 3 is
 * then the other, added after the bias and before the activation. Such a Conv is in the Add's
 * place; without CNN_FUSE_CPU only one of a single group takes part.
 */
#define CNN_FUSE_ADD		(1u << 10)
/*
 * A ConvTranspose whose taps do not overlap (kernel as the stride) becomes a 1 x 1 Conv and a
 * DepthToSpace, which then moves behind any 1 x 1 Conv that reads it. Not with CNN_FUSE_CPU.
 */
#define CNN_FUSE_SHUFFLE	(1u << 11)
/*
 * An AveragePool of single pixels before a 1 x 1 Conv with strides, which then has none. Not with
 * CNN_FUSE_CPU.
 */
#define CNN_FUSE_STRIDE		(1u << 12)
/*
 * DequantizeLinear, Conv, MatMul or Gemm, perhaps Relu or Clip, and QuantizeLinear as QLinearConv,
 * QLinearMatMul or QGemm and perhaps a Clip of bytes, as ONNX Runtime does; what only moves elements
 * between two equal quantisations moves bytes. Sums are then exact, where those of the floats that
 * the file spells out are rounded: a result can differ by one where it lies on a boundary.
 */
#define CNN_FUSE_QDQ		(1u << 13)
#define CNN_FUSE_ALL		0x3fffu
/*
 * Quantised products with constant parameters become sums of products without zero points, int8
 * weights in a ConvInteger (whose attribute pad_value is what pads) or a MatMulInteger, and a
 * QLinearSums: bit by bit the same results. Where a shift gives them, too, there is no QLinearSums, and
 * attribute shift_out of the other is the shift, its input 4 what each channel adds before. Not among
 * CNN_FUSE_ALL.
 */
#define CNN_FUSE_SUMS		(1u << 14)

/*
 * After cnn_graph_infer. A value that is a graph output, or has other readers, is never fused
 * away. Values keep their indices; a value that no node touches any more stays, unused.
 */
int cnn_graph_fuse(struct cnn_graph *g, unsigned int what, struct cnn_err *err);

/* ---- attributes ------------------------------------------------------------------------ */

/* Absent or of another type: the default (import has checked types of the known operators). */
int64_t cnn_node_int(const struct cnn_node *n, const char *attr, int64_t def);
float cnn_node_float(const struct cnn_node *n, const char *attr, float def);
const char *cnn_node_str(const struct cnn_node *n, const char *attr, const char *def);
/* NULL and *count 0 when absent. */
const int64_t *cnn_node_ints(const struct cnn_node *n, const char *attr, int *count);
const struct cnn_tensor *cnn_node_tensor(const struct cnn_node *n, const char *attr);
bool cnn_node_has(const struct cnn_node *n, const char *attr);

/* ---- resolved geometry ----------------------------------------------------------------- */

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
 * count theirs (padding taps included, the sums of inputs that fuse_sums.c adds not), means (of
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
