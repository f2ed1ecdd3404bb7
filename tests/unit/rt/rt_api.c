/* SPDX-License-Identifier: MIT */
/* Devices, models, programs, buffers: what works and what is refused, with which words. */
#include "rt_programs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void test_words(void **state)
{
	(void)state;
	assert_string_equal(cnnrt_strerror(CNNRT_OK), "success");
	for (int c = CNNRT_OK; c >= CNNRT_ESYSTEM; c--)
		assert_string_not_equal(cnnrt_strerror(c), cnnrt_strerror(1));
	assert_string_equal(cnnrt_strerror(-1000), cnnrt_strerror(1));
	assert_non_null(strchr(cnnrt_version(), '.'));
}

static void test_free_null(void **state)
{
	(void)state;
	cnnrt_device_close(NULL);
	cnnrt_model_free(NULL);
	cnnrt_program_free(NULL);
	cnnrt_context_destroy(NULL);
	cnnrt_buffer_free(NULL);
	cnnrt_job_free(NULL);
}

static void test_open_errors(void **state)
{
	struct cnnrt_device *dev = NULL;

	(void)state;
	FAILS(CNNRT_EINVAL, "no-such", cnnrt_device_open("sim:no-such=1", 0, &dev, &rt_err));
	FAILS(CNNRT_EINVAL, "\"more\" has no value: write KEY=VALUE, and cores=NAME+NAME",
	      cnnrt_device_open("sim:cores=ccp,more", 0, &dev, &rt_err));
	FAILS(CNNRT_EINVAL, "lob", cnnrt_device_open("sim:cores=ccp:lob=0", 0, &dev, &rt_err));
	FAILS(CNNRT_EINVAL, "flags", cnnrt_device_open("sim", 0x80, &dev, &rt_err));
	FAILS(CNNRT_ENODEV, "/dev/null", cnnrt_device_open("/dev/null", 0, &dev, &rt_err));
	FAILS(CNNRT_ENODEV, "not a device node", cnnrt_device_open("/", 0, &dev, &rt_err));
	FAILS(CNNRT_ENODEV, "/dev/accel/accel77",
	      cnnrt_device_open("/dev/accel/accel77", 0, &dev, &rt_err));
	assert_null(dev);
	/* Nobody need want the words. */
	assert_int_equal(cnnrt_device_open("/", 0, &dev, NULL), CNNRT_ENODEV);
}

/* The parameters of a core are those of its entry in the discovery table. */
static void check_params(struct cnnrt_device *dev, const struct cnnrt_core_info *core,
			 uint32_t index)
{
	const size_t params = offsetof(struct cnnacc_core_entry, param);
	uint32_t table, value;

	OK(cnnrt_device_reg_read(dev, CNNACC_REG_CORE_TABLE, &table, &rt_err));
	table += index * CNNACC_CORE_ENTRY_SIZE;
	for (uint32_t i = 0; i < sizeof(core->param) / sizeof(core->param[0]); i++) {
		OK(cnnrt_device_reg_read(dev, table + (uint32_t)params + 4 * i, &value, &rt_err));
		assert_int_equal(core->param[i], value);
	}
}

static void check_registers(struct cnnrt_device *dev)
{
	uint32_t value;

	OK(cnnrt_device_reg_read(dev, CNNACC_REG_MAGIC, &value, &rt_err));
	assert_int_equal(value, CNNACC_MAGIC);
	OK(cnnrt_device_reg_write(dev, CNNACC_REG_SCRATCH, 0x12345678, &rt_err));
	OK(cnnrt_device_reg_read(dev, CNNACC_REG_SCRATCH, &value, &rt_err));
	assert_int_equal(value, 0x12345678);
	FAILS(CNNRT_EINVAL, "0x2", cnnrt_device_reg_read(dev, 2, &value, &rt_err));
	FAILS(CNNRT_EINVAL, "0x10000", cnnrt_device_reg_write(dev, CNNACC_REGS_SIZE, 0, &rt_err));
}

