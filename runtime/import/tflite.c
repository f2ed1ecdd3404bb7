// SPDX-License-Identifier: MIT
/*
 * Flatbuffers, as far as TensorFlow Lite files need them. A table begins with the distance back to
 * its vtable, which holds the table's size and where in it each field lies; vectors begin with
 * their number of elements; all offsets count from where they stand. Little-endian throughout.
 */
#include <string.h>

#include "tflite.h"

static bool holds(struct fb *fb, size_t at, size_t size)
{
	if (at <= fb->len && size <= fb->len - at)
		return true;
	fb->bad = true;
	return false;
}

/* A signed integer of 1, 2, 4 or 8 bytes. */
static int64_t read_int(struct fb *fb, size_t at, int size)
{
	uint64_t v = 0;

	if (!holds(fb, at, (size_t)size))
		return 0;
	memcpy(&v, fb->data + at, (size_t)size);
	return (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size);
}

static size_t read_u16(struct fb *fb, size_t at)
{
	return (size_t)read_int(fb, at, 2) & 0xffff;
}

static size_t read_u32(struct fb *fb, size_t at)
{
	return (size_t)read_int(fb, at, 4) & 0xffffffff;
}

/* Where the offset at at points to; 0 if it points outside. */
static size_t follow(struct fb *fb, size_t at)
{
	size_t distance = read_u32(fb, at), to = at + distance;

	if (!distance || !holds(fb, to, 4)) {
		fb->bad = true;
		return 0;
	}
	return to;
}

static struct fb_table table_at(struct fb *fb, size_t at)
{
	struct fb_table t = { .fb = fb, .at = at };
	int64_t vtable = (int64_t)at - read_int(fb, at, 4);

	if (vtable >= 0 && holds(fb, (size_t)vtable, 4)) {
		t.vtable = (size_t)vtable;
		t.vtable_size = read_u16(fb, t.vtable);
		t.size = read_u16(fb, t.vtable + 2);
	}
	if (at && t.vtable_size >= 4 && holds(fb, t.vtable, t.vtable_size) && t.size >= 4 &&
	    holds(fb, at, t.size))
		return t;
	fb->bad = true;
	return (struct fb_table){ .fb = fb };
}

struct fb_table fb_root(struct fb *fb)
{
	return table_at(fb, follow(fb, 0));
}

/* Where field i of size bytes lies; 0 if it is absent. */
static size_t field(const struct fb_table *t, int i, size_t size)
{
	size_t slot = 4 + 2 * (size_t)i, offset;

	if (!t->at || slot + 2 > t->vtable_size)
		return 0;
	offset = read_u16(t->fb, t->vtable + slot);
	if (offset && (offset < 4 || offset + size > t->size)) {
		t->fb->bad = true;
		return 0;
	}
	return offset ? t->at + offset : 0;
}

int64_t fb_int(const struct fb_table *t, int i, int size, int64_t def)
{
	size_t at = field(t, i, (size_t)size);

	return at ? read_int(t->fb, at, size) : def;
}

static float read_float(struct fb *fb, size_t at)
{
	float v = 0;

	if (holds(fb, at, sizeof(v)))
		memcpy(&v, fb->data + at, sizeof(v));
	return v;
}

float fb_float(const struct fb_table *t, int i, float def)
{
	size_t at = field(t, i, sizeof(float));

	return at ? read_float(t->fb, at) : def;
}

struct fb_table fb_table(const struct fb_table *t, int i)
{
	size_t at = field(t, i, 4);

	return at ? table_at(t->fb, follow(t->fb, at)) : (struct fb_table){ .fb = t->fb };
}

struct fb_vector fb_vector(const struct fb_table *t, int i, size_t size)
{
	size_t at = field(t, i, 4), to = at ? follow(t->fb, at) : 0;
	struct fb_vector v = { .fb = t->fb };

	if (!to)
		return v;
	v.count = read_u32(t->fb, to);
	v.at = to + 4;
	if (!holds(t->fb, v.at, 0) || v.count > (t->fb->len - v.at) / size) {
		t->fb->bad = true;
		v.count = 0;
	}
	return v;
}

struct fb_table fb_table_at(const struct fb_vector *v, size_t i)
{
	return table_at(v->fb, follow(v->fb, v->at + 4 * i));
}

int64_t fb_int_at(const struct fb_vector *v, size_t i, int size)
{
	return read_int(v->fb, v->at + i * (size_t)size, size);
}

float fb_float_at(const struct fb_vector *v, size_t i)
{
	return read_float(v->fb, v->at + i * sizeof(float));
}
