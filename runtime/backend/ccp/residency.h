/* SPDX-License-Identifier: MIT */
/* The search for what stays in the data banks, shared by ccp_keep*.c. */
#ifndef CNN_LOWER_CCP_KEEP_H
#define CNN_LOWER_CCP_KEEP_H

#include "ccp.h"

#define BEAM		12
#define WINDOW		64	/* nodes after which the best way so far is the way */

/* The memory of a value and of those that share it. */
struct object {
	int root;
	int64_t line, lines;
	int first, written, last;	/* positions: writes, the last read; -1: none */
	bool wanted;			/* in memory: read elsewhere */
	bool outside;			/* part of it comes from elsewhere */
};

/* An object that a bank holds: all of it that has been written. */
struct held {
	int object;
	unsigned int bank;
	int64_t at;
	bool dirty;			/* memory does not have it */
};

struct state {
	struct held held[CCPC_KEPT];
	int n_held;			/* ascending objects */
	uint64_t cost, cycles;		/* cycles: since the task began, at most */
	int parent;			/* state of the position before */
	struct ccpc_step step;		/* how it came from there */
	int plan;			/* of the position */
};

/* What a node takes in a situation. */
struct plan {
	bool kept[3];
	int64_t room[2], half[2];
	bool fits;
	uint64_t cost, cycles;
	struct ccpc_node node;
};

/* A node of the segment that has code. */
struct place {
	int node;
	int in, add, out;		/* objects; add -1: none */
	struct plan *plans;
	int n_plans;
};

struct keep {
	struct ccpc_core *core;
	struct object *objects;
	struct place *places;
	struct state (*states)[BEAM];	/* of the window */
	int counts[WINDOW + 1];
	int n_objects, n_places;
	bool failed;			/* no memory */
};

/* The entry of an object; NULL: no bank holds it. */
struct held *ccpc_find_held(struct state *s, int object);
void ccpc_drop(struct state *s, struct held *h);
/* False: the banks hold too many. */
bool ccpc_hold(struct state *s, struct held h);
/* Room for lines lines in a bank: the lowest, or the end of the highest; -1: none. */
int64_t ccpc_find_room(const struct keep *k, const struct state *s, unsigned int bank,
		       int64_t lines, bool high);
/* Sets spare, room and the same of halves to the largest free stretches, in one of a few sizes. */
void ccpc_set_spare(const struct keep *k, const struct state *s, unsigned int bank,
		    struct ccpc_home *home);
/* What moving lines costs. */
void ccpc_add_cost(struct state *s, int64_t lines);
/* Adds a move of all of an object to the step; false: it has too many. */
bool ccpc_add_move(const struct keep *k, struct state *s, const struct held *h, bool load);
/* Makes sure that memory has it. */
bool ccpc_save(const struct keep *k, struct state *s, struct held *h);

#endif
