/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: the device, independent of its bus
 *
 * A front end per bus (cnnacc-pci.c) embeds CnnaccState and calls the
 * functions below.  All of them need the big QEMU lock (BQL).
 *
 * Each core has a worker thread that computes without the BQL.  The thread
 * takes the BQL only to begin and to end a step, so the BQL also serialises
 * the calls for which the model requires a lock.  A doorbell first runs the
 * core for some microseconds in the register access itself, which is enough
 * for a small job, and wakes the thread only if work is left.
 *
 * A message can do whatever a write to memory can do: reset or unplug any
 * device, this one included.  Messages therefore leave only where the caller
 * expects that, and only while the machine runs: QEMU walks lists of devices
 * when it stops the machine and when it saves it.  For the same reason nothing
 * here drops the BQL except the worker threads between two steps.
 *
 * With timing=modelled, a timer on the virtual clock wakes the thread when the
 * modelled time of a packet is reached.  With -icount, where executed
 * instructions advance the clock, the timer callback does the work instead of
 * the thread, so the clock does not advance meanwhile.
 */
#ifndef HW_CNNACC_H
#define HW_CNNACC_H

#include "exec/memory.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "hw/qdev-core.h"
#include "cnnacc-fault-injection.h"
#include "cnnacc_model.h"

/* What a bus does for the device; an operation that the bus lacks is NULL */
typedef struct CnnaccBusOps {
    void (*irq_message)(CnnaccState *s, unsigned int vector);
    /* Bit n is the level of wire n */
    void (*irq_wires)(CnnaccState *s, uint32_t wires);
    /* True if an IOMMU translates the DMA */
    bool (*behind_iommu)(CnnaccState *s);
} CnnaccBusOps;

typedef struct CnnaccWorker {
    CnnaccState *s;
    unsigned int core;
    QemuThread thread;
    QemuCond wake;
    QEMUTimer *timer; /* timing=modelled only */
    bool busy;
    bool computed; /* without the BQL; the step must be ended */
} CnnaccWorker;

struct CnnaccState {
    /* set by cnnacc_init() */
    DeviceState *owner;
    const CnnaccBusOps *bus;

    /* set by the front end */
    AddressSpace *as;
    bool asleep; /* power state without register access */

    /* for the front end */
    struct cm_device *model;
    MemoryRegion mmio;

    /* properties */
    char *cores;
    char *clock_hz;
    char *timing;
    char *threads;
    char *simd;
    char *probe_fault;

    /* private */
    MemTxAttrs attrs;
    VMChangeStateEntry *vm_state;
    CnnaccWorker worker[CM_MAX_CORES];
    unsigned int workers; /* threads that have not exited */
    QemuMutex lock;          /* of computing and worker[].computed */
    QemuCond idle;           /* computing is zero */
    unsigned int computing;  /* workers that compute without the BQL */
    bool vm_running;
    bool quit;
    bool lockstep;   /* timers do the work, not the threads */
    bool revoked;    /* no DMA until the running steps have ended */
    bool delivering;
    bool writing;    /* a register write is in progress */
    uint32_t kicked; /* cores that got work from this register write */
    uint32_t messages;
    CnnaccFaults faults;
};

#define DEFINE_CNNACC_PROPERTIES(_state, _field)                        \
    DEFINE_PROP_STRING("cores", _state, _field.cores),                  \
    DEFINE_PROP_STRING("clock-hz", _state, _field.clock_hz),            \
    DEFINE_PROP_STRING("timing", _state, _field.timing),                \
    DEFINE_PROP_STRING("threads", _state, _field.threads),              \
    DEFINE_PROP_STRING("simd", _state, _field.simd),                    \
    DEFINE_PROP_STRING("probe-fault", _state, _field.probe_fault)

/* From class_init, after device_class_set_props(); @parent has @size bytes */
void cnnacc_class_init(ObjectClass *klass, const char *parent, size_t size);
/* From instance_init */
void cnnacc_init(CnnaccState *s, DeviceState *owner, const CnnaccBusOps *bus);
bool cnnacc_realize(CnnaccState *s, Error **errp);
void cnnacc_unrealize(CnnaccState *s);
void cnnacc_reset(CnnaccState *s);
/* True if the machine runs, and has told everyone: messages may leave */
bool cnnacc_live(CnnaccState *s);
/* The bus keeps a message for later, because the machine does not run */
void cnnacc_hold_message(CnnaccState *s, unsigned int vector);
/* The bus did not send a message, because it is for the device itself */
void cnnacc_refuse_message(CnnaccState *s, uint64_t addr);
/* True if the property probe-fault has the value @name */
bool cnnacc_probe_fault_is(CnnaccState *s, const char *name);

extern const VMStateDescription vmstate_cnnacc;

#endif
