// SPDX-License-Identifier: MIT
#include "vectors.h"

#include <string.h>

#include "cnnacc_sample.h"
#include "../stream.h"
#include "../words.h"

#define IN_VA		0x00400000u	/* a, and b in the next line */
#define OUT_VA		0x00401000u
#define PROGRAM_VA	0xf0000000u
#define STATS_VA	0xfffff000u
#define ELEMENTS	4
#define HALF		(CNNACC_SAMPLE_BANK_DEFAULT / 2)

static const struct vector {
	const char *name;
	int32_t factor_a, factor_b, bias;
	int8_t zero_point;
	unsigned int shift;
	int8_t a[ELEMENTS], b[ELEMENTS], sum[ELEMENTS];
} vectors[] = {
	{ "a plain sum saturates", 1, 1, 0, 0, 0,
	  { 1, 100, -100, -128 }, { 2, 100, -100, 127 }, { 3, 127, -128, -1 } },
	{ "a difference", 1, -1, 0, 0, 0,
	  { 5, -128, 127, 0 }, { 7, 1, -1, -128 }, { -2, -128, 127, 127 } },
	/* (3 a + 5 b + 4) / 8 - 10, downwards: 1.5 - 10, 0.375 - 10, -0.5 - 10, 4.5 - 10 */
	{ "factors, a bias, a shift and a zero point", 3, 5, 4, -10, 3,
	  { 1, -2, -1, 4 }, { 1, 1, -1, 4 }, { -9, -10, -11, -6 } },
	/* The largest products: 128 * 2^31 * 2 / 2^31 = 256, and half as much with one of them. */
	{ "sums beyond 32 bits", INT32_MIN, INT32_MIN, 0, 0, 31,
	  { -128, -64, 127, 64 }, { -128, 0, 127, -1 }, { 127, 64, -128, -63 } },
};

#define VECTORS	(sizeof(vectors) / sizeof(vectors[0]))

unsigned int sample_vector_count(void)
{
	return VECTORS;
}

const char *sample_vector_name(unsigned int index)
{
	return vectors[index].name;
}

/* 6 commands in 3 lines: 19; two copies: 1 + 16 + 1 each; EXEC 1, ADD 5; WAIT; copy; END. */
#define CYCLES	(19 + 2 * 18 + 1 + 5 + 18 + 1)

void sample_vector_build(unsigned int index, struct job *job)
{
	const struct vector *v = &vectors[index];
	const struct stream_rows a = { 0, 1, ELEMENTS, 0, 0 }, b = { HALF, 1, ELEMENTS, 0, 0 };
	struct program *p = &job->program;

	job_region(job, IN_VA, 2, CNNACC_PTE_READ);
	job_region(job, OUT_VA, 1, CNNACC_PTE_WRITE);
	space_write(&job->space, IN_VA, v->a, ELEMENTS);
	space_write(&job->space, IN_VA + CNNACC_LINE_SIZE, v->b, ELEMENTS);
	stream_copy(p, 1, 0, IN_VA, &a);
	stream_copy(p, 1, 0, IN_VA + CNNACC_LINE_SIZE, &b);
	stream_emit(p, CNNACC_SEQ_EXEC,
		    (uint32_t[7]){ CNNACC_SAMPLE_INSN(CNNACC_SAMPLE_ADD, 1), v->factor_a,
				   v->factor_b, v->bias,
				   CNNACC_SAMPLE_RESULT(v->zero_point, v->shift), ELEMENTS });
	stream_wait(p, CNNACC_SAMPLE_WAIT_IDLE);
	stream_copy(p, 1, CNNACC_SEQ_TO_MEMORY, OUT_VA, &a);
	stream_end(p);
	job_finish(job, PROGRAM_VA, STATS_VA);
}

bool sample_vector_check(unsigned int index, struct job *job)
{
	struct cnnacc_stats stats;

	memcpy(&stats, space_at(&job->space, STATS_VA), sizeof(stats));
	return !memcmp(space_at(&job->space, OUT_VA), vectors[index].sum, ELEMENTS) &&
	       stats.cycles - stats.scrub_cycles == CYCLES && stats.compute_cycles == 5 &&
	       stats.mac_useful == 2 * ELEMENTS && stats.mac_slots == 32;
}

static void print_insn(FILE *out, __u32 insn)
{
	fprintf(out, " operation %u bank %u", insn & 0xff, insn >> 8);
}

void sample_print(FILE *out, const struct program *program, unsigned int base)
{
	stream_print(out, program, base, print_insn);
}
