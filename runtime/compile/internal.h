/* SPDX-License-Identifier: MIT */
/* What the steps of cnn_lower share that does not depend on the kind of core. */
#ifndef CNN_LOWERING_H
#define CNN_LOWERING_H

#include "backend/backend.h"

/* Scratch of one cnn_lower. */
struct lowering {
	struct lw lw;
	struct lw_core **cores;	/* NULL where no compiler or not wanted */
	int n_cores;
	int *first, *last;	/* life of a root's memory, in turns */
	bool *joined;		/* a root of which other values are parts */
	bool *shared;		/* a root whose memory the caller may provide */
	int *copy;		/* by node: the slot that the host fills for it; -1: none */
	int *next_copy;		/* by slot: another copy of the same value; 0: that was all */
	bool observe;
};

/* Notes that io's value is in the arena, with that layout if it has none. */
void lw_use_slot(struct lowering *x, const struct lw_io *io);
/* A Concat or Split that costs nothing: true, and the core whose values it renames. */
bool lw_place_parts(struct lowering *x, int node, int *core);

/* In this order. */
void lw_place_node(struct lowering *x, int node);
/* When all are placed: what then needs no operator on the CPU. */
void lw_place_written(struct lowering *x, int node);
/* Makes roots and offsets those of the memory that is nobody's part. */
void lw_settle_roots(struct lowering *x);
int lw_make_segments(struct lowering *x);
int lw_plan_arena(struct lowering *x);

#endif
