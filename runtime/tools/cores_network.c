/* SPDX-License-Identifier: MIT */
/* The network of a report of all cores in each format, and its compilation. */
#include "cnnquant.h"
#include "cnnrun_network.h"
#include "cores_report.h"
#include "import/import.h"

#include <stdlib.h>
#include <string.h>

/* Quantises the network with the calibration samples. */
static int quantise(struct cores_report *r, const struct quant_options *o, struct cores_network *n)
{
	struct quantizer q = { .o = o, .samples = r->calibration };
	int ret = open_graph(&q) ?: quantize_graph(&q, r->calibration.dims[0], NULL);

	if (!ret && cnn_graph_export_onnx(q.g, &n->data, &n->size, &q.err))
		ret = quant_fail(&q);
	close_graph(&q);
	return ret;
}

static struct cores_network *find_network(struct cores_report *r, const char *format)
{
	for (unsigned int i = 0; i < r->networks; i++) {
		const char *has = r->network[i].format;

		if (has == format || (has && format && !strcmp(has, format)))
			return &r->network[i];
	}
	return NULL;
}

int cores_network(struct cores_report *r, const char *format, const struct cores_network **n,
		  char **why)
{
	struct cores_network *network = find_network(r, format);
	struct quant_options o = {
		.model = r->o->model, .samples = r->o->samples,
		.format = FORMAT_UNSET, .first = FORMAT_UNSET, .last = FORMAT_UNSET,
	};
	int ret = EXIT_DONE;

	*n = network;
	if (network)
		return EXIT_DONE;
	if (format && !r->calibration.data)
		*why = strdup("it needs --samples FILE.npy: inputs to choose its scales with");
	else if (format && !find_network_format(format, &o))
		*why = strdup("cnnquant does not have the format");
	else if (r->networks == CORES_NETWORKS)
		*why = strdup("the report has networks of 8 formats already, which is the limit");
	if (*why)
		return EXIT_DONE;
	network = &r->network[r->networks];
	network->format = format;
	if (format)
		ret = quantise(r, &o, network);
	r->networks += !ret;
	*n = network;
	return ret;
}

void cores_free_networks(struct cores_report *r)
{
	for (unsigned int i = 0; i < r->networks; i++)
		free(r->network[i].data);
}

static int load(const struct cores_report *r, const struct cores_network *n,
		struct cnnrt_model **model)
{
	struct cnnrt_error err;
	int ret = n->data ? cnnrt_model_load_buffer(n->data, n->size, NULL, model, &err) :
			    cnnrt_model_load(r->o->model, model, &err);

	if (!ret)
		return EXIT_DONE;
	return err.code == CNNRT_EFILE ? complain_error(&err) :
					 complain(EXIT_FAILED, "%s: %s", r->o->model, err.text);
}

static int check_input(const struct cores_report *r, struct cnnrt_model *model)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	unsigned int inputs = cnnrt_model_io_count(model, CNNRT_INPUT);
	struct cnnrt_error err;

	if (r->test.data && inputs != 1)
		return complain(EXIT_FAILED, "%s: it has %u inputs; --samples is for one input",
				r->o->model, inputs);
	if (inputs && cnnrt_model_io(model, CNNRT_INPUT, 0, &info, &err))
		return complain_error(&err);
	if (inputs && info.type != CNNRT_FLOAT32)
		return complain(EXIT_FAILED, "%s: input %s is %s; --core all compares float networks, "
				"float32 wanted", r->o->model, info.name,
				cnn_dtype_name((enum cnn_dtype)info.type));
	return EXIT_DONE;
}

/* Applies --shape. */
static int set_given_shapes(const struct cores_report *r, struct cnnrt_model *model)
{
	struct session session = { .opt = r->o };
	struct network network = { .s = &session, .model = model };

	return set_shapes(&network);
}

/* Gives the network's only input the shape of one sample, which a --shape must have, too. */
static int set_sample_shape(const struct cores_report *r, struct cnnrt_model *model)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnn_tensor sample = r->test, given;
	char a[128], b[128];
	struct cnnrt_error err;

	sample.dims[0] = 1;
	if (cnnrt_model_io(model, CNNRT_INPUT, 0, &info, &err))
		return complain_error(&err);
	given = tensor_of(&info, NULL);
	if (r->o->shape.count && !cnn_tensor_same_shape(&given, &sample))
		return complain(EXIT_FAILED, "--samples %s: one sample is %s, but --shape gives "
				"input %s %s", r->o->samples,
				cnn_tensor_describe(&sample, a, sizeof(a)), info.name,
				cnn_tensor_describe(&given, b, sizeof(b)));
	if (cnnrt_model_set_input_shape(model, 0, sample.rank, sample.dims, &err))
		return complain(EXIT_FAILED, "--samples %s: one sample: %s", r->o->samples,
				err.text);
	return EXIT_DONE;
}

static int open_model(const struct cores_report *r, const struct cores_network *n,
		      struct cnnrt_model **model)
{
	int ret = load(r, n, model) ?: check_input(r, *model) ?: set_given_shapes(r, *model);

	return ret || !r->test.data ? ret : set_sample_shape(r, *model);
}

int cores_compile(struct cores_report *r, const struct cores_network *n, bool half,
		  const char *core, struct cnnrt_program **p, char **why)
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .target = r->o->target,
		.precision = half ? CNNRT_PRECISION_FP16 : CNNRT_PRECISION_FP32,
		.prefer = core ? r->o->prefer : CNNRT_PREFER_TIME,
	};
	struct cnnrt_model *model = NULL;
	char text[CNNRT_ERROR_TEXT];
	struct cnnrt_error err;
	int ret;

	opt.cpu_only = core && !strcmp(core, "cpu");
	opt.core = opt.cpu_only ? NULL : core;
	ret = open_model(r, n, &model);
	if (!ret && cnnrt_compile(model, r->dev, &opt, p, &err)) {
		*p = NULL;
		*why = strdup(clean(err.text, text, sizeof(text)));
		ret = *why ? EXIT_DONE : complain(EXIT_FAILED, "out of memory");
	}
	cnnrt_model_free(model);
	return ret;
}

/* Names the dimensions that neither --shape nor --samples gave. */
static int name_free_dimensions(const struct cores_report *r, const struct cores_network *n,
				bool compiled)
{
	struct cnnrt_model *model = NULL;
	int ret = open_model(r, n, &model);

	if (!ret)
		name_free_inputs(model, compiled);
	cnnrt_model_free(model);
	return ret;
}

int cores_answer_floats(struct cores_report *r)
{
	struct cnnrt_program *p = NULL;
	const struct cores_network *n;
	struct cnnrt_job *job = NULL;
	struct cnnrt_error err;
	char *why = NULL;
	int ret = cores_network(r, NULL, &n, &why) ?: cores_compile(r, n, false, "cpu", &p, &why);

	if (!ret && why)
		complain(0, "%s: %s", r->o->model, why);
	ret = ret ?: name_free_dimensions(r, n, !why) ?: (why ? EXIT_FAILED : EXIT_DONE);
	if (!ret && r->test.data)
		ret = checked(cnnrt_job_create(r->ctx, p, &job, &err), &err) ?:
		      run_samples(job, &r->test, r->o->model, &r->answers);
	if (!ret && r->labels.data)
		ret = check_labels(&r->labels, &r->answers, r->o->classes);
	cnnrt_job_free(job);
	cnnrt_program_free(p);
	free(why);
	return ret;
}
