/* SPDX-License-Identifier: MIT */
/* Models and programs: the graph side of the library. */
#ifndef CNNRT_MODEL_H
#define CNNRT_MODEL_H

#include "base/base.h"

#include "ops/cpu.h"
#include "compile/compile.h"

/* What the application set for an input. */
struct rt_input {
	bool has_shape;
	int rank;
	int64_t dims[CNNRT_MAX_RANK];
	struct cnn_tensor data; /* .data NULL: not a constant */
};

struct cnnrt_model {
	void *bytes; /* the file; each compile imports it again */
	size_t size;
	int folder; /* of the file's external data, -1: none */
	struct cnn_graph *graph; /* as imported, to describe inputs and outputs */
	struct rt_input *inputs;
};

/* A file in memory. */
struct rt_mapping {
	void *data;
	size_t size;
	bool mapped;			/* else malloc'ed */
};

/* An operator of the file that folding or fusion eliminated from the graph. */
struct rt_eliminated_op {
	char *op, *name, *why;		/* why may be NULL */
};

/* The device that a program is compiled or loaded for. */
struct rt_target {
	const struct cnnrt_core_info *core;
	unsigned int core_count;
	uint32_t hw_version;
	struct cnn_target cost;
};

struct cnnrt_program {
	struct cnn_graph *graph;
	struct cnn_lowered *low;
	struct cnnrt_core_info core[CNNRT_MAX_CORES];
	unsigned int core_count;
	uint32_t pinned;		/* bit i: what is for core i runs on no other */
	uint64_t compile_ns;
	uint32_t hw_version;		/* of the device that it was compiled for */
	bool observe;			/* every value stays in memory, for cnnrt_compare() */
	struct cnn_graph *file_graph;	/* observe: before fusion; NULL: not known */
	struct rt_eliminated_op *eliminated;
	int n_eliminated;
	struct rt_mapping file; /* a loaded program: graph and low point into it */
};

/* Compiles a model; options have been checked, opt has those that cnn_lower takes. */
int rt_build(const struct cnnrt_model *model, const struct rt_target *target,
	     const struct cnnrt_compile_options *options, const struct cnn_lower_options *opt,
	     struct cnnrt_program **out, struct cnnrt_error *err);
/* Frees a program that no job uses. */
void rt_program_free(struct cnnrt_program *p);
/* Maps a program file. */
int rt_map_file(const char *path, struct rt_mapping *m, struct cnnrt_error *err);
/* Copies a program file in memory, aligned for rt_load. */
int rt_map_copy(const void *data, size_t size, struct rt_mapping *m, struct cnnrt_error *err);
/* Takes m over, also on failure. */
int rt_load(struct rt_mapping m, const struct rt_target *target,
	    const struct cnnrt_load_options *options, struct cnnrt_program **out,
	    struct cnnrt_error *err);

/* Does a core compute the value? */
bool rt_made_on_device(const struct cnnrt_program *p, int value);

/* The graph's error codes equal the library's; copies the text. */
int rt_graph_error(struct cnnrt_error *err, const struct cnn_err *from);
int rt_tensor_info(const char *name, const struct cnn_tensor *t,
		    struct cnnrt_tensor_info *info, struct cnnrt_error *err);
int rt_check_index(unsigned int index, enum cnnrt_direction dir, unsigned int count,
		   struct cnnrt_error *err);

/* Called after import, after inference, and after fusion. */
int rt_eliminated_ops_start(struct cnnrt_program *p, struct cnn_err *e);
int rt_eliminated_ops_folded(struct cnnrt_program *p, struct cnn_err *e);
int rt_eliminated_ops_fused(struct cnnrt_program *p, struct cnn_err *e);
void rt_eliminated_ops_free(struct cnnrt_program *p);
void rt_unmap(struct rt_mapping *m);
/* Sets in_weight_image for the constants that only cores read. */
void rt_mark_in_weight_image(struct cnnrt_program *p);
void rt_set_limits(struct cnn_graph *g, uint64_t max_memory, uint64_t max_work);
/* Checks the program's work and device memory against its graph's limits. */
int rt_check_limits(const struct cnnrt_program *p, struct cnn_err *e);

#endif
