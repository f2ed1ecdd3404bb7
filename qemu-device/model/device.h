/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The shell's state.  Structures named *_state are copied unchanged into a saved state. */
#ifndef CM_DEVICE_H
#define CM_DEVICE_H

#include "core.h"
#include "mmu.h"
#include "workers.h"

#define CM_QUEUE_OFFSET	0x2000	/* queue blocks, CNNACC_QREG_BLOCK_SIZE apart */
#define CM_WINDOW_OFFSET	0x4000	/* core windows, CM_WINDOW_STRIDE apart */
#define CM_WINDOW_STRIDE	0x1000
#define CM_NO_ROOT		(~(uint64_t)0)
#define CM_WINDOW_WORDS	256	/* maximum of cm_core_ops.window_words */

/** struct cm_global_state - registers that belong to no core. */
struct cm_global_state {
	uint32_t scratch;
	uint32_t irq_status;
	uint32_t irq_enable;
	uint32_t err_code;
	uint32_t err_core;
	uint32_t inv_seq;
	uint64_t err_addr;
	uint32_t latch_offset;	/* hi register that returns latch_value, 0: none */
	uint32_t latch_value;
	uint32_t msg_refused;
	uint32_t reserved;
};

/** struct cm_ring_state - bases and sizes of a queue's two rings. */
struct cm_ring_state {
	uint64_t ring_base;
	uint64_t compl_base;
	uint32_t ring_size;
	uint32_t compl_size;
};

/** struct cm_queue_block - a core's queue block; protected by the host's lock. */
struct cm_queue_block {
	struct cm_ring_state written;	/* by software */
	struct cm_ring_state active;	/* sampled by ENABLE; sizes are 0 before the first */
	uint32_t tail, head;
	uint32_t compl_tail, compl_head;
	uint32_t seq;
	uint32_t enable;		/* CTRL.ENABLE */
	uint32_t refused;		/* ENABLE found the rings unusable */
	uint32_t halted;
	uint32_t abort;			/* requested, not yet passed to the job */
	uint32_t status;
	uint32_t status_pc;
	uint32_t progress;
	uint32_t context;
	uint32_t running;		/* a packet has been taken from the ring */
	uint32_t event_count;
	uint32_t suspended;		/* an event was raised and not yet acknowledged */
	uint64_t status_va;
	struct cnnacc_stats counters;
};

enum cm_job_phase {
	CM_JOB_NONE,
	CM_JOB_SCRUB,	/* clearing another context's residue */
	CM_JOB_START,
	CM_JOB_RUN,
	CM_JOB_STATS,	/* program ended, statistics record not yet written */
	CM_JOB_DONE,	/* cm_device_end() completes it */
};

/** struct cm_job_state - the running packet; cm_device_run() owns it between begin and end. */
struct cm_job_state {
	struct cnnacc_packet packet;
	struct cm_core_fault result;
	struct cnnacc_stats stats;
	uint64_t start_ns;
	uint64_t suspended_ns;		/* timing=modelled: total time suspended by events */
	uint64_t event_cycle;		/* cycle of the packet at which the last event was raised */
	uint64_t scrub_pos;		/* bytes cleared so far */
	uint64_t scrub_cycles;
	uint64_t residue_root;		/* CM_NO_ROOT: retired, so no later context matches */
	uint32_t residue_ctx;		/* CNNACC_NO_CONTEXT: no residue */
	uint32_t phase;
	uint32_t progress;
	uint32_t abort;
	uint32_t refused;		/* the packet failed its checks */
	uint32_t reserved;
};

struct cm_core {
	struct cm_device *dev;
	unsigned int index;
	const struct cm_core_ops *ops;
	struct cnnacc_core_entry entry;

	struct cm_queue_block q;
	bool in_run;			/* between cm_device_begin() and cm_device_end() */
	bool reset_pending;
	uint32_t inv_pending;		/* INVALIDATE writes during this run */
	bool event;			/* this run raised an event */
	bool inv_retired;		/* a pending INVALIDATE retired the residue's context */
	uint64_t cycle_now;		/* of the packet at this run; UINT64_MAX: timing=instant */
	uint64_t wait_cycle;		/* of the packet: it waits until then; 0: no wait */
	uint32_t window[CM_WINDOW_WORDS];

	struct cm_job_state job;
	struct cm_port port;
	void *core;
	void *state;
	size_t state_size;
};

struct cm_device {
	struct cm_config config;
	const struct cm_host_ops *ops;
	void *opaque;
	struct cm_workers *workers;
	unsigned int core_count;
	bool reset_pending;
	uint32_t wires;			/* as last reported to the host */
	struct cm_global_state g;
	struct cm_core core[CM_MAX_CORES];
};

/* config.c: return NULL if no core type has that name */
const struct cm_core_ops *cm_core_type(const char *name);
int cm_config_resolve(struct cm_config *config, char err[CM_ERR_LEN]);

/* device.c */
void cm_core_reset(struct cm_core *core);
void cm_core_publish(struct cm_core *core);

/* log.c: pass one line to the host's log() */
void cm_log(struct cm_device *dev, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* irq.c */
uint32_t cm_irq_mask(const struct cm_device *dev);
void cm_irq_set(struct cm_device *dev, uint32_t bits);
void cm_irq_clear(struct cm_device *dev, uint32_t bits);
void cm_irq_enable(struct cm_device *dev, uint32_t bits);
void cm_irq_update_wires(struct cm_device *dev);
void cm_shell_error(struct cm_core *core, enum cnnacc_shell_error code, uint64_t addr);

/* queue.c */
uint32_t cm_queue_state(const struct cm_core *core);
bool cm_rings_bad(const struct cm_ring_state *rings, uint64_t *value);
bool cm_queue_has_work(const struct cm_core *core);
bool cm_queue_take(struct cm_core *core);
void cm_queue_complete(struct cm_core *core);
void cm_queue_write_ctrl(struct cm_core *core, uint32_t value);
void cm_queue_event(struct cm_core *core);
void cm_queue_write_event_ack(struct cm_core *core, uint32_t value);
void cm_queue_write_tail(struct cm_core *core, uint32_t value);
void cm_queue_write_compl_head(struct cm_core *core, uint32_t value);
uint32_t cm_packet_check(const struct cm_core *core, const struct cnnacc_packet *packet);

/* job.c */
void cm_job_run(struct cm_core *core, uint32_t budget_ns);

/* clock.c */
uint64_t cm_clock_cycle(const struct cm_core *core);
uint64_t cm_clock_time(const struct cm_core *core, uint64_t cycle);

/* counters.c */
void cm_stats_add(struct cnnacc_stats *sum, const struct cnnacc_stats *add);
uint64_t cm_stats_word(const struct cnnacc_stats *stats, unsigned int n);

#endif
