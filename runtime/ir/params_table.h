/* SPDX-License-Identifier: MIT */
/* What the tables of parameters are written with, here and in the cores' folders. */
#ifndef CNN_PARAMS_TABLE_H
#define CNN_PARAMS_TABLE_H

#include "graph_internal.h"

/* Bounds each parameter of a window so that no sum or product of two of them leaves 64 bits. */
#define WINDOW_MAX	((int64_t)1 << 30)

#define AT(member)							\
	.offset = offsetof(struct cnn_params, member),			\
	.size = sizeof(((struct cnn_params *)0)->member)
#define LIMITS(low, high)	.least = low, .most = high
#define NO_LIMITS		LIMITS(INT64_MIN, INT64_MAX)

#define IGNORED(text, letter)		{ .name = text, .kind = CNN_FIELD_IGNORED, .type = letter }
#define FIXED(text, value)	\
	{ .name = text, .kind = CNN_FIELD_FIXED, .type = 'i', .def = value }
#define FLAG(text, member, value)					\
	{ .name = text, .kind = CNN_FIELD_BOOL, .type = 'i', AT(member), .def = value }
#define INT(text, member, value, limits)				\
	{ .name = text, .kind = CNN_FIELD_INT, .type = 'i', AT(member), .def = value, limits }
#define FLOAT(text, member, value)					\
	{ .name = text, .kind = CNN_FIELD_FLOAT, .type = 'f', AT(member), .real = value }
#define CHOICE(text, member, value, list, ...)				\
	{ .name = text, .kind = CNN_FIELD_CHOICE, .type = 's', AT(member), .def = value,	\
	  .texts = list, __VA_ARGS__ }
#define TEXT(text, member)							\
	{ .name = text, .kind = CNN_FIELD_TEXT, .type = 's', AT(member) }
#define TEXTS(text, member)							\
	{ .name = text, .kind = CNN_FIELD_TEXT, .type = 'S', AT(member) }
#define INTS(text, member, most_entries, limits, ...)			\
	{ .name = text, .kind = CNN_FIELD_INTS, .type = 'I', AT(member), .max = most_entries,	\
	  limits, __VA_ARGS__ }
#define TENSOR(text, letter, member, most_entries, ...)			\
	{ .name = text, .kind = CNN_FIELD_TENSOR, .type = letter, AT(member),			\
	  .max = most_entries, __VA_ARGS__ }
#define GRAPH(text, member)	{ .name = text, .kind = CNN_FIELD_GRAPH, .type = 'g', AT(member) }
#define END	{ .name = NULL }

#define OP(sym, name, infer, compute, least, most, outs, math, fields)	\
	extern const struct cnn_field cnn_fields_##fields[];
#include "ops.def"
#undef OP

#define TABLE(name)	const struct cnn_field cnn_fields_##name[]

extern const char *const cnn_auto_pads[];

#define WINDOW									\
	CHOICE("auto_pad", window.auto_pad, 0, cnn_auto_pads),			\
	INTS("dilations", window.dilations, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)),		\
	INTS("kernel_shape", window.kernel_shape, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX)),	\
	INTS("pads", window.pads, 2 * CNN_MAX_SPATIAL, NO_LIMITS),			\
	INTS("strides", window.strides, CNN_MAX_SPATIAL, LIMITS(1, WINDOW_MAX))
#define GROUP	INT("group", window.group, 1, NO_LIMITS)

#endif
