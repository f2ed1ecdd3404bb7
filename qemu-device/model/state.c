// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Saved state: a header with the build parameters, then the shell's registers, then for each core
 * its queue block, job and flat state.  All fields are little-endian and of fixed width, so the
 * structures are copied unchanged.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"

#define STATE_MAGIC	0x534e4e43	/* "CNNS" */
#define STATE_VERSION	6

struct state_head {
	uint32_t magic;
	uint32_t version;
	uint64_t size;
	uint64_t checksum;		/* of everything after this field */
	uint32_t clock_hz;
	uint32_t core_count;
	struct cnnacc_core_entry entry[CM_MAX_CORES];
};

#define SUMMED_FROM	offsetof(struct state_head, clock_hz)

/* No hidden padding: two saves of one state are equal. */
_Static_assert(sizeof(struct state_head) == 32 + CM_MAX_CORES * CNNACC_CORE_ENTRY_SIZE,
	       "state head");
_Static_assert(sizeof(struct cm_global_state) == 48, "global state");
_Static_assert(sizeof(struct cm_ring_state) == 24, "ring state");
_Static_assert(sizeof(struct cm_queue_block) == 2 * sizeof(struct cm_ring_state) + 72 +
	       sizeof(struct cnnacc_stats), "queue state");
_Static_assert(sizeof(struct cm_core_fault) == 32, "fault");
_Static_assert(sizeof(struct cm_job_state) == sizeof(struct cnnacc_packet) +
	       sizeof(struct cm_core_fault) + sizeof(struct cnnacc_stats) + 72, "job state");

static size_t core_size(const struct cm_core *core)
{
	return sizeof(core->q) + sizeof(core->job) + core->state_size;
}

size_t cm_device_state_size(const struct cm_device *dev)
{
	size_t size = sizeof(struct state_head) + sizeof(dev->g);

	for (unsigned int i = 0; i < dev->core_count; i++)
		size += core_size(&dev->core[i]);
	return size;
}

/* FNV-1a over 64-bit words: detects damage, not tampering. */
static uint64_t checksum(const char *data, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325u, word;

	for (; len >= sizeof(word); data += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3u;
		sum ^= sum >> 32;
	}
	for (; len; data++, len--)
		sum = (sum ^ (uint8_t)*data) * 0x100000001b3u;
	return sum;
}

static void make_head(const struct cm_device *dev, struct state_head *head)
{
	memset(head, 0, sizeof(*head));
	head->magic = STATE_MAGIC;
	head->version = STATE_VERSION;
	head->size = cm_device_state_size(dev);
	head->clock_hz = dev->config.clock_hz;
	head->core_count = dev->core_count;
	for (unsigned int i = 0; i < dev->core_count; i++)
		head->entry[i] = dev->core[i].entry;
}

static char *put(char *out, const void *data, size_t len)
{
	memcpy(out, data, len);
	return out + len;
}

static const char *get(const char *in, void *data, size_t len)
{
	memcpy(data, in, len);
	return in + len;
}

void cm_device_save(const struct cm_device *dev, void *buf)
{
	struct state_head head;
	char *out = buf;

	make_head(dev, &head);
	out = put(out, &head, sizeof(head));
	out = put(out, &dev->g, sizeof(dev->g));
	for (unsigned int i = 0; i < dev->core_count; i++) {
		const struct cm_core *core = &dev->core[i];

		out = put(out, &core->q, sizeof(core->q));
		out = put(out, &core->job, sizeof(core->job));
		out = put(out, core->state, core->state_size);
	}
	head.checksum = checksum((char *)buf + SUMMED_FROM, head.size - SUMMED_FROM);
	memcpy(buf, &head, sizeof(head));
}

static int refuse(char *err, const char *what, uint64_t value)
{
	snprintf(err, CM_ERR_LEN, "saved state: bad %s (%llu)", what,
		 (unsigned long long)value);
	return -1;
}

static int check_head(const struct cm_device *dev, const char *buf, size_t len, char *err)
{
	struct state_head head, own;

	make_head(dev, &own);
	if (len != own.size)
		return refuse(err, "length", len);
	memcpy(&head, buf, sizeof(head));
	if (head.magic != own.magic)
		return refuse(err, "magic", head.magic);
	if (head.version != own.version)
		return refuse(err, "version", head.version);
	if (head.size != own.size)
		return refuse(err, "size", head.size);
	if (head.clock_hz != own.clock_hz)
		return refuse(err, "clock, not this device's", head.clock_hz);
	if (head.core_count != own.core_count)
		return refuse(err, "core count, not this device's", head.core_count);
	for (unsigned int i = 0; i < CM_MAX_CORES; i++)
		if (memcmp(&head.entry[i], &own.entry[i], sizeof(own.entry[i])))
			return refuse(err, "build parameters of core", i);
	if (head.checksum != checksum(buf + SUMMED_FROM, len - SUMMED_FROM))
		return refuse(err, "checksum", head.checksum);
	return 0;
}

