// SPDX-License-Identifier: MIT
/*
 * Random sums of INT8 maps on core sample of several sizes, against the operators on the CPU, byte
 * for byte, and the compiler's cycles against the device's; what is refused, and why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cnnrt.h"
#include "onnx_build.h"
#include "program/model.h"

#define UINT8	2
#define INT8	3
#define FLOAT	1

static uint32_t state = 1;

static int64_t pick(int64_t least, int64_t most)
{
	return least + (int64_t)(ob_rand(&state) % (uint64_t)(most - least + 1));
}

/* A sum or a difference of two inputs. */
struct sum {
	const char *op;
	int type;
	int64_t a[4], b[4];
	float scale[3];
};

static void add_number(struct onnx_build *b, const char *name, const struct sum *s, float scale)
{
	char text[24];
	const int8_t zero = (int8_t)pick(s->type == INT8 ? -128 : 0, 127);

	snprintf(text, sizeof(text), "%ss", name);
	ob_floats(b, text, 0, NULL, &scale);
	snprintf(text, sizeof(text), "%sz", name);
	ob_bytes(b, text, s->type, 0, NULL, &zero);
}

static struct cnnrt_model *make_model(const struct sum *s)
{
	struct onnx_build *b = ob_new(13);
	struct cnnrt_model *model;
	struct cnnrt_error err;
	size_t len;
	void *file;

	ob_input(b, "a", s->type, 4, s->a);
	ob_input(b, "b", s->type, 4, s->b);
	add_number(b, "a", s, s->scale[0]);
	add_number(b, "b", s, s->scale[1]);
	add_number(b, "y", s, s->scale[2]);
	ob_node(b, s->op, "a as az b bs bz ys yz", "y");
	ob_output(b, "y");
	file = ob_pack(b, &len);
	ob_free(b);
	assert_int_equal(cnnrt_model_load_buffer(file, len, NULL, &model, &err), 0);
	free(file);
	return model;
}

static struct cnnrt_device *open_device(const char *name)
{
	struct cnnrt_device *dev;
	struct cnnrt_error err;

	assert_int_equal(cnnrt_device_open(name, 0, &dev, &err), 0);
	return dev;
}

static struct cnnrt_program *compile(const struct cnnrt_model *model, struct cnnrt_device *dev,
				     bool cpu)
{
	const struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .core = cpu ? NULL : "sample", .cpu_only = cpu,
	};
	struct cnnrt_program *p;
	struct cnnrt_error err;

	assert_int_equal(cnnrt_compile(model, dev, &opt, &p, &err), 0);
	return p;
}

static void add_cycles(const struct cnnrt_step *step, void *opaque)
{
	*(uint64_t *)opaque += step->cycles;
}

static uint8_t *map(struct cnnrt_job *job, enum cnnrt_direction dir, unsigned int i, size_t *size)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_error err;
	void *p;

	assert_int_equal(cnnrt_job_map(job, dir, i, &info, &p, &err), 0);
	*size = info.size;
	return p;
}

/* Inputs and outputs of a network, all of one size. */
struct io {
	unsigned int in, out;
};

static void fill(struct cnnrt_job *job, const struct io *io, uint32_t seed)
{
	for (unsigned int in = 0; in < io->in; in++) {
		size_t size;
		uint8_t *bytes = map(job, CNNRT_INPUT, in, &size);

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)ob_rand(&seed);
	}
}

/* All outputs, one after the other. */
static uint8_t *take_outputs(struct cnnrt_job *job, const struct io *io, size_t *size)
{
	uint8_t *all = NULL;

	for (unsigned int out = 0; out < io->out; out++) {
		const uint8_t *bytes = map(job, CNNRT_OUTPUT, out, size);

		all = realloc(all, io->out * *size);
		memcpy(all + out * *size, bytes, *size);
	}
	*size *= io->out;
	return all;
}

/* The answers to bytes that follow from seed; *cycles: of a run in which nothing is cleared. */
static uint8_t *run(struct cnnrt_context *ctx, const struct cnnrt_program *p, const struct io *io,
		    uint32_t seed, size_t *size, uint64_t *cycles)
{
	struct cnnrt_error err;
	struct cnnrt_job *job;
	uint8_t *bytes;

	assert_int_equal(cnnrt_job_create(ctx, p, &job, &err), 0);
	fill(job, io, seed);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cnnrt_job_submit(job, -1, NULL, &err), 0);
		assert_int_equal(cnnrt_job_wait(job, -1, &err), 0);
	}
	*cycles = 0;
	assert_int_equal(cnnrt_job_profile(job, add_cycles, cycles, &err), 0);
	bytes = take_outputs(job, io, size);
	cnnrt_job_free(job);
	return bytes;
}

