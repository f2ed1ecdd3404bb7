/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board 'virt' with a CNN accelerator, for arm64 and riscv64
 *
 * QEMU's own 'virt' would have to list the device before -device could add it.
 * This board is derived from it instead, which needs no change to QEMU: its
 * init is that of 'virt', and then puts the devices on the platform bus and
 * describes them in the device tree.  Their properties are set by -global.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "hw/platform-bus.h"
#include <libfdt.h>
#include "cnnacc-compat.h"
#include "cnnacc-sysbus.h"
#include "cnnacc-virt.h"
#include "cnnacc_hw.h"

#define TYPE_CNNACC_VIRT MACHINE_TYPE_NAME("virt-cnnacc")

#define CNNACC_VIRT_DEVICES_MAX 8

/* Emulators for other processors, which share this object, lack these */
#pragma weak platform_bus_link_device
#pragma weak platform_bus_get_mmio_addr
#pragma weak platform_bus_get_irqn

static void (*cnnacc_virt_parent_init)(MachineState *ms);

/* The board's property "devices"; an emulator has one board */
static uint8_t cnnacc_virt_devices = 1;

/* Interrupt controllers of the boards, and the first input of the platform bus */
static const struct {
    const char *compatible;
    uint32_t first;
} cnnacc_virt_controllers[] = {
    { "arm,cortex-a15-gic", 112 },
    { "arm,gic-v3", 112 },
    { "sifive,plic-1.0.0", 64 },
    { "riscv,aplic", 64 },
};

/* Writes a cell to @cells; returns the number of cells of one interrupt */
static unsigned int cnnacc_virt_irq(void *fdt, int controller, uint32_t irq,
                                    uint32_t *cells)
{
    const fdt32_t *count = fdt_getprop(fdt, controller, "#interrupt-cells",
                                       NULL);
    unsigned int n = 0;

    if (fdt32_to_cpu(*count) == 3) {
        cells[n++] = cpu_to_be32(0); /* GIC: a shared interrupt */
    }
    cells[n++] = cpu_to_be32(irq);
    if (fdt32_to_cpu(*count) > 1) {
        cells[n++] = cpu_to_be32(4); /* level, high */
    }
    return n;
}

static void cnnacc_virt_add_irq_names(CnnaccSysbusState *s, void *fdt,
                                      const char *node)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (unsigned int i = 0; i + 1 < cnnacc_sysbus_wires(s); i++) {
        g_string_append_printf(names, "core%u", i);
        g_string_append_c(names, 0);
    }
    g_string_append(names, "error");
    /* with the terminator of the last one */
    qemu_fdt_setprop(fdt, node, "interrupt-names", names->str, names->len + 1);
}

static void cnnacc_virt_add_irqs(CnnaccSysbusState *s, PlatformBusDevice *bus,
                                 void *fdt, const char *node)
{
    uint32_t cells[3 * (CM_MAX_CORES + 1)];
    int controller = -1;
    unsigned int n = 0, type = 0;

    for (; type < ARRAY_SIZE(cnnacc_virt_controllers); type++) {
        controller = fdt_node_offset_by_compatible(fdt, -1,
                         cnnacc_virt_controllers[type].compatible);
        if (controller >= 0) {
            break;
        }
    }
    if (controller < 0) {
        error_report("virt-cnnacc: no known interrupt controller");
        exit(1);
    }
    for (unsigned int i = 0; i < cnnacc_sysbus_wires(s); i++) {
        int irq = platform_bus_get_irqn(bus, SYS_BUS_DEVICE(s), i);

        n += cnnacc_virt_irq(fdt, controller,
                             cnnacc_virt_controllers[type].first + irq,
                             cells + n);
    }
    qemu_fdt_setprop_cell(fdt, node, "interrupt-parent",
                          fdt_get_phandle(fdt, controller));
    qemu_fdt_setprop(fdt, node, "interrupts", cells, n * sizeof(*cells));
    if (s->separate_wires) {
        cnnacc_virt_add_irq_names(s, fdt, node);
    }
}

