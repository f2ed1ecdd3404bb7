/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: the device, independent of its bus
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "cnnacc_hw.h"
#include "trace.h"

const char *cnnacc_id(CnnaccState *s)
{
    return s->owner->id ? s->owner->id : "cnnacc";
}

/* callbacks of the model */

static void cnnacc_irq_message(void *opaque, unsigned int vector)
{
    CnnaccState *s = opaque;

    if (cnnacc_probe_fault_is(s, "irq")) {
        return;
    }
    s->messages |= unlikely(s->faults.modes) ?
                   cnnacc_fault_messages(s, vector) : 1u << vector;
}

static void cnnacc_irq_wires(void *opaque, uint32_t wires)
{
    CnnaccState *s = opaque;

    trace_cnnacc_irq_wires(cnnacc_id(s), wires);
    if (s->bus->irq_wires && !cnnacc_probe_fault_is(s, "irq")) {
        s->bus->irq_wires(s, wires);
    }
}

uint64_t cnnacc_now(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void cnnacc_kick(void *opaque, unsigned int core)
{
    CnnaccState *s = opaque;

    trace_cnnacc_kick(cnnacc_id(s), core);
    if (s->writing) {
        s->kicked |= 1u << core;
    } else {
        cnnacc_wake(&s->worker[core]);
    }
}

static void cnnacc_log(void *opaque, const char *text)
{
    CnnaccState *s = opaque;

    trace_cnnacc_log(cnnacc_id(s), text);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: %s\n", cnnacc_id(s), text);
}

static const struct cm_host_ops cnnacc_ops = {
    .dma_read = cnnacc_dma_read,
    .dma_write = cnnacc_dma_write,
    .dma_map = cnnacc_dma_map,
    .dma_unmap = cnnacc_dma_unmap,
    .irq_message = cnnacc_irq_message,
    .irq_wires = cnnacc_irq_wires,
    .now = cnnacc_now,
    .wake_worker = cnnacc_kick,
    .log = cnnacc_log,
};

/*
 * The run state changes before, and s->vm_running while QEMU tells the devices.
 * A machine in S3 is not told; it resets its devices when it wakes up.
 */
bool cnnacc_live(CnnaccState *s)
{
    return s->vm_running && runstate_is_running();
}

/*
 * A message can reach this device's own registers, through other devices or an
 * IOMMU.  Messages are therefore sent outside the model, and register accesses
 * that they cause are dropped.  A message can also unplug the device, which
 * sets s->quit, or stop the machine.  Those that are held are part of the saved
 * state.
 */
void cnnacc_deliver(CnnaccState *s)
{
    if (s->delivering) {
        return;
    }
    s->delivering = true;
    while (s->messages && cnnacc_live(s) && !s->quit) {
        unsigned int vector = ctz32(s->messages);

        s->messages &= ~(1u << vector);
        trace_cnnacc_irq_message(cnnacc_id(s), vector);
        if (s->bus->irq_message) {
            s->bus->irq_message(s, vector);
        }
    }
    s->delivering = false;
}

void cnnacc_hold_message(CnnaccState *s, unsigned int vector)
{
    trace_cnnacc_message_held(cnnacc_id(s), vector);
    s->messages |= 1u << vector;
}

void cnnacc_refuse_message(CnnaccState *s, uint64_t addr)
{
    trace_cnnacc_message_refused(cnnacc_id(s), addr);
    if (s->model) {
        cm_device_message_refused(s->model);
    }
}

/* registers */

static bool cnnacc_access_ok(CnnaccState *s, hwaddr addr, unsigned size)
{
    if (!s->model || s->quit || s->delivering || s->asleep) {
        return false;
    }
    if (size != 4 || addr % 4) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: access of %u bytes at 0x%"
                      HWADDR_PRIx " ignored: only aligned accesses of 4 bytes "
                      "are supported\n", cnnacc_id(s), size, addr);
        return false;
    }
    return true;
}

static uint64_t cnnacc_read(void *opaque, hwaddr addr, unsigned size)
{
    CnnaccState *s = opaque;
    uint64_t val = s->asleep ? UINT64_MAX : 0;

    if (cnnacc_access_ok(s, addr, size)) {
        val = cm_device_read(s->model, addr);
        if (unlikely(s->faults.modes)) {
            val = cnnacc_fault_read(s, addr, val);
        }
        if (unlikely(s->probe_fault)) {
            val = cnnacc_probe_fault_read(s, addr, val);
        }
        cnnacc_deliver(s);
    }
    trace_cnnacc_read(cnnacc_id(s), addr, size, val);
    return val;
}

static void cnnacc_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    CnnaccState *s = opaque;

    trace_cnnacc_write(cnnacc_id(s), addr, size, val);
    if (!cnnacc_access_ok(s, addr, size)) {
        return;
    }
    if (unlikely(s->faults.modes) && !cnnacc_fault_write(s, addr, val)) {
        return;
    }
    s->writing = true;
    cm_device_write(s->model, addr, val);
    s->writing = false;
    cnnacc_deliver(s);
    while (s->kicked) {
        unsigned int core = ctz32(s->kicked);

        s->kicked &= ~(1u << core);
        cnnacc_work_at_once(&s->worker[core]);
    }
}