/* The device computes the CPU's bytes in the cycles that the compiler said. */
static void check_sum(struct cnnrt_device *dev, struct cnnrt_context *ctx, const struct sum *s)
{
	struct cnnrt_estimate estimate = { .struct_size = sizeof(estimate) };
	struct cnnrt_model *model = make_model(s);
	struct cnnrt_program *core = compile(model, dev, false), *cpu = compile(model, dev, true);
	const struct io io = { 2, 1 };
	uint32_t seed = ob_rand(&state);
	uint64_t cycles, none;
	uint8_t *got, *want;
	size_t size;

	assert_int_equal(cnnrt_program_estimate(core, &estimate, NULL), 0);
	assert_int_equal(estimate.ops_device, 1);
	want = run(ctx, cpu, &io, seed, &size, &none);
	got = run(ctx, core, &io, seed, &size, &cycles);
	assert_memory_equal(got, want, size);
	assert_int_equal(cycles, estimate.cycles);
	free(got);
	free(want);
	cnnrt_program_free(core);
	cnnrt_program_free(cpu);
	cnnrt_model_free(model);
}

static struct sum random_sum(void)
{
	const int64_t dims[4] = { pick(1, 2), pick(1, 20), pick(1, 30), pick(1, 30) };
	struct sum s = { .op = pick(0, 2) ? "QLinearAdd" : "QLinearSub", .type = INT8 };

	memcpy(s.a, dims, sizeof(dims));
	memcpy(s.b, dims, sizeof(dims));
	for (int i = 0; i < 3; i++)
		s.scale[i] = (float)pick(1, 1000) / 1000;
	return s;
}

static void check_device(const char *name, int count)
{
	struct cnnrt_device *dev = open_device(name);
	struct cnnrt_context *ctx;
	struct cnnrt_error err;

	assert_int_equal(cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &ctx, &err), 0);
	for (int i = 0; i < count; i++) {
		const struct sum s = random_sum();

		check_sum(dev, ctx, &s);
	}
	cnnrt_context_destroy(ctx);
	cnnrt_device_close(dev);
}

static void test_sums(void **unused)
{
	(void)unused;
	check_device("sim:cores=sample", 60);
	/* Many tiles; several programs, as commands or cycles are few. */
	check_device("sim:cores=sample:bank=4096", 20);
	check_device("sim:cores=sample:bank=4096:program=640", 20);
	check_device("sim:cores=sample:bank=4096:job-cycles-max=2000", 20);
}

/* ---- sums that are terms of the next one ---- */

#define SUMS_MAX	5

/*
 * x0 + x1 is y1, which is added to x2, or taken from it, or the other way round; and so on. Bit i
 * of outputs: yi is an answer; of others: an operator of the CPU reads yi, too, after all sums, or of
 * between: before the next sum; of made: xi is a sum, which stands before those above.
 */
struct chain {
	int sums;
	uint32_t outputs, others, between, made;
	int64_t dims[4];
};

static int count(uint32_t bits)
{
	return __builtin_popcount(bits);
}

static void name_of(char name[16], char letter, int i)
{
	snprintf(name, 16, "%c%d", letter, i);
}

/* Two values become a third, whose scale is new. */
static void add_two(struct onnx_build *b, const char *v, const char *w, const char *y)
{
	const struct sum s = { .type = INT8 };
	char in[160];

	add_number(b, y, &s, (float)pick(100, 1000) / 1000);
	snprintf(in, sizeof(in), "%s %ss %sz %s %ss %sz %ss %sz", v, v, v, w, w, w, y, y);
	ob_node(b, pick(0, 2) ? "QLinearAdd" : "QLinearSub", in, y);
}

static void add_step(struct onnx_build *b, int i)
{
	bool back = i > 1 && pick(0, 1);
	char x[16], last[16], y[16];

	name_of(x, 'x', i);
	name_of(last, i > 1 ? 'y' : 'x', i - 1);
	name_of(y, 'y', i);
	add_two(b, back ? x : last, back ? last : x, y);
}

static void add_input(struct onnx_build *b, const struct chain *c, char letter, int i)
{
	const struct sum s = { .type = INT8 };
	char name[16];

	name_of(name, letter, i);
	ob_input(b, name, INT8, 4, c->dims);
	add_number(b, name, &s, (float)pick(100, 1000) / 1000);
}

/* Makes xi: an input, or the sum of two. */
static void add_term(struct onnx_build *b, const struct chain *c, int i)
{
	char p[16], q[16], x[16];

	if (!(c->made >> i & 1)) {
		add_input(b, c, 'x', i);
		return;
	}
	add_input(b, c, 'p', i);
	add_input(b, c, 'q', i);
	name_of(p, 'p', i);
	name_of(q, 'q', i);
	name_of(x, 'x', i);
	add_two(b, p, q, x);
}

