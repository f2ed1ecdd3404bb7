/* SPDX-License-Identifier: MIT */
/*
 * dump_mutate: damages a coredump, each byte once and then at random. cnnctl refuses the result
 * with a message, or prints it and runs it again. Built with the address and undefined-behaviour
 * sanitizers, which end the program at the first fault; leaks fail it at the end.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core_programs.h"
#include "tools/cnnctl.h"
#include "tools/dump.h"
#include "hang.h"

#define CASE_SECONDS		120
#define RANDOM_CASES		4000
#define REPLAY_TIMEOUT_NS	50000000	/* damaged programs may be endless */
#define PROGRAM_VA		0xf0000000u
#define NOWHERE			0x50000000u

const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:detect_leaks=1:hard_rss_limit_mb=4096";
}

static uint64_t seed = 88172645463325252u;

static uint32_t number(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % below;
}

struct file {
	_Alignas(8) uint8_t bytes[8192];
	size_t size;
};

static void add(struct file *f, const void *data, size_t size)
{
	memcpy(f->bytes + f->size, data, size);
	f->size += size;
}

static void add_section(struct file *f, uint32_t type, uint64_t va, const void *data, size_t size)
{
	struct cnnacc_dump_section section = { .type = type, .va = va, .size = size };
	static const uint8_t zeros[8];

	add(f, &section, sizeof(section));
	add(f, data, size);
	add(f, zeros, -size & 7);
}

/* The first core of an in-process device as the discovery table has it; false: there is none. */
static bool find_core(struct cnnacc_core_entry *entry)
{
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_device *dev;
	char device[128];
	bool found;

	snprintf(device, sizeof(device), "sim:cores=%s", core_programs_at(0)->small);
	if (cnnrt_device_open(device, 0, &dev, NULL))
		return false;
	found = !cnnrt_device_core(dev, 0, &core, NULL);
	cnnrt_device_close(dev);
	*entry = (struct cnnacc_core_entry){
		.type = core.type, .queue_offset = 0x2000, .window_offset = 0x4000,
		.window_size = 0x1000, .program_max = core.program_max,
		.job_cycles_max_lo = 1 << 20,
	};
	snprintf(entry->name, sizeof(entry->name), "%s", core.name);
	memcpy(entry->param, core.param, sizeof(entry->param));
	return found;
}

/* A dump as the driver writes it, of a fault at a page that is not mapped. */
static void make(struct file *f, const struct cnnacc_core_entry *entry)
{
	const struct core_programs *programs = core_programs(entry->name);
	uint32_t program[CORE_PROGRAM_MAX / 4];
	const uint32_t program_size = programs->load(program, NOWHERE / CNNACC_LINE_SIZE, 1);
	const struct cnnacc_dump_job job = {
		.reason = CNNACC_DUMP_FAILED, .flags = CNNACC_DUMP_HAS_RECORD, .seqno = 1,
		.task_count = 1, .ring_tail = 1, .entry = *entry,
		.packet = {
			.fence = 1, .cycle_limit = 1 << 20, .program_va = PROGRAM_VA,
			.program_len = program_size,
		},
		.record = {
			.fence = 1, .seq = 1, .status_class = CNNACC_STATUS_MMU_FAULT,
			.status_code = programs->dma_code, .pc = programs->dma_pc,
			.detail = CNNACC_FAULT_DIR, .access = CNNACC_ACCESS_READ,
			.fault_va = NOWHERE, .cycles = 20,
		},
	};
	const struct cnnacc_dump_range ranges[] = {
		{ 0x1000, 0x10000, CNNACC_PTE_VALID | CNNACC_PTE_READ | CNNACC_PTE_WRITE, 0 },
		{ PROGRAM_VA, 4096, CNNACC_PTE_VALID | CNNACC_PTE_EXEC, 0 },
	};
	const struct cnnacc_dump_reg regs[] = { { 0, CNNACC_MAGIC }, { 0x2038, 0x20014 } };
	const struct cnnacc_dump_walk walk = { NOWHERE, 0x10000, 0, 0 };
	struct cnnacc_dump_header header = {
		.magic = CNNACC_DUMP_MAGIC, .version = CNNACC_DUMP_VERSION,
	};

	add(f, &header, sizeof(header));
	add_section(f, CNNACC_DUMP_JOB, 0, &job, sizeof(job));
	add_section(f, CNNACC_DUMP_REGS, 0, regs, sizeof(regs));
	add_section(f, CNNACC_DUMP_WALK, 0, &walk, sizeof(walk));
	add_section(f, CNNACC_DUMP_PACKETS, 0, &job.packet, sizeof(job.packet));
	add_section(f, CNNACC_DUMP_RECORDS, 0, &job.record, sizeof(job.record));
	add_section(f, CNNACC_DUMP_MAP, 0, ranges, sizeof(ranges));
	add_section(f, CNNACC_DUMP_PROGRAM, PROGRAM_VA, program, program_size);
	header.size = f->size;
	memcpy(f->bytes, &header, sizeof(header));
}

