/* SPDX-License-Identifier: MIT */
/* Weights and the table of activations as core gcu reads them from memory. */
#ifndef GCUC_PACK_H
#define GCUC_PACK_H

#include "gcu.h"

/* Bytes of a piece's weights. */
int64_t gcuc_packed_bytes(const struct gcuc_hw *hw, const struct gcuc_block *b);
void gcuc_pack(const struct gcuc_hw *hw, const struct gcuc_conv *v, const struct gcuc_piece *p,
	       uint8_t *to);
/* CNNACC_GCU_LUT_ENTRIES of sigmoid and tanh. */
void gcuc_make_lut(uint8_t *to);

#endif
