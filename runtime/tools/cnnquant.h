/* SPDX-License-Identifier: MIT */
/*
 * cnnquant: quantises float networks to few bits. A layer is a Conv, Gemm or MatMul with constant
 * weights; quantised it is an integer product, a power-of-two scale for each output channel, and a
 * bias:
 *
 *	Quantize(x, x_scale, x_zero) -> ConvInteger or MatMulInteger -> Cast -> Mul -> Add
 */
#ifndef CNNQUANT_H
#define CNNQUANT_H

#include "backend/packed_format.h"
#include "ir/graph_internal.h"
#include "answers.h"

#define MAX_LAYERS	64	/* named by options */

/* Format of a layer's operands. */
enum format {
	FORMAT_UNSET = -2,
	FORMAT_FLOAT32 = -1, /* the layer is not quantised */
	FORMAT_INT8 = 0,
	FORMAT_PACKED = 1, /* and on: numbers of packed formats */
};

struct quant_options {
	const char *model, *out, *samples, *test, *labels, *answers, *device, *core;
	enum format format, first, last;
	struct {
		const char *name;
		enum format format;
	} layer[MAX_LAYERS];
	unsigned int layers;
	uint64_t count;		/* samples that are used */
	bool pot8;		/* the whole network, see pot8.h */
};

struct layer {
	int node;
	enum format format;
	bool conv;
	int64_t outputs, taps;		/* channels, products of each */
	float *weights;			/* outputs x taps of a Conv, else taps x outputs */
	float x_scale;
	int8_t x_zero;			/* the code for 0 of its inputs; not 0 in TER2 only */
	int8_t *codes;			/* as weights */
	float *scale, *bias;		/* of each output: x_scale times that of its weights */
	double signal, noise;		/* sums of squares of the outputs and of their errors */
	const char *why;		/* reason that it is not quantised */
};

struct quantizer {
	const struct quant_options *o;
	void *file;			/* the model's */
	size_t file_size;
	char *path;			/* a copy, cut to the model's folder */
	const char *folder;		/* in path, for external data */
	struct cnn_tensor samples;
	struct cnn_graph *g;
	struct layer *layers;		/* the network's, in its order */
	int n_layers;
	struct cnn_err err;
};

/* Prints the error of a function of the graph; returns EXIT_FAILED. */
static inline int quant_fail(const struct quantizer *q)
{
	return complain(EXIT_FAILED, "%s: %s", q->o->model, q->err.text);
}

/*
 * quant_network.c: reads the graph, infers shapes for one of q->samples, and fuses linear operators
 * into layers. close_graph() is also for what failed; it leaves the samples.
 */
int open_graph(struct quantizer *q);
void close_graph(struct quantizer *q);
/*
 * Quantises an open graph in the formats of q->o, with the first count of q->samples; show, unless
 * NULL, is called with the layers' scales, before their nodes are replaced; POT8 prints its own.
 */
int quantize_graph(struct quantizer *q, int64_t count, void (*show)(const struct quantizer *q));

/* quant_layer.c: finds the layers of a graph. Returns EXIT_DONE, or EXIT_FAILED after a message. */
int find_layers(struct quantizer *q);
void free_layers(struct quantizer *q);
/* Returns the layer of a node; NULL if the node is no layer or is not quantised. */
struct layer *layer_at(const struct quantizer *q, int node);
/* Notes why a layer is not quantised; returns false. */
bool leave_layer(struct layer *l, const char *why);
/* Element of weights and codes. */
static inline int64_t weight_index(const struct layer *l, int64_t output, int64_t tap)
{
	return l->conv ? output * l->taps + tap : tap * l->outputs + output;
}

/*
 * quant_walk.c: chooses scales and biases with the first count samples. A layer for which no scale
 * fits is not quantised.
 */
int calibrate(struct quantizer *q, int64_t count);

/* NULL: there is no such format. */
const char *format_name(enum format f);
/* False: there is no format of that name, whose case does not matter. */
bool find_format(const char *name, enum format *f);
/* Sets the format of the whole network, one of layers or POT8; false if there is none of that name. */
bool find_network_format(const char *name, struct quant_options *o);
/* Powers of two that are tried: the second is the least that holds all numbers up to most. */
#define X_SCALES	10
#define W_SCALES	6
float scale_number(enum format f, float most, int i);
/* y = x / scale + zero, rounded to the format. */
void quantize(enum format f, const float *x, float scale, int8_t zero, int8_t *y, int64_t n);

/* quant_rewrite.c: replaces quantised layers in the graph by their integer nodes. */
int rewrite(struct quantizer *q);

/* quant_test.c: runs both networks with the inputs of --test and compares their outputs. */
struct test {
	const struct quant_options *o;
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	struct cnn_tensor samples, labels;	/* labels: empty if there are none */
	struct cnn_tensor answers[2];		/* output 0 of every sample: floats', quantised */
};

/* Reads the files of --test, before the calibration takes its time. */
int open_test(struct test *t);
/* file: the quantised network. */
int test_networks(struct test *t, const struct quantizer *q, const void *file, size_t size);
void close_test(struct test *t);

#endif
