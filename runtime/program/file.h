/* SPDX-License-Identifier: MIT */
/*
 * The program file format (Documentation/user/runtime.rst). One walk over each structure both
 * writes and reads it, so that the two cannot differ.
 */
#ifndef CNNRT_PROGRAM_FILE_H
#define CNNRT_PROGRAM_FILE_H

#include <cnnacc_hw.h>

#include "model.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "program files are little-endian and used in place"
#endif

#define RT_FILE_ALIGN	64	/* of sections, and of each constant in its section */

/* What the program requires of one core. */
struct rt_need {
	int core; /* writing: its index; reading: the index of the core found */
	bool pinned; /* runs on no other core of the device, even if that is equal */
	struct cnnrt_core_info info; /* name, version and parameters; the limits that it uses */
};

struct rt_blob {
	const void *data;
	size_t size;
};

/* The description being written or read. After the first failure all calls do nothing. */
struct rt_archive {
	bool writing;
	uint8_t *bytes;	      /* writing: allocated */
	size_t at, size, cap; /* at: of the next read; size: of bytes; cap: allocated */

	/* The section of constants: blobs when writing, the mapped section when reading. */
	struct rt_blob *blobs;
	int blob_count;
	uint8_t *constants;
	uint64_t constants_at, constants_size;

	const struct cnnrt_program *program; /* its cores are those of the device */
	bool all_constants; /* also write constants that only cores read */
	struct rt_need need[CNNRT_MAX_CORES];
	int need_count;

	int code;
	struct cnnrt_error *err;
};

void rt_ar_fail(struct rt_archive *a, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_ar_bytes(struct rt_archive *a, void *p, size_t n);
void rt_ar_bool(struct rt_archive *a, bool *v);
/* Fails if the value read is not in min..max. */
void rt_ar_int(struct rt_archive *a, int *v, int min, int max, const char *what);
void rt_ar_i64(struct rt_archive *a, int64_t *v, int64_t min, int64_t max, const char *what);
/* null: *s may be NULL. */
void rt_ar_string(struct rt_archive *a, char **s, bool null, const char *what);
/* A string in an array of size bytes. */
void rt_ar_chars(struct rt_archive *a, char *s, size_t size, const char *what);
/* The length of a list, and zeroed memory for it; 0 and NULL on failure. */
void rt_ar_list(struct rt_archive *a, int *n, int max, void **list, size_t size, const char *what);
/* Bytes in the section of constants; reading sets *p to their place in the mapped file. */
void rt_ar_blob(struct rt_archive *a, void **p, size_t n);

static inline void rt_ar_u32(struct rt_archive *a, uint32_t *v)
{
	rt_ar_bytes(a, v, sizeof(*v));
}

static inline void rt_ar_u64(struct rt_archive *a, uint64_t *v)
{
	rt_ar_bytes(a, v, sizeof(*v));
}

void rt_ar_graph(struct rt_archive *a, struct cnn_graph *g);
void rt_ar_eliminated_ops(struct rt_archive *a, struct cnnrt_program *p);
/* Without the program and weight images, which have sections of their own. */
void rt_ar_lowered(struct rt_archive *a, struct cnn_lowered *l);
/* What the program requires of a device; reading assigns a core of p->core to each need. */
void rt_ar_needs(struct rt_archive *a, struct cnnrt_program *p, uint32_t hw_version);

/*
 * Checks a program from an untrusted file for all that the host relies on. Also computes what the
 * file does not hold: links, segments of nodes, sums. Programs of cores are not checked: the device
 * contains them.
 */
int rt_program_check(struct cnnrt_program *p, struct cnn_err *e);

#endif
