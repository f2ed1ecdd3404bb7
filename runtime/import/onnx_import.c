// SPDX-License-Identifier: MIT
/* ONNX files to graphs. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "ops/cpu.h"
#include "pb.h"

/*
 * Newer operator sets may give old names new meanings. What changed after set 22 are types that no
 * tensor holds, and attributes, which params.c has. (26 and 27 bring new operators, and Range.)
 */
#define MAX_OPSET	27

struct name_ref {
	const char *name;
	int value;
};

struct import {
	struct cnn_graph *g;
	const Onnx__ModelProto *model;
	struct cnn_err *err;
	void *names;		/* tree of struct name_ref: no hash that a file could overload */
	struct name_ref *refs;
	size_t n_refs, max_refs;
	struct cnn_external *external;
	int opset;
	struct import *outer;	/* of the graph around this one, the body of an operator; or NULL */
};

static int nomem(struct cnn_err *err)
{
	return cnn_fail(err, CNN_ENOMEM, "no memory for the network");
}

static int compare_refs(const void *a, const void *b)
{
	return strcmp(((const struct name_ref *)a)->name, ((const struct name_ref *)b)->name);
}

static void keep(void *p)
{
	(void)p;
}

/* Index of a new value; an error below 0. */
static int value_new(struct import *im, const char *name)
{
	struct cnn_tensor unknown = { .rank = -1 };

	return cnn_graph_add_value(im->g, name, &unknown, im->err);
}

/* Index of the value called name, made if new; an error below 0. */
static int value_get(struct import *im, const char *name)
{
	struct name_ref *ref = &im->refs[im->n_refs];
	struct name_ref **found;

	ref->name = name;
	ref->value = -1;
	found = tsearch(ref, &im->names, compare_refs);
	if (!found)
		return nomem(im->err);
	if (*found != ref)
		return (*found)->value;
	im->n_refs++;
	ref->value = value_new(im, name);
	return ref->value;
}

static int import_initializers(struct import *im, const Onnx__GraphProto *gp)
{
	if (gp->n_sparse_initializer)
		return cnn_fail(im->err, CNN_EUNSUPPORTED, "sparse initializers");
	for (size_t i = 0; i < gp->n_initializer; i++) {
		Onnx__TensorProto *tp = gp->initializer[i];
		int v, ret;

		if (!tp->name || !*tp->name)
			return cnn_fail(im->err, CNN_EINVAL, "initializer %zu has no name", i);
		v = value_get(im, tp->name);
		if (v < 0)
			return v;
		if (im->g->values[v].t.data)
			return cnn_fail(im->err, CNN_EINVAL, "two initializers are called %.80s",
					tp->name);
		ret = cnn_tensor_from_proto(tp, im->external, &im->g->values[v].t, im->err);
		if (ret)
			return ret;
		im->g->const_bytes += im->g->values[v].t.capacity;
	}
	return CNN_OK;
}

static int import_shape(const Onnx__TensorShapeProto *sp, const char *name, struct cnn_tensor *t,
			struct cnn_err *err)
{
	if (!sp)
		return CNN_OK;
	if (sp->n_dim > CNN_MAX_RANK)
		return cnn_fail(err, CNN_ELIMIT, "input %.80s: %zu dimensions, limit %d", name,
				sp->n_dim, CNN_MAX_RANK);
	t->rank = sp->n_dim;
	for (size_t i = 0; i < sp->n_dim; i++) {
		const Onnx__TensorShapeProto__Dimension *d = sp->dim[i];
		bool known = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;

		t->dims[i] = known && d->dim_value >= 0 ? d->dim_value : -1;
	}
	return CNN_OK;
}

