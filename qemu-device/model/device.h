/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The shell's own state.  Structures named *_state are saved as they are. */
#ifndef CM_DEVICE_H
#define CM_DEVICE_H

#include "core.h"
#include "mmu.h"
#include "workers.h"

#define CM_QUEUE_OFFSET	0x2000	/* queue blocks, CNNACC_QREG_BLOCK_SIZE apart */
#define CM_WINDOW_OFFSET	0x4000	/* core windows, CM_WINDOW_STRIDE apart */
#define CM_WINDOW_STRIDE	0x1000
#define CM_NO_ROOT		(~(uint64_t)0)
#define CM_WINDOW_WORDS	256	/* most that any core publishes */

/** struct global_state - registers that belong to no core. */
struct global_state {
	uint32_t scratch;
	uint32_t irq_status;
	uint32_t irq_enable;
	uint32_t err_code;
	uint32_t err_core;
	uint32_t inv_seq;
	uint64_t err_addr;
	uint32_t latch_offset;	/* hi register that reads latch_value, 0 = none */
	uint32_t latch_value;
};

/** struct ring_state - bases and sizes, as written or as sampled. */
struct ring_state {
	uint64_t ring_base;
	uint64_t compl_base;
	uint32_t ring_size;
	uint32_t compl_size;
};

/** struct queue_state - a core's queue block; under the host's lock. */
struct queue_state {
	struct ring_state written;
	struct ring_state active;	/* sizes 0 until the queue was enabled */
	uint32_t tail, head;
	uint32_t compl_tail, compl_head;
	uint32_t seq;
	uint32_t enable;		/* CTRL.ENABLE */
	uint32_t refused;		/* enable was refused */
	uint32_t halted;
	uint32_t abort;			/* asked for, not yet passed to the job */
	uint32_t status;
	uint32_t status_pc;
	uint32_t progress;
	uint32_t context;
	uint32_t running;		/* a packet has been taken */
	uint32_t event_count;
	uint32_t suspended;		/* by an event, until EVENT_ACK */
	uint64_t status_va;
	struct cnnacc_stats counters;
};

enum job_phase {
	JOB_NONE,
	JOB_SCRUB,	/* clearing another context's residue */
	JOB_START,
	JOB_RUN,
	JOB_STATS,	/* ended; the statistics record is written when its time has come */
	JOB_DONE,	/* to be completed by cm_device_end() */
};

/** struct job_state - the packet being run; owned by cm_device_run() meanwhile. */
struct job_state {
	struct cnnacc_packet packet;
	struct core_fault result;
	struct cnnacc_stats stats;
	uint64_t start_ns;
	uint64_t suspended_ns;		/* timing=modelled: of events, in all */
	uint64_t event_cycle;		/* of the packet: when the last one was raised */
	uint64_t scrub_pos;		/* bytes cleared */
	uint64_t scrub_cycles;
	uint64_t residue_root;		/* CM_NO_ROOT: another's, whoever comes next */
	uint32_t residue_ctx;		/* CNNACC_NO_CONTEXT: clean */
	uint32_t phase;
	uint32_t progress;
	uint32_t abort;
	uint32_t refused;		/* packet failed its checks */
	uint32_t reserved;
};

struct cm_core {
	struct cm_device *dev;
	unsigned int index;
	const struct core_ops *ops;
	struct cnnacc_core_entry entry;

	struct queue_state q;
	bool in_run;			/* between begin and end */
	bool reset_pending;
	uint32_t inv_behind;		/* INVALIDATEs that came during this run */
	bool event;			/* this run has raised one */
	bool inv_retired;		/* one of them retired the residue's context */
	uint64_t horizon;		/* cycles of the packet that may have passed; in run */
	uint64_t wait;			/* cycle of it that is waited for, 0: none */
	uint32_t window[CM_WINDOW_WORDS];

	struct job_state job;
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
	bool level;			/* of the wire, as the host knows it */
	struct global_state g;
	struct cm_core core[CM_MAX_CORES];
};

/* config.c */
const struct core_ops *cm_core_type(uint32_t type);
int cm_config_resolve(struct cm_config *config, char err[CM_ERR_LEN]);

/* device.c */
void cm_core_reset(struct cm_core *core);
void cm_core_publish(struct cm_core *core);
void cm_log(struct cm_device *dev, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* irq.c */
uint32_t cm_irq_mask(const struct cm_device *dev);
void cm_irq_set(struct cm_device *dev, uint32_t bits);
void cm_irq_clear(struct cm_device *dev, uint32_t bits);
void cm_irq_enable(struct cm_device *dev, uint32_t bits);
void cm_irq_wire(struct cm_device *dev);
void cm_shell_error(struct cm_core *core, enum cnnacc_shell_error code, uint64_t addr);

/* queue.c */
uint32_t cm_queue_state(const struct cm_core *core);
bool cm_rings_bad(const struct ring_state *rings, uint64_t *value);
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
uint64_t cm_clock_horizon(const struct cm_core *core);
uint64_t cm_clock_time(const struct cm_core *core, uint64_t cycle);

/* counters.c */
void cm_stats_add(struct cnnacc_stats *sum, const struct cnnacc_stats *add);
uint64_t cm_stats_word(const struct cnnacc_stats *stats, unsigned int n);

#endif
