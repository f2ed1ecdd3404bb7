/* SPDX-License-Identifier: MIT */
/* cnnquant: quantises a float network to few bits. */
#include "import/import.h"
#include "cnnquant.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLES		64
#define MAX_SAMPLES	1000000

#define FORMATS	"EXP4, TER2, INT8 or FLOAT32"
#define FIELD(member)	.field = offsetof(struct quant_options, member)

static int set_format(void *format, char *value)
{
	return find_format(value, format) ? EXIT_DONE : OPT_BAD_VALUE;
}

static int set_network_format(void *request, char *value)
{
	return find_network_format(value, request) ? EXIT_DONE : OPT_BAD_VALUE;
}

static int set_layer(void *request, char *value)
{
	struct quant_options *o = request;
	char *mark = strrchr(value, '=');

	if (o->layers == MAX_LAYERS)
		return complain(EXIT_USAGE, "--layer is given more than %d times", MAX_LAYERS);
	if (!mark || mark == value || set_format(&o->layer[o->layers].format, mark + 1))
		return OPT_BAD_VALUE;
	*mark = '\0';
	o->layer[o->layers++].name = value;
	return EXIT_DONE;
}

static const struct opt_spec options[] = {
	{ .letter = 'o', .arg = "FILE.onnx", .kind = OPT_TEXT, FIELD(out),
	  .text = "file that the quantised network is written to" },
	{ .name = "format", .arg = "FORMAT", .set = set_network_format, .valid = "EXP4, TER2, INT8, FLOAT32 or POT8",
	  .text = "format of both operands of every layer: EXP4, TER2, INT8, or FLOAT32 (the layer "
		  "stays as it is); or POT8: the whole network becomes int8, requantised by shifts" },
	{ .name = "first", .arg = "FORMAT", FIELD(first), .set = set_format, .valid = FORMATS,
	  .text = "format of the first layer" },
	{ .name = "last", .arg = "FORMAT", FIELD(last), .set = set_format, .valid = FORMATS,
	  .text = "format of the last layer" },
	{ .name = "layer", .arg = "NAME=FORMAT", .set = set_layer, .flags = OPT_MANY,
	  .valid = "NAME=" FORMATS,
	  .text = "format of the layers called NAME; the printed table has the names" },
	{ .name = "samples", .arg = "FILE.npy", .kind = OPT_TEXT, FIELD(samples),
	  .text = "typical inputs along the first axis, float32, as the network gets them; the scales "
		  "are those with the smallest error of each layer's outputs" },
	{ .name = "count", .arg = "N", .kind = OPT_NUMBER, FIELD(count), .min = 1, .max = MAX_SAMPLES,
	  .text = "use N of the samples, spread over the file; default 64" },
	{ .name = "test", .arg = "FILE.npy", .kind = OPT_TEXT, FIELD(test),
	  .text = "run both networks with each of these inputs and print how their first outputs "
		  "differ, and for how many the largest element is the same" },
	{ .name = "labels", .arg = "FILE.npy", .kind = OPT_TEXT, FIELD(labels),
	  .text = "index of the right largest element for each input of --test, from 0: also print "
		  "the share of right ones" },
	{ .name = "answers", .arg = "FILE.npy", .kind = OPT_TEXT, FIELD(answers),
	  .text = "write the quantised network's first output for each input of --test" },
	{ .name = "device", .arg = OPT_DEVICE_ARG, .kind = OPT_TEXT, FIELD(device),
	  .text = "device that --test runs on; default: a core with packed formats, inside the "
		  "process" },
	{ .name = "core", .arg = OPT_CORE_ARG, .kind = OPT_TEXT, FIELD(core),
	  .text = "cores that --test uses: all called NAME, or the one that cnnctl info prints as "
		  "NAME.INDEX; \"cpu\": none" },
};

static int set_model(void *request, char *text)
{
	struct quant_options *o = request;

	if (o->model)
		return complain(EXIT_USAGE, "one MODEL is quantised: there is \"%s\" and \"%s\"",
				o->model, text);
	o->model = text;
	return EXIT_DONE;
}

static const struct opt_command command = {
	.usage = { "MODEL -o FILE --format FORMAT --samples FILE [OPTION...]" },
	.intro = "Quantises a float network: convolutions and matrix products get EXP4, TER2 or INT8 "
		 "operands, with a scale that is a power of two for each output channel and one for "
		 "the input. MODEL is an ONNX or TensorFlow Lite file with one input.",
	.options = options, .count = ARRAY_SIZE(options), .operand = set_model,
};

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) &&
				 x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Refuses output files that are also inputs. */
static int check_files(const struct quant_options *o)
{
	const char *const read[] = { o->model, o->samples, o->test, o->labels };

	for (size_t i = 0; i < ARRAY_SIZE(read); i++) {
		if (read[i] && is_same_file(o->out, read[i]))
			return complain(EXIT_USAGE, "-o %s: it is also an input", o->out);
		if (read[i] && o->answers && is_same_file(o->answers, read[i]))
			return complain(EXIT_USAGE, "--answers %s: it is also an input", o->answers);
	}
	if (o->answers && is_same_file(o->answers, o->out))
		return complain(EXIT_USAGE, "--answers %s: -o is the same file", o->answers);
	return EXIT_DONE;
}

static int check_options(const struct quant_options *o)
{
	if (!o->model)
		return complain(EXIT_USAGE, "no MODEL is given; try cnnquant --help");
	if (!o->out || !o->samples || (o->format == FORMAT_UNSET && !o->pot8))
		return complain(EXIT_USAGE, "%s is missing; try cnnquant --help", !o->out ? "-o FILE.onnx" :
				!o->samples ? "--samples FILE.npy" : "--format FORMAT");
	if (o->pot8 && (o->first != FORMAT_UNSET || o->last != FORMAT_UNSET || o->layers))
		return complain(EXIT_USAGE, "POT8 has no formats of single layers");
	if (!o->test && (o->labels || o->answers || o->device || o->core))
		return complain(EXIT_USAGE, "%s is for --test", o->labels ? "--labels" :
				o->answers ? "--answers" : o->device ? "--device" : "--core");
	/* Before the work, which may take minutes. */
	return check_files(o) ?: check_writable(o->out) ?: check_writable(o->answers);
}

/* Moves samples spread over the file to its beginning; returns how many. */
static int64_t pick_samples(struct quantizer *q)
{
	struct cnn_tensor *t = &q->samples;
	int64_t count = (int64_t)q->o->count;
	int64_t n = count < t->dims[0] ? count : t->dims[0];
	size_t size = (size_t)(cnn_tensor_bytes(t) / t->dims[0]);

	for (int64_t i = 0; i < n; i++)
		memmove((char *)t->data + (size_t)i * size,
			(char *)t->data + (size_t)(i * t->dims[0] / n) * size, size);
	return n;
}

/* Prints the signal-to-noise ratio of a layer's outputs. */
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
		return quant_fail(q);
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
	int ret = read_samples(o->samples, &q.samples) ?: open_graph(&q) ?:
		  (o->test ? open_test(&test) : EXIT_DONE) ?:
		  quantize_graph(&q, pick_samples(&q), print_layers) ?:
		  write_network(&q, &test);

	close_test(&test);
	close_graph(&q);
	cnn_tensor_release(&q.samples);
	return ret;
}

int main(int argc, char **argv)
{
	struct quant_options o = {
		.format = FORMAT_UNSET, .first = FORMAT_UNSET, .last = FORMAT_UNSET,
		.count = SAMPLES,
	};

	return end_output(opt_parse(&command, argc, argv, &o, NULL) ?: check_options(&o) ?: run(&o));
}
