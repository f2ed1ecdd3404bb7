// SPDX-License-Identifier: MIT
/* Random networks of the operators of core enpu. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_enpu.h>

#include "core_run.h"
#include "enpu_net.h"

#define INT8	3
#define INT32	6
#define INT64	7
#define OWN	"cnnacc"	/* domain */

static struct enpu_map *new_map(struct enpu_net *n, struct enpu_map shape)
{
	struct enpu_map *m = &n->map[n->maps];

	if (n->maps == ENPU_MAPS)
		abort();
	*m = shape;
	snprintf(m->name, sizeof(m->name), "v%d", n->maps++);
	return m;
}

void enpu_net_begin(struct enpu_net *n, int64_t batch, int64_t c, int64_t h, int64_t w)
{
	struct enpu_map *m;
	int64_t dims[4] = { batch, c, h, w };

	n->b = ob_new(14);
	n->maps = 0;
	m = new_map(n, (struct enpu_map){ batch, c, h, w, "" });
	ob_input(n->b, m->name, INT8, 4, dims);
}

void *enpu_net_end(struct enpu_net *n, size_t *len)
{
	void *file;

	ob_output(n->b, n->map[n->maps - 1].name);
	file = ob_pack(n->b, len);
	ob_free(n->b);
	return file;
}

/* ---- constants; names end with the number of the map that the layer makes ------------------ */

static const char *name_of(const struct enpu_net *n, const char *what)
{
	static char names[16][24];
	static int next;
	char *name = names[next++ % 16];

	snprintf(name, sizeof(names[0]), "%s%d", what, n->maps);
	return name;
}

static void add_bytes(struct enpu_net *n, const char *what, int rank, const int64_t *dims,
		      int64_t least, int64_t most)
{
	int64_t count = 1;
	int8_t *v;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	v = malloc((size_t)count);
	if (!v)
		abort();
	for (int64_t i = 0; i < count; i++)
		v[i] = (int8_t)pick(least, most);
	ob_bytes(n->b, name_of(n, what), INT8, rank, dims, v);
	free(v);
}

static void add_biases(struct enpu_net *n, int rank, const int64_t *dims, int64_t count)
{
	int32_t *v = malloc((size_t)count * sizeof(*v));

	if (!v)
		abort();
	for (int64_t i = 0; i < count; i++)
		v[i] = (int32_t)pick(-4000, 4000);
	ob_raw(n->b, name_of(n, "add"), INT32, sizeof(*v), rank, dims, v);
	free(v);
}

static Onnx__NodeProto *add_node(struct enpu_net *n, const char *op, const char *inputs,
				 const char *output, const char *domain)
{
	Onnx__NodeProto *node = ob_node(n->b, op, inputs, output);

	if (domain)
		node->domain = strdup(domain);
	return node;
}

/* Makes the next map of sums of about so many products. */
static void requantize(struct enpu_net *n, const char *sums, struct enpu_map shape, int64_t terms,
		       bool relu)
{
	int64_t dims[4] = { 1, shape.c, 1, 1 }, none = 0;
	int rank = shape.h ? 4 : 2, shift = (int)(log2(sqrt((double)terms)) + 5);
	bool list = pick(0, 1), bias = pick(0, 3);
	char inputs[100];
	Onnx__NodeProto *node;

	add_bytes(n, "shift", list ? rank : 0, list ? dims : &none, shift - 2, shift + 2);
	if (bias)
		add_biases(n, list ? rank : 0, list ? dims : &none, list ? shape.c : 1);
	snprintf(inputs, sizeof(inputs), "%s - %s %s", sums, bias ? name_of(n, "add") : "-",
		 name_of(n, "shift"));
	node = add_node(n, "ShiftRequantize", inputs, new_map(n, shape)->name, OWN);
	if (relu)
		ob_attr_int(node, "relu", 1);
}

