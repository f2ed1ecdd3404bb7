// SPDX-License-Identifier: MIT
/*
 * Random networks on core enpu of several sizes against the operators on the CPU, bit for bit, as a
 * whole and layer by layer; the compiler's cycles against the device's; what is refused, and why;
 * how kernels are computed that are larger than an ifmap pad; all transpositions; what Concat,
 * Split and Slice cost.
 * Usage: lower_enpu [--count N] [--seed N]; TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_run.h"
#include "enpu_net.h"

/* On small devices, about one network in so many has nothing that fits the core. */
static const struct {
	const char *name;
	uint32_t refused;
} devices[] = {
	{ "sim:cores=enpu", 20 },
	{ "sim:cores=enpu:dtcm=20480:skip=20480:weight=24576:prefetch=off", 20 },
	{ "sim:cores=enpu:dtcm=1024:skip=1024:weight=8192:itcm=256:program=16384", 5 },
	{ "sim:cores=enpu:itcm=64", 5 },
	{ "sim:cores=enpu:dtcm=4096:skip=2048:weight=16384:psum-bits=24:job-cycles-max=400000", 5 },
};

static void *random_net(uint32_t seed, size_t *len)
{
	struct enpu_net n;

	random_state = seed * 2654435761u + 1;
	enpu_net_begin(&n, pick(0, 7) ? 1 : 2, pick(0, 2) ? pick(1, 40) : pick(1, 256),
		       pick(1, 24), pick(1, 24));
	enpu_net_random(&n, (int)pick(1, 8));
	if (pick(0, 5) == 0 && n.map[n.maps - 1].h * n.map[n.maps - 1].w == 1)
		enpu_net_matmul(&n, n.maps - 1, pick(1, 300));
	return enpu_net_end(&n, len);
}

static const char *run_random(struct bench *t, uint32_t seed)
{
	struct answer got;
	size_t len;
	void *file = random_net(seed, &len);
	const char *wrong = seed % 4 ? run_both(t, file, len, seed % 4 == 1, seed + 1, &got) :
				       run_compared(t, file, len, seed + 1, &got);

	free(file);
	return with_seed(wrong, seed);
}

static void check_random(uint32_t seed, uint32_t count)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct bench t = { .core = "enpu" };
		const char *wrong = bench_open(&t, devices[i].name) ? t.err.text : NULL;

		t.refused = 1 + count / devices[i].refused;
		for (uint32_t k = 0; k < count && !wrong; k++)
			wrong = run_random(&t, seed + k);
		check(devices[i].name, wrong);
		bench_close(&t);
	}
}

/* ---- what is refused, and why ------------------------------------------------------------ */

struct search {
	const char *text;
	bool runs, found;		/* on the core */
	const char *op;			/* whose clocks are added up; NULL: none */
	uint64_t clocks;
	int ops;			/* of that type, on the core */
	char reasons[600];
};

static void look(const struct cnnrt_op_report *op, void *opaque)
{
	struct search *s = opaque;
	size_t at = strlen(s->reasons);

	s->found |= (op->core >= 0) == s->runs && strstr(op->reason, s->text);
	if (s->op && op->core >= 0 && !strcmp(op->op, s->op)) {
		s->clocks += op->cost->cycles;
		s->ops++;
	}
	snprintf(s->reasons + at, sizeof(s->reasons) - at, "%s; ", op->reason);
}

static void check_reason(const char *text, struct enpu_net *n)
{
	struct search s = { .text = text };
	struct cnnrt_program *p = NULL;
	struct bench t = { .core = "enpu" };
	size_t len;
	void *file = enpu_net_end(n, &len);

	if (!bench_open(&t, devices[0].name) && !compile(&t, file, len, false, &p))
		cnnrt_program_explain(p, look, &s);
	check(text, s.found ? NULL : s.reasons[0] ? s.reasons : t.err.text);
	cnnrt_program_free(p);
	bench_close(&t);
	free(file);
}

static void check_conv(const char *text, int64_t channels, struct enpu_conv c)
{
	struct enpu_net n;

	random_state = 7;
	enpu_net_begin(&n, 1, channels, 40, 40);
	c.groups = 1;
	c.co = 16;
	for (int i = 0; i < 2; i++)
		c.dilation[i] = c.dilation[i] ? c.dilation[i] : 1;
	enpu_net_conv(&n, 0, &c);
	check_reason(text, &n);
}

