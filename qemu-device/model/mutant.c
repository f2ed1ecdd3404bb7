// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Selection of a seeded mistake by name. */
#include <strings.h>

#include "device.h"
#include "mutant.h"

#ifdef CM_MUTANTS
int cm_mutant;

/* Select entry @name of @names, which are numbered from @base. */
static bool select_from(const char *const *names, int base, const char *name)
{
	for (int i = 0; names && names[i]; i++) {
		if (!strcasecmp(names[i], name)) {
			cm_mutant = base + i;
			return true;
		}
	}
	return false;
}

bool cm_mutant_select(const char *name)
{
	const char *dot = strchr(name, '.');
	const struct cm_core_ops *ops;
	char owner[16];

	if (!dot || (size_t)(dot - name) >= sizeof(owner))
		return false;
	memcpy(owner, name, dot - name);
	owner[dot - name] = '\0';
	if (!strcmp(owner, "sequencer"))
		return select_from(CM_MUTANT_NAMES(CM_SEQUENCER_MUTANTS), CM_MUTANT_NONE + 1,
				   dot + 1);
	ops = cm_core_type(owner);
	return ops && select_from(ops->mutants, CM_MUTANT_BASE(ops->type), dot + 1);
}
#endif