static void test_device(void **state)
{
	struct cnnrt_device_info info = { .struct_size = sizeof(info) };
	struct cnnrt_core_info core = { .struct_size = sizeof(core) };
	struct cnnrt_core_info small = { .struct_size = sizeof(small) };
	const struct core_programs *p = core_programs_at(0);
	struct cnnrt_device *dev;
	char device[256];

	(void)state;
	snprintf(device, sizeof(device), "sim:cores=%s+%s,clock-hz=50000000", p->small, p->name);
	OK(cnnrt_device_open(device, 0, &dev, &rt_err));
	OK(cnnrt_device_info(dev, &info, &rt_err));
	assert_int_equal(info.core_count, 2);
	assert_int_equal(info.clock_hz, 50000000);
	assert_string_equal(info.driver, "in-process");
	OK(cnnrt_device_core(dev, 0, &small, &rt_err));
	assert_string_equal(small.name, p->name);
	check_params(dev, &small, 0);
	OK(cnnrt_device_core(dev, 1, &core, &rt_err));
	check_params(dev, &core, 1);
	assert_memory_not_equal(core.param, small.param, sizeof(core.param));
	FAILS(CNNRT_EINVAL, "cores 0..1", cnnrt_device_core(dev, 2, &core, &rt_err));
	assert_int_equal(cnnrt_device_fd(dev), -1);
	check_registers(dev);
	cnnrt_device_close(dev);
}

/* The name of kind @kind of core, if it is not negative, then @rest. */
struct core_name {
	int kind;
	const char *rest;
	uint32_t cores;		/* that it stands for; 0: none */
};

static const struct core_name core_names[] = {
	{ 0, "", 5 }, { 1, "", 2 }, { 0, ".0", 1 }, { 0, ".2", 4 }, { 1, ".1", 2 },
	{ -1, "0", 1 }, { -1, "2", 4 }, { -1, "", 0 }, { -1, ".", 0 }, { -1, "npu", 0 },
	{ 0, ".", 0 }, { 0, ".1", 0 }, { 0, ".3", 0 }, { 1, ".0", 0 }, { 0, ".00", 0 },
	{ 0, ".0.0", 0 }, { -1, "3", 0 }, { -1, "-1", 0 }, { -1, "0x0", 0 }, { -1, "00", 0 },
	{ -1, ".0", 0 }, { 0, " 0", 0 }, { -1, "1 ", 0 }, { 0, "x", 0 },
};

/* Of a device that has the first, the second and the first kind. */
static void test_find_cores(void **state)
{
	const char *first = core_programs_at(0)->name, *second = core_programs_at(1)->name;
	char text[64], has[64];
	struct cnnrt_device *dev;
	uint32_t cores;

	(void)state;
	snprintf(text, sizeof(text), "sim:cores=%s+%s+%s", first, second, first);
	snprintf(has, sizeof(has), "it has %s.0, %s.1, %s.2", first, second, first);
	OK(cnnrt_device_open(text, 0, &dev, &rt_err));
	for (size_t i = 0; i < sizeof(core_names) / sizeof(core_names[0]); i++) {
		const struct core_name *n = &core_names[i];

		snprintf(text, sizeof(text), "%s%s",
			 n->kind < 0 ? "" : n->kind ? second : first, n->rest);
		cores = 77;
		if (n->cores) {
			OK(cnnrt_device_find_cores(dev, text, &cores, &rt_err));
			assert_int_equal(cores, n->cores);
			continue;
		}
		FAILS(CNNRT_EINVAL, has, cnnrt_device_find_cores(dev, text, &cores, &rt_err));
		assert_int_equal(cores, 77);
	}
	/* A part of a name. */
	snprintf(text, sizeof(text), "%.*s", (int)strlen(first) - 1, first);
	FAILS(CNNRT_EINVAL, has, cnnrt_device_find_cores(dev, text, &cores, &rt_err));
	cnnrt_device_close(dev);
}

