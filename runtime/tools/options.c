/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS	64
#define FIRST_CODE	256	/* of getopt_long() for options[0]; above every letter */
#define CODE_HELP	(FIRST_CODE + MAX_OPTIONS)
#define CODE_VERSION	(CODE_HELP + 1)
#define USAGE_INDENT	11
#define TEXT_COLUMN	24
#define LAST_COLUMN	79

struct parser {
	const struct opt_command *c;
	char **argv;
	void *request;
	uint64_t given;
	struct option longs[MAX_OPTIONS + 3];
	char letters[2 * MAX_OPTIONS + 4];
};

/* Prints text from a column on, wrapped at spaces; a newline starts a new line. */
static void put_wrapped(const char *text, int at, int indent)
{
	bool fresh = true;	/* no word is in this line */

	while (*text) {
		int n = (int)strcspn(text, " \n");

		if (!fresh && at + 1 + n > LAST_COLUMN) {
			printf("\n%*s", indent, "");
			at = indent;
		} else if (!fresh) {
			putchar(' ');
			at++;
		}
		printf("%.*s", n, text);
		at += n;
		text += n;
		fresh = *text == '\n';
		if (fresh) {
			printf("\n%*s", text[1] == '\n' ? 0 : indent, "");
			at = indent;
		}
		text += *text != '\0';
	}
	putchar('\n');
}

void opt_help_row(const char *left, const char *text)
{
	int n = printf("  %s", left);

	if (n + 2 > TEXT_COLUMN)
		printf("\n%*s", TEXT_COLUMN, "");
	else
		printf("%*s", TEXT_COLUMN - n, "");
	put_wrapped(text, TEXT_COLUMN, TEXT_COLUMN);
}

const char *opt_name(const struct opt_spec *o, char buf[32])
{
	if (o->name)
		snprintf(buf, 32, "--%s", o->name);
	else
		snprintf(buf, 32, "-%c", o->letter);
	return buf;
}

/* "cnnctl exec" */
static const char *call_of(const struct opt_command *c, char buf[64])
{
	snprintf(buf, 64, "%s%s%s", program_invocation_short_name, c->name ? " " : "",
		 c->name ? c->name : "");
	return buf;
}

static void put_usage(const struct opt_command *c)
{
	char call[64];

	for (int i = 0; i < OPT_USAGE_LINES && c->usage[i]; i++)
		put_wrapped(c->usage[i], printf("%s %s ", i ? "  or: " : "Usage:", call_of(c, call)),
			    USAGE_INDENT);
}

/* help2man makes man pages of this text: it knows "Usage:", "  or:", and headings with a colon. */
static void put_help(const struct opt_command *c)
{
	char name[32], left[96];

	put_usage(c);
	putchar('\n');
	put_wrapped(c->intro, 0, 0);
	putchar('\n');
	if (c->help_rows) {
		c->help_rows();
		putchar('\n');
	}
	printf("Options:\n");
	for (size_t i = 0; i < c->count; i++) {
		const struct opt_spec *o = &c->options[i];

		snprintf(left, sizeof(left), "%s%s%s", opt_name(o, name), o->arg ? " " : "",
			 o->arg ? o->arg : "");
		opt_help_row(left, o->text);
	}
	opt_help_row("-h, --help", "print this text");
	opt_help_row("--version", "print the version");
	putchar('\n');
	put_wrapped(c->notes ? c->notes : OPT_EXIT_STATUS, 0, 0);
}

