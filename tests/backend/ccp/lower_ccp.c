// SPDX-License-Identifier: MIT
/*
 * Random layers, lowered to ccp cores of several sizes and run on the golden model, against the
 * CPU operators. Usage: lower_ccp [--count N] [--seed N] [--kind N] [--verbose]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cnnacc_ccp.h>

#include "onnx_build.h"
#include "run_graph.h"
#include "lower_run.h"

#define MAX_WORK	4000000

static uint32_t state = 1;

static int64_t pick(int64_t least, int64_t most)
{
	return least + ob_rand(&state) % (most - least + 1);
}

/* Small numbers more often than large ones. */
static int64_t pick_small(int64_t least, int64_t most)
{
	return pick(0, 3) ? pick(least, least + (most - least) / 6) : pick(least, most);
}

static int64_t one_of(int count, const int64_t *list)
{
	return list[pick(0, count - 1)];
}

#define ONE_OF(...)	one_of((int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
			       (int64_t[]){ __VA_ARGS__ })

/* ---- random layers --------------------------------------------------------------------- */

struct shape {
	int rank;
	int64_t dims[4];
};

static char text[256];

static void add_window(Onnx__NodeProto *n, int spatial, const int64_t *kernel,
		       const int64_t *stride, const int64_t *pads)
{
	ob_attr_ints(n, "kernel_shape", spatial, kernel);
	ob_attr_ints(n, "strides", spatial, stride);
	ob_attr_ints(n, "pads", 2 * spatial, pads);
}

static int64_t out_size(int64_t in, int64_t kernel, int64_t stride, int64_t pads)
{
	return in + pads < kernel ? 0 : (in + pads - kernel) / stride + 1;
}

static int make_conv(struct onnx_build *b, struct shape *s)
{
	int spatial = pick(0, 5) ? 2 : 1;
	int64_t groups = pick(0, 2) ? 1 : pick_small(1, 24);
	int64_t ci = groups > 4 && pick(0, 1) ? 1 : pick_small(1, 40);
	int64_t co = groups > 4 && pick(0, 1) ? 1 : pick_small(1, 40);
	int64_t kernel[2], stride[2], pads[4], macs = groups * ci * co, w[4];
	Onnx__NodeProto *n;

	*s = (struct shape){ spatial + 2, { pick(0, 4) ? 1 : 2, groups * ci } };
	for (int i = 0; i < spatial; i++) {
		int64_t o;

		kernel[i] = ONE_OF(1, 1, 2, 3, 3, 3, 5, 7, 11);
		stride[i] = pick(0, 2) ? 1 : pick(1, pick(0, 3) ? 3 : 8);
		s->dims[2 + i] = pick_small(1, 90);
		pads[i] = pick(0, 1) ? kernel[i] / 2 : pick(0, kernel[i] - 1);
		pads[i + spatial] = pick(0, 1) ? pads[i] : pick(0, kernel[i] - 1);
		o = out_size(s->dims[2 + i], kernel[i], stride[i], pads[i] + pads[i + spatial]);
		macs *= o * kernel[i];
		w[2 + i] = kernel[i];
	}
	if (macs < 1 || macs > MAX_WORK)
		return -1;
	w[0] = groups * co;
	w[1] = ci;
	ob_random(b, "w", ob_rand(&state), spatial + 2, w);
	ob_random(b, "b", ob_rand(&state), OB_DIMS(groups * co));
	n = ob_node(b, "Conv", pick(0, 1) ? "x w b" : "x w", "y");
	add_window(n, spatial, kernel, stride, pads);
	ob_attr_int(n, "group", groups);
	snprintf(text, sizeof(text), "Conv %lldx%lldx%lldx%lld groups %lld -> %lld kernel %lldx%lld",
		 (long long)s->dims[0], (long long)s->dims[1], (long long)s->dims[2],
		 spatial > 1 ? (long long)s->dims[3] : 0, (long long)groups,
		 (long long)(groups * co), (long long)kernel[0],
		 spatial > 1 ? (long long)kernel[1] : 0);
	return 0;
}

