// SPDX-License-Identifier: GPL-2.0-only
/* KUnit suite of the page tables; included in cnnacc_vm.c. */
#include <linux/sizes.h>

#include <kunit/test.h>

#include <drm/drm_kunit_helpers.h>
#include <drm/drm_managed.h>

/* Boundary between the ranges of two directory entries. */
#define CNNACC_VM_TEST_EDGE	0x40000000ull

static const struct cnnacc_vm_test_range {
	const char *name;
	u64 va;
	u64 size;
	int ret;
} cnnacc_vm_test_ranges[] = {
	{ "first page", 0, SZ_4K, 0 },
	{ "last page", SZ_4G - SZ_4K, SZ_4K, 0 },
	{ "everything", 0, SZ_4G, 0 },
	{ "nothing", SZ_4K, 0, -EINVAL },
	{ "odd address", SZ_4K + 64, SZ_4K, -EINVAL },
	{ "odd size", SZ_4K, SZ_4K + 1, -EINVAL },
	{ "less than a page", SZ_4K, SZ_2K, -EINVAL },
	{ "beyond", SZ_4G, SZ_4K, -EINVAL },
	{ "far beyond", BIT_ULL(63), SZ_4K, -EINVAL },
	{ "across the end", SZ_4G - SZ_4K, SZ_8K, -EINVAL },
	{ "wraps", SZ_4K, 0 - (u64)SZ_4K, -EINVAL },
};

static void cnnacc_vm_test_range_desc(const struct cnnacc_vm_test_range *range, char *desc)
{
	strscpy(desc, range->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cnnacc_vm_test_range, cnnacc_vm_test_ranges, cnnacc_vm_test_range_desc);

static void cnnacc_vm_test_check_range(struct kunit *test)
{
	const struct cnnacc_vm_test_range *range = test->param_value;

	KUNIT_EXPECT_EQ(test, cnnacc_vm_check_range(NULL, range->va, range->size), range->ret);
}

/* Creates an sg_table of @count segments, each with an address and a number of pages. */
static void cnnacc_vm_test_sgt(struct kunit *test, struct sg_table *sgt,
			       const u64 (*segments)[2], unsigned int count)
{
	unsigned int i;

	sgt->sgl = kunit_kcalloc(test, count, sizeof(*sgt->sgl), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sgt->sgl);
	sg_init_table(sgt->sgl, count);
	sgt->nents = count;
	sgt->orig_nents = count;
	for (i = 0; i < count; i++) {
		sg_dma_address(&sgt->sgl[i]) = segments[i][0];
		sg_dma_len(&sgt->sgl[i]) = segments[i][1] * CNNACC_PAGE_SIZE;
	}
}

static void cnnacc_vm_test_check_pages(struct kunit *test)
{
	const u64 fine[][2] = { { SZ_4K, 3 }, { BIT_ULL(40) - SZ_4K, 1 } };
	const u64 far[][2] = { { SZ_4K, 3 }, { BIT_ULL(40) - SZ_4K, 2 } };
	const u64 odd[][2] = { { SZ_4K + SZ_2K, 3 } };
	struct sg_table sgt;

	cnnacc_vm_test_sgt(test, &sgt, fine, 2);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_check_pages(&sgt), 0);
	sg_dma_len(&sgt.sgl[1]) = SZ_2K;
	KUNIT_EXPECT_EQ(test, cnnacc_vm_check_pages(&sgt), -EINVAL);
	cnnacc_vm_test_sgt(test, &sgt, far, 2);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_check_pages(&sgt), -EINVAL);
	cnnacc_vm_test_sgt(test, &sgt, odd, 1);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_check_pages(&sgt), -EINVAL);
}

static u32 cnnacc_vm_test_entry(struct cnnacc_vm *vm, u64 va)
{
	const __le32 *table = vm->tables[CNNACC_PT_DIR_INDEX(va)].entries;

	return table ? le32_to_cpu(table[CNNACC_PT_PAGE_INDEX(va)]) : 0;
}

static void cnnacc_vm_test_fini(void *data)
{
	struct cnnacc_vm *vm = data;

	cnnacc_vm_fini(vm);
	cnnacc_vm_free(vm);
}

/* An empty address space of a device that does nothing. */
static int cnnacc_vm_test_init(struct kunit *test)
{
	struct cnnacc_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct device *dev = drm_kunit_helper_alloc_device(test);
	struct cnnacc_device *cdev;
	struct cnnacc_vm *vm;

	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	cdev = drm_kunit_helper_alloc_drm_device_with_driver(test, dev, struct cnnacc_device, drm,
							     &cnnacc_drm_driver);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cdev);
	KUNIT_ASSERT_EQ(test, 0, drmm_mutex_init(&cdev->drm, &cdev->bo_lock));
	INIT_LIST_HEAD(&cdev->bos);
	cdev->wedged = true;
	kref_init(&file->ref);
	file->cdev = cdev;
	file->user = kunit_kzalloc(test, sizeof(*file->user), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file->user);
	vm = cnnacc_vm_alloc(file);
	KUNIT_ASSERT_NOT_NULL(test, vm);
	test->priv = vm;
	return kunit_add_action_or_reset(test, cnnacc_vm_test_fini, vm);
}