/* A sum of two maps with scales a and 1, or one of the sum itself. */
static void check_add(const char *text, float a, int8_t zero)
{
	const int64_t none = 0;
	const float one = 1;
	const int8_t ten = 10;
	struct enpu_net n;

	enpu_net_begin(&n, 1, 4, 5, 5);
	ob_floats(n.b, "a", 0, &none, &a);
	ob_floats(n.b, "one", 0, &none, &one);
	ob_bytes(n.b, "ten", 3, 0, &none, &ten);
	ob_bytes(n.b, "zero", 3, 0, &none, &zero);
	ob_node(n.b, "QLinearAdd", "v0 a ten v0 one ten one zero", "v1");
	snprintf(n.map[n.maps++].name, sizeof(n.map[0].name), "v1");
	check_reason(text, &n);
}

/* Whatever its scales are, ONNX's product rounds halves to even. */
static void check_qlinear(void)
{
	const int64_t none = 0, w[4] = { 3, 4, 1, 1 };
	const int8_t zero = 0, weights[12] = { 1, 2, 3 };
	const float one = 1;
	struct enpu_net n;

	enpu_net_begin(&n, 1, 4, 5, 5);
	ob_floats(n.b, "one", 0, &none, &one);
	ob_bytes(n.b, "zero", 3, 0, &none, &zero);
	ob_bytes(n.b, "w", 3, 4, w, weights);
	ob_node(n.b, "QLinearConv", "v0 one zero w one zero one zero", "v1");
	snprintf(n.map[n.maps++].name, sizeof(n.map[0].name), "v1");
	check_reason("enpu requantises by shifts only", &n);
}

/* It runs on the core, in the way that s->text says, and gives the CPU's bytes. */
static const char *run_search(struct search *s, struct enpu_net *n)
{
	static char reasons[600];
	struct cnnrt_program *p = NULL;
	struct bench t = { .core = "enpu" };
	const char *wrong = NULL;
	struct answer got;
	size_t len;
	void *file = enpu_net_end(n, &len);

	if (!bench_open(&t, devices[0].name) && !compile(&t, file, len, false, &p)) {
		cnnrt_program_explain(p, look, s);
		wrong = run_both(&t, file, len, false, 5, &got);
	}
	snprintf(reasons, sizeof(reasons), "%s", s->reasons[0] ? s->reasons : t.err.text);
	cnnrt_program_free(p);
	bench_close(&t);
	free(file);
	return s->found ? with_seed(wrong, 5) : reasons;
}

static const char *run_as(const char *text, struct enpu_net *n)
{
	struct search s = { .text = text, .runs = true };

	return run_search(&s, n);
}

static void check_large(const char *text, int64_t channels, struct enpu_conv c)
{
	struct enpu_net n;

	random_state = 11;
	enpu_net_begin(&n, 2, channels, 21, 19);
	enpu_net_conv(&n, 0, &c);
	enpu_net_add(&n, 1, 1);
	check(text, run_as(text, &n));
}

/* Do axes other than the images, of which there is one, change places? */
static bool moves(const int64_t order[4])
{
	int64_t last = 0;

	for (int i = 0; i < 4; i++) {
		if (order[i] && order[i] < last)
			return true;
		last = order[i] ? order[i] : last;
	}
	return false;
}

static void check_transpositions(void)
{
	const char *wrong = NULL;
	struct enpu_net n;

	for (int64_t i = 0; i < 256 && !wrong; i++) {
		const int64_t order[4] = { i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6 };

		if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) != 15)
			continue;
		enpu_net_begin(&n, 1, 20, 5, 7);
		enpu_net_relu(&n, 0);
		enpu_net_transpose(&n, 1, order);
		enpu_net_relu(&n, 2);
		wrong = run_as(moves(order) ? "Transpose: a layer of 1 stage" : "Relu: a layer",
			       &n);
	}
	check("transpositions", wrong);
}

/* ---- what costs nothing, as it is only addresses ----------------------------------------- */

/* The network has so many operators of a type on the core, which take no clocks, or some. */
static void check_clocks(const char *name, const char *op, int ops, bool clocks, struct enpu_net *n)
{
	struct search s = { .text = op, .runs = true, .op = op };
	const char *wrong = run_search(&s, n);

	if (!wrong && s.ops != ops)
		wrong = s.reasons;
	if (!wrong && (s.clocks > 0) != clocks)
		wrong = clocks ? "it takes no clocks" : "it takes clocks";
	check(name, wrong);
}

/* A network whose map 1 is a result of the core. */
static void begin_net(struct enpu_net *n, int64_t channels)
{
	random_state = 3;
	enpu_net_begin(n, 1, channels, 9, 7);
	enpu_net_relu(n, 0);
}

