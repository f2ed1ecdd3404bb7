// SPDX-License-Identifier: MIT
/* Parameters of the operators of ops.def. */
#include "ir/params_table.h"

TABLE(merge_channels) = { INT("axis", axis.axis, 1, NO_LIMITS), END };
