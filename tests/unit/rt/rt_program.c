/* SPDX-License-Identifier: MIT */
/* rt_program: programs in files, and programs that are compared layer by layer. */
#include "rt.h"

#include <sys/stat.h>
#include <unistd.h>

/* A file that is gone when the test ends. */
static char *temporary(char path[32])
{
	int fd;

	strcpy(path, "/tmp/rt_programXXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return path;
}

static void *read_back(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *data;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	*size = (size_t)ftell(f);
	rewind(f);
	data = malloc(*size);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

static void check_same_file(const char *a, const char *b)
{
	size_t sa, sb;
	void *x = read_back(a, &sa), *y = read_back(b, &sb);

	assert_int_equal(sa, sb);
	assert_memory_equal(x, y, sa);
	free(x);
	free(y);
}

static void write_bytes(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
}

struct sums {
	unsigned int ops;
	uint64_t text, macs, ns;
};

static void add_op(const struct cnnrt_op_report *op, void *opaque)
{
	struct sums *s = opaque;

	s->ops++;
	s->macs += op->macs * (op->index + 1);
	s->ns += (op->cost_ns + 3 * op->next_ns) * (op->index + 1);
	for (const char *c = op->reason; *c; c++)
		s->text = s->text * 31 + (uint8_t)*c;
	for (const char *c = op->fused; *c; c++)
		s->text = s->text * 31 + (uint8_t)*c;
	for (const char *c = op->next_place; *c; c++)
		s->text = s->text * 31 + (uint8_t)*c;
}

/* Loaded, a program is what it was: answers, reports, and the file it writes itself. */
static void check_round_trip(const char *model)
{
	char first[32], again[32];
	struct cnnrt_estimate a = { .struct_size = sizeof(a) }, b = { .struct_size = sizeof(b) };
	struct sums x = { 0 }, y = { 0 };
	struct rt_net n;
	size_t size, size2;
	float *want, *got;

	rt_open(&n, model);
	want = rt_answer(&n, 3, &size);
	OK(cnnrt_program_save(n.program, temporary(first), &rt_err));
	OK(cnnrt_program_estimate(n.program, &a, &rt_err));
	cnnrt_program_explain(n.program, add_op, &x);
	cnnrt_program_free(n.program);
	OK(cnnrt_program_load(first, n.dev, NULL, &n.program, &rt_err));
	OK(cnnrt_program_estimate(n.program, &b, &rt_err));
	cnnrt_program_explain(n.program, add_op, &y);
	assert_int_equal(b.compile_ns, 0);
	a.compile_ns = 0;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_equal(&x, &y, sizeof(x));
	OK(cnnrt_program_save(n.program, temporary(again), &rt_err));
	check_same_file(first, again);
	/* It runs from the file that is replaced here. */
	OK(cnnrt_program_save(n.program, first, &rt_err));
	got = rt_answer(&n, 3, &size2);
	assert_int_equal(size, size2);
	assert_memory_equal(want, got, size);
	free(want);
	free(got);
	unlink(first);
	unlink(again);
	rt_close(&n);
}

static void test_round_trip(void **state)
{
	(void)state;
	check_round_trip("RT_DIGITS");
	check_round_trip("RT_MIXED");
}

/* Compiled twice, by two devices' worth of state: the same bytes. */
static void test_same_bytes(void **state)
{
	char a[32], b[32];
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_MIXED");
	OK(cnnrt_program_save(n.program, temporary(a), &rt_err));
	rt_close(&n);
	rt_open(&n, "RT_MIXED");
	OK(cnnrt_program_save(n.program, temporary(b), &rt_err));
	rt_close(&n);
	check_same_file(a, b);
	unlink(a);
	unlink(b);
}

/* A cut, longer or changed file, another format, another byte order. */
static void test_damage(void **state)
{
	struct cnnrt_program *p = NULL;
	char path[32];
	struct rt_net n;
	uint8_t *data;
	size_t size;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_program_save(n.program, temporary(path), &rt_err));
	data = read_back(path, &size);
	assert_true(cnnrt_program_is(data, size));
	assert_false(cnnrt_program_is(data, 7));
	OK(cnnrt_program_load_buffer(data, size, n.dev, NULL, &p, &rt_err));
	cnnrt_program_free(p);
	FAILS(CNNRT_EINVAL, "not a program", cnnrt_program_load_buffer(data, 63, n.dev, NULL, &p,
								       &rt_err));
	FAILS(CNNRT_EINVAL, "its header says", cnnrt_program_load_buffer(data, size - 1, n.dev, NULL,
									&p, &rt_err));
	data[size / 2] ^= 4;
	FAILS(CNNRT_EINVAL, "checksum", cnnrt_program_load_buffer(data, size, n.dev, NULL, &p,
								  &rt_err));
	write_bytes(path, data, size);
	FAILS(CNNRT_EINVAL, "checksum", cnnrt_program_load(path, n.dev, NULL, &p, &rt_err));
	data[12]++;
	FAILS(CNNRT_EUNSUPPORTED, "format 12", cnnrt_program_load_buffer(data, size, n.dev, NULL, &p,
									&rt_err));
	memcpy(data + 8, (uint8_t[]){ 1, 2, 3, 4 }, 4);
	FAILS(CNNRT_EUNSUPPORTED, "byte order", cnnrt_program_load_buffer(data, size, n.dev, NULL,
									  &p, &rt_err));
	data[0] = 0;
	FAILS(CNNRT_EINVAL, "not a program", cnnrt_program_load_buffer(data, size, n.dev, NULL, &p,
								       &rt_err));
	write_bytes(path, data, 0);
	FAILS(CNNRT_EINVAL, "not a program", cnnrt_program_load(path, n.dev, NULL, &p, &rt_err));
	FAILS(CNNRT_EFILE, "/nowhere/x",
	      cnnrt_program_load("/nowhere/x", n.dev, NULL, &p, &rt_err));
	FAILS(CNNRT_EFILE, "regular", cnnrt_program_load("/", n.dev, NULL, &p, &rt_err));
	FAILS(CNNRT_EFILE, "/nowhere/x", cnnrt_program_save(n.program, "/nowhere/x", &rt_err));
	FAILS(CNNRT_EFILE, "regular", cnnrt_program_save(n.program, "/dev/null", &rt_err));
	free(data);
	unlink(path);
	rt_close(&n);
}

static void refuse(const char *path, const char *device, const char *why)
{
	struct cnnrt_program *p = NULL;
	struct cnnrt_device *dev;

	OK(cnnrt_device_open(device, 0, &dev, &rt_err));
	FAILS(CNNRT_EUNSUPPORTED, why, cnnrt_program_load(path, dev, NULL, &p, &rt_err));
	cnnrt_device_close(dev);
}

/* Each requirement by its name, the value that is needed and the one that is there. */
static void test_other_devices(void **state)
{
	struct cnnrt_program *p = NULL;
	struct cnnrt_load_options small = { .struct_size = sizeof(small), .max_memory = 4096 };
	char path[32];
	struct rt_net n;

	(void)state;
	if (strcmp(rt_device(), "sim"))
		skip();
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_program_save(n.program, temporary(path), &rt_err));
	FAILS(CNNRT_ELIMIT, "limit", cnnrt_program_load(path, n.dev, &small, &p, &rt_err));
	refuse(path, "sim:cores=ccp:lob=16", "(lob) 0x100, core 0 of the device has 0x10");
	refuse(path, "sim:cores=ccp:data-bank=32768", "parameter 0 (data-bank)");
	refuse(path, "sim:cores=ccp:split-banks=off", "(split-banks)");
	refuse(path, "sim:cores=ccp:icache=256", "takes up to 256");
	refuse(path, "sim:cores=ccp:job-cycles-max=4096", "takes up to 4096");
	unlink(path);
	rt_close(&n);
}