/* A range over two segments and two page tables, from the middle of a buffer. */
static void cnnacc_vm_test_entries(struct kunit *test)
{
	const u64 segments[][2] = { { 0x123456000, 3 }, { 0xfffffff000 - SZ_4K, 2 } };
	const struct drm_cnnacc_bind_op op = {
		.flags = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
		.va = CNNACC_VM_TEST_EDGE - SZ_8K, .bo_offset = SZ_4K, .size = SZ_16K,
	};
	const u32 flags = CNNACC_PTE_VALID | CNNACC_PTE_READ | CNNACC_PTE_WRITE;
	const struct drm_mm_node node = {
		.start = (op.va + SZ_4K) >> CNNACC_PAGE_SHIFT, .size = 2,
	};
	struct cnnacc_vm *vm = test->priv;
	struct sg_table sgt;
	u32 dir;

	cnnacc_vm_test_sgt(test, &sgt, segments, 2);
	KUNIT_ASSERT_EQ(test, 0, cnnacc_vm_add_tables(vm, op.va, op.size));
	cnnacc_vm_set_pages(vm, &sgt, &op);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va - SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va), 0x1234570 | flags);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + SZ_4K), 0x1234580 | flags);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + SZ_8K), 0xffffffe0 | flags);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + 3 * SZ_4K), 0xfffffff0 | flags);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + SZ_16K), 0);

	for (dir = 0; dir < CNNACC_PT_ENTRIES; dir++) {
		u32 entry = le32_to_cpu(vm->root[dir]);
		bool used = dir == 255 || dir == 256;

		KUNIT_EXPECT_EQ(test, !!vm->tables[dir].entries, used);
		KUNIT_EXPECT_EQ(test, entry & CNNACC_PTE_FLAGS, used ? CNNACC_PTE_VALID : 0);
	}

	cnnacc_vm_clear(vm, &node);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va), 0x1234570 | flags);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + SZ_8K), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, op.va + 3 * SZ_4K), 0xfffffff0 | flags);
}

static void cnnacc_vm_test_permissions(struct kunit *test)
{
	static const u32 bits[] = {
		[DRM_CNNACC_BIND_READ] = CNNACC_PTE_READ,
		[DRM_CNNACC_BIND_WRITE] = CNNACC_PTE_WRITE,
		[DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE] = CNNACC_PTE_READ | CNNACC_PTE_WRITE,
		[DRM_CNNACC_BIND_EXEC] = CNNACC_PTE_EXEC,
	};
	const u64 segments[][2] = { { SZ_64K, 1 } };
	struct drm_cnnacc_bind_op op = { .size = SZ_4K };
	struct cnnacc_vm *vm = test->priv;
	struct sg_table sgt;
	u32 flags;

	cnnacc_vm_test_sgt(test, &sgt, segments, 1);
	KUNIT_ASSERT_EQ(test, 0, cnnacc_vm_add_tables(vm, op.va, op.size));
	for (flags = 1; flags < ARRAY_SIZE(bits); flags++) {
		op.flags = flags;
		cnnacc_vm_set_pages(vm, &sgt, &op);
		KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, 0),
				CNNACC_PTE_ADDR(SZ_64K) | CNNACC_PTE_VALID | bits[flags]);
	}
}

/* The limit counts all tables of the file, but not a table whose allocation failed. */
static void cnnacc_vm_test_table_limit(struct kunit *test)
{
	struct cnnacc_vm *vm = test->priv;

	atomic_set(&vm->file->tables, CNNACC_MAX_TABLES - 1);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_add_tables(vm, CNNACC_VM_TEST_EDGE - SZ_4K, SZ_8K),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic_read(&vm->file->tables), CNNACC_MAX_TABLES);
	KUNIT_EXPECT_NOT_NULL(test, vm->tables[255].entries);
	KUNIT_EXPECT_NULL(test, vm->tables[256].entries);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_add_tables(vm, CNNACC_VM_TEST_EDGE - SZ_4K, SZ_4K), 0);
}

static struct drm_gem_object *cnnacc_vm_test_bo(struct kunit *test, struct cnnacc_vm *vm,
						u32 use)
{
	struct drm_gem_shmem_object *shmem = drm_gem_shmem_create(&vm->cdev->drm, SZ_64K);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, shmem);
	to_cnnacc_bo(&shmem->base)->use = use;
	return &shmem->base;
}

static int cnnacc_vm_test_op(struct cnnacc_vm *vm, struct drm_gem_object *obj,
			     const struct drm_cnnacc_bind_op *op)
{
	u32 done = 0;

	if (obj && IS_ERR(drm_gem_shmem_get_pages_sgt(&to_cnnacc_bo(obj)->base)))
		return -ENOMEM;
	return cnnacc_vm_bind(vm, &obj, op, 1, &done);
}

