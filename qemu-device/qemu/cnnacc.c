/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: the model's host inside QEMU
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "cnnacc_hw.h"
#include "trace.h"

const char *cnnacc_id(CnnaccHost *host)
{
    return host->owner->id ? host->owner->id : "cnnacc";
}

/* the model's callbacks */

static void cnnacc_irq_message(void *opaque, unsigned int vector)
{
    CnnaccHost *host = opaque;

    if (cnnacc_defect_is(host, "irq")) {
        return;
    }
    host->messages |= unlikely(host->malice.modes) ?
                      cnnacc_malice_messages(host, vector) : 1u << vector;
}

static void cnnacc_irq_level(void *opaque, bool level)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_irq_level(cnnacc_id(host), level);
    if (host->irq_level) {
        host->irq_level(host, level);
    }
}

uint64_t cnnacc_now(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void cnnacc_kick(void *opaque, unsigned int core)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_kick(cnnacc_id(host), core);
    if (host->writing) {
        host->kicked |= 1u << core;
    } else {
        cnnacc_wake(&host->worker[core]);
    }
}

static void cnnacc_log(void *opaque, const char *text)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_log(cnnacc_id(host), text);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: %s\n", cnnacc_id(host), text);
}

static const struct cm_host_ops cnnacc_ops = {
    .dma_read = cnnacc_dma_read,
    .dma_write = cnnacc_dma_write,
    .dma_map = cnnacc_dma_map,
    .dma_unmap = cnnacc_dma_unmap,
    .irq_message = cnnacc_irq_message,
    .irq_level = cnnacc_irq_level,
    .now = cnnacc_now,
    .wake_worker = cnnacc_kick,
    .log = cnnacc_log,
};

/*
 * A guest can point a message at this device's own registers.  Messages are
 * therefore sent outside the model, and what they write back is dropped.  It
 * can also remove the device with one.
 */
void cnnacc_deliver(CnnaccHost *host)
{
    if (host->delivering) {
        return;
    }
    host->delivering = true;
    while (host->messages && !host->quit) {
        unsigned int vector = ctz32(host->messages);

        host->messages &= ~(1u << vector);
        trace_cnnacc_irq_message(cnnacc_id(host), vector);
        if (host->irq_message) {
            host->irq_message(host, vector);
        }
    }
    host->delivering = false;
}

/* registers */

static bool cnnacc_access_ok(CnnaccHost *host, hwaddr addr, unsigned size)
{
    if (!host->model || host->quit || host->delivering || host->asleep) {
        return false;
    }
    if (size != 4 || addr % 4) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: access of %u bytes at 0x%"
                      HWADDR_PRIx " has no effect\n", cnnacc_id(host), size,
                      addr);
        return false;
    }
    return true;
}

static uint64_t cnnacc_read(void *opaque, hwaddr addr, unsigned size)
{
    CnnaccHost *host = opaque;
    uint64_t val = host->asleep ? UINT64_MAX : 0;

    if (cnnacc_access_ok(host, addr, size)) {
        val = cm_device_read(host->model, addr);
        if (unlikely(host->malice.modes)) {
            val = cnnacc_malice_read(host, addr, val);
        }
        if (unlikely(host->defect)) {
            val = cnnacc_defect_read(host, addr, val);
        }
        cnnacc_deliver(host);
    }
    trace_cnnacc_read(cnnacc_id(host), addr, size, val);
    return val;
}

static void cnnacc_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_write(cnnacc_id(host), addr, size, val);
    if (!cnnacc_access_ok(host, addr, size)) {
        return;
    }
    if (unlikely(host->malice.modes) && !cnnacc_malice_write(host, addr, val)) {
        return;
    }
    host->writing = true;
    cm_device_write(host->model, addr, val);
    host->writing = false;
    cnnacc_deliver(host);
    while (host->kicked) {
        unsigned int core = ctz32(host->kicked);

        host->kicked &= ~(1u << core);
        cnnacc_work_at_once(&host->worker[core]);
    }
}