/* A core with another index serves as well. */
static void test_other_core(void **state)
{
	struct cnnrt_program *p = NULL;
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct cnnrt_device *dev;
	char path[32];
	struct rt_net n;
	size_t size, size2;
	float *want, *got;

	(void)state;
	if (strcmp(rt_device(), "sim"))
		skip();
	rt_open(&n, "RT_DIGITS");
	want = rt_answer(&n, 1, &size);
	OK(cnnrt_program_save(n.program, temporary(path), &rt_err));
	rt_close(&n);
	memset(&n, 0, sizeof(n));
	OK(cnnrt_device_open("sim:cores=ccp:lob=16+ccp", 0, &dev, &rt_err));
	OK(cnnrt_program_load(path, dev, NULL, &p, &rt_err));
	OK(cnnrt_program_estimate(p, &est, &rt_err));
	assert_int_equal(est.macs_core[0], 0);
	assert_true(est.macs_core[1] > 0);
	n.dev = dev;
	n.program = p;
	OK(cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &n.ctx, &rt_err));
	got = rt_answer(&n, 1, &size2);
	assert_int_equal(size, size2);
	assert_memory_equal(want, got, size);
	free(want);
	free(got);
	unlink(path);
	rt_close(&n);
}

/* Compiled for a description, a program is that of the device. */
static void test_caps(void **state)
{
	char caps[32], name[64], a[32], b[32];
	struct cnnrt_context *ctx;
	struct cnnrt_program *p;
	struct cnnrt_device *dev;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_device_save_caps(n.dev, temporary(caps), &rt_err));
	snprintf(name, sizeof(name), "caps:%s", caps);
	OK(cnnrt_device_open(name, 0, &dev, &rt_err));
	OK(cnnrt_compile(n.model, dev, NULL, &p, &rt_err));
	OK(cnnrt_program_save(n.program, temporary(a), &rt_err));
	OK(cnnrt_program_save(p, temporary(b), &rt_err));
	check_same_file(a, b);
	FAILS(CNNRT_ENODEV, "not run", cnnrt_context_create(dev, CNNRT_PRIORITY_NORMAL, &ctx,
							    &rt_err));
	cnnrt_program_free(p);
	cnnrt_device_close(dev);
	unlink(a);
	unlink(b);
	unlink(caps);
	rt_close(&n);
}

