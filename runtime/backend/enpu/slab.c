// SPDX-License-Identifier: MIT
/* Which part of a layer's input a part of its output needs. */
#include "enpu.h"

struct enpuc_slab enpuc_slab_at(const struct enpuc_layer *l, int64_t n, int64_t y, int64_t x,
				int64_t h, int64_t w)
{
	struct enpuc_slab s = { .n = n, .y = y, .x = x, .h = h, .w = w };
	int64_t top = y * l->sh - l->ph, left = x * l->sw - l->pw;
	int64_t bottom = top + (h - 1) * l->sh + (l->dh + 1) * (l->hk - 1) + 1;
	int64_t right = left + (w - 1) * l->sw + (l->dw + 1) * (l->wk - 1) + 1;

	s.in_y = cnn_min(cnn_max(top, 0), l->hi - 1);
	s.in_x = cnn_min(cnn_max(left, 0), l->wi - 1);
	s.ph = s.in_y - top;
	s.pw = s.in_x - left;
	s.in_h = cnn_max(cnn_min(bottom, l->hi) - s.in_y, 1);
	s.in_w = cnn_max(cnn_min(right, l->wi) - s.in_x, 1);
	return s;
}

bool enpuc_needs_second(const struct enpuc_layer *l, int i)
{
	return l->stage[i].b >= 0 &&
	       (l->stage[i].b != l->in || enpuc_uses(l->stage[0].opcode) & ENPUC_WINDOW);
}

struct enpuc_slab enpuc_whole(const struct enpuc_layer *l)
{
	return (struct enpuc_slab){
		.h = l->ho, .w = l->wo, .in_h = l->hi, .in_w = l->wi, .ph = l->ph, .pw = l->pw,
	};
}

int64_t enpuc_in_words(const struct enpuc_layer *l, const struct enpuc_slab *s)
{
	return s->in_h * s->in_w * enpuc_groups(l->ci);
}

int64_t enpuc_out_words(const struct enpuc_layer *l, const struct enpuc_slab *s)
{
	return s->h * s->w * enpuc_groups(l->co);
}
