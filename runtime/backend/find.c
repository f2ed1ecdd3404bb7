// SPDX-License-Identifier: MIT
/* The back ends by name. */
#include <string.h>

#include "backend.h"

static const struct cnn_backend_ops *const core_ops[] = {
#define CORE(name) &cnn_backend_##name,
#include "cores.def"
#undef CORE
};

const struct cnn_backend_ops *cnn_backend_find(const char *name)
{
	for (size_t i = 0; i < sizeof(core_ops) / sizeof(core_ops[0]); i++)
		if (!strcmp(core_ops[i]->name, name))
			return core_ops[i];
	return NULL;
}
