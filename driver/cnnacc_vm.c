// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-resv.h>
#include <linux/dmapool.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gpuvm.h>

#include "cnnacc_device.h"
#include "cnnacc_file.h"
#include "cnnacc_gem.h"
#include "cnnacc_uobj.h"
#include "cnnacc_vm.h"

/**
 * DOC: address space
 *
 * User space allocates the addresses: a MAP names a free range and an UNMAP names exactly one
 * mapping.  Page tables are allocated on demand and freed with the address space.  Its contexts
 * keep it.  An UNMAP waits for the jobs submitted so far, unless it has DRM_CNNACC_BIND_NOWAIT,
 * clears the entries, and releases the buffer only after the device has invalidated them.
 */

#define CNNACC_VM_IDLE_TIMEOUT_MS	30000
#define CNNACC_VM_PAGES			(1ull << (CNNACC_VA_BITS - CNNACC_PAGE_SHIFT))

/* Looks up an address space of a file by its id; returns it with a reference, or NULL. */
struct cnnacc_vm *cnnacc_vm_get(struct drm_file *file, u32 id)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct cnnacc_vm *vm;

	xa_lock(&cfile->vms);
	vm = xa_load(&cfile->vms, id);
	if (vm)
		kref_get(&vm->ref);
	xa_unlock(&cfile->vms);
	return vm;
}

static void cnnacc_vm_release(struct kref *ref)
{
	struct cnnacc_vm *vm = container_of(ref, struct cnnacc_vm, ref);

	queue_work(vm->cdev->free_wq, &vm->free_work);
}

/* Drops a reference, if @vm is not NULL; does not sleep. */
void cnnacc_vm_put(struct cnnacc_vm *vm)
{
	if (vm)
		kref_put(&vm->ref, cnnacc_vm_release);
}

/* Called under &cnnacc_vm.lock in a drm_dev_enter() section. */
static int cnnacc_vm_add_root(struct cnnacc_vm *vm)
{
	__le32 *root;

	if (vm->root)
		return 0;
	vm->tables = kvcalloc(CNNACC_PT_ENTRIES, sizeof(*vm->tables), GFP_KERNEL_ACCOUNT);
	if (!vm->tables)
		return -ENOMEM;
	/* Tables are smaller than the pages of some kernels.  A pool keeps what it has got. */
	vm->pool = dma_pool_create("cnnacc", vm->cdev->drm.dev, CNNACC_PAGE_SIZE,
				   CNNACC_PAGE_SIZE, 0);
	if (!vm->pool)
		goto err_tables;
	root = dma_pool_zalloc(vm->pool, GFP_KERNEL_ACCOUNT, &vm->root_dma);
	if (!root)
		goto err_pool;
	/* Publish it with its address and @tables; pairs with cnnacc_vm_prepare(). */
	smp_store_release(&vm->root, root);
	return 0;

err_pool:
	dma_pool_destroy(vm->pool);
err_tables:
	kvfree(vm->tables);
	return -ENOMEM;
}

/* Allocates what a packet names, even if nothing is mapped. */
int cnnacc_vm_prepare(struct cnnacc_vm *vm)
{
	int ret;

	/* Pairs with cnnacc_vm_add_root(). */
	if (smp_load_acquire(&vm->root))
		return 0;
	scoped_cond_guard(mutex_intr, return -ERESTARTSYS, &vm->lock) {
		CLASS(cnnacc_section, section)(&vm->cdev->drm);
		ret = section < 0 ? -ENODEV : cnnacc_vm_add_root(vm);
	}
	return ret;
}

static int cnnacc_vm_add_table(struct cnnacc_vm *vm, u32 dir)
{
	struct cnnacc_table *table = &vm->tables[dir];
	__le32 *entries;

	if (!atomic_add_unless(&vm->file->tables, 1, CNNACC_MAX_TABLES))
		return -ENOSPC;
	entries = dma_pool_zalloc(vm->pool, GFP_KERNEL_ACCOUNT, &table->dma);
	if (!entries) {
		atomic_dec(&vm->file->tables);
		return -ENOMEM;
	}
	WRITE_ONCE(table->entries, entries);
	/* The zeroed table must be visible before the entry that points to it. */
	dma_wmb();
	WRITE_ONCE(vm->root[dir], cpu_to_le32(CNNACC_PTE_ADDR(table->dma) | CNNACC_PTE_VALID));
	return 0;
}

