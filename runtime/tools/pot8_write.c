// SPDX-License-Identifier: MIT
/* The graph of POT8. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu.h"
#include "pot8.h"

#define OPSET		14	/* Relu of int8 */
#define NODES		4	/* that a node becomes at most, and as many for its inputs */
#define LIST_SHIFTS	31

struct writing {
	struct pot8 *p;
	struct cnn_graph *g;
	struct cnn_node *nodes;
	int n_nodes, max_nodes, opset;
	const struct cnn_node *from;	/* that is rewritten */
	int least_shift, most_shift;	/* of its channels */
	bool failed;			/* a message is in p->q->err */
};

/* ---- values and nodes ---- */

static int add_value(struct writing *w, const char *what, const struct cnn_tensor *like,
		     enum cnn_dtype type)
{
	struct cnn_tensor t = *like;
	char name[200];
	int v;

	t.dtype = type;
	t.data = NULL;
	t.capacity = 0;
	t.owned = false;
	snprintf(name, sizeof(name), "%.150s/%s%d", w->from ? w->from->name : "", what,
		 w->g->n_values);
	v = cnn_graph_add_value(w->g, name, &t, &w->p->q->err);
	w->failed |= v < 0;
	return v;
}

/* A constant of that shape with a copy of the data. */
static int add_const(struct writing *w, const char *what, const struct cnn_tensor *shape,
		     const void *data)
{
	struct cnn_tensor t = *shape;
	char name[200];
	int v;

	t.data = NULL;
	t.owned = false;
	if (cnn_tensor_alloc(&t, 0, &w->p->q->err)) {
		w->failed = true;
		return -1;
	}
	memcpy(t.data, data, (size_t)cnn_tensor_bytes(&t));
	snprintf(name, sizeof(name), "%.150s/%s%d", w->from ? w->from->name : "", what,
		 w->g->n_values);
	v = cnn_graph_add_value(w->g, name, &t, &w->p->q->err);
	w->failed |= v < 0;
	return v;
}

static int add_number(struct writing *w, const char *what, enum cnn_dtype type, const void *data)
{
	const struct cnn_tensor shape = { .dtype = type };

	return add_const(w, what, &shape, data);
}

static int add_zero(struct writing *w, int zero)
{
	const int8_t z = (int8_t)zero;

	return add_number(w, "zero", CNN_INT8, &z);
}

static int add_scale(struct writing *w, float scale)
{
	return add_number(w, "scale", CNN_FLOAT32, &scale);
}

/* A node with inputs, -1 for one that is left out, and one output. */
static struct cnn_node *add_node(struct writing *w, enum cnn_op op, const int *in, int n_in,
				 int out)
{
	const struct cnn_op_desc *d = cnn_op_desc(op);
	struct cnn_node *n = &w->nodes[w->n_nodes];

	*n = (struct cnn_node){ .op = op, .n_in = n_in, .n_out = 1 };
	n->opset = *d->domain ? 1 : w->opset;
	n->op_type = strdup(d->name);
	n->domain = strdup(d->domain);
	n->in = calloc((size_t)n_in, sizeof(*n->in));
	n->out = calloc(1, sizeof(*n->out));
	if (asprintf(&n->name, "%.150s/%s%d", w->from ? w->from->name : "", d->name, w->n_nodes) < 0)
		n->name = NULL;
	w->n_nodes++;
	if (!n->op_type || !n->domain || !n->name || !n->in || !n->out) {
		cnn_fail(&w->p->q->err, CNN_ENOMEM, "out of memory");
		w->failed = true;
		return n;
	}
	cnn_params_init(n);
	memcpy(n->in, in, (size_t)n_in * sizeof(*in));
	n->out[0] = out;
	return n;
}

/* ---- crossings between floats and int8 ---- */

