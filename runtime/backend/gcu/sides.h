/* SPDX-License-Identifier: MIT */
/* Axes of a convolution, and the parts of them that a piece needs. */
#ifndef GCUC_SIDES_H
#define GCUC_SIDES_H

#include "gcu.h"

/* Rows or columns, or every step-th of the output with the kernel's points that these have. */
struct gcuc_side {
	struct gcuc_axis a;
	int64_t out_first, out_step;
	int64_t kernel_first, kernel_step;
};

/* A range of an axis. */
struct gcuc_span {
	int64_t first, count;
};

/* Range number @number of those of size @size that make up all. */
static inline struct gcuc_span gcuc_span_at(int64_t number, int64_t size, int64_t all)
{
	return (struct gcuc_span){ number * size, cnn_min(size, all - number * size) };
}

/* Phases of a plan: 1 but of transposed convolutions. */
int64_t gcuc_all_phases(const struct gcuc_node *n);
/* Both sides of a phase, with rows merged. */
void gcuc_get_sides(const struct gcuc_node *n, int64_t phase, struct gcuc_side *y,
		    struct gcuc_side *x);
/*
 * The part of an axis that outputs @out of kernel points @kernel need; *in: its first element.
 * False: more padding than the core has.
 */
bool gcuc_cut_axis(const struct gcuc_axis *whole, struct gcuc_span out, struct gcuc_span kernel,
		   struct gcuc_axis *a, int64_t *in);
/* The slice of the input that output slice d reads with slice k of the kernel; -1: none. */
int64_t gcuc_slice_at(const struct gcuc_axis *z, int64_t d, int64_t k);
/* The slices of the kernel that an output slice has: from the first to the last of them. */
struct gcuc_span gcuc_kernel_slices(const struct gcuc_axis *z, int64_t slice);

#endif
