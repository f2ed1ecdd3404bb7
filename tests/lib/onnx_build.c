// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"

struct onnx_build {
	Onnx__ModelProto *model;
};

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static char *copy(const char *s)
{
	return need(strdup(s));
}

/* Everything is malloc'ed, so that protobuf-c's free_unpacked frees it. */

/* Grows a repeated field by one entry. */
#define PUSH(array, n, entry)						\
	do {								\
		(array) = need(realloc((array), ((n) + 1) * sizeof(*(array))));	\
		(array)[(n)++] = (entry);				\
	} while (0)

uint32_t ob_rand(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

struct onnx_build *ob_new(int opset)
{
	struct onnx_build *b = need(calloc(1, sizeof(*b)));
	Onnx__OperatorSetIdProto *os = need(malloc(sizeof(*os)));

	b->model = need(malloc(sizeof(*b->model)));
	onnx__model_proto__init(b->model);
	b->model->has_ir_version = 1;
	b->model->ir_version = 8;
	onnx__operator_set_id_proto__init(os);
	os->has_version = 1;
	os->version = opset;
	PUSH(b->model->opset_import, b->model->n_opset_import, os);
	b->model->graph = need(malloc(sizeof(*b->model->graph)));
	onnx__graph_proto__init(b->model->graph);
	b->model->graph->name = copy("g");
	return b;
}

void ob_free(struct onnx_build *b)
{
	onnx__model_proto__free_unpacked(b->model, NULL);
	free(b);
}

Onnx__ModelProto *ob_model(struct onnx_build *b)
{
	return b->model;
}

static Onnx__TensorShapeProto *shape(int rank, const int64_t *dims)
{
	Onnx__TensorShapeProto *sp = need(malloc(sizeof(*sp)));

	onnx__tensor_shape_proto__init(sp);
	for (int i = 0; i < rank; i++) {
		Onnx__TensorShapeProto__Dimension *d = need(malloc(sizeof(*d)));

		onnx__tensor_shape_proto__dimension__init(d);
		if (dims[i] < 0) {
			d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
			d->dim_param = copy("N");
		} else {
			d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			d->dim_value = dims[i];
		}
		PUSH(sp->dim, sp->n_dim, d);
	}
	return sp;
}

void ob_input(struct onnx_build *b, const char *name, int dtype, int rank, const int64_t *dims)
{
	Onnx__ValueInfoProto *vi = need(malloc(sizeof(*vi)));
	Onnx__TypeProto *type = need(malloc(sizeof(*type)));
	Onnx__TypeProto__Tensor *tt = need(malloc(sizeof(*tt)));

	onnx__value_info_proto__init(vi);
	onnx__type_proto__init(type);
	onnx__type_proto__tensor__init(tt);
	tt->has_elem_type = 1;
	tt->elem_type = dtype;
	tt->shape = shape(rank, dims);
	type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	type->tensor_type = tt;
	vi->name = copy(name);
	vi->type = type;
	PUSH(b->model->graph->input, b->model->graph->n_input, vi);
}

static Onnx__TensorProto *tensor(struct onnx_build *b, const char *name, int dtype, int rank,
				 const int64_t *dims)
{
	Onnx__TensorProto *tp = need(malloc(sizeof(*tp)));

	onnx__tensor_proto__init(tp);
	tp->name = copy(name);
	tp->has_data_type = 1;
	tp->data_type = dtype;
	for (int i = 0; i < rank; i++)
		PUSH(tp->dims, tp->n_dims, dims[i]);
	PUSH(b->model->graph->initializer, b->model->graph->n_initializer, tp);
	return tp;
}

static int64_t count(int rank, const int64_t *dims)
{
	int64_t n = 1;

	for (int i = 0; i < rank; i++)
		n *= dims[i];
	return n;
}

void ob_raw(struct onnx_build *b, const char *name, int dtype, size_t size, int rank,
	    const int64_t *dims, const void *v)
{
	Onnx__TensorProto *tp = tensor(b, name, dtype, rank, dims);

	tp->has_raw_data = 1;
	tp->raw_data.len = count(rank, dims) * size;
	tp->raw_data.data = need(malloc(tp->raw_data.len + 1));
	memcpy(tp->raw_data.data, v, tp->raw_data.len);
}

void ob_floats(struct onnx_build *b, const char *name, int rank, const int64_t *dims,
	       const float *v)
{
	ob_raw(b, name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, sizeof(*v), rank, dims, v);
}

void ob_bytes(struct onnx_build *b, const char *name, int dtype, int rank, const int64_t *dims,
	      const void *v)
{
	ob_raw(b, name, dtype, 1, rank, dims, v);
}

void ob_random(struct onnx_build *b, const char *name, unsigned int seed, int rank,
	       const int64_t *dims)
{
	int64_t n = count(rank, dims);
	float *v = need(malloc(n * sizeof(*v) + 1));
	uint32_t state = seed * 2654435761u + 1;

	for (int64_t i = 0; i < n; i++)
		v[i] = (float)(ob_rand(&state) % 2001) / 1000 - 1;
	ob_floats(b, name, rank, dims, v);
	free(v);
}

void ob_int64s(struct onnx_build *b, const char *name, int n, const int64_t *v)
{
	Onnx__TensorProto *tp = tensor(b, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
				       1, &(const int64_t){ n });

	for (int i = 0; i < n; i++)
		PUSH(tp->int64_data, tp->n_int64_data, v[i]);
}

static void add_entry(Onnx__TensorProto *tp, const char *key, const char *value)
{
	Onnx__StringStringEntryProto *entry = need(malloc(sizeof(*entry)));

	onnx__string_string_entry_proto__init(entry);
	entry->key = copy(key);
	entry->value = copy(value);
	PUSH(tp->external_data, tp->n_external_data, entry);
}

void ob_move_data(struct onnx_build *b, const char *location, FILE *f)
{
	for (size_t i = 0; i < b->model->graph->n_initializer; i++) {
		Onnx__TensorProto *tp = b->model->graph->initializer[i];
		char number[24];

		if (!tp->has_raw_data)
			continue;
		add_entry(tp, "location", location);
		snprintf(number, sizeof(number), "%ld", ftell(f));
		add_entry(tp, "offset", number);
		snprintf(number, sizeof(number), "%zu", tp->raw_data.len);
		add_entry(tp, "length", number);
		if (fwrite(tp->raw_data.data, 1, tp->raw_data.len, f) != tp->raw_data.len)
			abort();
		free(tp->raw_data.data);
		tp->raw_data = (ProtobufCBinaryData){ 0 };
		tp->has_raw_data = 0;
		tp->has_data_location = 1;
		tp->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	}
}

static void split(const char *names, char ***array, size_t *n)
{
	while (*names) {
		size_t len = strcspn(names, " ");
		char *name = len == 1 && *names == '-' ? copy("") : need(strndup(names, len));

		PUSH(*array, *n, name);
		names += len;
		names += strspn(names, " ");
	}
}

void ob_output(struct onnx_build *b, const char *names)
{
	char **name = NULL;
	size_t n = 0;

	split(names, &name, &n);
	for (size_t i = 0; i < n; i++) {
		Onnx__ValueInfoProto *vi = need(malloc(sizeof(*vi)));

		onnx__value_info_proto__init(vi);
		vi->name = name[i];
		PUSH(b->model->graph->output, b->model->graph->n_output, vi);
	}
	free(name);
}

Onnx__NodeProto *ob_node(struct onnx_build *b, const char *op, const char *inputs,
			 const char *outputs)
{
	Onnx__NodeProto *n = need(malloc(sizeof(*n)));

	onnx__node_proto__init(n);
	n->op_type = copy(op);
	split(inputs, &n->input, &n->n_input);
	split(outputs, &n->output, &n->n_output);
	PUSH(b->model->graph->node, b->model->graph->n_node, n);
	return n;
}

Onnx__AttributeProto *ob_attr(Onnx__NodeProto *n, const char *name, int type)
{
	Onnx__AttributeProto *a = need(malloc(sizeof(*a)));

	onnx__attribute_proto__init(a);
	a->name = copy(name);
	a->has_type = 1;
	a->type = type;
	PUSH(n->attribute, n->n_attribute, a);
	return a;
}

void ob_attr_int(Onnx__NodeProto *n, const char *name, int64_t v)
{
	Onnx__AttributeProto *a = ob_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

	a->has_i = 1;
	a->i = v;
}

void ob_attr_float(Onnx__NodeProto *n, const char *name, float v)
{
	Onnx__AttributeProto *a = ob_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

	a->has_f = 1;
	a->f = v;
}

void ob_attr_str(Onnx__NodeProto *n, const char *name, const char *v)
{
	Onnx__AttributeProto *a = ob_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

	a->has_s = 1;
	a->s.len = strlen(v);
	a->s.data = (uint8_t *)copy(v);
}

void ob_attr_ints(Onnx__NodeProto *n, const char *name, int number, const int64_t *v)
{
	Onnx__AttributeProto *a = ob_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

	for (int i = 0; i < number; i++)
		PUSH(a->ints, a->n_ints, v[i]);
}

void ob_attr_graph(Onnx__NodeProto *n, const char *name, struct onnx_build *body)
{
	Onnx__AttributeProto *a = ob_attr(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);

	a->g = body->model->graph;
	body->model->graph = NULL;
	ob_free(body);
}

void *ob_pack(struct onnx_build *b, size_t *len)
{
	void *buf;

	*len = onnx__model_proto__get_packed_size(b->model);
	buf = need(malloc(*len + 1));
	onnx__model_proto__pack(b->model, buf);
	return buf;
}

/* ---- networks --------------------------------------------------------------------------- */

/* A classifier as exporters write it, with the flattening computed from Shape. */
static struct onnx_build *classifier(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 2, 6, 7));
	ob_random(b, "w1", 1, OB_DIMS(4, 2, 3, 3));
	ob_random(b, "scale", 2, OB_DIMS(4));
	ob_random(b, "shift", 3, OB_DIMS(4));
	ob_random(b, "mean", 4, OB_DIMS(4));
	ob_floats(b, "var", OB_DIMS(4), (const float[]){ 0.5f, 1, 2, 0.25f });
	ob_random(b, "w2", 5, OB_DIMS(4, 1, 3, 1));
	ob_random(b, "b2", 6, OB_DIMS(4));
	ob_int64s(b, "zero", 1, (const int64_t[]){ 0 });
	ob_int64s(b, "rest", 1, (const int64_t[]){ -1 });
	ob_random(b, "fc", 7, OB_DIMS(48, 5));
	ob_random(b, "fcb", 8, OB_DIMS(5));
	n = ob_node(b, "Conv", "x w1", "c1");
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 1, 1, 1 });
	ob_node(b, "BatchNormalization", "c1 scale shift mean var", "n1");
	ob_node(b, "Relu", "n1", "r1");
	n = ob_node(b, "MaxPool", "r1", "p1");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 2 });
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_attr_int(n, "ceil_mode", 1);
	n = ob_node(b, "Conv", "p1 w2 b2", "c2");
	ob_attr_int(n, "group", 4);
	ob_attr_str(n, "auto_pad", "SAME_UPPER");
	ob_node(b, "HardSigmoid", "c2", "h2");
	ob_node(b, "Mul", "h2 p1", "m2");
	ob_node(b, "Shape", "m2", "s");
	ob_node(b, "Gather", "s zero", "s0");
	n = ob_node(b, "Concat", "s0 rest", "flat");
	ob_attr_int(n, "axis", 0);
	ob_node(b, "Reshape", "m2 flat", "f");
	n = ob_node(b, "Gemm", "f fc fcb", "g");
	ob_attr_float(n, "alpha", 0.5f);
	ob_node(b, "Softmax", "g", "y");
	ob_output(b, "y");
	return b;
}

