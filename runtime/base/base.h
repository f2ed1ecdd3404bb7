/* SPDX-License-Identifier: MIT */
/* What the files of libcnnrt share. */
#ifndef CNNRT_INTERNAL_H
#define CNNRT_INTERNAL_H

#include <cnnrt.h>

#include <stdarg.h>
#include <stdio.h>

#define RT_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Fills err and returns code, so that "return rt_fail(...)" works. */
int rt_fail(struct cnnrt_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a system call's negative errno: the text gets ": " and the system's words. */
int rt_fail_errno(struct cnnrt_error *err, int neg_errno, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The code for a positive errno. */
int rt_code_of_errno(int e);

/* A regular file to be read, and its size in bytes; nothing else is opened, nor waited for. */
int rt_open_file(const char *path, FILE **f, size_t *size, struct cnnrt_error *err);

/* CLOCK_MONOTONIC, ns. */
uint64_t rt_now(void);

#endif
