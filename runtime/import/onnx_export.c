// SPDX-License-Identifier: MIT
/* Graphs to ONNX files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "ops/cpu.h"
#include "pb.h"

#define IR_VERSION	8

/* An input or output and all that its declaration points at. */
struct declaration {
	Onnx__ValueInfoProto info;
	Onnx__TypeProto type;
	Onnx__TypeProto__Tensor tensor;
	Onnx__TensorShapeProto shape;
	Onnx__TensorShapeProto__Dimension dims[CNN_MAX_RANK], *dim_list[CNN_MAX_RANK];
};

/* The messages, which point into the graph, in arrays of known lengths; next: how many are used. */
struct writer {
	const struct cnn_graph *g;
	struct cnn_err *err;
	Onnx__NodeProto *nodes, **node_list;
	Onnx__AttributeProto *attrs, **attr_list;
	Onnx__TensorProto *tensors, **tensor_list;
	struct declaration *io;
	Onnx__ValueInfoProto **io_list;
	char **edges;
	char **names;		/* of the values, each its own */
	size_t next_attr, next_tensor, next_edge;
};

static bool writer_alloc(struct writer *w)
{
	const struct cnn_graph *g = w->g;
	size_t nodes = (size_t)g->n_nodes, attrs = 0, edges = 0;
	size_t io = (size_t)g->n_inputs + (size_t)g->n_outputs;

	for (int i = 0; i < g->n_nodes; i++) {
		for (const struct cnn_field *f = cnn_node_fields(&g->nodes[i]); f->name; f++)
			attrs++;
		edges += (size_t)g->nodes[i].n_in + (size_t)g->nodes[i].n_out;
	}
	w->nodes = calloc(nodes + 1, sizeof(*w->nodes));
	w->node_list = calloc(nodes + 1, sizeof(*w->node_list));
	w->attrs = calloc(attrs + 1, sizeof(*w->attrs));
	w->attr_list = calloc(attrs + 1, sizeof(*w->attr_list));
	w->tensors = calloc((size_t)g->n_values + attrs + 1, sizeof(*w->tensors));
	w->tensor_list = calloc((size_t)g->n_values + 1, sizeof(*w->tensor_list));
	w->io = calloc(io + 1, sizeof(*w->io));
	w->io_list = calloc(io + 1, sizeof(*w->io_list));
	w->edges = calloc(edges + 1, sizeof(*w->edges));
	w->names = calloc((size_t)g->n_values + 1, sizeof(*w->names));
	return w->nodes && w->node_list && w->attrs && w->attr_list && w->tensors &&
	       w->tensor_list && w->io && w->io_list && w->edges && w->names;
}

static void writer_free(struct writer *w)
{
	free(w->nodes);
	free(w->node_list);
	for (size_t i = 0; i < w->next_attr; i++)
		free(w->attrs[i].strings);
	free(w->attrs);
	free(w->attr_list);
	free(w->tensors);
	free(w->tensor_list);
	free(w->io);
	free(w->io_list);
	free(w->edges);
	for (int v = 0; w->names && v < w->g->n_values; v++)
		free(w->names[v]);
	free(w->names);
}

/* A value's name, with its number if it is empty or an earlier value has it. */
static char *own_name(const struct cnn_graph *g, int v)
{
	char *name = strdup(g->values[v].name), *longer;
	bool own = name && *name && cnn_graph_find_value(g, name) == v;

	while (name && !own) {
		if (asprintf(&longer, "%s_%d", name, v) < 0)
			longer = NULL;
		free(name);
		name = longer;
		own = name && cnn_graph_find_value(g, name) < 0;
	}
	return name;
}

static int name_values(struct writer *w)
{
	for (int v = 0; v < w->g->n_values; v++) {
		w->names[v] = own_name(w->g, v);
		if (!w->names[v])
			return cnn_fail(w->err, CNN_ENOMEM, "no memory for names");
	}
	return CNN_OK;
}

static Onnx__TensorProto *write_tensor(struct writer *w, const struct cnn_tensor *t, char *name)
{
	Onnx__TensorProto *tp = &w->tensors[w->next_tensor++];

	cnn_tensor_to_proto(t, name, tp);
	return tp;
}