/* Adds a node with a phandle, and registers if @size is not 0 */
static uint32_t cnnacc_virt_add_node(void *fdt, const char *node,
                                     const char *compatible, hwaddr base,
                                     uint64_t size)
{
    uint32_t phandle = qemu_fdt_alloc_phandle(fdt);

    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_cell(fdt, node, "phandle", phandle);
    qemu_fdt_setprop_string(fdt, node, "compatible", compatible);
    if (size) {
        qemu_fdt_setprop_sized_cells(fdt, node, "reg", 2, base, 2, size);
    }
    return phandle;
}

static void cnnacc_virt_add_reset(void *fdt, const char *device, hwaddr base)
{
    g_autofree char *node = g_strdup_printf("/reset-controller@%" PRIx64, base);
    uint32_t reset = cnnacc_virt_add_node(fdt, node, "snps,dw-high-reset", base,
                                          4);

    qemu_fdt_setprop_cell(fdt, node, "#reset-cells", 1);
    qemu_fdt_setprop_cells(fdt, device, "resets", reset, 0);
}

/* A clock that a bit of a register switches: GPIO and gate are drivers of Linux */
static void cnnacc_virt_add_clock(void *fdt, const char *device, hwaddr base,
                                  uint32_t hz)
{
    g_autofree char *gpio = g_strdup_printf("/gpio@%" PRIx64, base);
    g_autofree char *source = g_strdup_printf("/cnnacc-oscillator-%" PRIx64,
                                              base);
    g_autofree char *gate = g_strdup_printf("/cnnacc-clock-gate-%" PRIx64,
                                            base);
    uint32_t from, bits, clock;

    from = cnnacc_virt_add_node(fdt, source, "fixed-clock", 0, 0);
    qemu_fdt_setprop_cell(fdt, source, "#clock-cells", 0);
    qemu_fdt_setprop_cell(fdt, source, "clock-frequency", hz);
    bits = cnnacc_virt_add_node(fdt, gpio, "wd,mbl-gpio", base, 4);
    qemu_fdt_setprop_string(fdt, gpio, "reg-names", "dat");
    qemu_fdt_setprop(fdt, gpio, "gpio-controller", NULL, 0);
    qemu_fdt_setprop_cell(fdt, gpio, "#gpio-cells", 2);
    clock = cnnacc_virt_add_node(fdt, gate, "gpio-gate-clock", 0, 0);
    qemu_fdt_setprop_cell(fdt, gate, "#clock-cells", 0);
    qemu_fdt_setprop_cell(fdt, gate, "clocks", from);
    qemu_fdt_setprop_cells(fdt, gate, "enable-gpios", bits, 0, 0);
    qemu_fdt_setprop_cell(fdt, device, "clocks", clock);
    qemu_fdt_setprop_string(fdt, device, "clock-names", "core");
}

static CnnaccSysbusState *cnnacc_virt_device(MachineState *ms, unsigned int i)
{
    g_autofree char *name = g_strdup_printf("cnnacc[%u]", i);
    Object *obj = object_resolve_path_component(OBJECT(ms), name);

    return obj ? CNNACC_SYSBUS(obj) : NULL;
}

static PlatformBusDevice *cnnacc_virt_bus(void)
{
    return PLATFORM_BUS_DEVICE(qdev_find_recursive(sysbus_get_default(),
                                                   TYPE_PLATFORM_BUS_DEVICE));
}