/* A reader of a sum, on the CPU, whose result is an answer. */
static void add_reader(struct onnx_build *b, char letter, int i)
{
	char y[16], out[16];

	name_of(y, 'y', i);
	name_of(out, letter, i);
	ob_node(b, "Neg", y, out);
	ob_output(b, out);
}

static struct cnnrt_model *make_chain(const struct chain *c)
{
	struct onnx_build *b = ob_new(13);
	struct cnnrt_model *model;
	struct cnnrt_error err;
	char name[16];
	size_t len;
	void *file;

	for (int i = 0; i <= c->sums; i++)
		add_term(b, c, i);
	for (int i = 1; i <= c->sums; i++) {
		add_step(b, i);
		name_of(name, 'y', i);
		if (i == c->sums || c->outputs >> i & 1)
			ob_output(b, name);
		if (c->between >> i & 1)
			add_reader(b, 'b', i);
	}
	for (int i = 1; i <= c->sums; i++)
		if (c->others >> i & 1)
			add_reader(b, 'o', i);
	file = ob_pack(b, &len);
	ob_free(b);
	assert_int_equal(cnnrt_model_load_buffer(file, len, NULL, &model, &err), 0);
	free(file);
	return model;
}

struct parts {
	int in_units, on_core;	/* operators that run as one with an earlier one; all */
};

static void count_parts(const struct cnnrt_op_report *op, void *opaque)
{
	struct parts *parts = opaque;

	parts->in_units += op->core >= 0 && strstr(op->reason, "runs as one with");
	parts->on_core += op->core >= 0;
}

static bool overlap(const struct cnn_slot *a, const struct cnn_slot *b)
{
	return a->used && b->used && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

/* Some of a unit's first terms are still to be read when its last sum is written. */
static void check_memory(const struct cnnrt_program *p)
{
	const struct cnn_slot *slots = p->low->slots;

	for (int i = 0; i < p->graph->n_nodes; i++) {
		const char *lead = strstr(p->low->nodes[i].reason, "runs as one with");

		for (int k = 0; k < i && lead; k++) {
			const struct cnn_node *n = &p->graph->nodes[k];

			if (strcmp(strrchr(lead, ' ') + 1, n->name))
				continue;
			assert_false(overlap(&slots[n->in[0]], &slots[p->graph->nodes[i].out[0]]));
			assert_false(overlap(&slots[n->in[3]], &slots[p->graph->nodes[i].out[0]]));
		}
	}
}

static void check_answers(struct cnnrt_context *ctx, const struct cnnrt_program *core,
			  const struct cnnrt_program *cpu, const struct chain *c)
{
	const struct io io = {
		.in = (unsigned int)(c->sums + 1 + count(c->made)),
		.out = (unsigned int)(1 + count(c->outputs) + count(c->others) + count(c->between)),
	};
	struct cnnrt_estimate estimate = { .struct_size = sizeof(estimate) };
	uint32_t seed = ob_rand(&state);
	uint64_t cycles, none;
	uint8_t *got, *want;
	size_t size;

	assert_int_equal(cnnrt_program_estimate(core, &estimate, NULL), 0);
	want = run(ctx, cpu, &io, seed, &size, &none);
	got = run(ctx, core, &io, seed, &size, &cycles);
	assert_memory_equal(got, want, size);
	assert_int_equal(cycles, estimate.cycles);
	free(got);
	free(want);
}

static void count_wrong(const struct cnnrt_layer *layer, void *opaque)
{
	*(unsigned int *)opaque += layer->beyond != 0;
}

/* Compiled so that all values can be compared, the sums are in memory, and still the CPU's. */
static void check_every_sum(struct cnnrt_device *dev, struct cnnrt_context *ctx,
			    const struct cnnrt_model *model, const struct io *io)
{
	const struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .core = "sample", .observe = true,
	};
	unsigned int wrong = 0;
	struct cnnrt_program *p;
	struct cnnrt_error err;
	struct cnnrt_job *job;

	assert_int_equal(cnnrt_compile(model, dev, &opt, &p, &err), 0);
	assert_int_equal(cnnrt_job_create(ctx, p, &job, &err), 0);
	fill(job, io, ob_rand(&state));
	assert_int_equal(cnnrt_compare(job, NULL, count_wrong, &wrong, &err), 0);
	assert_int_equal(wrong, 0);
	cnnrt_job_free(job);
	cnnrt_program_free(p);
}

