/* SPDX-License-Identifier: MIT */
/*
 * Program files: a header, then four sections, each at a multiple of 64 bytes: description,
 * constants, weights, programs. The last three are used in place, in the mapped file.
 */
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#define MAGIC		"\x89" "CNN\r\n\x1a\n"
#define BYTE_ORDER_MARK	0x01020304u
#define FORMAT		11u

enum { DESCRIPTION, CONSTANTS, WEIGHTS, PROGRAMS, SECTIONS };

struct header {
	uint8_t magic[8];
	uint32_t byte_order, format;
	uint64_t size;			/* of the file */
	uint32_t crc;			/* of the file with 0 here */
	uint32_t flags;			/* FLAG_* */
	uint64_t section[SECTIONS];	/* bytes */
};

_Static_assert(sizeof(struct header) == RT_FILE_ALIGN,
	       "the first section follows the header at RT_FILE_ALIGN");

#define FLAG_OBSERVE 1u /* compiled with observe: holds all constants */

static uint64_t align(uint64_t n)
{
	return (n + RT_FILE_ALIGN - 1) & ~(uint64_t)(RT_FILE_ALIGN - 1);
}

static uint32_t add_crc(uint32_t crc, const void *data, size_t size)
{
	return (uint32_t)crc32_z(crc, data, size);
}

/* Called for the parts of the file in order. */
typedef int (*part_fn)(const void *data, size_t size, void *arg);

static int padded(const struct rt_blob *b, part_fn fn, void *arg)
{
	static const uint8_t zeros[RT_FILE_ALIGN];
	int ret = b->size ? fn(b->data, b->size, arg) : 0;

	return ret ? ret : fn(zeros, (size_t)(align(b->size) - b->size), arg);
}

static int each_part(const struct header *h, const struct rt_archive *a,
		     const struct cnn_lowered *low, part_fn fn, void *arg)
{
	const struct rt_blob description = { a->bytes, a->size };
	const struct rt_blob weights = { low->weights, (size_t)low->weight_bytes };
	const struct rt_blob programs = { low->program, (size_t)low->program_bytes };
	int ret = fn(h, sizeof(*h), arg) ?: padded(&description, fn, arg);

	for (int i = 0; i < a->blob_count && !ret; i++)
		ret = padded(&a->blobs[i], fn, arg);
	return ret ?: padded(&weights, fn, arg) ?: padded(&programs, fn, arg);
}

static int sum_part(const void *data, size_t size, void *arg)
{
	uint32_t *crc = arg;

	*crc = add_crc(*crc, data, size);
	return 0;
}

static int write_part(const void *data, size_t size, void *arg)
{
	return fwrite(data, 1, size, arg) == size ? 0 : -1;
}

static void fill_header(struct header *h, const struct rt_archive *a,
			const struct cnn_lowered *low, bool observe)
{
	uint32_t crc = 0;

	*h = (struct header){
		.byte_order = BYTE_ORDER_MARK, .format = FORMAT, .size = sizeof(*h),
		.flags = observe ? FLAG_OBSERVE : 0,
		.section = { a->size, align(a->constants_at), (uint64_t)low->weight_bytes,
			     (uint64_t)low->program_bytes },
	};
	memcpy(h->magic, MAGIC, sizeof(h->magic));
	for (int i = 0; i < SECTIONS; i++)
		h->size += align(h->section[i]);
	each_part(h, a, low, sum_part, &crc);
	h->crc = crc;
}

/* Writes to another name and renames it, because an old file may be mapped by a running program. */
static int write_file(const char *path, const struct header *h, const struct rt_archive *a,
		      const struct cnn_lowered *low, struct cnnrt_error *err)
{
	char *temporary = NULL;
	struct stat st;
	FILE *f;
	int ret;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return rt_fail(err, CNNRT_EFILE, "%.200s: not a regular file", path);
	if (asprintf(&temporary, "%s.part", path) < 0)
		return rt_fail(err, CNNRT_ENOMEM, "%.200s: out of memory", path);
	f = fopen(temporary, "wbe");
	ret = f ? each_part(h, a, low, write_part, f) : -1;
	if (f && fclose(f))
		ret = -1;
	if (!ret)
		ret = rename(temporary, path);
	if (ret) {
		ret = rt_fail(err, CNNRT_EFILE, "%.200s: %s", path, strerror(errno));
		if (f)
			unlink(temporary);
	}
	free(temporary);
	return ret;
}

