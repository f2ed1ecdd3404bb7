// SPDX-License-Identifier: GPL-2.0-only
#include <linux/interrupt.h>

#include <drm/drm_print.h>

#include "cnnacc_device.h"

/**
 * DOC: interrupts
 *
 * The hard handler acknowledges the interrupt, reads the completion records and signals fences.
 * The threaded handler does what takes longer: events and errors.
 *
 * On another CPU than the one that started the jobs the hard handler leaves the rest to a work item
 * there: the waiter is likely to sleep on that CPU, and scheduler and waiter would spin on locks
 * that this CPU holds.
 *
 * Each core has a vector, and errors have one.  A core's MSI-X vector stands for the status bits of
 * that core only, so its handler need not read IRQ_STATUS.  A level wire may be shared with other
 * devices, and all vectors may be one wire, so its handler does; and reads it again when it has
 * cleared the bits, so that the wire is low when it returns.  While the device is suspended the
 * handler of a shared wire is called, too: &cnnacc_device.irq_blocked keeps it off the registers.
 *
 * Events interrupt only while a job that has an eventfd is in the core's ring, and at most once in
 * a millisecond: each interrupt masks them until &cnnacc_core.event_work.
 */

#define CNNACC_IRQ_EVENT_INTERVAL_MS	1

/* Must be called before the status bit is cleared, as that clears the report too. */
static void cnnacc_irq_save_error(struct cnnacc_device *cdev)
{
	WRITE_ONCE(cdev->shell_error.code, cnnacc_read(cdev, CNNACC_REG_ERR_CODE));
	WRITE_ONCE(cdev->shell_error.core, cnnacc_read(cdev, CNNACC_REG_ERR_CORE));
	WRITE_ONCE(cdev->shell_error.addr, cnnacc_device_read_pair(cdev, CNNACC_REG_ERR_ADDR_LO));
}

/* Processes a core on the CPU that started its jobs: &cnnacc_core.done_work. */
void cnnacc_irq_core_work(struct work_struct *work)
{
	struct cnnacc_core *core = container_of(work, struct cnnacc_core, done_work);
	bool cookie = dma_fence_begin_signalling();

	cnnacc_core_process(core, false);
	dma_fence_end_signalling(cookie);
}

/* Returns false if the interrupt thread must process the core. */
static bool cnnacc_irq_core(struct cnnacc_core *core)
{
	unsigned int cpu = READ_ONCE(core->cpu);

	if (cpu == smp_processor_id())
		return cnnacc_core_process(core, true);
	queue_work_on(cpu, core->cdev->sched_wq, &core->done_work);
	return true;
}

/* Enables or masks a core's events; the device is not suspended. */
void cnnacc_irq_set_events(struct cnnacc_core *core, bool on)
{
	struct cnnacc_device *cdev = core->cdev;

	scoped_guard(spinlock_irqsave, &cdev->irq_lock) {
		if (core->event_irq != on)
			WRITE_ONCE(cdev->irq_enable,
				   cdev->irq_enable ^ CNNACC_IRQ_EVENT(core->index));
		WRITE_ONCE(core->event_irq, on);
		cnnacc_write(cdev, CNNACC_REG_IRQ_ENABLE, cdev->irq_enable);
	}
}

/* Masks events for a while: a program may raise them faster than a CPU takes interrupts. */
static void cnnacc_irq_hold_events(struct cnnacc_core *core)
{
	if (!READ_ONCE(core->event_irq))
		return;
	cnnacc_irq_set_events(core, false);
	queue_delayed_work(system_wq, &core->event_work,
			   msecs_to_jiffies(CNNACC_IRQ_EVENT_INTERVAL_MS));
}

/* Processes the cores in @status; returns the bits that the interrupt thread must handle. */
static u32 cnnacc_irq_cores(struct cnnacc_device *cdev, u32 status)
{
	unsigned int i;
	u32 bits;

	for (i = 0; i < cdev->core_count; i++) {
		bits = status & (CNNACC_IRQ_CORE(i) | CNNACC_IRQ_EVENT(i));
		if (bits)
			cnnacc_irq_hold_events(cdev->cores[i]);
		if (bits && cnnacc_irq_core(cdev->cores[i]))
			status &= ~bits;
	}
	return status;
}

/* Returns the status bits that an interrupt is about, 0 if it is another device's. */
static u32 cnnacc_irq_status(const struct cnnacc_vector *vector)
{
	struct cnnacc_device *cdev = vector->cdev;
	u32 status;

	if (READ_ONCE(cdev->irq_blocked))
		return 0;
	/* A core's message is about that core only: its queue registers tell the rest. */
	if (!cdev->bus->wires && !(vector->mask & CNNACC_IRQ_ERROR))
		return vector->mask;
	status = cnnacc_read(cdev, CNNACC_REG_IRQ_STATUS);
	if (status == ~0u)	/* the device is gone */
		return 0;
	return status & vector->mask & (cdev->bus->wires ? READ_ONCE(cdev->irq_enable) : ~0u);
}

static irqreturn_t cnnacc_irq_hard(int irq, void *arg)
{
	struct cnnacc_vector *vector = arg;
	struct cnnacc_device *cdev = vector->cdev;
	u32 status = cnnacc_irq_status(vector);

	if (!status)
		return IRQ_NONE;

	WRITE_ONCE(vector->count, vector->count + 1);
	if (status & CNNACC_IRQ_ERROR)
		cnnacc_irq_save_error(cdev);
	cnnacc_write(cdev, CNNACC_REG_IRQ_STATUS, status);
	if (cdev->bus->wires)
		cnnacc_read(cdev, CNNACC_REG_IRQ_STATUS);
	status = cnnacc_irq_cores(cdev, status);
	if (!status)
		return IRQ_HANDLED;
	atomic_or(status, &vector->pending);
	return IRQ_WAKE_THREAD;
}