static void count_layer(const struct cnnrt_layer *l, void *opaque)
{
	*(uint64_t *)opaque += l->count;
	assert_int_equal(l->beyond, 0);
	assert_int_equal(l->unwritten, 0);
}

/* Every layer agrees, twice; only an observed program's job can be compared. */
static void check_compare(const char *model)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .observe = true };
	struct cnnrt_program *observed;
	struct cnnrt_job *job;
	uint64_t elements = 0;
	struct rt_net n;

	rt_open(&n, model);
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	FAILS(CNNRT_EINVAL, "not compiled with observe",
	      cnnrt_compare(job, NULL, count_layer, &elements, &rt_err));
	cnnrt_job_free(job);
	OK(cnnrt_compile(n.model, n.dev, &opt, &observed, &rt_err));
	OK(cnnrt_job_create(n.ctx, observed, &job, &rt_err));
	rt_set_input(job, 2);
	OK(cnnrt_compare(job, NULL, count_layer, &elements, &rt_err));
	assert_true(elements > 1000);
	OK(cnnrt_compare(job, NULL, count_layer, &elements, &rt_err));
	cnnrt_job_free(job);
	cnnrt_program_free(observed);
	rt_close(&n);
}

static void test_compare(void **state)
{
	(void)state;
	check_compare("RT_DIGITS");
	check_compare("RT_MIXED");
}

static void refuse_caps(const char *path, const char *text, const char *why)
{
	struct cnnrt_device *dev;
	char name[64];

	write_bytes(path, text, strlen(text));
	snprintf(name, sizeof(name), "caps:%s", path);
	FAILS(CNNRT_EINVAL, why, cnnrt_device_open(name, 0, &dev, &rt_err));
}

/* Rewrites one line of the description of a device. */
static void change_line(const char *path, const char *key, const char *value)
{
	char line[256], out[8192];
	size_t used = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		bool found = !strncmp(line, key, strlen(key)) && line[strlen(key)] == '=';

		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s%s",
					 found ? key : line, found ? "=" : "", found ? value : "");
		if (found)
			used += (size_t)snprintf(out + used, sizeof(out) - used, "\n");
		assert_true(used < sizeof(out));
	}
	fclose(f);
	write_bytes(path, out, used);
}

static uint64_t target_of(const struct rt_net *n, const struct cnnrt_compile_options *opt,
			  uint64_t *ns)
{
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct cnnrt_program *p;

	OK(cnnrt_compile(n->model, n->dev, opt, &p, &rt_err));
	OK(cnnrt_program_estimate(p, &est, &rt_err));
	cnnrt_program_free(p);
	*ns = est.ns;
	return est.target_hash;
}

