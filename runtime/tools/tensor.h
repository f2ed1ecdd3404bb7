/* SPDX-License-Identifier: MIT */
/* Tensors in files: .npy, ONNX .pb, and pictures. */
#ifndef CNNRT_TOOLS_TENSOR_H
#define CNNRT_TOOLS_TENSOR_H

#include "util.h"

#include "ir/graph.h"

enum picture_fit { FIT_STRETCH, FIT_CROP, FIT_PAD };

/* How a picture becomes a tensor. */
struct picture_options {
	enum picture_fit fit;
	bool bgr;
	float scale;		/* of a pixel 0..255 */
	float mean[3], std[3];	/* value = (pixel * scale - mean) / std */
};

/* "0.5" or "0.485,0.456,0.406" */
bool parse_floats(const char *text, float values[3]);

/* Reads a file, whose format its content tells; want: type and shape of a picture's tensor. */
int tensor_read(const char *path, const struct cnnrt_tensor_info *want,
		const struct picture_options *opt, struct cnn_tensor *t);
/* Writes ONNX if the file's name ends in .pb, else .npy. */
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

/* The tensor that info describes, with its elements at data. */
struct cnn_tensor tensor_of(const struct cnnrt_tensor_info *info, void *data);
/*
 * Describes the first element that is further from the one wanted than its bound, and what its own
 * rounding makes of that; false if there is none. Types and shapes are the same.
 */
bool tensor_exceeds(const struct cnn_tensor *got, const struct cnn_tensor *want,
		    const double *bound, char *text, size_t len);
/* Describes the first difference beyond rtol and atol; false if there is none. */
bool tensor_differs(const struct cnn_tensor *got, const struct cnn_tensor *want, double rtol,
		    double atol, char *text, size_t len);

#endif
