/* SPDX-License-Identifier: MIT */
/* Small programs with known answers, for a user who asks whether the device works at all. */
#include "base/base.h"

#include <cnnacc_hw.h>
#include <cnnacc_ccp.h>

#include <stdio.h>
#include <string.h>

#define SRC_VA		0x1000u
#define DST_VA		0x2000u
#define NOWHERE_VA	0x40000000u
#define PROGRAM_VA	0xf0000000u
#define WORDS		(CNNACC_LINE_SIZE / 4)

/* A test of one core: a program and how it must end. */
struct program_test {
	const char *name;
	uint32_t core_type;
	uint32_t code[16];
	uint16_t status_class, status_code;
	uint32_t pc;
	uint64_t va;
	bool copies;	/* the line at SRC_VA must be at DST_VA afterwards */
	uint64_t cycle_limit;
};

#define LINE_IN_R(reg, va) \
	CNNACC_CCP_INSN_LDI(reg, (va) / 64), CNNACC_CCP_INSN_LDIH(reg, ((va) / 64) >> 16)

static const struct program_test tests[] = {
	{
		.name = "copy a line through the read bank",
		.core_type = CNNACC_CORE_CCP,
		.code = {
			LINE_IN_R(1, SRC_VA), CNNACC_CCP_INSN_LDI(2, 1),
			CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
			LINE_IN_R(3, DST_VA),
			CNNACC_CCP_INSN_STORE(3, 2, 0, CNNACC_CCP_TGT_READ_BANK),
		},
		.copies = true,
	}, {
		.name = "copy a line and swap the banks",
		.core_type = CNNACC_CORE_CCP,
		.code = {
			LINE_IN_R(1, SRC_VA), CNNACC_CCP_INSN_LDI(2, 1),
			CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
			CNNACC_CCP_INSN_SWAP, LINE_IN_R(3, DST_VA),
			CNNACC_CCP_INSN_STORE(3, 2, 0, CNNACC_CCP_TGT_WRITE_BANK),
		},
		.copies = true,
	}, {
		.name = "an illegal instruction is refused",
		.core_type = CNNACC_CORE_CCP,
		.code = { CNNACC_CCP_INSN_SWAP, 0xf0000000u },
		.status_class = CNNACC_STATUS_BAD_PROGRAM, .status_code = CNNACC_CCP_E_ILLEGAL,
		.pc = 1,
	}, {
		.name = "an access to nowhere faults",
		.core_type = CNNACC_CORE_CCP,
		.code = {
			LINE_IN_R(1, NOWHERE_VA), CNNACC_CCP_INSN_LDI(2, 1),
			CNNACC_CCP_INSN_LOAD(1, 2, 0, CNNACC_CCP_TGT_READ_BANK),
		},
		.status_class = CNNACC_STATUS_MMU_FAULT, .status_code = CNNACC_CCP_E_DMA,
		.pc = 3, .va = NOWHERE_VA,
	}, {
		.name = "an endless loop meets its cycle limit",
		.core_type = CNNACC_CORE_CCP,
		.code = { CNNACC_CCP_INSN_LDI(1, 1), CNNACC_CCP_INSN_BNZ(1, 1) },
		.status_class = CNNACC_STATUS_TIME_LIMIT, .status_code = CNNACC_CODE_TIME_LIMIT,
		.pc = 1, .cycle_limit = 10000,
	},
};

static void judge(const struct program_test *t, const struct cnnrt_job_status *s,
		  const uint32_t *src, const uint32_t *dst, char *failure, size_t len)
{
	if (s->status_class != t->status_class || s->status_code != t->status_code)
		snprintf(failure, len, "ended with class %u code %u, %u and %u expected: %.150s",
			 s->status_class, s->status_code, t->status_class, t->status_code,
			 s->text);
	else if (s->state == CNNRT_JOB_FAILED && (s->pc != t->pc || s->va != t->va))
		snprintf(failure, len, "ended at instruction %u, VA 0x%llx; %u, 0x%llx expected",
			 s->pc, (unsigned long long)s->va, t->pc, (unsigned long long)t->va);
	else if (t->copies && memcmp(src, dst, CNNACC_LINE_SIZE))
		snprintf(failure, len, "the line did not arrive: word 0 is 0x%x, 0x%x expected",
			 dst[0], src[0]);
}

