// SPDX-License-Identifier: MIT
#include "failnth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kmd.h"

static int control;

/* Not every kernel has all of these files. */
static void set_file(const char *path, const char *text)
{
	int ret = kmd_write_file(path, text);

	if (ret && ret != -ENOENT)
		note("cannot write %s", path);
}

bool failnth_prepare(void)
{
	control = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return false;
	set_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	set_file("/sys/kernel/debug/failslab/verbose", "0");
	set_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	set_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	set_file("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	set_file("/sys/kernel/debug/fail_usercopy/verbose", "0");
	return true;
}

void failnth_arm(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	/* The injected failure may hit the read itself. */
	while (pwrite(control, text, length, 0) != length)
		;
}

unsigned int failnth_left(void)
{
	char text[16] = "";
	unsigned int left;

	while (pread(control, text, sizeof(text) - 1, 0) <= 0)
		;
	left = (unsigned int)strtoul(text, NULL, 10);
	if (left)
		failnth_arm(0);
	return left;
}
