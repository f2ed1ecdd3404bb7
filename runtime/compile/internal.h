/* SPDX-License-Identifier: MIT */
/* State that the phases of cnn_lower share, for every back end. */
#ifndef CNN_COMPILE_INTERNAL_H
#define CNN_COMPILE_INTERNAL_H

#include "backend/backend.h"
#include "compile.h"

/* More than anything costs, and few enough to be added up. */
#define CNN_NEVER	(INT64_MAX / 4)

/* A core that nodes can be placed on: the first of those that are equal. */
struct cnn_core_choice {
	const struct cnn_backend_ops *ops;
	const struct cnnrt_core_info *info;
	int index;
	const struct cnn_target *target;
	bool rewrites;		/* its back end may rewrite the graph */
	uint64_t tried;		/* as in struct cnn_compile, by all offers */
};

/* What is known of a slot that owns memory. */
struct cnn_slot_life {
	int first, last;	/* live range, in cnn_placement.order; -1: the start of the run */
	bool has_parts;		/* other values are parts of its memory */
	bool caller_memory;	/* the caller may provide its memory */
};

/* A value that units read in another layout than it has. */
struct cnn_conversion {
	int value, reader, number;	/* reader: the first such node */
	struct cnn_layout layout;
};

/* The unit led by a node reads one. */
struct cnn_reader {
	int lead, conversion;
};

/* Where a node is whose network has branches that run at the same time; 0: in none. */
struct cnn_lane {
	int lane;	/* counted from 1, among those of the region */
	int region;	/* the branches between two places where one value is alive, from 1 */
};

/* A node's claim, that of the unit which it leads. */
struct cnn_claim {
	int core, step;		/* the next to be tried: 0: with other nodes, 1: alone */
	bool told;		/* the reason is a core's */
	bool in_gaps;		/* a plan was refused: outputs have the layouts that it wants */
	char reason[CNN_REASON_LEN];	/* why it is on the CPU, if no core takes it */
	char said[CNN_REASON_LEN];	/* by the plan */
	struct cnn_node_io *in, *out;	/* with the layouts of the plan; NULL: there is none */
};

/* One call of cnn_lower. */
struct cnn_compiler {
	struct cnn_compile compile;
	struct cnn_backend **cores; /* NULL: not to be used, or has no back end */
	int n_cores;
	/* By core, opened when first needed: plans there are only asked for what they cost. */
	struct cnn_backend *trials[CNNRT_MAX_CORES];
	struct cnn_compile trial_compile;
	struct cnn_slot_life *slots;
	int *lead;		/* by node: the first of its unit; -1: in none */
	struct cnn_unit *units;	/* by the node that leads it */
	struct cnn_claim *claims; /* by node */
	bool *chosen;		/* by value: its layout has been chosen */
	bool refused;		/* a plan, in this round */
	bool no_memory;		/* for a unit or a choice of layouts */
	bool may_convert;	/* the graph may lack conversions */
	/* Those that it lacks, at most as many as nodes have inputs; NULL: it may lack none. */
	struct cnn_conversion *conversions;
	struct cnn_reader *readers;
	int n_conversions, n_readers;
	struct cnn_lane *lanes;	/* by node; NULL: there are none */
	bool observe;
	const struct cnn_target *target;
};

bool cnn_may_use_core(const struct cnnrt_core_info *cores, int i,
		      const struct cnn_lower_options *opt);
/* Gives io's value a slot with this layout, unless it has a slot. */
void cnn_use_slot(struct cnn_compiler *cc, const struct cnn_node_io *io);
/* Gives io's value a slot in the memory of another value, from its beginning on. */
void cnn_share_slot(struct cnn_compiler *cc, const struct cnn_node_io *io, int of);
/* May a node run on a core, by the place that was chosen for it? */
static inline bool cnn_may_be_on(const struct cnn_node *n, int core)
{
	return n->place == CNN_PLACE_OPEN || n->place == CNN_PLACE_CORE(core);
}

/* The unit of several nodes that has a node, or NULL. */
static inline const struct cnn_unit *cnn_unit_of(const struct cnn_compiler *cc, int node)
{
	int lead = cc->lead[node];

	return lead >= 0 && cc->units[lead].n_nodes > 1 ? &cc->units[lead] : NULL;
}

/* The nodes of a unit are in that of lead, or if that is -1 in none. */
static inline void cnn_set_leads(struct cnn_compiler *cc, const struct cnn_unit *u, int lead)
{
	for (int i = 0; i < u->n_nodes; i++)
		cc->lead[u->nodes[i]] = lead;
}

/* The core that has claimed a node, which need not take it, or CNN_ON_CPU. */
static inline int cnn_claiming_core(const struct cnn_compiler *cc, int node)
{
	return cc->lead[node] < 0 ? CNN_ON_CPU : cc->claims[cc->lead[node]].core;
}

/*
 * Asks a core again what it was asked last about the unit that a node leads, as a back end keeps
 * one plan of each. The answer, to be freed, is that unit with the layouts that the core wants.
 */