/* Two convolutions of the same input and their sum: the addition is fused into the later one. */
static int make_sum(struct onnx_build *b, struct shape *s)
{
	int64_t ci = pick_small(1, 60), co = pick_small(1, 80);
	int64_t k = ONE_OF(1, 1, 3), step = pick(1, 2);
	const int64_t kernel[] = { k, k }, stride[] = { step, step };
	const int64_t pads[] = { k / 2, k / 2, k / 2, k / 2 };
	const char *add = pick(0, 1) ? "Add" : "Sum";

	*s = (struct shape){ 4, { pick(0, 4) ? 1 : 2, ci, pick_small(1, 60), pick_small(1, 60) } };
	if (2 * ci * co * k * k * s->dims[2] * s->dims[3] / step / step > MAX_WORK)
		return -1;
	ob_random(b, "v", ob_rand(&state), OB_DIMS(co, ci, k, k));
	ob_random(b, "w", ob_rand(&state), OB_DIMS(co, ci, k, k));
	ob_random(b, "b", ob_rand(&state), OB_DIMS(co));
	add_window(ob_node(b, "Conv", "x v", "p"), 2, kernel, stride, pads);
	add_window(ob_node(b, "Conv", pick(0, 1) ? "x w b" : "x w", "q"), 2, kernel, stride, pads);
	if (pick(0, 1)) {
		ob_node(b, add, pick(0, 1) ? "p q" : "q p", "y");
	} else {
		ob_node(b, add, "p q", "r");
		ob_node(b, "Relu", "r", "y");
	}
	snprintf(text, sizeof(text),
		 "Conv + Conv %lldx%lldx%lldx%lld -> %lld kernel %lld stride %lld",
		 (long long)s->dims[0], (long long)ci, (long long)s->dims[2],
		 (long long)s->dims[3], (long long)co, (long long)k, (long long)step);
	return 0;
}

/* Strides and pads that make @out columns of a multiple of it; returns the input columns. */
static int64_t wide_axis(int64_t out, int64_t kernel, int64_t *stride, int64_t pads[4])
{
	int64_t both;

	*stride = ONE_OF(1, 1, 1, 2, 3);
	both = pick(kernel > *stride ? kernel - *stride : 0, kernel - 1);
	pads[1] = pick(0, both);
	pads[3] = both - pads[1];
	return out * *stride;
}

/* The same of any number of columns; returns those of the input. */
static int64_t any_axis(int64_t *out, int64_t kernel, int64_t *stride, int64_t pads[4])
{
	int64_t in = kernel + pick(100, 600);

	*stride = ONE_OF(1, 1, 1, 2, 3);
	pads[1] = pick(0, kernel - 1);
	pads[3] = pick(0, kernel - 1);
	*out = out_size(in, kernel, *stride, pads[1] + pads[3]);
	return in;
}

/*
 * Rows that are long for the banks of small_core: a convolution, of groups or with a sum behind it,
 * or an average pool. Most are cut in columns. Rows start at a line, or anywhere.
 */
static int wide(struct onnx_build *b, struct shape *s, bool anywhere)
{
	enum { DENSE, GROUPS, SUM, AVERAGE } form = (int)pick(0, anywhere ? 1 : 3);
	const char *const names[] = { "Conv", "Conv", "Conv + Conv", "AveragePool" };
	int64_t groups = form == GROUPS || form == AVERAGE ? pick(2, 12) : 1;
	int64_t ci = form == DENSE || form == SUM ? pick(1, 24) : pick(1, 2), co = pick(1, 20);
	int64_t kernel[2] = { ONE_OF(1, 2, 3, 3, 5, 7), ONE_OF(1, 2, 3, 3, 3, 5, 7, 11) };
	int64_t stride[2] = { pick(1, 2) }, pads[4], out = 16 * pick(3, 12);

	if (form == AVERAGE) {
		kernel[1] = kernel[1] > 7 ? 7 : kernel[1];
		ci = co = 1;
	}
	pads[0] = pick(0, kernel[0] - 1);
	pads[2] = pick(0, kernel[0] - 1);
	*s = (struct shape){ 4, { pick(0, 4) ? 1 : 2, groups * ci, kernel[0] + pick_small(0, 60) } };
	s->dims[3] = anywhere ? any_axis(&out, kernel[1], &stride[1], pads) :
				wide_axis(out, kernel[1], &stride[1], pads);
	if (groups * ci * co * kernel[0] * kernel[1] * out * s->dims[2] / stride[0] >
	    (anywhere ? 1 : 2) * MAX_WORK)
		return -1;
	ob_random(b, "v", ob_rand(&state), OB_DIMS(groups * co, ci, kernel[0], kernel[1]));
	ob_random(b, "w", ob_rand(&state), OB_DIMS(groups * co, ci, kernel[0], kernel[1]));
	ob_random(b, "b", ob_rand(&state), OB_DIMS(groups * co));
	for (int i = 0; i < 1 + (form == SUM); i++) {
		Onnx__NodeProto *n = ob_node(b, form == AVERAGE ? "AveragePool" : "Conv",
					     form == AVERAGE ? "x" : i ? "x v" : "x w b",
					     form == SUM ? i ? "q" : "p" : "y");

		add_window(n, 2, kernel, stride, pads);
		if (form == AVERAGE)
			ob_attr_int(n, "count_include_pad", pick(0, 1));
		else
			ob_attr_int(n, "group", groups);
	}
	if (form == SUM)
		ob_node(b, "Add", "p q", "y");
	snprintf(text, sizeof(text), "wide %s %lldx%lldx%lldx%lld groups %lld -> %lld kernel "
		 "%lldx%lld stride %lld", names[form], (long long)s->dims[0],
		 (long long)s->dims[1], (long long)s->dims[2], (long long)s->dims[3],
		 (long long)groups, (long long)(groups * co), (long long)kernel[0],
		 (long long)kernel[1], (long long)stride[1]);
	return 0;
}

