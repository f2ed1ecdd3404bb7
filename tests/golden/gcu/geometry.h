/* SPDX-License-Identifier: MIT */
/* Where taps, channel groups and bytes are; sections "Memory layouts", "Geometry", "CBUF". */
#ifndef GOLDEN_GCU_GEOMETRY_H
#define GOLDEN_GCU_GEOMETRY_H

#include "block.h"

/** struct golden_gcu_range - a kernel group: kernels k0..k1, channel groups first..last. */
struct golden_gcu_range {
	int64_t k0, k1, kn, first, last, cgrpn;
};

int64_t golden_gcu_ceil(int64_t a, int64_t b);
/* Number of kernel groups. */
int64_t golden_gcu_kernel_groups(const struct golden_gcu_layer *l, int64_t atomic_k);
struct golden_gcu_range golden_gcu_range(const struct golden_gcu_layer *l, int64_t atomic_c,
					 int64_t atomic_k, int64_t i);
/* Input row of (h, r), input column of (w, s); -1 if masked. */
int64_t golden_gcu_tap_row(const struct golden_gcu_layer *l, int64_t h, int64_t r);
int64_t golden_gcu_tap_column(const struct golden_gcu_layer *l, int64_t w, int64_t s);

/* 64-byte lines of @bytes contiguous bytes, and of @n columns of @m bytes each. */
int64_t golden_gcu_lines(int64_t va, int64_t bytes);
int64_t golden_gcu_part_lines(int64_t va, int64_t n, int64_t m, int64_t column_stride);

/* Physical word of logical word @word of an area; -1: outside. */
int64_t golden_gcu_physical(enum cnnacc_gcu_port port, int64_t word, int64_t banks,
			    int64_t fmbufbankn);
/* Logical byte address of a surface, in the feature-map and in the kernel area. */
int64_t golden_gcu_slot_byte(const struct golden_gcu_layer *l, int64_t atomic_c, int64_t slot,
			     int64_t column);

/** struct golden_gcu_point - a kernel's point in the kernel area; @kernel is k - k0. */
struct golden_gcu_point {
	int64_t slot, r, s, kernel;
};

int64_t golden_gcu_kernel_byte(const struct golden_gcu_layer *l,
			       const struct golden_gcu_params *p, struct golden_gcu_point at);
/* The word at logical byte address @address, rotated right by the bytes of an unaligned one. */
void golden_gcu_rotate(const uint8_t *word, int64_t address, int64_t word_bytes, uint8_t *out);

#endif /* GOLDEN_GCU_GEOMETRY_H */
