// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* The register page: global registers, discovery table, queue blocks, windows. */
#include <string.h>

#include "device.h"

/* Read a hi register: the latched value if its lo register was the last one read, else @live. */
static uint32_t read_hi(const struct cm_device *dev, uint32_t offset, uint32_t live)
{
	return dev->g.latch_offset == offset ? dev->g.latch_value : live;
}

static uint32_t read_lo(struct cm_device *dev, uint32_t offset, uint64_t value)
{
	dev->g.latch_offset = offset + 4;
	dev->g.latch_value = (uint32_t)(value >> 32);
	return (uint32_t)value;
}

static uint32_t inv_done(const struct cm_device *dev)
{
	uint32_t behind = 0;

	for (unsigned int i = 0; i < dev->core_count; i++)
		if (dev->core[i].inv_pending > behind)
			behind = dev->core[i].inv_pending;
	return dev->g.inv_seq - behind;
}

static uint32_t read_global(struct cm_device *dev, uint32_t offset)
{
	const struct cm_global_state *g = &dev->g;

	switch (offset) {
	case CNNACC_REG_MAGIC: return CNNACC_MAGIC;
	case CNNACC_REG_HW_VERSION: return CNNACC_HW_VERSION;
	case CNNACC_REG_FEATURES: return CNNACC_FEATURE_COHERENT;
	case CNNACC_REG_CORE_COUNT: return dev->core_count;
	case CNNACC_REG_CORE_TABLE: return CNNACC_CORE_TABLE_OFFSET;
	case CNNACC_REG_CLOCK_HZ: return dev->config.clock_hz;
	case CNNACC_REG_RESET: return dev->reset_pending;
	case CNNACC_REG_SCRATCH: return g->scratch;
	case CNNACC_REG_IRQ_STATUS: return g->irq_status;
	case CNNACC_REG_IRQ_ENABLE: return g->irq_enable;
	case CNNACC_REG_MSG_REFUSED: return g->msg_refused;
	case CNNACC_REG_ERR_CODE: return g->err_code;
	case CNNACC_REG_ERR_CORE: return g->err_core;
	case CNNACC_REG_ERR_ADDR_LO: return read_lo(dev, offset, g->err_addr);
	case CNNACC_REG_ERR_ADDR_HI: return read_hi(dev, offset, g->err_addr >> 32);
	case CNNACC_REG_TIME_LO: return read_lo(dev, offset, dev->ops->now(dev->opaque));
	case CNNACC_REG_TIME_HI: return read_hi(dev, offset, dev->ops->now(dev->opaque) >> 32);
	case CNNACC_REG_INV_SEQ: return g->inv_seq;
	case CNNACC_REG_INV_DONE: return inv_done(dev);
	}
	return 0;
}

static uint32_t read_table(const struct cm_device *dev, uint32_t offset)
{
	unsigned int index = offset / CNNACC_CORE_ENTRY_SIZE;
	uint32_t value;

	if (index >= dev->core_count)
		return 0;
	memcpy(&value, (const char *)&dev->core[index].entry + offset % CNNACC_CORE_ENTRY_SIZE,
	       sizeof(value));
	return value;
}

static uint32_t read_stats(struct cm_core *core, uint32_t reg, uint32_t offset)
{
	unsigned int word = (reg - CNNACC_QREG_STATS) / 8;
	uint64_t value = cm_stats_word(&core->q.counters, word);

	return reg % 8 ? read_hi(core->dev, offset, value >> 32) :
			 read_lo(core->dev, offset, value);
}

static uint32_t read_queue(struct cm_core *core, uint32_t reg, uint32_t offset)
{
	const struct cm_queue_block *q = &core->q;

	switch (reg) {
	case CNNACC_QREG_RING_BASE_LO: return (uint32_t)q->written.ring_base;
	case CNNACC_QREG_RING_BASE_HI: return q->written.ring_base >> 32;
	case CNNACC_QREG_RING_SIZE: return q->written.ring_size;
	case CNNACC_QREG_RING_TAIL: return q->tail;
	case CNNACC_QREG_RING_HEAD: return q->head;
	case CNNACC_QREG_COMPL_BASE_LO: return (uint32_t)q->written.compl_base;
	case CNNACC_QREG_COMPL_BASE_HI: return q->written.compl_base >> 32;
	case CNNACC_QREG_COMPL_SIZE: return q->written.compl_size;
	case CNNACC_QREG_COMPL_TAIL: return q->compl_tail;
	case CNNACC_QREG_COMPL_HEAD: return q->compl_head;
	case CNNACC_QREG_CTRL: return q->enable ? CNNACC_QCTRL_ENABLE : 0;
	case CNNACC_QREG_STATE: return cm_queue_state(core);
	case CNNACC_QREG_RESET: return core->reset_pending;
	case CNNACC_QREG_PROGRESS: return q->progress;
	case CNNACC_QREG_STATUS: return q->status;
	case CNNACC_QREG_STATUS_PC: return q->status_pc;
	case CNNACC_QREG_STATUS_VA_LO: return read_lo(core->dev, offset, q->status_va);
	case CNNACC_QREG_STATUS_VA_HI: return read_hi(core->dev, offset, q->status_va >> 32);
	case CNNACC_QREG_CONTEXT: return q->context;
	case CNNACC_QREG_EVENT_COUNT: return q->event_count;
	}
	return reg >= CNNACC_QREG_STATS ? read_stats(core, reg, offset) : 0;
}

