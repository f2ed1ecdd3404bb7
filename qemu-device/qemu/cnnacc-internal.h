/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: between the files of the model's host
 */
#ifndef HW_CNNACC_INTERNAL_H
#define HW_CNNACC_INTERNAL_H

#include "cnnacc.h"

/* cnnacc.c */
const char *cnnacc_id(CnnaccHost *host);
uint64_t cnnacc_now(void *opaque);
void cnnacc_deliver(CnnaccHost *host);

/* cnnacc-dma.c */
int cnnacc_dma(CnnaccHost *host, uint64_t addr, void *buf, size_t len,
               bool is_write);
/* callbacks of the model */
int cnnacc_dma_read(void *opaque, uint64_t addr, void *buf, size_t len);
int cnnacc_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len);
void *cnnacc_dma_map(void *opaque, uint64_t addr, size_t *len, bool is_write);
void cnnacc_dma_unmap(void *opaque, void *ptr, size_t len, bool is_write);

/* cnnacc-probe-fault.c */
bool cnnacc_defect_check(CnnaccHost *host, Error **errp);
/* Only called if there is a defect */
uint32_t cnnacc_defect_read(CnnaccHost *host, uint64_t addr, uint32_t val);

/* cnnacc-worker.c */
bool cnnacc_busy(CnnaccHost *host);
void cnnacc_wake(CnnaccWorker *w);
void cnnacc_work_at_once(CnnaccWorker *w);
/* Waits until every worker stands at a step boundary */
void cnnacc_stop(CnnaccHost *host);
void cnnacc_resume(CnnaccHost *host);
void cnnacc_start_workers(CnnaccHost *host, bool modelled);
void cnnacc_dismiss_workers(CnnaccHost *host);

#endif
