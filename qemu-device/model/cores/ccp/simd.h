/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The inner loops of core ccp, compiled once for each width of vectors. */
#ifndef CM_CCP_SIMD_H
#define CM_CCP_SIMD_H

#include "ccp.h"
#include "mutant.h"

/**
 * struct ccp_slice - what the inner loop of the convolution works on.
 * @tile: input tiles of the slice's channels, see struct ccp_conv
 * @lob: partial sums of output channel co_start
 * @channel: first input channel
 * @depth: input channels
 * @last: the slice ends with the last channel
 * @bias: and biases are enabled
 */
struct ccp_slice {
	const float *tile;
	float *lob;
	uint32_t channel, depth;
	bool last, bias;
};

/* What a thin EXEC writes: sums, if they are not all, results, if they are. */
#define CCP_TO_LOB	1
#define CCP_TO_MAP	2

/** struct ccp_simd - one width; all give the same results bit by bit. */
struct ccp_simd {
	uint32_t width;			/* floats of a vector */
	uint32_t mac_ps;		/* about what a multiply-add takes one thread */
	/* Lays out the input tile of one channel. */
	void (*fill)(const struct ccp *c, float *tile, uint64_t channel);
	/* Adds a slice to output channels @first.. of the EXEC; the last one writes them. */
	void (*add)(const struct ccp *c, const struct ccp_slice *s, uint32_t first,
		    uint32_t count);
	/* The same for an input channel of EXECs @begin..@end-1 of a run; @p is thin. */
	void (*thin)(const struct ccp *c, const struct ccp_conv *p, const struct ccp_run *r,
		     uint32_t begin, uint32_t end, uint32_t channel, uint32_t to);
	/* Fully connected: outputs @first.., in whole vectors; returns how many. */
	uint32_t (*fc)(const struct ccp *c, uint32_t first, uint32_t count);
};

/*
 * Weights of channel @o of the EXEC from input channel @channel on; *@bias is
 * where its bias would be.
 */
static inline const float *ccp_conv_weights(const struct ccp *c, const struct ccp_conv *p,
					    const struct ccp_bases *base, uint64_t channel,
					    uint32_t o, const float **bias)
{
	uint32_t n = p->co_start + o;
	const float *bank = c->weight + (size_t)(MUTANT(BANK) ? o % 4 : n % 4) * c->weight_floats;

	*bias = bank + base->bias + n / 4;
	return bank + base->weight +
	       (int64_t)((n / 4 * base->weight_pitch + channel) * p->kh * p->kw);
}

/* By enum cm_simd, one that the host has. */
const struct ccp_simd *ccp_simd(uint32_t simd);

#endif
