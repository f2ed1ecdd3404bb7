/* SPDX-License-Identifier: MIT */
/* What occurred in the jobs of a golden model. */
#ifndef GOLDEN_GCU_COVER_H
#define GOLDEN_GCU_COVER_H

#include "gcu.h"

/** enum golden_gcu_sum - how the sum of an accumulator and a FP16 product ended. */
enum golden_gcu_sum {
	GOLDEN_GCU_SUM_NORMAL,
	GOLDEN_GCU_SUM_BELOW,		/* exponent below that of a normal number */
	GOLDEN_GCU_SUM_POWER,		/* S is -2^24 */
	GOLDEN_GCU_SUM_CANCELLED,	/* |S| below 2^23 */
	GOLDEN_GCU_SUM_ABOVE,		/* exponent field above 254 */
	GOLDEN_GCU_SUMS,
};

/** enum golden_gcu_store - how a FP32 became FP16. */
enum golden_gcu_store {
	GOLDEN_GCU_STORE_NORMAL, GOLDEN_GCU_STORE_NAN, GOLDEN_GCU_STORE_BELOW,
	GOLDEN_GCU_STORE_ABOVE, GOLDEN_GCU_STORES,
};

/** enum golden_gcu_check - where the cycle limit is checked. */
enum golden_gcu_check {
	GOLDEN_GCU_AT_BOOT, GOLDEN_GCU_AT_OP4, GOLDEN_GCU_AT_ROW, GOLDEN_GCU_AT_END,
	GOLDEN_GCU_AT_PROBE, GOLDEN_GCU_AT_FILL, GOLDEN_GCU_AT_WAIT, GOLDEN_GCU_CHECKS,
};

enum golden_gcu_stall {
	GOLDEN_GCU_STALL_ROW, GOLDEN_GCU_STALL_WEIGHT, GOLDEN_GCU_STALL_PSUM,
	GOLDEN_GCU_STALL_RBUF, GOLDEN_GCU_STALLS,
};

/* Flags of a layer's control word, from bit 8 on: coverage.flag. */
#define GOLDEN_GCU_FLAGS	8

/** struct golden_gcu_coverage - number of occurrences. */
struct golden_gcu_coverage {
	/* ends of jobs */
	uint64_t length, cfg[CNNACC_GCU_BAD_ALIGN + 1], range[2], table_end;
	uint64_t deadlock[CNNACC_GCU_DEADLOCK_EVICTED + 1];
	uint64_t limit[GOLDEN_GCU_CHECKS];
	uint64_t partly_written;	/* an ofmap row that failed behind its first byte */
	/* layers that completed */
	uint64_t layers[3][2];		/* enum cnnacc_gcu_format, TABLE */
	uint64_t flag[3][GOLDEN_GCU_FLAGS];
	uint64_t act[3][5];		/* enum cnnacc_gcu_act */
	uint64_t out[6];		/* enum cnnacc_gcu_out */
	uint64_t hstride[9], vstride[9], inner_lr[8], inner_tb[8];
	uint64_t dilated[2], padded[4], oblong, cut[2], narrow;
	uint64_t part_channels, part_kernels;
	uint64_t groups[3];		/* one; several, at most and above ATOMIC_K channels */
	uint64_t kernel_size[6];	/* kbufgrpsz 1, 9, 25, 49, 81, 121 */
	uint64_t stride[3][2];		/* ifmap, psum, ofmap: column stride above 64 */
	uint64_t column_code[CNNACC_GCU_COLUMNS_CODE_MAX + 1];
	/* row slots and kernel area */
	uint64_t hit, full[2], ahead, evicted[2], evicted_many;
	uint64_t restarted, continued, in_vain, outside, kept_op4;
	uint64_t resident_all, swapped, refilled_row, refilled_weights;
	uint64_t masked_row, masked_column, stall[GOLDEN_GCU_STALLS];
	/* other blocks */
	uint64_t waited, filled[2], probed[3], rotated[2], missed, searched_nothing;
	/* sums */
	uint64_t saturated[2][2];	/* ACC16; low, high */
	uint64_t sum[GOLDEN_GCU_SUMS], sum_big[2], old_subnormal, old_special, far_apart;
	uint64_t raised_by_zero, floored, shifted_out, special_factor;
	/* stages */
	uint64_t linear_wide[2], linear_cut[2];
	uint64_t half[2][2];		/* ROUND_UP; positive */
	uint64_t relu_cut[2], leaky_cut[2], act_cut[2];
	uint64_t cell[2][4];		/* negative; piece of the lut */
	uint64_t clamped[2][2], out_cut[4][2];
	uint64_t nan[5], store[GOLDEN_GCU_STORES];
};

#endif /* GOLDEN_GCU_COVER_H */
