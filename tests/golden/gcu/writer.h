/* SPDX-License-Identifier: MIT */
/* Writing and printing programs of gcu. */
#ifndef GOLDEN_GCU_WRITER_H
#define GOLDEN_GCU_WRITER_H

#include <stdint.h>

#include "cnnacc_gcu.h"
#include "../program.h"

#define GCU_OUT(type)		((uint32_t)CNNACC_GCU_OUT_##type << CNNACC_GCU_OUT_SHIFT)
#define GCU_ACT(type)		((uint32_t)CNNACC_GCU_ACT_##type << CNNACC_GCU_ACT_SHIFT)
#define GCU_FORMAT(type)	((uint32_t)CNNACC_GCU_##type << CNNACC_GCU_FORMAT_SHIFT)

/* Two 16-bit halves and four bytes of a word, lowest first. */
uint32_t gcu_halves(uint32_t low, uint32_t high);
uint32_t gcu_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d);
/* Blocks so far. */
unsigned int gcu_blocks(const struct program *program);
void gcu_write_layer(struct program *program, const struct cnnacc_gcu_layer *layer);
/* A probe or a fill. */
void gcu_write_probe(struct program *program, const struct cnnacc_gcu_probe *probe);
void gcu_write_wait(struct program *program, const struct cnnacc_gcu_wait *wait);
/* @base: index of the first block. */
void gcu_print(FILE *out, const struct program *program, unsigned int base);

#endif /* GOLDEN_GCU_WRITER_H */