static const MemoryRegionOps cnnacc_mmio_ops = {
    .read = cnnacc_read,
    .write = cnnacc_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

static void cnnacc_vm_state(void *opaque, bool running, RunState state)
{
    CnnaccHost *host = opaque;

    cnnacc_stop(host);
    host->vm_running = running;
    cnnacc_resume(host);
}

/* life of a device */

static bool cnnacc_configure(CnnaccHost *host, struct cm_config *config,
                             Error **errp)
{
    const struct {
        const char *key;
        const char *value;
    } props[] = {
        { "cores", host->cores },
        { "clock-hz", host->clock_hz },
        { "timing", host->timing },
        { "threads", host->threads },
        { "simd", host->simd },
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

bool cnnacc_host_realize(CnnaccHost *host, Error **errp)
{
    struct cm_config config = {};
    char err[CM_ERR_LEN] = "";

    if (host->workers) {
        error_setg(errp, "the device is still being removed");
        return false;
    }
    if (!cnnacc_defect_check(host, errp) ||
        !cnnacc_configure(host, &config, errp)) {
        return false;
    }
    host->attrs.memory = 1;
    host->quit = false;
    host->revoked = false;
    host->model = cm_device_create(&config, &cnnacc_ops, host, err);
    if (!host->model) {
        error_setg(errp, "%s", err);
        return false;
    }
    memory_region_init_io(&host->mmio, OBJECT(host->owner), &cnnacc_mmio_ops,
                          host, "cnnacc-regs",
                          cnnacc_defect_is(host, "bar") ?
                          CNNACC_REGS_SIZE / 2 : CNNACC_REGS_SIZE);
    host->vm_running = runstate_is_running();
    cnnacc_malice_realize(host);
    cnnacc_start_workers(host, config.modelled);
    host->vm_state = qdev_add_vm_change_state_handler(host->owner,
                                                      cnnacc_vm_state, host);
    return true;
}

/*
 * Called in the middle of anything that removes a device, a worker's own
 * message included, so nothing is waited for: the workers leave at the end of
 * their steps, which reach no memory any more.
 */
void cnnacc_host_unrealize(CnnaccHost *host)
{
    qemu_del_vm_change_state_handler(host->vm_state);
    qatomic_set(&host->revoked, true);
    host->quit = true;
    cnnacc_malice_unrealize(host);
    cnnacc_dismiss_workers(host);
}

/*
 * Called in the middle of a bus reset or of a write to configuration space,
 * where the lock must not be dropped to wait for the workers: the reset ends
 * with their steps, which reach no memory any more.
 */
void cnnacc_host_reset(CnnaccHost *host)
{
    trace_cnnacc_reset(cnnacc_id(host));
    if (!host->model || host->quit) {
        return;
    }
    cm_device_write(host->model, CNNACC_REG_RESET, 1);
    cnnacc_malice_reset(host);
    qatomic_set(&host->revoked, cnnacc_busy(host));
    host->messages = 0;
}

void cnnacc_describe_properties(ObjectClass *klass)
{
    object_class_property_set_description(klass, "cores",
        "Cores, separated by '+', each NAME[:PARAM=N]... (default ccp)");
    object_class_property_set_description(klass, "clock-hz",
        "Clock of the cores, reported to the guest (default 100000000)");
    object_class_property_set_description(klass, "timing",
        "instant: a job takes what the host takes (default); modelled: its "
        "modelled cycles at clock-hz in virtual time");
    object_class_property_set_description(klass, "threads",
        "Host threads that compute, 1..64 (default the CPUs of the process)");
    object_class_property_set_description(klass, "malice",
        "What the device does wrong on purpose, separated by '+' (default none; "
        "can be set at any time)");
    object_class_property_set_description(klass, "defect",
        "What the device cannot do, to test a driver's probe: bar, msix, magic, "
        "version, cores, entry, reset, register, scratch, queue, irq, dma-read, "
        "dma-write (default nothing)");
    object_class_property_set_description(klass, "simd",
        "Host vectors to compute with: widest (default), baseline, avx2, avx512");
}