/* ---- struct_size ----------------------------------------------------------------------- */

/* A struct of a newer caller, with fields that the library does not have. */
#define NEWER(type) \
	union { \
		struct type s; \
		uint8_t bytes[sizeof(struct type) + 24]; \
	}

static bool is_all(const uint8_t *bytes, size_t size, uint8_t value)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* Too short, or as long as memory that nobody set; then a newer one, which is filled with 0. */
#define CHECK_FILLED(type, call) do { \
	static const size_t sizes[] = { 0, 8, 4097, SIZE_MAX }; \
	NEWER(type) u; \
	struct type *s = &u.s; \
	for (size_t i_ = 0; i_ < sizeof(sizes) / sizeof(sizes[0]); i_++) { \
		memset(&u, 0xa5, sizeof(u)); \
		s->struct_size = sizes[i_]; \
		FAILS(CNNRT_EINVAL, "struct " #type ": struct_size is", call); \
		assert_true(is_all(u.bytes + 8, sizeof(u) - 8, 0xa5)); \
	} \
	s->struct_size = sizeof(u); \
	OK(call); \
	assert_int_equal(s->struct_size, sizeof(u)); \
	assert_true(is_all(u.bytes + sizeof(struct type), 24, 0)); \
} while (0)

/* A newer one may have only zeros in the fields that the library does not have. */
#define CHECK_READ(type, call) do { \
	NEWER(type) u = { .s = { .struct_size = 8 } }; \
	struct type *s = &u.s; \
	FAILS(CNNRT_EINVAL, "struct " #type ": struct_size is 8", call); \
	s->struct_size = sizeof(u); \
	u.bytes[sizeof(u) - 1] = 1; \
	FAILS(CNNRT_EINVAL, "struct " #type ": a field", call); \
	u.bytes[sizeof(u) - 1] = 0; \
	OK(call); \
} while (0)

static void check_filled(struct rt_net *n, struct cnnrt_job *job)
{
	CHECK_FILLED(cnnrt_device_info, cnnrt_device_info(n->dev, s, &rt_err));
	CHECK_FILLED(cnnrt_core_info, cnnrt_device_core(n->dev, 0, s, &rt_err));
	CHECK_FILLED(cnnrt_tensor_info, cnnrt_model_io(n->model, CNNRT_INPUT, 0, s, &rt_err));
	CHECK_FILLED(cnnrt_tensor_info, cnnrt_program_io(n->program, CNNRT_OUTPUT, 0, s, &rt_err));
	CHECK_FILLED(cnnrt_tensor_info, cnnrt_job_map(job, CNNRT_INPUT, 0, s, NULL, &rt_err));
	CHECK_FILLED(cnnrt_estimate, cnnrt_program_estimate(n->program, s, &rt_err));
	CHECK_FILLED(cnnrt_job_status, cnnrt_job_status(job, s, &rt_err));
}

static int compile_and_free(struct rt_net *n, const struct cnnrt_compile_options *o)
{
	struct cnnrt_program *p;
	int ret = cnnrt_compile(n->model, n->dev, o, &p, &rt_err);

	if (!ret)
		cnnrt_program_free(p);
	return ret;
}

static int load_and_free(struct rt_net *n, const char *path, const struct cnnrt_load_options *o)
{
	struct cnnrt_program *p;
	int ret = cnnrt_program_load(path, n->dev, o, &p, &rt_err);

	if (!ret)
		cnnrt_program_free(p);
	return ret;
}

static int exec_nop(struct rt_net *n, const struct cnnrt_exec *from, size_t range_size)
{
	uint32_t nop[CORE_PROGRAM_MAX / 4];
	struct cnnrt_job_status status = { .struct_size = sizeof(status) };
	struct cnnrt_range r[2] = {
		{ .va = 0xf0000000u, .size = rt_programs(n->dev)->nop(nop),
		  .flags = CNNRT_MAP_EXEC, .in = nop },
	};
	NEWER(cnnrt_exec) u;

	memcpy(&u, from, from->struct_size < sizeof(u) ? from->struct_size : sizeof(u));
	u.s.program_va = 0xf0000000u;
	u.s.program_size = r[0].size;
	u.s.timeout_ns = -1;
	u.s.ranges = r;
	u.s.range_count = 1;
	u.s.range_size = range_size;
	return cnnrt_exec(n->dev, &u.s, &status, NULL, &rt_err);
}

static void test_struct_sizes(void **state)
{
	char path[] = "/tmp/rt_api-XXXXXX";
	struct cnnrt_compare_options compare = { .struct_size = 8 };
	struct cnnrt_job_status status = { .struct_size = 8 };
	struct cnnrt_exec exec = { .struct_size = sizeof(exec) };
	struct rt_net n;
	struct cnnrt_job *job;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	close(mkstemp(path));
	OK(cnnrt_job_create(n.ctx, n.program, &job, &rt_err));
	OK(cnnrt_program_save(n.program, path, &rt_err));
	check_filled(&n, job);
	CHECK_READ(cnnrt_compile_options, compile_and_free(&n, s));
	CHECK_READ(cnnrt_load_options, load_and_free(&n, path, s));
	CHECK_READ(cnnrt_exec, exec_nop(&n, s, sizeof(struct cnnrt_range)));
	FAILS(CNNRT_EINVAL, "struct cnnrt_compare_options: struct_size is 8",
	      cnnrt_compare(job, &compare, NULL, NULL, &rt_err));
	FAILS(CNNRT_EINVAL, "struct cnnrt_job_status: struct_size is 8",
	      cnnrt_status_describe(core_programs_at(0)->name, &status, &rt_err));
	FAILS(CNNRT_EINVAL, "range_size is 0", exec_nop(&n, &exec, 0));
	OK(exec_nop(&n, &exec, 2 * sizeof(struct cnnrt_range)));
	unlink(path);
	cnnrt_job_free(job);
	rt_close(&n);
}

/* A program that was built when the structs ended earlier: what lies behind is not the library's. */
static void test_older_structs(void **state)
{
	struct cnnrt_compile_options opt = { 0 };
	struct cnnrt_core_info core;
	struct cnnrt_estimate est;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	core = rt_first_core(n.dev);
	opt.core = core.name;
	opt.struct_size = offsetof(struct cnnrt_compile_options, progress);
	opt.progress = (void (*)(unsigned int, unsigned int, void *))(uintptr_t)1;
	OK(compile_and_free(&n, &opt));
	memset(&est, 0xa5, sizeof(est));
	est.struct_size = offsetof(struct cnnrt_estimate, conversions);
	OK(cnnrt_program_estimate(n.program, &est, &rt_err));
	assert_int_equal(est.tasks, 1);
	assert_true(is_all((uint8_t *)&est.conversions, sizeof(est) - est.struct_size, 0xa5));
	rt_close(&n);
}

static void count_report(const char *test, const char *failure, void *opaque)
{
	assert_true(strlen(test) > 0);
	assert_string_equal(failure, "");
	++*(int *)opaque;
}

static void test_selftest(void **state)
{
	struct cnnrt_device *dev;
	int count = 0;

	(void)state;
	OK(cnnrt_device_open("sim:cores=ccp+ccp", 0, &dev, &rt_err));
	assert_int_equal(cnnrt_device_selftest(dev, count_report, &count, &rt_err), 0);
	assert_int_equal(count, 11);
	cnnrt_device_close(dev);
}

static void test_model_errors(void **state)
{
	struct cnnrt_model *model = NULL;
	struct cnnrt_tensor_info info = { .struct_size = sizeof(info) };
	int64_t dims[4] = { 1, 1, 28, 28 };
	float data[4] = { 0 };

	(void)state;
	FAILS(CNNRT_EFILE, "/nowhere", cnnrt_model_load("/nowhere", &model, &rt_err));
	FAILS(CNNRT_EFILE, "regular", cnnrt_model_load("/", &model, &rt_err));
	assert_int_not_equal(cnnrt_model_load_buffer("rubbish", 7, NULL, &model, &rt_err), 0);
	assert_int_not_equal(cnnrt_model_load_buffer(NULL, 0, NULL, &model, &rt_err), 0);
	assert_null(model);

	OK(cnnrt_model_load(rt_model_path("RT_DIGITS"), &model, &rt_err));
	assert_int_equal(cnnrt_model_io_count(model, CNNRT_INPUT), 1);
	assert_int_equal(cnnrt_model_io_count(model, CNNRT_OUTPUT), 1);
	OK(cnnrt_model_io(model, CNNRT_INPUT, 0, &info, &rt_err));
	assert_int_equal(info.type, CNNRT_FLOAT32);
	assert_int_equal(info.rank, 4);
	assert_int_equal(info.size, 28 * 28 * 4);
	FAILS(CNNRT_EINVAL, "output 1", cnnrt_model_io(model, CNNRT_OUTPUT, 1, &info, &rt_err));
	FAILS(CNNRT_EINVAL, "direction 7",
	      cnnrt_model_io(model, (enum cnnrt_direction)7, 0, &info, &rt_err));
	OK(cnnrt_model_set_input_shape(model, 0, 4, dims, &rt_err));
	dims[2] = 27;
	FAILS(CNNRT_EINVAL, "dimension 2",
	      cnnrt_model_set_input_shape(model, 0, 4, dims, &rt_err));
	FAILS(CNNRT_EINVAL, "rank", cnnrt_model_set_input_shape(model, 0, 3, dims, &rt_err));
	FAILS(CNNRT_EINVAL, "rank", cnnrt_model_set_input_shape(model, 0, -1, dims, &rt_err));
	FAILS(CNNRT_EINVAL, "input 1", cnnrt_model_set_input_shape(model, 1, 4, dims, &rt_err));
	dims[2] = 28;
	FAILS(CNNRT_EINVAL, "bytes",
	      cnnrt_model_set_input_data(model, 0, 4, dims, data, sizeof(data), &rt_err));
	cnnrt_model_free(model);
}

struct noted {
	struct cnnrt_core_info core;	/* the only one */
	uint64_t macs;			/* on it */
};

static void note_op(const struct cnnrt_op_report *op, void *opaque)
{
	struct noted *noted = opaque;

	assert_true(strlen(op->op) > 0 && strlen(op->reason) > 0);
	assert_string_equal(op->place, op->core < 0 ? "cpu" : noted->core.name);
	if (op->core >= 0)
		noted->macs += op->macs;
}

static void test_compile(void **state)
{
	struct cnnrt_compile_options opt = { .struct_size = sizeof(opt), .core = "npu" };
	struct cnnrt_program *cpu;
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct noted noted = { .macs = 0 };
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_MIXED");
	noted.core = rt_first_core(n.dev);
	cnnrt_program_explain(n.program, note_op, &noted);
	OK(cnnrt_program_estimate(n.program, &est, &rt_err));
	assert_true(est.macs_device > 0);
	assert_int_equal(est.macs_device, noted.macs);
	assert_int_equal(est.macs_core[0], noted.macs);
	assert_true(est.ops_device > 0 && est.ops_device < est.ops_total);
	FAILS(CNNRT_EINVAL, "npu", cnnrt_compile(n.model, n.dev, &opt, &cpu, &rt_err));
	opt.core = noted.core.name;
	opt.cpu_only = true;
	FAILS(CNNRT_EINVAL, "cpu_only", cnnrt_compile(n.model, n.dev, &opt, &cpu, &rt_err));
	opt.core = NULL;
	OK(cnnrt_compile(n.model, n.dev, &opt, &cpu, &rt_err));
	OK(cnnrt_program_estimate(cpu, &est, &rt_err));
	assert_int_equal(est.macs_device, 0);
	assert_int_equal(est.tasks, 0);
	cnnrt_program_free(cpu);
	rt_close(&n);
}

static void note_progress(unsigned int done, unsigned int total, void *opaque)
{
	unsigned int *last = opaque;

	assert_true(done >= last[0] && done <= total);
	last[0] = done;
	last[1] = total;
	last[2]++;
}

static void test_progress(void **state)
{
	unsigned int last[3] = { 0 };
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .progress = note_progress, .opaque = last,
	};
	struct cnnrt_program *p;
	struct cnnrt_estimate est = { .struct_size = sizeof(est) };
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_MIXED");
	OK(cnnrt_compile(n.model, n.dev, &opt, &p, &rt_err));
	OK(cnnrt_program_estimate(p, &est, &rt_err));
	assert_true(last[1] > 0);
	assert_int_equal(last[0], last[1]);
	/* Often enough for a line that moves. */
	assert_true(last[2] >= est.ops_total);
	cnnrt_program_free(p);
	rt_close(&n);
}