/* Movement of elements. */
static struct onnx_build *movement(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 3, 4));
	ob_int64s(b, "pads", 6, (const int64_t[]){ 0, 1, 2, 1, 0, 1 });
	ob_int64s(b, "starts", 2, (const int64_t[]){ -1, 0 });
	ob_int64s(b, "ends", 2, (const int64_t[]){ INT64_MIN, 5 });
	ob_int64s(b, "axes", 2, (const int64_t[]){ 2, 1 });
	ob_int64s(b, "steps", 2, (const int64_t[]){ -2, 1 });
	ob_int64s(b, "one", 1, (const int64_t[]){ 1 });
	ob_int64s(b, "index", 3, (const int64_t[]){ 2, -1, 0 });
	ob_int64s(b, "size", 2, (const int64_t[]){ 3, 4 });
	n = ob_node(b, "Pad", "x pads", "p");
	ob_attr_str(n, "mode", "reflect");
	ob_node(b, "Slice", "p starts ends axes steps", "s");
	n = ob_node(b, "Transpose", "s", "t");
	ob_attr_ints(n, "perm", 3, (const int64_t[]){ 2, 0, 1 });
	ob_node(b, "Unsqueeze", "t one", "u");
	ob_node(b, "Squeeze", "u one", "q");
	n = ob_node(b, "Gather", "q index", "g");
	ob_attr_int(n, "axis", 1);
	n = ob_node(b, "Concat", "g g q", "c");
	ob_attr_int(n, "axis", 1);
	ob_node(b, "Identity", "c", "i");
	ob_node(b, "Dropout", "i", "d");
	n = ob_node(b, "Flatten", "d", "f");
	ob_attr_int(n, "axis", 2);
	n = ob_node(b, "ReduceMean", "f", "r");
	ob_attr_ints(n, "axes", 1, (const int64_t[]){ 1 });
	ob_node(b, "ConstantOfShape", "size", "z");
	n = ob_node(b, "Cast", "z", "zi");
	ob_attr_int(n, "to", 7);
	ob_output(b, "r zi f");
	return b;
}