bool enpu_net_conv(struct enpu_net *n, int from, const struct enpu_conv *c)
{
	const struct enpu_map *m = &n->map[from];
	struct enpu_map y = { m->n, c->co, m->h, m->w, "" };
	int64_t w[4] = { c->co, m->c / c->groups, c->kernel[0], c->kernel[1] }, none = 0;
	char inputs[100], sums[24];
	Onnx__NodeProto *node;

	y.h = (m->h + c->pads[0] + c->pads[2] - c->dilation[0] * (w[2] - 1) - 1);
	y.w = (m->w + c->pads[1] + c->pads[3] - c->dilation[1] * (w[3] - 1) - 1);
	if (m->c % c->groups || c->co % c->groups || y.h < 0 || y.w < 0)
		return false;
	y.h = y.h / c->stride[0] + 1;
	y.w = y.w / c->stride[1] + 1;
	add_bytes(n, "w", 4, w, -128, 127);
	add_bytes(n, "zero", 0, &none, c->zero, c->zero);
	snprintf(inputs, sizeof(inputs), "%s %s %s", m->name, name_of(n, "w"), name_of(n, "zero"));
	snprintf(sums, sizeof(sums), "%s", name_of(n, "sums"));
	node = ob_node(n->b, "ConvInteger", inputs, sums);
	ob_attr_int(node, "group", c->groups);
	ob_attr_ints(node, "strides", 2, c->stride);
	ob_attr_ints(node, "dilations", 2, c->dilation);
	ob_attr_ints(node, "pads", 4, c->pads);
	requantize(n, sums, y, w[1] * w[2] * w[3], c->relu);
	return true;
}

void enpu_net_matmul(struct enpu_net *n, int from, int64_t co)
{
	const struct enpu_map *m = &n->map[from];
	int64_t w[2] = { m->c * m->h * m->w, co };
	char inputs[100], flat[24], sums[24];

	snprintf(flat, sizeof(flat), "%s", name_of(n, "flat"));
	snprintf(sums, sizeof(sums), "%s", name_of(n, "sums"));
	ob_node(n->b, "Flatten", m->name, flat);
	add_bytes(n, "w", 2, w, -128, 127);
	snprintf(inputs, sizeof(inputs), "%s %s", flat, name_of(n, "w"));
	ob_node(n->b, "MatMulInteger", inputs, sums);
	requantize(n, sums, (struct enpu_map){ m->n, co, 0, 0, "" }, w[0], pick(0, 1));
}

void enpu_net_pool(struct enpu_net *n, int from, int64_t kernel, int64_t stride, int64_t pad)
{
	const struct enpu_map *m = &n->map[from];
	struct enpu_map y = { m->n, m->c, (m->h + 2 * pad - kernel) / stride + 1,
			      (m->w + 2 * pad - kernel) / stride + 1, "" };
	const int64_t k[2] = { kernel, kernel }, s[2] = { stride, stride };
	const int64_t pads[4] = { pad, pad, pad, pad };
	Onnx__NodeProto *node = ob_node(n->b, "MaxPool", m->name, new_map(n, y)->name);

	ob_attr_ints(node, "kernel_shape", 2, k);
	ob_attr_ints(node, "strides", 2, s);
	ob_attr_ints(node, "pads", 4, pads);
}

void enpu_net_scale(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	const int64_t dims[3] = { m->c, 1, 1 }, none = 0;
	char inputs[100];
	Onnx__NodeProto *node;

	add_bytes(n, "times", 3, dims, -128, 127);
	add_bytes(n, "shift", 0, &none, 4, 8);
	add_biases(n, 3, dims, m->c);
	snprintf(inputs, sizeof(inputs), "%s %s %s %s", m->name, name_of(n, "times"),
		 name_of(n, "add"), name_of(n, "shift"));
	node = add_node(n, "ShiftRequantize", inputs, new_map(n, *m)->name, OWN);
	ob_attr_int(node, "relu", pick(0, 1));
}

