/* SPDX-License-Identifier: MIT */
/* Tensors in files: .npy, ONNX .pb, and pictures. */
#ifndef CNNRT_TOOLS_TENSOR_H
#define CNNRT_TOOLS_TENSOR_H

#include "util.h"

#include "ir/graph.h"

/* How a picture becomes a tensor. */
struct picture_options {
	enum { FIT_STRETCH, FIT_CROP, FIT_PAD } fit;
	bool bgr;
	float scale;		/* of a pixel 0..255 */
	float mean[3], std[3];	/* value = (pixel * scale - mean) / std */
};

/* "0.5" or "0.485,0.456,0.406" */
bool parse_floats(const char *text, float values[3]);

/* Whatever the file is by its content; want: type and shape of a picture's tensor. */
int tensor_read(const char *path, const struct cnnrt_tensor_info *want,
		const struct picture_options *opt, struct cnn_tensor *t);
/* By the file's name: .pb, or .npy for any other. */
int tensor_write(const char *path, const char *name, const struct cnn_tensor *t);

bool npy_parse(const void *data, size_t size, struct cnn_tensor *t, const char **why);
int npy_write(const char *path, const struct cnn_tensor *t);

/* A picture of 8-bit samples, RGB or grey. */
struct picture {
	unsigned int width, height, channels;
	uint8_t *pixels;
};

bool picture_is(const void *data, size_t size);
bool picture_decode(const void *data, size_t size, struct picture *p, const char **why);
int picture_to_tensor(const struct picture *p, const struct cnnrt_tensor_info *want,
		      const struct picture_options *opt, struct cnn_tensor *t);

/* What differs beyond rtol and atol, in words; false if nothing does. */
bool tensor_differs(const struct cnn_tensor *got, const struct cnn_tensor *want, double rtol,
		    double atol, char *text, size_t len);
/* Element i as a number. */
double tensor_element(const struct cnn_tensor *t, int64_t i);

#endif
