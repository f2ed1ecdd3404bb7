// SPDX-License-Identifier: MIT
/* Parameters of the operators of ops.def. */
#include "ir/params_table.h"

#define PRODUCT \
	FLAG("input_sums", product.input_sums, 0), \
	INT("shift_out", product.shift_out, -1, LIMITS(-1, 31))

TABLE(conv_sums) = {
	WINDOW, GROUP, PRODUCT,
	INT("pad_value", product.pad_value, 0, LIMITS(INT8_MIN, UINT8_MAX)), END
};
TABLE(matmul_sums) = { PRODUCT, END };

static const char *const formats[] = { "", "EXP4", "TER2", NULL };

TABLE(quantize_codes) = { CHOICE("format", codes.format, 0, formats), END };