void enpu_net_table(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	const int64_t dims[1] = { CNNACC_ENPU_LUT_SEGMENTS };
	uint32_t table[CNNACC_ENPU_LUT_SEGMENTS];
	char inputs[100];

	for (int i = 0; i < CNNACC_ENPU_LUT_SEGMENTS; i++)
		table[i] = CNNACC_ENPU_SEGMENT(pick(-128, 127), pick(-100, 100), pick(0, 8));
	ob_raw(n->b, name_of(n, "table"), INT32, sizeof(*table), 1, dims, table);
	snprintf(inputs, sizeof(inputs), "%s %s", m->name, name_of(n, "table"));
	add_node(n, "SegmentedLinear", inputs, new_map(n, *m)->name, OWN);
}

void enpu_net_relu(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];

	ob_node(n->b, "Relu", m->name, new_map(n, *m)->name);
}

/* b may have fewer rows or columns. */
void enpu_net_add(struct enpu_net *n, int a, int b)
{
	const float scale = 0.25f;
	int za = (int)pick(-20, 20), zb = (int)pick(-20, 20);
	const int64_t none = 0;
	char inputs[200];

	if (pick(0, 1)) {
		snprintf(inputs, sizeof(inputs), "%s %s", n->map[a].name, n->map[b].name);
		add_node(n, "SaturatingAdd", inputs, new_map(n, n->map[a])->name, OWN);
		return;
	}
	ob_floats(n->b, name_of(n, "scale"), 0, &none, &scale);
	add_bytes(n, "za", 0, &none, za, za);
	add_bytes(n, "zb", 0, &none, zb, zb);
	add_bytes(n, "zy", 0, &none, za + zb, za + zb);
	snprintf(inputs, sizeof(inputs), "%s %s %s %s %s %s %s %s", n->map[a].name,
		 name_of(n, "scale"), name_of(n, "za"), n->map[b].name, name_of(n, "scale"),
		 name_of(n, "zb"), name_of(n, "scale"), name_of(n, "zy"));
	add_node(n, "QLinearAdd", inputs, new_map(n, n->map[a])->name, NULL);
}

void enpu_net_mul(struct enpu_net *n, int a, int b)
{
	const int64_t none = 0;
	char inputs[100];

	add_bytes(n, "shift", 0, &none, 5, 8);
	snprintf(inputs, sizeof(inputs), "%s %s - %s", n->map[a].name, n->map[b].name,
		 name_of(n, "shift"));
	add_node(n, "ShiftRequantize", inputs, new_map(n, n->map[a])->name, OWN);
}

void enpu_net_concat(struct enpu_net *n, int64_t axis, int a, int b)
{
	struct enpu_map y = n->map[a];
	char inputs[100];

	y.n += axis == 0 ? n->map[b].n : 0;
	y.c += axis == 1 ? n->map[b].c : 0;
	y.h += axis == 2 ? n->map[b].h : 0;
	y.w += axis == 3 ? n->map[b].w : 0;
	snprintf(inputs, sizeof(inputs), "%s %s", n->map[a].name, n->map[b].name);
	ob_attr_int(ob_node(n->b, "Concat", inputs, new_map(n, y)->name), "axis", axis);
}

void enpu_net_transpose(struct enpu_net *n, int from, const int64_t order[4])
{
	const struct enpu_map *m = &n->map[from];
	const int64_t dims[4] = { m->n, m->c, m->h, m->w };
	struct enpu_map y = { dims[order[0]], dims[order[1]], dims[order[2]], dims[order[3]], "" };

	ob_attr_ints(ob_node(n->b, "Transpose", m->name, new_map(n, y)->name), "perm", 4, order);
}

void enpu_net_split(struct enpu_net *n, int from, int64_t axis, int64_t first)
{
	struct enpu_map a = n->map[from], b = a;
	int64_t *sizes[2][4] = { { &a.n, &a.c, &a.h, &a.w }, { &b.n, &b.c, &b.h, &b.w } };
	const int64_t dims[1] = { 2 }, split[2] = { first, *sizes[0][axis] - first };
	char inputs[100], outputs[100];
	const char *list = name_of(n, "split"), *of = n->map[from].name;

	*sizes[0][axis] = split[0];
	*sizes[1][axis] = split[1];
	ob_raw(n->b, list, INT64, sizeof(*split), 1, dims, split);
	snprintf(inputs, sizeof(inputs), "%s %s", of, list);
	snprintf(outputs, sizeof(outputs), "v%d v%d", n->maps, n->maps + 1);
	new_map(n, a);
	new_map(n, b);
	ob_attr_int(ob_node(n->b, "Split", inputs, outputs), "axis", axis);
}

