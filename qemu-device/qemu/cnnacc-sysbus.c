/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator as a peripheral of a system on chip (AXI)
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "exec/address-spaces.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "cnnacc-compat.h"
#include "cnnacc-sysbus.h"
#include "cnnacc_hw.h"

unsigned int cnnacc_sysbus_wires(CnnaccSysbusState *s)
{
    return s->separate_wires ? cm_device_vectors(s->cnnacc.model) : 1;
}

bool cnnacc_sysbus_has_reset(CnnaccSysbusState *s)
{
    return s->gates;
}

bool cnnacc_sysbus_has_clock(CnnaccSysbusState *s)
{
    return s->gates && !strcmp(s->gates, "all");
}

/* wires */

static void cnnacc_sysbus_irq_wires(CnnaccState *cnnacc, uint32_t wires)
{
    CnnaccSysbusState *s = CNNACC_SYSBUS(cnnacc->owner);
    uint32_t changed;

    if (!s->separate_wires) {
        wires = !!wires;
    }
    changed = s->wires_high ^ wires;
    s->wires_high = wires;
    for (; changed; changed &= changed - 1) {
        unsigned int n = ctz32(changed);

        qemu_set_irq(s->irq[n], wires >> n & 1);
    }
}

static const CnnaccBusOps cnnacc_sysbus_ops = {
    .irq_wires = cnnacc_sysbus_irq_wires,
};

/* gates */

static void cnnacc_sysbus_update_gates(CnnaccSysbusState *s)
{
    memory_region_set_enabled(&s->cnnacc.mmio, s->clock_on && !s->in_reset);
}

static uint64_t cnnacc_gates_read(void *opaque, hwaddr addr, unsigned size)
{
    CnnaccSysbusState *s = opaque;

    return addr == CNNACC_GATE_RESET ? s->in_reset : s->clock_on;
}

static void cnnacc_gates_write(void *opaque, hwaddr addr, uint64_t val,
                               unsigned size)
{
    CnnaccSysbusState *s = opaque;

    if (addr == CNNACC_GATE_CLOCK) {
        s->clock_on = val & 1;
    } else {
        s->in_reset = val & 1;
        if (s->in_reset) {
            cnnacc_reset(&s->cnnacc);
        }
    }
    cnnacc_sysbus_update_gates(s);
}

static const MemoryRegionOps cnnacc_gates_ops = {
    .read = cnnacc_gates_read,
    .write = cnnacc_gates_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
};

/* realize, reset, migration */

static void cnnacc_sysbus_realize(DeviceState *dev, Error **errp)
{
    CnnaccSysbusState *s = CNNACC_SYSBUS(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    if (s->gates && strcmp(s->gates, "reset") && strcmp(s->gates, "all")) {
        error_setg(errp, "gates: '%s' is neither reset nor all", s->gates);
        return;
    }
    s->cnnacc.as = &address_space_memory;
    if (!cnnacc_realize(&s->cnnacc, errp)) {
        return;
    }
    memory_region_init_io(&s->gates_mmio, OBJECT(dev), &cnnacc_gates_ops, s,
                          "cnnacc-gates", CNNACC_GATES_SIZE);
    sysbus_init_mmio(sbd, &s->cnnacc.mmio);
    sysbus_init_mmio(sbd, &s->gates_mmio);
    for (unsigned int i = 0; i < cnnacc_sysbus_wires(s); i++) {
        sysbus_init_irq(sbd, &s->irq[i]);
    }
}

static void cnnacc_sysbus_unrealize(DeviceState *dev)
{
    cnnacc_unrealize(&CNNACC_SYSBUS(dev)->cnnacc);
}

static void cnnacc_sysbus_reset(DeviceState *dev)
{
    CnnaccSysbusState *s = CNNACC_SYSBUS(dev);

    s->in_reset = 0;
    s->clock_on = 1;
    cnnacc_sysbus_update_gates(s);
    cnnacc_reset(&s->cnnacc);
}

static int cnnacc_sysbus_post_load(void *opaque, int version_id)
{
    CnnaccSysbusState *s = opaque;

    s->in_reset &= 1;
    s->clock_on &= 1;
    cnnacc_sysbus_update_gates(s);
    return 0;
}

static const VMStateDescription vmstate_cnnacc_sysbus = {
    .name = TYPE_CNNACC_SYSBUS,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = cnnacc_sysbus_post_load,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        VMSTATE_STRUCT(cnnacc, CnnaccSysbusState, 1, vmstate_cnnacc,
                       CnnaccState),
        VMSTATE_UINT32(in_reset, CnnaccSysbusState),
        VMSTATE_UINT32(clock_on, CnnaccSysbusState),
        VMSTATE_END_OF_LIST()
    }
};

static void cnnacc_sysbus_instance_init(Object *obj)
{
    cnnacc_init(&CNNACC_SYSBUS(obj)->cnnacc, DEVICE(obj), &cnnacc_sysbus_ops);
}

static CNNACC_PROP_CONST Property cnnacc_sysbus_properties[] = {
    DEFINE_CNNACC_PROPERTIES(CnnaccSysbusState, cnnacc),
    DEFINE_PROP_BOOL("separate-wires", CnnaccSysbusState, separate_wires,
                     false),
    DEFINE_PROP_BOOL("coherent", CnnaccSysbusState, coherent, true),
    DEFINE_PROP_STRING("gates", CnnaccSysbusState, gates),
    CNNACC_PROP_END
};

static void cnnacc_sysbus_class_init(ObjectClass *klass, CnnaccClassData data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    dc->realize = cnnacc_sysbus_realize;
    dc->unrealize = cnnacc_sysbus_unrealize;
    dc->vmsd = &vmstate_cnnacc_sysbus;
    device_class_set_props(dc, cnnacc_sysbus_properties);
    cnnacc_set_reset(dc, cnnacc_sysbus_reset);
    cnnacc_class_init(klass, TYPE_SYS_BUS_DEVICE, sizeof(SysBusDevice));
    object_class_property_set_description(klass, "separate-wires",
        "One interrupt per core and one for errors, not one for all "
        "(default off)");
    object_class_property_set_description(klass, "coherent",
        "The device tree says that DMA is coherent with the caches (default "
        "on)");
    object_class_property_set_description(klass, "gates",
        "What the device tree lets software control: reset; all: clock, too "
        "(default: nothing)");
}

static const TypeInfo cnnacc_sysbus_types[] = {
    {
        .name = TYPE_CNNACC_SYSBUS,
        .parent = TYPE_SYS_BUS_DEVICE,
        .instance_size = sizeof(CnnaccSysbusState),
        .instance_init = cnnacc_sysbus_instance_init,
        .class_init = cnnacc_sysbus_class_init,
    },
};

DEFINE_TYPES(cnnacc_sysbus_types)
