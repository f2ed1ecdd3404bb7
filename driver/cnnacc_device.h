/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_DEVICE_H
#define CNNACC_DEVICE_H

#include <linux/bits.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/pm.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/gpu_scheduler.h>

#include <cnnacc_accel.h>
#include <cnnacc_hw.h>

#include "cnnacc_job.h"
#include "cnnacc_stats.h"

struct cnnacc_device;
struct cnnacc_dump;
struct pci_driver;
struct platform_driver;
struct seq_file;

/* Limits of a file, an ioctl and the device; DEV_QUERY reports them. */
#define CNNACC_HW_IDS		65536
#define CNNACC_FILE_QUOTA	(CNNACC_HW_IDS / 32)	/* address spaces, contexts */
#define CNNACC_USER_QUOTA	(CNNACC_HW_IDS / 2)
#define CNNACC_MAX_BIND_OPS	1024
#define CNNACC_MAX_SYNC_OPS	1024
#define CNNACC_MAX_JOBS		64	/* dependency masks are u64 */
#define CNNACC_MAX_TASKS	64
#define CNNACC_MAX_SYNCS	32
#define CNNACC_MAX_BOS		128
#define CNNACC_MAX_BO_SIZE	BIT_ULL(30)
#define CNNACC_MAX_MAPPINGS	65536	/* per address space */
#define CNNACC_MAX_TABLES	4096	/* page table pages per file */
#define CNNACC_MAX_BUFFERS	16384	/* handles per file */
#define CNNACC_MAX_QUEUED_JOBS	16384	/* per file */
#define CNNACC_MAX_QUEUED	64	/* jobs of job_cycles_max per context, in cycles */
#define CNNACC_CTX_FAILURES	3	/* in succession; then it is banned */
#define CNNACC_FILE_FAILURES	8

#define CNNACC_PRIORITIES	(DRM_CNNACC_PRIORITY_HIGH + 1)
#define CNNACC_RING_ENTRIES	128
/* What the jobs in the ring may cost: half of its entries, and CNNACC_RING_MS of time. */
#define CNNACC_CREDITS		CNNACC_MAX_TASKS
#define CNNACC_RING_MS		1

/**
 * struct cnnacc_bus - bus operations.
 * @irq: return the Linux interrupt number of a vector
 * @allow_dma: allow DMA, or block it if the device cannot be reset
 * @wires: interrupts are level wires, which other devices may share
 * @wedged: variable of the uevent about a device that cannot be reset: the ways to recover it
 * @irq_hint: what to check if interrupts do not arrive
 */
struct cnnacc_bus {
	int (*irq)(struct device *dev, unsigned int vector);
	void (*allow_dma)(struct device *dev, bool allow);
	bool wires;
	const char *wedged;
	const char *irq_hint;
};

/**
 * struct cnnacc_vector - one interrupt of the device.
 * @cdev: device
 * @mask: CNNACC_IRQ_* bits that it reports
 * @pending: bits for the interrupt thread to handle
 * @count: interrupts handled
 * @irq: Linux interrupt number
 * @name: of the driver, the core and the device, in /proc/interrupts
 */
struct cnnacc_vector {
	struct cnnacc_device *cdev;
	u32 mask;
	atomic_t pending;
	unsigned int count;
	int irq;
	char name[40];
};