static int cnnacc_vm_add_tables(struct cnnacc_vm *vm, u64 va, u64 size)
{
	u32 dir, last = CNNACC_PT_DIR_INDEX(va + size - 1);
	int ret = cnnacc_vm_add_root(vm);

	for (dir = CNNACC_PT_DIR_INDEX(va); dir <= last && !ret; dir++)
		if (!vm->tables[dir].entries)
			ret = cnnacc_vm_add_table(vm, dir);
	return ret;
}

static void cnnacc_vm_set(struct cnnacc_vm *vm, u64 va, u32 entry)
{
	__le32 *table = vm->tables[CNNACC_PT_DIR_INDEX(va)].entries;

	WRITE_ONCE(table[CNNACC_PT_PAGE_INDEX(va)], cpu_to_le32(entry));
}

static void cnnacc_vm_clear(struct cnnacc_vm *vm, const struct drm_mm_node *node)
{
	u64 page;

	for (page = node->start; page < node->start + node->size; page++)
		cnnacc_vm_set(vm, page << CNNACC_PAGE_SHIFT, 0);
}

/* Page table entries need page-aligned addresses within CNNACC_BUS_ADDR_BITS. */
static int cnnacc_vm_check_pages(struct sg_table *sgt)
{
	struct scatterlist *sg;
	u64 dma;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		dma = sg_dma_address(sg);
		if ((dma | sg_dma_len(sg)) % CNNACC_PAGE_SIZE ||
		    dma + sg_dma_len(sg) > 1ull << CNNACC_BUS_ADDR_BITS)
			return -EINVAL;
	}
	return 0;
}

static void cnnacc_vm_set_pages(struct cnnacc_vm *vm, struct sg_table *sgt,
				const struct drm_cnnacc_bind_op *op)
{
	u32 flags = CNNACC_PTE_VALID;
	struct scatterlist *sg;
	u64 at = 0, done = 0, skip;
	int i;

	if (op->flags & DRM_CNNACC_BIND_READ)
		flags |= CNNACC_PTE_READ;
	if (op->flags & DRM_CNNACC_BIND_WRITE)
		flags |= CNNACC_PTE_WRITE;
	if (op->flags & DRM_CNNACC_BIND_EXEC)
		flags |= CNNACC_PTE_EXEC;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		skip = op->bo_offset + done - at;
		while (skip < sg_dma_len(sg) && done < op->size) {
			cnnacc_vm_set(vm, op->va + done,
				      CNNACC_PTE_ADDR(sg_dma_address(sg) + skip) | flags);
			skip += CNNACC_PAGE_SIZE;
			done += CNNACC_PAGE_SIZE;
		}
		at += sg_dma_len(sg);
	}
}

static u32 cnnacc_vm_allowed(const struct cnnacc_bo *bo)
{
	switch (bo->use) {
	case DRM_CNNACC_BO_WEIGHT:
		return DRM_CNNACC_BIND_READ;
	case DRM_CNNACC_BO_PROGRAM:
		return DRM_CNNACC_BIND_EXEC;
	default:
		return DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE;
	}
}

static int cnnacc_vm_check_range(struct drm_device *drm, u64 va, u64 size)
{
	const u64 limit = 1ull << CNNACC_VA_BITS;

	if (cnnacc_refuses(drm, !size) || cnnacc_refuses(drm, (va | size) % CNNACC_PAGE_SIZE) ||
	    cnnacc_refuses(drm, va >= limit || size > limit - va))
		return -EINVAL;
	return 0;
}

static int cnnacc_vm_reserve(struct cnnacc_vm *vm, struct cnnacc_mapping *mapping,
			     const struct drm_cnnacc_bind_op *op)
{
	int ret;

	if (vm->mappings == CNNACC_MAX_MAPPINGS)
		return -ENOSPC;
	mapping->node.start = op->va >> CNNACC_PAGE_SHIFT;
	mapping->node.size = op->size >> CNNACC_PAGE_SHIFT;
	scoped_guard(spinlock, &vm->mm_lock)
		ret = drm_mm_reserve_node(&vm->mm, &mapping->node);
	if (ret)
		return ret == -ENOSPC ? -EEXIST : ret;
	vm->mappings++;
	return 0;
}

