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
