/* SPDX-License-Identifier: MIT */
#ifndef CNNCTL_H
#define CNNCTL_H

#include "options.h"

/* Each takes its arguments, the first of which is its name, and returns an exit status. */
int cmd_info(int argc, char **argv);
int cmd_regs(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_core(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);

struct event_watch;

/* Prints the events of a core, called @name, until the end; EXIT_DONE or after a message. */
int start_events(struct cnnrt_device *dev, unsigned int core, const char *name,
		 struct event_watch **watch);
/* Returns how many there were. */
uint64_t end_events(struct event_watch *watch);

/* Reports why registers could not be accessed: no device, or not this user. Returns the status. */
int complain_registers(const struct cnnrt_error *err);

/* Options that most commands take. */
struct common {
	const char *device;
	const char *caps;	/* info: file to write for cnnrun --device-caps */
	const char *core;	/* reset: this core only */
	bool json;
};

#define OPTION_DEVICE(type, member) \
	OPT_SETS_TEXT(type, member, "device", OPT_DEVICE_ARG, OPT_DEVICE_TEXT)
#define OPTION_JSON(type, member) \
	OPT_SETS_FLAG(type, member, "json", "print JSON")
/* In a struct opt_command: its options are these two, in a struct common. */
#define DEVICE_AND_JSON \
	.options = (const struct opt_spec[]){ OPTION_DEVICE(struct common, device), \
					      OPTION_JSON(struct common, json) }, .count = 2

/*
 * Reads the command line of a command with the options of struct common, opens the device, and runs
 * it. Returns an exit status.
 */
int run_on_device(const struct opt_command *command, int argc, char **argv,
		  int (*run)(struct cnnrt_device *dev, const struct common *c));

#endif
