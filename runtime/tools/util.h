/* SPDX-License-Identifier: MIT */
/* What the tools share. */
#ifndef CNNRT_TOOLS_UTIL_H
#define CNNRT_TOOLS_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cnnrt.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DEVICE = 3,
	EXIT_DIFFERS = 4,
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Prints "PROGRAM: text" and returns status. */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* status, or EXIT_FAILED and a message if not all that was printed could be written. */
int end_output(int status);
/* The exit status for an error of the library, which is printed. */
int complain_error(const struct cnnrt_error *err);

/* Opens a device; else the exit status, after a message. */
int open_device(const char *name, unsigned int flags, struct cnnrt_device **dev);

/*
 * Names come from files that nobody vouches for: control characters and what is not UTF-8 become
 * question marks, and what does not fit is cut off.  Returns buf.
 */
const char *clean(const char *text, char *buf, size_t len);

/* A number in C notation, the whole text. */
bool parse_u64(const char *text, uint64_t *value);

/* A whole file in malloc'ed memory (at least one byte of it); false with errno set. */
bool read_file(const char *path, void **data, size_t *size);
bool write_file(const char *path, const void *data, size_t size);

/* The core called NAME or with index NAME; -1 and a message if there is none. */
int find_core(const struct cnnrt_device *dev, const char *name);

/* ---- JSON ------------------------------------------------------------------------------ */

/* Writes values with the commas, newlines and escapes that they need. */
struct json {
	FILE *out;
	unsigned int depth;
	bool comma;
	bool one_line;		/* all of it, for readers of streams */
};

void json_open(struct json *j, const char *key, char bracket);	/* '{' or '[' */
void json_close(struct json *j, char bracket);			/* '}' or ']' */
void json_string(struct json *j, const char *key, const char *value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_hex(struct json *j, const char *key, uint64_t value);	/* as a string, "0x10" */
void json_micros(struct json *j, const char *key, uint64_t ns);	/* as microseconds */
void json_double(struct json *j, const char *key, double value);

#endif
