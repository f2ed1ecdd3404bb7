/* SPDX-License-Identifier: MIT */
/* Runs the same tests on each core that has programs. */
#ifndef ON_CORES_H
#define ON_CORES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core_programs.h"

/* The core that the tests run on. */
static const struct core_programs *programs;

/* An array of tests; returns how many failed. */
#define RUN_ON_CORES(group, tests) \
	run_on_cores(group, tests, sizeof(tests) / sizeof((tests)[0]))

static inline int run_on_cores(const char *group, const struct CMUnitTest *tests, size_t count)
{
	int failed = 0;

	for (size_t i = 0; (programs = core_programs_at(i)); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s %s", group, programs->name);
		failed += _cmocka_run_group_tests(name, tests, count, NULL, NULL);
	}
	return failed;
}

#endif
