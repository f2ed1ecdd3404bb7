/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The inner loops of core ccp, compiled once for each vector width. */
#ifndef CM_CCP_SIMD_H
#define CM_CCP_SIMD_H

#include "ccp.h"
#include "ccp_mutant.h"

/**
 * struct ccp_slice - the input channels that the convolution's inner loop adds.
 * @tile: input tiles of the slice's channels, see struct ccp_conv
 * @lob: partial sums of output channel co_start
 * @channel: first input channel
 * @depth: number of input channels
 * @last: the slice ends with the last input channel
 * @bias: @last, and biases are enabled
 */
struct ccp_slice {
	const float *tile;
	float *lob;
	uint32_t channel, depth;
	bool last, bias;
};

/* Destinations of a direct convolution: sums to the LOBs, final results to the output map. */
#define CCP_TO_LOB	1
#define CCP_TO_MAP	2

/** struct ccp_simd - inner loops for one vector width; all give bit-identical results. */
struct ccp_simd {
	uint32_t width;			/* floats in a vector */
	uint32_t mac_ps;		/* estimated time of a multiply-add on one thread */
	/* Fill the input tile of one channel. */
	void (*fill)(const struct ccp *c, float *tile, uint64_t channel);
	/* Add a slice to output channels @first..; the last slice also stores the results. */
	void (*add)(const struct ccp *c, const struct ccp_slice *s, uint32_t first,
		    uint32_t count);
	/* Direct convolution of one input channel for EXECs @begin..@end-1 of a run. */
	void (*direct)(const struct ccp *c, const struct ccp_conv *p, const struct ccp_run *r,
		       uint32_t begin, uint32_t end, uint32_t channel, uint32_t to);
	/* Fully connected: compute outputs @first.. in whole vectors; return how many. */
	uint32_t (*fc)(const struct ccp *c, uint32_t first, uint32_t count);
};

/*
 * Address of the weights of the EXEC's output channel @o from input channel @channel on; *@bias is
 * the address of its bias.
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

/* @simd: enum cm_simd, resolved to one that the host supports. */
const struct ccp_simd *ccp_simd(uint32_t simd);

#endif