/* Prints "exec: text; try cnnctl exec --help" after the program's name. */
__attribute__((format(printf, 2, 3)))
static int refuse(const struct opt_command *c, const char *fmt, ...)
{
	char text[512], call[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return complain(EXIT_USAGE, "%s%s%s; try %s --help", c->name ? c->name : "",
			c->name ? ": " : "", text, call_of(c, call));
}

int opt_missing(const struct opt_command *c, const char *what)
{
	return refuse(c, "%s is missing", what);
}

static int bad_value(const struct opt_command *c, const struct opt_spec *o, const char *value,
		     const char *valid)
{
	char name[32];

	return refuse(c, "%s: bad value \"%s\"; it must be %s", opt_name(o, name), value, valid);
}

/* The text is no option, or the start of several. */
static int unknown(const struct parser *p, const char *text)
{
	size_t n = strcspn(text, "=");
	char names[256] = "";
	int count = 0;

	for (const struct option *o = p->longs; o->name && n > 2; o++) {
		size_t used = strlen(names);

		if (strncmp(o->name, text + 2, n - 2))
			continue;
		snprintf(names + used, sizeof(names) - used, "%s--%s", count++ ? ", " : "", o->name);
	}
	if (count > 1)
		return refuse(p->c, "option %.*s is ambiguous: %s", (int)n, text, names);
	return refuse(p->c, "unknown option %.*s", (int)n, text);
}

/* What getopt_long() returns '?' for. */
static int not_understood(const struct parser *p)
{
	char name[32];

	if (optopt == CODE_HELP || optopt == CODE_VERSION)
		return refuse(p->c, "--%s takes no value",
			      optopt == CODE_HELP ? "help" : "version");
	if (optopt >= FIRST_CODE)
		return refuse(p->c, "%s takes no value",
			      opt_name(&p->c->options[optopt - FIRST_CODE], name));
	if (optopt)
		return refuse(p->c, "unknown option -%c", optopt);
	return unknown(p, p->argv[optind - 1]);
}

/* Letters for getopt_long(): arguments in their order, and ':' for a value that is missing. */
static void fill_tables(struct parser *p)
{
	struct option *l = p->longs;
	char *letter = p->letters;

	*letter++ = '-';
	*letter++ = ':';
	*letter++ = 'h';
	for (size_t i = 0; i < p->c->count; i++) {
		const struct opt_spec *o = &p->c->options[i];

		if (o->name)
			*l++ = (struct option){
				.name = o->name, .val = FIRST_CODE + (int)i,
				.has_arg = !o->arg ? no_argument :
					   o->takes ? optional_argument : required_argument,
			};
		if (o->letter) {
			*letter++ = o->letter;
			if (o->arg)
				*letter++ = ':';
		}
	}
	*l++ = (struct option){ .name = "help", .val = CODE_HELP };
	*l++ = (struct option){ .name = "version", .val = CODE_VERSION };
	*l = (struct option){ 0 };
	*letter = '\0';
}

static const struct opt_spec *find_option(const struct opt_command *c, int code)
{
	if (code >= FIRST_CODE)
		return &c->options[code - FIRST_CODE];
	for (size_t i = 0; i < c->count; i++)
		if (c->options[i].letter == code)
			return &c->options[i];
	return NULL;
}

static int set_number(const struct parser *p, const struct opt_spec *o, const char *value)
{
	uint64_t *number = (uint64_t *)(void *)((char *)p->request + o->field);
	char valid[64];
	uint64_t n;

	if (parse_u64(value, &n) && n >= o->min && n <= o->max) {
		*number = n;
		return EXIT_DONE;
	}
	snprintf(valid, sizeof(valid), "%" PRIu64 " to %" PRIu64, o->min, o->max);
	return bad_value(p->c, o, value, valid);
}

static int call_set(const struct parser *p, const struct opt_spec *o, char *value)
{
	char shown[128];
	int ret;

	/* set() may cut the value into pieces. */
	snprintf(shown, sizeof(shown), "%s", value ? value : "");
	ret = o->set((char *)p->request + o->field, value);
	return ret == OPT_BAD_VALUE ? bad_value(p->c, o, shown, o->valid ? o->valid : o->arg) : ret;
}

static int set_option(const struct parser *p, const struct opt_spec *o, char *value)
{
	void *field = (char *)p->request + o->field;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)field = true;
		return EXIT_DONE;
	case OPT_TEXT:
		*(const char **)field = value;
		return EXIT_DONE;
	case OPT_NUMBER:
		return set_number(p, o, value);
	default:
		return call_set(p, o, value);
	}
}

/* A value of its own that looks like an option is one whose value was forgotten. */
static int check_value(const struct parser *p, const struct opt_spec *o, const char *value)
{
	char name[32];

	if (value != p->argv[optind - 1] || strncmp(value, "--", 2))
		return EXIT_DONE;
	return refuse(p->c, "%s: its value is missing: \"%s\" follows", opt_name(o, name), value);
}

static int take_option(struct parser *p, int code)
{
	const struct opt_spec *o = find_option(p->c, code);
	uint64_t bit = 1ull << (o - p->c->options);
	char *value = optarg;
	char name[32];
	int ret;

	if (p->given & bit && !(o->flags & OPT_MANY))
		return refuse(p->c, "%s is given twice", opt_name(o, name));
	p->given |= bit;
	if (o->takes && !value && p->argv[optind] && o->takes(p->argv[optind]))
		value = p->argv[optind++];
	ret = value ? check_value(p, o, value) : EXIT_DONE;
	return ret ? ret : set_option(p, o, value);
}

static int take_operand(const struct parser *p, char *text)
{
	if (!p->c->operand)
		return refuse(p->c, "\"%s\" is no option", text);
	return p->c->operand(p->request, text);
}

static int take(struct parser *p, int code)
{
	char name[32];

	switch (code) {
	case 1:
		return take_operand(p, optarg);
	case '?':
		return not_understood(p);
	case ':':
		return refuse(p->c, "%s: its value is missing",
			      opt_name(find_option(p->c, optopt), name));
	case 'h':
	case CODE_HELP:
		put_help(p->c);
		exit(end_output(EXIT_DONE));
	case CODE_VERSION:
		printf("%s %s\n", program_invocation_short_name, cnnrt_version());
		exit(end_output(EXIT_DONE));
	default:
		return take_option(p, code);
	}
}

int opt_parse(const struct opt_command *c, int argc, char **argv, void *request, uint64_t *given)
{
	struct parser p = { .c = c, .argv = argv, .request = request };
	int code, ret = EXIT_DONE;

	fill_tables(&p);
	opterr = 0;
	optind = 0;	/* a new command line */
	while (!ret && (code = getopt_long(argc, argv, p.letters, p.longs, NULL)) != -1)
		ret = take(&p, code);
	while (!ret && optind < argc)
		ret = take_operand(&p, argv[optind++]);
	if (given)
		*given = p.given;
	return ret;
}
