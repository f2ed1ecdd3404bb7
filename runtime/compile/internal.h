/* SPDX-License-Identifier: MIT */
/* What the steps of cnn_lower share that does not depend on the kind of core. */
#ifndef CNN_COMPILE_INTERNAL_H
#define CNN_COMPILE_INTERNAL_H

#include "backend/backend.h"

/* Scratch of one cnn_lower. */
struct cnn_compiler {
	struct cnn_compile lw;
	struct cnn_backend **cores; /* NULL where no compiler or not wanted */
	int n_cores;
	int *first, *last;	/* life of a root's memory, in turns */
	bool *joined;		/* a root of which other values are parts */
	bool *shared;		/* a root whose memory the caller may provide */
	int *copy;		/* by node: the slot that the host fills for it; -1: none */
	int *next_copy;		/* by slot: another copy of the same value; 0: that was all */
	bool observe;
};

/* Notes that io's value is in the arena, with that layout if it has none. */
void cnn_use_slot(struct cnn_compiler *x, const struct cnn_node_io *io);
/* A Concat or Split that costs nothing: true, and the core whose values it renames. */
bool cnn_place_concat_split(struct cnn_compiler *x, int node, int *core);

/* In this order. */
void cnn_place_node(struct cnn_compiler *x, int node);
/* When all are placed: what then needs no operator on the CPU. */
void cnn_place_host_copy(struct cnn_compiler *x, int node);
/* Makes roots and offsets those of the memory that is nobody's part. */
void cnn_settle_owners(struct cnn_compiler *x);
int cnn_make_segments(struct cnn_compiler *x);
int cnn_allocate_arena(struct cnn_compiler *x);

#endif
