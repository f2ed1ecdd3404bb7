/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The accelerator in software: the model's only public header.
 *
 * The model knows no QEMU and no clock; its host gives it those through struct
 * cm_host_ops.  Two kinds of call exist:
 *
 * - "locked" calls are serialised by the host with one lock per device (QEMU's
 *   big lock plus a device mutex, or a mutex of the in-process back end);
 * - cm_device_run() is called without that lock, by one thread per core at a
 *   time, and may run beside locked calls and beside other cores' runs.
 *
 * A host's worker for a core does, as long as there is work:
 *
 *	lock; more = cm_device_begin(dev, core); unlock;
 *	if (more) { cm_device_run(dev, core, budget_ns);
 *		    lock; cm_device_end(dev, core); unlock; }
 *
 * Threads of the model's own help cm_device_run() compute.  They block all
 * signals, call no host_ops and sleep when there is no run.
 *
 * A register write that makes work calls ops->kick(core); a worker that found
 * none sleeps until then.  Nothing is allocated after cm_device_create().
 */
#ifndef CNNACC_MODEL_H
#define CNNACC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_MAX_CORES	8
#define CM_MAX_THREADS	64
#define CM_ERR_LEN	160

/** struct cm_host_ops - what the model needs from its host. */
struct cm_host_ops {
	/*
	 * Read or write @len bytes at bus address @addr, RAM only.  0, or -1 if
	 * any byte is not RAM (the model reports BUS_ERROR).  From any thread.
	 */
	int (*dma_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	int (*dma_write)(void *opaque, uint64_t addr, const void *buf, size_t len);
	/*
	 * Map up to *@len bytes at @addr for direct access; shortens *@len to what
	 * is contiguous; NULL if it cannot.  Always undone by dma_unmap before the
	 * cm_device_run() that mapped returns.
	 */
	void *(*dma_map)(void *opaque, uint64_t addr, size_t *len, bool write);
	void (*dma_unmap)(void *opaque, void *ptr, size_t len, bool write);
	/* Message on MSI-X @vector; level wire: @level changed.  Locked calls only. */
	void (*irq_message)(void *opaque, unsigned int vector);
	void (*irq_level)(void *opaque, bool level);
	/* Device time in ns, monotonic; virtual time where there is one.  Locked calls only. */
	uint64_t (*now)(void *opaque);
	/* @core may have work: wake its worker.  Locked calls only. */
	void (*kick)(void *opaque, unsigned int core);
	/* Something a driver developer should know, one line.  Any thread. */
	void (*log)(void *opaque, const char *text);
};

/** struct cm_core_config - build parameters of one core; 0 = default. */
struct cm_core_config {
	uint32_t type;		/* enum cnnacc_core_type */
	uint64_t job_cycles_max;
	uint32_t data_bank;	/* ccp: bytes, multiple of 64, 4 KiB..64 MiB */
	uint32_t weight_bank;	/* ccp: bytes, multiple of 64, 1 KiB..1 MiB */
	uint32_t icache;	/* ccp: bytes, multiple of 64, 256..8 KiB */
	uint32_t lob;		/* ccp: vectors, 1..1024 */
	uint32_t fmap;		/* hwpe: bytes of an fmap SRAM, multiple of 64, 4 KiB..1 MiB */
	uint32_t kernel;	/* hwpe: bytes, multiple of 128, 4 KiB..16 MiB */
	uint32_t program;	/* hwpe: bytes, multiple of 64, 256..1 MiB */
};

/** enum cm_simd - the host's vectors that the model computes with; results are the same. */
enum cm_simd {
	CM_SIMD_WIDEST,		/* that the host has */
	CM_SIMD_BASELINE,		/* every host's: SSE2, NEON, or plain C */
	CM_SIMD_AVX2,
	CM_SIMD_AVX512,
};

/** struct cm_config - build parameters of a device. */
struct cm_config {
	uint32_t clock_hz;		/* 0 = 100 MHz */
	bool modelled;			/* jobs take the time that the cycle model gives */
	uint32_t threads;		/* that compute, 1..64, 0 = the CPUs of this process */
	uint32_t simd;			/* enum cm_simd */
	unsigned int core_count;	/* 0 = one ccp with defaults */
	struct cm_core_config core[CM_MAX_CORES];
};

/**
 * cm_config_set() - set one property from text.
 * @key: "cores", "clock-hz", "timing", "threads" or "simd"
 * @value: for cores a '+'-separated list of cores, each NAME[:PARAM=N]...,
 *	e.g. "ccp" or "ccp:data-bank=65536:lob=64+ccp"; parameters: job-cycles-max,
 *	of ccp data-bank, weight-bank, icache, lob, of hwpe fmap, kernel, program; for timing "instant" or "modelled"; for simd
 *	"widest", "baseline", "avx2" or "avx512"
 * @err: receives a message naming key, value and limit
 *
 * Return: 0, or -1 with @err filled.
 */
int cm_config_set(struct cm_config *config, const char *key, const char *value,
		   char err[CM_ERR_LEN]);

struct cm_device;

/**
 * cm_device_create() - build a device, in its reset state.
 * @config: copied; defaults resolved
 * @ops, @opaque: the host; @ops must outlive the device
 *
 * Return: the device, or NULL with @err filled (bad configuration, no memory).
 */
struct cm_device *cm_device_create(const struct cm_config *config,
				     const struct cm_host_ops *ops, void *opaque,
				     char err[CM_ERR_LEN]);
/* No cm_device_run() may be in progress in any of the calls down to load. */
void cm_device_destroy(struct cm_device *dev);
/** cm_device_reset() - whole-device reset, as power on (locked). */
void cm_device_reset(struct cm_device *dev);
/** cm_device_state_size() - bytes that save writes and load wants. */
size_t cm_device_state_size(const struct cm_device *dev);
/** cm_device_save() - complete state, also in the middle of an instruction (locked). */
void cm_device_save(const struct cm_device *dev, void *buf);
/**
 * cm_device_load() - take over a saved state (locked).
 *
 * The state is untrusted: build parameters must match and every index is checked.
 * Return: 0; or -1 with @err filled and the device reset.
 */
int cm_device_load(struct cm_device *dev, const void *buf, size_t len,
		    char err[CM_ERR_LEN]);
/** cm_device_wake_workers() - wake the workers that have work, e.g. after load (locked). */
void cm_device_wake_workers(struct cm_device *dev);

unsigned int cm_device_core_count(const struct cm_device *dev);
/** cm_device_vectors() - MSI-X vectors: one per core and one for errors. */
unsigned int cm_device_vectors(const struct cm_device *dev);

/** cm_device_read() - 32-bit register read at BAR offset @offset (locked). */
uint32_t cm_device_read(struct cm_device *dev, uint32_t offset);
/**
 * cm_device_write() - 32-bit register write (locked).
 *
 * Returns at once; a reset or abort of a core that is in cm_device_run() takes
 * effect at the next cm_device_end(), and reads as in progress until then.
 */
void cm_device_write(struct cm_device *dev, uint32_t offset, uint32_t value);

/**
 * cm_device_begin() - is there work for @core now?  Takes the next packet if idle (locked).
 *
 * With timing=modelled a packet also waits for ops->now() to reach the time at which the
 * hardware would access memory or end: then there is none before cm_device_wake_time().
 */
bool cm_device_begin(struct cm_device *dev, unsigned int core);
/** cm_device_run() - work on the packet for about @budget_ns at most 5 ms (unlocked). */
void cm_device_run(struct cm_device *dev, unsigned int core, uint32_t budget_ns);
/** cm_device_end() - publish what the run did: records, interrupts, resets (locked). */
void cm_device_end(struct cm_device *dev, unsigned int core);
/**
 * cm_device_idle() - no work is in sight: the threads that help sleep at once (any thread).
 *
 * They otherwise look out for more for a while, which suits a host whose next job follows soon;
 * a guest has to be woken up first, and needs the host's processors for it.
 */
void cm_device_idle(struct cm_device *dev);

/** cm_device_wake_time() - device time when the waiting packet of @core goes on, 0: none (locked). */
uint64_t cm_device_wake_time(const struct cm_device *dev, unsigned int core);

#ifdef __cplusplus
}
#endif

#endif /* CNNACC_MODEL_H */
