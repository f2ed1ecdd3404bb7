/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_DEVICE_H
#define CNNACC_DEVICE_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/gpu_scheduler.h>

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

#include "cnnacc_job.h"
#include "cnnacc_stats.h"

struct cnnacc_device;
struct cnnacc_dump;

/* What a file, an ioctl and the device may use; user space learns it by DEV_QUERY. */
#define CNNACC_MAX_CONTEXTS	32
#define CNNACC_MAX_BIND_OPS	1024
#define CNNACC_MAX_SYNC_OPS	1024
#define CNNACC_MAX_JOBS		64	/* dependency masks are u64 */
#define CNNACC_MAX_TASKS	64
#define CNNACC_MAX_SYNCS	32
#define CNNACC_MAX_BOS		128
#define CNNACC_MAX_BO_SIZE	BIT_ULL(30)
#define CNNACC_MAX_MAPPINGS	65536	/* per context */
#define CNNACC_MAX_TABLES	4096	/* page table pages per file */
#define CNNACC_MAX_BUFFERS	16384	/* handles per file */
#define CNNACC_MAX_QUEUED_JOBS	16384	/* per file */

#define CNNACC_CTX_IDS		65536
#define CNNACC_RING_ENTRIES	128	/* more than CNNACC_MAX_TASKS */

/**
 * struct cnnacc_bus - what the bus glue does for the bus-neutral part.
 * @irq: Linux interrupt number of a vector
 * @allow_dma: let the device reach memory, or, if it does not reset, cut it off
 */
struct cnnacc_bus {
	int (*irq)(struct device *dev, unsigned int vector);
	void (*allow_dma)(struct device *dev, bool allow);
};

/**
 * struct cnnacc_vector - one interrupt of the device.
 * @cdev: device
 * @mask: CNNACC_IRQ_* bits it serves
 * @pending: bits left to the interrupt thread
 * @count: interrupts taken
 * @irq: Linux interrupt number
 */
struct cnnacc_vector {
	struct cnnacc_device *cdev;
	u32 mask;
	atomic_t pending;
	unsigned int count;
	int irq;
};

/**
 * struct cnnacc_shell_report - error that belongs to no job.
 * @code: enum cnnacc_shell_error
 * @core: core index
 * @addr: bus address or value
 */
struct cnnacc_shell_report {
	u32 code;
	u32 core;
	u64 addr;
};

/* Bits of &cnnacc_core.flags */
#define CNNACC_CORE_FORWARDED	0	/* the csd is on its way */

/**
 * struct cnnacc_core - a core and its hardware queue.
 *
 * Fences point into it and may outlive the device, so it has its own count.
 *
 * @ref: held by the device and by every hardware fence
 * @cdev: device; not valid once it is gone
 * @index: core index
 * @name: "TYPE.index"
 * @info: its discovery entry
 * @sched: its scheduler, which lets one batch at a time through
 * @fence_lock: their lock
 * @ring: packets
 * @ring_dma: their bus address
 * @records: completion records
 * @records_dma: their bus address
 * @reset_work: brings the core back after a failure
 * @flags: CNNACC_CORE_*
 * @cpu: CPU that submitted the jobs in the ring
 * @csd: ends jobs on that CPU
 * @lock: protects what follows
 * @enabled: the hardware queue runs
 * @ready: packets may be put into the ring
 * @broken: the running job is lost, not failed by the device
 * @ending: somebody ends jobs that are done; only one does, so they end in order
 * @again: that one has to look at the queue once more
 * @failure: what stopped the queue, until a reset has dealt with it
 * @batch: jobs that the scheduler has handed over, or NULL
 * @tail: ring index after the last packet
 * @head: index of the next completion record
 * @head_told: that index as the device knows it
 * @seq: number of the last completion record
 * @next_fence: fence value of the next packet
 * @aborting: fence value of the packet that does not end and is to be aborted, or 0
 * @events: EVENT_COUNT as last seen
 * @watched: fence value of the packet that the watchdog last found at the head
 * @progress: PROGRESS when it last looked
 * @irq_seen: when the watchdog last looked it found an interrupt that nobody had handled yet
 * @irq_count: &cnnacc_vector.count then
 * @irq_lost: a lost interrupt was reported
 * @since: when the first job in the ring came to be that, jiffies
 * @resets: times the core was reset
 * @meter: usage
 */
