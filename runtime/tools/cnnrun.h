/* SPDX-License-Identifier: MIT */
#ifndef CNNRUN_H
#define CNNRUN_H

#include "report.h"
#include "tensor.h"

#define MAX_FILES	64

/* "NAME=FILE" */
struct named_file {
	const char *name, *file;
};

struct named_files {
	unsigned int count;
	struct named_file at[MAX_FILES];
};

struct run_options {
	char *command;			/* the whole line, for the report */
	const char *model, *device, *core, *profile, *labels;
	const char *out, *caps;		/* --compile */
	const char *target;		/* file with costs */
	enum cnnrt_prefer prefer;
	enum cnnrt_precision precision;
	const char *report[REPORT_KINDS];	/* files */
	const char *samples, *classes, *energy;	/* files of --report --core all */
	struct named_files input, output, shape;
	const char **dirs;		/* --node-test */
	unsigned int dir_count;
	uint64_t repeat;
	double atol, rtol;		/* --compare */
	bool node_test, explain, load_module, compile, compare, print_report, batch;
	struct picture_options picture;
};

/* An open device, and the options of every compilation. */
struct session {
	const struct run_options *opt;
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	struct cnnrt_compile_options compile;
};

/* EXIT_DONE, or EXIT_USAGE after a message; o holds the defaults and dirs for argc entries. */
int parse_options(int argc, char **argv, struct run_options *o);

/* Is there a report, printed or in a file? */
bool wants_report(const struct run_options *o);
/* Are all cores compared: --report --core all? */
bool compares_cores(const struct run_options *o);

int run_network(struct session *s);
/* cores_report.c: the comparison, which opens its own device. */
int report_cores(const struct run_options *o);
/* --compile: writes a file for the session's device, which needs no context. */
int compile_network(struct session *s);
int node_test(struct session *s);

/* compare.c: compares every layer of a job with its inputs set, and outputs of two finished jobs. */
int compare_layers(struct cnnrt_job *job, const struct run_options *o);
int compare_outputs(struct cnnrt_job *observed, struct cnnrt_job *plain, unsigned int count,
		    const struct run_options *o);

void print_explain(const struct cnnrt_program *program, const char *core);
void print_macs(const struct cnnrt_program *program, const struct cnnrt_device *dev);
void print_output(const struct cnnrt_tensor_info *info, const void *data, char *const *labels,
		  size_t label_count);

#endif
