/* SPDX-License-Identifier: MIT */
/* A compiled network: where each node runs, where each value is, and the programs of the cores. */
#ifndef CNN_LOWERED_H
#define CNN_LOWERED_H

#include <cnnrt.h>

#include "ir/graph.h"
#include "layout.h"

/*
 * Device addresses of the three buffers as the compiler assumes them; the sizes are in struct
 * cnn_lowered. A job moves each buffer to a base of its own (cnn_relocate).
 */
#define CNN_VA_ARENA   0x10000000u
#define CNN_VA_WEIGHTS 0x80000000u
#define CNN_VA_PROGRAM 0xf0000000u
/* What each may grow to. Below CNN_VA_ARENA is free for others, such as statistics. */
#define CNN_ARENA_MAX	((int64_t)CNN_VA_WEIGHTS - CNN_VA_ARENA)
#define CNN_WEIGHTS_MAX ((int64_t)CNN_VA_PROGRAM - CNN_VA_WEIGHTS)
#define CNN_PROGRAM_MAX ((int64_t)0x100000000 - CNN_VA_PROGRAM)

enum cnn_buffer { CNN_ARENA, CNN_WEIGHTS, CNN_PROGRAM, CNN_BUFFERS };

/* Bases of the buffers are multiples of this, which is what one page table of the MMU maps. */
#define CNN_BASE_ALIGN	((uint32_t)1 << CNN_BASE_SHIFT)
#define CNN_BASE_SHIFT	22

/* Where the three buffers are, by enum cnn_buffer. */
struct cnn_bases {
	uint32_t va[CNN_BUFFERS];
};

extern const struct cnn_bases cnn_default_bases; /* CNN_VA_* */

/* The buffer that an address is of at the default bases. */
static inline enum cnn_buffer cnn_buffer_at(uint32_t va)
{
	return va >= CNN_VA_PROGRAM ? CNN_PROGRAM : va >= CNN_VA_WEIGHTS ? CNN_WEIGHTS : CNN_ARENA;
}

/* How a 32-bit word of a program holds a device address. */
enum cnn_address_form {
	CNN_ADDRESS_WORD, /* the word is the address */
	CNN_ADDRESS_HIGH, /* bits 9:0 are those of the address from CNN_BASE_SHIFT on */
	CNN_ADDRESS_FORMS
};

/* An entry of cnn_lowered.addresses: 25:0 index of the word, 27:26 buffer, 28 form, 31:29 zero. */
#define CNN_ADDRESS_BUFFER_SHIFT 26
#define CNN_ADDRESS_FORM_SHIFT	 28
#define CNN_ADDRESS(word, buffer, form) \
	((uint32_t)(word) | (uint32_t)(buffer) << CNN_ADDRESS_BUFFER_SHIFT | \
	 (uint32_t)(form) << CNN_ADDRESS_FORM_SHIFT)

#define CNN_SPANS_MAX  (1 << 20)

/* A value in the arena; index = value index of the graph. */
struct cnn_slot {
	bool used;   /* false: no device node reads or writes it */
	int64_t offset; /* bytes from CNN_VA_ARENA, multiple of 64 */
	int64_t bytes;	/* multiple of 64 */
	/*
	 * Nothing else is ever in its pages, and offset is a multiple of 4096: the executor may bind
	 * the application's own buffer there. Wanted for graph inputs and outputs with a dense layout.
	 */
	bool own_pages;
	struct cnn_layout layout;
};

#define CNN_ON_CPU  (-1)
#define CNN_NOWHERE (-2)

/* Where a node runs; index = node index of the graph. */
struct cnn_placement {
	int core; /* index in the cores given to cnn_lower, or CNN_ON_CPU */
	int segment;
	int order; /* number of nodes that run before it */
	/*
	 * Why: names the operator, the parameter and the limit. For a device node what it became
	 * ("convolution, 3 slabs of 16 rows"), or the node that accounts for it.
	 */
	char reason[CNN_REASON_LEN];
	/*
	 * Useful multiply-adds, as cnn_node_macs. Of nodes that a core runs as one, the first has
	 * those and the costs of all.
	 */
	int64_t macs;
	struct cnnrt_cost cost;
	int64_t cost_ns; /* on the target, without copies and submission */
	/* The cheapest of the other places that take it, by an estimate; CNN_NOWHERE: none does. */
	int next_core;
	int64_t next_ns;
};

