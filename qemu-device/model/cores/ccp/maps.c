// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Feature maps in the data banks: pitches and bounds. */
#include "ccp.h"

/*
 * Do planes first..last, @plane floats each, exceed [0, floats)?  Bases and pitches have 32 bits,
 * channels 16, so nothing overflows.
 */
static bool outside_bank(int64_t base, uint64_t pitch, uint64_t first, uint64_t last,
			 uint64_t plane, uint64_t floats)
{
	int64_t start = base + (int64_t)(first * pitch);
	int64_t end = base + (int64_t)(last * pitch + plane);

	return start < 0 || end > (int64_t)floats;
}

uint32_t ccp_check_pitches(struct ccp_maps *m, uint32_t in_pitch, uint32_t out_pitch)
{
	uint64_t in_plane = (uint64_t)m->ih * m->iw, out_plane = (uint64_t)m->oh * m->ow;

	m->in_pitch = in_pitch ? in_pitch : in_plane;
	m->out_pitch = out_pitch ? out_pitch : out_plane;
	if (m->in_pitch < in_plane)
		return CNNACC_CCP_BAD_IN_PITCH;
	if (m->out_pitch < out_plane)
		return CNNACC_CCP_BAD_OUT_PITCH;
	return 0;
}

/* Check planes 0..channels-1 of both maps, for pool and pad. */
uint32_t ccp_check_planes(const struct ccp *c, const struct ccp_maps *m, uint32_t channels)
{
	if (outside_bank(m->in_base, m->in_pitch, 0, channels - 1, (uint64_t)m->ih * m->iw,
			 c->bank_floats))
		return CNNACC_CCP_RANGE_INPUT;
	if (outside_bank(m->out_base, m->out_pitch, 0, channels - 1, (uint64_t)m->oh * m->ow,
			 c->bank_floats))
		return CNNACC_CCP_RANGE_OUTPUT;
	return 0;
}
