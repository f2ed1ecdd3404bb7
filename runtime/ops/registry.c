// SPDX-License-Identifier: MIT
/* The table of operators. */
#include <string.h>

#include "ops.h"

#define MOVE	false
#define MATH	true

static const struct cnn_op_desc table[] = {
#define ENTRY(sym, in_domain, op_name, inf, comp, least, most, outs, is_math, fields)	\
	[CNN_OP_##sym] = {							\
		.name = op_name, .domain = in_domain, .infer = cnn_infer_##inf,	\
		.compute = cnn_compute_##comp, .min_in = least, .max_in = most,	\
		.max_out = outs, .math = is_math,				\
	},
#define OP(sym, ...)			ENTRY(sym, "", __VA_ARGS__)
#define CORE_OP(sym, name, infer, compute, least, most, outs, math, fields, like)	\
	ENTRY(sym, CNN_DOMAIN, name, infer, compute, least, most, outs, math, fields)
#include "ir/ops.def"
#undef OP
};

const struct cnn_op_desc *cnn_op_desc(enum cnn_op op)
{
	return op > CNN_OP_UNKNOWN && op < CNN_OP_COUNT ? &table[op] : NULL;
}

const struct cnn_op_desc *cnn_op_find(const char *domain, const char *op_type, enum cnn_op *op)
{
	bool ours = !strcmp(domain, CNN_DOMAIN);

	*op = CNN_OP_UNKNOWN;
	if (*domain && strcmp(domain, "ai.onnx") && !ours)
		return NULL;
	for (int i = 1; i < CNN_OP_COUNT; i++) {
		if (!strcmp(table[i].name, op_type) && ours == !!*table[i].domain) {
			*op = i;
			return &table[i];
		}
	}
	return NULL;
}
