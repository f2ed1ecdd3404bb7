// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Packet and completion rings. */
#include <string.h>

#include "device.h"

#define BUS_LIMIT	((uint64_t)1 << CNNACC_BUS_ADDR_BITS)

uint32_t cm_queue_state(const struct cm_core *core)
{
	if (core->q.halted)
		return CNNACC_QSTATE_HALTED;
	if (core->q.running)
		return CNNACC_QSTATE_RUNNING;
	if (!core->q.enable || core->q.refused)
		return CNNACC_QSTATE_DISABLED;
	return CNNACC_QSTATE_IDLE;
}

static uint32_t next(uint32_t index, uint32_t size)
{
	return (index + 1) & (size - 1);
}

/* Can a packet be started, assuming that none is running? */
static bool startable(const struct cm_core *core)
{
	const struct cm_queue_block *q = &core->q;

	return q->enable && !q->refused && !q->halted && q->head != q->tail &&
	       next(q->compl_tail, q->active.compl_size) != q->compl_head;
}

bool cm_queue_has_work(const struct cm_core *core)
{
	if (core->reset_pending || core->dev->reset_pending)
		return false;
	return core->q.running || startable(core);
}

static bool bad_size(uint32_t size)
{
	return size < CNNACC_RING_SIZE_MIN || size > CNNACC_RING_SIZE_MAX ||
	       (size & (size - 1));
}

static bool bad_base(uint64_t base, uint32_t size)
{
	return base % CNNACC_PAGE_SIZE || base >= BUS_LIMIT ||
	       base + (uint64_t)size * sizeof(struct cnnacc_packet) > BUS_LIMIT;
}

/* Are the rings unusable?  Sets *value to the offending size or base. */
bool cm_rings_bad(const struct cm_ring_state *r, uint64_t *value)
{
	if (bad_size(r->ring_size)) {
		*value = r->ring_size;
		return true;
	}
	if (bad_size(r->compl_size)) {
		*value = r->compl_size;
		return true;
	}
	*value = r->ring_base;
	if (bad_base(r->ring_base, r->ring_size))
		return true;
	*value = r->compl_base;
	return bad_base(r->compl_base, r->compl_size);
}

static void enable(struct cm_core *core)
{
	struct cm_queue_block *q = &core->q;
	uint64_t value;

	if (q->halted || q->running)
		return;
	q->enable = 1;
	if (cm_rings_bad(&q->written, &value)) {
		q->refused = 1;
		cm_shell_error(core, CNNACC_SHELL_RING, value);
		return;
	}
	q->active = q->written;
	q->head = 0;
	q->tail = 0;
	q->compl_head = 0;
	q->compl_tail = 0;
	q->seq = 0;
}

void cm_queue_write_ctrl(struct cm_core *core, uint32_t value)
{
	struct cm_queue_block *q = &core->q;

	if (!(value & CNNACC_QCTRL_ENABLE)) {
		q->enable = 0;
		q->refused = 0;
	} else if (!q->enable) {
		enable(core);
	}
	if ((value & CNNACC_QCTRL_ABORT) && q->running)
		q->abort = 1;
}

/* Report the event that the last run raised. */
void cm_queue_event(struct cm_core *core)
{
	core->event = false;
	core->q.event_count++;
	core->q.suspended = (core->job.packet.flags & CNNACC_PACKET_EVENT_WAIT) != 0;
	cm_irq_set(core->dev, CNNACC_IRQ_EVENT(core->index));
}

/* Everything after the event is delayed by the time that the program was suspended. */
void cm_queue_write_event_ack(struct cm_core *core, uint32_t value)
{
	struct cm_device *dev = core->dev;
	uint64_t at, now;

	if (value != 1 || !core->q.suspended)
		return;
	core->q.suspended = 0;
	if (!dev->config.modelled)
		return;
	at = cm_clock_time(core, core->job.event_cycle);
	now = dev->ops->now(dev->opaque);
	if (now > at)
		core->job.suspended_ns += now - at;
}

void cm_queue_write_tail(struct cm_core *core, uint32_t value)
{
	if (value >= core->q.active.ring_size)
		cm_shell_error(core, CNNACC_SHELL_DOORBELL, value);
	else
		core->q.tail = value;
}

void cm_queue_write_compl_head(struct cm_core *core, uint32_t value)
{
	if (value >= core->q.active.compl_size)
		cm_shell_error(core, CNNACC_SHELL_DOORBELL, value);
	else
		core->q.compl_head = value;
}

