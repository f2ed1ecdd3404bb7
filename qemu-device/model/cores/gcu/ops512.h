/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Operations on integers in vectors of 512 bits, for add_simd.h and its relatives. */
#ifndef CM_GCU_OPS512_H
#define CM_GCU_OPS512_H

#include <immintrin.h>

#define LANES		16
#define KERNELS		8
#define VECTOR		__m512i
#define LOAD(p)		_mm512_loadu_si512(p)
#define STORE(p, v)	_mm512_storeu_si512(p, v)
#define SPLAT(n)	_mm512_set1_epi32(n)
#define ADD		_mm512_add_epi32
#define SUB		_mm512_sub_epi32
#define AND		_mm512_and_si512
#define MIN		_mm512_min_epi32
#define MAX		_mm512_max_epi32
#define SRAI16		_mm512_srai_epi16
#define SRAI32		_mm512_srai_epi32
#define SLLI		_mm512_slli_epi32
#define FIX_LOW(low, high, max, min) \
	_mm512_maskz_mov_epi32(_mm512_cmpge_epi32_mask(high, min), \
			       _mm512_mask_mov_epi32(low, _mm512_cmpgt_epi32_mask(high, max), \
						     SPLAT(255)))

#define MULTIPLY	_mm512_mullo_epi32
#define LANE_NUMBERS	_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define GATHER(p, index)	_mm512_i32gather_epi32(index, p, 4)
#define SCATTER(p, index, v)	_mm512_i32scatter_epi32(p, index, v, 4)

#endif
