/* SPDX-License-Identifier: MIT */
/* --report FILE --core all: which view a file gets is said by its ending. */
#include "cores_report.h"

#include <errno.h>
#include <string.h>

static void (*const writers[REPORT_KINDS])(const struct cores_report *r, FILE *out) = {
	cores_html, cores_json, cores_svg,
};

int cores_write(const struct cores_report *r, const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	writers[report_kind_of(path)](r, out);
	return close_file(out, path);
}
