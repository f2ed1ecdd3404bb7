/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CNNACC_VM_H
#define CNNACC_VM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_mm.h>

#include <cnnacc_hw.h>

struct cnnacc_device;
struct cnnacc_file;
struct drm_device;
struct drm_file;
struct drm_gem_object;

/**
 * struct cnnacc_table - page table.
 * @entries: NULL where none is allocated yet
 * @dma: its bus address; a broken device could overwrite the copy in the directory
 */
struct cnnacc_table {
	__le32 *entries;
	dma_addr_t dma;
};

/**
 * struct cnnacc_vm - address space.
 * @ref: held by the file, until it is destroyed, by contexts and by running ioctls
 * @cdev: device
 * @file: file, referenced
 * @link: in &cnnacc_device.vms
 * @hw_id: hardware context id
 * @resv: GEM object whose reservation object the private buffers share
 * @free_work: frees the address space
 * @lock: protects all members below and the contents of the tables
 * @mm_lock: enough to read @mm; to change @mm, hold @lock and @mm_lock
 * @dump_lock: held while a coredump copies the memory of a mapping; no allocations under it
 * @mm: mapped ranges, in pages
 * @mappings: number of mapped ranges
 * @unmapped: mappings whose entries are cleared but may still be in the device's TLB
 * @pool: what @root and @tables are allocated from, if there is a @root
 * @root: directory table; NULL before the first MAP or SUBMIT and after cnnacc_vm_fini()
 * @root_dma: bus address of @root
 * @tables: CNNACC_PT_ENTRIES page tables, if there is a @root
 */
struct cnnacc_vm {
	struct kref ref;
	struct cnnacc_device *cdev;
	struct cnnacc_file *file;
	struct list_head link;
	u32 hw_id;
	struct drm_gem_object *resv;
	struct work_struct free_work;
	struct mutex lock;	/* protects all members below and the tables */
	spinlock_t mm_lock;	/* protects @mm, together with @lock for changes */
	struct mutex dump_lock;	/* keeps mappings removed from @mm from being freed */
	struct drm_mm mm;
	u32 mappings;
	struct list_head unmapped;
	struct dma_pool *pool;
	__le32 *root;
	dma_addr_t root_dma;
	struct cnnacc_table *tables;
};

/**
 * struct cnnacc_mapping - mapping of a range of a buffer.
 * @node: range of addresses in &cnnacc_vm.mm, in pages
 * @link: in &cnnacc_vm.unmapped
 * @obj: buffer, referenced
 * @offset: offset of the range in the buffer
 */
struct cnnacc_mapping {
	struct drm_mm_node node;
	struct list_head link;
	struct drm_gem_object *obj;
	u64 offset;
};

struct cnnacc_vm *cnnacc_vm_get(struct drm_file *file, u32 id);
void cnnacc_vm_put(struct cnnacc_vm *vm);
DEFINE_FREE(cnnacc_vm, struct cnnacc_vm *, cnnacc_vm_put(_T))
int cnnacc_vm_prepare(struct cnnacc_vm *vm);
void cnnacc_vm_fini_all(struct cnnacc_device *cdev);
bool cnnacc_vm_has_table(struct cnnacc_vm *vm, u64 va);
u32 cnnacc_vm_entry(struct cnnacc_vm *vm, u64 va);
const struct cnnacc_mapping *cnnacc_vm_program(struct cnnacc_vm *vm, u64 va);
int cnnacc_vm_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_vm_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int cnnacc_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
