/* SPDX-License-Identifier: MIT */
/* cnnctl exec and events: one raw program. */
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
	bool events;	/* print them, and no statistics */
};

/* Cuts text at mark and returns what follows; NULL if there is none. */
static char *cut(char *text, char mark)
{
	char *at = strchr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
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

	if (!ret)
		r->ranges[r->count++] = (struct cnnrt_range){
			.va = va, .size = size, .flags = flags, .in = in,
		};
	return ret;
}

static int add_file(struct request *r, uint64_t va, const char *path, unsigned int flags)
{
	size_t size;
	void *data;
	int ret;

	if (!read_file(path, &data, &size))
		return complain(EXIT_USAGE, "exec: %s: %s", path,
				errno == EINVAL ? "not a regular file" : strerror(errno));
	ret = size ? add_range(r, va, size, flags, data) :
		     complain(EXIT_USAGE, "exec: %s: the file is empty", path);
	if (ret)
		free(data);
	return ret;
}

static int load_file(struct request *r, char *value, unsigned int flags)
{
	char *path = cut(value, '=');
	uint64_t va;

	return path && parse_u64(value, &va) ? add_file(r, va, path, flags) : OPT_BAD_VALUE;
}

static int set_load(void *request, char *value)
{
	return load_file(request, value, CNNRT_MAP_READ | CNNRT_MAP_WRITE);
}

static int set_load_ro(void *request, char *value)
{
	return load_file(request, value, CNNRT_MAP_READ);
}

