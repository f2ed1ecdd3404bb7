/* SPDX-License-Identifier: MIT */
/* Shared by all rooms of libcnnrt: errors, sized structs, files, time. */
#ifndef CNNRT_BASE_H
#define CNNRT_BASE_H

#include <cnnrt.h>

#include <stdarg.h>
#include <stdio.h>

#define RT_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Fills err, which may be NULL, and returns code. */
int rt_fail(struct cnnrt_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* As rt_fail, for a negative errno: appends ": " and strerror()'s text. */
int rt_fail_errno(struct cnnrt_error *err, int neg_errno, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The enum cnnrt_code for a positive errno. */
int rt_code_of_errno(int e);

/* Opens a regular file for reading, and its size in bytes; refuses others without blocking. */
int rt_open_file(const char *path, FILE **f, size_t *size, struct cnnrt_error *err);

/* A descriptor of a folder, or of the folder that a file is in; only for opening beneath it. */
int rt_open_folder(const char *path, int *fd, struct cnnrt_error *err);
int rt_open_folder_of(const char *file, int *fd, struct cnnrt_error *err);

/*
 * A public struct whose first field is struct_size. The caller's struct has at least the fields of
 * the first version; an older caller's is shorter than the library's, a newer one's longer.
 */
struct rt_struct {
	const char *name;
	size_t first, size;	/* bytes in the first version, and in this one */
};

/* last: the last field of the first version */
#define RT_STRUCT(type, last) \
	(&(const struct rt_struct){ "struct " #type, \
		offsetof(struct type, last) + sizeof(((struct type *)NULL)->last), \
		sizeof(struct type) })

/* Are bytes [from, to) zero? */
bool rt_is_zero(const void *data, size_t from, size_t to);
/* CNNRT_EINVAL unless size is valid for a caller's struct. */
int rt_struct_check(const struct rt_struct *s, size_t size, struct cnnrt_error *err);
/* Copies a caller's struct; fields that it lacks become zero, as do all if from is NULL. */
int rt_struct_read(const struct rt_struct *s, void *own, const void *from, struct cnnrt_error *err);
/* Fills a caller's struct, whose size was checked; fields that the library lacks become zero. */
void rt_struct_write(const struct rt_struct *s, void *to, const void *own);

/* CLOCK_MONOTONIC, ns. */
uint64_t rt_now(void);

#endif
