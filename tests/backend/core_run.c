// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx_build.h"
#include "core_run.h"

uint32_t random_state = 1;

static int checks;
static bool failed;

int64_t pick(int64_t least, int64_t most)
{
	return least + ob_rand(&random_state) % (most - least + 1);
}

void check(const char *name, const char *wrong)
{
	printf("%sok %d - %s\n", wrong ? "not " : "", ++checks, name);
	if (wrong)
		printf("# %s\n", wrong);
	failed |= wrong != NULL;
}

int end_checks(void)
{
	printf("1..%d\n", checks);
	return failed;
}

const char *with_seed(const char *wrong, uint32_t seed)
{
	static char text[512];

	if (!wrong)
		return NULL;
	snprintf(text, sizeof(text), "--seed %u --count 1: %.400s", seed, wrong);
	return text;
}

void read_options(int argc, char **argv, uint32_t *seed, uint32_t *count)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			*seed = (uint32_t)strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--count"))
			*count = (uint32_t)strtoul(argv[i + 1], NULL, 0);
	}
}

static void add_cost(const struct cnnrt_op_report *op, void *opaque)
{
	struct answer *a = opaque;

	if (op->core < 0 && !a->reason[0])
		snprintf(a->reason, sizeof(a->reason), "on the CPU: %s", op->reason);
	a->useful += op->cost->mac_useful;
	a->all_slots += op->cost->mac_slots;
	a->peak += op->cost->mac_peak;
	a->shifted += op->core >= 0 && strstr(op->reason, "shifted out");
	a->sums += !strcmp(op->op, "QLinearSums");
	if (!strcmp(op->op, "ConvertLayout") && op->cost_ns)
		*(op->core < 0 ? &a->moved : &a->converted) += 1;
}

static void add_step(const struct cnnrt_step *step, void *opaque)
{
	struct answer *a = opaque;

	a->cycles += step->cycles;
	if (step->kind == CNNRT_STEP_TASKS)
		a->macs += step->macs;
	a->submissions += step->kind == CNNRT_STEP_TASKS;
	a->cpu_steps += step->kind == CNNRT_STEP_OP;
	a->slots += step->mac_slots;
}

int bench_open(struct bench *t, const char *name)
{
	int ret = cnnrt_device_open(name, 0, &t->dev, &t->err);

	return ret ? ret : cnnrt_context_create(t->dev, CNNRT_PRIORITY_NORMAL, &t->ctx, &t->err);
}

void bench_close(struct bench *t)
{
	cnnrt_context_destroy(t->ctx);
	cnnrt_device_close(t->dev);
}

/*
 * Random bytes, floats of few bits, whose sums of products are exact, or halves from 2^-3 to 2 of
 * both signs.
 */
static void fill(void *data, const struct cnnrt_tensor_info *info, uint32_t seed)
{
	uint16_t *halves = data;
	uint8_t *bytes = data;
	float *floats = data;

	if (info->type == CNNRT_FLOAT32)
		for (size_t i = 0; i < info->size / sizeof(*floats); i++)
			floats[i] = (float)(ob_rand(&seed) % 64) / 16 - 2;
	else if (info->type == CNNRT_FLOAT16)
		for (size_t i = 0; i < info->size / sizeof(*halves); i++)
			halves[i] = (uint16_t)((ob_rand(&seed) & 0x8fff) | 0x3000);
	else
		for (size_t i = 0; i < info->size; i++)
			bytes[i] = (uint8_t)ob_rand(&seed);
}

static int run_job(struct bench *t, struct cnnrt_job *job, uint32_t seed, struct answer *a)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	void *p;
	int ret = cnnrt_job_map(job, CNNRT_INPUT, 0, &info, &p, &t->err);

	if (ret)
		return ret;
	fill(p, &info, seed);
	/* In its first run the core may clear another context's residue, which takes cycles. */
	for (int i = 0; i < 2 && !ret; i++) {
		ret = cnnrt_job_submit(job, -1, NULL, &t->err);
		if (!ret)
			ret = cnnrt_job_wait(job, -1, &t->err);
	}
	if (!ret)
		ret = cnnrt_job_map(job, CNNRT_OUTPUT, 0, &info, &p, &t->err);
	if (ret)
		return ret;
	a->data = malloc(info.size);
	a->bytes = info.size;
	if (!a->data)
		abort();
	memcpy(a->data, p, info.size);
	return cnnrt_job_profile(job, add_step, a, &t->err);
}

static int run_program(struct bench *t, const struct cnnrt_program *p, uint32_t seed,
		       struct answer *a)
{
	struct cnnrt_job *job;
	int ret = cnnrt_job_create(t->ctx, p, &job, &t->err);

	*a = (struct answer){ 0 };
	if (ret)
		return ret;
	ret = run_job(t, job, seed, a);
	cnnrt_job_free(job);
	cnnrt_program_explain(p, add_cost, a);
	a->estimate.struct_size = sizeof(a->estimate);
	return ret ? ret : cnnrt_program_estimate(p, &a->estimate, NULL);
}

/* Write the program to a file and read it back. */
static int through_file(struct bench *t, struct cnnrt_program **p)
{
	char path[] = "/tmp/lower_core.XXXXXX";
	int fd = mkstemp(path), ret;

	if (fd < 0)
		abort();
	close(fd);
	ret = cnnrt_program_save(*p, path, &t->err);
	cnnrt_program_free(*p);
	*p = NULL;
	if (!ret)
		ret = cnnrt_program_load(path, t->dev, NULL, p, &t->err);
	unlink(path);
	return ret;
}