void enpu_net_slice(struct enpu_net *n, int from, const int64_t begin[4], const int64_t size[4])
{
	const int64_t dims[1] = { 4 };
	struct enpu_map y = { size[0], size[1], size[2], size[3], "" };
	const char *starts = name_of(n, "starts"), *ends = name_of(n, "ends");
	int64_t end[4];
	char inputs[100];

	for (int i = 0; i < 4; i++)
		end[i] = begin[i] + size[i];
	ob_raw(n->b, starts, INT64, sizeof(*begin), 1, dims, begin);
	ob_raw(n->b, ends, INT64, sizeof(*end), 1, dims, end);
	snprintf(inputs, sizeof(inputs), "%s %s %s", n->map[from].name, starts, ends);
	ob_node(n->b, "Slice", inputs, new_map(n, y)->name);
}

/* ---- random layers ------------------------------------------------------------------------- */

static bool random_conv(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	int form = (int)pick(0, 5);
	struct enpu_conv c = {
		.co = pick(0, 3) ? pick(0, 1) ? 16 * pick(1, 3) : pick(1, 40) : pick(1, 300), .groups = 1,
		.relu = pick(0, 1), .zero = pick(0, 1) ? (int)pick(-128, 127) : 0,
	};

	if (form == 0) {
		c.groups = m->c;
		c.co = m->c * (pick(0, 2) ? 1 : 2);
	} else if (form == 1 && m->c % 2 == 0) {
		c.groups = m->c % 4 ? 2 : 4;
		c.co = c.groups * pick(1, 12);
	}
	for (int i = 0; i < 2; i++) {
		c.kernel[i] = pick(0, 2) ? pick(1, 3) : pick(1, 7);
		c.stride[i] = pick(0, 2) ? 1 : pick(2, 3);
		c.dilation[i] = c.kernel[i] <= 3 && !pick(0, 3) ? pick(2, 3) : 1;
		c.pads[i] = pick(0, c.kernel[i]);
		c.pads[2 + i] = pick(0, c.kernel[i]);
	}
	return enpu_net_conv(n, from, &c);
}

/* A convolution of which a kernel has more points, with its dilation, than an ifmap pad. */
static bool random_large_conv(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	bool depthwise = !pick(0, 2);
	struct enpu_conv c = {
		.co = depthwise ? m->c : pick(1, 40), .groups = depthwise ? m->c : 1,
		.relu = pick(0, 1), .zero = (int)pick(-128, 127),
	};

	for (int i = 0; i < 2; i++) {
		c.kernel[i] = pick(0, 2) ? pick(2, 4) : pick(1, 12);
		c.stride[i] = pick(0, 2) ? 1 : pick(2, 4);
		c.dilation[i] = pick(0, 2) ? pick(1, 9) : 1;
		c.pads[i] = pick(0, c.dilation[i] * (c.kernel[i] - 1));
		c.pads[2 + i] = pick(0, c.dilation[i] * (c.kernel[i] - 1));
	}
	return enpu_net_conv(n, from, &c);
}

static void random_transpose(struct enpu_net *n, int from)
{
	int64_t order[4] = { 0, 1, 2, 3 };

	/* Seldom one with other images. */
	for (int i = 3; i > (pick(0, 3) ? 1 : 0); i--) {
		int k = (int)pick(pick(0, 3) ? 1 : 0, i);
		int64_t other = order[i];

		order[i] = order[k];
		order[k] = other;
	}
	enpu_net_transpose(n, from, order);
}