/* A description's costs are used with a device that is there; they stand in the program. */
static void test_target(void **state)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt) };
	uint64_t reference, hash, ns, other;
	struct cnnrt_device *dev;
	char caps[32], name[64];
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_MIXED");
	reference = target_of(&n, &opt, &ns);
	assert_true(ns > 1000);
	OK(cnnrt_device_save_caps(n.dev, temporary(caps), &rt_err));
	opt.target = caps;
	assert_int_equal(target_of(&n, &opt, &other), reference);
	assert_int_equal(ns, other);
	change_line(caps, "cpu.op_ns", "1000000000");
	hash = target_of(&n, &opt, &other);
	assert_int_not_equal(hash, reference);
	assert_true(other > ns + 1000000000);
	change_line(caps, "core0.hz", "0x10");
	assert_int_not_equal(target_of(&n, &opt, &other), hash);
	snprintf(name, sizeof(name), "caps:%s", caps);
	hash = target_of(&n, &opt, &ns);
	OK(cnnrt_device_open(name, 0, &dev, &rt_err));
	cnnrt_context_destroy(n.ctx);
	n.ctx = NULL;
	cnnrt_device_close(n.dev);
	n.dev = dev;
	opt.target = NULL;
	assert_int_equal(target_of(&n, &opt, &other), hash);
	assert_int_equal(ns, other);
	unlink(caps);
	rt_close(&n);
}

/* What is measured becomes the device's, and its description's. */
static void test_calibrate(void **state)
{
	struct cnnrt_device_info before = { .struct_size = sizeof(before) }, after = before;
	struct cnnrt_device *dev;
	char caps[32], name[64];
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_device_info(n.dev, &before, &rt_err));
	OK(cnnrt_device_calibrate(n.dev, &rt_err));
	OK(cnnrt_device_save_caps(n.dev, temporary(caps), &rt_err));
	snprintf(name, sizeof(name), "caps:%s", caps);
	OK(cnnrt_device_open(name, 0, &dev, &rt_err));
	OK(cnnrt_device_info(dev, &after, &rt_err));
	assert_int_not_equal(after.target_hash, before.target_hash);
	OK(cnnrt_device_info(n.dev, &before, &rt_err));
	assert_int_equal(after.target_hash, before.target_hash);
	FAILS(CNNRT_ENODEV, "not run", cnnrt_device_calibrate(dev, &rt_err));
	cnnrt_device_close(dev);
	unlink(caps);
	rt_close(&n);
}

static void refuse_target(const struct rt_net *n, const char *text, const char *why)
{
	char path[32];
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .target = path };
	struct cnnrt_program *p;

	write_bytes(temporary(path), text, strlen(text));
	FAILS(CNNRT_EINVAL, why, cnnrt_compile(n->model, n->dev, &opt, &p, &rt_err));
	unlink(path);
}

static void test_bad_target(void **state)
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .prefer = (enum cnnrt_prefer)7,
	};
	struct cnnrt_program *p;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	FAILS(CNNRT_EINVAL, "prefer 7", cnnrt_compile(n.model, n.dev, &opt, &p, &rt_err));
	opt.prefer = CNNRT_PREFER_DEVICE;
	opt.precision = (enum cnnrt_precision)2;
	FAILS(CNNRT_EINVAL, "precision 2", cnnrt_compile(n.model, n.dev, &opt, &p, &rt_err));
	opt = (struct cnnrt_compile_options){ .struct_size = sizeof(opt), .target = "/nowhere/x" };
	FAILS(CNNRT_EFILE, "/nowhere/x", cnnrt_compile(n.model, n.dev, &opt, &p, &rt_err));
	refuse_target(&n, "cpu.op_ns=-1", "line 1: a value that is no number from 0 to");
	refuse_target(&n, "cpu.op_ns=", ": cpu.op_ns");
	refuse_target(&n, "cpu.op_ns=1.5", ": cpu.op_ns");
	refuse_target(&n, "cpu.op_ns=1099511627777", ": cpu.op_ns");
	refuse_target(&n, "cpu.op_ns=99999999999999999999", ": cpu.op_ns");
	refuse_target(&n, "cpu.op_ns=1\ncpu.op_ns=1", "line 2: a key that was given before");
	refuse_target(&n, "core0.hz=0", "a clock of 0: core0.hz");
	refuse_target(&n, "core8.hz=1", "above the highest");
	refuse_target(&n, "cpu.sums.fs_per_step=1", "an unknown key: cpu.sums.fs_per_step");
	refuse_target(&n, "core0.name=npu", "core0.name=npu, but core 0 of");
	rt_close(&n);
}