/**
 * struct cnnacc_core - a core and its hardware queue.
 *
 * Hardware fences point to their core and may outlive the device, so a core is reference-counted.
 *
 * @ref: held by the device and by every hardware fence
 * @cdev: device; dangling once the device is freed
 * @index: core index
 * @name: "NAME.index", with the name in the discovery entry
 * @entry: discovery entry as the device has it
 * @info: discovery entry as DEV_QUERY reports it
 * @equal: mask of the cores that are equal to it, with its own bit
 * @load: cycle limits of the jobs that have not ended, by priority of their context
 * @charged: cycle limits of all jobs since the driver was bound
 * @last_ctx: hardware id of the last job; CNNACC_HW_IDS: none yet
 * @sched: scheduler
 * @turn: job that the scheduler starts next, after the wait of a lower priority; or NULL
 * @yielded: jiffies when such a job was started last
 * @fence_lock: lock of the hardware fences
 * @ring: packet ring
 * @ring_dma: bus address of @ring
 * @records: ring of completion records
 * @records_dma: bus address of @records
 * @reset_work: resets the core after a failure
 * @event_work: lets events interrupt again
 * @event_irq: events interrupt; protected by &cnnacc_device.irq_lock
 * @done_work: processes completions on @cpu
 * @cpu: CPU that started the last job
 * @lock: protects all members below
 * @enabled: the hardware queue is enabled and its completion records are valid
 * @ready: packets may be written to the ring
 * @broken: the device's answers cannot be trusted; the running job counts as hung
 * @processing: a thread ends completed jobs; only one at a time does, so that jobs end in order
 * @reprocess: that thread has to read the queue once more
 * @failure: the job that stopped the queue, until recovery ends it
 * @innocent: jobs that recovery ends after that one
 * @jobs: jobs that the scheduler has started and that have not ended; first those that are written
 * @queues: contexts' queues with jobs that the scheduler has not started, by priority
 * @tail: ring index after the last packet
 * @head: index of the next completion record
 * @head_acked: value of @head that was last written to the device
 * @seq: sequence number of the last completion record
 * @next_fence: fence value of the next packet
 * @aborting: fence value of the hung packet that is being aborted, or 0
 * @events: last value of EVENT_COUNT
 * @watchdog_fence: fence value of the packet at the head at the last watchdog check
 * @watchdog_progress: PROGRESS at the last watchdog check
 * @irq_seen: the last watchdog check found an unhandled interrupt
 * @irq_count: &cnnacc_vector.count at the last watchdog check
 * @irq_lost: a lost interrupt has been reported
 * @job_start: jiffies when the first job in the ring became the first
 * @resets: number of core resets
 * @meter: accounting
 */
struct cnnacc_core {
	struct kref ref;
	struct cnnacc_device *cdev;
	unsigned int index;
	char name[16];
	struct cnnacc_core_entry entry;
	struct drm_cnnacc_core_info info;
	unsigned long equal;
	atomic64_t load[CNNACC_PRIORITIES];
	atomic64_t charged;
	u32 last_ctx;
	struct drm_gpu_scheduler sched;
	struct cnnacc_job *turn;
	unsigned long yielded;
	spinlock_t fence_lock;		/* lock of the hardware fences */
	struct cnnacc_packet *ring;
	dma_addr_t ring_dma;
	struct cnnacc_completion *records;
	dma_addr_t records_dma;
	struct work_struct reset_work;
	struct delayed_work event_work;
	bool event_irq;
	struct work_struct done_work;
	unsigned int cpu;

	spinlock_t lock;		/* protects all members below */
	bool enabled;
	bool ready;
	bool broken;
	bool processing;
	bool reprocess;
	struct cnnacc_failure failure;
	struct list_head innocent;
	struct list_head jobs;
	struct list_head queues[CNNACC_PRIORITIES];
	u32 tail;
	u32 head;
	u32 head_acked;
	u32 seq;
	u64 next_fence;
	u64 aborting;
	u32 events;
	u64 watchdog_fence;
	u32 watchdog_progress;
	bool irq_seen;
	bool irq_lost;
	unsigned int irq_count;
	unsigned long job_start;
	u64 resets;
	struct cnnacc_meter meter;
};

/**
 * struct cnnacc_device - a device.
 * @drm: DRM device
 * @regs: register pages
 * @bus: bus operations
 * @bus_state: the bus's own data
 * @hw_version: register HW_VERSION
 * @features: register FEATURES, without COHERENT if DMA goes through bounce buffers
 * @clock_hz: register CLOCK_HZ
 * @core_count: number of cores
 * @cores: the cores
 * @balance_lock: makes the choice of the least loaded core and its charge atomic
 * @vector_count: number of requested interrupts
 * @vector_max: number of @vectors: one for everything, or as many as there are cores and one
 * @vectors: the interrupts, one per core and then one for errors
 * @irq_blocked: interrupt handlers do not access registers, as the device may have no power
 * @unpowered: the device could not be powered on: its registers are not accessed
 * @shell_error: last error that the interrupt handler read
 * @pair_lock: makes reads of lo/hi register pairs atomic
 * @irq_lock: protects @irq_enable
 * @irq_enable: register IRQ_ENABLE
 * @inv_lock: makes the write of INVALIDATE and the read of its sequence number atomic
 * @reset_gen: incremented by each device reset, which also drops all translations
 * @reset_count: number of device resets
 * @max_queued_cycles: limit of the cycles that a context has queued
 * @ban: contexts and files that keep failing are banned
 * @wedged: the device does not reset; no more jobs are started
 * @sched_wq: workqueue of the schedulers; a job starts on the CPU that submits it
 * @reset_wq: ordered workqueue for everything that resets a core or the device
 * @reset_work: resets the device
 * @wedged_work: sends the uevent about a wedged device
 * @suspend_work: occupies @reset_wq while the device is suspended or reset from outside
 * @suspend_lock: held for writing by @suspend_work, for reading by users of registers
 * @stopped: completed when @suspend_work has stopped the device
 * @resume: completed when @suspend_work may restart the device
 * @free_wq: workqueue that frees contexts and address spaces
 * @report_wq: workqueue that publishes coredumps and sends uevents
 * @hw_ids: hardware context ids
 * @ctx_lock: protects @contexts and @vms
 * @pause_lock: protects pauses of the schedulers
 * @contexts: contexts that are not yet freed
 * @vms: address spaces that are not yet freed
 * @user_lock: protects @users
 * @users: who has opened files
 * @bo_lock: protects @bos
 * @bos: buffers
 * @job_count: jobs that are not yet freed
 * @idle: woken when @job_count is zero
 * @dma_stopped: completed when a device that is being removed does no more DMA
 * @dump: room for a coredump
 * @dump_next: jiffies before which no coredump is taken
 * @dump_work: publishes @dump
 */