/* Arithmetic and the remaining operators. */
static struct onnx_build *arithmetic(void)
{
	struct onnx_build *b = ob_new(14);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 3, 8));
	ob_input(b, "k", 7, OB_DIMS(3));
	ob_random(b, "w", 1, OB_DIMS(8, 5));
	ob_random(b, "v", 2, OB_DIMS(3, 1));
	ob_floats(b, "lo", 0, NULL, (const float[]){ -0.5f });
	ob_floats(b, "hi", 0, NULL, (const float[]){ 2 });
	ob_int64s(b, "three", 1, (const int64_t[]){ 3 });
	ob_random(b, "cw", 3, OB_DIMS(2, 3, 3));
	ob_random(b, "cb", 4, OB_DIMS(2, 1));
	ob_node(b, "MatMul", "x w", "m");
	ob_node(b, "Add", "m v", "a");
	ob_node(b, "Sub", "a m", "s");
	ob_node(b, "Div", "a v", "d");
	ob_node(b, "Mul", "s d", "u");
	ob_node(b, "Clip", "u lo hi", "c");
	ob_node(b, "HardSwish", "c", "h");
	ob_node(b, "Sigmoid", "h", "g");
	n = ob_node(b, "AveragePool", "g", "p");
	ob_attr_ints(n, "kernel_shape", 1, (const int64_t[]){ 3 });
	ob_attr_ints(n, "pads", 2, (const int64_t[]){ 1, 1 });
	ob_attr_int(n, "count_include_pad", 1);
	n = ob_node(b, "Conv", "p cw", "v1");
	ob_attr_ints(n, "dilations", 1, (const int64_t[]){ 2 });
	ob_node(b, "Add", "v1 cb", "v2");
	ob_node(b, "GlobalAveragePool", "v2", "y");
	n = ob_node(b, "Constant", "", "seven");
	ob_attr_ints(n, "value_ints", 1, (const int64_t[]){ 7 });
	ob_node(b, "Div", "k three", "k3");
	ob_node(b, "Add", "k3 seven", "k7");
	ob_output(b, "y k7");
	return b;
}

