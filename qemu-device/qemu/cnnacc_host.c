/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: the model's host inside QEMU
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "hw/pci/pci.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "migration/qemu-file-types.h"
#include "cnnacc_compat.h"
#include "cnnacc_host.h"
#include "cnnacc_hw.h"
#include "trace.h"

/* A step is short enough for reset and migration not to be felt */
#define CNNACC_STEP_NS (2 * SCALE_MS)


static const char *cnnacc_id(CnnaccHost *host)
{
    return host->owner->id ? host->owner->id : "cnnacc";
}

/* the model's callbacks */

/*
 * An IOMMU that refuses an access raises an interrupt, for which it needs the
 * big lock.  Taken before RCU's; a locked call of the model has it already.
 */
static bool cnnacc_lock_iommu(CnnaccHost *host)
{
    bool lock = qatomic_read(&host->translated) && !bql_locked();

    if (lock) {
        bql_lock();
    }
    return lock;
}

static void cnnacc_unlock_iommu(bool locked)
{
    if (locked) {
        bql_unlock();
    }
}

static int cnnacc_dma(CnnaccHost *host, uint64_t addr, void *buf, size_t len,
                      bool is_write)
{
    MemTxResult res = MEMTX_ACCESS_ERROR;
    bool locked = cnnacc_lock_iommu(host);

    if (!qatomic_read(&host->revoked)) {
        res = address_space_rw(host->as, addr, host->attrs, buf, len, is_write);
    }
    cnnacc_unlock_iommu(locked);
    if (res != MEMTX_OK) {
        trace_cnnacc_dma_refused(cnnacc_id(host), addr, len, is_write);
        return -1;
    }
    return 0;
}

static int cnnacc_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return cnnacc_dma(opaque, addr, buf, len, false);
}

static int cnnacc_dma_write(void *opaque, uint64_t addr, const void *buf,
                            size_t len)
{
    return cnnacc_dma(opaque, addr, (void *)buf, len, true);
}

/*
 * address_space_map() would fall back to a bounce buffer for what is not RAM;
 * here only RAM is mapped, and the reference that address_space_unmap() drops
 * is taken by hand.
 */
static void *cnnacc_map_ram(CnnaccHost *host, uint64_t addr, size_t *len,
                            bool is_write)
{
    hwaddr l = *len, xlat;
    MemoryRegion *mr;

    if (qatomic_read(&host->revoked)) {
        return NULL;
    }
    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(host->as, addr, &xlat, &l, is_write,
                                 host->attrs);
    if (!l || !memory_region_is_ram(mr) || memory_region_is_ram_device(mr) ||
        (is_write && (mr->readonly || mr->rom_device))) {
        return NULL;
    }
    memory_region_ref(mr);
    *len = l;
    return (uint8_t *)memory_region_get_ram_ptr(mr) + xlat;
}

static void *cnnacc_dma_map(void *opaque, uint64_t addr, size_t *len,
                            bool is_write)
{
    CnnaccHost *host = opaque;
    bool locked = cnnacc_lock_iommu(host);
    void *ptr = cnnacc_map_ram(host, addr, len, is_write);

    cnnacc_unlock_iommu(locked);
    return ptr;
}

static void cnnacc_dma_unmap(void *opaque, void *ptr, size_t len, bool is_write)
{
    CnnaccHost *host = opaque;

    address_space_unmap(host->as, ptr, len, is_write, len);
}

static void cnnacc_irq_message(void *opaque, unsigned int vector)
{
    CnnaccHost *host = opaque;

    host->messages |= 1u << vector;
}

static void cnnacc_irq_level(void *opaque, bool level)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_irq_level(cnnacc_id(host), level);
    if (host->irq_level) {
        host->irq_level(host, level);
    }
}

static uint64_t cnnacc_now(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void cnnacc_kick(void *opaque, unsigned int core)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_kick(cnnacc_id(host), core);
    if (core < host->workers) {
        qemu_cond_signal(&host->worker[core].wake);
    }
}

static void cnnacc_log(void *opaque, const char *text)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_log(cnnacc_id(host), text);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: %s\n", cnnacc_id(host), text);
}

static const struct cnn_host_ops cnnacc_ops = {
    .dma_read = cnnacc_dma_read,
    .dma_write = cnnacc_dma_write,
    .dma_map = cnnacc_dma_map,
    .dma_unmap = cnnacc_dma_unmap,
    .irq_message = cnnacc_irq_message,
    .irq_level = cnnacc_irq_level,
    .now = cnnacc_now,
    .kick = cnnacc_kick,
    .log = cnnacc_log,
};

/*
 * A guest can point a message at this device's own registers.  Messages are
 * therefore sent outside the model, and what they write back is dropped.
 */
