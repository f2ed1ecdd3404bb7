/* SPDX-License-Identifier: MIT */
/* Why a kernel refuses to read or write a register, in words. */
#include "rt.h"
#include "device/device.h"

#include <errno.h>

static int refusal;

static int refuse(struct cnnrt_device *dev, struct drm_cnnacc_reg_rw *rw)
{
	(void)dev;
	(void)rw;
	return refusal;
}

static void test_registers(void **state)
{
	static const struct rt_device_ops ops = { .reg_rw = refuse };
	static const struct {
		int refusal, code;
		const char *word;
	} cases[] = {
		{ -EACCES, CNNRT_EACCES, "register 0x10: only the administrator (CAP_SYS_ADMIN)" },
		{ -EPERM, CNNRT_EACCES, "register 0x10: the driver allows writes only" },
		{ -EINVAL, CNNRT_EINVAL, "register 0x10: multiple of 4 below 0x10000" },
		{ -ENODEV, CNNRT_EGONE, "register 0x10" },
	};
	struct cnnrt_device dev = { .ops = &ops };

	(void)state;
	for (size_t i = 0; i < RT_ARRAY_SIZE(cases); i++) {
		uint32_t value = 7;

		refusal = cases[i].refusal;
		FAILS(cases[i].code, cases[i].word,
		      cnnrt_device_reg_write(&dev, 0x10, 0, &rt_err));
		FAILS(cases[i].code, cases[i].word,
		      cnnrt_device_reg_read(&dev, 0x10, &value, &rt_err));
		assert_int_equal(value, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_registers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