static int make_wide(struct onnx_build *b, struct shape *s)
{
	return wide(b, s, false);
}

static int make_wide_anywhere(struct onnx_build *b, struct shape *s)
{
	return wide(b, s, true);
}

/* A dilated convolution, perhaps with a Relu or a sum behind it: it runs in phases. */
static int make_dilated(struct onnx_build *b, struct shape *s)
{
	int spatial = pick(0, 4) ? 2 : 1, form = (int)pick(0, 3);
	int64_t groups = pick(0, 2) ? 1 : pick(2, 6);
	int64_t ci = pick_small(1, 20), co = pick_small(1, 20);
	int64_t kernel[2], dilation[2], stride[2] = { 1, 1 }, pads[4], macs = groups * ci * co;
	int64_t w[4] = { groups * co, ci }, same = pick(0, 2), k = ONE_OF(3, 5), d = pick(2, 5);

	*s = (struct shape){ spatial + 2, { pick(0, 4) ? 1 : 2, groups * ci } };
	for (int i = 0; i < spatial; i++) {
		kernel[i] = w[2 + i] = k;
		dilation[i] = i && !pick(0, 5) ? pick(1, 5) : d;
		stride[i] = dilation[i] > 1 && pick(0, 7) ? 1 : pick(1, 2);
		pads[i] = same < 2 ? same * dilation[i] * (k / 2) : pick(0, dilation[i] * (k - 1));
		pads[i + spatial] = same < 2 ? pads[i] : pick(0, dilation[i] * (k - 1));
		s->dims[2 + i] = dilation[i] * (k - 1) + pick(1, 40);
		macs *= k * (s->dims[2 + i] + pads[i]);
	}
	if (macs > MAX_WORK)
		return -1;
	ob_random(b, "w", ob_rand(&state), spatial + 2, w);
	ob_random(b, "b", ob_rand(&state), OB_DIMS(groups * co));
	for (int i = 0; i < 1 + (form == 2); i++) {
		Onnx__NodeProto *n = ob_node(b, "Conv", i ? "x w" : "x w b",
					     form ? i ? "q" : "p" : "y");

		add_window(n, spatial, kernel, stride, pads);
		ob_attr_ints(n, "dilations", spatial, dilation);
		ob_attr_int(n, "group", groups);
	}
	if (form)
		ob_node(b, form == 2 ? "Add" : "Relu", form == 2 ? "p q" : "p", "y");
	snprintf(text, sizeof(text), "dilated Conv %lldx%lldx%lldx%lld groups %lld -> %lld kernel "
		 "%lld dilation %lld padding %lld form %d", (long long)s->dims[0],
		 (long long)s->dims[1], (long long)s->dims[2],
		 spatial > 1 ? (long long)s->dims[3] : 0, (long long)groups,
		 (long long)(groups * co), (long long)k, (long long)d, (long long)pads[0], form);
	return 0;
}

