// SPDX-License-Identifier: MIT
/* Parameters of the operators of ops.def. */
#include "ir/params_table.h"

TABLE(shift_requantize) = { FLAG("relu", product.relu, 0), END };
