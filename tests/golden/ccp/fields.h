/* SPDX-License-Identifier: MIT */
/* The fields of ccp's parameter groups. */
#ifndef GOLDEN_CCP_FIELDS_H
#define GOLDEN_CCP_FIELDS_H

#include "../fields.h"

enum ccp_group { CONV_GROUP_0, CONV_GROUP_1, POOL_GROUP, PAD_GROUP, FC_GROUP, CCP_GROUPS };

/** enum ccp_field_name - the fields by their names in Documentation/hardware/ccp.rst. */
enum ccp_field_name {
	AVERAGE, BIAS_ENABLE, RELU, PAD_LAYERS,
	KERNEL_ROWS, KERNEL_COLUMNS, ROW_STRIDE, COLUMN_STRIDE,
	INPUT_ROWS, INPUT_COLUMNS, OUTPUT_ROWS, OUTPUT_COLUMNS,
	INPUT_LENGTH, OUTPUT_LENGTH,
	PAD_TOP, PAD_BOTTOM, PAD_LEFT, PAD_RIGHT,
	CHANNELS, CI_NUM, CI_START, CI_END, CO_NUM, CO_START, CO_CNT,
	ROW_START, COL_START, VEC_ACTIVE, GROUPS_LESS_1,
	INPUT_BASE, OUTPUT_BASE, WEIGHT_BASE, BIAS_BASE,
	INPUT_PITCH, OUTPUT_PITCH, WEIGHT_PITCH,
	IGNORED,
	CCP_FIELD_NAMES,
};

extern const struct field_table ccp_fields;

#endif /* GOLDEN_CCP_FIELDS_H */
