/* SPDX-License-Identifier: MIT */
/*
 * rt_mutant: cnnrt_compare() on a device with a seeded mistake, where a convolution's tile over
 * the right edge loses its last column: a tile is 8 wide, so maps 28 and 14 wide lose the columns
 * 27 and 13.  Then on programs that differ from their file.
 */
#include "rt_programs.h"
#include "cnnacc_model.h"
#include "program/model.h"

#include <math.h>

struct found {
	unsigned int layers, bad;
	uint64_t first[8];
	char op[8][16];
};

static void take(const struct cnnrt_layer *l, void *opaque)
{
	struct found *f = opaque;

	f->layers++;
	if (!l->beyond)
		return;
	assert_true(f->bad < 8);
	f->first[f->bad] = l->first;
	snprintf(f->op[f->bad++], sizeof(f->op[0]), "%.15s", l->op);
	/* That column, and no more than it: where Relu gives 0 what is lost may not show. */
	assert_int_equal(l->value->dims[3] - 1, l->first % (uint64_t)l->value->dims[3]);
	assert_true(l->beyond <= l->count / (uint64_t)l->value->dims[3]);
}

static void test_lost_column(void **state)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .observe = true };
	struct found f = { 0 };
	struct cnnrt_job *job;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	assert_non_null(rt_programs(n.dev)->lost_column_mutant);
	assert_true(cm_mutant_select(rt_programs(n.dev)->lost_column_mutant));
	cnnrt_program_free(n.program);
	OK(cnnrt_compile(n.model, n.dev, &opt, &n.program, &rt_err));
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	rt_set_input(job, 1);
	assert_int_equal(cnnrt_compare(job, NULL, take, &f, &rt_err), 2);
	assert_int_equal(f.layers, 6);
	assert_int_equal(f.bad, 2);
	assert_string_equal(f.op[0], "Conv");
	assert_int_equal(f.first[0], 27);
	assert_string_equal(f.op[1], "Conv");
	assert_int_equal(f.first[1], 13);
	cnnrt_job_free(job);
	rt_close(&n);
}

static void note_first(const struct cnnrt_layer *l, void *opaque)
{
	if (l->beyond && !*(const char **)opaque)
		*(const char **)opaque = l->op;
}

/* Breaks what it is given; the first layer on the CPU must then differ, and no other. */
static void check_program(void (*damage)(struct cnnrt_program *p))
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .observe = true, .cpu_only = true,
	};
	const char *first = NULL;
	struct cnnrt_job *job;
	struct rt_net n;

	rt_open(&n, "RT_DIGITS");
	cnnrt_program_free(n.program);
	OK(cnnrt_compile(n.model, n.dev, &opt, &n.program, &rt_err));
	damage(n.program);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	rt_set_input(job, 1);
	assert_int_equal(cnnrt_compare(job, NULL, note_first, &first, &rt_err), 1);
	assert_string_equal(first, "Conv");
	cnnrt_job_free(job);
	rt_close(&n);
}

static void lose_relu(struct cnnrt_program *p)
{
	assert_int_equal(p->graph->nodes[0].act.kind, CNN_ACT_RELU);
	p->graph->nodes[0].act.kind = CNN_ACT_NONE;
}

/* The reference has infinities, which no finite number is near. */
static void add_infinity(struct cnnrt_program *p)
{
	const struct cnn_tensor *bias = cnn_node_in(p->file_graph, &p->file_graph->nodes[0], 2);

	*(float *)bias->data = INFINITY;
}

static void test_program(void **state)
{
	(void)state;
	check_program(lose_relu);
	check_program(add_infinity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_column),
		cmocka_unit_test(test_program),
	};

	return cmocka_run_group_tests_name("rt_mutant", tests, NULL, NULL);
}
