/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every cnnacc front end shares: the model, its worker threads and its
 * migration.
 *
 * All functions are called with the big QEMU lock held.  One thread per core
 * computes without it and takes it only to begin and to end a step, so
 * the lock also is the one that the model's locked calls need.  What a doorbell
 * starts is worked on at once for some microseconds, which is all that small
 * jobs take, before the thread is woken up.
 *
 * With timing=modelled a timer of the virtual clock wakes the thread when a
 * packet's time has come.  Where instructions are the clock (-icount), that
 * timer itself does the work instead, and so holds the clock meanwhile.
 */
#ifndef HW_CNNACC_HOST_H
#define HW_CNNACC_HOST_H

#include "exec/memory.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "hw/qdev-core.h"
#include "cnnacc-fault-injection.h"
#include "cnnacc_model.h"

typedef struct CnnaccWorker {
    CnnaccHost *host;
    unsigned int core;
    QemuThread thread;
    QemuCond wake;
    QEMUTimer *timer; /* timing=modelled only */
    bool busy;
} CnnaccWorker;

struct CnnaccHost {
    DeviceState *owner;
    AddressSpace *as;
    MemTxAttrs attrs;
    void (*irq_message)(CnnaccHost *host, unsigned int vector);
    void (*irq_level)(CnnaccHost *host, bool level);
    bool (*behind_iommu)(CnnaccHost *host);

    /* properties */
    char *cores;
    char *clock_hz;
    char *timing;
    char *threads;
    char *simd;
    char *defect;

    /* private */
    struct cm_device *model;
    MemoryRegion mmio;
    VMChangeStateEntry *vm_state;
    QemuCond idle;
    CnnaccWorker worker[CM_MAX_CORES];
    unsigned int workers; /* that have not left */
    unsigned int stopping;
    bool vm_running;
    bool quit;
    bool lockstep;  /* timers do the work, not the threads */
    bool translated; /* DMA is, by an IOMMU */
    bool revoked;   /* by a reset that waits for steps to end */
    bool asleep;    /* in a power state without registers */
    bool delivering;
    bool writing;   /* a register */
    uint32_t kicked; /* cores that this write gave work */
    uint32_t messages;
    CnnaccMalice malice;
};

#define DEFINE_CNNACC_PROPERTIES(_state, _field)                        \
    DEFINE_PROP_STRING("cores", _state, _field.cores),                  \
    DEFINE_PROP_STRING("clock-hz", _state, _field.clock_hz),            \
    DEFINE_PROP_STRING("timing", _state, _field.timing),                \
    DEFINE_PROP_STRING("threads", _state, _field.threads),              \
    DEFINE_PROP_STRING("simd", _state, _field.simd),                    \
    DEFINE_PROP_STRING("defect", _state, _field.defect)

bool cnnacc_host_realize(CnnaccHost *host, Error **errp);
void cnnacc_host_unrealize(CnnaccHost *host);
void cnnacc_host_reset(CnnaccHost *host);
bool cnnacc_defect_is(CnnaccHost *host, const char *name);
void cnnacc_describe_properties(ObjectClass *klass);

extern const VMStateDescription vmstate_cnnacc_host;

#endif
