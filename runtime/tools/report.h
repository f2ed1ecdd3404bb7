/* SPDX-License-Identifier: MIT */
/*
 * What a network took, layer by layer: the modelled cycles and bytes of the program, and the
 * measured times of the job's last run. --report and --profile are views of this.
 */
#ifndef REPORT_H
#define REPORT_H

#include "util.h"

#define BYTES_PER_CYCLE	64	/* of the DMA engine, its setup left out: a line */

struct report_layer {
	unsigned int index;
	char *op, *name, *place;	/* clean, malloc'ed */
	char *next_place;		/* the next best; "": none */
	char *reason;			/* why it runs there */
	uint64_t cost_ns, next_ns;	/* modelled on the target, here and there */
	int core;			/* -1: CPU */
	uint64_t macs;			/* of the operator in the network */
	struct cnnrt_cost cost;
	uint64_t host_ns;		/* measured, of an operator on the CPU */
};

/* A task's modelled start, in cycles: tasks of a core follow each other without a gap. */
struct report_task {
	int core;
	uint64_t start, cycles;
};

struct report {
	const char *model;
	const char *command;		/* that made it; set before the views */
	struct cnnrt_device_info dev;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	struct cnnrt_estimate est;
	struct report_layer *layers;	/* as cnnrt_program_explain reports them */
	unsigned int layer_count;
	size_t layer_cap;
	unsigned int *by_op;		/* operator index -> layer */
	struct cnnrt_span *spans;
	size_t span_count, span_cap;
	struct cnnrt_step *steps;	/* name and place are those of the layer */
	size_t step_count, step_cap;
	struct report_task *tasks;	/* est.tasks */
	struct cnnrt_cost total;	/* of all operators on cores */
	uint64_t total_macs;		/* of those, in the network */
	uint64_t run_ns, cpu_ns;	/* the last run; of it in CPU operators */
	uint64_t copy_ns;		/* of it in copies between the host's tensors and the cores' */
	uint64_t scrub_cycles;		/* clearing what another process had left in the cores */
	unsigned int cpu_ops;
	bool failed;			/* out of memory */
};

/* Collects; EXIT_DONE, or EXIT_FAILED after a message. report_close is for both. */
int report_open(struct report *r, const char *model, const struct cnnrt_program *program,
		struct cnnrt_device *dev, struct cnnrt_job *job);
void report_close(struct report *r);

/* Writes every figure of a cost. */
void report_json_cost(struct json *j, const struct cnnrt_cost *c);
void report_add_cost(struct cnnrt_cost *to, const struct cnnrt_cost *c);
/* Bytes that a cost moves, and the least it could. */
uint64_t report_moved(const struct cnnrt_cost *c);
uint64_t report_minimum(const struct cnnrt_cost *c);
/* MACs of the network by mac_peak, 0..1. */
double report_utilisation(uint64_t macs, uint64_t peak);
/* "compute", "weight load", "data load", "control": what is busy the longest. */
const char *report_bound(const struct cnnrt_cost *c);
/* Does it take anything? Operators that only rename a value do not. */
bool report_works(const struct report_layer *l);
/* Milliseconds of the device's clock. */
double report_ms(const struct report *r, uint64_t cycles);

/* The views; EXIT_DONE, or EXIT_FAILED after a message. */
void report_print(const struct report *r);
int report_write(const struct report *r, const char *path);	/* as its ending says */
void report_json(const struct report *r, FILE *out);
void report_html(const struct report *r, FILE *out);
void report_svg(const struct report *r, FILE *out);
int profile_write(const struct report *r, const char *path);

/* What a file becomes, by the ending of its name; -1: it has none of them. */
enum report_kind { REPORT_HTML, REPORT_JSON, REPORT_SVG, REPORT_KINDS };
int report_kind_of(const char *path);

extern const char markup_style[];	/* CSS of pages and their pictures */
extern const char markup_page_style[];	/* CSS of pages alone */

/* Escapes text for XML and HTML, also inside quotes. */
void markup_text(FILE *out, const char *text);
/* A paragraph with the command line that made the page. */
void markup_command(FILE *out, const char *command);
/* The CSS class of the colour for what bounds a layer. */
const char *markup_bound_class(const struct cnnrt_cost *c);
/* Bytes moved as a multiple of the least that could be moved, "-" if that is 0. */
void markup_ratio(FILE *out, const struct cnnrt_cost *c);
/* A <title> of several lines: what a pointer over the layer shows. */
void markup_tooltip(FILE *out, const struct report_layer *l);
/* Both pictures are <svg> elements of this width. */
#define PICTURE_WIDTH	1100
#define ROOFLINE_HEIGHT	450

void draw_roofline(FILE *out, const struct report *r);
void draw_timeline(FILE *out, const struct report *r);
int timeline_height(const struct report *r);

#endif