static int check_global(const struct cm_device *dev, char *err)
{
	const struct cm_global_state *g = &dev->g;

	if (g->irq_status & ~cm_irq_mask(dev))
		return refuse(err, "IRQ_STATUS", g->irq_status);
	if (g->irq_enable & ~cm_irq_mask(dev))
		return refuse(err, "IRQ_ENABLE", g->irq_enable);
	if (g->err_code > CNNACC_SHELL_COMPL_WRITE)
		return refuse(err, "ERR_CODE", g->err_code);
	if (g->err_core >= dev->core_count)
		return refuse(err, "ERR_CORE", g->err_core);
	return 0;
}

static bool outside(uint32_t index, uint32_t size)
{
	return size ? index >= size : index != 0;
}

static int check_queue(const struct cm_core *core, char *err)
{
	const struct cm_queue_block *q = &core->q;
	bool enabled = q->active.ring_size || q->active.compl_size;
	uint64_t value;

	if (enabled && cm_rings_bad(&q->active, &value))
		return refuse(err, "ring", value);
	if (q->running != (core->job.phase != CM_JOB_NONE))
		return refuse(err, "STATE", q->running);
	if (!enabled && ((q->enable && !q->refused) || q->running))
		return refuse(err, "CTRL", q->enable);
	if (outside(q->head, q->active.ring_size))
		return refuse(err, "RING_HEAD", q->head);
	if (outside(q->tail, q->active.ring_size))
		return refuse(err, "RING_TAIL", q->tail);
	if (outside(q->compl_head, q->active.compl_size))
		return refuse(err, "COMPL_HEAD", q->compl_head);
	if (outside(q->compl_tail, q->active.compl_size))
		return refuse(err, "COMPL_TAIL", q->compl_tail);
	if (q->enable > 1 || q->refused > 1 || q->halted > 1 || q->abort > 1)
		return refuse(err, "CTRL", q->enable);
	if (q->suspended > q->running)
		return refuse(err, "EVENT_ACK", q->suspended);
	if (q->halted && q->running)
		return refuse(err, "STATE", q->running);
	return 0;
}

static int check_job(const struct cm_core *core, char *err)
{
	const struct cm_job_state *job = &core->job;
	uint32_t bad;

	if (job->phase > CM_JOB_DONE)
		return refuse(err, "job phase", job->phase);
	if (job->residue_ctx > 0xffff && job->residue_ctx != CNNACC_NO_CONTEXT)
		return refuse(err, "CONTEXT", job->residue_ctx);
	if (job->abort > 1 || job->refused > 1)
		return refuse(err, "abort", job->abort);
	if (job->phase == CM_JOB_NONE)
		return 0;
	bad = cm_packet_check(core, &job->packet);
	if (job->refused ? job->phase != CM_JOB_DONE : bad)
		return refuse(err, "packet", bad);
	if (core->q.suspended && (job->phase != CM_JOB_RUN ||
				  !(job->packet.flags & CNNACC_PACKET_EVENT_WAIT)))
		return refuse(err, "EVENT_ACK", job->phase);
	if (job->phase == CM_JOB_SCRUB && job->scrub_pos >= core->state_size)
		return refuse(err, "scrub position", job->scrub_pos);
	if (job->result.status_class > CNNACC_STATUS_ABORTED || job->result.code > 0xffff)
		return refuse(err, "status", job->result.status_class);
	return 0;
}

static int load_core(struct cm_core *core, const char **in, char *err)
{
	*in = get(*in, &core->q, sizeof(core->q));
	*in = get(*in, &core->job, sizeof(core->job));
	*in = get(*in, core->state, core->state_size);
	core->ops->drop_derived(core->core);
	if (check_queue(core, err) || check_job(core, err) ||
	    core->ops->check(core->core, err))
		return -1;
	cm_core_publish(core);
	return 0;
}

int cm_device_load(struct cm_device *dev, const void *buf, size_t len,
		    char err[CM_ERR_LEN])
{
	const char *in = buf;
	int ret = check_head(dev, in, len, err);

	cm_device_reset(dev);
	if (ret)
		return ret;
	in = get(in + sizeof(struct state_head), &dev->g, sizeof(dev->g));
	ret = check_global(dev, err);
	for (unsigned int i = 0; !ret && i < dev->core_count; i++)
		ret = load_core(&dev->core[i], &in, err);
	if (ret)
		cm_device_reset(dev);
	else
		cm_irq_update_wires(dev);
	return ret;
}