static Onnx__AttributeProto *next_attr(struct writer *w, const struct cnn_field *f)
{
	static const Onnx__AttributeProto__AttributeType types[] = {
		['f'] = ATTR(FLOAT), ['i'] = ATTR(INT), ['s'] = ATTR(STRING), ['S'] = ATTR(STRINGS),
		['t'] = ATTR(TENSOR), ['F'] = ATTR(FLOATS), ['I'] = ATTR(INTS),
	};
	Onnx__AttributeProto *ap = &w->attrs[w->next_attr];

	w->attr_list[w->next_attr++] = ap;
	onnx__attribute_proto__init(ap);
	ap->name = (char *)f->name;
	ap->has_type = true;
	ap->type = types[(unsigned char)f->type];
	return ap;
}

/* Texts with commas between. */
static int write_texts(struct writer *w, char *text, Onnx__AttributeProto *ap)
{
	size_t n = 1;

	for (const char *p = text; *p; p++)
		n += *p == ',';
	ap->strings = calloc(n, sizeof(*ap->strings));
	if (!ap->strings)
		return cnn_fail(w->err, CNN_ENOMEM, "no memory for an attribute");
	for (ap->n_strings = 0; ap->n_strings < n; ap->n_strings++) {
		size_t len = strcspn(text, ",");

		ap->strings[ap->n_strings] = (ProtobufCBinaryData){ len, (uint8_t *)text };
		text += len + 1;
	}
	return CNN_OK;
}

static int write_attr(struct writer *w, const struct cnn_field *f, void *at)
{
	Onnx__AttributeProto *ap = next_attr(w, f);
	bool owned = f->kind == CNN_FIELD_TENSOR;
	struct cnn_tensor *t = at;
	const char *text;

	switch (f->type) {
	case 'i':
		ap->has_i = true;
		ap->i = cnn_field_int(f, at);
		break;
	case 'f':
		ap->has_f = true;
		ap->f = *(float *)at;
		break;
	case 's':
		text = f->kind == CNN_FIELD_TEXT ? at : f->texts[cnn_field_int(f, at)];
		ap->has_s = true;
		ap->s = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
		break;
	case 'S':
		return write_texts(w, at, ap);
	case 'I':
		ap->n_ints = (size_t)(owned ? t->dims[0] : *(int *)at);
		ap->ints = owned ? t->data : cnn_field_ints(at);
		break;
	case 'F':
		ap->n_floats = (size_t)*(int *)at;
		ap->floats = cnn_field_floats(at);
		break;
	default:
		ap->t = write_tensor(w, t, NULL);
		break;
	}
	return CNN_OK;
}

static int write_attrs(struct writer *w, const struct cnn_node *n, Onnx__NodeProto *np)
{
	int ret = CNN_OK;

	np->attribute = &w->attr_list[w->next_attr];
	for (const struct cnn_field *f = cnn_node_fields(n); f->name && !ret; f++) {
		if (f->alias || cnn_node_is_default(n, f))
			continue;
		ret = write_attr(w, f, cnn_field_at((struct cnn_params *)&n->params, f));
		np->n_attribute++;
	}
	return ret;
}

static char **write_edges(struct writer *w, const int *values, int n)
{
	char **list = &w->edges[w->next_edge];

	w->next_edge += (size_t)n;
	for (int i = 0; i < n; i++)
		list[i] = values[i] < 0 ? "" : w->names[values[i]];
	return list;
}

