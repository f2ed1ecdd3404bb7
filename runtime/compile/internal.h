/* SPDX-License-Identifier: MIT */
/* State that the phases of cnn_lower share, for every back end. */
#ifndef CNN_COMPILE_INTERNAL_H
#define CNN_COMPILE_INTERNAL_H

#include "backend/backend.h"
#include "target.h"

/* What is known of a slot; of the owner of memory but for next_copy. */
struct cnn_slot_life {
	int first, last;	/* live range, in cnn_placement.order; -1: the start of the run */
	int next_copy;		/* the next copy of the same value; 0: end of list */
	bool has_parts;		/* other values are parts of its memory */
	bool caller_memory;	/* the caller may provide its memory */
};

/* One call of cnn_lower. */
struct cnn_compiler {
	struct cnn_compile compile;
	struct cnn_backend **cores; /* NULL: not to be used, or has no back end */
	int n_cores;
	struct cnn_slot_life *slots;
	int *copy;		/* by node: the slot that the host fills for it; -1: none */
	bool observe;
	const struct cnn_target *target;
};

/* Gives io's value a slot with this layout, unless it has a slot. */
void cnn_use_slot(struct cnn_compiler *cc, const struct cnn_node_io *io);
/* Places a Concat or Split that needs no copy: true, and the core whose memory it renames. */
bool cnn_place_concat_split(struct cnn_compiler *cc, int node, int *core);

/* The phases, to be called in this order. */
void cnn_place_node(struct cnn_compiler *cc, int node);
/* Once all nodes are placed: turns a renaming on the CPU into a copy that the host makes. */
void cnn_place_host_copy(struct cnn_compiler *cc, int node);
/* Makes owner the outermost memory, and offsets relative to it. */
void cnn_settle_owners(struct cnn_compiler *cc);
int cnn_make_segments(struct cnn_compiler *cc);
int cnn_allocate_arena(struct cnn_compiler *cc);
/* Once all is lowered: what each node and the whole program cost on the target. */
void cnn_sum_time(struct cnn_compiler *cc);
/*
 * Fills in the compulsory bytes of a placed node, and the bytes that it moves if it is on the CPU.
 * Float tensors of up to on_chip bytes can stay in a core.
 */
void cnn_compulsory_traffic(const struct cnn_graph *g, int node, int64_t on_chip,
			    struct cnn_placement *p);

#endif