static int make_pool(struct onnx_build *b, struct shape *s)
{
	int64_t kernel[2], stride[2], pads[4], work = 1;
	bool max = pick(0, 1);
	Onnx__NodeProto *n;

	*s = (struct shape){ 4, { pick(0, 4) ? 1 : 3, pick_small(1, 60) } };
	for (int i = 0; i < 2; i++) {
		kernel[i] = pick(0, 3) ? pick(2, 3) : pick(1, max ? 14 : 8);
		stride[i] = pick(1, 3);
		s->dims[2 + i] = pick_small(1, 90);
		pads[i] = pick(0, 1) ? 0 : pick(0, kernel[i] - 1);
		pads[i + 2] = pick(0, 1) ? pads[i] : pick(0, kernel[i] - 1);
		work *= out_size(s->dims[2 + i], kernel[i], stride[i], pads[i] + pads[i + 2]);
	}
	if (work < 1)
		return -1;
	n = ob_node(b, max ? "MaxPool" : "AveragePool", "x", "y");
	add_window(n, 2, kernel, stride, pads);
	ob_attr_int(n, "ceil_mode", pick(0, 1));
	if (!max)
		ob_attr_int(n, "count_include_pad", pick(0, 1));
	snprintf(text, sizeof(text), "%s %lldx%lldx%lldx%lld kernel %lldx%lld", n->op_type,
		 (long long)s->dims[0], (long long)s->dims[1], (long long)s->dims[2],
		 (long long)s->dims[3], (long long)kernel[0], (long long)kernel[1]);
	return 0;
}

static int make_gemm(struct onnx_build *b, struct shape *s)
{
	int64_t m = pick(0, 1) ? 1 : pick(1, 12), k = pick_small(1, 3000), n = pick_small(1, 600);
	int trans = (int)pick(0, 1);
	Onnx__NodeProto *node;

	if (m * k * n > MAX_WORK)
		return -1;
	*s = (struct shape){ 2, { m, k } };
	if (trans)
		ob_random(b, "w", ob_rand(&state), OB_DIMS(n, k));
	else
		ob_random(b, "w", ob_rand(&state), OB_DIMS(k, n));
	ob_random(b, "c", ob_rand(&state), OB_DIMS(pick(0, 3) ? n : 1));
	node = ob_node(b, "Gemm", pick(0, 1) ? "x w c" : "x w", "y");
	ob_attr_int(node, "transB", trans);
	ob_attr_float(node, "alpha", pick(0, 1) ? 1.0f : 0.5f);
	ob_attr_float(node, "beta", pick(0, 1) ? 1.0f : 2.0f);
	snprintf(text, sizeof(text), "Gemm %lldx%lldx%lld", (long long)m, (long long)k, (long long)n);
	return 0;
}

static int make_matmul(struct onnx_build *b, struct shape *s)
{
	int64_t m = pick_small(1, 60), k = pick_small(1, 300), n = pick_small(1, 300);
	int64_t batch = pick(1, 3);

	if (batch * m * k * n > MAX_WORK)
		return -1;
	snprintf(text, sizeof(text), "MatMul %lldx%lldx%lldx%lld", (long long)batch, (long long)m,
		 (long long)k, (long long)n);
	if (pick(0, 1)) {
		*s = (struct shape){ 3, { batch, m, k } };
		ob_random(b, "w", ob_rand(&state), OB_DIMS(k, n));
		ob_node(b, "MatMul", "x w", "y");
		return 0;
	}
	*s = (struct shape){ 3, { batch, k, n } };
	ob_random(b, "w", ob_rand(&state), OB_DIMS(m, k));
	ob_node(b, "MatMul", "w x", "y");
	return 0;
}

static int make_mean(struct onnx_build *b, struct shape *s)
{
	static const int64_t axes[] = { 2, 3 };

	*s = (struct shape){ 4, { pick(1, 3), pick_small(1, 200), pick_small(1, 60),
				  pick_small(1, 60) } };
	if (pick(0, 1)) {
		ob_node(b, "GlobalAveragePool", "x", "y");
	} else {
		Onnx__NodeProto *n = ob_node(b, "ReduceMean", "x", "y");

		ob_attr_ints(n, "axes", 2, axes);
		ob_attr_int(n, "keepdims", pick(0, 1));
	}
	snprintf(text, sizeof(text), "mean %lldx%lldx%lldx%lld", (long long)s->dims[0],
		 (long long)s->dims[1], (long long)s->dims[2], (long long)s->dims[3]);
	return s->dims[1] * s->dims[2] * s->dims[3] < 400000 ? 0 : -1;
}

