// SPDX-License-Identifier: MIT
/* Parameters of the operators of ops.def. */
#include "ir/params_table.h"

#define RELU	FLAG("relu", product.relu, 0)

TABLE(shift_requantize) = { RELU, END };
TABLE(shift_conv) = { WINDOW, GROUP, RELU, END };
