// SPDX-License-Identifier: MIT
/* TensorFlow Lite files to graphs: tensors, operators in the file's order, inputs and outputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "ops/cpu.h"
#include "tflite.h"

#define SCHEMA		3	/* the only version there has been since 2017 */

/* Fields by their numbers in the schema. */
enum { MODEL_VERSION, MODEL_CODES, MODEL_SUBGRAPHS, MODEL_DESCRIPTION, MODEL_BUFFERS };
enum { CODE_DEPRECATED, CODE_CUSTOM, CODE_VERSION, CODE_BUILTIN };
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS, GRAPH_NAME };
enum { TENSOR_SHAPE, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_NAME, TENSOR_QUANTIZATION,
       TENSOR_IS_VARIABLE, TENSOR_SPARSITY };
enum { QUANT_SCALE = 2, QUANT_ZERO_POINT, QUANT_DETAILS_TYPE, QUANT_DETAILS, QUANT_AXIS };
enum { OP_CODE, OP_INPUTS, OP_OUTPUTS, OP_OPTIONS_TYPE, OP_OPTIONS };
enum { BUFFER_DATA, BUFFER_OFFSET };

static enum cnn_dtype dtype_of(int64_t type)
{
	static const enum cnn_dtype types[] = {
		CNN_FLOAT32, CNN_FLOAT16, CNN_INT32, CNN_UINT8, CNN_INT64, CNN_STRING, CNN_BOOL,
		CNN_INT16, CNN_UNDEFINED, CNN_INT8, CNN_FLOAT64,
	};

	return type >= 0 && (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type] :
									      CNN_UNDEFINED;
}

static int damaged(struct tfl *m, const char *what, int i)
{
	return tfl_fail(m, NULL, CNN_EINVAL, "TFLite file: %s %d is damaged or cut off", what, i);
}

static void read_name(const struct fb_table *table, int i, struct tfl_tensor *t)
{
	struct fb_vector name = fb_vector(table, TENSOR_NAME, 1);
	size_t max = sizeof(t->name) - 1;

	snprintf(t->name, sizeof(t->name), "tensor_%d", i);
	if (!name.count)
		return;
	max = name.count < max ? name.count : max;
	memcpy(t->name, name.fb->data + name.at, max);
	t->name[max] = 0;
}

static void read_tensor(struct tfl *m, const struct fb_table *table,
			const struct fb_vector *buffers, int i)
{
	struct fb_vector shape = fb_vector(table, TENSOR_SHAPE, 4);
	struct fb_table quant = fb_table(table, TENSOR_QUANTIZATION), buffer;
	size_t number = (uint32_t)fb_int(table, TENSOR_BUFFER, 4, 0);
	struct tfl_tensor *t = &m->tensors[i];

	t->dtype = dtype_of(fb_int(table, TENSOR_TYPE, 1, 0));
	t->value[TFL_FILE] = t->value[TFL_NCHW] = t->scale_value = t->zero_value = -1;
	t->scale = fb_vector(&quant, QUANT_SCALE, 4);
	t->zero = fb_vector(&quant, QUANT_ZERO_POINT, 8);
	t->axis = (int)fb_int(&quant, QUANT_AXIS, 4, 0);
	read_name(table, i, t);
	if (number >= buffers->count || m->fb.bad) {
		damaged(m, "tensor", i);
		return;
	}
	buffer = fb_table_at(buffers, number);
	t->data = fb_vector(&buffer, BUFFER_DATA, 1);
	if (shape.count > CNN_MAX_RANK) {
		tfl_fail(m, NULL, CNN_ELIMIT, "tensor %.60s: %zu dimensions, limit %d", t->name,
			 shape.count, CNN_MAX_RANK);
		return;
	}
	t->rank = (int)shape.count;
	for (int j = 0; j < t->rank; j++)
		t->dims[j] = fb_int_at(&shape, (size_t)j, 4);
	if (fb_int(table, TENSOR_IS_VARIABLE, 1, 0) || fb_table(table, TENSOR_SPARSITY).at ||
	    fb_int(&buffer, BUFFER_OFFSET, 8, 0) || fb_int(&quant, QUANT_DETAILS_TYPE, 1, 0))
		tfl_fail(m, NULL, CNN_EUNSUPPORTED, "tensor %.60s is variable, sparse, outside the "
			 "flatbuffer or quantised in another way", t->name);
	if (m->fb.bad)
		damaged(m, "tensor", i);
}

