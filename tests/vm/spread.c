/* SPDX-License-Identifier: MIT */
/*
 * spread MODEL threads|processes COUNT [CORE]
 *
 * Runs a network so many times at once, in threads of one process or in processes, and prints what
 * each core had to do for it: "core INDEX jobs N cycles N", and "end N", the cycles of the busiest.
 */
#include "../lib/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct net {
	struct cnnrt_device *dev;
	struct cnnrt_model *model;
	struct cnnrt_program *program;
};

static void open_net(const char *path, const char *core, struct net *n)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .core = core };
	struct cnnrt_error err;

	if (cnnrt_device_open(NULL, 0, &n->dev, &err) ||
	    cnnrt_model_load(path, &n->model, &err) ||
	    cnnrt_compile(n->model, n->dev, &opt, &n->program, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static void close_net(struct net *n)
{
	cnnrt_program_free(n->program);
	cnnrt_model_free(n->model);
	cnnrt_device_close(n->dev);
}

/* One of the processes: says that it is ready, waits for the start, and runs. */
static int run_process(const char *path, const char *core, int ready, int start, struct spread *sum)
{
	struct net n;
	char c = 0;
	int ret;

	open_net(path, core, &n);
	if (write(ready, &c, 1) != 1 || read(start, &c, 1) != 1)
		return 1;
	ret = spread_run(n.dev, n.program, 1, sum);
	close_net(&n);
	return ret ? 1 : 0;
}

static int run_processes(const char *path, const char *core, int count, struct spread *sum)
{
	size_t size = (size_t)count * sizeof(struct spread);
	struct spread *each = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				   -1, 0);
	int ready[2], start[2], status, ret = 0;
	char c = 0;

	if (each == MAP_FAILED || pipe(ready) || pipe(start))
		return 1;
	for (int i = 0; i < count; i++)
		if (!fork())
			_exit(run_process(path, core, ready[1], start[0], &each[i]));
	close(ready[1]);
	for (int i = 0; i < count; i++)
		ret |= read(ready[0], &c, 1) != 1;
	for (int i = 0; i < count; i++)
		ret |= write(start[1], &c, 1) != 1;
	while (wait(&status) > 0)
		ret |= status;
	for (int i = 0; i < count * SPREAD_CORES; i++) {
		sum->jobs[i % SPREAD_CORES] += each[i / SPREAD_CORES].jobs[i % SPREAD_CORES];
		sum->cycles[i % SPREAD_CORES] += each[i / SPREAD_CORES].cycles[i % SPREAD_CORES];
	}
	munmap(each, size);
	return ret ? 1 : 0;
}

static int run_threads(const char *path, const char *core, int count, struct spread *sum)
{
	struct net n;
	int ret;

	open_net(path, core, &n);
	ret = spread_run(n.dev, n.program, count, sum);
	close_net(&n);
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *core = argc > 4 ? argv[4] : NULL;
	struct spread sum = { 0 };
	int ret;

	if (argc < 4) {
		fprintf(stderr, "usage: spread MODEL threads|processes COUNT [CORE]\n");
		return 2;
	}
	ret = strcmp(argv[2], "threads") ? run_processes(argv[1], core, atoi(argv[3]), &sum) :
					   run_threads(argv[1], core, atoi(argv[3]), &sum);
	for (int i = 0; i < SPREAD_CORES; i++)
		if (sum.jobs[i])
			printf("core %d jobs %llu cycles %llu\n", i,
			       (unsigned long long)sum.jobs[i], (unsigned long long)sum.cycles[i]);
	printf("end %llu\n", (unsigned long long)spread_end(&sum));
	return ret;
}
