/* SPDX-License-Identifier: MIT */
/* cnnquant: makes a network of few bits from one of floats. */
#include "cnnquant.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SAMPLES	64

static const char usage[] =
"usage: cnnquant MODEL -o FILE.onnx --format FORMAT --samples FILE.npy [OPTION...]\n"
"\n"
"Makes of MODEL, an ONNX or TensorFlow Lite file of floats with one input, an ONNX file in\n"
"which convolutions and matrix products have EXP4, TER2 or INT8 operands: the nearest codes,\n"
"with a scale that is a power of two for each output channel and one for the input.\n"
"  --format FORMAT     of both operands of every layer: EXP4, TER2, INT8 or FLOAT32\n"
"  --first FORMAT      of the first layer; --last: of the last one\n"
"  --layer NAME=FORMAT of the layer called NAME\n"
"  --samples FILE.npy  typical inputs along the first axis, as float32: the scales are those\n"
"                      by which these come nearest to what they were\n"
"  --count N           how many of them are used, spread over the file; default 64\n"
"  -o FILE.onnx        where to write the network\n"
"  --test FILE.npy     run both networks with these inputs and print how they differ\n"
"  --labels FILE.npy   the right answer to each, as integers: the share of answers whose\n"
"                      largest element is at that place\n"
"  --answers FILE.npy  write the first output of the quantised network for each\n"
"  --device D          where it runs; default: sim:cores=hwpe, a device in the process\n"
"  --core NAME         the core that may be used; \"cpu\": none\n"
"\n"
"Exit status: 0 done, 1 failed, 2 usage, 3 no device.\n";

/* ---- options --------------------------------------------------------------------------- */

static bool set_format(enum format *f, const char *value)
{
	for (int i = 0; i < FORMAT_UNSET; i++) {
		if (!strcasecmp(value, format_name((enum format)i))) {
			*f = (enum format)i;
			return true;
		}
	}
	return false;
}

static bool set_layer(struct quant_options *o, char *value)
{
	char *mark = strrchr(value, '=');

	if (!mark || mark == value || o->layers == MAX_LAYERS ||
	    !set_format(&o->layer[o->layers].format, mark + 1))
		return false;
	*mark = '\0';
	o->layer[o->layers++].name = value;
	return true;
}

static bool set_count(struct quant_options *o, const char *value)
{
	uint64_t n;

	if (!parse_u64(value, &n) || !n || n > 1000000)
		return false;
	o->count = (unsigned int)n;
	return true;
}

/* 1: done; 0: bad value; -1: unknown; -2: it was given before. */
static int option(struct quant_options *o, const char *name, char *value)
{
	const struct {
		const char *name, **text;
	} texts[] = {
		{ "-o", &o->out }, { "--samples", &o->samples }, { "--test", &o->test },
		{ "--labels", &o->labels }, { "--answers", &o->answers },
		{ "--device", &o->device }, { "--core", &o->core },
	};
	const struct {
		const char *name;
		enum format *format;
	} formats[] = {
		{ "--format", &o->format }, { "--first", &o->first }, { "--last", &o->last },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(name, texts[i].name))
			continue;
		if (*texts[i].text)
			return -2;
		*texts[i].text = value;
		return value != NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(name, formats[i].name))
			continue;
		if (*formats[i].format != FORMAT_UNSET)
			return -2;
		return value && set_format(formats[i].format, value);
	}
	if (!strcmp(name, "--layer"))
		return value && set_layer(o, value);
	if (!strcmp(name, "--count"))
		return value && set_count(o, value);
	return -1;
}

static int check_options(const struct quant_options *o)
{
	if (!o->model)
		return complain(EXIT_USAGE, "no MODEL is given; cnnquant --help tells more");
	if (!o->out || !o->samples || o->format == FORMAT_UNSET)
		return complain(EXIT_USAGE, "%s is missing", !o->out ? "-o FILE.onnx" :
				!o->samples ? "--samples FILE.npy" : "--format FORMAT");
	if (!o->test && (o->labels || o->answers || o->device || o->core))
		return complain(EXIT_USAGE, "%s is for --test", o->labels ? "--labels" :
				o->answers ? "--answers" : o->device ? "--device" : "--core");
	return EXIT_DONE;
}

static int parse(int argc, char **argv, struct quant_options *o)
{
	for (int i = 1; i < argc; i++) {
		int took;

		if (argv[i][0] != '-') {
			if (o->model)
				return complain(EXIT_USAGE, "one MODEL is quantised: there is \"%s\" "
						"and \"%s\"", o->model, argv[i]);
			o->model = argv[i];
			continue;
		}
		took = option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
		if (took < 0)
			return complain(EXIT_USAGE, took == -2 ? "%s is given twice" :
					"unknown option %s", argv[i]);
		if (!took)
			return complain(EXIT_USAGE, "%s: missing or bad value", argv[i]);
		i++;
	}
	return check_options(o);
}

/* ---- the network ----------------------------------------------------------------------- */