static void cnnacc_vm_test_map(struct kunit *test)
{
	const u32 rw = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE;
	struct drm_cnnacc_bind_op map = {
		.op = DRM_CNNACC_BIND_MAP, .flags = rw, .va = CNNACC_VM_TEST_EDGE, .size = SZ_64K,
	};
	struct drm_cnnacc_bind_op unmap = {
		.op = DRM_CNNACC_BIND_UNMAP, .va = CNNACC_VM_TEST_EDGE, .size = SZ_32K,
	};
	struct cnnacc_vm *vm = test->priv;
	struct drm_gem_object *obj = cnnacc_vm_test_bo(test, vm, DRM_CNNACC_BO_DATA);

	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map), 0);
	KUNIT_EXPECT_EQ(test, vm->mappings, 1);
	map.va += SZ_64K - SZ_4K;
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map), -EEXIST);
	map.va += SZ_4K;
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map), 0);
	map.va += SZ_64K;
	map.bo_offset = SZ_4K;
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map), -EINVAL);
	map.bo_offset = SZ_64K;
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map), -EINVAL);
	map.bo_offset = 0;
	map.flags = DRM_CNNACC_BIND_EXEC;
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map), -EINVAL);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, NULL, &map), -ENOENT);

	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, NULL, &unmap), -ENOENT);
	unmap.size = SZ_64K;
	KUNIT_EXPECT_NE(test, cnnacc_vm_test_entry(vm, CNNACC_VM_TEST_EDGE), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, NULL, &unmap), 0);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_entry(vm, CNNACC_VM_TEST_EDGE), 0);
	KUNIT_EXPECT_NE(test, cnnacc_vm_test_entry(vm, CNNACC_VM_TEST_EDGE + SZ_64K), 0);
	KUNIT_EXPECT_EQ(test, vm->mappings, 1);
	KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, NULL, &unmap), -ENOENT);
	drm_gem_object_put(obj);
}

/* The use of a buffer limits the permissions of its mappings. */
static void cnnacc_vm_test_use(struct kunit *test)
{
	static const u32 allowed[] = {
		[DRM_CNNACC_BO_DATA] = DRM_CNNACC_BIND_READ | DRM_CNNACC_BIND_WRITE,
		[DRM_CNNACC_BO_WEIGHT] = DRM_CNNACC_BIND_READ,
		[DRM_CNNACC_BO_PROGRAM] = DRM_CNNACC_BIND_EXEC,
	};
	struct drm_cnnacc_bind_op map = { .op = DRM_CNNACC_BIND_MAP, .size = SZ_64K };
	struct cnnacc_vm *vm = test->priv;
	u32 use;

	for (use = 0; use < ARRAY_SIZE(allowed); use++) {
		struct drm_gem_object *obj = cnnacc_vm_test_bo(test, vm, use);

		for (map.flags = 0; map.flags < 16; map.flags++) {
			bool fine = map.flags && !(map.flags & ~allowed[use]);

			KUNIT_EXPECT_EQ(test, cnnacc_vm_test_op(vm, obj, &map),
					fine ? 0 : -EINVAL);
			map.va += fine ? SZ_64K : 0;
		}
		drm_gem_object_put(obj);
	}
}

/*
 * A broken device may overwrite the tables: the addresses to free do not come from there, which
 * CONFIG_DMA_API_DEBUG checks.
 */
static void cnnacc_vm_test_overwritten(struct kunit *test)
{
	struct cnnacc_vm *vm = test->priv;
	u32 dir;

	KUNIT_ASSERT_EQ(test, 0, cnnacc_vm_add_tables(vm, 0, 3ull << 22));
	for (dir = 0; dir < 3; dir++) {
		KUNIT_EXPECT_EQ(test, CNNACC_PTE_BUS(le32_to_cpu(vm->root[dir])),
				vm->tables[dir].dma);
		vm->root[dir] = cpu_to_le32(0xdead0000 >> dir);
	}
}

static struct kunit_case cnnacc_vm_test_cases[] = {
	KUNIT_CASE_PARAM(cnnacc_vm_test_check_range, cnnacc_vm_test_range_gen_params),
	KUNIT_CASE(cnnacc_vm_test_check_pages),
	KUNIT_CASE(cnnacc_vm_test_entries),
	KUNIT_CASE(cnnacc_vm_test_permissions),
	KUNIT_CASE(cnnacc_vm_test_table_limit),
	KUNIT_CASE(cnnacc_vm_test_map),
	KUNIT_CASE(cnnacc_vm_test_use),
	KUNIT_CASE(cnnacc_vm_test_overwritten),
	{ }
};

static struct kunit_suite cnnacc_vm_test_suite = {
	.name = "cnnacc_vm",
	.init = cnnacc_vm_test_init,
	.test_cases = cnnacc_vm_test_cases,
};

kunit_test_suite(cnnacc_vm_test_suite);