static int import_input(struct import *im, const Onnx__ValueInfoProto *vi)
{
	const Onnx__TypeProto *type = vi->type;
	struct cnn_graph *g = im->g;
	struct cnn_value *v;
	int idx;

	if (!vi->name || !*vi->name)
		return cnn_fail(im->err, CNN_EINVAL, "an input has no name");
	idx = value_get(im, vi->name);
	if (idx < 0)
		return idx;
	v = &g->values[idx];
	if (v->is_input)
		return cnn_fail(im->err, CNN_EINVAL, "two inputs are called %.80s", vi->name);
	if (v->t.data)
		return CNN_OK;
	if (im->outer) {		/* inference finds its type */
		v->is_input = true;
		g->inputs[g->n_inputs++] = idx;
		return CNN_OK;
	}
	if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
		return cnn_fail(im->err, CNN_EUNSUPPORTED,
				"input %.80s: type is not a dense tensor", vi->name);
	if (!cnn_dtype_size(type->tensor_type->elem_type))
		return cnn_fail(im->err, CNN_EUNSUPPORTED, "input %.80s: type %s", vi->name,
				cnn_dtype_name(type->tensor_type->elem_type));
	v->t.dtype = type->tensor_type->elem_type;
	v->is_input = true;
	g->inputs[g->n_inputs++] = idx;
	return import_shape(type->tensor_type->shape, vi->name, &v->t, im->err);
}

static char attr_type(const Onnx__AttributeProto *ap)
{
	static const char by_type[] = {
		[ATTR(FLOAT)] = 'f', [ATTR(INT)] = 'i', [ATTR(STRING)] = 's', [ATTR(STRINGS)] = 'S',
		[ATTR(TENSOR)] = 't', [ATTR(GRAPH)] = 'g', [ATTR(FLOATS)] = 'F',
		[ATTR(INTS)] = 'I',
	};

	if (ap->type > 0 && (size_t)ap->type < sizeof(by_type) && by_type[ap->type])
		return by_type[ap->type];
	if (ap->type)
		return '?';
	/* The first ONNX files had no type field. */
	return ap->has_f ? 'f' : ap->has_i ? 'i' : ap->has_s ? 's' : ap->t ? 't' :
	       ap->n_floats ? 'F' : ap->n_ints ? 'I' : '0';
}

static int attr_fail(const struct import *im, const struct cnn_node *n, enum cnn_status code,
		     const char *name, const char *what)
{
	return cnn_node_fail(n, im->err, code, "attribute %.60s %s", name, what);
}

/* A constant with a copy of data, which has the type that the attribute has. */
static int import_tensor(struct import *im, char type, const Onnx__AttributeProto *ap,
			 struct cnn_tensor *t)
{
	bool list = type == 'I' || type == 'F', floats = type == 'F' || type == 'f';
	const void *data = type == 'i' ? (const void *)&ap->i : type == 'f' ? &ap->f :
			   floats ? (const void *)ap->floats : ap->ints;
	int ret;

	*t = (struct cnn_tensor){
		.dtype = floats ? CNN_FLOAT32 : CNN_INT64, .rank = list,
		.dims = { (int64_t)(floats ? ap->n_floats : ap->n_ints) },
	};
	ret = cnn_tensor_alloc(t, 0, im->err);
	if (!ret && cnn_tensor_bytes(t))
		memcpy(t->data, data, (size_t)cnn_tensor_bytes(t));
	return ret;
}

static int import_list(struct import *im, const struct cnn_node *n, const struct cnn_field *f,
		       const Onnx__AttributeProto *ap, int *count)
{
	size_t have = f->type == 'I' ? ap->n_ints : ap->n_floats;

	if (have > (size_t)f->max)
		return cnn_node_fail(n, im->err, CNN_EUNSUPPORTED, "%s has %zu entries, limit %d",
				     f->name, have, f->max);
	*count = (int)have;
	if (have && f->type == 'I')
		memcpy(cnn_field_ints(count), ap->ints, have * sizeof(*ap->ints));
	else if (have)
		memcpy(cnn_field_floats(count), ap->floats, have * sizeof(*ap->floats));
	return CNN_OK;
}

static int import_choice(struct import *im, const struct cnn_node *n, const struct cnn_field *f,
			 const Onnx__AttributeProto *ap, int *choice)
{
	char text[40];

	snprintf(text, sizeof(text), "%.*s", ap->s.len < 39 ? (int)ap->s.len : 39,
		 ap->s.data ? (char *)ap->s.data : "");
	*choice = cnn_field_choice(f, text);
	if (*choice >= 0)
		return CNN_OK;
	return cnn_node_fail(n, im->err, CNN_EUNSUPPORTED, "attribute %s is \"%.30s\"", f->name,
			     text);
}

