/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: fault injection at run time, for tests of drivers
 *
 * The model itself stays correct.  Faults are injected into register accesses,
 * DMA and interrupts on their way between the model and the guest.  A
 * pseudo-random generator selects the accesses.  It restarts when the property
 * fault-injection is set, so a run is as reproducible as the guest is.
 */
#ifndef HW_CNNACC_FAULT_INJECTION_H
#define HW_CNNACC_FAULT_INJECTION_H

#include "qemu/timer.h"
#include "cnnacc_hw.h"

typedef struct CnnaccState CnnaccState;

typedef struct CnnaccFaults {
    uint32_t modes; /* 0: fault injection is off and costs nothing */
    uint32_t random;
    QEMUTimer *timer;
    uint32_t late; /* messages that the timer will send */
    uint32_t hung; /* cores that do no work until they are reset */
    uint32_t hung_reset; /* cores whose reset does not complete */
    uint32_t progress; /* PROGRESS of a hung core */
    struct {
        uint64_t addr;
        struct cnnacc_completion record;
        unsigned int writes; /* late writes that remain */
    } last; /* completion record */
    uint64_t stored; /* address of a program's last store, 0: none; atomic */
    uint32_t stale_ticks; /* ticks until a stale write to that address */
} CnnaccFaults;

/* Adds the property fault-injection: modes separated by '+', or "none" */
void cnnacc_fault_add_property(CnnaccState *s);
void cnnacc_fault_realize(CnnaccState *s);
void cnnacc_fault_unrealize(CnnaccState *s);
/* A reset of the device ends every injected hang */
void cnnacc_fault_reset(CnnaccState *s);

/* The functions below are called only while faults.modes is not 0 */

/* Returns the value that the guest reads instead of @val */
uint32_t cnnacc_fault_read(CnnaccState *s, uint64_t addr, uint32_t val);
/* Returns false if the write must not reach the model */
bool cnnacc_fault_write(CnnaccState *s, uint64_t addr, uint32_t val);
/* Returns the set of messages to send now when the model sends @vector */
uint32_t cnnacc_fault_messages(CnnaccState *s, unsigned int vector);
/* Returns the data to write instead of @buf; @record is space for it */
const void *cnnacc_fault_record(CnnaccState *s, uint64_t addr, const void *buf,
                                size_t len, struct cnnacc_completion *record);
/* Notes that a program is about to write at @addr */
void cnnacc_fault_store(CnnaccState *s, uint64_t addr);
/* Returns true if @core must do no work */
bool cnnacc_fault_hang(CnnaccState *s, unsigned int core);

#endif