struct cnnacc_core {
	struct kref ref;
	struct cnnacc_device *cdev;
	unsigned int index;
	char name[16];
	struct drm_cnnacc_core_info info;
	struct drm_gpu_scheduler sched;
	spinlock_t fence_lock;		/* of the hardware fences */
	struct cnnacc_packet *ring;
	dma_addr_t ring_dma;
	struct cnnacc_completion *records;
	dma_addr_t records_dma;
	struct work_struct reset_work;
	unsigned long flags;
	unsigned int cpu;
	call_single_data_t csd;

	spinlock_t lock;		/* protects what follows */
	bool enabled;
	bool ready;
	bool broken;
	bool ending;
	bool again;
	struct cnnacc_failure failure;
	struct cnnacc_batch *batch;
	u32 tail;
	u32 head;
	u32 head_told;
	u32 seq;
	u64 next_fence;
	u64 aborting;
	u32 events;
	u64 watched;
	u32 progress;
	bool irq_seen;
	bool irq_lost;
	unsigned int irq_count;
	unsigned long since;
	u64 resets;
	struct cnnacc_meter meter;
};

/**
 * struct cnnacc_device - a device.
 * @drm: DRM device
 * @regs: register pages
 * @bus: bus glue
 * @hw_version: register HW_VERSION
 * @features: register FEATURES, less what the path to memory takes away
 * @clock_hz: register CLOCK_HZ
 * @core_count: cores
 * @cores: the cores
 * @vector_count: interrupts
 * @vectors: the interrupts
 * @shell_error: last error that the interrupt handler saw
 * @pair_lock: makes reads of lo/hi register pairs whole
 * @inv_lock: makes INVALIDATE and the read of its number one
 * @reset_gen: goes up when a device reset forgot all translations
 * @reset_count: device resets
 * @wedged: given up: nothing is started any more
 * @sched_wq: of the schedulers; a job starts on the CPU that submits it
 * @reset_wq: ordered; whatever resets a core or the device runs here
 * @reset_work: resets the device
 * @wedged_work: tells user space that it was given up
 * @away_work: occupies @reset_wq while the device sleeps or is reset from outside
 * @away_lock: held for writing meanwhile
 * @left: done when @away_work has stopped the device
 * @back: done when it may bring it back
 * @ctx_wq: tears contexts down, and tells user space of coredumps and the end
 * @ctx_ids: context ids of the hardware
 * @ctx_lock: protects @contexts
 * @contexts: all contexts not yet torn down
 * @bo_lock: protects @bos
 * @bos: buffers
 * @batch_count: batches of jobs not yet freed
 * @idle: woken when @batch_count is zero
 * @silent: done when a device that goes away does no DMA any more
 * @dump: coredump that waits to be given away, or NULL
 * @dump_next: jiffies before which none is taken
 * @dump_work: gives it away
 */
struct cnnacc_device {
	struct drm_device drm;
	void __iomem *regs;
	const struct cnnacc_bus *bus;
	u32 hw_version;
	u32 features;
	u32 clock_hz;
	unsigned int core_count;
	struct cnnacc_core *cores[CNNACC_MAX_CORES];
	unsigned int vector_count;
	struct cnnacc_vector vectors[CNNACC_MAX_CORES + 1];
	struct cnnacc_shell_report shell_error;
	spinlock_t pair_lock;		/* makes reads of lo/hi pairs whole */
	spinlock_t inv_lock;		/* joins INVALIDATE and its number */
	atomic_t reset_gen;
	atomic64_t reset_count;
	bool wedged;
	struct workqueue_struct *sched_wq;
	struct workqueue_struct *reset_wq;
	struct work_struct reset_work;
	struct work_struct wedged_work;
	struct work_struct away_work;
	struct rw_semaphore away_lock;	/* keeps the device from going away */
	struct completion left;
	struct completion back;
	struct workqueue_struct *ctx_wq;
	struct ida ctx_ids;
	struct mutex ctx_lock;		/* protects @contexts */
	struct list_head contexts;
	struct mutex bo_lock;		/* protects @bos */
	struct list_head bos;
	atomic_t batch_count;
	wait_queue_head_t idle;
	struct completion silent;
	struct cnnacc_dump *dump;
	unsigned long dump_next;
	struct work_struct dump_work;
};