/* The int8 of a value, quantised if it is a float. */
static int codes_of(struct writing *w, int v)
{
	struct pot8_value *value = &w->p->value[v];
	int in[3] = { v };

	if (value->codes >= 0)
		return value->codes;
	value->codes = add_value(w, "int8", &w->g->values[v].t, CNN_INT8);
	in[1] = add_scale(w, pot8_scale(w->p, v));
	in[2] = add_zero(w, pot8_zero(w->p, v));
	if (!w->failed)
		add_node(w, CNN_OP_QUANTIZE_LINEAR, in, 3, value->codes);
	return value->codes;
}

/* The int8 that a node makes. */
static int new_codes(struct writing *w, int v)
{
	w->p->value[v].codes = add_value(w, "int8", &w->g->values[v].t, CNN_INT8);
	return w->p->value[v].codes;
}

/* Makes a value a float again, for those that read it as one. */
static void need_float(struct writing *w, int v)
{
	struct pot8_value *value = v < 0 || v >= w->p->n_values ? NULL : &w->p->value[v];
	int in[3];

	if (!value || !value->is_int8 || value->has_float || value->codes < 0)
		return;
	in[0] = value->codes;
	in[1] = add_scale(w, pot8_scale(w->p, v));
	in[2] = add_zero(w, pot8_zero(w->p, v));
	if (!w->failed)
		add_node(w, CNN_OP_DEQUANTIZE_LINEAR, in, 3, v);
	value->has_float = true;
}

/* ---- requantisation ---- */

/* What each output channel has. */
struct channels {
	int64_t count;
	int rank;			/* of the result */
	int32_t *add;
	int8_t *shift;
	bool relu;
};

static int begin_channels(struct writing *w, struct channels *c, int64_t count, int rank, int out)
{
	*c = (struct channels){ .count = count, .rank = rank };
	c->add = calloc((size_t)count, sizeof(*c->add));
	c->shift = calloc((size_t)count, sizeof(*c->shift));
	w->least_shift = LIST_SHIFTS;
	w->most_shift = -LIST_SHIFTS;
	/* With a zero of -128 the limit of int8 is that of Relu. */
	c->relu = pot8_zero(w->p, out) != INT8_MIN;
	if (c->add && c->shift)
		return EXIT_DONE;
	cnn_fail(&w->p->q->err, CNN_ENOMEM, "out of memory");
	w->failed = true;
	return EXIT_FAILED;
}

static void end_channels(struct channels *c)
{
	free(c->add);
	free(c->shift);
}

/* An addend in units of the result is added before a channel is shifted. */
static void set_channel(struct writing *w, struct channels *c, int64_t k, double addend, int shift)
{
	double add = ldexp(addend, shift);

	c->shift[k] = (int8_t)shift;
	c->add[k] = add > INT32_MAX ? INT32_MAX : add < INT32_MIN ? INT32_MIN : (int32_t)lrint(add);
	w->least_shift = shift < w->least_shift ? shift : w->least_shift;
	w->most_shift = shift > w->most_shift ? shift : w->most_shift;
}

static struct cnn_tensor list_shape(const struct channels *c, enum cnn_dtype type)
{
	struct cnn_tensor t = { .dtype = type, .rank = c->rank - 1 };

	for (int i = 0; i < t.rank; i++)
		t.dims[i] = i ? 1 : c->count;
	return t;
}

/* ShiftRequantize of x, by channel. */
static void requantize(struct writing *w, const struct channels *c, int x, int times, int out)
{
	struct cnn_tensor add = list_shape(c, CNN_INT32), shift = list_shape(c, CNN_INT8);
	int in[4] = { x, times };
	struct cnn_node *n;

	in[2] = add_const(w, "add", &add, c->add);
	in[3] = add_const(w, "shift", &shift, c->shift);
	if (w->failed)
		return;
	n = add_node(w, CNN_OP_SHIFT_REQUANTIZE, in, 4, out);
	n->params.product.relu = c->relu;
}

/* ---- layers ---- */

struct weights {
	const float *data;
	int64_t outputs, taps;
	bool by_output;			/* [output][tap], else [tap][output] */
	float factor;
	int8_t *codes;			/* [output][tap] or as data */
};

