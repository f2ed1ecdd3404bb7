/* SPDX-License-Identifier: MIT */
/* The self-test: small programs of each core with known results, and register access. */
#include "base/base.h"

#include <stdio.h>

#include "backend/desc.h"

/* The input of a test; it differs by core. */
static void fill(uint32_t *words, unsigned int core)
{
	for (unsigned int i = 0; i < CNN_TEST_FILLED / 4; i++)
		words[i] = 0x3f800000u + (i << 16) + core;
}

static void judge_bytes(const uint8_t *got, const uint8_t *want, uint32_t size, char *failure,
			size_t len)
{
	for (uint32_t i = 0; i < size; i++)
		if (got[i] != want[i]) {
			snprintf(failure, len, "byte %u is 0x%02x, 0x%02x expected", i, got[i],
				 want[i]);
			return;
		}
}

static void judge(const struct cnn_core_test *t, const struct cnnrt_job_status *s, char *failure,
		  size_t len)
{
	if (s->status_class != t->status_class || s->status_code != t->status_code)
		snprintf(failure, len, "ended with class %u code %u, %u and %u expected: %.150s",
			 s->status_class, s->status_code, t->status_class, t->status_code, s->text);
	else if (s->state == CNNRT_JOB_FAILED && (s->pc != t->pc || s->va != t->va))
		snprintf(failure, len, "ended at instruction %u, VA 0x%llx; %u, 0x%llx expected",
			 s->pc, (unsigned long long)s->va, t->pc, (unsigned long long)t->va);
}

static int run_test(struct cnnrt_device *dev, unsigned int core, const struct cnn_core_test *t,
		    char *failure, size_t len, struct cnnrt_error *err)
{
	uint32_t filled[CNN_TEST_FILLED / 4];
	const void *in = t->in ? t->in : filled;
	uint8_t out[CNNACC_PAGE_SIZE];
	struct cnnrt_range ranges[] = {
		{ .va = CNN_TEST_IN, .flags = CNNRT_MAP_READ, .in = in,
		  .size = t->in ? t->in_size : sizeof(filled) },
		{ .va = CNN_TEST_OUT, .flags = CNNRT_MAP_READ | CNNRT_MAP_WRITE, .out = out,
		  .size = sizeof(out) },
		{ .va = CNN_TEST_PROGRAM, .flags = CNNRT_MAP_EXEC, .in = t->code,
		  .size = t->code_size },
	};
	struct cnnrt_exec exec = {
		.struct_size = sizeof(exec),
		.core = core, .program_va = CNN_TEST_PROGRAM, .program_size = t->code_size,
		.cycle_limit = t->cycle_limit, .timeout_ns = 30000000000,
		.ranges = ranges, .range_count = RT_ARRAY_SIZE(ranges),
		.range_size = sizeof(*ranges),
	};
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	int ret;

	fill(filled, core);
	*failure = '\0';
	ret = cnnrt_exec(dev, &exec, &status, NULL, err);
	if (ret)
		return ret;
	judge(t, &status, failure, len);
	if (!*failure)
		judge_bytes(out, t->out ? t->out : in, t->out_size, failure, len);
	return ret;
}

/* Checks that the SCRATCH register keeps what is written. That needs the administrator. */
static int scratch_test(struct cnnrt_device *dev, char *failure, size_t len,
			struct cnnrt_error *err)
{
	static const uint32_t patterns[] = { 0x55555555u, 0xaaaaaaaau, 0xffffffffu, 0 };
	uint32_t value;

	*failure = '\0';
	for (unsigned int i = 0; i < RT_ARRAY_SIZE(patterns); i++) {
		int ret = cnnrt_device_reg_write(dev, CNNACC_REG_SCRATCH, patterns[i], err) ?:
			  cnnrt_device_reg_read(dev, CNNACC_REG_SCRATCH, &value, err);

		if (ret)
			return ret;
		if (value != patterns[i])
			snprintf(failure, len, "SCRATCH reads 0x%x after 0x%x was written",
				 value, patterns[i]);
	}
	return CNNRT_OK;
}

struct reporter {
	void (*report)(const char *test, const char *failure, void *opaque);
	void *opaque;
	int failed;
};

static void tell(struct reporter *r, const char *test, const char *failure)
{
	r->failed += *failure != '\0';
	r->report(test, failure, r->opaque);
}

static int test_core(struct cnnrt_device *dev, unsigned int core, struct reporter *r,
		     struct cnnrt_error *err)
{
	const struct cnn_core_desc *desc;
	char failure[256], name[96];
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };
	int ret = cnnrt_device_core(dev, core, &info, err);

	desc = ret ? NULL : cnn_core_desc(info.name);
	for (size_t i = 0; desc && i < desc->n_tests && !ret; i++) {
		struct cnn_core_test t = desc->tests[i];

		if (t.cycle_limit > info.job_cycles_max)
			t.cycle_limit = info.job_cycles_max;
		ret = run_test(dev, core, &t, failure, sizeof(failure), err);
		snprintf(name, sizeof(name), "core %u (%s): %s", core, info.name, t.name);
		if (!ret)
			tell(r, name, failure);
	}
	return ret;
}

int cnnrt_device_selftest(struct cnnrt_device *dev,
			  void (*report)(const char *test, const char *failure, void *opaque),
			  void *opaque, struct cnnrt_error *err)
{
	struct reporter r = { .report = report, .opaque = opaque };
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	char failure[256];
	int ret = scratch_test(dev, failure, sizeof(failure), err);

	if (ret && ret != CNNRT_EACCES)
		return ret;
	if (!ret)
		tell(&r, "registers keep their values", failure);
	ret = cnnrt_device_info(dev, &info, err);
	for (unsigned int core = 0; !ret && core < info.core_count; core++)
		ret = test_core(dev, core, &r, err);
	return ret ? ret : r.failed;
}
