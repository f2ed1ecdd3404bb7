// SPDX-License-Identifier: MIT
#include "params.h"

#define CCP_GEOMETRY	(CNNACC_CCP_ROWS | CNNACC_CCP_LANES << 8 | CNNACC_CCP_GROUPS << 16)
#define CCP_LIMITS	(CNNACC_CCP_KERNEL_MAX | CNNACC_CCP_STRIDE_MAX << 8 | \
			 CNNACC_CCP_PAD_MAX << 16)
#define HWPE_GEOMETRY	(CNNACC_HWPE_PES | CNNACC_HWPE_ACCS << 8 | \
			 8 * CNNACC_HWPE_OPERAND_BYTES << 16)
#define HWPE_LIMITS	(CNNACC_HWPE_KERNEL_MAX | CNNACC_HWPE_SHIFT_MAX << 8)

bool params_of_ccp(const struct cnnacc_core_entry *entry, struct golden_ccp_params *params)
{
	*params = (struct golden_ccp_params){
		.icache = entry->program_max,
		.data_bank = entry->param[CNNACC_CCP_PARAM_DATA_BANK],
		.weight_bank = entry->param[CNNACC_CCP_PARAM_WEIGHT_BANK],
		.lob = entry->param[CNNACC_CCP_PARAM_LOB],
	};
	return entry->type == CNNACC_CORE_CCP &&
	       entry->param[CNNACC_CCP_PARAM_GEOMETRY] == CCP_GEOMETRY &&
	       entry->param[CNNACC_CCP_PARAM_LIMITS] == CCP_LIMITS;
}

bool params_of_hwpe(const struct cnnacc_core_entry *entry, struct golden_hwpe_params *params)
{
	*params = (struct golden_hwpe_params){
		.program = entry->program_max,
		.fmap = entry->param[CNNACC_HWPE_PARAM_FMAP],
		.kernel = entry->param[CNNACC_HWPE_PARAM_KERNEL],
	};
	return entry->type == CNNACC_CORE_HWPE &&
	       entry->param[CNNACC_HWPE_PARAM_GEOMETRY] == HWPE_GEOMETRY &&
	       entry->param[CNNACC_HWPE_PARAM_LIMITS] == HWPE_LIMITS;
}