#define to_cnnacc_device(dev) container_of(dev, struct cnnacc_device, drm)

static inline u32 cnnacc_read(struct cnnacc_device *cdev, u32 offset)
{
	return readl(cdev->regs + offset);
}

static inline void cnnacc_write(struct cnnacc_device *cdev, u32 offset, u32 value)
{
	writel(value, cdev->regs + offset);
}

static inline u32 cnnacc_queue_read(struct cnnacc_core *core, u32 offset)
{
	return cnnacc_read(core->cdev, core->info.queue_offset + offset);
}

static inline void cnnacc_queue_write(struct cnnacc_core *core, u32 offset, u32 value)
{
	cnnacc_write(core->cdev, core->info.queue_offset + offset, value);
}

/* cnnacc_drv.c */
extern const struct drm_driver cnnacc_drm_driver;

/* cnnacc_device.c */
struct cnnacc_device *cnnacc_device_create(struct device *dev, void __iomem *regs,
					   const struct cnnacc_bus *bus);
int cnnacc_device_start(struct cnnacc_device *cdev);
void cnnacc_device_stop(struct cnnacc_device *cdev);
u64 cnnacc_device_read_pair(struct cnnacc_device *cdev, u32 offset);
u32 cnnacc_device_read_any(struct cnnacc_device *cdev, u32 offset);
bool cnnacc_device_lost(struct cnnacc_device *cdev);
void cnnacc_device_halt(struct cnnacc_device *cdev);
void cnnacc_device_revive(struct cnnacc_device *cdev);
void cnnacc_device_reset(struct cnnacc_device *cdev);
void cnnacc_device_request_reset(struct cnnacc_device *cdev);
void cnnacc_device_invalidate(struct cnnacc_device *cdev, u32 hw_id, u32 flags);

/* cnnacc_core.c */
struct cnnacc_core *cnnacc_core_create(struct cnnacc_device *cdev, unsigned int index);
void cnnacc_core_destroy(struct cnnacc_core *core);
void cnnacc_core_release(struct kref *ref);
void cnnacc_core_program(struct cnnacc_core *core);
int cnnacc_core_enable(struct cnnacc_core *core);
void cnnacc_core_disable(struct cnnacc_core *core);
void cnnacc_core_hold(struct cnnacc_core *core);
bool cnnacc_core_busy(struct cnnacc_core *core);
void cnnacc_core_resume(struct cnnacc_core *core);
void cnnacc_core_start(struct cnnacc_core *core, struct cnnacc_batch *batch);
bool cnnacc_core_forward(struct cnnacc_core *core);
bool cnnacc_core_process(struct cnnacc_core *core, bool hard);
void cnnacc_core_break(struct cnnacc_core *core);
void cnnacc_core_force_reset(struct cnnacc_core *core);
bool cnnacc_core_hung(struct cnnacc_core *core);
void cnnacc_core_kill(struct cnnacc_core *core);
void cnnacc_core_cancel(struct cnnacc_core *core, enum cnnacc_end end);

/* cnnacc_irq.c */
int cnnacc_irq_init(struct cnnacc_device *cdev);
void cnnacc_irq_fini(struct cnnacc_device *cdev);
void cnnacc_irq_enable(struct cnnacc_device *cdev);
void cnnacc_irq_sync(struct cnnacc_device *cdev);
void cnnacc_irq_defer(struct cnnacc_core *core);

/* cnnacc_selftest.c */
int cnnacc_selftest(struct cnnacc_device *cdev);

/* cnnacc_sysfs.c */
extern const struct attribute_group *cnnacc_sysfs_groups[];

/* cnnacc_dump.c */
void cnnacc_dump_init(struct cnnacc_device *cdev);
void cnnacc_dump_fini(struct cnnacc_device *cdev);
void cnnacc_dump_take(struct cnnacc_core *core);

/* cnnacc_debugfs.c */
void cnnacc_debugfs_init(struct cnnacc_device *cdev);

#endif