static void read_tensors(struct tfl *m, const struct fb_table *graph,
			 const struct fb_vector *buffers)
{
	struct fb_vector tensors = fb_vector(graph, GRAPH_TENSORS, 4);

	if (tensors.count > CNN_MAX_VALUES / 4) {
		tfl_fail(m, NULL, CNN_ELIMIT, "%zu tensors, limit %d", tensors.count,
			 CNN_MAX_VALUES / 4);
		return;
	}
	m->tensors = calloc(tensors.count + 1, sizeof(*m->tensors));
	if (!m->tensors) {
		tfl_nomem(m);
		return;
	}
	m->n_tensors = (int)tensors.count;
	for (int i = 0; i < m->n_tensors && !m->status; i++) {
		struct fb_table t = fb_table_at(&tensors, (size_t)i);

		read_tensor(m, &t, buffers, i);
	}
}

/* Number i of a list of tensors: -1 if it is left out, which optional says it may be. */
static int tensor_number(struct tfl *m, const struct fb_vector *list, size_t i, bool optional)
{
	int64_t t = fb_int_at(list, i, 4);

	if (t >= 0 && t < m->n_tensors)
		return (int)t;
	if (t == -1 && optional)
		return -1;
	return tfl_fail(m, NULL, CNN_EINVAL, "TFLite file: tensor %lld of %d", (long long)t,
			m->n_tensors);
}

static int64_t code_number(const struct fb_table *code)
{
	int64_t number = fb_int(code, CODE_BUILTIN, 4, 0);

	/* Files before 2020 have a byte only. */
	return number ? number : fb_int(code, CODE_DEPRECATED, 1, 0);
}

/* What to call an operator: "LSTM", "CUSTOM FlexAddV2", "number 300". */
static void name_code(const struct fb_table *code, char *name, size_t size)
{
	struct fb_vector custom = fb_vector(code, CODE_CUSTOM, 1);
	int64_t number = code_number(code);

	if (!strcmp(tfl_code_name(number), "operator"))
		snprintf(name, size, "number %lld", (long long)number);
	else
		snprintf(name, size, "%s%s%.*s", tfl_code_name(number), custom.count ? " " : "",
			 custom.count < 40 ? (int)custom.count : 40,
			 (const char *)code->fb->data + custom.at);
}

#define OTHERS_MAX	100	/* characters of the names of missing operators after the first */

/* ", nor are LSTM (2), SVDF (1)": the missing operators but for number skip, by their nodes. */
static void list_missing(const struct fb_vector *codes, const int *nodes, size_t skip, char *text,
			 size_t size)
{
	size_t at = 0;
	int others = 0;
	char name[64];

	*text = 0;
	for (size_t i = 0; i < codes->count; i++) {
		struct fb_table code;

		if (i == skip || !nodes[i])
			continue;
		code = fb_table_at(codes, i);
		name_code(&code, name, sizeof(name));
		if (at + strlen(name) < OTHERS_MAX)
			at += (size_t)snprintf(text + at, size - at, "%s%s (%d)",
					       at ? ", " : ", nor are ", name, nodes[i]);
		else
			others += nodes[i];
	}
	if (others)
		snprintf(text + at, size - at, " and others (%d)", others);
}

/* Fails if there are operators that are not known here, and names them all; nodes counts them. */
static void check_codes(struct tfl *m, const struct fb_vector *codes, const struct fb_vector *ops,
			int *nodes)
{
	struct tfl_op first = { .number = -1 };
	char name[64], others[160];
	size_t skip = 0;

	for (size_t i = 0; i < ops->count && i <= CNN_MAX_NODES && !m->fb.bad; i++) {
		struct fb_table op = fb_table_at(ops, i), code;
		size_t number = (uint32_t)fb_int(&op, OP_CODE, 4, 0);

		if (number >= codes->count)
			continue;
		code = fb_table_at(codes, number);
		if (tfl_find_kind(code_number(&code)) || m->fb.bad)
			continue;
		nodes[number]++;
		if (first.number >= 0)
			continue;
		first.number = (int)i;
		skip = number;
		snprintf(first.name, sizeof(first.name), "%.32s_%d",
			 tfl_code_name(code_number(&code)), first.number);
		name_code(&code, name, sizeof(name));
	}
	if (first.number < 0 || m->fb.bad)
		return;
	list_missing(codes, nodes, skip, others, sizeof(others));
	if (!m->fb.bad)
		tfl_fail(m, &first, CNN_EUNSUPPORTED, "operator %s (%d) is not supported%s", name,
			 nodes[skip], others);
}

