// SPDX-License-Identifier: MIT
/*
 * Random networks against the file's operators on the CPU: on ccp cores of several sizes (segments,
 * values that share memory, renamed values, restarts, the same bytes each time), and as they are
 * rewritten for the CPU alone.
 * Usage: lower_net [--count N] [--seed N] [--verbose]; TAP.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_ccp.h>

#include "onnx_build.h"
#include "run_graph.h"
#include "lower_run.h"

#define MAX_VALUES	40
#define MAX_OUTPUTS	4

static uint32_t state = 1;

static int64_t pick(int64_t least, int64_t most)
{
	return least + ob_rand(&state) % (most - least + 1);
}

/* ---- building -------------------------------------------------------------------------- */

struct value {
	char name[16];
	int rank;
	int64_t dims[4];
};

struct net {
	struct onnx_build *b;
	struct value values[MAX_VALUES];
	int n, constants;
};

static struct value *add_value(struct net *x, int rank, const int64_t *dims)
{
	struct value *v = &x->values[x->n];

	snprintf(v->name, sizeof(v->name), "v%d", x->n++);
	v->rank = rank;
	memcpy(v->dims, dims, sizeof(*dims) * (size_t)rank);
	return v;
}

/*
 * A constant of dims with a fresh name, for sums of so many products: these are then about as large
 * as what is summed, so that a Sigmoid behind them does not blow up what is rounded.
 */
static void add_constant(struct net *x, char name[16], int64_t terms, int rank, const int64_t *dims)
{
	float most = sqrtf(3 / (float)terms), *v;
	int64_t count = 1;

	for (int i = 0; i < rank; i++)
		count *= dims[i];
	v = malloc((size_t)count * sizeof(*v));
	if (!v)
		abort();
	for (int64_t i = 0; i < count; i++)
		v[i] = most * (float)pick(-1000, 1000) / 1000;
	snprintf(name, 16, "c%d", x->constants++);
	ob_floats(x->b, name, rank, dims, v);
	free(v);
}

/* Choose a value of the given rank, recent ones more often; NULL if there is none. */
static const struct value *any(const struct net *x, int rank)
{
	for (int tries = 0; tries < 30; tries++) {
		const struct value *v = &x->values[pick(pick(0, 3) ? x->n - 1 - x->n / 8 : 0, x->n - 1)];

		if (v->rank == rank)
			return v;
	}
	return NULL;
}

static bool add_conv(struct net *x, const struct value *in)
{
	int64_t k = pick(0, 2) ? 3 : 1, s = pick(0, 2) ? 1 : 2, group = 1, dims[4];
	char inputs[64], w[16], bias[16];
	struct value *out;
	Onnx__NodeProto *n;

	if (!in)
		return false;
	memcpy(dims, in->dims, sizeof(dims));
	dims[1] = pick(1, 40);
	if (pick(0, 3) == 0)
		group = dims[1] = in->dims[1];
	add_constant(x, w, in->dims[1] / group * k * k,
		     OB_DIMS(dims[1], in->dims[1] / group, k, k));
	add_constant(x, bias, 1, OB_DIMS(dims[1]));
	snprintf(inputs, sizeof(inputs), "%s %s %s", in->name, w, bias);
	dims[2] = (dims[2] - 1) / s + 1;
	dims[3] = (dims[3] - 1) / s + 1;
	out = add_value(x, 4, dims);
	n = ob_node(x->b, "Conv", inputs, out->name);
	ob_attr_ints(n, "strides", 2, (int64_t[]){ s, s });
	ob_attr_ints(n, "pads", 4, (int64_t[]){ k / 2, k / 2, k / 2, k / 2 });
	ob_attr_int(n, "group", group);
	return true;
}

static bool add_unary(struct net *x, const char *op)
{
	const struct value *in = &x->values[pick(x->n - 1 - x->n / 8, x->n - 1)];
	struct value *out = add_value(x, in->rank, in->dims);

	ob_node(x->b, op, in->name, out->name);
	return true;
}

