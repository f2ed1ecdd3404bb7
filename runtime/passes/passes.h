/* SPDX-License-Identifier: MIT */
/* Shape inference and the core-neutral rewriting of graphs. */
#ifndef CNN_PASSES_H
#define CNN_PASSES_H

#include "rewrite.h"

/*
 * Infers each value's type and shape, folds constants, and drops nodes whose outputs are unused.
 * All input dimensions must be known. A shape that depends on the data of a non-constant input
 * stays unknown (t.rank == -1), as do those after it: the CPU executor infers them at run time.
 * Fails with CNN_EUNSUPPORTED if there are operators that the library does not have, and names them
 * all. May be called once per graph; after an error the graph can only be freed. Constants dequantised for
 * a Conv, MatMul or Gemm are folded by cnn_graph_fuse.
 */
int cnn_graph_infer(struct cnn_graph *g, struct cnn_err *err);

/* CNN_EUNSUPPORTED if the graph has operators that the library does not have: how many of each. */
int cnn_check_known_ops(const struct cnn_graph *g, struct cnn_err *err);

#define CNN_FUSE_NOP	    (1u << 0) /* drop Identity, inference Dropout, Sum of one */
#define CNN_FUSE_BN	    (1u << 1) /* BatchNormalization, Mul into Conv, or each other */
#define CNN_FUSE_BIAS	    (1u << 2) /* Add of a constant into Conv; MatMul+Add to Gemm */
#define CNN_FUSE_RELU	    (1u << 3) /* into Conv, Gemm, MatMul, Add, pools */
#define CNN_FUSE_CLIP	    (1u << 4)
#define CNN_FUSE_SIGMOID    (1u << 5)
#define CNN_FUSE_LEAKY_RELU (1u << 6)
#define CNN_FUSE_HARD_SIGMOID (1u << 7)
/*
 * For the CPU: a chain of nodes equal to one operator becomes that operator (Add, Clip, Mul, Div to
 * HardSwish; Mul and HardSigmoid to HardSwish; Mul and Sigmoid to Swish; x + x * sigmoid to a Mul;
 * Mul, Resize, Add to ScaledAdd), and Sub, Mul, Div, DepthToSpace, LeakyRelu, HardSwish and Swish
 * accept every activation. Results differ from the chain's by a few ulp, and where a HardSwish
 * exceeds FLT_MAX / 6.
 */
#define CNN_FUSE_IDIOMS (1u << 8)
/*
 * Also fusions that a core could not run: any C of a product, any activation of a MaxPool. Without
 * it a Relu after a MaxPool moves to the node before the MaxPool.
 */
#define CNN_FUSE_FOR_CPU (1u << 9)
/*
 * An Add or Sum of two values of one shape into the Conv that computes one of them. The other one
 * becomes the Conv's input 3, added after the bias and before the activation. The Conv moves to the
 * Add's place in the order. Without CNN_FUSE_FOR_CPU only a Conv with one group qualifies.
 */
#define CNN_FUSE_ADD (1u << 10)
/*
 * A ConvTranspose whose taps do not overlap (kernel as the stride) becomes a 1 x 1 Conv and a
 * DepthToSpace, which then moves behind any 1 x 1 Conv that reads it. Ignored with
 * CNN_FUSE_FOR_CPU.
 */
#define CNN_FUSE_SHUFFLE (1u << 11)
/*
 * The strides of a 1 x 1 Conv move to a new AveragePool of single pixels before it. Ignored with
 * CNN_FUSE_FOR_CPU.
 */
#define CNN_FUSE_STRIDE (1u << 12)
/*
 * DequantizeLinear, a Conv, MatMul or Gemm, perhaps Relu or Clip, and QuantizeLinear become a
 * QLinearConv, QLinearMatMul or QGemm and perhaps a Clip of bytes, as in ONNX Runtime. An operator
 * that only moves elements between two equal quantisations moves bytes. The integer sums are exact,
 * while the file's float sums are rounded: a result near a rounding boundary can differ by one.
 */
#define CNN_FUSE_QDQ (1u << 13)
/*
 * A BatchNormalization, or what has become one, before or behind a Conv becomes a depthwise 1 x 1
 * Conv. Ignored with CNN_FUSE_FOR_CPU.
 */
#define CNN_FUSE_DEPTHWISE (1u << 14)
/*
 * The scale and shift of a HardSwish that is a node of its own, and its division by six, go into
 * the weights of the Convs that read it.
 */
#define CNN_FUSE_SCALING (1u << 15)
/* A Transpose that only moves axes of one element becomes a Reshape. */
#define CNN_FUSE_RESHAPE (1u << 16)
#define CNN_FUSE_HARD_SWISH (1u << 17)
#define CNN_FUSE_ACT_SCALAR (1u << 18) /* Swish; Mul, Add of one constant */
#define CNN_FUSE_ALL 0x7ffffu
/*
 * For cores that compute float16: constants that nodes of float16 read become float32, which rounds
 * nothing, and the flags BN, BIAS, those of activations, ADD and DEPTHWISE apply to these nodes, too.
 * What was rounded between two of them no longer is, so this is for no other place.
 */
#define CNN_FUSE_HALF (1u << 19)

/* What helps wherever a node will run, to be done before any is placed. */
#define CNN_FUSE_NEUTRAL \
	(CNN_FUSE_NOP | CNN_FUSE_BN | CNN_FUSE_BIAS | CNN_FUSE_RELU | CNN_FUSE_IDIOMS | \
	 CNN_FUSE_ADD | CNN_FUSE_QDQ | CNN_FUSE_RESHAPE)
/* What the CPU's operators can take besides. */
#define CNN_FUSE_CPU (CNN_FUSE_ALL & ~(CNN_FUSE_IDIOMS | CNN_FUSE_QDQ))

/*
 * To be called after cnn_graph_infer. Values that are graph outputs or have other readers are not
 * eliminated. Values keep their indices; an eliminated value stays in the list, unused.
 */
int cnn_graph_fuse(struct cnn_graph *g, unsigned int what, struct cnn_err *err);
/*
 * The same for the nodes that have been placed there, and those not placed yet. Nodes of two places
 * are never fused with each other. New nodes are not placed.
 */
int cnn_graph_fuse_at(struct cnn_graph *g, int place, unsigned int what, struct cnn_err *err);

/* What a pass works on: g is inferred, what has all CNN_FUSE_* that are enabled. */
struct cnn_pass {
	struct cnn_graph *g;
	unsigned int what;
	int place;	/* CNN_PLACE_*: nodes of other places are left alone; OPEN: all are visited */
	struct cnn_err *err;
};

/*
 * The passes. None is for one core: a back end has its own rewriting (legalize of struct
 * cnn_backend_ops). One for nodes may remove nodes and add some behind node i; the graph is linked
 * afterwards.
 */
#define PASS(name, needs)	int cnn_pass_##name(struct cnn_pass *p);
#define NODE_PASS(name, needs)	int cnn_pass_##name(struct cnn_pass *p, int i);
#include "passes.def"
#undef PASS
#undef NODE_PASS

/* Is output 0 of node n always equal to input 0? */
bool cnn_is_nop(const struct cnn_graph *g, const struct cnn_node *n);

#endif
