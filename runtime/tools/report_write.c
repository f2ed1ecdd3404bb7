/* SPDX-License-Identifier: MIT */
/* --report FILE: which view a file gets is said by its ending. */
#include "report.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *ending;
	void (*write)(const struct report *r, FILE *out);
} kinds[] = {
	{ ".html", report_html },
	{ ".json", report_json },
	{ ".svg", report_svg },
};

static int kind_of(const char *path)
{
	const char *ending = strrchr(path, '.');

	for (unsigned int i = 0; ending && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(ending, kinds[i].ending))
			return (int)i;
	return -1;
}

bool report_is_file(const char *path)
{
	return kind_of(path) >= 0;
}

int report_write(const struct report *r, const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
	kinds[kind_of(path)].write(r, out);
	return close_file(out, path);
}