/* Returns how many sums run as one with an earlier one. */
static int check_chain(const char *device, const struct chain *c)
{
	struct cnnrt_device *dev = open_device(device);
	struct cnnrt_model *model = make_chain(c);
	struct cnnrt_program *core = compile(model, dev, false), *cpu = compile(model, dev, true);
	struct parts parts = { 0 };
	struct cnnrt_context *ctx;
	struct cnnrt_error err;

	assert_int_equal(cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &ctx, &err), 0);
	cnnrt_program_explain(core, count_parts, &parts);
	check_memory(core);
	assert_int_equal(parts.on_core, c->sums + count(c->made));
	check_answers(ctx, core, cpu, c);
	check_every_sum(dev, ctx, model, &(struct io){
			.in = (unsigned int)(c->sums + 1 + count(c->made)) });
	cnnrt_context_destroy(ctx);
	cnnrt_program_free(core);
	cnnrt_program_free(cpu);
	cnnrt_model_free(model);
	cnnrt_device_close(dev);
	return parts.in_units;
}

static void test_units(void **unused)
{
	struct chain c = { .sums = 2, .dims = { 1, 8, 10, 30 } };

	(void)unused;
	/* Three inputs; then two outputs, of which the CPU or the application reads the first. */
	assert_int_equal(check_chain("sim:cores=sample", &c), 1);
	c.others = 1 << 1;
	assert_int_equal(check_chain("sim:cores=sample", &c), 1);
	c.others = 0;
	c.outputs = 1 << 1;
	assert_int_equal(check_chain("sim:cores=sample", &c), 1);
	/* What stands between has to run between. */
	c.outputs = 0;
	c.between = 1 << 1;
	assert_int_equal(check_chain("sim:cores=sample", &c), 0);
	/* A term that is a sum and stands before the others: its unit has to run behind them. */
	c.between = 0;
	c.made = 1 << 2;
	assert_int_equal(check_chain("sim:cores=sample", &c), 1);
	/* A program of 20 commands has no room for two tiles of three sums. */
	c = (struct chain){ .sums = 5, .dims = { 1, 8, 10, 300 } };
	assert_int_equal(check_chain("sim:cores=sample", &c), 4);
	assert_int_equal(check_chain("sim:cores=sample:program=640", &c), 2);
}

static void test_random_units(void **unused)
{
	(void)unused;
	for (int i = 0; i < 60; i++) {
		struct chain c = {
			.sums = (int)pick(1, SUMS_MAX),
			.dims = { pick(1, 2), pick(1, 20), pick(1, 30), pick(1, 30) },
		};
		uint32_t inner = (1u << c.sums) - 2;

		c.made = (uint32_t)pick(0, 63) & (inner << 1 | 3);
		c.outputs = (uint32_t)pick(0, 63) & inner;
		c.others = (uint32_t)pick(0, 63) & inner;
		c.between = pick(0, 1) ? (uint32_t)pick(0, 63) & inner : 0;
		check_chain(pick(0, 1) ? "sim:cores=sample" : "sim:cores=sample:bank=4096", &c);
	}
}

struct refused {
	const char *why;
	bool found;
};

static void find_reason(const struct cnnrt_op_report *op, void *opaque)
{
	struct refused *r = opaque;

	r->found |= op->core < 0 && strstr(op->reason, r->why);
}

static void check_refused(const char *device, const char *why, const struct sum *s)
{
	struct cnnrt_device *dev = open_device(device);
	struct cnnrt_model *model = make_model(s);
	struct cnnrt_program *p = compile(model, dev, false);
	struct refused r = { .why = why };

	cnnrt_program_explain(p, find_reason, &r);
	assert_true(r.found);
	cnnrt_program_free(p);
	cnnrt_model_free(model);
	cnnrt_device_close(dev);
}

static void test_refused(void **unused)
{
	const struct sum good = {
		"QLinearAdd", INT8, { 1, 4, 5, 6 }, { 1, 4, 5, 6 }, { 0.5f, 0.25f, 1 },
	};
	struct sum s = good;

	(void)unused;
	s.type = UINT8;
	check_refused("sim:cores=sample", "elements of type uint8, sample has int8", &s);
	s = good;
	s.b[2] = 1;
	check_refused("sim:cores=sample", "sample does not broadcast", &s);
	s = good;
	s.scale[0] = 300;
	check_refused("sim:cores=sample", "scales not in 2^-10..2^8", &s);
	check_refused("sim:cores=sample:program=256", "too short for two tiles", &good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums), cmocka_unit_test(test_units),
		cmocka_unit_test(test_random_units), cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("lower_sample", tests, NULL, NULL);
}
