/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_VM_H
#define CNNACC_VM_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/drm_mm.h>

#include <cnnacc_hw.h>

struct cnnacc_ctx;
struct drm_device;
struct drm_file;

/**
 * struct cnnacc_vm - address space of a context.
 * @lock: protects what follows, and the tables
 * @mm: mapped ranges, in pages
 * @mappings: how many
 * @unmapped: mappings without entries that the device may still remember
 * @root: directory table, NULL before and after its life
 * @root_dma: its bus address
 * @tables: page tables, NULL where there is none yet
 */
struct cnnacc_vm {
	struct mutex lock;	/* protects what follows, and the tables */
	struct drm_mm mm;
	u32 mappings;
	struct list_head unmapped;
	__le32 *root;
	dma_addr_t root_dma;
	__le32 *tables[CNNACC_PT_ENTRIES];
};

int cnnacc_vm_init(struct cnnacc_ctx *ctx);
void cnnacc_vm_fini(struct cnnacc_ctx *ctx);
int cnnacc_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