bool cnn_match_again(struct cnn_compiler *cc, struct cnn_backend *core, int lead,
		     struct cnn_unit *again, char *why);
/* The layout as planes of a value's shape; false if it cannot be seen so. */
bool cnn_layout_seen_as(const struct cnn_tensor *x, const struct cnn_layout *l,
			struct cnn_layout *seen);
/* The same planes without gaps; false if there are none, or it is not of planes. */
bool cnn_layout_without_gaps(const struct cnn_layout *l, struct cnn_layout *dense);
/*
 * How much longer the unit takes if this value of it has that layout instead of the one that it
 * wants; CNN_NEVER: it cannot have that.
 */
int64_t cnn_slower_ns(struct cnn_compiler *cc, int lead, int value,
		      const struct cnn_layout *layout);
/*
 * Makes those outputs of a unit dense for which the host then does so much less that it costs less
 * in all. The layouts of the unit's inputs have been chosen. Returns whether there are any.
 */
bool cnn_choose_dense_outputs(struct cnn_compiler *cc, int lead, struct cnn_node_io *out);
/* Does the node only rename its input, if no core computes it? */
bool cnn_is_renaming(const struct cnn_compiler *cc, int node);
/* Can nodes of a core that want *want read what has another layout? Then *want is that. */
bool cnn_reads_layout(const struct cnn_backend *core, const struct cnn_layout *has,
		      struct cnn_layout *want);
/*
 * Chooses the layouts of a value, of those that rename it and of those that it renames, unless that
 * has been done, and places the nodes between them.
 */
void cnn_choose_layouts(struct cnn_compiler *cc, int value);
/*
 * Gives an input that a node wants in io->layout the layout that its value has in the arena, if the
 * node can read that; else, if its core takes it converted, that of a conversion.
 */
bool cnn_fit_layout(struct cnn_compiler *cc, const struct cnn_backend *core, struct cnn_node_io *io,
		    char *reason);
/* The unit reads its input in the layout that cnn_fit_layout gave it. */
void cnn_assign_layout(struct cnn_compiler *cc, const struct cnn_backend *core,
		       const struct cnn_unit *unit, const struct cnn_node_io *io);
/* Puts a ConvertLayout into the graph for each conversion that it lacks. */
int cnn_insert_conversions(struct cnn_compiler *cc, struct cnn_graph *g);
/* Once all nodes are placed: nodes on the CPU that move a value to a slot say so. */
void cnn_settle_moves(struct cnn_compiler *cc);
/* Places a Concat or Split that needs no copy: true, and the core whose memory it renames. */
bool cnn_place_concat_split(struct cnn_compiler *cc, int node, int *core);

/* Is it a Concat or Split that could go without a copy on a core? */
bool cnn_is_view_of_channels(const struct cnn_graph *g, const struct cnn_node *n);

/* What a core or the CPU takes for a node, or for some nodes together. */
struct cnn_offer {
	bool taken;		/* the core computes some of it, or it costs nothing there */
	uint32_t which;		/* bit i: it computes what node i has become, or been fused into */
	uint32_t on_cpu;	/* bit i: but the CPU makes the output of node i from that */
	int64_t ns;
	bool arranges;		/* reads or writes another layout than the host's */
	char reason[CNN_REASON_LEN];	/* if not taken: why */
	bool told;		/* the reason is about a node that the core is made for */
};

/* Asks a core about some nodes (ascending) of a graph, which it rewrites in a copy. */
int cnn_ask_core(const struct cnn_graph *g, const int *nodes, int n,
		 struct cnn_core_choice *core, struct cnn_offer *offer, struct cnn_err *err);

/* The phases, to be called in this order. */
int cnn_place_nodes(struct cnn_compiler *cc);
/* Makes owner the outermost memory, and offsets relative to it. */
void cnn_settle_owners(struct cnn_compiler *cc);
bool cnn_has_equal_cores(const struct cnn_compiler *cc);
/* Once all is lowered: fills cc->lanes; found: are there branches worth a lane of their own? */
int cnn_find_lanes(struct cnn_compiler *cc, bool *found);
int cnn_make_segments(struct cnn_compiler *cc);
int cnn_allocate_arena(struct cnn_compiler *cc);
/* Once all is lowered: what each node and the whole program cost on the target. */
void cnn_sum_time(struct cnn_compiler *cc);
/* The host writes a value to its slot for a core; nothing if it works on the arena itself. */
int64_t cnn_copy_in_time(const struct cnn_compiler *cc, int value);
/* The host reads what a segment on a core has made. */
int64_t cnn_copies_out_time(const struct cnn_compiler *cc, const struct cnn_segment *seg);
/*
 * The time of one run in which cores and the CPU work at the same time where they can, unlike the
 * sum above.
 */
int cnn_parallel_time(const struct cnn_compiler *cc, int64_t *ns);
/*
 * Fills in the compulsory bytes of a placed node, or of the unit that it leads, and the bytes that
 * it moves if it is on the CPU. Float tensors of up to on_chip bytes can stay in a core.
 */
void cnn_compulsory_traffic(const struct cnn_compiler *cc, int node, int64_t on_chip);

#endif
