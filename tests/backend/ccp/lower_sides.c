// SPDX-License-Identifier: MIT
/*
 * Layers of the text detector on ccp at two sides: 4 times the pixels may take 4.2 times the cycles.
 * Of the larger map fewer rows fit the banks, so that slabs must be cut in columns. TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "onnx_build.h"
#include "lower_run.h"

#define MOST_PERCENT 420

struct layer {
	const char *name;
	int64_t in, out, groups, stride;	/* channels; 3 x 3 */
	int64_t side;				/* of the smaller square input */
};

static const struct layer layers[] = {
	{ "96 to 24 channels", 96, 24, 1, 1, 128 },
	{ "16 channels, depthwise", 16, 16, 16, 1, 256 },
	{ "32 channels, depthwise, stride 2", 32, 32, 32, 2, 256 },
};

static void *make(const struct layer *l, int64_t side, size_t *len)
{
	struct onnx_build *b = ob_new(13);
	Onnx__NodeProto *n = ob_node(b, "Conv", "x w b", "y");
	void *onnx;

	ob_input(b, "x", CNN_FLOAT32, OB_DIMS(1, l->in, side, side));
	ob_random(b, "w", 1, OB_DIMS(l->out, l->in / l->groups, 3, 3));
	ob_random(b, "b", 2, OB_DIMS(l->out));
	ob_attr_ints(n, "pads", 4, (int64_t[]){ 1, 1, 1, 1 });
	ob_attr_ints(n, "strides", 2, (int64_t[]){ l->stride, l->stride });
	ob_attr_int(n, "group", l->groups);
	ob_output(b, "y");
	onnx = ob_pack(b, len);
	ob_free(b);
	return onnx;
}

/* 0: it does not run on the core. */
static uint64_t cycles(const struct layer *l, int64_t side)
{
	const struct cnnrt_core_info core = lower_core(0, 0, 0, 0);
	struct lower_case c;
	struct cnn_err err;
	uint64_t sum = 0;
	size_t len;
	void *onnx = make(l, side, &len);

	if (lower_open(&c, onnx, len, &core, &err)) {
		printf("# %s\n", err.text);
	} else {
		printf("# %s\n", c.lowered->nodes[0].reason);
		sum = c.lowered->nodes[0].core < 0 ? 0 : c.lowered->nodes[0].cost.cycles;
		lower_close(&c);
	}
	free(onnx);
	return sum;
}

int main(void)
{
	const int count = (int)(sizeof(layers) / sizeof(layers[0]));
	int failed = 0;

	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		const struct layer *l = &layers[i];
		uint64_t small = cycles(l, l->side), large = cycles(l, 2 * l->side);
		bool good = small && large && large * 100 <= small * MOST_PERCENT;

		failed += !good;
		printf("%sok %d - %s: %llu cycles at side %lld, %llu at twice that\n",
		       good ? "" : "not ", i + 1, l->name, (unsigned long long)small,
		       (long long)l->side, (unsigned long long)large);
	}
	return failed != 0;
}