/* Maps that grow: ConvTranspose, Resize in its modes, Split. */
static void growing_maps(struct onnx_build *b)
{
	Onnx__NodeProto *n;

	ob_random(b, "tw", 1, OB_DIMS(2, 3, 2, 3));
	ob_random(b, "tb", 2, OB_DIMS(6));
	ob_random(b, "slope", 3, OB_DIMS(6, 1, 1));
	ob_floats(b, "roi", OB_DIMS(8), (const float[]){ 0, 0, 0.2f, 0, 1, 1, 0.9f, 1.25f });
	ob_floats(b, "scales", OB_DIMS(4), (const float[]){ 1, 1, 2, 0.6f });
	ob_int64s(b, "sizes", 4, (const int64_t[]){ 1, 6, 5, 9 });
	ob_int64s(b, "parts", 3, (const int64_t[]){ 2, 1, 3 });
	n = ob_node(b, "ConvTranspose", "x tw tb", "t");
	ob_attr_int(n, "group", 2);
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 1 });
	ob_attr_ints(n, "dilations", 2, (const int64_t[]){ 1, 2 });
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 0, 0, 2 });
	ob_attr_ints(n, "output_padding", 2, (const int64_t[]){ 1, 0 });
	ob_node(b, "PRelu", "t slope", "p");
	n = ob_node(b, "Resize", "p - scales", "r1");
	ob_attr_str(n, "nearest_mode", "ceil");
	n = ob_node(b, "Resize", "r1 roi - sizes", "r2");
	ob_attr_str(n, "mode", "linear");
	ob_attr_str(n, "coordinate_transformation_mode", "tf_crop_and_resize");
	n = ob_node(b, "Resize", "r2 - - sizes", "r3");
	ob_attr_str(n, "mode", "cubic");
	ob_attr_int(n, "exclude_outside", 1);
	n = ob_node(b, "Split", "r3 parts", "s1 s2 s3");
	ob_attr_int(n, "axis", 1);
	ob_node(b, "Sum", "s1 s2", "s");
	ob_node(b, "GlobalMaxPool", "s3", "g");
}

/* Functions, selections and reductions on those maps. */
static struct onnx_build *selection(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 2, 3, 4));
	growing_maps(b);
	ob_floats(b, "two", 0, NULL, (const float[]){ 2 });
	ob_floats(b, "three", 0, NULL, (const float[]){ 3 });
	ob_floats(b, "six", 0, NULL, (const float[]){ 6 });
	ob_floats(b, "zero", 0, NULL, (const float[]){ 0 });
	ob_int64s(b, "axes", 2, (const int64_t[]){ 2, -1 });
	ob_int64s(b, "shape", 4, (const int64_t[]){ 1, 2, 5, 9 });
	ob_node(b, "Add", "s three", "h1");
	ob_node(b, "Clip", "h1 zero six", "h2");
	ob_node(b, "Mul", "s h2", "h3");
	ob_node(b, "Div", "h3 six", "h");
	ob_node(b, "Tanh", "h", "t1");
	ob_attr_float(ob_node(b, "LeakyRelu", "t1", "t2"), "alpha", 0.1f);
	ob_node(b, "Exp", "t2", "e");
	ob_node(b, "Log", "e", "l");
	ob_node(b, "Pow", "l two", "w");
	ob_node(b, "Sqrt", "w", "q");
	ob_node(b, "Greater", "q t2", "gt");
	ob_node(b, "Not", "gt", "le");
	ob_node(b, "Or", "gt le", "or");
	ob_node(b, "Where", "gt q l", "v");
	ob_node(b, "Max", "v two e", "m1");
	ob_node(b, "Min", "m1 e", "m");
	ob_node(b, "ReduceSum", "m axes", "rs");
	n = ob_node(b, "ReduceMax", "m", "rm");
	ob_attr_ints(n, "axes", 2, (const int64_t[]){ 0, 3 });
	ob_node(b, "ReduceL2", "rm", "l2");
	n = ob_node(b, "ArgMax", "m", "arg");
	ob_attr_int(n, "axis", 3);
	ob_node(b, "Expand", "rs shape", "ex");
	ob_node(b, "Erf", "ex", "er");
	ob_node(b, "Softplus", "er", "sp");
	ob_node(b, "Neg", "sp", "ng");
	n = ob_node(b, "LogSoftmax", "ng", "ls");
	ob_attr_int(n, "axis", 1);
	ob_output(b, "ls arg or l2 g");
	return b;
}

