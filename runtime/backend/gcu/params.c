// SPDX-License-Identifier: MIT
/* Parameters of the operators of ops.def. */
#include "ir/params_table.h"

TABLE(integer_conv) = {
	WINDOW, GROUP, FLAG("uneven_groups", window.uneven_groups, 0), END
};
TABLE(merge_channels) = { INT("axis", axis.axis, 1, NO_LIMITS), END };
TABLE(requantize_sums) = {
	INT("axis", sums.axis, 1, NO_LIMITS),
	INT("multiplier_bits", product.multiplier_bits, 24, NO_LIMITS),
	{ .name = "why", .kind = CNN_FIELD_TEXT, .type = 's', AT(sums.why) }, END
};
