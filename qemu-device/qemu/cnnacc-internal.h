/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: declarations shared by the files of the bus-neutral device
 */
#ifndef HW_CNNACC_INTERNAL_H
#define HW_CNNACC_INTERNAL_H

#include "cnnacc.h"

/* cnnacc.c */
const char *cnnacc_id(CnnaccState *s);
uint64_t cnnacc_now(void *opaque);
void cnnacc_deliver(CnnaccState *s);

/* cnnacc-dma.c */
int cnnacc_dma(CnnaccState *s, uint64_t addr, void *buf, size_t len,
               bool is_write);
/* callbacks of the model */
int cnnacc_dma_read(void *opaque, uint64_t addr, void *buf, size_t len);
int cnnacc_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len);
void *cnnacc_dma_map(void *opaque, uint64_t addr, size_t *len, bool is_write);
void cnnacc_dma_unmap(void *opaque, void *ptr, size_t len, bool is_write);

/* cnnacc-probe-fault.c */
bool cnnacc_probe_fault_check(CnnaccState *s, Error **errp);
/* Returns the value that the guest reads; called only if a fault is set */
uint32_t cnnacc_probe_fault_read(CnnaccState *s, uint64_t addr, uint32_t val);

/* cnnacc-worker.c */
bool cnnacc_busy(CnnaccState *s);
void cnnacc_wake(CnnaccWorker *w);
void cnnacc_work_at_once(CnnaccWorker *w);
/* Waits for every step and ends it, without dropping the BQL */
void cnnacc_end_steps(CnnaccState *s);
/* Lets the cores and held messages go on, in a machine that runs again */
void cnnacc_resume(CnnaccState *s);
void cnnacc_start_workers(CnnaccState *s, bool modelled);
void cnnacc_dismiss_workers(CnnaccState *s);

#endif