/* What is rewritten for cores: a residual block, a scale with a shortcut, ConvTranspose chains. */
static struct onnx_build *rewritten(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 3, 4, 5));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 1, 1));
	ob_random(b, "w1", 2, OB_DIMS(3, 2, 2, 2));
	ob_random(b, "b1", 3, OB_DIMS(2));
	ob_random(b, "w2", 4, OB_DIMS(2, 1, 2, 2));
	ob_node(b, "Conv", "x w", "c1");
	ob_node(b, "Conv", "c1 w", "c2");
	ob_node(b, "Conv", "c1 w", "c3");
	ob_node(b, "Add", "c2 c3", "a1");
	ob_node(b, "Relu", "a1", "r1");
	ob_node(b, "GlobalAveragePool", "r1", "g");
	ob_node(b, "HardSigmoid", "g", "s");
	ob_node(b, "Mul", "r1 s", "m");
	ob_node(b, "Add", "r1 m", "a2");
	n = ob_node(b, "ConvTranspose", "a2 w1 b1", "t1");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_node(b, "Relu", "t1", "r2");
	n = ob_node(b, "ConvTranspose", "r2 w2", "t2");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_node(b, "Sigmoid", "t2", "y");
	ob_output(b, "y");
	return b;
}

/* Quantised operators: parameters of a tensor and of channels, both types. */
static void quantised_products(struct onnx_build *b)
{
	static const uint8_t bytes[64] = { 3, 250, 7, 128, 0, 255, 90, 17, 200, 64, 31, 1, 129 };
	Onnx__NodeProto *n;

	ob_floats(b, "s", 0, NULL, (const float[]){ 0.02f });
	ob_floats(b, "s3", OB_DIMS(3), (const float[]){ 0.01f, 0.5f, 0.03f });
	ob_bytes(b, "z", 2, 0, NULL, &bytes[6]);
	ob_bytes(b, "zi", 3, 0, NULL, &bytes[2]);
	ob_bytes(b, "zi3", 3, OB_DIMS(3), &bytes[7]);
	ob_bytes(b, "w", 3, OB_DIMS(3, 2, 3, 1), bytes);
	ob_bytes(b, "m", 2, OB_DIMS(4, 3), bytes);
	ob_bytes(b, "z3", 2, OB_DIMS(3), &bytes[4]);
	ob_raw(b, "b", 6, sizeof(int32_t), OB_DIMS(3), (const int32_t[]){ 1000, -3, 70000 });
	n = ob_node(b, "QLinearConv", "q s z w s3 zi3 s zi b", "c");
	ob_attr_ints(n, "pads", 4, (const int64_t[]){ 1, 0, 1, 1 });
	n = ob_node(b, "ConvInteger", "q w z zi3", "ci");
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 1 });
	ob_node(b, "MatMulInteger", "q m z z3", "mi");
	ob_node(b, "QLinearMatMul", "q s z m s3 z3 s z", "mq");
}

/* The same spelt out, and a Transpose between equal quantisations. */
static void spelt_out_products(struct onnx_build *b)
{
	Onnx__NodeProto *n;

	ob_floats(b, "bs", OB_DIMS(3),
		  (const float[]){ 0.02f * 0.01f, 0.02f * 0.5f, 0.02f * 0.03f });
	ob_node(b, "DequantizeLinear", "q s z", "dq");
	ob_attr_int(ob_node(b, "DequantizeLinear", "w s3 zi3", "dw"), "axis", 0);
	ob_attr_int(ob_node(b, "DequantizeLinear", "b bs", "db"), "axis", 0);
	ob_attr_int(ob_node(b, "DequantizeLinear", "m s3 z3", "dm"), "axis", -1);
	n = ob_node(b, "Conv", "dq dw db", "f1");
	ob_attr_str(n, "auto_pad", "SAME_UPPER");
	ob_node(b, "Relu", "f1", "f2");
	ob_node(b, "QuantizeLinear", "f2 s zi", "cq");
	ob_node(b, "MatMul", "dq dm", "f3");
	ob_node(b, "QuantizeLinear", "f3 s z", "mq2");
	ob_node(b, "DequantizeLinear", "mq2 s z", "f4");
	ob_node(b, "Transpose", "f4", "f5");
	ob_node(b, "QuantizeLinear", "f5 s z", "tq");
}