static float weight_of(const struct weights *s, int64_t k, int64_t tap)
{
	return s->factor * s->data[s->by_output ? k * s->taps + tap : tap * s->outputs + k];
}

/* Quantises the weights of an output; returns the shift of its sums. */
static int quantize_weights(struct weights *s, int64_t k, double ratio, int8_t *to, int64_t step)
{
	double most = 0;
	int shift;

	for (int64_t t = 0; t < s->taps; t++)
		most = fmax(most, fabs((double)weight_of(s, k, t)) * ratio);
	shift = pot8_weight_shift(most);
	for (int64_t t = 0; t < s->taps; t++)
		to[t * step] = (int8_t)lrint(ldexp((double)weight_of(s, k, t) * ratio, shift));
	return shift;
}

/* The product of a layer: ConvInteger or MatMulInteger, its sums, and the shape of its weights. */
static void add_product(struct writing *w, const struct weights *s, int x, int map, int sums)
{
	const struct cnn_node *n = w->from;
	struct cnn_tensor shape = w->g->values[n->in[1]].t;
	bool conv = n->op == CNN_OP_CONV || map >= 0;
	int in[3] = { codes_of(w, map >= 0 ? map : x) };
	struct cnn_node *product;

	shape.dtype = CNN_INT8;
	if (map >= 0) {
		shape = w->g->values[map].t;
		shape.dtype = CNN_INT8;
		shape.dims[0] = s->outputs;
	} else if (!conv) {
		shape.dims[0] = s->taps;
		shape.dims[1] = s->outputs;
	}
	in[1] = add_const(w, "weights", &shape, s->codes);
	in[2] = add_zero(w, pot8_zero(w->p, map >= 0 ? map : x));
	if (w->failed)
		return;
	product = add_node(w, conv ? CNN_OP_CONV_INTEGER : CNN_OP_MATMUL_INTEGER, in, 3, sums);
	if (n->op == CNN_OP_CONV)
		product->params.window = n->params.window;
}

static double bias_of(const struct writing *w, int64_t k)
{
	const struct cnn_tensor *t = cnn_node_in(w->g, w->from, 2);
	float beta = w->from->op == CNN_OP_GEMM ? w->from->params.gemm.beta : 1;

	if (!t)
		return 0;
	return (double)(beta * ((const float *)t->data)[cnn_tensor_count(t) > 1 ? k : 0]);
}

static struct weights weights_of(const struct writing *w)
{
	const struct cnn_node *n = w->from;
	const struct cnn_tensor *t = cnn_node_in(w->g, n, 1);
	bool gemm = n->op == CNN_OP_GEMM, conv = n->op == CNN_OP_CONV;
	struct weights s = {
		.data = t->data, .by_output = conv || (gemm && n->params.gemm.trans_b),
		.factor = gemm ? n->params.gemm.alpha : 1,
	};

	s.outputs = s.by_output ? t->dims[0] : t->dims[1];
	s.taps = cnn_tensor_count(t) / s.outputs;
	s.codes = malloc((size_t)cnn_tensor_count(t));
	return s;
}

/* The result of a layer whose input was read as a map is a map of one pixel. */
static int end_map(struct writing *w, int map, int out, int64_t outputs, int *result)
{
	struct cnn_tensor t = { .rank = 4, .dims = { 1, outputs, 1, 1 } };
	int codes = new_codes(w, out);

	*result = map < 0 ? codes : add_value(w, "map", &t, CNN_INT8);
	return codes;
}

