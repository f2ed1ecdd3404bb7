// SPDX-License-Identifier: MIT
/*
 * core_program: lists the cores that have programs for tests, or writes a program of one to
 * standard output:
 *
 *	core_program
 *	core_program NAME nop
 *	core_program NAME endless
 *	core_program NAME delay LOOPS
 *	core_program NAME copy FROM TO LINES
 *	core_program NAME compute DATA OUT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_programs.h"

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 0);
}

int main(int argc, char **argv)
{
	const struct core_programs *programs;
	static uint32_t code[CORE_PROGRAM_LONG / 4];
	uint32_t size;

	if (argc == 1) {
		for (size_t i = 0; (programs = core_programs_at(i)); i++)
			puts(programs->name);
		return 0;
	}
	programs = core_programs(argv[1]);
	if (programs && argc == 3 && !strcmp(argv[2], "nop")) {
		size = programs->nop(code);
	} else if (programs && argc == 3 && !strcmp(argv[2], "endless")) {
		size = programs->endless(code);
	} else if (programs && argc == 4 && !strcmp(argv[2], "delay")) {
		size = programs->delay(code, number(argv[3]));
	} else if (programs && argc == 6 && !strcmp(argv[2], "copy")) {
		size = programs->copy(code, number(argv[3]), number(argv[4]), number(argv[5]));
	} else if (programs && argc == 5 && !strcmp(argv[2], "compute")) {
		size = programs->compute(code, number(argv[3]), number(argv[4]));
	} else {
		fprintf(stderr, "usage: %s [NAME nop | NAME endless | NAME delay LOOPS |"
			" NAME copy FROM TO LINES | NAME compute DATA OUT]\n", argv[0]);
		return 2;
	}
	return fwrite(code, size, 1, stdout) != 1;
}