static struct onnx_build *quantised(void)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(1, 2, 5, 4));
	quantised_products(b);
	ob_node(b, "QuantizeLinear", "x s z", "q");
	spelt_out_products(b);
	n = ob_node(b, "MaxPool", "c", "p");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 2 });
	ob_node(b, "Clip", "p zi", "k");
	ob_attr_int(ob_node(b, "DequantizeLinear", "k s3 zi3", "d"), "axis", 1);
	ob_node(b, "DynamicQuantizeLinear", "d", "e es ez");
	ob_node(b, "DequantizeLinear", "e es ez", "f");
	ob_node(b, "Add", "f d", "a");
	ob_node(b, "Relu", "a", "y");
	ob_node(b, "Round", "d", "r");
	n = ob_node(b, "QuantizeCodes", "x s zi", "codes");
	n->domain = strdup("cnnacc");
	ob_attr_str(n, "format", "EXP4");
	ob_output(b, "y r codes ci mi mq cq tq");
	return b;
}

/* Elements by index: read, written, sorted and selected. */
static struct onnx_build *indexing(void)
{
	struct onnx_build *b = ob_new(16);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(2, 3, 4));
	ob_input(b, "boxes", 1, OB_DIMS(1, 5, 4));
	ob_input(b, "scores", 1, OB_DIMS(1, 2, 5));
	ob_raw(b, "at", 7, 8, OB_DIMS(1, 3, 2), (const int64_t[]){ 0, -1, 2, 3, 1, -4 });
	ob_raw(b, "pairs", 7, 8, OB_DIMS(2, 2), (const int64_t[]){ 0, 2, -1, 1 });
	ob_random(b, "u", 1, OB_DIMS(1, 3, 2));
	ob_random(b, "rows", 2, OB_DIMS(2, 4));
	ob_int64s(b, "k", 1, (const int64_t[]){ 2 });
	ob_int64s(b, "lens", 3, (const int64_t[]){ 2, 0, 1 });
	ob_floats(b, "half", 0, NULL, (const float[]){ 0.5f });
	ob_bytes(b, "take", 9, OB_DIMS(3), (const uint8_t[]){ 1, 0, 1 });
	n = ob_node(b, "GatherElements", "x at", "y0");
	ob_attr_int(n, "axis", 2);
	n = ob_node(b, "ScatterElements", "x at u", "y1");
	ob_attr_int(n, "axis", -1);
	ob_attr_str(n, "reduction", "add");
	ob_node(b, "GatherND", "x pairs", "y2");
	ob_node(b, "ScatterND", "y1 pairs rows", "y3");
	ob_node(b, "TopK", "y3 k", "y4 y5");
	ob_attr_int(ob_node(b, "Unique", "y3", "y6 y7 y8 y9"), "axis", 1);
	ob_node(b, "NonZero", "x", "y10");
	ob_attr_int(ob_node(b, "Compress", "x take", "y11"), "axis", 1);
	ob_node(b, "NonMaxSuppression", "boxes scores k half", "y12");
	ob_attr_int(ob_node(b, "CumSum", "x k", "y13"), "reverse", 1);
	n = ob_node(b, "ReverseSequence", "x lens", "y14");
	ob_attr_int(n, "batch_axis", 1);
	ob_attr_int(n, "time_axis", 0);
	ob_attr_str(ob_node(b, "Einsum", "x rows", "y15"), "equation", "aij,aj->...i");
	ob_node(b, "Identity", "y0", "same");
	ob_node(b, "Neg", "same", "y16");
	for (int i = 1; i < 17; i++) {
		char name[8];

		snprintf(name, sizeof(name), "y%d", i);
		ob_output(b, name);
	}
	return b;
}

/* Sequences, and maps that are read between their elements. */
static struct onnx_build *recurrent(void)
{
	struct onnx_build *b = ob_new(16);
	Onnx__NodeProto *n;

	ob_input(b, "x", 1, OB_DIMS(3, 2, 4));
	ob_random(b, "w1", 1, OB_DIMS(2, 2, 4));
	ob_random(b, "r1", 2, OB_DIMS(2, 2, 2));
	ob_random(b, "w3", 3, OB_DIMS(1, 6, 4));
	ob_random(b, "r3", 4, OB_DIMS(1, 6, 2));
	ob_random(b, "w4", 5, OB_DIMS(1, 8, 4));
	ob_random(b, "r4", 6, OB_DIMS(1, 8, 2));
	ob_random(b, "b4", 7, OB_DIMS(1, 16));
	ob_random(b, "p4", 8, OB_DIMS(1, 6));
	ob_raw(b, "lens", 6, 4, OB_DIMS(2), (const int32_t[]){ 3, 1 });
	ob_random(b, "grid", 9, OB_DIMS(1, 2, 2, 2));
	ob_floats(b, "rois", OB_DIMS(2, 4), (const float[]){ 0, 0, 2, 3, 1, 1, 9, 2 });
	ob_int64s(b, "batch", 2, (const int64_t[]){ 0, 0 });
	n = ob_node(b, "RNN", "x w1 r1 - lens", "n0 n1");
	ob_attr_str(n, "direction", "bidirectional");
	ob_attr_int(ob_node(b, "GRU", "x w3 r3", "- g1"), "linear_before_reset", 1);
	ob_attr_float(ob_node(b, "LSTM", "x w4 r4 b4 lens - - p4", "l0 l1 l2"), "clip", 2);
	ob_node(b, "Unsqueeze", "x axes", "m");
	ob_int64s(b, "axes", 1, (const int64_t[]){ 0 });
	ob_attr_str(ob_node(b, "GridSample", "m grid", "s"), "mode", "bicubic");
	n = ob_node(b, "RoiAlign", "m rois batch", "a");
	ob_attr_int(n, "output_height", 2);
	n = ob_node(b, "MaxPool", "m", "p i");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 2 });
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	n = ob_node(b, "MaxUnpool", "p i", "u");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 2 });
	ob_attr_ints(n, "strides", 2, (const int64_t[]){ 2, 2 });
	ob_node(b, "Det", "r1", "d");
	ob_node(b, "Identity", "l2", "same");
	ob_node(b, "Neg", "same", "e");
	ob_output(b, "n0 g1 l0 e s a u d");
	return b;
}

