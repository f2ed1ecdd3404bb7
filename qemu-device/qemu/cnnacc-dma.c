/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: DMA, to RAM only
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "trace.h"

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

/* In one RCU section, as the address space may go once access is revoked */
static MemTxResult cnnacc_rw(CnnaccHost *host, uint64_t addr, void *buf,
                             size_t len, bool is_write)
{
    RCU_READ_LOCK_GUARD();
    if (qatomic_read(&host->revoked) ||
        cnnacc_defect_is(host, is_write ? "dma-write" : "dma-read")) {
        return MEMTX_ACCESS_ERROR;
    }
    return address_space_rw(host->as, addr, host->attrs, buf, len, is_write);
}

int cnnacc_dma(CnnaccHost *host, uint64_t addr, void *buf, size_t len,
               bool is_write)
{
    bool locked = cnnacc_lock_iommu(host);
    MemTxResult res = cnnacc_rw(host, addr, buf, len, is_write);

    cnnacc_unlock_iommu(locked);
    if (res != MEMTX_OK) {
        trace_cnnacc_dma_refused(cnnacc_id(host), addr, len, is_write);
        return -1;
    }
    return 0;
}

int cnnacc_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
    return cnnacc_dma(opaque, addr, buf, len, false);
}

int cnnacc_dma_write(void *opaque, uint64_t addr, const void *buf,
                     size_t len)
{
    struct cnnacc_completion line;
    CnnaccHost *host = opaque;

    if (unlikely(host->malice.modes)) {
        buf = cnnacc_malice_line(host, addr, buf, len, &line);
    }
    return cnnacc_dma(host, addr, (void *)buf, len, true);
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

    RCU_READ_LOCK_GUARD();
    if (qatomic_read(&host->revoked)) {
        return NULL;
    }
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

void *cnnacc_dma_map(void *opaque, uint64_t addr, size_t *len,
                     bool is_write)
{
    CnnaccHost *host = opaque;
    bool locked = cnnacc_lock_iommu(host);
    void *ptr = cnnacc_map_ram(host, addr, len, is_write);

    cnnacc_unlock_iommu(locked);
    if (unlikely(host->malice.modes) && is_write) {
        cnnacc_malice_mapped(host, addr);
    }
    return ptr;
}

void cnnacc_dma_unmap(void *opaque, void *ptr, size_t len, bool is_write)
{
    CnnaccHost *host = opaque;

    address_space_unmap(host->as, ptr, len, is_write, len);
}
