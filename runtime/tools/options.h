/* SPDX-License-Identifier: MIT */
/* Command lines: one table of options per command drives getopt_long() and --help. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>

#include "util.h"

enum opt_kind {
	OPT_CALL,	/* calls set() */
	OPT_FLAG,	/* no value; sets a bool */
	OPT_TEXT,	/* sets a const char * */
	OPT_NUMBER,	/* sets a uint64_t */
};

#define OPT_MANY	(1u << 31)	/* in flags: may be given more than once */
#define OPT_BAD_VALUE	(-1)		/* from set(): the message says what is valid */

/* An option; request is what opt_parse() fills for the command. */
struct opt_spec {
	const char *name;	/* long name; NULL: the option is a letter */
	char letter;
	enum opt_kind kind;
	const char *arg;	/* name of the value; NULL: it has none */
	const char *text;	/* for --help */
	size_t field;		/* offset in the request of what is set */
	uint64_t min, max;	/* of a number */
	const char *valid;	/* values that set() takes; NULL: arg says it */
	/* Takes the field. EXIT_DONE, OPT_BAD_VALUE, or an exit status after a message. */
	int (*set)(void *field, char *value);
	/* NULL, or the value may be left out: is the next argument the value? */
	bool (*takes)(const char *next);
	unsigned int flags;	/* OPT_MANY; the other bits are the command's own */
};

#define OPT_USAGE_LINES	4

struct opt_command {
	const char *name;	/* "exec"; NULL: a tool without commands */
	const char *usage[OPT_USAGE_LINES];	/* what follows the name; "\n" breaks the line */
	const char *intro;	/* what it does */
	const char *notes;	/* more, after the options; NULL: OPT_EXIT_STATUS */
	const struct opt_spec *options;	/* at most 64 */
	size_t count;
	/* Takes an argument that is no option; NULL: there may be none. */
	int (*operand)(void *request, char *text);
	void (*help_rows)(void);	/* prints more rows of --help; NULL: none */
};

#define OPT_DEVICE_ARG	"D"
#define OPT_DEVICE_TEXT	"/dev/accel/accelN, or sim[:PROPS] for a device inside the process; " \
			"default: $CNNRT_DEVICE, or the first accelerator"
#define OPT_CORE_ARG	"NAME[.INDEX]"
#define OPT_EXIT_STATUS	"Exit status:\n  0  done\n  1  failed\n  2  usage\n  3  no device"

/* An option that sets a field of the request. */
#define OPT_SETS_FLAG(type, member, long_name, help) \
	{ .name = long_name, .kind = OPT_FLAG, .field = offsetof(type, member), .text = help }
#define OPT_SETS_TEXT(type, member, long_name, value, help) \
	{ .name = long_name, .kind = OPT_TEXT, .field = offsetof(type, member), .arg = value, \
	  .text = help }

/*
 * Reads a command line; argv[0] is the name of the tool or command.
 * @given: NULL, or receives a bit for each option that was given, by its place in the table
 *
 * Return: EXIT_DONE, or an exit status after a message.  --help and --version end the process.
 */
int opt_parse(const struct opt_command *c, int argc, char **argv, void *request, uint64_t *given);
/* One row of --help: left, and text beside it in lines of at most 79 columns. */
void opt_help_row(const char *left, const char *text);
/* "--repeat" or "-o" */
const char *opt_name(const struct opt_spec *o, char buf[32]);
/* Message for a call without what the command needs. */
int opt_missing(const struct opt_command *c, const char *what);

#endif
