// SPDX-License-Identifier: MIT
/* What back ends report: reasons and progress. */
#include <stdarg.h>
#include <stdio.h>

#include "backend.h"

bool cnn_reject(char *reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, CNN_REASON_LEN, fmt, ap);
	va_end(ap);
	return false;
}

/* All members are uint64_t. */
#define COSTS	(sizeof(struct cnnrt_cost) / sizeof(uint64_t))

void cnn_add_cost(struct cnnrt_cost *to, const struct cnnrt_cost *end,
		  const struct cnnrt_cost *start)
{
	for (size_t i = 0; i < COSTS; i++)
		((uint64_t *)to)[i] += ((const uint64_t *)end)[i] -
				       (start ? ((const uint64_t *)start)[i] : 0);
}

void cnn_progress(struct cnn_compile *compile, int nodes)
{
	unsigned int done = compile->before + (unsigned int)nodes;

	if (done <= compile->done)
		return;
	compile->done = done;
	if (compile->progress)
		compile->progress(compile->done, 2 * (unsigned int)compile->out->n_nodes,
				  compile->opaque);
}