/* A text, or texts with commas between. */
static int import_text(struct import *im, const struct cnn_node *n, const struct cnn_field *f,
		       const Onnx__AttributeProto *ap, char *text)
{
	const ProtobufCBinaryData *parts = f->type == 'S' ? ap->strings : &ap->s;
	size_t n_parts = f->type == 'S' ? ap->n_strings : 1, len = 0;

	for (size_t i = 0; i < n_parts; i++) {
		size_t comma = i > 0;

		if (parts[i].len >= f->size - len - comma)
			return attr_fail(im, n, CNN_EUNSUPPORTED, f->name, "is too long");
		if (f->type == 'S' && parts[i].len && memchr(parts[i].data, ',', parts[i].len))
			return attr_fail(im, n, CNN_EUNSUPPORTED, f->name, "has a comma");
		if (comma)
			text[len++] = ',';
		if (parts[i].len)
			memcpy(text + len, parts[i].data, parts[i].len);
		len += parts[i].len;
	}
	text[len] = '\0';
	return CNN_OK;
}

static int import_field(struct import *im, struct cnn_node *n, const struct cnn_field *f,
			const Onnx__AttributeProto *ap)
{
	void *at = cnn_field_at(&n->params, f);
	struct cnn_tensor *t = at;

	switch (f->kind) {
	case CNN_FIELD_BOOL:
		*(bool *)at = ap->i;
		return CNN_OK;
	case CNN_FIELD_INT:
		*(int64_t *)at = ap->i;
		return CNN_OK;
	case CNN_FIELD_FLOAT:
		*(float *)at = ap->f;
		return CNN_OK;
	case CNN_FIELD_CHOICE:
		return import_choice(im, n, f, ap, at);
	case CNN_FIELD_TEXT:
		return import_text(im, n, f, ap, at);
	case CNN_FIELD_INTS:
	case CNN_FIELD_FLOATS:
		return import_list(im, n, f, ap, at);
	case CNN_FIELD_TENSOR:
		if (t->rank >= 0)
			return attr_fail(im, n, CNN_EINVAL, f->name, "is a second value");
		if (f->type != 't')
			return import_tensor(im, f->type, ap, t);
		return ap->t ? cnn_tensor_from_proto(ap->t, im->external, t, im->err) :
			       attr_fail(im, n, CNN_EINVAL, f->name, "holds no tensor");
	case CNN_FIELD_FIXED:
		if (ap->i == f->def)
			break;
		return cnn_node_fail(n, im->err, CNN_EUNSUPPORTED, "attribute %s is %lld, only "
				     "%lld is supported", f->name, (long long)ap->i,
				     (long long)f->def);
	case CNN_FIELD_GRAPH:		/* import_bodies */
	case CNN_FIELD_IGNORED:
		break;
	}
	return CNN_OK;
}

/* Of an attribute that a node has twice the first counts; seen has a bit for each field. */
static int import_attr(struct import *im, struct cnn_node *n, const Onnx__AttributeProto *ap,
		       uint64_t *seen)
{
	/* A hint of operator sets below 6. */
	static const struct cnn_field consumed = { .name = "consumed_inputs", .type = 'I' };
	const struct cnn_field *f;
	char type = attr_type(ap);
	uint64_t bit;

	if (!ap->name)
		return attr_fail(im, n, CNN_EINVAL, "", "has no name");
	f = strcmp(ap->name, consumed.name) ? cnn_node_field(n, ap->name) : &consumed;
	if (!f)
		return attr_fail(im, n, CNN_EUNSUPPORTED, ap->name, "is not supported");
	if (f->type != type && !(type == '0' && strchr("IF", f->type)))
		return attr_fail(im, n, CNN_EINVAL, f->name, "has the wrong type");
	if (f == &consumed)
		return CNN_OK;
	bit = (uint64_t)1 << (f - cnn_node_fields(n));
	if (*seen & bit)
		return CNN_OK;
	*seen |= bit;
	return import_field(im, n, f, ap);
}