static int make_pad(struct onnx_build *b, struct shape *s)
{
	int64_t p = pick(1, 2), pads[8] = { 0, 0, p, p, 0, 0, p, p };

	*s = (struct shape){ 4, { pick(1, 2), pick_small(1, 50), pick_small(1, 60),
				  pick_small(1, 60) } };
	ob_int64s(b, "p", 8, pads);
	ob_node(b, "Pad", "x p", "y");
	snprintf(text, sizeof(text), "Pad %lld", (long long)p);
	return 0;
}

/* ---- one trial ------------------------------------------------------------------------- */

struct tally {
	int cases, on_device, tasks, skipped, cut;
	bool verbose, mixed;
};

static const struct {
	const char *name;
	int (*make)(struct onnx_build *b, struct shape *s);
	bool mixed;	/* only its convolutions must be on ccp */
	bool wide;	/* on small cores; every fourth must be cut in columns */
} kinds[] = {
	{ "Conv", make_conv, false, false }, { "Conv and Add", make_sum, false, false },
	{ "pooling", make_pool, false, false }, { "Gemm", make_gemm, false, false },
	{ "MatMul", make_matmul, false, false }, { "mean", make_mean, false, false },
	{ "Pad", make_pad, false, false }, { "dilated Conv", make_dilated, true, false },
	{ "wide maps", make_wide, false, true },
	{ "wide maps of any width", make_wide_anywhere, false, true },
};

static struct cnnrt_core_info random_core(void)
{
	struct cnnrt_core_info core = lower_core(
		(uint32_t)ONE_OF(0, 0, 0x1000, 0x2000, 0x4000, 0x10000, 0x40000, 0x1040),
		(uint32_t)ONE_OF(0, 0, 0x400, 0x800, 0x1000, 0x4000, 0x440),
		(uint32_t)ONE_OF(0, 0, 0, 0x100, 0x200, 0x800), (uint32_t)ONE_OF(0, 0, 1, 2, 16));

	core.job_cycles_max = (uint64_t)ONE_OF(1ll << 40, 1ll << 40, 1000000, 30000, 5000);
	if (!pick(0, 2))
		core.param[CNNACC_CCP_PARAM_BANKS] = 0;
	return core;
}

static struct cnnrt_core_info small_core(void)
{
	struct cnnrt_core_info core = random_core();

	core.param[CNNACC_CCP_PARAM_DATA_BANK] =
		(uint32_t)ONE_OF(0x1000, 0x2000, 0x4000, 0x4000, 0x8000, 0x10000);
	core.program_max = pick(0, 2) ? CNNACC_CCP_ICACHE_DEFAULT : 0x800;
	return core;
}

static void fill(struct cnn_tensor *t)
{
	float *x = t->data;

	for (int64_t i = 0; i < cnn_tensor_count(t); i++)
		x[i] = (float)(int32_t)ob_rand(&state) / 2147483648.0f;
}

/*
 * The convolution unit's own order: a sum per input channel, the bias in the last, sums added
 * channel after channel. No tiling may change it.
 */
static float conv_element(const struct cnn_graph *g, const struct cnn_node *n,
			  const struct cnn_window *w, const float *x, int64_t o, int64_t y, int64_t z)
{
	const struct cnn_tensor *bias = cnn_node_in(g, n, 2);
	const float *k = cnn_node_in(g, n, 1)->data;
	int64_t ci = w->in_ch / w->group, two = w->spatial - 1, taps;
	int64_t ih = two ? w->in[0] : 1, iw = w->in[two], kh = two ? w->kernel[0] : 1;
	float lob = 0;

	taps = kh * w->kernel[two];
	k += o * ci * taps;
	x += o / (w->out_ch / w->group) * ci * ih * iw;
	for (int64_t c = 0; c < ci; c++, x += ih * iw) {
		float sum = 0;

		for (int64_t t = 0; t < taps; t++) {
			int64_t r = t / w->kernel[two] * w->dilation[0];
			int64_t s = t % w->kernel[two] * w->dilation[two];
			int64_t iy = two ? y * w->stride[0] + r - w->pad_begin[0] : 0;
			int64_t ix = z * w->stride[two] + s - w->pad_begin[two];
			bool inside = iy >= 0 && iy < ih && ix >= 0 && ix < iw;

			sum += (inside ? x[iy * iw + ix] : 0.0f) * *k++;
		}
		if (c == ci - 1 && bias)
			sum += ((const float *)bias->data)[o];
		lob = c ? lob + sum : sum;
	}
	/* The addend is a convolution of the same input. */
	if (cnn_node_in(g, n, 3))
		lob += conv_element(g, &g->nodes[0], w, x - ci * ih * iw, o, y, z);
	return n->act.kind == CNN_ACT_RELU && !(lob > 0) ? 0 : lob;
}

