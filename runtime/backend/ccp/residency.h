/* SPDX-License-Identifier: MIT */
/* The search for values that stay in the data banks, shared by residency*.c. */
#ifndef CCPC_RESIDENCY_H
#define CCPC_RESIDENCY_H

#include "ccp.h"

#define CCPC_BEAM	 12
#define CCPC_BEAM_WINDOW 64 /* nodes after which the best state so far is final */

/* The memory of a value and of those that share it. Positions count the nodes with code. */
struct ccpc_storage {
	int owner;
	int64_t line, lines;
	int first, written, last; /* first and last write, last read; -1: none */
	bool read_outside;	/* read outside the segment, so memory must have it */
	bool written_outside;	/* part of it is written outside the segment */
};

/* A storage of which a bank holds everything written so far. */
struct ccpc_resident {
	int storage;
	unsigned int bank;
	int64_t at;			/* bank line */
	bool dirty;			/* memory does not have it */
};

struct ccpc_state {
	struct ccpc_resident resident[CCPC_RESIDENT_MAX]; /* sorted by storage */
	int n_resident;
	uint64_t cost;
	uint64_t cycles;		/* upper bound, since the task began */
	int parent;			/* state of the position before */
	struct ccpc_node_schedule schedule; /* from the parent to here */
	int variant;	/* of the position */
};

/* A node compiled for given bindings, and what it takes. */
struct ccpc_variant {
	bool resident[3];	/* input, output, addend */
	int64_t capacity[2], half_capacity[2]; /* input, output */
	bool fits;
	uint64_t cost, cycles;
	struct ccpc_node node;
};

/* A node of the segment that has code. */
struct ccpc_position {
	int node;
	int in, add, out; /* storages; add -1: none */
	struct ccpc_variant *variants;
	int n_variants;
};

struct ccpc_residency {
	struct ccpc_core *core;
	struct ccpc_storage *storages;
	struct ccpc_position *positions;
	struct ccpc_state (*states)[CCPC_BEAM]; /* of the window */
	int counts[CCPC_BEAM_WINDOW + 1];
	int n_storages, n_positions;
	bool failed;			/* no memory */
};

/* The entry of a storage; NULL: it is not resident. */
struct ccpc_resident *ccpc_find_resident(struct ccpc_state *s, int storage);
void ccpc_drop_resident(struct ccpc_state *s, struct ccpc_resident *r);
/* False if the banks hold too many values. */
bool ccpc_add_resident(struct ccpc_state *s, struct ccpc_resident r);
/* Free space for lines of a bank: the lowest, or the end of the highest (@high); -1: none. */
int64_t ccpc_find_free(const struct ccpc_residency *k, const struct ccpc_state *s,
		       unsigned int bank, int64_t lines, bool high);
/* Binds to the largest free stretches of a bank. Few sizes are used, so that variants recur. */
void ccpc_set_free(const struct ccpc_residency *k, const struct ccpc_state *s, unsigned int bank,
		   struct ccpc_bank_binding *bind);
/* Adds the cost of moving lines. */
void ccpc_add_move_cost(struct ccpc_state *s, int64_t lines);
/* Schedules a move of a whole storage; false if the schedule has too many. */
bool ccpc_add_move(const struct ccpc_residency *k, struct ccpc_state *s,
		   const struct ccpc_resident *r, bool load);
/* Schedules a store if memory does not have the value. */
bool ccpc_write_back(const struct ccpc_residency *k, struct ccpc_state *s, struct ccpc_resident *r);

#endif