/* Inference names an operator that is not known: its attributes mean nothing. */
static int import_attrs(struct import *im, struct cnn_node *n, const Onnx__NodeProto *np)
{
	uint64_t seen = 0;
	int ret = CNN_OK;

	if (n->op != CNN_OP_UNKNOWN && !*n->domain && n->opset > MAX_OPSET)
		return cnn_node_fail(n, im->err, CNN_EUNSUPPORTED, "its version in operator set "
				     "%d is not known, the newest known set is %d", n->opset,
				     MAX_OPSET);
	for (size_t i = 0; i < np->n_attribute && !ret && n->op != CNN_OP_UNKNOWN; i++)
		ret = import_attr(im, n, np->attribute[i], &seen);
	return ret ?: cnn_params_check(n, im->err);
}

/* A parameter that is refused matters only if inference needs the node. */
static int import_params(struct import *im, struct cnn_node *n, const Onnx__NodeProto *np)
{
	struct cnn_err *outer = im->err, err = { 0 };
	int ret;

	cnn_params_init(n);
	im->err = &err;
	ret = import_attrs(im, n, np);
	im->err = outer;
	if (!ret)
		return CNN_OK;
	n->refused = ret == CNN_ENOMEM ? NULL : malloc(sizeof(err));
	if (!n->refused)
		return nomem(im->err);
	*n->refused = err;
	return CNN_OK;
}

/* Names to value indices; "" is an omitted one. */
static int import_edges(struct import *im, char **names, size_t count, int **edges, int *n_edges)
{
	if (count > CNN_MAX_INPUTS)
		return cnn_fail(im->err, CNN_ELIMIT, "a node has %zu inputs or outputs, limit %d",
				count, CNN_MAX_INPUTS);
	*edges = malloc(sizeof(**edges) * (count ? count : 1));
	if (!*edges)
		return nomem(im->err);
	for (size_t i = 0; i < count; i++) {
		int v = *names[i] ? value_get(im, names[i]) : -1;

		if (v < 0 && *names[i])
			return v;
		(*edges)[i] = v;
	}
	*n_edges = count;
	return CNN_OK;
}

/* Each operator makes its first output, which a file may leave out all the same. */
static int import_outputs_of(struct import *im, struct cnn_node *n, const Onnx__NodeProto *np)
{
	int ret = import_edges(im, np->output, np->n_output, &n->out, &n->n_out);

	if (ret || !n->n_out || n->out[0] >= 0)
		return ret;
	n->out[0] = value_new(im, n->name);
	return n->out[0] < 0 ? n->out[0] : CNN_OK;
}

static int opset_of(const Onnx__ModelProto *model, const char *domain)
{
	for (size_t i = 0; i < model->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *os = model->opset_import[i];
		const char *d = os->domain ? os->domain : "";

		if (!strcmp(d, "ai.onnx"))
			d = "";
		if (!strcmp(d, domain))
			return os->version > 0 && os->version < INT32_MAX ? os->version : 0;
	}
	return 1;
}

static int import_graph(struct import *im, const Onnx__GraphProto *gp);

/* Makes the outer value called name, and by this a further input of the body and its operator. */
static int capture(struct import *im, struct cnn_node *n, int value)
{
	struct cnn_value *v = &im->g->values[value];
	int *in = realloc(n->in, sizeof(*in) * (n->n_in + 1));
	int outer = v->t.data ? value_new(im->outer, v->name) : value_get(im->outer, v->name);

	if (!in)
		return nomem(im->err);
	n->in = in;
	if (outer < 0)
		return outer;
	if (n->n_in == CNN_MAX_INPUTS)
		return cnn_node_fail(n, im->err, CNN_ELIMIT, "its body reads more than %d values",
				     CNN_MAX_INPUTS);
	n->in[n->n_in++] = outer;
	if (v->t.data) {
		im->outer->g->const_bytes += v->t.capacity;
		im->outer->g->values[outer].t = v->t;
		v->t = (struct cnn_tensor){ .rank = -1 };
	}
	v->is_input = true;
	return CNN_OK;
}

