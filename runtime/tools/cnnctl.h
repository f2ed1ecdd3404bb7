/* SPDX-License-Identifier: MIT */
#ifndef CNNCTL_H
#define CNNCTL_H

#include "util.h"

/* Each takes what follows its name and returns an exit status. */
int cmd_info(int argc, char **argv);
int cmd_regs(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_core(int argc, char **argv);
int cmd_replay(int argc, char **argv);

/* Options that every command takes. */
struct common {
	const char *device;
	const char *caps;	/* info: where to write what compiling needs to know */
	const char *core;	/* reset: of this core only */
	bool json;
};

/*
 * Reads --device and --json, for info --caps, for reset --core; anything else is a usage error.
 * Returns EXIT_DONE or EXIT_USAGE.
 */
int parse_common(int argc, char **argv, const char *command, struct common *c);

#endif