static void write_layer(struct writing *w, const struct pot8_node *made)
{
	int x = w->from->in[0], map = w->p->value[x].map, out, codes;
	struct weights s = weights_of(w);
	bool rows = w->from->op == CNN_OP_CONV || map >= 0;
	double y = (double)pot8_scale(w->p, made->out);
	double ratio = (double)pot8_scale(w->p, map >= 0 ? map : x) / y;
	struct cnn_tensor sums = w->g->values[made->out].t;
	struct channels c;

	codes = end_map(w, map, made->out, s.outputs, &out);
	if (map >= 0)
		sums = (struct cnn_tensor){ .rank = 4, .dims = { 1, s.outputs, 1, 1 } };
	if (!s.codes || begin_channels(w, &c, s.outputs, map >= 0 ? 4 : sums.rank, made->out)) {
		w->failed = true;
		free(s.codes);
		return;
	}
	c.relu &= made->relu;
	for (int64_t k = 0; k < s.outputs; k++) {
		int shift = quantize_weights(&s, k, ratio, s.codes + k * (rows ? s.taps : 1),
					     rows ? 1 : s.outputs);

		set_channel(w, &c, k, bias_of(w, k) / y + pot8_zero(w->p, made->out), shift);
	}
	int sum = add_value(w, "sums", &sums, CNN_INT32);

	add_product(w, &s, x, map, sum);
	requantize(w, &c, sum, -1, out);
	if (map >= 0 && !w->failed)
		add_node(w, CNN_OP_FLATTEN, &out, 1, codes);
	end_channels(&c);
	free(s.codes);
}

/* A mean over windows: equal weights for each channel. */
static void write_mean(struct writing *w, const struct pot8_node *made)
{
	const struct cnn_tensor *t = cnn_node_in(w->g, w->from, 0);
	struct cnn_tensor shape = { .dtype = CNN_INT8, .rank = 4 };
	int64_t channels = t->dims[1], points;
	int x = w->from->in[0], weight, shift, sum, in[3];
	struct cnn_window win;
	struct cnn_node *n;
	struct channels c;
	int8_t *codes;
	double ratio;

	cnn_node_window(w->g, w->from, &win, NULL);
	points = win.kernel[0] * win.kernel[1];
	ratio = (double)pot8_scale(w->p, x) / (double)pot8_scale(w->p, made->out);
	shift = pot8_mean_weight(ratio / (double)points, &weight);
	codes = malloc((size_t)(channels * points));
	if (!codes || begin_channels(w, &c, channels, 4, made->out)) {
		w->failed = true;
		free(codes);
		return;
	}
	memset(codes, weight, (size_t)(channels * points));
	c.relu = false;
	for (int64_t k = 0; k < channels; k++)
		set_channel(w, &c, k, pot8_zero(w->p, made->out), shift);
	memcpy(shape.dims, (int64_t[4]){ channels, 1, win.kernel[0], win.kernel[1] },
	       4 * sizeof(int64_t));
	in[0] = codes_of(w, x);
	in[1] = add_const(w, "weights", &shape, codes);
	in[2] = add_zero(w, pot8_zero(w->p, x));
	sum = add_value(w, "sums", &w->g->values[made->out].t, CNN_INT32);
	if (!w->failed) {
		n = add_node(w, CNN_OP_CONV_INTEGER, in, 3, sum);
		n->params.window.group = channels;
		n->params.window.strides.n = 2;
		n->params.window.strides.v[0] = win.stride[0];
		n->params.window.strides.v[1] = win.stride[1];
		requantize(w, &c, sum, -1, new_codes(w, made->out));
	}
	end_channels(&c);
	free(codes);
}

/* y = x * times + add by channel, of BatchNormalization. */
static void write_scale(struct writing *w, const struct pot8_node *made)
{
	const struct cnn_tensor *t = cnn_node_in(w->g, w->from, 0);
	const float *p[5] = { NULL };
	int x = w->from->in[0], times;
	double x_scale = (double)pot8_scale(w->p, x), y = (double)pot8_scale(w->p, made->out);
	struct cnn_tensor shape;
	struct channels c;
	int8_t *codes = malloc((size_t)t->dims[1]);

	for (int i = 1; i < 5; i++)
		p[i] = cnn_node_in(w->g, w->from, i)->data;
	if (!codes || begin_channels(w, &c, t->dims[1], t->rank, made->out)) {
		w->failed = true;
		free(codes);
		return;
	}
	c.relu &= made->relu;
	for (int64_t k = 0; k < c.count; k++) {
		double factor = (double)p[1][k] /
				sqrt((double)p[4][k] + (double)w->from->params.norm.epsilon);
		double add = (double)p[2][k] - (double)p[3][k] * factor;
		int shift = pot8_weight_shift(fabs(factor) * x_scale / y);

		codes[k] = (int8_t)lrint(ldexp(factor * x_scale / y, shift));
		set_channel(w, &c, k, add / y + pot8_zero(w->p, made->out), shift);
		c.add[k] -= pot8_zero(w->p, x) * codes[k];
	}
	shape = list_shape(&c, CNN_INT8);
	times = add_const(w, "times", &shape, codes);
	requantize(w, &c, codes_of(w, x), times, new_codes(w, made->out));
	end_channels(&c);
	free(codes);
}