/* Small: 2 x 2; else up to 13 x 13, which take a maximum several stages. */
static bool add_pool(struct net *x, const char *op, bool small)
{
	const struct value *in = any(x, 4);
	int64_t kernel[2], stride[2], pads[4], dims[4];
	Onnx__NodeProto *n;

	if (!in)
		return false;
	memcpy(dims, in->dims, sizeof(dims));
	for (int i = 0; i < 2; i++) {
		kernel[i] = small ? 2 : pick(1, dims[2 + i] < 12 ? dims[2 + i] + 1 : 13);
		stride[i] = small ? 2 : pick(1, 3);
		pads[i] = pads[i + 2] = small ? 0 : pick(0, kernel[i] / 2);
		if (dims[2 + i] + 2 * pads[i] < kernel[i])
			return false;
		dims[2 + i] = (dims[2 + i] + 2 * pads[i] - kernel[i]) / stride[i] + 1;
	}
	n = ob_node(x->b, op, in->name, add_value(x, 4, dims)->name);
	ob_attr_ints(n, "kernel_shape", 2, kernel);
	ob_attr_ints(n, "strides", 2, stride);
	ob_attr_ints(n, "pads", 4, pads);
	return true;
}

static bool add_sum(struct net *x)
{
	for (int tries = 0; tries < 40; tries++) {
		const struct value *a = &x->values[pick(0, x->n - 1)], *b = &x->values[pick(0, x->n - 1)];
		char inputs[40];

		if (a == b || a->rank != b->rank || memcmp(a->dims, b->dims, 8 * (size_t)a->rank))
			continue;
		snprintf(inputs, sizeof(inputs), "%s %s", a->name, b->name);
		ob_node(x->b, "Add", inputs, add_value(x, a->rank, a->dims)->name);
		return true;
	}
	return false;
}

static bool add_flatten(struct net *x)
{
	const struct value *in = any(x, 4);

	if (!in || in->dims[1] * in->dims[2] * in->dims[3] > 4000)
		return false;
	ob_node(x->b, "Flatten", in->name, add_value(x, 2, (int64_t[]){ in->dims[0],
		in->dims[1] * in->dims[2] * in->dims[3] })->name);
	return true;
}

/* Reshape back to a map, perhaps with planes of another size. */
static bool add_reshape(struct net *x)
{
	const struct value *in = any(x, 2);
	int64_t dims[4] = { 0, 1, 1, 1 };
	char inputs[40], shape[16];

	if (!in || in->dims[1] < 2)
		return false;
	dims[0] = in->dims[0];
	dims[3] = in->dims[1];
	for (int i = 1; i < 3; i++) {
		int64_t f = pick(2, 8);

		if (dims[3] % f == 0) {
			dims[i] = f;
			dims[3] /= f;
		}
	}
	snprintf(shape, sizeof(shape), "c%d", x->constants++);
	ob_int64s(x->b, shape, 4, dims);
	snprintf(inputs, sizeof(inputs), "%s %s", in->name, shape);
	ob_node(x->b, "Reshape", inputs, add_value(x, 4, dims)->name);
	return true;
}

static bool add_gemm(struct net *x)
{
	const struct value *in = any(x, 2);
	char inputs[64], w[16], c[16];
	int64_t n = pick(1, 70);

	if (!in)
		return false;
	add_constant(x, w, in->dims[1], OB_DIMS(in->dims[1], n));
	add_constant(x, c, 1, OB_DIMS(n));
	snprintf(inputs, sizeof(inputs), "%s %s %s", in->name, w, c);
	ob_node(x->b, "Gemm", inputs, add_value(x, 2, (int64_t[]){ in->dims[0], n })->name);
	return true;
}

static bool add_mean(struct net *x, const struct value *in)
{
	if (!in)
		return false;
	ob_node(x->b, "GlobalAveragePool", in->name,
		add_value(x, 4, (int64_t[]){ in->dims[0], in->dims[1], 1, 1 })->name);
	return true;
}

/* A pool between a value's producer and a later reader: the value may stay in the banks. */
static bool add_beside(struct net *x)
{
	const struct value *made;

	if (x->n + 3 > MAX_VALUES || !add_conv(x, any(x, 4)))
		return false;
	made = &x->values[x->n - 1];
	return add_pool(x, "MaxPool", false) && add_conv(x, made);
}

