/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNN accelerator: DMA, which reaches RAM only
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "cnnacc-compat.h"
#include "cnnacc-internal.h"
#include "trace.h"

/*
 * Maps RAM only.  address_space_map() would use a bounce buffer for other
 * regions, and address_space_rw() would take the BQL for read-only memory, for
 * which cnnacc_end_steps() would wait in vain.  The memory_region_ref() is the
 * one that address_space_unmap() drops.  Revocation is checked in the same RCU
 * section, because the address space may be freed afterwards.
 */
static void *cnnacc_map_ram(CnnaccState *s, uint64_t addr, size_t *len,
                            bool is_write)
{
    hwaddr l = *len, xlat;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    if (qatomic_read(&s->revoked)) {
        return NULL;
    }
    mr = address_space_translate(s->as, addr, &xlat, &l, is_write,
                                 s->attrs);
    if (!l || !memory_region_is_ram(mr) || memory_region_is_ram_device(mr) ||
        (is_write && (mr->readonly || mr->rom_device))) {
        return NULL;
    }
    memory_region_ref(mr);
    *len = l;
    return (uint8_t *)memory_region_get_ram_ptr(mr) + xlat;
}

static bool cnnacc_rw(CnnaccState *s, uint64_t addr, uint8_t *buf, size_t len,
                      bool is_write)
{
    while (len) {
        size_t part = len;
        uint8_t *ram = cnnacc_map_ram(s, addr, &part, is_write);

        if (!ram) {
            return false;
        }
        memcpy(is_write ? ram : buf, is_write ? buf : ram, part);
        address_space_unmap(s->as, ram, part, is_write, part);
        addr += part;
        buf += part;
        len -= part;
    }
    return true;
}

int cnnacc_dma(CnnaccState *s, uint64_t addr, void *buf, size_t len,
               bool is_write)
{
    if (cnnacc_probe_fault_is(s, is_write ? "dma-write" : "dma-read") ||
        !cnnacc_rw(s, addr, buf, len, is_write)) {
        trace_cnnacc_dma_refused(cnnacc_id(s), addr, len, is_write);
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
    struct cnnacc_completion record;
    CnnaccState *s = opaque;

    if (unlikely(s->faults.modes)) {
        buf = cnnacc_fault_record(s, addr, buf, len, &record);
    }
    return cnnacc_dma(s, addr, (void *)buf, len, true);
}

void *cnnacc_dma_map(void *opaque, uint64_t addr, size_t *len,
                     bool is_write)
{
    CnnaccState *s = opaque;
    void *ptr = cnnacc_map_ram(s, addr, len, is_write);

    if (unlikely(s->faults.modes) && is_write) {
        cnnacc_fault_store(s, addr);
    }
    return ptr;
}

void cnnacc_dma_unmap(void *opaque, void *ptr, size_t len, bool is_write)
{
    CnnaccState *s = opaque;

    address_space_unmap(s->as, ptr, len, is_write, len);
}