static int fail(const struct quantizer *q)
{
	return complain(EXIT_FAILED, "%s: %s", q->o->model, q->err.text);
}

/* The graph with shapes for one sample, and what follows a layer and is linear within it. */
static int open_graph(struct quantizer *q, const struct cnn_tensor *samples)
{
	int64_t dims[CNN_MAX_RANK];
	size_t size;
	void *data;
	int ret;

	if (!read_file(q->o->model, &data, &size))
		return complain(EXIT_FAILED, "%s: %s", q->o->model, strerror(errno));
	ret = cnn_graph_import(data, size, &q->g, &q->err);
	free(data);
	if (ret)
		return fail(q);
	if (q->g->n_inputs != 1)
		return complain(EXIT_FAILED, "%s: it has %d inputs, limit 1", q->o->model,
				q->g->n_inputs);
	if (q->g->values[q->g->inputs[0]].t.dtype != CNN_FLOAT32)
		return complain(EXIT_FAILED, "%s: its input is %s, float32 wanted", q->o->model,
				cnn_dtype_name(q->g->values[q->g->inputs[0]].t.dtype));
	memcpy(dims, samples->dims, sizeof(dims));
	dims[0] = 1;
	ret = cnn_graph_set_input_shape(q->g, 0, samples->rank, dims, &q->err);
	if (!ret)
		ret = cnn_graph_infer(q->g, &q->err);
	if (!ret)
		ret = cnn_graph_fuse(q->g, CNN_FUSE_NOP | CNN_FUSE_BN | CNN_FUSE_BIAS, &q->err);
	return ret ? fail(q) : EXIT_DONE;
}

/* Puts samples that are spread over the file to its beginning; how many. */
static int64_t pick_samples(struct cnn_tensor *t, unsigned int count)
{
	int64_t n = count < t->dims[0] ? count : t->dims[0];
	size_t size = (size_t)(cnn_tensor_bytes(t) / t->dims[0]);

	for (int64_t i = 0; i < n; i++)
		memmove((char *)t->data + (size_t)i * size,
			(char *)t->data + (size_t)(i * t->dims[0] / n) * size, size);
	return n;
}

static double decibel(const struct layer *l)
{
	return 10 * log10(l->signal / l->noise);
}

static void print_layers(const struct quantizer *q)
{
	printf("%-16s %-28s %-8s %12s %12s %5s %22s %8s\n", "operator", "layer", "format",
	       "weights", "scale of x", "zero", "scales of weights", "SNR");
	for (int i = 0; i < q->n_layers; i++) {
		const struct layer *l = &q->layers[i];
		const struct cnn_node *n = &q->g->nodes[l->node];
		char type[64], name[61];
		float least = INFINITY, most = 0;

		printf("%-16s %-28s %-8s ", clean(n->op_type, type, sizeof(type)),
		       clean(n->name, name, sizeof(name)), format_name(l->format));
		if (l->format == FORMAT_FLOAT32) {
			printf("%s\n", l->why);
			continue;
		}
		for (int64_t k = 0; k < l->outputs; k++) {
			least = fminf(least, l->scale[k] / l->x_scale);
			most = fmaxf(most, l->scale[k] / l->x_scale);
		}
		printf("%12" PRId64 " %12g %5d %9g .. %9g %5.1f dB\n", l->outputs * l->taps,
		       (double)l->x_scale, l->x_zero, (double)least, (double)most, decibel(l));
	}
}

static int write_network(struct quantizer *q)
{
	size_t size = 0;
	void *data = NULL;
	int ret = EXIT_DONE;

	if (cnn_graph_export_onnx(q->g, &data, &size, &q->err))
		return fail(q);
	if (!write_file(q->o->out, data, size))
		ret = complain(EXIT_FAILED, "%s: %s", q->o->out, strerror(errno));
	if (!ret && q->o->test)
		ret = test_networks(q->o, data, size);
	free(data);
	return ret;
}

static int run(const struct quant_options *o)
{
	struct quantizer q = { .o = o };
	struct cnn_tensor samples = { .rank = -1 };
	int ret = read_samples(o->samples, &samples);

	if (!ret)
		ret = open_graph(&q, &samples);
	if (!ret)
		ret = find_layers(&q);
	if (!ret)
		ret = calibrate(&q, &samples, pick_samples(&samples, o->count));
	cnn_tensor_release(&samples);
	if (!ret) {
		print_layers(&q);
		ret = rewrite(&q);
	}
	if (!ret)
		ret = write_network(&q);
	free_layers(&q);
	cnn_graph_free(q.g);
	return ret;
}

int main(int argc, char **argv)
{
	struct quant_options o = {
		.format = FORMAT_UNSET, .first = FORMAT_UNSET, .last = FORMAT_UNSET,
		.count = SAMPLES,
	};
	int ret;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(usage, stdout);
		return EXIT_DONE;
	}
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		printf("cnnquant %s\n", cnnrt_version());
		return EXIT_DONE;
	}
	ret = parse(argc, argv, &o);
	if (!ret)
		ret = run(&o);
	return end_output(ret);
}