struct cnnacc_device {
	struct drm_device drm;
	void __iomem *regs;
	const struct cnnacc_bus *bus;
	void *bus_state;
	u32 hw_version;
	u32 features;
	u32 clock_hz;
	unsigned int core_count;
	struct cnnacc_core *cores[CNNACC_MAX_CORES];
	spinlock_t balance_lock;	/* makes choice and charge of a core atomic */
	unsigned int vector_count;
	unsigned int vector_max;
	bool irq_blocked;
	bool unpowered;
	struct cnnacc_vector vectors[CNNACC_MAX_CORES + 1];
	struct {
		u32 code;	/* enum cnnacc_shell_error */
		u32 core;
		u64 addr;	/* bus address or value */
	} shell_error;
	spinlock_t pair_lock;		/* makes reads of lo/hi pairs atomic */
	spinlock_t irq_lock;		/* protects @irq_enable */
	u32 irq_enable;
	spinlock_t inv_lock;		/* makes INVALIDATE and the read of INV_SEQ atomic */
	atomic_t reset_gen;
	atomic64_t reset_count;
	u64 max_queued_cycles;
	bool ban;
	bool wedged;
	struct workqueue_struct *sched_wq;
	struct workqueue_struct *reset_wq;
	struct work_struct reset_work;
	struct work_struct wedged_work;
	struct work_struct suspend_work;
	struct rw_semaphore suspend_lock;	/* keeps the device from being suspended */
	struct completion stopped;
	struct completion resume;
	struct workqueue_struct *free_wq;
	struct workqueue_struct *report_wq;
	struct ida hw_ids;
	struct mutex ctx_lock;		/* protects @contexts and @vms */
	struct mutex pause_lock;	/* protects pauses of the schedulers */
	struct list_head contexts;
	struct list_head vms;
	struct mutex user_lock;		/* protects @users */
	struct list_head users;
	struct mutex bo_lock;		/* protects @bos */
	struct list_head bos;
	atomic_t job_count;
	wait_queue_head_t idle;
	struct completion dma_stopped;
	struct cnnacc_dump *dump;
	unsigned long dump_next;
	struct work_struct dump_work;
};

#define to_cnnacc_device(dev) container_of(dev, struct cnnacc_device, drm)

/* A block for whose end a removal of the device waits; negative if the device is unplugged. */
DEFINE_CLASS(cnnacc_section, int, _T < 0 ? (void)0 : drm_dev_exit(_T),
	     ({ int idx; drm_dev_enter(drm, &idx) ? idx : -1; }), struct drm_device *drm)

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

/* cnnacc_pci.c, cnnacc_platform.c */
extern struct pci_driver cnnacc_pci_driver;
extern struct platform_driver cnnacc_platform_driver;

/* cnnacc_drv.c */
extern const struct drm_driver cnnacc_drm_driver;

/* cnnacc_device.c */
struct cnnacc_device *cnnacc_device_create(struct device *dev, void __iomem *regs,
					   const struct cnnacc_bus *bus);
int cnnacc_device_start(struct cnnacc_device *cdev);
void cnnacc_device_stop(struct cnnacc_device *cdev);
u64 cnnacc_device_read_pair(struct cnnacc_device *cdev, u32 offset);
u32 cnnacc_device_read_any(struct cnnacc_device *cdev, u32 offset);
bool cnnacc_device_gone(struct cnnacc_device *cdev);
void cnnacc_device_suspend(struct cnnacc_device *cdev);
void cnnacc_device_restart(struct cnnacc_device *cdev);
void cnnacc_device_reset(struct cnnacc_device *cdev);
void cnnacc_device_request_reset(struct cnnacc_device *cdev);
void cnnacc_device_invalidate(struct cnnacc_device *cdev, u32 hw_id, u32 flags);