/* x + x * sigmoid(mean of x), hard or not, as a squeeze-and-excite block with a shortcut does it. */
static bool add_gate(struct net *x)
{
	const struct value *in = any(x, 4);
	char mean[16], gate[16], inputs[40];

	if (!in || x->n + 4 > MAX_VALUES || !add_mean(x, in))
		return false;
	snprintf(mean, sizeof(mean), "%s", x->values[x->n - 1].name);
	snprintf(gate, sizeof(gate), "%s",
		 add_value(x, 4, (int64_t[]){ in->dims[0], in->dims[1], 1, 1 })->name);
	ob_node(x->b, pick(0, 1) ? "Sigmoid" : "HardSigmoid", mean, gate);
	snprintf(inputs, sizeof(inputs), "%s %s", in->name, gate);
	snprintf(gate, sizeof(gate), "%s", add_value(x, 4, in->dims)->name);
	ob_node(x->b, "Mul", inputs, gate);
	snprintf(inputs, sizeof(inputs), "%s %s", in->name, gate);
	ob_node(x->b, "Add", inputs, add_value(x, 4, in->dims)->name);
	return true;
}

/* Concatenate two or three values along the channels, perhaps the same one twice. */
static bool add_concat(struct net *x)
{
	const struct value *first = any(x, 4);
	int64_t dims[4], count = pick(2, 3);
	char inputs[64];

	if (!first)
		return false;
	memcpy(dims, first->dims, sizeof(dims));
	snprintf(inputs, sizeof(inputs), "%s", first->name);
	for (int tries = 0; tries < 60 && count > 1; tries++) {
		const struct value *v = &x->values[pick(0, x->n - 1)];
		size_t used = strlen(inputs);

		if (v->rank != 4 || v->dims[0] != dims[0] || v->dims[2] != dims[2] ||
		    v->dims[3] != dims[3])
			continue;
		snprintf(inputs + used, sizeof(inputs) - used, " %s", v->name);
		dims[1] += v->dims[1];
		count--;
	}
	if (dims[1] == first->dims[1])
		return false;
	ob_attr_int(ob_node(x->b, "Concat", inputs, add_value(x, 4, dims)->name), "axis",
		    pick(0, 1) ? 1 : -3);
	return true;
}

/* Split the channels in halves. */
static bool add_split(struct net *x)
{
	const struct value *in = any(x, 4);
	char outputs[40];
	int64_t dims[4];

	if (!in || in->dims[1] % 2 || x->n + 2 > MAX_VALUES)
		return false;
	memcpy(dims, in->dims, sizeof(dims));
	dims[1] /= 2;
	snprintf(outputs, sizeof(outputs), "v%d v%d", x->n, x->n + 1);
	ob_attr_int(ob_node(x->b, "Split", in->name, outputs), "axis", 1);
	add_value(x, 4, dims);
	add_value(x, 4, dims);
	return true;
}

static bool add_one(struct net *x)
{
	switch (pick(0, 17)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return add_conv(x, any(x, 4));
	case 4:
		return add_unary(x, "Relu");
	case 5:
		return add_unary(x, pick(0, 1) ? "Identity" : "Sigmoid");
	case 6:
		return add_pool(x, "MaxPool", pick(0, 1));
	case 7:
		return add_pool(x, "AveragePool", pick(0, 1));
	case 8:
		return add_sum(x);
	case 9:
		return add_flatten(x);
	case 10:
		return add_reshape(x);
	case 11:
		return add_gemm(x);
	case 12:
	case 13:
		return add_concat(x);
	case 14:
		return add_split(x);
	case 15:
		return add_gate(x);
	case 16:
		return add_beside(x);
	default:
		return add_mean(x, any(x, 4));
	}
}

/* The last value and a few others are outputs. */
static struct onnx_build *random_net(void)
{
	struct net x = { .b = ob_new(13) };
	int64_t dims[4] = { pick(0, 3) ? 1 : pick(2, 3), pick(1, 12), pick(1, 40), pick(1, 40) };
	int layers = (int)pick(3, MAX_VALUES - 2), outputs = (int)pick(0, MAX_OUTPUTS - 1);

	ob_input(x.b, add_value(&x, 4, dims)->name, CNN_FLOAT32, 4, dims);
	for (int tries = 0; x.n < layers && tries < 200; tries++)
		add_one(&x);
	ob_output(x.b, x.values[x.n - 1].name);
	for (int i = 0, last = 0; i < outputs && last + 1 < x.n - 1; i++) {
		last = (int)pick(last + 1, x.n - 2);
		ob_output(x.b, x.values[last].name);
	}
	return x.b;
}

