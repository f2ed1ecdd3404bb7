// SPDX-License-Identifier: MIT
/*
 * Double buffering on ccp: a layer's transfers run beside its EXECs, in the halves of banks that
 * these do not use, so that the units wait for few of them. Where banks are not split, results can
 * still be stored from the bank that an EXEC reads. TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cnnacc_ccp.h>

#include "onnx_build.h"
#include "lower_run.h"

struct layer {
	const char *name;
	void (*make)(struct onnx_build *b, const struct layer *l);
	int64_t channels, size;		/* of the square input */
	int64_t out, groups, kernel;
	/* Units may wait this percentage of the DMA engine's cycles, if banks are split or not. */
	int split_stall, whole_stall;
};

static void add_conv(struct onnx_build *b, const struct layer *l, const char *inputs,
		     const char *output)
{
	const int64_t pad = l->kernel / 2;
	Onnx__NodeProto *n = ob_node(b, "Conv", inputs, output);

	ob_attr_ints(n, "pads", 4, (int64_t[]){ pad, pad, pad, pad });
	ob_attr_int(n, "group", l->groups);
}

static void make_conv(struct onnx_build *b, const struct layer *l)
{
	const int64_t w[] = { l->out, l->channels / l->groups, l->kernel, l->kernel };

	ob_random(b, "w", 1, 4, w);
	ob_random(b, "b", 2, 1, &l->out);
	add_conv(b, l, "x w b", "y");
}

/* The second layer's input stays on the core, and the weights of both fit. */
static void make_two(struct onnx_build *b, const struct layer *l)
{
	ob_random(b, "w", 1, 4, (int64_t[]){ l->out, l->channels, l->kernel, l->kernel });
	ob_random(b, "v", 2, 4, (int64_t[]){ l->out, l->out, l->kernel, l->kernel });
	add_conv(b, l, "x w", "between");
	add_conv(b, l, "between v", "y");
}

/* The output is as large as the input, so that its planes are whole lines, too. */
static void make_max(struct onnx_build *b, const struct layer *l)
{
	Onnx__NodeProto *n = ob_node(b, "MaxPool", "x", "y");

	ob_attr_ints(n, "kernel_shape", 2, (int64_t[]){ l->kernel, l->kernel });
	ob_attr_ints(n, "pads", 4, (int64_t[]){ 0, 0, l->kernel - 1, l->kernel - 1 });
}

static void make_mean(struct onnx_build *b, const struct layer *l)
{
	(void)l;
	ob_node(b, "GlobalAveragePool", "x", "y");
}

static const struct layer layers[] = {
	{ "weights of 1 MiB, 1 x 1", make_conv, 512, 14, 512, 1, 1, 40, 100 },
	{ "weights of 2.25 MiB, 3 x 3", make_conv, 256, 14, 256, 1, 3, 15, 100 },
	{ "maps of 3 MiB, 1 x 1", make_conv, 64, 112, 64, 1, 1, 5, 55 },
	{ "maps of 1.5 MiB, 3 x 3", make_conv, 32, 112, 32, 1, 3, 20, 60 },
	{ "depthwise", make_conv, 64, 112, 64, 64, 3, 10, 60 },
	{ "maximum", make_max, 64, 112, 0, 0, 2, 5, 100 },
	{ "mean", make_mean, 96, 80, 0, 0, 0, 25, 100 },
	{ "weights of the next layer", make_two, 48, 8, 48, 1, 3, 20, 100 },
};

/* Look at the last operator. */
static bool check_cost(const struct cnn_lowered *lowered, int stall)
{
	const struct cnn_placement *n = &lowered->nodes[lowered->n_nodes - 1];
	uint64_t transfers = n->cost.dma_weights + n->cost.dma_data;

	printf("# %s: transfers %llu, stall %llu of %llu\n", n->reason,
	       (unsigned long long)transfers, (unsigned long long)n->cost.stall,
	       (unsigned long long)n->cost.cycles);
	return n->core >= 0 && n->cost.stall * 100 <= transfers * (uint64_t)stall;
}

static bool check(const struct layer *l, bool split)
{
	struct cnnrt_core_info core = lower_core(0, 0, 0, 0);
	const int64_t dims[] = { 1, l->channels, l->size, l->size };
	struct onnx_build *b = ob_new(13);
	struct lower_case c;
	struct cnn_err err;
	bool good = false;
	void *onnx;
	size_t len;

	core.param[CNNACC_CCP_PARAM_BANKS] = split ? CNNACC_CCP_BANKS_SPLIT : 0;
	l->make(b, l);
	ob_input(b, "x", CNN_FLOAT32, 4, dims);
	ob_output(b, "y");
	onnx = ob_pack(b, &len);
	ob_free(b);
	if (lower_open(&c, onnx, len, &core, &err)) {
		printf("# %s\n", err.text);
	} else {
		good = check_cost(c.lowered, split ? l->split_stall : l->whole_stall);
		lower_close(&c);
	}
	free(onnx);
	return good;
}

int main(void)
{
	const int count = (int)(sizeof(layers) / sizeof(layers[0]));
	int failed = 0;

	printf("1..%d\n", 2 * count);
	for (int i = 0; i < 2 * count; i++) {
		const struct layer *l = &layers[i % count];
		bool split = i < count, good = check(l, split);

		failed += !good;
		printf("%sok %d - %s, banks %s: units wait for at most %d %% of the transfers\n",
		       good ? "" : "not ", i + 1, l->name, split ? "split" : "whole",
		       split ? l->split_stall : l->whole_stall);
	}
	return failed != 0;
}
