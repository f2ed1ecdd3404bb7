// SPDX-License-Identifier: MIT
#include "micro.h"

/* A point of an extended axis, in points of the map; -1: padding. */
static int point(unsigned int at, unsigned int before, unsigned int size, unsigned int inner)
{
	unsigned int period = inner + 1;

	if (at < before || (at - before) % period || (at - before) / period >= size)
		return -1;
	return (int)((at - before) / period);
}

int micro_row(const struct micro *m, unsigned int h, unsigned int r)
{
	return point(h * m->l.vstride + r * (m->l.dil_v + 1), m->l.top, m->l.h, m->l.inner_tb);
}

int micro_column(const struct micro *m, unsigned int w, unsigned int s)
{
	return point(w * m->l.hstride + s * (m->l.dil_h + 1), m->l.left, m->l.w, m->l.inner_lr);
}

/* First and last channel that the kernels of the group meet. */
void micro_begin_group(struct micro *m)
{
	unsigned int part = m->l.c / m->l.groups, low = 0, high = m->l.c - 1;

	m->k0 = m->group * m->build.atomic_k;
	m->kn = m->l.k - m->k0 < m->build.atomic_k ? m->l.k - m->k0 : m->build.atomic_k;
	if (m->l.groups > 1) {
		low = m->k0 / part * part;
		high = (m->k0 + m->kn - 1) / part * part + part - 1;
	}
	m->cg_first = low / m->build.atomic_c;
	m->cg_last = high / m->build.atomic_c;
}

unsigned int micro_channels(const struct micro *m, unsigned int cg)
{
	unsigned int left = m->l.c - cg * m->build.atomic_c;

	return left < m->build.atomic_c ? left : m->build.atomic_c;
}

struct micro_walker micro_first(const struct micro *m)
{
	return (struct micro_walker){ .cg = m->cg_first };
}

bool micro_next(const struct micro *m, struct micro_walker *at)
{
	if (++at->r < m->l.r)
		return false;
	at->r = 0;
	at->op4++;
	if (at->cg++ == m->cg_last) {
		at->cg = m->cg_first;
		at->end = ++at->h == m->l.ofmh;
	}
	return true;
}

unsigned int micro_useful(const struct micro *m, unsigned int cg)
{
	unsigned int part = m->l.c / m->l.groups, useful = 0;

	for (unsigned int k = m->k0; k < m->k0 + m->kn; k++)
		for (unsigned int j = 0; j < micro_channels(m, cg); j++)
			useful += m->l.groups == 1 ||
				  (cg * m->build.atomic_c + j) / part == k / part;
	return useful;
}