uint32_t cm_packet_check(const struct cm_core *core, const struct cnnacc_packet *p)
{
	uint64_t max = (uint64_t)core->entry.job_cycles_max_hi << 32 |
		       core->entry.job_cycles_max_lo;

	if (p->flags & ~CNNACC_PACKET_FLAGS)
		return CNNACC_PACKET_BAD_FLAGS;
	if (p->ctx_id > 0xffff)
		return CNNACC_PACKET_BAD_CTX;
	if (p->root % CNNACC_PAGE_SIZE || p->root >= BUS_LIMIT)
		return CNNACC_PACKET_BAD_ROOT;
	if (!p->cycle_limit || p->cycle_limit > max)
		return CNNACC_PACKET_BAD_LIMIT;
	if (p->program_va % CNNACC_LINE_SIZE)
		return CNNACC_PACKET_BAD_PROGRAM_VA;
	if (!p->program_len || p->program_len % 4 || p->program_len > core->entry.program_max)
		return CNNACC_PACKET_BAD_PROGRAM_LEN;
	if ((p->flags & CNNACC_PACKET_STATS) && p->stats_va % CNNACC_LINE_SIZE)
		return CNNACC_PACKET_BAD_STATS_VA;
	for (size_t i = 0; i < sizeof(p->reserved) / sizeof(p->reserved[0]); i++)
		if (p->reserved[i])
			return CNNACC_PACKET_BAD_RESERVED;
	return 0;
}

/* Reset everything of the last job but the owner of the residue. */
static void begin_job(struct cm_core *core)
{
	struct cm_job_state *job = &core->job;
	uint32_t bad = cm_packet_check(core, &job->packet);

	memset(&job->result, 0, sizeof(job->result));
	memset(&job->stats, 0, sizeof(job->stats));
	job->start_ns = core->dev->ops->now(core->dev->opaque);
	job->suspended_ns = 0;
	job->event_cycle = 0;
	job->scrub_pos = 0;
	job->scrub_cycles = 0;
	job->abort = 0;
	job->refused = bad != 0;
	job->phase = CM_JOB_SCRUB;
	if (bad) {
		job->result.status_class = CNNACC_STATUS_CONFIG;
		job->result.code = CNNACC_CODE_PACKET;
		job->result.detail = bad;
		job->phase = CM_JOB_DONE;
	}
}

bool cm_queue_take(struct cm_core *core)
{
	struct cm_queue_block *q = &core->q;
	uint64_t addr = q->active.ring_base + (uint64_t)q->head * sizeof(struct cnnacc_packet);
	struct cm_device *dev = core->dev;

	if (!startable(core))
		return false;
	if (dev->ops->dma_read(dev->opaque, addr, &core->job.packet,
			       sizeof(core->job.packet))) {
		q->halted = 1;
		cm_shell_error(core, CNNACC_SHELL_PACKET_READ, addr);
		return false;
	}
	q->abort = 0;
	q->running = 1;
	begin_job(core);
	return true;
}

static bool write_record(struct cm_core *core)
{
	const struct cm_job_state *job = &core->job;
	struct cm_queue_block *q = &core->q;
	struct cm_device *dev = core->dev;
	uint64_t addr = q->active.compl_base +
			(uint64_t)q->compl_tail * sizeof(struct cnnacc_completion);
	struct cnnacc_completion record = {
		.fence = job->packet.fence,
		.seq = q->seq + 1,
		.ctx_id = job->packet.ctx_id,
		.status_class = (uint16_t)job->result.status_class,
		.status_code = (uint16_t)job->result.code,
		.pc = job->result.pc,
		.detail = job->result.detail,
		.access = job->result.access,
		.fault_va = job->result.va,
		.cycles = job->stats.cycles,
		.start_ns = job->start_ns,
		.end_ns = dev->ops->now(dev->opaque),
	};

	if (dev->ops->dma_write(dev->opaque, addr, &record, sizeof(record))) {
		cm_shell_error(core, CNNACC_SHELL_COMPL_WRITE, addr);
		return false;
	}
	q->seq++;
	q->compl_tail = next(q->compl_tail, q->active.compl_size);
	return true;
}

static void record_failure(struct cm_core *core)
{
	const struct cm_core_fault *f = &core->job.result;
	struct cm_queue_block *q = &core->q;

	q->status = f->status_class << 16 | f->code;
	q->status_pc = f->pc;
	q->status_va = f->va;
	cm_log(core->dev,
		"core %u: context %u: class %u code %u detail %u pc %u access %u va 0x%llx",
		core->index, core->job.packet.ctx_id, f->status_class, f->code, f->detail,
		f->pc, f->access, (unsigned long long)f->va);
}

void cm_queue_complete(struct cm_core *core)
{
	struct cm_job_state *job = &core->job;
	struct cm_queue_block *q = &core->q;
	bool failed = job->result.status_class != CNNACC_STATUS_OK;
	bool written = write_record(core);

	cm_stats_add(&q->counters, &job->stats);
	job->phase = CM_JOB_NONE;
	q->running = 0;
	q->abort = 0;
	q->suspended = 0;
	if (failed)
		record_failure(core);
	if (failed || !written)
		q->halted = 1;
	else
		q->head = next(q->head, q->active.ring_size);
	if (written && (failed || (job->packet.flags & CNNACC_PACKET_IRQ)))
		cm_irq_set(core->dev, CNNACC_IRQ_CORE(core->index));
}