static const MemoryRegionOps cnnacc_mmio_ops = {
    .read = cnnacc_read,
    .write = cnnacc_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* Registered so that it is called last when the machine starts */
static void cnnacc_vm_state(void *opaque, bool running, RunState state)
{
    CnnaccState *s = opaque;

    cnnacc_end_steps(s);
    s->vm_running = running;
    cnnacc_resume(s);
}

/* configuration, realize, reset */

static bool cnnacc_configure(CnnaccState *s, struct cm_config *config,
                             Error **errp)
{
    const struct {
        const char *key;
        const char *value;
    } props[] = {
        { "cores", s->cores },
        { "clock-hz", s->clock_hz },
        { "timing", s->timing },
        { "threads", s->threads },
        { "simd", s->simd },
    };
    char err[CM_ERR_LEN] = "";

    for (size_t i = 0; i < ARRAY_SIZE(props); i++) {
        if (props[i].value &&
            cm_config_set(config, props[i].key, props[i].value, err)) {
            error_setg(errp, "%s", err);
            return false;
        }
    }
    return true;
}

bool cnnacc_realize(CnnaccState *s, Error **errp)
{
    struct cm_config config = {};
    char err[CM_ERR_LEN] = "";

    if (s->workers) {
        error_setg(errp, "the previous removal of this device is still in "
                   "progress");
        return false;
    }
    if (!cnnacc_probe_fault_check(s, errp) ||
        !cnnacc_configure(s, &config, errp)) {
        return false;
    }
    s->attrs.memory = 1;
    s->quit = false;
    s->revoked = false;
    s->model = cm_device_create(&config, &cnnacc_ops, s, err);
    if (!s->model) {
        error_setg(errp, "%s", err);
        return false;
    }
    memory_region_init_io(&s->mmio, OBJECT(s->owner), &cnnacc_mmio_ops,
                          s, "cnnacc-regs",
                          cnnacc_probe_fault_is(s, "bar") ?
                          CNNACC_REGS_SIZE / 2 : CNNACC_REGS_SIZE);
    /* The handler is not called when a machine wakes up from S3 */
    s->vm_running = runstate_is_running() ||
                    runstate_check(RUN_STATE_SUSPENDED);
    cnnacc_fault_realize(s);
    cnnacc_start_workers(s, config.modelled);
    s->vm_state = qemu_add_vm_change_state_handler_prio(cnnacc_vm_state, s,
                                                        INT_MAX);
    return true;
}

/*
 * Any code can remove a device, even the message that a worker delivers, so
 * this must not wait for the workers.  They exit at the end of their steps;
 * revoking access keeps those steps away from memory.
 */
void cnnacc_unrealize(CnnaccState *s)
{
    qemu_del_vm_change_state_handler(s->vm_state);
    qatomic_set(&s->revoked, true);
    s->quit = true;
    cnnacc_fault_unrealize(s);
    cnnacc_dismiss_workers(s);
}

/*
 * The caller is a bus reset or a write to configuration space, where dropping
 * the BQL to wait for the workers is not allowed.  The reset therefore
 * completes when their steps end; revoking access keeps those steps away from
 * memory.
 */
void cnnacc_reset(CnnaccState *s)
{
    trace_cnnacc_reset(cnnacc_id(s));
    if (!s->model || s->quit) {
        return;
    }
    cm_device_write(s->model, CNNACC_REG_RESET, 1);
    cnnacc_fault_reset(s);
    qatomic_set(&s->revoked, cnnacc_busy(s));
    s->messages = 0;
}

void cnnacc_init(CnnaccState *s, DeviceState *owner, const CnnaccBusOps *bus)
{
    s->owner = owner;
    s->bus = bus;
    cnnacc_fault_add_property(s);
}

#ifdef CNNACC_PRELOADED
/*
 * A preloaded device uses structures of a QEMU that was built elsewhere.  Their
 * size in the running QEMU must be the one in the headers used here.
 */
static void cnnacc_check_abi(const char *type, size_t size)
{
    size_t found = object_type_get_instance_size(type);

    if (found != size) {
        error_report("cnnacc was built for QEMU " QEMU_VERSION " with %zu "
                     "bytes for type '%s', but this QEMU has %zu: run "
                     "scripts/build-qemu-device for this QEMU", size, type,
                     found);
        exit(1);
    }
}
#else
static void cnnacc_check_abi(const char *type, size_t size)
{
}
#endif

static void cnnacc_describe_properties(ObjectClass *klass)
{
    object_class_property_set_description(klass, "cores",
        "Cores, separated by '+', each NAME[:PARAM=N]...");
    object_class_property_set_description(klass, "clock-hz",
        "Clock of the cores in Hz, reported to the guest (default 100000000)");
    object_class_property_set_description(klass, "timing",
        "instant: a job ends as soon as the host has computed it (default); "
        "modelled: a job takes its modelled cycles at clock-hz in virtual "
        "time");
    object_class_property_set_description(klass, "threads",
        "Host threads that compute, 1..64 (default: CPUs available to the "
        "process)");
    object_class_property_set_description(klass, "simd",
        "Widest host vectors to use: widest (default), baseline, avx2, avx512");
    object_class_property_set_description(klass, "probe-fault",
        "Fault for a driver's probe to detect: bar, msix, magic, version, "
        "cores, name, entry, window, reset, register, scratch, queue, irq, "
        "dma-read, dma-write (default: no fault)");
}

void cnnacc_class_init(ObjectClass *klass, const char *parent, size_t size)
{
    DeviceClass *dc = DEVICE_CLASS(klass);

    cnnacc_check_abi(TYPE_DEVICE, sizeof(DeviceState));
    cnnacc_check_abi(parent, size);
    dc->desc = "CNN accelerator";
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    cnnacc_describe_properties(klass);
}
