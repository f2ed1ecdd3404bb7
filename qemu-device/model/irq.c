// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Interrupt status, messages and wires; shell errors. */
#include "device.h"

uint32_t cm_irq_mask(const struct cm_device *dev)
{
	uint32_t mask = CNNACC_IRQ_ERROR;

	for (unsigned int i = 0; i < dev->core_count; i++)
		mask |= CNNACC_IRQ_CORE(i) | CNNACC_IRQ_EVENT(i);
	return mask;
}

static unsigned int vector_of(const struct cm_device *dev, unsigned int bit)
{
	return bit == 31 ? dev->core_count : bit % CNNACC_MAX_CORES;
}

void cm_irq_update_wires(struct cm_device *dev)
{
	uint32_t pending = dev->g.irq_status & dev->g.irq_enable, wires = 0;

	for (; pending; pending &= pending - 1)
		wires |= 1u << vector_of(dev, __builtin_ctz(pending));
	if (wires == dev->wires)
		return;
	dev->wires = wires;
	dev->ops->irq_wires(dev->opaque, wires);
}

/* Send a message for each bit that becomes pending and enabled. */
static void update(struct cm_device *dev, uint32_t status, uint32_t enable)
{
	uint32_t rise = (status & enable) & ~(dev->g.irq_status & dev->g.irq_enable);

	dev->g.irq_status = status;
	dev->g.irq_enable = enable;
	for (; rise; rise &= rise - 1)
		dev->ops->irq_message(dev->opaque, vector_of(dev, __builtin_ctz(rise)));
	cm_irq_update_wires(dev);
}

void cm_irq_set(struct cm_device *dev, uint32_t bits)
{
	update(dev, dev->g.irq_status | (bits & cm_irq_mask(dev)), dev->g.irq_enable);
}

void cm_irq_clear(struct cm_device *dev, uint32_t bits)
{
	if (bits & dev->g.irq_status & CNNACC_IRQ_ERROR) {
		dev->g.err_code = CNNACC_SHELL_OK;
		dev->g.err_core = 0;
		dev->g.err_addr = 0;
	}
	update(dev, dev->g.irq_status & ~bits, dev->g.irq_enable);
}

void cm_irq_enable(struct cm_device *dev, uint32_t bits)
{
	update(dev, dev->g.irq_status, bits & cm_irq_mask(dev));
}

void cm_device_message_refused(struct cm_device *dev)
{
	dev->g.msg_refused++;
}

void cm_shell_error(struct cm_core *core, enum cnnacc_shell_error code, uint64_t addr)
{
	struct cm_device *dev = core->dev;

	if (dev->g.err_code == CNNACC_SHELL_OK) {
		dev->g.err_code = code;
		dev->g.err_core = core->index;
		dev->g.err_addr = addr;
		cm_log(dev, "core %u: shell error %d at 0x%llx", core->index, (int)code,
			(unsigned long long)addr);
	}
	cm_irq_set(dev, CNNACC_IRQ_ERROR);
}
