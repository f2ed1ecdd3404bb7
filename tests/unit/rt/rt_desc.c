/* SPDX-License-Identifier: MIT */
/* The descriptions of cores: against the device's own tables, and of cores that have none. */
#include "core_programs.h"
#include "rt.h"

#include "backend/desc.h"

enum { DEFAULT, SMALL, TINY, BACKWARDS, CASES };

/*
 * Devices with all cores, of which there are @count: as they are; with small memories; with the
 * smallest and a limit of cycles; from the last to the first, then the last again.
 */
static unsigned int write_device(unsigned int number, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "sim:cores=");
	unsigned int kinds = 0, count;

	while (core_programs_at(kinds))
		kinds++;
	count = kinds + (number == BACKWARDS);
	for (unsigned int i = 0; i < count; i++) {
		const struct core_programs *p =
			core_programs_at(number == BACKWARDS ? kinds - 1 - i % kinds : i);
		const char *const builds[CASES] = { p->name, p->small, p->tiny, p->name };

		n += (size_t)snprintf(text + n, size - n, "%s%s%s", i ? "+" : "", builds[number],
				      number == TINY ? ":job-cycles-max=0x123456789" : "");
		assert_true(n < size);
	}
	return count;
}

static struct cnnacc_core_entry entry_of(const struct cnnrt_core_info *c)
{
	struct cnnacc_core_entry e = {
		.type = c->type, .program_max = c->program_max,
		.job_cycles_max_lo = (uint32_t)c->job_cycles_max,
		.job_cycles_max_hi = (uint32_t)(c->job_cycles_max >> 32),
	};

	memcpy(e.name, c->name, sizeof(e.name));
	memcpy(e.param, c->param, sizeof(e.param));
	return e;
}

/* The property that the description makes builds the same core again. */
static void check_property(struct cnnrt_device *dev, unsigned int core)
{
	struct cnnrt_core_info want = { .struct_size = sizeof(want) };
	struct cnnrt_core_info got = { .struct_size = sizeof(got) };
	struct cnnacc_core_entry entry;
	struct cnnrt_device *again;
	char name[256] = "sim:cores=";
	size_t n = strlen(name);

	OK(cnnrt_device_core(dev, core, &want, &rt_err));
	entry = entry_of(&want);
	assert_true(cnn_desc_property(&entry, name + n, sizeof(name) - n));
	for (size_t len = 1; len <= strlen(name + n); len++) {
		char small[256];

		assert_false(cnn_desc_property(&entry, small, len));
	}
	OK(cnnrt_device_open(name, 0, &again, &rt_err));
	OK(cnnrt_device_core(again, 0, &got, &rt_err));
	assert_string_equal(got.name, want.name);
	assert_int_equal(got.program_max, want.program_max);
	assert_int_equal(got.job_cycles_max, want.job_cycles_max);
	assert_memory_equal(got.param, want.param, sizeof(got.param));
	cnnrt_device_close(again);
}

static void test_property(void **state)
{
	struct cnnrt_device *dev;
	char device[512];

	(void)state;
	for (unsigned int i = 0; i < CASES; i++) {
		unsigned int count = write_device(i, device, sizeof(device));

		OK(cnnrt_device_open(device, 0, &dev, &rt_err));
		for (unsigned int c = 0; c < count; c++)
			check_property(dev, c);
		cnnrt_device_close(dev);
	}
}

static void count_test(const char *test, const char *failure, void *opaque)
{
	if (*failure)
		print_message("%s: %s\n", test, failure);
	assert_string_equal(failure, "");
	++*(unsigned int *)opaque;
}

/*
 * Every core has programs, also in small memories, and every answer is right.  The smallest program
 * memories do not hold them.
 */
