/* SPDX-License-Identifier: MIT */
/* What the operators share. */
#ifndef CNN_OPS_H
#define CNN_OPS_H

#include "ir/graph_internal.h"
#include "cpu.h"

/* The same infer or compute may serve many operators: repeated declarations are harmless. */
#define OP(sym, name, infer, compute, ...)		\
	int cnn_infer_##infer(struct cnn_call *c);	\
	int cnn_compute_##compute(struct cnn_call *c);
#include "ir/ops.def"
#undef OP

/* X(enum suffix, function suffix, C type) for the types of numbers that C has. */
#define CNN_FLOATS(X)	X(FLOAT32, f32, float) X(FLOAT64, f64, double)
#define CNN_SIGNED(X)							\
	X(INT8, i8, int8_t) X(INT16, i16, int16_t)			\
	X(INT32, i32, int32_t) X(INT64, i64, int64_t)
#define CNN_UNSIGNED(X)							\
	X(UINT8, u8, uint8_t) X(UINT16, u16, uint16_t)			\
	X(UINT32, u32, uint32_t) X(UINT64, u64, uint64_t)
#define CNN_NUMBERS(X)	CNN_FLOATS(X) CNN_SIGNED(X) CNN_UNSIGNED(X)

/*
 * Inner loops compiled once for plain x86-64 and once for AVX2; without FMA the bits are equal.  On
 * arm64 the compiler uses NEON for them, which every such processor has.
 */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CNN_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CNN_CLONES
#endif

/* "OPERATOR (NAME): " + message */
#define cnn_op_fail(c, code, ...)	cnn_node_fail((c)->node, (c)->err, code, __VA_ARGS__)
/* Fails with the operator and the type unless t is one of the n types. */
int cnn_op_want(const struct cnn_call *c, const struct cnn_tensor *t, const enum cnn_dtype *types,
		int n);
#define CNN_WANT(c, t, ...)							\
	cnn_op_want(c, t, (const enum cnn_dtype[]){ __VA_ARGS__ },		\
		    sizeof((const enum cnn_dtype[]){ __VA_ARGS__ }) / sizeof(enum cnn_dtype))

/* Elements of a block that stays in the cache while several loops go over it: a worker's share. */
#define CNN_BLOCK	4096
/* fn for pieces that make up 0..count-1, of at most block, by whatever workers there are. */
void cnn_for_blocks(const struct cnn_call *c, int64_t count, int64_t block,
		    void (*fn)(const void *arg, int64_t first, int64_t n), const void *arg);
/*
 * What follows the arithmetic of an operator, on n floats of output 0: its activation, and one
 * NaN for all. An operator that does so itself for every element sets c->finished.
 */
void cnn_op_finish(const struct cnn_call *c, float *y, int64_t n);
/* The NaNs alone. */
void cnn_canonical_nans(float *x, int64_t n);

/* Input i, NULL if omitted or beyond the last one. */
static inline const struct cnn_tensor *cnn_in(const struct cnn_call *c, int i)
{
	return i < c->n_in ? c->in[i] : NULL;
}

static inline struct cnn_tensor *cnn_out(const struct cnn_call *c, int i)
{
	return i < c->n_out ? c->out[i] : NULL;
}

/* y gets that type and the shape of t. */
void cnn_set_shape(struct cnn_tensor *y, enum cnn_dtype type, const struct cnn_tensor *t);
/* Output 0 gets the type and shape of t. */
int cnn_infer_like(struct cnn_call *c, const struct cnn_tensor *t);
/* A negative axis counts from the end; fails unless 0 <= *axis < limit afterwards. */
int cnn_op_axis(const struct cnn_call *c, int64_t *axis, int limit);
/*
 * The integers of t (int64 or int32), at most max; CNN_NEED_DATA if it has no data yet. name: what
 * a message calls it.
 */
int cnn_op_list(const struct cnn_call *c, const char *name, const struct cnn_tensor *t, int max,
		int64_t *v);
/* A list that old opsets have as an attribute, which is in given, and new ones as input i. */
int cnn_op_ints(const struct cnn_call *c, const char *name, const struct cnn_ints *given, int i,
		int max, struct cnn_ints *list);
/* Element i of an int64 or int32 tensor. */
int64_t cnn_int_at(const struct cnn_tensor *t, int64_t i);

/* An index into dim elements, a negative one from the end: *at becomes 0 or more, or it fails. */
int cnn_op_index(const struct cnn_call *c, int64_t *at, int64_t dim);
/* Elements of axes from to end - 1 together; 1 if there are none. */
int64_t cnn_span(const struct cnn_tensor *t, int from, int end);
/* Row-major strides in elements. */
void cnn_strides(const struct cnn_tensor *t, int64_t *strides);

