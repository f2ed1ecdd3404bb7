/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: a device that left the factory broken, for tests of a
 * driver's probe
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cnnacc-internal.h"
#include "cnnacc_hw.h"

#define CNNACC_ENTRY(field) \
    (CNNACC_CORE_TABLE_OFFSET + offsetof(struct cnnacc_core_entry, field))

/* Registers that always read as something */
static const struct {
    const char *name;
    uint32_t addr;
    uint32_t val;
} cnnacc_defect_registers[] = {
    { "magic", CNNACC_REG_MAGIC, 0 },
    { "version", CNNACC_REG_HW_VERSION, 0x00020000 },
    { "cores", CNNACC_REG_CORE_COUNT, 0 },
    { "entry", CNNACC_ENTRY(program_max), 0 },
    /* The last word of the window begins in the register pages and ends beyond. */
    { "window", CNNACC_ENTRY(window_offset), CNNACC_REGS_SIZE - 5 },
    { "window", CNNACC_ENTRY(window_size), 5 },
    { "reset", CNNACC_REG_RESET, 1 },
    { "register", CNNACC_REG_INV_SEQ, 0xdead },
    { "scratch", CNNACC_REG_SCRATCH, 0 },
};

static const char *const cnnacc_defects[] = {
    "bar", "msix", "irq", "dma-read", "dma-write", "queue",
};

bool cnnacc_defect_is(CnnaccHost *host, const char *name)
{
    return host->defect && !strcmp(host->defect, name);
}

bool cnnacc_defect_check(CnnaccHost *host, Error **errp)
{
    bool known = !host->defect;

    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_defect_registers); i++) {
        known |= cnnacc_defect_is(host, cnnacc_defect_registers[i].name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_defects); i++) {
        known |= cnnacc_defect_is(host, cnnacc_defects[i]);
    }
    if (!known) {
        error_setg(errp, "defect: no defect '%s'", host->defect);
    }
    return known;
}

uint32_t cnnacc_defect_read(CnnaccHost *host, uint64_t addr, uint32_t val)
{
    uint32_t queue = cm_device_read(host->model, CNNACC_ENTRY(queue_offset));

    for (size_t i = 0; i < ARRAY_SIZE(cnnacc_defect_registers); i++) {
        if (addr == cnnacc_defect_registers[i].addr &&
            cnnacc_defect_is(host, cnnacc_defect_registers[i].name)) {
            return cnnacc_defect_registers[i].val;
        }
    }
    if (addr == queue + CNNACC_QREG_STATE && cnnacc_defect_is(host, "queue")) {
        return CNNACC_QSTATE_DISABLED;
    }
    return val;
}
