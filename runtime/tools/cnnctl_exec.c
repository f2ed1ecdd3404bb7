/* SPDX-License-Identifier: MIT */
/* cnnctl exec: one raw program. */
#include "cnnctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_hw.h>

#define DEFAULT_PROGRAM_VA	0xf0000000u
#define DEFAULT_TIMEOUT_MS	60000u
#define MAX_RANGES		1024

struct dump {
	uint64_t va, size;
	const char *path;
	uint8_t *out;
};

struct request {
	const char *core, *device, *program;
	uint64_t program_va, program_size, cycles, timeout_ms;
	struct cnnrt_range ranges[MAX_RANGES];
	struct dump dumps[MAX_RANGES];
	unsigned int count, dump_count;
};

/* "VA=FILE" or "VA:LEN=FILE"; cuts text into pieces. */
static bool split(char *text, char mark, char **rest)
{
	*rest = strchr(text, mark);
	if (!*rest)
		return false;
	*(*rest)++ = '\0';
	return true;
}

static int check_range(unsigned int count, uint64_t va, uint64_t size)
{
	if (count == MAX_RANGES)
		return complain(EXIT_USAGE, "exec: more than %d ranges", MAX_RANGES);
	if (!size || va >> 32 || size > (1ull << 32) - va)
		return complain(EXIT_USAGE, "exec: range 0x%llx:0x%llx is empty or goes beyond "
				"4 GiB", (unsigned long long)va, (unsigned long long)size);
	return EXIT_DONE;
}

static int add_range(struct request *r, uint64_t va, uint64_t size, unsigned int flags, void *in)
{
	int ret = check_range(r->count, va, size);

	if (ret)
		return ret;
	r->ranges[r->count++] = (struct cnnrt_range){
		.va = va, .size = size, .flags = flags, .in = in,
	};
	return EXIT_DONE;
}

static int add_file(struct request *r, uint64_t va, const char *path, unsigned int flags)
{
	size_t size;
	void *data;
	int ret;

	if (!read_file(path, &data, &size))
		return complain(EXIT_USAGE, "exec: %s: %s", path, strerror(errno));
	ret = add_range(r, va, size, flags, data);
	if (ret)
		free(data);
	return ret;
}

static int option_load(struct request *r, char *value, unsigned int flags)
{
	char *path;
	uint64_t va;

	if (!split(value, '=', &path) || !parse_u64(value, &va))
		return complain(EXIT_USAGE, "exec: \"%s\": VA=FILE wanted", value);
	return add_file(r, va, path, flags);
}

static int option_program(struct request *r, char *value)
{
	char *path = value, *rest;
	int ret;

	if (r->program)
		return complain(EXIT_USAGE, "exec: more than one --program");
	r->program_va = DEFAULT_PROGRAM_VA;
	rest = strchr(value, '=');
	if (rest) {
		*rest = '\0';
		if (parse_u64(value, &r->program_va))
			path = rest + 1;
		else
			*rest = '=';
	}
	ret = add_file(r, r->program_va, path, CNNRT_MAP_EXEC);
	if (!ret) {
		r->program = path;
		r->program_size = r->ranges[r->count - 1].size;
	}
	return ret;
}

static int add_dump(struct request *r, uint64_t va, uint64_t size, const char *path)
{
	int ret = check_range(r->dump_count, va, size);
	uint8_t *out;

	if (ret)
		return ret;
	out = malloc(size);
	if (!out)
		return complain(EXIT_FAILED, "exec: no memory for a dump of %llu bytes",
				(unsigned long long)size);
	r->dumps[r->dump_count++] = (struct dump){
		.va = va, .size = size, .path = path, .out = out,
	};
	return EXIT_DONE;
}

static int option_range(struct request *r, char *value, bool dump)
{
	char *len, *path = NULL;
	uint64_t va, size;

	if ((dump && !split(value, '=', &path)) || !split(value, ':', &len) ||
	    !parse_u64(value, &va) || !parse_u64(len, &size))
		return complain(EXIT_USAGE, "exec: \"%s\": VA:LEN%s wanted", value,
				dump ? "=FILE" : "");
	return dump ? add_dump(r, va, size, path) :
		      add_range(r, va, size, CNNRT_MAP_READ | CNNRT_MAP_WRITE, NULL);
}

static int option(struct request *r, const char *name, char *value)
{
	if (!strcmp(name, "--core"))
		r->core = value;
	else if (!strcmp(name, "--device"))
		r->device = value;
	else if (!strcmp(name, "--program"))
		return option_program(r, value);
	else if (!strcmp(name, "--load"))
		return option_load(r, value, CNNRT_MAP_READ | CNNRT_MAP_WRITE);
	else if (!strcmp(name, "--load-ro"))
		return option_load(r, value, CNNRT_MAP_READ);
	else if (!strcmp(name, "--zero"))
		return option_range(r, value, false);
	else if (!strcmp(name, "--dump"))
		return option_range(r, value, true);
	else if (!strcmp(name, "--cycles")) {
		if (!parse_u64(value, &r->cycles) || !r->cycles)
			return complain(EXIT_USAGE, "exec: --cycles %s: 1 or more wanted", value);
	} else if (!strcmp(name, "--timeout")) {
		if (!parse_u64(value, &r->timeout_ms) || !r->timeout_ms ||
		    r->timeout_ms > 86400000)
			return complain(EXIT_USAGE, "exec: --timeout %s: 1..86400000 ms wanted",
					value);
	} else {
		return complain(EXIT_USAGE, "exec: unknown option %s", name);
	}
	return EXIT_DONE;
}