static void cnnacc_irq_error(struct cnnacc_device *cdev)
{
	/* READ_ONCE: the hard handler may overwrite the report. */
	u32 code = READ_ONCE(cdev->shell_error.code), core = READ_ONCE(cdev->shell_error.core);

	if (code == CNNACC_SHELL_OK)	/* raised by IRQ_RAISE */
		return;
	drm_err_ratelimited(&cdev->drm, "shell error %u, core %u, address %#llx\n",
			    code, core, READ_ONCE(cdev->shell_error.addr));
	if ((code == CNNACC_SHELL_PACKET_READ || code == CNNACC_SHELL_COMPL_WRITE) &&
	    core < cdev->core_count)
		cnnacc_core_set_broken(cdev->cores[core]);
}

static irqreturn_t cnnacc_irq_thread(int irq, void *arg)
{
	struct cnnacc_vector *vector = arg;
	struct cnnacc_device *cdev = vector->cdev;
	u32 pending = atomic_xchg(&vector->pending, 0);
	bool cookie = dma_fence_begin_signalling();
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++)
		if (pending & (CNNACC_IRQ_CORE(i) | CNNACC_IRQ_EVENT(i)))
			cnnacc_core_process(cdev->cores[i], false);
	if (pending & CNNACC_IRQ_ERROR)
		cnnacc_irq_error(cdev);
	dma_fence_end_signalling(cookie);
	return IRQ_HANDLED;
}

/* Enables all interrupts in the device but those of masked events. */
void cnnacc_irq_enable(struct cnnacc_device *cdev)
{
	u32 mask = CNNACC_IRQ_ERROR;
	unsigned int i;

	scoped_guard(spinlock_irqsave, &cdev->irq_lock) {
		for (i = 0; i < cdev->core_count; i++) {
			mask |= CNNACC_IRQ_CORE(i);
			/* Only one of the cores may have been reset. */
			if (cdev->cores[i]->event_irq)
				mask |= CNNACC_IRQ_EVENT(i);
		}
		WRITE_ONCE(cdev->irq_enable, mask);
		WRITE_ONCE(cdev->irq_blocked, false);
		cnnacc_write(cdev, CNNACC_REG_IRQ_ENABLE, mask);
	}
}

/* Keeps interrupt handlers off the registers until cnnacc_irq_enable(); waits for running ones. */
void cnnacc_irq_block(struct cnnacc_device *cdev)
{
	unsigned int i;

	WRITE_ONCE(cdev->irq_blocked, true);
	for (i = 0; i < cdev->vector_count; i++)
		synchronize_irq(cdev->vectors[i].irq);
}

/* Returns the interrupt that a core raises. */
struct cnnacc_vector *cnnacc_irq_vector(struct cnnacc_core *core)
{
	struct cnnacc_device *cdev = core->cdev;

	return &cdev->vectors[min(core->index, cdev->vector_max - 1)];
}

/* Sets the status bits of a vector; returns whom it is for. */
static const char *cnnacc_irq_assign(struct cnnacc_device *cdev, unsigned int index)
{
	struct cnnacc_vector *vector = &cdev->vectors[index];
	unsigned int i;

	for (i = 0; i < cdev->core_count; i++)
		if (cdev->vector_max == 1 || i == index)
			vector->mask |= CNNACC_IRQ_CORE(i) | CNNACC_IRQ_EVENT(i);
	if (index == cdev->vector_max - 1)
		vector->mask |= CNNACC_IRQ_ERROR;
	if (cdev->vector_max == 1)
		return "all";
	return index < cdev->core_count ? cdev->cores[index]->name : "error";
}

/* Requests a device's interrupts; cnnacc_irq_fini() frees them, also after an error. */
int cnnacc_irq_init(struct cnnacc_device *cdev)
{
	struct cnnacc_vector *vector;
	unsigned int i;
	int ret;

	for (i = 0; i < cdev->vector_max; i++) {
		vector = &cdev->vectors[i];
		vector->cdev = cdev;
		/* As /proc/interrupts shows it, and as its thread is called. */
		snprintf(vector->name, sizeof(vector->name), "cnnacc-%s@%s",
			 cnnacc_irq_assign(cdev, i), dev_name(cdev->drm.dev));
		ret = cdev->bus->irq(cdev->drm.dev, i);
		if (ret < 0)
			return ret;
		vector->irq = ret;
		ret = request_threaded_irq(vector->irq, cnnacc_irq_hard, cnnacc_irq_thread,
					   cdev->bus->wires ? IRQF_SHARED : 0, vector->name,
					   vector);
		if (ret)
			return ret;
		cdev->vector_count++;
	}
	return 0;
}

/* Frees a device's interrupts: when this returns, no handler is running. */
void cnnacc_irq_fini(struct cnnacc_device *cdev)
{
	unsigned int i;

	if (!cdev->unpowered)
		cnnacc_write(cdev, CNNACC_REG_IRQ_ENABLE, 0);
	for (i = 0; i < cdev->vector_count; i++)
		free_irq(cdev->vectors[i].irq, &cdev->vectors[i]);
	cdev->vector_count = 0;
}