/* ---- one trial ------------------------------------------------------------------------- */

struct tally {
	int nets, nodes, on_device, segments, tasks;
	uint64_t bytes, plain_bytes;	/* DMA bytes with resident values, and without */
	bool verbose;
};

static struct cnnrt_core_info random_core(void)
{
	static const uint32_t data[] = { 0, 0x2000, 0x8000, 0x40000 };
	static const uint32_t weights[] = { 0, 0x400, 0x2000 };
	static const uint32_t icache[] = { 0, 0, 0x400 };

	static const uint64_t cycles[] = { 1ull << 40, 1ull << 40, 100000, 20000 };
	struct cnnrt_core_info core = lower_core(data[pick(0, 3)], weights[pick(0, 2)],
					  icache[pick(0, 2)], 0);

	core.job_cycles_max = cycles[pick(0, 3)];
	if (!pick(0, 2))
		core.param[CNNACC_CCP_PARAM_BANKS] = 0;
	return core;
}

static bool same_bytes(const struct cnn_lowered *a, const struct cnn_lowered *b)
{
	return a->program_bytes == b->program_bytes && a->weight_bytes == b->weight_bytes &&
	       a->arena_bytes == b->arena_bytes && a->n_tasks == b->n_tasks &&
	       (!a->program_bytes || !memcmp(a->program, b->program, (size_t)a->program_bytes)) &&
	       (!a->weight_bytes || !memcmp(a->weights, b->weights, (size_t)a->weight_bytes));
}

static const char *check_again(const struct lower_case *c)
{
	struct cnn_lowered *again;
	const char *wrong = NULL;

	if (cnn_lower(c->graph, &c->core, 1, NULL, &again, NULL))
		return "cannot lower a second time";
	if (!same_bytes(c->lowered, again))
		wrong = "a second compilation gives other bytes";
	cnn_lowered_free(again);
	return wrong;
}

static uint64_t bytes_moved(const struct lower_result *r)
{
	return r->stats.mem_read_bytes + r->stats.mem_write_bytes;
}

/* With every value in the arena the outputs must be the same bits. */
static const char *check_kept(const struct lower_case *c, const struct cnn_tensor *in,
			      const struct cnn_tensor *want, struct tally *tally)
{
	const struct cnn_lower_options no_residency = { .no_residency = true };
	struct cnn_tensor got[MAX_OUTPUTS + 1] = { 0 };
	struct lower_case plain = *c;
	struct lower_result result;
	const char *wrong;

	if (cnn_lower(c->graph, &c->core, 1, &no_residency, &plain.lowered, NULL))
		return "cannot lower without keeping values";
	wrong = lower_run(&plain, in, got, &result);
	tally->plain_bytes += bytes_moved(&result);
	for (int i = 0; i < c->graph->n_outputs; i++) {
		if (!wrong && memcmp(got[i].data, want[i].data, (size_t)cnn_tensor_bytes(&got[i])))
			wrong = "keeping values changes the outputs";
		cnn_tensor_release(&got[i]);
	}
	cnn_lowered_free(plain.lowered);
	return wrong;
}

static double largest(const struct cnn_tensor *t)
{
	const float *y = t->data;
	double most = 0;

	for (int64_t k = 0; k < cnn_tensor_count(t); k++)
		most = y[k] > most ? y[k] : -y[k] > most ? -y[k] : most;
	return most;
}

static const char *compare_all(const struct cnn_tensor *got, const struct cnn_tensor *want, int n)
{
	const char *wrong = NULL;

	for (int i = 0; i < n && !wrong; i++)
		wrong = lower_compare(&got[i], &want[i], 1e-3, 1e-5 * largest(&want[i]) + 1e-30);
	return wrong;
}

static void release_all(struct cnn_tensor *t, int n)
{
	for (int i = 0; i < n; i++)
		cnn_tensor_release(&t[i]);
}

