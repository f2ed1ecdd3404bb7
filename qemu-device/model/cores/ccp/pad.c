// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Padding unit: adds layers of zeros around every plane; copies the bits unchanged. */
#include <string.h>

#include "ccp.h"

static uint32_t check(struct ccp *c)
{
	const uint32_t *g = c->s->group[CCP_PAD0];
	struct ccp_pad *p = &c->plan.pad;
	struct ccp_maps *m = &p->m;
	uint32_t bad;

	memset(p, 0, sizeof(*p));
	p->layers = g[0];
	p->channels = ccp_bits(g[2], 15, 0);
	m->iw = ccp_bits(g[1], 15, 0);
	m->ih = ccp_or(ccp_bits(g[1], 31, 16), m->iw);
	m->in_base = (int32_t)g[3];
	m->out_base = (int32_t)g[4];
	if (ccp_bits(g[2], 31, 16))
		return CNNACC_CCP_BAD_RESERVED;
	if (p->layers != 1 && p->layers != 2)
		return CNNACC_CCP_BAD_PAD;
	if (!m->iw)
		return CNNACC_CCP_BAD_IN_SIZE;
	if (!p->channels)
		return CNNACC_CCP_BAD_CHANNELS;
	m->oh = m->ih + 2 * p->layers;
	m->ow = m->iw + 2 * p->layers;
	bad = ccp_check_pitches(m, g[5], g[6]);
	if (!bad)
		bad = ccp_check_planes(c, m, p->channels);
	if (bad)
		return bad;
	ccp_work_pad(c);
	return 0;
}

static void pad_row(struct ccp *c, uint64_t channel, uint64_t y)
{
	const struct ccp_pad *p = &c->plan.pad;
	const struct ccp_maps *m = &p->m;
	float *out = ccp_out_plane(c, m, channel) + y * m->ow;

	if (y < p->layers || y >= p->layers + m->ih) {
		memset(out, 0, m->ow * sizeof(*out));
		return;
	}
	memset(out, 0, p->layers * sizeof(*out));
	memcpy(out + p->layers, ccp_in_plane(c, m, channel) + (y - p->layers) * m->iw,
	       m->iw * sizeof(*out));
	memset(out + p->layers + m->iw, 0, p->layers * sizeof(*out));
}

/* pos[0]: channels done; pos[1]: output rows done of the next channel. */
static bool check_pos(const struct ccp *c)
{
	return c->s->pos[0] < c->plan.pad.channels && c->s->pos[1] < c->plan.pad.m.oh;
}

static bool run(struct ccp *c, int64_t *budget)
{
	const struct ccp_pad *p = &c->plan.pad;
	uint64_t *pos = c->s->pos;

	for (; pos[0] < p->channels; pos[0]++, pos[1] = 0)
		for (; pos[1] < p->m.oh; pos[1]++) {
			if (*budget <= 0)
				return false;
			pad_row(c, pos[0], pos[1]);
			*budget -= p->m.ow + 20;
		}
	return true;
}

const struct ccp_unit ccp_pad_unit = { check, check_pos, run };