/* Do all convolutions of the case, and nothing else unless it is mixed, run on the unit? */
static bool is_convolution(const struct lower_case *c, bool mixed)
{
	const struct cnn_graph *g = c->graph;

	for (int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].op == CNN_OP_CONV ?
		    !strstr(c->lowered->nodes[i].reason, "Conv: convolution") : !mixed)
			return false;
	return true;
}

/* The sums of the last node of g against those in the order of the unit. */
static const char *check_order(const struct cnn_graph *g, const struct cnn_tensor *in,
			       const struct cnn_tensor *got)
{
	const struct cnn_node *last = &g->nodes[g->n_nodes - 1];
	const float *x = in->data, *y = got->data;
	int64_t ow, oh, index = 0;
	struct cnn_window w;

	if (last->op != CNN_OP_CONV)
		return NULL;
	if (cnn_node_window(g, last, &w, NULL))
		return "no window";
	oh = w.spatial > 1 ? w.out[0] : 1;
	ow = w.out[w.spatial - 1];
	for (int64_t n = 0; n < w.batch; n++, x += cnn_tensor_count(in) / w.batch)
		for (int64_t o = 0; o < w.out_ch; o++)
			for (int64_t i = 0; i < oh * ow; i++, index++)
				if (conv_element(g, last, &w, x, o, i / ow, i % ow) != y[index])
					return "sums are not in the order of the unit";
	return NULL;
}

/* A rewritten Conv must have the sums that it had as the file says it. */
static const char *check_unit(const struct lower_case *c, bool mixed, const struct cnn_tensor *in,
			      const struct cnn_tensor *got, struct cnn_graph *plain)
{
	struct cnn_err err;

	if (!is_convolution(c, mixed))
		return NULL;
	if (!mixed)
		return check_order(c->graph, in, got);
	if (cnn_graph_fuse(plain, CNN_FUSE_NOP | CNN_FUSE_RELU, &err))
		return "cannot fuse";
	return check_order(plain, in, got);
}

static double largest(const struct cnn_tensor *t)
{
	const float *x = t->data;
	double most = 0;

	for (int64_t i = 0; i < cnn_tensor_count(t); i++)
		most = x[i] > most ? x[i] : -x[i] > most ? -x[i] : most;
	return most;
}

static const char *compare_runs(const struct lower_case *c, const void *onnx, size_t len,
				struct tally *tally)
{
	struct cnn_tensor in = { 0 }, want = { 0 }, got = { 0 };
	struct cnn_graph *plain = NULL;
	struct lower_result result;
	struct cnn_err err;
	const char *wrong = NULL;

	in = c->graph->values[c->graph->inputs[0]].t;
	in.data = NULL;
	if (cnn_tensor_alloc(&in, 0, &err) || cnn_graph_import_onnx(onnx, len, -1, &plain, &err) ||
	    cnn_graph_infer(plain, &err))
		return "cannot set up";
	fill(&in);
	if (cnn_graph_run_cpu(plain, &in, &want, &err))
		wrong = "the reference fails";
	if (!wrong)
		wrong = lower_run(c, &in, &got, &result);
	if (!wrong)
		wrong = lower_compare(&got, &want, 1e-4, 1e-5 * largest(&want));
	if (!wrong)
		wrong = check_unit(c, tally->mixed, &in, &got, plain);
	if (!wrong)
		tally->tasks += result.tasks;
	cnn_tensor_release(&in);
	cnn_tensor_release(&want);
	cnn_tensor_release(&got);
	cnn_graph_free(plain);
	return wrong;
}

