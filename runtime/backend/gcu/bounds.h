/* SPDX-License-Identifier: MIT */
/*
 * How far results of core gcu in FP16 may be from the exact ones
 * (Documentation/hardware/gcu.rst).
 */
#ifndef CNN_GCU_BOUNDS_H
#define CNN_GCU_BOUNDS_H

#include "backend/backend.h"

/*
 * The hook bounds of struct cnn_backend_ops, for Conv, ConvTranspose, Gemm and MatMul with constant
 * weights and the activations that the core has: 1, 0 for any other node, or CNN_ENOMEM.
 */
int gcuc_bounds(const struct cnnrt_core_info *info, const struct cnn_bounds *b);

#endif
