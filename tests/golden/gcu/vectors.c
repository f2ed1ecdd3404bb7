// SPDX-License-Identifier: MIT
#include "vectors.h"

#include "writer.h"
#include "../words.h"

void gcu_vector_regions(struct job *job)
{
	job_region(job, GCU_VECTOR_IN, 0x400, CNNACC_PTE_READ);
	job_region(job, GCU_VECTOR_WEIGHTS, 0x400, CNNACC_PTE_READ);
	job_region(job, GCU_VECTOR_OUT, 0x400, CNNACC_PTE_WRITE);
	job_region(job, GCU_VECTOR_LINEAR, 0x400, CNNACC_PTE_READ);
	job_region(job, GCU_VECTOR_PSUM, 0x400, CNNACC_PTE_READ);
	job_region(job, GCU_VECTOR_TABLES, 0x400, CNNACC_PTE_READ);
	job_region(job, GCU_VECTOR_LUT, 0x80, CNNACC_PTE_READ);
}

struct cnnacc_gcu_layer gcu_vector_layer(uint32_t control, uint32_t w, uint32_t h, uint32_t c,
					 uint32_t k)
{
	uint32_t esz = (control & GCU_FORMAT(FP16)) || (control & GCU_FORMAT(INT16)) ? 2 : 1;
	uint32_t out = control >> CNNACC_GCU_OUT_SHIFT & 7, bytes = 4;

	if (out <= CNNACC_GCU_OUT_UINT8)
		bytes = 1;
	else if (out == CNNACC_GCU_OUT_INT16 || out == CNNACC_GCU_OUT_FP16)
		bytes = 2;
	return (struct cnnacc_gcu_layer){
		.control = CNNACC_GCU_LAYER | control,
		.in_size = gcu_halves(w, h), .channels = gcu_halves(c, k),
		.out_size = gcu_halves(w, h), .kernel = gcu_bytes(1, 1, 1, 1), .groups = 1,
		.fmbuf = 10 | 4 << 8 | 16u << 16, .kbuf = 9 | 3u << 16,
		.threshold = 15,
		.ifmap = { GCU_VECTOR_IN, 8 * esz, 8 * esz * w, 8 * esz * w * h },
		.ofmap = { GCU_VECTOR_OUT, 8 * bytes, 8 * bytes * w, 8 * bytes * w * h },
		.weight_va = GCU_VECTOR_WEIGHTS,
	};
}

void gcu_vector_kernel(struct cnnacc_gcu_layer *layer, uint32_t size)
{
	uint32_t w = (layer->in_size & 0xffff) - size + 1, h = (layer->in_size >> 16) - size + 1;
	uint32_t column = layer->ofmap.column_stride;

	layer->kernel = gcu_bytes(size, size, 1, 1);
	layer->out_size = gcu_halves(w, h);
	layer->ofmap.row_stride = column * w;
	layer->ofmap.group_stride = column * w * h;
}

void gcu_vector_put(struct job *job, uint32_t va, const void *bytes, size_t length)
{
	space_write(&job->space, va, bytes, length);
}

bool gcu_vector_same(struct job *job, const char *what, uint32_t va, uint32_t should)
{
	uint32_t is = word_get(space_at(&job->space, va), 0);

	if (is != should)
		printf("# %s is %08x, not %08x\n", what, is, should);
	return is == should;
}

/* ------------------------------------------------------------ all vectors */

unsigned int gcu_vector_count(void)
{
	return gcu_sum_vector_count + gcu_stage_vector_count + gcu_cycle_vector_count;
}

const struct gcu_vector *gcu_vector(unsigned int index)
{
	if (index < gcu_sum_vector_count)
		return &gcu_sum_vectors[index];
	index -= gcu_sum_vector_count;
	if (index < gcu_stage_vector_count)
		return &gcu_stage_vectors[index];
	return &gcu_cycle_vectors[index - gcu_stage_vector_count];
}

const char *gcu_vector_name(unsigned int index)
{
	return gcu_vector(index)->name;
}

void gcu_vector_build(unsigned int index, struct job *job)
{
	const struct gcu_vector *v = gcu_vector(index);

	gcu_vector_regions(job);
	v->build(job, v->argument);
	job_finish(job, GCU_VECTOR_PROGRAM, GCU_VECTOR_STATS);
}

bool gcu_vector_check(unsigned int index, struct job *job)
{
	const struct gcu_vector *v = gcu_vector(index);

	return !v->check || v->check(job, v->argument);
}
