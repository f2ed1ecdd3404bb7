/* SPDX-License-Identifier: MIT */
/* Random networks of the operators of core enpu. */
#ifndef ENPU_NET_H
#define ENPU_NET_H

#include <stdbool.h>

#include "onnx_build.h"

#define ENPU_MAPS	24	/* of a network */

/* A map of int8, [1][c][h][w] or more of them. */
struct enpu_map {
	int64_t n, c, h, w;
	char name[16];
};

struct enpu_net {
	struct onnx_build *b;
	struct enpu_map map[ENPU_MAPS];
	int maps;
};

/* A network with an input of these sizes. */
void enpu_net_begin(struct enpu_net *n, int64_t batch, int64_t c, int64_t h, int64_t w);
/* Ends it: the last map is the output. */
void *enpu_net_end(struct enpu_net *n, size_t *len);

/* A convolution and its requantisation. */
struct enpu_conv {
	int64_t co, groups, kernel[2], stride[2], dilation[2], pads[4];
	int zero;			/* zero point of the input */
	bool relu;
};

/* Add a layer that reads a map; the result is the last map.  False: it does not fit the map. */
bool enpu_net_conv(struct enpu_net *n, int from, const struct enpu_conv *c);
void enpu_net_matmul(struct enpu_net *n, int from, int64_t co);
void enpu_net_pool(struct enpu_net *n, int from, int64_t kernel, int64_t stride, int64_t pad);
void enpu_net_scale(struct enpu_net *n, int from);
void enpu_net_table(struct enpu_net *n, int from);
void enpu_net_relu(struct enpu_net *n, int from);
void enpu_net_add(struct enpu_net *n, int a, int b);
void enpu_net_mul(struct enpu_net *n, int a, int b);
/* Along the channels, axis 1, or another one. */
void enpu_net_concat(struct enpu_net *n, int64_t axis, int a, int b);
/* Two parts along an axis: the first has so many elements of it. */
void enpu_net_split(struct enpu_net *n, int from, int64_t axis, int64_t first);
/* From one place of each axis on, of a size. */
void enpu_net_slice(struct enpu_net *n, int from, const int64_t begin[4], const int64_t size[4]);
void enpu_net_transpose(struct enpu_net *n, int from, const int64_t order[4]);
/* Up to @layers random layers, one on the other or on earlier maps. */
void enpu_net_random(struct enpu_net *n, int layers);

#endif