static const char *trial(const struct cnnrt_core_info *core, struct onnx_build *b, struct tally *tally)
{
	struct lower_case c;
	struct cnn_err err;
	const char *wrong = NULL;
	bool on_device = true;
	size_t len;
	void *onnx = ob_pack(b, &len);

	if (lower_open(&c, onnx, len, core, &err)) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ": %.100s", err.text);
		free(onnx);
		return "cannot lower";
	}
	tally->cases++;
	for (int i = 0; i < c.lowered->n_nodes; i++)
		on_device &= c.lowered->nodes[i].core >= 0 ||
			     (tally->mixed && c.graph->nodes[i].op != CNN_OP_CONV);
	tally->on_device += on_device;
	tally->cut += strstr(c.lowered->nodes[c.lowered->n_nodes - 1].reason, " columns") != NULL;
	if (tally->verbose)
		printf("# %s: %s\n", text, c.lowered->nodes[c.lowered->n_nodes - 1].reason);
	if (on_device)
		wrong = compare_runs(&c, onnx, len, tally);
	lower_close(&c);
	free(onnx);
	return wrong;
}

static bool run_kind(int kind, int count, struct tally *tally)
{
	for (int i = 0; i < count; i++) {
		uint32_t seed = state;
		struct onnx_build *b = ob_new(13);
		struct cnnrt_core_info core = kinds[kind].wide ? small_core() : random_core();
		const char *wrong = NULL;
		struct shape s;

		if (kinds[kind].make(b, &s)) {
			ob_free(b);
			tally->skipped++;
			continue;
		}
		ob_input(b, "x", CNN_FLOAT32, s.rank, s.dims);
		ob_output(b, "y");
		wrong = trial(&core, b, tally);
		ob_free(b);
		if (wrong) {
			printf("# seed %u: %s on banks %u %u split %u icache %u lob %u cycles %llu"
			       ": %s\n", seed, text, core.param[0], core.param[1],
			       core.param[CNNACC_CCP_PARAM_BANKS], core.program_max, core.param[3],
			       (unsigned long long)core.job_cycles_max, wrong);
			return false;
		}
	}
	return !kinds[kind].wide || 4 * tally->cut >= tally->cases;
}

/* A residual block that ends in op, lowered to the default core. */
static bool open_block(struct lower_case *c, const char *op)
{
	const struct cnnrt_core_info core = lower_core(0, 0, 0, 0);
	struct onnx_build *b = ob_new(13);
	struct cnn_err err;
	size_t len;
	void *onnx;
	int ret;

	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 8, 12, 12));
	ob_random(b, "w", 1, OB_DIMS(8, 8, 3, 3));
	add_window(ob_node(b, "Conv", "x w", "p"), 2, (int64_t[]){ 3, 3 }, (int64_t[]){ 1, 1 },
		   (int64_t[]){ 1, 1, 1, 1 });
	ob_node(b, op, "p x", "r");
	ob_node(b, "Relu", "r", "y");
	ob_output(b, "y");
	onnx = ob_pack(b, &len);
	ob_free(b);
	ret = lower_open(c, onnx, len, &core, &err);
	free(onnx);
	return !ret;
}

/* A Sum of two values gives the programs of an Add. */
static bool check_sum(void)
{
	struct lower_case a = { 0 }, s = { 0 };
	bool good = open_block(&a, "Add") && open_block(&s, "Sum") && a.graph->n_nodes == 1 &&
		    a.lowered->n_tasks == 1 && s.lowered->n_tasks == 1 &&
		    a.lowered->program_bytes == s.lowered->program_bytes &&
		    !memcmp(a.lowered->program, s.lowered->program,
			    (size_t)a.lowered->program_bytes);

	lower_close(&a);
	lower_close(&s);
	return good;
}

int main(int argc, char **argv)
{
	int kind_count = (int)(sizeof(kinds) / sizeof(kinds[0])), count = 300, failed = 0, only = 0;
	struct tally tally = { 0 };
	bool good;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--count") && i + 1 < argc)
			count = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			state = (uint32_t)strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--kind") && i + 1 < argc)
			only = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--verbose"))
			tally.verbose = true;
	}
	printf("1..%d\n", kind_count + 1);
	for (int k = 0; k < kind_count; k++) {
		struct tally t = { .verbose = tally.verbose, .mixed = kinds[k].mixed };

		good = (only && only != k + 1) || run_kind(k, count, &t);
		failed += !good;
		printf("%sok %d - %s: %d layers, %d on ccp in %d tasks, %d cut in columns\n",
		       good ? "" : "not ", k + 1, kinds[k].name, t.cases, t.on_device, t.tasks, t.cut);
	}
	good = check_sum();
	failed += !good;
	printf("%sok %d - a Sum of two values gives the programs of an Add\n", good ? "" : "not ",
	       kind_count + 1);
	return failed != 0;
}
