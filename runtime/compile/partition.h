/* SPDX-License-Identifier: MIT */
/* State of cnn_partition: what each node costs in each place, and the place chosen for it. */
#ifndef CNN_PARTITION_H
#define CNN_PARTITION_H

#include "internal.h"

/* More than anything costs, and few enough to be added up. */
#define CNN_PLACE_NEVER ((int64_t)1 << 46)

/* A node in one place: the CPU, or a type of core. */
struct cnn_place_cost {
	int64_t ns;
	int64_t alone;		/* of the node by itself, before companions share; CNN_PLACE_NEVER: not there */
	int64_t weighed;	/* as the choice sees it; CNN_PLACE_NEVER: not there */
	bool arranges;		/* see struct cnn_offer */
	bool on_cpu;		/* the CPU makes the output of what the core computes */
};

struct cnn_partition {
	const struct cnn_graph *g;
	const struct cnn_target *target;
	struct cnn_core_choice cores[CNNRT_MAX_CORES];
	int n_places;		/* place 0 is the CPU, place i the core cores[i - 1] */
	struct cnn_place_cost *costs;	/* [node * n_places + place] */
	int *place;		/* by node */
	int *stamp;		/* by value, for one evaluation */
	int stamps;
};

static inline struct cnn_place_cost *cnn_place_cost(const struct cnn_partition *p, int node,
						    int place)
{
	return &p->costs[(size_t)node * (size_t)p->n_places + (size_t)place];
}

/*
 * Fills place[]: the least sum of what nodes cost, and what it costs to move values between places.
 * With on_cpu a node's values leave its core, and its output is moved to every core that reads it.
 * A search from several starts, moving single nodes and connected ones; the same for the same costs.
 */
int cnn_choose_places(struct cnn_partition *p, struct cnn_err *err);

#endif