static void test_selftest(void **state)
{
	char device[512];

	(void)state;
	for (unsigned int i = 0; i < CASES; i++) {
		struct cnnrt_device_info info = { .struct_size = sizeof(info) };
		struct cnnrt_core_info core = { .struct_size = sizeof(core) };
		struct cnnrt_device *dev;
		unsigned int count = 0, want = 1;

		if (i == TINY)
			continue;
		write_device(i, device, sizeof(device));
		OK(cnnrt_device_open(device, 0, &dev, &rt_err));
		OK(cnnrt_device_info(dev, &info, &rt_err));
		for (unsigned int c = 0; c < info.core_count; c++) {
			OK(cnnrt_device_core(dev, c, &core, &rt_err));
			assert_true(cnn_core_desc(core.name)->n_tests > 0);
			want += (unsigned int)cnn_core_desc(core.name)->n_tests;
		}
		assert_int_equal(cnnrt_device_selftest(dev, count_test, &count, &rt_err), 0);
		assert_int_equal(count, want);
		cnnrt_device_close(dev);
	}
}

static void describe(const char *core, struct cnnrt_job_status *s, const char *want)
{
	OK(cnnrt_status_describe(core, s, &rt_err));
	assert_string_equal(s->text, want);
}

static void test_status(void **state)
{
	struct cnnrt_job_status s = { .struct_size = sizeof(s), .pc = 9 };
	const struct core_programs *p;

	(void)state;
	for (size_t i = 0; (p = core_programs_at(i)); i++) {
		assert_true(p->text_count > 0);
		for (size_t t = 0; t < p->text_count; t++) {
			s.status_class = p->texts[t].status_class;
			s.status_code = p->texts[t].status_code;
			s.detail = p->texts[t].detail;
			describe(p->name, &s, p->texts[t].text);
		}
	}
	s.status_class = CNNACC_STATUS_CONFIG;
	s.status_code = 35;
	s.detail = 6;
	describe("npu", &s, "CONFIG (unknown) at instruction 9");
	s.status_class = CNNACC_STATUS_BAD_PROGRAM;
	s.status_code = CNNACC_CODE_PACKET;
	s.detail = CNNACC_PACKET_BAD_LIMIT;
	describe("npu", &s, "BAD_PROGRAM (PACKET) at instruction 9: bad cycle limit");
}

static void test_unknown(void **state)
{
	struct cnnacc_core_entry entry = { .name = "npu" };
	char text[64];

	(void)state;
	assert_null(cnn_core_desc("npu"));
	assert_null(cnn_core_desc(""));
	assert_null(cnn_desc_code(NULL, 16));
	assert_null(cnn_desc_detail(NULL, 16, 1));
	assert_false(cnn_desc_reg(NULL, 0, NULL, NULL));
	assert_false(cnn_desc_property(&entry, text, sizeof(text)));
}

/* An instruction is text whatever its words are, and no longer than there is room. */
static void test_decode(void **state)
{
	const struct core_programs *p;
	uint32_t insn[CNN_DESC_INSN_WORDS_MAX];
	char text[256];

	(void)state;
	for (size_t core = 0; (p = core_programs_at(core)); core++) {
		const struct cnn_core_desc *desc = cnn_core_desc(p->name);

		assert_true(desc->insn_words <= CNN_DESC_INSN_WORDS_MAX);
		for (uint32_t i = 0; i < 20000; i++) {
			size_t len = 1 + i % (sizeof(text) - 1);

			for (unsigned int w = 0; w < CNN_DESC_INSN_WORDS_MAX; w++)
				insn[w] = (i + w) * 0x9e3779b1u ^ i << 25;
			insn[0] = i % 3 ? insn[0] & 0xffffff07 : insn[0];
			memset(text, 0x55, sizeof(text));
			desc->decode(insn, text, len);
			assert_true(strnlen(text, len) < len);
			assert_int_equal(text[len], 0x55);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_property), cmocka_unit_test(test_selftest),
		cmocka_unit_test(test_status),	 cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_decode),
	};

	return cmocka_run_group_tests_name("rt_desc", tests, NULL, NULL);
}
