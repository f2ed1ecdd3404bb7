// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/iopoll.h>
#include <linux/seq_file.h>
#include <linux/string_choices.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "cnnacc_device.h"

/**
 * DOC: self-test
 *
 * Reading "selftest" in debugfs tests a device, which gives running jobs 500 ms to end and resets
 * it before and after:
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

static const struct cnnacc_reg_info cnnacc_global_regs[] = CNNACC_GLOBAL_REGS;
static const struct cnnacc_reg_info cnnacc_queue_regs[] = CNNACC_QUEUE_REGS;

static __printf(3, 4) int cnnacc_selftest_err(struct seq_file *m, struct cnnacc_device *cdev,
					      const char *format, ...)
{
	struct va_format vaf = { .fmt = format };
	va_list args;

	va_start(args, format);
	vaf.va = &args;
	seq_printf(m, "%pV\n", &vaf);
	drm_err(&cdev->drm, "self-test: %pV\n", &vaf);
	va_end(args);
	return -EIO;
}

/* @core: NULL for the global registers */
static int cnnacc_selftest_table(struct seq_file *m, struct cnnacc_device *cdev,
				 const struct cnnacc_core *core,
				 const struct cnnacc_reg_info *info, size_t count)
{
	u32 value, base = core ? core->info.queue_offset : 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (info[i].flags & (CNNACC_REG_F_BUILD | CNNACC_REG_F_LIVE))
			continue;
		value = cnnacc_read(cdev, base + info[i].offset);
		if (value != info[i].reset)
			return cnnacc_selftest_err(m, cdev,
						   "%s register %s is %#x after a reset, expected %#x: the device is defective",
						   core ? core->name : "global", info[i].name,
						   value, info[i].reset);
	}
	return 0;
}

static int cnnacc_selftest_scratch(struct seq_file *m, struct cnnacc_device *cdev)
{
	static const u32 patterns[] = { 0x55555555, 0xaaaaaaaa, 0x00ff00ff, 0xffffffff, 0 };
	unsigned int i;
	u32 value;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		cnnacc_write(cdev, CNNACC_REG_SCRATCH, patterns[i]);
		value = cnnacc_read(cdev, CNNACC_REG_SCRATCH);
		if (value != patterns[i])
			return cnnacc_selftest_err(m, cdev,
						   "register SCRATCH reads %#x after a write of %#x: register writes do not arrive",
						   value, patterns[i]);
	}
	return 0;
}

static int cnnacc_selftest_registers(struct seq_file *m, struct cnnacc_device *cdev)
{
	unsigned int i;
	int ret;

	ret = cnnacc_selftest_table(m, cdev, NULL, cnnacc_global_regs,
				    ARRAY_SIZE(cnnacc_global_regs));
	for (i = 0; i < cdev->core_count && !ret; i++)
		ret = cnnacc_selftest_table(m, cdev, cdev->cores[i], cnnacc_queue_regs,
					    ARRAY_SIZE(cnnacc_queue_regs));
	return ret ? ret : cnnacc_selftest_scratch(m, cdev);
}

static int cnnacc_selftest_interrupts(struct seq_file *m, struct cnnacc_device *cdev)
{
	struct cnnacc_vector *vector;
	unsigned int i, before, now;

	for (i = 0; i < cdev->vector_count; i++) {
		vector = &cdev->vectors[i];
		before = READ_ONCE(vector->count);
		cnnacc_write(cdev, CNNACC_REG_IRQ_RAISE, vector->mask);
		if (read_poll_timeout(READ_ONCE, now, now != before, 100,
				      CNNACC_SELFTEST_TIMEOUT_US, false, vector->count))
			return cnnacc_selftest_err(m, cdev,
						   "interrupt %u (irq %d) does not arrive: check %s",
						   i, vector->irq, cdev->bus->irq_hint);
	}
	return 0;
}

static bool cnnacc_selftest_done(struct cnnacc_core *core)
{
	return le64_to_cpu(READ_ONCE(core->records[0].fence)) == CNNACC_SELFTEST_FENCE ||
	       cnnacc_queue_read(core, CNNACC_QREG_STATE) == CNNACC_QSTATE_HALTED;
}

static int cnnacc_selftest_dma(struct seq_file *m, struct cnnacc_core *core)
{
	struct cnnacc_completion *record = &core->records[0];
	dma_addr_t addr;
	bool done, read;
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
		return cnnacc_selftest_err(m, core->cdev,
					   "%s does not process a packet, queue state %u: the core is defective",
					   core->name,
					   cnnacc_queue_read(core, CNNACC_QREG_STATE));
	if (le64_to_cpu(READ_ONCE(record->fence)) == CNNACC_SELFTEST_FENCE) {
		memset(record, 0, sizeof(*record));
		return 0;
	}
	/* A status says that the packet was read. */
	read = !cnnacc_queue_read(core, CNNACC_QREG_STATUS);
	addr = read ? core->ring_dma : core->records_dma;
	return cnnacc_selftest_err(m, core->cdev,
				   "%s cannot %s memory at %pad: check bus mastering and the IOMMU's log",
				   core->name, str_read_write(read), &addr);
}

static int cnnacc_selftest_run(struct seq_file *m, struct cnnacc_device *cdev)
{
	unsigned int i;
	int ret;

	ret = cnnacc_selftest_registers(m, cdev);
	if (ret)
		return ret;
	cnnacc_irq_enable(cdev);
	ret = cnnacc_selftest_interrupts(m, cdev);
	for (i = 0; i < cdev->core_count && !ret; i++)
		ret = cnnacc_selftest_dma(m, cdev->cores[i]);
	return ret;
}

/**
 * cnnacc_selftest() - Test a device and print "ok" or what is wrong
 * @m: file to print to
 * @cdev: device
 *
 * Return: 0, also if the device fails; or -ENODEV, or -EBUSY while it is removed or reset
 */
int cnnacc_selftest(struct seq_file *m, struct cnnacc_device *cdev)
{
	int ret;

	CLASS(cnnacc_section, section)(&cdev->drm);
	if (section < 0)
		return -ENODEV;
	/* Excludes a reset from outside; not by waiting, as a removal holds it and waits for us. */
	if (!device_trylock(cdev->drm.dev))
		return -EBUSY;
	ret = cnnacc_pm_get(cdev);
	if (!ret) {
		cnnacc_pm_suspend(cdev->drm.dev);
		if (!cnnacc_selftest_run(m, cdev))
			seq_puts(m, "ok\n");
		cnnacc_pm_resume(cdev->drm.dev);
		cnnacc_pm_put(cdev);
	}
	device_unlock(cdev->drm.dev);
	return ret;
}