static int cnnacc_vm_insert(struct cnnacc_vm *vm, struct drm_gem_object *obj,
			    const struct drm_cnnacc_bind_op *op)
{
	struct sg_table *sgt = to_cnnacc_bo(obj)->base.sgt;
	struct cnnacc_mapping *mapping;
	int ret;

	if (cnnacc_refuses(&vm->cdev->drm, cnnacc_vm_check_pages(sgt)))
		return -EINVAL;
	ret = cnnacc_vm_add_tables(vm, op->va, op->size);
	if (ret)
		return ret;
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	mapping->obj = obj;
	mapping->offset = op->bo_offset;
	ret = cnnacc_vm_reserve(vm, mapping, op);
	if (ret) {
		kfree(mapping);
		return ret;
	}
	drm_gem_object_get(obj);
	cnnacc_vm_set_pages(vm, sgt, op);
	return 0;
}

/* Invalidates the cleared entries; only then the buffers may be released. */
static void cnnacc_vm_flush(struct cnnacc_vm *vm)
{
	struct cnnacc_mapping *mapping, *next;

	if (list_empty(&vm->unmapped))
		return;
	cnnacc_device_invalidate(vm->cdev, vm->hw_id, 0);
	/* Wait for a coredump that found the mappings before they were removed. */
	mutex_lock(&vm->dump_lock);
	mutex_unlock(&vm->dump_lock);
	list_for_each_entry_safe(mapping, next, &vm->unmapped, link) {
		list_del(&mapping->link);
		drm_gem_object_put(mapping->obj);
		kfree(mapping);
	}
}

static int cnnacc_vm_map(struct cnnacc_vm *vm, struct drm_gem_object *obj,
			 const struct drm_cnnacc_bind_op *op)
{
	struct drm_device *drm = &vm->cdev->drm;

	/* An operation before may have unmapped the range.  This may wait for an unplug. */
	cnnacc_vm_flush(vm);
	CLASS(cnnacc_section, section)(drm);
	if (section < 0)
		return -ENODEV;
	if (cnnacc_vm_check_range(drm, op->va, op->size) ||
	    cnnacc_refuses(drm, op->bo_offset % CNNACC_PAGE_SIZE) ||
	    cnnacc_refuses(drm, !op->flags))
		return -EINVAL;
	if (IS_ERR_OR_NULL(obj))
		return obj ? PTR_ERR(obj) : -ENOENT;
	if (cnnacc_refuses(drm, !cnnacc_gem_usable(obj, vm)) ||
	    cnnacc_refuses(drm, op->flags & ~cnnacc_vm_allowed(to_cnnacc_bo(obj))) ||
	    cnnacc_refuses(drm, op->bo_offset > obj->size ||
			   op->size > obj->size - op->bo_offset))
		return -EINVAL;
	return cnnacc_vm_insert(vm, obj, op);
}

/*
 * Waits for the jobs that all contexts of the address space have submitted so far, if there is an
 * UNMAP that does.  Comes before the first operation, after which the ioctl must not be restarted,
 * and before the lock is taken, which others need.
 */
static int cnnacc_vm_wait_idle(struct cnnacc_vm *vm, const struct drm_cnnacc_bind_op *ops,
			       u32 count)
{
	long ret;
	u32 i;

	for (i = 0; i < count; i++)
		if (ops[i].op == DRM_CNNACC_BIND_UNMAP && !(ops[i].flags & DRM_CNNACC_BIND_NOWAIT))
			break;
	if (i == count)
		return 0;
	ret = dma_resv_wait_timeout(vm->resv->resv, DMA_RESV_USAGE_BOOKKEEP, true,
				    msecs_to_jiffies(CNNACC_VM_IDLE_TIMEOUT_MS));
	if (ret < 0)
		return ret;
	return ret ? 0 : -ETIMEDOUT;
}

static struct cnnacc_mapping *cnnacc_vm_find(struct cnnacc_vm *vm, u64 start, u64 size)
{
	struct drm_mm_node *node;

