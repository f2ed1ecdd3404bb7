/* SPDX-License-Identifier: MIT */
/*
 * --report --core all: one float network on each core of a device in each variant that the core's
 * description states (backend/desc.h), and in the best of them on all cores at once.
 */
#ifndef CORES_REPORT_H
#define CORES_REPORT_H

#include "answers.h"
#include "backend/desc.h"
#include "energy.h"
#include "report.h"

struct run_options;

#define CORES_NETWORKS	8	/* formats of one network */
#define CORES_ROWS	32
#define CORES_REASONS	48	/* for the CPU, in a row */

/* A variant needs this much more signal than noise to be the best one of its core. */
#define CORES_LEAST_DB	10.0

/* The network in one format of cnnquant. */
struct cores_network {
	const char *format;	/* NULL: as it is in the file */
	void *data;		/* ONNX; NULL: it is in the file */
	size_t size;
};

/* What a row uses of one core. */
struct cores_use {
	const char *mac;	/* key of its multiply-adds in the table of energies */
	uint64_t macs;		/* of the network */
	struct cnnrt_cost cost;
	uint64_t local;		/* bytes that the device counted from and to on-chip memories */
};

/* Operators of one type that the CPU runs for one reason. */
struct cores_reason {
	char *op, *name, *why;	/* name: of the first one */
	unsigned int count;
	uint64_t macs;
};

/* How near the answers are to those of the floats on the CPU. */
struct cores_accuracy {
	int64_t samples;	/* 0: none were given */
	bool scores;		/* the answers are scores of classes: right and same count */
	int64_t right, same;	/* largest score at the label; where the floats have theirs */
	/* Sums of squares: floats' answers less their mean over the samples, and errors. */
	double signal, noise;
};

/* In pJ, of a run. */
struct cores_energy {
	double macs, local, memory, cpu;
};

struct cores_row {
	const char *core;	/* name; NULL: all of them */
	const struct cnn_core_variant *variant;
	char *why;		/* reason that there are no figures; NULL: there are */
	struct cnnrt_estimate est;
	struct cores_use use[CNNRT_MAX_CORES];
	uint64_t macs;		/* of the network on cores */
	struct cnnrt_cost cost;	/* of all cores */
	bool local_known;
	uint64_t local;
	unsigned int cpu_ops;
	uint64_t cpu_ns, ops_ns;	/* modelled: operators on the CPU, all operators */
	uint64_t cpu_bytes;	/* of operators on the CPU */
	struct cores_reason *reasons;
	unsigned int reason_count;
	bool reasons_left_off;
	struct cores_accuracy accuracy;
	struct cores_energy energy;
	bool best;		/* of its core */
};

struct cores_memories {
	struct cnn_core_memory at[CNN_CORE_MEMORIES_MAX];
	size_t count;
};

struct cores_report {
	const struct run_options *o;
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	struct cnnrt_device_info info;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	struct cores_memories memories[CNNRT_MAX_CORES];
	struct energy_table energy;
	struct cnn_tensor calibration, test;	/* samples; without data if none were given */
	struct cnn_tensor labels;		/* of test; without data: none */
	struct cnn_tensor answers;		/* of the floats on the CPU, for test */
	struct cores_network network[CORES_NETWORKS];
	unsigned int networks;
	struct cores_row row[CORES_ROWS];
	unsigned int rows;
};

/* All return an exit status, after a message unless it is EXIT_DONE. */

/* cores_samples.c: reads --samples and --classes, and shares them out. */
int cores_read_samples(struct cores_report *r);

/* cores_network.c: the network in a format; *why, malloc'ed: what it lacks, and *n is NULL. */
int cores_network(struct cores_report *r, const char *format, const struct cores_network **n,
		  char **why);
void cores_free_networks(struct cores_report *r);
/* Answers of the floats on the CPU for the test samples. */
int cores_answer_floats(struct cores_report *r);
/*
 * Compiles for the cores of a name, all if it is NULL, or the CPU alone if it is "cpu". *why: what
 * the compiler said against it, and *p is NULL.
 */
int cores_compile(struct cores_report *r, const struct cores_network *n, bool half,
		  const char *core, struct cnnrt_program **p, char **why);

/* cores_measure.c: runs a program and fills in the figures of a row. */
int cores_measure(struct cores_report *r, const struct cnnrt_program *p, struct cores_row *row);

/* cores_energy.c: of a row that was measured. */
void cores_add_energy(const struct cores_report *r, struct cores_row *row);

/* cores_figures.c: what the views show of a row. */
double cores_clocks_per_mac(const struct cores_row *row);	/* 0: no MACs are on cores */
double cores_cpu_macs(const struct cores_row *row);		/* shares, 0..1 */
double cores_cpu_time(const struct cores_row *row);
double cores_top1(const struct cores_accuracy *a, bool labels);	/* below 0: there is none */
double cores_snr(const struct cores_accuracy *a);		/* dB; INFINITY: exact */
double cores_energy_sum(const struct cores_row *row);		/* pJ; below 0: unknown */
const char *cores_row_name(const struct cores_row *row);
/* Bytes that a row's programs move to and from a memory of a core. */
uint64_t cores_moved(const struct cores_use *use, const struct cnn_core_memory *m);
/* Does any row use core i? */
bool cores_uses(const struct cores_report *r, unsigned int i);

/* The views. */
void cores_print(const struct cores_report *r);
int cores_write(const struct cores_report *r, const char *path);	/* as its ending says */
void cores_json(const struct cores_report *r, FILE *out);
void cores_html(const struct cores_report *r, FILE *out);
void cores_svg(const struct cores_report *r, FILE *out);
/* The picture alone, an <svg> element. */
void cores_draw(FILE *out, const struct cores_report *r);

#endif
