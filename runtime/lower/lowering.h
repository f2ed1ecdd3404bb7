/* SPDX-License-Identifier: MIT */
/* What the steps of cnn_lower share that does not depend on the kind of core. */
#ifndef CNN_LOWERING_H
#define CNN_LOWERING_H

#include "internal.h"

/* Scratch of one cnn_lower. */
struct lowering {
	struct lw lw;
	struct lw_core **cores;	/* NULL where no compiler or not wanted */
	int n_cores;
	int *first, *last;	/* life of a root's memory, in turns */
	bool *shared;		/* a root whose memory the caller may provide */
	bool observe;
};

/* In this order. */
void lw_place_node(struct lowering *x, int node);
int lw_make_segments(struct lowering *x);
int lw_plan_arena(struct lowering *x);

#endif