struct counts {
	long same, others, refused, messages, mute;
};

static void print(const struct file *f)
{
	char name[] = "core", path[32], json[] = "--json", *argv[] = { name, path, json, NULL };
	char *text_argv[] = { name, path, NULL };
	int fd = memfd_create("dump", 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, f->bytes, f->size) != (ssize_t)f->size ||
	    cmd_core(2, text_argv) || cmd_core(3, argv))
		abort();
	close(fd);
}

static void try_case(const struct file *f, struct counts *c)
{
	static struct dump d;
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_error err = { 0 };

	alarm(CASE_SECONDS);
	if (dump_parse(&d, f->bytes, f->size, &err)) {
		c->refused++;
	} else {
		print(f);
		if (!dump_replay(&d, REPLAY_TIMEOUT_NS, &status, &err)) {
			if (cnnrt_status_describe(d.job.entry.name, &status, &err))
				abort();
			c->same += dump_same(&d, &status);
			c->others += !dump_same(&d, &status);
			return;
		}
		c->messages++;
	}
	c->mute += !(err.code < 0 && *err.text);
}

/* Mostly numbers near valid ones. */
static void change(struct file *f)
{
	static const uint64_t odd[] = { 0, 1, 8, 4096, 1 << 30, UINT32_MAX, INT64_MAX, UINT64_MAX };
	size_t width = number(2) ? 4 : 8, at = number((uint32_t)(f->size - width + 1)) & ~3u;
	uint64_t v = 0;

	memcpy(&v, f->bytes + at, width);
	if (number(2))
		v += number(5) - (uint64_t)2;
	else
		v = odd[number(sizeof(odd) / sizeof(odd[0]))];
	memcpy(f->bytes + at, &v, width);
}

static void damage(const struct file *good, struct counts *c)
{
	static struct file f;

	for (size_t i = 0; i < good->size; i++) {
		snprintf(fuzz_where, sizeof(fuzz_where), "byte %zu\n", i);
		f = *good;
		f.bytes[i] ^= (uint8_t)(1 + number(255));
		try_case(&f, c);
	}
	for (int n = 0; n < RANDOM_CASES; n++) {
		uint32_t changes = 1 + number(3);
		uint64_t size;

		snprintf(fuzz_where, sizeof(fuzz_where), "random %d\n", n);
		f = *good;
		if (!number(8))
			f.size = 32 + number((uint32_t)good->size - 32);
		while (changes--)
			change(&f);
		size = f.size;
		if (number(8))
			memcpy(f.bytes + 8, &size, sizeof(size));
		try_case(&f, c);
	}
}

/* The program is mapped but not in the dump, as when the kernel had no memory for it. */
static bool misses_program(const struct file *good)
{
	const uint32_t program = CNNACC_DUMP_PROGRAM, unknown = 99;
	static struct file f;
	static struct dump d;
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_error err = { 0 };
	size_t at = sizeof(struct cnnacc_dump_header), last = at;
	struct cnnacc_dump_section s;

	f = *good;
	for (; at < f.size; at += sizeof(s) + ((s.size + 7) & ~7ull)) {
		memcpy(&s, f.bytes + at, sizeof(s));
		last = at;
	}
	if (memcmp(f.bytes + last, &program, sizeof(program)))
		return false;
	memcpy(f.bytes + last, &unknown, sizeof(unknown));
	return !dump_parse(&d, f.bytes, f.size, &err) &&
	       dump_replay(&d, REPLAY_TIMEOUT_NS, &status, &err) == CNNRT_EINVAL &&
	       strstr(err.text, "the dump lacks the program from VA 0xf0000000 on");
}

int main(void)
{
	static struct file good;
	struct counts first = { 0 }, c = { 0 };
	FILE *tap = fdopen(dup(1), "w");
	struct cnnacc_core_entry entry;
	bool ok, refused;

	if (!tap || !freopen("/dev/null", "w", stdout))
		return 1;
	fuzz_name_hangs();
	if (!find_core(&entry))
		return 1;
	make(&good, &entry);
	/* On a busy host the time may run out. */
	for (int tries = 0; tries < 20 && !first.same; tries++)
		try_case(&good, &first);
	if (first.same)
		damage(&good, &c);
	ok = c.same && c.others && c.refused && c.messages && !c.mute;
	refused = misses_program(&good);
	fprintf(tap, "1..2\n%sok 1 - %ld the same, %ld not, %ld not run again, %ld refused, "
		"%ld without a message\n", ok ? "" : "not ", c.same, c.others, c.messages,
		c.refused, c.mute);
	fprintf(tap, "%sok 2 - a program that the dump lacks is not run\n", refused ? "" : "not ");
	fclose(tap);
	return !(ok && refused);
}
