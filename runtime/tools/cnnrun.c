/* SPDX-License-Identifier: MIT */
/* cnnrun: run a network on an accelerator. */
#include "cnnrun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_session_device(const struct run_options *o, struct cnnrt_device **dev)
{
	char *name = NULL;
	int ret;

	if (!o->caps)
		return open_device(o->device, o->load_module ? CNNRT_OPEN_LOAD_MODULE : 0, dev);
	if (asprintf(&name, "caps:%s", o->caps) < 0)
		return complain(EXIT_FAILED, "out of memory");
	ret = open_device(name, 0, dev);
	free(name);
	return ret;
}

static int run_session(const struct run_options *o)
{
	struct session s = { .opt = o, .compile = { .struct_size = sizeof(s.compile) } };
	struct cnnrt_error err;
	uint32_t cores;
	int ret = open_session_device(o, &s.dev);

	if (ret)
		return ret;
	s.compile.observe = o->compare;
	s.compile.prefer = o->prefer;
	s.compile.precision = o->precision;
	s.compile.target = o->target;
	s.compile.cpu_only = o->core && !strcmp(o->core, "cpu");
	if (o->core && !s.compile.cpu_only) {
		s.compile.core = o->core;
		ret = find_cores(s.dev, o->core, &cores);
	}
	if (!ret && !o->compile)
		ret = checked(cnnrt_context_create(s.dev, CNNRT_PRIORITY_NORMAL, &s.ctx, &err),
			      &err);
	if (!ret)
		ret = o->compile ? compile_network(&s) : o->node_test ? node_test(&s) :
			run_network(&s);
	cnnrt_context_destroy(s.ctx);
	cnnrt_device_close(s.dev);
	return ret;
}

/* The command line as one text, before getopt changes the order; NULL: out of memory. */
static char *join(int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; i < argc; i++)
		fprintf(f, strpbrk(argv[i], " '\"") ? "%s\"%s\"" : "%s%s", i ? " " : "", argv[i]);
	return fclose(f) ? NULL : text;
}

int main(int argc, char **argv)
{
	struct run_options o = {
		.repeat = 1, .atol = 1e-5, .rtol = 1e-4,
		.picture = { .scale = 1.0f / 255, .std = { 1, 1, 1 } },
	};
	int ret;

	o.command = join(argc, argv);
	o.dirs = calloc((size_t)argc + 1, sizeof(*o.dirs));
	if (!o.command || !o.dirs)
		return complain(EXIT_FAILED, "out of memory");
	ret = parse_options(argc, argv, &o) ?:
	      (compares_cores(&o) ? report_cores(&o) : run_session(&o));
	free(o.dirs);
	free(o.command);
	return end_output(ret);
}
