/* SPDX-License-Identifier: MIT */
#include "dump.h"

#include "backend/desc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VA_END	(1ull << CNNACC_VA_BITS)

#define damaged(err, ...)	dump_fail(err, CNNRT_EINVAL, __VA_ARGS__)

int dump_fail(struct cnnrt_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

static int parse_header(struct dump *d, const void *data, size_t size, struct cnnrt_error *err)
{
	struct cnnacc_dump_header *h = &d->header;

	if (size < sizeof(*h))
		return damaged(err, "%zu bytes: a coredump has %zu or more", size, sizeof(*h));
	memcpy(h, data, sizeof(*h));
	if (h->magic != CNNACC_DUMP_MAGIC)
		return damaged(err, "no cnnacc coredump: magic 0x%x", h->magic);
	if (h->version != CNNACC_DUMP_VERSION)
		return damaged(err, "version %u: %u is what this program knows", h->version,
			       CNNACC_DUMP_VERSION);
	if (h->size != size)
		return damaged(err, "header says %" PRIu64 " bytes, the file has %zu",
			       (uint64_t)h->size, size);
	return 0;
}

/* A structure that later versions extend at its end: copies what both have. */
static int parse_struct(const char *name, bool *has, void *to, size_t want, const void *data,
			size_t size, struct cnnrt_error *err)
{
	if (*has)
		return damaged(err, "section %s: twice", name);
	*has = true;
	memcpy(to, data, size < want ? size : want);
	return 0;
}

static int parse_array(const char *name, size_t stride, const void **to, size_t *count,
		       const void *data, size_t size, struct cnnrt_error *err)
{
	if (*to)
		return damaged(err, "section %s: twice", name);
	if (size % stride)
		return damaged(err, "section %s: %zu bytes are no multiple of %zu", name, size,
			       stride);
	*to = data;
	*count = size / stride;
	return 0;
}

static int parse_program(struct dump *d, uint64_t va, const void *data, size_t size,
			 struct cnnrt_error *err)
{
	if (d->program_count == DUMP_PROGRAMS_MAX)
		return damaged(err, "more than %d sections PROGRAM", DUMP_PROGRAMS_MAX);
	if (va >= VA_END || size > VA_END - va || !size)
		return damaged(err, "section PROGRAM at VA 0x%" PRIx64 ": %zu bytes are none or go "
			       "beyond 4 GiB", va, size);
	d->programs[d->program_count++] = (struct dump_program){
		.va = va, .size = size, .bytes = data,
	};
	return 0;
}

#define ONE(name, has, to) \
	parse_struct(name, &d->has, &d->to, sizeof(d->to), data, size, err)
#define MANY(name, to, count) \
	parse_array(name, sizeof(*d->to), (const void **)&d->to, &d->count, data, size, err)

static int parse_section(struct dump *d, const struct cnnacc_dump_section *s, const void *data,
			 struct cnnrt_error *err)
{
	size_t size = (size_t)s->size;

	switch (s->type) {
	case CNNACC_DUMP_JOB:
		return ONE("JOB", has_job, job);
	case CNNACC_DUMP_WALK:
		return ONE("WALK", has_walk, walk);
	case CNNACC_DUMP_REGS:
		return MANY("REGS", regs, reg_count);
	case CNNACC_DUMP_MAP:
		return MANY("MAP", ranges, range_count);
	case CNNACC_DUMP_PACKETS:
		return MANY("PACKETS", packets, packet_count);
	case CNNACC_DUMP_RECORDS:
		return MANY("RECORDS", records, record_count);
	case CNNACC_DUMP_PROGRAM:
		return parse_program(d, s->va, data, size, err);
	}
	return 0;
}

static int parse_sections(struct dump *d, const uint8_t *data, size_t size, struct cnnrt_error *err)
{
	size_t at = sizeof(struct cnnacc_dump_header);
	int ret = CNNRT_OK;

	while (at < size && !ret) {
		struct cnnacc_dump_section s;

		if (size - at < sizeof(s))
			return damaged(err, "byte %zu: the file ends in a section's head", at);
		memcpy(&s, data + at, sizeof(s));
		at += sizeof(s);
		if (s.size > size - at || ((s.size + 7) & ~7ull) > size - at)
			return damaged(err, "byte %zu: section of type %u with %" PRIu64 " bytes "
				       "goes beyond the end of the file", at, s.type,
				       (uint64_t)s.size);
		ret = parse_section(d, &s, data + at, err);
		at += (size_t)((s.size + 7) & ~7ull);
	}
	return ret;
}

static int check_ranges(const struct dump *d, struct cnnrt_error *err)
{
	uint64_t end = 0;

	for (size_t i = 0; i < d->range_count; i++) {
		const struct cnnacc_dump_range *r = &d->ranges[i];

		if ((r->va | r->size) % CNNACC_PAGE_SIZE || !r->size || r->va < end ||
		    r->va >= VA_END || r->size > VA_END - r->va)
			return damaged(err, "section MAP: range %zu, VA 0x%" PRIx64 ", 0x%" PRIx64
				       " bytes: not whole pages in ascending order below 4 GiB", i,
				       (uint64_t)r->va, (uint64_t)r->size);
		if (!(r->flags & CNNACC_PTE_VALID) || r->flags & ~CNNACC_PTE_FLAGS)
			return damaged(err, "section MAP: range %zu: flags 0x%x", i, r->flags);
		end = r->va + r->size;
	}
	return 0;
}

static int check_job(const struct dump *d, struct cnnrt_error *err)
{
	const struct cnnacc_dump_job *j = &d->job;

	if (!d->has_job)
		return damaged(err, "there is no section JOB");
	/* Others look the name up and print it: it must be a string. */
	if (!memchr(j->entry.name, 0, sizeof(j->entry.name)) ||
	    j->entry.name[strspn(j->entry.name, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return damaged(err, "section JOB: the name of the core");
	if (j->reason != CNNACC_DUMP_FAILED && j->reason != CNNACC_DUMP_HANG)
		return damaged(err, "section JOB: reason %u", j->reason);
	if (j->reason == CNNACC_DUMP_FAILED &&
	    (!(j->flags & CNNACC_DUMP_HAS_RECORD) || !j->record.status_class))
		return damaged(err, "section JOB: a failed job without the record of its failure");
	return 0;
}

int dump_parse(struct dump *d, const void *data, size_t size, struct cnnrt_error *err)
{
	memset(d, 0, sizeof(*d));
	return parse_header(d, data, size, err) ?: parse_sections(d, data, size, err) ?:
	       check_ranges(d, err) ?: check_job(d, err);
}

void dump_status(const struct dump *d, struct cnnrt_job_status *status)
{
	const struct cnnacc_completion *r = &d->job.record;
	bool hang = d->job.reason == CNNACC_DUMP_HANG;

	*status = (struct cnnrt_job_status){
		.struct_size = sizeof(*status), .state = CNNRT_JOB_FAILED,
		.code = CNNRT_EJOB, .core = (int)d->job.core,
		.task = d->job.task, .pc = r->pc, .detail = r->detail, .access = r->access,
		.va = r->fault_va, .status_class = hang ? CNNACC_STATUS_OK : r->status_class,
		.status_code = hang ? CNNACC_CODE_NONE : r->status_code,
	};
	cnnrt_status_describe(d->job.entry.name, status, NULL);
	if (!hang)
		return;
	status->class_name = "HANG";
	if (d->job.flags & CNNACC_DUMP_HAS_RECORD)
		snprintf(status->text, sizeof(status->text), "HANG at instruction %u", r->pc);
	else
		snprintf(status->text, sizeof(status->text), "HANG, and no answer to an abort");
}

uint32_t dump_insn_words(const struct dump *d)
{
	const struct cnn_core_desc *desc = cnn_core_desc(d->job.entry.name);

	return desc ? desc->insn_words : 1;
}

bool dump_word(const struct dump *d, uint32_t pc, uint32_t n, uint32_t *word)
{
	uint64_t offset = 4 * ((uint64_t)pc * dump_insn_words(d) + n);
	uint64_t va = d->job.packet.program_va + offset;

	if (offset >= d->job.packet.program_len)
		return false;
	for (size_t i = 0; i < d->program_count; i++) {
		const struct dump_program *p = &d->programs[i];

		if (va >= p->va && va - p->va < p->size && p->size - (va - p->va) >= 4) {
			memcpy(word, p->bytes + (va - p->va), sizeof(*word));
			return true;
		}
	}
	return false;
}