	drm_mm_for_each_node_in_range(node, &vm->mm, start, start + 1)
		if (node->start == start && node->size == size)
			return container_of(node, struct cnnacc_mapping, node);
	return NULL;
}

static void cnnacc_vm_remove(struct cnnacc_vm *vm, struct cnnacc_mapping *mapping)
{
	cnnacc_vm_clear(vm, &mapping->node);
	scoped_guard(spinlock, &vm->mm_lock)
		drm_mm_remove_node(&mapping->node);
	vm->mappings--;
	list_add(&mapping->link, &vm->unmapped);
}

/* Is there a page table for an address?  No lock: none is freed while there are jobs. */
bool cnnacc_vm_has_table(struct cnnacc_vm *vm, u64 va)
{
	return READ_ONCE(vm->tables[CNNACC_PT_DIR_INDEX(va)].entries);
}

/* Returns the page table entry of an address below 4 GiB, 0 if there is none. */
u32 cnnacc_vm_entry(struct cnnacc_vm *vm, u64 va)
{
	__le32 *table = READ_ONCE(vm->tables[CNNACC_PT_DIR_INDEX(va)].entries);

	return table ? le32_to_cpu(READ_ONCE(table[CNNACC_PT_PAGE_INDEX(va)])) : 0;
}

/**
 * cnnacc_vm_program() - Find the next mapping of a program buffer
 * @vm: address space; the caller holds &cnnacc_vm.dump_lock while it uses the mapping
 * @va: address to start from
 *
 * Return: the first mapping of a program buffer that ends above @va, or NULL
 */
const struct cnnacc_mapping *cnnacc_vm_program(struct cnnacc_vm *vm, u64 va)
{
	struct cnnacc_mapping *mapping, *found = NULL;
	struct drm_mm_node *node;

	lockdep_assert_held(&vm->dump_lock);
	spin_lock(&vm->mm_lock);
	drm_mm_for_each_node_in_range(node, &vm->mm, va >> CNNACC_PAGE_SHIFT, CNNACC_VM_PAGES) {
		mapping = container_of(node, struct cnnacc_mapping, node);
		if (to_cnnacc_bo(mapping->obj)->use == DRM_CNNACC_BO_PROGRAM) {
			found = mapping;
			break;
		}
	}
	spin_unlock(&vm->mm_lock);
	return found;
}

static int cnnacc_vm_unmap(struct cnnacc_vm *vm, const struct drm_cnnacc_bind_op *op)
{
	struct cnnacc_mapping *mapping;

	if (cnnacc_vm_check_range(&vm->cdev->drm, op->va, op->size) ||
	    cnnacc_refuses(&vm->cdev->drm, op->flags & ~DRM_CNNACC_BIND_NOWAIT) ||
	    cnnacc_refuses(&vm->cdev->drm, op->handle || op->bo_offset))
		return -EINVAL;
	mapping = cnnacc_vm_find(vm, op->va >> CNNACC_PAGE_SHIFT,
				 op->size >> CNNACC_PAGE_SHIFT);
	if (!mapping)
		return -ENOENT;
	cnnacc_vm_remove(vm, mapping);
	return 0;
}

static int cnnacc_vm_bind_op(struct cnnacc_vm *vm, struct drm_gem_object *obj,
			     const struct drm_cnnacc_bind_op *op)
{
	if (cnnacc_refuses(&vm->cdev->drm, op->pad) ||
	    cnnacc_refuses(&vm->cdev->drm, op->op != DRM_CNNACC_BIND_MAP &&
			   op->op != DRM_CNNACC_BIND_UNMAP))
		return -EINVAL;
	return op->op == DRM_CNNACC_BIND_MAP ? cnnacc_vm_map(vm, obj, op) :
					       cnnacc_vm_unmap(vm, op);
}

static int cnnacc_vm_bind(struct cnnacc_vm *vm, struct drm_gem_object **objs,
			  const struct drm_cnnacc_bind_op *ops, u32 count, u32 *done)
{
	int ret;

	ret = mutex_lock_killable(&vm->lock);
	if (ret)
		return ret;
	if (drm_dev_is_unplugged(&vm->cdev->drm))
		ret = -ENODEV;
	while (!ret && *done < count) {
		ret = fatal_signal_pending(current) ? -EINTR :
			cnnacc_vm_bind_op(vm, objs[*done], &ops[*done]);
		if (!ret)
			++*done;
	}
	cnnacc_vm_flush(vm);
	mutex_unlock(&vm->lock);
	return ret;
}

