/* SPDX-License-Identifier: MIT */
/*
 * cnnquant: networks of few bits from networks of floats. A layer is a Conv, Gemm or MatMul with
 * constant weights; quantised it is a product of whole numbers, a scale that is a power of two for
 * each output channel, and a bias:
 *
 *	Quantize(x, x_scale, x_zero) -> ConvInteger or MatMulInteger -> Cast -> Mul -> Add
 */
#ifndef CNNQUANT_H
#define CNNQUANT_H

#include "backend/hwpe/packed_format.h"
#include "ir/graph_internal.h"
#include "tensor.h"

#define MAX_LAYERS	64	/* named by options */

/* What a layer's operands become; CNN_CODES_NONE stands for int8. */
enum format {
	FORMAT_INT8 = CNN_CODES_NONE,
	FORMAT_EXP4 = CNN_CODES_EXP4,
	FORMAT_TER2 = CNN_CODES_TER2,
	FORMAT_FLOAT32 = CNN_CODES_COUNT,	/* the layer stays as it is */
	FORMAT_UNSET
};

struct quant_options {
	const char *model, *out, *samples, *test, *labels, *answers, *device, *core;
	enum format format, first, last;
	struct {
		const char *name;
		enum format format;
	} layer[MAX_LAYERS];
	unsigned int layers, count;	/* count: samples that are used */
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
	const char *why;		/* it stays as it is */
};

struct quantizer {
	const struct quant_options *o;
	void *file;			/* the model's */
	size_t file_size;
	struct cnn_tensor samples;
	struct cnn_graph *g;
	struct layer *layers;		/* the network's, in its order */
	int n_layers;
	struct cnn_err err;
};

const char *format_name(enum format f);

/* quant_layer.c: the layers of a graph, and what becomes of them; EXIT_DONE or a failure, told. */
int find_layers(struct quantizer *q);
void free_layers(struct quantizer *q);
/* The layer that a node is; NULL if it is none, or stays as it is. */
struct layer *layer_at(const struct quantizer *q, int node);
/* The layer stays as it is; false. */
bool leave_layer(struct layer *l, const char *why);
/* Element of weights and codes. */
static inline int64_t weight_index(const struct layer *l, int64_t output, int64_t tap)
{
	return l->conv ? output * l->taps + tap : tap * l->outputs + output;
}

/*
 * quant_walk.c: chooses scales and biases by the first count samples. A layer for which there are
 * none stays as it is.
 */
int calibrate(struct quantizer *q, int64_t count);

/* quant_scale.c */
/* Powers of two that are tried: the second is the least that holds all numbers up to most. */
#define X_SCALES	10
#define W_SCALES	6
float scale_number(enum format f, float most, int i);
/* y = what x / scale + zero becomes in the format. */
void quantize(enum format f, const float *x, float scale, int8_t zero, int8_t *y, int64_t n);

/* quant_rewrite.c: puts the nodes of quantised layers into the graph. */
int rewrite(struct quantizer *q);

/* quant_test.c: both networks with the test's inputs, and how their answers differ. */
struct test {
	const struct quant_options *o;
	struct cnnrt_device *dev;
	struct cnnrt_context *ctx;
	struct cnn_tensor samples, labels;	/* labels: empty if there are none */
	struct cnn_tensor answers[2];		/* output 0 of every sample: floats', quantised */
};

int read_samples(const char *path, struct cnn_tensor *t);
/* All that the test reads, before the long work. */
int open_test(struct test *t);
/* file: the quantised network. */
int test_networks(struct test *t, const struct quantizer *q, const void *file, size_t size);
void close_test(struct test *t);

#endif