/* A branch: one operator on x, which is outside, and a constant. */
static struct onnx_build *branch(const char *op, const char *out)
{
	struct onnx_build *b = ob_new(13);

	ob_floats(b, "k", 0, NULL, (const float[]){ 3 });
	ob_node(b, op, "x k", out);
	ob_output(b, out);
	return b;
}

/* A Loop whose body has an If of its condition, and a Scan; x is outside of all. */
static struct onnx_build *control(void)
{
	struct onnx_build *b = ob_new(13), *loop = ob_new(13), *scan = ob_new(13);
	Onnx__NodeProto *n;

	ob_input(loop, "i", 7, 0, NULL);
	ob_input(loop, "c", 9, 0, NULL);
	ob_input(loop, "v", 1, 0, NULL);
	ob_node(loop, "Less", "i most", "go");
	n = ob_node(loop, "If", "go", "each");
	ob_attr_graph(n, "then_branch", branch("Add", "p"));
	ob_attr_graph(n, "else_branch", branch("Sub", "q"));
	ob_node(loop, "Mul", "v each", "w");
	ob_output(loop, "go w each");
	ob_input(scan, "s", 1, 0, NULL);
	ob_input(scan, "a", 1, 0, NULL);
	ob_node(scan, "Add", "s a", "t");
	ob_node(scan, "Relu", "t", "u");
	ob_output(scan, "t u");
	ob_input(b, "x", 1, OB_DIMS(2, 3));
	ob_int64s(b, "n", 1, (const int64_t[]){ 4 });
	ob_int64s(b, "most", 1, (const int64_t[]){ 1 });
	ob_attr_graph(ob_node(b, "Loop", "n - x", "y z"), "body", loop);
	ob_floats(b, "zero", OB_DIMS(3), (const float[]){ 0, 0, 0 });
	n = ob_node(b, "Scan", "zero y", "sum sums");
	ob_attr_graph(n, "body", scan);
	ob_attr_int(n, "num_scan_inputs", 1);
	ob_output(b, "z sum sums");
	return b;
}

/* y0 to y8 and more of maps x, whose channels s scales. */
static void norms(struct onnx_build *b)
{
	Onnx__NodeProto *n;

	ob_node(b, "InstanceNormalization", "x s s", "y0");
	ob_attr_int(ob_node(b, "GroupNormalization", "x s s", "y1"), "num_groups", 2);
	ob_attr_int(ob_node(b, "LayerNormalization", "x c", "y2 mean deviation"), "axis", 1);
	ob_node(b, "MeanVarianceNormalization", "x", "y3");
	ob_attr_int(ob_node(b, "LRN", "x", "y4"), "size", 3);
	ob_attr_int(ob_node(b, "SpaceToDepth", "x", "y5"), "blocksize", 2);
	ob_node(b, "Hardmax", "x", "y6");
	ob_attr_int(ob_node(b, "Trilu", "x k", "y7"), "upper", 0);
	ob_node(b, "Tile", "x two", "y8");
	n = ob_node(b, "Resize", "x - - small", "y9");
	ob_attr_ints(n, "axes", 2, (const int64_t[]){ 2, 3 });
	ob_attr_str(n, "mode", "cubic");
	ob_attr_int(n, "antialias", 1);
	n = ob_node(b, "LpPool", "x", "y10");
	ob_attr_ints(n, "kernel_shape", 2, (const int64_t[]){ 2, 3 });
	ob_attr_int(n, "p", 3);
	ob_attr_int(ob_node(b, "LpNormalization", "x", "norm"), "p", 1);
	ob_attr_str(ob_node(b, "Pad", "norm two - last", "y11"), "mode", "wrap");
	ob_node(b, "ReduceLogSumExp", "x k", "sums");
	ob_node(b, "Identity", "sums", "same");
	ob_node(b, "Sign", "same", "y12");
	ob_node(b, "Size", "x", "y13");
	ob_node(b, "IsInf", "deviation", "y14");
}

