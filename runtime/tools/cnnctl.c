/* SPDX-License-Identifier: MIT */
/* cnnctl: look at an accelerator, test it, run a raw program on it. */
#include "cnnctl.h"

#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *text;
} commands[] = {
	{ "info", cmd_info, "print what the device is, or why it cannot be used" },
	{ "regs", cmd_regs, "print its registers by name (administrator)" },
	{ "stats", cmd_stats, "print its statistics counters, and what each context used "
			      "(administrator)" },
	{ "top", cmd_top, "print who uses its cores and memory now: your processes, or all as root" },
	{ "selftest", cmd_selftest, "run small programs with known answers on every core" },
	{ "calibrate", cmd_calibrate, "measure what this machine takes, to compile networks for it" },
	{ "reset", cmd_reset, "have the driver reset the device or a core (administrator)" },
	{ "core", cmd_core, "print a coredump of the driver" },
	{ "replay", cmd_replay, "run a coredump's program inside the process and tell whether it "
				"ends at the same place" },
	{ "exec", cmd_exec, "run one raw program; print how it ended and its statistics as JSON" },
	{ "events", cmd_events, "run one raw program; print the events that it raises as they come" },
};

static void put_commands(void)
{
	printf("Commands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		opt_help_row(commands[i].name, commands[i].text);
}

static const struct opt_command tool = {
	.usage = { "COMMAND [OPTION...]", "COMMAND --help" },
	.intro = "Looks at an accelerator, tests it, or runs a raw program on it.",
	.notes = OPT_EXIT_STATUS "\n  4  replay: not the same place",
	.help_rows = put_commands,
};

int main(int argc, char **argv)
{
	int ret;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return end_output(commands[i].run(argc - 1, argv + 1));
	if (argc > 1 && *argv[1] != '-')
		return complain(EXIT_USAGE, "unknown command \"%s\"; try cnnctl --help", argv[1]);
	ret = opt_parse(&tool, argc, argv, NULL, NULL);
	return ret ? ret : opt_missing(&tool, "COMMAND");
}