/* Enough for every value, but not for all of one job's. */
static void test_memory_limit(void **state)
{
	struct cnnrt_compile_options opt = {
		.struct_size = sizeof(opt), .cpu_only = true, .max_memory = 30000,
	};
	struct cnnrt_program *cpu;
	struct cnnrt_job *job;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_compile(n.model, n.dev, &opt, &cpu, &rt_err));
	FAILS(CNNRT_ELIMIT, "over the limit of 30000",
	      cnnrt_job_create(n.ctx, cpu, &job, &rt_err));
	cnnrt_program_free(cpu);
	rt_close(&n);
}

static void test_constant_input(void **state)
{
	int64_t dims[4] = { 1, 1, 28, 28 };
	static float x[28 * 28], y[10];
	struct cnnrt_program *frozen;
	struct cnnrt_job *job;
	struct rt_net n;
	size_t size;
	float *want;
	void *mem;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	want = rt_answer(&n, 3, &size);
	rt_fill(x, sizeof(x), 3);
	OK(cnnrt_model_set_input_data(n.model, 0, 4, dims, x, sizeof(x), &rt_err));
	OK(cnnrt_compile(n.model, n.dev, NULL, &frozen, &rt_err));
	OK(cnnrt_run(n.ctx, frozen, (const void *[]){ NULL }, (void *[]){ y }, &rt_err));
	for (int i = 0; i < 10; i++)
		assert_true(y[i] - want[i] < 1e-3f && want[i] - y[i] < 1e-3f);
	OK(cnnrt_job_create(n.ctx, frozen, &job, &rt_err));
	FAILS(CNNRT_EINVAL, "constant",
	      cnnrt_job_map(job, CNNRT_INPUT, 0, NULL, &mem, &rt_err));
	cnnrt_job_free(job);
	free(want);
	cnnrt_program_free(frozen);
	rt_close(&n);
}

