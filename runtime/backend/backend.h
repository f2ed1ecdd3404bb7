/* SPDX-License-Identifier: MIT */
/*
 * What compile/ and the cores' folders share. A new core is a struct cnn_backend_ops in a folder of
 * its name and a line in cores.def.
 */
#ifndef CNN_BACKEND_H
#define CNN_BACKEND_H

#include <cnnacc_hw.h>

#include "passes/passes.h"
#include "lowered.h"

#define CNN_UNIT_NODES_MAX 32	/* bounds the time that is spent on finding units */
#define CNN_COMPANIONS_MAX (CNN_UNIT_NODES_MAX - 1)

/* Bytes that grow. */
struct cnn_image {
	uint8_t *data;
	int64_t len, cap, max;
	const char *what;	/* for the message when it would pass max */
};

/* One run of cnn_lower. */
struct cnn_compile {
	const struct cnn_graph *g;
	struct cnn_lowered *out;
	struct cnn_image program, weights;
	struct cnn_image addresses; /* CNN_ADDRESS() of each word of program that holds one */
	int *owner;		/* by slot: the slot whose memory it shares; itself if none */
	bool no_residency;	/* see struct cnn_lower_options */
	/* Called with the nodes placed and lowered so far, and the number it ends at; NULL: none. */
	void (*progress)(unsigned int done, unsigned int total, void *opaque);
	void *opaque;
	unsigned int done, before;	/* nodes placed and lowered; those before this segment */
	uint64_t tried;		/* work of the back ends' trials so far, which they bound */
	struct cnn_err *err;
};

/* A value that a node reads or writes in the arena, and the layout it is to have. */
struct cnn_node_io {
	int value;
	struct cnn_layout layout;
	int64_t bytes;		/* what the node writes, if that is more than the layout's */
};

/*
 * What a core runs as one: a node, or several. Its values in the arena are those that the nodes
 * read and did not make (in, without constants that the core has in its weights) and those that
 * others read (out). A value that the nodes only pass to each other may be in out, too, or has no place in
 * the arena.
 */
struct cnn_unit {
	const struct cnn_graph *g;
	const int *lead;	/* by node: the first one of the unit that has it, or -1 */
	int place;		/* CNN_PLACE_* of the core */
	bool alone;		/* no other node may join */
	bool failed;		/* no memory */
	int nodes[CNN_UNIT_NODES_MAX], n_nodes;	/* ascending; the first one leads */
	struct cnn_node_io *in, *out;
	int n_in, n_out;
};

/* A unit of one node. */
void cnn_unit_init(struct cnn_unit *u, const struct cnn_graph *g, const int *lead, int place,
		   int node);
void cnn_unit_free(struct cnn_unit *u);
/*
 * Adds a node behind the others. False, and the unit is as before, if that is in another place or
 * another unit, if the unit is full, or if a node between would read what the unit makes: a unit
 * runs in the place of its last node.
 */
bool cnn_unit_add_node(struct cnn_unit *u, int node);
/* Adds a value that is read or made in the arena; false without memory. */
bool cnn_unit_add_in(struct cnn_unit *u, const struct cnn_node_io *io);
bool cnn_unit_add_out(struct cnn_unit *u, const struct cnn_node_io *io);
bool cnn_unit_has(const struct cnn_unit *u, int node);
/* Do others read a value that the unit makes? */
bool cnn_unit_gives(const struct cnn_unit *u, int value);
/*
 * Has a unit of several nodes all values that it must have in the arena? all: those that the nodes
 * pass to each other, too.
 */
bool cnn_unit_check(const struct cnn_unit *u, bool all, char *reason);

/* One core of the device in one run; the core's own state follows it. */
struct cnn_backend {
	const struct cnn_backend_ops *ops;
	struct cnn_compile *compile;
	const struct cnnrt_core_info *info;
	int64_t on_chip;	/* bytes of the largest tensor of floats that can stay in it */
};

/*
 * A node that a core has run, with the inputs that it had: what output 0 may be. exact is what the
 * operator, its constants and its activation give without any rounding, of inputs that are taken as
 * they are; bound is how far the core's result may be from that. What the core rounds (inputs and
 * weights as it reads them, sums, results) is in bound, and so is what spread says.
 */
struct cnn_bounds {
	const struct cnn_graph *g;
	int node;
	const struct cnn_tensor *const *in;	/* dense, with data; NULL: omitted */
	const double *const *spread;	/* by input: what each element may be off by; NULL: nothing */
	double *exact, *bound;		/* to be filled, by element of output 0 */
	/*
	 * To be filled, too: the element, or what it is made of, is beyond the core's numbers. The
	 * bound does not allow for what the core gives in its place.
	 */
	bool *saturated;
};

