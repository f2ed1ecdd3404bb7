// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Create, reset and run a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

void cm_core_publish(struct cm_core *core)
{
	core->q.progress = core->job.progress;
	core->q.context = core->job.residue_ctx;
	core->ops->publish(core->core, core->window);
}

static void reset_state(struct cm_core *core)
{
	struct cnnacc_stats counters = core->q.counters;

	memset(core->state, 0, core->state_size);
	core->ops->on_zeroed(core->core);
	memset(&core->q, 0, sizeof(core->q));
	memset(&core->job, 0, sizeof(core->job));
	core->q.counters = counters;
	core->job.residue_ctx = CNNACC_NO_CONTEXT;
	core->reset_pending = false;
	core->inv_pending = 0;
	core->inv_retired = false;
	core->event = false;
	core->wait_cycle = 0;
	cm_port_flush(&core->port);
	cm_core_publish(core);
}

void cm_core_reset(struct cm_core *core)
{
	reset_state(core);
	cm_irq_clear(core->dev, CNNACC_IRQ_CORE(core->index) | CNNACC_IRQ_EVENT(core->index));
}

void cm_device_reset(struct cm_device *dev)
{
	memset(&dev->g, 0, sizeof(dev->g));
	dev->reset_pending = false;
	for (unsigned int i = 0; i < dev->core_count; i++) {
		struct cm_core *core = &dev->core[i];

		core->in_run = false;
		memset(&core->q.counters, 0, sizeof(core->q.counters));
		reset_state(core);
	}
	cm_irq_update_wires(dev);
}

static void describe(struct cm_core *core, const struct cm_core_config *config)
{
	struct cnnacc_core_entry *entry = &core->entry;

	entry->type = core->ops->type;
	strncpy(entry->name, core->ops->name, sizeof(entry->name) - 1);
	entry->version = core->ops->version;
	entry->window_offset = CM_WINDOW_OFFSET + core->index * CM_WINDOW_STRIDE;
	entry->window_size = core->ops->window_size;
	entry->queue_offset = CM_QUEUE_OFFSET + core->index * CNNACC_QREG_BLOCK_SIZE;
	entry->job_cycles_max_lo = (uint32_t)config->job_cycles_max;
	entry->job_cycles_max_hi = config->job_cycles_max >> 32;
	core->ops->describe(config->param, entry);
}

static int create_core(struct cm_device *dev, unsigned int index)
{
	struct cm_core *core = &dev->core[index];
	const struct cm_core_config *config = &dev->config.core[index];
	const struct cm_core_resources resources = {
		.workers = dev->workers,
		.threads = dev->config.threads,
		.simd = dev->config.simd,
	};

	core->dev = dev;
	core->index = index;
	core->ops = cm_core_type(config->name);
	core->port.ops = dev->ops;
	core->port.opaque = dev->opaque;
	core->port.workers = dev->workers;
	core->port.threads = dev->config.threads;
	core->core = core->ops->create(config->param, &resources);
	if (!core->core)
		return -1;
	core->state = core->ops->state(core->core, &core->state_size);
	describe(core, config);
	return 0;
}

struct cm_device *cm_device_create(const struct cm_config *config,
				   const struct cm_host_ops *ops, void *opaque,
				   char err[CM_ERR_LEN])
{
	struct cm_config resolved = *config;
	struct cm_device *dev;

	if (cm_config_resolve(&resolved, err))
		return NULL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		goto no_memory;
	dev->config = resolved;
	dev->ops = ops;
	dev->opaque = opaque;
	dev->workers = cm_workers_create(resolved.threads);
	if (!dev->workers)
		goto no_memory;
	for (unsigned int i = 0; i < resolved.core_count; i++) {
		dev->core_count = i + 1;
		if (create_core(dev, i))
			goto no_memory;
	}
	cm_device_reset(dev);
	return dev;

no_memory:
	cm_device_destroy(dev);
	snprintf(err, CM_ERR_LEN, "no memory for the device's cores");
	return NULL;
}

void cm_device_destroy(struct cm_device *dev)
{
	if (!dev)
		return;
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (dev->core[i].core)
			dev->core[i].ops->destroy(dev->core[i].core);
	cm_workers_destroy(dev->workers);
	free(dev);
}

void cm_device_wake_workers(struct cm_device *dev)
{
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (cm_queue_has_work(&dev->core[i]))
			dev->ops->wake_worker(dev->opaque, i);
}

unsigned int cm_device_core_count(const struct cm_device *dev)
{
	return dev->core_count;
}

unsigned int cm_device_vectors(const struct cm_device *dev)
{
	return dev->core_count + 1;
}

/* Will the next run abort the program?  An abort after the program's end has no effect. */
static bool aborting(const struct cm_core *core)
{
	return (core->q.abort || core->job.abort) && core->job.phase < CM_JOB_STATS;
}

/* timing=modelled: is it too early for the running packet to go on? */
static bool must_wait(const struct cm_core *core)
{
	return core->wait_cycle && !aborting(core) && core->cycle_now < core->wait_cycle;
}

static bool suspended(const struct cm_core *core)
{
	return core->q.suspended && !aborting(core);
}

bool cm_device_begin(struct cm_device *dev, unsigned int index)
{
	struct cm_core *core;

	if (index >= dev->core_count)
		return false;
	core = &dev->core[index];
	if (core->in_run || !cm_queue_has_work(core))
		return false;
	if (!core->q.running && !cm_queue_take(core))
		return false;
	core->cycle_now = cm_clock_cycle(core);
	if (suspended(core) || must_wait(core))
		return false;
	core->wait_cycle = 0;
	core->q.suspended = 0;
	core->job.abort |= core->q.abort;
	core->q.abort = 0;
	core->in_run = true;
	return true;
}

void cm_device_run(struct cm_device *dev, unsigned int index, uint32_t budget_ns)
{
	if (index < dev->core_count && dev->core[index].in_run)
		cm_job_run(&dev->core[index], budget_ns);
}

void cm_device_idle(struct cm_device *dev)
{
	cm_workers_idle(dev->workers);
}

uint64_t cm_device_wake_time(const struct cm_device *dev, unsigned int index)
{
	const struct cm_core *core = &dev->core[index < dev->core_count ? index : 0];

	if (!core->q.running || core->in_run || suspended(core) || !must_wait(core))
		return 0;
	return cm_clock_time(core, core->wait_cycle);
}

static bool any_in_run(const struct cm_device *dev)
{
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (dev->core[i].in_run)
			return true;
	return false;
}

void cm_device_end(struct cm_device *dev, unsigned int index)
{
	struct cm_core *core;

	if (index >= dev->core_count || !dev->core[index].in_run)
		return;
	core = &dev->core[index];
	core->in_run = false;
	if (core->inv_pending)
		cm_port_flush(&core->port);
	if (core->inv_retired)
		core->job.residue_root = CM_NO_ROOT;
	core->inv_pending = 0;
	core->inv_retired = false;
	if (dev->reset_pending) {
		if (!any_in_run(dev))
			cm_device_reset(dev);
		return;
	}
	if (core->reset_pending) {
		cm_core_reset(core);
		return;
	}
	cm_core_publish(core);
	if (core->event)
		cm_queue_event(core);
	if (core->job.phase == CM_JOB_DONE)
		cm_queue_complete(core);
}
