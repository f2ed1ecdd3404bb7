// SPDX-License-Identifier: MIT
/*
 * Which values of ccp are dense: those that pass between it and the host, if what the core then
 * takes longer is less than what the host takes to change their layout, and what a Flatten on the
 * core renames. Others keep planes that begin at cache lines. TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_build.h"
#include "lower_run.h"

struct net {
	const char *name;
	void (*make)(struct onnx_build *b);
	const char *dense, *with_gaps;	/* values in the arena, each between spaces */
	int segments;			/* on the core */
};

/* y has as many channels as x. */
static void add_conv(struct onnx_build *b, const char *inputs, const char *output, int64_t pad)
{
	ob_attr_ints(ob_node(b, "Conv", inputs, output), "pads", 4,
		     (int64_t[]){ pad, pad, pad, pad });
}

static void make_one(struct onnx_build *b)
{
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 32, 14, 14));
	ob_random(b, "w", 1, OB_DIMS(32, 32, 3, 3));
	add_conv(b, "x w", "y", 1);
	ob_output(b, "y");
}

static void make_chain(struct onnx_build *b)
{
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 32, 14, 14));
	ob_random(b, "w", 1, OB_DIMS(32, 32, 3, 3));
	add_conv(b, "x w", "between", 1);
	add_conv(b, "between w", "y", 1);
	ob_output(b, "y");
}

/* A value for the host and for a convolution. */
static void make_shared(struct onnx_build *b)
{
	make_chain(b);
	ob_output(b, "between");
}

static void make_flat(struct onnx_build *b)
{
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 32, 14, 14));
	ob_random(b, "w", 1, OB_DIMS(32, 32, 2, 2));
	ob_random(b, "m", 2, OB_DIMS(32 * 49, 10));
	ob_attr_ints(ob_node(b, "Conv", "x w", "map"), "strides", 2, (int64_t[]){ 2, 2 });
	ob_node(b, "Flatten", "map", "flat");
	ob_node(b, "MatMul", "flat m", "y");
	ob_output(b, "y");
}

/* As a product of adjacent planes it would add in another order. */
static void make_covered(struct onnx_build *b)
{
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 32, 7, 7));
	ob_random(b, "w", 1, OB_DIMS(16, 32, 7, 7));
	add_conv(b, "x w", "y", 0);
	ob_output(b, "y");
}

/* Its parts have the pitch of their neighbours. */
static void make_parts(struct onnx_build *b)
{
	make_chain(b);
	ob_output(b, "between");
	ob_attr_int(ob_node(b, "Concat", "between y", "both"), "axis", 1);
	ob_random(b, "v", 2, OB_DIMS(32, 64, 1, 1));
	add_conv(b, "both v", "z", 0);
	ob_output(b, "z");
}

/* Rows of lines are added up: of what is added the planes are as far apart as those of the sum. */
static void make_sum(struct onnx_build *b)
{
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, 32, 14, 14));
	ob_random(b, "w", 1, OB_DIMS(32, 32, 3, 3));
	add_conv(b, "x w", "a", 1);
	add_conv(b, "a w", "c", 1);
	ob_node(b, "Add", "c a", "y");
	ob_output(b, "y");
}

/* Two images, each of which must begin at a line. */
static void make_batch(struct onnx_build *b)
{
	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(2, 3, 7, 7));
	ob_random(b, "w", 1, OB_DIMS(3, 3, 3, 3));
	add_conv(b, "x w", "y", 1);
	ob_output(b, "y");
}

static const struct net nets[] = {
	{ "input and output of a convolution", make_one, " x y ", " ", 1 },
	{ "what stays on the core keeps its gaps", make_chain, " x y ", " between ", 1 },
	{ "for the host and a convolution", make_shared, " x y between ", " ", 1 },
	{ "a Flatten between two layers", make_flat, " map flat ", " ", 1 },
	{ "a window as large as the input", make_covered, " ", " x ", 1 },
	{ "parts of a value", make_parts, " x z ", " between y both ", 1 },
	{ "an addition", make_sum, " x ", " a y ", 1 },
	{ "two images", make_batch, " ", " x y ", 1 },
};

static bool is_named(const char *list, const char *name)
{
	char word[80];

	snprintf(word, sizeof(word), " %.70s ", name);
	return strstr(list, word);
}

static bool check_layouts(const struct lower_case *c, const struct net *n)
{
	bool good = true;

	for (int v = 0; v < c->lowered->n_values; v++) {
		const struct cnn_slot *slot = &c->lowered->slots[v];
		const char *name = c->graph->values[v].name;
		bool dense = slot->used && cnn_layout_dense(&slot->layout);

		if ((is_named(n->dense, name) && !dense) ||
		    (is_named(n->with_gaps, name) && (dense || !slot->used))) {
			printf("# %s is %s\n", name, dense ? "dense" : "not dense");
			good = false;
		}
	}
	return good;
}

static bool check_segments(const struct lower_case *c, const struct net *n)
{
	int segments = 0;

	for (int i = 0; i < c->lowered->n_segments; i++)
		segments += c->lowered->segments[i].core >= 0;
	if (segments != n->segments)
		printf("# %d segments on the core, not %d\n", segments, n->segments);
	return segments == n->segments;
}

/* On the golden model, twice where that is allowed, with as many cycles as were said. */
static bool check_run(const struct lower_case *c)
{
	struct cnn_tensor in = c->graph->values[c->graph->inputs[0]].t, out[4] = { { 0 } };
	struct lower_result result;
	const char *wrong;
	float *x = malloc((size_t)cnn_tensor_bytes(&in));

	if (!x)
		abort();
	for (int64_t i = 0; i < cnn_tensor_count(&in); i++)
		x[i] = (float)(i * 37 % 101 - 50) / 64;
	in.data = x;
	wrong = lower_run(c, &in, out, &result);
	for (int i = 0; i < c->graph->n_outputs; i++)
		cnn_tensor_release(&out[i]);
	free(x);
	if (wrong)
		printf("# %s\n", wrong);
	return !wrong;
}

static bool check(const struct net *n)
{
	const struct cnnrt_core_info core = lower_core(0, 0, 0, 0);
	struct onnx_build *b = ob_new(13);
	struct lower_case c;
	struct cnn_err err;
	bool good = false;
	void *onnx;
	size_t len;

	n->make(b);
	onnx = ob_pack(b, &len);
	ob_free(b);
	if (lower_open(&c, onnx, len, &core, &err)) {
		printf("# %s\n", err.text);
	} else {
		good = check_layouts(&c, n);
		good &= check_segments(&c, n);
		good &= check_run(&c);
		lower_close(&c);
	}
	free(onnx);
	return good;
}

int main(void)
{
	const int count = (int)(sizeof(nets) / sizeof(nets[0]));
	int failed = 0;

	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		bool good = check(&nets[i]);

		failed += !good;
		printf("%sok %d - %s\n", good ? "" : "not ", i + 1, nets[i].name);
	}
	return failed != 0;
}
