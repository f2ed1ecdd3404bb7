/* SPDX-License-Identifier: MIT */
/* Tensors, and the errors and saturating arithmetic that everything on graphs shares. */
#ifndef CNN_TENSOR_H
#define CNN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CNN_MAX_RANK	8

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

/* The numbers of TensorProto.DataType. */
enum cnn_dtype {
	CNN_UNDEFINED = 0, CNN_FLOAT32 = 1, CNN_UINT8 = 2, CNN_INT8 = 3, CNN_UINT16 = 4,
	CNN_INT16 = 5, CNN_INT32 = 6, CNN_INT64 = 7, CNN_BOOL = 9, CNN_FLOAT16 = 10,
	CNN_FLOAT64 = 11, CNN_UINT32 = 12, CNN_UINT64 = 13,
	CNN_STRING = 8, CNN_BFLOAT16 = 16,	/* named in messages only */
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

#endif
