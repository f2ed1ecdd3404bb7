// SPDX-License-Identifier: GPL-2.0-only
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "cnnacc_ctx.h"
#include "cnnacc_device.h"
#include "cnnacc_gem.h"
#include "cnnacc_uobj.h"
#include "cnnacc_vm.h"

/**
 * DOC: address space
 *
 * User space allocates the addresses: a MAP names a free range and an UNMAP names exactly one
 * mapping.  Page tables are allocated on demand and freed with the address space.  An UNMAP waits
 * for the jobs submitted so far, clears the entries, and releases the buffer only after the device
 * has invalidated them.
 */

#define CNNACC_VM_IDLE_TIMEOUT_MS	30000
#define CNNACC_VM_PAGES			(1ull << (CNNACC_VA_BITS - CNNACC_PAGE_SHIFT))

/**
 * struct cnnacc_mapping - mapping of a range of a buffer.
 * @node: range of addresses in &cnnacc_vm.mm, in pages
 * @link: in &cnnacc_vm.unmapped
 * @obj: buffer, referenced
 * @sgt: pages of the buffer
 * @offset: offset of the range in the buffer
 */
struct cnnacc_mapping {
	struct drm_mm_node node;
	struct list_head link;
	struct drm_gem_object *obj;
	struct sg_table *sgt;
	u64 offset;
};

/**
 * struct cnnacc_bind_target - buffer of a MAP.
 *
 * All buffers are looked up before the first operation: getting their pages can be interrupted, and
 * an ioctl that has executed an operation must not be restarted.
 *
 * @obj: buffer, referenced; NULL if the handle is invalid
 * @sgt: pages of the buffer, or an error pointer
 */
struct cnnacc_bind_target {
	struct drm_gem_object *obj;
	struct sg_table *sgt;
};

static struct device *cnnacc_vm_dev(struct cnnacc_ctx *ctx)
{
	return ctx->cdev->drm.dev;
}

/**
 * cnnacc_vm_init() - Create the address space of a context
 * @ctx: context
 *
 * Return: 0 or -ENOMEM
 */
int cnnacc_vm_init(struct cnnacc_ctx *ctx)
{
	struct cnnacc_vm *vm = &ctx->vm;

	vm->root = dma_alloc_coherent(cnnacc_vm_dev(ctx), CNNACC_PAGE_SIZE, &vm->root_dma,
				      GFP_KERNEL_ACCOUNT);
	if (!vm->root)
		return -ENOMEM;
	mutex_init(&vm->lock);
	spin_lock_init(&vm->mm_lock);
	mutex_init(&vm->dump_lock);
	INIT_LIST_HEAD(&vm->unmapped);
	drm_mm_init(&vm->mm, 0, CNNACC_VM_PAGES);
	return 0;
}

static int cnnacc_vm_add_table(struct cnnacc_ctx *ctx, u32 dir)
{
	struct cnnacc_vm *vm = &ctx->vm;
	dma_addr_t *dma = &vm->tables_dma[dir];
	__le32 *table;

	if (atomic_inc_return(&ctx->file->tables) > CNNACC_MAX_TABLES) {
		atomic_dec(&ctx->file->tables);
		return -ENOSPC;
	}
	table = dma_alloc_coherent(cnnacc_vm_dev(ctx), CNNACC_PAGE_SIZE, dma,
				   GFP_KERNEL_ACCOUNT);
	if (!table) {
		atomic_dec(&ctx->file->tables);
		return -ENOMEM;
	}
	WRITE_ONCE(vm->tables[dir], table);
	/* The zeroed table must be visible before the entry that points to it. */
	dma_wmb();
	WRITE_ONCE(vm->root[dir], cpu_to_le32(CNNACC_PTE_ADDR(*dma) | CNNACC_PTE_VALID));
	return 0;
}

static int cnnacc_vm_add_tables(struct cnnacc_ctx *ctx, u64 va, u64 size)
{
	u32 last = CNNACC_PT_DIR_INDEX(va + size - 1);
	u32 dir;
	int ret;

	for (dir = CNNACC_PT_DIR_INDEX(va); dir <= last; dir++) {
		if (ctx->vm.tables[dir])
			continue;
		ret = cnnacc_vm_add_table(ctx, dir);
		if (ret)
			return ret;
	}
	return 0;
}