struct cnn_backend_ops {
	const char *name;	/* in the discovery table */
	bool has_float16;	/* for float32 operators, with CNNRT_PRECISION_FP16 */
	bool converts;		/* what a node of it cannot read may be converted for the node */
	/*
	 * Rewrites the nodes at this place (cnn_can_share_place), and values that only they make and
	 * read. Whatever is not to run on the core may run anywhere. NULL: nothing to rewrite.
	 */
	int (*legalize)(struct cnn_graph *g, int place, struct cnn_err *err);
	/*
	 * Other nodes that the core would run together with this one for less than one by one, such
	 * as those of a unit: up to CNN_COMPANIONS_MAX node indices; returns their number. NULL:
	 * none.
	 */
	int (*companions)(const struct cnn_graph *g, int node, int *nodes);
	/* A new core state; NULL if there is no memory. */
	struct cnn_backend *(*open)(struct cnn_compile *compile, const struct cnnrt_core_info *info);
	void (*close)(struct cnn_backend *core);
	/* Is it made for such nodes? Then its reason against one is the one to tell. */
	bool (*is_for)(const struct cnn_graph *g, const struct cnn_node *n);
	/*
	 * Could it run the unit's one node if memory were boundless? Adds later nodes that it runs
	 * together with that, and the values with the layouts that it likes. With no_residency of
	 * struct cnn_compile all values that the nodes make are to be in the arena.
	 */
	bool (*match)(struct cnn_backend *core, struct cnn_unit *unit, char *reason);
	/*
	 * Can it with these layouts and the sizes of this core? Called after match. Keeps what it
	 * needs to lower the unit, by the node that leads it, and says in reason what it does, or
	 * why not.
	 */
	bool (*plan)(struct cnn_backend *core, const struct cnn_unit *unit, char *reason);
	/*
	 * Can its nodes that want an input in the layout *want read the one that the value has? Then
	 * *want becomes what plan gets. NULL: they read *want alone.
	 */
	bool (*reads)(const struct cnn_layout *has, struct cnn_layout *want);
	/*
	 * Could the unit, which it has just matched, read or write this value in a dense layout,
	 * with the very results that it has with its own? plan is then asked with that. NULL: none
	 * could.
	 */
	bool (*takes_dense)(const struct cnn_backend *core, const struct cnn_unit *unit, int value);
	/*
	 * Could it give in the layout of out, as a node that does nothing else? Returns the cycles
	 * of that; 0: it cannot. If reason is not NULL, keeps what it needs to lower it and says there
	 * what it does. NULL: it changes no layouts.
	 */
	uint64_t (*convert)(struct cnn_backend *core, int node, const struct cnn_node_io *in,
			    const struct cnn_node_io *out, char *reason);
	/* Cycles of a unit that it has planned, with all its values in memory; 0: unknown. */
	uint64_t (*cycles)(struct cnn_backend *core, int lead);
	/*
	 * Adds tasks, programs and weights of the units of a segment that it has planned. The nodes
	 * of a unit follow each other there; all is accounted to the first.
	 */
	int (*lower)(struct cnn_backend *core, struct cnn_segment *seg);
	/*
	 * For nodes whose results are rounded in another way than the CPU's, such as those of
	 * float16: fills exact, bound and saturated. 1 if it did, 0 if the node is not such a one, or a
	 * negative enum cnn_status. NULL: none is.
	 */
	int (*bounds)(const struct cnnrt_core_info *info, const struct cnn_bounds *b);
	/* Multiply-adds that it can do in a cycle, with the numbers of a node that it has planned. */
	int64_t (*peak)(const struct cnn_backend *core, int node);
};

#define CORE(name) extern const struct cnn_backend_ops cnn_backend_##name;
#include "cores.def"
#undef CORE

/* The back end of a core's name; NULL: there is none. */
const struct cnn_backend_ops *cnn_backend_find(const char *name);

/* Prints into a reason of CNN_REASON_LEN and returns false. */
bool cnn_reject(char *reason, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends len zero bytes at a multiple of align; the offset, or a negative enum cnn_status. */
int64_t cnn_image_add(struct cnn_compile *compile, struct cnn_image *b, int64_t len, int64_t align);
/*
 * Tells that the word at byte @at of the program image holds the address @va of a buffer. To be
 * called in ascending order; 0 or an error. What a program adds to an address needs no call.
 */
int cnn_add_address(struct cnn_compile *compile, int64_t at, uint32_t va,
		    enum cnn_address_form form);
/* Appends a task, zeroed but for offset and length; NULL after cnn_fail. */
struct cnn_task *cnn_add_task(struct cnn_compile *compile, int64_t program, uint32_t length);

/* Adds what a cost has grown by from start (NULL: 0) to end. */
void cnn_add_cost(struct cnnrt_cost *to, const struct cnnrt_cost *end,
		  const struct cnnrt_cost *start);
/* So many nodes of this segment have been lowered; a second time is not told. */
void cnn_progress(struct cnn_compile *compile, int nodes);
/* Appends a span, not filled in; NULL after cnn_fail. At most CNN_SPANS_MAX are to be added. */
struct cnnrt_span *cnn_add_span(struct cnn_compile *compile);
static inline int64_t cnn_div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* b is positive. */
static inline int64_t cnn_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static inline int64_t cnn_gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static inline int64_t cnn_round_up(int64_t a, int64_t b)
{
	return cnn_div_up(a, b) * b;
}

static inline int64_t cnn_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t cnn_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#endif