/* What is mapped at a page, 0 for nothing, and where that ends or another range starts. */
static unsigned int flags_at(const struct request *r, unsigned int count, uint64_t page,
			     uint64_t *end)
{
	unsigned int flags = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct cnnrt_range *o = &r->ranges[i];
		uint64_t first = o->va / CNNACC_PAGE_SIZE;
		uint64_t after = (o->va + o->size - 1) / CNNACC_PAGE_SIZE + 1;

		if (page >= first && page < after)
			flags = o->flags;
		if (first > page && first < *end)
			*end = first;
		if (after > page && after < *end)
			*end = after;
	}
	return flags;
}

/* A dump takes pages as they are mapped, whatever their permissions; else they are data. */
static int settle_dump(struct request *r, unsigned int mapped, const struct dump *d)
{
	uint64_t stop = d->va + d->size, after = (stop - 1) / CNNACC_PAGE_SIZE + 1, end;

	for (uint64_t va = d->va; va < stop; va = end * CNNACC_PAGE_SIZE) {
		unsigned int flags;
		uint64_t size;
		int ret;

		end = after;
		flags = flags_at(r, mapped, va / CNNACC_PAGE_SIZE, &end);
		size = end * CNNACC_PAGE_SIZE < stop ? end * CNNACC_PAGE_SIZE - va : stop - va;
		ret = add_range(r, va, size, flags ? flags : CNNRT_MAP_READ | CNNRT_MAP_WRITE,
				NULL);
		if (ret)
			return ret;
		r->ranges[r->count - 1].out = d->out + (va - d->va);
	}
	return EXIT_DONE;
}

static int settle_dumps(struct request *r)
{
	unsigned int mapped = r->count;
	int ret = EXIT_DONE;

	for (unsigned int i = 0; i < r->dump_count && !ret; i++)
		ret = settle_dump(r, mapped, &r->dumps[i]);
	return ret;
}

static void print_result(const char *core, const struct cnnrt_job_status *s,
			 const struct cnnacc_stats *stats)
{
	static const char *const names[] = CNNACC_STATS_NAMES;
	struct json j = { .out = stdout };
	uint64_t values[ARRAY_SIZE(names)];

	memcpy(values, stats, sizeof(values));
	json_open(&j, NULL, '{');
	json_string(&j, "core", core);
	json_open(&j, "status", '{');
	json_string(&j, "class", s->class_name);
	json_u64(&j, "class_value", s->status_class);
	json_string(&j, "code", s->code_name);
	json_u64(&j, "code_value", s->status_code);
	json_u64(&j, "detail", s->detail);
	json_u64(&j, "pc", s->pc);
	json_u64(&j, "access", s->access);
	json_hex(&j, "fault_va", s->va);
	json_string(&j, "text", s->text);
	json_close(&j, '}');
	json_open(&j, "stats", '{');
	for (size_t i = 0; i < ARRAY_SIZE(names) - 1; i++)
		json_u64(&j, names[i], values[i]);
	json_close(&j, '}');
	json_close(&j, '}');
}

static int write_dumps(const struct request *r)
{
	for (unsigned int i = 0; i < r->dump_count; i++) {
		const struct dump *d = &r->dumps[i];

		if (!write_file(d->path, d->out, d->size))
			return complain(EXIT_FAILED, "exec: %s: %s", d->path, strerror(errno));
	}
	return EXIT_DONE;
}

static int run(struct request *r, struct cnnrt_device *dev)
{
	struct cnnrt_exec exec = {
		.program_va = r->program_va, .program_size = r->program_size,
		.cycle_limit = r->cycles, .timeout_ns = (int64_t)r->timeout_ms * 1000000,
		.ranges = r->ranges, .range_count = r->count,
	};
	int core = find_core(dev, r->core);
	struct cnnrt_job_status status;
	struct cnnrt_core_info info;
	struct cnnacc_stats stats;
	struct cnnrt_error err;
	int ret;

	if (core < 0)
		return EXIT_USAGE;
	exec.core = (unsigned int)core;
	if (cnnrt_device_core(dev, exec.core, &info, &err) ||
	    cnnrt_exec(dev, &exec, &status, &stats, &err))
		return complain(err.code == CNNRT_EINVAL ? EXIT_USAGE : EXIT_FAILED, "%s",
				err.text);
	print_result(info.name, &status, &stats);
	ret = write_dumps(r);
	return ret ? ret : status.state == CNNRT_JOB_DONE ? EXIT_DONE : EXIT_FAILED;
}

static void free_request(struct request *r)
{
	for (unsigned int i = 0; i < r->count; i++)
		free((void *)r->ranges[i].in);
	for (unsigned int i = 0; i < r->dump_count; i++)
		free(r->dumps[i].out);
	free(r);
}

int cmd_exec(int argc, char **argv)
{
	struct request *r = calloc(1, sizeof(*r));
	struct cnnrt_device *dev;
	int ret = r ? EXIT_DONE : complain(EXIT_FAILED, "exec: out of memory");

	for (int i = 0; i < argc && !ret; i += 2) {
		if (i + 1 == argc)
			ret = complain(EXIT_USAGE, "exec: %s needs a value", argv[i]);
		else
			ret = option(r, argv[i], argv[i + 1]);
	}
	if (!ret && (!r->core || !r->program))
		ret = complain(EXIT_USAGE, "exec: --core and --program are needed");
	if (!ret)
		ret = settle_dumps(r);
	if (!ret)
		ret = open_device(r->device, 0, &dev);
	if (!ret) {
		if (!r->timeout_ms)
			r->timeout_ms = DEFAULT_TIMEOUT_MS;
		ret = run(r, dev);
		cnnrt_device_close(dev);
	}
	if (r)
		free_request(r);
	return ret;
}
