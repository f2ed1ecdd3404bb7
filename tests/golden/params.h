/* SPDX-License-Identifier: MIT */
/* Build parameters of a core from its entry of the discovery table. */
#ifndef GOLDEN_PARAMS_H
#define GOLDEN_PARAMS_H

#include "ccp/ccp.h"
#include "hwpe/hwpe.h"

/* False if the entry is not of such a core, or of one that the model does not know. */
bool params_of_ccp(const struct cnnacc_core_entry *entry, struct golden_ccp_params *params);
bool params_of_hwpe(const struct cnnacc_core_entry *entry, struct golden_hwpe_params *params);

#endif /* GOLDEN_PARAMS_H */
