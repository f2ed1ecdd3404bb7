// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Convolution unit: estimated host time, for chunks and their division among threads. */
#include "ccp.h"
#include "simd.h"

#define SETUP_NS	20	/* per output channel, in addition to its taps */
#define TILE_NS		50	/* per input channel */

int64_t ccp_conv_ns(const struct ccp *c, uint32_t depth, uint32_t count)
{
	const struct ccp_conv *p = &c->plan.conv;
	int64_t macs = (int64_t)p->rows * p->lanes * p->kh * p->kw * depth * count;

	return macs * c->simd->mac_ps / 1000 + count * SETUP_NS + depth * TILE_NS;
}