/* y15 to y22: what takes or gives integers, and spectra. */
static void integers(struct onnx_build *b)
{
	Onnx__NodeProto *n;

	ob_node(b, "OneHot", "i depth values", "y15");
	ob_node(b, "Range", "from to from", "range");
	ob_node(b, "Mean", "range from f5 mean", "y16");
	ob_attr_int(ob_node(b, "EyeLike", "i", "eye"), "k", 1);
	ob_node(b, "BitwiseXor", "eye i", "y17");
	n = ob_node(b, "BitShift", "bits bits", "shifted");
	ob_attr_str(n, "direction", "LEFT");
	ob_node(b, "CastLike", "shifted i", "like");
	ob_node(b, "Mod", "like three", "y18");
	ob_node(b, "HannWindow", "depth", "y19");
	ob_node(b, "DFT", "signal", "y20");
	ob_node(b, "STFT", "signal depth s", "y21");
	ob_node(b, "MelWeightMatrix", "depth rate rate from to", "y22");
}

/* Maps that are normalised, and what gives or takes integers. */
static struct onnx_build *normalised(void)
{
	static const char *const functions[] = { "Sin", "Acosh", "Gelu", "Mish", "Selu", "Floor" };
	struct onnx_build *b = ob_new(21);
	char name[8], last[8] = "x";

	ob_input(b, "x", 1, OB_DIMS(2, 4, 6, 4));
	ob_input(b, "i", 5, OB_DIMS(3, 4));
	ob_random(b, "s", 1, OB_DIMS(4));
	ob_random(b, "c", 2, OB_DIMS(4, 1, 1));
	ob_random(b, "signal", 3, OB_DIMS(1, 8, 1));
	ob_int64s(b, "k", 1, (const int64_t[]){ -1 });
	ob_int64s(b, "two", 4, (const int64_t[]){ 1, 2, 1, 2 });
	ob_int64s(b, "small", 2, (const int64_t[]){ 4, 3 });
	ob_int64s(b, "last", 2, (const int64_t[]){ 2, -1 });
	ob_int64s(b, "depth", 1, (const int64_t[]){ 3 });
	ob_int64s(b, "rate", 1, (const int64_t[]){ 16 });
	ob_floats(b, "values", OB_DIMS(2), (const float[]){ 0, 1 });
	ob_floats(b, "from", 0, NULL, (const float[]){ 1 });
	ob_floats(b, "to", 0, NULL, (const float[]){ 5 });
	ob_bytes(b, "bits", 2, OB_DIMS(3), (const uint8_t[]){ 1, 7, 8 });
	ob_raw(b, "three", 5, 2, OB_DIMS(1), (const int16_t[]){ 3 });
	for (int j = 0; j < 6; j++) {
		snprintf(name, sizeof(name), "f%d", j);
		ob_node(b, functions[j], last, name);
		memcpy(last, name, sizeof(last));
	}
	norms(b);
	integers(b);
	for (int j = 0; j < 23; j++) {
		snprintf(name, sizeof(name), "y%d", j);
		ob_output(b, name);
	}
	return b;
}

/* float16: products, scales, and scalars that give a shape. */
static struct onnx_build *halves(void)
{
	static const uint16_t ones[8] = {
		0x3c00, 0xbc00, 0x3800, 0x4000, 0x3c00, 0x3c00, 0x3c00, 0x3c00,
	};
	struct onnx_build *b = ob_new(19);

	ob_input(b, "x", 10, OB_DIMS(1, 2, 3, 4));
	ob_raw(b, "w", 10, 2, OB_DIMS(4, 2, 1, 1), ones);
	ob_raw(b, "s", 10, 2, OB_DIMS(4), ones);
	ob_raw(b, "scale", 10, 2, 0, NULL, ones + 2);
	ob_raw(b, "five", 10, 2, 0, NULL, (const uint16_t[]){ 0x4500 });
	ob_bytes(b, "zero", 3, 0, NULL, (const int8_t[]){ 0 });
	ob_node(b, "Conv", "x w s", "c");
	ob_node(b, "Relu", "c", "r");
	ob_node(b, "LayerNormalization", "r s", "l mean");
	ob_node(b, "QuantizeLinear", "l scale zero", "q");
	ob_node(b, "DequantizeLinear", "q scale zero", "d");
	ob_attr_int(ob_node(b, "Softmax", "d", "y0"), "axis", 1);
	ob_node(b, "Range", "scale five scale", "range");
	ob_node(b, "Max", "range scale", "y1");
	ob_node(b, "Identity", "d", "same");
	ob_node(b, "Greater", "same scale", "y2");
	ob_output(b, "y0 y1 y2 mean");
	return b;
}

struct onnx_build *ob_network(int i)
{
	static struct onnx_build *(*const make[OB_NETWORKS])(void) = {
		classifier, movement, arithmetic, selection, rewritten, quantised, indexing,
		recurrent, control, normalised, halves,
	};

	return make[i]();
}