/* One program: becomes one task of the job. */
struct cnn_task {
	int64_t offset;	      /* in the program image: its VA is CNN_VA_PROGRAM + offset */
	uint32_t length;      /* bytes */
	uint64_t cycles;      /* by the core's cycle model, without DMA contention or scrubbing */
	uint64_t cycle_limit; /* for the packet: cycles with a margin, at most job_cycles_max */
	bool restartable;     /* writes nothing that it reads from an earlier task */
	int first_node, last_node; /* whose work it does, graph indices */
};

/* Nodes that run in one place, one after the other. */
struct cnn_segment {
	int core;		 /* index of the core, or CNN_ON_CPU */
	int *nodes, n_nodes;	 /* graph indices, in the order they run: ascending */
	int first_task, n_tasks; /* none if its nodes only rename values */
	/*
	 * Device only: value indices, ascending. in: read here and made elsewhere (constants that
	 * a device node reads from the arena included). out: values made here and read elsewhere, or
	 * a graph output.
	 */
	int *in, *out;
	int n_in, n_out;
	bool restartable; /* the whole job: writes nothing that its nodes read from outside */
};

struct cnn_lowered {
	struct cnn_placement *nodes; /* n_nodes */
	struct cnn_slot *slots;	     /* n_values */
	struct cnn_segment *segments;
	struct cnn_task *tasks;
	int n_nodes, n_values, n_segments, n_tasks;
	struct cnnrt_span *spans; /* at most CNN_SPANS_MAX; see cnnrt_program_spans */
	int n_spans;
	uint8_t *program;
	int64_t program_bytes;
	uint8_t *weights;
	int64_t weight_bytes;
	uint32_t *addresses; /* CNN_ADDRESS() of the words of program that hold one, ascending */
	int n_addresses;
	bool borrowed; /* program and weights are someone else's memory */
	int64_t arena_bytes;
	int64_t macs, device_macs; /* of all nodes, and of those on cores */
	int64_t ns;		   /* of one run on the target, from start to end */
	uint64_t target_hash;	   /* cnn_target_hash() of the target */
};

void cnn_lowered_free(struct cnn_lowered *l);

/*
 * Makes addresses in @program, a copy of l->program, refer to the buffers at @bases, which are
 * multiples of CNN_BASE_ALIGN.
 */
void cnn_relocate(const struct cnn_lowered *l, const struct cnn_bases *bases, uint8_t *program);
/* NULL if each entry of addresses is valid for the program and the sizes in l, else why not. */
const char *cnn_check_addresses(const struct cnn_lowered *l, int *entry);

/* Do programs for one core run on the other, too? The rule of DRM_CNNACC_JOB_ANY_EQUAL. */
bool cnn_cores_equal(const struct cnnrt_core_info *a, const struct cnnrt_core_info *b);
/* The cores that are equal to one core, as a mask; its own bit is set. */
uint32_t cnn_equal_cores(const struct cnnrt_core_info *cores, unsigned int count, unsigned int core);

/* Does the CPU or the application read a value? */
bool cnn_read_on_host(const struct cnn_graph *g, const struct cnn_lowered *l, int v);
/* Does an operator only give its input another shape or layout, with the same elements in order? */
bool cnn_op_renames(enum cnn_op op);
/*
 * Is a node on the CPU such an operator, and do cores alone read its output? Then the host moves
 * the elements from where they are, in the arena if a core made them, to the output's slot.
 */
bool cnn_moves_to_slot(const struct cnn_graph *g, const struct cnn_lowered *l, int node);
/* Does the host read a value as a dense tensor? A move of what a core made is no such reader. */
bool cnn_read_dense(const struct cnn_graph *g, const struct cnn_lowered *l, int v);
/* The layout that a move reads: that of the slot if a core made the value, else a dense one. */
struct cnn_layout cnn_move_source(const struct cnn_graph *g, const struct cnn_lowered *l, int v);

/*
 * A tensor's dense data to and from the arena (arena points at CNN_VA_ARENA). A dense layout is
 * one copy; a caller who wants none uses arena + slot->offset itself.
 */
void cnn_slot_write(const struct cnn_slot *slot, void *arena, const void *dense);
void cnn_slot_read(const struct cnn_slot *slot, const void *arena, void *dense);

#endif