/* What no node of the body makes is outside: other values of the file, and constants. */
static int capture_all(struct import *im, struct cnn_node *n)
{
	struct cnn_graph *g = im->g;
	bool *made = calloc((size_t)g->n_values + 1, sizeof(*made));
	int *inputs = realloc(g->inputs, sizeof(*inputs) * ((size_t)g->n_values + 1));
	int ret = CNN_OK;

	if (inputs)
		g->inputs = inputs;
	if (!made || !inputs)
		ret = nomem(im->err);
	for (int i = 0; !ret && i < g->n_nodes; i++)
		for (int k = 0; k < g->nodes[i].n_out; k++)
			if (g->nodes[i].out[k] >= 0)
				made[g->nodes[i].out[k]] = true;
	for (int v = 0; !ret && v < g->n_values; v++) {
		if (made[v] || g->values[v].is_input)
			continue;
		ret = capture(im, n, v);
		g->inputs[g->n_inputs++] = v;
	}
	free(made);
	return ret;
}

static int import_body(struct import *outer, struct cnn_node *n, const Onnx__GraphProto *gp,
		       struct cnn_graph **body, int64_t *formals)
{
	struct import im = {
		.model = outer->model, .err = outer->err, .external = outer->external,
		.opset = outer->opset, .outer = outer,
	};
	int ret;

	im.g = *body = calloc(1, sizeof(*im.g));
	if (!im.g)
		return nomem(outer->err);
	ret = import_graph(&im, gp);
	*formals = im.g->n_inputs;
	ret = ret ?: capture_all(&im, n) ?: cnn_graph_link(im.g, im.err);
	tdestroy(im.names, keep);
	free(im.refs);
	return ret;
}

/* In the order of the table, not of the file: the branches of an If capture one after the other. */
static int import_bodies(struct import *im, struct cnn_node *n, const Onnx__NodeProto *np)
{
	int ret = CNN_OK;

	for (const struct cnn_field *f = cnn_node_fields(n); f->name && !ret; f++) {
		struct cnn_graph **body = cnn_field_at(&n->params, f);

		for (size_t i = 0; i < np->n_attribute && !ret; i++) {
			const Onnx__AttributeProto *ap = np->attribute[i];

			if (f->kind != CNN_FIELD_GRAPH || n->refused || !ap->name ||
			    strcmp(ap->name, f->name))
				continue;
			if (*body || !ap->g)
				return attr_fail(im, n, CNN_EINVAL, f->name, "is not one graph");
			ret = import_body(im, n, ap->g, body, &n->params.control.formals);
		}
	}
	return ret;
}

static int import_node(struct import *im, const Onnx__NodeProto *np)
{
	struct cnn_node *n = &im->g->nodes[im->g->n_nodes];
	const char *domain = np->domain ? np->domain : "";
	char name[96];

	if (!np->op_type || !*np->op_type)
		return cnn_fail(im->err, CNN_EINVAL, "node %d has no operator", im->g->n_nodes);
	if (!strcmp(domain, "ai.onnx"))
		domain = "";
	snprintf(name, sizeof(name), "%.64s_%d", np->op_type, im->g->n_nodes);
	im->g->n_nodes++;
	n->op_type = strdup(np->op_type);
	n->domain = strdup(domain);
	n->name = strdup(np->name && *np->name ? np->name : name);
	if (!n->op_type || !n->domain || !n->name)
		return nomem(im->err);
	n->opset = *domain ? opset_of(im->model, domain) : im->opset;
	cnn_op_find(domain, np->op_type, &n->op);
	return import_params(im, n, np) ?:
	       import_edges(im, np->input, np->n_input, &n->in, &n->n_in) ?:
	       import_outputs_of(im, n, np) ?: import_bodies(im, n, np);
}

static int import_outputs(struct import *im, const Onnx__GraphProto *gp)
{
	struct cnn_graph *g = im->g;

	for (size_t i = 0; i < gp->n_output; i++) {
		const char *name = gp->output[i]->name;
		int before = g->n_values;
		int v = name && *name ? value_get(im, name) : -1;

		if (v < 0 || (v == before && !im->outer))
			return cnn_fail(im->err, CNN_EINVAL, "nothing gives the output %.80s",
					name ? name : "");
		if (g->values[v].is_output)
			return cnn_fail(im->err, CNN_EINVAL, "two outputs are called %.80s", name);
		g->values[v].is_output = true;
		g->outputs[g->n_outputs++] = v;
	}
	return CNN_OK;
}

