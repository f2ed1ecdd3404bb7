/* SPDX-License-Identifier: MIT */
/* cnnquant: makes a network of few bits from one of floats. */
#include "cnnquant.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define SAMPLES	64

static const char usage[] =
"usage: cnnquant MODEL -o FILE.onnx --format FORMAT --samples FILE.npy [OPTION...]\n"
"\n"
"Makes of MODEL, an ONNX or TensorFlow Lite file of floats with one input, an ONNX file in\n"
"which convolutions and matrix products have EXP4, TER2 or INT8 operands: the nearest codes,\n"
"with a scale that is a power of two for each output channel and one for the input.\n"
"  -o FILE.onnx        where to write the network\n"
"  --format FORMAT     of both operands of every layer: EXP4, TER2, INT8 or FLOAT32 (as it was)\n"
"  --first FORMAT      of the first layer\n"
"  --last FORMAT       of the last layer\n"
"  --layer NAME=FORMAT of the layers called NAME; the table that is printed has the names\n"
"  --samples FILE.npy  typical inputs along the first axis, as float32 and as the network gets\n"
"                      them: the scales are those by which its layers come nearest to what\n"
"                      they were\n"
"  --count N           how many of them are used, spread over the file; default 64\n"
"\n"
"  --test FILE.npy     run both networks with these inputs, one at a time, and print how their\n"
"                      first outputs differ, and in how many the largest element is the same\n"
"  --labels FILE.npy   where that element should be in each, from 0: the share of right ones\n"
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

	if (!mark || mark == value || !set_format(&o->layer[o->layers].format, mark + 1))
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

/* What is wanted of an option's value, in words. */
static const char *wanted(const char *name)
{
	return !strcmp(name, "--count") ? "1 to 1000000" :
	       !strcmp(name, "--layer") ? "NAME=EXP4, TER2, INT8 or FLOAT32" :
					  "EXP4, TER2, INT8 or FLOAT32";
}

/* 1: done; 0: bad value, or NULL; -1: unknown; -2: it was given before. */
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

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) &&
				 x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Nothing that is read is written. */
static int check_files(const struct quant_options *o)
{
	const char *const read[] = { o->model, o->samples, o->test, o->labels };

	for (size_t i = 0; i < ARRAY_SIZE(read); i++) {
		if (read[i] && is_same_file(o->out, read[i]))
			return complain(EXIT_USAGE, "-o %s: it is read, too", o->out);
		if (read[i] && o->answers && is_same_file(o->answers, read[i]))
			return complain(EXIT_USAGE, "--answers %s: it is read, too", o->answers);
	}
	if (o->answers && is_same_file(o->answers, o->out))
		return complain(EXIT_USAGE, "--answers %s: -o is the same file", o->answers);
	return EXIT_DONE;
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
	return check_files(o);
}