static int set_program(void *request, char *value)
{
	struct request *r = request;
	char *path = value, *mark = strchr(value, '=');
	int ret;

	r->program_va = DEFAULT_PROGRAM_VA;
	if (mark) {
		*mark = '\0';
		if (parse_u64(value, &r->program_va))
			path = mark + 1;
		else
			*mark = '=';
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

/* "VA:LEN" */
static bool parse_range(char *value, uint64_t *va, uint64_t *size)
{
	char *len = cut(value, ':');

	return len && parse_u64(value, va) && parse_u64(len, size);
}

static int set_zero(void *request, char *value)
{
	uint64_t va, size;

	return parse_range(value, &va, &size) ?
	       add_range(request, va, size, CNNRT_MAP_READ | CNNRT_MAP_WRITE, NULL) : OPT_BAD_VALUE;
}

static int set_dump(void *request, char *value)
{
	char *path = cut(value, '=');
	uint64_t va, size;

	return path && parse_range(value, &va, &size) ? add_dump(request, va, size, path) :
							OPT_BAD_VALUE;
}

#define FIELD(member)	.field = offsetof(struct request, member)

static const struct opt_spec options[] = {
	{ .name = "core", .arg = OPT_CORE_ARG, .kind = OPT_TEXT, FIELD(core),
	  .text = "core that runs the program: the first called NAME, or the one that cnnctl info "
		  "prints as NAME.INDEX" },
	{ .name = "program", .arg = "[VA=]FILE", .set = set_program,
	  .text = "the program, mapped read-only and executable at VA; default 0xF0000000" },
	{ .name = "load", .arg = "VA=FILE", .set = set_load, .flags = OPT_MANY,
	  .text = "map FILE at VA, in pages that are zero elsewhere" },
	{ .name = "load-ro", .arg = "VA=FILE", .set = set_load_ro, .flags = OPT_MANY,
	  .text = "the same, read-only to the program" },
	{ .name = "zero", .arg = "VA:LEN", .set = set_zero, .flags = OPT_MANY,
	  .text = "map LEN zero bytes at VA" },
	{ .name = "dump", .arg = "VA:LEN=FILE", .set = set_dump, .flags = OPT_MANY,
	  .text = "write LEN bytes from VA to FILE after the run; pages that nothing maps are zero "
		  "before it" },
	{ .name = "cycles", .arg = "N", .kind = OPT_NUMBER, FIELD(cycles), .min = 1,
	  .max = UINT64_MAX, .text = "cycle limit; default: the largest of the core" },
	{ .name = "timeout", .arg = "MS", .kind = OPT_NUMBER, FIELD(timeout_ms), .min = 1,
	  .max = 86400000, .text = "milliseconds to wait for the end; default 60000" },
	OPTION_DEVICE(struct request, device),
};

#define COMMAND(command, text) { \
	.name = command, \
	.usage = { \
		"--core NAME[.INDEX] --program [VA=]FILE\n[--load VA=FILE]... [--load-ro VA=FILE]... " \
		"[--zero VA:LEN]...\n[--dump VA:LEN=FILE]... [--cycles N] [--timeout MS] [--device D]", \
	}, \
	.intro = text, \
	.notes = "VA, LEN and N are in C notation.\n\n" OPT_EXIT_STATUS, \
	.options = options, .count = ARRAY_SIZE(options), \
}

static const struct opt_command exec_command = COMMAND("exec",
	"Runs one raw program on a core and prints how it ended and its statistics as JSON.");
static const struct opt_command events_command = COMMAND("events",
	"Runs one raw program on a core and prints the events that it raises as they come.");

/* Returns the flags mapped at a page, 0 for none; lowers *end to where they may change. */
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

/* A dump does not change the permissions of mapped pages; unmapped pages become readable data. */
static int add_dump_range(struct request *r, unsigned int mapped, const struct dump *d)
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

static int add_dump_ranges(struct request *r)
{
	unsigned int mapped = r->count;
	int ret = EXIT_DONE;

	for (unsigned int i = 0; i < r->dump_count && !ret; i++)
		ret = add_dump_range(r, mapped, &r->dumps[i]);
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
	json_status(&j, "status", s);
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

static int print_ended(uint64_t events, const char *core, const struct cnnrt_job_status *s)
{
	printf("%s: %llu events; %s\n", core, (unsigned long long)events,
	       s->state == CNNRT_JOB_DONE ? "OK" : s->text);
	return EXIT_DONE;
}

/* Prints what the command is to print. */
static int run_and_print(const struct request *r, struct cnnrt_device *dev,
			 const struct cnnrt_exec *exec, struct cnnrt_job_status *status)
{
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };
	struct event_watch *watch = NULL;
	struct cnnacc_stats stats;
	struct cnnrt_error err;
	uint64_t events = 0;
	int ret;

	if (cnnrt_device_core(dev, exec->core, &info, &err))
		return complain_error(&err);
	ret = r->events ? start_events(dev, exec->core, info.name, &watch) : EXIT_DONE;
	if (ret)
		return ret;
	ret = cnnrt_exec(dev, exec, status, &stats, &err);
	if (watch)
		events = end_events(watch);
	if (ret)
		return err.code == CNNRT_EINVAL ? complain(EXIT_USAGE, "%s", err.text) :
						  complain_error(&err);
	if (r->events)
		return print_ended(events, info.name, status);
	print_result(info.name, status, &stats);
	return EXIT_DONE;
}

static int run(struct request *r, struct cnnrt_device *dev)
{
	struct cnnrt_exec exec = {
		.struct_size = sizeof(exec),
		.program_va = r->program_va, .program_size = r->program_size,
		.cycle_limit = r->cycles, .timeout_ns = (int64_t)r->timeout_ms * 1000000,
		.ranges = r->ranges, .range_count = r->count, .range_size = sizeof(*r->ranges),
	};
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	uint32_t cores;
	int ret = find_cores(dev, r->core, &cores);

	if (ret)
		return ret;
	exec.core = (unsigned int)__builtin_ctz(cores);
	ret = run_and_print(r, dev, &exec, &status);
	return ret ?: write_dumps(r) ?: status.state == CNNRT_JOB_DONE ? EXIT_DONE : EXIT_FAILED;
}

static void free_request(struct request *r)
{
	for (unsigned int i = 0; i < r->count; i++)
		free((void *)r->ranges[i].in);
	for (unsigned int i = 0; i < r->dump_count; i++)
		free(r->dumps[i].out);
	free(r);
}

static int run_request(struct request *r, int argc, char **argv)
{
	struct cnnrt_device *dev;
	const struct opt_command *command = r->events ? &events_command : &exec_command;
	int ret = opt_parse(command, argc, argv, r, NULL);

	if (!ret && (!r->core || !r->program))
		ret = opt_missing(command, r->core ? "--program" : "--core");
	ret = ret ?: add_dump_ranges(r) ?: open_device(r->device, 0, &dev);
	if (ret)
		return ret;
	ret = run(r, dev);
	cnnrt_device_close(dev);
	return ret;
}

static int run_command(int argc, char **argv, bool events)
{
	struct request *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return complain(EXIT_FAILED, "%s: out of memory", argv[0]);
	r->timeout_ms = DEFAULT_TIMEOUT_MS;
	r->events = events;
	ret = run_request(r, argc, argv);
	free_request(r);
	return ret;
}

int cmd_exec(int argc, char **argv)
{
	return run_command(argc, argv, false);
}

int cmd_events(int argc, char **argv)
{
	return run_command(argc, argv, true);
}
