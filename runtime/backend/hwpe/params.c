// SPDX-License-Identifier: MIT
/* Parameters of the operators of ops.def. */
#include "ir/params_table.h"

static const char *const formats[] = { "", "EXP4", "TER2", NULL };

TABLE(quantize_codes) = { CHOICE("format", codes.format, 0, formats), END };