static void read_tensor_lists(struct tfl *m, struct tfl_op *op, const struct fb_vector *in,
			      const struct fb_vector *out)
{
	const struct tfl_kind *k = op->kind;
	int max_out = k->flags & TFL_MANY ? CNN_MAX_INPUTS : 1;

	if (in->count < (size_t)k->min_in || in->count > (size_t)k->max_in || out->count < 1 ||
	    out->count > (size_t)max_out) {
		tfl_fail(m, op, CNN_EINVAL, "%zu inputs, limits %d to %d; %zu outputs, limit %d",
			 in->count, k->min_in, k->max_in, out->count, max_out);
		return;
	}
	op->n_in = (int)in->count;
	for (int i = 0; i < op->n_in; i++)
		op->in[i] = tensor_number(m, in, (size_t)i, i >= k->min_in);
	op->n_out = (int)out->count;
	for (int i = 0; i < op->n_out; i++)
		op->outs[i] = tensor_number(m, out, (size_t)i, false);
	op->out = op->outs[0];
	if (!m->status && !(k->flags & TFL_CONVERTS) &&
	    m->tensors[op->in[0]].dtype != m->tensors[op->out].dtype)
		tfl_fail(m, op, CNN_EINVAL, "its input is %s, its output %s",
			 cnn_dtype_name(m->tensors[op->in[0]].dtype),
			 cnn_dtype_name(m->tensors[op->out].dtype));
}

static void read_op(struct tfl *m, const struct fb_table *table, const struct fb_vector *codes,
		    struct tfl_op *op)
{
	struct fb_vector in = fb_vector(table, OP_INPUTS, 4), out = fb_vector(table, OP_OUTPUTS, 4);
	size_t code = (uint32_t)fb_int(table, OP_CODE, 4, 0);
	struct fb_table code_table;

	if (code >= codes->count || m->fb.bad) {
		damaged(m, "operator", op->number);
		return;
	}
	code_table = fb_table_at(codes, code);
	op->kind = tfl_find_kind(code_number(&code_table));
	snprintf(op->name, sizeof(op->name), "%.32s_%d", tfl_code_name(code_number(&code_table)),
		 op->number);
	read_tensor_lists(m, op, &in, &out);
	op->options = (struct fb_table){ .fb = &m->fb };
	if (op->kind->options && fb_int(table, OP_OPTIONS_TYPE, 1, 0) == op->kind->options)
		op->options = fb_table(table, OP_OPTIONS);
}

static void read_ops(struct tfl *m, const struct fb_table *model, const struct fb_table *graph)
{
	struct fb_vector codes = fb_vector(model, MODEL_CODES, 4);
	struct fb_vector ops = fb_vector(graph, GRAPH_OPERATORS, 4);
	int *nodes = calloc(codes.count + 1, sizeof(*nodes));
	struct tfl_op op = { 0 };

	if (!nodes)
		tfl_nomem(m);
	else
		check_codes(m, &codes, &ops, nodes);
	free(nodes);
	for (size_t i = 0; i < ops.count && i <= CNN_MAX_NODES && !m->status && !m->fb.bad; i++) {
		struct fb_table table = fb_table_at(&ops, i);

		op.number = (int)i;
		read_op(m, &table, &codes, &op);
		if (!m->status && !m->fb.bad)
			op.kind->make(m, &op);
		if (m->fb.bad)
			damaged(m, "operator", (int)i);
	}
}

static void give_input(struct tfl *m, const struct fb_vector *list, size_t i)
{
	int number = tensor_number(m, list, i, false), v;
	struct tfl_tensor *t = number < 0 ? NULL : &m->tensors[number];
	struct cnn_tensor shape = { .rank = -1 };

	if (!t)
		return;
	if (t->value[TFL_FILE] >= 0 || t->data.count || !cnn_dtype_size(t->dtype)) {
		tfl_fail(m, NULL, CNN_EINVAL, "input %.60s is constant, given twice or of type %s",
			 t->name, cnn_dtype_name(t->dtype));
		return;
	}
	shape.dtype = t->dtype;
	shape.rank = t->rank;
	memcpy(shape.dims, t->dims, sizeof(shape.dims));
	v = t->value[TFL_FILE] = tfl_add_value(m, t->name, &shape);
	if (v < 0)
		return;
	m->g->values[v].is_input = true;
	m->g->inputs[m->g->n_inputs++] = v;
}