static int parse(int argc, char **argv, struct quant_options *o)
{
	for (int i = 1; i < argc; i++) {
		char *value = i + 1 < argc && strncmp(argv[i + 1], "--", 2) ? argv[i + 1] : NULL;
		int took;

		if (argv[i][0] != '-') {
			if (o->model)
				return complain(EXIT_USAGE, "one MODEL is quantised: there is \"%s\" "
						"and \"%s\"", o->model, argv[i]);
			o->model = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--layer") && o->layers == MAX_LAYERS)
			return complain(EXIT_USAGE, "--layer is given more than %d times",
					MAX_LAYERS);
		took = option(o, argv[i], value);
		if (took < 0)
			return complain(EXIT_USAGE, took == -2 ? "%s is given twice" :
					"unknown option %s", argv[i]);
		if (!took && !value)
			return complain(EXIT_USAGE, "%s: its value is missing", argv[i]);
		if (!took)
			return complain(EXIT_USAGE, "%s: \"%s\", %s wanted", argv[i], value,
					wanted(argv[i]));
		i++;
	}
	return check_options(o);
}

/* ---- the network ----------------------------------------------------------------------- */

static int fail(const struct quantizer *q)
{
	return complain(EXIT_FAILED, "%s: %s", q->o->model, q->err.text);
}

static int read_model(struct quantizer *q)
{
	if (!read_file(q->o->model, &q->file, &q->file_size))
		return complain(EXIT_FAILED, "%s: %s", q->o->model, strerror(errno));
	return cnn_graph_import(q->file, q->file_size, &q->g, &q->err) ? fail(q) : EXIT_DONE;
}

/* The input takes one of the samples. */
static int set_input(struct quantizer *q)
{
	const struct cnn_tensor *x;
	int64_t dims[CNN_MAX_RANK];

	if (q->g->n_inputs != 1)
		return complain(EXIT_FAILED, "%s: it has %d inputs, limit 1", q->o->model,
				q->g->n_inputs);
	x = &q->g->values[q->g->inputs[0]].t;
	if (x->dtype != CNN_FLOAT32)
		return complain(EXIT_FAILED, "%s: its input is %s, float32 wanted", q->o->model,
				cnn_dtype_name(x->dtype));
	if (x->rank > 0 && x->dims[0] > 1)
		return complain(EXIT_FAILED, "%s: its input is %" PRId64 " samples at once, limit 1",
				q->o->model, x->dims[0]);
	memcpy(dims, q->samples.dims, sizeof(dims));
	dims[0] = 1;
	if (cnn_graph_set_input_shape(q->g, 0, q->samples.rank, dims, &q->err))
		return complain(EXIT_FAILED, "%s: one sample: %s", q->o->samples, q->err.text);
	return EXIT_DONE;
}

/* The graph with shapes for one sample, and what follows a layer and is linear within it. */
static int open_graph(struct quantizer *q)
{
	int ret = read_model(q);

	if (!ret)
		ret = set_input(q);
	if (ret)
		return ret;
	ret = cnn_graph_infer(q->g, &q->err);
	if (!ret)
		ret = cnn_graph_fuse(q->g, CNN_FUSE_NOP | CNN_FUSE_BN | CNN_FUSE_BIAS, &q->err);
	return ret ? fail(q) : EXIT_DONE;
}

/* Puts samples that are spread over the file to its beginning; how many. */
static int64_t pick_samples(struct quantizer *q)
{
	struct cnn_tensor *t = &q->samples;
	int64_t count = q->o->count;
	int64_t n = count < t->dims[0] ? count : t->dims[0];
	size_t size = (size_t)(cnn_tensor_bytes(t) / t->dims[0]);

	for (int64_t i = 0; i < n; i++)
		memmove((char *)t->data + (size_t)i * size,
			(char *)t->data + (size_t)(i * t->dims[0] / n) * size, size);
	return n;
}

/* What is left of the outputs, against their errors. */
static void print_ratio(const struct layer *l)
{
	if (l->noise > 0)
		printf(" %5.1f dB\n", 10 * log10(l->signal / l->noise));
	else
		printf("    exact\n");
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
		printf("%12" PRId64 " %12g %5d %9g .. %9g", l->outputs * l->taps,
		       (double)l->x_scale, l->x_zero, (double)least, (double)most);
		print_ratio(l);
	}
}

static int write_network(struct quantizer *q, struct test *t)
{
	size_t size = 0;
	void *data = NULL;
	int ret = EXIT_DONE;

	if (cnn_graph_export_onnx(q->g, &data, &size, &q->err))
		return fail(q);
	if (!write_file(q->o->out, data, size))
		ret = complain(EXIT_FAILED, "%s: %s", q->o->out, strerror(errno));
	if (!ret && q->o->test)
		ret = test_networks(t, q, data, size);
	free(data);
	return ret;
}

static int run(const struct quant_options *o)
{
	struct quantizer q = { .o = o };
	struct test test = { .o = o };
	int ret = read_samples(o->samples, &q.samples);

	if (!ret)
		ret = open_graph(&q);
	if (!ret && o->test)
		ret = open_test(&test);
	if (!ret)
		ret = find_layers(&q);
	if (!ret)
		ret = calibrate(&q, pick_samples(&q));
	if (!ret) {
		print_layers(&q);
		ret = rewrite(&q);
	}
	if (!ret)
		ret = write_network(&q, &test);
	close_test(&test);
	free_layers(&q);
	cnn_graph_free(q.g);
	cnn_tensor_release(&q.samples);
	free(q.file);
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
