/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* The shell's own state.  Structures named *_state are saved as they are. */
#ifndef CNN_DEVICE_H
#define CNN_DEVICE_H

#include "core.h"
#include "mmu.h"
#include "workers.h"

#define CNN_QUEUE_OFFSET	0x2000	/* queue blocks, CNNACC_QREG_BLOCK_SIZE apart */
#define CNN_WINDOW_OFFSET	0x4000	/* core windows, CNN_WINDOW_STRIDE apart */
#define CNN_WINDOW_STRIDE	0x1000
#define CNN_NO_ROOT		(~(uint64_t)0)
#define CNN_WINDOW_WORDS	256	/* most that any core publishes */

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
	JOB_DONE,	/* to be completed by cnn_device_end() */
};

/** struct job_state - the packet being run; owned by cnn_device_run() meanwhile. */
struct job_state {
	struct cnnacc_packet packet;
	struct core_fault result;
	struct cnnacc_stats stats;
	uint64_t start_ns;
	uint64_t suspended_ns;		/* timing=modelled: of events, in all */
	uint64_t event_cycle;		/* of the packet: when the last one was raised */
	uint64_t scrub_pos;		/* bytes cleared */
	uint64_t scrub_cycles;
	uint64_t residue_root;		/* CNN_NO_ROOT: another's, whoever comes next */
	uint32_t residue_ctx;		/* CNNACC_NO_CONTEXT: clean */
	uint32_t phase;
	uint32_t progress;
	uint32_t abort;
	uint32_t refused;		/* packet failed its checks */
	uint32_t reserved;
};

struct cnn_core {
	struct cnn_device *dev;
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
	uint32_t window[CNN_WINDOW_WORDS];

	struct job_state job;
	struct cnn_port port;
	void *core;
	void *state;
	size_t state_size;
};

struct cnn_device {
	struct cnn_config config;
	const struct cnn_host_ops *ops;
	void *opaque;
	struct cnn_workers *workers;
	unsigned int core_count;
	bool reset_pending;
	bool level;			/* of the wire, as the host knows it */
	struct global_state g;
	struct cnn_core core[CNN_MODEL_MAX_CORES];
};

/* config.c */
const struct core_ops *cnn_core_type(uint32_t type);
int cnn_config_resolve(struct cnn_config *config, char err[CNN_MODEL_ERR_LEN]);

/* device.c */
void cnn_core_reset(struct cnn_core *core);
void cnn_core_publish(struct cnn_core *core);
void cnn_log(struct cnn_device *dev, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* irq.c */
uint32_t cnn_irq_mask(const struct cnn_device *dev);
void cnn_irq_set(struct cnn_device *dev, uint32_t bits);
void cnn_irq_clear(struct cnn_device *dev, uint32_t bits);
void cnn_irq_enable(struct cnn_device *dev, uint32_t bits);
void cnn_irq_wire(struct cnn_device *dev);
void cnn_shell_error(struct cnn_core *core, enum cnnacc_shell_error code, uint64_t addr);

/* queue.c */
uint32_t cnn_queue_state(const struct cnn_core *core);
bool cnn_rings_bad(const struct ring_state *rings, uint64_t *value);
bool cnn_queue_has_work(const struct cnn_core *core);
bool cnn_queue_take(struct cnn_core *core);
void cnn_queue_complete(struct cnn_core *core);
void cnn_queue_write_ctrl(struct cnn_core *core, uint32_t value);
void cnn_queue_event(struct cnn_core *core);
void cnn_queue_write_event_ack(struct cnn_core *core, uint32_t value);
void cnn_queue_write_tail(struct cnn_core *core, uint32_t value);
void cnn_queue_write_compl_head(struct cnn_core *core, uint32_t value);
uint32_t cnn_packet_check(const struct cnn_core *core, const struct cnnacc_packet *packet);

/* job.c */
void cnn_job_run(struct cnn_core *core, uint32_t budget_ns);

/* clock.c */
uint64_t cnn_clock_horizon(const struct cnn_core *core);
uint64_t cnn_clock_time(const struct cnn_core *core, uint64_t cycle);

/* counters.c */
void cnn_stats_add(struct cnnacc_stats *sum, const struct cnnacc_stats *add);
uint64_t cnn_stats_word(const struct cnnacc_stats *stats, unsigned int n);

#endif
