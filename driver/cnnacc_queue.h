/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by cnnacc_queue.c, cnnacc_recovery.c and other users of a core's queue. */
#ifndef CNNACC_QUEUE_H
#define CNNACC_QUEUE_H

#include "cnnacc_device.h"
#include "cnnacc_job.h"

/* cnnacc_queue.c */
void cnnacc_core_stop_locked(struct cnnacc_core *core);
struct cnnacc_job *cnnacc_core_first_job(struct cnnacc_core *core);
void cnnacc_core_remove_job(struct cnnacc_core *core, struct cnnacc_job *job);
void cnnacc_core_rewind(struct cnnacc_core *core);
struct cnnacc_job *cnnacc_core_take_done(struct cnnacc_core *core, u32 tail,
					 struct cnnacc_completion *record);
void cnnacc_core_make_packet(const struct cnnacc_job *job, u32 index,
			     struct cnnacc_packet *packet);
void cnnacc_core_set_failure(struct cnnacc_core *core, struct cnnacc_job *job, enum cnnacc_end end,
			     const struct cnnacc_completion *record);
enum cnnacc_end cnnacc_core_end_reason(struct cnnacc_core *core,
				       const struct cnnacc_completion *record);
void cnnacc_core_event_work(struct work_struct *work);

/* cnnacc_recovery.c */
void cnnacc_core_reset_work(struct work_struct *work);

#endif
