/* SPDX-License-Identifier: MIT */
/* cnnctl: look at an accelerator, test it, run a raw program on it. */
#include "cnnctl.h"

#include <string.h>

static const char usage_text[] =
"usage: cnnctl info|regs|stats|selftest [--device D] [--json]\n"
"       cnnctl info --caps FILE [--device D]\n"
"       cnnctl top [--once] [--interval MS] [--device D] [--json]\n"
"       cnnctl reset [--core NAME] [--device D]\n"
"       cnnctl core|replay FILE [--json]\n"
"       cnnctl exec --core NAME --program [VA=]FILE [--load VA=FILE]...\n"
"              [--load-ro VA=FILE]... [--zero VA:LEN]... [--dump VA:LEN=FILE]...\n"
"              [--cycles N] [--timeout MS] [--device D]\n"
"\n"
"  info      what the device is, or why it cannot be used; --caps: for cnnrun --compile\n"
"            --device-caps FILE, where the device is not\n"
"  regs      its registers by name (administrator)\n"
"  stats     its statistics counters, and what each context used (administrator)\n"
"  top       who uses its cores and memory now: your processes, or all as root;\n"
"            --once: one look of an interval's length; --json: an object per line\n"
"  selftest  small programs with known answers on every core\n"
"  reset     has the driver reset the device, or one core such as ccp.0\n"
"            (administrator)\n"
"  core      prints a coredump of the driver, /sys/class/devcoredump/devcdN/data\n"
"  replay    runs its program inside the process: does it stop at the same place?\n"
"  exec      runs one raw program; prints how it ended and its statistics as JSON\n"
"\n"
"D is a node such as /dev/accel/accel0, or sim[:PROPS] for a device inside the\n"
"process; default: $CNNRT_DEVICE, or the first accelerator.\n"
"Exit status: 0 done, 1 failed, 2 usage, 3 no device, 4 replay: not the same place.\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "info", cmd_info }, { "regs", cmd_regs }, { "stats", cmd_stats },
	{ "top", cmd_top }, { "reset", cmd_reset }, { "selftest", cmd_selftest },
	{ "exec", cmd_exec },
	{ "core", cmd_core }, { "replay", cmd_replay },
};

int parse_common(int argc, char **argv, const char *command, struct common *c)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			c->json = true;
		else if (!strcmp(argv[i], "--device") && i + 1 < argc)
			c->device = argv[++i];
		else if (!strcmp(argv[i], "--caps") && !strcmp(command, "info") && i + 1 < argc)
			c->caps = argv[++i];
		else if (!strcmp(argv[i], "--core") && !strcmp(command, "reset") && i + 1 < argc)
			c->core = argv[++i];
		else
			return complain(EXIT_USAGE, "%s: unknown option or missing value: %s",
					command, argv[i]);
	}
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc && i < 3; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(usage_text, stdout);
			return EXIT_DONE;
		}
	}
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		printf("cnnctl %s\n", cnnrt_version());
		return EXIT_DONE;
	}
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return end_output(commands[i].run(argc - 2, argv + 2));
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}