static void test_other_device(void **state)
{
	struct cnnrt_context *ctx;
	struct cnnrt_device *dev;
	struct cnnrt_job *job;
	struct rt_net n;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	OK(cnnrt_device_open("sim:cores=ccp:lob=64", 0, &dev, &rt_err));
	OK(cnnrt_context_create(dev, CNNRT_PRIORITY_LOW, &ctx, &rt_err));
	FAILS(CNNRT_EINVAL, "other cores", cnnrt_job_create(ctx, n.program, &job, &rt_err));
	cnnrt_context_destroy(ctx);
	FAILS(CNNRT_EINVAL, "priority", cnnrt_context_create(dev, 3, &ctx, &rt_err));
	cnnrt_device_close(dev);
	rt_close(&n);
}

static int make_memfd(off_t size, bool seal)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	if (seal)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

/* It does not depend on the buffer that it was imported from. */
static void use_twin(struct rt_net *n, struct cnnrt_buffer *twin)
{
	size_t size;
	float *want = rt_answer(n, 5, &size);
	struct cnnrt_buffer *again;
	struct cnnrt_job *job;
	void *mem;
	int fd;

	OK(cnnrt_buffer_export(twin, &fd, &rt_err));
	OK(cnnrt_buffer_import(n->ctx, fd, &again, &rt_err));
	close(fd);
	OK(cnnrt_buffer_map(again, &mem, &rt_err));
	rt_fill(mem, 28 * 28 * sizeof(float), 5);
	OK(cnnrt_job_create(n->ctx, n->program, &job, &rt_err));
	OK(cnnrt_job_bind(job, CNNRT_INPUT, 0, twin, 0, &rt_err));
	OK(cnnrt_buffer_sync(twin, CNNRT_SYNC_FOR_DEVICE, &rt_err));
	cnnrt_buffer_free(again);
	OK(cnnrt_job_submit(job, -1, NULL, &rt_err));
	OK(cnnrt_job_wait(job, -1, &rt_err));
	rt_check_output(job, want, size);
	cnnrt_job_free(job);
	free(want);
}