static void check_concat(void)
{
	const struct enpu_conv conv = { .co = 20, .groups = 1, .kernel = { 3, 3 },
					.stride = { 1, 1 }, .dilation = { 1, 1 },
					.pads = { 1, 1, 1, 1 } };
	struct enpu_net n;

	begin_net(&n, 32);
	enpu_net_conv(&n, 0, &conv);
	enpu_net_concat(&n, 1, 1, 2);
	enpu_net_relu(&n, 3);
	check_clocks("parts in their places", "Concat", 1, false, &n);
	/* The second part may not be where the first one is read. */
	begin_net(&n, 32);
	enpu_net_conv(&n, 1, &conv);
	enpu_net_concat(&n, 1, 1, 2);
	enpu_net_relu(&n, 3);
	check_clocks("a part that reads another", "Concat", 1, true, &n);
	begin_net(&n, 32);
	enpu_net_concat(&n, 1, 1, 1);
	enpu_net_relu(&n, 2);
	check_clocks("a map twice", "Concat", 1, true, &n);
	begin_net(&n, 50);
	enpu_net_table(&n, 0);
	enpu_net_concat(&n, 2, 1, 2);
	enpu_net_relu(&n, 3);
	check_clocks("rows in their places", "Concat", 1, false, &n);
}

/* Two parts of a map, each read by a layer of its own. */
static void check_parts(const char *name, int64_t axis, int64_t first, bool clocks)
{
	struct enpu_net n;

	begin_net(&n, 50);
	enpu_net_split(&n, 1, axis, first);
	enpu_net_table(&n, 2);
	enpu_net_scale(&n, 3);
	ob_output(n.b, n.map[4].name);
	check_clocks(name, "Slice", 2, clocks, &n);
}

static void check_addresses(void)
{
	check_concat();
	check_parts("channels from a word on", 1, 16, false);
	check_parts("channels from anywhere on", 1, 17, true);
	check_parts("rows", 2, 4, false);
	check_parts("columns", 3, 2, true);
}

static void check_large_kernels(void)
{
	check_large("7 phases", 20,
		    (struct enpu_conv){ .co = 24, .groups = 1, .kernel = { 3, 3 },
					.stride = { 1, 1 }, .dilation = { 7, 4 },
					.pads = { 7, 4, 7, 4 }, .zero = 3 });
	check_large("32 phases", 17,
		    (struct enpu_conv){ .co = 17, .groups = 17, .kernel = { 3, 4 },
					.stride = { 2, 3 }, .dilation = { 8, 8 },
					.pads = { 7, 9, 8, 2 }, .zero = -9, .relu = true });
	check_large("9 kernel rows as channels", 5,
		    (struct enpu_conv){ .co = 9, .groups = 1, .kernel = { 9, 11 },
					.stride = { 2, 1 }, .dilation = { 1, 1 },
					.pads = { 4, 5, 4, 5 }, .zero = 77 });
	check_large("10 kernel rows as channels, 6 phases", 3,
		    (struct enpu_conv){ .co = 9, .groups = 1, .kernel = { 10, 12 },
					.stride = { 1, 1 }, .dilation = { 2, 6 },
					.pads = { 4, 60, 14, 5 }, .zero = -100 });
}

static void check_refusals(void)
{
	check_conv("300 input channels, limit of enpu 256", 300,
		   (struct enpu_conv){ .kernel = { 1, 1 }, .stride = { 1, 1 } });
	check_conv("kernel of 9 x 9 points with its dilation, limit of enpu 64 in all; its rows "
		   "are too many channels, or too long", 29,
		   (struct enpu_conv){ .kernel = { 9, 9 }, .stride = { 1, 1 } });
	check_conv("row stride 16, limit of enpu 15", 4,
		   (struct enpu_conv){ .kernel = { 1, 1 }, .stride = { 16, 1 } });
	check_conv("column padding 16, limit of enpu 15", 4,
		   (struct enpu_conv){ .kernel = { 1, 1 }, .stride = { 1, 1 },
				       .pads = { 0, 16, 0, 0 } });
	check_conv("100432 bytes of weights for 16 channels, limit of enpu 65536", 128,
		   (struct enpu_conv){ .kernel = { 7, 7 }, .stride = { 1, 1 } });
	check_add("scales 0.5 and 1, sum 1: enpu adds maps of one scale", 0.5f, 20);
	check_add("the zero points of enpu's maps must add up", 1, 10);
	check_qlinear();
}

int main(int argc, char **argv)
{
	uint32_t seed = 1, count = 100;

	read_options(argc, argv, &seed, &count);
	check_random(seed, count);
	check_refusals();
	check_large_kernels();
	check_transpositions();
	check_addresses();
	return end_checks();
}