/* Core whose block of @stride bytes contains @offset, or NULL; *reg is the offset in it. */
static struct cm_core *block(struct cm_device *dev, uint32_t offset, uint32_t base,
			     uint32_t stride, uint32_t *reg)
{
	if (offset < base || (offset - base) / stride >= dev->core_count)
		return NULL;
	*reg = (offset - base) % stride;
	return &dev->core[(offset - base) / stride];
}

uint32_t cm_device_read(struct cm_device *dev, uint32_t offset)
{
	struct cm_core *core;
	uint32_t reg;

	if (offset % 4)
		return 0;
	if (offset < CNNACC_CORE_TABLE_OFFSET)
		return read_global(dev, offset);
	if (offset < CM_QUEUE_OFFSET)
		return read_table(dev, offset - CNNACC_CORE_TABLE_OFFSET);
	core = block(dev, offset, CM_QUEUE_OFFSET, CNNACC_QREG_BLOCK_SIZE, &reg);
	if (core)
		return read_queue(core, reg, offset);
	core = block(dev, offset, CM_WINDOW_OFFSET, CM_WINDOW_STRIDE, &reg);
	if (core && reg / 4 < core->ops->window_words)
		return core->window[reg / 4];
	return 0;
}

static void set_half(uint64_t *value, bool hi, uint32_t half)
{
	if (hi)
		*value = (uint32_t)*value | (uint64_t)half << 32;
	else
		*value = (*value & ~(uint64_t)0xffffffff) | half;
}

static bool holds_residue(const struct cm_core *core, uint32_t id)
{
	return core->q.context == id || (core->q.running && core->job.packet.ctx_id == id);
}

static void invalidate_core(struct cm_core *core, uint32_t id, bool retire)
{
	retire = retire && holds_residue(core, id);
	if (core->in_run) {
		core->inv_pending++;
		core->inv_retired |= retire;
		return;
	}
	cm_port_flush(&core->port);
	if (retire)
		core->job.residue_root = CM_NO_ROOT;
}

static void invalidate(struct cm_device *dev, uint32_t value)
{
	if (value & ~(CNNACC_INVALIDATE_RETIRE | 0xffff))
		return;
	dev->g.inv_seq++;
	for (unsigned int i = 0; i < dev->core_count; i++)
		invalidate_core(&dev->core[i], value & 0xffff, value & CNNACC_INVALIDATE_RETIRE);
}

static void write_reset(struct cm_device *dev)
{
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (dev->core[i].in_run)
			dev->reset_pending = true;
	if (!dev->reset_pending)
		cm_device_reset(dev);
}

static void write_global(struct cm_device *dev, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case CNNACC_REG_RESET:
		if (value == 1)
			write_reset(dev);
		break;
	case CNNACC_REG_SCRATCH:
		dev->g.scratch = value;
		break;
	case CNNACC_REG_IRQ_STATUS:
		cm_irq_clear(dev, value);
		break;
	case CNNACC_REG_IRQ_ENABLE:
		cm_irq_enable(dev, value);
		break;
	case CNNACC_REG_IRQ_RAISE:
		cm_irq_set(dev, value);
		break;
	case CNNACC_REG_INVALIDATE:
		invalidate(dev, value);
		break;
	}
}

/* Bases and sizes are writable only while the queue is disabled. */
static void write_rings(struct cm_queue_block *q, uint32_t reg, uint32_t value)
{
	struct cm_ring_state *r = &q->written;

	if (q->enable)
		return;
	switch (reg) {
	case CNNACC_QREG_RING_BASE_LO:
	case CNNACC_QREG_RING_BASE_HI:
		set_half(&r->ring_base, reg == CNNACC_QREG_RING_BASE_HI, value);
		break;
	case CNNACC_QREG_RING_SIZE:
		r->ring_size = value;
		break;
	case CNNACC_QREG_COMPL_BASE_LO:
	case CNNACC_QREG_COMPL_BASE_HI:
		set_half(&r->compl_base, reg == CNNACC_QREG_COMPL_BASE_HI, value);
		break;
	case CNNACC_QREG_COMPL_SIZE:
		r->compl_size = value;
		break;
	}
}

static void write_core_reset(struct cm_core *core)
{
	if (core->in_run)
		core->reset_pending = true;
	else
		cm_core_reset(core);
}

static void write_queue(struct cm_core *core, uint32_t reg, uint32_t value)
{
	if (core->reset_pending)
		return;
	switch (reg) {
	case CNNACC_QREG_RING_TAIL:
		cm_queue_write_tail(core, value);
		break;
	case CNNACC_QREG_COMPL_HEAD:
		cm_queue_write_compl_head(core, value);
		break;
	case CNNACC_QREG_CTRL:
		cm_queue_write_ctrl(core, value);
		break;
	case CNNACC_QREG_EVENT_ACK:
		cm_queue_write_event_ack(core, value);
		break;
	case CNNACC_QREG_RESET:
		if (value == 1)
			write_core_reset(core);
		return;
	default:
		write_rings(&core->q, reg, value);
		return;
	}
	if (cm_queue_has_work(core))
		core->dev->ops->wake_worker(core->dev->opaque, core->index);
}

void cm_device_write(struct cm_device *dev, uint32_t offset, uint32_t value)
{
	struct cm_core *core;
	uint32_t reg;

	if (offset % 4 || dev->reset_pending)
		return;
	core = block(dev, offset, CM_QUEUE_OFFSET, CNNACC_QREG_BLOCK_SIZE, &reg);
	if (core)
		write_queue(core, reg, value);
	else
		write_global(dev, offset, value);
}