static int compile_to(struct bench *t, const void *file, size_t len, bool cpu, bool observe,
		      struct cnnrt_program **p)
{
	const struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .core = cpu ? NULL : t->core, .cpu_only = cpu,
		.precision = t->fp16 && !cpu ? CNNRT_PRECISION_FP16 : 0, .observe = observe,
	};
	struct cnnrt_model *model;
	int ret = cnnrt_model_load_buffer(file, len, NULL, &model, &t->err);

	if (ret)
		return ret;
	ret = cnnrt_compile(model, t->dev, &opt, p, &t->err);
	cnnrt_model_free(model);
	return ret;
}

int compile(struct bench *t, const void *file, size_t len, bool cpu, struct cnnrt_program **p)
{
	return compile_to(t, file, len, cpu, false, p);
}

/* Are the costs those that the device counted? */
static const char *compare_costs(const struct answer *got)
{
	static char text[200];

	if (got->cycles != got->estimate.cycles) {
		snprintf(text, sizeof(text), "%llu cycles, the compiler said %llu",
			 (unsigned long long)got->cycles, (unsigned long long)got->estimate.cycles);
		return text;
	}
	if (got->macs != got->useful || got->slots != got->all_slots) {
		snprintf(text, sizeof(text), "%llu multiply-adds in %llu slots, the compiler said "
			 "%llu in %llu", (unsigned long long)got->macs,
			 (unsigned long long)got->slots, (unsigned long long)got->useful,
			 (unsigned long long)got->all_slots);
		return text;
	}
	return NULL;
}

static const char *compare(const struct answer *got, const struct answer *want)
{
	static char text[200];

	if (got->bytes != want->bytes)
		return "another size";
	for (size_t i = 0; i < got->bytes; i++) {
		if (got->data[i] == want->data[i])
			continue;
		snprintf(text, sizeof(text), "byte %zu of %zu is %u, not %u", i, got->bytes,
			 got->data[i], want->data[i]);
		return text;
	}
	if (got->estimate.macs_total != want->estimate.macs_total) {
		snprintf(text, sizeof(text), "%llu multiply-adds, the network has %llu",
			 (unsigned long long)got->estimate.macs_total,
			 (unsigned long long)want->estimate.macs_total);
		return text;
	}
	return compare_costs(got);
}

const char *run_both(struct bench *t, const void *file, size_t len, bool save, uint32_t seed,
		     struct answer *got)
{
	struct answer want = { 0 };
	struct cnnrt_program *p = NULL;
	const char *wrong = NULL;
	int ret = compile(t, file, len, true, &p);

	if (!ret)
		ret = run_program(t, p, seed, &want);
	cnnrt_program_free(p);
	*got = (struct answer){ 0 };
	p = NULL;
	if (!ret)
		ret = compile(t, file, len, false, &p);
	if (!ret && save)
		ret = through_file(t, &p);
	if (!ret)
		ret = run_program(t, p, seed, got);
	cnnrt_program_free(p);
	if (ret)
		wrong = t->err.text;
	else if (!got->estimate.ops_device && !t->refused--)
		wrong = got->reason;
	else
		wrong = compare(got, &want);
	free(got->data);
	got->data = NULL;
	free(want.data);
	return wrong;
}

struct layers {
	char text[256];		/* the first that differs */
};

static void take_layer(const struct cnnrt_layer *l, void *opaque)
{
	struct layers *s = opaque;

	if (l->beyond && !s->text[0])
		snprintf(s->text, sizeof(s->text), "%s %.60s on %s: %llu of %llu elements beyond the "
			 "bound, number %llu is %g, %g wanted", l->op, l->name, l->place,
			 (unsigned long long)l->beyond, (unsigned long long)l->count,
			 (unsigned long long)l->first, l->got, l->want);
}

static int compare_job(struct bench *t, const struct cnnrt_program *p, uint32_t seed,
		       struct layers *s)
{
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	struct cnnrt_job *job;
	void *data;
	int ret = cnnrt_job_create(t->ctx, p, &job, &t->err);

	if (ret)
		return ret;
	ret = cnnrt_job_map(job, CNNRT_INPUT, 0, &info, &data, &t->err);
	if (!ret) {
		fill(data, &info, seed);
		ret = cnnrt_compare(job, NULL, take_layer, s, &t->err);
	}
	cnnrt_job_free(job);
	return ret < 0 ? ret : 0;
}

const char *run_compared(struct bench *t, const void *file, size_t len, uint32_t seed,
			 struct answer *got)
{
	static struct layers s;
	struct cnnrt_program *p = NULL;
	int ret = compile_to(t, file, len, false, true, &p);

	s.text[0] = 0;
	*got = (struct answer){ 0 };
	if (!ret)
		ret = compare_job(t, p, seed, &s);
	cnnrt_program_free(p);
	p = NULL;
	ret = ret ? ret : compile(t, file, len, false, &p);
	if (!ret)
		ret = run_program(t, p, seed, got);
	cnnrt_program_free(p);
	free(got->data);
	got->data = NULL;
	if (ret)
		return t->err.text;
	if (!got->estimate.ops_device && !t->refused--)
		return got->reason;
	return s.text[0] ? s.text : compare_costs(got);
}
