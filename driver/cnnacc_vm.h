/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_VM_H
#define CNNACC_VM_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/drm_mm.h>

#include <cnnacc_hw.h>

struct cnnacc_ctx;
struct drm_device;
struct drm_file;
struct sg_table;

/**
 * struct cnnacc_vm - address space of a context.
 * @lock: protects all members below and the contents of the tables
 * @mm_lock: enough to read @mm; to change @mm, hold @lock and @mm_lock
 * @dump_lock: held while a coredump copies the memory of a mapping; no allocations under it
 * @mm: mapped ranges, in pages
 * @mappings: number of mapped ranges
 * @unmapped: mappings whose entries are cleared but may still be in the device's TLB
 * @root: directory table; NULL before cnnacc_vm_init() and after cnnacc_vm_fini()
 * @root_dma: bus address of @root
 * @tables: page tables, NULL where none is allocated yet
 * @tables_dma: bus addresses of @tables; a broken device could overwrite the copies in @root
 */
struct cnnacc_vm {
	struct mutex lock;	/* protects all members below and the tables */
	spinlock_t mm_lock;	/* protects @mm, together with @lock for changes */
	struct mutex dump_lock;	/* keeps mappings removed from @mm from being freed */
	struct drm_mm mm;
	u32 mappings;
	struct list_head unmapped;
	__le32 *root;
	dma_addr_t root_dma;
	__le32 *tables[CNNACC_PT_ENTRIES];
	dma_addr_t tables_dma[CNNACC_PT_ENTRIES];
};

/**
 * struct cnnacc_vm_program - a mapping of a program buffer.
 * @va: first address
 * @size: size in bytes
 * @sgt: pages of the buffer
 * @offset: offset of @va in the buffer
 */
struct cnnacc_vm_program {
	u64 va;
	u64 size;
	struct sg_table *sgt;
	u64 offset;
};

int cnnacc_vm_init(struct cnnacc_ctx *ctx);
void cnnacc_vm_fini(struct cnnacc_ctx *ctx);
bool cnnacc_vm_has_table(struct cnnacc_vm *vm, u64 va);
u32 cnnacc_vm_entry(struct cnnacc_vm *vm, u64 va);
bool cnnacc_vm_program(struct cnnacc_vm *vm, u64 va, struct cnnacc_vm_program *program);
int cnnacc_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