/*
 * Gets the buffers of all MAPs before the first operation: getting their pages can be interrupted,
 * and an ioctl that has executed an operation must not be restarted.  Instead of a buffer that has
 * no pages there is an error pointer, for an invalid handle NULL.
 */
static int cnnacc_vm_get_objs(struct drm_file *file, struct drm_gem_object **objs,
			      const struct drm_cnnacc_bind_op *ops, u32 count)
{
	struct sg_table *sgt;
	u32 i;

	for (i = 0; i < count; i++) {
		if (ops[i].op != DRM_CNNACC_BIND_MAP)
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		/* One section for each buffer, so that an unplug waits for one only. */
		CLASS(cnnacc_section, section)(file->minor->dev);
		if (section < 0)
			return -ENODEV;
		objs[i] = drm_gem_object_lookup(file, ops[i].handle);
		if (!objs[i])
			continue;
		sgt = drm_gem_shmem_get_pages_sgt(&to_cnnacc_bo(objs[i])->base);
		if (!IS_ERR(sgt))
			continue;
		if (signal_pending(current) &&
		    (PTR_ERR(sgt) == -EINTR || PTR_ERR(sgt) == -ERESTARTSYS))
			return -ERESTARTSYS;
		drm_gem_object_put(objs[i]);
		objs[i] = ERR_CAST(sgt);
	}
	return 0;
}

static int cnnacc_vm_bind_objs(struct cnnacc_vm *vm, struct drm_file *file,
			       const struct drm_cnnacc_bind_op *ops, u32 count, u32 *done)
{
	struct drm_gem_object **objs __free(kvfree) = NULL;
	u32 i;
	int ret;

	objs = kvcalloc(count, sizeof(*objs), GFP_KERNEL_ACCOUNT);
	if (!objs)
		return -ENOMEM;
	ret = cnnacc_vm_get_objs(file, objs, ops, count) ?:
	      cnnacc_vm_wait_idle(vm, ops, count) ?:
	      cnnacc_vm_bind(vm, objs, ops, count, done);
	for (i = 0; i < count; i++)
		if (!IS_ERR_OR_NULL(objs[i]))
			drm_gem_object_put(objs[i]);
	return ret;
}

int cnnacc_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_cnnacc_vm_bind *args = data;
	struct cnnacc_vm *vm __free(cnnacc_vm) = NULL;
	struct drm_cnnacc_bind_op *ops __free(kvfree) = NULL;
	int ret;

	args->done = 0;
	if (cnnacc_refuses(drm, args->flags || args->pad))
		return -EINVAL;
	vm = cnnacc_vm_get(file, args->vm_id);
	if (!vm)
		return -ENOENT;
	ret = cnnacc_uobj_get(drm, &args->ops, CNNACC_MAX_BIND_OPS, &ops, size);
	if (ret || !ops)
		return ret;
	return cnnacc_vm_bind_objs(vm, file, ops, args->ops.count, &args->done);
}

/* Unmaps everything; there are no jobs. */
static void cnnacc_vm_fini(struct cnnacc_vm *vm)
{
	struct drm_mm_node *node, *next;
	u32 dir;

	guard(mutex)(&vm->lock);
	if (!vm->root)
		return;
	drm_mm_for_each_node_safe(node, next, &vm->mm)
		cnnacc_vm_remove(vm, container_of(node, struct cnnacc_mapping, node));
	/* The next owner of the id may get the same root page and must not hit stale entries. */
	cnnacc_device_invalidate(vm->cdev, vm->hw_id, CNNACC_INVALIDATE_RETIRE);
	cnnacc_vm_flush(vm);

	for (dir = 0; dir < CNNACC_PT_ENTRIES; dir++) {
		if (!vm->tables[dir].entries)
			continue;
		dma_pool_free(vm->pool, vm->tables[dir].entries, vm->tables[dir].dma);
		atomic_dec(&vm->file->tables);
	}
	kvfree(vm->tables);
	dma_pool_free(vm->pool, vm->root, vm->root_dma);
	dma_pool_destroy(vm->pool);
	vm->root = NULL;
}

