/* SPDX-License-Identifier: MIT */
/* --report FILE: which view a file gets is said by its ending. */
#include "report.h"

#include <errno.h>
#include <string.h>

static const char *const endings[REPORT_KINDS] = { ".html", ".json", ".svg" };

static void (*const writers[REPORT_KINDS])(const struct report *r, FILE *out) = {
	report_html, report_json, report_svg,
};

int report_kind_of(const char *path)
{
	const char *ending = strrchr(path, '.');

	for (int i = 0; ending && i < REPORT_KINDS; i++)
		if (!strcmp(ending, endings[i]))
			return i;
	return -1;
}

int report_write(const struct report *r, const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	writers[report_kind_of(path)](r, out);
	return close_file(out, path);
}