int cnnrt_program_save(const struct cnnrt_program *program, const char *path,
		       struct cnnrt_error *err)
{
	struct rt_archive a = {
		.writing = true, .err = err, .program = program,
		.all_constants = program->observe,
	};
	struct header h;
	int ret;

	/* With writing set, the walks only read the program. */
	rt_ar_needs(&a, (struct cnnrt_program *)program, program->hw_version);
	rt_ar_graph(&a, program->graph);
	rt_ar_lowered(&a, program->low);
	rt_ar_eliminated_ops(&a, (struct cnnrt_program *)program);
	ret = a.code;
	if (!ret) {
		fill_header(&h, &a, program->low, program->observe);
		ret = write_file(path, &h, &a, program->low, err);
	}
	free(a.bytes);
	free(a.blobs);
	return ret;
}

static uint32_t file_crc(const struct rt_mapping *m)
{
	struct header h;

	memcpy(&h, m->data, sizeof(h));
	h.crc = 0;
	return add_crc(add_crc(0, &h, sizeof(h)), (uint8_t *)m->data + sizeof(h),
		       m->size - sizeof(h));
}

static int check_sections(const struct header *h, struct cnnrt_error *err)
{
	uint64_t left = h->size - sizeof(*h);

	for (int i = 0; i < SECTIONS; i++) {
		if (h->section[i] > left || align(h->section[i]) > left)
			return rt_fail(err, CNNRT_EINVAL, "program file: section %d of %llu bytes, "
				       "%llu are left", i, (unsigned long long)h->section[i],
				       (unsigned long long)left);
		left -= align(h->section[i]);
	}
	return left ? rt_fail(err, CNNRT_EINVAL, "program file: %llu bytes after its last section",
			      (unsigned long long)left) :
		      CNNRT_OK;
}

static int check_header(const struct rt_mapping *m, struct header *h, struct cnnrt_error *err)
{
	uint32_t crc;

	if (m->size < sizeof(*h) || memcmp(m->data, MAGIC, sizeof(h->magic)))
		return rt_fail(err, CNNRT_EINVAL, "not a program file");
	memcpy(h, m->data, sizeof(*h));
	if (h->byte_order != BYTE_ORDER_MARK)
		return rt_fail(err, CNNRT_EUNSUPPORTED, "program file: byte order 0x%08x, this "
			       "machine needs 0x%08x", h->byte_order, BYTE_ORDER_MARK);
	if (h->format != FORMAT)
		return rt_fail(err, CNNRT_EUNSUPPORTED, "program file: format %u, this library "
			       "reads %u: compile the network again", h->format, FORMAT);
	if (h->size != m->size)
		return rt_fail(err, CNNRT_EINVAL, "program file: it has %zu bytes, its header says "
			       "%llu", m->size, (unsigned long long)h->size);
	crc = file_crc(m);
	if (h->crc != crc)
		return rt_fail(err, CNNRT_EINVAL, "program file: it is damaged: checksum 0x%08x, "
			       "computed 0x%08x", h->crc, crc);
	if (h->flags & ~FLAG_OBSERVE)
		return rt_fail(err, CNNRT_EUNSUPPORTED, "program file: unknown flags 0x%x",
			       h->flags & ~FLAG_OBSERVE);
	return check_sections(h, err);
}

static void set_sections(const struct header *h, struct cnnrt_program *p, struct rt_archive *a)
{
	uint8_t *at = (uint8_t *)p->file.data + sizeof(*h);

	a->bytes = at;
	a->size = h->section[DESCRIPTION];
	at += align(h->section[DESCRIPTION]);
	a->constants = at;
	a->constants_size = h->section[CONSTANTS];
	at += align(h->section[CONSTANTS]);
	p->low->borrowed = true;
	p->low->weights = at;
	p->low->weight_bytes = (int64_t)h->section[WEIGHTS];
	at += align(h->section[WEIGHTS]);
	p->low->program = at;
	p->low->program_bytes = (int64_t)h->section[PROGRAMS];
}