/* Operators that we have under names of ONNX's domain. */
static bool is_ours(const struct cnn_node *n)
{
	static const enum cnn_op ops[] = {
		CNN_OP_QGEMM, CNN_OP_QLINEAR_ADD, CNN_OP_QLINEAR_GLOBAL_AVERAGE_POOL,
		CNN_OP_QLINEAR_SOFTMAX, CNN_OP_REQUANTIZE, CNN_OP_SCALED_ADD,
		CNN_OP_SWISH,
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (n->op == ops[i])
			return true;
	return n->op == CNN_OP_CONV && n->n_in > 3;
}

static int write_node(struct writer *w, const struct cnn_node *n, Onnx__NodeProto *np)
{
	if (is_ours(n))
		return cnn_node_fail(n, w->err, CNN_EUNSUPPORTED, "ONNX has no such operator");
	if (n->act.kind != CNN_ACT_NONE)
		return cnn_node_fail(n, w->err, CNN_EINVAL, "its activation cannot be written");
	onnx__node_proto__init(np);
	np->op_type = n->op_type;
	np->domain = n->domain;
	np->name = n->name;
	np->n_input = (size_t)n->n_in;
	np->input = write_edges(w, n->in, n->n_in);
	np->n_output = (size_t)n->n_out;
	np->output = write_edges(w, n->out, n->n_out);
	return write_attrs(w, n, np);
}

/* What has no shape before it runs has none in the file. */
static void declare(const struct writer *w, int value, struct declaration *d)
{
	const struct cnn_value *v = &w->g->values[value];

	onnx__value_info_proto__init(&d->info);
	onnx__type_proto__init(&d->type);
	onnx__type_proto__tensor__init(&d->tensor);
	onnx__tensor_shape_proto__init(&d->shape);
	d->info.name = w->names[value];
	d->info.type = &d->type;
	d->type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	d->type.tensor_type = &d->tensor;
	d->tensor.has_elem_type = true;
	d->tensor.elem_type = (int32_t)v->t.dtype;
	d->tensor.shape = v->t.rank < 0 ? NULL : &d->shape;
	d->shape.n_dim = v->t.rank < 0 ? 0 : (size_t)v->t.rank;
	d->shape.dim = d->dim_list;
	for (size_t i = 0; i < d->shape.n_dim; i++) {
		onnx__tensor_shape_proto__dimension__init(&d->dims[i]);
		d->dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		d->dims[i].dim_value = v->t.dims[i];
		d->dim_list[i] = &d->dims[i];
	}
}

static int write_graph(struct writer *w, Onnx__GraphProto *gp)
{
	const struct cnn_graph *g = w->g;
	int ret = CNN_OK, io = 0;

	gp->name = g->name && *g->name ? g->name : "network";
	gp->n_node = (size_t)g->n_nodes;
	gp->node = w->node_list;
	for (int i = 0; i < g->n_nodes && !ret; i++) {
		gp->node[i] = &w->nodes[i];
		ret = write_node(w, &g->nodes[i], gp->node[i]);
	}
	gp->initializer = w->tensor_list;
	for (int v = 0; v < g->n_values; v++)
		if (g->values[v].t.data && (g->values[v].n_consumers || g->values[v].is_output))
			gp->initializer[gp->n_initializer++] =
				write_tensor(w, &g->values[v].t, w->names[v]);
	gp->input = w->io_list;
	for (int i = 0; i < g->n_inputs; i++, io++) {
		if (g->values[g->inputs[i]].t.data)
			continue;
		declare(w, g->inputs[i], &w->io[io]);
		gp->input[gp->n_input++] = &w->io[io].info;
	}
	gp->output = w->io_list + g->n_inputs;
	for (int i = 0; i < g->n_outputs; i++, io++) {
		declare(w, g->outputs[i], &w->io[io]);
		gp->output[gp->n_output++] = &w->io[io].info;
	}
	return ret;
}

/* The operator set of the file's domain, and ours. */
static void write_opsets(const struct cnn_graph *g, Onnx__OperatorSetIdProto sets[2],
			 Onnx__ModelProto *mp)
{
	for (int i = 0; i < 2; i++) {
		onnx__operator_set_id_proto__init(&sets[i]);
		sets[i].has_version = true;
	}
	sets[0].domain = "";
	sets[0].version = 1;
	sets[1].domain = CNN_DOMAIN;
	sets[1].version = 1;
	mp->n_opset_import = 1;
	for (int i = 0; i < g->n_nodes; i++) {
		if (!strcmp(g->nodes[i].domain, CNN_DOMAIN))
			mp->n_opset_import = 2;
		else if (g->nodes[i].opset > sets[0].version)
			sets[0].version = g->nodes[i].opset;
	}
}

int cnn_graph_export_onnx(const struct cnn_graph *g, void **buf, size_t *len, struct cnn_err *err)
{
	Onnx__OperatorSetIdProto sets[2], *set_list[2] = { &sets[0], &sets[1] };
	Onnx__ModelProto mp = ONNX__MODEL_PROTO__INIT;
	Onnx__GraphProto gp = ONNX__GRAPH_PROTO__INIT;
	struct writer w = { .g = g, .err = err };
	int ret = writer_alloc(&w) ? name_values(&w) :
		  cnn_fail(err, CNN_ENOMEM, "no memory for a file");

	if (!ret)
		ret = write_graph(&w, &gp);
	mp.has_ir_version = true;
	mp.ir_version = IR_VERSION;
	mp.producer_name = "cnnacc";
	mp.opset_import = set_list;
	mp.graph = &gp;
	write_opsets(g, sets, &mp);
	*len = ret ? 0 : onnx__model_proto__get_packed_size(&mp);
	*buf = ret ? NULL : malloc(*len + 1);
	if (*buf)
		onnx__model_proto__pack(&mp, *buf);
	else if (!ret)
		ret = cnn_fail(err, CNN_ENOMEM, "no memory for a file of %zu bytes", *len);
	writer_free(&w);
	return ret;
}
