/* SPDX-License-Identifier: MIT */
/* enpu programs with independently known results: the vectors of the page. */
#ifndef GOLDEN_VECTORS_ENPU_H
#define GOLDEN_VECTORS_ENPU_H

#include "images.h"

unsigned int enpu_vector_count(void);
const char *enpu_vector_name(unsigned int index);
/* Bits of a psum that the vector wants, 0 if any; bytes of the weight DTCM. */
unsigned int enpu_vector_psum_bits(unsigned int index);
uint32_t enpu_vector_weight_bytes(unsigned int index);
/* Fill in the program and its data. */
void enpu_vector_fill(unsigned int index, struct enpu_images *images);
/* Make the job of a vector. */
void enpu_vector_build(unsigned int index, struct job *job);
/* After the run: are memory and statistics as expected? */
bool enpu_vector_check(unsigned int index, struct job *job);

/** struct enpu_cost - counters of a program that the page gives, and a layer's clocks. */
struct enpu_cost {
	uint64_t tiles, setup, compute, load, fused, store, useful, with, without;
};

/* NULL if the page gives none. */
const struct enpu_cost *enpu_vector_cost(unsigned int index);

#endif /* GOLDEN_VECTORS_ENPU_H */