static int check_end(struct rt_archive *a)
{
	if (a->at != a->size)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %zu bytes after the end of its "
			   "description", a->size - a->at);
	if (align(a->constants_at) != a->constants_size)
		rt_ar_fail(a, CNNRT_EINVAL, "program file: %llu bytes of constants, %llu are used",
			   (unsigned long long)a->constants_size,
			   (unsigned long long)a->constants_at);
	return a->code;
}

static int parse(struct cnnrt_program *p, const struct rt_target *target,
		 const struct cnnrt_load_options *o, struct cnnrt_error *err)
{
	struct rt_archive a = { .err = err, .program = p };
	struct cnn_err e = { 0 };
	struct header h;
	int ret = check_header(&p->file, &h, err);

	if (ret)
		return ret;
	p->graph = calloc(1, sizeof(*p->graph));
	p->low = calloc(1, sizeof(*p->low));
	if (!p->graph || !p->low)
		return rt_fail(err, CNNRT_ENOMEM, "program file: out of memory");
	p->observe = h.flags & FLAG_OBSERVE;
	p->core_count = target->core_count;
	memcpy(p->core, target->core, p->core_count * sizeof(p->core[0]));
	set_sections(&h, p, &a);
	rt_ar_needs(&a, p, target->hw_version);
	rt_ar_graph(&a, p->graph);
	rt_ar_lowered(&a, p->low);
	rt_ar_eliminated_ops(&a, p);
	ret = check_end(&a);
	if (ret)
		return ret;
	cnn_graph_default_limits(p->graph);
	rt_set_limits(p->graph, o->max_memory, o->max_work);
	if (rt_program_check(p, &e))
		return rt_graph_error(err, &e);
	rt_mark_in_weight_image(p);
	return CNNRT_OK;
}

int rt_load(struct rt_mapping m, const struct rt_target *target,
	    const struct cnnrt_load_options *options, struct cnnrt_program **out,
	    struct cnnrt_error *err)
{
	struct cnnrt_program *p = calloc(1, sizeof(*p));
	struct cnnrt_load_options o;
	int ret;

	if (!p) {
		rt_unmap(&m);
		return rt_fail(err, CNNRT_ENOMEM, "program file: out of memory");
	}
	p->file = m;
	ret = rt_struct_read(RT_STRUCT(cnnrt_load_options, max_work), &o, options, err) ?:
	      parse(p, target, &o, err);
	if (ret)
		rt_program_free(p);
	else
		*out = p;
	return ret;
}

int rt_map_file(const char *path, struct rt_mapping *m, struct cnnrt_error *err)
{
	size_t size;
	FILE *f;
	int ret = rt_open_file(path, &f, &size, err);

	if (ret)
		return ret;
	*m = (struct rt_mapping){ .size = size, .mapped = size > 0 };
	if (m->mapped)
		m->data = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	fclose(f);
	if (m->data == MAP_FAILED)
		return rt_fail(err, CNNRT_EFILE, "%.200s: mmap: %s", path, strerror(errno));
	return CNNRT_OK;
}

int rt_map_copy(const void *data, size_t size, struct rt_mapping *m, struct cnnrt_error *err)
{
	*m = (struct rt_mapping){ .size = size };
	m->data = aligned_alloc(RT_FILE_ALIGN, (size_t)align(size + 1));
	if (!m->data)
		return rt_fail(err, CNNRT_ENOMEM, "program file: no memory for %zu bytes", size);
	if (size)
		memcpy(m->data, data, size);
	return CNNRT_OK;
}

bool cnnrt_program_is(const void *data, size_t size)
{
	return size >= sizeof(MAGIC) - 1 && !memcmp(data, MAGIC, sizeof(MAGIC) - 1);
}
