/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The accelerator in software: the model's only public header.
 *
 * The model depends on neither QEMU nor a clock; its host provides memory, interrupts and time
 * through struct cm_host_ops.  Two kinds of call exist:
 *
 * - "locked" calls are serialised by the host with one lock per device (QEMU's
 *   big lock plus a device mutex, or a mutex of the in-process back end);
 * - cm_device_run() is called without that lock, by one thread per core at a
 *   time, and may run concurrently with locked calls and with other cores' runs.
 *
 * A host's worker for a core repeats, as long as there is work:
 *
 *	lock; more = cm_device_begin(dev, core); unlock;
 *	if (more) { cm_device_run(dev, core, budget_ns);
 *		    lock; cm_device_end(dev, core); unlock; }
 *
 * The model's own threads share the computation of cm_device_run() and sleep between its calls.
 * They block all signals, and they call none of the functions in struct cm_host_ops.
 *
 * A register write that makes work available calls ops->wake_worker(core); a worker without work
 * sleeps until then.  The model allocates no memory after cm_device_create().
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
#define CM_ERR_LEN	192
#define CM_CORE_NAME_LEN	8	/* with the NUL */
#define CM_MAX_PARAMS	16	/* build parameters of a core */

/** struct cm_host_ops - what the model needs from its host. */
struct cm_host_ops {
	/*
	 * Read or write @len bytes of RAM at bus address @addr.  Return 0, or -1 if
	 * any byte is not RAM (the model reports BUS_ERROR).  Called from any thread.
	 */
	int (*dma_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	int (*dma_write)(void *opaque, uint64_t addr, const void *buf, size_t len);
	/*
	 * Map up to *@len bytes at @addr for direct access and reduce *@len to the
	 * contiguous length; return NULL if that is impossible.  The model calls dma_unmap
	 * before the cm_device_run() that mapped returns.
	 */
	void *(*dma_map)(void *opaque, uint64_t addr, size_t *len, bool write);
	void (*dma_unmap)(void *opaque, void *ptr, size_t len, bool write);
	/*
	 * Send a message on MSI-X @vector; set the level wires, bit n for wire n, which carries
	 * what vector n does.  Locked calls only.
	 */
	void (*irq_message)(void *opaque, unsigned int vector);
	void (*irq_wires)(void *opaque, uint32_t wires);
	/* Monotonic device time in ns; virtual time if the host has it.  Locked calls only. */
	uint64_t (*now)(void *opaque);
	/* Wake the worker of @core, which may have work.  Locked calls only. */
	void (*wake_worker)(void *opaque, unsigned int core);
	/* One line for driver developers.  Called from any thread. */
	void (*log)(void *opaque, const char *text);
};

/* Values of a parameter that is on or off. */
#define CM_ON	1
#define CM_OFF	2

/** struct cm_core_config - build parameters of one core; 0: the default. */
struct cm_core_config {
	uint64_t job_cycles_max;
	char name[CM_CORE_NAME_LEN];
	uint32_t param[CM_MAX_PARAMS];	/* in the order of the core's own table */
};

/** enum cm_simd - vector instruction set that the model uses; results are bit-identical. */
enum cm_simd {
	CM_SIMD_WIDEST,		/* the widest that the host supports */
	CM_SIMD_BASELINE,	/* SSE2, NEON or plain C; every host supports it */
	CM_SIMD_AVX2,
	CM_SIMD_AVX512,
};

/** struct cm_config - build parameters of a device. */
struct cm_config {
	uint32_t clock_hz;		/* 0: 100 MHz */
	bool modelled;			/* timing=modelled: jobs take the modelled time */
	uint32_t threads;		/* compute threads, 1..64; 0: the CPUs of this process */
	uint32_t simd;			/* enum cm_simd */
	unsigned int core_count;	/* 0: one core of the first type in cores.def */
	struct cm_core_config core[CM_MAX_CORES];
};

/**
 * cm_config_set() - set one property from text.
 * @key: "cores", "clock-hz", "timing", "threads" or "simd"
 * @value: for cores a '+'-separated list of cores, each NAME[:PARAM=N]..., with the parameters
 *	of that core and job-cycles-max; for timing "instant" or "modelled"; for simd "widest",
 *	"baseline", "avx2" or "avx512"
 * @err: receives a message naming key, value and limit
 *
 * Return: 0, or -1 with @err filled.
 */
int cm_config_set(struct cm_config *config, const char *key, const char *value,
		  char err[CM_ERR_LEN]);

struct cm_device;

/**
 * cm_device_create() - build a device, in its reset state.
 * @config: copied; zeros are replaced by the defaults
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

/** cm_device_message_refused() - count a message that was for the device itself (locked). */
void cm_device_message_refused(struct cm_device *dev);

/**
 * cm_device_begin() - does @core have work now?  Takes the next packet if idle (locked).
 *
 * With timing=modelled a packet also waits until ops->now() reaches the time at which the
 * hardware would access memory or end; cm_device_wake_time() returns that time.
 */
bool cm_device_begin(struct cm_device *dev, unsigned int core);
/** cm_device_run() - work on the packet for about @budget_ns, at most 5 ms (unlocked). */
void cm_device_run(struct cm_device *dev, unsigned int core, uint32_t budget_ns);
/** cm_device_end() - publish the run's effects: records, interrupts, resets (locked). */
void cm_device_end(struct cm_device *dev, unsigned int core);
/**
 * cm_device_idle() - let the model's threads sleep immediately (any thread).
 *
 * Without this call they poll for more work for a while, which suits a host whose next job follows
 * soon.  A guest has to be woken up first and needs the host's processors for that.
 */
void cm_device_idle(struct cm_device *dev);

/** cm_device_wake_time() - when the waiting packet of @core goes on; 0: none waits (locked). */
uint64_t cm_device_wake_time(const struct cm_device *dev, unsigned int core);

/**
 * cm_mutant_select() - enable one seeded mistake in all devices; false if the name is unknown.
 * @name: "OWNER.NAME": a core's name or "sequencer", and a name of its list
 *
 * Exists only in a model that is compiled with -DCM_MUTANTS.
 */
bool cm_mutant_select(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* CNNACC_MODEL_H */
