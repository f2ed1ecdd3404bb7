/* SPDX-License-Identifier: MIT */
/* Runs a dumped program again, inside this process. */
#include "dump.h"

#include "backend/desc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* A dumped mapping may exceed the largest buffer: it is mapped in pieces. */
#define PIECE		(1ull << 29)
#define PIECES_MAX	(CNNACC_DUMP_RANGES_MAX + (1ull << CNNACC_VA_BITS) / PIECE)

/* Describes the dumped core as properties of the in-process device. */
static int describe_core(const struct dump *d, char *buf, size_t len, struct cnnrt_error *err)
{
	static const char prefix[] = "sim:cores=";
	size_t n = sizeof(prefix) - 1;

	memcpy(buf, prefix, sizeof(prefix));
	if (!cnn_desc_property(&d->job.entry, buf + n, len - n))
		return dump_fail(err, CNNRT_EUNSUPPORTED, "section JOB: a core of a type that "
				 "cannot be run in process");
	return CNNRT_OK;
}

static unsigned int map_flags(uint32_t pte)
{
	return (pte & CNNACC_PTE_READ ? CNNRT_MAP_READ : 0) |
	       (pte & CNNACC_PTE_WRITE ? CNNRT_MAP_WRITE : 0) |
	       (pte & CNNACC_PTE_EXEC ? CNNRT_MAP_EXEC : 0);
}

/* The dumped mappings as zeros, then the programs over them. */
static unsigned int make_ranges(const struct dump *d, struct cnnrt_range *ranges)
{
	unsigned int n = 0;

	for (size_t i = 0; i < d->range_count; i++) {
		const struct cnnacc_dump_range *r = &d->ranges[i];

		for (uint64_t at = 0; at < r->size; at += PIECE)
			ranges[n++] = (struct cnnrt_range){
				.va = r->va + at, .flags = map_flags(r->flags),
				.size = r->size - at < PIECE ? r->size - at : PIECE,
			};
	}
	for (size_t i = 0; i < d->program_count; i++)
		ranges[n++] = (struct cnnrt_range){
			.va = d->programs[i].va, .size = d->programs[i].size,
			.flags = CNNRT_MAP_EXEC, .in = d->programs[i].bytes,
		};
	return n;
}

/* A program that hung gets as many cycles as it had. */
static uint64_t cycle_limit(const struct cnnacc_dump_job *j)
{
	uint64_t limit = j->packet.cycle_limit;

	if (j->reason == CNNACC_DUMP_HANG && j->flags & CNNACC_DUMP_HAS_RECORD &&
	    j->record.cycles && j->record.cycles < limit)
		limit = j->record.cycles;
	return limit;
}

static int run(const struct dump *d, struct cnnrt_range *ranges, int64_t timeout_ns,
	       struct cnnrt_job_status *status, struct cnnrt_error *err)
{
	struct cnnrt_exec exec = {
		.struct_size = sizeof(exec), .program_va = d->job.packet.program_va,
		.program_size = d->job.packet.program_len,
		.cycle_limit = cycle_limit(&d->job), .timeout_ns = timeout_ns,
		.ranges = ranges, .range_count = make_ranges(d, ranges),
		.range_size = sizeof(*ranges),
		.own_stats = d->job.packet.flags & CNNACC_PACKET_STATS,
		.stats_va = d->job.packet.stats_va,
	};
	struct cnnrt_device *dev;
	char name[256];
	int ret = describe_core(d, name, sizeof(name), err) ?:
		  cnnrt_device_open(name, 0, &dev, err);

	if (ret)
		return ret;
	ret = cnnrt_exec(dev, &exec, status, NULL, err);
	cnnrt_device_close(dev);
	return ret;
}

/* Returns the end of the executable mapping at va, or va if there is none. */
static uint64_t fetchable(const struct dump *d, uint64_t va)
{
	for (size_t i = 0; i < d->range_count; i++) {
		const struct cnnacc_dump_range *r = &d->ranges[i];

		if (va >= r->va && va - r->va < r->size)
			return r->flags & CNNACC_PTE_EXEC ? r->va + r->size : va;
	}
	return va;
}

/* Returns the end of the dumped program at va, or va if there is none. */
static uint64_t dumped(const struct dump *d, uint64_t va)
{
	for (size_t i = 0; i < d->program_count; i++)
		if (va >= d->programs[i].va && va - d->programs[i].va < d->programs[i].size)
			return d->programs[i].va + d->programs[i].size;
	return va;
}

/* Refuses a dump without all of its program: zeros in its place would be another program. */
static int check_program(const struct dump *d, struct cnnrt_error *err)
{
	uint64_t va = d->job.packet.program_va, end = va + d->job.packet.program_len;

	while (va < end) {
		uint64_t next = dumped(d, va), limit = fetchable(d, va);

		if (limit == va)
			break;
		if (next == va)
			return dump_fail(err, CNNRT_EINVAL, "the dump lacks the program from VA 0x%"
					 PRIx64 " on: it cannot be run again", va);
		va = next < limit ? next : limit;
	}
	return CNNRT_OK;
}

int dump_replay(const struct dump *d, int64_t timeout_ns, struct cnnrt_job_status *status,
		struct cnnrt_error *err)
{
	struct cnnrt_range *ranges;
	int ret;

	if (d->range_count > CNNACC_DUMP_RANGES_MAX)
		return dump_fail(err, CNNRT_ELIMIT, "section MAP: more ranges than a coredump has");
	if (!d->job.packet.cycle_limit)
		return dump_fail(err, CNNRT_EINVAL, "section JOB: a packet without a cycle limit");
	ret = check_program(d, err);
	if (ret)
		return ret;
	ranges = calloc(PIECES_MAX + DUMP_PROGRAMS_MAX, sizeof(*ranges));
	if (!ranges)
		return dump_fail(err, CNNRT_ENOMEM, "replay: out of memory");
	ret = run(d, ranges, timeout_ns, status, err);
	free(ranges);
	return ret;
}

bool dump_same(const struct dump *d, const struct cnnrt_job_status *replayed)
{
	const struct cnnacc_completion *r = &d->job.record;

	if (d->job.reason == CNNACC_DUMP_HANG)
		return replayed->status_class == CNNACC_STATUS_TIME_LIMIT;
	return replayed->status_class == r->status_class &&
	       replayed->status_code == r->status_code && replayed->detail == r->detail &&
	       replayed->pc == r->pc && replayed->access == r->access &&
	       replayed->va == r->fault_va;
}