static void cnnacc_virt_add_device_nodes(void *fdt, CnnaccSysbusState *s)
{
    PlatformBusDevice *bus = cnnacc_virt_bus();
    hwaddr base = bus->mmio.addr +
                  platform_bus_get_mmio_addr(bus, SYS_BUS_DEVICE(s), 0);
    hwaddr gates = bus->mmio.addr +
                   platform_bus_get_mmio_addr(bus, SYS_BUS_DEVICE(s), 1);
    g_autofree char *node = g_strdup_printf("/npu@%" PRIx64, base);

    cnnacc_virt_add_node(fdt, node, CNNACC_DT_COMPATIBLE, base,
                         memory_region_size(&s->cnnacc.mmio));
    cnnacc_virt_add_irqs(s, bus, fdt, node);
    if (s->coherent) {
        qemu_fdt_setprop(fdt, node, "dma-coherent", NULL, 0);
    }
    if (cnnacc_sysbus_has_reset(s)) {
        cnnacc_virt_add_reset(fdt, node, gates + CNNACC_GATE_RESET);
    }
    if (cnnacc_sysbus_has_clock(s)) {
        cnnacc_virt_add_clock(fdt, node, gates + CNNACC_GATE_CLOCK,
                              cm_device_read(s->cnnacc.model,
                                             CNNACC_REG_CLOCK_HZ));
    }
}

void cnnacc_virt_add_nodes(MachineState *ms)
{
    CnnaccSysbusState *s;

    if (fdt_node_offset_by_compatible(ms->fdt, -1, CNNACC_DT_COMPATIBLE) >= 0) {
        return;
    }
    for (unsigned int i = 0; (s = cnnacc_virt_device(ms, i)); i++) {
        cnnacc_virt_add_device_nodes(ms->fdt, s);
    }
}

static void cnnacc_virt_add_device(MachineState *ms)
{
    DeviceState *dev = qdev_new(TYPE_CNNACC_SYSBUS);

    object_property_add_child(OBJECT(ms), "cnnacc[*]", OBJECT(dev));
    sysbus_realize_and_unref(SYS_BUS_DEVICE(dev), &error_fatal);
    platform_bus_link_device(cnnacc_virt_bus(), SYS_BUS_DEVICE(dev));
}

static void cnnacc_virt_init(MachineState *ms)
{
    if (cnnacc_virt_devices < 1 ||
        cnnacc_virt_devices > CNNACC_VIRT_DEVICES_MAX) {
        error_report("virt-cnnacc: devices=%u: must be 1 to %u",
                     cnnacc_virt_devices, CNNACC_VIRT_DEVICES_MAX);
        exit(1);
    }
    cnnacc_virt_parent_init(ms);
    for (unsigned int i = 0; i < cnnacc_virt_devices; i++) {
        cnnacc_virt_add_device(ms);
    }
    if (CNNACC_TREE_IS_COMPLETE && ms->fdt && !ms->dtb) {
        cnnacc_virt_add_nodes(ms);
    }
}

static void cnnacc_virt_class_init(ObjectClass *klass, CnnaccClassData data)
{
    MachineClass *mc = MACHINE_CLASS(klass);

    cnnacc_virt_parent_init = mc->init;
    mc->init = cnnacc_virt_init;
    mc->desc = "virt with CNN accelerators";
    mc->alias = NULL;
    mc->is_default = false;
    object_class_property_add_uint8_ptr(klass, "devices", &cnnacc_virt_devices,
                                        OBJ_PROP_FLAG_READWRITE);
    object_class_property_set_description(klass, "devices",
        "Number of accelerators, 1 to 8 (default 1)");
}

static TypeInfo cnnacc_virt_type = {
    .name = TYPE_CNNACC_VIRT,
    .class_init = cnnacc_virt_class_init,
};

static void cnnacc_virt_register(void)
{
    if (cnnacc_arch_is(QEMU_ARCH_ARM)) {
        cnnacc_virt_type.parent = MACHINE_TYPE_NAME(
            "virt-" stringify(QEMU_VERSION_MAJOR) "."
            stringify(QEMU_VERSION_MINOR));
    } else if (cnnacc_arch_is(QEMU_ARCH_RISCV)) {
        cnnacc_virt_type.parent = MACHINE_TYPE_NAME("virt");
    } else {
        return;
    }
    type_register_static(&cnnacc_virt_type);
}

type_init(cnnacc_virt_register)
