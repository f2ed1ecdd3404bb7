/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: permanent faults that a driver's probe must detect
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cnnacc-internal.h"
#include "cnnacc_hw.h"

#define CNNACC_ENTRY(field) \
    (CNNACC_CORE_TABLE_OFFSET + offsetof(struct cnnacc_core_entry, field))

/* Faults of a register that always reads as a fixed value */
static const struct {
    const char *name;
    uint32_t addr;
    uint32_t val;
} cnnacc_probe_fault_registers[] = {
    { "magic", CNNACC_REG_MAGIC, 0 },
    { "version", CNNACC_REG_HW_VERSION, 0x00020000 },
    { "cores", CNNACC_REG_CORE_COUNT, 0 },
    { "name", CNNACC_ENTRY(name), 0x0a1b5b2e }, /* ".[", ESC, newline */
    { "entry", CNNACC_ENTRY(program_max), 0 },
    /* The window's last word starts inside the register pages, ends outside */
    { "window", CNNACC_ENTRY(window_offset), CNNACC_REGS_SIZE - 5 },
    { "window", CNNACC_ENTRY(window_size), 5 },
    { "reset", CNNACC_REG_RESET, 1 },
    { "register", CNNACC_REG_INV_SEQ, 0xdead },
    { "scratch", CNNACC_REG_SCRATCH, 0 },
};

/* Faults that other code or cnnacc_probe_fault_read() implements */
static const char *const cnnacc_probe_faults[] = {
    "bar", "msix", "irq", "dma-read", "dma-write", "queue",
};

bool cnnacc_probe_fault_is(CnnaccState *s, const char *name)
{
    return s->probe_fault && !strcmp(s->probe_fault, name);
}

bool cnnacc_probe_fault_check(CnnaccState *s, Error **errp)
{
    bool known = !s->probe_fault;

    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_probe_fault_registers); i++) {
        known |= cnnacc_probe_fault_is(s, cnnacc_probe_fault_registers[i].name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_probe_faults); i++) {
        known |= cnnacc_probe_fault_is(s, cnnacc_probe_faults[i]);
    }
    if (!known) {
        error_setg(errp, "probe-fault: unknown fault '%s'", s->probe_fault);
    }
    return known;
}

uint32_t cnnacc_probe_fault_read(CnnaccState *s, uint64_t addr, uint32_t val)
{
    uint32_t queue = cm_device_read(s->model, CNNACC_ENTRY(queue_offset));

    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_probe_fault_registers); i++) {
        if (addr == cnnacc_probe_fault_registers[i].addr &&
            cnnacc_probe_fault_is(s, cnnacc_probe_fault_registers[i].name)) {
            return cnnacc_probe_fault_registers[i].val;
        }
    }
    if (addr == queue + CNNACC_QREG_STATE &&
        cnnacc_probe_fault_is(s, "queue")) {
        return CNNACC_QSTATE_DISABLED;
    }
    return val;
}
