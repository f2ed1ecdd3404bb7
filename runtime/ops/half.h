/* SPDX-License-Identifier: MIT */
/*
 * Operators of float16: those that only have arithmetic for float32 see their float16 inputs as
 * float32, and their float32 results are rounded.
 */
#ifndef CNN_OPS_HALF_H
#define CNN_OPS_HALF_H

#include "ops.h"

/* A call with float32 in place of float16. */
struct cnn_wide {
	struct cnn_call call;
	const struct cnn_tensor **in;
	struct cnn_tensor **out, *tensors;	/* inputs, then outputs */
};

/* Is it float16 that the type of the result follows from, or did (cnn_node.wide)? */
bool cnn_takes_halves(const struct cnn_call *c);
/* With data: of all inputs that have some, or only of so few elements as may give a shape. */
int cnn_widen(const struct cnn_call *c, bool all, struct cnn_wide *w);
/* c's outputs get the types and shapes that go with w's. */
void cnn_narrow_shapes(const struct cnn_call *c, const struct cnn_wide *w);
/* Memory for w's outputs, that of c's where the types are the same. */
int cnn_wide_provide(const struct cnn_call *c, struct cnn_wide *w);
/* Rounds w's outputs into c's, some of which have become smaller. */
void cnn_narrow(const struct cnn_call *c, const struct cnn_wide *w);
void cnn_wide_release(struct cnn_wide *w);

#endif
