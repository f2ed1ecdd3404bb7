// SPDX-License-Identifier: MIT
/* BitwiseAnd, BitwiseOr, BitwiseXor and BitShift. */
#include "binary.h"

/* A shift by all bits or more leaves none. */
#define BITS(suffix, type)							\
	BINARY(, and_##suffix, type, type, u & v)				\
	BINARY(, or_##suffix, type, type, u | v)				\
	BINARY(, xor_##suffix, type, type, u ^ v)				\
	BINARY(, left_##suffix, type, type,					\
	       v < 8 * sizeof(type) ? (uint64_t)u << v : 0)			\
	BINARY(, right_##suffix, type, type, v < 8 * sizeof(type) ? u >> v : 0)

BITS(u8, uint8_t)
BITS(u16, uint16_t)
BITS(u32, uint32_t)
BITS(u64, uint64_t)

#define UNSIGNED(name)								\
	[CNN_UINT8] = name##_u8, [CNN_UINT16] = name##_u16,			\
	[CNN_UINT32] = name##_u32, [CNN_UINT64] = name##_u64
#define SIGNED(name)								\
	[CNN_INT8] = name##_u8, [CNN_INT16] = name##_u16,			\
	[CNN_INT32] = name##_u32, [CNN_INT64] = name##_u64

static cnn_binary_fn *bits_of(const struct cnn_node *n, enum cnn_dtype t)
{
	static cnn_binary_fn *const logic[CNN_OP_COUNT][CNN_UINT64 + 1] = {
		[CNN_OP_BITWISE_AND] = { UNSIGNED(and), SIGNED(and) },
		[CNN_OP_BITWISE_OR] = { UNSIGNED(or), SIGNED(or) },
		[CNN_OP_BITWISE_XOR] = { UNSIGNED(xor), SIGNED(xor) },
	};
	static cnn_binary_fn *const shift[][CNN_UINT64 + 1] = {
		[CNN_SHIFT_LEFT] = { UNSIGNED(left) },
		[CNN_SHIFT_RIGHT] = { UNSIGNED(right) },
	};

	if (t > CNN_UINT64)
		return NULL;
	return n->op == CNN_OP_BIT_SHIFT ? shift[n->params.shift.direction][t] : logic[n->op][t];
}

int cnn_infer_bits(struct cnn_call *c)
{
	int ret;

	if (c->node->op == CNN_OP_BIT_SHIFT &&
	    c->node->params.shift.direction == CNN_SHIFT_NONE)
		return cnn_op_fail(c, CNN_EINVAL, "attribute direction is missing");
	ret = cnn_same_types(c, bits_of(c->node, c->in[0]->dtype));
	return ret ? ret : cnn_infer_broadcast(c);
}

int cnn_compute_bits(struct cnn_call *c)
{
	cnn_run_binary(c, bits_of(c->node, c->in[0]->dtype), c->in[0], c->in[1], true);
	return CNN_OK;
}
