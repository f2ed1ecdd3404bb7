// SPDX-License-Identifier: MIT
/* How values lie in the arena. */
#include <string.h>

#include "backend.h"

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

bool cnn_layout_view(const struct cnn_layout *l, int64_t n, int64_t c, int64_t plane,
		     struct cnn_layout *out)
{
	const int64_t want[3] = { plane, c, n };
	struct axis axes[3];
	int64_t step[3], next = 1;
	int count = layout_axes(l, axes), at = 0;

	if (l->columns || l->codes || n * c * plane != l->n * l->c * l->plane)
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
		.size = l->size,
	};
	return true;
}

int64_t cnn_layout_bytes(const struct cnn_layout *l)
{
	int64_t last = (l->n - 1) * l->image_pitch + (l->c - 1) * l->plane_pitch;

	if (!l->columns)
		last += l->plane - 1;
	else
		last += (l->plane / l->columns - 1) * l->row_pitch +
			(l->columns - 1) * l->column_pitch;
	return cnn_div_up((last + 1) * cnn_packed_bits(l->codes), 8) * l->size;
}

/* One row of a plane between its own elements and those of the tensor. */
static void move_row(const struct cnn_layout *l, uint8_t *arena, uint8_t *dense, bool write)
{
	int64_t step = l->column_pitch * l->size;

	for (int64_t x = 0; x < l->columns; x++, arena += step, dense += l->size) {
		uint8_t *to = write ? arena : dense;
		const uint8_t *from = write ? dense : arena;

		if (l->size == 1)
			*to = *from;
		else
			memcpy(to, from, (size_t)l->size);
	}
}

static void move_plane(const struct cnn_layout *l, uint8_t *arena, uint8_t *dense, bool write)
{
	if (!l->columns) {
		memcpy(write ? arena : dense, write ? dense : arena, (size_t)(l->plane * l->size));
		return;
	}
	for (int64_t y = 0; y < l->plane / l->columns; y++)
		move_row(l, arena + y * l->row_pitch * l->size, dense + y * l->columns * l->size,
			 write);
}

/* The adjacent ones of an image: each pixel's channels, or each plane. */
static void pack_image(const struct cnn_layout *l, const int8_t *dense, uint8_t *arena)
{
	int64_t per_byte = 8 / cnn_packed_bits(l->codes);

	for (int64_t c = 0; c < l->c && !l->columns; c++)
		cnn_packed_encode(l->codes, dense + c * l->plane, 1, l->plane,
				  arena + c * l->plane_pitch / per_byte);
	for (int64_t i = 0; i < l->plane && l->columns; i++)
		cnn_packed_encode(l->codes, dense + i, l->plane, l->c,
				  arena + (i / l->columns * l->row_pitch +
					   i % l->columns * l->column_pitch) /
						  per_byte);
}

static void pack_slot(const struct cnn_slot *slot, uint8_t *arena, const int8_t *dense)
{
	const struct cnn_layout *l = &slot->layout;
	int64_t per_byte = 8 / cnn_packed_bits(l->codes);

	for (int64_t n = 0; n < l->n; n++)
		pack_image(l, dense + n * l->c * l->plane,
			   arena + slot->offset + n * l->image_pitch / per_byte);
}

static void move_slot(const struct cnn_slot *slot, uint8_t *arena, uint8_t *dense, bool write)
{
	const struct cnn_layout *l = &slot->layout;
	uint8_t *base = arena + slot->offset;

	if (!l->plane)
		return;
	if (cnn_layout_dense(l)) {
		memcpy(write ? base : dense, write ? dense : base,
		       (size_t)(l->n * l->c * l->plane * l->size));
		return;
	}
	for (int64_t n = 0; n < l->n; n++)
		for (int64_t c = 0; c < l->c; c++, dense += l->plane * l->size)
			move_plane(l, base + (n * l->image_pitch + c * l->plane_pitch) * l->size,
				   dense, write);
}

void cnn_slot_write(const struct cnn_slot *slot, void *arena, const void *dense)
{
	if (slot->layout.codes)
		pack_slot(slot, arena, dense);
	else
		move_slot(slot, arena, (uint8_t *)dense, true);
}

void cnn_slot_read(const struct cnn_slot *slot, const void *arena, void *dense)
{
	move_slot(slot, (uint8_t *)arena, dense, false);
}
