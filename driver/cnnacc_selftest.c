// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dev_printk.h>
#include <linux/iopoll.h>
#include <linux/module.h>

#include "cnnacc_device.h"

/**
 * DOC: self-test
 *
 * Probe tests a device once, before it can be used:
 *
 * - Registers have their reset values, and SCRATCH keeps what is written.
 * - The interrupt of every vector arrives.
 * - Every core can read and write memory.  The core gets a packet with invalid flags, which it must
 *   refuse: this needs neither a program nor a context, but reads the packet ring and writes a
 *   completion record.
 *
 * Every wait is bounded.  A failure is reported together with what to check.
 */

#define CNNACC_SELFTEST_TIMEOUT_US	3000000
#define CNNACC_SELFTEST_FENCE		0x5e1f7e57c0ffee00ull

static bool cnnacc_selftest_enabled = true;
module_param_named(selftest, cnnacc_selftest_enabled, bool, 0444);
MODULE_PARM_DESC(selftest, "test a device at probe (default true)");

static const struct cnnacc_reg_info cnnacc_global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info cnnacc_queue_regs[] = CNNACC_QUEUE_REGS;

static int cnnacc_selftest_table(struct cnnacc_device *cdev, const char *name, u32 base,
				 const struct cnnacc_reg_info *info, size_t count)
{
	u32 value;
	size_t i;

	for (i = 0; i < count; i++) {
		if (info[i].flags & (CNNACC_REG_F_BUILD | CNNACC_REG_F_LIVE))
			continue;
		value = cnnacc_read(cdev, base + info[i].offset);
		if (value != info[i].reset)
			return dev_err_probe(cdev->drm.dev, -EIO,
					     "self-test: %s register %s is %#x after a reset, expected %#x: the device is defective\n",
					     name, info[i].name, value, info[i].reset);
	}
	return 0;
}

static int cnnacc_selftest_scratch(struct cnnacc_device *cdev)
{
	static const u32 patterns[] = { 0x55555555, 0xaaaaaaaa, 0x00ff00ff, 0xffffffff, 0 };
	unsigned int i;
	u32 value;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		cnnacc_write(cdev, CNNACC_REG_SCRATCH, patterns[i]);
		value = cnnacc_read(cdev, CNNACC_REG_SCRATCH);
		if (value != patterns[i])
			return dev_err_probe(cdev->drm.dev, -EIO,
					     "self-test: register SCRATCH reads %#x after a write of %#x: register writes do not arrive\n",
					     value, patterns[i]);
	}
	return 0;
}

static int cnnacc_selftest_registers(struct cnnacc_device *cdev)
{
	unsigned int i;
	int ret;

	ret = cnnacc_selftest_table(cdev, "global", 0, cnnacc_global_regs,
				    ARRAY_SIZE(cnnacc_global_regs));
	for (i = 0; i < cdev->core_count && !ret; i++)
		ret = cnnacc_selftest_table(cdev, cdev->cores[i]->name,
					    cdev->cores[i]->info.queue_offset, cnnacc_queue_regs,
					    ARRAY_SIZE(cnnacc_queue_regs));
	return ret ? ret : cnnacc_selftest_scratch(cdev);
}

static int cnnacc_selftest_interrupts(struct cnnacc_device *cdev)
{
	struct cnnacc_vector *vector;
	unsigned int i, before, now;

	for (i = 0; i < cdev->vector_count; i++) {
		vector = &cdev->vectors[i];
		before = READ_ONCE(vector->count);
		cnnacc_write(cdev, CNNACC_REG_IRQ_RAISE, vector->mask);
		if (read_poll_timeout(READ_ONCE, now, now != before, 100,
				      CNNACC_SELFTEST_TIMEOUT_US, false, vector->count))
			return dev_err_probe(cdev->drm.dev, -EIO,
					     "self-test: interrupt %u (irq %d) does not arrive: check %s\n",
					     i, vector->irq, cdev->bus->irq_hint);
	}
	return 0;
}

static bool cnnacc_selftest_done(struct cnnacc_core *core)
{
	return le64_to_cpu(READ_ONCE(core->records[0].fence)) == CNNACC_SELFTEST_FENCE ||
	       cnnacc_queue_read(core, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED;
}

static int cnnacc_selftest_report_dma(struct cnnacc_core *core, const char *what, dma_addr_t addr)
{
	return dev_err_probe(core->cdev->drm.dev, -EIO,
			     "self-test: %s cannot %s memory at %pad: check bus mastering and the IOMMU's log\n",
			     core->name, what, &addr);
}

static int cnnacc_selftest_dma(struct cnnacc_core *core)
{
	struct cnnacc_completion *record = &core->records[0];
	bool done;
	int ret;

	core->ring[0] = (struct cnnacc_packet) {
		.flags = cpu_to_le32(~CNNACC_PACKET_FLAGS),
		.fence = cpu_to_le64(CNNACC_SELFTEST_FENCE),
	};
	cnnacc_core_program(core);
	cnnacc_queue_write(core, CNNACC_QREG_RING_TAIL, 1);
	ret = read_poll_timeout(cnnacc_selftest_done, done, done, 100,
				CNNACC_SELFTEST_TIMEOUT_US, false, core);
	if (ret)
		return dev_err_probe(core->cdev->drm.dev, -EIO,
				     "self-test: %s does not process a packet, queue state %u: the core is defective\n",
				     core->name, cnnacc_queue_read(core, CNNACC_QREG_STATE));
	if (le64_to_cpu(READ_ONCE(record->fence)) == CNNACC_SELFTEST_FENCE) {
		memset(record, 0, sizeof(*record));
		return 0;
	}
	/* A status says that the packet was read. */
	if (cnnacc_queue_read(core, CNNACC_QREG_STATUS))
		return cnnacc_selftest_report_dma(core, "write", core->records_dma);
	return cnnacc_selftest_report_dma(core, "read", core->ring_dma);
}

/**
 * cnnacc_selftest() - Test a device
 * @cdev: device after a reset, with its cores created and its interrupts requested
 *
 * The caller has to reset the device afterwards.
 *
 * Return: 0 or -EIO
 */
int cnnacc_selftest(struct cnnacc_device *cdev)
{
	unsigned int i;
	int ret;

	if (!cnnacc_selftest_enabled)
		return 0;
	ret = cnnacc_selftest_registers(cdev);
	if (ret)
		return ret;
	cnnacc_irq_enable(cdev);
	ret = cnnacc_selftest_interrupts(cdev);
	for (i = 0; i < cdev->core_count && !ret; i++)
		ret = cnnacc_selftest_dma(cdev->cores[i]);
	return ret;
}