/* A core that this library has no description of: shown as it is, and nothing is placed there. */
static void test_unknown_core(void **state)
{
	static const char *const bad[] = { "", "NPU", "a b", "a\x1b[", "\xc3\xa4", "a.b", "a_b" };
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_program *p;
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct cnnrt_device *dev;
	char caps[32], name[64];
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_device_save_caps(n.dev, temporary(caps), &rt_err));
	change_line(caps, "core0.name", "npu-2");
	change_line(caps, "core0.type", "77");
	for (unsigned int i = 0; i < 16; i++) {
		char key[24], value[24];

		snprintf(key, sizeof(key), "core0.param%u", i);
		snprintf(value, sizeof(value), "0x%x", 0xf0000000u + i);
		change_line(caps, key, value);
	}
	snprintf(name, sizeof(name), "caps:%s", caps);
	OK(cnnrt_device_open(name, 0, &dev, &rt_err));
	OK(cnnrt_device_core(dev, 0, &core, &rt_err));
	assert_string_equal(core.name, "npu-2");
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(core.param[i], 0xf0000000u + i);
	OK(cnnrt_compile(n.model, dev, NULL, &p, &rt_err));
	OK(cnnrt_program_estimate(p, &est, &rt_err));
	assert_int_equal(est.macs_core[0], 0);
	cnnrt_program_free(p);
	cnnrt_device_close(dev);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		change_line(caps, "core0.name", bad[i]);
		FAILS(CNNRT_EINVAL, "name has a value that is not a device's",
		      cnnrt_device_open(name, 0, &dev, &rt_err));
	}
	unlink(caps);
	rt_close(&n);
}

static void test_bad_caps(void **state)
{
	struct cnnrt_device *dev;
	char path[32];

	(void)state;
	temporary(path);
	FAILS(CNNRT_EFILE, "/nowhere/x", cnnrt_device_open("caps:/nowhere/x", 0, &dev, &rt_err));
	refuse_caps(path, "", "hw_version is missing");
	refuse_caps(path, "# x\nhw_version", "line 2: no \"=\"");
	refuse_caps(path, "hw_version=1\nhw_version=1", "line 2: a key that was given before");
	refuse_caps(path, "hw_version=-1", "no number");
	refuse_caps(path, "hw_version=0x100000000", "too large");
	refuse_caps(path, "core8.type=1", "above the highest");
	refuse_caps(path, "core0.name=longname", "line 1: a name that is too long");
	refuse_caps(path, "core0.param16=1", "unknown key");
	refuse_caps(path, "core0.nonsense=1", "unknown key");
	refuse_caps(path, "hw_version=1\nfeatures=0\nclock_hz=1\nva_bits=32\npage_size=4096\n"
		    "max_contexts=1\nmax_tasks=1\nmax_bo_size=1\ncore_count=1\n",
		    "core0.name is missing");
	refuse_caps(path, "hw_version=1\nfeatures=0\nclock_hz=1\nva_bits=32\npage_size=4096\n"
		    "max_contexts=1\nmax_tasks=1\nmax_bo_size=1\ncore_count=0\n",
		    "core_count has a value that is not a device's");
	FAILS(CNNRT_EFILE, "not a regular file",
	      cnnrt_device_open("caps:/dev/zero", 0, &dev, &rt_err));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	FAILS(CNNRT_EFILE, "not a regular file",
	      cnnrt_model_load(path, &(struct cnnrt_model *){ NULL }, &rt_err));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_other_devices),
		cmocka_unit_test(test_other_core),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_bad_target),
		cmocka_unit_test(test_calibrate),
		cmocka_unit_test(test_unknown_core),
		cmocka_unit_test(test_bad_caps),
		cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests_name("rt_program", tests, NULL, NULL);
}
