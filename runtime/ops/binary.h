/* SPDX-License-Identifier: MIT */
/* Operators of two tensors, element by element, with broadcasting. */
#ifndef CNN_OPS_BINARY_H
#define CNN_OPS_BINARY_H

#include "ops.h"

typedef void cnn_binary_fn(const void *a, const void *b, void *y, int64_t n, bool sa, bool sb);

/* sa and sb tell whether an operand moves or is one value for all. */
#define BINARY(attr, name, type, ytype, expr)						\
attr											\
static void name(const void *pa, const void *pb, void *py, int64_t n, bool sa, bool sb)	\
{											\
	const type *a = pa, *b = pb;							\
	ytype *y = py;									\
	type u, v;									\
											\
	if (sa && sb) {									\
		for (int64_t i = 0; i < n; i++) {					\
			u = a[i];							\
			v = b[i];							\
			y[i] = (ytype)(expr);						\
		}									\
	} else if (sa) {								\
		v = b[0];								\
		for (int64_t i = 0; i < n; i++) {					\
			u = a[i];							\
			y[i] = (ytype)(expr);						\
		}									\
	} else {									\
		u = a[0];								\
		for (int64_t i = 0; i < n; i++) {					\
			v = b[sb ? i : 0];						\
			y[i] = (ytype)(expr);						\
		}									\
	}										\
}

/* The same type for all inputs, and fn for it; fails with their names. */
int cnn_same_types(struct cnn_call *c, cnn_binary_fn *fn);
/* Output 0 gets the type of input 0 and the shape to which all inputs broadcast. */
int cnn_infer_broadcast(struct cnn_call *c);
/* y = a op b; last: nothing else follows but activation and NaNs. */
void cnn_run_binary(struct cnn_call *c, cnn_binary_fn *fn, const struct cnn_tensor *a,
		    const struct cnn_tensor *b, bool last);

#endif