/* An earlier map of the same size, or one that can be as large by repetition; -1: none. */
static int find_second(const struct enpu_net *n, int a)
{
	int first = (int)pick(0, n->maps - 1);

	for (int i = 0; i < n->maps; i++) {
		const struct enpu_map *m = &n->map[(first + i) % n->maps], *x = &n->map[a];

		if (m->n == x->n && m->c == x->c && (m->h == x->h || m->h == 1) &&
		    (m->w == x->w || m->w == 1) && m->h)
			return (first + i) % n->maps;
	}
	return -1;
}

/* Any map of the same sizes but that of an axis. */
static int find_part(const struct enpu_net *n, int64_t axis, int a)
{
	int first = (int)pick(0, n->maps - 1);

	for (int i = 0; i < n->maps; i++) {
		const struct enpu_map *m = &n->map[(first + i) % n->maps], *x = &n->map[a];

		if ((axis == 0 || m->n == x->n) && (axis == 1 || m->c == x->c) &&
		    (axis == 2 || m->h == x->h) && (axis == 3 || m->w == x->w))
			return (first + i) % n->maps;
	}
	return a;
}

static void random_concat(struct enpu_net *n, int from)
{
	int64_t axis = pick(0, 2) ? 1 : pick(0, 3);
	const struct enpu_map *m = &n->map[from];

	if ((axis == 1 && (m->c % 16 || m->c >= 200)) || m->h > 60 || m->w > 60 || m->n > 4)
		enpu_net_relu(n, from);
	else
		enpu_net_concat(n, axis, from, find_part(n, axis, from));
}

/* Of 16 channels each, if possible, or anywhere. */
static int64_t random_place(int64_t channels)
{
	return channels > 16 && pick(0, 3) ? 16 * pick(1, (channels - 1) / 16) :
					     pick(1, channels - 1);
}

static void random_split(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	const int64_t dims[4] = { m->n, m->c, m->h, m->w };
	int64_t axis = pick(0, 1) ? 1 : pick(0, 3);

	if (dims[axis] < 2)
		enpu_net_relu(n, from);
	else
		enpu_net_split(n, from, axis,
			       axis == 1 ? random_place(m->c) : pick(1, dims[axis] - 1));
}

static void random_slice(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	int64_t size[4] = { m->n, m->c, m->h, m->w }, begin[4] = { 0 };

	for (int i = 0; i < 4; i++) {
		if (pick(0, 1) || size[i] < 2)
			continue;
		begin[i] = i == 1 ? random_place(m->c) : pick(0, size[i] - 1);
		size[i] = pick(1, size[i] - begin[i]);
	}
	enpu_net_slice(n, from, begin, size);
}

static void random_layer(struct enpu_net *n, int from)
{
	const struct enpu_map *m = &n->map[from];
	int kind = (int)pick(0, 14), second = find_second(n, from);

	if ((kind < 4 && random_conv(n, from)) || (kind == 11 && random_large_conv(n, from)))
		return;
	if (kind == 12 && m->h > 0)
		random_transpose(n, from);
	else if (kind == 13 && m->h > 0)
		random_split(n, from);
	else if (kind == 14 && m->h > 0)
		random_slice(n, from);
	else if (kind == 4 && m->h >= 3 && m->w >= 3)
		enpu_net_pool(n, from, pick(2, 3), pick(1, 2), pick(0, 1));
	else if (kind == 5)
		enpu_net_scale(n, from);
	else if (kind == 6)
		enpu_net_table(n, from);
	else if (kind == 7 && second >= 0)
		enpu_net_mul(n, from, second);
	else if (kind == 8 && second >= 0)
		enpu_net_add(n, from, second);
	else if (kind == 9 && m->h > 0)
		random_concat(n, from);
	else
		enpu_net_relu(n, from);
}

void enpu_net_random(struct enpu_net *n, int layers)
{
	/* Leaves room for the two maps of a Split, and for a MatMul that the caller may add. */
	for (int i = 0; i < layers && n->maps < ENPU_MAPS - 2; i++)
		random_layer(n, pick(0, 3) ? n->maps - 1 : (int)pick(0, n->maps - 1));
}