static void give_output(struct tfl *m, const struct fb_vector *list, size_t i)
{
	struct tfl_op op = { .name = "output" };
	int number = tensor_number(m, list, i, false);
	int v = number < 0 ? -1 : tfl_value(m, &op, number, TFL_FILE);

	if (v < 0)
		return;
	if (m->g->values[v].is_output) {
		tfl_fail(m, &op, CNN_EINVAL, "tensor %.60s is given twice",
			 m->tensors[number].name);
		return;
	}
	m->g->values[v].is_output = true;
	m->g->outputs[m->g->n_outputs++] = v;
}

static void read_graph(struct tfl *m, const struct fb_table *model, const struct fb_table *graph)
{
	struct fb_vector inputs = fb_vector(graph, GRAPH_INPUTS, 4);
	struct fb_vector outputs = fb_vector(graph, GRAPH_OUTPUTS, 4);
	struct fb_vector buffers = fb_vector(model, MODEL_BUFFERS, 4);

	read_tensors(m, graph, &buffers);
	m->g->inputs = calloc(inputs.count + 1, sizeof(*m->g->inputs));
	m->g->outputs = calloc(outputs.count + 1, sizeof(*m->g->outputs));
	m->g->name = strdup("");
	if (!m->g->inputs || !m->g->outputs || !m->g->name)
		tfl_nomem(m);
	for (size_t i = 0; i < inputs.count && !m->status; i++)
		give_input(m, &inputs, i);
	if (!m->status)
		read_ops(m, model, graph);
	if (!m->status && !outputs.count)
		tfl_fail(m, NULL, CNN_EINVAL, "the network has no output");
	for (size_t i = 0; i < outputs.count && !m->status; i++)
		give_output(m, &outputs, i);
}

static void read_model(struct tfl *m)
{
	struct fb_table model = fb_root(&m->fb), graph;
	struct fb_vector graphs = fb_vector(&model, MODEL_SUBGRAPHS, 4);
	int64_t version = fb_int(&model, MODEL_VERSION, 4, 0);

	if (!m->fb.bad && version != SCHEMA)
		tfl_fail(m, NULL, CNN_EUNSUPPORTED, "TFLite file: schema version %lld, %d wanted",
			 (long long)version, SCHEMA);
	if (!m->fb.bad && !m->status && graphs.count != 1)
		tfl_fail(m, NULL, CNN_EUNSUPPORTED, "TFLite file: %zu subgraphs, limit 1",
			 graphs.count);
	if (!m->fb.bad && !m->status) {
		graph = fb_table_at(&graphs, 0);
		read_graph(m, &model, &graph);
	}
	if (m->fb.bad)
		damaged(m, "model", 0);
}

static int import_tflite(const void *buf, size_t len, struct cnn_graph **graph, struct cnn_err *err)
{
	struct tfl m = { .fb = { .data = buf, .len = len }, .err = err };

	*graph = NULL;
	m.g = calloc(1, sizeof(*m.g));
	if (!m.g)
		return cnn_fail(err, CNN_ENOMEM, "no memory for the network");
	cnn_graph_default_limits(m.g);
	read_model(&m);
	for (int i = 0; i < m.g->n_nodes && !m.status; i++)
		m.status = cnn_params_check(&m.g->nodes[i], err);
	if (!m.status)
		m.status = cnn_graph_link(m.g, err);
	free(m.tensors);
	if (m.status)
		cnn_graph_free(m.g);
	else
		*graph = m.g;
	return m.status;
}

int cnn_graph_import(const void *buf, size_t len, int folder, struct cnn_graph **graph,
		     struct cnn_err *err)
{
	int ret;

	if (len >= 8 && !memcmp((const char *)buf + 4, "TFL3", 4))
		return import_tflite(buf, len, graph, err);
	ret = cnn_graph_import_onnx(buf, len, folder, graph, err);
	if (ret == CNN_EINVAL && len && !cnn_starts_as_onnx(buf))
		return cnn_fail(err, ret, "neither an ONNX nor a TensorFlow Lite network");
	return ret;
}
