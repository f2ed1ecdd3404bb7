// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Messages to the host. */
#include <stdarg.h>
#include <stdio.h>

#include "device.h"

void cm_log(struct cm_device *dev, const char *format, ...)
{
	char text[CM_ERR_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dev->ops->log(dev->opaque, text);
}