static void cnnacc_deliver(CnnaccHost *host)
{
    if (host->delivering) {
        return;
    }
    host->delivering = true;
    while (host->messages) {
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
    if (!host->model || host->delivering) {
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
    uint32_t val = 0;

    if (cnnacc_access_ok(host, addr, size)) {
        val = cnn_device_read(host->model, addr);
        cnnacc_deliver(host);
    }
    trace_cnnacc_read(cnnacc_id(host), addr, size, val);
    return val;
}

static void cnnacc_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    CnnaccHost *host = opaque;

    trace_cnnacc_write(cnnacc_id(host), addr, size, val);
    if (cnnacc_access_ok(host, addr, size)) {
        cnn_device_write(host->model, addr, val);
        cnnacc_deliver(host);
    }
}

static const MemoryRegionOps cnnacc_mmio_ops = {
    .read = cnnacc_read,
    .write = cnnacc_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* workers */

static bool cnnacc_may_run(CnnaccHost *host)
{
    return host->vm_running && !host->stopping && !host->quit;
}

static bool cnnacc_busy(CnnaccHost *host)
{
    for (unsigned int i = 0; i < host->workers; i++) {
        if (host->worker[i].busy) {
            return true;
        }
    }
    return false;
}

static void cnnacc_step(CnnaccWorker *w)
{
    CnnaccHost *host = w->host;

    w->busy = true;
    qatomic_set(&host->translated, host->behind_iommu(host));
    trace_cnnacc_begin(cnnacc_id(host), w->core);
    bql_unlock();
    cnn_device_run(host->model, w->core, CNNACC_STEP_NS);
    bql_lock();
    cnn_device_end(host->model, w->core);
    trace_cnnacc_end(cnnacc_id(host), w->core);
    w->busy = false;
    qatomic_set(&host->revoked, host->revoked && cnnacc_busy(host));
    cnnacc_deliver(host);
    qemu_cond_broadcast(&host->idle);
}

static void *cnnacc_worker(void *opaque)
{
    CnnaccWorker *w = opaque;
    CnnaccHost *host = w->host;

    rcu_register_thread();
    bql_lock();
    while (!host->quit) {
        if (cnnacc_may_run(host) && cnn_device_begin(host->model, w->core)) {
            cnnacc_step(w);
        } else {
            cnnacc_deliver(host);
            qemu_cond_wait_bql(&w->wake);
        }
    }
    bql_unlock();
    rcu_unregister_thread();
    return NULL;
}

/*
 * Waits until every worker stands at a step boundary.  The lock is dropped
 * meanwhile: a step may need it, for an IOMMU fault for example.
 */
static void cnnacc_stop(CnnaccHost *host)
{
    trace_cnnacc_quiesce(cnnacc_id(host));
    object_ref(OBJECT(host->owner));
    host->stopping++;
    while (cnnacc_busy(host)) {
        qemu_cond_wait_bql(&host->idle);
    }
}

static void cnnacc_resume(CnnaccHost *host)
{
    host->stopping--;
    if (host->model && cnnacc_may_run(host)) {
        cnn_device_kick_all(host->model);
    }
    object_unref(OBJECT(host->owner));
}

static void cnnacc_start_workers(CnnaccHost *host)
{
    unsigned int cores = cnn_device_core_count(host->model);

    qemu_cond_init(&host->idle);
    for (unsigned int i = 0; i < cores; i++) {
        CnnaccWorker *w = &host->worker[i];
        g_autofree char *name = g_strdup_printf("cnnacc/%u", i);

        w->host = host;
        w->core = i;
        w->busy = false;
        qemu_cond_init(&w->wake);
        qemu_thread_create(&w->thread, name, cnnacc_worker, w,
                           QEMU_THREAD_JOINABLE);
    }
    host->workers = cores;
}

static void cnnacc_end_workers(CnnaccHost *host)
{
    host->quit = true;
    for (unsigned int i = 0; i < host->workers; i++) {
        qemu_cond_signal(&host->worker[i].wake);
    }
    /* Without the lock, that they need to leave */
    bql_unlock();
    for (unsigned int i = 0; i < host->workers; i++) {
        qemu_thread_join(&host->worker[i].thread);
    }
    bql_lock();
    for (unsigned int i = 0; i < host->workers; i++) {
        qemu_cond_destroy(&host->worker[i].wake);
    }
    qemu_cond_destroy(&host->idle);
    host->workers = 0;
}

static void cnnacc_vm_state(void *opaque, bool running, RunState state)
{
    CnnaccHost *host = opaque;

    cnnacc_stop(host);
    host->vm_running = running;
    cnnacc_resume(host);
}

/* life of a device */

static bool cnnacc_configure(CnnaccHost *host, struct cnn_config *config,
                             Error **errp)
{
    const struct {
        const char *key;
        const char *value;
    } props[] = {
        { "cores", host->cores },
        { "clock-hz", host->clock_hz },
    };
    char err[CNN_MODEL_ERR_LEN] = "";

    for (size_t i = 0; i < ARRAY_SIZE(props); i++) {
        if (props[i].value &&
            cnn_config_set(config, props[i].key, props[i].value, err)) {
            error_setg(errp, "%s", err);
            return false;
        }
    }
    return true;
}

bool cnnacc_host_realize(CnnaccHost *host, Error **errp)
{
    struct cnn_config config = {};
    char err[CNN_MODEL_ERR_LEN] = "";

    if (!cnnacc_configure(host, &config, errp)) {
        return false;
    }
    host->attrs.memory = 1;
    host->quit = false;
    host->model = cnn_device_create(&config, &cnnacc_ops, host, err);
    if (!host->model) {
        error_setg(errp, "%s", err);
        return false;
    }
    memory_region_init_io(&host->mmio, OBJECT(host->owner), &cnnacc_mmio_ops,
                          host, "cnnacc-regs", CNNACC_REGS_SIZE);
    host->vm_running = runstate_is_running();
    cnnacc_start_workers(host);
    host->vm_state = qdev_add_vm_change_state_handler(host->owner,
                                                      cnnacc_vm_state, host);
    return true;
}

void cnnacc_host_unrealize(CnnaccHost *host)
{
    qemu_del_vm_change_state_handler(host->vm_state);
    cnnacc_end_workers(host);
    cnn_device_destroy(host->model);
    host->model = NULL;
}

/*
 * Called in the middle of a bus reset or of a write to configuration space,
 * where the lock must not be dropped to wait for the workers: the reset ends
 * with their steps, which reach no memory any more.
 */
void cnnacc_host_reset(CnnaccHost *host)
{
    trace_cnnacc_reset(cnnacc_id(host));
    if (!host->model) {
        return;
    }
    cnn_device_write(host->model, CNNACC_REG_RESET, 1);
    qatomic_set(&host->revoked, cnnacc_busy(host));
    host->messages = 0;
}

void cnnacc_describe_properties(ObjectClass *klass)
{
    object_class_property_set_description(klass, "cores",
        "Cores, separated by '+', each NAME[:PARAM=N]... (default ccp)");
    object_class_property_set_description(klass, "clock-hz",
        "Clock of the cores, reported to the guest (default 100000000)");
}

/* migration */

static int cnnacc_put_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field, JSONWriter *vmdesc)
{
    CnnaccHost *host = pv;
    size_t len = cnn_device_state_size(host->model);
    g_autofree uint8_t *buf = g_try_malloc0(len);

    if (!buf) {
        error_report("%s: no memory to save %zu bytes", cnnacc_id(host), len);
        return -ENOMEM;
    }
    trace_cnnacc_save(cnnacc_id(host), len);
    cnnacc_stop(host);
    cnn_device_save(host->model, buf);
    cnnacc_resume(host);
    qemu_put_be64(f, len);
    qemu_put_buffer(f, buf, len);
    return 0;
}

static int cnnacc_load_state(CnnaccHost *host, const uint8_t *buf, size_t len)
{
    char err[CNN_MODEL_ERR_LEN] = "";
    int ret;

    cnnacc_stop(host);
    ret = cnn_device_load(host->model, buf, len, err);
    host->messages = 0;
    cnnacc_resume(host);
    if (ret) {
        error_report("%s: saved state refused: %s", cnnacc_id(host), err);
        return -EINVAL;
    }
    return 0;
}

static int cnnacc_get_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field)
{
    CnnaccHost *host = pv;
    size_t want = cnn_device_state_size(host->model);
    uint64_t len = qemu_get_be64(f);
    g_autofree uint8_t *buf = NULL;

    trace_cnnacc_load(cnnacc_id(host), len);
    if (len != want) {
        error_report("%s: saved state refused: %" PRIu64 " bytes, but these "
                     "cores need %zu", cnnacc_id(host), len, want);
        return -EINVAL;
    }
    buf = g_try_malloc(want);
    if (!buf) {
        error_report("%s: no memory to load %zu bytes", cnnacc_id(host), want);
        return -ENOMEM;
    }
    if (qemu_get_buffer(f, buf, want) != want) {
        error_report("%s: saved state refused: it is cut short",
                     cnnacc_id(host));
        return -EINVAL;
    }
    return cnnacc_load_state(host, buf, want);
}

static const VMStateInfo vmstate_info_cnnacc_model = {
    .name = "cnnacc-model",
    .get = cnnacc_get_state,
    .put = cnnacc_put_state,
};

const VMStateDescription vmstate_cnnacc_host = {
    .name = "cnnacc-host",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (CNNACC_VMSTATE_CONST VMStateField[]) {
        {
            .name = "model",
            .version_id = 1,
            .info = &vmstate_info_cnnacc_model,
            .flags = VMS_SINGLE,
        },
        VMSTATE_END_OF_LIST()
    }
};
