// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/* Creation, resets and the three calls of a worker. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

void cnn_log(struct cnn_device *dev, const char *format, ...)
{
	char text[CNN_MODEL_ERR_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dev->ops->log(dev->opaque, text);
}

void cnn_core_publish(struct cnn_core *core)
{
	core->q.progress = core->job.progress;
	core->q.context = core->job.residue_ctx;
	core->ops->publish(core->core, core->window);
}

static void reset_state(struct cnn_core *core)
{
	struct cnnacc_stats counters = core->q.counters;

	memset(core->state, 0, core->state_size);
	core->ops->zeroed(core->core);
	memset(&core->q, 0, sizeof(core->q));
	memset(&core->job, 0, sizeof(core->job));
	core->q.counters = counters;
	core->job.residue_ctx = CNNACC_NO_CONTEXT;
	core->reset_pending = false;
	core->inv_behind = 0;
	core->inv_retired = false;
	core->event = false;
	core->wait = 0;
	cnn_port_flush(&core->port);
	cnn_core_publish(core);
}

void cnn_core_reset(struct cnn_core *core)
{
	reset_state(core);
	cnn_irq_clear(core->dev, CNNACC_IRQ_CORE(core->index) | CNNACC_IRQ_EVENT(core->index));
}

void cnn_device_reset(struct cnn_device *dev)
{
	memset(&dev->g, 0, sizeof(dev->g));
	dev->reset_pending = false;
	for (unsigned int i = 0; i < dev->core_count; i++) {
		struct cnn_core *core = &dev->core[i];

		core->in_run = false;
		memset(&core->q.counters, 0, sizeof(core->q.counters));
		reset_state(core);
	}
	cnn_irq_wire(dev);
}

static void describe(struct cnn_core *core, const struct cnn_core_config *config)
{
	struct cnnacc_core_entry *entry = &core->entry;

	entry->type = core->ops->type;
	entry->version = core->ops->version;
	entry->window_offset = CNN_WINDOW_OFFSET + core->index * CNN_WINDOW_STRIDE;
	entry->window_size = core->ops->window_size;
	entry->queue_offset = CNN_QUEUE_OFFSET + core->index * CNNACC_QREG_BLOCK_SIZE;
	entry->job_cycles_max_lo = (uint32_t)config->job_cycles_max;
	entry->job_cycles_max_hi = config->job_cycles_max >> 32;
	core->ops->describe(config, entry);
}

static int create_core(struct cnn_device *dev, unsigned int index)
{
	struct cnn_core *core = &dev->core[index];
	const struct cnn_core_config *config = &dev->config.core[index];
	const struct core_means means = {
		.workers = dev->workers,
		.threads = dev->config.threads,
		.simd = dev->config.simd,
	};

	core->dev = dev;
	core->index = index;
	core->ops = cnn_core_type(config->type);
	core->port.ops = dev->ops;
	core->port.opaque = dev->opaque;
	core->port.workers = dev->workers;
	core->port.threads = dev->config.threads;
	core->core = core->ops->create(config, &means);
	if (!core->core)
		return -1;
	core->state = core->ops->state(core->core, &core->state_size);
	describe(core, config);
	return 0;
}

struct cnn_device *cnn_device_create(const struct cnn_config *config,
				     const struct cnn_host_ops *ops, void *opaque,
				     char err[CNN_MODEL_ERR_LEN])
{
	struct cnn_config resolved = *config;
	struct cnn_device *dev;

	if (cnn_config_resolve(&resolved, err))
		return NULL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		goto no_memory;
	dev->config = resolved;
	dev->ops = ops;
	dev->opaque = opaque;
	dev->workers = cnn_workers_create(resolved.threads);
	if (!dev->workers)
		goto no_memory;
	for (unsigned int i = 0; i < resolved.core_count; i++) {
		dev->core_count = i + 1;
		if (create_core(dev, i))
			goto no_memory;
	}
	cnn_device_reset(dev);
	return dev;

no_memory:
	cnn_device_destroy(dev);
	snprintf(err, CNN_MODEL_ERR_LEN, "no memory for the device's cores");
	return NULL;
}

void cnn_device_destroy(struct cnn_device *dev)
{
	if (!dev)
		return;
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (dev->core[i].core)
			dev->core[i].ops->destroy(dev->core[i].core);
	cnn_workers_destroy(dev->workers);
	free(dev);
}

void cnn_device_kick_all(struct cnn_device *dev)
{
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (cnn_queue_has_work(&dev->core[i]))
			dev->ops->kick(dev->opaque, i);
}

unsigned int cnn_device_core_count(const struct cnn_device *dev)
{
	return dev->core_count;
}

unsigned int cnn_device_vectors(const struct cnn_device *dev)
{
	return dev->core_count + 1;
}

/* Is an abort at hand?  Behind the end of the program it changes nothing. */
static bool aborting(const struct cnn_core *core)
{
	return (core->q.abort || core->job.abort) && core->job.phase < JOB_STATS;
}

/* Does the packet in hand wait for its time? */
static bool waits(const struct cnn_core *core)
{
	return core->wait && !aborting(core) && core->horizon < core->wait;
}

static bool suspended(const struct cnn_core *core)
{
	return core->q.suspended && !aborting(core);
}

bool cnn_device_begin(struct cnn_device *dev, unsigned int index)
{
	struct cnn_core *core;

	if (index >= dev->core_count)
		return false;
	core = &dev->core[index];
	if (core->in_run || !cnn_queue_has_work(core))
		return false;
	if (!core->q.running && !cnn_queue_take(core))
		return false;
	core->horizon = cnn_clock_horizon(core);
	if (suspended(core) || waits(core))
		return false;
	core->wait = 0;
	core->q.suspended = 0;
	core->job.abort |= core->q.abort;
	core->q.abort = 0;
	core->in_run = true;
	return true;
}

void cnn_device_run(struct cnn_device *dev, unsigned int index, uint32_t budget_ns)
{
	if (index < dev->core_count && dev->core[index].in_run)
		cnn_job_run(&dev->core[index], budget_ns);
}

void cnn_device_rest(struct cnn_device *dev)
{
	cnn_workers_rest(dev->workers);
}

uint64_t cnn_device_wake(const struct cnn_device *dev, unsigned int index)
{
	const struct cnn_core *core = &dev->core[index < dev->core_count ? index : 0];

	if (!core->q.running || core->in_run || suspended(core) || !waits(core))
		return 0;
	return cnn_clock_time(core, core->wait);
}

static bool any_in_run(const struct cnn_device *dev)
{
	for (unsigned int i = 0; i < dev->core_count; i++)
		if (dev->core[i].in_run)
			return true;
	return false;
}

void cnn_device_end(struct cnn_device *dev, unsigned int index)
{
	struct cnn_core *core;

	if (index >= dev->core_count || !dev->core[index].in_run)
		return;
	core = &dev->core[index];
	core->in_run = false;
	if (core->inv_behind)
		cnn_port_flush(&core->port);
	if (core->inv_retired)
		core->job.residue_root = CNN_NO_ROOT;
	core->inv_behind = 0;
	core->inv_retired = false;
	if (dev->reset_pending) {
		if (!any_in_run(dev))
			cnn_device_reset(dev);
		return;
	}
	if (core->reset_pending) {
		cnn_core_reset(core);
		return;
	}
	cnn_core_publish(core);
	if (core->event)
		cnn_queue_event(core);
	if (core->job.phase == JOB_DONE)
		cnn_queue_complete(core);
}
