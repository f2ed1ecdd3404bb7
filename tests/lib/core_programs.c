// SPDX-License-Identifier: MIT
#include <string.h>

#include "core_programs.h"

/* CORES: CORE(NAME) for each core that has programs. */
#define CORE(name) extern const struct core_programs name##_programs;
CORES
#undef CORE

#define CORE(name) &name##_programs,
static const struct core_programs *const all[] = { CORES };
#undef CORE

const struct core_programs *core_programs(const char *name)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

const struct core_programs *core_programs_at(size_t index)
{
	return index < sizeof(all) / sizeof(all[0]) ? all[index] : NULL;
}
