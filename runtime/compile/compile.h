/* SPDX-License-Identifier: MIT */
/*
 * Compiles a graph to native programs: cnn_partition, cnn_lower; cnn_lowered_free after the last
 * run. The result holds no pointer into the graph. The same graph, cores and options always give
 * the same bytes. cnn_lower puts a ConvertLayout into the graph where a node cannot read its input
 * in the layout that the value has.
 *
 * Running a result. Three buffers are bound in a context at fixed addresses (backend/lowered.h):
 * program image (execute only), weight image (read only) and activation arena (read and write, any
 * initial content). Segments run in order, which is not the graph's order of nodes, or earlier if
 * no other one has still to make what they read or to use the memory that they write. A CPU segment
 * runs its nodes one by one; one that cnn_moves_to_slot writes into the arena. Before a device
 * segment, the host writes each other slot of its in list that a CPU node or the caller made. Then
 * the segment's tasks are submitted in order as one job, or as several if a job takes fewer tasks.
 * Afterwards the values of its out list are in the arena until their last reader has run, graph
 * outputs until the end; its other values may never leave the core. Values that are only renamed,
 * and the parts of a Concat or Split, share memory. Programs run on every core of the same type and
 * parameters.
 */
#ifndef CNN_COMPILE_H
#define CNN_COMPILE_H

#include "backend/lowered.h"
#include "target.h"

struct cnn_lower_options {
	uint32_t cores;		/* bit i: core i may be used; 0: all may */
	bool or_cpu;		/* with cores: only where that is best, as where all may be used */
	bool cpu_only;		/* place nothing on a core */
	bool observe;		/* each value has its own slot in the arena to the end of the run */
	bool no_residency;	/* cores store each value to the arena, as with observe */
	/* What "best" means where several cores, or a core and the CPU, can run a node. */
	enum cnnrt_prefer prefer;
	const struct cnn_target *target;	/* NULL: cnn_target_reference */
	bool no_fuse;		/* cnn_partition leaves all operators as they are */
	bool whole_groups;	/* no core splits the output channels of a product with groups */
	/* Called for each node placed and each lowered, until done is total; may be NULL. */
	void (*progress)(unsigned int done, unsigned int total, void *opaque);
	void *opaque;
};

/*
 * Decides where each node of g is to run, after inference, and rewrites the nodes for their places:
 * core-neutral fusing, then the cost of each node on each core that may be used and on the CPU, the
 * choice, the CPU's own fusing, and each core's own rewriting. With cores given in opt every node
 * that one of them can run is placed there, unless or_cpu is set.
 */
int cnn_partition(struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
		  const struct cnn_lower_options *opt, struct cnn_err *err);

/*
 * With CNNRT_PREFER_TIME: the options, opt or one that uses only the CPU, one type of core, or one
 * type and the CPU as on a device that has no other, with or without whole_groups, that give the
 * program of the least modelled time. g stays as it is.
 */
void cnn_find_fastest(const struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
		      const struct cnn_lower_options *opt, struct cnn_lower_options *best);

/*
 * Lowers every node of g, which is inferred, in the place that cnn_partition chose, or on the first
 * core that takes it if it has none. opt may be NULL. A node that no core takes runs on the CPU.
 * Fails without memory, and if programs, weights or activations exceed their address ranges.
 */
int cnn_lower(struct cnn_graph *g, const struct cnnrt_core_info *cores, int n_cores,
	      const struct cnn_lower_options *opt, struct cnn_lowered **out, struct cnn_err *err);

#endif
