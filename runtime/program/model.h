/* SPDX-License-Identifier: MIT */
/* Models and programs: the graph side of the library. */
#ifndef CNNRT_MODEL_H
#define CNNRT_MODEL_H

#include "base/base.h"

#include "ops/cpu.h"
#include "backend/lowered.h"

/* What the application said about an input. */
struct rt_input {
	bool has_shape;
	int rank;
	int64_t dims[CNNRT_MAX_RANK];
	struct cnn_tensor data;		/* data NULL: not a constant */
};

struct cnnrt_model {
	void *bytes;			/* the file: each compile imports it anew */
	size_t size;
	struct cnn_graph *graph;	/* as imported, for questions about inputs and outputs */
	struct rt_input *inputs;
};

/* A file in memory. */
struct rt_mapping {
	void *data;
	size_t size;
	bool mapped;			/* else malloc'ed */
};

/* An operator of the file that is not in the graph any more. */
struct rt_removed {
	char *op, *name, *why;		/* why may be NULL */
	const char *was;		/* while compiling: the node's name in the graph */
};

struct cnnrt_program {
	struct cnn_graph *graph;
	struct cnn_lowered *low;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	unsigned int core_count;
	uint64_t compile_ns;
	uint32_t hw_version;		/* of the device that it was compiled for */
	bool observe;			/* every value stays in memory: see cnnrt_compare() */
	struct cnn_graph *file_graph;	/* observe: before it is fused; NULL: not known */
	struct rt_removed *removed;
	int n_removed;
	struct rt_mapping file;		/* what graph and low point into, if it was loaded */
};

/* Does a core make the value? */
bool rt_made_on_device(const struct cnnrt_program *p, int value);

/* The graph's codes are the library's; copies the text. */
int rt_graph_error(struct cnnrt_error *err, const struct cnn_err *from);
void rt_tensor_info(const char *name, const struct cnn_tensor *t,
		    struct cnnrt_tensor_info *info);
int rt_check_index(unsigned int index, enum cnnrt_direction dir, unsigned int count,
		   struct cnnrt_error *err);

/* After import, after inference, and after fusing. */
int rt_removed_start(struct cnnrt_program *p, struct cnn_err *e);
int rt_removed_folded(struct cnnrt_program *p, struct cnn_err *e);
int rt_removed_fused(struct cnnrt_program *p, struct cnn_err *e);
void rt_removed_free(struct cnnrt_program *p);
void rt_unmap(struct rt_mapping *m);
/* Finds the constants that only cores read. */
void rt_mark_elsewhere(struct cnnrt_program *p);
void rt_set_limits(struct cnn_graph *g, uint64_t max_memory, uint64_t max_work);
/* Is there room for what the program takes, by its graph's limits? */
int rt_check_limits(const struct cnnrt_program *p, struct cnn_err *e);

#endif