/* Names in a graph and the bodies of its nodes. */
static size_t count_names(const Onnx__GraphProto *gp)
{
	size_t n = gp->n_initializer + gp->n_input + gp->n_output;

	for (size_t i = 0; i < gp->n_node; i++) {
		const Onnx__NodeProto *np = gp->node[i];

		n += np->n_input + np->n_output;
		for (size_t k = 0; k < np->n_attribute; k++)
			n += np->attribute[k]->g ? count_names(np->attribute[k]->g) : 0;
	}
	return n;
}

/* Room for everything whose number is known beforehand. */
static int import_alloc(struct import *im, const Onnx__GraphProto *gp)
{
	struct cnn_graph *g = im->g;

	if (gp->n_node > CNN_MAX_NODES)
		return cnn_fail(im->err, CNN_ELIMIT, "%zu nodes, limit %d", gp->n_node,
				CNN_MAX_NODES);
	if (!gp->n_output)
		return cnn_fail(im->err, CNN_EINVAL, "the network has no output");
	im->max_refs = count_names(gp) + 1;
	im->refs = calloc(im->max_refs, sizeof(*im->refs));
	g->nodes = calloc(gp->n_node + 1, sizeof(*g->nodes));
	g->inputs = calloc(gp->n_input + 1, sizeof(*g->inputs));
	g->outputs = calloc(gp->n_output + 1, sizeof(*g->outputs));
	g->name = strdup(gp->name ? gp->name : "");
	return im->refs && g->nodes && g->inputs && g->outputs && g->name ? CNN_OK : nomem(im->err);
}

static int import_graph(struct import *im, const Onnx__GraphProto *gp)
{
	int ret = import_alloc(im, gp) ?: import_initializers(im, gp);

	for (size_t i = 0; !ret && i < gp->n_input; i++)
		ret = import_input(im, gp->input[i]);
	for (size_t i = 0; !ret && i < gp->n_node; i++)
		ret = import_node(im, gp->node[i]);
	return ret ?: import_outputs(im, gp) ?:
	       (im->outer ? CNN_OK : cnn_graph_link(im->g, im->err));
}

static int import_model(const Onnx__ModelProto *model, int folder, struct cnn_graph *g,
			struct cnn_err *err)
{
	struct cnn_external external;
	struct import im = { .g = g, .model = model, .err = err, .external = &external };
	int ret;

	if (!model->graph)
		return cnn_fail(err, CNN_EINVAL, "the file holds no graph");
	im.opset = opset_of(model, "");
	if (im.opset < 1)
		return cnn_fail(err, CNN_EUNSUPPORTED, "operator set version %d", im.opset);
	cnn_external_init(&external, folder);
	ret = import_graph(&im, model->graph);
	cnn_external_close(&external);
	tdestroy(im.names, keep);
	free(im.refs);
	return ret;
}

bool cnn_starts_as_onnx(const uint8_t *buf)
{
	const ProtobufCFieldDescriptor *f =
		protobuf_c_message_descriptor_get_field(&onnx__model_proto__descriptor, *buf >> 3);
	unsigned int wire = f && f->type == PROTOBUF_C_TYPE_INT64 ? 0 : 2;

	return f && (*buf & 7) == wire;
}

int cnn_graph_import_onnx(const void *buf, size_t len, int folder, struct cnn_graph **graph,
			  struct cnn_err *err)
{
	int ret = cnn_pb_check(&onnx__model_proto__descriptor, buf, len, err);
	struct cnn_pb_arena arena;
	Onnx__ModelProto *model;
	struct cnn_graph *g;

	*graph = NULL;
	if (ret)
		return ret;
	cnn_pb_arena_init(&arena, len);
	model = onnx__model_proto__unpack(&arena.base, len, buf);
	if (!model)
		return cnn_fail(err, arena.exhausted ? CNN_ELIMIT : CNN_EINVAL,
				arena.exhausted ? "the file's messages need too much memory" :
						  "not an ONNX file");
	g = calloc(1, sizeof(*g));
	if (g) {
		cnn_graph_default_limits(g);
		ret = import_model(model, folder, g, err);
	} else {
		ret = nomem(err);
	}
	onnx__model_proto__free_unpacked(model, &arena.base);
	if (ret)
		cnn_graph_free(g);
	else
		*graph = g;
	return ret;
}
