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
/* Flushes standard output; returns status, or on failure EXIT_FAILED after a message. */
int end_output(int status);
/* Prints an error of the library and returns the exit status for it. */
int complain_error(const struct cnnrt_error *err);
/* The exit status for what a call of the library returned; prints its error. */
int checked(int ret, const struct cnnrt_error *err);

/* The time of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/* Opens a device; on failure prints a message. Returns an exit status. */
int open_device(const char *name, unsigned int flags, struct cnnrt_device **dev);

/*
 * Makes a name from an untrusted file printable: control characters and invalid UTF-8 become
 * question marks, and what does not fit is cut off.  Returns buf.
 */
const char *clean(const char *text, char *buf, size_t len);

/* Parses the whole text as a number in C notation. */
bool parse_u64(const char *text, uint64_t *value);

/* Reads a file into malloc'ed memory of at least one byte; on failure false, with errno set. */
bool read_file(const char *path, void **data, size_t *size);
/*
 * Can a file be written there, as far as that is known before the work? Else a message. Returns an
 * exit status: EXIT_DONE also for NULL.
 */
int check_writable(const char *path);
bool write_file(const char *path, const void *data, size_t size);
/* Closes a file that was written; on failure, also before, a message. Returns an exit status. */
int close_file(FILE *f, const char *path);

/* Sets a bit for each core that --core NAME means; on failure a message. Returns an exit status. */
int find_cores(const struct cnnrt_device *dev, const char *name, uint32_t *cores);

/* Writes JSON values with commas, newlines and escapes. */
struct json {
	FILE *out;
	unsigned int depth;
	bool comma;
	bool one_line;		/* the whole value in one line, for streams of values */
};

/* A number or a text in an object. */
struct json_member {
	const char *key;
	uint64_t value;
	bool hex;		/* as json_hex() writes it */
	const char *text;	/* in place of the value */
};

#define U64(k, v)	{ .key = (k), .value = (v) }
#define HEX(k, v)	{ .key = (k), .value = (v), .hex = true }
#define TEXT(k, v)	{ .key = (k), .text = (v) }

void json_open(struct json *j, const char *key, char bracket);	/* '{' or '[' */
void json_close(struct json *j, char bracket);			/* '}' or ']' */
void json_string(struct json *j, const char *key, const char *value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_hex(struct json *j, const char *key, uint64_t value);	/* as a string, "0x10" */
void json_micros(struct json *j, const char *key, uint64_t ns);	/* as microseconds */
void json_double(struct json *j, const char *key, double value);
/* Members of the open object, or of a new one: JSON_MEMBERS(j, U64("key", value), ...) */
void json_members(struct json *j, const struct json_member *list, size_t count);
void json_object(struct json *j, const char *key, const struct json_member *list, size_t count);
#define JSON_LIST(...)	((const struct json_member[]){ __VA_ARGS__ })
#define JSON_COUNT(...)	ARRAY_SIZE(JSON_LIST(__VA_ARGS__))
#define JSON_MEMBERS(j, ...) \
	json_members(j, JSON_LIST(__VA_ARGS__), JSON_COUNT(__VA_ARGS__))
#define JSON_OBJECT(j, key, ...) \
	json_object(j, key, JSON_LIST(__VA_ARGS__), JSON_COUNT(__VA_ARGS__))
/* How a job ended, as an object. */
void json_status(struct json *j, const char *key, const struct cnnrt_job_status *s);

#endif
