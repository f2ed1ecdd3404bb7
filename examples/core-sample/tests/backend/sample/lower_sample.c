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
	char text[8];
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

/* The answer to bytes that follow from seed; *cycles: of a run in which nothing is cleared. */
static uint8_t *run(struct cnnrt_context *ctx, const struct cnnrt_program *p, uint32_t seed,
		    size_t *size, uint64_t *cycles)
{
	struct cnnrt_error err;
	struct cnnrt_job *job;
	uint8_t *bytes;

	assert_int_equal(cnnrt_job_create(ctx, p, &job, &err), 0);
	for (unsigned int in = 0; in < 2; in++) {
		bytes = map(job, CNNRT_INPUT, in, size);
		for (size_t i = 0; i < *size; i++)
			bytes[i] = (uint8_t)ob_rand(&seed);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cnnrt_job_submit(job, -1, NULL, &err), 0);
		assert_int_equal(cnnrt_job_wait(job, -1, &err), 0);
	}
	*cycles = 0;
	assert_int_equal(cnnrt_job_profile(job, add_cycles, cycles, &err), 0);
	bytes = map(job, CNNRT_OUTPUT, 0, size);
	bytes = memcpy(malloc(*size), bytes, *size);
	cnnrt_job_free(job);
	return bytes;
}

/* The device computes the CPU's bytes in the cycles that the compiler said. */
static void check_sum(struct cnnrt_device *dev, struct cnnrt_context *ctx, const struct sum *s)
{
	struct cnnrt_estimate estimate = { .struct_size = sizeof(estimate) };
	struct cnnrt_model *model = make_model(s);
	struct cnnrt_program *core = compile(model, dev, false), *cpu = compile(model, dev, true);
	uint32_t seed = ob_rand(&state);
	uint64_t cycles, none;
	uint8_t *got, *want;
	size_t size;

	assert_int_equal(cnnrt_program_estimate(core, &estimate, NULL), 0);
	assert_int_equal(estimate.ops_device, 1);
	want = run(ctx, cpu, seed, &size, &none);
	got = run(ctx, core, seed, &size, &cycles);
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
		cmocka_unit_test(test_sums), cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("lower_sample", tests, NULL, NULL);
}