/* Multiply-adds or steps of operators whose shapes do not tell. */
int64_t cnn_einsum_work(const struct cnn_node *node, const struct cnn_tensor *const *in);
int64_t cnn_nms_work(const struct cnn_tensor *const *in, const struct cnn_tensor *y);
int64_t cnn_roi_align_work(const struct cnn_node *node, const struct cnn_tensor *const *in,
			   const struct cnn_tensor *y);
int64_t cnn_recurrent_work(const struct cnn_node *node, const struct cnn_tensor *const *in);

/* Broadcasts the shape of y, which holds that of the operands before, with t's. */
int cnn_broadcast(const struct cnn_call *c, struct cnn_tensor *y, const struct cnn_tensor *t);

/*
 * A walk through operands that broadcast to one shape, in rows along which each operand moves
 * by one element or stays. Neighbouring axes are one where every operand allows it.
 */
#define CNN_WALK_MAX	3
struct cnn_walk {
	int n, rank;
	int64_t row;				/* elements of a row */
	bool moves[CNN_WALK_MAX];		/* along a row */
	const char *p[CNN_WALK_MAX];		/* where each operand is */
	int64_t dims[CNN_MAX_RANK], at[CNN_MAX_RANK];
	int64_t step[CNN_WALK_MAX][CNN_MAX_RANK];	/* bytes */
};

void cnn_walk_start(struct cnn_walk *w, const struct cnn_tensor *y, int n,
		    const struct cnn_tensor *const *t);
void cnn_walk_next(struct cnn_walk *w);
/* From the first row to another one. */
void cnn_walk_seek(struct cnn_walk *w, int64_t row);

/* Elements of one type to another, as Cast does. */
void cnn_cast(enum cnn_dtype from, const void *src, enum cnn_dtype to, void *dst, int64_t n);
/* Element i as a double. */
double cnn_tensor_element(const struct cnn_tensor *t, int64_t i);

/* y[i] = x[i / times] for n elements of x */
void cnn_repeat(const uint32_t *x, uint32_t *y, int64_t n, int64_t times);

/* Deterministic mathematics for one number: within a few 2^-32 of the result, or better. */
double cnn_ln(double x);
double cnn_pow(double x, double y);
/* The cosine of an angle of 0 to 2 turns. */
double cnn_cos_turn(double turns);
/* y[i] = f(x[i]), with the operator's parameters; x and y may be the same. */
typedef void cnn_unary_fn(const float *x, float *y, int64_t n, float a, float b);
/* The arithmetic of an operator of one float32 tensor, by file; NULL if it is not there. */
cnn_unary_fn *cnn_unary_of(enum cnn_op op);
cnn_unary_fn *cnn_trigonometry_of(enum cnn_op op);
cnn_unary_fn *cnn_activation_of(const struct cnn_node *node);
/* y[i] = exp(x[i] - shift) */
void cnn_exp_shifted(const float *x, float shift, float *y, int64_t n);

/*
 * c[m][n] = alpha * sum over k, in order, of a[m][k] * b[k][n] + beta * c0[m][n].
 * Row and column strides give transposition; c0 may be NULL or have strides of 0.
 */
struct cnn_gemm {
	int64_t m, n, k;
	const float *a, *b, *c0;
	float *c;
	int64_t a_row, a_col, b_row, b_col, c0_row, c0_col, c_row;
	float alpha, beta;
};

/*
 * numpy.matmul as products of matrices: y is count of them, one after the other. For product i,
 * matrix number cnn_matmul_at() of a (m x k) and of b (k x n).
 */
struct cnn_products {
	int64_t m, n, k, count;
	int rank;		/* axes before the matrices */
};

/* Shape of output 0; fails unless a and b can be multiplied. */
int cnn_matmul_shape(const struct cnn_call *c, const struct cnn_tensor *a,
		     const struct cnn_tensor *b);
struct cnn_products cnn_matmul_products(const struct cnn_tensor *a, const struct cnn_tensor *b,
					const struct cnn_tensor *y);
int64_t cnn_matmul_at(const struct cnn_tensor *t, const struct cnn_tensor *y, int rank, int64_t i);

/* Scratch for cnn_gemm_f32 with these m and k, to be freed; NULL if it cannot be had. */
float *cnn_gemm_scratch(int64_t m, int64_t k);
void cnn_gemm_f32(const struct cnn_gemm *g, float *scratch);

/* acc[m][CNN_PANEL] = a[m][k] * panel[k][CNN_PANEL], every sum in the order of k. */
#define CNN_PANEL	16
void cnn_gemm_panel(int64_t m, int64_t k, const float *a, int64_t a_row, int64_t a_col,
		    const float *panel, float *acc);

#endif