static int run_test(struct cnnrt_device *dev, unsigned int core, const struct program_test *t,
		    char *failure, size_t len, struct cnnrt_error *err)
{
	uint32_t src[WORDS], dst[WORDS];
	struct cnnrt_range ranges[] = {
		{ .va = SRC_VA, .size = sizeof(src), .flags = CNNRT_MAP_READ, .in = src },
		{ .va = DST_VA, .size = sizeof(dst), .flags = CNNRT_MAP_READ | CNNRT_MAP_WRITE,
		  .out = dst },
		{ .va = PROGRAM_VA, .size = sizeof(t->code), .flags = CNNRT_MAP_EXEC,
		  .in = t->code },
	};
	struct cnnrt_exec exec = {
		.core = core, .program_va = PROGRAM_VA, .program_size = sizeof(t->code),
		.cycle_limit = t->cycle_limit, .timeout_ns = 30000000000,
		.ranges = ranges, .range_count = RT_ARRAY_SIZE(ranges),
	};
	struct cnnrt_job_status status;
	int ret;

	for (unsigned int i = 0; i < WORDS; i++)
		src[i] = 0x3f800000u + (i << 16) + core;
	*failure = '\0';
	ret = cnnrt_exec(dev, &exec, &status, NULL, err);
	if (!ret)
		judge(t, &status, src, dst, failure, len);
	return ret;
}

/*
 * The SCRATCH register keeps what is written; only the administrator can try, and only where the
 * kernel is not locked down.
 */
static int scratch_test(struct cnnrt_device *dev, char *failure, size_t len,
			struct cnnrt_error *err)
{
	static const uint32_t patterns[] = { 0x55555555u, 0xaaaaaaaau, 0xffffffffu, 0 };
	uint32_t value;

	*failure = '\0';
	for (unsigned int i = 0; i < RT_ARRAY_SIZE(patterns); i++) {
		int ret = cnnrt_device_reg_write(dev, CNNACC_REG_SCRATCH, patterns[i], err);

		if (!ret)
			ret = cnnrt_device_reg_read(dev, CNNACC_REG_SCRATCH, &value, err);
		if (ret)
			return ret;
		if (value != patterns[i])
			snprintf(failure, len, "SCRATCH reads 0x%x after 0x%x was written",
				 value, patterns[i]);
	}
	return CNNRT_OK;
}

int cnnrt_device_selftest(struct cnnrt_device *dev,
			  void (*report)(const char *test, const char *failure, void *opaque),
			  void *opaque, struct cnnrt_error *err)
{
	struct cnnrt_device_info info;
	char failure[256], name[96];
	int failed = 0, ret = scratch_test(dev, failure, sizeof(failure), err);

	if (ret && ret != CNNRT_EACCES)
		return ret;
	if (!ret) {
		failed += *failure != '\0';
		report("registers keep their values", failure, opaque);
	}
	ret = cnnrt_device_info(dev, &info, err);
	for (unsigned int core = 0; core < info.core_count && !ret; core++) {
		struct cnnrt_core_info c;

		ret = cnnrt_device_core(dev, core, &c, err);
		for (unsigned int i = 0; i < RT_ARRAY_SIZE(tests) && !ret; i++) {
			if (tests[i].core_type != c.type)
				continue;
			ret = run_test(dev, core, &tests[i], failure, sizeof(failure), err);
			if (ret)
				break;
			failed += *failure != '\0';
			snprintf(name, sizeof(name), "core %u (%s): %s", core, c.name,
				 tests[i].name);
			report(name, failure, opaque);
		}
	}
	return ret ? ret : failed;
}
