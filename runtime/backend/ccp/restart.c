// SPDX-License-Identifier: MIT
/* Whether a task of core ccp may run again: the memory that it has read and written. */
#include "code.h"

static struct ccpc_line_range range_of(const struct ccpc_region *r)
{
	return (struct ccpc_line_range){ r->line,
					 r->line + (r->pieces - 1) * r->piece_pitch +
						 ccpc_row_line(r, r->rows - 1, r->row_pitch) +
						 r->lines };
}

static bool is_covered(const struct ccpc_line_range *list, int n, struct ccpc_line_range s)
{
	for (int i = 0; i < n; i++)
		if (list[i].from <= s.from && s.to <= list[i].to)
			return true;
	return false;
}

/* Adds s, merged with the last range if they touch; false if the list is full. */
static bool add_range(struct ccpc_line_range *list, int *n, struct ccpc_line_range s)
{
	struct ccpc_line_range *last = *n ? &list[*n - 1] : NULL;

	if (last && s.from <= last->to && last->from <= s.to) {
		last->from = cnn_min(last->from, s.from);
		last->to = cnn_max(last->to, s.to);
		return true;
	}
	if (*n == CCPC_RANGES)
		return false;
	list[(*n)++] = s;
	return true;
}

void ccpc_note_read(struct ccpc_code *c, const struct ccpc_region *r)
{
	struct ccpc_line_range s = range_of(r);

	if (is_covered(c->writes, c->n_writes, s) || is_covered(c->reads, c->n_reads, s))
		return;
	c->restartable &= add_range(c->reads, &c->n_reads, s);
}

void ccpc_note_write(struct ccpc_code *c, const struct ccpc_region *r)
{
	struct ccpc_line_range s = range_of(r);

	for (int i = 0; i < c->n_reads; i++)
		if (s.from < c->reads[i].to && c->reads[i].from < s.to)
			c->restartable = false;
	/* Only contiguous memory counts as written. To forget a range merely costs the flag. */
	if (r->pieces == 1 && r->rows == 1)
		add_range(c->writes, &c->n_writes, s);
}
