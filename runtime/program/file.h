/* SPDX-License-Identifier: MIT */
/*
 * A program in a file, as Documentation/user/runtime.rst describes it. One walk over each structure
 * serves both directions, so that what is written is what is read.
 */
#ifndef CNNRT_PROGRAM_FILE_H
#define CNNRT_PROGRAM_FILE_H

#include "device/device.h"
#include "model.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "program files are little-endian and used in place"
#endif

#define RT_FILE_ALIGN	64	/* of sections, and of each constant in its section */

/* What one core of the device must be. */
struct rt_need {
	int core;		/* its index when it was compiled for; here when it was loaded */
	uint32_t type, version;
	uint32_t program_max;	/* the largest program */
	uint64_t job_cycles_max;	/* the largest cycle limit */
	uint32_t param[8];
};

struct rt_blob {
	const void *data;
	size_t size;
};

/* The description being written or read. The first failure stays: what follows does nothing. */
struct rt_archive {
	bool writing;
	uint8_t *bytes;		/* ours when writing */
	size_t at, size, cap;	/* writing: size is what there is, at unused */

	/* The section of constants: a list when writing, where they are when reading. */
	struct rt_blob *blobs;
	int blob_count;
	uint8_t *constants;
	uint64_t constants_at, constants_size;

	bool keep_constants;	/* also those that only a core reads, from its weight image */
	struct rt_need need[CNNRT_MAX_CORES];
	int need_count;

	int code;
	struct cnnrt_error *err;
};

/* ---- file_archive.c: elements ----------------------------------------------- */

void rt_ar_fail(struct rt_archive *a, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_ar_bytes(struct rt_archive *a, void *p, size_t n);
void rt_ar_bool(struct rt_archive *a, bool *v);
/* min..max */
void rt_ar_int(struct rt_archive *a, int *v, int min, int max, const char *what);
void rt_ar_i64(struct rt_archive *a, int64_t *v, int64_t min, int64_t max, const char *what);
/* *s may be NULL only where null says so. */
void rt_ar_string(struct rt_archive *a, char **s, bool null, const char *what);
/* A string in an array of size bytes. */
void rt_ar_chars(struct rt_archive *a, char *s, size_t size, const char *what);
/* The length of a list, and zeroed memory for it; 0 and NULL on failure. */
void rt_ar_list(struct rt_archive *a, int *n, int max, void **list, size_t size,
		const char *what);
/* Bytes in the section of constants; read in place. */
void rt_ar_blob(struct rt_archive *a, void **p, size_t n);

static inline void rt_ar_u32(struct rt_archive *a, uint32_t *v)
{
	rt_ar_bytes(a, v, sizeof(*v));
}

static inline void rt_ar_u64(struct rt_archive *a, uint64_t *v)
{
	rt_ar_bytes(a, v, sizeof(*v));
}

/* ---- file_graph.c, file_lowered.c, file_device.c ------------ */

void rt_ar_graph(struct rt_archive *a, struct cnn_graph *g);
void rt_ar_removed(struct rt_archive *a, struct cnnrt_program *p);
/* The images are not part of it. */
void rt_ar_lowered(struct rt_archive *a, struct cnn_lowered *l);
/* What the program needs of a device; reading: finds the cores of p->core that serve. */
void rt_ar_needs(struct rt_archive *a, struct cnnrt_program *p, uint32_t hw_version);

/* ---- file_check.c ----------------------------------------------------------- */

/*
 * Can the host run p without harm, whoever wrote it? Fills in what follows from the rest: links,
 * segments of nodes, sums. Programs of cores are not looked at: the device contains them.
 */
int rt_program_check(struct cnnrt_program *p, struct cnn_err *e);

#endif