static void test_buffers(void **state)
{
	struct cnnrt_buffer *buf, *twin;
	struct rt_net n;
	FILE *file;
	uint8_t *a, *b;
	void *p, *q;
	int fd;

	(void)state;
	rt_open(&n, "RT_DIGITS");
	assert_int_not_equal(cnnrt_buffer_create(n.ctx, 0, &buf, &rt_err), 0);
	assert_int_not_equal(cnnrt_buffer_create(n.ctx, (size_t)1 << 40, &buf, &rt_err), 0);
	OK(cnnrt_buffer_create(n.ctx, 5000, &buf, &rt_err));
	assert_int_equal(cnnrt_buffer_size(buf), 8192);
	OK(cnnrt_buffer_map(buf, &p, &rt_err));
	a = p;
	for (int i = 0; i < 8192; i++)
		assert_int_equal(a[i], 0);
	OK(cnnrt_buffer_map(buf, &q, &rt_err));
	assert_ptr_equal(p, q);
	OK(cnnrt_buffer_export(buf, &fd, &rt_err));
	OK(cnnrt_buffer_import(n.ctx, fd, &twin, &rt_err));
	close(fd);
	OK(cnnrt_buffer_map(twin, &q, &rt_err));
	b = q;
	a[100] = 77;
	assert_int_equal(b[100], 77);
	OK(cnnrt_buffer_sync(buf, CNNRT_SYNC_FOR_DEVICE, &rt_err));
	FAILS(CNNRT_EINVAL, "sync", cnnrt_buffer_sync(buf, 0, &rt_err));
	cnnrt_buffer_free(buf);
	assert_int_equal(b[100], 77);
	use_twin(&n, twin);
	cnnrt_buffer_free(twin);

	fd = make_memfd(4096, false);
	FAILS(CNNRT_EINVAL, "import", cnnrt_buffer_import(n.ctx, fd, &buf, &rt_err));
	close(fd);
	fd = make_memfd(4095, true);
	FAILS(CNNRT_EINVAL, "import", cnnrt_buffer_import(n.ctx, fd, &buf, &rt_err));
	close(fd);
	assert_int_not_equal(cnnrt_buffer_import(n.ctx, -1, &buf, &rt_err), 0);
	/* Whole pages, but anybody may cut them off. */
	file = tmpfile();
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 4096), 0);
	FAILS(CNNRT_EINVAL, "import", cnnrt_buffer_import(n.ctx, fileno(file), &buf, &rt_err));
	fclose(file);
	rt_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_free_null),
		cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_find_cores),
		cmocka_unit_test(test_struct_sizes),
		cmocka_unit_test(test_older_structs),
		cmocka_unit_test(test_selftest),
		cmocka_unit_test(test_model_errors),
		cmocka_unit_test(test_compile),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_constant_input),
		cmocka_unit_test(test_other_device),
		cmocka_unit_test(test_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
