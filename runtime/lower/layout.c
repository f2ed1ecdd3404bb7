// SPDX-License-Identifier: MIT
/* How values lie in the arena. */
#include <string.h>

#include "internal.h"

struct axis {
	int64_t count, step;
};

/* The axes of l from the inside out, without those of one element, merged where they touch. */
static int layout_axes(const struct cnn_layout *l, struct axis axes[3])
{
	const struct axis all[3] = {
		{ l->plane, 1 }, { l->c, l->plane_pitch }, { l->n, l->image_pitch },
	};
	int n = 0;

	for (int i = 0; i < 3; i++) {
		if (all[i].count == 1)
			continue;
		if (n && all[i].step == axes[n - 1].count * axes[n - 1].step)
			axes[n - 1].count *= all[i].count;
		else
			axes[n++] = all[i];
	}
	return n;
}

bool lw_view(const struct cnn_layout *l, int64_t n, int64_t c, int64_t plane,
	     struct cnn_layout *out)
{
	const int64_t want[3] = { plane, c, n };
	struct axis axes[3];
	int64_t step[3], next = 1;
	int count = layout_axes(l, axes), at = 0;

	if (n * c * plane != l->n * l->c * l->plane)
		return false;
	for (int i = 0; i < 3; i++) {
		step[i] = next;
		if (want[i] == 1)
			continue;
		if (at >= count || axes[at].count % want[i])
			return false;
		step[i] = axes[at].step;
		axes[at].count /= want[i];
		axes[at].step *= want[i];
		next = axes[at].step;
		if (axes[at].count == 1)
			at++;
	}
	if (plane > 1 && step[0] != 1)
		return false;
	*out = (struct cnn_layout){
		.n = n, .c = c, .plane = plane, .plane_pitch = step[1], .image_pitch = step[2],
	};
	return true;
}

int64_t lw_layout_floats(const struct cnn_layout *l)
{
	return (l->n - 1) * l->image_pitch + (l->c - 1) * l->plane_pitch + l->plane;
}

void cnn_slot_write(const struct cnn_slot *slot, void *arena, const float *dense)
{
	const struct cnn_layout *l = &slot->layout;
	float *base = (float *)((uint8_t *)arena + slot->offset);

	if (!l->plane)
		return;
	if (cnn_layout_dense(l)) {
		memcpy(base, dense, (size_t)(l->n * l->c * l->plane) * sizeof(float));
		return;
	}
	for (int64_t n = 0; n < l->n; n++)
		for (int64_t c = 0; c < l->c; c++, dense += l->plane)
			memcpy(base + n * l->image_pitch + c * l->plane_pitch, dense,
			       (size_t)l->plane * sizeof(float));
}

void cnn_slot_read(const struct cnn_slot *slot, const void *arena, float *dense)
{
	const struct cnn_layout *l = &slot->layout;
	const float *base = (const float *)((const uint8_t *)arena + slot->offset);

	if (!l->plane)
		return;
	if (cnn_layout_dense(l)) {
		memcpy(dense, base, (size_t)(l->n * l->c * l->plane) * sizeof(float));
		return;
	}
	for (int64_t n = 0; n < l->n; n++)
		for (int64_t c = 0; c < l->c; c++, dense += l->plane)
			memcpy(dense, base + n * l->image_pitch + c * l->plane_pitch,
			       (size_t)l->plane * sizeof(float));
}