/*
 * Unmaps everything from a device that is stopped and has no jobs.  Address spaces whose file is
 * open are freed when it is closed.
 */
void cnnacc_vm_fini_all(struct cnnacc_device *cdev)
{
	struct cnnacc_vm *vm;

	guard(mutex)(&cdev->ctx_lock);
	list_for_each_entry(vm, &cdev->vms, link)
		cnnacc_vm_fini(vm);
}

static void cnnacc_vm_free(struct cnnacc_vm *vm)
{
	drm_mm_takedown(&vm->mm);
	drm_gem_object_put(vm->resv);
	cnnacc_file_uncharge(vm->file, CNNACC_QUOTA_VMS);
	cnnacc_file_put(vm->file);
	mutex_destroy(&vm->dump_lock);
	mutex_destroy(&vm->lock);
	kfree(vm);
}

static void cnnacc_vm_free_work(struct work_struct *work)
{
	struct cnnacc_vm *vm = container_of(work, struct cnnacc_vm, free_work);

	cnnacc_vm_fini(vm);
	scoped_guard(mutex, &vm->cdev->ctx_lock)
		list_del(&vm->link);
	ida_free(&vm->cdev->hw_ids, vm->hw_id);
	cnnacc_vm_free(vm);
}

/* The file has been charged; cnnacc_vm_free() discounts the address space. */
static struct cnnacc_vm *cnnacc_vm_alloc(struct cnnacc_file *file)
{
	struct cnnacc_vm *vm __free(kfree) = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);

	if (!vm)
		return NULL;
	vm->resv = drm_gpuvm_resv_object_alloc(&file->cdev->drm);
	if (!vm->resv)
		return NULL;
	kref_init(&vm->ref);
	vm->cdev = file->cdev;
	kref_get(&file->ref);
	vm->file = file;
	mutex_init(&vm->lock);
	spin_lock_init(&vm->mm_lock);
	mutex_init(&vm->dump_lock);
	INIT_LIST_HEAD(&vm->unmapped);
	INIT_WORK(&vm->free_work, cnnacc_vm_free_work);
	drm_mm_init(&vm->mm, 0, CNNACC_VM_PAGES);
	return_ptr(vm);
}

static struct cnnacc_vm *cnnacc_vm_create(struct cnnacc_file *file)
{
	struct cnnacc_device *cdev = file->cdev;
	struct cnnacc_vm *vm;
	int ret;

	ret = cnnacc_file_charge(file, CNNACC_QUOTA_VMS);
	if (ret)
		return ERR_PTR(ret);
	vm = cnnacc_vm_alloc(file);
	if (!vm) {
		cnnacc_file_uncharge(file, CNNACC_QUOTA_VMS);
		return ERR_PTR(-ENOMEM);
	}
	ret = ida_alloc_max(&cdev->hw_ids, CNNACC_HW_IDS - 1, GFP_KERNEL);
	if (ret < 0) {
		cnnacc_vm_free(vm);
		return ERR_PTR(ret);
	}
	vm->hw_id = ret;
	scoped_guard(mutex, &cdev->ctx_lock)
		list_add_tail(&vm->link, &cdev->vms);
	return vm;
}

int cnnacc_vm_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct drm_cnnacc_vm_create *args = data;
	struct cnnacc_vm *vm;
	int ret;

	if (cnnacc_refuses(drm, args->flags))
		return -EINVAL;
	vm = cnnacc_vm_create(cfile);
	if (IS_ERR(vm))
		return PTR_ERR(vm);
	ret = xa_alloc(&cfile->vms, &args->vm_id, vm, XA_LIMIT(1, CNNACC_FILE_QUOTA),
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		cnnacc_vm_put(vm);
	return ret;
}

int cnnacc_vm_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct cnnacc_file *cfile = file->driver_priv;
	struct drm_cnnacc_vm_destroy *args = data;
	struct cnnacc_vm *vm __free(cnnacc_vm) = NULL;

	if (cnnacc_refuses(drm, args->pad))
		return -EINVAL;
	vm = xa_erase(&cfile->vms, args->vm_id);
	return vm ? 0 : -ENOENT;
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_vm_test.c"
#endif