/* cnnacc_balance.c */
void cnnacc_balance_init(struct cnnacc_device *cdev);
void cnnacc_balance_charge(struct cnnacc_job *job);
void cnnacc_balance_discharge(struct cnnacc_job *job);
void cnnacc_balance_choose(struct cnnacc_job *job);

/* cnnacc_core.c */
struct cnnacc_core *cnnacc_core_create(struct cnnacc_device *cdev, unsigned int index);
void cnnacc_core_destroy(struct cnnacc_core *core);
void cnnacc_core_release(struct kref *ref);

/* cnnacc_queue.c */
void cnnacc_core_program(struct cnnacc_core *core);
int cnnacc_core_enable(struct cnnacc_core *core);
void cnnacc_core_stop_locked(struct cnnacc_core *core);
void cnnacc_core_disable(struct cnnacc_core *core);
void cnnacc_core_pause(struct cnnacc_core *core);
bool cnnacc_core_busy(struct cnnacc_core *core);
void cnnacc_core_make_packet(const struct cnnacc_job *job, u32 index,
			     struct cnnacc_packet *packet);
void cnnacc_core_listen(struct cnnacc_core *core);
void cnnacc_core_event_work(struct work_struct *work);
void cnnacc_core_resume(struct cnnacc_core *core);
void cnnacc_core_start(struct cnnacc_core *core, struct cnnacc_job *job);
struct cnnacc_job *cnnacc_core_first_job(struct cnnacc_core *core);
void cnnacc_core_remove_job(struct cnnacc_core *core, struct cnnacc_job *job);
void cnnacc_core_rewind(struct cnnacc_core *core);
struct cnnacc_job *cnnacc_core_take_done(struct cnnacc_core *core, u32 tail,
					 struct cnnacc_completion *record);
enum cnnacc_end cnnacc_core_end_reason(struct cnnacc_core *core,
				       const struct cnnacc_completion *record);
void cnnacc_core_set_failure(struct cnnacc_core *core, struct cnnacc_job *job, enum cnnacc_end end,
			     const struct cnnacc_completion *record);
bool cnnacc_core_process(struct cnnacc_core *core, bool hard);

/* cnnacc_recovery.c */
void cnnacc_core_reset_work(struct work_struct *work);
void cnnacc_core_set_broken(struct cnnacc_core *core);
void cnnacc_core_force_reset(struct cnnacc_core *core);
bool cnnacc_core_hung(struct cnnacc_core *core);
void cnnacc_core_handle_hang(struct cnnacc_core *core);
void cnnacc_core_cancel_jobs(struct cnnacc_core *core, enum cnnacc_end end);

/* cnnacc_irq.c */
void cnnacc_irq_core_work(struct work_struct *work);
int cnnacc_irq_init(struct cnnacc_device *cdev);
void cnnacc_irq_fini(struct cnnacc_device *cdev);
void cnnacc_irq_enable(struct cnnacc_device *cdev);
void cnnacc_irq_set_events(struct cnnacc_core *core, bool on);
void cnnacc_irq_block(struct cnnacc_device *cdev);
struct cnnacc_vector *cnnacc_irq_vector(struct cnnacc_core *core);

/* cnnacc_pm.c */
extern const struct dev_pm_ops cnnacc_pm_ops;
int cnnacc_pm_get(struct cnnacc_device *cdev);
void cnnacc_pm_put(struct cnnacc_device *cdev);
int cnnacc_device_enter(struct cnnacc_device *cdev, int *idx);
void cnnacc_device_exit(struct cnnacc_device *cdev, int idx);
void cnnacc_pm_suspend_work(struct work_struct *work);
int cnnacc_pm_suspend(struct device *dev);
int cnnacc_pm_resume(struct device *dev);
int cnnacc_pm_runtime_suspend(struct device *dev);
int cnnacc_pm_runtime_resume(struct device *dev);
void cnnacc_pm_start(struct cnnacc_device *cdev);
void cnnacc_pm_stop(struct cnnacc_device *cdev);

/* cnnacc_selftest.c */
int cnnacc_selftest(struct seq_file *m, struct cnnacc_device *cdev);

/* cnnacc_dump.c */
int cnnacc_dump_init(struct cnnacc_device *cdev);
void cnnacc_dump_take(struct cnnacc_core *core);

/* cnnacc_debugfs.c */
void cnnacc_debugfs_init(struct cnnacc_device *cdev);

#endif
