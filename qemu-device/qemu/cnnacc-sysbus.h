/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator as a peripheral of a system on chip (AXI)
 *
 * MMIO regions: 0 the registers, 1 the gates.  IRQs: the wires.
 */
#ifndef HW_CNNACC_SYSBUS_H
#define HW_CNNACC_SYSBUS_H

#include "hw/sysbus.h"
#include "cnnacc.h"

#define TYPE_CNNACC_SYSBUS "cnnacc-sysbus"
OBJECT_DECLARE_SIMPLE_TYPE(CnnaccSysbusState, CNNACC_SYSBUS)

/*
 * Two words that stand for the reset and clock controllers of a system on chip.
 * Bit 0 of the first asserts the reset, bit 0 of the second lets the clock run.
 * A device that is held in reset, or without a clock, does not decode its
 * registers: an access is a bus error.
 */
#define CNNACC_GATE_RESET 0
#define CNNACC_GATE_CLOCK 4
#define CNNACC_GATES_SIZE 8

struct CnnaccSysbusState {
    SysBusDevice parent_obj;
    CnnaccState cnnacc;
    MemoryRegion gates_mmio;
    qemu_irq irq[CM_MAX_CORES + 1];
    uint32_t wires_high; /* bit n: level of wire n */
    uint32_t in_reset;
    uint32_t clock_on;

    /* properties */
    bool separate_wires;
    bool coherent;
    char *gates;
};

/* The number of wires: one, or one per core and one for errors */
unsigned int cnnacc_sysbus_wires(CnnaccSysbusState *s);
/* True if software controls the reset, or the clock, of the device */
bool cnnacc_sysbus_has_reset(CnnaccSysbusState *s);
bool cnnacc_sysbus_has_clock(CnnaccSysbusState *s);

#endif