/* ---- what lies between layers ---- */

/* The node's function of the 256 values of its input, in units of its output. */
static int sample_function(struct writing *w, int out, double wanted[256])
{
	const struct cnn_node *n = w->from;
	float x[256], scale = pot8_scale(w->p, n->in[0]), y = pot8_scale(w->p, out);
	struct cnn_tensor in = { .dtype = CNN_FLOAT32, .rank = 1, .dims = { 256 }, .data = x };
	struct cnn_tensor result = { .rank = -1 };
	const struct cnn_tensor *inputs[3] = { &in };
	struct cnn_tensor *outputs[1] = { &result };

	for (int i = 1; i < n->n_in && i < 3; i++)
		inputs[i] = cnn_node_in(w->g, n, i);
	for (int i = 0; i < 256; i++)
		x[i] = scale * (float)(i - 128 - pot8_zero(w->p, n->in[0]));
	if (cnn_cpu_run(n, inputs, outputs, NULL, &w->p->q->err)) {
		w->failed = true;
		return EXIT_FAILED;
	}
	for (int i = 0; i < 256; i++)
		wanted[i] = (double)((const float *)result.data)[i] / (double)y +
			    pot8_zero(w->p, out);
	cnn_tensor_release(&result);
	return EXIT_DONE;
}

static void write_table(struct writing *w, const struct pot8_node *made)
{
	const struct cnn_tensor shape = { .dtype = CNN_INT32, .rank = 1, .dims = { 16 } };
	double wanted[256];
	uint32_t table[16];
	int in[2];

	if (sample_function(w, made->out, wanted))
		return;
	pot8_fit_table(wanted, table);
	in[0] = codes_of(w, w->from->in[0]);
	in[1] = add_const(w, "table", &shape, table);
	if (!w->failed)
		add_node(w, CNN_OP_SEGMENTED_LINEAR, in, 2, new_codes(w, made->out));
}

static void write_add(struct writing *w, const struct pot8_node *made)
{
	int in[2] = { codes_of(w, w->from->in[0]), codes_of(w, w->from->in[1]) };
	int out = new_codes(w, made->out), sum = out;
	bool relu = made->relu && pot8_zero(w->p, made->out) != INT8_MIN;

	if (relu)
		sum = add_value(w, "sum", &w->g->values[made->out].t, CNN_INT8);
	if (w->failed)
		return;
	add_node(w, CNN_OP_SATURATING_ADD, in, 2, sum);
	if (relu)
		add_node(w, CNN_OP_RELU, &sum, 1, out);
}

/* Of scales that are powers of two the ratio is a shift. */
static void write_mul(struct writing *w, const struct pot8_node *made)
{
	double ratio = (double)pot8_scale(w->p, made->out) /
		       ((double)pot8_scale(w->p, w->from->in[0]) *
			(double)pot8_scale(w->p, w->from->in[1]));
	bool second = cnn_tensor_count(cnn_node_in(w->g, w->from, 0)) <
		      cnn_tensor_count(cnn_node_in(w->g, w->from, 1));
	int in[4] = { 0, 0, -1, -1 }, exponent;
	int8_t shift;

	frexp(ratio, &exponent);
	shift = (int8_t)(exponent - 1 > LIST_SHIFTS ? LIST_SHIFTS : exponent - 1 < -LIST_SHIFTS ?
			 -LIST_SHIFTS : exponent - 1);
	in[0] = codes_of(w, w->from->in[second]);
	in[1] = codes_of(w, w->from->in[!second]);
	in[3] = add_number(w, "shift", CNN_INT8, &shift);
	if (!w->failed)
		add_node(w, CNN_OP_SHIFT_REQUANTIZE, in, 4, new_codes(w, made->out));
}

