/* SPDX-License-Identifier: MIT */
/* Concurrent runs of one program spread over equal cores, by the device's own count of cycles. */
#include "rt.h"
#include "spread.h"

#include <unistd.h>

#define RUNS		8
/* A run takes tens of milliseconds. */
#define DIGITS_HZ	400000u
#define MIXED_HZ	500000u

static void open_net(struct rt_net *n, const char *model, const char *device, const char *core)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .core = core };

	memset(n, 0, sizeof(*n));
	OK(cnnrt_device_open(device, 0, &n->dev, &rt_err));
	OK(cnnrt_model_load(rt_model_path(model), &n->model, &rt_err));
	OK(cnnrt_compile(n->model, n->dev, &opt, &n->program, &rt_err));
	OK(cnnrt_context_create(n->dev, CNNRT_PRIORITY_NORMAL, &n->ctx, &rt_err));
}

static struct spread spread_on(const char *model, const char *device, const char *core)
{
	struct spread sum = { 0 };
	struct rt_net n;

	open_net(&n, model, device, core);
	assert_int_equal(spread_run(n.dev, n.program, RUNS, &sum), 0);
	rt_close(&n);
	return sum;
}

/* The name of core 0, with a suffix. */
static const char *core_name(const char *suffix)
{
	static char name[16];
	struct cnnrt_core_info info = { .struct_size = sizeof(info) };
	struct cnnrt_device *dev;

	OK(cnnrt_device_open("sim:cores=ccp", 0, &dev, &rt_err));
	OK(cnnrt_device_core(dev, 0, &info, &rt_err));
	cnnrt_device_close(dev);
	snprintf(name, sizeof(name), "%.8s%s", info.name, suffix);
	return name;
}

/* A core's name means all cores of that name, also with cores of other kinds between them. */
/*
 * The last of the runs ends so many times earlier than on one core.  Jobs take their modelled time,
 * at a clock that makes it much longer than what the host needs to submit them.
 */
static void check_gain(const char *model, unsigned int hz, const char *cores, int count,
		       uint64_t tenths)
{
	char device[128];
	struct spread one, many;

	snprintf(device, sizeof(device), "%s,timing=modelled,clock-hz=%u", "sim:cores=ccp", hz);
	one = spread_on(model, device, core_name(""));
	snprintf(device, sizeof(device), "%s,timing=modelled,clock-hz=%u", cores, hz);
	many = spread_on(model, device, core_name(""));
	assert_int_equal(spread_used(&one), 1);
	assert_int_equal(spread_used(&many), count);
	print_message("%s on %s: %llu cycles, %llu on one core\n", model, cores,
		      (unsigned long long)spread_end(&many), (unsigned long long)spread_end(&one));
	assert_true(spread_end(&many) * tenths <= spread_end(&one) * 10);
}

static void test_two_cores(void **state)
{
	(void)state;
	check_gain("RT_DIGITS", DIGITS_HZ, "sim:cores=ccp+ccp", 2, 18);
	check_gain("RT_MIXED", MIXED_HZ, "sim:cores=ccp+ccp", 2, 18);
}

static void test_four_cores(void **state)
{
	(void)state;
	check_gain("RT_DIGITS", DIGITS_HZ, "sim:cores=ccp+ccp+ccp+ccp", 4, 35);
	check_gain("RT_MIXED", MIXED_HZ, "sim:cores=ccp+ccp+ccp+ccp", 4, 35);
}

static void test_name(void **state)
{
	struct spread sum = spread_on("RT_DIGITS",
				      "sim:cores=ccp+hwpe+ccp,timing=modelled,clock-hz=400000",
				      core_name(""));

	(void)state;
	assert_int_equal(spread_used(&sum), 2);
	assert_int_equal(sum.jobs[0], RUNS / 2);
	assert_int_equal(sum.jobs[2], RUNS / 2);
}

/* With an index it means that core. */
static void test_pinned(void **state)
{
	struct spread sum = spread_on("RT_DIGITS", "sim:cores=ccp+ccp", core_name(".1"));

	(void)state;
	assert_int_equal(sum.jobs[0], 0);
	assert_int_equal(sum.jobs[1], RUNS);
	sum = spread_on("RT_DIGITS", "sim:cores=ccp+ccp", "0");
	assert_int_equal(sum.jobs[0], RUNS);
	assert_int_equal(sum.jobs[1], 0);
}

/* So it does in a program file. */
static void test_pinned_file(void **state)
{
	char path[] = "/tmp/rt-balance-XXXXXX";
	struct spread sum = { 0 };
	int fd = mkstemp(path);
	struct rt_net n;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	open_net(&n, "RT_DIGITS", "sim:cores=ccp+ccp", "1");
	OK(cnnrt_program_save(n.program, path, &rt_err));
	cnnrt_program_free(n.program);
	OK(cnnrt_program_load(path, n.dev, NULL, &n.program, &rt_err));
	assert_int_equal(spread_run(n.dev, n.program, RUNS, &sum), 0);
	assert_int_equal(sum.jobs[1], RUNS);
	rt_close(&n);
	unlink(path);
}

/* Cores with other build parameters are not equal. */
static void test_unequal(void **state)
{
	struct spread sum = spread_on("RT_DIGITS", "sim:cores=ccp+ccp:lob=64", NULL);

	(void)state;
	assert_int_equal(spread_used(&sum), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cores),
		cmocka_unit_test(test_four_cores),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_pinned_file),
		cmocka_unit_test(test_unequal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