static void cnnacc_vm_set(struct cnnacc_vm *vm, u64 va, u32 entry)
{
	__le32 *table = vm->tables[CNNACC_PT_DIR_INDEX(va)];

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

static int cnnacc_vm_insert(struct cnnacc_ctx *ctx, const struct cnnacc_bind_target *target,
			    const struct drm_cnnacc_bind_op *op)
{
	struct cnnacc_mapping *mapping;
	int ret;

	if (IS_ERR(target->sgt))
		return PTR_ERR(target->sgt);
	if (cnnacc_refuses(&ctx->cdev->drm, cnnacc_vm_check_pages(target->sgt)))
		return -EINVAL;
	ret = cnnacc_vm_add_tables(ctx, op->va, op->size);
	if (ret)
		return ret;
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	mapping->obj = target->obj;
	mapping->sgt = target->sgt;
	mapping->offset = op->bo_offset;
	ret = cnnacc_vm_reserve(&ctx->vm, mapping, op);
	if (ret) {
		kfree(mapping);
		return ret;
	}
	drm_gem_object_get(target->obj);
	cnnacc_vm_set_pages(&ctx->vm, target->sgt, op);
	return 0;
}

static int cnnacc_vm_map(struct cnnacc_ctx *ctx, const struct cnnacc_bind_target *target,
			 const struct drm_cnnacc_bind_op *op)
{
	struct drm_device *drm = &ctx->cdev->drm;
	struct drm_gem_object *obj = target->obj;

	if (cnnacc_vm_check_range(drm, op->va, op->size) ||
	    cnnacc_refuses(drm, op->bo_offset % CNNACC_PAGE_SIZE) ||
	    cnnacc_refuses(drm, !op->flags))
		return -EINVAL;
	if (!obj)
		return -ENOENT;
	if (cnnacc_refuses(drm, !cnnacc_gem_usable(obj, ctx)) ||
	    cnnacc_refuses(drm, op->flags & ~cnnacc_vm_allowed(to_cnnacc_bo(obj))) ||
	    cnnacc_refuses(drm, op->bo_offset > obj->size ||
			   op->size > obj->size - op->bo_offset))
		return -EINVAL;
	return cnnacc_vm_insert(ctx, target, op);
}

/**
 * struct cnnacc_vm_waiter - a killable wait for a fence.
 * @cb: callback on the fence
 * @done: completed when the fence is signalled
 */
struct cnnacc_vm_waiter {
	struct dma_fence_cb cb;
	struct completion done;
};

static void cnnacc_vm_wait_cb(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	complete(&container_of(cb, struct cnnacc_vm_waiter, cb)->done);
}

/* Waits for the context's jobs submitted so far. */
static int cnnacc_vm_wait_idle(struct cnnacc_ctx *ctx)
{
	const unsigned long timeout = msecs_to_jiffies(CNNACC_VM_IDLE_TIMEOUT_MS);
	struct cnnacc_vm_waiter waiter;
	struct dma_fence *fence;
	long remaining = 1;
	int ret;

	ret = dma_resv_get_singleton(ctx->resv->resv, DMA_RESV_USAGE_BOOKKEEP, &fence);
	if (ret || !fence)
		return ret;

	init_completion(&waiter.done);
	if (!dma_fence_add_callback(fence, &waiter.cb, cnnacc_vm_wait_cb)) {
		remaining = wait_for_completion_killable_timeout(&waiter.done, timeout);
		/* If removal fails, the fence is signalled and the callback no longer runs. */
		if (!dma_fence_remove_callback(fence, &waiter.cb))
			remaining = 1;
	}
	dma_fence_put(fence);
	if (remaining < 0)
		return remaining;
	return remaining ? 0 : -ETIMEDOUT;
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

/**
 * cnnacc_vm_has_table() - Check whether there is a page table for an address
 * @vm: address space that has jobs
 * @va: address below 4 GiB
 *
 * Needs no lock, as no table is freed while there are jobs.
 *
 * Return: true if there is a table
 */
bool cnnacc_vm_has_table(struct cnnacc_vm *vm, u64 va)
{
	return READ_ONCE(vm->tables[CNNACC_PT_DIR_INDEX(va)]);
}

/**
 * cnnacc_vm_entry() - Get the page table entry of an address
 * @vm: address space that has jobs
 * @va: address below 4 GiB
 *
 * Return: the entry, 0 if there is none
 */
u32 cnnacc_vm_entry(struct cnnacc_vm *vm, u64 va)
{
	__le32 *table = READ_ONCE(vm->tables[CNNACC_PT_DIR_INDEX(va)]);

	return table ? le32_to_cpu(READ_ONCE(table[CNNACC_PT_PAGE_INDEX(va)])) : 0;
}

/**
 * cnnacc_vm_program() - Find the next mapping of a program buffer
 * @vm: address space; the caller holds &cnnacc_vm.dump_lock while it uses @program
 * @va: address to start from
 * @program: out: the first mapping of a program buffer that ends above @va
 *
 * Return: false if there is none
 */
bool cnnacc_vm_program(struct cnnacc_vm *vm, u64 va, struct cnnacc_vm_program *program)
{
	struct cnnacc_mapping *mapping;
	struct drm_mm_node *node;
	bool found = false;

	lockdep_assert_held(&vm->dump_lock);
	spin_lock(&vm->mm_lock);
	drm_mm_for_each_node_in_range(node, &vm->mm, va >> CNNACC_PAGE_SHIFT, CNNACC_VM_PAGES) {
		mapping = container_of(node, struct cnnacc_mapping, node);
		if (to_cnnacc_bo(mapping->obj)->use != DRM_CNNACC_BO_PROGRAM)
			continue;
		*program = (struct cnnacc_vm_program) {
			.va = node->start << CNNACC_PAGE_SHIFT,
			.size = node->size << CNNACC_PAGE_SHIFT,
			.sgt = mapping->sgt,
			.offset = mapping->offset,
		};
		found = true;
		break;
	}
	spin_unlock(&vm->mm_lock);
	return found;
}

/* Invalidates the cleared entries; only then the buffers may be released. */
static void cnnacc_vm_flush(struct cnnacc_ctx *ctx)
{
	struct cnnacc_mapping *mapping, *next;

	if (list_empty(&ctx->vm.unmapped))
		return;
	cnnacc_device_invalidate(ctx->cdev, ctx->hw_id, 0);
	/* Wait for a coredump that found the mappings before they were removed. */
	mutex_lock(&ctx->vm.dump_lock);
	mutex_unlock(&ctx->vm.dump_lock);
	list_for_each_entry_safe(mapping, next, &ctx->vm.unmapped, link) {
		list_del(&mapping->link);
		drm_gem_object_put(mapping->obj);
		kfree(mapping);
	}
}

static int cnnacc_vm_unmap(struct cnnacc_ctx *ctx, const struct drm_cnnacc_bind_op *op)
{
	struct cnnacc_mapping *mapping;
	int ret;

	if (cnnacc_vm_check_range(&ctx->cdev->drm, op->va, op->size) ||
	    cnnacc_refuses(&ctx->cdev->drm, op->flags || op->handle || op->bo_offset))
		return -EINVAL;
	mapping = cnnacc_vm_find(&ctx->vm, op->va >> CNNACC_PAGE_SHIFT,
				 op->size >> CNNACC_PAGE_SHIFT);
	if (!mapping)
		return -ENOENT;
	ret = cnnacc_vm_wait_idle(ctx);
	if (ret)
		return ret;
	cnnacc_vm_remove(&ctx->vm, mapping);
	return 0;
}

static int cnnacc_vm_map_entered(struct cnnacc_ctx *ctx,
				 const struct cnnacc_bind_target *target,
				 const struct drm_cnnacc_bind_op *op)
{
	int ret, idx;

	/*
	 * An earlier operation may have unmapped this range.  This may wait for an unplug, so it
	 * comes before the section.
	 */
	cnnacc_vm_flush(ctx);
	if (!drm_dev_enter(&ctx->cdev->drm, &idx))
		return -ENODEV;
	ret = cnnacc_vm_map(ctx, target, op);
	drm_dev_exit(idx);
	return ret;
}

static int cnnacc_vm_bind_op(struct cnnacc_ctx *ctx, const struct cnnacc_bind_target *target,
			     const struct drm_cnnacc_bind_op *op)
{
	if (cnnacc_refuses(&ctx->cdev->drm, op->pad) ||
	    cnnacc_refuses(&ctx->cdev->drm, op->op != DRM_CNNACC_BIND_MAP &&
			   op->op != DRM_CNNACC_BIND_UNMAP))
		return -EINVAL;
	return op->op == DRM_CNNACC_BIND_MAP ? cnnacc_vm_map_entered(ctx, target, op) :
					       cnnacc_vm_unmap(ctx, op);
}

static int cnnacc_vm_bind(struct cnnacc_ctx *ctx, const struct cnnacc_bind_target *targets,
			  const struct drm_cnnacc_bind_op *ops, u32 count, u32 *done)
{
	int ret;

	ret = mutex_lock_killable(&ctx->vm.lock);
	if (ret)
		return ret;
	if (!ctx->vm.root)
		ret = drm_dev_is_unplugged(&ctx->cdev->drm) ? -ENODEV : -ENOENT;
	while (!ret && *done < count) {
		ret = cnnacc_vm_bind_op(ctx, &targets[*done], &ops[*done]);
		if (!ret)
			++*done;
	}
	cnnacc_vm_flush(ctx);
	mutex_unlock(&ctx->vm.lock);
	return ret;
}

static int cnnacc_vm_get_targets(struct drm_file *file, struct cnnacc_bind_target *targets,
				 const struct drm_cnnacc_bind_op *ops, u32 count)
{
	struct cnnacc_bind_target *target;
	u32 i;
	int idx;

	if (!drm_dev_enter(file->minor->dev, &idx))
		return -ENODEV;
	for (i = 0; i < count; i++) {
		target = &targets[i];
		if (ops[i].op != DRM_CNNACC_BIND_MAP)
			continue;
		target->obj = drm_gem_object_lookup(file, ops[i].handle);
		if (!target->obj)
			continue;
		target->sgt = drm_gem_shmem_get_pages_sgt(&to_cnnacc_bo(target->obj)->base);
		if (IS_ERR(target->sgt) && signal_pending(current) &&
		    (PTR_ERR(target->sgt) == -EINTR || PTR_ERR(target->sgt) == -ERESTARTSYS))
			break;
	}
	drm_dev_exit(idx);
	return i < count ? -ERESTARTSYS : 0;
}

static int cnnacc_vm_bind_targets(struct cnnacc_ctx *ctx, struct drm_file *file,
				  const struct drm_cnnacc_bind_op *ops, u32 count, u32 *done)
{
	struct cnnacc_bind_target *targets __free(kvfree) = NULL;
	u32 i;
	int ret;

	targets = kvcalloc(count, sizeof(*targets), GFP_KERNEL_ACCOUNT);
	if (!targets)
		return -ENOMEM;
	ret = cnnacc_vm_get_targets(file, targets, ops, count);
	if (!ret)
		ret = cnnacc_vm_bind(ctx, targets, ops, count, done);
	for (i = 0; i < count; i++)
		if (targets[i].obj)
			drm_gem_object_put(targets[i].obj);
	return ret;
}

/**
 * cnnacc_vm_bind_ioctl() - DRM_IOCTL_CNNACC_VM_BIND
 * @drm: DRM device
 * @data: struct drm_cnnacc_vm_bind
 * @file: DRM file
 *
 * Return: 0 or a negative error code
 */
int cnnacc_vm_bind_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_cnnacc_vm_bind *args = data;
	struct drm_cnnacc_bind_op *ops __free(kvfree) = NULL;
	struct cnnacc_ctx *ctx;
	int ret;

	args->done = 0;
	if (cnnacc_refuses(drm, args->flags || args->pad))
		return -EINVAL;
	ctx = cnnacc_ctx_get(file, args->ctx_id);
	if (!ctx)
		return -ENOENT;
	ops = cnnacc_uobj_get_array(drm, &args->ops, CNNACC_MAX_BIND_OPS, sizeof(*ops));
	ret = PTR_ERR_OR_ZERO(ops);
	if (!ret && ops)
		ret = cnnacc_vm_bind_targets(ctx, file, ops, args->ops.count, &args->done);
	cnnacc_ctx_put(ctx);
	return ret;
}

/**
 * cnnacc_vm_fini() - Destroy the address space of a context
 * @ctx: context without jobs
 */
void cnnacc_vm_fini(struct cnnacc_ctx *ctx)
{
	struct device *dev = cnnacc_vm_dev(ctx);
	struct cnnacc_vm *vm = &ctx->vm;
	struct drm_mm_node *node, *next;
	u32 dir;

	guard(mutex)(&vm->lock);
	drm_mm_for_each_node_safe(node, next, &vm->mm)
		cnnacc_vm_remove(vm, container_of(node, struct cnnacc_mapping, node));
	/* The next context may get the same id and root page and must not hit stale entries. */
	cnnacc_device_invalidate(ctx->cdev, ctx->hw_id, CNNACC_INVALIDATE_RETIRE);
	cnnacc_vm_flush(ctx);

	for (dir = 0; dir < CNNACC_PT_ENTRIES; dir++) {
		if (!vm->tables[dir])
			continue;
		dma_free_coherent(dev, CNNACC_PAGE_SIZE, vm->tables[dir], vm->tables_dma[dir]);
		vm->tables[dir] = NULL;
		atomic_dec(&ctx->file->tables);
	}
	dma_free_coherent(dev, CNNACC_PAGE_SIZE, vm->root, vm->root_dma);
	vm->root = NULL;
	drm_mm_takedown(&vm->mm);
}

#if IS_ENABLED(CONFIG_CNNACC_KUNIT_TEST)
#include "tests/cnnacc_vm_test.c"
#endif