/* Run the network as --core cpu compiles it. */
static const char *check_cpu(const void *onnx, size_t len, const struct cnn_tensor *in,
			     const struct cnn_tensor *want)
{
	struct cnn_tensor got[MAX_OUTPUTS + 1] = { 0 };
	struct cnn_graph *g = NULL;
	static struct cnn_err err;
	const char *wrong;

	if (cnn_graph_import_onnx(onnx, len, -1, &g, &err) || cnn_graph_infer(g, &err) ||
	    cnn_graph_fuse(g, CNN_FUSE_ALL, &err) || cnn_graph_run_cpu(g, in, got, &err)) {
		cnn_graph_free(g);
		return err.text;
	}
	wrong = compare_all(got, want, g->n_outputs);
	release_all(got, g->n_outputs);
	cnn_graph_free(g);
	return wrong;
}

static const char *check_outputs(const struct lower_case *c, struct cnn_graph *plain,
				 const void *onnx, size_t len, struct tally *tally)
{
	struct cnn_tensor in = plain->values[plain->inputs[0]].t;
	struct cnn_tensor want[MAX_OUTPUTS + 1], got[MAX_OUTPUTS + 1];
	struct lower_result result;
	struct cnn_err err;
	const char *wrong;

	in.data = NULL;
	if (cnn_tensor_alloc(&in, 0, &err))
		return "no memory";
	for (int64_t i = 0; i < cnn_tensor_count(&in); i++)
		((float *)in.data)[i] = (float)(int32_t)ob_rand(&state) / 2147483648.0f;
	if (cnn_graph_run_cpu(plain, &in, want, &err)) {
		cnn_tensor_release(&in);
		return "the reference fails";
	}
	wrong = lower_run(c, &in, got, &result);
	tally->bytes += bytes_moved(&result);
	if (!wrong)
		wrong = check_kept(c, &in, got, tally);
	if (!wrong)
		wrong = compare_all(got, want, plain->n_outputs);
	if (!wrong)
		wrong = check_cpu(onnx, len, &in, want);
	release_all(got, plain->n_outputs);
	release_all(want, plain->n_outputs);
	cnn_tensor_release(&in);
	return wrong;
}

static const char *trial(struct onnx_build *b, struct tally *tally)
{
	struct cnnrt_core_info core = random_core();
	struct cnn_graph *plain = NULL;
	static struct cnn_err err;
	struct lower_case c = { 0 };
	const char *wrong = NULL;
	size_t len;
	void *onnx = ob_pack(b, &len);

	if (lower_open(&c, onnx, len, &core, &err) ||
	    cnn_graph_import_onnx(onnx, len, -1, &plain, &err) || cnn_graph_infer(plain, &err))
		wrong = err.text;
	if (!wrong) {
		tally->nets++;
		tally->nodes += c.lowered->n_nodes;
		tally->segments += c.lowered->n_segments;
		tally->tasks += c.lowered->n_tasks;
		for (int i = 0; i < c.lowered->n_nodes; i++) {
			tally->on_device += c.lowered->nodes[i].core >= 0;
			if (tally->verbose)
				printf("# %s: %s\n", c.graph->nodes[i].name,
				       c.lowered->nodes[i].reason);
		}
		wrong = check_again(&c);
	}
	if (!wrong)
		wrong = check_outputs(&c, plain, onnx, len, tally);
	lower_close(&c);
	cnn_graph_free(plain);
	free(onnx);
	return wrong;
}

int main(int argc, char **argv)
{
	struct tally tally = { 0 };
	int count = 200;
	bool good = true, less;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--count") && i + 1 < argc)
			count = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			state = (uint32_t)strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--verbose"))
			tally.verbose = true;
	}
	for (int i = 0; i < count && good; i++) {
		uint32_t seed = state;
		struct onnx_build *b = random_net();
		const char *wrong = trial(b, &tally);

		ob_free(b);
		good = !wrong;
		if (wrong)
			printf("# seed %u: %s\n", seed, wrong);
	}
	printf("1..2\n%sok 1 - %d networks of %d nodes, %d on ccp, %d segments, %d tasks\n",
	       good ? "" : "not ", tally.nets, tally.nodes, tally.on_device, tally.segments,
	       tally.tasks);
	less = tally.bytes < tally.plain_bytes;
	printf("%sok 2 - values stay on chip: %llu bytes moved, not %llu\n", less ? "" : "not ",
	       (unsigned long long)tally.bytes, (unsigned long long)tally.plain_bytes);
	return !good || !less;
}