/* The node itself, with the int8 of its values. */
static void move_node(struct writing *w, struct cnn_node *n, const struct pot8_node *made)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] >= 0 && n->in[i] < w->p->n_values && w->p->value[n->in[i]].is_int8)
			n->in[i] = codes_of(w, n->in[i]);
	n->out[0] = new_codes(w, made->out);
	w->nodes[w->n_nodes++] = *n;
	memset(n, 0, sizeof(*n));
}

static void keep_node(struct writing *w, struct cnn_node *n)
{
	for (int i = 0; i < n->n_in; i++)
		need_float(w, n->in[i]);
	w->nodes[w->n_nodes++] = *n;
	memset(n, 0, sizeof(*n));
}

static void print_node(const struct writing *w, const struct pot8_node *made)
{
	char type[64], name[61];

	if (!w->p->show)
		return;
	printf("%-16s %-28s %-8s", clean(w->from->op_type, type, sizeof(type)),
	       clean(w->from->name, name, sizeof(name)), "POT8");
	printf(" %12g %5d", (double)pot8_scale(w->p, made->out), pot8_zero(w->p, made->out));
	if (w->least_shift <= w->most_shift)
		printf(" %4d .. %d", w->least_shift, w->most_shift);
	printf("\n");
}

static void write_node(struct writing *w, int i)
{
	static void (*const write[])(struct writing *, const struct pot8_node *) = {
		[POT8_LAYER] = write_layer, [POT8_MEAN] = write_mean, [POT8_SCALE] = write_scale,
		[POT8_TABLE] = write_table, [POT8_ADD] = write_add, [POT8_MUL] = write_mul,
	};
	const struct pot8_node *made = &w->p->node[i];
	struct cnn_node *n = &w->g->nodes[i];

	w->from = n;
	w->least_shift = 1;
	w->most_shift = 0;
	if (made->kind == POT8_GONE)
		return;
	if (made->kind == POT8_FLOAT) {
		keep_node(w, n);
	} else if (made->kind == POT8_MOVE) {
		print_node(w, made);
		move_node(w, n, made);
	} else {
		write[made->kind](w, made);
		print_node(w, made);
	}
}

static void set_opset(struct writing *w)
{
	w->opset = OPSET;
	for (int i = 0; i < w->g->n_nodes; i++)
		if (!*w->g->nodes[i].domain && w->g->nodes[i].opset > w->opset)
			w->opset = w->g->nodes[i].opset;
}

int pot8_write(struct pot8 *p)
{
	struct cnn_graph *g = p->q->g;
	struct writing w = { .p = p, .g = g };

	w.nodes = calloc((size_t)(g->n_nodes + g->n_outputs + 1) * 3 * NODES, sizeof(*w.nodes));
	if (!w.nodes)
		return complain(EXIT_FAILED, "out of memory");
	set_opset(&w);
	if (p->show)
		printf("%-16s %-28s %-8s %12s %5s %s\n", "operator", "layer", "format", "scale",
		       "zero", "shifts");
	for (int i = 0; i < g->n_nodes && !w.failed; i++)
		write_node(&w, i);
	w.from = NULL;
	for (int i = 0; i < g->n_outputs && !w.failed; i++)
		need_float(&w, g->outputs[i]);
	for (int i = 0; i < g->n_nodes; i++)
		cnn_node_free(&g->nodes[i]);
	free(g->nodes);
	g->nodes = w.nodes;
	g->n_nodes = w.n_nodes;
	if (w.failed || cnn_graph_link(g, &p->q->err) || cnn_graph_prune(g, &p->q->err))
		return quant_fail(p->q);
	cnn_graph_drop_constants(g);
	return EXIT_DONE;
}
