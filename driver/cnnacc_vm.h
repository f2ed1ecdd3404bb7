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
 * @lock: protects what follows, and the tables
 * @mm_lock: needed besides to change @mm, and enough to look at it
 * @dump_lock: held while a coredump copies what it found in @mm; nobody allocates under it
 * @mm: mapped ranges, in pages
 * @mappings: how many
 * @unmapped: mappings without entries that the device may still remember
 * @root: directory table, NULL before and after its life
 * @root_dma: its bus address
 * @tables: page tables, NULL where there is none yet
 * @tables_dma: their bus addresses; those in @root are the device's to overwrite, if it is broken
 */
struct cnnacc_vm {
	struct mutex lock;	/* protects what follows, and the tables */
	spinlock_t mm_lock;	/* what else is needed to change @mm */
	struct mutex dump_lock;	/* keeps what left @mm from being freed */
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
 * @size: bytes
 * @sgt: the buffer's memory
 * @offset: of @va in the buffer
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
