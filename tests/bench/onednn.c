/* SPDX-License-Identifier: MIT */
/*
 * bench-onednn TYPES CI IH IW CO KERNEL STRIDE PAD GROUP: a convolution in oneDNN, in the layouts
 * that it likes best; their conversion is not counted.  TYPES is f32, with bias, or u8s8s32.
 * OMP_NUM_THREADS and ONEDNN_MAX_CPU_ISA have their usual effect.  Prints "ready", then for every
 * line on stdin the milliseconds of one run.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dnnl.h>

/** struct types - of a convolution's tensors. */
struct types {
	const char *name;
	dnnl_data_type_t src, weights, dst;
	bool bias;
};

static const struct types all_types[] = {
	{ "f32", dnnl_f32, dnnl_f32, dnnl_f32, true },
	{ "u8s8s32", dnnl_u8, dnnl_s8, dnnl_s32, false },
};

struct layer {
	const struct types *types;
	int64_t ci, ih, iw, co, kernel, stride, pad, group;
};

static void check(dnnl_status_t status, const char *what)
{
	if (status == dnnl_success)
		return;
	fprintf(stderr, "bench-onednn: %s: status %d\n", what, (int)status);
	exit(1);
}

/* A descriptor whose layout oneDNN chooses. */
static dnnl_memory_desc_t any(int rank, const dnnl_dims_t dims, dnnl_data_type_t type)
{
	dnnl_memory_desc_t desc;

	check(dnnl_memory_desc_init_by_tag(&desc, rank, dims, type, dnnl_format_tag_any),
	      "memory descriptor");
	return desc;
}

static dnnl_primitive_desc_t describe(dnnl_engine_t engine, const struct layer *l)
{
	int64_t oh = (l->ih + 2 * l->pad - l->kernel) / l->stride + 1;
	int64_t ow = (l->iw + 2 * l->pad - l->kernel) / l->stride + 1;
	dnnl_dims_t in = { 1, l->ci, l->ih, l->iw }, out = { 1, l->co, oh, ow };
	dnnl_dims_t plain = { l->co, l->ci, l->kernel, l->kernel };
	dnnl_dims_t grouped = { l->group, l->co / l->group, l->ci / l->group, l->kernel, l->kernel };
	dnnl_dims_t biases = { l->co };
	dnnl_dims_t strides = { l->stride, l->stride }, pads = { l->pad, l->pad };
	dnnl_memory_desc_t src = any(4, in, l->types->src), dst = any(4, out, l->types->dst);
	dnnl_memory_desc_t bias = any(1, biases, l->types->dst);
	dnnl_memory_desc_t weights = l->group > 1 ? any(5, grouped, l->types->weights) :
						    any(4, plain, l->types->weights);
	dnnl_convolution_desc_t desc;
	dnnl_primitive_desc_t pd;

	check(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference,
						 dnnl_convolution_auto, &src, &weights,
						 l->types->bias ? &bias : NULL, &dst, strides, pads, pads), "convolution");
	check(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL), "primitive");
	return pd;
}

/* Memory of that layout, filled with small numbers; of none, empty. */
static dnnl_memory_t memory(dnnl_engine_t engine, const dnnl_memory_desc_t *desc)
{
	size_t size = dnnl_memory_desc_get_size(desc);
	bool floats = desc->data_type == dnnl_f32;
	dnnl_memory_t mem;
	void *data;

	check(dnnl_memory_create(&mem, desc, engine, DNNL_MEMORY_ALLOCATE), "memory");
	check(dnnl_memory_get_data_handle(mem, &data), "memory");
	for (size_t i = 0; floats && i < size / sizeof(float); i++)
		((float *)data)[i] = (float)(i % 61) / 61 - 0.5f;
	for (size_t i = 0; !floats && i < size; i++)
		((uint8_t *)data)[i] = (uint8_t)(i % 61);
	return mem;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double run(dnnl_primitive_t conv, dnnl_stream_t stream, const dnnl_exec_arg_t args[4])
{
	double start = now_ms();

	check(dnnl_primitive_execute(conv, stream, 4, args), "execute");
	check(dnnl_stream_wait(stream), "wait");
	return now_ms() - start;
}

static const struct types *types_of(const char *name)
{
	for (size_t i = 0; i < sizeof(all_types) / sizeof(all_types[0]); i++)
		if (!strcmp(name, all_types[i].name))
			return &all_types[i];
	return NULL;
}

int main(int argc, char **argv)
{
	int64_t n[8];
	struct layer layer;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t conv;
	char line[16];

	if (argc != 10 || !types_of(argv[1])) {
		fprintf(stderr, "usage: %s f32|u8s8s32 CI IH IW CO KERNEL STRIDE PAD GROUP\n", argv[0]);
		return 2;
	}
	for (int i = 0; i < 8; i++)
		n[i] = atoll(argv[i + 2]);
	layer = (struct layer){ types_of(argv[1]), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7] };
	setvbuf(stdout, NULL, _IOLBF, 0);
	check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
	check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
	pd = describe(engine, &layer);
	check(dnnl_primitive_create(&conv, pd), "primitive");
	dnnl_exec_arg_t args[] = {
		{ DNNL_ARG_SRC, memory(engine, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0)) },
		{ DNNL_ARG_WEIGHTS,
		  memory(engine, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0)) },
		{ DNNL_ARG_BIAS,
		  memory(engine, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1)) },
		{ DNNL_ARG_DST, memory(engine, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0)) },
	};

	run(conv, stream, args);
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		printf("%.4f\n", run(conv, stream, args));
	for (int i = 0; i < 4; i++)
		dnnl_memory_destroy(args[i].memory);
	dnnl_primitive_destroy(conv);
	dnnl_primitive_desc_destroy(pd);
	dnnl_stream_destroy(stream);
	dnnl_engine_destroy(engine);
	return 0;
}
